/* phi_test.c - how much the silence of a node says: tools/cluster/phi.h. */
#include <math.h>

#include "support/cmocka.h"

#include "phi.h"

#define MS INT64_C(1000000)

static const cluster_phi_settings phi_plain = {
    .estimate_ns = 1000 * MS, .pause_ns = 0, .deviation_ns_min = 100 * MS, .threshold = 8};

static void phi_is(const cluster_phi *phi, const cluster_phi_settings *settings, int64_t now,
                   double expected)
{
    double value = cluster_phi_value(phi, settings, now);
    if (fabs(value - expected) > 0.001)
        fail_msg("phi is %f, not %f", value, expected);
}

/* The normal distribution itself: P(z > 1) = 0.1587, P(z > 2) = 0.0228, P(z > 3) = 0.00135. */
static void phi_of_deviations(void **unused)
{
    cluster_phi phi;
    cluster_phi_init(&phi, &phi_plain);
    phi_is(&phi, &phi_plain, 5000 * MS, 0); /* nobody was heard */
    cluster_phi_beat(&phi, &phi_plain, 0);
    /* 750 and 1250 ms: mean 1000, deviation 250 */
    phi_is(&phi, &phi_plain, 1000 * MS, -log10(0.5));
    assert_true(fabs(cluster_phi_value(&phi, &phi_plain, 1250 * MS) + log10(0.1587)) < 0.01);
    assert_true(fabs(cluster_phi_value(&phi, &phi_plain, 1500 * MS) + log10(0.0228)) < 0.01);
    assert_true(fabs(cluster_phi_value(&phi, &phi_plain, 750 * MS) + log10(0.8413)) < 0.01);
    assert_true(fabs(cluster_phi_value(&phi, &phi_plain, 1750 * MS) + log10(0.00135)) < 0.05);
    assert_true(cluster_phi_value(&phi, &phi_plain, 0) < 0.001);
    assert_true(isinf(cluster_phi_value(&phi, &phi_plain, 3600000 * MS)));
}

/* By Akka's formula: y = 3, e = exp(-3 (1.5976 + 0.070566 9)) = 0.0012333. */
static void phi_by_its_formula(void **unused)
{
    cluster_phi phi;
    cluster_phi_init(&phi, &phi_plain);
    cluster_phi_beat(&phi, &phi_plain, 0);
    phi_is(&phi, &phi_plain, 1750 * MS, 2.9095);
}

static void phi_regular(void **unused)
{
    cluster_phi phi;
    int64_t now = 0;
    cluster_phi_init(&phi, &phi_plain);
    for (uint32_t i = 0; i <= CLUSTER_PHI_SAMPLES; i++)
        cluster_phi_beat(&phi, &phi_plain, now += 500 * MS);
    assert_int_equal(phi.count, CLUSTER_PHI_SAMPLES); /* the two of the beginning are out */
    phi_is(&phi, &phi_plain, now + 500 * MS, -log10(0.5));
    /* the least deviation: 3 of them are 300 ms */
    phi_is(&phi, &phi_plain, now + 800 * MS, 2.9095);
    assert_true(cluster_phi_value(&phi, &phi_plain, now + 1100 * MS) > 8);
}

static void phi_with_a_pause(void **unused)
{
    cluster_phi_settings settings = phi_plain;
    cluster_phi phi;
    settings.pause_ns = 3000 * MS;
    cluster_phi_init(&phi, &settings);
    cluster_phi_beat(&phi, &settings, 0);
    phi_is(&phi, &settings, 4000 * MS, -log10(0.5));
    phi_is(&phi, &settings, 4750 * MS, 2.9095);
}

/* The interval that ends a failure is none of those by which the next one is judged. */
static void phi_after_a_failure(void **unused)
{
    cluster_phi phi;
    cluster_phi_init(&phi, &phi_plain);
    cluster_phi_beat(&phi, &phi_plain, 0);
    cluster_phi_beat(&phi, &phi_plain, 60000 * MS);
    assert_int_equal(phi.count, 2);
    phi_is(&phi, &phi_plain, 61000 * MS, -log10(0.5));
    cluster_phi_beat(&phi, &phi_plain, 61000 * MS);
    assert_int_equal(phi.count, 3);
}

static void phi_without_a_gap(void **unused)
{
    cluster_phi phi;
    cluster_phi_init(&phi, &phi_plain);
    cluster_phi_beat(&phi, &phi_plain, 0);
    cluster_phi_skip(&phi, 60000 * MS);
    phi_is(&phi, &phi_plain, 61750 * MS, 2.9095);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(phi_of_deviations),
        cmocka_unit_test(phi_by_its_formula),
        cmocka_unit_test(phi_regular),
        cmocka_unit_test(phi_with_a_pause),
        cmocka_unit_test(phi_after_a_failure),
        cmocka_unit_test(phi_without_a_gap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
