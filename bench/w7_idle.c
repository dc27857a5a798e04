/* w7_idle.c - W7: what an idle actor with 8 bytes of state takes of the resident set.
 *
 * One parent spawns a million, a batch a turn. When each has started, and the workers have nothing
 * to do, the resident set less that of the started system before, divided by the actors: cells,
 * tables, queues and the C library's own share are in it. `bytes_counted` is the same of what the
 * library holds from its allocator. */
#include <stdatomic.h>

#include "bench.h"

enum { GO = 1 };

#define BATCH     1000
#define SETTLE_NS 20000000

typedef struct crowd {
    uint64_t actors;
    _Atomic uint64_t started;
} crowd;

/* ---- idler --------------------------------------------------------------------------------- */

static axo_status idler_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    *(const void **)state = args;
    return AXO_OK;
}

static axo_status idler_start(axo_ctx *ctx, void *state)
{
    (void)ctx;
    atomic_fetch_add(&(*(crowd *const *)state)->started, 1);
    return AXO_OK;
}

static axo_status idler_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)ctx, (void)state, (void)message;
    return AXO_UNHANDLED;
}

static const axo_class idler_class =
    AXO_CLASS(.name = "idler", .state_size = sizeof(crowd *), .construct = idler_construct,
              .pre_start = idler_start, .receive = idler_receive);

/* ---- parent -------------------------------------------------------------------------------- */

typedef struct parent {
    crowd *crowd;
    uint64_t left;
} parent;

static axo_status parent_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    parent *me = state;
    memcpy(&me->crowd, args, sizeof me->crowd);
    me->left = me->crowd->actors;
    return AXO_OK;
}

static axo_status parent_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    parent *me = state;
    axo_props props = AXO_PROPS(.cls = &idler_class, .args = me->crowd); /* handed on */
    for (uint64_t i = 0; i < BATCH && me->left > 0; i++, me->left--) {
        axo_ref ref;
        bench_check(axo_spawn(ctx, &props, &ref), "spawn");
    }
    return me->left > 0 ? axo_send(ctx, axo_self(ctx), message->tag, NULL, 0) : AXO_OK;
}

static const axo_class parent_class =
    AXO_CLASS(.name = "parent", .state_size = sizeof(parent), .construct = parent_construct,
              .receive = parent_receive);

/* ---- program ------------------------------------------------------------------------------- */

static void idle_pause(void)
{
    struct timespec pause = {.tv_nsec = SETTLE_NS};
    (void)nanosleep(&pause, NULL); /* a shorter pause is as good */
}

static void idle_run(const bench_settings *settings, void *arg, bench_sample *sample)
{
    crowd *shared = arg;
    axo_stats before = AXO_STATS(.sent = 0);
    axo_stats after = AXO_STATS(.sent = 0);
    atomic_store(&shared->started, 0);
    axo_system *system = bench_system_start(settings);
    axo_ref root = bench_root(system, &parent_class, shared);
    idle_pause();
    uint64_t resident = bench_resident_bytes();
    bench_check(axo_system_stats(system, &before), "stats");
    bench_check(axo_system_send(system, root, GO, NULL, 0), "send");
    do {
        idle_pause();
    } while (atomic_load(&shared->started) < shared->actors); /* ends: all are spawned */
    idle_pause();
    resident = bench_resident_bytes() - resident;
    bench_check(axo_system_stats(system, &after), "stats");
    bench_expect(after.actors - before.actors, shared->actors, "actors alive");
    sample->figure = (double)resident / (double)shared->actors;
    sample->values[0] =
        (double)(after.memory_bytes - before.memory_bytes) / (double)shared->actors;
    bench_check(axo_system_shutdown(system), "shutdown");
    bench_system_end(system, sample);
}

int main(int argc, char **argv)
{
    static crowd own = {.actors = 1000000};
    const bench_option options[] = {{"--actors", &own.actors, "idle actors, at most 4 000 000"}};
    bench_settings settings;
    (void)argc;
    bench_settings_read(&settings, argv, options, 1);
    if (own.actors < 1 || own.actors > 4000000)
        bench_usage(argv[0], options, 1);
    char text[64];
    (void)snprintf(text, sizeof text, "\"actors\":%" PRIu64, own.actors);
    bench_measure(&settings, &(bench_work){.name = "W7",
                                           .unit = "bytes",
                                           .less = true,
                                           .options = text,
                                           .run = idle_run,
                                           .arg = &own,
                                           .values = {{"bytes_counted", true}}});
    return 0;
}
