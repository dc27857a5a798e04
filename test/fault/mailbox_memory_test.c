/* mailbox_memory_test.c - a life with every kind of mailbox in which each allocation in turn is the
 * first to fail: what is refused has changed nothing, the account is exact, nothing is left. */
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <axo/axo.h>

#include "support/cmocka.h"

enum { GO = 1, ITEM, RELEASE, PAYLOAD = 1500, ITEMS = 100 };

/* Memory that runs dry: from the given block on (for good, or for one block). */
typedef struct well {
    _Atomic int64_t left;
    _Atomic int64_t blocks;
    _Atomic uint64_t refused;
    bool for_good;
    _Atomic bool open; /* no more refusals */
} well;

static void *well_alloc(void *user, size_t size, size_t align)
{
    well *w = user;
    int64_t before = atomic_fetch_sub(&w->left, 1);
    bool dry = before == 1 || (before < 1 && w->for_good);
    if (dry && !atomic_load(&w->open)) {
        atomic_fetch_add(&w->refused, 1);
        return NULL;
    }
    atomic_fetch_add(&w->blocks, 1);
    return aligned_alloc(align < sizeof(void *) ? sizeof(void *) : align,
                         (size + align - 1) / align * align);
}

static void well_free(void *user, void *block, size_t size, size_t align)
{
    atomic_fetch_sub(&((well *)user)->blocks, 1);
    free(block);
}

/* ---- actors ---------------------------------------------------------------------------------- */

static uint32_t life_priority(const axo_message *message, void *user)
{
    return message->size % 7;
}

/* Stashes every third item, and takes all back with the last message. */
static axo_status sink_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    uint32_t *seen = state;
    if (message->tag == RELEASE)
        return axo_unstash_all(ctx);
    if (message->tag == ITEM && ++*seen % 3 == 0) {
        axo_status status = axo_stash(ctx); /* the first one takes memory; refused, it is handled */
        return status == AXO_ENOMEM ? AXO_OK : status;
    }
    return AXO_OK;
}

static const axo_class sink_class =
    AXO_CLASS(.state_size = sizeof(uint32_t), .receive = sink_receive);

/* Sends to whom the message names; what is refused is given up. */
static axo_status source_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    static const char payload[PAYLOAD];
    axo_ref to = *AXO_PAYLOAD(message, axo_ref);
    for (uint32_t i = 0; i < ITEMS; i++) {
        axo_status status = axo_send(ctx, to, ITEM, payload, i * 37 % PAYLOAD);
        if (status != AXO_OK && status != AXO_EFULL && status != AXO_ENOMEM && status != AXO_EGONE)
            return status;
        status = axo_forward(ctx, message, to);
        if (status != AXO_OK && status != AXO_EFULL && status != AXO_ENOMEM && status != AXO_EGONE)
            return status;
    }
    return AXO_OK;
}

static const axo_class source_class = AXO_CLASS(.receive = source_receive);

/* ---- one life -------------------------------------------------------------------------------- */

static void life_rest(axo_system *system)
{
    axo_stats stats = AXO_STATS(.sent = 0);
    uint64_t last = UINT64_MAX;
    /* what is not done dies with the system */
    for (uint32_t same = 0; same < 2000; sched_yield()) {
        assert_int_equal(axo_system_stats(system, &stats), AXO_OK);
        same = stats.handled == last ? same + 1 : 0;
        last = stats.handled;
    }
}

/* The guardians are up; how a start without memory ends is another test's. */
static void life_begun(axo_system *system)
{
    for (uint32_t i = 0; i < 3;) {
        axo_actor_info info = AXO_ACTOR_INFO(.queued = 0);
        axo_ref guardian = axo_system_guardian(system, (axo_guardian)i);
        assert_int_equal(axo_system_inspect(system, guardian, axo_ref_none(), &info), AXO_OK);
        if (info.doing == AXO_DOING_IDLE)
            i++;
        else
            sched_yield();
    }
}

/* true: it never ran dry. */
static bool life(int64_t nth, bool for_good)
{
    static const axo_mailbox boxes[] = {
        AXO_MAILBOX(.kind = AXO_MAILBOX_FIFO),
        AXO_MAILBOX(.kind = AXO_MAILBOX_PRIORITY, .priority = life_priority),
        AXO_MAILBOX(.messages_max = 4, .overflow = AXO_OVERFLOW_PARK),
        AXO_MAILBOX(.bytes_max = 4096, .overflow = AXO_OVERFLOW_DROP_OLD),
        AXO_MAILBOX(.kind = AXO_MAILBOX_PRIORITY, .priority = life_priority, .messages_max = 40,
                    .overflow = AXO_OVERFLOW_PARK)};
    well w = {.left = INT64_MAX, .for_good = for_good};
    axo_options options = AXO_OPTIONS(.workers = 2, .seed = 3,
                                      .allocator = {well_alloc, well_free, &w});
    axo_stats stats = AXO_STATS(.sent = 0);
    axo_system *system;
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    life_begun(system);
    atomic_store(&w.left, nth);
    axo_ref source;
    axo_props props = AXO_PROPS(.cls = &source_class);
    axo_status status = axo_system_spawn(system, &props, &source);
    assert_true(status == AXO_OK || status == AXO_ENOMEM);
    for (uint32_t i = 0; status == AXO_OK && i < sizeof boxes / sizeof boxes[0]; i++) {
        axo_ref sink;
        props = (axo_props)AXO_PROPS(.cls = &sink_class, .mailbox = &boxes[i]);
        axo_status spawned = axo_system_spawn(system, &props, &sink);
        assert_true(spawned == AXO_OK || spawned == AXO_ENOMEM);
        if (spawned != AXO_OK)
            continue;
        axo_status sent = axo_system_send(system, source, GO, &sink, sizeof sink);
        assert_true(sent == AXO_OK || sent == AXO_ENOMEM);
        sent = axo_system_send(system, sink, RELEASE, NULL, 0);
        assert_true(sent == AXO_OK || sent == AXO_EFULL || sent == AXO_ENOMEM);
    }
    life_rest(system);
    atomic_store(&w.open, true);
    assert_int_equal(axo_system_stop(system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_stats(system, &stats), AXO_OK);
    assert_int_equal(stats.sent, stats.handled + stats.dead + stats.dropped);
    assert_int_equal(stats.failures, 0);
    assert_int_equal(stats.actors, 0);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
    assert_int_equal(w.blocks, 0);
    return w.refused == 0;
}

static void lives(bool for_good)
{
    int64_t nth = 1;
    while (!life(nth, for_good)) {
        nth++;
        assert_true(nth < 2000);
    }
    assert_true(nth > 2); /* it did run dry */
}

static void each_block_once(void **state)
{
    lives(false);
}

static void each_block_and_all_after(void **state)
{
    lives(true);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(each_block_once),
    cmocka_unit_test(each_block_and_all_after),
};

int main(void)
{
    return cmocka_run_group_tests(tests, NULL, NULL);
}
