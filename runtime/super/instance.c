/* instance.c - the begin and the end of an instance.
 *
 * The state block is one for all instances of an actor: its memory was taken with the cell, so a
 * restart can zero it and construct anew without asking for memory (D2, D10). */
#include "super/instance.h"

#include <string.h>

#include "sched/account.h"
#include "sched/answer.h"
#include "sched/hook.h"
#include "sched/io.h"
#include "sched/keyed_timer.h"
#include "super/children.h"
#include "super/fail.h"
#include "super/memory.h"

/* Freeing an owned payload runs the program's destructor, so the field is cleared first. */
void axo__instance_drop_failed(axo__worker *worker, axo__cell *cell)
{
    axo__message *failed = cell->failed;
    cell->failed = NULL;
    if (failed != NULL)
        axo__answer_free(worker, cell, failed);
}

/* No timer of the instance outlives it (TM-04), so timers stop before the region ends. The region's
 * clean-ups are the program's functions and may have forked: in the child of a fork the process
 * ends here. */
static __attribute__((noinline)) void instance_destroy_extra(axo__worker *worker, axo__cell *cell)
{
    axo__extra *extra = axo__cell_extra(cell);
    axo__keyed_timer_stop_all(worker, cell); /* TM-04 */
    axo__io_end_all(worker, cell); /* before a clean-up may close what is watched */
    axo__memory_destroy(worker, cell); /* D2 */
    if (axo__unlikely(worker->forked))
        worker->local.core->forked();
    extra->behaviours = NULL; /* RS-11 */
    if (extra->account != NULL)
        axo__account_end(worker, extra->account);
}

void axo__instance_destroy(axo__worker *worker, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, cell));
    if (axo__cell_extra(cell) != NULL)
        instance_destroy_extra(worker, cell);
    if (cell->constructed)
        axo__trace(&worker->local, cell, AXO_EV_DESTROY, 0);
    cell->constructed = 0;
    cell->receive = axo__cell_own_class(cell)->receive;
    cell->attention &= (uint8_t)~AXO__ATTENTION_SETTLE; /* what the old instance has asked for */
    cell->settled = 0;
    cell->life = AXO__INSTANCE_NONE;
}

/* The number of the instance changes before construct runs, so a message bound to the old instance
 * is void from here on; number 0 is never given. Children born so far become an earlier instance's,
 * so that a failed construct stops only the children that it has made itself (D4). */
axo_status axo__instance_construct(axo__worker *worker, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(cell->phase == AXO__PHASE_NORMAL && cell->failed == NULL);
    axo__instance_destroy(worker, cell);
    uint32_t before = axo__cell_instance(cell);
    axo__a32_store_relaxed(&cell->instance, before < UINT32_MAX ? before + 1 : 1);
    if (axo__cell_extra(cell) != NULL)
        axo__children_mark_earlier(cell);
    const axo_class *cls = axo__cell_own_class(cell);
    if (cls->state_size > 0)
        memset(cell->state_block, 0, cls->state_size);
    axo__trace(&worker->local, cell, AXO_EV_CONSTRUCT, 0);
    axo_status status = axo__hook_run(worker, cell, AXO_SITE_CONSTRUCT, cls->construct != NULL);
    cell->constructed = status == AXO_OK;
    axo__trace(&worker->local, cell, AXO_EV_CONSTRUCTED, (uint64_t)(uint32_t)status);
    return status;
}

void axo__instance_create(axo__worker *worker, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, cell));
    AXO_DEBUG_ASSERT(cell->life == AXO__INSTANCE_NONE);
    const axo_class *cls = axo__cell_own_class(cell);
    axo_status status = axo__instance_construct(worker, cell);
    if (status == AXO_OK) {
        axo__trace(&worker->local, cell, AXO_EV_PRE_START, 0);
        status = axo__hook_run(worker, cell, AXO_SITE_PRE_START, cls->pre_start != NULL);
        axo__trace(&worker->local, cell, AXO_EV_STARTED, (uint64_t)(uint32_t)status);
    }
    if (status == AXO_OK) {
        cell->life = AXO__INSTANCE_STARTED;
        axo__event_life(&worker->local, cell, AXO_KIND_STARTED);
        return;
    }
    axo__fail_wrap(worker, AXO_FAILURE_INIT, NULL); /* IN-02 */
    axo__fail(worker, cell, axo_ref_none(), false);
}
