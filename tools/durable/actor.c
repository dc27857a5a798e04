/* actor.c - the class of an actor that has a durable mailbox: the user's, with a few steps round
 * each callback.
 *
 * A message is delivered by the actor to itself, as a message of the runtime with the tag, the
 * sender and the payload that it was sent with, and bound to the instance: so the one of an
 * instance that has ended comes to nobody. It is known by the address of its payload. Only one is
 * on its way at a time, so order needs no more.
 *
 * A handler that has failed, by a status, a throw or a crash, has left `hand` behind: the next
 * callback, of this instance or of another, finds it there. For there to be one each handler asks
 * for a settle first, which behind a Resume comes by itself. */
#include <stdlib.h>
#include <string.h>

#include "store.h"

typedef struct actor_state {
    durable_life *life;
    axo_receive_fn *behaviours; /* of the instance's memory */
    uint32_t count;
    uint32_t room;
} actor_state;

/* Whose callback runs on this thread; it is left standing by a throw, and found false then. */
static _Thread_local struct {
    axo_ref self;
    durable_life *life;
    actor_state *state;
} actor_running;

static void actor_enter(axo_ctx *ctx, actor_state *me)
{
    actor_running.self = axo_self(ctx);
    actor_running.life = me->life;
    actor_running.state = me;
}

durable_life *durable_here(axo_ctx *ctx)
{
    axo_ref self = axo_self(ctx);
    if (axo_ref_is_none(self) || !axo_ref_equal(self, actor_running.self))
        return NULL;
    return actor_running.life;
}

static void *actor_user(actor_state *me)
{
    return (char *)me + me->life->state_at;
}

/* ---- what has become of the last message ---- */

/* life->mutex is held. */
static void actor_set_hand(durable_life *life, durable_block *block)
{
    life->hand = block;
    if (life->slot == NULL)
        return;
    if (block != NULL)
        atomic_store_explicit(&life->slot->id, life->id, memory_order_relaxed);
    atomic_store_explicit(&life->slot->number, block != NULL ? block->number : 0,
                          memory_order_release);
}

bool durable_look(durable_life *life)
{
    durable_block *block = life->hand;
    if (block == NULL)
        return false;
    actor_set_hand(life, NULL);
    block->fails++;
    (void)atomic_fetch_add(&life->store->failed, 1);
    if (block->fails >= life->fails_max) {
        block->cause = life->cause;
        block->cause.reason = AXO_STORE_FAILED;
        durable_list_push(&life->dead, block);
    } else {
        life->noted = block->number;
        life->noted_fails = block->fails;
        durable_list_insert(&life->pending, block);
    }
    memset(&life->cause, 0, sizeof life->cause);
    return true;
}

void durable_reset(durable_life *life)
{
    durable_block *block;
    (void)durable_look(life);
    while ((block = durable_list_pop(&life->held)) != NULL)
        durable_list_insert(&life->pending, block);
    if (life->sent != NULL)
        durable_list_insert(&life->pending, life->sent);
    life->sent = NULL;
    life->woken = false;
}

static void actor_look(axo_ctx *ctx, durable_life *life)
{
    (void)pthread_mutex_lock(&life->mutex);
    bool failed = durable_look(life);
    (void)pthread_mutex_unlock(&life->mutex);
    if (failed) {
        durable_journal_drop(life);
        (void)axo_want_settle(ctx);
    }
}

/* ---- the next message ---- */

static axo_status actor_deliver(axo_ctx *ctx, durable_block *block)
{
    axo_draft *draft;
    const axo_owned payload = {
        .payload = block->bytes, .size = block->size, .destroy = durable_block_free, .user = block};
    (void)atomic_fetch_add(&block->refs, 1);
    axo_status status = axo_message_owning(ctx, block->tag, &payload, &draft);
    if (status != AXO_OK) {
        durable_block_drop(block);
        return status;
    }
    (void)axo_draft_from(ctx, draft, block->sender);
    (void)axo_draft_bind(ctx, draft, axo_instance(ctx));
    status = axo_send_message(ctx, axo_self(ctx), draft);
    if (status != AXO_OK && status != AXO_EGONE)
        axo_message_discard(ctx, draft);
    return status == AXO_EGONE ? AXO_OK : status;
}

/* Without memory the next settle tries again. */
static void actor_pump(axo_ctx *ctx, durable_life *life)
{
    durable_block *block = NULL;
    if (durable_journal_waits(life))
        return;
    (void)pthread_mutex_lock(&life->mutex);
    if (life->sent == NULL && life->hand == NULL)
        block = life->sent = durable_list_pop(&life->pending);
    (void)pthread_mutex_unlock(&life->mutex);
    if (block == NULL || actor_deliver(ctx, block) == AXO_OK)
        return;
    (void)pthread_mutex_lock(&life->mutex);
    life->sent = NULL;
    durable_list_insert(&life->pending, block);
    (void)pthread_mutex_unlock(&life->mutex);
    (void)axo_want_settle(ctx);
}

/* ---- callbacks ---- */

static axo_status actor_construct(axo_ctx *ctx, void *state, const void *args)
{
    actor_state *me = state;
    memcpy(&me->life, args, sizeof(durable_life *));
    durable_life *life = me->life;
    actor_enter(ctx, me);
    (void)pthread_mutex_lock(&life->mutex);
    durable_reset(life);
    life->instance = axo_instance(ctx);
    (void)pthread_mutex_unlock(&life->mutex);
    durable_journal_begin(life);
    life->in_receive = false;
    axo_status status = durable_writer_work(ctx, life);
    if (status == AXO_OK)
        status = axo_want_settle(ctx);
    if (status != AXO_OK || life->of->construct == NULL)
        return status;
    return life->of->construct(ctx, actor_user(me), life->args);
}

static axo_status actor_pre_start(axo_ctx *ctx, void *state)
{
    actor_state *me = state;
    actor_enter(ctx, me);
    const axo_class *of = me->life->of;
    return of->pre_start != NULL ? of->pre_start(ctx, actor_user(me)) : AXO_OK;
}

static axo_status actor_post_stop(axo_ctx *ctx, void *state)
{
    actor_state *me = state;
    actor_enter(ctx, me);
    const axo_class *of = me->life->of;
    return of->post_stop != NULL ? of->post_stop(ctx, actor_user(me)) : AXO_OK;
}

/* What is known of the failure goes with the message, if it dies of it. */
static axo_status actor_pre_restart(axo_ctx *ctx, void *state, const axo_failure *failure,
                                    const axo_message *message)
{
    actor_state *me = state;
    const axo_class *of = me->life->of;
    actor_enter(ctx, me);
    me->life->cause.code = failure->code;
    (void)strncpy(me->life->cause.text, failure->text, sizeof me->life->cause.text - 1);
    if (of->pre_restart == NULL)
        return axo_default_pre_restart(ctx, state, failure, message);
    return of->pre_restart(ctx, actor_user(me), failure, message);
}

static axo_status actor_post_restart(axo_ctx *ctx, void *state, const axo_failure *failure)
{
    actor_state *me = state;
    const axo_class *of = me->life->of;
    actor_enter(ctx, me);
    if (of->post_restart == NULL)
        return axo_default_post_restart(ctx, state, failure);
    return of->post_restart(ctx, actor_user(me), failure);
}

/* The durable message that this is; NULL: it is another one. */
static durable_block *actor_find(durable_life *life, const axo_message *message)
{
    durable_block *block = NULL;
    (void)pthread_mutex_lock(&life->mutex);
    if (life->sent != NULL && life->sent->bytes == message->payload) {
        block = life->sent;
    } else if (message->payload != NULL) {
        for (block = life->held.first; block != NULL && block->bytes != message->payload;)
            block = block->next;
    }
    (void)pthread_mutex_unlock(&life->mutex);
    return block;
}

static void actor_take_in_hand(durable_life *life, durable_block *block)
{
    (void)pthread_mutex_lock(&life->mutex);
    if (life->sent == block)
        life->sent = NULL;
    else
        (void)durable_list_remove(&life->held, block);
    actor_set_hand(life, block);
    block->again = block->again || block->number <= life->queue->handed;
    if (block->number > life->queue->handed)
        life->queue->handed = block->number;
    (void)pthread_mutex_unlock(&life->mutex);
    memset(&life->cause, 0, sizeof life->cause);
}

/* Whether the handler has put its message aside: only then can its payload not be taken over, but
 * by a handler that has done so itself. */
static bool actor_has_stashed(axo_ctx *ctx, const axo_message *message)
{
    axo_owned owned;
    if (message->payload == NULL)
        return false;
    if (axo_message_take(ctx, message, &owned) != AXO_OK)
        return true;
    owned.destroy(owned.payload, owned.user);
    return false;
}

/* Behind a handler that was not known to fail. */
static void actor_finish(axo_ctx *ctx, durable_life *life, durable_block *block, axo_status status,
                         const axo_message *message)
{
    bool stashed = status == AXO_OK && block != NULL && actor_has_stashed(ctx, message);
    if (status != AXO_OK)
        durable_journal_drop(life);
    (void)pthread_mutex_lock(&life->mutex);
    actor_set_hand(life, NULL);
    life->unapplied += life->persisting.count;
    durable_list_append(&life->events, &life->persisting); /* I3: with its message */
    if (stashed)
        durable_list_push(&life->held, block);
    else if (block != NULL && status == AXO_OK)
        durable_list_push(&life->done, block);
    if (block != NULL && status == AXO_UNHANDLED) {
        block->cause = (durable_cause){.reason = AXO_STORE_UNHANDLED, .code = AXO_UNHANDLED};
        durable_list_push(&life->dead, block);
    }
    (void)pthread_mutex_unlock(&life->mutex);
}

static axo_status actor_handle(axo_ctx *ctx, actor_state *me, const axo_message *message)
{
    durable_life *life = me->life;
    durable_block *block = actor_find(life, message);
    axo_receive_fn receive = me->count > 0 ? me->behaviours[me->count - 1] : life->of->receive;
    /* What may not be stashed (a notice of time, an event) comes all the same. */
    if (durable_journal_waits(life)) {
        axo_status status = axo_stash(ctx);
        life->stashing = life->stashing || status == AXO_OK;
        if (status != AXO_EINVAL)
            return status;
    }
    if (block != NULL || life->journalled)
        (void)axo_want_settle(ctx);
    if (block != NULL)
        actor_take_in_hand(life, block);
    durable_journal_drop(life); /* of a handler that has failed before */
    life->in_receive = true;
    axo_status status = receive(ctx, actor_user(me), message);
    life->in_receive = false;
    if (status == AXO_OK || status == AXO_UNHANDLED)
        actor_finish(ctx, life, block, status, message);
    else
        life->cause.code = status;
    return status;
}

/* What callbacks end with: events are applied, the next message is sent. */
static axo_status actor_step(axo_ctx *ctx, actor_state *me)
{
    durable_life *life = me->life;
    axo_status status = AXO_OK;
    if (life->journalled)
        status = durable_journal_step(ctx, actor_user(me), life);
    if (status == AXO_OK)
        actor_pump(ctx, life);
    return status;
}

static axo_status actor_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    actor_state *me = state;
    durable_life *life = me->life;
    actor_enter(ctx, me);
    actor_look(ctx, life);
    life->in_receive = false;
    if (message->tag == DURABLE_WAKE) {
        (void)pthread_mutex_lock(&life->mutex);
        life->woken = false;
        (void)pthread_mutex_unlock(&life->mutex);
        (void)axo_want_settle(ctx);
        return actor_step(ctx, me);
    }
    axo_status status = actor_handle(ctx, me, message);
    if (status == AXO_OK || status == AXO_UNHANDLED) {
        axo_status step = actor_step(ctx, me);
        status = step == AXO_OK ? status : step;
    }
    return status;
}

static bool actor_has_work(durable_life *life)
{
    (void)pthread_mutex_lock(&life->mutex);
    uint64_t low = life->store->loaded_max / 2;
    bool work = life->done.first != NULL || life->dead.first != NULL ||
                life->events.first != NULL || life->snapshot != NULL || life->noted != 0 ||
                life->recover || (life->more && life->pending.count <= low) ||
                (life->reading && life->back.count <= low);
    (void)pthread_mutex_unlock(&life->mutex);
    return work;
}

/* The writer is told once a turn of all that the turn has done. */
static axo_status actor_settle(axo_ctx *ctx, void *state)
{
    actor_state *me = state;
    durable_life *life = me->life;
    actor_enter(ctx, me);
    actor_look(ctx, life);
    life->in_receive = false;
    axo_status status = actor_step(ctx, me);
    if (actor_has_work(life) && durable_writer_work(ctx, life) != AXO_OK)
        (void)axo_want_settle(ctx);
    if (status != AXO_OK || life->of->settle == NULL)
        return status;
    return life->of->settle(ctx, actor_user(me));
}

/* The user's state stands behind the wrapper's, on an address that is as round as its size. */
void durable_class_fill(axo_class *out, const axo_class *of)
{
    *out = *of;
    out->size = sizeof *out;
    out->state_size = durable_state_at(of) + of->state_size;
    out->construct = actor_construct;
    out->pre_start = actor_pre_start;
    out->receive = actor_receive;
    out->post_stop = actor_post_stop;
    out->pre_restart = actor_pre_restart;
    out->post_restart = actor_post_restart;
    out->settle = actor_settle;
}

size_t durable_state_at(const axo_class *of)
{
    size_t align = of->state_size & (0 - of->state_size);
    if (align > AXO_STATE_ALIGN)
        align = AXO_STATE_ALIGN;
    if (align < alignof(max_align_t))
        align = alignof(max_align_t);
    return (sizeof(actor_state) + align - 1) / align * align;
}

/* ---- what callbacks may ask ---- */

axo_status axo_durable_now(axo_ctx *ctx, axo_durable_given *out)
{
    if (out == NULL)
        return AXO_EINVAL;
    *out = (axo_durable_given){0};
    if (axo_ref_is_none(axo_self(ctx)))
        return AXO_ECONTEXT;
    durable_life *life = durable_here(ctx);
    if (life == NULL)
        return AXO_EINVAL;
    (void)pthread_mutex_lock(&life->mutex);
    const durable_block *block = life->in_receive ? life->hand : NULL;
    if (block != NULL)
        *out = (axo_durable_given){
            .number = block->number, .fails = block->fails, .again = block->again};
    (void)pthread_mutex_unlock(&life->mutex);
    return AXO_OK;
}

axo_status axo_durable_become(axo_ctx *ctx, axo_receive_fn receive)
{
    if (axo_ref_is_none(axo_self(ctx)))
        return AXO_ECONTEXT;
    if (receive == NULL || durable_here(ctx) == NULL)
        return AXO_EINVAL;
    actor_state *me = actor_running.state;
    if (me->count == me->room) {
        uint32_t room = me->room > 0 ? 2 * me->room : 4;
        axo_receive_fn *all = axo_alloc(ctx, room * sizeof *all);
        if (all == NULL)
            return AXO_ENOMEM;
        if (me->count > 0)
            memcpy(all, me->behaviours, me->count * sizeof *all);
        axo_free(ctx, me->behaviours);
        me->behaviours = all;
        me->room = room;
    }
    me->behaviours[me->count++] = receive;
    return AXO_OK;
}

axo_status axo_durable_unbecome(axo_ctx *ctx)
{
    if (axo_ref_is_none(axo_self(ctx)))
        return AXO_ECONTEXT;
    if (durable_here(ctx) == NULL)
        return AXO_EINVAL;
    if (actor_running.state->count > 0)
        actor_running.state->count--;
    return AXO_OK;
}
