/* remote_world.h - three systems in one program, and a carrier that hands each call over at once,
 * or refuses it. */
#ifndef TEST_API_REMOTE_WORLD_H
#define TEST_API_REMOTE_WORLD_H

#include <stdio.h>
#include <string.h>

#include <axo/axo.h>

#include "support/cmocka.h"

enum { R_TAG = 7, R_SEND, R_WATCH, R_UNWATCH, R_STOP, R_POISON, R_KILL, R_OWNED, R_EVERY, R_OWN };

#define R_NODES 3

typedef struct r_world r_world;

typedef struct r_node {
    r_world *world;
    uint32_t index;
    axo_system *system;
    axo_node is;
    uint32_t peer[R_NODES]; /* the others' numbers */
    axo_status refuses;     /* what the carrier says; AXO_OK: it carries */
    bool strays_taken;
    uint32_t strays;
    uint32_t asked, watches, unwatches, ended, lost, letters, overflows;
} r_node;

typedef struct r_actor {
    r_node *node;
    axo_ref ref;
    axo_ref to;          /* of what it is told to do */
    axo_status status;
    uint32_t got, ends, lost, known, freed, order;
    uint32_t tag, size;
    axo_ref from, ended;
    char payload[16];
    bool last_is_an_end;
} r_actor;

struct r_world {
    r_node node[R_NODES];
    r_actor actor[R_NODES][4];
};

/* ---- the carrier ---- */

/* The reference as another node knows it. */
static inline axo_ref r_carry_ref(r_node *from, const r_node *to, axo_ref ref)
{
    axo_node node;
    uint64_t bits;
    if (axo_ref_is_none(ref))
        return ref;
    assert_int_equal(axo_remote_leave(from->system, ref, &node, &bits), AXO_OK);
    return axo_remote_enter(to->system, &node, bits);
}

static inline r_node *r_other(r_node *from, axo_ref to)
{
    for (uint32_t i = 0; i < R_NODES; i++) {
        if (from->peer[i] != 0 && from->peer[i] == axo_ref_node(to))
            return &from->world->node[i];
    }
    return NULL;
}

static inline axo_status r_send(void *user, axo_ref to, const axo_message *message)
{
    r_node *me = user;
    r_node *other = r_other(me, to);
    me->asked++;
    if (me->refuses != AXO_OK || other == NULL || other->system == NULL)
        return me->refuses != AXO_OK ? me->refuses : AXO_EGONE;
    axo_remote_message m = AXO_REMOTE_MESSAGE(.to = r_carry_ref(me, other, to),
                                              .from = r_carry_ref(me, other, message->sender),
                                              .tag = message->tag, .payload = message->payload,
                                              .payload_size = message->size);
    return axo_remote_deliver(other->system, other->peer[me->index], &m);
}

static inline axo_status r_poison(void *user, axo_ref to, axo_ref from)
{
    r_node *me = user;
    r_node *other = r_other(me, to);
    return axo_remote_poison(other->system, other->peer[me->index], r_carry_ref(me, other, to),
                             r_carry_ref(me, other, from));
}

static inline axo_status r_kill(void *user, axo_ref to, axo_ref from)
{
    r_node *me = user;
    r_node *other = r_other(me, to);
    return axo_remote_kill(other->system, other->peer[me->index], r_carry_ref(me, other, to),
                           r_carry_ref(me, other, from));
}

static inline axo_status r_stop(void *user, axo_ref to)
{
    r_node *me = user;
    r_node *other = r_other(me, to);
    return axo_remote_stop(other->system, other->peer[me->index], r_carry_ref(me, other, to));
}

static inline void r_watch(void *user, axo_ref target)
{
    r_node *me = user;
    r_node *other = r_other(me, target);
    me->watches++;
    if (other != NULL && other->system != NULL)
        assert_int_equal(axo_remote_watch(other->system, other->peer[me->index],
                                          r_carry_ref(me, other, target)),
                         AXO_OK);
}

static inline void r_unwatch(void *user, axo_ref target)
{
    r_node *me = user;
    r_node *other = r_other(me, target);
    me->unwatches++;
    if (other != NULL && other->system != NULL)
        assert_int_equal(axo_remote_unwatch(other->system, other->peer[me->index],
                                            r_carry_ref(me, other, target)),
                         AXO_OK);
}

static inline void r_ended(void *user, uint32_t number, const axo_terminated *end)
{
    r_node *me = user;
    r_node *other = r_other(me, (axo_ref){.bits = (uint64_t)number << 56 | 1});
    axo_terminated there = *end;
    me->ended++;
    if (other->system == NULL)
        return;
    there.actor = r_carry_ref(me, other, end->actor);
    axo_status status = axo_remote_terminated(other->system, other->peer[me->index], &there);
    assert_true(status == AXO_OK || status == AXO_EGONE);
}

static inline axo_status r_stray(void *user, axo_ref to, const axo_message *message)
{
    r_node *me = user;
    me->strays++;
    return me->strays_taken ? AXO_OK : AXO_EFULL;
}

static inline void r_lost(void *user, uint32_t number)
{
    r_node *me = user;
    assert_int_not_equal(number, 0);
    me->lost++;
}

static inline void r_letter(void *user, const axo_dead_letter *letter)
{
    r_node *me = user;
    me->letters++;
    me->overflows += letter->reason == AXO_DEAD_OVERFLOW;
}

/* ---- actors ---- */


static inline void r_free(void *payload, void *user)
{
    ((r_actor *)user)->freed++;
}

static inline axo_status r_do(axo_ctx *ctx, r_actor *me, uint32_t tag)
{
    axo_timer timer;
    switch (tag) {
    case R_SEND:
        return axo_send(ctx, me->to, R_TAG, "hello", 6);
    case R_WATCH:
        return axo_watch(ctx, me->to);
    case R_OWN:
        return axo_watch_with(ctx, me->to, R_TAG, "mine", 5);
    case R_UNWATCH:
        return axo_unwatch(ctx, me->to);
    case R_STOP:
        return axo_stop(ctx, me->to);
    case R_POISON:
        return axo_poison(ctx, me->to);
    case R_KILL:
        return axo_kill(ctx, me->to);
    case R_OWNED:
        return axo_send_owned(ctx, me->to, R_TAG, me, 8, r_free, me);
    case R_EVERY:
        return axo_schedule_fixed_delay(ctx, 1000000, 1000000, me->to, R_TAG, NULL, 0, &timer);
    default:
        return AXO_EINVAL;
    }
}

static inline axo_status r_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    r_actor *me = *(r_actor **)state;
    me->last_is_an_end = message->tag == AXO_TERMINATED;
    if (message->tag == AXO_TERMINATED) {
        const axo_terminated *end = AXO_PAYLOAD(message, axo_terminated);
        me->ends++;
        me->lost += end->address_terminated;
        me->known += end->existence_known;
        me->ended = end->actor;
        return AXO_OK;
    }
    if (message->tag != R_TAG) {
        me->status = r_do(ctx, me, message->tag);
        return AXO_OK;
    }
    me->got++;
    me->from = message->sender;
    me->size = message->size;
    if (message->size > 0 && message->size <= sizeof me->payload)
        memcpy(me->payload, message->payload, message->size);
    return AXO_OK;
}

static inline axo_status r_begin(axo_ctx *ctx, void *state, const void *args)
{
    *(r_actor **)state = (r_actor *)(uintptr_t)args;
    return AXO_OK;
}

static const axo_class r_class = AXO_CLASS(.name = "r", .state_size = sizeof(r_actor *),
                                           .construct = r_begin, .receive = r_receive);

/* ---- the world ---- */

static inline void r_run(r_world *w)
{
    for (uint32_t i = 0; i < 40 * R_NODES; i++) {
        r_node *node = &w->node[i % R_NODES];
        if (node->system != NULL)
            assert_int_equal(axo_run_host(node->system, -1, NULL), AXO_OK);
    }
}

static inline axo_remote r_table(const r_node *node)
{
    return (axo_remote)AXO_REMOTE(.here = node->is, .send = r_send, .poison = r_poison,
                                  .kill = r_kill, .stop = r_stop, .watch = r_watch,
                                  .unwatch = r_unwatch, .terminated = r_ended, .lost = r_lost);
}

static inline void r_boot(r_node *node)
{
    axo_remote remote = r_table(node);
    axo_options options = AXO_OPTIONS(.manual = AXO_MANUAL_ALL, .remote = &remote,
                                      .remote_user = node, .on_dead_letter = r_letter,
                                      .dead_letter_user = node);
    assert_int_equal(axo_system_start(&options, &node->system), AXO_OK);
    for (uint32_t i = 0; i < 4; i++) {
        r_actor *actor = &node->world->actor[node->index][i];
        axo_props props = AXO_PROPS(.cls = &r_class, .args = actor);
        memset(actor, 0, sizeof *actor);
        actor->node = node;
        assert_int_equal(axo_system_spawn(node->system, &props, &actor->ref), AXO_OK);
    }
}

static inline void r_join(r_world *w, uint32_t one, uint32_t other)
{
    assert_int_equal(axo_remote_add(w->node[one].system, &w->node[other].is,
                                    &w->node[one].peer[other]),
                     AXO_OK);
    assert_int_equal(axo_remote_add(w->node[other].system, &w->node[one].is,
                                    &w->node[other].peer[one]),
                     AXO_OK);
}

static inline void r_start(r_world *w)
{
    memset(w, 0, sizeof *w);
    for (uint32_t i = 0; i < R_NODES; i++) {
        r_node *node = &w->node[i];
        *node = (r_node){.world = w, .index = i, .is = {.incarnation = 1 + i}};
        (void)snprintf(node->is.name, sizeof node->is.name, "node-%u", i);
        r_boot(node);
    }
    r_join(w, 0, 1);
    r_run(w);
}

static inline void r_halt(r_node *node)
{
    axo_stats stats = AXO_STATS();
    assert_int_equal(axo_system_stop(node->system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_stats(node->system, &stats), AXO_OK);
    assert_int_equal(stats.sent, stats.handled + stats.dead + stats.dropped);
    assert_int_equal(axo_system_destroy(node->system), AXO_OK);
    node->system = NULL;
}

static inline void r_end(r_world *w)
{
    for (uint32_t i = 0; i < R_NODES; i++) {
        if (w->node[i].system != NULL)
            r_halt(&w->node[i]);
    }
}

/* The reference of the other node's actor, here. */
static inline axo_ref r_far(r_world *w, uint32_t here, uint32_t there, uint32_t index)
{
    return r_carry_ref(&w->node[there], &w->node[here], w->actor[there][index].ref);
}

/* Has the actor do something with a reference. */
static inline axo_status r_tell(r_world *w, r_actor *actor, uint32_t tag, axo_ref to)
{
    actor->to = to;
    assert_int_equal(axo_system_send(actor->node->system, actor->ref, tag, NULL, 0), AXO_OK);
    r_run(w);
    return actor->status;
}

#endif
