/* options.c - the command line: what each option may be. */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

_Noreturn void options_bad(const char *format, ...)
{
    va_list arguments;
    (void)fputs("axo-restart-bench: ", stderr);
    va_start(arguments, format);
    (void)vfprintf(stderr, format, arguments);
    va_end(arguments);
    (void)fputs("\naxo-restart-bench --help lists the options\n", stderr);
    exit(2);
}

/* ---- values -------------------------------------------------------------------------------- */

static double number_read(const char *option, const char *text, double least, double most,
                          bool whole)
{
    char *end = NULL;
    errno = 0;
    double value = strtod(text, &end);
    bool plain =
        text[0] != '\0' && strspn(text, whole ? "0123456789" : "0123456789.") == strlen(text);
    if (!plain || *end != '\0' || errno != 0 || value < least || value > most)
        options_bad("--%s: \"%s\" is no %s from %.10g to %.10g", option, text,
                    whole ? "whole number" : "number", least, most);
    return value;
}

static double word_read(const char *option, const char *text, const char *const *words,
                        uint32_t count)
{
    char all[128] = "";
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(text, words[i]) == 0)
            return i;
        (void)strcat(strcat(all, i == 0 ? "" : ", "), words[i]);
    }
    options_bad("--%s: \"%s\" is none of: %s", option, text, all);
}

/* An option that takes several values, with commas between. */
typedef struct list_option {
    const char *name;
    size_t offset;            /* of its list in wishes */
    const char *const *words; /* or numbers: */
    uint32_t words_count;
    bool whole;
    double least;
    double most;
} list_option;

#define LIST_WORDS(field, words)                                                                   \
    {                                                                                              \
#field, offsetof(wishes, field), words, sizeof words / sizeof words[0], false, 0, 0        \
    }
#define LIST_NUMBERS(field, whole, least, most)                                                    \
    {                                                                                              \
#field, offsetof(wishes, field), NULL, 0, whole, least, most                               \
    }

static const list_option list_options[] = {
    LIST_WORDS(mode, restart_modes),
    LIST_WORDS(how, restart_hows),
    LIST_WORDS(family, families),
    LIST_WORDS(scope, scopes),
    LIST_NUMBERS(depth, true, 1, 10000),
    LIST_NUMBERS(children, true, 0, 1000000),
    LIST_NUMBERS(siblings, true, 0, 1000000),
    LIST_NUMBERS(queue, true, 1, 1000000),
    LIST_NUMBERS(storm, false, 0, PLAN_STORM_MAX),
    LIST_NUMBERS(rate, false, 0.1, 10000000),
    LIST_NUMBERS(burn, true, 0, 1000000),
    LIST_NUMBERS(burners, true, 1, 1000000),
};
#define LIST_OPTIONS (sizeof list_options / sizeof list_options[0])

static const list_option *list_option_of(const char *name)
{
    for (size_t i = 0; i < LIST_OPTIONS; i++) {
        if (strcmp(list_options[i].name, name) == 0)
            return &list_options[i];
    }
    return NULL;
}

static list *list_of(wishes *all, const list_option *option)
{
    return (list *)(void *)((char *)all + option->offset);
}

void options_list_read(wishes *all, const char *name, const char *text)
{
    const list_option *option = list_option_of(name);
    if (option == NULL)
        options_bad("--%s is unknown", name);
    list *values = list_of(all, option);
    char word[64];
    values->count = 0;
    for (const char *at = text;; at++) {
        size_t length = strcspn(at, ",");
        if (length >= sizeof word)
            options_bad("--%s: \"%s\" is too long", name, at);
        (void)snprintf(word, sizeof word, "%.*s", (int)length, at);
        if (values->count == LIST_MAX)
            options_bad("--%s: more than %d values", name, LIST_MAX);
        values->values[values->count++] =
            option->words != NULL
                ? word_read(name, word, option->words, option->words_count)
                : number_read(name, word, option->least, option->most, option->whole);
        at += length;
        if (*at == '\0')
            return;
    }
}

/* ---- where the results go ------------------------------------------------------------------ */

static bool is_folder(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

/* A folder that is there and can be written, or can be made: the first of its parents that is there
 * can be written. */
static void check_folder(const char *option, const char *path)
{
    char parent[4096];
    struct stat about;
    if (path[0] == '\0' || strlen(path) > sizeof parent - 512)
        options_bad("--%s: \"%s\" is no folder", option, path);
    (void)snprintf(parent, sizeof parent, "%s", path);
    while (stat(parent, &about) != 0) {
        char *slash = strrchr(parent, '/');
        if (errno != ENOENT)
            options_bad("--%s: %s: %s", option, parent, strerror(errno));
        if (slash == NULL)
            (void)strcpy(parent, ".");
        else
            slash[slash == parent] = '\0';
    }
    if (!S_ISDIR(about.st_mode))
        options_bad("--%s: %s is no folder", option, parent);
    if (access(parent, W_OK | X_OK) != 0)
        options_bad("--%s: cannot write in %s: %s", option, parent, strerror(errno));
}

/* A file that is not there or is an ordinary one, in a folder that can be written. */
static void check_file(const char *option, const char *path)
{
    char folder[4096];
    struct stat about;
    if (strcmp(path, "-") == 0)
        return;
    if (path[0] == '\0' || strlen(path) > sizeof folder - 512)
        options_bad("--%s: \"%s\" is no file", option, path);
    if (stat(path, &about) == 0 && !S_ISREG(about.st_mode))
        options_bad("--%s: %s is no ordinary file", option, path);
    (void)snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    if (slash == NULL)
        (void)strcpy(folder, ".");
    else
        slash[slash == folder] = '\0';
    if (!is_folder(folder))
        options_bad("--%s: there is no folder %s", option, folder);
    if (access(folder, W_OK | X_OK) != 0)
        options_bad("--%s: cannot write in %s: %s", option, folder, strerror(errno));
}

static bool on_path(const char *program)
{
    char path[4096];
    const char *folders = getenv("PATH");
    for (const char *at = folders; at != NULL && *at != '\0';) {
        size_t length = strcspn(at, ":");
        (void)snprintf(path, sizeof path, "%.*s/%s", (int)length, at, program);
        if (access(path, X_OK) == 0)
            return true;
        at += length + (at[length] == ':');
    }
    return false;
}

static void check_targets(plan *own)
{
    const struct {
        const char *name;
        const char *path;
    } files[] = {
        {"json", own->json}, {"csv", own->csv}, {"markdown", own->markdown}, {"marks", own->marks}};
    uint32_t outputs = 0;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        if (files[i].path == NULL)
            continue;
        check_file(files[i].name, files[i].path);
        outputs += strcmp(files[i].path, "-") == 0;
    }
    if (outputs > 1)
        options_bad("only one of --json, --csv, --markdown and --marks can be standard output");
    if (own->percentiles != NULL)
        check_folder("percentiles", own->percentiles);
    if (own->plots != NULL)
        check_folder("plots", own->plots);
    if (own->out != NULL)
        check_folder("out", own->out);
    if (own->plots != NULL && !on_path("gnuplot"))
        options_bad("--plots: there is no gnuplot on PATH");
    own->plots_if = own->out != NULL && on_path("gnuplot");
    if (own->marks != NULL && !own->phases)
        options_bad("--marks: --no-phases leaves none to write");
}

/* ---- the command line ---------------------------------------------------------------------- */

static const char help_text[] =
    "usage: axo-restart-bench [option...]\n"
    "Measures how long an actor that failed takes to handle its next message, in what phases, and\n"
    "what others notice of it. bench/RESTART.md says what each figure is.\n"
    "\n"
    "What fails; LIST is one value or more with commas, and every combination is a case:\n"
    "  --mode LIST        hot, paced, loaded: back to back; at a rate on an idle system; at a "
    "rate\n"
    "                     beside actors that keep all workers busy (hot)\n"
    "  --how LIST         status, fail, throw: a returned status, axo_fail, axo_throw; segv, "
    "abort:\n"
    "                     a crash, contained; stuck: a loop that is interrupted; kill: an actor\n"
    "                     in a process of its own, which is killed (status)\n"
    "  --depth LIST       the supervisor that decides is so far above; those between escalate (1)\n"
    "  --children LIST    of the failing actor (0)\n"
    "  --family LIST      keep, remake: what is below survives, or is stopped and made anew "
    "(keep)\n"
    "  --siblings LIST    other children of the deciding supervisor (0; storms: 100)\n"
    "  --scope LIST       one, all, rest: whom it restarts (one)\n"
    "  --queue LIST       messages behind the failing one (1)\n"
    "  --storm LIST       percent of messages that fail, among siblings of which one half never\n"
    "                     does: what that half notices. 0 to 50; instead of the shapes above\n"
    "  --suite NAME       report, reference, crashes, quick: a set of cases, instead of all of\n"
    "                     the above\n"
    "  --rate N           failures a second (paced 1000, loaded 10000, fewer if each touches\n"
    "                     many); storms: messages a second (50000)\n"
    "  --burners N        loaded: actors that are always ready (10000)\n"
    "  --burn NS          storms: work of one message (1000)\n"
    "\n"
    "How it is measured:\n"
    "  --workers N        worker threads; 0: the library's default; a storm leaves one processor\n"
    "                     to its sender (0)\n"
    "  --duration S       of a run; a storm's: of the calm and of the storm each (1)\n"
    "  --total S          instead: so much for all runs together\n"
    "  --at-least N       a run goes on beyond its time, by half a minute at most, until so many\n"
    "                     restarts are measured (1)\n"
    "  --warmup S         before each run, not measured (0.2)\n"
    "  --repeats N        runs of each case, each in a fresh system (5)\n"
    "  --seed N           of all chance (1)\n"
    "  --no-phases        no second run with the recorder, that tells the phases\n"
    "\n"
    "Where it goes; a table always goes to standard output, or to standard error if a file is -.\n"
    "Files are written when all is measured, whole or not at all:\n"
    "  --json FILE        a line a case        --csv FILE        a line a figure\n"
    "  --markdown FILE    a page for people    --marks FILE      each restart's marks, CSV\n"
    "  --percentiles DIR  HdrHistogram's text  --plots DIR       SVG and PNG, by gnuplot\n"
    "  --out DIR          all but the marks, as restart.*; plots if there is a gnuplot\n"
    "  --list             only prints the cases' names\n"
    "  --progress         says how far it is, also if standard error is no terminal\n"
    "  --help  --version\n"
    "\n"
    "Exit code: 0 measured; 1 the sums disagree, nothing to measure, or a file cannot be written;\n"
    "2 a bad option; 130 interrupted: what was measured so far is written, marked incomplete.\n";

enum {
    OPTION_LIST = 256, /* and the index in list_options */
    OPTION_WORKERS = 512,
    OPTION_DURATION,
    OPTION_TOTAL,
    OPTION_WARMUP,
    OPTION_REPEATS,
    OPTION_SEED,
    OPTION_AT_LEAST,
    OPTION_SUITE,
    OPTION_NO_PHASES,
    OPTION_JSON,
    OPTION_CSV,
    OPTION_MARKDOWN,
    OPTION_MARKS,
    OPTION_PERCENTILES,
    OPTION_PLOTS,
    OPTION_OUT,
    OPTION_ONLY_LIST,
    OPTION_PROGRESS,
    OPTION_HELP,
    OPTION_VERSION
};

static const struct option plain_options[] = {
    {"workers", required_argument, NULL, OPTION_WORKERS},
    {"duration", required_argument, NULL, OPTION_DURATION},
    {"total", required_argument, NULL, OPTION_TOTAL},
    {"warmup", required_argument, NULL, OPTION_WARMUP},
    {"repeats", required_argument, NULL, OPTION_REPEATS},
    {"at-least", required_argument, NULL, OPTION_AT_LEAST},
    {"seed", required_argument, NULL, OPTION_SEED},
    {"suite", required_argument, NULL, OPTION_SUITE},
    {"no-phases", no_argument, NULL, OPTION_NO_PHASES},
    {"json", required_argument, NULL, OPTION_JSON},
    {"csv", required_argument, NULL, OPTION_CSV},
    {"markdown", required_argument, NULL, OPTION_MARKDOWN},
    {"marks", required_argument, NULL, OPTION_MARKS},
    {"percentiles", required_argument, NULL, OPTION_PERCENTILES},
    {"plots", required_argument, NULL, OPTION_PLOTS},
    {"out", required_argument, NULL, OPTION_OUT},
    {"list", no_argument, NULL, OPTION_ONLY_LIST},
    {"progress", no_argument, NULL, OPTION_PROGRESS},
    {"help", no_argument, NULL, OPTION_HELP},
    {"version", no_argument, NULL, OPTION_VERSION},
};
#define PLAIN_OPTIONS (sizeof plain_options / sizeof plain_options[0])

/* A number, or where something goes, or what ends the program. */
static void option_take(plan *own, wishes *all, int which)
{
    switch (which) {
    case OPTION_WORKERS:
        own->workers = (uint32_t)number_read("workers", optarg, 0, AXO_WORKERS_MAX, true);
        return;
    case OPTION_DURATION:
        own->duration = number_read("duration", optarg, 0.01, 3600, false);
        all->duration = true;
        return;
    case OPTION_TOTAL:
        all->total = number_read("total", optarg, 0.01, 86400, false);
        return;
    case OPTION_WARMUP:
        own->warmup = number_read("warmup", optarg, 0, 3600, false);
        return;
    case OPTION_REPEATS:
        own->repeats = (uint32_t)number_read("repeats", optarg, 1, PLAN_REPEATS_MAX, true);
        return;
    case OPTION_AT_LEAST:
        own->at_least = (uint32_t)number_read("at-least", optarg, 1, 1000000, true);
        return;
    case OPTION_SEED:
        own->seed = (uint64_t)number_read("seed", optarg, 1, 9007199254740992.0, true);
        return;
    case OPTION_HELP:
        (void)fputs(help_text, stdout);
        exit(0);
    case OPTION_VERSION:
        (void)printf("axo-restart-bench %s\n", axo_version());
        exit(0);
    default:
        return;
    }
}

static void option_target(plan *own, wishes *all, int which)
{
    const struct {
        int which;
        const char **path;
    } targets[] = {{OPTION_JSON, &own->json},
                   {OPTION_CSV, &own->csv},
                   {OPTION_MARKDOWN, &own->markdown},
                   {OPTION_MARKS, &own->marks},
                   {OPTION_PERCENTILES, &own->percentiles},
                   {OPTION_PLOTS, &own->plots},
                   {OPTION_OUT, &own->out},
                   {OPTION_SUITE, &all->suite}};
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        if (targets[i].which == which)
            *targets[i].path = optarg;
    }
    own->phases = own->phases && which != OPTION_NO_PHASES;
    own->list = own->list || which == OPTION_ONLY_LIST;
    own->progress = own->progress || which == OPTION_PROGRESS;
}

/* Keeps the options that say what is measured; where the results go is nobody else's business. */
static void command_keep(plan *own, const char *name, const char *value, int which)
{
    size_t at = strlen(own->command);
    bool place = (which >= OPTION_JSON && which <= OPTION_OUT) || which == OPTION_PROGRESS;
    if (!place)
        (void)snprintf(own->command + at, sizeof own->command - at, " --%s%s%s", name,
                       value != NULL ? " " : "", value != NULL ? value : "");
}

void plan_read(plan *own, int argc, char **argv)
{
    struct option options[LIST_OPTIONS + PLAIN_OPTIONS + 1] = {{0}};
    wishes all = {.total = 0.0};
    int which;
    int index = 0;
    for (size_t i = 0; i < LIST_OPTIONS; i++)
        options[i] =
            (struct option){list_options[i].name, required_argument, NULL, OPTION_LIST + (int)i};
    memcpy(options + LIST_OPTIONS, plain_options, sizeof plain_options);
    *own = (plan){.repeats = 5,
                  .duration = 1.0,
                  .warmup = 0.2,
                  .seed = 1,
                  .at_least = 1,
                  .phases = true,
                  .progress = isatty(STDERR_FILENO) == 1};
    opterr = 0;
    while ((which = getopt_long(argc, argv, "+:", options, &index)) != -1) {
        if (which == ':')
            options_bad("%s: needs a value", argv[optind - 1]);
        if (which == '?')
            options_bad("%s: no such option, or one that takes no value", argv[optind - 1]);
        if (which >= OPTION_LIST && which < OPTION_LIST + (int)LIST_OPTIONS)
            options_list_read(&all, list_options[which - OPTION_LIST].name, optarg);
        command_keep(own, options[index].name, optarg, which);
        option_take(own, &all, which);
        option_target(own, &all, which);
    }
    if (optind < argc)
        options_bad("\"%s\": everything is an option", argv[optind]);
    if (all.duration && all.total > 0.0)
        options_bad("--total and --duration: one of them");
    options_cases(own, &all);
    check_targets(own);
}
