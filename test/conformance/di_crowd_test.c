/* di_crowd_test.c - many senders and a mailbox with a bound: nothing is lost or doubled (DI-06),
 * memory stays flat whatever the policy, and no wake-up is lost (DI-07). */
#include <inttypes.h>
#include <sched.h>
#include <string.h>

#include "conformance/parts.h"
#include "support/slower.h"

#if defined(AXO_TSAN) || defined(AXO_ASAN)
#define CROWD_SLOWER 20
#else
#define CROWD_SLOWER 1
#endif

enum { CROWD_GO = 1, CROWD_ITEM, CROWD_MAX = 16, CROWD_PAYLOAD = 200 };

static void crowd_system(void **state, axo_options options, axo_system **system)
{
    options.workers = (uint32_t)(uintptr_t)*state;
    *state = NULL;
    assert_int_equal(axo_system_start(&options, system), AXO_OK);
}

/* ---- many senders ---------------------------------------------------------------------------- */

typedef struct crowd {
    axo_mailbox mailbox;
    uint32_t senders;
    uint32_t each;
    uint32_t spin;         /* how slow the consumer is */
    bool tries_again;      /* a refused message is sent again; else it is given up */
    uint64_t bytes_max;    /* most that the system may hold; 0: not looked at */
    /* the consumer's */
    uint64_t items;
    uint64_t wrong;
    uint64_t bytes;        /* most that was seen */
    uint32_t seen[CROWD_MAX];
} crowd;

typedef struct crowd_item {
    uint32_t sender;
    uint32_t number;
    char rest[CROWD_PAYLOAD];
} crowd_item;

typedef struct crowd_sender {
    crowd *it;
    axo_ref to;
    uint32_t index;
    uint32_t number;
} crowd_sender;

static axo_status crowd_sender_construct(axo_ctx *ctx, void *state, const void *args)
{
    memcpy(state, args, sizeof(crowd_sender));
    return AXO_OK;
}

static axo_status crowd_send(axo_ctx *ctx, void *state, const axo_message *message)
{
    crowd_sender *me = state;
    crowd_item item = {.sender = me->index};
    for (uint32_t i = 0; i < 8 && me->number < me->it->each; i++) {
        item.number = me->number + 1;
        axo_status status = axo_send(ctx, me->to, CROWD_ITEM, &item, sizeof item);
        if (status == AXO_EFULL && me->it->tries_again)
            break;
        if (status != AXO_OK && status != AXO_EFULL)
            return status;
        me->number++;
    }
    if (me->number == me->it->each)
        return axo_stop_self(ctx);
    return axo_send(ctx, axo_self(ctx), CROWD_GO, NULL, 0);
}

static const axo_class crowd_sender_class =
    AXO_CLASS(.state_size = sizeof(crowd_sender), .construct = crowd_sender_construct,
              .receive = crowd_send);

static axo_status crowd_consumer_construct(axo_ctx *ctx, void *state, const void *args)
{
    *(crowd **)state = (crowd *)(uintptr_t)args;
    return AXO_OK;
}

static axo_status crowd_take(axo_ctx *ctx, void *state, const axo_message *message)
{
    crowd *it = *(crowd **)state;
    const crowd_item *item = message->payload;
    axo_stats stats = AXO_STATS(.sent = 0);
    uint32_t hash = item->number;
    bool exact = it->tries_again || it->mailbox.overflow == AXO_OVERFLOW_PARK;
    if (exact ? item->number != it->seen[item->sender] + 1
              : item->number <= it->seen[item->sender])
        it->wrong++; /* lost, doubled or out of order */
    it->seen[item->sender] = item->number;
    if (++it->items % 256 == 0) {
        (void)axo_system_stats(axo_system_of(ctx), &stats);
        if (stats.memory_bytes > it->bytes)
            it->bytes = stats.memory_bytes;
    }
    for (uint32_t i = 0; i < it->spin; i++)
        hash = hash * 16777619u ^ i;
    return hash == 0 && item->number == 0 ? AXO_EFAILED : AXO_OK;
}

static const axo_class crowd_consumer_class =
    AXO_CLASS(.state_size = sizeof(crowd *), .construct = crowd_consumer_construct,
              .receive = crowd_take);

/* All have sent; then the consumer stops behind the last message. */
static void crowd_run(void **state, crowd *it)
{
    axo_system *system;
    axo_stats stats = AXO_STATS(.sent = 0);
    axo_ref refs[CROWD_MAX];
    crowd_sender recipe = {.it = it};
    axo_props consumer =
        AXO_PROPS(.cls = &crowd_consumer_class, .args = it, .mailbox = &it->mailbox);
    axo_props sender =
        AXO_PROPS(.cls = &crowd_sender_class, .args = &recipe, .args_size = sizeof recipe);
    crowd_system(state, (axo_options)AXO_OPTIONS(.quantum = 16), &system);
    assert_int_equal(axo_system_spawn(system, &consumer, &recipe.to), AXO_OK);
    for (recipe.index = 0; recipe.index < it->senders; recipe.index++)
        assert_int_equal(axo_system_spawn(system, &sender, &refs[recipe.index]), AXO_OK);
    for (uint32_t i = 0; i < it->senders; i++)
        assert_int_equal(axo_system_send(system, refs[i], CROWD_GO, NULL, 0), AXO_OK);
    while (axo_system_stats(system, &stats) == AXO_OK && stats.actors > 4) /* guardians, consumer */
        sched_yield();
    assert_int_equal(axo_system_poison(system, recipe.to), AXO_OK);
    while (axo_system_stats(system, &stats) == AXO_OK && stats.actors > 3)
        sched_yield();
    assert_int_equal(axo_system_stop(system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_stats(system, &stats), AXO_OK);
    assert_int_equal(stats.failures, 0);
    assert_int_equal(stats.sent, stats.handled + stats.dead + stats.dropped);
    assert_int_equal(it->wrong, 0);
    uint64_t all = (uint64_t)it->senders * it->each;
    switch (it->mailbox.overflow) {
    case AXO_OVERFLOW_DROP_NEW:
    case AXO_OVERFLOW_DROP_OLD:
        assert_int_equal(it->items + stats.dead, all);
        break;
    case AXO_OVERFLOW_REFUSE:
    case AXO_OVERFLOW_PARK:
        assert_int_equal(stats.dead, 0);
        if (it->tries_again || it->mailbox.overflow == AXO_OVERFLOW_PARK)
            assert_int_equal(it->items, all);
        break;
    }
    if (it->bytes_max != 0 && it->bytes > it->bytes_max)
        fail_msg("%" PRIu64 " bytes were held", it->bytes);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
}

static uint32_t crowd_priority(const axo_message *message, void *user)
{
    (void)user; /* by sender, so that each one's messages keep their order */
    return message->tag == CROWD_ITEM ? AXO_PAYLOAD(message, crowd_item)->sender : 0;
}

/* 10 000 messages of four senders, each exactly once and in order. */
static void DI_06_many(void **state, axo_mailbox_kind kind, axo_overflow overflow)
{
    bool priority = kind != AXO_MAILBOX_FIFO;
    crowd it = {.mailbox = AXO_MAILBOX(.kind = kind, .overflow = overflow, .messages_max = 10,
                                       .priority = priority ? crowd_priority : NULL),
                .senders = 4, .each = 2500, .tries_again = overflow == AXO_OVERFLOW_REFUSE};
    crowd_run(state, &it);
}

static void DI_06_many_refused(void **state)
{
    DI_06_many(state, AXO_MAILBOX_FIFO, AXO_OVERFLOW_REFUSE);
}

static void DI_06_many_parked(void **state)
{
    DI_06_many(state, AXO_MAILBOX_FIFO, AXO_OVERFLOW_PARK);
}

static void DI_06_many_parked_control(void **state)
{
    DI_06_many(state, AXO_MAILBOX_CONTROL, AXO_OVERFLOW_PARK);
}

static void DI_06_many_parked_priority(void **state)
{
    DI_06_many(state, AXO_MAILBOX_PRIORITY, AXO_OVERFLOW_PARK);
}

static void DI_06_many_dropped(void **state)
{
    DI_06_many(state, AXO_MAILBOX_FIFO, AXO_OVERFLOW_DROP_NEW);
}

/* 16 fast senders and one slow consumer: 16 MB pass, no policy lets more than a few be held. */
static void DI_06_flat(void **state, axo_overflow overflow, bool by_bytes)
{
    crowd it = {.mailbox = AXO_MAILBOX(.overflow = overflow), .senders = CROWD_MAX,
                .each = slower_share(5000 / CROWD_SLOWER, 250), .spin = 300,
                .bytes_max = UINT64_C(3) << 20};
    if (by_bytes)
        it.mailbox.bytes_max = 64 << 10;
    else
        it.mailbox.messages_max = 256;
    axo_options small = AXO_OPTIONS(.workers = (uint32_t)(uintptr_t)*state);
    axo_system *system;
    axo_stats stats = AXO_STATS(.sent = 0);
    assert_int_equal(axo_system_start(&small, &system), AXO_OK); /* what an idle one holds */
    assert_int_equal(axo_system_stats(system, &stats), AXO_OK);
    it.bytes_max += stats.memory_bytes;
    assert_int_equal(axo_system_stop(system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
    crowd_run(state, &it);
}

static void DI_06_flat_refused(void **state)
{
    DI_06_flat(state, AXO_OVERFLOW_REFUSE, false);
}

static void DI_06_flat_parked(void **state)
{
    DI_06_flat(state, AXO_OVERFLOW_PARK, false);
}

static void DI_06_flat_parked_bytes(void **state)
{
    DI_06_flat(state, AXO_OVERFLOW_PARK, true);
}

static void DI_06_flat_drop_new(void **state)
{
    DI_06_flat(state, AXO_OVERFLOW_DROP_NEW, false);
}

static void DI_06_flat_drop_old(void **state)
{
    DI_06_flat(state, AXO_OVERFLOW_DROP_OLD, true);
}

/* ---- DI-07 ----------------------------------------------------------------------------------- */

typedef struct pair {
    uint64_t left;
} pair;

static axo_status pair_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    pair *it = *(pair **)state;
    if (it->left == 0)
        return axo_system_shutdown(axo_system_of(ctx));
    it->left--; /* one of the two at a time */
    axo_ref to = *AXO_PAYLOAD(message, axo_ref);
    axo_ref self = axo_self(ctx);
    return axo_send(ctx, to, CROWD_GO, &self, sizeof self);
}

static const axo_class pair_class =
    AXO_CLASS(.state_size = sizeof(pair *), .construct = crowd_consumer_construct,
              .receive = pair_receive);

static void pair_run(void **state, const axo_mailbox *mailbox, uint64_t messages)
{
    axo_system *system;
    pair it = {.left = messages};
    axo_props props = AXO_PROPS(.cls = &pair_class, .args = &it, .mailbox = mailbox);
    axo_ref refs[2];
    crowd_system(state, (axo_options)AXO_OPTIONS(.quantum = 1), &system);
    for (int i = 0; i < 2; i++)
        assert_int_equal(axo_system_spawn(system, &props, &refs[i]), AXO_OK);
    assert_int_equal(axo_system_send(system, refs[0], CROWD_GO, &refs[1], sizeof refs[1]), AXO_OK);
    assert_int_equal(axo_system_wait(system, -1, NULL), AXO_OK); /* or the time limit of the test */
    assert_int_equal(it.left, 0);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
}

static void DI_07(void **state)
{
    pair_run(state, NULL, slower_share(2000000 / CROWD_SLOWER, 20000));
}

static void DI_07_bounded(void **state)
{
    static const axo_mailbox one =
        AXO_MAILBOX(.overflow = AXO_OVERFLOW_PARK, .messages_max = 1);
    pair_run(state, &one, slower_share(400000 / CROWD_SLOWER, 20000));
}

static const struct CMUnitTest tests[] = {
    KIT_TEST("DI-06 many refused", DI_06_many_refused),
    KIT_TEST("DI-06 many parked", DI_06_many_parked),
    KIT_TEST("DI-06 many parked, control", DI_06_many_parked_control),
    KIT_TEST("DI-06 many parked, priority", DI_06_many_parked_priority),
    KIT_TEST("DI-06 many dropped", DI_06_many_dropped),
    KIT_TEST("DI-06 flat refused", DI_06_flat_refused),
    KIT_TEST("DI-06 flat parked", DI_06_flat_parked),
    KIT_TEST("DI-06 flat parked by bytes", DI_06_flat_parked_bytes),
    KIT_TEST("DI-06 flat drop new", DI_06_flat_drop_new),
    KIT_TEST("DI-06 flat drop old", DI_06_flat_drop_old),
    KIT_TEST("DI-07", DI_07),
    KIT_TEST("DI-07 bounded", DI_07_bounded),
};

TEST_MAIN(tests)
