/* w21_heap.c - W21: an instance's heap. W21p a pair of axo_alloc and axo_free of 64 bytes, W21a
 * axo_alloc alone, W21c churn of 200 living blocks of 8 to 3500 bytes, W21e the end of an instance
 * with so many blocks of 100 bytes, W21b what an actor with three of them takes. Beside the rates,
 * plain numbers: nanoseconds an operation; W21pm, W21cm: malloc and free at the same work. */
#include "bench.h"

enum { GO = 1 };
enum { CHURN_LIVE = 200, CHURN_MOST = 3500 };

typedef enum part { PART_PAIR, PART_ALLOC, PART_CHURN, PART_END, PART_ACTORS } part;

typedef struct heap_load {
    part part;
    bool foreign; /* malloc and free in place of the instance's heap */
    uint64_t times;
    uint64_t blocks; /* PART_END */
    uint64_t ns;
    uint64_t bytes; /* PART_ACTORS */
} heap_load;

static uint64_t load_random(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *seed >> 33;
}

static void *load_take(axo_ctx *ctx, const heap_load *load, size_t size)
{
    void *block = load->foreign ? malloc(size) : axo_alloc(ctx, size);
    if (block == NULL)
        bench_check(AXO_ENOMEM, "block");
    *(volatile char *)block = 1;
    return block;
}

static void load_give(axo_ctx *ctx, const heap_load *load, void *block)
{
    if (load->foreign)
        free(block);
    else
        axo_free(ctx, block);
}

static void load_pair(axo_ctx *ctx, const heap_load *load)
{
    for (uint64_t i = 0; i < load->times; i++)
        load_give(ctx, load, load_take(ctx, load, 64));
}

static void load_churn(axo_ctx *ctx, const heap_load *load)
{
    static void *live[CHURN_LIVE];
    uint64_t seed = 42;
    for (uint64_t i = 0; i < CHURN_LIVE; i++)
        live[i] = load_take(ctx, load, 8 + load_random(&seed) % (CHURN_MOST - 8));
    for (uint64_t i = 0; i < load->times; i++) {
        uint64_t place = load_random(&seed) % CHURN_LIVE;
        load_give(ctx, load, live[place]);
        live[place] = load_take(ctx, load, 8 + load_random(&seed) % (CHURN_MOST - 8));
    }
    for (uint64_t i = 0; i < CHURN_LIVE; i++)
        load_give(ctx, load, live[i]);
}

static void load_alloc(axo_ctx *ctx, const heap_load *load)
{
    for (uint64_t i = 0; i < load->times; i++)
        (void)load_take(ctx, load, 64);
}

/* ---- worker: all but PART_ACTORS ------------------------------------------------------------ */

typedef struct worker_state {
    heap_load *load;
    uint64_t left;
} worker_state;

static axo_status worker_construct(axo_ctx *ctx, void *state, const void *args)
{
    worker_state *me = state;
    (void)ctx;
    memcpy(&me->load, args, sizeof me->load);
    return AXO_OK;
}

/* PART_END: each message makes the blocks and fails; the next instance's construct is behind the
 * end of this one, so the time from the failure to it less that without a block is the end's. */
static axo_status worker_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    heap_load *load = ((worker_state *)state)->load;
    (void)message;
    uint64_t begin = clock_ns();
    if (load->part == PART_PAIR)
        load_pair(ctx, load);
    else if (load->part == PART_ALLOC)
        load_alloc(ctx, load);
    else
        load_churn(ctx, load);
    load->ns = clock_ns() - begin;
    return axo_system_shutdown(axo_system_of(ctx));
}

static const axo_class worker_class =
    AXO_CLASS(.name = "worker", .state_size = sizeof(worker_state), .construct = worker_construct,
              .receive = worker_receive);

/* ---- ender ----------------------------------------------------------------------------------- */

static uint64_t ender_failed;

static axo_status ender_construct(axo_ctx *ctx, void *state, const void *args)
{
    worker_state *me = state;
    memcpy(&me->load, args, sizeof me->load);
    if (axo_instance(ctx) > 1)
        me->load->ns += clock_ns() - ender_failed;
    return AXO_OK;
}

static axo_status ender_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    heap_load *load = ((worker_state *)state)->load;
    (void)message;
    if (axo_instance(ctx) > load->times)
        return axo_system_shutdown(axo_system_of(ctx));
    for (uint64_t i = 0; i < load->blocks; i++)
        (void)load_take(ctx, load, 100);
    bench_check(axo_send(ctx, axo_self(ctx), GO, NULL, 0), "send");
    ender_failed = clock_ns();
    return axo_fail(ctx, 1, NULL);
}

static const axo_class ender_class =
    AXO_CLASS(.name = "ender", .state_size = sizeof(worker_state), .construct = ender_construct,
              .receive = ender_receive);

/* ---- actors ---------------------------------------------------------------------------------- */

static axo_status holder_start(axo_ctx *ctx, void *state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        bench_check(axo_alloc(ctx, 100) != NULL ? AXO_OK : AXO_ENOMEM, "block");
    return AXO_OK;
}

static axo_status holder_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)ctx, (void)state, (void)message;
    return AXO_OK;
}

static const axo_class holder_class =
    AXO_CLASS(.name = "holder", .state_size = 8, .pre_start = holder_start,
              .receive = holder_receive);
static const axo_class idler_class =
    AXO_CLASS(.name = "idler", .state_size = 8, .receive = holder_receive);

static uint64_t actors_bytes(const bench_settings *settings, const axo_class *cls, uint64_t count,
                             bench_sample *sample)
{
    axo_system *system = bench_system_start(settings);
    axo_props props = AXO_PROPS(.cls = cls);
    axo_stats stats = AXO_STATS(.sent = 0);
    axo_ref ref;
    bench_check(axo_system_stats(system, &stats), "stats");
    uint64_t before = stats.memory_bytes;
    for (uint64_t i = 0; i < count; i++) {
        bench_check(axo_system_spawn(system, &props, &ref), "spawn");
        bench_check(axo_system_send(system, ref, GO, NULL, 0), "send");
    }
    do
        bench_check(axo_system_stats(system, &stats), "stats");
    while (stats.handled < count);
    uint64_t bytes = stats.memory_bytes - before;
    bench_check(axo_system_shutdown(system), "shutdown");
    bench_system_end(system, sample);
    return bytes;
}

/* ---- all ------------------------------------------------------------------------------------- */

static void heap_run(const bench_settings *settings, void *arg, bench_sample *sample)
{
    heap_load *load = arg;
    load->ns = 0;
    if (load->part == PART_ACTORS) {
        bench_sample idle = *sample;
        load->bytes = actors_bytes(settings, &holder_class, load->times, sample) -
                      actors_bytes(settings, &idler_class, load->times, &idle);
        sample->figure = (double)load->bytes / (double)load->times;
        return;
    }
    axo_system *system = bench_system_start(settings);
    const axo_class *cls = load->part == PART_END ? &ender_class : &worker_class;
    axo_props props = AXO_PROPS(.cls = cls, .args = &load, .args_size = sizeof load);
    axo_ref ref;
    bench_check(axo_system_spawn(system, &props, &ref), "spawn");
    bench_check(axo_system_send(system, ref, GO, NULL, 0), "send");
    bench_system_end(system, sample);
    sample->figure = (double)load->times * 1e9 / (double)load->ns;
}

static double heap_measure(const bench_settings *settings, const char *name, const char *unit,
                           heap_load *load)
{
    char options[96];
    (void)snprintf(options, sizeof options,
                   "\"times\":%" PRIu64 ",\"blocks\":%" PRIu64 ",\"malloc\":%d", load->times,
                   load->blocks, load->foreign);
    bench_work work = {
        .name = name, .unit = unit, .options = options, .run = heap_run, .arg = load};
    bench_measure(settings, &work);
    return (double)load->ns / (double)load->times;
}

int main(int argc, char **argv)
{
    static const struct {
        part part;
        const char *names[2]; /* the instance's heap, malloc */
    } rows[] = {
        {PART_PAIR, {"W21p", "W21pm"}},
        {PART_CHURN, {"W21c", "W21cm"}},
        {PART_ALLOC, {"W21a", NULL}},
    };
    static const uint64_t blocks[] = {0, 1, 10, 100, 10000};
    (void)argc;
    uint64_t times = 2000000;
    uint64_t ends = 2000;
    uint64_t actors = 100000;
    const bench_option options[] = {{"--times", &times, "allocations"},
                                    {"--ends", &ends, "instances that end"},
                                    {"--actors", &actors, "with three blocks each"}};
    bench_settings settings;
    bench_settings_read(&settings, argv, options, 3);
    if (times == 0 || ends == 0 || actors == 0)
        bench_usage(argv[0], options, 3);
    for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (uint32_t k = 0; k < 2 && rows[i].names[k] != NULL; k++) {
            heap_load load = {.part = rows[i].part, .foreign = k == 1, .times = times};
            double ns = heap_measure(&settings, rows[i].names[k], "operations/s", &load);
            (void)printf("      last run: %.1f ns each\n", ns);
        }
    }
    double bare = 0;
    for (uint32_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++) {
        heap_load load = {.part = PART_END, .times = ends, .blocks = blocks[i]};
        double ns = heap_measure(&settings, "W21e", "restarts/s", &load);
        if (i == 0)
            bare = ns;
        (void)printf("      last run: %.0f ns to give %" PRIu64 " blocks back\n", ns - bare,
                     blocks[i]);
    }
    heap_load load = {.part = PART_ACTORS, .times = actors};
    (void)heap_measure(&settings, "W21b", "bytes/actor", &load);
    return 0;
}
