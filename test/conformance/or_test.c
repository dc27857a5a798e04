/* or_test.c - ordering guarantees (OR). */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "conformance/parts.h"

/* ---- counting receivers: they mark nothing for each message ---------------------------------- */

enum { OR_SENDERS = 4, OR_MESSAGES = 300, OR_HIT = KIT_OTHER + 1 };

/* Written by one actor's handler only, plainly: OR-02 makes that right. */
typedef struct or_counter {
    kit *k;
    kit_gate *done; /* passed when `want` messages have come */
    uint32_t want;
    uint32_t got;
    int64_t last[OR_SENDERS + 1];
    uint32_t disorder;
    uint32_t overlaps;
    _Atomic uint32_t inside;
} or_counter;

static or_counter *or_counter_new(kit *k, kit_script *script, uint32_t want)
{
    or_counter *counter = kit_alloc(k, sizeof *counter);
    counter->k = k;
    counter->want = want;
    counter->done = kit_gate_new(k);
    kit_gate_open(counter->done);
    script->user = counter;
    return counter;
}

static axo_status or_count_receive(axo_ctx *ctx, void *puppet, const axo_message *message)
{
    kit_puppet *self = puppet;
    or_counter *counter = self->script->user;
    const kit_payload *payload = message->payload;
    if (message->tag != OR_HIT)
        return kit_receive(ctx, puppet, message);
    if (atomic_fetch_add(&counter->inside, 1) != 0)
        counter->overlaps++;
    /* value: sender * 2^20 + number, from 1 */
    if (payload->value % (1 << 20) != counter->last[payload->value >> 20] + 1)
        counter->disorder++;
    counter->last[payload->value >> 20] = payload->value % (1 << 20);
    counter->got++;
    atomic_fetch_sub(&counter->inside, 1);
    if (counter->got == counter->want)
        kit_gate_pass(counter->done);
    return AXO_OK;
}

static axo_status or_counter_start(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    KIT_REQUIRE(self->k, axo_become(ctx, or_count_receive) == AXO_OK);
    return AXO_OK;
}

typedef struct or_burst {
    axo_ref to;
    int64_t sender;
} or_burst;

static axo_status or_send_burst(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    const or_burst *burst = arg;
    for (int64_t i = 1; i <= OR_MESSAGES; i++)
        KIT_REQUIRE(self->k,
                    kit_tell_in(ctx, burst->to, OR_HIT, (burst->sender << 20) + i) == AXO_OK);
    return AXO_OK;
}

static void OR_01(kit *k)
{
    kit_script *r = kit_actor(k, "r");
    or_counter *counter = or_counter_new(k, r, (OR_SENDERS + 1) * OR_MESSAGES);
    r->pre_start.run = or_counter_start;
    kit_spawn(k, r);
    for (int64_t i = 0; i < OR_SENDERS; i++) {
        kit_script *s = kit_actor(k, "s");
        or_burst *burst = kit_alloc(k, sizeof *burst);
        s->name = "";
        kit_spawn(k, s);
        *burst = (or_burst){.to = kit_ref(r), .sender = i};
        kit_run(k, s, or_send_burst, burst);
    }
    for (int64_t i = 1; i <= OR_MESSAGES; i++)
        kit_tell(k, r, OR_HIT, ((int64_t)OR_SENDERS << 20) + i);
    kit_gate_arrived(counter->done, 1);
    kit_settle(k);
    assert_int_equal(counter->got, counter->want);
    assert_int_equal(counter->disorder, 0);
    assert_int_equal(counter->overlaps, 0);
}

/* Actors pass a token on around a ring, one message a turn: each step sees what the last step of
 * the same actor wrote, on whatever worker that was. */
typedef struct or_ring {
    axo_ref next;
    uint64_t steps;
    uint64_t check; /* always 3 * steps */
    uint32_t wrong;
    kit_gate *done;
} or_ring;

static axo_status or_ring_receive(axo_ctx *ctx, void *puppet, const axo_message *message)
{
    kit_puppet *self = puppet;
    or_ring *ring = self->script->user;
    const kit_payload *payload = message->payload;
    if (message->tag != OR_HIT)
        return kit_receive(ctx, puppet, message);
    if (ring->check != 3 * ring->steps)
        ring->wrong++;
    ring->steps++;
    ring->check += 3;
    if (payload->value == 0)
        kit_gate_pass(ring->done);
    else
        KIT_REQUIRE(self->k, kit_tell_in(ctx, ring->next, OR_HIT, payload->value - 1) == AXO_OK);
    return AXO_OK;
}

static axo_status or_ring_start(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    KIT_REQUIRE(self->k, axo_become(ctx, or_ring_receive) == AXO_OK);
    return AXO_OK;
}

static void OR_02(void **state)
{
    enum { RING = 16, TOKENS = 8, HOPS = 400 };
    axo_options options = AXO_OPTIONS(.quantum = 1);
    kit *k = kit_start(state, &options);
    kit_script *ring[RING];
    kit_gate *done = kit_gate_new(k);
    uint64_t steps = 0;
    kit_gate_open(done);
    for (int i = 0; i < RING; i++) {
        or_ring *one = kit_alloc(k, sizeof *one);
        ring[i] = kit_actor(k, "r");
        ring[i]->name = "";
        ring[i]->user = one;
        ring[i]->pre_start.run = or_ring_start;
        one->done = done;
        kit_spawn(k, ring[i]);
    }
    for (int i = 0; i < RING; i++)
        ((or_ring *)ring[i]->user)->next = kit_ref(ring[(i + 1) % RING]);
    for (int i = 0; i < TOKENS; i++)
        kit_tell(k, ring[2 * i], OR_HIT, HOPS - 1);
    kit_gate_arrived(done, TOKENS);
    kit_settle(k);
    for (int i = 0; i < RING; i++) {
        const or_ring *one = ring[i]->user;
        assert_int_equal(one->wrong, 0);
        steps += one->steps;
    }
    assert_int_equal(steps, TOKENS * HOPS);
    kit_finish(k);
}

typedef struct or_thread {
    kit *k;
    kit_script *to;
    int64_t sender;
} or_thread;

static void *or_thread_main(void *arg)
{
    const or_thread *me = arg;
    for (int64_t i = 1; i <= 20; i++)
        KIT_REQUIRE(me->k, kit_tell(me->k, me->to, KIT_NOTE, me->sender * 100 + i) == AXO_OK);
    return NULL;
}

static void OR_03(kit *k)
{
    enum { THREADS = 10 };
    kit_script *r = part_start(k, "r");
    pthread_t threads[THREADS];
    or_thread args[THREADS];
    for (int i = 0; i < THREADS; i++) {
        args[i] = (or_thread){.k = k, .to = r, .sender = i};
        assert_int_equal(pthread_create(&threads[i], NULL, or_thread_main, &args[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    kit_settle(k);
    kit_expect_count(k, "r.note", THREADS * 20);
    for (int i = 0; i < THREADS; i++) {
        for (int j = 1; j < 20; j++) {
            char one[32];
            char two[32];
            (void)snprintf(one, sizeof one, "r.note(%d)", i * 100 + j);
            (void)snprintf(two, sizeof two, "r.note(%d)", i * 100 + j + 1);
            kit_order(k, one, two);
        }
    }
    kit_finish(k);
}

/* a tells c directly and by way of b: both come, in whatever order. */
static axo_status or_relay(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    KIT_REQUIRE(self->k, kit_tell_in(ctx, kit_ref(arg), KIT_NOTE, 2) == AXO_OK);
    return AXO_OK;
}

static axo_status or_tell_both(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    kit_script **both = arg;
    KIT_REQUIRE(self->k, kit_run_in(ctx, kit_ref(both[0]), or_relay, both[1]) == AXO_OK);
    KIT_REQUIRE(self->k, kit_tell_in(ctx, kit_ref(both[1]), KIT_NOTE, 1) == AXO_OK);
    return AXO_OK;
}

static void OR_04(kit *k)
{
    enum { ROUNDS = 50 };
    kit_script *a = part_start(k, "a");
    kit_script *both[2] = {part_start(k, "b"), part_start(k, "c")};
    for (int i = 0; i < ROUNDS; i++)
        kit_run(k, a, or_tell_both, both);
    kit_await_count(k, "c.note(1)", ROUNDS);
    kit_await_count(k, "c.note(2)", ROUNDS);
    kit_settle(k);
    kit_expect_count(k, "c.note", 2 * ROUNDS);
    kit_finish(k);
}

/* A child tells its parent something and fails: both come once, in whatever order. */
static axo_status or_tell_and_fail(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    KIT_REQUIRE(self->k, kit_tell_in(ctx, axo_parent(ctx), KIT_NOTE, 1) == AXO_OK);
    return axo_fail(ctx, 7, "told");
}

static void OR_05(kit *k)
{
    enum { ROUNDS = 50 };
    kit_family f = kit_tree(k, "p:restart[c]");
    for (int i = 0; i < ROUNDS; i++)
        kit_run(k, f.c, or_tell_and_fail, NULL);
    kit_await_count(k, "p.note(1)", ROUNDS);
    kit_await_count(k, "p.decided(RESTART)", ROUNDS);
    kit_settle(k);
    kit_expect_count(k, "p.note", ROUNDS);
    kit_expect_count(k, "p.decider", ROUNDS);
    kit_expect_count(k, "c.ctor", ROUNDS + 1);
}

/* What is queued in the system lane comes before the next user message, inside a batch too. */
static axo_status or_stop_at_three(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    if (++self->value == 3)
        KIT_REQUIRE(self->k, axo_stop(ctx, self->ref) == AXO_OK);
    kit_mark(self, "step", self->value);
    return AXO_OK;
}

static void OR_06(kit *k)
{
    kit_family f = kit_tree(k, "a, -p, -c");
    kit_gate *gate = kit_gate_new(k);
    kit_run(k, f.a, part_hold, gate);
    for (int i = 0; i < 10; i++)
        kit_run(k, f.a, or_stop_at_three, NULL);
    kit_gate_open(gate);
    kit_await(k, "a.terminated");
    kit_expect_count(k, "a.step", 3);
    kit_await_count(k, "a.dl(RUN)", 7);
    kit_expect_count(k, "a.dl(RUN)", 7);
    kit_order(k, "a.step(3)", "a.postStop");
    if (kit_workers(k) > 1) {
        f.p->pre_start.spawn[0] = f.c;
        f.p->directive = AXO_RESTART;
        gate = kit_gate_new(k);
        kit_spawn(k, f.p);
        kit_await(k, "c.preStart");
        kit_run(k, f.p, part_hold, gate);
        for (int i = 0; i < 10; i++)
            kit_tell(k, f.p, KIT_NOTE, i);
        kit_gate_arrived(gate, 1);
        kit_tell(k, f.c, KIT_FAIL, 7);
        kit_await_reported(k, f.c);
        kit_gate_open(gate);
        kit_await_count(k, "p.note", 10);
        kit_order(k, "p.end", "p.decider(c)", "p.note(0)");
    }
}

/* Reports of several children, enqueued one after the other, are decided in that order. */
static void OR_07(kit *k)
{
    enum { CHILDREN = 6 };
    static const char *const labels[CHILDREN] = {"c0", "c1", "c2", "c3", "c4", "c5"};
    kit_script *p = kit_actor(k, "p");
    kit_script *c[CHILDREN];
    kit_gate *gate = kit_gate_new(k);
    p->directive = AXO_RESTART;
    for (int i = 0; i < CHILDREN; i++) {
        c[i] = kit_actor(k, labels[i]);
        p->pre_start.spawn[i] = c[i];
    }
    kit_spawn(k, p);
    for (int i = 0; i < CHILDREN; i++) {
        char pattern[32];
        (void)snprintf(pattern, sizeof pattern, "c%d.preStart", i);
        kit_await(k, pattern);
    }
    kit_settle(k);
    kit_run(k, p, part_hold, gate);
    kit_gate_arrived(gate, 1);
    /* Another order than that of the spawns. */
    for (int i = 0; i < CHILDREN; i++) {
        int which = (5 * i + 3) % CHILDREN;
        kit_tell(k, c[which], KIT_FAIL, which);
        if (kit_workers(k) > 1)
            kit_await_reported(k, c[which]);
    }
    kit_gate_open(gate);
    kit_await_count(k, "p.decided(RESTART)", CHILDREN);
    kit_order(k, "p.decider(c3)", "p.decider(c2)", "p.decider(c1)", "p.decider(c0)",
              "p.decider(c5)", "p.decider(c4)");
    kit_order(k, "c3.suspend(OWN)", "c2.suspend(OWN)", "c1.suspend(OWN)", "c0.suspend(OWN)",
              "c5.suspend(OWN)", "c4.suspend(OWN)");
    kit_finish(k);
}

enum { OR_CHILDREN = 100 };

static axo_status or_spawn_failing(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    kit_script **children = arg;
    for (int i = 0; i < OR_CHILDREN; i++)
        KIT_REQUIRE(self->k, kit_spawn_in(ctx, children[i]) == AXO_OK);
    return AXO_OK;
}

/* A child that fails in its first moment is known to its parent: no report is lost. */
static void OR_08(kit *k)
{
    kit_script *p = part_start(k, "p");
    kit_script **c = kit_alloc(k, OR_CHILDREN * sizeof *c);
    for (int i = 0; i < OR_CHILDREN; i++) {
        c[i] = kit_actor(k, "c");
        c[i]->name = "";
        c[i]->construct.fail_first = 1;
        c[i]->construct.fail_last = UINT32_MAX;
        c[i]->construct.code = 8;
    }
    kit_run(k, p, or_spawn_failing, c);
    kit_await_count(k, "p.child_gone(c)", OR_CHILDREN);
    kit_expect_count(k, "p.decider(c)", OR_CHILDREN);
    kit_expect_count(k, "p.decided(STOP)", OR_CHILDREN);
    kit_expect_count(k, "c.ctor", OR_CHILDREN);
    /* The same for children of /user, from outside. */
    for (int i = 0; i < 20; i++) {
        kit_script *d = kit_actor(k, "d");
        d->name = "";
        d->construct = c[0]->construct;
        d->construct.calls = 0;
        kit_spawn(k, d);
    }
    kit_await_count(k, "user.child_gone(d)", 20);
    kit_expect_count(k, "user.report(d)", 20);
}

static axo_status or_set_one(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    self->value = 1;
    return AXO_OK;
}

static axo_status or_spawn_and_ask(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    kit_script **children = arg;
    for (int i = 0; i < OR_CHILDREN; i++) {
        KIT_REQUIRE(self->k, kit_spawn_in(ctx, children[i]) == AXO_OK);
        KIT_REQUIRE(self->k, kit_tell_in(ctx, kit_ref(children[i]), KIT_GET, 0) == AXO_OK);
    }
    return AXO_OK;
}

static void OR_09(kit *k)
{
    kit_script *p = part_start(k, "p");
    kit_script **c = kit_alloc(k, OR_CHILDREN * sizeof *c);
    for (int i = 0; i < OR_CHILDREN; i++) {
        c[i] = kit_actor(k, "c");
        c[i]->name = "";
        c[i]->pre_start.run = or_set_one;
    }
    kit_run(k, p, or_spawn_and_ask, c);
    kit_await_count(k, "c.get", OR_CHILDREN);
    kit_await_count(k, "p.pong", OR_CHILDREN);
    kit_settle(k);
    kit_expect_count(k, "c.get(1)", OR_CHILDREN);
    kit_expect_count(k, "p.pong(1)", OR_CHILDREN);
    kit_never(k, "c.dl");
}

/* Twenty actors tell w some things and stop: each notice comes after all of its messages. */
enum { OR_DYING = 20, OR_LAST_WORDS = 10 };

static axo_status or_dying(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    for (int i = 1; i <= OR_LAST_WORDS; i++)
        KIT_REQUIRE(self->k, kit_tell_in(ctx, kit_ref(arg), KIT_NOTE,
                                         (int64_t)self->value * 100 + i) == AXO_OK);
    return axo_stop_self(ctx);
}

static void OR_10(kit *k)
{
    kit_script *w = part_start(k, "w");
    kit_script *t[OR_DYING];
    for (int i = 0; i < OR_DYING; i++) {
        t[i] = kit_actor(k, "t");
        t[i]->name = "";
        kit_spawn(k, t[i]);
        kit_tell(k, t[i], KIT_SET, i);
        kit_tell_ref(k, w, KIT_WATCH, kit_ref(t[i]));
    }
    for (int i = 0; i < OR_DYING; i++)
        kit_run(k, t[i], or_dying, w);
    kit_await_count(k, "w.term(t)", OR_DYING);
    kit_settle(k);
    for (uint32_t n = 1; n <= OR_DYING; n++) {
        char pattern[32];
        kit_record term;
        (void)snprintf(pattern, sizeof pattern, "w.term@%u", n);
        term = kit_find(k, pattern);
        for (int i = 0; i < OR_DYING; i++) {
            if (term.arg != kit_ref(t[i]).bits)
                continue;
            (void)snprintf(pattern, sizeof pattern, "w.note(%d)", i * 100 + OR_LAST_WORDS);
            assert_true(kit_find(k, pattern).seq < term.seq);
        }
    }
    kit_expect_count(k, "w.note", OR_DYING * OR_LAST_WORDS);
    kit_expect_count(k, "w.term", OR_DYING);
    kit_finish(k);
}

static const struct CMUnitTest tests[] = {
    KIT_TEST("OR-01", OR_01), KIT_TEST("OR-02", OR_02), KIT_TEST("OR-03", OR_03),
    KIT_TEST("OR-04", OR_04), KIT_TEST("OR-05", OR_05), KIT_TEST("OR-06", OR_06),
    KIT_TEST("OR-07", OR_07), KIT_TEST("OR-08", OR_08), KIT_TEST("OR-09", OR_09),
    KIT_TEST("OR-10", OR_10),
};

TEST_MAIN(tests)
