/* di_limit_test.c - how long a sender is parked (DI-06, the push timeout), on a clock that the test
 * moves. The receiver is one that waits for its delayed restart, so that it takes nothing. */
#include <stdlib.h>
#include <string.h>

#include <axo/axo.h>

#include "support/cmocka.h"

#define MS INT64_C(1000000)
#define LIMIT (10 * MS)
#define DELAY (30 * MS)

enum { ITEM = 1, SEND, FAIL, SEND_FAIL, ITEMS_MAX = 64 };

typedef struct letter {
    uint32_t value;
    axo_ref to;
    axo_dead_reason reason;
    int64_t at;
} letter;

typedef struct limit_world {
    axo_testkit *kit;
    axo_system *system;
    axo_ref receiver;
    axo_ref sender;
    uint32_t letters;
    letter letter[ITEMS_MAX];
    uint32_t items;
    uint32_t item[ITEMS_MAX];
    uint32_t starts; /* of the sender */
    uint32_t takes;  /* items that the sender took */
    int64_t took_at;
    uint32_t refused;
} limit_world;

/* SEND, SEND_FAIL: `count` items from `first` on. */
typedef struct burst {
    axo_ref to;
    uint32_t first;
    uint32_t count;
} burst;

static limit_world *limit_of(const void *args)
{
    limit_world *w;
    memcpy((void *)&w, args, sizeof(limit_world *));
    return w;
}

static void limit_dead(void *user, const axo_dead_letter *dead)
{
    limit_world *w = user;
    assert_true(w->letters < ITEMS_MAX);
    if (dead->message->tag != ITEM)
        return;
    w->letter[w->letters++] = (letter){.value = *AXO_PAYLOAD(dead->message, uint32_t),
                                       .to = dead->recipient,
                                       .reason = dead->reason,
                                       .at = axo_testkit_now(w->kit)};
}

/* ---- the receiver: keeps items, fails when told ---- */

static axo_status receiver_construct(axo_ctx *ctx, void *state, const void *args)
{
    *(limit_world **)state = limit_of(args);
    return AXO_OK;
}

static axo_status receiver_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    limit_world *w = *(limit_world **)state;
    if (message->tag == FAIL)
        return axo_fail(ctx, 1, "told to");
    assert_true(w->items < ITEMS_MAX);
    w->item[w->items++] = *AXO_PAYLOAD(message, uint32_t);
    return AXO_OK;
}

/* ---- the sender ---- */

static axo_status sender_construct(axo_ctx *ctx, void *state, const void *args)
{
    *(limit_world **)state = limit_of(args);
    limit_of(args)->starts++;
    return AXO_OK;
}

static axo_status sender_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    limit_world *w = *(limit_world **)state;
    if (message->tag == ITEM) {
        w->takes++;
        w->took_at = axo_now(ctx);
        return AXO_OK;
    }
    const burst *it = AXO_PAYLOAD(message, burst);
    for (uint32_t i = 0; i < it->count; i++) {
        uint32_t value = it->first + i;
        axo_status status = axo_send(ctx, it->to, ITEM, &value, sizeof value);
        w->refused += status == AXO_EFULL;
        assert_true(status == AXO_OK || status == AXO_EFULL);
    }
    return message->tag == SEND_FAIL ? axo_fail(ctx, 2, "told to") : AXO_OK;
}

/* ---- their parent ---- */

static axo_status parent_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    return AXO_OK;
}

static axo_status parent_construct(axo_ctx *ctx, void *state, const void *args)
{
    static const axo_class receiver =
        AXO_CLASS(.name = "receiver", .state_size = sizeof(limit_world *),
                  .construct = receiver_construct, .receive = receiver_receive);
    const axo_mailbox mailbox =
        AXO_MAILBOX(.overflow = AXO_OVERFLOW_PARK, .messages_max = 1, .park_ns = LIMIT);
    axo_props props = AXO_PROPS(.cls = &receiver, .args = args, .args_size = sizeof(limit_world *),
                                .mailbox = &mailbox);
    return axo_spawn(ctx, &props, &limit_of(args)->receiver);
}

static const axo_class parent_class =
    AXO_CLASS(.name = "parent", .construct = parent_construct, .receive = parent_receive);
static const axo_class sender_class =
    AXO_CLASS(.name = "sender", .state_size = sizeof(limit_world *),
              .construct = sender_construct, .receive = sender_receive);

static axo_ref limit_sender(limit_world *w)
{
    axo_ref ref;
    axo_props props = AXO_PROPS(.cls = &sender_class, .args = &w, .args_size = sizeof w);
    assert_int_equal(axo_system_spawn(w->system, &props, &ref), AXO_OK);
    return ref;
}

/* The receiver has failed, and is restarted DELAY from now. */
static limit_world *limit_open(void)
{
    static const axo_backoff backoff = AXO_BACKOFF(.min_ns = DELAY, .max_ns = DELAY);
    static const axo_strategy strategy = AXO_STRATEGY(.backoff = &backoff);
    limit_world *w = calloc(1, sizeof *w);
    axo_ref parent;
    axo_options options =
        AXO_OPTIONS(.on_dead_letter = limit_dead, .dead_letter_user = w, .no_dead_letter_log = 1);
    axo_props props = AXO_PROPS(.cls = &parent_class, .args = &w, .args_size = sizeof w,
                                .strategy = &strategy);
    assert_non_null(w);
    assert_int_equal(axo_testkit_start(&options, &w->kit), AXO_OK);
    w->system = axo_testkit_system(w->kit);
    assert_int_equal(axo_system_spawn(w->system, &props, &parent), AXO_OK);
    w->sender = limit_sender(w);
    (void)axo_testkit_run(w->kit);
    assert_int_equal(axo_system_send(w->system, w->receiver, FAIL, NULL, 0), AXO_OK);
    (void)axo_testkit_run(w->kit);
    return w;
}

static void limit_close(limit_world *w)
{
    assert_int_equal(axo_testkit_stop(w->kit), AXO_OK);
    free(w);
}

static void limit_burst(limit_world *w, axo_ref from, uint32_t tag, axo_ref to, uint32_t first,
                        uint32_t count)
{
    burst it = {.to = to, .first = first, .count = count};
    assert_int_equal(axo_system_send(w->system, from, tag, &it, sizeof it), AXO_OK);
}

static void limit_tell(limit_world *w, axo_ref to)
{
    assert_int_equal(axo_system_send(w->system, to, ITEM, &(uint32_t){0}, sizeof(uint32_t)),
                     AXO_OK);
}

static bool limit_parked(limit_world *w, axo_ref who)
{
    axo_actor_info info = AXO_ACTOR_INFO(.queued = 0);
    assert_int_equal(axo_system_inspect(w->system, who, axo_ref_none(), &info), AXO_OK);
    return info.doing == AXO_DOING_PARKED;
}

/* ---- tests ----------------------------------------------------------------------------------- */

/* What is held is dead, in order, and names the receiver; the sender goes on; a later burst has a
 * limit of its own. */
static void DI_06_limit(void **state)
{
    limit_world *w = limit_open();
    int64_t begin = axo_testkit_now(w->kit);
    limit_burst(w, w->sender, SEND, w->receiver, 1, 4);
    limit_tell(w, w->sender);
    (void)axo_testkit_advance(w->kit, LIMIT - MS);
    assert_true(limit_parked(w, w->sender));
    assert_int_equal(w->letters, 0);
    assert_int_equal(w->takes, 0);
    (void)axo_testkit_advance(w->kit, 2 * MS);
    assert_int_equal(w->letters, 3);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(w->letter[i].value, i + 2);
        assert_int_equal(w->letter[i].reason, AXO_DEAD_OVERFLOW);
        assert_true(axo_ref_equal(w->letter[i].to, w->receiver));
        assert_in_range(w->letter[i].at, begin + LIMIT, begin + LIMIT + MS);
    }
    assert_int_equal(w->takes, 1);
    assert_in_range(w->took_at, begin + LIMIT, begin + LIMIT + MS);
    assert_false(limit_parked(w, w->sender));
    limit_burst(w, w->sender, SEND, w->receiver, 5, 2);
    (void)axo_testkit_run(w->kit);
    assert_true(limit_parked(w, w->sender));
    (void)axo_testkit_advance(w->kit, LIMIT + MS);
    assert_int_equal(w->letters, 5);
    (void)axo_testkit_advance(w->kit, DELAY);
    assert_int_equal(w->items, 1);
    assert_int_equal(w->item[0], 1);
    limit_close(w);
}

/* Room comes in time: the limit never fires, and one that comes later has no effect on the next. */
static void DI_06_limit_in_time(void **state)
{
    limit_world *w = limit_open();
    (void)axo_testkit_advance(w->kit, DELAY - LIMIT / 2);
    limit_burst(w, w->sender, SEND, w->receiver, 1, 4);
    limit_tell(w, w->sender);
    (void)axo_testkit_advance(w->kit, LIMIT / 2 + MS); /* it is restarted */
    assert_int_equal(w->items, 4);
    assert_int_equal(w->takes, 1);
    assert_int_equal(axo_system_send(w->system, w->receiver, FAIL, NULL, 0), AXO_OK);
    (void)axo_testkit_run(w->kit);
    limit_burst(w, w->sender, SEND, w->receiver, 5, 2);
    (void)axo_testkit_advance(w->kit, LIMIT / 2 + MS); /* past the first one's limit */
    assert_int_equal(w->letters, 0);
    assert_true(limit_parked(w, w->sender));
    (void)axo_testkit_advance(w->kit, LIMIT);
    assert_int_equal(w->letters, 1);
    limit_close(w);
}

/* The limit and the room at one moment: each message once, whichever is first. */
static void DI_06_limit_at_once(void **state)
{
    for (int64_t off = -150000; off <= 150000; off += 10000) {
        limit_world *w = limit_open();
        (void)axo_testkit_advance(w->kit, DELAY - LIMIT + off);
        limit_burst(w, w->sender, SEND, w->receiver, 1, 5);
        limit_tell(w, w->sender);
        (void)axo_testkit_advance(w->kit, 2 * DELAY);
        assert_int_equal(w->items + w->letters, 5);
        for (uint32_t i = 0; i < w->items; i++)
            assert_int_equal(w->item[i], i + 1);
        for (uint32_t i = 0; i < w->letters; i++)
            assert_int_equal(w->letter[i].value, w->items + i + 1);
        assert_int_equal(w->takes, 1);
        limit_close(w);
    }
}

/* One gives up: what comes behind him in the line is not older, and he has his own limit. */
static void DI_06_limit_of_each(void **state)
{
    limit_world *w = limit_open();
    axo_ref other = limit_sender(w);
    limit_burst(w, w->sender, SEND, w->receiver, 1, 3);
    (void)axo_testkit_advance(w->kit, LIMIT / 2);
    limit_burst(w, other, SEND, w->receiver, 11, 2);
    (void)axo_testkit_advance(w->kit, LIMIT / 2 + MS);
    assert_int_equal(w->letters, 2);
    assert_false(limit_parked(w, w->sender));
    assert_true(limit_parked(w, other));
    (void)axo_testkit_advance(w->kit, LIMIT / 2);
    assert_int_equal(w->letters, 4);
    assert_false(limit_parked(w, other));
    (void)axo_testkit_advance(w->kit, DELAY);
    assert_int_equal(w->items, 1);
    limit_close(w);
}

/* The sender fails and is restarted, again and again: parked until the limit, and no more held. */
static void DI_06_limit_restart(void **state)
{
    limit_world *w = limit_open();
    for (uint32_t i = 0; i < 5; i++)
        limit_burst(w, w->sender, SEND_FAIL, w->receiver, 1 + 4 * i, 4);
    (void)axo_testkit_run(w->kit);
    assert_int_equal(w->starts, 2);
    assert_true(limit_parked(w, w->sender));
    (void)axo_testkit_advance(w->kit, LIMIT + MS);
    assert_int_equal(w->letters, 3);
    assert_int_equal(w->starts, 3);
    assert_true(limit_parked(w, w->sender));
    (void)axo_testkit_advance(w->kit, LIMIT + MS);
    assert_int_equal(w->letters, 7);
    (void)axo_testkit_advance(w->kit, LIMIT); /* the receiver is back */
    assert_int_equal(w->starts, 6);
    assert_int_equal(w->items + w->letters, 20);
    assert_int_equal(w->refused, 0);
    limit_close(w);
}

/* The sender ends: what is held is in, past the bound, and no limit comes after it. */
static void DI_06_limit_sender_ends(void **state)
{
    limit_world *w = limit_open();
    limit_burst(w, w->sender, SEND, w->receiver, 1, 4);
    (void)axo_testkit_run(w->kit);
    assert_int_equal(axo_system_stop_actor(w->system, w->sender), AXO_OK);
    (void)axo_testkit_advance(w->kit, 2 * DELAY);
    assert_int_equal(w->letters, 0);
    assert_int_equal(w->items, 4);
    limit_close(w);
}

/* The receiver ends: dead letters of its end, once. */
static void DI_06_limit_receiver_ends(void **state)
{
    limit_world *w = limit_open();
    limit_burst(w, w->sender, SEND, w->receiver, 1, 4);
    limit_tell(w, w->sender);
    (void)axo_testkit_run(w->kit);
    assert_int_equal(axo_system_stop_actor(w->system, w->receiver), AXO_OK);
    (void)axo_testkit_run(w->kit);
    assert_int_equal(w->letters, 4);
    assert_int_equal(w->takes, 1);
    (void)axo_testkit_advance(w->kit, 2 * DELAY);
    assert_int_equal(w->letters, 4);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(w->letter[i].reason, AXO_DEAD_STOPPED);
    limit_close(w);
}

/* The end of the system while many are parked, before and after the limit. */
static void DI_06_limit_end(void **state)
{
    for (int64_t at = 0; at <= 2 * LIMIT; at += LIMIT / 2) {
        limit_world *w = limit_open();
        for (uint32_t i = 0; i < 8; i++)
            limit_burst(w, limit_sender(w), SEND, w->receiver, 1 + 4 * i, 4);
        (void)axo_testkit_advance(w->kit, at);
        limit_close(w);
    }
}

/* An allocator without memory: neither the parking's end nor the limit needs any. */
static void DI_06_limit_without_memory(void **state)
{
    limit_world *w = limit_open();
    limit_burst(w, w->sender, SEND, w->receiver, 1, 4);
    limit_tell(w, w->sender);
    (void)axo_testkit_run(w->kit);
    axo_testkit_fail_memory(w->kit, 0, UINT64_MAX);
    (void)axo_testkit_advance(w->kit, LIMIT + MS);
    assert_int_equal(w->letters, 3);
    assert_int_equal(w->takes, 1);
    axo_testkit_fail_memory(w->kit, 0, 0);
    limit_close(w);
}

/* A limit is of parking, and not below zero. */
static void DI_06_limit_misuse(void **state)
{
    limit_world *w = limit_open();
    static const axo_mailbox bad[] = {
        AXO_MAILBOX(.overflow = AXO_OVERFLOW_PARK, .messages_max = 1, .park_ns = -1),
        AXO_MAILBOX(.overflow = AXO_OVERFLOW_REFUSE, .messages_max = 1, .park_ns = 1),
        AXO_MAILBOX(.overflow = AXO_OVERFLOW_DROP_NEW, .messages_max = 1, .park_ns = 1),
        AXO_MAILBOX(.park_ns = 1),
    };
    for (uint32_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        axo_ref ref = {.bits = 1};
        axo_props props = AXO_PROPS(.cls = &sender_class, .args = &w, .args_size = sizeof w,
                                    .mailbox = &bad[i]);
        assert_int_equal(axo_system_spawn(w->system, &props, &ref), AXO_EINVAL);
        assert_true(axo_ref_is_none(ref));
    }
    limit_close(w);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(DI_06_limit),
    cmocka_unit_test(DI_06_limit_in_time),
    cmocka_unit_test(DI_06_limit_at_once),
    cmocka_unit_test(DI_06_limit_of_each),
    cmocka_unit_test(DI_06_limit_restart),
    cmocka_unit_test(DI_06_limit_sender_ends),
    cmocka_unit_test(DI_06_limit_receiver_ends),
    cmocka_unit_test(DI_06_limit_end),
    cmocka_unit_test(DI_06_limit_without_memory),
    cmocka_unit_test(DI_06_limit_misuse),
};
TEST_MAIN(tests)
