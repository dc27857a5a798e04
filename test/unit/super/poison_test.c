/* poison_test.c - messages under which instance after instance fails (axo_strategy.quarantine):
 * how they are counted, who is told, and that nobody tries them again. Manual worlds: what a
 * pre_restart sends is handled before the next line. */
#include <stdlib.h>
#include <string.h>

#include <axo/axo.h>

#include "support/cmocka.h"

enum { CRASH = 1, OTHER, NOTE, ASK, TAKE, ASIDE };
enum { FORWARD = 1, COPY, NEITHER };
#define BODY 24

typedef struct poison_world {
    axo_system *system;
    axo_strategy strategy;
    uint32_t how;       /* what pre_restart does with its message */
    uint32_t shown;     /* messages that pre_restart was shown */
    uint32_t hidden;    /* calls of pre_restart without one */
    uint32_t built;
    uint32_t notes;
    uint32_t freed;
    uint32_t poison;    /* dead letters */
    uint32_t others;
    uint32_t answers;
    axo_dead_record last;
    axo_ref actor;
    axo_ref asker;
} poison_world;

static void poison_letter(void *user, const axo_dead_letter *letter)
{
    poison_world *world = user;
    if (letter->reason != AXO_DEAD_POISON) {
        world->others++;
        return;
    }
    world->poison++;
    assert_true(axo_ref_equal(letter->recipient, world->actor));
    assert_int_equal(letter->suppressed, 0);
}

static axo_status victim_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    memcpy(state, args, sizeof(poison_world *));
    (*(poison_world **)state)->built++;
    return AXO_OK;
}

static axo_status victim_take(axo_ctx *ctx, const axo_message *message)
{
    axo_owned owned;
    assert_int_equal(axo_message_take(ctx, message, &owned), AXO_OK);
    owned.destroy(owned.payload, owned.user);
    return axo_fail(ctx, 14, "taken");
}

static axo_status victim_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    poison_world *world = *(poison_world **)state;
    switch (message->tag) {
    case NOTE:
        world->notes++;
        return AXO_OK;
    case TAKE:
        return victim_take(ctx, message);
    case ASIDE:
        assert_int_equal(axo_stash(ctx), AXO_OK);
        return axo_fail(ctx, 15, "put aside");
    default:
        return axo_fail(ctx, 13, "cannot digest %d", (int)message->tag);
    }
}

static axo_status victim_pre_restart(axo_ctx *ctx, void *state, const axo_failure *failure,
                                     const axo_message *message)
{
    poison_world *world = *(poison_world **)state;
    assert_int_equal(failure->kind == AXO_FAILURE_KILLED,
                     message != NULL && message->tag == AXO_KILL);
    if (message == NULL) {
        world->hidden++;
        return AXO_OK;
    }
    world->shown++;
    if (world->how == FORWARD)
        assert_int_equal(axo_forward(ctx, message, axo_self(ctx)), AXO_OK);
    if (world->how == COPY)
        assert_int_equal(axo_send(ctx, axo_self(ctx), message->tag, message->payload,
                                  message->size),
                         AXO_OK);
    return AXO_OK;
}

static const axo_class victim_class =
    AXO_CLASS(.name = "victim", .state_size = sizeof(poison_world *),
              .construct = victim_construct, .receive = victim_receive,
              .pre_restart = victim_pre_restart);

/* Until there is nothing to do, or for so many turns: each of them has two thousand failures of a
 * message that is tried for ever. */
static void poison_run(poison_world *world)
{
    assert_int_equal(axo_step_host(world->system, 200, NULL), AXO_OK);
}

static void poison_open(poison_world *world, uint32_t quarantine, uint32_t how, uint32_t lifetime)
{
    memset(world, 0, sizeof *world);
    world->how = how;
    world->strategy = (axo_strategy)AXO_STRATEGY(.decider = axo_decide_restart,
                                                 .quarantine = quarantine, .answer_failed = 1);
    axo_options options = AXO_OPTIONS(.manual = 1, .seed = 3, .no_quantum_us = 1,
                                      .user_strategy = &world->strategy,
                                      .on_dead_letter = poison_letter, .dead_letter_user = world);
    axo_props props = AXO_PROPS(.cls = &victim_class, .args = &world, .args_size = sizeof world,
                                .lifetime = (axo_lifetime)lifetime);
    assert_int_equal(axo_system_start(&options, &world->system), AXO_OK);
    assert_int_equal(axo_system_spawn(world->system, &props, &world->actor), AXO_OK);
    poison_run(world);
}

static void poison_close(poison_world *world)
{
    axo_stats stats = AXO_STATS();
    assert_int_equal(axo_system_stop(world->system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_stats(world->system, &stats), AXO_OK);
    assert_int_equal(stats.sent, stats.handled + stats.dead + stats.dropped);
    assert_int_equal(axo_system_destroy(world->system), AXO_OK);
}

static void poison_tell(poison_world *world, uint32_t tag, uint8_t fill)
{
    uint8_t body[BODY];
    memset(body, fill, sizeof body);
    assert_int_equal(axo_system_send(world->system, world->actor, tag, body, sizeof body), AXO_OK);
    poison_run(world);
}

/* ---- who is tried again, and how often ---- */

static void without_it_a_message_is_tried_for_ever(void **state)
{
    poison_world w;
    (void)state;
    poison_open(&w, 0, FORWARD, AXO_TRANSIENT);
    poison_tell(&w, CRASH, 1);
    assert_true(w.shown > 300);
    assert_int_equal(w.poison, 0);
    w.how = NEITHER;
    poison_close(&w);
}

static void so_many_instances_and_no_more(void **state)
{
    (void)state;
    for (uint32_t how = FORWARD; how <= COPY; how++) {
        for (uint32_t most = 1; most <= 5; most++) {
            poison_world w;
            uint64_t total;
            poison_open(&w, most, how, AXO_TRANSIENT);
            poison_tell(&w, CRASH, 1);
            assert_int_equal(w.shown, most - 1);
            assert_int_equal(w.hidden, 1);
            assert_int_equal(w.built, most + 1);
            assert_int_equal(w.poison, 1);
            poison_tell(&w, NOTE, 1);
            assert_int_equal(w.notes, 1);
            assert_int_equal(axo_system_dead_letters(w.system, &w.last, 1, &total), 1);
            assert_int_equal(total, 1);
            assert_int_equal(w.last.reason, AXO_DEAD_POISON);
            assert_int_equal(w.last.tag, CRASH);
            assert_int_equal(w.last.size, BODY);
            assert_int_equal(w.last.head[0], 1);
            assert_int_equal(w.last.text[0], '0' + (int)most);
            assert_non_null(strstr(w.last.text, " instances failed, code 13 cannot digest 1"));
            poison_close(&w);
        }
    }
}

/* It stays poison: a client that asks again finds no more tries. */
static void sent_again_it_is_poison_at_once(void **state)
{
    poison_world w;
    (void)state;
    poison_open(&w, 3, FORWARD, AXO_TRANSIENT);
    poison_tell(&w, CRASH, 1);
    poison_tell(&w, CRASH, 1);
    assert_int_equal(w.poison, 2);
    assert_int_equal(w.hidden, 2);
    assert_int_equal(w.shown, 2);
    poison_close(&w);
}

/* ---- what is the same message ---- */

static void another_message_begins_anew(void **state)
{
    poison_world w;
    (void)state;
    poison_open(&w, 2, NEITHER, AXO_TRANSIENT);
    poison_tell(&w, CRASH, 1);
    poison_tell(&w, CRASH, 2); /* other bytes */
    poison_tell(&w, OTHER, 2); /* another tag */
    poison_tell(&w, CRASH, 1);
    assert_int_equal(w.poison, 0);
    uint8_t shorter[BODY - 1];
    memset(shorter, 1, sizeof shorter);
    assert_int_equal(axo_system_send(w.system, w.actor, CRASH, shorter, sizeof shorter), AXO_OK);
    poison_run(&w);
    assert_int_equal(w.poison, 0);
    assert_int_equal(w.shown, 5);
    poison_close(&w);
}

static void what_is_handled_between_does_not_end_the_row(void **state)
{
    poison_world w;
    (void)state;
    poison_open(&w, 3, NEITHER, AXO_TRANSIENT);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(w.poison, 0);
        poison_tell(&w, CRASH, 9);
        poison_tell(&w, NOTE, 1);
    }
    assert_int_equal(w.poison, 1);
    assert_int_equal(w.notes, 3);
    poison_close(&w);
}

/* Each byte counts, also those behind the last whole word. */
static void each_byte_counts(void **state)
{
    poison_world w;
    uint8_t body[BODY + 3] = {0};
    (void)state;
    poison_open(&w, 2, NEITHER, AXO_TRANSIENT);
    for (uint32_t i = 0; i < sizeof body; i++) {
        body[i] = 1;
        assert_int_equal(axo_system_send(w.system, w.actor, CRASH, body, sizeof body), AXO_OK);
        poison_run(&w);
        body[i] = 0;
    }
    assert_int_equal(w.poison, 0);
    assert_int_equal(w.shown, sizeof body);
    poison_close(&w);
}

static void poison_free(void *payload, void *user)
{
    poison_world *world = user;
    world->freed++;
    free(payload);
}

static void a_payload_that_was_taken_is_no_reason_to_crash(void **state)
{
    poison_world w;
    (void)state;
    poison_open(&w, 2, FORWARD, AXO_TRANSIENT);
    for (uint32_t i = 0; i < 2; i++) {
        void *payload = malloc(BODY);
        assert_non_null(payload);
        memset(payload, 1, BODY);
        w.how = NEITHER;
        assert_int_equal(axo_system_send_owned(w.system, w.actor, TAKE, payload, BODY, poison_free,
                                               &w),
                         AXO_OK);
        poison_run(&w);
    }
    assert_int_equal(w.freed, 2);
    assert_int_equal(w.poison, 1);
    poison_close(&w);
}

/* ---- whom it does not concern ---- */

static void kills_and_stashed_messages_are_no_poison(void **state)
{
    poison_world w;
    (void)state;
    poison_open(&w, 1, NEITHER, AXO_TRANSIENT);
    assert_int_equal(axo_system_kill(w.system, w.actor), AXO_OK);
    poison_run(&w);
    assert_int_equal(w.built, 2);
    assert_int_equal(w.poison, 0);
    assert_int_equal(axo_system_send(w.system, w.actor, ASIDE, NULL, 0), AXO_OK);
    assert_int_equal(axo_step_host(w.system, 50, NULL), AXO_OK);
    assert_int_equal(w.poison, 0);
    assert_true(w.built > 3); /* the stash came back, and it failed again */
    poison_close(&w);
}

static void a_temporary_child_ends_as_always(void **state)
{
    poison_world w;
    (void)state;
    poison_open(&w, 1, NEITHER, AXO_TEMPORARY);
    poison_tell(&w, CRASH, 1);
    assert_int_equal(w.built, 1);
    assert_int_equal(w.poison, 0);
    poison_close(&w);
}

/* ---- who has asked ---- */

static axo_status asker_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    poison_world *world = *(poison_world **)state;
    if (message->tag == NOTE)
        return axo_send(ctx, world->actor, CRASH, NULL, 0);
    if (message->tag != AXO_REQUEST_FAILED)
        return AXO_UNHANDLED;
    assert_int_equal(axo_request_failed_of(message).code, 13);
    world->answers++;
    return AXO_OK;
}

static axo_status asker_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    memcpy(state, args, sizeof(poison_world *));
    return AXO_OK;
}

static const axo_class asker_class =
    AXO_CLASS(.name = "asker", .state_size = sizeof(poison_world *), .construct = asker_construct,
              .receive = asker_receive);

static void who_has_asked_is_answered_once(void **state)
{
    poison_world w;
    poison_world *args = &w;
    (void)state;
    poison_open(&w, 2, FORWARD, AXO_TRANSIENT);
    const axo_props props = AXO_PROPS(.cls = &asker_class, .args = &args, .args_size = sizeof args);
    assert_int_equal(axo_system_spawn(w.system, &props, &w.asker), AXO_OK);
    assert_int_equal(axo_system_send(w.system, w.asker, NOTE, NULL, 0), AXO_OK);
    poison_run(&w);
    assert_int_equal(w.poison, 1);
    assert_int_equal(w.answers, 1);
    poison_close(&w);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(without_it_a_message_is_tried_for_ever),
    cmocka_unit_test(so_many_instances_and_no_more),
    cmocka_unit_test(sent_again_it_is_poison_at_once),
    cmocka_unit_test(another_message_begins_anew),
    cmocka_unit_test(what_is_handled_between_does_not_end_the_row),
    cmocka_unit_test(each_byte_counts),
    cmocka_unit_test(a_payload_that_was_taken_is_no_reason_to_crash),
    cmocka_unit_test(kills_and_stashed_messages_are_no_poison),
    cmocka_unit_test(a_temporary_child_ends_as_always),
    cmocka_unit_test(who_has_asked_is_answered_once),
};

TEST_MAIN(tests)
