/* stuck.h - for tests of callbacks that do not end: one that has to be interrupted, and ones that
 * end when they are told to. */
#ifndef TEST_FAULT_STUCK_H
#define TEST_FAULT_STUCK_H

#include "fault/crash.h"

static volatile uint64_t stuck_sink;
static atomic_bool stuck_over; /* what is not interrupted may end */
static int stuck_pipe[2];

static inline bool stuck_goes_on(void)
{
    return !atomic_load(&stuck_over);
}

static __attribute__((noinline, unused)) void stuck_deep(uint32_t depth)
{
    if (depth > 0)
        stuck_deep(depth - 1);
    while (depth == 0)
        stuck_sink++;
    stuck_sink++;
}

static inline void stuck_loop(axo_ctx *ctx)
{
    stuck_deep(20);
}

static inline void stuck_spin(void *arg)
{
    while (stuck_goes_on())
        stuck_sink++;
}

static inline void stuck_patient(axo_ctx *ctx)
{
    stuck_spin(NULL);
}

static inline axo_options stuck_options(void)
{
    crash_watchdog_ms = 5;
    return (axo_options){.workers = 1, .stuck_ns = 20 * PARTS_MS};
}

static inline void stuck_let_go(void)
{
    atomic_store(&stuck_over, true);
    CRASH_CHECK(write(stuck_pipe[1], "x", 1) == 1);
}

#endif
