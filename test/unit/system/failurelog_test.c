/* failurelog_test.c - which failures are lines, with a clock of the test's own. */
#include <stdio.h>

#include "unit/unit.h"

#include "system/failurelog.h"

enum { SORTS_TEST_LINES = 200 };

typedef struct sorts_line {
    uint32_t event;
    int32_t code;
    uint64_t count;
    uint32_t last;
    char name[64];
} sorts_line;

typedef struct sorts_fixture {
    axo__core core;
    axo__failures failures;
    int64_t now;
    uint32_t count;
    sorts_line lines[SORTS_TEST_LINES];
} sorts_fixture;

static int64_t sorts_clock(void *user)
{
    return ((sorts_fixture *)user)->now;
}

static void sorts_take(void *user, const axo_log_record *record)
{
    sorts_fixture *f = user;
    assert_true(f->count < SORTS_TEST_LINES);
    sorts_line *line = &f->lines[f->count++];
    *line = (sorts_line){.event = record->event, .code = record->code, .count = record->count,
                         .last = record->last};
    (void)snprintf(line->name, sizeof line->name, "%s", record->class_name);
}

static void sorts_start(sorts_fixture *f, uint32_t lines)
{
    memset((void *)f, 0, sizeof *f);
    f->core.outside.core = &f->core;
    f->core.log_record = sorts_take;
    f->core.log_record_user = f;
    f->core.clock = sorts_clock;
    f->core.clock_user = f;
    const axo_options options = AXO_OPTIONS(.failure_log = lines, .failure_window_ns = 1000);
    assert_true(axo__failures_init(&f->failures, &options));
}

static const axo_class first = AXO_CLASS(.name = "first");
static const axo_class second = AXO_CLASS(.name = NULL);

static void sorts_fail(sorts_fixture *f, const axo_class *cls, int32_t code,
                       axo_directive directive)
{
    axo_log_record record = {.level = AXO_LOG_ERROR, .event = AXO_LOG_FAILURE, .code = code,
                             .class_name = cls->name, .directive = (uint32_t)directive};
    axo__failures_take(&f->failures, &f->core.outside, &record, cls);
}

static void each_sort_has_its_own(void **state)
{
    sorts_fixture f;
    sorts_start(&f, 2);
    for (uint32_t i = 0; i < 1000; i++) {
        sorts_fail(&f, &first, 1, AXO_RESTART);
        sorts_fail(&f, &first, 2, AXO_RESTART);
        sorts_fail(&f, &second, 1, AXO_RESTART);
    }
    assert_int_equal(f.count, 6);
    sorts_fail(&f, &first, 1, AXO_STOP); /* what a spent budget makes of it is not left out */
    assert_int_equal(f.count, 7);
    assert_int_equal(f.lines[5].last, 1);
    assert_int_equal(f.lines[6].last, 0);
    f.now = 1000;
    sorts_fail(&f, &second, 1, AXO_RESTART);
    assert_int_equal(f.count, 9);
    assert_int_equal(f.lines[7].event, AXO_LOG_FAILURES);
    assert_int_equal(f.lines[7].count, 998);
    assert_int_equal(f.lines[7].code, 1);
    assert_string_equal(f.lines[7].name, "actor");
    assert_int_equal(f.lines[8].event, AXO_LOG_FAILURE);
    axo__failures_fini(&f.failures);
}

/* More sorts than there are places: the one whose window began first gives way, with its count. */
static void the_oldest_gives_way(void **state)
{
    sorts_fixture f;
    sorts_start(&f, 1);
    for (uint32_t i = 0; i < 10; i++)
        sorts_fail(&f, &first, 0, AXO_RESTART);
    assert_int_equal(f.count, 1);
    for (int32_t i = 1; i < AXO__FAILURE_SORTS; i++) {
        f.now = i;
        sorts_fail(&f, &first, i, AXO_RESTART);
    }
    assert_int_equal(f.count, AXO__FAILURE_SORTS);
    sorts_fail(&f, &second, 7, AXO_RESTART);
    assert_int_equal(f.count, AXO__FAILURE_SORTS + 2);
    assert_int_equal(f.lines[AXO__FAILURE_SORTS].event, AXO_LOG_FAILURES);
    assert_int_equal(f.lines[AXO__FAILURE_SORTS].count, 9);
    assert_string_equal(f.lines[AXO__FAILURE_SORTS].name, "first");
    sorts_fail(&f, &first, 2, AXO_RESTART); /* the others are as they were */
    assert_int_equal(f.count, AXO__FAILURE_SORTS + 2);
    sorts_fail(&f, &second, 7, AXO_RESTART);
    assert_int_equal(f.count, AXO__FAILURE_SORTS + 2);
    axo__failures_fini(&f.failures);
}

/* At the end each sort that has left some out says how many, once; the others say nothing. */
static void what_is_left_is_said(void **state)
{
    sorts_fixture f;
    sorts_start(&f, 2);
    axo__failures_say_left(&f.failures, &f.core.outside);
    assert_int_equal(f.count, 0);
    for (uint32_t i = 0; i < 1000; i++)
        sorts_fail(&f, &first, 1, AXO_RESTART);
    for (uint32_t i = 0; i < 2; i++)
        sorts_fail(&f, &first, 2, AXO_RESTART);
    for (uint32_t i = 0; i < 5; i++)
        sorts_fail(&f, &second, 3, AXO_RESTART);
    assert_int_equal(f.count, 6);
    axo__failures_say_left(&f.failures, &f.core.outside);
    assert_int_equal(f.count, 8);
    assert_int_equal(f.lines[6].event, AXO_LOG_FAILURES);
    assert_int_equal(f.lines[6].count, 998);
    assert_int_equal(f.lines[6].code, 1);
    assert_string_equal(f.lines[6].name, "first");
    assert_int_equal(f.lines[7].count, 3);
    assert_string_equal(f.lines[7].name, "actor");
    axo__failures_say_left(&f.failures, &f.core.outside);
    assert_int_equal(f.count, 8);
    f.now = 1000;
    sorts_fail(&f, &first, 1, AXO_RESTART); /* nor is it said again by the next one */
    assert_int_equal(f.count, 9);
    axo__failures_fini(&f.failures);
}

static void without_a_limit(void **state)
{
    sorts_fixture f;
    sorts_start(&f, UINT32_MAX);
    for (uint32_t i = 0; i < 150; i++)
        sorts_fail(&f, &first, 1, AXO_RESTART);
    assert_int_equal(f.count, 150);
    assert_int_equal(f.lines[149].last, 0);
    axo__failures_say_left(&f.failures, &f.core.outside);
    assert_int_equal(f.count, 150);
    axo__failures_fini(&f.failures);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(each_sort_has_its_own),
    cmocka_unit_test(the_oldest_gives_way),
    cmocka_unit_test(what_is_left_is_said),
    cmocka_unit_test(without_a_limit),
};

TEST_MAIN(tests)
