/* settle.h - the end of a turn that has asked for it: when settle is called, and when not. */
#ifndef AXO__SCHED_SETTLE_H
#define AXO__SCHED_SETTLE_H

#include "sched/pool.h"

/* Whether the actor's settle is due at the end of a turn, or before system work. A portion that is
 * left of system work comes first. */
static inline bool axo__settle_is_due(const axo__cell *cell)
{
    const uint32_t bits = AXO__ATTENTION_SETTLE | AXO__ATTENTION_REST;
    return axo__unlikely((cell->attention & bits) == AXO__ATTENTION_SETTLE);
}

/* System work is to follow, and finds the actor's messages settled; but it comes before a second
 * settle that the first one has asked for. true: the word is to be looked at again. */
bool axo__settle_before(axo__worker *worker, axo__cell *cell);

static inline bool axo__settle_first(axo__worker *worker, axo__cell *cell)
{
    return axo__settle_is_due(cell) && axo__settle_before(worker, cell);
}

/* The end of a turn whose settle is due. true: it has left work for the system, which the turn does
 * before it ends. *more: another turn follows, as settle has asked for itself or has brought back
 * stashed messages. */
bool axo__settle_last(axo__worker *worker, axo__cell *cell, bool *more);

#endif
