/* sim_wait.c - what threads wait with: mutexes, conditions, latches, parkers, events.
 *
 * At level 1 no other thread is there to exclude: a mutex that is locked twice or unlocked unheld
 * is a bug, and a thread that waits for a condition lets steps be made meanwhile. At level 2 each
 * call is a yield point, and a fiber that waits does not run. POSIX's own mutexes and conditions,
 * of code that stands on POSIX, are the same.
 */
#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "os/sim_inside.h"

#define WAIT_SECOND INT64_C(1000000000)
#define WAIT_MS INT64_C(1000000)
#define WAIT_MUTEX UINT64_C(0x6d75746578)

/* Lies in the place of a pthread_mutex_t. */
typedef struct wait_mutex {
    uint64_t alive;
    uint32_t owner; /* the owner's number plus 1; 0: the mutex is free */
    uint32_t waiters;
} wait_mutex;

AXO_STATIC_ASSERT(sizeof(wait_mutex) <= sizeof(pthread_mutex_t), "it fits");

/* The mutex, which must be alive: a lock after destroy is caught here. */
static wait_mutex *wait_of(pthread_mutex_t *mutex)
{
    wait_mutex *it = (wait_mutex *)(void *)mutex;
    AXO_ASSERT(it->alive == WAIT_MUTEX);
    return it;
}

/* ---- mutex ---- */

int axo__sim_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attr)
{
    (void)attr;
    memset(mutex, 0, sizeof *mutex);
    ((wait_mutex *)(void *)mutex)->alive = WAIT_MUTEX;
    return 0;
}

int axo__sim_mutex_destroy(pthread_mutex_t *mutex)
{
    wait_mutex *it = wait_of(mutex);
    AXO_ASSERT(it->owner == 0);
    it->alive = 0;
    return 0;
}

int axo__sim_mutex_lock(pthread_mutex_t *mutex)
{
    wait_mutex *it = wait_of(mutex);
    uint32_t me = axo__sim_me() + 1;
    AXO__YIELD_POINT();
    AXO_ASSERT(it->owner != me);
    while (it->owner != 0) {
        AXO_ASSERT(axo__sim_now.fibers);
        it->waiters++;
        (void)axo__sim_wait("mutex", it, AXO__NEVER, false);
        it->waiters--;
        AXO_ASSERT(it->alive == WAIT_MUTEX);
    }
    it->owner = me;
    return 0;
}

static void wait_unlock(pthread_mutex_t *mutex)
{
    wait_mutex *it = wait_of(mutex);
    AXO_ASSERT(it->owner == axo__sim_me() + 1);
    it->owner = 0;
    if (it->waiters > 0)
        axo__sim_tell(it);
}

int axo__sim_mutex_unlock(pthread_mutex_t *mutex)
{
    wait_unlock(mutex);
    AXO__YIELD_POINT();
    return 0;
}

bool axo__os_mutex_init(axo__os_mutex *mutex)
{
    return axo__sim_mutex_init(&mutex->mutex, NULL) == 0;
}

void axo__os_mutex_fini(axo__os_mutex *mutex)
{
    (void)axo__sim_mutex_destroy(&mutex->mutex);
}

void axo__os_mutex_lock(axo__os_mutex *mutex)
{
    (void)axo__sim_mutex_lock(&mutex->mutex);
}

void axo__os_mutex_unlock(axo__os_mutex *mutex)
{
    (void)axo__sim_mutex_unlock(&mutex->mutex);
}

/* ---- gate: who waits is told, so that a gate that nobody leaves is a deadlock ---- */

/* No yield point lies between the look and the wait. */
void axo__os_gate_wait(axo__os_gate *gate)
{
    do {
        AXO_ASSERT(axo__sim_now.fibers && axo__a32_peek_owner(&gate->word) != AXO__GATE_GONE);
        while (axo__a32_peek_owner(&gate->word) == AXO__GATE_TAKEN)
            (void)axo__sim_wait("gate", gate, AXO__NEVER, false);
    } while (!axo__os_gate_try(gate));
}

void axo__sim_gate_left(void *gate)
{
    if (axo__sim_now.fibers)
        axo__sim_tell(gate);
}

void axo__os_gate_fini(axo__os_gate *gate)
{
    AXO_ASSERT(axo__a32_peek_owner(&gate->word) == AXO__GATE_FREE);
    axo__a32_store_relaxed(&gate->word, AXO__GATE_GONE);
}

/* ---- condition ---- */

int axo__sim_cond_init(pthread_cond_t *cond, const pthread_condattr_t *attr)
{
    (void)attr;
    memset(cond, 0, sizeof *cond);
    return 0;
}

int axo__sim_cond_destroy(pthread_cond_t *cond)
{
    (void)cond;
    return 0;
}

/* Unlocks and waits without a yield point in between, as POSIX promises. At level 1 a thread that
 * may signal the condition does so in a step. */
static bool wait_cond(pthread_cond_t *cond, pthread_mutex_t *mutex, int64_t deadline)
{
    AXO__YIELD_POINT();
    wait_unlock(mutex);
    bool told = true;
    if (axo__sim_now.fibers)
        told = axo__sim_wait("condition", cond, deadline, true);
    else if (!axo__sim_step())
        axo__sim_now.now = deadline;
    (void)axo__sim_mutex_lock(mutex);
    return told && axo__sim_now.now < deadline;
}

int axo__sim_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
    (void)wait_cond(cond, mutex, AXO__NEVER);
    AXO_ASSERT(axo__sim_now.now < AXO__NEVER); /* otherwise no thread will ever signal it */
    return 0;
}

int axo__sim_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
                            const struct timespec *until)
{
    int64_t deadline = (int64_t)until->tv_sec * WAIT_SECOND + (int64_t)until->tv_nsec;
    return wait_cond(cond, mutex, deadline) ? 0 : ETIMEDOUT;
}

int axo__sim_cond_signal(pthread_cond_t *cond)
{
    /* more threads wake than need be: the contract allows it */
    return axo__sim_cond_broadcast(cond);
}

int axo__sim_cond_broadcast(pthread_cond_t *cond)
{
    if (axo__sim_now.fibers)
        axo__sim_tell(cond);
    AXO__YIELD_POINT();
    return 0;
}

/* No descriptor ever becomes ready: poll only waits for its time. */
int axo__sim_poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
    int64_t deadline = timeout_ms < 0 ? AXO__NEVER : axo__os_now() + timeout_ms * WAIT_MS;
    (void)count;
    if (axo__sim_now.fibers)
        (void)axo__sim_wait("time", fds, deadline, true);
    else if (!axo__sim_step() && deadline != AXO__NEVER)
        axo__sim_now.now = deadline;
    return 0;
}

int axo__sim_clock_gettime(clockid_t clock, struct timespec *out)
{
    (void)clock;
    int64_t now = axo__os_now();
    out->tv_sec = (time_t)(now / WAIT_SECOND);
    out->tv_nsec = (long)(now % WAIT_SECOND);
    return 0;
}

/* ---- parker ---- */

void axo__os_parker_init(axo__os_parker *parker)
{
    parker->word = 0;
}

uint64_t axo__os_parker_ticket(axo__os_parker *parker)
{
    AXO__YIELD_POINT();
    return parker->word;
}

void axo__os_parker_wake(axo__os_parker *parker)
{
    AXO__YIELD_POINT();
    parker->word++;
    if (axo__sim_now.fibers)
        axo__sim_tell(parker);
}

void axo__os_parker_wait(axo__os_parker *parker, uint64_t ticket, int64_t deadline)
{
    AXO_ASSERT(axo__sim_now.fibers); /* at level 1 threads never wait */
    AXO__YIELD_POINT();
    if (parker->word == ticket)
        (void)axo__sim_wait("parker", parker, deadline, true);
}

/* ---- event: there are no descriptors, so `fd` says only whether it would be readable ---- */

static void wait_event(const axo__os_event *event, int fd)
{
    AXO__YIELD_POINT();
    ((axo__os_event *)(uintptr_t)event)->fd = fd;
}

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
    wait_event(event, AXO__SIM_READABLE);
}

void axo__os_event_clear(const axo__os_event *event)
{
    wait_event(event, -1);
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
    AXO__YIELD_POINT();
    latch->set = true;
    if (axo__sim_now.fibers)
        axo__sim_tell(latch);
    AXO__YIELD_POINT();
}

bool axo__os_latch_wait(axo__os_latch *latch, int64_t deadline)
{
    AXO__YIELD_POINT();
    while (!latch->set && axo__sim_now.now < deadline) {
        if (axo__sim_now.fibers) {
            (void)axo__sim_wait("latch", latch, deadline, true);
            continue;
        }
        if (axo__sim_step())
            continue;
        AXO_ASSERT(deadline != AXO__NEVER); /* otherwise no thread will ever set it */
        axo__sim_now.now = deadline;
    }
    return latch->set;
}

bool axo__os_home_init(axo__os_home *home)
{
    static const uint32_t word = 1; /* no program forks here */
    home->word = &word;
    return true;
}

void axo__os_home_fini(axo__os_home *home)
{
    home->word = NULL;
}
