/* slower.h - how much slower a test runs than it was written for, so that it can do less. Memcheck
 * says so by the environment, AXO_TEST_SLOWER, which run_tests.py sets for it. */
#ifndef AXO_TEST_SUPPORT_SLOWER_H
#define AXO_TEST_SUPPORT_SLOWER_H

#include <stdint.h>
#include <stdlib.h>

/* From 1; 1: not slower. */
static inline uint32_t slower(void)
{
    const char *text = getenv("AXO_TEST_SLOWER");
    long factor = text != NULL ? strtol(text, NULL, 10) : 1;
    return factor >= 1 && factor <= 1000 ? (uint32_t)factor : 1;
}

/* So much of `count` as takes the usual time; at least `least`. */
static inline uint32_t slower_share(uint32_t count, uint32_t least)
{
    uint32_t share = count / slower();
    return share > least ? share : least;
}

#endif
