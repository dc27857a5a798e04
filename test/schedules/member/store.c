/* store.c - the store: entries by compare-and-set, leases, watches. */
#include "members.h"

static void store_tell(world *w, flying_kind kind, const cluster_entry *entry, cluster_gone how)
{
    for (uint32_t i = 0; i < PLACES; i++) {
        process *p = &w->processes[i];
        if (!p->alive || p->store == CLUSTER_STORE_AWAY)
            continue;
        flying it = {.kind = kind, .from = PLACES, .to = i, .to_life = p->life,
                     .number = p->watch, .entry = *entry, .how = how};
        air_put(w, &it, 0);
    }
}

static void store_answer(world *w, const flying *put, cluster_answer answer,
                         const cluster_entry *there)
{
    flying it = {.kind = FLY_ANSWER, .from = PLACES, .to = put->from, .to_life = put->from_life,
                 .number = put->number, .answer = answer, .none = there == NULL};
    if (there != NULL)
        it.entry = *there;
    air_put(w, &it, 0);
}

void store_take_put(world *w, const flying *it)
{
    record *r = &w->records[name_number(&it->entry.node)];
    uint32_t before = r->present ? (uint32_t)r->entry.node.incarnation : 0;
    if (w->store_down)
        return;
    if (r->present && r->entry.revision != it->entry.revision) {
        store_answer(w, it, CLUSTER_REFUSED, &r->entry);
        return;
    }
    if (!r->present && it->entry.revision != 0) {
        store_answer(w, it, r->marked ? CLUSTER_REMOVED : CLUSTER_MISSING, NULL);
        return;
    }
    *r = (record){.present = true, .entry = it->entry, .written = w->now};
    r->entry.revision = ++w->revision;
    ghost_put(w, it->from_life, &r->entry, before);
    SAY(w, "store: life %u phase %d at %llu", it->from_life, (int)r->entry.phase,
        (unsigned long long)w->revision);
    store_answer(w, it, CLUSTER_TAKEN, &r->entry);
    store_tell(w, FLY_ENTRY, &r->entry, CLUSTER_GONE_REMOVED);
}

void store_take_removal(world *w, const flying *it)
{
    record *r = &w->records[name_number(&it->entry.node)];
    if (w->store_down)
        return;
    if (!r->present || r->entry.revision != it->entry.revision) {
        w->met[PROBE_removal_refused]++;
        return;
    }
    SAY(w, "store: life %u removes life %u", it->from_life,
        (uint32_t)r->entry.node.incarnation);
    ghost_removed(w, it->from_life, &r->entry);
    r->present = false;
    r->marked = true;
    r->written = w->now;
    r->entry.revision = ++w->revision;
    store_tell(w, FLY_GONE, &r->entry, CLUSTER_GONE_REMOVED);
}

void store_expire(world *w)
{
    for (uint32_t i = 0; i < NAMES && !w->store_down; i++) {
        record *r = &w->records[i];
        if (w->now - r->written < LEASE_NS + w->expiry_late)
            continue;
        w->met[PROBE_marker_forgotten] += r->marked;
        if (r->present && w->expiry_told)
            store_tell(w, FLY_GONE, &r->entry, CLUSTER_GONE_EXPIRED);
        if (r->present)
            SAY(w, "store: life %u expires", (uint32_t)r->entry.node.incarnation);
        r->present = false;
        r->marked = false;
    }
}

void store_fail(world *w)
{
    w->store_down = true;
    SAY(w, "store: away");
    for (uint32_t i = 0; i < PLACES; i++)
        process_break(&w->processes[i], true);
}

/* What was asked of it, and what it has answered, went with the connections. */
void store_return(world *w, bool forgets)
{
    w->store_down = false;
    SAY(w, "store: back%s", forgets ? ", and has forgotten" : "");
    if (!forgets)
        return;
    w->met[PROBE_store_forgot]++;
    w->forgot = true;
    w->revision = 0;
    memset(w->records, 0, sizeof w->records);
    air_forget(w);
}

void store_list(world *w, process *p)
{
    uint64_t after = 0;
    for (;;) {
        const record *next = NULL;
        for (uint32_t i = 0; i < NAMES; i++) {
            const record *r = &w->records[i];
            if ((r->present || r->marked) && r->entry.revision > after &&
                (next == NULL || r->entry.revision < next->entry.revision))
                next = r;
        }
        if (next == NULL)
            break;
        after = next->entry.revision;
        flying it = {.kind = next->present ? FLY_ENTRY : FLY_GONE, .from = PLACES,
                     .to = p->place, .to_life = p->life, .number = p->watch,
                     .entry = next->entry, .how = CLUSTER_GONE_REMOVED};
        air_put(w, &it, 0);
    }
    flying end = {.kind = FLY_LISTED, .from = PLACES, .to = p->place, .to_life = p->life,
                  .number = p->watch};
    air_put(w, &end, 0);
}
