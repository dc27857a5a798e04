/* clock.h - sums and differences of times. A program's own clock may say any number of 64 bits, go
 * back, and jump from one end to the other: nothing here overflows. */
#ifndef AXO__BASE_CLOCK_H
#define AXO__BASE_CLOCK_H

#include <stdint.h>

/* A time, and a delay of at least 0 after it; the last number if that has none. */
static inline int64_t axo__clock_add(int64_t time, int64_t delay)
{
    return time > INT64_MAX - delay ? INT64_MAX : time + delay;
}

/* How long ago `then` was; below 0: it is to come, the clock has gone back. */
static inline int64_t axo__clock_since(int64_t now, int64_t then)
{
    int64_t span;
    if (__builtin_sub_overflow(now, then, &span))
        return now > then ? INT64_MAX : INT64_MIN;
    return span;
}

#endif
