/* rw_test.c - how many restarts a child may have, and in which time.
 *
 * Windows are an hour or nothing where time must not pass. Where it must, only lower bounds are
 * relied on, or the recorded times are checked and the timeline is repeated, stretched, if the
 * machine was too slow for it. */
#include "conformance/budget.h"

#define MS_NS INT64_C(1000000)

static void RW_01(kit *k)
{
    kit_script *p = budget_parent(k, "p", (budget){.retries = 3, .within_ns = -1});
    kit_script *q = budget_parent(k, "q", (budget){.retries = 1, .within_ns = -1});
    budget_crash_until(k, kit_child(k, p, "a"), 3);
    budget_crash_until(k, kit_child(k, q, "b"), 1);
    kit_expect_count(k, "p.decided(RESTART)", 4);
}

static void RW_02(kit *k)
{
    kit_script *p =
        budget_parent(k, "p", (budget){.retries = AXO_RETRIES_UNLIMITED, .within_ns = -1});
    kit_script *q = kit_top(k, "q"); /* without limits at all */
    q->directive = AXO_RESTART;
    budget_crash_for_ever(k, kit_child(k, p, "a"), 100);
    budget_crash_for_ever(k, kit_child(k, q, "b"), 100);
}

/* A window and no count: one restart a window. */
static void RW_03(kit *k)
{
    kit_script *p =
        budget_parent(k, "p", (budget){.retries = AXO_RETRIES_UNLIMITED,
                                       .within_ns = BUDGET_HOUR_NS});
    kit_script *q = budget_parent(k, "q", (budget){.retries = -7, .within_ns = BUDGET_HOUR_NS});
    budget_crash_until(k, kit_child(k, p, "a"), 1);
    budget_crash_until(k, kit_child(k, q, "b"), 1);
}

static void RW_04(kit *k)
{
    static const char *const parents[] = {"p0", "p1", "p2"};
    static const char *const children[] = {"a0", "a1", "a2"};
    static const int64_t windows[] = {-1, 0, BUDGET_HOUR_NS};
    for (int i = 0; i < 3; i++) {
        kit_script *p = budget_parent(k, parents[i], (budget){.within_ns = windows[i]});
        budget_crash_until(k, kit_child(k, p, children[i]), 0);
    }
    kit_expect(k, "*.postStop=3", "*.preRestart=0");
}

/* ---- where time must pass -------------------------------------------------------------------- */

static axo_status ring_later(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    kit_payload order = {.value = 0};
    KIT_REQUIRE(self->k, axo_send_after(ctx, *(const int64_t *)arg, axo_self(ctx), KIT_NOTE,
                                        &order, sizeof order) == AXO_OK);
    return AXO_OK;
}

/* Lets at least this time pass, by the system's own clock. */
static void let_pass(kit *k, kit_script *clock, int64_t ns)
{
    int64_t *arg = kit_alloc(k, sizeof *arg);
    uint32_t before = kit_count(k, "clock.note");
    *arg = ns;
    (void)kit_run(k, clock, ring_later, arg);
    kit_await_count(k, "clock.note", before + 1);
}

/* A child fails again and again, after these pauses. Times are in units of the stretch. */
typedef struct timeline {
    int32_t retries;
    int64_t window;          /* units of ms */
    axo_window kind;
    uint32_t failures;
    int64_t pause[8];        /* before each failure */
    uint32_t permits;        /* of the failures, this many restart; the next one stops */
    uint32_t inside[4][2];   /* failures that must lie within one window for this to hold */
} timeline;

/* The times that the parent can have seen at failure n lie between these. */
static int64_t earliest(kit *k, uint32_t n)
{
    char pattern[80];
    (void)snprintf(pattern, sizeof pattern, "a.fails(%u)", n);
    return kit_find(k, pattern).time_ns;
}

static int64_t latest(kit *k, uint32_t n)
{
    char pattern[80];
    (void)snprintf(pattern, sizeof pattern, "a#%u.postStop", n);
    return kit_find(k, pattern).time_ns;
}

/* Plays it once.
 *   returns   false: the machine was too slow for this stretch, nothing can be said */
static bool timeline_plays(void **state, const timeline *line, int64_t stretch)
{
    kit *k = kit_start(state, NULL);
    kit_script *clock = kit_top(k, "clock");
    int64_t window_ns = line->window * stretch * MS_NS;
    kit_script *p = budget_parent(
        k, "p", (budget){.retries = line->retries, .within_ns = window_ns, .window = line->kind});
    kit_script *a = kit_child(k, p, "a");
    uint32_t permits = 0;
    uint32_t failures = 0;
    bool good = true;
    while (failures < line->failures && permits == failures) {
        char pattern[80];
        if (line->pause[failures] != 0)
            let_pass(k, clock, line->pause[failures] * stretch * MS_NS);
        failures++;
        (void)kit_tell(k, a, KIT_FAIL, failures);
        (void)snprintf(pattern, sizeof pattern, "a#%u.postStop", failures);
        kit_await(k, pattern);
        permits = kit_count(k, "a.preRestart");
    }
    for (uint32_t i = 0; i < 4 && line->inside[i][0] != 0; i++) {
        uint32_t last = line->inside[i][1];
        if (last <= failures)
            good = good && latest(k, last) - earliest(k, line->inside[i][0]) <= window_ns;
    }
    if (good && permits != line->permits)
        kit_dump(k);
    kit_finish(k);
    if (good)
        assert_int_equal(permits, line->permits);
    return good;
}

static void play(void **state, const timeline *line)
{
    void *workers = *state;
    for (int64_t stretch = 1; stretch <= 16; stretch *= 2) {
        *state = workers;
        if (timeline_plays(state, line, stretch))
            return;
    }
    fail_msg("this machine is too slow for a window of %d ms", (int)line->window * 16);
}

/* The window is fixed: it opens at a failure and is over when it is over. */
static void RW_05(void **state)
{
    static const timeline line = {.retries = 2,
                                  .window = 120,
                                  .failures = 5,
                                  .pause = {0, 100, 40, 0, 0},
                                  .permits = 4,
                                  .inside = {{1, 2}, {2, 4}, {3, 5}}};
    play(state, &line);
}

/* Crashes that are further apart than the window are always permitted. */
static void RW_07(void **state)
{
    static const timeline line = {
        .retries = 2, .window = 50, .failures = 4, .pause = {0, 0, 60, 0}, .permits = 4};
    play(state, &line);
}

static void RW_08(kit *k)
{
    kit_script *p = budget_parent(k, "p", (budget){.retries = 2, .within_ns = BUDGET_HOUR_NS});
    kit_script *q = budget_parent(k, "q", (budget){.retries = 5, .within_ns = BUDGET_HOUR_NS});
    budget_crash_until(k, kit_child(k, p, "a"), 2);
    budget_crash_until(k, kit_child(k, q, "b"), 5);
}

/* A window of nothing is not no window: each failure is outside the one before. */
static void RW_09(kit *k)
{
    kit_script *p = budget_parent(k, "p", (budget){.retries = 1, .within_ns = 0});
    budget_crash_for_ever(k, kit_child(k, p, "a"), 20);
}

static void RW_10(kit *k)
{
    kit_script *p = budget_parent(k, "p", (budget){.retries = 2, .within_ns = -5});
    kit_script *q = budget_parent(k, "q", (budget){.retries = 2, .within_ns = INT64_MIN});
    budget_crash_until(k, kit_child(k, p, "a"), 2);
    budget_crash_until(k, kit_child(k, q, "b"), 2);
}

/* Long windows do not overflow. */
static void RW_11(kit *k)
{
    kit_script *p =
        budget_parent(k, "p", (budget){.retries = 2, .within_ns = 30 * 24 * BUDGET_HOUR_NS});
    kit_script *q = budget_parent(k, "q", (budget){.retries = 2, .within_ns = INT64_MAX});
    kit_script *r = budget_parent(
        k, "r",
        (budget){.retries = 2, .within_ns = INT64_MAX, .window = AXO_WINDOW_SLIDING});
    budget_crash_until(k, kit_child(k, p, "a"), 2);
    budget_crash_until(k, kit_child(k, q, "b"), 2);
    budget_crash_until(k, kit_child(k, r, "c"), 2);
}

/* Windows below a millisecond are kept as they are: two failures that surely lie within one are
 * one too many. A child whose failures lay further apart says nothing. */
static void RW_12(void **state)
{
    enum { TRIES = 100 };
    kit *k = kit_start(state, NULL);
    kit_script *p = budget_parent(k, "p", (budget){.retries = 1, .within_ns = MS_NS - 1});
    bool refused = false;
    for (int i = 0; i < TRIES && !refused; i++) {
        char *label = kit_alloc(k, 16);
        char first[48];
        char last[48];
        (void)snprintf(label, 16, "a%d", i);
        kit_script *a = kit_child(k, p, label);
        (void)kit_tell(k, a, KIT_FAIL, 1);
        (void)kit_tell(k, a, KIT_FAIL, 2);
        (void)snprintf(first, sizeof first, "%s.fails(1)", label);
        (void)snprintf(last, sizeof last, "%s#2.postStop", label);
        kit_await(k, last);
        if (kit_find(k, last).time_ns - kit_find(k, first).time_ns > MS_NS - 1)
            continue;
        refused = true;
        (void)snprintf(last, sizeof last, "%s.terminated", label);
        kit_await(k, last);
    }
    kit_finish(k);
    if (!refused)
        skip(); /* too slow a machine, or a tool that makes it so */
}

/* The budget is each child's own. */
static void RW_13(kit *k)
{
    kit_script *p = budget_parent(k, "p", (budget){.retries = 2, .within_ns = -1});
    kit_script *a = kit_child(k, p, "a");
    kit_script *b = kit_child(k, p, "b");
    budget_crash(k, a, 1, true);
    budget_crash(k, b, 1, true);
    budget_crash(k, a, 2, true);
    budget_crash(k, b, 2, true);
    kit_never(k, "*.terminated");
    budget_crash(k, a, 3, false);
    (void)kit_tell(k, b, KIT_NOTE, 1);
    kit_await(k, "b#3.note(1)");
    budget_crash(k, b, 3, false);
}

/* The count outlives restarts of the child and of its parent; a new child begins at zero. */
static void RW_14(kit *k)
{
    kit_family f = kit_tree(k, "g, -p");
    kit_script *a;
    kit_script *again = kit_actor(k, "again");
    f.g->directive = AXO_RESTART;
    f.p->strategy.limited = 1;
    f.p->strategy.retries_max = 2;
    f.p->strategy.within_ns = -1;
    f.p->directive = AXO_RESTART;
    f.p->keep_children = true;
    f.p->no_default_start = true;
    (void)kit_spawn_child(k, f.g, f.p, 0);
    kit_await(k, "p.preStart");
    a = kit_child(k, f.p, "a");
    budget_crash(k, a, 1, true);
    (void)kit_tell(k, f.p, KIT_FAIL, 50);
    kit_await(k, "a#3.preStart"); /* with its parent: costs nothing of the budget */
    kit_expect_count(k, "p.ctor", 2);
    budget_crash(k, a, 3, true);
    budget_crash(k, a, 4, false);
    kit_expect_count(k, "p.decider(a)", 3);
    again->name = "a";
    kit_await(k, "p.child_gone(a)");
    (void)kit_spawn_child(k, f.p, again, 0);
    kit_await(k, "again.preStart");
    budget_crash_until(k, again, 2);
}

/* Only Restart spends. */
static void RW_15(kit *k)
{
    kit_family f = kit_tree(k, "g, -p");
    kit_script *a;
    f.g->directive = AXO_RESUME;
    f.p->strategy.limited = 1;
    f.p->strategy.retries_max = 1;
    f.p->strategy.within_ns = -1;
    (void)kit_spawn_child(k, f.g, f.p, 0);
    kit_await(k, "p.preStart");
    a = kit_child(k, f.p, "a");
    for (int i = 0; i < 3; i++) {
        (void)kit_tell(k, a, KIT_FAIL, KIT_DO_RESUME);
        (void)kit_tell(k, a, KIT_FAIL, KIT_DO_ESCALATE);
    }
    (void)kit_tell(k, a, KIT_FAIL, KIT_DO_RESTART);
    kit_await(k, "a#2.preStart");
    for (int i = 0; i < 3; i++) {
        (void)kit_tell(k, a, KIT_FAIL, KIT_DO_RESUME);
        (void)kit_tell(k, a, KIT_FAIL, KIT_DO_ESCALATE);
    }
    (void)kit_tell(k, a, KIT_NOTE, 1);
    kit_await(k, "a#2.note(1)");
    (void)kit_tell(k, a, KIT_FAIL, KIT_DO_RESTART);
    kit_await(k, "a.terminated");
    kit_expect(k, "a.ctor=2", "g.decider(p)=6", "p.decided(RESUME)=6", "p.decided(RESTART)=2");
}

/* Failures of creation and re-creation spend the same budget. */
static void RW_16(kit *k)
{
    kit_script *p = budget_parent(k, "p", (budget){.retries = 3, .within_ns = -1});
    kit_script *unmade = kit_actor(k, "unmade");
    kit_script *unstarted = kit_actor(k, "unstarted");
    kit_script *remade = kit_actor(k, "remade");
    unmade->construct.fail_first = 1;
    unmade->construct.fail_last = UINT32_MAX;
    (void)kit_spawn_child(k, p, unmade, 0);
    kit_await(k, "unmade.terminated");
    kit_expect(k, "unmade.ctor=4", "unmade.preStart=0");
    unstarted->pre_start.fail_first = 1;
    unstarted->pre_start.fail_last = UINT32_MAX;
    unstarted->pre_start.how = KIT_BY_THROW;
    (void)kit_spawn_child(k, p, unstarted, 0);
    kit_await(k, "unstarted.terminated");
    kit_expect(k, "unstarted.ctor=4", "unstarted.preStart=4", "*.postStop=0");
    remade->construct.fail_first = 2;
    remade->construct.fail_last = UINT32_MAX;
    (void)kit_spawn_child(k, p, remade, 0);
    kit_await(k, "remade.preStart");
    (void)kit_tell(k, remade, KIT_FAIL, 1);
    kit_await(k, "remade.terminated");
    kit_expect_count(k, "remade.ctor", 4); /* the first, and three restarts */
    kit_expect(k, "remade.postStop=1", "p.decider(unmade)=4", "p.decider(unstarted)=4",
               "p.decider(remade)=4");
}

/* What is over the budget is stopped, not escalated; watchers see an ordinary end. */
static void RW_17(kit *k)
{
    kit_family f = kit_plan(k, "g(p:restart(a)), w");
    f.p->strategy.limited = 1;
    f.p->strategy.retries_max = 1;
    f.p->strategy.within_ns = BUDGET_HOUR_NS;
    kit_grow(&f);
    (void)kit_tell_ref(k, f.w, KIT_WATCH, kit_ref(f.a));
    (void)kit_tell_ref(k, f.p, KIT_WATCH, kit_ref(f.a));
    kit_settle(k);
    budget_crash(k, f.a, 1, true);
    kit_never(k, "*.term");
    budget_crash(k, f.a, 2, false);
    kit_await_all(k, "w.term(a)", "p.term(a)");
    kit_settle(k);
    kit_order(k, "a#2.fails", "p.decided(RESTART)@2", "a#2.postStop", "a.terminated", "p.term(a)");
    kit_expect(k, "*.term(a)=2", "w.known(1)=1", "p.known(1)=1", "g.decider=0", "p.suspend=0",
               "p.ctor=1");
}

/* The sliding form: counts failures younger than the window; nothing counts all. */
static void RW_19(kit *k)
{
    kit_script *p = budget_parent(
        k, "p", (budget){.retries = 2, .within_ns = BUDGET_HOUR_NS, .window = AXO_WINDOW_SLIDING});
    kit_script *q = budget_parent(
        k, "q", (budget){.retries = 0, .within_ns = BUDGET_HOUR_NS, .window = AXO_WINDOW_SLIDING});
    kit_script *r =
        budget_parent(k, "r", (budget){.retries = 2, .within_ns = 0, .window = AXO_WINDOW_SLIDING});
    kit_script *s = budget_parent(k, "s",
                                (budget){.retries = AXO_SLIDING_MAX - 1,
                                         .within_ns = BUDGET_HOUR_NS,
                                         .window = AXO_WINDOW_SLIDING});
    kit_script *u = /* no window, RW-10 */
        budget_parent(k, "u", (budget){.retries = 2, .within_ns = -1,
                                       .window = AXO_WINDOW_SLIDING});
    kit_script *t =
        budget_parent(k, "t", (budget){.retries = 1, .within_ns = 1, .window = AXO_WINDOW_SLIDING});
    budget_crash_until(k, kit_child(k, p, "a"), 2);
    budget_crash_until(k, kit_child(k, q, "b"), 0);
    budget_crash_until(k, kit_child(k, r, "c"), 2);
    budget_crash_until(k, kit_child(k, s, "d"), AXO_SLIDING_MAX - 1);
    budget_crash_until(k, kit_child(k, u, "f"), 2);
    budget_crash_for_ever(k, kit_child(k, t, "e"), 2 * AXO_SLIDING_MAX);
}

/* The sliding form remembers only so much: a count out of its range is refused at the spawn. */
static void RW_19_range(kit *k)
{
    static const axo_class cls = AXO_CLASS(.receive = kit_receive);
    static const int32_t counts[] = {-1, AXO_SLIDING_MAX, INT32_MAX};
    for (int i = 0; i < 3; i++) {
        axo_strategy strategy =
            AXO_STRATEGY(.window = AXO_WINDOW_SLIDING, .limited = 1, .within_ns = BUDGET_HOUR_NS,
                         .retries_max = counts[i]);
        axo_props props = AXO_PROPS(.cls = &cls, .strategy = &strategy);
        axo_ref ref = {1};
        assert_int_equal(axo_system_spawn(kit_system(k), &props, &ref), AXO_EINVAL);
        assert_true(axo_ref_is_none(ref));
    }
}

/* Where the fixed window would have begun anew, the sliding one still counts. */
static void RW_19_timeline(void **state)
{
    static const timeline line = {.retries = 2,
                                  .window = 120,
                                  .kind = AXO_WINDOW_SLIDING,
                                  .failures = 4,
                                  .pause = {0, 100, 40, 0},
                                  .permits = 3,
                                  .inside = {{2, 4}}};
    play(state, &line);
}

static const struct CMUnitTest tests[] = {
    KIT_TEST("RW-01", RW_01), KIT_TEST("RW-02", RW_02), KIT_TEST("RW-03", RW_03),
    KIT_TEST("RW-04", RW_04), KIT_TEST("RW-05", RW_05), KIT_TEST("RW-07", RW_07),
    KIT_TEST("RW-08", RW_08), KIT_TEST("RW-09", RW_09), KIT_TEST("RW-10", RW_10),
    KIT_TEST("RW-11", RW_11), KIT_TEST("RW-12", RW_12), KIT_TEST("RW-13", RW_13),
    KIT_TEST("RW-14", RW_14), KIT_TEST("RW-15", RW_15), KIT_TEST("RW-16", RW_16),
    KIT_TEST("RW-17", RW_17), KIT_TEST("RW-19", RW_19), KIT_TEST("RW-19 range", RW_19_range),
    KIT_TEST("RW-19 timeline", RW_19_timeline),
};
TEST_MAIN(tests)
