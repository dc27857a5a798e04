/* stream_world.h - a system without threads, one actor with a stream, and the test as the other
 * side of its socket. */
#ifndef UNIT_PATTERN_STREAM_WORLD_H
#define UNIT_PATTERN_STREAM_WORLD_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <axo/axo.h>

#include "unit/unit.h"

#define SECOND INT64_C(1000000000)

enum { DO = 1, FAIL, STOP };

typedef struct stream_world stream_world;
typedef void (*stream_act)(stream_world *world, axo_ctx *ctx);

struct stream_world {
    axo_system *system;
    axo_ref actor;
    axo_stream *stream;
    int peer; /* the test's end */
    int fd;   /* the stream's, until it is given to it */
    axo_stream_settings settings;
    stream_act act;    /* of DO */
    stream_act events; /* behind each axo_stream_receive */
    axo_status status; /* of the last call */
    uint32_t told;     /* the last one's events, ... */
    uint32_t inputs, rooms, ends, closes; /* ... and how often each has come */
    axo_stream_info info; /* behind the last callback */
    size_t output_most;
    uint64_t taken;    /* bytes */
    char pieces[512];  /* what has been taken, a '|' behind each */
    uint32_t length;
    uint32_t instances;
    int64_t now;       /* of the program's clock, if it is not 0 */
    uint32_t timers_max;
};

static inline uint32_t stream_open_fds(void)
{
    uint32_t count = 0;
    DIR *all = opendir("/proc/self/fd");
    assert_non_null(all);
    while (readdir(all) != NULL)
        count++;
    (void)closedir(all);
    return count;
}

static inline void stream_see(stream_world *world, axo_ctx *ctx)
{
    world->info = (axo_stream_info)AXO_STREAM_INFO();
    if (axo_stream_look(ctx, world->stream, &world->info) != AXO_OK)
        return;
    if (world->info.output > world->output_most)
        world->output_most = world->info.output;
}

static inline axo_status stream_construct(axo_ctx *ctx, void *state, const void *args)
{
    memcpy(state, args, sizeof(stream_world *));
    stream_world *world = *(stream_world *const *)state;
    if (world->instances++ > 0)
        return AXO_OK;
    return axo_stream_open(ctx, world->fd, &world->settings, &world->stream);
}

static inline axo_status stream_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    stream_world *world = *(stream_world **)state;
    switch (message->tag) {
    case DO:
        world->act(world, ctx);
        break;
    case FAIL:
        return axo_fail(ctx, 1, "as it was told");
    case STOP:
        return axo_stop_self(ctx);
    default:
        world->told = axo_stream_receive(ctx, world->stream, message);
        if (world->told == 0)
            return AXO_UNHANDLED;
        world->inputs += (world->told & AXO_STREAM_INPUT) != 0;
        world->rooms += (world->told & AXO_STREAM_ROOM) != 0;
        world->ends += (world->told & AXO_STREAM_END) != 0;
        world->closes += (world->told & AXO_STREAM_CLOSED) != 0;
        if (world->events != NULL)
            world->events(world, ctx);
        break;
    }
    stream_see(world, ctx);
    return AXO_OK;
}

static inline axo_status stream_settle(axo_ctx *ctx, void *state)
{
    stream_world *world = *(stream_world **)state;
    axo_status status = axo_stream_settle(ctx, world->stream);
    stream_see(world, ctx);
    return status;
}

static const axo_class stream_class =
    AXO_CLASS(.name = "connection", .state_size = sizeof(stream_world *),
              .construct = stream_construct, .receive = stream_receive, .settle = stream_settle);
static const axo_class stream_unsettled_class =
    AXO_CLASS(.name = "unsettled", .state_size = sizeof(stream_world *),
              .construct = stream_construct, .receive = stream_receive);

static inline void stream_run(stream_world *world)
{
    assert_int_equal(axo_run_host(world->system, -1, NULL), AXO_OK);
}

static inline int64_t stream_clock(void *user)
{
    return ((stream_world *)user)->now;
}

/* The other side: a local socket, or one of TCP. */
static inline void stream_pair(stream_world *world, int type)
{
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    world->fd = fds[0];
    world->peer = fds[1];
}

static inline void stream_tcp(stream_world *world)
{
    struct sockaddr_in where = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof where;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(listener >= 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&where, sizeof where), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&where, &length), 0);
    world->peer = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(world->peer, (struct sockaddr *)&where, sizeof where), 0);
    world->fd = accept(listener, NULL, NULL);
    assert_true(world->fd >= 0);
    assert_int_equal(fcntl(world->peer, F_SETFL, O_NONBLOCK), 0);
    assert_int_equal(close(listener), 0);
}

/* `world` has its sockets, and what is to be set. */
static inline void stream_begin_as(stream_world *world, const axo_class *cls)
{
    axo_options options =
        AXO_OPTIONS(.manual = 1, .no_quantum_us = 1, .timers_max = world->timers_max);
    axo_props props = AXO_PROPS(.cls = cls, .args = &world, .args_size = sizeof world);
    if (world->now != 0) {
        options.clock = stream_clock;
        options.clock_user = world;
    }
    world->settings.size = sizeof world->settings;
    assert_int_equal(axo_system_start(&options, &world->system), AXO_OK);
    assert_int_equal(axo_system_spawn(world->system, &props, &world->actor), AXO_OK);
    stream_run(world);
    assert_non_null(world->stream);
}

static inline void stream_begin(stream_world *world)
{
    stream_begin_as(world, &stream_class);
}

static inline void stream_tell(stream_world *world, uint32_t tag)
{
    assert_int_equal(axo_system_send(world->system, world->actor, tag, NULL, 0), AXO_OK);
}

static inline void stream_do(stream_world *world, stream_act act)
{
    world->act = act;
    stream_tell(world, DO);
    stream_run(world);
}

static inline void stream_end(stream_world *world)
{
    assert_int_equal(axo_system_stop(world->system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(world->system), AXO_OK);
    if (world->peer >= 0)
        assert_int_equal(close(world->peer), 0);
}

/* ---- the other side ---- */

static inline void stream_put(stream_world *world, const char *text)
{
    assert_int_equal(send(world->peer, text, strlen(text), MSG_NOSIGNAL), strlen(text));
    stream_run(world);
}

/* What has come; "" for nothing, "<end>" for the end, else "<error>". */
static inline const char *stream_get(stream_world *world)
{
    static char text[4096];
    stream_run(world);
    ssize_t got = recv(world->peer, text, sizeof text - 1, 0);
    if (got == 0)
        return "<end>";
    if (got < 0)
        return errno == EAGAIN ? "" : "<error>";
    text[got] = 0;
    return text;
}

/* Resets the connection. */
static inline void stream_reset(stream_world *world)
{
    const struct linger now = {.l_onoff = 1};
    assert_int_equal(setsockopt(world->peer, SOL_SOCKET, SO_LINGER, &now, sizeof now), 0);
    assert_int_equal(close(world->peer), 0);
    world->peer = -1;
    stream_run(world);
}

static inline void stream_note(stream_world *world, axo_stream_bytes piece)
{
    assert_true(world->length + piece.size + 2 < sizeof world->pieces);
    memcpy(world->pieces + world->length, piece.data, piece.size);
    world->length += (uint32_t)piece.size;
    world->pieces[world->length++] = '|';
    world->pieces[world->length] = 0;
}

/* ---- what actors do ---- */

static inline void stream_lines(stream_world *world, axo_ctx *ctx)
{
    axo_stream_bytes line;
    while ((world->status = axo_stream_next_until(ctx, world->stream, "\r\n", 2, &line)) == AXO_OK)
        stream_note(world, line);
}

static inline void stream_take_all(stream_world *world, axo_ctx *ctx)
{
    axo_stream_bytes piece;
    while (axo_stream_next(ctx, world->stream, 0, &piece) == AXO_OK)
        world->taken += piece.size;
}

static inline void stream_hello(stream_world *world, axo_ctx *ctx)
{
    assert_int_equal(axo_stream_write(ctx, world->stream, "hello ", 6), AXO_OK);
    assert_int_equal(axo_stream_write(ctx, world->stream, "world\n", 6), AXO_OK);
}

static inline void stream_fill(stream_world *world, axo_ctx *ctx)
{
    static const char bytes[1000];
    world->status = AXO_OK;
    for (uint32_t i = 0; i < 100000 && world->status == AXO_OK; i++)
        world->status = axo_stream_write(ctx, world->stream, bytes, sizeof bytes);
}

/* All that has come, to the end or as far as it goes. */
static inline uint64_t stream_drink(stream_world *world)
{
    static char buffer[65536];
    uint64_t all = 0;
    for (;;) {
        stream_run(world);
        ssize_t got = recv(world->peer, buffer, sizeof buffer, 0);
        if (got <= 0) {
            assert_true(got == 0 || errno == EAGAIN);
            return all;
        }
        all += (uint64_t)got;
    }
}

/* TCP may take its time to bring what was written: so many bytes, or what comes within seconds. */
static inline uint64_t stream_drink_late(stream_world *world, uint64_t bytes)
{
    uint64_t all = stream_drink(world);
    for (uint32_t i = 0; i < 10000 && all < bytes; i++) {
        (void)poll(&(struct pollfd){.fd = world->peer, .events = POLLIN}, 1, 1);
        all += stream_drink(world);
    }
    return all;
}

static inline void stream_drain_long(stream_world *world, axo_ctx *ctx)
{
    assert_int_equal(axo_stream_close(ctx, world->stream, 100 * SECOND), AXO_OK);
}

#endif
