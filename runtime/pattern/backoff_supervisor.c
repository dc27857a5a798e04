/* backoff_supervisor.c - Akka's back-off supervisor: one child, replaced after a delay.
 *
 * The supervisor never restarts its child: it stops the child and, after a delay, spawns another.
 * Its decider turns Restart into Stop and notes the wish (`replaces`); the child's end, which it
 * watches, starts the delay. Three timers drive it: KEEPER_START ends a delay, KEEPER_RESET forgets
 * the count after a child has lived long enough, KEEPER_WINDOW closes the window of failures.
 */
#include <axo/axo.h>

#include <stdbool.h>
#include <string.h>

#include "pattern/given.h"
#include "pattern/own.h"

/* Keys and, at the same time, tags of the timers. */
#define KEEPER_START (AXO_TAG_SERVICES + 0x25)
#define KEEPER_RESET (AXO_TAG_SERVICES + 0x26)
#define KEEPER_WINDOW (AXO_TAG_SERVICES + 0x27)

typedef struct keeper {
    axo_backoff_supervisor settings;
    axo_ref child;      /* the present child; none during a delay */
    axo_ref last;       /* the child before: dead letters of a delay are addressed to it */
    uint32_t count;     /* starts after a delay since the last reset */
    bool replaces;      /* the child's stop was a Restart: another child follows */
    bool lapsed;        /* the window has closed since that failure: the failure does not count */
    bool final;         /* the next end of the child is the supervisor's end */
    bool resets;        /* KEEPER_RESET has been started, and its tick has not come */
    bool counts;        /* KEEPER_WINDOW has been started, and its tick has not come */
    uint64_t chance;    /* state of the jitter's draws */
} keeper;

/* ---- the child ---- */

static bool keeper_is_child(const keeper *self, axo_ref ref)
{
    return !axo_ref_is_none(self->child) && axo_ref_equal(ref, self->child);
}

/* Spawns and watches a child. A child that cannot be spawned is the supervisor's own failure, which
 * its parent decides. */
static axo_status keeper_start_child(axo_ctx *ctx, keeper *self)
{
    axo_status status = axo_spawn(ctx, self->settings.child, &self->child);
    if (status != AXO_OK)
        return axo_fail(ctx, status, "the child cannot be started: %s", axo_status_text(status));
    return axo_watch(ctx, self->child);
}

/* BO-18: the first failure of a count opens the window. A decider cannot fail for want of memory,
 * so a timer that it could not start is started when the child has ended. */
static axo_status keeper_open_window(axo_ctx *ctx, keeper *self)
{
    if (self->settings.within_ns == 0 || self->counts)
        return AXO_OK;
    axo_status status = axo_timer_start(ctx, KEEPER_WINDOW, AXO_TIMER_ONCE,
                                        self->settings.within_ns, 0, KEEPER_WINDOW, NULL, 0);
    self->counts = status == AXO_OK;
    return status;
}

/* How long a child must live for the count to be reset; 0: its life resets nothing (BO-14,
 * BO-15). */
static int64_t keeper_reset_after(const keeper *self)
{
    const axo_backoff *backoff = self->settings.backoff;
    if (self->settings.manual_reset || backoff->reset_after_ns < 0)
        return 0;
    return backoff->reset_after_ns > 0 ? backoff->reset_after_ns : backoff->min_ns;
}

/* A number in [0, 1) that depends on the actor's seed and on how often it was drawn (splitmix64): a
 * repeated run has the same jitter. */
static double keeper_chance(keeper *self)
{
    self->chance += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t mixed = self->chance;
    mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (double)((mixed ^ (mixed >> 31)) >> 11) / 9007199254740992.0;
}

/* Whether the budget allows another child. */
static bool keeper_may_retry(const keeper *self)
{
    return !self->settings.limited || self->count < (uint32_t)self->settings.retries_max;
}

/* BO-03: attempt n waits for the n-th delay. A failure whose window has closed meanwhile begins a
 * new count with the delay that it was due, and is not counted itself. */
static axo_status keeper_delay(axo_ctx *ctx, keeper *self)
{
    int64_t delay = axo_backoff_delay(self->settings.backoff, self->count, keeper_chance(self));
    axo_status status = self->lapsed ? AXO_OK : keeper_open_window(ctx, self);
    (void)axo_timer_stop(ctx, KEEPER_RESET);
    self->resets = false;
    if (!self->lapsed)
        self->count++;
    self->lapsed = false;
    if (status != AXO_OK)
        return status;
    return axo_timer_start(ctx, KEEPER_START, AXO_TIMER_ONCE, delay, 0, KEEPER_START, NULL, 0);
}

/* The child has ended. On AXO_ON_STOP every end is followed by another child, unless it was the
 * final one; else only a failure that the decider answered with Restart is. */
static axo_status keeper_child_gone(axo_ctx *ctx, keeper *self)
{
    bool replace = self->settings.when == AXO_ON_STOP
                       ? !self->final && keeper_may_retry(self) /* BO-17, BO-21 */
                       : self->replaces;                        /* BO-07, BO-08 */
    self->last = self->child;
    self->child = axo_ref_none();
    self->replaces = false;
    return replace ? keeper_delay(ctx, self) : axo_stop_self(ctx);
}

/* The delay is over: the next child starts, and the timer that may reset the count with it. */
static axo_status keeper_due(axo_ctx *ctx, keeper *self)
{
    int64_t after = keeper_reset_after(self);
    axo_status status = keeper_start_child(ctx, self);
    if (status != AXO_OK || after == 0)
        return status;
    status = axo_timer_start(ctx, KEEPER_RESET, AXO_TIMER_ONCE, after, 0, KEEPER_RESET, NULL, 0);
    self->resets = status == AXO_OK;
    return status;
}

/* Whether the message is a tick of the supervisor's own timers: each is believed only while its
 * timer has been started (own.h). Any other message with such a tag is as any message. */
static bool keeper_is_tick(axo_ctx *ctx, const keeper *self, const axo_message *message)
{
    bool set = false;
    /* BO-23: KEEPER_START runs during a delay, and only then */
    if (message->tag == KEEPER_START)
        set = axo_ref_is_none(self->child);
    else if (message->tag == KEEPER_RESET)
        set = self->resets;
    else if (message->tag == KEEPER_WINDOW)
        set = self->counts;
    return set && axo__own_tick(ctx, message, message->tag);
}

static axo_status keeper_tick(axo_ctx *ctx, keeper *self, uint32_t tag)
{
    if (tag == KEEPER_START)
        return keeper_due(ctx, self);
    /* the next delay stops this timer, so the child has not failed since (BO-14) */
    if (tag == KEEPER_RESET)
        self->resets = false;
    else
        self->counts = false;
    self->count = 0;
    self->lapsed = tag == KEEPER_WINDOW && self->replaces;
    return AXO_OK;
}

/* ---- deciding ---- */

/* The strategy's decider. A Restart becomes Stop (BO-06): the library then ends the child in order,
 * and the supervisor spawns another after the delay, in keeper_child_gone. */
static axo_directive keeper_decide(axo_ctx *ctx, void *state, const axo_failure *failure,
                                   void *user)
{
    keeper *self = state;
    axo_decider decider = self->settings.decider != NULL ? self->settings.decider
                                                         : axo_decide_default;
    (void)user;
    axo_directive directive = decider(ctx, NULL, failure, self->settings.user);
    if (directive != AXO_RESTART || self->settings.when == AXO_ON_STOP)
        return directive; /* BO-10, BO-11 */
    (void)keeper_open_window(ctx, self);
    self->replaces = keeper_may_retry(self);
    return AXO_STOP; /* BO-06 */
}

/* By answer_failed. */
static const axo_strategy keeper_strategies[2] = {
    AXO_STRATEGY(.decider = keeper_decide),
    AXO_STRATEGY(.decider = keeper_decide, .answer_failed = 1),
};

/* ---- messages ---- */

/* Reports a message that its receiver refused: a dead letter with the reason, instead of
 * silence. */
static axo_status keeper_refused(axo_ctx *ctx, const axo_message *message, axo_ref to,
                                 axo_status status)
{
    if (status == AXO_OK || status == AXO_EGONE)
        return AXO_OK;
    if (message->tag >= AXO_TAG_RESERVED)
        return AXO_UNHANDLED;
    return axo_drop(ctx, message, to, axo_status_text(status));
}

static axo_status keeper_forward(axo_ctx *ctx, const axo_message *message, axo_ref to)
{
    return keeper_refused(ctx, message, to, axo_forward(ctx, message, to));
}

/* Answers a request; a request without a sender has no answer. */
static axo_status keeper_reply_as(axo_ctx *ctx, axo_ref from, const axo_message *message,
                                  uint32_t tag, const void *payload, size_t size)
{
    axo_ref to = message->sender;
    if (axo_ref_is_none(to))
        return AXO_OK;
    return keeper_refused(ctx, message, to, axo_send_from(ctx, from, to, tag, payload, size));
}

static axo_status keeper_reply(axo_ctx *ctx, const axo_message *message, uint32_t tag,
                               const void *payload, size_t size)
{
    return keeper_reply_as(ctx, axo_self(ctx), message, tag, payload, size);
}

/* Answers, hands over or buries a message that comes while there is no child. The answer
 * AXO_ABSENT_REPLY has no sender and is never given to an answer: two supervisors without a child
 * would answer each other without end. */
static axo_status keeper_absent(axo_ctx *ctx, keeper *self, const axo_message *message)
{
    bool answer = message->tag == self->settings.absent_tag ||
                  axo_ref_equal(message->sender, axo_self(ctx));
    switch (self->settings.absent) {
    case AXO_ABSENT_REPLY:
        if (answer)
            break;
        return keeper_reply_as(ctx, axo_ref_none(), message, self->settings.absent_tag, NULL, 0);
    case AXO_ABSENT_STAND_IN:
        return keeper_forward(ctx, message, self->settings.stand_in);
    case AXO_ABSENT_DEAD_LETTER:
        break;
    }
    return keeper_forward(ctx, message, self->last); /* BO-19 */
}

/* BO-20: a message of the child goes to the supervisor's parent, in the supervisor's name: the
 * child's reference changes with every failure. */
static axo_status keeper_pass_up(axo_ctx *ctx, const axo_message *message)
{
    axo_owned owned;
    axo_ref parent = axo_parent(ctx);
    axo_status status;
    if (axo_message_take(ctx, message, &owned) != AXO_OK) {
        status = axo_send(ctx, parent, message->tag, message->payload, message->size);
        return keeper_refused(ctx, message, parent, status);
    }
    /* A handed-over payload is handed on: only its owner may send it. */
    status = axo_send_owned(ctx, parent, message->tag, owned.payload, owned.size, owned.destroy,
                            owned.user);
    /* A refused send leaves the payload with its caller, which has nobody to give it back to. */
    if (status != AXO_OK && status != AXO_EGONE && owned.destroy != NULL)
        owned.destroy(owned.payload, owned.user);
    return keeper_refused(ctx, message, parent, status);
}

static axo_status keeper_pass_on(axo_ctx *ctx, keeper *self, const axo_message *message)
{
    /* an event: another actor has subscribed the supervisor */
    if (message->tag >= AXO_TAG_RESERVED)
        return AXO_UNHANDLED;
    /* The child's messages go up, all others go down to it. */
    if (keeper_is_child(self, message->sender))
        return keeper_pass_up(ctx, message);
    bool final = self->settings.has_final && message->tag == self->settings.final_tag &&
                 self->settings.when == AXO_ON_STOP;
    /* The final message goes to the child like any other; the child's next end is then not followed
     * by a delay (BO-21). */
    self->final = self->final || final;
    if (!axo_ref_is_none(self->child))
        return keeper_forward(ctx, message, self->child);
    return final ? axo_stop_self(ctx) : keeper_absent(ctx, self, message);
}

/* BO-15: only the present child may reset the count by hand, or a stranger could defeat the
 * budget. */
static axo_status keeper_reset(keeper *self, const axo_message *message)
{
    if (!self->settings.manual_reset || !keeper_is_child(self, message->sender))
        return AXO_UNHANDLED; /* BO-15 */
    self->count = 0;
    return AXO_OK;
}

static axo_status keeper_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    keeper *self = state;
    if (keeper_is_tick(ctx, self, message))
        return keeper_tick(ctx, self, message->tag);
    switch (message->tag) {
    case AXO_TERMINATED:
        return keeper_child_gone(ctx, self);
    case AXO_BACKOFF_GET_CHILD:
        return keeper_reply(ctx, message, AXO_BACKOFF_CHILD, &self->child, sizeof self->child);
    case AXO_BACKOFF_GET_COUNT:
        return keeper_reply(ctx, message, AXO_BACKOFF_COUNT, &self->count, sizeof self->count);
    case AXO_BACKOFF_RESET:
        return keeper_reset(self, message);
    default:
        return keeper_pass_on(ctx, self, message);
    }
}

/* ---- making ---- */

/* The settings are copied with what the caller's header knew; the jitter's seed is the actor's. */
static axo_status keeper_construct(axo_ctx *ctx, void *state, const void *args)
{
    keeper *self = state;
    self->chance = axo_seed(ctx);
    return axo__given_read(args, &self->settings, sizeof self->settings);
}

static axo_status keeper_pre_start(axo_ctx *ctx, void *state)
{
    return keeper_start_child(ctx, state); /* BO-01 */
}

static const axo_class keeper_class =
    AXO_CLASS(.name = "back-off supervisor", .state_size = sizeof(keeper),
              .construct = keeper_construct, .pre_start = keeper_pre_start,
              .receive = keeper_receive);

/* Whether members that belong to one choice are zero in the others: a value there would be ignored
 * in silence. */
static bool keeper_choices_fit(const axo_backoff_supervisor *settings)
{
    bool stands_in = settings->absent == AXO_ABSENT_STAND_IN;
    bool on_stop = settings->when == AXO_ON_STOP;
    if (stands_in != !axo_ref_is_none(settings->stand_in))
        return false;
    if (settings->absent == AXO_ABSENT_REPLY && settings->absent_tag >= AXO_TAG_RESERVED)
        return false;
    return on_stop ? settings->within_ns == 0 : !settings->has_final;
}

/* BO-22: everything is checked when props are made, before any actor exists. */
static axo_status keeper_check(const axo_backoff_supervisor *settings)
{
    const axo_backoff *backoff = settings->backoff;
    /* Without a recipe there is no child, without a back-off no delay. */
    if (settings->child == NULL || backoff == NULL)
        return AXO_EINVAL;
    axo_status status = axo_backoff_check(backoff);
    if (status != AXO_OK)
        return status;
    int64_t reset = backoff->reset_after_ns;
    if (reset > 0 && (reset < backoff->min_ns || reset > backoff->max_ns))
        return AXO_EINVAL;
    if (settings->when > AXO_ON_STOP || settings->absent > AXO_ABSENT_STAND_IN)
        return AXO_EINVAL;
    if (settings->manual_reset > 1 || settings->limited > 1 || settings->has_final > 1 ||
        settings->answer_failed > 1 || settings->reserved != 0)
        return AXO_EINVAL;
    if ((settings->limited && settings->retries_max < 0) || settings->within_ns < 0 ||
        settings->within_ns > AXO_BACKOFF_MAX)
        return AXO_EINVAL;
    return keeper_choices_fit(settings) ? AXO_OK : AXO_EINVAL;
}

axo_status axo_backoff_supervisor_props(const axo_backoff_supervisor *settings, const char *name,
                                        axo_props *props)
{
    axo_backoff_supervisor given;
    if (props == NULL)
        return AXO_EINVAL;
    axo_status status = axo__given_read(settings, &given, sizeof given);
    if (status == AXO_OK)
        status = keeper_check(&given);
    if (status != AXO_OK)
        return status;
    *props = (axo_props)AXO_PROPS(.cls = &keeper_class, .args = settings,
                                  .args_size = settings->size, .name = name,
                                  .strategy = &keeper_strategies[given.answer_failed]);
    return AXO_OK;
}
