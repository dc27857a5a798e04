/* backoff_test.c - the arithmetic of delays. */
#include "unit/unit.h"

#include <axo/backoff.h>

#define SECOND INT64_C(1000000000)
#define MINUTE (60 * SECOND)
#define DAY (24 * 60 * MINUTE)

static int64_t plain(uint32_t n, int64_t min, int64_t max)
{
    axo_backoff backoff = AXO_BACKOFF(.min_ns = min, .max_ns = max);
    return axo_backoff_delay(&backoff, n, 0.9);
}

static void BO_03_doubles_up_to_the_longest(void **state)
{
    static const int64_t seconds[] = {3, 6, 12, 24, 30, 30, 30};
    for (uint32_t n = 0; n < 7; n++)
        assert_int_equal(plain(n, 3 * SECOND, 30 * SECOND), seconds[n] * SECOND);
}

static void BO_05_table(void **state)
{
    static const struct {
        uint32_t n;
        int64_t min;
        int64_t max;
        int64_t delay;
    } rows[] = {
        {0, 0, 0, 0},
        {0, 5 * MINUTE, 7 * MINUTE, 5 * MINUTE},
        {2, 5 * SECOND, 7 * SECOND, 7 * SECOND},
        {2, 5 * SECOND, 7 * DAY, 20 * SECOND},
        {29, 5 * MINUTE, 10 * MINUTE, 10 * MINUTE},
        {29, 10000 * DAY, 10000 * DAY, 10000 * DAY},
        {INT32_MAX, 10000 * DAY, 10000 * DAY, 10000 * DAY},
        {UINT32_MAX, 1, AXO_BACKOFF_MAX, AXO_BACKOFF_MAX},
        {UINT32_MAX, AXO_BACKOFF_MAX, AXO_BACKOFF_MAX, AXO_BACKOFF_MAX},
        {60, 1, AXO_BACKOFF_MAX, INT64_C(1) << 60},
        {61, 1, AXO_BACKOFF_MAX, AXO_BACKOFF_MAX},
        {62, 1, AXO_BACKOFF_MAX, AXO_BACKOFF_MAX},
        {0, AXO_BACKOFF_MAX - 1, AXO_BACKOFF_MAX - 1, AXO_BACKOFF_MAX - 1},
        {0, AXO_BACKOFF_MAX - 3, AXO_BACKOFF_MAX - 1, AXO_BACKOFF_MAX - 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(plain(rows[i].n, rows[i].min, rows[i].max), rows[i].delay);
    assert_int_equal(axo_backoff_delay(NULL, 3, 0.5), 0);
}

/* Never below the one before, whatever the factor. */
static void delays_grow(void **state)
{
    static const double factors[] = {1, 1.0001, 1.5, 2, 10, 1e9};
    for (size_t f = 0; f < sizeof factors / sizeof factors[0]; f++) {
        axo_backoff backoff = AXO_BACKOFF(.min_ns = 7, .max_ns = AXO_BACKOFF_MAX,
                                          .factor = factors[f]);
        int64_t before = 0;
        for (uint32_t n = 0; n < 4000; n++) {
            int64_t delay = axo_backoff_delay(&backoff, n, 0);
            assert_true(delay >= before && delay >= 7 && delay <= AXO_BACKOFF_MAX);
            before = delay;
        }
        assert_int_equal(axo_backoff_delay(&backoff, 1, 0), (int64_t)(7 * factors[f]));
    }
}

/* On the capped value; it may lead beyond the longest, never below the plain delay. */
static void BO_04_jitter(void **state)
{
    axo_backoff backoff = AXO_BACKOFF(.min_ns = 1000, .max_ns = 8000, .jitter = 0.5);
    static const double odd[] = {-1, 0, 1, 7, -0.0};
    assert_int_equal(axo_backoff_delay(&backoff, 0, 0), 1000);
    assert_int_equal(axo_backoff_delay(&backoff, 0, 0.5), 1250);
    assert_int_equal(axo_backoff_delay(&backoff, 9, 0), 8000);
    assert_int_equal(axo_backoff_delay(&backoff, 9, 0.5), 10000);
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++)
        assert_in_range(axo_backoff_delay(&backoff, 9, odd[i]), 8000, 12000);
    assert_int_equal(axo_backoff_delay(&backoff, 9, __builtin_nan("")), 8000);
    backoff = (axo_backoff)AXO_BACKOFF(.min_ns = AXO_BACKOFF_MAX, .max_ns = AXO_BACKOFF_MAX,
                                       .jitter = 1);
    assert_true(axo_backoff_delay(&backoff, UINT32_MAX, 0.999999) > AXO_BACKOFF_MAX);
    backoff.max_ns = backoff.min_ns = INT64_MAX; /* not accepted by the check, and still no UB */
    assert_int_equal(axo_backoff_delay(&backoff, UINT32_MAX, 0.999999), INT64_MAX);
}

static void PH_11_linear(void **state)
{
    axo_backoff backoff = AXO_BACKOFF(.kind = AXO_BACKOFF_LINEAR, .min_ns = 5, .max_ns = 17,
                                      .window_ns = 1, .noise_ns = 100);
    static const int64_t delays[] = {5, 10, 15, 17, 17};
    for (uint32_t n = 0; n < 5; n++) {
        assert_int_equal(axo_backoff_delay(&backoff, n, 0), delays[n]);
        assert_int_equal(axo_backoff_delay(&backoff, n, 0.5), delays[n] + 50);
    }
    assert_int_equal(axo_backoff_delay(&backoff, UINT32_MAX, 0), 17);
    backoff.max_ns = 0;
    assert_int_equal(axo_backoff_delay(&backoff, 999, 0), 5000);
    backoff.min_ns = AXO_BACKOFF_MAX / 2;
    assert_int_equal(axo_backoff_delay(&backoff, UINT32_MAX, 0), AXO_BACKOFF_MAX);
}

#define GOOD(...) AXO_BACKOFF(.min_ns = 5, .max_ns = 50, __VA_ARGS__)
#define LINE(...) AXO_BACKOFF(.kind = AXO_BACKOFF_LINEAR, .min_ns = 5, __VA_ARGS__)

static void every_field_is_checked(void **state)
{
    static const axo_backoff good[] = {
        GOOD(.factor = 0), GOOD(.factor = 1), GOOD(.factor = 1e9), GOOD(.jitter = 1),
        GOOD(.reset_after_ns = -1), GOOD(.reset_after_ns = INT64_MAX),
        AXO_BACKOFF(.min_ns = 1, .max_ns = 1),
        AXO_BACKOFF(.min_ns = AXO_BACKOFF_MAX, .max_ns = AXO_BACKOFF_MAX),
        LINE(.window_ns = 1), LINE(.window_ns = -1), LINE(.window_ns = 1, .max_ns = 5),
        LINE(.window_ns = 1, .noise_ns = AXO_BACKOFF_MAX),
    };
    static const axo_backoff bad[] = {
        AXO_BACKOFF(.max_ns = 5), AXO_BACKOFF(.min_ns = -1, .max_ns = 5), AXO_BACKOFF(.min_ns = 5),
        AXO_BACKOFF(.min_ns = 5, .max_ns = 4),
        AXO_BACKOFF(.min_ns = 5, .max_ns = AXO_BACKOFF_MAX + 1),
        AXO_BACKOFF(.min_ns = AXO_BACKOFF_MAX + 1, .max_ns = INT64_MAX),
        GOOD(.factor = 0.99), GOOD(.factor = -2), GOOD(.factor = 1e10),
        GOOD(.factor = __builtin_nan("")), GOOD(.factor = __builtin_inf()),
        GOOD(.jitter = -0.1), GOOD(.jitter = 1.1), GOOD(.jitter = __builtin_nan("")),
        GOOD(.window_ns = 1), GOOD(.noise_ns = 1), GOOD(.reserved = 1),
        GOOD(.kind = (axo_backoff_kind)2),
        LINE(.max_ns = 0), LINE(.window_ns = 1, .max_ns = 4),
        LINE(.window_ns = 1, .max_ns = AXO_BACKOFF_MAX + 1), LINE(.window_ns = 1, .factor = 2),
        LINE(.window_ns = 1, .jitter = 0.5), LINE(.window_ns = 1, .reset_after_ns = 1),
        LINE(.window_ns = 1, .noise_ns = -1), LINE(.window_ns = 1, .noise_ns = AXO_BACKOFF_MAX + 1),
        {.size = 0, .min_ns = 5, .max_ns = 5},
    };
    axo_backoff older = GOOD(.factor = 2);
    older.size = offsetof(axo_backoff, noise_ns);
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        assert_int_equal(axo_backoff_check(&good[i]), AXO_OK);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(axo_backoff_check(&bad[i]), AXO_EINVAL);
    assert_int_equal(axo_backoff_check(NULL), AXO_EINVAL);
    assert_int_equal(axo_backoff_check(&older), AXO_EVERSION); /* it is read later, whole */
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(BO_03_doubles_up_to_the_longest),
    cmocka_unit_test(BO_05_table),
    cmocka_unit_test(delays_grow),
    cmocka_unit_test(BO_04_jitter),
    cmocka_unit_test(PH_11_linear),
    cmocka_unit_test(every_field_is_checked),
};
TEST_MAIN(tests)
