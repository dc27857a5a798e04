/* stream_test.c - streams over real sockets, against what must come out: pieces however they
 * arrive, back-pressure at both ends, half-closes, ends of every kind. Deadlines:
 * stream_time_test.c. */
#include "unit/pattern/stream_world.h"

/* ---- echo: what goes in comes out ---- */

static void stream_echo(stream_world *world, axo_ctx *ctx)
{
    axo_stream_bytes piece;
    while (axo_stream_has_room(ctx, world->stream) &&
           axo_stream_next(ctx, world->stream, 0, &piece) == AXO_OK) {
        world->taken += piece.size;
        assert_int_equal(axo_stream_write(ctx, world->stream, piece.data, piece.size), AXO_OK);
    }
    if (axo_stream_ended(ctx, world->stream)) {
        assert_int_equal(world->ends, 1);
        assert_int_equal(axo_stream_end(ctx, world->stream), AXO_OK);
    }
}

static unsigned char stream_byte(uint64_t at)
{
    return (unsigned char)((at * UINT64_C(0x9e3779b97f4a7c15)) >> 56);
}

/* The model is a queue: byte n out is byte n in. `lag`: the other side reads only when it can write
 * no more. */
static void stream_transfer(int type, uint64_t size, size_t piece, bool lag)
{
    static unsigned char buffer[65536];
    stream_world world = {.events = stream_echo,
                          .settings = {.input_max = 8192, .output_high = 16384}};
    uint64_t in = 0;
    uint64_t out = 0;
    if (type == 0)
        stream_tcp(&world);
    else
        stream_pair(&world, type);
    stream_begin(&world);
    while (out < size) {
        bool wrote = false;
        if (in < size) {
            size_t count = size - in < piece ? (size_t)(size - in) : piece;
            for (size_t i = 0; i < count; i++)
                buffer[i] = stream_byte(in + i);
            ssize_t went = send(world.peer, buffer, count, MSG_NOSIGNAL);
            wrote = went > 0;
            in += wrote ? (uint64_t)went : 0;
        }
        stream_run(&world);
        if (lag && wrote)
            continue;
        ssize_t got = recv(world.peer, buffer, sizeof buffer, 0);
        assert_true(got > 0 || (got < 0 && errno == EAGAIN));
        for (ssize_t i = 0; i < got; i++)
            assert_int_equal(buffer[i], stream_byte(out + (uint64_t)i));
        out += got > 0 ? (uint64_t)got : 0;
    }
    stream_run(&world);
    assert_int_equal(world.taken, size);
    assert_true(world.output_most <= 16384 + 8192);
    if (lag && type != 0 && size > UINT64_C(1) << 20) /* TCP's buffers grow with the lag */
        assert_true(world.rooms > 0);
    assert_int_equal(shutdown(world.peer, SHUT_WR), 0);
    assert_string_equal(stream_get(&world), "<end>");
    assert_int_equal(world.ends, 1);
    assert_int_equal(world.info.input + world.info.output, 0);
    assert_int_equal(world.info.received, size);
    assert_int_equal(world.info.sent, size);
    stream_end(&world);
}

static void what_goes_in_comes_out(void **state)
{
    uint32_t before = stream_open_fds();
    stream_transfer(0, 65536, 65536, false);
    stream_transfer(SOCK_STREAM, 65536, 777, true);
    stream_transfer(SOCK_STREAM, 3000, 1, false);
    stream_transfer(0, UINT64_C(4) << 20, 65536, true);
    stream_transfer(SOCK_STREAM, UINT64_C(4) << 20, 5000, true);
    assert_int_equal(stream_open_fds(), before);
}

static void large_transfers(void **state)
{
    stream_transfer(0, UINT64_C(64) << 20, 65536, false);
    stream_transfer(0, UINT64_C(16) << 20, 65536, true);
}

/* ---- pieces ---- */

static void lines_however_they_arrive(void **state)
{
    static const char text[] = "one\r\n\r\ntwo\rthree\nfour\r\r\nrest";
    static const char lines[] = "one\r\n|\r\n|two\rthree\nfour\r\r\n|";
    for (size_t step = 1; step < sizeof text; step++) {
        stream_world world = {.events = stream_lines};
        stream_pair(&world, SOCK_STREAM);
        stream_begin(&world);
        for (size_t at = 0; at < sizeof text - 1; at += step) {
            size_t count = sizeof text - 1 - at < step ? sizeof text - 1 - at : step;
            assert_int_equal(send(world.peer, text + at, count, 0), count);
            stream_run(&world);
        }
        assert_string_equal(world.pieces, lines);
        assert_int_equal(world.status, AXO_ENOENT);
        assert_int_equal(world.info.input, 4);
        stream_end(&world);
    }
}

static void stream_counts(stream_world *world, axo_ctx *ctx)
{
    axo_stream_bytes piece;
    while ((world->status = axo_stream_next(ctx, world->stream, 3, &piece)) == AXO_OK)
        stream_note(world, piece);
}

static void stream_another_end(stream_world *world, axo_ctx *ctx)
{
    axo_stream_bytes piece;
    assert_int_equal(axo_stream_next_until(ctx, world->stream, ";", 1, &piece), AXO_ENOENT);
    assert_int_equal(axo_stream_next_until(ctx, world->stream, "b", 1, &piece), AXO_OK);
    stream_note(world, piece);
    assert_int_equal(axo_stream_next_until(ctx, world->stream, "cd", 2, &piece), AXO_OK);
    stream_note(world, piece);
    assert_int_equal(axo_stream_next(ctx, world->stream, 0, &piece), AXO_OK);
    stream_note(world, piece);
    assert_int_equal(axo_stream_next(ctx, world->stream, 0, &piece), AXO_ENOENT);
}

static void counted_pieces_and_other_delimiters(void **state)
{
    stream_world world = {.events = stream_counts};
    stream_pair(&world, SOCK_STREAM);
    stream_begin(&world);
    stream_put(&world, "abcd");
    stream_put(&world, "e");
    assert_string_equal(world.pieces, "abc|");
    stream_put(&world, "fghi");
    assert_string_equal(world.pieces, "abc|def|ghi|");
    world.length = 0;
    world.events = NULL;
    stream_put(&world, "abcde");
    stream_do(&world, stream_another_end);
    assert_string_equal(world.pieces, "ab|cd|e|");
    stream_end(&world);
}

/* A buffer that is full without the delimiter never gets it; what is in it can be taken. */
static void stream_too_long(stream_world *world, axo_ctx *ctx)
{
    axo_stream_bytes piece;
    assert_int_equal(axo_stream_next(ctx, world->stream, 17, &piece), AXO_ETOOBIG);
    world->status = axo_stream_next_until(ctx, world->stream, "\n", 1, &piece);
    if (world->status != AXO_ETOOBIG)
        return;
    assert_int_equal(axo_stream_next(ctx, world->stream, 16, &piece), AXO_OK);
    stream_note(world, piece);
}

/* Pieces of a byte that says how long they are, and so many bytes. */
static void stream_sized(stream_world *world, axo_ctx *ctx)
{
    axo_stream_bytes all;
    axo_stream_bytes piece;
    while ((world->status = axo_stream_peek(ctx, world->stream, &all)) == AXO_OK) {
        size_t size = (size_t)(all.data[0] - '0') + 1;
        world->status = axo_stream_next(ctx, world->stream, size, &piece);
        if (world->status != AXO_OK)
            return;
        assert_ptr_equal(piece.data, all.data);
        stream_note(world, piece);
    }
}

static void what_is_looked_at_stays(void **state)
{
    stream_world world = {.events = stream_sized, .settings = {.input_max = 8}};
    stream_pair(&world, SOCK_STREAM);
    stream_begin(&world);
    stream_do(&world, stream_sized);
    assert_int_equal(world.status, AXO_ENOENT); /* nothing is there */
    stream_put(&world, "3a");
    assert_int_equal(world.status, AXO_ENOENT);
    assert_int_equal(world.info.input, 2);
    stream_put(&world, "bc0");
    assert_int_equal(world.info.input, 0);
    stream_put(&world, "1x2yz5");
    assert_string_equal(world.pieces, "3abc|0|1x|2yz|");
    assert_int_equal(world.info.input, 1);
    stream_put(&world, "12345");
    assert_string_equal(world.pieces, "3abc|0|1x|2yz|512345|");
    stream_put(&world, "9");
    assert_int_equal(world.status, AXO_ETOOBIG);
    stream_end(&world);
}

static void a_line_longer_than_the_buffer(void **state)
{
    stream_world world = {.events = stream_too_long, .settings = {.input_max = 16}};
    stream_pair(&world, SOCK_STREAM);
    stream_begin(&world);
    stream_put(&world, "0123456789");
    assert_int_equal(world.status, AXO_ENOENT);
    stream_put(&world, "abcdefghij");
    assert_string_equal(world.pieces, "0123456789abcdef|");
    assert_int_equal(world.info.input, 4); /* it goes on behind that */
    stream_end(&world);
}

/* ---- reading pauses ---- */

static void stream_pause(stream_world *world, axo_ctx *ctx)
{
    assert_int_equal(axo_stream_pause(ctx, world->stream), AXO_OK);
}

static void stream_resume(stream_world *world, axo_ctx *ctx)
{
    assert_int_equal(axo_stream_resume(ctx, world->stream), AXO_OK);
}

static void paused_is_not_read(void **state)
{
    stream_world world = {.events = stream_counts};
    stream_pair(&world, SOCK_STREAM);
    stream_begin(&world);
    stream_do(&world, stream_pause);
    stream_put(&world, "abc");
    assert_int_equal(world.inputs, 0);
    assert_int_equal(world.info.paused, 1);
    stream_do(&world, stream_resume);
    stream_run(&world);
    assert_string_equal(world.pieces, "abc|");
    world.events = stream_pause; /* in the handler, with more to read */
    stream_put(&world, "def");
    stream_put(&world, "ghi");
    world.events = stream_counts;
    stream_do(&world, stream_resume);
    stream_run(&world);
    assert_string_equal(world.pieces, "abc|def|ghi|");
    stream_end(&world);
}

/* Nobody takes what has come: no more than the buffer is read, and all of it later. */
static void what_is_not_taken_is_not_read(void **state)
{
    static const char bytes[10000];
    stream_world world = {.settings = {.input_max = 1000}};
    stream_pair(&world, SOCK_STREAM);
    stream_begin(&world);
    assert_int_equal(send(world.peer, bytes, sizeof bytes, 0), sizeof bytes);
    stream_run(&world);
    assert_int_equal(world.info.received, 1000);
    world.events = stream_take_all;
    stream_do(&world, stream_take_all);
    stream_run(&world);
    assert_int_equal(world.taken, sizeof bytes);
    assert_int_equal(world.info.received, sizeof bytes);
    stream_end(&world);
}

/* ---- writing ---- */

/* A socket that keeps the borders of writes tells how many there were. */
static void a_turn_is_one_write(void **state)
{
    stream_world world = {.act = stream_hello};
    stream_pair(&world, SOCK_SEQPACKET);
    stream_begin(&world);
    for (uint32_t i = 0; i < 3; i++)
        stream_tell(&world, DO);
    stream_run(&world);
    assert_string_equal(stream_get(&world), "hello world\nhello world\nhello world\n");
    assert_string_equal(stream_get(&world), "");
    assert_int_equal(world.info.sent, 36);
    stream_end(&world);
    world = (stream_world){.peer = -1};
    stream_pair(&world, SOCK_SEQPACKET);
    stream_begin_as(&world, &stream_unsettled_class);
    stream_do(&world, stream_hello);
    assert_string_equal(stream_get(&world), "hello ");
    assert_string_equal(stream_get(&world), "world\n");
    stream_end(&world);
}

static void full_and_room_again(void **state)
{
    stream_world world = {.settings = {.output_high = 10000, .output_low = 3000}};
    stream_pair(&world, SOCK_STREAM);
    stream_begin(&world);
    for (uint32_t i = 1; i <= 3; i++) {
        stream_do(&world, stream_fill);
        assert_int_equal(world.status, AXO_EFULL);
        assert_int_equal(world.info.output, 10000);
        stream_run(&world);
        assert_int_equal(world.rooms, i - 1);
        uint64_t sent = world.info.sent + world.info.output;
        (void)stream_drink(&world);
        assert_int_equal(world.rooms, i);
        assert_int_equal(world.info.sent, sent);
        assert_int_equal(world.info.output, 0);
    }
    stream_end(&world);
}

/* ---- ends ---- */

static void stream_bye(stream_world *world, axo_ctx *ctx)
{
    if (world->ends == 0 || world->closes > 0)
        return;
    assert_int_equal(axo_stream_write(ctx, world->stream, "bye", 3), AXO_OK);
    assert_int_equal(axo_stream_close(ctx, world->stream, 5 * SECOND), AXO_OK);
    assert_int_equal(axo_stream_write(ctx, world->stream, "no", 2), AXO_ESTOPPING);
}

static void the_other_side_ends_first(void **state)
{
    stream_world world = {.events = stream_bye};
    uint32_t before = stream_open_fds();
    stream_tcp(&world);
    stream_begin(&world);
    assert_int_equal(send(world.peer, "last", 4, 0), 4);
    assert_int_equal(shutdown(world.peer, SHUT_WR), 0);
    assert_string_equal(stream_get(&world), "bye");
    assert_string_equal(stream_get(&world), "<end>");
    stream_run(&world);
    assert_int_equal(world.ends, 1);
    assert_int_equal(world.closes, 1);
    assert_int_equal(world.info.fd, -1);
    assert_int_equal(world.info.status, AXO_OK);
    assert_int_equal(world.info.received, 4);
    stream_end(&world);
    assert_int_equal(stream_open_fds(), before);
}

/* The other side ends while there is no room to answer: nothing is lost, and the end comes last. */
static void stream_echo_and_close(stream_world *world, axo_ctx *ctx)
{
    axo_stream_bytes piece;
    while (axo_stream_has_room(ctx, world->stream) &&
           axo_stream_next(ctx, world->stream, 100, &piece) == AXO_OK)
        assert_int_equal(axo_stream_write(ctx, world->stream, piece.data, piece.size), AXO_OK);
    if (axo_stream_ended(ctx, world->stream)) {
        assert_int_equal(axo_stream_close(ctx, world->stream, 5 * SECOND), AXO_OK);
        assert_false(axo_stream_ended(ctx, world->stream));
    }
}

static void the_other_side_ends_while_all_is_full(void **state)
{
    static const char bytes[1050];
    stream_world world = {.settings = {.output_high = 500, .input_max = 4096}};
    stream_pair(&world, SOCK_STREAM);
    stream_begin(&world);
    stream_do(&world, stream_fill);
    uint64_t filled = world.info.sent + world.info.output;
    world.events = stream_echo_and_close;
    assert_int_equal(send(world.peer, bytes, sizeof bytes, 0), sizeof bytes);
    assert_int_equal(shutdown(world.peer, SHUT_WR), 0);
    stream_run(&world);
    assert_int_equal(world.ends, 1);
    assert_int_equal(world.info.input, sizeof bytes);
    assert_int_equal(stream_drink(&world), filled + 1000); /* the rest is no whole piece */
    stream_run(&world);
    assert_int_equal(world.closes, 1);
    assert_int_equal(world.info.status, AXO_OK);
    stream_end(&world);
}

static void stream_half(stream_world *world, axo_ctx *ctx)
{
    assert_int_equal(axo_stream_write(ctx, world->stream, "all", 3), AXO_OK);
    assert_int_equal(axo_stream_end(ctx, world->stream), AXO_OK);
    assert_int_equal(axo_stream_end(ctx, world->stream), AXO_OK);
    assert_int_equal(axo_stream_write(ctx, world->stream, "no", 2), AXO_ESTOPPING);
}

/* A piece was not whole; its rest comes with the end, and there is no room to answer it. */
static void the_end_comes_with_a_rest_that_waits(void **state)
{
    static const char bytes[100];
    stream_world world = {.settings = {.output_high = 500, .input_max = 4096}};
    stream_pair(&world, SOCK_STREAM);
    stream_begin(&world);
    world.events = stream_echo_and_close;
    assert_int_equal(send(world.peer, bytes, 30, 0), 30);
    stream_run(&world);
    assert_int_equal(world.info.input, 30);
    world.events = NULL;
    stream_do(&world, stream_fill);
    uint64_t filled = world.info.sent + world.info.output;
    world.events = stream_echo_and_close;
    assert_int_equal(send(world.peer, bytes, 70, 0), 70);
    assert_int_equal(shutdown(world.peer, SHUT_WR), 0);
    stream_run(&world);
    assert_int_equal(world.info.input, 100);
    assert_int_equal(stream_drink(&world), filled + 100);
    assert_int_equal(world.closes, 1);
    stream_end(&world);
}

static void this_side_ends_and_reads_on(void **state)
{
    stream_world world = {.events = stream_counts};
    stream_tcp(&world);
    stream_begin(&world);
    stream_do(&world, stream_half);
    assert_string_equal(stream_get(&world), "all");
    assert_string_equal(stream_get(&world), "<end>");
    stream_put(&world, "abc");
    stream_put(&world, "def");
    assert_string_equal(world.pieces, "abc|def|");
    assert_int_equal(world.closes, 0);
    stream_end(&world);
}

static void stream_answer_and_close(stream_world *world, axo_ctx *ctx)
{
    static char answer[3000000];
    memset(answer, 'a', sizeof answer);
    assert_int_equal(axo_stream_write(ctx, world->stream, answer, sizeof answer), AXO_OK);
    assert_int_equal(axo_stream_close(ctx, world->stream, 10 * SECOND), AXO_OK);
}

/* The other side still sends what nobody reads: a close would reset the connection, and the answer
 * with it. */
static void a_close_loses_no_answer(void **state)
{
    static const char bytes[20000];
    stream_world world = {.settings = {.input_max = 4096}};
    stream_tcp(&world);
    stream_begin(&world);
    assert_int_equal(send(world.peer, bytes, sizeof bytes, 0), sizeof bytes);
    stream_run(&world);
    stream_do(&world, stream_answer_and_close);
    assert_int_equal(send(world.peer, bytes, sizeof bytes, 0), sizeof bytes);
    assert_int_equal(stream_drink_late(&world, 3000000), 3000000);
    (void)poll(&(struct pollfd){.fd = world.peer, .events = POLLIN}, 1, 10000);
    assert_string_equal(stream_get(&world), "<end>");
    assert_int_equal(world.closes, 0); /* the other side has not ended yet */
    assert_int_equal(send(world.peer, bytes, sizeof bytes, 0), sizeof bytes);
    assert_int_equal(shutdown(world.peer, SHUT_WR), 0);
    for (uint32_t i = 0; i < 1000 && world.closes == 0; i++)
        stream_run(&world);
    assert_int_equal(world.closes, 1);
    assert_int_equal(world.info.status, AXO_OK);
    assert_int_equal(world.info.sent, 3000000);
    assert_int_equal(world.info.received, 3 * sizeof bytes);
    stream_end(&world);
}

static void stream_close_now(stream_world *world, axo_ctx *ctx)
{
    assert_int_equal(axo_stream_close(ctx, world->stream, 0), AXO_OK);
    assert_int_equal(axo_stream_close(ctx, world->stream, 0), AXO_EGONE);
    assert_int_equal(axo_stream_write(ctx, world->stream, "no", 2), AXO_EGONE);
    assert_false(axo_stream_has_room(ctx, world->stream));
}

static void closed_at_once(void **state)
{
    stream_world world = {.events = NULL};
    stream_pair(&world, SOCK_STREAM);
    stream_begin(&world);
    stream_put(&world, "waits");
    stream_do(&world, stream_close_now);
    assert_string_equal(stream_get(&world), "<end>");
    assert_int_equal(world.info.fd, -1);
    assert_int_equal(world.info.status, AXO_OK);
    assert_int_equal(world.closes, 0);
    stream_end(&world);
}

static void the_instance_takes_it_along(void **state)
{
    for (uint32_t how = FAIL; how <= STOP; how++) {
        uint32_t before = stream_open_fds();
        stream_world world = {.settings = {.output_high = 1000}};
        stream_pair(&world, SOCK_STREAM);
        stream_begin(&world);
        stream_put(&world, "in the buffer");
        stream_do(&world, stream_fill); /* and something waits */
        stream_tell(&world, how);
        (void)stream_drink(&world);
        assert_string_equal(stream_get(&world), "<end>");
        assert_int_equal(world.instances, how == FAIL ? 2 : 1);
        stream_end(&world);
        assert_int_equal(stream_open_fds(), before);
    }
}

/* ---- resets ---- */

static void stream_is_over(stream_world *world)
{
    for (uint32_t i = 0; i < 100 && world->closes == 0; i++)
        stream_run(world);
    assert_int_equal(world->closes, 1);
    assert_int_equal(world->info.fd, -1);
    assert_int_equal(world->info.status, AXO_ESYSTEM);
    assert_true(world->info.error == ECONNRESET || world->info.error == EPIPE);
}

static void a_reset_in_every_state(void **state)
{
    enum { IDLE, PAUSED, BUFFER_FULL, WRITING, HALF, DRAINING, DRAINING_FULL, HELLO, STATES };
    uint32_t before = stream_open_fds();
    for (uint32_t when = IDLE; when < STATES; when++) {
        static const char bytes[4096];
        stream_world world = {.settings = {.input_max = 1024, .output_high = 4000}};
        stream_tcp(&world);
        stream_begin(&world);
        if (when == BUFFER_FULL || when == PAUSED)
            stream_do(&world, when == PAUSED ? stream_pause : stream_take_all);
        if (when == BUFFER_FULL || when == PAUSED)
            assert_int_equal(send(world.peer, bytes, sizeof bytes, 0), sizeof bytes);
        stream_run(&world);
        if (when == WRITING || when == DRAINING_FULL)
            stream_do(&world, stream_fill);
        if (when == HALF)
            stream_do(&world, stream_half);
        if (when == DRAINING || when == DRAINING_FULL)
            stream_do(&world, stream_drain_long);
        if (when == HELLO)
            stream_do(&world, stream_hello); /* which nobody has read */
        stream_reset(&world);
        stream_is_over(&world);
        assert_int_equal(world.ends, 0); /* a reset is no end */
        stream_end(&world);
        assert_int_equal(stream_open_fds(), before);
    }
}

/* The other side is gone, and this one learns of it by its write. */
static void a_write_to_nobody(void **state)
{
    stream_world world = {.act = stream_hello};
    stream_pair(&world, SOCK_STREAM);
    stream_begin(&world);
    assert_int_equal(close(world.peer), 0);
    world.peer = -1;
    stream_tell(&world, DO); /* before the end is read */
    stream_is_over(&world);
    assert_int_equal(world.info.error, EPIPE);
    stream_end(&world);
}

/* What came before a reset is told before it. */
static void stream_counts_if_open(stream_world *world, axo_ctx *ctx)
{
    if ((world->told & AXO_STREAM_CLOSED) == 0)
        stream_counts(world, ctx);
}

static void bytes_before_a_reset(void **state)
{
    stream_world world = {.events = stream_counts_if_open};
    stream_tcp(&world);
    stream_begin(&world);
    assert_int_equal(send(world.peer, "abcdef", 6, 0), 6);
    stream_reset(&world);
    stream_is_over(&world);
    assert_string_equal(world.pieces, "abc|def|");
    stream_end(&world);
}

/* ---- bad input ---- */

static void stream_bad(stream_world *world, axo_ctx *ctx)
{
    axo_stream *other;
    axo_stream *it = world->stream;
    axo_stream_bytes piece;
    axo_stream_info info = AXO_STREAM_INFO();
    axo_stream_info sizeless = {.size = 0};
    const axo_message stranger = {.tag = DO};
    static const axo_stream_settings bad[] = {
        AXO_STREAM_SETTINGS(.input_max = AXO_STREAM_MAX + 1),
        AXO_STREAM_SETTINGS(.output_high = AXO_STREAM_MAX + 1),
        AXO_STREAM_SETTINGS(.output_high = 10, .output_low = 10),
        AXO_STREAM_SETTINGS(.idle_ns = -1), AXO_STREAM_SETTINGS(.read_ns = AXO_DELAY_MAX + 1),
        AXO_STREAM_SETTINGS(.write_ns = -1), {.size = 0}};
    stream_see(world, ctx);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(axo_stream_open(ctx, world->peer, &bad[i], &other), AXO_EINVAL);
    assert_int_equal(axo_stream_open(ctx, -1, NULL, &other), AXO_EDESCRIPTOR);
    assert_null(other);
    assert_int_equal(axo_stream_open(ctx, world->info.fd, NULL, &other), AXO_EEXIST);
    assert_int_equal(axo_stream_open(ctx, world->peer, NULL, NULL), AXO_EINVAL);
    assert_int_equal(axo_stream_open(NULL, world->peer, NULL, &other), AXO_ECONTEXT);
    assert_int_equal(axo_stream_receive(ctx, it, &stranger), 0);
    assert_int_equal(axo_stream_receive(ctx, it, NULL), 0);
    assert_int_equal(axo_stream_receive(ctx, NULL, &stranger), 0);
    assert_int_equal(axo_stream_next(ctx, it, 1, NULL), AXO_EINVAL);
    assert_int_equal(axo_stream_next(ctx, NULL, 1, &piece), AXO_EINVAL);
    assert_int_equal(axo_stream_next(NULL, it, 1, &piece), AXO_ECONTEXT);
    assert_int_equal(axo_stream_next_until(ctx, it, "", 0, &piece), AXO_EINVAL);
    assert_int_equal(axo_stream_next_until(ctx, it, "01234567890123456", 17, &piece), AXO_EINVAL);
    assert_int_equal(axo_stream_next_until(ctx, it, NULL, 1, &piece), AXO_EINVAL);
    assert_int_equal(axo_stream_peek(ctx, it, NULL), AXO_EINVAL);
    assert_int_equal(axo_stream_peek(NULL, it, &piece), AXO_ECONTEXT);
    assert_int_equal(axo_stream_write(ctx, it, NULL, 1), AXO_EINVAL);
    assert_int_equal(axo_stream_write(ctx, it, NULL, 0), AXO_OK);
    assert_int_equal(axo_stream_write(ctx, it, "", AXO_STREAM_MAX + 1), AXO_ETOOBIG);
    assert_int_equal(axo_stream_close(ctx, it, -1), AXO_EINVAL);
    assert_int_equal(axo_stream_look(ctx, it, NULL), AXO_EINVAL);
    assert_int_equal(axo_stream_look(ctx, it, &sizeless), AXO_EINVAL);
    assert_int_equal(axo_stream_look(NULL, it, &info), AXO_ECONTEXT);
    assert_false(axo_stream_has_room(NULL, it));
    assert_int_equal(axo_stream_settle(NULL, it), AXO_ECONTEXT);
    world->status = AXO_EFAILED;
}

static void bad_input_changes_nothing(void **state)
{
    stream_world world = {.status = AXO_OK};
    stream_pair(&world, SOCK_STREAM);
    stream_begin(&world);
    stream_do(&world, stream_bad);
    assert_int_equal(world.status, AXO_EFAILED);
    world.events = stream_counts;
    stream_put(&world, "abc");
    assert_string_equal(world.pieces, "abc|");
    stream_end(&world);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(what_goes_in_comes_out),
    cmocka_unit_test(large_transfers),
    cmocka_unit_test(lines_however_they_arrive),
    cmocka_unit_test(counted_pieces_and_other_delimiters),
    cmocka_unit_test(what_is_looked_at_stays),
    cmocka_unit_test(a_line_longer_than_the_buffer),
    cmocka_unit_test(paused_is_not_read),
    cmocka_unit_test(what_is_not_taken_is_not_read),
    cmocka_unit_test(a_turn_is_one_write),
    cmocka_unit_test(full_and_room_again),
    cmocka_unit_test(the_other_side_ends_first),
    cmocka_unit_test(the_other_side_ends_while_all_is_full),
    cmocka_unit_test(the_end_comes_with_a_rest_that_waits),
    cmocka_unit_test(this_side_ends_and_reads_on),
    cmocka_unit_test(a_close_loses_no_answer),
    cmocka_unit_test(closed_at_once),
    cmocka_unit_test(the_instance_takes_it_along),
    cmocka_unit_test(a_reset_in_every_state),
    cmocka_unit_test(a_write_to_nobody),
    cmocka_unit_test(bytes_before_a_reset),
    cmocka_unit_test(bad_input_changes_nothing),
};
TEST_MAIN(tests)
