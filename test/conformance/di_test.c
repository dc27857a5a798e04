/* di_test.c - dispatchers (DI), and what a handler that blocks means for others. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "conformance/parts.h"
#include "support/census.h"

#define DI_MANY 50
#define DI_BLOCKERS 8

/* Until there are at most `want`; the kit's deadline is the test's. */
static void di_await_threads(uint32_t want)
{
    struct timespec pause = {.tv_nsec = 1000000};
    for (uint32_t i = 0; census_threads() > want; i++) {
        assert_true(i < KIT_DEADLINE_S * 1000);
        (void)nanosleep(&pause, NULL);
    }
}

static kit_script *di_actor(kit *k, const char *label, axo_dispatcher dispatcher)
{
    kit_script *script = kit_actor(k, label);
    script->dispatcher = dispatcher;
    kit_spawn(k, script);
    return script;
}

/* ---- turns ---- */

/* A turn is bounded: the light actor is served although the busy one has a hundred queued. */
static void DI_01(void **state)
{
    axo_options options = AXO_OPTIONS(.quantum = 5, .workers = 1);
    kit *k = kit_start(state, &options);
    kit_script *busy = part_start(k, "busy");
    kit_script *light = part_start(k, "light");
    kit_gate *gate = kit_gate_new(k);
    kit_run(k, busy, part_hold, gate);
    kit_gate_arrived(gate, 1);
    for (int i = 0; i < 100; i++)
        kit_tell(k, busy, KIT_NOTE, i);
    kit_tell(k, light, KIT_NOTE, 1000);
    kit_gate_open(gate);
    kit_await(k, "busy.note(99)");
    kit_order(k, "light.note(1000)", "busy.note(99)");
    kit_finish(k);
}

/* Fifty terminations are taken in one go, before the user message that was queued before them. */
static void DI_02(void **state)
{
    axo_options options = AXO_OPTIONS(.quantum = 1);
    kit *k = kit_start(state, &options);
    kit_family f = kit_plan(k, "q, p");
    kit_gate *gate = kit_gate_new(k);
    kit_script *children[DI_MANY];
    char labels[DI_MANY][24];
    f.p->dispatcher = AXO_DISPATCH_PINNED;
    kit_grow(&f);
    for (int i = 0; i < DI_MANY; i++) {
        (void)snprintf(labels[i], sizeof labels[i], "c%d", i);
        children[i] = kit_child(k, f.p, labels[i]);
        kit_tell_ref(k, f.q, KIT_WATCH, kit_ref(children[i]));
    }
    kit_run(k, f.p, part_hold, gate);
    kit_gate_arrived(gate, 1);
    kit_tell(k, f.p, KIT_NOTE, 1);
    for (int i = 0; i < DI_MANY; i++)
        (void)axo_system_poison(kit_system(k), kit_ref(children[i]));
    kit_await_count(k, "q.term", DI_MANY);
    kit_never(k, "p.child_gone");
    kit_gate_open(gate);
    kit_await(k, "p.note(1)");
    kit_order(k, "p.child_gone@42", "p.note(1)"); /* a worker may be about to tell of one more */
    kit_await_count(k, "p.child_gone", DI_MANY);
    kit_expect_count(k, "p.child_gone", DI_MANY);
    kit_finish(k);
}

static _Atomic int di_inside[4];

static axo_status di_alone(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    _Atomic int *inside = arg;
    if (atomic_fetch_add(inside, 1) != 0)
        kit_problem(self->k, "two threads in one actor");
    for (volatile int i = 0; i < 200; i++)
        continue;
    if (atomic_fetch_sub(inside, 1) != 1)
        kit_problem(self->k, "two threads in one actor");
    return AXO_OK;
}

/* Never two threads in one actor, whatever runs it. */
static void DI_03(void **state)
{
    static const axo_dispatcher kinds[] = {AXO_DISPATCH_DEFAULT, AXO_DISPATCH_PINNED,
                                           AXO_DISPATCH_BLOCKING, AXO_DISPATCH_DEFAULT};
    static const char *const labels[] = {"a", "b", "c", "d"};
    axo_options options = AXO_OPTIONS(.quantum = 3);
    kit *k = kit_start(state, &options);
    kit_script *scripts[4];
    for (int i = 0; i < 4; i++) {
        atomic_store(&di_inside[i], 0);
        scripts[i] = di_actor(k, labels[i], kinds[i]);
    }
    for (int round = 0; round < 500; round++) {
        for (int i = 0; i < 4; i++)
            kit_run(k, scripts[i], di_alone, &di_inside[i]);
    }
    kit_finish(k);
}

/* ---- pools ---- */

/* The blocking pool has a thread for each handler that blocks; they end when they have nothing to
 * do, all of them when no actor is left, and come back. */
static void DI_04(void **state)
{
    axo_options options = AXO_OPTIONS(.blocking_idle_ms = 5);
    kit *k = kit_start(state, &options);
    uint32_t before = census_open();
    char labels[DI_BLOCKERS][24];
    kit_script *scripts[DI_BLOCKERS];
    for (int round = 0; round < 2; round++) {
        kit_gate *gate = kit_gate_new(k);
        for (int i = 0; i < DI_BLOCKERS; i++) {
            (void)snprintf(labels[i], sizeof labels[i], "b%d%d", round, i);
            scripts[i] = di_actor(k, labels[i], AXO_DISPATCH_BLOCKING);
            kit_run(k, scripts[i], part_hold, gate);
        }
        kit_gate_arrived(gate, DI_BLOCKERS); /* all at once */
        assert_true(census_threads() >= before + DI_BLOCKERS);
        kit_gate_open(gate);
        di_await_threads(before + 1); /* one stays for the actors */
        for (int i = 0; i < DI_BLOCKERS; i++)
            kit_tell(k, scripts[i], KIT_STOP_SELF, 0);
        di_await_threads(before);
    }
    kit_finish(k);
}

/* At most blocking_max handlers block at a time; the others come in turn. */
static void DI_04_limit(void **state)
{
    axo_options options = AXO_OPTIONS(.blocking_max = 2);
    kit *k = kit_start(state, &options);
    kit_gate *gate = kit_gate_new(k);
    kit_script *a = di_actor(k, "a", AXO_DISPATCH_BLOCKING);
    kit_script *b = di_actor(k, "b", AXO_DISPATCH_BLOCKING);
    kit_script *c = di_actor(k, "c", AXO_DISPATCH_BLOCKING);
    kit_await(k, "c.preStart");
    kit_run(k, a, part_hold, gate);
    kit_run(k, b, part_hold, gate);
    kit_gate_arrived(gate, 2);
    kit_tell(k, c, KIT_NOTE, 1);
    kit_script *d = part_start(k, "d"); /* others go on */
    kit_tell(k, d, KIT_NOTE, 2);
    kit_await(k, "d.note(2)");
    kit_never(k, "c.note");
    kit_gate_open(gate);
    kit_await(k, "c.note(1)");
    kit_finish(k);
}

static axo_status di_thread_is(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    pthread_t *thread = arg;
    if (self->value == 0) {
        *thread = pthread_self();
        self->value = 1;
    } else if (!pthread_equal(*thread, pthread_self())) {
        kit_problem(self->k, "a pinned actor has changed its thread");
    }
    return AXO_OK;
}

/* A thread of its own, the same for each instance, which ends with the actor. */
static void DI_05(kit *k)
{
    uint32_t before = census_open();
    static pthread_t threads[2];
    kit_family f = kit_plan(k, "a, b");
    f.a->dispatcher = AXO_DISPATCH_PINNED;
    f.b->dispatcher = AXO_DISPATCH_PINNED;
    kit_grow(&f);
    kit_run(k, f.a, di_thread_is, &threads[0]);
    kit_run(k, f.b, di_thread_is, &threads[1]);
    kit_settle(k);
    assert_int_equal(census_settled(before + 2), before + 2);
    assert_false(pthread_equal(threads[0], threads[1]));
    kit_tell(k, f.a, KIT_FAIL, 1);
    kit_await(k, "a#2.preStart");
    kit_tell(k, f.a, KIT_SET, 1);
    kit_run(k, f.a, di_thread_is, &threads[0]);
    kit_settle(k);
    kit_tell(k, f.a, KIT_STOP_SELF, 0);
    di_await_threads(before + 1);
    kit_tell(k, f.b, KIT_STOP_SELF, 0);
    di_await_threads(before);
}

/* A tree over all dispatchers: failures, restarts, watches and stops cross them. */
static void SX_05(kit *k)
{
    kit_family f = kit_plan(k, "p:all:restart[a,b]");
    f.p->dispatcher = AXO_DISPATCH_BLOCKING;
    f.a->dispatcher = AXO_DISPATCH_PINNED;
    kit_grow(&f);
    kit_await_all(k, "a.started", "b.started");
    uint32_t pool_a = kit_find(k, "a.started").worker >> 16;
    uint32_t pool_b = kit_find(k, "b.started").worker >> 16;
    assert_int_equal(pool_b, 0);
    assert_int_not_equal(pool_a, 0);
    for (int i = 0; i < 20; i++) {
        kit_tell(k, i % 2 != 0 ? f.a : f.b, KIT_FAIL, i);
        char pattern[32];
        (void)snprintf(pattern, sizeof pattern, "a#%d.started", i + 2);
        kit_await(k, pattern);
        assert_int_equal(kit_find(k, pattern).worker >> 16, pool_a);
        pattern[0] = 'b';
        kit_await(k, pattern);
        assert_int_equal(kit_find(k, pattern).worker >> 16, pool_b);
    }
}

typedef struct di_blocked {
    kit *k;
    axo_ctx *ctx;
    kit_gate *gate;
    axo_ref other;
} di_blocked;

/* In axo_block: this thread is an outside one. */
static void di_wait_outside(void *arg)
{
    di_blocked *b = arg;
    axo_system *system = kit_system(b->k);
    axo_asked asked;
    kit_payload ping = {.value = 3};
    KIT_REQUIRE(b->k, axo_ref_is_none(axo_self(b->ctx)));
    KIT_REQUIRE(b->k, axo_send(b->ctx, b->other, KIT_NOTE, &ping, sizeof ping) == AXO_ECONTEXT);
    KIT_REQUIRE(b->k, axo_block(b->ctx, di_wait_outside, b) == AXO_ECONTEXT);
    KIT_REQUIRE(b->k, axo_system_ask(system, b->other, KIT_PING, &ping, sizeof ping,
                                     KIT_DEADLINE_S * INT64_C(1000000000), &asked) == AXO_OK);
    KIT_REQUIRE(b->k, asked.message.tag == KIT_PONG);
    axo_asked_free(system, &asked);
    kit_gate_pass(b->gate);
}

static axo_status di_block(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    di_blocked *b = arg;
    b->ctx = ctx;
    KIT_REQUIRE(b->k, axo_block(ctx, NULL, NULL) == AXO_EINVAL);
    KIT_REQUIRE(b->k, axo_block(ctx, di_wait_outside, b) == AXO_OK);
    KIT_REQUIRE(b->k, axo_ref_equal(axo_self(ctx), self->ref));
    return AXO_OK;
}

/* While one blocks so, the slots of others that end are used again and again. */
static void DI_04_block(void **state)
{
    enum { ROUNDS = 3000 };
    static const axo_class plain = AXO_CLASS(.receive = kit_receive);
    axo_options options = AXO_OPTIONS(.actors_max = 256);
    kit *k = kit_start(state, &options);
    kit_script *q = part_start(k, "q");
    kit_script *a = di_actor(k, "a", AXO_DISPATCH_BLOCKING);
    di_blocked blocked = {.k = k, .gate = kit_gate_new(k), .other = kit_ref(q)};
    kit_run(k, a, di_block, &blocked);
    kit_gate_arrived(blocked.gate, 1);
    for (int i = 0; i < ROUNDS; i++) {
        axo_props props = AXO_PROPS(.cls = &plain);
        axo_ref ref;
        axo_status status = AXO_ELIMIT;
        for (int wait = 0; status == AXO_ELIMIT && wait < KIT_DEADLINE_S * 1000; wait++) {
            struct timespec pause = {.tv_nsec = wait == 0 ? 0 : 1000000};
            (void)nanosleep(&pause, NULL);
            status = axo_system_spawn(kit_system(k), &props, &ref);
        }
        assert_int_equal(status, AXO_OK);
        (void)axo_system_stop_actor(kit_system(k), ref);
    }
    kit_gate_open(blocked.gate);
    kit_finish(k);
}

/* ---- stuck ---- */

/* Every worker is in a handler that blocks: another actor's failure is seen to all the same, and
 * so is one while the first spare worker blocks as well. */
static void DI_stuck(kit *k)
{
    kit_gate *gate = kit_gate_new(k);
    kit_family f = kit_plan(k, "p:restart[a]");
    kit_script *pinned = kit_actor(k, "pinned");
    char labels[DI_BLOCKERS][24];
    f.p->pre_start.spawn[1] = pinned;
    pinned->dispatcher = AXO_DISPATCH_PINNED;
    kit_grow(&f);
    kit_await_all(k, "a.preStart", "pinned.preStart");
    uint32_t workers = kit_workers(k);
    for (uint32_t i = 0; i < workers; i++) {
        (void)snprintf(labels[i], sizeof labels[i], "s%u", (unsigned)i);
        kit_run(k, part_start(k, labels[i]), part_hold, gate);
    }
    kit_gate_arrived(gate, workers);
    kit_tell(k, f.a, KIT_FAIL, 7); /* the failing actor itself needs a worker */
    kit_await(k, "a#2.preStart");
    kit_script *more = part_start(k, "more");
    kit_run(k, more, part_hold, gate);
    kit_gate_arrived(gate, workers + 1); /* now the first spare blocks */
    kit_tell(k, pinned, KIT_FAIL, 8);    /* fails on its own thread; its parent is needed */
    kit_await(k, "pinned#2.preStart");
    kit_order(k, "p.decider(a)", "a#2.preStart", "p.decider(pinned)", "pinned#2.preStart");
    kit_gate_open(gate);
    kit_finish(k);
}

/* Who sees to failures while all others block takes no messages of those that it sees to: a
 * handler that blocks too would be the last. */
static void DI_stuck_supervisor(kit *k)
{
    kit_gate *gate = kit_gate_new(k);
    kit_script *parents[2];
    kit_script *children[2];
    char labels[DI_BLOCKERS][24];
    for (int i = 0; i < 2; i++) {
        parents[i] = kit_actor(k, i == 0 ? "p" : "q");
        children[i] = kit_actor(k, i == 0 ? "a" : "b");
        parents[i]->pre_start.spawn[0] = children[i];
        parents[i]->directive = AXO_RESTART;
        children[i]->dispatcher = AXO_DISPATCH_PINNED;
        kit_spawn(k, parents[i]);
        kit_await(k, i == 0 ? "a.preStart" : "b.preStart");
    }
    uint32_t blocked = kit_workers(k) + 1; /* and the first spare */
    for (uint32_t i = 0; i < blocked; i++) {
        (void)snprintf(labels[i], sizeof labels[i], "s%u", (unsigned)i);
        kit_run(k, part_start(k, labels[i]), part_hold, gate);
        kit_gate_arrived(gate, i + 1);
    }
    kit_run(k, parents[0], part_hold, gate);
    kit_tell(k, children[0], KIT_FAIL, 7);
    kit_await(k, "a#2.preStart");
    kit_tell(k, children[1], KIT_FAIL, 8);
    kit_await(k, "b#2.preStart");
    kit_never(k, "p.begin");
    kit_gate_open(gate);
    kit_await(k, "p.end");
    kit_finish(k);
}

/* A handler that hangs is named, again and again. */
static void DI_stuck_report(void **state)
{
    axo_options options = AXO_OPTIONS(.stuck_ns = 2000000);
    kit *k = kit_start(state, &options);
    kit_gate *gate = kit_gate_new(k);
    kit_family f = kit_tree(k, "a, b");
    kit_run(k, f.a, part_hold, gate);
    kit_gate_arrived(gate, 1);
    kit_await_count(k, "a.log", 3);
    kit_never(k, "b.log");
    kit_gate_open(gate);
    kit_settle(k);
    (void)f.b;
    kit_finish(k);
}

/* Also one that a spare runs, as every worker hangs. */
static void DI_stuck_spare_report(void **state)
{
    axo_options options = AXO_OPTIONS(.stuck_ns = 2000000);
    kit *k = kit_start(state, &options);
    kit_gate *gate = kit_gate_new(k);
    kit_family f = kit_tree(k, "a, b");
    char labels[DI_BLOCKERS][24];
    for (uint32_t i = 0; i < kit_workers(k); i++) {
        (void)snprintf(labels[i], sizeof labels[i], "s%u", (unsigned)i);
        kit_run(k, part_start(k, labels[i]), part_hold, gate);
        kit_gate_arrived(gate, i + 1);
    }
    kit_run(k, f.a, part_hold, gate);
    kit_gate_arrived(gate, kit_workers(k) + 1);
    kit_await_count(k, "a.log", 3);
    kit_never(k, "b.log");
    kit_gate_open(gate);
    kit_settle(k);
    kit_finish(k);
}

static const struct CMUnitTest tests[] = {
    KIT_TEST("DI-01", DI_01),
    KIT_TEST("DI-02", DI_02),
    KIT_TEST("DI-03", DI_03),
    KIT_TEST("DI-04", DI_04),
    KIT_TEST("DI-04 limit", DI_04_limit),
    KIT_TEST("DI-04 axo_block", DI_04_block),
    KIT_TEST("DI-05", DI_05),
    KIT_TEST("SX-05 all dispatchers", SX_05),
    KIT_TEST("DI-04 every worker stuck", DI_stuck),
    KIT_TEST("DI-04 every worker stuck, and a supervisor with messages", DI_stuck_supervisor),
    KIT_TEST("DI-04 stuck report", DI_stuck_report),
    KIT_TEST("DI-04 stuck report of a spare", DI_stuck_spare_report),
};

TEST_MAIN(tests)
