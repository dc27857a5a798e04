/* grain_sim.c - grains of 3 to 5 nodes, above a store and a network that do what those do.
 *
 *   grain_sim --seeds 2000 [FIRST]     seeds FIRST, FIRST + 1, ...; 1 if none is given
 */
#include "grains.h"
#include "schedules/seeds.h"

#define CHAOS_NS (20000 * SIM_MS)
#define CALM_NS  (25000 * SIM_MS)

static const char *const probe_names[] = {
#define PROBE_NAME(name) #name,
    PROBE_LIST(PROBE_NAME)
#undef PROBE_NAME
};

/* ---- chaos ---- */

static void sim_cut(world *w, uint32_t a, uint32_t b)
{
    if (chance_of(w, 40))
        w->cut[a][b] = !w->cut[a][b]; /* one way */
    if (!chance_of(w, 15))
        return;
    w->cut_store[a] = !w->cut_store[a];
    for (uint32_t i = 0; i < w->nodes_count && chance_of(w, 800); i++) {
        if (w->cut_store[a] && i != a && node_runs(&w->nodes[i]))
            node_looks(&w->nodes[i], a, true); /* it is not heard of */
    }
}

static void sim_of_node(world *w, node *n)
{
    if (!n->alive) {
        if (chance_of(w, 60)) {
            node_boot(w, n->index);
            w->met[PROBE_booted]++;
        }
    } else if (chance_of(w, 6)) {
        node_halt(n);
        w->met[PROBE_killed]++;
    } else if (node_runs(n) && chance_of(w, 25)) {
        node_stop(n, chance_ns(w, chance_of(w, 500) ? 200 * SIM_MS : 3000 * SIM_MS));
    } else if (node_runs(n) && chance_of(w, 4)) {
        node_leaves(n);
    } else if (node_runs(n) && chance_of(w, 50)) {
        node_turns_rate(n);
    }
}

/* What networks, machines and their people do. */
static void sim_trouble(world *w)
{
    uint32_t a = chance_below(w, w->nodes_count);
    uint32_t b = chance_below(w, w->nodes_count);
    node *n = &w->nodes[a];
    sim_cut(w, a, b);
    sim_of_node(w, n);
    if (node_runs(n) && chance_of(w, 150)) {
        bool suspects = a != b && chance_of(w, 150);
        w->met[PROBE_suspected] += suspects;
        node_looks(n, b, suspects);
    }
    for (uint32_t i = chance_below(w, 4); i > 0; i--) {
        node *from = &w->nodes[chance_below(w, w->nodes_count)];
        if (node_runs(from) && !from->leaving)
            (void)node_send(from, chance_of(w, w->hot) ? 0 : chance_below(w, KEYS));
    }
}

/* Everything that is due; the time of the next. */
static int64_t sim_round(world *w)
{
    for (uint32_t i = 0; i < w->nodes_count; i++) {
        node *n = &w->nodes[i];
        if (n->alive && n->stopped_until != 0 && n->stopped_until <= w->now)
            node_wake(n);
    }
    air_run(w);
    air_expire(w);
    for (uint32_t i = 0; i < w->nodes_count; i++)
        node_run(&w->nodes[i]);
    int64_t due = air_due(w);
    for (uint32_t i = 0; i < w->nodes_count; i++) {
        int64_t at = node_due(&w->nodes[i]);
        due = at < due ? at : due;
    }
    return due;
}

/* Till then, in steps that are as long as nothing is due. */
static void sim_until(world *w, int64_t end)
{
    while (!w->violated) {
        int64_t due = sim_round(w);
        if (due > end)
            break;
        w->now = due > w->now ? due : w->now + 1;
    }
    w->now = end > w->now ? end : w->now;
}

static void sim_chaos(world *w)
{
    int64_t end = w->now + CHAOS_NS;
    while (w->now < end && !w->violated) {
        sim_trouble(w);
        sim_until(w, w->now + chance_ns(w, chance_of(w, 100) ? 400 * SIM_MS : 40 * SIM_MS));
    }
}

/* ---- calm ---- */

/* Nothing is lost any more; all are there, and know it. */
static void sim_heal(world *w)
{
    w->calm = true;
    memset(w->cut, 0, sizeof w->cut);
    memset(w->cut_store, 0, sizeof w->cut_store);
    for (uint32_t i = 0; i < w->nodes_count; i++) {
        node *n = &w->nodes[i];
        if (n->alive && n->stopped_until != 0) {
            n->stopped_until = w->now;
            node_wake(n);
        }
        if (n->alive && n->leaving)
            node_halt(n);
        if (!n->alive)
            node_boot(w, i);
    }
    for (uint32_t i = 0; i < w->nodes_count * w->nodes_count; i++)
        node_looks(&w->nodes[i / w->nodes_count], i % w->nodes_count, false);
}

/* G6. Each node asks each key until it is answered: what is told as dead is sent again. */
static bool sim_ask(world *w, uint32_t asked[NODES_MAX][KEYS])
{
    bool all = true;
    for (uint32_t i = 0; i < w->nodes_count; i++) {
        for (uint32_t key = 0; key < KEYS; key++) {
            where is = w->messages[asked[i][key]].is;
            if (is == NOWHERE || is == DEAD)
                asked[i][key] = node_send(&w->nodes[i], key);
            HOLDS(w, 6, is != LOST, "a message to key %u is lost in the calm", key);
            all &= is == HANDLED;
        }
    }
    return all;
}

static void sim_calm(world *w)
{
    uint32_t asked[NODES_MAX][KEYS] = {{0}};
    int64_t end = w->now + CALM_NS;
    bool all = false;
    sim_heal(w);
    sim_until(w, w->now + 4000 * SIM_MS); /* what was late is there */
    while (!all && w->now < end && !w->violated) {
        all = sim_ask(w, asked);
        sim_until(w, w->now + 100 * SIM_MS);
    }
    HOLDS(w, 6, all, "a key does not answer in the calm");
    sim_until(w, w->now + 8000 * SIM_MS);
}

/* ---- a seed's life ---- */

static void sim_draw(world *w)
{
    w->nodes_count = 3 + chance_below(w, 3);
    w->loss = chance_below(w, 3) * chance_below(w, 80);
    w->late = chance_below(w, 3) * chance_below(w, 60);
    w->repeat = chance_below(w, 2) * chance_below(w, 200);
    w->fail = chance_below(w, 2) * chance_below(w, 100);
    w->refuse = chance_below(w, 3) * chance_below(w, 30);
    w->hot = chance_below(w, 3) * 300;
    w->slow = chance_below(w, 2 * NODES_MAX);
    w->expires = chance_below(w, 4) == 0;
    w->settings = (cluster_grain_settings){
        .lease = {.lease_ns = LEASE_NS, .renew_ns = 300 * SIM_MS,
                  .guard_ns = (chance_of(w, 500) ? 10 : 100 + chance_below(w, 100)) * SIM_MS,
                  .answer_ns = (40 + chance_below(w, 200)) * SIM_MS,
                  .pause_ns = (5 + chance_below(w, 60)) * SIM_MS, .drift_ppm = DRIFT_PPM},
        .idle_ns = (20 + chance_below(w, 1000)) * SIM_MS, .give_up_ns = 4000 * SIM_MS,
        .grains_max = chance_below(w, 4) == 0 ? 3 : 2 * KEYS,
        .messages_max = 8 + chance_below(w, 40), .waiting_max = 3 + chance_below(w, 8),
        .body_max = sizeof(uint32_t),
        .hops_max = 1 + chance_below(w, 4), .tries_max = chance_below(w, 4)};
}

static bool sim_seed(world *w, uint64_t seed)
{
    uint64_t met[PROBES];
    memcpy(met, w->met, sizeof met);
    memset(w, 0, sizeof *w);
    memcpy(w->met, met, sizeof met);
    w->seed = seed;
    w->now = 1;
    axo__random_init(&w->chance, seed, 1);
    sim_draw(w);
    for (uint32_t i = 0; i < w->nodes_count; i++)
        node_boot(w, i);
    for (uint32_t i = 0; i < w->nodes_count * w->nodes_count; i++)
        node_looks(&w->nodes[i / w->nodes_count], i % w->nodes_count, false);
    sim_chaos(w);
    if (!w->violated)
        sim_calm(w);
    if (!w->violated)
        watch_end(w);
    for (uint32_t i = 0; i < w->nodes_count; i++) {
        if (w->nodes[i].alive)
            node_halt(&w->nodes[i]);
    }
    return !w->violated;
}

int main(int count, char **words)
{
    static world w;
    seeds all;
    if (!seeds_read(&all, count, words, "grain_sim"))
        return 2;
    for (uint64_t i = 0; i < all.count; i++)
        all.failed += !sim_seed(&w, all.first + i);
    return seeds_end(&all, w.met, probe_names, PROBES, "");
}
