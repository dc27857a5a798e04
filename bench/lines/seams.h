/* seams.h - read before every file of the counting build: what hides accesses from the compiler.
 *
 * liburcu's operations are assembly, which is not instrumented; here they are the compiler's. CK
 * has a switch for that (CK_USE_CC_BUILTINS). Copies and fills are calls that lines.c wraps. */
#ifndef BENCH_LINES_SEAMS_H
#define BENCH_LINES_SEAMS_H

#include <urcu/uatomic.h>

#undef uatomic_xchg
#undef uatomic_cmpxchg
#undef uatomic_add_return
#undef uatomic_add
#undef uatomic_inc
#undef uatomic_dec
#undef uatomic_or
#undef uatomic_and
#define uatomic_xchg(at, value) __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST)
#define uatomic_cmpxchg(at, old, new)                                                              \
    __extension__({                                                                                \
        __typeof__(*(at)) lines_old = (old);                                                       \
        (void)__atomic_compare_exchange_n(at, &lines_old, new, 0, __ATOMIC_SEQ_CST,                \
                                          __ATOMIC_SEQ_CST);                                       \
        lines_old;                                                                                 \
    })
#define uatomic_add_return(at, value) __atomic_add_fetch(at, value, __ATOMIC_SEQ_CST)
#define uatomic_add(at, value)        ((void)uatomic_add_return(at, value))
#define uatomic_inc(at)               uatomic_add(at, 1)
#define uatomic_dec(at)               uatomic_add(at, -1)
#define uatomic_or(at, value)         ((void)__atomic_or_fetch(at, value, __ATOMIC_SEQ_CST))
#define uatomic_and(at, value)        ((void)__atomic_and_fetch(at, value, __ATOMIC_SEQ_CST))

#endif
