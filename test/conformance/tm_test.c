/* tm_test.c - keyed timers of an instance (TM-01..07), raw timers (TM-08..10), and what they meet:
 * pills (PK-08), the end of the system (SH-06, SH-08).
 */
#include <stdio.h>
#include <time.h>

#include "conformance/parts.h"

#define MS INT64_C(1000000)
#define TM_FAR (INT64_C(3600) * 1000 * MS)

static kit_payload tm_value(int64_t value)
{
    return (kit_payload){.value = value};
}

/* Starts a key that notes `value`. */
static axo_status tm_key(axo_ctx *ctx, uint64_t key, axo_timer_kind kind, int64_t delay,
                         int64_t value)
{
    kit_payload order = tm_value(value);
    return axo_timer_start(ctx, key, kind, delay, delay, KIT_NOTE, &order, sizeof order);
}

/* Holds an actor until a tick of its key 1 waits in its mailbox, then runs `then`: the actor starts
 * the key and queues for itself a piece of work longer than a tick, so many messages that the clock
 * is read among them, and the end. When nothing was sent meanwhile (a thief had the actor, and the
 * wheel's owner was late), it begins again. */
#define TM_FILL 130

typedef struct tm_plan {
    axo_timer_kind kind;
    kit_fn then;
    uint64_t sent;
} tm_plan;

static uint64_t tm_sent(axo_ctx *ctx)
{
    axo_stats stats = AXO_STATS(0);
    (void)axo_system_stats(axo_system_of(ctx), &stats);
    return stats.sent;
}

static int64_t tm_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 * MS + now.tv_nsec;
}

static axo_status tm_spin(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    int64_t until = tm_now() + 3 * AXO_TICK_NS;
    (void)ctx, (void)self, (void)arg;
    while (tm_now() < until)
        continue;
    return AXO_OK;
}

static axo_status tm_nothing(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    (void)ctx, (void)self, (void)arg;
    return AXO_OK;
}

static axo_status tm_end(axo_ctx *ctx, kit_puppet *self, void *arg);

static axo_status tm_begin(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    tm_plan *plan = arg;
    KIT_REQUIRE(self->k, kit_run_in(ctx, self->ref, tm_spin, NULL) == AXO_OK);
    for (int i = 0; i < TM_FILL; i++)
        KIT_REQUIRE(self->k, kit_run_in(ctx, self->ref, tm_nothing, NULL) == AXO_OK);
    KIT_REQUIRE(self->k, kit_run_in(ctx, self->ref, tm_end, plan) == AXO_OK);
    plan->sent = tm_sent(ctx);
    KIT_REQUIRE(self->k, tm_key(ctx, 1, plan->kind, AXO_TICK_NS, 1) == AXO_OK);
    return AXO_OK;
}

static axo_status tm_end(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    const tm_plan *plan = arg;
    if (tm_sent(ctx) == plan->sent) {
        KIT_REQUIRE(self->k, axo_timer_stop(ctx, 1) == AXO_OK);
        return tm_begin(ctx, self, arg);
    }
    kit_mark(self, "active", axo_timer_active(ctx, 1));
    return plan->then(ctx, self, arg);
}

static void tm_with_queued_tick(kit *k, kit_script *a, axo_timer_kind kind, kit_fn then)
{
    tm_plan *plan = kit_alloc(k, sizeof *plan);
    *plan = (tm_plan){.kind = kind, .then = then};
    kit_settle(k); /* from here on nobody sends but the plan */
    kit_run(k, a, tm_begin, plan);
    kit_await(k, "a.active");
}

/* ---- TM-01, TM-02 ---- */

static axo_status tm_three(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    KIT_REQUIRE(self->k, !axo_timer_active(ctx, 1));
    KIT_REQUIRE(self->k, tm_key(ctx, 1, AXO_TIMER_ONCE, MS, 1) == AXO_OK);
    KIT_REQUIRE(self->k, tm_key(ctx, 2, AXO_TIMER_FIXED_DELAY, MS, 2) == AXO_OK);
    KIT_REQUIRE(self->k, tm_key(ctx, 3, AXO_TIMER_FIXED_RATE, MS, 3) == AXO_OK);
    KIT_REQUIRE(self->k, axo_timer_active(ctx, 1) && axo_timer_active(ctx, 3));
    return AXO_OK;
}

static axo_status tm_stop_three(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    KIT_REQUIRE(self->k, axo_timer_stop(ctx, 1) == AXO_ENOENT); /* it has fired */
    KIT_REQUIRE(self->k, !axo_timer_active(ctx, 1));
    KIT_REQUIRE(self->k, axo_timer_active(ctx, 2) && axo_timer_active(ctx, 3));
    KIT_REQUIRE(self->k, axo_timer_stop(ctx, 2) == AXO_OK);
    KIT_REQUIRE(self->k, axo_timer_stop(ctx, 3) == AXO_OK);
    KIT_REQUIRE(self->k, axo_timer_stop(ctx, 3) == AXO_ENOENT);
    kit_mark(self, "stopped", 0);
    return AXO_OK;
}

static void TM_01(kit *k)
{
    kit_script *a = kit_top(k, "a");
    kit_run(k, a, tm_three, NULL);
    kit_await_all(k, "a.note(1)", "a.note(2)@4", "a.note(3)@4");
    kit_run(k, a, tm_stop_three, NULL);
    kit_await(k, "a.stopped");
    kit_settle(k);
    uint32_t twos = kit_count(k, "a.note(2)");
    uint32_t threes = kit_count(k, "a.note(3)");
    kit_tell(k, a, KIT_PING, 0);
    kit_await(k, "a.ping");
    kit_expect_count(k, "a.note(1)", 1);
    kit_expect_count(k, "a.note(2)", twos);
    kit_expect_count(k, "a.note(3)", threes);
    kit_none_between(k, "a.note", "a.stopped", "a.ping");
}

/* Again with another value: what waits in the mailbox is the old one's. */
static axo_status tm_again(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    KIT_REQUIRE(self->k, tm_key(ctx, 1, AXO_TIMER_ONCE, MS, 2) == AXO_OK);
    return AXO_OK;
}

static void tm_replaced(void **state, axo_timer_kind kind)
{
    kit *k = kit_start(state, NULL);
    kit_script *a = kit_top(k, "a");
    uint64_t dropped = kit_stats(k).dropped;
    tm_with_queued_tick(k, a, kind, tm_again);
    kit_await(k, "a.note(2)");
    kit_never(k, "a.note(1)");
    assert_true(kit_find(k, "a.active").arg == 1);
    assert_true(kit_stats(k).dropped > dropped);
    kit_finish(k);
}

static void TM_01_queued(void **state)
{
    tm_replaced(state, AXO_TIMER_ONCE);
}

static void TM_01_queued_periodic(void **state)
{
    tm_replaced(state, AXO_TIMER_FIXED_RATE);
}

static axo_status tm_stop(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    KIT_REQUIRE(self->k, axo_timer_stop(ctx, 1) == AXO_OK);
    KIT_REQUIRE(self->k, !axo_timer_active(ctx, 1));
    return AXO_OK;
}

static void TM_02(kit *k)
{
    kit_script *a = kit_top(k, "a");
    tm_with_queued_tick(k, a, AXO_TIMER_FIXED_DELAY, tm_stop);
    kit_settle(k);
    kit_never(k, "a.note");
    assert_true(kit_stats(k).dropped >= 1);
}

/* Many keys, each its own; stopping some does not lose the others. */
static axo_status tm_many(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    for (uint64_t key = 0; key < 1000; key++)
        KIT_REQUIRE(self->k, tm_key(ctx, key * 64, AXO_TIMER_ONCE, TM_FAR, 0) == AXO_OK);
    for (uint64_t key = 0; key < 1000; key += 3)
        KIT_REQUIRE(self->k, axo_timer_stop(ctx, key * 64) == AXO_OK);
    for (uint64_t key = 0; key < 1000; key++)
        KIT_REQUIRE(self->k, axo_timer_active(ctx, key * 64) == (key % 3 != 0));
    for (uint64_t key = 1; key < 1000; key += 3)
        KIT_REQUIRE(self->k, tm_key(ctx, key * 64, AXO_TIMER_ONCE, 0, (int64_t)key) == AXO_OK);
    return AXO_OK;
}

static void TM_02_many(kit *k)
{
    kit_script *a = kit_top(k, "a");
    kit_run(k, a, tm_many, NULL);
    kit_await_count(k, "a.note", 333);
    kit_settle(k);
    kit_expect(k, "a.note=333", "a.note(998)=0", "a.note(997)=1");
}

/* ---- TM-03..TM-05: with the instance ---- */

static axo_status tm_mark_active(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    kit_mark(self, arg, axo_timer_active(ctx, 1));
    return AXO_OK;
}

static axo_status tm_fail(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    kit_mark(self, "fails", KIT_DO_RESTART);
    return axo_fail(ctx, KIT_DO_RESTART, "with a tick behind it");
}

/* The new instance has the same key. */
static axo_status tm_key_two(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    if (self->instance > 1)
        KIT_REQUIRE(self->k, tm_key(ctx, 1, AXO_TIMER_ONCE, MS, 2) == AXO_OK);
    return AXO_OK;
}

static void tm_restart(void **state, bool key_again)
{
    kit *k = kit_start(state, NULL);
    kit_family f = kit_plan(k, "p(a)");
    f.a->pre_restart.run = tm_mark_active;
    f.a->pre_restart.arg = (void *)(uintptr_t)"pre";
    f.a->post_restart.run = key_again ? tm_key_two : tm_mark_active;
    f.a->post_restart.arg = (void *)(uintptr_t)"post";
    kit_grow(&f);
    tm_with_queued_tick(k, f.a, AXO_TIMER_FIXED_RATE, tm_fail);
    kit_await(k, key_again ? "a#2.note(2)" : "a#2.post(0)");
    kit_settle(k);
    kit_order(k, "a#1.active(1)", "a#1.pre(0)", "a#2.ctor");
    kit_never(k, "a.note(1)");
    kit_finish(k);
}

/* Those that are left are found, whatever the order in which keys that share places are stopped. */
static axo_status tm_holes(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    static const uint32_t counts[] = {2, 3, 5, 6, 11, 12};
    uint64_t chance = 1;
    for (uint32_t round = 0; round < 600; round++) {
        uint32_t count = counts[round % 6];
        uint64_t keys[12];
        for (uint32_t i = 0; i < count; i++) {
            chance = chance * UINT64_C(6364136223846793005) + 1442695040888963407u;
            keys[i] = (chance >> 40) * 16 + i;
            KIT_REQUIRE(self->k, axo_timer_start(ctx, keys[i], AXO_TIMER_ONCE, AXO_DELAY_MAX / 2, 0,
                                                 KIT_NOTE, NULL, 0) == AXO_OK);
        }
        for (uint32_t left = count; left > 0; left--) {
            uint32_t which = (uint32_t)(chance >> 33) % left;
            KIT_REQUIRE(self->k, axo_timer_stop(ctx, keys[which]) == AXO_OK);
            KIT_REQUIRE(self->k, !axo_timer_active(ctx, keys[which]));
            keys[which] = keys[left - 1];
            for (uint32_t i = 0; i + 1 < left; i++)
                KIT_REQUIRE(self->k, axo_timer_active(ctx, keys[i]));
        }
    }
    return AXO_OK;
}

static void TM_02_holes(kit *k)
{
    kit_script *a = kit_top(k, "a");
    (void)kit_run(k, a, tm_holes, NULL);
    kit_settle(k);
}

static void TM_03(void **state)
{
    tm_restart(state, false);
}

static void TM_03_same_key(void **state)
{
    tm_restart(state, true);
}

typedef struct tm_late {
    uint64_t key;
    int64_t value;
    bool second; /* only in later instances */
} tm_late;

static axo_status tm_start_late(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    const tm_late *late = arg;
    if (!late->second || self->instance > 1)
        KIT_REQUIRE(self->k, tm_key(ctx, late->key, AXO_TIMER_ONCE, MS, late->value) == AXO_OK);
    return AXO_OK;
}

static void TM_04(kit *k)
{
    static const tm_late dying = {.key = 5, .value = 50};
    static const tm_late born = {.key = 6, .value = 60, .second = true};
    static const tm_late stopping = {.key = 7, .value = 70};
    kit_family f = kit_plan(k, "p(a), b");
    f.a->pre_restart.run = tm_start_late;
    f.a->pre_restart.arg = (void *)(uintptr_t)&dying;
    f.a->post_stop.run = tm_start_late;
    f.a->post_stop.arg = (void *)(uintptr_t)&stopping;
    f.a->pre_start.run = tm_start_late;
    f.a->pre_start.arg = (void *)(uintptr_t)&born;
    kit_grow(&f);
    kit_tell(k, f.a, KIT_FAIL, KIT_DO_RESTART);
    kit_await(k, "a#2.note(60)"); /* due with or after the others */
    kit_tell_ref(k, f.b, KIT_STOP, kit_ref(f.a));
    kit_await(k, "a.terminated");
    kit_settle(k);
    kit_expect(k, "a.note(50)=0", "a.note(70)=0");
    kit_expect_count(k, "a.dlSuppressed(NOTE)", kit_count(k, "a.dl(NOTE)")); /* DL-03 */
}

static void TM_05(kit *k)
{
    kit_family f = kit_plan(k, "a");
    f.a->post_stop.run = tm_mark_active;
    f.a->post_stop.arg = (void *)(uintptr_t)"post";
    kit_grow(&f);
    tm_with_queued_tick(k, f.a, AXO_TIMER_ONCE, part_stop_self);
    kit_await(k, "a.terminated");
    kit_order(k, "a.active(1)", "a.post(0)", "a.terminated");
    kit_never(k, "a.note");
    kit_await(k, "a.dlSuppressed(NOTE)"); /* DL-03 */
}

/* ---- TM-06, TM-07 ---- */

/* Puts notes aside until a set comes. */
static axo_status tm_stashing(axo_ctx *ctx, void *state, const axo_message *message)
{
    kit_puppet *self = state;
    if (message->tag == KIT_NOTE) {
        kit_mark(self, "aside", 0);
        return axo_stash(ctx);
    }
    if (message->tag == KIT_SET) {
        (void)axo_unbecome(ctx);
        (void)axo_unstash_all(ctx);
    }
    return kit_receive(ctx, state, message);
}

static axo_status tm_key_once(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    KIT_REQUIRE(self->k, tm_key(ctx, 1, AXO_TIMER_ONCE, 0, 1) == AXO_OK);
    return AXO_OK;
}

static void TM_06(kit *k)
{
    kit_script *a = kit_top(k, "a");
    part_tell_become(k, a, tm_stashing);
    kit_run(k, a, tm_key_once, NULL);
    kit_await(k, "a.aside");
    kit_never(k, "a.note");
    kit_tell(k, a, KIT_SET, 1);
    kit_await(k, "a.note(1)");
    kit_order(k, "a.aside", "a.set(1)", "a.note(1)");
}

/* Due at once, in construct and in a start that takes long. */
static void TM_07(kit *k)
{
    kit_script *a = kit_actor(k, "a");
    static const tm_late first = {.key = 1, .value = 1};
    static const tm_late second = {.key = 2, .value = 2};
    a->construct.run = tm_start_late;
    a->construct.arg = (void *)(uintptr_t)&first;
    a->pre_start.run = tm_start_late;
    a->pre_start.arg = (void *)(uintptr_t)&second;
    kit_spawn(k, a);
    kit_await_all(k, "a.note(2)", "a.note(1)");
    kit_order(k, "a.ctor", "a.preStart", "a.note(1)");
    kit_order(k, "a.preStart", "a.note(2)");
}

/* ---- PK-08 ---- */

static axo_status tm_pill_key(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    KIT_REQUIRE(self->k, axo_timer_start(ctx, 1, AXO_TIMER_FIXED_RATE, MS, MS, AXO_TIMER_POISON,
                                         NULL, 0) == AXO_OK);
    return AXO_OK;
}

static void PK_08(kit *k)
{
    kit_family f = kit_tree(k, "a, b, c");
    kit_run(k, f.a, tm_pill_key, NULL);
    assert_int_equal(
        axo_system_schedule_once(kit_system(k), MS, kit_ref(f.b), AXO_TIMER_POISON, NULL, 0, NULL),
        AXO_OK);
    assert_int_equal(
        axo_system_schedule_once(kit_system(k), MS, kit_ref(f.c), AXO_TIMER_KILL, NULL, 0, NULL),
        AXO_OK);
    kit_await_all(k, "a.terminated", "b.terminated", "c.terminated");
    kit_order(k, "a.postStop", "a.terminated");
    kit_expect(k, "a.fail=0", "b.fail=0", "c.fail=1");
}

/* ---- TM-08..TM-10: raw ---- */

typedef struct tm_raw {
    kit_script *to;
    axo_timer timer;
    int64_t set_at;
} tm_raw;

static axo_status tm_raw_late(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    tm_raw *raw = arg;
    kit_payload order = tm_value(1);
    kit_mark(self, "sets", 0);
    KIT_REQUIRE(self->k, axo_schedule_once(ctx, 3 * MS, kit_ref(raw->to), KIT_NOTE, &order,
                                           sizeof order, &raw->timer) == AXO_OK);
    return AXO_OK;
}

static axo_status tm_cancel(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    kit_mark(self, "cancel", axo_timer_cancel(ctx, ((tm_raw *)arg)->timer));
    return AXO_OK;
}

/* Never early; a cancel before is true once, a cancel after is false, from any thread. */
static void TM_08(kit *k)
{
    kit_family f = kit_tree(k, "a, b");
    tm_raw raw = {.to = f.b};
    kit_payload order = tm_value(2);
    axo_timer timer;
    kit_run(k, f.a, tm_raw_late, &raw);
    kit_await(k, "b.note(1)");
    assert_true(kit_find(k, "b.note(1)").time_ns - kit_find(k, "a.sets").time_ns >= 3 * MS);
    kit_run(k, f.a, tm_cancel, &raw);
    kit_await(k, "a.cancel(0)");
    assert_false(axo_system_timer_cancel(kit_system(k), raw.timer));
    assert_int_equal(axo_system_schedule_once(kit_system(k), TM_FAR, kit_ref(f.b), KIT_NOTE, &order,
                                              sizeof order, &raw.timer),
                     AXO_OK);
    assert_int_equal(axo_system_schedule_fixed_rate(kit_system(k), TM_FAR, 1, kit_ref(f.b),
                                                    KIT_NOTE, &order, sizeof order, &timer),
                     AXO_OK);
    kit_run(k, f.a, tm_cancel, &raw);
    kit_await(k, "a.cancel(1)");
    assert_false(axo_system_timer_cancel(kit_system(k), raw.timer));
    assert_true(axo_system_timer_cancel(kit_system(k), timer));
    assert_false(axo_system_timer_cancel(kit_system(k), timer));
    kit_settle(k);
    kit_expect(k, "b.note(2)=0", "b.dl=0");
    kit_finish(k);
}

/* A periodic timer ends with its receiver: without a dead letter, and its handle is stale. */
static void TM_08_dead(kit *k)
{
    kit_family f = kit_tree(k, "b, c");
    kit_payload order = tm_value(2);
    axo_timer timer;
    assert_int_equal(axo_system_schedule_fixed_rate(kit_system(k), MS, MS, kit_ref(f.b), KIT_NOTE,
                                                    &order, sizeof order, &timer),
                     AXO_OK);
    kit_await(k, "b.note(2)@2");
    assert_int_equal(axo_system_stop_actor(kit_system(k), kit_ref(f.b)), AXO_OK);
    kit_await(k, "user.child_gone(b)");
    uint32_t letters = 0; /* of those that were in the mailbox at its end */
    for (uint32_t i = 1; i <= 5; i++) { /* long enough for it to have come up */
        axo_system_schedule_once(kit_system(k), 2 * MS, kit_ref(f.c), KIT_NOTE, &order,
                                 sizeof order, NULL);
        kit_await_count(k, "c.note(2)", i);
        letters = i == 1 ? kit_count(k, "b.dl") : letters;
    }
    assert_true(kit_count(k, "b.dl") <= letters + 1); /* the last of them may be told late */
    assert_false(axo_system_timer_cancel(kit_system(k), timer));
    kit_finish(k);
}

static void TM_09(kit *k)
{
    kit_family f = kit_tree(k, "p(a)");
    kit_payload order = tm_value(1);
    axo_timer timer;
    assert_int_equal(axo_system_schedule_fixed_delay(kit_system(k), MS, MS, kit_ref(f.a), KIT_NOTE,
                                                     &order, sizeof order, &timer),
                     AXO_OK);
    kit_await(k, "a#1.note(1)@2");
    kit_tell(k, f.a, KIT_FAIL, KIT_DO_RESTART);
    kit_await(k, "a#2.note(1)@2");
    assert_true(axo_system_timer_cancel(kit_system(k), timer));
    kit_finish(k);
}

/* The only worker oversleeps: one handler takes 300 periods. */
static axo_status tm_oversleep(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    axo_ref to = kit_ref(arg);
    kit_payload one = tm_value(1);
    kit_payload two = tm_value(2);
    kit_mark(self, "sets", 0);
    KIT_REQUIRE(self->k, axo_schedule_fixed_rate(ctx, MS, MS, to, KIT_NOTE, &one, sizeof one,
                                                 NULL) == AXO_OK);
    KIT_REQUIRE(self->k, axo_schedule_fixed_delay(ctx, MS, MS, to, KIT_NOTE, &two, sizeof two,
                                                  NULL) == AXO_OK);
    int64_t until = tm_now() + 300 * MS;
    while (tm_now() < until)
        continue;
    return AXO_OK;
}

static void TM_10(kit *k)
{
    kit_family f = kit_tree(k, "a, b");
    kit_run(k, f.a, tm_oversleep, f.b);
    kit_await(k, "b.note(1)@300");
    int64_t at = kit_find(k, "b.note(1)@300").time_ns;
    assert_true(at - kit_find(k, "a.sets").time_ns >= 300 * MS);
    kit_await(k, "b.note(2)@290");
    kit_order(k, "b.note(1)@300", "b.note(2)@290"); /* else nothing was caught up on */
    for (int64_t n = 2; n <= 5; n++) { /* never early; host_test jumps the clock */
        char pattern[32];
        (void)snprintf(pattern, sizeof pattern, "b.note(2)@%d", (int)n);
        kit_await(k, pattern);
        assert_true(kit_find(k, pattern).time_ns - kit_find(k, "a.sets").time_ns >= n * MS);
    }
}

/* ---- the end ---- */

static axo_status tm_schedule_now(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    kit_payload order = tm_value(3);
    KIT_REQUIRE(self->k, axo_schedule_once(ctx, TM_FAR, self->ref, KIT_NOTE, &order, sizeof order,
                                           NULL) == AXO_OK);
    return AXO_OK;
}

static axo_status tm_hook(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    KIT_REQUIRE(self->k, axo_termination_hook(ctx) == AXO_OK);
    kit_mark(self, "hooked", 0);
    return AXO_OK;
}

static axo_status tm_hook_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    if (message->tag != AXO_TERMINATION_HOOK)
        return kit_receive(ctx, state, message);
    kit_mark(state, "hook", 0);
    return axo_termination_hook_done(ctx);
}

/* Marked timers are sent when /user begins to stop; others are dropped and counted at the end;
 * then nothing can be scheduled and nothing cancelled. */
static void SH_08(void **state)
{
    kit *k = kit_start(state, NULL);
    kit_family f = kit_plan(k, "a, -s");
    kit_payload order = tm_value(1);
    kit_payload other = tm_value(2);
    axo_timer marked[2];
    axo_timer plain;
    axo_system *system = kit_system(k);
    f.a->post_stop.run = tm_schedule_now;
    kit_grow(&f);
    assert_int_equal(kit_spawn_system(k, f.s), AXO_OK);
    kit_await_all(k, "a.preStart", "s.preStart");
    part_tell_become(k, f.s, tm_hook_receive);
    kit_run(k, f.s, tm_hook, NULL);
    kit_await(k, "s.hooked");
    axo_system_schedule_once(system, TM_FAR, kit_ref(f.s), KIT_NOTE, &order, sizeof order,
                             &marked[0]);
    axo_system_schedule_fixed_rate(system, TM_FAR, MS, kit_ref(f.a), KIT_NOTE, &order, sizeof order,
                                   &marked[1]);
    axo_system_schedule_once(system, TM_FAR, kit_ref(f.s), KIT_NOTE, &other, sizeof other, &plain);
    assert_true(axo_system_timer_at_close(system, marked[0]));
    assert_true(axo_system_timer_at_close(system, marked[0]));
    assert_true(axo_system_timer_at_close(system, marked[1]));
    kit_settle(k);
    uint64_t dropped = kit_stats(k).dropped;
    assert_int_equal(axo_system_stop(system, -1, NULL, 0, NULL), AXO_OK);
    kit_order(k, "user.directive(STOP)", "s.note(1)", "s.hook");
    kit_expect_count(k, "s.note(1)", 1);
    /* It is told to end right after, and may come to the message before. */
    assert_int_equal(kit_count(k, "a.note(1)") + kit_count(k, "a.dl(NOTE)"), 1);
    kit_never(k, "s.note(2)");
    assert_int_equal(kit_stats(k).dropped - dropped, 2); /* plain's, post_stop's */
    assert_int_equal(
        axo_system_schedule_once(system, 0, kit_ref(f.a), KIT_NOTE, &order, sizeof order, &plain),
        AXO_ESTOPPING);
    assert_int_equal(plain.bits, 0);
    assert_false(axo_system_timer_cancel(system, marked[0]));
    assert_false(axo_system_timer_at_close(system, marked[0]));
    kit_finish_now(k);
}

static const struct CMUnitTest tests[] = {
    KIT_TEST("TM-01", TM_01),
    KIT_TEST("TM-01 queued", TM_01_queued),
    KIT_TEST("TM-01 queued periodic", TM_01_queued_periodic),
    KIT_TEST("TM-02", TM_02),
    KIT_TEST("TM-02 many", TM_02_many),
    KIT_TEST("TM-02 holes", TM_02_holes),
    KIT_TEST("TM-03", TM_03),
    KIT_TEST("TM-03 same key", TM_03_same_key),
    KIT_TEST("TM-04", TM_04),
    KIT_TEST("TM-05", TM_05),
    KIT_TEST("TM-06", TM_06),
    KIT_TEST("TM-07", TM_07),
    KIT_TEST("TM-08", TM_08),
    KIT_TEST("TM-08 dead", TM_08_dead),
    KIT_TEST("TM-09", TM_09),
    KIT_TEST_ONE("TM-10", TM_10, 1, "worker"),
    KIT_TEST("PK-08", PK_08),
    KIT_TEST("SH-08", SH_08),
};
TEST_MAIN(tests)
