/* pools.c - the pools of a system: the default one from the start, those of the other dispatchers
 * when they are first used, a pinned one for each pinned actor.
 *
 * Pools other than the default one are in a list, with the counters of pools that have ended. Both
 * are guarded by `pools_mutex`; a thread takes it after a door's gate and before a pool's own.
 */
#include "system/pools.h"

#include <string.h>

#include "cell/event.h"
#include "cell/log.h"
#include "sched/figures.h"
#include "sched/io.h"
#include "sched/kinds.h"
#include "sched/quiesce.h"
#include "sched/rest.h"
#include "sched/sched.h"
#include "sched/timer.h"
#include "super/lane.h"
#include "system/system.h"

/* ---- making ---- */

/* The first pool of a kind; the caller holds pools_mutex. Only pinned kinds have several. */
static axo__sched *pools_find(const axo_system *system, const axo__sched_kind *kind)
{
    axo__sched *pool = system->pools;
    while (pool != NULL && pool->kind != kind)
        pool = pool->next;
    return pool;
}

void axo__pools_settings(axo_system *system, axo__sched *pool,
                         const axo__sched_kind *kind)
{
    const axo_options *options = &system->options;
    pool->core = &system->core;
    pool->ops = &axo__lane_ops;
    pool->idle = system->sched.idle;
    pool->kind = kind;
    pool->quantum = options->quantum != 0 ? options->quantum : AXO__QUANTUM;
    /* A quantum that the program has chosen is never stretched for a backlog. */
    pool->backlog_turns_max = options->quantum != 0 ? 0 : AXO__BACKLOG_TURNS_MAX;
    pool->quantum_ns =
        options->no_quantum_us ? AXO__QUANTUM_NEVER : (int64_t)options->quantum_us * 1000;
    pool->timers_max = options->timers_max;
    pool->idle_ns = (int64_t)options->blocking_idle_ms * 1000000;
    pool->stuck_ns = options->stuck_ns > 0 ? options->stuck_ns : 0;
}

/* Makes a pool and starts its threads, under pools_mutex: a second actor of the dispatcher waits
 * for it instead of making another. The pool enters the list last, so a failed start leaves nothing
 * to find. */
static axo_status pools_make(axo_system *system, const axo__sched_kind *kind, axo__sched **out)
{
    uint32_t workers = kind->shared ? system->options.blocking_max : 1;
    axo__heap *heap = &system->core.heap;
    axo__sched *pool = axo__heap_alloc(heap, sizeof *pool, AXO__CACHE_LINE, AXO__SITE_WORKERS);
    if (pool == NULL)
        return AXO_ENOMEM;
    memset((void *)pool, 0, sizeof *pool);
    axo__pools_settings(system, pool, kind);
    system->pools_made = system->pools_made % AXO__POOLS_NUMBERED + 1;
    pool->number = system->pools_made;
    /* number and worker share axo__local.index, 16 bits each */
    AXO_DEBUG_ASSERT(pool->number != 0 && workers < 1 << 16);
    axo_status status = axo__sched_init(pool, workers);
    if (status != AXO_OK)
        goto fail_memory;
    status = axo__sched_start(pool);
    if (status != AXO_OK)
        goto fail_pool;
    pool->next = system->pools;
    system->pools = pool;
    *out = pool;
    return AXO_OK;
fail_pool:
    axo__sched_fini(pool);
fail_memory:
    axo__heap_free(heap, pool, sizeof *pool, AXO__CACHE_LINE, AXO__SITE_WORKERS);
    return status;
}

/* The pool of a kind, made if need be: a new pool for each actor if the kind is single (pinned). */
static axo_status pools_take(axo_system *system, const axo__sched_kind *kind, axo__sched **out)
{
    axo_status status = AXO_OK;
    axo__os_mutex_lock(&system->pools_mutex);
    *out = kind->single ? NULL : pools_find(system, kind);
    if (*out == NULL)
        status = pools_make(system, kind, out);
    axo__os_mutex_unlock(&system->pools_mutex);
    return status;
}

axo_status axo__pools_host(axo_system *system, axo__sched **out)
{
    *out = &system->sched;
    /* In a manual system the default pool is the host's. */
    return system->options.manual ? AXO_OK : pools_take(system, &axo__host_kind, out);
}

axo__sched *axo__pools_host_if_any(axo_system *system)
{
    if (system->options.manual)
        return &system->sched;
    axo__os_mutex_lock(&system->pools_mutex);
    axo__sched *pool = pools_find(system, &axo__host_kind);
    axo__os_mutex_unlock(&system->pools_mutex);
    return pool;
}

axo_status axo__pools_dispatch(axo__core *core, const axo_props *props, axo__sched **out)
{
#define POOLS_KIND(dispatcher, name) [dispatcher] = &axo__##name##_kind,
    static const axo__sched_kind *const kinds[] = {AXO__DISPATCHER_LIST(POOLS_KIND)};
#undef POOLS_KIND
    axo_system *system = core->system;
    AXO_DEBUG_ASSERT(props->dispatcher < AXO__DISPATCHERS);
    const axo__sched_kind *kind = kinds[props->dispatcher];
    *out = &system->sched;
    bool host = props->dispatcher == AXO_DISPATCH_HOST && system->options.manual != 0;
    bool slots = core->lent && props->dispatcher != AXO_DISPATCH_HOST;
    if (core->manual || slots || host || props->dispatcher == AXO_DISPATCH_DEFAULT)
        return AXO_OK; /* the default pool is there from the start; a manual system has no other,
                          lent threads run all but the host's */
    axo_status status = pools_take(system, kind, out);
    return status == AXO_OK ? kind->enter(*out) : status;
}

/* ---- ending ---- */

void axo__pools_undispatch(axo__core *core, axo__sched *pool)
{
    if (!pool->kind->single) {
        pool->kind->leave(pool);
        return;
    }
    /* a reaper must not free the pool while this thread is still in leave() */
    axo__os_mutex_lock(&core->system->pools_mutex);
    pool->kind->leave(pool);
    axo__os_mutex_unlock(&core->system->pools_mutex);
    axo__grace_wake(&core->grace); /* the reclaimer joins the pinned actor's thread */
}

/* Adds a pool's counters to pools_gone: axo_system_stats never goes back when a pinned actor ends.
 * axo__counters has members of type axo__a64 only, so it is read as an array. */
static void pools_fold(axo_system *system, axo__sched *pool)
{
    for (uint32_t i = 0; i < pool->worker_count; i++) {
        axo__worker *worker = axo__sched_worker(pool, i);
        if (worker == NULL)
            break;
        const axo__a64 *from = (const axo__a64 *)(const void *)&worker->local.count;
        axo__a64 *to = (axo__a64 *)(void *)&system->pools_gone;
        for (size_t k = 0; k < sizeof(axo__counters) / sizeof(axo__a64); k++)
            axo__a64_store_relaxed(&to[k], axo__a64_load_relaxed(&to[k]) +
                                               axo__a64_load_relaxed(&from[k]));
        axo__board_worker_gone(worker);
        axo__figures_worker_gone(&system->core, worker);
        axo__local_fini(&worker->local);
    }
}

static void pools_free(axo_system *system, axo__sched **link)
{
    axo__sched *pool = *link;
    AXO_DEBUG_ASSERT(pool != &system->sched && axo__a32_peek_owner(&pool->quit) != 0);
    *link = pool->next;
    pools_fold(system, pool);
    axo__sched_fini(pool);
    axo__heap_free(&system->core.heap, pool, sizeof *pool, AXO__CACHE_LINE, AXO__SITE_WORKERS);
}

bool axo__pools_reap(void *user)
{
    axo_system *system = user;
    bool more = false;
    axo__os_mutex_lock(&system->pools_mutex);
    for (axo__sched **link = &system->pools; *link != NULL;) {
        axo__sched *pool = *link;
        /* Pairs with the release of `quit` in sched.c: a pool seen to quit has been left by
         * its actor, and its thread is about to end. */
        bool ending = pool->kind->single &&
                      axo__a32_load_acquire(&pool->quit) != 0; /* [W5] */
        /* Never waits: a thread that still runs its last step is joined at the next look. */
        if (ending && axo__sched_try_join(pool)) {
            pools_free(system, link);
            continue;
        }
        more = more || ending;
        link = &pool->next;
    }
    axo__os_mutex_unlock(&system->pools_mutex);
    return more;
}

void axo__pools_end(axo_system *system)
{
    for (axo__sched *pool = system->pools; pool != NULL; pool = pool->next) {
        axo__sched_quit(pool);
        axo__sched_join(pool);
    }
}

void axo__pools_fini(axo_system *system)
{
    while (system->pools != NULL)
        pools_free(system, &system->pools);
}

/* ---- looking ---- */

/* Relaxed loads of counters that have one writer each: the sum is of no single moment, unless the
 * caller orders it ([Y3] in shutdown.c). */
static uint64_t pools_sum_one(const axo__sched *pool, size_t offset)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < axo__sched_all(pool); i++) {
        const axo__worker *worker = axo__sched_worker(pool, i);
        if (worker == NULL)
            break;
        const char *count = (const char *)&worker->local.count;
        sum += axo__a64_load_relaxed((const axo__a64 *)(const void *)(count + offset));
    }
    for (uint32_t i = 0; i < pool->door_count; i++) {
        const char *count = (const char *)&pool->doors[i].local.count;
        sum += axo__a64_load_relaxed((const axo__a64 *)(const void *)(count + offset));
    }
    return sum;
}

uint64_t axo__pools_sum(axo_system *system, size_t offset)
{
    uint64_t sum = pools_sum_one(&system->sched, offset);
    const char *gone = (const char *)&system->pools_gone;
    axo__os_mutex_lock(&system->pools_mutex);
    sum += axo__a64_load_relaxed((const axo__a64 *)(const void *)(gone + offset));
    for (axo__sched *pool = system->pools; pool != NULL; pool = pool->next)
        sum += pools_sum_one(pool, offset);
    axo__os_mutex_unlock(&system->pools_mutex);
    return sum;
}

/* What was told last is the least: the clock that is read here may be behind the worker's, or ahead
 * of what the worker is about to say. */
void axo__pools_rest(axo_system *system, uint32_t worker, uint64_t *awake, uint64_t *slept)
{
    axo__worker *its = axo__sched_worker(&system->sched, worker);
    int64_t now = axo__os_now();
    int64_t awake_ns;
    int64_t slept_ns;
    axo__os_mutex_lock(&system->pools_mutex);
    axo__rest_read(its, now, &slept_ns, &awake_ns);
    if (awake_ns > its->told_awake)
        its->told_awake = awake_ns;
    if (slept_ns > its->told_slept)
        its->told_slept = slept_ns;
    *awake = (uint64_t)its->told_awake;
    *slept = (uint64_t)its->told_slept;
    axo__os_mutex_unlock(&system->pools_mutex);
}

/* Only the default pool has wheels, and watches. */
static void pools_waits(const axo__sched *pool, axo_stats *stats)
{
    stats->timers = stats->timers_fired = 0;
    for (uint32_t i = 0; i < pool->worker_count; i++) {
        axo__timers *timers = pool->workers[i].timers;
        axo__os_mutex_lock(&timers->mutex);
        stats->timers += timers->armed;
        stats->timers_fired += timers->fired;
        axo__os_mutex_unlock(&timers->mutex);
    }
    const axo__io *io = axo__io_of(pool);
    stats->polls = io != NULL ? axo__a64_load_relaxed(&io->polls) : 0;
    stats->poll_events = io != NULL ? axo__a64_load_relaxed(&io->events) : 0;
}

bool axo__pools_look(axo_system *system)
{
    int64_t now = axo__core_now(&system->core); /* not under the mutex: the program's clock */
    axo__os_mutex_lock(&system->pools_mutex);
    bool quiet = axo__quiesce_look(&system->sched, system->pools, now);
    axo__os_mutex_unlock(&system->pools_mutex);
    return quiet;
}

uint32_t axo__pools_live(axo_system *system)
{
    axo__os_mutex_lock(&system->pools_mutex);
    const axo__sched *pool = pools_find(system, &axo__elastic_kind);
    uint32_t live = pool != NULL ? axo__a32_load_relaxed(&pool->live) : 0;
    axo__os_mutex_unlock(&system->pools_mutex);
    return live;
}

void axo__pools_stuck(axo__local *local, axo__cell *cell, uint64_t tag, int64_t for_ns,
                      const char *why)
{
    axo_event_stuck data;
    axo__log_line line;
    memset(&data, 0, sizeof data);
    data.actor = axo__cell_ref(cell);
    data.for_ns = for_ns;
    data.has_tag = axo__running_tag(tag, &data.tag);
    (void)axo__core_path(local->core, cell, data.path, sizeof data.path);
    if (axo__log_is_read(local->core, AXO_LOG_WARNING)) {
        axo__log_begin(&line, local->core, AXO_LOG_WARNING, AXO_LOG_STUCK, cell);
        if (data.has_tag)
            axo__log_message(&line.record, local->core, axo__cell_class(cell), data.tag);
        line.record.for_ns = for_ns;
        line.record.text = why;
        axo__log(local, &line.record);
    }
    axo__event event = {.kind = AXO_KIND_STUCK, .source = data.actor, .data = &data,
                        .size = sizeof data};
    axo__event_publish(local, &event);
}

void axo__pools_stats(axo_system *system, axo_stats *stats)
{
#define POOLS_SUM(name) stats->name = axo__pools_sum(system, offsetof(axo__counters, name));
    AXO__COUNTER_LIST(POOLS_SUM)
#undef POOLS_SUM
    stats->texts_lost = axo__a64_load_relaxed(&system->core.texts.lost);
    /* The counters are read one after the other, so `actors` is a figure of about now. */
    stats->actors = stats->spawned - stats->terminated;
    pools_waits(&system->sched, stats);
    stats->memory_bytes = axo__a64_load_relaxed(&system->core.heap.bytes);
    stats->memory_blocks = axo__a64_load_relaxed(&system->core.heap.blocks);
}
