/* trace_chain_test.c - traces from actor to actor on several workers. */
#include <sched.h>
#include <string.h>

#include <axo/axo.h>

#include "base/atomic.h"
#include "support/cmocka.h"

static bool tc_same(const axo_trace_context *a, const axo_trace_context *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

enum { CHAIN_ACTORS = 8, CHAIN_HOPS = 200, CHAIN_TRACES = 32 };

/* Each actor checks that a message's number of hops is what its parent has said before it. */
typedef struct chain_message {
    uint32_t trace;
    uint32_t hops;
    axo_trace_context sender; /* what the sender's handler had; all 0 at the beginning */
} chain_message;

static struct {
    axo_ref actors[CHAIN_ACTORS];
    axo__a32 ended;
    axo__a32 wrong;
} chain;

static axo_status chain_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    chain_message it;
    axo_trace_context own;
    axo_trace_context given;
    memcpy(&it, message->payload, sizeof it);
    bool traced = it.trace % 2 == 0; /* every second has none */
    bool right = (axo_trace_context_of(ctx, &own) == AXO_OK) == traced &&
                 (axo_trace_context_parent(ctx, &given) == AXO_OK) == traced &&
                 tc_same(&given, &it.sender);
    if (traced)
        right = right && own.trace_id[0] == 1 && own.trace_id[15] == it.trace;
    if (!right)
        (void)axo__a32_add_relaxed(&chain.wrong, 1);
    it.sender = own;
    if (it.hops-- == 0) {
        (void)axo__a32_add_relaxed(&chain.ended, 1);
        return AXO_OK;
    }
    axo_ref next = chain.actors[(it.trace + it.hops * 3) % CHAIN_ACTORS];
    return it.hops % 7 == 0 ? axo_send_after(ctx, 1000, next, 1, &it, sizeof it)
                            : axo_send(ctx, next, 1, &it, sizeof it);
}

static void chains_on_workers(void **state)
{
    static const axo_class cls = AXO_CLASS(.name = "chain", .receive = chain_receive);
    const axo_props props = AXO_PROPS(.cls = &cls);
    for (uint32_t workers = 1; workers <= 4; workers += 3) {
        axo_system *system = NULL;
        const axo_options options = AXO_OPTIONS(.workers = workers);
        memset((void *)&chain, 0, sizeof chain);
        assert_int_equal(axo_system_start(&options, &system), AXO_OK);
        for (uint32_t i = 0; i < CHAIN_ACTORS; i++)
            assert_int_equal(axo_system_spawn(system, &props, &chain.actors[i]), AXO_OK);
        for (uint32_t i = 0; i < CHAIN_TRACES; i++) {
            chain_message it = {.trace = i, .hops = CHAIN_HOPS};
            if (i % 2 == 0)
                it.sender =
                    (axo_trace_context){.trace_id = {[0] = 1, [15] = (uint8_t)i}, .span_id = {9}};
            assert_int_equal(axo_system_send_traced(system, chain.actors[i % CHAIN_ACTORS], 1, &it,
                                                    sizeof it, i % 2 == 0 ? &it.sender : NULL),
                             AXO_OK);
        }
        while (axo__a32_load_relaxed(&chain.ended) < CHAIN_TRACES)
            (void)sched_yield();
        assert_int_equal(axo__a32_load_relaxed(&chain.wrong), 0);
        assert_int_equal(axo_system_stop(system, -1, NULL, 0, NULL), AXO_OK);
        assert_int_equal(axo_system_destroy(system), AXO_OK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(chains_on_workers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
