/* api_system.c - the door for every other thread: what any thread may call with the system.
 *
 * A call enters one of the doors (axo__door_enter), works there with the door's local, and leaves.
 * User code never runs inside: observers of dead letters, destructors and allocators of payloads
 * are called after the door has been left, or they could wait for a thread that waits for the door.
 */
#include <axo/axo.h>

#include <string.h>

#include "base/aside.h"
#include "base/traceparent.h"
#include "cell/peers.h"
#include "sched/host.h"
#include "sched/lent.h"
#include "sched/ready.h"
#include "sched/send.h"
#include "system/boot.h"
#include "system/guardian.h"
#include "system/options.h"
#include "system/outside.h"
#include "system/pools.h"
#include "system/shutdown.h"
#include "system/filled.h"
#include "system/system.h"
#include "system/trim.h"

/* While axo_system_stop waits for the end, it looks this often whether the host has actors to
 * run. */
#define API_HOST_NS INT64_C(1000000)
/* And whether there is a host by now, if there was none. */
#define API_NO_HOST_NS INT64_C(50000000)

/* Whether this thread is in a turn of any system: a wait here would hold up that system's grace
 * periods, and of its own system it would wait for its own turn. */
static bool api_on_worker(void)
{
    return axo__self != NULL && (axo__self->current != NULL || axo__self->ending);
}

axo_status axo_system_start(const axo_options *options, axo_system **out)
{
    axo_options complete;
    if (out == NULL)
        return AXO_EINVAL;
    *out = NULL;
    axo_status status = axo__options_read(options, &complete);
    if (status != AXO_OK)
        return status;
    /* this thread plays a worker's part meanwhile, and must not end in it */
    int before = axo__os_cancel_hold();
    status = axo__boot_start(&complete, out);
    axo__os_cancel_let(before);
    return status;
}

axo_status axo_system_shutdown(axo_system *system)
{
    axo_status known = axo__system_check(system);
    if (known != AXO_OK)
        return known;
    axo__shutdown_begin(system);
    return AXO_OK;
}

/* A negative timeout is none; a sum that would overflow is none, too. */
static int64_t api_deadline(int64_t timeout_ns)
{
    int64_t now = axo__os_now();
    return timeout_ns < 0 || timeout_ns >= AXO__NEVER - now ? AXO__NEVER : now + timeout_ns;
}

/* Runs the host's actors, which end on the host's thread: this one if no other thread runs the
 * host. The host's pool may appear during the wait, because a first host actor may be spawned while
 * the system is being stopped. Lent threads may have stopped coming: this one visits a slot.
 * Returns for how long there is nothing to do here. */
static int64_t api_help_to_end(axo_system *system)
{
    int64_t wait = API_NO_HOST_NS;
    axo__sched *host = axo__pools_host_if_any(system);
    if (host != NULL) {
        (void)axo__host_run(host, -1, UINT64_MAX, NULL);
        wait = API_HOST_NS;
    }
    if (!system->core.lent)
        return wait;
    (void)axo__lent_help(&system->sched, API_HOST_NS);
    return axo__a32_load_acquire(&system->ended) != 0 ? wait : API_HOST_NS; /* [Y2] */
}

/* Waits for the end. */
static bool api_wait_for_end(axo_system *system, int64_t deadline)
{
    for (;;) {
        int64_t wait = api_help_to_end(system);
        int64_t now = axo__os_now();
        int64_t next = now + wait;
        if (axo__os_latch_wait(&system->terminated, next < deadline ? next : deadline))
            return true;
        if (now >= deadline)
            return false;
    }
}

axo_status axo_system_stop(axo_system *system, int64_t timeout_ns, axo_late *late,
                           uint32_t late_max, uint32_t *late_count)
{
    if (late_count != NULL)
        *late_count = 0;
    axo_status known = axo__system_check(system);
    if (known != AXO_OK || (late == NULL && late_max > 0))
        return known != AXO_OK ? known : AXO_EINVAL;
    if (api_on_worker())
        return AXO_ECONTEXT;
    axo__shutdown_begin(system);
    if (api_wait_for_end(system, api_deadline(timeout_ns)))
        return AXO_OK;
    /* D16: a wait that fails names the actors that were late. */
    uint32_t count = axo__shutdown_late(system, late, late_max);
    if (late_count != NULL)
        *late_count = count;
    return AXO_ETIMEDOUT;
}

axo_status axo_system_wait(axo_system *system, int64_t timeout_ns, axo_outcome *outcome)
{
    axo_status known = axo__system_check(system);
    if (known != AXO_OK)
        return known;
    if (api_on_worker())
        return AXO_ECONTEXT;
    if (!axo__os_latch_wait(&system->terminated, api_deadline(timeout_ns)))
        return AXO_ETIMEDOUT;
    if (outcome != NULL) {
        /* guardian.c writes the outcome under the same mutex. */
        axo__os_mutex_lock(&system->outcome_mutex);
        *outcome = system->outcome;
        axo__os_mutex_unlock(&system->outcome_mutex);
    }
    return AXO_OK;
}

axo_status axo_system_destroy(axo_system *system)
{
    axo_status known = axo__system_check(system);
    if (known != AXO_OK)
        return known;
    if (api_on_worker())
        return AXO_ECONTEXT;
    /* Only a terminated system can go: an actor that lives would run in freed memory. */
    if (!axo__os_latch_wait(&system->terminated, 0))
        return AXO_ESTOPPING;
    int before = axo__os_cancel_hold(); /* as in axo_system_start */
    axo__boot_destroy(system);
    axo__os_cancel_let(before);
    return AXO_OK;
}

axo_status axo_system_trim(axo_system *system, int64_t timeout_ns, uint64_t *bytes)
{
    uint64_t given = 0;
    if (bytes != NULL)
        *bytes = 0;
    axo_status status = axo__system_check(system);
    if (status != AXO_OK || timeout_ns < 0)
        return status != AXO_OK ? status : AXO_EINVAL;
    /* an observer, or the allocator, may be called by a thread in a door */
    if (api_on_worker() || axo__aside != 0)
        return AXO_ECONTEXT;
    int before = axo__os_cancel_hold();
    status = axo__trim(system, timeout_ns, &given);
    axo__os_cancel_let(before);
    if (bytes != NULL)
        *bytes = given;
    return status;
}

axo_status axo_system_spawn(axo_system *system, const axo_props *props, axo_ref *out)
{
    axo_props copy;
    if (out == NULL)
        return AXO_EINVAL;
    *out = axo_ref_none();
    axo_status known = axo__system_check(system);
    if (known != AXO_OK)
        return known;
    axo_status status = axo__props_read(props, &copy);
    return status == AXO_OK ? axo__guardian_spawn(system, &copy, out) : status;
}

static __attribute__((noinline)) axo_status api_outside_any(axo_system *system, axo_ref from,
                                                            axo_ref to, uint32_t tag,
                                                            const void *payload, size_t size)
{
    if (system == NULL || axo_ref_is_none(to) || tag >= AXO_TAG_RESERVED ||
        (payload == NULL && size > 0))
        return AXO_EINVAL;
    if (size > AXO_PAYLOAD_MAX)
        return AXO_ETOOBIG;
    axo__outside what = {.from = from, .to = to, .tag = tag, .payload = payload, .size = size};
    return axo__outside_send(system, &what);
}

/* The receiver was idle: its entry is pushed while the door keeps it, and the pool that is its own,
 * from being reclaimed. */
static __attribute__((noinline)) axo_status api_outside_push(axo__door *door, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(axo__a32_peek_owner(&door->gate.word) == AXO__GATE_TAKEN);
    axo__sched_push_ready(NULL, cell);
    axo__door_leave(door);
    return AXO_OK;
}

/* The common case of api_outside_any: a message of 0, 8 or 16 bytes, a constant for the compiler,
 * to a cell that has a lane. Anything else is left to api_outside_any before something has changed.
 * No cell has the reference of none. Every call is the last thing done, so no register is saved. */
static inline __attribute__((always_inline)) axo_status
api_outside_plain(axo_system *system, axo_ref from, axo_ref to, uint32_t tag, const void *payload,
                  size_t size)
{
    if (axo__unlikely(system == NULL || !axo__os_at_home(&system->home)))
        return api_outside_any(system, from, to, tag, payload, size);
    if (axo__unlikely(tag >= system->plain_tags || (size > 0 && payload == NULL)))
        return api_outside_any(system, from, to, tag, payload, size);
    axo__door *door = axo__door_try(&system->sched);
    if (axo__unlikely(door == NULL))
        return api_outside_any(system, from, to, tag, payload, size);
    axo__local *local = &door->local;
    axo__cell *cell = axo__table_find(&system->core.table, to);
    axo__message *message = NULL;
    if (axo__likely(cell != NULL && !cell->bounded && !cell->timed))
        message = axo__message_make_line(&local->cache, tag, from, payload, size);
    if (axo__unlikely(message == NULL)) {
        axo__door_leave(door);
        return api_outside_any(system, from, to, tag, payload, size);
    }
    __builtin_prefetch(local->cache.free[AXO__POOL_LINE_CLASS]); /* the next send's block */
    axo__a64_bump_owner(&local->count.sent); /* before the push, as in axo__send_keep */
    uint64_t before = axo__state_push(&cell->state, &message->node);
    if (axo__state_woken(before) == AXO__ANNOUNCE_PUSH)
        return api_outside_push(door, cell);
    axo__door_leave(door);
    return AXO_OK;
}

/* The sizes of most messages, each compiled for itself. */
static __attribute__((noinline)) axo_status api_outside_0(axo_system *system, axo_ref from,
                                                          axo_ref to, uint32_t tag)
{
    return api_outside_plain(system, from, to, tag, NULL, 0);
}

static __attribute__((noinline)) axo_status
api_outside_8(axo_system *system, axo_ref from, axo_ref to, uint32_t tag, const void *payload)
{
    return api_outside_plain(system, from, to, tag, payload, 8);
}

static __attribute__((noinline)) axo_status
api_outside_16(axo_system *system, axo_ref from, axo_ref to, uint32_t tag, const void *payload)
{
    return api_outside_plain(system, from, to, tag, payload, 16);
}

axo_status axo_system_send_from(axo_system *system, axo_ref from, axo_ref to, uint32_t tag,
                                const void *payload, size_t size)
{
    if (size == 8)
        return api_outside_8(system, from, to, tag, payload);
    if (size == 0)
        return api_outside_0(system, from, to, tag);
    if (size == 16)
        return api_outside_16(system, from, to, tag, payload);
    return api_outside_any(system, from, to, tag, payload, size);
}

axo_status axo_system_send(axo_system *system, axo_ref to, uint32_t tag, const void *payload,
                           size_t size)
{
    return axo_system_send_from(system, axo_ref_none(), to, tag, payload, size);
}

axo_status axo_system_send_traced(axo_system *system, axo_ref to, uint32_t tag, const void *payload,
                                  size_t size, const axo_trace_context *trace)
{
    if (trace == NULL)
        return axo_system_send(system, to, tag, payload, size);
    if (system == NULL || axo_ref_is_none(to) || tag >= AXO_TAG_RESERVED ||
        (payload == NULL && size > 0) || !axo__trace_is_valid(trace))
        return AXO_EINVAL;
    if (size > AXO_PAYLOAD_MAX)
        return AXO_ETOOBIG;
    axo__outside what = {.to = to, .tag = tag, .payload = payload, .size = size, .trace = trace};
    return axo__outside_send(system, &what);
}

axo_status axo_system_send_owned(axo_system *system, axo_ref to, uint32_t tag, void *payload,
                                 size_t size, axo_payload_free destroy, void *user)
{
    if (system == NULL || axo_ref_is_none(to) || tag >= AXO_TAG_RESERVED || payload == NULL)
        return AXO_EINVAL;
    if (size > UINT32_MAX)
        return AXO_ETOOBIG;
    axo__outside what = {.to = to, .tag = tag, .payload = payload, .size = size,
                        .flags = AXO__MESSAGE_OWNED, .destroy = destroy, .user = user};
    return axo__outside_send(system, &what);
}

static axo_status api_special_outside(axo_system *system, axo_ref ref, uint32_t tag,
                                      uint32_t flags)
{
    axo_status known = axo__system_check(system);
    if (known != AXO_OK || axo_ref_is_none(ref))
        return known != AXO_OK ? known : AXO_EINVAL;
    axo__outside what = {.to = ref, .tag = tag, .flags = flags};
    return axo__outside_send(system, &what);
}

axo_status axo_system_poison(axo_system *system, axo_ref ref)
{
    return api_special_outside(system, ref, AXO_POISON_PILL, AXO__MESSAGE_PILL);
}

axo_status axo_system_kill(axo_system *system, axo_ref ref)
{
    return api_special_outside(system, ref, AXO_KILL, AXO__MESSAGE_KILL);
}

axo_status axo_system_fail(axo_system *system, axo_ref ref, axo_failure_kind kind, int32_t code)
{
    axo__injected injected = {.kind = (uint32_t)kind, .code = code};
    if (system == NULL || axo_ref_is_none(ref) ||
        (kind != AXO_FAILURE_ORDINARY && kind != AXO_FAILURE_FATAL))
        return AXO_EINVAL;
    axo__outside what = {.to = ref, .tag = AXO_INJECTED, .flags = AXO__MESSAGE_KILL,
                        .payload = &injected, .size = sizeof injected};
    return axo__outside_send(system, &what);
}

axo_status axo_system_stop_actor(axo_system *system, axo_ref ref)
{
    axo_status known = axo__system_check(system);
    if (known != AXO_OK || axo_ref_is_none(ref))
        return known != AXO_OK ? known : AXO_EINVAL;
    axo__door *door = axo__door_enter(&system->sched);
    axo__cell *cell = axo__table_find(&system->core.table, ref);
    if (cell != NULL)
        axo__sched_stop(NULL, cell);
    axo__door_leave(door);
    return cell != NULL ? AXO_OK : axo__peers_stop(&system->core, ref);
}

axo_ref axo_system_guardian(axo_system *system, axo_guardian which)
{
    if (axo__system_check(system) != AXO_OK || (unsigned)which > AXO_GUARDIAN_SYSTEM)
        return axo_ref_none();
    return system->guardians[which];
}

axo_status axo_system_path(axo_system *system, axo_ref ref, char *out, size_t size)
{
    axo_status known = axo__system_check(system);
    if (known != AXO_OK || out == NULL || size == 0 || axo_ref_is_none(ref))
        return known != AXO_OK ? known : AXO_EINVAL;
    out[0] = 0;
    axo__door *door = axo__door_enter(&system->sched);
    axo_status status = AXO_EGONE;
    const axo__cell *cell = axo__table_find(&system->core.table, ref);
    if (cell != NULL)
        status = axo__core_path(&system->core, cell, out, size) ? AXO_OK : AXO_ETOOBIG;
    axo__door_leave(door);
    return status;
}

axo_status axo_system_stats(axo_system *system, axo_stats *stats)
{
    /* Filled in full, then copied as far as the caller's header knew. */
    axo_stats full;
    axo_status known = axo__system_check(system);
    size_t room;
    if (known != AXO_OK || stats == NULL)
        return known != AXO_OK ? known : AXO_EINVAL;
    axo_status status = axo__struct_room(stats, sizeof full, &room);
    if (status != AXO_OK)
        return status;
    memset(&full, 0, sizeof full);
    axo__pools_stats(system, &full);
    full.size = stats->size;
    memcpy(stats, &full, room);
    return AXO_OK;
}

int64_t axo_system_now(axo_system *system)
{
    return axo__system_check(system) == AXO_OK ? axo__core_now(&system->core) : 0;
}

void *axo_system_alloc(axo_system *system, size_t size)
{
    if (axo__system_check(system) != AXO_OK || size == 0)
        return NULL;
    /* From the heap, not from a pool: a service's block may be freed on any thread, and no local is
     * needed. */
    return axo__heap_alloc(&system->core.heap, size, _Alignof(max_align_t), AXO__SITE_SERVICES);
}

void axo_system_free(axo_system *system, void *block, size_t size)
{
    if (axo__system_check(system) == AXO_OK && block != NULL)
        axo__heap_free(&system->core.heap, block, size, _Alignof(max_align_t), AXO__SITE_SERVICES);
}

uint32_t axo_system_workers(axo_system *system)
{
    return axo__system_check(system) == AXO_OK ? system->sched.worker_count : 0;
}
