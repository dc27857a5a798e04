/* lines.c - the results for programs: JSON lines, CSV, marks, percentile text. */
#include "report.h"

static const char *unit_of(const char *name)
{
    static const struct {
        const char *end;
        const char *unit;
    } units[] = {{"_ns", "ns"}, {"_per_s", "1/s"}, {"_mib", "MiB"}, {"_over_calm", "ratio"}};
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        size_t end = strlen(units[i].end);
        if (length > end && strcmp(name + length - end, units[i].end) == 0)
            return units[i].unit;
    }
    return "1";
}

static void json_spread(FILE *out, const case_figure *one)
{
    case_spread of = figure_spread(one);
    (void)fprintf(out, "\"better\":\"%s\",\"median\":%.9g,\"min\":%.9g,\"max\":%.9g",
                  one->less ? "less" : "more", of.median, of.least, of.most);
}

static void json_line(const report *own, const case_result *one, FILE *out)
{
    const case_figure *main_figure = result_find(one, result_main(one));
    const char *comma = "";
    (void)fprintf(out, "{\"bench\":\"%s\",\"unit\":\"%s\",",
                  one->what->storm ? "restart-storm" : "restart", unit_of(main_figure->name));
    json_spread(out, main_figure);
    (void)fprintf(out,
                  ",\"repeats\":%" PRIu32 ",\"disturbed\":%" PRIu32 ",\"complete\":%s"
                  ",\"peak_rss_bytes\":%" PRIu64 ",\"workers\":%" PRIu32 ",\"values\":{",
                  one->runs, one->disturbed, one->complete ? "true" : "false", one->peak_bytes,
                  one->workers);
    for (uint32_t i = 0; i < one->figures_count; i++) {
        (void)fprintf(out, "%s\"%s\":{", comma, one->figures[i].name);
        json_spread(out, &one->figures[i]);
        (void)fputs("}", out);
        comma = ",";
    }
    (void)fputs("}", out);
    bench_json_counters(out, &one->stats);
    (void)fputs(",\"options\":{", out);
    plan_case_json(own->plan, one->what, out);
    (void)fprintf(out, ",\"clock\":\"%s\",\"clock_cost_ns\":%.1f},\"machine\":{",
                  own->gauge->source, own->gauge->cost_ns);
    machine_json(out);
    (void)fputs("},\"build\":{", out);
    machine_build_json(out);
    (void)fprintf(out, "},\"commit\":\"%s\"}\n", own->commit);
}

void report_json(const report *own, FILE *out)
{
    for (uint32_t i = 0; i < own->count; i++)
        json_line(own, &own->results[i], out);
}

void report_csv(const report *own, FILE *out)
{
    (void)fputs("case,figure,unit,better,median,min,max,runs,disturbed,complete,workers,variant,"
                "commit\n",
                out);
    for (uint32_t i = 0; i < own->count; i++) {
        const case_result *one = &own->results[i];
        for (uint32_t k = 0; k < one->figures_count; k++) {
            const case_figure *it = &one->figures[k];
            case_spread of = figure_spread(it);
            (void)fprintf(
                out, "%s,%s,%s,%s,%.9g,%.9g,%.9g,%" PRIu32 ",%" PRIu32 ",%d,%" PRIu32 ",%s,%s\n",
                one->what->name, it->name, unit_of(it->name), it->less ? "less" : "more", of.median,
                of.least, of.most, it->runs, one->disturbed, one->complete, one->workers,
                BENCH_VARIANT, own->commit);
        }
    }
}

void report_marks(const report *own, FILE *out)
{
    (void)fputs("case,restart,failure,suspended,decided,cleared,rebuilt,message\n", out);
    for (uint32_t i = 0; i < own->count; i++) {
        const case_result *one = &own->results[i];
        for (uint32_t k = 0; k < one->rows_count; k++) {
            (void)fprintf(out, "%s,%" PRIu32, one->what->name, k);
            for (uint32_t m = 0; m < MARKS; m++)
                (void)fprintf(out, ",%" PRId64, one->rows[k].marks[m]);
            (void)fputs("\n", out);
        }
    }
}

void report_percentiles(const report *own, files *out, const char *folder)
{
    char path[FILES_PATH];
    files_folder(out, folder);
    for (uint32_t i = 0; i < own->count; i++) {
        const case_result *one = &own->results[i];
        for (uint32_t k = 0; k < one->times_count; k++) {
            const case_times *it = &one->times[k];
            (void)snprintf(path, sizeof path, "%s/%s%s%s.hgrm", folder, one->what->name,
                           it->name[0] == '\0' ? "" : "-", it->name);
            histogram_print(it->all, files_open(out, path));
            files_close(out);
        }
    }
}
