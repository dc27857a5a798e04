/* api_event.c - the door to the event stream, the book of dead letters, and the end.
 *
 * The functions for actors use the worker's local; the functions for every thread enter a door of
 * their own, or take no local at all (the book and the list of the end have a mutex each). */
#include <axo/axo.h>

#include "cell/event.h"
#include "sched/send.h"
#include "system/system.h"

/* Whether `ctx` is the context of the callback that runs on this thread. */
static bool event_in_callback(axo_ctx *ctx)
{
    axo__worker *worker = axo__self;
    return worker != NULL && ctx != NULL && (void *)worker->current == (void *)ctx;
}

/* ---- for actors ---- */

axo_status axo_subscribe(axo_ctx *ctx, axo_ref who, uint32_t kind)
{
    if (!event_in_callback(ctx))
        return axo__no_caller();
    if (axo_ref_is_none(who))
        return AXO_EINVAL;
    return axo__stream_subscribe(&axo__self->local.core->system->stream, who, kind);
}

axo_status axo_unsubscribe(axo_ctx *ctx, axo_ref who, uint32_t kind)
{
    if (!event_in_callback(ctx))
        return axo__no_caller();
    if (axo_ref_is_none(who))
        return AXO_EINVAL;
    return axo__stream_unsubscribe(&axo__self->local.core->system->stream, who, kind);
}

static axo_status event_check(uint32_t kind, const void *data, size_t size)
{
    /* Kinds below AXO_KIND_SERVICES are the runtime's: a program cannot publish a false end or
     * failure. */
    if (kind < AXO_KIND_SERVICES || (data == NULL && size > 0))
        return AXO_EINVAL;
    return size > AXO_PAYLOAD_MAX - sizeof(axo_event_message) ? AXO_ETOOBIG : AXO_OK;
}

axo_status axo_publish(axo_ctx *ctx, uint32_t kind, const void *data, size_t size)
{
    if (!event_in_callback(ctx))
        return axo__no_caller();
    axo_status status = event_check(kind, data, size);
    if (status != AXO_OK)
        return status;
    axo__event event = {.kind = kind, .source = axo__cell_ref(axo__self->current),
                        .sender = axo__cell_ref(axo__self->current), .data = data,
                        .size = (uint32_t)size};
    axo__event_publish(&axo__self->local, &event);
    return AXO_OK;
}

axo_status axo_drop(axo_ctx *ctx, const axo_message *message, axo_ref recipient, const char *why)
{
    if (!event_in_callback(ctx))
        return axo__no_caller();
    axo__worker *worker = axo__self;
    /* Only the message in hand can be dropped: it counts as handled, and is told as a dead letter
     * besides. */
    if (message == NULL || worker->message == NULL || message != &worker->message->pub)
        return AXO_EINVAL;
    axo__dead_letter_tell(&worker->local, worker->message, recipient, AXO_DEAD_DROPPED, NULL, why);
    return AXO_OK;
}

/* ---- for every thread ---- */

axo_status axo_system_subscribe(axo_system *system, axo_ref who, uint32_t kind)
{
    axo_status known = axo__system_check(system);
    if (known != AXO_OK || axo_ref_is_none(who))
        return known != AXO_OK ? known : AXO_EINVAL;
    axo__door *door = axo__door_enter(&system->sched);
    axo_status status = axo__stream_subscribe(&system->stream, who, kind);
    axo__door_leave(door);
    return status;
}

axo_status axo_system_unsubscribe(axo_system *system, axo_ref who, uint32_t kind)
{
    axo_status known = axo__system_check(system);
    if (known != AXO_OK || axo_ref_is_none(who))
        return known != AXO_OK ? known : AXO_EINVAL;
    axo__door *door = axo__door_enter(&system->sched);
    axo_status status = axo__stream_unsubscribe(&system->stream, who, kind);
    axo__door_leave(door);
    return status;
}

axo_status axo_system_publish(axo_system *system, uint32_t kind, const void *data, size_t size)
{
    axo_status known = axo__system_check(system);
    if (known != AXO_OK)
        return known;
    axo_status status = event_check(kind, data, size);
    if (status != AXO_OK)
        return status;
    /* No sender and no source: the publisher is no actor. core.outside has axo__event_publish enter
     * a door. */
    axo__event event = {.kind = kind, .data = data, .size = (uint32_t)size};
    axo__event_publish(&system->core.outside, &event);
    return AXO_OK;
}

uint32_t axo_system_dead_letters(axo_system *system, axo_dead_record *out, uint32_t max,
                                 uint64_t *total)
{
    uint64_t all = 0;
    uint32_t count = 0;
    if (axo__system_check(system) == AXO_OK && (out != NULL || max == 0))
        count = axo__book_read(&system->book, out, max, &all);
    if (total != NULL)
        *total = all;
    return count;
}

axo_status axo_system_on_termination(axo_system *system, axo_termination_fn fn, void *user)
{
    axo_status known = axo__system_check(system);
    if (known != AXO_OK || fn == NULL)
        return known != AXO_OK ? known : AXO_EINVAL;
    return axo__ending_add(&system->ending, &system->core.heap, fn, user);
}

const char *axo_system_name(axo_system *system)
{
    return axo__system_check(system) == AXO_OK ? system->name : NULL;
}
