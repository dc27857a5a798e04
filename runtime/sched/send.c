/* send.c - the way of a message to a mailbox; the doors for outside threads. */
#include "sched/worker.h"

axo_status axo__send(axo__sched *sched, axo__worker *worker, axo__local *local, axo_ref to,
                     axo__message *message, axo__message **dead)
{
    axo__cell *cell = axo__table_find(&sched->core->table, to);
    axo__a64_bump_owner(&local->count.sent);
    if (axo__unlikely(cell == NULL)) {
        if (worker != NULL)
            axo__dead_letter(sched->core, local, message, to, AXO_DEAD_GONE);
        else
            *dead = message;
        return AXO_EGONE;
    }
    axo__mpsc_push_any(&cell->users, &message->node);
    axo__sched_announce_user(worker, cell);
    return AXO_OK;
}

axo__door *axo__door_enter(axo__sched *sched)
{
    axo__door *door = &sched->doors[axo__os_cpu_index() % sched->door_count];
    axo__os_mutex_lock(&door->mutex);
    return door;
}

void axo__door_leave(axo__door *door)
{
    axo__os_mutex_unlock(&door->mutex);
}
