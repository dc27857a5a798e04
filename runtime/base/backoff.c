/* backoff.c - the arithmetic of delays: the n-th delay of a back-off, exponential or linear.
 *
 * Pure functions: chance comes in as a parameter, so that a seed repeats a run. No input overflows;
 * a delay that would grow beyond the bound is the bound. */
#include <axo/backoff.h>

#include <stdbool.h>

/* factor^n by squaring, in at most 32 steps; infinite if the result is too large. */
static double backoff_power(double factor, uint32_t n)
{
    double power = 1;
    for (; n > 0; n >>= 1) {
        if ((n & 1) != 0)
            power *= factor;
        factor *= factor;
    }
    return power;
}

/* A delay between `min_ns` and `max_ns`. The comparison is written so that infinity and a NaN fall
 * on the side of max_ns: no value is cast that int64_t cannot hold. */
static int64_t backoff_exponential(const axo_backoff *backoff, uint32_t n)
{
    double factor = backoff->factor > 0 ? backoff->factor : 2;
    if (backoff->min_ns <= 0)
        return 0;
    double value = (double)backoff->min_ns * backoff_power(factor, n);
    if (!(value < (double)backoff->max_ns))
        return backoff->max_ns > 0 ? backoff->max_ns : 0;
    int64_t whole = (int64_t)value;
    return whole > backoff->min_ns ? whole : backoff->min_ns;
}

/* (n + 1) * min_ns, up to the bound; the division avoids the product that could overflow. */
static int64_t backoff_linear(const axo_backoff *backoff, uint32_t n)
{
    int64_t most = backoff->max_ns > 0 ? backoff->max_ns : AXO_BACKOFF_MAX;
    int64_t times = (int64_t)n + 1;
    if (backoff->min_ns <= 0)
        return 0;
    return backoff->min_ns <= most / times ? backoff->min_ns * times : most;
}

int64_t axo_backoff_delay(const axo_backoff *backoff, uint32_t n, double chance)
{
    if (backoff == NULL)
        return 0;
    bool linear = backoff->kind == AXO_BACKOFF_LINEAR;
    int64_t delay = linear ? backoff_linear(backoff, n) : backoff_exponential(backoff, n);
    double most = linear ? (double)backoff->noise_ns : (double)delay * backoff->jitter;
    if (!(chance > 0) || !(most > 0))
        return delay;
    /* The jitter only lengthens a delay: include/axo/backoff.h promises at least the plain
     * delay. */
    double more = most * (chance < 1 ? chance : 1);
    if (!(more < (double)(INT64_MAX - delay)))
        return INT64_MAX;
    return delay + (int64_t)more;
}
