/* replace.c - the door for who gives actors another class: the steps of cell/replacing.h. */
#include <axo/axo.h>
#include <axo/world.h>

#include <string.h>

#include "base/aside.h"
#include "sched/bell.h"
#include "sched/ready.h"
#include "sched/send.h"
#include "system/options.h"
#include "system/quiet.h"
#include "system/system.h"

/* Slots that the walk looks at in one door. */
#define REPLACE_SLOTS 64u

enum { REPLACE_BIRTHS = 2, REPLACE_WALK, REPLACE_READERS }; /* the steps' numbers */

/* ---- grace periods ---- */

/* Somebody has to come by: the host of a manual system, a visitor of lent threads. */
static void replace_ask(axo_system *system, axo__replacing *what)
{
    axo__core *core = &system->core;
    what->period = axo__grace_ask(&core->grace);
    if (core->manual)
        axo__bell_ring(&system->sched.bell);
    if (core->lent)
        axo__core_ask(core);
}

/* ---- the walk: inside a door ---- */

static bool replace_has_old(axo__cell *cell, const axo__replacing *what)
{
    void *old = (void *)(uintptr_t)what->from;
    bool lives = axo__cell_has_life(cell); /* [T4] */
    if (axo__aptr_load_acquire(&axo__cell_cold(cell)->cls) != old) /* [C1] */
        return false;
    if (!lives)
        (void)axo__aptr_cas_acq_rel(&axo__cell_cold(cell)->cls, &old,
                                    (void *)(uintptr_t)what->to); /* [C1] */
    return lives;
}

static void replace_say(axo__cell *cell)
{
    axo__directives_replace(&cell->directives);
    axo__sched_announce_system(NULL, cell);
}

/* Says it to some that have not been told. */
static void replace_say_some(axo_system *system, axo__replacing *what, uint32_t slots)
{
    axo__door *door = axo__door_enter(&system->sched);
    for (uint32_t i = 0; i < REPLACE_SLOTS && what->said < slots; i++, what->said++) {
        axo__cell *cell = axo__table_in(&system->core.table, what->said);
        if (replace_has_old(cell, what))
            replace_say(cell);
    }
    axo__door_leave(door);
}

/* Goes on to the next that has the old class, and tells it again: it may have been busy with a
 * restart, or without memory. false: there is none among some. */
static bool replace_find(axo_system *system, axo__replacing *what, uint32_t slots)
{
    bool found = false;
    axo__door *door = axo__door_enter(&system->sched);
    for (uint32_t i = 0; i < REPLACE_SLOTS && what->slot < slots && !found; i++) {
        axo__cell *cell = axo__table_in(&system->core.table, what->slot);
        found = replace_has_old(cell, what);
        if (found)
            replace_say(cell);
        else
            what->slot++;
    }
    axo__door_leave(door);
    return found;
}

/* AXO_OK: no actor has the old class. */
static axo_status replace_walk(axo_system *system, axo__replacing *what)
{
    const uint32_t slots = axo__a32_load_acquire(&system->core.table.slots); /* [T2] */
    uint32_t starved = 1;
    while (what->said < slots)
        replace_say_some(system, what, slots);
    while (what->slot < slots) {
        if (!replace_find(system, what, slots))
            continue;
        bool hungry = axo__a32_cas_acq_rel(&what->starved, &starved, 0); /* [C2] */
        return hungry ? AXO_ENOMEM : AXO_ETIMEDOUT;
    }
    return AXO_OK;
}

/* ---- the steps ---- */

static axo__replacing *replace_current(const axo_system *system)
{
    return axo__aptr_load_acquire(&system->core.replacing); /* [C2] */
}

static void replace_end(axo_system *system, axo__replacing *what)
{
    axo__core *core = &system->core;
    axo__aptr_store_release(&core->replacing, NULL); /* [C2] */
    axo__limit_unhold(&core->limit);
    axo__grace_retire_block(&core->grace, &what->block);
}

/* An axo__quiet_look. In a system that has terminated every slot is back: behind a grace period, so
 * nobody has met an actor. */
static axo_status replace_look(axo_system *system, const void *none)
{
    (void)none;
    axo__replacing *what = replace_current(system);
    axo__grace *grace = &system->core.grace;
    if (axo__a32_load_acquire(&system->ended) != 0) { /* [Y2] */
        replace_end(system, what);
        return AXO_OK;
    }
    if (what->step == REPLACE_BIRTHS && axo__grace_has_passed(grace, what->period))
        what->step = REPLACE_WALK;
    if (what->step == REPLACE_WALK) {
        axo_status status = replace_walk(system, what);
        if (status != AXO_OK)
            return status;
        replace_ask(system, what);
        what->step = REPLACE_READERS;
    }
    if (what->step != REPLACE_READERS || !axo__grace_has_passed(grace, what->period))
        return AXO_ETIMEDOUT;
    replace_end(system, what);
    return AXO_OK;
}

static axo_status replace_begin(axo_system *system, const axo_replacement *given)
{
    axo__core *core = &system->core;
    axo__replacing *what =
        axo__heap_alloc(&core->heap, sizeof *what, AXO__CACHE_LINE, AXO__SITE_WORKERS);
    if (what == NULL)
        return AXO_ENOMEM;
    memset((void *)what, 0, sizeof *what);
    what->block.size = sizeof *what;
    what->from = given->from;
    what->to = given->to;
    what->migrate = given->migrate;
    what->user = given->user;
    what->step = REPLACE_BIRTHS;
    axo__aptr_store_release(&core->replacing, what); /* [C2] */
    axo__limit_hold(&core->limit);
    replace_ask(system, what);
    return AXO_OK;
}

/* ---- the call ---- */

static bool replace_is(const axo__replacing *what, const axo_replacement *given)
{
    return what->from == given->from && what->to == given->to &&
           what->migrate == given->migrate && what->user == given->user;
}

/* Children of an actor whose class has a pre_restart are made so that they can be kept. */
static axo_status replace_check(const axo_system *system, const axo_replacement *given)
{
    const axo_class *from = given->from;
    const axo_class *to = given->to;
    if (from == NULL || to == NULL || from == to)
        return AXO_EINVAL;
    axo_status status = axo__class_check(from);
    if (status == AXO_OK)
        status = axo__class_check(to);
    if (status != AXO_OK)
        return status;
    for (uint32_t i = 0; i < 3; i++) {
        const axo_class *own = axo__cell_class(system->cells[i]);
        if (from == own || to == own)
            return AXO_EINVAL;
    }
    if ((given->migrate == NULL && from->state_size != to->state_size) ||
        (to->pre_restart != NULL && from->pre_restart == NULL))
        return AXO_EINVAL;
    return AXO_OK;
}

static axo_status replace_run(axo_system *system, const axo_replacement *given, int64_t timeout_ns)
{
    const axo__replacing *what = replace_current(system);
    if (what != NULL && !replace_is(what, given))
        return AXO_EBUSY;
    axo_status status = what == NULL ? replace_begin(system, given) : AXO_OK;
    return status == AXO_OK ? axo__quiet_until(system, replace_look, NULL, timeout_ns) : status;
}

axo_status axo_class_replace(axo_system *system, const axo_replacement *what, int64_t timeout_ns)
{
    axo_replacement given;
    uint32_t free = 0;
    axo_status status = axo__system_check(system);
    if (status != AXO_OK || what == NULL)
        return status != AXO_OK ? status : AXO_EINVAL;
    status = axo__struct_read(what, &given, sizeof given);
    if (status == AXO_OK)
        status = replace_check(system, &given);
    if (status != AXO_OK)
        return status;
    if (axo__self != NULL || axo__away != NULL || axo__aside != 0)
        return AXO_ECONTEXT;
    if (!axo__a32_cas_acq_rel(&system->replaces, &free, 1)) /* [Y4] */
        return AXO_EBUSY;
    status = replace_run(system, &given, timeout_ns);
    axo__a32_store_release(&system->replaces, 0); /* [Y4] */
    return status;
}
