/* lent.h - the default pool of a system of lent threads: slots that the program's threads visit. */
#ifndef AXO__SCHED_LENT_H
#define AXO__SCHED_LENT_H

#include "sched/crew.h"

extern const axo__sched_kind axo__lent_kind;

/* Makes the calling thread the worker of a slot until it has nothing to do, `budget_ns` of the
 * operating system's clock have passed (negative: no limit) or `turns_max` turns were run, and
 * those of the step that it is in. AXO_OK; AXO_EBUSY: another thread is in the slot. */
axo_status axo__lent_run(axo__sched *sched, uint32_t slot, int64_t budget_ns, uint64_t turns_max,
                         uint64_t *turns);

/* The same in a slot that nobody is in. AXO_EBUSY: there is none. */
axo_status axo__lent_help(axo__sched *sched, int64_t budget_ns);

/* And until it has nothing to do, or, as a look between two steps shows, the operating system's
 * clock has passed `deadline` (AXO__NEVER: no limit) or `over` is not 0. *turns were run. */
axo_status axo__lent_help_until(axo__sched *sched, int64_t deadline, const axo__a32 *over,
                                uint64_t *turns);

/* Makes the calling thread the worker of a slot that nobody is in, until no portion of the job is
 * left; it runs no cell there. AXO_EBUSY: there is no such slot. */
axo_status axo__lent_crew(axo__sched *sched, axo__crew_job *job);

/* Flushes a slot's cache in the place of a visitor; false: one is there, who will. */
bool axo__lent_flush(axo__worker *slot);

/* In how many ns a visit is due that nobody asks for; INT64_MAX: none is. Any thread. */
int64_t axo__lent_due(axo__sched *sched);

/* The program has the system: it is asked for its first visit. */
void axo__lent_open(axo__sched *sched);

/* Waits for those who are in a slot; the system has terminated, so they have nothing to do. */
void axo__lent_close(axo__sched *sched);

#endif
