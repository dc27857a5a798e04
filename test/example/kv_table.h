/* kv_table.h - a hash table of keys and values, both any bytes. One thread at a time. */
#ifndef KV_TABLE_H
#define KV_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct table_entry {
    struct table_entry *next;
    uint64_t hash;
    int64_t due; /* when it ends, ns of the server's clock; 0: never */
    uint32_t key_size;
    uint32_t value_size;
    char bytes[]; /* the key, the value */
} table_entry;

typedef struct table {
    table_entry **heads;
    size_t room; /* of heads: a power of two, or 0 */
    size_t count;
    size_t expiring; /* entries that end some time */
    size_t swept;    /* heads that table_sweep has looked at */
} table;

static inline uint64_t table_hash(uint64_t seed, const char *key, size_t size)
{
    uint64_t hash = seed ^ UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ (unsigned char)key[i]) * UINT64_C(0x100000001b3);
    return hash ^ hash >> 32;
}

static inline const char *table_value(const table_entry *entry)
{
    return entry->bytes + entry->key_size;
}

/* Where the pointer to the entry is, or would be. The table has room. */
static inline table_entry **table_place(const table *it, uint64_t hash, const char *key,
                                        size_t size)
{
    table_entry **at = &it->heads[hash & (it->room - 1)];
    while (*at != NULL &&
           ((*at)->hash != hash || (*at)->key_size != size || memcmp((*at)->bytes, key, size) != 0))
        at = &(*at)->next;
    return at;
}

/* NULL: there is none. */
static inline table_entry *table_get(const table *it, uint64_t hash, const char *key, size_t size)
{
    return it->room > 0 ? *table_place(it, hash, key, size) : NULL;
}

/* Twice the room, if there is memory: the table works without. */
static inline void table_grow(table *it)
{
    size_t room = it->room > 0 ? it->room * 2 : 64;
    table_entry **heads = calloc(room, sizeof(table_entry *));
    if (heads == NULL)
        return;
    for (size_t i = 0; i < it->room; i++) {
        for (table_entry *entry = it->heads[i]; entry != NULL;) {
            table_entry *next = entry->next;
            entry->next = heads[entry->hash & (room - 1)];
            heads[entry->hash & (room - 1)] = entry;
            entry = next;
        }
    }
    free(it->heads);
    it->heads = heads;
    it->room = room;
}

/* due 0: it does not end. */
static inline void table_expire(table *it, table_entry *entry, int64_t due)
{
    it->expiring = it->expiring + (due != 0) - (entry->due != 0);
    entry->due = due;
}

/* false: no memory, and nothing has changed. The value may be the table's own. A value that is
 * set anew does not end. */
static inline bool table_set(table *it, uint64_t hash, const char *key, size_t key_size,
                             const char *value, size_t value_size)
{
    if (it->count >= it->room)
        table_grow(it);
    table_entry *fresh = malloc(sizeof *fresh + key_size + value_size);
    if (it->room == 0 || fresh == NULL) {
        free(fresh);
        return false;
    }
    *fresh = (table_entry){
        .hash = hash, .key_size = (uint32_t)key_size, .value_size = (uint32_t)value_size};
    memcpy(fresh->bytes, key, key_size);
    memcpy(fresh->bytes + key_size, value, value_size);
    table_entry **at = table_place(it, hash, key, key_size);
    table_entry *old = *at;
    fresh->next = old != NULL ? old->next : NULL;
    it->count += old == NULL;
    *at = fresh;
    if (old != NULL)
        table_expire(it, old, 0);
    free(old);
    return true;
}

static inline void table_remove(table *it, table_entry **at)
{
    table_entry *old = *at;
    table_expire(it, old, 0);
    *at = old->next;
    it->count--;
    free(old);
}

/* false: there was none. */
static inline bool table_delete(table *it, uint64_t hash, const char *key, size_t size)
{
    table_entry **at = it->room > 0 ? table_place(it, hash, key, size) : NULL;
    if (at == NULL || *at == NULL)
        return false;
    table_remove(it, at);
    return true;
}

/* Takes out what has ended by now, behind the next `heads` heads. */
static inline void table_sweep(table *it, int64_t now, size_t heads)
{
    for (size_t i = 0; i < heads && i < it->room && it->expiring > 0; i++) {
        table_entry **at = &it->heads[it->swept++ & (it->room - 1)];
        while (*at != NULL) {
            if ((*at)->due != 0 && (*at)->due <= now)
                table_remove(it, at);
            else
                at = &(*at)->next;
        }
    }
}

static inline void table_free(table *it)
{
    for (size_t i = 0; i < it->room; i++) {
        while (it->heads[i] != NULL) {
            table_entry *entry = it->heads[i];
            it->heads[i] = entry->next;
            free(entry);
        }
    }
    free(it->heads);
    *it = (table){.room = 0};
}

#endif
