/* limit.h - how many actors may live at a time: axo_options.actors_max, exactly.
 *
 * What is counted is lives: births and ends, which each local counts anyhow. Slots are made for
 * more than may live, since locals keep some, and those of the dead wait for their grace period.
 *
 * Far from the limit nobody counts together: a local looks when it comes for more cells, and spawns
 * from those that it has got. Near it, `tight` is up: then each birth is counted by its local
 * first, and under the mutex all locals' counts are added; if the sum is too large, this birth's is
 * taken back there. So of those that want the last place one gets it: who is refused is out of the
 * sum before the next one adds. Ends that are not seen yet, and births that find no memory later,
 * make a sum too large for an instant, never too small. Whoever has been told of an end has it in
 * his sum: an end is counted before anybody is told, and what is told carries the count with it.
 *
 * `margin` is what all locals together can bear between two looks. So when a look leaves `tight`
 * down, there is room for whatever is born unseen before the next look of each.
 *
 * Races
 *   `tight` goes up while a spawner is between its count and its look at `tight`, a store and a
 *   load with no fence between them: a sum misses that birth for as long as the count is in the
 *   store buffer of its processor. A sum refuses nobody before some `margin` more births, each of
 *   them under the mutex; no buffer keeps a store that long. A limit that is smaller than the
 *   margin is tight from the first cell on, before there are threads.
 *   `tight` goes down while a spawner has seen it up: the birth is added up, which does no harm.
 *   Guardians count with their places: at a shutdown that of one which has ended is free.
 */
#ifndef AXO__CELL_LIMIT_H
#define AXO__CELL_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "os/os.h"

/* Of births, beside those that locals have cells for: a pool of its own takes one at a time. */
#define AXO__LIMIT_MARGIN 1024u

typedef struct axo__limit {
    axo__a32 tight;  /* 1: each birth is looked at; written under the mutex */
    uint32_t most;   /* may live, guardians included */
    uint32_t margin;
    axo__os_mutex mutex; /* taken after a door's, before `pools_mutex` */
    uint64_t (*living)(void *user); /* births less ends; NULL: nobody counts */
    void *user;
} axo__limit;

/* `living` is called under the mutex. */
bool axo__limit_init(axo__limit *limit, uint32_t most, uint32_t hoards,
                     uint64_t (*living)(void *user), void *user);
void axo__limit_fini(axo__limit *limit);

/* A local has come for cells; `slots` have been made. */
void axo__limit_look(axo__limit *limit, uint32_t slots);

/* A birth that its local has counted already, while `tight` is up; false: it is one too many, and
 * not counted any more. */
bool axo__limit_admits(axo__limit *limit, axo__a64 *births);

static inline bool axo__limit_is_tight(const axo__limit *limit)
{
    return axo__a32_load_relaxed(&limit->tight) != 0;
}

#endif
