/* census_test.c - what the tests count threads by: those that have been joined are not among them,
 * though the kernel may list them a moment longer; those that run are. */
#include "fault/parts.h"
#include "support/slower.h"

enum { CENSUS_GUESTS = 3 };

static void *census_hello(void *arg)
{
    return arg;
}

static void *census_stay(void *arg)
{
    pthread_barrier_t *both = arg;
    (void)pthread_barrier_wait(both);
    (void)pthread_barrier_wait(both);
    return NULL;
}

/* The kernel still lists one of them after about one round in two thousand. */
static void the_joined_are_not_counted(void **state)
{
    uint32_t rounds = slower_share(6000, 100);
    uint32_t before = census_open();
    uint32_t listed = 0;
    assert_true(before > 0);
    for (uint32_t i = 0; i < rounds; i++) {
        pthread_t guests[CENSUS_GUESTS];
        for (uint32_t k = 0; k < CENSUS_GUESTS; k++)
            assert_int_equal(pthread_create(&guests[k], NULL, census_hello, NULL), 0);
        for (uint32_t k = 0; k < CENSUS_GUESTS; k++)
            assert_int_equal(pthread_join(guests[k], NULL), 0);
        listed += census_entries("/proc/self/task") != before;
        assert_int_equal(census_threads(), before);
    }
    print_message("%u of %u times a joined thread was still listed\n", listed, rounds);
}

/* One whose name would mislead a reader of its line too. */
static void those_that_run_are_counted(void **state)
{
    pthread_barrier_t both;
    pthread_t guest;
    uint32_t before = census_open();
    assert_int_equal(pthread_barrier_init(&both, NULL, 2), 0);
    assert_int_equal(pthread_create(&guest, NULL, census_stay, &both), 0);
    (void)pthread_barrier_wait(&both);
    assert_int_equal(pthread_setname_np(guest, ") Z 1 1 1 1 1 4"), 0);
    assert_int_equal(census_threads(), before + 1);
    (void)pthread_barrier_wait(&both);
    assert_int_equal(pthread_join(guest, NULL), 0);
    assert_int_equal(census_threads(), before);
    assert_int_equal(pthread_barrier_destroy(&both), 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_joined_are_not_counted),
    cmocka_unit_test(those_that_run_are_counted),
};
TEST_MAIN(tests)
