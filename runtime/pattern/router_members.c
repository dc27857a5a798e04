/* router_members.c - the routees of a router: listing, joining, leaving.
 *
 * Arrays are searched from the front: a router has few routees, and they change seldom beside the
 * messages that are routed. */
#include <string.h>

#include "pattern/router.h"

/* ---- lists ---- */

/* Makes room, at least double, so that n insertions copy a list log n times. On failure the list is
 * as it was. */
static axo_status refs_reserve(axo_system *system, axo__refs *refs, uint32_t room)
{
    if (room <= refs->room)
        return AXO_OK;
    if (room < 2 * refs->room)
        room = 2 * refs->room;
    if (room < 8)
        room = 8;
    axo_ref *at = axo_system_alloc(system, room * sizeof *at);
    if (at == NULL)
        return AXO_ENOMEM;
    if (refs->count > 0)
        memcpy(at, refs->at, refs->count * sizeof *at);
    if (refs->at != NULL)
        axo_system_free(system, refs->at, refs->room * sizeof *at);
    refs->at = at;
    refs->room = room;
    return AXO_OK;
}

static void refs_free(axo_system *system, axo__refs *refs)
{
    if (refs->at != NULL)
        axo_system_free(system, refs->at, refs->room * sizeof *refs->at);
    *refs = (axo__refs){.at = NULL};
}

/* The index of a reference; `count`: it is not in the list. */
static uint32_t refs_find(const axo__refs *refs, axo_ref ref)
{
    uint32_t i = 0;
    while (i < refs->count && !axo_ref_equal(refs->at[i], ref))
        i++;
    return i;
}

/* Takes an entry out and keeps the order of the others, which is their age. */
static void refs_take(axo__refs *refs, uint32_t i)
{
    refs->count--;
    memmove(&refs->at[i], &refs->at[i + 1], (refs->count - i) * sizeof *refs->at);
}

/* ---- routees ---- */

axo_status axo__router_reserve(axo__router *self, uint32_t routees)
{
    /* A pool's `leaving` has room for every routee at once, so dismissing takes no memory. */
    uint32_t in_all = routees + self->leaving.count;
    if (routees > AXO_ROUTEES_MAX)
        return AXO_ELIMIT;
    if (refs_reserve(self->system, &self->routees, routees) != AXO_OK)
        return AXO_ENOMEM;
    if (axo__router_is_pool(self) &&
        refs_reserve(self->system, &self->leaving, in_all) != AXO_OK)
        return AXO_ENOMEM;
    return self->settings.logic == AXO_ROUTE_HASH ? axo__ring_reserve(&self->ring, routees)
                                                  : AXO_OK;
}

void axo__router_insert(axo__router *self, axo_ref ref, uint64_t name)
{
    self->routees.at[self->routees.count++] = ref;
    if (self->settings.logic == AXO_ROUTE_HASH)
        axo__ring_add(&self->ring, name, ref);
}

bool axo__router_has(const axo__router *self, axo_ref ref)
{
    return refs_find(&self->routees, ref) < self->routees.count;
}

/* Takes routee i out; the next choice stays the routee that it was. */
static void members_remove(axo__router *self, uint32_t i)
{
    axo__ring_remove(&self->ring, self->routees.at[i]);
    refs_take(&self->routees, i);
    if (self->next > i)
        self->next--;
}

bool axo__router_take_away(axo__router *self, axo_ref ref, bool for_good)
{
    uint32_t i = refs_find(&self->routees, ref);
    if (i == self->routees.count)
        return false;
    members_remove(self, i);
    for (uint32_t p = 0; p < self->settings.paths_count; p++) {
        if (axo_ref_equal(self->at_path[p], ref)) {
            self->at_path[p] = for_good ? self->self : axo_ref_none();
            self->missing += !for_good;
        }
    }
    return true;
}

bool axo__router_left(axo__router *self, axo_ref ref)
{
    uint32_t i = refs_find(&self->leaving, ref);
    if (i == self->leaving.count)
        return false;
    refs_take(&self->leaving, i);
    return true;
}

/* ---- opening ---- */

/* The clean-up of the instance: gives all arrays back, however the instance ends. */
static void members_free(void *arg)
{
    axo__router *self = arg;
    refs_free(self->system, &self->routees);
    refs_free(self->system, &self->leaving);
    axo__ring_fini(&self->ring);
    if (self->at_path != NULL)
        axo_system_free(self->system, self->at_path,
                        self->settings.paths_count * sizeof *self->at_path);
}

axo_status axo__router_join(axo_ctx *ctx, axo__router *self, axo_ref ref, uint64_t name)
{
    if (axo__router_has(self, ref))
        return AXO_OK;
    axo_status status = axo__router_reserve(self, self->routees.count + 1);
    if (status == AXO_OK)
        status = axo_watch(ctx, ref);
    if (status == AXO_OK)
        axo__router_insert(self, ref, name);
    return status;
}

/* The name of a path on the ring: another actor at the same path gets the same keys. */
static uint64_t members_path_name(const char *path)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    for (; *path != 0; path++)
        hash = (hash ^ (unsigned char)*path) * UINT64_C(0x100000001b3);
    return hash;
}

axo_status axo__router_look_up(axo_ctx *ctx, axo__router *self)
{
    axo_status worst = AXO_OK;
    for (uint32_t p = 0; self->missing > 0 && p < self->settings.paths_count; p++) {
        axo_ref ref;
        const char *path = self->settings.paths[p];
        if (!axo_ref_is_none(self->at_path[p]))
            continue;
        /* AXO_ENOENT is the ordinary answer for an actor that is not there yet, and is tried again
         * later. */
        axo_status status = axo_find(ctx, path, &ref);
        if (status == AXO_OK)
            status = axo__router_join(ctx, self, ref, members_path_name(path));
        if (status == AXO_OK) {
            self->at_path[p] = ref;
            self->missing--;
        } else if (status != AXO_ENOENT) {
            worst = status;
        }
    }
    return worst;
}

/* Lists a pool: its children are its routees, because those that were leaving have ended before the
 * instance was made. `leaving` serves as the buffer: it is empty, and has room for all. */
static axo_status members_open_pool(axo_ctx *ctx, axo__router *self)
{
    uint32_t count = axo_child_count(ctx);
    axo_status status = axo__router_reserve(self, count);
    if (status != AXO_OK)
        return status;
    (void)axo_children(ctx, self->leaving.at, count); /* youngest first; room for all */
    for (uint32_t i = count; i > 0; i--)
        axo__router_insert(self, self->leaving.at[i - 1], axo_ref_index(self->leaving.at[i - 1]));
    return AXO_OK;
}

/* Lists a group from its settings. A second try, after a failure for want of memory, goes on where
 * the first one stopped: axo__router_join knows the routees that are listed. */
static axo_status members_open_group(axo_ctx *ctx, axo__router *self)
{
    const axo_router *settings = &self->settings;
    if (settings->paths_count > 0 && self->at_path == NULL) {
        size_t size = settings->paths_count * sizeof *self->at_path;
        self->at_path = axo_system_alloc(self->system, size);
        if (self->at_path == NULL)
            return AXO_ENOMEM;
        memset(self->at_path, 0, size);
        self->missing = settings->paths_count;
    }
    axo_status status = axo__router_reserve(self, settings->routees_count + settings->paths_count);
    for (uint32_t i = 0; i < settings->routees_count && status == AXO_OK; i++)
        status = axo__router_join(ctx, self, settings->routees[i],
                                  axo_ref_index(settings->routees[i]));
    return status == AXO_OK ? axo__router_look_up(ctx, self) : status;
}

axo_status axo__router_open(axo_ctx *ctx, axo__router *self)
{
    axo_status status = AXO_OK;
    /* The clean-up is registered before the first array is taken, once for an instance. */
    if (!self->freed_later)
        status = axo_defer(ctx, members_free, self);
    if (status != AXO_OK)
        return status;
    self->freed_later = true;
    status = axo__router_is_pool(self) ? members_open_pool(ctx, self)
                                       : members_open_group(ctx, self);
    self->open = status == AXO_OK;
    return status;
}
