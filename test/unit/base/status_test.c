/* status_test.c - names and texts of statuses and events, and the version. */
#include "unit/unit.h"

#include <axo/status.h>
#include <axo/trace.h>
#include <axo/version.h>

#include <stdio.h>

static const struct {
    axo_status status;
    const char *name;
} statuses[] = {
#define STATUS_ROW(name, value, text) {name, #name},
    AXO_STATUS_LIST(STATUS_ROW)
#undef STATUS_ROW
};
#define STATUSES (sizeof statuses / sizeof statuses[0])

static void every_status_has_its_name(void **state)
{
    for (size_t i = 0; i < STATUSES; i++)
        assert_string_equal(axo_status_name(statuses[i].status), statuses[i].name);
}

static void texts_are_there_and_differ(void **state)
{
    for (size_t i = 0; i < STATUSES; i++) {
        const char *text = axo_status_text(statuses[i].status);
        assert_true(text[0] != 0);
        assert_string_not_equal(text, "unknown status");
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(text, axo_status_text(statuses[j].status));
    }
}

enum { GONE = 13 }; /* a number that no status has any more */

/* The ABI: these numbers stand in programs. */
static void values_do_not_move(void **state)
{
    assert_int_equal(AXO_OK, 0);
    for (size_t i = 0; i < STATUSES; i++)
        assert_int_equal((int)statuses[i].status, i < GONE ? -(int)i : -(int)i - 1);
    assert_string_equal(axo_status_name((axo_status)-2), "AXO_ENOMEM");
    assert_string_equal(axo_status_text((axo_status)-2), "out of memory");
    assert_string_equal(axo_status_name((axo_status)-15), "AXO_UNHANDLED");
}

static void numbers_that_are_none(void **state)
{
    static const int none[] = {1, -99, INT32_MAX, INT32_MIN, -GONE, -(int)STATUSES - 1};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        assert_string_equal(axo_status_name((axo_status)none[i]), "AXO_?");
        assert_string_equal(axo_status_text((axo_status)none[i]), "unknown status");
    }
}

static void event_names(void **state)
{
    assert_string_equal(axo_event_name(AXO_EV_SPAWN), "spawn");
    assert_string_equal(axo_event_name(AXO_EV_UNHANDLED), "unhandled");
    for (uint32_t i = 0; i < AXO_EVENT_KINDS; i++) {
        assert_string_not_equal(axo_event_name(i), "?");
        for (uint32_t j = 0; j < i; j++)
            assert_string_not_equal(axo_event_name(i), axo_event_name(j));
    }
    assert_string_equal(axo_event_name(AXO_EVENT_KINDS), "?");
    assert_string_equal(axo_event_name(UINT32_MAX), "?");
}

static void version_is_the_header_s(void **state)
{
    char text[64];
    (void)snprintf(text, sizeof text, "%d.%d.%d", AXO_VERSION_MAJOR, AXO_VERSION_MINOR,
                   AXO_VERSION_PATCH);
    assert_string_equal(axo_version(), text);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_status_has_its_name),
    cmocka_unit_test(texts_are_there_and_differ),
    cmocka_unit_test(values_do_not_move),
    cmocka_unit_test(numbers_that_are_none),
    cmocka_unit_test(event_names),
    cmocka_unit_test(version_is_the_header_s),
};
TEST_MAIN(tests)
