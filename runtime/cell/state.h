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
 * older ones. So a single compare-and-swap queues a message and says whether the sender has to push
 * an entry, and another claims the cell and takes all that has come. There is no ABA: senders put
 * messages on top of whatever is there, and the runner takes them out all at once.
 *
 * The flags say: RUNNING, a worker is inside; READY, messages may wait outside the lane (a runner
 * took more than it handled, or the cell has a bounded mailbox); URGENT, system work was announced;
 * INJECTED and URGENT_INJECTED, that injector's node of the cell is in use; TERMINATING, the cell
 * takes in no more children; CLOSED, the actor has terminated; WAITING, the actor has sent to a
 * mailbox without room; HELD, the actor is suspended, `suspends` times. With WAITING or HELD the
 * runner takes no messages of users.
 *
 * Invariants
 *   I1  A word with URGENT, or with (READY or a message) and neither HELD nor WAITING, and without
 *       RUNNING and CLOSED: some queue has an entry that a worker will try. The thread that brings
 *       the word into this state pushes that entry.
 *   I2  Only the worker that set RUNNING changes the count, HELD or WAITING, clears READY or
 *       URGENT, takes messages, or closes.
 *   I3  An entry in a queue is a hint. claim decides; a stale entry changes nothing.
 *   I4  While a runner has taken messages and not handled all of them, RUNNING or READY is set.
 *   I5  CLOSED: no injector's node comes into use, by whatever entry. So a slot that was given back
 *       has no node in use until its next life begins; an entry of the former life is a hint to the
 *       next one from then on.
 *
 * HELD may be behind the count while RUNNING is set; the runner settles it before it looks for
 * messages or finishes.
 *
 * A look: borrow sets RUNNING on a cell that no worker is in, with or without work, so that the
 * borrower may read what is the runner's; give_back clears it. I2 holds: no other bit changes.
 * While RUNNING is set I1 asks for no entry: a thread that announces pushes none, and a worker that
 * tries an entry finds it stale and drops it. So give_back treats every bit that it finds as not
 * pushed: a bit set before its exchange is pushed by its caller, a bit set after it finds RUNNING
 * clear and is pushed by its announcer. The exchange and each announcement change one word, so one
 * of the two comes first and no third case exists. An entry that no worker tried in between makes a
 * second one for the same work: a hint too many (I3).
 *
 * Wake-up: a message is in the lane and announced in one step. Work that is queued elsewhere (a
 * bounded mailbox, the system lane) is announced after the enqueue is complete, with a
 * read-modify-write; the runner clears the bit first and looks after. If the announcement comes
 * before the clearing, the clearing acquires it and the look finds the work; if it comes after, it
 * finds the bit clear and sets it anew, which brings another look.
 *
 * Orders
 *   [S1] or/cas acq_rel, announce, push   releases the enqueue, the message; pairs with [S2] [S3]
 *   [S2] cas acq_rel, claim, borrow  acquires what the last runner released with [S4] and what all
 *                                   announcers released with [S1]; a claim is also [S3]
 *   [S3] and acq_rel, take, take_urgent   acquires the messages, the system lane
 *   [S4] cas acq_rel, finish        releases the cell to the next runner's [S2]; so do the store
 *                                   of word, the ands of birth and give_back, the add of
 *                                   give_back_held, the cas of unclaim, the ors of terminate and
 *                                   close, the cas of close_plain
 *   [S5] or/and acq_rel, settle     HELD, WAITING; by the runner only. A sender's [S1] on the same
 *                                   word finds the bit, or RUNNING: in both cases the runner that
 *                                   frees the cell finds the message in finish
 *   [S6] cas/and acq_rel, inject    the cas of the node's next use acquires the and that gave the
 *                                   node back, so no push meets a node that is still being popped
 *   [S7] load acquire, look         pairs with [S1] and [S4]: a thread that reads a bit may read
 *                                   everything that was written before the bit
 */
#ifndef AXO__CELL_STATE_H
#define AXO__CELL_STATE_H

#include <stddef.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "base/config.h"
#include "queue/mpsc.h"

/* The head of this file says what each flag means. */
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

/* Every sender writes `word`; the runner alone writes `suspends`, of which HELD shows senders
 * enough. */
typedef struct axo__state {
    axo__a64 word;
    axo__a32 suspends; /* written by the runner; other threads may read it as a hint */
    axo__a32 behind;   /* a mark of sched/follow.h, a hint; 0: none */
} axo__state;

/* What a thread that has announced work does next (I1). */
typedef enum axo__announce {
    AXO__ANNOUNCE_DONE = 0, /* an entry is there, or the runner will look, or none is due */
    AXO__ANNOUNCE_PUSH = 1  /* the caller pushes an entry */
} axo__announce;

/* What a worker that has tried an entry may do. */
typedef enum axo__claim {
    AXO__CLAIM_STALE = 0,
    AXO__CLAIM_MINE = 1,
    AXO__CLAIM_URGENT = 2 /* the caller's, with system work to look at first */
} axo__claim;

/* How a turn ends. */
typedef enum axo__finish {
    AXO__FINISH_IDLE = 0,
    AXO__FINISH_AGAIN = 1, /* still RUNNING: the runner looks for work again */
    AXO__FINISH_PUSH = 2,  /* finished; the caller pushes an entry */
    AXO__FINISH_CLOSED = 3
} axo__finish;

/* What a worker that has left a cell without a turn pushes (I1). */
typedef enum axo__unclaim {
    AXO__UNCLAIM_IDLE = 0,
    AXO__UNCLAIM_READY = 1, /* the caller pushes an entry */
    AXO__UNCLAIM_URGENT = 2 /* the caller pushes an urgent one */
} axo__unclaim;

/* Relaxed: exact for the runner, which alone writes it, and a hint for every other thread. */
static inline uint32_t axo__state_suspends(const axo__state *state)
{
    return axo__a32_load_relaxed(&state->suspends);
}

/* For checks: true if some worker is inside, which has to be the caller. */
static inline bool axo__state_is_running(const axo__state *state)
{
    return (axo__a64_peek_owner(&state->word) & AXO__RUNNING) != 0;
}

/* Whether the cell may take messages of users. */
static inline bool axo__state_free(uint64_t word)
{
    return (word & (AXO__WAITING | AXO__HELD)) == 0;
}

/* Whether there are messages of users; READY: a bounded mailbox or an earlier runner may have
 * some. */
static inline bool axo__state_has(uint64_t word)
{
    return (word & (AXO__READY | AXO__LANE)) != 0;
}

/* The newest message of the lane; NULL: the lane is empty. */
static inline axo__mpsc_node *axo__state_lane(uint64_t word)
{
    return (axo__mpsc_node *)(uintptr_t)(word & AXO__LANE);
}

/* A newborn's word: URGENT, since the first turn creates the instance (OR-09), and suspended as
 * often as its parent (SC-03). RUNNING stays set until the parent's runner knows the child, so a
 * worker that tries a stale entry of the slot's former life finds it stale. No other thread changes
 * the word of a free slot: it is CLOSED, no injector has a node of it, and no reference leads to
 * it. The store [S4] releases the newborn's fields; the first claim [S2] acquires them. */
static inline void axo__state_word(axo__state *state, uint64_t running)
{
    bool held = axo__a32_load_relaxed(&state->suspends) > 0;
    AXO_DEBUG_ASSERT((axo__a64_load_relaxed(&state->word) &
                      (AXO__INJECTED | AXO__URGENT_INJECTED)) == 0);
    axo__a64_store_release(&state->word,
                           running | AXO__URGENT | (held ? AXO__HELD : 0)); /* [S4] */
}

/* What is not in the word; before the word. */
static inline void axo__state_counts(axo__state *state, uint32_t suspends)
{
    axo__a32_store_relaxed(&state->suspends, suspends);
    axo__a32_store_relaxed(&state->behind, 0);
}

static inline void axo__state_init(axo__state *state, uint32_t suspends)
{
    axo__state_counts(state, suspends);
    axo__state_word(state, AXO__RUNNING);
}

/* Init and birth in one, behind the counts and the reference and without a read-modify-write: the
 * parent's runner knows the child already, and no other thread has the reference. One that walks
 * the table may see the reference before this word (axo__cell_lives). The caller pushes an entry;
 * a stale one may lead a worker to the child as soon as this is done. */
static inline void axo__state_born(axo__state *state)
{
    axo__state_word(state, 0);
}

/* The parent's runner knows the child; the caller pushes an entry. The and [S4] releases what the
 * parent wrote into the child (its link among the siblings) to the first claim [S2]. A
 * read-modify-write, since a thread that spawned from outside has the reference already and may
 * have sent. */
static inline void axo__state_birth(axo__state *state)
{
    uint64_t old = axo__a64_and_acq_rel(&state->word, ~AXO__RUNNING); /* [S4] */
    AXO_DEBUG_ASSERT((old & AXO__RUNNING) != 0 && (old & AXO__CLOSED) == 0);
}

/* Whether the thread that added user work to this word pushes an entry: only if it has found the
 * word idle. With RUNNING the runner will find the work in finish; with other work an entry is
 * there; with HELD or WAITING the runner that frees the cell looks; with CLOSED the drain does. */
static inline axo__announce axo__state_woken(uint64_t old)
{
    uint64_t others = AXO__LANE | AXO__READY | AXO__RUNNING | AXO__URGENT | AXO__CLOSED |
                      AXO__WAITING | AXO__HELD;
    return (old & others) == 0 ? AXO__ANNOUNCE_PUSH : AXO__ANNOUNCE_DONE;
}

/* Queues a message in the lane and returns the word that was there. Any thread. The cas [S1]
 * releases the message and its link; the claim [S2] or take [S3] that removes it acquires them. A
 * relaxed load suffices for the first guess, since the cas compares it again. */
static inline uint64_t axo__state_push(axo__state *state, axo__mpsc_node *node)
{
    uint64_t bits = (uint64_t)(uintptr_t)node;
    AXO_DEBUG_ASSERT((bits & ~AXO__LANE) == 0);
    uint64_t old = axo__a64_load_relaxed(&state->word);
    if (axo__likely(old == 0)) { /* the usual case: idle */
        node->next = NULL;
        if (axo__likely(axo__a64_cas_acq_rel(&state->word, &old, bits))) /* [S1] */
            return 0;
    }
    do {
        node->next = axo__state_lane(old);
    } while (!axo__a64_cas_acq_rel(&state->word, &old, (old & ~AXO__LANE) | bits)); /* [S1] */
    return old;
}

/* Announces user work that the word does not show: a message in a bounded mailbox. The or [S1]
 * comes after the message was queued and pairs with the runner's clearing of READY in claim [S2] or
 * finish [S3]: so the look that follows the clearing finds the message, or READY is set anew. */
static inline axo__announce axo__state_announce_user(axo__state *state)
{
    return axo__state_woken(axo__a64_or_acq_rel(&state->word, AXO__READY)); /* [S1] */
}

/* All messages of the lane, newest first, for the runner (or the drain of a closed cell). The and
 * [S3] acquires every push [S1] of them: each push is a read-modify-write of the one before, so the
 * last one carries all. */
static inline axo__mpsc_node *axo__state_take(axo__state *state)
{
    uint64_t old = axo__a64_and_acq_rel(&state->word, ~AXO__LANE); /* [S3] */
    AXO_DEBUG_ASSERT((old & (AXO__RUNNING | AXO__CLOSED)) != 0); /* I2 */
    return axo__state_lane(old);
}

/* Announces system work, after the node is in the system lane or the bits are in the directives.
 * HELD does not keep an entry back: a suspended actor handles its system lane (FS-04). The or [S1]
 * pairs with take_urgent [S3] and claim [S2], which clear URGENT before the runner looks. */
static inline axo__announce axo__state_announce_system(axo__state *state)
{
    uint64_t old = axo__a64_or_acq_rel(&state->word, AXO__URGENT); /* [S1] */
    bool push = (old & (AXO__URGENT | AXO__RUNNING | AXO__CLOSED)) == 0;
    return push ? AXO__ANNOUNCE_PUSH : AXO__ANNOUNCE_DONE;
}

/* Enters the cell for a turn. URGENT is cleared, so the runner has to look at the system lane after
 * this; READY is cleared unless HELD or WAITING keeps messages back. *lane receives the messages of
 * the lane, newest first, if the cell may take messages and no earlier runner has left any: with
 * READY the messages left over are older, and the lane waits behind them. The cas [S2] acquires the
 * last runner's [S4] and every announcement [S1] whose bit or message it takes. */
static inline axo__claim axo__state_claim(axo__state *state, axo__mpsc_node **lane)
{
    uint64_t old = axo__a64_load_acquire(&state->word); /* [S7] */
    if (axo__likely(old != 0 && (old & ~AXO__LANE) == 0)) { /* the usual case: messages, no flag */
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

/* As axo__state_claim, of a newborn, or of another cell that asks for system work and has nothing
 * else but messages, of which no runner has left any; *lane receives them, newest first. false: the
 * word is not so simple, and axo__state_claim decides. */
static inline bool axo__state_claim_born(axo__state *state, axo__mpsc_node **lane)
{
    uint64_t old = axo__a64_load_relaxed(&state->word); /* a guess */
    if (axo__unlikely((old & ~AXO__LANE) != AXO__URGENT))
        return false;
    bool mine = axo__a64_cas_acq_rel(&state->word, &old, AXO__RUNNING); /* [S2] */
    *lane = axo__state_lane(old);
    return axo__likely(mine);
}

/* As axo__state_claim, of a cell that has messages and nothing else: all of them, newest first.
 * NULL: the word is not so simple, and axo__state_claim decides. */
static inline axo__mpsc_node *axo__state_claim_plain(axo__state *state)
{
    uint64_t old = axo__a64_load_relaxed(&state->word); /* a guess */
    if (axo__unlikely(old - 1 >= AXO__LANE)) /* 0, or it has a flag */
        return NULL;
    axo__mpsc_node *lane = axo__state_lane(old);
    AXO_DEBUG_ASSERT(lane != NULL);
    if (lane == NULL)
        __builtin_unreachable(); /* said for the compiler, which tests it otherwise */
    bool mine = axo__a64_cas_acq_rel(&state->word, &old, AXO__RUNNING); /* [S2] */
    return axo__likely(mine) ? lane : NULL;
}

/* A look at the word: a bit that is found set comes with what was written before it was set [S1]
 * [S4]; a bit that is found clear may be set by now. */
static inline uint64_t axo__state_look(const axo__state *state)
{
    return axo__a64_load_acquire(&state->word); /* [S7] */
}

/* Whether a node of the cell lies in an injector, or is about to. */
static inline bool axo__state_has_node(const axo__state *state)
{
    return (axo__state_look(state) & (AXO__INJECTED | AXO__URGENT_INJECTED)) != 0;
}

/* Undoes a claim: user messages may be there, and system work if the claim said `urgent`, so their
 * bits are set again. RUNNING and the bits change in one cas [S4], which the next claim [S2]
 * acquires. This runner has not closed the cell. */
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

/* Enters the cell for a look (system/inspect.c); false: a worker is inside, or the cell is closed.
 * The borrower may read what is the runner's and changes nothing but a mark
 * (system/health.h). The cas [S2] acquires what the last runner released [S4]. */
static inline bool axo__state_borrow(axo__state *state)
{
    uint64_t old = axo__a64_load_acquire(&state->word); /* [S7] */
    while ((old & (AXO__RUNNING | AXO__CLOSED)) == 0) {
        if (axo__a64_cas_acq_rel(&state->word, &old, old | AXO__RUNNING)) /* [S2] */
            return true;
    }
    return false;
}

/* Enters a cell that no worker is in and that has nothing to do: the borrower runs a part of the
 * cell's system work, a decision or a child's end. A word without work has no entry that is waited
 * for, so giving the cell back pushes only what was announced in between. The cas [S2] acquires
 * what the last runner released [S4]; the guess before it needs no order. */
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

/* Ends a borrow. The and [S4] pairs with the next claim or borrow [S2]. Work announced meanwhile
 * has no entry, and an entry for older work may have been tried and dropped as stale, so the caller
 * pushes one for whatever work the old value of the word shows. */
static inline axo__unclaim axo__state_give_back(axo__state *state)
{
    uint64_t old = axo__a64_and_acq_rel(&state->word, ~AXO__RUNNING); /* [S4] */
    AXO_DEBUG_ASSERT((old & AXO__RUNNING) != 0 && (old & AXO__CLOSED) == 0);
    if ((old & AXO__URGENT) != 0)
        return AXO__UNCLAIM_URGENT;
    bool ready = axo__state_has(old) && axo__state_free(old);
    return ready ? AXO__UNCLAIM_READY : AXO__UNCLAIM_IDLE;
}

/* Ends a borrow in which the borrower has suspended the cell. One addition sets HELD and clears
 * RUNNING, so no worker can claim the cell in between and handle a message; RUNNING was set and
 * HELD clear, so no carry reaches another bit. */
static inline axo__unclaim axo__state_give_back_held(axo__state *state)
{
    uint64_t old = axo__a64_add_acq_rel(&state->word, AXO__HELD - AXO__RUNNING); /* [S4] */
    AXO_DEBUG_ASSERT((old & AXO__RUNNING) != 0 && (old & (AXO__CLOSED | AXO__HELD)) == 0);
    return (old & AXO__URGENT) != 0 ? AXO__UNCLAIM_URGENT : AXO__UNCLAIM_IDLE;
}

/* Clears URGENT before the runner looks at the system lane. The and [S3] acquires every
 * announcement [S1] up to here; an announcement that comes later sets URGENT again, and finish
 * refuses to leave. */
static inline void axo__state_take_urgent(axo__state *state)
{
    AXO_DEBUG_ASSERT(axo__state_is_running(state));
    (void)axo__a64_and_acq_rel(&state->word, ~AXO__URGENT); /* [S3] */
}

/* Ends a turn that has left nothing, if nothing was announced meanwhile; false: the word has
 * another flag or a message, and axo__state_finish says how the turn ends. The cas releases the
 * cell to the next runner's [S2]. */
static inline bool axo__state_finish_plain(axo__state *state)
{
    uint64_t old = AXO__RUNNING;
    return axo__a64_cas_acq_rel(&state->word, &old, 0); /* [S4] */
}

/* Ends a turn. `more`: messages that were taken may be left, or a bounded mailbox may have some,
 * and the quantum is spent; without `more` there are none, or a sender is about to announce one.
 * Leaving and looking for new work are one cas [S4] of one word: work that was announced before
 * makes it fail, and work announced after finds RUNNING clear and is pushed by its announcer.
 * Leaving first and looking afterwards, or the other way round, would let a wake-up fall between.
 * The cas releases the cell to the next runner's [S2]. */
static inline axo__finish axo__state_finish(axo__state *state, bool more)
{
    if (!more && axo__state_finish_plain(state)) /* the usual case */
        return AXO__FINISH_IDLE;
    uint64_t old = axo__a64_load_acquire(&state->word); /* [S7] */
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
            want |= AXO__READY; /* the runner that frees the cell looks for messages */
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

/* Counts a suspension; the runner settles HELD later. The runner alone writes the count, so a load
 * and a store are enough. */
static inline void axo__state_suspend(axo__state *state)
{
    AXO_DEBUG_ASSERT(axo__state_is_running(state));
    uint32_t count = axo__state_suspends(state);
    AXO_ASSERT(count < UINT32_MAX);
    axo__a32_store_relaxed(&state->suspends, count + 1);
}

/* Takes a suspension back; the runner settles HELD later. A resumption at zero stays at zero
 * (SC-07). */
static inline void axo__state_resume(axo__state *state)
{
    AXO_DEBUG_ASSERT(axo__state_is_running(state));
    uint32_t count = axo__state_suspends(state);
    if (count > 0)
        axo__a32_store_relaxed(&state->suspends, count - 1);
}

/* Brings HELD in line with the count, once before the runner leaves or looks for messages: a
 * suspension that ends within the turn costs no locked operation. The or and the and [S5] change
 * HELD while RUNNING is set: a sender that pushed no entry because of HELD has its message in the
 * word before the finish of the runner that clears HELD. */
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

/* The actor has sent where there is no room: no message is handled until the record of that send
 * comes back. */
static inline void axo__state_wait(axo__state *state)
{
    AXO_DEBUG_ASSERT(axo__state_is_running(state));
    (void)axo__a64_or_acq_rel(&state->word, AXO__WAITING); /* [S5] */
}

/* The wait is over; false: the actor did not wait. */
static inline bool axo__state_unwait(axo__state *state)
{
    AXO_DEBUG_ASSERT(axo__state_is_running(state));
    if ((axo__a64_load_relaxed(&state->word) & AXO__WAITING) == 0)
        return false;
    (void)axo__a64_and_acq_rel(&state->word, ~AXO__WAITING); /* [S5] */
    return true;
}

/* The cell takes in no more children and handles no more messages of users (ST-04, ST-10). The or
 * [S4] pairs with the look [S7] of a thread that spawns from outside (axo__guardian_spawn) or asks
 * for a name's owner. */
static inline void axo__state_terminate(axo__state *state)
{
    uint32_t count = axo__state_suspends(state);
    AXO_ASSERT(count < UINT32_MAX);
    axo__a32_store_relaxed(&state->suspends, count + 1);
    uint64_t old = axo__a64_or_acq_rel(&state->word, AXO__TERMINATING | AXO__HELD); /* [S4] [S5] */
    AXO_DEBUG_ASSERT((old & AXO__RUNNING) != 0 && (old & (AXO__TERMINATING | AXO__CLOSED)) == 0);
}

/* The last transition. The or [S4] pairs with each pusher's announcement [S1] on the same word: if
 * the announcement comes first, the closing runner's drain finds the node; if it comes after, it
 * reads CLOSED. TERMINATING and HELD are set for a cell that skipped axo__state_terminate. */
static inline void axo__state_close(axo__state *state)
{
    uint64_t bits = AXO__CLOSED | AXO__TERMINATING | AXO__HELD;
    uint64_t old = axo__a64_or_acq_rel(&state->word, bits); /* [S4] */
    AXO_DEBUG_ASSERT((old & AXO__RUNNING) != 0 && (old & AXO__CLOSED) == 0);
}

/* axo__state_close and the finish behind it in one step, of a cell whose word has nothing but
 * RUNNING; false: it has more, and nothing has changed. The cas [S4] fails if an announcement [S1]
 * came before it; one that comes after it reads CLOSED. No worker enters the cell any more, and the
 * caller may go on reading it until its turn ends. */
static inline bool axo__state_close_plain(axo__state *state)
{
    uint64_t old = AXO__RUNNING;
    uint64_t bits = AXO__CLOSED | AXO__TERMINATING | AXO__HELD;
    return axo__a64_cas_acq_rel(&state->word, &old, bits); /* [S4] */
}

/* Takes an injector's node into use; false: the node is in the queue already, whose entry will do,
 * or the cell is closed and needs none. A thread that moves a stale entry may have come to a slot
 * that is free by now, hence CLOSED (I5). The relaxed load is no older than the work that the entry
 * is for: the pusher has announced in this very word, or a queue has handed the entry on. The cas
 * [S6] pairs with the and of axo__state_injected, so the node is out of the queue before it is
 * pushed again. */
static inline bool axo__state_inject(axo__state *state, uint64_t bit)
{
    AXO_DEBUG_ASSERT(bit == AXO__INJECTED || bit == AXO__URGENT_INJECTED);
    uint64_t old = axo__a64_load_relaxed(&state->word); /* the cas repeats the guess */
    do {
        if ((old & (bit | AXO__CLOSED)) != 0)
            return false;
    } while (!axo__a64_cas_acq_rel(&state->word, &old, old | bit)); /* [S6] */
    return true;
}

/* The node has been popped; called before the claim is tried. Work announced from here on takes the
 * node anew. If the bit were cleared after a claim that was stale, work announced in between would
 * find the node in use and get no entry. */
static inline void axo__state_injected(axo__state *state, uint64_t bit)
{
    uint64_t old = axo__a64_and_acq_rel(&state->word, ~bit); /* [S6] */
    AXO_DEBUG_ASSERT((old & bit) != 0);
}

#endif
