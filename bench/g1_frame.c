/* g1_frame.c - actors in a frame: a manual system, run by one thread within a budget.
 *
 * How far past its budget a call of axo_run_host comes back while work is left: G1h handlers of 1
 * to 20 us, 64 messages each; G1f the same, one handler in a hundred fails; G1b a wave of births,
 * from outside; G1e actors that end with a million messages queued. What a call may overrun by is
 * the handler that runs, so `past` is from the budget's end, or from the end of the last handler
 * that was begun before it, to the return. G1i is a call that finds nothing to do.
 *
 * What is timed is the call alone; one in which the operating system has given the processor to
 * others tells of them: it is left out, and counted as `switched`. `allocations` are the
 * allocator's calls a frame, after some frames to warm up. */
#include <sys/resource.h>

#include "bench.h"

enum { WORK = 1 };

#define ACTORS_MAX 100000

typedef enum part { PART_HANDLERS, PART_FAILURES, PART_BIRTHS, PART_ENDS, PART_IDLE } part;

typedef struct frames {
    clock_gauge gauge;
    part part;
    uint64_t budget_ns;
    uint64_t frames;
    uint64_t actors;
    uint64_t queued;      /* messages of an actor that ends */
    uint64_t idle;        /* calls */
    uint64_t allocations; /* of the allocator, by the only thread */
    uint64_t random;
    uint64_t until;       /* ticks at which the budget is over */
    uint64_t last;        /* ticks at which a handler that was begun before that has ended */
    uint64_t handled;
    uint64_t switched;    /* calls that are left out */
    bool over; /* handlers take no time any more */
    axo_ref *refs;
    histogram times;
} frames;

/* ---- actors -------------------------------------------------------------------------------- */

static uint64_t frames_random(frames *shared)
{
    shared->random = shared->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return shared->random >> 33;
}

/* Works for 1 to 20 us. */
static void frames_work(frames *shared)
{
    uint64_t begin = clock_ticks(&shared->gauge);
    uint64_t ns = 1000 + frames_random(shared) % 19001;
    uint64_t end = begin + (uint64_t)((double)ns / shared->gauge.ns_per_tick);
    uint64_t now = begin;
    while (now < end)
        now = clock_ticks(&shared->gauge);
    if (begin < shared->until)
        shared->last = now;
}

static axo_status entity_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    memcpy(state, args, sizeof(frames *));
    return AXO_OK;
}

static axo_status entity_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    frames *shared = *(frames *const *)state;
    (void)message;
    shared->handled++;
    if (shared->over || shared->part > PART_FAILURES)
        return AXO_OK;
    frames_work(shared);
    if (shared->part == PART_FAILURES && frames_random(shared) % 100 == 0)
        return axo_fail(ctx, 1, "one in a hundred");
    return AXO_OK;
}

static const axo_class entity_class =
    AXO_CLASS(.name = "entity", .state_size = sizeof(frames *), .construct = entity_construct,
              .receive = entity_receive);

/* ---- the allocator ------------------------------------------------------------------------- */

static void *frames_alloc(void *user, size_t size, size_t align)
{
    frames *shared = user;
    void *block = NULL;
    shared->allocations++;
    align = align < sizeof(void *) ? sizeof(void *) : align;
    return posix_memalign(&block, align, size) == 0 ? block : NULL;
}

static void frames_free(void *user, void *block, size_t size, size_t align)
{
    (void)user;
    (void)size;
    (void)align;
    free(block);
}

/* ---- frames -------------------------------------------------------------------------------- */

static axo_ref frames_spawn(axo_system *system, frames *shared)
{
    axo_props props =
        AXO_PROPS(.cls = &entity_class, .args = &shared, .args_size = sizeof shared);
    axo_ref ref;
    bench_check(axo_system_spawn(system, &props, &ref), "spawn");
    return ref;
}

/* How often another thread was given the processor of this one. */
static long frames_switches(void)
{
    struct rusage own;
    (void)getrusage(RUSAGE_THREAD, &own); /* cannot fail with these arguments */
    return own.ru_nivcsw;
}

/* One frame: a call with the budget, and how far past it that came back. false: all was done. */
static bool frames_call(axo_system *system, frames *shared)
{
    uint64_t turns;
    const long switches = frames_switches();
    uint64_t begin = clock_ticks(&shared->gauge);
    shared->until = begin + (uint64_t)((double)shared->budget_ns / shared->gauge.ns_per_tick);
    shared->last = 0;
    bench_check(axo_run_host(system, (int64_t)shared->budget_ns, &turns), "run_host");
    uint64_t end = clock_ticks(&shared->gauge);
    if (end < shared->until)
        return false;
    if (frames_switches() != switches) {
        shared->switched++;
        return true;
    }
    uint64_t from = shared->last > shared->until ? shared->last : shared->until;
    histogram_record(&shared->times, clock_between(&shared->gauge, from, end));
    return true;
}

static void frames_send(axo_system *system, axo_ref to, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        bench_check(axo_system_send(system, to, WORK, NULL, 0), "send");
}

/* 64 messages each for so many actors that the budget never does. */
static void frames_of_handlers(axo_system *system, frames *shared)
{
    uint64_t warm = shared->frames / 10;
    uint64_t before = 0;
    uint64_t sent = 0;
    uint64_t next = 0;
    for (uint64_t i = 0; i < shared->frames + warm; i++) {
        if (i == warm) {
            memset(&shared->times, 0, sizeof shared->times);
            before = shared->allocations;
            shared->switched = 0;
        }
        while (sent - shared->handled < shared->budget_ns / 1000) {
            frames_send(system, shared->refs[next++ % shared->actors], 64);
            sent += 64;
        }
        bench_expect(frames_call(system, shared), 1, "frames that are full");
    }
    shared->allocations -= before;
    bench_expect(shared->times.count + shared->switched, shared->frames, "frames");
}

/* A wave is ten times as many as there are actors else: it takes more than a frame. */
static void frames_of_births(axo_system *system, frames *shared)
{
    for (uint64_t i = 0; i <= shared->frames / 100; i++) {
        for (uint64_t k = 0; k < 10 * shared->actors; k++)
            (void)frames_spawn(system, shared);
        while (frames_call(system, shared))
            continue;
    }
}

/* Each ends with its messages queued: they become dead letters. */
static void frames_of_ends(axo_system *system, frames *shared)
{
    for (uint64_t i = 0; i < 10; i++) {
        axo_ref ref = frames_spawn(system, shared);
        bench_check(axo_run_host(system, -1, NULL), "run_host");
        frames_send(system, ref, shared->queued);
        bench_check(axo_system_stop_actor(system, ref), "stop");
        while (frames_call(system, shared))
            continue;
    }
    bench_expect(shared->handled, 0, "messages of actors that end");
}

static double frames_idle(axo_system *system, const frames *shared)
{
    uint64_t turns;
    bench_check(axo_run_host(system, -1, NULL), "run_host");
    uint64_t begin = clock_ns();
    for (uint64_t i = 0; i < shared->idle; i++) {
        bench_check(axo_run_host(system, (int64_t)shared->budget_ns, &turns), "run_host");
        bench_expect(turns, 0, "turns of an idle call");
    }
    return (double)(clock_ns() - begin) / (double)shared->idle;
}

static void frames_play(axo_system *system, frames *shared, bench_sample *sample)
{
    if (shared->part == PART_IDLE) {
        sample->figure = frames_idle(system, shared);
        return;
    }
    if (shared->part == PART_BIRTHS)
        frames_of_births(system, shared);
    else if (shared->part == PART_ENDS)
        frames_of_ends(system, shared);
    else
        frames_of_handlers(system, shared);
    if (shared->times.count == 0)
        bench_expect(0, 1, "calls that the budget ended");
    sample->figure = (double)shared->times.max / 1e3;
    sample->values[0] = (double)shared->switched;
    sample->values[1] = (double)shared->allocations / (double)shared->frames;
}

static void frames_run(const bench_settings *settings, void *arg, bench_sample *sample)
{
    frames *shared = arg;
    axo_options options = AXO_OPTIONS(.manual = AXO_MANUAL_ALL, .seed = 1,
                                      .allocator = {frames_alloc, frames_free, shared});
    axo_system *system;
    axo_stats stats;
    (void)settings;
    shared->handled = 0;
    shared->allocations = 0;
    shared->switched = 0;
    shared->random = 1;
    shared->over = false;
    bench_check(axo_system_start(&options, &system), "start");
    for (uint64_t i = 0; i < shared->actors && shared->part <= PART_FAILURES; i++)
        shared->refs[i] = frames_spawn(system, shared);
    frames_play(system, shared, sample);
    shared->over = true; /* what is left is not timed */
    bench_check(axo_system_stop(system, -1, NULL, 0, NULL), "stop");
    bench_system_finish(system, sample, &stats);
}

static void frames_measure(const bench_settings *settings, frames *shared, part which,
                           const char *name)
{
    char text[160];
    bool idle = which == PART_IDLE;
    shared->part = which;
    (void)snprintf(text, sizeof text,
                   "\"budget_ns\":%" PRIu64 ",\"frames\":%" PRIu64 ",\"actors\":%" PRIu64
                   ",\"queued\":%" PRIu64 ",\"idle\":%" PRIu64,
                   shared->budget_ns, shared->frames, shared->actors, shared->queued, shared->idle);
    bench_measure(settings,
                  &(bench_work){.name = name,
                                .unit = idle ? "ns" : "us",
                                .options = text,
                                .run = frames_run,
                                .arg = shared,
                                .less = true,
                                .values = {{idle ? NULL : "switched", true},
                                           {which <= PART_FAILURES ? "allocations" : NULL, true}},
                                .times = {{"past", idle ? NULL : &shared->times}}});
}

int main(int argc, char **argv)
{
    static frames own = {.budget_ns = 2000000, .frames = 500, .actors = 10000, .queued = 1000000,
                         .idle = 1000000};
    const bench_option options[] = {{"--budget", &own.budget_ns, "ns a frame"},
                                    {"--frames", &own.frames, "frames of a run, 10 or more"},
                                    {"--actors", &own.actors, "actors, at most 100000"},
                                    {"--queued", &own.queued, "messages of an actor that ends"},
                                    {"--idle", &own.idle, "calls with nothing to do"}};
    bench_settings settings;
    (void)argc;
    bench_settings_read(&settings, argv, options, 5);
    if (own.budget_ns < 1000 || own.frames < 10 || own.actors < 1 || own.actors > ACTORS_MAX ||
        own.queued < 1 || own.idle < 1)
        bench_usage(argv[0], options, 5);
    clock_calibrate(&own.gauge);
    own.refs = calloc(own.actors, sizeof *own.refs);
    bench_check(own.refs == NULL ? AXO_ENOMEM : AXO_OK, "references");
    frames_measure(&settings, &own, PART_HANDLERS, "G1h");
    frames_measure(&settings, &own, PART_FAILURES, "G1f");
    frames_measure(&settings, &own, PART_BIRTHS, "G1b");
    frames_measure(&settings, &own, PART_ENDS, "G1e");
    frames_measure(&settings, &own, PART_IDLE, "G1i");
    free(own.refs);
    return 0;
}
