/* visit.c - the door for who looks at all that there is: axo_system_visit. No gate is held while
 * the program's function runs. */
#include <axo/axo.h>

#include <string.h>

#include "base/aside.h"
#include "base/border.h"
#include "sched/keyed_timer.h"
#include "system/system.h"
#include "system/tree.h"

typedef struct visit {
    axo_system *system;
    axo_visit_fn fn;
    void *user;
    int64_t now;
    axo_ref actor;      /* whose things are shown */
    axo__message **all; /* of one mailbox, in order */
    size_t count;
    size_t room;
} visit;

static void visit_show(const visit *v, const axo_visited *it)
{
    axo__aside++;
    AXO_BORDER();
    v->fn(v->user, it);
    axo__aside--;
}

/* ---- messages ---- */

static bool visit_room(visit *v, size_t room)
{
    axo__heap *heap = &v->system->core.heap;
    if (room <= v->room)
        return true;
    size_t fresh = v->room < 64 ? 64 : 2 * v->room;
    fresh = fresh < room ? room : fresh;
    axo__message **all = axo__heap_alloc(heap, fresh * sizeof(axo__message *), AXO__CACHE_LINE,
                                         AXO__SITE_SERVICES);
    if (all == NULL)
        return false;
    if (v->count > 0)
        memcpy(all, v->all, v->count * sizeof(axo__message *));
    axo__heap_free(heap, v->all, v->room * sizeof(axo__message *), AXO__CACHE_LINE,
                   AXO__SITE_SERVICES);
    v->all = all;
    v->room = fresh;
    return true;
}

/* false: no memory. */
static bool visit_add(visit *v, axo__message *message)
{
    for (; message != NULL; message = axo__message_next(message)) {
        if (!visit_room(v, v->count + 1))
            return false;
        v->all[v->count++] = message;
    }
    return true;
}

/* The same of a list that has the newest first. */
static bool visit_add_newest_first(visit *v, axo__message *newest)
{
    size_t first = v->count;
    if (!visit_add(v, newest))
        return false;
    for (size_t last = v->count; first + 1 < last; first++) {
        axo__message *message = v->all[first];
        v->all[first] = v->all[--last];
        v->all[last] = message;
    }
    return true;
}

static bool visit_add_bounded(visit *v, axo__bounded_mailbox *bounded)
{
    size_t all = axo__bounded_count(bounded); /* and as many as are held */
    while (visit_room(v, v->count + all)) {
        size_t room = v->room - v->count;
        all = axo__bounded_list_any(bounded, v->all + v->count, room);
        if (all <= room) {
            v->count += all;
            return true;
        }
    }
    return false;
}

/* In the order of handling: system/inspect.c. */
static bool visit_gather(visit *v, const axo__cell *cell)
{
    const axo__extra *extra = axo__cell_extra(cell);
    v->count = 0;
    if (extra != NULL && !visit_add(v, extra->front.first))
        return false;
    if (cell->bounded)
        return visit_add_bounded(v, axo__cell_bounded(cell));
    axo__mpsc_node *lane = axo__state_lane(axo__state_look(&cell->state));
    return visit_add_newest_first(v, cell->inbox.rest) && visit_add(v, cell->inbox.first) &&
           visit_add_newest_first(v, (axo__message *)(void *)lane);
}

/* Whether the actor would handle it, and it is not the runtime's own. */
static bool visit_counts(const axo__cell *cell, const axo__message *message)
{
    const uint32_t own = AXO__MESSAGE_NOTICE | AXO__MESSAGE_SIGNAL;
    return (message->flags & own) == 0 && !axo__keyed_timer_is_stale(cell, message) &&
           axo__message_is_for(message, axo__cell_instance(cell));
}

static void visit_show_messages(const visit *v, const axo__cell *cell, uint32_t kind)
{
    for (size_t i = 0; i < v->count; i++) {
        axo_visited it = {.kind = kind, .actor = v->actor, .message = &v->all[i]->pub};
        if (visit_counts(cell, v->all[i]))
            visit_show(v, &it);
    }
}

static bool visit_messages(visit *v, const axo__cell *cell)
{
    const axo__extra *extra = axo__cell_extra(cell);
    if (!visit_gather(v, cell))
        return false;
    visit_show_messages(v, cell, AXO_VISITED_MESSAGE);
    v->count = 0;
    if (extra != NULL && !visit_add(v, extra->stash.first))
        return false;
    visit_show_messages(v, cell, AXO_VISITED_STASHED);
    return true;
}

/* ---- timers ---- */

static void visit_show_scheduled(const visit *v, axo_visited *it,
                                 const axo__scheduled_info *info)
{
    it->message = &info->message->pub;
    it->timer_kind = info->kind;
    it->period_ns = info->kind != AXO_TIMER_ONCE ? info->period : 0;
    if (info->still)
        it->left_ns = info->due;
    else
        it->left_ns = info->due > v->now ? (int64_t)((uint64_t)info->due - (uint64_t)v->now) : 0;
    if (it->left_ns < 0)
        it->left_ns = INT64_MAX; /* a program's clock may be below 0 */
    visit_show(v, it);
}

/* A visit of axo__keyed_timer_each. One that is being fired has become a message. */
static void visit_timer(void *arg, uint64_t key, axo_timer timer)
{
    const visit *v = arg;
    axo_visited it = {.kind = AXO_VISITED_TIMER, .actor = v->actor, .key = key};
    axo__scheduled_info info;
    if (axo__scheduled_look(&v->system->core, timer, &info))
        visit_show_scheduled(v, &it, &info);
}

/* What is scheduled for whomever, but the timers of instances. */
static void visit_scheduled(const visit *v)
{
    const axo__sched *sched = &v->system->sched;
    for (uint32_t i = 0; i < sched->worker_count; i++) {
        axo__scheduled_info info;
        uint32_t at = 0;
        while (axo__scheduled_next(sched->workers[i].timers, &at, &info)) {
            axo_visited it = {.kind = AXO_VISITED_SCHEDULED, .actor = info.to};
            if ((info.message->flags & AXO__MESSAGE_TICK) == 0)
                visit_show_scheduled(v, &it, &info);
        }
    }
}

/* ---- actors ---- */

/* An axo__tree_fn. */
static axo_status visit_actor(void *arg, axo__cell *cell)
{
    visit *v = arg;
    const axo_class *cls = axo__cell_class(cell);
    const axo__cell *parent = axo__cell_parent(cell);
    bool there = cell->constructed != 0;
    if (cell->guardian)
        return AXO_OK;
    axo_visited it = {
        .kind = AXO_VISITED_ACTOR,
        .instance = axo__cell_instance(cell),
        .actor = axo__cell_ref(cell),
        .parent = parent == NULL || parent->guardian ? axo_ref_none() : axo__cell_ref(parent),
        .cls = cls,
        .state = there ? cell->state_block : NULL,
        .state_size = there ? cls->state_size : 0,
        .suspends = axo__state_suspends(&cell->state),
        .timeout_ns = axo__keyed_timer_timeout(cell),
    };
    v->actor = it.actor;
    visit_show(v, &it);
    if (!visit_messages(v, cell))
        return AXO_ENOMEM;
    axo__keyed_timer_each(cell, visit_timer, v);
    return AXO_OK;
}

axo_status axo_system_visit(axo_system *system, axo_visit_fn fn, void *user)
{
    axo_status known = axo__system_check(system);
    if (known != AXO_OK || fn == NULL)
        return known != AXO_OK ? known : AXO_EINVAL;
    if (axo__self != NULL || axo__away != NULL || axo__aside != 0)
        return AXO_ECONTEXT;
    const axo__cell *top = system->cells[AXO_GUARDIAN_USER];
    if ((axo__state_look(&top->state) & (AXO__CLOSED | AXO__TERMINATING)) != 0)
        return AXO_ESTOPPING;
    visit v = {.system = system, .fn = fn, .user = user, .now = axo__core_now(&system->core)};
    axo_status status = axo__tree_walk(system, axo__cell_ref(top), visit_actor, &v);
    if (status == AXO_OK)
        visit_scheduled(&v);
    axo__heap_free(&system->core.heap, v.all, v.room * sizeof(axo__message *), AXO__CACHE_LINE,
                   AXO__SITE_SERVICES);
    return status == AXO_EGONE ? AXO_ESTOPPING : status;
}
