/* process_worlds.h - worlds of processes by chance: so many, each by a seed. */
#ifndef TEST_API_PROCESS_WORLDS_H
#define TEST_API_PROCESS_WORLDS_H

#include "api/process_world.h"

static inline uint64_t w_number(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text != NULL ? strtoull(text, NULL, 10) : otherwise;
}

/* AXO_PROCESS_WORLDS of them, from AXO_SEED on. */
static inline void w_worlds(uint64_t otherwise, void (*run)(uint64_t seed))
{
    uint64_t worlds = w_number("AXO_PROCESS_WORLDS", otherwise);
    uint64_t first = w_number("AXO_SEED", 1);
    assert_true(worlds > 0);
    for (uint64_t i = 0; i < worlds; i++) {
        print_message("seed %llu\n", (unsigned long long)(first + i)); /* what failed, if it does */
        run(first + i);
    }
}

#endif
