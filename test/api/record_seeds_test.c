/* record_seeds_test.c - a thousand worlds, each recorded and played again: the same hash; and that
 * the worlds do what they are there for. */
#include "api/record_world.h"

#include "support/slower.h"

enum { SEEDS = 1000, STEPS = 40 };

/* Kinds of events, counted in a replay of its own: the trace of the program's options. */
static uint64_t seen[AXO_EVENT_KINDS];

static void count(void *user, const axo_event *event)
{
    (void)user;
    seen[event->kind]++;
}

static void count_kinds(const char *path, uint64_t seed)
{
    world w = {.now = 0};
    axo_options options = world_options(&w, seed);
    options.trace = count;
    const axo_recording recording = world_recording(&w, &options, path);
    axo_record_report report = AXO_RECORD_REPORT();
    axo_replay *replay;
    assert_int_equal(axo_replay_start(&recording, &replay, &report), AXO_OK);
    assert_int_equal(axo_replay_run(replay, &report), AXO_OK);
    assert_int_equal(report.state, AXO_RECORD_END);
    assert_int_equal(axo_replay_end(replay), AXO_OK);
}

static void a_thousand_seeds(void **state)
{
    const uint32_t seeds = slower_share(SEEDS, 20);
    uint64_t hash = 0;
    char path[128];
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        const axo_record_report file =
            world_record(world_path(path, "seed"), seed, STEPS, seed % 4 == 0);
        const axo_record_report report = world_replay(path, seed, 0);
        world_same(&file, &report);
        assert_true(file.hash.value != hash); /* each seed is a world of its own */
        hash = file.hash.value;
        if (seed % 50 == 0)
            count_kinds(path, seed);
        assert_int_equal(unlink(path), 0);
    }
    static const uint32_t wanted[] = {AXO_EV_FAIL,       AXO_EV_PRE_RESTART, AXO_EV_DELAY,
                                      AXO_EV_DEAD_LETTER, AXO_EV_TERMINATED,  AXO_EV_NOTICE,
                                      AXO_EV_DECIDER_END, AXO_EV_RESUME};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted && seeds == SEEDS; i++)
        assert_true(seen[wanted[i]] > 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_thousand_seeds),
};

/* record FILE SEED, replay FILE SEED: for other builds of this program. Both print the hash. */
static int one(const char *what, const char *path, uint64_t seed)
{
    const bool records = strcmp(what, "record") == 0;
    script_even = seed % 3 == 0;
    const axo_record_report report =
        records ? world_record(path, seed, STEPS, seed % 2 != 0) : world_replay(path, seed, 0);
    if (!records && report.state != AXO_RECORD_END)
        (void)fprintf(stderr, "record %u, event %u: %s\n", (unsigned)report.record,
                      (unsigned)report.event, report.text);
    (void)printf("%016llx %llu\n", (unsigned long long)report.hash.value,
                 (unsigned long long)report.hash.events);
    return records || report.state == AXO_RECORD_END ? 0 : 1;
}

int main(int argc, char **argv)
{
    if (argc == 4)
        return one(argv[1], argv[2], strtoull(argv[3], NULL, 10));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
