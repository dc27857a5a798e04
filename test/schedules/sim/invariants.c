/* invariants.c - which of the invariants was looked at, and how often. */
#include "invariants.h"

const invariant invariants[INVARIANTS] = {
#define INVARIANT_ROW(number, when, text, where) {number, when, text, where},
    INVARIANT_LIST(INVARIANT_ROW)
#undef INVARIANT_ROW
};

static tally tally_own;

tally *tallied = &tally_own;

void invariants_print(void)
{
    uint32_t checkers = 0;
    for (uint32_t i = 0; i < INVARIANTS; i++) {
        const invariant *it = &invariants[i];
        uint64_t count = tallied->checked[it->number];
        checkers += count > 0;
        printf("  %2" PRIu32 " %-2s %12" PRIu64 "  %-62s %s\n", it->number, it->when, count,
               it->text, it->where);
    }
    printf("%" PRIu32 " of %d invariants checked\n", checkers, INVARIANTS);
}

uint32_t invariants_idle(bool say)
{
    uint32_t idle = 0;
    for (uint32_t i = 0; i < INVARIANTS; i++) {
        if (tallied->checked[invariants[i].number] > 0)
            continue;
        idle++;
        if (say)
            printf("invariant %" PRIu32 " was never checked: %s\n", invariants[i].number,
                   invariants[i].text);
    }
    return idle;
}
