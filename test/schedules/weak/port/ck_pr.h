/* ck_pr.h - CK's primitives in the hands of the checker of weak memory: what CK orders by a fence
 * between stores is a release fence here, between loads an acquire fence; the rest is relaxed. */
#ifndef CK_PR_H
#define CK_PR_H

#include <ck_cc.h>
#include <ck_md.h>
#include <ck_stdbool.h>
#include <ck_stdint.h>

#include "schedules/weak/check.h"

static inline unsigned int weak_ck_load(const unsigned int *at)
{
    return (unsigned int)weak_load(at, sizeof *at, WEAK_SITE("ck_load", 0));
}

static inline void weak_ck_store(unsigned int *at, unsigned int value)
{
    weak_store(at, sizeof *at, value, WEAK_SITE("ck_store", 0));
}

static inline bool ck_pr_cas_uint_value(unsigned int *at, unsigned int expected,
                                        unsigned int desired, unsigned int *found)
{
    uint64_t old = expected;
    bool done = weak_cas(at, sizeof *at, &old, desired, WEAK_SITE("ck_cas", 0));
    *found = (unsigned int)old;
    return done;
}

static inline bool ck_pr_cas_uint(unsigned int *at, unsigned int expected, unsigned int desired)
{
    unsigned int found;
    return ck_pr_cas_uint_value(at, expected, desired, &found);
}

#define ck_pr_load_uint(at)       weak_ck_load(at)
#define ck_pr_store_uint(at, v)   weak_ck_store(at, v)
#define ck_pr_fence_store()       weak_fence(WEAK_RELEASE)
#define ck_pr_fence_store_atomic() weak_fence(WEAK_RELEASE)
#define ck_pr_fence_load()        weak_fence(WEAK_ACQUIRE)
#define ck_pr_stall()             weak_fail("CK waits for another")

#endif
