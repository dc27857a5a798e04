/* expire.c - takes cells out of the lists of the homes, and finishes them. */
#include "sched/expire.h"

#include "sched/wake.h"

/* Up to `max` cells of one home of `homes`, a bit for each; NULL: they have none. */
static axo__grace_item *expire_take(axo__core *core, uint32_t homes, uint32_t max)
{
    axo__grace_item *items = NULL;
    axo__os_mutex_lock(&core->expired_mutex);
    uint32_t any = axo__a32_load_relaxed(&core->expired_any);
    if ((any & homes) != 0) {
        uint32_t home = (uint32_t)__builtin_ctz(any & homes);
        items = core->expired[home];
        axo__grace_item **last = &core->expired[home];
        for (; max > 0 && *last != NULL; max--)
            last = &(*last)->next;
        core->expired[home] = *last;
        *last = NULL;
        if (core->expired[home] == NULL)
            axo__a32_store_relaxed(&core->expired_any, any & ~(1u << home));
    }
    axo__os_mutex_unlock(&core->expired_mutex);
    return items;
}

/* Finishes them; any worker may. The relaxed look saves the mutex: a worker that misses the news
 * looks again with [W1] before it parks (axo__expire_waits). */
static bool expire_from(axo__worker *worker, uint32_t homes, uint32_t max)
{
    axo__core *core = worker->local.core;
    AXO_DEBUG_ASSERT(max > 0);
    if ((axo__a32_load_relaxed(&core->expired_any) & homes) == 0)
        return false;
    axo__grace_item *items = expire_take(core, homes, max);
    bool any = items != NULL;
    while (items != NULL) {
        axo__cell *cell = axo__cell_of_retired(items);
        items = items->next;
        if (items != NULL) {
            __builtin_prefetch(items);
            __builtin_prefetch(axo__cell_of_retired(items));
        }
        worker->sched->ops->expire(&worker->local, cell);
    }
    return any;
}

static uint32_t expire_home(const axo__worker *worker)
{
    return 1u << axo__local_home(&worker->local);
}

/* Whether worker `home` has begun no turn for a while, as far as this one has seen. */
static bool expire_hangs(const axo__worker *worker, uint32_t home)
{
    const axo__sched *sched = worker->sched;
    return worker->seen != NULL && sched == axo__core_sched(worker->local.core) &&
           worker->now - worker->seen_at >= AXO__WATCH_MIN_NS &&
           worker->seen[home].turn == axo__worker_turn(&sched->workers[home]);
}

bool axo__expire_own(axo__worker *worker, uint32_t max)
{
    return expire_from(worker, expire_home(worker), max);
}

bool axo__expire_any(axo__worker *worker, uint32_t max)
{
    return expire_from(worker, UINT32_MAX, max);
}

bool axo__expire_idle(axo__worker *worker, uint32_t max)
{
    const axo__core *core = worker->local.core;
    uint32_t homes = expire_home(worker);
    uint32_t any = axo__a32_load_relaxed(&core->expired_any);
    for (uint32_t i = 0; i < core->homes && any != 0; i++) {
        const axo__worker *other = &core->sched->workers[i];
        bool awake = axo__a32_load_relaxed(&other->state) == AXO__WORKER_AWAKE;
        if ((any & 1u << i) != 0 && (!awake || expire_hangs(worker, i)))
            homes |= 1u << i;
    }
    return expire_from(worker, homes, max);
}

bool axo__expire_waits(const axo__worker *worker)
{
    const axo__core *core = worker->local.core;
    uint32_t any = axo__a32_load_seq_cst(&core->expired_any); /* [W1] */
    if (axo__likely(any == 0))
        return false;
    if ((any & expire_home(worker)) != 0)
        return true;
    for (uint32_t i = 0; i < core->homes; i++) {
        const axo__worker *other = &core->sched->workers[i];
        if ((any & 1u << i) != 0 &&
            axo__a32_load_seq_cst(&other->state) != AXO__WORKER_AWAKE) /* [W1] */
            return true;
    }
    return false;
}
