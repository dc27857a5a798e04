/* service_life_test.c - what belongs to an instance or a state, at every moment of their lives, on
 * virtual time: state timeouts, keyed timers, the receive timeout, the back-off supervisor. */
#include "api/service.h"

enum { LF_A, LF_B, LF_C, LF_STATES };
enum { LF_GO = 100, LF_START, LF_TICK };

/* ---- a machine ------------------------------------------------------------------------------- */

typedef struct lf_door {
    axo_testkit *kit;
    const axo_machine_table *table;
    axo_machine machine; /* not in the state block: the test looks at it */
    int64_t at[8];       /* state timeouts: when */
    uint32_t in[8];      /* and in which state */
    uint32_t count;
    axo_status exit_status; /* of the next on_exit, once */
    axo_status started;
} lf_door;

static lf_door *lf_of(void *state)
{
    return *(lf_door **)state;
}

static axo_status lf_exit(axo_ctx *ctx, void *state)
{
    lf_door *door = lf_of(state);
    axo_status status = door->exit_status;
    (void)ctx;
    door->exit_status = AXO_OK;
    return status;
}

static axo_status lf_handle(axo_ctx *ctx, void *state, const axo_message *message)
{
    lf_door *door = lf_of(state);
    if (message->tag == AXO_STATE_TIMEOUT) {
        assert_true(door->count < 8);
        door->at[door->count] = axo_testkit_now(door->kit);
        door->in[door->count++] = axo_machine_current(&door->machine);
        return AXO_OK;
    }
    return axo_machine_goto(ctx, &door->machine, *AXO_PAYLOAD(message, uint32_t));
}

static axo_status lf_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    lf_door *door = lf_of(state);
    if (message->tag != LF_START)
        return axo_machine_receive(ctx, &door->machine, state, message);
    door->started = axo_machine_start(ctx, &door->machine, door->table, state);
    return AXO_OK;
}

static axo_status lf_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    memcpy(state, args, sizeof(lf_door *));
    return AXO_OK;
}

static const axo_class lf_class = AXO_CLASS(.name = "door", .state_size = sizeof(lf_door *),
                                            .construct = lf_construct, .receive = lf_receive);

static const axo_machine_state lf_states[] = {
    [LF_A] = {.name = "a", .receive = lf_handle, .on_exit = lf_exit, .timeout_ns = 10 * SV_MS},
    [LF_B] = {.name = "b", .receive = lf_handle, .timeout_ns = 40 * SV_MS},
    [LF_C] = {.name = "c", .receive = lf_handle},
};
static const axo_machine_table lf_table = AXO_MACHINE_TABLE(lf_states, LF_A);

static axo_directive lf_resume(axo_ctx *ctx, void *state, const axo_failure *failure, void *user)
{
    (void)ctx, (void)state, (void)failure, (void)user;
    return AXO_RESUME;
}

static axo_ref lf_open(lf_door *door, const axo_options *options)
{
    axo_ref ref;
    memset(door, 0, sizeof *door);
    door->table = &lf_table;
    assert_int_equal(axo_testkit_start(options, &door->kit), AXO_OK);
    axo_props props = AXO_PROPS(.cls = &lf_class, .args = &door, .args_size = sizeof door);
    assert_int_equal(axo_system_spawn(axo_testkit_system(door->kit), &props, &ref), AXO_OK);
    return ref;
}

static void lf_start(const lf_door *door, axo_ref ref)
{
    assert_int_equal(axo_system_send(axo_testkit_system(door->kit), ref, LF_START, NULL, 0),
                     AXO_OK);
    (void)axo_testkit_run(door->kit);
}

static void lf_go(const lf_door *door, axo_ref ref, uint32_t state)
{
    assert_int_equal(axo_system_send(axo_testkit_system(door->kit), ref, LF_GO, &state,
                                     sizeof state), AXO_OK);
    (void)axo_testkit_run(door->kit);
}

/* The timeouts that have come: their number, and of the last one when and in which state. */
static void lf_saw(const lf_door *door, uint32_t count, uint32_t state, int64_t due)
{
    assert_int_equal(door->count, count);
    assert_int_equal(door->in[count - 1], state);
    assert_true(door->at[count - 1] >= due);
    assert_true(door->at[count - 1] <= due + AXO_TICK_NS);
}

static void a_state_lasts_as_long_as_it_says(void **state)
{
    lf_door door;
    axo_ref ref = lf_open(&door, NULL);
    int64_t began = axo_testkit_now(door.kit);
    (void)state;
    lf_start(&door, ref);
    assert_int_equal(door.started, AXO_OK);
    (void)axo_testkit_advance(door.kit, 10 * SV_MS - 1);
    assert_int_equal(door.count, 0);
    (void)axo_testkit_advance(door.kit, AXO_TESTKIT_FOREVER);
    lf_saw(&door, 1, LF_A, began + 10 * SV_MS); /* once */
    assert_int_equal(axo_testkit_stop(door.kit), AXO_OK);
}

static void a_state_that_is_left_has_no_timeout(void **state)
{
    lf_door door;
    axo_ref ref = lf_open(&door, NULL);
    (void)state;
    lf_start(&door, ref);
    (void)axo_testkit_advance(door.kit, 10 * SV_MS - 1);
    lf_go(&door, ref, LF_C);
    (void)axo_testkit_advance(door.kit, AXO_TESTKIT_FOREVER);
    assert_int_equal(door.count, 0);
    int64_t began = axo_testkit_now(door.kit);
    lf_go(&door, ref, LF_A);
    (void)axo_testkit_advance(door.kit, 5 * SV_MS);
    lf_go(&door, ref, LF_B);
    (void)axo_testkit_advance(door.kit, AXO_TESTKIT_FOREVER);
    lf_saw(&door, 1, LF_B, began + 45 * SV_MS);
    assert_int_equal(axo_testkit_stop(door.kit), AXO_OK);
}

static void a_state_that_is_entered_anew_begins_anew(void **state)
{
    lf_door door;
    axo_ref ref = lf_open(&door, NULL);
    int64_t began = axo_testkit_now(door.kit);
    (void)state;
    lf_start(&door, ref);
    (void)axo_testkit_advance(door.kit, 9 * SV_MS);
    lf_go(&door, ref, LF_A);
    (void)axo_testkit_advance(door.kit, AXO_TESTKIT_FOREVER);
    lf_saw(&door, 1, LF_A, began + 19 * SV_MS);
    assert_int_equal(axo_testkit_stop(door.kit), AXO_OK);
}

/* A way out that fails is none: with Resume the state goes on, and so does its time. */
static void an_exit_that_fails_keeps_the_timeout(void **state)
{
    static const axo_strategy resume = AXO_STRATEGY(.decider = lf_resume);
    axo_options options = AXO_OPTIONS(.user_strategy = &resume);
    lf_door door;
    axo_ref ref = lf_open(&door, &options);
    int64_t began = axo_testkit_now(door.kit);
    (void)state;
    lf_start(&door, ref);
    door.exit_status = AXO_EFAILED;
    (void)axo_testkit_advance(door.kit, 5 * SV_MS);
    lf_go(&door, ref, LF_C);
    assert_int_equal(axo_machine_current(&door.machine), LF_A);
    (void)axo_testkit_advance(door.kit, AXO_TESTKIT_FOREVER);
    lf_saw(&door, 1, LF_A, began + 10 * SV_MS);
    lf_go(&door, ref, LF_C);
    assert_int_equal(axo_machine_current(&door.machine), LF_C);
    assert_int_equal(axo_testkit_stop(door.kit), AXO_OK);
}

/* Without a timer for its first state it has not begun, and may be started again. */
static void a_start_without_a_timer(void **state)
{
    axo_options options = AXO_OPTIONS(.timers_max = 1);
    lf_door door;
    axo_ref ref = lf_open(&door, &options);
    axo_timer timer;
    axo_system *system = axo_testkit_system(door.kit);
    (void)state;
    assert_int_equal(axo_system_schedule_once(system, SV_S, ref, LF_START, NULL, 0, &timer),
                     AXO_OK);
    lf_start(&door, ref);
    assert_int_equal(door.started, AXO_ELIMIT);
    assert_int_equal(axo_machine_current(&door.machine), UINT32_MAX);
    assert_true(axo_system_timer_cancel(system, timer));
    lf_start(&door, ref);
    assert_int_equal(door.started, AXO_OK);
    lf_start(&door, ref);
    assert_int_equal(door.started, AXO_EBUSY);
    assert_int_equal(axo_testkit_stop(door.kit), AXO_OK);
}

/* States of a newer header: more fields pass while they are zero. */
static void states_of_other_sizes(void **state)
{
    static struct {
        axo_machine_state state;
        uint64_t more;
    } longer[2] = {{.state = {.receive = lf_handle}}, {.state = {.receive = lf_handle}}};
    struct {
        axo_machine_table table;
        uint64_t more;
    } newer = {.table = {.size = sizeof newer.table, .stride = sizeof longer[0],
                         .states = &longer[0].state, .count = 2, .initial = 1},
               .more = 1};
    lf_door door;
    axo_ref ref = lf_open(&door, NULL);
    (void)state;
    door.table = &newer.table;
    longer[1].more = 1;
    lf_start(&door, ref);
    assert_int_equal(door.started, AXO_EVERSION);
    assert_int_equal(axo_machine_current(&door.machine), UINT32_MAX);
    longer[1].more = 0;
    newer.table.size = sizeof newer;
    lf_start(&door, ref);
    assert_int_equal(door.started, AXO_EVERSION);
    newer.table.size = sizeof newer.table;
    newer.table.stride = offsetof(axo_machine_state, on_entry) - 1;
    lf_start(&door, ref);
    assert_int_equal(door.started, AXO_EINVAL);
    newer.table.stride = sizeof longer[0];
    lf_start(&door, ref);
    assert_int_equal(door.started, AXO_OK);
    assert_int_equal(axo_testkit_stop(door.kit), AXO_OK);
}

/* ---- keyed timers ---------------------------------------------------------------------------- */

typedef enum lf_where { LF_CONSTRUCT, LF_PRE_START, LF_POST_STOP, LF_PRE_RESTART } lf_where;

typedef struct lf_timed {
    lf_where where;
    bool fails;      /* the first call there does, after it has set its timers */
    uint32_t ticks;
    uint32_t sets;
} lf_timed;

static axo_status lf_set(axo_ctx *ctx, void *state, lf_where where)
{
    lf_timed *timed = *(lf_timed **)state;
    if (timed->where != where)
        return AXO_OK;
    for (uint64_t key = 0; key < 20; key++)
        assert_int_equal(axo_timer_start(ctx, key, key % 2 == 0 ? AXO_TIMER_ONCE
                                                                : AXO_TIMER_FIXED_RATE,
                                         (int64_t)key * SV_MS, SV_MS, LF_TICK, NULL, 0), AXO_OK);
    assert_true(axo_timer_active(ctx, 19));
    assert_int_equal(axo_timer_stop(ctx, 7), AXO_OK);
    assert_int_equal(axo_timer_stop(ctx, 7), AXO_ENOENT);
    timed->sets++;
    return timed->fails && timed->sets == 1 ? axo_fail(ctx, 1, "after the timers") : AXO_OK;
}

static axo_status lf_timed_construct(axo_ctx *ctx, void *state, const void *args)
{
    memcpy(state, args, sizeof(lf_timed *));
    return lf_set(ctx, state, LF_CONSTRUCT);
}

static axo_status lf_timed_start(axo_ctx *ctx, void *state)
{
    return lf_set(ctx, state, LF_PRE_START);
}

static axo_status lf_timed_stop(axo_ctx *ctx, void *state)
{
    return lf_set(ctx, state, LF_POST_STOP);
}

static axo_status lf_timed_pre_restart(axo_ctx *ctx, void *state, const axo_failure *failure,
                                       const axo_message *message)
{
    axo_status status = axo_default_pre_restart(ctx, state, failure, message);
    return status == AXO_OK ? lf_set(ctx, state, LF_PRE_RESTART) : status;
}

static axo_status lf_timed_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    lf_timed *timed = *(lf_timed **)state;
    if (message->tag == SV_FAIL)
        return axo_fail(ctx, 2, "as told");
    if (message->tag == SV_QUIT)
        return axo_stop_self(ctx);
    assert_int_equal(message->tag, LF_TICK);
    timed->ticks++;
    return AXO_OK;
}

static const axo_class lf_timed_class =
    AXO_CLASS(.name = "timed", .state_size = sizeof(lf_timed *), .construct = lf_timed_construct,
              .pre_start = lf_timed_start, .post_stop = lf_timed_stop,
              .pre_restart = lf_timed_pre_restart, .receive = lf_timed_receive);

/* Timers set at a moment that their instance does not outlive never tick, and nothing is left. */
static void lf_no_tick(lf_where where, bool fails, uint32_t last)
{
    lf_timed timed = {.where = where, .fails = fails};
    lf_timed *arg = &timed;
    axo_testkit *kit = NULL;
    axo_ref ref;
    assert_int_equal(axo_testkit_start(NULL, &kit), AXO_OK);
    axo_props props = AXO_PROPS(.cls = &lf_timed_class, .args = &arg, .args_size = sizeof arg);
    assert_int_equal(axo_system_spawn(axo_testkit_system(kit), &props, &ref), AXO_OK);
    (void)axo_testkit_run(kit);
    if (last != 0)
        (void)axo_system_send(axo_testkit_system(kit), ref, last, NULL, 0);
    (void)axo_testkit_advance(kit, AXO_TESTKIT_FOREVER); /* it would never end with such a timer */
    assert_int_equal(timed.ticks, 0);
    assert_int_equal(timed.sets, 1);
    assert_int_equal(axo_testkit_stop(kit), AXO_OK);
}

static void timers_of_instances_that_never_were(void **state)
{
    (void)state;
    lf_no_tick(LF_CONSTRUCT, true, 0);
    lf_no_tick(LF_PRE_START, true, 0);
    lf_no_tick(LF_POST_STOP, false, SV_QUIT);
    lf_no_tick(LF_POST_STOP, true, SV_QUIT);
    lf_no_tick(LF_PRE_RESTART, false, SV_FAIL);
}

/* ---- the receive timeout --------------------------------------------------------------------- */

static uint32_t lf_heard[2];

static axo_status lf_other(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)state;
    assert_int_equal(message->tag, AXO_RECEIVE_TIMEOUT);
    return ++lf_heard[1] < 3 ? AXO_OK : axo_receive_timeout(ctx, 0);
}

static axo_status lf_first(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)state;
    if (message->tag != AXO_RECEIVE_TIMEOUT)
        return axo_receive_timeout(ctx, 10 * SV_MS);
    return ++lf_heard[0] < 2 ? AXO_OK : axo_become(ctx, lf_other);
}

/* It is the actor's: whoever receives now gets it. */
static void a_receive_timeout_and_become(void **state)
{
    static const axo_class cls = AXO_CLASS(.receive = lf_first);
    axo_testkit *kit = NULL;
    axo_ref ref;
    (void)state;
    memset(lf_heard, 0, sizeof lf_heard);
    assert_int_equal(axo_testkit_start(NULL, &kit), AXO_OK);
    int64_t began = axo_testkit_now(kit);
    assert_int_equal(axo_system_spawn(axo_testkit_system(kit), &(axo_props)AXO_PROPS(.cls = &cls),
                                      &ref), AXO_OK);
    assert_int_equal(axo_system_send(axo_testkit_system(kit), ref, SV_NOTE, NULL, 0), AXO_OK);
    (void)axo_testkit_advance(kit, 50 * SV_MS - 1);
    assert_int_equal(lf_heard[0], 2);
    assert_true(lf_heard[1] < 3);
    (void)axo_testkit_advance(kit, AXO_TESTKIT_FOREVER);
    assert_int_equal(lf_heard[0], 2);
    assert_int_equal(lf_heard[1], 3);
    assert_true(axo_testkit_now(kit) <= began + 50 * SV_MS + 5 * AXO_TICK_NS);
    assert_int_equal(axo_testkit_stop(kit), AXO_OK);
}

/* ---- the back-off supervisor ----------------------------------------------------------------- */

static axo_ref lf_keeper(sv_host *host, const axo_backoff_supervisor *settings)
{
    axo_props props;
    axo_ref ref;
    assert_int_equal(axo_backoff_supervisor_props(settings, "keeper", &props), AXO_OK);
    assert_int_equal(axo_system_spawn(host->system, &props, &ref), AXO_OK);
    return ref;
}

static const axo_backoff lf_backoff = AXO_BACKOFF(.min_ns = SV_S, .max_ns = 8 * SV_S);

/* What the child's mailbox refuses is told of as a dead letter, and its payload freed. */
static uint32_t lf_freed;

static void lf_free(void *payload, void *user)
{
    (void)payload;
    (void)user;
    lf_freed++;
}

static void a_childs_mailbox_is_full(void **state)
{
    static const axo_mailbox one = AXO_MAILBOX(.messages_max = 1);
    sv_host host;
    sv_host *arg = &host;
    uint64_t total = 0;
    axo_dead_record record;
    char payload[8] = "";
    (void)state;
    lf_freed = 0;
    sv_start(&host, NULL);
    axo_props child = AXO_PROPS(.cls = &sv_class, .args = &arg, .args_size = sizeof arg,
                                .mailbox = &one);
    axo_backoff_supervisor settings = AXO_BACKOFF_SUPERVISOR(.child = &child,
                                                             .backoff = &lf_backoff);
    axo_ref keeper = lf_keeper(&host, &settings);
    (void)axo_testkit_run(host.kit);
    for (int i = 0; i < 3; i++) /* all in one turn of the supervisor */
        assert_int_equal(axo_system_send_owned(host.system, keeper, SV_NOTE, payload,
                                               sizeof payload, lf_free, NULL), AXO_OK);
    (void)axo_testkit_run(host.kit);
    assert_int_equal(host.count, 1);
    assert_int_equal(lf_freed, 3);
    assert_int_equal(axo_system_dead_letters(host.system, &record, 1, &total), 1);
    assert_int_equal(total, 2);
    assert_int_equal(record.tag, SV_NOTE);
    assert_int_equal(record.reason, AXO_DEAD_DROPPED);
    sv_end(&host);
}

/* Tags of the application's own are never taken for the supervisor's timers, whoever the sender
 * seems to be. */
static void tags_of_ones_own_pass(void **state)
{
    sv_host host;
    sv_host *arg = &host;
    (void)state;
    sv_start(&host, NULL);
    axo_props child = AXO_PROPS(.cls = &sv_class, .args = &arg, .args_size = sizeof arg);
    axo_backoff_supervisor settings = AXO_BACKOFF_SUPERVISOR(.child = &child,
                                                             .backoff = &lf_backoff);
    axo_ref keeper = lf_keeper(&host, &settings);
    (void)axo_testkit_run(host.kit);
    for (uint32_t tag = 10; tag > 0; tag--) {
        if (tag == SV_DO || tag == SV_FAIL || tag == SV_QUIT)
            continue;
        assert_int_equal(axo_system_send_from(host.system, keeper, keeper, tag, NULL, 0), AXO_OK);
    }
    (void)axo_testkit_run(host.kit);
    assert_int_equal(host.count, 7);
    sv_end(&host);
}

/* A child that cannot be spawned is the supervisor's failure: at its start it ends. */
static void a_child_that_cannot_be_spawned(void **state)
{
    sv_host host;
    char path[32];
    (void)state;
    sv_start(&host, NULL);
    axo_props child = AXO_PROPS(.cls = &sv_class, .name = "a/b");
    axo_backoff_supervisor settings = AXO_BACKOFF_SUPERVISOR(.child = &child,
                                                             .backoff = &lf_backoff);
    axo_ref keeper = lf_keeper(&host, &settings);
    (void)axo_testkit_advance(host.kit, AXO_TESTKIT_FOREVER);
    assert_int_equal(axo_system_path(host.system, keeper, path, sizeof path), AXO_EGONE);
    sv_end(&host);
}

/* Later it fails and is restarted; the system has no room for the child and the supervisor ends. */
static void a_child_for_which_there_is_no_room(void **state)
{
    axo_options options = AXO_OPTIONS(.actors_max = 8);
    sv_host host;
    sv_host others[8];
    sv_host *arg = &host;
    uint32_t spawned = 0;
    char path[32];
    (void)state;
    sv_start(&host, &options);
    axo_props child = AXO_PROPS(.cls = &sv_class, .args = &arg, .args_size = sizeof arg);
    axo_backoff_supervisor settings = AXO_BACKOFF_SUPERVISOR(
        .child = &child, .backoff = &lf_backoff, .when = AXO_ON_STOP);
    axo_ref keeper = lf_keeper(&host, &settings);
    (void)axo_testkit_run(host.kit);
    assert_int_equal(axo_system_send(host.system, keeper, SV_QUIT, NULL, 0), AXO_OK);
    (void)axo_testkit_advance(host.kit, SV_S / 2); /* in the delay */
    for (sv_host *other = others; spawned < 8; spawned++, other++) {
        axo_props props = AXO_PROPS(.cls = &sv_class, .args = &other, .args_size = sizeof other);
        memset(other, 0, sizeof *other);
        if (axo_system_spawn(host.system, &props, &other->ref) != AXO_OK)
            break;
    }
    assert_true(spawned < 8);
    (void)axo_testkit_advance(host.kit, AXO_TESTKIT_FOREVER);
    assert_int_equal(axo_system_path(host.system, keeper, path, sizeof path), AXO_EGONE);
    assert_int_equal(host.count, 0);
    sv_end(&host);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_state_lasts_as_long_as_it_says),
    cmocka_unit_test(a_state_that_is_left_has_no_timeout),
    cmocka_unit_test(a_state_that_is_entered_anew_begins_anew),
    cmocka_unit_test(an_exit_that_fails_keeps_the_timeout),
    cmocka_unit_test(a_start_without_a_timer),
    cmocka_unit_test(states_of_other_sizes),
    cmocka_unit_test(timers_of_instances_that_never_were),
    cmocka_unit_test(a_receive_timeout_and_become),
    cmocka_unit_test(a_childs_mailbox_is_full),
    cmocka_unit_test(tags_of_ones_own_pass),
    cmocka_unit_test(a_child_that_cannot_be_spawned),
    cmocka_unit_test(a_child_for_which_there_is_no_room),
};
TEST_MAIN(tests)
