/* w9_loaded.c - W9c: a parent of 1000 children that it keeps is restarted, while 10 000 actors that
 * are always ready burn 1 us a message and keep every worker busy. From the failing call to the
 * first instruction of the new instance's handling of its next message, which is already queued;
 * `last` is the time until the last of its children has been restarted. restart.h says how. */
#include "restart.h"

#define BURNERS 10000

typedef struct plan {
    uint64_t milliseconds; /* of one run */
    uint64_t children;
    clock_gauge gauge;
    probe probe;
} plan;

static void loaded_run(const bench_settings *settings, void *arg, bench_sample *sample)
{
    plan *own = arg;
    restart_case what = {.mode = LOADED,
                         .how = BY_FAIL,
                         .depth = 1,
                         .children = (uint32_t)own->children,
                         .queue = 1,
                         .burners = BURNERS,
                         .at_least = 5,
                         .seed = 1};
    restart_sample found;
    what.rate = restart_rate(&what);
    probe_init(&own->probe, &own->gauge, &what);
    (void)case_run(settings, &own->probe, 0.0, (double)own->milliseconds / 1e3, NULL, &found);
    if (own->probe.first.count == 0)
        bench_expect(0, 1, "restarts measured");
    sample->figure = (double)histogram_percentile(&own->probe.first, 0.5);
    sample->values[0] = found.restarts_rate;
    sample->values[1] = found.load_rate;
    sample->peak_bytes = found.peak_bytes;
    sample->workers = found.workers;
    sample->stats = found.stats;
}

int main(int argc, char **argv)
{
    static plan own = {.milliseconds = 5000, .children = 1000};
    const bench_option options[] = {{"--ms", &own.milliseconds, "length of a run"},
                                    {"--children", &own.children, "of the parent"}};
    bench_settings settings;
    char text[160];
    (void)argc;
    bench_settings_read(&settings, argv, options, 2);
    if (own.milliseconds < 10 || own.children < 1 || own.children > 100000)
        bench_usage(argv[0], options, 2);
    clock_calibrate(&own.gauge);
    (void)snprintf(text, sizeof text,
                   "\"children\":%" PRIu64 ",\"burners\":%d,\"ms\":%" PRIu64 ",\"clock\":\"%s\"",
                   own.children, BURNERS, own.milliseconds, own.gauge.source);
    bench_measure(&settings,
                  &(bench_work){.name = "W9c",
                                .unit = "ns",
                                .less = true,
                                .options = text,
                                .run = loaded_run,
                                .arg = &own,
                                .values = {{"restarts_per_s", false}, {"load_per_s", false}},
                                .times = {{"", &own.probe.first}, {"last", &own.probe.last}}});
    return 0;
}
