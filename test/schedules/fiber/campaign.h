/* campaign.h - many schedules of many scenes; what becomes of one that fails. */
#ifndef FIBER_CAMPAIGN_H
#define FIBER_CAMPAIGN_H

#include <stdbool.h>
#include <stdint.h>

typedef struct campaign_options {
    uint64_t schedules;
    uint64_t seed;
    const char *scene;    /* NULL: all */
    const char *strategy; /* NULL: all */
    const char *folder;   /* of bundles; NULL: none are left */
    bool whole;           /* walks only */
    bool chance;          /* no walks */
} campaign_options;

/* 0: all held, and the planted bugs were found. */
int campaign_run(const campaign_options *options);

/* One schedule, twice, with its chart. */
int campaign_replay(const campaign_options *options);
int campaign_bundle(const char *file);

#endif
