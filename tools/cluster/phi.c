/* phi.c - how much the silence of a node says. */
#include "phi.h"

#include <assert.h>
#include <math.h>

static void phi_sample(cluster_phi *phi, double interval_ns)
{
    phi->samples[phi->next] = interval_ns;
    phi->next = (phi->next + 1) % CLUSTER_PHI_SAMPLES;
    if (phi->count < CLUSTER_PHI_SAMPLES)
        phi->count++;
}

void cluster_phi_init(cluster_phi *phi, const cluster_phi_settings *settings)
{
    assert(settings->estimate_ns > 0 && settings->pause_ns >= 0);
    assert(settings->deviation_ns_min > 0 && settings->threshold > 0);
    double estimate = (double)settings->estimate_ns;
    phi->heard = false;
    phi->last = 0;
    phi->count = 0;
    phi->next = 0;
    phi_sample(phi, estimate - estimate / 4);
    phi_sample(phi, estimate + estimate / 4);
}

/* The sums are made anew each time: a hundred additions, and no error that grows. */
static void phi_distribution(const cluster_phi *phi, double *mean, double *deviation)
{
    double sum = 0;
    double squares = 0;
    for (uint32_t i = 0; i < phi->count; i++)
        sum += phi->samples[i];
    *mean = sum / phi->count;
    for (uint32_t i = 0; i < phi->count; i++)
        squares += (phi->samples[i] - *mean) * (phi->samples[i] - *mean);
    *deviation = sqrt(squares / phi->count);
}

double cluster_phi_value(const cluster_phi *phi, const cluster_phi_settings *settings, int64_t now)
{
    double mean;
    double deviation;
    if (!phi->heard)
        return 0;
    phi_distribution(phi, &mean, &deviation);
    mean += (double)settings->pause_ns;
    if (deviation < (double)settings->deviation_ns_min)
        deviation = (double)settings->deviation_ns_min;
    double y = ((double)(now - phi->last) - mean) / deviation;
    double e = exp(-y * (1.5976 + 0.070566 * y * y));
    if (y > 0)
        return -log10(e / (1 + e));
    return -log10(1 - 1 / (1 + e));
}

void cluster_phi_beat(cluster_phi *phi, const cluster_phi_settings *settings, int64_t now)
{
    if (phi->heard && cluster_phi_value(phi, settings, now) < settings->threshold)
        phi_sample(phi, (double)(now - phi->last));
    phi->heard = true;
    phi->last = now;
}

void cluster_phi_skip(cluster_phi *phi, int64_t gap_ns)
{
    phi->last += gap_ns;
}
