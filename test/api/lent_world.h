/* lent_world.h - a system of lent threads, an actor that does what it is told, and threads that
 * visit slots. */
#ifndef TEST_API_LENT_WORLD_H
#define TEST_API_LENT_WORLD_H

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>

#include <axo/axo.h>

#include "support/cmocka.h"

enum { NOTE = 1, BLOCK, ARM, TICK, FAIL, SPREAD, SPIN, INSIDE, ASIDE, BALL };
#define MS INT64_C(1000000)
#define LONG INT64_C(20000000000)
#define THREADS_MAX 8

typedef struct lent_world {
    axo_system *system;
    sem_t work;              /* posted by on_work */
    sem_t inside;
    sem_t go_on;
    _Atomic uint32_t asked;  /* calls of on_work */
    _Atomic uint32_t notes;
    _Atomic uint32_t ticks;
    _Atomic uint32_t told;   /* of handlers that hang */
    _Atomic uint32_t threads_started;
    _Atomic uint32_t went;   /* visits that were no AXO_EBUSY */
    _Atomic bool spins;
    _Atomic int64_t now;     /* the program's clock, if it has one */
    axo_status nested;
    axo_status away;
    pthread_t pool[THREADS_MAX];
    uint32_t pool_size;
} lent_world;

static inline void lent_note(axo_ctx *ctx, lent_world *world)
{
    (void)ctx;
    world->notes++;
}

static inline void lent_aside(void *arg)
{
    lent_world *world = arg;
    world->away = axo_worker_run(world->system, 1, -1, NULL);
}

static inline axo_status member_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    lent_world *world = *(lent_world **)state;
    uint32_t left;
    switch (message->tag) {
    case BLOCK:
        (void)sem_post(&world->inside);
        while (sem_wait(&world->go_on) != 0)
            continue;
        return AXO_OK;
    case ARM:
        return axo_timer_start(ctx, 1, AXO_TIMER_ONCE, MS, 0, TICK, NULL, 0);
    case TICK:
        world->ticks++;
        return AXO_OK;
    case FAIL:
        return axo_fail(ctx, 1, "told to");
    case SPIN: /* so its worker is never idle */
        return world->spins ? axo_send(ctx, axo_self(ctx), SPIN, NULL, 0) : AXO_OK;
    case INSIDE:
        world->nested = axo_worker_run(world->system, 1, -1, NULL);
        return AXO_OK;
    case ASIDE:
        return axo_block(ctx, lent_aside, world);
    case BALL:
        left = *AXO_PAYLOAD(message, uint32_t);
        lent_note(ctx, world);
        if (left == 0)
            return AXO_OK;
        left--;
        return axo_send(ctx, axo_sender(ctx).bits != 0 ? axo_sender(ctx) : axo_self(ctx), BALL,
                        &left, sizeof left);
    default:
        lent_note(ctx, world);
        return AXO_OK;
    }
}

static inline axo_status member_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    memcpy(state, args, sizeof(lent_world *));
    return AXO_OK;
}

static const axo_class member_class =
    AXO_CLASS(.name = "member", .state_size = sizeof(lent_world *),
              .construct = member_construct, .receive = member_receive);

/* Spawns as many children as the message says, and sends each a note. */
static inline axo_status spreader_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    lent_world *world = *(lent_world **)state;
    uint32_t count = *AXO_PAYLOAD(message, uint32_t);
    axo_props props = AXO_PROPS(.cls = &member_class, .args = &world, .args_size = sizeof world);
    for (uint32_t i = 0; i < count; i++) {
        axo_ref child;
        if (axo_spawn(ctx, &props, &child) == AXO_OK)
            (void)axo_send(ctx, child, NOTE, NULL, 0);
    }
    return AXO_OK;
}

static const axo_class spreader_class =
    AXO_CLASS(.name = "spreader", .state_size = sizeof(lent_world *),
              .construct = member_construct, .receive = spreader_receive);

static inline void lent_asked(void *user, uint32_t how_many)
{
    lent_world *world = user;
    for (; how_many > 0; how_many--) {
        world->asked++;
        (void)sem_post(&world->work);
    }
}

static inline void lent_started(void *user, const axo_thread *thread)
{
    (void)thread;
    ((lent_world *)user)->threads_started++;
}

static inline int64_t lent_clock(void *user)
{
    return ((lent_world *)user)->now;
}

static inline void lent_log(void *user, const axo_log_record *record)
{
    if (record->event == AXO_LOG_STUCK)
        ((lent_world *)user)->told++;
}

static inline void lent_open(lent_world *world, axo_options *options)
{
    memset((void *)world, 0, sizeof *world);
    world->now = 1;
    assert_int_equal(sem_init(&world->work, 0, 0), 0);
    assert_int_equal(sem_init(&world->inside, 0, 0), 0);
    assert_int_equal(sem_init(&world->go_on, 0, 0), 0);
    options->threads = AXO_THREADS_LENT;
    options->on_work = lent_asked;
    options->work_user = world;
    options->thread_start = lent_started;
    options->thread_user = world;
    options->log_record = lent_log;
    options->log_record_user = world;
    assert_int_equal(axo_system_start(options, &world->system), AXO_OK);
}

static inline void lent_begin(lent_world *world, uint32_t slots)
{
    axo_options options = AXO_OPTIONS(.workers = slots);
    lent_open(world, &options);
    assert_int_equal(axo_system_workers(world->system), slots);
}

static inline void lent_end(lent_world *world)
{
    axo_stats stats = AXO_STATS();
    assert_int_equal(axo_system_stop(world->system, LONG, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_worker_run(world->system, 0, -1, NULL), AXO_ESTOPPING);
    assert_true(axo_worker_due(world->system) == INT64_MAX);
    assert_int_equal(axo_system_stats(world->system, &stats), AXO_OK);
    assert_int_equal(stats.sent, stats.handled + stats.dead + stats.dropped);
    assert_int_equal(stats.actors, 0);
    assert_int_equal(axo_system_destroy(world->system), AXO_OK);
    assert_int_equal(world->threads_started, 0);
    (void)sem_destroy(&world->work);
    (void)sem_destroy(&world->inside);
    (void)sem_destroy(&world->go_on);
}

static inline void lent_run(const lent_world *world, uint32_t slot)
{
    assert_int_equal(axo_worker_run(world->system, slot, -1, NULL), AXO_OK);
}

static inline axo_ref lent_spawn(lent_world *world, const axo_class *cls, uint32_t dispatcher)
{
    axo_ref ref;
    axo_props props = AXO_PROPS(.cls = cls, .args = &world, .args_size = sizeof world,
                                .dispatcher = dispatcher);
    assert_int_equal(axo_system_spawn(world->system, &props, &ref), AXO_OK);
    return ref;
}

static inline void lent_tell(const lent_world *world, axo_ref to, uint32_t tag)
{
    assert_int_equal(axo_system_send(world->system, to, tag, NULL, 0), AXO_OK);
}

static inline void lent_await(sem_t *what)
{
    while (sem_wait(what) != 0)
        continue;
}

/* A thread that visits one slot once, as long as there is something to do. */
typedef struct lent_visit {
    lent_world *world;
    uint32_t slot;
    pthread_t thread;
} lent_visit;

static inline void *visit_main(void *arg)
{
    const lent_visit *visit = arg;
    assert_int_equal(axo_worker_run(visit->world->system, visit->slot, -1, NULL), AXO_OK);
    return NULL;
}

static inline void visit_begin(lent_visit *visit, lent_world *world, uint32_t slot)
{
    *visit = (lent_visit){.world = world, .slot = slot};
    assert_int_equal(pthread_create(&visit->thread, NULL, visit_main, visit), 0);
}

static inline void visit_end(const lent_visit *visit)
{
    assert_int_equal(pthread_join(visit->thread, NULL), 0);
}

/* ---- a pool of the program's, as a job system is: who is asked for takes any free slot ---- */

static inline void *pool_main(void *arg)
{
    lent_world *world = arg;
    uint32_t slots = axo_system_workers(world->system);
    uint32_t next = 0;
    for (;;) {
        axo_status status = AXO_EBUSY;
        for (uint32_t i = 0; i < slots && status == AXO_EBUSY; i++) {
            int64_t budget = next % 3 == 0 ? 20000 : -1;
            status = axo_worker_run(world->system, next++ % slots, budget, NULL);
        }
        if (status == AXO_ESTOPPING)
            return NULL;
        world->went += status == AXO_OK;
        int64_t due = axo_worker_due(world->system);
        if (due > 50 * MS)
            due = 50 * MS;
        struct timespec until;
        (void)clock_gettime(CLOCK_REALTIME, &until);
        int64_t ns = until.tv_nsec + due;
        until.tv_sec += ns / 1000000000;
        until.tv_nsec = ns % 1000000000;
        (void)sem_timedwait(&world->work, &until);
    }
}

static inline void pool_begin(lent_world *world, uint32_t threads)
{
    world->pool_size = threads;
    for (uint32_t i = 0; i < threads; i++)
        assert_int_equal(pthread_create(&world->pool[i], NULL, pool_main, world), 0);
}

static inline void pool_end(lent_world *world)
{
    axo_system *system = world->system;
    assert_int_equal(axo_system_stop(system, LONG, NULL, 0, NULL), AXO_OK);
    for (uint32_t i = 0; i < world->pool_size; i++)
        assert_int_equal(pthread_join(world->pool[i], NULL), 0);
}

#endif
