/* tables.c - the results for people: a table of latencies, one of phases, one of storms. */
#include "report.h"

#define COLUMNS_MAX 16
#define CELL_MAX    128

typedef struct table {
    uint32_t columns;
    uint32_t rows; /* the first is the head */
    char (*cells)[COLUMNS_MAX][CELL_MAX];
} table;

const char *report_ns(char out[32], double ns)
{
    static const struct {
        double least;
        const char *unit;
    } steps[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}};
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        double value = ns / steps[i].least;
        if (ns < steps[i].least)
            continue;
        (void)snprintf(out, 32,
                       value >= 99.5   ? "%.0f %s"
                       : value >= 9.95 ? "%.1f %s"
                                       : "%.2f %s",
                       value, steps[i].unit);
        return out;
    }
    (void)snprintf(out, 32, "%.0f ns", ns);
    return out;
}

/* ---- cells --------------------------------------------------------------------------------- */

static void table_init(table *own, uint32_t rows, const char *const *head, uint32_t columns)
{
    *own = (table){.columns = columns, .rows = 1};
    own->cells = calloc(rows + 1, sizeof *own->cells);
    bench_check(own->cells == NULL ? AXO_ENOMEM : AXO_OK, "memory for a table");
    for (uint32_t i = 0; i < columns; i++)
        (void)snprintf(own->cells[0][i], CELL_MAX, "%s", head[i]);
}

/* The median of a figure in the next row's column; empty if there is none. */
static void table_figure(table *own, uint32_t column, const case_result *one, const char *name)
{
    char text[32] = "";
    const case_figure *it = result_find(one, name);
    double median = figure_spread(it).median;
    size_t length = strlen(name);
    if (it == NULL)
        return;
    if (length > 3 && strcmp(name + length - 3, "_ns") == 0)
        (void)report_ns(text, median);
    else if (median >= 99950.0)
        (void)snprintf(text, sizeof text, "%.3g M", median / 1e6);
    else
        (void)snprintf(text, sizeof text, median >= 1000.0 ? "%.0f" : "%.3g", median);
    (void)snprintf(own->cells[own->rows][column], CELL_MAX, "%s", text);
}

static void table_row(table *own, const case_result *one, const char *const *figures)
{
    (void)snprintf(own->cells[own->rows][0], CELL_MAX, "%s%s%s", one->what->name,
                   one->disturbed > 0 ? " *" : "", one->complete ? "" : " (incomplete)");
    for (uint32_t i = 1; i < own->columns; i++)
        table_figure(own, i, one, figures[i]);
    own->rows++;
}

/* ---- printing ------------------------------------------------------------------------------ */

static void table_print_text(const table *own, FILE *out)
{
    for (uint32_t r = 0; r < own->rows; r++) {
        for (uint32_t c = 0; c < own->columns; c++) {
            size_t width = 0;
            for (uint32_t k = 0; k < own->rows; k++) {
                size_t length = strlen(own->cells[k][c]);
                width = length > width ? length : width;
            }
            (void)fprintf(out, c == 0 ? "%-*s" : "  %*s", (int)width, own->cells[r][c]);
        }
        (void)fputs("\n", out);
    }
}

static void table_print_markdown(const table *own, FILE *out)
{
    for (uint32_t r = 0; r < own->rows; r++) {
        for (uint32_t c = 0; c < own->columns; c++)
            (void)fprintf(out, "| %s ", own->cells[r][c]);
        (void)fputs("|\n", out);
        for (uint32_t c = 0; r == 0 && c < own->columns; c++)
            (void)fputs(c == 0 ? "| --- " : "| ---: ", out);
        if (r == 0)
            (void)fputs("|\n", out);
    }
}

static void table_end(table *own, FILE *out, bool markdown, const char *title)
{
    if (own->rows > 1) {
        (void)fprintf(out, markdown ? "\n## %s\n\n" : "\n%s\n\n", title);
        if (markdown)
            table_print_markdown(own, out);
        else
            table_print_text(own, out);
    }
    free(own->cells);
}

/* ---- the tables ---------------------------------------------------------------------------- */

static void table_latency(const report *own, FILE *out, bool markdown)
{
    static const char *const head[] = {"case", "p50",       "p90",         "p99",        "p99.9",
                                       "max",  "ready p50", "ready p99.9", "restarts/s", "missed"};
    static const char *const figures[] = {
        "",       "p50_ns",       "p90_ns",         "p99_ns",         "p99.9_ns",
        "max_ns", "ready_p50_ns", "ready_p99.9_ns", "restarts_per_s", "missed"};
    table all;
    table_init(&all, own->count, head, sizeof head / sizeof head[0]);
    for (uint32_t i = 0; i < own->count; i++) {
        if (!own->results[i].what->storm)
            table_row(&all, &own->results[i], figures);
    }
    table_end(&all, out, markdown,
              "Latency: from the failing call to the next message; ready: to the last start");
}

/* `what` of the phases: "mean", which add up, or "p50", which need not. */
static void table_phases(const report *own, FILE *out, bool markdown, const char *what,
                         const char *title)
{
    const char *head[PHASES + 4] = {"case"};
    const char *figures[PHASES + 4] = {""};
    char names[PHASES + 1][2 * NAME_MAX_];
    table all;
    for (uint32_t i = 0; i <= PHASES; i++) {
        const char *name = i < PHASES ? phase_names[i] : "recorded";
        (void)snprintf(names[i], sizeof names[i], "%s_%s_ns", name, what);
        head[i + 1] = i < PHASES ? name : "failure to message";
        figures[i + 1] = names[i];
    }
    head[PHASES + 2] = "p50, no recorder";
    figures[PHASES + 2] = "p50_ns";
    table_init(&all, own->count, head, PHASES + 3);
    for (uint32_t i = 0; i < own->count; i++) {
        if (result_find(&own->results[i], "recorded_mean_ns") != NULL)
            table_row(&all, &own->results[i], figures);
    }
    table_end(&all, out, markdown, title);
}

static void table_storms(const report *own, FILE *out, bool markdown)
{
    static const char *const head[] = {
        "case",       "calm p50",    "p50",   "calm p99.9",        "p99.9",    "storm/calm", "max",
        "sick p99.9", "rebuilt p50", "p99.9", "sender late p99.9", "failures", "messages"};
    static const char *const figures[] = {"",
                                          "calm_p50_ns",
                                          "p50_ns",
                                          "calm_p99.9_ns",
                                          "p99.9_ns",
                                          "p99.9_over_calm",
                                          "max_ns",
                                          "sick_p99.9_ns",
                                          "rebuilt_p50_ns",
                                          "rebuilt_p99.9_ns",
                                          "late_p99.9_ns",
                                          "failures",
                                          "messages"};
    table all;
    table_init(&all, own->count, head, sizeof head / sizeof head[0]);
    for (uint32_t i = 0; i < own->count; i++) {
        if (own->results[i].what->storm)
            table_row(&all, &own->results[i], figures);
    }
    table_end(&all, out, markdown,
              "Storms: healthy siblings, from when a message was due to its handler");
}

static void report_head(const report *own, FILE *out, bool markdown)
{
    char cost[32];
    char cpu[256];
    struct utsname kernel = {.release = ""};
    uint32_t least = own->count > 0 ? own->results[0].workers : 0;
    uint32_t most = least;
    bool disturbed = false;
    for (uint32_t i = 0; i < own->count; i++) {
        uint32_t workers = own->results[i].workers;
        least = workers < least ? workers : least;
        most = workers > most ? workers : most;
        disturbed = disturbed || own->results[i].disturbed > 0;
    }
    if (markdown)
        (void)fputs("# Restart benchmark\n\n"
                    "Written by `axo-restart-bench`; [RESTART.md](RESTART.md) says what each "
                    "figure is.\n\n",
                    out);
    (void)fprintf(out, "%saxo %s, commit %s, %s, %s build\n", markdown ? "- " : "", axo_version(),
                  own->commit, BENCH_COMPILER, BENCH_VARIANT);
    machine_cpu(cpu);
    (void)uname(&kernel); /* else "" */
    (void)fprintf(out, "%s%s, %d processors, %s %s\n", markdown ? "- " : "", cpu, machine_cpus(),
                  kernel.sysname, kernel.release);
    (void)fprintf(out, "%sworkers: %" PRIu32, markdown ? "- " : "", least);
    if (most != least)
        (void)fprintf(out, " to %" PRIu32, most);
    (void)fprintf(out,
                  "; medians of %" PRIu32 " runs of %.3g s, each in a fresh system after %.3g s "
                  "to warm up\n%sclock: %s, a reading costs %s; nothing is subtracted\n",
                  own->plan->repeats, own->plan->duration, own->plan->warmup, markdown ? "- " : "",
                  own->gauge->source, report_ns(cost, own->gauge->cost_ns));
    if (markdown)
        (void)fprintf(out, "- command: `axo-restart-bench%s`\n", own->plan->command);
    if (disturbed)
        (void)fprintf(out,
                      "%s*: other processes used more than %.0f %% of the processors meanwhile: "
                      "not for quoting\n",
                      markdown ? "- \\" : "", BENCH_FOREIGN_MAX * 100.0);
    if (!own->complete)
        (void)fprintf(out, "%sincomplete: it was interrupted\n", markdown ? "- " : "");
}

void report_tables(const report *own, FILE *out, bool markdown)
{
    report_head(own, out, markdown);
    table_latency(own, out, markdown);
    table_phases(own, out, markdown, "p50", "Phases, with the recorder: medians");
    table_phases(own, out, markdown, "mean", "Phases, with the recorder: means, which add up");
    table_storms(own, out, markdown);
    if (!markdown)
        (void)fputs("\n", out);
}
