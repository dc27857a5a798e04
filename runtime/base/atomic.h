/* atomic.h - the named-order operations: the only place where memory orders are spelled out.
 *
 * A simulator or a model checker gets in here: each operation passes AXO__YIELD_POINT first.
 * Read-modify-writes are acq_rel; on x86-64 each of them is also a full barrier, and where an
 * algorithm needs store-load order it uses the seq_cst forms and says so. Which operation pairs
 * with which, and what the pair publishes, stands in the Orders table of the header that owns the
 * word. test/static/faces.py compares what each operation is compiled to on aarch64.
 */
#ifndef AXO__BASE_ATOMIC_H
#define AXO__BASE_ATOMIC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#ifndef AXO__YIELD_POINT
#define AXO__YIELD_POINT() ((void)0)
#endif

typedef struct axo__a64 {
    _Atomic uint64_t v;
} axo__a64;

typedef struct axo__a32 {
    _Atomic uint32_t v;
} axo__a32;

typedef struct axo__aptr {
    _Atomic(void *) v;
} axo__aptr;

#define AXO__ATOMIC_WORD(name, type)                                                               \
    static inline type axo__##name##_load_relaxed(const axo__##name *a)                            \
    {                                                                                              \
        AXO__YIELD_POINT();                                                                        \
        return atomic_load_explicit(&((axo__##name *)(uintptr_t)a)->v, memory_order_relaxed);      \
    }                                                                                              \
    static inline type axo__##name##_load_acquire(const axo__##name *a)                            \
    {                                                                                              \
        AXO__YIELD_POINT();                                                                        \
        return atomic_load_explicit(&((axo__##name *)(uintptr_t)a)->v, memory_order_acquire);      \
    }                                                                                              \
    static inline type axo__##name##_load_seq_cst(const axo__##name *a)                            \
    {                                                                                              \
        AXO__YIELD_POINT();                                                                        \
        return atomic_load_explicit(&((axo__##name *)(uintptr_t)a)->v, memory_order_seq_cst);      \
    }                                                                                              \
    /* For a check, by who knows that nobody else changes what it looks at. No yield point. */     \
    static inline type axo__##name##_peek_owner(const axo__##name *a)                              \
    {                                                                                              \
        return atomic_load_explicit(&((axo__##name *)(uintptr_t)a)->v, memory_order_relaxed);      \
    }                                                                                              \
    static inline void axo__##name##_store_relaxed(axo__##name *a, type value)                     \
    {                                                                                              \
        AXO__YIELD_POINT();                                                                        \
        atomic_store_explicit(&a->v, value, memory_order_relaxed);                                 \
    }                                                                                              \
    static inline void axo__##name##_store_release(axo__##name *a, type value)                     \
    {                                                                                              \
        AXO__YIELD_POINT();                                                                        \
        atomic_store_explicit(&a->v, value, memory_order_release);                                 \
    }                                                                                              \
    static inline type axo__##name##_xchg_acq_rel(axo__##name *a, type value)                      \
    {                                                                                              \
        AXO__YIELD_POINT();                                                                        \
        return atomic_exchange_explicit(&a->v, value, memory_order_acq_rel);                       \
    }                                                                                              \
    static inline bool axo__##name##_cas_acq_rel(axo__##name *a, type *expected, type desired)     \
    {                                                                                              \
        AXO__YIELD_POINT();                                                                        \
        return atomic_compare_exchange_strong_explicit(&a->v, expected, desired,                   \
                                                       memory_order_acq_rel,                       \
                                                       memory_order_acquire);                      \
    }

#define AXO__ATOMIC_NUMBER(name, type)                                                             \
    static inline type axo__##name##_add_relaxed(axo__##name *a, type value)                       \
    {                                                                                              \
        AXO__YIELD_POINT();                                                                        \
        return atomic_fetch_add_explicit(&a->v, value, memory_order_relaxed);                      \
    }                                                                                              \
    static inline type axo__##name##_add_acq_rel(axo__##name *a, type value)                       \
    {                                                                                              \
        AXO__YIELD_POINT();                                                                        \
        return atomic_fetch_add_explicit(&a->v, value, memory_order_acq_rel);                      \
    }                                                                                              \
    static inline type axo__##name##_add_seq_cst(axo__##name *a, type value)                       \
    {                                                                                              \
        AXO__YIELD_POINT();                                                                        \
        return atomic_fetch_add_explicit(&a->v, value, memory_order_seq_cst);                      \
    }                                                                                              \
    static inline type axo__##name##_or_acq_rel(axo__##name *a, type value)                        \
    {                                                                                              \
        AXO__YIELD_POINT();                                                                        \
        return atomic_fetch_or_explicit(&a->v, value, memory_order_acq_rel);                       \
    }                                                                                              \
    static inline type axo__##name##_and_acq_rel(axo__##name *a, type value)                       \
    {                                                                                              \
        AXO__YIELD_POINT();                                                                        \
        return atomic_fetch_and_explicit(&a->v, value, memory_order_acq_rel);                      \
    }                                                                                              \
    /* Adds one without a locked instruction: the word has one writer, and other threads may only
     * read it. */                                         \
    static inline void axo__##name##_bump_owner(axo__##name *a)                                    \
    {                                                                                              \
        type now = atomic_load_explicit(&a->v, memory_order_relaxed);                              \
        atomic_store_explicit(&a->v, (type)(now + 1), memory_order_relaxed);                       \
    }

AXO__ATOMIC_WORD(a64, uint64_t)
AXO__ATOMIC_WORD(a32, uint32_t)
AXO__ATOMIC_WORD(aptr, void *)
AXO__ATOMIC_NUMBER(a64, uint64_t)
AXO__ATOMIC_NUMBER(a32, uint32_t)

/* Makes an acquire of what a package has loaded plainly. Nothing on x86-64, where a load is one. */
static inline void axo__plain_load_acquire(void)
{
#if !defined(__x86_64__)
    atomic_thread_fence(memory_order_acquire);
#endif
}

#undef AXO__ATOMIC_WORD
#undef AXO__ATOMIC_NUMBER

#endif
