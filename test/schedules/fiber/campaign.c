/* campaign.c - many schedules of many scenes, what becomes of one that fails, and the figures. */
#include "campaign.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "attempt.h"

#define CAMPAIGN_WALK_MAX 100000000
#define CAMPAIGN_BOUNDS 4
#define CAMPAIGN_SHRINK_TRIES 3000

static const char *const strategies[] = {"random", "sticky", "pct:2", "pct:3", "starve", "swizzle"};
#define STRATEGIES (sizeof strategies / sizeof strategies[0])

typedef struct campaign {
    const campaign_options *options;
    uint64_t schedules;
    uint64_t points;
    uint64_t again;
    uint64_t differ;
    uint32_t complete[CAMPAIGN_BOUNDS];
    uint32_t passed;
    uint32_t failed;
    uint32_t replays;      /* of failures, by log and by seed */
    uint32_t replays_same;
} campaign;

static double campaign_now(void)
{
    struct timespec now;
    (void)timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* ---- one that fails ---- */

/* Plays the log; whether it fails. */
static bool campaign_fails(attempt *it, bool loud)
{
    it->given = true;
    it->count = 1;
    it->twice = false;
    it->loud = loud;
    it->played = it->points = 0;
    return !attempt_play(it);
}

/* Takes out what can go: a half, a quarter, ... one. The log that is left is what was chosen. */
static void campaign_shrink(attempt *it)
{
    axo__sim_choice *best = malloc(sizeof it->log);
    if (best == NULL)
        abort();
    size_t count = it->log_count;
    uint32_t tries = 0;
    memcpy(best, it->log, count * sizeof *best);
    for (size_t piece = count / 2 > 0 ? count / 2 : 1; piece > 0 && count > 0; piece /= 2) {
        for (size_t from = 0; from < count && tries < CAMPAIGN_SHRINK_TRIES; tries++) {
            size_t gone = count - from < piece ? count - from : piece;
            memcpy(it->log, best, from * sizeof *best);
            memcpy(it->log + from, best + from + gone, (count - from - gone) * sizeof *best);
            it->log_count = count - gone;
            if (!campaign_fails(it, false)) {
                from += piece;
                continue;
            }
            if (it->log_count < count) {
                count = it->log_count;
                memcpy(best, it->log, count * sizeof *best);
            } else {
                from += piece;
            }
        }
    }
    memcpy(it->log, best, count * sizeof *best);
    it->log_count = count;
    free(best);
}

static void campaign_write_bundle(const campaign *c, attempt *it, const char *why)
{
    char name[512];
    if (c->options->folder == NULL)
        return;
    (void)mkdir(c->options->folder, 0777);
    (void)snprintf(name, sizeof name, "%s/%s-%" PRIu64 ".txt", c->options->folder, it->scene->name,
                   it->seed);
    FILE *out = fopen(name, "w");
    if (out == NULL)
        return;
    fprintf(out, "scenario %s\nstrategy %s\nseed %" PRIu64 "\nwhy %s\n", it->scene->name,
            it->strategy, it->seed, why);
    for (size_t i = 0; i < it->log_count; i++)
        fprintf(out, "choice %s %" PRIu64 " %" PRIu32 "\n", axo__sim_kind_name(it->log[i].kind),
                it->log[i].index, it->log[i].value);
    fclose(out);
    printf("  what it chose: %s; again: fiber --bundle %s\n", name, name);
}

/* The same by its log and by its seed; then the least of it. */
static void campaign_explain(campaign *c, attempt *it)
{
    char why[ATTEMPT_WHY];
    uint64_t digest = it->digest;
    size_t chosen = it->log_count;
    bool walk = attempt_walks(it);
    (void)snprintf(why, sizeof why, "%s", it->why);
    if (!it->scene->fails)
        printf("FAIL %s, %s, seed %" PRIu64 ": %s\n", it->scene->name, it->strategy, it->seed, why);
    c->replays++;
    bool fails = campaign_fails(it, false);
    c->replays_same += fails && it->digest == digest;
    if (!fails)
        printf("  its log does not fail again\n");
    if (!walk) { /* a walk has no seed: its log is all */
        it->given = false;
        c->replays++;
        c->replays_same += !attempt_play(it) && it->digest == digest;
    }
    campaign_shrink(it);
    if (it->scene->fails)
        return;
    printf("  %zu choices of %zu are left\n", it->log_count, chosen);
    campaign_write_bundle(c, it, why);
    (void)campaign_fails(it, true);
}

/* ---- many ---- */

/* false: a schedule failed. */
static bool campaign_some(campaign *c, const stage_scene *scene, const char *strategy,
                          uint64_t count, bool *complete)
{
    attempt *it = attempt_make(scene, strategy, c->options->seed, count);
    it->twice = true;
    double before = campaign_now();
    bool held = attempt_play(it);
    double seconds = campaign_now() - before;
    c->schedules += it->played;
    c->points += it->points;
    c->again += it->again;
    c->differ += it->differ;
    *complete = it->complete;
    printf("  %-12s %-12s %9" PRIu64 " schedules %s %7.0f/s, %5" PRIu64 " yield points at most\n",
           scene->name, strategy, it->played, it->complete ? "(all)" : "     ",
           (double)it->played / (seconds > 0 ? seconds : 1), it->points_most);
    fflush(stdout);
    if (!held)
        campaign_explain(c, it);
    return held;
}

/* All with at most `bound` pre-emptions, or delays. */
static bool campaign_walk(campaign *c, const stage_scene *scene, const char *what, uint32_t bound)
{
    char strategy[32];
    bool complete = false;
    bool preemptions = strcmp(what, "bound") == 0;
    uint64_t before = c->schedules;
    (void)snprintf(strategy, sizeof strategy, "%s:%" PRIu32, what, bound);
    bool held = campaign_some(c, scene, strategy, CAMPAIGN_WALK_MAX, &complete);
    bool counts = complete && preemptions && scene->expect == 0;
    for (uint32_t i = 0; counts && i <= bound && i < CAMPAIGN_BOUNDS; i++)
        c->complete[i]++; /* a greater bound has the schedules of a lesser one */
    uint64_t found = c->schedules - before;
    if (scene->expect != 0 && (!complete || found != scene->expect)) {
        printf("FAIL %s: %" PRIu64 " schedules, there are %" PRIu64 "\n", scene->name, found,
               scene->expect);
        held = false;
    }
    return held;
}

static void campaign_strategy(const char *text, const stage_scene *scene, char *out, size_t size)
{
    if (strncmp(text, "pct:", 4) == 0 && strchr(text + 4, ':') == NULL)
        (void)snprintf(out, size, "%s:%" PRIu64, text, attempt_length(scene));
    else
        (void)snprintf(out, size, "%s", text);
}

static bool campaign_scene(campaign *c, const stage_scene *scene, uint64_t each)
{
    const campaign_options *options = c->options;
    bool held = true;
    bool complete = false;
    char strategy[32];
    each = scene->heavy != 0 ? each / scene->heavy + 1 : each;
    if (options->strategy != NULL) {
        campaign_strategy(options->strategy, scene, strategy, sizeof strategy);
        return campaign_some(c, scene, strategy, each * STRATEGIES, &complete);
    }
    if (scene->bound > 0 && !options->chance)
        held = campaign_walk(c, scene, "bound", scene->bound);
    if (scene->delay > 0 && !options->chance && held)
        held = campaign_walk(c, scene, "delay", scene->delay);
    for (size_t i = 0; i < STRATEGIES && !options->whole && (held || scene->fails); i++) {
        campaign_strategy(strategies[i], scene, strategy, sizeof strategy);
        held = campaign_some(c, scene, strategy, each, &complete) && held;
    }
    return held;
}

static void campaign_bars(const campaign *c, double seconds, uint32_t count)
{
    printf("bar 4 is %" PRIu64 " / %" PRIu32 ": L2 schedules of %" PRIu32
           " scenarios, %.0f/s, %.2f M yield points/s; scenarios that failed\n",
           c->schedules, c->failed, count, (double)c->schedules / seconds,
           (double)c->points / seconds / 1e6);
    printf("bar 5 is %" PRIu32 " / %" PRIu32 ": L2 scenarios complete at bound 2, at bound 3\n",
           c->complete[2], c->complete[3]);
    printf("bar 7 is %" PRIu64 " / %" PRIu64 ": L2 seeds that differ, of those run twice\n",
           c->differ, c->again);
    printf("bar 35 is %" PRIu32 " / %" PRIu32
           ": replays of L2 failures that are another one, of all replays\n",
           c->replays - c->replays_same, c->replays);
}

int campaign_run(const campaign_options *options)
{
    campaign c = {.options = options};
    uint32_t count = 0;
    double before = campaign_now();
    for (uint32_t i = 0; scenes[i] != NULL; i++)
        count += options->scene == NULL || strcmp(options->scene, scenes[i]->name) == 0;
    if (count == 0) {
        fprintf(stderr, "fiber: no such scenario: %s\n", options->scene);
        return 2;
    }
    uint64_t each = options->schedules / (count * STRATEGIES) + 1;
    for (uint32_t i = 0; scenes[i] != NULL; i++) {
        const stage_scene *scene = scenes[i];
        if (options->scene != NULL && strcmp(options->scene, scene->name) != 0)
            continue;
        bool held = campaign_scene(&c, scene, each);
        if (scene->fails && held)
            printf("FAIL %s: the planted bug was not found\n", scene->name);
        if (held == scene->fails)
            c.failed++;
        else
            c.passed++;
    }
    double seconds = campaign_now() - before;
    printf("%" PRIu64 " schedules, %" PRIu64 " yield points, %.1f s\n", c.schedules, c.points,
           seconds);
    if (options->scene == NULL && options->strategy == NULL && !options->chance)
        campaign_bars(&c, seconds, count);
    bool same = c.differ == 0 && c.replays_same == c.replays;
    if (!same)
        printf("FAIL the same seed gives another run\n");
    printf("%" PRIu32 " passed, %" PRIu32 " failed\n", c.passed, c.failed + !same);
    return c.failed == 0 && same ? 0 : 1;
}

/* ---- one again ---- */

static int campaign_twice(attempt *it)
{
    uint64_t digests[2];
    for (int i = 0; i < 2; i++) {
        it->loud = i == 0;
        (void)attempt_play(it);
        digests[i] = it->digest;
        printf("%s, %s, seed %" PRIu64 ": %016" PRIx64 ", %s\n", it->scene->name, it->strategy,
               it->seed, it->digest, it->failed ? it->why : "holds");
    }
    if (digests[0] != digests[1])
        printf("the same seed gives another run\n");
    return it->failed || digests[0] != digests[1];
}

static const stage_scene *campaign_scene_named(const char *name)
{
    for (uint32_t i = 0; scenes[i] != NULL; i++) {
        if (name != NULL && strcmp(scenes[i]->name, name) == 0)
            return scenes[i];
    }
    fprintf(stderr, "fiber: no such scenario: %s\n", name != NULL ? name : "none is named");
    exit(2);
}

int campaign_replay(const campaign_options *options)
{
    const stage_scene *scene = campaign_scene_named(options->scene);
    char strategy[32];
    campaign_strategy(options->strategy != NULL ? options->strategy : "random", scene, strategy,
                      sizeof strategy);
    return campaign_twice(attempt_make(scene, strategy, options->seed, 1));
}

int campaign_bundle(const char *file)
{
    char line[512];
    char word[256];
    attempt *it = attempt_make(NULL, "default", 1, 1);
    FILE *in = fopen(file, "r");
    if (in == NULL) {
        perror(file);
        return 2;
    }
    while (fgets(line, sizeof line, in) != NULL) {
        axo__sim_choice *choice = &it->log[it->log_count];
        if (sscanf(line, "scenario %255s", word) == 1)
            it->scene = campaign_scene_named(word);
        else if (sscanf(line, "seed %" SCNu64, &it->seed) == 1)
            continue;
        else if (sscanf(line, "choice %255s %" SCNu64 " %" SCNu32, word, &choice->index,
                        &choice->value) == 3 && it->log_count + 1 < ATTEMPT_LOG_MAX) {
            choice->kind = axo__sim_kind_named(word);
            it->log_count += choice->kind < AXO__SIM_KINDS;
        }
    }
    fclose(in);
    if (it->scene == NULL)
        it->scene = campaign_scene_named(NULL);
    it->given = true;
    return campaign_twice(it);
}
