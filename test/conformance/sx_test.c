/* sx_test.c - the hierarchy stress (SX), small: each entry checked in runs of its own. The long
 * form is schedules/stress/hierarchy_test.c. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/cmocka.h"
#include "support/hierarchy.h"
#include "support/slower.h"

enum { SX_ACTORS = 100 };

/* Fewer than 1000 do not meet everything that is asked for. */
static uint32_t sx_items(void)
{
    return slower_share(4000, 1000);
}

static hierarchy_options sx_options(void **state, uint64_t seed)
{
    return (hierarchy_options){.seed = seed, .actors = SX_ACTORS, .items = sx_items(),
                               .workers = (uint32_t)(uintptr_t)*state};
}

static hierarchy_result sx_run(const hierarchy_options *options)
{
    hierarchy_result result;
    if (!hierarchy_run(options, &result))
        fail_msg("%s", result.first);
    assert_int_equal(result.wardens, 1);
    return result;
}

/* A run that records and one that does not: then the runtime takes its short cuts. */
static hierarchy_result sx_good(void **state, uint32_t entry)
{
    hierarchy_options options = sx_options(state, 100 + entry);
    options.record = HIERARCHY_BLIND;
    (void)sx_run(&options);
    options.record = HIERARCHY_RECORDS;
    hierarchy_result result = sx_run(&options);
    assert_int_equal(result.entry[entry], 0);
    return result;
}

static void SX_01(void **state)
{
    hierarchy_result result = sx_good(state, 1);
    assert_true(result.counts.pre_restarts > sx_items() / 8);
    assert_true(result.counts.pre_failed > 0);
}

static void SX_02(void **state)
{
    hierarchy_result result = sx_good(state, 2);
    assert_true(result.counts.post_restarts > sx_items() / 8);
    assert_true(result.counts.kids_stopped > 0);
    assert_true(result.counts.recreated_here > 0);
    assert_true(result.counts.recreated_later > 0);
}

static void SX_03(void **state)
{
    hierarchy_result result = sx_good(state, 3);
    assert_true(result.stats.restarts > sx_items() / 8);
    assert_true(result.counts.construct_failed > 0);
    assert_true(result.counts.post_failed > 0);
}

static void SX_04(void **state)
{
    hierarchy_result result = sx_good(state, 4);
    assert_true(result.recorded);
    assert_true(result.counts.escalations > 0);
    assert_true(result.counts.pings > sx_items() / 8);
}

/* Nodes on all dispatchers: each callback runs on a thread of the node's own. */
static void SX_05(void **state)
{
    hierarchy_options options = sx_options(state, 105);
    options.dispatch = HIERARCHY_MIXED;
    hierarchy_result result = sx_run(&options);
    assert_true(result.mixed);
    options.seed++;
    options.record = HIERARCHY_RECORDS;
    result = sx_run(&options);
    assert_int_equal(result.workers, (uint32_t)(uintptr_t)*state);
    assert_true(result.counts.constructs > SX_ACTORS);
}

static void SX_06(void **state)
{
    hierarchy_result result = sx_good(state, 6);
    assert_true(result.counts.post_stops >= SX_ACTORS);
    assert_true(result.counts.stops > 0);
}

static void SX_07(void **state)
{
    hierarchy_result result = sx_good(state, 7);
    assert_true(result.rounds >= 1); /* a round ends when every living actor has answered */
}

static void SX_08(void **state)
{
    hierarchy_result result = sx_good(state, 8);
    assert_true(result.refs > SX_ACTORS);
    assert_int_equal(result.stats.actors, 0);
    assert_int_equal(result.counts.constructs, result.counts.undone);
}

static void SX_09(void **state)
{
    hierarchy_result result = sx_good(state, 9);
    assert_int_equal(result.refs + 4, result.stats.spawned);
}

static void SX_10(void **state)
{
    hierarchy_result result = sx_good(state, 10);
    assert_true(result.counts.warden_decisions > 0);
    assert_int_equal(result.wardens, 1);
}

/* The report of a breach: seed, what to repeat, the merged events in order with their suspends. */
static void SX_11(void **state)
{
    hierarchy_options options = sx_options(state, 4711);
    hierarchy_result result;
    char *text = NULL;
    size_t size = 0;
    double last = 0;
    uint32_t lines = 0;
    options.record = HIERARCHY_RECORDS;
    options.plant = sx_items() / 2;
    options.out = open_memstream(&text, &size);
    assert_non_null(options.out);
    for (uint64_t tries = 0; tries < 20; tries++, options.seed++) { /* the item may be lost */
        if (!hierarchy_run(&options, &result))
            break;
    }
    assert_int_equal(fclose(options.out), 0);
    assert_int_equal(result.breaches, 1);
    assert_int_equal(result.entry[11], 1);
    char planted[64];
    (void)snprintf(planted, sizeof planted, "planted in item %u", sx_items() / 2 - 1);
    assert_non_null(strstr(result.first, planted));
    char *seed = strstr(text, "--seed ");
    assert_non_null(seed);
    assert_int_equal(strtoull(seed + strlen("--seed "), NULL, 10), options.seed);
    for (char *line = strstr(text, "events of those concerned:\n"); line != NULL;) {
        char *at = strchr(line, '\n') + 1;
        char *end = NULL;
        double time = strtod(at, &end);
        if (end == at)
            break;
        assert_true(time >= last);
        line = strstr(end, "suspends ");
        assert_non_null(line);
        last = time;
        lines++;
    }
    assert_true(lines > 50);
    free(text);
}

/* The same seed: the same tree and the same items, whatever the schedule was. */
static void SX_11_same_seed(void **state)
{
    hierarchy_options options = sx_options(state, 11);
    uint64_t digest = sx_run(&options).digest;
    options.record = HIERARCHY_BLIND;
    options.workers = 3;
    assert_true(sx_run(&options).digest == digest);
    options.seed = 12;
    assert_true(sx_run(&options).digest != digest);
}

static void SX_12(void **state)
{
    hierarchy_result result = sx_good(state, 12);
    assert_true(result.counts.start_failed > 10);
}

#define SX_TEST(id, function)                                                                      \
    {id " [1 worker]", function, NULL, NULL, (void *)(uintptr_t)1},                                \
        {id " [2 workers]", function, NULL, NULL, (void *)(uintptr_t)2},                           \
        {id " [4 workers]", function, NULL, NULL, (void *)(uintptr_t)4}

static const struct CMUnitTest tests[] = {
    SX_TEST("SX-01", SX_01),
    SX_TEST("SX-02", SX_02),
    SX_TEST("SX-03", SX_03),
    SX_TEST("SX-04", SX_04),
    SX_TEST("SX-05", SX_05),
    SX_TEST("SX-06", SX_06),
    SX_TEST("SX-07", SX_07),
    SX_TEST("SX-08", SX_08),
    SX_TEST("SX-09", SX_09),
    SX_TEST("SX-10", SX_10),
    SX_TEST("SX-11", SX_11),
    SX_TEST("SX-11 same seed", SX_11_same_seed),
    SX_TEST("SX-12", SX_12),
};

int main(int argc, char **argv)
{
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
