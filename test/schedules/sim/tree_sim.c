/* tree_sim.c - random trees of actors that fail in every way, in the simulator.
 *
 *   tree_sim --seeds N [FROM]   seeds FROM (1) and on, on two processes; bars, if N is large
 *   tree_sim --table N [FROM]   the same, with how often each invariant and each probe was met
 *   tree_sim --seed X           one seed, twice, with the last events if it fails
 *   tree_sim --shrink X         a seed that fails: its bundle, and what can be left out of it
 *   tree_sim --replay FILE      a bundle, or a file of the corpus
 *   tree_sim --corpus FOLDER    all of them
 *   tree_sim --invariants       the invariants
 *   tree_sim --hash X           one seed's hash, with memory laid out in another way
 */
#include "campaign.h"

static int tree_usage(void)
{
    fprintf(stderr,
            "usage: tree_sim --seeds NUMBER [FROM] | --table NUMBER [FROM] | --seed SEED |\n"
            "       --shrink SEED | --replay FILE | --corpus FOLDER | --invariants |\n"
            "       --hash SEED\n");
    return 2;
}

/* Twice, the second time with memory laid out in another way. */
static int tree_one(replay *it)
{
    uint64_t first = replay_run(it, true);
    printf("seed %" PRIu64 ", %s: %016" PRIx64 ", %" PRIu64 " steps, %" PRIu32 " lives\n", it->seed,
           it->strategy, first, t.steps, t.lives);
    t.elsewhere = true;
    uint64_t again = replay_run(it, true);
    printf("again: %016" PRIx64 "\n", again);
    HOLDS_ALL(59, first == again, "the same seed gives another run");
    return 0;
}

static int tree_hash(replay *it)
{
    t.elsewhere = true;
    printf("%016" PRIx64 "\n", replay_run(it, false));
    return 0;
}

static int tree_asked(const char *what, const char *arg, uint64_t from)
{
    uint64_t number = strtoull(arg, NULL, 0);
    campaign all = {.from = from, .seeds = number, .jobs = 2, .self = "/proc/self/exe"};
    replay_seed(&campaign_replay, number);
    all.verbose = strcmp(what, "--table") == 0;
    if (all.verbose || strcmp(what, "--seeds") == 0)
        return campaign_all(&all);
    if (strcmp(what, "--seed") == 0)
        return tree_one(&campaign_replay);
    if (strcmp(what, "--hash") == 0)
        return tree_hash(&campaign_replay);
    if (strcmp(what, "--shrink") == 0)
        return shrink_seed(number);
    if (strcmp(what, "--corpus") == 0)
        return campaign_corpus(arg) == 0 ? 0 : 1;
    if (strcmp(what, "--replay") != 0)
        return tree_usage();
    if (!replay_read(&campaign_replay, arg))
        ghost_fail("cannot be read: %s", arg);
    return tree_one(&campaign_replay);
}

int main(int count, char **words)
{
    static const int deaths[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGPROF};
    for (size_t i = 0; i < sizeof deaths / sizeof deaths[0]; i++)
        signal(deaths[i], tree_crash);
    if (count == 2 && strcmp(words[1], "--invariants") == 0) {
        invariants_print();
        return 0;
    }
    if (count < 3)
        return tree_usage();
    return tree_asked(words[1], words[2], count > 3 ? strtoull(words[3], NULL, 0) : 1);
}
