/* records.h - the records of a node's grains: by name, and by what is due first.
 *
 * The table has as many chains as there may be records, the heap as many places: both are there
 * from the beginning, so nothing but a record itself, and a message, is allocated later.
 */
#ifndef CLUSTER_RECORDS_H
#define CLUSTER_RECORDS_H

#include "grain.h"

/* The number of a grain's call ends in that of its chain; the rest grows, for 5 years at 10^5 calls
 * a second. The highest bit is the lease's. */
#define CLUSTER_RECORDS_BITS 20

/* A message that is kept; its body follows. */
typedef struct cluster_box {
    struct cluster_box *next;
    int64_t since;             /* here */
    cluster_parcel parcel;
    _Alignas(max_align_t) unsigned char body[];
} cluster_box;

struct cluster_grain {
    cluster_grain *next;       /* of its chain */
    uint64_t hash;
    cluster_grain_name name;
    cluster_grain_state state;
    bool unborn;               /* RELEASING: no life could begin */
    uint64_t ask;              /* that has no answer; 0: none */
    int64_t asked_at;          /* with `ask` */
    int64_t retry_at;          /* WAITING; RELEASING without `ask` */
    int64_t seeking_since;     /* for a life */
    int64_t idle_since;        /* LIVE */
    int64_t idle_ns;           /* LIVE: until it is ended */
    void *life;                /* LIVE, ENDING: the caller's */
    cluster_store_record claim;      /* READING to CLAIMING: as it was read */
    uint64_t lease_revision;   /* FENCING: of the holder's */
    uint64_t fence;            /* LIVE to RELEASING */
    uint64_t term;             /* of this node's lease, by which that is held */
    cluster_box *first;
    cluster_box *last;
    uint32_t count;
    uint32_t index;            /* in the heap */
    int64_t due;
    cluster_box *handled;      /* LIVE, ENDING: that was taken; NULL: none */
};

axo_status cluster_records_init(cluster_grains *all);
/* There are no records any more. */
void cluster_records_fini(cluster_grains *all);

cluster_grain *cluster_records_find(const cluster_grains *all, uint64_t hash,
                                    const cluster_grain_name *name);
/* Whose call this is. NULL: nobody's any more. */
cluster_grain *cluster_records_asked(const cluster_grains *all, uint64_t ask);
/*   returns   NULL: no memory, or there are grains_max */
cluster_grain *cluster_records_add(cluster_grains *all, uint64_t hash,
                                   const cluster_grain_name *name);
void cluster_records_remove(cluster_grains *all, cluster_grain *grain);

/* Something is due at another time. */
void cluster_records_arm(cluster_grains *all, cluster_grain *grain, int64_t due);

/*   returns   NULL: no memory */
cluster_box *cluster_box_make(cluster_grains *all, int64_t now, const cluster_parcel *parcel);
void cluster_box_free(cluster_grains *all, cluster_box *box);
/* The messages of a record, first in first out; there has to be one. */
void cluster_records_push(cluster_grains *all, cluster_grain *grain, cluster_box *box);
void cluster_records_unpop(cluster_grains *all, cluster_grain *grain, cluster_box *box);
cluster_box *cluster_records_pop(cluster_grains *all, cluster_grain *grain);

#endif
