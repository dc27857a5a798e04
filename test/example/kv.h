/* kv.h - what the actors of kv_server.c and kv_cluster.c have in common: what they say to each
 * other, and what is to add up at the end. */
#ifndef KV_H
#define KV_H

#include <stdatomic.h>
#include <stdint.h>

#include <axo/axo.h>

#include "kv_table.h"

#define KV_SECOND     INT64_C(1000000000)
#define KV_SHARDS_MAX 64
/* Requests of a connection that are under way at a time. */
#define KV_WINDOW 32
/* Bytes of answers that a connection waits for or holds before it takes no more requests. */
#define KV_OUTSTANDING 262144

/* A request's tag says which of the connection's slots waits for its answer: slot n sends KV_DO + n
 * and gets KV_DONE + n, or an AXO_REQUEST_FAILED, which tells the request's tag. */
enum { KV_DO = 0x100, KV_DONE = 0x200, KV_TOO_LATE = 1, KV_SHUTDOWN = 2, KV_SWEEP = 3 };

/* Ends of keys: the most that may be asked for, in seconds; how often a shard looks for keys that
 * have ended, and at how many heads of its table. A key that has ended is none before, too. */
#define KV_EXPIRE_MAX  1000000000
#define KV_SWEEP_NS    INT64_C(100000000)
#define KV_SWEEP_HEADS 1024

typedef enum kv_operation {
    KV_GET = 0,
    KV_SET = 1,
    KV_DELETE = 2,
    KV_EXISTS = 3,
    KV_INCREMENT = 4,
    KV_COUNT = 5,  /* the shard's keys */
    KV_POISON = 6, /* fails the shard */
    KV_EXPIRE = 7, /* the value is the number of seconds */
    KV_TTL = 8     /* seconds that are left; -1: it does not end; -2: there is none */
} kv_operation;

/* Payload of KV_DO. */
typedef struct kv_do {
    uint64_t hash;
    uint32_t operation; /* a kv_operation */
    uint32_t key_size;
    uint32_t value_size;
    char bytes[]; /* the key, the value */
} kv_do;

/* Payload of KV_DONE. */
typedef struct kv_done {
    int64_t number; /* to be added up, if the request has gone to several shards */
    char text[];    /* the answer as RESP */
} kv_done;

/* What a shard leaves to its next instance. Only the shard touches it while the system runs. */
typedef struct kv_home {
    _Alignas(64) table table;
    uint64_t done;   /* requests */
    uint64_t failed; /* those under which it has failed */
} kv_home;

typedef struct kv_totals {
    atomic_uint_fast64_t connections;
    atomic_uint_fast64_t executed; /* requests that were taken from connections: each is ... */
    atomic_uint_fast64_t answered; /* ... answered, ... */
    atomic_uint_fast64_t refused;  /* ... or answered by an error, ... */
    atomic_uint_fast64_t gone;     /* ... or its connection had ended before */
    atomic_uint_fast64_t asked;    /* messages to shards: the sum of their done and failed */
    atomic_size_t held_most;       /* bytes of answers that one connection has held, if counted */
} kv_totals;

typedef struct kv kv;
struct kv {
    uint64_t seed; /* of the keys' hash */
    uint32_t port;
    uint32_t workers;
    uint32_t shards_count;
    uint32_t connections_max;
    size_t request_max;
    int64_t idle_ns;
    int64_t write_ns;
    int64_t drain_ns;
    size_t answer_max; /* bytes of an answer, if the longest is known; 0: it is learnt */
    const char *board;
    bool bytes;                /* are counted: those that ... */
    atomic_int_fast64_t taken; /* ... the system has */
    axo_ref server;
    axo_status (*spawn)(axo_ctx *ctx, kv *it, uint32_t shard); /* makes shards[shard] */
    axo_ref shards[KV_SHARDS_MAX];
    kv_home homes[KV_SHARDS_MAX];
    kv_totals totals;
    uint32_t nodes_count;          /* 0: all shards are of this node; else each has as many */
    uint64_t nodes[KV_SHARDS_MAX]; /* hashes of their names */
};

/* The finalizer of SplitMix64. */
static inline uint64_t kv_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* The shard that has the keys of a hash. Of several nodes the one that weighs it heaviest has it
 * (rendezvous hashing): whatever the order of their names, and when one is added or left out only
 * its own keys belong elsewhere. */
static inline uint32_t kv_shard_of(const kv *it, uint64_t hash)
{
    uint32_t each = it->nodes_count > 0 ? it->shards_count / it->nodes_count : it->shards_count;
    uint64_t most = 0;
    uint32_t node = 0;
    for (uint32_t i = 0; i < it->nodes_count; i++) {
        uint64_t weight = kv_mix(hash ^ it->nodes[i]);
        node = weight > most ? i : node;
        most = weight > most ? weight : most;
    }
    return node * each + (uint32_t)((hash >> 48) % each);
}

#endif
