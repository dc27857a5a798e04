/* remote_sim.c - systems that know each other as nodes, over a network that does what networks do.
 *
 *   remote_sim --seeds 2000 [FIRST]     seeds FIRST, FIRST + 1, ...; 1 if none is given
 *   remote_sim --hash SEED              one seed's hash: of all frames, with their references
 *
 * Each seed's life repeats: of few seeds each, of many one of SEEDS_TWICE runs again, in a program
 * that is started anew, and has to have the same hash.
 */
#include <sys/random.h>

#include "remote.h"
#include "schedules/seeds.h"

#define STEPS 400

static axo__random entropy; /* of a seed's life */

/* The operating system's own, for libaxo too, which is linked into this program: references have a
 * part of it that no seed of a system sets. */
ssize_t getrandom(void *out, size_t size, unsigned flags)
{
    unsigned char *at = out;
    (void)flags;
    for (size_t i = 0; i < size; i++)
        at[i] = (unsigned char)axo__random_next(&entropy);
    return (ssize_t)size;
}

static const char *const probe_names[] = {
#define PROBE_NAME(name) #name,
    PROBE_LIST(PROBE_NAME)
#undef PROBE_NAME
};

/* ---- a seed's life ---- */

static void sim_round(world *w)
{
    (void)net_run(w);
    for (uint32_t i = 0; i < NODES; i++) {
        if (w->nodes[i].alive)
            node_run(&w->nodes[i]);
        node_step(&w->nodes[i]);
    }
}

/* What networks and machines do. */
static void sim_trouble(world *w)
{
    uint32_t a = chance_below(w, NODES);
    uint32_t b = chance_below(w, NODES);
    if (chance_of(w, 20))
        w->cut[a][b] = !w->cut[a][b]; /* one way */
    if (chance_of(w, 12)) {
        if (w->nodes[a].alive) {
            node_halt(&w->nodes[a]);
            w->met[PROBE_node_died]++;
        } else {
            node_boot(w, a);
            w->met[PROBE_node_came_back]++;
        }
    }
    if (chance_of(w, 60))
        node_looks(&w->nodes[a], b);
    if (chance_of(w, 30))
        node_beat(&w->nodes[a]);
    if (chance_of(w, 4) && w->nodes[a].alive && w->nodes[a].peers[b].linked)
        cluster_link_quarantine(&w->nodes[a].peers[b].link);
}

static void sim_chaos(world *w)
{
    for (uint32_t step = 0; step < STEPS && !w->violated; step++) {
        for (uint32_t i = chance_below(w, 6); i > 0; i--)
            actors_act(w);
        sim_trouble(w);
        if (chance_below(w, 3) != 0)
            sim_round(w);
        else
            (void)net_run(w); /* what is delivered waits in mailboxes */
        w->now += (int64_t)chance_below(w, 40) * REMOTE_MS;
    }
}

/* Nothing is lost any more, and all look at who is there; what is on its way comes. */
static void sim_calm(world *w)
{
    int64_t end = w->now + 15000 * REMOTE_MS;
    w->calm = true;
    memset(w->cut, 0, sizeof w->cut);
    for (int64_t beat = w->now; w->now < end && !w->violated;) {
        if (w->now >= beat) {
            for (uint32_t i = 0; i < NODES; i++) {
                for (uint32_t j = 0; j < NODES; j++)
                    node_looks(&w->nodes[i], j);
                node_beat(&w->nodes[i]);
            }
            beat += 1000 * REMOTE_MS;
        }
        sim_round(w);
        int64_t due = net_run(w);
        for (uint32_t i = 0; i < NODES; i++) {
            int64_t at = node_due(&w->nodes[i]);
            due = at < due ? at : due;
        }
        int64_t most = w->now + 250 * REMOTE_MS;
        w->now = due > w->now && due < most ? due : due <= w->now ? w->now + 1 : most;
    }
}

static void sim_end(world *w)
{
    for (uint32_t i = 0; i < NODES; i++) {
        for (uint32_t j = 0; j < NODES && w->nodes[i].alive; j++) {
            if (w->nodes[i].peers[j].linked)
                cluster_link_quarantine(&w->nodes[i].peers[j].link);
        }
    }
    for (uint32_t i = 0; i < 5; i++)
        sim_round(w);
    if (!w->violated)
        actors_check(w, true);
    for (uint32_t i = 0; i < NODES; i++) {
        if (w->nodes[i].alive)
            node_halt(&w->nodes[i]);
    }
}

static bool sim_seed(world *w, flying *air, uint64_t seed)
{
    uint64_t met[PROBES];
    memcpy(met, w->met, sizeof met);
    memset(w, 0, sizeof *w);
    memcpy(w->met, met, sizeof met);
    w->seed = seed;
    w->air = air;
    w->uids = 1;
    w->now = 1;
    w->hash = UINT64_C(0xcbf29ce484222325);
    axo__random_init(&w->chance, seed, 1);
    axo__random_init(&entropy, seed, 2);
    w->loss = chance_below(w, 3) * chance_below(w, 150);
    w->repeat = chance_below(w, 2) * chance_below(w, 300);
    w->late = chance_below(w, 3) * chance_below(w, 60);
    w->reorder = chance_below(w, 2) * chance_below(w, 400);
    w->refuse = chance_below(w, 3) * chance_below(w, 80);
    for (uint32_t i = 0; i < NODES; i++)
        node_boot(w, i);
    for (uint32_t i = 0; i < NODES * NODES; i++)
        node_looks(&w->nodes[i / NODES], i % NODES);
    sim_chaos(w);
    if (!w->violated)
        sim_calm(w);
    if (!w->violated)
        actors_check(w, false);
    sim_end(w);
    return !w->violated;
}

int main(int count, char **words)
{
    static world w;
    static flying air[FLYING];
    seeds all;
    uint64_t seed;
    if (seeds_hash(count, words, &seed)) {
        bool good = sim_seed(&w, air, seed);
        printf("%016llx\n", (unsigned long long)w.hash);
        return good ? 0 : 1;
    }
    if (!seeds_read(&all, count, words, "remote_sim"))
        return 2;
    for (uint64_t i = 0; i < all.count; i++) {
        bool good = sim_seed(&w, air, all.first + i);
        all.failed += !good || !seeds_repeat(&all, words[0], all.first + i, w.hash);
    }
    return seeds_end(&all, w.met, probe_names, PROBES, "");
}
