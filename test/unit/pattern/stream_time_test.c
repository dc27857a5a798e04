/* stream_time_test.c - deadlines of streams, by a clock that the test moves. */
#include "unit/pattern/stream_world.h"

static void stream_pass(stream_world *world, int64_t time)
{
    world->now += time;
    assert_int_equal(axo_clock_changed(world->system), AXO_OK);
    stream_run(world);
}

static void stream_timed_out(stream_world *world)
{
    assert_int_equal(world->closes, 1);
    assert_int_equal(world->info.status, AXO_ETIMEDOUT);
    assert_int_equal(world->info.fd, -1);
}

static void an_idle_one_is_closed(void **state)
{
    stream_world world = {.events = stream_take_all, .now = SECOND,
                          .settings = {.idle_ns = 10 * SECOND}};
    stream_pair(&world, SOCK_STREAM);
    stream_begin(&world);
    stream_pass(&world, 9 * SECOND);
    stream_put(&world, "x");
    stream_pass(&world, 9 * SECOND);
    stream_do(&world, stream_hello);
    assert_string_equal(stream_get(&world), "hello world\n");
    stream_pass(&world, 9 * SECOND);
    assert_int_equal(world.closes, 0);
    stream_pass(&world, 2 * SECOND);
    stream_timed_out(&world);
    assert_string_equal(stream_get(&world), "<end>");
    stream_end(&world);
}

/* A byte a second is a piece that never gets whole. */
static void a_slow_writer_is_closed(void **state)
{
    stream_world world = {.events = stream_lines, .now = SECOND,
                          .settings = {.read_ns = 5 * SECOND, .idle_ns = 60 * SECOND}};
    stream_pair(&world, SOCK_STREAM);
    stream_begin(&world);
    stream_pass(&world, 20 * SECOND); /* nothing has begun */
    stream_put(&world, "GET\r\nP");
    stream_pass(&world, 4 * SECOND);
    stream_put(&world, "UT\r\n");
    assert_string_equal(world.pieces, "GET\r\n|PUT\r\n|");
    stream_pass(&world, 20 * SECOND);
    for (uint32_t i = 0; i < 4; i++) {
        stream_put(&world, "x");
        assert_int_equal(world.closes, 0);
        stream_pass(&world, SECOND + SECOND / 2);
    }
    stream_timed_out(&world);
    stream_end(&world);
}

static void a_slow_reader_is_closed(void **state)
{
    stream_world world = {.now = SECOND,
                          .settings = {.write_ns = 5 * SECOND, .output_high = 1000}};
    stream_pair(&world, SOCK_STREAM);
    stream_begin(&world);
    stream_pass(&world, 20 * SECOND);
    stream_do(&world, stream_fill);
    stream_pass(&world, 4 * SECOND);
    (void)stream_drink(&world);
    stream_pass(&world, 20 * SECOND); /* nothing waits */
    assert_int_equal(world.closes, 0);
    stream_do(&world, stream_fill);
    stream_pass(&world, 4 * SECOND);
    assert_int_equal(world.closes, 0);
    stream_pass(&world, 2 * SECOND);
    stream_timed_out(&world);
    stream_end(&world);
}

static void a_drain_has_an_end(void **state)
{
    stream_world world = {.now = SECOND, .settings = {.output_high = 1000}};
    stream_pair(&world, SOCK_STREAM);
    stream_begin(&world);
    stream_do(&world, stream_fill);
    stream_do(&world, stream_drain_long);
    stream_pass(&world, 99 * SECOND);
    assert_int_equal(world.closes, 0);
    stream_pass(&world, 2 * SECOND);
    stream_timed_out(&world);
    stream_end(&world);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(an_idle_one_is_closed),
    cmocka_unit_test(a_slow_writer_is_closed),
    cmocka_unit_test(a_slow_reader_is_closed),
    cmocka_unit_test(a_drain_has_an_end),
};
TEST_MAIN(tests)
