/* account.h - what an actor has outstanding: the record.
 *
 * `extra` has one if the props set a bound; it is taken at spawn, and read and written by the
 * cell's runner only. It goes with the slot, and what it counts with the instance. */
#ifndef AXO__CELL_ACCOUNT_H
#define AXO__CELL_ACCOUNT_H

#include "base/demand.h"
#include "mailbox/message.h"

typedef struct axo__account {
    axo__demand demand;
    uint64_t held;        /* bytes */
    axo__message *notice; /* of room, made when something was refused; NULL: nothing was, or it has
                             been sent */
} axo__account;

/* Nothing is outstanding, and nothing is known of answers but what the props have said. */
static inline void axo__account_clear(axo__account *it)
{
    it->held = 0;
    axo__demand_init(&it->demand, it->demand.bound, it->demand.owed_max, it->demand.least);
}

#endif
