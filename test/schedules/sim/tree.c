/* tree.c - one seed, from the start of its systems to what is left at the end. */
#include "tree.h"

#include "crash.h"
#include "drafts.h"
#include "pauses.h"
#include "reads.h"
#include "wires.h"

#define TREE_STEPS_MIN  1000
#define TREE_WIRE_STEPS 150
#define TREE_SCARCE     3 /* one allocation of so many */
#define TREE_CALM_STEPS 400000

static const uint32_t canary_kinds[CANARIES] = {
    [CANARY_TWICE] = AXO_EV_RECEIVE,
    [CANARY_LOST] = AXO_EV_SUSPEND,
    [CANARY_OTHER] = AXO_EV_RESUME,
};

tree t;

/* ---- hooks ---- */

/* Between the steps of the simulator everybody is outside. */
static void tree_outside(void)
{
    axo__self = NULL;
    crash_landed();
    drafts_closed();
    ghost_outside();
    look_step();
    model_step();
}

/* The second run of a seed has its blocks elsewhere: more is asked for than is needed, seldom the
 * same. */
static size_t tree_padding(void)
{
    t.blocks = t.blocks * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return t.elsewhere ? (size_t)(t.blocks >> 56) * 16 : 0;
}

static void *tree_alloc(void *user, size_t size, size_t align)
{
    world *it = user;
    HOLDS_ALL(57, !ghost_is_barred() || q.firing, "memory is asked for by who fails or ends");
    bool none = it->dry || (it->scarce && axo__sim_chance(AXO__SIM_TEST_FAULT, TREE_SCARCE));
    void *block = none ? NULL : axo__os_alloc(NULL, size + tree_padding(), align);
    m.dry = m.dry || block == NULL;
    if (block == NULL)
        return NULL;
    it->mine++;
    it->bytes += size;
    return block;
}

static void tree_free(void *user, void *block, size_t size, size_t align)
{
    world *it = user;
    it->mine--;
    it->bytes -= size;
    memset(block, 0xdb, size);
    axo__os_free(NULL, block, size, align);
}

static void tree_dead_letter(void *user, const axo_dead_letter *letter)
{
    world *it = user;
    queues_callback();
    mail_dead(letter);
    if (letter->reason == AXO_DEAD_POISON)
        model_poisoned(letter);
    it->dead_letters++;
    /* of axo_drop, of poison: it counts as handled */
    it->put_aside += letter->reason == AXO_DEAD_DROPPED || letter->reason == AXO_DEAD_POISON;
    crash_point_aside();
    HOLDS_ALL(37, g.kinds[AXO_EV_DEAD_LETTER] == it->dead_letters,
              "%" PRIu64 " dead letters were traced, %" PRIu64 " shown",
              g.kinds[AXO_EV_DEAD_LETTER], it->dead_letters);
}

/* What the props said of a newborn. */
static void tree_meet(ghost *it)
{
    const axo__cell *cell = look_at(it);
    it->cls = axo__cell_class(cell);
    it->strategy = axo__cell_strategy(cell);
    it->lifetime = (axo_lifetime)cell->lifetime;
    it->boxed = cell->bounded != 0;
    it->wild = it->wild || wires_may_stop(it->parent);
    if (cell->elsewhere == 0 && !l.system->core.manual)
        it->pool = 0;
}

static void tree_take(const axo_event *e)
{
    crash_landed();
    if (e->kind == AXO_EV_DEAD_LETTER) {
        ghost_note(e); /* whoever sent it; its recipient may never have been */
        return;
    }
    model_before(e);
    look_event(ghost_find(e->actor.bits), e); /* whose it is; then what it says */
    ghost *it = ghost_event(e);
    look_life(it, e->kind);
    if (e->kind == AXO_EV_SPAWN && l.system != NULL)
        tree_meet(it);
    mail_event(e);
    model_event(it, e);
}

/* The planted bug: an event that never was, one that is lost, one that says another thing. */
static void tree_event(void *user, const axo_event *e)
{
    if (t.canary != CANARY_NONE && e->kind == canary_kinds[t.canary] && ++t.canary_seen == 20) {
        axo_event other = *e;
        other.suspends++;
        if (t.canary == CANARY_LOST)
            return;
        tree_take(t.canary == CANARY_TWICE ? e : &other);
    }
    tree_take(e);
}

static void tree_log(void *user, const axo_log_record *record)
{
    if (l.system != NULL && record->event == AXO_LOG_FAILURE)
        model_said(record->actor, (axo_directive)record->directive);
}

void tree_crash(int number)
{
    signal(number, SIG_DFL);
    if (number == SIGPROF)
        ghost_fail("takes too long");
    ghost_fail("%s", strsignal(number));
}

void tree_limit(int seconds)
{
    struct itimerval limit = {.it_value.tv_sec = seconds};
    (void)setitimer(ITIMER_PROF, &limit, NULL);
}

/* ---- from outside ---- */

static int64_t tree_clock(void *user)
{
    const world *it = user;
    return it->now;
}

/* The host's thread: a few turns; false: there was nothing. A manual system's time goes on when
 * there is nothing else. */
static bool tree_host(axo_system *system, bool jump)
{
    uint64_t turns = 0;
    w.now += world_next(1500);
    axo_status status = axo_step_host(system, 1 + world_next(8), &turns);
    if (status != AXO_OK && !((w.dry || w.scarce) && status == AXO_ENOMEM))
        ghost_fail("axo_step_host: %s", axo_status_name(status));
    tree_outside();
    if (turns > 0 || !jump)
        return turns > 0;
    int64_t due = axo_host_deadline(system);
    if (!w.manual || due == INT64_MAX)
        return false;
    w.now = due > w.now ? due : w.now;
    return true;
}

static void tree_asked(void *user, uint32_t how_many)
{
    (void)user;
    w.asked += how_many;
}

static bool tree_timers(void)
{
    const axo__sched *sched = &l.system->sched;
    for (uint32_t i = 0; i < sched->worker_count; i++) {
        if (axo__timers_next(sched->workers[i].timers) != AXO__NEVER)
            return true;
    }
    return false;
}

/* Lent threads that come when they are asked, or when a visit is due, and seldom else: nothing may
 * be left to do when none has a reason to come. Any slot, for some turns or as long as there is
 * something to do. */
static bool tree_slot(axo_system *system)
{
    uint64_t turns = 0;
    axo__sched *sched = &l.system->sched;
    int64_t due = axo_worker_due(system);
    bool reason = w.asked > 0 || due != INT64_MAX;
    bool polls = w.asked == 0 && due == AXO__IO_RETRY_NS && !tree_timers(); /* for ever */
    if (!w.lent || (!reason && world_next(8) != 0))
        return false;
    if (w.asked > 0)
        w.asked--;
    else if (reason)
        axo__sim_now.now += due;
    uint64_t most = world_next(2) == 0 ? 1 + world_next(8) : UINT64_MAX;
    axo_status status = axo__lent_run(sched, world_next(sched->worker_count), -1, most, &turns);
    if (status != AXO_OK)
        ghost_fail("axo_worker_run: %s", axo_status_name(status));
    if (turns > 0 && !reason)
        ghost_fail("%" PRIu64 " turns had waited for a visit that nobody asked for", turns);
    if (turns > 0)
        probe_hit(PROBE_VISIT);
    tree_outside();
    return (reason && !polls) || turns > 0;
}

/* Whoever can, does something; false: everything is at rest. */
static bool tree_step(axo_system *system)
{
    uint64_t events = g.events;
    bool ran = world_next(4) == 0 && tree_host(system, false);
    ran = ran || tree_slot(system) || axo__sim_step() || tree_host(system, true);
    ran = ran || w.asked > 0; /* the host has fired timers, say */
    t.steps += ran;
    if (q.woke && g.events == events)
        probe_hit(PROBE_EARLY_WAKE);
    q.woke = false;
    return ran;
}

static bool tree_ended(axo_system *system)
{
    return axo_system_wait(system, 0, NULL) == AXO_OK;
}

static void tree_spawn(axo_system *system)
{
    axo_ref ref;
    uint64_t identity = world_mix(w.now_runs.base, 2);
    axo_props props = *world_props(1);
    if (g.living >= w.living_max)
        return;
    props.system_actor = world_below(12) == 0;
    if (axo_system_spawn(system, &props, &ref) == AXO_OK)
        act_know(ref, identity, &props);
}

/* A reference leads to its actor while that lives, and to nobody after. */
static void tree_resolve(axo_system *system, axo_ref whom, uint32_t number)
{
    axo_actor_info info = AXO_ACTOR_INFO(.queued = 0);
    const ghost *it = ghost_find(whom.bits);
    axo_status status = axo_system_inspect(system, whom, axo_ref_none(), &info);
    HOLDS_ALL(number, (status == AXO_OK) == (it != NULL && !look_is_over(it)),
              "looking at %014" PRIx64 ": %s", whom.bits, axo_status_name(status));
}

static void tree_send(axo_system *system, axo_ref whom)
{
    uint32_t left = 2 + world_below(5);
    work payload = mail_new(0, whom, left, world_below(MAIL_PRIORITIES));
    mail_sent(payload.number);
    if (act_accepted(axo_system_send(system, whom, TAG_WORK, &payload, sizeof payload), whom))
        m.sending = 0;
    else
        mail_refused(payload.number);
}

static void tree_foreign(axo_system *system)
{
    char path[64];
    axo_stats stats = AXO_STATS(0);
    world_begin(world_mix(UINT64_C(0x6f757473), world_mix(g.seed + w.life, ++w.outside)));
    queues_callback();
    crash_point_outside();
    pauses_act(system);
    if (!world_is(KNOB_OUTSIDE))
        return;
    axo_ref whom = world_somebody();
    ghost *it = ghost_find(whom.bits);
    switch (world_below(w.noisy ? 16 : 12)) {
    case 0:
    case 1:
        tree_spawn(system);
        return;
    case 2:
        tree_resolve(system, whom, 53);
        return;
    case 3:
        (void)axo_system_path(system, whom, path, sizeof path);
        (void)axo_system_stats(system, &stats);
        return;
    case 12:
        if (axo_system_stop_actor(system, whom) == AXO_OK && it != NULL)
            it->stop_asked = true;
        return;
    case 13:
        if (axo_system_poison(system, whom) == AXO_OK && it != NULL)
            it->pilled = true;
        return;
    case 14:
        if (axo_system_kill(system, whom) == AXO_OK && it != NULL)
            mail_mind_of(whom.bits)->kills++;
        return;
    default:
        tree_send(system, whom);
        return;
    }
}

/* ---- phases ---- */

/* What was, was not: a system that did not start. */
static void tree_forget(void)
{
    bool manual = g.manual;
    bool lent = g.lent;
    ghost_reset(g.seed, g.loud);
    queues_reset();
    look_reset();
    g.manual = manual;
    g.lent = lent;
}

/* Every fifth seed has a governor of restarts. */
static void tree_govern(uint64_t seed, axo_options *options)
{
    bool governed = seed % 5 == 2;
    world_govern(governed);
    if (!governed)
        return;
    options->storm_max = 1 + (uint32_t)(seed / 5 % 4);
    options->storm_window_ns = INT64_C(100000) << (seed / 20 % 6);
}

/* Of the lives with crashes most have a system that contains them, and some of these a budget that
 * is soon spent. */
static void tree_contain(uint64_t seed, axo_options *options)
{
    bool contains = w.knobs[KNOB_CRASH] > 0 && seed % 8 != 0;
    bool narrow = seed / 8 % 4 == 0;
    world_quarantine(w.knobs[KNOB_CRASH] > 0 ? (uint32_t)(seed / 7 % 4) : 0);
    crash_reset();
    if (!contains)
        return;
    options->contain = 1;
    options->crashes_max = narrow ? 1 + (uint32_t)(seed / 32 % 12) : WORLD_FAILURES_MAX;
    options->crash_window_ns = INT64_C(20000) << (narrow ? seed / 384 % 8 : 20);
    crash_contains(options->crashes_max, options->crash_window_ns);
}

/* Every eighth seed has no threads of its own. */
static bool tree_lends(uint64_t seed, axo_options *options)
{
    w.lent = g.lent = seed % 8 == 5;
    if (!w.lent)
        return false;
    options->threads = AXO_THREADS_LENT;
    options->on_work = tree_asked;
    return true;
}

static axo_system *tree_start(uint64_t seed)
{
    static const uint32_t quanta[] = {1, 2, 7, 64};
    axo_system *system = NULL;
    axo_options options =
        AXO_OPTIONS(.workers = 1 + world_next(6), .quantum = quanta[world_next(4)],
                    .actors_max = 4096, .seed = seed,
                    .user_strategy = &world_strategies[world_next(2)],
                    .blocking_max = 1 + world_next(4), .blocking_idle_ms = 1,
                    .on_dead_letter = tree_dead_letter, .dead_letter_user = &w, .trace = tree_event,
                    .log_record = tree_log, .failure_log = UINT32_MAX,
                    .allocator = {.alloc = tree_alloc, .free = tree_free, .user = &w});
    world_told(seed % 4 == 3 ? 1 : seed % 4 == 2 ? 2 : 0);
    tree_govern(seed, &options);
    tree_contain(seed, &options);
    w.manual = g.manual = world_next(16) == 0;
    if (w.manual) {
        w.now = 1000000000;
        options.manual = 1;
        options.clock = tree_clock;
        options.clock_user = &w;
    } else if (tree_lends(seed, &options)) {
        probe_hit(PROBE_LENT);
    } else if (world_next(16) == 0) {
        axo__sim_refuse_start(world_next(options.workers + AXO__SPARES + 1));
        if (axo_system_start(&options, &system) != AXO_ETHREAD || system != NULL || w.mine != 0)
            ghost_fail("a refused thread is not AXO_ETHREAD, or leaves memory");
        probe_hit(PROBE_THREAD_REFUSED);
        tree_forget();
    }
    g.storm = (ghost_storm){.most = options.storm_max, .window_ns = options.storm_window_ns};
    if (axo_system_start(&options, &system) != AXO_OK)
        ghost_fail("axo_system_start failed");
    l.system = system;
    for (uint32_t i = 0; i < g.count; i++)
        tree_meet(&g.all[i]);
    ghost_outside();
    return system;
}

static void tree_chaos(axo_system *system)
{
    uint32_t steps = TREE_STEPS_MIN + world_next(world_next(16) == 0 ? 4000 : 500);
    uint32_t calls = 2 + world_next(30);
    w.noisy = world_next(2) == 0;
    if (world_next(4) == 0)
        axo__sim_refuse_start(world_next(20)); /* of a pool's thread */
    for (uint32_t i = 1 + world_next(4); i > 0; i--) {
        world_begin(world_mix(UINT64_C(0x66697273), world_mix(g.seed + w.life, i)));
        if (world_is(KNOB_OUTSIDE))
            tree_spawn(system);
    }
    for (uint32_t i = 0; i < steps; i++) {
        if (world_next(calls) == 0)
            tree_foreign(system);
        bool ran = tree_step(system);
        mail_check(system);
        if (ran)
            continue;
        if (tree_ended(system))
            return;
        tree_foreign(system);
    }
}

static void tree_settle(axo_system *system)
{
    for (uint32_t i = 0; i < TREE_CALM_STEPS; i++) {
        bool ran = tree_step(system);
        mail_check(system);
        if (!ran)
            return;
    }
    ghost_fail("the system does not come to rest");
}

/* RR-11: each that the model has seen is counted, and no other. */
static void tree_check_merged(const axo_stats *stats)
{
    HOLDS_ALL(17, stats->restarts_merged == g.kinds[AXO_EV_MERGE],
              "%" PRIu64 " restarts merged, %" PRIu64 " were told", stats->restarts_merged,
              g.kinds[AXO_EV_MERGE]);
}

static void tree_check_governed(const axo_stats *stats)
{
    HOLDS_ALL(70, stats->restarts_governed == g.storm.waited,
              "%" PRIu64 " restarts waited for their turn, %" PRIu64 " were told",
              stats->restarts_governed, g.storm.waited);
}

static void tree_account(axo_system *system, uint64_t stashed)
{
    axo_stats stats = AXO_STATS(0);
    (void)axo_system_stats(system, &stats);
    tree_check_merged(&stats);
    tree_check_governed(&stats);
    HOLDS_ALL(37, stats.sent == stats.handled + stats.dead + stats.dropped + stashed,
              "at rest: %" PRIu64 " sent, %" PRIu64 " handled, %" PRIu64 " dead, %" PRIu64
              " stashed",
              stats.sent, stats.handled, stats.dead, stashed);
}

static void tree_check_rest(axo_system *system, bool stashed)
{
    ghost_check_rest();
    mail_check_rest(system);
    mail_check_all(stashed);
    mail_check_asks();
    mail_check_requests();
    reads_check_rest();
    if (!stashed)
        look_rest();
    tree_account(system, stashed ? mail_stashed() : 0);
}

/* Everybody who lives answers, and nobody else. */
static void tree_ping(axo_system *system)
{
    for (uint32_t i = 0; i < g.count; i++) {
        ghost *it = &g.all[i];
        it->pongs = 0;
        if (!it->terminated && !it->guardian)
            (void)axo_system_send(system, (axo_ref){.bits = it->bits}, TAG_PING, NULL, 0);
    }
    tree_settle(system);
    tree_check_rest(system, false);
    for (uint32_t i = 0; i < g.count; i++) {
        ghost *it = &g.all[i];
        if (!it->terminated && !it->guardian)
            HOLDS(46, it, it->pongs == 1, "a living actor does not answer");
    }
}

/* Some who are watched end: all who watch them are told, and nobody else (35). */
static void tree_thin(axo_system *system)
{
    for (uint32_t i = 0; i < g.count; i++) {
        const ghost *it = &g.all[i];
        for (uint32_t j = 0; j < it->watch_count && !it->terminated && !it->guardian; j++) {
            ghost *target = ghost_find(it->watches[j].target);
            if (target == NULL || target->terminated || world_next(4) != 0)
                continue;
            target->stop_asked = true;
            (void)axo_system_stop_actor(system, (axo_ref){.bits = target->bits});
        }
    }
    tree_settle(system);
    tree_check_rest(system, false);
}

static void tree_calm(axo_system *system)
{
    axo_stats stats = AXO_STATS(0);
    w.calm = true;
    w.dry = false;
    pauses_end(system);
    tree_settle(system);
    if (tree_ended(system))
        return;
    tree_check_rest(system, true);
    tree_ping(system);
    tree_thin(system);
    (void)axo_system_stats(system, &stats);
    HOLDS_ALL(11, stats.actors == g.living + GHOST_GUARDIANS,
              "%" PRIu64 " actors, the checker has %" PRIu32, stats.actors, g.living);
}

/* ---- the phases of a life with streams ---- */

static void tree_wires_chaos(axo_system *system)
{
    uint32_t steps = TREE_WIRE_STEPS + world_next(TREE_WIRE_STEPS);
    wires_start(system);
    for (uint32_t i = 0; i < steps; i++) {
        if (world_next(2) == 0)
            wires_outside(system);
        if (tree_step(system))
            continue;
        if (tree_ended(system))
            return;
        wires_outside(system);
    }
}

static void tree_wires_settle(axo_system *system)
{
    for (uint32_t i = 0; i < TREE_CALM_STEPS; i++) {
        bool moved = wires_peers();
        if (!tree_step(system) && !moved)
            return;
    }
    ghost_fail("the system does not come to rest");
}

/* Peers do what is left to do; then all come to an end in order. */
static void tree_wires_calm(axo_system *system)
{
    w.calm = true;
    w.dry = false;
    wires_calm();
    for (uint32_t i = 0; i < 2; i++) {
        if (i == 1)
            wires_close(system);
        tree_wires_settle(system);
        if (tree_ended(system))
            return;
        tree_check_rest(system, false);
        wires_check_rest(i == 1);
    }
}

/* ---- the end ---- */

/* A stop is over: the second one does nothing, and everybody is gone for everybody. */
static void tree_after(axo_system *system)
{
    uint64_t events = g.events;
    HOLDS_ALL(58, axo_system_stop(system, -1, NULL, 0, NULL) == AXO_OK, "a second stop fails");
    for (uint32_t i = 0; i < g.count; i += 1 + i / 8)
        tree_resolve(system, (axo_ref){.bits = g.all[i].bits}, 58);
    HOLDS_ALL(58, events == g.events, "something happens after the stop");
}

static void tree_check_end(axo_system *system, bool calm)
{
    axo_stats stats = AXO_STATS(0);
    (void)axo_system_stats(system, &stats);
    tree_check_merged(&stats);
    if (calm)
        mail_check_all(false);
    uint64_t accounted = stats.handled + stats.dead + stats.dropped;
    HOLDS_ALL(37, calm ? stats.sent == accounted : stats.sent >= accounted,
              "at the end: %" PRIu64 " sent, %" PRIu64 " accounted for", stats.sent, accounted);
    HOLDS_ALL(37, stats.dead == w.dead_letters - w.put_aside,
              "%" PRIu64 " dead letters, %" PRIu64 " were shown", stats.dead,
              w.dead_letters - w.put_aside);
    crash_check(system);
    HOLDS_ALL(56, stats.memory_blocks == w.mine && stats.memory_bytes == w.bytes,
              "the stats' account of memory is wrong");
    uint64_t events = g.events;
    l.system = NULL;
    HOLDS_ALL(58, axo_system_destroy(system) == AXO_OK, "axo_system_destroy failed");
    HOLDS_ALL(58, events == g.events, "something happens after the stop");
    reads_check_end();
    drafts_end();
    HOLDS_ALL(54, queues_texts_left() == 0, "texts are left");
    HOLDS_ALL(56, w.mine == 0 && w.bytes == 0, "%" PRIu64 " blocks of %" PRIu64 " bytes are left",
              w.mine, w.bytes);
    HOLDS_ALL(56, w.owned == w.freed, "%" PRIu64 " payloads handed over, %" PRIu64 " freed",
              w.owned, w.freed);
    HOLDS_ALL(56, w.deferred == w.undone, "%" PRIu64 " deferred calls, %" PRIu64 " made",
              w.deferred, w.undone);
}

static void tree_end(axo_system *system, bool calm)
{
    axo_stats stats = AXO_STATS(0);
    axo_late late[4];
    uint32_t late_count = 0;
    for (uint32_t i = world_next(4); i > 0; i--) { /* a few that do not wait long enough */
        axo_status status = axo_system_stop(system, world_next(20000), late, 4, &late_count);
        bool some = late_count > 0 || g.living == 0; /* else only the guardians are left */
        if (status != AXO_OK && (status != AXO_ETIMEDOUT || !some))
            ghost_fail("a stop that was too short: %s, %" PRIu32 " late", axo_status_name(status),
                       late_count);
    }
    HOLDS_ALL(58, axo_system_stop(system, -1, NULL, 0, NULL) == AXO_OK, "axo_system_stop failed");
    (void)axo_system_stats(system, &stats);
    HOLDS_ALL(58, stats.actors == 0 && g.living == 0, "%" PRIu64 " actors outlive the system",
              stats.actors);
    ghost_check_end();
    tree_after(system);
    tree_check_end(system, calm);
}

static uint64_t tree_life(uint64_t seed, bool loud, bool wired)
{
    mail_reset();
    ghost_reset(g.seed, loud);
    world_reset(seed, t.lives++);
    if (wired)
        w.knobs[KNOB_CRASH] = 0; /* none of its actors asks for it */
    queues_reset();
    look_reset();
    axo__sim_reset(seed, tree_outside);
    reads_begin();
    drafts_reset();
    pauses_reset();
    if (t.choices != NULL && w.life == 0)
        axo__sim_replay(t.choices, t.choice_count);
    if (wired)
        wires_begin();
    axo_system *system = tree_start(seed);
    (wired ? tree_wires_chaos : tree_chaos)(system);
    bool calm = world_next(4) != 0;
    if (calm)
        (wired ? tree_wires_calm : tree_calm)(system);
    tree_end(system, calm);
    if (wired)
        wires_check_end();
    sockets_over();
    return g.hash;
}

uint64_t tree_run(uint64_t seed, bool loud)
{
    uint64_t hash = 0;
    g.seed = seed;
    t.steps = t.lives = t.canary_seen = 0;
    t.blocks = seed;
    o.operation_count = 0;
    tallied->seed = seed;
    do
        hash = world_mix(hash,
                         tree_life(t.lives == 0 ? seed : world_mix(seed, t.lives), loud, false));
    while (t.steps < TREE_STEPS_MIN);
    return world_mix(hash, tree_life(world_mix(seed, UINT64_C(0x7769726573)), loud, true));
}
