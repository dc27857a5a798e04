/* turn_test.c - how long a turn is: longer for who is behind, short for who sends to one. */
#include <stdbool.h>

#include <axo/axo.h>

#include "base/config.h"
#include "unit/unit.h"
#include "support/limits.h"

typedef struct turn_peer {
    uint32_t handled;
    axo_ref to;
    uint32_t sends; /* for each message */
} turn_peer;

static axo_status turn_construct(axo_ctx *ctx, void *state, const void *args)
{
    memcpy(state, args, sizeof(turn_peer *));
    return AXO_OK;
}

static axo_status turn_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    turn_peer *me = *(turn_peer **)state;
    me->handled++;
    for (uint32_t i = 0; i < me->sends; i++)
        assert_int_equal(axo_send(ctx, me->to, 1, NULL, 0), AXO_OK);
    return AXO_OK;
}

static axo_system *turn_start(uint32_t quantum)
{
    axo_options options =
        AXO_OPTIONS(.manual = 1, .quantum = quantum, .no_quantum_us = 1);
    axo_system *system = NULL;
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    return system;
}

static axo_ref turn_spawn(axo_system *system, turn_peer *peer)
{
    static const axo_class cls = AXO_CLASS(.state_size = sizeof(turn_peer *),
                                           .construct = turn_construct,
                                           .receive = turn_receive);
    axo_props props = AXO_PROPS(.cls = &cls, .args = &peer, .args_size = sizeof(turn_peer *));
    axo_ref ref;
    assert_int_equal(axo_system_spawn(system, &props, &ref), AXO_OK);
    assert_int_equal(axo_run_host(system, -1, NULL), AXO_OK);
    return ref;
}

static void turn_send(axo_system *system, axo_ref to, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(axo_system_send(system, to, 1, NULL, 0), AXO_OK);
}

/* How many it handles in a turn. */
static uint32_t turn_one(axo_system *system, const turn_peer *peer)
{
    uint32_t before = peer->handled;
    uint64_t turns = 0;
    assert_int_equal(axo_step_host(system, 1, &turns), AXO_OK);
    assert_int_equal(turns, 1);
    return peer->handled - before;
}

static void turn_end(axo_system *system)
{
    assert_int_equal(axo_run_host(system, -1, NULL), AXO_OK);
    assert_int_equal(axo_system_stop(system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
}

/* A step of putting them in order counts as a message. */
static uint32_t steps(uint32_t messages)
{
    return (messages + AXO__TURN_STEP - 1) / AXO__TURN_STEP;
}

static void who_is_behind_has_longer_turns(void **state)
{
    enum { MANY = 3 << (AXO__BACKLOG_TURNS_MAX + 6) };
    skip_with_tiny_limits();
    axo_system *system = turn_start(0);
    turn_peer peer = {.handled = 0};
    axo_ref ref = turn_spawn(system, &peer);
    turn_send(system, ref, MANY);
    uint32_t expected = AXO__QUANTUM;
    uint32_t doubled = 0;
    uint32_t spent = steps(MANY) - 1;
    while (peer.handled < MANY) {
        uint32_t handled = turn_one(system, &peer);
        uint32_t order = spent < expected ? spent : expected;
        spent -= order;
        if (peer.handled < MANY)
            assert_int_equal(handled, expected - order);
        if (doubled < AXO__BACKLOG_TURNS_MAX) {
            doubled++;
            expected *= 2;
        }
    }
    assert_int_equal(doubled, AXO__BACKLOG_TURNS_MAX);
    turn_send(system, ref, 2 * AXO__QUANTUM); /* it had caught up */
    assert_int_equal(turn_one(system, &peer), AXO__QUANTUM);
    turn_end(system);
}

static void a_quantum_that_is_given_is_kept(void **state)
{
    axo_system *system = turn_start(3);
    turn_peer peer = {.handled = 0};
    axo_ref ref = turn_spawn(system, &peer);
    turn_send(system, ref, 30);
    uint32_t before = 0;
    while (peer.handled < 30) {
        (void)turn_one(system, &peer);
        assert_in_range(peer.handled, before, before + 3);
        before = peer.handled;
    }
    turn_end(system);
}

/* Its turn ends with the message under which it sent to one that had left messages. */
static void who_sends_to_one_behind_yields(void **state)
{
    enum { MANY = 3 << (AXO__BACKLOG_TURNS_MAX + 6) };
    axo_system *system = turn_start(0);
    turn_peer slow = {.handled = 0};
    turn_peer sender = {.handled = 0, .sends = 1};
    sender.to = turn_spawn(system, &slow);
    axo_ref from = turn_spawn(system, &sender);
    turn_send(system, sender.to, MANY);
    assert_int_equal(axo_step_host(system, 1, NULL), AXO_OK);
    turn_send(system, from, 3);
    for (uint32_t i = 1; i <= 2; i++) {
        while (sender.handled < i)
            assert_int_equal(axo_step_host(system, 1, NULL), AXO_OK);
        assert_true(slow.handled < MANY); /* it is behind */
        assert_int_equal(sender.handled, i);
    }
    turn_end(system);
    assert_int_equal(sender.handled, 3);
    assert_int_equal(slow.handled, MANY + 3);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(who_is_behind_has_longer_turns),
    cmocka_unit_test(a_quantum_that_is_given_is_kept),
    cmocka_unit_test(who_sends_to_one_behind_yields),
};
TEST_MAIN(tests)
