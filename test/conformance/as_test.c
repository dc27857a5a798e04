/* as_test.c - ask, promises, forwarding (AS), and what a request to the dead gets (PH-23). */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "conformance/parts.h"

enum { AS_ANSWER = KIT_OTHER + 1, AS_LATE };
#define AS_MS      INT64_C(1000000)
#define AS_FOREVER (INT64_C(1000000000) * KIT_GATE_DEADLINE_S)

/* ---- an asker: a puppet that asks, and marks what comes -------------------------------------- */

typedef struct as_order {
    axo_ref to;
    int64_t timeout_ns;
    uint64_t id;
    axo_verdict verdict; /* of the last failure, written before the mark "failed" */
} as_order;

static as_order *as_order_new(kit *k, axo_ref to, int64_t timeout_ns, uint64_t id)
{
    as_order *order = kit_alloc(k, sizeof *order);
    *order = (as_order){.to = to, .timeout_ns = timeout_ns, .id = id};
    return order;
}

/* Marks: answered(id), with(value), from(ref) or failed(id), why(status). */
static axo_status as_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    kit_puppet *self = state;
    if (message->tag == AXO_ASK_ANSWER) {
        axo_message answer = axo_answer_of(message);
        const kit_payload *payload = answer.payload;
        KIT_REQUIRE(self->k, answer.tag == KIT_PONG && answer.size == sizeof *payload);
        KIT_REQUIRE(self->k, message->size == sizeof(axo_answer) + answer.size);
        KIT_REQUIRE(self->k, AXO_PAYLOAD(message, axo_answer)->waited_ns >= 0);
        kit_mark(self, "from", (int64_t)answer.sender.bits);
        kit_mark(self, "with", payload->value);
        kit_mark(self, "answered", (int64_t)AXO_PAYLOAD(message, axo_answer)->id);
        return AXO_OK;
    }
    if (message->tag == AXO_ASK_FAILED) {
        const axo_verdict *verdict = message->payload;
        KIT_REQUIRE(self->k, message->size == sizeof *verdict);
        if (self->script->user != NULL)
            *(axo_verdict *)self->script->user = *verdict;
        kit_mark(self, "why", verdict->status);
        kit_mark(self, "failed", (int64_t)verdict->id);
        return AXO_OK;
    }
    return kit_receive(ctx, state, message);
}

static axo_status as_become(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    KIT_REQUIRE(self->k, axo_become(ctx, as_receive) == AXO_OK);
    return AXO_OK;
}

/* Asks with a ping that carries the id; marks asked(status). */
static axo_status as_ask(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    const as_order *order = arg;
    kit_payload ping = {.value = (int64_t)order->id};
    kit_mark(self, "asked", axo_ask(ctx, order->to, KIT_PING, &ping, sizeof ping,
                                    order->timeout_ns, order->id));
    return AXO_OK;
}

static kit_script *as_asker(kit *k, const char *label)
{
    kit_script *script = kit_actor(k, label);
    script->pre_start.run = as_become;
    (void)kit_spawn(k, script);
    return script;
}

static void as_tell_ask(kit *k, kit_script *asker, axo_ref to, int64_t timeout_ns, uint64_t id)
{
    (void)kit_run(k, asker, as_ask, as_order_new(k, to, timeout_ns, id));
}

/* Keeps who pinged it, and answers only when it is told to (AS_ANSWER). */
static axo_status as_slow(axo_ctx *ctx, void *state, const axo_message *message)
{
    kit_puppet *self = state;
    axo_ref *ask = self->script->user;
    if (message->tag == KIT_PING) {
        *ask = message->sender;
        kit_mark(self, "got", 0);
        return AXO_OK;
    }
    if (message->tag == AS_ANSWER) {
        kit_payload pong = {.value = 4};
        kit_mark(self, "answers", axo_send(ctx, *ask, KIT_PONG, &pong, sizeof pong));
        return AXO_OK;
    }
    return kit_receive(ctx, state, message);
}

static kit_script *as_slow_start(kit *k, const char *label)
{
    kit_script *script = part_start(k, label);
    script->user = kit_alloc(k, sizeof(axo_ref));
    part_tell_become(k, script, as_slow);
    return script;
}

/* ---- AS-01 ----------------------------------------------------------------------------------- */

static void AS_01(kit *k)
{
    kit_script *a = as_asker(k, "a");
    kit_script *b = part_start(k, "b");
    as_tell_ask(k, a, kit_ref(b), AS_FOREVER, 7);
    kit_await(k, "a.answered(7)");
    kit_order(k, "a.asked(0)", "a.with(7)", "a.answered(7)");
    kit_order(k, "b.ping(7)", "a.from(b)");
    kit_never(k, "a.failed");
}

/* Many at once: each answer has its own number. */
static void AS_01_many(kit *k)
{
    enum { ASKS = 50 };
    kit_script *a = as_asker(k, "a");
    kit_family f = kit_tree(k, "b, c");
    char pattern[32];
    for (uint64_t id = 1; id <= ASKS; id++)
        as_tell_ask(k, a, kit_ref(id % 2 == 0 ? f.b : f.c), AS_FOREVER, id);
    kit_await_count(k, "a.answered", ASKS);
    for (uint64_t id = 1; id <= ASKS; id++) {
        (void)snprintf(pattern, sizeof pattern, "a.answered(%d)", (int)id);
        kit_expect_count(k, pattern, 1);
        (void)snprintf(pattern, sizeof pattern, "a.with(%d)", (int)id);
        kit_expect_count(k, pattern, 1);
    }
    kit_never(k, "a.failed");
    kit_finish(k);
}

static void as_expect_text(kit *k, const axo_verdict *verdict, const char *part)
{
    char text[400];
    size_t length = axo_verdict_text(verdict, text, sizeof text);
    assert_true(length > 0 && length < sizeof text);
    assert_int_equal(strlen(text), length);
    if (strstr(text, part) == NULL)
        fail_msg("\"%s\" is not in: %s", part, text);
}

static void AS_01_timeout(kit *k)
{
    kit_script *a = as_asker(k, "a");
    kit_script *b = as_slow_start(k, "b");
    axo_verdict *verdict = a->user = kit_alloc(k, sizeof *verdict);
    as_tell_ask(k, a, kit_ref(b), 2 * AS_MS, 9);
    kit_await(k, "a.failed(9)");
    assert_int_equal(kit_find(k, "a.why").arg, (uint64_t)(int64_t)AXO_ETIMEDOUT);
    assert_true(axo_ref_equal(verdict->target, kit_ref(b)));
    assert_int_equal(verdict->status, AXO_ETIMEDOUT);
    assert_int_equal(verdict->tag, KIT_PING);
    assert_int_equal(verdict->timeout_ns, 2 * AS_MS);
    assert_true(verdict->waited_ns >= 2 * AS_MS);
    assert_string_equal(verdict->path, "/user/b");
    as_expect_text(k, verdict, "/user/b");
    as_expect_text(k, verdict, "tag 1");
    as_expect_text(k, verdict, axo_status_text(AXO_ETIMEDOUT));
    /* The late answer finds nobody (AS-04). */
    kit_await(k, "a.child_gone");
    kit_tell(k, b, AS_ANSWER, 0);
    kit_await(k, "b.answers");
    assert_int_equal((int64_t)kit_find(k, "b.answers").arg, AXO_EGONE);
    kit_expect(k, "*.dl(PONG)=1", "a.answered=0");
}

/* What has been taken of the pool: a chain of drafts, each with the one before in it. */
typedef struct as_link {
    axo_draft *draft;
    struct as_link *before;
} as_link;

typedef struct as_drained {
    as_order order;
    as_link *last;
} as_drained;

enum { AS_ASKS = 100 };

/* Asks, then takes all the memory that there is left. */
static axo_status as_ask_and_drain(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    static const size_t sizes[] = {16, 30, 60, 100, 150, 250, 400, 600, 900, 1400, 1900, 3900};
    as_drained *drained = arg;
    kit_payload ping = {.value = 0};
    axo_draft *draft;
    void *room;
    for (uint64_t id = 1; id <= AS_ASKS; id++)
        KIT_REQUIRE(self->k, axo_ask(ctx, drained->order.to, KIT_PING, &ping, sizeof ping,
                                     drained->order.timeout_ns, id) == AXO_OK);
    kit_no_memory(self->k, true);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        while (axo_message_new(ctx, KIT_NOTE, sizes[i], &draft, &room) == AXO_OK) {
            as_link *link = room;
            *link = (as_link){.draft = draft, .before = drained->last};
            drained->last = link;
        }
    }
    kit_mark(self, "drained", 0);
    return AXO_OK;
}

static axo_status as_flood(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    as_drained *drained = arg;
    while (drained->last != NULL) {
        as_link *link = drained->last;
        drained->last = link->before;
        axo_message_discard(ctx, link->draft);
    }
    kit_mark(self, "flooded", 0);
    return AXO_OK;
}

/* The waiters' first turns find no memory: who asked is told so, once, while there is still none. A
 * waiter may have what one before it gave back; then its time ends. */
static void AS_01_no_memory(void **state)
{
    axo_options options = AXO_OPTIONS(.workers = 1);
    kit *k = kit_start(state, &options);
    kit_script *a = as_asker(k, "a");
    kit_script *b = as_slow_start(k, "b");
    as_drained *drained = kit_alloc(k, sizeof *drained);
    *drained = (as_drained){.order = {.to = kit_ref(b), .timeout_ns = 1000 * AS_MS}};
    kit_settle(k);
    (void)kit_run(k, a, as_ask_and_drain, drained);
    kit_await_count(k, "a.failed", AS_ASKS);
    assert_int_equal((int64_t)kit_find(k, "a.why@1").arg, AXO_ENOMEM);
    kit_no_memory(k, false);
    (void)kit_run(k, a, as_flood, drained);
    kit_await(k, "a.flooded");
    kit_settle(k);
    kit_expect_count(k, "a.failed", AS_ASKS);
    kit_never(k, "a.answered");
    kit_finish(k);
}

/* ---- AS-02, PH-23 ---------------------------------------------------------------------------- */

static void AS_02(kit *k)
{
    kit_script *a = as_asker(k, "a");
    kit_script *b = part_start(k, "b");
    axo_ref gone = kit_ref(b);
    axo_system_stop_actor(kit_system(k), gone);
    kit_await(k, "user.child_gone(b)");
    as_tell_ask(k, a, gone, AS_FOREVER, 1);
    as_tell_ask(k, a, axo_ref_none(), AS_FOREVER, 2);
    as_tell_ask(k, a, kit_ref(a), 0, 3);
    as_tell_ask(k, a, kit_ref(a), -1, 4);
    kit_await_count(k, "a.asked", 4);
    assert_int_equal((int64_t)kit_find(k, "a.asked@1").arg, AXO_EGONE);
    assert_int_equal((int64_t)kit_find(k, "a.asked@2").arg, AXO_EINVAL);
    assert_int_equal((int64_t)kit_find(k, "a.asked@3").arg, AXO_EINVAL);
    assert_int_equal((int64_t)kit_find(k, "a.asked@4").arg, AXO_EINVAL);
    kit_expect_count(k, "b.dl(PING)", 1); /* the request itself */
    kit_run(k, a, part_count_children, NULL);
    kit_await(k, "a.children");
    assert_int_equal(kit_find(k, "a.children").arg, 0);
    kit_expect(k, "a.failed=0", "a.answered=0");
}

/* The asked one ends while it has the request: at once, not at the deadline. */
static void PH_23(kit *k)
{
    kit_script *a = as_asker(k, "a");
    kit_script *b = as_slow_start(k, "b");
    axo_verdict *verdict = a->user = kit_alloc(k, sizeof *verdict);
    as_tell_ask(k, a, kit_ref(b), AS_FOREVER, 5);
    kit_await(k, "b.got");
    axo_system_stop_actor(kit_system(k), kit_ref(b));
    kit_await(k, "a.failed(5)");
    assert_int_equal(verdict->status, AXO_EGONE);
    assert_string_equal(verdict->path, "/user/b");
    as_expect_text(k, verdict, axo_status_text(AXO_EGONE));
    kit_never(k, "a.answered");
}

/* An answer that was sent before the end counts, although the end is known too. */
static axo_status as_last_word(axo_ctx *ctx, void *state, const axo_message *message)
{
    kit_puppet *self = state;
    if (message->tag == KIT_PING)
        KIT_REQUIRE(self->k, axo_stop_self(ctx) == AXO_OK);
    return kit_receive(ctx, state, message);
}

static void PH_23_answer_first(kit *k)
{
    kit_script *a = as_asker(k, "a");
    kit_script *b = part_start(k, "b");
    part_tell_become(k, b, as_last_word);
    as_tell_ask(k, a, kit_ref(b), AS_FOREVER, 5);
    kit_await_all(k, "a.answered(5)", "user.child_gone(b)");
    kit_never(k, "a.failed");
}

/* ---- AS-03 ----------------------------------------------------------------------------------- */

static void AS_03(kit *k)
{
    kit_script *a = as_asker(k, "a");
    kit_script *b = kit_actor(k, "b");
    axo_verdict *verdict = a->user = kit_alloc(k, sizeof *verdict);
    b->receive.fail_first = 1;
    b->receive.code = 5;
    kit_spawn(k, b);
    as_tell_ask(k, a, kit_ref(b), 2 * AS_MS, 1);
    kit_await(k, "a.failed(1)");
    assert_int_equal(verdict->status, AXO_ETIMEDOUT);
    kit_await_count(k, "b.ctor", 2); /* it was restarted, and the request is gone */
    kit_never(k, "b.ping");
    kit_never(k, "a.decider"); /* nobody failed below the asker */
}

/* ---- AS-04, DL-11 ---------------------------------------------------------------------------- */

/* Answers twice, now; and once more when it is told to. */
static axo_status as_twice(axo_ctx *ctx, void *state, const axo_message *message)
{
    kit_puppet *self = state;
    if (message->tag != KIT_PING)
        return kit_receive(ctx, state, message);
    kit_payload first = {.value = 1};
    kit_payload second = {.value = 2};
    *(axo_ref *)self->script->user = message->sender;
    KIT_REQUIRE(self->k, axo_reply(ctx, message, KIT_PONG, &first, sizeof first) == AXO_OK);
    (void)axo_reply(ctx, message, AS_LATE, &second, sizeof second);
    return AXO_OK;
}

static void AS_04(kit *k)
{
    kit_script *a = as_asker(k, "a");
    kit_script *b = part_start(k, "b");
    kit_payload late = {.value = 3};
    axo_ref *ask = b->user = kit_alloc(k, sizeof *ask);
    part_tell_become(k, b, as_twice);
    as_tell_ask(k, a, kit_ref(b), AS_FOREVER, 1);
    kit_await_all(k, "a.answered(1)", "a.child_gone");
    kit_expect_count(k, "*.dl(1002)", 1);
    assert_int_equal(
        axo_system_send(kit_system(k), *ask, AS_LATE, &late, sizeof late), AXO_EGONE);
    kit_expect(k, "*.dl(1002)=2", "a.answered=1");
    assert_int_equal(kit_find(k, "a.with").arg, 1);
    kit_finish(k);
}

/* An ask that has its answer is gone for good: each further one is a dead letter of its own. */
static void DL_11(kit *k)
{
    kit_script *a = as_asker(k, "a");
    kit_script *b = part_start(k, "b");
    kit_payload late = {.value = 3};
    axo_ref *ask = b->user = kit_alloc(k, sizeof *ask);
    part_tell_become(k, b, as_twice);
    as_tell_ask(k, a, kit_ref(b), AS_FOREVER, 1);
    kit_await(k, "a.child_gone");
    kit_settle(k);
    axo_stats before = kit_stats(k);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(
            axo_system_send(kit_system(k), *ask, AS_LATE, &late, sizeof late), AXO_EGONE);
    assert_int_equal(kit_stats(k).dead - before.dead, 3);
    kit_expect(k, "*.dl(1002)=4", "a.answered=1");
    kit_finish(k);
}

/* ---- AS-05 ----------------------------------------------------------------------------------- */

static axo_status as_watch(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    KIT_REQUIRE(self->k, axo_watch(ctx, *(axo_ref *)arg) == AXO_OK);
    kit_mark(self, "watches", 0);
    return AXO_OK;
}

static void AS_05(kit *k)
{
    kit_script *a = as_asker(k, "a");
    kit_script *b = as_slow_start(k, "b");
    axo_ref *ask = b->user;
    char path[64];
    as_tell_ask(k, a, kit_ref(b), AS_FOREVER, 1);
    kit_await(k, "b.got");
    kit_run(k, b, as_watch, ask);
    kit_await(k, "b.watches");
    assert_int_equal(axo_system_path(kit_system(k), *ask, path, sizeof path), AXO_OK);
    assert_memory_equal(path, "/user/a/$", strlen("/user/a/$"));
    kit_never(k, "b.term");
    kit_tell(k, b, AS_ANSWER, 0);
    kit_await_all(k, "b.term", "a.answered(1)");
    assert_int_equal(kit_find(k, "b.term").arg, ask->bits);
    kit_await(k, "b.known");
    assert_int_equal(kit_find(k, "b.known").arg, 1);
    kit_finish(k);
}

/* ---- AS-06 ----------------------------------------------------------------------------------- */

/* Hands pings on, with the sender that they came with. */
static axo_status as_forward(axo_ctx *ctx, void *state, const axo_message *message)
{
    kit_puppet *self = state;
    if (message->tag != KIT_PING)
        return kit_receive(ctx, state, message);
    return axo_send_from(ctx, message->sender, kit_ref(self->script->user), message->tag,
                         message->payload, message->size);
}

static void AS_06(kit *k)
{
    kit_script *a = as_asker(k, "a");
    kit_family f = kit_tree(k, "b, c");
    f.b->user = f.c;
    part_tell_become(k, f.b, as_forward);
    as_tell_ask(k, a, kit_ref(f.b), AS_FOREVER, 1);
    kit_await(k, "a.answered(1)");
    kit_order(k, "c.ping(1)", "a.from(c)", "a.answered(1)");
    kit_tell_as(k, a, f.b, KIT_PING, 2);
    kit_await(k, "a.pong(2)");
}

static const struct CMUnitTest tests[] = {
    KIT_TEST("AS-01", AS_01),
    KIT_TEST("AS-01 many", AS_01_many),
    KIT_TEST("AS-01 timeout", AS_01_timeout),
    KIT_TEST("AS-01 no memory", AS_01_no_memory),
    KIT_TEST("AS-02", AS_02),
    KIT_TEST("AS-03", AS_03),
    KIT_TEST("AS-04", AS_04),
    KIT_TEST("DL-11", DL_11),
    KIT_TEST("AS-05", AS_05),
    KIT_TEST("AS-06", AS_06),
    KIT_TEST("PH-23", PH_23),
    KIT_TEST("PH-23 answer first", PH_23_answer_first),
};

TEST_MAIN(tests)
