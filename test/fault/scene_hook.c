/* scene_hook.c - memory refused while a failure is handled, while somebody stops, while a dead
 * letter is told of: every hook asks for some. */
#include "fault/scenes.h"

typedef struct hook_state {
    world *w;
    uint32_t instance;
} hook_state;

/* What a hook does; without memory it fails, or gives up what it wanted. */
static axo_status hook_use(axo_ctx *ctx, world *w, bool fails)
{
    axo_props props = AXO_PROPS(.cls = &plain_class);
    axo_ref child;
    axo_status first = TRY(w, axo_alloc(ctx, 64) != NULL ? AXO_OK : AXO_ENOMEM);
    axo_status second = TRY(w, axo_send(ctx, w->pinger, WORLD_NOTE, "hook", 5));
    axo_status third = TRY(w, axo_send_after(ctx, WORLD_MS, w->pinger, WORLD_NOTE, "hook", 5));
    axo_status fourth = TRY(w, axo_spawn(ctx, &props, &child));
    axo_status fifth = TRY(w, axo_watch(ctx, w->pinger));
    MUST(w, fourth == AXO_OK || fourth == AXO_ENOMEM || fourth == AXO_ESTOPPING);
    bool short_of = first != AXO_OK || second != AXO_OK || third != AXO_OK ||
                    fourth == AXO_ENOMEM || fifth != AXO_OK;
    return fails && short_of ? AXO_ENOMEM : AXO_OK;
}

static axo_status hook_construct(axo_ctx *ctx, void *state, const void *args)
{
    hook_state *me = state;
    memcpy(&me->w, args, sizeof me->w);
    me->instance = axo_instance(ctx);
    return hook_use(ctx, me->w, me->instance % 2 == 0);
}

static axo_status hook_start(axo_ctx *ctx, void *state)
{
    return hook_use(ctx, ((hook_state *)state)->w, true);
}

static axo_status hook_stop(axo_ctx *ctx, void *state)
{
    return hook_use(ctx, ((hook_state *)state)->w, true);
}

static axo_status hook_pre_restart(axo_ctx *ctx, void *state, const axo_failure *failure,
                                   const axo_message *message)
{
    hook_state *me = state;
    axo_status status = hook_use(ctx, me->w, true);
    if (status != AXO_OK)
        return status;
    if (message != NULL && axo_forward(ctx, message, me->w->pinger) == AXO_EINVAL)
        MUST(me->w, message->tag >= AXO_TAG_RESERVED);
    return me->instance % 2 == 0 ? AXO_OK : axo_default_pre_restart(ctx, state, failure, message);
}

static axo_status hook_post_restart(axo_ctx *ctx, void *state, const axo_failure *failure)
{
    hook_state *me = state;
    return me->instance % 3 == 0 ? hook_use(ctx, me->w, true)
                                 : axo_default_post_restart(ctx, state, failure);
}

static axo_status hook_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    hook_state *me = state;
    switch (message->tag) {
    case WORLD_FAIL:
        axo_throw(ctx, 9, "thrown while there is no memory for these words");
    case WORLD_QUIT:
        return axo_stop_self(ctx);
    case AXO_TERMINATED:
        return AXO_OK;
    default:
        return hook_use(ctx, me->w, false);
    }
}

static const axo_class hook_class = AXO_CLASS(
    .state_size = sizeof(hook_state), .construct = hook_construct, .pre_start = hook_start,
    .receive = hook_receive, .post_stop = hook_stop, .pre_restart = hook_pre_restart,
    .post_restart = hook_post_restart);

static axo_directive hook_decide(axo_ctx *ctx, void *state, const axo_failure *failure, void *user)
{
    (void)state, (void)user;
    (void)axo_send(ctx, axo_self(ctx), WORLD_NOTE, NULL, 0); /* refused: a note less */
    return failure->kind == AXO_FAILURE_INIT ? AXO_STOP : AXO_RESTART;
}

static const axo_strategy hook_strategy =
    AXO_STRATEGY(.decider = hook_decide, .limited = 1, .retries_max = 3, .within_ns = WORLD_S);

typedef struct hook_boss {
    world *w;
    axo_ref child;
} hook_boss;

static axo_status hook_boss_start(axo_ctx *ctx, void *state)
{
    hook_boss *boss = state;
    axo_props props = world_props(&boss->w);
    props.cls = &hook_class;
    axo_status status = TRY(boss->w, axo_spawn(ctx, &props, &boss->child));
    boss->w->ref = boss->child;
    return status;
}

static axo_status hook_boss_construct(axo_ctx *ctx, void *state, const void *args)
{
    memcpy(state, args, sizeof(world *));
    return AXO_OK;
}

static axo_status hook_boss_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    return message->tag == WORLD_FAIL ? axo_fail(ctx, 1, "the boss of the hooks") : AXO_OK;
}

static const axo_class hook_boss_class =
    AXO_CLASS(.state_size = sizeof(hook_boss), .construct = hook_boss_construct,
              .pre_start = hook_boss_start, .receive = hook_boss_receive);

static void hook_life(world *w, const uint32_t *tags)
{
    axo_props props = world_props(&w);
    axo_ref boss;
    props.cls = &hook_boss_class;
    props.strategy = &hook_strategy;
    w->ref = w->pinger;
    if (TRY(w, axo_system_spawn(w->system, &props, &boss)) != AXO_OK)
        return;
    world_run(w);
    if (axo_ref_equal(w->ref, w->pinger) || axo_ref_is_none(w->ref))
        return;
    for (uint32_t i = 0; tags[i] != 0; i++) {
        bool whole = tags[i] == WORLD_DO;
        world_post(w, whole ? boss : w->ref, whole ? WORLD_FAIL : tags[i]);
        world_advance(w, 2 * WORLD_MS);
    }
    (void)axo_system_stop_actor(w->system, boss);
    world_advance(w, WORLD_S);
}

static void hook_failures(world *w)
{
    static const uint32_t tags[] = {WORLD_NOTE, WORLD_FAIL, WORLD_NOTE, WORLD_FAIL, WORLD_DO,
                                    WORLD_FAIL, WORLD_FAIL, WORLD_FAIL, WORLD_FAIL, 0};
    hook_life(w, tags);
}

static void hook_stops(world *w)
{
    static const uint32_t tags[] = {WORLD_NOTE, WORLD_QUIT, WORLD_NOTE, WORLD_DO, 0};
    refuse_pause(); /* its end, and what was sent to it, are told to somebody */
    MUST(w, axo_system_subscribe(w->system, w->driver, AXO_KIND_ALL) == AXO_OK);
    refuse_resume();
    hook_life(w, tags);
}

const scene scenes_hook[] = {
    {.name = "hooks of a failure", .run = hook_failures},
    {.name = "hooks of an end", .run = hook_stops},
    {.name = NULL},
};
