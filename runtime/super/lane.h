/* lane.h - a turn for the system: the lane, the directives, the reports that were held back. */
#ifndef AXO__SUPER_LANE_H
#define AXO__SUPER_LANE_H

#include "super/super.h"

/* What a runner in sched/ calls of this layer, as one table: so sched/ needs no name of super/. */
extern const axo__super_ops axo__lane_ops;

#endif
