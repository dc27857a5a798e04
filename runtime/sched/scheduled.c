/* scheduled.c - messages that wait for their time: their records, their handles, the close.
 *
 * A record lies in the wheel of the worker near to its caller and never moves to another one. A
 * handle is the number of the scheduling and the place of the record; numbers are not given twice,
 * so a handle whose record has been used again finds another number and names nothing. All records
 * are guarded by the wheel's mutex; a record that is out of the wheel to be fired is the firing
 * worker's.
 */
#include "sched/scheduled.h"

#include <string.h>

#include "cell/peers.h"
#include "sched/send.h"
#include "sched/wheel.h"

#define SCHEDULED_BATCH 64

/* ---- records; each function here runs under the mutex ---- */

/* Puts a chunk that has a free record into the list of open chunks, or takes it out. */
static void scheduled_link(axo__scheduled_all *all, axo__scheduled_chunk *chunk)
{
    chunk->before = NULL;
    chunk->next = all->open;
    if (chunk->next != NULL)
        chunk->next->before = chunk;
    all->open = chunk;
}

static void scheduled_unlink(axo__scheduled_all *all, axo__scheduled_chunk *chunk)
{
    AXO_DEBUG_ASSERT(chunk->before != NULL || all->open == chunk);
    if (chunk->before != NULL)
        chunk->before->next = chunk->next;
    else
        all->open = chunk->next;
    if (chunk->next != NULL)
        chunk->next->before = chunk->before;
}

/* The index of an absent chunk; the table grows if need be. UINT32_MAX: no memory. */
static uint32_t scheduled_room(axo__scheduled_all *all, axo__heap *heap)
{
    for (uint32_t i = 0; i < all->room; i++) {
        if (all->chunks[i] == NULL)
            return i;
    }
    uint32_t room = all->room != 0 ? all->room * 2 : 16;
    axo__scheduled_chunk **grown =
        axo__heap_alloc(heap, sizeof(void *) * room, AXO__CACHE_LINE, AXO__SITE_TIMERS);
    if (grown == NULL)
        return UINT32_MAX;
    memset(grown, 0, sizeof(void *) * room);
    if (all->room > 0)
        memcpy(grown, all->chunks, sizeof(void *) * all->room);
    axo__heap_free(heap, all->chunks, sizeof(void *) * all->room, AXO__CACHE_LINE,
                   AXO__SITE_TIMERS);
    uint32_t index = all->room;
    all->chunks = grown;
    all->room = room;
    return index;
}

static const axo__timer_ops scheduled_ops;

/* A new chunk, all of whose records are free, linked in the order of their indices; NULL: no
 * memory. */
static axo__scheduled_chunk *scheduled_grow(axo__timers *timers)
{
    axo__scheduled_all *all = &timers->scheduled;
    axo__heap *heap = &timers->core->heap;
    uint32_t index = scheduled_room(all, heap);
    if (index == UINT32_MAX)
        return NULL;
    axo__scheduled_chunk *chunk =
        axo__heap_alloc(heap, sizeof *chunk, AXO__CACHE_LINE, AXO__SITE_TIMERS);
    if (chunk == NULL)
        return NULL;
    memset(chunk, 0, sizeof *chunk);
    chunk->index = index;
    for (uint32_t i = AXO__SCHEDULED_CHUNK; i-- > 0;) {
        axo__scheduled *scheduled = &chunk->all[i];
        scheduled->index = index * AXO__SCHEDULED_CHUNK + i;
        scheduled->timer.home = timers;
        scheduled->timer.ops = &scheduled_ops;
        scheduled->timer.node.next = chunk->free;
        chunk->free = &scheduled->timer.node;
    }
    AXO_DEBUG_ASSERT(all->chunks[index] == NULL && all->spare == NULL);
    all->chunks[index] = chunk;
    all->spare = chunk;
    scheduled_link(all, chunk);
    return chunk;
}

/* A free record; NULL: no memory. A chunk without free records leaves the list of open ones. */
static axo__scheduled *scheduled_take(axo__timers *timers)
{
    axo__scheduled_all *all = &timers->scheduled;
    axo__scheduled_chunk *chunk = all->open != NULL ? all->open : scheduled_grow(timers);
    if (chunk == NULL)
        return NULL;
    axo__scheduled *scheduled = (axo__scheduled *)(void *)chunk->free;
    AXO_DEBUG_ASSERT(chunk->used < AXO__SCHEDULED_CHUNK && scheduled->timer.number == 0);
    chunk->free = chunk->free->next;
    if (chunk->free == NULL)
        scheduled_unlink(all, chunk);
    if (chunk == all->spare)
        all->spare = NULL;
    chunk->used++;
    all->count++;
    scheduled->at_close = 0;
    scheduled->cancelled = 0;
    return scheduled;
}

static axo__scheduled_chunk *scheduled_chunk_of(axo__timers *timers,
                                                const axo__scheduled *scheduled)
{
    AXO_DEBUG_ASSERT(scheduled->index / AXO__SCHEDULED_CHUNK < timers->scheduled.room);
    return timers->scheduled.chunks[scheduled->index / AXO__SCHEDULED_CHUNK];
}

/* The record is free again: number 0 makes its handles stale. One empty chunk is kept as `spare`,
 * so a single timer that is set and cancelled again and again does not cost an allocation each
 * time. */
static void scheduled_release(axo__timers *timers, axo__scheduled *scheduled)
{
    axo__scheduled_all *all = &timers->scheduled;
    axo__scheduled_chunk *chunk = scheduled_chunk_of(timers, scheduled);
    AXO_DEBUG_ASSERT(scheduled->timer.number != 0 && chunk->used > 0);
    AXO_DEBUG_ASSERT(all->count > 0 && all->marked >= scheduled->at_close);
    all->marked -= scheduled->at_close;
    all->count--;
    scheduled->timer.number = 0;
    scheduled->message = NULL;
    scheduled->timer.node.next = chunk->free;
    if (chunk->free == NULL)
        scheduled_link(all, chunk);
    chunk->free = &scheduled->timer.node;
    if (--chunk->used > 0)
        return;
    if (all->spare == NULL) {
        all->spare = chunk;
        return;
    }
    scheduled_unlink(all, chunk);
    all->chunks[chunk->index] = NULL;
    axo__heap_free(&timers->core->heap, chunk, sizeof *chunk, AXO__CACHE_LINE, AXO__SITE_TIMERS);
}

void axo__scheduled_fini(axo__timers *timers)
{
    if (timers == NULL)
        return;
    axo__scheduled_all *all = &timers->scheduled;
    axo__heap *heap = &timers->core->heap;
    AXO_ASSERT(all->count == 0);
    for (uint32_t i = 0; i < all->room; i++)
        axo__heap_free(heap, all->chunks[i], sizeof(axo__scheduled_chunk), AXO__CACHE_LINE,
                       AXO__SITE_TIMERS);
    axo__heap_free(heap, all->chunks, sizeof(void *) * all->room, AXO__CACHE_LINE,
                   AXO__SITE_TIMERS);
    memset(all, 0, sizeof *all);
}

/* ---- set, cancel, mark ---- */

/* Under the mutex: a record that is in no wheel stands still, with the time that is left. */
static void scheduled_keep(axo__timers *timers, axo__scheduled *scheduled, int64_t now)
{
    int64_t left = axo__clock_since(scheduled->due, now);
    scheduled->due = left > 0 ? left : 0;
    axo__timers_keep(timers, &scheduled->timer);
}

/* Under the mutex: puts a record into the wheel, or it stands still; returns whether the wheel's
 * next time has come nearer. */
static bool scheduled_put(axo__timers *timers, axo__scheduled *scheduled, uint64_t tick,
                          int64_t now)
{
    if (axo__likely(!axo__core_stands(timers->core, scheduled->to)))
        return axo__timers_put(timers, &scheduled->timer, tick, now);
    scheduled_keep(timers, scheduled, now);
    return false;
}

/* The clock is read before the mutex is taken, since it may be a function of the program. The owner
 * of the wheel is woken after the mutex is given up, if `next` has come nearer (sched/timer.h). */
axo_status axo__scheduled_set(axo__local *local, const axo__scheduled_order *order, axo_timer *out)
{
    AXO_DEBUG_ASSERT(order->first >= 0 && order->message != NULL);
    AXO_DEBUG_ASSERT(order->kind == AXO_TIMER_ONCE || order->period > 0);
    axo__core *core = local->core;
    axo__timers *timers = axo__timers_here(local);
    int64_t now = axo__core_now(core);
    axo_status status = AXO_OK;
    axo__scheduled *scheduled = NULL;
    bool nearer = false;
    axo__os_mutex_lock(&timers->mutex);
    if (timers->closed)
        status = AXO_ESTOPPING;
    else if (timers->scheduled.count >= axo__core_sched(core)->timers_max)
        status = AXO_ELIMIT;
    else if ((scheduled = scheduled_take(timers)) == NULL)
        status = AXO_ENOMEM;
    if (scheduled != NULL) {
        scheduled->to = order->to;
        scheduled->message = order->message;
        scheduled->due = axo__clock_add(now, order->first);
        scheduled->period = order->period;
        scheduled->kind = (uint8_t)order->kind;
        scheduled->timer.number = ++timers->number;
        nearer = scheduled_put(timers, scheduled, axo__timer_due(now, order->first), now);
        if (out != NULL) {
            out->bits = scheduled->timer.number;
            out->bits2 = (uint64_t)(timers->owner->local.index + 1) << 32 | scheduled->index;
        }
    }
    axo__os_mutex_unlock(&timers->mutex);
    axo__timers_told(timers, axo__local_worker(local), nearer);
    return status;
}

/* The wheel that a handle names; NULL: the handle names none. */
static axo__timers *scheduled_home(axo__core *core, axo_timer timer)
{
    axo__sched *sched = axo__core_sched(core);
    uint64_t owner = timer.bits2 >> 32;
    if (timer.bits == 0 || owner == 0 || owner > sched->worker_count)
        return NULL;
    return sched->workers[owner - 1].timers;
}

/* Under the mutex: the record that a handle names; NULL: the handle is stale. */
static axo__scheduled *scheduled_find(axo__timers *timers, axo_timer timer)
{
    uint32_t index = (uint32_t)timer.bits2;
    if (index / AXO__SCHEDULED_CHUNK >= timers->scheduled.room)
        return NULL;
    axo__scheduled_chunk *chunk = timers->scheduled.chunks[index / AXO__SCHEDULED_CHUNK];
    if (chunk == NULL)
        return NULL;
    axo__scheduled *scheduled = &chunk->all[index % AXO__SCHEDULED_CHUNK];
    return scheduled->timer.number == timer.bits ? scheduled : NULL;
}

/* Whether the record is in the wheel, or stands still; otherwise it is free, being fired or being
 * closed. */
static bool scheduled_waits(const axo__scheduled *scheduled)
{
    return scheduled->timer.node.place != AXO__WHEEL_NONE;
}

/* The mutex decides between a cancel and the firing: a record that is still in the wheel will not
 * fire. A periodic message that is being fired is marked instead, and scheduled_finish frees it
 * (TM-08). The message is freed after the mutex, which keeps the section short. */
bool axo__scheduled_cancel(axo__local *local, axo_timer timer)
{
    axo__timers *timers = scheduled_home(local->core, timer);
    axo__message *message = NULL;
    bool done = false;
    if (timers == NULL)
        return false;
    axo__os_mutex_lock(&timers->mutex);
    axo__scheduled *scheduled = scheduled_find(timers, timer);
    if (scheduled != NULL && scheduled_waits(scheduled)) {
        done = true;
        message = scheduled->message;
        axo__timers_take(timers, &scheduled->timer);
        scheduled_release(timers, scheduled);
    } else if (scheduled != NULL && scheduled->kind != AXO_TIMER_ONCE && !scheduled->cancelled) {
        done = true; /* the message is being fired for the last time */
        scheduled->cancelled = 1;
    }
    axo__os_mutex_unlock(&timers->mutex);
    if (message != NULL)
        axo__message_free(&local->cache, message);
    return done;
}

/* Under the mutex: the next record with a message that waits, from *at on, which moves behind it;
 * NULL: there is none. */
static axo__scheduled *scheduled_step(const axo__scheduled_all *all, uint32_t *at)
{
    while (*at < all->room * AXO__SCHEDULED_CHUNK) {
        axo__scheduled_chunk *chunk = all->chunks[*at / AXO__SCHEDULED_CHUNK];
        if (chunk == NULL) {
            *at = (*at / AXO__SCHEDULED_CHUNK + 1) * AXO__SCHEDULED_CHUNK;
            continue;
        }
        axo__scheduled *scheduled = &chunk->all[(*at)++ % AXO__SCHEDULED_CHUNK];
        if (scheduled->timer.number != 0 && scheduled_waits(scheduled))
            return scheduled;
    }
    return NULL;
}

/* false: there is none, or its message is on its way. */
static bool scheduled_show(const axo__scheduled *scheduled, axo__scheduled_info *out)
{
    if (scheduled == NULL || !scheduled_waits(scheduled))
        return false;
    *out = (axo__scheduled_info){.to = scheduled->to,
                                 .message = scheduled->message,
                                 .due = scheduled->due,
                                 .period = scheduled->period,
                                 .kind = scheduled->kind,
                                 .still = scheduled->timer.node.place == AXO__WHEEL_STILL};
    return true;
}

bool axo__scheduled_look(axo__core *core, axo_timer timer, axo__scheduled_info *out)
{
    axo__timers *timers = scheduled_home(core, timer);
    if (timers == NULL)
        return false;
    axo__os_mutex_lock(&timers->mutex);
    bool there = scheduled_show(scheduled_find(timers, timer), out);
    axo__os_mutex_unlock(&timers->mutex);
    return there;
}

bool axo__scheduled_next(axo__timers *timers, uint32_t *at, axo__scheduled_info *out)
{
    if (timers == NULL)
        return false;
    axo__os_mutex_lock(&timers->mutex);
    bool there = scheduled_show(scheduled_step(&timers->scheduled, at), out);
    axo__os_mutex_unlock(&timers->mutex);
    return there;
}

bool axo__scheduled_mark(axo__core *core, axo_timer timer)
{
    axo__timers *timers = scheduled_home(core, timer);
    bool done = false;
    if (timers == NULL)
        return false;
    axo__os_mutex_lock(&timers->mutex);
    axo__scheduled *scheduled = scheduled_find(timers, timer);
    done = scheduled != NULL && !scheduled->cancelled &&
           (scheduled_waits(scheduled) || scheduled->kind != AXO_TIMER_ONCE);
    if (done && !scheduled->at_close) {
        scheduled->at_close = 1;
        timers->scheduled.marked++;
    }
    axo__os_mutex_unlock(&timers->mutex);
    return done;
}

/* ---- firing ---- */

/* A message that was never delivered counts as sent and dropped, so that D7's sum stays exact. */
static void scheduled_drop(axo__local *local)
{
    axo__a64_bump_owner(&local->count.sent);
    axo__a64_bump_owner(&local->count.dropped);
}

/* Without the mutex: the record is out of the wheel, so `message` and `due` are this worker's. A
 * message that is sent once is handed on as it is; a periodic one is a template, of which a copy is
 * sent. 0 tells scheduled_finish that the record is done: it was sent once, its receiver is gone,
 * or its next time is beyond the last number. */
static int64_t scheduled_fire(axo__worker *worker, axo__timer *timer, uint64_t number)
{
    axo__scheduled *scheduled = (axo__scheduled *)(void *)timer;
    axo__core *core = worker->local.core;
    (void)number;
    AXO_DEBUG_ASSERT(scheduled->message != NULL);
    if (scheduled->kind == AXO_TIMER_ONCE) {
        axo__send_due(worker, scheduled->to, scheduled->message);
        scheduled->message = NULL;
        return 0;
    }
    if (axo__table_find(&core->table, scheduled->to) == NULL &&
        !axo__peer_is_up(core, scheduled->to))
        return 0;
    axo__message *copy = axo__message_copy(&worker->local.cache, scheduled->message);
    if (copy != NULL)
        axo__send_due(worker, scheduled->to, copy);
    else
        scheduled_drop(&worker->local);
    int64_t from = scheduled->kind == AXO_TIMER_FIXED_RATE ? scheduled->due : axo__core_now(core);
    if (from > INT64_MAX - scheduled->period)
        return 0; /* the next time is beyond the last number */
    scheduled->due = from + scheduled->period;
    return 1;
}

/* Under the mutex, after scheduled_fire: what happened to the record meanwhile (a cancel, the
 * close, the end) is looked at here, before it goes into the wheel again. */
static void scheduled_finish(axo__timers *timers, axo__worker *worker, axo__timer *timer,
                             int64_t again, int64_t now)
{
    axo__scheduled *scheduled = (axo__scheduled *)(void *)timer;
    AXO_DEBUG_ASSERT(timers->firing);
    AXO_DEBUG_ASSERT(!scheduled_waits(scheduled));
    bool over = scheduled->cancelled || timers->closed || (timers->closing && scheduled->at_close);
    if (again > 0 && !over) {
        (void)scheduled_put(timers, scheduled, axo__tick_at(scheduled->due), now);
        return;
    }
    if (scheduled->message != NULL)
        axo__message_free(&worker->local.cache, scheduled->message);
    scheduled_release(timers, scheduled);
}

static const axo__timer_ops scheduled_ops = {.fire = scheduled_fire, .finish = scheduled_finish};

/* ---- paused actors ---- */

typedef struct scheduled_pause {
    axo__timers *timers;
    int64_t now;
} scheduled_pause;

/* An axo__wheel_each. Of all timers only these have a message for whomever; an actor's receive
 * timeout is stood still by its runner. */
static void scheduled_still(void *arg, axo__wheel_node *node)
{
    const scheduled_pause *pause = arg;
    axo__scheduled *scheduled = (axo__scheduled *)(void *)node;
    if (scheduled->timer.ops != &scheduled_ops ||
        !axo__core_stands(pause->timers->core, scheduled->to))
        return;
    axo__timers_take(pause->timers, &scheduled->timer);
    scheduled_keep(pause->timers, scheduled, pause->now);
}

/* In one go, in the order in which they would fire: so those of one tick keep theirs. */
void axo__scheduled_still(axo__local *local, int64_t now)
{
    const axo__sched *sched = axo__core_sched(local->core);
    for (uint32_t i = 0; i < sched->worker_count; i++) {
        scheduled_pause pause = {.timers = sched->workers[i].timers, .now = now};
        axo__os_mutex_lock(&pause.timers->mutex);
        axo__wheel_each(&pause.timers->wheel, scheduled_still, &pause);
        axo__os_mutex_unlock(&pause.timers->mutex);
    }
}

/* Under the mutex; returns whether the wheel's next time has come nearer. */
static bool scheduled_go_on(axo__timers *timers, int64_t now)
{
    axo__wheel_node *next = timers->still.first;
    bool nearer = false;
    while (next != NULL) {
        axo__scheduled *scheduled = (axo__scheduled *)(void *)next;
        const int64_t left = scheduled->due;
        next = next->next;
        if (axo__core_stands(timers->core, scheduled->to))
            continue;
        axo__timers_take(timers, &scheduled->timer);
        scheduled->due = axo__clock_add(now, left);
        nearer = axo__timers_put(timers, &scheduled->timer, axo__timer_due(now, left), now) ||
                 nearer;
    }
    return nearer;
}

void axo__scheduled_go_on(axo__local *local, int64_t now)
{
    const axo__sched *sched = axo__core_sched(local->core);
    for (uint32_t i = 0; i < sched->worker_count; i++) {
        axo__timers *timers = sched->workers[i].timers;
        axo__os_mutex_lock(&timers->mutex);
        bool nearer = scheduled_go_on(timers, now);
        axo__os_mutex_unlock(&timers->mutex);
        axo__timers_told(timers, axo__local_worker(local), nearer);
    }
}

/* ---- the close ---- */

/* Under the mutex: takes up to a batch of waiting messages out of the wheel, from record *at on;
 * with `marked` only those that are marked for the close. */
static uint32_t scheduled_collect(axo__timers *timers, bool marked, uint32_t *at,
                                  axo__scheduled **batch)
{
    axo__scheduled *scheduled;
    uint32_t count = 0;
    while (count < SCHEDULED_BATCH &&
           (scheduled = scheduled_step(&timers->scheduled, at)) != NULL) {
        if (marked && !scheduled->at_close)
            continue;
        axo__timers_take(timers, &scheduled->timer);
        scheduled->cancelled = 1; /* a cancel from now on is late */
        batch[count++] = scheduled;
    }
    return count;
}

/* Sends the marked messages of one wheel, a batch at a time with the mutex given up: a send may
 * call an observer of the program. `closing` is set first, so a marked periodic message that is
 * being fired now is not armed again (scheduled_finish). */
static void scheduled_close(axo__worker *worker, axo__timers *timers)
{
    axo__scheduled *batch[SCHEDULED_BATCH];
    uint32_t at = 0;
    uint32_t count;
    axo__os_mutex_lock(&timers->mutex);
    AXO_DEBUG_ASSERT(!timers->closing);
    timers->closing = true;
    while (timers->scheduled.marked > 0 &&
           (count = scheduled_collect(timers, true, &at, batch)) > 0) {
        axo__os_mutex_unlock(&timers->mutex);
        for (uint32_t i = 0; i < count; i++) {
            axo__send_due(worker, batch[i]->to, batch[i]->message);
            batch[i]->message = NULL;
        }
        axo__os_mutex_lock(&timers->mutex);
        for (uint32_t i = 0; i < count; i++)
            scheduled_release(timers, batch[i]);
    }
    axo__os_mutex_unlock(&timers->mutex);
}

void axo__scheduled_close(axo__worker *worker)
{
    axo__sched *sched = axo__core_sched(worker->local.core);
    for (uint32_t i = 0; i < sched->worker_count; i++)
        scheduled_close(worker, sched->workers[i].timers);
}

/* Closes one wheel and drops its waiting messages; false: a worker is firing the wheel. That worker
 * holds records outside of the wheel, so the end waits for it; it calls `idle` when it is done. */
static bool scheduled_end(axo__worker *worker, axo__timers *timers)
{
    axo__scheduled *batch[SCHEDULED_BATCH];
    uint32_t at = 0;
    uint32_t count;
    axo__os_mutex_lock(&timers->mutex);
    bool idle = !timers->firing;
    timers->closed = timers->closed || idle;
    while (idle && (count = scheduled_collect(timers, false, &at, batch)) > 0) {
        for (uint32_t i = 0; i < count; i++) {
            axo__message_free(&worker->local.cache, batch[i]->message);
            scheduled_drop(&worker->local);
            scheduled_release(timers, batch[i]);
        }
    }
    axo__os_mutex_unlock(&timers->mutex);
    return idle;
}

bool axo__scheduled_end(axo__worker *worker)
{
    axo__sched *sched = axo__core_sched(worker->local.core);
    bool idle = true;
    for (uint32_t i = 0; i < sched->worker_count; i++)
        idle = scheduled_end(worker, sched->workers[i].timers) && idle;
    return idle;
}
