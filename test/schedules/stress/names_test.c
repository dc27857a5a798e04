/* names_test.c - whoever is told of an end finds the name free, on all workers, again and again. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "support/kit.h"

#if defined(AXO_TSAN) || defined(AXO_ASAN)
#define NAMES_ROUNDS 10000
#else
#define NAMES_ROUNDS 334000
#endif
enum { NAMES_PAIRS = 4, NAMES_BEGIN = 1, NAMES_CHILD, NAMES_AGAIN, NAMES_STOP };

typedef struct names_world {
    kit *k;
    axo_system *system;
    _Atomic int64_t left;
    _Atomic uint32_t taken;   /* spawns that found the name taken */
    _Atomic uint32_t wrong;
    _Atomic uint32_t seen;    /* ends that were looked on */
    _Atomic uint32_t running; /* pairs that have rounds to go */
    bool looks;               /* the rounds go on until an end has been looked on */
} names_world;

typedef struct names_args {
    names_world *world;
    axo_ref other;
    uint32_t index;
    uint32_t late; /* 1: the watch comes after the stop: it meets the end, or what is left */
} names_args;

typedef struct names_state {
    names_args in;
    char name[32];
} names_state;

static axo_status names_construct(axo_ctx *ctx, void *state, const void *args)
{
    names_state *self = state;
    memcpy(&self->in, args, sizeof self->in);
    (void)snprintf(self->name, sizeof self->name, "n%u", (unsigned)self->in.index);
    return AXO_OK;
}

static axo_status names_child_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)ctx, (void)state, (void)message;
    return AXO_OK;
}

static const axo_class names_child = AXO_CLASS(.name = "child", .receive = names_child_receive);

static bool names_goes_on(names_world *world)
{
    if (atomic_fetch_sub(&world->left, 1) > 0 || (world->looks && atomic_load(&world->seen) == 0))
        return true;
    atomic_fetch_sub(&world->running, 1);
    return false;
}

static void names_judge(names_world *world, axo_status status)
{
    if (status == AXO_EEXIST)
        atomic_fetch_add(&world->taken, 1);
    else if (status != AXO_OK)
        atomic_fetch_add(&world->wrong, 1);
}

static axo_status names_stop(axo_ctx *ctx, const names_state *self, axo_ref ref)
{
    axo_status watched = self->in.late ? AXO_OK : axo_watch(ctx, ref);
    (void)axo_stop(ctx, ref);
    if (self->in.late)
        watched = axo_watch(ctx, ref);
    return watched;
}

/* Looks on while it ends: when the reference leads nowhere, the path must not lead to it. */
static void names_look_on(names_world *world, const names_state *self, axo_ref ref)
{
    axo_actor_info info = AXO_ACTOR_INFO();
    char path[64];
    axo_ref there;
    (void)snprintf(path, sizeof path, "/user/%s", self->name);
    for (uint32_t i = 0; i < 100; i++) {
        if (axo_system_inspect(world->system, ref, axo_ref_none(), &info) == AXO_OK)
            continue;
        (void)axo_system_find(world->system, path, &there);
        if (axo_ref_equal(there, ref))
            atomic_fetch_add(&world->taken, 1);
        atomic_fetch_add(&world->seen, 1);
        return;
    }
}

/* Spawns under /user itself: nobody is nearer to the notice. */
static axo_status names_spawner_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    names_state *self = state;
    names_world *world = self->in.world;
    axo_props props = AXO_PROPS(.cls = &names_child, .name = self->name);
    axo_ref ref;
    if (message->tag != NAMES_BEGIN && message->tag != AXO_TERMINATED)
        return AXO_UNHANDLED;
    if (!names_goes_on(world))
        return AXO_OK;
    axo_status status = axo_system_spawn(world->system, &props, &ref);
    names_judge(world, status);
    if (status != AXO_OK)
        return AXO_OK;
    if (self->in.late && ref.bits % 8 == 0 && axo_system_workers(world->system) > 1) {
        (void)axo_stop(ctx, ref);
        names_look_on(world, self, ref);
    }
    return names_stop(ctx, self, ref);
}

/* Watches what another has spawned, and tells it of the end. */
static axo_status names_watcher_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    const names_state *self = state;
    if (message->tag == NAMES_CHILD)
        return names_stop(ctx, self, *AXO_PAYLOAD(message, axo_ref));
    if (message->tag != AXO_TERMINATED)
        return AXO_UNHANDLED;
    return axo_send(ctx, self->in.other, NAMES_AGAIN, NULL, 0);
}

static axo_status names_parent_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    names_state *self = state;
    names_world *world = self->in.world;
    axo_props props = AXO_PROPS(.cls = &names_child, .name = self->name);
    axo_ref ref;
    if (message->tag == NAMES_BEGIN)
        self->in.other = message->sender;
    else if (message->tag != NAMES_AGAIN)
        return AXO_UNHANDLED;
    if (!names_goes_on(world))
        return AXO_OK;
    axo_status status = axo_spawn(ctx, &props, &ref);
    names_judge(world, status);
    if (status != AXO_OK)
        return AXO_OK;
    return axo_send(ctx, self->in.other, NAMES_CHILD, &ref, sizeof ref);
}

static const axo_class names_spawner =
    AXO_CLASS(.name = "spawner", .state_size = sizeof(names_state), .construct = names_construct,
              .receive = names_spawner_receive);
static const axo_class names_watcher =
    AXO_CLASS(.name = "watcher", .state_size = sizeof(names_state), .construct = names_construct,
              .receive = names_watcher_receive);
static const axo_class names_parent =
    AXO_CLASS(.name = "parent", .state_size = sizeof(names_state), .construct = names_construct,
              .receive = names_parent_receive);

static axo_ref names_spawn(names_world *world, const axo_class *cls, axo_ref other, uint32_t index)
{
    names_args args = {.world = world, .other = other, .index = index, .late = index % 2};
    axo_props props = AXO_PROPS(.cls = cls, .args = &args, .args_size = sizeof args);
    axo_ref ref;
    assert_int_equal(axo_system_spawn(world->system, &props, &ref), AXO_OK);
    return ref;
}

static void free_for_whoever_is_told(void **state)
{
    axo_options options = AXO_OPTIONS(.workers = (uint32_t)(uintptr_t)*state);
    names_world world = {.left = NAMES_ROUNDS, .looks = options.workers > 1};
    assert_int_equal(axo_system_start(&options, &world.system), AXO_OK);
    for (uint32_t i = 0; i < NAMES_PAIRS; i++) {
        axo_ref spawner = names_spawn(&world, &names_spawner, axo_ref_none(), i);
        axo_ref parent = names_spawn(&world, &names_parent, axo_ref_none(), i);
        axo_ref watcher = names_spawn(&world, &names_watcher, parent, i);
        atomic_fetch_add(&world.running, 2);
        assert_int_equal(axo_system_send(world.system, spawner, NAMES_BEGIN, NULL, 0), AXO_OK);
        assert_int_equal(axo_system_send_from(world.system, watcher, parent, NAMES_BEGIN, NULL, 0),
                         AXO_OK);
    }
    time_t limit = time(NULL) + 100; /* a pair that found its name taken never comes to its end */
    while (atomic_load(&world.running) > 0 && atomic_load(&world.taken) == 0 &&
           atomic_load(&world.wrong) == 0 && time(NULL) < limit)
        (void)sched_yield();
    assert_int_equal(atomic_load(&world.taken), 0);
    assert_int_equal(atomic_load(&world.wrong), 0);
    assert_int_equal(atomic_load(&world.running), 0);
    if (world.looks)
        assert_true(atomic_load(&world.seen) > 0);
    axo_stats stats = AXO_STATS();
    assert_int_equal(axo_system_stats(world.system, &stats), AXO_OK);
    assert_true(stats.spawned >= NAMES_ROUNDS);
    assert_int_equal(axo_system_stop(world.system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(world.system), AXO_OK);
}

#define NAMES_TEST(n)                                                                              \
    {                                                                                              \
        "ST-18 free for whoever is told [" #n "]", free_for_whoever_is_told, NULL, NULL,           \
            (void *)(uintptr_t)(n)                                                                 \
    }

static const struct CMUnitTest tests[] = {NAMES_TEST(1), NAMES_TEST(2), NAMES_TEST(4)};
TEST_MAIN(tests)
