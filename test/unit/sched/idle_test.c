/* idle_test.c - the roles of a worker without work: each transition of the table in idle.h. */
#include "sched/idle.h"
#include "unit/unit.h"

#define NONE AXO__IDLE_NONE
#define WOKEN AXO__IDLE_WOKEN
#define SEARCHED AXO__IDLE_SEARCHED
#define WATCHED AXO__IDLE_WATCHED
#define WATCHING AXO__IDLE_WATCHING

/* What is not in the table does not occur. */
static const struct {
    axo__idle_role up;
    axo__idle_role search;
    axo__idle_role park_busy;
    axo__idle_role park_alone;
} table[] = {
    [NONE] = {WOKEN, SEARCHED, NONE, NONE},
    [WOKEN] = {WOKEN, SEARCHED, NONE, NONE},
    [SEARCHED] = {SEARCHED, SEARCHED, NONE, NONE},
    [WATCHED] = {WATCHED, WATCHED, WATCHED, NONE},
    [WATCHING] = {WATCHED, NONE, NONE, NONE},
};

static void every_role_goes_where_the_table_says(void **state)
{
    for (axo__idle_role role = NONE; role <= WATCHING; role++) {
        assert_int_equal(axo__idle_up(role), table[role].up);
        if (role == WATCHING)
            continue;
        assert_int_equal(axo__idle_search(role), table[role].search);
        assert_int_equal(axo__idle_park(role, true), table[role].park_busy);
        assert_int_equal(axo__idle_park(role, false), table[role].park_alone);
    }
}

/* A role is left only by going to work or to sleep: what a worker owes is not forgotten. */
static void getting_up_and_searching_lose_nothing(void **state)
{
    for (axo__idle_role role = NONE; role < WATCHING; role++) {
        assert_true(axo__idle_up(role) >= role);
        assert_true(axo__idle_search(role) >= role);
        assert_int_equal(axo__idle_up(axo__idle_up(role)), axo__idle_up(role));
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_role_goes_where_the_table_says),
    cmocka_unit_test(getting_up_and_searching_lose_nothing),
};
TEST_MAIN(tests)
