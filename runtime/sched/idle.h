/* idle.h - what a worker without work is to the others of its pool: every transition is a function
 * here, of the role that the worker's thread had.
 *
 *                gets up    searches   parks, and      parks as    parks, and     finds work
 *                                      others work     watcher     none works
 *   NONE         WOKEN      SEARCHED   NONE            WATCHING    NONE           NONE
 *   WOKEN        WOKEN      SEARCHED   NONE            WATCHING    NONE           NONE (a)
 *   SEARCHED     SEARCHED   SEARCHED   NONE            WATCHING    NONE           NONE (a) (b)
 *   WATCHED      WATCHED    WATCHED    WATCHED         WATCHING    NONE           NONE (c)
 *   WATCHING     WATCHED    -          -               -           -              -
 *
 * A pusher wakes nobody while there is a searcher, and leaves private entries to the watcher. So a
 * worker that goes to work sees to it that another watches in its place, and wakes one for that:
 *   (a) if the watch was handed on before (axo__sched.watch_due) and nobody has taken it up;
 *   (b) if nobody watches, and a worker is parked that could;
 *   (c) always.
 *
 * The role is its worker's alone. What others read is the pool's: `parked`, `searching`, `watcher`
 * and `watch_due`, which several workers may write at a time and which are no state of one of them.
 */
#ifndef AXO__SCHED_IDLE_H
#define AXO__SCHED_IDLE_H

#include <stdbool.h>

#include "base/assert.h"

typedef enum axo__idle_role {
    AXO__IDLE_NONE = 0,     /* works, is parked and watches nobody, or has just run out of work */
    AXO__IDLE_WOKEN = 1,    /* was taken out of PARKED, and has not found work since */
    AXO__IDLE_SEARCHED = 2, /* has looked at others' queues, and neither found work nor parked */
    AXO__IDLE_WATCHED = 3,  /* was the watcher, and has not found work since */
    AXO__IDLE_WATCHING = 4  /* is parked, and the watcher */
} axo__idle_role;

static inline axo__idle_role axo__idle_up(axo__idle_role role)
{
    if (role == AXO__IDLE_WATCHING)
        return AXO__IDLE_WATCHED;
    return role == AXO__IDLE_NONE ? AXO__IDLE_WOKEN : role;
}

static inline axo__idle_role axo__idle_search(axo__idle_role role)
{
    AXO_DEBUG_ASSERT(role != AXO__IDLE_WATCHING);
    return role < AXO__IDLE_SEARCHED ? AXO__IDLE_SEARCHED : role;
}

/* `busy`: others work. */
static inline axo__idle_role axo__idle_park(axo__idle_role role, bool busy)
{
    AXO_DEBUG_ASSERT(role != AXO__IDLE_WATCHING);
    return role == AXO__IDLE_WATCHED && busy ? AXO__IDLE_WATCHED : AXO__IDLE_NONE;
}

#endif
