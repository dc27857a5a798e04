/* posix.c - the port on POSIX: threads, mutexes, latches, the clock, memory.
 *
 * Thin faces of pthread functions. A mutex that fails to lock is a destroyed or overwritten system,
 * and the process ends with that line; other errors are bugs of the library.
 *
 * Orders
 *   [P1] store release / load acquire, ended   the thread's writes, for the thread that joins it
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/assert.h"
#include "base/border.h"
#include "os/poll.h"

/* Linux's bound of a thread's name, with the zero. */
#define POSIX_NAME_SIZE 16

#define POSIX_SECOND INT64_C(1000000000)

/* How often a taken gate is looked at without a pause, and then up to when without a sleep. */
#define POSIX_GATE_LOOKS  100
#define POSIX_GATE_YIELDS 110

int64_t axo__os_now(void)
{
    struct timespec t;
    int error = clock_gettime(CLOCK_MONOTONIC, &t);
    AXO_ASSERT(error == 0);
    return (int64_t)t.tv_sec * POSIX_SECOND + (int64_t)t.tv_nsec;
}

int64_t axo__os_wall(void)
{
    struct timespec t;
    int error = clock_gettime(CLOCK_REALTIME, &t);
    AXO_ASSERT(error == 0);
    return (int64_t)t.tv_sec * POSIX_SECOND + (int64_t)t.tv_nsec;
}

void *axo__os_alloc(void *user, size_t size, size_t align)
{
    (void)user;
    /* malloc's own alignment suffices for most blocks. */
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

bool axo__os_mutex_init(axo__os_mutex *mutex)
{
    return pthread_mutex_init(&mutex->mutex, NULL) == 0;
}

void axo__os_mutex_fini(axo__os_mutex *mutex)
{
    (void)pthread_mutex_destroy(&mutex->mutex);
}

/* The end for a destroyed mutex or gate, which no correct call of the library touches: the program
 * has called a system that it had destroyed. */
static __attribute__((noreturn, cold)) void posix_misuse(void)
{
    axo__misuse("a call on a system that axo_system_destroy has freed, or whose memory was "
                "overwritten");
}

static void posix_lock(pthread_mutex_t *mutex)
{
    int error = pthread_mutex_lock(mutex);
    if (axo__unlikely(error != 0))
        posix_misuse();
}

void axo__os_mutex_lock(axo__os_mutex *mutex)
{
    posix_lock(&mutex->mutex);
}

void axo__os_mutex_unlock(axo__os_mutex *mutex)
{
    int error = pthread_mutex_unlock(&mutex->mutex);
    AXO_ASSERT(error == 0);
}

bool axo__os_latch_init(axo__os_latch *latch)
{
    pthread_condattr_t attr;
    latch->set = false;
    if (pthread_mutex_init(&latch->mutex, NULL) != 0)
        return false;
    if (pthread_condattr_init(&attr) != 0)
        goto fail_mutex;
    /* Deadlines are of the monotonic clock, as axo__os_now is. */
    int error = pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    if (error == 0)
        error = pthread_cond_init(&latch->cond, &attr);
    (void)pthread_condattr_destroy(&attr);
    if (error != 0)
        goto fail_mutex;
    return true;
fail_mutex:
    (void)pthread_mutex_destroy(&latch->mutex);
    return false;
}

/* Between two looks at a gate: nothing at first, since who is inside needs a few dozen
 * instructions; then the processor goes to others; then sleeps, from 50 us to 1 ms, so that also a
 * holder of lower priority gets on. */
static void posix_gate_pause(uint32_t looks)
{
    if (looks < POSIX_GATE_LOOKS)
        return;
    if (looks < POSIX_GATE_YIELDS) {
        (void)sched_yield();
        return;
    }
    uint32_t sleeps = looks - POSIX_GATE_YIELDS;
    long pause_ns = sleeps < 20 ? 50000 * (long)(sleeps + 1) : 1000000;
    (void)nanosleep(&(struct timespec){.tv_nsec = pause_ns}, NULL); /* a shorter one is as good */
}

void axo__os_gate_wait(axo__os_gate *gate)
{
    int before = axo__os_cancel_hold();
    for (uint32_t looks = 0;; looks++) {
        uint32_t word = axo__a32_load_relaxed(&gate->word);
        if (word == AXO__GATE_FREE && axo__os_gate_try(gate))
            break;
        if (axo__unlikely(word > AXO__GATE_TAKEN))
            posix_misuse();
        posix_gate_pause(looks); /* ends: who is inside leaves after a bounded number of steps */
    }
    axo__os_cancel_let(before);
}

void axo__os_gate_fini(axo__os_gate *gate)
{
    axo__a32_store_relaxed(&gate->word, AXO__GATE_GONE);
}

void axo__os_latch_fini(axo__os_latch *latch)
{
    (void)pthread_cond_destroy(&latch->cond);
    (void)pthread_mutex_destroy(&latch->mutex);
}

void axo__os_latch_set(axo__os_latch *latch)
{
    posix_lock(&latch->mutex);
    latch->set = true;
    /* The last look of the setting thread at the latch is the unlock below: a waiter that is woken
     * may free the latch as soon as it has the mutex. */
    (void)pthread_cond_broadcast(&latch->cond);
    (void)pthread_mutex_unlock(&latch->mutex);
}

static bool posix_latch_wait(axo__os_latch *latch, int64_t deadline)
{
    int error = 0;
    posix_lock(&latch->mutex);
    struct timespec until = {.tv_sec = (time_t)(deadline / POSIX_SECOND),
                             .tv_nsec = (long)(deadline % POSIX_SECOND)};
    /* A spurious wake-up waits again; the deadline is absolute. */
    while (!latch->set && error != ETIMEDOUT) {
        if (deadline == AXO__NEVER)
            error = pthread_cond_wait(&latch->cond, &latch->mutex);
        else
            error = pthread_cond_timedwait(&latch->cond, &latch->mutex, &until);
    }
    bool set = latch->set;
    (void)pthread_mutex_unlock(&latch->mutex);
    return set;
}

bool axo__os_latch_wait(axo__os_latch *latch, int64_t deadline)
{
    int before = axo__os_cancel_hold();
    bool set = posix_latch_wait(latch, deadline);
    axo__os_cancel_let(before);
    return set;
}

void axo__os_at_fork(void (*child)(void))
{
    /* without memory for the registration nothing is lost: a child may only exec or exit */
    (void)pthread_atfork(NULL, NULL, child);
}

const uint32_t axo__os_turns = 64;

void axo__os_root(void (*fn)(void *arg), void *arg)
{
    /* The clean-up runs only if the thread is ended inside fn; a return pops it. */
    pthread_cleanup_push(axo__border_ended, NULL);
    fn(arg);
    pthread_cleanup_pop(0);
}

/* The port's one loop: the only place where a thread of the library waits. */
static void posix_thread_run(void *argument)
{
    axo__os_thread *thread = argument;
    const axo__os_body *body = thread->body;
    axo__os_thread_tell(thread, true);
    body->begin(thread->arg);
    for (;;) {
        axo__step step = body->step(thread->arg);
        if (step == AXO__STEP_EXIT)
            break;
        if (step == AXO__STEP_PARK) {
            body->sleep(thread->arg);
            axo__os_thread_wait(thread);
            body->wake(thread->arg);
        }
    }
    body->end(thread->arg);
    axo__os_thread_tell(thread, false);
    /* Pairs with the load acquire of axo__os_thread_try_join: the joiner sees all that `end` has
     * written. */
    axo__a32_store_release(&thread->ended, 1); /* [P1] */
}

/* The thread names itself: for another one glibc would open a file. A system that refuses (a
 * sandbox) leaves it the name of the thread that started it. */
static void posix_thread_name(const axo__os_thread *thread)
{
    char name[POSIX_NAME_SIZE];
    if (thread->number == AXO__OS_ONLY)
        (void)snprintf(name, sizeof name, "%s", thread->body->name);
    else
        (void)snprintf(name, sizeof name, "%s%u", thread->body->name, thread->number);
    (void)pthread_setname_np(pthread_self(), name);
}

static void *posix_thread_main(void *thread)
{
    (void)axo__os_cancel_hold(); /* for the thread's whole life */
    posix_thread_name(thread);
    axo__os_root(posix_thread_run, thread);
    return NULL;
}

static int posix_thread_create(axo__os_thread *thread)
{
    const axo__os_common *common = thread->common;
    pthread_attr_t attr;
    if (common == NULL || (common->stack == 0 && common->guard == 0))
        return pthread_create(&thread->thread, NULL, posix_thread_main, thread);
    int error = pthread_attr_init(&attr);
    if (error != 0)
        return error;
    if (common->stack != 0)
        error = pthread_attr_setstacksize(&attr, common->stack);
    if (error == 0 && common->guard != 0)
        error = pthread_attr_setguardsize(&attr, common->guard);
    if (error == 0)
        error = pthread_create(&thread->thread, &attr, posix_thread_main, thread);
    (void)pthread_attr_destroy(&attr);
    return error;
}

/* Starts a thread with all signals blocked but the synchronous ones and the profiler's: the
 * program's handlers run on its own threads. The mask is set before pthread_create, so the thread
 * never runs without it. */
bool axo__os_thread_start(axo__os_thread *thread, const axo__os_body *body, void *arg)
{
    sigset_t all;
    sigset_t before;
    thread->body = body;
    thread->arg = arg;
    axo__a32_store_relaxed(&thread->ended, 0);
    sigfillset(&all);
    sigdelset(&all, SIGSEGV);
    sigdelset(&all, SIGBUS);
    sigdelset(&all, SIGFPE);
    sigdelset(&all, SIGILL);
    sigdelset(&all, SIGTRAP);
    sigdelset(&all, SIGPROF);
    if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0)
        return false;
    int error = posix_thread_create(thread);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error == 0;
}

void axo__os_thread_join(axo__os_thread *thread)
{
    int before = axo__os_cancel_hold();
    int error = pthread_join(thread->thread, NULL);
    AXO_ASSERT(error == 0);
    axo__os_cancel_let(before);
}

bool axo__os_thread_try_join(axo__os_thread *thread)
{
    /* Pairs with the store release of posix_thread_run. The join below waits only for the thread's
     * return. */
    if (axo__a32_load_acquire(&thread->ended) == 0) /* [P1] */
        return false;
    axo__os_thread_join(thread);
    return true;
}
