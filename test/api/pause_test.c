/* pause_test.c - a subtree is paused and goes on as if nothing had happened: messages, timers of
 * each kind, failures, births, ends; and what axo_system_visit shows meanwhile. */
#include <string.h>

#include "support/cmocka.h"

#include <axo/axo.h>
#include <axo/world.h>

enum { DATA = 1, MAKE, FALL, TICK, RATE, TIMEOUT, PAUSE, RESUME, WATCH, STOP, SELF_FALL, ASK };

#define MS INT64_C(1000000)
#define LONG (INT64_C(60000) * MS)

typedef struct world {
    axo_system *system;
    int64_t now;
    uint32_t handled;
    uint32_t order[128]; /* the numbers of what was handled */
    uint32_t begun;
    uint32_t stopped;
    uint32_t timeouts;
    uint32_t ends; /* watched, and told of */
    uint32_t answers;
    axo_status status;
    axo_ref born;
    axo_ref about; /* of PAUSE, RESUME, WATCH, ASK */
    uint32_t shown[5];
    uint32_t suspends;
    int64_t left_ns;
} world;

static world *the;

static const axo_class thing_class;

static axo_status thing_begin(axo_ctx *ctx, void *state)
{
    the->begun++;
    return AXO_OK;
}

static axo_status thing_end(axo_ctx *ctx, void *state)
{
    the->stopped++;
    return AXO_OK;
}

static axo_status thing_make(axo_ctx *ctx)
{
    const axo_props props = AXO_PROPS(.cls = &thing_class);
    return axo_spawn(ctx, &props, &the->born);
}

static void thing_data(const axo_message *message)
{
    assert_true(the->handled < 128);
    the->order[the->handled++] = message->size > 0 ? *AXO_PAYLOAD(message, uint32_t) : 0;
}

static axo_status thing_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    const uint32_t what = 77;
    switch (message->tag) {
    case MAKE:
        return thing_make(ctx);
    case FALL:
        return axo_fail(ctx, 7, "it falls");
    case TICK:
        return axo_timer_start(ctx, 1, AXO_TIMER_ONCE, 30 * MS, 0, DATA, &what, sizeof what);
    case RATE:
        return axo_timer_start(ctx, 2, AXO_TIMER_FIXED_RATE, 30 * MS, 10 * MS, DATA, &what,
                               sizeof what);
    case TIMEOUT:
        return axo_receive_timeout(ctx, 40 * MS);
    case SELF_FALL:
        the->status = axo_pause(ctx, the->about);
        return axo_fail(ctx, 8, "it falls, and is paused");
    case PAUSE:
        the->status = axo_pause(ctx, the->about);
        return AXO_OK;
    case RESUME:
        the->status = axo_resume(ctx, the->about);
        return AXO_OK;
    case WATCH:
        return axo_watch(ctx, the->about);
    case ASK:
        return axo_ask(ctx, the->about, DATA, NULL, 0, 50 * MS, 5);
    case AXO_ASK_FAILED:
        the->answers++;
        return AXO_OK;
    case AXO_RECEIVE_TIMEOUT:
        the->timeouts++;
        return AXO_OK;
    case AXO_TERMINATED:
        the->ends++;
        return AXO_OK;
    default:
        thing_data(message);
        return AXO_OK;
    }
}

static const axo_class thing_class =
    AXO_CLASS(.name = "thing", .receive = thing_receive, .pre_start = thing_begin,
              .post_stop = thing_end);

/* ---- a world ---- */

static int64_t world_clock(void *user)
{
    return ((const world *)user)->now;
}

static void world_begin(world *w)
{
    memset(w, 0, sizeof *w);
    the = w;
    const axo_options options =
        AXO_OPTIONS(.manual = 1, .clock = world_clock, .clock_user = w);
    assert_int_equal(axo_system_start(&options, &w->system), AXO_OK);
}

static void world_end(world *w)
{
    assert_int_equal(axo_system_stop(w->system, -1, NULL, 0, NULL), AXO_OK);
    axo_stats stats = AXO_STATS();
    assert_int_equal(axo_system_stats(w->system, &stats), AXO_OK);
    assert_int_equal(stats.sent, stats.handled + stats.dead + stats.dropped);
    assert_int_equal(stats.timers, 0);
    assert_int_equal(axo_system_destroy(w->system), AXO_OK);
}

static void world_run(const world *w)
{
    assert_int_equal(axo_run_host(w->system, -1, NULL), AXO_OK);
}

/* The game goes on for so long, in frames: a wheel is up to a tick late. */
static void world_pass(world *w, int64_t ms)
{
    for (; ms > 0; ms--) {
        w->now += MS;
        world_run(w);
    }
}

static axo_ref world_spawn(const world *w)
{
    axo_ref out;
    const axo_props props = AXO_PROPS(.cls = &thing_class);
    assert_int_equal(axo_system_spawn(w->system, &props, &out), AXO_OK);
    return out;
}

static void world_send(const world *w, axo_ref to, uint32_t tag, uint32_t what)
{
    assert_int_equal(axo_system_send(w->system, to, tag, &what, sizeof what), AXO_OK);
}

static void world_tell(const world *w, axo_ref to, uint32_t tag)
{
    world_send(w, to, tag, 0);
    world_run(w);
}

static axo_ref world_child(const world *w, axo_ref parent)
{
    world_tell(w, parent, MAKE);
    return w->born;
}

static void world_pause(const world *w, axo_ref top)
{
    assert_int_equal(axo_system_pause(w->system, top, -1), AXO_OK);
}

static void world_resume(const world *w, axo_ref top)
{
    assert_int_equal(axo_system_resume(w->system, top), AXO_OK);
}

static void world_show(void *user, const axo_visited *it)
{
    world *w = user;
    w->shown[it->kind]++;
    if (it->kind == AXO_VISITED_ACTOR)
        w->suspends = it->suspends;
    if (it->kind == AXO_VISITED_TIMER || it->kind == AXO_VISITED_SCHEDULED)
        w->left_ns = it->left_ns;
}

static void world_visit(world *w)
{
    memset(w->shown, 0, sizeof w->shown);
    assert_int_equal(axo_system_visit(w->system, world_show, w), AXO_OK);
}

/* ---- messages ---- */

static void what_comes_waits(void **state)
{
    world w;
    world_begin(&w);
    axo_ref one = world_spawn(&w);
    axo_ref two = world_child(&w, one);
    world_pause(&w, axo_ref_none());
    for (uint32_t i = 0; i < 10; i++)
        world_send(&w, i % 2 == 0 ? one : two, DATA, i);
    world_run(&w);
    assert_int_equal(w.handled, 0);
    world_visit(&w);
    assert_int_equal(w.shown[AXO_VISITED_ACTOR], 2);
    assert_int_equal(w.shown[AXO_VISITED_MESSAGE], 10);
    assert_int_equal(w.suspends, 1);
    world_resume(&w, axo_ref_none());
    world_run(&w);
    assert_int_equal(w.handled, 10);
    uint32_t next[2] = {0, 1}; /* of each, in order; turns of the two may mix */
    for (uint32_t i = 0; i < 10; next[w.order[i] % 2] += 2, i++)
        assert_int_equal(w.order[i], next[w.order[i] % 2]);
    world_visit(&w);
    assert_int_equal(w.suspends, 0);
    world_end(&w);
}

/* In a manual system messages that wait are handled before the pause or behind it. */
static void what_waits_already(void **state)
{
    world w;
    world_begin(&w);
    axo_ref one = world_spawn(&w);
    world_run(&w);
    for (uint32_t i = 0; i < 20; i++)
        world_send(&w, one, DATA, i);
    world_pause(&w, one);
    uint32_t before = w.handled;
    world_run(&w);
    assert_int_equal(w.handled, before);
    world_resume(&w, one);
    world_run(&w);
    assert_int_equal(w.handled, 20);
    for (uint32_t i = 0; i < 20; i++)
        assert_int_equal(w.order[i], i);
    world_end(&w);
}

static void others_go_on(void **state)
{
    world w;
    world_begin(&w);
    axo_ref one = world_spawn(&w);
    axo_ref two = world_spawn(&w);
    axo_ref below = world_child(&w, one);
    world_pause(&w, one);
    world_tell(&w, below, DATA);
    assert_int_equal(w.handled, 0);
    world_tell(&w, two, DATA);
    assert_int_equal(w.handled, 1);
    world_resume(&w, one);
    world_run(&w);
    assert_int_equal(w.handled, 2);
    world_end(&w);
}

static void pauses_within_pauses(void **state)
{
    world w;
    world_begin(&w);
    axo_ref one = world_spawn(&w);
    axo_ref below = world_child(&w, one);
    world_pause(&w, below);
    world_pause(&w, one);
    world_pause(&w, one); /* once is enough */
    world_visit(&w);
    assert_int_equal(w.suspends, 2);
    world_send(&w, below, DATA, 1);
    world_resume(&w, below);
    assert_int_equal(axo_system_resume(w.system, below), AXO_ENOENT);
    world_run(&w);
    assert_int_equal(w.handled, 0);
    world_resume(&w, one);
    world_run(&w);
    assert_int_equal(w.handled, 1);
    assert_int_equal(axo_system_resume(w.system, one), AXO_ENOENT);
    world_end(&w);
}

static void world_count(void *user, const axo_visited *it)
{
    world *w = user;
    if (it->kind == AXO_VISITED_ACTOR)
        w->shown[it->suspends == 1 ? 1 : 0]++;
}

/* More than a turn tells: whoever has returned has found all of them told. */
static void very_many_children(void **state)
{
    world w;
    world_begin(&w);
    axo_ref one = world_spawn(&w);
    world_run(&w);
    for (uint32_t i = 0; i < 700; i++)
        world_send(&w, one, MAKE, 0);
    world_run(&w);
    uint32_t steps = 0;
    for (; axo_system_pause(w.system, one, 0) == AXO_ETIMEDOUT; steps++)
        assert_int_equal(axo_step_host(w.system, 1, NULL), AXO_OK);
    assert_true(steps > 2);
    memset(w.shown, 0, sizeof w.shown);
    assert_int_equal(axo_system_visit(w.system, world_count, &w), AXO_OK);
    assert_int_equal(w.shown[1], 701);
    assert_int_equal(w.shown[0], 0);
    world_resume(&w, one);
    world_tell(&w, w.born, DATA);
    assert_int_equal(w.handled, 1);
    world_end(&w);
}

/* ---- time ---- */

static void timers_stand_still(void **state)
{
    world w;
    const uint32_t what = 5;
    world_begin(&w);
    axo_ref one = world_spawn(&w);
    world_tell(&w, one, TICK);
    world_pass(&w, 20);
    world_pause(&w, axo_ref_none());
    world_pass(&w, 100);
    world_visit(&w);
    assert_int_equal(w.left_ns, 10 * MS);
    assert_int_equal(axo_system_schedule_once(w.system, 15 * MS, one, DATA, &what, sizeof what,
                                              NULL),
                     AXO_OK);
    world_pass(&w, 100);
    world_visit(&w);
    assert_int_equal(w.left_ns, 15 * MS);
    assert_int_equal(w.shown[AXO_VISITED_TIMER] + w.shown[AXO_VISITED_SCHEDULED], 2);
    assert_int_equal(w.shown[AXO_VISITED_MESSAGE], 0);
    world_resume(&w, axo_ref_none());
    world_pass(&w, 9);
    assert_int_equal(w.handled, 0);
    world_pass(&w, 3);
    assert_int_equal(w.handled, 1);
    assert_int_equal(w.order[0], 77);
    world_pass(&w, 6);
    assert_int_equal(w.handled, 2);
    assert_int_equal(w.order[1], 5);
    world_end(&w);
}

/* Those of one that is paused still stand still. */
static void pauses_within_pauses_stand_still(void **state)
{
    world w;
    world_begin(&w);
    axo_ref one = world_spawn(&w);
    axo_ref below = world_child(&w, one);
    world_tell(&w, one, TICK);
    world_tell(&w, below, TICK);
    world_tell(&w, below, TIMEOUT);
    world_pass(&w, 10);
    world_pause(&w, one);
    world_pause(&w, below);
    world_pass(&w, 100);
    world_resume(&w, one);
    world_pass(&w, 100);
    assert_int_equal(w.handled, 1);
    assert_int_equal(w.timeouts, 0);
    world_pause(&w, one);
    world_resume(&w, below);
    world_pass(&w, 100);
    assert_int_equal(w.handled, 1);
    world_resume(&w, one);
    world_pass(&w, 18);
    assert_int_equal(w.handled, 1);
    world_pass(&w, 4);
    assert_int_equal(w.handled, 2);
    assert_int_equal(w.timeouts, 0);
    world_pass(&w, 42); /* from its tick on */
    assert_int_equal(w.timeouts, 1);
    world_end(&w);
}

/* None is caught up on; and the raw one, which belongs to nobody, stands still with who gets it. */
static void periods_stand_still(void **state)
{
    world w;
    const uint32_t what = 5;
    axo_timer raw;
    world_begin(&w);
    axo_ref one = world_spawn(&w);
    world_tell(&w, one, RATE);
    assert_int_equal(axo_system_schedule_fixed_rate(w.system, 35 * MS, 10 * MS, one, DATA, &what,
                                                    sizeof what, &raw),
                     AXO_OK);
    world_pass(&w, 32);
    assert_int_equal(w.handled, 1);
    world_pause(&w, one);
    world_pass(&w, 1000);
    assert_int_equal(w.handled, 1);
    world_resume(&w, one);
    world_run(&w);
    assert_int_equal(w.handled, 1);
    world_pass(&w, 21); /* 35, 40, 45, 50 */
    assert_int_equal(w.handled, 5);
    assert_true(w.order[1] == 5 && w.order[2] == 77 && w.order[3] == 5 && w.order[4] == 77);
    world_end(&w);
}

static void silence_stands_still(void **state)
{
    world w;
    world_begin(&w);
    axo_ref one = world_spawn(&w);
    axo_ref below = world_child(&w, one); /* a leaf that is idle is suspended by its parent */
    world_tell(&w, one, TIMEOUT);
    world_tell(&w, below, TIMEOUT);
    for (uint32_t round = 0; round < 2; round++) {
        world_pass(&w, 15);
        world_pause(&w, one);
        world_pass(&w, 200);
        world_resume(&w, one);
        world_run(&w);
        assert_int_equal(w.timeouts, 0);
    }
    world_pass(&w, 9);
    assert_int_equal(w.timeouts, 0);
    world_pass(&w, 3);
    assert_int_equal(w.timeouts, 2);
    world_end(&w);
}

/* Those of one tick come in the order in which they were set. */
static void order_stays(void **state)
{
    world w;
    world_begin(&w);
    axo_ref one = world_spawn(&w);
    axo_timer timers[8];
    for (uint32_t i = 0; i < 8; i++) /* records that are free again are taken in another order */
        assert_int_equal(axo_system_schedule_once(w.system, LONG, one, DATA, &i, sizeof i,
                                                  &timers[i]),
                         AXO_OK);
    for (uint32_t i = 0; i < 8; i++)
        assert_true(axo_system_timer_cancel(w.system, timers[i]));
    for (uint32_t i = 0; i < 8; i++)
        assert_int_equal(axo_system_schedule_once(w.system, 30 * MS, one, DATA, &i, sizeof i,
                                                  &timers[i]),
                         AXO_OK);
    world_pass(&w, 10);
    world_pause(&w, one);
    assert_true(axo_system_timer_cancel(w.system, timers[3]));
    assert_true(axo_system_timer_cancel(w.system, timers[7]));
    assert_true(axo_system_timer_cancel(w.system, timers[0]));
    world_pass(&w, 100);
    world_resume(&w, one);
    world_pass(&w, 22);
    assert_int_equal(w.handled, 5);
    const uint32_t order[] = {1, 2, 4, 5, 6};
    assert_memory_equal(w.order, order, sizeof order);
    world_end(&w);
}

/* The asker's deadline stands still with it. */
static void asks_stand_still(void **state)
{
    world w;
    world_begin(&w);
    axo_ref mute = world_spawn(&w);
    axo_ref one = world_spawn(&w);
    w.about = mute;
    world_tell(&w, one, ASK);
    world_pass(&w, 30);
    world_pause(&w, axo_ref_none());
    world_pass(&w, 100);
    world_resume(&w, axo_ref_none());
    world_pass(&w, 18);
    assert_int_equal(w.answers, 0);
    world_pass(&w, 4);
    assert_int_equal(w.answers, 1);
    world_end(&w);
}

/* ---- lives ---- */

static void who_is_born_is_paused(void **state)
{
    world w;
    world_begin(&w);
    world_run(&w);
    world_pause(&w, axo_ref_none());
    axo_ref one = world_spawn(&w);
    world_send(&w, one, DATA, 1);
    world_run(&w);
    assert_int_equal(w.begun, 1);
    assert_int_equal(w.handled, 0);
    world_visit(&w);
    assert_int_equal(w.suspends, 1);
    world_resume(&w, axo_ref_none());
    world_run(&w);
    assert_int_equal(w.handled, 1);
    world_end(&w);
}

static void who_ends_ends(void **state)
{
    world w;
    world_begin(&w);
    axo_ref one = world_spawn(&w);
    axo_ref two = world_spawn(&w);
    axo_ref below = world_child(&w, one);
    w.about = below;
    world_tell(&w, two, WATCH);
    world_pause(&w, axo_ref_none());
    world_send(&w, below, DATA, 1); /* a dead letter */
    assert_int_equal(axo_system_stop_actor(w.system, below), AXO_OK);
    world_run(&w);
    assert_int_equal(w.stopped, 1);
    assert_int_equal(w.ends, 0);
    world_resume(&w, axo_ref_none());
    world_run(&w);
    assert_int_equal(w.ends, 1);
    assert_int_equal(w.handled, 0);
    world_pause(&w, one);
    world_end(&w); /* so does a system that is paused */
    assert_int_equal(w.stopped, 3);
}

static void the_top_ends(void **state)
{
    world w;
    const uint32_t what = 5;
    world_begin(&w);
    axo_ref one = world_spawn(&w);
    axo_ref two = world_spawn(&w);
    assert_int_equal(axo_system_schedule_once(w.system, 10 * MS, one, DATA, &what, sizeof what,
                                              NULL),
                     AXO_OK);
    world_run(&w);
    world_pause(&w, one);
    assert_int_equal(axo_system_stop_actor(w.system, one), AXO_OK);
    world_pass(&w, 100);
    axo_stats stats = AXO_STATS();
    assert_int_equal(axo_system_stats(w.system, &stats), AXO_OK);
    assert_int_equal(stats.dead, 0);
    assert_int_equal(axo_system_pause(w.system, one, -1), AXO_EGONE);
    world_pause(&w, two); /* who pauses looks after those that have ended */
    assert_int_equal(axo_system_resume(w.system, one), AXO_ENOENT);
    world_pass(&w, 12);
    assert_int_equal(axo_system_stats(w.system, &stats), AXO_OK);
    assert_int_equal(stats.dead, 1);
    world_resume(&w, two);
    world_pause(&w, two);
    assert_int_equal(axo_system_stop_actor(w.system, two), AXO_OK);
    world_run(&w);
    assert_int_equal(axo_system_resume(w.system, two), AXO_EGONE);
    assert_int_equal(axo_system_resume(w.system, two), AXO_ENOENT);
    world_end(&w);
}

/* Its parent is not paused, and restarts it; the new instance is. */
static void the_top_is_restarted(void **state)
{
    world w;
    world_begin(&w);
    axo_ref one = world_spawn(&w);
    w.about = one;
    world_run(&w);
    world_send(&w, one, SELF_FALL, 0);
    world_send(&w, one, DATA, 1);
    world_run(&w);
    assert_int_equal(w.status, AXO_OK);
    assert_int_equal(w.begun, 2);
    assert_int_equal(w.handled, 0);
    world_pause(&w, one); /* it is, already */
    world_visit(&w);
    assert_int_equal(w.suspends, 1);
    world_resume(&w, one);
    world_run(&w);
    assert_int_equal(w.handled, 1);
    world_end(&w);
}

static void a_failure_waits(void **state)
{
    world w;
    world_begin(&w);
    axo_ref one = world_spawn(&w);
    axo_ref below = world_child(&w, one);
    w.about = one;
    world_send(&w, below, SELF_FALL, 0);
    world_send(&w, below, DATA, 1);
    world_run(&w);
    assert_int_equal(w.status, AXO_OK);
    assert_int_equal(w.begun, 2);
    assert_int_equal(w.handled, 0);
    world_pause(&w, one);
    world_resume(&w, one);
    world_run(&w);
    assert_int_equal(w.begun, 3);
    assert_int_equal(w.handled, 1);
    world_visit(&w);
    assert_int_equal(w.suspends, 0);
    world_end(&w);
}

/* ---- from an actor ---- */

static void an_actor_pauses(void **state)
{
    world w;
    world_begin(&w);
    axo_ref director = world_spawn(&w);
    axo_ref one = world_spawn(&w);
    w.about = one;
    world_tell(&w, director, PAUSE);
    assert_int_equal(w.status, AXO_OK);
    world_tell(&w, one, DATA);
    assert_int_equal(w.handled, 0);
    world_tell(&w, director, RESUME);
    assert_int_equal(w.status, AXO_OK);
    assert_int_equal(w.handled, 1);
    world_tell(&w, director, RESUME);
    assert_int_equal(w.status, AXO_ENOENT);
    w.about = axo_system_guardian(w.system, AXO_GUARDIAN_SYSTEM);
    world_tell(&w, director, PAUSE);
    assert_int_equal(w.status, AXO_EINVAL);
    w.about = axo_ref_none();
    world_tell(&w, director, PAUSE); /* itself, too */
    world_tell(&w, director, DATA);
    assert_int_equal(w.status, AXO_OK);
    assert_int_equal(w.handled, 1);
    world_resume(&w, axo_ref_none());
    world_run(&w);
    assert_int_equal(w.handled, 2);
    world_end(&w);
}

static void what_is_refused(void **state)
{
    world w;
    world_begin(&w);
    axo_ref tops[AXO_PAUSES_MAX + 1];
    for (uint32_t i = 0; i <= AXO_PAUSES_MAX; i++)
        tops[i] = world_spawn(&w);
    world_run(&w);
    for (uint32_t i = 0; i < AXO_PAUSES_MAX; i++)
        world_pause(&w, tops[i]);
    assert_int_equal(axo_system_pause(w.system, tops[AXO_PAUSES_MAX], -1), AXO_ELIMIT);
    world_tell(&w, tops[AXO_PAUSES_MAX], DATA);
    assert_int_equal(w.handled, 1);
    world_resume(&w, tops[0]);
    world_pause(&w, tops[AXO_PAUSES_MAX]);
    assert_int_equal(axo_system_pause(NULL, tops[0], -1), AXO_EINVAL);
    assert_int_equal(axo_system_resume(NULL, tops[0]), AXO_EINVAL);
    const axo_guardian guardians[] = {AXO_GUARDIAN_ROOT, AXO_GUARDIAN_SYSTEM};
    for (uint32_t i = 0; i < 2; i++) {
        axo_ref guardian = axo_system_guardian(w.system, guardians[i]);
        assert_int_equal(axo_system_pause(w.system, guardian, -1), AXO_EINVAL);
        assert_int_equal(axo_system_resume(w.system, guardian), AXO_ENOENT);
    }
    assert_int_equal(axo_pause(NULL, tops[0]), AXO_ECONTEXT);
    assert_int_equal(axo_resume(NULL, tops[0]), AXO_ECONTEXT);
    for (uint32_t i = 1; i <= AXO_PAUSES_MAX; i++)
        world_resume(&w, tops[i]);
    for (uint32_t i = 0; i <= AXO_PAUSES_MAX; i++)
        world_tell(&w, tops[i], DATA);
    assert_int_equal(w.handled, AXO_PAUSES_MAX + 2);
    world_end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_comes_waits),
        cmocka_unit_test(what_waits_already),
        cmocka_unit_test(others_go_on),
        cmocka_unit_test(pauses_within_pauses),
        cmocka_unit_test(very_many_children),
        cmocka_unit_test(timers_stand_still),
        cmocka_unit_test(pauses_within_pauses_stand_still),
        cmocka_unit_test(periods_stand_still),
        cmocka_unit_test(silence_stands_still),
        cmocka_unit_test(order_stays),
        cmocka_unit_test(asks_stand_still),
        cmocka_unit_test(who_is_born_is_paused),
        cmocka_unit_test(who_ends_ends),
        cmocka_unit_test(the_top_ends),
        cmocka_unit_test(the_top_is_restarted),
        cmocka_unit_test(a_failure_waits),
        cmocka_unit_test(an_actor_pauses),
        cmocka_unit_test(what_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
