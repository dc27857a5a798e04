/* scene_zone.c - paths on which nothing may ask for memory, not even a pool that has some: failing,
 * suspending, deciding, restarting, stopping, ending, notices, dead letters, unparking, cancelling
 * (invariant 57). While one of them runs every request is a breach. */
#include "fault/scenes.h"

#include <sys/eventfd.h>
#include <unistd.h>

enum { ZONE_CHILDREN = 4 };

typedef struct zone_boss {
    world *w;
    axo_ref children[ZONE_CHILDREN];
} zone_boss;

/* What a zone does; everything that takes memory is done before. */
static void zone_run(world *w, int64_t ns)
{
    refuse_zone_begin();
    world_advance(w, ns);
    const char *said = refuse_zone_end();
    if (*said != '\0')
        world_breach(w, __FILE__, __LINE__, said);
}

static axo_status zone_construct(axo_ctx *ctx, void *state, const void *args)
{
    memcpy(state, args, sizeof(world *));
    return AXO_OK;
}

static axo_status zone_boss_start(axo_ctx *ctx, void *state)
{
    zone_boss *boss = state;
    axo_props props = AXO_PROPS(.cls = &plain_class);
    for (uint32_t i = 0; i < ZONE_CHILDREN; i++) {
        MUST(boss->w, axo_spawn(ctx, &props, &boss->children[i]) == AXO_OK);
        MUST(boss->w, axo_watch(ctx, boss->children[i]) == AXO_OK);
    }
    return AXO_OK;
}

/* Keeps its children: they are restarted after it. */
static axo_status zone_keep(axo_ctx *ctx, void *state, const axo_failure *failure,
                            const axo_message *message)
{
    (void)ctx, (void)state, (void)failure, (void)message;
    return AXO_OK;
}

static axo_status zone_again(axo_ctx *ctx, void *state, const axo_failure *failure)
{
    (void)ctx, (void)state, (void)failure;
    return AXO_OK;
}

static axo_status zone_boss_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    zone_boss *boss = state;
    if (message->tag == WORLD_FAIL)
        return axo_fail(ctx, 2, "the boss");
    if (message->tag == WORLD_NOTE) { /* its first child fails */
        refuse_pause();
        (void)axo_send(ctx, boss->children[0], WORLD_FAIL, NULL, 0);
        (void)axo_send(ctx, boss->children[1], WORLD_NOTE, NULL, 0); /* or a dead letter */
        refuse_resume();
    }
    return AXO_OK;
}

static const axo_class zone_boss_class =
    AXO_CLASS(.state_size = sizeof(zone_boss), .construct = zone_construct,
              .pre_start = zone_boss_start, .receive = zone_boss_receive,
              .pre_restart = zone_keep, .post_restart = zone_again);

static axo_directive zone_resume(axo_ctx *ctx, void *state, const axo_failure *failure, void *user)
{
    (void)ctx, (void)state, (void)failure, (void)user;
    return AXO_RESUME;
}

static const axo_backoff zone_backoff = AXO_BACKOFF(.min_ns = WORLD_MS, .max_ns = 5 * WORLD_MS);
static const axo_strategy zone_strategies[] = {
    AXO_STRATEGY(.decider = axo_decide_restart),
    AXO_STRATEGY(.decider = zone_resume),
    AXO_STRATEGY(.decider = axo_decide_stop, .scope = AXO_ALL_FOR_ONE),
    AXO_STRATEGY(.decider = axo_decide_escalate),
    AXO_STRATEGY(.decider = axo_decide_restart, .scope = AXO_ALL_FOR_ONE),
    AXO_STRATEGY(.decider = axo_decide_restart, .scope = AXO_REST_FOR_ONE, .limited = 1,
                 .retries_max = 2, .within_ns = 60 * WORLD_S, .window = AXO_WINDOW_SLIDING),
    AXO_STRATEGY(.decider = axo_decide_restart, .backoff = &zone_backoff),
};

/* The first failure of a fresh actor, and later ones: each decision, each scope. */
static void zone_failures(world *w)
{
    for (uint32_t i = 0; i < sizeof zone_strategies / sizeof zone_strategies[0]; i++) {
        axo_props props = world_props(&w);
        props.cls = &zone_boss_class;
        props.strategy = &zone_strategies[i];
        refuse_pause();
        MUST(w, axo_system_spawn(w->system, &props, &w->ref) == AXO_OK);
        world_run(w);
        for (uint32_t k = 0; k < 4; k++)
            (void)axo_system_send(w->system, w->ref, k == 2 ? WORLD_FAIL : WORLD_NOTE, NULL, 0);
        refuse_resume();
        zone_run(w, WORLD_S);
        MUST(w, axo_system_stop_actor(w->system, w->ref) == AXO_OK);
        zone_run(w, 0);
    }
}

static void zone_watch(axo_ctx *ctx, world *w)
{
    MUST(w, axo_watch(ctx, w->ref) == AXO_OK);
    MUST(w, axo_watch_with(ctx, w->other, WORLD_NOTE, "gone", 5) == AXO_OK);
}

/* Ends of every kind: a full mailbox becomes dead letters, watchers get their notices. */
static void zone_ends(world *w)
{
    for (uint32_t how = 0; how < 4; how++) {
        axo_props props = world_props(&w);
        refuse_pause();
        MUST(w, axo_system_spawn(w->system, &props, &w->ref) == AXO_OK);
        MUST(w, axo_system_spawn(w->system, &props, &w->other) == AXO_OK);
        world_run(w);
        world_do(w, zone_watch);
        uint32_t notices = w->got[0];
        for (uint32_t i = 0; i < 10; i++)
            (void)axo_system_send(w->system, w->ref, i == 5 && how == 1 ? WORLD_QUIT : WORLD_NOTE,
                                  NULL, 0);
        if (how == 2)
            (void)axo_system_poison(w->system, w->ref);
        if (how == 3)
            (void)axo_system_kill(w->system, w->ref);
        refuse_resume();
        refuse_zone_begin();
        if (how == 0)
            MUST(w, axo_system_stop_actor(w->system, w->ref) == AXO_OK);
        MUST(w, axo_system_stop_actor(w->system, w->other) == AXO_OK);
        MUST(w, *refuse_zone_end() == '\0');
        zone_run(w, 0);
        MUST(w, w->got[0] == notices + 1);
        MUST(w, w->got[WORLD_NOTE] == how + 1);
    }
}

/* ---- parking, stash, timers ------------------------------------------------------------------ */

static const axo_mailbox zone_narrow =
    AXO_MAILBOX(.messages_max = 2, .overflow = AXO_OVERFLOW_PARK, .park_ns = WORLD_S);

static axo_status zone_source_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    world *w = *(world **)state;
    refuse_pause();
    for (uint32_t i = 0; i < 6; i++)
        MUST(w, axo_send(ctx, w->other, WORLD_NOTE, NULL, 0) != AXO_ENOMEM);
    refuse_resume();
    return AXO_OK;
}

static const axo_class zone_source_class = AXO_CLASS(
    .state_size = sizeof(world *), .construct = zone_construct, .receive = zone_source_receive);

/* A receiver that has room again, fails, and stops: the sender goes on each time. */
static void zone_unpark(world *w)
{
    axo_props props = world_props(&w);
    refuse_pause();
    props.mailbox = &zone_narrow;
    MUST(w, axo_system_spawn(w->system, &props, &w->other) == AXO_OK);
    props.mailbox = NULL;
    props.cls = &zone_source_class;
    MUST(w, axo_system_spawn(w->system, &props, &w->ref) == AXO_OK);
    world_run(w);
    for (uint32_t i = 0; i < 3; i++)
        (void)axo_system_send(w->system, w->ref, WORLD_NOTE, NULL, 0);
    (void)axo_system_send(w->system, w->other, WORLD_FAIL, NULL, 0);
    refuse_resume();
    zone_run(w, WORLD_MS);
    world_post(w, w->ref, WORLD_NOTE);
    refuse_zone_begin();
    MUST(w, axo_system_stop_actor(w->system, w->other) == AXO_OK);
    MUST(w, *refuse_zone_end() == '\0');
    zone_run(w, 2 * WORLD_S);
}

static axo_status zone_keeper_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    world *w = *(world **)state;
    if (message->tag == WORLD_QUIT) {
        for (uint64_t key = 1; key <= 4; key++)
            (void)axo_timer_stop(ctx, key);
        MUST(w, axo_receive_timeout(ctx, 0) == AXO_OK);
        MUST(w, axo_unbecome(ctx) == AXO_OK);
        return axo_unstash_all(ctx);
    }
    if (message->tag == WORLD_FAIL)
        return axo_fail(ctx, 1, "with a stash, timers and memory");
    if (axo_stash_count(ctx) > 3)
        return AXO_OK;
    refuse_pause(); /* what it has takes memory; what becomes of that does not */
    for (uint64_t key = 1; key <= 4; key++)
        MUST(w, axo_timer_start(ctx, key, AXO_TIMER_FIXED_RATE, WORLD_S, WORLD_S, WORLD_NOTE, NULL,
                                0) == AXO_OK);
    MUST(w, axo_receive_timeout(ctx, 60 * WORLD_S) == AXO_OK);
    MUST(w, axo_alloc(ctx, 5000) != NULL);
    axo_status status = axo_stash(ctx);
    refuse_resume();
    return status == AXO_EINVAL ? AXO_OK : status;
}

static const axo_class zone_keeper_class = AXO_CLASS(
    .state_size = sizeof(world *), .construct = zone_construct, .receive = zone_keeper_receive);

static void zone_belongings(world *w)
{
    static const uint32_t tags[] = {WORLD_NOTE, WORLD_NOTE, WORLD_FAIL,
                                    WORLD_NOTE, WORLD_QUIT, WORLD_NOTE};
    axo_props props = world_props(&w);
    axo_timer timer;
    props.cls = &zone_keeper_class;
    refuse_pause();
    MUST(w, axo_system_spawn(w->system, &props, &w->ref) == AXO_OK);
    MUST(w, axo_system_schedule_once(w->system, WORLD_S, w->pinger, WORLD_NOTE, "x", 2, &timer) ==
                AXO_OK);
    world_run(w);
    for (uint32_t i = 0; i < 6; i++)
        (void)axo_system_send(w->system, w->ref, tags[i], NULL, 0);
    refuse_resume();
    refuse_zone_begin();
    MUST(w, axo_system_timer_cancel(w->system, timer));
    MUST(w, *refuse_zone_end() == '\0');
    zone_run(w, WORLD_MS);
    refuse_zone_begin();
    MUST(w, axo_system_stop_actor(w->system, w->ref) == AXO_OK);
    MUST(w, *refuse_zone_end() == '\0');
    zone_run(w, 0);
}

/* The whole system: a tree of actors with full mailboxes ends without a byte. */
static void zone_shutdown(world *w)
{
    axo_options options = world_options(w, NULL);
    axo_props props = world_props(&w);
    refuse_pause();
    MUST(w, axo_system_start(&options, &w->system) == AXO_OK);
    world_run(w);
    props.cls = &zone_boss_class;
    for (uint32_t i = 0; i < 5; i++) {
        MUST(w, axo_system_spawn(w->system, &props, &w->ref) == AXO_OK);
        world_run(w);
        (void)axo_system_send(w->system, w->ref, WORLD_NOTE, NULL, 0);
        (void)axo_system_schedule_once(w->system, WORLD_S, w->ref, WORLD_NOTE, "x", 2, NULL);
    }
    refuse_resume();
    refuse_zone_begin();
    MUST(w, axo_system_shutdown(w->system) == AXO_OK);
    MUST(w, axo_system_stop(w->system, -1, NULL, 0, NULL) == AXO_OK);
    const char *said = refuse_zone_end();
    if (*said != '\0')
        world_breach(w, __FILE__, __LINE__, said);
    MUST(w, axo_system_destroy(w->system) == AXO_OK);
    w->system = NULL;
}

/* A handler of a readiness fails, and leaves something that was not read. */
static axo_status zone_reader_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    world *w = *(world **)state;
    if (message->tag == WORLD_NOTE)
        return axo_io_watch(ctx, *(int *)w->user, AXO_IO_IN, 0);
    if (message->tag != AXO_IO_READY)
        return AXO_OK;
    w->got[0]++;
    axo_status status = axo_fail(ctx, 4, "with a readiness");
    refuse_zone_begin(); /* until the instance is another */
    return status;
}

static void zone_readiness(world *w)
{
    static const axo_class cls = AXO_CLASS(.state_size = sizeof(world *),
                                           .construct = zone_construct,
                                           .receive = zone_reader_receive);
    int fd = eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC);
    axo_props props = world_props(&w);
    props.cls = &cls;
    w->user = &fd;
    refuse_pause();
    MUST(w, axo_system_spawn(w->system, &props, &w->ref) == AXO_OK);
    world_post(w, w->ref, WORLD_NOTE);
    world_run(w);
    const char *said = refuse_zone_end();
    if (*said != '\0')
        world_breach(w, __FILE__, __LINE__, said);
    MUST(w, w->got[0] == 1);
    refuse_resume();
    MUST(w, close(fd) == 0);
}

const scene scenes_zone[] = {
    {.name = "no memory: failures and restarts", .run = zone_failures},
    {.name = "no memory: ends, notices, dead letters", .run = zone_ends},
    {.name = "no memory: unparking", .run = zone_unpark},
    {.name = "no memory: stash, timers, regions", .run = zone_belongings},
    {.name = "no memory: a readiness", .run = zone_readiness},
    {.name = "no memory: shutdown", .run = zone_shutdown, .bare = 1},
    {.name = NULL},
};
