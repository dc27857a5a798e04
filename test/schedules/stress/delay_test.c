/* delay_test.c - restarts that come due while their child is being stopped: it stays stopped,
 * nothing is lost, and the slots are used again all the time (PH-13). */
#include <stdatomic.h>

#include <axo/axo.h>

#include "support/cmocka.h"

enum { BOSSES = 4, VICTIMS = 8, ROUNDS = 300 };
enum { TAG_FAIL = 1, TAG_END };

typedef struct hunt {
    atomic_uint bosses; /* that are done */
    atomic_uint made;   /* instances of victims */
    atomic_uint undone;
} hunt;

static hunt all;

typedef struct victim {
    int alive;
} victim;

static axo_status victim_construct(axo_ctx *ctx, void *state, const void *args)
{
    atomic_fetch_add(&all.made, 1);
    ((victim *)state)->alive = 1;
    return AXO_OK;
}

static axo_status victim_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    return axo_fail(ctx, 1, "again");
}

static axo_status victim_stop(axo_ctx *ctx, void *state)
{
    atomic_fetch_add(&all.undone, 1);
    return AXO_OK;
}

static const axo_class victim_class =
    AXO_CLASS(.state_size = sizeof(victim), .construct = victim_construct,
              .receive = victim_receive, .post_stop = victim_stop);

typedef struct boss {
    uint32_t rounds;
    uint32_t living;
    uint64_t chance;
} boss;

static uint32_t boss_below(boss *me, uint32_t bound)
{
    me->chance = me->chance * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((me->chance >> 33) % bound);
}

/* A victim fails, and about when its restart is due its end comes: from here, or by a pill, which
 * it takes in the new instance. */
static axo_status boss_hunt(axo_ctx *ctx, boss *me)
{
    axo_props props = AXO_PROPS(.cls = &victim_class);
    axo_ref ref;
    axo_status status = axo_spawn(ctx, &props, &ref);
    if (status != AXO_OK || (status = axo_watch(ctx, ref)) != AXO_OK)
        return status;
    me->living++;
    for (uint32_t i = boss_below(me, 3) + 1; i > 0; i--)
        (void)axo_send(ctx, ref, TAG_FAIL, NULL, 0);
    return axo_send_after(ctx, boss_below(me, 3 * AXO_TICK_NS), axo_self(ctx), TAG_END, &ref,
                          sizeof ref);
}

static axo_status boss_start(axo_ctx *ctx, void *state)
{
    boss *me = state;
    me->chance = axo_self(ctx).bits;
    for (int i = 0; i < VICTIMS; i++) {
        axo_status status = boss_hunt(ctx, me);
        if (status != AXO_OK)
            return status;
    }
    return AXO_OK;
}

static axo_status boss_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    boss *me = state;
    if (message->tag == AXO_TERMINATED) {
        me->living--;
        if (++me->rounds < ROUNDS)
            return boss_hunt(ctx, me);
        if (me->living == 0 && atomic_fetch_add(&all.bosses, 1) + 1 == BOSSES)
            return axo_system_shutdown(axo_system_of(ctx));
        return AXO_OK;
    }
    axo_ref ref = *AXO_PAYLOAD(message, axo_ref);
    switch (boss_below(me, 3)) {
    case 0:
        (void)axo_poison(ctx, ref);
        return AXO_OK;
    case 1: /* as a stranger */
        (void)axo_system_stop_actor(axo_system_of(ctx), ref);
        return AXO_OK;
    default:
        (void)axo_stop(ctx, ref);
        return AXO_OK;
    }
}

static void a_hunt(void **state)
{
    static const axo_backoff backoff = AXO_BACKOFF(.min_ns = 1, .max_ns = AXO_TICK_NS,
                                                   .jitter = 1);
    static const axo_strategy strategy = AXO_STRATEGY(.backoff = &backoff);
    static const axo_class boss_class = AXO_CLASS(.state_size = sizeof(boss),
                                                  .pre_start = boss_start,
                                                  .receive = boss_receive);
    axo_options options = AXO_OPTIONS(.workers = (uint32_t)(uintptr_t)*state);
    axo_props props = AXO_PROPS(.cls = &boss_class, .strategy = &strategy);
    axo_stats stats = AXO_STATS(0);
    axo_system *system = NULL;
    axo_ref ref;
    atomic_store(&all.bosses, 0);
    atomic_store(&all.made, 0);
    atomic_store(&all.undone, 0);
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    for (int i = 0; i < BOSSES; i++)
        assert_int_equal(axo_system_spawn(system, &props, &ref), AXO_OK);
    assert_int_equal(axo_system_wait(system, INT64_C(60000000000), NULL), AXO_OK);
    assert_int_equal(axo_system_stats(system, &stats), AXO_OK);
    assert_int_equal(stats.sent, stats.handled + stats.dead + stats.dropped);
    assert_int_equal(stats.actors, 0);
    assert_int_equal(atomic_load(&all.made), atomic_load(&all.undone));
    assert_int_equal(atomic_load(&all.made),
                     BOSSES * (VICTIMS + ROUNDS - 1) + stats.restarts);
    assert_true(stats.restarts > 0);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
}

#define TEST(n) {"a_hunt [" #n "]", a_hunt, NULL, NULL, (void *)(uintptr_t)(n)}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(1), TEST(2), TEST(4)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
