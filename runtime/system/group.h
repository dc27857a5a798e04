/* group.h - a group's record, for the two files that send its messages: group.c one, group_many.c
 * one to each of many.
 *
 * Orders
 *   [N4] cas acq_rel, count   what a handler wrote before its message ended is seen by who finds 0
 *        add acq_rel, count   more than 0 counts from here on
 *   [N5] load acquire, count  pairs with [N4]
 */
#ifndef AXO__SYSTEM_GROUP_H
#define AXO__SYSTEM_GROUP_H

#include <axo/group.h>

#include "system/system.h"

typedef struct axo__group_waiter axo__group_waiter;
typedef struct axo__group_many axo__group_many;

struct axo_group {
    axo_system *system;
    axo__a64 count;         /* messages that were sent one by one, and portions of many */
    axo__os_mutex mutex;
    uint64_t zeros;         /* guarded by the mutex, as all below: how often the count became 0 */
    uint32_t users;         /* the owner, threads that are telling, and calls that send many */
    axo__group_waiter *waiters;
    axo__group_many *manys; /* of which portions count, or which are being sent */
};

/* What a send through the group checks. */
axo_status axo__group_check(const axo_group *group, axo_ref to, uint32_t tag, const void *payload,
                            size_t size);

/* Something counts no more: a message, or the last one of a portion. */
void axo__group_leave(axo_group *group);

/* A user goes, and with the last one the group. The mutex is held, and released. */
void axo__group_drop(axo_group *group);

#endif
