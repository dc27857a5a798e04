/* w13_timers.c - what timers cost: W13s sets a million, W13c cancels 90 % of them in random order,
 * W13f fires a million that are due at once, down to their handler. Beside the rates, plain
 * numbers: nanoseconds an operation and bytes a pending timer. */
#include "bench.h"

enum { GO = 1, TICK = 2 };

typedef enum part {
    PART_SET,
    PART_CANCEL,
    PART_FIRE
} part;

typedef struct wheel_load {
    part part;
    uint64_t timers;
    uint64_t begin_ns;
    uint64_t end_ns;
    uint64_t bytes_pending; /* held more than before, with all pending */
    uint64_t bytes_left;    /* with 10 % pending */
    axo_timer *handles;
} wheel_load;

static uint64_t load_bytes(axo_ctx *ctx)
{
    axo_stats stats = AXO_STATS(.sent = 0);
    bench_check(axo_system_stats(axo_system_of(ctx), &stats), "stats");
    return stats.memory_bytes;
}

static uint64_t load_random(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *seed >> 33;
}

static void load_shuffle(wheel_load *load)
{
    uint64_t seed = 42;
    for (uint64_t i = load->timers; i > 1; i--) {
        uint64_t other = load_random(&seed) % i;
        axo_timer kept = load->handles[i - 1];
        load->handles[i - 1] = load->handles[other];
        load->handles[other] = kept;
    }
}

/* Due within an hour, a minute from now at the earliest: none fires meanwhile. */
static void load_set(axo_ctx *ctx, wheel_load *load)
{
    uint64_t seed = 7;
    uint64_t before = load_bytes(ctx);
    axo_ref self = axo_self(ctx);
    load->begin_ns = clock_ns();
    for (uint64_t i = 0; i < load->timers; i++) {
        int64_t delay = INT64_C(60000000000) + (int64_t)(load_random(&seed) % 3600000) * 1000000;
        bench_check(axo_schedule_once(ctx, delay, self, TICK, NULL, 0, &load->handles[i]), "set");
    }
    load->end_ns = clock_ns();
    load->bytes_pending = load_bytes(ctx) - before;
    if (load->part == PART_SET)
        return;
    load_shuffle(load);
    load->begin_ns = clock_ns();
    for (uint64_t i = 0; i < load->timers / 10 * 9; i++) {
        if (!axo_timer_cancel(ctx, load->handles[i]))
            bench_check(AXO_ENOENT, "cancel");
    }
    load->end_ns = clock_ns();
    load->bytes_left = load_bytes(ctx) - before;
}

typedef struct keeper {
    wheel_load *load;
    uint64_t left;
} keeper;

static axo_status keeper_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    memcpy(&((keeper *)state)->load, args, sizeof(wheel_load *));
    return AXO_OK;
}

static axo_status keeper_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    keeper *me = state;
    if (message->tag == GO && me->load->part != PART_FIRE) {
        load_set(ctx, me->load);
        return axo_system_shutdown(axo_system_of(ctx));
    }
    if (message->tag == GO) {
        me->left = me->load->timers;
        for (uint64_t i = 0; i < me->left; i++)
            bench_check(axo_schedule_once(ctx, 0, axo_self(ctx), TICK, NULL, 0, NULL), "set");
        me->load->begin_ns = clock_ns();
    } else if (--me->left == 0) {
        me->load->end_ns = clock_ns();
        return axo_system_shutdown(axo_system_of(ctx));
    }
    return AXO_OK;
}

static const axo_class keeper_class = AXO_CLASS(.name = "keeper", .state_size = sizeof(keeper),
                                                .construct = keeper_construct,
                                                .receive = keeper_receive);

static void timers_run(const bench_settings *settings, void *arg, bench_sample *sample)
{
    wheel_load *load = arg;
    axo_system *system = bench_system_start(settings);
    axo_props props = AXO_PROPS(.cls = &keeper_class, .args = &load, .args_size = sizeof load);
    axo_ref ref;
    bench_check(axo_system_spawn(system, &props, &ref), "spawn");
    bench_check(axo_system_send(system, ref, GO, NULL, 0), "send");
    bench_system_end(system, sample);
    uint64_t done = load->part == PART_CANCEL ? load->timers / 10 * 9 : load->timers;
    sample->figure = (double)done * 1e9 / (double)(load->end_ns - load->begin_ns);
}

static void timers_measure(const bench_settings *settings, const char *name, const char *unit,
                           wheel_load *load)
{
    char options[64];
    (void)snprintf(options, sizeof options, "\"timers\":%" PRIu64, load->timers);
    bench_work work = {
        .name = name, .unit = unit, .options = options, .run = timers_run, .arg = load};
    bench_measure(settings, &work);
    uint64_t done = load->part == PART_CANCEL ? load->timers / 10 * 9 : load->timers;
    (void)printf("      last run: %.1f ns each", (double)(load->end_ns - load->begin_ns) /
                                                     (double)done);
    if (load->part != PART_FIRE)
        (void)printf(", %.1f bytes a pending timer",
                     (double)load->bytes_pending / (double)load->timers);
    if (load->part == PART_CANCEL)
        (void)printf(", %.1f MiB then, %.1f MiB with 10 %% left",
                     (double)load->bytes_pending / 1048576.0, (double)load->bytes_left / 1048576.0);
    (void)printf("\n");
}

int main(int argc, char **argv)
{
    (void)argc;
    wheel_load load = {.timers = 1000000};
    const bench_option options[] = {{"--timers", &load.timers, "pending at once, at most 2^20"}};
    bench_settings settings;
    bench_settings_read(&settings, argv, options, 1);
    if (load.timers < 10 || load.timers > UINT64_C(1) << 20)
        bench_usage(argv[0], options, 1);
    load.handles = calloc(load.timers, sizeof *load.handles);
    if (load.handles == NULL)
        bench_check(AXO_ENOMEM, "handles");
    load.part = PART_SET;
    timers_measure(&settings, "W13s", "timers/s", &load);
    load.part = PART_CANCEL;
    timers_measure(&settings, "W13c", "timers/s", &load);
    load.part = PART_FIRE;
    timers_measure(&settings, "W13f", "timers/s", &load);
    free(load.handles);
    return 0;
}
