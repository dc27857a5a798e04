/* gone.c - what reaches a cell that has terminated: dead letters, answers to its watchers.
 *
 * Every message that was accepted ends as handled, dead or dropped (D7), and every watch request is
 * answered (DW-18), although senders and watchers race with the end. The functions work on a cell
 * whose reference has ended: no new sender finds it, but a sender that found it earlier may still
 * push. */
#include "super/gone.h"

#include "base/probe.h"
#include "cell/event.h"
#include "sched/kinds.h"
#include "sched/parked.h"
#include "sched/keyed_timer.h"
#include "super/children.h"
#include "super/spawn.h"
#include "super/stash.h"
#include "super/watch.h"

/* ---- its mailbox ---- */

/* A notice belongs to a watch record and is not counted: the record is freed and no dead letter is
 * told. The path is written once for the whole portion, since building it walks the ancestors. */
static void gone_bury(axo__local *local, axo__cell *cell, axo__message *message, char *path)
{
    if ((message->flags & AXO__MESSAGE_NOTICE) != 0) {
        axo__watch_notice_void(local, cell, message);
        return;
    }
    AXO_DEBUG_ASSERT(!axo__cell_lives_owner(cell));
    if (path != NULL && path[0] == 0)
        (void)axo__core_path(local->core, cell, path, AXO_EVENT_PATH_MAX);
    axo__dead_letter_at(local, message, axo__cell_ref(cell), AXO_DEAD_STOPPED, path);
}

/* The common case of an end: nothing to bury. axo__state_look acquires what senders have announced;
 * a message pushed after it is buried by axo__gone_expire, so the look needs no lock against
 * senders. */
static bool gone_is_drained(const axo__cell *cell)
{
    return !axo__state_has(axo__state_look(&cell->state)) && axo__inbox_is_empty(&cell->inbox) &&
           axo__cell_extra(cell) == NULL;
}

static bool gone_drain_chain(axo__local *local, axo__cell *cell, axo__chain *chain, char *path,
                             uint32_t *budget)
{
    axo__message *message;
    while (*budget > 0 && (message = axo__chain_pop(chain)) != NULL) {
        gone_bury(local, cell, message, path);
        (*budget)--;
    }
    return chain->first == NULL;
}

/* Returns true when the lane is empty. Each step that turns a long lane into order costs the rest
 * of the budget, so that an actor with a million messages does not hold its worker for all of them;
 * with an unlimited budget the loop goes on. */
static bool gone_drain_lane(axo__local *local, axo__cell *cell, char *path, uint32_t *budget)
{
    axo__message *message;
    for (;;) {
        if (axo__inbox_is_empty(&cell->inbox))
            axo__inbox_put(&cell->inbox, axo__state_take(&cell->state));
        if (axo__inbox_is_empty(&cell->inbox))
            return true;
        if (*budget == 0)
            return false;
        if (!axo__inbox_turn(&cell->inbox)) {
            *budget = *budget == UINT32_MAX ? UINT32_MAX : 0;
            continue;
        }
        while (*budget > 0 && (message = axo__inbox_take(&cell->inbox)) != NULL) {
            gone_bury(local, cell, message, path);
            (*budget)--;
        }
    }
}

/* The bounded mailbox is closed and emptied in a single section of its mutex; its messages wait in
 * `front` for the budget. Senders parked on it are released: their records go back to them. */
static bool gone_drain_bounded(axo__local *local, axo__cell *cell, char *path, uint32_t *budget)
{
    axo__waiter *done = NULL;
    axo__extra *extra = axo__cell_extra(cell);
    axo__bounded_close_owner(extra->bounded, &extra->front, &done);
    axo__parked_return(local, done);
    return gone_drain_chain(local, cell, &extra->front, path, budget);
}

/* The order of the drain is the order in which the messages would have been handled: stash, front,
 * lane or bounded mailbox. */
bool axo__gone_drain_users(axo__local *local, axo__cell *cell, char *path, uint32_t *budget)
{
    AXO_DEBUG_ASSERT(!axo__cell_lives_owner(cell));
    if (axo__likely(gone_is_drained(cell)))
        return true;
    axo__stash_return(cell, UINT32_MAX);
    axo__extra *extra = axo__cell_extra(cell);
    return (extra == NULL || gone_drain_chain(local, cell, &extra->front, path, budget)) &&
           gone_drain_lane(local, cell, path, budget) &&
           (!cell->bounded || gone_drain_bounded(local, cell, path, budget));
}

/* ---- its system lane ---- */

/* A parent closes after its last child, so no child's report or end can arrive here. A newborn is
 * axo__gone_answer's. */
static void gone_answer_other(axo__local *local, axo__cell *cell, axo__stack_node *node,
                              axo__sys_kind kind)
{
    switch (kind) {
    /* GCOV_EXCL_START cannot be: children are gone before their parent */
    case AXO__SYS_ADOPT:
    case AXO__SYS_FAILED:
    case AXO__SYS_DUE:
    case AXO__SYS_GONE:
        AXO_ASSERT(kind == AXO__SYS_FAILED);
        return;
    /* GCOV_EXCL_STOP */
    case AXO__SYS_WATCH:
    case AXO__SYS_UNWATCH:
    case AXO__SYS_RETURN:
        axo__watch_answer(local, cell, node, kind);
        return;
    case AXO__SYS_ROOM:
        axo__parked_closed(local, node);
        return;
    }
}

typedef void gone_answer_fn(axo__local *local, axo__cell *cell, axo__stack_node *node,
                            axo__sys_kind kind);

/* axo__stack_take_any exchanges the lane's top (acquire), which pairs with the push of each pusher
 * (release). A caller that finds the lane empty lost the race to another drain, which answers the
 * nodes. */
static void gone_drain_by(axo__local *local, axo__cell *cell, gone_answer_fn *answer)
{
    AXO_DEBUG_ASSERT((axo__a64_peek_owner(&cell->state.word) & AXO__CLOSED) != 0);
    if (axo__likely(!axo__stack_has_any(&cell->system)))
        return;
    axo__stack_link link = axo__stack_reverse(axo__stack_take_any(&cell->system));
    while (link != 0) {
        axo__stack_node *node = axo__stack_node_of(link);
        axo__sys_kind kind = (axo__sys_kind)axo__stack_tag_of(link);
        link = node->next;
        answer(local, cell, node, kind);
    }
}

/* A newborn whose guardian has terminated before adopting it: the newborn never runs. Its word is
 * still RUNNING from axo__state_init, so no other worker can have claimed it, and the caller may
 * close it. */
static void gone_abandon(axo__local *local, axo__cell *child)
{
    AXO_DEBUG_ASSERT(child->phase == AXO__PHASE_NEW);
    axo__name *name = axo__cell_name(child);
    if (name != NULL)
        axo__names_unlink(&local->core->names, name);
    axo__table_end(child);
    axo__state_close(&child->state);
    child->phase = AXO__PHASE_GONE;
    gone_drain_by(local, child, gone_answer_other); /* it has no child that is to be adopted */
    axo__spawn_free_all(local, child);
    axo__children_free_record(local, child);
    axo__a64_bump_owner(&local->count.terminated);
    axo__trace_anywhere(local, child, AXO_EV_TERMINATED, 0);
    AXO__PROBE2(stop, child, axo__cell_ref(child).bits);
    axo__local_retire(local, child);
}

void axo__gone_answer(axo__local *local, axo__cell *cell, axo__stack_node *node, axo__sys_kind kind)
{
    if (kind == AXO__SYS_ADOPT)
        gone_abandon(local, axo__cell_of_life_node(node));
    else
        gone_answer_other(local, cell, node, kind);
}

void axo__gone_drain(axo__local *local, axo__cell *cell)
{
    gone_drain_by(local, cell, axo__gone_answer);
}

/* ---- its slot ---- */

/* Runs after the grace period, so no thread can still be reading the name or the bounded
 * mailbox. */
static void gone_free_extra(axo__local *local, axo__cell *cell)
{
    const axo__extra *extra = axo__cell_extra(cell);
    if (extra == NULL)
        return;
    AXO_DEBUG_ASSERT(extra->family == NULL || extra->family->children == NULL);
    AXO_DEBUG_ASSERT(extra->family == NULL || extra->family->held == 0);
    AXO_DEBUG_ASSERT(extra->lane == 0 && extra->unturned == 0);
    if (extra->name != NULL)
        axo__names_free(&local->core->names, extra->name);
    axo__bounded_free(&local->cache, extra->bounded);
    axo__extra_free(local, cell);
}

/* The common case: a leaf to which nobody has sent in time, and of which no queue has a node. Its
 * pool is the default one, which counts no actors. */
static inline bool gone_is_plain(const axo__cell *cell)
{
    return !cell->elsewhere && gone_is_drained(cell) && !axo__stack_has_any(&cell->system) &&
           !axo__state_has_node(&cell->state);
}

static __attribute__((noinline)) void gone_expire_any(axo__local *local, axo__cell *cell)
{
    axo__core *core = local->core;
    uint32_t all = UINT32_MAX; /* only messages that raced with the end: few */
    (void)axo__gone_drain_users(local, cell, NULL, &all);
    axo__gone_drain(local, cell);
    if (axo__cell_extra(cell) != NULL)
        axo__keyed_timer_free(local, cell);
    axo__sched *sched = axo__cell_sched(cell);
    bool late = sched->kind->shared || sched->kind == &axo__host_kind;
    if (late && sched != axo__self->sched) {
        if (axo__core_hold(core, cell))
            return;
    } else if (axo__state_has_node(&cell->state)) {
        axo__local_retire(local, cell); /* this pool's workers, or those of threads, come to it */
        return;
    }
    core->undispatch(core, sched);
    gone_free_extra(local, cell);
    axo__local_give_cell(local, cell);
}

/* No thread can find the cell any more, and no thread that found it earlier is still inside a send
 * or a watch. So this drain is the last one, and it answers every message that raced with the end
 * (D7, DW-18). A cell whose injector node is still queued waits for another grace period, or for
 * the host or a pool of blocking threads, which come late: the queue links through memory of the
 * cell. */
void axo__gone_expire(axo__local *local, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(!axo__cell_lives_owner(cell));
    AXO_DEBUG_ASSERT(cell->phase == AXO__PHASE_GONE);
    if (axo__likely(gone_is_plain(cell)))
        axo__local_give_cell(local, cell);
    else
        gone_expire_any(local, cell);
}
