/* router_world.h - routers on the test kit's clock: routees that count and answer, and a probe. */
#ifndef AXO_TEST_ROUTER_WORLD_H
#define AXO_TEST_ROUTER_WORLD_H

#include <stdbool.h>
#include <string.h>

#include <axo/axo.h>

#include "support/cmocka.h"

#define MS INT64_C(1000000)
#define ROUTEES_SEEN 128

enum { ASK = 1, ANSWER = 2, TELL = 3, FAIL = 4 };

/* A payload: a key. */
typedef struct parcel {
    uint64_t key;
} parcel;

typedef struct world {
    axo_testkit *kit;
    axo_system *system;
    axo_probe *probe;
    axo_router settings;
    axo_ref router;
    axo_ref all[ROUTEES_SEEN]; /* as world_list found them */
    uint32_t count;
    uint64_t told;             /* messages TELL, by all */
    uint64_t freed;            /* payloads that were handed over */
} world;

static inline axo_status routee_construct(axo_ctx *ctx, void *state, const void *args)
{
    memcpy(state, args, sizeof(world *));
    return AXO_OK;
}

static inline axo_status routee_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    world *w = *(world *const *)state;
    if (message->tag == ASK)
        (void)axo_reply(ctx, message, ANSWER, message->payload, message->size);
    else if (message->tag == TELL)
        w->told++;
    else if (message->tag == FAIL)
        return axo_fail(ctx, 7, "as told");
    else
        return AXO_UNHANDLED;
    return AXO_OK;
}

static const axo_class routee_class =
    AXO_CLASS(.name = "routee", .state_size = sizeof(world *), .construct = routee_construct,
              .receive = routee_receive);

static inline axo_props routee_props(world *const *where)
{
    return (axo_props)AXO_PROPS(.cls = &routee_class, .args = where, .args_size = sizeof *where);
}

static inline uint64_t world_key(const axo_message *message, void *user)
{
    return AXO_PAYLOAD(message, parcel)->key;
}

static inline void world_start(world *w, const axo_options *options)
{
    memset(w, 0, sizeof *w);
    assert_int_equal(axo_testkit_start(options, &w->kit), AXO_OK);
    w->system = axo_testkit_system(w->kit);
    w->probe = axo_probe_new(w->kit, "probe");
    assert_non_null(w->probe);
}

static inline void world_stop(world *w)
{
    axo_status status = axo_testkit_stop(w->kit);
    if (status != AXO_OK)
        fail_msg("%s", axo_testkit_why(w->kit));
}

/* Waits for the one message that must come next. */
static inline const axo_message *world_expect(world *w, uint32_t tag, int64_t within_ns)
{
    const axo_message *message = axo_probe_expect(w->probe, tag, within_ns);
    if (message == NULL)
        fail_msg("%s", axo_testkit_why(w->kit));
    return message;
}

static inline uint32_t world_list(world *w)
{
    assert_int_equal(axo_probe_send(w->probe, w->router, AXO_ROUTER_GET_ROUTEES, NULL, 0),
                     AXO_OK);
    const axo_message *message = world_expect(w, AXO_ROUTER_ROUTEES, 0);
    w->count = message->size / (uint32_t)sizeof(axo_ref);
    assert_true(w->count <= ROUTEES_SEEN);
    if (w->count > 0)
        memcpy(w->all, message->payload, message->size);
    return w->count;
}

static inline void world_route(world *w)
{
    axo_props props;
    assert_int_equal(axo_router_props(&w->settings, "router", &props), AXO_OK);
    assert_int_equal(axo_system_spawn(w->system, &props, &w->router), AXO_OK);
    (void)world_list(w);
}

/* A pool of routees; the recipe must outlive it. */
static inline void world_pool(world *w, axo_props *child, world *const *where, uint32_t size)
{
    *child = routee_props(where);
    w->settings.size = sizeof w->settings;
    w->settings.child = child;
    w->settings.pool = size;
    world_route(w);
}

/* A group of the first `given` of w->all, which are spawned. */
static inline void world_group(world *w, world *const *where, axo_ref *refs, uint32_t given)
{
    axo_props props = routee_props(where);
    for (uint32_t i = 0; i < given; i++)
        assert_int_equal(axo_system_spawn(w->system, &props, &refs[i]), AXO_OK);
    w->settings.size = sizeof w->settings;
    w->settings.routees = given > 0 ? refs : NULL;
    w->settings.routees_count = given;
    world_route(w);
}

static inline void world_send(world *w, axo_ref to, uint32_t tag, const void *payload, size_t size)
{
    assert_int_equal(axo_probe_send(w->probe, to, tag, payload, size), AXO_OK);
    (void)axo_testkit_run(w->kit);
}

/* Who answers a message with this key. */
static inline axo_ref world_who(world *w, uint64_t key)
{
    parcel sent = {key};
    assert_int_equal(axo_probe_send(w->probe, w->router, ASK, &sent, sizeof sent), AXO_OK);
    const axo_message *message = world_expect(w, ANSWER, 0);
    assert_int_equal(AXO_PAYLOAD(message, parcel)->key, key);
    return message->sender;
}

static inline uint32_t world_index(const world *w, axo_ref ref)
{
    uint32_t i = 0;
    while (i < w->count && !axo_ref_equal(w->all[i], ref))
        i++;
    return i;
}

/* The latest dead letter is one that was dropped, for this reason. */
static inline void world_dropped(world *w, uint32_t tag, axo_ref recipient, const char *why)
{
    axo_dead_record record;
    assert_int_equal(axo_system_dead_letters(w->system, &record, 1, NULL), 1);
    assert_int_equal(record.tag, tag);
    assert_int_equal(record.reason, AXO_DEAD_DROPPED);
    assert_true(axo_ref_equal(record.recipient, recipient));
    assert_string_equal(record.text, why);
}

#endif
