/* restart_case.h - the parameters of a restart that is measured; restart.h runs it. */
#ifndef BENCH_RESTART_CASE_H
#define BENCH_RESTART_CASE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include <axo/axo.h>

typedef enum restart_mode { HOT, PACED, LOADED, MODES } restart_mode;
typedef enum restart_how {
    BY_STATUS, BY_FAIL, BY_THROW, BY_SEGV, BY_ABORT, BY_STUCK, BY_KILL, HOWS
} restart_how;

static const char *const restart_modes[MODES] = {"hot", "paced", "loaded"};
static const char *const restart_hows[HOWS] = {"status", "fail",  "throw", "segv",
                                               "abort",  "stuck", "kill"};

/* Of the class that is stuck, the least there is. */
#define RESTART_WATCHDOG_MS 1

/* Crashes and loops, which the system has to contain. Such an actor's children are always
 * stopped. */
static inline bool restart_crashes(restart_how how)
{
    return how == BY_SEGV || how == BY_ABORT || how == BY_STUCK;
}

/* Crashes are contained, as many as there are. */
static inline void restart_contain(axo_options *options, restart_how how)
{
    if (!restart_crashes(how))
        return;
    options->contain = 1;
    options->crashes_max = 65536;
    options->crash_window_ns = 1;
}

/* Ends as a bug would: a write to null, or abort. */
static __attribute__((noinline, unused)) void restart_crash(restart_how how)
{
    static volatile uint32_t *volatile nothing;
    if (how == BY_SEGV)
        *nothing = 1;
    abort();
}

typedef struct restart_case {
    restart_mode mode;
    restart_how how;
    uint32_t depth;    /* from the victim's parent up to the decider, itself one; from 1 */
    uint32_t children; /* of the victim */
    bool remake;       /* children and links are not kept */
    uint32_t siblings; /* other children of the decider */
    axo_scope scope;   /* of the decider */
    uint32_t queue;    /* messages behind the failing one, from 1 */
    uint32_t burners;  /* loaded: actors that are always ready */
    double rate;       /* paced, loaded: failures a second at most */
    uint32_t at_least; /* a run goes on beyond its time until so many restarts are measured */
    uint64_t seed;     /* of the system */
    bool contain;      /* the system contains crashes, whether there are any or not */
    bool recorded;     /* the marks of recorder.h instead of the clock's two */
} restart_case;

/* Restarts, or new actors in their place, of one failure. */
static inline uint32_t restart_touched(const restart_case *what)
{
    return what->depth + what->children + (what->scope == AXO_ONE_FOR_ONE ? 0 : what->siblings);
}

/* Failures a second at a mode's own rate: fewer, if each touches many. */
static inline double restart_rate(const restart_case *what)
{
    double most = what->mode == LOADED ? 10000.0 : what->how == BY_KILL ? 50.0 : 1000.0;
    double bearable = 500000.0 / (double)restart_touched(what);
    return bearable < most ? bearable : most;
}

#endif
