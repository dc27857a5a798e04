/* atomic.h - the named-order operations, as runtime/base/atomic.h has them, in the hands of the
 * checker of weak memory: this folder comes before runtime/ on the include path. */
#ifndef AXO__BASE_ATOMIC_H
#define AXO__BASE_ATOMIC_H

#include <stdbool.h>
#include <stdint.h>

#include "schedules/weak/check.h"

#define WEAK_BOTH (WEAK_ACQUIRE | WEAK_RELEASE)
#define WEAK_ALL (WEAK_ACQUIRE | WEAK_RELEASE | WEAK_SEQ_CST)

typedef struct axo__a64 {
    uint64_t v;
} axo__a64;

typedef struct axo__a32 {
    uint32_t v;
} axo__a32;

typedef struct axo__aptr {
    _Alignas(8) void *v;
} axo__aptr;

#define WEAK_WORD(name, type, in, out)                                                             \
    static inline type axo__##name##_load_at(const axo__##name *a, weak_site *site)                \
    {                                                                                              \
        return out weak_load(&a->v, sizeof a->v, site);                                            \
    }                                                                                              \
    /* A check is no operation: it sees what was stored last. */                                  \
    static inline type axo__##name##_peek_owner(const axo__##name *a)                              \
    {                                                                                              \
        return a->v;                                                                               \
    }                                                                                              \
    static inline void axo__##name##_store_at(axo__##name *a, type value, weak_site *site)         \
    {                                                                                              \
        weak_store(&a->v, sizeof a->v, in value, site);                                            \
    }                                                                                              \
    static inline type axo__##name##_xchg_at(axo__##name *a, type value, weak_site *site)          \
    {                                                                                              \
        return out weak_change(&a->v, sizeof a->v, WEAK_XCHG, in value, site);                     \
    }                                                                                              \
    static inline bool axo__##name##_cas_at(axo__##name *a, type *expected, type desired,          \
                                            weak_site *site)                                       \
    {                                                                                              \
        uint64_t found = in *expected;                                                             \
        bool done = weak_cas(&a->v, sizeof a->v, &found, in desired, site);                        \
        *expected = out found;                                                                     \
        return done;                                                                               \
    }

#define WEAK_NUMBER(name, type)                                                                    \
    static inline type axo__##name##_change_at(axo__##name *a, weak_rmw how, type value,           \
                                               weak_site *site)                                    \
    {                                                                                              \
        return (type)weak_change(&a->v, sizeof a->v, how, value, site);                            \
    }                                                                                              \
    static inline void axo__##name##_bump_at(axo__##name *a, weak_site *load, weak_site *store)    \
    {                                                                                              \
        type now = axo__##name##_load_at(a, load);                                                 \
        axo__##name##_store_at(a, (type)(now + 1), store);                                         \
    }

WEAK_WORD(a64, uint64_t, , )
WEAK_WORD(a32, uint32_t, , (uint32_t))
WEAK_WORD(aptr, void *, (uint64_t)(uintptr_t), (void *)(uintptr_t))
WEAK_NUMBER(a64, uint64_t)
WEAK_NUMBER(a32, uint32_t)

#define axo__a64_load_relaxed(a) axo__a64_load_at(a, WEAK_SITE("load_relaxed", 0))
#define axo__a64_load_acquire(a) axo__a64_load_at(a, WEAK_SITE("load_acquire", WEAK_ACQUIRE))
#define axo__a64_load_seq_cst(a)                                                                   \
    axo__a64_load_at(a, WEAK_SITE("load_seq_cst", WEAK_ACQUIRE | WEAK_SEQ_CST))
#define axo__a64_store_relaxed(a, v) axo__a64_store_at(a, v, WEAK_SITE("store_relaxed", 0))
#define axo__a64_store_release(a, v)                                                               \
    axo__a64_store_at(a, v, WEAK_SITE("store_release", WEAK_RELEASE))
#define axo__a64_xchg_acq_rel(a, v) axo__a64_xchg_at(a, v, WEAK_SITE("xchg_acq_rel", WEAK_BOTH))
#define axo__a64_cas_acq_rel(a, e, d)                                                              \
    axo__a64_cas_at(a, e, d, WEAK_SITE("cas_acq_rel", WEAK_BOTH))
#define axo__a64_add_relaxed(a, v)                                                                 \
    axo__a64_change_at(a, WEAK_ADD, v, WEAK_SITE("add_relaxed", 0))
#define axo__a64_add_acq_rel(a, v)                                                                 \
    axo__a64_change_at(a, WEAK_ADD, v, WEAK_SITE("add_acq_rel", WEAK_BOTH))
#define axo__a64_add_seq_cst(a, v)                                                                 \
    axo__a64_change_at(a, WEAK_ADD, v, WEAK_SITE("add_seq_cst", WEAK_ALL))
#define axo__a64_or_acq_rel(a, v)                                                                  \
    axo__a64_change_at(a, WEAK_OR, v, WEAK_SITE("or_acq_rel", WEAK_BOTH))
#define axo__a64_and_acq_rel(a, v)                                                                 \
    axo__a64_change_at(a, WEAK_AND, v, WEAK_SITE("and_acq_rel", WEAK_BOTH))
#define axo__a64_bump_owner(a)                                                                     \
    axo__a64_bump_at(a, WEAK_SITE("bump_owner", 0), WEAK_SITE("bump_owner", 0))

#define axo__a32_load_relaxed(a) axo__a32_load_at(a, WEAK_SITE("load_relaxed", 0))
#define axo__a32_load_acquire(a) axo__a32_load_at(a, WEAK_SITE("load_acquire", WEAK_ACQUIRE))
#define axo__a32_load_seq_cst(a)                                                                   \
    axo__a32_load_at(a, WEAK_SITE("load_seq_cst", WEAK_ACQUIRE | WEAK_SEQ_CST))
#define axo__a32_store_relaxed(a, v) axo__a32_store_at(a, v, WEAK_SITE("store_relaxed", 0))
#define axo__a32_store_release(a, v)                                                               \
    axo__a32_store_at(a, v, WEAK_SITE("store_release", WEAK_RELEASE))
#define axo__a32_xchg_acq_rel(a, v) axo__a32_xchg_at(a, v, WEAK_SITE("xchg_acq_rel", WEAK_BOTH))
#define axo__a32_cas_acq_rel(a, e, d)                                                              \
    axo__a32_cas_at(a, e, d, WEAK_SITE("cas_acq_rel", WEAK_BOTH))
#define axo__a32_add_relaxed(a, v)                                                                 \
    axo__a32_change_at(a, WEAK_ADD, v, WEAK_SITE("add_relaxed", 0))
#define axo__a32_add_acq_rel(a, v)                                                                 \
    axo__a32_change_at(a, WEAK_ADD, v, WEAK_SITE("add_acq_rel", WEAK_BOTH))
#define axo__a32_add_seq_cst(a, v)                                                                 \
    axo__a32_change_at(a, WEAK_ADD, v, WEAK_SITE("add_seq_cst", WEAK_ALL))
#define axo__a32_or_acq_rel(a, v)                                                                  \
    axo__a32_change_at(a, WEAK_OR, v, WEAK_SITE("or_acq_rel", WEAK_BOTH))
#define axo__a32_and_acq_rel(a, v)                                                                 \
    axo__a32_change_at(a, WEAK_AND, v, WEAK_SITE("and_acq_rel", WEAK_BOTH))
#define axo__a32_bump_owner(a)                                                                     \
    axo__a32_bump_at(a, WEAK_SITE("bump_owner", 0), WEAK_SITE("bump_owner", 0))

#define axo__aptr_load_relaxed(a) axo__aptr_load_at(a, WEAK_SITE("load_relaxed", 0))
#define axo__aptr_load_acquire(a) axo__aptr_load_at(a, WEAK_SITE("load_acquire", WEAK_ACQUIRE))
#define axo__aptr_load_seq_cst(a)                                                                  \
    axo__aptr_load_at(a, WEAK_SITE("load_seq_cst", WEAK_ACQUIRE | WEAK_SEQ_CST))
#define axo__aptr_store_relaxed(a, v) axo__aptr_store_at(a, v, WEAK_SITE("store_relaxed", 0))
#define axo__aptr_store_release(a, v)                                                              \
    axo__aptr_store_at(a, v, WEAK_SITE("store_release", WEAK_RELEASE))
#define axo__aptr_xchg_acq_rel(a, v) axo__aptr_xchg_at(a, v, WEAK_SITE("xchg_acq_rel", WEAK_BOTH))
#define axo__aptr_cas_acq_rel(a, e, d)                                                             \
    axo__aptr_cas_at(a, e, d, WEAK_SITE("cas_acq_rel", WEAK_BOTH))

#endif
