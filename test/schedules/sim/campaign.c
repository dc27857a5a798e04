/* campaign.c - many seeds on a few processes. */
#include "campaign.h"

#include <dirent.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "support/census.h"

#undef clock_gettime /* the real one: how long it takes */

#define CAMPAIGN_JOBS_MAX    64
#define CAMPAIGN_SECONDS_MAX 60 /* of one seed */
#define CAMPAIGN_FAILED_MAX  10
#define CAMPAIGN_WHOLE       2000 /* from so many seeds on every check and probe must be hit */
#define CAMPAIGN_TWICE       100  /* one of this many seeds runs again, from a new start */

replay campaign_replay;

/* The same seed in a program that is started anew: other addresses, other blocks. */
static void campaign_twice(const campaign *it, uint64_t seed, uint64_t hash)
{
    char number[32];
    uint64_t again = 0;
    int ends[2];
    if (pipe(ends) != 0)
        ghost_fail("no pipe");
    (void)snprintf(number, sizeof number, "%" PRIu64, seed);
    pid_t child = fork();
    if (child == 0) {
        (void)dup2(ends[1], STDOUT_FILENO);
        (void)execl(it->self, it->self, "--hash", number, (char *)NULL);
        _exit(127);
    }
    (void)close(ends[1]);
    FILE *from = fdopen(ends[0], "r");
    bool said = from != NULL && fscanf(from, "%" SCNx64, &again) == 1;
    if (from != NULL)
        (void)fclose(from);
    (void)waitpid(child, NULL, 0);
    tallied->twice++;
    HOLDS_ALL(59, said && again == hash,
              "run again it has the hash %016" PRIx64 ", not %016" PRIx64, again, hash);
}

/* A failure is said, wherever it happens. */
static void campaign_said(uint32_t violated, const char *text)
{
    fprintf(stderr, "%s\n  again: SEED=%" PRIu64 " make sim-replay\n", text, g.seed);
}

static void campaign_seed(const campaign *it, uint64_t seed)
{
    bool twice = it->seeds <= 50 || seed % CAMPAIGN_TWICE == 0;
    uint32_t descriptors = twice ? census_descriptors() : 0;
    tree_limit(CAMPAIGN_SECONDS_MAX);
    replay_seed(&campaign_replay, seed);
    uint64_t hash = replay_run(&campaign_replay, false);
    tallied->seeds++;
    tallied->steps += t.steps;
    tallied->events += g.events;
    if (tallied->steps_min == 0 || t.steps < tallied->steps_min)
        tallied->steps_min = t.steps;
    if (!twice)
        return;
    HOLDS_ALL(56, census_descriptors() == descriptors, "descriptors are left");
    campaign_twice(it, seed, hash);
}

/* Seeds of one process, from the one after the last that it or its forerunner began. */
static void campaign_part(const campaign *it, uint32_t job) __attribute__((noreturn));

static void campaign_part(const campaign *it, uint32_t job)
{
    uint64_t seed = tallied->seed != 0 ? tallied->seed + it->jobs : it->from + job;
    for (; seed < it->from + it->seeds; seed += it->jobs)
        campaign_seed(it, seed);
    tallied->seed = it->from + it->seeds;
    fflush(NULL);
    _exit(0);
}

static pid_t campaign_fork(const campaign *it, tally *tallies, uint32_t job)
{
    fflush(NULL);
    pid_t child = fork();
    if (child != 0)
        return child;
    tallied = &tallies[job];
    g.on_end = campaign_said;
    campaign_part(it, job);
}

/* Runs them all; how many have failed, the first few of which are in `failed`. */
static uint64_t campaign_run(const campaign *it, tally *tallies, uint64_t *failed)
{
    pid_t children[CAMPAIGN_JOBS_MAX];
    uint32_t left = it->jobs;
    uint64_t count = 0;
    for (uint32_t i = 0; i < it->jobs; i++)
        children[i] = campaign_fork(it, tallies, i);
    while (left > 0) {
        int status = 0;
        uint32_t job = 0;
        pid_t child = waitpid(-1, &status, 0);
        while (job < it->jobs && children[job] != child)
            job++;
        if (child < 0 || job == it->jobs)
            continue;
        if (status != 0 && count < CAMPAIGN_FAILED_MAX)
            failed[count] = tallies[job].seed;
        count += status != 0;
        if (status != 0 && count < CAMPAIGN_FAILED_MAX)
            children[job] = campaign_fork(it, tallies, job);
        else
            left--;
    }
    return count;
}

static void campaign_add(tally *sum, const tally *one)
{
    sum->seeds += one->seeds;
    sum->steps += one->steps;
    sum->events += one->events;
    sum->twice += one->twice;
    sum->crashes += one->crashes;
    sum->refused += one->refused;
    if (sum->steps_min == 0 || (one->steps_min != 0 && one->steps_min < sum->steps_min))
        sum->steps_min = one->steps_min;
    for (uint32_t i = 0; i <= INVARIANTS; i++)
        sum->checked[i] += one->checked[i];
    for (uint32_t i = 0; i < PROBES; i++)
        sum->probes[i] += one->probes[i];
}

/* ---- the planted bug ---- */

/* What the last two were found out with; shared. */
static char (*campaign_texts)[sizeof g.said];

static uint32_t campaign_text;

static void campaign_found(uint32_t violated, const char *text)
{
    (void)snprintf(campaign_texts[campaign_text], sizeof g.said, "%s", text);
}

/* Whether a run whose events are falsified in this way is found out. */
static bool campaign_canary(uint32_t which, uint32_t again)
{
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        g.on_end = campaign_found;
        campaign_text = again;
        t.canary = which;
        tree_limit(CAMPAIGN_SECONDS_MAX);
        for (uint64_t seed = 1; seed <= 20; seed++)
            (void)tree_run(seed, false);
        _exit(0);
    }
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
           WEXITSTATUS(status) == 1;
}

static uint32_t campaign_canaries(void)
{
    uint32_t silent = 0;
    campaign_texts = mmap(NULL, 2 * sizeof *campaign_texts, PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (uint32_t i = CANARY_NONE + 1; i < CANARIES; i++) {
        bool found = campaign_texts != MAP_FAILED && campaign_canary(i, 0) && campaign_canary(i, 1);
        if (found && strcmp(campaign_texts[0], campaign_texts[1]) == 0)
            continue;
        silent++;
        printf("canary %" PRIu32 " was not found out%s\n", i, found ? " twice alike" : "");
    }
    return silent;
}

/* ---- what failed once ---- */

uint32_t campaign_corpus(const char *folder)
{
    char path[512];
    uint32_t count = 0;
    uint32_t failed = 0;
    DIR *dir = opendir(folder);
    for (const struct dirent *entry = dir != NULL ? readdir(dir) : NULL; entry != NULL;
         entry = readdir(dir)) {
        int status = 0;
        if (entry->d_name[0] == '.')
            continue;
        count++;
        (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) {
            g.on_end = campaign_said;
            tree_limit(CAMPAIGN_SECONDS_MAX);
            if (!replay_read(&campaign_replay, path))
                ghost_fail("cannot be read: %s", path);
            (void)replay_run(&campaign_replay, false);
            _exit(0);
        }
        bool passed = child > 0 && waitpid(child, &status, 0) == child && status == 0;
        if (!passed)
            printf("%s fails\n", path);
        failed += !passed;
    }
    if (dir != NULL)
        (void)closedir(dir);
    printf("%" PRIu32 " of %" PRIu32 " replays of the corpus pass\n", count - failed, count);
    return count > 0 ? failed : 1;
}

/* ---- the whole ---- */

static void campaign_bars(uint64_t failed, uint32_t silent)
{
    uint32_t idle = invariants_idle(true);
    (void)probes_missed(true);
    printf("bar 1 is %" PRIu32 ": of %d invariants run as checkers\n", INVARIANTS - idle,
           INVARIANTS);
#ifndef AXO_HARD /* these bars are of the limits that are shipped */
    printf("bar 3 is %" PRIu64 " / %" PRIu64 " / %" PRIu64
           ": seeds, steps of the shortest, seeds that failed\n",
           tallied->seeds, tallied->steps_min, failed);
    printf("bar 36 is %" PRIu64 " / %" PRIu64
           ": crashes contained at level L1; those that were not to be\n",
           tallied->crashes, tallied->refused);
#endif
    printf("bar 7 is %" PRIu64 " / %" PRIu64 ": seeds that failed or differ, seeds run twice\n",
           failed, tallied->twice);
    printf("bar 10 is %" PRIu64 ": hits of the rarest of %d probes\n", probes_rarest(), PROBES);
    printf("bar 35 is %" PRIu32 " / %d: planted failures that do not repeat, of all\n", silent,
           CANARIES - 1);
}

static double campaign_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int campaign_all(const campaign *it)
{
    uint64_t failed[CAMPAIGN_FAILED_MAX];
    double start = campaign_now();
    tally *tallies = mmap(NULL, sizeof(tally) * CAMPAIGN_JOBS_MAX, PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (tallies == MAP_FAILED)
        return 2;
    uint64_t count = campaign_run(it, tallies, failed);
    for (uint32_t i = 0; i < it->jobs; i++)
        campaign_add(tallied, &tallies[i]);
    double seconds = campaign_now() - start;
    bool whole = it->seeds >= CAMPAIGN_WHOLE;
    uint32_t silent = campaign_canaries();
    if (it->verbose) {
        invariants_print();
        probes_print();
    }
    printf("%" PRIu64 " steps, %" PRIu64 " events, %.0f steps a second\n", tallied->steps,
           tallied->events, (double)tallied->steps / seconds);
    if (whole)
        campaign_bars(count, silent);
    if (count > 0 && count < CAMPAIGN_FAILED_MAX) /* else nothing is rare about it */
        (void)shrink_seed(failed[0]);
    printf("%" PRIu64 " passed, %" PRIu64 " failed\n", tallied->seeds, count);
    bool idle = whole && count == 0 && (invariants_idle(false) > 0 || probes_missed(false) > 0);
    return count == 0 && silent == 0 && !idle ? 0 : 1;
}
