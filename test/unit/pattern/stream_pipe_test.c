/* stream_pipe_test.c - streams of what is no socket: a pipe's ends, its reader that is gone, and no
 * signal. */
#include <signal.h>

#include "unit/pattern/stream_world.h"

/* The stream has one end of a pipe, the test the other. */
static void pipe_open(stream_world *world, bool writes)
{
    int fds[2];
    assert_int_equal(pipe2(fds, O_NONBLOCK | O_CLOEXEC), 0);
    world->fd = fds[writes];
    world->peer = fds[!writes];
}

/* What has come; "" for nothing, "<end>" for the end. */
static const char *pipe_get(stream_world *world)
{
    static char text[4096];
    stream_run(world);
    ssize_t got = read(world->peer, text, sizeof text - 1);
    if (got <= 0)
        return got == 0 ? "<end>" : "";
    text[got] = 0;
    return text;
}

/* Bytes up to the end. */
static uint64_t pipe_drink(stream_world *world)
{
    static char buffer[65536];
    uint64_t all = 0;
    ssize_t got = 1;
    for (uint32_t i = 0; i < 100000 && got != 0; i++) {
        stream_run(world);
        got = read(world->peer, buffer, sizeof buffer);
        all += got > 0 ? (uint64_t)got : 0;
    }
    assert_int_equal(got, 0);
    return all;
}

static void pipe_leave(stream_world *world)
{
    assert_int_equal(close(world->peer), 0);
    world->peer = -1;
    stream_run(world);
}

/* Of an end that is never ready to be written a timer tells, a tick later. */
static void pipe_wait(stream_world *world)
{
    stream_run(world);
    for (uint32_t i = 0; i < 1000 && world->closes == 0; i++) {
        (void)poll(NULL, 0, 1);
        stream_run(world);
    }
    assert_int_equal(world->closes, 1);
}

static void pipe_over(stream_world *world, axo_status status, int error)
{
    pipe_wait(world);
    assert_int_equal(world->info.fd, -1);
    assert_int_equal(world->info.status, status);
    assert_int_equal(world->info.error, error);
    assert_int_equal(fcntl(world->fd, F_GETFD), -1);
    stream_end(world);
}

/* ---- its end ---- */

static void pipe_says_all(stream_world *world, axo_ctx *ctx)
{
    stream_hello(world, ctx);
    assert_int_equal(axo_stream_end(ctx, world->stream), AXO_OK);
    assert_int_equal(axo_stream_write(ctx, world->stream, "no", 2), AXO_ESTOPPING);
}

static void an_end_is_the_reader_s(void **state)
{
    const axo_class *classes[] = {&stream_class, &stream_unsettled_class};
    for (size_t i = 0; i < 2; i++) {
        stream_world world = {.act = NULL};
        pipe_open(&world, true);
        stream_begin_as(&world, classes[i]);
        stream_do(&world, pipe_says_all);
        if (i == 0)
            assert_string_equal(pipe_get(&world), "hello world\n");
        else
            assert_int_equal(pipe_drink(&world), 12);
        assert_string_equal(pipe_get(&world), "<end>");
        pipe_over(&world, AXO_OK, 0);
    }
}

static void pipe_end(stream_world *world, axo_ctx *ctx)
{
    assert_int_equal(axo_stream_end(ctx, world->stream), AXO_OK);
}

static void an_end_behind_what_waits(void **state)
{
    stream_world world = {.act = NULL};
    pipe_open(&world, true);
    stream_begin(&world);
    stream_do(&world, stream_fill);
    stream_do(&world, pipe_end);
    uint64_t all = world.info.sent + world.info.output;
    assert_true(world.info.output > 0);
    assert_int_equal(world.closes, 0);
    assert_int_equal(pipe_drink(&world), all);
    pipe_over(&world, AXO_OK, 0);
}

static void a_close_is_over_when_all_is_written(void **state)
{
    for (uint32_t fills = 0; fills < 2; fills++) {
        stream_world world = {.act = NULL};
        pipe_open(&world, true);
        stream_begin(&world);
        if (fills == 1)
            stream_do(&world, stream_fill);
        stream_do(&world, stream_drain_long);
        uint64_t all = world.info.sent + world.info.output;
        if (fills == 0)
            pipe_wait(&world);
        assert_int_equal(world.closes, fills == 0);
        assert_int_equal(pipe_drink(&world), all);
        pipe_over(&world, AXO_OK, 0);
    }
}

/* There is no room to write at such an end, and no message that says so. */
static void a_close_of_the_reading_end(void **state)
{
    stream_world world = {.events = stream_take_all};
    pipe_open(&world, false);
    stream_begin(&world);
    assert_int_equal(write(world.peer, "abc", 3), 3);
    stream_run(&world);
    assert_int_equal(world.taken, 3);
    world.events = NULL;
    stream_do(&world, stream_drain_long);
    pipe_over(&world, AXO_OK, 0);
}

static void pipe_write(stream_world *world, axo_ctx *ctx)
{
    assert_int_equal(axo_stream_write(ctx, world->stream, "no", 2), AXO_OK);
}

static void a_write_at_the_reading_end(void **state)
{
    stream_world world = {.act = NULL};
    pipe_open(&world, false);
    stream_begin(&world);
    stream_do(&world, pipe_write);
    pipe_over(&world, AXO_ESYSTEM, EBADF);
}

/* ---- its reader is gone ---- */

static void pipe_pause(stream_world *world, axo_ctx *ctx)
{
    assert_int_equal(axo_stream_pause(ctx, world->stream), AXO_OK);
}

static void a_reader_leaves_in_every_state(void **state)
{
    enum { IDLE, PAUSED, WRITING, DRAINING, STATES };
    for (uint32_t when = IDLE; when < STATES; when++) {
        stream_world world = {.act = NULL};
        pipe_open(&world, true);
        stream_begin(&world);
        if (when == PAUSED)
            stream_do(&world, pipe_pause);
        if (when == WRITING || when == DRAINING)
            stream_do(&world, stream_fill);
        if (when == DRAINING)
            stream_do(&world, stream_drain_long);
        pipe_leave(&world);
        assert_int_equal(world.ends, 0); /* it never had any input */
        pipe_over(&world, AXO_ESYSTEM, EPIPE);
    }
}

static bool pipe_signal_waits(void)
{
    sigset_t waiting;
    assert_int_equal(sigpending(&waiting), 0);
    return sigismember(&waiting, SIGPIPE) == 1;
}

static void pipe_close_and_write(stream_world *world, axo_ctx *ctx)
{
    assert_int_equal(close(world->peer), 0);
    world->peer = -1;
    pipe_write(world, ctx);
}

/* The write comes before the error is seen. */
static void pipe_write_to_nobody(void)
{
    stream_world world = {.act = NULL};
    pipe_open(&world, true);
    stream_begin(&world);
    stream_do(&world, pipe_close_and_write);
    pipe_over(&world, AXO_ESYSTEM, EPIPE);
}

/* On the program's own thread. */
static void a_write_to_nobody_raises_no_signal(void **state)
{
    sigset_t mask;
    assert_ptr_not_equal(signal(SIGPIPE, SIG_DFL), SIG_ERR);
    pipe_write_to_nobody();
    assert_false(pipe_signal_waits());
    assert_int_equal(pthread_sigmask(SIG_BLOCK, NULL, &mask), 0);
    assert_int_equal(sigismember(&mask, SIGPIPE), 0);
}

/* One that waits is the program's, and stays; what this write has raised does not. */
static void a_signal_of_the_program_stays(void **state)
{
    const struct timespec now = {.tv_sec = 0};
    sigset_t pipes;
    assert_int_equal(sigemptyset(&pipes), 0);
    assert_int_equal(sigaddset(&pipes, SIGPIPE), 0);
    assert_int_equal(pthread_sigmask(SIG_BLOCK, &pipes, NULL), 0);
    pipe_write_to_nobody();
    assert_false(pipe_signal_waits());
    assert_int_equal(raise(SIGPIPE), 0);
    pipe_write_to_nobody();
    assert_true(pipe_signal_waits());
    assert_int_equal(sigtimedwait(&pipes, NULL, &now), SIGPIPE);
    assert_int_equal(pthread_sigmask(SIG_UNBLOCK, &pipes, NULL), 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(an_end_is_the_reader_s),
    cmocka_unit_test(an_end_behind_what_waits),
    cmocka_unit_test(a_close_is_over_when_all_is_written),
    cmocka_unit_test(a_close_of_the_reading_end),
    cmocka_unit_test(a_write_at_the_reading_end),
    cmocka_unit_test(a_reader_leaves_in_every_state),
    cmocka_unit_test(a_write_to_nobody_raises_no_signal),
    cmocka_unit_test(a_signal_of_the_program_stays),
};
TEST_MAIN(tests)
