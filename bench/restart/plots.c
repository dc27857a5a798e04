/* plots.c - pictures by gnuplot: a script with its data in it, and what gnuplot makes of it. */
#include <spawn.h>
#include <sys/wait.h>

#include "report.h"

#define CURVE_STEP  1.15
#define PLOT_HEIGHT 700u /* points */
#define LINE_HEIGHT 15u  /* of a key */

static const char scale_text[] =
    "set logscale xy\nset grid\nset xlabel 'percentile'\n"
    "set xtics ('p50' 2,'p90' 10,'p99' 100,'p99.9' 1000,'p99.99' 1e4,'' 1e5,"
    "'p99.9999' 1e6)\nset yrange [10:*]\n"
    "set ytics ('10 ns' 10,'100 ns' 100,'1 us' 1e3,'10 us' 1e4,'100 us' 1e5,'1 ms' 1e6,"
    "'10 ms' 1e7,'100 ms' 1e8,'1 s' 1e9)\n";

/* The plotting itself stands in a function of gnuplot's language, a string that is run twice. */
static FILE *plot_begin(files *out, const char *folder, const char *name, uint32_t height)
{
    char path[FILES_PATH];
    (void)snprintf(path, sizeof path, "%s/%s.gp", folder, name);
    FILE *file = files_open(out, path);
    (void)fprintf(file,
                  "# %s.gp - written by axo-restart-bench; gnuplot %s.gp draws it again\n"
                  "if (!exists('picture')) picture = '%s.svg'\n"
                  "if (!exists('kind')) kind = 'svg'\n"
                  "if (kind eq 'svg') set terminal svg size 1500,%" PRIu32
                  " noenhanced font 'sans,12' background 'white'; else set terminal pngcairo size "
                  "1500,%" PRIu32 " noenhanced font 'sans,11' background 'white'\n"
                  "set output picture\n",
                  name, name, name, height, height);
    return file;
}

static bool plot_run(const char *script, const char *picture, const char *kind)
{
    extern char **environ;
    char program[] = "gnuplot";
    char option[] = "-e";
    char set[2 * FILES_PATH];
    char path[FILES_PATH];
    char *arguments[] = {program, option, set, path, NULL};
    pid_t child;
    int status = 1;
    (void)snprintf(path, sizeof path, "%s", script);
    (void)snprintf(set, sizeof set, "kind = '%s'; picture = '%s'", kind, picture);
    if (posix_spawnp(&child, program, NULL, NULL, arguments, environ) == 0)
        (void)waitpid(child, &status, 0); /* status stays 1 if it fails */
    return status == 0;
}

/* The script is written; it still has the name that it is written under. */
static void plot_end(files *out, const char *folder, const char *name)
{
    static const char *const kinds[] = {"svg", "png"};
    char path[FILES_PATH];
    char script[FILES_PATH];
    files_close(out);
    (void)snprintf(script, sizeof script, "%s", out->all[out->count - 1]->part);
    for (size_t i = 0; i < 2; i++) {
        (void)snprintf(path, sizeof path, "%s/%s.%s", folder, name, kinds[i]);
        if (!plot_run(script, files_place(out, path), kinds[i]))
            files_fail(out, path);
    }
}

static void plot_curve(FILE *out, const char *name, const char *suffix, const histogram *all)
{
    (void)fprintf(out, "$%s_%s << END\n", name, suffix);
    for (double odds = 1.0; odds <= (double)all->count; odds *= CURVE_STEP)
        (void)fprintf(out, "%.4f %" PRIu64 "\n", odds, histogram_percentile(all, 1.0 - 1.0 / odds));
    (void)fputs("END\n", out);
}

/* ---- latency ------------------------------------------------------------------------------- */

/* How many curves a mode's panel has. */
static uint32_t latency_curves(const report *own, uint32_t which)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < own->count; i++) {
        const case_result *one = &own->results[i];
        if (!one->what->storm && one->what->restart.mode == (restart_mode)which)
            count += result_times_find(one, "ready") != NULL ? 2 : 1;
    }
    return count;
}

static void latency_panel(const report *own, FILE *out, uint32_t which)
{
    const char *comma = "";
    (void)fprintf(out, "set title '%s'\nplot ", restart_modes[which]);
    for (uint32_t i = 0; i < own->count; i++) {
        const case_result *one = &own->results[i];
        if (one->what->storm || one->what->restart.mode != (restart_mode)which)
            continue;
        (void)fprintf(out, "%s$first_%" PRIu32 " with lines lw 2 title '%s'", comma, i,
                      one->what->name);
        if (result_times_find(one, "ready") != NULL)
            (void)fprintf(out, ", $ready_%" PRIu32 " with lines lw 2 dt 2 title '%s: ready'", i,
                          one->what->name);
        comma = ", ";
    }
    (void)fputs("\n", out);
}

static void plot_latency(const report *own, files *to, const char *folder)
{
    uint32_t panels = 0;
    uint32_t keys = 0;
    char number[16];
    for (uint32_t m = 0; m < MODES; m++) {
        uint32_t curves = latency_curves(own, m);
        keys = curves > keys ? curves : keys;
        panels += curves > 0;
    }
    if (panels == 0)
        return;
    uint32_t height = PLOT_HEIGHT + keys * LINE_HEIGHT;
    FILE *out = plot_begin(to, folder, "restart-latency", height);
    for (uint32_t i = 0; i < own->count; i++) {
        const histogram *ready = result_times_find(&own->results[i], "ready");
        if (own->results[i].what->storm)
            continue;
        (void)snprintf(number, sizeof number, "%" PRIu32, i);
        plot_curve(out, "first", number, result_times_find(&own->results[i], ""));
        if (ready != NULL)
            plot_curve(out, "ready", number, ready);
    }
    (void)fprintf(out,
                  "%sset multiplot layout 1,%" PRIu32 " title 'restart latency, %" PRIu32
                  " workers'\nset bmargin at screen %.3f\nset tmargin at screen %.3f\n"
                  "set key bmargin center vertical Left reverse maxcols 1 font ',9'\n"
                  "set ylabel 'from the failing call'\n",
                  scale_text, panels, own->results[0].workers, (keys * LINE_HEIGHT + 80.0) / height,
                  1.0 - 60.0 / height);
    for (uint32_t m = 0; m < MODES; m++) {
        if (latency_curves(own, m) > 0)
            latency_panel(own, out, m);
    }
    (void)fputs("unset multiplot\n", out);
    plot_end(to, folder, "restart-latency");
}

/* ---- phases -------------------------------------------------------------------------------- */

static void phases_row(FILE *out, const case_result *one)
{
    char name[64];
    char sum[32];
    double total = result_median(one, "recorded_mean_ns");
    (void)fprintf(out, "\"%s, %s\"", one->what->name, report_ns(sum, total));
    for (uint32_t p = 0; p < PHASES; p++) {
        (void)snprintf(name, sizeof name, "%s_mean_ns", phase_names[p]);
        (void)fprintf(out, " %.3f", total > 0.0 ? 100.0 * result_median(one, name) / total : 0.0);
    }
    (void)fputs("\n", out);
}

static void plot_phases(const report *own, files *to, const char *folder)
{
    uint32_t rows = 0;
    for (uint32_t i = 0; i < own->count; i++)
        rows += result_find(&own->results[i], "recorded_mean_ns") != NULL;
    if (rows == 0)
        return;
    FILE *out = plot_begin(to, folder, "restart-phases", PLOT_HEIGHT);
    (void)fputs("$phases << END\n", out);
    for (uint32_t i = 0; i < own->count; i++) {
        if (result_find(&own->results[i], "recorded_mean_ns") != NULL)
            phases_row(out, &own->results[i]);
    }
    (void)fputs("END\nset title 'phases of a restart: shares of the mean'\nset style data "
                "histograms\nset style histogram rowstacked\nset style fill solid 0.8\n"
                "set boxwidth 0.8\nset yrange [0:100]\nset ylabel 'percent'\nset grid y\n"
                "set xtics rotate by -35 font ',9'\nset rmargin 20\nset key outside right\nplot ",
                out);
    for (uint32_t p = 0; p < PHASES; p++)
        (void)fprintf(out, "%s$phases using %" PRIu32 "%s title '%s'", p == 0 ? "" : ", ", p + 2,
                      p == 0 ? ":xtic(1)" : "", phase_names[p]);
    (void)fputs("\n", out);
    plot_end(to, folder, "restart-phases");
}

/* ---- storms -------------------------------------------------------------------------------- */

static void plot_storm(const report *own, files *to, const char *folder)
{
    const char *comma = "";
    char number[16];
    bool any = false;
    for (uint32_t i = 0; i < own->count; i++)
        any = any || own->results[i].what->storm;
    if (!any)
        return;
    FILE *out = plot_begin(to, folder, "restart-storm", PLOT_HEIGHT);
    for (uint32_t i = 0; i < own->count; i++) {
        if (!own->results[i].what->storm)
            continue;
        (void)snprintf(number, sizeof number, "%" PRIu32, i);
        plot_curve(out, "calm", number, result_times_find(&own->results[i], "calm"));
        plot_curve(out, "storm", number, result_times_find(&own->results[i], ""));
    }
    (void)fprintf(out,
                  "%sset title 'messages of healthy siblings, before and in a storm'\n"
                  "set ylabel 'from due to handler'\nset key left top\nplot ",
                  scale_text);
    for (uint32_t i = 0; i < own->count; i++) {
        if (!own->results[i].what->storm)
            continue;
        (void)fprintf(out,
                      "%s$calm_%" PRIu32 " with lines lw 1 dt 2 title '%s: calm', $storm_%" PRIu32
                      " with lines lw 2 title '%s'",
                      comma, i, own->results[i].what->name, i, own->results[i].what->name);
        comma = ", ";
    }
    (void)fputs("\n", out);
    plot_end(to, folder, "restart-storm");
}

void report_plots(const report *own, files *out, const char *folder)
{
    files_folder(out, folder);
    plot_latency(own, out, folder);
    plot_phases(own, out, folder);
    plot_storm(own, out, folder);
}
