/* storm.h - the governor of restarts: so many in a span of time, in a whole system; the others wait
 * for their turn, oldest first (axo_options.storm_max).
 *
 * One number says when the next restart is due if all that have asked come evenly spaced. A restart
 * that asks moves it on by `interval`; it is at once while the number is no further ahead of the
 * clock than `slack`, else it waits for the difference. So storm_max restarts may come together,
 * and behind them one each interval. (ITU-T I.371's generic cell rate algorithm, with the waiting
 * of a shaper.)
 *
 * `waiting` counts those that wait in its low half, and the storms in its high one: who makes it 1
 * begins a storm, who makes it 0 ends that one. So each storm has one begin and one end.
 *
 * Both words are changed by compare-and-swap alone, and nothing else is read by what they say: any
 * thread may ask.
 *
 * Orders
 *   [N1] cas acq_rel, next      one place behind the other
 *   [N2] cas acq_rel, waiting   one begin and one end of each storm
 */
#ifndef AXO__CELL_STORM_H
#define AXO__CELL_STORM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"

typedef struct axo__storm {
    int64_t interval_ns; /* between two that have waited; 0: there is no governor */
    int64_t slack_ns;
    axo__a64 next;
    axo__a64 waiting;
} axo__storm;

#define AXO__STORM_WINDOW_MAX INT64_C(60000000000)

/* `most` in `window_ns`, which is at least `most` and at most AXO__STORM_WINDOW_MAX; most 0: no
 * governor. */
void axo__storm_init(axo__storm *storm, uint32_t most, int64_t window_ns);

/* Takes the place of a restart that is decided now. Returns how long it has to wait for its turn,
 * at least; 0: it does not. */
int64_t axo__storm_ask(axo__storm *storm, int64_t now);

/* One more, or one less, waits. Returns the number of the storm, from 1, that begins, or ends, by
 * this; 0: none does. */
uint32_t axo__storm_enter(axo__storm *storm);
uint32_t axo__storm_leave(axo__storm *storm);

#endif
