/* name.h - names of children: unique among siblings, found by any thread.
 *
 * A hash table for the whole system, keyed by (parent, name), in stripes with a mutex each. A name
 * is taken at spawn, before the child exists, and freed when the parent has removed the child: so
 * it is free when anybody learns of the death (ST-17).
 */
#ifndef AXO__CELL_NAME_H
#define AXO__CELL_NAME_H

#include "cell/cell.h"

#define AXO__NAME_STRIPES 64

struct axo__name {
    axo__name *next;
    uint64_t hash;
    axo_ref parent;
    axo_ref child;
    uint32_t length;
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

/* AXO_OK, or AXO_ENAME: length and characters. */
axo_status axo__name_check(const char *text);

/* Takes a name for a child to come; AXO_EEXIST, AXO_ENOMEM. */
axo_status axo__names_take(axo__names *names, axo_ref parent, const char *text, axo__name **out);

/* From now on it leads to the child. */
void axo__names_bind(axo__names *names, axo__name *name, axo_ref child);

/* From now on the name is free for another child; its text stays for those who look at it. */
void axo__names_unlink(axo__names *names, axo__name *name);

/* Nobody looks at it any more. */
void axo__names_free(axo__names *names, axo__name *name);

/* The child of that name; none. */
axo_ref axo__names_find(axo__names *names, axo_ref parent, const char *text);

#endif
