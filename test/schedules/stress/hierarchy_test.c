/* hierarchy_test.c - random trees on real threads that fail in every way (SX).
 *
 *   hierarchy_test                 the short form: the whole tree, few items, some seeds
 *   hierarchy_test --seeds N       seeds 1..N, or N of them from --seed on
 *   hierarchy_test --seed S        one seed
 *                  --actors 500 --items 500000 --workers W (0: drawn)
 *                  --mixed 1    nodes on all dispatchers
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/cmocka.h"
#include "support/hierarchy.h"

enum { SHORT_ITEMS = 12000 };

static void few_items(void **state)
{
    hierarchy_options options = {.seed = (uintptr_t)*state, .items = SHORT_ITEMS};
    if (options.seed % 2 == 0)
        options.dispatch = HIERARCHY_MIXED;
    hierarchy_result result;
    bool good = hierarchy_run(&options, &result);
    if (!good)
        fail_msg("%s", result.first);
    /* Each thing has happened. */
    assert_true(result.counts.pings > 0);
    assert_true(result.counts.escalations > 0);
    assert_true(result.counts.stops > 0);
    assert_true(result.counts.warden_decisions > 0);
    assert_true(result.counts.pre_failed > 0);
    assert_true(result.counts.post_failed > 0);
    assert_true(result.counts.construct_failed > 0);
    assert_true(result.counts.start_failed > 0);
    assert_true(result.counts.kids_stopped > 0);
    assert_true(result.counts.recreated_here > 0);
    assert_true(result.counts.recreated_later > 0);
}

static void print_one(uint64_t seed, const hierarchy_result *result)
{
    const hierarchy_counts *counts = &result->counts;
    printf("seed %" PRIu64 ": %s, %.1f s, %" PRIu32 " workers, %s, %s, %" PRIu64
           " failures, %" PRIu64 " restarts, %" PRIu64 " escalated, %" PRIu32
           " references, %" PRIu32 " rounds, end in %.3f s\n", seed,
           result->breaches == 0 ? "good" : "BAD", result->seconds, result->workers,
           result->recorded ? "recorded" : "blind", result->mixed ? "mixed" : "plain",
           result->stats.failures, result->stats.restarts, counts->escalations, result->refs,
           result->rounds, result->stop_seconds);
    fflush(stdout);
}

static int run_many(hierarchy_options options, uint64_t seeds)
{
    uint64_t failed = 0;
    for (uint64_t i = 0; i < seeds; i++) {
        hierarchy_result result;
        failed += !hierarchy_run(&options, &result);
        print_one(options.seed++, &result);
    }
    printf("%" PRIu64 " passed, %" PRIu64 " failed\n", seeds - failed, failed);
    return failed == 0 ? 0 : 1;
}

static int run_asked(int count, char **words)
{
    hierarchy_options options = {.seed = 1};
    uint64_t seeds = 1;
    for (int i = 1; i < count; i += 2) {
        uint64_t number = i + 1 < count ? strtoull(words[i + 1], NULL, 0) : 0;
        if (i + 1 < count && strcmp(words[i], "--seeds") == 0)
            seeds = number;
        else if (i + 1 < count && strcmp(words[i], "--seed") == 0)
            options.seed = number;
        else if (i + 1 < count && strcmp(words[i], "--actors") == 0)
            options.actors = (uint32_t)number;
        else if (i + 1 < count && strcmp(words[i], "--items") == 0)
            options.items = (uint32_t)number;
        else if (i + 1 < count && strcmp(words[i], "--workers") == 0)
            options.workers = (uint32_t)number;
        else if (i + 1 < count && strcmp(words[i], "--mixed") == 0)
            options.dispatch = number != 0 ? HIERARCHY_MIXED : HIERARCHY_PLAIN;
        else {
            fprintf(stderr, "usage: hierarchy_test [--seeds N] [--seed S] [--actors N] "
                    "[--items N] [--workers W] [--mixed 1]\n");
            return 2;
        }
    }
    return run_many(options, seeds);
}

#define SHORT_TEST(seed)                                                                           \
    {                                                                                              \
        "few items, seed " #seed, few_items, NULL, NULL, (void *)(uintptr_t)(seed)                 \
    }

int main(int count, char **words)
{
    static const struct CMUnitTest tests[] = {SHORT_TEST(1), SHORT_TEST(2), SHORT_TEST(3),
                                              SHORT_TEST(4), SHORT_TEST(5), SHORT_TEST(6)};
    if (count > 1)
        return run_asked(count, words);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
