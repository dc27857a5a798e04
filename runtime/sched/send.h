/* send.h - a message's way to its mailbox; the doors for outside threads. */
#ifndef AXO__SCHED_SEND_H
#define AXO__SCHED_SEND_H

#include "sched/ready.h"

/* The running actor has sent to one that a turn ago was more than a turn behind: its own turn ends
 * with this message. */
static inline void axo__worker_yield(axo__worker *worker)
{
    worker->yields = true;
    worker->until_clock = 1;
}

/* Sends a message. AXO_OK, or AXO_EGONE (dead-lettered): it is accepted, counted and consumed.
 * AXO_EFULL, AXO_ENOMEM: nothing has changed, and the message is the caller's.
 * worker NULL: from outside, under the door's mutex; then dead letters come back in *dead, linked
 * by their nodes, for the caller to see to without the mutex: if the status is AXO_EGONE the
 * message, else what has found no room. */
axo_status axo__send_keep(axo__sched *sched, axo__worker *worker, axo__local *local, axo_ref to,
                          axo__message *message, axo__message **dead);

/* As axo__send_keep, and the envelope is consumed in any case; not so an owned payload. */
axo_status axo__send(axo__sched *sched, axo__worker *worker, axo__local *local, axo_ref to,
                     axo__message *message, axo__message **dead);

/* The same from a worker; most go into a lane. */
static inline axo_status axo__send_from(axo__worker *worker, axo_ref to, axo__message *message)
{
    AXO_DEBUG_ASSERT(worker == axo__self);
    axo__cell *cell = axo__table_find(&worker->local.core->table, to);
    if (axo__unlikely(cell == NULL || cell->bounded))
        return axo__send(worker->sched, worker, &worker->local, to, message, NULL);
    axo__a64_bump_owner(&worker->local.count.sent);
    uint64_t before = axo__state_push(&cell->state, &message->node);
    if (axo__state_woken(before) == AXO__ANNOUNCE_PUSH)
        axo__sched_push_ready(worker, cell);
    else if (axo__unlikely((before & AXO__READY) != 0))
        axo__worker_yield(worker);
    return AXO_OK;
}

/* Sends a message that no running actor sends: a timer's. It is accepted, counted and consumed;
 * what finds no room is a dead letter. */
void axo__send_due(axo__worker *worker, axo_ref to, axo__message *message);

/* ---- doors ---- */

/* A door of the pool's for this thread, its mutex held. */
axo__door *axo__door_enter(axo__sched *sched);
void axo__door_leave(axo__door *door);

#endif
