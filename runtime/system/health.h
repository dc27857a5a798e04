/* health.h - who makes no progress: the answer to axo_health.
 *
 * Nothing is counted for it. A worker publishes when it last read its clock, for spares. An actor
 * that has messages is borrowed and gets the mark `looked` with AXO__ATTENTION_FRONT, by which
 * its runner leaves the plain path as for a stash; what clears the one there clears the other, so a
 * mark that is found again says that no message was taken since.
 *
 * Roles      One caller at a time, under the mutex; inside it the doors, one portion each.
 * Memory     Two lists of those that wait, by slot: the last call's and this one's. */
#ifndef AXO__SYSTEM_HEALTH_H
#define AXO__SYSTEM_HEALTH_H

#include <axo/health.h>

#include "mem/alloc.h"
#include "os/os.h"

typedef struct axo__health_entry {
    axo_ref actor;
    int64_t since; /* the call that has found it waiting first */
} axo__health_entry;

typedef struct axo__health_list {
    axo__health_entry *entries;
    uint32_t count;
    uint32_t room;
} axo__health_list;

typedef struct axo__health {
    axo__os_mutex mutex;
    axo__health_list last;
    axo__health_list next;
} axo__health;

bool axo__health_init(axo__health *health);
void axo__health_fini(axo__health *health, axo__heap *heap);

/* Fills in all of `late` but its size. The caller has checked the arguments, and holds no door.
 * false: no memory, and nothing was found out. */
bool axo__health_look(axo_system *system, int64_t within_ns, axo_health_report *late);

#endif
