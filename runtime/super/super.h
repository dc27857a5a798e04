/* super.h - failure, directives, the restart, the end, death watch.
 *
 * All functions run on the cell's runner unless they say otherwise. The cell's phase:
 *
 *   NEW -> NORMAL <-> RECREATING (waits for children that pre_restart stopped, RS-05)
 *             |  <-> CREATING    (waits for a failed attempt's children, IN-06)
 *             +---> TERMINATING (waits for all children)
 *   RECREATING, CREATING -> TERMINATING: stop wins (RS-19).
 *   TERMINATING -> BURYING -> GONE: its end goes on in portions, a turn each, until it is closed.
 *
 * Invariants
 *   I1  suspend count = (reported or restarting unresolved ? 1 : 0) + suspensions taken from the
 *       parent - resumptions and restarts taken + (TERMINATING ? 1 : 0).
 *   I2  reported: exactly one report is with the parent, undecided; the report node and `failure`
 *       belong to the parent until it answers (FS-07).
 *   I3  While RECREATING or CREATING no directive but a stop that ends it is taken, and reports are
 *       held (RS-18).
 */
#ifndef AXO__SUPER_SUPER_H
#define AXO__SUPER_SUPER_H

#include "sched/worker.h"

extern const axo__super_ops axo__super_ops_table;

/* What the layer above (system/) is told of the tree's top; core->root, set at boot. */
typedef struct axo__root_ops {
    /* A failure has reached the root, which stops for it. */
    void (*root_failed)(axo__core *core, const axo__cause *cause);
    /* The root has terminated, the last of all. */
    void (*root_gone)(axo__core *core);
    /* /user or /system begins to stop; its children have not been told yet. */
    void (*guardian_stops)(axo__worker *worker, const axo__cell *guardian);
} axo__root_ops;

/* For checks: the worker is in the child's parent, in its turn or as one that it has borrowed. */
static inline bool axo__super_is_parent(const axo__worker *worker, const axo__cell *child)
{
    const axo__cell *mine = worker->current;
    return worker == axo__self && mine != NULL && child->parent != 0 &&
           (child->parent == axo__cell_link(mine) || child->parent == mine->parent);
}

/* ---- fault.c ---- */

/* The cell fails for worker->pending. `perpetrator`: the child whose failure it is (EG-01), not to
 * be suspended again; `survivors`: nor are children older than the running instance (HF-08). */
void axo__super_fail(axo__worker *worker, axo__cell *cell, axo_ref perpetrator, bool survivors);

/* The cell, in its turn, fails under a message for worker->pending. Its parent decides at once if
 * it has nothing else to do; else it gets a report. */
void axo__super_fail_here(axo__worker *worker, axo__cell *cell);

/* RECREATE, RESUME, SUSPEND as they are taken. */
void axo__super_directives(axo__worker *worker, axo__cell *cell);

/* The first instance. */
void axo__super_create(axo__worker *worker, axo__cell *cell);

/* The wait for children is over: goes on with the phase. */
void axo__super_continue(axo__worker *worker, axo__cell *cell);

/* The message the instance failed under goes. */
void axo__super_drop_failed(axo__worker *worker, axo__cell *cell);

/* The instance's memory goes. */
void axo__super_destroy_instance(axo__worker *worker, axo__cell *cell);

/* Whether a stop in the word ends the cell: a permanent one ends for its parent only (LT-06). */
static inline bool axo__super_ends(const axo__cell *cell, uint64_t word)
{
    bool any = cell->lifetime != AXO_PERMANENT || cell->phase == AXO__PHASE_TERMINATING;
    return (word & (any ? AXO__STOPS : AXO__STOP_PARENT)) != 0;
}

/* The default pre_restart (RS-04), for a pre_restart that is running: leaves the children, then
 * post_stop. */
axo_status axo__super_default_pre_restart(axo__worker *worker, axo__cell *cell);

/* ---- stop.c ---- */

void axo__super_terminate(axo__worker *worker, axo__cell *cell);
void axo__super_finish_terminate(axo__worker *worker, axo__cell *cell);

/* A system message that reached a closed cell; any local. */
void axo__super_closed(axo__core *core, axo__local *local, axo__cell *cell, axo__stack_node *node,
                       axo__sys_kind kind);

/* Empties the lane of a closed cell that can be looked at: its runner, and whoever pushes to it and
 * finds it closed. Each takes what there is at one blow, so every node is answered once. */
void axo__super_drain_closed(axo__core *core, axo__local *local, axo__cell *cell);

/* A cell whose grace period is over. */
void axo__super_expire(axo__core *core, axo__local *local, axo__cell *cell);

/* ---- strategy.c ---- */

/* A child's report: held back, or decided. */
void axo__super_report(axo__worker *worker, axo__cell *cell, axo__cell *child);

/* How the running cell has its answer to its failure. */
typedef enum axo__answer {
    AXO__ANSWER_LATER = 0,  /* not yet: the parent needs a report */
    AXO__ANSWER_TOLD = 1,   /* by directives, or a delay has begun, or the parent has failed too */
    AXO__ANSWER_RESTART = 2 /* it restarts at once, which the caller does; no directive says so */
} axo__answer;

/* The parent decides about the running cell's failure in that cell's turn, if it can. */
axo__answer axo__super_decide_here(axo__worker *worker, axo__cell *child);

/* Decides what was held back, in order, as long as the cell may (SC-10). */
void axo__super_unhold(axo__worker *worker, axo__cell *cell);

/* Restart permission for one child, counted (RW). */
/* Without a budget, `ward` is not looked at. */
bool axo__super_permit(const axo_strategy *strategy, axo__ward *ward, int64_t now);

/* A delayed restart is due: held back, or done. */
void axo__super_due(axo__worker *worker, axo__cell *cell, axo__cell *child);

/* ---- delay.c ---- */

/* What a child of a strategy with a back-off has. */
struct axo__delay {
    axo__timer timer; /* first */
    axo__cell *child;
    int64_t since;    /* LINEAR: the last failure; EXPONENTIAL: the last restart */
    uint32_t count;   /* failures since the reset */
    bool waits;       /* the timer is armed, or its DUE on the way */
    bool gone;        /* the child has terminated; its end waits for that DUE */
};

/* Counts a failure: how long its restart is delayed. */
int64_t axo__delay_next(const axo_backoff *backoff, axo__delay *delay, int64_t now, double chance);

/* The delayed restart is done. */
void axo__delay_over(const axo_backoff *backoff, axo__delay *delay, int64_t now);

/* Puts the child's restart off; false: it is to be done at once. */
bool axo__super_delay(axo__worker *worker, axo__cell *cell, axo__cell *child);

/* The child is to be forgotten: false, not before its DUE has come. */
bool axo__super_undelay(axo__cell *child);

/* ---- children.c ---- */

/* Tells a child, in the parent's turn. Directives to a child that is stopping do nothing. */
void axo__super_stop_child(axo__worker *worker, axo__cell *child);
void axo__super_suspend_child(axo__worker *worker, axo__cell *child, int32_t delta);
void axo__super_resume_own(axo__worker *worker, axo__cell *child);
void axo__super_restart_own(axo__worker *worker, axo__cell *child);
/* true: it holds the cause's texts once more, which the caller has seen to before. */
bool axo__super_restart_parent(axo__worker *worker, axo__cell *child, const axo__cause *cause,
                               bool resolve);

/* Stops every child; every one that the parent's latest instance made. */
void axo__super_stop_children(axo__worker *worker, axo__cell *parent);
void axo__super_stop_young(axo__worker *worker, axo__cell *parent);

/* Another instance of the parent begins. */
void axo__super_age_children(axo__cell *parent);

/* Unwatches and stops every child. */
void axo__super_leave_children(axo__worker *worker, axo__cell *parent);

/* Counts the children that are stopping and not yet waited for: how many are waited for now. */
uint32_t axo__super_wait_for_stopping(axo__cell *cell);

/* The parent has a family. */
void axo__super_link_child(axo__cell *parent, axo__cell *child);
void axo__super_child_gone(axo__worker *worker, axo__cell *cell, axo__cell *child);
void axo__super_adopt(axo__worker *worker, axo__cell *cell, axo__cell *child);

/* Makes a cell that is not yet scheduled. worker NULL: from outside. */
typedef struct axo__birth {
    const axo_props *props;
    axo_ref parent;
    axo__cell *parent_cell;
    uint32_t suspends;
    axo__moment now; /* the parent's callback */
} axo__birth;
axo_status axo__super_make(axo__core *core, axo__local *local, const axo__birth *birth,
                           axo__cell **out);
/* Gives back what the birth took: state and args when the instance is gone; what the parent keeps
 * of the child when it forgets it. */
void axo__super_free_blocks(axo__core *core, axo__local *local, axo__cell *cell);
void axo__super_free_ward(axo__core *core, axo__local *local, axo__cell *cell);
axo_status axo__super_spawn(axo__worker *worker, axo__cell *parent, const axo_props *props,
                            axo_ref *out);
axo__cell *axo__super_find_child(axo__cell *cell, axo_ref ref);

/* ---- stash.c ---- */

/* Keeps the message that is being handled; AXO_EINVAL (none is, or it is kept already),
 * AXO_EFULL. */
axo_status axo__super_stash(axo__worker *worker, axo__cell *cell);

/* Up to `count` of the oldest go to the front of the mailbox. */
void axo__super_unstash(axo__cell *cell, uint32_t count);

/* ---- watch.c ---- */

/* `own`: what comes in the place of the notice; NULL: the notice. */
axo_status axo__super_watch(axo__worker *worker, axo__cell *cell, axo_ref ref,
                            const axo_message *own);
void axo__super_unwatch(axo__worker *worker, axo__cell *cell, axo_ref ref);
void axo__super_take_watch(axo__worker *worker, axo__cell *cell, axo__stack_node *node,
                           axo__sys_kind kind);
void axo__super_watch_closed(axo__core *core, axo__local *local, axo__cell *cell,
                             axo__stack_node *node, axo__sys_kind kind);
bool axo__super_notice(axo__worker *worker, axo__cell *cell, axo__message *message);
void axo__super_notice_keep(axo__cell *cell, axo__message *message);
void axo__super_notice_free(axo__core *core, axo__local *local, axo__message *message);
/* Up to *budget watchers of one that is gone are told; true: all but the parent are. The parent's
 * records are put aside: it is to be told when it knows that the child is gone (DW-13). */
bool axo__super_tell_watchers(axo__worker *worker, axo__cell *cell, uint32_t *budget);
void axo__super_tell_parent(axo__worker *worker, axo__watch *above);
void axo__super_drop_watches(axo__worker *worker, axo__cell *cell);
/* The parent has forgotten the child: now it may be told (DW-13). */
void axo__super_told_late(axo__worker *worker, axo__cell *cell, axo_ref child);
/* A notice left in a closed mailbox. */
void axo__super_notice_void(axo__core *core, axo__local *local, axo__cell *cell,
                            axo__message *message);

#endif
