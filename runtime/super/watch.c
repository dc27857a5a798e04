/* watch.c - death watch, both ends, and every race of them.
 *
 * A record is made by axo_watch and carries all that will ever be needed: two system messages and
 * the notice, so that an end takes no memory. It makes one round trip: the request goes to the
 * target, which keeps it in `watchers`, and RETURN brings it back when the target has terminated.
 * Then the notice in it is queued as a user message (DW-11). An unwatch before that sends UNWATCH
 * after it; `users` counts the trips under way, and the last one frees.
 *
 * Fields: target writes `linked`, `next_watcher`, `before_watcher`; watcher the rest.
 *
 * Orders
 *   [H1] add acq_rel, users   the last trip sees what the others did
 */
#include "super/watch.h"

#include "sched/ready.h"

#include <stddef.h>
#include <string.h>

struct axo__watch {
    axo__message notice;     /* first: a notice leads to its record */
    axo_terminated payload;  /* the notice's */
    axo__stack_node request; /* WATCH, then RETURN */
    axo__stack_node cancel;  /* UNWATCH */
    axo_ref watcher;
    axo_ref target;
    axo__a32 users;
    uint8_t cancelled;       /* not wanted any more; not in `watching` */
    uint8_t queued;          /* the notice is in the user lane */
    uint8_t linked;          /* in the target's list */
    uint8_t waits;           /* back, until the watcher has forgotten its child */
    uint8_t late;            /* came to a closed lane; who answers writes it before the answer */
    axo__watch *next_watching;
    axo__watch *before_watching;
    axo__watch *next_watcher;
    axo__watch *before_watcher;
    size_t own_size;
    _Alignas(max_align_t) unsigned char own[]; /* payload of a message in the notice's place */
};

static axo__watch *watch_of_notice(axo__message *message)
{
    return (axo__watch *)(void *)message;
}

static axo__watch *watch_of_node(axo__stack_node *node, axo__sys_kind kind)
{
    size_t at = kind == AXO__SYS_UNWATCH ? offsetof(axo__watch, cancel)
                                         : offsetof(axo__watch, request);
    return (axo__watch *)(void *)((char *)node - at);
}

static void watch_drop(axo__local *local, axo__watch *watch)
{
    uint32_t users = axo__a32_add_acq_rel(&watch->users, UINT32_MAX); /* [H1] */
    AXO_DEBUG_ASSERT(users == 1 || users == 2);
    if (users == 1)
        axo__pool_free(&local->cache, watch, sizeof *watch + watch->own_size);
}

static void watch_keep(axo__cell *cell, axo__watch *watch)
{
    AXO_DEBUG_ASSERT(axo__state_is_running(&cell->state));
    watch->cancelled = 0;
    watch->before_watching = NULL;
    axo__extra *extra = axo__cell_extra(cell);
    watch->next_watching = extra->watching;
    if (extra->watching != NULL)
        extra->watching->before_watching = watch;
    extra->watching = watch;
}

static void watch_forget(axo__cell *cell, axo__watch *watch)
{
    AXO_DEBUG_ASSERT(!watch->cancelled);
    AXO_DEBUG_ASSERT(watch->before_watching != NULL || axo__cell_extra(cell)->watching == watch);
    if (watch->before_watching != NULL)
        watch->before_watching->next_watching = watch->next_watching;
    else
        axo__cell_extra(cell)->watching = watch->next_watching;
    if (watch->next_watching != NULL)
        watch->next_watching->before_watching = watch->before_watching;
    watch->cancelled = 1;
}

static axo__watch *watch_first(const axo__cell *cell)
{
    const axo__extra *extra = axo__cell_extra(cell);
    return extra != NULL ? extra->watching : NULL;
}

static axo__watch *watch_find(const axo__cell *cell, axo_ref ref)
{
    for (axo__watch *watch = watch_first(cell); watch != NULL; watch = watch->next_watching) {
        if (axo_ref_equal(watch->target, ref))
            return watch;
    }
    return NULL;
}

/* The target is gone: the notice goes into the watcher's own mailbox. */
static void watch_queue(axo__worker *worker, axo__cell *cell, axo__watch *watch)
{
    AXO_DEBUG_ASSERT(!watch->queued && !watch->cancelled && !watch->waits);
    watch->payload.existence_known =
        axo__table_knows(&worker->local.core->table, watch->target) ? 1 : 0;
    watch->queued = 1;
    axo__a64_bump_owner(&worker->local.count.notices);
    (void)axo__cell_accept(cell, &watch->notice); /* its runner is here */
    axo__trace(&worker->local, cell, AXO_EV_NOTICE, watch->target.bits);
}

/* DW-13: a parent is told of a child when it has forgotten it. */
static void watch_home(axo__worker *worker, axo__cell *cell, axo__watch *watch, bool may_wait)
{
    axo__cell *child = may_wait ? axo__cell_find_child(cell, watch->target) : NULL;
    if (child == NULL) {
        watch_queue(worker, cell, watch);
        return;
    }
    axo__cell_cold(child)->told_late = 1;
    watch->waits = 1;
}

void axo__watch_told_late(axo__worker *worker, axo__cell *cell, axo_ref child)
{
    axo__watch *watch = watch_find(cell, child);
    if (watch == NULL)
        return; /* unwatched meanwhile */
    AXO_DEBUG_ASSERT(watch->waits && !watch->queued);
    watch->waits = 0;
    watch_queue(worker, cell, watch);
}

/* DW-15: another message for the same target is refused. */
static bool watch_says(const axo__watch *watch, const axo_message *own)
{
    const axo_message *said = &watch->notice.pub;
    if (own == NULL || said->tag == AXO_TERMINATED)
        return own == NULL && said->tag == AXO_TERMINATED;
    return said->tag == own->tag && said->size == own->size &&
           (own->size == 0 || memcmp(said->payload, own->payload, own->size) == 0);
}

static void watch_word(axo__watch *watch, axo_ref ref, const axo_message *own)
{
    watch->payload.actor = ref;
    watch->notice.flags = AXO__MESSAGE_NOTICE;
    if (own == NULL) {
        watch->notice.pub = (axo_message){.tag = AXO_TERMINATED,
                                          .size = sizeof(axo_terminated),
                                          .sender = ref,
                                          .payload = &watch->payload};
        return;
    }
    watch->notice.pub = (axo_message){.tag = own->tag, .size = own->size, .sender = ref};
    if (own->size > 0) {
        memcpy(watch->own, own->payload, own->size);
        watch->notice.pub.payload = watch->own;
    }
}

axo_status axo__watch_add(axo__worker *worker, axo__cell *cell, axo_ref ref,
                          const axo_message *own)
{
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, cell));
    const axo__watch *known = watch_find(cell, ref);
    size_t own_size = own != NULL ? own->size : 0;
    if (axo_ref_equal(axo__cell_ref(cell), ref))
        return AXO_OK; /* DW-09 */
    if (known != NULL)
        return watch_says(known, own) ? AXO_OK : AXO_EINVAL; /* DW-07, DW-08 */
    if (cell->phase >= AXO__PHASE_TERMINATING)
        return AXO_OK; /* DW-14: it would hear nothing */
    axo__cell *target = axo__table_find(&worker->local.core->table, ref);
    if (axo__extra_take(&worker->local, cell) == NULL ||
        (target != NULL && axo__extra_take(&worker->local, target) == NULL))
        return AXO_ENOMEM;
    axo__watch *watch = axo__pool_alloc(&worker->local.cache, sizeof *watch + own_size);
    if (watch == NULL)
        return AXO_ENOMEM;
    memset((void *)watch, 0, sizeof *watch);
    watch->own_size = own_size;
    watch_word(watch, ref, own);
    watch->watcher = axo__cell_ref(cell);
    watch->target = ref;
    axo__a32_store_relaxed(&watch->users, 1);
    watch_keep(cell, watch);
    axo__trace(&worker->local, cell, AXO_EV_WATCH, ref.bits);
    if (target == NULL) {
        watch_home(worker, cell, watch, true); /* DW-02, DW-10 */
        return AXO_OK;
    }
    axo__stack_push_any(&target->system, &watch->request, AXO__SYS_WATCH);
    axo__sched_announce_system(worker, target);
    if (axo__unlikely((axo__state_look(&target->state) & AXO__CLOSED) != 0))
        worker->sched->ops->drain(&worker->local, target); /* its last look is over */
    return AXO_OK;
}

static void watch_cancel(axo__worker *worker, axo__cell *cell, axo__watch *watch)
{
    watch_forget(cell, watch);
    if (watch->queued)
        return; /* swallowed when it comes up (DW-05) */
    if (watch->waits) {
        watch_drop(&worker->local, watch);
        return;
    }
    axo__cell *target = axo__table_find(&worker->local.core->table, watch->target);
    if (target == NULL)
        return; /* it is on its way back */
    (void)axo__a32_add_acq_rel(&watch->users, 1); /* [H1] */
    axo__stack_push_any(&target->system, &watch->cancel, AXO__SYS_UNWATCH);
    axo__sched_announce_system(worker, target);
}

void axo__watch_remove(axo__worker *worker, axo__cell *cell, axo_ref ref)
{
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, cell));
    axo__watch *watch = watch_find(cell, ref);
    if (watch == NULL)
        return;
    axo__trace(&worker->local, cell, AXO_EV_UNWATCH, ref.bits);
    do { /* a stashed notice and a later watch may be two */
        watch_cancel(worker, cell, watch);
        watch = watch_find(cell, ref);
    } while (watch != NULL);
}

/* While the cell can still be found: a target that does not find it frees the record. */
bool axo__watch_drop(axo__worker *worker, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, cell));
    axo__watch *watch;
    for (uint32_t left = AXO__PORTION; (watch = watch_first(cell)) != NULL; left--) {
        if (axo__unlikely(left == 0)) {
            cell->attention |= AXO__ATTENTION_REST;
            return false;
        }
        watch_cancel(worker, cell, watch);
    }
    return true;
}

/* ---- the target's side ---- */

static void watch_link(axo__cell *cell, axo__watch *watch)
{
    AXO_DEBUG_ASSERT(!watch->linked);
    watch->linked = 1;
    watch->before_watcher = NULL;
    axo__extra *extra = axo__cell_extra(cell); /* the watcher has seen to it */
    watch->next_watcher = extra->watchers;
    if (extra->watchers != NULL)
        extra->watchers->before_watcher = watch;
    extra->watchers = watch;
}

static void watch_unlink(axo__cell *cell, axo__watch *watch)
{
    AXO_DEBUG_ASSERT(watch->linked);
    AXO_DEBUG_ASSERT(watch->before_watcher != NULL || axo__cell_extra(cell)->watchers == watch);
    if (watch->before_watcher != NULL)
        watch->before_watcher->next_watcher = watch->next_watcher;
    else
        axo__cell_extra(cell)->watchers = watch->next_watcher;
    if (watch->next_watcher != NULL)
        watch->next_watcher->before_watcher = watch->before_watcher;
    watch->linked = 0;
}

/* Sends the record home; a watcher that is gone too has no use for it. */
static void watch_return(axo__worker *worker, axo__local *local, axo__watch *watch)
{
    AXO_DEBUG_ASSERT(!watch->linked);
    axo__cell *watcher = axo__table_find(&local->core->table, watch->watcher);
    if (watcher == NULL) {
        watch_drop(local, watch);
        return;
    }
    axo__stack_push_any(&watcher->system, &watch->request, AXO__SYS_RETURN);
    axo__sched_announce_system(worker, watcher);
}

bool axo__watch_tell(axo__worker *worker, axo__cell *cell, uint32_t *budget)
{
    AXO_DEBUG_ASSERT(cell->phase == AXO__PHASE_GONE);
    axo__extra *extra = axo__cell_extra(cell);
    const axo__cell *parent = axo__cell_parent(cell);
    for (; extra != NULL && extra->watchers != NULL && *budget > 0; (*budget)--) {
        axo__watch *watch = extra->watchers;
        watch_unlink(cell, watch);
        if (parent != NULL && axo_ref_equal(watch->watcher, axo__cell_ref(parent))) {
            watch->next_watcher = extra->above;
            extra->above = watch;
            continue;
        }
        watch_return(worker, &worker->local, watch); /* DW-01 */
    }
    return extra == NULL || extra->watchers == NULL;
}

void axo__watch_tell_parent(axo__worker *worker, axo__watch *above)
{
    while (above != NULL) {
        axo__watch *watch = above;
        above = watch->next_watcher;
        watch_return(worker, &worker->local, watch);
    }
}

void axo__watch_take(axo__worker *worker, axo__cell *cell, axo__stack_node *node,
                     axo__sys_kind kind)
{
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, cell));
    axo__watch *watch = watch_of_node(node, kind);
    if (kind == AXO__SYS_WATCH) {
        watch_link(cell, watch);
    } else if (kind == AXO__SYS_UNWATCH) {
        if (watch->linked) {
            watch_unlink(cell, watch);
            watch_drop(&worker->local, watch);
        }
        watch_drop(&worker->local, watch);
    } else if (watch->cancelled) {
        watch_drop(&worker->local, watch);
    } else {
        const axo__family *family = axo__cell_family(cell);
        watch_home(worker, cell, watch, watch->late || (family != NULL && family->kept > 0));
    }
}

/* The lane of one that is gone: every WATCH is answered (DW-18). */
void axo__watch_answer(axo__local *local, axo__cell *cell, axo__stack_node *node,
                       axo__sys_kind kind)
{
    AXO_DEBUG_ASSERT(axo__a32_peek_owner(&cell->generation) == 0);
    axo__watch *watch = watch_of_node(node, kind);
    axo__worker *worker = axo__self;
    if (kind == AXO__SYS_WATCH) {
        watch->late = 1;
        watch_return(worker, local, watch);
        return;
    }
    if (kind == AXO__SYS_RETURN && !watch->cancelled)
        watch_forget(cell, watch);
    watch_drop(local, watch);
}

/* ---- notices ---- */

/* From here on the handler may watch anew (DW-08). */
bool axo__watch_notice(axo__worker *worker, axo__cell *cell, axo__message *message)
{
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, cell));
    AXO_DEBUG_ASSERT((message->flags & AXO__MESSAGE_NOTICE) != 0);
    axo__watch *watch = watch_of_notice(message);
    if (watch->cancelled) {
        watch_drop(&worker->local, watch);
        return false;
    }
    watch_forget(cell, watch);
    return true;
}

/* It is still `queued`. */
void axo__watch_notice_keep(axo__cell *cell, axo__message *message)
{
    watch_keep(cell, watch_of_notice(message));
}

void axo__watch_notice_free(axo__local *local, axo__message *message)
{
    AXO_DEBUG_ASSERT((message->flags & AXO__MESSAGE_NOTICE) != 0);
    watch_drop(local, watch_of_notice(message));
}

void axo__watch_notice_void(axo__local *local, axo__cell *cell, axo__message *message)
{
    axo__watch *watch = watch_of_notice(message);
    if (!watch->cancelled)
        watch_forget(cell, watch);
    watch_drop(local, watch);
}
