/* traceparent_test.c - a trace context as text, as W3C writes it. */
#include "unit/unit.h"

#include <axo/trace_context.h>

static const axo_trace_context tc_first = {
    .trace_id = {0x4b, 0xf9, 0x2f, 0x35, 0x77, 0xb3, 0x4d, 0xa6, 0xa3, 0xce, 0x92, 0x9d, 0x0e, 0x0e,
                 0x47, 0x36},
    .span_id = {0x00, 0xf0, 0x67, 0xaa, 0x0b, 0xa9, 0x02, 0xb7},
    .flags = AXO_TRACE_SAMPLED};

static bool tc_same(const axo_trace_context *a, const axo_trace_context *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

static void parse_is(const char *text, axo_status status)
{
    axo_trace_context out;
    axo_trace_context zero = {.flags = 0};
    memset(&out, 7, sizeof out);
    assert_int_equal(axo_traceparent_parse(text, strlen(text), &out), status);
    assert_true(tc_same(&out, status == AXO_OK ? &tc_first : &zero));
}

#define TC_IDS "4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7"

static void text_is_strict(void **state)
{
    char text[AXO_TRACEPARENT_SIZE];
    static const char *const bad[] = {"",
                                      "00",
                                      "00-" TC_IDS "-0",
                                      "00-" TC_IDS "-01-",
                                      "00-" TC_IDS "-01-x",
                                      "00-" TC_IDS "-01 ",
                                      " 00-" TC_IDS "-01",
                                      "ff-" TC_IDS "-01",
                                      "0g-" TC_IDS "-01",
                                      "FE-" TC_IDS "-01",
                                      "00-" TC_IDS "-0A",
                                      "00_" TC_IDS "-01",
                                      "00-" TC_IDS "_01",
                                      "01-" TC_IDS "-01x",
                                      "01-" TC_IDS "-01.x",
                                      "00-4BF92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                                      "00-4bf92f3577b34da6a3ce929d0e0e4736-00F067aa0ba902b7-01",
                                      "00-4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7-01",
                                      "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
                                      "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        parse_is(bad[i], AXO_EINVAL);
    parse_is("00-" TC_IDS "-01", AXO_OK);
    parse_is("00-" TC_IDS "-f9", AXO_OK); /* bits that are unknown here */
    parse_is("01-" TC_IDS "-01", AXO_OK);
    parse_is("fe-" TC_IDS "-01-what comes after", AXO_OK);
    assert_int_equal(axo_traceparent_format(&tc_first, text, sizeof text), AXO_OK);
    assert_string_equal(text, "00-" TC_IDS "-01");
    assert_int_equal(axo_traceparent_format(&tc_first, text, sizeof text - 1), AXO_ETOOBIG);
    assert_string_equal(text, "");
    axo_trace_context other = tc_first;
    other.flags = 0xff;
    assert_int_equal(axo_traceparent_format(&other, text, sizeof text), AXO_OK);
    assert_string_equal(text, "00-" TC_IDS "-03");
    memset(other.trace_id, 0, sizeof other.trace_id);
    assert_int_equal(axo_traceparent_format(&other, text, sizeof text), AXO_EINVAL);
    assert_int_equal(axo_traceparent_format(NULL, text, sizeof text), AXO_EINVAL);
    assert_int_equal(axo_traceparent_format(&tc_first, NULL, 0), AXO_EINVAL);
    assert_int_equal(axo_traceparent_parse(NULL, 55, &other), AXO_EINVAL);
    assert_int_equal(axo_traceparent_parse("00-" TC_IDS "-01", 55, NULL), AXO_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(text_is_strict)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
