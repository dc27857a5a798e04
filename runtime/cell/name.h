/* name.h - names of children: unique among siblings, found by any thread.
 *
 * A hash table for the whole system, keyed by (parent, name), in stripes with a mutex each. A name
 * is taken at spawn, before the child exists. It ends with the child itself, before anybody can
 * learn of the death, so whoever learns of it can take the name at once (ST-17); the parent, which
 * learns last, unlinks what nobody has taken meanwhile.
 *
 *   taken -> bound -> ended -> replaced (by the next taker)
 *                           -> unlinked (by the parent)
 *
 * Only to a callback of the parent that has seen the name taken an ended one is taken still, and
 * has its owner: who has made the child, told it to stop (ST-17), found it, or found the name
 * taken, sees the same until it returns, however fast the child is.
 */
#ifndef AXO__CELL_NAME_H
#define AXO__CELL_NAME_H

#include "cell/cell.h"

#define AXO__NAME_STRIPES 64

/* A callback: of a worker, and which; zeroed: none. */
typedef struct axo__moment {
    const void *who;
    uint64_t when;
} axo__moment;

/* The stripe's mutex guards what is not fixed. */
struct axo__name {
    axo__name *next;
    uint64_t hash;    /* fixed */
    axo_ref parent;   /* fixed */
    axo_ref child;    /* none: not yet bound */
    axo__moment seen; /* the parent's runner only: the last callback that has seen it taken */
    bool linked;
    bool ended;
    uint32_t length;  /* fixed */
    char text[]; /* and a zero */
};

typedef struct axo__name_stripe {
    axo__os_mutex mutex;
    axo__name **buckets;
    uint32_t mask;
    uint32_t count;
} axo__name_stripe;

typedef struct axo__names {
    axo__heap *heap;
    uint64_t salt; /* so that nobody can choose names that collide */
    uint32_t ready;
    axo__name_stripe stripes[AXO__NAME_STRIPES];
} axo__names;

bool axo__names_init(axo__names *names, axo__heap *heap, uint64_t seed);
void axo__names_fini(axo__names *names);

/* AXO_OK, or AXO_ENAME: length and characters; *at is the first byte that is wrong. */
axo_status axo__name_check(const char *text, size_t *at);

/* Takes a name for a child to come; AXO_EEXIST, AXO_ENOMEM. `now`: the parent's callback. */
axo_status axo__names_take(axo__names *names, axo_ref parent, const char *text, axo__moment now,
                           axo__name **out);

/* From now on it leads to the child. */
void axo__names_bind(axo__names *names, axo__name *name, axo_ref child);

/* The child has ended: it is not found by its name any more, and others may take it. */
void axo__names_end(axo__names *names, axo__name *name);

/* From now on the name is free for any other child; its text stays for those who look at it. */
void axo__names_unlink(axo__names *names, axo__name *name);

/* Nobody looks at it any more. */
void axo__names_free(axo__names *names, axo__name *name);

/* The child that has the name, for its parent's callback `now`; none: the name is free. */
axo_ref axo__names_own(axo__names *names, axo_ref parent, const char *text, axo__moment now);

/* The living child whose name are these bytes; none. */
axo_ref axo__names_find(axo__names *names, axo_ref parent, const char *text, size_t length);

#endif
