/* replay.h - a run by its file: a seed, a strategy, and, if it says so, only some of its operations
 * and only some of its choices. Lines of the text:
 *
 *   seed 122
 *   strategy random
 *   only                      no operations but these
 *   operation 9f3c... fail    key, what it is
 *   chosen                    no choices but these, in the first life
 *   choice who 17 2           kind, number, value
 *   # anything
 */
#ifndef TEST_SIM_REPLAY_H
#define TEST_SIM_REPLAY_H

#include "tree.h"

#define REPLAY_CHOICES 65536

typedef struct replay {
    uint64_t seed;
    char strategy[32];
    bool only;
    bool chosen;
    uint32_t key_count;
    uint32_t choice_count;
    uint64_t keys[WORLD_OPERATIONS];
    axo__sim_choice choices[REPLAY_CHOICES];
} replay;

void replay_seed(replay *it, uint64_t seed);

/* The keys are sorted, and looked up, in here. */
uint64_t replay_run(replay *it, bool loud);

bool replay_read(replay *it, const char *path);

/* `known`: the operations of a run, for what they are called. */
void replay_write(const replay *it, const orders *known, FILE *to);

#endif
