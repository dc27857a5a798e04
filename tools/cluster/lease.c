/* lease.c - a node's lease, and those of the others. */
#include "lease.h"

#include <assert.h>
#include <string.h>

#define LEASE_MAX_NS (INT64_C(3600) * 1000000000)
#define MILLION      INT64_C(1000000)

void cluster_lease_init(cluster_lease *lease, const cluster_lease_settings *settings,
                        const cluster_store *store, void *user, uint64_t node,
                        uint64_t incarnation)
{
    int64_t off = settings->drift_ppm;
    assert(settings->lease_ns <= LEASE_MAX_NS && settings->drift_ppm < 100000);
    assert(settings->guard_ns >= 0 && settings->guard_ns < settings->lease_ns);
    assert(settings->renew_ns > 0 && settings->answer_ns > 0 && settings->pause_ns > 0);
    assert(node != 0 && incarnation != 0);
    memset(lease, 0, sizeof *lease);
    lease->store = store;
    lease->user = user;
    lease->asks = CLUSTER_LEASE_ASKS;
    lease->settings = *settings;
    lease->me = (cluster_lease_holder){node, incarnation, 1};
    lease->next_at = INT64_MIN;
    lease->silent_ns = settings->lease_ns * (MILLION + off) / (MILLION - off) + 1;
}

/* ---- this node's ---- */

/* The put is conditional, so whichever of several is carried out first is the only one. */
static void lease_ask(cluster_lease *lease, int64_t now, bool reads)
{
    cluster_store_key key = {.incarnation = lease->me.incarnation};
    lease->ask = ++lease->asks;
    lease->asked_at = now;
    lease->reads = reads;
    if (reads)
        lease->store->get(lease->user, lease->ask, key);
    else
        lease->store->put(lease->user, lease->ask, key, lease->revision, &lease->me);
}

/* I2: what is on its way is of a term that is not held again. I5: the next one waits. */
static void lease_lose(cluster_lease *lease, int64_t now)
{
    lease->held = false;
    lease->me.term++;
    lease->lost++;
    lease->ask = 0;
    lease->next_at = lease->until > now ? lease->until : now;
}

void cluster_lease_step(cluster_lease *lease, int64_t now)
{
    if (lease->held && !cluster_lease_covers(lease, now))
        lease_lose(lease, now);
    if (lease->ask != 0 && now - lease->asked_at >= lease->settings.answer_ns)
        lease_ask(lease, now, lease->reads);
    else if (lease->ask == 0 && now >= lease->next_at)
        lease_ask(lease, now, false);
}

int64_t cluster_lease_due(const cluster_lease *lease)
{
    int64_t due = lease->ask != 0 ? lease->asked_at + lease->settings.answer_ns : lease->next_at;
    int64_t over = lease->held ? lease->until - lease->settings.guard_ns : INT64_MAX;
    return over < due ? over : due;
}

/* What a put has met that did not fit. With HELD the record is this term's, or somebody removed it:
 * then the term is lost, even if it seems to have time left. */
static void lease_read(cluster_lease *lease, int64_t now, const cluster_store_record *record)
{
    lease->revision = record->revision;
    if (lease->held && (record->revision == 0 || record->holder.term != lease->me.term))
        lease_lose(lease, now);
    else
        lease_ask(lease, now, false);
}

/* I1: it counts from the call, not from the answer. */
static void lease_written(cluster_lease *lease, int64_t now, uint64_t revision)
{
    int64_t until = lease->asked_at + lease->settings.lease_ns;
    lease->revision = revision;
    lease->next_at = lease->asked_at + lease->settings.renew_ns;
    if (!lease->held && now >= until - lease->settings.guard_ns)
        return; /* the answer took all its time */
    lease->held = true;
    lease->until = until;
}

bool cluster_lease_answer(cluster_lease *lease, int64_t now, uint64_t ask,
                          cluster_store_answer answer, const cluster_store_record *record)
{
    if (ask == 0 || ask != lease->ask)
        return false;
    if (lease->held && !cluster_lease_covers(lease, now)) { /* it comes too late */
        lease_lose(lease, now);
        return true;
    }
    lease->ask = 0;
    lease->next_at = now + lease->settings.pause_ns;
    if (answer == CLUSTER_STORE_CONFLICT)
        lease_ask(lease, now, true);
    else if (answer == CLUSTER_STORE_DONE && lease->reads)
        lease_read(lease, now, record);
    else if (answer == CLUSTER_STORE_DONE)
        lease_written(lease, now, record->revision);
    return true;
}

/* ---- the others' ---- */

/* The entry of an incarnation, or the one that was looked at least lately: what is forgotten has to
 * be watched anew. */
static cluster_lease_watched *lease_watched(cluster_lease *lease, uint64_t incarnation)
{
    cluster_lease_watched *oldest = &lease->watched[0];
    for (uint32_t i = 0; i < CLUSTER_LEASE_WATCHED_MAX; i++) {
        cluster_lease_watched *it = &lease->watched[i];
        if (it->incarnation == incarnation)
            return it;
        if (oldest->incarnation != 0 &&
            (it->incarnation == 0 || it->looked_at < oldest->looked_at))
            oldest = it;
    }
    return oldest;
}

cluster_verdict cluster_lease_judge(cluster_lease *lease, int64_t now,
                                    const cluster_lease_holder *whose,
                                    const cluster_store_record *record)
{
    if (record->revision == 0 || record->holder.term > whose->term)
        return CLUSTER_LEASE_GONE;
    cluster_lease_watched *it = lease_watched(lease, whose->incarnation);
    if (it->incarnation != whose->incarnation || it->revision != record->revision)
        *it = (cluster_lease_watched){whose->incarnation, record->revision, now, now};
    it->looked_at = now;
    return now - it->since >= lease->silent_ns ? CLUSTER_LEASE_SILENT : CLUSTER_LEASE_THERE;
}
