/* record_limits_test.c - a disk that is full, a file that may not grow, memory that has run out:
 * what was said to be done is in the file, what was refused is not, and has not happened. */
#include <errno.h>

#include "api/record_world.h"

static bool refuse; /* memory; see Makefile: --wrap */
static uint32_t after;
static uint32_t refused;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t size);
int __real_posix_memalign(void **out, size_t align, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *block, size_t size);
int __wrap_posix_memalign(void **out, size_t align, size_t size);

static bool refuses(void)
{
    if (!refuse || after-- > 0)
        return false;
    after = 0;
    refused++;
    return true;
}

void *__wrap_malloc(size_t size)
{
    return refuses() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return refuses() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *block, size_t size)
{
    return refuses() ? NULL : __real_realloc(block, size);
}

int __wrap_posix_memalign(void **out, size_t align, size_t size)
{
    return refuses() ? ENOMEM : __real_posix_memalign(out, align, size);
}

static void limit_file(rlim_t bytes)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void no_disk_at_all(void **state)
{
    world w = {.now = 0};
    const axo_options options = world_options(&w, 1);
    const axo_recording recording = world_recording(&w, &options, "/dev/full");
    axo_record_report report = AXO_RECORD_REPORT();
    assert_int_equal(axo_record_start(&recording, &w.recorder, &report), AXO_ESYSTEM);
    assert_null(w.recorder);
    assert_null(w.system); /* its world has not begun */
    assert_int_equal(report.error, ENOSPC);
    assert_string_equal(report.text, "/dev/full: No space left on device");
    assert_int_equal(access("/dev/full", F_OK), 0);
}

/* The file may grow a little more each time, so that writes end anywhere in a record. */
static void disk_is_full_now_and_then(void **state)
{
    const uint64_t seed = 7;
    char path[128];
    world w = {.now = 0};
    const axo_options options = world_options(&w, seed);
    axo_recording recording = world_recording(&w, &options, world_path(path, "full"));
    axo_record_report report = AXO_RECORD_REPORT(), file = AXO_RECORD_REPORT();
    uint64_t chance = ~seed;
    uint32_t full = 0;
    recording.each_event = 1;
    assert_int_equal(axo_record_start(&recording, &w.recorder, &report), AXO_OK);
    for (uint32_t i = 0; i < 200; i++) {
        const uint64_t draw = world_chance(&chance);
        const axo_stats before = AXO_STATS();
        axo_stats stats = before, after_it = before;
        for (uint32_t k = 0; k < 6; k++)
            script_input(&w, &chance);
        assert_int_equal(axo_record_report_of(w.recorder, &report), AXO_OK);
        limit_file(report.bytes - (report.bytes > draw % 3000 ? draw % 3000 : 0));
        assert_int_equal(axo_system_stats(w.system, &stats), AXO_OK);
        w.now += 3 * MS;
        const axo_status status = axo_record_run(w.recorder, -1, NULL);
        limit_file(RLIM_INFINITY);
        if (status == AXO_OK)
            continue; /* what was limited had been written before */
        full++;
        assert_int_equal(status, AXO_ESYSTEM);
        assert_int_equal(axo_system_stats(w.system, &after_it), AXO_OK);
        assert_true(stats.turns == after_it.turns && stats.handled == after_it.handled);
        assert_true(axo_system_now(w.system) < w.now);
        assert_int_equal(axo_record_report_of(w.recorder, &report), AXO_OK);
        assert_int_equal(report.error, EFBIG);
        assert_non_null(strstr(report.text, "File too large"));
        /* What the file has now is whole. */
        assert_int_equal(axo_record_check(path, &file), AXO_OK);
        assert_int_equal(file.torn, 0);
        if (draw % 2 == 0)
            assert_int_equal(axo_record_run(w.recorder, -1, NULL), AXO_OK);
    }
    assert_true(full > 50);
    assert_int_equal(axo_record_flush(w.recorder), AXO_OK);
    assert_int_equal(axo_record_report_of(w.recorder, &report), AXO_OK);
    assert_int_equal(axo_record_end(w.recorder), AXO_OK);
    assert_int_equal(axo_record_check(path, &file), AXO_OK);
    assert_true(file.closed == 1 && file.steps == report.steps);
    const axo_record_report again = world_replay(path, seed, 0);
    world_same(&report, &again);
    assert_int_equal(unlink(path), 0);
}

/* Events that find no room while a step runs are left out, and the rest is compared. */
static void disk_is_full_within_a_step(void **state)
{
    const uint64_t seed = 4;
    char path[128];
    world w = {.now = 0};
    const axo_options options = world_options(&w, seed);
    axo_recording recording = world_recording(&w, &options, world_path(path, "within"));
    axo_record_report report = AXO_RECORD_REPORT();
    recording.each_event = 1;
    assert_int_equal(axo_record_start(&recording, &w.recorder, &report), AXO_OK);
    assert_int_equal(axo_record_run(w.recorder, -1, NULL), AXO_OK);
    for (uint32_t i = 0; i < 6000; i++) /* more events than memory has room for */
        (void)axo_record_send(w.recorder, w.cast[i % ENTITIES], MEET, &(meeting){.way = 1},
                              sizeof(meeting));
    assert_int_equal(axo_record_flush(w.recorder), AXO_OK);
    assert_int_equal(axo_record_report_of(w.recorder, &report), AXO_OK);
    limit_file(report.bytes + 1000); /* the step, and no memory full of events */
    assert_int_equal(axo_record_run(w.recorder, -1, NULL), AXO_OK);
    assert_int_equal(axo_record_report_of(w.recorder, &report), AXO_OK);
    assert_int_equal(report.error, EFBIG);
    assert_int_equal(axo_record_step(w.recorder, 5, NULL), AXO_ESYSTEM);
    limit_file(RLIM_INFINITY);
    assert_int_equal(axo_record_step(w.recorder, 5, NULL), AXO_OK);
    assert_int_equal(axo_record_report_of(w.recorder, &report), AXO_OK);
    assert_int_equal(axo_record_end(w.recorder), AXO_OK);
    const axo_record_report again = world_replay(path, seed, 0);
    world_same(&report, &again);
    assert_int_equal(unlink(path), 0);
}

/* The program goes on without its recording. */
static void goes_on_without(void **state)
{
    const uint64_t seed = 5;
    char path[128];
    world w = {.now = 0};
    const axo_options options = world_options(&w, seed);
    const axo_recording recording = world_recording(&w, &options, world_path(path, "without"));
    axo_record_report report = AXO_RECORD_REPORT();
    assert_int_equal(axo_record_start(&recording, &w.recorder, NULL), AXO_OK);
    script_play(&w, seed, 5);
    assert_int_equal(axo_record_flush(w.recorder), AXO_OK);
    assert_int_equal(axo_record_report_of(w.recorder, &report), AXO_OK);
    assert_int_equal(axo_record_send(w.recorder, w.cast[1], THINK, NULL, 0), AXO_OK);
    limit_file(report.bytes);
    assert_int_equal(axo_record_close(w.recorder), AXO_ESYSTEM);
    limit_file(RLIM_INFINITY);
    assert_int_equal(axo_record_close(w.recorder), AXO_OK);
    const uint64_t thoughts = w.thoughts;
    script_play(&w, seed, 20);
    assert_true(w.thoughts > thoughts);
    axo_record_report after_it = AXO_RECORD_REPORT();
    assert_int_equal(axo_record_report_of(w.recorder, &after_it), AXO_OK);
    assert_int_equal(after_it.state, AXO_RECORD_END);
    assert_int_equal(after_it.bytes, report.bytes);
    assert_int_equal(axo_record_end(w.recorder), AXO_OK);
    const axo_record_report again = world_replay(path, seed, 0);
    world_same(&report, &again);
    assert_int_equal(unlink(path), 0);
}

/* ---- memory ---- */

/* Each allocation of a start fails in turn: nothing is left, not even the file. */
static void no_memory_to_start(void **state)
{
    char path[128];
    uint32_t times = 0;
    (void)world_path(path, "memory");
    for (;; times++) {
        world w = {.now = 0};
        const axo_options options = world_options(&w, 1);
        const axo_recording recording = world_recording(&w, &options, path);
        after = times;
        refused = 0;
        refuse = true;
        axo_status status = axo_record_start(&recording, &w.recorder, NULL);
        refuse = false;
        if (status == AXO_OK && refused == 0) {
            assert_int_equal(axo_record_end(w.recorder), AXO_OK);
            break;
        }
        if (status == AXO_OK) { /* the library has done without */
            assert_int_equal(axo_record_end(w.recorder), AXO_OK);
            assert_int_equal(unlink(path), 0);
            continue;
        }
        assert_true(status == AXO_ENOMEM || status == AXO_ETHREAD);
        assert_null(w.recorder);
        assert_int_equal(access(path, F_OK), -1);
    }
    assert_true(times > 10);
    assert_int_equal(unlink(path), 0);
}

/* Messages that do not fit into what memory there is: not sent, and not in the file. */
static void no_memory_to_send(void **state)
{
    enum { LARGE = 300000 };
    static uint8_t payload[LARGE];
    const uint64_t seed = 6;
    char path[128];
    world w = {.now = 0};
    const axo_options options = world_options(&w, seed);
    const axo_recording recording = world_recording(&w, &options, world_path(path, "send"));
    axo_record_report report = AXO_RECORD_REPORT();
    uint32_t accepted = 0;
    assert_int_equal(axo_record_start(&recording, &w.recorder, NULL), AXO_OK);
    assert_int_equal(axo_record_run(w.recorder, -1, NULL), AXO_OK);
    for (uint32_t i = 0; i < 100; i++) {
        axo_stats before = AXO_STATS(), now = AXO_STATS();
        assert_int_equal(axo_system_stats(w.system, &before), AXO_OK);
        after = i % 4;
        refused = 0;
        refuse = i % 8 != 0;
        axo_status status =
            axo_record_send(w.recorder, w.cast[2], BUMP, payload, LARGE - 1000 * i);
        refuse = false;
        assert_int_equal(axo_system_stats(w.system, &now), AXO_OK);
        assert_int_equal(now.sent - before.sent, status == AXO_OK || status == AXO_EGONE);
        assert_true(status == AXO_OK || status == AXO_EGONE || status == AXO_ENOMEM);
        accepted += status == AXO_OK;
        if (i % 10 == 9)
            assert_int_equal(axo_record_run(w.recorder, -1, NULL), AXO_OK);
    }
    assert_true(accepted > 10 && accepted < 90);
    assert_int_equal(axo_record_run(w.recorder, -1, NULL), AXO_OK);
    assert_int_equal(axo_record_report_of(w.recorder, &report), AXO_OK);
    assert_int_equal(axo_record_end(w.recorder), AXO_OK);
    const axo_record_report again = world_replay(path, seed, 0);
    world_same(&report, &again);
    assert_int_equal(unlink(path), 0);
}

/* Each allocation of a replay's start fails in turn, and each of one of its records. */
static void no_memory_to_play(void **state)
{
    char path[128];
    const uint64_t seed = 9;
    const axo_record_report file = world_record(world_path(path, "play"), seed, 3, true);
    for (uint32_t times = 0;; times++) {
        world w = {.now = 0};
        const axo_options options = world_options(&w, seed);
        const axo_recording recording = world_recording(&w, &options, path);
        axo_record_report report = AXO_RECORD_REPORT();
        axo_replay *replay;
        after = times;
        refused = 0;
        refuse = true;
        axo_status status = axo_replay_start(&recording, &replay, &report);
        refuse = false;
        if (status != AXO_OK) {
            assert_true(status == AXO_ENOMEM || status == AXO_ETHREAD);
            assert_null(replay);
            continue;
        }
        const bool whole = refused == 0;
        assert_int_equal(axo_replay_run(replay, &report), AXO_OK);
        assert_true(report.state == AXO_RECORD_END || !whole);
        if (whole)
            assert_true(report.hash.value == file.hash.value);
        assert_int_equal(axo_replay_end(replay), AXO_OK);
        if (whole)
            break;
    }
    assert_int_equal(unlink(path), 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(no_disk_at_all),
    cmocka_unit_test(disk_is_full_now_and_then),
    cmocka_unit_test(disk_is_full_within_a_step),
    cmocka_unit_test(goes_on_without),
    cmocka_unit_test(no_memory_to_start),
    cmocka_unit_test(no_memory_to_send),
    cmocka_unit_test(no_memory_to_play),
};

TEST_MAIN(tests)
