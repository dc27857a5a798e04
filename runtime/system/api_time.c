/* api_time.c - the door of time.h: for actors, and for every other thread.
 *
 * Two kinds of timers. A scheduled message goes to any actor and outlives its maker; a keyed timer
 * belongs to one actor's instance, goes to that actor alone, and ends with the instance. */
#include <axo/axo.h>

#include <string.h>

#include "sched/scheduled.h"
#include "sched/send.h"
#include "sched/keyed_timer.h"
#include "sched/timer.h"
#include "system/system.h"

/* ---- checks ---- */

typedef struct time_what {
    axo_timer_kind kind;
    int64_t first;
    int64_t period;
    uint32_t tag;
    uint32_t flags; /* PILL or KILL, by the tag */
    const void *payload;
    size_t size;
} time_what;

/* Checks *what and completes it: the period of a single message is 0, a pill or kill gets its flag.
 * AXO_EINVAL, AXO_ETOOBIG. */
static axo_status time_check(time_what *what)
{
    bool special = what->tag == AXO_TIMER_POISON || what->tag == AXO_TIMER_KILL;
    if ((unsigned)what->kind > AXO_TIMER_FIXED_RATE || what->first < 0 ||
        what->first > AXO_DELAY_MAX || (what->payload == NULL && what->size > 0))
        return AXO_EINVAL;
    if (what->kind == AXO_TIMER_ONCE)
        what->period = 0;
    else if (what->period < 1 || what->period > AXO_DELAY_MAX)
        return AXO_EINVAL;
    if (special ? what->size > 0 : what->tag >= AXO_TAG_RESERVED)
        return AXO_EINVAL;
    if (what->size > AXO_PAYLOAD_MAX)
        return AXO_ETOOBIG;
    if (special)
        what->flags = what->tag == AXO_TIMER_POISON ? AXO__MESSAGE_PILL : AXO__MESSAGE_KILL;
    return AXO_OK;
}

/* ---- raw timers ---- */

/* The message is made now and waits as it is: its time costs no memory, so it cannot fail for want
 * of it. */
static axo_status time_set(axo__local *local, const time_what *what, axo_ref from, axo_ref to,
                           axo_timer *out)
{
    const axo_trace_context *span = what->kind == AXO_TIMER_ONCE ? axo__local_span(local) : NULL;
    axo__message *message =
        axo__message_make_traced(&local->cache, what->tag, from, what->size, span);
    if (message == NULL)
        return AXO_ENOMEM;
    message->flags |= what->flags;
    if (what->size > 0)
        memcpy(message + 1, what->payload, what->size);
    axo__scheduled_order order = {.to = to, .message = message, .first = what->first,
                                  .period = what->period, .kind = what->kind};
    /* On failure the order is not taken over: the message is freed here. */
    axo_status status = axo__scheduled_set(local, &order, out);
    if (status != AXO_OK)
        axo__message_free(&local->cache, message);
    return status;
}

static axo_status time_schedule(axo_ctx *ctx, time_what what, axo_ref to, axo_timer *out)
{
    axo__cell *cell = axo__caller(ctx);
    if (out != NULL)
        memset(out, 0, sizeof *out);
    if (cell == NULL)
        return axo__no_caller();
    if (axo_ref_is_none(to))
        return AXO_EINVAL;
    axo_status status = time_check(&what);
    if (status != AXO_OK)
        return status;
    return time_set(&axo__self->local, &what, axo__cell_ref(cell), to, out);
}

/* An outside thread is no actor: the message has no sender. */
static axo_status time_schedule_outside(axo_system *system, time_what what, axo_ref to,
                                        axo_timer *out)
{
    if (out != NULL)
        memset(out, 0, sizeof *out);
    axo_status status = axo__system_check(system);
    if (status != AXO_OK || axo_ref_is_none(to))
        return status != AXO_OK ? status : AXO_EINVAL;
    status = time_check(&what);
    if (status != AXO_OK)
        return status;
    axo__door *door = axo__door_enter(&system->sched);
    status = time_set(&door->local, &what, axo_ref_none(), to, out);
    axo__door_leave(door);
    return status;
}

/* The two constructors keep first and period, neighbours of one type, from being exchanged. */
static time_what time_once(int64_t delay, uint32_t tag, const void *payload, size_t size)
{
    return (time_what){.first = delay, .tag = tag, .payload = payload, .size = size};
}

static time_what time_periodic(axo_timer_kind kind, int64_t first, int64_t period, uint32_t tag,
                               const void *payload, size_t size)
{
    return (time_what){.kind = kind, .first = first, .period = period, .tag = tag,
                       .payload = payload, .size = size};
}

axo_status axo_schedule_once(axo_ctx *ctx, int64_t delay_ns, axo_ref to, uint32_t tag,
                             const void *payload, size_t size, axo_timer *out)
{
    return time_schedule(ctx, time_once(delay_ns, tag, payload, size), to, out);
}

axo_status axo_send_after(axo_ctx *ctx, int64_t delay_ns, axo_ref to, uint32_t tag,
                          const void *payload, size_t size)
{
    return axo_schedule_once(ctx, delay_ns, to, tag, payload, size, NULL);
}

axo_status axo_schedule_fixed_delay(axo_ctx *ctx, int64_t first_ns, int64_t delay_ns, axo_ref to,
                                    uint32_t tag, const void *payload, size_t size,
                                    axo_timer *out)
{
    return time_schedule(
        ctx, time_periodic(AXO_TIMER_FIXED_DELAY, first_ns, delay_ns, tag, payload, size), to, out);
}

axo_status axo_schedule_fixed_rate(axo_ctx *ctx, int64_t first_ns, int64_t period_ns, axo_ref to,
                                   uint32_t tag, const void *payload, size_t size, axo_timer *out)
{
    return time_schedule(
        ctx, time_periodic(AXO_TIMER_FIXED_RATE, first_ns, period_ns, tag, payload, size), to, out);
}

axo_status axo_system_schedule_once(axo_system *system, int64_t delay_ns, axo_ref to, uint32_t tag,
                                    const void *payload, size_t size, axo_timer *out)
{
    return time_schedule_outside(system, time_once(delay_ns, tag, payload, size), to, out);
}

axo_status axo_system_schedule_fixed_delay(axo_system *system, int64_t first_ns, int64_t delay_ns,
                                           axo_ref to, uint32_t tag, const void *payload,
                                           size_t size, axo_timer *out)
{
    return time_schedule_outside(
        system, time_periodic(AXO_TIMER_FIXED_DELAY, first_ns, delay_ns, tag, payload, size), to,
        out);
}

axo_status axo_system_schedule_fixed_rate(axo_system *system, int64_t first_ns, int64_t period_ns,
                                          axo_ref to, uint32_t tag, const void *payload,
                                          size_t size, axo_timer *out)
{
    return time_schedule_outside(
        system, time_periodic(AXO_TIMER_FIXED_RATE, first_ns, period_ns, tag, payload, size), to,
        out);
}

bool axo_timer_cancel(axo_ctx *ctx, axo_timer timer)
{
    return axo__caller(ctx) != NULL && axo__scheduled_cancel(&axo__self->local, timer);
}

/* Marks the message to be sent when the timers close at the end of the system, instead of being
 * dropped. */
bool axo_timer_at_close(axo_ctx *ctx, axo_timer timer)
{
    return axo__caller(ctx) != NULL && axo__scheduled_mark(axo__self->local.core, timer);
}

bool axo_system_timer_cancel(axo_system *system, axo_timer timer)
{
    if (axo__system_check(system) != AXO_OK)
        return false;
    axo__door *door = axo__door_enter(&system->sched);
    bool done = axo__scheduled_cancel(&door->local, timer);
    axo__door_leave(door);
    return done;
}

bool axo_system_timer_at_close(axo_system *system, axo_timer timer)
{
    return axo__system_check(system) == AXO_OK && axo__scheduled_mark(&system->core, timer);
}

/* ---- what is the actor's ---- */

axo_status axo_timer_start(axo_ctx *ctx, uint64_t key, axo_timer_kind kind, int64_t first_ns,
                           int64_t period_ns, uint32_t tag, const void *payload, size_t size)
{
    axo__cell *cell = axo__caller(ctx);
    if (cell == NULL)
        return axo__no_caller();
    time_what what = time_periodic(kind, first_ns, period_ns, tag, payload, size);
    axo_status status = time_check(&what);
    if (status != AXO_OK)
        return status;
    axo__keyed_timer_order start = {.key = key, .kind = what.kind, .first = what.first,
                                    .period = what.period, .tag = what.tag, .flags = what.flags,
                                    .payload = what.payload, .size = what.size};
    return axo__keyed_timer_start(axo__self, cell, &start);
}

axo_status axo_timer_stop(axo_ctx *ctx, uint64_t key)
{
    axo__cell *cell = axo__caller(ctx);
    return cell != NULL ? axo__keyed_timer_stop(axo__self, cell, key) : axo__no_caller();
}

bool axo_timer_active(axo_ctx *ctx, uint64_t key)
{
    const axo__cell *cell = axo__caller(ctx);
    return cell != NULL && axo__keyed_timer_is_there(cell, key);
}

axo_status axo_receive_timeout(axo_ctx *ctx, int64_t after_ns)
{
    axo__cell *cell = axo__caller(ctx);
    if (cell == NULL)
        return axo__no_caller();
    if (after_ns < 0 || after_ns > AXO_DELAY_MAX)
        return AXO_EINVAL;
    return axo__keyed_timer_receive_timeout(axo__self, cell, after_ns);
}

/* ---- the program's clock ---- */

axo_status axo_clock_changed(axo_system *system)
{
    axo_status status = axo__system_check(system);
    /* The program's clock may have jumped past a deadline: parked workers whose timers are due
     * by it are woken. */
    if (status == AXO_OK && system->core.clock != NULL)
        axo__timers_look(&system->sched);
    return status;
}
