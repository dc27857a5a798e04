/* stash.c - messages that an actor has put aside: they stay queued, in front or in the stash. */
#include "super/super.h"

axo_status axo__super_stash(axo__worker *worker, axo__cell *cell)
{
    axo__message *message = worker->message;
    if (message == NULL || worker->site != AXO_SITE_RECEIVE ||
        (message->flags & AXO__MESSAGE_STASHED) != 0)
        return AXO_EINVAL;
    if (cell->stash_count >= cell->stash_max)
        return AXO_EFULL;
    message->flags |= AXO__MESSAGE_STASHED;
    axo__chain_push(&cell->stash, message);
    cell->stash_count++;
    if ((message->flags & AXO__MESSAGE_NOTICE) != 0)
        axo__super_notice_keep(cell, message);
    return AXO_OK;
}

void axo__super_unstash(axo__cell *cell, uint32_t count)
{
    axo__chain moved = {NULL, NULL};
    if (count >= cell->stash_count) {
        axo__chain_append(&moved, &cell->stash);
        cell->stash_count = 0;
    } else {
        cell->stash_count -= count;
        for (; count > 0; count--)
            axo__chain_push(&moved, axo__chain_pop(&cell->stash));
    }
    axo__chain_append(&moved, &cell->front);
    cell->front = moved;
}
