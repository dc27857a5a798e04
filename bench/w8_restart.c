/* w8_restart.c - W8: from the failing call to the first instruction of the new instance's handling
 * of its next message, which is already queued. restart.h says what fails and how.
 *
 * W8a  hot, back to back; the figure is restarts a second.
 * W8b  paced at 1 kHz on a system that is idle otherwise, so that workers park in between. The
 *      clock runs from the failing call: the wake-up before it is not in the figure (W12p).
 * W8c  loaded: 10 000 actors, always ready, burn 1 us a message and saturate every worker. */
#include "restart.h"

typedef struct plan {
    uint64_t milliseconds; /* of one run */
    probe probe;
} plan;

static void restart_run(const bench_settings *settings, void *arg, bench_sample *sample)
{
    plan *own = arg;
    probe *shared = &own->probe;
    shape which = shared->shape;
    mode how = shared->mode;
    clock_gauge gauge = shared->gauge;
    memset(shared, 0, sizeof *shared);
    shared->shape = which;
    shared->mode = how;
    shared->gauge = gauge;
    case_run(settings, shared, (double)own->milliseconds / 1e3, sample);
    if (shared->first.count == 0)
        bench_expect(0, 1, "restarts measured");
    sample->figure =
        how == HOT ? shared->restarts_rate : (double)histogram_percentile(&shared->first, 0.5);
    sample->values[0] = shared->restarts_rate;
    sample->values[1] = shared->load_rate;
}

static void restart_measure(const bench_settings *settings, plan *own, mode how)
{
    static const char *const names[MODES] = {"W8a", "W8b", "W8c"};
    char options[160];
    own->probe.mode = how;
    (void)snprintf(options, sizeof options,
                   "\"who\":\"%s\",\"mode\":\"%s\",\"ms\":%" PRIu64
                   ",\"clock\":\"%s\",\"clock_cost_ns\":%.1f",
                   shapes[own->probe.shape].name, mode_names[how], own->milliseconds,
                   own->probe.gauge.source, own->probe.gauge.cost_ns);
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
        {"--shape", &which,
         "who fails: 0 leaf by status, 1 by axo_fail, 2 by axo_throw, 3 and 4 parent of 10, 1000"}};
    bench_settings settings;
    (void)argc;
    bench_settings_read(&settings, argv, options, 2);
    if (own.milliseconds < 10 || which >= SHAPES)
        bench_usage(argv[0], options, 2);
    own.probe.shape = (shape)which;
    clock_calibrate(&own.probe.gauge);
    restart_measure(&settings, &own, HOT);
    restart_measure(&settings, &own, PACED);
    restart_measure(&settings, &own, LOADED);
    return 0;
}
