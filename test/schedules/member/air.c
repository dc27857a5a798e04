/* air.c - what is on its way between processes and the store. */
#include "members.h"

static bool air_is_watch(flying_kind kind)
{
    return kind == FLY_ENTRY || kind == FLY_GONE || kind == FLY_LISTED;
}

/* The watch comes in its order. */
static void air_watch(world *w, flying *it)
{
    process *p = &w->processes[it->to];
    if (chance_of(w, w->watch_late)) {
        w->met[PROBE_watch_late]++;
        it->due += (int64_t)chance_below(w, 4000) * MS;
    }
    if (it->due < p->watched_until)
        it->due = p->watched_until;
    p->watched_until = it->due;
}

static void air_fly(world *w, const flying *what, int64_t after)
{
    if (w->air_count == FLYING)
        abort();
    flying *it = &w->air[w->air_count++];
    *it = *what;
    it->order = w->air_order++;
    it->due = w->now + after + (int64_t)(1 + chance_below(w, 20)) * MS;
    if (air_is_watch(it->kind))
        air_watch(w, it);
    else if (chance_of(w, w->late))
        it->due += (int64_t)chance_below(w, 6000) * MS;
}

void air_put(world *w, const flying *it, int64_t after)
{
    bool message = it->kind == FLY_BEAT || it->kind == FLY_LOST;
    if (message && (w->cut[it->from][it->to] || chance_of(w, w->loss))) {
        w->met[PROBE_beat_lost]++;
        return;
    }
    if (it->to == PLACES && w->processes[it->from].watch_broken)
        return;
    air_fly(w, it, after);
    if (message && chance_of(w, w->repeat)) {
        w->met[PROBE_beat_repeated]++;
        air_fly(w, it, after);
    }
}

/* Whether it has to wait where it is: its process is stopped, or the watch is cut off. */
static bool air_waits(const world *w, const flying *it)
{
    if (it->to == PLACES)
        return false;
    const process *p = &w->processes[it->to];
    if (p->alive && !process_runs(p))
        return true;
    return air_is_watch(it->kind) && p->alive && p->life == it->to_life &&
           p->watch == it->number && w->cut[it->to][PLACES];
}

static uint32_t air_next(const world *w)
{
    uint32_t next = UINT32_MAX;
    for (uint32_t i = 0; i < w->air_count; i++) {
        const flying *it = &w->air[i];
        if (it->due > w->now || air_waits(w, it))
            continue;
        if (next == UINT32_MAX || it->due < w->air[next].due ||
            (it->due == w->air[next].due && it->order < w->air[next].order))
            next = i;
    }
    return next;
}

/* What meets a cut is lost, but a watch, which waits. */
static void air_arrive(world *w, const flying *it)
{
    if (w->cut[it->from][it->to])
        return;
    if (it->kind == FLY_PUT)
        store_take_put(w, it);
    else if (it->kind == FLY_REMOVE)
        store_take_removal(w, it);
    else if (w->processes[it->to].alive &&
             (it->to_life == 0 || it->to_life == w->processes[it->to].life))
        process_receive(&w->processes[it->to], it);
}

void air_run(world *w)
{
    uint32_t next;
    while ((next = air_next(w)) != UINT32_MAX) {
        flying it = w->air[next];
        w->air[next] = w->air[--w->air_count];
        air_arrive(w, &it);
    }
}

void air_forget(world *w)
{
    for (uint32_t i = 0; i < w->air_count;) {
        if (w->air[i].from == PLACES || w->air[i].to == PLACES)
            w->air[i] = w->air[--w->air_count];
        else
            i++;
    }
}
