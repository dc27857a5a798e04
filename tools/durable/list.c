/* list.c - blocks, and lists of them. */
#include <string.h>

#include "store.h"

void *durable_alloc(axo_system *system, size_t size)
{
    void *block = axo_system_alloc(system, size);
    if (block != NULL)
        memset(block, 0, size);
    return block;
}

/* At least a byte of payload: its address is nobody else's. */
static size_t block_bytes(size_t size)
{
    return sizeof(durable_block) + (size > 0 ? size : 1);
}

durable_block *durable_block_make(axo_system *system, uint32_t tag, const void *payload,
                                  size_t size)
{
    durable_block *block = axo_system_alloc(system, block_bytes(size));
    if (block == NULL)
        return NULL;
    memset(block, 0, sizeof *block);
    atomic_init(&block->refs, 1);
    block->system = system;
    block->tag = tag;
    block->size = (uint32_t)size;
    if (size > 0 && payload != NULL)
        memcpy(block->bytes, payload, size);
    return block;
}

void durable_block_drop(durable_block *block)
{
    if (block != NULL && atomic_fetch_sub(&block->refs, 1) == 1)
        axo_system_free(block->system, block, block_bytes(block->size));
}

void durable_block_free(void *payload, void *block)
{
    (void)payload;
    durable_block_drop(block);
}

void durable_list_push(durable_list *list, durable_block *block)
{
    block->next = NULL;
    if (list->last != NULL)
        list->last->next = block;
    else
        list->first = block;
    list->last = block;
    list->count++;
}

durable_block *durable_list_pop(durable_list *list)
{
    durable_block *block = list->first;
    if (block == NULL)
        return NULL;
    list->first = block->next;
    if (list->first == NULL)
        list->last = NULL;
    list->count--;
    block->next = NULL;
    return block;
}

void durable_list_insert(durable_list *list, durable_block *block)
{
    durable_block **at = &list->first;
    while (*at != NULL && (*at)->number < block->number)
        at = &(*at)->next;
    block->next = *at;
    *at = block;
    if (block->next == NULL)
        list->last = block;
    list->count++;
}

bool durable_list_remove(durable_list *list, const durable_block *block)
{
    durable_block *before = NULL;
    for (durable_block *it = list->first; it != NULL; before = it, it = it->next) {
        if (it != block)
            continue;
        if (before != NULL)
            before->next = it->next;
        else
            list->first = it->next;
        if (list->last == it)
            list->last = before;
        list->count--;
        it->next = NULL;
        return true;
    }
    return false;
}

void durable_list_append(durable_list *to, durable_list *from)
{
    if (from->first == NULL)
        return;
    if (to->last != NULL)
        to->last->next = from->first;
    else
        to->first = from->first;
    to->last = from->last;
    to->count += from->count;
    *from = (durable_list){0};
}

void durable_list_clear(durable_list *list)
{
    durable_block *block;
    while ((block = durable_list_pop(list)) != NULL)
        durable_block_drop(block);
}
