/* pinned.h - the kind of pool that is one thread of one actor. */
#ifndef AXO__SCHED_PINNED_H
#define AXO__SCHED_PINNED_H

#include "sched/pool.h"

extern const axo__sched_kind axo__pinned_kind;

#endif
