/* lane.h - a turn for the system: the lane, the directives, what was held back. */
#ifndef AXO__SUPER_LANE_H
#define AXO__SUPER_LANE_H

#include "super/super.h"

extern const axo__super_ops axo__lane_ops;

#endif
