/* fixed.h - the kind of the default pool: threads for good, which steal from each other. */
#ifndef AXO__SCHED_FIXED_H
#define AXO__SCHED_FIXED_H

#include "sched/pool.h"

extern const axo__sched_kind axo__fixed_kind;

#endif
