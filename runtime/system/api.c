/* api.c - the door for actors: what a callback may call with its context.
 *
 * The rule of every door: check the arguments, call inside, decide nothing. A context is checked
 * first (axo__caller), so that a context that was kept, or handed to another thread, is refused
 * before any other argument is read. Out-parameters are set on failure, too. Nothing inside the
 * runtime calls a function of this file, so a door never runs inside another.
 */
#include <axo/axo.h>

#include <stdlib.h>
#include <string.h>

#include "base/aside.h"
#include "base/border.h"
#include "base/copy_in.h"
#include "base/failure_kind.h"
#include "base/random.h"
#include "cell/peers.h"
#include "sched/found.h"
#include "sched/hook.h"
#include "sched/land.h"
#include "sched/ready.h"
#include "sched/send.h"
#include "super/children.h"
#include "super/restart.h"
#include "super/spawn.h"
#include "super/watch.h"
#include "system/guardian.h"
#include "system/options.h"
#include "system/filled.h"
#include "system/system.h"

/* Checks that every send makes of its message. Tags from AXO_TAG_RESERVED on are the library's: a
 * program cannot forge an AXO_TERMINATED. */
static axo_status api_check_payload(axo_ref to, uint32_t tag, const void *payload, size_t size)
{
    if (axo__unlikely(axo_ref_is_none(to) || tag >= AXO_TAG_RESERVED ||
                      (payload == NULL && size > 0)))
        return AXO_EINVAL;
    return axo__unlikely(size > AXO_PAYLOAD_MAX) ? AXO_ETOOBIG : AXO_OK;
}

/* ---- the caller ---- */

axo_ref axo_self(axo_ctx *ctx)
{
    axo__cell *cell = axo__caller(ctx);
    return cell != NULL ? axo__cell_ref(cell) : axo_ref_none();
}

uint32_t axo_instance(axo_ctx *ctx)
{
    axo__cell *cell = axo__caller(ctx);
    return cell != NULL ? axo__cell_instance(cell) : 0;
}

/* Slots are small numbers, used again: an index for tables, no identity. */
uint32_t axo_ref_index(axo_ref ref)
{
    return (uint32_t)(ref.bits & AXO__SLOT_MASK);
}

uint64_t axo_seed(axo_ctx *ctx)
{
    const axo__cell *cell = axo__caller(ctx);
    if (cell == NULL)
        return 0;
    /* From slot and instance, not from the reference: references are secret (D18), and a seed must
     * repeat a run. */
    const uint64_t key[2] = {axo__self->local.core->seed, UINT64_C(0x6163746f7273)};
    return axo__random_hash(key, (uint64_t)cell->slot << 32 | axo__cell_instance(cell));
}

int64_t axo_now(axo_ctx *ctx)
{
    return axo__caller(ctx) != NULL ? axo__core_now(axo__self->local.core) : 0;
}

axo_ref axo_parent(axo_ctx *ctx)
{
    axo__cell *cell = axo__caller(ctx);
    const axo__cell *parent = cell != NULL ? axo__cell_parent(cell) : NULL;
    return parent != NULL ? axo__cell_ref(parent) : axo_ref_none();
}

axo_ref axo_sender(axo_ctx *ctx)
{
    axo__cell *cell = axo__caller(ctx);
    if (cell == NULL)
        return axo_ref_none();
    /* A decider runs without a message: its sender is the failed child (DC-07). A hook of a failed
     * instance sees the sender of the message that it failed under. */
    if (axo__self->site == AXO_SITE_DECIDER)
        return axo__self->sender;
    if (axo__self->message != NULL)
        return axo__self->message->pub.sender;
    return cell->failed != NULL ? cell->failed->pub.sender : axo_ref_none();
}

axo_system *axo_system_of(axo_ctx *ctx)
{
    return axo__caller(ctx) != NULL ? axo__self->local.core->system : NULL;
}

uint32_t axo_child_count(axo_ctx *ctx)
{
    axo__cell *cell = axo__caller(ctx);
    return cell != NULL ? axo__cell_child_count(cell) : 0;
}

uint32_t axo_children(axo_ctx *ctx, axo_ref *out, uint32_t max)
{
    axo__cell *cell = axo__caller(ctx);
    uint32_t count = 0;
    if (cell == NULL)
        return 0;
    for (axo__cell *child = axo__cell_children(cell); child != NULL;
         child = axo__cell_next(child)) {
        /* The count goes on beyond `max`, so that a caller learns what room it needs. */
        if (count < max && out != NULL)
            out[count] = axo__cell_ref(child);
        count++;
    }
    return count;
}

axo_ref axo_child(axo_ctx *ctx, const char *name)
{
    axo__cell *cell = axo__caller(ctx);
    if (cell == NULL || name == NULL)
        return axo_ref_none();
    /* A name that this very callback has seen taken stays taken for it (cell/DESIGN.md). */
    return axo__names_own(&axo__self->local.core->names, axo__cell_ref(cell), name,
                          axo__worker_moment(axo__self));
}

axo_status axo_path(axo_ctx *ctx, axo_ref ref, char *out, size_t size)
{
    axo__cell *cell = axo__caller(ctx);
    if (cell == NULL)
        return axo__no_caller();
    if (out == NULL || size == 0 || axo_ref_is_none(ref))
        return AXO_EINVAL;
    out[0] = 0;
    /* Only the caller's children and ancestors: their cells cannot go away during the callback, so
     * no look into the table is needed. */
    axo__cell *found = axo__cell_find_child(cell, ref);
    for (axo__cell *up = cell; found == NULL && up != NULL; up = axo__cell_parent(up)) {
        if (axo_ref_equal(axo__cell_ref(up), ref))
            found = up;
    }
    if (found == NULL)
        return AXO_EGONE;
    return axo__core_path(axo__self->local.core, found, out, size) ? AXO_OK : AXO_ETOOBIG;
}

/* ---- spawn and stop ---- */

static __attribute__((noinline)) axo_status api_spawn_any(const axo_props *props, axo_ref *out)
{
    axo_props copy;
    axo_status status = axo__props_read(props, &copy);
    return status == AXO_OK ? axo__spawn(axo__self, axo__self->current, &copy, out) : status;
}

/* Plain props are read where they are; others are copied first. */
axo_status axo_spawn(axo_ctx *ctx, const axo_props *props, axo_ref *out)
{
    axo__cell *cell = axo__caller(ctx);
    if (out != NULL)
        *out = axo_ref_none();
    if (cell == NULL)
        return axo__no_caller();
    if (out == NULL)
        return AXO_EINVAL;
    if (axo__likely(axo__props_are_plain(props)))
        return axo__spawn_plain(axo__self, cell, props, out);
    return api_spawn_any(props, out);
}

axo_status axo_stop(axo_ctx *ctx, axo_ref ref)
{
    axo__cell *cell = axo__caller(ctx);
    if (cell == NULL)
        return axo__no_caller();
    if (axo_ref_is_none(ref))
        return AXO_EINVAL;
    axo__cell *target = axo__table_find(&axo__self->local.core->table, ref);
    if (target == NULL)
        return axo__peers_stop(axo__self->local.core, ref);
    /* ST-21: a child's stop is its parent's, and is counted in the parent's family */
    if (axo__cell_parent(target) == cell)
        axo__child_stop(axo__self, target);
    else
        axo__sched_stop(axo__self, target);
    return AXO_OK;
}

axo_status axo_stop_self(axo_ctx *ctx)
{
    axo__cell *cell = axo__caller(ctx);
    if (cell == NULL)
        return axo__no_caller();
    axo__cell_stop_self(cell);
    return AXO_OK;
}

/* A message of the running callback carries the trace context of its handler. */
static inline axo__message *api_make(axo_ref from, uint32_t tag, size_t size)
{
    axo__worker *worker = axo__self;
    return axo__message_make_traced(&worker->local.cache, tag, from, size, worker->span.now);
}

/* The send of a handler that has a trace context, or where payloads have walls. */
static __attribute__((noinline)) axo_status api_send_rare(axo_ref from, axo_ref to, uint32_t tag,
                                                          const void *payload, size_t size,
                                                          uint32_t flags)
{
    AXO_COPY_BORDER();
    axo__worker *worker = axo__self;
    axo__message *message = axo__filled_make(worker, tag, from, size, worker->span.now);
    if (message == NULL)
        return AXO_ENOMEM;
    message->flags |= flags;
    if (size > 0)
        axo__copy_in(worker, message, axo__filled_room(message), payload, size);
    axo__filled_close(message);
    return axo__send(worker->sched, worker, &worker->local, to, message, NULL);
}

/* The copying send: payload behind the envelope, one block for both. */
static inline __attribute__((always_inline)) axo_status
api_send(axo_ref from, axo_ref to, uint32_t tag, const void *payload, size_t size, uint32_t flags)
{
    AXO_COPY_BORDER();
    axo__worker *worker = axo__self;
    if (axo__unlikely(worker->plain_tags == 0))
        return api_send_rare(from, to, tag, payload, size, flags);
    axo__message *message = axo__message_make(&worker->local.cache, tag, from, size);
    if (axo__unlikely(message == NULL))
        return AXO_ENOMEM;
    message->flags |= flags;
    if (size > 0)
        axo__copy_in(worker, message, message + 1, payload, size);
    return axo__send_from(worker, to, message);
}

/* PoisonPill and Kill are messages with a flag: they keep their place in the mailbox (PK-02). */
static axo_status api_special(axo_ctx *ctx, axo_ref ref, uint32_t tag, uint32_t flags)
{
    axo__cell *cell = axo__caller(ctx);
    if (cell == NULL)
        return axo__no_caller();
    if (axo_ref_is_none(ref))
        return AXO_EINVAL;
    return api_send(axo__cell_ref(cell), ref, tag, NULL, 0, flags);
}

axo_status axo_poison(axo_ctx *ctx, axo_ref ref)
{
    return api_special(ctx, ref, AXO_POISON_PILL, AXO__MESSAGE_PILL);
}

axo_status axo_kill(axo_ctx *ctx, axo_ref ref)
{
    return api_special(ctx, ref, AXO_KILL, AXO__MESSAGE_KILL);
}

/* ---- send ---- */

static __attribute__((noinline)) axo_status api_send_any(axo_ctx *ctx, axo_ref to, uint32_t tag,
                                                         const void *payload, size_t size)
{
    AXO_COPY_BORDER();
    axo__cell *cell = axo__caller(ctx);
    if (axo__unlikely(cell == NULL))
        return axo__no_caller();
    axo_status status = api_check_payload(to, tag, payload, size);
    if (axo__unlikely(status != AXO_OK))
        return status;
    return api_send(axo__cell_ref(cell), to, tag, payload, size, 0);
}

/* The second half of api_send_plain where it is more than two stores: a cell that the next slot has
 * lost, or an entry that does not go there. These two and api_send_any are calls at the end, so the
 * function saves no register. */
static __attribute__((noinline)) axo_status api_push_back(axo__worker *worker, axo__cell *displaced)
{
    axo__worker_push_back(worker, displaced);
    return AXO_OK;
}

static __attribute__((noinline)) axo_status api_push_ready(axo__worker *worker, axo__cell *cell)
{
    axo__sched_push_ready(worker, cell);
    return AXO_OK;
}

/* The common case of api_send_any: a running actor sends a message of 0, 8 or 16 bytes, a constant
 * for the compiler, to a cell of the default pool that has a lane. Anything else is left to
 * api_send_any before something has changed. No cell has the reference of none. */
static inline __attribute__((always_inline)) axo_status
api_send_plain(axo_ctx *ctx, axo_ref to, uint32_t tag, const void *payload, size_t size)
{
    AXO_COPY_BORDER();
    axo__worker *worker = axo__self;
    axo__read bytes = {0};
    if (axo__unlikely(worker == NULL || ctx == NULL || (void *)worker->current != (void *)ctx))
        return api_send_any(ctx, to, tag, payload, size);
    if (axo__unlikely(size > 0 && payload == NULL))
        return api_send_any(ctx, to, tag, payload, size);
    if (axo__unlikely(tag >= worker->plain_tags))
        return api_send_any(ctx, to, tag, payload, size);
    axo__local *local = &worker->local;
    axo__cell *cell = axo__table_find(&local->core->table, to);
    if (axo__unlikely(cell == NULL || cell->bounded || cell->elsewhere || cell->timed))
        return api_send_any(ctx, to, tag, payload, size);
    axo_ref from = axo__cell_own_ref((const axo__cell *)(const void *)ctx);
    if (size == 8) /* it may crash: nothing has been taken yet */
        bytes[0] = axo__read_8(payload);
    else if (size > 0)
        bytes = axo__read_16(payload);
    axo__message *message = axo__message_make_line(&local->cache, tag, from, &bytes, size);
    if (axo__unlikely(message == NULL))
        return api_send_any(ctx, to, tag, payload, size);
    axo__a64_bump_owner(&local->count.sent);
    uint64_t before = axo__state_push(&cell->state, &message->node);
    if (axo__state_woken(before) != AXO__ANNOUNCE_PUSH) {
        if (axo__unlikely(axo__worker_sends_much(cell, before)))
            return axo__worker_sent_more(worker, cell, before);
        return AXO_OK;
    }
    if (axo__unlikely(!axo__worker_slot_is_free(worker)))
        return api_push_ready(worker, cell);
    axo__cell *displaced = axo__worker_put_next(worker, cell);
    return axo__likely(displaced == NULL) ? AXO_OK : api_push_back(worker, displaced);
}

/* The sizes of most messages, each compiled for itself. */
static __attribute__((noinline)) axo_status api_send_0(axo_ctx *ctx, axo_ref to, uint32_t tag)
{
    return api_send_plain(ctx, to, tag, NULL, 0);
}

static __attribute__((noinline)) axo_status api_send_8(axo_ctx *ctx, axo_ref to, uint32_t tag,
                                                       const void *payload)
{
    return api_send_plain(ctx, to, tag, payload, 8);
}

static __attribute__((noinline)) axo_status api_send_16(axo_ctx *ctx, axo_ref to, uint32_t tag,
                                                        const void *payload)
{
    return api_send_plain(ctx, to, tag, payload, 16);
}

static inline axo_status api_send_sized(axo_ctx *ctx, axo_ref to, uint32_t tag, const void *payload,
                                        size_t size)
{
    if (size == 8)
        return api_send_8(ctx, to, tag, payload);
    if (size == 0)
        return api_send_0(ctx, to, tag);
    if (size == 16)
        return api_send_16(ctx, to, tag, payload);
    return api_send_any(ctx, to, tag, payload, size);
}

axo_status axo_send(axo_ctx *ctx, axo_ref to, uint32_t tag, const void *payload, size_t size)
{
    AXO_COPY_BORDER();
    return api_send_sized(ctx, to, tag, payload, size);
}

axo_status axo_send_from(axo_ctx *ctx, axo_ref from, axo_ref to, uint32_t tag, const void *payload,
                         size_t size)
{
    AXO_COPY_BORDER();
    if (axo__caller(ctx) == NULL)
        return axo__no_caller();
    axo_status status = api_check_payload(to, tag, payload, size);
    return status == AXO_OK ? api_send(from, to, tag, payload, size, 0) : status;
}

axo_status axo_reply(axo_ctx *ctx, const axo_message *message, uint32_t tag, const void *payload,
                     size_t size)
{
    AXO_COPY_BORDER();
    if (message == NULL)
        return axo__caller(ctx) != NULL ? AXO_EINVAL : axo__no_caller();
    return api_send_sized(ctx, message->sender, tag, payload, size);
}

axo_status axo_send_owned(axo_ctx *ctx, axo_ref to, uint32_t tag, void *payload, size_t size,
                          axo_payload_free destroy, void *user)
{
    axo__cell *cell = axo__caller(ctx);
    if (cell == NULL)
        return axo__no_caller();
    if (axo_ref_is_none(to) || tag >= AXO_TAG_RESERVED || payload == NULL)
        return AXO_EINVAL;
    /* An owned payload is not copied, so only the field of its size bounds it. */
    if (size > UINT32_MAX)
        return AXO_ETOOBIG;
    axo__message *message = api_make(axo__cell_ref(cell), tag, sizeof user);
    if (message == NULL)
        return AXO_ENOMEM;
    axo__message_own(message, payload, size, destroy, user);
    return axo__send_from(axo__self, to, message);
}

/* ---- fail ---- */

/* Whether a callback that can fail runs, with this context. */
static bool api_can_fail(axo_ctx *ctx)
{
    return axo__caller(ctx) != NULL && axo__blame_is_open(axo__self);
}

static axo_status api_fail(axo_ctx *ctx, axo_failure_kind kind, int32_t code, const char *format,
                           va_list list) __attribute__((format(printf, 4, 0)));

static axo_status api_fail(axo_ctx *ctx, axo_failure_kind kind, int32_t code, const char *format,
                           va_list list)
{
    if (!api_can_fail(ctx))
        return axo__no_caller();
    axo__blame_record(axo__self, kind, code, format, list);
    return AXO_EFAILED;
}

axo_status axo_fail(axo_ctx *ctx, int32_t code, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    axo_status status = api_fail(ctx, AXO_FAILURE_ORDINARY, code, format, list);
    va_end(list);
    return status;
}

axo_status axo_fail_fatal(axo_ctx *ctx, int32_t code, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    axo_status status = api_fail(ctx, AXO_FAILURE_FATAL, code, format, list);
    va_end(list);
    return status;
}

axo_status axo_fail_as(axo_ctx *ctx, axo_failure_kind kind, int32_t code, const char *format, ...)
{
    va_list list;
    if (!api_can_fail(ctx))
        return axo__no_caller();
    if (!axo__is_failure_kind((uint32_t)kind))
        return AXO_EINVAL;
    va_start(list, format);
    axo_status status = api_fail(ctx, kind, code, format, list);
    va_end(list);
    return status;
}

static void api_throw(axo_ctx *ctx, axo_failure_kind kind, int32_t code, const char *format,
                      va_list list) __attribute__((noinline, format(printf, 4, 0)));

/* Records what is thrown; axo_throw itself jumps. A misuse cannot be answered with a status here,
 * because axo_throw does not return. */
static void api_throw(axo_ctx *ctx, axo_failure_kind kind, int32_t code, const char *format,
                      va_list list)
{
    if (axo__unlikely(!api_can_fail(ctx)))
        axo__misuse(axo__no_caller() == AXO_EFORKED
                        ? "axo_throw in a child process that the callback has forked"
                        : "axo_throw outside of the callback that was given the context");
    axo__blame_record(axo__self, kind, code, format, list);
}

void axo_throw(axo_ctx *ctx, int32_t code, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    api_throw(ctx, AXO_FAILURE_ORDINARY, code, format, list);
    va_end(list);
    AXO__UNWIND_JUMP(axo__self->unwind);
}

void axo_throw_fatal(axo_ctx *ctx, int32_t code, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    api_throw(ctx, AXO_FAILURE_FATAL, code, format, list);
    va_end(list);
    AXO__UNWIND_JUMP(axo__self->unwind);
}

/* ---- blocking ---- */

axo_status axo_block(axo_ctx *ctx, void (*fn)(void *arg), void *arg)
{
    axo__worker *worker = axo__self;
    if (axo__caller(ctx) == NULL)
        return axo__no_caller();
    if (fn == NULL)
        return AXO_EINVAL;
    /* Retired cells are handed over first: their grace period must not wait for `fn`, which may
     * take for ever. */
    axo__local_flush(&worker->local);
    axo__grace_offline();
    if (worker->local.core->lent)
        axo__grace_away(&worker->reader);
    axo__worker *outer = axo__away;
    axo__away = worker;
    /* to the library this thread is an outside thread now: doors work, contexts do not */
    axo__self = NULL;
    if (worker->local.core->lent)
        (void)axo__grace_poll(&worker->local.core->grace, NULL); /* as who leaves */
    AXO_BORDER();
    fn(arg);
    /* `fn` has forked and returned in the child, where no other thread of the system exists. */
    if (axo__unlikely(!axo__os_at_home(&worker->local.core->system->home)))
        worker->local.core->forked();
    axo__away = outer;
    axo__self = worker;
    axo__grace_online();
    if (worker->local.core->lent)
        axo__grace_visit(&worker->local.core->grace, &worker->reader);
    return AXO_OK;
}

/* ---- default hooks ---- */

axo_status axo_default_pre_restart(axo_ctx *ctx, void *state, const axo_failure *failure,
                                   const axo_message *message)
{
    axo__cell *cell = axo__caller(ctx);
    (void)state;
    (void)failure;
    (void)message;
    /* Only a pre_restart may call its own default. */
    if (cell == NULL || axo__self->site != AXO__SITE_PRE_RESTART)
        return axo__no_caller();
    return axo__restart_default_pre_restart(axo__self, cell);
}

axo_status axo_default_post_restart(axo_ctx *ctx, void *state, const axo_failure *failure)
{
    axo__cell *cell = axo__caller(ctx);
    (void)state;
    (void)failure;
    if (cell == NULL)
        return axo__no_caller();
    return axo__hook_within(cell, AXO_SITE_PRE_START, axo__cell_class(cell)->pre_start != NULL);
}

/* ---- watch, shutdown ---- */

axo_status axo_watch(axo_ctx *ctx, axo_ref ref)
{
    axo__cell *cell = axo__caller(ctx);
    if (cell == NULL)
        return axo__no_caller();
    return axo_ref_is_none(ref) ? AXO_EINVAL : axo__watch_add(axo__self, cell, ref, NULL);
}

axo_status axo_watch_with(axo_ctx *ctx, axo_ref ref, uint32_t tag, const void *payload, size_t size)
{
    axo__cell *cell = axo__caller(ctx);
    if (cell == NULL)
        return axo__no_caller();
    axo_status status = api_check_payload(ref, tag, payload, size);
    if (status != AXO_OK)
        return status;
    /* The program's message travels in the watch record and comes in place of AXO_TERMINATED. */
    axo_message own = {.tag = tag, .size = (uint32_t)size, .payload = payload};
    return axo__watch_add(axo__self, cell, ref, &own);
}

axo_status axo_unwatch(axo_ctx *ctx, axo_ref ref)
{
    axo__cell *cell = axo__caller(ctx);
    if (cell == NULL)
        return axo__no_caller();
    if (axo_ref_is_none(ref))
        return AXO_EINVAL;
    axo__watch_remove(axo__self, cell, ref);
    return AXO_OK;
}

axo_status axo_termination_hook(axo_ctx *ctx)
{
    axo__cell *cell = axo__caller(ctx);
    if (cell == NULL)
        return axo__no_caller();
    axo_system *system = axo__self->local.core->system;
    /* Only children of /system: an actor under /user has ended before hooks are told. */
    if (axo__cell_parent(cell) != system->cells[AXO_GUARDIAN_SYSTEM])
        return AXO_EINVAL;
    return axo__guardian_add_hook(system, axo__self, cell);
}

axo_status axo_termination_hook_done(axo_ctx *ctx)
{
    axo__cell *cell = axo__caller(ctx);
    if (cell == NULL)
        return axo__no_caller();
    return axo__guardian_hook_done(axo__self->local.core->system, axo__self, cell);
}
