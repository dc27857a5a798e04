/* follow.h - producers that follow their consumer.
 *
 * A message that goes from one processor to another moves several cache lines, which takes longer
 * than a short handler. So when short producers flood a consumer, a second worker makes all of them
 * slower, and their messages wait in masses. Such producers follow: their entries go to the worker
 * that runs the consumer, its leader, behind all that is ready there. The consumer then empties its
 * mailbox on warm caches before a producer adds to it.
 *
 *   consumer   has left messages in more than AXO__FOLLOW_TURNS turns in a row: it is marked as
 *              behind, with the leader's number, for AXO__FOLLOW_NS from the last such turn
 *   producer   sends AXO__FOLLOW_SENDS messages in a turn to cells that are behind, which ends the
 *              turn, and has messages left: it follows, if it was short
 *   short      AXO__FOLLOW_FAR_NS a message: the other processor takes its part of that. Beside
 *              the consumer AXO__FOLLOW_NEAR_NS, its own time, or the turns of the two had better
 *              go on at the same time: after AXO__FOLLOW_SLOW_MAX longer turns in a row nobody
 *              follows the consumer for AXO__FOLLOW_REST_NS
 *
 * A worker runs a follower when it has nothing else, or when its followers, all together, have
 * waited for AXO__FOLLOW_LATE_NS. Other workers take one if the leader sleeps or is in one turn for
 * as long. An entry uses the cell's node for injectors, so it takes no memory and stands once.
 *
 * Time decides who follows. Where time ends no turn, so that each run is the same, nobody does.
 */
#ifndef AXO__SCHED_FOLLOW_H
#define AXO__SCHED_FOLLOW_H

#include "sched/pool.h"

/* The running cell has left messages in more than AXO__FOLLOW_TURNS turns. */
void axo__follow_behind(const axo__worker *worker, axo__cell *cell);

/* The running actor has sent to a cell that has this mark, not 0, and had work already. true: the
 * cell is behind, and this ends the sender's turn when it has sent enough. */
bool axo__follow_sent(axo__worker *worker, axo__cell *cell, uint32_t mark);

/* The worker's last turn has sent to a cell that is behind, and has released this one with messages
 * left. true: the cell follows, and its entry is pushed. As with the next slot, only while some
 * worker watches, or none is idle. */
bool axo__follow_push(axo__worker *worker, axo__cell *cell);

/* The oldest follower of the leader that this worker can claim; NULL: there is none, or another
 * thread is at the queue. */
axo__cell *axo__follow_take(axo__worker *worker, axo__worker *leader);

/* As axo__follow_take, for a thief. `aged`: the leader has been in one turn for long. */
axo__cell *axo__follow_steal(axo__worker *worker, axo__worker *leader, bool aged);

/* As axo__inject_has_any: a sleeper that reads 0 here is seen by the next pusher. */
static inline bool axo__follow_has_any(const axo__worker *leader)
{
    return axo__inject_has_any(&leader->followers);
}

/* Relaxed: how many follow, for the leader's own turns. */
static inline uint32_t axo__follow_count_any(const axo__worker *leader)
{
    return (uint32_t)axo__a64_load_relaxed(&leader->follows);
}

#endif
