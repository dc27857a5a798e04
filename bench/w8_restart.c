/* w8_restart.c - W8: from the failing call to the first instruction of the new instance's handling
 * of its next message, which is already queued. restart.h says what fails and how.
 *
 * W8a  hot, back to back; the figure is restarts a second.
 * W8b  paced at 1 kHz on a system that is idle otherwise, so that workers park in between. The
 *      clock runs from the failing call: the wake-up before it is not in the figure (W12p).
 * W8c  loaded: 10 000 actors, always ready, burn 1 us a message and saturate every worker.
 *
 * --contain 1: the same in a system that contains crashes. Nothing crashes, and nothing is to be
 * slower.
 *
 * Trees, queues, storms and phases are axo-restart-bench's (RESTART.md). */
#include "restart.h"

#define BURNERS 10000

/* Every shape: enum word, name, how it fails, children that are kept. */
#define SHAPE_LIST(X)                                                                              \
    X(LEAF_STATUS, "leaf, bare status", BY_STATUS, 0)                                              \
    X(LEAF_FAIL, "leaf, axo_fail", BY_FAIL, 0)                                                     \
    X(LEAF_THROW, "leaf, axo_throw", BY_THROW, 0)                                                  \
    X(PARENT_10, "parent of 10", BY_FAIL, 10)                                                      \
    X(PARENT_1000, "parent of 1000", BY_FAIL, 1000)

typedef enum shape {
#define SHAPE_ENUM(word, name, how, children) word,
    SHAPE_LIST(SHAPE_ENUM)
#undef SHAPE_ENUM
        SHAPES
} shape;

static const struct {
    const char *name;
    restart_how how;
    uint32_t children;
} shapes[SHAPES] = {
#define SHAPE_ROW(word, name, how, children) {name, how, children},
    SHAPE_LIST(SHAPE_ROW)
#undef SHAPE_ROW
};

typedef struct plan {
    uint64_t milliseconds; /* of one run */
    uint64_t part;         /* 0: all; 1: W8a, 2: W8b, 3: W8c */
    uint64_t contain;
    shape shape;
    restart_mode mode;
    clock_gauge gauge;
    probe probe;
} plan;

static void restart_run(const bench_settings *settings, void *arg, bench_sample *sample)
{
    plan *own = arg;
    restart_case what = {.mode = own->mode,
                         .how = shapes[own->shape].how,
                         .depth = 1,
                         .children = shapes[own->shape].children,
                         .queue = 1,
                         .burners = BURNERS,
                         .contain = own->contain != 0,
                         .seed = 1};
    restart_sample found;
    what.rate = restart_rate(&what);
    probe_init(&own->probe, &own->gauge, &what);
    (void)case_run(settings, &own->probe, 0.0, (double)own->milliseconds / 1e3, NULL, &found);
    if (own->probe.first.count == 0)
        bench_expect(0, 1, "restarts measured");
    sample->figure = own->mode == HOT ? found.restarts_rate
                                      : (double)histogram_percentile(&own->probe.first, 0.5);
    sample->values[0] = found.restarts_rate;
    sample->values[1] = found.load_rate;
    sample->peak_bytes = found.peak_bytes;
    sample->workers = found.workers;
    sample->stats = found.stats;
}

static void restart_measure(const bench_settings *settings, plan *own, restart_mode how)
{
    static const char *const names[MODES] = {"W8a", "W8b", "W8c"};
    char options[160];
    own->mode = how;
    (void)snprintf(options, sizeof options,
                   "\"who\":\"%s\",\"mode\":\"%s\",\"ms\":%" PRIu64
                   "%s,\"clock\":\"%s\",\"clock_cost_ns\":%.1f",
                   shapes[own->shape].name, restart_modes[how], own->milliseconds,
                   own->contain != 0 ? ",\"contain\":1" : "",
                   own->gauge.source, own->gauge.cost_ns);
    bench_work work = {.name = names[how],
                       .unit = how == HOT ? "restarts/s" : "ns",
                       .less = how != HOT,
                       .options = options,
                       .run = restart_run,
                       .arg = own,
                       .times = {{"", &own->probe.first}}};
    if (how == LOADED) {
        work.values[0] = (bench_value){"restarts_per_s", false};
        work.values[1] = (bench_value){"load_per_s", false};
    }
    bench_measure(settings, &work);
}

int main(int argc, char **argv)
{
    static plan own = {.milliseconds = 2000};
    uint64_t which = LEAF_STATUS;
    const bench_option options[] = {
        {"--ms", &own.milliseconds, "length of a run"},
        {"--contain", &own.contain, "1: in a system that contains crashes; there are none"},
        {"--shape", &which,
         "who fails: 0 leaf by status, 1 by axo_fail, 2 by axo_throw, 3 and 4 parent of 10, 1000"},
        {"--part", &own.part, "1: only W8a, 2: only W8b, 3: only W8c; 0: all"}};
    bench_settings settings;
    (void)argc;
    bench_settings_read(&settings, argv, options, 4);
    if (own.milliseconds < 10 || own.contain > 1 || which >= SHAPES || own.part > MODES)
        bench_usage(argv[0], options, 4);
    own.shape = (shape)which;
    clock_calibrate(&own.gauge);
    for (restart_mode how = HOT; how < MODES; how++) {
        if (own.part == 0 || own.part == (uint64_t)how + 1)
            restart_measure(&settings, &own, how);
    }
    return 0;
}
