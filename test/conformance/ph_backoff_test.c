/* ph_backoff_test.c - delayed restarts: the back-off of a strategy. */
#include <stdio.h>

#include "parts.h"

#define MS INT64_C(1000000)
#define SECOND (1000 * MS)
#define HOUR (3600 * SECOND)

/* A parent whose restarts are delayed by `first`, then twice as long each. */
static kit_script *parent_of(kit *k, kit_script *above, axo_scope scope, int64_t first)
{
    kit_script *p = kit_actor(k, "p");
    axo_backoff *backoff = kit_alloc(k, sizeof *backoff);
    *backoff = (axo_backoff)AXO_BACKOFF(.min_ns = first, .max_ns = 2 * HOUR, .reset_after_ns = -1);
    p->strategy.scope = scope;
    p->strategy.backoff = backoff;
    p->directive = AXO_RESTART;
    if (above == NULL)
        (void)kit_spawn(k, p);
    else
        (void)kit_spawn_child(k, above, p, 0);
    kit_await(k, "p.preStart");
    return p;
}

/* Not early: from the decision to the first of the restart. */
static void not_early(kit *k, const char *decided, const char *delay, const char *restart)
{
    kit_record from = kit_find(k, decided);
    kit_record wait = kit_find(k, delay);
    kit_record to = kit_find(k, restart);
    assert_true(to.time_ns >= from.time_ns + (int64_t)wait.arg);
}

/* Some need the delay to last until something else has been done: a try whose delay turns out too
 * short proves nothing, and the next one has twice as much. */
typedef bool (*try_fn)(void **state, int64_t delay);

static void try_until(void **state, try_fn one)
{
    int64_t delay = 20 * MS;
    while (!one(state, delay)) {
        delay *= 2;
        assert_true(delay < 10 * SECOND);
    }
}

/* Sends KIT_NOTE 5 to somebody after a while. */
typedef struct later {
    axo_ref to;
    int64_t delay;
} later;

static axo_status tell_later(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    const later *what = arg;
    kit_payload note = {.value = 5};
    KIT_REQUIRE(self->k, axo_send_after(ctx, what->delay, what->to, KIT_NOTE, &note,
                                        sizeof note) == AXO_OK);
    return AXO_OK;
}

/* Linear growth, with the kept mailbox and without the failing message; it never stops. */
static void PH_10(kit *k)
{
    static const axo_backoff backoff =
        AXO_BACKOFF(.kind = AXO_BACKOFF_LINEAR, .min_ns = MS, .max_ns = 4 * MS, .window_ns = HOUR);
    kit_family f = kit_plan(k, "p:restart(a)");
    f.p->strategy.backoff = &backoff;
    kit_grow(&f);
    for (int i = 1; i <= 6; i++)
        (void)kit_tell(k, f.a, KIT_FAIL, i);
    (void)kit_tell(k, f.a, KIT_NOTE, 9);
    kit_await(k, "a#7.note(9)");
    kit_settle(k);
    for (int i = 1; i <= 6; i++) {
        char decided[48];
        char delay[48];
        char restart[48];
        (void)snprintf(decided, sizeof decided, "p.decided(RESTART)@%d", i);
        (void)snprintf(delay, sizeof delay, "p.delay@%d", i);
        (void)snprintf(restart, sizeof restart, "a#%d.preRestart(%d)", i, i);
        assert_int_equal(kit_find(k, delay).arg, (i < 4 ? i : 4) * MS);
        not_early(k, decided, delay, restart);
    }
    kit_expect(k, "a.fails=6", "p.delay=6");
}

/* A failure that is older than the window is forgotten: here each is. */
static void PH_12(kit *k)
{
    static const axo_backoff backoff =
        AXO_BACKOFF(.kind = AXO_BACKOFF_LINEAR, .min_ns = MS, .window_ns = 1);
    kit_family f = kit_plan(k, "p:restart(a)");
    f.p->strategy.backoff = &backoff;
    kit_grow(&f);
    for (int i = 1; i <= 3; i++)
        (void)kit_tell(k, f.a, KIT_FAIL, i);
    kit_await(k, "a#4.preStart");
    kit_settle(k);
    for (int i = 1; i <= 3; i++) {
        char delay[48];
        (void)snprintf(delay, sizeof delay, "p.delay@%d", i);
        assert_int_equal(kit_find(k, delay).arg, MS);
    }
}

/* The same child: suspended, its messages wait, its hooks run when the delay is over. */
static void PH_13(kit *k)
{
    kit_script *p = parent_of(k, NULL, AXO_ONE_FOR_ONE, 2 * MS);
    kit_script *a = kit_child(k, p, "a");
    kit_script *b = kit_child(k, p, "b");
    uint64_t bits = kit_ref(a).bits;
    for (int i = 1; i <= 3; i++) {
        char pattern[48];
        (void)kit_tell(k, a, KIT_FAIL, 30 + i);
        (void)kit_tell(k, a, KIT_NOTE, i);
        (void)snprintf(pattern, sizeof pattern, "a#%d.note(%d)", i + 1, i);
        kit_await(k, pattern);
    }
    (void)kit_tell(k, b, KIT_FAIL, 40); /* counted apart */
    kit_await(k, "b#2.preStart");
    kit_settle(k);
    assert_int_equal(kit_ref(a).bits, bits);
    assert_int_equal(kit_find(k, "p.delay@1").arg, 2 * MS);
    assert_int_equal(kit_find(k, "p.delay@2").arg, 4 * MS);
    assert_int_equal(kit_find(k, "p.delay@3").arg, 8 * MS);
    assert_int_equal(kit_find(k, "p.delay@4").arg, 2 * MS);
    not_early(k, "p.decided(RESTART)@1", "p.delay@1", "a#1.preRestart(31)");
    not_early(k, "p.decided(RESTART)@3", "p.delay@3", "a#3.preRestart(33)");
    kit_order(k, "a.suspend(OWN)@1", "p.delay@1", "a#1.preRestartWith(31)", "a#1.postStop",
              "a#2.ctor", "a#2.postRestart(31)", "a#2.note(1)");
    kit_expect(k, "a.suspend=3", "a.resume=3", "*.dl=0");
}

/* Stopped meanwhile, by its parent, by another, with its parent: the late Restart revives
 * nobody. */
static void PH_13_stopped(void **state)
{
    for (int how = 0; how < 4; how++) {
        kit *k = kit_start(state, NULL);
        kit_script *p = parent_of(k, NULL, AXO_ONE_FOR_ONE, how == 3 ? MS : HOUR);
        kit_script *a = kit_child(k, p, "a");
        (void)kit_tell(k, a, KIT_FAIL, 1);
        if (how != 3)
            kit_await(k, "p.delay");
        if (how == 0)
            (void)kit_tell_ref(k, p, KIT_STOP, kit_ref(a));
        else if (how == 2)
            (void)kit_tell(k, p, KIT_STOP_SELF, 0);
        else
            (void)axo_system_stop_actor(kit_system(k), kit_ref(a));
        kit_await(k, "p.child_gone(a)");
        if (how < 2) { /* the slot may be taken by another now */
            kit_script *b = kit_child(k, p, "b");
            (void)kit_tell(k, b, KIT_NOTE, 1);
            kit_await(k, "b.note(1)");
            kit_expect_count(k, "b.ctor", 1);
        }
        if (how != 3)
            kit_expect_count(k, "a.ctor", 1);
        kit_expect_count(k, "a.postStop", kit_count(k, "a.ctor"));
        kit_finish(k);
    }
}

/* The system stops in the midst of it. */
static void PH_13_shutdown(void **state)
{
    kit *k = kit_start(state, NULL);
    kit_script *p = parent_of(k, NULL, AXO_ALL_FOR_ONE, HOUR);
    kit_script *a = kit_child(k, p, "a");
    kit_script *b = kit_child(k, p, "b");
    (void)kit_tell(k, a, KIT_FAIL, 1);
    (void)kit_tell(k, b, KIT_FAIL, 1);
    kit_await(k, "p.delay@2");
    kit_finish_now(k);
}

/* A child that is stopping when its restart comes due stays as it is, and so do its siblings. */
static bool try_stopping(void **state, int64_t delay)
{
    kit *k = kit_start(state, NULL);
    kit_script *p = parent_of(k, NULL, AXO_ALL_FOR_ONE, delay);
    kit_script *a = kit_child(k, p, "a");
    (void)kit_child(k, p, "b");
    kit_script *child = kit_child(k, a, "child");
    kit_script *x = kit_top(k, "x");
    later *note = kit_alloc(k, sizeof *note);
    child->post_stop.gate = kit_gate_new(k);
    (void)kit_tell(k, a, KIT_FAIL, 1);
    kit_await(k, "p.delay");
    (void)kit_tell_ref(k, p, KIT_STOP, kit_ref(a));
    if (kit_workers(k) > 1) { /* until after the restart is due */
        kit_await(k, "a.stopping");
        *note = (later){.to = kit_ref(x), .delay = 2 * delay};
        (void)kit_run(k, x, tell_later, note);
        kit_await(k, "x.note(5)");
    }
    kit_gate_open(child->post_stop.gate);
    kit_await(k, "p.child_gone(a)");
    kit_settle(k);
    bool met = kit_count(k, "a.ctor") == 1;
    if (met)
        kit_expect_count(k, "b.ctor", 1);
    kit_expect_count(k, "a.postStop", kit_count(k, "a.ctor"));
    kit_finish(k);
    return met;
}

static void PH_13_stopping(void **state)
{
    try_until(state, try_stopping);
}

/* The time that it waited is none without a failure: the delays grow though each is longer than
 * the reset. */
static bool try_reset(void **state, int64_t first)
{
    axo_backoff backoff = AXO_BACKOFF(.min_ns = first, .max_ns = HOUR, .reset_after_ns = first);
    kit *k = kit_start(state, NULL);
    kit_family f = kit_plan(k, "p:restart(a)");
    f.p->strategy.backoff = &backoff;
    kit_grow(&f);
    for (int i = 1; i <= 3; i++)
        (void)kit_tell(k, f.a, KIT_FAIL, i);
    kit_await(k, "a#4.preStart");
    kit_settle(k);
    int64_t ran = kit_find(k, "p.delay@2").time_ns - kit_find(k, "p.decided@1").time_ns -
                  (int64_t)kit_find(k, "p.delay@1").arg;
    int64_t again = kit_find(k, "p.delay@3").time_ns - kit_find(k, "p.decided@2").time_ns -
                    (int64_t)kit_find(k, "p.delay@2").arg;
    bool met = ran < first && again < first; /* each at least what it ran */
    if (met) {
        assert_int_equal(kit_find(k, "p.delay@2").arg, 2 * first);
        assert_int_equal(kit_find(k, "p.delay@3").arg, 4 * first);
    }
    kit_finish(k);
    return met;
}

static void PH_13_reset(void **state)
{
    try_until(state, try_reset);
}

/* Parent and child on threads of their own. */
static void PH_13_pinned(void **state)
{
    for (int who = 0; who < 2; who++) {
        kit *k = kit_start(state, NULL);
        kit_script *g = kit_top(k, "g");
        kit_script *a = kit_actor(k, "a");
        kit_script *p = kit_actor(k, "p");
        axo_backoff backoff = AXO_BACKOFF(.min_ns = MS, .max_ns = 3 * MS);
        p->strategy.backoff = &backoff;
        p->directive = AXO_RESTART;
        (who == 0 ? p : a)->dispatcher = AXO_DISPATCH_PINNED;
        (void)kit_spawn_child(k, g, p, 0);
        kit_await(k, "p.preStart");
        (void)kit_spawn_child(k, p, a, 0);
        kit_await(k, "a.preStart");
        (void)kit_tell(k, a, KIT_FAIL, 1);
        (void)kit_tell(k, a, KIT_FAIL, 2);
        (void)kit_tell(k, a, KIT_NOTE, 1);
        kit_await(k, "a#3.note(1)");
        kit_settle(k);
        not_early(k, "p.decided(RESTART)@1", "p.delay@1", "a#1.preRestart(1)");
        not_early(k, "p.decided(RESTART)@2", "p.delay@2", "a#2.preRestart(2)");
        kit_finish(k);
    }
}

/* Scopes: nobody but the failed one waits, and all restart when it is due. */
static void PH_13_scopes(void **state)
{
    static const axo_scope scopes[] = {AXO_ALL_FOR_ONE, AXO_REST_FOR_ONE};
    for (int i = 0; i < 2; i++) {
        kit *k = kit_start(state, NULL);
        kit_script *p = parent_of(k, NULL, scopes[i], 5 * MS);
        (void)kit_child(k, p, "a");
        kit_script *b = kit_child(k, p, "b");
        kit_script *c = kit_actor(k, "c");
        c->lifetime = AXO_TEMPORARY;
        (void)kit_spawn_child(k, p, c, 0);
        (void)kit_child(k, p, "d");
        kit_await(k, "c.preStart");
        (void)kit_tell(k, b, KIT_FAIL, 7);
        kit_await_all(k, "b#2.preStart", "d#2.preStart", "p.child_gone(c)");
        if (scopes[i] == AXO_ALL_FOR_ONE)
            kit_await(k, "a#2.preStart");
        (void)kit_tell(k, p, KIT_NOTE, 1);
        kit_await(k, "p.note(1)");
        not_early(k, "p.decided(RESTART)", "p.delay", "d.suspend(PARENT)");
        not_early(k, "p.decided(RESTART)", "p.delay", "b.preRestart(7)");
        kit_expect_count(k, "a.ctor", scopes[i] == AXO_ALL_FOR_ONE ? 2 : 1);
        kit_expect(k, "d.preRestartNone=1", "p.delay=1", "c.ctor=1");
        kit_finish_now(k);
    }
}

/* The budget is asked at the failure: what is over it stops at once. */
static void PH_13_budget(kit *k)
{
    static const axo_backoff backoff = AXO_BACKOFF(.min_ns = MS, .max_ns = MS);
    kit_family f = kit_plan(k, "p:restart(a)");
    f.p->strategy.backoff = &backoff;
    f.p->strategy.limited = 1;
    f.p->strategy.retries_max = 2;
    f.p->strategy.within_ns = -1;
    kit_grow(&f);
    for (int i = 0; i < 3; i++)
        (void)kit_tell(k, f.a, KIT_FAIL, 1);
    kit_await(k, "p.child_gone(a)");
    kit_expect(k, "p.delay=2", "p.decided(RESTART)=3", "a.ctor=3");
}

/* Creations that fail are retried with the delay; so are ends of a permanent child; a temporary
 * one, and other directives, know no delay. */
static void PH_13_kinds(void **state)
{
    kit *k = kit_start(state, NULL);
    kit_script *p = parent_of(k, NULL, AXO_ONE_FOR_ONE, MS);
    kit_script *a = kit_actor(k, "a");
    a->lifetime = AXO_PERMANENT;
    a->construct.fail_first = 1;
    a->construct.fail_last = 2;
    (void)kit_spawn_child(k, p, a, 0);
    kit_await(k, "a#3.preStart");
    kit_expect_count(k, "p.delay", 2);
    (void)kit_tell(k, a, KIT_STOP_SELF, 0);
    kit_await(k, "a#4.preStart");
    kit_expect_count(k, "p.delay", 3);
    assert_int_equal(kit_find(k, "p.delay@3").arg, 4 * MS);
    kit_script *t = kit_actor(k, "t");
    t->lifetime = AXO_TEMPORARY;
    (void)kit_spawn_child(k, p, t, 0);
    kit_await(k, "t.preStart");
    (void)kit_tell(k, t, KIT_FAIL, 1);
    kit_await(k, "p.child_gone(t)");
    kit_expect_count(k, "p.delay", 3);
    kit_finish_now(k);
}

static void PH_13_resume(kit *k)
{
    kit_script *p = parent_of(k, NULL, AXO_ONE_FOR_ONE, HOUR);
    p->directive = AXO_RESUME;
    kit_script *a = kit_child(k, p, "a");
    (void)kit_tell(k, a, KIT_FAIL, 1);
    (void)kit_tell(k, a, KIT_NOTE, 1);
    kit_await(k, "a#1.note(1)");
    kit_never(k, "p.delay");
}

/* ---- the parent meanwhile -------------------------------------------------------------------- */

/* Due while the parent is suspended: held back, and done when it runs again. */
static bool try_held(void **state, int64_t delay)
{
    kit *k = kit_start(state, NULL);
    kit_family f = kit_plan(k, "g:resume");
    f.g->decider.gate = kit_gate_new(k);
    kit_grow(&f);
    kit_script *p = parent_of(k, f.g, AXO_ONE_FOR_ONE, delay);
    kit_script *a = kit_child(k, p, "a");
    (void)kit_tell(k, a, KIT_FAIL, 1);
    kit_await(k, "p.delay");
    (void)kit_tell(k, p, KIT_FAIL, 2);
    kit_gate_arrived(f.g->decider.gate, 1);
    bool met = kit_count(k, "a#2.ctor") == 0 && kit_count(k, "a.preRestart") == 0;
    if (met && kit_workers(k) > 1) {
        kit_await(k, "p.hold(a)");
        kit_never(k, "a.preRestart");
    }
    kit_gate_open(f.g->decider.gate);
    kit_await(k, "a#2.preStart");
    kit_settle(k);
    if (met)
        kit_order(k, "p.suspend(OWN)", "p.resume(OWN)", "a.preRestart(1)", "a#2.ctor");
    kit_expect(k, "p.decider=1", "p.delay=1", "a.ctor=2", "p.ctor=1");
    kit_finish(k);
    return met;
}

static void PH_13_parent_suspended(void **state)
{
    try_until(state, try_held);
}

/* The parent restarts and keeps it: restarted with it, still suspended, once more when due. */
static bool try_survivor(void **state, int64_t delay)
{
    kit *k = kit_start(state, NULL);
    kit_family f = kit_tree(k, "g:restart");
    kit_script *p = parent_of(k, f.g, AXO_ONE_FOR_ONE, delay);
    p->keep_children = true;
    p->no_default_start = true;
    kit_script *a = kit_child(k, p, "a");
    (void)kit_tell(k, a, KIT_FAIL, 1);
    (void)kit_tell(k, a, KIT_NOTE, 1);
    kit_await(k, "p.delay");
    (void)kit_tell(k, p, KIT_FAIL, 2);
    kit_await_all(k, "a#3.preStart", "a.note(1)");
    kit_settle(k);
    bool met = kit_count(k, "a#1.preRestart(2)") == 1;
    if (met) {
        kit_order(k, "p.delay", "p#2.postRestart(2)", "a#1.preRestart(2)", "a#2.postRestart(2)",
                  "a#2.preRestart(1)", "a#3.postRestart(1)", "a#3.note(1)");
        kit_expect_count(k, "a.preRestartWith(1)", 1);
        not_early(k, "p.decided(RESTART)", "p.delay", "a#2.preRestart(1)");
    }
    kit_expect_count(k, "a.ctor", 3);
    kit_expect_count(k, "a.suspend", kit_count(k, "a.resume"));
    kit_finish(k);
    return met;
}

static void PH_13_parent_restarts(void **state)
{
    try_until(state, try_survivor);
}

/* A parent that restarts the usual way has stopped it. */
static void PH_13_parent_restarts_without(kit *k)
{
    kit_family f = kit_tree(k, "g:restart");
    kit_script *p = parent_of(k, f.g, AXO_ONE_FOR_ONE, HOUR);
    kit_script *a = kit_child(k, p, "a");
    (void)kit_tell(k, a, KIT_FAIL, 1);
    kit_await(k, "p.delay");
    (void)kit_tell(k, p, KIT_FAIL, 2);
    kit_await(k, "p#2.preStart");
    kit_settle(k);
    kit_order(k, "a.terminated", "p.child_gone(a)", "p#2.ctor");
    kit_expect_count(k, "a.ctor", 1);
}

/* A sibling's all for one reaches one that waits: restarted with it, and again when due. */
static void PH_13_sibling(kit *k)
{
    kit_script *p = parent_of(k, NULL, AXO_ALL_FOR_ONE, 2 * MS);
    kit_script *a = kit_child(k, p, "a");
    kit_script *b = kit_child(k, p, "b");
    (void)kit_tell(k, a, KIT_FAIL, 1);
    (void)kit_tell(k, b, KIT_FAIL, 2);
    (void)kit_tell(k, a, KIT_NOTE, 1);
    (void)kit_tell(k, b, KIT_NOTE, 2);
    kit_await_all(k, "a.note(1)", "b.note(2)", "b.preRestart(2)", "a.preRestart(1)");
    kit_settle(k);
    kit_expect(k, "p.decider=2", "p.delay=2");
    kit_expect_count(k, "a.suspend", kit_count(k, "a.resume"));
    kit_expect_count(k, "b.suspend", kit_count(k, "b.resume"));
    assert_in_range(kit_count(k, "a.ctor"), 2, 3);
    assert_in_range(kit_count(k, "b.ctor"), 2, 3);
    kit_never(k, "*.dl");
}

static const struct CMUnitTest tests[] = {
    KIT_TEST("PH-10", PH_10),
    KIT_TEST("PH-12", PH_12),
    KIT_TEST("PH-13", PH_13),
    KIT_TEST("PH-13 stopped", PH_13_stopped),
    KIT_TEST("PH-13 shutdown", PH_13_shutdown),
    KIT_TEST("PH-13 stopping", PH_13_stopping),
    KIT_TEST("PH-13 reset", PH_13_reset),
    KIT_TEST("PH-13 pinned", PH_13_pinned),
    KIT_TEST("PH-13 scopes", PH_13_scopes),
    KIT_TEST("PH-13 budget", PH_13_budget),
    KIT_TEST("PH-13 kinds", PH_13_kinds),
    KIT_TEST("PH-13 resume", PH_13_resume),
    KIT_TEST("PH-13 parent suspended", PH_13_parent_suspended),
    KIT_TEST("PH-13 parent restarts", PH_13_parent_restarts),
    KIT_TEST("PH-13 parent restarts without", PH_13_parent_restarts_without),
    KIT_TEST("PH-13 sibling", PH_13_sibling),
};
TEST_MAIN(tests)
