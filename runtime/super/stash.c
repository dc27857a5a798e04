/* stash.c - messages that an actor has put aside: they stay queued, in front or in the stash. */
#include "super/stash.h"

#include "super/watch.h"

axo_status axo__stash_keep(axo__worker *worker, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, cell));
    axo__message *message = worker->message;
    if (message == NULL || worker->site != AXO_SITE_RECEIVE ||
        (message->flags & AXO__MESSAGE_STASHED) != 0)
        return AXO_EINVAL;
    axo__more *more = axo__more_take(&worker->local, cell);
    if (more == NULL)
        return AXO_ENOMEM;
    if (more->stash_count >= (more->stash_max != 0 ? more->stash_max : AXO_STASH_DEFAULT))
        return AXO_EFULL;
    message->flags |= AXO__MESSAGE_STASHED;
    AXO_DEBUG_ASSERT((more->stash_count == 0) == (more->stash.first == NULL));
    axo__chain_push(&more->stash, message);
    more->stash_count++;
    if ((message->flags & AXO__MESSAGE_NOTICE) != 0)
        axo__watch_notice_keep(cell, message);
    return AXO_OK;
}

void axo__stash_return(axo__cell *cell, uint32_t count)
{
    axo__more *more = axo__cell_more(cell);
    axo__chain moved = {NULL, NULL};
    if (more == NULL || more->stash_count == 0)
        return;
    if (count >= more->stash_count) {
        axo__chain_append(&moved, &more->stash);
        more->stash_count = 0;
    } else {
        more->stash_count -= count;
        for (; count > 0; count--)
            axo__chain_push(&moved, axo__chain_pop(&more->stash));
    }
    axo__chain_append(&moved, &more->front);
    more->front = moved;
    cell->aside |= AXO__ASIDE_FRONT;
}
