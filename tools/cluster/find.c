/* find.c - keys of other nodes' registries: asked for, again and again, until there is an answer or
 * no more time. To ask twice does no harm. */
#include <string.h>

#include "carrier.h"

#define FIND_AGAIN_NS (500 * CLUSTER_MS)
#define FIND_WAIT_NS  (20 * CLUSTER_MS) /* until it is looked for the node again */

/* ---- of this node ---- */

static bool find_is_text(const char *text, size_t max)
{
    return text != NULL && text[0] != 0 && strnlen(text, max + 1) <= max;
}

static axo_status find_check(const axo_cluster *cluster, const char *node, const char *key,
                             int64_t timeout_ns)
{
    if (cluster == NULL || node == NULL || key == NULL || timeout_ns < 0 ||
        timeout_ns > INT64_C(1) << 62)
        return AXO_EINVAL;
    if (!find_is_text(node, AXO_NODE_NAME_MAX) || !find_is_text(key, AXO_KEY_MAX))
        return AXO_ENAME;
    return strcmp(node, cluster->remote.here.name) == 0 ? AXO_EINVAL : AXO_OK;
}

/* The lock is held. */
static axo_status find_begin(axo_cluster *cluster, const char *node, const char *key,
                             int64_t timeout_ns, cluster_finding **out)
{
    if (cluster->finds_end)
        return AXO_ESTOPPING;
    if (cluster->finds_used == cluster->options.finds_max)
        return AXO_ELIMIT;
    cluster_finding *find = cluster->finds;
    while (find->used)
        find++;
    memset(find, 0, sizeof *find);
    find->used = true;
    find->own_id = ++cluster->next_find;
    find->ask_at = cluster_now();
    find->until = find->ask_at + timeout_ns;
    memcpy(find->node, node, strlen(node));
    memcpy(find->key, key, strlen(key));
    cluster->finds_used++;
    *out = find;
    return AXO_OK;
}

static void find_free(axo_cluster *cluster, cluster_finding *find)
{
    find->used = false;
    cluster->finds_used--;
}

axo_status axo_cluster_find(axo_cluster *cluster, axo_ref asker, const char *node,
                            const char *key, int64_t timeout_ns, uint64_t id)
{
    cluster_finding *find;
    axo_status status = find_check(cluster, node, key, timeout_ns);
    if (status == AXO_OK && (axo_ref_is_none(asker) || axo_ref_node(asker) != 0))
        status = AXO_EINVAL;
    if (status != AXO_OK)
        return status;
    (void)pthread_mutex_lock(&cluster->find_mutex);
    status = find_begin(cluster, node, key, timeout_ns, &find);
    if (status == AXO_OK) {
        find->asker = asker;
        find->id = id;
    }
    (void)pthread_mutex_unlock(&cluster->find_mutex);
    cluster_wake(cluster);
    return status;
}

axo_status axo_cluster_find_wait(axo_cluster *cluster, const char *node, const char *key,
                                 int64_t timeout_ns, axo_ref *out)
{
    cluster_finding *find;
    if (out == NULL)
        return AXO_EINVAL;
    *out = axo_ref_none();
    axo_status status = find_check(cluster, node, key, timeout_ns);
    if (status != AXO_OK)
        return status;
    (void)pthread_mutex_lock(&cluster->find_mutex);
    status = find_begin(cluster, node, key, timeout_ns, &find);
    if (status == AXO_OK) {
        find->waits = true;
        cluster_wake(cluster);
        while (!find->done)
            (void)pthread_cond_wait(&cluster->find_cond, &cluster->find_mutex);
        status = find->status;
        *out = find->ref;
        find_free(cluster, find);
    }
    (void)pthread_mutex_unlock(&cluster->find_mutex);
    return status;
}

/* Ends a find; the lock is held, and let go while an actor is told. */
static void find_finish(axo_cluster *cluster, cluster_finding *find, axo_status status, axo_ref ref)
{
    if (find->waits) {
        find->status = status;
        find->ref = ref;
        find->done = true;
        (void)pthread_cond_broadcast(&cluster->find_cond);
        return;
    }
    const axo_cluster_found found = {.id = find->id, .ref = ref, .status = status};
    axo_ref asker = find->asker;
    find_free(cluster, find);
    (void)pthread_mutex_unlock(&cluster->find_mutex);
    (void)axo_system_send(cluster->system, asker, AXO_CLUSTER_FOUND, &found, sizeof found);
    (void)pthread_mutex_lock(&cluster->find_mutex);
}

/* Asks, with the lock let go: the roster has one too. */
static void find_ask(axo_cluster *cluster, cluster_finding *find, int64_t now)
{
    char subject[CLUSTER_SUBJECT_MAX];
    uint64_t to;
    const cluster_finding copy = *find;
    const cluster_find part = {.id = copy.own_id, .key = copy.key, .key_size = strlen(copy.key)};
    (void)pthread_mutex_unlock(&cluster->find_mutex);
    bool there = cluster_roster_subject(cluster, copy.node, subject, &to);
    if (there)
        cluster_publish(cluster, subject, CLUSTER_FIND, to, &part);
    (void)pthread_mutex_lock(&cluster->find_mutex);
    if (find->used && find->own_id == copy.own_id)
        find->ask_at = now + (there ? FIND_AGAIN_NS : FIND_WAIT_NS);
}

void cluster_find_step(axo_cluster *cluster, int64_t now, int64_t *due)
{
    (void)pthread_mutex_lock(&cluster->find_mutex);
    for (uint32_t i = 0; i < cluster->options.finds_max && cluster->finds_used > 0; i++) {
        cluster_finding *find = &cluster->finds[i];
        if (!find->used || find->done)
            continue;
        if (now >= find->until) {
            find_finish(cluster, find, AXO_ETIMEDOUT, axo_ref_none());
            continue;
        }
        if (now >= find->ask_at)
            find_ask(cluster, find, now);
        int64_t at = find->ask_at < find->until ? find->ask_at : find->until;
        *due = at < *due ? at : *due;
    }
    (void)pthread_mutex_unlock(&cluster->find_mutex);
}

bool cluster_find_may(axo_cluster *cluster)
{
    (void)pthread_mutex_lock(&cluster->find_mutex);
    bool may = !cluster->finds_end;
    (void)pthread_mutex_unlock(&cluster->find_mutex);
    return may;
}

void cluster_find_end(axo_cluster *cluster)
{
    (void)pthread_mutex_lock(&cluster->find_mutex);
    cluster->finds_end = true;
    for (uint32_t i = 0; i < cluster->options.finds_max; i++) {
        if (cluster->finds[i].used && !cluster->finds[i].done)
            find_finish(cluster, &cluster->finds[i], AXO_ESTOPPING, axo_ref_none());
    }
    (void)pthread_mutex_unlock(&cluster->find_mutex);
}

/* ---- what comes ---- */

void cluster_find_answered(axo_cluster *cluster, const cluster_packet *packet)
{
    cluster_find answer;
    cluster_wire_read_find(packet, &answer);
    axo_ref ref = axo_remote_enter(cluster->system, &packet->from, answer.bits);
    axo_status status = axo_ref_is_none(ref) ? AXO_ENOENT : AXO_OK;
    (void)pthread_mutex_lock(&cluster->find_mutex);
    for (uint32_t i = 0; i < cluster->options.finds_max && cluster->finds_used > 0; i++) {
        cluster_finding *find = &cluster->finds[i];
        if (find->used && !find->done && find->own_id == answer.id &&
            strcmp(find->node, packet->from.name) == 0) {
            find_finish(cluster, find, status, ref);
            break;
        }
    }
    (void)pthread_mutex_unlock(&cluster->find_mutex);
}

void cluster_find_asked(axo_cluster *cluster, const cluster_packet *packet)
{
    char key[AXO_KEY_MAX + 1];
    char subject[CLUSTER_SUBJECT_MAX];
    cluster_find find;
    axo_ref ref;
    cluster_wire_read_find(packet, &find);
    memcpy(key, find.key, find.key_size);
    key[find.key_size] = 0;
    bool found = axo_system_lookup(cluster->system, key, &ref) == AXO_OK;
    find.bits = found && axo_ref_node(ref) == 0 ? ref.bits : 0;
    cluster_subject(cluster, &packet->from, subject);
    cluster_publish(cluster, subject, CLUSTER_FOUND, packet->from.incarnation, &find);
}
