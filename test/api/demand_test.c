/* demand_test.c - demand.h as actors have it: what is refused and to whom, when room is told, that
 * asks count, and that nothing of an instance is left to the next one. */
#include <string.h>

#include <axo/axo.h>

#include "support/cmocka.h"

enum { DO = 1, ASKED = 2, ANSWER = 3, PLAIN = 4, WAITING_MAX = 16 };

typedef struct demand_world demand_world;
typedef axo_status (*demand_act)(demand_world *world, axo_ctx *ctx);

struct demand_world {
    axo_system *system;
    axo_ref actor;
    axo_ref shard;
    axo_props props; /* what the actor is to be bounded by */
    demand_act act;    /* of DO */
    demand_act behind; /* of AXO_ASK_ANSWER, AXO_ASK_FAILED */
    bool keeps;        /* asks, at a restart */
    axo_ref waiting[WAITING_MAX]; /* asks that the shard has not answered */
    uint32_t asked;
    uint32_t rooms, answers, failed, plain, instances;
    uint32_t accepted;
    int64_t now;
    axo_status status;
    axo_demand_info info; /* behind the last callback */
};

static void demand_see(demand_world *world, axo_ctx *ctx)
{
    world->info = (axo_demand_info)AXO_DEMAND_INFO();
    assert_int_equal(axo_demand_look(ctx, &world->info), AXO_OK);
}

static axo_status demand_construct(axo_ctx *ctx, void *state, const void *args)
{
    memcpy(state, args, sizeof(demand_world *));
    demand_world *world = *(demand_world *const *)state;
    world->instances++;
    demand_see(world, ctx);
    return AXO_OK;
}

static axo_status demand_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    demand_world *world = *(demand_world **)state;
    axo_status status = AXO_OK;
    switch (message->tag) {
    case DO:
        status = world->act(world, ctx);
        break;
    case AXO_DEMAND_ROOM:
        assert_int_equal(message->size, 0);
        assert_true(axo_ref_is_none(message->sender));
        world->rooms++;
        break;
    case AXO_ASK_ANSWER:
    case AXO_ASK_FAILED:
        world->answers += message->tag == AXO_ASK_ANSWER;
        world->failed += message->tag == AXO_ASK_FAILED;
        if (world->behind != NULL)
            status = world->behind(world, ctx);
        break;
    default:
        world->plain++;
        break;
    }
    demand_see(world, ctx);
    return status;
}

static axo_status demand_shard(axo_ctx *ctx, void *state, const axo_message *message)
{
    demand_world *world = *(demand_world **)state;
    assert_true(world->asked < WAITING_MAX);
    world->waiting[world->asked++] = message->sender;
    (void)ctx;
    return AXO_OK;
}

static axo_status demand_shard_construct(axo_ctx *ctx, void *state, const void *args)
{
    memcpy(state, args, sizeof(demand_world *));
    (void)ctx;
    return AXO_OK;
}

/* Asks outlive the instance, if they are to. */
static axo_status demand_pre_restart(axo_ctx *ctx, void *state, const axo_failure *failure,
                                     const axo_message *message)
{
    const demand_world *world = *(demand_world **)state;
    return world->keeps ? AXO_OK : axo_default_pre_restart(ctx, state, failure, message);
}

static const axo_class demand_class =
    AXO_CLASS(.name = "requester", .state_size = sizeof(demand_world *),
              .construct = demand_construct, .receive = demand_receive,
              .pre_restart = demand_pre_restart);
static const axo_class demand_shard_class =
    AXO_CLASS(.name = "shard", .state_size = sizeof(demand_world *),
              .construct = demand_shard_construct, .receive = demand_shard);

static int64_t demand_clock(void *user)
{
    return ((demand_world *)user)->now;
}

static void demand_run(demand_world *world)
{
    assert_int_equal(axo_run_host(world->system, -1, NULL), AXO_OK);
}

static axo_status demand_spawn(demand_world *world, const axo_props *bounds, axo_ref *out)
{
    axo_props props = *bounds;
    props.size = sizeof props;
    props.cls = &demand_class;
    props.args = &world;
    props.args_size = sizeof world;
    return axo_system_spawn(world->system, &props, out);
}

static void demand_begin(demand_world *world)
{
    world->now = 1000;
    axo_options options = AXO_OPTIONS(.manual = 1, .no_quantum_us = 1, .clock = demand_clock,
                                      .clock_user = world);
    axo_props shard = AXO_PROPS(.cls = &demand_shard_class, .args = &world,
                                .args_size = sizeof world);
    assert_int_equal(axo_system_start(&options, &world->system), AXO_OK);
    assert_int_equal(axo_system_spawn(world->system, &shard, &world->shard), AXO_OK);
    assert_int_equal(demand_spawn(world, &world->props, &world->actor), AXO_OK);
    demand_run(world);
}

static void demand_end(demand_world *world)
{
    assert_int_equal(axo_system_stop(world->system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(world->system), AXO_OK);
}

static void demand_do(demand_world *world, demand_act act)
{
    world->act = act;
    assert_int_equal(axo_system_send(world->system, world->actor, DO, NULL, 0), AXO_OK);
    demand_run(world);
}

static void demand_answer(demand_world *world, uint32_t which, size_t size)
{
    static const char bytes[5000];
    assert_true(which < world->asked && size <= sizeof bytes);
    assert_int_equal(
        axo_system_send(world->system, world->waiting[which], ANSWER, bytes, size), AXO_OK);
    demand_run(world);
}

/* ---- the sums ---- */

static axo_status demand_arithmetic(demand_world *world, axo_ctx *ctx)
{
    assert_true(axo_demand_has_room(ctx));
    assert_int_equal(axo_demand_answered(ctx, 1), AXO_EINVAL);
    assert_int_equal(axo_demand_release(ctx, 1), AXO_EINVAL);
    assert_int_equal(axo_demand_forgive(ctx, 1), AXO_EINVAL);
    assert_int_equal(axo_demand_owe(ctx, 3), AXO_OK);
    assert_int_equal(axo_demand_answered(ctx, AXO_DEMAND_MAX + 1), AXO_ETOOBIG);
    assert_int_equal(axo_demand_hold(ctx, AXO_DEMAND_MAX + 1), AXO_ETOOBIG);
    assert_int_equal(axo_demand_answered(ctx, 60), AXO_OK);
    demand_see(world, ctx);
    assert_int_equal(world->info.held, 60);
    assert_int_equal(world->info.owed, 2);
    assert_int_equal(world->info.outstanding, 260);
    assert_int_equal(axo_demand_hold(ctx, 640), AXO_OK);
    assert_true(axo_demand_has_room(ctx));
    assert_int_equal(axo_demand_hold(ctx, 1), AXO_OK);
    assert_false(axo_demand_has_room(ctx)); /* 901 and one more */
    demand_see(world, ctx);
    assert_int_equal(world->info.refused, 0); /* nobody has asked */
    assert_int_equal(axo_demand_release(ctx, 702), AXO_EINVAL);
    assert_int_equal(axo_demand_release(ctx, 301), AXO_OK);
    assert_false(axo_demand_has_room(ctx)); /* half has to go */
    assert_int_equal(axo_demand_forgive(ctx, 3), AXO_EINVAL);
    assert_int_equal(axo_demand_forgive(ctx, 2), AXO_OK);
    assert_true(axo_demand_has_room(ctx));
    assert_int_equal(axo_demand_owe(ctx, UINT32_MAX), AXO_EFULL);
    assert_int_equal(axo_demand_release(ctx, 400), AXO_OK);
    assert_int_equal(axo_demand_owe(ctx, UINT32_MAX), AXO_OK); /* nothing is outstanding */
    assert_int_equal(axo_demand_owe(ctx, 1), AXO_EINVAL);
    assert_int_equal(axo_demand_forgive(ctx, UINT32_MAX), AXO_OK);
    return AXO_OK;
}

static void what_is_counted(void **state)
{
    demand_world world = {.props = {.outstanding_bytes = 1000, .outstanding_answer = 100}};
    demand_begin(&world);
    demand_do(&world, demand_arithmetic);
    assert_int_equal(world.info.held, 0);
    assert_int_equal(world.info.owed, 0);
    assert_int_equal(world.info.outstanding, 0);
    assert_int_equal(world.rooms, 1);
    demand_end(&world);
}

static axo_status demand_uncounted(demand_world *world, axo_ctx *ctx)
{
    (void)world;
    assert_int_equal(axo_demand_owe(ctx, UINT32_MAX), AXO_OK);
    assert_int_equal(axo_demand_owe(ctx, UINT32_MAX), AXO_OK);
    assert_int_equal(axo_demand_answered(ctx, SIZE_MAX), AXO_OK);
    assert_int_equal(axo_demand_forgive(ctx, 7), AXO_OK);
    assert_int_equal(axo_demand_hold(ctx, SIZE_MAX), AXO_OK);
    assert_int_equal(axo_demand_release(ctx, SIZE_MAX), AXO_OK);
    assert_true(axo_demand_has_room(ctx));
    assert_int_equal(axo_demand_look(ctx, NULL), AXO_EINVAL);
    axo_demand_info none = {.size = 0};
    assert_int_equal(axo_demand_look(ctx, &none), AXO_EINVAL);
    return AXO_OK;
}

static void an_actor_without_an_account(void **state)
{
    demand_world world = {.status = AXO_OK};
    demand_begin(&world);
    demand_do(&world, demand_uncounted);
    assert_int_equal(world.info.held + world.info.owed + world.info.outstanding, 0);
    assert_int_equal(world.rooms, 0);
    demand_end(&world);
}

static void props_that_cannot_be(void **state)
{
    demand_world world = {.status = AXO_OK};
    axo_ref ref;
    demand_begin(&world);
    axo_props props = {.outstanding_bytes = AXO_DEMAND_MAX + 1};
    assert_int_equal(demand_spawn(&world, &props, &ref), AXO_EINVAL);
    props = (axo_props){.outstanding_answer = 1};
    assert_int_equal(demand_spawn(&world, &props, &ref), AXO_EINVAL);
    props = (axo_props){.outstanding_max = 1, .outstanding_answer = 1};
    assert_int_equal(demand_spawn(&world, &props, &ref), AXO_EINVAL);
    props = (axo_props){.outstanding_bytes = 1, .outstanding_answer = (uint32_t)AXO_DEMAND_MAX + 1};
    assert_int_equal(demand_spawn(&world, &props, &ref), AXO_EINVAL);
    props = (axo_props){.outstanding_bytes = AXO_DEMAND_MAX,
                        .outstanding_answer = (uint32_t)AXO_DEMAND_MAX,
                        .outstanding_max = UINT32_MAX};
    assert_int_equal(demand_spawn(&world, &props, &ref), AXO_OK);
    /* an older program's props end before these members */
    props = (axo_props)AXO_PROPS(.cls = &demand_class, .args = &(demand_world *){&world},
                                 .args_size = sizeof(demand_world *), .outstanding_max = 1);
    props.size = offsetof(axo_props, outstanding_bytes);
    assert_int_equal(axo_system_spawn(world.system, &props, &world.actor), AXO_OK);
    demand_run(&world);
    demand_do(&world, demand_uncounted);
    demand_end(&world);
}

/* ---- room ---- */

/* As many as fit, and two that do not. */
static axo_status demand_owe_all(demand_world *world, axo_ctx *ctx)
{
    world->accepted = 0;
    while (axo_demand_has_room(ctx)) {
        assert_int_equal(axo_demand_owe(ctx, 1), AXO_OK);
        world->accepted++;
    }
    assert_int_equal(axo_demand_owe(ctx, 1), AXO_EFULL);
    assert_int_equal(axo_demand_owe(ctx, 1), AXO_EFULL);
    return AXO_OK;
}

static axo_status demand_one_comes(demand_world *world, axo_ctx *ctx)
{
    world->status = axo_demand_answered(ctx, 100);
    if (world->status == AXO_OK)
        world->status = axo_demand_release(ctx, 100);
    return world->status;
}

static void room_is_told_once(void **state)
{
    demand_world world = {.props = {.outstanding_bytes = 1000, .outstanding_answer = 100}};
    demand_begin(&world);
    demand_do(&world, demand_owe_all);
    assert_int_equal(world.accepted, 10);
    assert_int_equal(world.info.refused, 1);
    for (uint32_t episode = 1; episode <= 3; episode++) {
        for (uint32_t i = 0; i < 5; i++) {
            assert_int_equal(world.rooms, episode - 1);
            demand_do(&world, demand_one_comes);
        }
        assert_int_equal(world.rooms, episode);
        assert_int_equal(world.info.refused, 0);
        demand_do(&world, demand_one_comes); /* nobody was refused since */
        assert_int_equal(world.rooms, episode);
        demand_do(&world, demand_owe_all);
        assert_int_equal(world.accepted, 6);
    }
    demand_end(&world); /* with a notice that is to come */
}

static axo_status demand_owe_four(demand_world *world, axo_ctx *ctx)
{
    world->status = axo_demand_owe(ctx, 4);
    return AXO_OK;
}

/* Of a bound of answers only: one fits, and is no reason to tell who needs four. */
static axo_status demand_owe_one(demand_world *world, axo_ctx *ctx)
{
    world->status = axo_demand_owe(ctx, 1);
    return AXO_OK;
}

/* With a full account: what can never be asked is told by its own reason, and nobody waits for room
 * for it. */
static axo_status demand_ask_badly(demand_world *world, axo_ctx *ctx)
{
    static const char none[1];
    assert_int_equal(axo_ask(ctx, world->shard, AXO_TAG_RESERVED, NULL, 0, 1000000, 1), AXO_EINVAL);
    assert_int_equal(axo_ask(ctx, world->shard, 1, none, AXO_PAYLOAD_MAX + 1, 1000000, 1),
                     AXO_ETOOBIG);
    assert_int_equal(axo_ask(ctx, world->shard, 1, NULL, 1, 1000000, 1), AXO_EINVAL);
    return AXO_OK;
}

static void a_bad_ask_changes_nothing(void **state)
{
    demand_world world = {.props = {.outstanding_max = 5}};
    demand_begin(&world);
    demand_do(&world, demand_owe_four);
    demand_do(&world, demand_owe_one);
    demand_do(&world, demand_ask_badly);
    assert_int_equal(world.info.owed, 5);
    assert_int_equal(world.info.refused, 0);
    demand_end(&world);
}

static void room_is_for_all_that_were_refused(void **state)
{
    demand_world world = {.props = {.outstanding_max = 5}};
    demand_begin(&world);
    demand_do(&world, demand_owe_four);
    assert_int_equal(world.status, AXO_OK);
    demand_do(&world, demand_owe_four);
    assert_int_equal(world.status, AXO_EFULL);
    demand_do(&world, demand_owe_one);
    assert_int_equal(world.status, AXO_OK);
    assert_int_equal(world.info.owed, 5);
    assert_int_equal(world.info.outstanding, 0); /* no bound of bytes */
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(world.rooms, 0);
        demand_do(&world, demand_one_comes);
    }
    assert_int_equal(world.info.owed, 1);
    assert_int_equal(world.rooms, 1);
    demand_end(&world);
}

/* Its own mailbox has a bound, and is full: the notice comes, and the account refuses nobody who
 * sends. */
static axo_status demand_comes_while_full(demand_world *world, axo_ctx *ctx)
{
    assert_int_equal(axo_send(ctx, axo_self(ctx), PLAIN, NULL, 0), AXO_OK);
    assert_int_equal(axo_send(ctx, axo_self(ctx), PLAIN, NULL, 0), AXO_EFULL);
    for (uint32_t i = 0; i < 10; i++)
        assert_int_equal(demand_one_comes(world, ctx), AXO_OK);
    return AXO_OK;
}

static void no_bound_refuses_the_notice(void **state)
{
    static const axo_mailbox one = AXO_MAILBOX(.messages_max = 1);
    demand_world world = {.props = {.outstanding_bytes = 1000, .outstanding_answer = 100,
                                    .mailbox = &one}};
    axo_stats before = AXO_STATS();
    axo_stats after = AXO_STATS();
    demand_begin(&world);
    demand_do(&world, demand_owe_all);
    assert_int_equal(axo_system_stats(world.system, &before), AXO_OK);
    demand_do(&world, demand_comes_while_full);
    assert_int_equal(world.rooms, 1);
    assert_int_equal(world.plain, 1);
    assert_int_equal(axo_system_stats(world.system, &after), AXO_OK);
    assert_int_equal(after.sent - before.sent, 2); /* DO and PLAIN */
    assert_int_equal(after.handled - before.handled, 2);
    demand_end(&world);
}

/* ---- asks ---- */

static axo_status demand_ask(demand_world *world, axo_ctx *ctx)
{
    world->status = axo_ask(ctx, world->shard, ASKED, NULL, 0, 1000000, 7);
    return AXO_OK;
}

static axo_status demand_promise(demand_world *world, axo_ctx *ctx)
{
    world->status = axo_promise(ctx, 1000000, 7, &world->waiting[world->asked]);
    return AXO_OK;
}

/* In the handler it is owed no more. */
static axo_status demand_keep(demand_world *world, axo_ctx *ctx)
{
    demand_see(world, ctx);
    return axo_demand_hold(ctx, 300);
}

static void asks_count(void **state)
{
    demand_world world = {.props = {.outstanding_bytes = 1000, .outstanding_answer = 400}};
    demand_begin(&world);
    world.behind = demand_keep;
    demand_do(&world, demand_ask);
    demand_do(&world, demand_ask);
    assert_int_equal(world.status, AXO_OK);
    assert_int_equal(world.info.outstanding, 800);
    demand_do(&world, demand_ask);
    assert_int_equal(world.status, AXO_EFULL);
    demand_do(&world, demand_promise);
    assert_int_equal(world.status, AXO_EFULL);
    assert_int_equal(world.asked, 2);
    demand_answer(&world, 0, 350);
    assert_int_equal(world.answers, 1);
    assert_int_equal(world.info.owed, 1);
    assert_int_equal(world.info.outstanding, 400 + 300);
    assert_int_equal(world.rooms, 1); /* the handler had not held it yet */
    world.now += 2000000; /* nobody answers the second */
    demand_run(&world);
    assert_int_equal(world.failed, 1);
    assert_int_equal(world.info.owed, 0);
    assert_int_equal(world.info.outstanding, 600);
    world.behind = NULL;
    demand_end(&world);
}

static void a_promise_counts(void **state)
{
    demand_world world = {.props = {.outstanding_max = 1}};
    demand_begin(&world);
    demand_do(&world, demand_promise);
    assert_int_equal(world.status, AXO_OK);
    assert_int_equal(world.info.owed, 1);
    demand_do(&world, demand_ask);
    assert_int_equal(world.status, AXO_EFULL);
    world.asked = 1;
    demand_answer(&world, 0, 10);
    assert_int_equal(world.answers, 1);
    assert_int_equal(world.info.owed, 0);
    assert_int_equal(world.rooms, 1);
    demand_end(&world);
}

/* Without an answer's length from the program it is that of the answers themselves. */
static void what_asks_bring_is_learnt(void **state)
{
    demand_world world = {.props = {.outstanding_bytes = 1000}};
    demand_begin(&world);
    demand_do(&world, demand_ask);
    assert_int_equal(world.info.outstanding, 250);
    demand_do(&world, demand_ask);
    demand_answer(&world, 0, 600);
    assert_int_equal(world.info.outstanding, 600);
    demand_do(&world, demand_ask);
    assert_int_equal(world.status, AXO_EFULL);
    demand_answer(&world, 1, 8);
    assert_int_equal(world.info.outstanding, 0);
    assert_int_equal(world.rooms, 1);
    demand_do(&world, demand_ask);
    assert_int_equal(world.info.outstanding, 525);
    demand_end(&world);
}

/* Nothing of an ask that was not accepted is left. */
static axo_status demand_ask_in_vain(demand_world *world, axo_ctx *ctx)
{
    (void)world;
    assert_int_equal(axo_ask(ctx, axo_self(ctx), AXO_TAG_RESERVED, NULL, 0, 1, 7), AXO_EINVAL);
    assert_int_equal(axo_ask(ctx, axo_ref_none(), ASKED, NULL, 0, 1, 7), AXO_EINVAL);
    assert_int_equal(axo_ask(ctx, axo_self(ctx), ASKED, "", AXO_PAYLOAD_MAX + 1, 1, 7),
                     AXO_ETOOBIG);
    assert_int_equal(axo_ask(ctx, world->waiting[15], ASKED, NULL, 0, 1, 7), AXO_EGONE);
    assert_int_equal(axo_ask(ctx, axo_self(ctx), ASKED, NULL, 0, 1, 7), AXO_EFULL);
    return AXO_OK;
}

static axo_status demand_fill_and_ask(demand_world *world, axo_ctx *ctx)
{
    assert_int_equal(axo_send(ctx, axo_self(ctx), PLAIN, NULL, 0), AXO_OK);
    return demand_ask_in_vain(world, ctx);
}

static void what_was_not_asked_is_not_owed(void **state)
{
    static const axo_mailbox one = AXO_MAILBOX(.messages_max = 1);
    demand_world world = {.props = {.outstanding_max = 1, .mailbox = &one}};
    demand_begin(&world);
    assert_int_equal(demand_spawn(&world, &world.props, &world.waiting[15]), AXO_OK);
    assert_int_equal(axo_system_stop_actor(world.system, world.waiting[15]), AXO_OK);
    demand_run(&world);
    demand_do(&world, demand_fill_and_ask);
    assert_int_equal(world.info.owed, 0);
    assert_int_equal(world.rooms, 0);
    demand_do(&world, demand_ask);
    assert_int_equal(world.status, AXO_OK);
    assert_int_equal(world.info.owed, 1);
    demand_end(&world);
}

/* An answer that is stashed comes up again, and is none that is owed. */
static axo_status demand_put_aside(demand_world *world, axo_ctx *ctx)
{
    return world->answers == 1 ? axo_stash(ctx) : AXO_OK;
}

static axo_status demand_bring_back(demand_world *world, axo_ctx *ctx)
{
    (void)world;
    return axo_unstash_all(ctx);
}

static void a_stashed_answer_counts_once(void **state)
{
    demand_world world = {.props = {.outstanding_max = 3}};
    demand_begin(&world);
    world.behind = demand_put_aside;
    for (uint32_t i = 0; i < 3; i++)
        demand_do(&world, demand_ask);
    demand_answer(&world, 0, 10);
    assert_int_equal(world.info.owed, 2);
    demand_do(&world, demand_bring_back);
    assert_int_equal(world.answers, 2);
    assert_int_equal(world.info.owed, 2);
    demand_answer(&world, 1, 10);
    assert_int_equal(world.info.owed, 1);
    demand_end(&world);
}

/* ---- instances ---- */

static axo_status demand_fail(demand_world *world, axo_ctx *ctx)
{
    (void)world;
    return axo_fail(ctx, 1, "as it was told");
}

static axo_status demand_nothing(demand_world *world, axo_ctx *ctx)
{
    (void)world;
    (void)ctx;
    return AXO_OK;
}

/* The next instance has nothing, and what comes for the one before is not counted. */
static void demand_restart(bool keeps)
{
    demand_world world = {.props = {.outstanding_bytes = 1000, .outstanding_answer = 400},
                          .keeps = keeps};
    demand_begin(&world);
    demand_do(&world, demand_ask);
    demand_do(&world, demand_ask);
    demand_do(&world, demand_ask);
    assert_int_equal(world.info.refused, 1);
    demand_do(&world, demand_fail);
    assert_int_equal(world.instances, 2);
    assert_int_equal(world.info.owed + world.info.refused, 0);
    assert_int_equal(world.info.outstanding, 0);
    demand_do(&world, demand_ask);
    for (uint32_t i = 0; i < 2; i++) {
        axo_status status = axo_system_send(world.system, world.waiting[i], ANSWER, NULL, 0);
        assert_int_equal(status, keeps ? AXO_OK : AXO_EGONE);
        demand_run(&world);
    }
    demand_do(&world, demand_nothing);
    assert_int_equal(world.answers + world.failed, 0);
    assert_int_equal(world.info.owed, 1);
    assert_int_equal(world.rooms, 0);
    demand_end(&world);
}

static void the_next_instance_begins_with_nothing(void **state)
{
    demand_restart(false);
}

static void an_answer_that_comes_late_is_not_counted(void **state)
{
    demand_restart(true);
}

/* A notice on its way when the instance ends is not the next one's. */
static axo_status demand_room_and_fail(demand_world *world, axo_ctx *ctx)
{
    assert_int_equal(demand_owe_all(world, ctx), AXO_OK);
    assert_int_equal(axo_demand_forgive(ctx, world->accepted), AXO_OK);
    return demand_fail(world, ctx);
}

static void a_notice_is_for_its_instance(void **state)
{
    demand_world world = {.props = {.outstanding_max = 4}};
    axo_stats stats = AXO_STATS();
    demand_begin(&world);
    demand_do(&world, demand_room_and_fail);
    assert_int_equal(world.instances, 2);
    assert_int_equal(world.rooms, 0);
    assert_int_equal(axo_system_stats(world.system, &stats), AXO_OK);
    assert_int_equal(stats.dead, 0);
    demand_do(&world, demand_owe_all);
    assert_int_equal(world.accepted, 4);
    demand_end(&world);
}

/* Of 100 three answers of 30 fit; the ask of the third comes to nothing, and leaves its room. */
static axo_status demand_ask_the_dead(demand_world *world, axo_ctx *ctx)
{
    assert_int_equal(axo_demand_owe(ctx, 2), AXO_OK);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(axo_ask(ctx, world->shard, ASKED, NULL, 0, 1000000, i), AXO_EGONE);
    assert_int_equal(axo_demand_owe(ctx, 1), AXO_OK);
    assert_int_equal(axo_demand_owe(ctx, 1), AXO_EFULL);
    assert_int_equal(axo_demand_forgive(ctx, 1), AXO_OK);
    assert_int_equal(axo_demand_owe(ctx, 1), AXO_EFULL); /* who was refused waits for half of it */
    return AXO_OK;
}

static void an_ask_in_vain_closes_nothing(void **state)
{
    demand_world world = {.props = {.outstanding_bytes = 100, .outstanding_answer = 30}};
    demand_begin(&world);
    assert_int_equal(axo_system_stop_actor(world.system, world.shard), AXO_OK);
    demand_run(&world);
    demand_do(&world, demand_ask_the_dead);
    assert_int_equal(world.info.owed, 2);
    assert_int_equal(world.rooms, 0);
    demand_end(&world);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(what_is_counted),
    cmocka_unit_test(an_actor_without_an_account),
    cmocka_unit_test(props_that_cannot_be),
    cmocka_unit_test(room_is_told_once),
    cmocka_unit_test(a_bad_ask_changes_nothing),
    cmocka_unit_test(room_is_for_all_that_were_refused),
    cmocka_unit_test(no_bound_refuses_the_notice),
    cmocka_unit_test(asks_count),
    cmocka_unit_test(a_promise_counts),
    cmocka_unit_test(what_asks_bring_is_learnt),
    cmocka_unit_test(what_was_not_asked_is_not_owed),
    cmocka_unit_test(a_stashed_answer_counts_once),
    cmocka_unit_test(the_next_instance_begins_with_nothing),
    cmocka_unit_test(an_answer_that_comes_late_is_not_counted),
    cmocka_unit_test(a_notice_is_for_its_instance),
    cmocka_unit_test(an_ask_in_vain_closes_nothing),
};
TEST_MAIN(tests)
