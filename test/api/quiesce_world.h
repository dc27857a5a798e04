/* quiesce_world.h - actors whose work is known beforehand, and what has been done of it. */
#ifndef AXO_TEST_QUIESCE_WORLD_H
#define AXO_TEST_QUIESCE_WORLD_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>

#include <axo/axo.h>

#include "support/cmocka.h"

enum { NOTE = 1, HOP, CRASH, FAMILY, BLOCK, SPIN, ASIDE, BACK, LATER, ASK, TELL, BEAR, END };
#define QUIET_MS INT64_C(1000000)

typedef struct quiet_world {
    axo_system *system;
    axo_ref other; /* whom TELL and END are for */
    sem_t inside;
    sem_t go_on;
    _Atomic uint32_t notes;
    _Atomic uint32_t hops;
    _Atomic uint32_t born;
    _Atomic uint32_t ended;
    _Atomic bool spin;
    _Atomic int64_t now; /* of a clock of the program's */
    axo_status status;
} quiet_world;

/* To whom a hop goes next, how many are left, and whether the one behind it fails. */
typedef struct quiet_hop {
    axo_ref to[2];
    uint32_t left;
    uint32_t fails;
} quiet_hop;

static const axo_class quiet_class;

static void quiet_block(void *arg)
{
    quiet_world *w = arg;
    w->status = axo_system_quiesce(w->system, -1); /* it would wait for itself */
    (void)sem_post(&w->inside);
    while (sem_wait(&w->go_on) != 0)
        continue;
}

static axo_status quiet_hop_on(axo_ctx *ctx, quiet_world *w, const axo_message *message)
{
    quiet_hop hop = *AXO_PAYLOAD(message, quiet_hop);
    w->hops++;
    if (hop.left == 0)
        return AXO_OK;
    hop.left--;
    axo_status status = axo_send(ctx, hop.to[hop.left % 2], HOP, &hop, sizeof hop);
    return hop.fails != 0 && hop.left % hop.fails == 0 ? axo_fail(ctx, 1, "now and then") : status;
}

/* So many children, each of which has as many less one. */
static axo_status quiet_family(axo_ctx *ctx, quiet_world *w, const axo_message *message)
{
    uint32_t count = *AXO_PAYLOAD(message, uint32_t);
    for (uint32_t i = 0; i < count; i++) {
        axo_ref child;
        uint32_t less = count - 1;
        axo_props props = AXO_PROPS(.cls = &quiet_class, .args = &w, .args_size = sizeof w);
        axo_status status = axo_spawn(ctx, &props, &child);
        if (status == AXO_OK)
            status = axo_send(ctx, child, FAMILY, &less, sizeof less);
        if (status != AXO_OK)
            return status;
    }
    return AXO_OK;
}

static axo_status quiet_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    quiet_world *w = *(quiet_world **)state;
    switch (message->tag) {
    case NOTE:
        w->notes++;
        return AXO_OK;
    case HOP:
        return quiet_hop_on(ctx, w, message);
    case CRASH:
        w->notes++;
        return axo_fail(ctx, 1, "told to");
    case FAMILY:
        return quiet_family(ctx, w, message);
    case BLOCK:
        return axo_block(ctx, quiet_block, w);
    case SPIN:
        return w->spin ? axo_send(ctx, axo_self(ctx), SPIN, NULL, 0) : AXO_OK;
    case ASIDE:
        return axo_stash(ctx);
    case BACK:
        return axo_unstash_all(ctx);
    case LATER:
        return axo_timer_start(ctx, 1, AXO_TIMER_ONCE, *AXO_PAYLOAD(message, int64_t), 0, NOTE,
                               NULL, 0);
    case TELL:
        return axo_send(ctx, w->other, NOTE, NULL, 0);
    case BEAR:
        return quiet_family(ctx, w, message);
    case END:
        return axo_stop(ctx, w->other);
    case ASK:
        w->status = axo_system_quiesce(w->system, -1);
        return AXO_OK;
    default:
        return AXO_UNHANDLED;
    }
}

static axo_status quiet_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    memcpy(state, args, sizeof(quiet_world *));
    (*(quiet_world **)state)->born++;
    return AXO_OK;
}

static axo_status quiet_end(axo_ctx *ctx, void *state)
{
    (void)ctx;
    (*(quiet_world **)state)->ended++;
    return AXO_OK;
}

static const axo_class quiet_class =
    AXO_CLASS(.name = "quiet", .state_size = sizeof(quiet_world *), .construct = quiet_construct,
              .receive = quiet_receive, .post_stop = quiet_end);

static axo_ref quiet_spawn(quiet_world *w, axo_dispatcher dispatcher)
{
    axo_ref ref;
    axo_props props = AXO_PROPS(.cls = &quiet_class, .args = &w, .args_size = sizeof w,
                                .dispatcher = dispatcher);
    assert_int_equal(axo_system_spawn(w->system, &props, &ref), AXO_OK);
    return ref;
}

static void quiet_tell(const quiet_world *w, axo_ref to, uint32_t tag)
{
    assert_int_equal(axo_system_send(w->system, to, tag, NULL, 0), AXO_OK);
}

/* A message goes to and fro between two. */
static void quiet_hops(const quiet_world *w, axo_ref a, axo_ref b, uint32_t count, uint32_t fails)
{
    quiet_hop hop = {.to = {a, b}, .left = count, .fails = fails};
    assert_int_equal(axo_system_send(w->system, a, HOP, &hop, sizeof hop), AXO_OK);
}

static void quiet_begin(quiet_world *w, axo_options options)
{
    memset(w, 0, sizeof *w);
    assert_int_equal(sem_init(&w->inside, 0, 0), 0);
    assert_int_equal(sem_init(&w->go_on, 0, 0), 0);
    if (options.seed == 0)
        options.seed = 5;
    assert_int_equal(axo_system_start(&options, &w->system), AXO_OK);
}

static void quiet_finish(quiet_world *w)
{
    axo_stats stats = AXO_STATS();
    assert_int_equal(axo_system_stop(w->system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_stats(w->system, &stats), AXO_OK);
    assert_int_equal(stats.sent, stats.handled + stats.dead + stats.dropped);
    assert_int_equal(axo_system_quiesce(w->system, -1), AXO_OK); /* an ended one rests */
    assert_int_equal(axo_system_destroy(w->system), AXO_OK);
    (void)sem_destroy(&w->inside);
    (void)sem_destroy(&w->go_on);
}

static void quiet_await(sem_t *semaphore)
{
    while (sem_wait(semaphore) != 0)
        continue;
}

/* AXO_OK is the truth: all that was sent has been seen to. */
static void quiet_is_so(const quiet_world *w)
{
    axo_stats stats = AXO_STATS();
    assert_int_equal(axo_system_quiesce(w->system, -1), AXO_OK);
    assert_int_equal(axo_system_stats(w->system, &stats), AXO_OK);
    assert_int_equal(stats.sent, stats.handled + stats.dead + stats.dropped);
}

#endif
