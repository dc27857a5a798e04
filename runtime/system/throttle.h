/* throttle.h - how many of many alike are worth a line (PH-26).
 *
 * A window opens with the first event after the last one. In it the events 1..max-1 are OPEN, the
 * max-th is CLOSING, the rest CLOSED; the first event after the window learns how many those were.
 * A clock that has gone back behind the window's beginning ends it. One thread at a time. */
#ifndef AXO__SYSTEM_THROTTLE_H
#define AXO__SYSTEM_THROTTLE_H

#include <stdint.h>

#include "base/assert.h"
#include "base/clock.h"

typedef enum axo__throttle_answer {
    AXO__THROTTLE_OPEN = 0,
    AXO__THROTTLE_CLOSING = 1,
    AXO__THROTTLE_CLOSED = 2
} axo__throttle_answer;

typedef struct axo__throttle {
    uint32_t max;      /* at least 1 */
    uint32_t passed;   /* in this window: not more than max */
    uint64_t skipped;  /* in this window */
    int64_t window_ns;
    int64_t opened;
} axo__throttle;

/* One event at `now`. *skipped: how many the window before this one has swallowed, if this is the
 * first event of a new one; else 0. */
static inline axo__throttle_answer axo__throttle_take(axo__throttle *throttle, int64_t now,
                                                      uint64_t *skipped)
{
    AXO_DEBUG_ASSERT(throttle->max > 0 && throttle->passed <= throttle->max);
    *skipped = 0;
    int64_t since = axo__clock_since(now, throttle->opened);
    if (throttle->passed > 0 && (since < 0 || since >= throttle->window_ns)) {
        *skipped = throttle->skipped;
        throttle->passed = 0;
        throttle->skipped = 0;
    }
    if (throttle->passed == 0)
        throttle->opened = now;
    if (throttle->passed == throttle->max) {
        throttle->skipped++;
        return AXO__THROTTLE_CLOSED;
    }
    throttle->passed++;
    return throttle->passed == throttle->max ? AXO__THROTTLE_CLOSING : AXO__THROTTLE_OPEN;
}

#endif
