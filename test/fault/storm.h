/* storm.h - the hierarchy test with one request in fifty refused. */
#ifndef TEST_FAULT_STORM_H
#define TEST_FAULT_STORM_H

#include <stdbool.h>
#include <stdint.h>

#include <axo/axo.h>

/* Returns when the guardians have nothing left to do: one that cannot start ends the system. */
void fault_await_guardians(axo_system *system);

/* So many seeds; false: one of them found a breach. */
bool fault_hierarchy(uint32_t seeds);

#endif
