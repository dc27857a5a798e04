/* air.c - what is on its way, and the store. */
#include "grains.h"

static flying *air_fly(world *w, const flying *it, int64_t late_most)
{
    if (w->air_count == FLYING)
        abort();
    flying *at = &w->air[w->air_count++];
    *at = *it;
    at->due = w->now + chance_ns(w, 4 * SIM_MS);
    if (it->kind == ANSWER && it->node == w->slow && !w->calm)
        at->due += chance_ns(w, 200 * SIM_MS);
    if (chance_of(w, w->late)) {
        at->due += chance_ns(w, chance_of(w, 500) ? late_most : 300 * SIM_MS);
        w->met[PROBE_carried_out_late] += it->kind <= REMOVE;
    }
    return at;
}

/* ---- calls ---- */

static void air_ask(void *user, flying *it, cluster_store_key key)
{
    node *n = user;
    world *w = n->w;
    it->node = n->index;
    it->incarnation = n->incarnation;
    it->lease = key.incarnation;
    it->key = key.name != NULL ? key.name->key[0] : 0;
    if (w->cut_store[n->index]) {
        w->met[PROBE_cut_from_store]++;
        return;
    }
    if (chance_of(w, w->loss))
        return;
    (void)air_fly(w, it, 3000 * SIM_MS);
    if (chance_of(w, w->repeat))
        (void)air_fly(w, it, 3000 * SIM_MS);
}

static void air_get(void *user, uint64_t ask, cluster_store_key key)
{
    flying it = {.kind = GET, .ask = ask};
    air_ask(user, &it, key);
}

static void air_put(void *user, uint64_t ask, cluster_store_key key, uint64_t revision,
                    const cluster_lease_holder *holder)
{
    flying it = {.kind = PUT, .ask = ask, .revision = revision, .holder = *holder};
    air_ask(user, &it, key);
}

static void air_remove(void *user, uint64_t ask, cluster_store_key key, uint64_t revision)
{
    flying it = {.kind = REMOVE, .ask = ask, .revision = revision};
    air_ask(user, &it, key);
}

const cluster_store air_store = {air_get, air_put, air_remove};

void air_forward(void *user, uint64_t to, const cluster_parcel *parcel, bool back)
{
    node *n = user;
    world *w = n->w;
    uint32_t number;
    uint32_t other = 0;
    memcpy(&number, parcel->body, sizeof number);
    while (node_name(other) != to)
        other++;
    HOLDS(w, 5, other != n->index, "node %u sends message %u to itself", other, number);
    HOLDS(w, 5, w->messages[number].is == AT_NODE && w->messages[number].node == n->index,
          "node %u sends message %u on, which it has not", n->index, number);
    w->met[PROBE_sent_on]++;
    w->met[PROBE_sent_to_holder] += parcel->holder.incarnation != 0;
    w->met[PROBE_came_back] += back;
    w->messages[number].is = FLIES;
    if (!w->nodes[other].alive || w->cut[n->index][other] || chance_of(w, w->loss)) {
        w->messages[number].is = LOST;
        w->met[PROBE_parcel_lost]++;
        return;
    }
    flying it = {.kind = back ? BACK : PARCEL, .node = other, .message = number, .parcel = *parcel,
                 .incarnation = w->nodes[other].incarnation};
    (void)air_fly(w, &it, 500 * SIM_MS);
}

/* ---- the store ---- */

static cluster_store_record *air_record(world *w, const flying *it, kept_lease **lease)
{
    uint32_t i = 0;
    if (it->lease == 0)
        return &w->claims[it->key];
    while (w->leases[i].incarnation != it->lease && w->leases[i].incarnation != 0)
        i++;
    if (i == LEASES - 1)
        abort();
    w->leases[i].incarnation = it->lease;
    *lease = &w->leases[i];
    return &w->leases[i].record;
}

static void air_count(world *w, const flying *it, const cluster_store_record *was, bool fits)
{
    bool own = it->lease == it->incarnation;
    if (it->kind == PUT && it->lease == 0) {
        w->met[PROBE_claim_refused] += !fits;
        w->met[PROBE_taken_over] += fits && was->revision != 0 &&
                                    was->holder.incarnation != it->incarnation;
        w->met[PROBE_own_claim_again] += fits && was->revision != 0 &&
                                         was->holder.incarnation == it->incarnation;
    }
    if (it->kind == REMOVE && it->lease == 0)
        w->met[PROBE_released] += fits;
    if (it->kind == REMOVE && it->lease != 0 && !own) {
        w->met[fits ? PROBE_fenced : PROBE_fence_refused]++;
        for (uint32_t i = 0; i < w->nodes_count && fits; i++)
            w->met[PROBE_fenced_while_stopped] += w->nodes[i].stopped_until != 0 &&
                                                  w->nodes[i].incarnation == it->lease;
    }
}

static void air_answer(world *w, const flying *it, const flying *answer)
{
    if (w->cut_store[it->node] || chance_of(w, w->loss)) {
        w->met[PROBE_answer_lost]++;
        return;
    }
    flying *flies = air_fly(w, answer, 3000 * SIM_MS);
    if (chance_of(w, w->fail)) {
        flies->answer = CLUSTER_STORE_FAILED;
        w->met[PROBE_answer_failed]++;
    } else if (chance_of(w, w->repeat)) {
        (void)air_fly(w, answer, 3000 * SIM_MS);
        w->met[PROBE_carried_out_twice]++;
    }
}

static void air_carry_out(world *w, const flying *it)
{
    kept_lease *lease = NULL;
    cluster_store_record *record = air_record(w, it, &lease);
    flying answer = {.kind = ANSWER, .node = it->node, .incarnation = it->incarnation,
                     .ask = it->ask, .answer = CLUSTER_STORE_DONE};
    bool fits = it->kind == GET || record->revision == it->revision;
    air_count(w, it, record, fits);
    if (!fits)
        answer.answer = CLUSTER_STORE_CONFLICT;
    else if (it->kind == PUT)
        *record = (cluster_store_record){++w->revision, it->holder};
    else if (it->kind == REMOVE)
        *record = (cluster_store_record){0};
    if (it->kind == PUT && fits && lease != NULL)
        lease->written_at = w->now;
    if (answer.answer == CLUSTER_STORE_DONE)
        answer.record = *record;
    air_answer(w, it, &answer);
}

void air_expire(world *w)
{
    for (uint32_t i = 0; i < LEASES && w->expires; i++) {
        kept_lease *it = &w->leases[i];
        if (it->record.revision != 0 && w->now - it->written_at >= 2 * LEASE_NS) {
            it->record = (cluster_store_record){0};
            w->met[PROBE_expired]++;
        }
    }
}

/* ---- time ---- */

static void air_deliver(world *w, const flying *it)
{
    node *n = &w->nodes[it->node];
    if (it->kind <= REMOVE) { /* whether or not its node is there by now */
        air_carry_out(w, it);
        return;
    }
    bool there = n->alive && n->incarnation == it->incarnation;
    if (it->kind == ANSWER && there)
        node_answer(n, it);
    else if (it->kind != ANSWER && there)
        node_parcel(n, it);
    else if (it->kind != ANSWER)
        w->messages[it->message].is = LOST;
}

void air_run(world *w)
{
    for (uint32_t i = 0; i < w->air_count;) {
        if (w->air[i].due > w->now) {
            i++;
            continue;
        }
        flying it = w->air[i];
        const node *n = &w->nodes[it.node];
        if (it.kind >= ANSWER && n->alive && n->stopped_until != 0) {
            w->air[i].due = n->stopped_until; /* it waits in a buffer of the system */
            i++;
            continue;
        }
        w->air[i] = w->air[--w->air_count];
        air_deliver(w, &it);
        i = 0;
    }
}

int64_t air_due(const world *w)
{
    int64_t due = INT64_MAX;
    for (uint32_t i = 0; i < w->air_count; i++) {
        if (w->air[i].due < due)
            due = w->air[i].due;
    }
    return due;
}
