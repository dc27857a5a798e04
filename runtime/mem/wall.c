/* wall.c - walls round memory, so that a write past its end is noticed. */
#include "mem/wall.h"

#include "base/assert.h"
#include "base/config.h"
#include "os/page.h"

#define WALL_ALIGN ((size_t)16)

/* What lies before a block, in the same page. */
typedef struct wall_head {
    void *base;
    size_t size;        /* of its pages, with the one behind */
    uint64_t caller[2]; /* the words before the block are its owner's */
} wall_head;
AXO_STATIC_ASSERT(sizeof(wall_head) % WALL_ALIGN == 0, "a block is aligned");

static wall_head *wall_head_of(const void *block)
{
    return (wall_head *)(uintptr_t)block - 1;
}

axo__walls *axo__walls_make(axo__heap *heap, uint32_t kinds, const char *name)
{
    axo__walls *walls = axo__heap_alloc(heap, sizeof *walls, AXO__CACHE_LINE, AXO__SITE_WALLS);
    if (walls == NULL)
        return NULL;
    memset((void *)walls, 0, sizeof *walls);
    walls->heap = heap;
    walls->page = axo__os_page();
    walls->kinds = kinds;
    if (name != NULL)
        memcpy(walls->name, name, strnlen(name, sizeof walls->name - 1));
    if (axo__os_mutex_init(&walls->mutex))
        return walls;
    axo__heap_free(heap, walls, sizeof *walls, AXO__CACHE_LINE, AXO__SITE_WALLS);
    return NULL;
}

/* Pages that cannot be opened again are not the allocator's to use: they are lost, and the account
 * shows it. */
static void wall_release(axo__walls *walls, const axo__wall_pages *pages)
{
    if (axo__os_protect(pages->base, pages->size, AXO__OS_WRITE))
        axo__heap_free(walls->heap, pages->base, pages->size, walls->page, AXO__SITE_WALLS);
}

void axo__walls_free(axo__walls *walls)
{
    if (walls == NULL)
        return;
    for (; walls->count > 0; walls->count--) {
        wall_release(walls, &walls->kept[walls->first]);
        walls->first = (walls->first + 1) % AXO__WALL_KEPT;
    }
    axo__os_mutex_fini(&walls->mutex);
    axo__heap_free(walls->heap, walls, sizeof *walls, AXO__CACHE_LINE, AXO__SITE_WALLS);
}

uint32_t axo__walls_of(const axo__walls *walls, const char *name)
{
    if (walls == NULL)
        return 0;
    bool stands = walls->name[0] == 0 || strcmp(walls->name, name) == 0;
    return stands ? walls->kinds : 0;
}

/* Bytes between the end of what was asked for and the page behind. */
static size_t wall_slack(size_t size)
{
    return (WALL_ALIGN - size % WALL_ALIGN) % WALL_ALIGN;
}

void *axo__wall_take(axo__walls *walls, size_t front, size_t size)
{
    size_t page = walls->page;
    if (size > SIZE_MAX / 4 || front > SIZE_MAX / 4)
        return NULL;
    size_t room = size + wall_slack(size);
    front = (front + WALL_ALIGN - 1) & ~(WALL_ALIGN - 1);
    size_t open = (front + sizeof(wall_head) + room + page - 1) & ~(page - 1);
    char *base = axo__heap_alloc(walls->heap, open + page, page, AXO__SITE_WALLS);
    if (base == NULL)
        return NULL;
    if (!axo__os_protect(base + open, page, AXO__OS_NONE)) {
        axo__heap_free(walls->heap, base, open + page, page, AXO__SITE_WALLS);
        return NULL;
    }
    char *block = base + open - room;
    *wall_head_of(block) = (wall_head){.base = base, .size = open + page};
    axo__wall_mend(block, size);
    return block;
}

void *axo__wall_front(void *block)
{
    return wall_head_of(block)->base;
}

bool axo__wall_is_whole(const void *block, size_t size)
{
    const char *bytes = block;
    size_t room = size + wall_slack(size);
    for (size_t at = size; at < room; at += AXO__CANARY) {
        if (!axo__canary_lives(bytes + at, room - at))
            return false;
    }
    return true;
}

void axo__wall_mend(void *block, size_t size)
{
    size_t room = size + wall_slack(size);
    for (size_t at = size; at < room; at += AXO__CANARY)
        axo__canary_set((char *)block + at, room - at);
}

/* The pages that were given back first make room. They are opened and freed without the mutex. */
void axo__wall_give(axo__walls *walls, void *block)
{
    axo__wall_pages pages = {.base = wall_head_of(block)->base, .size = wall_head_of(block)->size};
    if (pages.size > AXO__WALL_KEPT_BYTES / 4 ||
        !axo__os_protect(pages.base, pages.size, AXO__OS_NONE)) {
        wall_release(walls, &pages);
        return;
    }
    bool kept = false;
    while (!kept) {
        axo__wall_pages oldest = {.base = NULL};
        axo__os_mutex_lock(&walls->mutex);
        bool full =
            walls->count == AXO__WALL_KEPT || walls->bytes + pages.size > AXO__WALL_KEPT_BYTES;
        if (full) {
            oldest = walls->kept[walls->first];
            walls->first = (walls->first + 1) % AXO__WALL_KEPT;
            walls->count--;
            walls->bytes -= oldest.size;
        } else {
            walls->kept[(walls->first + walls->count) % AXO__WALL_KEPT] = pages;
            walls->count++;
            walls->bytes += pages.size;
            kept = true;
        }
        axo__os_mutex_unlock(&walls->mutex);
        if (oldest.base != NULL)
            wall_release(walls, &oldest);
    }
}

static bool wall_protect(const axo__walls *walls, void *block, axo__os_access access)
{
    const wall_head *head = wall_head_of(block);
    return axo__os_protect(head->base, head->size - walls->page, access);
}

bool axo__wall_freeze(axo__walls *walls, void *block)
{
    return wall_protect(walls, block, AXO__OS_READ);
}

bool axo__wall_thaw(axo__walls *walls, void *block)
{
    return wall_protect(walls, block, AXO__OS_WRITE);
}
