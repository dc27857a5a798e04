/* who.c - who is there, as member.h says: its time, its heartbeats, and what it tells. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "carrier.h"

/* Beats that are not heard back until the member's clock stands still. */
#define WHO_ECHO_BEATS 3
#define WHO_LEAVE_MS   2000

static axo_cluster_why who_why(cluster_why why)
{
    switch (why) {
    case CLUSTER_LEFT:
        return AXO_CLUSTER_LEFT;
    case CLUSTER_SUSPECTED:
        return AXO_CLUSTER_SILENT;
    case CLUSTER_EXPIRED:
        return AXO_CLUSTER_EXPIRED;
    case CLUSTER_REPLACED:
        return AXO_CLUSTER_REPLACED;
    case CLUSTER_EVICTED:
        return AXO_CLUSTER_EVICTED;
    case CLUSTER_LOST:
        return AXO_CLUSTER_LOST;
    case CLUSTER_MINORITY:
        return AXO_CLUSTER_MINORITY;
    case CLUSTER_OUTNUMBERED:
        return AXO_CLUSTER_OUTNUMBERED;
    }
    return AXO_CLUSTER_UNSAID;
}

/* ---- what the member asks: the roster's lock is held ---- */

static void who_put(void *user, const cluster_entry *entry)
{
    axo_cluster *cluster = user;
    cluster->who->put = *entry;
    cluster->who->put_waits = true;
    cluster_bucket_wake(cluster);
}

static void who_remove(void *user, const cluster_entry *entry)
{
    axo_cluster *cluster = user;
    cluster_who *who = cluster->who;
    if (who->removals < sizeof who->removal / sizeof who->removal[0])
        who->removal[who->removals++] = *entry;
    cluster_bucket_wake(cluster);
}

static void who_beat(void *user, uint64_t number)
{
    axo_cluster *cluster = user;
    cluster->who->beat = number;
}

/* One that the system does not take is down, for good. */
static void who_up(void *user, const axo_node *node)
{
    axo_cluster *cluster = user;
    if (atomic_load(&cluster->ends) || atomic_load(&cluster->over))
        return;
    if (cluster_roster_add(cluster, node) == NULL)
        cluster_who_lost(cluster, node);
}

static void who_down(void *user, const axo_node *node, cluster_why why)
{
    cluster_roster_down(user, node, who_why(why));
}

static void who_minority(void *user)
{
    axo_cluster *cluster = user;
    cluster_roster_say(cluster, &cluster->remote.here, AXO_CLUSTER_UNSAID, AXO_KIND_NODE_MINORITY);
}

static void who_majority(void *user)
{
    axo_cluster *cluster = user;
    cluster_roster_say(cluster, &cluster->remote.here, AXO_CLUSTER_UNSAID, AXO_KIND_NODE_MAJORITY);
}

static void who_refused(void *user, const axo_node *holder)
{
    cluster_roster_say(user, holder, AXO_CLUSTER_UNSAID, AXO_KIND_NODE_REFUSED);
}

static void who_no_room(void *user, const axo_node *node)
{
    cluster_roster_no_room(user, node);
}

/* Whoever leaves loses the others when what the system has said is on its way. */
static void who_over(void *user, cluster_why why)
{
    axo_cluster *cluster = user;
    cluster->who->put_waits = false;
    if (why != CLUSTER_LEFT)
        atomic_store(&cluster->over, true);
    cluster_roster_say(cluster, &cluster->remote.here, who_why(why), AXO_KIND_NODE_OVER);
    cluster_bucket_wake(cluster);
    cluster_wake(cluster);
}

static const cluster_member_ops who_ops = {
    .put = who_put, .remove = who_remove, .beat = who_beat, .up = who_up, .down = who_down,
    .minority = who_minority, .majority = who_majority, .refused = who_refused,
    .no_room = who_no_room, .over = who_over};

/* ---- making and starting ---- */

axo_status cluster_who_open(axo_cluster *cluster)
{
    pthread_condattr_t how;
    cluster->who = calloc(1, sizeof *cluster->who);
    if (cluster->who == NULL)
        return AXO_ENOMEM;
    (void)pthread_condattr_init(&how);
    (void)pthread_condattr_setclock(&how, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&cluster->who->changed, &how);
    (void)pthread_condattr_destroy(&how);
    return AXO_OK;
}

void cluster_who_close(axo_cluster *cluster)
{
    if (cluster->who != NULL)
        (void)pthread_cond_destroy(&cluster->who->changed);
    free(cluster->who);
}

/* phi reaches its threshold at 5.6 deviations beyond an interval and the pause: at down_ms, while
 * beats come as they are sent. */
static cluster_member_settings who_settings(const axo_cluster_options *o)
{
    int64_t beat_ns = o->beat_ms * CLUSTER_MS;
    int64_t pause_ns = o->down_ms * CLUSTER_MS - 4 * beat_ns;
    return (cluster_member_settings){
        .beat_ns = beat_ns, .lease_ns = o->lease_ms * CLUSTER_MS,
        .phi = {.estimate_ns = beat_ns, .pause_ns = pause_ns > 0 ? pause_ns : 0,
                .deviation_ns_min = beat_ns / 2, .threshold = 8.0},
        .on_minority = o->on_minority == AXO_CLUSTER_STOP ? CLUSTER_STOP : CLUSTER_GO_ON,
        .seeds = o->seeds, .seeds_count = o->seeds_count};
}

void cluster_who_start(axo_cluster *cluster)
{
    cluster_who *who = cluster->who;
    const cluster_member_settings settings = who_settings(&cluster->options);
    (void)pthread_mutex_lock(&cluster->roster);
    who->clock = cluster_now();
    who->clock_at = who->clock;
    who->echo_at = who->clock;
    who->put_waits = false;
    who->removals = 0;
    who->is_up = false;
    cluster_member_init(&who->member, &settings, &who_ops, cluster, &cluster->remote.here,
                        who->clock);
    (void)pthread_mutex_unlock(&cluster->roster);
}

/* ---- time ---- */

/* A node is silent while nothing of it comes, and this node's own beats come back: so a server
 * that does not answer, or a connection that is made anew, counts against nobody. */
int64_t cluster_who_clock(axo_cluster *cluster)
{
    cluster_who *who = cluster->who;
    int64_t now = cluster_now();
    int64_t passed = now - who->clock_at;
    who->clock_at = now;
    if (atomic_exchange(&cluster->echo, false))
        who->echo_at = now;
    who->still = now - who->echo_at > WHO_ECHO_BEATS * cluster->options.beat_ms * CLUSTER_MS;
    who->clock += who->still ? 0 : passed;
    return who->clock;
}

uint64_t cluster_who_step(axo_cluster *cluster, int64_t *due)
{
    cluster_who *who = cluster->who;
    (void)pthread_mutex_lock(&cluster->roster);
    int64_t now = cluster_who_clock(cluster);
    who->beat = 0;
    cluster_member_step(&who->member, now);
    bool is_up = who->member.phase == CLUSTER_UP && !atomic_load(&cluster->over);
    if (who->is_up != is_up)
        cluster_silo_self(cluster, is_up);
    who->is_up = is_up;
    int64_t next = cluster_member_due(&who->member);
    uint64_t number = who->beat;
    if (next != INT64_MAX && !who->still && who->clock_at + (next - now) < *due)
        *due = who->clock_at + (next - now);
    (void)pthread_mutex_unlock(&cluster->roster);
    return number;
}

/* ---- what comes ---- */

void cluster_who_heard(axo_cluster *cluster, const cluster_packet *packet)
{
    cluster_find beat;
    cluster_wire_read_find(packet, &beat);
    (void)pthread_mutex_lock(&cluster->roster);
    if (!atomic_load(&cluster->ends))
        cluster_member_heard(&cluster->who->member, cluster_who_clock(cluster), &packet->from,
                             beat.id);
    (void)pthread_mutex_unlock(&cluster->roster);
}

void cluster_who_lost(axo_cluster *cluster, const axo_node *node)
{
    cluster_member_lost(&cluster->who->member, cluster->who->clock, node);
}

double cluster_who_phi(axo_cluster *cluster, const axo_node *node)
{
    (void)pthread_mutex_lock(&cluster->roster);
    double phi = cluster_member_phi(&cluster->who->member, cluster_who_clock(cluster), node);
    (void)pthread_mutex_unlock(&cluster->roster);
    return phi;
}

/* ---- leaving ---- */

bool cluster_who_is_over(axo_cluster *cluster)
{
    (void)pthread_mutex_lock(&cluster->roster);
    bool over = cluster->who->member.phase == CLUSTER_OVER;
    (void)pthread_mutex_unlock(&cluster->roster);
    return over;
}

/* Whether all is said that is to be; without a store there is nobody to say it to. */
static bool who_has_left(axo_cluster *cluster)
{
    const cluster_who *who = cluster->who;
    (void)pthread_mutex_lock(&cluster->roster);
    bool over = who->member.phase == CLUSTER_OVER;
    bool asks = who->put_waits || who->asks || who->removals > 0;
    bool away = who->member.store != CLUSTER_STORE_IS_THERE;
    (void)pthread_mutex_unlock(&cluster->roster);
    return away || (over && !asks);
}

void cluster_who_leave(axo_cluster *cluster)
{
    const struct timespec pause = {.tv_nsec = 2000000};
    int64_t until = cluster_now() + WHO_LEAVE_MS * CLUSTER_MS;
    (void)pthread_mutex_lock(&cluster->roster);
    cluster_member_leave(&cluster->who->member, cluster_who_clock(cluster));
    (void)pthread_mutex_unlock(&cluster->roster);
    cluster_wake(cluster);
    while (!who_has_left(cluster) && cluster_now() < until)
        (void)nanosleep(&pause, NULL);
}
