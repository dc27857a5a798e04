/* main.c - weak: litmus tests, scenarios, weakening mutants; or one execution, printed.
 *
 *   weak [redundant.txt [full]]               litmus tests, scenarios, and with the list mutants
 *   weak --only NAME                          one scenario
 *   weak --replay NAME CHOICES [MUTANT]       one execution
 *
 * Each ordered operation of the product that a scenario has reached is weakened in turn: seq_cst to
 * acq_rel, and without acquire, and without release. Some scenario has to notice; what none does is
 * listed in redundant.txt with the reason, and a line there that is noticed is wrong too. What is
 * listed gets a small part of the executions, unless all are asked for.
 */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schedules/weak/litmus.h"
#include "schedules/weak/scenes.h"

#define SCENES_MAX 96
#define GROUPS_MAX 320
#define LINES_MAX 256
#define LIMIT 400000
#define NAME_SIZE 160
/* Executions for a weakening that is listed. */
#define LISTED_LIMIT 20000
#define UNLISTED_LIMIT 300000

static const weak_scenario *scenes[SCENES_MAX];
static uint32_t scene_count;
static uint64_t scene_size[SCENES_MAX]; /* executions */
static const char *const rules_said[] = {"", " (x86-64)", " (aarch64)"};

static void scenes_list(void)
{
    const weak_scenario *const tables[] = {weak_state_scenes,   weak_queue_scenes,
                                           weak_cell_scenes,    weak_newborn_scenes,
                                           weak_park_scenes,    weak_spare_scenes,
                                           weak_shared_scenes,  weak_figures_scenes,
                                           weak_lent_scenes,    weak_quiesce_scenes};
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++) {
        for (const weak_scenario *scene = tables[t]; scene->name != NULL; scene++)
            scenes[scene_count++] = scene;
    }
}

static uint32_t scene_find(const char *name)
{
    for (uint32_t i = 0; i < scene_count; i++) {
        if (strcmp(scenes[i]->name, name) == 0)
            return i;
    }
    fprintf(stderr, "no scenario %s\n", name);
    exit(2);
}

/* ---- groups: the same operation in several objects is one ---- */

typedef struct group {
    const weak_site *one;
    char name[NAME_SIZE];
    bool scenes[SCENES_MAX]; /* that reach it */
} group;

static group groups[GROUPS_MAX];
static uint32_t group_count;

static bool site_same(const weak_site *a, const weak_site *b)
{
    return a->line == b->line && strcmp(a->func, b->func) == 0 && strcmp(a->op, b->op) == 0;
}

static group *group_of(const weak_site *site)
{
    for (uint32_t i = 0; i < group_count; i++) {
        if (site_same(groups[i].one, site))
            return &groups[i];
    }
    if (group_count == GROUPS_MAX)
        exit(2);
    groups[group_count].one = site;
    return &groups[group_count++];
}

/* "function operation", and a number if the function has several of the kind. */
static void group_names(void)
{
    for (uint32_t i = 0; i < group_count; i++) {
        const weak_site *one = groups[i].one;
        uint32_t before = 0;
        uint32_t alike = 0;
        for (uint32_t k = 0; k < group_count; k++) {
            const weak_site *other = groups[k].one;
            if (strcmp(other->func, one->func) != 0 || strcmp(other->op, one->op) != 0)
                continue;
            alike++;
            before += other->line < one->line;
        }
        if (alike > 1)
            (void)snprintf(groups[i].name, NAME_SIZE, "%s %s.%u", one->func, one->op, before + 1);
        else
            (void)snprintf(groups[i].name, NAME_SIZE, "%s %s", one->func, one->op);
    }
}

static void groups_reached(uint32_t scene)
{
    for (weak_site *site = weak_sites(); site != NULL; site = site->next) {
        if (site->hits > 0 && site->product && site->order != 0)
            group_of(site)->scenes[scene] = true;
        site->hits = 0;
    }
}

static void group_weaken(const group *which, uint8_t less)
{
    for (weak_site *site = weak_sites(); site != NULL; site = site->next)
        site->now = site_same(site, which->one) ? site->order & (uint8_t)~less : site->order;
}

static void group_restore(void)
{
    for (weak_site *site = weak_sites(); site != NULL; site = site->next)
        site->now = site->order;
}

/* ---- scenarios ---- */

static bool scene_run(uint32_t which, weak_result *total)
{
    const weak_scenario *scene = scenes[which];
    weak_result result = weak_explore(scene, LIMIT);
    groups_reached(which);
    scene_size[which] = result.executions;
    total->executions += result.executions;
    total->operations += result.operations;
    total->seconds += result.seconds;
    bool good = scene->fails ? result.failed : result.complete && !result.failed;
    if (result.failed && !weak_repeats(scene, &result)) {
        printf("  the failure of %s is not repeated by its choices\n", scene->name);
        good = false;
    }
    printf("  %-6s %-20s %9lu executions of %2lu, %7.0f/s%s  %s\n", good ? "ok" : "FAIL",
           scene->name, (unsigned long)result.executions,
           (unsigned long)(result.operations / result.executions),
           (double)result.executions / result.seconds, rules_said[scene->rules],
           scene->fails ? "is found wrong, as it must be" : scene->what);
    if (result.failed)
        printf("         %s%s\n         make weak-replay SCENARIO=%s CHOICES=%s\n",
               scene->fails ? "so: " : "", result.why, scene->name, result.choices);
    else if (!result.complete)
        printf("         not complete\n");
    return good;
}

/* ---- mutants ---- */

typedef struct line {
    char name[NAME_SIZE];
    bool used;
} line;

static line lines[LINES_MAX];
static uint32_t line_count;

/* A line may be for the code of one processor: "x86-64: ...", "aarch64: ...". */
static bool line_is_here(const char **name)
{
    static const char *const whose[] = {"aarch64: ", "x86-64: "};
    for (int i = 0; i < 2; i++) {
        size_t size = strlen(whose[i]);
        if (strncmp(*name, whose[i], size) != 0)
            continue;
        *name += size;
        return i == AXO__CK_RIGHT;
    }
    return true;
}

static void lines_read(const char *path)
{
    char text[512];
    FILE *file = fopen(path, "r");
    if (file == NULL)
        exit(2);
    while (fgets(text, sizeof text, file) != NULL && line_count < LINES_MAX) {
        char *bar = strchr(text, '|');
        const char *name = text;
        if (text[0] == '#' || bar == NULL || !line_is_here(&name))
            continue;
        while (bar > text && bar[-1] == ' ')
            bar--;
        *bar = '\0';
        (void)snprintf(lines[line_count++].name, NAME_SIZE, "%.*s", NAME_SIZE - 1, name);
    }
    (void)fclose(file);
}

static line *line_find(const char *name)
{
    for (uint32_t i = 0; i < line_count; i++) {
        if (fnmatch(lines[i].name, name, 0) == 0)
            return &lines[i];
    }
    return NULL;
}

typedef struct mutants {
    bool full;
    uint32_t noticed;
    uint32_t repeated; /* of these: the choices lead to the same failure again */
    uint32_t explained;
    uint32_t open;
} mutants;

/* The smallest scenario that reaches it and has not been tried; SCENES_MAX: none. */
static uint32_t mutant_scene(const group *which, const bool *tried)
{
    uint32_t best = SCENES_MAX;
    for (uint32_t i = 0; i < scene_count; i++) {
        if (!which->scenes[i] || tried[i])
            continue;
        if (scenes[i]->rules == WEAK_X86 || scenes[i]->fails)
            continue;
        if (best == SCENES_MAX || scene_size[i] < scene_size[best])
            best = i;
    }
    return best;
}

static void mutant_run(const group *which, uint8_t less, const char *suffix, mutants *count)
{
    char name[NAME_SIZE + 16];
    (void)snprintf(name, sizeof name, "%s %s", which->name, suffix);
    line *known = line_find(name);
    uint64_t left = count->full ? UINT64_MAX : known != NULL ? LISTED_LIMIT : UNLISTED_LIMIT;
    bool tried[SCENES_MAX] = {false};
    group_weaken(which, less);
    for (uint32_t i; left > 0 && (i = mutant_scene(which, tried)) != SCENES_MAX;) {
        tried[i] = true;
        weak_result result = weak_explore(scenes[i], left < LIMIT ? left : LIMIT);
        left -= result.executions < left ? result.executions : left;
        if (!result.failed)
            continue;
        count->noticed++;
        count->repeated += weak_repeats(scenes[i], &result);
        printf("  noticed %-62s %-18s %s\n", name, scenes[i]->name, result.why);
        if (known != NULL) {
            printf("  but redundant.txt has it\n");
            known->used = true;
            count->open++;
        }
        return;
    }
    printf("  %s %s\n", known != NULL ? "listed " : "UNSEEN ", name);
    if (known != NULL) {
        known->used = true;
        count->explained++;
    } else {
        count->open++;
    }
}

static bool mutants_run(bool full)
{
    mutants count = {.full = full};
    for (uint32_t i = 0; i < group_count; i++) {
        const group *it = &groups[i];
        if ((it->one->order & WEAK_SEQ_CST) != 0)
            mutant_run(it, WEAK_SEQ_CST, "-sc", &count);
        if ((it->one->order & WEAK_ACQUIRE) != 0)
            mutant_run(it, WEAK_ACQUIRE | WEAK_SEQ_CST, "-acq", &count);
        if ((it->one->order & WEAK_RELEASE) != 0)
            mutant_run(it, WEAK_RELEASE | WEAK_SEQ_CST, "-rel", &count);
    }
    group_restore();
    for (uint32_t i = 0; i < line_count; i++) {
        if (lines[i].used)
            continue;
        printf("  redundant.txt has %s, which nothing reaches\n", lines[i].name);
        count.open++;
    }
    printf("weakened: %u operations, %u weakenings noticed, %u explained, %u open\n", group_count,
           count.noticed, count.explained, count.open);
    printf("replayed: %u of %u failures are the same again\n", count.repeated, count.noticed);
    return count.open == 0 && count.noticed > 0 && count.repeated == count.noticed;
}

/* ---- all ---- */

static bool litmus_all(void)
{
    uint64_t executions = 0;
    uint32_t right = litmus_run(&executions);
    printf("litmus: %u of %u, %lu executions\n", right, litmus_count, (unsigned long)executions);
    return right == litmus_count;
}

static int run_all(const char *redundant, bool full)
{
    bool known = litmus_all();
    weak_result total = {.executions = 0};
    uint32_t complete = 0;
    uint32_t good = 0;
    for (uint32_t i = 0; i < scene_count; i++) {
        bool fine = scene_run(i, &total);
        good += fine;
        complete += fine && !scenes[i]->fails && scenes[i]->bound >= 2;
    }
    printf("scenarios: %u of %u, %lu executions, %.1f s, %.0f executions/s of %lu operations\n",
           good, scene_count, (unsigned long)total.executions, total.seconds,
           (double)total.executions / total.seconds,
           (unsigned long)(total.operations / total.executions));
    bool weakened = true;
    if (redundant != NULL) {
        group_names();
        lines_read(redundant);
        weakened = mutants_run(full);
    }
    printf("bar 6 is %u / %d: scenarios complete at bound 2, litmus tables that differ\n", complete,
           known ? 0 : 1);
    return known && good == scene_count && weakened ? 0 : 1;
}

/* A mutant is named as in the list. */
static int replay(const char *name, const char *chosen, const char *mutant)
{
    uint32_t which = scene_find(name);
    if (mutant != NULL) {
        (void)weak_explore(scenes[which], 2000);
        groups_reached(which);
        group_names();
        for (uint32_t i = 0; i < group_count; i++) {
            size_t length = strlen(groups[i].name);
            if (strncmp(mutant, groups[i].name, length) != 0 || mutant[length] != ' ')
                continue;
            const char *less = mutant + length + 1;
            uint8_t what = WEAK_SEQ_CST;
            if (strcmp(less, "-sc") != 0)
                what |= strcmp(less, "-acq") == 0 ? WEAK_ACQUIRE : WEAK_RELEASE;
            group_weaken(&groups[i], what);
        }
    }
    return weak_replay(scenes[which], chosen) ? 0 : 1;
}

int main(int count, char **words)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    scenes_list();
    if (count >= 4 && strcmp(words[1], "--replay") == 0)
        return replay(words[2], words[3], count > 4 ? words[4] : NULL);
    if (count >= 3 && strcmp(words[1], "--only") == 0) {
        weak_result total = {.executions = 0};
        return scene_run(scene_find(words[2]), &total) ? 0 : 1;
    }
    if (count > 3) {
        fprintf(stderr,
                "weak [redundant.txt [full]] | --only NAME | --replay NAME CHOICES [MUTANT]\n");
        return 2;
    }
    return run_all(count > 1 ? words[1] : NULL, count > 2);
}
