/* storm.c - the hierarchy test with one request in fifty refused. */
#include "fault/storm.h"

#include <sched.h>
#include <stdio.h>

#include <axo/axo.h>

#include "fault/site.h"
#include "support/hierarchy.h"

enum { STORM_ONE_IN = 50, STORM_ITEMS = 6000, STORM_ACTORS = 120 };

axo_status again_system_start(const axo_options *options, axo_system **out);

void fault_await_guardians(axo_system *system)
{
    for (uint32_t i = 0; i < 3;) {
        axo_actor_info info = AXO_ACTOR_INFO(.queued = 0);
        axo_ref guardian = axo_system_guardian(system, (axo_guardian)i);
        if (axo_system_inspect(system, guardian, axo_ref_none(), &info) == AXO_OK &&
            info.doing == AXO_DOING_IDLE)
            i++;
        else
            sched_yield();
    }
}

axo_status again_system_start(const axo_options *options, axo_system **out)
{
    refuse_disarm();
    axo_status status = axo_system_start(options, out);
    if (status == AXO_OK)
        fault_await_guardians(*out);
    refuse_arm(REFUSE_RANDOM, STORM_ONE_IN);
    return status;
}

bool fault_hierarchy(uint32_t seeds)
{
    uint64_t before = refuse_denials();
    bool good = true;
    for (uint32_t seed = 1; seed <= seeds; seed++) {
        hierarchy_options options = {.seed = seed, .items = STORM_ITEMS, .actors = STORM_ACTORS,
                                     .workers = 1 + seed % 2, .dispatch = HIERARCHY_PLAIN};
        hierarchy_result result;
        refuse_separate(seed % 2 == 0);
        good = hierarchy_run(&options, &result) && good;
        refuse_disarm();
        const refuse_site *leak = refuse_leak();
        if (leak != NULL) {
            (void)printf("hierarchy, seed %u: %lld blocks left of %s:%llu\n", (unsigned)seed,
                         (long long)leak->live, leak->file, (unsigned long long)leak->line);
            good = false;
        }
    }
    refuse_separate(false);
    (void)printf("  %-40s %5llu refusals, one in %d, %u seeds\n", "hierarchy",
                 (unsigned long long)(refuse_denials() - before), STORM_ONE_IN, (unsigned)seeds);
    return good;
}
