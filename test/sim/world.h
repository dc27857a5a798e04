/* world.h - what the simulated actors are and do: a random program, all of it drawn from the seed.
 *
 * Each seed first draws how often each thing happens, many of them never, so that rare pairs meet.
 * In the calm phase nothing fails and nothing is started any more.
 */
#ifndef TEST_SIM_WORLD_H
#define TEST_SIM_WORLD_H

#include "base/random.h"
#include "mail.h"

#define WORLD_LIVING_MAX 40
#define WORLD_DEPTH_MAX 6
#define WORLD_RECENT 40
#define WORLD_WATCHES_MAX 40

typedef struct keyed {
    uint64_t key;
    uint64_t instance; /* that started it */
} keyed;

/* How often, in 1024ths. */
typedef enum knob {
    KNOB_SPAWN,
    KNOB_STOP,
    KNOB_STOP_SELF,
    KNOB_STOP_CHILD,
    KNOB_POISON,
    KNOB_KILL,
    KNOB_WATCH,
    KNOB_UNWATCH,
    KNOB_SEND,
    KNOB_AFTER,
    KNOB_TIMER,    /* keyed timers, raw handles, receive timeouts */
    KNOB_FAIL,
    KNOB_FATAL,
    KNOB_UNHANDLED,
    KNOB_CONSTRUCT,
    KNOB_PRE_START,
    KNOB_PRE_RESTART,
    KNOB_POST_RESTART,
    KNOB_POST_STOP,
    KNOB_DECIDER,
    KNOB_KEEP,      /* pre_restart keeps the children */
    KNOB_EARLY,     /* construct and the start hooks spawn */
    KNOB_REGION,
    KNOB_BECOME,
    KNOB_TOP,       /* /user escalates: the end */
    KNOB_SHUTDOWN,
    KNOB_HOOK,      /* a termination hook */
    KNOB_DRY,       /* a drought begins: no memory for a while */
    KNOB_POOL,      /* an actor of another dispatcher than the default one */
    KNOB_BOX,       /* mailboxes with bounds and orders */
    KNOB_UNLIMITED, /* parking without a limit: then nobody sends to an older one that parks */
    KNOB_STASH,
    KNOB_UNSTASH,
    KNOB_FORWARD,
    KNOB_WITH,      /* watches with a message of one's own */
    KNOB_BURST,     /* many messages in one callback */
    KNOBS
} knob;

typedef struct world {
    axo__random chance;
    uint32_t knobs[KNOBS];
    bool calm;
    bool dry;          /* the allocator has nothing */
    bool noisy;        /* foreign kills and stops too */
    bool manual;       /* no threads; the clock is the world's */
    int64_t now;
    uint32_t refs;
    axo_timer timers[16];
    axo_ref known[GHOSTS_MAX];
    uint64_t owned;    /* payloads handed over */
    uint64_t freed;    /* and freed */
    uint64_t deferred;
    uint64_t undone;
    uint64_t dead_letters;
    uint64_t mine;     /* blocks of the counting allocator */
    uint64_t bytes;
} world;

static world w;

typedef struct node {
    uint32_t depth;
} node;

static bool world_is(knob what)
{
    return !w.calm && axo__random_below(&w.chance, 1024) < w.knobs[what];
}

static uint32_t world_below(uint32_t bound)
{
    return axo__random_below(&w.chance, bound);
}

/* Somebody: mostly a young one, sometimes an old one, rarely nobody ever. */
static axo_ref world_somebody(void)
{
    uint32_t kind = world_below(32);
    if (w.refs == 0 || kind == 0)
        return (axo_ref){.bits = UINT64_C(0x00dead0000000000) | (world_below(4096) + 1)};
    if (kind < 4 || w.refs < WORLD_RECENT)
        return w.known[world_below(w.refs)];
    return w.known[w.refs - 1 - world_below(WORLD_RECENT)];
}

static void world_free_payload(void *payload, void *user)
{
    world *it = user;
    it->freed++;
    free(payload);
}

static void world_undo(void *arg)
{
    world *it = arg;
    it->undone++;
}

/* ---- failing ---- */

/* The code says what deciders make of it: see world_decide. */
static axo_status world_fail(axo_ctx *ctx)
{
    int32_t code = (int32_t)world_below(256);
    bool fatal = world_is(KNOB_FATAL);
    switch (world_below(4)) {
    case 0:
        if (fatal)
            axo_throw_fatal(ctx, code, "thrown %d", code);
        axo_throw(ctx, code, "thrown %d", code);
    case 1:
        return AXO_EINVAL;
    default:
        break;
    }
    if (fatal)
        return axo_fail_fatal(ctx, code, "fatal %d", code);
    return axo_fail(ctx, code, "code %d", code);
}

/* Low bits: the directive; upper bits: escalate down to that depth first. */
static axo_directive world_decide(axo_ctx *ctx, void *state, const axo_failure *failure, void *user)
{
    const node *me = state;
    uint32_t code = (uint32_t)failure->code;
    ghost *parent = ghost_find(axo_self(ctx).bits);
    if (parent == NULL || parent->deciding != axo_sender(ctx).bits)
        ghost_fail("a decider whose sender is not the failed child");
    if (me == NULL) /* /user */
        return world_is(KNOB_TOP) ? AXO_ESCALATE : (axo_directive)(code % 3 + 1);
    if (world_is(KNOB_DECIDER)) {
        if (world_below(2) == 0)
            axo_throw(ctx, (int32_t)world_below(256), "the decider");
        (void)axo_fail(ctx, (int32_t)world_below(256), "the decider");
    }
    if (me->depth > (code >> 5) && (code & 4) != 0)
        return AXO_ESCALATE;
    return (axo_directive)((code & 3) + (world_below(64) == 0 ? 77 : 1));
}

/* ---- doing ---- */

static const axo_props *world_props(uint32_t depth);

static void world_know(axo_ref ref, const axo_props *props)
{
    ghost_find(ref.bits)->lifetime = props->lifetime;
    mail_know(ref, props->mailbox);
    if (w.refs < GHOSTS_MAX)
        w.known[w.refs++] = ref;
}

static void world_spawn(axo_ctx *ctx, uint32_t depth)
{
    axo_ref child;
    if (g.living >= WORLD_LIVING_MAX || depth >= WORLD_DEPTH_MAX || w.calm)
        return;
    const axo_props *props = world_props(depth + 1);
    if (axo_spawn(ctx, props, &child) == AXO_OK)
        world_know(child, props);
    else if (!axo_ref_is_none(child))
        ghost_fail("axo_spawn failed and gave a reference");
}

/* Actors that are parked for ever on each other are the program's fault: none are here. */
static bool world_may_send(uint64_t from, axo_ref to)
{
    const ghost *it = ghost_find(to.bits);
    return it == NULL || !it->narrow || it >= ghost_find(from);
}

/* Whether it was accepted. */
static bool world_accepted(axo_status status, axo_ref to)
{
    const ghost *it = ghost_find(to.bits);
    if (status == AXO_OK || status == AXO_EGONE)
        return true;
    if (!(status == AXO_ENOMEM && w.dry) && !(status == AXO_EFULL && it != NULL && it->boxed))
        ghost_fail("a send: %s", axo_status_name(status));
    return false;
}

static void world_send(axo_ctx *ctx, axo_ref to, uint32_t left)
{
    if (!world_may_send(axo_self(ctx).bits, to))
        return;
    work next = mail_new(to, left, world_below(MAIL_PRIORITIES));
    mail_sent(next.number);
    if (world_below(4) == 0) {
        work *owned = malloc(sizeof *owned);
        *owned = next;
        w.owned++;
        if (world_accepted(
                axo_send_owned(ctx, to, TAG_WORK, owned, sizeof *owned, world_free_payload, &w),
                to))
            return;
        w.owned--;
        free(owned);
    } else if (world_accepted(axo_send(ctx, to, TAG_WORK, &next, sizeof next), to)) {
        return;
    }
    mail_refused(next.number);
}

/* true: the message is somebody else's. */
static bool world_forward(axo_ctx *ctx, const axo_message *message)
{
    const work *it = message->payload;
    axo_ref to = world_somebody();
    uint32_t number = it->number;
    if (!world_may_send(axo_self(ctx).bits, to))
        return false;
    m.passed_on[number] = 1;
    mail_sent(number);
    if (world_accepted(axo_forward(ctx, message, to), to))
        return true;
    mail_refused(number);
    m.state[number] = MAIL_HANDLED;
    return false;
}

static void world_watch(axo_ctx *ctx)
{
    const ghost *me = ghost_find(axo_self(ctx).bits);
    if (me->watch_count >= WORLD_WATCHES_MAX)
        return;
    uint32_t before = me->watch_count;
    axo_ref whom = world_somebody();
    const ghost_watch *watch = ghost_watching(ghost_find(axo_self(ctx).bits), whom.bits);
    bool own = world_is(KNOB_WITH);
    bool same = watch == NULL || (!own && !watch->own);
    axo_status status = own ? axo_watch_with(ctx, whom, TAG_LOST, &whom, sizeof whom)
                            : axo_watch(ctx, whom);
    if (status != AXO_OK && !(status == AXO_ENOMEM && w.dry && me->watch_count == before) &&
        !(status == AXO_EINVAL && !same))
        ghost_fail("axo_watch: %s", axo_status_name(status));
    if (me->watch_count > before)
        ghost_find(axo_self(ctx).bits)->watches[before].own = own;
}

static void world_unwatch(axo_ctx *ctx)
{
    const ghost *me = ghost_find(axo_self(ctx).bits);
    axo_ref whom = world_somebody();
    if (me->watch_count > 0 && world_below(4) != 0)
        whom.bits = me->watches[world_below(me->watch_count)].target;
    (void)axo_unwatch(ctx, whom);
}

static void world_stop(axo_ctx *ctx, axo_ref whom)
{
    ghost *it = ghost_find(whom.bits);
    if (it != NULL && it->parent == axo_self(ctx).bits)
        it->excused = true;
    (void)axo_stop(ctx, whom);
}

static void world_stop_child(axo_ctx *ctx)
{
    axo_ref children[WORLD_LIVING_MAX];
    uint32_t count = axo_children(ctx, children, WORLD_LIVING_MAX);
    if (count > 0 && count <= WORLD_LIVING_MAX)
        world_stop(ctx, children[world_below(count)]);
}

static void world_own(axo_ctx *ctx)
{
    char *block = axo_alloc(ctx, 1 + world_below(700));
    if (block != NULL)
        block[0] = 1;
    if (axo_defer(ctx, world_undo, &w) == AXO_OK)
        w.deferred++;
}

#define WORLD_TIMERS 16

/* Raw timers that anybody may cancel, keys that are few, so that they meet. */
static void world_time(axo_ctx *ctx)
{
    axo_timer *any = &w.timers[world_below(WORLD_TIMERS)];
    uint64_t key = world_below(3);
    int64_t first = world_below(500000);
    int64_t period = 1 + world_below(300000);
    switch (world_below(7)) {
    case 0:
    case 1: {
        axo_timer_kind kind = (axo_timer_kind)world_below(3);
        keyed payload = {.key = key, .instance = ghost_find(axo_self(ctx).bits)->instance};
        bool before = axo_timer_active(ctx, key);
        axo_status status =
            axo_timer_start(ctx, key, kind, first, period, TAG_KEYED, &payload, sizeof payload);
        if (status != AXO_OK && !(w.dry && status == AXO_ENOMEM))
            ghost_fail("axo_timer_start: %s", axo_status_name(status));
        if (axo_timer_active(ctx, key) != (before || status == AXO_OK))
            ghost_fail("a key that was started is not active, or a failed start changed it");
        return;
    }
    case 2: {
        bool active = axo_timer_active(ctx, key);
        if ((axo_timer_stop(ctx, key) == AXO_OK) != active || axo_timer_active(ctx, key))
            ghost_fail("axo_timer_stop and axo_timer_active differ");
        return;
    }
    case 3: {
        axo_status status = axo_receive_timeout(ctx, world_below(2) == 0 ? 0 : first);
        if (status != AXO_OK && !(w.dry && status == AXO_ENOMEM))
            ghost_fail("axo_receive_timeout: %s", axo_status_name(status));
        return;
    }
    case 4:
        if (axo_timer_cancel(ctx, *any) && axo_timer_cancel(ctx, *any))
            ghost_fail("a timer was cancelled twice");
        return;
    case 5:
        (void)axo_timer_at_close(ctx, *any);
        return;
    default:
        (void)axo_timer_cancel(ctx, *any);
        (void)axo_schedule_fixed_rate(ctx, first, period + 20000, world_somebody(), TAG_TICK, &key,
                                      sizeof key, any);
        return;
    }
}

/* The calm comes: what ticks for ever is stopped. */
static axo_status world_quiet(axo_ctx *ctx)
{
    for (uint64_t key = 0; key < 3; key++)
        (void)axo_timer_stop(ctx, key);
    for (uint32_t i = 0; i < WORLD_TIMERS; i++)
        (void)axo_timer_cancel(ctx, w.timers[i]);
    return axo_receive_timeout(ctx, 0);
}

static axo_status world_receive(axo_ctx *ctx, void *state, const axo_message *message);

static void world_do(axo_ctx *ctx, const node *me, uint32_t left)
{
    if (world_is(KNOB_SPAWN))
        world_spawn(ctx, me->depth);
    if (world_is(KNOB_STOP))
        world_stop(ctx, world_somebody());
    if (world_is(KNOB_STOP_SELF))
        (void)axo_stop_self(ctx);
    if (world_is(KNOB_STOP_CHILD))
        world_stop_child(ctx);
    if (world_is(KNOB_POISON))
        (void)axo_poison(ctx, world_somebody());
    if (world_is(KNOB_KILL))
        (void)axo_kill(ctx, world_somebody());
    if (world_is(KNOB_WATCH))
        world_watch(ctx);
    if (world_is(KNOB_UNWATCH))
        world_unwatch(ctx);
    if (world_is(KNOB_REGION))
        world_own(ctx);
    if (world_is(KNOB_TIMER))
        world_time(ctx);
    if (world_is(KNOB_BECOME) && axo_become(ctx, world_receive) != AXO_OK && !w.dry)
        ghost_fail("axo_become failed");
    if (world_is(KNOB_BECOME))
        (void)axo_unbecome(ctx);
    if (world_is(KNOB_SHUTDOWN) && world_is(KNOB_SHUTDOWN))
        (void)axo_system_shutdown(axo_system_of(ctx));
    if (left == 0)
        return;
    for (uint32_t i = world_below(3); i > 0; i--) {
        if (world_is(KNOB_SEND))
            world_send(ctx, world_somebody(), left - 1);
    }
    if (world_is(KNOB_BURST)) {
        axo_ref to = world_somebody();
        for (uint32_t i = 1 + world_below(8); i > 0; i--)
            world_send(ctx, to, world_below(2) == 0 ? 0 : left - 1);
    }
    work late = {.left = left - 1};
    if (world_is(KNOB_AFTER))
        (void)axo_send_after(ctx, world_below(4000000), world_somebody(), TAG_WORK, &late,
                             sizeof late);
}

/* ---- callbacks ---- */

static axo_status world_construct(axo_ctx *ctx, void *state, const void *args)
{
    node *me = state;
    if (me->depth != 0)
        ghost_fail("the state was not zeroed");
    *me = *(const node *)args;
    if (world_is(KNOB_REGION))
        world_own(ctx);
    if (world_is(KNOB_EARLY))
        world_spawn(ctx, me->depth);
    return world_is(KNOB_CONSTRUCT) ? world_fail(ctx) : AXO_OK;
}

static axo_status world_pre_start(axo_ctx *ctx, void *state)
{
    const node *me = state;
    for (uint32_t i = world_below(3); i > 0; i--) {
        if (me->depth < 3 || world_is(KNOB_EARLY))
            world_spawn(ctx, me->depth);
    }
    if (world_is(KNOB_WATCH))
        world_watch(ctx);
    if (world_is(KNOB_TIMER))
        world_time(ctx);
    if (world_is(KNOB_HOOK) && axo_termination_hook(ctx) == AXO_OK)
        world_watch(ctx);
    return world_is(KNOB_PRE_START) ? world_fail(ctx) : AXO_OK;
}

static axo_status world_work(axo_ctx *ctx, node *me, const axo_message *message)
{
    uint32_t left = AXO_PAYLOAD(message, work)->left;
    if (world_is(KNOB_DRY))
        w.dry = !w.dry;
    if (world_is(KNOB_STASH))
        (void)mail_stash(ctx, message);
    else if (world_is(KNOB_FORWARD) && left > 0)
        (void)world_forward(ctx, message);
    if (world_is(KNOB_UNSTASH))
        mail_unstash(ctx, world_below(3) == 0 ? UINT32_MAX : 1 + world_below(4));
    for (uint32_t i = 1 + world_below(3); i > 0; i--)
        world_do(ctx, me, left);
    if (world_is(KNOB_FAIL))
        return world_fail(ctx);
    return world_is(KNOB_UNHANDLED) ? AXO_UNHANDLED : AXO_OK;
}

static axo_status world_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    node *me = state;
    axo_ref self = axo_self(ctx);
    mail_received(ctx, message);
    if (message->tag == AXO_TERMINATED || message->tag == TAG_LOST) {
        if (message->tag == AXO_TERMINATED)
            ghost_noticed(self.bits, AXO_PAYLOAD(message, axo_terminated));
        else
            ghost_lost(self.bits, AXO_PAYLOAD(message, axo_ref)->bits, message->sender.bits);
        world_do(ctx, me, 0);
        return world_is(KNOB_UNHANDLED) ? AXO_UNHANDLED : AXO_OK;
    }
    if (message->tag == AXO_TERMINATION_HOOK) {
        world_do(ctx, me, 0);
        return axo_termination_hook_done(ctx);
    }
    if (message->tag == TAG_PING) {
        ghost_find(self.bits)->pongs++;
        mail_unstash(ctx, UINT32_MAX);
        return AXO_OK;
    }
    if (message->tag == TAG_KEYED &&
        AXO_PAYLOAD(message, keyed)->instance != ghost_find(self.bits)->instance)
        ghost_fail("a tick of an instance that is gone");
    if (w.calm && message->tag != TAG_WORK)
        return world_quiet(ctx);
    if (message->tag != TAG_WORK) {
        world_do(ctx, me, 0);
        return world_is(KNOB_FAIL) ? world_fail(ctx) : AXO_OK;
    }
    return world_work(ctx, me, message);
}

static axo_status world_post_stop(axo_ctx *ctx, void *state)
{
    axo_ref to = world_somebody();
    (void)state;
    if (world_is(KNOB_SEND))
        world_send(ctx, to, 0);
    if (world_is(KNOB_TIMER))
        world_time(ctx);
    return world_is(KNOB_POST_STOP) ? world_fail(ctx) : AXO_OK;
}

static axo_status world_pre_restart(axo_ctx *ctx, void *state, const axo_failure *failure,
                                    const axo_message *message)
{
    node *me = state;
    if (failure->kind == AXO_FAILURE_NONE)
        ghost_fail("a restart without a cause");
    if (message != NULL && message->tag == TAG_WORK && message->payload != NULL &&
        world_is(KNOB_SEND)) {
        work again = {.left = AXO_PAYLOAD(message, work)->left}; /* without a number */
        (void)axo_send_from(ctx, message->sender, axo_self(ctx), TAG_WORK, &again, sizeof again);
    }
    if (world_is(KNOB_BURST))
        world_send(ctx, world_somebody(), 0);
    bool early = world_is(KNOB_PRE_RESTART);
    if (early && world_below(2) == 0)
        return world_fail(ctx);
    axo_status status = AXO_OK;
    if (world_is(KNOB_KEEP)) {
        if (world_is(KNOB_EARLY))
            world_spawn(ctx, me->depth);
        if (world_is(KNOB_STOP_CHILD))
            world_stop_child(ctx);
    } else {
        ghost_find(axo_self(ctx).bits)->stops_children = true;
        status = axo_default_pre_restart(ctx, state, failure, message);
    }
    return early ? world_fail(ctx) : status;
}

static axo_status world_post_restart(axo_ctx *ctx, void *state, const axo_failure *failure)
{
    const node *me = state;
    if (world_is(KNOB_EARLY))
        world_spawn(ctx, me->depth);
    if (world_is(KNOB_BURST))
        world_send(ctx, world_somebody(), 0);
    if (world_is(KNOB_POST_RESTART))
        return world_fail(ctx);
    return world_below(2) == 0 ? axo_default_post_restart(ctx, state, failure) : AXO_OK;
}

static const axo_class world_classes[] = {
    AXO_CLASS(.name = "all", .state_size = sizeof(node), .construct = world_construct,
              .pre_start = world_pre_start, .receive = world_receive,
              .post_stop = world_post_stop, .pre_restart = world_pre_restart,
              .post_restart = world_post_restart),
    AXO_CLASS(.name = "plain", .state_size = sizeof(node), .construct = world_construct,
              .pre_start = world_pre_start, .receive = world_receive,
              .post_stop = world_post_stop),
    AXO_CLASS(.name = "keeper", .state_size = sizeof(node), .construct = world_construct,
              .receive = world_receive, .pre_restart = world_pre_restart),
    AXO_CLASS(.name = "late", .state_size = sizeof(node), .construct = world_construct,
              .pre_start = world_pre_start, .receive = world_receive,
              .post_restart = world_post_restart),
};

static const axo_backoff world_backoffs[] = {
    AXO_BACKOFF(.min_ns = 70000, .max_ns = 3000000, .jitter = 0.5),
    AXO_BACKOFF(.min_ns = 1, .max_ns = 100000, .factor = 1000, .reset_after_ns = -1),
    AXO_BACKOFF(.kind = AXO_BACKOFF_LINEAR, .min_ns = 200000, .window_ns = 1000000,
                .noise_ns = 90000),
};

static const axo_strategy world_strategies[] = {
    AXO_STRATEGY(.decider = world_decide),
    AXO_STRATEGY(.scope = AXO_ALL_FOR_ONE, .decider = world_decide),
    AXO_STRATEGY(.decider = world_decide, .limited = 1, .retries_max = 2, .within_ns = 1000000),
    AXO_STRATEGY(.scope = AXO_ALL_FOR_ONE, .decider = world_decide, .limited = 1,
                 .retries_max = 3, .within_ns = -1),
    AXO_STRATEGY(.decider = world_decide, .window = AXO_WINDOW_SLIDING, .limited = 1,
                 .retries_max = 3, .within_ns = 2000000),
    AXO_STRATEGY(.scope = AXO_ALL_FOR_ONE, .decider = axo_decide_restart),
    AXO_STRATEGY(.decider = axo_decide_escalate),
    AXO_STRATEGY(.decider = axo_decide_stop, .limited = 1, .retries_max = 0),
    AXO_STRATEGY(.scope = AXO_REST_FOR_ONE, .decider = world_decide),
    AXO_STRATEGY(.scope = AXO_REST_FOR_ONE, .decider = world_decide, .limited = 1,
                 .retries_max = 2, .within_ns = 1000000),
    AXO_STRATEGY(.decider = world_decide, .backoff = &world_backoffs[0]),
    AXO_STRATEGY(.decider = axo_decide_restart, .backoff = &world_backoffs[1]),
    AXO_STRATEGY(.decider = axo_decide_restart, .limited = 1, .retries_max = 3,
                 .within_ns = 9000000, .backoff = &world_backoffs[2]),
    AXO_STRATEGY(.scope = AXO_ALL_FOR_ONE, .decider = world_decide,
                 .backoff = &world_backoffs[2]),
    AXO_STRATEGY(.scope = AXO_REST_FOR_ONE, .decider = axo_decide_restart,
                 .backoff = &world_backoffs[0]),
};

static uint32_t world_priority(const axo_message *message, void *user)
{
    (void)user;
    return message->tag == TAG_WORK && message->payload != NULL
               ? AXO_PAYLOAD(message, work)->priority
               : 1;
}

#define WORLD_BYTES (sizeof(axo__message) + sizeof(work))
#define WORLD_BOX(order, full, ...)                                                                \
    AXO_MAILBOX(.kind = order, .overflow = AXO_OVERFLOW_##full,                                    \
                .priority = order == AXO_MAILBOX_FIFO ? NULL : world_priority, __VA_ARGS__)

static const axo_mailbox world_mailboxes[] = {
    WORLD_BOX(AXO_MAILBOX_FIFO, PARK, .messages_max = 1),
    WORLD_BOX(AXO_MAILBOX_FIFO, PARK, .messages_max = 3),
    WORLD_BOX(AXO_MAILBOX_FIFO, PARK, .bytes_max = 2 * WORLD_BYTES),
    WORLD_BOX(AXO_MAILBOX_PRIORITY, PARK, .messages_max = 2),
    WORLD_BOX(AXO_MAILBOX_CONTROL, PARK, .messages_max = 2, .bytes_max = 3 * WORLD_BYTES),
    WORLD_BOX(AXO_MAILBOX_FIFO, REFUSE, .messages_max = 0),
    WORLD_BOX(AXO_MAILBOX_PRIORITY, REFUSE, .messages_max = 0),
    WORLD_BOX(AXO_MAILBOX_CONTROL, REFUSE, .messages_max = 0),
    WORLD_BOX(AXO_MAILBOX_FIFO, REFUSE, .messages_max = 2),
    WORLD_BOX(AXO_MAILBOX_PRIORITY, REFUSE, .bytes_max = 4 * WORLD_BYTES),
    WORLD_BOX(AXO_MAILBOX_FIFO, DROP_NEW, .messages_max = 2),
    WORLD_BOX(AXO_MAILBOX_PRIORITY, DROP_NEW, .messages_max = 3),
    WORLD_BOX(AXO_MAILBOX_FIFO, DROP_OLD, .messages_max = 2),
    WORLD_BOX(AXO_MAILBOX_CONTROL, DROP_OLD, .bytes_max = 3 * WORLD_BYTES),
};

#define WORLD_COUNT(array) ((uint32_t)(sizeof(array) / sizeof(array)[0]))

/* Good until the next call. */
static const axo_props *world_props(uint32_t depth)
{
    static node args;
    static axo_props props;
    static char name[16];
    static axo_mailbox mailbox;
    uint32_t strategy = world_below(WORLD_COUNT(world_strategies) + 4);
    args = (node){.depth = depth};
    props = (axo_props)AXO_PROPS(.cls = &world_classes[world_below(WORLD_COUNT(world_classes))],
                                 .args = &args, .args_size = sizeof args);
    if (world_below(3) == 0)
        props.lifetime = (axo_lifetime)(1 + world_below(2));
    if (strategy >= WORLD_COUNT(world_strategies))
        strategy %= 3;
    if (world_below(8) != 0)
        props.strategy = &world_strategies[strategy];
    (void)snprintf(name, sizeof name, "n%u", world_below(6));
    if (world_below(8) == 0)
        props.name = name;
    if (world_is(KNOB_POOL))
        props.dispatcher = 1 + world_below(3);
    props.stash_max = MAIL_ASIDE;
    if (world_is(KNOB_BOX)) {
        mailbox = world_mailboxes[world_below(WORLD_COUNT(world_mailboxes))];
        if (mailbox.overflow == AXO_OVERFLOW_PARK && w.knobs[KNOB_UNLIMITED] == 0)
            mailbox.park_ns = 1 + world_below(400000);
        props.mailbox = &mailbox;
    }
    return &props;
}

/* ---- the world's making ---- */

static void world_reset(uint64_t seed)
{
    static const uint16_t most[KNOBS] = {
        [KNOB_SPAWN] = 300,      [KNOB_STOP] = 40,         [KNOB_STOP_SELF] = 40,
        [KNOB_STOP_CHILD] = 60,  [KNOB_POISON] = 40,       [KNOB_KILL] = 60,
        [KNOB_WATCH] = 300,      [KNOB_UNWATCH] = 200,     [KNOB_SEND] = 800,
        [KNOB_AFTER] = 200,      [KNOB_TIMER] = 200,       [KNOB_FAIL] = 350,
        [KNOB_FATAL] = 100,
        [KNOB_UNHANDLED] = 100,  [KNOB_CONSTRUCT] = 300,   [KNOB_PRE_START] = 300,
        [KNOB_PRE_RESTART] = 400, [KNOB_POST_RESTART] = 400, [KNOB_POST_STOP] = 400,
        [KNOB_DECIDER] = 150,    [KNOB_KEEP] = 1024,       [KNOB_EARLY] = 400,
        [KNOB_REGION] = 300,     [KNOB_BECOME] = 200,      [KNOB_TOP] = 20,
        [KNOB_SHUTDOWN] = 20,    [KNOB_HOOK] = 800,        [KNOB_DRY] = 10,
        [KNOB_POOL] = 500,
        [KNOB_BOX] = 1024,       [KNOB_UNLIMITED] = 1,     [KNOB_STASH] = 300,
        [KNOB_UNSTASH] = 200,    [KNOB_FORWARD] = 200,     [KNOB_WITH] = 500,
        [KNOB_BURST] = 300,
    };
    memset(&w, 0, offsetof(world, known));
    w.owned = w.freed = w.deferred = w.undone = w.dead_letters = w.mine = w.bytes = 0;
    axo__random_init(&w.chance, seed, UINT64_C(0x776f726c64));
    for (uint32_t i = 0; i < KNOBS; i++) {
        bool off = world_below(3) == 0;
        if (i == KNOB_TOP || i == KNOB_SHUTDOWN)
            off = world_below(8) != 0;
        if (i == KNOB_SPAWN || i == KNOB_SEND || i == KNOB_FAIL)
            off = false;
        w.knobs[i] = off ? 0 : 1 + world_below(most[i]);
    }
    w.knobs[KNOB_SEND] += 200;
    if (world_below(2) == 0) { /* a life of mailboxes */
        w.knobs[KNOB_BOX] = 600 + world_below(400);
        w.knobs[KNOB_BURST] = 200 + world_below(600);
    }
}

#endif
