/* clock.h - sums and differences of times. A program's own clock may show any number of 64 bits, go
 * back, and jump from one end to the other: no function here overflows. */
#ifndef AXO__BASE_CLOCK_H
#define AXO__BASE_CLOCK_H

#include <stdint.h>

/* The time `delay` after `time`, with delay >= 0; INT64_MAX if that time has no number. */
static inline int64_t axo__clock_add(int64_t time, int64_t delay)
{
    return time > INT64_MAX - delay ? INT64_MAX : time + delay;
}

/* How long ago `then` was. Below 0: `then` is to come, because the program's clock has gone
 * back. */
static inline int64_t axo__clock_since(int64_t now, int64_t then)
{
    int64_t span;
    if (__builtin_sub_overflow(now, then, &span))
        return now > then ? INT64_MAX : INT64_MIN;
    return span;
}

#endif
