/* inspect.c - what an actor is doing: what its word says, and for an actor that is not running, a
 * look inside.
 *
 * A cell that no worker is in is borrowed (cell/state.h): then its mailbox and its phase are the
 * inspector's to read, exactly and without a cost to senders and runner. Of a running cell only the
 * fields that its worker publishes are read. The inspector never waits: a cell that cannot be
 * borrowed and that no worker says it runs is being entered, left or borrowed by another thread, or
 * waits to be known to its parent; then the word alone says what the cell is doing.
 */
#include "system/inspect.h"

#include <axo/inspect.h>

#include <stdio.h>
#include <string.h>

#include "cell/log.h"
#include "sched/parked.h"
#include "sched/ready.h"
#include "system/system.h"

#define INSPECT_TRIES 16

/* The answer that the word and the directives give, the strongest first: a stop wins over a
 * restart, as it does in super/lane.c, and a suspended actor is not "queued" though it has
 * messages. */
static uint32_t inspect_word(uint64_t word, uint64_t directives)
{
    if ((word & AXO__TERMINATING) != 0 || (directives & AXO__STOPS) != 0)
        return AXO_DOING_STOPPING;
    if ((directives & (AXO__RESTART_OWN | AXO__RESTART_PARENT)) != 0)
        return AXO_DOING_RESTARTING;
    if ((word & AXO__HELD) != 0)
        return AXO_DOING_SUSPENDED;
    if ((word & AXO__WAITING) != 0)
        return AXO_DOING_PARKED;
    return axo__state_has(word) || (word & AXO__URGENT) != 0 ? AXO_DOING_QUEUED : AXO_DOING_IDLE;
}

/* Whether a message is the request of `waiting_sender`, whose place in the queue is asked for. */
static bool inspect_is_from(const axo__message *message, axo_ref waiting_sender)
{
    return (message->flags & AXO__MESSAGE_NOTICE) == 0 && !axo_ref_is_none(waiting_sender) &&
           axo_ref_equal(message->pub.sender, waiting_sender);
}

/* A bounded mailbox counts its messages itself, so its figures are exact at any time, and need no
 * borrowing. */
static void inspect_bounded(axo__bounded_mailbox *bounded, axo_ref waiting_sender,
                            axo_actor_info *info)
{
    uint64_t queued = axo__bounded_count(bounded);
    if (info->place == 0 && !axo_ref_is_none(waiting_sender)) {
        uint64_t place = axo__bounded_place_any(bounded, waiting_sender);
        if (place > 0 && place < UINT32_MAX - info->queued)
            info->place = info->queued + (uint32_t)place;
    }
    info->queued +=
        queued < UINT32_MAX - info->queued ? (uint32_t)queued : UINT32_MAX - info->queued;
    info->counted = AXO_COUNTED_ALL;
}

/* Counts messages in the order of handling; false: there are more than AXO_INSPECT_MAX. */
static bool inspect_in_order(const axo__message *message, axo_ref waiting_sender,
                             axo_actor_info *info)
{
    for (; message != NULL && info->queued < AXO_INSPECT_MAX;
         message = axo__message_next(message)) {
        info->queued++;
        if (info->place == 0 && inspect_is_from(message, waiting_sender))
            info->place = info->queued;
    }
    return message == NULL;
}

/* Counts messages newest first: the last match in the list is the first that will be handled. A
 * list that is not counted to its end gives no place. */
static bool inspect_newest_first(const axo__message *newest, axo_ref waiting_sender,
                                 axo_actor_info *info)
{
    uint32_t count = 0;
    uint32_t behind = 0; /* messages that are newer than the oldest match */
    bool found = false;
    const axo__message *message = newest;
    for (; message != NULL && info->queued + count < AXO_INSPECT_MAX;
         message = axo__message_next(message)) {
        if (inspect_is_from(message, waiting_sender)) {
            found = true;
            behind = count;
        }
        count++;
    }
    if (message == NULL && found && info->place == 0)
        info->place = info->queued + count - behind;
    info->queued += count;
    return message == NULL;
}

/* The user lane. Only the borrower may take messages from it now; senders put more on top, which a
 * walk from an older top does not see. */
static const axo__message *inspect_lane(const axo__cell *cell)
{
    return (const axo__message *)(const void *)axo__state_lane(axo__state_look(&cell->state));
}

/* Counts as the mailbox's consumer, in the order of handling: `front`; of the inbox `rest`, which
 * is older and lies newest first, then `first`; then the lane. */
static void inspect_count(const axo__cell *cell, axo_ref waiting_sender, axo_actor_info *info)
{
    const axo__extra *extra = axo__cell_extra(cell);
    info->stashed = extra != NULL ? extra->stash_count : 0;
    info->counted = AXO_COUNTED_PART;
    if (extra != NULL && !inspect_in_order(extra->front.first, waiting_sender, info))
        return;
    if (cell->bounded) {
        inspect_bounded(axo__cell_bounded(cell), waiting_sender, info);
        return;
    }
    if (inspect_newest_first(cell->inbox.rest, waiting_sender, info) &&
        inspect_in_order(cell->inbox.first, waiting_sender, info) &&
        inspect_newest_first(inspect_lane(cell), waiting_sender, info))
        info->counted = AXO_COUNTED_ALL;
}

/* Reads what the worker that runs the cell publishes. The turn may end between its loads: then the
 * tag is none, or the next turn's. The answer is a report of about now, and no decision of the
 * runtime rests on it. */
static bool inspect_running(const axo__cell *cell, axo_actor_info *info)
{
    uint64_t tag = 0;
    int64_t since = 0;
    if (!axo__sched_running(cell, &tag, &since))
        return false;
    int64_t now = axo__os_now();
    info->doing = AXO_DOING_RUNNING;
    info->has_tag = axo__running_tag(tag, &info->tag);
    info->since_ns = now > since ? now - since : 0;
    return true;
}

/* Of a borrowed cell. A cell that is parked has a record that stops it until the record is back;
 * the record may be back already: then nobody. */
static axo_ref inspect_parked(const axo__cell *cell)
{
    const axo__extra *extra = axo__cell_extra(cell);
    const axo__parked *parked = extra != NULL ? extra->parked : NULL;
    while (parked != NULL && !parked->stops)
        parked = parked->next;
    return parked != NULL ? parked->receiver : axo_ref_none();
}

/* Of a borrowed cell, whose list of children and what it has told them is its runner's. */
static axo_ref inspect_awaited(const axo__cell *cell)
{
    const axo__cell *child = axo__cell_stopping_count(cell) > 0 ? axo__cell_children(cell) : NULL;
    for (uint32_t i = 0; child != NULL && i < AXO_INSPECT_MAX; child = axo__cell_next(child), i++) {
        if (axo__cell_cold(child)->stopping != 0)
            return axo__cell_ref(child);
    }
    return axo_ref_none();
}

/* The cell is borrowed: every field of its runner may be read and none written
 * (axo__state_borrow). */
static void inspect_borrowed(axo__cell *cell, axo_ref waiting_sender, axo_actor_info *info)
{
    bool restarts = cell->phase == AXO__PHASE_RECREATING || cell->phase == AXO__PHASE_CREATING;
    uint64_t word = axo__state_look(&cell->state);
    info->suspends = axo__state_suspends(&cell->state);
    info->doing = inspect_word(word, axo__directives_look(&cell->directives));
    if (restarts && info->doing != AXO_DOING_STOPPING)
        info->doing = AXO_DOING_RESTARTING;
    if (info->doing == AXO_DOING_PARKED)
        info->waits_for = inspect_parked(cell);
    else if (info->doing == AXO_DOING_STOPPING || info->doing == AXO_DOING_RESTARTING)
        info->waits_for = inspect_awaited(cell);
    inspect_count(cell, waiting_sender, info);
}

/* An actor that inspects itself is its own runner and reads everything. */
static void inspect_self(const axo__cell *cell, axo_ref waiting_sender, axo_actor_info *info)
{
    const axo__worker *worker = axo__self;
    info->doing = AXO_DOING_RUNNING;
    info->suspends = axo__state_suspends(&cell->state);
    if (worker->message != NULL) {
        info->has_tag = 1;
        info->tag = worker->message->pub.tag;
    }
    int64_t now = axo__os_now();
    int64_t since = (int64_t)axo__a64_load_relaxed(&worker->since);
    info->since_ns = now > since ? now - since : 0;
    inspect_count(cell, waiting_sender, info);
}

/* Looks at another actor; false: it has terminated meanwhile. The number of tries is bounded: a
 * cell that is entered and left all the time is reported from its word. */
static bool inspect_other(axo__cell *cell, axo_ref waiting_sender, axo_actor_info *info)
{
    for (uint32_t i = 0; i < INSPECT_TRIES; i++) {
        if (axo__state_borrow(&cell->state)) {
            inspect_borrowed(cell, waiting_sender, info);
            /* Work that came up during the look is pushed here: announcers left it to the
             * borrower. */
            axo__sched_hand_back(axo__self_in(axo__cell_sched(cell)->core), cell);
            return true;
        }
        uint64_t word = axo__state_look(&cell->state);
        if ((word & AXO__CLOSED) != 0)
            return false;
        info->suspends = axo__state_suspends(&cell->state);
        if (inspect_running(cell, info)) {
            if (cell->bounded)
                inspect_bounded(axo__cell_bounded(cell), waiting_sender, info);
            return true;
        }
        info->doing = inspect_word(word, axo__directives_look(&cell->directives));
    }
    if (info->doing == AXO_DOING_IDLE)
        info->doing = AXO_DOING_QUEUED; /* another thread has the cell for a moment */
    return true;
}

void axo__inspect(axo__core *core, axo__cell *self, axo_ref ref, axo_ref waiting_sender,
                  axo_actor_info *info, const axo_class **cls)
{
    axo__cell *cell = axo__table_find(&core->table, ref);
    memset(info, 0, sizeof *info);
    info->size = sizeof *info;
    info->actor = ref;
    *cls = NULL;
    /* A reference whose actor has ended: AXO_DOING_GONE is 0, as the rest of `info`. */
    if (cell == NULL)
        return;
    if (cell == self) {
        inspect_self(cell, waiting_sender, info);
    } else if (!inspect_other(cell, waiting_sender, info)) {
        info->suspends = 0;
        info->doing = AXO_DOING_GONE;
        return;
    }
    *cls = axo__cell_class(cell);
    info->instance = axo__cell_instance(cell);
    (void)snprintf(info->class_name, sizeof info->class_name, "%s",
                   axo__cell_class(cell)->name != NULL ? axo__cell_class(cell)->name : "actor");
    (void)axo__core_path(core, cell, info->path, sizeof info->path);
}

void axo__inspect_name_tag(axo_actor_info *info, const axo_class *cls)
{
    if (!info->has_tag)
        return;
    const char *name = axo__log_tag_name(cls, info->tag);
    if (name != NULL)
        (void)snprintf(info->tag_name, sizeof info->tag_name, "%s", name);
}
