/* tree.h - one seed: a random tree of actors that fail in every way, in the simulator.
 *
 * A seed's life: chaos (the actors' program, and calls from outside between the steps), calm
 * (nothing fails any more: the system comes to rest, and every living actor answers), the end. A
 * life that ends early is followed by another until there are steps enough.
 */
#ifndef TEST_SIM_TREE_H
#define TEST_SIM_TREE_H

#include <signal.h>
#include <sys/time.h>

#include "acts.h"
#include "os/sim.h"
#include "os/sim_inside.h"
#include "sched/lent.h"
#include "sched/pool.h"
#include "sched/timer.h"

typedef enum canary { CANARY_NONE, CANARY_TWICE, CANARY_LOST, CANARY_OTHER, CANARIES } canary;

typedef struct tree {
    uint64_t steps; /* of this seed */
    uint64_t blocks;
    uint32_t lives;
    uint32_t canary;
    uint32_t canary_seen;
    bool elsewhere;
    const axo__sim_choice *choices; /* of the first life; NULL: the strategy makes them */
    uint32_t choice_count;
} tree;

extern tree t;

void tree_crash(int number);

/* So much of the processor and no more: on a busy machine a run takes longer, and is not worse. */
void tree_limit(int seconds);

/* One seed; the hash of all its events. A system that ends early is followed by another one. */
uint64_t tree_run(uint64_t seed, bool loud);

#endif
