/* node.c - a node: its clock, its grains, and the lives that it has begun. */
#include "grains.h"

#define PPM INT64_C(1000000)

uint64_t node_name(uint32_t index)
{
    char name = (char)('a' + index);
    return cluster_rendezvous_hash(&name, 1);
}

void node_key(cluster_grain_name *name, uint32_t key)
{
    *name = (cluster_grain_name){.kind = 1, .size = 2, .key = {(unsigned char)key, 'k'}};
}

/* ---- its clock ---- */

static int64_t node_clock_at(const node *n, int64_t at)
{
    int64_t passed = at - n->true_base;
    return n->local_base + passed + passed * n->ppm / PPM;
}

int64_t node_clock(const node *n)
{
    return node_clock_at(n, n->w->now);
}

/* The first true time at which the clock shows `local`, or more. */
static int64_t node_true(const node *n, int64_t local)
{
    if (local <= node_clock(n))
        return n->w->now;
    if (local == INT64_MAX)
        return INT64_MAX;
    int64_t at = n->true_base + (local - n->local_base) * PPM / (PPM + n->ppm) - 2;
    while (node_clock_at(n, at) < local)
        at++;
    return at;
}

void node_turns_rate(node *n)
{
    world *w = n->w;
    n->local_base = node_clock(n);
    n->true_base = w->now;
    switch (chance_below(w, 3)) { /* the ends are what is worst */
    case 0:
        n->ppm = -DRIFT_PPM;
        break;
    case 1:
        n->ppm = DRIFT_PPM;
        break;
    default:
        n->ppm = (int64_t)chance_below(w, 2 * DRIFT_PPM + 1) - DRIFT_PPM;
        break;
    }
}

/* ---- lives ---- */

static life *node_life(node *n, const cluster_grain *grain)
{
    return &n->lives[cluster_grain_named(grain)->key[0]];
}

/* It is busy for as long as it likes, up to 2 of 5 of what the guard allows: a handler may run when
 * the end is asked, which takes time too; and meanwhile the clock may turn faster. */
static void life_busy(node *n, life *it)
{
    world *w = n->w;
    int64_t most = w->settings.lease.guard_ns * 2 / 5;
    if (!chance_of(w, 500))
        most = most < 4 * SIM_MS ? most : 4 * SIM_MS;
    it->busy_until = node_true(n, node_clock(n) + chance_ns(w, most));
}

static bool life_begin(void *user, cluster_grain *grain)
{
    node *n = user;
    life *it = node_life(n, grain);
    if (chance_of(n->w, n->w->refuse)) {
        n->w->met[PROBE_unborn]++;
        return false;
    }
    watch_begin(n, cluster_grain_named(grain)->key[0], cluster_grain_fence(grain));
    *it = (life){.there = true, .grain = grain, .fence = cluster_grain_fence(grain)};
    life_busy(n, it);
    return true;
}

static void life_ready(void *user, cluster_grain *grain)
{
    node_life(user, grain)->ready = true;
}

static void life_end(void *user, cluster_grain *grain)
{
    node *n = user;
    world *w = n->w;
    life *it = node_life(n, grain);
    uint64_t hash = cluster_rendezvous_key(1, cluster_grain_named(grain)->key, 2);
    bool owns = cluster_rendezvous_owner(&n->grains.up, hash) == n->grains.node;
    HOLDS(w, 1, it->there && !it->ending, "node %u ends a life twice", n->index);
    w->met[!n->grains.lease.held ? PROBE_lapsed : owns ? PROBE_idle : PROBE_moved]++;
    it->ending = true;
    if (!it->handles)
        life_busy(n, it);
}

static void life_over(node *n, life *it)
{
    cluster_grain *grain = it->grain;
    n->w->met[PROBE_waited_for_next_life] += it->ending && n->grains.lease.held && it->ready;
    *it = (life){0};
    cluster_grain_ended(&n->grains, node_clock(n), grain);
}

/* A life may come to no handler with what it has taken: it goes on without, or ends. */
static bool life_gives_back(node *n, life *it, uint32_t number)
{
    world *w = n->w;
    if (number % 5 != 0 || w->messages[number].back)
        return false;
    w->messages[number].back = true;
    cluster_grain_untake(&n->grains, it->grain);
    cluster_grains_check(&n->grains);
    w->met[number % 2 == 0 ? PROBE_given_back : PROBE_left_behind]++;
    it->ready = number % 2 == 0;
    if (!it->ready)
        life_over(n, it);
    return true;
}

/* Takes the next, if the machine gives it. */
static bool life_take(node *n, uint32_t key)
{
    life *it = &n->lives[key];
    cluster_parcel parcel;
    uint32_t number;
    if (!cluster_grain_take(&n->grains, node_clock(n), it->grain, &parcel))
        return false;
    memcpy(&number, parcel.body, sizeof number);
    if (life_gives_back(n, it, number))
        return it->ready;
    it->late = false;
    it->torn = false;
    it->handles = true;
    it->message = number;
    it->lease_until = n->grains.lease.until;
    watch_take(n, key, &parcel, number);
    life_busy(n, it);
    return true;
}

static void life_run(node *n, uint32_t key)
{
    life *it = &n->lives[key];
    world *w = n->w;
    if (!it->there || it->busy_until > w->now)
        return;
    if (it->handles) {
        watch_finish(n, key);
        it->handles = false;
        cluster_grain_done(&n->grains, node_clock(n), it->grain);
        if (it->ending)
            life_busy(n, it);
        else if (chance_of(w, 20)) {
            w->met[PROBE_ended_itself]++;
            life_over(n, it);
        }
    } else if (it->ending) {
        life_over(n, it);
    } else if (it->ready) {
        it->ready = life_take(n, key);
    }
}

/* ---- what the machine asks ---- */

static void node_dead(void *user, const cluster_parcel *parcel, axo_status why)
{
    uint32_t number;
    memcpy(&number, parcel->body, sizeof number);
    watch_dead(user, number, why);
}

static void *node_alloc(void *user, size_t size)
{
    node *n = user;
    if (n->grains.heap != NULL && chance_of(n->w, n->w->refuse)) /* not while it boots */
        return NULL;
    n->blocks += (int64_t)size;
    return malloc(size);
}

static void node_free(void *user, void *block, size_t size)
{
    node *n = user;
    n->blocks -= (int64_t)size;
    memset(block, 0xa5, size);
    free(block);
}

static cluster_grain_ops node_ops(void)
{
    return (cluster_grain_ops){.store = air_store, .forward = air_forward, .begin = life_begin,
                               .ready = life_ready, .end = life_end, .dead = node_dead,
                               .alloc = node_alloc, .free = node_free};
}

/* ---- what happens to it ---- */

void node_boot(world *w, uint32_t index)
{
    static cluster_grain_ops ops;
    node *n = &w->nodes[index];
    ops = node_ops();
    memset(n, 0, sizeof *n);
    n->w = w;
    n->index = index;
    n->alive = true;
    n->incarnation = ++w->incarnations;
    n->true_base = w->now;
    n->local_base = chance_ns(w, 1000000 * SIM_MS);
    node_turns_rate(n);
    if (cluster_grains_init(&n->grains, &w->settings, &ops, n, node_name(index),
                            n->incarnation) != AXO_OK)
        abort();
    node_looks(n, index, false);
}

/* It dies without a word. */
void node_halt(node *n)
{
    n->w->ends = true;
    cluster_grains_fini(&n->grains);
    n->w->ends = false;
    HOLDS(n->w, 7, n->blocks == 0, "node %u leaves %lld bytes", n->index, (long long)n->blocks);
    watch_gone(n);
    n->alive = false;
    n->stopped_until = 0;
}

void node_stop(node *n, int64_t for_ns)
{
    world *w = n->w;
    n->stopped_until = w->now + for_ns + 1;
    w->met[PROBE_stopped]++;
    for (uint32_t key = 0; key < KEYS; key++) {
        life *it = &n->lives[key];
        it->late = it->there;
        it->torn |= it->handles || it->ending;
        w->met[PROBE_stopped_in_handler] += it->handles;
    }
}

/* It goes on where it was: before anything else, a life may be just about to take a message. */
void node_wake(node *n)
{
    world *w = n->w;
    n->stopped_until = 0;
    for (uint32_t key = 0; key < KEYS && chance_below(w, 4) != 0; key++) {
        life *it = &n->lives[key];
        if (it->handles)
            life_run(n, key);
        if (!it->there || it->handles || it->ending || !it->ready)
            continue;
        w->met[life_take(n, key) ? PROBE_woke_and_took : PROBE_woke_and_took_nothing]++;
    }
}

void node_looks(node *n, uint32_t other, bool suspects)
{
    node *o = &n->w->nodes[other];
    if (n->leaving && other == n->index)
        return;
    if (o->alive && !o->leaving && !suspects)
        (void)cluster_grains_up(&n->grains, node_clock(n), node_name(other), o->incarnation);
    else
        cluster_grains_down(&n->grains, node_clock(n), node_name(other));
    cluster_grains_check(&n->grains);
}

void node_leaves(node *n)
{
    n->leaving = true;
    cluster_grains_down(&n->grains, node_clock(n), node_name(n->index));
}

uint32_t node_send(node *n, uint32_t key)
{
    world *w = n->w;
    uint32_t number = w->messages_count + 1;
    cluster_parcel parcel = {.size = sizeof number, .body = &number};
    if (number == MESSAGES)
        return 0;
    node_key(&parcel.name, key);
    w->messages[number] = (message){.is = AT_NODE, .node = n->index, .key = key};
    axo_status status = cluster_grains_send(&n->grains, node_clock(n), &parcel);
    cluster_grains_check(&n->grains);
    w->met[PROBE_refused_full] += status == AXO_EFULL;
    w->met[PROBE_refused_limit] += status == AXO_ELIMIT;
    w->met[PROBE_refused_memory] += status == AXO_ENOMEM;
    if (status == AXO_OK)
        w->messages_count++;
    return status == AXO_OK ? number : 0;
}

void node_answer(node *n, const flying *it)
{
    cluster_grains_answer(&n->grains, node_clock(n), it->ask, it->answer, &it->record);
    cluster_grains_check(&n->grains);
}

void node_parcel(node *n, const flying *it)
{
    cluster_parcel parcel = it->parcel;
    parcel.body = &it->message;
    message *m = &n->w->messages[it->message];
    *m = (message){AT_NODE, n->index, parcel.name.key[0], m->back};
    cluster_grains_arrive(&n->grains, node_clock(n), &parcel, it->kind == BACK);
    cluster_grains_check(&n->grains);
}

void node_run(node *n)
{
    if (!node_runs(n))
        return;
    for (uint32_t key = 0; key < KEYS; key++)
        life_run(n, key);
    if (node_clock(n) >= cluster_grains_due(&n->grains))
        cluster_grains_step(&n->grains, node_clock(n));
    cluster_grains_check(&n->grains);
    if (n->leaving && n->grains.count == 0) {
        n->w->met[PROBE_left]++;
        node_halt(n);
    }
}

int64_t node_due(const node *n)
{
    if (!n->alive)
        return INT64_MAX;
    if (n->stopped_until != 0)
        return n->stopped_until;
    int64_t due = node_true(n, cluster_grains_due(&n->grains));
    for (uint32_t key = 0; key < KEYS; key++) {
        const life *it = &n->lives[key];
        if (it->there && (it->handles || it->ending || it->ready) && it->busy_until < due)
            due = it->busy_until;
    }
    return due;
}
