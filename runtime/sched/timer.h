/* timer.h - timers that runtime parts embed, and the wheel of a worker behind its mutex.
 *
 * Each worker of the default pool has a wheel. A timer is put into the wheel that is near to the
 * thread that arms it, and may be disarmed from any thread; mostly the wheel's owner fires it.
 *
 * How a part of the runtime uses a timer of its own, without taking memory:
 *
 *     struct thing { axo__timer timer; ... };              // zeroed: never armed
 *     static int64_t thing_fire(axo__worker *worker, axo__timer *timer, uint64_t number)
 *     {
 *         struct thing *it = (void *)timer;                // tell its cell; never run user code
 *         axo__sched_announce_system(worker, it->cell);
 *         return 0;                                        // or: again, n ns from now
 *     }
 *     static const axo__timer_ops ops = {.fire = thing_fire, .finish = axo__timer_again};
 *     it->timer.ops = &ops;
 *     (void)axo__timer_arm(worker, &it->timer, axo__timer_due(axo__core_now(core), delay));
 *     if (axo__timer_disarm(&it->timer)) ...               // true: it will not fire
 *
 *   The thing's owner calls arm and disarm, one after the other. fire runs on the worker that fires
 *   the wheel, beside the owner, in the midst of a turn or between two turns, without a lock. false
 *   from disarm: the timer has fired, is about to, or was never armed; the owner must not arm it
 *   again before fire is known to have run. The memory must stay until then: the memory of a cell,
 *   or memory that the cell's expiry frees, does, since fire runs within one step of a worker; the
 *   thread that frees it disarms first.
 *
 * Wheels belong to the workers of the core's first pool (core->sched); a thread elsewhere uses one
 * of theirs. One worker at a time fires a wheel (`firing`): mostly its owner; when the owner is
 * stuck in a turn, a worker that has nothing to do, or the first spare.
 *
 * Arm against park. The owner sleeps until the `next` that it reads (with a clock of the program's,
 * for which no thread can wait, until it is woken); an armer elsewhere may lower `next` at the same
 * time, or the program may move its clock:
 *   sleeper  (1) take a ticket  (2) state = PARKED, then parked += 1 (read-modify-write)
 *            (3) read next: the deadline  (4) wait with the ticket
 *   armer    (5) store next  (6) parked += 0 (read-modify-write)  (7) PARKED -> AWAKE and wake
 *   (2) and (6) are read-modify-writes of one word, so the later one reads the write of the earlier
 *   one, directly or through others of them, and synchronizes with it. (6) first: (3) sees (5), so
 *   the deadline is the new one. (2) first: (7) sees PARKED, and a wake-up after the ticket of (1)
 *   ends the wait of (4) at once; or another thread has taken the owner out of PARKED and wakes it.
 *
 * Orders
 *   [W1] seq_cst, parked   (2) against (6)
 *   [W4] as in sched/wake.h
 */
#ifndef AXO__SCHED_TIMER_H
#define AXO__SCHED_TIMER_H

#include "sched/pool.h"
#include "sched/wheel.h"

typedef struct axo__timer axo__timer;
typedef struct axo__scheduled_chunk axo__scheduled_chunk;

/* The functions of a kind of timers, called when a timer's time has come. */
typedef struct axo__timer_ops {
    /* Without a lock. `number` is the arming's. Returns 0: the timer is done, and its memory may be
     * gone already; above 0: the timer is to fire again, after as many nanoseconds. */
    int64_t (*fire)(axo__worker *worker, axo__timer *timer, uint64_t number);
    /* Under the wheel's mutex, after fire, which has returned `again`; `now` is the time to which
     * the wheel has been moved. axo__timer_again serves a kind that only arms its timer again. */
    void (*finish)(axo__timers *timers, axo__worker *worker, axo__timer *timer, int64_t again,
                   int64_t now);
} axo__timer_ops;

struct axo__timer {
    axo__wheel_node node; /* first */
    const axo__timer_ops *ops;
    axo__timers *home;    /* the wheel in which the timer was last armed */
    uint64_t number;      /* of that arming; a wheel never gives a number twice */
};

/* The scheduled messages of a wheel; see scheduled.h. Records come in chunks; of the chunks that
 * are empty, all but the `spare` one go back to the allocator. */
typedef struct axo__scheduled_all {
    axo__scheduled_chunk **chunks;
    uint32_t room;
    uint32_t count;
    uint32_t marked;             /* to run at close */
    axo__scheduled_chunk *open;  /* chunks with room */
    axo__scheduled_chunk *spare; /* the one empty chunk that is kept; NULL: there is none */
} axo__scheduled_all;

/* A worker's wheel. `next` stands on a line of its own, since other workers read it too. */
struct axo__timers {
    axo__os_mutex mutex; /* guards the fields below but `next`; a leaf: under it only the pool's */
    axo__core *core;
    axo__worker *owner;
    uint64_t number;     /* of the last arming or scheduled message */
    uint64_t armed;      /* timers in the wheel, and those that stand still */
    uint64_t fired;      /* taken out of it as their time had come */
    bool firing;         /* a worker is firing this wheel */
    bool closing;        /* /user stops: messages that are marked for that have been sent */
    bool closed;         /* no timer is armed or fired any more */
    axo__scheduled_all scheduled;
    axo__wheel_list still; /* timers whose time stands still (cell/paused.h) */
    axo__wheel wheel;
    _Alignas(AXO__CACHE_LINE) axo__a64 next; /* written under the mutex */
};

/* Makes the wheel of a worker; NULL: no memory. */
axo__timers *axo__timers_make(axo__worker *owner);
void axo__timers_free(axo__timers *timers);

/* The time from which a timer may be due; AXO__NEVER: none before the last moment of all. `timers`
 * is NULL for a worker that has no wheel. */
static inline int64_t axo__timers_next(const axo__timers *timers)
{
    return timers != NULL ? (int64_t)axo__a64_load_relaxed(&timers->next) : AXO__NEVER;
}

/* The tick by which a delay of at least 0 is over. A program's own clock may be near the end of all
 * numbers: a sum beyond the end is a time that never comes. */
static inline uint64_t axo__timer_due(int64_t now, int64_t delay)
{
    return now > INT64_MAX - delay ? AXO__TICK_NEVER : axo__tick_at(now + delay);
}

/* The wheel to use on this worker, or inside this door. */
axo__timers *axo__timers_here(axo__local *local);

/* Arms a timer that is not armed; its `ops` is set. false: the system has ended, and the timer will
 * not fire. */
bool axo__timer_arm(axo__worker *worker, axo__timer *timer, uint64_t due);

/* true: the timer was armed and will not fire. Any thread. */
bool axo__timer_disarm(axo__timer *timer);

/* Fires a bounded number of the timers that are due; false: none was, another worker is firing this
 * wheel, or the system has ended. The system's end waits for a worker that fires, so the pool's
 * `idle` is called when the worker is done. */
bool axo__timers_fire(axo__worker *worker, axo__timers *timers);

/* Fires overdue timers in the wheels of other workers of the same pool, which have been in a turn
 * for too long to do so themselves. true: some timer was overdue. */
bool axo__timers_fire_late(axo__worker *worker);

/* A `finish` for kinds of timers: arms the timer again if its fire has asked for that. */
void axo__timer_again(axo__timers *timers, axo__worker *worker, axo__timer *timer, int64_t again,
                      int64_t now);

/* Whether a timer is due at `time`, also at the last moment of all. */
bool axo__timers_due(axo__timers *timers, int64_t time);

/* Whether the wheel waits for somebody to fire it at `time`, or to move timers down: not if it has
 * ended. */
bool axo__timers_wait(axo__timers *timers, int64_t time);

/* The program's clock has been moved: wakes the workers that have timers due. Any thread. Steps (5)
 * to (7): the clock stands in the place of `next`. */
void axo__timers_look(axo__sched *sched);

/* put, under the mutex, puts a timer into the wheel and returns whether `next` has come nearer;
 * told, after the mutex, takes that answer and wakes the owner if need be. */
bool axo__timers_put(axo__timers *timers, axo__timer *timer, uint64_t due, int64_t now);
void axo__timers_told(axo__timers *timers, const axo__worker *worker, bool nearer);

/* Under the mutex: takes an armed timer out of the wheel, or from those that stand still. */
void axo__timers_take(axo__timers *timers, axo__timer *timer);

/* Under the mutex: puts a timer that is in no wheel behind those that stand still. */
void axo__timers_keep(axo__timers *timers, axo__timer *timer);

#endif
