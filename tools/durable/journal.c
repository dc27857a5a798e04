/* journal.c - an actor whose state is the events that have led to it.
 *
 *   handler: persist -> persisting -> [it returns AXO_OK] -> events -> [transaction] -> back ->
 *            apply
 *
 * While something is between the handler and apply, or the instance recovers, what comes is
 * stashed. The events of an instance that has ended are on disk or will be, and of no interest to
 * the next one, which reads them: its generation is another. */
#include <string.h>

#include "store.h"

/* Events that are applied before others have their turn. */
enum { JOURNAL_BATCH = 256 };

void durable_journal_begin(durable_life *life)
{
    if (!life->journalled)
        return;
    durable_journal_drop(life);
    durable_block_drop(life->applying);
    life->applying = NULL;
    life->unapplied = 0;
    life->applied = 0;
    life->recovering = true;
    life->stashing = false;
    (void)pthread_mutex_lock(&life->mutex);
    life->generation++;
    life->recover = true;
    life->read = false;
    life->harmed = false;
    durable_list_clear(&life->back);
    (void)pthread_mutex_unlock(&life->mutex);
}

void durable_journal_drop(durable_life *life)
{
    durable_list_clear(&life->persisting);
}

bool durable_journal_waits(const durable_life *life)
{
    return life->journalled && (life->recovering || life->unapplied > 0);
}

static axo_status journal_apply(axo_ctx *ctx, void *state, durable_life *life,
                                const durable_block *block)
{
    const axo_journal_event event = {.number = block->number,
                                     .payload = block->size > 0 ? block->bytes : NULL,
                                     .tag = block->tag,
                                     .size = block->size,
                                     .sender = life->recovering ? axo_ref_none() : block->sender,
                                     .recovering = life->recovering};
    if (block->damaged)
        return axo_fail(ctx, DURABLE_CORRUPTED, "the journal is damaged at event %llu",
                        (unsigned long long)life->applied + 1);
    life->applied = block->number;
    if (block->kind == DURABLE_EVENT)
        return life->journal.apply(ctx, state, &event);
    if (life->journal.restore == NULL)
        return axo_fail(ctx, AXO_EINVAL, "there is a snapshot, and nothing to restore it");
    return life->journal.restore(ctx, state, &event);
}

/* A throw in apply leaves the block where the next event, or the next instance, finds it. */
static axo_status journal_next(axo_ctx *ctx, void *state, durable_life *life, durable_block *block)
{
    if (!life->recovering && life->unapplied > 0)
        life->unapplied--;
    durable_block_drop(life->applying);
    life->applying = block;
    axo_status status = journal_apply(ctx, state, life, block);
    durable_block_drop(block);
    life->applying = NULL;
    return status;
}

/* Whether all events of the recovery are applied. */
static bool journal_is_read(durable_life *life)
{
    (void)pthread_mutex_lock(&life->mutex);
    bool read = life->read && life->back.first == NULL;
    if (read)
        life->read = false;
    (void)pthread_mutex_unlock(&life->mutex);
    return read;
}

axo_status durable_journal_step(axo_ctx *ctx, void *state, durable_life *life)
{
    axo_status status = AXO_OK;
    int i = 0;
    for (; i < JOURNAL_BATCH && status == AXO_OK; i++) {
        (void)pthread_mutex_lock(&life->mutex);
        durable_block *block = durable_list_pop(&life->back);
        (void)pthread_mutex_unlock(&life->mutex);
        if (block == NULL)
            break;
        status = journal_next(ctx, state, life, block);
    }
    if (i > 0)
        (void)axo_want_settle(ctx);
    if (status == AXO_OK && life->recovering && journal_is_read(life)) {
        life->recovering = false;
        if (life->journal.recovered != NULL)
            status = life->journal.recovered(ctx, state);
    }
    if (status == AXO_OK && life->stashing && !durable_journal_waits(life)) {
        life->stashing = false;
        status = axo_unstash_all(ctx);
    }
    return status;
}

/* ---- what callbacks may ask ---- */

static axo_status journal_block(axo_ctx *ctx, uint32_t tag, const void *payload, size_t size,
                                durable_life **life, durable_block **out)
{
    if (axo_ref_is_none(axo_self(ctx)))
        return AXO_ECONTEXT;
    *life = durable_here(ctx);
    if (*life == NULL || !(*life)->journalled || (payload == NULL && size > 0))
        return AXO_EINVAL;
    if (size > AXO_PAYLOAD_MAX)
        return AXO_ETOOBIG;
    *out = durable_block_make((*life)->store->system, tag, payload, size);
    return *out != NULL ? AXO_OK : AXO_ENOMEM;
}

axo_status axo_journal_persist(axo_ctx *ctx, uint32_t tag, const void *payload, size_t size)
{
    durable_life *life;
    durable_block *block;
    axo_status status = journal_block(ctx, tag, payload, size, &life, &block);
    if (status != AXO_OK)
        return status;
    if (!life->in_receive) {
        durable_block_drop(block);
        return AXO_EINVAL;
    }
    block->kind = DURABLE_EVENT;
    block->sender = axo_sender(ctx);
    durable_list_push(&life->persisting, block);
    return AXO_OK;
}

axo_status axo_journal_snapshot(axo_ctx *ctx, const void *payload, size_t size)
{
    durable_life *life;
    durable_block *block;
    axo_status status = journal_block(ctx, 0, payload, size, &life, &block);
    if (status != AXO_OK)
        return status;
    if (life->recovering) {
        durable_block_drop(block);
        return AXO_EBUSY;
    }
    block->kind = DURABLE_SNAPSHOT;
    block->number = life->applied;
    (void)pthread_mutex_lock(&life->mutex);
    durable_block_drop(life->snapshot);
    life->snapshot = block;
    (void)pthread_mutex_unlock(&life->mutex);
    (void)axo_want_settle(ctx);
    return AXO_OK;
}

uint64_t axo_journal_number(axo_ctx *ctx)
{
    const durable_life *life = durable_here(ctx);
    return life != NULL ? life->applied : 0;
}
