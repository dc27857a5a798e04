/* limit.h - how many actors may live at a time: axo_options.actors_max, exactly.
 *
 * The limit is on lives: births less ends, which each local counts anyhow. The table makes more
 * slots than may live, since locals keep free cells and the cells of ended actors wait for their
 * grace period.
 *
 * Far from the limit no thread adds the counts up: a local calls axo__limit_look when it fetches
 * more cells, and spawns from the cells that it has got. Near the limit `tight` is 1: then a local
 * counts each birth first, and under the mutex the counts of all locals are added; if the sum is
 * too large, this birth is taken back there. So of several births that want the last place one gets
 * it: a refused birth is out of the sum before the next thread adds. Ends that a sum misses, and
 * births that find no memory later, make a sum too large for an instant, never too small. A thread
 * that has been told of an end finds that end in its sum, for the end is counted before any actor
 * is told, and the telling carries the count with it.
 *
 * `margin` bounds the births of all locals together between two looks. So when a look leaves
 * `tight` at 0, there is room for every birth before each local's next look.
 *
 * Races
 *   `tight` goes up while a spawner is between its count and its look at `tight`, a store and a
 *       load with no fence between them: a sum misses that birth for as long as the count is in the
 *       store buffer of its processor. A sum refuses no birth before about `margin` more births,
 *       each of them under the mutex; no buffer keeps a store that long. A limit smaller than the
 *       margin is tight from the first cell on, before there are threads.
 *   `tight` goes down while a spawner has read 1: its birth is added up, which does no harm.
 *   Guardians count with their places: at a shutdown the place of a guardian that has ended is
 *       free.
 */
#ifndef AXO__CELL_LIMIT_H
#define AXO__CELL_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "os/os.h"

/* Births between two looks, beside those for which locals keep cells: the local of a pool of its
 * own takes a single cell at a time. */
#define AXO__LIMIT_MARGIN 1024u

/* The limit of one system. */
typedef struct axo__limit {
    axo__a32 tight;  /* 1: each birth is added up; written under the mutex */
    uint32_t most;   /* actors that may live, guardians included */
    uint32_t margin;
    bool held;           /* under the mutex: `tight` stays 1 */
    axo__os_mutex mutex; /* taken after a door's gate, before `pools_mutex` */
    uint64_t (*living)(void *user); /* births less ends; NULL: there is no limit */
    void *user;
} axo__limit;

/* `living` is called under the mutex and sums all locals' births and ends. */
bool axo__limit_init(axo__limit *limit, uint32_t most, uint32_t hoards,
                     uint64_t (*living)(void *user), void *user);
void axo__limit_fini(axo__limit *limit);

/* A local has come for cells; `slots` cells have been made so far. */
void axo__limit_look(axo__limit *limit, uint32_t slots);

/* Every birth takes the long way from the caller's next grace period on, until unhold. */
void axo__limit_hold(axo__limit *limit);
void axo__limit_unhold(axo__limit *limit);

/* Admits a birth that its local has counted already, while `tight` is 1; false: the birth is one
 * too many, and not counted any more. */
bool axo__limit_admits(axo__limit *limit, axo__a64 *births);

/* Relaxed: the store of the birth's count and this load are not ordered; see Races. */
static inline bool axo__limit_is_tight(const axo__limit *limit)
{
    return axo__a32_load_relaxed(&limit->tight) != 0;
}

#endif
