/* map.c - tables of ordered keys in memory, whose changes can be taken back without memory. */
#include <errno.h>
#include <string.h>

#include "durable-nats/jet.h"

unsigned char *jet_entry_key(jet_entry *entry)
{
    return (unsigned char *)&entry->next[entry->height];
}

unsigned char *jet_entry_value(jet_entry *entry)
{
    return jet_entry_key(entry) + entry->key_size;
}

static size_t map_block(size_t height, size_t key, size_t value)
{
    return sizeof(jet_entry) + height * sizeof(jet_entry *) + key + value;
}

uint64_t jet_entry_bytes(const jet_entry *entry)
{
    return (uint64_t)entry->key_size + entry->value_size + JET_ENTRY_BYTES;
}

static void map_free(const jet_map *map, jet_entry *entry)
{
    if (entry != NULL)
        axo_system_free(map->system, entry,
                        map_block(entry->height, entry->key_size, entry->value_size));
}

/* ---- the list ---- */

static int map_compare(jet_entry *entry, const void *key, size_t size)
{
    size_t common = entry->key_size < size ? entry->key_size : size;
    int order = memcmp(jet_entry_key(entry), key, common);
    if (order != 0)
        return order;
    return entry->key_size < size ? -1 : entry->key_size > size;
}

/* Where, on each height, the link is that an entry of the key has, or would have. */
static jet_entry *map_find(jet_map *map, durable_table table, const void *key, size_t size,
                           jet_entry **links[JET_HEIGHT])
{
    jet_entry **from = map->first[table];
    for (int level = JET_HEIGHT - 1; level >= 0; level--) {
        while (from[level] != NULL && map_compare(from[level], key, size) < 0)
            from = from[level]->next;
        links[level] = &from[level];
    }
    return *links[0];
}

static void map_insert(jet_map *map, durable_table table, jet_entry *entry)
{
    jet_entry **links[JET_HEIGHT];
    (void)map_find(map, table, jet_entry_key(entry), entry->key_size, links);
    for (uint32_t level = 0; level < entry->height; level++) {
        entry->next[level] = *links[level];
        *links[level] = entry;
    }
    map->bytes += jet_entry_bytes(entry);
}

static void map_remove(jet_map *map, const jet_entry *entry, jet_entry **links[JET_HEIGHT])
{
    for (uint32_t level = 0; level < entry->height; level++)
        *links[level] = entry->next[level];
    map->bytes -= jet_entry_bytes(entry);
}

/* One in two is higher by one. */
static uint32_t map_height(jet_map *map)
{
    uint32_t height = 1;
    map->chance ^= map->chance << 13;
    map->chance ^= map->chance >> 7;
    map->chance ^= map->chance << 17;
    for (uint64_t bits = map->chance; (bits & 1) != 0 && height < JET_HEIGHT; bits >>= 1)
        height++;
    return height;
}

jet_entry *jet_map_seek(jet_map *map, durable_table table, const void *key, size_t size)
{
    jet_entry **links[JET_HEIGHT];
    return map_find(map, table, key, size, links);
}

jet_entry *jet_map_get(jet_map *map, durable_table table, const void *key, size_t size)
{
    jet_entry *entry = jet_map_seek(map, table, key, size);
    return entry != NULL && map_compare(entry, key, size) == 0 ? entry : NULL;
}

/* ---- changes ---- */

static bool map_make_room(const jet_map *map, jet_changes *changes)
{
    if (changes->count < changes->room)
        return true;
    size_t room = changes->room > 0 ? 2 * changes->room : 64;
    jet_change *all = axo_system_alloc(map->system, room * sizeof *all);
    if (all == NULL)
        return false;
    if (changes->count > 0)
        memcpy(all, changes->all, changes->count * sizeof *all);
    jet_changes_free(map, changes);
    changes->all = all;
    changes->room = room;
    return true;
}

void jet_changes_free(const jet_map *map, jet_changes *changes)
{
    if (changes->all != NULL)
        axo_system_free(map->system, changes->all, changes->room * sizeof *changes->all);
    changes->all = NULL;
    changes->room = 0;
}

jet_entry *jet_map_put(jet_map *map, durable_table table, const durable_bytes *key, size_t size,
                       jet_changes *changes)
{
    jet_entry **links[JET_HEIGHT];
    uint32_t height = map_height(map);
    if (!map_make_room(map, changes))
        return NULL;
    jet_entry *entry = axo_system_alloc(map->system, map_block(height, key->size, size));
    if (entry == NULL)
        return NULL;
    entry->height = height;
    entry->key_size = (uint32_t)key->size;
    entry->value_size = (uint32_t)size;
    memcpy(jet_entry_key(entry), key->data, key->size);
    jet_entry *was = map_find(map, table, key->data, key->size, links);
    if (was != NULL && map_compare(was, key->data, key->size) == 0)
        map_remove(map, was, links);
    else
        was = NULL;
    map_insert(map, table, entry);
    changes->all[changes->count++] = (jet_change){.table = table, .was = was, .is = entry};
    return entry;
}

int jet_map_del(jet_map *map, durable_table table, const durable_bytes *key, jet_changes *changes)
{
    jet_entry **links[JET_HEIGHT];
    jet_entry *was = map_find(map, table, key->data, key->size, links);
    if (was == NULL || map_compare(was, key->data, key->size) != 0)
        return DURABLE_NOTFOUND;
    if (!map_make_room(map, changes))
        return ENOMEM;
    map_remove(map, was, links);
    changes->all[changes->count++] = (jet_change){.table = table, .was = was};
    return 0;
}

void jet_map_keep(jet_map *map, jet_changes *changes)
{
    for (size_t i = 0; i < changes->count; i++)
        map_free(map, changes->all[i].was);
    changes->count = 0;
}

/* The last one first: so each finds what it has left. */
void jet_map_undo(jet_map *map, jet_changes *changes)
{
    jet_entry **links[JET_HEIGHT];
    while (changes->count > 0) {
        const jet_change *change = &changes->all[--changes->count];
        if (change->is != NULL) {
            (void)map_find(map, change->table, jet_entry_key(change->is), change->is->key_size,
                           links);
            map_remove(map, change->is, links);
            map_free(map, change->is);
        }
        if (change->was != NULL)
            map_insert(map, change->table, change->was);
    }
}

void jet_map_clear(jet_map *map)
{
    for (uint32_t table = 0; table < DURABLE_TABLES; table++) {
        jet_entry *entry = map->first[table][0];
        while (entry != NULL) {
            jet_entry *next = entry->next[0];
            map_free(map, entry);
            entry = next;
        }
        memset(map->first[table], 0, sizeof map->first[table]);
    }
    map->bytes = 0;
}
