/* parked.c - senders that wait for room in a bounded mailbox.
 *
 * A record is made by the first send that finds no room, and makes one round trip: it stands in the
 * receiver's line with the messages that it holds, and ROOM brings it home when the last of them is
 * in, or dead. Who takes it out of the line, under the bounded mailbox's mutex, answers for it: the
 * receiver or the timer sends it home, or frees it if the sender cannot be found any more; the
 * sender's end frees it. `next` and `stops` are the sender's runner's.
 *
 * The timer of its limit may have left its wheel, not to be disarmed any more, and be about to look
 * at the record when this is freed. So an armed timer counts as a user of it: one that is disarmed
 * is none, one that has fired gives it up when it is done, and who is last frees.
 *
 * Orders
 *   [K1] add acq_rel, users   what the other user has read is behind the last one's free
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

static void parked_drop(axo__local *local, axo__parked *parked)
{
    uint32_t users = axo__a32_add_acq_rel(&parked->users, UINT32_MAX); /* [K1] */
    AXO_DEBUG_ASSERT(users == 1 || users == 2);
    if (users == 1)
        axo__pool_free(&local->cache, parked, sizeof *parked);
}

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

void axo__parked_seal(axo__cell *cell)
{
    AXO_DEBUG_ASSERT(axo__state_is_running(&cell->state));
    for (axo__parked *parked = parked_first(cell); parked != NULL; parked = parked->next)
        parked->waiter.sealed = parked->stops;
}

static void parked_go_on(axo__worker *worker, axo__cell *cell)
{
    if (axo__state_unwait(&cell->state))
        axo__trace(&worker->local, cell, AXO_EV_UNPARK, 0);
}

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

void axo__parked_end(axo__worker *worker, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, cell));
    AXO_DEBUG_ASSERT(axo__a32_peek_owner(&cell->generation) != 0);
    axo__parked *parked;
    while ((parked = parked_first(cell)) != NULL) {
        axo__cell_extra(cell)->parked = parked->next;
        axo__cell *receiver = axo__table_find(&worker->local.core->table, parked->receiver);
        if (receiver == NULL ||
            !axo__bounded_let_in_any(axo__cell_bounded(receiver), &parked->waiter))
            continue; /* it is on its way home */
        axo__parked_free(&worker->local, parked);
        axo__sched_announce_user(worker, receiver);
    }
}

/* ---- the limit ---- */

/* What is held dies, and the sender goes on. A receiver that cannot be found sees to its line. */
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
