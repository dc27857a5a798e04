/* portion_test.c - no step is as long as a mailbox, a crowd of watchers or a system lane: each goes
 * on in portions, others have their turns meanwhile, and what is told is told in the order of
 * always. */
#include "unit/unit.h"

#include <axo/axo.h>

#include "base/config.h"

enum { GO = 1, STOP, WATCH, CHURN, FAIL, MANY = 40 * AXO__PORTION };

static struct {
    axo_system *system;
    axo_ref one;
    uint64_t dead;        /* dead letters */
    uint64_t dead_before; /* when this turn began */
    uint64_t beats;       /* turns of another meanwhile */
    uint64_t notices;
    uint64_t dead_at_notice;
    uint64_t most;        /* in one turn, the most */
} w;

static void portion_dead(void *user, const axo_dead_letter *letter)
{
    if (letter->suppressed == 0)
        w.dead++;
}

static axo_status one_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    if (message->tag == FAIL)
        return axo_fail(ctx, 1, "as it was told");
    return message->tag == STOP ? axo_stop_self(ctx) : AXO_OK;
}

/* As many notes to one lane, in one turn. */
static axo_status watcher_churn(axo_ctx *ctx)
{
    for (uint32_t i = 0; i < MANY; i++) {
        assert_int_equal(axo_watch(ctx, w.one), AXO_OK);
        assert_int_equal(axo_unwatch(ctx, w.one), AXO_OK);
    }
    return axo_watch(ctx, w.one);
}

static axo_status watcher_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    if (message->tag == WATCH)
        return axo_watch(ctx, w.one);
    if (message->tag == CHURN)
        return watcher_churn(ctx);
    assert_int_equal(message->tag, AXO_TERMINATED);
    w.notices++;
    w.dead_at_notice = w.dead;
    return AXO_OK;
}

static axo_status beat_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    w.beats++;
    return axo_send(ctx, axo_self(ctx), message->tag, NULL, 0);
}

static const axo_class one_class = AXO_CLASS(.name = "one", .receive = one_receive);
static const axo_class watcher_class = AXO_CLASS(.name = "watcher", .receive = watcher_receive);
static const axo_class beat_class = AXO_CLASS(.name = "beat", .receive = beat_receive);

static axo_ref portion_spawn(const axo_class *cls, const axo_mailbox *mailbox)
{
    axo_ref ref;
    axo_props props = AXO_PROPS(.cls = cls, .mailbox = mailbox);
    assert_int_equal(axo_system_spawn(w.system, &props, &ref), AXO_OK);
    return ref;
}

static void portion_send(axo_ref to, uint32_t tag, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(axo_system_send(w.system, to, tag, NULL, 0), AXO_OK);
}

static void portion_open(const axo_mailbox *mailbox)
{
    static const axo_backoff hour = AXO_BACKOFF(.min_ns = INT64_C(3600000000000),
                                                .max_ns = INT64_C(3600000000000));
    static const axo_strategy late = AXO_STRATEGY(.backoff = &hour);
    axo_options options = AXO_OPTIONS(.manual = 1, .no_quantum_us = 1, .user_strategy = &late,
                                      .on_dead_letter = portion_dead);
    memset(&w, 0, sizeof w);
    assert_int_equal(axo_system_start(&options, &w.system), AXO_OK);
    w.one = portion_spawn(&one_class, mailbox);
    assert_int_equal(axo_run_host(w.system, -1, NULL), AXO_OK);
}

/* Turn by turn until so many notices were handled. */
static void portion_step(uint64_t notices)
{
    for (uint64_t turns = 0; w.notices < notices; turns++) {
        assert_true(turns < 200000);
        w.dead_before = w.dead;
        assert_int_equal(axo_step_host(w.system, 1, NULL), AXO_OK);
        w.most = w.dead - w.dead_before > w.most ? w.dead - w.dead_before : w.most;
    }
}

static void portion_close(void)
{
    axo_stats stats = AXO_STATS(.sent = 0);
    assert_int_equal(axo_system_shutdown(w.system), AXO_OK);
    assert_int_equal(axo_system_stop(w.system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_stats(w.system, &stats), AXO_OK);
    assert_true(stats.sent == stats.handled + stats.dead + stats.dropped);
    assert_int_equal(axo_system_destroy(w.system), AXO_OK);
}

static void portion_end_with(const axo_mailbox *mailbox)
{
    portion_open(mailbox);
    axo_ref watcher = portion_spawn(&watcher_class, NULL);
    portion_send(watcher, WATCH, 1);
    assert_int_equal(axo_run_host(w.system, -1, NULL), AXO_OK);
    axo_ref beat = portion_spawn(&beat_class, NULL);
    portion_send(w.one, STOP, 1);
    portion_send(w.one, GO, MANY);
    portion_send(beat, GO, 1);
    portion_step(1);
    assert_int_equal(w.dead, MANY);
    assert_int_equal(w.dead_at_notice, MANY); /* ST-03: first the dead letters */
    assert_true(w.most <= AXO__PORTION);
    assert_true(w.beats > 0);
    portion_close();
}

static void an_end_with_a_long_mailbox(void **state)
{
    portion_end_with(NULL);
}

static void an_end_with_a_long_box(void **state)
{
    axo_mailbox fifo = AXO_MAILBOX(.messages_max = 2 * MANY);
    portion_end_with(&fifo);
}

/* The same in frames whose time is over at once: one portion each, though all could go on. */
static void a_frame_has_one_portion(void **state)
{
    uint64_t frames = 0;
    portion_open(NULL);
    portion_send(w.one, STOP, 1);
    portion_send(w.one, GO, MANY);
    for (; w.dead < MANY; frames++) {
        assert_true(frames < 200000);
        w.dead_before = w.dead;
        assert_int_equal(axo_run_host(w.system, 1, NULL), AXO_OK);
        assert_true(w.dead - w.dead_before <= AXO__PORTION);
    }
    assert_true(frames >= MANY / AXO__PORTION);
    portion_close();
}

enum { CROWD = 10 * AXO__PORTION };

static void portion_open_watched(void)
{
    portion_open(NULL);
    for (uint32_t i = 0; i < CROWD; i++)
        portion_send(portion_spawn(&watcher_class, NULL), WATCH, 1);
    assert_int_equal(axo_run_host(w.system, -1, NULL), AXO_OK);
}

/* Each of them is told once. */
static void portion_tell_watchers(void)
{
    portion_step(CROWD);
    assert_int_equal(axo_run_host(w.system, -1, NULL), AXO_OK);
    assert_int_equal(w.notices, CROWD);
    portion_close();
}

static void an_end_that_many_watch(void **state)
{
    portion_open_watched();
    portion_send(w.one, STOP, 1);
    portion_tell_watchers();
}

/* Its parent decides in this very turn, so the end begins in the midst of a message, and no other
 * message leads back to the rest of it. */
static void an_end_by_a_failure_that_many_watch(void **state)
{
    portion_open_watched();
    assert_int_equal(axo_system_kill(w.system, w.one), AXO_OK);
    portion_tell_watchers();
}

/* The same with messages behind it: first they are dead letters. The turn in which it fails has a
 * portion under the message, and one as any other. */
static void an_end_by_a_failure_with_a_long_mailbox(void **state)
{
    portion_open_watched();
    assert_int_equal(axo_system_kill(w.system, w.one), AXO_OK);
    portion_send(w.one, GO, MANY);
    portion_step(1);
    assert_int_equal(w.dead_at_notice, MANY);
    assert_true(w.most <= 2 * AXO__PORTION);
    portion_tell_watchers();
}

/* Its stop comes behind them. */
static void portion_long_lane(void)
{
    axo_ref watcher = portion_spawn(&watcher_class, NULL);
    axo_ref beat = portion_spawn(&beat_class, NULL);
    assert_int_equal(axo_run_host(w.system, -1, NULL), AXO_OK);
    portion_send(watcher, CHURN, 1);
    assert_int_equal(axo_step_host(w.system, 1, NULL), AXO_OK);
    assert_int_equal(axo_system_stop_actor(w.system, w.one), AXO_OK);
    portion_send(beat, GO, 1);
    portion_step(1);
    assert_int_equal(w.notices, 1);
    assert_true(w.beats > 0);
    portion_close();
}

static void a_long_system_lane(void **state)
{
    portion_open(NULL);
    portion_long_lane();
}

/* It has failed, and is restarted in an hour: it takes no messages, and its lane as ever. */
static void a_long_system_lane_of_one_that_is_suspended(void **state)
{
    portion_open(NULL);
    portion_send(w.one, FAIL, 1);
    assert_int_equal(axo_run_host(w.system, -1, NULL), AXO_OK);
    portion_long_lane();
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(an_end_with_a_long_mailbox),
    cmocka_unit_test(an_end_with_a_long_box),
    cmocka_unit_test(a_frame_has_one_portion),
    cmocka_unit_test(an_end_that_many_watch),
    cmocka_unit_test(an_end_by_a_failure_that_many_watch),
    cmocka_unit_test(an_end_by_a_failure_with_a_long_mailbox),
    cmocka_unit_test(a_long_system_lane),
    cmocka_unit_test(a_long_system_lane_of_one_that_is_suspended),
};
TEST_MAIN(tests)
