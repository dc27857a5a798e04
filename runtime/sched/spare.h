/* spare.h - workers for when all others are stuck. */
#ifndef AXO__SCHED_SPARE_H
#define AXO__SCHED_SPARE_H

#include "sched/pool.h"

/* What a spare last saw of a worker. */
struct axo__spare_mark {
    uint64_t handled;
    uint32_t turn;
    int64_t since;    /* no progress since then; 0: it was not in a turn */
    int64_t reported; /* when it was last said to be stuck; 0: not in this handler */
};

/* A step of a spare worker: looks after the others, runs what they leave while all of them are
 * stuck. The last one takes urgent cells only, so that a failure is seen to in any case. */
axo__step axo__spare_step(void *worker);
extern const axo__os_body axo__spare_body;

#endif
