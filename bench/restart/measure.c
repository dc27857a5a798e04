/* measure.c - the runs of a case: one that tells how long, one with the recorder that tells why. */
#include "measure.h"

#include "killed.h"
#include "restart.h"
#include "storm.h"

/* The runs of a case, quiet and disturbed ones apart, and what a run needs. For the heap. */
typedef struct measure {
    const plan *plan;
    const clock_gauge *gauge;
    restart_cut cut;
    case_result kept[2]; /* quiet, disturbed */
    probe timed;
    probe recorded;
    storm_sample storm;
    killed_sample killed;
} measure;

static void measure_phases(case_result *out, const recorder *own)
{
    char name[2 * NAME_MAX_];
    double count = (double)own->count;
    for (uint32_t i = 0; i < PHASES; i++) {
        (void)snprintf(name, sizeof name, "%s_mean_ns", phase_names[i]);
        result_figure(out, name, true, (double)own->sums[i] / count);
        result_times(out, phase_names[i], &own->phases[i]);
    }
    result_figure(out, "recorded_mean_ns", true, (double)own->total_sum / count);
    result_times(out, "recorded", &own->total);
    if (own->rows == NULL)
        return;
    recorder_row *rows = realloc(out->rows, own->rows_count * sizeof *rows);
    bench_check(rows == NULL ? AXO_ENOMEM : AXO_OK, "memory for the marks");
    memcpy(rows, own->rows, own->rows_count * sizeof *rows);
    out->rows = rows;
    out->rows_count = own->rows_count;
}

static void measure_common(case_result *out, uint64_t peak_bytes, uint32_t workers,
                           const axo_stats *stats)
{
    out->stats = *stats;
    out->workers = workers;
    if (peak_bytes > out->peak_bytes)
        out->peak_bytes = peak_bytes;
    result_figure(out, "peak_mib", true, (double)peak_bytes / 1048576.0);
}

static void measure_restart_keep(measure *own, case_result *out, const restart_sample *found)
{
    const probe *timed = &own->timed;
    result_times(out, "", &timed->first);
    result_times(out, "ready", &timed->last);
    result_figure(out, "restarts_per_s", false, found->restarts_rate);
    if (timed->what.mode != HOT)
        result_figure(out, "missed", true, (double)atomic_load(&timed->missed));
    if (timed->what.mode == LOADED)
        result_figure(out, "load_per_s", false, found->load_rate);
    measure_common(out, found->peak_bytes, found->workers, &found->stats);
    if (own->recorded.recorder.count > 0)
        measure_phases(out, &own->recorded.recorder);
}

/* Of a run, the one part or the other: so long that a restart came in. false: none, or cut short */
static bool measure_restart_once(measure *own, const restart_case *what, probe *shared,
                                 restart_sample *found)
{
    bench_settings settings = {.workers = own->plan->workers};
    probe_init(shared, own->gauge, what);
    bool whole =
        case_run(&settings, shared, own->plan->warmup, own->plan->duration, own->cut, found);
    if (whole && probe_counted(shared) < what->at_least) {
        (void)fprintf(stderr, BENCH_NAME ": %" PRIu64 " restarts in %.3g s, not %" PRIu32 "\n",
                      probe_counted(shared), found->seconds, what->at_least);
        exit(1);
    }
    return whole;
}

/* One run of a restart. false: cut short */
static bool measure_restart(measure *own, const plan_case *what)
{
    restart_case one = what->restart;
    restart_sample timed;
    restart_sample recorded = {.foreign = 0.0};
    own->recorded.recorder.count = 0;
    bool whole = measure_restart_once(own, &one, &own->timed, &timed);
    if (whole && own->plan->phases) {
        one.recorded = true;
        whole = measure_restart_once(own, &one, &own->recorded, &recorded);
    }
    bool loud = timed.foreign > BENCH_FOREIGN_MAX || recorded.foreign > BENCH_FOREIGN_MAX;
    case_result *out = &own->kept[loud];
    if (probe_counted(&own->timed) > 0) {
        measure_restart_keep(own, out, &timed);
        out->runs++;
    }
    return whole;
}

/* One run of processes that are killed, into which no recorder sees. false: cut short */
static bool measure_killed(measure *own, const plan_case *what)
{
    killed_sample *found = &own->killed;
    bool whole = killed_run(&what->restart, own->plan->workers, own->plan->warmup,
                            own->plan->duration, own->cut, found);
    case_result *out = &own->kept[found->foreign > BENCH_FOREIGN_MAX];
    if (found->first.count == 0)
        return whole;
    result_times(out, "", &found->first);
    result_figure(out, "restarts_per_s", false, (double)found->first.count / found->seconds);
    if (what->restart.mode != HOT)
        result_figure(out, "missed", true, (double)found->missed);
    measure_common(out, found->peak_bytes, found->workers, &found->stats);
    out->runs++;
    return whole;
}

/* One run of a storm. false: cut short */
static bool measure_storm(measure *own, const plan_case *what)
{
    storm_sample *found = &own->storm;
    bool whole = storm_run(&what->storm_of, own->plan->workers, own->plan->warmup,
                           own->plan->duration, own->gauge, own->cut, found);
    case_result *out = &own->kept[found->foreign > BENCH_FOREIGN_MAX];
    if (found->healthy.count == 0 || found->calm.count == 0)
        return whole;
    result_times(out, "", &found->healthy);
    result_times(out, "calm", &found->calm);
    result_times(out, "sick", &found->sick);
    result_times(out, "rebuilt", &found->rebuilt);
    result_times(out, "late", &found->late);
    result_figure(out, "p99.9_over_calm", true,
                  (double)histogram_percentile(&found->healthy, 0.999) /
                      (double)histogram_percentile(&found->calm, 0.999));
    result_figure(out, "messages", false, (double)found->messages);
    result_figure(out, "failures", false, (double)found->failures);
    measure_common(out, found->peak_bytes, found->workers, &found->stats);
    out->runs++;
    return whole;
}

static void measure_progress(const measure *own, const plan_case *what)
{
    bool terminal = isatty(STDERR_FILENO) == 1;
    if (!own->plan->progress)
        return;
    (void)fprintf(stderr, "%s%s: %" PRIu32 " of %" PRIu32 " runs, %" PRIu32 " disturbed%s",
                  terminal ? "\r" : "", what->name, own->kept[0].runs, own->plan->repeats,
                  own->kept[1].runs, terminal ? "\033[K" : "\n");
}

void measure_case(const plan *own, const plan_case *what, const clock_gauge *gauge,
                  const volatile sig_atomic_t *cut, case_result *out)
{
    measure *all = calloc(1, sizeof *all);
    bench_check(all == NULL ? AXO_ENOMEM : AXO_OK, "memory for the results");
    *all = (measure){.plan = own, .gauge = gauge, .cut = cut};
    if (own->marks != NULL) {
        all->recorded.recorder.rows = calloc(RECORDER_ROWS_MAX, sizeof(recorder_row));
        bench_check(all->recorded.recorder.rows == NULL ? AXO_ENOMEM : AXO_OK,
                    "memory for the marks");
    }
    bool whole = true;
    while (whole && all->kept[0].runs < own->repeats && all->kept[1].runs < own->repeats) {
        measure_progress(all, what);
        bench_peak_reset();
        whole = what->storm                     ? measure_storm(all, what)
                : what->restart.how == BY_KILL ? measure_killed(all, what)
                                               : measure_restart(all, what);
    }
    if (own->progress && isatty(STDERR_FILENO) == 1)
        (void)fputs("\r\033[K", stderr);
    bool calm =
        all->kept[0].runs == own->repeats || (!whole && all->kept[0].runs > all->kept[1].runs);
    result_free(&all->kept[calm ? 1 : 0]);
    *out = all->kept[calm ? 0 : 1];
    out->what = what;
    out->disturbed = calm ? 0 : out->runs;
    out->complete = whole;
    free(all->recorded.recorder.rows);
    free(all);
}
