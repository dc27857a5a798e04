/* store.c - a store's beginning and end, its names and classes, and the doors of threads. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "lmdb_base.h"
#include "pattern/given.h"
#include "store.h"

/* ---- names and classes ---- */

static uint32_t store_bucket(const char *name)
{
    uint32_t hash = UINT32_C(2166136261);
    for (; *name != 0; name++)
        hash = (hash ^ (unsigned char)*name) * UINT32_C(16777619);
    return hash % DURABLE_BUCKETS;
}

durable_queue *durable_queue_of(axo_store *store, const char *name)
{
    durable_queue **bucket = &store->buckets[store_bucket(name)];
    for (durable_queue *it = *bucket; it != NULL; it = it->next) {
        if (strcmp(it->name, name) == 0)
            return it;
    }
    size_t length = strlen(name);
    durable_queue *made = durable_alloc(store->system, sizeof *made + length + 1);
    if (made == NULL)
        return NULL;
    memcpy(made->name, name, length);
    made->length = length;
    made->next = *bucket;
    *bucket = made;
    return made;
}

const axo_class *durable_class_of(axo_store *store, const axo_class *of)
{
    for (durable_class *it = store->classes; it != NULL; it = it->next) {
        if (it->of == of)
            return &it->made;
    }
    durable_class *made = durable_alloc(store->system, sizeof *made);
    if (made == NULL)
        return NULL;
    made->of = of;
    durable_class_fill(&made->made, of);
    made->next = store->classes;
    store->classes = made;
    return &made->made;
}

void durable_life_free(durable_life *life)
{
    durable_list_clear(&life->pending);
    durable_list_clear(&life->held);
    durable_list_clear(&life->done);
    durable_list_clear(&life->dead);
    durable_list_clear(&life->events);
    durable_list_clear(&life->back);
    durable_list_clear(&life->taken_done);
    durable_list_clear(&life->taken_dead);
    durable_list_clear(&life->taken_events);
    durable_list_clear(&life->persisting);
    durable_block_drop(life->applying);
    durable_hands_give(life->slot);
    durable_block_drop(life->snapshot);
    durable_block_drop(life->taken_snapshot);
    (void)pthread_mutex_destroy(&life->mutex);
    if (life->copy != NULL)
        axo_system_free(life->store->system, life->copy, life->copy_size);
    axo_system_free(life->store->system, life, sizeof *life);
}

/* ---- begin and end ---- */

/* What it stands on is free for another one then. */
static void store_close(axo_store *store)
{
    if (store->on != NULL)
        store->base->close(store->on);
    store->on = NULL;
    durable_hands_close(store);
}

static void store_free(axo_store *store)
{
    for (size_t i = 0; i < DURABLE_BUCKETS; i++) {
        while (store->buckets[i] != NULL) {
            durable_queue *queue = store->buckets[i];
            store->buckets[i] = queue->next;
            while (queue->lives != NULL) {
                durable_life *life = queue->lives;
                queue->lives = life->next_life;
                durable_life_free(life);
            }
            axo_system_free(store->system, queue, sizeof *queue + queue->length + 1);
        }
    }
    while (store->classes != NULL) {
        durable_class *it = store->classes;
        store->classes = it->next;
        axo_system_free(store->system, it, sizeof *it);
    }
    store_close(store);
    (void)pthread_cond_destroy(&store->answered);
    (void)pthread_mutex_destroy(&store->mutex);
    axo_system_free(store->system, store, sizeof *store);
}

void durable_enter(axo_store *store)
{
    (void)pthread_mutex_lock(&store->mutex);
    store->guests++;
    (void)pthread_mutex_unlock(&store->mutex);
}

void durable_leave(axo_store *store)
{
    (void)pthread_mutex_lock(&store->mutex);
    if (--store->guests == 0)
        (void)pthread_cond_broadcast(&store->answered);
    (void)pthread_mutex_unlock(&store->mutex);
}

/* The writer has answered all, so who is still in a call leaves without waiting. */
static void store_terminated(axo_system *system, void *user)
{
    axo_store *store = user;
    (void)system;
    (void)pthread_mutex_lock(&store->mutex);
    while (store->guests > 0)
        (void)pthread_cond_wait(&store->answered, &store->mutex);
    (void)pthread_mutex_unlock(&store->mutex);
    durable_writer_last(user);
    store_free(user);
}

static axo_status store_read(const axo_store_settings *from, axo_store_settings *out)
{
    axo_status status = axo__given_read(from, out, sizeof *out);
    if (status != AXO_OK)
        return status;
    bool good = out->path != NULL && out->path[0] != 0 && strlen(out->path) < 4000 &&
                (out->map_bytes == 0 || out->map_bytes >= AXO_STORE_MAP_MIN) &&
                out->map_bytes <= UINT64_C(1) << 46 && out->sync <= AXO_SYNC_INTERVAL &&
                (out->sync_ms == 0 || out->sync == AXO_SYNC_INTERVAL) && out->no_check <= 1;
    if (!good)
        return AXO_EINVAL;
    if (out->map_bytes == 0)
        out->map_bytes = AXO_STORE_MAP;
    if (out->sync_ms == 0)
        out->sync_ms = 1000;
    if (out->loaded_max == 0)
        out->loaded_max = AXO_STORE_LOADED;
    return AXO_OK;
}

static axo_store *store_make(axo_system *system, const durable_ways *ways)
{
    pthread_condattr_t how;
    axo_store *store = durable_alloc(system, sizeof *store);
    if (store == NULL)
        return NULL;
    uint64_t chance[2];
    if (getrandom(chance, sizeof chance, 0) != (ssize_t)sizeof chance) {
        axo_system_free(system, store, sizeof *store);
        return NULL;
    }
    store->system = system;
    store->pid = getpid();
    store->secret = chance[0];
    store->run = chance[1];
    store->sync = ways->sync;
    store->sync_ms = ways->sync_ms;
    store->loaded_max = ways->loaded_max;
    store->requests_end = &store->requests;
    store->work_end = &store->work;
    (void)pthread_mutex_init(&store->mutex, NULL);
    (void)pthread_condattr_init(&how);
    (void)pthread_condattr_setclock(&how, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&store->answered, &how);
    (void)pthread_condattr_destroy(&how);
    return store;
}

/* The writer is there before the system can end it, and gone before the store is freed. */
static axo_status store_attach(axo_store *store)
{
    axo_props props =
        AXO_PROPS(.cls = &durable_writer_class, .args = &store, .args_size = sizeof(axo_store *),
                  .system_actor = 1, .dispatcher = AXO_DISPATCH_BLOCKING);
    axo_status status = axo_system_on_termination(store->system, store_terminated, store);
    if (status != AXO_OK) {
        store_free(store);
        return status;
    }
    status = axo_system_spawn(store->system, &props, &store->writer);
    if (status == AXO_OK)
        return AXO_OK;
    /* `store` stays until the system ends; its base is free again at once */
    store->closed = true;
    store_close(store);
    return status;
}

static axo_status store_begin(axo_store *store, const char *folder, axo_store_problem *problem)
{
    durable_disk_init(store);
    axo_status status = durable_format_read(store, problem);
    if (status != AXO_OK || folder == NULL)
        return status;
    int error = durable_hands_open(store, folder);
    if (error == 0)
        return AXO_OK;
    problem->error = error;
    (void)snprintf(problem->text, sizeof problem->text, "what was in hand: %s",
                   durable_disk_text(store, error));
    return error == ENOMEM ? AXO_ENOMEM : AXO_ESYSTEM;
}

axo_status axo_store_open_on(axo_system *system, const durable_ways *ways,
                              axo_store_problem *problem, axo_store **out)
{
    *out = NULL;
    axo_store *store = store_make(system, ways);
    if (store == NULL) {
        ways->base->close(ways->on);
        return AXO_ENOMEM;
    }
    store->base = ways->base;
    store->on = ways->on;
    axo_status status = store_begin(store, ways->folder, problem);
    if (status != AXO_OK) {
        store_free(store);
        return status;
    }
    status = store_attach(store);
    if (status == AXO_OK)
        *out = store;
    return status;
}

axo_status axo_store_open(axo_system *system, const axo_store_settings *settings,
                          axo_store_problem *problem, axo_store **out)
{
    axo_store_settings read;
    axo_store_problem own;
    durable_lmdb *lmdb;
    if (problem == NULL)
        problem = &own;
    memset(problem, 0, sizeof *problem);
    if (out == NULL)
        return AXO_EINVAL;
    *out = NULL;
    if (system == NULL)
        return AXO_EINVAL;
    axo_status status = store_read(settings, &read);
    if (status == AXO_OK)
        status = durable_lmdb_open(system, &read, problem, &lmdb);
    if (status != AXO_OK)
        return status;
    const durable_ways ways = {.base = &durable_lmdb_base,
                               .on = lmdb,
                               .folder = read.path,
                               .sync = read.sync,
                               .sync_ms = read.sync_ms,
                               .loaded_max = read.loaded_max};
    return axo_store_open_on(system, &ways, problem, out);
}

axo_status axo_store_count(axo_store *store, axo_store_figures *out)
{
    if (store == NULL || out == NULL)
        return AXO_EINVAL;
    *out = (axo_store_figures){.accepted = atomic_load(&store->accepted),
                               .refused = atomic_load(&store->refused),
                               .acknowledged = atomic_load(&store->acknowledged),
                               .failed = atomic_load(&store->failed),
                               .dead = atomic_load(&store->died),
                               .events = atomic_load(&store->persisted),
                               .transactions = atomic_load(&store->transactions),
                               .errors = atomic_load(&store->errors)};
    return AXO_OK;
}
