/* pk_graceful_test.c - the graceful stop (PK-07, PH-20), from actors and threads. */
#include <string.h>

#include "conformance/parts.h"

#define PK_FOREVER (INT64_C(1000000000) * KIT_GATE_DEADLINE_S)
#define PK_MS      INT64_C(1000000)
enum { PK_BYE = KIT_OTHER + 1 };

typedef struct pk_order {
    axo_ref ref;
    const axo_farewell *how;
    int64_t timeout_ns;
    uint64_t id;
    axo_verdict verdict; /* written before the mark "ended" */
} pk_order;

static axo_status pk_order_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    kit_puppet *self = state;
    if (message->tag != AXO_STOP_ENDED)
        return kit_receive(ctx, state, message);
    pk_order *order = self->script->user;
    order->verdict = *AXO_PAYLOAD(message, axo_verdict);
    KIT_REQUIRE(self->k, order->verdict.id == order->id);
    kit_mark(self, "ended", order->verdict.status);
    return AXO_OK;
}

static axo_status pk_stop(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    const pk_order *order = arg;
    KIT_REQUIRE(self->k, axo_graceful_stop(ctx, order->ref, order->how, order->timeout_ns,
                                           order->id) == AXO_OK);
    return AXO_OK;
}

static pk_order *pk_order_new(kit *k, kit_script *p, axo_ref ref, const axo_farewell *how,
                              int64_t timeout_ns)
{
    pk_order *order = kit_alloc(k, sizeof *order);
    *order = (pk_order){.ref = ref, .how = how, .timeout_ns = timeout_ns, .id = 11};
    p->user = order;
    part_tell_become(k, p, pk_order_receive);
    return order;
}

/* Holds the only message of `a` until the gate opens; behind it waits a note. */
static kit_gate *pk_hold(kit *k, kit_script *a)
{
    kit_gate *gate = kit_gate_new(k);
    kit_run(k, a, part_hold, gate);
    kit_tell(k, a, KIT_NOTE, 1);
    return gate;
}

static void PK_07(kit *k)
{
    kit_family f = kit_tree(k, "p, a");
    pk_order *order = pk_order_new(k, f.p, kit_ref(f.a), NULL, PK_FOREVER);
    kit_gate *gate = pk_hold(k, f.a);
    kit_gate_arrived(gate, 1);
    kit_run(k, f.p, pk_stop, order);
    kit_never(k, "p.ended");
    kit_gate_open(gate);
    kit_await(k, "p.ended");
    assert_int_equal(order->verdict.status, AXO_OK);
    assert_true(axo_ref_equal(order->verdict.target, order->ref));
    kit_order(k, "a.end", "a.note(1)", "a.postStop", "a.terminated", "p.ended(0)");
}

static void PK_07_already_gone(kit *k)
{
    kit_family f = kit_tree(k, "p, a");
    pk_order *order = pk_order_new(k, f.p, kit_ref(f.a), NULL, PK_FOREVER);
    axo_verdict verdict;
    axo_system_stop_actor(kit_system(k), kit_ref(f.a));
    kit_await(k, "user.child_gone(a)");
    kit_run(k, f.p, pk_stop, order);
    kit_await(k, "p.ended(0)");
    assert_int_equal(
        axo_system_graceful_stop(kit_system(k), kit_ref(f.a), NULL, PK_FOREVER, &verdict), AXO_OK);
    assert_int_equal(verdict.status, AXO_OK);
    kit_finish(k);
}

/* It does not end: the caller is told what it does, and it is left alone. */
static void PK_07_late(kit *k)
{
    kit_family f = kit_tree(k, "p, a");
    static const axo_farewell bye = AXO_FAREWELL(.kind = AXO_FAREWELL_MESSAGE, .tag = PK_BYE);
    pk_order *order = pk_order_new(k, f.p, kit_ref(f.a), &bye, 2 * PK_MS);
    char text[400];
    kit_run(k, f.p, pk_stop, order); /* which the puppet does not know */
    kit_await(k, "p.ended");
    assert_int_equal(order->verdict.status, AXO_ETIMEDOUT);
    assert_int_equal(order->verdict.doing, AXO_DOING_IDLE);
    assert_true(order->verdict.waited_ns >= 2 * PK_MS);
    (void)axo_verdict_text(&order->verdict, text, sizeof text);
    assert_non_null(strstr(text, "/user/a"));
    assert_non_null(strstr(text, "it is idle"));
    kit_expect(k, "a.stash(1001)=1", "a.postStop=0");
    kit_finish(k);
}

static void PK_07_late_thread(kit *k)
{
    kit_script *a = part_start(k, "a");
    kit_gate *gate = pk_hold(k, a);
    axo_verdict verdict;
    kit_gate_arrived(gate, 1);
    assert_int_equal(
        axo_system_graceful_stop(kit_system(k), kit_ref(a), NULL, PK_MS, &verdict), AXO_ETIMEDOUT);
    assert_int_equal(verdict.status, AXO_ETIMEDOUT);
    assert_int_equal(verdict.doing, AXO_DOING_RUNNING);
    assert_int_equal(verdict.running_tag, KIT_RUN);
    assert_string_equal(verdict.path, "/user/a");
    kit_gate_open(gate);
    assert_int_equal(
        axo_system_graceful_stop(kit_system(k), kit_ref(a), NULL, PK_FOREVER, NULL), AXO_OK);
    kit_order(k, "a.end", "a.note(1)", "a.postStop");
    kit_finish(k);
}

/* PH-20: a stop is at once, a pill after what is queued; from a thread. */
static void PH_20(kit *k)
{
    static const axo_farewell stop = AXO_FAREWELL(.kind = AXO_FAREWELL_STOP);
    kit_family f = kit_tree(k, "a, b, p");
    pk_order *order = pk_order_new(k, f.p, kit_ref(f.a), &stop, PK_FOREVER);
    kit_settle(k);
    kit_tell(k, f.b, KIT_NOTE, 1);
    assert_int_equal(axo_system_graceful_stop(kit_system(k), kit_ref(f.b), NULL, PK_FOREVER, NULL),
                     AXO_OK);
    kit_order(k, "b.note(1)", "b.postStop");
    kit_run(k, f.p, pk_stop, order);
    kit_await(k, "p.ended(0)");
    kit_order(k, "a.postStop", "p.ended");
}

/* With a message of its own: whatever the actor does before it stops itself. */
static axo_status pk_polite(axo_ctx *ctx, void *state, const axo_message *message)
{
    kit_puppet *self = state;
    if (message->tag != PK_BYE)
        return kit_receive(ctx, state, message);
    kit_mark(self, "bye", (int64_t)message->size);
    return axo_stop_self(ctx);
}

static void PK_07_own_message(kit *k)
{
    kit_family f = kit_tree(k, "a, b, p");
    axo_farewell bye = AXO_FAREWELL(.kind = AXO_FAREWELL_MESSAGE, .tag = PK_BYE, .payload = "x",
                                    .payload_size = 1);
    pk_order *order = pk_order_new(k, f.p, kit_ref(f.b), &bye, PK_FOREVER);
    part_tell_become(k, f.a, pk_polite);
    part_tell_become(k, f.b, pk_polite);
    assert_int_equal(axo_system_graceful_stop(kit_system(k), kit_ref(f.a), &bye, PK_FOREVER, NULL),
                     AXO_OK);
    kit_order(k, "a.bye(1)", "a.postStop");
    kit_run(k, f.p, pk_stop, order);
    kit_await(k, "p.ended(0)");
    kit_order(k, "b.bye(1)", "b.postStop", "p.ended");
    kit_finish(k);
}

/* ---- misuse, no memory ----------------------------------------------------------------------- */

static axo_status pk_misuse(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    kit *k = self->k;
    axo_ref to = *(axo_ref *)arg;
    axo_farewell how = AXO_FAREWELL(.kind = 3);
    KIT_REQUIRE(k, axo_graceful_stop(NULL, to, NULL, 1, 0) == AXO_ECONTEXT);
    KIT_REQUIRE(k, axo_graceful_stop(ctx, axo_ref_none(), NULL, 1, 0) == AXO_EINVAL);
    KIT_REQUIRE(k, axo_graceful_stop(ctx, axo_self(ctx), NULL, 1, 0) == AXO_EINVAL);
    KIT_REQUIRE(k, axo_graceful_stop(ctx, to, NULL, 0, 0) == AXO_EINVAL);
    KIT_REQUIRE(k, axo_graceful_stop(ctx, to, NULL, AXO_DELAY_MAX + 1, 0) == AXO_EINVAL);
    KIT_REQUIRE(k, axo_graceful_stop(ctx, to, &how, 1, 0) == AXO_EINVAL);
    how = (axo_farewell){.size = 0};
    KIT_REQUIRE(k, axo_graceful_stop(ctx, to, &how, 1, 0) == AXO_EINVAL);
    how = (axo_farewell)AXO_FAREWELL(.kind = AXO_FAREWELL_MESSAGE, .tag = AXO_TAG_RESERVED);
    KIT_REQUIRE(k, axo_graceful_stop(ctx, to, &how, 1, 0) == AXO_EINVAL);
    how = (axo_farewell)AXO_FAREWELL(.kind = AXO_FAREWELL_MESSAGE, .payload_size = 1);
    KIT_REQUIRE(k, axo_graceful_stop(ctx, to, &how, 1, 0) == AXO_EINVAL);
    how.payload = "";
    how.payload_size = AXO_PAYLOAD_MAX + 1;
    KIT_REQUIRE(k, axo_graceful_stop(ctx, to, &how, 1, 0) == AXO_ETOOBIG);
    KIT_REQUIRE(k, axo_system_graceful_stop(kit_system(k), to, NULL, 1, NULL) == AXO_ECONTEXT);
    KIT_REQUIRE(k, axo_child_count(ctx) == 0);
    kit_mark(self, "misused", 0);
    return AXO_OK;
}

static axo_status pk_no_memory(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    enum { TRIES = 1 << 16 };
    axo_ref to = *(axo_ref *)arg;
    axo_status status = AXO_OK;
    uint32_t children = 0;
    kit_no_memory(self->k, true);
    for (uint64_t i = 0; i < TRIES && status == AXO_OK; i++) {
        children = axo_child_count(ctx);
        status = axo_graceful_stop(ctx, to, NULL, PK_FOREVER, i);
    }
    KIT_REQUIRE(self->k, status == AXO_ENOMEM);
    KIT_REQUIRE(self->k, axo_child_count(ctx) == children);
    kit_no_memory(self->k, false);
    kit_mark(self, "refused", 0);
    return AXO_OK;
}

static void graceful_stop_refuses(void **state)
{
    kit *k = kit_start(state, NULL);
    kit_family f = kit_tree(k, "a, p");
    axo_ref *to = kit_alloc(k, sizeof *to);
    axo_verdict verdict;
    *to = kit_ref(f.a);
    kit_run(k, f.p, pk_misuse, to);
    kit_await(k, "p.misused");
    assert_int_equal(axo_system_graceful_stop(NULL, *to, NULL, 1, &verdict), AXO_EINVAL);
    assert_int_equal(verdict.status, AXO_EINVAL);
    assert_int_equal(axo_system_graceful_stop(kit_system(k), axo_ref_none(), NULL, 1, NULL),
                     AXO_EINVAL);
    assert_int_equal(axo_system_graceful_stop(kit_system(k), *to, NULL, 0, NULL), AXO_EINVAL);
    kit_never(k, "a.postStop");
    kit_run(k, f.p, pk_no_memory, to);
    kit_await(k, "p.refused");
    kit_finish_now(k);
}

static const struct CMUnitTest tests[] = {
    KIT_TEST("PK-07", PK_07),
    KIT_TEST("PK-07 already gone", PK_07_already_gone),
    KIT_TEST("PK-07 late", PK_07_late),
    KIT_TEST("PK-07 late for a thread", PK_07_late_thread),
    KIT_TEST("PK-07 own message", PK_07_own_message),
    KIT_TEST("PH-20", PH_20),
    KIT_TEST("PK-07 refused", graceful_stop_refuses),
};

TEST_MAIN(tests)
