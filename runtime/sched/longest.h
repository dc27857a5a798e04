/* longest.h - who has the most messages: a look at the mailboxes of all actors, for
 * <axo/metrics.h>.
 *
 * Nothing is counted for it while messages go their way. The look goes through the cells; one that
 * has messages and no worker inside is borrowed, and its messages are counted, as axo_inspect does.
 * A bounded mailbox counts its messages itself. A cell that has a worker inside cannot be looked
 * into. If there are figures it is asked instead: its runner finds the question at the end of a
 * turn that has left messages as often as backlogs are told apart, counts, and the next look has
 * the answer. An actor that is asked and has no such turn has no backlog, or a handler that hangs.
 *
 * Roles      One look at a time, if there are figures: `looking` of axo__figures_asking. The
 *            questions are under its `mutex`.
 */
#ifndef AXO__SCHED_LONGEST_H
#define AXO__SCHED_LONGEST_H

#include "sched/figures.h"

/* Bytes of the path of who has the most. */
#define AXO__LONGEST_PATH 128

/* What a look has found. */
typedef struct axo__longest {
    uint64_t count;  /* 0: nobody has any */
    axo_ref actor;
    char path[AXO__LONGEST_PATH];
    struct axo__longest_class {
        uint64_t count;
        axo_ref actor;
    } classes[AXO_METRICS_CLASSES_MAX]; /* 0 of each if there are no figures */
} axo__longest;

/* Looks; fills in all of `out`. Any thread that is in no door. */
void axo__longest_look(axo__core *core, axo__longest *out);

/* By the cell's runner: somebody is asked. */
void axo__longest_tell(axo__figures *figures, const axo__cell *cell);

/* A turn of the cell ends and has left messages, by its runner. */
static inline void axo__longest_left(const axo__worker *worker, const axo__cell *cell)
{
    axo__figures *figures = worker->local.core->figures;
    if (axo__unlikely(figures != NULL) && axo__a32_load_relaxed(&figures->asking.open) != 0)
        axo__longest_tell(figures, cell);
}

#endif
