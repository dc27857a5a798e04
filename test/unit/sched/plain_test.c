/* plain_test.c - plain turns keep the order of ready.h's table: the next slot leads from turn to
 * turn only while no other place comes before it. One worker, so that the order is one. */
#include "unit/unit.h"

#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include <axo/axo.h>

#include "base/config.h"
#include "support/limits.h"

enum { GO = 1, NOTE, SPAWN, STOP, WAIT, QUEUE, RECORD, FAIL, BOUNCE, PILL, CHAIN, PLACES_MAX = 20 };

static struct {
    axo_system *system;
    axo_ref first;
    axo_ref next;
    axo_ref other;
    atomic_bool waits;
    atomic_bool sent;
    atomic_uint bounces; /* turns that the next slot has led to */
    atomic_uint bounced; /* of them before `other` had its turn */
    atomic_long burn_ns; /* a message of `first` takes, at least */
    atomic_uint chained; /* messages of `next` that it has had from itself, and the first */
    atomic_int code;     /* of the failure after which `next` was restarted */
    _Atomic(const char *) place[PLACES_MAX];
    atomic_uint places;
} w;

static void plain_mark(const char *what)
{
    uint32_t place = atomic_fetch_add(&w.places, 1);
    assert_true(place < PLACES_MAX);
    atomic_store(&w.place[place], what);
}

static void plain_pause(void)
{
    const struct timespec pause = {.tv_nsec = 100000};
    (void)nanosleep(&pause, NULL);
}

/* Computes for as long as the test says. */
static void plain_burn(void)
{
    struct timespec now, begin;
    (void)clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - begin.tv_sec) * 1000000000 + now.tv_nsec - begin.tv_nsec <
             atomic_load(&w.burn_ns));
}

static void plain_await(uint32_t places)
{
    for (uint32_t i = 0; atomic_load(&w.places) < places; i++) {
        assert_true(i < 200000);
        plain_pause();
    }
    while (atomic_load(&w.place[places - 1]) == NULL)
        plain_pause();
}

static axo_status newborn_pre_start(axo_ctx *ctx, void *state)
{
    plain_mark("newborn");
    return AXO_OK;
}

static axo_status plain_nothing(axo_ctx *ctx, void *state, const axo_message *message)
{
    return AXO_OK;
}

static const axo_class newborn_class =
    AXO_CLASS(.name = "newborn", .pre_start = newborn_pre_start, .receive = plain_nothing);

static axo_status other_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    atomic_store(&w.bounced, atomic_load(&w.bounces));
    plain_mark("other");
    return AXO_OK;
}

static axo_status other_post_stop(axo_ctx *ctx, void *state)
{
    plain_mark("stopped");
    return AXO_OK;
}

static const axo_class other_class =
    AXO_CLASS(.name = "other", .receive = other_receive, .post_stop = other_post_stop);

static axo_status next_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    if (message->tag == BOUNCE)
        return axo_reply(ctx, message, BOUNCE, NULL, 0);
    if (message->tag == CHAIN) {
        plain_mark("chain");
        return atomic_fetch_add(&w.chained, 1) < 2 ? axo_send(ctx, axo_self(ctx), CHAIN, NULL, 0)
                                                   : AXO_OK;
    }
    if (message->tag == RECORD) {
        (void)axo_fail(ctx, 1, "recorded only");
        return AXO_OK;
    }
    if (message->tag == FAIL)
        return AXO_EFAILED;
    plain_mark("next");
    return AXO_OK;
}

static axo_status next_post_restart(axo_ctx *ctx, void *state, const axo_failure *failure)
{
    atomic_store(&w.code, failure->code);
    return AXO_OK;
}

static const axo_class next_class =
    AXO_CLASS(.name = "next", .receive = next_receive, .post_restart = next_post_restart);

/* The cell of `next` goes into the next slot, and there is something that comes before it. */
static axo_status first_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    axo_props props = AXO_PROPS(.cls = &newborn_class);
    axo_ref born;
    plain_burn();
    if (message->tag == WAIT) {
        atomic_store(&w.waits, true);
        while (!atomic_load(&w.sent))
            plain_pause();
    }
    if (message->tag == QUEUE) /* the next send drives `other` into the ready queue */
        assert_int_equal(axo_send(ctx, w.other, NOTE, NULL, 0), AXO_OK);
    if (message->tag == WAIT || message->tag == QUEUE || message->tag == BOUNCE) {
        bool over = atomic_fetch_add(&w.bounces, 2) >= 4 * AXO__NEXT_RUNS_MAX;
        return over ? AXO_OK : axo_send(ctx, w.next, BOUNCE, NULL, 0);
    }
    if (message->tag == CHAIN) {
        assert_int_equal(axo_send(ctx, w.other, NOTE, NULL, 0), AXO_OK);
        return axo_send(ctx, w.next, CHAIN, NULL, 0);
    }
    plain_mark("first");
    if (message->tag == PILL)
        return axo_poison(ctx, w.other);
    assert_int_equal(axo_send(ctx, w.next, NOTE, NULL, 0), AXO_OK);
    if (message->tag == SPAWN)
        assert_int_equal(axo_spawn(ctx, &props, &born), AXO_OK);
    if (message->tag == STOP)
        assert_int_equal(axo_stop(ctx, w.other), AXO_OK);
    return AXO_OK;
}

static const axo_class first_class = AXO_CLASS(.name = "first", .receive = first_receive);

static axo_ref plain_spawn(const axo_class *cls)
{
    axo_props props = AXO_PROPS(.cls = cls);
    axo_ref ref;
    assert_int_equal(axo_system_spawn(w.system, &props, &ref), AXO_OK);
    return ref;
}

/* A quantum of so many messages, which time does not shorten; 0: the library's. */
static void plain_start_with(uint32_t quantum)
{
    axo_options options =
        AXO_OPTIONS(.workers = 1, .quantum = quantum, .no_quantum_us = quantum != 0);
    memset((void *)&w, 0, sizeof w);
    assert_int_equal(axo_system_start(&options, &w.system), AXO_OK);
    w.first = plain_spawn(&first_class);
    w.next = plain_spawn(&next_class);
    w.other = plain_spawn(&other_class);
    /* All have started when each has answered. */
    assert_int_equal(axo_system_send(w.system, w.next, NOTE, NULL, 0), AXO_OK);
    assert_int_equal(axo_system_send(w.system, w.other, NOTE, NULL, 0), AXO_OK);
    plain_await(2);
    for (uint32_t i = 0; i < PLACES_MAX; i++)
        atomic_store(&w.place[i], NULL);
    atomic_store(&w.places, 0);
}

static void plain_start(void)
{
    plain_start_with(0);
}

static void plain_stop(void)
{
    assert_int_equal(axo_system_stop(w.system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(w.system), AXO_OK);
}

static void plain_end(const char *first, const char *second, const char *third)
{
    const char *want[] = {first, second, third};
    plain_await(3);
    for (uint32_t i = 0; i < 3; i++)
        assert_string_equal(atomic_load(&w.place[i]), want[i]);
    plain_stop();
}

static void the_next_slot_leads_on(void **state)
{
    plain_start();
    assert_int_equal(axo_system_send(w.system, w.first, GO, NULL, 0), AXO_OK);
    plain_await(2);
    assert_int_equal(axo_system_send(w.system, w.other, NOTE, NULL, 0), AXO_OK);
    plain_end("first", "next", "other");
}

static void an_urgent_cell_comes_before_it(void **state)
{
    plain_start();
    assert_int_equal(axo_system_send(w.system, w.first, STOP, NULL, 0), AXO_OK);
    plain_end("first", "stopped", "next");
}

static void a_newborn_comes_before_it(void **state)
{
    plain_start();
    assert_int_equal(axo_system_send(w.system, w.first, SPAWN, NULL, 0), AXO_OK);
    plain_end("first", "newborn", "next");
}

/* Two that answer each other do not keep the worker from what other threads have sent. On a busy
 * machine a spare may take that, and not run: then once more. */
static void work_from_outside_comes_soon(void **state)
{
    skip_with_tiny_limits();
    bool soon = false;
    for (uint32_t i = 0; i < 20 && !soon; i++) {
        plain_start();
        assert_int_equal(axo_system_send(w.system, w.first, WAIT, NULL, 0), AXO_OK);
        while (!atomic_load(&w.waits))
            plain_pause();
        assert_int_equal(axo_system_send(w.system, w.other, NOTE, NULL, 0), AXO_OK);
        atomic_store(&w.sent, true);
        plain_await(1);
        soon = atomic_load(&w.bounced) <= 2 * AXO__INJECT_TURNS;
        plain_stop();
    }
    assert_true(soon);
}

/* Nor do they keep it from what lies in its ready queue. */
static void the_ready_queue_has_its_turn(void **state)
{
    plain_start();
    assert_int_equal(axo_system_send(w.system, w.first, QUEUE, NULL, 0), AXO_OK);
    plain_await(1);
    assert_in_range(atomic_load(&w.bounced), 1, AXO__NEXT_RUNS_MAX + 2);
    plain_stop();
}

/* Nor for longer than a turn may last. The first messages have the clock read after each; they are
 * so many that the reclaimer's bound, which ends a row too, comes at another place each time. */
static void the_ready_queue_has_its_turn_in_time(void **state)
{
    uint32_t late = 0; /* a machine that is busy may read its clock at odd moments */
    for (uint32_t phase = 1; phase <= 8; phase++) {
        plain_start();
        atomic_store(&w.burn_ns, 300000);
        for (uint32_t i = 0; i < phase; i++)
            assert_int_equal(axo_system_send(w.system, w.first, GO, NULL, 0), AXO_OK);
        plain_await(2 * phase);
        atomic_store(&w.burn_ns, 60000);
        assert_int_equal(axo_system_send(w.system, w.first, QUEUE, NULL, 0), AXO_OK);
        plain_await(2 * phase + 1);
        late += atomic_load(&w.bounced) > 14;
        plain_stop();
    }
    assert_in_range(late, 0, 4);
}

/* The message in hand with which a turn begins is one of its quantum. */
static void a_turn_from_the_next_slot(void **state)
{
    static const char *const want[] = {"chain", "chain", "other", "chain"};
    plain_start_with(2);
    assert_int_equal(axo_system_send(w.system, w.first, CHAIN, NULL, 0), AXO_OK);
    plain_await(4);
    for (uint32_t i = 0; i < 4; i++)
        assert_string_equal(atomic_load(&w.place[i]), want[i]);
    plain_stop();
}

/* A pill that is alone in its lane, and whose cell the next slot leads to, is no message for the
 * handler. */
static void a_pill_from_the_next_slot(void **state)
{
    plain_start();
    assert_int_equal(axo_system_send(w.system, w.first, PILL, NULL, 0), AXO_OK);
    plain_await(2);
    assert_string_equal(atomic_load(&w.place[0]), "first");
    assert_string_equal(atomic_load(&w.place[1]), "stopped");
    plain_stop();
    assert_int_equal(atomic_load(&w.places), 2);
}

/* The status decides: what a handler has recorded goes when it returns AXO_OK, and the next failure
 * does not find it. */
static void a_failure_that_was_only_recorded(void **state)
{
    plain_start();
    assert_int_equal(axo_system_send(w.system, w.next, RECORD, NULL, 0), AXO_OK);
    assert_int_equal(axo_system_send(w.system, w.next, FAIL, NULL, 0), AXO_OK);
    assert_int_equal(axo_system_send(w.system, w.next, NOTE, NULL, 0), AXO_OK);
    plain_await(1);
    assert_int_equal(atomic_load(&w.code), AXO_EFAILED);
    plain_stop();
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_failure_that_was_only_recorded),
    cmocka_unit_test(the_next_slot_leads_on),
    cmocka_unit_test(a_turn_from_the_next_slot),
    cmocka_unit_test(a_pill_from_the_next_slot),
    cmocka_unit_test(an_urgent_cell_comes_before_it),
    cmocka_unit_test(a_newborn_comes_before_it),
    cmocka_unit_test(work_from_outside_comes_soon),
    cmocka_unit_test(the_ready_queue_has_its_turn),
    cmocka_unit_test(the_ready_queue_has_its_turn_in_time),
};
TEST_MAIN(tests)
