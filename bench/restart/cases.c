/* cases.c - the cases of a plan: each value of each list with each, or a suite. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "killed.h"
#include "options.h"

/* The values of a list, or the one that stands for none. */
static list list_or(const list *given, double otherwise)
{
    list one = {.values = {otherwise}, .count = 1};
    return given->count > 0 ? *given : one;
}

static double first_or(const list *given, const char *name, double otherwise)
{
    if (given->count > 1)
        options_bad("--%s: takes one value", name);
    return given->count == 1 ? given->values[0] : otherwise;
}

/* Of a suite: options by name, as on the command line. */
typedef struct suite_part {
    const char *suite;
    const char *options[12]; /* name, value, ..., NULL */
} suite_part;

static const suite_part suites[] = {
    {"report", {"mode", "hot,paced,loaded", "how", "status,fail,throw"}},
    {"report", {"mode", "hot,paced,loaded", "how", "fail", "children", "10,1000"}},
    {"reference", {"mode", "hot,paced,loaded", "how", "status,throw"}},
    {"reference", {"mode", "hot", "children", "10,1000", "family", "keep,remake"}},
    {"reference", {"mode", "hot", "depth", "2,10,100", "family", "keep,remake"}},
    {"reference", {"mode", "hot", "siblings", "100", "scope", "one,all"}},
    {"reference", {"mode", "hot", "queue", "100,10000"}},
    {"reference", {"mode", "paced,loaded", "children", "1000"}},
    {"reference", {"storm", "0,1,10"}},
    {"crashes", {"mode", "hot,paced,loaded", "how", "status,throw,segv,abort"}},
    {"crashes", {"mode", "hot", "how", "stuck"}},
#ifdef BENCH_PROCESS
    {"crashes", {"mode", "hot,paced", "how", "kill"}},
#endif
    {"crashes", {"storm", "1", "how", "status,segv"}},
    {"quick", {"mode", "hot", "how", "status,fail,throw"}},
    {"quick", {"mode", "hot", "depth", "1,3", "children", "2", "family", "keep,remake"}},
    {"quick", {"mode", "hot", "siblings", "3", "scope", "one,all,rest", "queue", "5"}},
    {"quick", {"mode", "paced,loaded", "depth", "2", "family", "keep,remake"}},
    {"quick", {"storm", "0,10"}},
};
#define SUITE_PARTS (sizeof suites / sizeof suites[0])

static void name_of(plan_case *what)
{
    char *out = what->name;
    size_t size = sizeof what->name;
    const restart_case *one = &what->restart;
    if (what->storm) {
        (void)snprintf(out, size, "storm-%gpct-%s-siblings%" PRIu32, what->storm_of.percent,
                       restart_hows[what->storm_of.how], what->storm_of.siblings);
        return;
    }
    int at = snprintf(out, size, "%s-%s", restart_modes[one->mode], restart_hows[one->how]);
    if (one->depth > 1)
        at += snprintf(out + at, size - (size_t)at, "-depth%" PRIu32, one->depth);
    if (one->children > 0)
        at += snprintf(out + at, size - (size_t)at, "-children%" PRIu32, one->children);
    if (one->depth > 1 || one->children > 0)
        at += snprintf(out + at, size - (size_t)at, "-%s", families[one->remake]);
    if (one->siblings > 0)
        at += snprintf(out + at, size - (size_t)at, "-siblings%" PRIu32 "-%s", one->siblings,
                       scopes[one->scope]);
    if (one->queue > 1)
        (void)snprintf(out + at, size - (size_t)at, "-queue%" PRIu32, one->queue);
}

/* Adds a case, unless it is there. */
static void case_add(plan *own, const plan_case *what)
{
    plan_case *last = &own->cases[own->count];
    if (own->count == PLAN_CASES_MAX)
        options_bad("more than %d cases", PLAN_CASES_MAX);
    *last = *what;
    name_of(last);
    for (uint32_t i = 0; i < own->count; i++) {
        if (strcmp(own->cases[i].name, last->name) == 0)
            return;
    }
    own->count++;
}

static void storms_add(plan *own, const wishes *all)
{
    list how = list_or(&all->how, BY_STATUS);
    list siblings = list_or(&all->siblings, 100);
    for (uint32_t s = 0; s < siblings.count; s++) {
        if (siblings.values[s] < 2)
            options_bad("--siblings: a storm needs two: one that fails and one that does not");
        for (uint32_t h = 0; h < how.count; h++) {
            if (how.values[h] == BY_STUCK)
                options_bad("--how: stuck is not for --storm: a loop waits for its watchdog");
            if (how.values[h] == BY_KILL)
                options_bad("--how: kill is not for --storm");
            for (uint32_t p = 0; p < all->storm.count; p++) {
                plan_case one = {
                    .storm = true,
                    .storm_of = {.how = (restart_how)how.values[h],
                                 .percent = all->storm.values[p],
                                 .siblings = (uint32_t)siblings.values[s],
                                 .rate = first_or(&all->rate, "rate", 50000),
                                 .burn_ns = (uint32_t)first_or(&all->burn, "burn", 1000),
                                 .seed = own->seed}};
                case_add(own, &one);
            }
        }
    }
}

/* The lists of a restart's shape, outermost first; each case takes one value of each. */
enum { BY_MODE, BY_HOW, BY_DEPTH, BY_CHILDREN, BY_FAMILY, BY_SIBLINGS, BY_SCOPE, BY_QUEUE, SIDES };

static plan_case case_of(const plan *own, const wishes *all, const double *side)
{
    plan_case one = {.restart = {.mode = (restart_mode)side[BY_MODE],
                                 .how = (restart_how)side[BY_HOW],
                                 .depth = (uint32_t)side[BY_DEPTH],
                                 .children = (uint32_t)side[BY_CHILDREN],
                                 .remake = side[BY_FAMILY] > 0.5,
                                 .siblings = (uint32_t)side[BY_SIBLINGS],
                                 .scope = (axo_scope)side[BY_SCOPE],
                                 .queue = (uint32_t)side[BY_QUEUE],
                                 .burners = (uint32_t)first_or(&all->burners, "burners", 10000),
                                 .at_least = own->at_least,
                                 .seed = own->seed}};
    restart_case *what = &one.restart;
    if (what->depth == 1 && what->children == 0)
        what->remake = false; /* there is nothing to make again */
    if (what->siblings == 0)
        what->scope = AXO_ONE_FOR_ONE;
    what->rate = first_or(&all->rate, "rate", restart_rate(what));
    return one;
}

/* A process that is killed stands alone. */
static void check_kill(const restart_case *what)
{
    if (what->how != BY_KILL)
        return;
    if (!KILLED_THERE)
        options_bad("--how: kill: built without libaxo-process");
    if (what->mode == LOADED || what->depth > 1 || what->children > 0 || what->siblings > 0 ||
        what->queue > 1)
        options_bad("--how: kill is for --mode hot and paced, and for an actor that is alone");
}

static void restarts_add(plan *own, const wishes *all)
{
    const list sides[SIDES] = {
        [BY_MODE] = list_or(&all->mode, HOT),
        [BY_HOW] = list_or(&all->how, BY_STATUS),
        [BY_DEPTH] = list_or(&all->depth, 1),
        [BY_CHILDREN] = list_or(&all->children, 0),
        [BY_FAMILY] = list_or(&all->family, 0),
        [BY_SIBLINGS] = list_or(&all->siblings, 0),
        [BY_SCOPE] = list_or(&all->scope, AXO_ONE_FOR_ONE),
        [BY_QUEUE] = list_or(&all->queue, 1),
    };
    uint32_t at[SIDES] = {0};
    uint32_t side = SIDES;
    while (side > 0) {
        double values[SIDES];
        for (uint32_t i = 0; i < SIDES; i++)
            values[i] = sides[i].values[at[i]];
        plan_case one = case_of(own, all, values);
        const restart_case *what = &one.restart;
        bool below = what->depth > 1 || what->children > 0;
        check_kill(what);
        if (restart_crashes(what->how) && below && !what->remake)
            options_bad("--how: a crash takes what is below it along: --family remake");
        case_add(own, &one);
        for (side = SIDES; side > 0 && ++at[side - 1] == sides[side - 1].count; side--)
            at[side - 1] = 0;
    }
}

/* What an option is for, and whether one case has that. */
static void check_use(const plan *own, const wishes *all)
{
    bool below = false;
    bool beside = false;
    bool ticked = false;
    bool loaded = false;
    for (uint32_t i = 0; i < own->count; i++) {
        const restart_case *what = &own->cases[i].restart;
        bool storm = own->cases[i].storm;
        below = below || what->depth > 1 || what->children > 0;
        beside = beside || what->siblings > 0;
        ticked = ticked || storm || what->mode != HOT;
        loaded = loaded || what->mode == LOADED;
    }
    if (all->family.count > 0 && !below)
        options_bad(
            "--family: needs --children or a --depth of 2: nothing is below the failing actor");
    if (all->scope.count > 0 && !beside)
        options_bad("--scope: needs --siblings: nobody is beside the failing actor");
    if (all->rate.count > 0 && !ticked)
        options_bad("--rate: is for --mode paced and loaded and for --storm; hot has none");
    if (all->burners.count > 0 && !loaded)
        options_bad("--burners: is for --mode loaded");
    if (all->burn.count > 0 && all->storm.count == 0)
        options_bad("--burn: is for --storm");
}

static void check_storms(const plan *own)
{
    for (uint32_t i = 0; i < own->count; i++) {
        const plan_case *what = &own->cases[i];
        if (!what->storm)
            continue;
        double messages = what->storm_of.rate * (own->warmup + 2.0 * own->duration);
        if (messages > 5e7)
            options_bad("%s: %.0f messages are too many to remember: a lower --rate or --duration",
                        what->name, messages);
        if (what->storm_of.rate * own->duration < what->storm_of.siblings)
            options_bad("%s: %.0f messages are fewer than siblings: a higher --rate or --duration",
                        what->name, what->storm_of.rate * own->duration);
    }
}

static void suite_add(plan *own, const wishes *all)
{
    bool found = false;
    if (all->suite == NULL)
        return;
    const struct {
        const char *name;
        const list *values;
    } shape[] = {
        {"mode", &all->mode},         {"how", &all->how},       {"depth", &all->depth},
        {"children", &all->children}, {"family", &all->family}, {"siblings", &all->siblings},
        {"scope", &all->scope},       {"queue", &all->queue},   {"storm", &all->storm}};
    for (size_t i = 0; i < sizeof shape / sizeof shape[0]; i++) {
        if (shape[i].values->count > 0)
            options_bad("--suite: has its own --%s", shape[i].name);
    }
    for (size_t i = 0; i < SUITE_PARTS; i++) {
        wishes part = {.burners = all->burners};
        if (strcmp(suites[i].suite, all->suite) != 0)
            continue;
        found = true;
        for (const char *const *name = suites[i].options; *name != NULL; name += 2)
            options_list_read(&part, name[0], name[1]);
        if (part.storm.count > 0) {
            part.burn = all->burn;
            storms_add(own, &part);
        } else {
            restarts_add(own, &part);
        }
    }
    if (!found)
        options_bad("--suite: \"%s\" is none of: report, reference, crashes, quick", all->suite);
}

void options_cases(plan *own, const wishes *all)
{
    suite_add(own, all);
    if (all->storm.count > 0 && (all->mode.count + all->depth.count + all->children.count +
                                     all->family.count + all->scope.count + all->queue.count >
                                 0))
        options_bad("--storm: goes with --how, --siblings, --rate and --burn only");
    if (all->suite == NULL && all->storm.count > 0)
        storms_add(own, all);
    else if (all->suite == NULL)
        restarts_add(own, all);
    if (all->suite == NULL)
        check_use(own, all);
    else if (all->rate.count > 0)
        options_bad("--rate: not with --suite: each case has its own");
    if (all->total > 0.0) {
        double runs = (own->phases ? 2.0 : 1.0) * own->repeats * own->count;
        double each = all->total / runs - own->warmup;
        if (each < 0.01)
            options_bad("--total: %.3g s are too few for %.0f runs with --warmup %g", all->total,
                        runs, own->warmup);
        own->duration = each;
    }
    check_storms(own);
}

void plan_case_json(const plan *own, const plan_case *what, FILE *out)
{
    (void)fprintf(out, "\"case\":\"%s\",", what->name);
    if (what->storm)
        (void)fprintf(out,
                      "\"mode\":\"storm\",\"how\":\"%s\",\"storm_percent\":%g,\"siblings\":%" PRIu32
                      ",\"rate\":%g,\"burn_ns\":%" PRIu32 ",",
                      restart_hows[what->storm_of.how], what->storm_of.percent,
                      what->storm_of.siblings, what->storm_of.rate, what->storm_of.burn_ns);
    else
        (void)fprintf(out,
                      "\"mode\":\"%s\",\"how\":\"%s\",\"depth\":%" PRIu32 ",\"children\":%" PRIu32
                      ",\"family\":\"%s\",\"siblings\":%" PRIu32
                      ",\"scope\":\"%s\",\"queue\":%" PRIu32 ",\"rate\":%g,\"burners\":%" PRIu32
                      ",",
                      restart_modes[what->restart.mode], restart_hows[what->restart.how],
                      what->restart.depth, what->restart.children, families[what->restart.remake],
                      what->restart.siblings, scopes[what->restart.scope], what->restart.queue,
                      what->restart.mode == HOT ? 0.0 : what->restart.rate,
                      what->restart.mode == LOADED ? what->restart.burners : 0);
    (void)fprintf(out,
                  "\"at_least\":%" PRIu32 ",\"duration_s\":%g,\"warmup_s\":%g,\"seed\":%" PRIu64,
                  own->at_least, own->duration, own->warmup, own->seed);
}
