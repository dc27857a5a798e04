/* stash.h - messages that an actor has put aside. The messages stay queued (STASHED), so a restart
 * puts them back and an end makes dead letters of them. */
#ifndef AXO__SUPER_STASH_H
#define AXO__SUPER_STASH_H

#include "super/super.h"

/* Stashes the message that is being handled. AXO_EINVAL: no message is, or it is stashed already
 * (SS-02); AXO_EFULL: the stash is full (SS-05). */
axo_status axo__stash_keep(axo__worker *worker, axo__cell *cell);

/* Moves up to `count` of the oldest stashed messages to the front of the mailbox, in order
 * (SS-01). */
void axo__stash_return(axo__cell *cell, uint32_t count);

#endif
