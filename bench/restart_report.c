/* restart_report.c - every shape of restart.h in every mode: a table, JSON and a plot.
 *
 * The workloads W8 and W9, on the harness, are w8_restart.c and w9_children.c. */
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "restart.h"

/* Of the report's time, for all shapes together. */
static const double mode_shares[MODES] = {0.125, 0.5, 0.375};

/* ---- report -------------------------------------------------------------------------------- */

typedef struct report {
    const char *folder;
    FILE *json;
    FILE *curves; /* gnuplot's data: blocks of "1/(1-quantile) ns" */
    uint32_t results;
    uint32_t workers;
} report;

static FILE *report_open(const report *all, const char *name)
{
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/restart_report.%s", all->folder, name);
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        (void)fprintf(stderr, "restart_report: cannot write %s\n", path);
        exit(1);
    }
    return file;
}

static void report_begin(report *all, const bench_settings *settings, const clock_gauge *gauge)
{
    axo_system *system = bench_system_start(settings);
    all->workers = axo_system_workers(system);
    case_stop(system);
    bench_check(axo_system_destroy(system), "destroy");
    all->json = report_open(all, "json");
    all->curves = report_open(all, "dat");
    (void)fprintf(all->json,
                  "{\"report\":\"restart\",\"clock\":{\"source\":\"%s\",\"ns_per_tick\":%.6f,"
                  "\"cost_ns\":%.1f},\"workers\":%" PRIu32 ",\"machine\":{",
                  gauge->source, gauge->ns_per_tick, gauge->cost_ns, all->workers);
    machine_json(all->json);
    (void)fputs("},\"build\":{", all->json);
    machine_build_json(all->json);
    (void)fprintf(all->json, "},\"commit\":\"%s\",\"results\":[", settings->commit);
    (void)printf("restart latency in ns, %" PRIu32 " workers; from the failing call to the next "
                 "message of the new instance,\nor to the restart of the last child; one reading "
                 "of the clock (%s) costs %.1f ns, none is subtracted\n\n",
                 all->workers, gauge->source, gauge->cost_ns);
    (void)printf("%-7s%-19s%-14s%9s%9s%9s%9s%9s%10s%12s%10s\n", "mode", "who fails", "until",
                 "count", "p50", "p90", "p99", "p99.9", "max", "restarts/s", "load/s");
}

static void report_row(report *all, const probe *shared, const histogram *times, const char *until)
{
    static const double quantiles[4] = {0.5, 0.9, 0.99, 0.999};
    uint64_t ns[4];
    for (uint32_t i = 0; i < 4; i++)
        ns[i] = histogram_percentile(times, quantiles[i]);
    const char *name = shapes[shared->shape].name;
    (void)printf("%-7s%-19s%-14s%9" PRIu64 "%9" PRIu64 "%9" PRIu64 "%9" PRIu64 "%9" PRIu64
                 "%10" PRIu64 "%12.0f%10.0f%s\n",
                 mode_names[shared->mode], name, until, times->count, ns[0], ns[1], ns[2], ns[3],
                 times->max, shared->restarts_rate, shared->load_rate,
                 shared->foreign > BENCH_FOREIGN_MAX ? " *" : "");
    (void)fflush(stdout);
    (void)fprintf(all->json,
                  "%s\n{\"mode\":\"%s\",\"who\":\"%s\",\"until\":\"%s\",\"count\":%" PRIu64
                  ",\"p50_ns\":%" PRIu64 ",\"p90_ns\":%" PRIu64 ",\"p99_ns\":%" PRIu64
                  ",\"p99.9_ns\":%" PRIu64 ",\"max_ns\":%" PRIu64
                  ",\"restarts_per_s\":%.0f,\"load_per_s\":%.0f,\"seconds\":%.3f,"
                  "\"foreign_cpu\":%.3f}",
                  all->results++ == 0 ? "" : ",", mode_names[shared->mode], name, until,
                  times->count, ns[0], ns[1], ns[2], ns[3], times->max, shared->restarts_rate,
                  shared->load_rate, shared->seconds, shared->foreign);
    for (double odds = 1.0; odds <= (double)times->count; odds *= 1.15)
        (void)fprintf(all->curves, "%.4f %" PRIu64 "\n", odds,
                      histogram_percentile(times, 1.0 - 1.0 / odds));
    (void)fputs("\n\n", all->curves);
}

/* One panel a mode; the blocks of the data are in the order of the table. */
static void report_script(const report *all)
{
    FILE *out = report_open(all, "gp");
    (void)fprintf(out,
                  "set terminal svg size 1500,640 noenhanced font 'sans,12' background 'white'\n"
                  "set output '%s/restart_report.svg'\n"
                  "set multiplot layout 1,%d title 'restart latency, %" PRIu32 " workers'\n"
                  "set logscale xy\nset grid\nset bmargin 9\n"
                  "set xlabel 'percentile'\nset ylabel 'from the failing call'\n"
                  "set xtics ('p50' 2,'p90' 10,'p99' 100,'p99.9' 1000,'p99.99' 1e4,"
                  "'p99.9999' 1e6)\nset yrange [10:*]\n"
                  "set ytics ('10 ns' 10,'100 ns' 100,'1 us' 1e3,'10 us' 1e4,'100 us' 1e5,"
                  "'1 ms' 1e6,'10 ms' 1e7,'100 ms' 1e8)\n",
                  all->folder, MODES, all->workers);
    uint32_t block = 0;
    for (uint32_t m = 0; m < MODES; m++) {
        (void)fprintf(out, "set title '%s'\n%s\nplot", mode_names[m],
                      m == MODES / 2 ? "set key bmargin center maxrows 4" : "unset key");
        for (uint32_t s = 0; s < SHAPES; s++) {
            (void)fprintf(out,
                          "%s '%s/restart_report.dat' index %" PRIu32 " with lines lw 2 title '%s'",
                          s == 0 ? "" : ",", all->folder, block++, shapes[s].name);
            if (shapes[s].children == 0)
                continue;
            (void)fprintf(out,
                          ", '%s/restart_report.dat' index %" PRIu32
                          " with lines lw 2 dt 2 title '%s: last child'",
                          all->folder, block++, shapes[s].name);
        }
        (void)fputs("\n", out);
    }
    (void)fclose(out); /* gnuplot says if it is cut */
}

static void report_plot(const report *all)
{
    extern char **environ;
    char script[4096];
    char program[] = "gnuplot";
    (void)snprintf(script, sizeof script, "%s/restart_report.gp", all->folder);
    char *arguments[] = {program, script, NULL};
    pid_t child;
    int status = 1;
    if (posix_spawnp(&child, program, NULL, NULL, arguments, environ) == 0)
        (void)waitpid(child, &status, 0); /* status stays 1 if it fails */
    (void)printf("\n*: other processes used more than %.0f %% of the processors meanwhile\n"
                 "JSON  %s/restart_report.json\n",
                 BENCH_FOREIGN_MAX * 100.0, all->folder);
    if (status == 0)
        (void)printf("SVG   %s/restart_report.svg\n", all->folder);
    else
        (void)printf("SVG   none: gnuplot is missing or failed; its script is %s\n", script);
}

static void report_make_folder(const char *folder)
{
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/", folder);
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, 0777); /* report_open says if it is not there */
        *slash = '/';
    }
}

/* Takes "--out DIR" out of the arguments; the folder, or the default. */
static const char *report_folder(char **argv)
{
    const char *folder = "build/run";
    for (char **arg = argv + 1; *arg != NULL; arg++) {
        if (strcmp(*arg, "--out") != 0 || arg[1] == NULL)
            continue;
        folder = arg[1];
        for (char **rest = arg; *rest != NULL; rest++)
            rest[0] = rest[1] == NULL ? NULL : rest[2];
        break;
    }
    return folder;
}

int main(int argc, char **argv)
{
    (void)argc;
    static probe shared;
    clock_gauge gauge;
    report all = {.folder = report_folder(argv)};
    uint64_t seconds = 16;
    const bench_option options[] = {
        {"--seconds", &seconds, "how long the whole report takes; --out DIR: where it goes"}};
    bench_settings settings;
    bench_settings_read(&settings, argv, options, 1);
    report_make_folder(all.folder);
    clock_calibrate(&gauge);
    report_begin(&all, &settings, &gauge);
    for (uint32_t m = 0; m < MODES; m++) {
        for (uint32_t s = 0; s < SHAPES; s++) {
            memset(&shared, 0, sizeof shared);
            shared.gauge = gauge;
            shared.mode = (mode)m;
            shared.shape = (shape)s;
            bench_sample sample;
            case_run(&settings, &shared, (double)seconds * mode_shares[m] / SHAPES, &sample);
            report_row(&all, &shared, &shared.first, "next message");
            if (shapes[s].children != 0)
                report_row(&all, &shared, &shared.last, "last child");
        }
    }
    (void)fputs("\n]}\n", all.json);
    if (fclose(all.json) != 0 || fclose(all.curves) != 0) {
        (void)fprintf(stderr, "restart_report: cannot write to %s\n", all.folder);
        return 1;
    }
    report_script(&all);
    report_plot(&all);
    return 0;
}
