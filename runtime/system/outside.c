/* outside.c - a send by a thread of the program, and what a node sends. */
#include "system/outside.h"

#include "cell/event.h"
#include "cell/peers.h"
#include "sched/send.h"
#include "system/filled.h"

static void outside_free_block(axo_system *system, axo__message *message)
{
    axo__door *door = axo__door_enter(&system->sched);
    axo__message_free(&door->local.cache, message);
    axo__door_leave(door);
}

static void outside_path(axo_system *system, axo_ref ref, char *out, size_t size)
{
    axo__door *door = axo__door_enter(&system->sched);
    const axo__cell *cell = axo__table_find(&system->core.table, ref);
    if (cell != NULL)
        (void)axo__core_path(&system->core, cell, out, size);
    axo__door_leave(door);
}

/* Tells and frees dead letters outside the door: their observer and their destructors are user
 * code. Each letter needs the door twice, for the counter and for the block. */
static void outside_bury(axo_system *system, axo__message *message, axo_ref to, axo_status status)
{
    char path[AXO_EVENT_PATH_MAX] = "";
    if (message != NULL && status != AXO_EGONE)
        outside_path(system, to, path, sizeof path);
    while (message != NULL) {
        axo__message *next = axo__message_next(message);
        axo__door *door = axo__door_enter(&system->sched);
        axo__a64_bump_owner(&door->local.count.dead); /* before the observer, which sees it */
        axo__door_leave(door);
        axo__dead_letter_tell(&system->core.outside, message, to,
                              status == AXO_EGONE ? AXO_DEAD_GONE : AXO_DEAD_OVERFLOW, path, NULL);
        int before = axo__os_cancel_hold();
        axo__message_free_payload(message);
        axo__os_cancel_let(before);
        outside_free_block(system, message);
        message = next;
    }
}

/* A message for an actor of another node: its carrier is the program's, so no door is held. What is
 * refused is the caller's, with a payload that he has handed over. */
static axo_status outside_carry(axo_system *system, axo__message *message, axo_ref to)
{
    axo_status status = axo__peers_send(&system->core, message, to);
    if (status == AXO_OK || status == AXO_EGONE) {
        axo__door *door = axo__door_enter(&system->sched);
        axo__a64_bump_owner(&door->local.count.sent);
        if (status == AXO_OK)
            axo__a64_bump_owner(&door->local.count.handled);
        axo__door_leave(door);
    }
    if (status == AXO_EGONE) {
        message->node.next = NULL;
        outside_bury(system, message, to, status);
        return status;
    }
    if (status == AXO_OK || axo__message_is_walled(message)) {
        int before = axo__os_cancel_hold();
        axo__message_free_payload(message);
        axo__os_cancel_let(before);
    }
    message->flags &= ~(uint32_t)AXO__MESSAGE_OWNED;
    outside_free_block(system, message);
    return status;
}

/* Whether the carrier takes a message that nobody here gets, and that was counted as sent. */
static bool outside_takes(axo_system *system, axo__message *message, axo_ref to)
{
    if (axo__peers_send(&system->core, message, to) != AXO_OK)
        return false;
    axo__door *door = axo__door_enter(&system->sched);
    axo__a64_bump_owner(&door->local.count.handled);
    axo__door_leave(door);
    int before = axo__os_cancel_hold();
    axo__message_free_payload(message);
    axo__os_cancel_let(before);
    outside_free_block(system, message);
    return true;
}

/* Where walls stand round the payloads of every class, those from outside have them too. */
static axo__message *outside_make(axo__cache *cache, const axo__outside *what, bool owned)
{
    const axo__walls *walls = cache->pool->walls;
    bool walled = walls != NULL && walls->name[0] == 0 && (walls->kinds & AXO__WALLED_KINDS) != 0;
    if (walled && !owned && what->size > 0)
        return axo__walled_make(cache, what->tag, what->from, what->size, what->trace);
    return axo__message_make_traced(cache, what->tag, what->from,
                                    owned ? sizeof(void *) : what->size, what->trace);
}

axo_status axo__outside_send(axo_system *system, const axo__outside *what)
{
    bool owned = (what->flags & AXO__MESSAGE_OWNED) != 0;
    bool far = axo__ref_node(what->to) != 0;
    axo__message *dead = NULL;
    axo_status status = axo__system_check(system);
    if (status != AXO_OK)
        return status;
    status = AXO_ENOMEM;
    axo__door *door = axo__door_enter(&system->sched);
    if (axo__unlikely(what->peer != NULL && axo_ref_is_none(axo__peer_stand_in(what->peer)))) {
        axo__door_leave(door);
        return AXO_ENOENT;
    }
    axo__message *message = outside_make(&door->local.cache, what, owned);
    if (message != NULL) {
        if (owned)
            axo__message_own(message, (void *)(uintptr_t)what->payload, what->size, what->destroy,
                             what->user);
        else
            axo__filled_copy(message, what->payload, what->size);
        message->flags |= what->flags;
        /* `dead` collects the letters of this send: the message itself if its receiver has ended,
         * and what a bounded mailbox dropped for it. */
        if (axo__likely(!far))
            status = axo__send(&system->sched, NULL, &door->local, what->to, message, &dead);
    }
    axo__door_leave(door);
    if (axo__unlikely(far && message != NULL))
        return outside_carry(system, message, what->to);
    if (status == AXO_EGONE && outside_takes(system, dead, what->to))
        return AXO_OK;
    outside_bury(system, dead, what->to, status);
    return status;
}
