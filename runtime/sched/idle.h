/* idle.h - the role of a worker without work, and its transitions. A transition that depends on the
 * role of before is a function here; park.c sets WATCHING, and worker.c sets NONE when the worker
 * has found work.
 *
 * A role says what the worker owes to the other workers when it finds work again or parks. It
 * exists so that a pusher needs to wake no worker for most pushes: a searcher or the watcher will
 * find the entry, and the role makes sure that there is a next searcher or watcher afterwards.
 *
 *                gets up    searches   parks, and      parks as    parks, and     finds work
 *                                      others work     watcher     none works
 *   NONE         WOKEN      SEARCHED   NONE            WATCHING    NONE           NONE
 *   WOKEN        WOKEN      SEARCHED   NONE            WATCHING    NONE           NONE (a)
 *   SEARCHED     SEARCHED   SEARCHED   NONE            WATCHING    NONE           NONE (a) (b)
 *   WATCHED      WATCHED    WATCHED    WATCHED         WATCHING    NONE           NONE (c)
 *   WATCHING     WATCHED    -          -               -           -              -
 *
 * A pusher wakes no worker while there is a searcher, and leaves private entries to the watcher. So
 * a worker that finds work may have to wake another one, which searches and then watches in its
 * place (worker_hand_on in worker.c). The worker does so
 *   (a) if the watch was handed on before (axo__sched.watch_due) and no worker has taken it up;
 *   (b) if no worker watches, and a parked worker could;
 *   (c) always.
 *
 * The field `role` is its worker's alone. Other workers read the pool's fields `parked`,
 * `searching`, `watcher` and `watch_due` instead, which several workers may write at the same time
 * and which do not tell the role of a particular worker.
 */
#ifndef AXO__SCHED_IDLE_H
#define AXO__SCHED_IDLE_H

#include <stdbool.h>

#include "base/assert.h"

typedef enum axo__idle_role {
    AXO__IDLE_NONE = 0,     /* works, is parked and does not watch, or has just run out of work */
    AXO__IDLE_WOKEN = 1,    /* was taken out of PARKED, and has not found work since */
    AXO__IDLE_SEARCHED = 2, /* has looked at others' queues, and neither found work nor parked */
    AXO__IDLE_WATCHED = 3,  /* was the watcher, and has not found work since */
    AXO__IDLE_WATCHING = 4  /* is parked, and is the pool's watcher */
} axo__idle_role;

/* Column "gets up": another thread has taken the worker out of PARKED, or its sleep is over. */
static inline axo__idle_role axo__idle_up(axo__idle_role role)
{
    if (role == AXO__IDLE_WATCHING)
        return AXO__IDLE_WATCHED;
    return role == AXO__IDLE_NONE ? AXO__IDLE_WOKEN : role;
}

/* Column "searches": the worker is about to look into the queues of other workers. A watcher of
 * before stays WATCHED, since that role owes more: it always hands the watch on. */
static inline axo__idle_role axo__idle_search(axo__idle_role role)
{
    AXO_DEBUG_ASSERT(role != AXO__IDLE_WATCHING);
    return role < AXO__IDLE_SEARCHED ? AXO__IDLE_SEARCHED : role;
}

/* Columns "parks": `busy` says that other workers are awake. Then a watcher of before stays WATCHED
 * until it watches again or finds work; if no other worker is awake there is nothing to watch. */
static inline axo__idle_role axo__idle_park(axo__idle_role role, bool busy)
{
    AXO_DEBUG_ASSERT(role != AXO__IDLE_WATCHING);
    return role == AXO__IDLE_WATCHED && busy ? AXO__IDLE_WATCHED : AXO__IDLE_NONE;
}

#endif
