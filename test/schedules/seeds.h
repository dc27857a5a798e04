/* seeds.h - the command line of a simulator that runs whole worlds by seed, and what it says of
 * them: --seeds COUNT [FIRST]. */
#ifndef TEST_SCHEDULES_SEEDS_H
#define TEST_SCHEDULES_SEEDS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
