/* record_same_test.c - a recording and its replays, with each event in the file and without: the
 * same events. */
#include "api/record_world.h"

static void same_again(void **state)
{
    char path[128];
    for (uint32_t each = 0; each < 2; each++) {
        const axo_record_report file = world_record(world_path(path, "same"), 1, 60, each != 0);
        axo_record_report report = world_replay(path, 1, 0);
        world_same(&file, &report);
        assert_true(report.hash.events > 1000);
        report = world_replay(path, 1, 0);
        world_same(&file, &report);
        assert_int_equal(unlink(path), 0);
    }
}

/* Who looks at the world when it has nothing to do changes nothing: a program may save it so, and
 * at any other time by a call, which is an input like others. */
static void looked_at(void **state)
{
    const uint64_t seed = 12;
    char path[128];
    script_even = true; /* or a slow machine would leave messages for each look */
    for (uint32_t calls = 0; calls < 2; calls++) {
        world w = {.now = 0};
        uint64_t chance = seed, shown = 0;
        const axo_options options = world_options(&w, seed);
        const axo_recording recording = world_recording(&w, &options, world_path(path, "looked"));
        axo_record_report report = AXO_RECORD_REPORT();
        assert_int_equal(axo_record_start(&recording, &w.recorder, NULL), AXO_OK);
        for (uint32_t i = 0; i < 100; i++) {
            if (calls == 0) {
                assert_int_equal(axo_record_run(w.recorder, -1, NULL), AXO_OK);
                assert_int_equal(axo_system_visit(w.system, world_look, &shown), AXO_OK);
            }
            for (uint32_t k = 0; k < 8; k++)
                script_input(&w, &chance);
            if (calls == 1)
                (void)axo_record_call(w.recorder, CALL_LOOK, NULL, 0);
            assert_int_equal(script_step(&w, &chance), AXO_OK);
        }
        assert_true(shown + w.shown > 200);
        assert_int_equal(axo_record_report_of(w.recorder, &report), AXO_OK);
        assert_int_equal(axo_record_end(w.recorder), AXO_OK);
        const axo_record_report again = world_replay(path, seed, 0);
        world_same(&report, &again);
        assert_int_equal(unlink(path), 0);
    }
    script_even = false;
}

/* References are secrets: none of a living actor is in a file, neither as a receiver nor in what a
 * message says. */
static void secrets(void **state)
{
    char path[128];
    uint8_t bytes[1 << 16];
    world w = {.now = 0};
    const axo_options options = world_options(&w, 3);
    const axo_recording recording = world_recording(&w, &options, world_path(path, "secrets"));
    assert_int_equal(axo_record_start(&recording, &w.recorder, NULL), AXO_OK);
    assert_int_equal(axo_record_run(w.recorder, -1, NULL), AXO_OK);
    const order it = {.who = w.cast[2], .text = "handed"};
    const meeting met = {.who = w.cast[1], .whom = w.cast[2]};
    assert_int_equal(axo_record_send_from(w.recorder, w.cast[0], w.cast[1], MEET, &met,
                                          sizeof met),
                     AXO_OK);
    assert_int_equal(axo_record_call(w.recorder, CALL_HAND, &it, sizeof it), AXO_OK);
    assert_int_equal(axo_record_run(w.recorder, -1, NULL), AXO_OK);
    assert_int_equal(axo_record_end(w.recorder), AXO_OK);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    const size_t size = fread(bytes, 1, sizeof bytes, file);
    assert_true(size > 100 && size < sizeof bytes);
    assert_non_null(memmem(bytes, size, "handed", 6));
    for (uint32_t i = 0; i < ENTITIES; i++)
        assert_null(memmem(bytes, size, &w.cast[i], sizeof w.cast[i]));
    assert_int_equal(fclose(file), 0);
    assert_int_equal(unlink(path), 0);
}

static void trace_hash(void *user, const axo_event *event)
{
    axo_record_hash_add(user, event);
}

/* A hash that the program makes itself, in the trace of any system, is the recorder's. */
static void hash_of_a_trace(void **state)
{
    const uint64_t seed = 13;
    char path[128];
    const axo_record_report file = world_record(world_path(path, "trace"), seed, 20, false);
    world w = {.now = 0};
    axo_record_hash hash = {.value = 0};
    axo_options options = world_options(&w, seed);
    options.trace = trace_hash;
    options.trace_user = &hash;
    const axo_recording recording = world_recording(&w, &options, path);
    axo_record_report report = AXO_RECORD_REPORT();
    axo_replay *replay;
    assert_int_equal(axo_replay_start(&recording, &replay, NULL), AXO_OK);
    assert_int_equal(axo_replay_run(replay, &report), AXO_OK);
    assert_true(hash.value == file.hash.value && hash.events == file.hash.events);
    assert_int_equal(axo_replay_end(replay), AXO_OK);
    assert_true(hash.events > file.hash.events); /* the end of the system */
    axo_record_hash_add(NULL, NULL);
    assert_int_equal(unlink(path), 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(same_again),
    cmocka_unit_test(looked_at),
    cmocka_unit_test(secrets),
    cmocka_unit_test(hash_of_a_trace),
};

TEST_MAIN(tests)
