/* member_sim.c - nodes that look for each other, with a store and a network that do what they do.
 *
 *   member_sim --seeds 2000 [FIRST]     seeds FIRST, FIRST + 1, ...; 1 if none is given
 */
#include "members.h"
#include "schedules/seeds.h"

#define STEPS 350

static const char *const probe_names[] = {
#define PROBE_NAME(name) #name,
    PROBE_LIST(PROBE_NAME)
#undef PROBE_NAME
};

bool members_say;

/* ---- trouble */

static void sim_cut_store(world *w, uint32_t place, bool cut)
{
    if (w->cut[place][PLACES] == cut)
        return;
    SAY(w, "place %u and the store: %s", place, cut ? "cut" : "joined");
    w->cut[place][PLACES] = w->cut[PLACES][place] = cut;
    if (cut)
        process_break(&w->processes[place], false);
}

/* Two halves; the store is with the second, or with both. */
static void sim_part(world *w)
{
    uint32_t half = chance_below(w, 1U << PLACES);
    bool store = chance_below(w, 2) == 0;
    SAY(w, "halves: %x%s", half, store ? ", one without the store" : "");
    for (uint32_t i = 0; i < PLACES; i++) {
        for (uint32_t j = 0; j < PLACES; j++)
            w->cut[i][j] = (half >> i & 1) != (half >> j & 1);
        sim_cut_store(w, i, store && (half >> i & 1) != 0);
    }
}

static void sim_join(world *w)
{
    SAY(w, "all are joined");
    for (uint32_t i = 0; i < PLACES; i++) {
        for (uint32_t j = 0; j < PLACES; j++)
            w->cut[i][j] = false;
        sim_cut_store(w, i, false);
    }
}

static bool sim_has_place(const world *w, uint32_t place)
{
    return name_of(place) < w->names;
}

static void sim_process_trouble(world *w, process *p)
{
    if (!p->alive) {
        if (chance_of(w, 60) && sim_has_place(w, p->place))
            process_boot(w, p->place);
        return;
    }
    if (p->told_over) {
        if (chance_of(w, 100))
            process_die(p);
        return;
    }
    if (chance_of(w, 10))
        process_stop(p, (int64_t)chance_below(w, chance_below(w, 3) == 0 ? 25000 : 6000) * MS);
    if (chance_of(w, 5))
        process_die(p);
    else if (chance_of(w, 4) && process_runs(p))
        process_leave(p);
}

static void sim_network_trouble(world *w)
{
    uint32_t a = chance_below(w, PLACES);
    uint32_t b = chance_below(w, PLACES);
    if (chance_of(w, 20))
        w->cut[a][b] = !w->cut[a][b];
    if (chance_of(w, 12))
        sim_cut_store(w, a, !w->cut[a][PLACES]);
    if (chance_of(w, 6))
        sim_part(w);
    if (chance_of(w, 15))
        sim_join(w);
    if (chance_of(w, w->store_down ? 25 : 4)) {
        if (w->store_down)
            store_return(w, chance_below(w, 4) == 0);
        else
            store_fail(w);
    }
}

/* ---- a seed's life */

static void sim_round(world *w)
{
    uint32_t first = chance_below(w, PLACES);
    store_expire(w);
    if (chance_below(w, 2) == 0)
        air_run(w);
    for (uint32_t i = 0; i < PLACES; i++) {
        process *p = &w->processes[(first + i) % PLACES];
        if (process_runs(p))
            process_run(p);
    }
    air_run(w);
}

static void sim_chaos(world *w)
{
    for (uint32_t step = 0; step < STEPS && !w->violated; step++) {
        sim_network_trouble(w);
        sim_process_trouble(w, &w->processes[chance_below(w, PLACES)]);
        sim_round(w);
        w->now += (int64_t)chance_below(w, 400) * MS;
    }
}

/* Who has left or died stays so; who is over comes again. */
static void sim_calm(world *w)
{
    w->calm = true;
    w->calm_at = w->changed = w->now;
    sim_join(w);
    if (w->store_down)
        store_return(w, false);
    for (uint32_t i = 0; i < PLACES; i++) {
        process *p = &w->processes[i];
        if (p->alive && p->stopped_until > w->now) {
            p->halted -= p->stopped_until - w->now;
            p->stopped_until = w->now;
        }
    }
    while (w->now < w->calm_at + CALM_NS + QUIET_NS && !w->violated) {
        sim_round(w);
        for (uint32_t i = 0; i < PLACES; i++) {
            process *p = &w->processes[i];
            if (!p->alive || !p->told_over || w->now < p->over_at + 1000 * MS)
                continue;
            process_die(p);
            if (p->over != CLUSTER_LEFT)
                process_boot(w, i);
        }
        w->now += 200 * MS;
    }
    if (w->changed - w->calm_at > w->settled)
        w->settled = w->changed - w->calm_at;
}

static void sim_settings(world *w)
{
    static const char *const names[NAMES] = {"n0", "n1", "n2", "n3", "n4"};
    w->names = 3 + chance_below(w, 3);
    w->settings = (cluster_member_settings){
        .beat_ns = BEAT_NS, .lease_ns = LEASE_NS,
        .phi = {.estimate_ns = BEAT_NS, .pause_ns = PAUSE_NS, .deviation_ns_min = 100 * MS,
                .threshold = 8},
        .on_minority = chance_below(w, 2) == 0 ? CLUSTER_STOP : CLUSTER_GO_ON};
    for (uint32_t i = 0; i < w->names; i++)
        w->seeds[i] = names[i];
    w->settings.seeds = w->seeds;
    if (chance_below(w, 3) != 0)
        w->settings.seeds_count = 1 + chance_below(w, w->names);
    w->loss = chance_below(w, 3) * chance_below(w, 100);
    w->repeat = chance_below(w, 2) * chance_below(w, 200);
    w->late = chance_below(w, 3) * chance_below(w, 60);
    w->watch_late = chance_below(w, 3) * chance_below(w, 60);
    w->quarantines = chance_below(w, 3) != 0;
    w->expiry_told = chance_below(w, 2) == 0;
    w->expiry_late = (int64_t)(chance_below(w, 2) * chance_below(w, 6000)) * MS;
}

static bool sim_seed(world *w, flying *air, uint64_t seed)
{
    uint64_t met[PROBES];
    int64_t settled = w->settled;
    memcpy(met, w->met, sizeof met);
    memset(w, 0, sizeof *w);
    memcpy(w->met, met, sizeof met);
    w->settled = settled;
    w->seed = seed;
    w->air = air;
    w->lives = 1;
    axo__random_init(&w->chance, seed, 1);
    sim_settings(w);
    for (uint32_t i = 0; i < PLACES; i++) {
        w->processes[i].w = w;
        if (sim_has_place(w, i) && (i < NAMES || chance_below(w, 3) == 0))
            process_boot(w, i);
    }
    sim_chaos(w);
    if (!w->violated)
        sim_calm(w);
    if (!w->violated)
        ghost_calm(w);
    return !w->violated;
}

int main(int count, char **words)
{
    static world w;
    static flying air[FLYING];
    char more[64];
    seeds all;
    members_say = getenv("MEMBER_SIM_SAY") != NULL;
    if (!seeds_read(&all, count, words, "member_sim"))
        return 2;
    for (uint64_t i = 0; i < all.count; i++)
        all.failed += !sim_seed(&w, air, all.first + i);
    (void)snprintf(more, sizeof more, "; in the calm all is settled after %.1f s, of %.1f s",
                   (double)w.settled / 1e9, (double)CALM_NS / 1e9);
    return seeds_end(&all, w.met, probe_names, PROBES, more);
}
