/* io_test.c - watched descriptors on real sockets: readiness, merging, level semantics, unwatch,
 * the stash. */
#include "unit/sched/io_world.h"

/* ---- the tests ---- */

static void a_readiness_comes_once(void **state)
{
    io_world world;
    io_start(&world, AXO_IO_IN, 0);
    world.ready = io_read_all;
    assert_int_equal(world.readies, 0);
    io_put(&world, "abc");
    io_run(&world);
    assert_int_equal(world.readies, 1);
    assert_int_equal(world.seen, AXO_IO_IN);
    assert_int_equal(world.seen_fd, world.fds[0]);
    assert_int_equal(world.status, AXO_OK);
    assert_memory_equal(world.got, "abc", 3);
    io_run(&world);
    assert_int_equal(world.readies, 1);
    io_put(&world, "d");
    io_run(&world);
    assert_int_equal(world.readies, 2);
    assert_int_equal(world.got_count, 4);
    io_end(&world);
}

/* Nobody says EAGAIN here: the descriptor itself is asked. */
static void a_piece_for_each_message_reads_all(void **state)
{
    io_world world;
    io_start(&world, AXO_IO_IN, 0);
    world.ready = io_read_one;
    io_put(&world, "abcde");
    io_run(&world);
    assert_int_equal(world.got_count, 5);
    assert_int_equal(world.readies, 5);
    io_end(&world);
}

static void io_read_then_more_comes(io_world *world, axo_ctx *ctx, const axo_message *message)
{
    io_read_all(world, ctx, message);
    if (world->readies == 1)
        io_put(world, "late");
}

/* Bytes that come between EAGAIN and axo_io_blocked's effect are an edge of their own. */
static void what_comes_after_again_is_not_lost(void **state)
{
    io_world world;
    io_start(&world, AXO_IO_IN, 0);
    world.ready = io_read_then_more_comes;
    io_put(&world, "x");
    for (uint32_t i = 0; i < 3; i++)
        io_run(&world);
    assert_int_equal(world.readies, 2);
    assert_int_equal(world.got_count, 5);
    io_end(&world);
}

/* While the actor is busy elsewhere, edges become one message. */
static void io_put_often(io_world *world, axo_ctx *ctx, const axo_message *message)
{
    for (uint32_t i = 0; i < 10; i++)
        io_put(world, "y");
    world->status = axo_io_want(ctx, world->fds[0], AXO_IO_IN);
}

static void what_comes_meanwhile_is_merged(void **state)
{
    io_world world;
    io_start(&world, AXO_IO_IN, 0);
    world.ready = io_read_all;
    io_do(&world, io_put_often);
    io_run(&world);
    assert_int_equal(world.readies, 1);
    assert_int_equal(world.got_count, 10);
    io_end(&world);
}

static void io_want_out(io_world *world, axo_ctx *ctx, const axo_message *message)
{
    world->status = axo_io_want(ctx, world->fds[0], AXO_IO_IN | AXO_IO_OUT);
}

static void what_is_not_wanted_waits(void **state)
{
    io_world world;
    io_start(&world, AXO_IO_IN, 0);
    assert_int_equal(world.readies, 0); /* it is ready for OUT all the time */
    world.ready = io_want_in;
    io_do(&world, io_want_out);
    io_run(&world);
    assert_int_equal(world.status, AXO_OK);
    assert_int_equal(world.readies, 1);
    assert_int_equal(world.seen, AXO_IO_OUT);
    io_end(&world);
}

/* Reading is paused by the very handler that leaves something, and goes on later. */
static void io_read_one_and_pause(io_world *world, axo_ctx *ctx, const axo_message *message)
{
    io_read_one(world, ctx, message);
    world->status = axo_io_want(ctx, world->fds[0], 0);
}

static void what_was_left_when_it_paused_is_told(void **state)
{
    io_world world;
    io_start(&world, AXO_IO_IN, 0);
    world.ready = io_read_one_and_pause;
    io_put(&world, "abc");
    for (uint32_t round = 1; round <= 3; round++) {
        io_run(&world);
        assert_int_equal(world.status, AXO_OK);
        assert_int_equal(world.readies, round);
        assert_int_equal(world.got_count, round);
        if (round == 2)
            world.ready = io_read_all;
        io_do(&world, io_want_in);
        assert_int_equal(world.readies, round + 1);
        if (round == 2)
            break;
    }
    assert_int_equal(world.got_count, 3);
    io_do(&world, io_want_in); /* and what was called blocked is not */
    assert_int_equal(world.readies, 3);
    io_end(&world);
}

static void io_fill(io_world *world, axo_ctx *ctx, const axo_message *message)
{
    static const char block[4096];
    while (write(world->fds[0], block, sizeof block) > 0)
        continue;
    if (message->tag == AXO_IO_READY)
        world->status = axo_io_blocked(ctx, world->fds[0], AXO_IO_OUT);
    else
        world->status = axo_io_want(ctx, world->fds[0], AXO_IO_OUT);
}

static void room_to_write_is_told_when_it_comes(void **state)
{
    char block[65536];
    io_world world;
    io_start(&world, AXO_IO_IN, 0);
    world.ready = io_fill;
    io_do(&world, io_fill);
    for (uint32_t i = 0; i < 3; i++)
        io_run(&world);
    uint32_t before = world.readies;
    io_run(&world);
    assert_int_equal(world.readies, before);
    while (read(world.fds[1], block, sizeof block) > 0)
        continue;
    io_run(&world);
    assert_int_equal(world.readies, before + 1);
    io_end(&world);
}

static void the_other_sides_end_is_told(void **state)
{
    io_world world;
    io_start(&world, 0, 0);
    io_end(&world);
    io_start(&world, AXO_IO_IN, 0);
    world.ready = io_unwatch;
    assert_int_equal(close(world.fds[1]), 0);
    io_run(&world);
    assert_int_equal(world.readies, 1);
    assert_int_equal(world.seen, AXO_IO_IN | AXO_IO_HUP);
    assert_int_equal(world.status, AXO_OK);
    world.fds[1] = dup(world.fds[0]);
    io_end(&world);
}

/* The readiness is in the mailbox already, behind the message that unwatches. */
static void io_unwatch_late(io_world *world, axo_ctx *ctx, const axo_message *message)
{
    io_put(world, "z");
    world->status = axo_io_want(ctx, world->fds[0], AXO_IO_OUT | AXO_IO_IN); /* one is sent */
    if (world->status == AXO_OK)
        world->status = axo_io_unwatch(ctx, world->fds[0]);
}

static void nothing_comes_after_unwatch(void **state)
{
    io_world world;
    io_start(&world, AXO_IO_IN, 0);
    io_do(&world, io_unwatch_late);
    io_run(&world);
    assert_int_equal(world.status, AXO_OK);
    assert_int_equal(world.readies, 0);
    io_do(&world, io_unwatch);
    assert_int_equal(world.status, AXO_ENOENT);
    io_do(&world, io_want_out);
    assert_int_equal(world.status, AXO_ENOENT);
    assert_true(io_is_open(world.fds[0]));
    io_end(&world);
}

/* ---- stash ---- */

static void io_stash(io_world *world, axo_ctx *ctx, const axo_message *message)
{
    if (world->readies == 1)
        world->status = axo_stash(ctx);
}

static void io_unstash(io_world *world, axo_ctx *ctx, const axo_message *message)
{
    world->status = axo_unstash_all(ctx);
    world->ready = io_read_all;
}

static void io_unwatch_and_unstash(io_world *world, axo_ctx *ctx, const axo_message *message)
{
    world->status = axo_io_unwatch(ctx, world->fds[0]);
    if (world->status == AXO_OK)
        world->status = axo_unstash_all(ctx);
}

static void a_stashed_one_is_the_one_that_waits(void **state)
{
    io_world world;
    for (uint32_t unwatch = 0; unwatch < 2; unwatch++) {
        io_start(&world, AXO_IO_IN, 0);
        world.ready = io_stash;
        io_put(&world, "a");
        io_run(&world);
        io_put(&world, "b");
        io_run(&world);
        assert_int_equal(world.readies, 1);
        io_do(&world, unwatch != 0 ? io_unwatch_and_unstash : io_unstash);
        io_run(&world);
        assert_int_equal(world.status, AXO_OK);
        assert_int_equal(world.readies, unwatch != 0 ? 1 : 2);
        assert_int_equal(world.got_count, unwatch != 0 ? 0 : 2);
        io_end(&world);
    }
}

/* It comes up while nothing is wanted, and is void; what it had is not. */
static void io_pause_and_unstash(io_world *world, axo_ctx *ctx, const axo_message *message)
{
    world->status = axo_io_want(ctx, world->fds[0], 0);
    if (world->status == AXO_OK)
        world->status = axo_unstash_all(ctx);
    world->ready = io_read_all;
}

static void a_stashed_one_that_is_not_wanted_waits(void **state)
{
    io_world world;
    io_start(&world, AXO_IO_IN, 0);
    world.ready = io_stash;
    io_put(&world, "a");
    io_run(&world);
    io_do(&world, io_pause_and_unstash);
    io_run(&world);
    assert_int_equal(world.status, AXO_OK);
    assert_int_equal(world.readies, 1);
    io_do(&world, io_want_in);
    io_run(&world);
    assert_int_equal(world.readies, 2);
    assert_int_equal(world.got_count, 1);
    io_end(&world);
}

/* An actor that never rests runs in one call of the host; it sees the readiness in this very call,
 * by the worker's clock. */
static void io_tell_self(io_world *world, axo_ctx *ctx, const axo_message *message)
{
    if (world->readies == 0 && axo_now(ctx) < world->until)
        world->status = axo_send(ctx, axo_self(ctx), IO_DO, NULL, 0);
    if (world->told++ == 10)
        io_put(world, "x");
}

static void a_busy_worker_looks(void **state)
{
    io_world world;
    io_start(&world, AXO_IO_IN, 0);
    world.ready = io_read_all;
    world.until = axo_system_now(world.system) + IO_WAIT_NS / 4;
    io_do(&world, io_tell_self);
    assert_int_equal(world.status, AXO_OK);
    assert_true(world.told > 10);
    assert_int_equal(world.got_count, 1);
    assert_int_equal(world.readies, 1);
    assert_true(axo_system_now(world.system) < world.until);
    io_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_readiness_comes_once),
        cmocka_unit_test(a_piece_for_each_message_reads_all),
        cmocka_unit_test(what_comes_after_again_is_not_lost),
        cmocka_unit_test(what_comes_meanwhile_is_merged),
        cmocka_unit_test(what_is_not_wanted_waits),
        cmocka_unit_test(what_was_left_when_it_paused_is_told),
        cmocka_unit_test(room_to_write_is_told_when_it_comes),
        cmocka_unit_test(the_other_sides_end_is_told),
        cmocka_unit_test(nothing_comes_after_unwatch),
        cmocka_unit_test(a_stashed_one_is_the_one_that_waits),
        cmocka_unit_test(a_stashed_one_that_is_not_wanted_waits),
        cmocka_unit_test(a_busy_worker_looks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
