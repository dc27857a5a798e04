/* name.c - names of children: unique among siblings, found by any thread.
 *
 * Each public function is one section of one stripe's mutex; memory is taken and freed outside
 * of it, except for a stripe's buckets. */
#include "cell/name.h"

#include <string.h>

#include "base/assert.h"
#include "base/config.h"
#include "base/random.h"
#include "cell/table.h"

#define NAME_BUCKETS_MIN 16

/* Stripes get their buckets with their first name; a system without names keeps none. */
bool axo__names_init(axo__names *names, axo__heap *heap, uint64_t seed)
{
    axo__random random;
    memset(names, 0, sizeof *names);
    names->heap = heap;
    axo__random_init(&random, seed, UINT64_C(0x6e616d6573));
    names->salt = axo__random_next(&random);
    for (; names->ready < AXO__NAME_STRIPES; names->ready++) {
        if (!axo__os_mutex_init(&names->stripes[names->ready].mutex)) {
            axo__names_fini(names);
            return false;
        }
    }
    return true;
}

static size_t name_size(const axo__name *name)
{
    return sizeof *name + name->length + 1;
}

void axo__names_fini(axo__names *names)
{
    for (uint32_t i = 0; i < names->ready; i++) {
        axo__name_stripe *stripe = &names->stripes[i];
        AXO_DEBUG_ASSERT(stripe->count == 0);
        if (stripe->buckets != NULL)
            axo__heap_free(names->heap, stripe->buckets, sizeof(axo__name *) *
                           ((size_t)stripe->mask + 1), AXO__CACHE_LINE, AXO__SITE_NAMES);
        axo__os_mutex_fini(&stripe->mutex);
    }
}

/* The allowed characters are safe in a path, where a slash and wildcards have a meaning of their
 * own. */
axo_status axo__name_check(const char *text, size_t *at)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789_.~+=@:-";
    size_t length = strnlen(text, AXO_NAME_MAX + 1);
    *at = 0;
    if (length == 0 || strcmp(text, ".") == 0 || strcmp(text, "..") == 0)
        return AXO_ENAME;
    while (*at < length && strchr(allowed, text[*at]) != NULL)
        (*at)++;
    if (*at == length && length <= AXO_NAME_MAX)
        return AXO_OK;
    if (*at > AXO_NAME_MAX)
        *at = AXO_NAME_MAX;
    return AXO_ENAME;
}

/* Hashes the parent's slot, not its reference: references differ from run to run, and which stripe
 * grows next must be the same in each run (D18). Names of a slot's former life may share a bucket;
 * name_link compares whole references. */
static uint64_t name_hash(const axo__names *names, axo_ref parent, const char *text, size_t length)
{
    uint64_t slot = parent.bits & AXO__SLOT_MASK;
    uint64_t hash = names->salt ^ ((slot + 1) * UINT64_C(0x9e3779b97f4a7c15));
    for (size_t i = 0; i < length; i++) {
        hash = (hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
        hash ^= hash >> 29;
    }
    hash *= UINT64_C(0xbf58476d1ce4e5b9);
    return hash ^ (hash >> 32);
}

/* The upper bits choose the stripe and the lower bits the bucket, so buckets of a stripe fill
 * evenly. */
static axo__name_stripe *name_stripe(axo__names *names, uint64_t hash)
{
    AXO_DEBUG_ASSERT(hash >> 58 < names->ready);
    return &names->stripes[hash >> 58];
}

/* Under the stripe's mutex: the link that leads to the name, or the end of its bucket. */
static axo__name **name_link(axo__name_stripe *stripe, uint64_t hash, axo_ref parent,
                             const char *text, size_t length)
{
    axo__name **link = &stripe->buckets[hash & stripe->mask];
    while (*link != NULL) {
        axo__name *name = *link;
        if (name->hash == hash && axo_ref_equal(name->parent, parent) &&
            name->length == length && memcmp(name->text, text, length) == 0)
            break;
        link = &name->next;
    }
    return link;
}

/* Under the mutex: doubles the buckets when they are full. A stripe that cannot grow goes on with
 * longer buckets; only its first buckets can fail a spawn. */
static bool name_room(axo__names *names, axo__name_stripe *stripe)
{
    uint32_t old = stripe->buckets != NULL ? stripe->mask + 1 : 0;
    if (stripe->count < old)
        return true;
    uint32_t size = old != 0 ? old * 2 : NAME_BUCKETS_MIN;
    axo__name **buckets = axo__heap_alloc(names->heap, sizeof(axo__name *) * size, AXO__CACHE_LINE,
                                          AXO__SITE_NAMES);
    if (buckets == NULL)
        return old != 0;
    memset((void *)buckets, 0, sizeof(axo__name *) * size);
    for (uint32_t i = 0; i < old; i++) {
        for (axo__name *name = stripe->buckets[i]; name != NULL;) {
            axo__name *next = name->next;
            name->next = buckets[name->hash & (size - 1)];
            buckets[name->hash & (size - 1)] = name;
            name = next;
        }
    }
    if (old != 0)
        axo__heap_free(names->heap, stripe->buckets, sizeof(axo__name *) * old, AXO__CACHE_LINE,
                       AXO__SITE_NAMES);
    stripe->buckets = buckets;
    stripe->mask = size - 1;
    return true;
}

/* Under the mutex: whether the callback `now` is to see the name as taken. A name that has ended is
 * taken still for a callback that saw it taken before; a callback that sees it now will see the
 * same until it returns. Only the parent's callbacks have a `now`, so one field is enough. */
static bool name_is_held(axo__name *held, axo__moment now)
{
    bool seen = now.who != NULL && held->seen.who == now.who && held->seen.when == now.when;
    if (held->ended && !seen)
        return false;
    if (now.who != NULL)
        held->seen = now;
    return true;
}

/* Under the mutex: takes the place of an ended name, or the end of the bucket. The replaced name
 * stays in memory, unlinked, until its own child's grace period is over. */
static axo_status name_put(axo__names *names, axo__name_stripe *stripe, axo__name *name,
                           axo__moment now)
{
    if (!name_room(names, stripe))
        return AXO_ENOMEM;
    axo__name **link = name_link(stripe, name->hash, name->parent, name->text, name->length);
    axo__name *held = *link;
    if (held != NULL && name_is_held(held, now))
        return AXO_EEXIST;
    if (held != NULL) {
        name->next = held->next;
        held->linked = false;
    } else {
        stripe->count++;
    }
    name->linked = true;
    *link = name;
    return AXO_OK;
}

/* Memory is taken and the text copied before the mutex, so that the section is short. */
axo_status axo__names_take(axo__names *names, axo_ref parent, const char *text, axo__moment now,
                           axo__name **out)
{
    size_t length = strlen(text);
    AXO_DEBUG_ASSERT(length > 0 && length <= AXO_NAME_MAX);
    uint64_t hash = name_hash(names, parent, text, length);
    axo__name_stripe *stripe = name_stripe(names, hash);
    axo__name *name = axo__heap_alloc(names->heap, sizeof *name + length + 1, _Alignof(axo__name),
                                      AXO__SITE_NAMES);
    *out = NULL;
    if (name == NULL)
        return AXO_ENOMEM;
    *name = (axo__name){.hash = hash, .parent = parent, .seen = now, .length = (uint32_t)length};
    memcpy(name->text, text, length + 1);
    axo__os_mutex_lock(&stripe->mutex);
    axo_status status = name_put(names, stripe, name, now);
    axo__os_mutex_unlock(&stripe->mutex);
    if (status == AXO_OK)
        *out = name;
    else
        axo__names_free(names, name);
    return status;
}

void axo__names_bind(axo__names *names, axo__name *name, axo_ref child)
{
    AXO_DEBUG_ASSERT(name != NULL && child.bits != 0);
    axo__name_stripe *stripe = name_stripe(names, name->hash);
    axo__os_mutex_lock(&stripe->mutex);
    AXO_DEBUG_ASSERT(name->linked && axo_ref_is_none(name->child));
    name->child = child;
    axo__os_mutex_unlock(&stripe->mutex);
}

/* The mutex releases everything that the child has done before, post_stop included, to the next
 * taker of the name. */
void axo__names_end(axo__names *names, axo__name *name)
{
    axo__name_stripe *stripe = name_stripe(names, name->hash);
    axo__os_mutex_lock(&stripe->mutex);
    AXO_DEBUG_ASSERT(!name->ended);
    name->ended = true;
    axo__os_mutex_unlock(&stripe->mutex);
}

/* `linked` says whether a later child has replaced the name meanwhile; then the bucket holds that
 * one. */
void axo__names_unlink(axo__names *names, axo__name *name)
{
    axo__name_stripe *stripe = name_stripe(names, name->hash);
    axo__os_mutex_lock(&stripe->mutex);
    if (name->linked) {
        axo__name **link = name_link(stripe, name->hash, name->parent, name->text, name->length);
        AXO_ASSERT(*link == name);
        AXO_DEBUG_ASSERT(stripe->count > 0);
        *link = name->next;
        name->linked = false;
        stripe->count--;
    }
    axo__os_mutex_unlock(&stripe->mutex);
}

void axo__names_free(axo__names *names, axo__name *name)
{
    AXO_DEBUG_ASSERT(!name->linked);
    axo__heap_free(names->heap, name, name_size(name), _Alignof(axo__name), AXO__SITE_NAMES);
}

axo_ref axo__names_own(axo__names *names, axo_ref parent, const char *text, axo__moment now)
{
    size_t length = strlen(text);
    uint64_t hash = name_hash(names, parent, text, length);
    axo__name_stripe *stripe = name_stripe(names, hash);
    axo_ref child = axo_ref_none();
    axo__os_mutex_lock(&stripe->mutex);
    if (stripe->buckets != NULL) {
        axo__name *name = *name_link(stripe, hash, parent, text, length);
        if (name != NULL && name_is_held(name, now))
            child = name->child;
    }
    axo__os_mutex_unlock(&stripe->mutex);
    return child;
}

axo_ref axo__names_find(axo__names *names, axo_ref parent, const char *text, size_t length)
{
    uint64_t hash = name_hash(names, parent, text, length);
    axo__name_stripe *stripe = name_stripe(names, hash);
    axo_ref child = axo_ref_none();
    axo__os_mutex_lock(&stripe->mutex);
    if (stripe->buckets != NULL) {
        const axo__name *name = *name_link(stripe, hash, parent, text, length);
        if (name != NULL && !name->ended)
            child = name->child;
    }
    axo__os_mutex_unlock(&stripe->mutex);
    return child;
}
