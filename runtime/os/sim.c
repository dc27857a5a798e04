/* sim.c - the port on one thread: a seed picks who steps next, and the clock is its own.
 *
 * A thread is a record. It is READY, or PARKED with the ticket and the deadline of the step that
 * said so; a parked one can run when its parker has moved on, when its deadline has passed, and
 * now and then for no reason, as the contract allows. Only the calls that wait for something from
 * outside (a latch, a join) and axo__sim_step step threads; they never do it inside a step.
 */
#include "os/sim.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/random.h"

/* Threads at once. */
#define SIM_THREADS_MAX 1024
#define SIM_CPUS 4
/* The clock begins here: not at zero, which hides what starts at zero. */
#define SIM_EPOCH INT64_C(1000000000)
/* A step takes less than this; a long one, one of SIM_LONG_ONE_IN, up to SIM_LONG_NS. */
#define SIM_SHORT_NS 1500
#define SIM_LONG_NS 3000000
#define SIM_LONG_ONE_IN 512
/* One wait of this many ends early for no reason. */
#define SIM_EARLY_ONE_IN 200
/* Now and then a thread gets no turn for so many steps, as long as another can run. */
#define SIM_STARVE_ONE_IN 150
#define SIM_STARVE_STEPS 300

typedef enum sim_state {
    SIM_FRESH = 0, /* not begun */
    SIM_READY = 1,
    SIM_PARKED = 2,
    SIM_ENDED = 3
} sim_state;

typedef struct sim_record {
    axo__os_thread *thread;
    sim_state state;
    uint64_t starved_until; /* a step's number */
} sim_record;

typedef struct sim_world {
    axo__random order;   /* who is next */
    axo__random time;    /* how long it takes */
    axo__random entropy; /* what the system is told */
    int64_t now;
    uint64_t steps;
    uint32_t count;      /* of records */
    uint32_t refuse;     /* starts until one is refused; UINT32_MAX: none is */
    bool seeded;
    bool inside;         /* a step is running */
    void (*outside)(void);
    sim_record records[SIM_THREADS_MAX];
} sim_world;

/* The one thread's one world. */
static sim_world sim;

static void sim_seed(uint64_t seed)
{
    memset(&sim, 0, sizeof sim);
    axo__random_init(&sim.order, seed, UINT64_C(0x6f72646572));
    axo__random_init(&sim.time, seed, UINT64_C(0x74696d65));
    axo__random_init(&sim.entropy, seed, UINT64_C(0x656e74726f7079));
    sim.now = SIM_EPOCH;
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
    return sim.steps;
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
    sim.now += (int64_t)axo__random_below(&sim.time, 64);
    return sim.now;
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
    return axo__random_below(&sim.order, SIM_CPUS);
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

/* ---- mutex: nobody to exclude, but one that is locked twice or unlocked unheld is a bug ---- */

bool axo__os_mutex_init(axo__os_mutex *mutex)
{
    pthread_mutexattr_t attr;
    if (pthread_mutexattr_init(&attr) != 0)
        return false;
    int error = pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
    if (error == 0)
        error = pthread_mutex_init(&mutex->mutex, &attr);
    (void)pthread_mutexattr_destroy(&attr);
    return error == 0;
}

void axo__os_mutex_fini(axo__os_mutex *mutex)
{
    int error = pthread_mutex_destroy(&mutex->mutex);
    AXO_ASSERT(error == 0);
}

void axo__os_mutex_lock(axo__os_mutex *mutex)
{
    int error = pthread_mutex_lock(&mutex->mutex);
    AXO_ASSERT(error == 0);
}

void axo__os_mutex_unlock(axo__os_mutex *mutex)
{
    int error = pthread_mutex_unlock(&mutex->mutex);
    AXO_ASSERT(error == 0);
}

/* ---- parker ---- */

void axo__os_parker_init(axo__os_parker *parker)
{
    parker->word = 0;
}

uint64_t axo__os_parker_ticket(axo__os_parker *parker)
{
    return parker->word;
}

void axo__os_parker_wake(axo__os_parker *parker)
{
    parker->word++;
}

void axo__os_parker_wait(axo__os_parker *parker, uint64_t ticket, int64_t deadline)
{
    (void)parker;
    (void)ticket;
    (void)deadline;
    axo__panic("the simulator's threads never wait", __FILE__, __LINE__);
}

/* ---- who is next ---- */

static bool sim_can_run(const sim_record *record)
{
    const axo__os_thread *thread = record->thread;
    switch (record->state) {
    case SIM_FRESH:
    case SIM_READY:
        return true;
    case SIM_PARKED:
        return thread->parker.word != thread->ticket || thread->deadline <= sim.now;
    case SIM_ENDED:
        break;
    }
    return false;
}

/* Counts those that can run and are not starved (or, with `all`, those that can run). */
static uint32_t sim_count(bool all)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < sim.count; i++) {
        const sim_record *record = &sim.records[i];
        if (sim_can_run(record) && (all || record->starved_until <= sim.steps))
            count++;
    }
    return count;
}

static sim_record *sim_at(uint32_t index, bool all)
{
    for (uint32_t i = 0; i < sim.count; i++) {
        sim_record *record = &sim.records[i];
        if (!sim_can_run(record) || (!all && record->starved_until > sim.steps))
            continue;
        if (index-- == 0)
            return record;
    }
    return NULL;
}

/* The clock goes to the first deadline; false: there is none. */
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
    if (first > sim.now)
        sim.now = first;
    return true;
}

static sim_record *sim_pick(void)
{
    if (sim_count(true) == 0 && !sim_jump())
        return NULL;
    sim_record *any = &sim.records[axo__random_below(&sim.order, sim.count)];
    if (axo__random_below(&sim.order, SIM_EARLY_ONE_IN) == 0 && any->state == SIM_PARKED)
        return any;
    if (axo__random_below(&sim.order, SIM_STARVE_ONE_IN) == 0)
        any->starved_until = sim.steps + axo__random_below(&sim.order, SIM_STARVE_STEPS);
    bool all = sim_count(false) == 0;
    return sim_at(axo__random_below(&sim.order, sim_count(all)), all);
}

static void sim_forget(sim_record *record)
{
    *record = sim.records[--sim.count];
    record->thread->port = record;
}

static void sim_run(sim_record *record)
{
    axo__os_thread *thread = record->thread;
    const axo__os_body *body = thread->body;
    if (record->state == SIM_FRESH)
        body->begin(thread->arg);
    if (record->state == SIM_PARKED)
        body->wake(thread->arg);
    record->state = SIM_READY;
    axo__step step = body->step(thread->arg);
    if (step == AXO__STEP_PARK) {
        body->sleep(thread->arg);
        record->state = SIM_PARKED;
    } else if (step == AXO__STEP_EXIT) {
        body->end(thread->arg);
        record->state = SIM_ENDED;
    }
}

bool axo__sim_step(void)
{
    AXO_ASSERT(!sim.inside);
    sim_record *record = sim.count > 0 ? sim_pick() : NULL;
    if (record == NULL)
        return false;
    sim.steps++;
    sim.inside = true;
    sim_run(record);
    sim.inside = false;
    uint32_t length = SIM_SHORT_NS;
    if (axo__random_below(&sim.time, SIM_LONG_ONE_IN) == 0)
        length = SIM_LONG_NS;
    sim.now += (int64_t)axo__random_below(&sim.time, length);
    if (sim.outside != NULL)
        sim.outside();
    return true;
}

/* ---- threads ---- */

const uint32_t axo__os_turns = 1; /* each is chosen */

bool axo__os_thread_start(axo__os_thread *thread, const axo__os_body *body, void *arg)
{
    sim_need_seed();
    if (sim.count == SIM_THREADS_MAX)
        return false;
    if (sim.refuse != UINT32_MAX && sim.refuse-- == 0)
        return false;
    thread->body = body;
    thread->arg = arg;
    sim_record *record = &sim.records[sim.count++];
    *record = (sim_record){.thread = thread};
    thread->port = record;
    return true;
}

void axo__os_thread_join(axo__os_thread *thread)
{
    for (;;) {
        sim_record *record = thread->port;
        if (record->state == SIM_ENDED) {
            sim_forget(record);
            return;
        }
        bool moved = axo__sim_step();
        AXO_ASSERT(moved); /* else the thread never ends */
    }
}

bool axo__os_thread_try_join(axo__os_thread *thread)
{
    sim_record *record = thread->port;
    if (record->state != SIM_ENDED)
        return false;
    sim_forget(record);
    return true;
}

/* ---- event ---- */

bool axo__os_event_init(axo__os_event *event)
{
    event->fd = -1;
    return true;
}

void axo__os_event_fini(axo__os_event *event)
{
    (void)event;
}

void axo__os_event_set(const axo__os_event *event)
{
    (void)event;
}

void axo__os_event_clear(const axo__os_event *event)
{
    (void)event;
}

/* ---- latch ---- */

bool axo__os_latch_init(axo__os_latch *latch)
{
    latch->set = false;
    return true;
}

void axo__os_latch_fini(axo__os_latch *latch)
{
    (void)latch;
}

void axo__os_latch_set(axo__os_latch *latch)
{
    latch->set = true;
}

bool axo__os_latch_wait(axo__os_latch *latch, int64_t deadline)
{
    while (!latch->set && sim.now < deadline) {
        if (axo__sim_step())
            continue;
        AXO_ASSERT(deadline != AXO__NEVER); /* else nobody will ever set it */
        sim.now = deadline;
    }
    return latch->set;
}
