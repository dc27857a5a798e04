/* stash.h - messages that an actor has put aside. */
#ifndef AXO__SUPER_STASH_H
#define AXO__SUPER_STASH_H

#include "super/super.h"

/* Keeps the message that is being handled; AXO_EINVAL (none is, or it is kept already),
 * AXO_EFULL. */
axo_status axo__stash_keep(axo__worker *worker, axo__cell *cell);

/* Up to `count` of the oldest go to the front of the mailbox. */
void axo__stash_return(axo__cell *cell, uint32_t count);

#endif
