/* health.c - the look at workers, and the walk over all actors. */
#include "system/health.h"

#include <string.h>

#include "sched/kinds.h"
#include "sched/ready.h"
#include "sched/send.h"
#include "system/system.h"

/* Slots that are looked at inside a door: what is found in them is kept on the stack meanwhile,
 * since memory of the program's is not asked for there. */
#define HEALTH_STEPS 256
#define HEALTH_ROOM  64

bool axo__health_init(axo__health *health)
{
    *health = (axo__health){.last = {.count = 0}};
    return axo__os_mutex_init(&health->mutex);
}

static void health_free(axo__health_list *list, axo__heap *heap)
{
    if (list->entries != NULL)
        axo__heap_free(heap, list->entries, list->room * sizeof *list->entries, AXO__CACHE_LINE,
                       AXO__SITE_SYSTEM);
}

void axo__health_fini(axo__health *health, axo__heap *heap)
{
    health_free(&health->last, heap);
    health_free(&health->next, heap);
    axo__os_mutex_fini(&health->mutex);
}

/* Somebody is late: `late` keeps the one that is so for longest. false: others are later. */
static bool health_late(axo_health_report *late, axo_health_why why, int64_t for_ns)
{
    late->count++;
    if (for_ns < late->for_ns)
        return false;
    late->why = why;
    late->for_ns = for_ns;
    late->actor = axo_ref_none();
    late->has_tag = 0;
    late->tag = 0;
    late->path[0] = 0;
    return true;
}

/* Inside a door. The actor may have ended since its worker said that it is in it: its reference has
 * ended then ([T3] against [T4]), and the slot is no other's while this thread is in the door. */
static void health_name(axo__core *core, const axo__cell *cell, axo_health_report *late)
{
    if (!axo__cell_has_life(cell)) /* [T4] */
        return;
    late->actor = axo__cell_ref(cell);
    (void)axo__core_path(core, cell, late->path, sizeof late->path);
}

/* ---- workers ---- */

/* What a worker is in, and since when at the latest. */
typedef struct health_worker_look {
    const axo__cell *cell; /* NULL: in no callback */
    uint64_t moves;
    int64_t since;
} health_worker_look;

/* A worker reads its clock once for many short messages. `since` is this message's if none has
 * ended behind that reading: a turn may have begun. Else it is known only since when looks have
 * found the same message. */
static health_worker_look health_look_at(axo__worker *worker, int64_t now)
{
    health_worker_look look = {.cell = axo__aptr_load_relaxed(&worker->running),
                               .moves = axo__worker_moves(worker)};
    if (worker->health_moves != look.moves) {
        worker->health_moves = look.moves;
        worker->health_since = now;
    }
    look.since = worker->health_since;
    if (look.moves - axo__a64_load_relaxed(&worker->since_moves) <= 1)
        look.since = (int64_t)axo__a64_load_relaxed(&worker->since);
    return look;
}

/* All that a worker writes in a callback is relaxed, so what looks late is looked at twice: a
 * worker that has just got up is in no callback, or has read its clock, in one of the two. A worker
 * that asks is none that hangs. */
static void health_worker(axo__core *core, axo__worker *worker, int64_t now, int64_t within_ns,
                          axo_health_report *late)
{
    const health_worker_look first = health_look_at(worker, now);
    if (worker == axo__self || first.cell == NULL || now - first.since < within_ns)
        return;
    const health_worker_look again = health_look_at(worker, now);
    if (again.cell != first.cell || again.moves != first.moves || again.since != first.since ||
        !health_late(late, AXO_HEALTH_CALLBACK, now - first.since))
        return;
    late->has_tag = axo__running_tag(axo__a64_load_relaxed(&worker->running_tag), &late->tag);
    health_name(core, first.cell, late);
}

static void health_pool(axo__sched *pool, int64_t now, int64_t within_ns,
                        axo_health_report *late)
{
    for (uint32_t i = 0; pool->kind != &axo__elastic_kind && i < axo__sched_all(pool); i++)
        health_worker(pool->core, &pool->workers[i], now, within_ns, late);
}

static void health_workers(axo_system *system, int64_t now, int64_t within_ns,
                           axo_health_report *late)
{
    axo__door *door = axo__door_enter(&system->sched);
    health_pool(&system->sched, now, within_ns, late);
    axo__os_mutex_lock(&system->pools_mutex);
    for (axo__sched *pool = system->pools; pool != NULL; pool = pool->next)
        health_pool(pool, now, within_ns, late);
    axo__os_mutex_unlock(&system->pools_mutex);
    axo__door_leave(door);
}

/* ---- actors that wait ---- */

/* Room for so many more; false: no memory, and the list is as it was. */
static bool health_grow(axo__health_list *list, axo__heap *heap, uint32_t more)
{
    if (list->room - list->count >= more)
        return true;
    uint32_t room = 2 * list->room + more;
    axo__health_entry *entries =
        axo__heap_alloc(heap, room * sizeof *entries, AXO__CACHE_LINE, AXO__SITE_SYSTEM);
    if (entries == NULL)
        return false;
    if (list->count > 0)
        memcpy(entries, list->entries, list->count * sizeof *entries);
    health_free(list, heap);
    list->entries = entries;
    list->room = room;
    return true;
}

/* Since when the last call knew of this actor; 0: it did not. Slots rise from call to call. */
static int64_t health_known(const axo__health_list *last, uint32_t *at, axo_ref actor)
{
    uint64_t slot = actor.bits & AXO__SLOT_MASK;
    while (*at < last->count && (last->entries[*at].actor.bits & AXO__SLOT_MASK) < slot)
        (*at)++;
    bool known = *at < last->count && axo_ref_equal(last->entries[*at].actor, actor);
    return known ? last->entries[*at].since : 0;
}

/* Inside a door: whether a named actor has messages, may handle them, and no worker is in it. Then
 * it is marked; *was: it had the mark of an earlier call still. The borrow acquires what its last
 * runner wrote ([S2] of cell/state.h), its end releases the mark to the next one ([S4]). */
static bool health_waits(axo__cell *cell, bool *was)
{
    if (!axo__cell_has_life(cell)) /* [T4] */
        return false;
    uint64_t word = axo__state_look(&cell->state);
    if ((word & (AXO__RUNNING | AXO__CLOSED)) != 0 || !axo__state_has(word) ||
        !axo__state_free(word) || axo__cell_name(cell) == NULL || !axo__state_borrow(&cell->state))
        return false;
    word = axo__state_look(&cell->state);
    bool waits = cell->phase == AXO__PHASE_NORMAL && axo__state_has(word) && axo__state_free(word);
    axo__extra *extra = axo__cell_extra(cell); /* the name is in it */
    *was = extra->looked;
    if (waits) {
        extra->looked = true;
        cell->attention |= AXO__ATTENTION_FRONT;
    }
    axo__sched_hand_back(axo__self_in(axo__cell_sched(cell)->core), cell);
    return waits;
}

/* What is known of one actor that waits, and whether it does so for too long. */
typedef struct health_walk {
    axo_system *system;
    int64_t now;
    int64_t within_ns;
    axo_health_report *late;
    uint32_t last_at;
} health_walk;

static axo__health_entry health_entry(health_walk *walk, axo__cell *cell, bool was)
{
    axo__health_entry entry = {.actor = axo__cell_ref(cell), .since = walk->now};
    int64_t known = health_known(&walk->system->health.last, &walk->last_at, entry.actor);
    if (was && known != 0)
        entry.since = known;
    if (walk->now - entry.since >= walk->within_ns &&
        health_late(walk->late, AXO_HEALTH_WAITING, walk->now - entry.since))
        health_name(&walk->system->core, cell, walk->late);
    return entry;
}

/* One portion of the walk, from *slot on; how many entries it found. */
static uint32_t health_portion(health_walk *walk, uint32_t *slot, axo__health_entry *found)
{
    axo__table *table = &walk->system->core.table;
    uint32_t count = 0;
    axo__door *door = axo__door_enter(&walk->system->sched);
    /* Every slot below `all` has its cell: as in axo__find_scan. */
    uint32_t all = axo__a32_load_acquire(&table->slots); /* [T2] */
    for (uint32_t i = 0; i < HEALTH_STEPS && count < HEALTH_ROOM && *slot < all; i++) {
        axo__cell *cell = axo__table_in(table, (*slot)++);
        bool was;
        if (health_waits(cell, &was))
            found[count++] = health_entry(walk, cell, was);
    }
    if (*slot >= all)
        *slot = UINT32_MAX;
    axo__door_leave(door);
    return count;
}

/* No memory: marks of this call stay. What is known of earlier ones is forgotten with it, since a
 * mark that is found by the next call may be this one's. */
static bool health_actors(health_walk *walk)
{
    axo__health *health = &walk->system->health;
    axo__heap *heap = &walk->system->core.heap;
    axo__health_entry found[HEALTH_ROOM];
    uint32_t slot = 0;
    health->next.count = 0;
    while (slot != UINT32_MAX) {
        uint32_t count = health_portion(walk, &slot, found);
        if (!health_grow(&health->next, heap, count)) {
            health->last.count = 0;
            return false;
        }
        if (count > 0)
            memcpy(health->next.entries + health->next.count, found, count * sizeof *found);
        health->next.count += count;
    }
    axo__health_list last = health->last;
    health->last = health->next;
    health->next = last;
    return true;
}

bool axo__health_look(axo_system *system, int64_t within_ns, axo_health_report *late)
{
    size_t size = late->size;
    memset(late, 0, sizeof *late);
    late->size = size;
    axo__os_mutex_lock(&system->health.mutex);
    health_walk walk = {
        .system = system, .now = axo__os_now(), .within_ns = within_ns, .late = late};
    health_workers(system, walk.now, within_ns, late);
    bool looked = health_actors(&walk);
    axo__os_mutex_unlock(&system->health.mutex);
    return looked;
}
