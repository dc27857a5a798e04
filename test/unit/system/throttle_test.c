/* throttle_test.c - how many of many alike pass, by a clock of the test's own. */
#include "unit/unit.h"

#include "system/throttle.h"

static void open_closing_closed(void **state)
{
    axo__throttle t = {.max = 3, .window_ns = 100};
    uint64_t skipped = 9;
    assert_int_equal(axo__throttle_take(&t, 1000, &skipped), AXO__THROTTLE_OPEN);
    assert_int_equal(skipped, 0);
    assert_int_equal(axo__throttle_take(&t, 1001, &skipped), AXO__THROTTLE_OPEN);
    assert_int_equal(axo__throttle_take(&t, 1002, &skipped), AXO__THROTTLE_CLOSING);
    assert_int_equal(axo__throttle_take(&t, 1003, &skipped), AXO__THROTTLE_CLOSED);
    assert_int_equal(axo__throttle_take(&t, 1099, &skipped), AXO__THROTTLE_CLOSED);
    assert_int_equal(skipped, 0);
}

/* The window opens with its first event, and the first one after it learns what was skipped. */
static void it_opens_again(void **state)
{
    axo__throttle t = {.max = 2, .window_ns = 100};
    uint64_t skipped = 0;
    for (int i = 0; i < 7; i++)
        (void)axo__throttle_take(&t, 1000 + i, &skipped);
    assert_int_equal(axo__throttle_take(&t, 1100, &skipped), AXO__THROTTLE_OPEN);
    assert_int_equal(skipped, 5);
    assert_int_equal(axo__throttle_take(&t, 1199, &skipped), AXO__THROTTLE_CLOSING);
    assert_int_equal(skipped, 0);
    /* Nothing was skipped in the second window, and the third opens late. */
    assert_int_equal(axo__throttle_take(&t, 1500, &skipped), AXO__THROTTLE_OPEN);
    assert_int_equal(skipped, 0);
    assert_int_equal(axo__throttle_take(&t, 1599, &skipped), AXO__THROTTLE_CLOSING);
    assert_int_equal(axo__throttle_take(&t, 1599, &skipped), AXO__THROTTLE_CLOSED);
}

static void one_a_window(void **state)
{
    axo__throttle t = {.max = 1, .window_ns = 10};
    uint64_t skipped = 0;
    assert_int_equal(axo__throttle_take(&t, 0, &skipped), AXO__THROTTLE_CLOSING);
    assert_int_equal(axo__throttle_take(&t, 9, &skipped), AXO__THROTTLE_CLOSED);
    assert_int_equal(axo__throttle_take(&t, 10, &skipped), AXO__THROTTLE_CLOSING);
    assert_int_equal(skipped, 1);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(open_closing_closed),
    cmocka_unit_test(it_opens_again),
    cmocka_unit_test(one_a_window),
};
TEST_MAIN(tests)
