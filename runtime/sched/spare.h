/* spare.h - spare workers of the default pool, which run cells when all other workers are stuck. */
#ifndef AXO__SCHED_SPARE_H
#define AXO__SCHED_SPARE_H

#include "sched/endless.h"

/* What a spare last saw of a worker; only that spare touches it. */
struct axo__spare_mark {
    uint64_t handled;
    uint64_t turn;
    int64_t since;    /* no progress since then; 0: the worker was not in a turn */
    int64_t reported; /* when this handler was last reported; 0: never */
    axo__endless_mark endless;
};

/* Notes what `worker` does, and reports its handler if it has hung for `stuck_ns`. `spare` is who
 * looks, with a clock just read; the mark is its own. true: the worker is stuck. */
bool axo__spare_look_after(axo__worker *spare, axo__worker *worker, axo__spare_mark *mark);

/* A step of a spare worker: looks at the other workers, and runs one cell of theirs while all of
 * them are stuck. The second spare takes urgent cells only, so that failures are decided in any
 * case. */
axo__step axo__spare_step(void *worker);
extern const axo__os_body axo__spare_body;

#endif
