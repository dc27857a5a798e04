/* stream_credit_test.c - what a stream reads on credit. */
#include "unit/pattern/stream_world.h"

static uint64_t credit_more;

static void credit_give(stream_world *world, axo_ctx *ctx)
{
    assert_int_equal(axo_stream_credit(ctx, world->stream, credit_more), AXO_OK);
}

static void credit_add(stream_world *world, uint64_t bytes)
{
    credit_more = bytes;
    stream_do(world, credit_give);
}

/* What the actor takes does not count: only what it has allowed. */
static void no_more_than_its_credit_is_read(void **state)
{
    stream_world world = {.events = stream_take_all};
    stream_pair(&world, SOCK_STREAM);
    stream_begin(&world);
    stream_put(&world, "unbounded");
    assert_int_equal(world.taken, 9);
    assert_true(world.info.credit == AXO_STREAM_UNBOUNDED);
    credit_add(&world, 0);
    stream_put(&world, "0123456789");
    assert_int_equal(world.taken, 9);
    credit_add(&world, 3);
    assert_int_equal(world.taken, 12);
    assert_int_equal(world.info.credit, 0);
    credit_add(&world, 4);
    credit_add(&world, 2);
    assert_int_equal(world.taken, 18);
    credit_add(&world, 5);
    assert_int_equal(world.taken, 19);
    assert_int_equal(world.info.credit, 4);
    credit_add(&world, 1);
    assert_int_equal(world.info.credit, 5);
    stream_put(&world, "abcdef");
    assert_int_equal(world.taken, 24);
    credit_add(&world, AXO_STREAM_UNBOUNDED);
    assert_int_equal(world.taken, 25);
    credit_add(&world, 1);
    credit_add(&world, AXO_STREAM_UNBOUNDED - 1);
    assert_true(world.info.credit == AXO_STREAM_UNBOUNDED - 1);
    stream_end(&world);
}

static void an_end_needs_credit(void **state)
{
    stream_world world = {.events = stream_take_all};
    stream_pair(&world, SOCK_STREAM);
    stream_begin(&world);
    credit_add(&world, 3);
    assert_int_equal(send(world.peer, "abc", 3, 0), 3);
    assert_int_equal(shutdown(world.peer, SHUT_WR), 0);
    stream_run(&world);
    assert_int_equal(world.taken, 3);
    assert_int_equal(world.ends, 0);
    credit_add(&world, 1);
    assert_int_equal(world.ends, 1);
    assert_int_equal(world.info.credit, 1);
    stream_end(&world);
}

/* A line that is longer than its credit is none yet, and comes whole when more is allowed. */
static void a_line_that_is_longer_than_its_credit(void **state)
{
    stream_world world = {.events = stream_lines};
    stream_pair(&world, SOCK_STREAM);
    stream_begin(&world);
    credit_add(&world, 4);
    stream_put(&world, "longer\r\nnext\r\n");
    assert_int_equal(world.info.input, 4);
    assert_int_equal(world.status, AXO_ENOENT);
    assert_string_equal(world.pieces, "");
    credit_add(&world, 3);
    assert_int_equal(world.info.input, 7);
    assert_string_equal(world.pieces, "");
    credit_add(&world, 1);
    assert_string_equal(world.pieces, "longer\r\n|");
    credit_add(&world, 100);
    assert_string_equal(world.pieces, "longer\r\n|next\r\n|");
    assert_int_equal(world.info.credit, 94);
    stream_end(&world);
}

static void credit_pause(stream_world *world, axo_ctx *ctx)
{
    assert_int_equal(axo_stream_pause(ctx, world->stream), AXO_OK);
}

static void credit_resume(stream_world *world, axo_ctx *ctx)
{
    assert_int_equal(axo_stream_resume(ctx, world->stream), AXO_OK);
}

static void credit_end(stream_world *world, axo_ctx *ctx)
{
    assert_int_equal(axo_stream_end(ctx, world->stream), AXO_OK);
}

/* It reads while both let it. */
static void credit_and_pause(void **state)
{
    stream_world world = {.events = stream_take_all};
    stream_pair(&world, SOCK_STREAM);
    stream_begin(&world);
    stream_do(&world, credit_pause);
    stream_put(&world, "0123456789");
    credit_add(&world, 3);
    assert_int_equal(world.taken, 0);
    stream_do(&world, credit_resume);
    assert_int_equal(world.taken, 3);
    stream_do(&world, credit_pause);
    stream_do(&world, credit_resume);
    assert_int_equal(world.taken, 3);
    stream_do(&world, credit_end);
    assert_string_equal(stream_get(&world), "<end>");
    credit_add(&world, 100);
    assert_int_equal(world.taken, 10);
    assert_int_equal(world.info.credit, 93);
    stream_end(&world);
}

/* Nor does credit read beyond what is outstanding, or beyond the buffer. */
static void credit_owe(stream_world *world, axo_ctx *ctx)
{
    assert_int_equal(axo_stream_owe(ctx, world->stream, 1), AXO_OK);
}

static void credit_answer(stream_world *world, axo_ctx *ctx)
{
    assert_int_equal(axo_stream_answer(ctx, world->stream, "a", 1), AXO_OK);
}

static void credit_within_other_bounds(void **state)
{
    stream_world world = {.settings = {.outstanding_bytes = 1, .input_max = 8}};
    stream_pair(&world, SOCK_STREAM);
    stream_begin(&world);
    stream_do(&world, credit_owe);
    credit_add(&world, 100);
    stream_put(&world, "0123456789");
    assert_int_equal(world.info.received, 0);
    stream_do(&world, credit_answer);
    stream_run(&world);
    assert_int_equal(world.info.received, 8);
    assert_int_equal(world.info.credit, 92);
    stream_end(&world);
}

/* The other side is gone altogether: what it sent is read when there is credit, then its end. */
static void gone_before_there_is_credit(void **state)
{
    stream_world world = {.events = stream_take_all};
    stream_pair(&world, SOCK_STREAM);
    stream_begin(&world);
    credit_add(&world, 0);
    stream_put(&world, "abc");
    assert_int_equal(close(world.peer), 0);
    world.peer = -1;
    stream_run(&world);
    assert_int_equal(world.ends + world.closes, 0);
    credit_add(&world, 2);
    assert_int_equal(world.taken, 2);
    assert_int_equal(world.ends, 0);
    credit_add(&world, 2);
    assert_int_equal(world.taken, 3);
    assert_int_equal(world.ends, 1);
    stream_end(&world);
}

/* Neither a reset nor a close waits for credit. */
static void what_needs_none(void **state)
{
    stream_world world = {.act = NULL};
    stream_tcp(&world);
    stream_begin(&world);
    credit_add(&world, 0);
    stream_put(&world, "abc");
    stream_reset(&world);
    for (uint32_t i = 0; i < 100 && world.closes == 0; i++)
        stream_run(&world);
    assert_int_equal(world.closes, 1);
    stream_end(&world);
    stream_world other = {.act = NULL};
    stream_pair(&other, SOCK_STREAM);
    stream_begin(&other);
    credit_add(&other, 0);
    stream_put(&other, "abc");
    stream_do(&other, stream_drain_long);
    assert_int_equal(shutdown(other.peer, SHUT_WR), 0);
    stream_run(&other);
    assert_int_equal(other.closes, 1);
    assert_int_equal(other.info.status, AXO_OK);
    stream_end(&other);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(no_more_than_its_credit_is_read),
    cmocka_unit_test(an_end_needs_credit),
    cmocka_unit_test(a_line_that_is_longer_than_its_credit),
    cmocka_unit_test(credit_and_pause),
    cmocka_unit_test(credit_within_other_bounds),
    cmocka_unit_test(gone_before_there_is_credit),
    cmocka_unit_test(what_needs_none),
};
TEST_MAIN(tests)
