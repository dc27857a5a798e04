/* park.c - where ready cells are put, who is woken, who steals, who sleeps. */
#include "sched/worker.h"

/* ---- waking ---- */

/* true: this call took it out of PARKED. */
static bool park_wake(axo__worker *worker)
{
    axo__sched *sched = worker->sched;
    uint32_t parked = AXO__WORKER_PARKED;
    if (axo__a32_load_relaxed(&worker->state) != parked)
        return false;
    if (!axo__a32_cas_acq_rel(&worker->state, &parked, AXO__WORKER_AWAKE)) /* [W4] (8) */
        return false;
    (void)axo__a32_add_seq_cst(&sched->parked, UINT32_MAX); /* [W1] */
    sched->kind->wake(worker);
    return true;
}

void axo__sched_wake_one(axo__sched *sched)
{
    if (axo__a32_load_seq_cst(&sched->parked) == 0) { /* [W1] (7) */
        sched->kind->nobody_parked(sched);
        return;
    }
    for (uint32_t i = 0; i < sched->worker_count; i++) {
        axo__worker *worker = axo__sched_worker(sched, i);
        if (worker == NULL)
            break;
        if (park_wake(worker))
            return;
    }
    sched->kind->nobody_parked(sched); /* they got up meanwhile */
}

/* The count may be behind: a worker that says PARKED may be taken out before it has counted itself.
 * That one looks for work then, so who has pushed some may trust the count; who has not may not. */
void axo__sched_wake_all(axo__sched *sched)
{
    (void)axo__a32_add_seq_cst(&sched->parked, 0); /* [W1] (6) */
    for (uint32_t i = 0; i < sched->worker_count; i++) {
        axo__worker *worker = axo__sched_worker(sched, i);
        if (worker == NULL)
            break;
        (void)park_wake(worker);
    }
}

bool axo__sched_wake_worker(axo__worker *worker)
{
    (void)axo__a32_add_seq_cst(&worker->sched->parked, 0); /* [W1] (6) of sched/timer.h */
    return park_wake(worker);
}

/* There is something in a queue that thieves can reach. A searcher will find it; a watcher looks in
 * time, and is woken early only for what it may take at once. */
static void park_tell(axo__worker *worker, uint32_t queued)
{
    axo__sched *sched = worker->sched;
    if (sched->worker_count > 1)
        (void)axo__a32_add_seq_cst(&worker->fence, 1); /* [W1] (6) */
    if (axo__a32_load_seq_cst(&sched->parked) == 0) {  /* [W1] (7) */
        axo__spare_alarm(sched); /* pools with queues of their own have no other answer */
        return;
    }
    if (axo__a32_load_relaxed(&sched->searching) != 0)
        return;
    if (queued < AXO__STEAL_MIN && axo__a32_load_relaxed(&sched->watcher) != 0)
        return;
    axo__sched_wake_one(sched);
}

/* After a push. Between two turns nobody is told: the worker takes a cell itself first, and then
 * offers what it leaves. */
static void park_offer(axo__worker *worker, uint32_t queued)
{
    if (worker->current == NULL)
        worker->quiet = true;
    else
        park_tell(worker, queued);
}

/* ---- pushing ---- */

static void park_inject(axo__inject *inject, axo__cell *cell)
{
    if (axo__state_inject(&cell->state, AXO__INJECTED))
        axo__inject_push_any(inject, &cell->inject_node);
}

void axo__sched_push_ready_any(axo__sched *sched, axo__cell *cell)
{
    park_inject(&sched->inject, cell);
    axo__sched_wake_one(sched);
}

void axo__sched_push_urgent_any(axo__sched *sched, axo__cell *cell)
{
    if (axo__state_inject(&cell->state, AXO__URGENT_INJECTED))
        axo__inject_push_any(&sched->urgent, &cell->urgent_node);
    axo__sched_wake_one(sched);
}

/* The worker's own queue has no room. Where all work is shared the worker takes the cell next
 * itself, unless there was other work before it. */
static void park_share_back(axo__sched *sched, axo__cell *cell)
{
    bool others = !sched->kind->shared || axo__inject_has_any(&sched->inject);
    park_inject(&sched->inject, cell);
    if (others)
        axo__sched_wake_one(sched);
}

void axo__worker_push_back(axo__worker *worker, axo__cell *cell)
{
    if (axo__unlikely(!axo__runq_push_owner(&worker->ready, cell))) {
        park_share_back(worker->sched, cell);
        return;
    }
    park_offer(worker, axo__runq_count_any(&worker->ready));
}

void axo__worker_push_slow(axo__worker *worker, axo__cell *cell)
{
    axo__sched *sched = worker->sched;
    if (axo__runq_push_owner(&worker->slow, cell)) {
        park_offer(worker, AXO__STEAL_MIN);
        return;
    }
    if (sched->kind->shared) { /* all its work is in one queue */
        park_share_back(sched, cell);
        return;
    }
    park_inject(&sched->slow, cell);
    axo__sched_wake_one(sched);
}

void axo__worker_push_ready(axo__worker *worker, axo__cell *cell)
{
    axo__sched *sched = worker->sched;
    AXO_DEBUG_ASSERT(worker->own != NULL);
    bool guarded = worker->current == NULL || axo__a32_load_relaxed(&sched->parked) == 0 ||
                   axo__a32_load_relaxed(&sched->watcher) != 0;
    if (!guarded) {
        axo__worker_push_back(worker, cell);
        return;
    }
    axo__cell *displaced = axo__aptr_load_relaxed(&worker->next);
    axo__aptr_store_release(&worker->next, cell); /* [W2] */
    if (displaced != NULL)
        axo__worker_push_back(worker, displaced);
}

/* One newborn is as private as the next slot; of many, others are told. */
static void park_push_newborn(axo__worker *worker, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(worker->own != NULL);
    axo__sched *sched = worker->sched;
    if (axo__unlikely(!axo__newborn_push_owner(worker, cell))) {
        axo__worker_push_back(worker, cell);
        return;
    }
    uint32_t count = axo__newborn_count_any(worker);
    bool guarded = axo__a32_load_relaxed(&sched->parked) == 0 ||
                   axo__a32_load_relaxed(&sched->watcher) != 0;
    if (axo__unlikely(!guarded || count == AXO__STEAL_MIN))
        park_offer(worker, count);
}

/* Those that this worker leaves behind while it begins a turn. */
void axo__worker_offer_newborns(axo__worker *worker)
{
    uint32_t count = axo__newborn_count_any(worker);
    if (count >= AXO__STEAL_MIN && axo__a32_load_relaxed(&worker->sched->parked) != 0)
        park_offer(worker, count);
}

void axo__worker_push_urgent(axo__worker *worker, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(worker->own != NULL);
    if (axo__unlikely(!axo__runq_push_owner(&worker->urgent, cell))) {
        axo__sched_push_urgent_any(worker->sched, cell);
        return;
    }
    /* Between callbacks this worker comes to it at once. */
    if (worker->message != NULL || worker->site != AXO_SITE_NONE)
        park_offer(worker, 0);
}

void axo__worker_offer_quiet(axo__worker *worker)
{
    AXO_DEBUG_ASSERT(worker->current == NULL);
    uint32_t ready = axo__runq_count_any(&worker->ready);
    uint32_t newborns = axo__newborn_count_any(worker);
    worker->quiet = false;
    if (newborns > ready)
        ready = newborns;
    if (axo__runq_count_any(&worker->urgent) > 0 || axo__runq_count_any(&worker->slow) > 0)
        park_tell(worker, AXO__STEAL_MIN);
    else if (ready > 0 || axo__aptr_load_relaxed(&worker->next) != NULL)
        park_tell(worker, ready);
}

void axo__worker_offer_urgent(axo__worker *worker)
{
    if (axo__unlikely(!axo__runq_is_empty_any(&worker->urgent)))
        park_tell(worker, AXO__STEAL_MIN);
}

/* The pool whose queues this worker may push to as their owner. */
static bool park_is_own(const axo__worker *worker, const axo__cell *cell)
{
    return worker != NULL && axo__likely(axo__cell_is_in(worker->core, cell, worker->own));
}

void axo__sched_push_ready(axo__worker *worker, axo__cell *cell)
{
    if (park_is_own(worker, cell))
        axo__worker_push_ready(worker, cell);
    else
        axo__sched_push_ready_any(axo__cell_sched(cell), cell);
}

void axo__sched_push_newborn(axo__worker *worker, axo__cell *cell)
{
    if (park_is_own(worker, cell))
        park_push_newborn(worker, cell);
    else
        axo__sched_push_ready_any(axo__cell_sched(cell), cell);
}

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

void axo__sched_stop(axo__worker *worker, axo__cell *cell)
{
    axo__directives_stop(&cell->directives);
    axo__sched_announce_system(worker, cell);
}

static void park_push_urgent(axo__worker *worker, axo__cell *cell)
{
    if (park_is_own(worker, cell))
        axo__worker_push_urgent(worker, cell);
    else
        axo__sched_push_urgent_any(axo__cell_sched(cell), cell);
}

void axo__sched_announce_system(axo__worker *worker, axo__cell *cell)
{
    if (axo__state_announce_system(&cell->state) == AXO__ANNOUNCE_PUSH)
        park_push_urgent(worker, cell);
}

static void park_push_any(axo__cell *cell, axo__unclaim what)
{
    switch (what) {
    case AXO__UNCLAIM_URGENT:
        axo__sched_push_urgent_any(axo__cell_sched(cell), cell);
        return;
    case AXO__UNCLAIM_READY:
        axo__sched_push_ready_any(axo__cell_sched(cell), cell);
        return;
    case AXO__UNCLAIM_IDLE:
        return;
    }
}

void axo__sched_unclaim(axo__cell *cell)
{
    AXO_DEBUG_ASSERT(axo__state_is_running(&cell->state));
    bool urgent = (cell->aside & AXO__ASIDE_SYSTEM) != 0;
    cell->aside &= (uint8_t)~AXO__ASIDE_SYSTEM;
    park_push_any(cell, axo__state_unclaim(&cell->state, urgent));
}

void axo__sched_go_on(axo__worker *worker, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(worker->current == NULL && axo__state_is_running(&cell->state));
    axo__unclaim urgent = axo__state_unclaim(&cell->state, true);
    AXO_DEBUG_ASSERT(urgent == AXO__UNCLAIM_URGENT);
    (void)urgent;
    park_push_urgent(worker, cell);
}

void axo__sched_hand_back(axo__worker *worker, axo__cell *cell)
{
    switch (axo__state_give_back(&cell->state)) {
    case AXO__UNCLAIM_URGENT:
        park_push_urgent(worker, cell);
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
        park_push_urgent(worker, cell);
}

/* ---- stealing ---- */

/* The first claimed cell of what is taken is returned, the rest becomes our own. */
static axo__cell *park_keep(axo__worker *worker, axo__runq *to, axo__cell *mine, axo__cell *cell)
{
    axo__a64_bump_owner(&worker->local.count.steals);
    if (mine == NULL)
        return axo__worker_claim(worker, cell);
    if (!axo__runq_push_owner(to, cell))
        axo__sched_push_ready_any(worker->sched, cell);
    return mine;
}

/* Takes up to half of a queue. */
static axo__cell *park_take_half(axo__worker *worker, axo__runq *from, axo__runq *to)
{
    uint32_t count = axo__runq_count_any(from);
    uint32_t want = (count + 1) / 2 < AXO__STEAL_MAX ? (count + 1) / 2 : AXO__STEAL_MAX;
    axo__cell *mine = NULL;
    for (uint32_t i = 0; i < want; i++) {
        axo__cell *cell = axo__runq_take_any(from);
        if (cell == NULL)
            break;
        mine = park_keep(worker, to, mine, cell);
    }
    return mine;
}

/* Up to half of the newborns; all of them may be looked at if their worker is stuck. */
static axo__cell *park_take_newborns(axo__worker *worker, axo__worker *victim, bool stuck)
{
    uint32_t count = axo__newborn_count_any(victim);
    uint32_t want = (count + 1) / 2 < AXO__STEAL_MAX ? (count + 1) / 2 : AXO__STEAL_MAX;
    axo__cell *mine = NULL;
    for (uint32_t i = 0; i < want || (stuck && mine == NULL); i++) {
        axo__cell *cell = axo__newborn_take_any(victim, stuck);
        if (cell == NULL)
            break;
        mine = park_keep(worker, &worker->ready, mine, cell);
    }
    return mine;
}

/* Whether the last of so many waits for long, at so many turns in that span. */
static bool park_is_late(int64_t span, uint64_t turns, uint32_t queued)
{
    return span >= AXO__WATCH_MIN_NS && (uint64_t)span * queued >= turns * AXO__WATCH_MIN_NS;
}

/* One victim. What is few of its newborns and of its queue is taken only if the last of it would
 * wait for long at the pace of its owner since this worker last slept, its next slot only if the
 * owner has not moved at all; spent cells at once. */
static axo__cell *park_steal_from(axo__worker *worker, axo__worker *victim)
{
    axo__cell *cell = axo__runq_take_any(&victim->urgent);
    if (cell != NULL && (cell = axo__worker_claim(worker, cell)) != NULL)
        return cell;
    AXO_DEBUG_ASSERT(worker->seen != NULL && victim != worker);
    const axo__seen *seen = &worker->seen[victim - worker->sched->workers];
    uint64_t turns = axo__a32_load_relaxed(&victim->turn) - seen->turn;
    int64_t span = worker->now - worker->seen_at;
    bool aged = span >= AXO__WATCH_MIN_NS && turns == 0;
    uint32_t newborns = axo__newborn_count_any(victim);
    uint32_t ready = axo__runq_count_any(&victim->ready);
    if (newborns >= AXO__STEAL_MIN || park_is_late(span, turns, newborns))
        cell = park_take_newborns(worker, victim, aged);
    if (cell == NULL && (ready >= AXO__STEAL_MIN || park_is_late(span, turns, ready)))
        cell = park_take_half(worker, &victim->ready, &worker->ready);
    if (cell == NULL)
        cell = park_take_half(worker, &victim->slow, &worker->slow);
    if (cell != NULL)
        return cell;
    if (!aged)
        return NULL;
    cell = axo__aptr_load_acquire(&victim->next); /* [W3] */
    return cell != NULL ? axo__worker_claim(worker, cell) : NULL;
}

axo__cell *axo__worker_steal(axo__worker *worker)
{
    axo__sched *sched = worker->sched;
    uint32_t count = sched->worker_count;
    if (count == 1 || sched->kind->shared)
        return NULL;
    if (axo__a32_load_relaxed(&sched->searching) * 2 >= count)
        return NULL;
    worker->searched = true;
    (void)axo__a32_add_seq_cst(&sched->searching, 1); /* [W1] */
    uint32_t start = axo__random_below(&worker->random, count);
    axo__cell *cell = NULL;
    for (uint32_t i = 0; i < count && cell == NULL; i++) {
        axo__worker *victim = &sched->workers[(start + i) % count];
        if (victim != worker)
            cell = park_steal_from(worker, victim);
    }
    uint32_t searching = axo__a32_add_seq_cst(&sched->searching, UINT32_MAX); /* [W1] */
    AXO_DEBUG_ASSERT(searching > 0);
    if (cell != NULL && searching == 1 && (axo__runq_count_any(&worker->ready) >= AXO__STEAL_MIN ||
                                 axo__runq_count_any(&worker->slow) > 0))
        axo__sched_wake_one(sched);
    return cell;
}

axo__cell *axo__worker_rescue(axo__worker *worker, axo__worker *victim, bool urgent_only)
{
    axo__cell *cell = axo__runq_take_any(&victim->urgent);
    if (cell != NULL && (cell = axo__worker_claim(worker, cell)) != NULL)
        return cell;
    if (urgent_only)
        return NULL;
    while ((cell = axo__runq_take_any(&victim->ready)) != NULL ||
           (cell = axo__runq_take_any(&victim->slow)) != NULL) {
        if (axo__worker_claim(worker, cell) != NULL)
            return cell;
    }
    while ((cell = axo__newborn_take_any(victim, true)) != NULL) {
        if (axo__worker_claim(worker, cell) != NULL)
            return cell;
    }
    cell = axo__aptr_load_acquire(&victim->next); /* [W3] */
    return cell != NULL ? axo__worker_claim(worker, cell) : NULL;
}

/* ---- parking ---- */

/* Somebody took it out of PARKED; perhaps to hand the watch on, even if it has not slept. */
static void park_was_taken(axo__worker *worker)
{
    AXO_DEBUG_ASSERT(axo__a32_peek_owner(&worker->state) != AXO__WORKER_PARKED);
    (void)axo__a32_add_seq_cst(&worker->state, 0); /* [W1] before a look at the spare's mode */
    axo__a64_bump_owner(&worker->local.count.wakes);
    worker->woken = true;
}

void axo__worker_unpark_owner(axo__worker *worker)
{
    uint32_t parked = AXO__WORKER_PARKED;
    if (axo__a32_cas_acq_rel(&worker->state, &parked, AXO__WORKER_AWAKE)) /* [W4] */
        (void)axo__a32_add_seq_cst(&worker->sched->parked, UINT32_MAX);   /* [W1] */
    else
        park_was_taken(worker);
    if (worker->watching) {
        worker->watching = false;
        worker->watched = true;
        (void)axo__a32_add_seq_cst(&worker->sched->watcher, UINT32_MAX); /* [W1] */
    }
}

/* A program's clock is not waited for: whoever moves it wakes those that have timers due. (3) of
 * sched/timer.h, once more. */
static bool park_sees_time(const axo__worker *worker)
{
    return axo__unlikely(worker->core->clock != NULL) && worker->timers != NULL &&
           axo__timers_due(worker->timers, axo__worker_time(worker));
}

/* (3): work that this worker could take now; *busy: others are awake. */
static bool park_look(axo__worker *worker, bool *busy)
{
    axo__sched *sched = worker->sched;
    *busy = false;
    if (axo__a32_load_acquire(&sched->quit) != 0) /* [W5] */
        return true;
    if (axo__a32_load_seq_cst(&sched->core->expired_any) != 0) /* [W1] */
        return true;
    if (axo__inject_has_any(&sched->urgent) || axo__inject_has_any(&sched->inject) ||
        axo__inject_has_any(&sched->slow))
        return true;
    if (park_sees_time(worker))
        return true;
    for (uint32_t i = 0; i < sched->worker_count; i++) {
        axo__worker *other = axo__sched_worker(sched, i);
        if (other == NULL)
            break;
        if (axo__runq_count_any(&other->urgent) > 0 || axo__runq_count_any(&other->slow) > 0)
            return true;
        uint32_t ready = axo__runq_count_any(&other->ready);
        uint32_t newborns = axo__newborn_count_any(other);
        if (newborns > ready)
            ready = newborns;
        if (ready >= AXO__STEAL_MIN || (other == worker && ready > 0))
            return true;
        if (other != worker && axo__a32_load_seq_cst(&other->state) == AXO__WORKER_AWAKE) /* [W1] */
            *busy = true;
        else if (other != worker && ready > 0)
            return true;
        if (worker->seen == NULL)
            continue;
        worker->seen[i].turn = axo__a32_load_relaxed(&other->turn);
    }
    return axo__aptr_load_relaxed(&worker->next) != NULL;
}

axo__step axo__worker_park(axo__worker *worker)
{
    AXO_DEBUG_ASSERT(axo__a32_peek_owner(&worker->state) == AXO__WORKER_AWAKE);
    AXO_DEBUG_ASSERT(worker->current == NULL && !worker->watching);
    axo__sched *sched = worker->sched;
    bool busy = false;
    worker->thread.ticket = axo__os_parker_ticket(&worker->thread.parker);       /* (1) */
    axo__a32_store_relaxed(&worker->state, AXO__WORKER_PARKED);
    (void)axo__a32_add_seq_cst(&sched->parked, 1);                               /* [W1] (2) */
    if (park_look(worker, &busy)) {                                              /* (3) */
        axo__worker_unpark_owner(worker);
        axo__spare_notice(sched); /* it may have gone to rest in between */
        return AXO__STEP_AGAIN;
    }
    worker->searched = false;
    worker->watched = worker->watched && busy; /* else nobody is left to look after */
    worker->seen_at = worker->now;
    worker->thread.deadline = sched->kind->deadline(worker);
    uint32_t none = 0;
    bool watch = busy && !sched->kind->shared;
    if (watch && axo__a32_cas_acq_rel(&sched->watcher, &none, 1)) { /* [W4] */
        worker->watching = true;
        axo__a32_store_relaxed(&sched->watch_due, 0);
        int64_t look_at = worker->now + worker->watch_ns;
        if (look_at < worker->thread.deadline)
            worker->thread.deadline = look_at;
        if (worker->watch_ns < AXO__WATCH_MAX_NS)
            worker->watch_ns *= 2;
    }
    axo__a64_bump_owner(&worker->local.count.parks);
    return AXO__STEP_PARK; /* (4) */
}
