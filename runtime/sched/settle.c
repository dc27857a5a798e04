/* settle.c - calls the settle that an actor has asked for: DESIGN.md says when, and why. */
#include "sched/settle.h"

#include "sched/find.h"
#include "sched/hook.h"
#include "sched/ready.h"

/* false: the instance is suspended, or is being made or ended; settle stays asked for, until the
 * instance goes on or is destroyed. */
static bool settle_call(axo__worker *worker, axo__cell *cell)
{
    uint64_t word = axo__state_look(&cell->state);
    AXO_DEBUG_ASSERT((cell->attention & AXO__ATTENTION_SETTLE) != 0);
    if ((word & (AXO__HELD | AXO__CLOSED)) != 0 || cell->phase != AXO__PHASE_NORMAL ||
        cell->life != AXO__INSTANCE_STARTED)
        return false;
    AXO_DEBUG_ASSERT(cell->failed == NULL && !cell->reported);
    cell->attention &= (uint8_t)~AXO__ATTENTION_SETTLE;
    axo__a64_store_relaxed(&worker->running_tag, 0);
    if (axo__hook_run_own(worker, cell, AXO_SITE_SETTLE, NULL, NULL) != AXO_OK)
        worker->sched->ops->fail(worker, cell);
    if (--worker->until_clock == 0 && axo__worker_clock(worker))
        axo__worker_offer_urgent(worker);
    return true;
}

bool axo__settle_before(axo__worker *worker, axo__cell *cell)
{
    if (cell->settled || !settle_call(worker, cell))
        return false;
    cell->settled = (cell->attention & AXO__ATTENTION_SETTLE) != 0;
    return true;
}

bool axo__settle_last(axo__worker *worker, axo__cell *cell, bool *more)
{
    const uint32_t system = AXO__ATTENTION_SYSTEM | AXO__ATTENTION_REST;
    if (!settle_call(worker, cell))
        return false;
    cell->settled = 0;
    uint64_t word = axo__state_look(&cell->state);
    /* Settle may have brought back what was stashed; so has a restart of a settle that failed. */
    *more = *more || (cell->attention & (AXO__ATTENTION_SETTLE | AXO__ATTENTION_FRONT)) != 0;
    return (word & (AXO__URGENT | AXO__CLOSED)) != 0 || (cell->attention & system) != 0;
}
