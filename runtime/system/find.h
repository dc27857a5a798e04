/* find.h - paths and patterns, from names to actors. */
#ifndef AXO__SYSTEM_FIND_H
#define AXO__SYSTEM_FIND_H

#include "system/system.h"

/* Where a path begins: at an actor (its runner is the caller), or with a relative one refused. */
typedef struct axo__find_from {
    axo__core *core;
    axo__cell *cell; /* NULL: absolute only */
} axo__find_from;

typedef struct axo__segment {
    const char *text;
    size_t length;
} axo__segment;

/* What is left of a pattern from its first wildcard on, and from where. */
typedef struct axo__pattern {
    axo_ref base;     /* none: nobody is there */
    const char *rest; /* in the caller's text; NULL: there is no wildcard, `base` is it */
    const char *end;
} axo__pattern;

/* Walks as far as the path is exact, and checks all of it. On a worker or under a door. AXO_OK,
 * AXO_ENAME. */
axo_status axo__find_walk(const axo__find_from *from, const char *path, axo__pattern *pattern);

/* Visits the actors in slots from *slot on that a pattern with wildcards matches, and moves *slot:
 * until there are no more, or so many steps have been made, one for each slot and each segment. On
 * a worker or under a door; false: there is nothing behind. */
typedef void (*axo__find_visit)(void *user, axo_ref ref);
bool axo__find_scan(axo__core *core, const axo__pattern *pattern, uint32_t *slot, uint64_t steps,
                    axo__find_visit visit, void *user);

/* The child of that name, for one who could not take it: AXO_OK, AXO_EEXIST (it is stopping, or, to
 * the parent's callback `now`, has ended), or none, from outside: it has ended. */
axo_status axo__find_sibling(axo__core *core, axo_ref parent, const char *name, axo__moment now,
                             axo_ref *out);

#endif
