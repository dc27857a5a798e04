/* more.c - what few actors have: taken when it is asked for, given back with the slot. */
#include "cell/more.h"

#include <string.h>

#include "base/assert.h"

static void *more_alloc(axo__local *local, size_t size)
{
    void *record = axo__pool_alloc(&local->cache, size);
    if (record != NULL)
        memset(record, 0, size);
    return record;
}

axo__more *axo__more_take(axo__local *local, axo__cell *cell)
{
    axo__more *there = axo__cell_more(cell);
    if (there != NULL)
        return there;
    axo__more *fresh = more_alloc(local, sizeof *fresh);
    void *found = NULL;
    if (fresh == NULL || axo__aptr_cas_acq_rel(&cell->more, &found, fresh)) /* [M1] */
        return fresh;
    axo__pool_free(&local->cache, fresh, sizeof *fresh);
    return found;
}

axo__family *axo__family_take(axo__local *local, axo__cell *cell)
{
    axo__more *more = axo__more_take(local, cell);
    if (more == NULL)
        return NULL;
    if (more->family == NULL)
        more->family = more_alloc(local, sizeof *more->family);
    return more->family;
}

axo__ward *axo__ward_take(axo__local *local, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(axo__a32_peek_owner(&cell->generation) == 0);
    axo__more *more = axo__more_take(local, cell);
    if (more == NULL)
        return NULL;
    if (more->ward == NULL)
        more->ward = more_alloc(local, sizeof *more->ward);
    return more->ward;
}

void axo__ward_free(axo__local *local, axo__cell *cell)
{
    axo__more *more = axo__cell_more(cell);
    if (more == NULL)
        return;
    AXO_DEBUG_ASSERT(more->ward == NULL || more->ward->cause.kind == AXO_FAILURE_NONE);
    axo__pool_free(&local->cache, more->ward, sizeof *more->ward);
    more->ward = NULL;
}

void axo__more_free(axo__local *local, axo__cell *cell)
{
    axo__more *more = axo__cell_more(cell);
    if (more == NULL)
        return;
    AXO_DEBUG_ASSERT(more->region == NULL && more->ward == NULL && more->stash_count == 0);
    AXO_DEBUG_ASSERT(more->watching == NULL && more->watchers == NULL);
    AXO_DEBUG_ASSERT(more->parked == NULL && more->timed == NULL);
    axo__pool_free(&local->cache, more->family, sizeof *more->family);
    axo__pool_free(&local->cache, more, sizeof *more);
    axo__aptr_store_relaxed(&cell->more, NULL);
}

axo__cause axo__cell_failure(const axo__cell *cell)
{
    const axo__more *more = axo__cell_more(cell);
    const axo__brief *brief = &axo__cell_kin(cell)->failure;
    if (brief->whole)
        return axo__cell_own_family(cell)->failure;
    axo__cause cause = axo__cause_of_brief(brief, axo__cell_ref(cell));
    if (cause.kind != AXO_FAILURE_NONE && more != NULL)
        cause.about = more->about;
    return cause;
}

/* Only a child's failure names another actor, and only a death pact is about somebody: so there is
 * a family, or a watch, and with it the room. */
void axo__cell_keep_failure(axo__cell *cell, axo__cause *cause)
{
    AXO_DEBUG_ASSERT(axo__state_is_running(&cell->state));
    AXO_DEBUG_ASSERT(cause->kind != AXO_FAILURE_NONE);
    AXO_DEBUG_ASSERT(axo__cell_failure_kind(cell) == AXO_FAILURE_NONE);
    axo__more *more = axo__cell_more(cell);
    axo__brief *brief = &axo__cell_kin(cell)->failure;
    *brief = axo__cause_brief(cause);
    if (!axo_ref_equal(cause->actor, axo__cell_ref(cell))) {
        AXO_ASSERT(more != NULL && more->family != NULL);
        brief->whole = 1;
        more->family->failure = *cause;
    } else {
        AXO_ASSERT(more != NULL || axo_ref_is_none(cause->about));
        if (more != NULL)
            more->about = cause->about;
    }
    memset(cause, 0, sizeof *cause);
}

axo__cause axo__cell_take_failure(axo__cell *cell)
{
    AXO_DEBUG_ASSERT(axo__cell_failure_kind(cell) != AXO_FAILURE_NONE);
    axo__cause cause = axo__cell_failure(cell);
    memset(&axo__cell_kin(cell)->failure, 0, sizeof(axo__brief));
    return cause;
}
