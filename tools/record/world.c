/* world.c - the system of a recording or a replay: options, clock, events, turns. */
#include "world.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "pattern/given.h"

/* Numbers of the options that a run depends on; the seed is a field of its own. */
#define WORLD_OPTIONS(X)                                                                           \
    X(quantum)                                                                                     \
    X(actors_max)                                                                                  \
    X(failure_texts)                                                                               \
    X(timers_max)                                                                                  \
    X(dead_letter_log)                                                                             \
    X(no_dead_letter_log)                                                                          \
    X(dead_letter_window_ns)                                                                       \
    X(dead_letter_log_at_stop)                                                                     \
    X(registry_max)                                                                                \
    X(failure_window_ns)                                                                           \
    X(failure_log)                                                                                 \
    X(storm_max)                                                                                   \
    X(storm_window_ns)

const char *record_option_name(uint32_t which)
{
#define WORLD_NAME(field) #field,
    static const char *const names[] = {WORLD_OPTIONS(WORLD_NAME)};
#undef WORLD_NAME
    _Static_assert(sizeof names / sizeof *names == RECORD_OPTIONS, "all of the list");
    return which < RECORD_OPTIONS ? names[which] : "?";
}

/* ---- clocks ---- */

int64_t record_world_effort(void *user)
{
    struct timespec now;
    (void)user;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

int64_t record_world_time(const record_world *world)
{
    return world->clock != NULL ? world->clock(world->clock_user) : record_world_effort(NULL);
}

static int64_t world_now(void *user)
{
    record_world *world = user;
    const axo_clock_fn goes = atomic_load_explicit(&world->goes, memory_order_acquire);
    if (goes != NULL)
        return goes(world->goes_user);
    return atomic_load_explicit(&world->now, memory_order_relaxed);
}

/* ---- events ---- */

static _Thread_local char world_self; /* its address is the thread's name */

void record_world_take(record_world *world)
{
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &world->cancel);
    atomic_store_explicit(&world->owner, &world_self, memory_order_relaxed);
}

void record_world_give(record_world *world)
{
    const int before = world->cancel; /* the next owner's is written as soon as this one has gone */
    atomic_store_explicit(&world->owner, NULL, memory_order_relaxed);
    (void)pthread_setcancelstate(before, NULL);
}

static void world_trace(void *user, const axo_event *event)
{
    record_world *world = user;
    uint8_t bytes[RECORD_EVENT];
    if (world->trace != NULL && (world->trace_kinds & AXO_EVENT_BIT(event->kind)) != 0)
        world->trace(world->trace_user, event);
    if (atomic_load_explicit(&world->owner, memory_order_relaxed) != &world_self) {
        (void)atomic_fetch_add_explicit(&world->strays, 1, memory_order_relaxed);
        return;
    }
    if (world->deaf)
        return;
    if (event->kind == AXO_EV_SPAWN)
        record_names_born(&world->names, event->actor);
    axo_record_hash_add(&world->hash, event);
    if (world->event != NULL) {
        (void)record_event_words(event, bytes);
        world->event(world, event, bytes);
    }
}

/* ---- the system ---- */

static axo_status world_options(record_world *world)
{
    const axo_options defaults = AXO_OPTIONS();
    const axo_options *given = world->recording.options;
    axo_options *options = &world->options;
    axo_status status =
        axo__given_read(given != NULL ? given : &defaults, options, sizeof *options);
    if (status != AXO_OK)
        return status;
    if (options->manual == AXO_MANUAL_DEFAULT || options->threads != AXO_THREADS_OWN ||
        options->remote != NULL)
        return AXO_ENOTSUP;
    if (options->quantum_us != 0)
        return AXO_EINVAL;
    world->trace = options->trace;
    world->trace_user = options->trace_user;
    world->trace_kinds = options->trace_kinds != 0 ? options->trace_kinds : UINT64_MAX;
    world->clock = options->clock;
    world->clock_user = options->clock_user;
    options->manual = AXO_MANUAL_ALL;
    options->no_quantum_us = 1;
    options->clock = world_now;
    options->clock_user = world;
    options->trace = world_trace;
    options->trace_user = world;
    options->trace_kinds = 0;
    return AXO_OK;
}

axo_status record_world_init(record_world *world, const axo_recording *recording)
{
    memset(world, 0, sizeof *world);
    axo_status status = axo__given_read(recording, &world->recording, sizeof world->recording);
    if (status != AXO_OK)
        return status;
    const axo_recording *given = &world->recording;
    if (given->path == NULL || (given->snapshot == NULL) != (given->snapshot_size == 0))
        return AXO_EINVAL;
    if (given->snapshot_size > AXO_PAYLOAD_MAX)
        return AXO_ETOOBIG;
    world->path = strdup(given->path);
    return world->path != NULL ? world_options(world) : AXO_ENOMEM;
}

void record_world_fini(record_world *world)
{
    record_names_fini(&world->names);
    free(world->path);
}

axo_status record_world_start(record_world *world)
{
    return axo_system_start(&world->options, &world->system);
}

void record_world_stop(record_world *world)
{
    if (world->system == NULL)
        return;
    world->deaf = true;
    (void)axo_system_stop(world->system, -1, NULL, 0, NULL);
    (void)axo_system_destroy(world->system);
    world->system = NULL;
}

axo_status record_world_run(record_world *world, uint64_t turns_max, record_turns *done)
{
    done->turns = 0;
    done->calls = 1;
    return axo_step_host(world->system, turns_max, &done->turns);
}

axo_status record_world_slices(record_world *world, uint64_t calls_max, int64_t budget_ns,
                               record_turns *done)
{
    const int64_t begun = record_world_effort(NULL);
    *done = (record_turns){.turns = 0};
    while (done->calls < calls_max) {
        uint64_t turns = 0;
        axo_status status = axo_step_host(world->system, 1, &turns);
        done->calls++;
        done->turns += turns;
        if (status != AXO_OK)
            return status;
        if (turns == 0 || record_world_effort(NULL) - begun >= budget_ns)
            break;
    }
    return AXO_OK;
}

axo_status record_world_act(const record_world *world, record_act act, axo_ref ref)
{
    if (act == RECORD_STOP)
        return axo_system_stop_actor(world->system, ref);
    if (act == RECORD_POISON)
        return axo_system_poison(world->system, ref);
    return axo_system_kill(world->system, ref);
}

uint64_t record_world_digest(record_world *world)
{
    const axo_recording *given = &world->recording;
    return given->digest != NULL ? given->digest(given->user, world->system) : 0;
}

/* ---- the head of the file ---- */

void record_head_of(const record_world *world, record_head *out)
{
    const uint16_t order = 1;
    const axo_options *options = &world->options;
    uint32_t i = 0;
    *out = (record_head){
        .version = {AXO_VERSION_MAJOR, AXO_VERSION_MINOR, AXO_VERSION_PATCH},
        .little = *(const uint8_t *)&order,
        .pointer = sizeof(void *),
        .each_event = world->recording.each_event != 0,
        .seed = options->seed,
        .time = atomic_load_explicit(&world->now, memory_order_relaxed),
    };
#define WORLD_VALUE(field) out->options[i++] = (uint64_t)options->field;
    WORLD_OPTIONS(WORLD_VALUE)
#undef WORLD_VALUE
}

void record_put_head(record_put *put, const record_head *head)
{
    for (uint32_t i = 0; i < 3; i++)
        record_put_u32(put, head->version[i]);
    record_put_u8(put, head->little);
    record_put_u8(put, head->pointer);
    record_put_u8(put, head->each_event);
    record_put_u8(put, 0);
    record_put_u64(put, head->seed);
    record_put_u64(put, (uint64_t)head->time);
    record_put_u32(put, RECORD_OPTIONS);
    for (uint32_t i = 0; i < RECORD_OPTIONS; i++)
        record_put_u64(put, head->options[i]);
}

bool record_get_head(record_get *get, record_head *out)
{
    for (uint32_t i = 0; i < 3; i++)
        out->version[i] = record_get_u32(get);
    out->little = record_get_u8(get);
    out->pointer = record_get_u8(get);
    out->each_event = record_get_u8(get);
    (void)record_get_u8(get);
    out->seed = record_get_u64(get);
    out->time = (int64_t)record_get_u64(get);
    if (record_get_u32(get) != RECORD_OPTIONS)
        return false;
    for (uint32_t i = 0; i < RECORD_OPTIONS; i++)
        out->options[i] = record_get_u64(get);
    return !get->short_of && get->left == 0;
}

void record_put_done(record_put *put, const record_done *done)
{
    record_put_u32(put, (uint32_t)done->status);
    record_put_u64(put, done->turns);
    record_put_u64(put, done->calls);
    record_put_u64(put, done->hash.events);
    record_put_u64(put, done->hash.value);
    record_put_u64(put, done->digest);
    record_put_u64(put, done->kept);
}

bool record_get_done(record_get *get, record_done *out)
{
    out->status = (axo_status)(int32_t)record_get_u32(get);
    out->turns = record_get_u64(get);
    out->calls = record_get_u64(get);
    out->hash.events = record_get_u64(get);
    out->hash.value = record_get_u64(get);
    out->digest = record_get_u64(get);
    out->kept = record_get_u64(get);
    return !get->short_of && get->left == 0;
}

/* ---- reports ---- */

axo_status record_report_check(const axo_record_report *to)
{
    if (to == NULL)
        return AXO_OK;
    if (to->size < offsetof(axo_record_report, text))
        return AXO_EINVAL;
    return to->size > sizeof *to ? AXO_EVERSION : AXO_OK;
}

void record_report_give(const axo_record_report *from, axo_record_report *to)
{
    if (to == NULL)
        return;
    const size_t size = to->size;
    memcpy(to, from, size);
    to->size = size;
}
