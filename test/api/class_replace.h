/* class_replace.h - actors of a class that is replaced, and what they have done. */
#ifndef TEST_API_CLASS_REPLACE_H
#define TEST_API_CLASS_REPLACE_H

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "support/cmocka.h"

#include <axo/axo.h>
#include <axo/world.h>

enum { ADD = 1, FALL, BREAK, BECOME, STASH, BACK, TICK, OWN, WAIT, MAKE, SETTLE, CALL };

#define MS INT64_C(1000000)
#define SECOND INT64_C(1000000000)

typedef struct world {
    axo_system *system;
    int64_t now;
    uint32_t begun[3]; /* by version; 0 is not used */
    uint32_t handled[3];
    uint32_t restarted[3]; /* pre_restart of this version has run */
    uint32_t settled[3];
    uint32_t migrated;
    uint32_t cleaned;
    uint32_t order[64]; /* what was added, by whoever */
    uint32_t order_count;
    int32_t site; /* of the last failure that was decided about */
    uint32_t begin_fails;   /* of version 1 */
    uint32_t migrate_fails; /* so many more */
    bool migrate_crashes;
    bool refuses; /* no memory for states */
    axo_status status;
    _Atomic uint32_t waiting;
    _Atomic uint32_t go;
    axo_ref born;
} world;

static world *the;

/* The two have their numbers at other places, and are of other sizes. */
typedef struct old_state {
    uint32_t sum;
    void *block;
} old_state;

typedef struct new_state {
    char more[5000];
    void *block;
    uint32_t sum;
} new_state;

static const axo_class old_class;
static const axo_class new_class;
static const axo_class like_class;

static inline void thing_clean(void *arg)
{
    ((world *)arg)->cleaned++;
}

static inline axo_status thing_wait(void)
{
    atomic_store(&the->waiting, 1);
    while (atomic_load(&the->go) == 0)
        (void)sched_yield();
    return AXO_OK;
}

static inline axo_status thing_own(axo_ctx *ctx, void **block)
{
    *block = axo_alloc(ctx, 100);
    if (*block == NULL)
        return AXO_ENOMEM;
    memset(*block, 42, 100);
    return axo_defer(ctx, thing_clean, the);
}

/* What does not depend on the state's form. */
static inline axo_status thing_handle(axo_ctx *ctx, uint32_t version, uint32_t *sum, void **block,
                               const axo_message *message)
{
    axo_props props = AXO_PROPS(.cls = &old_class);
    the->handled[version]++;
    switch (message->tag) {
    case ADD:
        *sum += *AXO_PAYLOAD(message, uint32_t);
        the->order[the->order_count++] = *sum;
        return AXO_OK;
    case FALL:
        return axo_fail(ctx, 7, "it falls");
    case BREAK:
        return axo_fail_as(ctx, AXO_FAILURE_CRASH, 8, "it breaks");
    case STASH:
        return axo_stash(ctx);
    case BACK:
        return axo_unstash_all(ctx);
    case TICK:
        return axo_timer_start(ctx, 5, AXO_TIMER_ONCE, 30 * MS, 0, ADD, sum, sizeof *sum);
    case OWN:
        return thing_own(ctx, block);
    case WAIT:
        return thing_wait();
    case MAKE:
        return axo_spawn(ctx, &props, &the->born);
    case SETTLE:
        return axo_want_settle(ctx);
    case CALL: {
        const axo_replacement what = AXO_REPLACEMENT(.from = &old_class, .to = &new_class);
        the->status = axo_class_replace(the->system, &what, 0);
        return AXO_OK;
    }
    default:
        return AXO_UNHANDLED;
    }
}

static inline axo_status old_construct(axo_ctx *ctx, void *state, const void *args)
{
    old_state *me = state;
    the->begun[1]++;
    me->sum = args != NULL ? *(const uint32_t *)args : 0;
    if (the->begin_fails == 0)
        return AXO_OK;
    the->begin_fails--;
    return axo_fail(ctx, 9, "it does not begin");
}

static inline axo_status old_later(axo_ctx *ctx, void *state, const axo_message *message)
{
    old_state *me = state;
    if (message->tag == ADD)
        me->sum += 1000;
    return thing_handle(ctx, 1, &me->sum, &me->block, message);
}

static inline axo_status old_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    old_state *me = state;
    if (message->tag == BECOME)
        return axo_become(ctx, old_later);
    return thing_handle(ctx, 1, &me->sum, &me->block, message);
}

static inline axo_status old_pre_restart(axo_ctx *ctx, void *state, const axo_failure *failure,
                                  const axo_message *message)
{
    the->restarted[1]++;
    return axo_default_pre_restart(ctx, state, failure, message);
}

static inline axo_status old_settle(axo_ctx *ctx, void *state)
{
    the->settled[1]++;
    return AXO_OK;
}

static const axo_class old_class =
    AXO_CLASS(.name = "old", .state_size = sizeof(old_state), .construct = old_construct,
              .receive = old_receive, .pre_restart = old_pre_restart, .settle = old_settle);

static inline axo_status new_construct(axo_ctx *ctx, void *state, const void *args)
{
    new_state *me = state;
    the->begun[2]++;
    assert_int_equal(me->more[4999], 0);
    me->sum = args != NULL ? *(const uint32_t *)args : 0;
    return AXO_OK;
}

static inline axo_status new_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    new_state *me = state;
    return thing_handle(ctx, 2, &me->sum, &me->block, message);
}

static inline axo_status new_pre_restart(axo_ctx *ctx, void *state, const axo_failure *failure,
                                  const axo_message *message)
{
    the->restarted[2]++;
    assert_true(failure->code == 7 || failure->code == AXO_ENOMEM);
    assert_non_null(message);
    return axo_default_pre_restart(ctx, state, failure, message);
}

static const axo_class new_class =
    AXO_CLASS(.name = "new", .state_size = sizeof(new_state), .construct = new_construct,
              .receive = new_receive, .pre_restart = new_pre_restart);

static inline axo_status new_migrate(axo_ctx *ctx, void *state, void *old, void *user)
{
    new_state *me = state;
    const old_state *it = old;
    assert_ptr_equal(user, the);
    for (size_t i = 0; i < sizeof *me; i++)
        assert_int_equal(((const char *)state)[i], 0);
    the->migrated++;
    if (the->migrate_fails > 0) {
        the->migrate_fails--;
        if (the->migrate_crashes)
            axo_throw(ctx, 11, "thrown");
        return axo_fail(ctx, 10, "not this one");
    }
    me->sum = it->sum;
    me->block = it->block;
    return AXO_OK;
}

/* As the old one, and the same state. */
static inline axo_status like_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    old_state *me = state;
    return thing_handle(ctx, 2, &me->sum, &me->block, message);
}

static inline axo_status like_settle(axo_ctx *ctx, void *state)
{
    the->settled[2]++;
    return AXO_OK;
}

static const axo_class like_class = AXO_CLASS(.name = "like", .state_size = sizeof(old_state),
                                              .receive = like_receive, .settle = like_settle);

/* ---- a world ---- */

static inline int64_t world_clock(void *user)
{
    return ((world *)user)->now;
}

/* States of the new class, and what is as large. */
static inline void *world_alloc(void *user, size_t size, size_t align)
{
    const world *w = user;
    if (w->refuses && size > sizeof(new_state))
        return NULL;
    return align > sizeof(void *) * 2 ? aligned_alloc(align, (size + align - 1) / align * align)
                                      : malloc(size);
}

static inline void world_free(void *user, void *block, size_t size, size_t align)
{
    free(block);
}

static inline void world_begin(world *w, axo_options options)
{
    memset(w, 0, sizeof *w);
    the = w;
    if (options.workers == 0)
        options.manual = AXO_MANUAL_ALL;
    options.clock = world_clock;
    options.clock_user = w;
    options.allocator = (axo_allocator){.alloc = world_alloc, .free = world_free, .user = w};
    assert_int_equal(axo_system_start(&options, &w->system), AXO_OK);
}

static inline void world_end(world *w)
{
    assert_int_equal(axo_system_stop(w->system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(w->system), AXO_OK);
}

static inline void world_run(const world *w)
{
    assert_int_equal(axo_run_host(w->system, -1, NULL), AXO_OK);
}

static inline axo_directive world_decide(axo_ctx *ctx, void *state, const axo_failure *failure,
                                         void *user)
{
    the->site = (int32_t)failure->site;
    return AXO_RESTART;
}

static const axo_backoff world_backoff =
    AXO_BACKOFF(.min_ns = 10 * SECOND, .max_ns = 10 * SECOND);
static const axo_strategy world_strategy = AXO_STRATEGY(.decider = world_decide);
static const axo_strategy world_late = AXO_STRATEGY(.decider = world_decide,
                                                    .backoff = &world_backoff);

static inline axo_status parent_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    uint32_t sum = 5;
    axo_props props = AXO_PROPS(.cls = &old_class, .args = &sum, .args_size = sizeof sum);
    return axo_spawn(ctx, &props, &the->born);
}

static const axo_class parent_class = AXO_CLASS(.name = "parent", .receive = parent_receive);

/* A parent with a strategy, and one of the old class below it, that begins with 5. */
static inline axo_ref world_parent(world *w, const axo_strategy *strategy)
{
    axo_ref parent;
    axo_props props = AXO_PROPS(.cls = &parent_class, .strategy = strategy);
    assert_int_equal(axo_system_spawn(w->system, &props, &parent), AXO_OK);
    assert_int_equal(axo_system_send(w->system, parent, MAKE, NULL, 0), AXO_OK);
    world_run(w);
    return parent;
}

static inline axo_ref world_below(world *w, const axo_strategy *strategy)
{
    (void)world_parent(w, strategy);
    return w->born;
}

static inline axo_ref world_spawn(world *w)
{
    uint32_t sum = 5;
    axo_ref out;
    axo_props props = AXO_PROPS(.cls = &old_class, .args = &sum, .args_size = sizeof sum);
    assert_int_equal(axo_system_spawn(w->system, &props, &out), AXO_OK);
    return out;
}

static inline void world_send(world *w, axo_ref to, uint32_t tag, uint32_t what)
{
    assert_int_equal(axo_system_send(w->system, to, tag, &what, sizeof what), AXO_OK);
}

static inline axo_status world_replace(world *w, const axo_class *to, int64_t timeout_ns)
{
    const axo_replacement what = AXO_REPLACEMENT(
        .from = &old_class, .to = to, .migrate = to == &new_class ? new_migrate : NULL, .user = w);
    return axo_class_replace(w->system, &what, timeout_ns);
}

static inline void world_replaced(world *w)
{
    assert_int_equal(world_replace(w, &new_class, 60 * SECOND), AXO_OK);
}

/* The actor answers as one of the class with this number, and has the sum, with 1 more. */
static inline void world_has(world *w, axo_ref actor, uint32_t version, uint32_t sum)
{
    uint32_t before = w->handled[version];
    world_send(w, actor, ADD, 1);
    world_run(w);
    assert_int_equal(w->handled[version], before + 1);
    assert_int_equal(w->order[w->order_count - 1], sum + 1);
}

static inline bool world_is(world *w, axo_ref actor, const char *name)
{
    axo_actor_info info = AXO_ACTOR_INFO();
    assert_int_equal(axo_system_inspect(w->system, actor, axo_ref_none(), &info), AXO_OK);
    return strcmp(info.class_name, name) == 0;
}

#endif
