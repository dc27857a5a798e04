/* pause.c - the door for who pauses a subtree and resumes it: the steps of cell/paused.h. */
#include <axo/axo.h>
#include <axo/world.h>

#include "base/aside.h"
#include "sched/ready.h"
#include "sched/scheduled.h"
#include "sched/send.h"
#include "system/quiet.h"
#include "system/tree.h"

/* ---- in a turn, or in a door ---- */

/* Whether an actor is of the program's: /user, or below it. */
static bool pause_may(const axo_system *system, const axo__cell *cell)
{
    while (cell != NULL && cell != system->cells[AXO_GUARDIAN_USER])
        cell = axo__cell_parent(cell);
    return cell != NULL;
}

/* Under the mutex. *begins: it is paused from now on. That is announced behind the mutex, since the
 * program may hear that there is work (axo_options.on_work). */
static axo_status pause_top(axo__paused *paused, axo__cell *top, bool *begins)
{
    const axo_ref ref = axo__cell_ref(top);
    if (axo__paused_find(paused, ref) < AXO_PAUSES_MAX)
        return AXO_OK; /* it is paused already */
    uint32_t place = axo__paused_find(paused, axo_ref_none());
    if (place == AXO_PAUSES_MAX)
        return AXO_ELIMIT;
    axo__paused_put(paused, place, ref);            /* (1) */
    axo__directives_delta_add(&top->directives, 1); /* (2) */
    *begins = true;
    return AXO_OK;
}

static axo_status pause_begin(axo_system *system, axo__local *local, axo_ref ref)
{
    axo__core *core = local->core;
    const int64_t now = axo__core_now(core);
    bool begins = false;
    axo_status status = AXO_EGONE;
    axo__os_mutex_lock(&core->paused.mutex);
    axo__cell *top = axo__table_find(&core->table, ref); /* first: what has gone is swept */
    bool swept = axo__paused_sweep(&core->paused, &core->table);
    if (top != NULL)
        status = pause_may(system, top) ? pause_top(&core->paused, top, &begins) : AXO_EINVAL;
    axo__os_mutex_unlock(&core->paused.mutex);
    if (swept)
        axo__scheduled_go_on(local, now);
    if (begins) {
        axo__sched_announce_system(axo__local_worker(local), top);
        axo__scheduled_still(local, now); /* (3) */
    }
    return status;
}

static axo_status pause_end(axo__local *local, axo_ref ref)
{
    axo__core *core = local->core;
    axo__paused *paused = &core->paused;
    const int64_t now = axo__core_now(core);
    axo__os_mutex_lock(&paused->mutex);
    uint32_t place = axo__paused_find(paused, ref);
    axo__cell *top = axo__table_find(&core->table, ref);
    if (place < AXO_PAUSES_MAX) {
        axo__paused_put(paused, place, axo_ref_none()); /* (4) */
        if (top != NULL)
            axo__directives_delta_add(&top->directives, -1); /* (5) */
    }
    axo__os_mutex_unlock(&paused->mutex);
    if (place == AXO_PAUSES_MAX)
        return AXO_ENOENT;
    if (top != NULL)
        axo__sched_announce_system(axo__local_worker(local), top);
    axo__scheduled_go_on(local, now); /* (6) */
    return top != NULL ? AXO_OK : AXO_EGONE;
}

static axo_ref pause_ref(const axo_system *system, axo_ref given)
{
    return axo_ref_is_none(given) ? system->guardians[AXO_GUARDIAN_USER] : given;
}

/* ---- whether it stands still ---- */

/* An axo__tree_fn. A cell that is entered has no work of the system's to do, nor has its parent: so
 * it has counted the suspension and told every child, and a child that is born inherits it. But of
 * the top another thread may be about to say so. */
static axo_status pause_stands(void *none, axo__cell *cell)
{
    (void)none;
    bool held = (axo__state_look(&cell->state) & AXO__HELD) != 0;
    bool told = axo__directives_delta(axo__cell_directives(cell)) == 0;
    return held && told ? AXO_OK : AXO_EBUSY;
}

/* An axo__quiet_look; `what` is the top. The list comes last: one that was resumed is not in it. */
static axo_status pause_look(axo_system *system, const void *what)
{
    const axo_ref *top = what;
    axo_status status = axo__tree_walk(system, *top, pause_stands, NULL);
    if (status != AXO_EGONE && axo__paused_find(&system->core.paused, *top) == AXO_PAUSES_MAX)
        return AXO_ENOENT;
    return status == AXO_EBUSY ? AXO_ETIMEDOUT : status;
}

/* ---- the calls ---- */

axo_status axo_pause(axo_ctx *ctx, axo_ref top)
{
    if (axo__caller(ctx) == NULL)
        return axo__no_caller();
    axo__local *local = &axo__self->local;
    axo_system *system = local->core->system;
    return pause_begin(system, local, pause_ref(system, top));
}

axo_status axo_resume(axo_ctx *ctx, axo_ref top)
{
    if (axo__caller(ctx) == NULL)
        return axo__no_caller();
    axo__local *local = &axo__self->local;
    return pause_end(local, pause_ref(local->core->system, top));
}

static axo_status pause_end_outside(axo_system *system, axo_ref ref)
{
    axo__door *door = axo__door_enter(&system->sched);
    axo_status status = pause_end(&door->local, ref);
    axo__door_leave(door);
    return status;
}

axo_status axo_system_resume(axo_system *system, axo_ref top)
{
    axo_status status = axo__system_check(system);
    return status == AXO_OK ? pause_end_outside(system, pause_ref(system, top)) : status;
}

/* A top that ends meanwhile is not left in the list. */
axo_status axo_system_pause(axo_system *system, axo_ref top, int64_t timeout_ns)
{
    axo_status status = axo__system_check(system);
    if (status != AXO_OK)
        return status;
    if (axo__self != NULL || axo__away != NULL || axo__aside != 0)
        return AXO_ECONTEXT;
    const axo_ref ref = pause_ref(system, top);
    axo__door *door = axo__door_enter(&system->sched);
    status = pause_begin(system, &door->local, ref);
    axo__door_leave(door);
    if (status != AXO_OK)
        return status;
    status = axo__quiet_until(system, pause_look, &ref, timeout_ns);
    if (status == AXO_EGONE)
        (void)pause_end_outside(system, ref);
    return status;
}
