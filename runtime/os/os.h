/* os.h - the port's contract: threads, waiting, the clock, memory. posix.c and linux.c keep it
 * on a real machine; sim.c keeps it on one thread, with a seed and a clock of its own.
 *
 * A thread is a step function: it does one bounded thing, never blocks, and says what next. Only
 * the port waits, so a simulator that calls the steps itself sees every choice.
 *
 * No function of the port is a cancellation point: a pthread_cancel of a thread of the program that
 * is in one comes later. A thread that the port has made is never cancelled.
 */
#ifndef AXO__OS_OS_H
#define AXO__OS_OS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"

/* ---- clock and chance ---- */

#define AXO__NEVER INT64_MAX

/* Monotonic nanoseconds. Never goes back. */
int64_t axo__os_now(void);

/* 64 bits that nobody can foretell. */
uint64_t axo__os_entropy(void);

/* ---- machine ---- */

/* CPUs that affinity and the container's quota allow this process: at least 1. */
uint32_t axo__os_cpus(void);

/* A number that tells apart threads that run at the same time: only to spread load. */
uint32_t axo__os_cpu_index(void);

/* ---- memory: the default allocator ---- */

void *axo__os_alloc(void *user, size_t size, size_t align);
void axo__os_free(void *user, void *block, size_t size, size_t align);

/* ---- cancel ---- */

/* A pthread_cancel of this thread waits, until it is let with what hold has returned. Around what
 * may be a cancellation point where a thread of the program may be: waits, and functions of the
 * program. */
static inline int axo__os_cancel_hold(void)
{
    int before = PTHREAD_CANCEL_ENABLE;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    return before;
}

static inline void axo__os_cancel_let(int before)
{
    (void)pthread_setcancelstate(before, &before);
}

/* Calls fn(arg), on a thread of the program, which may end in it (pthread_exit): then the process
 * does (base/border.h). A thread that the port has made stands under the same root. */
void axo__os_root(void (*fn)(void *arg), void *arg);

/* ---- mutex: short sections only; never held while user code runs ---- */

typedef struct axo__os_mutex {
    pthread_mutex_t mutex;
} axo__os_mutex;

bool axo__os_mutex_init(axo__os_mutex *mutex);
void axo__os_mutex_fini(axo__os_mutex *mutex);
void axo__os_mutex_lock(axo__os_mutex *mutex);
void axo__os_mutex_unlock(axo__os_mutex *mutex);

/* ---- latch: set once, waited for by outside threads ---- */

typedef struct axo__os_latch {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    bool set;
} axo__os_latch;

bool axo__os_latch_init(axo__os_latch *latch);
void axo__os_latch_fini(axo__os_latch *latch);
void axo__os_latch_set(axo__os_latch *latch);

/* Waits until the latch is set or the clock passes `deadline`; says whether it is set. */
bool axo__os_latch_wait(axo__os_latch *latch, int64_t deadline);

/* ---- parker: an event count, one for each thread that parks ---- */

typedef struct axo__os_parker {
    uint64_t word; /* the port's */
} axo__os_parker;

void axo__os_parker_init(axo__os_parker *parker);

/* The ticket to take before announcing idleness and looking for work a last time. */
uint64_t axo__os_parker_ticket(axo__os_parker *parker);

/* Wakes the thread that waits, or will wait, with a ticket taken before this call. */
void axo__os_parker_wake(axo__os_parker *parker);

/* ---- event: a file descriptor that is readable while it is set; -1 where there are none ---- */

typedef struct axo__os_event {
    int fd;
} axo__os_event;

bool axo__os_event_init(axo__os_event *event);
void axo__os_event_fini(axo__os_event *event);
void axo__os_event_set(const axo__os_event *event);
void axo__os_event_clear(const axo__os_event *event);

/* ---- home: a word that is set in the process that made it and in no child of that ---- */

enum { AXO__HOME_FORKED = 0, AXO__HOME_HERE = 1, AXO__HOME_GONE = 2 };

typedef struct axo__os_home {
    const uint32_t *word; /* after fini: one that says so, as long as nobody writes over this */
} axo__os_home;

bool axo__os_home_init(axo__os_home *home);
void axo__os_home_fini(axo__os_home *home);

static inline bool axo__os_at_home(const axo__os_home *home)
{
    return *home->word == AXO__HOME_HERE;
}

/* Has `child` called in every child that fork() makes, on its one thread; as long as the library is
 * loaded. */
void axo__os_at_fork(void (*child)(void));

/* ---- threads ---- */

typedef enum axo__step {
    AXO__STEP_AGAIN = 0, /* call me again */
    AXO__STEP_PARK = 1,  /* after waiting with my ticket until my deadline; may come early */
    AXO__STEP_EXIT = 2   /* never call me again */
} axo__step;

typedef struct axo__os_thread axo__os_thread;

/* What a thread is made of. All run on the thread itself. */
typedef struct axo__os_body {
    void (*begin)(void *arg);     /* once, first */
    axo__step (*step)(void *arg); /* until it says EXIT */
    void (*sleep)(void *arg);     /* before each wait */
    void (*wake)(void *arg);      /* after each wait */
    void (*end)(void *arg);       /* once, last */
} axo__os_body;

struct axo__os_thread {
    axo__os_parker parker;
    uint64_t ticket;  /* set by the step that says PARK */
    int64_t deadline; /* set by the step that says PARK; AXO__NEVER: none */
    const axo__os_body *body;
    void *arg;
    pthread_t thread;
    axo__a32 ended; /* nothing of it runs any more, but for its return */
    void *port;     /* the simulator's record */
};

/* Turns of actors that a worker may run in one step. */
extern const uint32_t axo__os_turns;

/* Starts a thread, whose parker is initialised: others may wake it before it runs. false: the
 * system refused, nothing was started. */
bool axo__os_thread_start(axo__os_thread *thread, const axo__os_body *body, void *arg);

/* Waits for the thread's end. */
void axo__os_thread_join(axo__os_thread *thread);

/* The same without waiting: false, it has not ended yet. */
bool axo__os_thread_try_join(axo__os_thread *thread);

/* Waits with the thread's ticket until its deadline. Only for the port's own loop. */
void axo__os_parker_wait(axo__os_parker *parker, uint64_t ticket, int64_t deadline);

#endif
