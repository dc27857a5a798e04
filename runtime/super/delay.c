/* delay.c - restarts that wait: for a strategy's back-off, or for their turn in a storm.
 *
 *   parent decides Restart          wheel of a worker              parent
 *     counts, arms the timer  --->    due: the child's report
 *     (child stays suspended)         node, now DUE, is pushed --->  taken, or held (SC-09):
 *                                                                    the restart, as if decided now
 *
 * The report node belongs to the parent until the parent answers (super.h's I2), and a delayed
 * parent has not answered yet: so the timer may push that very node, and a delay takes no memory
 * (D10). The parent's runner alone reads and writes the fields, but the timer's, which the mutex of
 * its wheel guards.
 *
 * Invariants
 *   I1  `waits`: the timer is armed, or has fired and its DUE is on the way to the parent's lane.
 *   I2  A child whose DUE is on the way is not forgotten: the parent keeps the child's end back
 *       (`gone`) until the DUE arrives, within one step of the worker that fires the timer. So no
 *       worker pushes the node of a cell that has been given back, and no parent ends before the
 *       push.
 */
#include "super/delay.h"

#include "cell/event.h"
#include "sched/ready.h"
#include "sched/timer.h"

/* Runs on whichever worker fires the timer; the parent's runner may be at work meanwhile. I2 keeps
 * the cells of child and parent in place until this push is done. */
static int64_t delay_fire(axo__worker *worker, axo__timer *timer, uint64_t number)
{
    axo__cell *child = ((axo__delay *)(void *)timer)->child;
    axo__cell *parent = axo__cell_parent(child);
    (void)number;
    axo__stack_push_any(&parent->system, &child->report, AXO__SYS_DUE);
    axo__sched_announce_system(worker, parent);
    return 0; /* the child and its record may be gone by now */
}

static const axo__timer_ops delay_ops = {.fire = delay_fire, .finish = axo__timer_again};

/* The length depends on how many failures came without a quiet span between them. EXPONENTIAL
 * counts the quiet span from the last restart, LINEAR from the last failure, so the two kinds reset
 * differently. */
int64_t axo__delay_next(const axo_backoff *backoff, axo__delay *delay, int64_t now, double chance)
{
    bool linear = backoff->kind == AXO_BACKOFF_LINEAR;
    int64_t quiet = linear ? backoff->window_ns : backoff->reset_after_ns;
    if (!linear && quiet == 0)
        quiet = backoff->min_ns; /* BO-14 */
    if (quiet >= 0 && axo__clock_since(now, delay->since) >= quiet)
        delay->count = 0; /* PH-10, PH-12 */
    AXO_DEBUG_ASSERT(!delay->waits);
    uint32_t n = delay->count;
    if (delay->count < UINT32_MAX)
        delay->count++;
    delay->since = now;
    return axo_backoff_delay(backoff, n, chance);
}

void axo__delay_over(const axo_backoff *backoff, axo__delay *delay, int64_t now)
{
    AXO_DEBUG_ASSERT(!delay->waits && !delay->gone);
    if (backoff->kind == AXO_BACKOFF_EXPONENTIAL)
        delay->since = now; /* the child did not run while it waited */
}

/* From the worker's own stream, so that a seed repeats the jitter. */
static double delay_chance(axo__worker *worker)
{
    return (double)(axo__random_next(&worker->random) >> 11) * 0x1p-53;
}

/* `waits` is set before the timer is armed, so that I1 holds from the arming on. */
static bool delay_arm(axo__worker *worker, axo__cell *cell, axo__cell *child, int64_t now,
                      int64_t wait)
{
    axo__delay *delay = axo__cell_own_child_record(child)->delay;
    AXO_DEBUG_ASSERT(wait >= 0 && !delay->waits && !delay->gone);
    axo__trace(&worker->local, cell, AXO_EV_DELAY, (uint64_t)wait);
    delay->child = child;
    delay->waits = true;
    delay->timer.ops = &delay_ops;
    if (axo__timer_arm(worker, &delay->timer, axo__timer_due(now, wait)))
        return true;
    delay->waits = false; /* the wheels are closed: the system ends */
    return false;
}

bool axo__delay_begin(axo__worker *worker, axo__cell *cell, axo__cell *child)
{
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, cell) && child->parent == axo__cell_link(cell));
    const axo_strategy *strategy = axo__cell_strategy(cell);
    if (strategy == NULL || strategy->backoff == NULL)
        return axo__delay_turn(worker, cell, child);
    axo__delay *delay = axo__cell_own_child_record(child)->delay;
    int64_t now = axo__core_now(worker->local.core);
    delay->turn = false;
    return delay_arm(worker, cell, child, now,
                     axo__delay_next(strategy->backoff, delay, now, delay_chance(worker)));
}

/* ---- turns ---- */

static void delay_leave(axo__worker *worker, const axo__cell *child)
{
    uint32_t over = axo__storm_leave(&worker->local.core->storm);
    if (over != 0)
        axo__event_storm(&worker->local, child, over, 0);
}

/* The jitter is of less than one interval, so it changes no order. A storm's begin is told before
 * the timer is armed, hence before its end can be. */
bool axo__delay_turn(axo__worker *worker, axo__cell *cell, axo__cell *child)
{
    axo__core *core = worker->local.core;
    axo__delay *delay = axo__cell_own_child_record(child)->delay;
    if (core->storm.interval_ns == 0)
        return false;
    int64_t now = axo__core_now(core);
    int64_t wait = axo__storm_ask(&core->storm, now);
    if (wait == 0) {
        axo__trace(&worker->local, cell, AXO_EV_DELAY, 0);
        return false;
    }
    wait += (int64_t)(delay_chance(worker) * (double)core->storm.interval_ns);
    delay->turn = true;
    axo__a64_bump_owner(&worker->local.count.restarts_governed);
    uint32_t begun = axo__storm_enter(&core->storm);
    if (begun != 0)
        axo__event_storm(&worker->local, child, begun, wait);
    if (delay_arm(worker, cell, child, now, wait))
        return true;
    delay_leave(worker, child);
    return false;
}

void axo__delay_due(axo__worker *worker, axo__cell *child)
{
    axo__delay *delay = axo__cell_own_child_record(child)->delay;
    AXO_DEBUG_ASSERT(delay->waits);
    delay->waits = false;
    if (delay->turn)
        delay_leave(worker, child);
}

/* axo__timer_disarm decides the race between the child's end and the firing worker, under the
 * wheel's mutex. A timer still in its wheel is taken out and nothing follows; a timer that has left
 * the wheel will push the DUE, so the end is kept back until the parent's runner takes that DUE. */
bool axo__delay_end(axo__worker *worker, axo__cell *child)
{
    const axo__child_record *record = axo__cell_child_record(child);
    axo__delay *delay = record != NULL ? record->delay : NULL;
    if (delay == NULL || !delay->waits)
        return true;
    AXO_DEBUG_ASSERT(!delay->gone && delay->child == child);
    delay->gone = !axo__timer_disarm(&delay->timer);
    if (!delay->gone)
        axo__delay_due(worker, child);
    return !delay->gone;
}
