/* sweep_test.c - a family of thousands is told of a decision in portions: no turn of the parent
 * tells more, others have their turns meanwhile, and every child does what the decision says. Nor
 * does one turn give back all the timers and watches that an actor has made. */
#include "unit/unit.h"

#include <axo/axo.h>

#include "cell/extra.h"
#include "sched/timer.h"
#include "system/system.h"

/* All is in one thread, and each child is looked at in each turn. */
#ifdef AXO_TSAN
#define PORTIONS 3
#else
#define PORTIONS 7
#endif

enum {
    CHILDREN = PORTIONS * AXO__SWEEP_STEP,
    OWN = 10 * AXO__PORTION, /* timers, watches */
    QUIET = 100,             /* turns */
    MAKE = 1,
    FAIL,
    STOP,
    ASK,  /* a message that every child counts */
    NEXT, /* waits behind the decision */
    START_TIMERS,
    WATCH_ALL,
    TICK
};

typedef struct family_counts {
    uint32_t constructed;
    uint32_t stopped;
    uint32_t restarted;
    uint32_t asked;
} family_counts;

static struct {
    axo_system *system;
    axo_ref above;
    axo_ref parent;
    axo_ref child[CHILDREN];
    axo__cell *cell[CHILDREN];
    uint64_t seen[CHILDREN]; /* what each had been told before this turn */
    const axo_class *parent_class;
    const axo_strategy *strategy; /* the parent's */
    family_counts children;
    family_counts parents;
    uint32_t next;
    uint32_t ticks;
    uint64_t beats;
    uint32_t most; /* children told in one turn */
} w;

/* ---- children ---- */

static axo_status child_construct(axo_ctx *ctx, void *state, const void *args)
{
    w.children.constructed++;
    return AXO_OK;
}

static axo_status child_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    w.children.asked += message->tag == ASK;
    return message->tag == FAIL ? axo_fail(ctx, 1, "as it was told") : AXO_OK;
}

static axo_status child_post_restart(axo_ctx *ctx, void *state, const axo_failure *failure)
{
    assert_int_equal(failure->code, 1);
    w.children.restarted++;
    return AXO_OK;
}

static axo_status child_post_stop(axo_ctx *ctx, void *state)
{
    w.children.stopped++;
    return AXO_OK;
}

static axo_status child_pre_restart(axo_ctx *ctx, void *state, const axo_failure *failure,
                                    const axo_message *message)
{
    return AXO_OK;
}

static const axo_class child_class =
    AXO_CLASS(.name = "child", .construct = child_construct, .receive = child_receive,
              .pre_restart = child_pre_restart, .post_restart = child_post_restart,
              .post_stop = child_post_stop);

/* ---- their parent ---- */

static axo_status parent_construct(axo_ctx *ctx, void *state, const void *args)
{
    w.parents.constructed++;
    return AXO_OK;
}

static axo_status parent_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    axo_props props = AXO_PROPS(.cls = &child_class);
    if (message->tag == FAIL)
        return axo_fail(ctx, 1, "as it was told");
    if (message->tag == NEXT) {
        const axo__cell *cell = axo__table_find(&w.system->core.table, axo_self(ctx));
        assert_null(axo__cell_own_family(cell)->sweep.ops);
        w.next++;
    }
    for (uint32_t i = 0; message->tag == MAKE && i < CHILDREN; i++) {
        assert_int_equal(axo_spawn(ctx, &props, &w.child[i]), AXO_OK);
        w.cell[i] = axo__table_find(&w.system->core.table, w.child[i]);
        assert_non_null(w.cell[i]);
    }
    return AXO_OK;
}

/* Keeps the children. */
static axo_status parent_pre_restart(axo_ctx *ctx, void *state, const axo_failure *failure,
                                     const axo_message *message)
{
    return AXO_OK;
}

static axo_status parent_post_stop(axo_ctx *ctx, void *state)
{
    w.parents.stopped++;
    return AXO_OK;
}

static const axo_class leaving_class =
    AXO_CLASS(.name = "leaving", .construct = parent_construct, .receive = parent_receive,
              .post_stop = parent_post_stop);
static const axo_class keeping_class =
    AXO_CLASS(.name = "keeping", .construct = parent_construct, .receive = parent_receive,
              .pre_restart = parent_pre_restart, .post_stop = parent_post_stop);

/* ---- above it, and beside it ---- */

static axo_status above_pre_start(axo_ctx *ctx, void *state)
{
    axo_props props = AXO_PROPS(.cls = w.parent_class, .strategy = w.strategy);
    return axo_spawn(ctx, &props, &w.parent);
}

static axo_status above_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    return message->tag == FAIL ? axo_fail(ctx, 1, "as it was told") : AXO_OK;
}

static axo_status beat_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    w.beats++;
    return axo_send(ctx, axo_self(ctx), message->tag, NULL, 0);
}

static const axo_class above_class =
    AXO_CLASS(.name = "above", .pre_start = above_pre_start, .receive = above_receive);
static const axo_class beat_class = AXO_CLASS(.name = "beat", .receive = beat_receive);

static axo_directive sweep_resume(axo_ctx *ctx, void *state, const axo_failure *failure, void *user)
{
    return AXO_RESUME;
}

/* ---- turns ---- */

static uint64_t sweep_told(const axo__cell *cell)
{
    return axo__directives_look(&cell->directives) ^
           (uint64_t)axo__state_suspends(&cell->state) << 56 ^
           (uint64_t)axo__cell_cold(cell)->stopping << 55;
}

/* How many have been told something, or have done it. */
static uint32_t sweep_look(void)
{
    uint32_t told = 0;
    for (uint32_t i = 0; i < CHILDREN; i++) {
        uint64_t now = sweep_told(w.cell[i]);
        told += now != w.seen[i];
        w.seen[i] = now;
    }
    w.most = told > w.most ? told : w.most;
    return told;
}

/* Turn by turn, until none has had anything to do for a while. */
static void sweep_run(void)
{
    uint32_t asked = 0;
    for (uint32_t quiet = 0; quiet < QUIET; quiet++) {
        assert_int_equal(axo_step_host(w.system, 1, NULL), AXO_OK);
        if (sweep_look() > 0 || asked != w.children.asked)
            quiet = 0;
        asked = w.children.asked;
    }
}

static axo_ref sweep_spawn(const axo_class *cls)
{
    axo_ref ref;
    axo_props props = AXO_PROPS(.cls = cls);
    assert_int_equal(axo_system_spawn(w.system, &props, &ref), AXO_OK);
    return ref;
}

static void sweep_send(axo_ref to, uint32_t tag)
{
    assert_int_equal(axo_system_send(w.system, to, tag, NULL, 0), AXO_OK);
}

static void sweep_open(const axo_class *parent, const axo_strategy *user,
                       const axo_strategy *strategy)
{
    axo_options options = AXO_OPTIONS(.manual = 1, .no_quantum_us = 1, .user_strategy = user);
    memset(&w, 0, sizeof w);
    w.parent_class = parent;
    w.strategy = strategy;
    assert_int_equal(axo_system_start(&options, &w.system), AXO_OK);
    w.above = sweep_spawn(&above_class);
    assert_int_equal(axo_run_host(w.system, -1, NULL), AXO_OK);
    sweep_send(w.parent, MAKE);
    assert_int_equal(axo_run_host(w.system, -1, NULL), AXO_OK);
    assert_int_equal(w.children.constructed, CHILDREN);
    sweep_look();
    w.most = 0;
    sweep_send(sweep_spawn(&beat_class), MAKE);
}

/* Everything that the decision leads to. The turn in which a sweep begins under a message has a
 * portion there, and one as any other. */
static void sweep_see(axo_ref to, uint32_t tag)
{
    sweep_send(to, tag);
    sweep_send(w.parent, NEXT);
    sweep_run();
    assert_true(w.most > 1);
    assert_true(w.most <= 2 * AXO__SWEEP_STEP);
    assert_true(w.beats > 0);
}

static void sweep_close(void)
{
    assert_int_equal(axo_system_shutdown(w.system), AXO_OK);
    assert_int_equal(axo_system_stop(w.system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(w.children.stopped, w.children.constructed - w.children.restarted);
    assert_int_equal(axo_system_destroy(w.system), AXO_OK);
}

/* Each child lives, and handles what it is sent. */
static void sweep_ask(void)
{
    for (uint32_t i = 0; i < CHILDREN; i++)
        sweep_send(w.child[i], ASK);
    sweep_run();
    assert_int_equal(w.children.asked, CHILDREN);
}

/* ---- the decisions ---- */

static void a_parent_stops(void **state)
{
    sweep_open(&leaving_class, NULL, NULL);
    assert_int_equal(axo_system_stop_actor(w.system, w.parent), AXO_OK);
    sweep_see(w.above, NEXT);
    assert_int_equal(w.children.stopped, CHILDREN);
    assert_int_equal(w.parents.stopped, 1);
    sweep_close();
}

static void a_parent_fails_and_is_resumed(void **state)
{
    axo_strategy resume = AXO_STRATEGY(.decider = sweep_resume);
    sweep_open(&leaving_class, &resume, &resume);
    sweep_see(w.above, FAIL); /* the parent is suspended and resumed with all below it */
    sweep_ask();
    assert_int_equal(w.next, 1);
    sweep_close();
}

static void a_parent_restarts_and_leaves_its_children(void **state)
{
    sweep_open(&leaving_class, NULL, NULL);
    sweep_see(w.parent, FAIL);
    assert_int_equal(w.children.stopped, CHILDREN);
    assert_int_equal(w.parents.constructed, 2);
    assert_int_equal(w.parents.stopped, 1);
    assert_int_equal(w.next, 1);
    sweep_close();
}

static void a_parent_restarts_and_keeps_its_children(void **state)
{
    sweep_open(&keeping_class, NULL, NULL);
    sweep_see(w.parent, FAIL);
    assert_int_equal(w.children.restarted, CHILDREN);
    assert_int_equal(w.parents.constructed, 2);
    assert_int_equal(w.next, 1);
    sweep_ask();
    sweep_close();
}

static void all_restart_for_one(void **state)
{
    axo_strategy all = AXO_STRATEGY(.scope = AXO_ALL_FOR_ONE, .limited = 1, .retries_max = 1,
                                    .within_ns = INT64_C(3600000000000));
    sweep_open(&leaving_class, NULL, &all);
    sweep_see(w.child[CHILDREN / 2], FAIL);
    assert_int_equal(w.children.restarted, CHILDREN);
    sweep_ask();
    sweep_send(w.child[0], FAIL); /* every budget is used up: AF-06 */
    sweep_run();
    assert_int_equal(w.children.restarted, CHILDREN);
    assert_int_equal(w.children.stopped, CHILDREN);
    assert_true(w.most <= 2 * AXO__SWEEP_STEP);
    sweep_close();
}

static void all_stop_for_one(void **state)
{
    axo_strategy all = AXO_STRATEGY(.scope = AXO_ALL_FOR_ONE, .decider = axo_decide_stop);
    sweep_open(&leaving_class, NULL, &all);
    sweep_see(w.child[CHILDREN / 2], FAIL);
    assert_int_equal(w.children.stopped, CHILDREN);
    assert_int_equal(w.parents.stopped, 0);
    sweep_close();
}

static void a_child_is_escalated(void **state)
{
    axo_strategy up = AXO_STRATEGY(.decider = axo_decide_escalate);
    sweep_open(&keeping_class, NULL, &up);
    sweep_see(w.child[CHILDREN / 2], FAIL);
    assert_int_equal(w.parents.constructed, 2);
    assert_int_equal(w.children.restarted, CHILDREN);
    sweep_ask();
    sweep_close();
}

/* ---- what one has made itself ---- */

static axo_status owner_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    for (uint32_t i = 0; i < OWN && message->tag == START_TIMERS; i++)
        assert_int_equal(axo_timer_start(ctx, i, AXO_TIMER_ONCE, 1000000, 0, TICK, NULL, 0),
                         AXO_OK);
    for (uint32_t i = 0; i < OWN && message->tag == WATCH_ALL; i++)
        assert_int_equal(axo_watch(ctx, w.child[i]), AXO_OK);
    w.ticks += message->tag == TICK;
    return message->tag == FAIL ? axo_fail(ctx, 1, "as it was told") : AXO_OK;
}

static const axo_class owner_class = AXO_CLASS(.name = "owner", .receive = owner_receive);
static int64_t owner_now;

static int64_t owner_clock(void *user)
{
    return owner_now;
}

static uint32_t owner_timers(void)
{
    return w.system->sched.workers[0].timers->scheduled.count;
}

static void owner_open(void)
{
    axo_options options = AXO_OPTIONS(.manual = 1, .no_quantum_us = 1, .clock = owner_clock);
    memset(&w, 0, sizeof w);
    owner_now = 0;
    assert_int_equal(axo_system_start(&options, &w.system), AXO_OK);
    w.parent = sweep_spawn(&owner_class);
    sweep_send(w.parent, START_TIMERS);
    assert_int_equal(axo_run_host(w.system, -1, NULL), AXO_OK);
    assert_int_equal(owner_timers(), OWN);
    sweep_send(sweep_spawn(&beat_class), MAKE);
}

/* The timers go in portions; `due`: they come due when the first portion is gone, and nobody hears
 * of them. */
static void owner_loses_its_timers(bool due)
{
    uint32_t turns = 0;
    for (uint32_t before = OWN; before > 0; turns++) {
        assert_true(turns < 1000);
        assert_int_equal(axo_step_host(w.system, 1, NULL), AXO_OK);
        uint32_t now = owner_timers();
        assert_true(due || before - now <= 2 * AXO__PORTION);
        owner_now += due && now < OWN ? 2000000 : 0;
        before = now;
    }
    assert_true(due || turns >= OWN / (2 * AXO__PORTION));
    owner_now += 2000000;
    assert_int_equal(axo_step_host(w.system, QUIET, NULL), AXO_OK);
    assert_int_equal(w.ticks, 0);
    assert_true(w.beats > 0);
    sweep_close();
}

static void many_keyed_timers_of_one_that_restarts(void **state)
{
    for (uint32_t due = 0; due < 2; due++) {
        owner_open();
        sweep_send(w.parent, FAIL);
        owner_loses_its_timers(due != 0);
    }
}

static void many_keyed_timers_of_one_that_stops(void **state)
{
    for (uint32_t due = 0; due < 2; due++) {
        owner_open();
        assert_int_equal(axo_system_stop_actor(w.system, w.parent), AXO_OK);
        owner_loses_its_timers(due != 0);
    }
}

/* Watches of its own: as many targets have a note in their lane after a turn. */
static uint32_t owner_notes(void)
{
    uint32_t notes = 0;
    for (uint32_t i = 0; i < OWN; i++)
        notes += axo__stack_has_any(&w.cell[i]->system);
    return notes;
}

/* Its requests are made, and seen to. */
static void owner_rests(void)
{
    uint32_t turns = 0;
    for (bool any = false; !any || owner_notes() > 0; turns++) {
        assert_true(turns < 1000 * OWN);
        any = any || owner_notes() > 0;
        assert_int_equal(axo_step_host(w.system, 1, NULL), AXO_OK);
    }
}

static void many_watches_of_one_that_stops(void **state)
{
    sweep_open(&leaving_class, NULL, NULL);
    axo_ref owner = sweep_spawn(&owner_class);
    sweep_send(owner, WATCH_ALL);
    owner_rests();
    assert_int_equal(axo_system_stop_actor(w.system, owner), AXO_OK);
    uint32_t turns = 0;
    uint32_t all = 0;
    for (uint32_t before = 0; all < OWN; turns++) {
        assert_true(turns < 1000 * OWN);
        assert_int_equal(axo_step_host(w.system, 1, NULL), AXO_OK);
        uint32_t now = owner_notes();
        assert_true(now <= before + AXO__PORTION);
        all += now > before ? now - before : 0;
        before = now;
    }
    assert_true(owner_notes() > 0);
    owner_rests();
    sweep_close();
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_parent_stops),
    cmocka_unit_test(a_parent_fails_and_is_resumed),
    cmocka_unit_test(a_parent_restarts_and_leaves_its_children),
    cmocka_unit_test(a_parent_restarts_and_keeps_its_children),
    cmocka_unit_test(all_restart_for_one),
    cmocka_unit_test(all_stop_for_one),
    cmocka_unit_test(a_child_is_escalated),
    cmocka_unit_test(many_keyed_timers_of_one_that_restarts),
    cmocka_unit_test(many_keyed_timers_of_one_that_stops),
    cmocka_unit_test(many_watches_of_one_that_stops),
};
TEST_MAIN(tests)
