/* router_parts.h - what the tests of routers share: a router of puppets, and who answers. */
#ifndef AXO_TEST_ROUTER_PARTS_H
#define AXO_TEST_ROUTER_PARTS_H

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "conformance/parts.h"

#define RO_FOREVER (KIT_DEADLINE_S * INT64_C(1000000000))
#define RO_MANY 64

typedef struct ro {
    kit *k;
    kit_script *r;        /* every routee of a pool */
    axo_props child;
    axo_router settings;
    axo_ref router;
    axo_ref all[RO_MANY]; /* as ro_list found them */
    uint32_t count;
} ro;

static inline uint64_t ro_key(const axo_message *message, void *user)
{
    return (uint64_t)AXO_PAYLOAD(message, kit_payload)->value;
}

static inline ro *ro_new(void **state, axo_router_logic logic, uint32_t pool)
{
    kit *k = kit_start(state, NULL);
    ro *t = kit_alloc(k, sizeof *t);
    t->k = k;
    t->r = kit_actor(k, "r");
    t->r->name = "";
    t->child = kit_props(t->r);
    t->settings = (axo_router)AXO_ROUTER(.logic = logic, .pool = pool);
    t->settings.child = pool > 0 ? &t->child : NULL;
    t->settings.hash_key = logic == AXO_ROUTE_HASH ? ro_key : NULL;
    t->settings.within_ns = logic == AXO_ROUTE_GATHER_FIRST ? RO_FOREVER : 0;
    return t;
}

static inline axo_status ro_spawn_in(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    ro *t = arg;
    axo_props props;
    axo_status status = axo_router_props(&t->settings, "router", &props);
    return status == AXO_OK ? axo_spawn(ctx, &props, &t->router) : status;
}

static inline void ro_ask(ro *t, axo_ref to, uint32_t tag, int64_t value, axo_asked *out)
{
    kit_payload payload = {.value = value};
    bool empty = tag == AXO_ROUTER_GET_ROUTEES;
    assert_int_equal(axo_system_ask(kit_system(t->k), to, tag, empty ? NULL : &payload,
                                    empty ? 0 : sizeof payload, RO_FOREVER, out), AXO_OK);
}

/* Its routees now. */
static inline uint32_t ro_list(ro *t)
{
    axo_asked asked;
    ro_ask(t, t->router, AXO_ROUTER_GET_ROUTEES, 0, &asked);
    assert_int_equal(asked.message.tag, AXO_ROUTER_ROUTEES);
    t->count = asked.message.size / (uint32_t)sizeof(axo_ref);
    assert_true(t->count <= RO_MANY);
    if (t->count > 0)
        memcpy(t->all, asked.message.payload, asked.message.size);
    axo_asked_free(kit_system(t->k), &asked);
    return t->count;
}

/* Waits until it has so many. */
static inline void ro_await_size(ro *t, uint32_t size)
{
    time_t end = time(NULL) + KIT_DEADLINE_S;
    while (ro_list(t) != size)
        assert_true(time(NULL) < end);
}

/* A child of /user. */
static inline void ro_start(ro *t)
{
    axo_props props;
    assert_int_equal(axo_router_props(&t->settings, "router", &props), AXO_OK);
    assert_int_equal(axo_system_spawn(kit_system(t->k), &props, &t->router), AXO_OK);
    (void)ro_list(t);
}

/* A child of the puppet `p`, which decides as its script says. */
static inline kit_script *ro_start_below(ro *t, axo_directive directive)
{
    kit_script *p = kit_actor(t->k, "p");
    p->pre_start.run = ro_spawn_in;
    p->pre_start.arg = t;
    p->directive = directive;
    (void)kit_spawn(t->k, p);
    kit_await(t->k, "p.started");
    (void)ro_list(t);
    return p;
}

/* A group of so many puppets, children of /user. */
static inline void ro_members(ro *t, uint32_t count)
{
    for (t->count = 0; t->count < count; t->count++)
        t->all[t->count] = kit_spawn(t->k, t->r);
    axo_ref *refs = kit_alloc(t->k, count * sizeof *refs);
    memcpy(refs, t->all, count * sizeof *refs);
    t->settings.routees = refs;
    t->settings.routees_count = count;
}

static inline void ro_send(ro *t, axo_ref to, uint32_t tag, int64_t value)
{
    kit_payload payload = {.value = value};
    axo_status status = axo_system_send(kit_system(t->k), to, tag, &payload, sizeof payload);
    assert_true(status == AXO_OK || status == AXO_EGONE);
}

static inline void ro_command(ro *t, uint32_t tag, const void *payload, size_t size)
{
    assert_int_equal(axo_system_send(kit_system(t->k), t->router, tag, payload, size), AXO_OK);
}

static inline void ro_adjust(ro *t, int32_t change)
{
    ro_command(t, AXO_ROUTER_ADJUST, &change, sizeof change);
}

static inline void ro_cast(ro *t, uint32_t tag, int64_t value)
{
    kit_payload payload = {.value = value};
    assert_int_equal(axo_system_router_broadcast(kit_system(t->k), t->router, tag, &payload,
                                                 sizeof payload), AXO_OK);
}

/* Which of t->all answers a ping that goes to `to`; t->count: another. */
static inline uint32_t ro_who_at(ro *t, axo_ref to, int64_t value)
{
    axo_asked asked;
    uint32_t i = 0;
    ro_ask(t, to, KIT_PING, value, &asked);
    assert_int_equal(asked.message.tag, KIT_PONG);
    assert_int_equal(AXO_PAYLOAD(&asked.message, kit_payload)->value, value);
    while (i < t->count && !axo_ref_equal(t->all[i], asked.message.sender))
        i++;
    axo_asked_free(kit_system(t->k), &asked);
    return i;
}

static inline uint32_t ro_who(ro *t, int64_t value)
{
    return ro_who_at(t, t->router, value);
}

static inline void ro_await_end(ro *t)
{
    axo_actor_info info = AXO_ACTOR_INFO(.doing = 0);
    kit_await_count(t->k, "user.child_gone", 1);
    assert_int_equal(axo_system_inspect(kit_system(t->k), t->router, axo_ref_none(), &info),
                     AXO_EGONE);
}

/* The latest dead letter. */
static inline axo_dead_record ro_dead(ro *t)
{
    axo_dead_record record;
    (void)ro_list(t);
    assert_int_equal(axo_system_dead_letters(kit_system(t->k), &record, 1, NULL), 1);
    return record;
}

#endif
