/* acts.c - what the simulated actors do, and what is done to them from outside. */
#include "acts.h"

#include "crash.h"
#include "drafts.h"
#include "reads.h"
#include "stops.h"
#include "timing.h"

#define ACTS_STORM_MAX 6
#define ACTS_GHOSTS    (GHOSTS_MAX / 8 * 7) /* the checker has room for so many */

/* Before any operation it may crash. */
static bool act_in(axo_ctx *ctx, uint32_t site, knob what)
{
    crash_point(ctx, site);
    return world_is(what);
}

/* ---- actors ---- */

void act_know(axo_ref ref, uint64_t identity, const axo_props *props)
{
    ghost *it = ghost_find(ref.bits);
    it->dispatcher = props->dispatcher;
    it->identity = identity;
    mail_know(it, axo__cell_bounded(look_at(it)));
    if (w.refs < GHOSTS_MAX)
        w.known[w.refs++] = ref;
}

/* Whether a name is unique among the living, and free again (NM): who has it, if it is refused. */
static void act_named(const ghost *parent, const axo_props *props, axo_status status)
{
    const ghost *other = ghost_at(parent->first_child);
    if (props->name == NULL)
        return;
    while (other != NULL && strcmp(other->name, props->name) != 0)
        other = ghost_at(other->next_child);
    if (status == AXO_EEXIST) {
        HOLDS(27, parent, other != NULL, "a name is taken that nobody has");
        probe_hit(PROBE_NAME_TAKEN);
    }
}

/* The newborn is the first of its parent's children. */
static void act_name(ghost *it, const char *name)
{
    if (name == NULL)
        return;
    for (const ghost *other = ghost_at(it->next_child); other != NULL;
         other = ghost_at(other->next_child))
        HOLDS(27, it, look_is_over(other) || strcmp(other->name, name) != 0,
              "two living siblings of one name");
    (void)snprintf(it->name, sizeof it->name, "%s", name);
}

static void act_spawn(axo_ctx *ctx, uint32_t depth)
{
    axo_ref child;
    const ghost *me = ghost_find(axo_self(ctx).bits);
    uint64_t identity = world_mix(w.now_runs.at, me->identity);
    if (g.living >= w.living_max || depth >= WORLD_DEPTH_MAX || w.calm || g.count > ACTS_GHOSTS)
        return;
    const axo_props *props = world_props(depth + 1);
    uint32_t before = me->children;
    axo_status status = axo_spawn(ctx, props, &child);
    HOLDS(57, me, (status == AXO_OK) == (me->children > before),
          "a spawn that failed has left a child, or one that did not has none");
    act_named(me, props, status);
    if (status == AXO_OK) {
        HOLDS(28, me, !me->stopping, "one that stops has spawned");
        act_name(ghost_find(child.bits), props->name);
        act_know(child, identity, props);
        return;
    }
    HOLDS(57, me, axo_ref_is_none(child), "a spawn failed and gave a reference");
    if (status == AXO_ENOMEM && w.dry)
        probe_hit(PROBE_SPAWN_NO_MEMORY);
}

/* ---- messages ---- */

bool act_may_send(uint64_t from, axo_ref to)
{
    const ghost *it = ghost_find(to.bits);
    return it == NULL || !it->narrow || it >= ghost_find(from);
}

bool act_accepted(axo_status status, axo_ref to)
{
    const ghost *it = ghost_find(to.bits);
    const axo__cell *cell =
        axo__table_at(&l.system->core.table, (uint32_t)(to.bits & AXO__SLOT_MASK));
    if (status == AXO_EGONE && cell != NULL && axo__cell_has_life(cell))
        probe_hit(PROBE_STALE_REFERENCE);
    HOLDS_ALL(53, status != AXO_OK || it != NULL, "a reference of nobody has taken a message");
    if (status == AXO_OK || status == AXO_EGONE)
        return true;
    if (!(status == AXO_ENOMEM && w.dry) && !(status == AXO_EFULL && it != NULL && it->boxed))
        ghost_violated(42, "a send: %s", axo_status_name(status));
    return false;
}

static void act_send(axo_ctx *ctx, axo_ref to, uint32_t left)
{
    uint64_t from = axo_self(ctx).bits;
    if (!act_may_send(from, to))
        return;
    work next = mail_new(from, to, left, world_below(MAIL_PRIORITIES));
    bool hand_over = world_below(4) == 0;
    mail_sent(next.number);
    if (hand_over) {
        work *owned = malloc(sizeof *owned);
        *owned = next;
        w.owned++;
        axo_status status =
            axo_send_owned(ctx, to, TAG_WORK, owned, sizeof *owned, world_free_payload, &w);
        if (act_accepted(status, to)) {
            mail_accepted(from, &next, status);
            return;
        }
        w.owned--;
        free(owned);
    } else {
        axo_status status = axo_send(ctx, to, TAG_WORK, &next, sizeof next);
        if (act_accepted(status, to)) {
            mail_accepted(from, &next, status);
            return;
        }
    }
    mail_refused(next.number);
}

/* true: the message is somebody else's. */
static bool act_forward(axo_ctx *ctx, const axo_message *message)
{
    const work *it = message->payload;
    axo_ref to = world_somebody();
    uint32_t number = it->number;
    if (!act_may_send(axo_self(ctx).bits, to))
        return false;
    m.passed_on[number] = 1;
    mail_sent(number);
    if (act_accepted(axo_forward(ctx, message, to), to)) {
        m.sending = 0;
        return true;
    }
    mail_refused(number);
    m.state[number] = MAIL_HANDLED;
    return false;
}

static void act_ask(axo_ctx *ctx)
{
    axo_ref whom = world_somebody();
    if (g.living >= w.living_max || !act_may_send(axo_self(ctx).bits, whom))
        return;
    uint64_t id = mail_ask(axo_self(ctx).bits);
    axo_status status = axo_ask(ctx, whom, TAG_ASK, &id, sizeof id, 1 + world_below(400000), id);
    if (status != AXO_OK)
        mail_unasked(id);
}

static axo_status act_answered(axo_ctx *ctx, const axo_message *message)
{
    if (message->tag == AXO_ASK_ANSWER) {
        mail_answered(axo_self(ctx).bits, AXO_PAYLOAD(message, axo_answer)->id);
        probe_hit(PROBE_ASK_ANSWERED);
        return AXO_OK;
    }
    const axo_verdict *verdict = message->payload;
    mail_answered(axo_self(ctx).bits, verdict->id);
    if (verdict->status == AXO_ETIMEDOUT)
        probe_hit(PROBE_ASK_LATE);
    return AXO_OK;
}

/* The first of these messages are restarts just below the budgets of the strategies, at them and
 * above. */
static void act_storm(axo_ctx *ctx)
{
    axo_ref to = axo_self(ctx);
    if (world_below(2) == 0)
        to = world_somebody();
    if (!act_may_send(axo_self(ctx).bits, to))
        return;
    for (uint32_t i = 1 + world_below(ACTS_STORM_MAX); i > 0; i--)
        (void)act_accepted(axo_send(ctx, to, TAG_STORM, NULL, 0), to);
}

/* ---- watches, stops ---- */

static void act_watch(axo_ctx *ctx, axo_ref whom)
{
    const ghost *me = ghost_find(axo_self(ctx).bits);
    if (me->watch_count >= WORLD_WATCHES_MAX)
        return;
    uint32_t before = me->watch_count;
    const ghost_watch *watch = ghost_watching(ghost_find(axo_self(ctx).bits), whom.bits);
    bool own = world_is(KNOB_WITH);
    bool same = watch == NULL || (!own && !watch->own);
    axo_status status =
        own ? axo_watch_with(ctx, whom, TAG_LOST, &whom, sizeof whom) : axo_watch(ctx, whom);
    if (status == AXO_ENOMEM && w.dry)
        HOLDS(57, me, me->watch_count == before, "a watch that failed was made");
    else if (status != AXO_OK && !(status == AXO_EINVAL && !same))
        ghost_violated(41, "axo_watch: %s", axo_status_name(status));
    if (me->watch_count > before)
        ghost_find(axo_self(ctx).bits)->watches[before].own = own;
}

void world_watch_late(axo_ctx *ctx)
{
    const ghost *me = ghost_find(axo_self(ctx).bits);
    const ghost *child = ghost_at(me->first_child);
    while (child != NULL && !child->terminated)
        child = ghost_at(child->next_child);
    if (child == NULL)
        return;
    g.memory_barred = 0; /* the failure itself is over */
    act_watch(ctx, (axo_ref){.bits = child->bits});
}

static void act_unwatch(axo_ctx *ctx)
{
    const ghost *me = ghost_find(axo_self(ctx).bits);
    axo_ref whom = world_somebody();
    if (me->watch_count > 0 && world_below(4) != 0)
        whom.bits = me->watches[world_below(me->watch_count)].target;
    (void)axo_unwatch(ctx, whom);
}

static void act_own(axo_ctx *ctx)
{
    char *block = axo_alloc(ctx, 1 + world_below(700));
    if (block != NULL)
        block[0] = 1;
    if (axo_defer(ctx, world_undo, &w) == AXO_OK)
        w.deferred++;
}

/* ---- one thing after the other ---- */

static axo_status act_receive(axo_ctx *ctx, void *state, const axo_message *message);
static axo_status act_become(axo_ctx *ctx, void *state, const axo_message *message);

static void act_change(axo_ctx *ctx)
{
    ghost *me = ghost_find(axo_self(ctx).bits);
    axo_status status = axo_become(ctx, act_become);
    if (status != AXO_OK && !w.dry)
        ghost_fail("axo_become failed");
    if (status == AXO_OK)
        me->behaviours++;
    if (world_is(KNOB_BECOME)) {
        (void)axo_unbecome(ctx);
        if (me->behaviours > 0)
            me->behaviours--;
    }
}

/* However often it asks in a turn, it is one settle. */
static void act_want_settle(axo_ctx *ctx)
{
    ghost *it = ghost_find(axo_self(ctx).bits);
    axo_status status = axo_want_settle(ctx);
    HOLDS(62, it, status == (it->cls->settle != NULL ? AXO_OK : AXO_EINVAL), "settle was refused");
    if (status != AXO_OK)
        return;
    it->settles = it->instance;
    it->settle_excused = false;
}

static bool act_is(axo_ctx *ctx, knob what)
{
    return act_in(ctx, AXO_SITE_RECEIVE, what);
}

static void act_upon(axo_ctx *ctx, const node *me)
{
    if (act_is(ctx, KNOB_SPAWN))
        act_spawn(ctx, me->depth);
    if (act_is(ctx, KNOB_STOP))
        stops_one(ctx, world_somebody());
    if (act_is(ctx, KNOB_STOP_SELF))
        stops_self(ctx);
    if (act_is(ctx, KNOB_STOP_CHILD))
        stops_child(ctx);
    if (act_is(ctx, KNOB_STOP_KIN))
        stops_kin(ctx);
    if (act_is(ctx, KNOB_POISON))
        stops_queued(ctx, false);
    if (act_is(ctx, KNOB_KILL))
        stops_queued(ctx, true);
    if (act_is(ctx, KNOB_WATCH))
        act_watch(ctx, world_somebody());
    if (act_is(ctx, KNOB_UNWATCH))
        act_unwatch(ctx);
}

/* Open drafts, and guards, one of which may stay to the callback's end. */
static void act_open(axo_ctx *ctx)
{
    bool guards = world_below(3) == 0;
    for (uint32_t i = 1 + world_below(2); guards && i > 0; i--) {
        crash_guard(ctx);
        crash_point(ctx, AXO_SITE_RECEIVE);
    }
    if (world_below(2) == 0)
        drafts_act(ctx, AXO_SITE_RECEIVE);
    if (guards && world_below(8) != 0)
        crash_unguard(ctx);
    crash_point(ctx, AXO_SITE_RECEIVE);
}

static void act_for_itself(axo_ctx *ctx)
{
    if (act_is(ctx, KNOB_REGION))
        act_own(ctx);
    if (act_is(ctx, KNOB_TIMER))
        timing_act(ctx);
    if (act_is(ctx, KNOB_READ))
        reads_act(ctx);
    if (act_is(ctx, KNOB_SETTLE))
        act_want_settle(ctx);
    if (act_is(ctx, KNOB_BECOME))
        act_change(ctx);
    if (act_is(ctx, KNOB_DRAFT))
        act_open(ctx);
    if (act_is(ctx, KNOB_SHUTDOWN) && world_is(KNOB_SHUTDOWN))
        (void)axo_system_shutdown(axo_system_of(ctx));
}

static void act(axo_ctx *ctx, const node *me, uint32_t left)
{
    act_upon(ctx, me);
    act_for_itself(ctx);
    if (left == 0)
        return;
    for (uint32_t i = 0; i < 2; i++) {
        if (act_is(ctx, KNOB_SEND))
            act_send(ctx, world_somebody(), left - 1);
    }
    if (act_is(ctx, KNOB_CAUSE)) {
        axo_ref to = {.bits = mail_heard(axo_self(ctx).bits)};
        if (to.bits != 0)
            act_send(ctx, to, left - 1);
    }
    if (act_is(ctx, KNOB_BURST)) {
        axo_ref to = world_somebody();
        for (uint32_t i = 1 + world_below(8); i > 0; i--) {
            act_send(ctx, to, world_below(2) == 0 ? 0 : left - 1);
            crash_point(ctx, AXO_SITE_RECEIVE);
        }
    }
    if (act_is(ctx, KNOB_ASK))
        act_ask(ctx);
    if (act_is(ctx, KNOB_STORM))
        act_storm(ctx);
    if (act_is(ctx, KNOB_AFTER))
        timing_later(ctx, left);
    crash_point(ctx, AXO_SITE_RECEIVE);
}

/* Behind the end of the children of an instance it makes another one: only where crashes are, so
 * that all other seeds are what they were. */
static void act_spawn_late(axo_ctx *ctx, uint32_t depth)
{
    ghost *it = ghost_find(axo_self(ctx).bits);
    uint32_t before = it->children;
    if (w.knobs[KNOB_CRASH] == 0 || !world_is(KNOB_EARLY))
        return;
    act_spawn(ctx, depth);
    if (it->children == before)
        return;
    it->spawned_late = true;
    it->stops_children = false;
}

/* ---- callbacks ---- */

/* A new instance has nothing of the one before: a zeroed state, no behaviour, no key. */
static axo_status act_construct(axo_ctx *ctx, void *state, const void *args)
{
    node *me = state;
    ghost *it = world_enter(ctx, NULL);
    it->within = false;
    HOLDS(20, it, me->depth == 0, "the state was not zeroed");
    for (uint64_t key = 0; key < 3; key++)
        HOLDS(20, it, !axo_timer_active(ctx, key), "a key outlives its instance");
    *me = *(const node *)args;
    if (act_in(ctx, AXO_SITE_CONSTRUCT, KNOB_REGION))
        act_own(ctx);
    if (world_is(KNOB_EARLY))
        act_spawn(ctx, me->depth);
    crash_point(ctx, AXO_SITE_CONSTRUCT);
    return world_is(KNOB_CONSTRUCT) ? world_fail(ctx) : AXO_OK;
}

static axo_status act_pre_start(axo_ctx *ctx, void *state)
{
    stream before;
    const node *me = state;
    (void)world_enter(ctx, &before);
    crash_point(ctx, AXO_SITE_PRE_START);
    for (uint32_t i = world_below(3); i > 0; i--) {
        if (me->depth < 3 || world_is(KNOB_EARLY))
            act_spawn(ctx, me->depth);
    }
    if (act_in(ctx, AXO_SITE_PRE_START, KNOB_WATCH))
        act_watch(ctx, world_somebody());
    if (world_is(KNOB_TIMER))
        timing_act(ctx);
    if (act_in(ctx, AXO_SITE_PRE_START, KNOB_HOOK) && axo_termination_hook(ctx) == AXO_OK)
        act_watch(ctx, world_somebody());
    if (act_in(ctx, AXO_SITE_PRE_START, KNOB_PRE_START))
        return world_fail(ctx);
    world_leave(&before);
    return AXO_OK;
}

static axo_status act_work(axo_ctx *ctx, node *me, const axo_message *message)
{
    uint32_t left = AXO_PAYLOAD(message, work)->left;
    if (act_is(ctx, KNOB_DRY))
        w.dry = !w.dry;
    if (world_is(KNOB_STASH))
        (void)mail_stash(ctx, message);
    else if (world_is(KNOB_FORWARD) && left > 0 && AXO_PAYLOAD(message, work)->number != 0)
        (void)act_forward(ctx, message);
    if (act_is(ctx, KNOB_UNSTASH))
        mail_unstash(ctx, world_below(3) == 0 ? UINT32_MAX : 1 + world_below(4));
    for (uint32_t i = 1 + world_below(2); i > 0; i--)
        act(ctx, me, left);
    if (act_is(ctx, KNOB_FAIL))
        return world_fail(ctx);
    return world_is(KNOB_UNHANDLED) ? AXO_UNHANDLED : AXO_OK;
}

static axo_status act_told_of_end(axo_ctx *ctx, const node *me, const axo_message *message)
{
    axo_ref self = axo_self(ctx);
    mail_noticed(message->sender.bits, self.bits);
    if (message->tag == AXO_TERMINATED)
        ghost_noticed(self.bits, AXO_PAYLOAD(message, axo_terminated));
    else
        ghost_lost(self.bits, AXO_PAYLOAD(message, axo_ref)->bits, message->sender.bits);
    act(ctx, me, 0);
    if (world_is(KNOB_FAIL))
        return world_fail(ctx);
    return world_is(KNOB_UNHANDLED) ? AXO_UNHANDLED : AXO_OK;
}

static axo_status act_other(axo_ctx *ctx, const node *me, const axo_message *message)
{
    ghost *it = ghost_find(axo_self(ctx).bits);
    switch (message->tag) {
    case AXO_TERMINATED:
    case TAG_LOST:
        return act_told_of_end(ctx, me, message);
    case AXO_TERMINATION_HOOK:
        if (w.knobs[KNOB_CRASH] == 0) /* who crashes would never say that it is done */
            act(ctx, me, 0);
        HOLDS(41, it, axo_termination_hook_done(ctx) == AXO_OK, "a hook's answer is refused");
        return AXO_OK;
    case AXO_ASK_ANSWER:
    case AXO_ASK_FAILED:
        return act_answered(ctx, message);
    case TAG_PING:
        it->pongs++;
        mail_unstash(ctx, UINT32_MAX);
        return AXO_OK;
    case TAG_ASK:
        if (act_is(ctx, KNOB_REPLY))
            (void)axo_reply(ctx, message, TAG_REPLY, message->payload, message->size);
        crash_point(ctx, AXO_SITE_RECEIVE);
        return AXO_OK;
    case AXO_IO_READY:
        reads_ready(ctx, message);
        break;
    case TAG_STORM:
        return w.calm ? AXO_OK : axo_fail(ctx, 1, "a storm");
    case TAG_KEYED:
        HOLDS(51, it, AXO_PAYLOAD(message, keyed)->instance == it->instance,
              "a tick of an instance that is gone");
        HOLDS(51, it, AXO_PAYLOAD(message, keyed)->due <= axo_system_now(axo_system_of(ctx)),
              "a tick comes early");
        break;
    default:
        break;
    }
    if (w.calm)
        return timing_quiet(ctx);
    act(ctx, me, 0);
    return world_is(KNOB_FAIL) ? world_fail(ctx) : AXO_OK;
}

static axo_status act_any(axo_ctx *ctx, node *me, const axo_message *message, bool changed)
{
    const ghost *it = world_enter(ctx, NULL);
    HOLDS(20, it, (it->behaviours > 0) == changed, "another behaviour than the one on top");
    if (message->tag == AXO_REQUEST_FAILED) {
        mail_request_failed(it->bits, message);
        return AXO_OK;
    }
    crash_handles(message);
    mail_request(it->bits, message);
    mail_received(ctx, message);
    return message->tag == TAG_WORK ? act_work(ctx, me, message) : act_other(ctx, me, message);
}

static axo_status act_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    return act_any(ctx, state, message, false);
}

static axo_status act_become(axo_ctx *ctx, void *state, const axo_message *message)
{
    return act_any(ctx, state, message, true);
}

/* Asked for by this very instance, once an ask; no suspended or ending one is settled. */
static axo_status act_settle(axo_ctx *ctx, void *state)
{
    ghost *it = world_enter(ctx, NULL);
    const node *me = state;
    HOLDS(62, it, it->settles != 0 && it->settles == it->instance, "nobody has asked to settle");
    HOLDS(62, it, it->live && it->started && me->depth != 0, "an instance that is none is settled");
    HOLDS(62, it, it->suspends == 0 && !it->failed && !it->stopping && !it->remaking,
          "one that is suspended, or ends, is settled");
    it->settles = 0;
    g.memory_barred = 0; /* no event tells of it */
    if (act_in(ctx, AXO_SITE_SETTLE, KNOB_SEND))
        act_send(ctx, world_somebody(), 0);
    if (act_in(ctx, AXO_SITE_SETTLE, KNOB_STOP_SELF))
        stops_self(ctx);
    if (world_is(KNOB_STOP_KIN))
        stops_kin(ctx);
    if (act_in(ctx, AXO_SITE_SETTLE, KNOB_DRAFT))
        drafts_act(ctx, AXO_SITE_SETTLE);
    if (world_is(KNOB_SETTLE)) {
        act_want_settle(ctx);
        it->settle_excused = true; /* a stop may come before its turn */
        probe_hit(PROBE_SETTLE_AGAIN);
    }
    crash_point(ctx, AXO_SITE_SETTLE);
    if (!world_is(KNOB_SETTLE_FAIL))
        return AXO_OK;
    probe_hit(PROBE_SETTLE_FAILED);
    return world_fail(ctx);
}

static axo_status act_post_stop(axo_ctx *ctx, void *state)
{
    stream before;
    const node *me = state;
    ghost *it = world_enter(ctx, &before);
    HOLDS(62, it, it->settles != it->instance || it->settle_excused,
          "it stops, and was not settled before");
    it->settles = 0;
    axo_ref to = world_somebody();
    if (act_in(ctx, AXO__SITE_POST_STOP, KNOB_SEND))
        act_send(ctx, to, 0);
    if (act_in(ctx, AXO__SITE_POST_STOP, KNOB_TIMER))
        timing_act(ctx);
    act_spawn_late(ctx, me->depth);
    if (act_in(ctx, AXO__SITE_POST_STOP, KNOB_POST_STOP))
        return world_fail(ctx);
    world_leave(&before);
    return AXO_OK;
}

static axo_status act_pre_restart(axo_ctx *ctx, void *state, const axo_failure *failure,
                                  const axo_message *message)
{
    node *me = state;
    ghost *it = world_enter(ctx, NULL);
    HOLDS(20, it, failure->kind != AXO_FAILURE_NONE, "a restart without a cause");
    HOLDS(75, it, !it->poison_told || message == NULL, "poison is shown to pre_restart");
    crash_check_failure(failure);
    crash_point(ctx, AXO__SITE_PRE_RESTART);
    if (message != NULL && message->tag == TAG_WORK && message->payload != NULL &&
        world_is(KNOB_SEND)) {
        work again = {.left = AXO_PAYLOAD(message, work)->left}; /* without a number */
        (void)axo_send_from(ctx, message->sender, axo_self(ctx), TAG_WORK, &again, sizeof again);
    }
    if (act_in(ctx, AXO__SITE_PRE_RESTART, KNOB_BURST))
        act_send(ctx, world_somebody(), 0);
    bool early = world_is(KNOB_PRE_RESTART);
    if (early && world_below(2) == 0)
        return world_fail(ctx);
    axo_status status = AXO_OK;
    if (world_is(KNOB_KEEP)) {
        if (world_is(KNOB_EARLY))
            act_spawn(ctx, me->depth);
        if (act_in(ctx, AXO__SITE_PRE_RESTART, KNOB_STOP_CHILD))
            stops_child(ctx);
    } else {
        it->stops_children = true;
        model_leave_children(it);
        status = axo_default_pre_restart(ctx, state, failure, message);
        act_spawn_late(ctx, me->depth);
    }
    crash_point(ctx, AXO__SITE_PRE_RESTART);
    return early ? world_fail(ctx) : status;
}

static axo_status act_post_restart(axo_ctx *ctx, void *state, const axo_failure *failure)
{
    const node *me = state;
    ghost *it = world_enter(ctx, NULL);
    crash_check_failure(failure);
    if (act_in(ctx, AXO_SITE_POST_RESTART, KNOB_EARLY))
        act_spawn(ctx, me->depth);
    if (act_in(ctx, AXO_SITE_POST_RESTART, KNOB_BURST))
        act_send(ctx, world_somebody(), 0);
    if (world_is(KNOB_POST_RESTART))
        return world_fail(ctx);
    if (world_below(2) != 0)
        return AXO_OK;
    it->within = true;
    axo_status status = axo_default_post_restart(ctx, state, failure);
    it->within = false;
    crash_point(ctx, AXO_SITE_POST_RESTART);
    return status;
}

/* Each twice: the second one's crashes are failures. */
#define ACT_CLASSES(crash)                                                                         \
    AXO_CLASS(.name = "all", .state_size = sizeof(node), .construct = act_construct,               \
              .pre_start = act_pre_start, .receive = act_receive, .post_stop = act_post_stop,      \
              .pre_restart = act_pre_restart, .post_restart = act_post_restart,                    \
              .settle = act_settle, .on_crash = crash),                                            \
        AXO_CLASS(.name = "plain", .state_size = sizeof(node), .construct = act_construct,         \
                  .pre_start = act_pre_start, .receive = act_receive,                              \
                  .post_stop = act_post_stop, .settle = act_settle, .on_crash = crash),            \
        AXO_CLASS(.name = "keeper", .state_size = sizeof(node), .construct = act_construct,        \
                  .receive = act_receive, .pre_restart = act_pre_restart, .on_crash = crash),      \
        AXO_CLASS(.name = "late", .state_size = sizeof(node), .construct = act_construct,          \
                  .pre_start = act_pre_start, .receive = act_receive,                              \
                  .post_restart = act_post_restart, .on_crash = crash)

static const axo_class act_classes[] = {ACT_CLASSES(AXO_CRASH_ENDS), ACT_CLASSES(AXO_CRASH_FAILS)};

const axo_class *world_class(uint32_t which)
{
    return &act_classes[which % WORLD_COUNT(act_classes)];
}
