/* acts.h - what the simulated actors do: operations, and the callbacks that draw them. */
#ifndef TEST_SIM_ACTS_H
#define TEST_SIM_ACTS_H

#include "model.h"

void act_know(axo_ref ref, uint64_t identity, const axo_props *props);

/* Actors that are parked for ever on each other are the program's fault: none are here. */
bool act_may_send(uint64_t from, axo_ref to);

/* Whether it was accepted. */
bool act_accepted(axo_status status, axo_ref to);

/* A decider's: a child that has ended, and that its parent has not forgotten yet (DW-13). */
void world_watch_late(axo_ctx *ctx);

const axo_class *world_class(uint32_t which);

#endif
