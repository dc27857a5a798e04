/* rr_test.c - survivors of a restart are restarted too: conformance RR-01 to RR-12. */
#include "conformance/family.h"
#include "conformance/parts.h"

static void RR_01(kit *k)
{
    kit_family f = kit_plan(k, "g:restart(p:keep(c:keep(d))), -e");
    f.p->construct.run = part_count_children;
    f.p->post_restart.run = part_count_children;
    f.c->post_restart.run = part_count_children;
    kit_grow(&f);
    family_born(k, f.d, f.e); /* d has the default hooks: e is stopped */
    kit_tell(k, f.p, KIT_FAIL, 7);
    kit_await(k, "d#2.postRestart(7)");
    kit_settle(k);
    kit_order(k, "p#1.preRestart(7)", "p#1.preRestartWith(7)", "p#2.ctor", "p#2.children(1)@1",
              "p#2.postRestart(7)", "p#2.children(1)@2", "p#2.preStart", "c#1.preRestart(7)",
              "c#1.preRestartNone", "c#2.ctor", "c#2.postRestart(7)", "c#2.children(1)",
              "c#2.preStart",
              "d#1.preRestart(7)", "d#1.preRestartNone", "d#1.postStop", "d#2.ctor",
              "d#2.postRestart(7)", "d#2.preStart");
    kit_order(k, "d#1.preRestart(7)", "e.postStop", "e.terminated", "d#2.ctor");
    kit_expect(k, "p.ctor=2", "c.ctor=2", "d.ctor=2", "e.ctor=1", "p.postStop=0", "c.postStop=0",
               "c.terminated=0", "d.terminated=0", "p.decider=0", "g.decider=1");
}

static axo_status rr_check_cause(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    const axo_failure *failure = self->failure;
    KIT_REQUIRE(self->k, failure != NULL);
    if (failure == NULL)
        return AXO_OK;
    KIT_REQUIRE(self->k, failure->kind == AXO_FAILURE_ORDINARY);
    KIT_REQUIRE(self->k, failure->site == AXO_SITE_RECEIVE);
    KIT_REQUIRE(self->k, failure->code == 7 && failure->root_code == 7);
    KIT_REQUIRE(self->k, strcmp(failure->text, "thrown 7") == 0);
    KIT_REQUIRE(self->k, axo_ref_equal(failure->actor, kit_ref(arg)));
    kit_mark(self, "checked", 0);
    return AXO_OK;
}

static void RR_02(kit *k)
{
    kit_family f = kit_plan(k, "-p, -c, -d");
    kit_script *all[] = {f.p, f.c, f.d};
    for (uint32_t i = 0; i < 3; i++) {
        all[i]->keep_children = true;
        all[i]->pre_restart.run = rr_check_cause;
        all[i]->pre_restart.arg = f.p;
        all[i]->post_restart.run = rr_check_cause;
        all[i]->post_restart.arg = f.p;
        family_born(k, i == 0 ? NULL : all[i - 1], all[i]);
    }
    kit_tell(k, f.p, KIT_THROW, 7);
    kit_await(k, "d#2.checked");
    kit_settle(k);
    kit_order(k, "p#1.checked", "p#2.checked", "c#1.checked", "c#2.checked", "d#1.checked",
              "d#2.checked");
    kit_expect_count(k, "*.checked", 6);
    kit_finish(k);
}

static void RR_03(kit *k)
{
    kit_family f = kit_plan(k, "g:restart(p:keep(c:keep(d)))");
    kit_gate *deciding = kit_gate_new(k);
    kit_gate *restarting = kit_gate_new(k);
    f.g->decider.gate = deciding;
    f.p->post_restart.gate = restarting;
    kit_grow(&f);
    kit_tell(k, f.p, KIT_FAIL, 7);
    kit_gate_arrived(deciding, 1);
    if (kit_workers(k) > 1)
        kit_await(k, "d.suspend"); /* it goes down by way of c (FS-03) */
    kit_tell(k, f.c, KIT_NOTE, 1);
    kit_tell(k, f.d, KIT_NOTE, 2);
    kit_gate_open(deciding);
    kit_gate_arrived(restarting, 1);
    kit_tell(k, f.c, KIT_NOTE, 3);
    kit_tell(k, f.d, KIT_NOTE, 4);
    kit_expect(k, "c.note=0", "d.note=0");
    kit_gate_open(restarting);
    kit_await_all(k, "c.note(3)", "d.note(4)");
    kit_settle(k);
    kit_order(k, "p#2.postRestart(7)", "c#2.postRestart(7)", "c#2.note(1)", "c#2.note(3)");
    kit_order(k, "c#2.postRestart(7)", "d#2.postRestart(7)", "d#2.note(2)", "d#2.note(4)");
    kit_expect(k, "c.note=2", "d.note=2", "c.ctor=2", "d.ctor=2", "*.dl=0");
}

/* What the new instance spawns is no survivor of this round; of the next one it is. */
static void RR_04(kit *k)
{
    kit_family f = kit_plan(k, "g:restart(p:keep(c)), -n, -m");
    f.p->construct.run = part_spawn_in_second;
    f.p->construct.arg = f.n;
    f.p->post_restart.run = part_spawn_in_second;
    f.p->post_restart.arg = f.m;
    kit_grow(&f);
    kit_tell(k, f.p, KIT_FAIL, 7);
    kit_await_all(k, "c#2.preStart", "n.preStart", "m.preStart");
    kit_settle(k);
    kit_expect(k, "c.preRestart=1", "n.preRestart=0", "m.preRestart=0");
    kit_tell(k, f.p, KIT_FAIL, 8);
    kit_await_all(k, "c#3.preStart", "n#2.preStart", "m#2.preStart");
    kit_settle(k);
    kit_expect(k, "c.ctor=3", "n.ctor=2", "m.ctor=2");
    kit_order(k, "p#3.postRestart(8)", "n#1.preRestart(8)", "n#2.postRestart(8)");
    kit_order(k, "p#3.postRestart(8)", "m#1.preRestart(8)", "m#2.postRestart(8)");
}

static void RR_05(kit *k)
{
    kit_family f = kit_tree(k, "g:restart(p:escalate:keep(c))");
    kit_tell(k, f.c, KIT_SET, 23);
    kit_tell(k, f.c, KIT_FAIL, 7);
    kit_tell(k, f.c, KIT_GET, 0);
    kit_await(k, "c.get");
    kit_settle(k);
    kit_order(k, "c#1.set(23)", "c#1.fails(7)", "p#1.decider(c)", "g.decider(p)",
              "p#1.preRestart(7)", "p#2.ctor", "p#2.postRestart(7)", "c#1.preRestart(7)",
              "c#2.ctor", "c#2.postRestart(7)", "c#2.get(0)");
    kit_expect(k, "c.ctor=2", "p.ctor=2", "c.preRestart=1", "p.decider=1", "g.decider=1",
               "c.terminated=0");
}

/* The failed one's siblings too; with all for one above, the supervisor's sibling as well. */
static void RR_06(kit *k)
{
    static const char *const labels[] = {"c1", "c2", "c3"};
    kit_family f = kit_tree(k, "g:restart:all(p:escalate:keep,q)");
    kit_script *c[3];
    for (uint32_t i = 0; i < 3; i++) {
        c[i] = kit_actor(k, labels[i]);
        family_born(k, f.p, c[i]);
        kit_tell(k, c[i], KIT_SET, 23);
    }
    kit_settle(k);
    kit_tell(k, c[1], KIT_FAIL, 7);
    for (uint32_t i = 0; i < 3; i++)
        family_await(k, c[i], "postRestart(7)");
    kit_await(k, "q#2.postRestart(7)");
    for (uint32_t i = 0; i < 3; i++) {
        kit_tell(k, c[i], KIT_GET, 0);
        family_await(k, c[i], "get(0)");
    }
    kit_settle(k);
    for (uint32_t i = 0; i < 3; i++) {
        family_expect(k, c[i], "ctor", 2);
        family_expect(k, c[i], "preRestart", 1);
        family_expect(k, c[i], "preRestartNone", i == 1 ? 0 : 1);
        family_expect(k, c[i], "terminated", 0);
    }
    kit_order(k, "p#2.postRestart(7)", "c1#1.preRestart(7)", "c1#2.get(0)");
    kit_order(k, "p#2.postRestart(7)", "c2#1.preRestart(7)", "c2#2.get(0)");
    kit_order(k, "p#2.postRestart(7)", "c3#1.preRestart(7)", "c3#2.get(0)");
    kit_expect(k, "p.ctor=2", "q.ctor=2", "p.decider=1", "g.decider=1");
    kit_finish(k);
}

/* ---- RR-07: fails while its parent is failing ----------------------------------------------- */

/* Needs two workers: one for the child at its gate, one for all the rest. With one worker the
 * child's failure comes after its restart, and it is decided on all the same. */
static kit_script *rr_fail_together(kit *k, axo_directive second)
{
    kit_script *g = family_restarter(k, "g");
    kit_script *p = kit_actor(k, "p");
    kit_script *c = kit_actor(k, "c");
    part_blow *blow = part_blow_new(k, 9);
    kit_gate *deciding = kit_gate_new(k);
    bool many = kit_workers(k) > 1;
    g->decider.gate = deciding;
    p->keep_children = true;
    p->directive = second;
    family_born(k, NULL, g);
    family_born(k, g, p);
    family_born(k, p, c);
    if (many) {
        kit_run(k, c, part_hold_fail, blow);
        kit_gate_arrived(blow->gate, 1);
    }
    kit_tell(k, p, KIT_FAIL, 7);
    kit_gate_arrived(deciding, 1);
    kit_gate_open(blow->gate);
    if (many)
        kit_await(k, "p.hold(c)");
    else
        kit_run(k, c, part_hold_fail, blow);
    kit_tell(k, c, KIT_NOTE, 1);
    kit_never(k, "p.decider");
    kit_gate_open(deciding);
    return c;
}

static void RR_07(kit *k)
{
    (void)rr_fail_together(k, AXO_RESTART);
    kit_await(k, "c.note(1)");
    kit_settle(k);
    kit_order(k, "p#1.preRestart(7)", "p#2.ctor", "p#2.postRestart(7)", "c#1.preRestart(7)",
              "c#2.ctor", "c#2.postRestart(7)", "c#2.preRestart(9)", "c#3.ctor",
              "c#3.postRestart(9)", "c#3.note(1)");
    kit_order(k, "p#2.postRestart(7)", "p#2.decider(c)", "c#2.preRestart(9)");
    kit_expect(k, "p.decider=1", "c.ctor=3", "c.note=1", "g.decider=1");
}

/* With Stop as the decision the child ends. Whether its restart still comes before is not told: a
 * stop that finds the restart waiting overtakes it (ST-12). Each instance has one post_stop. */
static void RR_07_stop(kit *k)
{
    (void)rr_fail_together(k, AXO_STOP);
    kit_await(k, "c.terminated");
    kit_settle(k);
    kit_order(k, "p#1.preRestart(7)", "p#2.ctor", "p#2.postRestart(7)", "p#2.decider(c)",
              "p#2.decided(STOP)", "c.terminated");
    assert_in_range(kit_count(k, "c.ctor"), 1, 2);
    assert_int_equal(kit_count(k, "c.preRestart(7)"), kit_count(k, "c.ctor") - 1);
    assert_int_equal(kit_count(k, "c.postStop"), kit_count(k, "c.ctor"));
    if (kit_count(k, "c.ctor") == 2)
        kit_order(k, "p#2.postRestart(7)", "c#1.preRestart(7)", "c#2.ctor", "c#2.postRestart(7)",
                  "c#2.postStop", "c.terminated");
    kit_expect(k, "c.preRestart(9)=0", "c.note=0");
    kit_await_count(k, "c.dl(NOTE)", 1);
    kit_expect(k, "c.dl(NOTE)=1", "p.decider=1");
}

/* ---- RR-09, RR-10 --------------------------------------------------------------------------- */

#define RR_LEVELS 3
#define RR_WIDTH  3

/* A tree of survivors, three levels, restarted from the top, from the middle by escalation, with
 * a constructor that fails on the way: all answer, with no suspend count left. */
static void RR_09(kit *k)
{
    static const char *const labels[RR_LEVELS][RR_WIDTH] = {
        {"a1", "a2", "a3"}, {"b1", "b2", "b3"}, {"c1", "c2", "c3"}};
    kit_family f = kit_plan(k, "g:restart(p:escalate:keep), w");
    kit_script *tree[RR_LEVELS][RR_WIDTH];
    f.p->construct.fail_first = 3;
    f.p->construct.code = 55;
    kit_grow(&f);
    for (int i = 0; i < RR_LEVELS; i++) {
        for (int j = 0; j < RR_WIDTH; j++) {
            tree[i][j] = kit_actor(k, labels[i][j]);
            tree[i][j]->keep_children = true;
            tree[i][j]->directive = AXO_ESCALATE;
            family_born(k, i == 0 ? f.p : tree[i - 1][j], tree[i][j]);
        }
    }
    kit_tell(k, f.p, KIT_FAIL, 7); /* p#2 */
    kit_settle(k);
    kit_tell(k, tree[1][1], KIT_FAIL, 8); /* through a2 and p to g: p#3 fails, p#4 */
    kit_settle(k);
    kit_tell(k, f.p, KIT_FAIL, 9); /* p#5, while leaves fail too */
    for (int j = 0; j < RR_WIDTH; j++)
        kit_tell(k, tree[2][j], KIT_FAIL, 10 + j);
    kit_settle(k);
    family_answers(k, f.w, f.p, 99);
    for (int i = 0; i < RR_LEVELS; i++) {
        for (int j = 0; j < RR_WIDTH; j++) {
            uint32_t mid = i == 0 && j == 1 ? 1 : 0; /* decided on b2 */
            family_answers(k, f.w, tree[i][j], 10 * i + j + 100);
            family_expect(k, tree[i][j], "preRestart(7)", 1);
            family_expect(k, tree[i][j], "decider", i == RR_LEVELS - 1 ? 0 : 1 + mid);
            family_expect(k, tree[i][j], "terminated", 0);
        }
    }
    /* Whenever the leaves failed, each cost p one restart. */
    kit_expect_count(k, "p.decider", 1 + RR_WIDTH);
    kit_expect_count(k, "p.ctor", 5 + RR_WIDTH);
    kit_expect_count(k, "g.decider(p)", 4 + RR_WIDTH);
    kit_expect_count(k, "w.pong", 1 + RR_LEVELS * RR_WIDTH);
    kit_finish(k);
}

/* One survivor's pre_restart fails, two cannot be made again, one is busy: the others go on. */
static void RR_08(kit *k)
{
    static const char *const labels[] = {"c0", "c1", "c2", "c3", "c4", "c5"};
    kit_family f = kit_tree(k, "g:restart(p:keep), w");
    kit_script *c[6];
    kit_gate *busy = kit_gate_new(k);
    for (uint32_t i = 0; i < 6; i++) {
        c[i] = kit_actor(k, labels[i]);
        family_born(k, f.p, c[i]);
    }
    c[1]->pre_restart.fail_first = 1;
    c[1]->pre_restart.how = KIT_BY_THROW;
    c[2]->construct.fail_first = 2;
    c[3]->post_restart.fail_first = 1;
    c[3]->post_restart.how = KIT_BY_THROW;
    if (kit_workers(k) > 1) {
        kit_wait_at(k, c[4], busy, 0);
        kit_gate_arrived(busy, 1);
    }
    kit_tell(k, f.p, KIT_FAIL, 7);
    kit_await_all(k, "p.child_gone(c2)", "p.child_gone(c3)");
    family_answers(k, f.w, c[0], 1);
    family_answers(k, f.w, c[1], 2);
    family_answers(k, f.w, c[5], 3);
    if (kit_workers(k) > 1)
        kit_never(k, "c4.preRestart");
    kit_gate_open(busy);
    family_answers(k, f.w, c[4], 4);
    kit_settle(k);
    for (uint32_t i = 0; i < 6; i++)
        family_expect(k, c[i], "preRestart(7)", 1);
    kit_expect(k, "c0.ctor=2", "c1.ctor=2", "c4.ctor=2", "c5.ctor=2", "p.decider=2",
               "p.decided(STOP)=2", "p.ctor=2", "g.decider=1");
    kit_finish(k);
}

/* The old child fails in flight while it is told to stop; its namesake is left alone. */
static void RR_10(kit *k)
{
    kit_family f = kit_plan(k, "g:restart(p:restart(c)), -n");
    part_blow *blow = part_blow_new(k, 9);
    bool many = kit_workers(k) > 1;
    f.n->name = "c";
    f.p->post_restart.run = part_spawn;
    f.p->post_restart.arg = f.n;
    kit_grow(&f);
    if (many) {
        kit_run(k, f.c, part_hold_fail, blow);
        kit_gate_arrived(blow->gate, 1);
    }
    kit_tell(k, f.p, KIT_FAIL, 7);
    if (many) {
        kit_await(k, "p#1.postStop");
        kit_never(k, "p#2.ctor");
    }
    kit_gate_open(blow->gate);
    kit_await(k, "n.preStart");
    family_answers(k, f.g, f.n, 5);
    kit_settle(k);
    kit_order(k, "p#1.preRestart(7)", "p#1.postStop", "p#2.ctor", "p#2.postRestart(7)", "n.ctor",
              "n.ping(5)");
    kit_order(k, "p#1.preRestart(7)", "c.terminated", "p#2.ctor");
    if (many)
        kit_order(k, "p#1.postStop", "c.fails(9)", "c.postStop", "p#2.ctor");
    kit_expect(k, "p.decider=0", "p.spawnFailed=0", "n.ctor=1", "n.preRestart=0", "c.ctor=1");
    assert_false(axo_ref_equal(kit_ref(f.c), kit_ref(f.n)));
}

/* ---- RR-11, RR-12: directives that meet ------------------------------------------------------ */

/* p keeps c, which is busy at the gate while p is restarted for 7. */
typedef struct rr_busy {
    kit_script *g;
    kit_script *p;
    kit_script *c;
    kit_gate *gate;
} rr_busy;

static rr_busy rr_busy_child(kit *k, axo_lifetime lifetime)
{
    rr_busy b = {.g = family_restarter(k, "g"), .p = kit_actor(k, "p"), .c = kit_actor(k, "c"),
                 .gate = kit_gate_new(k)};
    b.p->keep_children = true;
    b.p->no_default_start = true;
    b.c->lifetime = lifetime;
    family_born(k, NULL, b.g);
    family_born(k, b.g, b.p);
    family_born(k, b.p, b.c);
    kit_wait_at(k, b.c, b.gate, 0);
    kit_gate_arrived(b.gate, 1);
    kit_tell(k, b.p, KIT_FAIL, 7);
    kit_await(k, "p#2.postRestart(7)");
    kit_tell(k, b.p, KIT_NOTE, 1); /* then its survivors are told */
    kit_await(k, "p#2.note(1)");
    assert_int_equal(kit_stats(k).restarts_merged, 0);
    return b;
}

/* Three that c has not begun are one, for the first one's failure. The next one is another. */
static void RR_11(kit *k)
{
    rr_busy b = rr_busy_child(k, AXO_TRANSIENT);
    kit_tell(k, b.p, KIT_FAIL, 8);
    kit_await(k, "p.merge(c)@1");
    kit_tell(k, b.p, KIT_FAIL, 9);
    kit_await(k, "p.merge(c)@2");
    kit_tell(k, b.c, KIT_NOTE, 2);
    kit_never(k, "c.suspend");
    kit_gate_open(b.gate);
    kit_await(k, "c#2.note(2)");
    kit_settle(k);
    kit_order(k, "p#3.postRestart(8)", "p.merge(c)@1", "p#4.postRestart(9)", "p.merge(c)@2",
              "c#1.preRestart(7)", "c#1.preRestartNone", "c#2.ctor", "c#2.postRestart(7)",
              "c#2.preStart", "c#2.note(2)");
    kit_expect_count(k, "c.ctor", 2);
    assert_int_equal(kit_stats(k).restarts_merged, 2);
    assert_int_equal(kit_stats(k).restarts, 4);
    kit_tell(k, b.p, KIT_FAIL, 10);
    kit_await(k, "c#3.postRestart(10)");
    kit_settle(k);
    kit_expect_count(k, "*.merge", 2);
    assert_int_equal(kit_stats(k).restarts_merged, 2);
}

static axo_status rr_stop_child(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    return axo_stop(ctx, kit_ref(arg));
}

static void rr_expect_overtaken(kit *k)
{
    kit_await(k, "p.child_gone(c)");
    kit_settle(k);
    kit_expect(k, "c.ctor=1", "c.preRestart=0", "c.postRestart=0", "c.note=0", "c.postStop=1");
    kit_await_count(k, "c.dl(NOTE)", 1);
    assert_int_equal(kit_stats(k).restarts, 1);
}

/* The parent's stop, behind one restart that waits; and behind two that are one. */
static void RR_12(kit *k)
{
    rr_busy b = rr_busy_child(k, AXO_TRANSIENT);
    kit_tell(k, b.c, KIT_NOTE, 2);
    kit_run(k, b.p, rr_stop_child, b.c);
    kit_tell(k, b.p, KIT_NOTE, 3);
    kit_await(k, "p#2.note(3)");
    kit_gate_open(b.gate);
    rr_expect_overtaken(k);
    kit_never(k, "*.merge");
}

/* Another's stop, with two restarts that met. */
static void RR_12_others(kit *k)
{
    rr_busy b = rr_busy_child(k, AXO_TRANSIENT);
    kit_tell(k, b.c, KIT_NOTE, 2);
    kit_tell(k, b.p, KIT_FAIL, 8);
    kit_await(k, "p.merge(c)");
    assert_int_equal(axo_system_stop_actor(kit_system(k), kit_ref(b.c)), AXO_OK);
    kit_gate_open(b.gate);
    kit_await(k, "p.child_gone(c)");
    kit_settle(k);
    kit_expect(k, "c.ctor=1", "c.preRestart=0", "c.postStop=1");
    assert_int_equal(kit_stats(k).restarts, 2); /* p's */
    assert_int_equal(kit_stats(k).restarts_merged, 1);
}

/* For a permanent one another's stop is no directive: the restart takes it in (LT-08). */
static void RR_12_permanent(kit *k)
{
    rr_busy b = rr_busy_child(k, AXO_PERMANENT);
    kit_tell(k, b.c, KIT_NOTE, 2);
    assert_int_equal(axo_system_stop_actor(kit_system(k), kit_ref(b.c)), AXO_OK);
    kit_gate_open(b.gate);
    kit_await(k, "c#2.note(2)");
    kit_settle(k);
    kit_expect(k, "c.ctor=2", "c.postRestart(7)=1", "c.terminated=0", "p.decider=0");
}

static const struct CMUnitTest tests[] = {
    KIT_TEST("RR-01", RR_01), KIT_TEST("RR-02", RR_02),           KIT_TEST("RR-03", RR_03),
    KIT_TEST("RR-04", RR_04), KIT_TEST("RR-05", RR_05),           KIT_TEST("RR-06", RR_06),
    KIT_TEST("RR-07", RR_07), KIT_TEST("RR-07 stop", RR_07_stop), KIT_TEST("RR-08", RR_08),
    KIT_TEST("RR-09", RR_09), KIT_TEST("RR-10", RR_10),
    PART_TEST_MANY("RR-11", RR_11),
    PART_TEST_MANY("RR-12", RR_12),
    PART_TEST_MANY("RR-12 others", RR_12_others),
    PART_TEST_MANY("RR-12 permanent", RR_12_permanent),
};

TEST_MAIN(tests)
