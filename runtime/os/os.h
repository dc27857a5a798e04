/* os.h - the port's contract: threads, waiting, the clock, memory. posix.c and linux.c keep it
 * on a real machine; sim.c keeps it on one thread, with a seed and a clock of its own.
 *
 * A thread is a step function: it does one bounded thing, never blocks, and says what next. Only
 * the port waits, so a simulator that calls the steps itself sees every choice.
 *
 * No function of the port is a cancellation point: a pthread_cancel of a thread of the program that
 * is in a function of the port takes effect later. A thread that the port has made is never
 * cancelled.
 *
 * Orders
 *   [P1] add acq_rel, parker    what the waker has read and written comes before the wake-up;
 *                               pairs with the acquire of a ticket and of the end of a wait
 *   [P2] cas acq_rel, gate      the one that enters sees what all before it have written inside
 *   [P3] store release, gate    publishes what was written inside to the next [P2]
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

/* Monotonic nanoseconds of the operating system's clock, which never goes back. */
int64_t axo__os_now(void);

/* Nanoseconds since 1970 in UTC, by the operating system's clock, which may be set back. For lines
 * of the log only. */
int64_t axo__os_wall(void);

/* 64 bits that no program can foretell. */
uint64_t axo__os_entropy(void);

/* ---- machine ---- */

/* CPUs that affinity and the container's quota allow this process: at least 1. */
uint32_t axo__os_cpus(void);

/* A number that tells apart threads that run at the same time: only to spread load over doors. */
uint32_t axo__os_cpu_index(void);

/* ---- memory: the default allocator ---- */

void *axo__os_alloc(void *user, size_t size, size_t align);
void axo__os_free(void *user, void *block, size_t size, size_t align);

/* A stack of at least `size` bytes, zeroed, with a page below it that no access passes; NULL: no
 * memory. Not from the program's allocator: signal handlers run on it. */
void *axo__os_stack_alloc(size_t size);
void axo__os_stack_free(void *stack, size_t size);

/* ---- cancel ---- */

/* A pthread_cancel of this thread waits until axo__os_cancel_let is given what hold has returned.
 * Holding is needed where a thread of the program may be at a cancellation point: around waits, and
 * around functions of the program. */
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

/* Calls fn(arg) on a thread of the program. If the thread ends inside (pthread_exit), the process
 * ends (base/border.h). A thread that the port has made stands under the same root. */
void axo__os_root(void (*fn)(void *arg), void *arg);

/* ---- mutex: short sections only; never held while user code runs ---- */

typedef struct axo__os_mutex {
    pthread_mutex_t mutex;
} axo__os_mutex;

bool axo__os_mutex_init(axo__os_mutex *mutex);
void axo__os_mutex_fini(axo__os_mutex *mutex);
void axo__os_mutex_lock(axo__os_mutex *mutex);
void axo__os_mutex_unlock(axo__os_mutex *mutex);

/* ---- gate: a mutex of one locked instruction, for sections of a few dozen instructions ---- */

/* The simulator's waits are told; on a machine they look again by the clock. */
#ifndef AXO__GATE_LEFT
#define AXO__GATE_LEFT(gate) ((void)0)
#endif

enum { AXO__GATE_FREE = 0, AXO__GATE_TAKEN = 1, AXO__GATE_GONE = 2 };

/* Zeroed: free. Who finds it taken sleeps by the clock, and nobody wakes it, so leaving is a
 * store. */
typedef struct axo__os_gate {
    axo__a32 word;
} axo__os_gate;

void axo__os_gate_fini(axo__os_gate *gate);

/* The slow way of axo__os_gate_enter: looks again, ever less often, until the gate is free. */
void axo__os_gate_wait(axo__os_gate *gate);

/* false: the gate is taken. */
static inline bool axo__os_gate_try(axo__os_gate *gate)
{
    uint32_t free = AXO__GATE_FREE;
    return axo__a32_cas_acq_rel(&gate->word, &free, AXO__GATE_TAKEN); /* [P2] */
}

static inline void axo__os_gate_enter(axo__os_gate *gate)
{
    if (__builtin_expect(!axo__os_gate_try(gate), 0))
        axo__os_gate_wait(gate);
}

static inline void axo__os_gate_leave(axo__os_gate *gate)
{
    axo__a32_store_release(&gate->word, AXO__GATE_FREE); /* [P3] */
    AXO__GATE_LEFT(gate);
}

/* ---- latch: set once, waited for by outside threads ---- */

typedef struct axo__os_latch {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    bool set;
} axo__os_latch;

bool axo__os_latch_init(axo__os_latch *latch);
void axo__os_latch_fini(axo__os_latch *latch);
void axo__os_latch_set(axo__os_latch *latch);

/* Waits until the latch is set or the clock passes `deadline`; the result says whether it is set.
 * What the setting thread wrote before is visible then. */
bool axo__os_latch_wait(axo__os_latch *latch, int64_t deadline);

/* ---- parker: an event count, one for each thread that parks ---- */

typedef struct axo__os_parker {
    uint64_t word; /* the port's: a ck_ec64, or the simulator's count */
} axo__os_parker;

void axo__os_parker_init(axo__os_parker *parker);

/* The ticket that a thread takes before it announces idleness and looks for work a last time: step
 * (1) of sched/wake.h. */
uint64_t axo__os_parker_ticket(axo__os_parker *parker);

/* Wakes the thread that waits, or will wait, with a ticket taken before this call: no wake-up falls
 * between the last look and the wait. */
void axo__os_parker_wake(axo__os_parker *parker);

/* ---- event: a file descriptor that is readable while it is set; -1 where there are none ---- */

typedef struct axo__os_event {
    int fd;
} axo__os_event;

bool axo__os_event_init(axo__os_event *event);
void axo__os_event_fini(axo__os_event *event);
void axo__os_event_set(const axo__os_event *event);
void axo__os_event_clear(const axo__os_event *event);

/* ---- out: what sinks of the log write to; in out.c, for every port ---- */

/* Writes all bytes with one call of the operating system. false: not all were taken. */
bool axo__os_write(int fd, const void *bytes, size_t count);

/* A socket for datagrams to sockets of this machine; -1: there is none. */
int axo__os_datagram_open(void);

/* Bytes of a path that a socket may have, with its closing zero. */
#define AXO__OS_SOCKET_PATH 108

/* Sends a datagram to the socket that has this path now. Never waits. false: it was not taken. */
bool axo__os_datagram_send(int socket, const char *path, const void *bytes, size_t count);
void axo__os_datagram_close(int socket);

/* The number of this process. */
int64_t axo__os_process(void);

/* ---- home: a word that is set in the process that made it and in no child of that ---- */

enum { AXO__HOME_FORKED = 0, AXO__HOME_HERE = 1, AXO__HOME_GONE = 2 };

typedef struct axo__os_home {
    /* points to AXO__HOME_GONE after fini, as long as the struct is not overwritten */
    const uint32_t *word;
} axo__os_home;

bool axo__os_home_init(axo__os_home *home);
void axo__os_home_fini(axo__os_home *home);

static inline bool axo__os_at_home(const axo__os_home *home)
{
    return *home->word == AXO__HOME_HERE;
}

/* Has `child` called in every child that fork() makes, on the child's one thread; for as long as
 * the library is loaded. */
void axo__os_at_fork(void (*child)(void));

/* ---- threads ---- */

typedef enum axo__step {
    AXO__STEP_AGAIN = 0, /* the port calls the step again at once */
    /* the port waits with the thread's ticket until its deadline; the wait may end early */
    AXO__STEP_PARK = 1,
    AXO__STEP_EXIT = 2   /* the port calls the step never again */
} axo__step;

typedef struct axo__os_thread axo__os_thread;
typedef struct axo__os_poll axo__os_poll; /* os/poll.h */

/* A thread that is the only one of its body in a system. */
#define AXO__OS_ONLY UINT32_MAX

/* The functions that a thread is made of. All run on the thread itself. */
typedef struct axo__os_body {
    /* What debuggers and top call the thread, before its `number`: 15 bytes together. */
    const char *name;
    uint32_t kind;                /* an axo_thread_kind */
    void (*begin)(void *arg);     /* once, first */
    axo__step (*step)(void *arg); /* until it says EXIT */
    void (*sleep)(void *arg);     /* before each wait */
    void (*wake)(void *arg);      /* after each wait */
    void (*end)(void *arg);       /* once, last */
} axo__os_body;

/* What a system's threads have in common. */
typedef struct axo__os_common {
    size_t stack; /* bytes of a stack; 0: as the operating system has it */
    size_t guard; /* bytes below a stack that no access passes; 0: as the operating system has it */
    /* Told on each thread, before its body begins and when it has ended; NULL: it is not. */
    void (*announce)(void *user, const axo__os_thread *thread, bool begins);
    void *user;
} axo__os_common;

struct axo__os_thread {
    axo__os_parker parker;
    uint64_t ticket;  /* set by the step that says PARK */
    int64_t deadline; /* set by the step that says PARK; AXO__NEVER: none */
    const axo__os_body *body;
    void *arg;
    pthread_t thread;
    bool polls;       /* set by the step that says PARK: waits at `poll`, not at the parker */
    axo__aptr poll;   /* the last axo__os_poll at which the thread has waited */
    axo__a32 polling; /* 1: it waits there, or is about to; see os/poll.h */
    axo__a32 ended; /* 1: no function of the body runs any more; set before the thread returns */
    uint32_t number; /* behind the body's name, set before the start; AXO__OS_ONLY: none */
    const axo__os_common *common; /* set before the start; NULL: nothing */
    void *port;     /* the simulator's record */
};

/* Turns of actors that a worker may run in one step: many on a machine, one in the simulator, which
 * chooses before each. */
extern const uint32_t axo__os_turns;

/* Each port's threads call it before `begin` and after `end`. */
static inline void axo__os_thread_tell(const axo__os_thread *thread, bool begins)
{
    if (thread->common != NULL && thread->common->announce != NULL)
        thread->common->announce(thread->common->user, thread, begins);
}

/* Starts a thread, whose parker is initialised: other threads may wake it before it runs. false:
 * the system refused, and nothing was started. */
bool axo__os_thread_start(axo__os_thread *thread, const axo__os_body *body, void *arg);

/* Waits for the thread's end. */
void axo__os_thread_join(axo__os_thread *thread);

/* Joins the thread if it has ended; false: it has not ended yet. */
bool axo__os_thread_try_join(axo__os_thread *thread);

/* Waits with a ticket until a deadline; returns early if the parker was woken since the ticket was
 * taken, or for no reason. Only for the port's own loop. */
void axo__os_parker_wait(axo__os_parker *parker, uint64_t ticket, int64_t deadline);

#endif
