/* record_world.h - a world to be recorded and played, for the tests of libaxo-record: flocks of
 * entities that think, bump into one another, ask, watch, set timers, are born, fail and are
 * restarted, all by chance from a seed; and a script of what comes from outside, from another. */
#ifndef TEST_RECORD_WORLD_H
#define TEST_RECORD_WORLD_H

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <axo/axo.h>
#include <axo/record.h>
#include <axo/world.h>

#include "support/cmocka.h"

#define MS INT64_C(1000000)
enum { FLOCKS = 3, FLOCK = 6, ENTITIES = FLOCKS * FLOCK };
enum { THINK = 1, BUMP, MEET, ROLL, ROLLED, TICK, CRASH, HANDED, HATCH, ODD };
enum { CALL_SPAWN = 1, CALL_HAND, CALL_LATER, CALL_SHUTDOWN, CALL_LOOK, CALL_FAILS };

/* Of one run. What handlers count in it is the state that `digest` is of. */
typedef struct world {
    axo_system *system;
    axo_recorder *recorder;
    int64_t now;
    uint64_t births;
    uint64_t thoughts;
    uint64_t failures;
    uint64_t sum;
    uint32_t freed;
    uint64_t shown;
    axo_ref cast[ENTITIES];
    axo_ref extra[64]; /* spawned by calls */
    uint32_t extras;
    uint32_t odd; /* 1: one handler does what it does not in the recording */
} world;

static inline uint64_t world_chance(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* ---- entities ---- */

typedef struct entity {
    world *w;
    uint64_t chance;
    uint32_t id;
    uint32_t bumps;
} entity;

typedef struct birth {
    world *w;
    uint32_t id; /* from ENTITIES on: an egg */
} birth;

/* A message that leads from one to another: the payload has references. */
typedef struct meeting {
    uint64_t way;
    axo_ref who;
    axo_ref whom;
} meeting;

static inline axo_status entity_construct(axo_ctx *ctx, void *state, const void *args)
{
    entity *me = state;
    const birth *from = args;
    *me = (entity){.w = from->w, .id = from->id, .chance = axo_seed(ctx)};
    if (me->w->births++ % 29 == 28)
        return axo_fail(ctx, 3, "not this time");
    if (me->id < ENTITIES)
        me->w->cast[me->id] = axo_self(ctx);
    return AXO_OK;
}

static inline axo_status entity_pre_start(axo_ctx *ctx, void *state)
{
    entity *me = state;
    const int64_t period = 3 * MS + (int64_t)(world_chance(&me->chance) % 20) * MS;
    return axo_timer_start(ctx, 1, AXO_TIMER_FIXED_RATE, period, period, TICK, NULL, 0);
}

static axo_status entity_receive(axo_ctx *ctx, void *state, const axo_message *message);

static const axo_class entity_class =
    AXO_CLASS(.name = "entity", .state_size = sizeof(entity), .construct = entity_construct,
              .pre_start = entity_pre_start, .receive = entity_receive);

static inline axo_status entity_hatches(axo_ctx *ctx, const entity *me)
{
    const birth egg = {.w = me->w, .id = ENTITIES + me->id};
    const axo_props props =
        AXO_PROPS(.cls = &entity_class, .args = &egg, .args_size = sizeof egg);
    axo_ref ref;
    axo_status status = axo_spawn(ctx, &props, &ref);
    if (status != AXO_OK)
        return status;
    status = axo_watch(ctx, ref);
    if (status != AXO_OK)
        return status;
    return axo_send_after(ctx, 7 * MS, ref, THINK, NULL, 0);
}

static inline axo_status entity_thinks(axo_ctx *ctx, entity *me)
{
    const uint64_t draw = world_chance(&me->chance);
    const axo_ref whom = me->w->cast[draw / 64 % ENTITIES];
    const meeting next = {.way = draw, .who = axo_self(ctx), .whom = whom};
    axo_status status = AXO_OK;
    me->w->thoughts++;
    switch (draw % 16) {
    case 0:
        me->w->failures++;
        return axo_fail(ctx, (int32_t)(draw >> 32 & 0xff), "lost in thought");
    case 1:
        return me->id < ENTITIES ? entity_hatches(ctx, me) : axo_stop_self(ctx);
    case 2:
        status = axo_ask(ctx, whom, ROLL, NULL, 0, 9 * MS, draw);
        return status == AXO_EGONE || status == AXO_EINVAL ? AXO_OK : status;
    case 3:
        (void)axo_send_after(ctx, (int64_t)(draw >> 40 & 15) * MS, axo_self(ctx), THINK, NULL, 0);
        return AXO_OK;
    case 4:
        return axo_stash(ctx);
    case 5:
        return axo_unstash_all(ctx);
    default:
        (void)axo_send(ctx, whom, draw % 2 ? BUMP : MEET, &next, sizeof next);
        return AXO_OK;
    }
}

/* The one who meets goes on to the one that the payload names. */
static inline axo_status entity_meets(axo_ctx *ctx, entity *me, const axo_message *message)
{
    const meeting *it = AXO_PAYLOAD(message, meeting);
    me->w->sum += it->way % 1000 + axo_ref_index(it->who);
    if (it->way % 8 == 0)
        (void)axo_send(ctx, it->whom, BUMP, it, sizeof *it);
    return AXO_OK;
}

static axo_status entity_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    entity *me = state;
    const uint32_t id = me->id;
    me->w->sum = me->w->sum * 31 + message->tag + id;
    switch (message->tag) {
    case THINK:
    case TICK:
        return entity_thinks(ctx, me);
    case BUMP:
        me->bumps += 1;
        if (me->w->odd != 0 && me->bumps == 3)
            (void)axo_send(ctx, axo_self(ctx), ODD, NULL, 0);
        return AXO_OK;
    case MEET:
        return entity_meets(ctx, me, message);
    case ROLL:
        return axo_reply(ctx, message, ROLLED, &id, sizeof id);
    case CRASH:
        (void)raise(SIGSEGV);
        return AXO_OK;
    case HANDED:
        me->w->sum += strlen(AXO_PAYLOAD(message, char));
        return AXO_OK;
    case ROLLED:
    case AXO_ASK_ANSWER:
    case AXO_ASK_FAILED:
    case AXO_TERMINATED:
        return AXO_OK;
    default:
        return AXO_UNHANDLED;
    }
}

/* ---- flocks ---- */

static inline axo_status flock_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    const birth *me = *(const birth *const *)state;
    if (message->tag != HATCH)
        return AXO_UNHANDLED;
    for (uint32_t i = 0; i < FLOCK; i++) {
        const birth child = {.w = me->w, .id = me->id * FLOCK + i};
        const axo_props props =
            AXO_PROPS(.cls = &entity_class, .args = &child, .args_size = sizeof child);
        axo_ref ref;
        axo_status status = axo_spawn(ctx, &props, &ref);
        if (status != AXO_OK)
            return status;
    }
    return AXO_OK;
}

static inline axo_status flock_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    *(const void **)state = args;
    return AXO_OK;
}

static inline axo_directive flock_decides(axo_ctx *ctx, void *state, const axo_failure *failure,
                                          void *user)
{
    (void)ctx;
    (void)state;
    (void)user;
    return failure->code % 11 == 5 ? AXO_STOP : failure->code % 7 == 3 ? AXO_RESUME : AXO_RESTART;
}

static const axo_class flock_class = AXO_CLASS(.name = "flock", .state_size = sizeof(void *),
                                               .construct = flock_construct,
                                               .receive = flock_receive);
static const axo_backoff flock_backoff =
    AXO_BACKOFF(.min_ns = 2 * MS, .max_ns = 40 * MS, .jitter = 0.5);
static const axo_strategy flock_strategies[FLOCKS] = {
    AXO_STRATEGY(.decider = flock_decides),
    AXO_STRATEGY(.backoff = &flock_backoff),
    AXO_STRATEGY(.scope = AXO_ALL_FOR_ONE),
};

/* ---- the program's functions ---- */

static inline int64_t world_clock(void *user)
{
    return ((const world *)user)->now;
}

static inline void world_free(void *payload, void *user)
{
    ((world *)user)->freed++;
    free(payload);
}

/* The snapshot is how many flocks there are. */
static inline axo_status world_begin(void *user, axo_system *system, const void *snapshot,
                                     size_t size)
{
    world *w = user;
    const uint32_t flocks = size == sizeof flocks ? *(const uint32_t *)snapshot : FLOCKS;
    w->system = system;
    for (uint32_t i = 0; i < flocks; i++) {
        const birth from = {.w = w, .id = i};
        const axo_props props = AXO_PROPS(.cls = &flock_class, .args = &from,
                                          .args_size = sizeof from,
                                          .strategy = &flock_strategies[i]);
        axo_ref flock;
        axo_status status = axo_system_spawn(system, &props, &flock);
        if (status == AXO_OK)
            status = axo_system_send(system, flock, HATCH, NULL, 0);
        if (status != AXO_OK)
            return status;
    }
    return AXO_OK;
}

/* What a call says. */
typedef struct order {
    axo_ref who;
    char text[24];
    int64_t delay_ns;
} order;

static inline void world_look(void *user, const axo_visited *it)
{
    *(uint64_t *)user += it->kind == AXO_VISITED_ACTOR;
}

static inline axo_status world_call(void *user, axo_system *system, uint32_t number,
                                    const void *bytes, size_t size)
{
    world *w = user;
    const order *it = bytes;
    const birth from = {.w = w, .id = ENTITIES + 500 + w->extras};
    const axo_props props =
        AXO_PROPS(.cls = &entity_class, .args = &from, .args_size = sizeof from);
    assert_true(size == sizeof *it || size == 0);
    switch (number) {
    case CALL_SPAWN:
        return axo_system_spawn(system, &props, &w->extra[w->extras++ % 64]);
    case CALL_HAND: {
        char *text = strdup(it->text);
        axo_status status = axo_system_send_owned(system, it->who, HANDED, text, sizeof it->text,
                                                  world_free, w);
        if (status != AXO_OK && status != AXO_EGONE)
            free(text);
        return status;
    }
    case CALL_LATER:
        return axo_system_schedule_once(system, it->delay_ns, it->who, THINK, NULL, 0, NULL);
    case CALL_LOOK:
        return axo_system_visit(system, world_look, &w->shown);
    case CALL_SHUTDOWN:
        return axo_system_shutdown(system);
    default:
        return AXO_ELIMIT;
    }
}

static inline uint64_t world_digest(void *user, axo_system *system)
{
    const world *w = user;
    (void)system;
    return w->sum * 7 + w->thoughts * 3 + w->failures;
}

/* `options` must live as long as the recording. */
static inline axo_recording world_recording(world *w, const axo_options *options, const char *path)
{
    return (axo_recording)AXO_RECORDING(.path = path, .options = options, .begin = world_begin,
                                        .call = world_call, .digest = world_digest, .user = w);
}

static inline axo_options world_options(world *w, uint64_t seed)
{
    return (axo_options)AXO_OPTIONS(.seed = seed, .clock = world_clock, .clock_user = w,
                                    .actors_max = 4096, .storm_max = 4, .storm_window_ns = 5 * MS,
                                    .quantum = (uint32_t)(seed % 5));
}

/* ---- files ---- */

static inline const char *world_path(char out[128], const char *name)
{
    const char *folder = getenv("TMPDIR");
    (void)snprintf(out, 128, "%s/axo-record-%d-%s", folder != NULL ? folder : "/tmp",
                   (int)getpid(), name);
    (void)unlink(out);
    return out;
}

/* ---- a script ---- */

static inline axo_ref script_who(const world *w, uint64_t draw)
{
    if (draw % 8 == 0 && w->extras > 0)
        return w->extra[draw / 8 % (w->extras < 64 ? w->extras : 64)];
    return w->cast[draw / 8 % ENTITIES];
}

static inline void script_call(world *w, uint64_t draw)
{
    order it = {.who = script_who(w, draw), .delay_ns = (int64_t)(draw >> 20 & 31) * MS};
    (void)snprintf(it.text, sizeof it.text, "%08x", (unsigned)(draw >> 32));
    (void)axo_record_call(w->recorder, CALL_SPAWN + (uint32_t)(draw >> 10 & 3) % 3, &it,
                          sizeof it);
}

/* One input by chance, and at times a step. */
static inline void script_input(world *w, uint64_t *chance)
{
    const uint64_t draw = world_chance(chance);
    const axo_ref who = script_who(w, draw >> 16);
    const meeting it = {.way = draw, .who = who, .whom = script_who(w, draw >> 24)};
    if (axo_ref_is_none(who))
        return;
    switch (draw % 16) {
    case 0:
        (void)axo_record_kill(w->recorder, who);
        break;
    case 1:
        (void)axo_record_poison(w->recorder, script_who(w, draw >> 16 & ~UINT64_C(7)));
        break;
    case 2:
        if (w->extras > 0)
            (void)axo_record_stop_actor(w->recorder, w->extra[draw >> 20 & 63]);
        break;
    case 3:
    case 4:
        script_call(w, draw);
        break;
    case 5:
    case 6:
        (void)axo_record_send_from(w->recorder, it.whom, who, ROLL, NULL, 0);
        break;
    case 7:
    case 8:
        (void)axo_record_send(w->recorder, who, MEET, &it, sizeof it);
        break;
    default:
        (void)axo_record_send(w->recorder, who, THINK, NULL, 0);
        break;
    }
}

/* true: no step has a budget, so that files of different machines are the same. */
static bool script_even;

static inline axo_status script_step(world *w, uint64_t *chance)
{
    const uint64_t draw = world_chance(chance);
    w->now += (int64_t)(draw >> 32 & 15) * MS;
    if (draw % 4 == 0)
        return axo_record_step(w->recorder, 1 + (draw >> 8 & 63), NULL);
    if (draw % 4 == 1 && !script_even)
        return axo_record_run(w->recorder, (int64_t)(draw >> 8 & 0xffff), NULL);
    return axo_record_run(w->recorder, -1, NULL);
}

static inline void script_play(world *w, uint64_t seed, uint32_t steps)
{
    uint64_t chance = ~seed;
    for (uint32_t i = 0; i < steps; i++) {
        for (uint32_t k = (uint32_t)(world_chance(&chance) % 12); k > 0; k--)
            script_input(w, &chance);
        assert_int_equal(script_step(w, &chance), AXO_OK);
    }
}

/* ---- both runs ---- */

/* Records a script; the report is that of the file. */
static inline axo_record_report world_record(const char *path, uint64_t seed, uint32_t steps,
                                             bool each_event)
{
    world w = {.now = 5 * MS};
    const axo_options options = world_options(&w, seed);
    axo_recording recording = world_recording(&w, &options, path);
    axo_record_report report = AXO_RECORD_REPORT(), file = AXO_RECORD_REPORT();
    recording.each_event = each_event;
    assert_int_equal(axo_record_start(&recording, &w.recorder, &report), AXO_OK);
    script_play(&w, seed, steps);
    assert_int_equal(axo_record_report_of(w.recorder, &report), AXO_OK);
    assert_string_equal(report.text, "");
    assert_int_equal(report.state, AXO_RECORD_GOES_ON);
    assert_int_equal(axo_record_end(w.recorder), AXO_OK);
    assert_int_equal(axo_record_check(path, &file), AXO_OK);
    assert_true(file.closed == 1 && file.torn == 0 && file.steps == steps);
    assert_true(file.hash.value == report.hash.value && file.hash.events == report.hash.events);
    return file;
}

/* Plays it to its end, or to a divergence. */
static inline axo_record_report world_replay(const char *path, uint64_t seed, uint32_t odd)
{
    world w = {.now = 12345 * MS, .odd = odd};
    axo_options options = world_options(&w, seed);
    options.seed = 77; /* the file's is taken */
    const axo_recording recording = world_recording(&w, &options, path);
    axo_record_report report = AXO_RECORD_REPORT();
    axo_replay *replay;
    axo_status status = axo_replay_start(&recording, &replay, &report);
    if (status != AXO_OK)
        fail_msg("%s: %s", axo_status_name(status), report.text);
    assert_int_equal(axo_replay_run(replay, &report), AXO_OK);
    assert_int_equal(axo_replay_end(replay), AXO_OK);
    return report;
}

static inline void world_same(const axo_record_report *one, const axo_record_report *other)
{
    if (other->state != AXO_RECORD_END)
        fail_msg("record %u, event %u: %s", (unsigned)other->record, (unsigned)other->event,
                 other->text);
    assert_true(one->hash.value == other->hash.value && one->hash.events == other->hash.events);
}

#endif
