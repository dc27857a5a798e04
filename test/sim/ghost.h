/* ghost.h - the checker: a ghost of every actor, kept from the events alone, and what must hold:
 * the suspend depth is the event's count; no user message reaches one that may not get it; hooks
 * come in their order; one live instance; reports, decisions, watches and notices balance;
 * children are gone before their parent's end.
 */
#ifndef TEST_SIM_GHOST_H
#define TEST_SIM_GHOST_H

#include <axo/axo.h>

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GHOSTS_MAX 16384
#define GHOST_TABLE (GHOSTS_MAX * 2)
#define GHOST_RING 64
#define GHOST_SHOWN 60
#define GHOST_WATCHES 64
#define GHOST_GUARDIANS 3
#define GHOST_SLOT_MASK UINT64_C(0xffffff)

typedef struct ghost_watch {
    uint64_t target;
    bool queued; /* its notice is */
    bool own;    /* a message of its own comes in the place of the notice */
} ghost_watch;

typedef struct ghost {
    uint64_t bits;
    uint64_t parent;
    uint64_t decided;     /* bits of the last child it decided on */
    int64_t due;          /* not before this may its own failure be over */
    uint64_t deciding;    /* bits of the child whose report it took, until it decides */
    uint32_t suspends;
    uint32_t instance;
    uint32_t born_in;     /* the parent's instance that made it */
    uint32_t children;    /* made and not yet gone */
    uint32_t constructs;
    uint32_t destroys;
    uint32_t watch_count;
    uint32_t pongs;
    axo_lifetime lifetime;
    bool excused;         /* its parent's callbacks have stopped it */
    bool harsh;           /* it has decided Stop or Restart */
    bool guardian;
    bool failed;          /* own failure, unresolved */
    bool owed;            /* a report that was not decided */
    bool constructing;
    bool live;            /* an instance exists */
    bool started;
    bool pre_restarted;
    bool post_stopped;
    bool remaking;        /* from pre_restart to the end of the new instance's start */
    bool stops_children;  /* default pre_restart ran: none may be left at construct */
    bool stopping;
    bool terminated;
    bool gone;            /* its parent has seen it */
    bool inside;          /* in receive */
    bool unmade;          /* the last instance did not start */
    bool escalates;       /* it has just decided so: the failure that follows is no own one */
    bool refused;         /* its last receive failed */
    bool has_message;     /* the instance failed under a message */
    bool boxed;           /* it has a mailbox of its own */
    bool narrow;          /* whoever sends to it may be parked for ever */
    bool parked;
    bool put_aside;       /* it has stashed the message that it is given */
    ghost_watch watches[GHOST_WATCHES];
} ghost;

typedef struct ghosts {
    uint64_t seed;
    uint64_t hash;
    uint64_t events;
    uint64_t kinds[AXO_EVENT_KINDS];
    uint32_t count;
    uint32_t living;   /* users' actors */
    bool loud;         /* show the last events at a failure */
    axo_event ring[GHOST_RING];
    uint32_t table[GHOST_TABLE]; /* index + 1 */
    ghost all[GHOSTS_MAX];
} ghosts;

static ghosts g;

static void ghost_show_events(void)
{
    uint64_t first = g.events > GHOST_SHOWN ? g.events - GHOST_SHOWN : 0;
    for (uint64_t i = first; i < g.events; i++) {
        const axo_event *e = &g.ring[i % GHOST_RING];
        fprintf(stderr,
                "  %6" PRIu64 " %12" PRId64 " w%-2d %014" PRIx64 " #%" PRIu32 " s%" PRIu32
                " %-14s %" PRIx64 "\n",
                i, e->time_ns, (int)e->worker, e->actor.bits, e->instance, e->suspends,
                axo_event_name(e->kind), e->arg);
    }
}

static void ghost_end(void) __attribute__((noreturn));
static void ghost_end(void)
{
    if (g.loud)
        ghost_show_events();
    fprintf(stderr, "  again: SEED=%" PRIu64 " make sim-replay\n", g.seed);
    fflush(NULL);
    _exit(1);
}

static void ghost_fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
static void ghost_fail(const char *format, ...)
{
    va_list list;
    fprintf(stderr, "seed %" PRIu64 ", event %" PRIu64 ": ", g.seed, g.events);
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    fputc('\n', stderr);
    ghost_end();
}

#define GHOST_CHECK(c, who, text)                                                                  \
    do {                                                                                           \
        if (!(c))                                                                                  \
            ghost_fail("%s (actor %014" PRIx64 ")", text, (who)->bits);                            \
    } while (0)

/* ---- finding ---- */

static uint32_t ghost_place(uint64_t bits)
{
    uint64_t mixed = bits * UINT64_C(0x9e3779b97f4a7c15);
    uint32_t at = (uint32_t)(mixed >> 40) % GHOST_TABLE;
    while (g.table[at] != 0 && g.all[g.table[at] - 1].bits != bits)
        at = (at + 1) % GHOST_TABLE;
    return at;
}

static ghost *ghost_find(uint64_t bits)
{
    uint32_t at = ghost_place(bits);
    return g.table[at] != 0 ? &g.all[g.table[at] - 1] : NULL;
}

static ghost *ghost_make(uint64_t bits)
{
    uint32_t at = ghost_place(bits);
    if (g.table[at] != 0)
        ghost_fail("a reference is given twice: %014" PRIx64, bits);
    if (g.count == GHOSTS_MAX)
        ghost_fail("the world has more actors than the checker has room for");
    ghost *made = &g.all[g.count++];
    memset(made, 0, sizeof *made);
    made->bits = bits;
    g.table[at] = g.count;
    return made;
}

static void ghost_reset(uint64_t seed, bool loud)
{
    memset(&g, 0, offsetof(ghosts, all));
    g.seed = seed;
    g.loud = loud;
    g.hash = UINT64_C(0xcbf29ce484222325);
}

/* ---- watches ---- */

static ghost_watch *ghost_watching(ghost *it, uint64_t target)
{
    for (uint32_t i = 0; i < it->watch_count; i++) {
        if (it->watches[i].target == target)
            return &it->watches[i];
    }
    return NULL;
}

static void ghost_unwatch(ghost *it, ghost_watch *watch)
{
    *watch = it->watches[--it->watch_count];
}

static void ghost_watch_event(ghost *it, const axo_event *e)
{
    ghost_watch *watch = ghost_watching(it, e->arg);
    const ghost *target = ghost_find(e->arg);
    switch (e->kind) {
    case AXO_EV_WATCH:
        GHOST_CHECK(watch == NULL, it, "watched twice");
        if (it->watch_count == GHOST_WATCHES)
            ghost_fail("more watches than the checker has room for");
        it->watches[it->watch_count++] = (ghost_watch){.target = e->arg};
        return;
    case AXO_EV_UNWATCH:
        GHOST_CHECK(watch != NULL, it, "unwatched what it did not watch");
        ghost_unwatch(it, watch);
        return;
    default:
        GHOST_CHECK(watch != NULL, it, "a notice for no watch");
        GHOST_CHECK(!watch->queued, it, "a second notice for one watch");
        GHOST_CHECK(target == NULL || target->terminated, it, "a notice of a living one");
        watch->queued = true;
        return;
    }
}

/* Called by the actors: AXO_TERMINATED has reached the handler. */
static void ghost_noticed(uint64_t watcher, const axo_terminated *notice)
{
    ghost *it = ghost_find(watcher);
    const ghost *target = ghost_find(notice->actor.bits);
    ghost_watch *watch = ghost_watching(it, notice->actor.bits);
    GHOST_CHECK(watch != NULL, it, "a notice after unwatch"); /* DW-05 */
    GHOST_CHECK(!watch->own, it, "a notice in the place of a message of one's own");
    GHOST_CHECK(watch->queued, it, "a notice that was never queued");
    GHOST_CHECK((notice->existence_known != 0) == (target != NULL), it, "existence_known is wrong");
    if (target != NULL && target->parent == watcher)
        GHOST_CHECK(target->gone, it, "a notice before the child was removed");
    ghost_unwatch(it, watch);
}

/* The same for a message of one's own (DW-15). */
static void ghost_lost(uint64_t watcher, uint64_t target, uint64_t sender)
{
    ghost *it = ghost_find(watcher);
    ghost_watch *watch = ghost_watching(it, target);
    GHOST_CHECK(sender == target, it, "a message in the place of a notice, of another");
    GHOST_CHECK(watch != NULL && watch->own, it, "a message in the place of a notice unasked");
    GHOST_CHECK(watch->queued, it, "a message in the place of a notice too early");
    ghost_unwatch(it, watch);
}

/* ---- life ---- */

static void ghost_spawned(const axo_event *e)
{
    ghost *it = ghost_make(e->actor.bits);
    ghost *parent = e->arg != 0 ? ghost_find(e->arg) : NULL;
    it->parent = e->arg;
    it->suspends = e->suspends;
    it->born_in = parent != NULL ? parent->instance : 0;
    it->guardian = g.count <= GHOST_GUARDIANS;
    if (!it->guardian)
        g.living++;
    if (parent == NULL)
        return;
    parent->children++;
    if (e->worker == UINT32_MAX || it->guardian)
        return;
    GHOST_CHECK(!parent->terminated && !parent->stopping, it, "spawned by one that is stopping");
    GHOST_CHECK(parent->suspends == e->suspends, it, "spawned with another suspend count");
}

/* D4, IN-06: the children of an instance that did not start are gone before the next is made. */
static void ghost_check_orphans(ghost *it)
{
    for (uint32_t i = 0; i < g.count; i++) {
        const ghost *child = &g.all[i];
        if (child->parent == it->bits && child->born_in == it->instance)
            GHOST_CHECK(child->gone, it, "constructed before its failed attempt's children left");
    }
}

static void ghost_construct(ghost *it, const axo_event *e)
{
    GHOST_CHECK(!it->live, it, "a second instance beside the first");
    if (it->lifetime == AXO_TEMPORARY)
        GHOST_CHECK(e->instance == 1, it, "a temporary actor is made again"); /* LT-02..LT-05 */
    GHOST_CHECK(!it->stopping, it, "constructed while it stops");
    GHOST_CHECK(e->instance == it->instance + 1, it, "instances are not counted one by one");
    if (it->stops_children)
        GHOST_CHECK(it->children == 0, it, "constructed before its children were gone");
    if (it->unmade && it->children > 0)
        ghost_check_orphans(it);
    it->unmade = true;
    it->instance = e->instance;
    it->constructing = true;
    it->started = it->pre_restarted = it->post_stopped = it->stops_children = false;
}

static void ghost_constructed(ghost *it, const axo_event *e)
{
    GHOST_CHECK(it->constructing, it, "constructed without construct");
    it->constructing = false;
    it->remaking = it->remaking && e->arg == 0;
    if (e->arg != 0)
        return;
    it->live = true;
    it->constructs++;
}

static void ghost_pre_restart(ghost *it, const axo_event *e)
{
    GHOST_CHECK((e->arg != 0) == it->has_message, it,
                "pre_restart has another message than the one it failed under");
    GHOST_CHECK(it->live && it->started, it, "pre_restart of one that did not start");
    GHOST_CHECK(!it->pre_restarted, it, "a second pre_restart of one instance");
    GHOST_CHECK(!it->stopping, it, "pre_restart while it stops");
    GHOST_CHECK(it->suspends > 0, it, "pre_restart of one that is not suspended");
    it->pre_restarted = true;
    it->remaking = true;
}

static void ghost_post_stop(ghost *it)
{
    GHOST_CHECK(it->live && it->started, it, "post_stop of one that did not start");
    GHOST_CHECK(!it->post_stopped, it, "a second post_stop of one instance");
    if (it->stopping && !it->guardian)
        GHOST_CHECK(it->children == 0, it, "post_stop before its children were gone");
    it->post_stopped = true;
}

static void ghost_terminated(ghost *it)
{
    GHOST_CHECK(!it->live && it->constructs == it->destroys, it, "terminated with an instance");
    GHOST_CHECK(!it->parked, it, "terminated, and parked");
    GHOST_CHECK(it->children == 0 || it->guardian, it, "terminated with children");
    it->terminated = true; /* a report may be decided still, until the parent knows */
    it->watch_count = 0;
    if (!it->guardian)
        g.living--;
}

static void ghost_receive(ghost *it)
{
    GHOST_CHECK(it->live && it->started, it, "a message to one that has not started");
    GHOST_CHECK(it->suspends == 0, it, "a message to one that is suspended");
    GHOST_CHECK(!it->failed, it, "a message to one that has failed");
    GHOST_CHECK(!it->stopping && !it->post_stopped, it, "a message to one that stops");
    GHOST_CHECK(!it->pre_restarted && !it->remaking, it, "a message within a restart");
    GHOST_CHECK(!it->inside, it, "a message within a message");
    GHOST_CHECK(!it->parked, it, "a message to one that is parked");
    it->refused = it->put_aside = false;
    it->inside = true;
}

/* LT-06, LT-07: a permanent actor ends for its parent only. */
static void ghost_check_permanent(const ghost *it)
{
    const ghost *parent = ghost_find(it->parent);
    GHOST_CHECK(it->excused || parent->stopping || parent->remaking || parent->harsh ||
                    parent->guardian || parent->unmade,
                it, "a permanent actor ends, and its parent has not said so");
}

/* ---- suspension and reports ---- */

static void ghost_suspend(ghost *it, const axo_event *e)
{
    it->suspends++;
    if (e->arg != 0)
        return;
    GHOST_CHECK(!it->failed, it, "own failures stack");
    GHOST_CHECK(!it->owed, it, "a second report before the first was decided");
    it->failed = true;
    it->owed = it->parent != 0;
}

static void ghost_resume(ghost *it, const axo_event *e)
{
    GHOST_CHECK(it->suspends > 0, it, "resumed below zero"); /* SC-07 allows it: it is not needed */
    it->suspends--;
    if (e->arg != 0)
        return;
    GHOST_CHECK(it->failed, it, "own failure resumed, but there is none");
    GHOST_CHECK(!it->owed, it, "own failure resumed before its report was decided");
    GHOST_CHECK(e->time_ns >= it->due, it, "restarted before its delay was over");
    it->due = 0;
    it->failed = it->has_message = false;
}

static void ghost_report(ghost *it, const axo_event *e)
{
    ghost *child = ghost_find(e->arg);
    if (child == NULL)
        ghost_fail("a report of nobody");
    GHOST_CHECK(child->parent == it->bits, it, "a report of a stranger");
    GHOST_CHECK(!child->gone, child, "a report of one that is gone");
    GHOST_CHECK(child->owed, child, "a report that nobody made, or a second decision on one");
    GHOST_CHECK(it->suspends == 0 && !it->stopping && !it->remaking, it,
                "a report decided by one that is suspended, restarting or stopping");
    GHOST_CHECK(it->deciding == 0, it, "two decisions at once");
    it->deciding = e->arg;
    it->refused = false;
    child->owed = false;
}

static void ghost_decide(ghost *it, const axo_event *e)
{
    uint64_t slot = e->arg & UINT32_MAX;
    uint64_t directive = e->arg >> 32;
    GHOST_CHECK(it->deciding != 0 && (it->deciding & GHOST_SLOT_MASK) == slot, it,
                "a decision on no report");
    GHOST_CHECK(directive >= AXO_RESUME && directive <= AXO_ESCALATE, it, "an unknown directive");
    it->escalates = directive == AXO_ESCALATE;
    it->harsh = it->harsh || directive == AXO_STOP || directive == AXO_RESTART;
    it->decided = it->deciding;
    it->deciding = 0;
}

/* PH-13: follows the decision. */
static void ghost_delay(ghost *it, const axo_event *e)
{
    ghost *child = ghost_find(it->decided);
    GHOST_CHECK(child != NULL && child->failed && child->due == 0, it, "a delay of nothing");
    GHOST_CHECK(e->arg > 0, it, "a delay of no time");
    child->due = e->time_ns + (int64_t)e->arg;
}

static void ghost_child_gone(ghost *it, const axo_event *e)
{
    ghost *child = ghost_find(e->arg);
    if (child == NULL)
        ghost_fail("nobody is gone");
    GHOST_CHECK(child->parent == it->bits, it, "lost the child of a stranger");
    GHOST_CHECK(child->terminated && !child->gone, child, "gone twice, or before it terminated");
    child->gone = true;
    child->owed = false;
    it->children--;
}

/* ---- every event ---- */

static void ghost_mix(uint64_t value)
{
    g.hash = (g.hash ^ value) * UINT64_C(0x100000001b3);
    g.hash ^= g.hash >> 29;
}

static void ghost_stage(ghost *it, const axo_event *e)
{
    switch (e->kind) {
    case AXO_EV_PRE_START:
    case AXO_EV_POST_RESTART:
        GHOST_CHECK(it->live && !it->started, it, "started anew, or without an instance");
        return;
    case AXO_EV_STARTED:
        GHOST_CHECK(it->live && !it->started, it, "started twice");
        it->started = e->arg == 0;
        it->unmade = !it->started;
        it->remaking = false;
        return;
    case AXO_EV_RECEIVED:
        GHOST_CHECK(it->inside, it, "received without receive");
        it->inside = false;
        it->refused = e->arg != 0 &&
                      !(it->put_aside && e->arg == (uint32_t)AXO_UNHANDLED); /* it is not over */
        return;
    case AXO_EV_UNHANDLED:
        it->refused = e->arg == AXO_TERMINATED;
        return;
    case AXO_EV_FAIL:
        if (e->arg >> 32 == AXO_FAILURE_ENDED && !it->escalates)
            GHOST_CHECK(it->lifetime == AXO_PERMANENT, it, "the end of another is a failure");
        it->has_message = it->has_message || it->refused ||
                          (e->arg >> 32 == AXO_FAILURE_KILLED && !it->escalates);
        it->escalates = it->refused = false;
        it->deciding = 0;
        return;
    case AXO_EV_PARK:
        GHOST_CHECK(!it->stopping, it, "parked while it stops");
        it->parked = true;
        return;
    case AXO_EV_UNPARK:
        GHOST_CHECK(it->parked, it, "goes on, and was not parked");
        it->parked = false;
        return;
    case AXO_EV_DESTROY:
        GHOST_CHECK(it->live, it, "destroyed without an instance");
        it->live = it->started = it->has_message = false;
        it->destroys++;
        return;
    case AXO_EV_STOPPING:
        GHOST_CHECK(!it->stopping, it, "stops twice");
        if (it->lifetime == AXO_PERMANENT)
            ghost_check_permanent(it);
        it->stopping = true;
        it->remaking = false;
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
    case AXO_EV_RECEIVE:
        ghost_receive(it);
        return;
    case AXO_EV_SUSPEND:
        ghost_suspend(it, e);
        return;
    case AXO_EV_RESUME:
        ghost_resume(it, e);
        return;
    case AXO_EV_REPORT:
        ghost_report(it, e);
        return;
    case AXO_EV_DECIDE:
        ghost_decide(it, e);
        return;
    case AXO_EV_DELAY:
        ghost_delay(it, e);
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

static void ghost_event(void *user, const axo_event *e)
{
    (void)user;
    g.ring[g.events++ % GHOST_RING] = *e;
    ghost_mix((uint64_t)e->time_ns);
    ghost_mix(e->actor.bits);
    ghost_mix(e->arg);
    ghost_mix((uint64_t)e->kind << 32 | e->worker);
    ghost_mix((uint64_t)e->instance << 32 | e->suspends);
    if (e->kind >= AXO_EVENT_KINDS)
        ghost_fail("an unknown event, %" PRIu32, e->kind);
    g.kinds[e->kind]++;
    if (e->kind == AXO_EV_SPAWN) {
        ghost_spawned(e);
        return;
    }
    ghost *it = ghost_find(e->actor.bits);
    if (it == NULL)
        ghost_fail("an event of an actor that was never spawned");
    GHOST_CHECK(!it->terminated || e->kind == AXO_EV_DEAD_LETTER, it, "an event after the end");
    ghost_apply(it, e);
    GHOST_CHECK(it->suspends == e->suspends, it, "the suspend count is not what it should be");
    GHOST_CHECK(it->instance == e->instance, it, "another instance than the last constructed");
}

/* ---- at rest ---- */

/* Nothing can run, no timer waits. */
static void ghost_check_rest(void)
{
    for (uint32_t i = 0; i < g.count; i++) {
        ghost *it = &g.all[i];
        if (it->terminated)
            continue;
        GHOST_CHECK(!it->failed && !it->owed, it, "at rest, and a failure is undecided");
        GHOST_CHECK(it->suspends == 0, it, "at rest, and suspended");
        GHOST_CHECK(!it->stopping && !it->remaking, it, "at rest in the middle of something");
        GHOST_CHECK(it->live && it->started, it, "at rest without an instance");
        for (uint32_t j = 0; j < it->watch_count && !it->guardian; j++) {
            const ghost *target = ghost_find(it->watches[j].target);
            GHOST_CHECK(!it->watches[j].queued, it, "at rest with an unhandled notice");
            GHOST_CHECK(target != NULL && !target->terminated, it, "a notice was lost");
        }
    }
}

/* The system has ended. */
static void ghost_check_end(void)
{
    for (uint32_t i = 0; i < g.count; i++) {
        ghost *it = &g.all[i];
        GHOST_CHECK(it->terminated, it, "the system ended before an actor");
        GHOST_CHECK(it->constructs == it->destroys, it, "an instance was not destroyed");
    }
}

#endif
