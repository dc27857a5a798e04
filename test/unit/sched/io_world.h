/* io_world.h - a system without threads, and an actor that watches one end of a socket pair. */
#ifndef UNIT_SCHED_IO_WORLD_H
#define UNIT_SCHED_IO_WORLD_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <axo/axo.h>

#include "support/cmocka.h"

#define IO_WAIT_NS INT64_C(20000000000)

enum { IO_DO = 1, IO_FAIL = 2, IO_STOP = 3 };

typedef struct io_world io_world;
typedef void (*io_act)(io_world *world, axo_ctx *ctx, const axo_message *message);

/* What the one actor of a test does, and what it has seen. The world is the actor's while it runs,
 * and the test's between two calls of io_run. */
struct io_world {
    axo_system *system;
    axo_ref actor;
    int fds[2]; /* the actor watches 0 */
    uint32_t flags;
    uint32_t events;   /* 0: construct watches nothing */
    io_act act;        /* of IO_DO; the next one */
    io_act ready;      /* of AXO_IO_READY; NULL: nothing */
    axo_status status; /* what the last call said */
    uint32_t readies;  /* AXO_IO_READY seen ... */
    uint32_t seen;     /* ... with which events, together ... */
    int seen_fd;
    bool fails; /* the handler fails when it is done */
    bool fails_construct;
    int64_t until;
    uint32_t told; /* messages to itself */
    uint32_t instances;
    uint32_t post_stops;
    bool open_in_post_stop;
    char got[256]; /* bytes read */
    uint32_t got_count;
};

static inline bool io_is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

static inline axo_status io_construct(axo_ctx *ctx, void *state, const void *args)
{
    memcpy(state, args, sizeof(io_world *));
    io_world *world = *(io_world *const *)state;
    world->instances++;
    if (world->events == 0)
        return AXO_OK;
    world->status = axo_io_watch(ctx, world->fds[0], world->events, world->flags);
    return world->fails_construct ? axo_fail(ctx, 4, "as told") : AXO_OK;
}

static inline axo_status io_post_stop(axo_ctx *ctx, void *state)
{
    io_world *world = *(io_world *const *)state;
    world->post_stops++;
    world->open_in_post_stop = io_is_open(world->fds[0]);
    return AXO_OK;
}

static inline axo_status io_returns(io_world *world, axo_ctx *ctx)
{
    bool fails = world->fails;
    world->fails = false;
    return fails ? axo_fail(ctx, 3, "as told") : AXO_OK;
}

static inline axo_status io_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    io_world *world = *(io_world *const *)state;
    switch (message->tag) {
    case AXO_IO_READY: {
        const axo_io_ready *ready = AXO_PAYLOAD(message, axo_io_ready);
        if (message->size != sizeof *ready)
            return axo_fail(ctx, 1, "another payload");
        world->readies++;
        world->seen |= ready->events;
        world->seen_fd = ready->fd;
        if (world->ready != NULL)
            world->ready(world, ctx, message);
        return io_returns(world, ctx);
    }
    case IO_DO:
        world->act(world, ctx, message);
        return io_returns(world, ctx);
    case IO_FAIL:
        return axo_fail(ctx, 2, "as told");
    case IO_STOP:
        return axo_stop_self(ctx);
    default:
        return AXO_UNHANDLED;
    }
}

static const axo_class io_class =
    AXO_CLASS(.name = "io", .state_size = sizeof(io_world *), .construct = io_construct,
              .receive = io_receive, .post_stop = io_post_stop);

static inline void io_run(io_world *world)
{
    assert_int_equal(axo_run_host(world->system, -1, NULL), AXO_OK);
}

static inline axo_ref io_spawn(io_world *world, io_world *of)
{
    axo_ref ref;
    axo_props props = AXO_PROPS(.cls = &io_class, .args = &of, .args_size = sizeof of);
    assert_int_equal(axo_system_spawn(world->system, &props, &ref), AXO_OK);
    io_run(world);
    return ref;
}

static inline void io_system(io_world *world)
{
    axo_options options = AXO_OPTIONS(.manual = 1);
    assert_int_equal(axo_system_start(&options, &world->system), AXO_OK);
}

/* A manual system with an actor that watches one end of a socket pair. */
static inline void io_start(io_world *world, uint32_t events, uint32_t flags)
{
    *world = (io_world){.events = events, .flags = flags, .seen_fd = -1};
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, world->fds), 0);
    io_system(world);
    world->actor = io_spawn(world, world);
    assert_int_equal(world->status, AXO_OK);
    io_run(world);
}

static inline void io_end_system(io_world *world)
{
    axo_stats stats = AXO_STATS(.sent = 0);
    assert_int_equal(axo_system_stop(world->system, IO_WAIT_NS, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_stats(world->system, &stats), AXO_OK);
    assert_int_equal(stats.sent, stats.handled + stats.dead + stats.dropped);
    assert_int_equal(stats.actors, 0);
    assert_int_equal(axo_system_destroy(world->system), AXO_OK);
}

static inline void io_end(io_world *world)
{
    io_end_system(world);
    if ((world->flags & AXO_IO_OWN) == 0)
        assert_int_equal(close(world->fds[0]), 0);
    assert_int_equal(close(world->fds[1]), 0);
}

static inline void io_tell(io_world *world, uint32_t tag)
{
    assert_int_equal(axo_system_send(world->system, world->actor, tag, NULL, 0), AXO_OK);
}

static inline void io_do(io_world *world, io_act act)
{
    world->act = act;
    io_tell(world, IO_DO);
    io_run(world);
}

static inline void io_put(io_world *world, const char *text)
{
    assert_int_equal(write(world->fds[1], text, strlen(text)), strlen(text));
}

/* ---- what a handler of readiness does ---- */

static inline void io_read_one(io_world *world, axo_ctx *ctx, const axo_message *message)
{
    ssize_t got = read(world->fds[0], world->got + world->got_count, 1);
    if (got > 0)
        world->got_count += (uint32_t)got;
}

static inline void io_read_all(io_world *world, axo_ctx *ctx, const axo_message *message)
{
    ssize_t got;
    while ((got = read(world->fds[0], world->got + world->got_count, 3)) > 0)
        world->got_count += (uint32_t)got;
    if (got < 0 && errno == EAGAIN)
        world->status = axo_io_blocked(ctx, world->fds[0], AXO_IO_IN);
}

static inline void io_unwatch(io_world *world, axo_ctx *ctx, const axo_message *message)
{
    world->status = axo_io_unwatch(ctx, world->fds[0]);
}

static inline void io_want_in(io_world *world, axo_ctx *ctx, const axo_message *message)
{
    world->status = axo_io_want(ctx, world->fds[0], AXO_IO_IN);
}

#endif
