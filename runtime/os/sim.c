/* sim.c - the port on one thread: level 1, where choices say which thread steps next; the clock.
 *
 * A thread is a record. It is READY, or PARKED with the ticket and the deadline of the step that
 * said so; a parked thread can run when its parker has moved on, when its deadline has passed, and
 * now and then for no reason, as the contract allows. Only the calls that wait for something from
 * outside (a latch, a join) and axo__sim_step step threads; they never do so inside a step.
 */
#include "os/sim.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/random.h"
#include "os/poll.h"
#include "os/sim_inside.h"

/* Threads that exist at the same time. */
#define SIM_THREADS_MAX 1024
#define SIM_CPUS 4
/* A step takes less time than this; a long step, which one of SIM_LONG_ONE_IN is, up to
 * SIM_LONG_NS. */
#define SIM_SHORT_NS 1500
#define SIM_LONG_NS 3000000
#define SIM_LONG_ONE_IN 512
/* One wait in this many ends early for no reason. */
#define SIM_EARLY_ONE_IN 200
/* Now and then a thread gets no step for this many steps, as long as another can run. */
#define SIM_STARVE_ONE_IN 150
#define SIM_STARVE_STEPS 300
/* Level 2: yield points that count as a step. */
#define SIM_PAUSE_POINTS 16

typedef enum sim_state {
    SIM_FRESH = 0, /* `begin` has not been called */
    SIM_READY = 1,
    SIM_PARKED = 2,
    SIM_ENDED = 3
} sim_state;

typedef struct sim_record {
    axo__os_thread *thread;
    /* the strategy's number for the thread: how many were started before it */
    uint32_t id;
    sim_state state;
    uint64_t starved_until; /* the number of the step up to which the thread is left out */
} sim_record;

typedef struct sim_world {
    axo__random machine; /* which CPU, how long a look at the clock takes */
    axo__random entropy; /* the numbers that axo__os_entropy gives the system */
    uint64_t steps;
    uint32_t started;
    uint32_t last;       /* the id of the thread that stepped last */
    uint32_t count;      /* of records */
    uint32_t refuse;     /* starts until one is refused; UINT32_MAX: none is refused */
    bool seeded;
    bool inside;         /* a step is running */
    void (*outside)(void);
    sim_record records[SIM_THREADS_MAX];
} sim_world;

/* The world of the one real thread. */
static sim_world sim;
axo__sim_run axo__sim_now;

static void sim_seed(uint64_t seed)
{
    axo__sim_fiber_reset();
    memset(&sim, 0, sizeof sim);
    axo__random_init(&sim.machine, seed, UINT64_C(0x74696d65));
    axo__random_init(&sim.entropy, seed, UINT64_C(0x656e74726f7079));
    axo__sim_choice_reset(seed);
    axo__sim_poll_reset();
    axo__sim_now = (axo__sim_run){.now = AXO__SIM_EPOCH};
    sim.refuse = UINT32_MAX;
    sim.seeded = true;
}

static void sim_need_seed(void)
{
    if (axo__unlikely(!sim.seeded))
        sim_seed(1);
}

void axo__sim_reset(uint64_t seed, void (*outside)(void))
{
    AXO_ASSERT(sim.count == 0);
    sim_seed(seed);
    sim.outside = outside;
}

uint64_t axo__sim_steps(void)
{
    return axo__sim_now.fibers ? axo__sim_now.points : sim.steps;
}

void axo__sim_refuse_start(uint32_t count)
{
    sim_need_seed();
    sim.refuse = count;
}

/* ---- clock and chance ---- */

int64_t axo__os_now(void)
{
    sim_need_seed();
    /* A look at the clock takes time, so a loop that waits for the clock ends. */
    axo__sim_now.now += axo__sim_now.fibers ? 1 : (int64_t)axo__random_below(&sim.machine, 64);
    return axo__sim_now.now;
}

/* A look at this clock is no step of the simulated time: who logs changes no run. */
int64_t axo__os_wall(void)
{
    return axo__sim_now.now;
}

uint64_t axo__os_entropy(void)
{
    sim_need_seed();
    return axo__random_next(&sim.entropy);
}

uint32_t axo__os_cpus(void)
{
    return SIM_CPUS;
}

uint32_t axo__os_cpu_index(void)
{
    sim_need_seed();
    return axo__sim_now.fibers ? axo__sim_me() % SIM_CPUS
                              : axo__random_below(&sim.machine, SIM_CPUS);
}

/* ---- memory ---- */

void *axo__os_alloc(void *user, size_t size, size_t align)
{
    (void)user;
    if (align <= _Alignof(max_align_t))
        return malloc(size);
    void *block = NULL;
    return posix_memalign(&block, align, size) == 0 ? block : NULL;
}

void axo__os_free(void *user, void *block, size_t size, size_t align)
{
    (void)user;
    (void)size;
    (void)align;
    free(block);
}

/* ---- the next thread ---- */

static bool sim_can_run(const sim_record *record)
{
    const axo__os_thread *thread = record->thread;
    switch (record->state) {
    case SIM_FRESH:
    case SIM_READY:
        return true;
    case SIM_PARKED:
        if (thread->polls && axo__sim_poll_is_ready(axo__aptr_peek_owner(&thread->poll)))
            return true;
        return thread->parker.word != thread->ticket || thread->deadline <= axo__sim_now.now;
    case SIM_ENDED:
        break;
    }
    return false;
}

/* The threads that can run, in the order of the records from the one that stepped last onwards:
 * index 0 is "the same thread goes on". Without `all`, starved threads are left out. */
static uint32_t sim_gather(bool all, sim_record **out)
{
    uint32_t from = 0;
    uint32_t count = 0;
    while (from < sim.count && sim.records[from].id != sim.last)
        from++;
    for (uint32_t i = 0; i < sim.count; i++) {
        sim_record *record = &sim.records[(from + i) % sim.count];
        if (sim_can_run(record) && (all || record->starved_until <= sim.steps))
            out[count++] = record;
    }
    return count;
}

/* Moves the clock to the first deadline; false: no thread has one. */
static bool sim_jump(void)
{
    int64_t first = AXO__NEVER;
    for (uint32_t i = 0; i < sim.count; i++) {
        const sim_record *record = &sim.records[i];
        if (record->state == SIM_PARKED && record->thread->deadline < first)
            first = record->thread->deadline;
    }
    if (first == AXO__NEVER)
        return false;
    if (first > axo__sim_now.now)
        axo__sim_now.now = first;
    return true;
}

/* Chooses the next thread. Starvation never stops the run: when only starved threads can run, they
 * do. */
static sim_record *sim_pick(void)
{
    sim_record *some[SIM_THREADS_MAX];
    uint32_t ids[SIM_THREADS_MAX];
    if (sim_gather(true, some) == 0 && !sim_jump())
        return NULL;
    if (axo__sim_chance(AXO__SIM_EARLY, SIM_EARLY_ONE_IN)) {
        sim_record *any = &sim.records[axo__sim_choose(AXO__SIM_WHOM, sim.count)];
        if (any->state == SIM_PARKED)
            return any;
    }
    if (axo__sim_chance(AXO__SIM_STARVE, SIM_STARVE_ONE_IN)) {
        sim_record *any = &sim.records[axo__sim_choose(AXO__SIM_WHOM, sim.count)];
        any->starved_until = sim.steps + axo__sim_choose(AXO__SIM_STARVE, SIM_STARVE_STEPS);
    }
    uint32_t count = sim_gather(false, some);
    if (count == 0)
        count = sim_gather(true, some);
    for (uint32_t i = 0; i < count; i++)
        ids[i] = some[i]->id;
    return some[axo__sim_who(ids, count, ids[0] == sim.last)];
}

/* The last record takes the free place, and its thread is told where it lies. */
static void sim_forget(sim_record *record)
{
    *record = sim.records[--sim.count];
    record->thread->port = record;
}

/* One step of one thread, with begin, wake, sleep and end around it as the contract says. */
static void sim_run(sim_record *record)
{
    axo__os_thread *thread = record->thread;
    const axo__os_body *body = thread->body;
    if (record->state == SIM_FRESH) {
        axo__os_thread_tell(thread, true);
        body->begin(thread->arg);
    }
    if (record->state == SIM_PARKED) {
        if (thread->polls)
            axo__os_poll_wait(axo__aptr_peek_owner(&thread->poll), 0);
        body->wake(thread->arg);
    }
    record->state = SIM_READY;
    axo__step step = body->step(thread->arg);
    if (step == AXO__STEP_PARK) {
        body->sleep(thread->arg);
        record->state = SIM_PARKED;
    } else if (step == AXO__STEP_EXIT) {
        body->end(thread->arg);
        axo__os_thread_tell(thread, false);
        record->state = SIM_ENDED;
    }
}

bool axo__sim_step(void)
{
    if (axo__sim_now.fibers) {
        bool moved = axo__sim_fiber_pause(SIM_PAUSE_POINTS);
        if (moved && sim.outside != NULL)
            sim.outside();
        return moved;
    }
    AXO_ASSERT(!sim.inside);
    sim_record *record = sim.count > 0 ? sim_pick() : NULL;
    if (record == NULL)
        return false;
    sim.steps++;
    sim.last = record->id;
    sim.inside = true;
    sim_run(record);
    sim.inside = false;
    uint32_t length = axo__sim_chance(AXO__SIM_LONG, SIM_LONG_ONE_IN) ? SIM_LONG_NS : SIM_SHORT_NS;
    axo__sim_now.now += (int64_t)axo__sim_choose(AXO__SIM_LONG, length);
    if (sim.outside != NULL)
        sim.outside();
    return true;
}

/* ---- threads ---- */

void axo__os_at_fork(void (*child)(void))
{
    (void)child; /* no program forks in a simulation */
}

const uint32_t axo__os_turns = 1; /* each turn is chosen */

bool axo__os_thread_start(axo__os_thread *thread, const axo__os_body *body, void *arg)
{
    sim_need_seed();
    if (sim.count == SIM_THREADS_MAX)
        return false;
    if (sim.refuse != UINT32_MAX && sim.refuse-- == 0)
        return false;
    thread->body = body;
    thread->arg = arg;
    if (axo__sim_now.fibers)
        return axo__sim_fiber_start(thread);
    sim_record *record = &sim.records[sim.count++];
    *record = (sim_record){.thread = thread, .id = ++sim.started};
    thread->port = record;
    return true;
}

void axo__os_thread_join(axo__os_thread *thread)
{
    if (axo__sim_now.fibers) {
        axo__sim_fiber_join(thread);
        return;
    }
    for (;;) {
        sim_record *record = thread->port;
        if (record->state == SIM_ENDED) {
            sim_forget(record);
            return;
        }
        bool moved = axo__sim_step();
        AXO_ASSERT(moved); /* otherwise the thread never ends: a deadlock */
    }
}

void axo__os_root(void (*fn)(void *arg), void *arg)
{
    fn(arg); /* threads are fibers here */
}

bool axo__os_thread_try_join(axo__os_thread *thread)
{
    if (axo__sim_now.fibers)
        return axo__sim_fiber_try_join(thread);
    sim_record *record = thread->port;
    if (record->state != SIM_ENDED)
        return false;
    sim_forget(record);
    return true;
}
