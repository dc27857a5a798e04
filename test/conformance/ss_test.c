/* ss_test.c - the stash (SS), and what other entries say of it (OR-11, DW-16, DL-02). */
#include <sched.h>

#include "conformance/parts.h"

/* ---- parts ----------------------------------------------------------------------------------- */

static bool ss_is_note(const axo_message *message)
{
    return message->tag == KIT_NOTE || message->tag == AXO_TERMINATED;
}

/* A behaviour that keeps notes and notices and marks the status. */
static axo_status ss_keep(axo_ctx *ctx, void *state, const axo_message *message)
{
    kit_puppet *self = state;
    if (!ss_is_note(message))
        return kit_receive(ctx, state, message);
    axo_status status = axo_stash(ctx);
    kit_mark(self, status == AXO_OK ? "kept" : "full",
             message->tag == KIT_NOTE ? AXO_PAYLOAD(message, kit_payload)->value : 0);
    return status == AXO_EFULL ? kit_receive(ctx, state, message) : status;
}

/* Keeps a note and fails under it, by return and by throw in turn. */
static axo_status ss_keep_fail(axo_ctx *ctx, void *state, const axo_message *message)
{
    kit_puppet *self = state;
    axo_status status = ss_keep(ctx, state, message);
    if (!ss_is_note(message) || status != AXO_OK)
        return status;
    if (self->instance % 2 == 0)
        axo_throw(ctx, 5, "kept and thrown");
    return axo_fail(ctx, 5, "kept and failed");
}

static axo_status ss_keep_unhandled(axo_ctx *ctx, void *state, const axo_message *message)
{
    axo_status status = ss_keep(ctx, state, message);
    return ss_is_note(message) && status == AXO_OK ? AXO_UNHANDLED : status;
}

static axo_status ss_release(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    KIT_REQUIRE(self->k, axo_unbecome(ctx) == AXO_OK);
    KIT_REQUIRE(self->k, axo_unstash_all(ctx) == AXO_OK);
    kit_mark(self, "released", axo_stash_count(ctx));
    return AXO_OK;
}

/* At a gate, so that the test can queue more behind it; then releases. */
static axo_status ss_hold_release(axo_ctx *ctx, kit_puppet *self, void *gate)
{
    kit_gate_pass(gate);
    kit_mark(self, "count", axo_stash_count(ctx));
    return ss_release(ctx, self, NULL);
}

static axo_status ss_count(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    kit_mark(self, "count", axo_stash_count(ctx));
    return AXO_OK;
}

static void ss_notes(kit *k, kit_script *to, int64_t first, int64_t last)
{
    for (int64_t i = first; i <= last; i++)
        kit_tell(k, to, KIT_NOTE, i);
}

/* a keeps the notes 1..count. */
static kit_script *ss_kept(kit *k, kit_script *a, axo_receive_fn receive, int64_t count)
{
    (void)kit_spawn(k, a);
    part_tell_become(k, a, receive);
    ss_notes(k, a, 1, count);
    kit_await_count(k, "a.kept", (uint32_t)count);
    return a;
}

static uint64_t ss_queued(kit *k)
{
    axo_stats stats = kit_stats(k);
    return stats.sent - stats.handled - stats.dead - stats.dropped;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void SS_01(kit *k)
{
    kit_script *a = ss_kept(k, kit_actor(k, "a"), ss_keep, 3);
    kit_gate *gate = kit_gate_new(k);
    kit_run(k, a, ss_hold_release, gate);
    kit_gate_arrived(gate, 1);
    ss_notes(k, a, 4, 5);
    kit_never(k, "a.note");
    kit_gate_open(gate);
    kit_await(k, "a.note(5)");
    kit_order(k, "a.count(3)", "a.released(0)", "a.note(1)", "a.note(2)", "a.note(3)", "a.note(4)",
              "a.note(5)");
    kit_expect_count(k, "a.note", 5);
}

/* Kept again and again: protocols that wait more than once. */
static void SS_01_again(kit *k)
{
    kit_script *a = ss_kept(k, kit_actor(k, "a"), ss_keep, 2);
    for (uint32_t round = 2; round <= 4; round++) {
        kit_run(k, a, ss_release, NULL);
        kit_await_count(k, "a.note(2)", round - 1);
        part_tell_become(k, a, ss_keep);
        ss_notes(k, a, 1, 2);
        kit_await_count(k, "a.kept(2)", round);
    }
    kit_run(k, a, ss_release, NULL);
    kit_await(k, "a.note(2)@4");
    kit_order(k, "a.note(1)@1", "a.note(2)@1", "a.note(1)@2", "a.note(2)@2", "a.note(1)@4",
              "a.note(2)@4");
    kit_expect_count(k, "a.note", 8);
}

static axo_status or_11_in_parts(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    KIT_REQUIRE(self->k, axo_unbecome(ctx) == AXO_OK);
    KIT_REQUIRE(self->k, axo_unstash(ctx, 0) == AXO_OK);
    kit_mark(self, "count", axo_stash_count(ctx));
    KIT_REQUIRE(self->k, axo_unstash(ctx, 2) == AXO_OK);
    kit_mark(self, "count", axo_stash_count(ctx));
    return AXO_OK;
}

static void OR_11(kit *k)
{
    kit_script *a = ss_kept(k, kit_actor(k, "a"), ss_keep, 5);
    kit_run(k, a, or_11_in_parts, NULL);
    kit_await(k, "a.note(2)");
    kit_order(k, "a.count(5)", "a.count(3)", "a.note(1)", "a.note(2)");
    kit_settle(k);
    kit_expect_count(k, "a.note", 2);
    kit_tell(k, a, KIT_NOTE, 6);
    kit_await(k, "a.note(6)");
    kit_run(k, a, ss_release, NULL);
    kit_await(k, "a.note(5)");
    kit_order(k, "a.note(6)", "a.note(3)", "a.note(4)", "a.note(5)");
    kit_expect_count(k, "a.note", 6);
}

static axo_status ss_02_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    kit_puppet *self = state;
    if (message->tag != KIT_NOTE)
        return kit_receive(ctx, state, message);
    KIT_REQUIRE(self->k, axo_stash(NULL) == AXO_ECONTEXT);
    KIT_REQUIRE(self->k, axo_stash(ctx) == AXO_OK);
    KIT_REQUIRE(self->k, axo_stash(ctx) == AXO_EINVAL);
    KIT_REQUIRE(self->k, axo_stash_count(ctx) == 1);
    KIT_REQUIRE(self->k, axo_unbecome(ctx) == AXO_OK);
    KIT_REQUIRE(self->k, axo_unstash_all(ctx) == AXO_OK);
    KIT_REQUIRE(self->k, axo_stash(ctx) == AXO_EINVAL); /* it is in the mailbox already */
    KIT_REQUIRE(self->k, axo_stash_count(ctx) == 0);
    kit_mark(self, "refused", 0);
    return AXO_OK;
}

static axo_status ss_02_hook(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    KIT_REQUIRE(self->k, axo_stash(ctx) == AXO_EINVAL);
    kit_mark(self, "none", axo_stash_count(ctx));
    return AXO_OK;
}

static void SS_02(kit *k)
{
    kit_script *a = kit_actor(k, "a");
    a->pre_start.run = ss_02_hook;
    a->post_stop.run = ss_02_hook;
    (void)kit_spawn(k, a);
    assert_int_equal(axo_stash(NULL), AXO_ECONTEXT);
    assert_int_equal(axo_unstash_all(NULL), AXO_ECONTEXT);
    assert_int_equal(axo_unstash(NULL, 1), AXO_ECONTEXT);
    assert_int_equal(axo_stash_count(NULL), 0);
    part_tell_become(k, a, ss_02_receive);
    ss_notes(k, a, 1, 2);
    kit_await(k, "a.note(2)");
    kit_order(k, "a.none(0)", "a.refused", "a.note(1)", "a.note(2)");
    kit_expect_count(k, "a.note", 2);
}

/* s1, s2 are stashed, m3 is queued, the actor fails. */
static void ss_03(void **state, void (*prepare)(kit *k, kit_script *a))
{
    kit *k = kit_start(state, NULL);
    kit_family f = kit_tree(k, "p, -a");
    part_blow *blow = part_blow_new(k, KIT_DO_RESTART);
    prepare(k, f.a);
    kit_spawn_child(k, f.p, f.a, 0);
    kit_await(k, "a.preStart");
    part_tell_become(k, f.a, ss_keep);
    ss_notes(k, f.a, 1, 2);
    kit_run(k, f.a, part_hold_fail, blow);
    kit_gate_arrived(blow->gate, 1);
    kit_tell(k, f.a, KIT_NOTE, 3);
    kit_gate_open(blow->gate);
    kit_await(k, "a.note(3)");
    kit_order(k, "a#1.kept(1)", "a#1.kept(2)", "p.decider(a)", "a#2.ctor", "a#2.note(1)",
              "a#2.note(2)", "a#2.note(3)");
    kit_expect_count(k, "a.note", 3);
    kit_finish(k);
}

static void ss_03_as_is(kit *k, kit_script *a)
{
}

static void ss_03_plain(kit *k, kit_script *a)
{
    a->plain = true;
}

static void ss_03_own_hook(kit *k, kit_script *a)
{
    a->keep_children = true; /* its pre_restart leaves the default out */
    a->pre_restart.run = ss_count;
}

static void ss_03_waits(kit *k, kit_script *a)
{
    a->pre_start.spawn[0] = kit_actor(k, "c"); /* awaited between the instances */
}

static void SS_03(void **state)
{
    ss_03(state, ss_03_as_is);
}

static void SS_03_plain(void **state)
{
    ss_03(state, ss_03_plain);
}

static void SS_03_own_hook(void **state)
{
    ss_03(state, ss_03_own_hook);
}

static void SS_03_waits(void **state)
{
    ss_03(state, ss_03_waits);
}

/* A message that was stashed and then failed under is shown to pre_restart and comes again. */
static void SS_03_failed_under(kit *k)
{
    kit_family f = kit_tree(k, "p, -a");
    f.p->directive = AXO_RESTART;
    kit_spawn_child(k, f.p, f.a, 0);
    kit_await(k, "a.preStart");
    for (uint32_t round = 1; round <= 2; round++) { /* by return, by throw */
        kit_gate *gate = kit_gate_new(k);
        part_tell_become(k, f.a, ss_keep_fail);
        kit_run(k, f.a, part_hold, gate);
        kit_tell(k, f.a, KIT_NOTE, round);
        kit_tell(k, f.a, KIT_SET, round);
        kit_gate_open(gate);
        kit_await_count(k, "a.set", round);
    }
    kit_order(k, "a#1.kept(1)", "p.decider@1", "a#1.preRestartWith(1)", "a#2.ctor", "a#2.note(1)",
              "a#2.set(1)", "a#2.kept(2)", "p.decider@2", "a#2.preRestartWith(2)", "a#3.ctor",
              "a#3.note(2)", "a#3.set(2)");
    kit_expect_count(k, "a.note", 2);
}

static axo_status ss_keep_notes(axo_ctx *ctx, void *state, const axo_message *message)
{
    kit_puppet *self = state;
    if (message->tag != KIT_NOTE)
        return kit_receive(ctx, state, message);
    KIT_REQUIRE(self->k, axo_stash(ctx) == AXO_OK);
    kit_mark(self, "kept", AXO_PAYLOAD(message, kit_payload)->value);
    return AXO_OK;
}

/* A back-off supervisor replaces its child, and does not restart it: the stash is nobody's. */
static void SS_04(kit *k)
{
    kit_script *c = kit_actor(k, "c");
    axo_props child = kit_props(c);
    axo_props props;
    axo_ref s;
    axo_backoff delays = AXO_BACKOFF(.min_ns = 1000000, .max_ns = 1000000);
    axo_backoff_supervisor settings = AXO_BACKOFF_SUPERVISOR(.child = &child, .backoff = &delays,
                                                             .when = AXO_ON_FAILURE);
    assert_int_equal(axo_backoff_supervisor_props(&settings, "s", &props), AXO_OK);
    assert_int_equal(axo_system_spawn(kit_system(k), &props, &s), AXO_OK);
    kit_await(k, "c.preStart");
    part_tell_become(k, c, ss_keep_notes);
    kit_tell(k, c, KIT_NOTE, 1);
    kit_tell(k, c, KIT_NOTE, 2);
    kit_tell(k, c, KIT_FAIL, 7);
    kit_await(k, "c.preStart@2");
    kit_tell(k, c, KIT_NOTE, 3);
    kit_await(k, "c.note(3)");
    kit_order(k, "c.kept(1)", "c.kept(2)", "c.fails(7)", "c.dl(NOTE)@1", "c.dl(NOTE)@2",
              "c.preStart@2", "c.note(3)");
    kit_expect(k, "c.dl=2", "c.note=1", "c.preRestart=0");
    kit_finish(k);
}

/* Resume keeps the stash as it keeps the instance. */
static void SS_03_resume(kit *k)
{
    kit_family f = kit_tree(k, "p, -a");
    f.p->directive = AXO_RESUME;
    kit_spawn_child(k, f.p, f.a, 0);
    kit_await(k, "a.preStart");
    part_tell_become(k, f.a, ss_keep_fail);
    kit_tell(k, f.a, KIT_NOTE, 1);
    kit_run(k, f.a, ss_count, NULL);
    kit_await(k, "a.count(1)");
    kit_never(k, "a.note");
    kit_run(k, f.a, ss_release, NULL);
    kit_await(k, "a.note(1)");
    kit_order(k, "a#1.kept(1)", "p.decided(RESUME)", "a#1.count(1)", "a#1.released(0)",
              "a#1.note(1)");
}

static void SS_05(kit *k)
{
    kit_script *a = kit_actor(k, "a");
    a->stash_max = 2;
    (void)ss_kept(k, a, ss_keep, 2);
    ss_notes(k, a, 3, 4);
    kit_await(k, "a.note(4)");
    kit_order(k, "a.kept(1)", "a.kept(2)", "a.full(3)", "a.note(3)", "a.full(4)", "a.note(4)");
    kit_run(k, a, ss_release, NULL);
    kit_await(k, "a.note(2)");
    kit_order(k, "a.note(4)", "a.note(1)", "a.note(2)");
    part_tell_become(k, a, ss_keep); /* there is room again */
    kit_tell(k, a, KIT_NOTE, 5);
    kit_await(k, "a.kept(5)");
    kit_run(k, a, ss_release, NULL);
    kit_await(k, "a.note(5)");
}

/* Released, stashed, queued: the dead letters of an end come in the order of handling. */
static axo_status ss_06_part(axo_ctx *ctx, kit_puppet *self, void *gate)
{
    KIT_REQUIRE(self->k, axo_unstash(ctx, 1) == AXO_OK);
    kit_gate_pass(gate);
    return axo_stop_self(ctx);
}

static void SS_06(kit *k)
{
    kit_script *a = ss_kept(k, kit_actor(k, "a"), ss_keep, 3);
    kit_gate *gate = kit_gate_new(k);
    uint64_t before = ss_queued(k);
    assert_int_equal(before, 3); /* what is stashed is queued (D7) */
    kit_run(k, a, ss_06_part, gate);
    kit_gate_arrived(gate, 1);
    kit_tell(k, a, KIT_SET, 4);
    kit_tell(k, a, 1001, 5);
    kit_gate_open(gate);
    kit_await(k, "user.child_gone(a)");
    kit_order(k, "a.postStop", "a.dl@1", "a.dl@2", "a.dl@3", "a.dl(SET)", "a.dl(1001)",
              "a.terminated");
    kit_expect_count(k, "a.dl(NOTE)", 3); /* the tag of a note */
    kit_expect(k, "a.dl=5", "a.note=0");
    assert_int_equal(ss_queued(k), 0);
}

typedef struct ss_letters {
    int64_t values[8];
    uint32_t count;
} ss_letters;

static void ss_letter(void *user, const axo_dead_letter *letter)
{
    ss_letters *letters = user;
    if (letters->count < 8 && letter->reason == AXO_DEAD_STOPPED)
        letters->values[letters->count++] = letter->message->size == sizeof(int64_t)
                                                ? *AXO_PAYLOAD(letter->message, int64_t)
                                                : -1;
}

/* Stashes 1, 2 and 3, releases 1 at 4, and stops there. */
static axo_status dl_02_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    if (*AXO_PAYLOAD(message, int64_t) < 4)
        return axo_stash(ctx);
    (void)axo_unstash(ctx, 1);
    for (int64_t i = 5; i <= 6; i++)
        (void)axo_send(ctx, axo_self(ctx), 1, &i, sizeof i);
    return axo_stop_self(ctx);
}

/* Without the kit: the values themselves, in order. */
static void DL_02_stash(void **state)
{
    static const axo_class cls = AXO_CLASS(.receive = dl_02_receive);
    ss_letters letters = {.count = 0};
    uint32_t workers = (uint32_t)(uintptr_t)*state;
    axo_options options =
        AXO_OPTIONS(.workers = workers, .on_dead_letter = ss_letter,
                    .dead_letter_user = &letters);
    axo_props props = AXO_PROPS(.cls = &cls);
    axo_system *system;
    axo_stats stats = AXO_STATS(.sent = 0);
    axo_ref a;
    *state = NULL;
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    assert_int_equal(axo_system_spawn(system, &props, &a), AXO_OK);
    for (int64_t i = 1; i <= 4; i++)
        assert_int_equal(axo_system_send(system, a, 1, &i, sizeof i), AXO_OK);
    while (axo_system_stats(system, &stats) == AXO_OK && stats.actors > 3)
        sched_yield();
    assert_int_equal(axo_system_stop(system, -1, NULL, 0, NULL), AXO_OK);
    static const int64_t wanted[] = {2, 3, 1, 5, 6}; /* stash, front, queue */
    assert_int_equal(letters.count, 5);
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(letters.values[i], wanted[i]);
    assert_int_equal(axo_system_stats(system, &stats), AXO_OK);
    assert_int_equal(stats.sent, 6);
    assert_int_equal(stats.handled, 1);
    assert_int_equal(stats.dead, 5);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
}

/* w has stashed the notice of x's end. */
static kit_script *ss_noticed(kit *k, kit_script *x, axo_receive_fn receive)
{
    kit_script *w = kit_actor(k, "w");
    (void)kit_spawn(k, x);
    (void)kit_spawn(k, w);
    kit_await(k, "w.preStart");
    part_watched_by(k, x, w);
    part_tell_become(k, w, receive);
    kit_settle(k);
    axo_system_stop_actor(kit_system(k), kit_ref(x));
    kit_await(k, "w.kept(0)");
    return w;
}

static void SS_07(kit *k)
{
    kit_script *x = kit_actor(k, "x");
    kit_script *w = ss_noticed(k, x, ss_keep);
    kit_never(k, "w.term");
    kit_run(k, w, ss_release, NULL);
    kit_await(k, "w.term(x)");
    kit_settle(k);
    kit_expect(k, "w.term=1", "w.kept=1");
}

/* Whatever receive returns: what is stashed is not unhandled, and no death pact. */
static void DW_16(kit *k)
{
    kit_script *x = kit_actor(k, "x");
    kit_script *w = ss_noticed(k, x, ss_keep_unhandled); /* stashed: no death pact */
    kit_run(k, w, ss_release, NULL);
    kit_await(k, "w.term(x)");
    kit_expect(k, "w.kept=1", "w.fails=0", "user.decider=0");
}

static void DW_16_restart(kit *k)
{
    kit_script *x = kit_actor(k, "x");
    kit_script *w = ss_noticed(k, x, ss_keep);
    kit_tell(k, w, KIT_FAIL, 9); /* /user restarts it */
    kit_await(k, "w#2.term(x)");
    kit_settle(k);
    kit_expect_count(k, "w.term", 1);
}

static axo_status dw_16_unwatch(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    KIT_REQUIRE(self->k, axo_unwatch(ctx, kit_ref(arg)) == AXO_OK);
    return ss_release(ctx, self, NULL);
}

static void DW_16_unwatched(kit *k)
{
    kit_script *x = kit_actor(k, "x");
    kit_script *w = ss_noticed(k, x, ss_keep);
    kit_run(k, w, dw_16_unwatch, x);
    kit_await(k, "w.released(0)");
    kit_settle(k);
    kit_never(k, "w.term");
}

/* It watches anew and then stashes: two notices, and one unwatch is for both. */
static axo_status dw_16_both(axo_ctx *ctx, void *state, const axo_message *message)
{
    kit_puppet *self = state;
    if (message->tag == AXO_TERMINATED && kit_count(self->k, "w.kept") == 0)
        KIT_REQUIRE(self->k,
                    axo_watch(ctx, AXO_PAYLOAD(message, axo_terminated)->actor) == AXO_OK);
    return ss_keep(ctx, state, message);
}

static void DW_16_two(kit *k)
{
    kit_script *x = kit_actor(k, "x");
    kit_script *w = ss_noticed(k, x, dw_16_both);
    kit_await_count(k, "w.kept(0)", 2);
    kit_run(k, w, dw_16_unwatch, x);
    kit_await(k, "w.released(0)");
    kit_settle(k);
    kit_never(k, "w.term");
}

/* Stashed notices and messages go with the actor. */
static void SS_06_notice(kit *k)
{
    kit_script *x = kit_actor(k, "x");
    kit_script *w = ss_noticed(k, x, ss_keep);
    kit_tell(k, w, KIT_NOTE, 1);
    kit_await(k, "w.kept(1)");
    axo_system_stop_actor(kit_system(k), kit_ref(w));
    kit_await(k, "user.child_gone(w)");
    kit_expect(k, "w.dl=1", "w.term=0");
}

static const struct CMUnitTest tests[] = {
    KIT_TEST("SS-01", SS_01),
    KIT_TEST("SS-01 again", SS_01_again),
    KIT_TEST("SS-02", SS_02),
    KIT_TEST("SS-03", SS_03),
    KIT_TEST("SS-03 default hooks", SS_03_plain),
    KIT_TEST("SS-03 own pre_restart", SS_03_own_hook),
    KIT_TEST("SS-03 waits for children", SS_03_waits),
    KIT_TEST("SS-03 failed under", SS_03_failed_under),
    KIT_TEST("SS-03 resume", SS_03_resume),
    KIT_TEST("SS-04", SS_04),
    KIT_TEST("SS-05", SS_05),
    KIT_TEST("SS-06", SS_06),
    KIT_TEST("SS-06 notice", SS_06_notice),
    KIT_TEST("SS-07", SS_07),
    KIT_TEST("OR-11", OR_11),
    KIT_TEST("DW-16", DW_16),
    KIT_TEST("DW-16 restart", DW_16_restart),
    KIT_TEST("DW-16 unwatched", DW_16_unwatched),
    KIT_TEST("DW-16 two", DW_16_two),
    KIT_TEST("DL-02 stash", DL_02_stash),
};

TEST_MAIN(tests)
