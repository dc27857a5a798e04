/* state_test.c - the scheduling word: every transition from every word, and nothing gets lost. */
#include "unit/unit.h"

#include "cell/state.h"
#include "mailbox/inbox.h"
#include "queue/inject.h"

/* Every combination of the bits, with an empty lane and with one that has a message; with no, one
 * and many suspensions. */
#define BITS 9
#define WORDS (1 << (BITS + 1))

static axo__mpsc_node old_message;

static uint64_t word_at(uint64_t i)
{
    uint64_t lane = i >> BITS != 0 ? (uint64_t)(uintptr_t)&old_message : 0;
    return (i % (1 << BITS)) << 48 | lane;
}

static bool has(uint64_t word, uint64_t bit)
{
    return (word & bit) != 0;
}

static void set(axo__state *word, uint64_t value)
{
    axo__a64_store_relaxed(&word->word, value);
    axo__a32_store_relaxed(&word->suspends, has(value, AXO__HELD) ? 1 : 0);
}

static uint64_t get(const axo__state *word)
{
    return axo__a64_load_relaxed(&word->word);
}

static axo__claim claim(axo__state *word)
{
    axo__mpsc_node *lane = NULL;
    return axo__state_claim(word, &lane);
}

/* I1: somebody is bound to come to this cell. */
static bool wants_entry(uint64_t word)
{
    bool work = has(word, AXO__URGENT) ||
                (has(word, AXO__READY | AXO__LANE) && !has(word, AXO__HELD | AXO__WAITING));
    return work && !has(word, AXO__RUNNING) && !has(word, AXO__CLOSED);
}

static void newborn(void **state)
{
    axo__state word;
    for (uint32_t i = 0; i < 5; i++) {
        set(&word, 0);
        axo__state_init(&word, i);
        assert_true(has(get(&word), AXO__URGENT));
        assert_false(has(get(&word), AXO__READY | AXO__CLOSED | AXO__INJECTED));
        assert_int_equal(axo__state_suspends(&word), i);
        assert_int_equal(has(get(&word), AXO__HELD), i > 0);
        assert_int_equal(claim(&word), AXO__CLAIM_STALE); /* its parent comes first */
        assert_int_equal(axo__state_announce_user(&word), AXO__ANNOUNCE_DONE);
        assert_int_equal(axo__state_announce_system(&word), AXO__ANNOUNCE_DONE);
        axo__state_birth(&word);
        assert_true(wants_entry(get(&word)));
        assert_int_equal(claim(&word), AXO__CLAIM_URGENT);
        assert_int_equal(axo__state_suspends(&word), i);
    }
}

/* The same in one step, for a child that its parent knows already. */
static void born(void **state)
{
    axo__state word;
    for (uint32_t i = 0; i < 3; i++) {
        set(&word, AXO__CLOSED);
        axo__state_counts(&word, i);
        axo__state_born(&word);
        assert_int_equal(axo__state_suspends(&word), i);
        assert_int_equal(has(get(&word), AXO__HELD), i > 0);
        assert_false(has(get(&word), AXO__READY | AXO__CLOSED | AXO__RUNNING));
        assert_true(wants_entry(get(&word)));
        assert_int_equal(claim(&word), AXO__CLAIM_URGENT);
    }
}

/* The slot's former life may have left an entry in an injector: its node stays in use. */
static void newborn_in_a_used_slot(void **state)
{
    uint64_t nodes = AXO__INJECTED | AXO__URGENT_INJECTED;
    axo__state word;
    for (uint64_t i = 0; i < WORDS; i++) {
        if ((word_at(i) & nodes) != 0)
            continue; /* such a slot is not given back */
        for (uint32_t suspends = 0; suspends < 4; suspends++) {
            set(&word, word_at(i));
            axo__state_init(&word, suspends);
            assert_true(get(&word) == (AXO__RUNNING | AXO__URGENT |
                                       (suspends > 0 ? AXO__HELD : 0)));
            assert_int_equal(axo__state_suspends(&word), suspends);
        }
    }
}

static void terminating_suspends(void **state)
{
    axo__state word;
    for (uint64_t i = 0; i < WORDS; i++) {
        if (!has(word_at(i), AXO__RUNNING) || has(word_at(i), AXO__TERMINATING | AXO__CLOSED))
            continue; /* only the runner says so, and once */
        set(&word, word_at(i));
        uint32_t suspends = axo__state_suspends(&word);
        axo__state_terminate(&word);
        assert_true(get(&word) == (word_at(i) | AXO__TERMINATING | AXO__HELD));
        assert_int_equal(axo__state_suspends(&word), suspends + 1);
        axo__state_settle(&word);
        assert_true(get(&word) == (word_at(i) | AXO__TERMINATING | AXO__HELD));
    }
}

static void announce_user_pushes_exactly_when_it_makes_work(void **state)
{
    axo__state word;
    for (uint64_t i = 0; i < WORDS; i++) {
        uint64_t old = word_at(i);
        set(&word, old);
        bool push = axo__state_announce_user(&word) == AXO__ANNOUNCE_PUSH;
        assert_true(get(&word) == (old | AXO__READY));
        assert_int_equal(push, !wants_entry(old) && wants_entry(old | AXO__READY));
    }
}

/* Also when a READY entry waits already: the urgent one goes to another lane. */
static void announce_system_pushes_once(void **state)
{
    axo__state word;
    for (uint64_t i = 0; i < WORDS; i++) {
        uint64_t old = word_at(i);
        set(&word, old);
        bool push = axo__state_announce_system(&word) == AXO__ANNOUNCE_PUSH;
        assert_true(get(&word) == (old | AXO__URGENT));
        assert_int_equal(push, !has(old, AXO__URGENT) && !has(old, AXO__RUNNING) &&
                                   !has(old, AXO__CLOSED));
    }
}

/* In one step, and linked to what is there. */
static void push_queues_and_announces(void **state)
{
    axo__state word;
    axo__mpsc_node node;
    for (uint64_t i = 0; i < WORDS; i++) {
        uint64_t old = word_at(i);
        set(&word, old);
        uint64_t found = axo__state_push(&word, &node);
        bool push = axo__state_woken(found) == AXO__ANNOUNCE_PUSH;
        assert_true(found == old);
        assert_true(get(&word) == ((old & ~AXO__LANE) | (uint64_t)(uintptr_t)&node));
        assert_ptr_equal(node.next, has(old, AXO__LANE) ? &old_message : NULL);
        assert_int_equal(push, !wants_entry(old) && wants_entry(get(&word)));
        (void)axo__a64_or_acq_rel(&word.word, AXO__RUNNING); /* who takes is inside */
        assert_ptr_equal(axo__state_take(&word), &node);
        assert_true(get(&word) == ((old & ~AXO__LANE) | AXO__RUNNING));
        assert_null(axo__state_take(&word));
    }
}

/* It takes what has come, but not over what a runner has left (READY), nor while suspended. */
static void claim_decides(void **state)
{
    axo__state word;
    for (uint64_t i = 0; i < WORDS; i++) {
        uint64_t old = word_at(i);
        axo__mpsc_node *lane = NULL;
        set(&word, old);
        axo__claim claimed = axo__state_claim(&word, &lane);
        bool mine = claimed != AXO__CLAIM_STALE;
        assert_int_equal(mine, wants_entry(old));
        assert_int_equal(claimed == AXO__CLAIM_URGENT, mine && has(old, AXO__URGENT));
        uint64_t want = old;
        uint64_t taken = AXO__URGENT;
        if (mine && !has(old, AXO__HELD | AXO__WAITING))
            taken |= has(old, AXO__READY) ? AXO__READY : AXO__LANE;
        if (mine)
            want = (old & ~taken) | AXO__RUNNING;
        assert_true(get(&word) == want);
        assert_ptr_equal(lane, has(old & taken, AXO__LANE) ? &old_message : NULL);
        assert_int_equal(claim(&word), AXO__CLAIM_STALE);
        assert_true(get(&word) == want);
    }
}

/* Only one that nobody is in; and then only RUNNING changes, there and back. */
static void borrow_leaves_no_trace(void **state)
{
    axo__state word;
    for (uint64_t i = 0; i < WORDS; i++) {
        uint64_t old = word_at(i);
        set(&word, old);
        bool free = !has(old, AXO__RUNNING) && !has(old, AXO__CLOSED);
        assert_int_equal(axo__state_borrow(&word), free);
        assert_true(get(&word) == (free ? old | AXO__RUNNING : old));
        assert_false(axo__state_borrow(&word));
        if (!free)
            continue;
        assert_int_equal(claim(&word), AXO__CLAIM_STALE); /* an entry is used up */
        axo__unclaim what = axo__state_give_back(&word);
        assert_true(get(&word) == old);
        assert_int_equal(what != AXO__UNCLAIM_IDLE, wants_entry(old));
        assert_int_equal(what == AXO__UNCLAIM_URGENT, has(old, AXO__URGENT));
    }
}

/* Whatever is announced during the look is pushed by who looked. */
static void what_comes_during_a_look_is_pushed(void **state)
{
    axo__state word;
    for (uint64_t i = 0; i < WORDS; i++) {
        set(&word, word_at(i));
        if (!axo__state_borrow(&word))
            continue;
        assert_int_equal(axo__state_announce_user(&word), AXO__ANNOUNCE_DONE);
        axo__unclaim what = axo__state_give_back(&word);
        assert_int_equal(what != AXO__UNCLAIM_IDLE, wants_entry(get(&word)));
        set(&word, word_at(i));
        assert_true(axo__state_borrow(&word));
        assert_int_equal(axo__state_announce_system(&word), AXO__ANNOUNCE_DONE);
        assert_int_equal(axo__state_give_back(&word), AXO__UNCLAIM_URGENT);
    }
}

/* A claim that is undone leaves all the work there was, and an entry for it. */
static void unclaim_forgets_no_work(void **state)
{
    axo__state word;
    for (uint64_t i = 0; i < WORDS; i++) {
        uint64_t old = word_at(i);
        set(&word, old);
        axo__claim claimed = claim(&word);
        if (claimed == AXO__CLAIM_STALE)
            continue;
        bool urgent = claimed == AXO__CLAIM_URGENT;
        axo__unclaim what = axo__state_unclaim(&word, urgent);
        assert_true(wants_entry(old));
        assert_false(has(get(&word), AXO__RUNNING));
        assert_true(has(get(&word), AXO__READY)); /* the inbox has what was in the lane */
        assert_int_equal(has(get(&word), AXO__URGENT), urgent);
        assert_int_equal(what != AXO__UNCLAIM_IDLE, wants_entry(get(&word)));
        assert_int_equal(what == AXO__UNCLAIM_URGENT, urgent);
    }
}

static void take_urgent_clears_one_bit(void **state)
{
    axo__state word;
    for (uint64_t i = 0; i < WORDS; i++) {
        uint64_t old = word_at(i) | AXO__RUNNING;
        set(&word, old);
        axo__state_take_urgent(&word);
        assert_true(get(&word) == (old & ~AXO__URGENT));
    }
}

static void check_finish(uint64_t old, bool more)
{
    axo__state word;
    set(&word, old);
    axo__finish finish = axo__state_finish(&word, more);
    uint64_t rest = old & ~AXO__RUNNING;
    bool suspended = has(old, AXO__HELD | AXO__WAITING);
    if (has(old, AXO__CLOSED)) {
        assert_int_equal(finish, AXO__FINISH_CLOSED);
        assert_true(get(&word) == rest);
    } else if (has(old, AXO__URGENT)) {
        assert_int_equal(finish, AXO__FINISH_AGAIN);
        assert_true(get(&word) == old);
    } else if (suspended) {
        assert_int_equal(finish, AXO__FINISH_IDLE);
        assert_true(get(&word) == (rest | AXO__READY));
    } else if (more) {
        assert_int_equal(finish, AXO__FINISH_PUSH);
        assert_true(get(&word) == (rest | AXO__READY));
    } else if (has(old, AXO__READY)) {
        assert_int_equal(finish, AXO__FINISH_AGAIN);
        assert_true(get(&word) == (old & ~AXO__READY));
    } else if (has(old, AXO__LANE)) {
        assert_int_equal(finish, AXO__FINISH_AGAIN);
        assert_true(get(&word) == old);
    } else {
        assert_int_equal(finish, AXO__FINISH_IDLE);
        assert_true(get(&word) == rest);
    }
    /* An entry exists if and only if the caller pushes one. */
    if (finish != AXO__FINISH_AGAIN)
        assert_int_equal(wants_entry(get(&word)), finish == AXO__FINISH_PUSH);
    else
        assert_true(has(get(&word), AXO__RUNNING));
}

static void finish_leaves_no_work_unseen(void **state)
{
    for (uint64_t i = 0; i < WORDS; i++) {
        check_finish(word_at(i) | AXO__RUNNING, false);
        check_finish(word_at(i) | AXO__RUNNING, true);
    }
}

static void suspend_and_resume_count(void **state)
{
    axo__state word;
    for (uint64_t i = 0; i < WORDS; i++) {
        uint64_t bits = (word_at(i) & ~AXO__HELD) | AXO__RUNNING;
        set(&word, bits);
        axo__state_resume(&word); /* SC-07 */
        axo__state_settle(&word);
        assert_true(get(&word) == bits);
        for (uint32_t n = 1; n <= 5; n++) {
            axo__state_suspend(&word);
            assert_int_equal(axo__state_suspends(&word), n);
            assert_true(get(&word) == (n > 1 ? bits | AXO__HELD : bits));
            axo__state_settle(&word);
            assert_true(get(&word) == (bits | AXO__HELD));
        }
        for (uint32_t n = 5; n-- > 0;) {
            axo__state_resume(&word);
            assert_int_equal(axo__state_suspends(&word), n);
            assert_true(get(&word) == (bits | AXO__HELD));
            axo__state_settle(&word);
            assert_true(get(&word) == (n > 0 ? bits | AXO__HELD : bits));
        }
        axo__state_resume(&word);
        assert_int_equal(axo__state_suspends(&word), 0);
        axo__state_settle(&word);
        assert_true(get(&word) == bits);
    }
}

/* A suspension that is over before it is settled leaves the word alone. */
static void what_is_over_is_not_settled(void **state)
{
    axo__state word;
    set(&word, AXO__RUNNING);
    axo__state_suspend(&word);
    axo__state_suspend(&word);
    axo__state_resume(&word);
    axo__state_resume(&word);
    axo__state_settle(&word);
    assert_true(get(&word) == AXO__RUNNING);
    assert_int_equal(axo__state_suspends(&word), 0);
}

static void borrow_idle_wants_no_work(void **state)
{
    axo__state word;
    uint64_t nodes = AXO__INJECTED | AXO__URGENT_INJECTED;
    for (uint64_t i = 0; i < WORDS; i++) {
        set(&word, word_at(i));
        bool idle = (word_at(i) & ~nodes) == 0;
        assert_int_equal(axo__state_borrow_idle(&word), idle);
        assert_true(get(&word) == (idle ? word_at(i) | AXO__RUNNING : word_at(i)));
        if (idle)
            assert_int_equal(axo__state_give_back(&word), AXO__UNCLAIM_IDLE);
        assert_true(get(&word) == word_at(i));
    }
}

/* Messages and no flag: nothing else is claimed or touched, a word with RUNNING alone neither. */
static void claim_plain_wants_messages_alone(void **state)
{
    axo__state word;
    uint32_t taken = 0;
    for (uint64_t i = 0; i < WORDS; i++) {
        set(&word, word_at(i));
        axo__mpsc_node *lane = axo__state_claim_plain(&word);
        bool plain = word_at(i) != 0 && (word_at(i) & ~AXO__LANE) == 0;
        assert_true(lane == (plain ? axo__state_lane(word_at(i)) : NULL));
        assert_true(get(&word) == (plain ? AXO__RUNNING : word_at(i)));
        taken += plain;
    }
    assert_int_equal(taken, 1);
}

/* What the short claim takes, the long one takes as well. */
static void claim_born_is_a_claim(void **state)
{
    axo__state word;
    axo__state same;
    uint32_t taken = 0;
    for (uint64_t i = 0; i < WORDS; i++) {
        axo__mpsc_node *lane = NULL;
        axo__mpsc_node *other = NULL;
        set(&word, word_at(i));
        set(&same, word_at(i));
        if (!axo__state_claim_born(&word, &lane)) {
            assert_true(get(&word) == word_at(i));
            continue;
        }
        assert_int_equal(axo__state_claim(&same, &other), AXO__CLAIM_URGENT);
        assert_true(get(&word) == get(&same) && lane == other);
        taken++;
    }
    assert_int_equal(taken, 2); /* with and without a message */
}

/* Closed and released, of nothing but a runner's cell; what comes then finds it closed. */
static void close_plain_is_close_and_finish(void **state)
{
    axo__state word;
    axo__state same;
    for (uint64_t i = 0; i < WORDS; i++) {
        set(&word, word_at(i));
        bool plain = word_at(i) == AXO__RUNNING;
        assert_int_equal(axo__state_close_plain(&word), plain);
        if (!plain) {
            assert_true(get(&word) == word_at(i));
            continue;
        }
        set(&same, word_at(i));
        axo__state_close(&same);
        assert_int_equal(axo__state_finish(&same, false), AXO__FINISH_CLOSED);
        assert_true(get(&word) == get(&same));
        assert_false(axo__state_borrow(&word));
    }
}

/* Messages wait for the resume; system work that came meanwhile is pushed. */
static void what_comes_while_it_is_suspended_by_another(void **state)
{
    axo__state word;
    for (uint32_t i = 0; i < 4; i++) {
        set(&word, 0);
        assert_true(axo__state_borrow_idle(&word));
        axo__state_suspend(&word);
        if ((i & 1) != 0)
            assert_int_equal(axo__state_announce_user(&word), AXO__ANNOUNCE_DONE);
        if ((i & 2) != 0)
            assert_int_equal(axo__state_announce_system(&word), AXO__ANNOUNCE_DONE);
        uint64_t came = get(&word) & ~AXO__RUNNING;
        assert_int_equal(axo__state_give_back_held(&word),
                         (i & 2) != 0 ? AXO__UNCLAIM_URGENT : AXO__UNCLAIM_IDLE);
        assert_true(get(&word) == (came | AXO__HELD));
        assert_int_equal(axo__state_suspends(&word), 1);
    }
}

/* One bit, whatever the count, and no other bit. */
static void wait_and_unwait(void **state)
{
    axo__state word;
    for (uint64_t i = 0; i < WORDS; i++) {
        uint64_t old = word_at(i) | AXO__RUNNING;
        set(&word, old);
        axo__state_wait(&word);
        axo__state_wait(&word);
        assert_true(get(&word) == (old | AXO__WAITING));
        assert_false(axo__state_free(get(&word)));
        assert_true(axo__state_unwait(&word));
        assert_false(axo__state_unwait(&word));
        assert_true(get(&word) == (old & ~AXO__WAITING));
        assert_int_equal(axo__state_free(get(&word)), !has(old, AXO__HELD));
    }
}

/* What came while it was suspended is run after the resume, in the same turn or by an entry. */
static void resumed_work_is_not_lost(void **state)
{
    axo__state word;
    set(&word, AXO__URGENT);
    assert_int_equal(claim(&word), AXO__CLAIM_URGENT);
    assert_false(has(get(&word), AXO__URGENT));
    axo__state_suspend(&word);
    axo__state_settle(&word);
    assert_int_equal(axo__state_finish(&word, false), AXO__FINISH_IDLE);
    assert_int_equal(axo__state_announce_user(&word), AXO__ANNOUNCE_DONE);
    assert_int_equal(claim(&word), AXO__CLAIM_STALE);
    assert_int_equal(axo__state_announce_system(&word), AXO__ANNOUNCE_PUSH);
    assert_int_equal(claim(&word), AXO__CLAIM_URGENT);
    assert_false(has(get(&word), AXO__URGENT));
    axo__state_resume(&word);
    axo__state_settle(&word);
    assert_int_equal(axo__state_finish(&word, false), AXO__FINISH_AGAIN);
    assert_int_equal(axo__state_finish(&word, false), AXO__FINISH_IDLE);
}

static void close_is_for_good(void **state)
{
    axo__state word;
    set(&word, AXO__URGENT);
    assert_int_equal(claim(&word), AXO__CLAIM_URGENT);
    axo__state_close(&word);
    assert_int_equal(axo__state_announce_user(&word), AXO__ANNOUNCE_DONE);
    assert_int_equal(axo__state_announce_system(&word), AXO__ANNOUNCE_DONE);
    assert_int_equal(axo__state_finish(&word, true), AXO__FINISH_CLOSED);
    assert_int_equal(axo__state_announce_user(&word), AXO__ANNOUNCE_DONE);
    assert_int_equal(axo__state_announce_system(&word), AXO__ANNOUNCE_DONE);
    assert_int_equal(claim(&word), AXO__CLAIM_STALE);
}

static void injector_nodes_are_used_once(void **state)
{
    static const uint64_t bits[] = {AXO__INJECTED, AXO__URGENT_INJECTED};
    axo__state word;
    for (uint64_t i = 0; i < WORDS; i++) {
        for (int b = 0; b < 2; b++) {
            uint64_t old = word_at(i);
            set(&word, old);
            assert_int_equal(axo__state_inject(&word, bits[b]), !has(old, bits[b] | AXO__CLOSED));
            if (has(old, AXO__CLOSED)) { /* the slot may be free: nobody writes to it */
                assert_true(get(&word) == old);
                continue;
            }
            assert_true(get(&word) == (old | bits[b]));
            assert_false(axo__state_inject(&word, bits[b]));
            axo__state_injected(&word, bits[b]);
            assert_true(get(&word) == (old & ~bits[b]));
        }
    }
}

/* ---- the wake-up protocol on real threads: senders, workers that take entries, and those that
 * only look ---- */

enum { SENDERS = 3, WORKERS = 3, LOOKERS = 2, CELLS = 3, EACH = 30000 };

typedef struct state_cell {
    axo__state word;
    axo__inbox inbox;
    axo__mpsc_node entry; /* in use while INJECTED */
    axo__a32 inside;
    uint64_t handled;     /* the runner's: not atomic on purpose */
} state_cell;

typedef struct state_world {
    axo__inject inject;
    axo__a64 counts;
    state_cell cells[CELLS];
    axo__message *messages;
    axo__a32 got;
    axo__a32 looks;
    axo__a32 wrong;
} state_world;

static void push_entry(state_world *world, state_cell *cell)
{
    if (axo__state_inject(&cell->word, AXO__INJECTED))
        axo__inject_push_any(&world->inject, &cell->entry);
}

static bool handle(state_world *world, state_cell *cell)
{
    for (int left = 7; left > 0; left--) {
        if (axo__inbox_is_empty(&cell->inbox))
            axo__inbox_put(&cell->inbox, axo__state_take(&cell->word));
        while (!axo__inbox_turn(&cell->inbox))
            continue;
        if (axo__inbox_take(&cell->inbox) == NULL)
            return false;
        cell->handled++;
        (void)axo__a32_add_relaxed(&world->got, 1);
    }
    return true;
}

static void run_cell(state_world *world, state_cell *cell)
{
    axo__finish finish;
    do {
        if (has(axo__state_look(&cell->word), AXO__URGENT))
            axo__state_take_urgent(&cell->word);
        if (axo__a32_xchg_acq_rel(&cell->inside, 1) != 0)
            (void)axo__a32_add_relaxed(&world->wrong, 1);
        bool more = handle(world, cell);
        (void)axo__a32_xchg_acq_rel(&cell->inside, 0);
        finish = axo__state_finish(&cell->word, more);
    } while (finish == AXO__FINISH_AGAIN);
    if (finish == AXO__FINISH_PUSH)
        push_entry(world, cell);
}

/* Reads what is the runner's, while no runner is inside. */
static void look(state_world *world, state_cell *cell)
{
    uint32_t queued = 0;
    if (!axo__state_borrow(&cell->word))
        return;
    if (axo__a32_xchg_acq_rel(&cell->inside, 1) != 0)
        (void)axo__a32_add_relaxed(&world->wrong, 1);
    uint64_t handled = cell->handled;
    const axo__mpsc_node *node = axo__state_lane(axo__state_look(&cell->word));
    for (; node != NULL; node = node->next)
        queued++;
    if (handled + queued > SENDERS * EACH || handled != cell->handled)
        (void)axo__a32_add_relaxed(&world->wrong, 1);
    (void)axo__a32_xchg_acq_rel(&cell->inside, 0);
    if (axo__state_give_back(&cell->word) != AXO__UNCLAIM_IDLE)
        push_entry(world, cell);
    (void)axo__a32_add_relaxed(&world->looks, 1);
}

static void send_or_work(void *arg, uint32_t index)
{
    state_world *world = arg;
    axo__mpsc_node *node = NULL;
    uint32_t at = index;
    while (index < SENDERS && axo__a32_load_relaxed(&world->looks) == 0)
        (void)sched_yield();
    while (index >= SENDERS + WORKERS && axo__a32_load_relaxed(&world->got) < SENDERS * EACH) {
        look(world, &world->cells[at++ % CELLS]);
        (void)sched_yield();
    }
    if (index >= SENDERS + WORKERS)
        return;
    for (uint32_t i = 0; index < SENDERS && i < EACH; i++) {
        state_cell *cell = &world->cells[(i + index) % CELLS];
        axo__message *message = &world->messages[index * EACH + i];
        if (axo__state_woken(axo__state_push(&cell->word, &message->node)) == AXO__ANNOUNCE_PUSH)
            push_entry(world, cell);
        if (i % 16 == 0 && axo__state_announce_system(&cell->word) == AXO__ANNOUNCE_PUSH)
            push_entry(world, cell);
    }
    while (index >= SENDERS && axo__a32_load_relaxed(&world->got) < SENDERS * EACH) {
        if (axo__inject_pop_any(&world->inject, &node) != AXO__INJECT_ITEM) {
            (void)sched_yield();
            continue;
        }
        state_cell *cell = (state_cell *)(void *)((char *)node - offsetof(state_cell, entry));
        axo__state_injected(&cell->word, AXO__INJECTED);
        axo__mpsc_node *lane = NULL;
        if (axo__state_claim(&cell->word, &lane) == AXO__CLAIM_STALE)
            continue;
        if (lane != NULL)
            axo__inbox_put(&cell->inbox, lane);
        run_cell(world, cell);
    }
}

/* A wake-up that got lost would leave this waiting until the runner's time limit. */
static void no_wake_up_is_lost(void **state)
{
    state_world world;
    uint64_t handled = 0;
    memset(&world, 0, sizeof world);
    world.messages = calloc(SENDERS * EACH, sizeof *world.messages);
    assert_non_null(world.messages);
    axo__inject_init(&world.inject, &world.counts, 0);
    unit_run_threads(SENDERS + WORKERS + LOOKERS, send_or_work, &world);
    assert_true(axo__a32_load_relaxed(&world.looks) > 0);
    assert_int_equal(axo__a32_load_relaxed(&world.wrong), 0);
    for (int i = 0; i < CELLS; i++)
        handled += world.cells[i].handled;
    assert_int_equal(handled, SENDERS * EACH);
    free(world.messages);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(newborn),
    cmocka_unit_test(born),
    cmocka_unit_test(newborn_in_a_used_slot),
    cmocka_unit_test(terminating_suspends),
    cmocka_unit_test(announce_user_pushes_exactly_when_it_makes_work),
    cmocka_unit_test(announce_system_pushes_once),
    cmocka_unit_test(push_queues_and_announces),
    cmocka_unit_test(claim_decides),
    cmocka_unit_test(borrow_leaves_no_trace),
    cmocka_unit_test(what_comes_during_a_look_is_pushed),
    cmocka_unit_test(unclaim_forgets_no_work),
    cmocka_unit_test(take_urgent_clears_one_bit),
    cmocka_unit_test(finish_leaves_no_work_unseen),
    cmocka_unit_test(suspend_and_resume_count),
    cmocka_unit_test(what_is_over_is_not_settled),
    cmocka_unit_test(borrow_idle_wants_no_work),
    cmocka_unit_test(claim_plain_wants_messages_alone),
    cmocka_unit_test(claim_born_is_a_claim),
    cmocka_unit_test(close_plain_is_close_and_finish),
    cmocka_unit_test(what_comes_while_it_is_suspended_by_another),
    cmocka_unit_test(wait_and_unwait),
    cmocka_unit_test(resumed_work_is_not_lost),
    cmocka_unit_test(close_is_for_good),
    cmocka_unit_test(injector_nodes_are_used_once),
    cmocka_unit_test(no_wake_up_is_lost),
};
TEST_MAIN(tests)
