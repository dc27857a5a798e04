/* pass_on_test.c - messages passed on: axo_forward and axo_message_take; who frees the payload. */
#include <string.h>

#include "support/kit.h"

enum { P_COPIED = KIT_OTHER, P_OWNED, P_EMPTY };

/* A payload that is handed over; it must be freed once. */
typedef struct p_thing {
    kit *k;
    axo_ref mark; /* whose record shows the end */
    int64_t number;
} p_thing;

static void p_destroy(void *payload, void *user)
{
    p_thing *thing = payload;
    if (user != thing->k)
        kit_problem(user, "the payload's user is another one");
    kit_mark_ref(thing->k, thing->mark, "destroyed", (uint64_t)thing->number);
}

/* What a puppet does with the tags of this file, in place of its own receive. */
typedef struct p_order {
    kit_script *to;   /* forward there */
    bool take;        /* take it, and free it at once */
    bool fail;        /* then fail */
} p_order;

static axo_status p_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    kit_puppet *self = state;
    p_order *order = self->script->user;
    if (message->tag < KIT_OTHER || message->tag >= AXO_TAG_RESERVED)
        return kit_receive(ctx, state, message);
    self->message = message;
    kit_mark(self, "got", (int64_t)message->tag);
    kit_mark(self, "from", (int64_t)message->sender.bits);
    if (message->tag == P_COPIED)
        KIT_REQUIRE(self->k, message->size == 5 && memcmp(message->payload, "abcd", 5) == 0);
    if (message->tag == P_EMPTY)
        KIT_REQUIRE(self->k, message->size == 0 && message->payload == NULL);
    if (order != NULL && order->to != NULL) {
        axo_status status = axo_forward(ctx, message, kit_ref(order->to));
        kit_mark(self, "forwarded", status);
        if (message->tag == P_OWNED)
            KIT_REQUIRE(self->k, message->payload == NULL && message->size == 0);
        else
            KIT_REQUIRE(self->k, message->tag == P_EMPTY || message->payload != NULL);
    }
    if (order != NULL && order->take) {
        axo_owned owned;
        axo_owned again;
        kit_mark(self, "took", axo_message_take(ctx, message, &owned));
        KIT_REQUIRE(self->k, message->payload == NULL && owned.size == sizeof(p_thing));
        KIT_REQUIRE(self->k, axo_message_take(ctx, message, &again) == AXO_EINVAL);
        KIT_REQUIRE(self->k, again.payload == NULL);
        owned.destroy(owned.payload, owned.user);
    }
    return order != NULL && order->fail ? axo_fail(ctx, KIT_DO_RESTART, "passed on") : AXO_OK;
}

static axo_status p_become(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    KIT_REQUIRE(self->k, axo_become(ctx, p_receive) == AXO_OK);
    return AXO_OK;
}

static kit_script *p_actor(kit *k, const char *label, p_order *order)
{
    kit_script *script = kit_actor(k, label);
    script->user = order;
    script->pre_start.run = p_become;
    (void)kit_spawn(k, script);
    return script;
}

static p_thing *p_thing_new(kit *k, kit_script *mark, int64_t number)
{
    p_thing *thing = kit_alloc(k, sizeof *thing);
    *thing = (p_thing){.k = k, .mark = kit_ref(mark), .number = number};
    return thing;
}

static void p_send_owned(kit *k, kit_script *to, p_thing *thing)
{
    assert_int_equal(axo_system_send_owned(kit_system(k), kit_ref(to), P_OWNED, thing,
                                           sizeof *thing, p_destroy, k),
                     AXO_OK);
}

static void forward_copies(kit *k)
{
    kit_script *q = kit_top(k, "q");
    kit_script *c = p_actor(k, "c", NULL);
    kit_script *b = p_actor(k, "b", &(p_order){.to = c});
    assert_int_equal(axo_system_send_from(kit_system(k), kit_ref(q), kit_ref(b), P_COPIED, "abcd",
                                          5),
                     AXO_OK);
    assert_int_equal(axo_system_send(kit_system(k), kit_ref(b), P_EMPTY, NULL, 0), AXO_OK);
    kit_await(k, "c.got(1002)");
    kit_await_count(k, "b.forwarded(0)", 2); /* noted after the call: c may have been quicker */
    kit_order(k, "b.got(1000)", "c.got(1000)", "c.from(q)", "c.got(1002)");
    kit_finish(k);
}

static void forward_hands_on(kit *k)
{
    kit_script *d = p_actor(k, "d", NULL);
    kit_script *c = p_actor(k, "c", &(p_order){.to = d});
    kit_script *b = p_actor(k, "b", &(p_order){.to = c});
    p_send_owned(k, b, p_thing_new(k, d, 1));
    kit_await(k, "d.destroyed(1)");
    kit_order(k, "b.got", "c.got", "d.got", "d.destroyed(1)");
    kit_settle(k);
    kit_expect_count(k, "d.destroyed", 1);
    kit_finish(k);
}

static void forward_to_one_that_is_gone(kit *k)
{
    kit_script *c = p_actor(k, "c", NULL);
    kit_script *b = p_actor(k, "b", &(p_order){.to = c});
    axo_system_stop_actor(kit_system(k), kit_ref(c));
    kit_await(k, "user.child_gone(c)");
    p_send_owned(k, b, p_thing_new(k, b, 1));
    kit_await(k, "b.forwarded(-7)");
    kit_expect(k, "b.destroyed(1)=1", "c.dl(1001)=1");
    kit_finish(k);
}

/* Without memory nothing has happened: the payload is still the message's. */
static axo_status p_dry(axo_ctx *ctx, void *state, const axo_message *message)
{
    kit_puppet *self = state;
    axo_status status = AXO_OK;
    if (message->tag != P_COPIED)
        return p_receive(ctx, state, message);
    kit_no_memory(self->k, true);
    while (status == AXO_OK) /* until the pool is spent */
        status = axo_forward(ctx, message, self->ref);
    kit_no_memory(self->k, false);
    KIT_REQUIRE(self->k, status == AXO_ENOMEM);
    KIT_REQUIRE(self->k, message->size == 5 && memcmp(message->payload, "abcd", 5) == 0);
    KIT_REQUIRE(self->k, axo_unbecome(ctx) == AXO_OK);
    kit_mark(self, "dry", 0);
    return AXO_OK;
}

static axo_status p_become_dry(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    KIT_REQUIRE(self->k, axo_become(ctx, p_dry) == AXO_OK);
    return AXO_OK;
}

static void forward_without_memory(kit *k)
{
    kit_script *b = p_actor(k, "b", NULL);
    kit_run(k, b, p_become_dry, NULL);
    assert_int_equal(axo_system_send(kit_system(k), kit_ref(b), P_COPIED, "abcd", 5), AXO_OK);
    kit_await(k, "b.dry");
}

static void take_moves_the_payload(kit *k)
{
    kit_script *b = p_actor(k, "b", &(p_order){.take = true});
    p_send_owned(k, b, p_thing_new(k, b, 1));
    kit_await(k, "b.destroyed(1)");
    kit_order(k, "b.took(0)", "b.destroyed(1)");
    kit_settle(k);
    kit_expect_count(k, "b.destroyed", 1);
    kit_finish(k);
}

/* pre_restart takes over what its instance failed under. */
static axo_status p_hook_take(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    axo_owned owned;
    KIT_REQUIRE(self->k, axo_message_take(ctx, self->message, &owned) == AXO_OK);
    kit_mark(self, "took", 0);
    owned.destroy(owned.payload, owned.user);
    return AXO_OK;
}

static axo_status p_hook_forward(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    kit_mark(self, "forwarded", axo_forward(ctx, self->message, kit_ref(arg)));
    return AXO_OK;
}

static void pre_restart_passes_on(kit *k)
{
    kit_script *c = p_actor(k, "c", NULL);
    kit_script *b = kit_actor(k, "b");
    b->user = &(p_order){.fail = true};
    b->pre_start.run = p_become;
    b->pre_restart.run = p_hook_forward;
    b->pre_restart.arg = c;
    (void)kit_spawn(k, b);
    p_send_owned(k, b, p_thing_new(k, b, 1));
    kit_await(k, "b.destroyed(1)");
    kit_await(k, "b#1.forwarded(0)"); /* noted after the call: c may have been quicker */
    kit_order(k, "b#1.got", "b#1.preRestart", "c.got(1001)", "b.destroyed(1)");
    kit_settle(k);
    b->pre_restart.run = p_hook_take;
    p_send_owned(k, b, p_thing_new(k, b, 2));
    kit_await(k, "b.destroyed(2)");
    kit_order(k, "b#2.got", "b#2.took(0)", "b.destroyed(2)");
    kit_settle(k);
    kit_expect_count(k, "b.destroyed", 2);
    kit_finish(k);
}

/* ---- misuse ---------------------------------------------------------------------------------- */

static axo_status p_misuse(axo_ctx *ctx, void *state, const axo_message *message)
{
    kit_puppet *self = state;
    kit *k = self->k;
    axo_message copy = *message;
    axo_owned owned = {.size = 7};
    axo_ref none = axo_ref_none();
    if (message->tag == AXO_TERMINATED) {
        KIT_REQUIRE(k, axo_forward(ctx, message, self->ref) == AXO_EINVAL);
        KIT_REQUIRE(k, axo_message_take(ctx, message, &owned) == AXO_EINVAL);
        kit_mark(self, "done", 3);
        return AXO_OK;
    }
    if (message->tag < KIT_OTHER)
        return kit_receive(ctx, state, message);
    KIT_REQUIRE(k, axo_forward(NULL, message, self->ref) == AXO_ECONTEXT);
    KIT_REQUIRE(k, axo_forward(ctx, NULL, self->ref) == AXO_EINVAL);
    KIT_REQUIRE(k, axo_forward(ctx, &copy, self->ref) == AXO_EINVAL);
    KIT_REQUIRE(k, axo_forward(ctx, message, none) == AXO_EINVAL);
    KIT_REQUIRE(k, axo_message_take(NULL, message, &owned) == AXO_ECONTEXT);
    KIT_REQUIRE(k, owned.size == 0);
    KIT_REQUIRE(k, axo_message_take(ctx, NULL, &owned) == AXO_EINVAL);
    KIT_REQUIRE(k, axo_message_take(ctx, &copy, &owned) == AXO_EINVAL);
    KIT_REQUIRE(k, axo_message_take(ctx, message, NULL) == AXO_EINVAL);
    if (message->tag == P_COPIED) {
        KIT_REQUIRE(k, axo_message_take(ctx, message, &owned) == AXO_EINVAL);
        KIT_REQUIRE(k, message->size == 5);
        kit_mark(self, "done", 1);
        return AXO_OK;
    }
    KIT_REQUIRE(k, axo_stash(ctx) == AXO_OK); /* whose payload is the stash's */
    KIT_REQUIRE(k, axo_forward(ctx, message, self->ref) == AXO_EINVAL);
    KIT_REQUIRE(k, axo_message_take(ctx, message, &owned) == AXO_EINVAL);
    KIT_REQUIRE(k, message->payload != NULL);
    kit_mark(self, "done", 2);
    return AXO_OK;
}

static axo_status p_become_misuse(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    axo_owned owned;
    KIT_REQUIRE(self->k, axo_forward(ctx, arg, self->ref) == AXO_EINVAL);
    KIT_REQUIRE(self->k, axo_message_take(ctx, arg, &owned) == AXO_EINVAL);
    KIT_REQUIRE(self->k, axo_become(ctx, p_misuse) == AXO_OK);
    return AXO_OK;
}

static void misuse(kit *k)
{
    kit_script *x = kit_top(k, "x");
    kit_script *b = kit_actor(k, "b");
    axo_message none = {.tag = P_COPIED};
    axo_owned owned;
    b->pre_start.run = p_become_misuse;
    b->pre_start.arg = &none;
    (void)kit_spawn(k, b);
    assert_int_equal(axo_forward(NULL, &none, kit_ref(b)), AXO_ECONTEXT);
    assert_int_equal(axo_message_take(NULL, &none, &owned), AXO_ECONTEXT);
    kit_tell_ref(k, b, KIT_WATCH, kit_ref(x));
    assert_int_equal(axo_system_send(kit_system(k), kit_ref(b), P_COPIED, "abcd", 5), AXO_OK);
    p_send_owned(k, b, p_thing_new(k, b, 1));
    kit_await(k, "b.done(2)");
    axo_system_stop_actor(kit_system(k), kit_ref(x));
    kit_await(k, "b.done(3)");
    kit_never(k, "b.destroyed");
    axo_system_stop_actor(kit_system(k), kit_ref(b));
    kit_await(k, "user.child_gone(b)");
    kit_expect_count(k, "b.destroyed(1)", 1); /* a dead letter out of the stash */
    kit_finish(k);
}

static const struct CMUnitTest tests[] = {
    KIT_TEST("forward copies", forward_copies),
    KIT_TEST("forward hands on", forward_hands_on),
    KIT_TEST("forward to one that is gone", forward_to_one_that_is_gone),
    KIT_TEST("forward without memory", forward_without_memory),
    KIT_TEST("take moves the payload", take_moves_the_payload),
    KIT_TEST("pre_restart passes on", pre_restart_passes_on),
    KIT_TEST("misuse", misuse),
};

TEST_MAIN(tests)
