/* group_many.c - one message to each of many actors, through a group.
 *
 * The call is a job of the default pool (sched/crew.h): whoever takes a portion of the receivers
 * sends to them, a worker into its own queue. So the receivers begin where they are to run, and
 * nobody waits for one thread to have sent to all.
 *
 * All messages have one payload, a copy in the call's block, and end it as messages of a group do;
 * the block goes with the last of them. Each portion counts its own messages, on a line of its own,
 * and the group counts portions: a word that all workers wrote with each message would keep them
 * from running side by side.
 *
 * Orders
 *   [N4] add acq_rel, count   as in group.h
 *   [N6] add acq_rel, left    what a handler wrote before its message ended is seen by who takes
 *                             the portion out of the group; behind that [N4] of group.c
 *   [N7] add acq_rel, users   what receivers have read is read before it is freed
 */
#include "system/group_many.h"

#include <string.h>

#include "base/aside.h"
#include "sched/crew.h"
#include "sched/lent.h"
#include "sched/send.h"
#include "system/block.h"

/* The receivers of one portion. */
typedef struct crowd_portion {
    axo__group_many *many;
    axo__a32 left;     /* messages that count */
    uint32_t accepted; /* these two: of who sends them, until the job is done */
    axo_status first;  /* the first status that was not AXO_OK */
    char rest[AXO__CACHE_LINE - sizeof(void *) - 3 * sizeof(uint32_t)];
} crowd_portion;
AXO_STATIC_ASSERT(sizeof(crowd_portion) == AXO__CACHE_LINE, "a line each");

/* The portions follow, and the payload behind them. */
struct axo__group_many {
    axo_group *group;
    axo__group_many *next; /* these two: guarded by the group's mutex */
    axo__group_many **at;
    size_t block;          /* bytes, with this */
    uint32_t portions;
    axo__a32 users;        /* portions that count, and the call */
    char rest[AXO__CACHE_LINE - 4 * sizeof(void *) - 2 * sizeof(uint32_t)];
};
AXO_STATIC_ASSERT(sizeof(axo__group_many) % _Alignof(max_align_t) == 0, "payloads are aligned");

typedef struct crowd_call {
    axo__crew_job job; /* first */
    axo__group_many *many;
    const axo_ref *to;
    uint32_t count;
    uint32_t tag;
    uint32_t size;
} crowd_call;

/* ---- what counts ---- */

static crowd_portion *crowd_portions(const axo__group_many *many)
{
    return (crowd_portion *)(void *)((char *)(uintptr_t)many + sizeof *many);
}

static void *crowd_payload(const axo__group_many *many)
{
    return crowd_portions(many) + many->portions;
}

static void crowd_release(axo__group_many *many)
{
    axo_group *group = many->group;
    if (axo__a32_add_acq_rel(&many->users, UINT32_MAX) != 1) /* [N7] */
        return;
    axo__os_mutex_lock(&group->mutex);
    *many->at = many->next;
    if (many->next != NULL)
        many->next->at = many->at;
    axo__os_mutex_unlock(&group->mutex);
    axo__block_give(group->system, many, many->block);
}

/* A message's life has ended, or it was refused. The block goes before the portion leaves the
 * group: when nothing counts, no memory is held for it, but by a call that has not returned. */
static void crowd_end(void *payload, void *user)
{
    crowd_portion *portion = user;
    axo__group_many *many = portion->many;
    axo_group *group = many->group;
    (void)payload;
    if (axo__a32_add_acq_rel(&portion->left, UINT32_MAX) != 1) /* [N6] */
        return;
    crowd_release(many);
    axo__group_leave(group);
}

/* A portion that has just come to 0 is one in the group's count until it has left. */
uint64_t axo__group_more_locked(const axo_group *group)
{
    uint64_t more = 0;
    for (const axo__group_many *many = group->manys; many != NULL; many = many->next) {
        for (uint32_t i = 0; i < many->portions; i++) {
            uint32_t left = axo__a32_load_relaxed(&crowd_portions(many)[i].left);
            more += left > 0 ? left - 1 : 0;
        }
    }
    return more;
}

static uint32_t crowd_from(const crowd_call *call, uint32_t portion)
{
    uint64_t from = (uint64_t)portion * AXO__PORTION;
    return from < call->count ? (uint32_t)from : call->count;
}

/* The block of a call; from here on all its messages count. NULL: no memory. */
static axo__group_many *crowd_make(const crowd_call *call, axo_group *group, const void *payload)
{
    uint32_t portions = (call->count - 1) / AXO__PORTION + 1;
    size_t block = sizeof(axo__group_many) + portions * sizeof(crowd_portion) + call->size;
    axo__group_many *many = axo__block_take(group->system, block);
    if (many == NULL)
        return NULL;
    memset(many, 0, block - call->size);
    many->group = group;
    many->block = block;
    many->portions = portions;
    axo__a32_store_relaxed(&many->users, portions + 1);
    for (uint32_t i = 0; i < portions; i++) {
        crowd_portion *portion = &crowd_portions(many)[i];
        portion->many = many;
        axo__a32_store_relaxed(&portion->left, crowd_from(call, i + 1) - crowd_from(call, i));
    }
    if (call->size > 0)
        memcpy(crowd_payload(many), payload, call->size);
    axo__os_mutex_lock(&group->mutex);
    many->next = group->manys;
    many->at = &group->manys;
    if (many->next != NULL)
        many->next->at = &many->next;
    group->manys = many;
    group->users++;
    (void)axo__a64_add_acq_rel(&group->count, portions); /* [N4] */
    axo__os_mutex_unlock(&group->mutex);
    return many;
}

/* ---- sending ---- */

/* A mailbox with a bound may have a running sender wait for room, as no send through a group
 * does. */
static bool crowd_is_outside(const axo__worker *worker, axo_ref to)
{
    if (worker == NULL)
        return true;
    if (worker->current == NULL)
        return false;
    const axo__cell *cell = axo__table_find(&worker->local.core->table, to);
    return cell != NULL && cell->bounded;
}

static axo_status crowd_send_one(const crowd_call *call, axo__worker *worker, axo_ref to,
                                crowd_portion *portion)
{
    void *payload = crowd_payload(call->many);
    if (crowd_is_outside(worker, to))
        return axo_system_send_owned(call->many->group->system, to, call->tag, payload, call->size,
                                     crowd_end, portion);
    axo__local *local = &worker->local;
    axo__message *message =
        axo__message_make(&local->cache, call->tag, axo_ref_none(), sizeof(void *));
    if (message == NULL)
        return AXO_ENOMEM;
    axo__message_own(message, payload, call->size, crowd_end, portion);
    return axo__send(worker->sched, worker, local, to, message, NULL);
}

static void crowd_run(axo__crew_job *job, axo__worker *worker, uint32_t index)
{
    crowd_call *call = (crowd_call *)job;
    crowd_portion *portion = &crowd_portions(call->many)[index];
    for (uint32_t i = crowd_from(call, index); i < crowd_from(call, index + 1); i++) {
        axo_status status = crowd_send_one(call, worker, call->to[i], portion);
        portion->accepted += status == AXO_OK;
        if (portion->first == AXO_OK)
            portion->first = status;
        if (status != AXO_OK && status != AXO_EGONE)
            crowd_end(NULL, portion);
    }
}

/* Workers of a host or a manual system come when the program sends them, and a worker that is alone
 * is the caller or has to be woken: neither is a crew. */
static bool crowd_is_shared(const crowd_call *call, const axo__sched *sched,
                            const axo__worker *self)
{
    return call->many->portions > 1 && (sched->kind->manned || sched->kind->lent) &&
           (self == NULL || sched->worker_count > 1);
}

/* Sends all. A callback on a worker of the pool sends from there. A thread outside enters a slot
 * for it, or leaves it to the workers, as long as they take portions; in a callback it does not
 * wait for them. */
static void crowd_spread(crowd_call *call, axo_system *system)
{
    axo__sched *sched = &system->sched;
    axo__worker *self = axo__self_in(&system->core);
    if (self != NULL && (self->own != sched || self->current == NULL || axo__aside > 0))
        self = NULL;
    bool shared = crowd_is_shared(call, sched, self) && axo__crew_open(sched, &call->job);
    if (axo__self == NULL && sched->kind->lent)
        (void)axo__lent_crew(sched, &call->job); /* no slot is free: they are at work */
    if (axo__self == NULL && shared)
        axo__crew_leave_to(sched, &call->job);
    while (axo__crew_help(sched, &call->job, self)) {
    }
    axo__crew_close(&call->job);
}

static axo_status crowd_status(const crowd_call *call, uint32_t *accepted)
{
    axo_status first = AXO_OK;
    for (uint32_t i = 0; i < call->many->portions; i++) {
        const crowd_portion *portion = &crowd_portions(call->many)[i];
        if (accepted != NULL)
            *accepted += portion->accepted;
        if (first == AXO_OK)
            first = portion->first;
    }
    return first;
}

/* The program's thread must not end before all is sent: others use what is on its stack. */
static axo_status crowd_send(crowd_call *call, axo_group *group, const void *payload,
                            uint32_t *accepted)
{
    call->many = crowd_make(call, group, payload);
    if (call->many == NULL)
        return AXO_ENOMEM;
    int before = axo__os_cancel_hold();
    axo__crew_init(&call->job, call->many->portions, crowd_run);
    crowd_spread(call, group->system);
    axo__os_cancel_let(before);
    axo_status status = crowd_status(call, accepted);
    crowd_release(call->many);
    axo__os_mutex_lock(&group->mutex);
    axo__group_drop(group);
    return status;
}

axo_status axo_group_send_many(axo_group *group, const axo_ref *to, uint32_t count, uint32_t tag,
                               const void *payload, size_t size, uint32_t *accepted)
{
    crowd_call call = {.to = to, .count = count, .tag = tag, .size = (uint32_t)size};
    axo_status status = AXO_OK;
    if (accepted != NULL)
        *accepted = 0;
    if (to == NULL && count > 0)
        return AXO_EINVAL;
    for (uint32_t i = 0; i < count && status == AXO_OK; i++)
        status = axo_ref_is_none(to[i]) ? AXO_EINVAL : AXO_OK;
    const axo_ref some = {1};
    if (status == AXO_OK)
        status = axo__group_check(group, count > 0 ? to[0] : some, tag, payload, size);
    if (status != AXO_OK || count == 0)
        return status;
    return crowd_send(&call, group, payload, accepted);
}
