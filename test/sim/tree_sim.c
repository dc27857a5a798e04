/* tree_sim.c - random trees of actors that fail in every way, in the simulator.
 *
 *   tree_sim --seeds N [FROM]   seeds FROM (1) and on, on two processes; bars, if N is large
 *   tree_sim --table N [FROM]   the same, with how often each invariant and each probe was met
 *   tree_sim --seed X           one seed, twice, with the last events if it fails
 *   tree_sim --invariants       the invariants
 *   tree_sim --hash X           one seed's hash, with memory laid out in another way
 */
#include "campaign.h"

static int tree_usage(void)
{
    fprintf(stderr, "usage: tree_sim --seeds NUMBER [FROM] | --table NUMBER [FROM] | --seed SEED |"
                    " --invariants | --hash SEED\n");
    return 2;
}

static int tree_one(uint64_t seed)
{
    uint64_t first = tree_run(seed, true);
    printf("seed %" PRIu64 ": %016" PRIx64 ", %" PRIu64 " steps, %" PRIu32 " lives\n", seed, first,
           t.steps, t.lives);
    t.elsewhere = true;
    uint64_t again = tree_run(seed, true);
    printf("seed %" PRIu64 ": %016" PRIx64 "\n", seed, again);
    HOLDS_ALL(59, first == again, "the same seed gives another run");
    return 0;
}

static int tree_hash(uint64_t seed)
{
    t.elsewhere = true;
    printf("%016" PRIx64 "\n", tree_run(seed, false));
    return 0;
}

int main(int count, char **words)
{
    static const int deaths[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGALRM};
    for (size_t i = 0; i < sizeof deaths / sizeof deaths[0]; i++)
        signal(deaths[i], tree_crash);
    if (count == 2 && strcmp(words[1], "--invariants") == 0) {
        invariants_print();
        return 0;
    }
    if (count < 3)
        return tree_usage();
    uint64_t number = strtoull(words[2], NULL, 0);
    campaign it = {.from = count > 3 ? strtoull(words[3], NULL, 0) : 1, .seeds = number,
                   .jobs = 2, .self = "/proc/self/exe"};
    it.verbose = strcmp(words[1], "--table") == 0;
    if (it.verbose || strcmp(words[1], "--seeds") == 0)
        return campaign_all(&it);
    if (strcmp(words[1], "--seed") == 0)
        return tree_one(number);
    if (strcmp(words[1], "--hash") == 0)
        return tree_hash(number);
    return tree_usage();
}
