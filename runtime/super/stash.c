/* stash.c - messages that an actor has put aside: they stay queued, in `stash` or in `front`.
 *
 * The flag STASHED says that one of the two chains owns the message: the runner then frees
 * nothing after receive, however receive ended. Both chains belong to the cell's runner. */
#include "super/stash.h"

#include "super/watch.h"

/* A stashed notice is watched anew, so that an unwatch before its return still reaches it (DW-05,
 * SS-07). */
axo_status axo__stash_keep(axo__worker *worker, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, cell));
    axo__message *message = worker->message;
    if (message == NULL || worker->site != AXO_SITE_RECEIVE ||
        (message->flags & AXO__MESSAGE_STASHED) != 0)
        return AXO_EINVAL;
    axo__extra *extra = axo__extra_take(&worker->local, cell);
    if (extra == NULL)
        return AXO_ENOMEM;
    if (extra->stash_count >= (extra->stash_max != 0 ? extra->stash_max : AXO_STASH_DEFAULT))
        return AXO_EFULL;
    message->flags |= AXO__MESSAGE_STASHED;
    AXO_DEBUG_ASSERT((extra->stash_count == 0) == (extra->stash.first == NULL));
    axo__chain_push(&extra->stash, message);
    extra->stash_count++;
    if ((message->flags & AXO__MESSAGE_NOTICE) != 0)
        axo__watch_notice_keep(cell, message);
    return AXO_OK;
}

/* Messages of the stash stand before those already in front (OR-11). A return of the whole stash
 * moves the chain in one step, whatever its length. */
void axo__stash_return(axo__cell *cell, uint32_t count)
{
    axo__extra *extra = axo__cell_extra(cell);
    axo__chain moved = {NULL, NULL};
    if (extra == NULL || extra->stash_count == 0)
        return;
    if (count >= extra->stash_count) {
        axo__chain_append(&moved, &extra->stash);
        extra->stash_count = 0;
    } else {
        extra->stash_count -= count;
        for (; count > 0; count--)
            axo__chain_push(&moved, axo__chain_pop(&extra->stash));
    }
    axo__chain_append(&moved, &extra->front);
    extra->front = moved;
    cell->attention |= AXO__ATTENTION_FRONT;
}
