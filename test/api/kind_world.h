/* kind_world.h - an allocator that knows what is held of each kind of memory, and stops the program
 * when a block goes back as another kind, size or alignment than it came. */
#ifndef TEST_API_KIND_WORLD_H
#define TEST_API_KIND_WORLD_H

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <axo/axo.h>

#include "support/cmocka.h"

typedef struct kind_account {
    _Atomic uint64_t calls[AXO_MEMORY_KINDS];
    _Atomic int64_t held[AXO_MEMORY_KINDS]; /* bytes */
    _Atomic bool refuses;
    _Atomic bool maps; /* mmap's memory, so that malloc's is the library's own */
    axo_system *system;
    axo_status (*within)(axo_system *system); /* called by each allocation; NULL: nothing is */
    axo_status said;
} kind_account;

typedef struct kind_head {
    void *base;
    size_t mapped; /* 0: of malloc */
    size_t size;
    size_t align;
    uint64_t kind;
    uint64_t unused;
} kind_head;

static inline void *kind_base(const kind_account *account, size_t whole, size_t align)
{
    void *base = NULL;
    if (account->maps) {
        base = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        return base == MAP_FAILED ? NULL : base;
    }
    return posix_memalign(&base, align, whole) == 0 ? base : NULL;
}

static inline void *kind_alloc(void *user, size_t size, size_t align, uint32_t kind)
{
    kind_account *account = user;
    size_t head = (sizeof(kind_head) + align - 1) / align * align;
    if (kind >= AXO_MEMORY_KINDS)
        abort();
    if (account->within != NULL)
        account->said = account->within(account->system);
    if (account->refuses)
        return NULL;
    char *base = kind_base(account, head + size, align < 16 ? 16 : align);
    if (base == NULL)
        return NULL;
    ((kind_head *)(void *)(base + head))[-1] =
        (kind_head){.base = base, .mapped = account->maps ? head + size : 0, .size = size,
                    .align = align, .kind = kind};
    account->calls[kind]++;
    account->held[kind] += (int64_t)size;
    return base + head;
}

static inline void kind_free(void *user, void *block, size_t size, size_t align, uint32_t kind)
{
    kind_account *account = user;
    kind_head head = ((kind_head *)block)[-1];
    if (head.kind != kind || head.size != size || head.align != align) {
        (void)fprintf(stderr, "of kind %u, %zu bytes, came as kind %u, %zu bytes\n", kind, size,
                      (uint32_t)head.kind, head.size);
        abort();
    }
    account->held[kind] -= (int64_t)size;
    if (head.mapped != 0)
        (void)munmap(head.base, head.mapped);
    else
        free(head.base);
}

static inline axo_kind_allocator kind_hook(kind_account *account)
{
    return (axo_kind_allocator){.alloc = kind_alloc, .free = kind_free, .user = account};
}

static inline void kind_empty(const kind_account *account)
{
    for (uint32_t kind = 0; kind < AXO_MEMORY_KINDS; kind++)
        assert_int_equal(account->held[kind], 0);
}

#endif
