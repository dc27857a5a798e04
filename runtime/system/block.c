/* block.c - blocks of the pool on any thread. */
#include "system/block.h"

#include "sched/send.h"

void *axo__block_take(axo_system *system, size_t size)
{
    axo__worker *worker = axo__self_in(&system->core);
    if (worker != NULL)
        return axo__pool_alloc(&worker->local.cache, size);
    axo__door *door = axo__door_enter(&system->sched);
    void *block = axo__pool_alloc(&door->local.cache, size);
    axo__door_leave(door);
    return block;
}

void axo__block_give(axo_system *system, void *block, size_t size)
{
    axo__worker *worker = axo__self_in(&system->core);
    if (worker != NULL) {
        axo__pool_free(&worker->local.cache, block, size);
        return;
    }
    axo__door *door = axo__door_enter(&system->sched);
    axo__pool_free(&door->local.cache, block, size);
    axo__door_leave(door);
}
