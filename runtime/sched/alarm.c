/* alarm.c - messages that wait for their time: their records, their handles, the close. */
#include "sched/alarm.h"

#include <string.h>

#include "sched/send.h"
#include "sched/wheel.h"

#define ALARM_BATCH 64

/* ---- records; all of it under the mutex ---- */

static void alarm_link(axo__alarms *alarms, axo__alarm_chunk *chunk)
{
    chunk->before = NULL;
    chunk->next = alarms->open;
    if (chunk->next != NULL)
        chunk->next->before = chunk;
    alarms->open = chunk;
}

static void alarm_unlink(axo__alarms *alarms, axo__alarm_chunk *chunk)
{
    AXO_DEBUG_ASSERT(chunk->before != NULL || alarms->open == chunk);
    if (chunk->before != NULL)
        chunk->before->next = chunk->next;
    else
        alarms->open = chunk->next;
    if (chunk->next != NULL)
        chunk->next->before = chunk->before;
}

/* The index of an absent chunk; the table grows if need be. UINT32_MAX: no memory. */
static uint32_t alarm_room(axo__alarms *alarms, axo__heap *heap)
{
    for (uint32_t i = 0; i < alarms->room; i++) {
        if (alarms->chunks[i] == NULL)
            return i;
    }
    uint32_t room = alarms->room != 0 ? alarms->room * 2 : 16;
    axo__alarm_chunk **grown = axo__heap_alloc(heap, sizeof(void *) * room, AXO__CACHE_LINE,
                                               AXO__SITE_TIMERS);
    if (grown == NULL)
        return UINT32_MAX;
    memset(grown, 0, sizeof(void *) * room);
    if (alarms->room > 0)
        memcpy(grown, alarms->chunks, sizeof(void *) * alarms->room);
    axo__heap_free(heap, alarms->chunks, sizeof(void *) * alarms->room, AXO__CACHE_LINE);
    uint32_t index = alarms->room;
    alarms->chunks = grown;
    alarms->room = room;
    return index;
}

static const axo__timer_ops alarm_ops;

static axo__alarm_chunk *alarm_grow(axo__timers *timers)
{
    axo__alarms *alarms = &timers->alarms;
    axo__heap *heap = &timers->core->heap;
    uint32_t index = alarm_room(alarms, heap);
    if (index == UINT32_MAX)
        return NULL;
    axo__alarm_chunk *chunk =
        axo__heap_alloc(heap, sizeof *chunk, AXO__CACHE_LINE, AXO__SITE_TIMERS);
    if (chunk == NULL)
        return NULL;
    memset(chunk, 0, sizeof *chunk);
    chunk->index = index;
    for (uint32_t i = AXO__ALARM_CHUNK; i-- > 0;) {
        axo__alarm *alarm = &chunk->alarms[i];
        alarm->index = index * AXO__ALARM_CHUNK + i;
        alarm->timer.home = timers;
        alarm->timer.ops = &alarm_ops;
        alarm->timer.node.next = chunk->free;
        chunk->free = &alarm->timer.node;
    }
    AXO_DEBUG_ASSERT(alarms->chunks[index] == NULL && alarms->spare == NULL);
    alarms->chunks[index] = chunk;
    alarms->spare = chunk;
    alarm_link(alarms, chunk);
    return chunk;
}

static axo__alarm *alarm_take(axo__timers *timers)
{
    axo__alarms *alarms = &timers->alarms;
    axo__alarm_chunk *chunk = alarms->open != NULL ? alarms->open : alarm_grow(timers);
    if (chunk == NULL)
        return NULL;
    axo__alarm *alarm = (axo__alarm *)(void *)chunk->free;
    AXO_DEBUG_ASSERT(chunk->used < AXO__ALARM_CHUNK && alarm->timer.number == 0);
    chunk->free = chunk->free->next;
    if (chunk->free == NULL)
        alarm_unlink(alarms, chunk);
    if (chunk == alarms->spare)
        alarms->spare = NULL;
    chunk->used++;
    alarms->count++;
    alarm->at_close = 0;
    alarm->cancelled = 0;
    return alarm;
}

static axo__alarm_chunk *alarm_chunk_of(axo__timers *timers, const axo__alarm *alarm)
{
    AXO_DEBUG_ASSERT(alarm->index / AXO__ALARM_CHUNK < timers->alarms.room);
    return timers->alarms.chunks[alarm->index / AXO__ALARM_CHUNK];
}

static void alarm_release(axo__timers *timers, axo__alarm *alarm)
{
    axo__alarms *alarms = &timers->alarms;
    axo__alarm_chunk *chunk = alarm_chunk_of(timers, alarm);
    AXO_DEBUG_ASSERT(alarm->timer.number != 0 && chunk->used > 0);
    AXO_DEBUG_ASSERT(alarms->count > 0 && alarms->marked >= alarm->at_close);
    alarms->marked -= alarm->at_close;
    alarms->count--;
    alarm->timer.number = 0;
    alarm->message = NULL;
    alarm->timer.node.next = chunk->free;
    if (chunk->free == NULL)
        alarm_link(alarms, chunk);
    chunk->free = &alarm->timer.node;
    if (--chunk->used > 0)
        return;
    if (alarms->spare == NULL) {
        alarms->spare = chunk;
        return;
    }
    alarm_unlink(alarms, chunk);
    alarms->chunks[chunk->index] = NULL;
    axo__heap_free(&timers->core->heap, chunk, sizeof *chunk, AXO__CACHE_LINE);
}

void axo__alarms_fini(axo__timers *timers)
{
    if (timers == NULL)
        return;
    axo__alarms *alarms = &timers->alarms;
    axo__heap *heap = &timers->core->heap;
    AXO_ASSERT(alarms->count == 0);
    for (uint32_t i = 0; i < alarms->room; i++)
        axo__heap_free(heap, alarms->chunks[i], sizeof(axo__alarm_chunk), AXO__CACHE_LINE);
    axo__heap_free(heap, alarms->chunks, sizeof(void *) * alarms->room, AXO__CACHE_LINE);
    memset(alarms, 0, sizeof *alarms);
}

/* ---- set, cancel, mark ---- */

axo_status axo__alarm_set(axo__local *local, const axo__alarm_order *order, axo_timer *out)
{
    AXO_DEBUG_ASSERT(order->first >= 0 && order->message != NULL);
    AXO_DEBUG_ASSERT(order->kind == AXO_TIMER_ONCE || order->period > 0);
    axo__core *core = local->core;
    axo__timers *timers = axo__timers_here(local);
    int64_t now = axo__core_now(core);
    axo_status status = AXO_OK;
    axo__alarm *alarm = NULL;
    bool nearer = false;
    axo__os_mutex_lock(&timers->mutex);
    if (timers->closed)
        status = AXO_ESTOPPING;
    else if (timers->alarms.count >= axo__core_sched(core)->timers_max)
        status = AXO_ELIMIT;
    else if ((alarm = alarm_take(timers)) == NULL)
        status = AXO_ENOMEM;
    if (alarm != NULL) {
        alarm->to = order->to;
        alarm->message = order->message;
        alarm->due = axo__clock_add(now, order->first);
        alarm->period = order->period;
        alarm->kind = (uint8_t)order->kind;
        alarm->timer.number = ++timers->number;
        nearer =
            axo__timers_put(timers, &alarm->timer, axo__timer_due(now, order->first), now);
        if (out != NULL) {
            out->bits = alarm->timer.number;
            out->bits2 = (uint64_t)(timers->owner->local.index + 1) << 32 | alarm->index;
        }
    }
    axo__os_mutex_unlock(&timers->mutex);
    axo__timers_told(timers, axo__local_worker(local), nearer);
    return status;
}

/* The wheel of a handle; NULL: it names nothing. */
static axo__timers *alarm_home(axo__core *core, axo_timer timer)
{
    axo__sched *sched = axo__core_sched(core);
    uint64_t owner = timer.bits2 >> 32;
    if (timer.bits == 0 || owner == 0 || owner > sched->worker_count)
        return NULL;
    return sched->workers[owner - 1].timers;
}

/* Under the mutex. */
static axo__alarm *alarm_find(axo__timers *timers, axo_timer timer)
{
    uint32_t index = (uint32_t)timer.bits2;
    if (index / AXO__ALARM_CHUNK >= timers->alarms.room)
        return NULL;
    axo__alarm_chunk *chunk = timers->alarms.chunks[index / AXO__ALARM_CHUNK];
    if (chunk == NULL)
        return NULL;
    axo__alarm *alarm = &chunk->alarms[index % AXO__ALARM_CHUNK];
    return alarm->timer.number == timer.bits ? alarm : NULL;
}

static bool alarm_waits(const axo__alarm *alarm)
{
    return alarm->timer.node.place != AXO__WHEEL_NONE;
}

bool axo__alarm_cancel(axo__local *local, axo_timer timer)
{
    axo__timers *timers = alarm_home(local->core, timer);
    axo__message *message = NULL;
    bool done = false;
    if (timers == NULL)
        return false;
    axo__os_mutex_lock(&timers->mutex);
    axo__alarm *alarm = alarm_find(timers, timer);
    if (alarm != NULL && alarm_waits(alarm)) {
        done = true;
        message = alarm->message;
        axo__timers_take(timers, &alarm->timer);
        alarm_release(timers, alarm);
    } else if (alarm != NULL && alarm->kind != AXO_TIMER_ONCE && !alarm->cancelled) {
        done = true; /* it is being fired: this was its last time */
        alarm->cancelled = 1;
    }
    axo__os_mutex_unlock(&timers->mutex);
    if (message != NULL)
        axo__message_free(&local->cache, message);
    return done;
}

bool axo__alarm_mark(axo__core *core, axo_timer timer)
{
    axo__timers *timers = alarm_home(core, timer);
    bool done = false;
    if (timers == NULL)
        return false;
    axo__os_mutex_lock(&timers->mutex);
    axo__alarm *alarm = alarm_find(timers, timer);
    done = alarm != NULL && !alarm->cancelled &&
           (alarm_waits(alarm) || alarm->kind != AXO_TIMER_ONCE);
    if (done && !alarm->at_close) {
        alarm->at_close = 1;
        timers->alarms.marked++;
    }
    axo__os_mutex_unlock(&timers->mutex);
    return done;
}

/* ---- firing ---- */

static void alarm_drop(axo__local *local)
{
    axo__a64_bump_owner(&local->count.sent);
    axo__a64_bump_owner(&local->count.dropped);
}

static int64_t alarm_fire(axo__worker *worker, axo__timer *timer, uint64_t number)
{
    axo__alarm *alarm = (axo__alarm *)(void *)timer;
    axo__core *core = worker->local.core;
    (void)number;
    AXO_DEBUG_ASSERT(alarm->message != NULL);
    if (alarm->kind == AXO_TIMER_ONCE) {
        axo__send_due(worker, alarm->to, alarm->message);
        alarm->message = NULL;
        return 0;
    }
    if (axo__table_find(&core->table, alarm->to) == NULL)
        return 0;
    axo__message *copy = axo__message_copy(&worker->local.cache, alarm->message);
    if (copy != NULL)
        axo__send_due(worker, alarm->to, copy);
    else
        alarm_drop(&worker->local);
    int64_t from = alarm->kind == AXO_TIMER_FIXED_RATE ? alarm->due : axo__core_now(core);
    if (from > INT64_MAX - alarm->period)
        return 0; /* its next time has no number */
    alarm->due = from + alarm->period;
    return 1;
}

static void alarm_finish(axo__timers *timers, axo__worker *worker, axo__timer *timer,
                         int64_t again, int64_t now)
{
    axo__alarm *alarm = (axo__alarm *)(void *)timer;
    AXO_DEBUG_ASSERT(timers->firing);
    AXO_DEBUG_ASSERT(!alarm_waits(alarm));
    bool over = alarm->cancelled || timers->closed || (timers->closing && alarm->at_close);
    if (again > 0 && !over) {
        (void)axo__timers_put(timers, &alarm->timer, axo__tick_at(alarm->due), now);
        return;
    }
    if (alarm->message != NULL)
        axo__message_free(&worker->local.cache, alarm->message);
    alarm_release(timers, alarm);
}

static const axo__timer_ops alarm_ops = {.fire = alarm_fire, .finish = alarm_finish};

/* ---- the close ---- */

/* Under the mutex: up to a batch of alarms that wait (and, with `marked`, have the mark), from
 * record *at on; they are out of the wheel then. */
static uint32_t alarm_collect(axo__timers *timers, bool marked, uint32_t *at, axo__alarm **batch)
{
    axo__alarms *alarms = &timers->alarms;
    uint32_t count = 0;
    for (; *at < alarms->room * AXO__ALARM_CHUNK && count < ALARM_BATCH; (*at)++) {
        axo__alarm_chunk *chunk = alarms->chunks[*at / AXO__ALARM_CHUNK];
        if (chunk == NULL) {
            *at |= AXO__ALARM_CHUNK - 1;
            continue;
        }
        axo__alarm *alarm = &chunk->alarms[*at % AXO__ALARM_CHUNK];
        if (alarm->timer.number == 0 || !alarm_waits(alarm) || (marked && !alarm->at_close))
            continue;
        axo__timers_take(timers, &alarm->timer);
        alarm->cancelled = 1; /* who cancels it now is late */
        batch[count++] = alarm;
    }
    return count;
}

static void alarm_close(axo__worker *worker, axo__timers *timers)
{
    axo__alarm *batch[ALARM_BATCH];
    uint32_t at = 0;
    uint32_t count;
    axo__os_mutex_lock(&timers->mutex);
    AXO_DEBUG_ASSERT(!timers->closing);
    timers->closing = true;
    while (timers->alarms.marked > 0 && (count = alarm_collect(timers, true, &at, batch)) > 0) {
        axo__os_mutex_unlock(&timers->mutex);
        for (uint32_t i = 0; i < count; i++) {
            axo__send_due(worker, batch[i]->to, batch[i]->message);
            batch[i]->message = NULL;
        }
        axo__os_mutex_lock(&timers->mutex);
        for (uint32_t i = 0; i < count; i++)
            alarm_release(timers, batch[i]);
    }
    axo__os_mutex_unlock(&timers->mutex);
}

void axo__alarms_close(axo__worker *worker)
{
    axo__sched *sched = axo__core_sched(worker->local.core);
    for (uint32_t i = 0; i < sched->worker_count; i++)
        alarm_close(worker, sched->workers[i].timers);
}

static bool alarm_end(axo__worker *worker, axo__timers *timers)
{
    axo__alarm *batch[ALARM_BATCH];
    uint32_t at = 0;
    uint32_t count;
    axo__os_mutex_lock(&timers->mutex);
    bool idle = !timers->firing;
    timers->closed = timers->closed || idle;
    while (idle && (count = alarm_collect(timers, false, &at, batch)) > 0) {
        for (uint32_t i = 0; i < count; i++) {
            axo__message_free(&worker->local.cache, batch[i]->message);
            alarm_drop(&worker->local);
            alarm_release(timers, batch[i]);
        }
    }
    axo__os_mutex_unlock(&timers->mutex);
    return idle;
}

bool axo__alarms_end(axo__worker *worker)
{
    axo__sched *sched = axo__core_sched(worker->local.core);
    bool idle = true;
    for (uint32_t i = 0; i < sched->worker_count; i++)
        idle = alarm_end(worker, sched->workers[i].timers) && idle;
    return idle;
}
