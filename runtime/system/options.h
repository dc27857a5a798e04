/* options.h - what a program's structs say, checked and completed.
 *
 * Behind the rules of the public headers: the first member of each struct is its size, zero means
 * the default, and a struct only grows. */
#ifndef AXO__SYSTEM_OPTIONS_H
#define AXO__SYSTEM_OPTIONS_H

#include <stddef.h>
#include <string.h>

#include "system/system.h"

/* Copies what the caller's header knew of the options, checks it and fills in the defaults. NULL:
 * all defaults. AXO_OK, AXO_EINVAL, AXO_EVERSION, AXO_ENAME. */
axo_status axo__options_read(const axo_options *from, axo_options *to);

/* Copies a struct with `size` first; members that an older header lacks are zero. AXO_EVERSION: a
 * newer header's tail is not zero, so the program asks for a feature that is not here. */
axo_status axo__struct_read(const void *from, void *to, size_t size);

/* How much of such a struct the library may fill in: a newer header's tail is left as it is. */
axo_status axo__struct_room(const void *to, size_t size, size_t *room);

/* Whether it has a name that ends. */
bool axo__node_is_good(const axo_node *node);

/* Copies props, and checks them and the structs that they point at. */
axo_status axo__props_read(const axo_props *from, axo_props *to);

/* Checks a class. */
axo_status axo__class_check(const axo_class *cls);

/* A class's `on_crash`, with its watchdog above it: one comparison for both. */
static inline uint64_t axo__class_crash(const axo_class *cls)
{
    return (uint64_t)cls->watchdog_ms << 32 | cls->on_crash;
}

/* Members that stand side by side are looked at in one piece. */
AXO_STATIC_ASSERT(offsetof(axo_props, dispatcher) == offsetof(axo_props, system_actor) + 4,
                  "`where` of axo__props_are_plain");
AXO_STATIC_ASSERT(offsetof(axo_props, memory_reserved) == offsetof(axo_props, memory_fails) + 4,
                  "`fails` of axo__props_are_plain");
AXO_STATIC_ASSERT(offsetof(axo_props, outstanding_answer) ==
                      offsetof(axo_props, outstanding_max) + 4,
                  "`owing` of axo__props_are_plain");

/* Whether axo__props_read would find the props good and return them as they are, of a class that is
 * whole, and they ask for nothing but that class, args and a lifetime: the common case of a
 * spawn. */
static inline bool axo__props_are_plain(const axo_props *props)
{
    if (axo__unlikely(props == NULL || props->size != sizeof *props))
        return false;
    const axo_class *cls = props->cls;
    uint64_t where;
    uint64_t fails;
    uint64_t owing;
    memcpy(&where, (const char *)props + offsetof(axo_props, system_actor), sizeof where);
    memcpy(&fails, (const char *)props + offsetof(axo_props, memory_fails), sizeof fails);
    memcpy(&owing, (const char *)props + offsetof(axo_props, outstanding_max), sizeof owing);
    uintptr_t rare = (uintptr_t)props->name | (uintptr_t)props->strategy |
                     (uintptr_t)props->mailbox | props->stash_max | props->memory_max |
                     props->memory_tree_max | props->outstanding_bytes;
    uint64_t all = rare | where | fails | owing;
    if (axo__unlikely(all != 0 || cls == NULL || cls->size != sizeof *cls))
        return false;
    return cls->receive != NULL && cls->state_size <= AXO_PAYLOAD_MAX &&
           axo__class_crash(cls) <= AXO_CRASH_FAILS &&
           props->lifetime <= AXO_TEMPORARY && props->args_size <= AXO_ARGS_MAX &&
           (props->args_size == 0 || props->args != NULL);
}
AXO_STATIC_ASSERT(AXO_DISPATCH_DEFAULT == 0, "`rare` of axo__props_are_plain");
AXO_STATIC_ASSERT(sizeof(void *) != 8 || sizeof(axo_props) == 112,
                  "does the new field of axo_props belong to axo__props_are_plain?");

#endif
