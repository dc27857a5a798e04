/* random_test.c - streams of chance: the reference numbers, independence, bounds. */
#include "unit/unit.h"

#include "base/random.h"

/* The authors' sequence for the state 1, 2, 3, 4. */
static void reference(void **state)
{
    static const uint64_t expected[] = {
        UINT64_C(11520),
        UINT64_C(0),
        UINT64_C(1509978240),
        UINT64_C(1215971899390074240),
        UINT64_C(1216172134540287360),
        UINT64_C(607988272756665600),
        UINT64_C(16172922978634559625),
        UINT64_C(8476171486693032832),
        UINT64_C(10595114339597558777),
        UINT64_C(2904607092377533576),
    };
    axo__random random = {.s = {1, 2, 3, 4}};
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++)
        assert_true(axo__random_next(&random) == expected[i]);
}

/* The authors' value: the key 00 01 .. 0f, the message 00 01 .. 07. */
static void reference_of_the_hash(void **state)
{
    const uint64_t key[2] = {UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)};
    assert_true(axo__random_hash(key, UINT64_C(0x0706050403020100)) ==
                UINT64_C(0x93f5f5799a932462));
}

static void same_seed_same_stream(void **state)
{
    axo__random one, other;
    axo__random_init(&one, 7, 9);
    axo__random_init(&other, 7, 9);
    for (int i = 0; i < 1000; i++)
        assert_true(axo__random_next(&one) == axo__random_next(&other));
}

static uint32_t equal_draws(uint64_t seed_a, uint64_t name_a, uint64_t seed_b, uint64_t name_b)
{
    axo__random a, b;
    uint32_t equal = 0;
    axo__random_init(&a, seed_a, name_a);
    axo__random_init(&b, seed_b, name_b);
    for (int i = 0; i < 1000; i++)
        equal += axo__random_next(&a) == axo__random_next(&b);
    return equal;
}

static void another_name_or_seed_is_unrelated(void **state)
{
    assert_int_equal(equal_draws(1, 1, 1, 2), 0);
    assert_int_equal(equal_draws(1, 1, 2, 1), 0);
    assert_int_equal(equal_draws(0, 0, 0, 1), 0);
    assert_int_equal(equal_draws(1, 2, 2, 1), 0);
}

/* Zero everywhere is the one state that never moves. */
static void zero_seed_runs(void **state)
{
    axo__random random;
    uint64_t bits = 0;
    axo__random_init(&random, 0, 0);
    for (int i = 0; i < 64; i++)
        bits |= axo__random_next(&random);
    assert_true(bits == UINT64_MAX);
}

static void below_stays_below(void **state)
{
    static const uint32_t bounds[] = {1, 2, 3, 7, 256, 1000003, UINT32_MAX};
    axo__random random;
    axo__random_init(&random, 3, 3);
    for (size_t b = 0; b < sizeof bounds / sizeof bounds[0]; b++) {
        for (int i = 0; i < 10000; i++)
            assert_true(axo__random_below(&random, bounds[b]) < bounds[b]);
    }
}

/* Each of 16 values is expected 10000 times; 600 is over six standard deviations. */
static void below_is_even(void **state)
{
    uint32_t seen[16] = {0};
    axo__random random;
    axo__random_init(&random, 11, 5);
    for (int i = 0; i < 160000; i++)
        seen[axo__random_below(&random, 16)]++;
    for (int i = 0; i < 16; i++)
        assert_in_range(seen[i], 9400, 10600);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(reference),
    cmocka_unit_test(reference_of_the_hash),
    cmocka_unit_test(same_seed_same_stream),
    cmocka_unit_test(another_name_or_seed_is_unrelated),
    cmocka_unit_test(zero_seed_runs),
    cmocka_unit_test(below_stays_below),
    cmocka_unit_test(below_is_even),
};
TEST_MAIN(tests)
