/* chance.c - what the kernel says when the library asks it for chance: in place of getrandom. */
#include "fuzz/fuzz.h"

#include <sys/random.h>

uint64_t fuzz_chance;

ssize_t __wrap_getrandom(void *out, size_t size, unsigned int flags);

ssize_t __wrap_getrandom(void *out, size_t size, unsigned int flags)
{
    for (size_t i = 0; i < size; i++) {
        fuzz_chance = fuzz_chance * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        ((uint8_t *)out)[i] = (uint8_t)(fuzz_chance >> 56);
    }
    return (ssize_t)size;
}
