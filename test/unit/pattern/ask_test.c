/* ask_test.c - ask and promise beyond the entries: restarts, strategies, no memory, misuse. */
#include <pthread.h>
#include <stdatomic.h>

#include "unit/pattern/ask.h"

typedef struct ask_order {
    axo_ref to;
    uint32_t tag;
    int64_t timeout_ns;
    uint64_t id;
    axo_ref promise; /* made, before the mark "promised" */
} ask_order;

static ask_order *ask_order_new(kit *k, axo_ref to, uint32_t tag, int64_t timeout_ns, uint64_t id)
{
    ask_order *order = kit_alloc(k, sizeof *order);
    *order = (ask_order){.to = to, .tag = tag, .timeout_ns = timeout_ns, .id = id};
    return order;
}

static axo_status ask_do(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    const ask_order *order = arg;
    kit_mark(self, "asked",
             axo_ask(ctx, order->to, order->tag, NULL, 0, order->timeout_ns, order->id));
    return AXO_OK;
}

static axo_status ask_promise(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    ask_order *order = arg;
    axo_status status = axo_promise(ctx, order->timeout_ns, order->id, &order->promise);
    kit_mark(self, "promised", status);
    return AXO_OK;
}

static ask_order *ask_tell_promise(kit *k, kit_script *client, int64_t timeout_ns, uint64_t id)
{
    ask_order *order = ask_order_new(k, axo_ref_none(), 0, timeout_ns, id);
    uint32_t before = kit_count(k, "*.promised");
    (void)kit_run(k, client, ask_promise, order);
    kit_await_count(k, "*.promised", before + 1);
    return order;
}

/* ---- promises -------------------------------------------------------------------------------- */

static void *ask_keep(void *arg)
{
    const ask_order *order = arg;
    (void)axo_system_send((axo_system *)(uintptr_t)order->to.bits, order->promise, ASK_SILENT,
                          NULL, 0);
    return NULL;
}

/* A thread's result is piped to the actor that made the promise. */
static void promise_is_kept_by_a_thread(kit *k)
{
    kit_script *a = ask_client_new(k, "a");
    pthread_t thread;
    kit_spawn(k, a);
    ask_order *order = ask_tell_promise(k, a, ASK_FOREVER, 3);
    order->to.bits = (uintptr_t)kit_system(k);
    assert_int_equal(pthread_create(&thread, NULL, ask_keep, order), 0);
    kit_await(k, "a.got(3)");
    assert_int_equal(kit_find(k, "a.tag").arg, ASK_SILENT);
    assert_int_equal(pthread_join(thread, NULL), 0);
    kit_never(k, "a.failed");
    kit_finish(k);
}

static void promise_times_out(kit *k)
{
    kit_script *a = ask_client_new(k, "a");
    kit_spawn(k, a);
    (void)ask_tell_promise(k, a, ASK_MS, 4);
    kit_await(k, "a.failed(4)");
    assert_int_equal((int64_t)kit_find(k, "a.why").arg, AXO_ETIMEDOUT);
}

static void promise_is_taken_back(kit *k)
{
    kit_script *a = ask_client_new(k, "a");
    kit_spawn(k, a);
    ask_order *order = ask_tell_promise(k, a, ASK_FOREVER, 5);
    kit_settle(k);
    assert_int_equal(axo_system_stop_actor(kit_system(k), order->promise), AXO_OK);
    kit_await_all(k, "a.child_gone", "a.failed(5)");
    assert_int_equal((int64_t)kit_find(k, "a.why").arg, AXO_ESTOPPING);
}

/* ---- instances ------------------------------------------------------------------------------- */

/* The asker is restarted: its ask ends with the instance, and nothing of it comes later. */
static void ask_ends_with_the_instance(kit *k)
{
    ask_shop *shop;
    kit_script *s = ask_server_start(k, &shop);
    kit_script *a = ask_client_new(k, "a");
    kit_spawn(k, a);
    (void)kit_run(k, a, ask_do, ask_order_new(k, kit_ref(s), ASK_SILENT, ASK_FOREVER, 1));
    kit_await(k, "s.silent");
    kit_tell(k, a, KIT_FAIL, 7);
    kit_await_all(k, "a.child_gone", "a#2.preStart");
    assert_int_equal(axo_system_send(kit_system(k), shop->last, 99, NULL, 0), AXO_EGONE);
    kit_tell(k, a, KIT_NOTE, 1);
    kit_await(k, "a#2.note(1)");
    kit_expect(k, "a.failed=0", "a.got=0");
}

/* Children that survive their parent's restart wait on, for an instance that is gone: what they get
 * is a suppressed dead letter. */
static void ask_answer_is_for_one_instance(kit *k)
{
    ask_shop *shop;
    kit_script *s = ask_server_start(k, &shop);
    kit_script *a = ask_client_new(k, "a");
    a->keep_children = true;
    kit_spawn(k, a);
    (void)kit_run(k, a, ask_do, ask_order_new(k, kit_ref(s), ASK_SILENT, ASK_FOREVER, 1));
    kit_await(k, "s.silent");
    kit_tell(k, a, KIT_FAIL, 7);
    kit_await(k, "a#2.preStart");
    assert_int_equal(axo_system_send(kit_system(k), shop->last, 99, NULL, 0), AXO_OK);
    kit_await_all(k, "a.child_gone", "a.dl");
    assert_int_equal(kit_find(k, "a.dl").arg, AXO_ASK_ANSWER);
    kit_tell(k, a, KIT_NOTE, 1);
    kit_await(k, "a#2.note(1)");
    kit_never(k, "a.got");
}

/* A resumed asker is the same instance. */
static void ask_survives_a_resume(kit *k)
{
    ask_shop *shop;
    kit_script *p = kit_actor(k, "p");
    kit_script *a = ask_client_new(k, "a");
    kit_script *s = ask_server_start(k, &shop);
    p->pre_start.spawn[0] = a;
    p->directive = AXO_RESUME;
    kit_spawn(k, p);
    kit_await(k, "a.preStart");
    (void)kit_run(k, a, ask_do, ask_order_new(k, kit_ref(s), ASK_SILENT, ASK_FOREVER, 1));
    kit_await(k, "s.silent");
    kit_tell(k, a, KIT_FAIL, 7);
    kit_await(k, "p.decided(1)");
    assert_int_equal(axo_system_send(kit_system(k), shop->last, 99, NULL, 0), AXO_OK);
    kit_await(k, "a#1.got(1)");
}

/* A strategy that is all for one restarts the ask with its siblings: it waits on. */
static void ask_outlives_a_siblings_restart(kit *k)
{
    ask_shop *shop;
    kit_script *s = ask_server_start(k, &shop);
    kit_script *a = ask_client_new(k, "a");
    kit_script *c = kit_actor(k, "c");
    a->strategy.scope = AXO_ALL_FOR_ONE;
    a->directive = AXO_RESTART;
    a->pre_start.spawn[0] = c;
    kit_spawn(k, a);
    kit_await(k, "c.preStart");
    (void)kit_run(k, a, ask_do, ask_order_new(k, kit_ref(s), ASK_SILENT, ASK_FOREVER, 1));
    kit_await(k, "s.silent");
    kit_tell(k, c, KIT_FAIL, 7);
    kit_await(k, "c#2.preStart");
    assert_int_equal(axo_system_send(kit_system(k), shop->last, 99, NULL, 0), AXO_OK);
    kit_await(k, "a.got(1)");
    kit_expect_count(k, "a.decider", 1);
}

static void ask_hands_payloads_on(kit *k)
{
    ask_shop *shop;
    kit_script *s = ask_server_start(k, &shop);
    kit_script *a = ask_client_new(k, "a");
    kit_spawn(k, a);
    (void)kit_run(k, a, ask_do, ask_order_new(k, kit_ref(s), ASK_OWNED, ASK_FOREVER, 1));
    kit_await(k, "a.got(1)");
    kit_settle(k);
    assert_int_equal(kit_find(k, "a.tag").arg, ASK_OWNED);
    assert_int_equal(atomic_load(&shop->freed), 1);
}

/* ---- no memory ------------------------------------------------------------------------------- */

static axo_status ask_without_memory(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    enum { ASKS = 1 << 16 };
    const ask_order *order = arg;
    axo_ref promise = {1};
    axo_status status = AXO_OK;
    uint32_t children = 0;
    kit_no_memory(self->k, true);
    for (uint64_t i = 0; i < ASKS && status == AXO_OK; i++) {
        children = axo_child_count(ctx);
        status = axo_ask(ctx, order->to, order->tag, NULL, 0, ASK_FOREVER, i);
    }
    KIT_REQUIRE(self->k, status == AXO_ENOMEM);
    KIT_REQUIRE(self->k, axo_child_count(ctx) == children); /* the refused one left nothing */
    while (axo_promise(ctx, ASK_FOREVER, 1, &promise) == AXO_OK)
        children++;
    KIT_REQUIRE(self->k, axo_ref_is_none(promise));
    KIT_REQUIRE(self->k, axo_child_count(ctx) == children);
    kit_no_memory(self->k, false);
    kit_mark(self, "refused", 0);
    return AXO_OK;
}

static void ask_is_refused_without_memory(void **state)
{
    kit *k = kit_start(state, NULL);
    kit_script *s = ask_server_start(k, NULL);
    kit_script *a = ask_client_new(k, "a");
    kit_spawn(k, a);
    (void)kit_run(k, a, ask_without_memory,
                  ask_order_new(k, kit_ref(s), ASK_SILENT, ASK_FOREVER, 1));
    kit_await(k, "a.refused");
    axo_system_stop_actor(kit_system(k), kit_ref(s)); /* now all of them end */
    kit_finish_now(k);
}

/* ---- misuse ---------------------------------------------------------------------------------- */

static axo_status ask_misuse(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    kit *k = self->k;
    axo_ref me = axo_self(ctx);
    axo_asked asked;
    axo_ref promise = {1};
    KIT_REQUIRE(k, axo_ask(NULL, me, 1, NULL, 0, 1, 0) == AXO_ECONTEXT);
    KIT_REQUIRE(k, axo_ask(ctx, axo_ref_none(), 1, NULL, 0, 1, 0) == AXO_EINVAL);
    KIT_REQUIRE(k, axo_ask(ctx, me, AXO_TAG_RESERVED, NULL, 0, 1, 0) == AXO_EINVAL);
    KIT_REQUIRE(k, axo_ask(ctx, me, 1, NULL, 8, 1, 0) == AXO_EINVAL);
    KIT_REQUIRE(k, axo_ask(ctx, me, 1, NULL, 0, 0, 0) == AXO_EINVAL);
    KIT_REQUIRE(k, axo_ask(ctx, me, 1, NULL, 0, AXO_DELAY_MAX + 1, 0) == AXO_EINVAL);
    KIT_REQUIRE(k, axo_promise(ctx, AXO_DELAY_MAX + 1, 0, &promise) == AXO_EINVAL);
    KIT_REQUIRE(k, axo_ask(ctx, me, 1, "", AXO_PAYLOAD_MAX + 1, 1, 0) == AXO_ETOOBIG);
    KIT_REQUIRE(k, axo_promise(ctx, 1, 0, NULL) == AXO_EINVAL);
    KIT_REQUIRE(k, axo_promise(ctx, 0, 0, &promise) == AXO_EINVAL);
    KIT_REQUIRE(k, axo_ref_is_none(promise));
    KIT_REQUIRE(k, axo_promise(NULL, 1, 0, &promise) == AXO_ECONTEXT);
    KIT_REQUIRE(k, axo_system_ask(kit_system(k), me, 1, NULL, 0, 1, &asked) == AXO_ECONTEXT);
    KIT_REQUIRE(k, asked.verdict.status == AXO_ECONTEXT);
    KIT_REQUIRE(k, axo_child_count(ctx) == 0);
    kit_mark(self, "misused", 0);
    return AXO_OK;
}

static void misuse_is_refused(kit *k)
{
    kit_script *a = part_start(k, "a");
    axo_system *system = kit_system(k);
    axo_ref to = kit_ref(a);
    axo_asked asked;
    char text[4];
    (void)kit_run(k, a, ask_misuse, NULL);
    kit_await(k, "a.misused");
    assert_int_equal(axo_system_ask(NULL, to, 1, NULL, 0, 1, &asked), AXO_EINVAL);
    assert_int_equal(axo_system_ask(system, axo_ref_none(), 1, NULL, 0, 1, &asked), AXO_EINVAL);
    assert_int_equal(axo_system_ask(system, to, AXO_TAG_RESERVED, NULL, 0, 1, &asked), AXO_EINVAL);
    assert_int_equal(axo_system_ask(system, to, 1, NULL, 1, 1, &asked), AXO_EINVAL);
    assert_int_equal(axo_system_ask(system, to, 1, NULL, 0, 0, &asked), AXO_EINVAL);
    assert_int_equal(axo_system_ask(system, to, 1, NULL, 0, 1, NULL), AXO_EINVAL);
    assert_int_equal(axo_system_ask(system, to, 1, "", AXO_PAYLOAD_MAX + 1, 1, &asked),
                     AXO_ETOOBIG);
    axo_asked_free(NULL, &asked);
    axo_asked_free(system, NULL);
    assert_int_equal(axo_system_tag_name(NULL, to, 1, text, 4), AXO_EINVAL);
    assert_int_equal(axo_system_tag_name(system, axo_ref_none(), 1, text, 4), AXO_EINVAL);
    assert_int_equal(axo_system_tag_name(system, to, 1, NULL, 4), AXO_EINVAL);
    assert_int_equal(axo_system_tag_name(system, to, 1, text, 0), AXO_EINVAL);
    assert_int_equal(axo_system_tag_name(system, (axo_ref){12345}, 1, text, 4), AXO_EGONE);
    kit_finish(k);
}

static const struct CMUnitTest tests[] = {
    KIT_TEST("promise kept by a thread", promise_is_kept_by_a_thread),
    KIT_TEST("promise timed out", promise_times_out),
    KIT_TEST("promise taken back", promise_is_taken_back),
    KIT_TEST("ask ends with the instance", ask_ends_with_the_instance),
    KIT_TEST("answer for one instance", ask_answer_is_for_one_instance),
    KIT_TEST("ask survives a resume", ask_survives_a_resume),
    KIT_TEST("ask outlives a sibling's restart", ask_outlives_a_siblings_restart),
    KIT_TEST("ask hands payloads on", ask_hands_payloads_on),
    KIT_TEST("ask without memory", ask_is_refused_without_memory),
    KIT_TEST("misuse", misuse_is_refused),
};

TEST_MAIN(tests)
