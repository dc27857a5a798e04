/* w6_spawn.c - W6: a million times spawn, one message, stop.
 *
 * One parent spawns children in batches of --batch and sends each its message right after its
 * spawn; a child handles it and stops itself. The last child of a batch to enter post_stop asks for
 * the next one; --batches are under way at once, which bounds the memory. From the first spawn to
 * the moment when the parent has no child left. */
#include <stdatomic.h>

#include "bench.h"

enum { GO = 1, WORK = 2, NEXT = 3, CHECK = 4 };

#define BATCHES_MAX 64

/* Children of one batch that have not stopped; on a line of its own, as workers count it down. */
typedef struct batch {
    _Alignas(64) _Atomic uint64_t left;
    axo_ref parent;
    uint64_t work;
} batch;

typedef struct spawning {
    uint64_t actors;
    uint64_t batch;
    uint64_t batches;
    uint64_t work;
    uint64_t own; /* messages to the parent */
    uint64_t begin_ns;
    uint64_t end_ns;
    batch all[BATCHES_MAX];
} spawning;

/* ---- child --------------------------------------------------------------------------------- */

typedef struct child {
    batch *batch;
    uint64_t handled;
} child;

static axo_status child_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    ((child *)state)->batch = (batch *)(uintptr_t)args;
    return AXO_OK;
}

static axo_status child_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    child *me = state;
    me->handled += *AXO_PAYLOAD(message, uint64_t);
    bench_chain(me->batch->work);
    return axo_stop_self(ctx);
}

static axo_status child_stop(axo_ctx *ctx, void *state)
{
    child *me = state;
    bench_expect(me->handled, 1, "messages of a child");
    if (atomic_fetch_sub(&me->batch->left, 1) == 1)
        bench_check(axo_send(ctx, me->batch->parent, NEXT, &me->batch, sizeof me->batch), "send");
    return AXO_OK;
}

static const axo_class child_class =
    AXO_CLASS(.name = "child", .state_size = sizeof(child), .construct = child_construct,
              .receive = child_receive, .post_stop = child_stop);

/* ---- parent -------------------------------------------------------------------------------- */

typedef struct parent {
    spawning *spawning;
    uint64_t left; /* to spawn */
    uint64_t busy; /* batches under way */
} parent;

static axo_status parent_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    parent *me = state;
    memcpy(&me->spawning, args, sizeof me->spawning);
    me->left = me->spawning->actors;
    return AXO_OK;
}

/* Spawns a batch, or what is left. */
static void parent_fill(axo_ctx *ctx, parent *me, batch *next)
{
    static const uint64_t one = 1;
    uint64_t count = me->left < me->spawning->batch ? me->left : me->spawning->batch;
    axo_props props = AXO_PROPS(.cls = &child_class, .args = next); /* handed on, not copied */
    if (count == 0)
        return;
    me->left -= count;
    me->busy++;
    next->parent = axo_self(ctx);
    next->work = me->spawning->work;
    atomic_store(&next->left, count);
    for (uint64_t i = 0; i < count; i++) {
        axo_ref ref;
        bench_check(axo_spawn(ctx, &props, &ref), "spawn");
        bench_check(axo_send(ctx, ref, WORK, &one, sizeof one), "send");
    }
}

static axo_status parent_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    parent *me = state;
    spawning *shared = me->spawning;
    shared->own++;
    if (message->tag == GO) {
        shared->begin_ns = clock_ns();
        for (uint64_t i = 0; i < shared->batches; i++)
            parent_fill(ctx, me, &shared->all[i]);
    } else if (message->tag == NEXT) {
        batch *stopped;
        memcpy(&stopped, message->payload, sizeof stopped);
        me->busy--;
        parent_fill(ctx, me, stopped);
    }
    if (me->busy > 0)
        return AXO_OK;
    if (axo_child_count(ctx) > 0) /* ends: each is about to */
        return axo_send(ctx, axo_self(ctx), CHECK, NULL, 0);
    shared->end_ns = clock_ns();
    return axo_system_shutdown(axo_system_of(ctx));
}

static const axo_class parent_class =
    AXO_CLASS(.name = "parent", .state_size = sizeof(parent), .construct = parent_construct,
              .receive = parent_receive);

/* ---- program ------------------------------------------------------------------------------- */

static void spawn_run(const bench_settings *settings, void *arg, bench_sample *sample)
{
    spawning *shared = arg;
    axo_stats stats;
    shared->own = 0;
    bench_system_run(settings, &parent_class, shared, GO, sample, &stats);
    bench_expect(stats.handled, shared->actors + shared->own, "messages handled");
    bench_expect(stats.terminated, stats.spawned, "actors terminated");
    sample->figure =
        (double)shared->actors * 1e9 / (double)(shared->end_ns - shared->begin_ns);
}

int main(int argc, char **argv)
{
    static spawning own = {.actors = 1000000, .batch = 256, .batches = 4};
    const bench_option options[] = {{"--actors", &own.actors, "spawned in a run"},
                                    {"--batch", &own.batch, "spawned in one turn"},
                                    {"--batches", &own.batches, "under way at once, at most 64"},
                                    {"--work", &own.work, BENCH_CHAIN_HELP}};
    bench_settings settings;
    (void)argc;
    bench_settings_read(&settings, argv, options, 4);
    if (own.actors < 1 || own.batch < 1 || own.batches < 1 || own.batches > BATCHES_MAX)
        bench_usage(argv[0], options, 4);
    char text[160];
    (void)snprintf(text, sizeof text,
                   "\"actors\":%" PRIu64 ",\"batch\":%" PRIu64 ",\"batches\":%" PRIu64
                   ",\"work\":%" PRIu64, own.actors,
                   own.batch, own.batches, own.work);
    bench_measure(&settings, &(bench_work){.name = "W6",
                                           .unit = "actors/s",
                                           .options = text,
                                           .run = spawn_run,
                                           .arg = &own});
    return 0;
}
