/* leaf.c - the begin and the end of a plain leaf, each in one straight path.
 *
 * What others may see of an end keeps the order of stop.c: the reference ends before the
 * lane is looked at (D7), the end is counted before anybody can learn of it, the parent learns
 * last. One compare-and-swap closes the cell and releases it, if the word has nothing but RUNNING:
 * no worker enters a closed cell, and no grace period of it ends before this turn does, so what the
 * runner still reads of it stays. Then nothing of the system lane has been announced, and who
 * announces later finds CLOSED and answers its node itself (axo__watch_add). A word that has
 * anything else is closed by stop.c. */
#include "super/leaf.h"

#include <string.h>

#include "base/probe.h"
#include "sched/hook.h"
#include "super/fail.h"
#include "super/spawn.h"
#include "super/stop.h"

/* What an observer may want to hear of the steps of these paths. */
#define LEAF_KINDS                                                                                 \
    (AXO_EVENT_BIT(AXO_EV_CONSTRUCT) | AXO_EVENT_BIT(AXO_EV_CONSTRUCTED) |                         \
     AXO_EVENT_BIT(AXO_EV_PRE_START) | AXO_EVENT_BIT(AXO_EV_STARTED) |                             \
     AXO_EVENT_BIT(AXO_EV_DIRECTIVE) | AXO_EVENT_BIT(AXO_EV_STOPPING) |                            \
     AXO_EVENT_BIT(AXO_EV_SUSPEND) | AXO_EVENT_BIT(AXO_EV_POST_STOP) |                             \
     AXO_EVENT_BIT(AXO_EV_POST_STOPPED) | AXO_EVENT_BIT(AXO_EV_DESTROY) |                          \
     AXO_EVENT_BIT(AXO_EV_TERMINATED))

/* Whether these paths are open to a cell whose word, but for its messages, is this one. */
static inline bool leaf_is_plain(const axo__worker *worker, const axo__cell *cell, uint64_t word)
{
    return axo__cell_extra(cell) == NULL && word == AXO__RUNNING &&
           axo__directives_look(&cell->directives) == 0 &&
           !axo__local_traces(&worker->local, LEAF_KINDS);
}

/* ---- the begin ---- */

static __attribute__((noinline, cold)) void leaf_unborn(axo__worker *worker, axo__cell *cell)
{
    axo__fail_wrap(worker, AXO_FAILURE_INIT, NULL); /* IN-02 */
    axo__fail(worker, cell, axo_ref_none(), false);
}

/* false: the cell has failed. */
static inline bool leaf_constructed(axo__worker *worker, axo__cell *cell, axo_status status)
{
    if (axo__likely(status == AXO_OK))
        cell->constructed = 1;
    AXO__PLAIN_TRACE(&worker->local, cell, AXO_EV_CONSTRUCTED, (uint64_t)(uint32_t)status);
    if (axo__likely(status == AXO_OK))
        return true;
    leaf_unborn(worker, cell);
    return false;
}

static inline bool leaf_started(axo__worker *worker, axo__cell *cell, axo_status status)
{
    AXO__PLAIN_TRACE(&worker->local, cell, AXO_EV_STARTED, (uint64_t)(uint32_t)status);
    if (axo__unlikely(status != AXO_OK)) {
        leaf_unborn(worker, cell);
        return false;
    }
    cell->life = AXO__INSTANCE_STARTED;
    axo__event_life(&worker->local, cell, AXO_KIND_STARTED);
    return true;
}

/* false: the cell has failed. */
static inline bool leaf_made(axo__worker *worker, axo__cell *cell)
{
    const axo_class *cls = axo__cell_own_class(cell);
    axo_status status = AXO_OK;
    axo__a32_store_relaxed(&cell->instance, 1);
    if (cls->state_size > 0)
        memset(cell->state_block, 0, cls->state_size);
    AXO__PLAIN_TRACE(&worker->local, cell, AXO_EV_CONSTRUCT, 0);
    if (cls->construct != NULL)
        status = axo__hook_construct(worker, cell);
    if (axo__unlikely(!leaf_constructed(worker, cell, status)))
        return false;
    AXO__PLAIN_TRACE(&worker->local, cell, AXO_EV_PRE_START, 0);
    if (cls->pre_start != NULL)
        status = axo__hook_pre_start(worker, cell);
    return leaf_started(worker, cell, status);
}

/* What has come meanwhile, a directive for instance, has set URGENT in the word, where the turn
 * finds it. */
void axo__leaf_begin(axo__worker *worker, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, cell) && cell->phase == AXO__PHASE_NEW);
    AXO_DEBUG_ASSERT(cell->attention == AXO__ATTENTION_SYSTEM && cell->failed == NULL);
    AXO_DEBUG_ASSERT(axo__cell_instance(cell) == 0 && !cell->constructed);
    uint64_t word = axo__state_look(&cell->state) & ~AXO__LANE;
    if (axo__unlikely(!leaf_is_plain(worker, cell, word)))
        return;
    cell->attention = 0;
    cell->phase = AXO__PHASE_NORMAL; /* OR-09 */
    if (axo__unlikely(!leaf_made(worker, cell)))
        cell->attention |= AXO__ATTENTION_SYSTEM;
    else if ((cell->attention & AXO__ATTENTION_STOP) != 0)
        axo__leaf_end(worker, cell);
}

/* ---- the end ---- */

/* Whether the actor has nothing left to do but to end, as far as the runner's own fields say. */
static inline bool leaf_may_end(const axo__cell *cell)
{
    bool whole = cell->phase == AXO__PHASE_NORMAL && cell->life == AXO__INSTANCE_STARTED &&
                 !cell->reported && cell->constructed;
    uintptr_t messages = (uintptr_t)cell->failed | (uintptr_t)cell->inbox.first |
                         (uintptr_t)cell->inbox.rest;
    return whole && cell->lifetime != AXO_PERMANENT && messages == 0;
}

static inline void leaf_post_stopped(axo__worker *worker, axo__cell *cell, axo_status status)
{
    AXO__PLAIN_TRACE(&worker->local, cell, AXO_EV_POST_STOPPED, (uint64_t)(uint32_t)status);
    if (axo__unlikely(status != AXO_OK))
        axo__stop_failed(worker, cell); /* HF-12 */
    cell->life = AXO__INSTANCE_STOPPED;
}

/* Messages that have come until here are buried, and watchers told, by stop.c: it does the rest
 * where the cell cannot be closed in one step. */
static inline void leaf_close(axo__worker *worker, axo__cell *cell)
{
    axo__local *local = &worker->local;
    AXO__PLAIN_TRACE(local, cell, AXO_EV_DESTROY, 0);
    axo__spawn_free_blocks(local, cell);
    axo_ref ref = axo__cell_own_ref(cell);
    axo__table_end(cell);
    if (axo__unlikely(axo__state_look(&cell->state) != AXO__RUNNING)) {
        cell->phase = AXO__PHASE_BURYING;
        axo__stop_go_on(worker, cell);
        return;
    }
    cell->phase = AXO__PHASE_GONE;
    axo__a64_bump_owner(&local->count.terminated);
    AXO__PLAIN_TRACE(local, cell, AXO_EV_TERMINATED, 0);
    AXO__PROBE2(stop, cell, ref.bits);
    axo__event_life(local, cell, AXO_KIND_TERMINATED);
    axo__cell *parent = axo__table_in(&local->core->table, cell->parent - 1);
    if (axo__unlikely(!axo__state_close_plain(&cell->state))) {
        axo__stop_go_on(worker, cell);
        return;
    }
    axo__stop_tell_parent(worker, parent, cell);
    worker->current = NULL;
}

void axo__leaf_end(axo__worker *worker, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, cell));
    const uint32_t stops = AXO__ATTENTION_SYSTEM | AXO__ATTENTION_STOP;
    if (axo__unlikely(cell->attention != stops || !leaf_may_end(cell) ||
                      !leaf_is_plain(worker, cell, axo__state_look(&cell->state))))
        return;
    AXO_DEBUG_ASSERT(cell->parent != 0 && axo__cell_failure_kind(cell) == AXO_FAILURE_NONE);
    AXO_DEBUG_ASSERT(cell->backlog_turns == 0 && axo__state_suspends(&cell->state) == 0);
    cell->attention = 0;
    AXO__PLAIN_TRACE(&worker->local, cell, AXO_EV_DIRECTIVE, AXO_STOP);
    cell->phase = AXO__PHASE_TERMINATING;
    AXO__PLAIN_TRACE(&worker->local, cell, AXO_EV_STOPPING, 0);
    axo__state_suspend(&cell->state); /* ST-04 */
    AXO__PLAIN_TRACE(&worker->local, cell, AXO_EV_SUSPEND, 2);
    AXO__PLAIN_TRACE(&worker->local, cell, AXO_EV_POST_STOP, 0);
    axo_status status = AXO_OK;
    if (axo__cell_own_class(cell)->post_stop != NULL)
        status = axo__hook_post_stop(worker, cell);
    leaf_post_stopped(worker, cell, status);
    if (axo__likely(axo__cell_extra(cell) == NULL && cell->attention == 0))
        leaf_close(worker, cell);
    else
        axo__stop_finish(worker, cell); /* post_stop has made it more than a leaf */
}

/* ---- throws ---- */

/* The rest of what the turn would have done behind the callback: of a birth, the general way with
 * an urgent look, since the failure may have been answered already; of an end, the rest of
 * stop.c's. */
void axo__leaf_thrown(axo__worker *worker, axo__cell *cell)
{
    uint32_t site = worker->site;
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, cell) && worker->message == NULL);
    axo_status status = axo__hook_thrown(worker, cell);
    if (site == AXO__SITE_POST_STOP) {
        leaf_post_stopped(worker, cell, status);
        axo__stop_finish(worker, cell);
        return;
    }
    AXO_DEBUG_ASSERT(site == AXO_SITE_CONSTRUCT || site == AXO_SITE_PRE_START);
    if (site == AXO_SITE_CONSTRUCT)
        (void)leaf_constructed(worker, cell, status);
    else
        (void)leaf_started(worker, cell, status);
    cell->attention |= AXO__ATTENTION_SYSTEM;
}
