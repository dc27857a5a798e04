/* directive.h - what a parent wants of a child, and who wants it stopped: one word, no memory.
 *
 * A parent's directives to one child may pile up without bound while the child is busy, and
 * failure handling takes no memory (D10). So they are folded into a word: suspensions and
 * resumptions are summed, the others are bits. Two restarts, one for the child's own failure and
 * one as a survivor or sibling, are kept apart and in order (RR-07); a further one that finds its
 * like still waiting is merged with it: it would only replace an instance that never ran.
 *
 * A stop by the parent is kept apart from another's: a permanent actor ends for its parent only.
 *
 * Roles      look, stop: every thread.  take: the child's runner.  The others: the parent's runner,
 *            a child that borrows its parent among them; restart_own also the child's runner, when
 *            the parent's answer was "restart" and other directives wait (super/lane.c).
 *
 * Invariants
 *   I1  Every suspension added is balanced by one resume or one restart added later, or by a merge
 *       that adds -1.
 *   I2  The cause of RESTART_PARENT (axo__child_record.cause) is written by the parent only while
 *       the bit is clear, and taken out by the child only while it is set.
 *
 * Orders
 *   [D1] or, add, cas acq_rel   releases the cause; pairs with [D2] and [D3] of the child's runner
 *   [D2] load acquire, look     acquires the cause; in the parent, that the last one was taken
 *   [D3] cas acq_rel, take      releases that the cause was taken; pairs with [D2] of the parent
 */
#ifndef AXO__CELL_DIRECTIVE_H
#define AXO__CELL_DIRECTIVE_H

#include "base/assert.h"
#include "base/atomic.h"

#define AXO__STOP UINT64_C(1)            /* terminate: anyone says so */
#define AXO__RESUME_OWN UINT64_C(2)      /* resume from its own failure */
#define AXO__RESTART_OWN UINT64_C(4)     /* restart for its own failure */
#define AXO__RESTART_PARENT UINT64_C(8)  /* restart as a survivor or sibling */
#define AXO__PARENT_FIRST UINT64_C(16)   /* RESTART_PARENT came before RESTART_OWN */
#define AXO__RESOLVE_OWN UINT64_C(32)    /* RESTART_PARENT also answers its own failure */
#define AXO__STOP_PARENT UINT64_C(64)    /* terminate: the parent says so */
#define AXO__STOPS (AXO__STOP | AXO__STOP_PARENT)
#define AXO__DELTA_ONE (UINT64_C(1) << 32)
AXO_STATIC_ASSERT(AXO__STOP_PARENT < AXO__DELTA_ONE, "the sum is above the bits");

typedef axo__a64 axo__directives;

/* Net suspensions; negative: resumptions. */
static inline int32_t axo__directives_delta(uint64_t word)
{
    return (int32_t)(uint32_t)(word >> 32);
}

static inline uint64_t axo__directives_look(const axo__directives *directives)
{
    return axo__a64_load_acquire(directives); /* [D2] */
}

static inline void axo__directives_stop(axo__directives *directives)
{
    (void)axo__a64_or_acq_rel(directives, AXO__STOP); /* [D1] */
}

static inline void axo__directives_stop_parent(axo__directives *directives)
{
    (void)axo__a64_or_acq_rel(directives, AXO__STOP_PARENT); /* [D1] */
}

static inline void axo__directives_delta_add(axo__directives *directives, int32_t delta)
{
    (void)axo__a64_add_acq_rel(directives, (uint64_t)(uint32_t)delta << 32); /* [D1] */
}

static inline void axo__directives_resume_own(axo__directives *directives)
{
    uint64_t old = axo__a64_or_acq_rel(directives, AXO__RESUME_OWN); /* [D1] */
    AXO_DEBUG_ASSERT((old & (AXO__RESUME_OWN | AXO__RESTART_OWN)) == 0); /* one answer a report */
}

static inline void axo__directives_restart_own(axo__directives *directives)
{
    uint64_t old = axo__directives_look(directives);
    uint64_t want;
    do {
        AXO_DEBUG_ASSERT((old & (AXO__RESUME_OWN | AXO__RESTART_OWN)) == 0);
        want = old | AXO__RESTART_OWN;
        if ((old & AXO__RESTART_PARENT) != 0)
            want |= AXO__PARENT_FIRST;
    } while (!axo__a64_cas_acq_rel(directives, &old, want)); /* [D1] */
}

/* RESTART_PARENT, with `resolve` answering its own failure too. `merge`: one that waits takes this
 * one in, and the suspension that came with it is taken back. false: the word was another one; it
 * is in *old now. */
static inline bool axo__directives_restart_parent(axo__directives *directives, uint64_t *old,
                                                  bool resolve, bool merge)
{
    uint64_t want = *old | AXO__RESTART_PARENT | (resolve ? AXO__RESOLVE_OWN : 0);
    AXO_DEBUG_ASSERT(!merge || (*old & AXO__RESTART_PARENT) != 0);
    if (merge)
        want -= AXO__DELTA_ONE;
    return axo__a64_cas_acq_rel(directives, old, want); /* [D1] */
}

/* Clears `bits` and takes `delta` out. Returns the word as it was then: an earlier look may have
 * missed a bit that is cleared here. */
static inline uint64_t axo__directives_take(axo__directives *directives, uint64_t bits,
                                            int32_t delta)
{
    AXO_DEBUG_ASSERT(bits < AXO__DELTA_ONE);
    uint64_t old = axo__directives_look(directives);
    uint64_t want;
    do {
        uint64_t rest = (old >> 32) - (uint64_t)(uint32_t)delta;
        want = (old & UINT64_C(0xffffffff) & ~bits) | (rest << 32);
    } while (!axo__a64_cas_acq_rel(directives, &old, want)); /* [D3] */
    return old;
}

#endif
