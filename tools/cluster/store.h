/* store.h - what leases and claims ask of a key-value store, and what it has to be for them.
 *
 * It keeps records under keys. Each change of a record gives it a revision, which is higher than
 * all that were given before it, to whatever key (JetStream's buckets: the stream's sequence).
 *
 *   S1  A put and a remove are one step, and change nothing unless the record has just the revision
 *       that they name; 0: unless there is none.
 *   S2  A get says what was there at one moment between its call and its answer (JetStream: asked
 *       of the leader, no direct gets: a replica that lags says that there is none).
 *   S3  No record goes by itself: a bucket has no limit of age. One of leases alone may have one,
 *       of twice their time or more.
 *
 * In a stream of JetStream that keeps one message of a subject, and no other limit, a put is a
 * message with the header Nats-Expected-Last-Subject-Sequence. A remove deletes the message of that
 * sequence, which is there only while it is the subject's last: nothing is left of it, no marker.
 *
 * Calls may be lost, carried out late, or carried out twice; answers may be lost, be late, come
 * twice and out of order. Nothing is asked of the store's clock.
 */
#ifndef CLUSTER_STORE_H
#define CLUSTER_STORE_H

#include <stdint.h>

typedef struct cluster_grain_name cluster_grain_name;

/* A life of a node, and which of its leases: a life that loses its lease takes the next term. */
typedef struct cluster_lease_holder {
    uint64_t node;
    uint64_t incarnation; /* no other life of any node has it */
    uint64_t term;        /* from 1 */
} cluster_lease_holder;

typedef struct cluster_store_record {
    uint64_t revision;    /* 0: there is none */
    cluster_lease_holder holder;
} cluster_store_record;

/* A key: the lease of an incarnation, or the claim to a name. */
typedef struct cluster_store_key {
    uint64_t incarnation; /* 0: the claim */
    const cluster_grain_name *name; /* lives during the call */
} cluster_store_key;

typedef enum cluster_store_answer {
    CLUSTER_STORE_DONE,     /* a get: also when there is none */
    CLUSTER_STORE_CONFLICT, /* a put, a remove: the record has another revision */
    CLUSTER_STORE_FAILED    /* nobody knows whether it is carried out */
} cluster_store_answer;

/* Each call has a number that none had before; its answer names it. They wait for nothing. */
typedef struct cluster_store {
    void (*get)(void *user, uint64_t ask, cluster_store_key key);
    void (*put)(void *user, uint64_t ask, cluster_store_key key, uint64_t revision,
                const cluster_lease_holder *holder);
    void (*remove)(void *user, uint64_t ask, cluster_store_key key, uint64_t revision);
} cluster_store;

#endif
