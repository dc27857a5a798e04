/* scene_memory.c - scenes of an instance's heap: blocks that come and go, bounds, walls. What is
 * refused changes nothing, what is given back can be had again, all goes at the end. */
#include "fault/scenes.h"

static axo_status memory_construct(axo_ctx *ctx, void *state, const void *args)
{
    memcpy(state, args, sizeof(world *));
    return AXO_OK;
}

/* One block, or a try that changes nothing. */
static unsigned char *memory_take(world *w, axo_ctx *ctx, size_t size)
{
    uint64_t before = axo_memory_of(ctx).blocks;
    unsigned char *block;
    (void)MAY(w, (block = axo_alloc(ctx, size)) != NULL ? AXO_OK : AXO_ENOMEM);
    MUST(w, axo_memory_of(ctx).blocks == before + (block != NULL));
    if (block != NULL)
        memset(block, 0x44, size);
    return block;
}

static void memory_give(world *w, axo_ctx *ctx, unsigned char *block, size_t size)
{
    uint64_t before = axo_memory_of(ctx).blocks;
    if (block == NULL)
        return;
    for (size_t i = 0; i < size; i++)
        MUST(w, block[i] == 0x44);
    axo_free(ctx, block);
    MUST(w, axo_memory_of(ctx).blocks == before - 1);
}

static void memory_blocks(world *w, axo_ctx *ctx)
{
    static const size_t sizes[] = {40, 300, 300, 5000, 40, 900, 2000, 40};
    unsigned char *blocks[8];
    for (uint32_t i = 0; i < 8; i++)
        blocks[i] = memory_take(w, ctx, sizes[i]);
    for (uint32_t i = 0; i < 8; i += 2)
        memory_give(w, ctx, blocks[i], sizes[i]);
    for (uint32_t i = 1; i < 8; i += 2) {
        unsigned char *moved = blocks[i];
        if (moved == NULL)
            continue;
        (void)MAY(w, (moved = axo_realloc(ctx, blocks[i], 2 * sizes[i])) != NULL ? AXO_OK
                                                                                 : AXO_ENOMEM);
        if (moved != NULL)
            blocks[i] = moved;
    }
    for (uint32_t i = 1; i < 8; i += 2)
        memory_give(w, ctx, blocks[i], sizes[i]);
    MUST(w, axo_memory_of(ctx).blocks == 0);
}

static axo_status memory_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    world *w = *(world **)state;
    axo_memory before = axo_memory_of(ctx);
    MUST(w, before.held_max == 0 || before.held <= before.held_max);
    MUST(w, before.tree_max == 0 || before.tree_held <= before.tree_max);
    switch (message->tag) {
    case WORLD_NOTE:
        memory_blocks(w, ctx);
        return AXO_OK;
    case WORLD_PONG: {
        axo_props props = world_props(&w);
        props.memory_max = 20000;
        (void)TRY(w, axo_spawn(ctx, &props, &w->ref));
        unsigned char bytes[24];
        axo_draft *draft;
        void *room;
        memset(bytes, 1, sizeof bytes);
        (void)TRY(w, axo_send(ctx, axo_self(ctx), WORLD_QUIT, bytes, sizeof bytes));
        if (TRY(w, axo_message_new(ctx, WORLD_QUIT, 100, &draft, &room)) != AXO_OK)
            return AXO_OK;
        memset(room, 1, 100);
        MUST(w, axo_send_message(ctx, axo_self(ctx), draft) == AXO_OK);
        return AXO_OK;
    }
    case WORLD_FAIL:
        (void)memory_take(w, ctx, 700);
        return axo_fail(ctx, 4, "an instance goes, with all it has");
    default:
        return AXO_OK;
    }
}

static const axo_class memory_class =
    AXO_CLASS(.name = "heap", .state_size = sizeof(world *), .construct = memory_construct,
              .receive = memory_receive);

static void memory_run(world *w, axo_props *props)
{
    static const uint32_t tags[] = {WORLD_NOTE, WORLD_PONG, WORLD_FAIL, WORLD_NOTE};
    axo_ref ref;
    props->cls = &memory_class;
    if (TRY(w, axo_system_spawn(w->system, props, &ref)) != AXO_OK)
        return;
    world_run(w);
    for (uint32_t i = 0; i < 4; i++) {
        world_post(w, ref, tags[i]);
        world_run(w);
    }
}

static void memory_heap(world *w)
{
    axo_props props = world_props(&w);
    memory_run(w, &props);
}

static void memory_bounds(world *w)
{
    axo_props props = world_props(&w);
    props.memory_max = 30000;
    props.memory_tree_max = 30000;
    memory_run(w, &props);
}

/* ---- what an actor has outstanding ---- */

typedef struct memory_asker {
    world *w;
    uint32_t refused; /* and will be told of room */
    uint32_t rooms;
} memory_asker;

static void memory_look(world *w, axo_ctx *ctx, uint32_t owed, uint32_t refused)
{
    axo_demand_info info = AXO_DEMAND_INFO();
    MUST(w, axo_demand_look(ctx, &info) == AXO_OK);
    MUST(w, info.owed == owed && info.refused == refused);
}

/* A refusal takes memory for its notice; without that the actor is told so, and no notice comes.
 * An ask that finds none is not owed. */
static axo_status memory_demand(axo_ctx *ctx, void *state, const axo_message *message)
{
    memory_asker *it = state;
    world *w = it->w;
    if (message->tag == AXO_DEMAND_ROOM)
        it->rooms++;
    if (message->tag != WORLD_NOTE)
        return AXO_OK;
    MUST(w, it->rooms == it->refused);
    MUST(w, axo_demand_owe(ctx, 2) == AXO_OK);
    axo_status status = TRY(w, axo_demand_owe(ctx, 1));
    MUST(w, status == AXO_EFULL || status == AXO_ENOMEM);
    memory_look(w, ctx, 2, status == AXO_EFULL);
    it->refused += status == AXO_EFULL;
    MUST(w, axo_demand_forgive(ctx, 2) == AXO_OK);
    memory_look(w, ctx, 0, 0);
    status = TRY(w, axo_ask(ctx, w->pinger, WORLD_PING, NULL, 0, WORLD_MS, 1));
    memory_look(w, ctx, status == AXO_OK, 0);
    if (status == AXO_OK)
        MUST(w, axo_demand_forgive(ctx, 1) == AXO_OK);
    return AXO_OK;
}

static const axo_class memory_asker_class =
    AXO_CLASS(.name = "asker", .state_size = sizeof(memory_asker), .construct = memory_construct,
              .receive = memory_demand);

static void memory_outstanding(world *w)
{
    axo_props props = world_props(&w);
    axo_ref ref;
    props.cls = &memory_asker_class;
    props.outstanding_max = 2;
    if (TRY(w, axo_system_spawn(w->system, &props, &ref)) != AXO_OK)
        return;
    world_run(w);
    for (uint32_t i = 0; i < 3; i++) {
        world_post(w, ref, WORLD_NOTE);
        world_advance(w, 2 * WORLD_MS);
    }
}

/* ---- a message to each of many, and a trim ---- */

/* Who is refused is not counted; the others get theirs. */
static void memory_send_many(axo_ctx *ctx, world *w)
{
    const axo_ref to[] = {w->pinger, w->driver, w->pinger};
    axo_group *group = w->user;
    axo_stats before = AXO_STATS();
    axo_stats after = AXO_STATS();
    uint32_t accepted = 4;
    uint64_t denials = refuse_denials();
    (void)ctx;
    MUST(w, axo_system_stats(w->system, &before) == AXO_OK);
    axo_status status = axo_group_send_many(group, to, 3, WORLD_NOTE, "all", 3, &accepted);
    MUST(w, axo_system_stats(w->system, &after) == AXO_OK);
    MUST(w, status == (refuse_denials() != denials ? AXO_ENOMEM : AXO_OK));
    MUST(w, (accepted == 3) == (status == AXO_OK));
    MUST(w, after.sent - before.sent == accepted);
    MUST(w, axo_group_count(group) == accepted);
}

static const char memory_text[4000];

static void memory_many(world *w)
{
    axo_group *group;
    uint64_t bytes = 1;
    /* first, since the pools have a chunk only while n is odd (world.c) */
    if (TRY(w, axo_system_trim(w->system, 0, &bytes)) != AXO_OK)
        MUST(w, bytes == 0);
    if (TRY(w, axo_group_make(w->system, &group)) != AXO_OK)
        return;
    w->user = group;
    for (size_t size = 1; size < sizeof memory_text; size *= 8)
        (void)TRY(w, axo_group_send(group, w->pinger, WORLD_NOTE, memory_text, size));
    world_run(w);
    MUST(w, axo_group_count(group) == 0);
    world_do(w, memory_send_many);
    world_run(w);
    MUST(w, axo_group_count(group) == 0);
    MUST(w, axo_group_free(group) == AXO_OK);
}

/* ---- a class that is replaced ---- */

typedef struct memory_change {
    uint32_t made[2]; /* states of each class */
    uint32_t handled[2];
} memory_change;

static axo_status memory_changed_construct(axo_ctx *ctx, void *state, const void *args)
{
    memory_change **me = state;
    (void)ctx;
    memcpy(me, args, sizeof(memory_change *));
    (*me)->made[0]++;
    return AXO_OK;
}

static axo_status memory_old_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)ctx;
    (void)message;
    (*(memory_change **)state)->handled[0]++;
    return AXO_OK;
}

static axo_status memory_new_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)ctx;
    (void)message;
    (*(memory_change **)state)->handled[1]++;
    return AXO_OK;
}

static axo_status memory_migrate(axo_ctx *ctx, void *state, void *old, void *user)
{
    (void)ctx;
    (void)user;
    memcpy(state, old, sizeof(memory_change *));
    (*(memory_change **)state)->made[1]++;
    return AXO_OK;
}

static const axo_class memory_old =
    AXO_CLASS(.name = "old", .state_size = sizeof(memory_change *),
              .construct = memory_changed_construct, .receive = memory_old_receive);
static const axo_class memory_new =
    AXO_CLASS(.name = "new", .state_size = 6000, .construct = memory_changed_construct,
              .receive = memory_new_receive);

/* Refused, an actor is whole and of its old class. It has been told again by then, so that it may
 * become what it should also behind a call that was refused; the next call waits for that. */
static void memory_replace(world *w)
{
    memory_change change = {{0, 0}, {0, 0}};
    memory_change *its = &change;
    axo_ref ref;
    axo_props props = AXO_PROPS(.cls = &memory_old, .args = &its, .args_size = sizeof its);
    const axo_replacement what =
        AXO_REPLACEMENT(.from = &memory_old, .to = &memory_new, .migrate = memory_migrate);
    if (TRY(w, axo_system_spawn(w->system, &props, &ref)) != AXO_OK)
        return;
    world_run(w);
    axo_status status = TRY(w, axo_class_replace(w->system, &what, WORLD_S));
    for (uint32_t i = 0; status == AXO_ENOMEM && i < 4; i++) {
        MUST(w, change.made[1] == 0);
        status = TRY(w, axo_class_replace(w->system, &what, WORLD_S));
    }
    MUST(w, change.made[0] == 1 && change.handled[0] + change.handled[1] == 0);
    world_post(w, ref, WORLD_NOTE);
    world_run(w);
    MUST(w, change.made[1] <= 1 && (status != AXO_OK || change.made[1] == 1));
    MUST(w, change.handled[change.made[1] == 1 ? 0 : 1] == 0);
}

static const axo_options memory_canary = AXO_OPTIONS(.walls = AXO_WALL_CANARY);
static const axo_options memory_waits = AXO_OPTIONS(.walls = AXO_WALL_FREED);
static const axo_options memory_pages = AXO_OPTIONS(.walls = AXO_WALL_GUARD | AXO_WALL_FREEZE);

const scene scenes_memory[] = {
    {.name = "heap of an instance", .run = memory_heap},
    {.name = "heap with bounds", .run = memory_bounds},
    {.name = "what is outstanding", .run = memory_outstanding},
    {.name = "a message to many, a trim", .run = memory_many},
    {.name = "a class that is replaced", .run = memory_replace},
    {.name = "a class that is replaced, with pages", .run = memory_replace,
     .options = &memory_pages},
    {.name = "heap with canaries", .run = memory_heap, .options = &memory_canary},
    {.name = "heap with freed blocks that wait", .run = memory_heap, .options = &memory_waits},
    {.name = "heap with pages", .run = memory_bounds, .options = &memory_pages},
    {.name = NULL},
};
