/* call.c - a thread that is no worker waits for an actor: the meeting place of the two.
 *
 * The block reaches the actor in a message, not in its arguments: a message that is never handled
 * is freed by its destructor (call_brought), so a call closes even if its actor never runs. */
#include "pattern/call.h"

#include <axo/event.h>
#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/border.h"
#include "pattern/own.h"

#define CALL_SECOND INT64_C(1000000000)

axo_status axo__call_allowed(axo_system *system)
{
    /* axo_system_wait with no time answers all questions: AXO_ETIMEDOUT is a system that lives,
     * AXO_OK one that has terminated, AXO_ECONTEXT a worker. */
    axo_status status = axo_system_wait(system, 0, NULL);
    return status == AXO_ETIMEDOUT ? AXO_OK : status == AXO_OK ? AXO_ESTOPPING : status;
}

/* ---- the block ------------------------------------------------------------------------------ */

static bool call_init(axo__call *call)
{
    pthread_condattr_t attr;
    if (pthread_mutex_init(&call->mutex, NULL) != 0)
        return false;
    if (pthread_condattr_init(&attr) != 0)
        goto fail_mutex;
    /* The deadline must not move when the wall clock is set. */
    int error = pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    if (error == 0)
        error = pthread_cond_init(&call->change, &attr);
    (void)pthread_condattr_destroy(&attr);
    if (error == 0)
        return true;
fail_mutex:
    (void)pthread_mutex_destroy(&call->mutex);
    return false;
}

void axo__call_take_failure(const axo__call *call, axo_verdict *out)
{
    out->code = call->failed.code;
    out->has_status = call->failed.has_status;
    memcpy(out->text, call->failed.text, sizeof out->text);
}

/* A handed-over payload goes to its destructor, a copied one back to the system. */
void axo__call_free_answer(axo_system *system, axo_message *answer, axo_owned *owned)
{
    if (owned->payload == NULL) {
        axo_system_free(system, (void *)(uintptr_t)answer->payload, answer->size);
    } else if (owned->destroy != NULL) {
        AXO_BORDER();
        owned->destroy(owned->payload, owned->user);
    }
    answer->payload = NULL;
    memset(owned, 0, sizeof *owned);
}

void axo__call_take_answer(axo__call *call, axo_asked *out)
{
    out->message = call->answer;
    out->owned = call->owned;
    call->answer.payload = NULL;
    memset(&call->owned, 0, sizeof call->owned);
}

/* The last owner frees the block: no other thread can reach the mutex any more. */
static void call_free(axo__call *call)
{
    axo_system *system = call->system;
    axo__call_free_answer(system, &call->answer, &call->owned);
    (void)pthread_cond_destroy(&call->change);
    (void)pthread_mutex_destroy(&call->mutex);
    axo_system_free(system, call, sizeof *call);
}

static struct timespec call_deadline(int64_t timeout_ns)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until); /* cannot fail with these arguments */
    int64_t seconds = timeout_ns / CALL_SECOND;
    until.tv_nsec += (long)(timeout_ns % CALL_SECOND);
    until.tv_sec += (time_t)seconds + until.tv_nsec / CALL_SECOND;
    until.tv_nsec %= CALL_SECOND;
    return until;
}

/* The instance becomes an owner: between this and call_leave the block cannot go away under it. */
static void call_take(axo__call *call)
{
    (void)pthread_mutex_lock(&call->mutex);
    call->taken = true;
    call->users++;
    (void)pthread_mutex_unlock(&call->mutex);
}

void axo__call_drop(axo__call *call)
{
    (void)pthread_mutex_lock(&call->mutex);
    /* The count is read under the mutex, and the block freed after the unlock: only the owner that
     * reads 0 gets there. */
    uint32_t left = --call->users;
    (void)pthread_mutex_unlock(&call->mutex);
    if (left == 0)
        call_free(call);
}

/* The only writer of `closed`. One thread waits at most, so a signal is enough. */
static void call_close_locked(axo__call *call, axo_status status)
{
    call->closed = true;
    call->status = status;
    call->closed_ns = axo__wait_thread_now();
    (void)pthread_cond_signal(&call->change);
}

/* Closes the call; false: it was closed already, and the earlier status stands. */
static bool call_close(axo__call *call, axo_status status)
{
    (void)pthread_mutex_lock(&call->mutex);
    bool mine = !call->closed;
    if (mine)
        call_close_locked(call, status);
    (void)pthread_mutex_unlock(&call->mutex);
    return mine;
}

/* The clean-up of the actor's instance (axo_defer): however it ends, a thread that still waits is
 * told AXO_ESTOPPING, and the instance's share of the block is given up. */
static void call_leave(void *arg)
{
    axo__call *call = arg;
    (void)call_close(call, AXO_ESTOPPING);
    axo__call_drop(call);
}

/* ---- the actor ------------------------------------------------------------------------------ */

typedef struct call_state {
    axo__call *call;     /* NULL until the message has brought it */
    /* the block's address, which the message must show; by then the block may be freed */
    const void *brought;
} call_state;

static void call_brought(void *payload, void *user);

static axo_status call_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    ((call_state *)state)->brought = args;
    return AXO_OK;
}

/* The call is decided: its actor has nothing left to do. */
static axo_status call_over(axo_ctx *ctx, call_state *self, axo_status status)
{
    (void)call_close(self->call, status);
    return axo_stop_self(ctx);
}

/* Makes the instance an owner. The message is still an owner, so the block lives; the clean-up is
 * registered first, because it is what gives the new share up again. */
static axo_status call_begin(axo_ctx *ctx, call_state *self, axo__call *call)
{
    self->call = call;
    if (axo_defer(ctx, call_leave, call) != AXO_OK)
        return call_over(ctx, self, AXO_ENOMEM);
    call_take(call);
    axo_status status = axo__wait_begin(ctx, &call->wait);
    return status == AXO_OK ? AXO_OK : call_over(ctx, self, status);
}

/* Before the block has come the actor takes no other message. Only the message that it was made to
 * expect is believed (own.h): a forged tag must not make it follow a pointer. */
static axo_status call_opened(axo_ctx *ctx, call_state *self, const axo_message *message)
{
    axo__call *call = (axo__call *)(uintptr_t)message->payload;
    if (message->tag != AXO__TAG_CALL_OPEN ||
        !axo__own_take(ctx, message, self->brought, call_brought))
        return AXO_UNHANDLED;
    axo_status status = call_begin(ctx, self, call);
    call_brought(call, NULL);
    return status;
}

/* Moves or copies the answer into the block, under the mutex, so the waiting thread finds it
 * whole. */
static axo_status call_answer_locked(axo_ctx *ctx, axo__call *call, const axo_message *message)
{
    void *copy = NULL;
    uint32_t size = message->size; /* axo_message_take clears the message's size */
    if (axo_message_take(ctx, message, &call->owned) == AXO_OK) {
        copy = call->owned.payload;
    } else if (message->size > 0) {
        copy = axo_system_alloc(call->system, message->size);
        if (copy == NULL)
            return AXO_ENOMEM;
        memcpy(copy, message->payload, message->size);
    }
    call->answer = (axo_message){.tag = message->tag, .size = size,
                                 .sender = message->sender, .payload = copy};
    return AXO_OK;
}

/* The first answer closes the call. A later one goes through the actor's own mailbox into the dead
 * letters: the actor stops, and whatever waits there is reported. */
static axo_status call_answer(axo_ctx *ctx, call_state *self, const axo_message *message)
{
    axo__call *call = self->call;
    (void)pthread_mutex_lock(&call->mutex);
    bool late = call->closed;
    if (!late)
        call_close_locked(call, call_answer_locked(ctx, call, message));
    (void)pthread_mutex_unlock(&call->mutex);
    if (late && axo_forward(ctx, message, axo_self(ctx)) != AXO_OK)
        (void)axo_drop(ctx, message, axo_self(ctx), "an answer that came too late");
    return axo_stop_self(ctx);
}

/* The target has failed under the request. */
static axo_status call_failed(axo_ctx *ctx, call_state *self, const axo_message *message)
{
    axo__call *call = self->call;
    (void)pthread_mutex_lock(&call->mutex);
    if (!call->closed) {
        axo__wait_failed(&call->failed, message);
        call_close_locked(call, AXO_EFAILED);
    }
    (void)pthread_mutex_unlock(&call->mutex);
    return axo_stop_self(ctx);
}

static axo_status call_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    call_state *self = state;
    if (self->call == NULL)
        return call_opened(ctx, self, message);
    /* For a graceful stop the target's end is the wish, for an ask it is AXO_EGONE; a stop takes no
     * answer. */
    bool stop = self->call->wait.kind == AXO__WAIT_STOP;
    if (message->tag == AXO_TERMINATED)
        return call_over(ctx, self, stop ? AXO_OK : AXO_EGONE);
    if (!stop && message->tag == AXO_REQUEST_FAILED)
        return call_failed(ctx, self, message);
    if (stop || message->tag == AXO__TAG_CALL_OPEN || message->tag >= AXO_TAG_RESERVED)
        return AXO_UNHANDLED;
    return call_answer(ctx, self, message);
}

/* The post_restart: the old instance's clean-up has closed the call, so the new instance has
 * nothing to wait for. */
static axo_status call_again(axo_ctx *ctx, void *state, const axo_failure *failure)
{
    (void)state;
    (void)failure;
    return axo_stop_self(ctx);
}

/* The destructor of the message that brings the block: the message was handled, or the actor ended
 * before it could be. In the second case the thread is told AXO_ESTOPPING. */
static void call_brought(void *payload, void *user)
{
    (void)user;
    axo__call *call = payload;
    (void)pthread_mutex_lock(&call->mutex);
    bool taken = call->taken;
    (void)pthread_mutex_unlock(&call->mutex);
    if (!taken)
        (void)call_close(call, AXO_ESTOPPING);
    axo__call_drop(call);
}

axo_status axo__call_open(axo_system *system, const axo__wait *wait, axo__call **out,
                          axo_ref *actor)
{
    static const axo_class call_class =
        AXO_CLASS(.name = "call", .state_size = sizeof(call_state),
                  .construct = call_construct, .receive = call_receive,
                  .post_restart = call_again);
    axo__call *call = axo_system_alloc(system, sizeof *call);
    axo_props props = AXO_PROPS(.cls = &call_class, .args = call, .system_actor = 1);
    if (call == NULL)
        return AXO_ENOMEM;
    memset(call, 0, sizeof *call);
    call->system = system;
    call->wait = *wait;
    call->until = call_deadline(wait->timeout_ns);
    /* The calling thread and the message; the instance counts itself in call_take. */
    call->users = 2;
    if (!call_init(call)) {
        axo_system_free(system, call, sizeof *call);
        return AXO_ETHREAD;
    }
    axo_status status = axo_system_spawn(system, &props, actor);
    if (status != AXO_OK) {
        call_free(call);
        return status;
    }
    status = axo_system_send_owned(system, *actor, AXO__TAG_CALL_OPEN, call, sizeof *call,
                                   call_brought, NULL);
    /* AXO_EGONE: the destructor of the dead letter has closed the call, and the thread's wait
     * returns at once. */
    if (status == AXO_OK || status == AXO_EGONE) {
        *out = call;
        return AXO_OK;
    }
    /* The message was refused, so the block has one owner again and is freed here. */
    (void)axo_system_stop_actor(system, *actor);
    call_free(call);
    return status;
}

/* ---- the thread ----------------------------------------------------------------------------- */

bool axo__call_give_up(axo__call *call, axo_ref actor, axo_status status)
{
    /* If the actor was first, its result stands, and the actor stops by itself. */
    bool mine = call_close(call, status);
    if (mine)
        (void)axo_system_stop_actor(call->system, actor);
    return mine;
}

bool axo__call_await(axo__call *call)
{
    int error = 0;
    /* pthread_cond_timedwait is a cancellation point: a thread that ended in it would keep its
     * share of the block for ever. */
    int before = axo__context_hold();
    (void)pthread_mutex_lock(&call->mutex);
    /* The loop takes spurious wake-ups; a closed call is never missed, because `closed` is tested
     * under the mutex. */
    while (!call->closed && error != ETIMEDOUT)
        error = pthread_cond_timedwait(&call->change, &call->mutex, &call->until);
    bool closed = call->closed;
    (void)pthread_mutex_unlock(&call->mutex);
    axo__context_let(before);
    return closed;
}

int64_t axo__call_closed_ns(axo__call *call)
{
    (void)pthread_mutex_lock(&call->mutex);
    int64_t closed_ns = call->closed_ns;
    (void)pthread_mutex_unlock(&call->mutex);
    return closed_ns;
}

axo_status axo__call_wait(axo__call *call, axo_ref actor)
{
    if (!axo__call_await(call))
        (void)axo__call_give_up(call, actor, AXO_ETIMEDOUT);
    (void)pthread_mutex_lock(&call->mutex);
    axo_status status = call->status;
    (void)pthread_mutex_unlock(&call->mutex);
    return status;
}
