/* answer.c - what a console answers: the tree, an actor, counters, health, figures, sections. */
#include "answer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <axo/find.h>
#include <axo/health.h>
#include <axo/inspect.h>
#include <axo/metrics.h>

#define ANSWER_PATH      2048 /* bytes of a path that is read or shown */
#define ANSWER_LEVELS    64   /* of a tree */
#define ANSWER_MAX       500  /* actors, if it is not said */
#define ANSWER_WITHIN_MS 3600000

#define ANSWER_JSON "application/json"
#define ANSWER_TEXT "text/plain; charset=utf-8"

typedef struct answer_row {
    axo_ref ref;
    uint32_t path; /* where it begins in `paths` */
} answer_row;

/* What is known of a tree: its rows, and their paths, each ended by a zero. */
typedef struct answer_tree {
    axo_ref *refs;
    answer_row *rows;
    uint32_t max;
    uint32_t count;
    bool more;
    console_text paths;
} answer_tree;

static unsigned answer_error(console_text *text, const char **type, unsigned code, const char *why)
{
    *type = ANSWER_TEXT;
    text->size = 0;
    console_printf(text, "%s\n", why);
    return code;
}

/* 1..most; 0: it is no such number. */
static uint32_t answer_number(const char *text, uint32_t most)
{
    char *end = NULL;
    if (text[0] < '0' || text[0] > '9' || strlen(text) > 10)
        return 0;
    unsigned long long number = strtoull(text, &end, 10);
    return *end == 0 && number <= most ? (uint32_t)number : 0;
}

/* In ms, with a point whatever the locale is. */
static void answer_put_ms(console_text *text, const char *before, int64_t ns)
{
    uint64_t us = ns > 0 ? (uint64_t)ns / 1000 : 0;
    console_printf(text, "%s%" PRIu64 ".%03" PRIu64, before, us / 1000, us % 1000);
}

/* ---- one actor ---- */

static void answer_put_actor(console_text *text, const axo_actor_info *info, const char *path)
{
    static const char *const counted[] = {"none", "part", "all"};
    char waits_for[ANSWER_PATH];
    console_printf(text, "{\"path\":");
    console_quote(text, path);
    console_printf(text, ",\"class\":");
    console_quote(text, info->class_name);
    console_printf(text,
                   ",\"doing\":\"%s\",\"queued\":%" PRIu32
                   ",\"counted\":\"%s\",\"stashed\":%" PRIu32 ",\"suspends\":%" PRIu32
                   ",\"instance\":%" PRIu32 ",\"restarts\":%" PRIu32,
                   axo_doing_name(info->doing), info->queued,
                   info->counted <= AXO_COUNTED_ALL ? counted[info->counted] : "?", info->stashed,
                   info->suspends, info->instance, info->instance > 0 ? info->instance - 1 : 0);
    if (info->doing == AXO_DOING_RUNNING)
        answer_put_ms(text, ",\"for_ms\":", info->since_ns);
    if (info->has_tag) {
        console_printf(text, ",\"tag\":%" PRIu32 ",\"tag_name\":", info->tag);
        console_quote(text, info->tag_name);
    }
    if (axo_ref_is_none(info->waits_for))
        return;
    axo_status status = axo_system_path(text->system, info->waits_for, waits_for, sizeof waits_for);
    if (status != AXO_OK && status != AXO_ETOOBIG)
        return; /* it has ended meanwhile */
    console_printf(text, ",\"waits_for\":");
    console_quote(text, waits_for);
}

/* 0: the actor is there; else the status code of an error, which is written. */
static unsigned answer_find(console_text *text, const char **type, const char *path, axo_ref *ref)
{
    if (strlen(path) >= ANSWER_PATH)
        return answer_error(text, type, 400, "path: too long");
    axo_status status = axo_system_find(text->system, path, ref);
    if (status == AXO_OK)
        return 0;
    if (status == AXO_ENOENT)
        return answer_error(text, type, 404, "path: no actor is there");
    return answer_error(text, type, 400, "path: not the path of one actor, as /user/a is");
}

static unsigned answer_actor(const console_question *question, console_text *text,
                             const char **type)
{
    char path[ANSWER_PATH];
    axo_actor_info info = AXO_ACTOR_INFO();
    axo_ref ref;
    uint32_t children = 0;
    if (question->path == NULL)
        return answer_error(text, type, 400, "path: whose? /actor?path=/user/a");
    unsigned code = answer_find(text, type, question->path, &ref);
    if (code != 0)
        return code;
    if (axo_system_inspect(text->system, ref, axo_ref_none(), &info) != AXO_OK)
        return answer_error(text, type, 404, "path: no actor is there");
    (void)axo_system_path(text->system, ref, path, sizeof path);
    if (strlen(path) + 3 < sizeof path) {
        size_t length = strlen(path);
        memcpy(path + length, length == 1 ? "*" : "/*", length == 1 ? 2 : 3);
        (void)axo_system_find_all(text->system, path, NULL, 0, &children);
        path[length] = 0;
    }
    answer_put_actor(text, &info, path);
    console_printf(text, ",\"children\":%" PRIu32 "}\n", children);
    return 200;
}

/* ---- the tree ---- */

/* Parents before children, and a child's children before its sibling. */
static int answer_compare(const void *left, const void *right, void *paths)
{
    const char *base = ((const console_text *)paths)->data;
    const unsigned char *a = (const unsigned char *)base + ((const answer_row *)left)->path;
    const unsigned char *b = (const unsigned char *)base + ((const answer_row *)right)->path;
    while (*a == *b && *a != 0) {
        a++;
        b++;
    }
    int one = *a == '/' ? 1 : *a;
    int other = *b == '/' ? 1 : *b;
    return one - other;
}

static void answer_add(answer_tree *tree, axo_ref ref)
{
    char path[ANSWER_PATH];
    axo_status status = axo_system_path(tree->paths.system, ref, path, sizeof path);
    if (status != AXO_OK && status != AXO_ETOOBIG)
        return; /* it has ended meanwhile */
    answer_row row = {.ref = ref, .path = (uint32_t)tree->paths.size};
    console_put(&tree->paths, path, strlen(path) + 1);
    if (tree->paths.failed == AXO_OK)
        tree->rows[tree->count++] = row;
}

/* Level by level, for a pattern has as many segments as what it matches. */
static void answer_collect(answer_tree *tree, const char *path)
{
    char pattern[ANSWER_PATH + 2 * ANSWER_LEVELS];
    size_t length = strlen(path);
    memcpy(pattern, path, length + 1);
    for (uint32_t level = 0; level < ANSWER_LEVELS; level++) {
        uint32_t room = tree->max - tree->count;
        uint32_t found = 0;
        if (axo_system_find_all(tree->paths.system, pattern, tree->refs, room, &found) != AXO_OK ||
            found == 0)
            return;
        for (uint32_t i = 0; i < (found < room ? found : room); i++)
            answer_add(tree, tree->refs[i]);
        tree->more = tree->more || found > room;
        if (length == 1)
            length = 0;
        memcpy(pattern + length, "/*", 3);
        length += 2;
    }
    tree->more = true;
}

static void answer_put_tree(answer_tree *tree, console_text *text)
{
    bool first = true;
    qsort_r(tree->rows, tree->count, sizeof *tree->rows, answer_compare, &tree->paths);
    console_printf(text, "{\"system\":");
    console_quote(text, axo_system_name(text->system));
    answer_put_ms(text, ",\"now_ms\":", axo_system_now(text->system));
    console_printf(text, ",\"actors\":[");
    for (uint32_t i = 0; i < tree->count; i++) {
        axo_actor_info info = AXO_ACTOR_INFO();
        if (axo_system_inspect(text->system, tree->rows[i].ref, axo_ref_none(), &info) != AXO_OK)
            continue;
        console_put(text, first ? "\n" : ",\n", first ? 1 : 2);
        answer_put_actor(text, &info, tree->paths.data + tree->rows[i].path);
        console_put(text, "}", 1);
        first = false;
    }
    console_printf(text, "],\n\"more\":%s}\n", tree->more ? "true" : "false");
}

static unsigned answer_tree_of(const axo_console *settings, const console_question *question,
                               console_text *text, const char **type)
{
    const char *path = question->path != NULL ? question->path : "/";
    uint32_t most = settings->actors_max;
    uint32_t max = most < ANSWER_MAX ? most : ANSWER_MAX;
    axo_ref ref;
    if (question->max != NULL && (max = answer_number(question->max, most)) == 0)
        return answer_error(text, type, 400, "max: a number from 1 to the console's actors_max");
    unsigned code = answer_find(text, type, path, &ref);
    if (code != 0)
        return code;
    answer_tree tree = {.max = max, .paths = {.system = text->system, .max = text->max}};
    tree.refs = axo_system_alloc(text->system, max * sizeof *tree.refs);
    tree.rows = axo_system_alloc(text->system, max * sizeof *tree.rows);
    if (tree.refs == NULL || tree.rows == NULL) {
        text->failed = AXO_ENOMEM;
    } else {
        answer_collect(&tree, path);
        text->failed = tree.paths.failed;
        answer_put_tree(&tree, text);
    }
    console_text_free(&tree.paths);
    if (tree.refs != NULL)
        axo_system_free(text->system, tree.refs, max * sizeof *tree.refs);
    if (tree.rows != NULL)
        axo_system_free(text->system, tree.rows, max * sizeof *tree.rows);
    return 200;
}

/* ---- counters, health, figures ---- */

static unsigned answer_stats(console_text *text)
{
    axo_stats stats = AXO_STATS();
    (void)axo_system_stats(text->system, &stats);
    console_printf(text, "{\"system\":");
    console_quote(text, axo_system_name(text->system));
    console_printf(text, ",\"workers\":%" PRIu32, axo_system_workers(text->system));
    answer_put_ms(text, ",\"now_ms\":", axo_system_now(text->system));
#define ANSWER_STAT(name, kind, what) console_printf(text, ",\"" #name "\":%" PRIu64, stats.name);
    AXO_STATS_LIST(ANSWER_STAT)
#undef ANSWER_STAT
    console_printf(text, "}\n");
    return 200;
}

static unsigned answer_health(const axo_console *settings, const console_question *question,
                              console_text *text, const char **type)
{
    axo_health_report late = AXO_HEALTH_REPORT();
    char tag_name[AXO_INSPECT_NAME] = "";
    int64_t within = settings->within_ns;
    if (question->within_ms != NULL) {
        within = INT64_C(1000000) * answer_number(question->within_ms, ANSWER_WITHIN_MS);
        if (within == 0)
            return answer_error(text, type, 400, "within_ms: a number from 1 to 3600000");
    }
    axo_status status = axo_health(text->system, within, &late);
    if (status == AXO_OK) {
        answer_put_ms(text, "{\"good\":true,\"within_ms\":", within);
        console_printf(text, "}\n");
        return 200;
    }
    if (status != AXO_ETIMEDOUT) {
        text->failed = AXO_ENOMEM;
        return 503;
    }
    answer_put_ms(text, "{\"good\":false,\"within_ms\":", within);
    console_printf(text, ",\"late\":%" PRIu32 ",\"path\":", late.count);
    console_quote(text, late.path);
    answer_put_ms(text,
                  late.why == AXO_HEALTH_CALLBACK ? ",\"why\":\"callback\",\"for_ms\":"
                                                  : ",\"why\":\"waiting\",\"for_ms\":",
                  late.for_ns);
    if (late.has_tag) {
        (void)axo_system_tag_name(text->system, late.actor, late.tag, tag_name, sizeof tag_name);
        console_printf(text, ",\"tag\":%" PRIu32 ",\"tag_name\":", late.tag);
        console_quote(text, tag_name);
    }
    console_printf(text, "}\n");
    return 503;
}

static axo_status answer_write(void *user, const char *piece, size_t size)
{
    console_text *text = user;
    console_put(text, piece, size);
    return text->failed;
}

/* What has no room or no memory is answered as all that has not. */
static unsigned answer_section_failed(console_text *text, const char **type,
                                      const axo_console_section *section, axo_status status)
{
    if (text->failed != AXO_OK)
        return 200;
    if (status == AXO_ENOMEM || status == AXO_ETOOBIG) {
        text->failed = status;
        return 200;
    }
    *type = ANSWER_TEXT;
    text->size = 0;
    console_printf(text, "%s: %s\n", section->name, axo_status_text(status));
    return 500;
}

static unsigned answer_metrics(const axo_console *settings, const console_question *question,
                               console_text *text, const char **type)
{
    *type = question->openmetrics ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                                  : "text/plain; version=0.0.4; charset=utf-8";
    uint32_t format = question->openmetrics ? AXO_METRICS_OPENMETRICS : AXO_METRICS_PROMETHEUS;
    for (uint32_t i = 0; i < settings->sections_count; i++) {
        const axo_console_section *section = settings->sections[i];
        axo_status status = AXO_OK;
        if (section->metrics != NULL)
            status = section->metrics(section->user, format, answer_write, text);
        if (status != AXO_OK)
            return answer_section_failed(text, type, section, status);
    }
    (void)axo_metrics_write(text->system, format, answer_write, text);
    return 200;
}

static unsigned answer_sections(const axo_console *settings, console_text *text)
{
    console_put(text, "[", 1);
    for (uint32_t i = 0; i < settings->sections_count; i++) {
        console_put(text, ",", i > 0);
        console_quote(text, settings->sections[i]->name);
    }
    console_put(text, "]\n", 2);
    return 200;
}

static unsigned answer_section(const axo_console_section *section, console_text *text,
                               const char **type)
{
    axo_status status = section->json(section->user, answer_write, text);
    return status == AXO_OK ? 200 : answer_section_failed(text, type, section, status);
}

/* NULL: none has the page. */
static const axo_console_section *answer_section_at(const axo_console *settings, const char *url)
{
    for (uint32_t i = 0; i < settings->sections_count; i++) {
        if (url[0] == '/' && strcmp(settings->sections[i]->name, url + 1) == 0)
            return settings->sections[i];
    }
    return NULL;
}

unsigned console_answer(const axo_console *settings, const console_question *question,
                        console_text *text, const char **type)
{
    const char *url = question->url;
    *type = ANSWER_JSON;
    if (strcmp(url, "/tree") == 0)
        return answer_tree_of(settings, question, text, type);
    if (strcmp(url, "/actor") == 0)
        return answer_actor(question, text, type);
    if (strcmp(url, "/stats") == 0)
        return answer_stats(text);
    if (strcmp(url, "/health") == 0)
        return answer_health(settings, question, text, type);
    if (strcmp(url, "/metrics") == 0)
        return answer_metrics(settings, question, text, type);
    if (strcmp(url, "/sections") == 0)
        return answer_sections(settings, text);
    const axo_console_section *section = answer_section_at(settings, url);
    if (section != NULL)
        return answer_section(section, text, type);
    if (strcmp(url, "/") != 0)
        return answer_error(text, type, 404,
                            "here are / /tree /actor /stats /health /metrics /sections, what that "
                            "names, and nothing else");
    *type = "text/html; charset=utf-8";
    return CONSOLE_PAGE;
}
