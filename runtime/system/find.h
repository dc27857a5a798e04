/* find.h - paths and patterns: from names to the actors that have them now. */
#ifndef AXO__SYSTEM_FIND_H
#define AXO__SYSTEM_FIND_H

#include "system/system.h"

/* Where a path begins: at an actor (its runner is the caller), or nowhere, so that a relative path
 * is refused. */
typedef struct axo__find_from {
    axo__core *core;
    axo__cell *cell; /* NULL: absolute paths only */
} axo__find_from;

/* A part of a path between two slashes, in the caller's text. */
typedef struct axo__segment {
    const char *text;
    size_t length;
} axo__segment;

/* The part of a pattern from its first wildcard on, and the actor where that part begins. */
typedef struct axo__pattern {
    axo_ref base;     /* none: no actor is there */
    /* in the caller's text; NULL: there is no wildcard, and `base` is the answer */
    const char *rest;
    const char *end;
} axo__pattern;

/* Walks as far as the path is exact, and checks all of it. The caller is a worker or holds a door.
 * AXO_OK, AXO_ENAME. */
axo_status axo__find_walk(const axo__find_from *from, const char *path, axo__pattern *pattern);

/* Visits the actors in slots from *slot on that match a pattern with wildcards, and moves *slot on,
 * until the table ends or `steps` steps have been made: one for each slot and each segment. The
 * caller is a worker or holds a door. false: the table has ended. */
typedef void (*axo__find_visit)(void *user, axo_ref ref);
bool axo__find_scan(axo__core *core, const axo__pattern *pattern, uint32_t *slot, uint64_t steps,
                    axo__find_visit visit, void *user);

/* The child that has `name`, for a caller that could not take the name. AXO_OK; AXO_EEXIST (the
 * child is stopping, or, for the parent's callback `now`, has ended); with *out none, from outside:
 * the child has ended. */
axo_status axo__find_sibling(axo__core *core, axo_ref parent, const char *name, axo__moment now,
                             axo_ref *out);

#endif
