/* bell.h - the host's event, whose descriptor costs a system call only once somebody has asked for
 * it: a frame of a program that never polls makes none.
 *
 * Who has work for a parked host rings; the host clears the bell when it begins, before its first
 * look. So what was pushed before a ring that a clearing took is found by that look.
 *
 * Central idea: one word says what the descriptor is to be, and every write to the descriptor is
 * followed by AXO__BELL_RUNG in the word. So it is readable for no longer than until the next
 * clearing, however a ring, an asking and a clearing overlap; at worst once too often.
 *
 * Orders
 *   [U1] or acq_rel, and acq_rel, load acquire, state   that the word has one order is all that is
 *                     needed: of who rings and who asks the second writes. The work itself comes
 *                     with the claim of the parked worker (sched/wake.h)
 */
#ifndef AXO__SCHED_BELL_H
#define AXO__SCHED_BELL_H

#include "base/atomic.h"
#include "os/os.h"

#define AXO__BELL_RUNG  1u /* there may be something to run */
#define AXO__BELL_ASKED 2u /* somebody may poll the descriptor; for good */

typedef struct axo__bell {
    axo__os_event event;
    axo__a32 state;
} axo__bell;

/* It is rung: the host has work before its first call. */
static inline bool axo__bell_init(axo__bell *bell)
{
    axo__a32_store_relaxed(&bell->state, AXO__BELL_RUNG);
    return axo__os_event_init(&bell->event);
}

static inline void axo__bell_write(axo__bell *bell)
{
    axo__os_event_set(&bell->event);
    (void)axo__a32_or_acq_rel(&bell->state, AXO__BELL_RUNG); /* [U1] */
}

/* By any thread, and by the host when it leaves work behind. */
static inline void axo__bell_ring(axo__bell *bell)
{
    if ((axo__a32_or_acq_rel(&bell->state, AXO__BELL_RUNG) & AXO__BELL_ASKED) != 0) /* [U1] */
        axo__bell_write(bell);
}

static inline bool axo__bell_is_rung(const axo__bell *bell)
{
    return (axo__a32_load_acquire(&bell->state) & AXO__BELL_RUNG) != 0; /* [U1] */
}

/* The descriptor, from now on readable when the bell is rung. Any thread. */
static inline int axo__bell_ask(axo__bell *bell)
{
    uint32_t old = axo__a32_or_acq_rel(&bell->state, AXO__BELL_ASKED); /* [U1] */
    if (old == AXO__BELL_RUNG)
        axo__bell_write(bell);
    return bell->event.fd;
}

/* By the host's thread. */
static inline void axo__bell_clear(axo__bell *bell)
{
    if (!axo__bell_is_rung(bell))
        return;
    if ((axo__a32_and_acq_rel(&bell->state, ~AXO__BELL_RUNG) & AXO__BELL_ASKED) != 0) /* [U1] */
        axo__os_event_clear(&bell->event);
}

#endif
