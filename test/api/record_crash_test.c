/* record_crash_test.c - a process that dies leaves its recording up to the step in which it died:
 * by SIGKILL at any moment, by a crash in a handler; the replay crashes in the same record. */
#include <time.h>

#include "api/record_world.h"

#include "support/slower.h"

/* What a child tells of itself, also when it is dead. */
typedef struct told {
    volatile uint64_t steps;
    volatile uint64_t records; /* whole ones when it died */
    volatile uint64_t hash;
} told;

static told *told_make(void)
{
    void *memory = mmap(NULL, sizeof(told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                        -1, 0);
    assert_true(memory != MAP_FAILED);
    return memory;
}

/* A child that has no core and no handlers of a sanitizer. */
static pid_t child_begin(void)
{
    const struct rlimit none = {0, 0};
    (void)fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)setrlimit(RLIMIT_CORE, &none);
        (void)signal(SIGSEGV, SIG_DFL);
        (void)signal(SIGABRT, SIG_DFL);
    }
    return pid;
}

static int child_end(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

/* Records until it is killed, and says behind each step what it has come to. */
static void child_records(const char *path, uint64_t seed, told *says)
{
    world w = {.now = 0};
    const axo_options options = world_options(&w, seed);
    axo_recording recording = world_recording(&w, &options, path);
    uint64_t chance = ~seed;
    recording.each_event = seed % 2 != 0;
    if (axo_record_start(&recording, &w.recorder, NULL) != AXO_OK)
        _exit(1);
    for (;;) {
        axo_record_report report = AXO_RECORD_REPORT();
        for (uint32_t k = (uint32_t)(world_chance(&chance) % 12); k > 0; k--)
            script_input(&w, &chance);
        if (script_step(&w, &chance) != AXO_OK ||
            axo_record_report_of(w.recorder, &report) != AXO_OK)
            _exit(2);
        says->hash = report.hash.value;
        says->steps = report.steps;
    }
}

/* Plays a file whose process has died; as many steps as it had begun are in it. */
static axo_record_report replay_torn(const char *path, uint64_t seed, uint64_t steps)
{
    axo_record_report file = AXO_RECORD_REPORT();
    axo_status status = axo_record_check(path, &file);
    if (status != AXO_OK)
        fail_msg("%s: %s", axo_status_name(status), file.text);
    assert_true(file.closed == 0);
    assert_true(file.steps >= steps); /* no step is lost that was over */
    const axo_record_report report = world_replay(path, seed, 0);
    if (report.state != AXO_RECORD_END)
        fail_msg("record %u, event %u: %s", (unsigned)report.record, (unsigned)report.event,
                 report.text);
    assert_int_equal(report.records, file.records);
    assert_int_equal(report.steps, file.steps);
    return report;
}

static void killed(void **state)
{
    const uint32_t times = slower_share(60, 4);
    uint64_t chance = 5;
    char path[128];
    told *says = told_make();
    for (uint64_t seed = 1; seed <= times; seed++) {
        const uint64_t steps = world_chance(&chance) % 200;
        const long wait = (long)(world_chance(&chance) % 400000);
        says->steps = says->hash = 0;
        (void)world_path(path, "killed");
        pid_t pid = child_begin();
        if (pid == 0)
            child_records(path, seed, says);
        while (says->steps <= steps && waitpid(pid, NULL, WNOHANG) == 0)
            (void)nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
        (void)nanosleep(&(struct timespec){.tv_nsec = wait}, NULL);
        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_int_equal(WTERMSIG(child_end(pid)), SIGKILL);
        (void)replay_torn(path, seed, says->steps);
        assert_int_equal(unlink(path), 0);
    }
    assert_int_equal(munmap(says, sizeof *says), 0);
}

/* ---- a crash ---- */

/* A game that is saved, and its recording with it: the next one begins with what was saved. */
static void child_saves(const char *path, uint64_t seed)
{
    world w = {.now = 0};
    const axo_options options = world_options(&w, seed);
    const axo_recording recording = world_recording(&w, &options, path);
    if (axo_record_start(&recording, &w.recorder, NULL) != AXO_OK)
        _exit(4);
    script_play(&w, seed, 5);
    if (axo_record_end(w.recorder) != AXO_OK || unlink(path) != 0)
        _exit(5);
}

static void child_crashes(const char *path, uint64_t seed, told *says)
{
    static const uint32_t flocks = 2;
    world w = {.now = 0};
    const axo_options options = world_options(&w, seed);
    axo_recording recording = world_recording(&w, &options, path);
    axo_record_report report = AXO_RECORD_REPORT();
    if (seed % 2 == 0) {
        child_saves(path, seed);
        recording.snapshot = &flocks;
        recording.snapshot_size = sizeof flocks;
    }
    if (axo_record_start(&recording, &w.recorder, NULL) != AXO_OK)
        _exit(1);
    script_play(&w, seed, 10);
    for (;;) { /* those that wait for their restart crash later */
        w.now += 50 * MS;
        for (uint32_t i = 0; i < ENTITIES; i += 5)
            (void)axo_record_send(w.recorder, w.cast[i], CRASH, NULL, 0);
        if (axo_record_flush(w.recorder) != AXO_OK ||
            axo_record_report_of(w.recorder, &report) != AXO_OK)
            _exit(2);
        says->records = report.records;
        (void)axo_record_run(w.recorder, -1, NULL);
    }
}

/* Says before each record which one it plays. */
static void child_plays(const char *path, uint64_t seed, told *says)
{
    world w = {.now = 0};
    const axo_options options = world_options(&w, seed);
    const axo_recording recording = world_recording(&w, &options, path);
    axo_record_report report = AXO_RECORD_REPORT();
    axo_replay *replay;
    if (axo_replay_start(&recording, &replay, &report) != AXO_OK)
        _exit(1);
    do {
        says->records = report.records;
        if (axo_replay_next(replay, &report) != AXO_OK)
            _exit(2);
    } while (report.state == AXO_RECORD_GOES_ON);
    _exit(3);
}

static void crash_again(void **state)
{
    char path[128];
    told *says = told_make();
    for (uint64_t seed = 1; seed <= 10; seed++) {
        axo_record_report file = AXO_RECORD_REPORT();
        (void)world_path(path, "crash");
        pid_t pid = child_begin();
        if (pid == 0)
            child_crashes(path, seed, says);
        int status = child_end(pid);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
        const uint64_t crashed = says->records; /* the number of the step's record */
        assert_int_equal(axo_record_check(path, &file), AXO_OK);
        assert_int_equal(file.records, crashed + 1); /* the step is the last */
        assert_true(file.closed == 0 && file.torn == 0);
        says->records = 0;
        pid = child_begin();
        if (pid == 0)
            child_plays(path, seed, says);
        status = child_end(pid);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
        assert_int_equal(says->records, crashed);
        assert_int_equal(unlink(path), 0);
    }
    assert_int_equal(munmap(says, sizeof *says), 0);
}

/* ---- a crash that is a failure ---- */

static axo_status fragile_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    uint32_t *handled = state;
    (void)ctx;
    if (message->tag == CRASH)
        *(volatile char *)(uintptr_t)*handled = 1; /* a low address, which is nobody's */
    ++*handled;
    return AXO_OK;
}

static const axo_class fragile_class =
    AXO_CLASS(.name = "fragile", .state_size = sizeof(uint32_t), .receive = fragile_receive,
              .on_crash = AXO_CRASH_FAILS);

static axo_status fragile_begin(void *user, axo_system *system, const void *snapshot, size_t size)
{
    const axo_props props = AXO_PROPS(.cls = &fragile_class);
    (void)snapshot;
    (void)size;
    return axo_system_spawn(system, &props, user);
}

static void plays_without(axo_recording recording)
{
    const axo_options options = AXO_OPTIONS();
    axo_replay *replay;
    recording.options = &options;
    if (axo_replay_start(&recording, &replay, NULL) != AXO_OK)
        _exit(1);
    (void)axo_replay_run(replay, NULL);
    _exit(3);
}

/* Contained, it is an event like others; a replay that does not contain it crashes there. */
static void contained(void **state)
{
    char path[128];
    axo_ref fragile;
    axo_recorder *recorder;
    axo_replay *replay;
    axo_stats stats = AXO_STATS();
    axo_record_report report = AXO_RECORD_REPORT(), again = AXO_RECORD_REPORT();
    const axo_options options = AXO_OPTIONS(.contain = 1);
    const axo_recording recording =
        AXO_RECORDING(.path = world_path(path, "contained"), .begin = fragile_begin,
                      .user = &fragile, .options = &options, .each_event = 1);
    axo_status status = axo_record_start(&recording, &recorder, NULL);
    if (status == AXO_ENOTSUP) {
        print_message("left out: crashes are not contained here\n");
        return;
    }
    assert_int_equal(status, AXO_OK);
    for (uint32_t i = 0; i < 20; i++) {
        assert_int_equal(axo_record_send(recorder, fragile, i % 4 == 3 ? CRASH : THINK, NULL, 0),
                         AXO_OK);
        assert_int_equal(axo_record_run(recorder, -1, NULL), AXO_OK);
    }
    assert_int_equal(axo_system_stats(axo_record_system(recorder), &stats), AXO_OK);
    assert_true(stats.failures == 5 && stats.restarts == 5);
    assert_int_equal(axo_record_report_of(recorder, &report), AXO_OK);
    assert_int_equal(axo_record_end(recorder), AXO_OK);
    assert_int_equal(axo_replay_start(&recording, &replay, NULL), AXO_OK);
    assert_int_equal(axo_replay_run(replay, &again), AXO_OK);
    assert_int_equal(axo_replay_end(replay), AXO_OK);
    world_same(&report, &again);
    pid_t pid = child_begin();
    if (pid == 0)
        plays_without(recording);
    const int ended = child_end(pid);
    assert_true(WIFSIGNALED(ended) && WTERMSIG(ended) == SIGSEGV);
    assert_int_equal(unlink(path), 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(killed),
    cmocka_unit_test(crash_again),
    cmocka_unit_test(contained),
};

TEST_MAIN(tests)
