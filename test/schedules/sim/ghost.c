/* ghost.c - the checker's records, and what holds of watches. */
#include "look.h"

#define GHOST_SHOWN 60

ghosts g;

static void ghost_show_event(FILE *out, uint64_t number)
{
    const axo_event *e = &g.ring[number % GHOST_RING];
    fprintf(out,
            "  %6" PRIu64 " %12" PRId64 " w%-6x %014" PRIx64 " #%" PRIu32 " s%" PRIu32
            " %-14s %" PRIx64 "\n",
            number, e->time_ns, e->worker, e->actor.bits, e->instance, e->suspends,
            axo_event_name(e->kind), e->arg);
}

void ghost_show_events(FILE *out, uint64_t most)
{
    for (uint64_t i = g.events > most ? g.events - most : 0; i < g.events; i++)
        ghost_show_event(out, i);
}

/* `violated`: the invariant's number; 0: something else is wrong. */
static void ghost_end(uint32_t violated) __attribute__((noreturn));

static void ghost_end(uint32_t violated)
{
    tallied->violated = violated;
    if (g.loud)
        ghost_show_events(stderr, GHOST_SHOWN);
    if (g.on_end != NULL)
        g.on_end(violated, g.said);
    fflush(NULL);
    _exit(1);
}

static void ghost_say(uint32_t violated, const char *format, va_list list)
    __attribute__((format(printf, 2, 0)));

static void ghost_say(uint32_t violated, const char *format, va_list list)
{
    int at =
        snprintf(g.said, sizeof g.said, "seed %" PRIu64 ", event %" PRIu64 ": ", g.seed, g.events);
    if (violated != 0)
        at +=
            snprintf(g.said + at, sizeof g.said - (size_t)at, "invariant %" PRIu32 ": ", violated);
    (void)vsnprintf(g.said + at, sizeof g.said - (size_t)at, format, list);
    if (g.loud)
        fprintf(stderr, "%s\n", g.said);
}

void ghost_fail(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    ghost_say(0, format, list);
    va_end(list);
    ghost_end(0);
}

void ghost_violated(uint32_t number, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    ghost_say(number, format, list);
    va_end(list);
    ghost_end(number);
}

/* ---- finding ---- */

static uint32_t ghost_place(uint64_t bits)
{
    uint64_t mixed = bits * UINT64_C(0x9e3779b97f4a7c15);
    uint32_t at = (uint32_t)(mixed >> 40) % GHOST_TABLE;
    while (g.table[at] != 0 && g.all[g.table[at] - 1].bits != bits)
        at = (at + 1) % GHOST_TABLE;
    return at;
}

ghost *ghost_find(uint64_t bits)
{
    uint32_t at = ghost_place(bits);
    return g.table[at] != 0 ? &g.all[g.table[at] - 1] : NULL;
}

ghost *ghost_at(uint32_t index)
{
    return index != GHOST_NOBODY ? &g.all[index] : NULL;
}

ghost *ghost_make(uint64_t bits)
{
    uint32_t at = ghost_place(bits);
    HOLDS_ALL(27, g.table[at] == 0, "a reference is given twice: %014" PRIx64, bits);
    if (g.count == GHOSTS_MAX)
        ghost_fail("the world has more actors than the checker has room for");
    ghost *made = &g.all[g.count];
    memset(made, 0, offsetof(ghost, watches));
    made->bits = bits;
    made->self = g.count++;
    made->first_child = made->next_child = made->pool = GHOST_NOBODY;
    g.table[at] = g.count;
    return made;
}

void ghost_reset(uint64_t seed, bool loud)
{
    memset(g.table, 0, sizeof g.table);
    memset(&g, 0, offsetof(ghosts, on_end));
    g.seed = seed;
    g.loud = loud;
    g.step_worker = GHOST_NOBODY;
    g.hash = UINT64_C(0xcbf29ce484222325);
}

/* ---- watches ---- */

ghost_watch *ghost_watching(ghost *it, uint64_t target)
{
    for (uint32_t i = 0; i < it->watch_count; i++) {
        if (it->watches[i].target == target)
            return &it->watches[i];
    }
    return NULL;
}

void ghost_unwatch(ghost *it, ghost_watch *watch)
{
    *watch = it->watches[--it->watch_count];
}

void ghost_watch_event(ghost *it, const axo_event *e)
{
    ghost_watch *watch = ghost_watching(it, e->arg);
    const ghost *target = ghost_find(e->arg);
    switch (e->kind) {
    case AXO_EV_WATCH:
        HOLDS(30, it, watch == NULL, "watched twice");
        if (it->watch_count == GHOST_WATCHES)
            ghost_fail("more watches than the checker has room for");
        it->watches[it->watch_count++] =
            (ghost_watch){.target = e->arg, .late = target == NULL || look_is_over(target)};
        return;
    case AXO_EV_UNWATCH:
        HOLDS(30, it, watch != NULL, "unwatched what it did not watch");
        if (watch->queued)
            probe_hit(PROBE_NOTICE_UNWATCHED);
        ghost_unwatch(it, watch);
        return;
    default:
        HOLDS(31, it, watch != NULL, "a notice for no watch");
        HOLDS(30, it, !watch->queued, "a second notice for one watch");
        HOLDS(33, it, target == NULL || look_is_over(target), "a notice of a living one");
        if (target != NULL && target->parent == it->bits)
            HOLDS(34, it, target->gone, "a notice on its way before the child was removed");
        watch->queued = true;
        return;
    }
}

void ghost_noticed(uint64_t watcher, const axo_terminated *notice)
{
    ghost *it = ghost_find(watcher);
    const ghost *target = ghost_find(notice->actor.bits);
    ghost_watch *watch = ghost_watching(it, notice->actor.bits);
    HOLDS(31, it, watch != NULL, "a notice after unwatch"); /* DW-05 */
    HOLDS(30, it, !watch->own, "a notice in the place of a message of one's own");
    HOLDS(30, it, watch->queued, "a notice that was never queued");
    HOLDS(32, it, (notice->existence_known != 0) == (target != NULL), "existence_known is wrong");
    if (target != NULL && target->parent == watcher)
        HOLDS(34, it, target->gone, "a notice before the child was removed");
    ghost_unwatch(it, watch);
}

void ghost_lost(uint64_t watcher, uint64_t target, uint64_t sender)
{
    ghost *it = ghost_find(watcher);
    ghost_watch *watch = ghost_watching(it, target);
    HOLDS(30, it, sender == target, "a message in the place of a notice, of another");
    HOLDS(31, it, watch != NULL && watch->own, "a message in the place of a notice unasked");
    HOLDS(30, it, watch->queued, "a message in the place of a notice too early");
    ghost_unwatch(it, watch);
}
