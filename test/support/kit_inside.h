/* kit_inside.h - what the files of the kit share. */
#ifndef AXO_TEST_KIT_INSIDE_H
#define AXO_TEST_KIT_INSIDE_H

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "kit.h"

#define KIT_ACTORS_MAX 4096

/* One incarnation of a puppet. */
typedef struct kit_actor_entry {
    axo_ref ref;
    kit_script *script; /* NULL: a guardian */
    const char *label;
    uint32_t instances;
    uint32_t freed;
} kit_actor_entry;

typedef struct kit_block {
    struct kit_block *next;
} kit_block;

struct kit {
    pthread_t thread;      /* the test's */
    void **state;
    axo_system *system;
    uint32_t workers;

    pthread_mutex_t lock; /* guards all below up to the blank line */
    pthread_cond_t change;
    kit_record *records;
    size_t records_count;
    size_t records_max;
    kit_actor_entry *actors;
    uint32_t actors_count;
    kit_gate *gates;
    kit_block *blocks;
    char problem[512];
    uint32_t problems;
    uint32_t barriers;

    _Atomic int64_t memory_bytes;
    _Atomic int64_t memory_blocks;
    _Atomic bool no_memory;
};

/* ---- kit_record.c --------------------------------------------------------------------------- */
struct timespec kit_deadline(time_t seconds);
void kit_cond_init(pthread_cond_t *cond);
int64_t kit_now(void);

/* Prints the record and fails the test; only the test's thread. */
void kit_fail(kit *k, const char *format, ...) AXO_PRINTF(2, 3);

void kit_append(kit *k, kit_record record);
kit_actor_entry *kit_entry_locked(kit *k, axo_ref ref);
kit_actor_entry *kit_register_locked(kit *k, axo_ref ref, kit_script *script, const char *label);
void kit_hook_trace(void *user, const axo_event *event);
void kit_hook_dead(void *user, const axo_dead_letter *letter);
void kit_hook_log(void *user, axo_log_level level, axo_ref actor, const char *text);

/* Opens every gate: for cleaning up. */
void kit_gate_open_all(kit *k);

#endif
