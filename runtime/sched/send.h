/* send.h - a message's way to its mailbox; the doors for outside threads.
 *
 * Three ways lead here: axo__send_from of a running actor, axo__send of any caller, axo__send_due
 * of a timer. An outside thread passes a door first: the door's gate keeps what it reads of cells
 * from being reclaimed, and lends it a local with a cache and counters. */
#ifndef AXO__SCHED_SEND_H
#define AXO__SCHED_SEND_H

#include "sched/follow.h"
#include "sched/ready.h"

/* The running turn ends with this message. */
static inline void axo__worker_yield(axo__worker *worker)
{
    worker->yield_turn = axo__worker_turn(worker);
    worker->until_clock = 1;
}

/* The running actor has sent to a receiver that had work already; `before`: the receiver's word of
 * then. Whether the sender's turn has to be shortened, by axo__worker_sent_more. */
static inline bool axo__worker_sends_much(const axo__cell *cell, uint64_t before)
{
    return (axo__a32_load_relaxed(&cell->state.behind) | (before & AXO__READY)) != 0;
}

/* AXO_OK, so that a send may end with it. */
axo_status axo__worker_sent_more(axo__worker *worker, axo__cell *cell, uint64_t before);

/* Sends a message. AXO_OK, or AXO_EGONE (dead-lettered): the message is accepted, counted and
 * consumed. AXO_EFULL, AXO_ENOMEM, AXO_ETOOBIG: nothing has changed, and the message is the
 * caller's.
 * worker NULL: from outside, inside the door; then dead letters come back in *dead, linked
 * by their nodes, for the caller to report outside: if the status is AXO_EGONE the
 * message itself, else the messages that have found no room. */
axo_status axo__send_keep(axo__sched *sched, axo__worker *worker, axo__local *local, axo_ref to,
                          axo__message *message, axo__message **dead);

/* As axo__send_keep, but the envelope is consumed in any case; an owned payload stays the caller's
 * if the send fails. */
axo_status axo__send(axo__sched *sched, axo__worker *worker, axo__local *local, axo_ref to,
                     axo__message *message, axo__message **dead);

/* What axo__send_from does where it is not the common way. */
axo_status axo__send_rare(axo__worker *worker, axo_ref to, axo__message *message);

/* As axo__send, from a worker, with the common way inline: the message goes into the receiver's
 * lane ([S1] of cell/state.h). READY in the word of before says that the receiver has a backlog. */
static inline __attribute__((always_inline)) axo_status
axo__send_from(axo__worker *worker, axo_ref to, axo__message *message)
{
    AXO_DEBUG_ASSERT(worker == axo__self);
    axo__cell *cell = axo__table_find(&worker->local.core->table, to);
    if (axo__unlikely(cell == NULL || cell->bounded || cell->timed))
        return axo__send_rare(worker, to, message);
    axo__a64_bump_owner(&worker->local.count.sent);
    uint64_t before = axo__state_push(&cell->state, &message->node);
    if (axo__state_woken(before) == AXO__ANNOUNCE_PUSH)
        axo__sched_push_ready(worker, cell);
    else if (axo__unlikely(axo__worker_sends_much(cell, before)))
        return axo__worker_sent_more(worker, cell, before);
    return AXO_OK;
}

/* Sends a timer's message, which no running actor sends. The message is accepted, counted and
 * consumed; a message that finds no room is a dead letter. */
void axo__send_due(axo__worker *worker, axo_ref to, axo__message *message);

/* ---- doors ---- */

/* Enters a door of the pool for the calling thread; leave gives it up. Between the two the thread
 * must not wait, and calls no observer of the program: other threads of the same CPU, if all doors
 * are taken, and the reclaimer wait for it. */
axo__door *axo__door_enter(axo__sched *sched);

/* As axo__door_enter, without a call; NULL: the door of this CPU is taken. */
axo__door *axo__door_try(axo__sched *sched);
void axo__door_leave(axo__door *door);

/* Waits until all threads that are in a door have left it. */
void axo__doors_pass(axo__sched *sched);

#endif
