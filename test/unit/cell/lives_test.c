/* lives_test.c - generations: each once, none of them zero, none that follows from another. */
#include "unit/unit.h"

#include "unit/cell/lives.h"

enum { SLOTS = 20000, LIVES = 20000 };

static const uint64_t secret[2] = {UINT64_C(0x0123456789abcdef), UINT64_C(0xfedcba9876543210)};

static int compare(const void *a, const void *b)
{
    uint32_t one = *(const uint32_t *)a;
    uint32_t other = *(const uint32_t *)b;
    return (one > other) - (one < other);
}

/* How many of them are twice there. */
static uint32_t doubles(uint32_t *all, size_t count)
{
    uint32_t found = 0;
    qsort(all, count, sizeof *all, compare);
    for (size_t i = 1; i < count; i++)
        found += all[i - 1] == all[i];
    return found;
}

/* The network is a permutation: forth and back is nothing, and the library's is the page's. */
static void it_is_a_permutation(void **state)
{
    axo__lives lives;
    axo__lives_init(&lives, secret);
    for (uint32_t i = 0; i < 1000000; i++) {
        uint32_t count = i * UINT32_C(4294967); /* all over */
        uint32_t generation = unit_lives_at(&lives, count);
        assert_true(unit_lives_count(&lives, generation) == count);
        if (generation == 0 || generation == lives.last)
            continue;
        uint32_t next = unit_lives_at(&lives, count + 1);
        if (next == 0)
            next = unit_lives_at(&lives, count + 2);
        assert_true(axo__lives_next(&lives, generation) == next);
    }
}

/* Where a slot begins says nothing of its neighbour: no two the same more often than by chance, no
 * difference or xor with a neighbour that comes again. */
static void first_lives_do_not_follow_from_each_other(void **state)
{
    static uint32_t first[SLOTS], difference[SLOTS], mixed[SLOTS];
    axo__lives lives;
    axo__lives_init(&lives, secret);
    for (uint32_t i = 0; i < SLOTS; i++) {
        first[i] = axo__lives_first(&lives, i);
        assert_true(first[i] != 0);
        uint32_t other = axo__lives_first(&lives, i + 1);
        difference[i] = other - first[i];
        mixed[i] = other ^ first[i];
    }
    /* 20000 of 2^32: 0.05 pairs by chance; 2^31 places where they begin: 0.09 */
    assert_true(doubles(first, SLOTS) <= 2);
    assert_true(doubles(difference, SLOTS) <= 2);
    assert_true(doubles(mixed, SLOTS) <= 2);
}

/* Nor does the next life from the one before: no step from life to life comes again. */
static void lives_do_not_follow_from_each_other(void **state)
{
    static uint32_t all[LIVES], step[LIVES], mixed[LIVES];
    axo__lives lives;
    axo__lives_init(&lives, secret);
    all[0] = axo__lives_first(&lives, 3);
    step[0] = mixed[0] = 0;
    for (uint32_t i = 1; i < LIVES; i++) {
        all[i] = axo__lives_next(&lives, all[i - 1]);
        assert_true(all[i] != 0);
        step[i] = all[i] - all[i - 1];
        mixed[i] = all[i] ^ all[i - 1];
        assert_true(axo__lives_has_been(&lives, 3, all[i], all[i - 1]));
        assert_false(axo__lives_has_been(&lives, 3, all[i - 1], all[i]));
    }
    assert_false(axo__lives_has_been(&lives, 4, all[LIVES - 1], all[LIVES / 2]));
    assert_int_equal(doubles(all, LIVES), 0);
    assert_true(doubles(step, LIVES) <= 4);
    assert_true(doubles(mixed, LIVES) <= 4);
}

/* Each bit of a secret changes about half of the bits of what follows from it. */
static void each_bit_of_the_secret_counts(void **state)
{
    axo__lives lives, other;
    axo__lives_init(&lives, secret);
    for (uint32_t bit = 0; bit < 128; bit++) {
        uint64_t changed[2] = {secret[0], secret[1]};
        changed[bit / 64] ^= UINT64_C(1) << bit % 64;
        axo__lives_init(&other, changed);
        int bits = 0;
        for (uint32_t slot = 0; slot < 100; slot++)
            bits += __builtin_popcount(axo__lives_first(&lives, slot) ^
                                       axo__lives_first(&other, slot));
        assert_true(bits > 1400 && bits < 1800);
        uint32_t generation = axo__lives_first(&lives, 0);
        if (generation != other.last)
            assert_true(axo__lives_next(&lives, generation) !=
                        axo__lives_next(&other, generation));
    }
}

/* Zero is skipped wherever it lies, and where it is the last count the one before is the last. */
static void zero_is_never_given(void **state)
{
    uint32_t skipped = 0;
    for (uint64_t key = 0; key < 1000; key++) {
        axo__lives lives;
        axo__lives_init(&lives, (uint64_t[2]){key, key});
        uint32_t count = unit_lives_count(&lives, 0);
        assert_true(lives.last != 0);
        if (count == 0 || count == UINT32_MAX)
            continue;
        skipped++;
        assert_true(axo__lives_next(&lives, unit_lives_at(&lives, count - 1)) ==
                    unit_lives_at(&lives, count + 1));
    }
    assert_true(skipped > 990);
    axo__lives lives;
    axo__lives_init(&lives, secret);
    assert_true(lives.last == unit_lives_at(&lives, UINT32_MAX));
    assert_true(axo__lives_has_been(&lives, 0, lives.last, lives.last));
    assert_false(axo__lives_has_been(&lives, 0, lives.last, 0));
    assert_false(axo__lives_has_been(&lives, 0, 0, axo__lives_first(&lives, 0)));
    assert_false(axo__lives_has_been(&lives, 0, lives.last, UINT64_C(1) << 32 | lives.last));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(it_is_a_permutation),
    cmocka_unit_test(first_lives_do_not_follow_from_each_other),
    cmocka_unit_test(lives_do_not_follow_from_each_other),
    cmocka_unit_test(each_bit_of_the_secret_counts),
    cmocka_unit_test(zero_is_never_given),
};
TEST_MAIN(tests)
