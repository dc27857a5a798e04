/* inspect.h - what an actor is doing. */
#ifndef AXO__SYSTEM_INSPECT_H
#define AXO__SYSTEM_INSPECT_H

#include "system/system.h"

/* Fills `info`; on a worker (its runner is `self`, or NULL), or under a door. *cls is the class of
 * the one that was looked at; NULL: gone. */
void axo__inspect(axo__core *core, axo__cell *self, axo_ref ref, axo_ref waiting_sender,
                  axo_actor_info *info, const axo_class **cls);

/* What the class calls a tag; NULL: nothing. User code, as the next one: with no lock held. */
const char *axo__inspect_ask_name(const axo_class *cls, uint32_t tag);

/* The tag's name. */
void axo__inspect_name_tag(axo_actor_info *info, const axo_class *cls);

#endif
