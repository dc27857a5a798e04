/* site.c - the records of the sites: who asked, who was refused, who has given back. */
#include "fault/site.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "mem/slab.h"

extern refuse_site __start_refuse_sites[];
extern refuse_site __stop_refuse_sites[];

void *refuse_pool_alloc(refuse_site *site, axo__cache *cache, size_t size);
void refuse_pool_free(axo__cache *cache, void *memory, size_t size);

/* A block that is out. */
typedef struct site_block {
    void *memory;
    refuse_site *site;
    bool alone; /* of a pool, and from the allocator itself */
} site_block;

static struct {
    pthread_mutex_t mutex;
    site_block *blocks; /* open addressing; memory NULL: free */
    size_t room;
    size_t count;
    bool armed;
    bool separate;
    refuse_mode mode;
    uint32_t paused;
    uint64_t n;
    uint64_t asked;
    uint64_t denials;
    uint64_t chance;
    bool zone;
    char said[200];
} site_all = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local refuse_site *site_from;

static size_t site_place(const void *memory)
{
    return (size_t)((uintptr_t)memory >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 20 &
           (site_all.room - 1);
}

static void site_insert(site_block block)
{
    size_t at = site_place(block.memory);
    while (site_all.blocks[at].memory != NULL)
        at = (at + 1) & (site_all.room - 1);
    site_all.blocks[at] = block;
}

static void site_keep(site_block block)
{
    if (site_all.count * 2 >= site_all.room) {
        site_block *old = site_all.blocks;
        size_t room = site_all.room;
        site_all.room = room == 0 ? 4096 : room * 2;
        site_all.blocks = calloc(site_all.room, sizeof *site_all.blocks);
        if (site_all.blocks == NULL)
            abort();
        for (size_t i = 0; i < room; i++) {
            if (old[i].memory != NULL)
                site_insert(old[i]);
        }
        free(old);
    }
    site_insert(block);
    site_all.count++;
    block.site->live++;
}

/* Takes a block out and closes the gap behind it. */
static site_block site_drop(const void *memory)
{
    size_t mask = site_all.room - 1;
    size_t at = site_place(memory);
    while (site_all.blocks[at].memory != memory) {
        if (site_all.blocks[at].memory == NULL) {
            (void)fprintf(stderr, "a block is given back that nobody has taken: %p\n", memory);
            abort();
        }
        at = (at + 1) & mask;
    }
    site_block found = site_all.blocks[at];
    for (size_t next = (at + 1) & mask; site_all.blocks[next].memory != NULL;
         next = (next + 1) & mask) {
        size_t home = site_place(site_all.blocks[next].memory);
        if (((next - home) & mask) >= ((next - at) & mask)) {
            site_all.blocks[at] = site_all.blocks[next];
            at = next;
        }
    }
    site_all.blocks[at].memory = NULL;
    site_all.count--;
    found.site->live--;
    return found;
}

/* Under the mutex. */
static bool site_denied(refuse_site *site)
{
    site->asked++;
    if (site_all.zone && site_all.paused == 0 && site_all.said[0] == '\0')
        (void)snprintf(site_all.said, sizeof site_all.said, "%s:%llu asks for memory", site->file,
                       (unsigned long long)site->line);
    if (!site_all.armed || site_all.paused > 0)
        return false;
    uint64_t number = ++site_all.asked;
    bool denied = number == site_all.n;
    if (site_all.mode == REFUSE_STICKY) {
        denied = number >= site_all.n;
    } else if (site_all.mode == REFUSE_RANDOM) {
        site_all.chance = site_all.chance * UINT64_C(6364136223846793005) + 1442695040888963407;
        denied = (site_all.chance >> 33) % site_all.n == 0;
    }
    if (denied) {
        site->failed[site_all.mode]++;
        site_all.denials++;
    }
    return denied;
}

bool refuse_asks(refuse_site *site)
{
    (void)pthread_mutex_lock(&site_all.mutex);
    bool denied = site_denied(site);
    (void)pthread_mutex_unlock(&site_all.mutex);
    return denied;
}

void *refuse_heap_alloc(refuse_site *site, axo__heap *heap, size_t size, size_t align,
                       axo__alloc_site number)
{
    if (site_from != NULL)
        site = site_from;
    site_from = NULL;
    bool denied = refuse_asks(site);
    void *block = denied ? NULL : axo__heap_alloc(heap, size, align, number);
    if (block == NULL)
        return NULL;
    (void)pthread_mutex_lock(&site_all.mutex);
    site_keep((site_block){.memory = block, .site = site});
    (void)pthread_mutex_unlock(&site_all.mutex);
    return block;
}

void refuse_heap_free(axo__heap *heap, void *block, size_t size, size_t align,
                      axo__alloc_site number)
{
    if (block != NULL) {
        (void)pthread_mutex_lock(&site_all.mutex);
        (void)site_drop(block);
        (void)pthread_mutex_unlock(&site_all.mutex);
    }
    axo__heap_free(heap, block, size, align, number);
}

void refuse_from(refuse_site *site)
{
    site_from = site;
}

void *refuse_pool_alloc(refuse_site *site, axo__cache *cache, size_t size)
{
    if (site == NULL) {
        site = site_from;
        site_from = NULL;
        if (site == NULL)
            abort();
    }
    (void)pthread_mutex_lock(&site_all.mutex);
    bool denied = site_denied(site);
    bool alone = site_all.separate;
    (void)pthread_mutex_unlock(&site_all.mutex);
    if (denied)
        return NULL;
    void *block = alone ? axo__heap_alloc(cache->pool->heap, size, AXO__CACHE_LINE, AXO__SITE_POOL)
                        : axo__pool_alloc(cache, size);
    if (block == NULL)
        return NULL;
    (void)pthread_mutex_lock(&site_all.mutex);
    site_keep((site_block){.memory = block, .site = site, .alone = alone});
    (void)pthread_mutex_unlock(&site_all.mutex);
    return block;
}

void refuse_pool_free(axo__cache *cache, void *memory, size_t size)
{
    site_block found = {.alone = false};
    if (memory != NULL) {
        (void)pthread_mutex_lock(&site_all.mutex);
        found = site_drop(memory);
        (void)pthread_mutex_unlock(&site_all.mutex);
    }
    if (found.alone)
        axo__heap_free(cache->pool->heap, memory, size, AXO__CACHE_LINE, AXO__SITE_POOL);
    else
        axo__pool_free(cache, memory, size);
}

void refuse_arm(refuse_mode mode, uint64_t n)
{
    (void)pthread_mutex_lock(&site_all.mutex);
    site_all.mode = mode;
    site_all.n = n;
    site_all.asked = 0;
    site_all.paused = 0;
    site_all.armed = true;
    (void)pthread_mutex_unlock(&site_all.mutex);
}

void refuse_disarm(void)
{
    (void)pthread_mutex_lock(&site_all.mutex);
    site_all.armed = false;
    (void)pthread_mutex_unlock(&site_all.mutex);
}

void refuse_pause(void)
{
    (void)pthread_mutex_lock(&site_all.mutex);
    site_all.paused++;
    (void)pthread_mutex_unlock(&site_all.mutex);
}

void refuse_resume(void)
{
    (void)pthread_mutex_lock(&site_all.mutex);
    site_all.paused--;
    (void)pthread_mutex_unlock(&site_all.mutex);
}

uint64_t refuse_denials(void)
{
    (void)pthread_mutex_lock(&site_all.mutex);
    uint64_t denials = site_all.denials;
    (void)pthread_mutex_unlock(&site_all.mutex);
    return denials;
}

uint64_t refuse_asked(void)
{
    (void)pthread_mutex_lock(&site_all.mutex);
    uint64_t asked = site_all.asked;
    (void)pthread_mutex_unlock(&site_all.mutex);
    return asked;
}

void refuse_zone_begin(void)
{
    (void)pthread_mutex_lock(&site_all.mutex);
    site_all.said[0] = '\0';
    site_all.zone = true;
    site_all.paused = 0;
    (void)pthread_mutex_unlock(&site_all.mutex);
}

const char *refuse_zone_end(void)
{
    (void)pthread_mutex_lock(&site_all.mutex);
    site_all.zone = false;
    (void)pthread_mutex_unlock(&site_all.mutex);
    return site_all.said;
}

void refuse_separate(bool on)
{
    site_all.separate = on;
}

const refuse_site *refuse_leak(void)
{
    for (refuse_site *site = __start_refuse_sites; site < __stop_refuse_sites; site++) {
        if (site->live != 0)
            return site;
    }
    return NULL;
}

uint32_t refuse_report(FILE *out, uint32_t *sites, uint64_t *injections)
{
    uint32_t missing = 0;
    *sites = 0;
    *injections = 0;
    (void)fprintf(out, "%-46s %-32s %9s %6s %7s %7s\n", "site", "function", "asked", "once",
                  "sticky", "random");
    for (refuse_site *site = __start_refuse_sites; site < __stop_refuse_sites; site++) {
        char place[128];
        bool never = site->failed[REFUSE_ONCE] == 0 || site->failed[REFUSE_STICKY] == 0;
        const char *from = strstr(site->file, "runtime/");
        (void)snprintf(place, sizeof place, "%s:%llu", from != NULL ? from : site->file,
                       (unsigned long long)site->line);
        (void)fprintf(out, "%-46s %-32s %9llu %6llu %7llu %7llu%s\n", place, site->function,
                      (unsigned long long)site->asked,
                      (unsigned long long)site->failed[REFUSE_ONCE],
                      (unsigned long long)site->failed[REFUSE_STICKY],
                      (unsigned long long)site->failed[REFUSE_RANDOM], never ? "  NEVER" : "");
        missing += never;
        (*sites)++;
        for (uint32_t mode = 0; mode < REFUSE_MODES; mode++)
            *injections += site->failed[mode];
    }
    return missing;
}
