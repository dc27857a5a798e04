/* copy_in.h - reading a few bytes that the program hands over, by one instruction that may crash.
 *
 * Its address is noted in a section of its own, whose bounds the linker knows, so a walk up the
 * stack can tell it from all others (sched/walk.c). The read stands before anything that it would
 * leave half-done. Longer copies are axo__copy_in's (sched/land.h).
 */
#ifndef AXO__BASE_COPY_IN_H
#define AXO__BASE_COPY_IN_H

#include <stdint.h>
#include <string.h>

#include "base/border.h"

/* What a message of one cache line can hold. */
typedef uint64_t axo__read __attribute__((vector_size(16)));

#if defined(__x86_64__) && defined(__linux__) && defined(__GCC_HAVE_DWARF2_CFI_ASM) &&             \
    !defined(AXO_SIM) && !defined(AXO_ASAN) && !defined(AXO_TSAN)
#define AXO__READ_NOTED                                                                            \
    "\n\t.pushsection axo_reads,\"a\"\n\t.balign 4\n\t.long 1b - .\n\t.popsection"

static inline __attribute__((always_inline)) uint64_t axo__read_8(const void *from)
{
    uint64_t value;
    __asm__ volatile("1:\tmovq (%1), %0" AXO__READ_NOTED : "=r"(value) : "r"(from) : "memory");
    return value;
}

static inline __attribute__((always_inline)) axo__read axo__read_16(const void *from)
{
    axo__read value;
    __asm__ volatile("1:\tmovups (%1), %0" AXO__READ_NOTED : "=x"(value) : "r"(from) : "memory");
    return value;
}
#else
static inline uint64_t axo__read_8(const void *from)
{
    uint64_t value;
    memcpy(&value, from, sizeof value);
    return value;
}

static inline axo__read axo__read_16(const void *from)
{
    axo__read value;
    memcpy(&value, from, sizeof value);
    return value;
}
#endif

#endif
