/* campaign.h - many seeds on a few processes, each with a part of the seeds. A process that fails
 * ends with its seed; another goes on with the next one. What they have counted is in memory that
 * they share with this one.
 */
#ifndef TEST_SIM_CAMPAIGN_H
#define TEST_SIM_CAMPAIGN_H

#include "shrink.h"

typedef struct campaign {
    uint64_t from;
    uint64_t seeds;
    uint32_t jobs;
    bool verbose;
    const char *self; /* this program */
} campaign;

extern replay campaign_replay;

/* Every file of the folder, each in a process; how many fail. */
uint32_t campaign_corpus(const char *folder);

/* The exit code. */
int campaign_all(const campaign *it);

#endif
