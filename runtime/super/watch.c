/* watch.c - death watch, both ends, and every race of them.
 *
 * axo_watch makes a record that carries all that will ever be needed: two system messages and the
 * notice. So an end takes no memory, however many watchers it has (D10). The record makes one round
 * trip: the request goes to the target, which keeps it in `watchers`, and RETURN brings it back
 * when the target has terminated. Then the watcher's runner queues the notice in the record as a
 * user message, behind all that the target has sent (DW-11). An unwatch before that sends UNWATCH
 * after the request; `users` counts the trips under way, and the last trip to end frees the record.
 *
 * Races
 *   Request and end: a request that meets a closed lane is answered like an end, by the target's
 *       last look, by the watcher's own look after its push, or by the drain after the grace
 *       period. Each of them detaches the lane atomically, so only one answers (DW-18).
 *   Unwatch and notice: both are steps of the watcher's runner, so there is no race: the runner
 *       swallows the notice of a cancelled record when it comes up (DW-05).
 *   Unwatch and end: UNWATCH may meet a record that is on its way back; each of the two trips
 *       drops one user.
 *   Return and the watcher's end: axo__watch_drop runs before axo__table_end, so a watcher that is
 *       not found any more has given the record up, and the returning side may drop it.
 *
 * Fields: the target's runner writes `linked`, `next_watcher`, `before_watcher`, what is behind a
 * `far` record, and what such a notice says; the watcher's runner writes the rest. A record in a
 * lane belongs to the runner that takes it.
 *
 * Orders
 *   [H1] add acq_rel, users   each trip releases its writes; the last one acquires those of the
 *                             other before it frees
 */
#include "super/watch.h"

#include "cell/peers.h"
#include "sched/ready.h"
#include "super/far.h"

#include <stddef.h>
#include <string.h>

struct axo__watch {
    axo__message notice;     /* first: a notice leads to its record */
    axo_terminated payload;  /* the notice's */
    axo__stack_node request; /* WATCH, then RETURN */
    axo__stack_node cancel;  /* UNWATCH */
    axo_ref watcher;
    axo__a32 users;
    uint8_t cancelled;       /* unwatched, or given to the handler; not in the tree */
    uint8_t queued;          /* the notice is in the user lane, or stashed */
    uint8_t linked;          /* in the target's `watchers` */
    uint8_t waits;           /* returned; the watcher has not forgotten its child yet */
    uint8_t late;            /* WATCH met a closed lane; written before RETURN is pushed */
    uint8_t far;             /* fixed: of an actor of another node; an axo__far is behind `own` */
    axo__way way;            /* its place in the watcher's tree, by the target's bits */
    axo__watch *next_watcher;
    axo__watch *before_watcher;
    size_t own_size;
    _Alignas(max_align_t) unsigned char own[]; /* payload of a message in the notice's place */
};

static axo__watch *watch_of_notice(axo__message *message)
{
    return (axo__watch *)(void *)message;
}

static axo__watch *watch_of_way(axo__way *way)
{
    return (axo__watch *)(void *)((char *)way - offsetof(axo__watch, way));
}

static axo_ref watch_target(const axo__watch *watch)
{
    return (axo_ref){.bits = watch->way.number};
}

static size_t watch_own_room(size_t own_size)
{
    return (own_size + _Alignof(max_align_t) - 1) & ~(_Alignof(max_align_t) - 1);
}

/* Bytes of a record. */
static size_t watch_size(size_t own_size, bool far)
{
    size_t own = far ? watch_own_room(own_size) + sizeof(axo__far) : own_size;
    return sizeof(axo__watch) + own;
}

static axo__far *watch_far(axo__watch *watch)
{
    AXO_DEBUG_ASSERT(watch->far);
    return (axo__far *)(void *)(watch->own + watch_own_room(watch->own_size));
}

static axo__watch *watch_of_node(axo__stack_node *node, axo__sys_kind kind)
{
    size_t at = kind == AXO__SYS_UNWATCH ? offsetof(axo__watch, cancel)
                                         : offsetof(axo__watch, request);
    return (axo__watch *)(void *)((char *)node - at);
}

/* Ends one trip. The decrement [H1] of the last user acquires what the other trip released with its
 * own decrement, so the block may be freed although two runners have used it. */
static void watch_drop(axo__local *local, axo__watch *watch)
{
    uint32_t users = axo__a32_add_acq_rel(&watch->users, UINT32_MAX); /* [H1] */
    AXO_DEBUG_ASSERT(users == 1 || users == 2);
    if (users == 1)
        axo__pool_free(&local->cache, watch, watch_size(watch->own_size, watch->far));
}

/* ---- what the watcher watches ---- */

/* The tree holds the watches that an unwatch can still reach. */
static axo__watch *watch_first(const axo__cell *cell)
{
    const axo__extra *extra = axo__cell_extra(cell);
    return extra != NULL && extra->watching != NULL ? watch_of_way(extra->watching) : NULL;
}

static axo__watch *watch_find(const axo__cell *cell, axo_ref ref)
{
    const axo__extra *extra = axo__cell_extra(cell);
    axo__way *way = extra != NULL ? axo__way_find(extra->watching, ref.bits) : NULL;
    return way != NULL ? watch_of_way(way) : NULL;
}

static void watch_keep(axo__cell *cell, axo__watch *watch)
{
    AXO_DEBUG_ASSERT(axo__state_is_running(&cell->state));
    watch->cancelled = 0;
    axo__way_add(&axo__cell_extra(cell)->watching, &watch->way);
}

/* Takes the record out of the watcher's tree and marks it, so that a notice in the mailbox is
 * swallowed. */
static void watch_forget(axo__cell *cell, axo__watch *watch)
{
    AXO_DEBUG_ASSERT(!watch->cancelled);
    axo__way_remove(&axo__cell_extra(cell)->watching, &watch->way);
    watch->cancelled = 1;
}

/* The target has terminated: the notice goes into the watcher's own mailbox, without a bound. The
 * target's messages came before its RETURN, so they are in front of the notice (DW-11). */
static void watch_queue(axo__worker *worker, axo__cell *cell, axo__watch *watch)
{
    AXO_DEBUG_ASSERT(!watch->queued && !watch->cancelled && !watch->waits);
    if (!watch->far) /* else its node says so */
        watch->payload.existence_known =
            axo__table_knows(&worker->local.core->table, watch_target(watch)) ? 1 : 0;
    watch->queued = 1;
    axo__a64_bump_owner(&worker->local.count.notices);
    (void)axo__cell_accept(cell, &watch->notice); /* no entry: the caller is the cell's runner */
    axo__trace(&worker->local, cell, AXO_EV_NOTICE, watch_target(watch).bits);
}

/* DW-13: a watching parent is told of a child's end after it has forgotten the child, so that the
 * child's name and place are free when the notice is handled. `may_wait` says whether the child may
 * still be in the list; the walk is skipped where it cannot be. */
static void watch_home(axo__worker *worker, axo__cell *cell, axo__watch *watch, bool may_wait)
{
    axo__cell *child = may_wait ? axo__cell_find_child(cell, watch_target(watch)) : NULL;
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

/* DW-15: watching the same target again with another message is refused. */
static bool watch_says(const axo__watch *watch, const axo_message *own)
{
    const axo_message *said = &watch->notice.pub;
    if (own == NULL || said->tag == AXO_TERMINATED)
        return own == NULL && said->tag == AXO_TERMINATED;
    return said->tag == own->tag && said->size == own->size &&
           (own->size == 0 || memcmp(said->payload, own->payload, own->size) == 0);
}

/* Writes the notice: AXO_TERMINATED, or a copy of the message that the watcher asked for
 * instead. */
static void watch_word(axo__watch *watch, axo_ref ref, const axo_message *own)
{
    watch->payload.actor = ref;
    watch->way.number = ref.bits;
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

/* NULL: no memory. `stand_in`: of the target's node; NULL: the target is of this system. */
static axo__watch *watch_make(axo__worker *worker, size_t own_size, const axo__cell *stand_in)
{
    size_t size = watch_size(own_size, stand_in != NULL);
    axo__watch *watch = axo__pool_alloc(&worker->local.cache, size);
    if (watch == NULL)
        return NULL;
    memset((void *)watch, 0, size);
    watch->own_size = own_size;
    if (stand_in != NULL) {
        watch->far = 1;
        *watch_far(watch) = (axo__far){.watch = watch, .stand_in = axo__cell_ref(stand_in)};
    }
    return watch;
}

/* The target's `extra` is taken here, by the watching side, since the target's end may take no
 * memory (D10). After the push the watcher looks at the target's word: a target that closed before
 * the announcement may have looked at its lane for the last time, so the watcher drains the lane
 * itself. The announcement and axo__state_close are read-modify-writes of one word, so either the
 * target's drain finds the request or this look finds CLOSED. */
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
    axo__core *core = worker->local.core;
    axo__cell *target = axo__table_find(&core->table, ref);
    axo__cell *stand_in = target == NULL ? axo__peer_find(core, ref) : NULL;
    if (stand_in != NULL)
        target = stand_in;
    if (axo__extra_take(&worker->local, cell) == NULL ||
        (target != NULL && axo__extra_take(&worker->local, target) == NULL))
        return AXO_ENOMEM;
    axo__watch *watch = watch_make(worker, own_size, stand_in);
    if (watch == NULL)
        return AXO_ENOMEM;
    watch_word(watch, ref, own);
    watch->watcher = axo__cell_ref(cell);
    axo__a32_store_relaxed(&watch->users, 1);
    watch_keep(cell, watch);
    axo__trace(&worker->local, cell, AXO_EV_WATCH, ref.bits);
    if (target == NULL) {
        watch->payload.address_terminated = axo__ref_node(ref) != 0;
        watch_home(worker, cell, watch, true); /* DW-02, DW-10, DW-21 */
        return AXO_OK;
    }
    axo__stack_push_any(&target->system, &watch->request, AXO__SYS_WATCH);
    axo__sched_announce_system(worker, target);
    if (axo__unlikely((axo__state_look(&target->state) & AXO__CLOSED) != 0))
        worker->sched->ops->drain(&worker->local, target); /* the target's last look is over */
    return AXO_OK;
}

/* Gives a watch up. If the target is not found, the target's end returns the record, and that trip
 * frees it. Otherwise UNWATCH follows the request in the same lane, in order, and both trips count
 * as users until they end. */
static void watch_cancel(axo__worker *worker, axo__cell *cell, axo__watch *watch)
{
    watch_forget(cell, watch);
    if (watch->queued)
        return; /* axo__watch_notice swallows it (DW-05) */
    if (watch->waits) {
        watch_drop(&worker->local, watch);
        return;
    }
    axo_ref lane = watch->far ? watch_far(watch)->stand_in : watch_target(watch);
    axo__cell *target = axo__table_find(&worker->local.core->table, lane);
    if (target == NULL)
        return; /* the record is on its way back */
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
    do { /* a stashed notice and a later watch may be two records */
        watch_cancel(worker, cell, watch);
        watch = watch_find(cell, ref);
    } while (watch != NULL);
}

/* Runs while the cell can still be found: a target that does not find its watcher frees the record,
 * so no record may be in `watching` then. */
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
    axo__extra *extra = axo__cell_extra(cell); /* the watcher has taken it: axo__watch_add */
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

/* Sends the record back to its watcher. A watcher that has terminated has given the record up, so
 * the record is dropped. */
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

/* ---- the target's side, in a stand-in (cell/peers.h) ---- */

/* A stand-in keeps its node's watches in its list too, so its end answers them as any end does.
 * From then on the tree is nobody's: no end of a target is taken any more. */
static axo__way **watch_targets(const axo__cell *cell)
{
    axo__peer *peer = (axo__peer *)(uintptr_t)axo__cell_cold(cell)->args;
    return cell->phase < AXO__PHASE_TERMINATING ? &peer->targets : NULL;
}

static void watch_far_link(axo__worker *worker, const axo__cell *cell, axo__watch *watch)
{
    axo__way **targets = watch_targets(cell);
    if (targets != NULL && axo__far_add(targets, watch_far(watch), watch_target(watch)))
        axo__peers_watch(worker->local.core, watch_target(watch), true);
}

static void watch_far_unlink(axo__worker *worker, const axo__cell *cell, axo__watch *watch)
{
    axo__way **targets = watch_targets(cell);
    if (targets != NULL && axo__far_remove(targets, watch_far(watch)))
        axo__peers_watch(worker->local.core, watch_target(watch), false);
}

bool axo__watch_far_ended(axo__worker *worker, axo__cell *cell, const axo_terminated *end)
{
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, cell));
    axo__way **targets = watch_targets(cell);
    for (uint32_t left = AXO__PORTION; targets != NULL; left--) {
        axo__far *far = axo__far_find(*targets, end->actor);
        if (far == NULL)
            return true;
        if (left == 0)
            return false;
        axo__watch *watch = far->watch;
        (void)axo__far_remove(targets, far);
        watch_unlink(cell, watch);
        watch->payload.existence_known = end->existence_known != 0;
        watch_return(worker, &worker->local, watch);
    }
    return true;
}

/* ---- the target's end ---- */

/* One record at a time leaves the list before it is sent: the watcher's runner owns the record from
 * the push on. */
bool axo__watch_tell(axo__worker *worker, axo__cell *cell, uint32_t *budget)
{
    AXO_DEBUG_ASSERT(cell->phase == AXO__PHASE_GONE);
    axo__extra *extra = axo__cell_extra(cell);
    const axo__cell *parent = axo__cell_parent(cell);
    for (; extra != NULL && extra->watchers != NULL && *budget > 0; (*budget)--) {
        axo__watch *watch = extra->watchers;
        watch_unlink(cell, watch);
        watch->payload.address_terminated = watch->far; /* DW-21 */
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

/* A RETURN to a living watcher queues the notice, unless an unwatch came first. UNWATCH ends two
 * trips if the record is still linked: its own and the request's, which will not return. */
void axo__watch_take(axo__worker *worker, axo__cell *cell, axo__stack_node *node,
                     axo__sys_kind kind)
{
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, cell));
    axo__watch *watch = watch_of_node(node, kind);
    if (kind == AXO__SYS_WATCH) {
        watch_link(cell, watch);
        if (axo__unlikely(watch->far))
            watch_far_link(worker, cell, watch);
    } else if (kind == AXO__SYS_UNWATCH) {
        if (watch->linked) {
            watch_unlink(cell, watch);
            if (axo__unlikely(watch->far))
                watch_far_unlink(worker, cell, watch);
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

/* The lane of a cell that has terminated. WATCH is answered like an end (DW-18); `late` tells the
 * watcher's runner that this answer may have overtaken the child's GONE. RETURN and UNWATCH end
 * here. */
void axo__watch_answer(axo__local *local, axo__cell *cell, axo__stack_node *node,
                       axo__sys_kind kind)
{
    AXO_DEBUG_ASSERT(!axo__cell_lives_owner(cell));
    axo__watch *watch = watch_of_node(node, kind);
    axo__worker *worker = axo__self;
    if (kind == AXO__SYS_WATCH) {
        watch->late = 1;
        watch->payload.address_terminated = watch->far;
        watch_return(worker, local, watch);
        return;
    }
    if (kind == AXO__SYS_RETURN && !watch->cancelled)
        watch_forget(cell, watch);
    watch_drop(local, watch);
}

/* ---- notices ---- */

/* The record leaves `watching` before the handler runs, so that the handler may watch the same
 * reference again (DW-08). */
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

/* The record is in `watching` again and still `queued`: an unwatch swallows it when it is
 * unstashed. */
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
