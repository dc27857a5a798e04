/* hook_memory_test.c - a termination hook is answered without memory, by any actor that has one,
 * and the system ends. */
#include <stdlib.h>

#include <axo/axo.h>

#include "support/cmocka.h"

static struct {
    bool dry;
    uint32_t sent; /* until there was none */
    uint32_t held; /* blocks */
    axo_status hooked;
    axo_status done;
    axo_status again;
} it;

static void *scarce_alloc(void *user, size_t size, size_t align)
{
    void *block = NULL;
    (void)user;
    if (it.dry || posix_memalign(&block, align < sizeof block ? sizeof block : align, size) != 0)
        return NULL;
    it.held++;
    return block;
}

static void scarce_free(void *user, void *block, size_t size, size_t align)
{
    (void)user;
    (void)size;
    (void)align;
    it.held--;
    free(block);
}

static axo_status service_start(axo_ctx *ctx, void *state)
{
    (void)state;
    it.hooked = axo_termination_hook(ctx);
    return it.hooked;
}

/* All that the pool has goes into messages to itself. */
static axo_status service_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)state;
    if (message->tag != AXO_TERMINATION_HOOK)
        return AXO_OK;
    it.dry = true;
    while (axo_send(ctx, axo_self(ctx), 1, NULL, 0) == AXO_OK)
        it.sent++;
    it.done = axo_termination_hook_done(ctx);
    it.again = axo_termination_hook_done(ctx);
    it.dry = false;
    return AXO_OK;
}

static const axo_class service_class =
    AXO_CLASS(.name = "service", .pre_start = service_start, .receive = service_receive);

static void the_answer_takes_no_memory(void **state)
{
    static const axo_lifetime lives[] = {AXO_TEMPORARY, AXO_TRANSIENT, AXO_PERMANENT};
    (void)state;
    for (size_t i = 0; i < sizeof lives / sizeof lives[0]; i++) {
        axo_options options = AXO_OPTIONS(.manual = AXO_MANUAL_ALL,
                                          .allocator = {scarce_alloc, scarce_free, NULL});
        axo_props props =
            AXO_PROPS(.cls = &service_class, .system_actor = 1, .lifetime = lives[i]);
        axo_system *system;
        axo_ref ref;
        it.sent = 0;
        it.done = it.again = it.hooked = AXO_EFAILED;
        assert_int_equal(axo_system_start(&options, &system), AXO_OK);
        assert_int_equal(axo_system_spawn(system, &props, &ref), AXO_OK);
        assert_int_equal(axo_run_host(system, -1, NULL), AXO_OK);
        assert_int_equal(axo_system_stop(system, INT64_C(10000000000), NULL, 0, NULL), AXO_OK);
        assert_true(it.sent > 0);
        assert_int_equal(it.hooked, AXO_OK);
        assert_int_equal(it.done, AXO_OK);
        assert_int_equal(it.again, AXO_OK);
        assert_int_equal(axo_system_destroy(system), AXO_OK);
        assert_int_equal(it.held, 0);
    }
}

/* What registering took goes with an actor that ends without an answer. */
static void an_answer_that_is_not_given_is_freed(void **state)
{
    enum { ROUNDS = 20000, WARM = 2000 };
    axo_options options = AXO_OPTIONS(.manual = AXO_MANUAL_ALL,
                                      .allocator = {scarce_alloc, scarce_free, NULL});
    axo_props props = AXO_PROPS(.cls = &service_class, .system_actor = 1);
    axo_system *system;
    uint32_t held = 0;
    (void)state;
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        axo_ref ref;
        assert_int_equal(axo_system_spawn(system, &props, &ref), AXO_OK);
        assert_int_equal(axo_run_host(system, -1, NULL), AXO_OK);
        assert_int_equal(axo_system_stop_actor(system, ref), AXO_OK);
        assert_int_equal(axo_run_host(system, -1, NULL), AXO_OK);
        held = i == WARM ? it.held : held;
    }
    assert_int_equal(it.held, held);
    assert_int_equal(axo_system_stop(system, INT64_C(10000000000), NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
    assert_int_equal(it.held, 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_answer_takes_no_memory),
    cmocka_unit_test(an_answer_that_is_not_given_is_freed),
};
TEST_MAIN(tests)
