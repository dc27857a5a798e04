/* budget.h - parents with a restart budget, and children that spend it. */
#ifndef AXO_TEST_BUDGET_H
#define AXO_TEST_BUDGET_H

#include <stdio.h>

#include "support/kit.h"

#define BUDGET_HOUR_NS (INT64_C(3600) * 1000000000)

typedef struct budget {
    int32_t retries;
    int64_t within_ns;
    axo_window window;
} budget;

/* A parent with this budget, of one-for-one scope, whose answer is Restart. */
static inline kit_script *budget_parent(kit *k, const char *label, budget b)
{
    kit_script *p = kit_actor(k, label);
    char pattern[80];
    p->strategy.limited = 1;
    p->strategy.retries_max = b.retries;
    p->strategy.within_ns = b.within_ns;
    p->strategy.window = b.window;
    p->directive = AXO_RESTART;
    (void)kit_spawn(k, p);
    (void)snprintf(pattern, sizeof pattern, "%s.preStart", label);
    kit_await(k, pattern);
    return p;
}

/* Fails the child once, and awaits its next instance, or its end if that is due. */
static inline void budget_crash(kit *k, kit_script *a, uint32_t instance, bool permitted)
{
    char pattern[80];
    (void)kit_tell(k, a, KIT_FAIL, (int64_t)instance);
    if (permitted)
        (void)snprintf(pattern, sizeof pattern, "%s#%u.preStart", a->label, instance + 1);
    else
        (void)snprintf(pattern, sizeof pattern, "%s.terminated", a->label);
    kit_await(k, pattern);
}

/* Exactly `permits` restarts, then the end. */
static inline void budget_crash_until(kit *k, kit_script *a, uint32_t permits)
{
    char pattern[80];
    for (uint32_t i = 1; i <= permits + 1; i++)
        budget_crash(k, a, i, i <= permits);
    (void)snprintf(pattern, sizeof pattern, "%s.ctor", a->label);
    kit_expect_count(k, pattern, permits + 1);
    (void)snprintf(pattern, sizeof pattern, "%s.fails", a->label);
    kit_expect_count(k, pattern, permits + 1);
    (void)snprintf(pattern, sizeof pattern, "%s.preRestart", a->label);
    kit_expect_count(k, pattern, permits);
}

/* `n` restarts, and alive. */
static inline void budget_crash_for_ever(kit *k, kit_script *a, uint32_t n)
{
    char pattern[80];
    for (uint32_t i = 1; i <= n; i++)
        budget_crash(k, a, i, true);
    (void)kit_tell(k, a, KIT_NOTE, 1);
    (void)snprintf(pattern, sizeof pattern, "%s#%u.note(1)", a->label, n + 1);
    kit_await(k, pattern);
}

#endif
