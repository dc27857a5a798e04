/* replay.c - a run by its file. */
#include "replay.h"

/* Which way to choose a seed has: most of them whoever can run. */
static const char *replay_strategy(uint64_t seed)
{
    static const char *const ways[] = {"random", "random", "random", "random",
                                       "random", "sticky", "starve", "swizzle"};
    const char *said = getenv("STRATEGY");
    return said != NULL && said[0] != 0 ? said : ways[seed % WORLD_COUNT(ways)];
}

void replay_seed(replay *it, uint64_t seed)
{
    memset(it, 0, offsetof(replay, keys));
    it->seed = seed;
    (void)snprintf(it->strategy, sizeof it->strategy, "%s", replay_strategy(seed));
}

static int replay_order(const void *a, const void *b)
{
    const uint64_t *one = a;
    const uint64_t *two = b;
    return *one < *two ? -1 : *one > *two;
}

uint64_t replay_run(replay *it, bool loud)
{
    qsort(it->keys, it->key_count, sizeof it->keys[0], replay_order);
    o.only = it->only;
    o.keys = it->keys;
    o.key_count = it->key_count;
    t.choices = it->chosen ? it->choices : NULL;
    t.choice_count = it->choice_count;
    look_unfair = strcmp(it->strategy, "random") != 0;
    if (!axo__sim_strategy(it->strategy))
        ghost_fail("no such strategy: %s", it->strategy);
    return tree_run(it->seed, loud);
}

static bool replay_line(replay *it, const char *line)
{
    char word[32];
    uint64_t number = 0;
    axo__sim_choice choice = {.kind = 0};
    if (line[0] == '#' || line[0] == '\n')
        return true;
    if (sscanf(line, "seed %" SCNu64, &it->seed) == 1 ||
        sscanf(line, "strategy %31s", it->strategy) == 1)
        return true;
    if (sscanf(line, "operation %" SCNx64, &number) == 1 && it->key_count < WORLD_OPERATIONS) {
        it->keys[it->key_count++] = number;
        return true;
    }
    if (sscanf(line, "choice %31s %" SCNu64 " %" SCNu32, word, &choice.index, &choice.value) == 3 &&
        it->choice_count < REPLAY_CHOICES) {
        choice.kind = axo__sim_kind_named(word);
        it->choices[it->choice_count++] = choice;
        return choice.kind < AXO__SIM_KINDS;
    }
    it->only = it->only || strncmp(line, "only", 4) == 0;
    it->chosen = it->chosen || strncmp(line, "chosen", 6) == 0;
    return strncmp(line, "only", 4) == 0 || strncmp(line, "chosen", 6) == 0;
}

bool replay_read(replay *it, const char *path)
{
    char line[256];
    bool good = true;
    FILE *from = fopen(path, "r");
    if (from == NULL)
        return false;
    replay_seed(it, 1);
    while (good && fgets(line, sizeof line, from) != NULL && strncmp(line, "----", 4) != 0)
        good = replay_line(it, line);
    (void)fclose(from);
    return good;
}

void replay_write(const replay *it, const orders *known, FILE *to)
{
    fprintf(to, "seed %" PRIu64 "\nstrategy %s\n", it->seed, it->strategy);
    if (it->only)
        fprintf(to, "only\n");
    for (uint32_t i = 0; i < it->key_count; i++) {
        const char *what = "?";
        for (uint32_t j = 0; j < known->operation_count; j++) {
            if (known->operations[j].key == it->keys[i])
                what = knob_infos[known->operations[j].what].text;
        }
        fprintf(to, "operation %016" PRIx64 " %s\n", it->keys[i], what);
    }
    if (it->chosen)
        fprintf(to, "chosen\n");
    for (uint32_t i = 0; i < it->choice_count; i++)
        fprintf(to, "choice %s %" PRIu64 " %" PRIu32 "\n", axo__sim_kind_name(it->choices[i].kind),
                it->choices[i].index, it->choices[i].value);
}
