/* shrink.c - what is left of a failure when nothing more can be left out. */
#include "shrink.h"

#define SHRINK_TRIES   600
#define SHRINK_SECONDS 40
#define SHRINK_COLUMNS 8
#define SHRINK_ACTORS  64
#define SHRINK_FOLDER  "build/sim/failures"

/* Shared with the tries. */
typedef struct shrink {
    replay now;
    orders done; /* operations of the last try */
    axo__sim_choice log[REPLAY_CHOICES];
    uint32_t log_count;
    uint32_t lives;
    tally tally;
    char text[320];
} shrink;

static shrink *sh;
static const char *shrink_bundle; /* where the try writes one; NULL: none */

/* ---- the bundle ---- */

static void shrink_cells(FILE *to)
{
    fprintf(to, "\ncells: actor parent instance suspends told answer; word, directives\n");
    for (uint32_t i = 0; i < g.count; i++) {
        const ghost *it = &g.all[i];
        if (it->terminated || l.system == NULL)
            continue;
        const axo__cell *cell = look_at(it);
        fprintf(to,
                "  %014" PRIx64 " %014" PRIx64 " #%" PRIu32 " s%" PRIu32 " %+" PRId32 " %u%s%s%s%s"
                "; %016" PRIx64 " %016" PRIx64 " phase %u suspends %" PRIu32 "\n",
                it->bits, it->parent, it->instance, it->suspends, it->told, it->answer,
                it->failed ? " failed" : "", it->restart_told ? " restart" : "",
                it->stop_told ? " stop" : "", it->stopping ? " stopping" : "",
                axo__state_look(&cell->state), axo__directives_look(&cell->directives),
                (unsigned)cell->phase, axo__state_suspends(&cell->state));
    }
}

static uint32_t shrink_column(uint64_t *actors, uint32_t *count, uint64_t bits)
{
    uint32_t at = 0;
    while (at < *count && actors[at] != bits)
        at++;
    if (at == *count && at < SHRINK_ACTORS)
        actors[(*count)++] = bits;
    return at;
}

static bool shrink_has_actor(uint32_t kind)
{
    return kind == AXO_EV_SPAWN || kind == AXO_EV_REPORT || kind == AXO_EV_HOLD ||
           kind == AXO_EV_CHILD_GONE || kind == AXO_EV_WATCH || kind == AXO_EV_UNWATCH ||
           kind == AXO_EV_NOTICE || kind == AXO_EV_PARK;
}

/* Time goes down; an actor each column, as they come. */
static void shrink_chart(FILE *to)
{
    uint64_t actors[SHRINK_ACTORS + 1];
    uint32_t count = 0;
    fprintf(to, "\nchart: each column an actor, in the order in which they come\n");
    for (uint64_t i = g.events > GHOST_RING ? g.events - GHOST_RING : 0; i < g.events; i++) {
        const axo_event *e = &g.ring[i % GHOST_RING];
        uint32_t column = shrink_column(actors, &count, e->actor.bits);
        fprintf(to, "%9.3f us w%-5x %*s%c %s", (double)(e->time_ns % 1000000000) / 1000,
                e->worker & 0xfffff, (int)(column % SHRINK_COLUMNS * 12), "",
                'A' + (int)(column % 26), axo_event_name(e->kind));
        if (shrink_has_actor(e->kind))
            fprintf(to, " %c\n", 'A' + (int)(shrink_column(actors, &count, e->arg) % 26));
        else
            fprintf(to, " %" PRIx64 "\n", e->arg);
    }
}

static void shrink_commit(FILE *to)
{
    char line[80] = "?";
    FILE *from = popen("git rev-parse HEAD 2>/dev/null", "r");
    if (from != NULL && fgets(line, sizeof line, from) == NULL)
        line[0] = '?';
    if (from != NULL)
        (void)pclose(from);
    line[strcspn(line, "\n")] = 0;
    fprintf(to, "# commit %s\n", line);
}

static void shrink_write(uint32_t violated)
{
    FILE *to = fopen(shrink_bundle, "w");
    if (to == NULL)
        return;
    fprintf(to, "# %s\n", g.said);
    if (violated > 0)
        fprintf(to, "# invariant %" PRIu32 ": %s; checked by %s\n", violated,
                invariants[violated - 1].text, invariants[violated - 1].where);
    shrink_commit(to);
    if (l.system != NULL)
        fprintf(to, "# workers %" PRIu32 ", quantum %" PRIu32 ", manual %d, life %" PRIu32 "\n",
                l.system->sched.worker_count, l.system->sched.quantum, w.manual, w.life);
    replay_write(&sh->now, &sh->done, to);
    fprintf(to, "\n---- to be read: what follows is no part of the replay\n");
    shrink_cells(to);
    if (sh->now.only)
        shrink_chart(to);
    fprintf(to, "\nevents: number time worker actor instance suspends what argument\n");
    ghost_show_events(to, GHOST_RING);
    (void)fclose(to);
}

/* A try ends in a failure. */
static void shrink_end(uint32_t violated, const char *text)
{
    size_t count = 0;
    const axo__sim_choice *log = axo__sim_log(&count);
    (void)snprintf(sh->text, sizeof sh->text, "%s", text);
    sh->done.operation_count = o.operation_count;
    memcpy(sh->done.operations, o.operations, sizeof o.operations[0] * o.operation_count);
    sh->log_count = count < REPLAY_CHOICES ? (uint32_t)count : REPLAY_CHOICES;
    memcpy(sh->log, log, sizeof log[0] * sh->log_count);
    sh->lives = t.lives;
    if (shrink_bundle != NULL)
        shrink_write(violated);
}

/* ---- tries ---- */

/* Which invariant is violated; 0: another failure; INVARIANTS + 1: none. */
static uint32_t shrink_try(bool record)
{
    int status = 0;
    fflush(NULL);
    sh->tally.violated = INVARIANTS + 1;
    pid_t child = fork();
    if (child == 0) {
        tallied = &sh->tally;
        g.on_end = shrink_end;
        o.record = record;
        tree_limit(SHRINK_SECONDS);
        (void)replay_run(&sh->now, false);
        _exit(0);
    }
    (void)waitpid(child, &status, 0);
    return status == 0 ? INVARIANTS + 1 : sh->tally.violated;
}

typedef struct shrink_limit {
    uint32_t tries;
    time_t until;
    uint32_t violated;
} shrink_limit;

static bool shrink_still(shrink_limit *limit)
{
    if (limit->tries == 0 || time(NULL) >= limit->until)
        return false;
    limit->tries--;
    return shrink_try(false) == limit->violated;
}

/* Leaves out ever smaller parts of the keys that are (not) faults. */
static void shrink_keys(shrink_limit *limit, const uint8_t *faults, bool fault)
{
    static uint64_t before[WORLD_OPERATIONS];
    for (uint32_t size = sh->now.key_count; size > 0; size /= 2) {
        for (uint32_t from = 0; from < sh->now.key_count;) {
            uint32_t count = sh->now.key_count;
            uint32_t kept = 0;
            memcpy(before, sh->now.keys, sizeof before[0] * count);
            for (uint32_t i = 0; i < count; i++) {
                bool out = i >= from && i < from + size &&
                           (faults[before[i] % WORLD_OPERATIONS] != 0) == fault;
                if (!out)
                    sh->now.keys[kept++] = before[i];
            }
            sh->now.key_count = kept;
            if (kept < count && shrink_still(limit))
                continue;
            memcpy(sh->now.keys, before, sizeof before[0] * count);
            sh->now.key_count = count;
            from += size;
        }
    }
}

static void shrink_choices(shrink_limit *limit)
{
    static axo__sim_choice before[REPLAY_CHOICES];
    memcpy(sh->now.choices, sh->log, sizeof sh->log[0] * sh->log_count);
    sh->now.choice_count = sh->log_count;
    sh->now.chosen = true;
    if (sh->lives > 1 || !shrink_still(limit)) {
        sh->now.chosen = false;
        sh->now.choice_count = 0;
        return;
    }
    for (uint32_t size = sh->now.choice_count; size > 0; size /= 2) {
        for (uint32_t from = 0; from < sh->now.choice_count;) {
            uint32_t count = sh->now.choice_count;
            uint32_t end = from + size < count ? from + size : count;
            memcpy(before, sh->now.choices, sizeof before[0] * count);
            memmove(sh->now.choices + from, before + end, sizeof before[0] * (count - end));
            sh->now.choice_count = count - (end - from);
            if (shrink_still(limit))
                continue;
            memcpy(sh->now.choices, before, sizeof before[0] * count);
            sh->now.choice_count = count;
            from += size;
        }
    }
}

int shrink_seed(uint64_t seed)
{
    static uint8_t faults[WORLD_OPERATIONS];
    char path[128];
    sh = mmap(NULL, sizeof *sh, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (sh == MAP_FAILED)
        return 2;
    (void)mkdir("build", 0777);
    (void)mkdir("build/sim", 0777);
    (void)mkdir(SHRINK_FOLDER, 0777);
    (void)snprintf(path, sizeof path, SHRINK_FOLDER "/seed-%" PRIu64 ".txt", seed);
    replay_seed(&sh->now, seed);
    shrink_bundle = path;
    shrink_limit limit = {.tries = SHRINK_TRIES, .until = time(NULL) + SHRINK_SECONDS};
    limit.violated = shrink_try(true);
    if (limit.violated > INVARIANTS)
        return 0;
    printf("%s\n  the whole: %s\n", sh->text, path);
    shrink_bundle = NULL;
    sh->now.only = true;
    sh->now.key_count = sh->done.operation_count;
    for (uint32_t i = 0; i < sh->now.key_count; i++) {
        sh->now.keys[i] = sh->done.operations[i].key;
        faults[sh->now.keys[i] % WORLD_OPERATIONS] |=
            (uint8_t)knob_infos[sh->done.operations[i].what].fault;
    }
    uint32_t before = sh->now.key_count;
    shrink_keys(&limit, faults, false);
    shrink_keys(&limit, faults, true);
    (void)shrink_try(true);
    shrink_choices(&limit);
    (void)snprintf(path, sizeof path, SHRINK_FOLDER "/seed-%" PRIu64 "-small.txt", seed);
    shrink_bundle = path;
    bool same = shrink_try(true) == limit.violated;
    printf("  the rest, %" PRIu32 " of %" PRIu32 " operations, %" PRIu32 " choices%s: %s\n",
           sh->now.key_count, before, sh->now.choice_count, same ? "" : ", fails otherwise", path);
    return 1;
}
