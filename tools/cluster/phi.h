/* phi.h - how much the silence of a node says: the phi accrual failure detector.
 *
 * From N. Hayashibara, X. Defago, R. Yared, T. Katayama, "The phi accrual failure detector"
 * (SRDS 2004), with what Akka's PhiAccrualFailureDetector adds: an acceptable pause, a least
 * deviation, and an estimate before the first interval.
 *
 *   phi = -log10(1 - F(silence)), F the normal distribution of the intervals between heartbeats
 *
 * Its mean is that of the last CLUSTER_PHI_SAMPLES intervals and the acceptable pause, its
 * deviation theirs, but not below the least. F is taken by the logistic approximation, whose error
 * is below 0.00014:
 *
 *   y = (silence - mean) / deviation,  e = exp(-y (1.5976 + 0.070566 y^2)),  1 - F = e / (1 + e)
 *
 * At a phi of 1 one such silence in 10 is no failure, at 8 one in 10^8. Two intervals are there
 * before the first: the estimate and a quarter of it more and less.
 *
 * Times are of one clock of the caller's, in nanoseconds; none goes back behind the last. */
#ifndef CLUSTER_PHI_H
#define CLUSTER_PHI_H

#include <stdbool.h>
#include <stdint.h>

#define CLUSTER_PHI_SAMPLES 100

typedef struct cluster_phi_settings {
    int64_t estimate_ns;      /* of the interval, before there is one; > 0 */
    int64_t pause_ns;         /* acceptable beyond the mean; >= 0 */
    int64_t deviation_ns_min; /* > 0 */
    double threshold;         /* of phi, from where on silence is a failure; > 0 */
} cluster_phi_settings;

typedef struct cluster_phi {
    int64_t last;             /* heartbeat; with `heard` */
    bool heard;
    uint32_t count;           /* of samples, at most CLUSTER_PHI_SAMPLES */
    uint32_t next;            /* place for the next one */
    double samples[CLUSTER_PHI_SAMPLES]; /* ns; only the first `count` are set */
} cluster_phi;

void cluster_phi_init(cluster_phi *phi, const cluster_phi_settings *settings);

/* A heartbeat has come. The interval that ends a failure is no sample. */
void cluster_phi_beat(cluster_phi *phi, const cluster_phi_settings *settings, int64_t now);

/* phi, from 0 to INFINITY; 0 before the first heartbeat. */
double cluster_phi_value(const cluster_phi *phi, const cluster_phi_settings *settings, int64_t now);

/* `now` is that much later, and the node could not have been heard. */
void cluster_phi_skip(cluster_phi *phi, int64_t gap_ns);

#endif
