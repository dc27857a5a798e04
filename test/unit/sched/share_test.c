/* share_test.c - who runs next on one worker: what takes long goes behind, what waits outside is
 * not left waiting. The operating system's clock is the test's; the actors move it. */
#include "unit/unit.h"

#include <axo/axo.h>

#include "base/config.h"
#include "support/limits.h"

enum { GO = 1, SHARES = 8, LIGHTS = 4, MANY = 3 * AXO__RUNQ_SIZE };
#define US INT64_C(1000)

typedef struct share {
    axo_system *system;
    int64_t now;
    int64_t long_ns;  /* a message of a `burner` */
    int64_t short_ns; /* one of a `player` */
    int64_t burned;   /* of all burners together */
    int64_t played;
    uint64_t burns;
    uint64_t plays;
    uint64_t calls;   /* of the guest */
    uint64_t call_at; /* play with which the first one is made; 0: none is */
    uint64_t called;  /* plays when it was made */
    uint64_t waited;  /* plays, or burns, until it was handled */
    bool each;        /* the guest is called with each play */
    bool over;
    axo_ref guest;
    axo_ref burners[SHARES];
    axo_ref players[2];
    axo_ref lights[LIGHTS];
    uint32_t lit;
    uint32_t falls;   /* failures of the faller ... */
    uint32_t fallen;  /* ... when the first light came ... */
    uint32_t stands;  /* ... and how many of its messages it had handled by then */
    uint32_t stood;   /* messages that it has handled */
    bool falls_always;
    uint32_t turns[2 * MANY]; /* of burners, by slot; they take one a message */
} share;

static const share *share_open_one;

int64_t __wrap_axo__os_now(void);
int64_t __wrap_axo__os_now(void)
{
    return share_open_one != NULL ? share_open_one->now : 1;
}

static axo_status share_construct(axo_ctx *ctx, void *state, const void *args)
{
    memcpy(state, args, sizeof(share *));
    return AXO_OK;
}

/* One long message after another, sent to itself. */
static axo_status burner_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    share *it = *(share **)state;
    it->now += it->long_ns;
    it->burned += it->long_ns;
    it->burns++;
    it->turns[(axo_self(ctx).bits & 0xffffff) % (2 * MANY)]++;
    return it->over ? AXO_OK : axo_send(ctx, axo_self(ctx), message->tag, NULL, 0);
}

/* To itself, or to and fro with the other one; calls the guest from outside. */
static axo_status player_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    share *it = *(share **)state;
    it->now += it->short_ns;
    it->played += it->short_ns;
    if (++it->plays == it->call_at || it->each) {
        it->called = it->plays;
        assert_int_equal(axo_system_send(it->system, it->guest, GO, NULL, 0), AXO_OK);
    }
    if (it->over)
        return AXO_OK;
    bool first = axo_ref_equal(axo_self(ctx), it->players[0]);
    axo_ref other = it->players[first && !axo_ref_equal(it->players[1], axo_ref_none())];
    return axo_send(ctx, other, message->tag, NULL, 0);
}

static axo_status guest_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    share *it = *(share **)state;
    it->calls++;
    it->waited = it->plays - it->called;
    return AXO_OK;
}

static axo_status light_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    share *it = *(share **)state;
    if (it->lit++ == 0) {
        it->fallen = it->falls;
        it->stands = it->stood;
    }
    it->waited = it->burns;
    return AXO_OK;
}

/* Its first message, or each of them, takes long and then fails. */
static axo_status faller_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    share *it = *(share **)state;
    if (it->falls > 0 && !it->falls_always) {
        it->stood++;
        return AXO_OK;
    }
    it->falls++;
    it->now += it->long_ns;
    return AXO_EFAILED;
}

/* Makes all lights ready at once, and counts burns from here. */
static axo_status lamp_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    share *it = *(share **)state;
    it->burns = 0;
    for (uint32_t i = 0; i < LIGHTS; i++)
        assert_int_equal(axo_send(ctx, it->lights[i], message->tag, NULL, 0), AXO_OK);
    return AXO_OK;
}

#define SHARE_CLASS(fn)                                                                            \
    AXO_CLASS(.name = #fn, .state_size = sizeof(share *), .construct = share_construct,            \
              .receive = fn)

static const axo_class burner = SHARE_CLASS(burner_receive);
static const axo_class player = SHARE_CLASS(player_receive);
static const axo_class guest = SHARE_CLASS(guest_receive);
static const axo_class light = SHARE_CLASS(light_receive);
static const axo_class lamp = SHARE_CLASS(lamp_receive);
static const axo_class faller = SHARE_CLASS(faller_receive);

static void share_open(share *it)
{
    axo_options options = AXO_OPTIONS(.manual = 1, .quantum = 64, .quantum_us = 100);
    it->now = INT64_C(1000000000);
    share_open_one = it;
    assert_int_equal(axo_system_start(&options, &it->system), AXO_OK);
}

static axo_ref share_add(share *it, const axo_class *cls)
{
    axo_ref ref;
    axo_props props = AXO_PROPS(.cls = cls, .args = &it, .args_size = sizeof it);
    assert_int_equal(axo_system_spawn(it->system, &props, &ref), AXO_OK);
    assert_int_equal(axo_run_host(it->system, 0, NULL), AXO_OK);
    return ref;
}

static void share_send(share *it, axo_ref to)
{
    assert_int_equal(axo_system_send(it->system, to, GO, NULL, 0), AXO_OK);
}

static void share_step(share *it, uint64_t turns)
{
    assert_int_equal(axo_step_host(it->system, turns, NULL), AXO_OK);
}

static void share_close(share *it)
{
    it->over = true;
    it->each = false;
    assert_int_equal(axo_system_shutdown(it->system), AXO_OK);
    assert_int_equal(axo_run_host(it->system, -1, NULL), AXO_OK);
    assert_int_equal(axo_system_wait(it->system, INT64_C(20000000000), NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(it->system), AXO_OK);
    share_open_one = NULL;
}

/* ---- overrun cells ---- */

static void share_burners(share *it, int64_t long_ns)
{
    it->long_ns = long_ns;
    for (uint32_t i = 0; i < SHARES; i++)
        it->burners[i] = share_add(it, &burner);
    for (uint32_t i = 0; i < SHARES; i++)
        share_send(it, it->burners[i]);
    share_step(it, (uint64_t)8 * SHARES); /* until they are known */
}

static void light_ones_go_before_those_that_overran(void **state)
{
    share it = {0};
    skip_with_tiny_limits();
    share_open(&it);
    for (uint32_t i = 0; i < LIGHTS; i++)
        it.lights[i] = share_add(&it, &light);
    axo_ref ref = share_add(&it, &lamp);
    share_burners(&it, 60 * US);
    share_send(&it, ref);
    share_step(&it, LIGHTS + 2);
    assert_int_equal(it.lit, LIGHTS);
    assert_int_equal(it.waited, 0); /* no burn between the lamp and the last light */
    share_close(&it);
}

/* Many more of them than a worker's queue has room for: they all have their turns, and light ones
 * go before. */
static void more_overrun_ones_than_there_is_room_for(void **state)
{
    share it = {0};
    share_open(&it);
    for (uint32_t i = 0; i < LIGHTS; i++)
        it.lights[i] = share_add(&it, &light);
    axo_ref ref = share_add(&it, &lamp);
    it.long_ns = 120 * US;
    for (uint32_t i = 0; i < MANY; i++)
        share_send(&it, share_add(&it, &burner));
    share_step(&it, (uint64_t)4 * MANY);
    memset(it.turns, 0, sizeof it.turns);
    for (uint32_t i = 0; i < 6; i++) {
        it.lit = 0;
        share_send(&it, ref);
        share_step(&it, LIGHTS + 2);
        assert_int_equal(it.lit, LIGHTS);
        assert_int_equal(it.waited, 0);
        share_step(&it, MANY / 2);
    }
    uint32_t burners = 0;
    for (uint32_t i = 0; i < 2 * MANY; i++) {
        burners += it.turns[i] != 0;
        assert_true(it.turns[i] == 0 || (it.turns[i] >= 2 && it.turns[i] <= 4));
    }
    assert_int_equal(burners, MANY);
    share_close(&it);
}

/* An overrun one has its turns of the full time: no more of them than needed. */
static void a_turn_of_an_overrun_one_lasts_as_long_as_a_turn_may(void **state)
{
    share it = {0};
    skip_with_tiny_limits();
    share_open(&it);
    share_burners(&it, 30 * US);
    uint64_t before = it.burns;
    share_step(&it, SHARES);
    assert_int_equal(it.burns - before, 4 * SHARES);
    share_close(&it);
}

/* Two that answer each other without end are always ready. */
static void overrun_ones_keep_their_share(void **state)
{
    share it = {.short_ns = 10 * US};
    skip_with_tiny_limits();
    share_open(&it);
    share_burners(&it, 50 * US);
    for (uint32_t i = 0; i < 2; i++)
        it.players[i] = share_add(&it, &player);
    share_send(&it, it.players[0]);
    share_step(&it, 100);
    it.burned = it.played = 0;
    share_step(&it, 2000);
    int64_t percent = 100 * it.burned / (it.burned + it.played);
    assert_in_range(percent, 12, 25);
    share_close(&it);
}

/* Each message of those two comes with one from outside: the injector is never found empty. */
static void overrun_ones_keep_their_share_beside_a_stream_from_outside(void **state)
{
    share it = {.short_ns = 10 * US};
    skip_with_tiny_limits();
    share_open(&it);
    it.guest = share_add(&it, &guest);
    share_burners(&it, 50 * US);
    for (uint32_t i = 0; i < 2; i++)
        it.players[i] = share_add(&it, &player);
    it.each = true;
    share_send(&it, it.players[0]);
    share_step(&it, 100);
    it.burned = it.played = 0;
    it.calls = it.plays = 0;
    share_step(&it, 4000);
    int64_t percent = 100 * it.burned / (it.burned + it.played);
    assert_in_range(percent, 12, 25);
    assert_true(it.calls + 64 > it.plays); /* nor does the stream wait */
    share_close(&it);
}

/* ---- the next slot ---- */

static void the_next_slot_is_used_no_longer_than_a_turn_may_last(void **state)
{
    share it = {.short_ns = 60 * US, .call_at = 40};
    skip_with_tiny_limits();
    share_open(&it);
    it.guest = share_add(&it, &light); /* not called from outside */
    for (uint32_t i = 0; i < 2; i++)
        it.players[i] = share_add(&it, &player);
    share_burners(&it, 1 * US);
    it.over = true; /* of the burners nothing is left */
    share_step(&it, (uint64_t)4 * SHARES);
    it.over = false;
    share_send(&it, it.players[0]);
    share_step(&it, 20);
    uint64_t plays = it.plays;
    share_send(&it, it.burners[0]); /* by the injector into the ring: it sends to itself */
    uint64_t burns = it.burns;
    share_step(&it, 16);
    assert_true(it.burns > burns + 64); /* a second turn: the ring had its turn within the 16 */
    assert_true(it.plays > plays);
    it.call_at = 0;
    share_close(&it);
}

/* ---- from outside ---- */

static void share_player_and_guest(share *it)
{
    share_open(it);
    it->guest = share_add(it, &guest);
    it->players[0] = share_add(it, &player);
    it->players[1] = axo_ref_none();
    share_send(it, it->players[0]);
}

static void who_waits_outside_cuts_a_turn_short(void **state)
{
    share it = {.call_at = 64 * 8 + 20};
    share_player_and_guest(&it);
    while (it.called == 0)
        share_step(&it, 1); /* ends: it plays in each */
    assert_int_equal(it.plays, it.called);
    share_step(&it, 1);
    assert_int_equal(it.calls, 1);
    assert_int_equal(it.waited, 0); /* some forty messages were left of that turn */
    share_close(&it);
}

static void a_stream_from_outside_is_taken_in_batches(void **state)
{
    share it = {.each = true};
    skip_with_tiny_limits();
    share_player_and_guest(&it);
    share_step(&it, 100);
    it.plays = it.calls = 0;
    share_step(&it, 1000);
    assert_true(it.plays > 8 * 1000);
    assert_in_range(it.calls, it.plays - 200, it.plays + 200);
    share_close(&it);
}

/* ---- a restart ---- */

/* The faller has `messages`, and behind it the lights have one each. */
static void share_faller(share *it, uint32_t messages)
{
    for (uint32_t i = 0; i < LIGHTS; i++)
        it->lights[i] = share_add(it, &light);
    axo_ref ref = share_add(it, &faller);
    it->long_ns = 150 * US;
    for (uint32_t i = 0; i < messages; i++)
        share_send(it, ref);
    for (uint32_t i = 0; i < LIGHTS; i++)
        share_send(it, it->lights[i]);
}

/* The turn is over when its first message has failed: its time is used up. */
static void the_first_message_behind_a_restart_goes_ahead(void **state)
{
    share it = {0};
    share_open(&it);
    share_faller(&it, 3);
    share_step(&it, 3 + LIGHTS);
    assert_int_equal(it.lit, LIGHTS);
    assert_int_equal(it.falls, 1);
    assert_int_equal(it.stands, 1);
    share_close(&it);
}

/* One message a turn: who fails without end keeps nobody waiting. */
static void one_message_a_turn_goes_ahead(void **state)
{
    share it = {.falls_always = true};
    share_open(&it);
    share_faller(&it, 8);
    share_step(&it, 3 + LIGHTS);
    assert_int_equal(it.lit, LIGHTS);
    assert_int_equal(it.fallen, 2);
    share_close(&it);
}

/* The host's budget ends with the message that has used it up. */
static void none_goes_ahead_beyond_a_budget(void **state)
{
    share it = {0};
    share_open(&it);
    share_faller(&it, 3);
    assert_int_equal(axo_run_host(it.system, 100 * US, NULL), AXO_OK);
    assert_int_equal(it.falls, 1);
    assert_int_equal(it.stood, 0);
    assert_int_equal(axo_run_host(it.system, -1, NULL), AXO_OK);
    assert_int_equal(it.stood, 2);
    assert_int_equal(it.lit, LIGHTS);
    share_close(&it);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(light_ones_go_before_those_that_overran),
    cmocka_unit_test(more_overrun_ones_than_there_is_room_for),
    cmocka_unit_test(a_turn_of_an_overrun_one_lasts_as_long_as_a_turn_may),
    cmocka_unit_test(overrun_ones_keep_their_share),
    cmocka_unit_test(overrun_ones_keep_their_share_beside_a_stream_from_outside),
    cmocka_unit_test(the_next_slot_is_used_no_longer_than_a_turn_may_last),
    cmocka_unit_test(who_waits_outside_cuts_a_turn_short),
    cmocka_unit_test(a_stream_from_outside_is_taken_in_batches),
    cmocka_unit_test(the_first_message_behind_a_restart_goes_ahead),
    cmocka_unit_test(one_message_a_turn_goes_ahead),
    cmocka_unit_test(none_goes_ahead_beyond_a_budget),
};
TEST_MAIN(tests)
