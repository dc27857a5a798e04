/* backoff.h - how long to wait before the next try. A whole program is test/example/backoff.c. */
#ifndef AXO_BACKOFF_H
#define AXO_BACKOFF_H

#include <stddef.h>
#include <stdint.h>

#include <axo/export.h>
#include <axo/init.h>
#include <axo/status.h>

typedef enum axo_backoff_kind {
    AXO_BACKOFF_EXPONENTIAL = 0, /* min, min * factor, min * factor^2, ... up to max */
    AXO_BACKOFF_LINEAR = 1       /* Proto.Actor's: min, 2 * min, 3 * min, ... */
} axo_backoff_kind;

/* A back-off. Fields that the kind does not use are 0. It carries no state. */
typedef struct axo_backoff {
    size_t size;            /* sizeof(axo_backoff), set by AXO_BACKOFF */
    axo_backoff_kind kind;  /* zero: exponential */
    uint32_t reserved;      /* 0 */
    int64_t min_ns;         /* the first delay, 1..AXO_BACKOFF_MAX */
    int64_t max_ns;         /* the longest, min_ns..AXO_BACKOFF_MAX; LINEAR also 0: no longest */
    double factor;          /* EXPONENTIAL: 1..1e9; 0: 2 */
    double jitter;          /* EXPONENTIAL: 0..1, how much of the delay is added at most */
    int64_t reset_after_ns; /* EXPONENTIAL: the first delay comes again after so long without a
                               failure; 0: min_ns; negative: never */
    int64_t window_ns;      /* LINEAR: failures are forgotten, all at once, when the youngest is so
                               old; above 0, or negative: never */
    int64_t noise_ns;       /* LINEAR: how much is added at most, 0..AXO_BACKOFF_MAX */
} axo_backoff;
#define AXO_BACKOFF(...) AXO_INIT(axo_backoff, __VA_ARGS__)
static inline void axo_backoff_init(axo_backoff *out)
{
    const axo_backoff fresh = AXO_BACKOFF();
    *out = fresh;
}

/* The longest delay before jitter or noise: 73 years. */
#define AXO_BACKOFF_MAX (INT64_C(1) << 61)

AXO_BEGIN_DECLS

/* Whether every field is in its range.
 *   thread    any
 *   returns   AXO_OK, AXO_EINVAL, AXO_EVERSION (another version's struct) */
AXO_API axo_status axo_backoff_check(const axo_backoff *backoff);

/* The delay of try n = 0, 1, 2, ...: pure arithmetic, without overflow for any n.
 *   EXPONENTIAL   min(max, min * factor^n) * (1 + chance * jitter)
 *   LINEAR        min(max, min * (n + 1)) + chance * noise
 * What chance adds may lead beyond max, and never below the delay without it.
 *   thread    any
 *   backoff   one that axo_backoff_check accepts, or with min_ns or max_ns 0; NULL: the delay is 0
 *   chance    0 <= chance < 1; what is outside counts as 0 or just below 1 */
AXO_API int64_t axo_backoff_delay(const axo_backoff *backoff, uint32_t n, double chance);

AXO_END_DECLS

#endif
