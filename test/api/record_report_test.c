/* record_report_test.c - an actor whose failure depends on all that it has been sent fails, in
 * every mode and in every way; the report of it, played, comes to the same failure, at the same
 * message, with the same words. */
#include <signal.h>

#include "api/record_report_world.h"

/* ---- every mode, every way ---- */

static void fails(axo_options options, uint32_t how)
{
    run r = {.system = NULL};
    options.seed = 7 + how;
    run_start(&r, till_kept, &options);
    for (uint32_t i = 0; i < 40; i++)
        run_add(&r, i, i % 25);
    run_break(&r, how);
    assert_int_equal(seen.failures, 1);
    assert_int_equal(axo_report_written(r.reports), 1);
    assert_int_equal(axo_report_missed(r.reports, NULL), 0);
    const axo_report_outcome out = run_play(&r, 1);
    same_failure(&out);
    assert_true(out.messages >= 41);
    assert_int_equal(out.instance, 1);
    if (how != BY_CRASH && how != BY_PACT) /* where it was: other frames */
        assert_string_equal(out.failure, seen.text);
    run_end(&r);
}

static void every_mode(void **state)
{
    for (uint32_t how = BY_STATUS; how <= BY_PACT; how++) {
        fails((axo_options)AXO_OPTIONS(.workers = 2), how);
        fails((axo_options)AXO_OPTIONS(.workers = 1), how);
        boss_dispatcher = AXO_DISPATCH_BLOCKING;
        fails((axo_options)AXO_OPTIONS(.workers = 1), how);
        boss_dispatcher = AXO_DISPATCH_PINNED;
        fails((axo_options)AXO_OPTIONS(.workers = 1), how);
        boss_dispatcher = AXO_DISPATCH_DEFAULT;
        fails((axo_options)AXO_OPTIONS(.manual = AXO_MANUAL_ALL), how);
        fails((axo_options)AXO_OPTIONS(.workers = 1, .threads = AXO_THREADS_LENT), how);
    }
}

/* Without containment, as under a sanitizer, there is nothing to be seen here. */
static void crashes(void **state)
{
    axo_options options = AXO_OPTIONS(.workers = 2, .contain = 1);
    axo_system *system;
    axo_status status = axo_system_start(&options, &system);
    if (status == AXO_ENOTSUP) {
        print_message("crashes are not contained here\n");
        skip();
    }
    assert_int_equal(status, AXO_OK);
    assert_int_equal(axo_system_stop(system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
    fails(options, BY_CRASH);
    assert_int_equal(seen.failure.kind, AXO_FAILURE_CRASH);
    assert_int_equal(seen.failure.code, SIGSEGV);
}

/* ---- instances ---- */

/* A resumed instance goes on with its ring: the second report has the first failure in it. A
 * restarted one begins anew. */
static void instances(void **state)
{
    run r = {.system = NULL};
    axo_options options = AXO_OPTIONS(.manual = AXO_MANUAL_ALL);
    run_start(&r, till_kept, &options);
    seen.directive = AXO_RESUME;
    for (uint32_t i = 0; i < 10; i++)
        run_add(&r, i, i);
    run_break(&r, BY_FAIL);
    run_add(&r, 3, 5);
    seen.directive = AXO_RESTART;
    run_break(&r, BY_THROW);
    assert_int_equal(axo_report_written(r.reports), 2);
    axo_report_outcome out = run_play(&r, 2);
    same_failure(&out);
    const uint64_t before = out.messages;
    out = run_play(&r, 1);
    assert_int_equal(out.same, 1);
    assert_true(out.messages < before);
    run_add(&r, 1, 1);
    run_break(&r, BY_FAIL);
    out = run_play(&r, 3);
    same_failure(&out);
    assert_int_equal(out.instance, 2);
    assert_true(out.messages < before);
    run_end(&r);
}

/* What is no failure of a message leaves none: a kill, a message that nobody knows, a settle. */
static void no_report(void **state)
{
    for (uint32_t settles = 0; settles < 2; settles++) {
        run r = {.system = NULL};
        axo_options options = AXO_OPTIONS(.manual = AXO_MANUAL_ALL);
        run_start(&r, settles != 0 ? wide_kept : till_kept, &options);
        assert_int_equal(axo_system_send(r.system, boss_till, ODD, NULL, 0), AXO_OK);
        run_settle(&r);
        assert_int_equal(seen.failures, settles);
        assert_int_equal(axo_system_kill(r.system, boss_till), AXO_OK);
        run_settle(&r);
        assert_int_equal(seen.failures, 1 + settles);
        assert_int_equal(seen.failure.kind, AXO_FAILURE_KILLED);
        assert_int_equal(axo_report_written(r.reports) + axo_report_missed(r.reports, NULL), 0);
        run_end(&r);
    }
}

/* Messages that were put aside are kept as often as they came. */
static void stashed(void **state)
{
    run r = {.system = NULL};
    axo_options options = AXO_OPTIONS(.manual = AXO_MANUAL_ALL);
    run_start(&r, till_kept, &options);
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(axo_system_send(r.system, boss_till, HOLD, &i, sizeof i), AXO_OK);
        run_add(&r, i, i);
    }
    assert_int_equal(axo_system_send(r.system, boss_till, FREE, NULL, 0), AXO_OK);
    run_add(&r, 6, 6);
    run_break(&r, BY_FAIL);
    const axo_report_outcome out = run_play(&r, 1);
    same_failure(&out);
    assert_string_equal(out.failure, seen.text);
    assert_in_range(out.messages, 5 + 5 + 6 + 2, 30);
    run_end(&r);
}

/* What it has become is seen by the ring, and is gone with the instance. */
static void becomes(void **state)
{
    for (uint32_t times = 1; times <= 2; times++) {
        run r = {.system = NULL};
        axo_options options = AXO_OPTIONS(.manual = AXO_MANUAL_ALL);
        run_start(&r, till_kept, &options);
        for (uint32_t i = 0; i < times; i++) {
            assert_int_equal(axo_system_send(r.system, boss_till, OTHER, NULL, 0), AXO_OK);
            run_add(&r, i, i + 3);
        }
        run_break(&r, BY_FAIL);
        axo_report_outcome out = run_play(&r, 1);
        same_failure(&out);
        assert_string_equal(out.failure, seen.text);
        run_add(&r, 1, 1);
        run_break(&r, BY_THROW);
        assert_string_not_equal(seen.text, "thrown at 0"); /* the other one counts nothing */
        out = run_play(&r, 2);
        same_failure(&out);
        run_end(&r);
    }
}

/* ---- a small ring ---- */

/* The earliest go, and the replay says that it began too late. What is left is as it was. */
static void too_small(void **state)
{
    run r = {.system = NULL};
    axo_options options = AXO_OPTIONS(.manual = AXO_MANUAL_ALL);
    run_start(&r, small_kept, &options);
    for (uint32_t i = 0; i < 100; i++)
        run_add(&r, i, i % 25);
    run_break(&r, BY_FAIL);
    const axo_report_outcome out = run_play(&r, 1);
    assert_int_equal(out.same, 0);
    assert_int_equal(out.said_code, seen.failure.code);
    assert_true(out.lost > 50);
    assert_in_range(out.messages, 3, 12);
    assert_int_equal(out.failed_at, out.messages);
    assert_string_equal(out.text, "it failed in another way");
    run_end(&r);
}

/* A message that is larger than the ring: nothing can be played. */
static void too_large(void **state)
{
    run r = {.system = NULL};
    uint32_t bytes[200] = {BY_FAIL};
    axo_options options = AXO_OPTIONS(.manual = AXO_MANUAL_ALL);
    run_start(&r, small_kept, &options);
    run_add(&r, 1, 4);
    assert_int_equal(axo_system_send(r.system, boss_till, BREAK, bytes, sizeof bytes), AXO_OK);
    run_settle(&r);
    const axo_report_outcome out = run_play(&r, 1);
    assert_int_equal(out.same, 0);
    assert_int_equal(out.messages, 0);
    assert_string_equal(out.text, "the message that it failed under had no room in its ring");
    run_end(&r);
}

int main(void)
{
    world_classes();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_mode),
        cmocka_unit_test(crashes),
        cmocka_unit_test(instances),
        cmocka_unit_test(no_report),
        cmocka_unit_test(stashed),
        cmocka_unit_test(becomes),
        cmocka_unit_test(too_small),
        cmocka_unit_test(too_large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
