/* scenes_lent.c - lent threads: visitors that come only when they are asked, against senders, one
 * another, the host and the end; and their grace periods. */
#include "scenes.h"

#include "sched/lent.h"
#include "system/system.h"

static uint32_t asked;   /* visits that are due */
static uint32_t visits;  /* that are on */
static uint32_t sending; /* threads that may still ask */
static axo_ref targets[2];

static void lent_asked(void *user, uint32_t how_many)
{
    asked += how_many;
}

static axo__sched *lent_sched(void)
{
    return &at.system->sched;
}

static axo_status lent_visit(uint32_t slot, uint64_t turns_max)
{
    asked -= asked > 0;
    visits++;
    axo_status status = axo__lent_run(lent_sched(), slot, -1, turns_max, NULL);
    visits--;
    CHECK(status == AXO_OK || status == AXO_EBUSY);
    return status;
}

static void lent_rest(void)
{
    while (asked > 0)
        (void)lent_visit(0, UINT64_MAX);
}

static void lent_boot(uint32_t slots)
{
    axo_options options =
        AXO_OPTIONS(.workers = slots, .threads = AXO_THREADS_LENT, .on_work = lent_asked);
    asked = visits = sending = 0;
    stage_boot_with(options);
    lent_rest();
}

static axo_ref lent_spawn(const axo_class *cls)
{
    axo_ref ref = stage_spawn(cls, NULL);
    lent_rest();
    return ref;
}

/* Comes when asked, to one slot after the other, every second time for one turn; ends when nobody
 * can ask any more. */
static void lent_visitor(void *arg)
{
    uint32_t slots = lent_sched()->worker_count;
    for (uint32_t i = *(const uint32_t *)arg; asked > 0 || visits > 0 || sending > 0; i++) {
        if (asked == 0)
            axo__sim_relax();
        else
            (void)lent_visit(i % slots, i % 2 == 0 ? UINT64_MAX : 1);
    }
}

static void lent_sender(void *arg)
{
    CHECK(stage_send(*(const axo_ref *)arg, 1) == AXO_OK);
    sending--;
}

/* All that was sent has been handled, though nobody came who was not asked. */
static void lent_is_at_rest(void)
{
    uint32_t parked = 0;
    const axo__sched *sched = lent_sched();
    CHECK_SAME(asked, 0);
    CHECK_SAME(at.handled + at.dead, at.sent);
    for (uint32_t i = 0; i < sched->worker_count; i++) {
        uint32_t is = axo__a32_load_relaxed(&sched->workers[i].state);
        CHECK(is == AXO__WORKER_PARKED || is == AXO__WORKER_ABSENT);
        parked += is == AXO__WORKER_PARKED;
    }
    CHECK_SAME(axo__a32_load_relaxed(&sched->parked), parked);
    CHECK_SAME(axo__a32_load_relaxed(&sched->searching), 0);
    stage_account();
}

static void lent_go(uint32_t senders, uint32_t visitors)
{
    static uint32_t first[] = {0, 1, 2};
    sending = senders;
    for (uint32_t i = 0; i < senders; i++)
        stage_thread("sender", lent_sender, &targets[i % 2]);
    for (uint32_t i = 0; i < visitors; i++)
        stage_thread("visitor", lent_visitor, &first[i]);
    stage_go();
}

/* ---- two slots ---- */

static axo_status relay_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    at.handled++;
    if (message->tag == 1) {
        at.sent += 2;
        CHECK(axo_send(ctx, targets[1], 2, NULL, 0) == AXO_OK);
        CHECK(axo_send(ctx, axo_self(ctx), 2, NULL, 0) == AXO_OK);
    }
    return AXO_OK;
}

static const axo_class relay_class = AXO_CLASS(.name = "relay", .receive = relay_receive);

static void play_lent(void)
{
    lent_boot(2);
    targets[0] = lent_spawn(&relay_class);
    targets[1] = lent_spawn(&stage_counter);
    lent_go(2, 2);
    lent_is_at_rest();
    stage_end();
}

const stage_scene scene_lent = {.name = "lent",
                                .what = "visitors that come when they are asked",
                                .play = play_lent,
                                .bound = 1};

/* ---- one slot, which two threads come to: the one that is refused has knocked ---- */

static void play_knock(void)
{
    lent_boot(1);
    targets[0] = targets[1] = lent_spawn(&stage_counter);
    lent_go(2, 2);
    lent_is_at_rest();
    stage_end();
}

const stage_scene scene_knock = {
    .name = "lent-knock", .what = "two visitors of one slot", .play = play_knock, .bound = 1};

/* ---- the last of them leaves while the system is stopped and destroyed ---- */

static void last_visitor(void *arg)
{
    CHECK(axo_worker_run(at.system, 0, -1, NULL) == AXO_OK);
}

/* The visitor is in the slot. */
static void last_stopper(void *arg)
{
    while (at.handled == 0)
        axo__sim_relax();
    CHECK(axo_system_stop(at.system, -1, NULL, 0, NULL) == AXO_OK);
    CHECK(axo_worker_run(at.system, 1, -1, NULL) == AXO_ESTOPPING);
    stage_account();
    CHECK(axo_system_destroy(at.system) == AXO_OK);
}

static void play_last(void)
{
    lent_boot(2);
    targets[0] = lent_spawn(&stage_counter);
    CHECK(stage_send(targets[0], 1) == AXO_OK);
    stage_thread("visitor", last_visitor, NULL);
    stage_thread("stopper", last_stopper, NULL);
    stage_go_within(INT64_C(1000000000)); /* the stopper looks again by the clock */
    CHECK_SAME(axo__sim_started(), 0);
    CHECK_SAME(at.blocks, 0);
    CHECK_SAME(at.bytes, 0);
}

const stage_scene scene_last = {
    .name = "lent-end", .what = "a visit against the end", .play = play_last, .bound = 1};

/* ---- the host takes the node of a dead cell that a visitor is about to give back ---- */

static void lent_host(void *arg)
{
    uint64_t turns;
    CHECK(axo_step_host(at.system, 8, &turns) == AXO_OK);
    sending--;
}

static void play_lent_host(void)
{
    static uint32_t first = 0;
    axo_props props = AXO_PROPS(.cls = &stage_counter, .dispatcher = AXO_DISPATCH_HOST);
    lent_boot(1);
    CHECK(axo_system_spawn(at.system, &props, &targets[0]) == AXO_OK);
    lent_rest();
    CHECK(axo_run_host(at.system, -1, NULL) == AXO_OK);
    lent_rest();
    CHECK(stage_send(targets[0], 1) == AXO_OK);
    CHECK(axo_system_stop_actor(at.system, targets[0]) == AXO_OK);
    lent_rest();
    uint64_t turns;
    CHECK(axo_step_host(at.system, 1, &turns) == AXO_OK);
    sending = 1;
    stage_thread("host", lent_host, NULL);
    stage_thread("visitor", lent_visitor, &first);
    stage_go();
    CHECK(at.system->core.held == NULL);
    lent_is_at_rest();
    stage_end();
}

const stage_scene scene_lent_host = {.name = "lent-host",
                                     .what =
                                         "the host takes a dead cell's node from under a visitor",
                                     .play = play_lent_host,
                                     .bound = 2};

/* ---- a thread is in a slot to send to many, and others come to run them ---- */

static void lent_caller(void *arg)
{
    axo_ref to[5];
    uint32_t accepted;
    for (uint32_t i = 0; i < 5; i++)
        to[i] = targets[i % 2];
    CHECK(axo_group_send_many(arg, to, 5, 1, NULL, 0, &accepted) == AXO_OK);
    CHECK_SAME(accepted, 5);
    at.sent += 5;
    sending--;
}

static void play_lent_crew(void)
{
    static uint32_t first[] = {0, 1};
    axo_group *group;
    lent_boot(2);
    targets[0] = lent_spawn(&stage_counter);
    targets[1] = lent_spawn(&stage_counter);
    CHECK(axo_group_make(at.system, &group) == AXO_OK);
    sending = 1;
    stage_thread("caller", lent_caller, group);
    for (uint32_t i = 0; i < 2; i++)
        stage_thread("visitor", lent_visitor, &first[i]);
    stage_go_within(INT64_C(1000000000));
    CHECK_SAME(axo__sim_started(), 0);
    CHECK_SAME(at.handled, 5);
    CHECK_SAME(axo_group_count(group), 0);
    CHECK(axo_group_free(group) == AXO_OK);
    lent_is_at_rest();
    stage_end();
}

const stage_scene scene_lent_crew = {.name = "lent-crew",
                                     .what = "a call that is in a slot, and two visitors",
                                     .play = play_lent_crew,
                                     .bound = 1};

/* ---- grace periods without a reclaimer ---- */

typedef struct polled_thing {
    axo__grace_item item; /* first */
    uint32_t dead;
} polled_thing;

static axo__grace polled;
static axo__grace_reader polled_readers[2];
static axo__os_gate polled_door;
static polled_thing polled_things[2];
static axo__aptr polled_current;

static void polled_pass(void *user)
{
}

static void polled_expire(void *user, uint32_t home, axo__grace_item *items, axo__grace_item *last)
{
    (void)home;
    for (; items != NULL; items = items->next)
        ((polled_thing *)(void *)items)->dead++;
}

static void polled_give(void *user, axo__grace_block *block)
{
}

static bool polled_heard(void *user, uint64_t period)
{
    return axo__grace_is_heard(&polled_readers[0], period) &&
           axo__grace_is_heard(&polled_readers[1], period);
}

static bool polled_try_pass(void *user, uint32_t *door)
{
    if (*door > 0)
        return true;
    if (!axo__os_gate_try(&polled_door))
        return false;
    axo__os_gate_leave(&polled_door);
    ++*door;
    return true;
}

static void polled_look(void)
{
    const polled_thing *it = axo__aptr_load_acquire(&polled_current);
    AXO__YIELD_POINT();
    CHECK_SAME(it->dead, 0);
}

/* A visit of two turns. */
static void polled_visitor(void *arg)
{
    axo__grace_reader *reader = arg;
    axo__grace_visit(&polled, reader);
    polled_look();
    axo__grace_heard(&polled, reader);
    polled_look();
    (void)axo__grace_poll(&polled, reader);
    polled_look();
    axo__grace_away(reader);
    (void)axo__grace_poll(&polled, NULL);
}

/* Another one, which makes what the first one reads old. */
static void polled_writer(void *arg)
{
    axo__grace_reader *reader = arg;
    axo__grace_visit(&polled, reader);
    polled_thing *old = axo__aptr_xchg_acq_rel(&polled_current, &polled_things[1]);
    axo__grace_retire(&polled, 0, &old->item, &old->item);
    (void)axo__grace_poll(&polled, reader);
    axo__grace_away(reader);
    (void)axo__grace_poll(&polled, NULL);
}

static void polled_caller(void *arg)
{
    axo__os_gate_enter(&polled_door);
    polled_look();
    axo__os_gate_leave(&polled_door);
}

static void polled_begin(void)
{
    static const axo__grace_ops ops = {.pass = polled_pass,
                                       .expire = polled_expire,
                                       .give_block = polled_give,
                                       .heard = polled_heard,
                                       .try_pass = polled_try_pass};
    memset(polled_things, 0, sizeof polled_things);
    memset((void *)polled_readers, 0, sizeof polled_readers);
    memset((void *)&polled_door, 0, sizeof polled_door);
    axo__aptr_store_relaxed(&polled_current, &polled_things[0]);
    CHECK(axo__grace_start(&polled, &ops, AXO__GRACE_POLLED, NULL, NULL));
}

static void polled_end(void)
{
    axo__grace_stop(&polled);
    CHECK_SAME(polled_things[0].dead, 1);
    CHECK_SAME(polled_things[1].dead, 0);
    axo__os_gate_fini(&polled_door);
}

/* Who leaves last finds what waits: nobody else comes. */
static void play_polled(void)
{
    polled_begin();
    stage_thread("visitor", polled_visitor, &polled_readers[0]);
    stage_thread("writer", polled_writer, &polled_readers[1]);
    stage_go();
    CHECK_SAME(polled_things[0].dead, 1);
    polled_end();
}

const stage_scene scene_polled = {.name = "polled",
                                  .what = "a reader that visits, and one that polls",
                                  .play = play_polled,
                                  .bound = 3};

static void play_polled_door(void)
{
    polled_begin();
    stage_thread("visitor", polled_visitor, &polled_readers[0]);
    stage_thread("writer", polled_writer, &polled_readers[1]);
    stage_thread("caller", polled_caller, NULL);
    stage_go();
    polled_end();
}

const stage_scene scene_polled_door = {.name = "polled-door",
                                       .what = "the same, beside a thread in a door",
                                       .play = play_polled_door,
                                       .bound = 2};
