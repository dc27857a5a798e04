/* scene_basic.c - scenes of what every program does: start, spawn, send, watch, stop, fail. */
#include "fault/scenes.h"

/* ---- start and end -------------------------------------------------------------------------- */

static void basic_start(world *w)
{
    axo_options options = world_options(w, w->scene->options);
    axo_system *system = (axo_system *)w;
    world *none = w;
    axo_props props = world_props(&none);
    w->system = NULL;
    axo_status status = TRY(w, axo_system_start(&options, &system));
    if (status != AXO_OK) {
        MUST(w, system == NULL);
        return;
    }
    w->system = system;
    uint64_t turns = 1;
    while (turns > 0 && axo_run_host(system, -1, &turns) == AXO_OK)
        ;
    bool rich = world_rich(w);
    axo_outcome outcome;
    status = TRY(w, axo_system_spawn(system, &props, &w->ref));
    if (status == AXO_OK)
        (void)TRY(w, axo_system_send(system, w->ref, WORLD_NOTE, NULL, 0));
    MUST(w, axo_system_stop(system, -1, NULL, 0, NULL) == AXO_OK);
    MUST(w, axo_system_wait(system, 0, &outcome) == AXO_OK);
    if (w->scene->workers > 0) /* a worker may have started the guardians after `rich` was read */
        rich = world_rich(w);
    MUST(w, status != AXO_ESTOPPING || !rich); /* a guardian could not start: */
    if (status == AXO_ESTOPPING)
        MUST(w, outcome.failed == 1 && outcome.code == AXO_ENOMEM); /* it says why */
    MUST(w, axo_system_destroy(system) == AXO_OK);
}

static const axo_options basic_rich_options =
    AXO_OPTIONS(.name = "rich", .failure_texts = 8, .registry_max = 8, .dead_letters_kept = 4,
                .actors_max = 600, .figures = AXO_FIGURES_COUNTS,
                .walls = AXO_WALL_CANARY);

static const axo_options basic_contain_options = AXO_OPTIONS(.contain = 1, .crashes_max = 9);

static axo_status basic_stray(void *user, axo_ref to, const axo_message *message)
{
    return AXO_EGONE;
}

static const axo_remote basic_remote = AXO_REMOTE(.stray = basic_stray);
static const axo_options basic_remote_options = AXO_OPTIONS(.remote = &basic_remote);

/* ---- spawn ---------------------------------------------------------------------------------- */

static void basic_spawn_outside(world *w)
{
    static const axo_mailbox bounded = AXO_MAILBOX(.messages_max = 3);
    static const char args[2000];
    axo_props all[6];
    for (uint32_t i = 0; i < 6; i++)
        all[i] = world_props(&w);
    all[1].name = "named";
    all[2].stash_max = 3;
    all[3].mailbox = &bounded;
    all[4].system_actor = 1;
    all[5].cls = &plain_class;
    all[5].args = args;
    all[5].args_size = sizeof args;
    for (uint32_t i = 0; i < 6; i++) {
        axo_ref ref = {1};
        axo_status status = TRY(w, axo_system_spawn(w->system, &all[i], &ref));
        MUST(w, status == AXO_OK || status == AXO_ENOMEM);
        MUST(w, axo_ref_is_none(ref) == (status != AXO_OK));
        if (all[i].name != NULL && status != AXO_OK)
            MUST(w, axo_system_find(w->system, "/user/named", &ref) == AXO_ENOENT);
    }
    world_run(w);
}

static void basic_spawn_many(world *w)
{
    axo_props props = world_props(&w);
    for (uint32_t i = 0; i < 300; i++) {
        axo_ref ref;
        axo_status status = TRY(w, axo_system_spawn(w->system, &props, &ref));
        MUST(w, status == AXO_OK || status == AXO_ENOMEM);
        if (i % 50 == 0)
            world_run(w);
    }
}

/* So many names that their table grows; that it cannot is no reason to refuse one. */
static void basic_spawn_named(world *w)
{
    axo_props props = world_props(&w);
    char name[20];
    props.name = name;
    for (uint32_t i = 0; i < 400; i++) {
        axo_ref ref;
        (void)snprintf(name, sizeof name, "name-%u", (unsigned)i);
        axo_status status = MAY(w, axo_system_spawn(w->system, &props, &ref));
        MUST(w, status == AXO_OK || status == AXO_ENOMEM);
        if (i % 50 == 0)
            world_run(w);
    }
}

static void basic_children(axo_ctx *ctx, world *w)
{
    axo_props props = world_props(&w);
    for (uint32_t i = 0; i < 4; i++) {
        axo_ref ref = {1};
        uint32_t count = axo_child_count(ctx);
        props.name = i % 2 == 0 ? "child" : NULL;
        axo_status status = TRY(w, axo_spawn(ctx, &props, &ref));
        if (i == 2 && status == AXO_EEXIST)
            continue;
        MUST(w, status == AXO_OK || status == AXO_ENOMEM);
        MUST(w, axo_child_count(ctx) == count + (status == AXO_OK));
        MUST(w, axo_ref_is_none(ref) == (status != AXO_OK));
    }
}

static void basic_spawn_inside(world *w)
{
    world_do(w, basic_children);
}

static void basic_get(axo_ctx *ctx, world *w)
{
    axo_props props = world_props(&w);
    props.name = "one";
    for (uint32_t i = 0; i < 2; i++) {
        bool created = false;
        axo_status status = TRY(w, axo_spawn_or_get(ctx, &props, &w->ref, &created));
        MUST(w, status == AXO_OK || (status == AXO_ENOMEM && !created));
    }
}

static void basic_spawn_or_get(world *w)
{
    axo_props props = world_props(&w);
    bool created = false;
    world_do(w, basic_get);
    props.name = "two";
    for (uint32_t i = 0; i < 2; i++)
        (void)TRY(w, axo_system_spawn_or_get(w->system, &props, &w->ref, &created));
}

/* A parent whose pre_start needs memory: without it its creation fails, and it ends. */
static axo_status basic_parent_start(axo_ctx *ctx, void *state)
{
    world *w = *(world **)state;
    axo_props props = world_props(&w);
    for (uint32_t i = 0; i < 3; i++) {
        axo_ref ref;
        axo_status status = TRY(w, axo_spawn(ctx, &props, &ref));
        if (status != AXO_OK)
            return status;
        status = TRY(w, axo_watch(ctx, ref));
        if (status != AXO_OK)
            return status;
    }
    return axo_alloc(ctx, 100) != NULL ? AXO_OK : AXO_ENOMEM;
}

static axo_status basic_parent_construct(axo_ctx *ctx, void *state, const void *args)
{
    memcpy(state, args, sizeof(world *));
    return AXO_OK;
}

static axo_status basic_parent_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    return message->tag == WORLD_FAIL ? axo_fail(ctx, 3, "again") : AXO_OK;
}

static const axo_class basic_parent_class =
    AXO_CLASS(.state_size = sizeof(world *), .construct = basic_parent_construct,
              .pre_start = basic_parent_start, .receive = basic_parent_receive);

static void basic_creation(world *w)
{
    axo_props props = world_props(&w);
    props.cls = &basic_parent_class;
    props.name = "parent";
    axo_status status = TRY(w, axo_system_spawn(w->system, &props, &w->ref));
    if (status != AXO_OK)
        return;
    world_run(w);
    world_post(w, w->ref, WORLD_FAIL);
    world_post(w, w->ref, WORLD_FAIL);
    world_run(w);
    if (world_rich(w))
        MUST(w, axo_system_find(w->system, "/user/parent", &w->ref) == AXO_OK);
}

/* ---- send ----------------------------------------------------------------------------------- */

static const size_t basic_sizes[] = {0, 8, 100, 1000, 3000, 5000, 100000};
static char basic_payload[100000];

static void basic_freed(void *payload, void *user)
{
    ((world *)user)->freed++;
}

static void basic_send_all(axo_ctx *ctx, world *w)
{
    axo_message message = {.sender = w->pinger};
    for (uint32_t i = 0; i < 7; i++) {
        size_t size = basic_sizes[i];
        axo_draft *draft = NULL;
        void *payload = NULL;
        (void)TRY(w, axo_send(ctx, w->pinger, WORLD_NOTE, basic_payload, size));
        (void)TRY(w, axo_send_from(ctx, w->pinger, w->driver, WORLD_NOTE, basic_payload, size));
        (void)TRY(w, axo_reply(ctx, &message, WORLD_NOTE, basic_payload, size));
        axo_status status = TRY(w, axo_message_new(ctx, WORLD_NOTE, size, &draft, &payload));
        MUST(w, (draft != NULL) == (status == AXO_OK));
        if (status != AXO_OK)
            continue;
        if (i % 2 == 0)
            axo_message_discard(ctx, draft);
        else
            MUST(w, axo_send_message(ctx, w->pinger, draft) == AXO_OK);
    }
    (void)TRY(w, axo_poison(ctx, w->other));
    (void)TRY(w, axo_kill(ctx, w->ref));
    (void)TRY(w, axo_stop(ctx, w->ref));
}

static void basic_send_inside(world *w)
{
    axo_props props = world_props(&w);
    refuse_pause();
    MUST(w, axo_system_spawn(w->system, &props, &w->ref) == AXO_OK);
    MUST(w, axo_system_spawn(w->system, &props, &w->other) == AXO_OK);
    refuse_resume();
    world_do(w, basic_send_all);
}

static void basic_send_outside(world *w)
{
    axo_props props = world_props(&w);
    axo_ref all[4];
    refuse_pause();
    for (uint32_t i = 0; i < 4; i++)
        MUST(w, axo_system_spawn(w->system, &props, &all[i]) == AXO_OK);
    refuse_resume();
    for (uint32_t i = 0; i < 7; i++) {
        size_t size = basic_sizes[i];
        (void)TRY(w, axo_system_send(w->system, all[0], WORLD_NOTE, basic_payload, size));
        (void)TRY(
            w, axo_system_send_from(w->system, all[0], w->driver, WORLD_NOTE, basic_payload, size));
    }
    if (TRY(w, axo_system_send_owned(w->system, all[0], WORLD_NOTE, w, 1, basic_freed, w)) ==
        AXO_OK)
        w->given++;
    (void)TRY(w, axo_system_poison(w->system, all[0]));
    (void)TRY(w, axo_system_kill(w->system, all[1]));
    (void)TRY(w, axo_system_fail(w->system, all[2], AXO_FAILURE_ORDINARY, 5));
    (void)TRY(w, axo_system_stop_actor(w->system, all[3]));
    world_run(w);
}

static void basic_owned(axo_ctx *ctx, world *w)
{
    axo_owned owned = {.payload = w, .size = 4, .destroy = basic_freed, .user = w};
    axo_draft *draft = NULL;
    if (TRY(w, axo_send_owned(ctx, w->ref, WORLD_NOTE, w, 4, basic_freed, w)) == AXO_OK)
        w->given++;
    axo_status status = TRY(w, axo_message_owning(ctx, WORLD_NOTE, &owned, &draft));
    if (status == AXO_OK) {
        w->given++;
        MUST(w, axo_send_message(ctx, w->ref, draft) == AXO_OK);
    }
}

/* Passes on what it gets, whoever owns it. */
static axo_status basic_passer_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    world *w = *(world **)state;
    axo_owned taken;
    if (message->tag == WORLD_FAIL && axo_message_take(ctx, message, &taken) == AXO_OK) {
        axo_draft *draft;
        if (TRY(w, axo_message_owning(ctx, WORLD_NOTE, &taken, &draft)) == AXO_OK)
            (void)axo_send_message(ctx, w->pinger, draft);
        else
            taken.destroy(taken.payload, taken.user);
        return AXO_OK;
    }
    axo_status status = TRY(w, axo_forward(ctx, message, w->pinger));
    return status == AXO_ENOMEM ? AXO_OK : status;
}

static const axo_class basic_passer_class =
    AXO_CLASS(.state_size = sizeof(world *), .construct = basic_parent_construct,
              .receive = basic_passer_receive);

static void basic_pass_on(axo_ctx *ctx, world *w)
{
    basic_owned(ctx, w);
    (void)TRY(w, axo_send(ctx, w->ref, WORLD_NOTE, basic_payload, 200));
    if (TRY(w, axo_send_owned(ctx, w->ref, WORLD_FAIL, w, 4, basic_freed, w)) == AXO_OK)
        w->given++;
}

static void basic_forward(world *w)
{
    axo_props props = world_props(&w);
    props.cls = &basic_passer_class;
    refuse_pause();
    MUST(w, axo_system_spawn(w->system, &props, &w->ref) == AXO_OK);
    world_run(w);
    refuse_resume();
    world_do(w, basic_pass_on);
    world_run(w);
}

/* ---- watch and stop ------------------------------------------------------------------------- */

static void basic_watch_all(axo_ctx *ctx, world *w)
{
    (void)TRY(w, axo_watch(ctx, w->ref));
    (void)TRY(w, axo_watch_with(ctx, w->other, WORLD_NOTE, basic_payload, 300));
    (void)TRY(w, axo_watch(ctx, w->pinger));
    MUST(w, axo_unwatch(ctx, w->pinger) == AXO_OK);
}

static void basic_watch(world *w)
{
    axo_props props = world_props(&w);
    refuse_pause();
    MUST(w, axo_system_spawn(w->system, &props, &w->ref) == AXO_OK);
    MUST(w, axo_system_spawn(w->system, &props, &w->other) == AXO_OK);
    refuse_resume();
    world_do(w, basic_watch_all);
    MUST(w, axo_system_stop_actor(w->system, w->ref) == AXO_OK);
    MUST(w, axo_system_stop_actor(w->system, w->other) == AXO_OK);
    world_run(w);
    if (world_rich(w))
        MUST(w, w->got[0] == 1 && w->got[WORLD_NOTE] == 1);
    world_do(w, basic_watch_all); /* they are gone: the notice comes at once */
    world_run(w);
}

/* ---- a look at all -------------------------------------------------------------------------- */

enum { VISIT_MESSAGES = 200 }; /* more than the list of a mailbox begins with */

static void basic_visited(void *user, const axo_visited *it)
{
    *(uint32_t *)user += it->kind == AXO_VISITED_MESSAGE;
}

/* What waits is there in any case, and shown whole if it is said to be. */
static void basic_visit(world *w)
{
    uint32_t sent = 0;
    uint32_t shown = 0;
    for (uint32_t i = 0; i < VISIT_MESSAGES; i++)
        sent += axo_system_send(w->system, w->pinger, WORLD_NOTE, NULL, 0) == AXO_OK;
    axo_status status = TRY(w, axo_system_visit(w->system, basic_visited, &shown));
    MUST(w, status == AXO_OK || status == AXO_ENOMEM);
    MUST(w, status == AXO_OK ? shown == sent : shown < sent);
    world_run(w);
}

const scene scenes_basic[] = {
    {.name = "start and end", .run = basic_start, .bare = 1},
    {.name = "start with options", .run = basic_start, .bare = 1, .options = &basic_rich_options},
    {.name = "start that contains crashes", .run = basic_start, .bare = 1,
     .options = &basic_contain_options},
    {.name = "start with a carrier", .run = basic_start, .bare = 1,
     .options = &basic_remote_options},
    {.name = "start with threads", .run = basic_start, .bare = 1, .workers = 2},
    {.name = "spawn from outside", .run = basic_spawn_outside},
    {.name = "spawn many", .run = basic_spawn_many},
    {.name = "spawn many with names", .run = basic_spawn_named},
    {.name = "spawn inside", .run = basic_spawn_inside},
    {.name = "spawn or get", .run = basic_spawn_or_get},
    {.name = "a creation that needs memory", .run = basic_creation},
    {.name = "send inside", .run = basic_send_inside},
    {.name = "send from outside", .run = basic_send_outside},
    {.name = "a look at all", .run = basic_visit},
    {.name = "payloads handed over and passed on", .run = basic_forward},
    {.name = "watch", .run = basic_watch},
    {.name = NULL},
};
