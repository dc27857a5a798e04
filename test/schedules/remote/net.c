/* net.c - frames on their way between nodes. */
#include "remote.h"

static void net_mix(world *w, uint64_t value)
{
    w->hash = (w->hash ^ value) * UINT64_C(0x100000001b3);
    w->hash ^= w->hash >> 29;
}

static void net_hash(world *w, const flying *it)
{
    net_mix(w, (uint64_t)it->due);
    net_mix(w, (uint64_t)it->from << 32 | it->to);
    net_mix(w, (uint64_t)it->frame.kind << 32 | it->frame.size);
    net_mix(w, it->frame.number);
    net_mix(w, it->frame.behind);
    net_mix(w, it->frame.ack);
    for (uint32_t i = 0; i < it->frame.size; i++)
        net_mix(w, it->body[i]);
}

static void net_fly(world *w, uint32_t from, uint32_t to, const cluster_frame *frame)
{
    if (w->air_count == FLYING) /* full: the oldest sort of loss */
        return;
    flying *it = &w->air[w->air_count++];
    it->from = from;
    it->to = to;
    it->frame = *frame;
    it->order = w->air_order++;
    it->due = w->now + (int64_t)(1 + chance_below(w, 20)) * (REMOTE_MS / 10);
    if (chance_of(w, w->late))
        it->due += (int64_t)chance_below(w, 3000) * REMOTE_MS;
    if (frame->size > BODY_MAX)
        abort();
    if (frame->size > 0)
        memcpy(it->body, frame->body, frame->size);
    net_hash(w, it);
}

void net_put(world *w, uint32_t from, uint32_t to, const cluster_frame *frame)
{
    if (!w->nodes[from].alive)
        return;
    if (w->cut[from][to]) {
        w->met[PROBE_frame_cut]++;
        return;
    }
    if (chance_of(w, w->loss)) {
        w->met[PROBE_frame_lost]++;
        return;
    }
    net_fly(w, from, to, frame);
    if (chance_of(w, w->repeat)) {
        w->met[PROBE_frame_repeated]++;
        net_fly(w, from, to, frame);
    }
}

/* In the order in which they were sent, unless one overtakes. */
static uint32_t net_next(world *w)
{
    uint32_t next = UINT32_MAX;
    for (uint32_t i = 0; i < w->air_count; i++) {
        const flying *it = &w->air[i];
        if (it->due > w->now)
            continue;
        if (next == UINT32_MAX || it->order < w->air[next].order)
            next = i;
        else if (chance_of(w, w->reorder)) {
            w->met[PROBE_frame_overtaken]++;
            return i;
        }
    }
    return next;
}

int64_t net_run(world *w)
{
    static flying it;
    int64_t due = INT64_MAX;
    uint32_t next;
    while ((next = net_next(w)) != UINT32_MAX) {
        it = w->air[next];
        w->air[next] = w->air[--w->air_count];
        it.frame.body = it.body;
        if (w->nodes[it.to].alive)
            node_receive(&w->nodes[it.to], it.from, &it.frame);
    }
    for (uint32_t i = 0; i < w->air_count; i++) {
        if (w->air[i].due < due)
            due = w->air[i].due;
    }
    return due;
}
