/* keyed_timer.h - an actor's own timers: its keyed timers, which end with the instance, and its
 * receive timeout.
 *
 * The record is made when the actor first uses a timer, and freed when the cell's grace period is
 * over. Everything but the timer's firing runs on the cell's runner.
 *
 * A keyed timer is a scheduled message, which carries its key and the number of its start. Stopping
 * a key forgets the number; a tick whose number is not its key's is dropped when it comes up.
 *
 * The receive timeout costs no operation of the wheel for each message: the field `last` moves, the
 * timer stays. The timer sends a tick when it fires; if `last` has moved when the tick comes up,
 * the timer is armed for the rest of the time.
 */
#ifndef AXO__SCHED_KEYED_TIMER_H
#define AXO__SCHED_KEYED_TIMER_H

#include "sched/scheduled.h"

typedef struct axo__keyed_timers axo__keyed_timers;

/* The arguments of axo_timer_start. */
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

/* Starts a timer, in the place of an older one with its key: AXO_OK, or what axo__scheduled_set
 * says; then the older one runs on. Stops one: AXO_OK, AXO_ENOENT. */
axo_status axo__keyed_timer_start(axo__worker *worker, axo__cell *cell,
                                  const axo__keyed_timer_order *what);
axo_status axo__keyed_timer_stop(axo__worker *worker, axo__cell *cell, uint64_t key);
bool axo__keyed_timer_is_there(const axo__cell *cell, uint64_t key);

/* The instance ends: every key is stopped, so that no tick comes up any more. The timers of many
 * keys are cancelled in portions, in turns of the cell that handle nothing else. */
void axo__keyed_timer_stop_all(axo__worker *worker, axo__cell *cell);

/* Cancels the next portion of stopped timers, if there is one. false: timers are left for the next
 * turn. */
bool axo__keyed_timer_go_on(axo__worker *worker, axo__cell *cell);

/* Sets the receive timeout to `after` ns; 0: off. AXO_OK, AXO_ENOMEM. */
axo_status axo__keyed_timer_receive_timeout(axo__worker *worker, axo__cell *cell, int64_t after);

/* The actor has been paused, or is no more, as far as it has been told of it: its receive timeout
 * stands still, or goes on with what is left. By the cell's runner, or who has borrowed it, after
 * each taking of suspensions. */
void axo__keyed_timer_stand(axo__worker *worker, axo__cell *cell);

/* Switches the receive timeout off; takes no memory. */
void axo__keyed_timer_receive_timeout_off(axo__cell *cell);

/* A tick is the cell's next message: true, it is an ordinary message from now on; false: the tick
 * was stale, and has been freed. */
bool axo__keyed_timer_tick(axo__worker *worker, axo__cell *cell, axo__message *message);

/* A message with this tag was handled, by a cell that has a keyed timer or a receive timeout. */
void axo__keyed_timer_handled(axo__worker *worker, axo__cell *cell, uint32_t tag);

/* Calls `each` for each keyed timer of a cell that the caller has borrowed. */
void axo__keyed_timer_each(const axo__cell *cell,
                           void (*each)(void *arg, uint64_t key, axo_timer timer), void *arg);

/* Whether a message of such a cell is the tick of a keyed timer that is no more. */
bool axo__keyed_timer_is_stale(const axo__cell *cell, const axo__message *message);

/* The receive timeout of such a cell; 0: off. */
int64_t axo__keyed_timer_timeout(const axo__cell *cell);

/* Frees the timers of a cell that no thread reaches any more. */
void axo__keyed_timer_free(axo__local *local, axo__cell *cell);

#endif
