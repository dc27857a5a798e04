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

static void stream_reopen_late(stream_world *world, axo_ctx *ctx)
{
    static const axo_stream_settings settings = AXO_STREAM_SETTINGS(.idle_ns = 10 * SECOND);
    assert_int_equal(axo_stream_close(ctx, world->stream, 0), AXO_OK);
    assert_int_equal(close(world->peer), 0);
    stream_pair(world, SOCK_STREAM);
    assert_int_equal(axo_stream_reopen(ctx, world->stream, world->fd, &settings), AXO_OK);
}

/* The time of a stream begins with it, not with the system or with the stream before it. */
static void one_that_is_opened_late(void **state)
{
    stream_world world = {.events = stream_take_all, .now = SECOND,
                          .settings = {.idle_ns = 50 * SECOND}};
    stream_pair(&world, SOCK_STREAM);
    stream_begin(&world);
    stream_pass(&world, 45 * SECOND);
    stream_do(&world, stream_reopen_late);
    stream_pass(&world, 9 * SECOND);
    assert_int_equal(world.closes, 0);
    stream_pass(&world, 2 * SECOND);
    stream_timed_out(&world);
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

/* It begins at `begin`, and is over 100 s later. */
static void drain_ends(int64_t begin)
{
    stream_world world = {.now = begin - SECOND, .settings = {.output_high = 1000}};
    stream_pair(&world, SOCK_STREAM);
    stream_begin(&world);
    stream_do(&world, stream_fill);
    stream_pass(&world, SECOND);
    stream_do(&world, stream_drain_long);
    stream_pass(&world, 99 * SECOND);
    assert_int_equal(world.closes, 0);
    stream_pass(&world, 2 * SECOND);
    stream_timed_out(&world);
    stream_end(&world);
}

static void a_drain_has_an_end(void **state)
{
    drain_ends(2 * SECOND);
    drain_ends(-100 * SECOND); /* at 0, which is a time as any other */
}

/* ---- whose time it is ---- */

/* Takes what is whole, and owes an answer for each, whatever there is room for. */
static void stream_requests(stream_world *world, axo_ctx *ctx)
{
    axo_stream_bytes line;
    while (axo_stream_next_until(ctx, world->stream, "\r\n", 2, &line) == AXO_OK) {
        stream_note(world, line);
        (void)axo_stream_owe(ctx, world->stream, 1);
    }
}

static void stream_answers(stream_world *world, axo_ctx *ctx)
{
    assert_int_equal(axo_stream_answer(ctx, world->stream, "a", 1), AXO_OK);
}

/* The rest of a request has been sent, and the stream does not read since it owes an answer. */
static void a_client_has_sent_all_and_nobody_reads(void **state)
{
    stream_world world = {.events = stream_requests, .now = SECOND,
                          .settings = {.read_ns = 5 * SECOND, .outstanding_bytes = 1}};
    stream_pair(&world, SOCK_STREAM);
    stream_begin(&world);
    stream_put(&world, "GET\r\nP");
    stream_put(&world, "UT\r\nP");
    assert_int_equal(world.info.received, 6);
    stream_pass(&world, 60 * SECOND);
    assert_int_equal(world.closes, 0);
    stream_do(&world, stream_answers);
    assert_string_equal(stream_get(&world), "a");
    assert_string_equal(world.pieces, "GET\r\n|PUT\r\n|");
    stream_do(&world, stream_answers); /* the rest of this one does not come */
    stream_pass(&world, 4 * SECOND);
    assert_int_equal(world.closes, 0);
    stream_pass(&world, 2 * SECOND);
    stream_timed_out(&world);
    stream_end(&world);
}

static void stream_pauses(stream_world *world, axo_ctx *ctx)
{
    assert_int_equal(axo_stream_pause(ctx, world->stream), AXO_OK);
}

static void stream_resumes(stream_world *world, axo_ctx *ctx)
{
    assert_int_equal(axo_stream_resume(ctx, world->stream), AXO_OK);
}

/* The time begins anew with reading. */
static void a_pause_is_not_the_client_s_time(void **state)
{
    stream_world world = {.events = stream_lines, .now = SECOND,
                          .settings = {.read_ns = 5 * SECOND}};
    stream_pair(&world, SOCK_STREAM);
    stream_begin(&world);
    stream_put(&world, "P");
    stream_pass(&world, 4 * SECOND);
    stream_do(&world, stream_pauses);
    stream_pass(&world, 60 * SECOND);
    assert_int_equal(world.closes, 0);
    stream_do(&world, stream_resumes);
    stream_pass(&world, 4 * SECOND);
    assert_int_equal(world.closes, 0);
    stream_pass(&world, 2 * SECOND);
    stream_timed_out(&world);
    stream_end(&world);
}

/* The rest has been read, and nobody asks for it since there is no room for what it asks. */
static void a_client_has_sent_all_and_nobody_takes(void **state)
{
    stream_world world = {.events = stream_lines, .now = SECOND,
                          .settings = {.read_ns = 5 * SECOND, .output_high = 1000}};
    stream_pair(&world, SOCK_STREAM);
    stream_begin(&world);
    stream_put(&world, "P");
    world.events = NULL;
    stream_do(&world, stream_fill);
    stream_put(&world, "UT\r\n");
    assert_int_equal(world.info.input, 5);
    stream_pass(&world, 60 * SECOND);
    assert_int_equal(world.closes, 0);
    world.events = stream_lines;
    (void)stream_drink(&world);
    assert_string_equal(world.pieces, "PUT\r\n|");
    stream_end(&world);
}

static void stream_spends(stream_world *world, axo_ctx *ctx)
{
    assert_int_equal(axo_stream_credit(ctx, world->stream, 1), AXO_OK);
}

/* stream.h says so: who gives credit has the deadlines that fit it. */
static void spent_credit_is_the_client_s_time(void **state)
{
    stream_world world = {.events = stream_lines, .now = SECOND,
                          .settings = {.read_ns = 5 * SECOND}};
    stream_pair(&world, SOCK_STREAM);
    stream_begin(&world);
    stream_do(&world, stream_spends);
    stream_put(&world, "PUT\r\n");
    assert_int_equal(world.info.received, 1);
    stream_pass(&world, 6 * SECOND);
    stream_timed_out(&world);
    stream_end(&world);
}

/* ---- no timer ---- */

/* Raw timers have taken the place of a stream's. */
static void stream_take_timers(stream_world *world)
{
    axo_status status = AXO_OK;
    for (uint32_t i = 0; i < 100 && status == AXO_OK; i++)
        status = axo_system_schedule_once(world->system, 1000 * SECOND, world->actor, DO, NULL, 0,
                                          NULL);
    assert_int_equal(status, AXO_ELIMIT);
}

static void stream_drinks_all(stream_world *world)
{
    uint64_t all = world->info.sent + world->info.output;
    assert_int_equal(world->closes, 0);
    assert_int_equal(stream_drink(world), all);
    assert_string_equal(stream_get(world), "<end>");
    assert_int_equal(world->closes, 0);
}

static void a_drain_without_a_timer_loses_nothing(void **state)
{
    stream_world world = {.now = SECOND, .timers_max = 2, .settings = {.output_high = 1000}};
    stream_pair(&world, SOCK_STREAM);
    stream_begin(&world);
    stream_take_timers(&world);
    stream_do(&world, stream_fill);
    stream_do(&world, stream_drain_long);
    stream_pass(&world, 200 * SECOND); /* it has no deadline */
    stream_drinks_all(&world);
    assert_int_equal(shutdown(world.peer, SHUT_WR), 0);
    stream_run(&world);
    assert_int_equal(world.closes, 1);
    assert_int_equal(world.info.status, AXO_OK);
    stream_end(&world);
}

/* The timer that runs stays, and serves the drain when it comes. */
static void a_drain_has_the_timer_that_runs(void **state)
{
    stream_world world = {.now = SECOND, .timers_max = 2,
                          .settings = {.output_high = 1000, .idle_ns = 300 * SECOND}};
    stream_pair(&world, SOCK_STREAM);
    stream_begin(&world);
    stream_take_timers(&world);
    stream_do(&world, stream_fill);
    stream_do(&world, stream_drain_long);
    stream_drinks_all(&world);
    stream_pass(&world, 299 * SECOND);
    assert_int_equal(world.closes, 0);
    stream_pass(&world, 2 * SECOND);
    stream_timed_out(&world);
    stream_end(&world);
}

/* A time of the program's clock is any number. */
static void time_is_0(void **state)
{
    stream_world reads = {.events = stream_lines, .now = -SECOND,
                          .settings = {.read_ns = 5 * SECOND}};
    stream_pair(&reads, SOCK_STREAM);
    stream_begin(&reads);
    stream_pass(&reads, SECOND);
    assert_int_equal(reads.now, 0);
    stream_put(&reads, "x");
    stream_pass(&reads, 6 * SECOND);
    stream_timed_out(&reads);
    stream_end(&reads);
    stream_world writes = {.now = -SECOND,
                           .settings = {.write_ns = 5 * SECOND, .output_high = 1000}};
    stream_pair(&writes, SOCK_STREAM);
    stream_begin(&writes);
    stream_pass(&writes, SECOND);
    stream_do(&writes, stream_fill);
    stream_pass(&writes, 6 * SECOND);
    stream_timed_out(&writes);
    stream_end(&writes);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(an_idle_one_is_closed),
    cmocka_unit_test(one_that_is_opened_late),
    cmocka_unit_test(a_slow_writer_is_closed),
    cmocka_unit_test(a_slow_reader_is_closed),
    cmocka_unit_test(a_drain_has_an_end),
    cmocka_unit_test(a_client_has_sent_all_and_nobody_reads),
    cmocka_unit_test(a_pause_is_not_the_client_s_time),
    cmocka_unit_test(a_client_has_sent_all_and_nobody_takes),
    cmocka_unit_test(spent_credit_is_the_client_s_time),
    cmocka_unit_test(a_drain_without_a_timer_loses_nothing),
    cmocka_unit_test(a_drain_has_the_timer_that_runs),
    cmocka_unit_test(time_is_0),
};
TEST_MAIN(tests)
