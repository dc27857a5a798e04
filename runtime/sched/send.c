/* send.c - the way of a message to a mailbox; the doors for outside threads.
 *
 * Most messages go into the lane of the receiver's word in one compare-and-swap, which also says
 * whether an entry has to be pushed. A bounded mailbox takes the second way, send_bounded, under
 * its mutex, and may refuse, drop or hold. Each accepted message is counted as sent exactly once,
 * and each message that finds no receiver becomes a dead letter (D7).
 */
#include "sched/send.h"

#include "cell/event.h"
#include "cell/peers.h"
#include "mailbox/walled.h"
#include "sched/figures.h"
#include "sched/parked.h"

/* Reports the dead letters of a call: here on a worker; outside, the caller gets them in *dead and
 * reports them when it has left the door, since an observer must not run inside a door. */
static void send_bury(const axo__worker *worker, axo__local *local, axo_ref to, axo__chain *letters,
                      axo_dead_reason reason, axo__message **dead)
{
    axo__message *message;
    AXO_DEBUG_ASSERT(worker != NULL || dead != NULL);
    if (worker == NULL) {
        *dead = letters->first;
        return;
    }
    while ((message = axo__chain_pop(letters)) != NULL)
        axo__dead_letter(local, message, to, reason);
}

/* The mailbox has no room: the running actor is to wait for it, if the mailbox says so. The record
 * is made before the second try, which accepts the message: so a send that runs out of memory has
 * changed nothing. Only an actor can wait, so an outside thread's send is refused as FULL. */
static axo__put send_park(axo__worker *worker, axo__bounded_mailbox *bounded, axo_ref to,
                          axo__message *message, axo__chain *dropped)
{
    AXO_DEBUG_ASSERT(worker == NULL || worker == axo__self);
    if (worker == NULL || worker->current == NULL || bounded->how.overflow != AXO_OVERFLOW_PARK)
        return AXO__PUT_FULL;
    axo__parked *parked = axo__parked_make(worker, to);
    if (parked == NULL)
        return AXO__PUT_NO_MEMORY;
    axo__put put = axo__bounded_put_any(bounded, message, &parked->waiter, dropped);
    if (put != AXO__PUT_HELD) {
        axo__parked_free(&worker->local, parked);
        return put;
    }
    axo__parked_held(worker, parked);
    if (bounded->how.park_ns > 0)
        axo__parked_limit(worker, parked, bounded->how.park_ns);
    return put;
}

/* A send to a bounded mailbox. An actor that waits in this mailbox's line already has its record
 * there, and further messages join it, so one sender's messages keep their order. The receiver is
 * announced after the message is in ([S1] of cell/state.h, by axo__sched_announce_user). */
static axo_status send_bounded(axo__worker *worker, axo__local *local, axo__cell *cell,
                               axo__message *message, axo__message **dead)
{
    AXO_DEBUG_ASSERT(cell->bounded);
    axo__bounded_mailbox *bounded = axo__cell_bounded(cell);
    axo_ref to = axo__cell_ref(cell);
    axo__chain dropped = {NULL, NULL};
    axo__parked *parked = NULL;
    if (worker != NULL && worker->current != NULL)
        parked = axo__parked_find(worker->current, to);
    int before = worker == NULL ? axo__os_cancel_hold() : 0; /* the program's priority function */
    axo__put put =
        axo__bounded_put_any(bounded, message, parked != NULL ? &parked->waiter : NULL, &dropped);
    if (worker == NULL)
        axo__os_cancel_let(before);
    if (put == AXO__PUT_HELD)
        axo__parked_held(worker, parked);
    else if (put == AXO__PUT_FULL)
        put = send_park(worker, bounded, to, message, &dropped);
    if (put == AXO__PUT_FULL || put == AXO__PUT_SEALED)
        return AXO_EFULL;
    if (put == AXO__PUT_NO_MEMORY)
        return AXO_ENOMEM;
    axo__a64_bump_owner(&local->count.sent);
    if (put == AXO__PUT_IN)
        axo__sched_announce_user(worker, cell);
    if (axo__unlikely(dropped.first != NULL))
        send_bury(worker, local, to, &dropped, AXO_DEAD_OVERFLOW, dead);
    return AXO_OK;
}

/* READY: the receiver had messages left at the end of its last turn, so the sender's turn ends with
 * this message, lest a producer outrun its consumer. One that follows sends some more first. */
axo_status axo__worker_sent_more(axo__worker *worker, axo__cell *cell, uint64_t before)
{
    uint32_t mark = axo__a32_load_relaxed(&cell->state.behind);
    bool counted = mark != 0 && axo__follow_sent(worker, cell, mark);
    if (!counted && (before & AXO__READY) != 0)
        axo__worker_yield(worker);
    return AXO_OK;
}

/* The common way: axo__state_push releases the message ([S1]) to the runner that claims the cell or
 * takes the lane ([S2], [S3] of cell/state.h). `sent` is raised before the push, when no other
 * thread can count the message as handled yet. */
static inline axo_status send_lane(axo__worker *worker, axo__local *local, axo__cell *cell,
                                   axo__message *message)
{
    axo__a64_bump_owner(&local->count.sent);
    if (axo__state_woken(axo__state_push(&cell->state, &message->node)) == AXO__ANNOUNCE_PUSH)
        axo__sched_push_ready(worker, cell);
    return AXO_OK;
}

/* The receiver has gone, or is another node's. Outside, whoever called has asked the carrier
 * before. */
static __attribute__((noinline)) axo_status send_gone(axo__worker *worker, axo__local *local,
                                                      axo_ref to, axo__message *message,
                                                      axo__message **dead)
{
    axo__chain gone = {NULL, NULL};
    axo_status carried = AXO_EGONE;
    if (worker != NULL && axo__unlikely(local->core->peers != NULL))
        carried = axo__peers_send(local->core, message, to);
    if (carried != AXO_OK && carried != AXO_EGONE)
        return carried;
    axo__a64_bump_owner(&local->count.sent);
    if (carried == AXO_OK) {
        axo__a64_bump_owner(&local->count.handled);
        axo__message_free(&local->cache, message);
        return AXO_OK;
    }
    axo__chain_push(&gone, message);
    send_bury(worker, local, to, &gone, AXO_DEAD_GONE, dead);
    return AXO_EGONE;
}

axo_status axo__send_keep(axo__sched *sched, axo__worker *worker, axo__local *local, axo_ref to,
                          axo__message *message, axo__message **dead)
{
    AXO_DEBUG_ASSERT(worker == NULL || (worker == axo__self && local == &worker->local));
    AXO_DEBUG_ASSERT((message->flags & (AXO__MESSAGE_NOTICE | AXO__MESSAGE_STASHED)) == 0);
    axo__cell *cell = axo__table_find(&sched->core->table, to);
    if (axo__likely(cell != NULL && !cell->bounded && !cell->timed))
        return send_lane(worker, local, cell, message);
    if (cell != NULL) {
        if (cell->timed)
            axo__figures_stamp(cell, message);
        if (!cell->bounded)
            return send_lane(worker, local, cell, message);
        return send_bounded(worker, local, cell, message, dead);
    }
    return send_gone(worker, local, to, message, dead);
}

axo_status axo__send(axo__sched *sched, axo__worker *worker, axo__local *local, axo_ref to,
                     axo__message *message, axo__message **dead)
{
    axo_status status = axo__send_keep(sched, worker, local, to, message, dead);
    if (axo__unlikely(status != AXO_OK && status != AXO_EGONE)) {
        if (axo__message_is_walled(message)) /* else the program keeps what it has handed over */
            axo__message_free_payload(message);
        axo__pool_free(&local->cache, message, message->block);
    }
    return status;
}

axo_status axo__send_rare(axo__worker *worker, axo_ref to, axo__message *message)
{
    axo__cell *cell = axo__table_find(&worker->local.core->table, to);
    if (cell == NULL || cell->bounded)
        return axo__send(worker->sched, worker, &worker->local, to, message, NULL);
    axo__figures_stamp(cell, message);
    axo__a64_bump_owner(&worker->local.count.sent);
    uint64_t before = axo__state_push(&cell->state, &message->node);
    if (axo__state_woken(before) == AXO__ANNOUNCE_PUSH)
        axo__sched_push_ready(worker, cell);
    else if (axo__worker_sends_much(cell, before))
        return axo__worker_sent_more(worker, cell, before);
    return AXO_OK;
}

/* A timer's message. The send never waits: without room the message is a dead letter, and a mailbox
 * without memory for its entry accepts it whatever the bound (axo__sched_accept). */
void axo__send_due(axo__worker *worker, axo_ref to, axo__message *message)
{
    AXO_DEBUG_ASSERT(worker == axo__self);
    AXO_DEBUG_ASSERT((message->flags & (AXO__MESSAGE_NOTICE | AXO__MESSAGE_STASHED)) == 0);
    axo__local *local = &worker->local;
    axo__cell *cell = axo__table_find(&local->core->table, to);
    axo__chain dropped = {NULL, NULL};
    if (cell == NULL) {
        axo_status status = send_gone(worker, local, to, message, NULL);
        if (axo__likely(status == AXO_OK || status == AXO_EGONE))
            return;
        axo__chain_push(&dropped, message); /* its carrier has no room */
        axo__a64_bump_owner(&local->count.sent);
        send_bury(worker, local, to, &dropped, AXO_DEAD_OVERFLOW, NULL);
        return;
    }
    axo__a64_bump_owner(&local->count.sent);
    axo__put put = AXO__PUT_NO_MEMORY;
    if (axo__unlikely(cell->timed))
        axo__figures_stamp(cell, message);
    if (cell->bounded)
        put = axo__bounded_put_any(axo__cell_bounded(cell), message, NULL, &dropped);
    if (put == AXO__PUT_NO_MEMORY) {
        axo__sched_accept(worker, cell, message);
        return;
    }
    if (put == AXO__PUT_FULL)
        axo__chain_push(&dropped, message);
    send_bury(worker, local, to, &dropped, AXO_DEAD_OVERFLOW, NULL);
    axo__sched_announce_user(worker, cell);
}

/* Somebody is in the door of this CPU, perhaps preempted there: the next door that is free, or a
 * wait for the first one. */
static __attribute__((noinline, cold)) axo__door *send_door_wait(axo__sched *sched)
{
    uint32_t first = axo__os_cpu_index();
    uint32_t mask = sched->door_count - 1;
    for (uint32_t i = 1; i <= mask; i++) {
        axo__door *other = &sched->doors[(first + i) & mask];
        if (axo__os_gate_try(&other->gate))
            return other;
    }
    axo__os_gate_wait(&sched->doors[first & mask].gate);
    return &sched->doors[first & mask];
}

/* The door of the CPU that the thread runs on, so that threads on several CPUs seldom meet. A
 * thread that moves to another CPU meanwhile keeps its door, as the gate is what guards the
 * local. */
axo__door *axo__door_try(axo__sched *sched)
{
    axo__door *door = &sched->doors[axo__os_cpu_index() & (sched->door_count - 1)];
    return axo__likely(axo__os_gate_try(&door->gate)) ? door : NULL;
}

axo__door *axo__door_enter(axo__sched *sched)
{
    axo__door *door = axo__door_try(sched);
    return axo__likely(door != NULL) ? door : send_door_wait(sched);
}

void axo__door_leave(axo__door *door)
{
    axo__os_gate_leave(&door->gate);
}

void axo__doors_pass(axo__sched *sched)
{
    for (uint32_t i = 0; i < sched->door_count; i++) {
        axo__os_gate_enter(&sched->doors[i].gate);
        axo__os_gate_leave(&sched->doors[i].gate);
    }
}
