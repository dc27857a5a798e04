/* saved_game.c - a world of actors is paused in the midst of a game, and saved, with what waits for
 * each of them and their timers, and made again from the file: both worlds go on alike.
 * saved_game.expected is what it prints. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <axo/axo.h>
#include <axo/world.h>

enum { HUNT = 1, HUNGRY };
enum { HUNGER = 1 }; /* the key of a timer */
enum { WOLVES = 3, RECORDS_MAX = 100 };
#define MS INT64_C(1000000)

/* The state of an actor. What is saved of it has neither pointers nor references. */
typedef struct wolf {
    int number;
    int leader; /* a number; -1: it has none */
    int food;
    int howls;
} wolf;

typedef struct record {
    uint32_t kind; /* an axo_visited_kind */
    int number;    /* of the wolf whose it is */
    wolf state;
    uint32_t tag;
    int prey;
    int64_t left_ns;
    int64_t period_ns;
} record;

typedef struct world {
    axo_system *system;
    int64_t now;
    axo_ref wolves[WOLVES];
    record saved[RECORDS_MAX];
    size_t count;
} world;

static void must(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "%s\n", what);
    exit(1);
}

static void must_be_ok(axo_status status)
{
    must(status == AXO_OK, axo_status_text(status));
}

/* ---- the actors ---- */

/* What a wolf is made of: at the start of a game, or from a file. */
typedef struct birth {
    world *w;
    wolf state;
} birth;

typedef struct animal {
    wolf state;
    world *w;
} animal;

static axo_status wolf_construct(axo_ctx *ctx, void *state, const void *args)
{
    const birth *from = args;
    animal *me = state;
    me->state = from->state;
    me->w = from->w;
    me->w->wolves[me->state.number] = axo_self(ctx);
    return AXO_OK;
}

static axo_status wolf_pre_start(axo_ctx *ctx, void *state);
static axo_status wolf_receive(axo_ctx *ctx, void *state, const axo_message *message);

static const axo_class wolf_class =
    AXO_CLASS(.name = "wolf", .state_size = sizeof(animal), .construct = wolf_construct,
              .pre_start = wolf_pre_start, .receive = wolf_receive);

/* Its followers, and its timer with the time that was left. */
static axo_status wolf_pre_start(axo_ctx *ctx, void *state)
{
    const animal *me = state;
    axo_status status = AXO_OK;
    for (size_t i = 0; i < me->w->count && status == AXO_OK; i++) {
        const record *it = &me->w->saved[i];
        const birth from = {.w = me->w, .state = it->state};
        const axo_props props =
            AXO_PROPS(.cls = &wolf_class, .args = &from, .args_size = sizeof from);
        axo_ref ref;
        if (it->kind == AXO_VISITED_ACTOR && it->state.leader == me->state.number)
            status = axo_spawn(ctx, &props, &ref);
        if (it->kind == AXO_VISITED_TIMER && it->number == me->state.number)
            status = axo_timer_start(ctx, HUNGER, AXO_TIMER_FIXED_RATE, it->left_ns,
                                     it->period_ns, it->tag, NULL, 0);
    }
    return status;
}

/* It eats half of what is caught, and leaves the rest to who follows. */
static axo_status wolf_hunts(axo_ctx *ctx, wolf *me, int prey)
{
    axo_ref follower;
    const int rest = prey / 2;
    me->food += prey - rest;
    if (rest == 0 || axo_children(ctx, &follower, 1) == 0)
        return AXO_OK;
    return axo_send(ctx, follower, HUNT, &rest, sizeof rest);
}

static axo_status wolf_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    wolf *me = &((animal *)state)->state;
    if (message->tag == HUNT)
        return wolf_hunts(ctx, me, *AXO_PAYLOAD(message, int));
    if (me->food > 0)
        me->food--;
    else
        me->howls++;
    return AXO_OK;
}

/* ---- a world ---- */

static int64_t world_clock(void *user)
{
    return ((const world *)user)->now;
}

/* Begins with what `saved` has: the first wolf, which makes the others, and what has waited. */
static void world_begin(world *w)
{
    const axo_options options =
        AXO_OPTIONS(.manual = 1, .clock = world_clock, .clock_user = w);
    const birth from = {.w = w, .state = w->saved[0].state};
    const axo_props props =
        AXO_PROPS(.cls = &wolf_class, .args = &from, .args_size = sizeof from);
    axo_ref ref;
    must_be_ok(axo_system_start(&options, &w->system));
    must_be_ok(axo_system_spawn(w->system, &props, &ref));
    must_be_ok(axo_run_host(w->system, -1, NULL));
    for (size_t i = 0; i < w->count; i++) {
        const record *it = &w->saved[i];
        if (it->kind == AXO_VISITED_MESSAGE)
            must_be_ok(axo_system_send(w->system, w->wolves[it->number], it->tag, &it->prey,
                                       sizeof it->prey));
    }
}

static void world_hunt(const world *w, int prey)
{
    must_be_ok(axo_system_send(w->system, w->wolves[0], HUNT, &prey, sizeof prey));
}

static void world_frame(world *w)
{
    must_be_ok(axo_run_host(w->system, -1, NULL));
    w->now += 16 * MS;
}

/* Messages wait, and nobody gets hungry. */
static void world_pause(const world *w)
{
    must_be_ok(axo_system_pause(w->system, axo_ref_none(), -1));
}

static void world_print(void *user, const axo_visited *it)
{
    (void)user;
    if (it->kind == AXO_VISITED_ACTOR) {
        const wolf *state = it->state;
        printf("  wolf %d: food %d, howls %d\n", state->number, state->food, state->howls);
    } else if (it->kind == AXO_VISITED_MESSAGE) {
        printf("    prey of %d waits\n", *AXO_PAYLOAD(it->message, int));
    } else {
        printf("    hungry in %d ms, and each %d ms\n", (int)(it->left_ns / MS),
               (int)(it->period_ns / MS));
    }
}

static void world_show(const world *w, const char *name)
{
    printf("%s at %d ms\n", name, (int)(w->now / MS));
    must_be_ok(axo_system_visit(w->system, world_print, NULL));
}

static void world_end(const world *w)
{
    must_be_ok(axo_system_stop(w->system, -1, NULL, 0, NULL));
    must_be_ok(axo_system_destroy(w->system));
}

/* ---- a file ---- */

typedef struct writer {
    FILE *file;
    int number; /* of the wolf that was shown last: the rest is its own */
} writer;

static void write_record(void *user, const axo_visited *it)
{
    writer *to = user;
    record out = {.kind = it->kind, .left_ns = it->left_ns, .period_ns = it->period_ns};
    if (it->kind == AXO_VISITED_ACTOR) {
        out.state = *(const wolf *)it->state;
        to->number = out.state.number;
    }
    out.number = to->number;
    if (it->message != NULL)
        out.tag = it->message->tag;
    if (it->kind == AXO_VISITED_MESSAGE)
        out.prey = *AXO_PAYLOAD(it->message, int);
    must(fwrite(&out, sizeof out, 1, to->file) == 1, "the file cannot be written");
}

static void world_save(const world *w, FILE *file)
{
    writer to = {.file = file};
    must(fwrite(&w->now, sizeof w->now, 1, file) == 1, "the file cannot be written");
    must_be_ok(axo_system_visit(w->system, write_record, &to));
}

static void world_load(world *w, FILE *file)
{
    rewind(file);
    must(fread(&w->now, sizeof w->now, 1, file) == 1, "the file has no world");
    w->count = fread(w->saved, sizeof w->saved[0], RECORDS_MAX, file);
    must(w->count > 0 && feof(file) && !ferror(file), "the file has no world");
}

int main(void)
{
    world first = {.now = 0}, second = {.now = 0};
    FILE *file = tmpfile();
    must(file != NULL, "no temporary file");
    for (int i = 0; i < WOLVES; i++) {
        first.saved[first.count++] =
            (record){.kind = AXO_VISITED_ACTOR, .state = {.number = i, .leader = i - 1}};
        first.saved[first.count++] = (record){.kind = AXO_VISITED_TIMER, .number = i,
                                              .tag = HUNGRY, .left_ns = (20 + 10 * i) * MS,
                                              .period_ns = 40 * MS};
    }
    world_begin(&first);
    for (int frame = 0; frame < 5; frame++) {
        world_hunt(&first, frame);
        world_frame(&first);
    }
    world_pause(&first); /* the menu is open */
    world_hunt(&first, 7);
    world_hunt(&first, 3);
    for (int frame = 0; frame < 10; frame++)
        world_frame(&first);
    world_show(&first, "the game");
    world_save(&first, file);
    world_load(&second, file);
    world_begin(&second);
    world_show(&second, "the saved game");
    must_be_ok(axo_system_resume(first.system, axo_ref_none()));
    for (int frame = 0; frame < 20; frame++) {
        world_frame(&first);
        world_frame(&second);
    }
    world_show(&first, "the game");
    world_show(&second, "the saved game");
    world_end(&first);
    world_end(&second);
    return fclose(file) == 0 ? 0 : 1;
}
