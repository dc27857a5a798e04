/* parked.c - senders that wait for room in a bounded mailbox.
 *
 * The sender's first send that finds no room makes a record. The record makes one round trip: it
 * stands in the receiver's line with the messages that it holds, and the system message ROOM brings
 * it back to the sender when the last of these messages is in the mailbox, or dead. The thread that
 * takes the record out of the line, under the bounded mailbox's mutex, answers for it: the receiver
 * or the timer returns it, or frees it if the sender cannot be found any more; the sender's end
 * frees it. The fields `next` and `stops` belong to the sender's runner.
 *
 * The timer of the record's limit may have left its wheel, so that no disarm reaches it, and be
 * about to look at the record when another thread gives the record up. So an armed timer counts as
 * a user of the record: a timer that is disarmed stops being a user at once, a timer that fires
 * gives the record up when it is done, and the last user frees the record.
 *
 * Orders
 *   [K1] add acq_rel, users   pairs with itself: what the other user has read and written comes
 *                             before the last user's free
 */
#include "sched/parked.h"

#include <string.h>

#include "cell/event.h"
#include "sched/ready.h"

static axo__parked *parked_first(const axo__cell *cell)
{
    const axo__extra *extra = axo__cell_extra(cell);
    return extra != NULL ? extra->parked : NULL;
}

axo__parked *axo__parked_find(const axo__cell *sender, axo_ref receiver)
{
    axo__parked *parked = parked_first(sender);
    while (parked != NULL && !axo_ref_equal(parked->receiver, receiver))
        parked = parked->next;
    return parked;
}

axo__parked *axo__parked_make(axo__worker *worker, axo_ref receiver)
{
    AXO_DEBUG_ASSERT(worker == axo__self && worker->current != NULL);
    if (axo__extra_take(&worker->local, worker->current) == NULL)
        return NULL;
    axo__parked *parked = axo__pool_alloc(&worker->local.cache, sizeof *parked);
    if (parked == NULL)
        return NULL;
    memset((void *)parked, 0, sizeof *parked);
    parked->sender = axo__cell_ref(worker->current);
    parked->receiver = receiver;
    axo__a32_store_relaxed(&parked->users, 1);
    return parked;
}

/* Gives up one use. The addition that reads 1 is the last user's: it acquires what the other user
 * released with its own addition ([K1] in the same function), so no thread reads the block after
 * its free. */
static void parked_drop(axo__local *local, axo__parked *parked)
{
    uint32_t users = axo__a32_add_acq_rel(&parked->users, UINT32_MAX); /* [K1] */
    AXO_DEBUG_ASSERT(users == 1 || users == 2);
    if (users == 1)
        axo__pool_free(&local->cache, parked, sizeof *parked);
}

/* A timer that is disarmed here will not fire, so the caller is the only user left and may store
 * the count plainly. If the disarm comes too late, parked_fire gives up the other use. */
void axo__parked_free(axo__local *local, axo__parked *parked)
{
    if (axo__timer_disarm(&parked->timer))
        axo__a32_store_relaxed(&parked->users, 1);
    parked_drop(local, parked);
}

static axo__parked *parked_of_room(axo__stack_node *node)
{
    return (axo__parked *)(void *)((char *)node - offsetof(axo__parked, room));
}

static axo__parked *parked_of_timer(axo__timer *timer)
{
    return (axo__parked *)(void *)((char *)timer - offsetof(axo__parked, timer));
}

/* ---- the sender's side ---- */

/* A sender that parked itself in its own mailbox, or that terminates, is not stopped: only it could
 * make room, or it has no more messages to take. WAITING goes into the word ([S5] of cell/state.h)
 * while this worker runs the cell, so the turn ends after this callback. */
void axo__parked_held(axo__worker *worker, axo__parked *parked)
{
    axo__cell *cell = worker->current;
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, cell));
    AXO_DEBUG_ASSERT(axo_ref_equal(parked->sender, axo__cell_ref(cell)));
    if (axo__parked_find(cell, parked->receiver) != parked) {
        axo__extra *extra = axo__cell_extra(cell);
        parked->next = extra->parked;
        extra->parked = parked;
    }
    if (parked->stops || axo_ref_equal(parked->receiver, parked->sender) ||
        cell->phase == AXO__PHASE_TERMINATING)
        return;
    parked->stops = true;
    axo__state_wait(&cell->state);
    axo__trace(&worker->local, cell, AXO_EV_PARK, parked->receiver.bits);
}

/* A callback that sends on after it was parked has its further messages held too. From its end on
 * the record holds no more: hooks and deciders of the cell, which run although the cell takes no
 * messages, are refused (AXO__PUT_SEALED). */
void axo__parked_seal(axo__cell *cell)
{
    AXO_DEBUG_ASSERT(axo__state_is_running(&cell->state));
    for (axo__parked *parked = parked_first(cell); parked != NULL; parked = parked->next)
        parked->waiter.sealed = parked->stops;
}

/* The cell takes messages again: WAITING leaves the word. */
static void parked_go_on(axo__worker *worker, axo__cell *cell)
{
    if (axo__state_unwait(&cell->state))
        axo__trace(&worker->local, cell, AXO_EV_UNPARK, 0);
}

/* The record leaves the sender's list and is freed. The sender goes on when no record is left that
 * stops it: it may wait for room at several receivers. */
void axo__parked_home(axo__worker *worker, axo__cell *cell, axo__stack_node *room)
{
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, cell));
    axo__parked *parked = parked_of_room(room);
    axo__parked **link = &axo__cell_extra(cell)->parked;
    bool stops = false;
    while (*link != NULL) {
        if (*link == parked) {
            *link = parked->next;
            continue;
        }
        stops = stops || (*link)->stops;
        link = &(*link)->next;
    }
    axo__parked_free(&worker->local, parked);
    if (!stops)
        parked_go_on(worker, cell);
}

void axo__parked_undo(axo__worker *worker, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, cell));
    for (axo__parked *parked = parked_first(cell); parked != NULL; parked = parked->next)
        parked->stops = parked->waiter.sealed = false;
    parked_go_on(worker, cell);
}

/* The cell can still be found (the assertion that it lives), so a receiver that returns a
 * record now pushes it to this cell's system lane, where axo__parked_closed frees it. A record that
 * is still in a line is taken out of it here, and the mailbox takes its messages in whatever the
 * bound: each accepted message arrives or is a dead letter (D7). */
void axo__parked_end(axo__worker *worker, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, cell));
    AXO_DEBUG_ASSERT(axo__cell_lives_owner(cell));
    axo__parked *parked;
    while ((parked = parked_first(cell)) != NULL) {
        axo__cell_extra(cell)->parked = parked->next;
        axo__cell *receiver = axo__table_find(&worker->local.core->table, parked->receiver);
        if (receiver == NULL ||
            !axo__bounded_let_in_any(axo__cell_bounded(receiver), &parked->waiter))
            continue; /* the record is on its way back */
        axo__parked_free(&worker->local, parked);
        axo__sched_announce_user(worker, receiver);
    }
}

/* ---- the limit ---- */

/* The limit is over: the messages that the record holds become dead letters, and the record
 * returns, so the sender goes on. If the receiver cannot be found any more, its end empties its
 * line. The mutex of the mailbox decides between this and the receiver that makes room at the same
 * time. */
static int64_t parked_fire(axo__worker *worker, axo__timer *timer, uint64_t number)
{
    axo__parked *parked = parked_of_timer(timer);
    axo__local *local = &worker->local;
    axo_ref to = parked->receiver;
    axo__cell *receiver = axo__table_find(&worker->local.core->table, to);
    axo__chain held = {NULL, NULL};
    axo__waiter *done = NULL;
    (void)number;
    axo__bounded_mailbox *bounded = receiver != NULL ? axo__cell_bounded(receiver) : NULL;
    if (bounded != NULL && axo__bounded_expire_any(bounded, &parked->waiter, &held, &done)) {
        axo__message *message;
        while ((message = axo__chain_pop(&held)) != NULL)
            axo__dead_letter(local, message, to, AXO_DEAD_OVERFLOW);
        axo__sched_announce_user(worker, receiver);
        axo__parked_return(local, done);
    }
    parked_drop(local, parked);
    return 0;
}

static const axo__timer_ops parked_ops = {.fire = parked_fire, .finish = axo__timer_again};

/* `users` is 2 before the timer is armed: from then on it may fire on another worker, which gives
 * up a use. */
void axo__parked_limit(axo__worker *worker, axo__parked *parked, int64_t park_ns)
{
    AXO_DEBUG_ASSERT(park_ns > 0 && axo__a32_peek_owner(&parked->users) == 1);
    uint64_t due = axo__timer_due(axo__core_now(worker->local.core), park_ns);
    axo__a32_store_relaxed(&parked->users, 2);
    parked->timer.ops = &parked_ops;
    if (!axo__timer_arm(worker, &parked->timer, due))
        axo__a32_store_relaxed(&parked->users, 1);
}

/* ---- the receiver's side ---- */

/* The link is read before the record is pushed: from the push on it is the sender's, which may free
 * it. ROOM is announced after the push, as all system messages are (Wake-up in cell/state.h). */
void axo__parked_return(axo__local *local, axo__waiter *done)
{
    while (done != NULL) {
        axo__parked *parked = (axo__parked *)(void *)done;
        done = done->next;
        axo__cell *sender = axo__table_find(&local->core->table, parked->sender);
        if (sender == NULL) {
            axo__parked_free(local, parked);
            continue;
        }
        axo__stack_push_any(&sender->system, &parked->room, AXO__SYS_ROOM);
        axo__sched_announce_system(axo__self, sender);
    }
}

void axo__parked_closed(axo__local *local, axo__stack_node *room)
{
    axo__parked_free(local, parked_of_room(room));
}
