/* parked_test.c - senders parked at narrow mailboxes with limits so short that they pass while room
 * is made, while senders fail, are restarted and end, and while receivers do: every message is
 * handled once or dead once, in order, and nobody stays parked. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <axo/axo.h>

#include "base/random.h"
#include "support/cmocka.h"

enum { GO = 1, ITEM, DONE, SENDERS = 12, RECEIVERS = 4, ROUNDS = 1500, DEADLINE_S = 120 };

typedef struct item {
    uint32_t sender;
    uint32_t number;
} item;

typedef struct stress {
    axo_system *system;
    uint64_t seed;
    int64_t park_ns;
    bool ends;                       /* senders and receivers end, too */
    axo_ref receivers[RECEIVERS];
    _Atomic uint32_t rounds[SENDERS];
    uint32_t numbers[SENDERS];       /* its sender's runner */
    axo__random chance[SENDERS];
    uint32_t last[RECEIVERS][SENDERS]; /* its receiver's runner */
    _Atomic uint32_t done;
    _Atomic uint64_t owned;
    _Atomic uint64_t freed;
    _Atomic uint64_t late;           /* dead letters for want of room */
} stress;

typedef struct part {
    stress *s;
    uint32_t index;
} part;

static axo_status part_construct(axo_ctx *ctx, void *state, const void *args)
{
    memcpy(state, args, sizeof(part));
    return AXO_OK;
}

static void stress_free(void *payload, void *user)
{
    atomic_fetch_add(&((stress *)user)->freed, 1);
    free(payload);
}

static void stress_dead(void *user, const axo_dead_letter *letter)
{
    stress *s = user;
    if (letter->reason == AXO_DEAD_OVERFLOW)
        atomic_fetch_add(&s->late, 1);
}

/* ---- senders ---- */

static void sender_over(stress *s)
{
    if (atomic_fetch_add(&s->done, 1) + 1 == SENDERS)
        assert_int_equal(axo_system_shutdown(s->system), AXO_OK);
}

static axo_status sender_burst(axo_ctx *ctx, const part *me)
{
    stress *s = me->s;
    axo__random *chance = &s->chance[me->index];
    axo_ref to = s->receivers[axo__random_below(chance, RECEIVERS)];
    for (uint32_t i = 1 + axo__random_below(chance, 6); i > 0; i--) {
        item *it = malloc(sizeof *it);
        *it = (item){.sender = me->index, .number = ++s->numbers[me->index]};
        axo_status status = axo_send_owned(ctx, to, ITEM, it, sizeof *it, stress_free, s);
        assert_true(status == AXO_OK || status == AXO_EGONE);
        atomic_fetch_add(&s->owned, 1);
    }
    return AXO_OK;
}

static axo_status sender_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    const part *me = state;
    stress *s = me->s;
    axo__random *chance = &s->chance[me->index];
    if (atomic_fetch_add(&s->rounds[me->index], 1) + 1 >= ROUNDS)
        return axo_stop_self(ctx);
    (void)axo_send(ctx, axo_self(ctx), GO, NULL, 0);
    for (uint32_t i = 1 + axo__random_below(chance, 2); i > 0; i--)
        (void)sender_burst(ctx, me);
    if (s->ends && axo__random_below(chance, 100) == 0)
        return axo_stop_self(ctx);
    switch (axo__random_below(chance, 12)) {
    case 0:
        axo_throw(ctx, 1, "a parked sender");
    case 1:
        return axo_fail(ctx, 2, "a parked sender");
    default:
        return AXO_OK;
    }
}

/* The last words, then it is over. */
static axo_status sender_post_stop(axo_ctx *ctx, void *state)
{
    (void)sender_burst(ctx, state);
    sender_over(((part *)state)->s);
    return AXO_OK;
}

/* A restart is no end. */
static axo_status sender_pre_restart(axo_ctx *ctx, void *state, const axo_failure *failure,
                                     const axo_message *message)
{
    (void)ctx, (void)state, (void)failure, (void)message;
    return AXO_OK;
}

/* ---- receivers ---- */

static axo_status receiver_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    const part *me = state;
    const item *it = AXO_PAYLOAD(message, item);
    uint32_t *last = &me->s->last[me->index][it->sender];
    assert_true(it->number > *last);
    *last = it->number;
    if (it->number % 61 == 0)
        return axo_fail(ctx, 3, "a receiver");
    if (me->s->ends && me->index == 0 && it->number > ROUNDS * 2)
        return axo_stop_self(ctx);
    return AXO_OK;
}

/* ---- a run ---- */

static void stress_spawn(stress *s)
{
    static const axo_class receiver =
        AXO_CLASS(.name = "receiver", .state_size = sizeof(part), .construct = part_construct,
                  .receive = receiver_receive);
    static const axo_class sender =
        AXO_CLASS(.name = "sender", .state_size = sizeof(part), .construct = part_construct,
                  .receive = sender_receive, .post_stop = sender_post_stop,
                  .pre_restart = sender_pre_restart);
    axo_ref senders[SENDERS];
    for (uint32_t i = 0; i < RECEIVERS; i++) {
        const axo_mailbox mailbox = AXO_MAILBOX(.overflow = AXO_OVERFLOW_PARK,
                                                .messages_max = 1 + i, .park_ns = s->park_ns);
        part args = {.s = s, .index = i};
        axo_props props = AXO_PROPS(.cls = &receiver, .args = &args, .args_size = sizeof args,
                                    .mailbox = &mailbox);
        assert_int_equal(axo_system_spawn(s->system, &props, &s->receivers[i]), AXO_OK);
    }
    for (uint32_t i = 0; i < SENDERS; i++) {
        part args = {.s = s, .index = i};
        axo_props props = AXO_PROPS(.cls = &sender, .args = &args, .args_size = sizeof args);
        axo__random_init(&s->chance[i], s->seed, i);
        assert_int_equal(axo_system_spawn(s->system, &props, &senders[i]), AXO_OK);
    }
    for (uint32_t i = 0; i < SENDERS; i++)
        assert_int_equal(axo_system_send(s->system, senders[i], GO, NULL, 0), AXO_OK);
}

static void stress_run(uint32_t workers, int64_t park_ns, bool ends)
{
    stress *s = calloc(1, sizeof *s);
    axo_stats stats = AXO_STATS(0);
    assert_non_null(s);
    axo_options options = AXO_OPTIONS(.workers = workers, .seed = 7 + (uint64_t)park_ns,
                                      .on_dead_letter = stress_dead, .dead_letter_user = s,
                                      .no_dead_letter_log = 1, .quantum = ends ? 1 : 0);
    s->seed = options.seed;
    s->park_ns = park_ns;
    s->ends = ends;
    alarm(DEADLINE_S); /* one that stays parked is never over */
    assert_int_equal(axo_system_start(&options, &s->system), AXO_OK);
    stress_spawn(s);
    assert_int_equal(axo_system_wait(s->system, -1, NULL), AXO_OK);
    assert_int_equal(axo_system_stop(s->system, -1, NULL, 0, NULL), AXO_OK);
    alarm(0);
    assert_int_equal(axo_system_stats(s->system, &stats), AXO_OK);
    assert_int_equal(stats.sent, stats.handled + stats.dead + stats.dropped);
    assert_int_equal(axo_system_destroy(s->system), AXO_OK);
    assert_int_equal(atomic_load(&s->owned), atomic_load(&s->freed));
    if (park_ns == 1)
        assert_true(atomic_load(&s->late) > 0);
    free(s);
}

static void stress_all(int64_t park_ns)
{
    static const uint32_t workers[] = {1, 2, 4};
    for (uint32_t i = 0; i < 3; i++) {
        stress_run(workers[i], park_ns, false);
        stress_run(workers[i], park_ns, true);
    }
}

static void limit_passed_at_once(void **state)
{
    stress_all(1);
}

static void limit_of_ticks(void **state)
{
    stress_all(70000);
    stress_all(200000);
}

static void limit_far(void **state)
{
    stress_all(INT64_MAX);
}

static void limit_none(void **state)
{
    stress_all(0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(limit_passed_at_once),
    cmocka_unit_test(limit_of_ticks),
    cmocka_unit_test(limit_far),
    cmocka_unit_test(limit_none),
};
TEST_MAIN(tests)
