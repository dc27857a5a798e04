/* account.c - what an actor has outstanding: see account.h. */
#include "sched/account.h"

#include <axo/ask.h>
#include <axo/demand.h>

#include "sched/ready.h"

AXO_STATIC_ASSERT(AXO_DEMAND_MAX == AXO__DEMAND_MAX, "the bounds are those of the sums");

/* Bytes that may be held: with all that may be owed, and refused, the sum is one of 64 bits. */
#define ACCOUNT_HELD_MAX (UINT64_C(1) << 62)

/* ---- birth and end ---- */

bool axo__account_begin(axo__local *local, const axo_props *props, axo__cell *cell)
{
    if (axo__likely(props->outstanding_bytes == 0 && props->outstanding_max == 0))
        return true;
    axo__extra *extra = axo__extra_take(local, cell);
    axo__account *it = extra != NULL ? axo__pool_alloc(&local->cache, sizeof *it) : NULL;
    if (it == NULL)
        return false;
    *it = (axo__account){.notice = NULL};
    axo__demand_init(&it->demand, props->outstanding_bytes, props->outstanding_max,
                     props->outstanding_answer);
    extra->account = it;
    return true;
}

void axo__account_end(axo__worker *worker, axo__account *it)
{
    if (it->notice != NULL)
        axo__message_free(&worker->local.cache, it->notice);
    it->notice = NULL;
    axo__account_clear(it);
}

/* ---- the notice ---- */

/* Something is refused: the notice is made here, so that to send it takes no memory. */
static bool account_refuse(axo__worker *worker, axo__account *it)
{
    if (it->notice != NULL)
        return true;
    it->notice = axo__message_make(&worker->local.cache, AXO_DEMAND_ROOM, axo_ref_none(), 0);
    if (it->notice == NULL)
        return false;
    it->notice->flags = AXO__MESSAGE_SIGNAL;
    return true;
}

/* Less is outstanding than before. */
static void account_tell(axo__worker *worker, axo__cell *cell, axo__account *it)
{
    const axo__demand *demand = &it->demand;
    axo__demand_weigh(&it->demand, it->held);
    axo__message *notice = it->notice;
    if (notice == NULL || !axo__demand_may_owe(demand, it->held, axo__demand_next(demand)))
        return;
    it->notice = NULL;
    it->demand.wanted = 0;
    axo__message_bind(notice, axo__cell_instance(cell));
    axo__sched_accept(worker, cell, notice);
}

/* ---- what is outstanding ---- */

axo_status axo__account_owe(axo__worker *worker, axo__account *it, uint32_t answers)
{
    if (answers > UINT32_MAX - it->demand.owed)
        return AXO_EINVAL;
    if (axo__unlikely(!axo__demand_may_owe(&it->demand, it->held, answers)) &&
        !account_refuse(worker, it))
        return AXO_ENOMEM;
    return axo__demand_owe(&it->demand, it->held, answers) ? AXO_OK : AXO_EFULL;
}

axo_status axo__account_answered(axo__worker *worker, axo__cell *cell, axo__account *it,
                                 size_t bytes)
{
    if (it->demand.owed == 0)
        return AXO_EINVAL;
    if (bytes > AXO_DEMAND_MAX || it->held > ACCOUNT_HELD_MAX - bytes)
        return AXO_ETOOBIG;
    it->held += bytes;
    axo__demand_answered(&it->demand, it->held, bytes);
    account_tell(worker, cell, it);
    return AXO_OK;
}

axo_status axo__account_forgive(axo__worker *worker, axo__cell *cell, axo__account *it,
                                uint32_t answers)
{
    if (answers > it->demand.owed)
        return AXO_EINVAL;
    it->demand.owed -= answers;
    if (it->demand.wanted == 0)
        it->demand.over = false; /* nobody was refused: what was never asked for closes nothing */
    account_tell(worker, cell, it);
    return AXO_OK;
}

axo_status axo__account_hold(axo__account *it, size_t bytes)
{
    if (bytes > AXO_DEMAND_MAX || it->held > ACCOUNT_HELD_MAX - bytes)
        return AXO_ETOOBIG;
    it->held += bytes;
    axo__demand_weigh(&it->demand, it->held);
    return AXO_OK;
}

axo_status axo__account_drop(axo__worker *worker, axo__cell *cell, axo__account *it,
                             size_t bytes)
{
    if (bytes > it->held)
        return AXO_EINVAL;
    it->held -= bytes;
    account_tell(worker, cell, it);
    return AXO_OK;
}

/* ---- asks ---- */

/* Bytes of the answer as it was sent; that of a stranger's making may be shorter than its head. */
static size_t account_size(const axo_message *answer)
{
    const axo_answer *head = AXO_PAYLOAD(answer, axo_answer);
    size_t size = answer->size >= sizeof *head ? head->size : answer->size;
    return size < AXO_DEMAND_MAX ? size : AXO_DEMAND_MAX;
}

/* A stranger may have made one that nobody owes. */
void axo__account_comes(axo__worker *worker, axo__cell *cell, axo__account *it,
                        axo__message *message)
{
    bool answer = message->pub.tag == AXO_ASK_ANSWER;
    if ((!answer && message->pub.tag != AXO_ASK_FAILED) ||
        (message->flags & AXO__MESSAGE_PAID) != 0 || it->demand.owed == 0)
        return;
    message->flags |= AXO__MESSAGE_PAID;
    if (answer)
        axo__demand_answered(&it->demand, it->held, account_size(&message->pub));
    else
        it->demand.owed--;
    account_tell(worker, cell, it);
}
