/* state.h - the scheduling word of a cell: every transition is a function here, nothing else
 * touches the word.
 *
 *         push, announce: PUSH               claim               close, finish: CLOSED
 *    idle ---------------------> queued ------------------> inside ----------------> closed
 *     ^                           ^  ^                       | | ^                 (for good)
 *     |                 birth ----+  +-- finish: PUSH, ------+ | |
 *     |                                  unclaim, give_back    | | finish: AGAIN
 *     +------------- finish: IDLE, give_back ------------------+-+
 *
 *   inside   RUNNING is set: a worker runs the cell, or a thread borrows it
 *   queued   neither RUNNING nor CLOSED, and the word asks for an entry, which exists (I1)
 *   idle     neither RUNNING nor CLOSED, and no entry is asked for: nothing to do, or not free
 *   closed   CLOSED, until the slot's next life begins
 *
 * The four are no bits and no values: they are read out of the bits below.
 *
 * The low 48 bits are the user lane: the newest message that was sent and not taken, linked to
 * older ones. So one compare-and-swap queues a message and says whether an entry has to be pushed,
 * and one claims the cell and takes all that has come. There is no ABA: messages are put one by one
 * on top of what is there, whatever it is, and taken out all at once.
 *
 * Bits: RUNNING a worker is inside; READY there may be messages that the word does not show: the
 * runner left some that it had taken, or the cell has a bounded mailbox; URGENT system work was
 * announced; INJECTED, URGENT_INJECTED the cell's node is in that injector; TERMINATING the actor
 * takes in no more children; CLOSED the actor has terminated; WAITING the actor has sent to a cell
 * without room; HELD the actor is suspended, `suspends` times. A cell with WAITING or HELD is not
 * free: its runner takes no messages of users.
 *
 * Invariants
 *   I1  URGENT, or (READY or a message) and free (not HELD, not WAITING), without RUNNING and
 *       CLOSED: an entry that will be tried exists in some queue. Whoever brings this about pushes
 *       it.
 *   I2  Only the worker that set RUNNING changes the count, HELD or WAITING, clears READY or
 *       URGENT, takes messages, or closes.
 *   I3  An entry in a queue is a hint. claim decides; a stale entry changes nothing.
 *   I4  Messages that a runner has taken and not handled: RUNNING or READY is set.
 *   I5  CLOSED: no injector's node comes into use, by whatever entry. So a slot that was given back
 *       has none until its next life begins; an entry of its last one is a hint to that from then.
 *
 * HELD may be behind the count while RUNNING is set; the runner settles it before it looks for
 * messages or finishes.
 *
 * A look: borrow sets RUNNING on a cell that nobody is in, whether it has work or not, so that an
 * inspector may read what is the runner's; give_back clears it. I2 holds: no other bit changes. I1
 * asks nothing while RUNNING is set; who announces meanwhile leaves it to whoever is inside, and an
 * entry that is tried meanwhile is stale and gone. So give_back takes every bit it finds as not
 * pushed: a bit set before its exchange is pushed by its caller, a bit set after it finds RUNNING
 * clear and is pushed by its announcer. Nothing is left to the exchange's order but that. An entry
 * that was there before and was not tried makes a second one: a hint too many (I3).
 *
 * Wake-up: a message is in the lane and announced in one step. What is queued elsewhere (a bounded
 * mailbox, the system lane) is announced after the enqueue is complete, with a read-modify-write,
 * so on every machine the link is visible before the bit; the worker clears the bit first and looks
 * after.
 *
 * Orders
 *   [S1] or/cas acq_rel, announce, push   releases the enqueue, the message; pairs with [S2] [S3]
 *   [S2] cas acq_rel, claim, borrow  acquires what the last runner and all announcers wrote; a
 *                                   claim is also [S3]
 *   [S3] and acq_rel, take, take_urgent   acquires the messages, the system lane
 *   [S4] cas acq_rel, finish        releases the cell to the next runner; pairs with [S2]; so does
 *                                   the and of give_back, the add of give_back_held
 *   [S5] or/and acq_rel, settle     HELD, WAITING; by the runner only
 *   [S6] cas/and acq_rel, inject    the node's use; pairs with itself
 *   [S7] load acquire, look         sees an announced bit and what it announced
 */
#ifndef AXO__CELL_STATE_H
#define AXO__CELL_STATE_H

#include "base/assert.h"
#include "base/atomic.h"
#include "base/config.h"
#include "queue/mpsc.h"

#define AXO__LANE ((UINT64_C(1) << AXO__ADDRESS_BITS) - 1)
#define AXO__RUNNING (UINT64_C(1) << 48)
#define AXO__READY (UINT64_C(1) << 49)
#define AXO__URGENT (UINT64_C(1) << 50)
#define AXO__INJECTED (UINT64_C(1) << 51)
#define AXO__URGENT_INJECTED (UINT64_C(1) << 52)
#define AXO__CLOSED (UINT64_C(1) << 53)
#define AXO__TERMINATING (UINT64_C(1) << 54)
#define AXO__WAITING (UINT64_C(1) << 55)
#define AXO__HELD (UINT64_C(1) << 56)
AXO_STATIC_ASSERT(AXO__LANE + 1 == AXO__RUNNING, "the flags begin where an address ends");

typedef struct axo__state {
    axo__a64 word;
    axo__a32 suspends; /* the runner's; others may look */
} axo__state;

typedef enum axo__announce {
    AXO__ANNOUNCE_DONE = 0, /* someone else sees to it */
    AXO__ANNOUNCE_PUSH = 1  /* the caller pushes an entry */
} axo__announce;

typedef enum axo__claim {
    AXO__CLAIM_STALE = 0,
    AXO__CLAIM_MINE = 1,
    AXO__CLAIM_URGENT = 2 /* mine, and there is system work to look at first */
} axo__claim;

typedef enum axo__finish {
    AXO__FINISH_IDLE = 0,
    AXO__FINISH_AGAIN = 1, /* not finished: there is work to look at */
    AXO__FINISH_PUSH = 2,  /* finished; the caller pushes an entry */
    AXO__FINISH_CLOSED = 3
} axo__finish;

typedef enum axo__unclaim {
    AXO__UNCLAIM_IDLE = 0,
    AXO__UNCLAIM_READY = 1, /* the caller pushes an entry */
    AXO__UNCLAIM_URGENT = 2 /* the caller pushes an urgent one */
} axo__unclaim;

static inline uint32_t axo__state_suspends(const axo__state *state)
{
    return axo__a32_load_relaxed(&state->suspends);
}

/* For checks: somebody is inside, and has to be the one who asks. */
static inline bool axo__state_is_running(const axo__state *state)
{
    return (axo__a64_peek_owner(&state->word) & AXO__RUNNING) != 0;
}

/* It may take messages of users. */
static inline bool axo__state_free(uint64_t word)
{
    return (word & (AXO__WAITING | AXO__HELD)) == 0;
}

/* There are messages of users, or a bounded mailbox may have some. */
static inline bool axo__state_has(uint64_t word)
{
    return (word & (AXO__READY | AXO__LANE)) != 0;
}

static inline axo__mpsc_node *axo__state_lane(uint64_t word)
{
    return (axo__mpsc_node *)(uintptr_t)(word & AXO__LANE);
}

/* A newborn: CREATE is waiting, suspended as often as its parent (SC-03). It counts as running
 * until its parent knows it, so a stale entry of the slot's former life cannot claim it early. A
 * free slot's word is nobody else's: CLOSED, no injector has a node of it, nobody finds it. */
static inline void axo__state_init(axo__state *state, uint32_t suspends)
{
    uint64_t word = AXO__RUNNING | AXO__URGENT | (suspends > 0 ? AXO__HELD : 0);
    AXO_DEBUG_ASSERT((axo__a64_load_relaxed(&state->word) &
                      (AXO__INJECTED | AXO__URGENT_INJECTED)) == 0);
    axo__a32_store_relaxed(&state->suspends, suspends);
    axo__a64_store_release(&state->word, word); /* [S4] */
}

/* The parent knows it; the caller pushes an entry. */
static inline void axo__state_birth(axo__state *state)
{
    uint64_t old = axo__a64_and_acq_rel(&state->word, ~AXO__RUNNING); /* [S4] */
    AXO_DEBUG_ASSERT((old & AXO__RUNNING) != 0 && (old & AXO__CLOSED) == 0);
}

/* Whether who adds user work to this word pushes an entry. */
static inline axo__announce axo__state_woken(uint64_t old)
{
    uint64_t others = AXO__LANE | AXO__READY | AXO__RUNNING | AXO__URGENT | AXO__CLOSED |
                      AXO__WAITING | AXO__HELD;
    return (old & others) == 0 ? AXO__ANNOUNCE_PUSH : AXO__ANNOUNCE_DONE;
}

/* Queues a message in the lane; gives the word it found. Any thread. */
static inline uint64_t axo__state_push(axo__state *state, axo__mpsc_node *node)
{
    uint64_t bits = (uint64_t)(uintptr_t)node;
    AXO_DEBUG_ASSERT((bits & ~AXO__LANE) == 0);
    uint64_t old = axo__a64_load_relaxed(&state->word);
    do {
        node->next = axo__state_lane(old);
    } while (!axo__a64_cas_acq_rel(&state->word, &old, (old & ~AXO__LANE) | bits)); /* [S1] */
    return old;
}

/* User work that the word does not show. */
static inline axo__announce axo__state_announce_user(axo__state *state)
{
    return axo__state_woken(axo__a64_or_acq_rel(&state->word, AXO__READY)); /* [S1] */
}

/* All messages of the lane, newest first. */
static inline axo__mpsc_node *axo__state_take(axo__state *state)
{
    uint64_t old = axo__a64_and_acq_rel(&state->word, ~AXO__LANE); /* [S3] */
    AXO_DEBUG_ASSERT((old & (AXO__RUNNING | AXO__CLOSED)) != 0); /* I2 */
    return axo__state_lane(old);
}

static inline axo__announce axo__state_announce_system(axo__state *state)
{
    uint64_t old = axo__a64_or_acq_rel(&state->word, AXO__URGENT); /* [S1] */
    bool push = (old & (AXO__URGENT | AXO__RUNNING | AXO__CLOSED)) == 0;
    return push ? AXO__ANNOUNCE_PUSH : AXO__ANNOUNCE_DONE;
}

/* URGENT goes: the runner has taken it, and looks. READY goes unless the cell is suspended. *lane:
 * the messages of the lane, newest first, if it may take messages and a runner before it has left
 * none (READY: its messages are older). */
static inline axo__claim axo__state_claim(axo__state *state, axo__mpsc_node **lane)
{
    uint64_t old = axo__a64_load_acquire(&state->word); /* [S7] */
    if (axo__likely(old != 0 && (old & ~AXO__LANE) == 0)) { /* mostly: messages, and no flag */
        *lane = axo__state_lane(old);
        if (axo__a64_cas_acq_rel(&state->word, &old, AXO__RUNNING)) /* [S2] */
            return AXO__CLAIM_MINE;
    }
    for (;;) {
        if ((old & (AXO__RUNNING | AXO__CLOSED)) != 0)
            return AXO__CLAIM_STALE;
        bool free = axo__state_free(old);
        if ((old & AXO__URGENT) == 0 && !(free && axo__state_has(old)))
            return AXO__CLAIM_STALE;
        uint64_t taken = AXO__URGENT;
        if (free)
            taken |= (old & AXO__READY) != 0 ? AXO__READY : AXO__LANE;
        if (axo__a64_cas_acq_rel(&state->word, &old, (old & ~taken) | AXO__RUNNING)) { /* [S2] */
            *lane = axo__state_lane(old & taken);
            return (old & AXO__URGENT) != 0 ? AXO__CLAIM_URGENT : AXO__CLAIM_MINE;
        }
    }
}

static inline uint64_t axo__state_look(const axo__state *state)
{
    return axo__a64_load_acquire(&state->word); /* [S7] */
}

/* Undoes a claim: user messages may be there, and system work if it was `urgent`. The cell has not
 * been closed by this runner. */
static inline axo__unclaim axo__state_unclaim(axo__state *state, bool urgent)
{
    uint64_t old = axo__a64_load_acquire(&state->word); /* [S7] */
    for (;;) {
        AXO_DEBUG_ASSERT((old & AXO__RUNNING) != 0 && (old & AXO__CLOSED) == 0);
        uint64_t want = (old & ~AXO__RUNNING) | AXO__READY | (urgent ? AXO__URGENT : 0);
        if (!axo__a64_cas_acq_rel(&state->word, &old, want)) /* [S4] */
            continue;
        if ((want & AXO__URGENT) != 0)
            return AXO__UNCLAIM_URGENT;
        return axo__state_free(old) ? AXO__UNCLAIM_READY : AXO__UNCLAIM_IDLE;
    }
}

/* For a look; false: a worker is inside, or it is closed. The borrower may read what is the
 * runner's and changes nothing. */
static inline bool axo__state_borrow(axo__state *state)
{
    uint64_t old = axo__a64_load_acquire(&state->word); /* [S7] */
    while ((old & (AXO__RUNNING | AXO__CLOSED)) == 0) {
        if (axo__a64_cas_acq_rel(&state->word, &old, old | AXO__RUNNING)) /* [S2] */
            return true;
    }
    return false;
}

/* For a report: the borrower runs the cell's system part. Only a cell that nobody is in and that
 * has nothing to do, so no entry is waited for. */
static inline bool axo__state_borrow_idle(axo__state *state)
{
    uint64_t nodes = AXO__INJECTED | AXO__URGENT_INJECTED; /* stale entries */
    uint64_t old = axo__a64_load_relaxed(&state->word);    /* a guess */
    while ((old & ~nodes) == 0) {
        if (axo__a64_cas_acq_rel(&state->word, &old, old | AXO__RUNNING)) /* [S2] */
            return true;
    }
    return false;
}

/* The look is over: what came up meanwhile, and what was there before, is the caller's to push. */
static inline axo__unclaim axo__state_give_back(axo__state *state)
{
    uint64_t old = axo__a64_and_acq_rel(&state->word, ~AXO__RUNNING); /* [S4] */
    AXO_DEBUG_ASSERT((old & AXO__RUNNING) != 0 && (old & AXO__CLOSED) == 0);
    if ((old & AXO__URGENT) != 0)
        return AXO__UNCLAIM_URGENT;
    bool ready = axo__state_has(old) && axo__state_free(old);
    return ready ? AXO__UNCLAIM_READY : AXO__UNCLAIM_IDLE;
}

/* The borrower has suspended it: what came up meanwhile is the caller's to push. */
static inline axo__unclaim axo__state_give_back_held(axo__state *state)
{
    uint64_t old = axo__a64_add_acq_rel(&state->word, AXO__HELD - AXO__RUNNING); /* [S4] */
    AXO_DEBUG_ASSERT((old & AXO__RUNNING) != 0 && (old & (AXO__CLOSED | AXO__HELD)) == 0);
    return (old & AXO__URGENT) != 0 ? AXO__UNCLAIM_URGENT : AXO__UNCLAIM_IDLE;
}

/* Before the runner looks at the system lane. */
static inline void axo__state_take_urgent(axo__state *state)
{
    AXO_DEBUG_ASSERT(axo__state_is_running(state));
    (void)axo__a64_and_acq_rel(&state->word, ~AXO__URGENT); /* [S3] */
}

/* `more`: messages that were taken may be left, or a bounded mailbox may have some; the batch is
 * over. Without it there are none, or a sender is about to announce one. AGAIN: the runner looks
 * for messages anew. */
static inline axo__finish axo__state_finish(axo__state *state, bool more)
{
    uint64_t old = AXO__RUNNING; /* mostly, and then this is all */
    if (!more && axo__a64_cas_acq_rel(&state->word, &old, 0)) /* [S4] */
        return AXO__FINISH_IDLE;
    old = axo__a64_load_acquire(&state->word); /* [S7] */
    for (;;) {
        AXO_DEBUG_ASSERT((old & AXO__RUNNING) != 0);
        AXO_DEBUG_ASSERT((old & AXO__HELD) != 0 || axo__state_suspends(state) == 0);
        bool free = axo__state_free(old);
        uint64_t want = old & ~AXO__RUNNING;
        axo__finish result = AXO__FINISH_IDLE;
        if ((old & AXO__CLOSED) != 0) {
            result = AXO__FINISH_CLOSED;
        } else if ((old & AXO__URGENT) != 0) {
            return AXO__FINISH_AGAIN;
        } else if (!free) {
            want |= AXO__READY; /* looked at when it is free */
        } else if (more) {
            want |= AXO__READY;
            result = AXO__FINISH_PUSH;
        } else if ((old & AXO__READY) != 0) {
            (void)axo__a64_and_acq_rel(&state->word, ~AXO__READY); /* [S3] */
            return AXO__FINISH_AGAIN;
        } else if ((old & AXO__LANE) != 0) {
            return AXO__FINISH_AGAIN;
        }
        if (axo__a64_cas_acq_rel(&state->word, &old, want)) /* [S4] */
            return result;
    }
}

/* To be settled. */
static inline void axo__state_suspend(axo__state *state)
{
    AXO_DEBUG_ASSERT(axo__state_is_running(state));
    uint32_t count = axo__state_suspends(state);
    AXO_ASSERT(count < UINT32_MAX);
    axo__a32_store_relaxed(&state->suspends, count + 1);
}

/* To be settled. Resume at zero stays at zero (SC-07). */
static inline void axo__state_resume(axo__state *state)
{
    AXO_DEBUG_ASSERT(axo__state_is_running(state));
    uint32_t count = axo__state_suspends(state);
    if (count > 0)
        axo__a32_store_relaxed(&state->suspends, count - 1);
}

/* HELD says what the count does. */
static inline void axo__state_settle(axo__state *state)
{
    AXO_DEBUG_ASSERT(axo__state_is_running(state));
    bool held = (axo__a64_load_relaxed(&state->word) & AXO__HELD) != 0; /* the runner's: I2 */
    bool hold = axo__state_suspends(state) > 0;
    if (hold && !held)
        (void)axo__a64_or_acq_rel(&state->word, AXO__HELD); /* [S5] */
    else if (held && !hold)
        (void)axo__a64_and_acq_rel(&state->word, ~AXO__HELD); /* [S5] */
}

static inline void axo__state_wait(axo__state *state)
{
    AXO_DEBUG_ASSERT(axo__state_is_running(state));
    (void)axo__a64_or_acq_rel(&state->word, AXO__WAITING); /* [S5] */
}

/* false: it did not wait. */
static inline bool axo__state_unwait(axo__state *state)
{
    AXO_DEBUG_ASSERT(axo__state_is_running(state));
    if ((axo__a64_load_relaxed(&state->word) & AXO__WAITING) == 0)
        return false;
    (void)axo__a64_and_acq_rel(&state->word, ~AXO__WAITING); /* [S5] */
    return true;
}

/* It takes in no more children, and no more messages of users. */
static inline void axo__state_terminate(axo__state *state)
{
    uint32_t count = axo__state_suspends(state);
    AXO_ASSERT(count < UINT32_MAX);
    axo__a32_store_relaxed(&state->suspends, count + 1);
    uint64_t old = axo__a64_or_acq_rel(&state->word, AXO__TERMINATING | AXO__HELD); /* [S4] [S5] */
    AXO_DEBUG_ASSERT((old & AXO__RUNNING) != 0 && (old & (AXO__TERMINATING | AXO__CLOSED)) == 0);
}

/* As one that terminates. */
static inline void axo__state_close(axo__state *state)
{
    uint64_t bits = AXO__CLOSED | AXO__TERMINATING | AXO__HELD;
    uint64_t old = axo__a64_or_acq_rel(&state->word, bits); /* [S4] */
    AXO_DEBUG_ASSERT((old & AXO__RUNNING) != 0 && (old & AXO__CLOSED) == 0);
}

/* Takes an injector's node into use; false: it is in the queue already, which will do, or the cell
 * is closed and needs no entry. Who moves a stale entry may be at a slot that is free by now (I5).
 * The load is no older than what the entry was pushed for: the pusher has announced it in this
 * word, or a queue has handed it on. */
static inline bool axo__state_inject(axo__state *state, uint64_t bit)
{
    AXO_DEBUG_ASSERT(bit == AXO__INJECTED || bit == AXO__URGENT_INJECTED);
    uint64_t old = axo__a64_load_relaxed(&state->word); /* a guess, but for a bit that is set */
    do {
        if ((old & (bit | AXO__CLOSED)) != 0)
            return false;
    } while (!axo__a64_cas_acq_rel(&state->word, &old, old | bit)); /* [S6] */
    return true;
}

/* The node has been popped: before the claim is tried. */
static inline void axo__state_injected(axo__state *state, uint64_t bit)
{
    uint64_t old = axo__a64_and_acq_rel(&state->word, ~bit); /* [S6] */
    AXO_DEBUG_ASSERT((old & bit) != 0);
}

#endif
