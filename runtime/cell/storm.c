/* storm.c - see storm.h. */
#include "cell/storm.h"

#include "base/assert.h"

#define STORM_ONE UINT64_C(0x100000000)
/* Workers that may have asked and not entered: those of the default pool, pinned ones, blocking
 * ones. */
#define STORM_ASKING INT64_C(4096)

static uint32_t storm_waiting(uint64_t word)
{
    return (uint32_t)word;
}

void axo__storm_init(axo__storm *storm, uint32_t most, int64_t window_ns)
{
    AXO_DEBUG_ASSERT(most == 0 || most <= window_ns);
    storm->interval_ns = most > 0 ? window_ns / most : 0;
    storm->slack_ns = window_ns - storm->interval_ns;
    axo__a64_store_relaxed(&storm->next, 0);
    axo__a64_store_relaxed(&storm->waiting, 0);
}

/* How far ahead of the clock the place of a new restart is: not in the past, and not far behind
 * those who wait, where children that ended while they waited leave it, or a program's clock that
 * was set back. A worker that has asked and not yet entered has a place that `waiting` does not
 * show. `next` is 0 before the first one. */
static int64_t storm_ahead(const axo__storm *storm, uint64_t next, uint64_t now)
{
    int64_t waiting = (int64_t)storm_waiting(axo__a64_load_relaxed(&storm->waiting));
    int64_t behind = waiting > 0 ? storm->slack_ns + storm->interval_ns * waiting : 0;
    int64_t ahead = (int64_t)(next - now); /* a clock may stand anywhere */
    int64_t most = storm->slack_ns + storm->interval_ns * (waiting + STORM_ASKING);
    if (next == 0 || ahead < 0)
        return 0;
    return ahead > most ? behind : ahead;
}

/* 0 is nobody's place. */
static uint64_t storm_next(uint64_t place)
{
    return place != 0 ? place : 1;
}

int64_t axo__storm_ask(axo__storm *storm, int64_t now)
{
    uint64_t from = (uint64_t)now;
    int64_t ahead;
    if (storm->interval_ns == 0)
        return 0;
    uint64_t next = axo__a64_load_relaxed(&storm->next);
    do {
        ahead = storm_ahead(storm, next, from);
    } while (!axo__a64_cas_acq_rel(&storm->next, &next, /* [N1] */
                                   storm_next(from + (uint64_t)(ahead + storm->interval_ns))));
    return ahead > storm->slack_ns ? ahead - storm->slack_ns : 0;
}

uint32_t axo__storm_enter(axo__storm *storm)
{
    uint64_t word = axo__a64_load_relaxed(&storm->waiting);
    uint64_t after;
    do {
        after = word + 1 + (storm_waiting(word) == 0 ? STORM_ONE : 0);
    } while (!axo__a64_cas_acq_rel(&storm->waiting, &word, after)); /* [N2] */
    return storm_waiting(word) == 0 ? (uint32_t)(after / STORM_ONE) : 0;
}

uint32_t axo__storm_leave(axo__storm *storm)
{
    uint64_t word = axo__a64_load_relaxed(&storm->waiting);
    do {
        AXO_DEBUG_ASSERT(storm_waiting(word) > 0);
    } while (!axo__a64_cas_acq_rel(&storm->waiting, &word, word - 1)); /* [N2] */
    return storm_waiting(word) == 1 ? (uint32_t)(word / STORM_ONE) : 0;
}
