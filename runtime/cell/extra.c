/* extra.c - what few actors have: taken when it is asked for, given back with the slot.
 *
 * Each function that takes a record returns NULL where memory is missing, and its caller is a
 * call of the program that can say AXO_ENOMEM. */
#include "cell/extra.h"

#include <string.h>

#include "base/assert.h"

/* A record is valid when zeroed (NULL, 0, none), so its maker fills in only what it knows. */
static void *extra_alloc(axo__local *local, size_t size)
{
    void *record = axo__pool_alloc(&local->cache, size);
    if (record != NULL)
        memset(record, 0, size);
    return record;
}

/* The cas [M1] lets one of several makers win; a loser frees its block, and its failed cas has
 * acquired the winner's record. */
axo__extra *axo__extra_take(axo__local *local, axo__cell *cell)
{
    axo__extra *there = axo__cell_extra(cell);
    if (there != NULL)
        return there;
    axo__extra *fresh = extra_alloc(local, sizeof *fresh);
    void *found = NULL;
    if (fresh == NULL || axo__aptr_cas_acq_rel(&cell->extra, &found, fresh)) /* [M1] */
        return fresh;
    axo__pool_free(&local->cache, fresh, sizeof *fresh);
    return found;
}

axo__family *axo__family_take(axo__local *local, axo__cell *cell)
{
    axo__extra *extra = axo__extra_take(local, cell);
    if (extra == NULL)
        return NULL;
    if (extra->family == NULL)
        extra->family = extra_alloc(local, sizeof *extra->family);
    return extra->family;
}

axo__child_record *axo__child_record_take(axo__local *local, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(!axo__cell_lives_owner(cell));
    axo__extra *extra = axo__extra_take(local, cell);
    if (extra == NULL)
        return NULL;
    if (extra->child_record == NULL)
        extra->child_record = extra_alloc(local, sizeof *extra->child_record);
    return extra->child_record;
}

void axo__child_record_free(axo__local *local, axo__cell *cell)
{
    axo__extra *extra = axo__cell_extra(cell);
    if (extra == NULL)
        return;
    AXO_DEBUG_ASSERT(extra->child_record == NULL ||
                     extra->child_record->cause.kind == AXO_FAILURE_NONE);
    axo__pool_free(&local->cache, extra->child_record, sizeof *extra->child_record);
    extra->child_record = NULL;
}

/* By the worker that ends the cell after its grace period, or by the maker of a birth that failed:
 * no other thread can read the pointer, hence the relaxed store. */
void axo__extra_free(axo__local *local, axo__cell *cell)
{
    axo__extra *extra = axo__cell_extra(cell);
    if (extra == NULL)
        return;
    AXO_DEBUG_ASSERT(extra->region == NULL && extra->child_record == NULL &&
                     extra->stash_count == 0);
    AXO_DEBUG_ASSERT(extra->watching == NULL && extra->watchers == NULL);
    AXO_DEBUG_ASSERT(extra->parked == NULL && extra->keyed == NULL && extra->io == NULL);
    AXO_DEBUG_ASSERT(extra->budget == NULL || extra->budget->own == 0);
    AXO_DEBUG_ASSERT(extra->account == NULL || extra->account->notice == NULL);
    axo__pool_free(&local->cache, extra->done, sizeof *extra->done);
    axo__pool_free(&local->cache, extra->account, sizeof *extra->account);
    axo__pool_free(&local->cache, extra->budget, sizeof *extra->budget);
    axo__pool_free(&local->cache, extra->family, sizeof *extra->family);
    axo__pool_free(&local->cache, extra, sizeof *extra);
    axo__aptr_store_relaxed(&cell->extra, NULL);
}

/* The cell keeps an own failure in 16 bytes: `actor` is the cell, and `about` lies in `extra`. An
 * escalated child's failure names another actor and is kept whole in the family. */
axo__cause axo__cell_failure_any(const axo__cell *cell)
{
    const axo__extra *extra = axo__cell_extra(cell);
    axo__cause cause = axo__cause_of_short(&axo__cell_cold(cell)->failure, axo__cell_ref(cell));
    if (cause.whole)
        return axo__cell_own_family(cell)->failure;
    if (cause.kind != AXO_FAILURE_NONE && extra != NULL)
        cause.about = extra->about;
    return cause;
}

/* Takes no memory (D10): an escalated failure comes from a child, so there is a family; only a
 * death pact is about another actor, which the cell has watched, so there is an `extra`. */
void axo__cell_keep_failure_any(axo__cell *cell, const axo__cause *cause)
{
    axo__extra *extra = axo__cell_extra(cell);
    axo__cause kept = *cause;
    if (!axo_ref_equal(cause->actor, axo__cell_ref(cell))) {
        AXO_ASSERT(extra != NULL && extra->family != NULL);
        extra->family->failure = *cause;
        kept.whole = 1;
    } else {
        AXO_ASSERT(extra != NULL || axo_ref_is_none(cause->about));
        if (extra != NULL)
            extra->about = cause->about;
    }
    axo__cell_cold(cell)->failure = axo__cause_shorten(&kept);
}

void axo__cell_drop_failure_any(axo__texts *texts, axo__cell *cell)
{
    axo__cause cause = axo__cell_take_failure(cell);
    axo__cause_drop(texts, &cause);
}
