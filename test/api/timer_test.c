/* timer_test.c - time.h in a manual system whose clock is the test's: exact times, what is refused,
 * limits, memory; and, on threads, cancels against firings. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <pthread.h>

#include <axo/axo.h>

#include "support/cmocka.h"

#define MS INT64_C(1000000)
#define TICK AXO_TICK_NS
#define EPOCH (INT64_C(1000) * 1000 * MS)
#define BIG 5000 /* a payload that comes straight from the allocator */

enum { RUN = 1, NOTE = 2, QUIET = AXO_TAG_QUIET | 3 };

/* ---- a world with a clock ---- */

typedef struct clockwork {
    int64_t now;
    axo_system *system;
    axo_ref actor;
    _Atomic bool dry;
    uint64_t notes;    /* messages NOTE */
    uint64_t timeouts;
    uint64_t quiet;
    int64_t last;      /* when the latest of them came */
    uint64_t dead;
    uint64_t suppressed;
} clockwork;

typedef struct order {
    axo_status (*fn)(axo_ctx *ctx, clockwork *w, void *arg);
    void *arg;
} order;

static int64_t world_now(void *user)
{
    return ((clockwork *)user)->now;
}

static void *world_alloc(void *user, size_t size, size_t align)
{
    void *block;
    if (atomic_load(&((clockwork *)user)->dry))
        return NULL;
    return posix_memalign(&block, align < sizeof(void *) ? sizeof(void *) : align, size) == 0
               ? block
               : NULL;
}

static void world_free(void *user, void *block, size_t size, size_t align)
{
    free(block);
}

static void world_dead(void *user, const axo_dead_letter *letter)
{
    clockwork *w = user;
    w->dead++;
    w->suppressed += letter->suppressed;
}

static axo_status actor_construct(axo_ctx *ctx, void *state, const void *args)
{
    memcpy(state, args, sizeof(clockwork *));
    return AXO_OK;
}

static axo_status actor_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    clockwork *w;
    memcpy(&w, state, sizeof w);
    if (message->tag == RUN) {
        const order *what = message->payload;
        return what->fn(ctx, w, what->arg);
    }
    w->notes += message->tag == NOTE;
    w->timeouts += message->tag == AXO_RECEIVE_TIMEOUT;
    w->quiet += message->tag == QUIET;
    w->last = w->now;
    return AXO_OK;
}

static const axo_class actor_class =
    AXO_CLASS(.name = "actor", .state_size = sizeof(clockwork *), .construct = actor_construct,
              .receive = actor_receive);

static void world_run(clockwork *w)
{
    assert_int_equal(axo_run_host(w->system, -1, NULL), AXO_OK);
}

static axo_ref world_spawn(clockwork *w)
{
    axo_ref ref;
    axo_props props = AXO_PROPS(.cls = &actor_class, .args = &w, .args_size = sizeof w);
    assert_int_equal(axo_system_spawn(w->system, &props, &ref), AXO_OK);
    world_run(w);
    return ref;
}

static void world_open(clockwork *w, uint32_t timers_max)
{
    axo_options options = AXO_OPTIONS(
        .manual = 1, .clock = world_now, .clock_user = w, .timers_max = timers_max,
        .on_dead_letter = world_dead, .dead_letter_user = w,
        .allocator = {.alloc = world_alloc, .free = world_free, .user = w});
    memset((void *)w, 0, sizeof *w);
    w->now = EPOCH;
    assert_int_equal(axo_system_start(&options, &w->system), AXO_OK);
    w->actor = world_spawn(w);
}

static axo_stats world_stats(clockwork *w)
{
    axo_stats stats = AXO_STATS(0);
    assert_int_equal(axo_system_stats(w->system, &stats), AXO_OK);
    return stats;
}

static void world_balance(clockwork *w)
{
    axo_stats stats = world_stats(w);
    assert_int_equal(stats.sent, stats.handled + stats.dead + stats.dropped);
}

static void world_close(clockwork *w)
{
    world_balance(w);
    assert_int_equal(axo_system_shutdown(w->system), AXO_OK);
    while (axo_system_wait(w->system, 0, NULL) != AXO_OK)
        world_run(w);
    world_balance(w);
    assert_int_equal(axo_system_destroy(w->system), AXO_OK);
}

/* From deadline to deadline, as a main loop does. */
static void world_advance(clockwork *w, int64_t to)
{
    for (;;) {
        int64_t deadline = axo_host_deadline(w->system);
        if (deadline > to)
            break;
        if (deadline > w->now)
            w->now = deadline;
        world_run(w);
    }
    w->now = to;
    world_run(w);
}

/* Runs fn in the actor. */
static void world_do(clockwork *w, axo_status (*fn)(axo_ctx *, clockwork *, void *), void *arg)
{
    order what = {.fn = fn, .arg = arg};
    assert_int_equal(axo_system_send(w->system, w->actor, RUN, &what, sizeof what), AXO_OK);
    world_run(w);
}

static axo_timer world_once(clockwork *w, int64_t delay)
{
    axo_timer timer;
    assert_int_equal(axo_system_schedule_once(w->system, delay, w->actor, NOTE, NULL, 0, &timer),
                     AXO_OK);
    return timer;
}

/* ---- exact times ---- */

static void never_early_one_tick_late(void **state)
{
    static const int64_t delays[] = {0, 1, TICK - 1, TICK, TICK + 1, 3 * MS, 63 * TICK, 64 * TICK,
                                     5000 * TICK + 17, INT64_C(262144) * TICK - 1,
                                     INT64_C(86400) * 1000 * MS * 365};
    clockwork w;
    world_open(&w, 0);
    for (size_t i = 0; i < sizeof delays / sizeof delays[0]; i++) {
        w.now += 12345;
        int64_t due = w.now + delays[i];
        uint64_t before = w.notes;
        (void)world_once(&w, delays[i]);
        assert_true(axo_host_deadline(w.system) <= due + TICK);
        if (delays[i] > 0)
            world_advance(&w, due - 1);
        assert_int_equal(w.notes, before);
        world_advance(&w, due + TICK - 1);
        assert_int_equal(w.notes, before + 1);
        assert_true(w.last >= due);
    }
    assert_true(axo_host_deadline(w.system) == INT64_MAX);
    world_close(&w);
}

/* Nothing is due: nothing is to be run, for as long as it takes. */
static void sleeps_until_the_tick(void **state)
{
    clockwork w;
    world_open(&w, 0);
    uint64_t runs = 0;
    axo_timer far = world_once(&w, INT64_C(86400) * 1000 * MS);
    (void)world_once(&w, 1000 * MS);
    int64_t due = w.now + INT64_C(86400) * 1000 * MS;
    for (; axo_host_deadline(w.system) != INT64_MAX && w.notes < 2; runs++) {
        if (axo_host_deadline(w.system) > w.now)
            w.now = axo_host_deadline(w.system);
        world_run(&w);
    }
    assert_int_equal(w.notes, 2);
    assert_true(w.now >= due && w.now < due + TICK);
    assert_true(runs <= 6);
    assert_false(axo_system_timer_cancel(w.system, far));
    world_close(&w);
}

/* TM-10: a clock that jumps over a hundred periods. */
static void rate_catches_up_delay_does_not(void **state)
{
    for (int rate = 0; rate < 2; rate++) {
        clockwork w;
        axo_timer timer;
        world_open(&w, 0);
        int64_t start = w.now;
        assert_int_equal((rate ? axo_system_schedule_fixed_rate : axo_system_schedule_fixed_delay)(
                             w.system, 10 * MS, 10 * MS, w.actor, NOTE, NULL, 0, &timer), AXO_OK);
        w.now = start + 1000 * MS + TICK; /* oversleeps */
        while (axo_host_deadline(w.system) <= w.now)
            world_run(&w);
        assert_int_equal(w.notes, rate ? 100 : 1);
        world_advance(&w, start + 1000 * MS + 9 * MS);
        assert_int_equal(w.notes, rate ? 100 : 1);
        world_advance(&w, start + 1010 * MS + 2 * TICK);
        assert_int_equal(w.notes, rate ? 101 : 2);
        assert_true(axo_system_timer_cancel(w.system, timer));
        assert_true(axo_host_deadline(w.system) == INT64_MAX);
        world_close(&w);
    }
}

static axo_status set_timeout(axo_ctx *ctx, clockwork *w, void *arg)
{
    return axo_receive_timeout(ctx, *(const int64_t *)arg);
}

/* RT-01, RT-02: messages move it, quiet ones do not, it repeats. */
static void receive_timeout_exact(void **state)
{
    clockwork w;
    int64_t after = 10 * MS;
    int64_t off = 0;
    world_open(&w, 0);
    world_do(&w, set_timeout, &after);
    for (int i = 0; i < 50; i++) {
        world_advance(&w, w.now + 9 * MS);
        assert_int_equal(axo_system_send(w.system, w.actor, NOTE, NULL, 0), AXO_OK);
        world_run(&w);
    }
    assert_int_equal(w.timeouts, 0);
    int64_t last = w.now;
    world_advance(&w, last + after - 1);
    assert_int_equal(w.timeouts, 0);
    world_advance(&w, last + after + TICK);
    assert_int_equal(w.timeouts, 1);
    last = w.last;
    for (int i = 0; i < 9; i++) {
        world_advance(&w, last + (i + 1) * MS);
        assert_int_equal(axo_system_send(w.system, w.actor, QUIET, NULL, 0), AXO_OK);
        world_run(&w);
    }
    assert_int_equal(w.timeouts, 1);
    world_advance(&w, last + after + TICK);
    assert_int_equal(w.timeouts, 2);
    assert_int_equal(w.quiet, 9);
    world_do(&w, set_timeout, &off);
    assert_true(axo_host_deadline(w.system) == INT64_MAX);
    world_advance(&w, w.now + 100 * after);
    assert_int_equal(w.timeouts, 2);
    world_close(&w);
}

/* Shorter comes sooner, longer later, whatever was armed. */
static void receive_timeout_changed(void **state)
{
    clockwork w;
    int64_t longer = 1000 * MS;
    int64_t shorter = 10 * MS;
    world_open(&w, 0);
    world_do(&w, set_timeout, &longer);
    world_do(&w, set_timeout, &shorter);
    world_advance(&w, w.now + shorter + TICK);
    assert_int_equal(w.timeouts, 1);
    world_do(&w, set_timeout, &longer);
    int64_t set = w.now;
    world_advance(&w, set + longer - 1);
    assert_int_equal(w.timeouts, 1);
    world_advance(&w, set + longer + TICK);
    assert_int_equal(w.timeouts, 2);
    world_close(&w);
}

/* ---- what is refused ---- */

#define IS(expression, expected) ((expression) == (expected) ? 0 : __LINE__)

static axo_status misuse_inside(axo_ctx *ctx, clockwork *w, void *arg)
{
    axo_ref to = w->actor;
    axo_ref none = axo_ref_none();
    axo_timer t = {.bits = 7, .bits2 = 7};
    axo_timer bad = {.bits = 1, .bits2 = UINT64_MAX};
    int64_t far = AXO_DELAY_MAX + 1;
    int lines[] = {
        IS(axo_schedule_once(NULL, 0, to, NOTE, NULL, 0, &t), AXO_ECONTEXT),
        IS(t.bits | t.bits2, 0),
        IS(axo_schedule_once(ctx, -1, to, NOTE, NULL, 0, NULL), AXO_EINVAL),
        IS(axo_schedule_once(ctx, far, to, NOTE, NULL, 0, NULL), AXO_EINVAL),
        IS(axo_send_after(ctx, INT64_MAX, to, NOTE, NULL, 0), AXO_EINVAL),
        IS(axo_schedule_once(ctx, 0, none, NOTE, NULL, 0, NULL), AXO_EINVAL),
        IS(axo_schedule_once(ctx, 0, to, AXO_TAG_RESERVED, NULL, 0, NULL), AXO_EINVAL),
        IS(axo_schedule_once(ctx, 0, to, AXO_RECEIVE_TIMEOUT, NULL, 0, NULL), AXO_EINVAL),
        IS(axo_schedule_once(ctx, 0, to, AXO_TIMER_POISON, &far, 8, NULL), AXO_EINVAL),
        IS(axo_schedule_once(ctx, 0, to, NOTE, NULL, 8, NULL), AXO_EINVAL),
        IS(axo_schedule_once(ctx, 0, to, NOTE, &far, AXO_PAYLOAD_MAX + 1, NULL), AXO_ETOOBIG),
        IS(axo_schedule_fixed_rate(ctx, 0, 0, to, NOTE, NULL, 0, NULL), AXO_EINVAL),
        IS(axo_schedule_fixed_delay(ctx, 0, -5, to, NOTE, NULL, 0, NULL), AXO_EINVAL),
        IS(axo_schedule_fixed_delay(ctx, 0, far, to, NOTE, NULL, 0, NULL), AXO_EINVAL),
        IS(axo_schedule_fixed_delay(ctx, far, 1, to, NOTE, NULL, 0, NULL), AXO_EINVAL),
        IS(axo_timer_cancel(ctx, (axo_timer){0, 0}), false),
        IS(axo_timer_cancel(ctx, bad), false),
        IS(axo_timer_at_close(ctx, bad), false),
        IS(axo_timer_cancel(NULL, bad), false),
        IS(axo_timer_start(NULL, 1, AXO_TIMER_ONCE, 0, 0, NOTE, NULL, 0), AXO_ECONTEXT),
        IS(axo_timer_start(ctx, 1, (axo_timer_kind)3, 0, 1, NOTE, NULL, 0), AXO_EINVAL),
        IS(axo_timer_start(ctx, 1, AXO_TIMER_FIXED_RATE, 0, 0, NOTE, NULL, 0), AXO_EINVAL),
        IS(axo_timer_start(ctx, 1, AXO_TIMER_ONCE, -1, 0, NOTE, NULL, 0), AXO_EINVAL),
        IS(axo_timer_start(ctx, 1, AXO_TIMER_ONCE, 0, 0, AXO_TERMINATED, NULL, 0), AXO_EINVAL),
        IS(axo_timer_stop(ctx, 1), AXO_ENOENT),
        IS(axo_timer_stop(NULL, 1), AXO_ECONTEXT),
        IS(axo_timer_active(ctx, 1), false),
        IS(axo_timer_active(NULL, 1), false),
        IS(axo_receive_timeout(ctx, -1), AXO_EINVAL),
        IS(axo_receive_timeout(ctx, far), AXO_EINVAL),
        IS(axo_receive_timeout(NULL, 1), AXO_ECONTEXT),
    };
    *(int *)arg = 0;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        *(int *)arg = lines[i] != 0 ? lines[i] : *(int *)arg;
    return AXO_OK;
}

static void misuse(void **state)
{
    clockwork w;
    axo_timer t;
    int line = -1;
    world_open(&w, 0);
    world_do(&w, misuse_inside, &line);
    assert_int_equal(line, 0);
    assert_int_equal(axo_system_schedule_once(NULL, 0, w.actor, NOTE, NULL, 0, &t), AXO_EINVAL);
    assert_int_equal(axo_system_schedule_once(w.system, -1, w.actor, NOTE, NULL, 0, &t),
                     AXO_EINVAL);
    assert_int_equal(axo_system_schedule_fixed_rate(w.system, 0, 0, w.actor, NOTE, NULL, 0, &t),
                     AXO_EINVAL);
    assert_int_equal(axo_system_schedule_fixed_delay(w.system, 0, 1, axo_ref_none(), NOTE, NULL, 0,
                                                     &t), AXO_EINVAL);
    assert_false(axo_system_timer_cancel(NULL, t));
    assert_false(axo_system_timer_cancel(w.system, t));
    assert_false(axo_system_timer_at_close(NULL, t));
    assert_false(axo_system_timer_at_close(w.system, t));
    assert_true(axo_host_deadline(w.system) == INT64_MAX);
    world_advance(&w, w.now + 1000 * MS);
    assert_int_equal(w.notes, 0);
    world_close(&w);
}

/* ---- limits and memory ---- */

static void limit(void **state)
{
    clockwork w;
    axo_timer timers[8];
    axo_timer one;
    world_open(&w, 8);
    for (int i = 0; i < 8; i++)
        timers[i] = world_once(&w, MS);
    assert_int_equal(axo_system_schedule_once(w.system, MS, w.actor, NOTE, NULL, 0, &one),
                     AXO_ELIMIT);
    assert_int_equal(one.bits, 0);
    assert_true(axo_system_timer_cancel(w.system, timers[3]));
    (void)world_once(&w, MS);
    world_advance(&w, w.now + 2 * MS);
    assert_int_equal(w.notes, 8);
    for (int i = 0; i < 8; i++)
        assert_false(axo_system_timer_cancel(w.system, timers[i]));
    world_close(&w);
}

/* 90 % are cancelled: the records go back to the allocator, the messages serve the next ones. */
static void memory_comes_back(void **state)
{
    enum { MANY = 200000 };
    clockwork w;
    axo_timer *timers = calloc(MANY, sizeof *timers);
    assert_non_null(timers);
    world_open(&w, 0);
    uint64_t empty = world_stats(&w).memory_bytes;
    for (int i = 0; i < MANY; i++)
        timers[i] = world_once(&w, (1 + i % 1000) * MS);
    uint64_t full = world_stats(&w).memory_bytes;
    assert_true((full - empty) / MANY < 200);
    for (int i = 0; i < MANY; i++) {
        if (i < MANY / 10 * 9)
            assert_true(axo_system_timer_cancel(w.system, timers[i]));
    }
    uint64_t left = world_stats(&w).memory_bytes;
    assert_true(full - left > (full - empty) / 10 * 4);
    for (int i = 0; i < MANY / 10 * 9; i++)
        timers[i] = world_once(&w, (1 + i % 1000) * MS);
    assert_true(world_stats(&w).memory_bytes <= full + 100000);
    world_advance(&w, w.now + 1001 * MS);
    assert_int_equal(w.notes, MANY);
    world_close(&w);
    free(timers);
}

static axo_status big_key(axo_ctx *ctx, clockwork *w, void *arg)
{
    static const char payload[BIG];
    *(axo_status *)arg =
        axo_timer_start(ctx, 1, AXO_TIMER_ONCE, MS, 0, NOTE, payload, sizeof payload);
    return AXO_OK;
}

static axo_status small_key(axo_ctx *ctx, clockwork *w, void *arg)
{
    *(axo_status *)arg = axo_timer_start(ctx, 1, AXO_TIMER_ONCE, 2 * MS, 0, NOTE, NULL, 0);
    return AXO_OK;
}

/* A start that fails leaves the old one; a tick without memory is dropped, the next one comes. */
static void no_memory(void **state)
{
    static const char payload[BIG];
    clockwork w;
    axo_timer timer;
    axo_status status = AXO_OK;
    world_open(&w, 0);
    world_do(&w, small_key, &status);
    assert_int_equal(status, AXO_OK);
    assert_int_equal(axo_system_schedule_fixed_rate(w.system, 10 * MS, 10 * MS, w.actor, NOTE,
                                                    payload, BIG, &timer), AXO_OK);
    int64_t start = w.now;
    atomic_store(&w.dry, true);
    world_do(&w, big_key, &status);
    assert_int_equal(status, AXO_ENOMEM);
    assert_int_equal(axo_system_schedule_once(w.system, 0, w.actor, NOTE, payload, BIG, NULL),
                     AXO_ENOMEM);
    world_advance(&w, start + MS + 2 * TICK);
    assert_int_equal(w.notes, 0);
    world_advance(&w, start + 3 * MS);
    assert_int_equal(w.notes, 1);
    world_advance(&w, start + 25 * MS);
    assert_int_equal(w.notes, 1);
    assert_int_equal(world_stats(&w).dropped, 2);
    atomic_store(&w.dry, false);
    world_advance(&w, start + 31 * MS);
    assert_int_equal(w.notes, 2);
    assert_true(axo_system_timer_cancel(w.system, timer));
    world_close(&w);
}

typedef struct hoard {
    axo_draft *drafts[4096];
    size_t count;
} hoard;

/* Takes every block that a message could have. */
static axo_status hoard_take(axo_ctx *ctx, clockwork *w, void *arg)
{
    hoard *all = arg;
    void *room;
    atomic_store(&w->dry, true);
    while (axo_message_new(ctx, NOTE, 0, &all->drafts[all->count], &room) == AXO_OK) {
        all->count++;
        assert_true(all->count < sizeof all->drafts / sizeof all->drafts[0]);
    }
    return axo_receive_timeout(ctx, 3 * MS);
}

static axo_status hoard_give(axo_ctx *ctx, clockwork *w, void *arg)
{
    hoard *all = arg;
    while (all->count > 0)
        axo_message_discard(ctx, all->drafts[--all->count]);
    return AXO_OK;
}

/* In a message that leaves no block for a small one behind. */
static void world_do_big(clockwork *w, axo_status (*fn)(axo_ctx *, clockwork *, void *), void *arg)
{
    struct {
        order what;
        char rest[BIG];
    } big;
    memset(&big, 0, sizeof big);
    big.what = (order){.fn = fn, .arg = arg};
    assert_int_equal(axo_system_send(w->system, w->actor, RUN, &big, sizeof big), AXO_OK);
    world_run(w);
}

/* It comes when there is memory again, though the actor was told nothing meanwhile. */
static void no_memory_for_a_receive_timeout(void **state)
{
    clockwork w;
    int64_t after = 3 * MS;
    hoard *all = calloc(1, sizeof *all);
    assert_non_null(all);
    world_open(&w, 0);
    world_do(&w, set_timeout, &after);
    world_do_big(&w, hoard_take, all);
    world_advance(&w, w.now + 10 * MS);
    assert_int_equal(w.timeouts, 0);
    atomic_store(&w.dry, false);
    world_do_big(&w, hoard_give, all);
    world_advance(&w, w.now + 10 * MS);
    assert_true(w.timeouts >= 2);
    world_close(&w);
    free(all);
}

/* ---- the end ---- */

/* What waits at the end is dropped, and a receiver that is gone is a dead letter for a raw timer
 * and nothing for a receive timeout. */
static void the_gone(void **state)
{
    clockwork w;
    int64_t after = MS;
    world_open(&w, 0);
    world_do(&w, set_timeout, &after);
    (void)world_once(&w, 2 * MS);
    (void)world_once(&w, INT64_C(3600) * 1000 * MS);
    assert_int_equal(axo_system_stop_actor(w.system, w.actor), AXO_OK);
    world_run(&w);
    world_advance(&w, w.now + 5 * MS);
    assert_int_equal(w.timeouts, 0);
    assert_int_equal(w.dead, 1);
    assert_int_equal(w.suppressed, 0);
    world_close(&w);
}

/* ---- cancels against firings, on threads ---- */

enum { RACE = 20000, CANCELLERS = 2 };

typedef struct race {
    axo_system *system;
    axo_timer *timers;
    _Atomic uint64_t fired;
    _Atomic uint64_t cancelled;
} race;

static axo_status race_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    race *r;
    memcpy(&r, message->payload, sizeof r);
    atomic_fetch_add(&r->fired, 1);
    return AXO_OK;
}

static void *race_cancel(void *arg)
{
    race *r = arg;
    for (uint32_t i = 0; i < RACE; i++) {
        uint32_t at = (uint32_t)(i * UINT64_C(7919) % RACE);
        if (axo_system_timer_cancel(r->system, r->timers[at]))
            atomic_fetch_add(&r->cancelled, 1);
    }
    return NULL;
}

static void exactly_one_wins(void **state)
{
    static const axo_class cls = AXO_CLASS(.name = "racer", .receive = race_receive);
    race r = {.timers = calloc(RACE, sizeof(axo_timer))};
    race *self = &r;
    axo_options options = AXO_OPTIONS(.workers = 2);
    axo_props props = AXO_PROPS(.cls = &cls);
    axo_stats stats = AXO_STATS(0);
    pthread_t threads[CANCELLERS];
    axo_ref to;
    assert_non_null(r.timers);
    assert_int_equal(axo_system_start(&options, &r.system), AXO_OK);
    assert_int_equal(axo_system_spawn(r.system, &props, &to), AXO_OK);
    for (uint32_t i = 0; i < RACE; i++)
        assert_int_equal(axo_system_schedule_once(r.system, i % 64 * TICK, to, NOTE, &self,
                                                  sizeof self, &r.timers[i]), AXO_OK);
    for (uint32_t i = 0; i < CANCELLERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, race_cancel, &r), 0);
    for (uint32_t i = 0; i < CANCELLERS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(axo_system_stop(r.system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_stats(r.system, &stats), AXO_OK);
    assert_int_equal(stats.sent, stats.handled + stats.dead + stats.dropped);
    assert_int_equal(stats.handled, r.fired);
    assert_int_equal(stats.sent + r.cancelled, RACE);
    assert_int_equal(axo_system_destroy(r.system), AXO_OK);
    free(r.timers);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(never_early_one_tick_late),
        cmocka_unit_test(sleeps_until_the_tick),
        cmocka_unit_test(rate_catches_up_delay_does_not),
        cmocka_unit_test(receive_timeout_exact),
        cmocka_unit_test(receive_timeout_changed),
        cmocka_unit_test(misuse),
        cmocka_unit_test(limit),
        cmocka_unit_test(memory_comes_back),
        cmocka_unit_test(no_memory),
    cmocka_unit_test(no_memory_for_a_receive_timeout),
        cmocka_unit_test(the_gone),
        cmocka_unit_test(exactly_one_wins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
