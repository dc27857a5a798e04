/* main.c - axo-restart-bench: reads the options, takes the runs, writes what came out. */
#include <signal.h>

#include "killed.h"
#include "measure.h"
#include "report.h"

static volatile sig_atomic_t interrupted;

static void on_signal(int signal)
{
    (void)signal;
    interrupted = 1;
}

/* The first interrupt ends the measuring; the next one ends the program. */
static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal,
                               .sa_flags = (int)(SA_RESETHAND | SA_RESTART)};
    (void)sigemptyset(&action.sa_mask);
    if (sigaction(SIGINT, &action, NULL) != 0 || sigaction(SIGTERM, &action, NULL) != 0)
        perror("axo-restart-bench: signals");
    (void)signal(SIGPIPE, SIG_IGN); /* a reader that went is a write that fails */
}

static void measure_all(report *own)
{
    own->complete = true;
    for (uint32_t i = 0; i < own->plan->count && interrupted == 0; i++) {
        case_result *one = &own->results[own->count];
        measure_case(own->plan, &own->plan->cases[i], own->gauge, &interrupted, one);
        if (one->runs > 0)
            own->count++;
        else
            result_free(one);
    }
    own->complete = interrupted == 0;
}

/* The path of a file of the option, or of --out; NULL: neither. */
static const char *target(const char *given, const char *out, const char *name, char *space,
                          size_t size)
{
    if (given != NULL || out == NULL)
        return given;
    (void)snprintf(space, size, "%s/%s", out, name);
    return space;
}

static void write_file(const report *own, files *out, const char *given, const char *name,
                       void (*write)(const report *own, FILE *out))
{
    char space[FILES_PATH];
    const char *path = target(given, own->plan->out, name, space, sizeof space);
    if (path == NULL)
        return;
    write(own, files_open(out, path));
    files_close(out);
}

static void write_markdown(const report *own, FILE *out)
{
    report_tables(own, out, true);
}

static void write_all(const report *own)
{
    static files all;
    const plan *what = own->plan;
    if (what->out != NULL)
        files_folder(&all, what->out);
    write_file(own, &all, what->json, "restart.json", report_json);
    write_file(own, &all, what->csv, "restart.csv", report_csv);
    write_file(own, &all, what->markdown, "restart.md", write_markdown);
    if (what->marks != NULL)
        write_file(own, &all, what->marks, "", report_marks);
    if (what->percentiles != NULL || what->out != NULL)
        report_percentiles(own, &all, what->percentiles != NULL ? what->percentiles : what->out);
    if (what->plots != NULL || what->plots_if)
        report_plots(own, &all, what->plots != NULL ? what->plots : what->out);
    files_finish(&all);
    if (what->out != NULL && what->plots == NULL && !what->plots_if)
        (void)fputs("no plots: there is no gnuplot\n", stderr);
}

static bool is_output(const char *path)
{
    return path != NULL && strcmp(path, "-") == 0;
}

int main(int argc, char **argv)
{
    static plan what;
    static report all;
    clock_gauge gauge;
    killed_main(argc, argv);
    plan_read(&what, argc, argv);
    if (what.list) {
        for (uint32_t i = 0; i < what.count; i++)
            (void)puts(what.cases[i].name);
        return 0;
    }
    all = (report){.plan = &what, .gauge = &gauge};
    machine_commit(all.commit);
    clock_calibrate(&gauge);
    catch_signals();
    measure_all(&all);
    bool output = is_output(what.json) || is_output(what.csv) || is_output(what.markdown) ||
                  is_output(what.marks);
    report_tables(&all, output ? stderr : stdout, false);
    write_all(&all);
    if (fflush(stdout) != 0) {
        perror("axo-restart-bench: standard output");
        return 1;
    }
    return interrupted != 0 ? 130 : 0;
}
