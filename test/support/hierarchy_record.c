/* hierarchy_record.c - the recorder of the hierarchy stress, what it checks, and its report. */
#include "hierarchy_inside.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cell/table.h"

enum { RECORD_SHOWN = 400, RECORD_LINES = 12 };

_Thread_local uint32_t hierarchy_spawning;

/* ---- threads (SX-05) ---- */

/* Workers that take over while others are stuck, or look so to them. */
#define HIERARCHY_SPARES 2

/* What is known of this thread: 0: nothing; else its dispatcher plus one, once and for all. */
static _Thread_local uint32_t record_dispatcher;
static _Thread_local uint32_t record_pinned; /* the node that has it for itself, plus one */
static _Thread_local uint32_t record_worker; /* as the events name it, plus one */

void hierarchy_on_worker(hierarchy *h, uint32_t node)
{
    uint32_t want = node < h->actors ? h->nodes[node].dispatcher : AXO_DISPATCH_DEFAULT;
    if (record_dispatcher == 0) {
        record_dispatcher = want + 1;
        if (want == AXO_DISPATCH_HOST)
            hierarchy_breach(h, node, 5, "a host actor runs on a thread that is not the host's");
        if (want == AXO_DISPATCH_DEFAULT &&
            HIERARCHY_COUNT(h, threads) >= h->workers + HIERARCHY_SPARES)
            hierarchy_breach(h, node, 5, "more threads than workers run callbacks");
    }
    if (record_dispatcher != want + 1)
        hierarchy_breach(h, node, 5, "dispatcher %" PRIu32 " runs an actor of dispatcher %" PRIu32,
                         record_dispatcher - 1, want);
    if (want != AXO_DISPATCH_PINNED)
        return;
    if (record_pinned != 0 && record_pinned != node + 1)
        hierarchy_breach(h, node, 5, "a pinned actor on the thread of n%" PRIu32,
                         record_pinned - 1);
    record_pinned = node + 1;
}

void hierarchy_outside(void)
{
    record_dispatcher = AXO_DISPATCH_HOST + 1;
    record_worker = 0;
}

/* The number that events give to this thread fits its pool and stays. */
static void record_check_worker(hierarchy *h, uint32_t node, uint32_t worker)
{
    bool plain = h->nodes[node].dispatcher == AXO_DISPATCH_DEFAULT;
    if (plain ? worker >= h->workers + HIERARCHY_SPARES : worker >> 16 == 0 || worker == UINT32_MAX)
        hierarchy_breach(h, node, 5, "worker %" PRIx32 " runs an actor of dispatcher %d", worker,
                         (int)h->nodes[node].dispatcher);
    if (record_worker != 0 && record_worker != worker + 1)
        hierarchy_breach(h, node, 5, "a thread that was worker %" PRIx32 " is worker %" PRIx32,
                         record_worker - 1, worker);
    record_worker = worker + 1;
}

/* ---- events ---- */

static uint32_t record_place(hierarchy *h, const axo_event *event)
{
    hierarchy_place *place = &h->places[event->actor.bits & (HIERARCHY_SLOTS - 1)];
    if ((event->actor.bits & AXO__SLOT_MASK) >= HIERARCHY_SLOTS)
        return h->actors;
    if (event->kind == AXO_EV_SPAWN) {
        uint32_t node = hierarchy_spawning != 0 ? hierarchy_spawning - 1 : h->actors;
        atomic_store_explicit(&place->node, node, memory_order_relaxed);
        atomic_store_explicit(&place->bits, event->actor.bits, memory_order_relaxed);
        return node;
    }
    if (atomic_load_explicit(&place->bits, memory_order_relaxed) != event->actor.bits)
        return h->actors;
    return atomic_load_explicit(&place->node, memory_order_relaxed);
}

static void record_add(hierarchy_ring *ring, const axo_event *event)
{
    uint64_t at = atomic_fetch_add_explicit(&ring->head, 1, memory_order_relaxed);
    hierarchy_event *to = &ring->events[at % HIERARCHY_EVENTS];
#define RECORD_SET(field, value) atomic_store_explicit(&to->field, (value), memory_order_relaxed)
    RECORD_SET(time, (uint64_t)event->time_ns);
    RECORD_SET(bits, event->actor.bits);
    RECORD_SET(arg, event->arg);
    RECORD_SET(kind, (uint64_t)event->instance << 32 | event->kind);
    RECORD_SET(where, (uint64_t)event->suspends << 32 | event->worker);
#undef RECORD_SET
}

/* Events that are not made by the actor's own worker. */
static bool record_foreign(uint32_t kind)
{
    return kind == AXO_EV_DEAD_LETTER || kind == AXO_EV_SPAWN;
}

void hierarchy_trace(void *user, const axo_event *event)
{
    hierarchy *h = user;
    uint32_t node = record_place(h, event);
    record_add(&h->nodes[node].ring, event);
    if (node == h->actors || record_foreign(event->kind))
        return;
    atomic_store_explicit(&h->nodes[node].suspends, event->suspends, memory_order_relaxed);
    if ((event->kind == AXO_EV_RECEIVE || event->kind == AXO_EV_DECIDE) && event->suspends != 0)
        hierarchy_breach(h, node, 4, "%s while suspended %" PRIu32 " times",
                         axo_event_name(event->kind), event->suspends);
    if (event->kind == AXO_EV_SUSPEND || event->kind == AXO_EV_RESUME)
        HIERARCHY_COUNT(h, life); /* one that was on its way when a round began */
    if (event->kind == AXO_EV_RECEIVE)
        record_check_worker(h, node, event->worker);
}

/* ---- the report (SX-11) ---- */

typedef struct record_line {
    uint64_t time;
    uint64_t order; /* in its ring */
    uint64_t bits;
    uint64_t arg;
    uint64_t kind;
    uint64_t where;
    uint32_t node;
} record_line;

static int record_compare(const void *one, const void *other)
{
    const record_line *a = one;
    const record_line *b = other;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

static size_t record_collect(const hierarchy *h, uint32_t node, record_line *lines)
{
    const hierarchy_ring *ring = &h->nodes[node].ring;
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    uint64_t count = head < HIERARCHY_EVENTS ? head : HIERARCHY_EVENTS;
    for (uint64_t i = 0; i < count; i++) {
        const hierarchy_event *from = &ring->events[(head - count + i) % HIERARCHY_EVENTS];
        lines[i] = (record_line){
            .time = atomic_load_explicit(&from->time, memory_order_relaxed),
            .order = head - count + i,
            .bits = atomic_load_explicit(&from->bits, memory_order_relaxed),
            .arg = atomic_load_explicit(&from->arg, memory_order_relaxed),
            .kind = atomic_load_explicit(&from->kind, memory_order_relaxed),
            .where = atomic_load_explicit(&from->where, memory_order_relaxed),
            .node = node};
    }
    return count;
}

/* The node, those above it, its children; nobody: everybody. */
static bool record_concerns(const hierarchy *h, uint32_t node, uint32_t other)
{
    if (node >= h->actors || other == node || h->nodes[other].parent == node)
        return true;
    for (uint32_t up = node; up != HIERARCHY_NOBODY; up = h->nodes[up].parent) {
        if (up == other)
            return true;
    }
    return false;
}

static void record_item(const hierarchy *h, FILE *out, uint32_t code)
{
    if (code == 0 || code > h->items + h->actors)
        return;
    const hierarchy_item *item = &h->item[code - 1];
    fprintf(out, "  [item %" PRIu32 ": %s, left: escalate %d, fail in pre_restart %d, post_restart "
            "%d, construct %d, pre_start %d; stop %d, children %d]", code - 1,
            item->directive == AXO_RESTART ? "restart" : "resume", item->escalate, item->pre,
            item->post, item->construct, item->start, item->stop, item->kids);
}

static void record_print(const hierarchy *h, FILE *out, const record_line *line, uint64_t since)
{
    uint32_t kind = (uint32_t)line->kind;
    const char *name = line->node < h->actors ? h->nodes[line->node].name : "other";
    fprintf(out, "  %12.3f us  %-6s#%-3" PRIu32 " %016" PRIx64 "  suspends %" PRIu32
            "  w%-5" PRIx32 "  %-13s %" PRIx64, (double)(line->time - since) / 1e3, name,
            (uint32_t)(line->kind >> 32), line->bits, (uint32_t)(line->where >> 32),
            (uint32_t)line->where, axo_event_name(kind), line->arg);
    if (kind == AXO_EV_FAIL)
        record_item(h, out, (uint32_t)line->arg);
    fputc('\n', out);
}

static void record_dump(const hierarchy *h, uint32_t node, FILE *out)
{
    record_line *lines = calloc((size_t)h->actors * HIERARCHY_EVENTS, sizeof *lines);
    size_t count = 0;
    if (lines == NULL)
        return;
    for (uint32_t i = 0; i < h->actors; i++) {
        if (record_concerns(h, node, i))
            count += record_collect(h, i, lines + count);
    }
    qsort(lines, count, sizeof *lines, record_compare);
    for (uint32_t at = node; at < h->actors; at = h->nodes[at].parent)
        fprintf(out, "  %s, level %" PRIu32 ", %" PRIu32 " children, child of\n",
                h->nodes[at].name, h->nodes[at].level, h->nodes[at].kids);
    if (node < h->actors)
        fprintf(out, "  the warden\n");
    fprintf(out, "  the last %zu of %zu events of those concerned:\n",
            count < RECORD_SHOWN ? count : RECORD_SHOWN, count);
    for (size_t i = count < RECORD_SHOWN ? 0 : count - RECORD_SHOWN; i < count; i++)
        record_print(h, out, &lines[i], lines[0].time);
    free(lines);
}

void hierarchy_breach(hierarchy *h, uint32_t node, uint32_t entry, const char *format, ...)
{
    FILE *out = h->options.out != NULL ? h->options.out : stdout;
    char text[200];
    va_list list;
    va_start(list, format);
    (void)vsnprintf(text, sizeof text, format, list);
    va_end(list);
    pthread_mutex_lock(&h->mutex);
    uint32_t before = HIERARCHY_COUNT(h, broken);
    h->breaches[entry]++;
    if (before < RECORD_LINES) {
        fprintf(out, "hierarchy: seed %" PRIu64 ": SX-%02" PRIu32 ": %s: %s\n", h->options.seed,
                entry, node < h->actors ? h->nodes[node].name : "all", text);
    }
    if (before == 0) {
        (void)snprintf(h->first, sizeof h->first, "seed %" PRIu64 ": SX-%02" PRIu32 ": %s",
                       h->options.seed, entry, text);
        fprintf(out, "hierarchy: repeat with --seed %" PRIu64 " --actors %" PRIu32 " --items %"
                PRIu32 " --workers %" PRIu32 " (quantum %" PRIu32 ", window %" PRIu32
                ", %" PRIu32 " items settled)\n", h->options.seed, h->actors, h->items,
                h->options.workers, h->quantum, h->window, HIERARCHY_GET(h, settled));
        if (h->recorded)
            record_dump(h, node, out);
    }
    fflush(out);
    pthread_mutex_unlock(&h->mutex);
}
