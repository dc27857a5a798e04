/* race_test.c - the narrow windows, held open: a push after the end, a grace period and the doors,
 * a worker that sleeps, a spawn while /user stops. */
#include "unit/unit.h"

#include <time.h>

#include "sched/ready.h"
#include "sched/send.h"
#include "system/system.h"

enum { RACE_TAG = 7, RACE_LETTERS = 5, RACE_ROUNDS = 100, RACE_YIELDS = 50, RACE_PINGS = 20 };
#define RACE_LIMIT_NS INT64_C(20000000000)

typedef struct race {
    axo_system *system;
    axo_ref target;
    axo__a32 begun;      /* the target has begun to end */
    axo__a32 terminated; /* the target has ended, and its mailbox has been drained */
    axo__a32 letters;
    axo__a32 wrong;
    axo__a32 handled;
    axo__a32 left;       /* the door's holder is about to leave it */
    axo__a32 passing;
} race;

static axo_status race_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    race *it = *(race **)state;
    (void)axo__a32_add_seq_cst(&it->handled, 1);
    return AXO_OK;
}

static axo_status race_construct(axo_ctx *ctx, void *state, const void *args)
{
    *(race **)state = (race *)(uintptr_t)args;
    return AXO_OK;
}

static void race_trace(void *user, const axo_event *event)
{
    race *it = user;
    if (event->kind == AXO_EV_TERMINATED && event->actor.bits != 0 &&
        axo__a32_load_acquire(&it->begun) != 0 && axo_ref_equal(event->actor, it->target))
        axo__a32_store_release(&it->terminated, 1);
}

static void race_dead(void *user, const axo_dead_letter *letter)
{
    race *it = user;
    if (letter->message->tag != RACE_TAG || letter->reason != AXO_DEAD_STOPPED ||
        !axo_ref_equal(letter->recipient, it->target))
        (void)axo__a32_add_seq_cst(&it->wrong, 1);
    (void)axo__a32_add_seq_cst(&it->letters, 1);
}

/* Waits for a number that only grows; fails when it takes too long. */
static void race_await(const axo__a32 *number, uint32_t least)
{
    int64_t limit = axo__os_now() + RACE_LIMIT_NS;
    while (axo__a32_load_acquire(number) < least) {
        assert_true(axo__os_now() < limit);
        (void)sched_yield();
    }
}

static race *race_start(void **state, const axo_class *cls)
{
    race *it = calloc(1, sizeof *it);
    axo_options options = AXO_OPTIONS(.workers = (uint32_t)(uintptr_t)*state,
                                      .on_dead_letter = race_dead, .dead_letter_user = it,
                                      .trace = race_trace, .trace_user = it);
    axo_props props = AXO_PROPS(.cls = cls, .args = it);
    assert_non_null(it);
    assert_int_equal(axo_system_start(&options, &it->system), AXO_OK);
    assert_int_equal(axo_system_spawn(it->system, &props, &it->target), AXO_OK);
    return it;
}

static axo_stats race_finish(race *it)
{
    axo_stats stats = AXO_STATS(.sent = 0);
    assert_int_equal(axo_system_stop(it->system, RACE_LIMIT_NS, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_stats(it->system, &stats), AXO_OK);
    assert_int_equal(axo_system_destroy(it->system), AXO_OK);
    assert_int_equal(axo__a32_load_acquire(&it->wrong), 0);
    assert_int_equal(stats.sent, stats.handled + stats.dead + stats.dropped);
    return stats;
}

static const axo_class race_class = AXO_CLASS(.state_size = sizeof(race *),
                                              .construct = race_construct,
                                              .receive = race_receive);

/* A sender has found the cell and pushes only when it is closed and drained: it is inside a door,
 * so the grace period waits for it; then the message is a dead letter (D7, DL-10). */
static void pushed_after_the_end(void **state)
{
    race *it = race_start(state, &race_class);
    axo__sched *sched = &it->system->sched;
    axo__core *core = &it->system->core;
    axo__door *door = axo__door_enter(sched);
    axo__cell *cell = axo__table_find(&core->table, it->target);
    assert_non_null(cell);
    axo__a32_store_release(&it->begun, 1);
    axo__sched_stop(NULL, cell);
    race_await(&it->terminated, 1);
    assert_null(axo__table_find(&core->table, it->target));
    for (int i = 0; i < RACE_LETTERS; i++) {
        axo__message *message = axo__message_make(&door->local.cache, RACE_TAG, axo_ref_none(), 16);
        assert_non_null(message);
        axo__a64_bump_owner(&door->local.count.sent);
        axo__sched_accept(NULL, cell, message);
    }
    assert_int_equal(axo__a32_load_acquire(&it->letters), 0); /* nobody takes from it yet */
    axo__door_leave(door);
    race_await(&it->letters, RACE_LETTERS);
    axo_stats stats = race_finish(it);
    assert_int_equal(axo__a32_load_acquire(&it->letters), RACE_LETTERS);
    assert_int_equal(stats.dead, RACE_LETTERS);
    assert_int_equal(stats.sent, RACE_LETTERS);
    free(it);
}

/* ---- a grace period passes every door ---- */

static void *race_pass(void *arg)
{
    race *it = arg;
    axo__grace *grace = &it->system->core.grace;
    axo__a32_store_release(&it->passing, 1);
    grace->ops->pass(grace->user);
    if (axo__a32_load_acquire(&it->left) == 0)
        (void)axo__a32_add_seq_cst(&it->wrong, 1); /* it went past an outside call */
    return NULL;
}

static void a_grace_period_waits_for_every_door(void **state)
{
    race *it = race_start(state, &race_class);
    axo__sched *sched = &it->system->sched;
    assert_true(sched->door_count > 0);
    for (uint32_t round = 0; round < RACE_ROUNDS; round++) {
        axo__door *door = &sched->doors[round % sched->door_count];
        pthread_t thread;
        axo__a32_store_release(&it->passing, 0);
        axo__a32_store_release(&it->left, 0);
        axo__os_gate_enter(&door->gate);
        assert_int_equal(pthread_create(&thread, NULL, race_pass, it), 0);
        race_await(&it->passing, 1);
        for (int i = 0; i < RACE_YIELDS; i++)
            (void)sched_yield();
        axo__a32_store_release(&it->left, 1);
        axo__door_leave(door);
        assert_int_equal(pthread_join(thread, NULL), 0);
    }
    (void)race_finish(it);
    free(it);
}

/* ---- taken doors ---- */

static void race_take_doors(race *it, uint32_t from)
{
    for (uint32_t i = from; i < it->system->sched.door_count; i++)
        axo__os_gate_enter(&it->system->sched.doors[i].gate);
}

static void race_leave_doors(race *it, uint32_t from)
{
    for (uint32_t i = from; i < it->system->sched.door_count; i++)
        axo__os_gate_leave(&it->system->sched.doors[i].gate);
}

/* Small and large, which go different ways. */
static axo_status race_send(race *it)
{
    char large[100] = "";
    axo_status status = axo_system_send(it->system, it->target, RACE_TAG, NULL, 0);
    for (size_t size = 8; size <= 16 && status == AXO_OK; size += 8)
        status = axo_system_send(it->system, it->target, RACE_TAG, large, size);
    return status == AXO_OK ? axo_system_send(it->system, it->target, RACE_TAG, large, sizeof large)
                            : status;
}

/* One door is free, and it is not this processor's, mostly: the call goes through that one. */
static void a_taken_door_is_passed_by(void **state)
{
    race *it = race_start(state, &race_class);
    axo__sched *sched = &it->system->sched;
    for (uint32_t free = 0; free < sched->door_count; free++) {
        race_take_doors(it, 0);
        axo__os_gate_leave(&sched->doors[free].gate);
        uint64_t sent = axo__a64_load_relaxed(&sched->doors[free].local.count.sent);
        assert_int_equal(race_send(it), AXO_OK);
        assert_int_equal(axo__a64_load_relaxed(&sched->doors[free].local.count.sent), sent + 4);
        axo__os_gate_enter(&sched->doors[free].gate);
        race_leave_doors(it, 0);
        race_await(&it->handled, 4 * (free + 1));
    }
    (void)race_finish(it);
    free(it);
}

static void *race_send_late(void *arg)
{
    race *it = arg;
    axo__a32_store_release(&it->passing, 1);
    if (race_send(it) != AXO_OK || axo__a32_load_acquire(&it->left) == 0)
        (void)axo__a32_add_seq_cst(&it->wrong, 1); /* it went through a wall */
    return NULL;
}

/* All are taken for longer than the longest sleep between two looks: the call waits, also if its
 * thread is cancelled in the midst of it, which no door notices. */
static void a_call_waits_for_a_door(void **state)
{
    race *it = race_start(state, &race_class);
    struct timespec pause = {.tv_nsec = 20000000};
    pthread_t thread;
    void *result = NULL;
    for (uint32_t cancel = 0; cancel < 2; cancel++) {
        axo__a32_store_release(&it->passing, 0);
        axo__a32_store_release(&it->left, 0);
        race_take_doors(it, 0);
        assert_int_equal(pthread_create(&thread, NULL, race_send_late, it), 0);
        race_await(&it->passing, 1);
        (void)nanosleep(&pause, NULL); /* a shorter pause sees less of the wait */
        if (cancel)
            assert_int_equal(pthread_cancel(thread), 0);
        axo__a32_store_release(&it->left, 1);
        race_leave_doors(it, 0);
        assert_int_equal(pthread_join(thread, &result), 0);
        assert_null(result); /* it has met no cancellation point, not even a waiting one */
        race_await(&it->handled, 4 * (cancel + 1));
    }
    (void)race_finish(it);
    free(it);
}

/* ---- a parked worker that is woken is counted ---- */

static uint64_t race_parks(const race *it)
{
    axo_stats stats = AXO_STATS(.sent = 0);
    assert_int_equal(axo_system_stats(it->system, &stats), AXO_OK);
    return stats.parks;
}

/* One worker, and it sleeps when the message comes. */
static void a_wake_is_counted(void **state)
{
    race *it = race_start(state, &race_class);
    int64_t limit = axo__os_now() + RACE_LIMIT_NS;
    for (uint32_t i = 0; i < RACE_PINGS; i++) {
        uint64_t parks = race_parks(it);
        assert_int_equal(axo_system_send(it->system, it->target, RACE_TAG, NULL, 0), AXO_OK);
        race_await(&it->handled, i + 1);
        while (race_parks(it) == parks) {
            assert_true(axo__os_now() < limit);
            (void)sched_yield();
        }
    }
    axo_stats stats = race_finish(it);
    assert_true(stats.wakes > 0);
    assert_true(stats.wakes <= stats.parks);
    assert_int_equal(stats.handled, RACE_PINGS);
    free(it);
}

/* ---- a stop of /user that shows nowhere else ---- */

/* Its runner has taken the stop and not said TERMINATING yet: `refused` alone keeps a spawn out
 * (SH-04). */
static void a_spawn_in_the_moment_of_the_stop(void **state)
{
    race *it = race_start(state, &race_class);
    axo_props props = AXO_PROPS(.cls = &race_class, .args = it);
    axo_ref born = {.bits = 1};
    axo__a32_store_relaxed(&it->system->refused[AXO_GUARDIAN_USER], 1);
    assert_int_equal(axo_system_spawn(it->system, &props, &born), AXO_ESTOPPING);
    (void)race_finish(it);
    free(it);
}

#define RACE_TEST(name, function, n)                                                               \
    {                                                                                              \
        name " [" #n "]", function, NULL, NULL, (void *)(uintptr_t)(n)                             \
    }

static const struct CMUnitTest tests[] = {
    RACE_TEST("pushed_after_the_end", pushed_after_the_end, 1),
    RACE_TEST("pushed_after_the_end", pushed_after_the_end, 2),
    RACE_TEST("pushed_after_the_end", pushed_after_the_end, 4),
    RACE_TEST("a_grace_period_waits_for_every_door", a_grace_period_waits_for_every_door, 1),
    RACE_TEST("a_taken_door_is_passed_by", a_taken_door_is_passed_by, 1),
    RACE_TEST("a_call_waits_for_a_door", a_call_waits_for_a_door, 1),
    RACE_TEST("a_wake_is_counted", a_wake_is_counted, 1),
    RACE_TEST("a_spawn_in_the_moment_of_the_stop", a_spawn_in_the_moment_of_the_stop, 1),
};
TEST_MAIN(tests)
