/* inbox_test.c - what a lane gave newest first is taken oldest first, however many there are. */
#include "unit/unit.h"

#include "cell/state.h"
#include "mailbox/inbox.h"

#define INBOX_MANY (3 * AXO__TURN_STEP + 1)

static axo__message inbox_messages[2 * INBOX_MANY];

static void inbox_send(axo__state *state, uint32_t from, uint32_t count)
{
    for (uint32_t i = from; i < from + count; i++)
        (void)axo__state_push(state, &inbox_messages[i].node);
}

static void inbox_expect(axo__inbox *inbox, uint32_t from, uint32_t count)
{
    for (uint32_t i = from; i < from + count; i++)
        assert_ptr_equal(axo__inbox_take(inbox), &inbox_messages[i]);
}

static void oldest_first(void **state)
{
    for (uint32_t count = 0; count <= INBOX_MANY; count++) {
        axo__state word = {.word = {AXO__RUNNING}};
        axo__inbox inbox = {NULL, NULL};
        uint32_t steps = 1;
        inbox_send(&word, 0, count);
        axo__inbox_put(&inbox, axo__state_take(&word));
        assert_int_equal(axo__inbox_is_empty(&inbox), count == 0);
        while (!axo__inbox_turn(&inbox))
            steps++;
        assert_in_range(steps, 1, count / AXO__TURN_STEP + 1);
        inbox_expect(&inbox, 0, count);
        assert_true(axo__inbox_is_empty(&inbox));
        assert_null(axo__inbox_take(&inbox));
    }
}

/* What comes while they are turned stays in the lane, behind them. */
static void what_comes_meanwhile_is_behind(void **state)
{
    axo__state word = {.word = {AXO__RUNNING}};
    axo__inbox inbox = {NULL, NULL};
    inbox_send(&word, 0, INBOX_MANY);
    axo__inbox_put(&inbox, axo__state_take(&word));
    assert_false(axo__inbox_turn(&inbox));
    assert_non_null(inbox.rest);
    inbox_send(&word, INBOX_MANY, INBOX_MANY);
    while (!axo__inbox_turn(&inbox))
        continue;
    inbox_expect(&inbox, 0, INBOX_MANY);
    assert_true(axo__inbox_is_empty(&inbox));
    axo__inbox_put(&inbox, axo__state_take(&word));
    while (!axo__inbox_turn(&inbox))
        continue;
    inbox_expect(&inbox, INBOX_MANY, INBOX_MANY);
    assert_true(axo__inbox_is_empty(&inbox));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(oldest_first),
    cmocka_unit_test(what_comes_meanwhile_is_behind),
};
TEST_MAIN(tests)
