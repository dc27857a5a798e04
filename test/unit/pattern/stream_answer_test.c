/* stream_answer_test.c - answers that a stream owes: how many requests it lets its actor take, when
 * it lets it take more, that it reads nothing meanwhile, and that no answer is refused. */
#include "unit/pattern/stream_world.h"

static const char bytes[250000];
static const char large[3000000];

static void answer_owe(stream_world *world, axo_ctx *ctx)
{
    world->status = axo_stream_owe(ctx, world->stream, 1);
}

/* As many as it takes; world->taken says how many. */
static void answer_owe_all(stream_world *world, axo_ctx *ctx)
{
    world->taken = 0;
    while (axo_stream_has_room(ctx, world->stream)) {
        assert_int_equal(axo_stream_owe(ctx, world->stream, 1), AXO_OK);
        world->taken++;
    }
    assert_int_equal(axo_stream_owe(ctx, world->stream, 1), AXO_EFULL);
}

static size_t answer_size;

static void answer_one(stream_world *world, axo_ctx *ctx)
{
    world->status = axo_stream_answer(ctx, world->stream, bytes, answer_size);
}

static void answer(stream_world *world, size_t size)
{
    answer_size = size;
    stream_do(world, answer_one);
    assert_int_equal(world->status, AXO_OK);
}

static void owe_all(stream_world *world, uint64_t as_many)
{
    stream_do(world, answer_owe_all);
    assert_int_equal(world->taken, as_many);
}

/* An answer counts a quarter of the bound at first, then as the longest of late; when half of the
 * bound has gone there is room again. */
static void as_many_as_fit(void **state)
{
    stream_world world = {.settings = {.outstanding_bytes = 1000}};
    stream_pair(&world, SOCK_STREAM);
    stream_begin(&world);
    owe_all(&world, 4);
    assert_int_equal(world.info.owed, 4);
    assert_int_equal(world.info.outstanding, 1000);
    answer(&world, 10); /* 250 - 31 of the other three: 657 */
    assert_int_equal(world.info.owed, 3);
    assert_int_equal(world.info.output, 0);
    assert_int_equal(world.info.outstanding, 3 * 219);
    owe_all(&world, 0); /* not yet */
    answer(&world, 10); /* 219 - 27 of the other two: 384 */
    owe_all(&world, 3); /* 5 of 192 are 960 */
    assert_int_equal(world.info.owed, 5);
    answer(&world, 700); /* longer than those before: each of the four is expected to be so */
    assert_int_equal(world.info.outstanding, 4 * 700);
    for (uint32_t i = 0; i < 4; i++) {
        owe_all(&world, 0);
        answer(&world, 700);
    }
    assert_int_equal(world.info.owed, 0);
    assert_int_equal(world.info.outstanding, 0);
    owe_all(&world, 1);
    answer(&world, 5000); /* more than the bound: one at a time */
    owe_all(&world, 1);
    assert_int_equal(stream_drink(&world), 20 + 5 * 700 + 5000);
    stream_end(&world);
}

static void so_many_at_a_time(void **state)
{
    stream_world world = {.settings = {.outstanding_max = 3}};
    stream_pair(&world, SOCK_STREAM);
    stream_begin(&world);
    owe_all(&world, 3);
    answer(&world, 100);
    owe_all(&world, 1);
    assert_int_equal(world.info.owed, 3);
    assert_int_equal(world.info.outstanding, 0); /* no bound, nothing to say */
    for (uint32_t i = 0; i < 3; i++)
        answer(&world, 100);
    stream_do(&world, answer_one); /* none is owed */
    assert_int_equal(world.status, AXO_EINVAL);
    assert_int_equal(stream_drink(&world), 400);
    stream_end(&world);
}

/* The other side reads nothing: what is under way is taken, and no more is asked for. When it has
 * read there is room again, and that is told. */
static void answer_who_does_not_read(stream_world *world)
{
    stream_pair(world, SOCK_STREAM);
    stream_begin(world);
    for (uint32_t i = 0; i < 100; i++) {
        stream_do(world, answer_owe_all);
        if (world->info.owed == 0)
            break;
        while (world->info.owed > 0)
            answer(world, 100000);
    }
    assert_int_equal(world->info.owed, 0);
    stream_do(world, stream_fill);
    assert_int_equal(world->status, AXO_EFULL);
}

static void answer_who_reads_again(stream_world *world)
{
    uint64_t written = world->info.sent + world->info.output;
    uint32_t rooms = world->rooms;
    assert_int_equal(stream_drink(world), written);
    assert_int_equal(world->rooms, rooms + 1);
    stream_do(world, answer_owe_all);
    assert_true(world->taken > 0);
    answer(world, 100);
    stream_end(world);
}

static void no_answer_is_refused(void **state)
{
    stream_world world = {.settings = {.outstanding_bytes = 400000, .outstanding_max = 8}};
    answer_who_does_not_read(&world);
    /* the four under way when the first of their size came, and what was there before */
    assert_in_range(world.output_most, 200001, 400000 + 4 * 100000);
    answer_who_reads_again(&world);
}

/* The same, by a program that knows how long they are: not a byte beyond the bound. */
static void nothing_exceeds_the_bound(void **state)
{
    stream_world world = {.settings = {.outstanding_bytes = 450000,
                                       .outstanding_answer = 100000,
                                       .output_high = 300000}};
    answer_who_does_not_read(&world);
    assert_in_range(world.output_most, 300000, 450000);
    answer_who_reads_again(&world);
}

/* Short ones that could be long are asked for as if they were. */
static void short_ones_count_as_they_may_be(void **state)
{
    stream_world world = {.settings = {.outstanding_bytes = 1000, .outstanding_answer = 300}};
    stream_pair(&world, SOCK_STREAM);
    stream_begin(&world);
    for (uint32_t i = 0; i < 10; i++) {
        owe_all(&world, i == 0 ? 3 : 2);
        assert_int_equal(world.info.outstanding, 900);
        answer(&world, 10);
        assert_int_equal(world.info.outstanding, 600);
        answer(&world, 0);
        assert_int_equal(world.info.outstanding, 300);
    }
    answer(&world, 400); /* it was said that there is none */
    assert_int_equal(world.info.outstanding, 0);
    owe_all(&world, 2);
    assert_int_equal(world.info.outstanding, 800);
    assert_int_equal(stream_drink(&world), 10 * 10 + 400);
    stream_end(&world);
}

/* A request of several answers: refused until all fit, and told of then, once. */
static void answer_owe_seven(stream_world *world, axo_ctx *ctx)
{
    world->status = axo_stream_owe(ctx, world->stream, 7);
}

static void all_of_a_request_fit(void **state)
{
    stream_world world = {.settings = {.outstanding_bytes = 1000, .outstanding_answer = 100}};
    stream_pair(&world, SOCK_STREAM);
    stream_begin(&world);
    stream_do(&world, answer_owe_seven);
    assert_int_equal(world.status, AXO_OK);
    assert_int_equal(world.info.owed, 7);
    for (uint32_t i = 0; i < 3; i++) {
        stream_do(&world, answer_owe_seven);
        stream_run(&world);
        assert_int_equal(world.status, AXO_EFULL);
        assert_int_equal(world.info.owed, 7 - i);
        assert_int_equal(world.rooms, 0);
        answer(&world, 100);
    }
    stream_put(&world, "next");
    assert_int_equal(world.info.received, 0);
    answer(&world, 100); /* three are left */
    stream_run(&world);
    assert_int_equal(world.rooms, 1);
    assert_int_equal(world.info.received, 4);
    stream_do(&world, answer_owe_seven);
    assert_int_equal(world.status, AXO_OK);
    assert_int_equal(world.info.owed, 10);
    assert_int_equal(stream_drink(&world), 400);
    stream_end(&world);
}

/* Half of the bound has gone, and one more would exceed it: no room yet. */
static void answer_large(stream_world *world, axo_ctx *ctx)
{
    const axo_owned block = {.payload = (void *)(uintptr_t)large, .size = sizeof large};
    assert_int_equal(axo_stream_owe(ctx, world->stream, 1), AXO_OK);
    assert_int_equal(axo_stream_answer_owned(ctx, world->stream, &block), AXO_OK);
    assert_false(axo_stream_has_room(ctx, world->stream));
}

/* So many bytes above the length of `large`. */
enum { ANSWER_BEYOND = 600000 };

static void answer_ask_for_room(stream_world *world, axo_ctx *ctx)
{
    bool room = axo_stream_has_room(ctx, world->stream);
    stream_see(world, ctx);
    assert_int_equal(room, world->info.outstanding <= ANSWER_BEYOND);
    world->taken += !room && world->info.outstanding <= (sizeof large + ANSWER_BEYOND) / 2;
}

static void room_is_for_one_more(void **state)
{
    stream_world world = {.settings = {.outstanding_bytes = sizeof large + ANSWER_BEYOND}};
    stream_pair(&world, SOCK_STREAM);
    stream_begin(&world);
    stream_do(&world, answer_large);
    while (world.info.outstanding > 0) {
        (void)stream_get(&world);
        stream_do(&world, answer_ask_for_room);
    }
    assert_true(world.taken > 0);
    stream_end(&world);
}

/* Room for one thing takes no promise of room for another back: whoever was refused is told. */
static void answer_pong(stream_world *world, axo_ctx *ctx)
{
    world->status = axo_stream_write(ctx, world->stream, "pong", 4);
}

static void a_write_takes_no_promise_back(void **state)
{
    stream_world world = {.settings = {.outstanding_bytes = 400000}};
    stream_pair(&world, SOCK_STREAM);
    stream_begin(&world);
    do {
        stream_do(&world, answer_owe_all);
        while (world.info.owed > 0)
            answer(&world, 30000);
    } while (world.taken > 0);
    const uint32_t rooms = world.rooms;
    stream_do(&world, answer_pong);
    assert_int_equal(world.status, AXO_OK);
    (void)stream_drink(&world);
    assert_int_equal(world.rooms, rooms + 1);
    stream_end(&world);
}

/* A write was refused, and what waits is between the two marks. */
static void answer_refuse(stream_world *world)
{
    *world = (stream_world){
        .settings = {.outstanding_max = 8, .output_high = 300000, .output_low = 1000}};
    stream_pair(world, SOCK_STREAM);
    stream_begin(world);
    stream_do(world, stream_fill);
    assert_int_equal(world->status, AXO_EFULL);
    while (world->info.output >= 300000) {
        (void)stream_get(world);
        stream_run(world);
    }
    assert_true(world->info.output > 1000);
}

static void a_request_takes_no_promise_back(void **state)
{
    stream_world world;
    answer_refuse(&world);
    const uint32_t rooms = world.rooms;
    stream_do(&world, answer_owe);
    assert_int_equal(world.status, AXO_OK);
    (void)stream_drink(&world);
    assert_int_equal(world.rooms, rooms + 1);
    stream_end(&world);
}

static void answer_look(stream_world *world, axo_ctx *ctx)
{
    world->taken = axo_stream_has_room(ctx, world->stream);
}

/* Nor does a look that finds less than what was refused. */
static void a_look_takes_no_promise_of_a_write_back(void **state)
{
    stream_world world;
    answer_refuse(&world);
    const uint32_t rooms = world.rooms;
    stream_do(&world, answer_look);
    assert_int_equal(world.taken, 1);
    (void)stream_drink(&world);
    assert_int_equal(world.rooms, rooms + 1);
    stream_end(&world);
}

static void a_look_takes_no_promise_of_a_request_back(void **state)
{
    stream_world world = {.settings = {.outstanding_max = 8}};
    stream_pair(&world, SOCK_STREAM);
    stream_begin(&world);
    for (uint32_t i = 0; i < 4; i++)
        stream_do(&world, answer_owe);
    stream_do(&world, answer_owe_seven);
    assert_int_equal(world.status, AXO_EFULL);
    const uint32_t rooms = world.rooms;
    stream_do(&world, answer_look);
    assert_int_equal(world.taken, 1);
    for (uint32_t i = 0; i < 4; i++)
        answer(&world, 10);
    stream_run(&world);
    assert_int_equal(world.rooms, rooms + 1);
    stream_end(&world);
}

/* While there is no room nothing is read. */
static void nothing_is_read_meanwhile(void **state)
{
    stream_world world = {.settings = {.outstanding_bytes = 1000}};
    stream_pair(&world, SOCK_STREAM);
    stream_begin(&world);
    stream_put(&world, "one");
    assert_int_equal(world.info.input, 3);
    owe_all(&world, 4);
    stream_put(&world, "two");
    stream_put(&world, "three");
    assert_int_equal(world.info.received, 3);
    for (uint32_t i = 0; i < 4; i++)
        answer(&world, 10);
    stream_run(&world);
    assert_int_equal(world.info.received, 11);
    assert_int_equal(world.inputs, 2);
    stream_end(&world);
}

/* A turn that has found no room writes all of its output at its end: then there is room, and that
 * is told although nothing is waited for any more. */
static void answer_and_look(stream_world *world, axo_ctx *ctx)
{
    assert_int_equal(axo_stream_owe(ctx, world->stream, 1), AXO_OK);
    assert_int_equal(axo_stream_answer(ctx, world->stream, bytes, 990), AXO_OK);
    assert_false(axo_stream_has_room(ctx, world->stream));
}

static void room_at_the_end_of_the_turn(void **state)
{
    stream_world world = {.settings = {.outstanding_bytes = 1000}};
    stream_pair(&world, SOCK_STREAM);
    stream_begin(&world);
    stream_do(&world, answer_and_look);
    stream_run(&world);
    assert_int_equal(world.info.output, 0);
    assert_int_equal(world.rooms, 1);
    stream_do(&world, answer_owe);
    stream_run(&world);
    assert_int_equal(world.status, AXO_OK);
    assert_int_equal(world.rooms, 1);
    assert_int_equal(stream_drink(&world), 990);
    stream_end(&world);
}

/* Until room has been told so often; it comes by a message. */
static void answer_rooms(stream_world *world, uint32_t rooms)
{
    for (uint32_t i = 0; i < 10000 && world->rooms < rooms; i++) {
        (void)poll(NULL, 0, 1);
        stream_run(world);
    }
    assert_int_equal(world->rooms, rooms);
}

/* All of it is written, but the socket is not ready before the other side reads, which that may not
 * do before it has asked for more. */
static void answer_much(stream_world *world, axo_ctx *ctx)
{
    assert_int_equal(axo_stream_owe(ctx, world->stream, 1), AXO_OK);
    assert_int_equal(axo_stream_answer(ctx, world->stream, bytes, 120000), AXO_OK);
    assert_false(axo_stream_has_room(ctx, world->stream));
}

static void room_behind_all_that_is_written(void **state)
{
    stream_world world = {.settings = {.outstanding_bytes = 100000, .output_high = 500000}};
    stream_pair(&world, SOCK_STREAM);
    stream_begin(&world);
    stream_do(&world, answer_much);
    assert_int_equal(world.info.output, 0);
    struct pollfd out = {.fd = world.info.fd, .events = POLLOUT};
    assert_int_equal(poll(&out, 1, 0), 0);
    answer_rooms(&world, 1);
    answer_rooms(&world, 1);
    assert_int_equal(stream_drink(&world), 120000);
    stream_end(&world);
}

/* Answers make room while the other side reads nothing: that is told although nothing can be
 * written, as the other side may not read before it has asked for more. */
static void room_while_nothing_is_read(void **state)
{
    stream_world world = {.settings = {.outstanding_bytes = 1000000,
                                       .outstanding_answer = 250000,
                                       .output_high = 500000}};
    stream_pair(&world, SOCK_STREAM);
    stream_begin(&world);
    owe_all(&world, 4);
    answer(&world, 250000);
    assert_in_range(world.info.output, 1, 249999); /* the socket is full */
    answer(&world, 0);
    stream_run(&world);
    assert_int_equal(world.rooms, 0); /* two are owed, and half of the bound has not gone */
    answer(&world, 0);
    answer_rooms(&world, 1);
    owe_all(&world, 2);
    for (uint32_t i = 0; i < 3; i++)
        answer(&world, 10);
    answer_rooms(&world, 2);
    assert_int_equal(stream_drink(&world), 250000 + 30);
    assert_int_equal(world.rooms, 2);
    stream_end(&world);
}

static void answer_bad(stream_world *world, axo_ctx *ctx)
{
    axo_stream *it = world->stream;
    axo_stream *other;
    static const axo_stream_settings bad[] = {
        AXO_STREAM_SETTINGS(.outstanding_bytes = AXO_STREAM_MAX + 1),
        AXO_STREAM_SETTINGS(.outstanding_answer = 1),
        AXO_STREAM_SETTINGS(.outstanding_bytes = 1, .outstanding_answer = AXO_STREAM_MAX + 1),
        AXO_STREAM_SETTINGS(.outstanding_bytes = 10, .output_low = 10)};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(axo_stream_open(ctx, world->peer, &bad[i], &other), AXO_EINVAL);
    assert_int_equal(axo_stream_owe(NULL, it, 1), AXO_ECONTEXT);
    assert_int_equal(axo_stream_owe(ctx, NULL, 1), AXO_EINVAL);
    assert_int_equal(axo_stream_answer(ctx, it, "a", 1), AXO_EINVAL);
    assert_int_equal(axo_stream_owe(ctx, it, 0), AXO_OK);
    assert_int_equal(axo_stream_answer(ctx, it, "a", 1), AXO_EINVAL);
    assert_int_equal(axo_stream_owe(ctx, it, UINT32_MAX), AXO_OK);
    assert_int_equal(axo_stream_owe(ctx, it, 1), AXO_EINVAL);
    assert_int_equal(axo_stream_answer(NULL, it, "a", 1), AXO_ECONTEXT);
    assert_int_equal(axo_stream_answer(ctx, it, NULL, 1), AXO_EINVAL);
    assert_int_equal(axo_stream_answer(ctx, it, "", AXO_STREAM_MAX + 1), AXO_ETOOBIG);
    stream_see(world, ctx);
    assert_int_equal(world->info.owed, UINT32_MAX);
    assert_int_equal(axo_stream_answer(ctx, it, "a", 1), AXO_OK);
    assert_int_equal(axo_stream_end(ctx, it), AXO_OK);
    assert_int_equal(axo_stream_owe(ctx, it, 1), AXO_ESTOPPING);
    assert_int_equal(axo_stream_answer(ctx, it, "a", 1), AXO_ESTOPPING);
    stream_see(world, ctx);
    assert_int_equal(world->info.owed, UINT32_MAX - 1);
    assert_int_equal(axo_stream_close(ctx, it, 0), AXO_OK);
    assert_int_equal(axo_stream_owe(ctx, it, 1), AXO_EGONE);
    assert_int_equal(axo_stream_answer(ctx, it, "a", 1), AXO_EGONE);
    world->status = AXO_EFAILED;
}

static void bad_input_changes_nothing(void **state)
{
    stream_world world = {.status = AXO_OK};
    stream_pair(&world, SOCK_STREAM);
    stream_begin(&world);
    stream_do(&world, answer_bad);
    assert_int_equal(world.status, AXO_EFAILED);
    stream_end(&world);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(as_many_as_fit),
    cmocka_unit_test(so_many_at_a_time),
    cmocka_unit_test(no_answer_is_refused),
    cmocka_unit_test(nothing_exceeds_the_bound),
    cmocka_unit_test(short_ones_count_as_they_may_be),
    cmocka_unit_test(all_of_a_request_fit),
    cmocka_unit_test(room_is_for_one_more),
    cmocka_unit_test(a_write_takes_no_promise_back),
    cmocka_unit_test(a_request_takes_no_promise_back),
    cmocka_unit_test(a_look_takes_no_promise_of_a_write_back),
    cmocka_unit_test(a_look_takes_no_promise_of_a_request_back),
    cmocka_unit_test(nothing_is_read_meanwhile),
    cmocka_unit_test(room_at_the_end_of_the_turn),
    cmocka_unit_test(room_behind_all_that_is_written),
    cmocka_unit_test(room_while_nothing_is_read),
    cmocka_unit_test(bad_input_changes_nothing),
};
TEST_MAIN(tests)
