/* crash.c - crashes of the simulated actors: see crash.h. */
#include "crash.h"

#include "os/sim_inside.h"
#include "sched/contain.h"
#include "world.h"

/* The library reads the clock a little after the checker. */
#define CRASH_BLUR INT64_C(128)

#define CRASH_SELDOM 8 /* of the places where none is contained, one of so many */
#define CRASH_WEIGHT 2 /* of a life's failures */

typedef struct crash_seen {
    uint64_t actor;
    uint32_t instance;
    uint32_t site; /* an axo_site */
    int32_t signal;
    bool has_tag;
    uint32_t tag;
} crash_seen;

typedef struct crashes {
    bool contains;    /* the life's system does */
    bool open;        /* one was raised that has not come back */
    bool edge;        /* it was at the very edge of the budget's window */
    axo__verdict due; /* what must become of it */
    uint32_t most;
    uint32_t at;      /* the oldest of `times` */
    uint32_t guards;  /* of callback `guarded` */
    uint32_t tag;     /* of the message in hand */
    uint32_t idle;    /* crashes that came where none is contained, so far */
    uint64_t guarded;
    uint64_t contained;
    int64_t window_ns;
    int64_t now;      /* when it was raised */
    crash_seen last;
    crash_seen kept[AXO_CRASHES_KEPT];
    int64_t times[WORLD_FAILURES_MAX]; /* of the last `most`; 0: there were not so many */
} crashes;

static crashes c;

void crash_reset(void)
{
    memset(&c, 0, sizeof c);
}

void crash_contains(uint32_t most, int64_t window_ns)
{
    c.contains = most > 0;
    c.most = most;
    c.window_ns = window_ns;
}

void crash_handles(const axo_message *message)
{
    c.tag = message->tag;
}

/* ---- the account ---- */

void crash_landed(void)
{
    if (!c.open)
        return;
    c.open = false;
    HOLDS_ALL(74, c.due == AXO__VERDICT_CONTAINED, "a crash of %014" PRIx64 " is contained: %s",
              c.last.actor, axo__verdict_text(c.due));
    c.times[c.at] = c.now;
    c.at = c.at + 1 < c.most ? c.at + 1 : 0;
    c.kept[c.contained++ % AXO_CRASHES_KEPT] = c.last;
    tallied->crashes++;
}

static void crash_refused(axo__verdict verdict)
{
    bool edge = c.edge && verdict == AXO__VERDICT_LIMIT;
    c.open = false;
    HOLDS_ALL(74, verdict == c.due || edge,
              "a crash of %014" PRIx64 " is refused: %s; what was due: %s", c.last.actor,
              axo__verdict_text(verdict), axo__verdict_text(c.due));
    tallied->refused++;
    if (verdict == AXO__VERDICT_LIMIT)
        probe_hit(PROBE_CRASH_LIMIT);
    else if (verdict == AXO__VERDICT_CLASS)
        probe_hit(PROBE_CRASH_CLASS);
    else if (verdict == AXO__VERDICT_NOT_USER)
        probe_hit(PROBE_CRASH_BETWEEN);
    else if (verdict == AXO__VERDICT_NOT_WORKER)
        probe_hit(PROBE_CRASH_OUTSIDE);
}

/* What the budget says, of a crash that passes all other tests. */
static axo__verdict crash_budget(void)
{
    int64_t age = c.now - c.times[c.at];
    if (c.times[c.at] == 0)
        return AXO__VERDICT_CONTAINED;
    c.edge = age > c.window_ns - CRASH_BLUR && age < c.window_ns + CRASH_BLUR;
    return age >= c.window_ns || c.edge ? AXO__VERDICT_CONTAINED : AXO__VERDICT_LIMIT;
}

/* ---- places ---- */

/* The signal of a crash that comes now; 0: none does. */
static int crash_drawn(void)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    uint64_t at = w.now_runs.at;
    if (w.knobs[KNOB_CRASH] == 0 || w.failures >= WORLD_FAILURES_MAX)
        return 0;
    int number = world_is(KNOB_CRASH) ? signals[world_below(WORLD_COUNT(signals))] : 0;
    w.now_runs.at = at;
    return number;
}

static bool crash_is_seldom(void)
{
    return ++c.idle % CRASH_SELDOM != 0;
}

/* If it is contained, this does not return. */
static void crash_raise(const crash_seen *what, axo__verdict due)
{
    crash_landed();
    if (due == AXO__VERDICT_CONTAINED)
        w.failures += CRASH_WEIGHT;
    c.open = true;
    c.due = due;
    c.last = *what;
    crash_refused(axo__trap_raise(what->signal));
}

/* The instance is broken, if it has started: what was, was not, if the crash is refused. */
static void crash_break(ghost *me, const crash_seen *what, axo__verdict due)
{
    const uint64_t left = w.left;
    const uint8_t made = me->made;
    const bool broken = me->broken;
    if (due == AXO__VERDICT_CONTAINED) {
        w.left = w.callback;
        if (me->live && me->started) {
            me->broken = true;
            me->made = AXO__INSTANCE_BROKEN;
        }
    }
    crash_raise(what, due);
    w.left = left;
    me->made = made;
    me->broken = broken;
}

static uint32_t crash_site(const ghost *me, uint32_t site)
{
    if (site == AXO_SITE_PRE_START && me->within)
        return AXO_SITE_POST_RESTART;
    bool told = site != AXO__SITE_PRE_RESTART && site != AXO__SITE_POST_STOP &&
                site != AXO__SITE_CLEANUP;
    return told ? site : AXO_SITE_NONE;
}

static void crash_hit(const ghost *me, uint32_t site)
{
    static const uint8_t probes[] = {
        [AXO_SITE_CONSTRUCT] = PROBE_CRASH_CONSTRUCT,
        [AXO_SITE_PRE_START] = PROBE_CRASH_PRE_START,
        [AXO_SITE_RECEIVE] = PROBE_CRASH_RECEIVE,
        [AXO_SITE_DECIDER] = PROBE_CRASH_DECIDER,
        [AXO__SITE_PRE_RESTART] = PROBE_CRASH_PRE_RESTART,
        [AXO_SITE_POST_RESTART] = PROBE_CRASH_POST_RESTART,
        [AXO__SITE_POST_STOP] = PROBE_CRASH_POST_STOP,
        [AXO_SITE_SETTLE] = PROBE_CRASH_SETTLE,
        [AXO__SITE_CLEANUP] = PROBE_CRASH_CLEANUP,
    };
    probe_hit(probes[site]);
    if (me->mending && !me->started)
        probe_hit(PROBE_CRASH_AGAIN);
}

static void crash_now(ghost *me, uint32_t site, int number)
{
    const crash_seen what = {.actor = me->bits,
                             .instance = me->instance,
                             .site = crash_site(me, site),
                             .signal = number,
                             .has_tag = site == AXO_SITE_RECEIVE,
                             .tag = site == AXO_SITE_RECEIVE ? c.tag : 0};
    axo__verdict due = AXO__VERDICT_NOT_WORKER;
    crash_landed(); /* of a clean-up before this one no event tells */
    c.now = axo__sim_now.now;
    c.edge = false;
    if (c.contains)
        due = me->cls->on_crash == AXO_CRASH_FAILS ? AXO__VERDICT_CONTAINED : AXO__VERDICT_CLASS;
    bool guarded = c.guards > 0 && c.guarded == w.callback && site != AXO__SITE_CLEANUP;
    if (due == AXO__VERDICT_CONTAINED)
        due = guarded ? AXO__VERDICT_GUARDED : crash_budget();
    if (due == AXO__VERDICT_GUARDED)
        probe_hit(PROBE_CRASH_GUARDED);
    bool idle = due == AXO__VERDICT_CLASS || due == AXO__VERDICT_NOT_WORKER;
    if (idle && crash_is_seldom())
        return;
    if (due == AXO__VERDICT_CONTAINED)
        crash_hit(me, site);
    crash_break(me, &what, due);
}

void crash_point(axo_ctx *ctx, uint32_t site)
{
    int number = crash_drawn();
    if (number != 0)
        crash_now(ghost_find(axo_self(ctx).bits), site, number);
}

/* It has no context, and a stream of chance of its own: who ran before it says nothing of it. */
void crash_point_cleanup(void)
{
    const stream before = w.now_runs;
    if (w.knobs[KNOB_CRASH] == 0)
        return;
    ghost *me = ghost_find(axo__cell_ref(axo__self->current).bits);
    world_begin(world_mix(me->identity, UINT64_C(0x756e646f) + ++me->undone));
    int number = crash_drawn();
    w.now_runs = before;
    if (number != 0)
        crash_now(me, AXO__SITE_CLEANUP, number);
}

/* The library says itself whether it is within a callback: only from there could it be left. */
void crash_point_aside(void)
{
    const axo__worker *worker = axo__self;
    crash_seen what = {.signal = crash_drawn()};
    if (what.signal == 0 || crash_is_seldom())
        return;
    axo__verdict due = AXO__VERDICT_NOT_WORKER;
    if (c.contains && worker != NULL)
        due = worker->current != NULL && worker->site != AXO_SITE_NONE ? AXO__VERDICT_GUARDED
                                                                       : AXO__VERDICT_NOT_USER;
    if (due == AXO__VERDICT_GUARDED &&
        axo__cell_class(worker->current)->on_crash != AXO_CRASH_FAILS)
        due = AXO__VERDICT_CLASS;
    if (due == AXO__VERDICT_GUARDED)
        probe_hit(PROBE_CRASH_ASIDE);
    crash_raise(&what, due);
}

void crash_point_outside(void)
{
    const crash_seen what = {.signal = crash_drawn()};
    if (what.signal != 0)
        crash_raise(&what, AXO__VERDICT_NOT_WORKER);
}

/* ---- guards ---- */

void crash_guard(axo_ctx *ctx)
{
    if (c.guarded != w.callback)
        c.guards = 0;
    c.guarded = w.callback;
    c.guards++;
    axo_guard_begin(ctx);
}

void crash_unguard(axo_ctx *ctx)
{
    for (; c.guarded == w.callback && c.guards > 0; c.guards--)
        axo_guard_end(ctx);
    axo_guard_end(ctx); /* one too many changes nothing */
}

/* ---- what is told of them ---- */

void crash_check_failure(const axo_failure *failure)
{
    const axo_crash *crash = axo_failure_crash(failure);
    bool crashed = failure->root_kind == AXO_FAILURE_CRASH;
    HOLDS_ALL(74, crash == NULL || crashed, "a failure of kind %" PRIu32 " has a crash",
              failure->kind);
    HOLDS_ALL(74, crash != NULL || !crashed || failure->text[0] == 0,
              "a failure by a crash has none");
    HOLDS_ALL(74,
              crash == NULL || (crash->signal == failure->code && crash->site == failure->site &&
                                axo_ref_equal(crash->actor, failure->actor)),
              "a failure has another's crash");
}

static bool crash_same(const axo_crash *crash, const crash_seen *seen)
{
    return crash->actor.bits == seen->actor && crash->instance == seen->instance &&
           crash->site == seen->site && crash->signal == seen->signal &&
           (crash->has_tag != 0) == seen->has_tag && crash->tag == seen->tag;
}

void crash_check(axo_system *system)
{
    axo_crash kept[AXO_CRASHES_KEPT];
    crash_landed();
    uint64_t count = axo_system_crashes(system, kept, AXO_CRASHES_KEPT);
    HOLDS_ALL(74, count == c.contained, "%" PRIu64 " crashes are told, %" PRIu64 " were contained",
              count, c.contained);
    for (uint64_t i = 0; i < count && i < AXO_CRASHES_KEPT; i++)
        HOLDS_ALL(74, crash_same(&kept[i], &c.kept[(count - 1 - i) % AXO_CRASHES_KEPT]),
                  "of the crashes that are kept the one before the last %" PRIu64 " is another", i);
}
