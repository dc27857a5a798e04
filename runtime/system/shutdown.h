/* shutdown.h - the end of a system, whose steps have numbers in system.h. */
#ifndef AXO__SYSTEM_SHUTDOWN_H
#define AXO__SYSTEM_SHUTDOWN_H

#include "system/system.h"

/* (1) */
void axo__shutdown_begin(axo_system *system);

/* (5), (6), and what reaches the top. */
extern const axo__root_ops axo__shutdown_root_ops;

/* (7): called by workers that have nothing to do. */
void axo__shutdown_idle(axo__core *core);

/* D16: what the workers are at. */
uint32_t axo__shutdown_late(axo_system *system, axo_late *late, uint32_t late_max);

#endif
