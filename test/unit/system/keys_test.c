/* keys_test.c - actors by keys, through the public functions. */
#include <string.h>

#include "support/kit.h"

static axo_status keys_inside(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    kit *k = self->k;
    axo_ref ref;
    KIT_REQUIRE(k, axo_register(ctx, "me", self->ref) == AXO_OK);
    KIT_REQUIRE(k, axo_register(ctx, "me", self->ref) == AXO_EEXIST);
    KIT_REQUIRE(k, axo_system_lookup(axo_system_of(ctx), "me", &ref) == AXO_OK);
    KIT_REQUIRE(k, axo_ref_equal(ref, self->ref));
    KIT_REQUIRE(k, axo_unregister(ctx, "me") == AXO_OK);
    KIT_REQUIRE(k, axo_unregister(ctx, "me") == AXO_ENOENT);
    KIT_REQUIRE(k, axo_register(NULL, "me", self->ref) == AXO_ECONTEXT);
    KIT_REQUIRE(k, axo_unregister(NULL, "me") == AXO_ECONTEXT);
    KIT_REQUIRE(k, axo_register(ctx, NULL, self->ref) == AXO_EINVAL);
    KIT_REQUIRE(k, axo_register(ctx, "me", axo_ref_none()) == AXO_EINVAL);
    KIT_REQUIRE(k, axo_unregister(ctx, NULL) == AXO_EINVAL);
    KIT_REQUIRE(k, axo_unregister(ctx, "") == AXO_ENAME);
    KIT_REQUIRE(k, axo_register(ctx, "mine", self->ref) == AXO_OK);
    kit_mark(self, "done", 0);
    return AXO_OK;
}

/* The key goes with the actor, and is free for the next. */
static void a_key_goes_with_its_actor(kit *k)
{
    axo_system *system = kit_system(k);
    kit_family f = kit_tree(k, "a, b");
    char text[AXO_KEY_MAX + 2];
    axo_ref ref = kit_ref(f.a);
    assert_int_equal(axo_system_lookup(system, "mine", &ref), AXO_ENOENT);
    assert_true(axo_ref_is_none(ref));
    kit_run(k, f.a, keys_inside, NULL);
    kit_await(k, "a.done");
    assert_int_equal(axo_system_lookup(system, "mine", &ref), AXO_OK);
    assert_true(axo_ref_equal(ref, kit_ref(f.a)));
    assert_int_equal(axo_system_register(system, "mine", kit_ref(f.b)), AXO_EEXIST);
    assert_int_equal(axo_system_stop_actor(system, kit_ref(f.a)), AXO_OK);
    kit_await(k, "a.terminated");
    assert_int_equal(axo_system_lookup(system, "mine", &ref), AXO_ENOENT);
    assert_int_equal(axo_system_register(system, "other", kit_ref(f.a)), AXO_EGONE);
    assert_int_equal(axo_system_register(system, "mine", kit_ref(f.b)), AXO_OK);
    assert_int_equal(axo_system_lookup(system, "mine", &ref), AXO_OK);
    assert_true(axo_ref_equal(ref, kit_ref(f.b)));
    memset(text, 'k', sizeof text);
    text[AXO_KEY_MAX + 1] = 0;
    assert_int_equal(axo_system_register(system, text, kit_ref(f.b)), AXO_ENAME);
    assert_int_equal(axo_system_lookup(system, text, &ref), AXO_ENAME);
    assert_int_equal(axo_system_unregister(system, ""), AXO_ENAME);
    assert_int_equal(axo_system_lookup(NULL, "mine", &ref), AXO_EINVAL);
    assert_int_equal(axo_system_lookup(system, NULL, &ref), AXO_EINVAL);
    assert_int_equal(axo_system_lookup(system, "mine", NULL), AXO_EINVAL);
    assert_int_equal(axo_system_register(NULL, "x", kit_ref(f.b)), AXO_EINVAL);
    assert_int_equal(axo_system_unregister(NULL, "mine"), AXO_EINVAL);
    assert_int_equal(axo_system_unregister(system, "mine"), AXO_OK);
    kit_finish(k);
}

static void the_limit_is_the_options(void **state)
{
    axo_options options = AXO_OPTIONS(.registry_max = 2);
    kit *k = kit_start(state, &options);
    axo_system *system = kit_system(k);
    kit_script *a = kit_top(k, "a");
    kit_no_memory(k, true);
    assert_int_equal(axo_system_register(system, "1", kit_ref(a)), AXO_ENOMEM);
    kit_no_memory(k, false);
    assert_int_equal(axo_system_register(system, "1", kit_ref(a)), AXO_OK);
    assert_int_equal(axo_system_register(system, "2", kit_ref(a)), AXO_OK);
    assert_int_equal(axo_system_register(system, "3", kit_ref(a)), AXO_ELIMIT);
    assert_int_equal(axo_system_unregister(system, "1"), AXO_OK);
    assert_int_equal(axo_system_register(system, "3", kit_ref(a)), AXO_OK);
    kit_finish(k);
}

static const struct CMUnitTest tests[] = {
    KIT_TEST("a key goes with its actor", a_key_goes_with_its_actor),
    KIT_TEST("the limit is the option's", the_limit_is_the_options),
};
TEST_MAIN(tests)
