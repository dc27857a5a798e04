/* told_test.c - who is told of a dead letter finds it counted: by its sender's thread, by an
 * actor's worker, and of what an end leaves in a mailbox; so does who is told that a message was
 * not handled. */
#include "unit/unit.h"

#include <axo/axo.h>

enum { TOLD_TAG = 3, TOLD_UNKNOWN = 4, TOLD_MESSAGES = 5 };

typedef struct told {
    axo_system *system;
    axo_ref gone;
    uint64_t letters;
    uint64_t uncounted;
} told;

static void told_letter(void *user, const axo_dead_letter *letter)
{
    told *it = user;
    axo_stats stats = AXO_STATS(0);
    assert_int_equal(axo_system_stats(it->system, &stats), AXO_OK);
    it->letters++;
    if (stats.dead < it->letters)
        it->uncounted++;
}

static void told_trace(void *user, const axo_event *event)
{
    told *it = user;
    axo_stats stats = AXO_STATS(0);
    if (event->kind != AXO_EV_UNHANDLED)
        return;
    assert_int_equal(axo_system_stats(it->system, &stats), AXO_OK);
    it->letters++;
    if (stats.unhandled < it->letters)
        it->uncounted++;
}

static void told_unhandled(void *user, const axo_unhandled *unhandled)
{
    told *it = user;
    axo_stats stats = AXO_STATS(0);
    assert_int_equal(axo_system_stats(it->system, &stats), AXO_OK);
    assert_int_equal(unhandled->message->tag, TOLD_UNKNOWN);
    it->letters++;
    if (stats.unhandled < it->letters)
        it->uncounted++;
}

static axo_status told_construct(axo_ctx *ctx, void *state, const void *args)
{
    memcpy(state, args, sizeof(told *));
    return AXO_OK;
}

/* Sends to one that is gone, and ends with what it has sent itself. */
static axo_status told_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    told *it = *(told **)state;
    if (message->tag == TOLD_UNKNOWN)
        return AXO_UNHANDLED;
    assert_int_equal(axo_send(ctx, it->gone, message->tag, NULL, 0), AXO_EGONE);
    for (uint32_t i = 0; i < TOLD_MESSAGES; i++)
        assert_int_equal(axo_send(ctx, axo_self(ctx), message->tag, NULL, 0), AXO_OK);
    return axo_stop_self(ctx);
}

static void told_run(told *it)
{
    uint64_t turns = 0;
    do {
        assert_int_equal(axo_step_host(it->system, 100, &turns), AXO_OK);
    } while (turns > 0);
}

static const axo_class cls = AXO_CLASS(.state_size = sizeof(told *), .construct = told_construct,
                                       .receive = told_receive);

static void who_is_told_of_a_dead_letter_finds_it_counted(void **state)
{
    told it = {.letters = 0};
    const told *args = &it;
    axo_options options = AXO_OPTIONS(.manual = 1, .on_dead_letter = told_letter,
                                      .dead_letter_user = &it);
    axo_props props = AXO_PROPS(.cls = &cls, .args = &args, .args_size = sizeof args);
    axo_ref ref;
    assert_int_equal(axo_system_start(&options, &it.system), AXO_OK);
    assert_int_equal(axo_system_spawn(it.system, &props, &it.gone), AXO_OK);
    assert_int_equal(axo_system_stop_actor(it.system, it.gone), AXO_OK);
    told_run(&it);
    assert_int_equal(axo_system_send(it.system, it.gone, TOLD_TAG, NULL, 0), AXO_EGONE);
    assert_int_equal(it.letters, 1);
    assert_int_equal(axo_system_spawn(it.system, &props, &ref), AXO_OK);
    assert_int_equal(axo_system_send(it.system, ref, TOLD_TAG, NULL, 0), AXO_OK);
    told_run(&it);
    assert_int_equal(it.letters, 2 + TOLD_MESSAGES);
    assert_int_equal(it.uncounted, 0);
    assert_int_equal(axo_system_stop(it.system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(it.system), AXO_OK);
}

static void told_of_the_unhandled(axo_options options, told *it)
{
    const told *args = it;
    axo_props props = AXO_PROPS(.cls = &cls, .args = &args, .args_size = sizeof args);
    axo_ref ref;
    assert_int_equal(axo_system_start(&options, &it->system), AXO_OK);
    assert_int_equal(axo_system_spawn(it->system, &props, &ref), AXO_OK);
    for (uint32_t i = 0; i < TOLD_MESSAGES; i++)
        assert_int_equal(axo_system_send(it->system, ref, TOLD_UNKNOWN, NULL, 0), AXO_OK);
    told_run(it);
    assert_int_equal(it->letters, TOLD_MESSAGES);
    assert_int_equal(it->uncounted, 0);
    assert_int_equal(axo_system_stop(it->system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(it->system), AXO_OK);
}

static void who_is_told_of_an_unhandled_message_finds_it_counted(void **state)
{
    told traced = {.letters = 0};
    told observed = {.letters = 0};
    told_of_the_unhandled((axo_options)AXO_OPTIONS(.manual = 1, .trace = told_trace,
                                                   .trace_user = &traced),
                          &traced);
    told_of_the_unhandled((axo_options)AXO_OPTIONS(.manual = 1, .on_unhandled = told_unhandled,
                                                   .unhandled_user = &observed),
                          &observed);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(who_is_told_of_an_unhandled_message_finds_it_counted),
    cmocka_unit_test(who_is_told_of_a_dead_letter_finds_it_counted),
};
TEST_MAIN(tests)
