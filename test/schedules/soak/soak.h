/* soak.h - load that goes on for long, in waves: each wave is an actor that brings its own tree,
 * counts what must come back, and stops; after it the system is as empty as before. */
#ifndef TEST_SOAK_SOAK_H
#define TEST_SOAK_SOAK_H

#include <axo/axo.h>

#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the actors of a wave share. They count with atomics: several workers run them. */
typedef struct soak_wave {
    uint64_t size;     /* how much of it, as each wave takes it */
    uint64_t expected; /* what `seen` must be at the end */
    _Atomic uint64_t seen;
    _Atomic uint64_t other; /* as the wave likes */
    _Atomic uint64_t seed;  /* of draws */
    bool over;              /* its root has said so; read when the system is at rest */
} soak_wave;

/* Starts a wave under /user: the root's class, with a pointer to the wave as its state's first
 * member. The root calls soak_over when all is back. */
typedef struct soak_kind {
    const char *name;
    const axo_class *root;
    uint64_t size;
} soak_kind;

extern const soak_kind soak_kinds[];
extern const size_t soak_kinds_count;

/* Ends the wave: marks it, and stops its root. */
axo_status soak_over(axo_ctx *ctx, soak_wave *wave);

/* restarts.c: one actor, restarted so often. */
void soak_restarts(axo_system *system, uint64_t wanted);

/* Ends the program with the text, and status 1. */
void soak_fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* The system is being stopped, maybe under a wave: calls may be refused then. */
extern _Atomic bool soak_ending;

static inline void soak_check(axo_status status, const char *what)
{
    if (status != AXO_OK && !soak_ending)
        soak_fail("%s: %s", what, axo_status_name(status));
}

/* The next number of a sequence that all actors of the wave draw from. */
static inline uint64_t soak_draw(soak_wave *wave)
{
    uint64_t z = atomic_fetch_add(&wave->seed, UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

#endif
