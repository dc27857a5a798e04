/* be_test.c - behaviours (BE): the stack of receive functions. */
#include "conformance/parts.h"

static axo_status be_mark(axo_ctx *ctx, void *state, const axo_message *message, const char *word)
{
    if (message->tag != KIT_NOTE)
        return kit_receive(ctx, state, message);
    kit_mark(state, word, AXO_PAYLOAD(message, kit_payload)->value);
    return AXO_OK;
}

static axo_status be_one(axo_ctx *ctx, void *state, const axo_message *message)
{
    return be_mark(ctx, state, message, "one");
}

static axo_status be_two(axo_ctx *ctx, void *state, const axo_message *message)
{
    return be_mark(ctx, state, message, "two");
}

static axo_status be_unbecome(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    KIT_REQUIRE(self->k, axo_unbecome(ctx) == AXO_OK);
    return AXO_OK;
}

static void BE_01(kit *k)
{
    kit_script *a = part_start(k, "a");
    kit_tell(k, a, KIT_NOTE, 1);
    part_tell_become(k, a, be_one);
    kit_tell(k, a, KIT_NOTE, 2);
    part_tell_become(k, a, be_two);
    kit_tell(k, a, KIT_NOTE, 3);
    kit_run(k, a, be_unbecome, NULL);
    kit_tell(k, a, KIT_NOTE, 4);
    kit_run(k, a, be_unbecome, NULL);
    kit_tell(k, a, KIT_NOTE, 5);
    kit_run(k, a, be_unbecome, NULL); /* the first stays */
    kit_tell(k, a, KIT_NOTE, 6);
    kit_await(k, "a.note(6)");
    kit_order(k, "a.note(1)", "a.one(2)", "a.two(3)", "a.one(4)", "a.note(5)", "a.note(6)");
}

/* In the constructor too. */
static axo_status be_become_one(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    KIT_REQUIRE(self->k, axo_become(ctx, be_one) == AXO_OK);
    return AXO_OK;
}

static void BE_01_construct(kit *k)
{
    kit_script *a = kit_actor(k, "a");
    a->construct.run = be_become_one;
    kit_spawn(k, a);
    kit_tell(k, a, KIT_NOTE, 1);
    kit_run(k, a, be_unbecome, NULL);
    kit_tell(k, a, KIT_NOTE, 2);
    kit_await(k, "a.note(2)");
    kit_order(k, "a.one(1)", "a.note(2)");
}

static void BE_02(kit *k)
{
    kit_family f = kit_tree(k, "p[a]");
    part_tell_become(k, f.a, be_one);
    part_tell_become(k, f.a, be_two);
    kit_tell(k, f.a, KIT_FAIL, KIT_DO_RESUME);
    kit_tell(k, f.a, KIT_NOTE, 1);
    kit_run(k, f.a, be_unbecome, NULL);
    kit_tell(k, f.a, KIT_NOTE, 2);
    kit_tell(k, f.a, KIT_FAIL, KIT_DO_RESTART);
    kit_tell(k, f.a, KIT_NOTE, 3);
    kit_await(k, "a#2.note(3)");
    kit_order(k, "a#1.two(1)", "a#1.one(2)", "a#2.note(3)");
}

static const struct CMUnitTest tests[] = {
    KIT_TEST("BE-01", BE_01),
    KIT_TEST("BE-01 in construct", BE_01_construct),
    KIT_TEST("BE-02", BE_02),
};

TEST_MAIN(tests)
