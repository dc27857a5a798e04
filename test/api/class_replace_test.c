/* class_replace_test.c - what an actor is after its class was replaced: its state, its behaviour and
 * all that it has; actors that are suspended, broken, about to begin or to end, and without memory;
 * and calls that change nothing. */
#include <pthread.h>
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

static void thing_clean(void *arg)
{
    ((world *)arg)->cleaned++;
}

static axo_status thing_wait(void)
{
    atomic_store(&the->waiting, 1);
    while (atomic_load(&the->go) == 0)
        (void)sched_yield();
    return AXO_OK;
}

static axo_status thing_own(axo_ctx *ctx, void **block)
{
    *block = axo_alloc(ctx, 100);
    if (*block == NULL)
        return AXO_ENOMEM;
    memset(*block, 42, 100);
    return axo_defer(ctx, thing_clean, the);
}

/* What does not depend on the state's form. */
static axo_status thing_handle(axo_ctx *ctx, uint32_t version, uint32_t *sum, void **block,
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

static axo_status old_construct(axo_ctx *ctx, void *state, const void *args)
{
    old_state *me = state;
    the->begun[1]++;
    me->sum = args != NULL ? *(const uint32_t *)args : 0;
    if (the->begin_fails == 0)
        return AXO_OK;
    the->begin_fails--;
    return axo_fail(ctx, 9, "it does not begin");
}

static axo_status old_later(axo_ctx *ctx, void *state, const axo_message *message)
{
    old_state *me = state;
    if (message->tag == ADD)
        me->sum += 1000;
    return thing_handle(ctx, 1, &me->sum, &me->block, message);
}

static axo_status old_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    old_state *me = state;
    if (message->tag == BECOME)
        return axo_become(ctx, old_later);
    return thing_handle(ctx, 1, &me->sum, &me->block, message);
}

static axo_status old_pre_restart(axo_ctx *ctx, void *state, const axo_failure *failure,
                                  const axo_message *message)
{
    the->restarted[1]++;
    return axo_default_pre_restart(ctx, state, failure, message);
}

static axo_status old_settle(axo_ctx *ctx, void *state)
{
    the->settled[1]++;
    return AXO_OK;
}

static const axo_class old_class =
    AXO_CLASS(.name = "old", .state_size = sizeof(old_state), .construct = old_construct,
              .receive = old_receive, .pre_restart = old_pre_restart, .settle = old_settle);

static axo_status new_construct(axo_ctx *ctx, void *state, const void *args)
{
    new_state *me = state;
    the->begun[2]++;
    assert_int_equal(me->more[4999], 0);
    me->sum = args != NULL ? *(const uint32_t *)args : 0;
    return AXO_OK;
}

static axo_status new_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    new_state *me = state;
    return thing_handle(ctx, 2, &me->sum, &me->block, message);
}

static axo_status new_pre_restart(axo_ctx *ctx, void *state, const axo_failure *failure,
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

static axo_status new_migrate(axo_ctx *ctx, void *state, void *old, void *user)
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
static axo_status like_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    old_state *me = state;
    return thing_handle(ctx, 2, &me->sum, &me->block, message);
}

static axo_status like_settle(axo_ctx *ctx, void *state)
{
    the->settled[2]++;
    return AXO_OK;
}

static const axo_class like_class = AXO_CLASS(.name = "like", .state_size = sizeof(old_state),
                                              .receive = like_receive, .settle = like_settle);

/* ---- a world ---- */

static int64_t world_clock(void *user)
{
    return ((world *)user)->now;
}

/* States of the new class, and what is as large. */
static void *world_alloc(void *user, size_t size, size_t align)
{
    const world *w = user;
    if (w->refuses && size > sizeof(new_state))
        return NULL;
    return align > sizeof(void *) * 2 ? aligned_alloc(align, (size + align - 1) / align * align)
                                      : malloc(size);
}

static void world_free(void *user, void *block, size_t size, size_t align)
{
    free(block);
}

static void world_begin(world *w, axo_options options)
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

static void world_end(world *w)
{
    assert_int_equal(axo_system_stop(w->system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(w->system), AXO_OK);
}

static void world_run(const world *w)
{
    assert_int_equal(axo_run_host(w->system, -1, NULL), AXO_OK);
}

static axo_directive world_decide(axo_ctx *ctx, void *state, const axo_failure *failure, void *user)
{
    the->site = (int32_t)failure->site;
    return AXO_RESTART;
}

static const axo_backoff world_backoff =
    AXO_BACKOFF(.min_ns = 10 * SECOND, .max_ns = 10 * SECOND);
static const axo_strategy world_strategy = AXO_STRATEGY(.decider = world_decide);
static const axo_strategy world_late = AXO_STRATEGY(.decider = world_decide,
                                                    .backoff = &world_backoff);

static axo_status parent_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    uint32_t sum = 5;
    axo_props props = AXO_PROPS(.cls = &old_class, .args = &sum, .args_size = sizeof sum);
    return axo_spawn(ctx, &props, &the->born);
}

static const axo_class parent_class = AXO_CLASS(.name = "parent", .receive = parent_receive);

/* An actor of the old class that begins with 5, below a parent with a strategy. */
static axo_ref world_below(world *w, const axo_strategy *strategy)
{
    axo_ref parent;
    axo_props props = AXO_PROPS(.cls = &parent_class, .strategy = strategy);
    assert_int_equal(axo_system_spawn(w->system, &props, &parent), AXO_OK);
    assert_int_equal(axo_system_send(w->system, parent, MAKE, NULL, 0), AXO_OK);
    world_run(w);
    return w->born;
}

static axo_ref world_spawn(world *w)
{
    uint32_t sum = 5;
    axo_ref out;
    axo_props props = AXO_PROPS(.cls = &old_class, .args = &sum, .args_size = sizeof sum);
    assert_int_equal(axo_system_spawn(w->system, &props, &out), AXO_OK);
    return out;
}

static void world_send(world *w, axo_ref to, uint32_t tag, uint32_t what)
{
    assert_int_equal(axo_system_send(w->system, to, tag, &what, sizeof what), AXO_OK);
}

static axo_status world_replace(world *w, const axo_class *to, int64_t timeout_ns)
{
    const axo_replacement what = AXO_REPLACEMENT(
        .from = &old_class, .to = to, .migrate = to == &new_class ? new_migrate : NULL, .user = w);
    return axo_class_replace(w->system, &what, timeout_ns);
}

static void world_replaced(world *w)
{
    assert_int_equal(world_replace(w, &new_class, 60 * SECOND), AXO_OK);
}

/* The actor answers as one of the class with this number, and has the sum, with 1 more. */
static void world_has(world *w, axo_ref actor, uint32_t version, uint32_t sum)
{
    uint32_t before = w->handled[version];
    world_send(w, actor, ADD, 1);
    world_run(w);
    assert_int_equal(w->handled[version], before + 1);
    assert_int_equal(w->order[w->order_count - 1], sum + 1);
}

static bool world_is(world *w, axo_ref actor, const char *name)
{
    axo_actor_info info = AXO_ACTOR_INFO();
    assert_int_equal(axo_system_inspect(w->system, actor, axo_ref_none(), &info), AXO_OK);
    return strcmp(info.class_name, name) == 0;
}

/* ---- an actor goes on ---- */

static void state_is_carried_over(void **state)
{
    world w;
    world_begin(&w, (axo_options)AXO_OPTIONS());
    axo_ref actor = world_spawn(&w);
    world_send(&w, actor, ADD, 20);
    world_send(&w, actor, BECOME, 0);
    world_send(&w, actor, ADD, 1);
    world_run(&w);
    assert_true(world_is(&w, actor, "old"));
    world_send(&w, actor, ADD, 1); /* waits, and is handled by the old one or the new one */
    world_replaced(&w);
    assert_true(world_is(&w, actor, "new"));
    assert_int_equal(w.migrated, 1);
    assert_int_equal(w.begun[2], 0); /* nothing is constructed */
    world_run(&w);
    uint32_t sum = w.order[w.order_count - 1];
    assert_true(sum == 1027 || sum == 2027);
    world_has(&w, actor, 2, sum);
    world_end(&w);
    assert_int_equal(w.cleaned, 0);
}

static void state_stays_where_it_is(void **state)
{
    world w;
    world_begin(&w, (axo_options)AXO_OPTIONS());
    axo_ref actor = world_spawn(&w);
    world_send(&w, actor, BECOME, 0);
    world_send(&w, actor, ADD, 20);
    world_run(&w);
    assert_int_equal(world_replace(&w, &like_class, -1), AXO_OK);
    assert_true(world_is(&w, actor, "like"));
    world_has(&w, actor, 2, 1025); /* receive of the class, and no behaviour */
    world_end(&w);
}

static void what_it_has_goes_on(void **state)
{
    world w;
    world_begin(&w, (axo_options)AXO_OPTIONS());
    axo_ref actor = world_spawn(&w);
    world_send(&w, actor, OWN, 0);
    world_send(&w, actor, STASH, 0);
    world_send(&w, actor, TICK, 0);
    world_run(&w);
    world_replaced(&w);
    world_run(&w);
    assert_int_equal(w.cleaned, 0);
    w.now += 31 * MS; /* its timer: 5 more */
    world_run(&w);
    assert_int_equal(w.handled[2], 1);
    assert_int_equal(w.order[w.order_count - 1], 10);
    uint32_t before = w.handled[2];
    world_send(&w, actor, BACK, 0);
    world_run(&w);
    assert_int_equal(w.handled[2], before + 2); /* and stashes it again */
    world_end(&w);
    assert_int_equal(w.cleaned, 1); /* with the instance, and not before */
}

static void settle_that_was_asked_for(void **state)
{
    world w;
    world_begin(&w, (axo_options)AXO_OPTIONS());
    axo_ref actor = world_spawn(&w);
    world_send(&w, actor, SETTLE, 0);
    world_run(&w);
    assert_int_equal(w.settled[1], 1);
    world_replaced(&w); /* the new one has none */
    world_has(&w, actor, 2, 5);
    assert_int_equal(w.settled[1], 1);
    world_end(&w);
}

/* ---- failures ---- */

/* The restart waits for its time; what then ends is the new class's, and what begins. */
static void suspended_one_is_replaced(void **state)
{
    world w;
    world_begin(&w, (axo_options)AXO_OPTIONS());
    axo_ref actor = world_below(&w, &world_late);
    world_send(&w, actor, ADD, 20);
    world_send(&w, actor, FALL, 0);
    world_send(&w, actor, ADD, 1);
    world_run(&w);
    world_replaced(&w);
    assert_true(world_is(&w, actor, "new"));
    assert_int_equal(w.migrated, 1);
    assert_int_equal(w.restarted[1] + w.restarted[2] + w.begun[2], 0);
    w.now += 11 * SECOND;
    world_run(&w);
    assert_int_equal(w.restarted[2], 1);
    assert_int_equal(w.begun[2], 1);
    assert_int_equal(w.handled[2], 1); /* what waited behind the failure */
    world_has(&w, actor, 2, 6); /* args were copied */
    assert_int_equal(w.restarted[1], 0);
    world_end(&w);
}

/* A broken instance ends with its clean-ups; the restart comes at its time. */
static void broken_one_is_ended(void **state)
{
    world w;
    world_begin(&w, (axo_options)AXO_OPTIONS());
    axo_ref actor = world_below(&w, &world_late);
    world_send(&w, actor, OWN, 0);
    world_send(&w, actor, BREAK, 0);
    world_run(&w);
    assert_int_equal(w.cleaned, 0);
    world_replaced(&w);
    assert_int_equal(w.cleaned, 1);
    assert_int_equal(w.migrated, 0);
    assert_true(world_is(&w, actor, "new"));
    w.now += 11 * SECOND;
    world_run(&w);
    assert_int_equal(w.begun[1], 1);
    assert_int_equal(w.begun[2], 1);
    assert_int_equal(w.restarted[1] + w.restarted[2], 0); /* no hook of it */
    world_has(&w, actor, 2, 5);
    world_end(&w);
    assert_int_equal(w.cleaned, 1);
}

static void one_that_does_not_begin(void **state)
{
    world w;
    world_begin(&w, (axo_options)AXO_OPTIONS());
    w.begin_fails = UINT32_MAX;
    axo_ref actor = world_below(&w, &world_late);
    w.now += 11 * SECOND;
    world_run(&w);
    assert_int_equal(w.begun[1], 2);
    world_replaced(&w);
    w.now += 11 * SECOND;
    world_run(&w);
    assert_int_equal(w.begun[1], 2);
    assert_int_equal(w.begun[2], 1);
    world_has(&w, actor, 2, 5);
    world_end(&w);
}

/* Children of a broken instance may look at its memory until they have gone. */
static void broken_one_with_children(void **state)
{
    world w;
    world_begin(&w, (axo_options)AXO_OPTIONS());
    axo_ref actor = world_below(&w, &world_late);
    world_send(&w, actor, OWN, 0);
    world_send(&w, actor, MAKE, 0);
    world_send(&w, actor, BREAK, 0);
    world_run(&w);
    assert_int_equal(world_replace(&w, &new_class, 0), AXO_ETIMEDOUT);
    world_run(&w);
    assert_int_equal(world_replace(&w, &new_class, 20 * MS), AXO_ETIMEDOUT);
    assert_int_equal(w.cleaned, 0);
    assert_true(world_is(&w, actor, "old") && world_is(&w, w.born, "new"));
    w.now += 11 * SECOND;
    world_replaced(&w);
    assert_int_equal(w.cleaned, 1);
    world_run(&w);
    assert_int_equal(w.migrated, 1); /* the child */
    assert_int_equal(w.begun[1], 2); /* both, at first */
    world_has(&w, actor, 2, 5);
    world_end(&w);
}

static void migrate_fails(bool crashes)
{
    world w;
    world_begin(&w, (axo_options)AXO_OPTIONS());
    axo_ref good = world_spawn(&w);
    axo_ref bad = world_below(&w, &world_strategy);
    world_send(&w, bad, ADD, 20);
    world_send(&w, good, ADD, 20);
    world_run(&w);
    w.migrate_fails = 1;
    w.migrate_crashes = crashes;
    world_send(&w, bad, OWN, 0);
    world_send(&w, good, OWN, 0);
    world_run(&w);
    world_replaced(&w);
    world_run(&w);
    /* the older one fails, below /user or below the parent: one of them has begun anew */
    assert_int_equal(w.cleaned, 1);
    assert_int_equal(w.begun[2], 1);
    assert_true(world_is(&w, bad, "new") && world_is(&w, good, "new"));
    uint32_t before = w.order_count;
    world_send(&w, bad, ADD, 1);
    world_send(&w, good, ADD, 1);
    world_run(&w);
    assert_int_equal(w.order[before] + w.order[before + 1], 6 + 26);
    world_end(&w);
    assert_int_equal(w.cleaned, 2);
}

static void migrate_that_fails(void **state)
{
    migrate_fails(false);
}

static void migrate_that_throws(void **state)
{
    migrate_fails(true);
}

static void migrate_that_fails_has_a_site(void **state)
{
    world w;
    world_begin(&w, (axo_options)AXO_OPTIONS());
    axo_ref actor = world_below(&w, &world_late);
    w.migrate_fails = 1;
    world_replaced(&w); /* without the restart */
    assert_int_equal(w.site, AXO_SITE_MIGRATE);
    assert_true(world_is(&w, actor, "new"));
    assert_int_equal(w.begun[2], 0);
    w.now += 11 * SECOND;
    world_run(&w);
    assert_int_equal(w.begun[2], 1);
    world_has(&w, actor, 2, 5);
    world_end(&w);
}

/* ---- births, bounds, memory ---- */

static void born_meanwhile(void **state)
{
    world w;
    world_begin(&w, (axo_options)AXO_OPTIONS());
    axo_ref parent = world_spawn(&w);
    world_run(&w);
    assert_int_equal(world_replace(&w, &new_class, 0), AXO_ETIMEDOUT);
    axo_ref outside = world_spawn(&w);
    world_send(&w, parent, MAKE, 0); /* it spawns &old_class */
    world_run(&w);
    assert_int_equal(w.begun[1], 1);
    assert_int_equal(w.begun[2], 2);
    assert_true(world_is(&w, outside, "new") && world_is(&w, w.born, "new"));
    world_replaced(&w);
    world_has(&w, outside, 2, 5);
    axo_ref late = world_spawn(&w); /* it is over: a class as any other */
    world_run(&w);
    assert_true(world_is(&w, late, "old"));
    world_end(&w);
}

/* The state is the larger one's in the bounds, too, which do not refuse it. */
static void bounded_and_walled(void **state)
{
    world w;
    uint32_t sum = 5;
    axo_ref actor;
    axo_props props = AXO_PROPS(.cls = &old_class, .args = &sum, .args_size = sizeof sum,
                                .memory_max = 2000, .name = "bounded");
    world_begin(&w, (axo_options)AXO_OPTIONS(.walls = AXO_WALL_CANARY | AXO_WALL_GUARD));
    assert_int_equal(axo_system_spawn(w.system, &props, &actor), AXO_OK);
    world_send(&w, actor, ADD, 20);
    world_run(&w);
    world_replaced(&w);
    world_has(&w, actor, 2, 25);
    world_send(&w, actor, OWN, 0);
    uint32_t begun = w.begun[2];
    world_run(&w); /* refused, a failure of /user's child: it begins anew */
    assert_int_equal(w.begun[2], begun + 1);
    world_has(&w, actor, 2, 5);
    world_end(&w);
}

/* Who finds no memory stays what it is, and goes on. */
static void without_memory(void **state)
{
    world w;
    axo_ref actors[40];
    world_begin(&w, (axo_options)AXO_OPTIONS());
    for (uint32_t i = 0; i < 40; i++)
        actors[i] = world_spawn(&w);
    world_run(&w);
    w.refuses = true;
    assert_int_equal(world_replace(&w, &new_class, -1), AXO_ENOMEM);
    assert_int_equal(world_replace(&w, &like_class, -1), AXO_EBUSY);
    w.refuses = false;
    assert_true(world_is(&w, actors[39], "old"));
    world_has(&w, actors[39], 1, 5);
    axo_status status;
    while ((status = world_replace(&w, &new_class, -1)) == AXO_ENOMEM)
        world_run(&w);
    assert_int_equal(status, AXO_OK);
    for (uint32_t i = 0; i < 40; i++)
        world_has(&w, actors[i], 2, i == 39 ? 6 : 5);
    world_end(&w);
}

/* ---- calls ---- */

static void deadline_of_a_call(void **state)
{
    world w;
    world_begin(&w, (axo_options)AXO_OPTIONS(.workers = 2));
    axo_ref actor = world_spawn(&w);
    world_send(&w, actor, WAIT, 0);
    while (atomic_load(&w.waiting) == 0)
        (void)sched_yield();
    assert_int_equal(world_replace(&w, &new_class, 0), AXO_ETIMEDOUT);
    assert_int_equal(world_replace(&w, &new_class, 30 * MS), AXO_ETIMEDOUT);
    assert_int_equal(world_replace(&w, &like_class, 0), AXO_EBUSY);
    atomic_store(&w.go, 1);
    world_replaced(&w);
    assert_true(world_is(&w, actor, "new"));
    world_end(&w);
}

/* It waits for what has begun; the other caller may be in the call for a moment. */
static void *call_of_another(void *arg)
{
    axo_status status;
    while ((status = world_replace(arg, &new_class, 60 * SECOND)) == AXO_EBUSY)
        (void)sched_yield();
    assert_int_equal(status, AXO_OK);
    return NULL;
}

static void call_of_two(void **state)
{
    world w;
    pthread_t other;
    world_begin(&w, (axo_options)AXO_OPTIONS(.workers = 2));
    axo_ref actor = world_spawn(&w);
    world_send(&w, actor, WAIT, 0);
    while (atomic_load(&w.waiting) == 0)
        (void)sched_yield();
    assert_int_equal(world_replace(&w, &new_class, 0), AXO_ETIMEDOUT);
    assert_int_equal(pthread_create(&other, NULL, call_of_another, &w), 0);
    for (uint32_t i = 0; i < 100; i++) {
        axo_status same = world_replace(&w, &new_class, 0);
        assert_true(same == AXO_ETIMEDOUT || same == AXO_EBUSY);
        assert_int_equal(world_replace(&w, &like_class, 0), AXO_EBUSY);
        (void)sched_yield();
    }
    atomic_store(&w.go, 1);
    assert_int_equal(pthread_join(other, NULL), 0);
    world_end(&w);
}

/* The system goes while a replacement is on. */
static void ended_meanwhile(void **state)
{
    world w;
    world_begin(&w, (axo_options)AXO_OPTIONS());
    (void)world_spawn(&w);
    world_run(&w);
    assert_int_equal(world_replace(&w, &new_class, 0), AXO_ETIMEDOUT);
    world_end(&w);
}

static void ended_before(void **state)
{
    world w;
    world_begin(&w, (axo_options)AXO_OPTIONS(.workers = 2));
    (void)world_spawn(&w);
    assert_int_equal(axo_system_stop(w.system, -1, NULL, 0, NULL), AXO_OK);
    world_replaced(&w); /* nobody has the class */
    assert_int_equal(axo_system_destroy(w.system), AXO_OK);
}

static axo_class bad_class(const axo_class *like, size_t size)
{
    axo_class out = *like;
    out.state_size = size;
    return out;
}

static void bad_calls(void **state)
{
    world w;
    world_begin(&w, (axo_options)AXO_OPTIONS());
    axo_ref actor = world_spawn(&w);
    world_run(&w);
    const axo_class larger = bad_class(&old_class, sizeof(old_state) + 1);
    axo_class none = old_class;
    axo_class odd = old_class;
    axo_class plain = old_class;
    none.receive = NULL;
    odd.size = 0;
    plain.pre_restart = NULL;
    const axo_replacement bad[] = {
        AXO_REPLACEMENT(.from = &old_class),
        AXO_REPLACEMENT(.to = &old_class),
        AXO_REPLACEMENT(.from = &old_class, .to = &old_class),
        AXO_REPLACEMENT(.from = &old_class, .to = &larger), /* another size, and no migrate */
        AXO_REPLACEMENT(.from = &old_class, .to = &none),
        AXO_REPLACEMENT(.from = &old_class, .to = &odd),
        AXO_REPLACEMENT(.from = &plain, .to = &old_class), /* pre_restart where there was none */
        {.size = 0, .from = &old_class, .to = &like_class},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(axo_class_replace(w.system, &bad[i], -1), AXO_EINVAL);
    axo_replacement good = AXO_REPLACEMENT(.from = &old_class, .to = &like_class);
    assert_int_equal(axo_class_replace(NULL, &good, -1), AXO_EINVAL);
    assert_int_equal(axo_class_replace(w.system, NULL, -1), AXO_EINVAL);
    world_send(&w, actor, CALL, 0);
    w.status = AXO_OK;
    world_run(&w);
    assert_int_equal(w.status, AXO_EINVAL); /* another size */
    assert_true(world_is(&w, actor, "old"));
    axo_replacement_init(&good);
    assert_int_equal(good.size, sizeof good);
    world_has(&w, actor, 1, 5);
    world_end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(state_is_carried_over),
        cmocka_unit_test(state_stays_where_it_is),
        cmocka_unit_test(what_it_has_goes_on),
        cmocka_unit_test(settle_that_was_asked_for),
        cmocka_unit_test(suspended_one_is_replaced),
        cmocka_unit_test(broken_one_is_ended),
        cmocka_unit_test(one_that_does_not_begin),
        cmocka_unit_test(broken_one_with_children),
        cmocka_unit_test(migrate_that_fails),
        cmocka_unit_test(migrate_that_throws),
        cmocka_unit_test(migrate_that_fails_has_a_site),
        cmocka_unit_test(born_meanwhile),
        cmocka_unit_test(bounded_and_walled),
        cmocka_unit_test(without_memory),
        cmocka_unit_test(deadline_of_a_call),
        cmocka_unit_test(call_of_two),
        cmocka_unit_test(ended_meanwhile),
        cmocka_unit_test(ended_before),
        cmocka_unit_test(bad_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
