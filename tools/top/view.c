/* view.c - the lines of axo-top. */
#include "view.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 64

const char *const view_sorts[] = {"tree",     "rate",   "handled", "failures",
                                  "restarts", "queued", NULL};

void view_line(view *v, const char *format, ...)
{
    if (v->count == v->room) {
        uint32_t room = v->room == 0 ? 256 : 2 * v->room;
        void *lines = realloc(v->lines, room * sizeof *v->lines);
        if (lines == NULL)
            return;
        v->lines = lines;
        v->room = room;
    }
    va_list list;
    va_start(list, format);
    (void)vsnprintf(v->lines[v->count++], VIEW_LINE, format, list);
    va_end(list);
}

/* ---- words for numbers ---- */

typedef struct short_text {
    char text[32];
} short_text;

static short_text duration(int64_t ns)
{
    short_text out;
    if (ns < 0)
        ns = 0;
    if (ns >= 1000000000)
        (void)snprintf(out.text, sizeof out.text, "%.1f s", (double)ns / 1e9);
    else if (ns >= 1000000)
        (void)snprintf(out.text, sizeof out.text, "%.1f ms", (double)ns / 1e6);
    else
        (void)snprintf(out.text, sizeof out.text, "%.0f us", (double)ns / 1e3);
    return out;
}

static short_text rate(uint64_t now, uint64_t before, int64_t span_ns)
{
    short_text out;
    double each = span_ns > 0 && now >= before ? (double)(now - before) * 1e9 / (double)span_ns : 0;
    if (each >= 10e6)
        (void)snprintf(out.text, sizeof out.text, "%.0fM/s", each / 1e6);
    else if (each >= 10e3)
        (void)snprintf(out.text, sizeof out.text, "%.0fk/s", each / 1e3);
    else
        (void)snprintf(out.text, sizeof out.text, "%.0f/s", each);
    return out;
}

static uint64_t restarts_of(const top_actor *actor)
{
    return actor->instance > 1 ? actor->instance - 1 : 0;
}

static const char *state_of(const top_actor *actor)
{
    static const char *const names[] = {"?", "born", "alive", "failed", "stopping", "gone"};
    return actor->state < sizeof names / sizeof names[0] ? names[actor->state] : "?";
}

/* An actor's path as far as the board knows it, its end if it is too long. */
static const char *path_of(const top_shot *shot, uint64_t ref, char *out, size_t size)
{
    char *at = out + size - 1;
    const top_actor *actor = top_find(shot, ref);
    *at = 0;
    if (actor == NULL) {
        (void)snprintf(out, size, ref == 0 ? "-" : "$%" PRIx64, ref);
        return out;
    }
    if (actor->parent == 0)
        return "/";
    for (int depth = 0; actor != NULL && actor->parent != 0 && depth < DEPTH_MAX; depth++) {
        char own[24];
        (void)snprintf(own, sizeof own, "$%" PRIx64, actor->ref);
        const char *name = actor->name[0] != 0 ? actor->name : own;
        size_t length = strlen(name);
        if ((size_t)(at - out) < length + 1)
            break;
        at -= length;
        memcpy(at, name, length);
        *--at = '/';
        actor = top_find(shot, actor->parent);
    }
    return at;
}

/* ---- parts ---- */

static uint64_t total(const top_shot *shot, uint32_t counter)
{
    uint64_t sum = shot != NULL ? shot->others[counter] : 0;
    for (uint32_t i = 0; shot != NULL && i < shot->worker_count; i++)
        sum += shot->workers[i].counters[counter];
    return sum;
}

static void head(view *v, const top_board *board, const top_shot *before, const top_shot *shot)
{
    static const char *const lives[] = {"alive", "of another namespace (alive or dead)",
                                        "DEAD (times are to its last sign)", "ended"};
    static const char *const names[] = {
#define VIEW_NAME(name) #name,
        AXO_BOARD_COUNTER_LIST(VIEW_NAME)
#undef VIEW_NAME
    };
    uint64_t alive = 0;
    for (uint32_t i = 0; i < shot->actor_count; i++)
        alive += shot->actors[i].ref != 0 && shot->actors[i].state != AXO_BOARD_TERMINATED;
    view_line(v, "axo-top: system %s, process %" PRIu64 " %s, up %s, %" PRIu64 " actors listed",
              board->name, board->process, lives[shot->life],
              duration(shot->now - board->started).text, alive);
    if (shot->unlisted > 0)
        view_line(v, "%" PRIu64 " births beyond axo_options.board_actors are not listed",
                  shot->unlisted);
    int64_t span = shot->now - (before != NULL ? before->now : board->started);
    char text[VIEW_LINE] = "";
    for (uint32_t i = 0; i < TOP_COUNTERS; i++) {
        size_t at = strlen(text);
        (void)snprintf(text + at, sizeof text - at, "%s %s (%" PRIu64 ")  ", names[i],
                       rate(total(shot, i), total(before, i), span).text, total(shot, i));
    }
    view_line(v, "%s", text);
    view_line(v, "%s", "");
}

static short_text doing_of(const top_worker *worker)
{
    short_text out;
    uint32_t low = (uint32_t)worker->doing;
    if (worker->doing >> 32 == 1)
        (void)snprintf(out.text, sizeof out.text, "%" PRIu32, low);
    else
        (void)snprintf(out.text, sizeof out.text, "%s", axo_event_name(low));
    return out;
}

static void workers(view *v, const top_shot *shot, const view_how *how)
{
    view_line(v, "%-12s %7s %6s %-28s %-12s %-11s %8s  %s", "WORKER", "THREAD", "STATE", "ACTOR",
              "CLASS", "MESSAGE", "FOR", "SENDER");
    for (uint32_t i = 0; i < shot->worker_count; i++) {
        const top_worker *worker = &shot->workers[i];
        char path[256];
        char sender[256];
        const top_actor *actor = top_find(shot, worker->actor);
        int64_t since = shot->now - worker->since;
        if (worker->index == 0 || worker->thread == 0)
            continue;
        const char *name = worker->name[0] != 0 ? worker->name : "host";
        if (worker->doing == 0) {
            view_line(v, "%-12s %7" PRIu64 " %6s", name, worker->thread, "-");
            continue;
        }
        bool blocks = strncmp(name, "axo/blk", 7) == 0; /* that is what its thread is for */
        bool hung = since >= how->hung_ns && !blocks;
        v->hung += hung;
        view_line(v, "%-12s %7" PRIu64 " %6s %-28s %-12s %-11s %8s  %s%s", name, worker->thread,
                  hung     ? "HUNG"
                  : blocks ? "blocks"
                           : "runs",
                  path_of(shot, worker->actor, path, sizeof path), actor != NULL ? actor->cls : "?",
                  doing_of(worker).text, duration(since).text,
                  path_of(shot, worker->sender, sender, sizeof sender),
                  worker->torn ? " (torn)" : "");
    }
    view_line(v, "%s", "");
}

/* ---- actors ---- */

typedef struct row {
    const top_actor *actor;
    uint64_t key;
    uint64_t moved; /* messages since the earlier copy */
    char path[256];
} row;

/* A slash comes before all else: what is below an actor follows it, before its neighbours. */
static int by_path(const void *a, const void *b)
{
    const char *x = ((const row *)a)->path;
    const char *y = ((const row *)b)->path;
    for (; *x != 0 && *x == *y; x++)
        y++;
    if (*x == '/' || *y == '/')
        return *x == 0 || *y == 0 ? (*x != 0) - (*y != 0) : (*y == '/') - (*x == '/');
    return *x - *y;
}

static int by_key(const void *a, const void *b)
{
    uint64_t x = ((const row *)a)->key;
    uint64_t y = ((const row *)b)->key;
    return x != y ? (x < y ? 1 : -1) : by_path(a, b);
}

static uint64_t key_of(const row *r, view_sort sort)
{
    switch (sort) {
    case VIEW_TREE:
    case VIEW_QUEUED:
        return 0;
    case VIEW_RATE:
        return r->moved;
    case VIEW_HANDLED:
        return r->actor->handled;
    case VIEW_FAILURES:
        return r->actor->failures;
    case VIEW_RESTARTS:
        return restarts_of(r->actor);
    }
    return 0;
}

static bool actors(view *v, const top_board *board, const top_shot *before, const top_shot *shot,
                   const view_how *how)
{
    uint32_t count = 0;
    row *rows = calloc(shot->actor_count, sizeof *rows);
    if (rows == NULL)
        return false;
    for (uint32_t i = 0; i < shot->actor_count; i++) {
        const top_actor *actor = &shot->actors[i];
        if (actor->ref == 0 || (actor->state == AXO_BOARD_TERMINATED && !how->gone))
            continue;
        row *r = &rows[count++];
        const top_actor *was = before != NULL ? top_find(before, actor->ref) : NULL;
        uint64_t handled = was != NULL ? was->handled : 0;
        r->actor = actor;
        r->moved = actor->handled >= handled ? actor->handled - handled : 0;
        (void)snprintf(r->path, sizeof r->path, "%s",
                       path_of(shot, actor->ref, (char[256]){0}, 256));
        r->key = key_of(r, how->sort);
    }
    qsort(rows, count, sizeof *rows, how->sort == VIEW_TREE ? by_path : by_key);
    int64_t span = shot->now - (before != NULL ? before->now : board->started);
    view_line(v, "%-36s %-12s %-8s %8s %10s %8s %8s  %s", "ACTOR", "CLASS", "STATE", "RATE",
              "HANDLED", "FAILURES", "RESTARTS", "LAST FAILURE");
    for (uint32_t i = 0; i < count && i < how->actors; i++) {
        const top_actor *actor = rows[i].actor;
        char failed[32] = "-";
        if (actor->failures > 0)
            (void)snprintf(failed, sizeof failed, "code %" PRId32,
                           (int32_t)(uint32_t)actor->failed);
        view_line(v, "%-36s %-12s %-8s %8s %10" PRIu64 " %8" PRIu64 " %8" PRIu64 "  %s",
                  rows[i].path, actor->cls, state_of(actor), rate(rows[i].moved, 0, span).text,
                  actor->handled, actor->failures, restarts_of(actor), failed);
    }
    if (count > how->actors)
        view_line(v, "... and %" PRIu32 " more", count - how->actors);
    view_line(v, "%s", "");
    free(rows);
    return true;
}

static void events(view *v, const top_shot *shot, const view_how *how)
{
    uint32_t first = shot->event_count > how->events ? shot->event_count - how->events : 0;
    view_line(v, "%-10s %-14s %-36s %s", "AGO", "EVENT", "ACTOR", "ARGUMENT");
    for (uint32_t i = first; i < shot->event_count; i++) {
        const top_event *e = &shot->events[i];
        char path[256];
        char arg[280] = "";
        if (e->kind == AXO_EV_SPAWN)
            (void)snprintf(arg, sizeof arg, "by %s", path_of(shot, e->arg, (char[256]){0}, 256));
        else if (e->kind == AXO_EV_FAIL)
            (void)snprintf(arg, sizeof arg, "code %" PRId32, (int32_t)(uint32_t)e->arg);
        else if (e->kind == AXO_EV_STARTED)
            (void)snprintf(arg, sizeof arg, "instance %" PRIu64, e->instance);
        view_line(v, "%-10s %-14s %-36s %s", duration(shot->now - e->time).text,
                  axo_event_name(e->kind), path_of(shot, e->actor, path, sizeof path), arg);
    }
    if (shot->lost > 0)
        view_line(v, "%" PRIu64 " events were lost", shot->lost);
}

bool view_make(view *v, const top_board *board, const top_shot *before, const top_shot *shot,
               const view_how *how)
{
    v->count = 0;
    v->hung = 0;
    head(v, board, before, shot);
    workers(v, shot, how);
    if (!actors(v, board, before, shot, how))
        return false;
    events(v, shot, how);
    return v->lines != NULL;
}

void view_free(view *v)
{
    free(v->lines);
    memset(v, 0, sizeof *v);
}
