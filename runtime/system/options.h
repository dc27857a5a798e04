/* options.h - what a program's structs say, checked and completed. */
#ifndef AXO__SYSTEM_OPTIONS_H
#define AXO__SYSTEM_OPTIONS_H

#include "system/system.h"

/* Copies what the caller's header knew and completes it. AXO_OK, AXO_EINVAL, AXO_EVERSION. */
axo_status axo__options_read(const axo_options *from, axo_options *to);

/* A struct with `size` first: copies what is known; AXO_EVERSION if more is set. */
axo_status axo__struct_read(const void *from, void *to, size_t size);

/* How much of such a struct is there to be filled: a newer header's tail is left as it is. */
axo_status axo__struct_room(const void *to, size_t size, size_t *room);

/* Checks props and what they point at. */
axo_status axo__props_read(const axo_props *from, axo_props *to);

#endif
