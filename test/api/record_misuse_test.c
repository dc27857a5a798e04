/* record_misuse_test.c - a divergence is found and said where; what comes past the recorder; calls
 * from callbacks, from many threads, in a child of fork; arguments that are none. */
#include <errno.h>
#include <pthread.h>

#include "api/record_world.h"

/* ---- divergence ---- */

/* One handler sends a message more, when it is bumped for the third time. */
static void diverges(void **state)
{
    char path[128];
    uint32_t named = 0;
    script_even = true; /* the same on any machine */
    for (uint32_t each = 0; each < 2; each++) {
        for (uint64_t seed = 1; seed <= 20; seed++) {
            (void)world_record(world_path(path, "odd"), seed, 60, each != 0);
            const axo_record_report report = world_replay(path, seed, 1);
            if (report.state != AXO_RECORD_DIVERGED)
                fail_msg("seed %u: it goes unnoticed", (unsigned)seed);
            assert_true(report.record > 1 && report.text[0] != 0);
            assert_true((report.event > 0) == (each != 0));
            named += strstr(report.text, "receive 10 of actor ") != NULL;
            assert_int_equal(unlink(path), 0);
        }
    }
    /* The first difference is that message, unless it keeps its actor busy before. */
    assert_true(named >= 15);
    script_even = false;
}

/* Where exactly: in a world of one actor, which answers each message. */
static uint32_t extra_at; /* the message behind which one more is sent; 0: none */
static uint32_t lacks_at; /* the one behind which the usual one is not sent */
static uint32_t sums;     /* 1: the digest is another */

static axo_status echo_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)state;
    if (message->tag == 999)
        return AXO_OK;
    if (message->tag == lacks_at)
        return AXO_OK;
    if (message->tag == extra_at && axo_send(ctx, axo_self(ctx), 999, NULL, 0) != AXO_OK)
        return AXO_EFAILED;
    return axo_send(ctx, axo_self(ctx), 999, NULL, 0);
}

static const axo_class echo_class = AXO_CLASS(.name = "echo", .receive = echo_receive);

static axo_status echo_begin(void *user, axo_system *system, const void *snapshot, size_t size)
{
    (void)snapshot;
    (void)size;
    return axo_system_spawn(system, &(axo_props)AXO_PROPS(.cls = &echo_class, .name = "echo"),
                            user);
}

static uint64_t echo_digest(void *user, axo_system *system)
{
    (void)user;
    (void)system;
    return 5 + sums;
}

static axo_recording echo_recording(axo_ref *ref, const char *path, uint32_t each)
{
    return (axo_recording)AXO_RECORDING(.path = path, .begin = echo_begin, .user = ref,
                                        .digest = echo_digest, .each_event = each);
}

static axo_record_report echo_play(const axo_recording *recording)
{
    axo_record_report report = AXO_RECORD_REPORT();
    axo_replay *replay;
    assert_int_equal(axo_replay_start(recording, &replay, &report), AXO_OK);
    assert_int_equal(axo_replay_run(replay, &report), AXO_OK);
    assert_int_equal(axo_replay_end(replay), AXO_OK);
    extra_at = lacks_at = sums = 0;
    return report;
}

static void located(void **state)
{
    char path[128], text[256];
    for (uint32_t each = 0; each < 2; each++) {
        axo_ref echo;
        axo_recorder *recorder;
        const axo_recording recording = echo_recording(&echo, world_path(path, "echo"), each);
        assert_int_equal(axo_record_start(&recording, &recorder, NULL), AXO_OK);
        for (uint32_t i = 1; i <= 9; i++) { /* each step: receive, received, twice */
            assert_int_equal(axo_record_send(recorder, echo, i, NULL, 0), AXO_OK);
            assert_int_equal(axo_record_run(recorder, -1, NULL), AXO_OK);
        }
        assert_int_equal(axo_record_end(recorder), AXO_OK);

        /* HEAD, BEGIN, [EVENTS], DONE; then SEND, STEP, [EVENTS], DONE for each. */
        const uint64_t fourth = 3 + each + 3 * (3 + each) + 1;
        axo_record_report report = echo_play(&recording);
        assert_int_equal(report.state, AXO_RECORD_END);
        extra_at = 4;
        report = echo_play(&recording);
        assert_int_equal(report.state, AXO_RECORD_DIVERGED);
        assert_int_equal(report.record, fourth);
        assert_int_equal(report.event, each != 0 ? 5 : 0);
        (void)snprintf(text, sizeof text,
                       "event 5: receive 999 of actor %u (/user/echo); in the recording nothing "
                       "more",
                       axo_ref_index(echo));
        if (each != 0)
            assert_string_equal(report.text, text);
        lacks_at = 4;
        report = echo_play(&recording);
        assert_int_equal(report.record, fourth);
        assert_int_equal(report.event, each != 0 ? 3 : 0);
        (void)snprintf(text, sizeof text,
                       "event 3: nothing more; in the recording receive 999 of actor %u "
                       "(/user/echo)",
                       axo_ref_index(echo));
        if (each != 0)
            assert_string_equal(report.text, text);
        sums = 1; /* what the world is made of already */
        report = echo_play(&recording);
        assert_true(report.state == AXO_RECORD_DIVERGED && report.record == 1);
        assert_string_equal(report.text,
                            "the same events; the digest is 6, in the recording 5");
        assert_int_equal(unlink(path), 0);
    }
}

/* ---- past the recorder ---- */

static axo_ref stray_ref;

static void past(void **state)
{
    static const char *const texts[] = {"a message was sent past the recorder",
                                        "an actor was spawned past the recorder",
                                        "turns were run past the recorder"};
    char path[128];
    for (uint32_t what = 0; what < 3; what++) {
        axo_ref echo;
        axo_recorder *recorder;
        axo_record_report report = AXO_RECORD_REPORT();
        const axo_recording recording = echo_recording(&echo, world_path(path, "past"), 0);
        const axo_props props = AXO_PROPS(.cls = &echo_class);
        assert_int_equal(axo_record_start(&recording, &recorder, NULL), AXO_OK);
        assert_int_equal(axo_record_run(recorder, -1, NULL), AXO_OK);
        assert_int_equal(axo_record_send(recorder, echo, 1, NULL, 0), AXO_OK);
        if (what == 0)
            assert_int_equal(axo_system_send(axo_record_system(recorder), echo, 2, NULL, 0),
                             AXO_OK);
        if (what == 1)
            assert_int_equal(axo_system_spawn(axo_record_system(recorder), &props, &stray_ref),
                             AXO_OK);
        if (what == 2)
            assert_int_equal(axo_run_host(axo_record_system(recorder), -1, NULL), AXO_OK);
        assert_int_equal(axo_record_run(recorder, -1, NULL), AXO_ENOTSUP);
        assert_int_equal(axo_record_send(recorder, echo, 1, NULL, 0), AXO_ENOTSUP);
        assert_int_equal(axo_record_kill(recorder, echo), AXO_ENOTSUP);
        assert_int_equal(axo_record_flush(recorder), AXO_ENOTSUP);
        assert_int_equal(axo_record_report_of(recorder, &report), AXO_OK);
        assert_int_equal(report.state, AXO_RECORD_BROKEN);
        assert_string_equal(report.text, texts[what]);
        assert_int_equal(axo_record_close(recorder), AXO_OK); /* and then it goes on */
        assert_int_equal(axo_record_send(recorder, echo, 1, NULL, 0), AXO_OK);
        assert_int_equal(axo_record_run(recorder, -1, NULL), AXO_OK);
        assert_int_equal(axo_record_end(recorder), AXO_OK);
        /* Up to there the file is right, and is not closed. */
        assert_int_equal(axo_record_check(path, &report), AXO_OK);
        assert_int_equal(report.closed, 0);
        report = echo_play(&recording);
        assert_int_equal(report.state, AXO_RECORD_END);
        assert_int_equal(unlink(path), 0);
    }
}

static axo_status reader_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    char byte;
    (void)state;
    if (message->tag == 1)
        return axo_io_watch(ctx, *AXO_PAYLOAD(message, int), AXO_IO_IN, 0);
    if (message->tag == AXO_IO_READY && read(AXO_PAYLOAD(message, axo_io_ready)->fd, &byte, 1) != 1)
        return AXO_EFAILED;
    return AXO_OK;
}

static const axo_class reader_class = AXO_CLASS(.name = "reader", .receive = reader_receive);

static axo_status reader_begin(void *user, axo_system *system, const void *snapshot, size_t size)
{
    (void)snapshot;
    (void)size;
    return axo_system_spawn(system, &(axo_props)AXO_PROPS(.cls = &reader_class), user);
}

static void a_descriptor(void **state)
{
    int fds[2];
    char path[128];
    axo_ref ref;
    axo_recorder *recorder;
    axo_record_report report = AXO_RECORD_REPORT();
    const axo_recording recording =
        AXO_RECORDING(.path = world_path(path, "io"), .begin = reader_begin, .user = &ref);
    assert_int_equal(pipe(fds), 0);
    assert_int_equal(axo_record_start(&recording, &recorder, NULL), AXO_OK);
    assert_int_equal(axo_record_send(recorder, ref, 1, fds, sizeof fds[0]), AXO_OK);
    assert_int_equal(axo_record_run(recorder, -1, NULL), AXO_OK);
    assert_int_equal(axo_record_run(recorder, -1, NULL), AXO_OK); /* a watch alone is no input */
    assert_int_equal(write(fds[1], "x", 1), 1);
    while (axo_record_run(recorder, -1, NULL) == AXO_OK)
        ;
    assert_int_equal(axo_record_report_of(recorder, &report), AXO_OK);
    assert_string_equal(report.text,
                        "a descriptor was ready: that is no input that is recorded");
    assert_int_equal(axo_record_end(recorder), AXO_OK);
    assert_int_equal(close(fds[0]) | close(fds[1]) | unlink(path), 0);
}

/* ---- callbacks, threads, children ---- */

static axo_recorder *the;
static axo_status within[5];

static axo_status inside_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)state;
    (void)message;
    within[0] = axo_record_send(the, axo_self(ctx), 1, NULL, 0);
    within[1] = axo_record_run(the, -1, NULL);
    within[2] = axo_record_close(the);
    within[3] = axo_record_end(the);
    within[4] = axo_record_call(the, 1, NULL, 0);
    return AXO_OK;
}

static const axo_class inside_class = AXO_CLASS(.name = "inside", .receive = inside_receive);

static axo_status inside_begin(void *user, axo_system *system, const void *snapshot, size_t size)
{
    (void)snapshot;
    (void)size;
    return axo_system_spawn(system, &(axo_props)AXO_PROPS(.cls = &inside_class), user);
}

static void in_a_callback(void **state)
{
    char path[128];
    axo_ref ref;
    const axo_recording recording =
        AXO_RECORDING(.path = world_path(path, "inside"), .begin = inside_begin, .user = &ref);
    assert_int_equal(axo_record_start(&recording, &the, NULL), AXO_OK);
    assert_int_equal(axo_record_send(the, ref, 1, NULL, 0), AXO_OK);
    assert_int_equal(axo_record_run(the, -1, NULL), AXO_OK);
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(within[i], AXO_ECONTEXT);
    /* A child of fork has no part in it. */
    (void)fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        _exit(axo_record_send(the, ref, 1, NULL, 0) == AXO_EFORKED &&
                      axo_record_run(the, -1, NULL) == AXO_EFORKED &&
                      axo_record_end(the) == AXO_EFORKED
                  ? 0
                  : 1);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(axo_record_end(the), AXO_OK);
    assert_int_equal(unlink(path), 0);
}

typedef struct sender {
    axo_recorder *recorder;
    axo_ref to;
    uint32_t first;
} sender;

static void *sender_run(void *arg)
{
    const sender *me = arg;
    for (uint32_t i = 0; i < 500; i++) {
        if (axo_record_send(me->recorder, me->to, me->first + i, NULL, 0) != AXO_OK)
            abort();
        if (i % 50 == 0)
            (void)axo_record_flush(me->recorder);
    }
    return NULL;
}

/* Messages of other threads come between steps, in the order in which they are in the file. */
static void many_threads(void **state)
{
    enum { THREADS = 3 };
    char path[128];
    pthread_t threads[THREADS];
    sender senders[THREADS];
    axo_ref echo;
    axo_recorder *recorder;
    axo_record_report report = AXO_RECORD_REPORT();
    axo_stats stats = AXO_STATS();
    const axo_recording recording = echo_recording(&echo, world_path(path, "threads"), 1);
    assert_int_equal(axo_record_start(&recording, &recorder, NULL), AXO_OK);
    for (uint32_t i = 0; i < THREADS; i++) {
        senders[i] = (sender){.recorder = recorder, .to = echo, .first = 1000 * (i + 1)};
        assert_int_equal(pthread_create(&threads[i], NULL, sender_run, &senders[i]), 0);
    }
    do {
        assert_int_equal(axo_record_step(recorder, 3, NULL), AXO_OK);
        assert_int_equal(axo_system_stats(axo_record_system(recorder), &stats), AXO_OK);
    } while (stats.handled < 2 * 500 * THREADS);
    for (uint32_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(axo_record_report_of(recorder, &report), AXO_OK);
    assert_int_equal(axo_record_end(recorder), AXO_OK);
    const axo_record_report again = echo_play(&recording);
    world_same(&report, &again);
    assert_int_equal(unlink(path), 0);
}

/* ---- arguments ---- */

static void arguments(void **state)
{
    char path[128];
    axo_ref echo;
    axo_recorder *recorder = NULL;
    axo_replay *replay = NULL;
    axo_record_report none = {0};
    axo_record_report report = AXO_RECORD_REPORT();
    axo_options options = AXO_OPTIONS();
    axo_recording recording = echo_recording(&echo, world_path(path, "arguments"), 0);
    recording.options = &options;

    assert_int_equal(axo_record_start(NULL, &recorder, NULL), AXO_EINVAL);
    assert_int_equal(axo_record_start(&recording, NULL, NULL), AXO_EINVAL);
    assert_int_equal(axo_record_start(&recording, &recorder, &none), AXO_EINVAL);
    report.size++;
    assert_int_equal(axo_record_start(&recording, &recorder, &report), AXO_EVERSION);
    report.size--;
    options.manual = AXO_MANUAL_DEFAULT;
    assert_int_equal(axo_record_start(&recording, &recorder, &report), AXO_ENOTSUP);
    options.manual = 0;
    options.threads = AXO_THREADS_LENT;
    assert_int_equal(axo_record_start(&recording, &recorder, &report), AXO_ENOTSUP);
    options.threads = 0;
    options.quantum_us = 50;
    assert_int_equal(axo_record_start(&recording, &recorder, &report), AXO_EINVAL);
    options.quantum_us = 0;
    options.name = "no name";
    assert_int_equal(axo_record_start(&recording, &recorder, &report), AXO_ENAME);
    options.name = NULL;
    recording.path = NULL;
    assert_int_equal(axo_record_start(&recording, &recorder, &report), AXO_EINVAL);
    recording.path = "/tmp/there/is/no/such/folder";
    assert_int_equal(axo_record_start(&recording, &recorder, &report), AXO_ESYSTEM);
    assert_int_equal(report.error, ENOENT);
    recording.path = path;
    recording.snapshot_size = 3;
    assert_int_equal(axo_record_start(&recording, &recorder, &report), AXO_EINVAL);
    recording.snapshot_size = 0;
    assert_int_equal(access(path, F_OK), -1); /* no attempt has left a file */

    assert_int_equal(axo_record_start(&recording, &recorder, &report), AXO_OK);
    axo_recorder *second;
    assert_int_equal(axo_record_start(&recording, &second, &report), AXO_ESYSTEM);
    assert_int_equal(report.error, EEXIST); /* a recording is never written over */
    assert_int_equal(axo_record_call(recorder, 1, NULL, 0), AXO_EINVAL);
    assert_int_equal(axo_record_send(recorder, axo_ref_none(), 1, NULL, 0), AXO_EINVAL);
    assert_int_equal(axo_record_send(recorder, echo, 1, NULL, 4), AXO_EINVAL);
    assert_int_equal(axo_record_send(recorder, echo, 1, path, AXO_PAYLOAD_MAX + 1), AXO_ETOOBIG);
    assert_int_equal(axo_record_send(recorder, echo, AXO_TERMINATED, NULL, 0), AXO_EINVAL);
    assert_int_equal(axo_record_stop_actor(recorder, axo_ref_none()), AXO_EINVAL);
    assert_int_equal(axo_record_send(NULL, echo, 1, NULL, 0), AXO_EINVAL);
    assert_int_equal(axo_record_step(NULL, 1, NULL), AXO_EINVAL);
    assert_int_equal(axo_record_end(NULL), AXO_EINVAL);
    assert_null(axo_record_system(NULL));
    assert_null(axo_replay_system(NULL));
    assert_int_equal(axo_record_end(recorder), AXO_OK);
    assert_int_equal(axo_record_check(NULL, &report), AXO_EINVAL);
    assert_int_equal(axo_record_check(path, NULL), AXO_EINVAL);
    assert_int_equal(axo_replay_start(NULL, &replay, NULL), AXO_EINVAL);
    assert_int_equal(axo_replay_start(&recording, NULL, NULL), AXO_EINVAL);
    assert_int_equal(axo_replay_run(NULL, NULL), AXO_EINVAL);
    assert_int_equal(axo_replay_end(NULL), AXO_EINVAL);
    assert_int_equal(unlink(path), 0);
}

static axo_status echo_call(void *user, axo_system *system, uint32_t number, const void *bytes,
                            size_t size)
{
    const axo_props props = AXO_PROPS(.cls = &echo_class);
    (void)user;
    (void)number;
    (void)bytes;
    (void)size;
    return axo_system_spawn(system, &props, &stray_ref);
}

/* Nobody's references: one that was somebody's, one of another system, and one whose index is
 * another actor's now. */
static void nobodys(void **state)
{
    char path[128];
    axo_ref echo;
    axo_recorder *recorder;
    axo_record_report report = AXO_RECORD_REPORT();
    axo_recording recording = echo_recording(&echo, world_path(path, "nobody"), 0);
    recording.call = echo_call;
    assert_int_equal(axo_record_start(&recording, &recorder, NULL), AXO_OK);
    assert_int_equal(axo_record_run(recorder, -1, NULL), AXO_OK);
    assert_int_equal(axo_record_stop_actor(recorder, echo), AXO_OK);
    assert_int_equal(axo_record_run(recorder, -1, NULL), AXO_OK);
    assert_int_equal(axo_record_send(recorder, echo, 1, NULL, 0), AXO_EGONE);
    axo_ref stranger = echo;
    stranger.bits ^= UINT64_C(1) << 40;
    assert_int_equal(axo_record_send_from(recorder, stranger, stranger, 1, NULL, 0), AXO_EGONE);
    assert_int_equal(axo_record_kill(recorder, echo), AXO_EGONE);
    do {
        assert_int_equal(axo_record_call(recorder, 1, NULL, 0), AXO_OK);
        assert_int_equal(axo_record_run(recorder, -1, NULL), AXO_OK);
    } while (axo_ref_index(stray_ref) != axo_ref_index(echo));
    assert_int_equal(axo_record_send(recorder, echo, 1, NULL, 0), AXO_EGONE);
    assert_int_equal(axo_record_send(recorder, stray_ref, 1, NULL, 0), AXO_OK);
    assert_int_equal(axo_record_run(recorder, -1, NULL), AXO_OK);
    assert_int_equal(axo_record_report_of(recorder, &report), AXO_OK);
    assert_int_equal(report.state, AXO_RECORD_GOES_ON);
    assert_int_equal(axo_record_end(recorder), AXO_OK);
    axo_record_report again = echo_play(&recording);
    world_same(&report, &again);
    assert_int_equal(unlink(path), 0);
}

/* Behind the end of a file the system goes on, and so does its time. */
static void behind_the_end(void **state)
{
    char path[128];
    const uint64_t seed = 11;
    world w = {.now = 0};
    const axo_options options = world_options(&w, seed);
    axo_recording recording = world_recording(&w, &options, world_path(path, "end"));
    const axo_record_report file = world_record(path, seed, 10, false);
    axo_record_report report = AXO_RECORD_REPORT();
    axo_replay *replay;
    assert_int_equal(axo_replay_start(&recording, &replay, &report), AXO_OK);
    assert_int_equal(axo_replay_run(replay, &report), AXO_OK);
    assert_int_equal(report.state, AXO_RECORD_END);
    const int64_t now = axo_system_now(axo_replay_system(replay));
    const uint64_t thoughts = w.thoughts;
    (void)axo_system_send(axo_replay_system(replay), w.cast[0], MEET, &(meeting){.way = 1},
                          sizeof(meeting));
    while (w.thoughts == thoughts) /* timers are due again */
        assert_int_equal(axo_run_host(axo_replay_system(replay), -1, NULL), AXO_OK);
    assert_true(axo_system_now(axo_replay_system(replay)) > now);
    assert_int_equal(axo_replay_next(replay, &report), AXO_OK);
    assert_int_equal(report.state, AXO_RECORD_END);
    assert_true(report.hash.value == file.hash.value);
    assert_int_equal(axo_replay_end(replay), AXO_OK);
    assert_int_equal(unlink(path), 0);
}

/* A recording that begins with what another one has saved. */
static void from_a_snapshot(void **state)
{
    char path[128];
    const uint32_t flocks = 2;
    world w = {.now = 0}, other = {.now = 0};
    axo_recording recording = world_recording(&w, NULL, world_path(path, "snapshot"));
    axo_record_report report = AXO_RECORD_REPORT();
    axo_replay *replay;
    recording.snapshot = &flocks;
    recording.snapshot_size = sizeof flocks;
    assert_int_equal(axo_record_start(&recording, &w.recorder, NULL), AXO_OK);
    script_play(&w, 3, 10);
    assert_int_equal(axo_record_call(w.recorder, CALL_FAILS, NULL, 0), AXO_ELIMIT);
    assert_int_equal(axo_record_call(w.recorder, CALL_SHUTDOWN, NULL, 0), AXO_OK);
    assert_int_equal(axo_record_run(w.recorder, -1, NULL), AXO_OK);
    assert_int_equal(axo_record_end(w.recorder), AXO_OK);
    assert_true(w.cast[FLOCK - 1].bits != 0 && w.cast[2 * FLOCK].bits == 0);
    recording = world_recording(&other, NULL, path); /* the file's snapshot is taken */
    assert_int_equal(axo_replay_start(&recording, &replay, &report), AXO_OK);
    assert_int_equal(axo_replay_run(replay, &report), AXO_OK);
    assert_int_equal(report.state, AXO_RECORD_END);
    assert_true(other.thoughts == w.thoughts && other.sum == w.sum && other.sum != 0);
    assert_int_equal(axo_system_wait(axo_replay_system(replay), 0, NULL), AXO_OK);
    assert_int_equal(axo_replay_end(replay), AXO_OK);
    assert_int_equal(other.freed, w.freed);
    assert_int_equal(unlink(path), 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(diverges),       cmocka_unit_test(located),
    cmocka_unit_test(past),           cmocka_unit_test(a_descriptor),
    cmocka_unit_test(in_a_callback),  cmocka_unit_test(many_threads),
    cmocka_unit_test(arguments),      cmocka_unit_test(nobodys),
    cmocka_unit_test(behind_the_end), cmocka_unit_test(from_a_snapshot),
};

TEST_MAIN(tests)
