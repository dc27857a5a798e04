/* elastic.h - the kind of pool whose threads come and go with the work; see sched/DESIGN.md. */
#ifndef AXO__SCHED_ELASTIC_H
#define AXO__SCHED_ELASTIC_H

#include "sched/pool.h"

extern const axo__sched_kind axo__elastic_kind;

#endif
