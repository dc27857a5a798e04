/* di_mailbox_test.c - mailboxes with a bound or an order of their own (DI-06, OR-12, DL-07, PH-27):
 * what is refused, dropped, and in which order the rest comes. Parked senders: di_park_test.c. */
#include <sched.h>
#include <string.h>

#include "conformance/parts.h"

/* A note's priority is the ten of its value; what else the kit sends comes as 0. */
static uint32_t di_ten(const axo_message *message, void *user)
{
    if (message->tag == AXO_TERMINATED)
        return 9;
    if (message->tag != KIT_NOTE || message->size != sizeof(kit_payload))
        return 0;
    return (uint32_t)(AXO_PAYLOAD(message, kit_payload)->value / 10);
}

/* r, at a gate inside a message, with a mailbox. */
static kit_script *di_held(kit *k, const axo_mailbox *mailbox, kit_gate *gate)
{
    kit_script *r = kit_actor(k, "r");
    r->mailbox = mailbox;
    (void)kit_spawn(k, r);
    assert_int_equal(kit_run(k, r, part_hold, gate), AXO_OK);
    kit_gate_arrived(gate, 1);
    return r;
}

static void DI_06_refuse(kit *k)
{
    static const axo_mailbox mailbox = AXO_MAILBOX(.messages_max = 10);
    kit_gate *gate = kit_gate_new(k);
    kit_script *r = di_held(k, &mailbox, gate);
    for (int64_t i = 1; i <= 10; i++)
        assert_int_equal(kit_tell(k, r, KIT_NOTE, i), AXO_OK);
    axo_stats before = kit_stats(k);
    for (int64_t i = 11; i <= 20; i++)
        assert_int_equal(kit_tell(k, r, KIT_NOTE, i), AXO_EFULL);
    axo_stats after = kit_stats(k);
    assert_int_equal(after.sent, before.sent);
    assert_int_equal(after.dead, before.dead);
    kit_gate_open(gate);
    kit_await(k, "r.note(10)");
    kit_order(k, "r.end", "r.note(1)", "r.note(2)", "r.note(9)", "r.note(10)");
    assert_int_equal(kit_tell(k, r, KIT_NOTE, 21), AXO_OK);
    kit_await(k, "r.note(21)");
    kit_expect_count(k, "r.note", 11);
}

/* A refused payload and a refused draft are still the sender's. */
static void di_never(void *payload, void *user)
{
    kit_problem(user, "a refused payload was freed");
}

static axo_status di_refused(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    axo_ref r = kit_ref(arg);
    axo_draft *draft;
    void *payload;
    KIT_REQUIRE(self->k, axo_send(ctx, r, KIT_OTHER, NULL, 0) == AXO_EFULL);
    KIT_REQUIRE(self->k, axo_send_owned(ctx, r, KIT_OTHER, self, 1, di_never, self->k) ==
                             AXO_EFULL);
    KIT_REQUIRE(self->k, axo_message_new(ctx, KIT_OTHER, 8, &draft, &payload) == AXO_OK);
    KIT_REQUIRE(self->k, axo_send_message(ctx, r, draft) == AXO_EFULL);
    memset(payload, 7, 8);
    KIT_REQUIRE(self->k, axo_send_message(ctx, self->ref, draft) == AXO_OK);
    KIT_REQUIRE(self->k, axo_forward(ctx, self->message, r) == AXO_EFULL);
    KIT_REQUIRE(self->k, self->message->payload != NULL);
    kit_mark(self, "refused", 0);
    return AXO_OK;
}

static void DI_06_refused_inside(kit *k)
{
    static const axo_mailbox mailbox = AXO_MAILBOX(.messages_max = 1);
    kit_gate *gate = kit_gate_new(k);
    kit_script *r = di_held(k, &mailbox, gate);
    kit_script *s = kit_top(k, "s");
    assert_int_equal(kit_tell(k, r, KIT_NOTE, 1), AXO_OK);
    assert_int_equal(axo_system_send_owned(kit_system(k), kit_ref(r), KIT_OTHER, k, 1, di_never,
                                           k),
                     AXO_EFULL);
    kit_run(k, s, di_refused, r);
    kit_await(k, "s.stash(OTHER)");
    kit_gate_open(gate);
    kit_await(k, "r.note(1)");
    kit_never(k, "r.stash");
}

static void DI_06_bytes(kit *k)
{
    static const axo_mailbox mailbox = AXO_MAILBOX(.bytes_max = 4096);
    kit_gate *gate = kit_gate_new(k);
    kit_script *r = di_held(k, &mailbox, gate);
    uint32_t accepted = 0;
    while (kit_tell(k, r, KIT_NOTE, accepted + 1) == AXO_OK)
        accepted++;
    assert_true(accepted >= 4096 / (2 * (64 + sizeof(kit_payload))));
    assert_true(accepted <= 4096 / sizeof(kit_payload));
    kit_gate_open(gate);
    kit_await_count(k, "r.note", accepted);
}

/* The runtime's own messages pass any bound: poison, kill, notices. */
static void DI_06_unbounded_kinds(kit *k)
{
    static const axo_mailbox mailbox = AXO_MAILBOX(.messages_max = 2);
    kit_gate *gate = kit_gate_new(k);
    kit_family f = kit_plan(k, "x, r");
    f.r->mailbox = &mailbox;
    kit_grow(&f);
    part_watched_by(k, f.x, f.r);
    kit_run(k, f.r, part_hold, gate);
    kit_gate_arrived(gate, 1);
    assert_int_equal(kit_tell(k, f.r, KIT_NOTE, 1), AXO_OK);
    assert_int_equal(kit_tell(k, f.r, KIT_NOTE, 2), AXO_OK);
    axo_system_stop_actor(kit_system(k), kit_ref(f.x));
    kit_await(k, "user.child_gone(x)");
    assert_int_equal(kit_tell(k, f.r, KIT_NOTE, 3), AXO_EFULL);
    assert_int_equal(axo_system_poison(kit_system(k), kit_ref(f.r)), AXO_OK);
    kit_gate_open(gate);
    kit_await(k, "user.child_gone(r)");
    kit_order(k, "r.note(1)", "r.note(2)", "r.postStop");
}

/* The notice is queued whatever the bound, behind what came before it, and never dropped. */
static void PH_27(kit *k)
{
    static const axo_mailbox mailbox =
        AXO_MAILBOX(.overflow = AXO_OVERFLOW_DROP_OLD, .messages_max = 2);
    kit_gate *gate = kit_gate_new(k);
    kit_gate *first = kit_gate_new(k);
    kit_family f = kit_plan(k, "x, r");
    f.r->mailbox = &mailbox;
    kit_grow(&f);
    part_watched_by(k, f.x, f.r);
    kit_run(k, f.r, part_hold, first);
    kit_gate_arrived(first, 1);
    axo_system_stop_actor(kit_system(k), kit_ref(f.x));
    kit_await(k, "user.child_gone(x)");
    kit_run(k, f.r, part_hold, gate);
    kit_gate_open(first); /* between the two r hears of it, and queues the notice */
    kit_gate_arrived(gate, 1);
    kit_await(k, "r.notice(x)");
    for (int64_t i = 1; i <= 6; i++)
        assert_int_equal(kit_tell(k, f.r, KIT_NOTE, i), AXO_OK);
    kit_expect_count(k, "r.dl(NOTE)", 4); /* the tag of a note */
    kit_gate_open(gate);
    kit_await_all(k, "r.note(6)", "r.term(x)");
    kit_order(k, "r.note(5)", "r.note(6)");
    kit_expect(k, "r.note=2", "r.term=1");
}

/* ---- the dead letters themselves ------------------------------------------------------------- */

typedef struct dl_seen {
    axo_dead_letter last;
    int64_t value;
    uint32_t count;
} dl_seen;

static void dl_see(void *user, const axo_dead_letter *letter)
{
    dl_seen *seen = user;
    if (letter->reason != AXO_DEAD_OVERFLOW)
        return;
    seen->last = *letter;
    seen->value = *AXO_PAYLOAD(letter->message, int64_t);
    seen->count++;
}

static axo_status dl_fill(axo_ctx *ctx, void *state, const axo_message *message)
{
    axo_ref self = axo_self(ctx);
    if (message->tag != 1)
        return AXO_OK;
    for (int64_t i = 1; i <= 3; i++) { /* the sender is itself, inside its handler */
        if (axo_send(ctx, self, 2, &i, sizeof i) != AXO_OK)
            return axo_fail(ctx, 1, "send");
    }
    return AXO_OK;
}

static void dl_overflow(void **state, axo_overflow overflow, int64_t value)
{
    axo_mailbox mailbox = AXO_MAILBOX(.overflow = overflow, .messages_max = 2);
    static const axo_class cls = AXO_CLASS(.receive = dl_fill);
    dl_seen seen = {.count = 0};
    axo_props props = AXO_PROPS(.cls = &cls, .mailbox = &mailbox);
    axo_options options = AXO_OPTIONS(.workers = (uint32_t)(uintptr_t)*state,
                                      .on_dead_letter = dl_see, .dead_letter_user = &seen);
    axo_stats stats = AXO_STATS(.sent = 0);
    axo_system *system;
    axo_ref r;
    *state = NULL;
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    assert_int_equal(axo_system_spawn(system, &props, &r), AXO_OK);
    memset(&mailbox, 0xff, sizeof mailbox); /* it was copied */
    assert_int_equal(axo_system_send(system, r, 1, NULL, 0), AXO_OK);
    while (axo_system_stats(system, &stats) == AXO_OK && stats.handled + stats.dead < 4)
        sched_yield();
    assert_int_equal(axo_system_stop(system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_stats(system, &stats), AXO_OK);
    assert_int_equal(seen.count, 1);
    assert_int_equal(seen.value, value);
    assert_int_equal(seen.last.recipient.bits, r.bits);
    assert_int_equal(seen.last.suppressed, 0);
    assert_int_equal(stats.sent, 4);
    assert_int_equal(stats.handled, 3);
    assert_int_equal(stats.dead, 1);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
}

static void DL_07(void **state)
{
    dl_overflow(state, AXO_OVERFLOW_DROP_NEW, 3);
}

static void DL_07_old(void **state)
{
    dl_overflow(state, AXO_OVERFLOW_DROP_OLD, 1);
}

/* From outside the observer runs on the caller's thread, outside of every lock. */
static void DL_07_outside(kit *k)
{
    static const axo_mailbox mailbox =
        AXO_MAILBOX(.overflow = AXO_OVERFLOW_DROP_NEW, .messages_max = 10);
    kit_gate *gate = kit_gate_new(k);
    kit_script *r = di_held(k, &mailbox, gate);
    for (int64_t i = 1; i <= 10; i++)
        assert_int_equal(kit_tell(k, r, KIT_NOTE, i), AXO_OK);
    kit_never(k, "r.dl");
    assert_int_equal(kit_tell(k, r, 1001, 11), AXO_OK);
    kit_expect_count(k, "r.dl(1001)", 1);
    assert_int_equal(kit_stats(k).dead, 1);
    kit_gate_open(gate);
    kit_await(k, "r.note(10)");
    kit_never(k, "r.stash");
}

/* ---- orders ---------------------------------------------------------------------------------- */

static void OR_12_priority(kit *k)
{
    static const axo_mailbox mailbox =
        AXO_MAILBOX(.kind = AXO_MAILBOX_PRIORITY, .priority = di_ten);
    static const int64_t values[] = {31, 12, 21, 32, 11, 33, 22, 5};
    kit_gate *gate = kit_gate_new(k);
    kit_script *r = di_held(k, &mailbox, gate);
    for (uint32_t i = 0; i < 8; i++)
        kit_tell(k, r, KIT_NOTE, values[i]);
    kit_gate_open(gate);
    kit_await(k, "r.note(33)");
    kit_order(k, "r.end", "r.note(5)", "r.note(12)", "r.note(11)", "r.note(21)", "r.note(22)",
              "r.note(31)", "r.note(32)", "r.note(33)");
}

static void OR_12_control(kit *k)
{
    static const axo_mailbox mailbox =
        AXO_MAILBOX(.kind = AXO_MAILBOX_CONTROL, .priority = di_ten);
    static const int64_t values[] = {31, 12, 2, 32, 1, 11};
    kit_gate *gate = kit_gate_new(k);
    kit_script *r = di_held(k, &mailbox, gate);
    for (uint32_t i = 0; i < 6; i++)
        kit_tell(k, r, KIT_NOTE, values[i]);
    kit_gate_open(gate);
    kit_await(k, "r.note(11)");
    kit_order(k, "r.end", "r.note(2)", "r.note(1)", "r.note(31)", "r.note(12)", "r.note(32)",
              "r.note(11)");
}

/* What the system says comes before the most urgent message; what is left is in order. */
static void OR_12_system_first(kit *k)
{
    static const axo_mailbox mailbox =
        AXO_MAILBOX(.kind = AXO_MAILBOX_PRIORITY, .priority = di_ten);
    kit_gate *gate = kit_gate_new(k);
    kit_script *r = di_held(k, &mailbox, gate);
    kit_tell(k, r, 1002, 0);
    kit_tell(k, r, KIT_NOTE, 25);
    kit_tell(k, r, 1001, 0);
    axo_system_stop_actor(kit_system(k), kit_ref(r));
    kit_gate_open(gate);
    kit_await(k, "user.child_gone(r)");
    kit_expect(k, "r.note=0", "r.stash=0");
    kit_order(k, "r.end", "r.postStop", "r.dl(1002)", "r.dl(1001)", "r.dl(NOTE)");
}

/* A restart keeps the mailbox, its order and what is in it; the stash comes first. */
static axo_status di_keep(axo_ctx *ctx, void *state, const axo_message *message)
{
    kit_puppet *self = state;
    if (message->tag != KIT_NOTE)
        return kit_receive(ctx, state, message);
    KIT_REQUIRE(self->k, axo_stash(ctx) == AXO_OK);
    kit_mark(self, "kept", AXO_PAYLOAD(message, kit_payload)->value);
    return AXO_OK;
}

static void OR_12_restart(kit *k)
{
    static const axo_mailbox mailbox =
        AXO_MAILBOX(.kind = AXO_MAILBOX_PRIORITY, .priority = di_ten, .messages_max = 3);
    kit_family f = kit_plan(k, "r");
    part_blow *blow = part_blow_new(k, 5);
    f.r->mailbox = &mailbox;
    kit_grow(&f);
    part_tell_become(k, f.r, di_keep);
    kit_tell(k, f.r, KIT_NOTE, 98);
    kit_await(k, "r.kept(98)");
    kit_tell(k, f.r, KIT_NOTE, 99);
    kit_await(k, "r.kept(99)");
    kit_run(k, f.r, part_hold_fail, blow);
    kit_gate_arrived(blow->gate, 1);
    kit_tell(k, f.r, KIT_NOTE, 30);
    kit_tell(k, f.r, KIT_NOTE, 20);
    kit_tell(k, f.r, KIT_NOTE, 10);
    assert_int_equal(kit_tell(k, f.r, KIT_NOTE, 1), AXO_EFULL);
    kit_gate_open(blow->gate);
    kit_await(k, "r#2.note(30)");
    kit_order(k, "r#2.ctor", "r#2.note(98)", "r#2.note(99)", "r#2.note(10)", "r#2.note(20)",
              "r#2.note(30)");
}

/* ---- timers, looks --------------------------------------------------------------------------- */

static axo_status di_after(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    kit_payload order = {.value = 7};
    KIT_REQUIRE(self->k,
                axo_send_after(ctx, 0, kit_ref(arg), 1003, &order, sizeof order) == AXO_OK);
    return AXO_OK;
}

/* Nobody can be told no when a timer fires: what finds no room is a dead letter. */
static void DI_06_timer(kit *k)
{
    static const axo_mailbox boxes[] = {
        AXO_MAILBOX(.messages_max = 1),
        AXO_MAILBOX(.messages_max = 1, .overflow = AXO_OVERFLOW_PARK)};
    kit_script *s = kit_top(k, "s");
    for (uint32_t i = 0; i < 2; i++) {
        kit_gate *gate = kit_gate_new(k);
        kit_script *r = di_held(k, &boxes[i], gate);
        assert_int_equal(kit_tell(k, r, KIT_NOTE, 1), AXO_OK);
        kit_run(k, s, di_after, r);
        kit_await_count(k, "r.dl(1003)", i + 1);
        kit_gate_open(gate);
        kit_await_count(k, "r.note(1)", i + 1);
        axo_system_stop_actor(kit_system(k), kit_ref(r));
        kit_await_count(k, "r.terminated", i + 1);
        kit_await_count(k, "user.child_gone", i + 1);
    }
    kit_expect(k, "s.park=0", "r.stash=0");
}

/* One that counts is counted even while it runs. */
static void DI_06_counted(kit *k)
{
    static const axo_mailbox mailbox = AXO_MAILBOX(.kind = AXO_MAILBOX_FIFO);
    kit_gate *gate = kit_gate_new(k);
    kit_script *q = kit_top(k, "q");
    kit_script *r = di_held(k, &mailbox, gate);
    axo_actor_info info = AXO_ACTOR_INFO(.queued = 0);
    kit_tell(k, r, KIT_NOTE, 1);
    kit_tell(k, r, KIT_NOTE, 2);
    kit_tell_as(k, q, r, KIT_NOTE, 3);
    assert_int_equal(axo_system_inspect(kit_system(k), kit_ref(r), kit_ref(q), &info), AXO_OK);
    assert_int_equal(info.doing, AXO_DOING_RUNNING);
    assert_int_equal(info.counted, AXO_COUNTED_ALL);
    assert_int_equal(info.queued, 3);
    assert_int_equal(info.place, 3);
    kit_gate_open(gate);
    kit_await(k, "r.note(3)");
    kit_settle(k);
    assert_int_equal(axo_system_inspect(kit_system(k), kit_ref(r), kit_ref(q), &info), AXO_OK);
    assert_int_equal(info.queued, 0);
    assert_int_equal(info.place, 0);
    kit_finish(k);
}

/* ---- misuse ---------------------------------------------------------------------------------- */

static axo_status di_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)ctx, (void)state, (void)message;
    return AXO_OK;
}

static void DI_06_misuse(kit *k)
{
    static const axo_class cls = AXO_CLASS(.receive = di_receive);
    struct {
        axo_mailbox mailbox;
        uint64_t more;
    } longer = {.mailbox = AXO_MAILBOX(.messages_max = 1), .more = 0};
    const struct {
        axo_mailbox mailbox;
        axo_status status;
    } all[] = {
        {{.size = 0}, AXO_EINVAL},
        {AXO_MAILBOX(.kind = (axo_mailbox_kind)3, .priority = di_ten), AXO_EINVAL},
        {AXO_MAILBOX(.overflow = (axo_overflow)4, .messages_max = 1), AXO_EINVAL},
        {AXO_MAILBOX(.overflow = AXO_OVERFLOW_DROP_NEW), AXO_EINVAL},
        {AXO_MAILBOX(.overflow = AXO_OVERFLOW_DROP_OLD), AXO_EINVAL},
        {AXO_MAILBOX(.overflow = AXO_OVERFLOW_PARK), AXO_EINVAL},
        {AXO_MAILBOX(.kind = AXO_MAILBOX_PRIORITY), AXO_EINVAL},
        {AXO_MAILBOX(.kind = AXO_MAILBOX_CONTROL, .messages_max = 1), AXO_EINVAL},
        {AXO_MAILBOX(.kind = AXO_MAILBOX_FIFO, .priority = di_ten), AXO_EINVAL},
        {AXO_MAILBOX(.kind = AXO_MAILBOX_PRIORITY, .overflow = AXO_OVERFLOW_DROP_OLD,
                     .messages_max = 1, .priority = di_ten),
         AXO_EINVAL},
        {AXO_MAILBOX(.kind = AXO_MAILBOX_CONTROL, .overflow = AXO_OVERFLOW_DROP_OLD, .bytes_max = 1,
                     .priority = di_ten),
         AXO_OK},
    };
    axo_ref ref;
    for (uint32_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        axo_props props = AXO_PROPS(.cls = &cls, .mailbox = &all[i].mailbox);
        uint64_t spawned = kit_stats(k).spawned;
        assert_int_equal(axo_system_spawn(kit_system(k), &props, &ref), all[i].status);
        assert_int_equal(axo_ref_is_none(ref), all[i].status != AXO_OK);
        assert_int_equal(kit_stats(k).spawned, spawned + (all[i].status == AXO_OK));
    }
    axo_props props = AXO_PROPS(.cls = &cls, .mailbox = &longer.mailbox);
    longer.mailbox.size = sizeof longer;
    assert_int_equal(axo_system_spawn(kit_system(k), &props, &ref), AXO_OK);
    longer.more = 1;
    assert_int_equal(axo_system_spawn(kit_system(k), &props, &ref), AXO_EVERSION);
    axo_mailbox shorter = AXO_MAILBOX(.messages_max = 1); /* what is behind is not looked at */
    shorter.size = offsetof(axo_mailbox, priority);
    shorter.priority = di_ten;
    props.mailbox = &shorter;
    assert_int_equal(axo_system_spawn(kit_system(k), &props, &ref), AXO_OK);
    kit_finish(k);
}

static const struct CMUnitTest tests[] = {
    KIT_TEST("DI-06 refuse", DI_06_refuse),
    PART_TEST_MANY("DI-06 refused inside", DI_06_refused_inside),
    KIT_TEST("DI-06 bytes", DI_06_bytes),
    PART_TEST_MANY("DI-06 unbounded kinds", DI_06_unbounded_kinds),
    PART_TEST_MANY("DI-06 timer", DI_06_timer),
    KIT_TEST("DI-06 counted", DI_06_counted),
    KIT_TEST("DI-06 misuse", DI_06_misuse),
    KIT_TEST("DL-07", DL_07),
    KIT_TEST("DL-07 oldest", DL_07_old),
    KIT_TEST("DL-07 outside", DL_07_outside),
    PART_TEST_MANY("PH-27", PH_27),
    KIT_TEST("OR-12 priority", OR_12_priority),
    KIT_TEST("OR-12 control", OR_12_control),
    KIT_TEST("OR-12 system first", OR_12_system_first),
    KIT_TEST("OR-12 restart", OR_12_restart),
};

TEST_MAIN(tests)
