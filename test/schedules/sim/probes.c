/* probes.c - the texts of rare states, and which were never hit. */
#include "probes.h"

static const char *const probe_texts[PROBES] = {
#define PROBE_TEXT(word, text) [word] = text,
    PROBE_LIST(PROBE_TEXT)
#undef PROBE_TEXT
};

uint32_t probes_missed(bool say)
{
    uint32_t missed = 0;
    for (uint32_t i = 0; i < PROBES; i++) {
        if (tallied->probes[i] > 0)
            continue;
        missed++;
        if (say)
            printf("probe never hit: %s\n", probe_texts[i]);
    }
    return missed;
}

uint64_t probes_rarest(void)
{
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < PROBES; i++)
        least = tallied->probes[i] < least ? tallied->probes[i] : least;
    return least;
}

void probes_print(void)
{
    for (uint32_t i = 0; i < PROBES; i++)
        printf("  %12" PRIu64 "  %s\n", tallied->probes[i], probe_texts[i]);
    printf("%" PRIu32 " of %d probes hit\n", (uint32_t)PROBES - probes_missed(false), PROBES);
}
