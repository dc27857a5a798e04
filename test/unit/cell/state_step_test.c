/* state_step_test.c - the scheduling word at each step: while a runner comes in, looks or leaves,
 * somebody else does one thing, at every step and from every word. No work is left without an
 * entry (I1), no message without a runner's bit (I4), and never are two inside. */
#include "unit/step.h"

#include "unit/unit.h"

#include "cell/state.h"

#define BITS 9
#define WORDS (UINT64_C(1) << (BITS + 1))
#define STEPS_MAX 64

static axo__mpsc_node old_message;
static axo__mpsc_node new_message;

static struct {
    axo__state cell;
    uint32_t entries; /* that were pushed and not tried */
    uint32_t inside;
} world;

static uint64_t word_at(uint64_t i)
{
    uint64_t lane = i >> BITS != 0 ? (uint64_t)(uintptr_t)&old_message : 0;
    return (i % (UINT64_C(1) << BITS)) << 48 | lane;
}

static uint64_t word_now(void)
{
    return axo__a64_load_relaxed(&world.cell.word);
}

static bool wants_entry(uint64_t word)
{
    bool work = (word & AXO__URGENT) != 0 || (axo__state_free(word) && axo__state_has(word));
    return work && (word & (AXO__RUNNING | AXO__CLOSED)) == 0;
}

/* ---- the other one ---- */

static void other_sends(void)
{
    if (axo__state_woken(axo__state_push(&world.cell, &new_message)) == AXO__ANNOUNCE_PUSH)
        world.entries++;
}

static void other_announces(void)
{
    if (axo__state_announce_user(&world.cell) == AXO__ANNOUNCE_PUSH)
        world.entries++;
}

static void other_directs(void)
{
    if (axo__state_announce_system(&world.cell) == AXO__ANNOUNCE_PUSH)
        world.entries++;
}

/* It has taken an entry. */
static void other_claims(void)
{
    axo__mpsc_node *lane = NULL;
    if (axo__state_claim(&world.cell, &lane) != AXO__CLAIM_STALE)
        world.inside++;
}

static void other_looks(void)
{
    if (axo__state_borrow(&world.cell))
        world.inside++;
}

static void other_reports(void)
{
    if (axo__state_borrow_idle(&world.cell))
        world.inside++;
}

static void other_begins(void)
{
    axo__mpsc_node *lane = NULL;
    if (axo__state_claim_born(&world.cell, &lane))
        world.inside++;
}

static void (*const others[])(void) = {other_sends, other_announces, other_directs, other_claims,
                                       other_looks, other_reports,   other_begins};

/* ---- what is done meanwhile ---- */

static void give(axo__unclaim what)
{
    if (what != AXO__UNCLAIM_IDLE)
        world.entries++;
}

/* Out of a turn, with all that it looks at on the way; true: messages that it took are left. */
static void leave(bool more)
{
    for (;;) {
        switch (axo__state_finish(&world.cell, more)) {
        case AXO__FINISH_AGAIN:
            axo__state_take_urgent(&world.cell);
            if (axo__state_free(axo__state_look(&world.cell)))
                (void)axo__state_take(&world.cell);
            continue;
        case AXO__FINISH_PUSH:
            world.entries++;
            return;
        case AXO__FINISH_IDLE:
        case AXO__FINISH_CLOSED:
            return;
        }
    }
}

static void leave_done(void)
{
    leave(false);
}

static void leave_more(void)
{
    leave(true);
    (void)step_end();
    if ((word_now() & AXO__CLOSED) == 0 && world.inside == 0)
        assert_true((word_now() & AXO__READY) != 0); /* I4 */
}

static void give_back(void)
{
    give(axo__state_give_back(&world.cell));
}

static void give_back_held(void)
{
    axo__a32_store_relaxed(&world.cell.suspends, 1);
    give(axo__state_give_back_held(&world.cell));
}

static void unclaim(void)
{
    give(axo__state_unclaim(&world.cell, false));
}

static void unclaim_urgent(void)
{
    give(axo__state_unclaim(&world.cell, true));
}

/* An entry is tried. */
static void come(void)
{
    axo__mpsc_node *lane = NULL;
    if (world.entries > 0)
        world.entries--;
    if (axo__state_claim(&world.cell, &lane) != AXO__CLAIM_STALE)
        world.inside++;
}

static void look(void)
{
    if (axo__state_borrow(&world.cell))
        world.inside++;
}

static void report(void)
{
    if (axo__state_borrow_idle(&world.cell))
        world.inside++;
}

/* A newborn's entry is tried. */
static void begin(void)
{
    axo__mpsc_node *lane = NULL;
    if (world.entries > 0)
        world.entries--;
    if (axo__state_claim_born(&world.cell, &lane) ||
        axo__state_claim(&world.cell, &lane) != AXO__CLAIM_STALE)
        world.inside++;
}

/* A leaf ends; if something has come, it goes on in the general way. */
static void leave_closed(void)
{
    if (!axo__state_close_plain(&world.cell)) {
        axo__state_close(&world.cell);
        leave(false);
    }
}

/* ---- at every step ---- */

static bool may_begin(uint64_t word, uint64_t with, uint64_t without)
{
    return (word & with) == with && (word & without) == 0;
}

/* From one word, the other one acting before each of the steps in turn. */
static void from_word(uint64_t word, void (*what)(void), void (*other)(void))
{
    for (uint32_t at = 0;; at++) {
        axo__a64_store_relaxed(&world.cell.word, word);
        axo__a32_store_relaxed(&world.cell.suspends, (word & AXO__HELD) != 0 ? 1 : 0);
        world.entries = wants_entry(word) ? 1 : 0;
        world.inside = 0;
        step_begin(at, other);
        what();
        uint32_t steps = step_end();
        assert_true(world.inside <= 1);
        if (wants_entry(word_now()))
            assert_true(world.entries > 0);
        if (steps <= at)
            return; /* it was over before */
        assert_true(at < STEPS_MAX);
    }
}

static void from_every_word(void (*what)(void), uint64_t with, uint64_t without)
{
    for (uint64_t i = 0; i < WORDS; i++) {
        if (!may_begin(word_at(i), with, without))
            continue;
        for (size_t k = 0; k < sizeof others / sizeof others[0]; k++)
            from_word(word_at(i), what, others[k]);
    }
}

static void a_turn_ends(void **state)
{
    from_every_word(leave_done, AXO__RUNNING, 0);
    from_every_word(leave_more, AXO__RUNNING, 0);
    from_every_word(leave_closed, AXO__RUNNING, AXO__CLOSED);
}

static void a_look_ends(void **state)
{
    from_every_word(give_back, AXO__RUNNING, AXO__CLOSED);
    from_every_word(give_back_held, AXO__RUNNING, AXO__CLOSED | AXO__HELD);
}

static void a_claim_is_undone(void **state)
{
    from_every_word(unclaim, AXO__RUNNING, AXO__CLOSED);
    from_every_word(unclaim_urgent, AXO__RUNNING, AXO__CLOSED);
}

static void two_come(void **state)
{
    from_every_word(come, 0, 0);
    from_every_word(look, 0, 0);
    from_every_word(report, 0, 0);
    from_every_word(begin, 0, 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_turn_ends),
    cmocka_unit_test(a_look_ends),
    cmocka_unit_test(a_claim_is_undone),
    cmocka_unit_test(two_come),
};
TEST_MAIN(tests)
