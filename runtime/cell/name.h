/* name.h - names of children: unique among siblings, found by any thread.
 *
 * One hash table for the whole system, keyed by (parent's reference, text), in stripes with a mutex
 * each. A name is taken at spawn, before the child exists, and bound to the child's reference. The
 * child itself ends it, before any actor can learn of the death, so an actor that learns of the
 * death can take the name at once (ST-17). The parent learns last; it unlinks a name that no later
 * child has taken.
 *
 *   taken -> bound -> ended -> replaced (by the next taker)
 *                           -> unlinked (by the parent)
 *
 * A callback of the parent that has once seen a name taken sees it taken, by the same owner, until
 * the callback returns: a callback that made the child, stopped it (ST-17), found it, or was
 * refused the name gets the same answer however fast the child ends.
 *
 * All orders come from the stripe's mutex: taking the mutex after another thread has released it
 * acquires what that thread wrote to the name. A name's memory is freed after the child's grace
 * period, so a thread that reads a path may read the text without the mutex.
 */
#ifndef AXO__CELL_NAME_H
#define AXO__CELL_NAME_H

#include "cell/cell.h"

#define AXO__NAME_STRIPES 64

/* One callback: of which worker, and its number there; zeroed: none. */
typedef struct axo__moment {
    const void *who;
    uint64_t when;
} axo__moment;

/* The stripe's mutex guards the fields that are not fixed. */
struct axo__name {
    axo__name *next;
    uint64_t hash;    /* fixed */
    axo_ref parent;   /* fixed */
    axo_ref child;    /* none: not yet bound */
    axo__moment seen; /* the parent's runner's: its last callback that saw the name taken */
    bool linked;
    bool ended;
    uint32_t length;  /* fixed */
    char text[]; /* and a zero */
};

/* A part of the table: 64 stripes, so that spawns in different families rarely meet. */
typedef struct axo__name_stripe {
    axo__os_mutex mutex;
    axo__name **buckets;
    uint32_t mask;
    uint32_t count;
} axo__name_stripe;

typedef struct axo__names {
    axo__heap *heap;
    uint64_t salt; /* so that no program can choose names that collide */
    uint32_t ready;
    axo__name_stripe stripes[AXO__NAME_STRIPES];
} axo__names;

bool axo__names_init(axo__names *names, axo__heap *heap, uint64_t seed);
void axo__names_fini(axo__names *names);

/* AXO_OK, or AXO_ENAME for a wrong length or character; *at is the first wrong byte. */
axo_status axo__name_check(const char *text, size_t *at);

/* Takes a name for a child to come; AXO_EEXIST, AXO_ENOMEM. `now`: the parent's callback. */
axo_status axo__names_take(axo__names *names, axo_ref parent, const char *text, axo__moment now,
                           axo__name **out);

/* From here on the name leads to the child. A look-up between take and bind finds no child. */
void axo__names_bind(axo__names *names, axo__name *name, axo_ref child);

/* The child has ended: look-ups do not find it by this name any more, and a later spawn may take
 * the name. By the child's runner, before any other actor can learn of the end (ST-17). */
void axo__names_end(axo__names *names, axo__name *name);

/* The parent has taken note of the end. The name leaves the table if no later child has replaced
 * it; its text stays for threads that are reading it. */
void axo__names_unlink(axo__names *names, axo__name *name);

/* After the grace period: no thread can be reading the text. */
void axo__names_free(axo__names *names, axo__name *name);

/* The child that has the name, as the parent's callback `now` is to see it; none: the name is
 * free. */
axo_ref axo__names_own(axo__names *names, axo_ref parent, const char *text, axo__moment now);

/* The living child with this name, for any thread; none. */
axo_ref axo__names_find(axo__names *names, axo_ref parent, const char *text, size_t length);

#endif
