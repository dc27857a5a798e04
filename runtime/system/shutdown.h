/* shutdown.h - the end of a system, whose steps have numbers in system.h. */
#ifndef AXO__SYSTEM_SHUTDOWN_H
#define AXO__SYSTEM_SHUTDOWN_H

#include "system/system.h"

/* Step (1): stops /user. Any thread, any number of times. */
void axo__shutdown_begin(axo_system *system);

/* Steps (5), (6), and the causes that reach the top, as super/ calls them. */
extern const axo__root_ops axo__shutdown_root_ops;

/* Step (7): called by a worker that finds no work. */
void axo__shutdown_idle(axo__core *core);

/* D16: lists the actors that have not terminated, and what the worker of each is doing. */
uint32_t axo__shutdown_late(axo_system *system, axo_late *late, uint32_t late_max);

#endif
