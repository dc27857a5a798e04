/* keep.h - whether crowds of short work are left to the worker that has them.
 *
 * A newborn that lives for one message, a child that is restarted among a thousand, an actor that
 * answers at once whoever asks: each costs more to carry to another worker than to run there. The
 * thief fetches its cell, its state, its message; its end and what it sends move the others' lines.
 * Whether carrying pays is seen from the last haul: what was stolen together, how long the thief
 * was busy until it had to look again, and for how many turns. If that was less than its price, or
 * the work has moved rather than been shared, the pool keeps such cells for AXO__WATCH_MIN_NS, and
 * twice as long after each further haul of that sort, up to AXO__KEEP_MAX_NS; a haul that was worth
 * it halves that. So while nothing is gained one haul in so long is the price of knowing. The price
 * grows with the way of a cache line from the victim, which the thief times whenever it looks.
 *
 * A crowd whose last cell would wait for more than AXO__WATCH_MAX_NS at its worker's pace is taken
 * all the same, by the watcher, so no cell pays with its latency for what others have cost. Where
 * nobody watches its worker offers it, as soon as it is kept no more (axo__worker_offer_ready).
 *
 * Kept cells are left to a worker that moves, keep no other worker from parking and wake none,
 * unless nobody else would look at them: one question for the thief (steal.c), the sleeper (park.c)
 * and the one that tells (ready.c). So a worker that stays away sleeps, and the watcher looks again
 * at whoever has not moved.
 */
#ifndef AXO__SCHED_KEEP_H
#define AXO__SCHED_KEEP_H

#include "sched/pool.h"

/* Whether such entries are kept now. The word is written by thieves, without an order: an old value
 * is a look more, or one later. */
static inline bool axo__keep_holds(const axo__worker *worker, axo__keep what)
{
    return worker->now < (int64_t)axo__a64_load_relaxed(&worker->sched->keep_until[what]);
}

/* As how many entries `count` of them are offered to others, or seen by a sleeper: one keeps a
 * watcher up. */
static inline uint32_t axo__keep_count(const axo__worker *worker, axo__keep what, uint32_t count)
{
    return count > 1 && axo__keep_holds(worker, what) ? 1 : count;
}

/* The worker has waited so long for a line that another one has written since. */
void axo__keep_line(axo__worker *worker, int64_t ns);

/* The worker has stolen so many from the victim. */
void axo__keep_haul(axo__worker *worker, const axo__worker *victim, axo__keep what, uint32_t count);

/* The worker is out of work again, and has just read the clock: what the last haul says of the
 * next. */
void axo__keep_judge(axo__worker *worker);

#endif
