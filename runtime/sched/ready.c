/* ready.c - where ready cells are put.
 *
 * Each push function puts an entry into one place of the table in ready.h and then offers it: it
 * wakes another worker if that worker could take the entry sooner than this one. An announce
 * function changes the cell's word first; only the thread whose change the word answers with PUSH
 * pushes, so a cell that is announced by many threads gets one entry.
 */
#include "sched/ready.h"

#include "base/aside.h"
#include "sched/claim.h"
#include "sched/keep.h"
#include "sched/newborn.h"
#include "sched/pool.h"
#include "sched/wake.h"

/* ---- more room for ready cells ---- */

/* A ring beyond the one in the worker's slots. */
typedef struct ready_room {
    axo__grace_block block;
    axo__runq_ring ring;
    axo__spmc_slot slots[];
} ready_room;

static ready_room *ready_room_of(axo__runq_ring *ring)
{
    return (ready_room *)(void *)((char *)ring - offsetof(ready_room, ring));
}

/* Appends a ring of twice the size of the last one; false: there is no memory, or the queue is as
 * large as it may be. Failing and ending take no memory (D10), so only a handler, which may be sent
 * to and send as much as it likes, makes the queue longer. */
static __attribute__((noinline)) bool ready_extend(axo__worker *worker)
{
    uint64_t size = (uint64_t)worker->ready.last->ring.size * 2;
    if (worker->own == NULL || worker->message == NULL || size > AXO__RUNQ_MAX)
        return false;
    size_t bytes = offsetof(ready_room, slots) + size * sizeof(axo__spmc_slot);
    ready_room *room =
        axo__heap_alloc(&worker->local.core->heap, bytes, AXO__CACHE_LINE, AXO__SITE_WORKERS);
    if (room == NULL)
        return false;
    room->block.size = bytes;
    axo__runq_ring_init(&room->ring, room->slots, (uint32_t)size);
    axo__runq_extend_owner(&worker->ready, &room->ring);
    return true;
}

static void ready_drop(axo__worker *worker)
{
    axo__runq_ring *ring;
    while ((ring = axo__runq_drop_owner(&worker->ready)) != NULL) {
        if (ring != &worker->ready.home)
            axo__grace_retire_block(&worker->local.core->grace, &ready_room_of(ring)->block);
    }
}

void axo__worker_tidy_ready(axo__worker *worker)
{
    axo__runq *ready = &worker->ready;
    ready_drop(worker);
    if (ready->last == &ready->home || !axo__runq_is_empty_any(ready))
        return;
    axo__runq_extend_owner(ready, &ready->home);
    ready_drop(worker);
}

void axo__worker_free_ready(axo__worker *worker)
{
    axo__runq_ring *ring = axo__aptr_load_relaxed(&worker->ready.oldest);
    while (ring != NULL) {
        axo__runq_ring *next = axo__aptr_load_relaxed(&ring->next);
        if (ring != &worker->ready.home) {
            ready_room *room = ready_room_of(ring);
            axo__heap_free(&worker->local.core->heap, room, room->block.size, AXO__CACHE_LINE,
                           AXO__SITE_WORKERS);
        }
        ring = next;
    }
}

/* ---- into a queue of its own ---- */

/* The worker's own queue gets no room, or it has none: the entry goes to the injector. In a shared
 * pool this worker takes the cell next itself, so another worker is woken only if older entries are
 * in the injector. */
static void ready_share_back(axo__sched *sched, axo__cell *cell)
{
    bool others = !sched->kind->shared || axo__inject_has_any(&sched->inject);
    axo__claim_inject(&sched->inject, cell);
    if (others)
        axo__sched_wake_one(sched);
}

/* Puts the entry at the end of the worker's ready queue; thieves take from its front. */
void axo__worker_push_back(axo__worker *worker, axo__cell *cell)
{
    if (axo__unlikely(!axo__runq_push_owner(&worker->ready, cell)) &&
        !(ready_extend(worker) && axo__runq_push_owner(&worker->ready, cell))) {
        ready_share_back(worker->sched, cell);
        return;
    }
    axo__wake_offer(worker, axo__keep_count(worker, AXO__KEEP_READY,
                                            axo__runq_count_any(&worker->ready)));
}

/* Thieves take an overrun cell at once, so it is offered as AXO__STEAL_MIN ready cells are. An
 * entry without room goes to the overrun injector: among ready cells it would be in their way. */
void axo__worker_push_overrun(axo__worker *worker, axo__cell *cell)
{
    axo__sched *sched = worker->sched;
    if (axo__runq_push_owner(&worker->overrun, cell)) {
        axo__wake_offer(worker, AXO__STEAL_MIN);
        return;
    }
    if (sched->kind->shared) { /* such a pool keeps all its work in one injector */
        ready_share_back(sched, cell);
        return;
    }
    axo__claim_inject(&sched->overrun, cell);
    axo__sched_wake_one(sched);
}

/* Puts the cell into the next slot, and the slot's former cell into the ready queue. The slot is
 * used only if no cell in it can wait unseen: a worker between two turns takes it itself. */
void axo__worker_push_ready(axo__worker *worker, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(worker->own != NULL);
    if (worker->current != NULL && !axo__worker_is_watched(worker)) {
        axo__worker_push_back(worker, cell);
        return;
    }
    axo__cell *displaced = axo__worker_put_next(worker, cell);
    if (displaced != NULL)
        axo__worker_push_back(worker, displaced);
}

/* A single newborn is as private as the next slot, under the same condition. The push that makes
 * the newborns AXO__STEAL_MIN in number offers them to other workers; axo__worker_offer_newborns
 * repeats that at later turns. */
static void ready_push_newborn(axo__worker *worker, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(worker->own != NULL);
    if (axo__unlikely(!axo__newborn_push_owner(worker, cell))) {
        axo__worker_push_back(worker, cell);
        return;
    }
    uint32_t count = axo__keep_count(worker, AXO__KEEP_NEWBORNS, axo__newborn_count_any(worker));
    if (axo__unlikely(!axo__worker_is_watched(worker) || count == AXO__STEAL_MIN))
        axo__wake_offer(worker, count);
}

/* An entry in the urgent lane is offered with a count of 0: no worker is woken if there is a
 * searcher or a watcher, since either takes an urgent entry when it looks next. */
void axo__worker_push_urgent(axo__worker *worker, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(worker->own != NULL);
    if (axo__unlikely(!axo__runq_push_owner(&worker->urgent, cell))) {
        axo__sched_push_urgent_any(worker->sched, cell);
        return;
    }
    worker->attention |= AXO__LOOK_URGENT;
    worker->urgent_untold++;
    /* Between two callbacks this worker itself comes to the entry at once. */
    if (worker->message != NULL || worker->site != AXO_SITE_NONE || axo__aside > 0)
        axo__wake_offer(worker, 0);
}

/* ---- entries that stay behind a turn are offered ---- */

static void ready_offer_many(axo__worker *worker, axo__keep what, uint32_t count)
{
    count = axo__keep_count(worker, what, count);
    if (count >= AXO__STEAL_MIN)
        axo__wake_offer(worker, count);
}

void axo__worker_offer_newborns(axo__worker *worker)
{
    if (axo__worker_has_sleeper(worker))
        ready_offer_many(worker, AXO__KEEP_NEWBORNS, axo__newborn_count_any(worker));
}

void axo__worker_offer_ready(axo__worker *worker)
{
    ready_offer_many(worker, AXO__KEEP_READY, axo__runq_count_any(&worker->ready));
}

/* Steps (6) to (8) of sched/wake.h, once for everything that was pushed since the last turn. One
 * wake-up is enough: a thief that leaves many entries behind wakes the next worker. */
void axo__worker_offer_quiet(axo__worker *worker)
{
    AXO_DEBUG_ASSERT(worker->current == NULL);
    uint32_t ready =
        axo__keep_count(worker, AXO__KEEP_READY, axo__runq_count_any(&worker->ready));
    uint32_t newborns = axo__keep_count(worker, AXO__KEEP_NEWBORNS, axo__newborn_count_any(worker));
    worker->attention &= ~(uint32_t)AXO__LOOK_QUIET;
    if (newborns > ready)
        ready = newborns;
    if (axo__runq_count_any(&worker->urgent) > 0) {
        uint32_t urgent = axo__keep_count(worker, AXO__KEEP_URGENT, AXO__STEAL_MIN);
        ready = urgent > ready ? urgent : ready;
    }
    if (axo__runq_count_any(&worker->overrun) > 0)
        axo__wake_tell(worker, AXO__STEAL_MIN);
    else if (ready > 0 || axo__aptr_load_relaxed(&worker->next) != NULL)
        axo__wake_tell(worker, ready);
}

void axo__worker_offer_urgent(axo__worker *worker)
{
    worker->urgent_untold = 0;
    if (axo__unlikely(!axo__runq_is_empty_any(&worker->urgent)))
        axo__wake_tell(worker, axo__keep_count(worker, AXO__KEEP_URGENT, AXO__STEAL_MIN));
}

/* An offer that was made holds for the entries that were there: a worker that parked after it has
 * looked into this lane when it had said PARKED, as after any push (sched/wake.h). */
void axo__worker_offer_new_urgent(axo__worker *worker)
{
    if (axo__unlikely(worker->urgent_untold != 0))
        axo__worker_offer_urgent(worker);
}

/* ---- into the cell's own pool ---- */

/* Whether the worker may push the cell to its own queues: it has queues, and its pool runs the
 * cell. */
static bool ready_is_own(const axo__worker *worker, const axo__cell *cell)
{
    return worker != NULL && axo__likely(axo__cell_is_in(worker->local.core, cell, worker->own));
}

void axo__sched_push_ready(axo__worker *worker, axo__cell *cell)
{
    if (ready_is_own(worker, cell))
        axo__worker_push_ready(worker, cell);
    else
        axo__sched_push_ready_any(axo__cell_sched(cell), cell);
}

void axo__sched_push_newborn(axo__worker *worker, axo__cell *cell)
{
    if (ready_is_own(worker, cell))
        ready_push_newborn(worker, cell);
    else
        axo__sched_push_ready_any(axo__cell_sched(cell), cell);
}

/* An urgent entry in the cell's own pool, from a worker or (worker NULL) from outside. */
static void ready_push_urgent(axo__worker *worker, axo__cell *cell)
{
    if (ready_is_own(worker, cell))
        axo__worker_push_urgent(worker, cell);
    else
        axo__sched_push_urgent_any(axo__cell_sched(cell), cell);
}

/* The message is in the bounded mailbox already, so the runner that clears READY finds it: the
 * word's read-modify-write releases the enqueue ([S1] of cell/state.h) to the claim ([S2]) or to
 * the finish that finds READY set. */
void axo__sched_announce_user(axo__worker *worker, axo__cell *cell)
{
    if (axo__state_announce_user(&cell->state) == AXO__ANNOUNCE_PUSH)
        axo__sched_push_ready(worker, cell);
}

void axo__sched_accept(axo__worker *worker, axo__cell *cell, axo__message *message)
{
    if (axo__cell_accept(cell, message) == AXO__ANNOUNCE_PUSH)
        axo__sched_push_ready(worker, cell);
}

/* The system message or the directive is in its place already; URGENT releases it ([S1]) to the
 * runner, which clears URGENT before it looks ([S3] of cell/state.h, in run_messages). */
void axo__sched_announce_system(axo__worker *worker, axo__cell *cell)
{
    if (axo__state_announce_system(&cell->state) == AXO__ANNOUNCE_PUSH)
        ready_push_urgent(worker, cell);
}

void axo__sched_stop(axo__worker *worker, axo__cell *cell)
{
    axo__directives_stop(&cell->directives);
    axo__sched_announce_system(worker, cell);
}

/* `current` is NULL already: the turn is over, so the push is quiet (axo__wake_offer). The step
 * that clears RUNNING sets URGENT, so no other announcer pushes a second entry. */
void axo__sched_go_on(axo__worker *worker, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(worker->current == NULL && axo__state_is_running(&cell->state));
    axo__unclaim urgent = axo__state_unclaim(&cell->state, true);
    AXO_DEBUG_ASSERT(urgent == AXO__UNCLAIM_URGENT);
    (void)urgent;
    ready_push_urgent(worker, cell);
}

/* Entries that were tried while the cell was borrowed are stale and gone, so this thread pushes one
 * for whatever the word shows at the release ([S4], axo__state_give_back). */
void axo__sched_hand_back(axo__worker *worker, axo__cell *cell)
{
    switch (axo__state_give_back(&cell->state)) {
    case AXO__UNCLAIM_URGENT:
        ready_push_urgent(worker, cell);
        return;
    case AXO__UNCLAIM_READY:
        axo__sched_push_ready(worker, cell);
        return;
    case AXO__UNCLAIM_IDLE:
        return;
    }
}

void axo__sched_hand_back_held(axo__worker *worker, axo__cell *cell)
{
    if (axo__state_give_back_held(&cell->state) == AXO__UNCLAIM_URGENT)
        ready_push_urgent(worker, cell);
}
