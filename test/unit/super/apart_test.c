/* apart_test.c - two ends of a family or of a watch on two threads, one of which the test steps:
 * what meets an actor that is ending, or has ended, in its system lane. */
#include <semaphore.h>
#include <stdbool.h>

#include <axo/axo.h>

#include "unit/unit.h"

enum { WATCH = 1, FAIL, SPAWN, MARK };

typedef struct apart_world {
    axo_system *system;
    axo_ref child;    /* of the parent that is told to spawn */
    axo_ref late;     /* watched by the witness when its first notice has come */
    axo_ref at_end;   /* watched in post_stop */
    int64_t due_from; /* the restart that was put off is not due before; 0: none was */
    int64_t due_by;   /* and not after */
    sem_t marked;     /* the witness, or the child, is through with a MARK */
    _Atomic uint32_t notices;
    _Atomic uint32_t starts; /* of the child */
    _Atomic uint32_t wrong;  /* a status that is not AXO_OK */
} apart_world;

#define APART_DELAY_NS 20000000
static const axo_backoff apart_backoff =
    AXO_BACKOFF(.min_ns = APART_DELAY_NS, .max_ns = APART_DELAY_NS);

static apart_world *apart_of(const void *state)
{
    return *(apart_world *const *)state;
}

/* The delay begins when this has returned, in the same turn. */
static axo_directive apart_decide(axo_ctx *ctx, void *state, const axo_failure *failure, void *user)
{
    apart_of(state)->due_from = axo_now(ctx) + APART_DELAY_NS;
    return AXO_RESTART;
}

static const axo_strategy apart_strategy =
    AXO_STRATEGY(.decider = apart_decide, .backoff = &apart_backoff);

static void apart_check(apart_world *world, axo_status status)
{
    if (status != AXO_OK)
        world->wrong++;
}

static void apart_wait(sem_t *semaphore)
{
    while (sem_wait(semaphore) != 0)
        continue;
}

static axo_status apart_construct(axo_ctx *ctx, void *state, const void *args)
{
    memcpy(state, args, sizeof(apart_world *));
    return AXO_OK;
}

static axo_status child_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)apart_construct(ctx, state, args);
    apart_of(state)->starts++;
    return AXO_OK;
}

static axo_status child_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    if (message->tag == MARK)
        (void)sem_post(&apart_of(state)->marked);
    return message->tag == FAIL ? axo_fail(ctx, 1, "as told") : AXO_OK;
}

static const axo_class child_class =
    AXO_CLASS(.name = "child", .state_size = sizeof(apart_world *), .construct = child_construct,
              .receive = child_receive);

/* Watches whom it is told of, spawns when it is told to, counts its notices. */
static axo_status apart_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    apart_world *world = apart_of(state);
    axo_props props = AXO_PROPS(.cls = &child_class, .args = &world, .args_size = sizeof world);
    axo_ref ref;
    switch (message->tag) {
    case WATCH:
        memcpy(&ref, message->payload, sizeof ref);
        apart_check(world, axo_watch(ctx, ref));
        return AXO_OK;
    case SPAWN:
        apart_check(world, axo_spawn(ctx, &props, &world->child));
        return AXO_OK;
    case MARK:
        (void)sem_post(&world->marked);
        return AXO_OK;
    case AXO_TERMINATED:
        world->notices++;
        if (!axo_ref_is_none(world->late)) {
            apart_check(world, axo_watch(ctx, world->late));
            world->late = axo_ref_none();
        }
        return AXO_OK;
    default:
        return AXO_UNHANDLED;
    }
}

static axo_status apart_post_stop(axo_ctx *ctx, void *state)
{
    apart_world *world = apart_of(state);
    if (!axo_ref_is_none(world->at_end))
        apart_check(world, axo_watch(ctx, world->at_end));
    return AXO_OK;
}

static const axo_class apart_class =
    AXO_CLASS(.name = "apart", .state_size = sizeof(apart_world *), .construct = apart_construct,
              .receive = apart_receive, .post_stop = apart_post_stop);

static void apart_open(apart_world *world)
{
    memset((void *)world, 0, sizeof *world);
    assert_int_equal(sem_init(&world->marked, 0, 0), 0);
    axo_options options = AXO_OPTIONS(.workers = 1);
    assert_int_equal(axo_system_start(&options, &world->system), AXO_OK);
}

static void apart_step(apart_world *world)
{
    assert_int_equal(axo_run_host(world->system, -1, NULL), AXO_OK);
}

/* An actor of the host's has done what was told to it before. */
static void apart_through(apart_world *world, axo_ref hosted)
{
    axo_ref none = axo_ref_none();
    assert_int_equal(axo_system_send(world->system, hosted, MARK, &none, sizeof none), AXO_OK);
    do {
        apart_step(world);
    } while (sem_trywait(&world->marked) != 0);
}

static axo_ref apart_spawn(apart_world *world, axo_dispatcher dispatcher)
{
    axo_ref ref;
    axo_props props = AXO_PROPS(.cls = &apart_class, .args = &world, .args_size = sizeof world,
                                .dispatcher = dispatcher, .strategy = &apart_strategy);
    assert_int_equal(axo_system_spawn(world->system, &props, &ref), AXO_OK);
    return ref;
}

static void apart_tell(apart_world *world, axo_ref to, uint32_t tag, axo_ref about)
{
    assert_int_equal(axo_system_send(world->system, to, tag, &about, sizeof about), AXO_OK);
}

/* The one worker has done all that was there for it before. */
static void apart_settle(apart_world *world, axo_ref witness)
{
    apart_tell(world, witness, MARK, axo_ref_none());
    apart_wait(&world->marked);
}

static void apart_close(apart_world *world)
{
    assert_int_equal(axo_system_shutdown(world->system), AXO_OK);
    axo_status status = AXO_ETIMEDOUT;
    while (status == AXO_ETIMEDOUT) {
        apart_step(world);
        status = axo_system_wait(world->system, 0, NULL);
    }
    assert_int_equal(status, AXO_OK);
    axo_system_destroy(world->system);
    assert_int_equal(world->wrong, 0);
    (void)sem_destroy(&world->marked);
}

/* The host's thread has a parent, whose child is the worker's. */
static axo_ref apart_family(apart_world *world)
{
    axo_ref parent = apart_spawn(world, AXO_DISPATCH_HOST);
    apart_tell(world, parent, SPAWN, axo_ref_none());
    apart_through(world, parent);
    assert_false(axo_ref_is_none(world->child));
    apart_settle(world, world->child);
    return parent;
}

/* A watch that comes after the last child's end, before the parent has seen either: the parent ends
 * at the first, and answers the second (DW-18). */
static void watched_while_ending(void **state)
{
    apart_world world;
    apart_open(&world);
    axo_ref witness = apart_spawn(&world, AXO_DISPATCH_DEFAULT);
    axo_ref parent = apart_family(&world);
    apart_tell(&world, witness, WATCH, world.child);
    apart_settle(&world, witness);
    world.late = parent;
    assert_int_equal(axo_system_stop_actor(world.system, parent), AXO_OK);
    apart_step(&world);
    while (world.notices == 0)
        apart_settle(&world, witness);
    apart_step(&world);
    while (world.notices < 2)
        apart_settle(&world, witness);
    assert_int_equal(world.notices, 2);
    apart_close(&world);
}

/* The child has failed and its restart is put off. Its parent runs on this thread only: nobody
 * restarts it before the next step. */
static void apart_put_off(apart_world *world)
{
    world->due_from = 0;
    apart_tell(world, world->child, FAIL, axo_ref_none());
    while (world->due_from == 0) {
        apart_step(world);
        (void)sched_yield();
    }
    world->due_by = axo_system_now(world->system) + APART_DELAY_NS;
}

static void apart_pass(const apart_world *world)
{
    while (axo_system_now(world->system) <= world->due_by)
        (void)sched_yield();
}

/* The delay is over when the child has ended already: nobody is restarted. */
static void ended_while_delayed(void **state)
{
    apart_world world;
    apart_open(&world);
    axo_ref witness = apart_spawn(&world, AXO_DISPATCH_DEFAULT);
    axo_ref parent = apart_family(&world);
    apart_tell(&world, witness, WATCH, world.child);
    apart_settle(&world, witness);
    uint32_t starts = world.starts;
    apart_put_off(&world);
    assert_int_equal(axo_system_stop_actor(world.system, world.child), AXO_OK);
    while (world.notices == 0)
        apart_settle(&world, witness);
    apart_settle(&world, witness); /* the turn in which it ended is over */
    apart_pass(&world);
    apart_step(&world);
    assert_int_equal(world.starts, starts);
    apart_tell(&world, parent, SPAWN, axo_ref_none()); /* it goes on */
    apart_through(&world, parent);
    apart_settle(&world, world.child);
    assert_int_equal(world.starts, starts + 1);
    apart_close(&world);
}

/* The delay is over while the parent waits for the child's end. */
static void due_while_ending(void **state)
{
    bool meets = false;
    while (!meets) {
        apart_world world;
        apart_open(&world);
        axo_ref parent = apart_family(&world);
        uint32_t starts = world.starts;
        apart_put_off(&world);
        assert_int_equal(axo_system_stop_actor(world.system, parent), AXO_OK);
        apart_step(&world); /* from here on the parent ends */
        meets = axo_system_now(world.system) < world.due_from;
        apart_pass(&world);
        apart_step(&world);
        apart_close(&world);
        if (meets) /* else the delay was over before the parent's turn: once more */
            assert_int_equal(world.starts, starts);
    }
}

/* Who watched has ended first, and the one that was watched has not heard of it. */
static void watcher_ended(void **state)
{
    apart_world world;
    apart_open(&world);
    axo_ref witness = apart_spawn(&world, AXO_DISPATCH_DEFAULT);
    axo_ref watcher = apart_spawn(&world, AXO_DISPATCH_DEFAULT);
    axo_ref watched = apart_spawn(&world, AXO_DISPATCH_HOST);
    apart_through(&world, watched);
    apart_tell(&world, witness, WATCH, watcher);
    apart_tell(&world, watcher, WATCH, watched);
    apart_settle(&world, watcher);
    apart_through(&world, watched); /* the watch is known */
    assert_int_equal(axo_system_stop_actor(world.system, watched), AXO_OK);
    assert_int_equal(axo_system_stop_actor(world.system, watcher), AXO_OK);
    while (world.notices == 0)
        apart_settle(&world, witness);
    apart_step(&world);
    assert_int_equal(world.notices, 1); /* the witness's */
    apart_close(&world);
}

/* The notice is on its way to one that is told to stop: it is nobody's. */
static void notice_for_one_ending(void **state)
{
    apart_world world;
    apart_open(&world);
    axo_ref witness = apart_spawn(&world, AXO_DISPATCH_DEFAULT);
    axo_ref watched = apart_spawn(&world, AXO_DISPATCH_DEFAULT);
    axo_ref watcher = apart_spawn(&world, AXO_DISPATCH_HOST);
    apart_tell(&world, witness, WATCH, watched);
    apart_tell(&world, watcher, WATCH, watched);
    apart_through(&world, watcher);
    apart_settle(&world, witness);
    assert_int_equal(axo_system_stop_actor(world.system, watched), AXO_OK);
    while (world.notices == 0)
        apart_settle(&world, witness);
    assert_int_equal(axo_system_stop_actor(world.system, watcher), AXO_OK);
    apart_step(&world);
    assert_int_equal(world.notices, 1);
    apart_close(&world);
}

/* DW-14: a watch in post_stop is taken, and nobody hears of it. */
static void watch_in_post_stop(void **state)
{
    apart_world world;
    apart_open(&world);
    axo_ref other = apart_spawn(&world, AXO_DISPATCH_HOST);
    axo_ref ending = apart_spawn(&world, AXO_DISPATCH_HOST);
    apart_through(&world, ending);
    world.at_end = other;
    assert_int_equal(axo_system_stop_actor(world.system, ending), AXO_OK);
    apart_step(&world);
    world.at_end = axo_ref_none();
    assert_int_equal(axo_system_stop_actor(world.system, other), AXO_OK);
    apart_step(&world);
    assert_int_equal(world.notices, 0);
    apart_close(&world);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(watched_while_ending),  cmocka_unit_test(ended_while_delayed),
    cmocka_unit_test(due_while_ending),      cmocka_unit_test(watcher_ended),
    cmocka_unit_test(notice_for_one_ending), cmocka_unit_test(watch_in_post_stop),
};
TEST_MAIN(tests)
