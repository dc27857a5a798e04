/* keyed_timer.h - what an actor has of time: its keyed timers, which are its instance's, and its
 * receive timeout.
 *
 * Made when first used, freed when the cell's grace period is over. Everything but the timer's
 * firing runs on the cell's runner.
 *
 * A keyed timer is a scheduled message, which carries its key and the number of its start. Stopping
 * forgets the number; a tick that comes up with a number that is not its key's is dropped.
 *
 * The receive timeout costs no operation of the wheel for each message: `last` moves, the timer
 * stays. When it fires a tick is sent; when that comes up and `last` is too young, the timer is
 * armed for the rest.
 */
#ifndef AXO__SCHED_KEYED_TIMER_H
#define AXO__SCHED_KEYED_TIMER_H

#include "sched/scheduled.h"

typedef struct axo__keyed_timers axo__keyed_timers;

/* What axo_timer_start says. */
typedef struct axo__keyed_timer_order {
    uint64_t key;
    axo_timer_kind kind;
    int64_t first;
    int64_t period;
    uint32_t tag;
    uint32_t flags; /* of the message: PILL, KILL or 0 */
    const void *payload;
    size_t size;
} axo__keyed_timer_order;

axo_status axo__keyed_timer_start(axo__worker *worker, axo__cell *cell,
                                  const axo__keyed_timer_order *what);
axo_status axo__keyed_timer_stop(axo__worker *worker, axo__cell *cell, uint64_t key);
bool axo__keyed_timer_is_there(const axo__cell *cell, uint64_t key);

/* The instance ends: every key is stopped, so that no tick comes up any more. The timers of many
 * keys are cancelled in portions, in turns of the cell that handle nothing else. */
void axo__keyed_timer_stop_all(axo__worker *worker, axo__cell *cell);

/* The next portion, if there is one. false: more is left for the next turn. */
bool axo__timed_go_on(axo__worker *worker, axo__cell *cell);

/* AXO_OK, AXO_ENOMEM. 0: off. */
axo_status axo__keyed_timer_receive_timeout(axo__worker *worker, axo__cell *cell, int64_t after);

/* Switches it off; takes no memory. */
void axo__keyed_timer_receive_timeout_off(axo__cell *cell);

/* A tick has come up: true, it is an ordinary message from now on; false: it is gone. */
bool axo__keyed_timer_tick(axo__worker *worker, axo__cell *cell, axo__message *message);

/* A message with this tag was handled, by a cell that has a keyed timer or a receive timeout. */
void axo__keyed_timer_handled(axo__worker *worker, axo__cell *cell, uint32_t tag);

/* Nobody reaches the cell any more. */
void axo__keyed_timer_free(axo__local *local, axo__cell *cell);

#endif
