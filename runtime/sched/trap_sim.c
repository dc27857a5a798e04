/* trap_sim.c - crashes in the simulator: where the program says so, at any place of its callbacks.
 *
 * All but the handler and its walk is the library's own: the tests that need no look at the stack,
 * the budget, the landing.
 */
#include "sched/trap.h"

#include <string.h>

#include "sched/contain.h"

bool axo__trap_enter(void)
{
    return true;
}

void axo__trap_leave(void)
{
}

/* There is no signal, so nobody is told of one before. */
bool axo__trap_is_first(void)
{
    return true;
}

void axo__trap_rest(void)
{
}

/* As stacks are, the record is none of the allocator's blocks. */
bool axo__trap_make(axo__worker *worker)
{
    if (worker->local.core->contain == NULL)
        return true;
    worker->trap = axo__os_alloc(NULL, sizeof(axo__trap), AXO__CACHE_LINE);
    if (worker->trap == NULL)
        return false;
    memset(worker->trap, 0, sizeof(axo__trap));
    return true;
}

void axo__trap_free(axo__worker *worker)
{
    axo__trap *trap = worker->trap;
    worker->trap = NULL;
    if (trap != NULL)
        axo__os_free(NULL, trap, sizeof(axo__trap), AXO__CACHE_LINE);
}

void axo__trap_begin(axo__worker *worker)
{
    (void)worker;
}

void axo__trap_end(axo__worker *worker)
{
    (void)worker;
}

static axo__verdict trap_judge(const axo__worker *worker)
{
    if (!axo__trap_is_worker(worker))
        return AXO__VERDICT_NOT_WORKER;
    if (!axo__trap_is_user(worker))
        return AXO__VERDICT_NOT_USER;
    if (axo__cell_class(worker->current)->on_crash != AXO_CRASH_FAILS)
        return AXO__VERDICT_CLASS;
    if (axo__trap_is_guarded(worker))
        return AXO__VERDICT_GUARDED;
    return axo__contain_spend(worker->local.core->contain, axo__os_now()) ? AXO__VERDICT_CONTAINED
                                                                         : AXO__VERDICT_LIMIT;
}

axo__verdict axo__trap_raise(int number)
{
    axo__worker *worker = axo__self;
    axo__verdict verdict = trap_judge(worker);
    if (verdict != AXO__VERDICT_CONTAINED)
        return verdict;
    axo__trap *trap = worker->trap;
    AXO_DEBUG_ASSERT(trap->back == NULL && !trap->busy && !trap->fresh);
    axo__trap_busy(trap, true);
    memset(&trap->crash, 0, sizeof trap->crash);
    trap->crash.signal = number;
    trap->fresh = true;
    AXO__UNWIND_JUMP(worker->unwind);
}
