/* tree_sim.c - random trees of actors that fail in every way, in the simulator.
 *
 *   tree_sim --seeds N    seeds 1..N, each in a process of its own, each run twice if N is small
 *   tree_sim --seed X     one seed, twice, with the last events if it fails
 *
 * A seed's life: chaos (the actors' program, and calls from outside between the steps), calm
 * (nothing fails any more: the system comes to rest, and every living actor answers), the end.
 */
#include <signal.h>
#include <sys/wait.h>

#include "os/sim.h"
#include "world.h"

#define TREE_CALM_STEPS 400000
#define TREE_SECONDS_MAX 30

/* ---- hooks ---- */

/* Between the steps of the simulator everybody is outside. */
static void tree_outside(void)
{
    axo__self = NULL;
}

static void *tree_alloc(void *user, size_t size, size_t align)
{
    world *it = user;
    void *block = it->dry ? NULL : axo__os_alloc(NULL, size, align);
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
    mail_dead(letter);
    it->dead_letters++;
}

static void tree_event(void *user, const axo_event *e)
{
    ghost_event(user, e);
    mail_event(e);
}

static void tree_crash(int number)
{
    signal(number, SIG_DFL);
    fprintf(stderr, "seed %" PRIu64 ", event %" PRIu64 ": %s\n", g.seed, g.events,
            number == SIGALRM ? "takes too long" : strsignal(number));
    ghost_end();
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
    w.now += world_below(1500);
    axo_status status = axo_step_host(system, 1 + world_below(8), &turns);
    if (status != AXO_OK && !(w.dry && status == AXO_ENOMEM))
        ghost_fail("axo_step_host: %s", axo_status_name(status));
    if (turns > 0 || !jump)
        return turns > 0;
    int64_t due = axo_host_deadline(system);
    if (!w.manual || due == INT64_MAX)
        return false;
    w.now = due > w.now ? due : w.now;
    return true;
}

/* Whoever can, does something; false: everything is at rest. */
static bool tree_step(axo_system *system)
{
    if (world_below(4) == 0 && tree_host(system, false))
        return true;
    return axo__sim_step() || tree_host(system, true);
}

static bool tree_ended(axo_system *system)
{
    return axo_system_wait(system, 0, NULL) == AXO_OK;
}

static void tree_spawn(axo_system *system)
{
    axo_ref ref;
    axo_props props = *world_props(1);
    if (g.living >= WORLD_LIVING_MAX)
        return;
    props.system_actor = world_below(12) == 0;
    if (axo_system_spawn(system, &props, &ref) == AXO_OK)
        world_know(ref, &props);
}

static void tree_foreign(axo_system *system)
{
    axo_ref whom = world_somebody();
    axo_stats stats = AXO_STATS(0);
    axo_actor_info info = AXO_ACTOR_INFO(.queued = 0);
    char path[64];
    switch (world_below(w.noisy ? 16 : 12)) {
    case 0:
    case 1:
        tree_spawn(system);
        return;
    case 2:
        (void)axo_system_inspect(system, whom, axo_ref_none(), &info);
        return;
    case 3:
        (void)axo_system_path(system, whom, path, sizeof path);
        (void)axo_system_stats(system, &stats);
        return;
    case 12:
        (void)axo_system_stop_actor(system, whom);
        return;
    case 13:
        (void)axo_system_poison(system, whom);
        return;
    case 14:
        (void)axo_system_kill(system, whom);
        return;
    default: {
        work payload = mail_new(whom, 2 + world_below(5), world_below(MAIL_PRIORITIES));
        mail_sent(payload.number);
        if (!world_accepted(
                axo_system_send(system, whom, TAG_WORK, &payload, sizeof payload), whom))
            mail_refused(payload.number);
        return;
    }
    }
}

/* ---- phases ---- */

static axo_system *tree_start(uint64_t seed)
{
    static const uint32_t quanta[] = {1, 2, 7, 64};
    axo_system *system = NULL;
    axo_options options = AXO_OPTIONS(
        .workers = 1 + world_below(4), .quantum = quanta[world_below(4)], .actors_max = 4096,
        .seed = seed, .user_strategy = &world_strategies[world_below(2)],
        .blocking_max = 1 + world_below(4), .blocking_idle_ms = 1,
        .on_dead_letter = tree_dead_letter, .dead_letter_user = &w, .trace = tree_event,
        .allocator = {.alloc = tree_alloc, .free = tree_free, .user = &w});
    w.manual = world_below(16) == 0;
    if (w.manual) {
        w.now = 1000000000;
        options.manual = 1;
        options.clock = tree_clock;
        options.clock_user = &w;
    } else if (world_below(16) == 0) {
        axo__sim_refuse_start(world_below(options.workers + AXO__SPARES + 1));
        if (axo_system_start(&options, &system) != AXO_ETHREAD || system != NULL || w.mine != 0)
            ghost_fail("a refused thread is not AXO_ETHREAD, or leaves memory");
        ghost_reset(seed, g.loud);
    }
    if (axo_system_start(&options, &system) != AXO_OK)
        ghost_fail("axo_system_start failed");
    return system;
}

static void tree_chaos(axo_system *system)
{
    uint32_t steps = 500 + world_below(4000);
    uint32_t calls = 2 + world_below(30);
    w.noisy = world_below(2) == 0;
    if (world_below(4) == 0)
        axo__sim_refuse_start(world_below(20)); /* of a pool's thread */
    for (uint32_t i = 1 + world_below(4); i > 0; i--)
        tree_spawn(system);
    for (uint32_t i = 0; i < steps; i++) {
        if (world_below(calls) == 0)
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

static void tree_account(axo_system *system, uint64_t stashed)
{
    axo_stats stats = AXO_STATS(0);
    (void)axo_system_stats(system, &stats);
    if (stats.sent != stats.handled + stats.dead + stats.dropped + stashed)
        ghost_fail("at rest: %" PRIu64 " sent, %" PRIu64 " handled, %" PRIu64 " dead, %" PRIu64
                   " stashed", stats.sent, stats.handled, stats.dead, stashed);
}

static void tree_calm(axo_system *system)
{
    axo_stats stats = AXO_STATS(0);
    w.calm = true;
    w.dry = false;
    tree_settle(system);
    if (tree_ended(system))
        return;
    ghost_check_rest();
    mail_check_rest(system);
    mail_check_all(true);
    tree_account(system, mail_stashed());
    for (uint32_t i = 0; i < g.count; i++) {
        ghost *it = &g.all[i];
        it->pongs = 0;
        if (!it->terminated && !it->guardian)
            (void)axo_system_send(system, (axo_ref){.bits = it->bits}, TAG_PING, NULL, 0);
    }
    tree_settle(system);
    ghost_check_rest();
    mail_check_rest(system);
    mail_check_all(false);
    for (uint32_t i = 0; i < g.count; i++) {
        ghost *it = &g.all[i];
        if (!it->terminated && !it->guardian)
            GHOST_CHECK(it->pongs == 1, it, "a living actor does not answer");
    }
    tree_account(system, 0);
    (void)axo_system_stats(system, &stats);
    if (stats.actors != g.living + GHOST_GUARDIANS)
        ghost_fail("%" PRIu64 " actors, the checker has %" PRIu32, stats.actors, g.living);
}

static void tree_end(axo_system *system, bool calm)
{
    axo_stats stats = AXO_STATS(0);
    axo_late late[4];
    uint32_t late_count = 0;
    for (uint32_t i = world_below(4); i > 0; i--) { /* a few that do not wait long enough */
        axo_status status = axo_system_stop(system, world_below(20000), late, 4, &late_count);
        bool some = late_count > 0 || g.living == 0; /* else only the guardians are left */
        if (status != AXO_OK && (status != AXO_ETIMEDOUT || !some))
            ghost_fail("a stop that was too short: %s, %" PRIu32 " late", axo_status_name(status),
                       late_count);
    }
    if (axo_system_stop(system, -1, NULL, 0, NULL) != AXO_OK)
        ghost_fail("axo_system_stop failed");
    (void)axo_system_stats(system, &stats);
    if (stats.actors != 0 || g.living != 0)
        ghost_fail("%" PRIu64 " actors outlive the system", stats.actors);
    ghost_check_end();
    if (calm)
        mail_check_all(false);
    uint64_t accounted = stats.handled + stats.dead + stats.dropped;
    if (calm ? stats.sent != accounted : stats.sent < accounted)
        ghost_fail("at the end: %" PRIu64 " sent, %" PRIu64 " accounted for", stats.sent,
                   accounted);
    if (stats.dead != w.dead_letters)
        ghost_fail("%" PRIu64 " dead letters, %" PRIu64 " were shown", stats.dead, w.dead_letters);
    if (stats.memory_blocks != w.mine || stats.memory_bytes != w.bytes)
        ghost_fail("the stats' account of memory is wrong");
    if (axo_system_destroy(system) != AXO_OK)
        ghost_fail("axo_system_destroy failed");
    if (w.mine != 0 || w.bytes != 0)
        ghost_fail("%" PRIu64 " blocks of %" PRIu64 " bytes are left", w.mine, w.bytes);
    if (w.owned != w.freed)
        ghost_fail("%" PRIu64 " payloads handed over, %" PRIu64 " freed", w.owned, w.freed);
    if (w.deferred != w.undone)
        ghost_fail("%" PRIu64 " deferred calls, %" PRIu64 " made", w.deferred, w.undone);
}

/* One run; the hash of all its events. */
static uint64_t tree_run(uint64_t seed, bool loud)
{
    mail_reset();
    ghost_reset(seed, loud);
    world_reset(seed);
    axo__sim_reset(seed, tree_outside);
    axo_system *system = tree_start(seed);
    tree_chaos(system);
    bool calm = world_below(4) != 0;
    if (calm)
        tree_calm(system);
    tree_end(system, calm);
    return g.hash;
}

/* ---- many seeds ---- */

static void tree_seed(uint64_t seed, bool loud, bool twice)
{
    uint64_t hash = tree_run(seed, loud);
    if (loud)
        printf("seed %" PRIu64 ": %016" PRIx64 ", %" PRIu64 " steps, %" PRIu64 " events\n", seed,
               hash, axo__sim_steps(), g.events);
    if (!twice)
        return;
    uint64_t again = tree_run(seed, loud);
    if (loud)
        printf("seed %" PRIu64 ": %016" PRIx64 "\n", seed, again);
    if (hash != again)
        ghost_fail("the same seed gives another run");
}

static bool tree_apart(uint64_t seed, bool twice)
{
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        alarm(TREE_SECONDS_MAX);
        tree_seed(seed, false, twice);
        _exit(0);
    }
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static int tree_seeds(uint64_t seeds)
{
    uint64_t passed = 0;
    uint64_t failed = 0;
    uint64_t shown = seeds / 10 > 0 ? seeds / 10 : 1;
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        bool twice = seeds <= 500 || seed % 100 == 0;
        if (tree_apart(seed, twice))
            passed++;
        else
            failed++;
        if (seed % shown == 0 && seed != seeds)
            printf("%" PRIu64 " of %" PRIu64 " seeds\n", seed, seeds);
        fflush(stdout);
    }
    printf("%" PRIu64 " passed, %" PRIu64 " failed\n", passed, failed);
    return failed == 0 ? 0 : 1;
}

int main(int count, char **words)
{
    static const int deaths[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGALRM};
    if (count != 3) {
        fprintf(stderr, "usage: tree_sim --seeds NUMBER | --seed SEED\n");
        return 2;
    }
    for (size_t i = 0; i < sizeof deaths / sizeof deaths[0]; i++)
        signal(deaths[i], tree_crash);
    uint64_t number = strtoull(words[2], NULL, 0);
    if (strcmp(words[1], "--seeds") == 0)
        return tree_seeds(number);
    tree_seed(number, true, true);
    return 0;
}
