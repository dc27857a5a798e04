/* claim.c - entries in a pool's injectors, and cells that go back unrun. */
#include "sched/claim.h"

#include "sched/wake.h"

void axo__claim_inject(axo__inject *inject, axo__cell *cell)
{
    if (axo__state_inject(&cell->state, AXO__INJECTED))
        axo__inject_push_any(inject, &cell->inject_node);
}

void axo__sched_push_ready_any(axo__sched *sched, axo__cell *cell)
{
    axo__claim_inject(&sched->inject, cell);
    axo__sched_wake_one(sched);
}

void axo__sched_push_urgent_any(axo__sched *sched, axo__cell *cell)
{
    if (axo__state_inject(&cell->state, AXO__URGENT_INJECTED))
        axo__inject_push_any(&sched->urgent, &cell->urgent_node);
    axo__sched_wake_one(sched);
}

static void claim_push_any(axo__cell *cell, axo__unclaim what)
{
    switch (what) {
    case AXO__UNCLAIM_URGENT:
        axo__sched_push_urgent_any(axo__cell_sched(cell), cell);
        return;
    case AXO__UNCLAIM_READY:
        axo__sched_push_ready_any(axo__cell_sched(cell), cell);
        return;
    case AXO__UNCLAIM_IDLE:
        return;
    }
}

void axo__sched_unclaim(axo__cell *cell)
{
    AXO_DEBUG_ASSERT(axo__state_is_running(&cell->state));
    bool urgent = (cell->attention & AXO__ATTENTION_SYSTEM) != 0;
    cell->attention &= (uint8_t)~AXO__ATTENTION_SYSTEM;
    claim_push_any(cell, axo__state_unclaim(&cell->state, urgent));
}
