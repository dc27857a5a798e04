/* seeds.h - the command line of a simulator that runs whole worlds by seed, and what it says of
 * them: --seeds COUNT [FIRST]; and, of one whose seeds repeat, --hash SEED. */
#ifndef TEST_SCHEDULES_SEEDS_H
#define TEST_SCHEDULES_SEEDS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SEEDS_FEW   50  /* so many run again each */
#define SEEDS_TWICE 100 /* else one of so many */

typedef struct seeds {
    uint64_t count; /* from 1 */
    uint64_t first;
    uint64_t failed;
} seeds;

/* false: the words say nothing of seeds, and it is said what they may say. */
static inline bool seeds_read(seeds *all, int count, char **words, const char *program)
{
    bool given = count > 2 && strcmp(words[1], "--seeds") == 0;
    *all = (seeds){.count = given ? strtoull(words[2], NULL, 10) : 0,
                   .first = count > 3 ? strtoull(words[3], NULL, 10) : 1};
    if (all->count == 0)
        fprintf(stderr, "usage: %s --seeds COUNT [FIRST]\n", program);
    return all->count > 0;
}

/* Whether the words ask for one seed's hash, and of which. */
static inline bool seeds_hash(int count, char **words, uint64_t *seed)
{
    bool asked = count == 3 && strcmp(words[1], "--hash") == 0;
    *seed = asked ? strtoull(words[2], NULL, 10) : 0;
    return asked;
}

/* Whether the seed has that hash also in the program `self`, started anew: with other addresses. A
 * seed that does not run again has it. */
static inline bool seeds_repeat(const seeds *all, char *self, uint64_t seed, uint64_t hash)
{
    char number[32];
    unsigned long long again = 0;
    int ends[2];
    if (all->count > SEEDS_FEW && seed % SEEDS_TWICE != 0)
        return true;
    if (pipe(ends) != 0)
        return false;
    fflush(NULL);
    (void)snprintf(number, sizeof number, "%llu", (unsigned long long)seed);
    pid_t child = fork();
    if (child == 0) {
        (void)dup2(ends[1], STDOUT_FILENO);
        (void)execl(self, self, "--hash", number, (char *)NULL);
        _exit(127);
    }
    (void)close(ends[1]);
    FILE *from = fdopen(ends[0], "r");
    bool said = from != NULL && fscanf(from, "%llx", &again) == 1;
    if (from != NULL)
        (void)fclose(from);
    (void)waitpid(child, NULL, 0);
    if (said && again == hash)
        return true;
    printf("seed %s: run again it has the hash %016llx, not %016llx\n", number, again,
           (unsigned long long)hash);
    return false;
}

/* What the seeds have met, by probe; of 1000 or more each has to have been met. `more` stands
 * behind the sum.
 *   returns   main's result */
static inline int seeds_end(const seeds *all, const uint64_t *met, const char *const *names,
                            uint32_t probes, const char *more)
{
    bool unmet = false;
    for (uint32_t i = 0; i < probes; i++) {
        printf("%12llu  %s\n", (unsigned long long)met[i], names[i]);
        unmet |= met[i] == 0 && all->count >= 1000;
    }
    printf("%llu seeds, %llu failed%s\n", (unsigned long long)all->count,
           (unsigned long long)all->failed, more);
    if (unmet)
        printf("something was never met\n");
    return all->failed > 0 || unmet ? 1 : 0;
}

#endif
