/* core.c - what all layers above share of one system.
 *
 * A local takes cells from the table and gives them back a batch at a time, so the table's mutex
 * is taken once for many births and ends. */
#include "cell/core.h"

#include <stdio.h>
#include <string.h>

#include "base/aside.h"
#include "base/border.h"
#include "cell/extra.h"

_Static_assert(AXO_EVENT_KINDS < 64, "a bit for each kind of event");

/* The observer is the program's function: it runs behind a border, and an outside thread is not
 * cancelled inside it. Workers are never cancelled, so they skip the two calls. */
void axo__core_tell(const axo__core *core, const axo_event *event)
{
    bool outside = event->worker == AXO__NO_WORKER;
    int before = outside ? axo__os_cancel_hold() : 0;
    axo__aside++;
    AXO_BORDER();
    core->trace(core->trace_user, event);
    axo__aside--;
    axo__core_back(core);
    if (outside)
        axo__os_cancel_let(before);
}

int64_t axo__core_clock(const axo__core *core)
{
    int before = axo__os_cancel_hold();
    axo__aside++;
    AXO_BORDER();
    int64_t now = core->clock(core->clock_user);
    axo__aside--;
    axo__core_back(core);
    axo__os_cancel_let(before);
    return now;
}

void axo__core_ask(const axo__core *core)
{
    if (core->on_work == NULL)
        return;
    int before = axo__os_cancel_hold();
    axo__aside++;
    AXO_BORDER();
    core->on_work(core->work_user, 1);
    axo__aside--;
    axo__core_back(core);
    axo__os_cancel_let(before);
}

void axo__local_trace(const axo__local *local, const axo__cell *cell, uint32_t kind, uint64_t arg)
{
    axo__local_trace_under(local, cell, kind, arg, NULL);
}

void axo__local_trace_under(const axo__local *local, const axo__cell *cell, uint32_t kind,
                            uint64_t arg, const axo_trace_context *trace)
{
    axo__core *core = local->core;
    AXO_DEBUG_ASSERT(kind < AXO_EVENT_KINDS);
    if (core->board != NULL)
        core->board_tell(local, cell, kind, arg);
    if (core->figures != NULL)
        core->figures_tell(local, cell, kind);
    if ((axo__a64_load_relaxed(&core->told_kinds) & AXO_EVENT_BIT(kind)) == 0)
        return;
    axo_event event = {
        .time_ns = axo__core_now(core),
        .actor = axo__cell_ref(cell),
        .arg = arg,
        .kind = kind,
        .worker = local->index,
        .instance = axo__cell_instance(cell),
        .suspends = axo__state_suspends(&cell->state),
        .trace = trace != NULL ? trace : axo__local_span(local),
        .cls = axo__cell_class(cell),
    };
    axo__core_tell(core, &event);
}

/* Refills an empty local: first with cells that it has freed itself, then from the table. A local
 * with a pool of its own keeps one cell and returns the rest, for there may be thousands of such
 * locals. Each refill asks axo__limit_look whether births must be counted one by one from here
 * on. */
static __attribute__((noinline)) axo__cell *local_take_more(axo__local *local, axo_status *status)
{
    axo__core *core = local->core;
    axo__cell *first = local->freed;
    local->freed = NULL;
    local->freed_count = 0;
    if (first == NULL)
        first = axo__table_take(&core->table, axo__local_home(local), status);
    if (first == NULL) {
        axo__grace_hurry(&core->grace);
        return NULL;
    }
    if (first->free_next != NULL && local->batch <= 1) {
        axo__table_give(&core->table, axo__local_home(local), first->free_next);
        first->free_next = NULL;
    }
    local->free = first;
    axo__limit_look(&core->limit, axo__a32_load_relaxed(&core->table.slots));
    return first;
}

/* Near the limit: asks whether this birth, which the local has counted, is one too many. */
static __attribute__((noinline)) axo__cell *local_admit(axo__local *local, axo__cell *cell,
                                                        axo_status *status)
{
    if (axo__limit_admits(&local->core->limit, &local->count.spawned))
        return cell;
    cell->free_next = local->free;
    local->free = cell;
    *status = AXO_ELIMIT;
    return NULL;
}

/* The birth is counted before `tight` is read, so that a sum made after `tight` has gone up
 * includes it (limit.h, Races). */
axo__cell *axo__local_take_cell(axo__local *local, axo_status *status)
{
    axo__cell *cell = axo__local_take_plain(local);
    *status = AXO_OK;
    if (axo__likely(cell != NULL))
        return cell;
    cell = local->free;
    if (cell == NULL)
        cell = local_take_more(local, status);
    if (axo__unlikely(cell == NULL))
        return NULL;
    AXO_DEBUG_ASSERT(!axo__cell_lives_owner(cell));
    local->free = cell->free_next;
    axo__a64_bump_owner(&local->count.spawned); /* before the look: cell/limit.h */
    if (axo__unlikely(axo__limit_is_tight(&local->core->limit)))
        return local_admit(local, cell, status);
    return cell;
}

void axo__local_untake_cell(axo__local *local, axo__cell *cell)
{
    axo__a64 *spawned = &local->count.spawned;
    AXO_DEBUG_ASSERT(axo__a64_peek_owner(spawned) > 0);
    axo__a64_store_relaxed(spawned, axo__a64_load_relaxed(spawned) - 1);
    cell->free_next = local->free;
    local->free = cell;
}

static __attribute__((noinline)) void local_give_freed(axo__local *local)
{
    AXO_DEBUG_ASSERT(local->freed != NULL && local->freed_count > 0);
    axo__table_give(&local->core->table, axo__local_home(local), local->freed);
    local->freed = NULL;
    local->freed_count = 0;
}

/* A cell whose slot has lived its last generation is not reused, so that no old reference can ever
 * lead to a later actor. */
void axo__local_give_cell(axo__local *local, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(!axo__cell_lives_owner(cell));
    AXO_DEBUG_ASSERT(axo__aptr_peek_owner(&cell->extra) == NULL);
    axo__a64_bump_owner(&local->count.freed);
    if (axo__table_is_spent(&local->core->table, cell))
        return; /* spent: retired for good */
    cell->free_next = local->freed;
    local->freed = cell;
    if (++local->freed_count >= local->batch)
        local_give_freed(local);
}

/* Links the cell into the local's list without a lock. The grace period begins when the list is
 * handed over, so waiting for a longer list only makes it longer. */
void axo__local_retire(axo__local *local, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(!axo__cell_lives_owner(cell));
    AXO_DEBUG_ASSERT((axo__a64_peek_owner(&cell->state.word) & AXO__CLOSED) != 0);
    cell->retired.next = local->retired;
    local->retired = &cell->retired;
    if (local->retired_last == NULL)
        local->retired_last = &cell->retired;
    local->retired_count++;
}

/* The mutex orders the look against unhold: a look that comes later sees that the node has gone, an
 * earlier one holds what unhold finds. */
bool axo__core_hold(axo__core *core, axo__cell *cell)
{
    axo__os_mutex_lock(&core->expired_mutex);
    bool queued = axo__state_has_node(&cell->state);
    if (queued) {
        cell->retired.next = core->held;
        core->held = &cell->retired;
    }
    axo__os_mutex_unlock(&core->expired_mutex);
    return queued;
}

bool axo__core_unhold(axo__core *core)
{
    axo__os_mutex_lock(&core->expired_mutex);
    bool any = core->held != NULL;
    while (core->held != NULL) {
        axo__grace_item *item = core->held;
        core->held = item->next;
        item->next = core->expired[0];
        core->expired[0] = item;
    }
    if (any)
        axo__a32_store_relaxed(&core->expired_any, axo__a32_load_relaxed(&core->expired_any) | 1);
    axo__os_mutex_unlock(&core->expired_mutex);
    return any;
}

void axo__local_hand_over(axo__local *local)
{
    if (local->retired == NULL)
        return;
    AXO_DEBUG_ASSERT(local->retired_last != NULL && local->retired_last->next == NULL);
    AXO_DEBUG_ASSERT(local->retired_count > 0);
    axo__grace_retire(&local->core->grace, axo__local_home(local), local->retired,
                      local->retired_last);
    local->retired = NULL;
    local->retired_last = NULL;
    local->retired_count = 0;
}

void axo__local_flush(axo__local *local)
{
    if (local->freed != NULL)
        local_give_freed(local);
    axo__local_hand_over(local);
}

void axo__local_fini(axo__local *local)
{
    axo__local_flush(local);
    while (local->free != NULL) {
        axo__cell *cell = local->free;
        local->free = cell->free_next;
        cell->free_next = NULL;
        axo__table_give(&local->core->table, axo__local_home(local), cell);
    }
    axo__cache_flush(&local->cache);
}

/* Moves the text from `from` to the beginning of `out`. If the path was cut (`whole` is false) the
 * mark comes first, and the text begins at a whole segment if there is one. */
static bool core_path_done(char *out, size_t size, const char *from, bool whole)
{
    const char *end = out + size - 1;
    if (!whole) {
        size_t mark = sizeof AXO_PATH_CUT - 1 < size - 1 ? sizeof AXO_PATH_CUT - 1 : size - 1;
        from = memchr(out + mark, '/', size - 1 - mark);
        if (from == NULL)
            from = out + mark;
        memcpy(out, AXO_PATH_CUT, mark);
        out += mark;
    }
    memmove(out, from, (size_t)(end - from));
    out[end - from] = 0;
    return whole;
}

/* Puts a segment in front of the text that begins at *at; false: there was room for the segment's
 * end only. */
static bool core_path_put(const char *out, char **at, const char *text, size_t length)
{
    size_t room = (size_t)(*at - out);
    size_t put = length < room ? length : room;
    *at -= put;
    memcpy(*at, text + (length - put), put);
    return length <= room;
}

/* Written from the leaf upwards, from the end of the buffer to its front: so a path of any depth
 * needs neither memory nor a second walk. */
bool axo__core_path(axo__core *core, const axo__cell *cell, char *out, size_t size)
{
    char *at = out + size - 1;
    bool whole = true;
    (void)core;
    if (cell->parent == 0)
        whole = core_path_put(out, &at, "/", 1);
    while (whole && cell->parent != 0) {
        const axo__name *name = axo__cell_name(cell);
        char own[24];
        const char *text = name != NULL ? name->text : own;
        size_t length = name != NULL ? name->length : 0;
        if (name == NULL)
            length = (size_t)snprintf(own, sizeof own, AXO__ANONYMOUS, axo__cell_ref(cell).bits);
        whole = core_path_put(out, &at, text, length) && core_path_put(out, &at, "/", 1);
        cell = axo__cell_parent(cell);
        AXO_DEBUG_ASSERT(cell != NULL);
    }
    return core_path_done(out, size, at, whole);
}

bool axo__core_path_keep(const char *path, char *out, size_t size)
{
    char *at = out + size - 1;
    bool whole = core_path_put(out, &at, path, strlen(path));
    return core_path_done(out, size, at, whole);
}
