/* di_park_test.c - senders that are parked until a mailbox has room (DI-06), and what ends the
 * parking (SC-13). */
#include <sched.h>

#include "conformance/parts.h"

static const axo_mailbox one_message =
    AXO_MAILBOX(.overflow = AXO_OVERFLOW_PARK, .messages_max = 1);

/* r, whose mailbox has room for one message, at a gate inside one. */
static kit_script *di_narrow(kit *k, const char *label, kit_gate *gate)
{
    kit_script *r = kit_actor(k, label);
    r->mailbox = &one_message;
    (void)kit_spawn(k, r);
    assert_int_equal(kit_run(k, r, part_hold, gate), AXO_OK);
    kit_gate_arrived(gate, 1);
    return r;
}

typedef struct di_burst {
    kit_script *to;
    int64_t first;
    int64_t last;
    axo_status result; /* of the callback */
    bool throws;
} di_burst;

/* Sends notes, all in one callback. */
static axo_status di_send(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    const di_burst *burst = arg;
    for (int64_t i = burst->first; i <= burst->last; i++)
        KIT_REQUIRE(self->k, kit_tell_in(ctx, kit_ref(burst->to), KIT_NOTE, i) == AXO_OK);
    kit_mark(self, "sent", burst->last);
    if (burst->throws)
        axo_throw(ctx, burst->result, "parked and thrown");
    return burst->result;
}

static di_burst *di_burst_new(kit *k, kit_script *to, int64_t first, int64_t last)
{
    di_burst *burst = kit_alloc(k, sizeof *burst);
    *burst = (di_burst){.to = to, .first = first, .last = last};
    return burst;
}

/* The handler goes on; the next message waits for room. */
static void DI_06_park(kit *k)
{
    kit_gate *gate = kit_gate_new(k);
    kit_script *r = di_narrow(k, "r", gate);
    kit_script *s = kit_top(k, "s");
    axo_stats before = kit_stats(k);
    kit_run(k, s, di_send, di_burst_new(k, r, 1, 4));
    kit_tell(k, s, KIT_NOTE, 9);
    kit_await(k, "s.sent(4)");
    kit_expect_count(k, "s.park", 1);
    assert_int_equal(kit_stats(k).sent - before.sent, 6); /* what is held is sent (D7) */
    kit_gate_open(gate);
    kit_await_all(k, "s.note(9)", "r.note(4)");
    kit_order(k, "s.park(r)", "s.sent(4)", "s.unpark", "s.note(9)");
    kit_order(k, "r.end", "r.note(1)", "r.note(2)", "r.note(3)", "r.note(4)");
    kit_order(k, "r.end", "s.unpark");
}

/* It handles what the system says, and reports say what it is at. */
static void DI_06_park_system(kit *k)
{
    kit_gate *gate = kit_gate_new(k);
    kit_script *r = di_narrow(k, "r", gate);
    kit_family f = kit_tree(k, "s(c)");
    axo_actor_info info = AXO_ACTOR_INFO(.queued = 0);
    kit_run(k, f.s, di_send, di_burst_new(k, r, 1, 2));
    kit_await(k, "s.park(r)");
    kit_tell(k, f.s, KIT_NOTE, 9);
    kit_tell(k, f.c, KIT_FAIL, 102); /* its supervisor decides */
    kit_await(k, "c#2.preStart");
    kit_never(k, "s.note");
    do
        assert_int_equal(axo_system_inspect(kit_system(k), kit_ref(f.s), kit_ref(r), &info),
                         AXO_OK);
    while (info.doing == AXO_DOING_RUNNING);
    assert_int_equal(info.doing, AXO_DOING_PARKED);
    assert_true(axo_ref_equal(info.waits_for, kit_ref(r)));
    assert_int_equal(info.suspends, 0);
    kit_gate_open(gate);
    kit_await_all(k, "s.note(9)", "r.note(2)");
    kit_finish(k);
}

/* A child that a parked actor spawns is not parked with it (SC-03 is of suspensions). */
static axo_status di_send_spawn(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    (void)di_send(ctx, self, arg);
    return kit_spawn_in(ctx, self->script->user);
}

static void DI_06_park_spawn(kit *k)
{
    kit_gate *gate = kit_gate_new(k);
    kit_script *r = di_narrow(k, "r", gate);
    kit_family f = kit_tree(k, "s, -c");
    f.s->user = f.c;
    kit_run(k, f.s, di_send_spawn, di_burst_new(k, r, 1, 2));
    kit_await(k, "c.preStart");
    kit_tell(k, f.c, KIT_NOTE, 5);
    kit_await(k, "c.note(5)");
    kit_never(k, "s.unpark");
    kit_gate_open(gate);
    kit_await_all(k, "s.unpark", "r.note(2)");
}

/* Parked at two: it goes on when both have room. */
static axo_status di_send_both(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    di_burst **bursts = arg;
    (void)di_send(ctx, self, bursts[0]);
    return di_send(ctx, self, bursts[1]);
}

static void DI_06_park_two(kit *k)
{
    kit_gate *gates[2] = {kit_gate_new(k), kit_gate_new(k)};
    kit_script *r = di_narrow(k, "r", gates[0]);
    kit_script *q = di_narrow(k, "q", gates[1]);
    kit_script *s = kit_top(k, "s");
    di_burst **bursts = kit_alloc(k, 2 * sizeof *bursts);
    bursts[0] = di_burst_new(k, r, 1, 3);
    bursts[1] = di_burst_new(k, q, 4, 6);
    kit_run(k, s, di_send_both, bursts);
    kit_tell(k, s, KIT_NOTE, 9);
    kit_await(k, "s.sent(6)");
    kit_expect_count(k, "s.park", 2);
    kit_gate_open(gates[0]);
    kit_await(k, "r.note(3)");
    kit_never(k, "s.unpark");
    kit_gate_open(gates[1]);
    kit_await_all(k, "s.note(9)", "q.note(6)");
    kit_order(k, "r.note(3)", "s.unpark", "s.note(9)");
    kit_order(k, "q.end", "s.unpark");
    kit_order(k, "q.note(4)", "q.note(5)", "q.note(6)");
    kit_finish(k);
}

/* Nobody is parked on himself, nor from outside. */
static void DI_06_park_nobody(kit *k)
{
    kit_family f = kit_plan(k, "r");
    kit_gate *gate = kit_gate_new(k);
    f.r->mailbox = &one_message;
    kit_grow(&f);
    kit_run(k, f.r, di_send, di_burst_new(k, f.r, 1, 5));
    kit_await(k, "r.note(5)");
    kit_order(k, "r.sent(5)", "r.note(1)", "r.note(2)", "r.note(3)", "r.note(4)", "r.note(5)");
    kit_settle(k);
    kit_run(k, f.r, part_hold, gate);
    kit_gate_arrived(gate, 1);
    assert_int_equal(kit_tell(k, f.r, KIT_NOTE, 6), AXO_OK);
    assert_int_equal(kit_tell(k, f.r, KIT_NOTE, 7), AXO_EFULL);
    kit_gate_open(gate);
    kit_await(k, "r.note(6)");
    kit_never(k, "r.park");
}

/* ---- what ends it ---------------------------------------------------------------------------- */

/* s sends 1..3 to r, is parked and fails in the same callback. What its parent decides is done at
 * once, while r is still held; it takes no message before there is room. */
static void sc_13(void **state, axo_directive directive, bool throws)
{
    kit *k = kit_start(state, NULL);
    kit_gate *gate = kit_gate_new(k);
    kit_script *r = di_narrow(k, "r", gate);
    kit_family f = kit_tree(k, "p(s)");
    di_burst *burst = di_burst_new(k, r, 1, 3);
    f.p->directive = directive;
    burst->result = 77;
    burst->throws = throws;
    kit_run(k, f.s, di_send, burst);
    kit_tell(k, f.s, KIT_NOTE, 9);
    kit_await(k, "s.resume");
    kit_never(k, "s.unpark");
    kit_gate_open(gate);
    kit_await_all(k, "s.note(9)", "r.note(3)");
    assert_int_equal(kit_find(k, "s.note(9)").suspends, 0);
    kit_order(k, "s.park(r)", "s.sent(3)", "s.suspend", "p.decided", "s.resume", "s.unpark",
              "s.note(9)");
    kit_order(k, "r.end", "r.note(1)", "r.note(2)", "r.note(3)");
    kit_expect_count(k, "s.park", 1);
    kit_finish(k);
}

static void SC_13_restart(void **state)
{
    sc_13(state, AXO_RESTART, false);
}

static void SC_13_throw(void **state)
{
    sc_13(state, AXO_RESTART, true);
}

static void SC_13_resume(void **state)
{
    sc_13(state, AXO_RESUME, false);
}

/* What is held of a parked one does not grow: hooks and deciders are told so. */
static axo_status di_refused(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    KIT_REQUIRE(self->k, kit_tell_in(ctx, kit_ref(arg), KIT_NOTE, 99) == AXO_EFULL);
    kit_mark(self, "refused", 0);
    return AXO_OK;
}

/* A sibling fails again and again, all are restarted: the parked one too. */
static void SC_13_sibling(kit *k)
{
    kit_gate *gate = kit_gate_new(k);
    kit_script *r = di_narrow(k, "r", gate);
    kit_family f = kit_tree(k, "p:all:restart(s,b)");
    kit_run(k, f.s, di_send, di_burst_new(k, r, 1, 3));
    kit_tell(k, f.s, KIT_NOTE, 9);
    kit_await(k, "s.sent(3)");
    f.s->pre_restart.run = di_refused;
    f.s->pre_restart.arg = r;
    f.s->post_restart.run = di_refused;
    f.s->post_restart.arg = r;
    for (uint32_t round = 1; round <= 10; round++) {
        kit_tell(k, f.b, KIT_FAIL, 7);
        kit_await_count(k, "s.refused", 2 * round);
        kit_await_count(k, "b.postRestart", round);
    }
    kit_expect(k, "s.unpark=0", "s.note=0");
    kit_gate_open(gate);
    kit_await_all(k, "s#11.note(9)", "r.note(3)");
    kit_order(k, "s#1.park(r)", "s#11.ctor", "s.unpark", "s#11.note(9)");
    kit_order(k, "r.note(1)", "r.note(2)", "r.note(3)");
    kit_settle(k);
    kit_expect_count(k, "r.note", 3);
}

/* Its children fail while it is parked: what its decider sends there is refused. */
static axo_directive di_decide_refused(axo_ctx *ctx, kit_puppet *self, const axo_failure *failure)
{
    (void)di_refused(ctx, self, self->script->user);
    return AXO_RESTART;
}

static void SC_13_decider(kit *k)
{
    kit_gate *gate = kit_gate_new(k);
    kit_script *r = di_narrow(k, "r", gate);
    kit_family f = kit_tree(k, "s(c)");
    f.s->decide = di_decide_refused;
    f.s->user = r;
    kit_run(k, f.s, di_send, di_burst_new(k, r, 1, 3));
    kit_await(k, "s.sent(3)");
    for (uint32_t round = 1; round <= 10; round++) {
        kit_tell(k, f.c, KIT_FAIL, 7);
        kit_await_count(k, "c.postRestart", round);
    }
    kit_expect_count(k, "s.refused", 10);
    kit_gate_open(gate);
    kit_await_all(k, "s.unpark", "r.note(3)");
    kit_run(k, f.s, di_send, di_burst_new(k, r, 4, 6)); /* and is held again when it is not */
    kit_await(k, "r.note(6)");
    kit_expect_count(k, "r.note", 6);
}

/* The sender's end lets in what is held, and its notice comes behind it (DW-11). */
static void SC_13_stop(kit *k)
{
    kit_gate *gate = kit_gate_new(k);
    kit_family f = kit_plan(k, "s, r");
    static const axo_mailbox mailbox =
        AXO_MAILBOX(.overflow = AXO_OVERFLOW_PARK, .messages_max = 4);
    f.r->mailbox = &mailbox;
    kit_grow(&f);
    part_watched_by(k, f.s, f.r);
    kit_run(k, f.r, part_hold, gate);
    kit_gate_arrived(gate, 1);
    kit_run(k, f.s, di_send, di_burst_new(k, f.r, 1, 9));
    kit_tell(k, f.s, KIT_NOTE, 9);
    kit_await(k, "s.sent(9)");
    axo_system_stop_actor(kit_system(k), kit_ref(f.s));
    kit_await(k, "user.child_gone(s)"); /* it does not wait for room */
    kit_expect(k, "s.note=0", "r.dl=0");
    kit_gate_open(gate);
    kit_await(k, "r.term(s)");
    kit_order(k, "s.park(r)", "s.unpark", "s.terminated");
    kit_order(k, "r.note(1)", "r.note(4)", "r.note(5)", "r.note(6)", "r.note(9)", "r.term(s)");
    kit_expect_count(k, "r.note", 9);
}

/* A pill to oneself comes up behind the parking; a stop does not wait. */
static axo_status di_send_stop(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    (void)di_send(ctx, self, arg);
    return axo_stop_self(ctx);
}

static void SC_13_stop_self(kit *k)
{
    kit_gate *gate = kit_gate_new(k);
    kit_script *r = di_narrow(k, "r", gate);
    kit_family f = kit_tree(k, "s");
    f.s->post_stop.run = di_send; /* its last words */
    f.s->post_stop.arg = di_burst_new(k, r, 4, 5);
    kit_run(k, f.s, di_send_stop, di_burst_new(k, r, 1, 3));
    kit_await(k, "user.child_gone(s)");
    kit_gate_open(gate);
    kit_await(k, "r.note(5)");
    kit_order(k, "r.note(1)", "r.note(2)", "r.note(3)", "r.note(4)", "r.note(5)");
}

/* The receiver's end: its mailbox, then what is held; the senders go on. */
static void SC_13_receiver_stops(kit *k)
{
    kit_gate *gate = kit_gate_new(k);
    kit_script *r = di_narrow(k, "r", gate);
    kit_family f = kit_tree(k, "s, q");
    kit_run(k, f.s, di_send, di_burst_new(k, r, 1, 3));
    kit_await(k, "s.sent(3)");
    kit_run(k, f.q, di_send, di_burst_new(k, r, 4, 5));
    kit_await(k, "q.sent(5)");
    kit_tell(k, f.s, KIT_NOTE, 9);
    kit_tell(k, f.q, KIT_NOTE, 9);
    axo_system_stop_actor(kit_system(k), kit_ref(r));
    kit_never(k, "*.unpark");
    kit_gate_open(gate);
    kit_await_all(k, "s.note(9)", "q.note(9)", "user.child_gone(r)");
    kit_expect(k, "r.dl=5", "r.note=0");
    kit_order(k, "r.postStop", "r.dl@5", "r.terminated");
}

/* Receiver and sender end together, at any moment: nothing is lost, freed twice or left. */
static void SC_13_both_stop(kit *k)
{
    for (uint32_t round = 0; round < 40; round++) {
        kit_gate *gate = kit_gate_new(k);
        kit_script *r = di_narrow(k, "r", gate);
        kit_script *s = kit_actor(k, "s");
        (void)kit_spawn(k, s);
        kit_run(k, s, di_send, di_burst_new(k, r, 1, 4));
        kit_await_count(k, "s.sent", round + 1);
        if (round % 2 == 0)
            axo_system_stop_actor(kit_system(k), kit_ref(r));
        kit_gate_open(gate);
        axo_system_stop_actor(kit_system(k), kit_ref(s));
        axo_system_stop_actor(kit_system(k), kit_ref(r));
        kit_await_count(k, "user.child_gone", 2 * (round + 1));
    }
    assert_int_equal(kit_count(k, "r.dl") + kit_count(k, "r.note"), 40 * 4);
}

/* Two parked on each other: no worker waits, and an end of one undoes it. */
static axo_status di_meet(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    kit_mark(self, "begin", 0);
    while (kit_count(self->k, "*.begin") < 2) /* both have begun before one of them sends */
        sched_yield();
    (void)di_send(ctx, self, arg);
    while (kit_count(self->k, "*.sent") < 2) /* both have sent before one of them is done */
        sched_yield();
    return AXO_OK;
}

static void DI_06_park_ring(kit *k)
{
    kit_family f = kit_plan(k, "a, b");
    f.a->mailbox = &one_message;
    f.b->mailbox = &one_message;
    kit_grow(&f);
    kit_run(k, f.a, di_meet, di_burst_new(k, f.b, 1, 3));
    kit_run(k, f.b, di_meet, di_burst_new(k, f.a, 4, 6));
    kit_await_all(k, "a.park(b)", "b.park(a)");
    kit_script *c = kit_top(k, "c"); /* the system is well */
    kit_tell(k, c, KIT_NOTE, 7);
    kit_await(k, "c.note(7)");
    kit_expect(k, "a.note=0", "b.note=0");
    axo_system_stop_actor(kit_system(k), kit_ref(f.a));
    kit_await_all(k, "b.note(3)", "user.child_gone(a)");
    kit_order(k, "b.unpark", "b.note(1)", "b.note(2)", "b.note(3)");
    kit_expect_count(k, "a.dl", 3);
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Without memory for the record nothing is accepted and nobody parked. */
static axo_status di_dry(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    axo_ref r = kit_ref(arg);
    axo_draft *draft;
    void *payload;
    char filler[512] = {0};
    KIT_REQUIRE(self->k, axo_message_new(ctx, KIT_OTHER, 4000, &draft, &payload) == AXO_OK);
    kit_no_memory(self->k, true);
    for (size_t size = 0; size <= sizeof filler; size += 8) { /* the pool is emptied, each class */
        while (axo_send(ctx, self->ref, KIT_OTHER + 1, filler, size) == AXO_OK)
            continue;
    }
    axo_status status = axo_send_message(ctx, r, draft);
    kit_no_memory(self->k, false);
    KIT_REQUIRE(self->k, status == AXO_ENOMEM);
    KIT_REQUIRE(self->k, kit_count(self->k, "*.park") == 0);
    KIT_REQUIRE(self->k, axo_send_message(ctx, r, draft) == AXO_OK);
    KIT_REQUIRE(self->k, kit_count(self->k, "*.park") == 1);
    kit_mark(self, "dry", 0);
    return AXO_OK;
}

static void DI_06_park_without_memory(kit *k)
{
    kit_gate *gate = kit_gate_new(k);
    kit_script *r = di_narrow(k, "r", gate);
    kit_script *s = kit_top(k, "s");
    kit_tell(k, r, KIT_NOTE, 1);
    kit_run(k, s, di_dry, r);
    kit_await(k, "s.dry");
    kit_gate_open(gate);
    kit_await(k, "r.stash(OTHER)");
    kit_order(k, "r.note(1)", "r.stash(OTHER)");
    kit_await(k, "s.unpark");
}

static const struct CMUnitTest tests[] = {
    PART_TEST_MANY("DI-06 park", DI_06_park),
    PART_TEST_MANY("DI-06 park and system", DI_06_park_system),
    PART_TEST_MANY("DI-06 park and spawn", DI_06_park_spawn),
    KIT_TEST_ONE("DI-06 park at two", DI_06_park_two, 4, "workers"),
    KIT_TEST("DI-06 park nobody", DI_06_park_nobody),
    PART_TEST_MANY("DI-06 park in a ring", DI_06_park_ring),
    PART_TEST_MANY("DI-06 park without memory", DI_06_park_without_memory),
    PART_TEST_MANY("SC-13 restart", SC_13_restart),
    PART_TEST_MANY("SC-13 throw", SC_13_throw),
    PART_TEST_MANY("SC-13 resume", SC_13_resume),
    PART_TEST_MANY("SC-13 sibling", SC_13_sibling),
    PART_TEST_MANY("SC-13 decider", SC_13_decider),
    PART_TEST_MANY("SC-13 stop", SC_13_stop),
    PART_TEST_MANY("SC-13 stop self", SC_13_stop_self),
    PART_TEST_MANY("SC-13 receiver stops", SC_13_receiver_stops),
    PART_TEST_MANY("SC-13 both stop", SC_13_both_stop),
};

TEST_MAIN(tests)
