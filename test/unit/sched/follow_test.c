/* follow_test.c - producers that flood a consumer follow it: its mailbox stays short while they are
 * short, they go their own way when they are not, and they wait for others no longer than they may.
 * The clock is the test's; the actors take what effort they are told to. */
#include "unit/unit.h"

#include <axo/axo.h>

#include "base/config.h"
#include "sched/follow.h"
#include "support/limits.h"
#include "system/system.h"

enum { GO = 1, ITEM, MORE, PRODUCERS = 4, BATCH = 256 };
#define US INT64_C(1000)
#define MS INT64_C(1000000)

static struct {
    axo_system *system;
    axo_ref consumer;
    axo_ref producers[PRODUCERS];
    int64_t effort;
    int64_t produces_ns; /* a message that is sent */
    int64_t consumes_ns; /* a message that is handled */
    int64_t computes_ns; /* a batch, before its messages */
    uint64_t sent;
    uint64_t handled;
    uint64_t most;             /* in flight, since these three were last set to 0 ... */
    uint64_t followed;         /* messages handled while producers followed ... */
    int64_t gap;               /* between two turns of a producer, the longest */
    int64_t before[PRODUCERS]; /* when that producer had its last turn */
    bool over;
} w;

int64_t __wrap_axo__os_now(void);
int64_t __wrap_axo__os_now(void)
{
    return w.effort;
}

static axo_status consumer_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    w.handled++;
    w.followed += axo__follow_has_any(&w.system->sched.workers[0]);
    w.effort += w.consumes_ns;
    return AXO_OK;
}

static const axo_class consumer_class = AXO_CLASS(.name = "consumer", .receive = consumer_receive);

static axo_status producer_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    for (uint32_t i = 0; i < PRODUCERS; i++) {
        if (!axo_ref_equal(w.producers[i], axo_self(ctx)))
            continue;
        w.gap = w.effort - w.before[i] > w.gap ? w.effort - w.before[i] : w.gap;
        w.before[i] = w.effort;
    }
    w.effort += w.computes_ns;
    for (uint32_t i = 0; i < BATCH && !w.over; i++) {
        assert_int_equal(axo_send(ctx, w.consumer, ITEM, NULL, 0), AXO_OK);
        w.effort += w.produces_ns;
        w.sent++;
    }
    w.most = w.sent - w.handled > w.most ? w.sent - w.handled : w.most;
    return w.over ? AXO_OK : axo_send(ctx, axo_self(ctx), MORE, NULL, 0);
}

static const axo_class producer_class = AXO_CLASS(.name = "producer", .receive = producer_receive);

static axo_status other_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    w.effort += 1 * US;
    return w.over ? AXO_OK : axo_send(ctx, axo_self(ctx), GO, NULL, 0);
}

static const axo_class other_class = AXO_CLASS(.name = "other", .receive = other_receive);

static axo_ref spawned(const axo_class *cls)
{
    axo_ref ref;
    axo_props props = AXO_PROPS(.cls = cls);
    assert_int_equal(axo_system_spawn(w.system, &props, &ref), AXO_OK);
    return ref;
}

/* Runs for so long; percents of the messages were handled while producers followed. */
static uint64_t run_for(int64_t budget)
{
    uint64_t before = w.handled;
    w.most = w.followed = 0;
    w.gap = 0;
    assert_int_equal(axo_run_host(w.system, budget, NULL), AXO_OK);
    return w.followed * 100 / (w.handled - before);
}

static void open_it(axo_options options)
{
    options.manual = 1;
    w.effort = INT64_C(1000000000);
    assert_int_equal(axo_system_start(&options, &w.system), AXO_OK);
    w.consumer = spawned(&consumer_class);
    for (uint32_t i = 0; i < PRODUCERS; i++)
        w.producers[i] = spawned(&producer_class);
    for (uint32_t i = 0; i < PRODUCERS; i++)
        assert_int_equal(axo_system_send(w.system, w.producers[i], GO, NULL, 0), AXO_OK);
}

static void close_it(void)
{
    w.over = true;
    assert_int_equal(axo_run_host(w.system, -1, NULL), AXO_OK);
    assert_int_equal(w.handled, w.sent);
    assert_int_equal(axo_system_stop(w.system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(w.system), AXO_OK);
    memset(&w, 0, sizeof w);
}

/* Whatever the consumer takes: a producer goes on when it has drained, or late. */
static void a_flooded_mailbox_stays_short(void **state)
{
    skip_with_tiny_limits();
    for (int64_t consumes = 8; consumes <= 512; consumes *= 8) {
        w.produces_ns = 10;
        w.consumes_ns = consumes;
        open_it((axo_options)AXO_OPTIONS());
        (void)run_for(40 * MS);
        assert_true(run_for(40 * MS) > 90);
        assert_in_range(w.most, BATCH, PRODUCERS * BATCH);
        close_it();
    }
}

/* Those that take more than a message's way to another processor do not: a batch that is computed,
 * or each of its messages. */
static void long_producers_go_their_own_way(void **state)
{
    skip_with_tiny_limits();
    const int64_t near = AXO__FOLLOW_NEAR_NS;
    const struct {
        int64_t produces, computes;
        bool follow;
    } each[] = {{near - 8, 0, true},
                {near + 8, 0, false},
                {10, near * BATCH, false},
                {AXO__FOLLOW_FAR_NS + 8, 0, false}};
    for (uint32_t i = 0; i < sizeof each / sizeof each[0]; i++) {
        w.produces_ns = each[i].produces;
        w.computes_ns = each[i].computes;
        w.consumes_ns = 400;
        open_it((axo_options)AXO_OPTIONS());
        (void)run_for(40 * MS);
        uint64_t followed = run_for(20 * MS);
        assert_true(each[i].follow ? followed > 90 : followed == 0);
        close_it();
    }
}

/* They are asked again after a while. */
static void who_gets_short_follows(void **state)
{
    skip_with_tiny_limits();
    w.produces_ns = AXO__FOLLOW_NEAR_NS + 8;
    w.consumes_ns = 100;
    open_it((axo_options)AXO_OPTIONS());
    (void)run_for(40 * MS);
    assert_int_equal(run_for(20 * MS), 0);
    w.produces_ns = 10;
    (void)run_for(AXO__FOLLOW_REST_NS);
    assert_true(run_for(20 * MS) > 90);
    close_it();
}

/* Others have work without end: each producer has its turn in time all the same. */
static void followers_have_their_turn_in_time(void **state)
{
    skip_with_tiny_limits();
    w.produces_ns = 10;
    w.consumes_ns = 10;
    open_it((axo_options)AXO_OPTIONS());
    for (uint32_t i = 0; i < 8; i++)
        assert_int_equal(axo_system_send(w.system, spawned(&other_class), GO, NULL, 0), AXO_OK);
    (void)run_for(100 * MS);
    (void)run_for(100 * MS);
    assert_true(w.gap > 0 && w.gap <= 2 * AXO__FOLLOW_LATE_NS);
    close_it();
}

/* Where time ends no turn each run is the same, so nobody follows. */
static void nobody_follows_without_time(void **state)
{
    skip_with_tiny_limits();
    w.produces_ns = 10;
    w.consumes_ns = 10;
    open_it((axo_options)AXO_OPTIONS(.no_quantum_us = 1));
    assert_int_equal(run_for(40 * MS), 0);
    assert_int_equal(run_for(40 * MS), 0);
    close_it();
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_flooded_mailbox_stays_short),
    cmocka_unit_test(long_producers_go_their_own_way),
    cmocka_unit_test(who_gets_short_follows),
    cmocka_unit_test(followers_have_their_turn_in_time),
    cmocka_unit_test(nobody_follows_without_time),
};
TEST_MAIN(tests)
