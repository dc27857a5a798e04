/* records.c - a node's grains by name, and by what is due first. */
#include "records.h"

#include <assert.h>
#include <string.h>

/* ---- what is known of one ---- */

const cluster_grain_name *cluster_grain_named(const cluster_grain *grain)
{
    return &grain->name;
}

cluster_grain_state cluster_grain_is(const cluster_grain *grain)
{
    return grain->state;
}

uint64_t cluster_grain_fence(const cluster_grain *grain)
{
    return grain->fence;
}

void cluster_grain_keep(cluster_grain *grain, void *life, int64_t idle_ns)
{
    assert(grain->state == CLUSTER_GRAIN_LIVE && idle_ns > 0);
    grain->life = life;
    grain->idle_ns = idle_ns;
}

void *cluster_grain_kept(const cluster_grain *grain)
{
    return grain->life;
}

/* ---- by name ---- */

axo_status cluster_records_init(cluster_grains *all)
{
    uint32_t chains = 1;
    while (chains < all->settings.grains_max)
        chains *= 2;
    size_t size = chains * sizeof(cluster_grain *);
    all->table = all->ops->alloc(all->user, size);
    if (all->table == NULL)
        return AXO_ENOMEM;
    all->heap = all->ops->alloc(all->user, all->settings.grains_max * sizeof(cluster_grain *));
    if (all->heap == NULL) {
        all->ops->free(all->user, all->table, size);
        return AXO_ENOMEM;
    }
    memset(all->table, 0, size);
    all->mask = chains - 1;
    return AXO_OK;
}

void cluster_records_fini(cluster_grains *all)
{
    assert(all->count == 0);
    all->ops->free(all->user, all->table, (all->mask + (size_t)1) * sizeof(cluster_grain *));
    all->ops->free(all->user, all->heap, all->settings.grains_max * sizeof(cluster_grain *));
}

static bool records_is(const cluster_grain *grain, uint64_t hash, const cluster_grain_name *name)
{
    return grain->hash == hash && grain->name.kind == name->kind &&
           grain->name.size == name->size && memcmp(grain->name.key, name->key, name->size) == 0;
}

cluster_grain *cluster_records_find(const cluster_grains *all, uint64_t hash,
                                    const cluster_grain_name *name)
{
    cluster_grain *grain = all->table[hash & all->mask];
    while (grain != NULL && !records_is(grain, hash, name))
        grain = grain->next;
    return grain;
}

cluster_grain *cluster_records_asked(const cluster_grains *all, uint64_t ask)
{
    cluster_grain *grain = ask != 0 ? all->table[ask & all->mask] : NULL;
    while (grain != NULL && grain->ask != ask)
        grain = grain->next;
    return grain;
}

/* ---- by what is due ---- */

static void records_put(cluster_grains *all, uint32_t index, cluster_grain *grain)
{
    all->heap[index] = grain;
    grain->index = index;
}

/* Up or down, to where nothing above is due later and nothing below earlier. */
static void records_sift(cluster_grains *all, cluster_grain *grain)
{
    uint32_t at = grain->index;
    while (at > 0 && all->heap[(at - 1) / 2]->due > grain->due) {
        records_put(all, at, all->heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    while (2 * at + 1 < all->count) {
        uint32_t below = 2 * at + 1;
        if (below + 1 < all->count && all->heap[below + 1]->due < all->heap[below]->due)
            below++;
        if (all->heap[below]->due >= grain->due)
            break;
        records_put(all, at, all->heap[below]);
        at = below;
    }
    records_put(all, at, grain);
}

void cluster_records_arm(cluster_grains *all, cluster_grain *grain, int64_t due)
{
    grain->due = due;
    records_sift(all, grain);
}

cluster_grain *cluster_records_add(cluster_grains *all, uint64_t hash,
                                   const cluster_grain_name *name)
{
    if (all->count == all->settings.grains_max)
        return NULL;
    cluster_grain *grain = all->ops->alloc(all->user, sizeof *grain);
    if (grain == NULL)
        return NULL;
    *grain = (cluster_grain){.next = all->table[hash & all->mask], .hash = hash, .name = *name,
                             .index = all->count, .due = INT64_MAX};
    all->table[hash & all->mask] = grain;
    all->heap[all->count++] = grain;
    return grain;
}

void cluster_records_remove(cluster_grains *all, cluster_grain *grain)
{
    cluster_grain **at = &all->table[grain->hash & all->mask];
    while (*at != grain)
        at = &(*at)->next;
    *at = grain->next;
    cluster_grain *last = all->heap[--all->count];
    if (last != grain) {
        records_put(all, grain->index, last);
        records_sift(all, last);
    }
    all->ops->free(all->user, grain, sizeof *grain);
}

/* ---- messages ---- */

cluster_box *cluster_box_make(cluster_grains *all, int64_t now, const cluster_parcel *parcel)
{
    cluster_box *box = all->ops->alloc(all->user, sizeof *box + parcel->size);
    if (box == NULL)
        return NULL;
    *box = (cluster_box){.since = now, .parcel = *parcel};
    box->parcel.body = box->body;
    if (parcel->size > 0)
        memcpy(box->body, parcel->body, parcel->size);
    return box;
}

void cluster_box_free(cluster_grains *all, cluster_box *box)
{
    all->ops->free(all->user, box, sizeof *box + box->parcel.size);
}

void cluster_records_push(cluster_grains *all, cluster_grain *grain, cluster_box *box)
{
    box->next = NULL;
    if (grain->first == NULL)
        grain->first = box;
    else
        grain->last->next = box;
    grain->last = box;
    grain->count++;
    all->waiting++;
}

void cluster_records_unpop(cluster_grains *all, cluster_grain *grain, cluster_box *box)
{
    box->next = grain->first;
    if (grain->first == NULL)
        grain->last = box;
    grain->first = box;
    grain->count++;
    all->waiting++;
}

cluster_box *cluster_records_pop(cluster_grains *all, cluster_grain *grain)
{
    cluster_box *box = grain->first;
    grain->first = box->next;
    grain->count--;
    all->waiting--;
    return box;
}
