/* options.h - what a program's structs say, checked and completed.
 *
 * Behind the rules of the public headers: the first member of each struct is its size, zero means
 * the default, and a struct only grows. */
#ifndef AXO__SYSTEM_OPTIONS_H
#define AXO__SYSTEM_OPTIONS_H

#include "system/system.h"

/* Copies what the caller's header knew of the options, checks it and fills in the defaults. NULL:
 * all defaults. AXO_OK, AXO_EINVAL, AXO_EVERSION, AXO_ENAME. */
axo_status axo__options_read(const axo_options *from, axo_options *to);

/* Copies a struct with `size` first; members that an older header lacks are zero. AXO_EVERSION: a
 * newer header's tail is not zero, so the program asks for a feature that is not here. */
axo_status axo__struct_read(const void *from, void *to, size_t size);

/* How much of such a struct the library may fill in: a newer header's tail is left as it is. */
axo_status axo__struct_room(const void *to, size_t size, size_t *room);

/* Copies props, and checks them and the structs that they point at. */
axo_status axo__props_read(const axo_props *from, axo_props *to);

#endif
