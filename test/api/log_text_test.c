/* log_text_test.c - a record as text: what is escaped, what is cut, what is refused; names. */
#include <stdbool.h>
#include <stdint.h>

#include <axo/axo.h>

#include "support/cmocka.h"

enum { LOG_BYTES = 4096 };

static void bad_texts(void **state)
{
    char out[LOG_BYTES];
    const axo_log_record record = AXO_LOG_RECORD(.text = "a \"b\" \\ \x7f");
    const axo_log_record newer = {.size = sizeof record - 1};
    assert_int_equal(axo_log_text(&record, out, sizeof out), AXO_OK);
    assert_string_equal(out, "a \\\"b\\\" \\\\ \\x7f");
    assert_int_equal(axo_log_text(&record, out, 4), AXO_ETOOBIG);
    assert_string_equal(out, "a \\");
    assert_int_equal(axo_log_text(&record, out, 1), AXO_ETOOBIG);
    assert_string_equal(out, "");
    assert_int_equal(axo_log_text(&record, out, 0), AXO_EINVAL);
    assert_int_equal(axo_log_text(&record, NULL, 9), AXO_EINVAL);
    assert_int_equal(axo_log_text(NULL, out, 9), AXO_EINVAL);
    assert_int_equal(axo_log_text(&newer, out, 9), AXO_OK); /* an older header's */
    assert_int_equal(axo_log_json(&record, out, AXO_LOG_JSON_MIN - 1), AXO_EINVAL);
    assert_string_equal(out, "");
    assert_int_equal(axo_log_json(NULL, out, sizeof out), AXO_EINVAL);
    assert_int_equal(axo_log_json(&record, NULL, sizeof out), AXO_EINVAL);
    const axo_log_record zeroed = {.size = 0};
    assert_int_equal(axo_log_json(&zeroed, out, sizeof out), AXO_EINVAL);
}

/* What a terminal may obey, and what is no UTF-8, is escaped; other UTF-8 stays, and is not cut in
 * two. */
static void nothing_for_a_terminal(void **state)
{
    static const struct {
        const char *text;
        const char *line;
    } cases[] = {
        {"a\xc2\x9b" "31mred", "a\\xc2\\x9b31mred"},   /* CSI as UTF-8 */
        {"a\x9b" "31mred", "a\\x9b31mred"},             /* as a byte */
        {"\xc2\x80\xc2\x9f\xc2\xa0\xc2\xbf", "\\xc2\\x80\\xc2\\x9f\xc2\xa0\xc2\xbf"},
        {"\xc3\x9b \xe2\x82\x9b \xf0\x9f\x90\x9b", "\xc3\x9b \xe2\x82\x9b \xf0\x9f\x90\x9b"},
        {"\xe2\x82", "\\xe2\\x82"},                 /* half a character */
        {"\xe2\x82(", "\\xe2\\x82("},
        {"\xc0\x9b\xed\xa0\x80", "\\xc0\\x9b\\xed\\xa0\\x80"}, /* too long a form; a surrogate */
        {"\xc2", "\\xc2"},
        {"\x1b[31m\t", "\\x1b[31m\\x09"},
    };
    char out[LOG_BYTES];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const axo_log_record record = AXO_LOG_RECORD(.text = cases[i].text);
        assert_int_equal(axo_log_text(&record, out, sizeof out), AXO_OK);
        assert_string_equal(out, cases[i].line);
        assert_int_equal(axo_log_json(&record, out, sizeof out), AXO_OK);
        for (const char *at = out; *at != 0; at++)
            assert_false(at[0] == '\xc2' && (unsigned char)at[1] < 0xa0);
    }
    const axo_log_record penguin = AXO_LOG_RECORD(.text = "ab\xf0\x9f\x90\xa7" "cd");
    for (size_t size = 3; size < 9; size++) {
        assert_int_equal(axo_log_text(&penguin, out, size), AXO_ETOOBIG);
        assert_string_equal(out, size < 7 ? "ab" : size < 8 ? "ab\xf0\x9f\x90\xa7"
                                                            : "ab\xf0\x9f\x90\xa7" "c");
    }
}

static void names(void **state)
{
    assert_string_equal(axo_failure_kind_name(AXO_FAILURE_DEATH_PACT), "death_pact");
    assert_string_equal(axo_failure_kind_name(4), "?");
    assert_string_equal(axo_failure_kind_name(AXO_FAILURE_CRASH), "crash");
    assert_string_equal(axo_failure_kind_name(AXO_FAILURE_STUCK), "stuck");
    assert_string_equal(axo_failure_kind_name(12), "?");
    assert_string_equal(axo_site_name(AXO_SITE_POST_RESTART), "post_restart");
    assert_string_equal(axo_site_name(AXO_SITE_SETTLE), "settle");
    assert_string_equal(axo_site_name(AXO_SITE_MIGRATE), "migrate");
    assert_string_equal(axo_site_name(4), "?");
    assert_string_equal(axo_directive_name(AXO_ESCALATE), "escalate");
    assert_string_equal(axo_directive_name(0), "?");
    assert_string_equal(axo_log_level_name(AXO_LOG_INFO), "info");
    assert_string_equal(axo_log_level_name(UINT32_MAX), "?");
    assert_string_equal(axo_log_event_name(AXO_LOG_STUCK), "stuck");
    assert_string_equal(axo_log_event_name(AXO_LOG_STORM), "storm");
    assert_string_equal(axo_log_event_name(10), "?");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(bad_texts),
    cmocka_unit_test(nothing_for_a_terminal),
    cmocka_unit_test(names),
};
TEST_MAIN(tests)
