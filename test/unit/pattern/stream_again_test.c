/* stream_again_test.c - streams that one instance opens again and again, and refused opens. */
#include <axo/memory.h>

#include "unit/pattern/stream_world.h"

#define AGAIN_OPENS 10000

static void again_close(axo_ctx *ctx, int fds[2], axo_stream *it)
{
    assert_int_equal(axo_stream_close(ctx, it, 0), AXO_OK);
    assert_int_equal(close(fds[1]), 0);
}

/* Again and again, beside the instance's first one. */
static void again_opens(stream_world *world, axo_ctx *ctx)
{
    axo_stream *it = NULL;
    size_t held = 0;
    for (uint32_t i = 0; i < AGAIN_OPENS; i++) {
        int fds[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
        if (it == NULL)
            assert_int_equal(axo_stream_open(ctx, fds[0], NULL, &it), AXO_OK);
        else
            assert_int_equal(axo_stream_reopen(ctx, it, fds[0], NULL), AXO_OK);
        assert_int_equal(axo_stream_reopen(ctx, it, fds[0], NULL), AXO_EBUSY);
        assert_ptr_not_equal(it, world->stream);
        again_close(ctx, fds, it);
        if (i == 0)
            held = axo_memory_of(ctx).held;
    }
    assert_int_equal(axo_memory_of(ctx).held, held);
    world->status = AXO_EFAILED;
}

static void opened_and_closed_again_and_again(void **state)
{
    stream_world world = {.status = AXO_OK};
    stream_pair(&world, SOCK_STREAM);
    stream_begin(&world);
    stream_do(&world, again_opens);
    assert_int_equal(world.status, AXO_EFAILED);
    assert_int_equal(world.info.fd, world.fd);
    stream_end(&world);
}

static void again_is_refused(stream_world *world, axo_ctx *ctx)
{
    static const axo_stream_settings timed = AXO_STREAM_SETTINGS(.idle_ns = SECOND);
    int fds[2];
    axo_stream *it;
    axo_stream *was = world->stream;
    size_t held = 0;
    assert_int_equal(axo_stream_close(ctx, was, 0), AXO_OK);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    int folder = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(folder >= 0);
    for (uint32_t i = 0; i < AGAIN_OPENS; i++) {
        assert_int_equal(axo_stream_open(ctx, folder, NULL, &it), AXO_ENOPOLL);
        assert_int_equal(axo_stream_open(ctx, fds[0], &timed, &it), AXO_ELIMIT);
        assert_null(it);
        assert_int_equal(axo_stream_reopen(ctx, was, folder, NULL), AXO_ENOPOLL);
        assert_int_equal(axo_stream_reopen(ctx, was, fds[0], &timed), AXO_ELIMIT);
        assert_int_equal(axo_stream_end(ctx, was), AXO_EGONE);
        if (i == 0)
            held = axo_memory_of(ctx).held;
    }
    assert_int_equal(axo_memory_of(ctx).held, held);
    assert_int_equal(fcntl(folder, F_GETFL) & O_NONBLOCK, 0);
    assert_int_equal(fcntl(fds[0], F_GETFL) & O_NONBLOCK, 0);
    assert_int_equal(axo_stream_reopen(NULL, was, fds[0], NULL), AXO_ECONTEXT);
    assert_int_equal(axo_stream_reopen(ctx, NULL, fds[0], NULL), AXO_EINVAL);
    assert_int_equal(axo_stream_reopen(ctx, was, fds[0], NULL), AXO_OK);
    assert_int_equal(fcntl(fds[0], F_GETFL) & O_NONBLOCK, O_NONBLOCK);
    again_close(ctx, fds, was);
    assert_int_equal(close(folder), 0);
    world->status = AXO_EFAILED;
}

/* It is as it was, and has taken nothing. */
static void an_open_that_is_refused(void **state)
{
    axo_status status = AXO_OK;
    stream_world world = {.timers_max = 2};
    stream_pair(&world, SOCK_STREAM);
    stream_begin(&world);
    for (uint32_t i = 0; i < 100 && status == AXO_OK; i++)
        status = axo_system_schedule_once(world.system, 1000 * SECOND, world.actor, DO, NULL, 0,
                                          NULL);
    assert_int_equal(status, AXO_ELIMIT);
    stream_do(&world, again_is_refused);
    assert_int_equal(world.status, AXO_EFAILED);
    stream_end(&world);
}

/* The next stream has nothing of the one before, and what it leaves goes with the instance. */
static void again_anew(stream_world *world, axo_ctx *ctx)
{
    static const axo_stream_settings settings = AXO_STREAM_SETTINGS(.outstanding_bytes = 1);
    static char bytes[1000];
    axo_stream *before = world->stream;
    assert_int_equal(axo_stream_credit(ctx, before, 5), AXO_OK);
    assert_int_equal(axo_stream_pause(ctx, before), AXO_OK);
    assert_int_equal(axo_stream_end(ctx, before), AXO_OK);
    assert_int_equal(axo_stream_close(ctx, before, 0), AXO_OK);
    stream_see(world, ctx);
    assert_int_equal(world->info.received, 3);
    assert_int_equal(close(world->peer), 0);
    stream_pair(world, SOCK_STREAM);
    assert_int_equal(axo_stream_reopen(ctx, before, world->fd, &settings), AXO_OK);
    stream_see(world, ctx);
    assert_int_equal(world->info.fd, world->fd);
    assert_int_equal(world->info.paused, 0);
    assert_int_equal(world->info.received + world->info.sent, 0);
    assert_true(world->info.credit == AXO_STREAM_UNBOUNDED);
    assert_int_equal(axo_stream_owe(ctx, world->stream, 1), AXO_OK);
    assert_int_equal(axo_stream_answer(ctx, world->stream, bytes, sizeof bytes), AXO_OK);
}

static void the_next_one_is_new(void **state)
{
    for (uint32_t how = FAIL; how <= STOP; how++) {
        uint32_t before = stream_open_fds();
        stream_world world = {.act = NULL};
        stream_pair(&world, SOCK_STREAM);
        stream_begin(&world);
        stream_put(&world, "abc");
        stream_do(&world, again_anew);
        assert_int_equal(stream_drink(&world), 1000);
        stream_put(&world, "abcd");
        assert_int_equal(world.info.received, 4);
        stream_tell(&world, how);
        assert_string_equal(stream_get(&world), "<end>");
        stream_end(&world);
        assert_int_equal(stream_open_fds(), before);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(opened_and_closed_again_and_again),
    cmocka_unit_test(an_open_that_is_refused),
    cmocka_unit_test(the_next_one_is_new),
};
TEST_MAIN(tests)
