/* rcu_sim.c - a worker's side of grace periods, and their wait: the simulator's, a record for each
 * fiber.
 *
 * A grace period is over as early as it may be: when each reader has been quiescent once, or
 * offline, since it began. So the simulator frees memory at the first moment that the contract
 * allows, and a reader that held on too long is caught. At level 1 no thread reads between steps.
 */
#include <string.h>

#include "base/assert.h"
#include "mem/grace.h"
#include "os/sim.h"

typedef struct rcu_reader {
    uint32_t depth;
    bool offline;
    uint64_t seen; /* the grace period in which this reader was last quiescent */
} rcu_reader;

static rcu_reader rcu_readers[AXO__SIM_FIBERS_MAX];
static uint64_t rcu_period;

static rcu_reader *rcu_me(void)
{
    return &rcu_readers[axo__sim_me()];
}

/* A reader has moved: the waiter of axo__grace_wait looks again, and any fiber may go on here. */
static void rcu_tell(void)
{
    axo__sim_tell(&rcu_period);
    AXO__YIELD_POINT();
}

bool axo__grace_enter(void)
{
    rcu_reader *me = rcu_me();
    if (me->depth++ == 0)
        *me = (rcu_reader){.depth = 1, .seen = rcu_period};
    bool offline = me->offline;
    if (offline)
        axo__grace_online();
    return offline;
}

void axo__grace_leave(bool offline)
{
    rcu_reader *me = rcu_me();
    AXO_ASSERT(me->depth > 0);
    me->offline = offline;
    me->depth--;
    rcu_tell();
}

void axo__grace_quiet(void)
{
    rcu_reader *me = rcu_me();
    AXO_ASSERT(!me->offline || !axo__sim_is_fiber());
    if (me->seen == rcu_period)
        return;
    me->seen = rcu_period;
    rcu_tell();
}

void axo__grace_offline(void)
{
    rcu_me()->offline = true;
    rcu_tell();
}

void axo__grace_online(void)
{
    rcu_reader *me = rcu_me();
    me->offline = false;
    me->seen = rcu_period;
}

/* Whether no registered, online reader has still to be quiescent in `period`. */
static bool rcu_is_over(uint64_t period)
{
    for (uint32_t i = 0; i < AXO__SIM_FIBERS_MAX; i++) {
        const rcu_reader *it = &rcu_readers[i];
        if (it->depth > 0 && !it->offline && it->seen < period)
            return false;
    }
    return true;
}

void axo__grace_wait(void)
{
    /* Readers that enter from now on are born quiescent in this period, so the wait is for older
     * readers only. */
    uint64_t period = ++rcu_period;
    AXO__YIELD_POINT();
    while (axo__sim_is_fiber() && !rcu_is_over(period))
        (void)axo__sim_wait("grace period", &rcu_period, AXO__NEVER, false);
}
