/* cluster.c - the doors of <axo/cluster.h>: open, codecs, start, leave, close, figures. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "carrier.h"
#include "pattern/given.h"

#define CLUSTER_LEASE_MIN UINT32_C(1000)    /* ms */
#define CLUSTER_LEASE_MAX UINT32_C(3600000) /* ms */

/* ---- options ---- */

static void cluster_defaults(axo_cluster_options *o)
{
    o->url = o->url != NULL ? o->url : "nats://127.0.0.1:4222";
    o->beat_ms = o->beat_ms != 0 ? o->beat_ms : AXO_CLUSTER_BEAT_MS;
    o->down_ms = o->down_ms != 0 ? o->down_ms : 10 * o->beat_ms;
    o->give_up_ms = o->give_up_ms != 0 ? o->give_up_ms : AXO_CLUSTER_GIVE_UP_MS;
    o->kept_max = o->kept_max != 0 ? o->kept_max : AXO_CLUSTER_KEPT;
    o->held_max = o->held_max != 0 ? o->held_max : AXO_CLUSTER_HELD;
    o->received_max = o->received_max != 0 ? o->received_max : AXO_CLUSTER_RECEIVED;
    o->watches_max = o->watches_max != 0 ? o->watches_max : AXO_CLUSTER_WATCHES;
    o->finds_max = o->finds_max != 0 ? o->finds_max : AXO_CLUSTER_FINDS;
    if (o->membership != AXO_CLUSTER_STORE) {
        o->seeds = NULL;
        o->seeds_count = 0;
        return;
    }
    uint64_t lease = UINT64_C(3) * o->down_ms;
    lease = lease > CLUSTER_LEASE_MIN ? lease : CLUSTER_LEASE_MIN;
    lease = lease < CLUSTER_LEASE_MAX ? lease : CLUSTER_LEASE_MAX;
    o->lease_ms = o->lease_ms != 0 ? o->lease_ms : (uint32_t)lease;
}

static bool cluster_store_is_good(const axo_cluster_options *o)
{
    return o->lease_ms >= CLUSTER_LEASE_MIN && o->lease_ms <= CLUSTER_LEASE_MAX &&
           o->lease_ms / 3 >= o->beat_ms && o->on_minority <= AXO_CLUSTER_STOP &&
           o->seeds_count <= AXO_NODES_MAX && (o->seeds != NULL || o->seeds_count == 0);
}

static axo_status cluster_read_seeds(const axo_cluster_options *o)
{
    for (uint32_t i = 0; i < o->seeds_count; i++) {
        if (o->seeds[i] == NULL)
            return AXO_EINVAL;
        if (!cluster_is_name(o->seeds[i]))
            return AXO_ENAME;
    }
    return AXO_OK;
}

static axo_status cluster_read(const axo_cluster_options *given, axo_cluster_options *out)
{
    axo_status status = axo__given_read(given, out, sizeof *out);
    if (status != AXO_OK)
        return status;
    if (out->cluster == NULL || out->node == NULL)
        return AXO_EINVAL;
    if (!cluster_is_name(out->cluster) || !cluster_is_name(out->node))
        return AXO_ENAME;
    cluster_defaults(out);
    bool good = out->beat_ms >= 10 && out->beat_ms <= 60000 && out->down_ms / 3 >= out->beat_ms &&
                out->held_max >= 65536 && out->finds_max <= 65536;
    if (!good || out->membership > AXO_CLUSTER_STORE ||
        (out->membership == AXO_CLUSTER_STORE && !cluster_store_is_good(out)))
        return AXO_EINVAL;
    return cluster_read_seeds(out);
}

/* ---- making and freeing ---- */

static void cluster_free(axo_cluster *cluster)
{
    const axo_cluster_options *o = &cluster->options;
    const char *strings[] = {o->url, o->cluster, o->node, o->token, o->credentials, o->ca};
    for (size_t i = 0; i < sizeof strings / sizeof strings[0]; i++)
        free((void *)(uintptr_t)strings[i]);
    for (uint32_t i = 0; o->seeds != NULL && i < o->seeds_count; i++)
        free((void *)(uintptr_t)o->seeds[i]);
    free((void *)(uintptr_t)o->seeds);
    cluster_who_close(cluster);
    cluster_silo_free(cluster);
    free(cluster->classes);
    cluster_peers_fini(cluster);
    (void)pthread_mutex_destroy(&cluster->wake_mutex);
    (void)pthread_cond_destroy(&cluster->wake_cond);
    (void)pthread_mutex_destroy(&cluster->roster);
    (void)pthread_mutex_destroy(&cluster->find_mutex);
    (void)pthread_cond_destroy(&cluster->find_cond);
    (void)pthread_mutex_destroy(&cluster->asking_mutex);
    (void)pthread_cond_destroy(&cluster->asking_cond);
    free(cluster->finds);
    free(cluster);
}

static const char *cluster_copy(const char *text, bool *good)
{
    char *copy = text != NULL ? strdup(text) : NULL;
    *good = *good && (copy != NULL || text == NULL);
    return copy;
}

/* What was copied is freed by cluster_free, also when memory runs out on the way. */
static void cluster_copy_seeds(axo_cluster_options *o, bool *good)
{
    const char *const *from = o->seeds;
    const char **copies = o->seeds_count > 0 ? calloc(o->seeds_count, sizeof *copies) : NULL;
    o->seeds = copies;
    *good = *good && (copies != NULL || o->seeds_count == 0);
    for (uint32_t i = 0; copies != NULL && i < o->seeds_count; i++)
        copies[i] = cluster_copy(from[i], good);
}

static axo_cluster *cluster_new(const axo_cluster_options *read)
{
    pthread_condattr_t how;
    bool good = true;
    axo_cluster *cluster = calloc(1, sizeof *cluster);
    if (cluster == NULL)
        return NULL;
    axo_cluster_options *o = &cluster->options;
    *o = *read;
    o->url = cluster_copy(read->url, &good);
    o->cluster = cluster_copy(read->cluster, &good);
    o->node = cluster_copy(read->node, &good);
    o->token = cluster_copy(read->token, &good);
    o->credentials = cluster_copy(read->credentials, &good);
    o->ca = cluster_copy(read->ca, &good);
    cluster_copy_seeds(o, &good);
    if (o->membership == AXO_CLUSTER_STORE)
        good = cluster_who_open(cluster) == AXO_OK && good;
    cluster->finds = calloc(o->finds_max, sizeof *cluster->finds);
    cluster->classes = calloc(AXO_CLUSTER_CLASSES_MAX, sizeof *cluster->classes);
    cluster->finds_end = true; /* until the start */
    cluster_peers_init(cluster);
    cluster_section_init(cluster);
    (void)pthread_mutex_init(&cluster->wake_mutex, NULL);
    (void)pthread_mutex_init(&cluster->roster, NULL);
    (void)pthread_mutex_init(&cluster->find_mutex, NULL);
    (void)pthread_cond_init(&cluster->find_cond, NULL);
    (void)pthread_condattr_init(&how);
    (void)pthread_condattr_setclock(&how, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&cluster->wake_cond, &how);
    (void)pthread_mutex_init(&cluster->asking_mutex, NULL);
    (void)pthread_cond_init(&cluster->asking_cond, &how);
    (void)pthread_condattr_destroy(&how);
    if (good && cluster->finds != NULL && cluster->classes != NULL)
        return cluster;
    cluster_free(cluster);
    return NULL;
}

/* Another one in each life of the name: the time, so that the last one is the highest. */
static uint64_t cluster_incarnation(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

axo_status axo_cluster_open(const axo_cluster_options *options, axo_cluster_problem *problem,
                            axo_cluster **out)
{
    axo_cluster_options read;
    axo_cluster_problem own;
    problem = problem != NULL ? problem : &own;
    memset(problem, 0, sizeof *problem);
    if (out == NULL)
        return AXO_EINVAL;
    *out = NULL;
    axo_status status = cluster_read(options, &read);
    if (status != AXO_OK)
        return status;
    axo_cluster *cluster = cluster_new(&read);
    if (cluster == NULL)
        return AXO_ENOMEM;
    cluster->remote = cluster_table;
    cluster->remote.here.incarnation = cluster_incarnation();
    memcpy(cluster->remote.here.name, read.node, strlen(read.node));
    cluster_key_of(&cluster->key, read.cluster, read.token);
    atomic_store(&cluster->packet_max, CLUSTER_BATCH);
    natsStatus refused = cluster_nats_open(cluster, problem);
    if (refused != NATS_OK) {
        cluster_nats_close(cluster);
        cluster_free(cluster);
        return refused == NATS_NO_MEMORY ? AXO_ENOMEM : AXO_ESYSTEM;
    }
    *out = cluster;
    return AXO_OK;
}

const axo_remote *axo_cluster_remote(axo_cluster *cluster)
{
    return cluster != NULL ? &cluster->remote : NULL;
}

axo_status axo_cluster_add_codec(axo_cluster *cluster, const axo_cluster_codec *codec)
{
    axo_cluster_codec read;
    axo_status status = cluster != NULL ? axo__given_read(codec, &read, sizeof read) : AXO_EINVAL;
    if (status != AXO_OK)
        return status;
    if (read.tag >= AXO_TAG_SERVICES || read.reserved != 0)
        return AXO_EINVAL;
    if (cluster->system != NULL)
        return AXO_EBUSY;
    uint32_t at = 0;
    while (at < cluster->codec_count && cluster->codecs[at].tag < read.tag)
        at++;
    if (at < cluster->codec_count && cluster->codecs[at].tag == read.tag)
        return AXO_EEXIST;
    if (cluster->codec_count == AXO_CLUSTER_CODECS_MAX)
        return AXO_ELIMIT;
    memmove(&cluster->codecs[at + 1], &cluster->codecs[at],
            (cluster->codec_count - at) * sizeof read);
    cluster->codecs[at] = read;
    cluster->codec_count++;
    return AXO_OK;
}

/* ---- start, leave, close ---- */

/* Whether it is the system's carrier: the system knows this node as its own. */
static bool cluster_carries(const axo_cluster *cluster, axo_system *system)
{
    return axo_remote_enter(system, &cluster->remote.here, 1).bits == 1;
}

axo_status axo_cluster_start(axo_cluster *cluster, axo_system *system)
{
    if (cluster == NULL || system == NULL)
        return AXO_EINVAL;
    if (cluster->started)
        return AXO_EBUSY;
    if (!cluster_carries(cluster, system))
        return AXO_EINVAL;
    cluster->system = system;
    axo_status status = cluster_silo_start(cluster);
    if (status == AXO_OK)
        status = cluster_nursery_start(cluster);
    if (status == AXO_OK)
        status = cluster_nats_start(cluster);
    if (status != AXO_OK) {
        cluster_nats_end(cluster);
        cluster_nursery_end(cluster);
        cluster_silo_end(cluster);
        cluster->system = NULL;
        return status;
    }
    cluster->started = true;
    (void)pthread_mutex_lock(&cluster->find_mutex);
    cluster->finds_end = false;
    (void)pthread_mutex_unlock(&cluster->find_mutex);
    return AXO_OK;
}

axo_status axo_cluster_leave(axo_cluster *cluster)
{
    if (cluster == NULL)
        return AXO_EINVAL;
    if (cluster->started && !cluster->left) {
        cluster_nats_end(cluster);
        cluster_silo_end(cluster);
    }
    cluster->left = true;
    return AXO_OK;
}

void axo_cluster_close(axo_cluster *cluster)
{
    if (cluster == NULL)
        return;
    (void)axo_cluster_leave(cluster);
    cluster_nats_close(cluster);
    cluster_free(cluster);
}

/* ---- figures ---- */

axo_status axo_cluster_count(axo_cluster *cluster, axo_cluster_figures *out)
{
    uint64_t counts[CLUSTER_COUNTERS];
    if (out != NULL)
        memset(out, 0, sizeof *out);
    if (cluster == NULL || out == NULL)
        return AXO_EINVAL;
    for (uint32_t i = 0; i < CLUSTER_COUNTERS; i++)
        counts[i] = atomic_load_explicit(&cluster->counts[i], memory_order_relaxed);
    *out = (axo_cluster_figures){
        .nodes = cluster_roster_nodes(cluster, NULL, AXO_NODES_MAX),
        .sent = counts[CLUSTER_COUNT_SENT],
        .received = counts[CLUSTER_COUNT_RECEIVED],
        .packets_out = counts[CLUSTER_COUNT_PACKETS_OUT],
        .packets_in = counts[CLUSTER_COUNT_PACKETS_IN],
        .full = counts[CLUSTER_COUNT_FULL],
        .too_big = counts[CLUSTER_COUNT_TOO_BIG],
        .no_codec = counts[CLUSTER_COUNT_NO_CODEC],
        .unsent = counts[CLUSTER_COUNT_UNSENT],
        .dropped = counts[CLUSTER_COUNT_DROPPED],
        .strangers = counts[CLUSTER_COUNT_STRANGERS],
        .not_ours = counts[CLUSTER_COUNT_REFUSED + CLUSTER_NOT_OURS],
        .other_version = counts[CLUSTER_COUNT_REFUSED + CLUSTER_OF_VERSION],
        .bad_length = counts[CLUSTER_COUNT_REFUSED + CLUSTER_OF_LENGTH],
        .other_cluster = counts[CLUSTER_COUNT_REFUSED + CLUSTER_OF_CLUSTER],
        .other_token = counts[CLUSTER_COUNT_REFUSED + CLUSTER_OF_TOKEN],
        .bad_seal = counts[CLUSTER_COUNT_REFUSED + CLUSTER_OF_SEAL],
        .bad_form = counts[CLUSTER_COUNT_REFUSED + CLUSTER_OF_FORM]};
    return AXO_OK;
}
