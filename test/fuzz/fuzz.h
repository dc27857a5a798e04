/* fuzz.h - what every fuzz target includes: its entry, reading its input, saying what is wrong. */
#ifndef TEST_FUZZ_FUZZ_H
#define TEST_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The target: libFuzzer's name for it; replay.c calls it too. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is left of the input; beyond its end there are zeros. */
typedef struct fuzz_in {
    const uint8_t *at;
    size_t left;
} fuzz_in;

static inline uint8_t fuzz_u8(fuzz_in *in)
{
    if (in->left == 0)
        return 0;
    in->left--;
    return *in->at++;
}

static inline uint16_t fuzz_u16(fuzz_in *in)
{
    uint16_t low = fuzz_u8(in);
    return (uint16_t)(low | fuzz_u8(in) << 8);
}

static inline uint64_t fuzz_u64(fuzz_in *in)
{
    uint64_t value = 0;
    for (uint32_t i = 0; i < 64; i += 8)
        value |= (uint64_t)fuzz_u8(in) << i;
    return value;
}

/* A number of any magnitude from two bytes: a few bits, shifted, and a little off. */
static inline int64_t fuzz_far(fuzz_in *in)
{
    uint32_t shift = fuzz_u8(in) % 63;
    uint32_t bits = fuzz_u8(in);
    uint64_t value = (uint64_t)(bits >> 3 | 1) << shift;
    return (int64_t)((value & INT64_MAX) + (bits & 7)) - 3;
}

/* Where the operating system's chance begins for the library that is linked here (chance.c): set at
 * each input's begin, so two systems of one seed differ and an input repeats. */
extern uint64_t fuzz_chance;

/* Options of a system without threads that is quick to start. */
#define FUZZ_SMALL                                                                                 \
    .manual = 1, .seed = 1, .actors_max = 512, .failure_texts = 8, .dead_letters_kept = 4,         \
    .registry_max = 8

#define fuzz_fail(...)                                                                             \
    do {                                                                                           \
        (void)fprintf(stderr, "%s:%d: ", __FILE__, __LINE__);                                      \
        (void)fprintf(stderr, __VA_ARGS__);                                                        \
        (void)fputc('\n', stderr);                                                                 \
        abort();                                                                                   \
    } while (0)

#define fuzz_require(what)                                                                         \
    do {                                                                                           \
        if (!(what))                                                                               \
            fuzz_fail("not so: %s", #what);                                                        \
    } while (0)

#endif
