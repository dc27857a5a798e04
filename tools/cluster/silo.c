/* silo.c - the machine of a node's grains: its lock, its time, what comes for it, what it asks. */
#include "silo.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Of lease_ms: how it is divided, and how long a message waits. */
#define SILO_RENEWS    3
#define SILO_GUARDS    4
#define SILO_ANSWERS   5
#define SILO_PAUSES    20
#define SILO_GIVES_UP  5
#define SILO_DRIFT_PPM 20000
#define SILO_HOPS      4
#define SILO_TRIES     64
#define SILO_LOOK_NS   (100 * CLUSTER_MS) /* what the keeper sleeps at most, by another clock */
#define SILO_RETRY_NS  (20 * CLUSTER_MS)  /* what had no memory is tried again */
#define SILO_LEAVE_NS  (2000 * CLUSTER_MS)

int64_t cluster_silo_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_BOOTTIME, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static uint64_t silo_node(const char *name)
{
    return cluster_rendezvous_hash(name, strlen(name));
}

static uint64_t silo_incarnation(const axo_node *node)
{
    uint64_t mixed[2] = {silo_node(node->name), node->incarnation};
    uint64_t hash = cluster_rendezvous_hash(mixed, sizeof mixed);
    return hash != 0 ? hash : 1;
}

void cluster_silo_holder(const axo_node *node, uint64_t term, cluster_lease_holder *out)
{
    *out = (cluster_lease_holder){silo_node(node->name), silo_incarnation(node), term};
}

/* ---- the lock, and the keeper's sleep ---- */

static void silo_wake(cluster_silo *silo)
{
    (void)pthread_mutex_lock(&silo->post);
    silo->woken = true;
    (void)pthread_cond_signal(&silo->post_cond);
    (void)pthread_mutex_unlock(&silo->post);
}

void cluster_silo_lock(cluster_silo *silo)
{
    (void)pthread_mutex_lock(&silo->mutex);
}

void cluster_silo_unlock(cluster_silo *silo)
{
    const cluster_lease *lease = &silo->grains.lease;
    bool wakes = false;
    if (!silo->ended) {
        int64_t covers = lease->held ? lease->until - lease->settings.guard_ns : INT64_MIN;
        atomic_store(&silo->covers, covers);
        wakes = cluster_grains_due(&silo->grains) < silo->wakes_at;
    }
    (void)pthread_mutex_unlock(&silo->mutex);
    if (wakes)
        silo_wake(silo);
}

cluster_kind *cluster_silo_kind(const cluster_silo *silo, uint32_t number)
{
    for (uint32_t i = 0; i < silo->kinds_count; i++) {
        if (silo->kinds[i]->number == number)
            return silo->kinds[i];
    }
    return NULL;
}

/* ---- what the machine asks ---- */

void cluster_silo_dead(cluster_silo *silo, const cluster_parcel *parcel)
{
    cluster_letter letter;
    memcpy(&letter, parcel->body, sizeof letter);
    const void *payload = (const char *)parcel->body + sizeof letter;
    (void)axo_system_send_from(silo->cluster->system, letter.sender, silo->undertaker, letter.tag,
                               letter.size > 0 ? payload : NULL, letter.size);
}

static void silo_is_dead(void *user, const cluster_parcel *parcel, axo_status why)
{
    (void)why;
    cluster_silo_dead(user, parcel);
}

/* One that does not get away is lost as on its way, but it is known. */
static void silo_forward(void *user, uint64_t node, const cluster_parcel *parcel, bool back)
{
    cluster_silo *silo = user;
    uint32_t number = 1;
    while (number <= AXO_NODES_MAX && silo->nodes[number] != node)
        number++;
    cluster_letter letter;
    memcpy(&letter, parcel->body, sizeof letter);
    const cluster_lease_holder *holder = &parcel->holder;
    const cluster_slip slip = {
        .origin = parcel->origin, .holder = {holder->node, holder->incarnation, holder->term},
        .hops = parcel->hops, .tries = parcel->tries, .key = parcel->name.key,
        .key_size = parcel->name.size, .payload = (const char *)parcel->body + sizeof letter,
        .payload_size = letter.size};
    if (number <= AXO_NODES_MAX &&
        cluster_peer_parcel(&silo->cluster->peers[number], parcel->name.kind, back, letter.sender,
                            letter.tag, &slip) == AXO_OK)
        return;
    silo->undelivered++;
    cluster_silo_dead(silo, parcel);
}

static void *silo_alloc(void *user, size_t size)
{
    (void)user;
    return malloc(size);
}

static void silo_free(void *user, void *block, size_t size)
{
    (void)user;
    (void)size;
    free(block);
}

/* ---- what comes from other nodes: a peer's lock is held ---- */

axo_status cluster_silo_post(axo_cluster *cluster, axo_ref from, const cluster_body *body)
{
    cluster_silo *silo = cluster->silo;
    cluster_slip slip;
    if (silo == NULL || !cluster_wire_read_slip(body, &slip))
        return AXO_EINVAL;
    size_t size = sizeof(cluster_letter) + slip.payload_size;
    cluster_arrival *it = malloc(sizeof *it + size);
    if (it == NULL)
        return AXO_ENOMEM;
    const cluster_letter letter = {from, body->tag, (uint32_t)slip.payload_size};
    char *at = (char *)(it + 1);
    memcpy(at, &letter, sizeof letter);
    if (slip.payload_size > 0)
        memcpy(at + sizeof letter, slip.payload, slip.payload_size);
    *it = (cluster_arrival){
        .parcel = {.name = {.kind = (uint32_t)body->to, .size = (uint32_t)slip.key_size},
                   .origin = slip.origin, .hops = slip.hops, .tries = slip.tries,
                   .holder = {slip.holder[0], slip.holder[1], slip.holder[2]},
                   .size = (uint32_t)size, .body = at},
        .back = body->known != 0};
    memcpy(it->parcel.name.key, slip.key, slip.key_size);
    (void)pthread_mutex_lock(&silo->post);
    bool has_room = silo->arrivals < AXO_GRAIN_HELD && !silo->ends;
    if (has_room) {
        *(silo->first != NULL ? &silo->last->next : &silo->first) = it;
        silo->last = it;
        silo->arrivals++;
        silo->woken = true;
        (void)pthread_cond_signal(&silo->post_cond);
    }
    (void)pthread_mutex_unlock(&silo->post);
    if (!has_room)
        free(it);
    return has_room ? AXO_OK : AXO_EFULL;
}

/* The silo's lock is held. */
static void silo_arrive(cluster_silo *silo, cluster_arrival *first)
{
    while (first != NULL) {
        cluster_arrival *next = first->next;
        if (silo->ended)
            cluster_silo_dead(silo, &first->parcel);
        else
            cluster_grains_arrive(&silo->grains, cluster_silo_now(), &first->parcel, first->back);
        free(first);
        first = next;
    }
}

/* ---- who is there: the roster's lock is held ---- */

static void silo_place(cluster_silo *silo, const axo_node *node, bool up)
{
    uint64_t place = silo_node(node->name);
    int64_t now = cluster_silo_now();
    if (silo->ended)
        return;
    if (up)
        (void)cluster_grains_up(&silo->grains, now, place, silo_incarnation(node));
    else
        cluster_grains_down(&silo->grains, now, place);
}

void cluster_silo_place(axo_cluster *cluster, uint32_t number, const axo_node *node, bool up)
{
    cluster_silo *silo = cluster->silo;
    if (silo == NULL)
        return;
    cluster_silo_lock(silo);
    silo->nodes[number] = up ? silo_node(node->name) : 0;
    silo_place(silo, node, up);
    cluster_silo_unlock(silo);
}

void cluster_silo_self(axo_cluster *cluster, bool up)
{
    cluster_silo *silo = cluster->silo;
    if (silo == NULL)
        return;
    cluster_silo_lock(silo);
    if (silo->is_up != (up && silo->open)) {
        silo->is_up = up && silo->open;
        silo_place(silo, &cluster->remote.here, silo->is_up);
    }
    cluster_silo_unlock(silo);
}

/* ---- the keeper ---- */

static void silo_sleep(cluster_silo *silo, int64_t for_ns)
{
    int64_t until = cluster_now() + for_ns;
    const struct timespec at = {.tv_sec = until / INT64_C(1000000000),
                                .tv_nsec = until % INT64_C(1000000000)};
    int timed_out = 0;
    while (!silo->woken && !silo->ends && timed_out == 0)
        timed_out = pthread_cond_timedwait(&silo->post_cond, &silo->post, &at);
    silo->woken = false;
}

static void *silo_run(void *arg)
{
    cluster_silo *silo = arg;
    int64_t for_ns = 0;
    bool ends = false;
    while (!ends) {
        (void)pthread_mutex_lock(&silo->post);
        silo_sleep(silo, for_ns);
        ends = silo->ends;
        cluster_arrival *first = silo->first;
        silo->first = NULL;
        silo->arrivals = 0;
        (void)pthread_mutex_unlock(&silo->post);
        cluster_silo_lock(silo);
        cluster_grains_step(&silo->grains, cluster_silo_now());
        silo_arrive(silo, first);
        int64_t most = cluster_life_retry(silo) ? SILO_LOOK_NS : SILO_RETRY_NS;
        for_ns = cluster_grains_due(&silo->grains) - cluster_silo_now();
        for_ns = for_ns < most ? for_ns : most;
        silo->wakes_at = cluster_silo_now() + for_ns;
        cluster_silo_unlock(silo);
    }
    return NULL;
}

/* ---- start ---- */

static cluster_grain_settings silo_settings(const axo_cluster_options *o)
{
    int64_t lease = o->lease_ms * CLUSTER_MS;
    return (cluster_grain_settings){
        .lease = {.lease_ns = lease, .renew_ns = lease / SILO_RENEWS,
                  .guard_ns = lease / SILO_GUARDS, .answer_ns = lease / SILO_ANSWERS,
                  .pause_ns = lease / SILO_PAUSES, .drift_ppm = SILO_DRIFT_PPM},
        .idle_ns = AXO_GRAIN_IDLE_MS * CLUSTER_MS, .give_up_ns = SILO_GIVES_UP * lease,
        .grains_max = AXO_GRAIN_LIVES, .messages_max = AXO_GRAIN_HELD,
        .waiting_max = AXO_GRAIN_WAITING,
        .body_max = AXO_GRAIN_PAYLOAD_MAX + sizeof(cluster_letter), .hops_max = SILO_HOPS,
        .tries_max = SILO_TRIES};
}

cluster_silo *cluster_silo_new(axo_cluster *cluster)
{
    pthread_condattr_t how;
    cluster_silo *silo = calloc(1, sizeof *silo);
    if (silo == NULL)
        return NULL;
    silo->cluster = cluster;
    silo->ended = true;
    atomic_store(&silo->covers, INT64_MIN);
    (void)pthread_mutex_init(&silo->mutex, NULL);
    (void)pthread_mutex_init(&silo->post, NULL);
    (void)pthread_mutex_init(&silo->ledger.mutex, NULL);
    (void)pthread_cond_init(&silo->ledger.cond, NULL);
    (void)pthread_condattr_init(&how);
    (void)pthread_condattr_setclock(&how, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&silo->post_cond, &how);
    (void)pthread_condattr_destroy(&how);
    return silo;
}

static axo_status silo_undertake(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)state;
    (void)axo_drop(ctx, message, axo_self(ctx), "its grain does not handle it");
    return AXO_OK;
}

static const axo_class silo_undertaker = AXO_CLASS(.name = "grains' undertaker",
                                                   .receive = silo_undertake);

static axo_status silo_actors(cluster_silo *silo)
{
    axo_props props = AXO_PROPS(.cls = &silo_undertaker, .system_actor = 1);
    axo_status status = axo_system_spawn(silo->cluster->system, &props, &silo->undertaker);
    for (uint32_t i = 0; i < silo->kinds_count && status == AXO_OK; i++)
        status = cluster_life_guardian(silo->kinds[i]);
    return status;
}

static axo_status silo_machine(cluster_silo *silo)
{
    axo_cluster *cluster = silo->cluster;
    const cluster_grain_settings settings = silo_settings(&cluster->options);
    silo->ops = (cluster_grain_ops){
        .store = cluster_ledger_store, .forward = silo_forward, .begin = cluster_life_begin,
        .ready = cluster_life_ready, .end = cluster_life_end, .dead = silo_is_dead,
        .alloc = silo_alloc, .free = silo_free};
    silo->incarnation = silo_incarnation(&cluster->remote.here);
    return cluster_grains_init(&silo->grains, &settings, &silo->ops, silo,
                               silo_node(cluster->remote.here.name), silo->incarnation);
}

axo_status cluster_silo_start(axo_cluster *cluster)
{
    cluster_silo *silo = cluster->silo;
    if (silo == NULL)
        return AXO_OK;
    axo_status status = cluster_ledger_open(silo);
    if (status == AXO_OK)
        status = silo_machine(silo);
    if (status != AXO_OK)
        return status;
    cluster_silo_lock(silo);
    silo->ended = false;
    silo->is_up = false;
    memset(silo->nodes, 0, sizeof silo->nodes);
    cluster_silo_unlock(silo);
    silo->ends = false;
    status = silo_actors(silo);
    if (status == AXO_OK)
        status = cluster_ledger_start(silo);
    if (status == AXO_OK) {
        silo->runs = cluster_thread(&silo->keeper, silo_run, silo);
        status = silo->runs ? AXO_OK : AXO_ETHREAD;
    }
    if (status != AXO_OK)
        return status;
    cluster_silo_lock(silo);
    silo->open = true;
    cluster_silo_unlock(silo);
    return AXO_OK;
}

/* ---- leave, end, close ---- */

void cluster_silo_leave(axo_cluster *cluster)
{
    cluster_silo *silo = cluster->silo;
    const struct timespec pause = {.tv_nsec = 2000000};
    int64_t until = cluster_now() + SILO_LEAVE_NS;
    bool busy = silo != NULL;
    if (silo == NULL)
        return;
    cluster_silo_lock(silo);
    silo->open = false;
    cluster_silo_unlock(silo);
    cluster_silo_self(cluster, false);
    while (busy && cluster_now() < until) {
        cluster_silo_lock(silo);
        busy = silo->grains.lives > 0 || cluster_ledger_is_busy(silo);
        cluster_silo_unlock(silo);
        if (busy)
            (void)nanosleep(&pause, NULL);
    }
}

void cluster_silo_end(axo_cluster *cluster)
{
    cluster_silo *silo = cluster->silo;
    if (silo == NULL)
        return;
    (void)pthread_mutex_lock(&silo->post);
    silo->ends = true;
    (void)pthread_cond_signal(&silo->post_cond);
    (void)pthread_mutex_unlock(&silo->post);
    if (silo->runs)
        (void)pthread_join(silo->keeper, NULL);
    silo->runs = false;
    cluster_ledger_end(silo);
    cluster_silo_lock(silo);
    if (!silo->ended)
        cluster_grains_fini(&silo->grains);
    silo->ended = true;
    atomic_store(&silo->covers, INT64_MIN);
    cluster_silo_unlock(silo);
    for (uint32_t i = 0; i < silo->kinds_count; i++) {
        if (!axo_ref_is_none(silo->kinds[i]->guardian))
            (void)axo_system_stop_actor(cluster->system, silo->kinds[i]->guardian);
        silo->kinds[i]->guardian = axo_ref_none();
    }
    if (!axo_ref_is_none(silo->undertaker)) /* what it has not said is a dead letter all the same */
        (void)axo_system_stop_actor(cluster->system, silo->undertaker);
    silo->undertaker = axo_ref_none();
    cluster_ledger_close(silo);
}

/* The system is destroyed. */
void cluster_silo_free(axo_cluster *cluster)
{
    cluster_silo *silo = cluster->silo;
    if (silo == NULL)
        return;
    cluster_lives_free(silo);
    for (uint32_t i = 0; i < CLUSTER_LIFE_HEADS; i++) {
        while (silo->proxies[i] != NULL) {
            cluster_proxy *proxy = silo->proxies[i];
            silo->proxies[i] = proxy->next;
            free(proxy);
        }
    }
    for (uint32_t i = 0; i < silo->kinds_count; i++) {
        free(silo->kinds[i]->args);
        free(silo->kinds[i]);
    }
    (void)pthread_mutex_destroy(&silo->mutex);
    (void)pthread_mutex_destroy(&silo->post);
    (void)pthread_cond_destroy(&silo->post_cond);
    (void)pthread_mutex_destroy(&silo->ledger.mutex);
    (void)pthread_cond_destroy(&silo->ledger.cond);
    free(silo);
}
