/* record_report_world.h - an actor whose messages are kept and whose failure depends on all that it
 * has been sent, for the tests of report.h: its code is a hash of its history: of bytes, order,
 * times, seed, senders and references. */
#ifndef TEST_RECORD_REPORT_WORLD_H
#define TEST_RECORD_REPORT_WORLD_H
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <axo/axo.h>
#include <axo/report.h>

#include "support/cmocka.h"

#define MS INT64_C(1000000)
enum { ADD = 1, TICK, BREAK, TRAP, LEAVE, HOLD, FREE, ODD, OTHER };
enum { BY_STATUS = 1, BY_FAIL, BY_THROW, BY_FATAL, BY_PACT, BY_CRASH };

typedef struct till_args {
    uint64_t salt;
} till_args;

typedef struct till {
    uint64_t hash;
    uint64_t count;
    uint64_t starts;
    bool free;
} till;

/* A payload with the references of its receiver and its sender, and bytes. */
typedef struct deposit {
    axo_ref to;
    axo_ref from;
    char bytes[24];
} deposit;

/* What the first run has come to. */
static struct {
    axo_failure failure;
    char text[AXO_FAILURE_TEXT_MAX];
    uint32_t failures;
    axo_directive directive;
} seen;

static inline void till_mix(till *me, const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    for (size_t i = 0; i < size; i++)
        me->hash = (me->hash ^ at[i]) * UINT64_C(0x100000001b3);
}

static inline axo_status till_construct(axo_ctx *ctx, void *state, const void *args)
{
    till *me = state;
    const till_args *from = args;
    const uint64_t seed = axo_report_seed(ctx);
    me->hash = from->salt;
    till_mix(me, &seed, sizeof seed);
    return AXO_OK;
}

static inline axo_status till_pre_start(axo_ctx *ctx, void *state)
{
    till *me = state;
    me->starts++;
    return axo_send_after(ctx, MS, axo_self(ctx), TICK, "tick", 4);
}

static inline axo_status till_add(axo_ctx *ctx, till *me, const axo_message *message)
{
    const deposit *it = message->payload;
    if (message->size < offsetof(deposit, bytes))
        return AXO_EINVAL;
    const bool mine = axo_ref_equal(it->to, axo_self(ctx));
    const bool known = axo_ref_equal(it->from, message->sender);
    const bool same = axo_ref_equal(axo_sender(ctx), message->sender);
    till_mix(me, &mine, sizeof mine);
    till_mix(me, &known, sizeof known);
    till_mix(me, &same, sizeof same);
    till_mix(me, it->bytes, message->size - offsetof(deposit, bytes));
    if (me->count % 3 == 0) /* comes by the mailbox, so it is in the file */
        return axo_send(ctx, axo_self(ctx), TICK, "self", 4);
    return AXO_OK;
}

static inline axo_status till_break(axo_ctx *ctx, till *me, const axo_message *message)
{
    const uint32_t how = message->size >= 4 ? *(const uint32_t *)message->payload : 0;
    const int32_t code = (int32_t)(me->hash >> 33);
    if (how == BY_STATUS)
        return (axo_status)(me->count > 10 ? AXO_ELIMIT : AXO_EFAILED);
    if (how == BY_FAIL)
        return axo_fail(ctx, code, "hash %016llx", (unsigned long long)me->hash);
    if (how == BY_THROW)
        axo_throw(ctx, code, "thrown at %llu", (unsigned long long)me->count);
    if (how == BY_FATAL)
        axo_throw_fatal(ctx, code, "fatal at %llu", (unsigned long long)me->count);
    if (how == BY_CRASH && me->count > 10)
        *(volatile uint32_t *)(uintptr_t)(0x10 + me->count % 2 * 8) = 1;
    return AXO_OK;
}

/* What it has become: everything counts otherwise. */
static inline axo_status till_other(axo_ctx *ctx, void *state, const axo_message *message)
{
    till *me = state;
    me->hash ^= UINT64_C(0x5555);
    till_mix(me, &message->size, sizeof message->size);
    if (message->tag == OTHER)
        return axo_report_unbecome(ctx);
    return message->tag == BREAK ? till_break(ctx, me, message) : AXO_OK;
}

static inline axo_status till_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    till *me = state;
    const int64_t now = axo_report_now(ctx);
    me->count++;
    till_mix(me, &message->tag, sizeof message->tag);
    till_mix(me, &now, sizeof now);
    switch (message->tag) {
    case ADD:
        return till_add(ctx, me, message);
    case BREAK:
        return till_break(ctx, me, message);
    case HOLD: /* until it is free; it comes a second time then, and is kept a second time */
        return me->free ? AXO_OK : axo_stash(ctx);
    case FREE:
        me->free = true;
        return axo_unstash_all(ctx);
    case OTHER: /* until the next of these */
        return axo_report_become(ctx, till_other);
    case ODD:
        return AXO_UNHANDLED;
    case TRAP: /* the sender is watched, and its end not handled */
        return axo_watch(ctx, message->sender);
    case AXO_TERMINATED:
        return AXO_UNHANDLED;
    default:
        till_mix(me, message->payload, message->size);
        return AXO_OK;
    }
}

static const axo_class till_class = AXO_CLASS(.name = "till", .state_size = sizeof(till),
                                              .construct = till_construct,
                                              .pre_start = till_pre_start,
                                              .receive = till_receive,
                                              .on_crash = AXO_CRASH_FAILS);
static const axo_class *till_kept, *small_kept, *wide_kept;

/* Its state is aligned to a cache line, as its size says, with a ring behind it too. It fails where
 * it has been asked to settle, behind a message that it did not know. */
typedef struct wide {
    uint8_t bytes[2 * AXO_STATE_ALIGN];
} wide;

static inline axo_status wide_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    const wide *me = state;
    assert_int_equal((uintptr_t)me % AXO_STATE_ALIGN, 0);
    for (size_t i = 0; i < sizeof me->bytes; i++)
        assert_int_equal(me->bytes[i], 0);
    if (axo_want_settle(ctx) != AXO_OK)
        return AXO_EFAILED;
    return AXO_UNHANDLED;
}

static inline axo_status wide_settle(axo_ctx *ctx, void *state)
{
    return axo_fail(ctx, 5, "not under a message");
}

static const axo_class wide_class = AXO_CLASS(.name = "wide", .state_size = sizeof(wide),
                                              .receive = wide_receive, .settle = wide_settle);

static inline axo_status friend_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)state;
    return message->tag == LEAVE ? axo_stop_self(ctx) : AXO_OK;
}

static const axo_class friend_class = AXO_CLASS(.name = "friend", .receive = friend_receive);

static inline axo_directive boss_decide(axo_ctx *ctx, void *state, const axo_failure *failure,
                                        void *user)
{
    seen.failure = *failure;
    (void)snprintf(seen.text, sizeof seen.text, "%s", failure->text);
    seen.failures++;
    return seen.directive;
}

static const axo_class *boss_child;
static axo_ref boss_till;
static uint32_t boss_dispatcher; /* of its child */

static inline axo_status boss_start(axo_ctx *ctx, void *state)
{
    const till_args args = {.salt = 99};
    const axo_props props = AXO_PROPS(.cls = boss_child, .args = &args, .args_size = sizeof args,
                                      .dispatcher = boss_dispatcher);
    return axo_spawn(ctx, &props, &boss_till);
}

static const axo_class boss_class = AXO_CLASS(.name = "boss", .receive = friend_receive,
                                              .pre_start = boss_start);

/* ---- a run ---- */

typedef struct run {
    axo_system *system;
    axo_reports *reports;
    axo_ref friends[3];
    bool manual;
    char directory[64];
} run;

static inline void run_settle(run *r)
{
    if (r->manual)
        assert_int_equal(axo_run_host(r->system, -1, NULL), AXO_OK);
    else
        assert_int_equal(axo_system_quiesce(r->system, -1), AXO_OK);
}

static inline void run_start(run *r, const axo_class *cls, axo_options *options)
{
    static const axo_strategy strategy = AXO_STRATEGY(.decider = boss_decide);
    const axo_props boss = AXO_PROPS(.cls = &boss_class, .strategy = &strategy);
    const axo_props friend = AXO_PROPS(.cls = &friend_class);
    axo_ref ref;
    memset(&seen, 0, sizeof seen);
    seen.directive = AXO_RESTART;
    (void)snprintf(r->directory, sizeof r->directory, "/tmp/axo-report-XXXXXX");
    assert_non_null(mkdtemp(r->directory));
    assert_int_equal(axo_report_begin(r->directory, 0, options, &r->reports), AXO_OK);
    r->manual = options->manual == AXO_MANUAL_ALL;
    assert_int_equal(axo_system_start(options, &r->system), AXO_OK);
    boss_child = cls;
    assert_int_equal(axo_system_spawn(r->system, &boss, &ref), AXO_OK);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(axo_system_spawn(r->system, &friend, &r->friends[i]), AXO_OK);
    run_settle(r);
}

static inline void run_add(run *r, uint32_t from, uint32_t bytes)
{
    deposit it = {.to = boss_till, .from = r->friends[from % 3]};
    for (uint32_t i = 0; i < sizeof it.bytes; i++)
        it.bytes[i] = (char)(from * 7 + i);
    assert_int_equal(axo_system_send_from(r->system, it.from, boss_till, ADD, &it,
                                          offsetof(deposit, bytes) + bytes), AXO_OK);
    if (from % 4 == 0)
        run_settle(r);
}

static inline void run_break(run *r, uint32_t how)
{
    if (how == BY_PACT) {
        assert_int_equal(axo_system_send_from(r->system, r->friends[0], boss_till, TRAP, NULL, 0),
                         AXO_OK);
        run_settle(r);
        assert_int_equal(axo_system_send(r->system, r->friends[0], LEAVE, NULL, 0), AXO_OK);
    } else {
        assert_int_equal(axo_system_send(r->system, boss_till, BREAK, &how, sizeof how), AXO_OK);
    }
    run_settle(r);
}

static inline void run_end(run *r)
{
    assert_int_equal(axo_system_stop(r->system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(r->system), AXO_OK);
    axo_report_end(r->reports);
    (void)rmdir(r->directory);
}

static inline void run_path(const run *r, uint32_t number, char *path, size_t size)
{
    (void)snprintf(path, size, "%s/report-%ld-%u.axorep", r->directory, (long)getpid(),
                   (unsigned)number);
}

/* Plays a report of this run. */
static inline axo_report_outcome run_play(const run *r, uint32_t number)
{
    axo_report_outcome out = AXO_REPORT_OUTCOME();
    char path[160];
    run_path(r, number, path, sizeof path);
    axo_status status = axo_report_play(path, &out);
    if (status != AXO_OK)
        fail_msg("%s: %s", axo_status_name(status), out.text);
    assert_int_equal(unlink(path), 0);
    return out;
}

static inline void same_failure(const axo_report_outcome *out)
{
    if (!out->same)
        fail_msg("%s: %u %d for %u %d at %u", out->text, (unsigned)out->kind, out->code,
                 (unsigned)out->said_kind, out->said_code, (unsigned)out->failed_at);
    assert_int_equal(out->kind, seen.failure.kind);
    assert_int_equal(out->code, seen.failure.code);
    assert_int_equal(out->failed_at, out->messages);
    assert_int_equal(out->lost, 0);
    assert_string_equal(out->name, "till");
}

/* Makes the classes. */
static inline void world_classes(void)
{
    static axo_class small;
    const axo_report_ring ring = AXO_REPORT_RING(.cls = &till_class, .record_bytes = 65536,
                                                 .args_size = sizeof(till_args));
    const axo_report_ring last = AXO_REPORT_RING(.cls = &wide_class, .record_bytes = 1000);
    axo_report_ring other = ring;
    small = till_class;
    small.name = "small till";
    other.cls = &small;
    other.record_bytes = 520;
    if (axo_report_class(&ring, &till_kept) != AXO_OK ||
        axo_report_class(&other, &small_kept) != AXO_OK ||
        axo_report_class(&last, &wide_kept) != AXO_OK)
        abort();
}

#endif
