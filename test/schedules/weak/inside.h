/* inside.h - what the checker's own files share: the driver and the fibers (check.c), the memory
 * model (memory.c). */
#ifndef AXO_TEST_WEAK_INSIDE_H
#define AXO_TEST_WEAK_INSIDE_H

#include "schedules/weak/check.h"

/* Setup and check are fiber 0. */
#define WEAK_ALL_FIBERS (WEAK_FIBERS + 1)

/* How much each fiber's past holds of the others'. */
typedef uint16_t weak_clock __attribute__((vector_size(16)));

static inline weak_clock weak_join(weak_clock a, weak_clock b)
{
    weak_clock more = (weak_clock)(a > b);
    return (a & more) | (b & ~more);
}

typedef struct weak_world {
    const weak_scenario *scenario;
    uint32_t self;
    bool tracing;
    uint64_t operations;
    uint32_t steps; /* operations of this execution */
    bool spins[WEAK_ALL_FIBERS];
    weak_clock now[WEAK_ALL_FIBERS];
} weak_world;

extern weak_world weak_it;

/* ---- check.c ---- */

/* Before an operation: somebody else may run. */
void weak_point(void);
void weak_known(weak_site *site);

/* ---- names.c ---- */

void weak_names_reset(void);

/* What weak_name has called it; NULL: nothing. */
const char *weak_name_of(const void *at);

/* ---- memory.c ---- */

void weak_memory_reset(void);

/* The fibers start after setup; all of them are over before the check. */
void weak_memory_fork(void);
void weak_memory_join(void);

#endif
