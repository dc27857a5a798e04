/* timer.c - a worker's wheel behind its mutex: arm, disarm, fire.
 *
 * The mutex is never held while a timer's `fire` runs, and for a bounded number of steps unless the
 * clock has gone back. A timer that is due is taken out of the wheel first; from then on no disarm
 * reaches it, so taking it out decides between a disarm and the firing. `next`, the wheel's
 * earliest time, is read without the mutex: by the owner at each reading of its clock and before it
 * sleeps, and by workers that look for late timers.
 */
#include "sched/timer.h"

#include <string.h>

#include "base/random.h"
#include "sched/figures.h"
#include "sched/wake.h"

#define TIMER_BATCH 64
/* Batches in a row before cells have a turn again. */
#define TIMER_ROUNDS 4
/* Nodes moved down the wheel while the mutex is held once. */
#define TIMER_BUDGET 256
/* Keeps the inputs of the hash apart from those of cell/lives.c. */
#define TIMER_KEYS (UINT64_C(1) << 33)

axo__timers *axo__timers_make(axo__worker *owner)
{
    axo__core *core = owner->local.core;
    axo__timers *timers =
        axo__heap_alloc(&core->heap, sizeof *timers, AXO__CACHE_LINE, AXO__SITE_TIMERS);
    if (timers == NULL)
        return NULL;
    memset((void *)timers, 0, sizeof *timers);
    if (!axo__os_mutex_init(&timers->mutex)) {
        axo__heap_free(&core->heap, timers, sizeof *timers, AXO__CACHE_LINE, AXO__SITE_TIMERS);
        return NULL;
    }
    uint64_t first = axo__random_hash(core->table.lives.secret, TIMER_KEYS + owner->local.index);
    timers->number = first >> 2; /* another system's handles are stale here, whatever its seed */
    timers->core = core;
    timers->owner = owner;
    axo__wheel_init(&timers->wheel);
    axo__a64_store_relaxed(&timers->next, (uint64_t)AXO__NEVER);
    return timers;
}

void axo__timers_free(axo__timers *timers)
{
    if (timers == NULL)
        return;
    AXO_DEBUG_ASSERT(!timers->firing && timers->scheduled.chunks == NULL);
    axo__os_mutex_fini(&timers->mutex);
    axo__heap_free(&timers->core->heap, timers, sizeof *timers, AXO__CACHE_LINE, AXO__SITE_TIMERS);
}

/* The wheel of the calling worker; elsewhere the wheel of the default pool's worker whose number is
 * that of the CPU: so a door or another pool's worker mostly uses memory that is near. */
axo__timers *axo__timers_here(axo__local *local)
{
    const axo__worker *worker = axo__local_worker(local);
    if (worker != NULL && worker->timers != NULL)
        return worker->timers;
    axo__sched *sched = axo__core_sched(local->core);
    return sched->workers[axo__os_cpu_index() % sched->worker_count].timers;
}

/* Under the mutex: `next` follows the wheel. It is stored only if it has changed, since other
 * workers may have its line in their caches. The store is (5) of timer.h: relaxed, as the addition
 * to `parked` in axo__sched_wake_worker comes after it and carries the order. */
static void timer_refresh(axo__timers *timers)
{
    uint64_t next = (uint64_t)axo__tick_time(axo__wheel_next(&timers->wheel));
    if (next != axo__a64_load_relaxed(&timers->next))
        axo__a64_store_relaxed(&timers->next, next); /* (5) */
}

bool axo__timers_put(axo__timers *timers, axo__timer *timer, uint64_t due, int64_t now)
{
    AXO_DEBUG_ASSERT(timer->ops != NULL && timer->home == timers);
    AXO_DEBUG_ASSERT(timer->number != 0);
    int64_t before = axo__timers_next(timers);
    axo__wheel_add(&timers->wheel, &timer->node, due, now);
    timers->armed++;
    timer_refresh(timers);
    return axo__timers_next(timers) < before;
}

void axo__timers_keep(axo__timers *timers, axo__timer *timer)
{
    axo__wheel_list *still = &timers->still;
    axo__wheel_node *node = &timer->node;
    AXO_DEBUG_ASSERT(timer->home == timers && timer->number != 0);
    node->place = AXO__WHEEL_STILL;
    node->next = NULL;
    node->before = still->last;
    *(still->last != NULL ? &still->last->next : &still->first) = node;
    still->last = node;
    timers->armed++;
}

static void timer_take_still(axo__timers *timers, axo__wheel_node *node)
{
    axo__wheel_list *still = &timers->still;
    *(node->before != NULL ? &node->before->next : &still->first) = node->next;
    *(node->next != NULL ? &node->next->before : &still->last) = node->before;
    node->place = AXO__WHEEL_NONE;
}

void axo__timers_take(axo__timers *timers, axo__timer *timer)
{
    AXO_DEBUG_ASSERT(timer->home == timers && timer->node.place != AXO__WHEEL_NONE);
    timers->armed--;
    if (axo__unlikely(timer->node.place == AXO__WHEEL_STILL)) {
        timer_take_still(timers, &timer->node);
        return;
    }
    axo__wheel_remove(&timers->wheel, &timer->node);
    timer_refresh(timers);
}

/* Without the mutex. The owner itself needs no wake-up: it reads `next` before it sleeps. */
void axo__timers_told(axo__timers *timers, const axo__worker *worker, bool nearer)
{
    if (nearer && worker != timers->owner)
        axo__sched_wake_worker(timers->owner);
}

bool axo__timer_arm(axo__worker *worker, axo__timer *timer, uint64_t due)
{
    axo__timers *timers = axo__timers_here(&worker->local);
    int64_t now = axo__core_now(timers->core);
    bool nearer = false;
    axo__os_mutex_lock(&timers->mutex);
    bool open = !timers->closed;
    AXO_DEBUG_ASSERT(timer->home != timers || timer->node.place == AXO__WHEEL_NONE);
    if (open) {
        timer->home = timers;
        timer->number = ++timers->number;
        nearer = axo__timers_put(timers, timer, due, now);
    }
    axo__os_mutex_unlock(&timers->mutex);
    axo__timers_told(timers, worker, nearer);
    return open;
}

bool axo__timer_disarm(axo__timer *timer)
{
    axo__timers *timers = timer->home;
    if (timers == NULL)
        return false;
    axo__os_mutex_lock(&timers->mutex);
    bool armed = timer->node.place != AXO__WHEEL_NONE;
    if (armed)
        axo__timers_take(timers, timer);
    axo__os_mutex_unlock(&timers->mutex);
    return armed;
}

/* ---- firing ---- */

/* A timer that has been taken out of the wheel, with what is still needed after its `fire`. */
typedef struct timer_fired {
    axo__timer *timer;
    const axo__timer_ops *ops; /* the timer's memory may be gone before its finish */
    uint64_t number;
    int64_t again;
} timer_fired;

/* Under the mutex: takes timers that are due out of the wheel, into a batch; returns how many.
 * *more: the batch or the budget was too small, so there may be more. */
static uint32_t timer_collect(axo__timers *timers, int64_t now, timer_fired *batch, bool *more)
{
    axo__figures *figures = timers->core->figures;
    uint32_t budget = TIMER_BUDGET;
    uint32_t count = 0;
    while (count < TIMER_BATCH) {
        axo__timer *timer = (axo__timer *)(void *)axo__wheel_pop(&timers->wheel, now, &budget);
        if (timer == NULL)
            break;
        if (axo__unlikely(figures != NULL))
            axo__figures_late(figures, now, axo__tick_time(timer->node.tick));
        batch[count++] = (timer_fired){.timer = timer, .ops = timer->ops, .number = timer->number};
    }
    timers->armed -= count;
    timers->fired += count;
    *more = budget == 0 || count == TIMER_BATCH;
    return count;
}

/* Under the mutex, where the program's clock may not be asked: `now` is the caller's reading. */
void axo__timer_again(axo__timers *timers, axo__worker *worker, axo__timer *timer, int64_t again,
                      int64_t now)
{
    (void)worker;
    AXO_DEBUG_ASSERT(timers->firing && again >= 0);
    if (again > 0 && !timers->closed)
        (void)axo__timers_put(timers, timer, axo__timer_due(now, again), now);
}

/* `firing` lets one worker at a time fire a wheel, so two timers of one wheel fire in their order.
 * The mutex is given up for the `fire` of each batch and taken for their `finish`; a timer that
 * asks for it is armed again there. The rounds are bounded, so timers do not keep cells from their
 * turns. */
bool axo__timers_fire(axo__worker *worker, axo__timers *timers)
{
    timer_fired batch[TIMER_BATCH];
    bool more = true;
    bool any = false;
    int64_t now = axo__worker_time(worker);
    axo__os_mutex_lock(&timers->mutex);
    if (timers->firing || timers->closed) {
        axo__os_mutex_unlock(&timers->mutex);
        return false;
    }
    timers->firing = true;
    for (uint32_t round = 0; more && round < TIMER_ROUNDS; round++) {
        uint32_t count = timer_collect(timers, now, batch, &more);
        any = any || count > 0 || more;
        axo__os_mutex_unlock(&timers->mutex);
        for (uint32_t i = 0; i < count; i++)
            batch[i].again = batch[i].ops->fire(worker, batch[i].timer, batch[i].number);
        axo__os_mutex_lock(&timers->mutex);
        for (uint32_t i = 0; i < count; i++)
            batch[i].ops->finish(timers, worker, batch[i].timer, batch[i].again, now);
    }
    AXO_DEBUG_ASSERT(timers->firing);
    timers->firing = false;
    timer_refresh(timers);
    axo__os_mutex_unlock(&timers->mutex);
    axo__timers_told(timers, worker, true);
    worker->sched->idle(worker->local.core); /* the system's end may have waited for `firing` */
    return any;
}

/* Whether the worker comes to its timers by itself: a lent one only while it is visited. */
static bool timer_owner_comes(const axo__worker *owner)
{
    return !owner->sched->kind->lent ||
           axo__a32_load_relaxed(&owner->state) == AXO__WORKER_AWAKE;
}

/* Timers of a wheel whose owner is idle or quick are left to the owner for AXO__TIMER_LATE_NS. A
 * program's own clock may stand still or leap, so with such a clock no time is granted. */
bool axo__timers_fire_late(axo__worker *worker)
{
    const axo__sched *sched = worker->sched;
    int64_t now = axo__worker_time(worker);
    int64_t grant = worker->local.core->clock == NULL ? AXO__TIMER_LATE_NS : 0;
    bool any = false;
    for (uint32_t i = 0; i < sched->worker_count; i++) {
        axo__worker *other = axo__sched_worker(sched, i);
        if (other == NULL)
            break;
        int64_t late = timer_owner_comes(other) ? now - grant : now;
        if (other != worker && other->timers != NULL && axo__timers_next(other->timers) <= late)
            any = axo__timers_fire(worker, other->timers) || any;
    }
    return any;
}

/* `next` says AXO__NEVER for an empty wheel and for a timer at the last moment of all; only at that
 * moment is the wheel itself asked, under the mutex. */
bool axo__timers_due(axo__timers *timers, int64_t time)
{
    int64_t next = axo__timers_next(timers);
    if (axo__likely(next != AXO__NEVER || next > time))
        return next <= time;
    axo__os_mutex_lock(&timers->mutex);
    bool due = axo__wheel_next(&timers->wheel) <= AXO__TICK_END;
    axo__os_mutex_unlock(&timers->mutex);
    return due;
}

bool axo__timers_wait(axo__timers *timers, int64_t time)
{
    axo__os_mutex_lock(&timers->mutex);
    bool closed = timers->closed;
    axo__os_mutex_unlock(&timers->mutex);
    return !closed && axo__timers_due(timers, time);
}

/* Steps (6) and (7) of timer.h, for a program that has moved its clock: the addition stands against
 * the sleeper's addition (2), so a sleeper either reads the new clock in park_sees_time, or is
 * found PARKED here. An owner that is not parked comes to its timers by itself, unless its handler
 * takes long; so if there is one, another worker is woken too, which fires late timers. */
void axo__timers_look(axo__sched *sched)
{
    int64_t time = axo__core_now(sched->core);
    bool busy = false;
    (void)axo__a32_add_seq_cst(&sched->parked, 0); /* [W1] (6) */
    for (uint32_t i = 0; i < sched->worker_count; i++) {
        axo__worker *owner = &sched->workers[i];
        if (axo__timers_due(owner->timers, time) && !axo__sched_wake_worker(owner)) /* (7) */
            busy = true;
    }
    if (busy)
        axo__sched_wake_one(sched);
}
