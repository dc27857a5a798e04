/* wait.c - a child that waits for one event and tells its parent how it went, once. The record lies
 * in a letter that was made when the ask was accepted. Whatever ends the wait (answer, end of the
 * target, deadline, stop, missing memory) ends in exactly one message to the parent: self->wait is
 * NULL from then on, and the child stops itself at once. */
#include "pattern/wait.h"

#include <axo/event.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "pattern/own.h"

#define WAIT_KEY 1

typedef struct wait_state {
    axo__wait *wait; /* NULL: the parent has been told; whatever comes now is late */
} wait_state;

_Static_assert(sizeof(axo__wait) <= sizeof(axo_verdict), "a wait lies in its verdict's letter");

/* A refused request takes its child back by coming to the child itself, with a false sender that no
 * actor has: so it can be found among messages that the child has not handled yet. The number is no
 * part of the child's reference, which the target was told; the target cannot forge it. */
#define WAIT_VOID (UINT64_C(1) << 63)

axo_status axo__wait_new(axo_ctx *ctx, axo__wait_kind kind, axo_ref target, int64_t timeout_ns,
                         uint64_t id, axo__wait **out)
{
    /* The letter is made for the verdict, the larger of the two things that it will hold one after
     * the other. */
    uint32_t tag = kind == AXO__WAIT_STOP ? AXO_STOP_ENDED : AXO_ASK_FAILED;
    axo_draft *letter;
    void *room;
    axo_status status = axo_message_new(ctx, tag, sizeof(axo_verdict), &letter, &room);
    if (status != AXO_OK)
        return status;
    (void)axo_draft_keep(ctx, letter); /* the child's, whatever the asker's callback does next */
    axo__wait *wait = room;
    memset(wait, 0, offsetof(axo__wait, path) + 1);
    wait->letter = letter;
    wait->kind = kind;
    wait->instance = axo_instance(ctx);
    wait->id = id;
    wait->target = target;
    wait->since_ns = axo_now(ctx);
    wait->voided = (axo_ref){.bits = axo__own_number(wait, wait->since_ns) | WAIT_VOID};
    wait->timeout_ns = timeout_ns;
    /* The path is read now: after the target's end no actor could. */
    if (!axo_ref_is_none(target))
        (void)axo_system_path(axo_system_of(ctx), target, wait->path, sizeof wait->path);
    *out = wait;
    return AXO_OK;
}

void axo__wait_discard(axo_ctx *ctx, axo__wait *wait)
{
    axo_message_discard(ctx, wait->letter);
}

/* Adds what the target is doing. A target that has ended in the meantime leaves the verdict without
 * it. */
static void wait_look(axo_system *system, axo_ref waiter, axo_verdict *out)
{
    axo_actor_info info = AXO_ACTOR_INFO(.doing = AXO_DOING_GONE);
    if (axo_system_inspect(system, out->target, waiter, &info) != AXO_OK)
        return;
    out->doing = info.doing;
    out->place = info.place;
    out->queued = info.queued;
    out->running_has_tag = info.has_tag;
    out->running_tag = info.tag;
    out->running_ns = info.since_ns;
    memcpy(out->running_name, info.tag_name, sizeof out->running_name);
    if (out->tag != 0)
        (void)axo_system_tag_name(system, out->target, out->tag, out->tag_name,
                                  sizeof out->tag_name);
}

int64_t axo__wait_thread_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail with these arguments */
    return (int64_t)now.tv_sec * INT64_C(1000000000) + (int64_t)now.tv_nsec;
}

int64_t axo__wait_passed(int64_t now, int64_t since)
{
    int64_t span;
    if (now <= since)
        return 0;
    return __builtin_sub_overflow(now, since, &span) ? INT64_MAX : span;
}

int64_t axo__wait_left(int64_t now, int64_t since, int64_t timeout)
{
    int64_t passed = axo__wait_passed(now, since);
    return passed < timeout ? timeout - passed : 0;
}

void axo__wait_judge(axo_system *system, const axo__wait *wait, axo_ref waiter, axo_status status,
                     axo_verdict *out)
{
    /* A child waits by the program's clock, a thread by the operating system's. */
    int64_t now = wait->letter != NULL ? axo_system_now(system) : axo__wait_thread_now();
    *out = (axo_verdict){
        .id = wait->id,
        .status = status,
        .tag = wait->tag,
        .target = wait->target,
        .waited_ns = axo__wait_passed(now, wait->since_ns),
        .timeout_ns = wait->timeout_ns,
    };
    memcpy(out->path, wait->path, strlen(wait->path) + 1);
    if (!axo_ref_is_none(wait->target) && status != AXO_OK && status != AXO_EGONE)
        wait_look(system, waiter, out);
}

void axo__wait_failed(axo_verdict *out, const axo_message *message)
{
    const axo_request_failed failed = axo_request_failed_of(message);
    out->code = failed.code;
    out->has_status = failed.has_status;
    memcpy(out->text, failed.text, strlen(failed.text) + 1);
}

/* Whether the parent has taken the child back, and the child has not come to that message: its
 * start had no memory, or a stop came before. The child looks for the false sender in its own
 * mailbox. */
static bool wait_is_void(axo_ctx *ctx, const axo__wait *wait)
{
    axo_actor_info info = AXO_ACTOR_INFO(.place = 0);
    return axo_inspect(ctx, axo_self(ctx), wait->voided, &info) == AXO_OK && info.place > 0;
}

/* ---- telling the parent --------------------------------------------------------------------- */

/* Sends to the parent. The message is bound to the instance that asked: no mailbox refuses it, and
 * for another instance it is a suppressed dead letter. */
static void wait_send(axo_ctx *ctx, const axo__wait *wait, axo_draft *draft)
{
    (void)axo_draft_bind(ctx, draft, wait->instance);
    (void)axo_send_message(ctx, axo_parent(ctx), draft); /* AXO_EGONE: the asker has ended */
}

/* Ends the wait without a verdict: the parent took it back, or has its answer. */
static axo_status wait_forget(axo_ctx *ctx, wait_state *self)
{
    axo__wait_discard(ctx, self->wait);
    self->wait = NULL;
    return axo_stop_self(ctx);
}

static axo_status wait_over_by(axo_ctx *ctx, wait_state *self, axo_status status,
                               const axo_message *cause)
{
    /* A copy, because the verdict is written over the record in the same letter. */
    axo__wait wait = *self->wait;
    if (wait_is_void(ctx, &wait))
        return wait_forget(ctx, self);
    axo_verdict *verdict = (void *)self->wait;
    axo__wait_judge(axo_system_of(ctx), &wait, axo_self(ctx), status, verdict);
    if (cause != NULL)
        axo__wait_failed(verdict, cause);
    (void)axo_draft_from(ctx, wait.letter, axo_self(ctx));
    wait_send(ctx, &wait, wait.letter);
    self->wait = NULL;
    return axo_stop_self(ctx);
}

static axo_status wait_over(axo_ctx *ctx, wait_state *self, axo_status status)
{
    return wait_over_by(ctx, self, status, NULL);
}

/* The head that the parent finds in front of an answer. */
static axo_answer wait_head(axo_ctx *ctx, const wait_state *self, const axo_message *message)
{
    return (axo_answer){
        .id = self->wait->id,
        .from = message->sender,
        .waited_ns = axo__wait_passed(axo_now(ctx), self->wait->since_ns),
        .tag = message->tag,
        .size = message->size,
    };
}

/* An answer with a handed-over payload is handed on, behind a head of the wait's own. */
typedef struct wait_parcel {
    axo_answer head; /* first member: the payload that the parent sees */
    axo_owned owned;
    axo_system *system;
} wait_parcel;

/* The destructor of a parcel: frees the payload inside with the destructor that came with it. */
static void wait_parcel_free(void *payload, void *user)
{
    wait_parcel *parcel = payload;
    (void)user;
    if (parcel->owned.destroy != NULL)
        parcel->owned.destroy(parcel->owned.payload, parcel->owned.user);
    axo_system_free(parcel->system, parcel, sizeof *parcel);
}

/* Makes a message of a parcel. `given` belongs to this function and is freed on failure, too. */
static axo_status wait_parcel_new(axo_ctx *ctx, const axo_answer *head, const axo_owned *given,
                                  axo_draft **draft)
{
    wait_parcel *parcel = axo_system_alloc(axo_system_of(ctx), sizeof *parcel);
    if (parcel == NULL) {
        if (given->destroy != NULL)
            given->destroy(given->payload, given->user);
        return AXO_ENOMEM;
    }
    *parcel = (wait_parcel){.head = *head, .owned = *given, .system = axo_system_of(ctx)};
    parcel->head.handed = given->payload;
    axo_owned whole = {.payload = parcel, .size = sizeof(axo_answer), .destroy = wait_parcel_free};
    axo_status status = axo_message_owning(ctx, AXO_ASK_ANSWER, &whole, draft);
    if (status != AXO_OK)
        wait_parcel_free(parcel, NULL);
    return status;
}

/* The message for the parent: a parcel, or a copy of the payload behind the head. */
static axo_status wait_answer_draft(axo_ctx *ctx, const axo_answer *head,
                                    const axo_message *message, axo_draft **draft)
{
    axo_owned given;
    void *room;
    if (axo_message_take(ctx, message, &given) == AXO_OK)
        return wait_parcel_new(ctx, head, &given, draft);
    axo_status status =
        axo_message_new(ctx, AXO_ASK_ANSWER, sizeof *head + head->size, draft, &room);
    if (status != AXO_OK)
        return status;
    memcpy(room, head, sizeof *head);
    if (head->size > 0)
        memcpy((axo_answer *)room + 1, message->payload, head->size);
    return AXO_OK;
}

static axo_status wait_answer(axo_ctx *ctx, wait_state *self, const axo_message *message)
{
    axo_answer head = wait_head(ctx, self, message);
    axo_draft *draft;
    axo_status status = wait_answer_draft(ctx, &head, message, &draft);
    if (status != AXO_OK) { /* no memory, or no room for the head: the parent is told which */
        (void)axo_drop(ctx, message, axo_parent(ctx), axo_status_text(status));
        return wait_over(ctx, self, status);
    }
    wait_send(ctx, self->wait, draft);
    return wait_forget(ctx, self);
}

/* ---- the child ------------------------------------------------------------------------------ */

static axo_status wait_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    /* The record itself, no copy: a restarted child goes on with it. */
    ((wait_state *)state)->wait = (axo__wait *)(uintptr_t)args;
    return AXO_OK;
}

axo_status axo__wait_begin(axo_ctx *ctx, const axo__wait *wait)
{
    if (axo_ref_is_none(wait->target))
        return AXO_OK;
    axo_status status = axo_watch(ctx, wait->target);
    if (status != AXO_OK || wait->kind != AXO__WAIT_STOP)
        return status;
    if (wait->farewell == AXO_FAREWELL_PILL)
        status = axo_poison(ctx, wait->target);
    else if (wait->farewell == AXO_FAREWELL_STOP)
        status = axo_stop(ctx, wait->target);
    /* AXO_EGONE: the target has ended, and the notice is on its way */
    return status == AXO_EGONE ? AXO_OK : status;
}

/* Runs after a restart, too, which a parent with all-for-one may order: watch and timer are made
 * again, and the deadline stays what it was. */
static axo_status wait_start(axo_ctx *ctx, void *state)
{
    wait_state *self = state;
    const axo__wait *wait = self->wait;
    axo_status status = axo__wait_begin(ctx, wait);
    int64_t left = axo__wait_left(axo_now(ctx), wait->since_ns, wait->timeout_ns);
    if (status == AXO_OK)
        status = axo_timer_start(ctx, WAIT_KEY, AXO_TIMER_ONCE, left, 0, AXO__TAG_WAIT_OVER, NULL,
                                 0);
    return status == AXO_OK ? AXO_OK : wait_over(ctx, self, status);
}

static axo_status wait_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    wait_state *self = state;
    axo__wait_kind kind = self->wait->kind;
    /* Only the parent knows the false sender (axo__wait_void). */
    if (axo_ref_equal(message->sender, self->wait->voided))
        return wait_forget(ctx, self);
    if (message->tag == AXO_TERMINATED)
        return wait_over(ctx, self, kind == AXO__WAIT_STOP ? AXO_OK : AXO_EGONE);
    if (message->tag == AXO__TAG_WAIT_OVER)
        return axo__own_tick(ctx, message, WAIT_KEY) ? wait_over(ctx, self, AXO_ETIMEDOUT)
                                                     : AXO_UNHANDLED;
    if (message->tag == AXO_REQUEST_FAILED && kind != AXO__WAIT_STOP)
        return wait_over_by(ctx, self, AXO_EFAILED, message);
    /* an event: a stranger has subscribed the child */
    if (kind == AXO__WAIT_STOP || message->tag >= AXO_TAG_RESERVED)
        return AXO_UNHANDLED;
    return wait_answer(ctx, self, message);
}

static axo_status wait_stop(axo_ctx *ctx, void *state)
{
    wait_state *self = state;
    /* post_stop: a child that ends before its wait was over still tells its parent. */
    return self->wait == NULL ? AXO_OK : wait_over(ctx, self, AXO_ESTOPPING);
}

axo_status axo__wait_pre_restart(axo_ctx *ctx, void *state, const axo_failure *failure,
                                 const axo_message *message)
{
    (void)ctx;
    (void)state;
    (void)failure;
    (void)message;
    return AXO_OK;
}

axo_status axo__wait_spawn(axo_ctx *ctx, axo__wait *wait, axo_ref *out)
{
    static const axo_class wait_class =
        AXO_CLASS(.name = "ask", .state_size = sizeof(wait_state), .construct = wait_construct,
                  .pre_start = wait_start, .receive = wait_receive, .post_stop = wait_stop,
                  .pre_restart = axo__wait_pre_restart);
    axo_props props = AXO_PROPS(.cls = &wait_class, .args = wait);
    axo_status status = axo_spawn(ctx, &props, out);
    if (status != AXO_OK)
        axo__wait_discard(ctx, wait);
    return status;
}

axo_status axo__wait_void(axo_ctx *ctx, axo_ref child, axo_ref voided, axo_draft *request,
                          axo_status refused)
{
    /* The request is already allocated, so taking back needs no memory. */
    (void)axo_draft_from(ctx, request, voided);
    return axo_send_message(ctx, child, request) == AXO_OK ? refused : AXO_OK;
}
