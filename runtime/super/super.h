/* super.h - failure, directives, the restart, the end, death watch: what all of it stands on.
 *
 *   floor   files                  what
 *   6       lane                   a turn for the system: what was told, directives, the failure
 *   5       leaf, stop, restart    a plain leaf's begin and end; the end; both halves of a restart
 *   4       gone, strategy         what reaches a closed cell; what a parent decides
 *   3       instance, spawn        an instance's begin and end; a cell's
 *   2       fail                   suspends the subtree, keeps the cause, reports
 *   1       children, sweep        telling, counting and forgetting children; telling many
 *   0       watch, delay, stash    records that wait: death watch, back-off, messages put aside
 *           memory                 an instance's heap, its bounds, its walls
 *
 * A file calls its own floor and those below. A call upward goes through the table that sched/ uses
 * too, axo__super_ops; what super/ needs of system/ is in axo__root_ops.
 *
 * All functions run on the cell's runner unless they say otherwise. The cell's phase:
 *
 *   NEW -> NORMAL <-> RECREATING (waits for children that pre_restart stopped, RS-05)
 *             |  <-> CREATING    (waits for a failed attempt's children, IN-06)
 *             +---> TERMINATING (waits for all children)
 *   RECREATING, CREATING -> TERMINATING: stop wins (RS-19).
 *   TERMINATING -> LEAVING -> BURYING -> GONE: the end goes on in portions, a turn each, until the
 *   cell is closed. Few actors are LEAVING for longer than a step.
 *
 * Invariants
 *   I1  suspend count = (reported or restarting unresolved ? 1 : 0) + suspensions taken from the
 *       parent, or of a pause of this very actor - resumptions and restarts taken +
 *       (TERMINATING ? 1 : 0).
 *   I2  reported: exactly one report is with the parent, undecided; the report node and `failure`
 *       belong to the parent until the parent answers (FS-07).
 *   I3  While RECREATING or CREATING no directive is taken but a stop that ends the cell, and
 *       reports of children are held (RS-18).
 *
 * A worker is inside a cell as its runner, or because it has borrowed the cell while no worker was
 * in it; both may read and write all fields that are the runner's. Nothing here takes a lock on a
 * cell: entering a cell (cell/state.h) is the lock.
 */
#ifndef AXO__SUPER_SUPER_H
#define AXO__SUPER_SUPER_H

#include "cell/event.h"
#include "cell/log.h"
#include "sched/pool.h"

/* What super/ tells system/ about the top of the tree; core->root, set at boot. */
typedef struct axo__root_ops {
    /* A failure has reached the root, which stops for it (GU-08). */
    void (*root_failed)(axo__core *core, const axo__cause *cause);
    /* The root has terminated, as the last actor of all. */
    void (*root_gone)(axo__core *core);
    /* /user or /system begins to stop; its children have not been told yet. */
    void (*guardian_stops)(axo__worker *worker, const axo__cell *guardian);
} axo__root_ops;

/* For checks: the worker is inside the child's parent, in the parent's turn or, while it has
 * borrowed the parent, in the turn of the child or of a sibling. */
static inline bool axo__super_is_parent(const axo__worker *worker, const axo__cell *child)
{
    const axo__cell *mine = worker->current;
    return worker == axo__self && mine != NULL && child->parent != 0 &&
           (child->parent == axo__cell_link(mine) || child->parent == mine->parent);
}

/* Whether a stop in the directive word ends the cell: a permanent actor ends for its parent only
 * (LT-06), unless it is terminating already. */
static inline bool axo__super_ends(const axo__cell *cell, uint64_t word)
{
    bool any = cell->lifetime != AXO_PERMANENT || cell->phase == AXO__PHASE_TERMINATING;
    return (word & (any ? AXO__STOPS : AXO__STOP_PARENT)) != 0;
}

/* By the cell's runner or borrower. Only the count changes; the HELD bit follows in
 * axo__state_settle. `why`: see AXO_EV_SUSPEND. */
static inline void axo__super_suspend_self(axo__worker *worker, axo__cell *cell, uint64_t why)
{
    axo__state_suspend(&cell->state);
    axo__trace(&worker->local, cell, AXO_EV_SUSPEND, why);
}

static inline void axo__super_resume_self(axo__worker *worker, axo__cell *cell, uint64_t why)
{
    axo__state_resume(&cell->state); /* SC-07 */
    axo__trace(&worker->local, cell, AXO_EV_RESUME, why);
}

/* Puts all that has arrived in the lane in order, oldest first (OR-07). Returns false after
 * AXO__TURN_STEP messages: the next call goes on. axo__stack_take_any detaches the lane with an
 * exchange that acquires what each pusher released, and the detached part is not mixed with later
 * arrivals. */
static inline bool axo__super_turn_lane(axo__cell *cell, axo__extra *extra)
{
    AXO_DEBUG_ASSERT(extra->lane == 0 || extra->unturned != 0);
    if (extra->unturned == 0)
        extra->unturned = axo__stack_take_any(&cell->system);
    return axo__stack_turn(&extra->unturned, &extra->lane, AXO__TURN_STEP);
}

/* Takes the oldest message of the lane. The node may be pushed anew from here on, so its link is
 * read before the caller answers it. */
static inline axo__stack_node *axo__super_next(axo__extra *extra, axo__sys_kind *kind)
{
    AXO_DEBUG_ASSERT(extra->unturned == 0);
    axo__stack_node *node = axo__stack_node_of(extra->lane);
    *kind = (axo__sys_kind)axo__stack_tag_of(extra->lane);
    extra->lane = node->next;
    return node;
}

#endif
