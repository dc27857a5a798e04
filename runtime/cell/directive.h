/* directive.h - what a parent wants of a child, and stops by any thread: one word, no memory.
 *
 * A parent may tell a busy child any number of directives before the child's runner takes one, and
 * failure handling takes no memory (D10). So the directives are folded into a word: suspensions and
 * resumptions are summed, the others are bits. Two restarts, one for the child's own failure and
 * one as a survivor or sibling, are kept apart and in order (RR-07); a further restart that finds
 * its like still waiting is merged with it, for it would only replace an instance that never ran
 * (D17).
 *
 * A stop by the parent is kept apart from a stop by anyone else: a permanent actor ends for its
 * parent only (LT-06).
 *
 * A class that is to be replaced (replacing.h) is a hint in the word: who finds it asks the core
 * what there is to do, so one too many does no harm, and who waits for the actor says it again.
 *
 * A pause of a subtree adds a suspension to its top, and a resumption when it is over
 * (cell/paused.h): they are summed with the parent's, and need no part of theirs.
 *
 * Roles      look, stop, replace, a pause: every thread.  take: the child's runner.  The others:
 *            the parent's runner; restart_own also the child's runner, when the parent's answer was
 *            made in its turn.
 *
 * The word is announced separately: a thread that adds to another cell's word sets URGENT in its
 * scheduling word afterwards (axo__sched_announce_system), and the child's runner clears URGENT
 * before it looks here.
 *
 * Invariants
 *   I1  Every suspension added is balanced by one resume or one restart added later, or by a merge
 *       that adds -1.
 *   I2  The cause of RESTART_PARENT (axo__child_record.cause) is written by the parent only while
 *       the bit is clear, and taken out by the child only while it is set.
 *
 * Orders
 *   [D1] or, cas, add        releases the parent's write of the cause (acq_rel); pairs with the
 *                            child's [D2]
 *   [D2] load acquire, look  the child: acquires the cause with the bit; the parent: acquires with
 *                            the cleared bit that the child has taken the last cause
 *   [D3] cas acq_rel, take   releases the child's read of the cause; pairs with the parent's [D2]
 *                            and with the load of a [D1] that fails
 */
#ifndef AXO__CELL_DIRECTIVE_H
#define AXO__CELL_DIRECTIVE_H

#include "base/assert.h"
#include "base/atomic.h"

/* The bits, and above them the sum of suspensions as a signed number of 32 bits. */
#define AXO__STOP UINT64_C(1)            /* terminate: any thread says so */
#define AXO__RESUME_OWN UINT64_C(2)      /* resume from its own failure */
#define AXO__RESTART_OWN UINT64_C(4)     /* restart for its own failure */
#define AXO__RESTART_PARENT UINT64_C(8)  /* restart as a survivor or sibling */
#define AXO__PARENT_FIRST UINT64_C(16)   /* RESTART_PARENT came before RESTART_OWN */
#define AXO__RESOLVE_OWN UINT64_C(32)    /* RESTART_PARENT also answers its own failure */
#define AXO__STOP_PARENT UINT64_C(64)    /* terminate: the parent says so */
#define AXO__REPLACE UINT64_C(128)       /* take another class: any thread says so */
#define AXO__STOPS (AXO__STOP | AXO__STOP_PARENT)
#define AXO__DELTA_ONE (UINT64_C(1) << 32)
AXO_STATIC_ASSERT(AXO__REPLACE < AXO__DELTA_ONE, "the sum is above the bits");

typedef axo__a64 axo__directives;

/* The sum of suspensions; negative: resumptions. An addition to the upper half of the word cannot
 * carry into the bits below, so parent and child need not agree on the sum. */
static inline int32_t axo__directives_delta(uint64_t word)
{
    return (int32_t)(uint32_t)(word >> 32);
}

/* The word now. The child's runner may act on each bit that it finds; a bit that it does not find
 * comes with an announcement of its own. */
static inline uint64_t axo__directives_look(const axo__directives *directives)
{
    return axo__a64_load_acquire(directives); /* [D2] */
}

/* Asks for the end. Stopping twice is stopping once (ST-05), so the bit needs no count. */
static inline void axo__directives_stop(axo__directives *directives)
{
    (void)axo__a64_or_acq_rel(directives, AXO__STOP); /* [D1] */
}

/* The parent asks for the end, which a permanent child obeys too (LT-06). */
static inline void axo__directives_stop_parent(axo__directives *directives)
{
    (void)axo__a64_or_acq_rel(directives, AXO__STOP_PARENT); /* [D1] */
}

/* Asks for another class. */
static inline void axo__directives_replace(axo__directives *directives)
{
    (void)axo__a64_or_acq_rel(directives, AXO__REPLACE); /* [D1] */
}

/* Adds suspensions or resumptions to the sum. Only the sum matters: a suspension and a resumption
 * that the child never saw cancel out. */
static inline void axo__directives_delta_add(axo__directives *directives, int32_t delta)
{
    (void)axo__a64_add_acq_rel(directives, (uint64_t)(uint32_t)delta << 32); /* [D1] */
}

/* Answers the child's report with Resume. */
static inline void axo__directives_resume_own(axo__directives *directives)
{
    uint64_t old = axo__a64_or_acq_rel(directives, AXO__RESUME_OWN); /* [D1] */
    AXO_DEBUG_ASSERT((old & (AXO__RESUME_OWN | AXO__RESTART_OWN)) == 0); /* one a report */
}

/* Answers the child's report with Restart. PARENT_FIRST keeps the order if a restart from above is
 * waiting: the earlier restart is taken first (RR-07). The loop repeats because the child's runner
 * may take that restart in between, and then the bit must not be set. */
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

/* Adds RESTART_PARENT; with `resolve` the restart also answers the child's own failure. With
 * `merge` a waiting restart takes this one in, and the suspension that came with this one is taken
 * back in the same step, so I1 holds at every moment. false: the word was another, which is in *old
 * now, and the caller decides anew. The cas [D1] releases the cause to the child's look [D2]. */
static inline bool axo__directives_restart_parent(axo__directives *directives, uint64_t *old,
                                                  bool resolve, bool merge)
{
    uint64_t want = *old | AXO__RESTART_PARENT | (resolve ? AXO__RESOLVE_OWN : 0);
    AXO_DEBUG_ASSERT(!merge || (*old & AXO__RESTART_PARENT) != 0);
    if (merge)
        want -= AXO__DELTA_ONE;
    return axo__a64_cas_acq_rel(directives, old, want); /* [D1] */
}

/* Clears `bits` and takes `delta` out of the sum. Returns the word as it was at that moment, since
 * the parent may have added a bit after the caller's look (RESOLVE_OWN, by a merge) that is cleared
 * here. */
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
