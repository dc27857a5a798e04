/* throttle.h - how many of many equal events are worth a line in the log (PH-26).
 *
 * A window opens with the first event after the last window. In a window the events 1..max-1 are
 * OPEN, event max is CLOSING, the others are CLOSED; the first event after the window learns how
 * many were closed. A clock that has gone back behind the window's beginning ends the window.
 *
 * A throttle has no atomics: axo__book.mutex excludes its users, and a throttle elsewhere must have
 * a lock of its own. */
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
    uint32_t passed;   /* events let through in this window, at most max */
    uint64_t skipped;  /* events closed in this window */
    int64_t window_ns;
    int64_t opened;
} axo__throttle;

/* Takes one event at `now`. *skipped: how many events the window before this one has closed, if
 * this is the first event of a new window; else 0. The caller logs according to the answer. */
static inline axo__throttle_answer axo__throttle_take(axo__throttle *throttle, int64_t now,
                                                      uint64_t *skipped)
{
    AXO_DEBUG_ASSERT(throttle->max > 0 && throttle->passed <= throttle->max);
    *skipped = 0;
    int64_t since = axo__clock_since(now, throttle->opened);
    /* `since` < 0 is a program's clock that was set back: without the check one long jump would
     * silence the log until the clock has caught up. */
    if (throttle->passed > 0 && (since < 0 || since >= throttle->window_ns)) {
        *skipped = throttle->skipped;
        throttle->passed = 0;
        throttle->skipped = 0;
    }
    /* The window begins with its first event, not with the end of the window before: an event after
     * a quiet hour has a whole window in front of it. */
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
