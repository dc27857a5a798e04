/* life.c - what must hold of an actor's life, event by event. */
#include "life.h"

#include "look.h"
#include "sched/kinds.h"

/* ---- callbacks ---- */

static bool ghost_is_served(const ghost *it)
{
    static const axo__sched_kind *const kinds[] = {
        [AXO_DISPATCH_DEFAULT] = &axo__fixed_kind,
        [AXO_DISPATCH_PINNED] = &axo__pinned_kind,
        [AXO_DISPATCH_BLOCKING] = &axo__elastic_kind,
        [AXO_DISPATCH_HOST] = &axo__host_kind,
    };
    if (g.lent && it->dispatcher != AXO_DISPATCH_HOST)
        return axo__self->sched == &l.system->sched;
    return g.manual || axo__self->sched->kind == kinds[it->dispatcher];
}

/* The default pre_restart of one that has many children goes on in its next turn. */
static void ghost_pause(void)
{
    const axo__family *family = g.inside != NULL ? axo__cell_family(look_at(g.inside)) : NULL;
    if (family != NULL && family->sweep.ops != NULL)
        g.inside = NULL;
}

static void ghost_bar(const ghost *it)
{
    g.memory_barred = it->self + 1;
    g.barred = axo__self;
    g.barred_in = axo__self->current;
}

/* A turn that follows is another actor's, which may take memory before it tells of anything. */
bool ghost_is_barred(void)
{
    const axo__cell *now = axo__self != NULL ? axo__self->current : NULL;
    return g.memory_barred != 0 && g.barred == axo__self && (now == NULL || now == g.barred_in);
}

static void ghost_enter(ghost *it, const axo_event *e)
{
    uint32_t pool = e->worker >> 16;
    ghost_pause();
    HOLDS(73, it, !it->broken, "a callback of an instance that has crashed");
    bool nested = e->kind == AXO_EV_POST_STOP && it->letters == STATE_HALF;
    HOLDS(1, it, nested || (!it->inside && g.inside == NULL), "a callback within a callback");
    HOLDS(1, it, e->worker != GHOST_NOBODY, "a callback outside of a worker");
    if (it->pool == GHOST_NOBODY)
        it->pool = pool;
    HOLDS(7, it, it->pool == pool, "it runs on another dispatcher's worker");
    HOLDS(7, it, ghost_is_served(it), "it runs on a worker of a dispatcher it did not ask for");
    it->inside = true;
    g.inside = it;
    g.memory_barred = 0;
}

static void ghost_leave(ghost *it)
{
    it->inside = false;
    g.inside = NULL;
}

void ghost_outside(void)
{
    ghost_pause();
    HOLDS_ALL(1, g.inside == NULL, "a step is over, and its worker is inside %014" PRIx64,
              g.inside != NULL ? g.inside->bits : 0);
    g.step++;
    g.step_worker = GHOST_NOBODY;
    g.memory_barred = 0;
}

/* ---- life ---- */

static void ghost_link(ghost *parent, ghost *it)
{
    it->next_child = parent->first_child;
    parent->first_child = it->self;
    parent->children++;
}

static void ghost_spawned(const axo_event *e)
{
    ghost *it = ghost_make(e->actor.bits);
    ghost *parent = e->arg != 0 ? ghost_find(e->arg) : NULL;
    it->parent = e->arg;
    it->suspends = e->suspends;
    it->born_in = parent != NULL ? parent->instance : 0;
    it->ancestors = parent != NULL ? parent->ancestors + 1 : 0;
    it->guardian = g.count <= GHOST_GUARDIANS;
    if (!it->guardian)
        g.living++;
    if (parent == NULL)
        return;
    ghost_link(parent, it);
    it->unsure = e->worker == GHOST_NOBODY || parent->guardian;
    if (e->worker == GHOST_NOBODY || it->guardian)
        return;
    HOLDS(28, it, !parent->terminated && !parent->stopping, "spawned by one that is stopping");
    HOLDS(28, it, parent->suspends == e->suspends, "spawned with another suspend count");
    parent->spawned_early = parent->spawned_early || !parent->started;
    if (e->suspends > 0)
        probe_hit(PROBE_BORN_SUSPENDED);
    if (parent->inside && parent->letters == STATE_HALF)
        probe_hit(PROBE_SPAWN_IN_PRE_RESTART);
}

/* Children that were told to stop are gone; and those of an instance that did not start (D4,
 * IN-06). */
static void ghost_orphans(ghost *it)
{
    for (ghost *child = ghost_at(it->first_child); child != NULL;
         child = ghost_at(child->next_child)) {
        HOLDS(24, it, !child->stop_told && !child->excused,
              "constructed before a child that stops has left");
        if (it->unmade && child->born_in == it->instance)
            HOLDS(24, it, child->gone, "constructed before its failed attempt's children left");
    }
}

static void ghost_construct(ghost *it, const axo_event *e)
{
    HOLDS(4, it, !it->live, "a second instance beside the first");
    if (it->lifetime == AXO_TEMPORARY)
        HOLDS(20, it, e->instance == 1, "a temporary actor is made again"); /* LT-02..LT-05 */
    HOLDS(4, it, !it->stopping, "constructed while it stops");
    HOLDS(4, it, e->instance == it->instance + 1, "instances are not counted one by one");
    if (it->stops_children)
        HOLDS(24, it, it->children == 0, "constructed before its children were gone");
    if (it->children > 0)
        ghost_orphans(it);
    if (it->restarting && it->made == AXO__INSTANCE_BROKEN && it->unmade)
        probe_hit(PROBE_RESTART_AGAIN);
    it->unmade = true;
    it->instance = e->instance;
    it->constructing = true;
    it->unsure = false;
    it->spawned_early = false;
    it->behaviours = 0;
    it->started = it->pre_restarted = it->post_stopped = it->stops_children = false;
    it->spawned_late = it->poison_told = false;
}

static void ghost_constructed(ghost *it, const axo_event *e)
{
    HOLDS(4, it, it->constructing, "constructed without construct");
    it->constructing = false;
    it->must_fail = e->arg != 0;
    it->remaking = it->remaking && e->arg == 0;
    if (e->arg != 0)
        return;
    it->live = true;
    it->constructs++;
}

static void ghost_started(ghost *it, const axo_event *e)
{
    HOLDS(4, it, it->live && !it->started, "started twice");
    it->started = e->arg == 0;
    it->unmade = it->must_fail = !it->started;
    it->remaking = false;
    it->mending = it->mending && !it->started;
    if (!it->started && it->spawned_early)
        probe_hit(PROBE_SPAWN_IN_PRE_START);
}

static void ghost_pre_restart(ghost *it, const axo_event *e)
{
    HOLDS(75, it, !it->poison_told || e->arg == 0, "pre_restart is shown poison");
    HOLDS(20, it, (e->arg != 0) == (it->has_message && !it->poison_told),
          "pre_restart has another message than the one it failed under");
    HOLDS(23, it, it->live && it->started, "pre_restart of one that did not start");
    HOLDS(23, it, !it->pre_restarted, "a second pre_restart of one instance");
    HOLDS(23, it, !it->stopping, "pre_restart while it stops");
    HOLDS(23, it, it->suspends > 0, "pre_restart of one that is not suspended");
    it->pre_restarted = true;
    it->remaking = true;
    it->remade = false;
}

static void ghost_post_stop(ghost *it)
{
    HOLDS(29, it, it->live && it->started, "post_stop of one that did not start");
    HOLDS(29, it, !it->post_stopped, "a second post_stop of one instance");
    if (it->stopping && !it->guardian)
        HOLDS(24, it, it->children == 0, "post_stop before its children were gone");
    it->post_stopped = true;
}

/* Looked at before the grammar, to which an instance that is left is a letter like any. */
static void ghost_instance_ends(const ghost *it, uint32_t kind)
{
    if (kind == AXO_EV_DESTROY)
        HOLDS(29, it, it->live && !it->inside, "destroyed without an instance, or inside it");
    if (kind == AXO_EV_TERMINATED)
        HOLDS(29, it, !it->live && it->constructs == it->destroys, "terminated with an instance");
}

static void ghost_terminated(ghost *it)
{
    HOLDS(26, it, !it->parked, "terminated, and parked");
    HOLDS(24, it, it->children == 0 || it->guardian, "terminated with children");
    it->terminated = true; /* a report may be decided still, until the parent knows */
    it->watch_count = 0;
    if (it->delayed)
        probe_hit(PROBE_DELAY_OUTLIVED);
    if (!it->guardian)
        g.living--;
}

/* One that is no actor of the world's, as who waits for an answer: it says nothing itself. */
static void ghost_noticed_there(ghost *it)
{
    for (uint32_t i = 0; i < it->watch_count; i++) {
        if (it->watches[i].queued) {
            ghost_unwatch(it, &it->watches[i]);
            return;
        }
    }
}

static void ghost_receive(ghost *it, uint64_t tag)
{
    if (it->identity == 0 && tag == AXO_TERMINATED)
        ghost_noticed_there(it);
    HOLDS(5, it, it->live && it->started, "a message to one that has not started");
    HOLDS(5, it, it->suspends == 0, "a message to one that is suspended");
    HOLDS(5, it, !it->failed, "a message to one that has failed");
    HOLDS(5, it, !it->stopping && !it->post_stopped, "a message to one that stops");
    HOLDS(23, it, !it->pre_restarted && !it->remaking, "a message within a restart");
    HOLDS(5, it, !it->parked, "a message to one that is parked");
    HOLDS(44, it, !it->stop_asked || it->lifetime == AXO_PERMANENT, "a message after a stop");
    it->refused = it->put_aside = false;
}

static void ghost_received(ghost *it, const axo_event *e)
{
    HOLDS(1, it, it->inside, "received without receive");
    it->refused =
        e->arg != 0 && !(it->put_aside && e->arg == (uint32_t)AXO_UNHANDLED); /* it is not over */
    it->must_fail = e->arg != 0 && e->arg != (uint32_t)AXO_UNHANDLED;
}

/* LT-06, LT-07: a permanent actor ends for its parent only. */
static void ghost_check_permanent(const ghost *it)
{
    const ghost *parent = ghost_find(it->parent);
    HOLDS(15, it,
          it->excused || parent->stopping || parent->remaking || parent->harsh ||
              parent->guardian || parent->unmade || parent->broken,
          "a permanent actor ends, and its parent has not said so");
}

static void ghost_stopping(ghost *it)
{
    if (it->parent == 0)
        HOLDS(19, it, !it->stopping, "the root stops twice");
    HOLDS(26, it, !it->stopping, "stops twice");
    if (it->lifetime == AXO_PERMANENT)
        ghost_check_permanent(it);
    if (it->remaking)
        probe_hit(PROBE_STOP_BETWEEN_HALVES);
    if (it->parent == 0) {
        for (uint32_t i = 0; i < g.count; i++) {
            if (g.all[i].remaking && !g.all[i].terminated)
                probe_hit(PROBE_STOP_WHILE_RESTARTING);
        }
    }
    it->stopping = true;
    it->remaking = false;
}

/* ---- suspension ---- */

/* Between the two halves of a restart, and in them, nothing but a stop is taken. */
static void ghost_atomic(ghost *it, bool own_end)
{
    if (!it->remaking)
        return;
    HOLDS(23, it, own_end && !it->remade, "a directive is taken within a restart");
    it->remade = true;
}

static void ghost_suspend(ghost *it, const axo_event *e)
{
    it->suspends++;
    HOLDS(10, it, it->stop_told || it->suspends <= 2 * it->ancestors + 2 + g.pauses,
          "suspended more often than its ancestors can say"); /* each failed, and restarts its kin;
                                     who stops is not resumed any more */
    if (it->suspends >= 3)
        probe_hit(PROBE_SUSPENDED_DEEP);
    if (e->arg == 1)
        ghost_atomic(it, false);
    if (e->arg != 0)
        return;
    HOLDS(12, it, !it->failed, "own failures stack");
    HOLDS(12, it, !it->owed, "a second report before the first was decided");
    it->failed = true;
    it->cause = it->pending;
    it->owed = it->parent != 0;
}

static void ghost_resume(ghost *it, const axo_event *e)
{
    HOLDS(10, it, it->suspends > 0, "resumed below zero"); /* SC-07 allows it: it is not needed */
    it->suspends--;
    ghost_atomic(it, true);
    if (e->arg != 0)
        return;
    HOLDS(14, it, it->failed, "own failure resumed, but there is none");
    HOLDS(14, it, !it->owed, "own failure resumed before its report was decided");
    HOLDS(21, it, e->time_ns >= it->due, "restarted before its delay was over");
    it->due = 0;
    it->failed = it->has_message = false;
}

/* ---- failures ---- */

static void ghost_failed(ghost *it, const axo_event *e)
{
    const ghost *child = ghost_find(it->escalates ? it->decided : it->deciding);
    it->settle_excused = true;
    it->pending = (ghost_cause){.kind_code = e->arg, .actor = it->bits};
    it->blamed = child != NULL ? child->bits : 0;
    if (it->escalates) {
        HOLDS(19, it, child != NULL && child->cause.kind_code == e->arg,
              "it escalates another failure than its child's");
        it->pending = child->cause;
        if (++it->pending.levels == 3)
            probe_hit(PROBE_ESCALATED);
    } else if (it->deciding != 0) {
        probe_hit(PROBE_DECIDER_FAILED);
    }
    bool pact = e->arg >> 32 == AXO_FAILURE_DEATH_PACT && !it->escalates;
    HOLDS(36, it, it->must_pact == pact, "an unhandled notice and the death pact differ");
    if (pact)
        probe_hit(PROBE_PACT_IN_CHAIN);
    if (e->arg >> 32 == AXO_FAILURE_ENDED && !it->escalates) {
        HOLDS(15, it, it->lifetime == AXO_PERMANENT, "the end of another is a failure");
        probe_hit(PROBE_PERMANENT_ENDED);
        it->stop_asked = false;
    }
    it->has_message =
        it->has_message || it->refused || (e->arg >> 32 == AXO_FAILURE_KILLED && !it->escalates);
    it->escalates = it->refused = it->must_fail = it->must_pact = false;
    it->deciding = 0;
    ghost_bar(it);
}

static void ghost_hold(ghost *it, const axo_event *e)
{
    ghost *child = ghost_find(e->arg);
    HOLDS(15, it, child != NULL && child->parent == it->bits, "holds the report of a stranger");
    if (!child->owed)
        return; /* its delay is over: that waits too */
    child->held_at = ++g.holds;
    probe_hit(PROBE_REPORT_HELD);
}

/* SC-09, SC-10 */
static void ghost_in_turn(const ghost *it, const ghost *child)
{
    for (const ghost *other = ghost_at(it->first_child); other != NULL;
         other = ghost_at(other->next_child)) {
        bool first = other == child || other->held_at == 0 ||
                     (child->held_at != 0 && child->held_at < other->held_at);
        HOLDS(16, child, first, "a report before one that was held earlier");
    }
}

static void ghost_report(ghost *it, const axo_event *e)
{
    ghost *child = ghost_find(e->arg);
    HOLDS(15, it, child != NULL && child->parent == it->bits, "a report of a stranger");
    HOLDS(15, child, !child->gone, "a report of one that is gone");
    HOLDS(15, child, child->owed, "a report that nobody made, or a second decision on one");
    HOLDS(16, it, it->suspends == 0 && !it->stopping && !it->remaking,
          "a report decided by one that is suspended, restarting or stopping");
    HOLDS(15, it, it->deciding == 0, "two decisions at once");
    ghost_in_turn(it, child);
    if (child->stop_told)
        probe_hit(PROBE_REPORT_OF_STOPPING);
    child->held_at = 0;
    it->deciding = e->arg;
    it->refused = false;
    child->owed = false;
}

static void ghost_decide(ghost *it, const axo_event *e)
{
    uint64_t slot = e->arg & UINT32_MAX;
    uint64_t directive = e->arg >> 32;
    HOLDS(15, it, it->deciding != 0 && (it->deciding & GHOST_SLOT_MASK) == slot,
          "a decision on no report");
    HOLDS(15, it, directive >= AXO_RESUME && directive <= AXO_ESCALATE, "an unknown directive");
    it->escalates = directive == AXO_ESCALATE;
    it->harsh = it->harsh || directive == AXO_STOP || directive == AXO_RESTART;
    it->decided = it->deciding;
    it->deciding = 0;
}

static void ghost_child_gone(ghost *it, const axo_event *e)
{
    ghost *child = ghost_find(e->arg);
    HOLDS(15, it, child != NULL && child->parent == it->bits, "lost the child of a stranger");
    HOLDS(26, child, child->terminated && !child->gone, "gone twice, or before it terminated");
    child->gone = true;
    child->owed = false;
    child->held_at = 0;
    it->children--;
    uint32_t *link = &it->first_child;
    while (*link != child->self)
        link = &g.all[*link].next_child;
    *link = child->next_child;
}

/* ---- every event ---- */

static void ghost_stage(ghost *it, const axo_event *e)
{
    switch (e->kind) {
    case AXO_EV_PRE_START:
    case AXO_EV_POST_RESTART:
        HOLDS(4, it, it->live && !it->started, "started anew, or without an instance");
        return;
    case AXO_EV_UNHANDLED:
        it->refused = it->must_pact = e->arg == AXO_TERMINATED;
        return;
    case AXO_EV_PARK:
        HOLDS(5, it, !it->stopping, "parked while it stops");
        it->parked = true;
        return;
    case AXO_EV_UNPARK:
        HOLDS(5, it, it->parked, "goes on, and was not parked");
        it->parked = false;
        return;
    case AXO_EV_DESTROY:
        it->live = it->started = it->has_message = it->broken = false;
        it->destroys++;
        return;
    case AXO_EV_STOPPING:
        ghost_stopping(it);
        ghost_bar(it);
        return;
    case AXO_EV_DIRECTIVE:
        if (e->arg != AXO_STOP)
            HOLDS(23, it, !it->remaking, "a directive is taken within a restart");
        return;
    default:
        return;
    }
}

static void ghost_apply(ghost *it, const axo_event *e)
{
    switch (e->kind) {
    case AXO_EV_CONSTRUCT:
        ghost_construct(it, e);
        return;
    case AXO_EV_CONSTRUCTED:
        ghost_constructed(it, e);
        return;
    case AXO_EV_STARTED:
        ghost_started(it, e);
        return;
    case AXO_EV_RECEIVE:
        ghost_receive(it, e->arg);
        return;
    case AXO_EV_RECEIVED:
        ghost_received(it, e);
        return;
    case AXO_EV_FAIL:
        ghost_failed(it, e);
        return;
    case AXO_EV_SUSPEND:
        ghost_suspend(it, e);
        return;
    case AXO_EV_RESUME:
        ghost_resume(it, e);
        return;
    case AXO_EV_HOLD:
        ghost_hold(it, e);
        return;
    case AXO_EV_REPORT:
        ghost_report(it, e);
        return;
    case AXO_EV_DECIDE:
        ghost_decide(it, e);
        return;
    case AXO_EV_PRE_RESTART:
        ghost_pre_restart(it, e);
        return;
    case AXO_EV_POST_STOP:
        ghost_post_stop(it);
        return;
    case AXO_EV_TERMINATED:
        ghost_terminated(it);
        return;
    case AXO_EV_CHILD_GONE:
        ghost_child_gone(it, e);
        return;
    case AXO_EV_WATCH:
    case AXO_EV_UNWATCH:
    case AXO_EV_NOTICE:
        ghost_watch_event(it, e);
        return;
    default:
        ghost_stage(it, e);
        return;
    }
}

static void ghost_mix(uint64_t value)
{
    g.hash = (g.hash ^ value) * UINT64_C(0x100000001b3);
    g.hash ^= g.hash >> 29;
}

void ghost_note(const axo_event *e)
{
    g.ring[g.events++ % GHOST_RING] = *e;
    ghost_mix((uint64_t)e->time_ns);
    ghost_mix(e->actor.bits ^ e->arg << 20);
    ghost_mix((uint64_t)e->kind << 32 | e->worker);
    ghost_mix((uint64_t)e->instance << 32 | e->suspends);
    if (e->kind >= AXO_EVENT_KINDS)
        ghost_fail("an unknown event, %" PRIu32, e->kind);
    g.kinds[e->kind]++;
    HOLDS_ALL(52, e->time_ns >= g.time, "the clock went back by %" PRId64 " ns",
              g.time - e->time_ns);
    g.time = e->time_ns;
    if (e->worker == GHOST_NOBODY || axo__self == NULL ||
        axo__self->sched->kind == &axo__host_kind)
        return; /* the program's thread runs that one, when it likes */
    if (g.step_worker == GHOST_NOBODY)
        g.step_worker = e->worker;
    HOLDS_ALL(1, g.step_worker == e->worker, "two workers in one step: %" PRIx32 " and %" PRIx32,
              g.step_worker, e->worker);
}

static bool ghost_enters(uint32_t kind)
{
    return kind == AXO_EV_CONSTRUCT || kind == AXO_EV_PRE_START || kind == AXO_EV_POST_RESTART ||
           kind == AXO_EV_RECEIVE || kind == AXO_EV_PRE_RESTART || kind == AXO_EV_POST_STOP;
}

static bool ghost_leaves(uint32_t kind, const ghost *it)
{
    return kind == AXO_EV_CONSTRUCTED || kind == AXO_EV_STARTED || kind == AXO_EV_RECEIVED ||
           kind == AXO_EV_PRE_RESTARTED ||
           (kind == AXO_EV_POST_STOPPED && it->letters != STATE_HALF);
}

ghost *ghost_event(const axo_event *e)
{
    ghost_note(e);
    if (e->kind == AXO_EV_SPAWN) {
        ghost_spawned(e);
        return ghost_find(e->actor.bits);
    }
    ghost *it = ghost_find(e->actor.bits);
    if (it == NULL)
        ghost_fail("an event of an actor that was never spawned");
    HOLDS(26, it, !it->terminated, "an event after the end");
    if (it->must_fail || it->must_pact)
        HOLDS(22, it, e->kind == AXO_EV_FAIL || e->kind == AXO_EV_UNHANDLED,
              "a hook failed, and no failure follows");
    if (ghost_enters(e->kind))
        ghost_enter(it, e);
    ghost_instance_ends(it, e->kind);
    grammar_event(it, e);
    ghost_apply(it, e);
    if (ghost_leaves(e->kind, it))
        ghost_leave(it);
    HOLDS(9, it, it->suspends == e->suspends, "the suspend count is not what it should be");
    HOLDS(12, it, !it->failed || it->suspends > 0, "failed, and not suspended");
    HOLDS(4, it, it->instance == e->instance, "another instance than the last constructed");
    return it;
}

/* ---- at rest ---- */

void ghost_check_rest(void)
{
    for (uint32_t i = 0; i < g.count; i++) {
        ghost *it = &g.all[i];
        if (it->terminated)
            continue;
        HOLDS(11, it, !it->failed && !it->owed, "at rest, and a failure is undecided");
        HOLDS(11, it, it->suspends == 0, "at rest, and suspended");
        HOLDS(11, it, !it->stopping && !it->remaking, "at rest in the middle of something");
        HOLDS(73, it, !it->broken, "at rest with an instance that has crashed");
        HOLDS(11, it, it->live && it->started, "at rest without an instance");
        HOLDS(62, it, it->settles != it->instance, "at rest, and it was never settled");
        HOLDS(41, it, !it->stop_asked || it->lifetime == AXO_PERMANENT,
              "at rest, and a stop was lost");
        for (uint32_t j = 0; j < it->watch_count && !it->guardian; j++) {
            const ghost *target = ghost_find(it->watches[j].target);
            HOLDS(30, it, !it->watches[j].queued, "at rest with an unhandled notice");
            HOLDS(32, it, !it->watches[j].late, "watching a dead one was not answered");
            HOLDS(35, it, target != NULL && !target->terminated, "a notice was lost");
        }
    }
}

void ghost_check_end(void)
{
    for (uint32_t i = 0; i < g.count; i++) {
        ghost *it = &g.all[i];
        HOLDS(58, it, it->terminated, "the system ended before an actor");
        HOLDS(29, it, it->constructs == it->destroys, "an instance was not destroyed");
    }
}
