/* histogram_test.c - the benchmarks' histogram: its percentiles against sorted values, its text. */
#include "unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../bench/histogram.h"

#define VALUES 20000

static int histogram_order(const void *one, const void *other)
{
    uint64_t first = *(const uint64_t *)one;
    uint64_t second = *(const uint64_t *)other;
    return (first > second) - (first < second);
}

/* What the histogram writes, in memory that the caller frees. */
static char *histogram_text(const histogram *all)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    histogram_print(all, out);
    assert_int_equal(fclose(out), 0);
    return text;
}

/* Every bucket holds what its ends say, and they leave no gap. */
static void buckets_have_no_gaps(void **state)
{
    uint64_t first = 0;
    for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        uint64_t last = histogram_top(i);
        assert_true(last >= first);
        assert_int_equal(histogram_bucket(first), i);
        assert_int_equal(histogram_bucket(last), i);
        assert_true(last - first <= first / HISTOGRAM_STEPS);
        assert_true(histogram_middle(i) == (double)(first + (last - first + 1) / 2));
        first = last + 1;
    }
    assert_true(first == UINT64_C(1) << HISTOGRAM_BITS);
    assert_int_equal(histogram_bucket(first), HISTOGRAM_BUCKETS - 1);
    assert_int_equal(histogram_bucket(UINT64_MAX), HISTOGRAM_BUCKETS - 1);
}

/* A percentile is the value of its rank, or at most 1/HISTOGRAM_STEPS above it. */
static void percentiles_are_those_of_sorted_values(void **state)
{
    static const double quantiles[] = {0.0, 0.001, 0.25, 0.5, 0.9, 0.99, 0.999, 0.99995, 1.0};
    static histogram all;
    uint64_t *values = calloc(VALUES, sizeof *values);
    uint64_t seed = 3;
    assert_non_null(values);
    for (uint32_t i = 0; i < VALUES; i++) {
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        values[i] = (seed >> 33) >> (seed >> 33) % 31; /* all magnitudes */
        histogram_record(&all, values[i]);
    }
    qsort(values, VALUES, sizeof *values, histogram_order);
    assert_int_equal(all.count, VALUES);
    assert_true(all.max == values[VALUES - 1]);
    for (uint32_t i = 0; i < sizeof quantiles / sizeof *quantiles; i++) {
        uint64_t rank = (uint64_t)ceil(quantiles[i] * VALUES);
        uint64_t exact = values[rank == 0 ? 0 : rank - 1];
        uint64_t found = histogram_percentile(&all, quantiles[i]);
        assert_true(found >= exact);
        assert_true(found - exact <= exact / HISTOGRAM_STEPS);
    }
    free(values);
}

/* Two that are added are one that was given all. */
static void added_is_as_recorded(void **state)
{
    static histogram one;
    static histogram other;
    static histogram both;
    for (uint64_t i = 0; i < 1000; i++) {
        histogram_record(i % 3 == 1 ? &one : &other, i * i * i); /* the greatest: other */
        histogram_record(&both, i * i * i);
    }
    histogram_add(&one, &other);
    assert_memory_equal(&one, &both, sizeof one);
}

/* HdrHistogram's text, to the character: 1 to 10 once each. */
static void text_is_hdr_histograms(void **state)
{
    static histogram all;
    for (uint64_t i = 1; i <= 10; i++)
        histogram_record(&all, i);
    char *text = histogram_text(&all);
    assert_string_equal(text,
                        "       Value     Percentile TotalCount 1/(1-Percentile)\n"
                        "\n"
                        "       1.000 0.000000000000          1           1.00\n"
                        "       1.000 0.100000000000          1           1.11\n"
                        "       2.000 0.200000000000          2           1.25\n"
                        "       3.000 0.300000000000          3           1.43\n"
                        "       4.000 0.400000000000          4           1.67\n"
                        "       5.000 0.500000000000          5           2.00\n"
                        "       6.000 0.550000000000          6           2.22\n"
                        "       6.000 0.600000000000          6           2.50\n"
                        "       7.000 0.650000000000          7           2.86\n"
                        "       7.000 0.700000000000          7           3.33\n"
                        "       8.000 0.750000000000          8           4.00\n"
                        "       8.000 0.775000000000          8           4.44\n"
                        "       8.000 0.800000000000          8           5.00\n"
                        "       9.000 0.825000000000          9           5.71\n"
                        "       9.000 0.850000000000          9           6.67\n"
                        "       9.000 0.875000000000          9           8.00\n"
                        "       9.000 0.887500000000          9           8.89\n"
                        "       9.000 0.900000000000          9          10.00\n"
                        "      10.000 0.912500000000         10          11.43\n"
                        "      10.000 1.000000000000         10\n"
                        "#[Mean    =        5.500, StdDeviation   =        2.872]\n"
                        "#[Max     =       10.000, Total count    =           10]\n"
                        "#[Buckets =           35, SubBuckets     =          256]\n");
    free(text);
}

static void text_of_nothing_has_no_row(void **state)
{
    static histogram none;
    char *text = histogram_text(&none);
    assert_null(strstr(text, "1.0000"));
    assert_non_null(strstr(text, "Total count    =            0]"));
    free(text);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(buckets_have_no_gaps),
    cmocka_unit_test(percentiles_are_those_of_sorted_values),
    cmocka_unit_test(added_is_as_recorded),
    cmocka_unit_test(text_is_hdr_histograms),
    cmocka_unit_test(text_of_nothing_has_no_row),
};
TEST_MAIN(tests)
