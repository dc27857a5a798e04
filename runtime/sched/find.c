/* find.c - where a worker looks for its next cell, and in which order; and the worker's clock.
 *
 * The order is the table in sched/ready.h: each find_from_* function is one place, find_ready is
 * the order of places 3 to 9, axo__worker_find puts 1 and 2 before them. No place may wait for
 * ever, so each preference has a bound, a count of turns or a span of the clock, kept in the
 * worker.
 *
 * The clock costs more than a short message, so a worker reads it every `clock_stride` messages.
 * Each reading settles everything that depends on time: the end of the turn, the end of a run of
 * the next slot, whether overrun cells have waited for long, and which timers are due.
 */
#include "sched/find.h"

#include "sched/claim.h"
#include "sched/follow.h"
#include "sched/newborn.h"
#include "sched/poller.h"
#include "sched/ready.h"
#include "sched/timer.h"
#include "sched/wake.h"

/* ---- the clock ---- */

/* How many messages the running turn has handled; 0 between two turns. */
static uint32_t find_turn_messages(const axo__worker *worker)
{
    const axo__cell *cell = worker->current;
    if (cell == NULL)
        return 0;
    uint32_t messages = worker->sched->quantum << cell->backlog_turns;
    AXO_DEBUG_ASSERT(worker->messages_left <= messages);
    return messages - worker->messages_left;
}

/* Whether the running turn is one between urgent cells. */
static bool find_is_between(const axo__worker *worker)
{
    return worker->between_turn == axo__worker_turn(worker);
}

/* Ends the running turn, or the run of cells that follow each other through the next slot, if it
 * has used up the time of a turn. The running turn is blamed (`overrun_turn`) only if it has
 * handled at least `stride` messages: then the previous reading lies in this turn or at its start,
 * so another turn cannot have used the time. `before`: the previous reading, which is the one known
 * at the turn's start if none was made in the turn. */
static void find_clock_shares(axo__worker *worker, uint32_t stride, int64_t before)
{
    int64_t quantum = worker->sched->quantum_ns;
    uint64_t turn = axo__worker_turn(worker);
    if (worker->clock_turn != turn)
        worker->turn_clock = before;
    worker->clock_turn = turn;
    bool over = worker->now - worker->turn_clock >= quantum;
    if (over && find_turn_messages(worker) >= stride)
        worker->overrun_turn = turn;
    if (over || worker->yield_turn == turn || worker->now >= worker->until ||
        (find_is_between(worker) && worker->now >= worker->between_until)) {
        worker->messages_left = 0;
        if (worker->now >= worker->until)
            worker->step_end = worker->plain_end = turn; /* the step's last turn */
    }
    if (worker->next_end == 0)
        worker->next_clock = AXO__NEVER;
    else if (worker->next_clock == AXO__NEVER)
        worker->next_clock = worker->now;
    else if (worker->now - worker->next_clock >= quantum)
        worker->next_end = worker->plain_end = turn;
    int64_t followers = axo__follow_count_any(worker);
    if (axo__likely(followers == 0))
        worker->follow_clock = worker->now;
    else if ((worker->now - worker->follow_clock) * followers >= AXO__FOLLOW_LATE_NS)
        worker->attention |= AXO__LOOK_FOLLOW;
    if (axo__runq_is_empty_any(&worker->overrun) && !axo__inject_has_any(&worker->sched->overrun))
        worker->overrun_clock = worker->now;
    else if (worker->now - worker->overrun_clock >= AXO__OVERRUN_QUANTA * quantum)
        worker->attention |= AXO__LOOK_OVERRUN;
}

/* The stride doubles while it takes no more than an eighth of a turn's time and falls to 1 when it
 * takes more than half: short messages do not pay for the clock, and a long one is noticed when it
 * ends. While messages are long, `inject_from` is 0, so each may be the last before a look
 * outside. */
bool axo__worker_clock(axo__worker *worker)
{
    int64_t before = worker->now;
    uint32_t stride = worker->clock_stride;
    axo__worker_read_clock(worker);
    int64_t quantum = worker->sched->quantum_ns;
    if (worker->now - before > quantum / 2) {
        worker->clock_stride = 1;
        worker->long_ago = AXO__LONG_AGO;
    } else if (worker->long_ago > 0) {
        worker->long_ago--;
    }
    if (worker->now - before > quantum / 8)
        worker->inject_from = 0;
    else if (stride < worker->clock_stride_max && !find_is_between(worker))
        worker->clock_stride = stride * 2;
    worker->until_clock = worker->clock_stride;
    find_clock_shares(worker, stride, before);
    if (axo__worker_has_sleeper(worker))
        axo__worker_offer_ready(worker);
    bool found = axo__unlikely(axo__poller_is_due(worker->sched, worker->now)) &&
                 axo__poller_look(worker);
    if (axo__likely(axo__timers_next(worker->timers) > axo__worker_time(worker)))
        return found;
    return (worker->timers != NULL && axo__timers_fire(worker, worker->timers)) || found;
}

/* ---- places ---- */

/* The first entry of a queue of this worker's whose cell it can claim; stale entries are
 * dropped. */
static axo__cell *find_from_queue(axo__worker *worker, axo__runq *queue)
{
    for (;;) {
        axo__cell *cell = axo__runq_take_any(queue);
        if (cell == NULL || axo__worker_claim(worker, cell) != NULL)
            return cell;
    }
}

/* The first entry of an injector whose cell this worker can claim. INJECTED is cleared before the
 * claim ([S6] of cell/state.h): if the claim came first and found nothing to do, a thread that
 * announces work between the two would find the bit set and push no entry, although the node has
 * left the queue. If entries are left in either injector and no worker is searching, this worker
 * wakes one more: so a burst from outside wakes workers one after the other, each by the last. A
 * pusher that has seen the first thread of an elastic pool start relies on it, whichever injector
 * that thread takes its first cell from. */
static __attribute__((noinline)) axo__cell *find_from_inject_slow(axo__worker *worker,
                                                                 axo__inject *inject, uint64_t bit)
{
    axo__sched *sched = worker->sched;
    axo__mpsc_node *node = NULL;
    while (axo__inject_pop_any(inject, &node) == AXO__INJECT_ITEM) {
        axo__cell *cell =
            bit == AXO__INJECTED ? axo__cell_of_inject(node) : axo__cell_of_urgent(node);
        axo__state_injected(&cell->state, bit);
        if (axo__worker_claim(worker, cell) == NULL) {
            if (sched->kind->shared)
                axo__sched_unhold(sched->core); /* it may have ended, and wait for this */
            continue;
        }
        bool left = axo__inject_has_any(&sched->inject) || axo__inject_has_any(&sched->urgent) ||
                    axo__inject_has_any(inject);
        if (left && axo__a32_load_relaxed(&sched->searching) == 0)
            axo__sched_wake_one(sched);
        return cell;
    }
    return NULL;
}

/* The common case is an empty injector: one load of its count, whose line no thread writes then. */
static inline axo__cell *find_from_inject(axo__worker *worker, axo__inject *inject, uint64_t bit)
{
    if (axo__likely(!axo__inject_has_any(inject)))
        return NULL;
    return find_from_inject_slow(worker, inject, bit);
}

bool axo__worker_next_goes_on(axo__worker *worker)
{
    uint64_t turn = axo__worker_turn(worker);
    if (worker->next_end == 0)
        worker->next_end = turn + AXO__NEXT_RUNS_MAX;
    return turn < worker->next_end;
}

/* The next slot is cleared with a plain store although a thief may have loaded it ([W3] in
 * steal.c): both hold the entry then, and the claim decides. A cell that has to wait goes to the
 * back of the ready queue. */
static axo__cell *find_from_next(axo__worker *worker)
{
    axo__cell *cell = axo__aptr_load_relaxed(&worker->next);
    if (cell == NULL)
        return NULL;
    axo__aptr_store_relaxed(&worker->next, NULL);
    if (axo__worker_next_goes_on(worker))
        return axo__worker_claim(worker, cell);
    axo__worker_push_back(worker, cell);
    return NULL;
}

/* The youngest newborn; each AXO__NEWBORN_OLDEST-th time the oldest, so that the entry at the
 * bottom is reached although younger newborns keep coming. */
static axo__cell *find_from_newborns(axo__worker *worker)
{
    if (axo__likely(axo__newborn_is_empty_owner(worker)))
        return NULL;
    worker->newborn_runs++;
    bool oldest = ++worker->newborn_turns % AXO__NEWBORN_OLDEST == 0;
    axo__cell *cell = axo__unlikely(oldest) ? axo__newborn_oldest_owner(worker)
                                            : axo__newborn_youngest_owner(worker);
    if (cell != NULL)
        axo__worker_offer_newborns(worker);
    return cell;
}

/* Moves the oldest entry of the overrun injector into the place that has come free in this worker's
 * overrun queue. So overrun cells keep their order, first in, first out, across queue and
 * injector. */
static void find_refill_overrun(axo__worker *worker)
{
    axo__mpsc_node *node = NULL;
    AXO_DEBUG_ASSERT(worker->own != NULL); /* only a worker with queues has a free place */
    if (axo__inject_pop_any(&worker->sched->overrun, &node) != AXO__INJECT_ITEM)
        return;
    axo__cell *cell = axo__cell_of_inject(node);
    axo__state_injected(&cell->state, AXO__INJECTED);
    axo__worker_push_overrun(worker, cell);
}

/* An overrun cell. Each of its messages may take long, so the clock is read after each; the reading
 * here is the start of the turn, by which find_clock_shares judges it. */
static __attribute__((noinline)) axo__cell *find_from_overrun(axo__worker *worker)
{
    axo__inject *more = &worker->sched->overrun;
    axo__cell *cell = find_from_queue(worker, &worker->overrun);
    if (axo__unlikely(axo__inject_has_any(more))) {
        if (cell != NULL)
            find_refill_overrun(worker);
        else
            cell = find_from_inject(worker, more, AXO__INJECTED);
    }
    if (cell == NULL)
        return NULL;
    axo__worker_read_clock(worker);
    worker->clock_stride = 1;
    worker->until_clock = 1;
    worker->overrun_clock = worker->now;
    return cell;
}

/* A follower. The reading here is the start of the turn, by which axo__follow_push judges it. */
static __attribute__((noinline)) axo__cell *find_from_followers(axo__worker *worker)
{
    axo__cell *cell = axo__follow_take(worker, worker);
    if (cell == NULL)
        return NULL;
    axo__worker_read_clock(worker);
    worker->follow_clock = worker->now;
    return cell;
}

/* Overrun cells and followers that have waited for long, in front of other cells. */
static __attribute__((noinline)) axo__cell *find_late(axo__worker *worker)
{
    axo__cell *cell = NULL;
    if ((worker->attention & AXO__LOOK_OVERRUN) != 0) {
        worker->attention &= ~(uint32_t)AXO__LOOK_OVERRUN;
        cell = find_from_overrun(worker);
    }
    if (cell == NULL && (worker->attention & AXO__LOOK_FOLLOW) != 0) {
        worker->attention &= ~(uint32_t)AXO__LOOK_FOLLOW;
        cell = find_from_followers(worker);
    }
    return cell;
}

/* ---- the order of the places: the table in sched/ready.h ---- */

static inline bool find_has_urgent(const axo__worker *worker)
{
    return !axo__runq_is_empty_any(&worker->urgent) || axo__inject_has_any(&worker->sched->urgent);
}

static axo__cell *find_from_urgent_inject(axo__worker *worker)
{
    return find_from_inject(worker, &worker->sched->urgent, AXO__URGENT_INJECTED);
}

/* The worker's own urgent lane, then the pool's urgent injector; each AXO__URGENT_TURNS urgent
 * cells in a row the injector goes first, since a parent and a child that fails may keep the lane
 * full. Urgent entries that stay behind in the lane are offered to others, since the turn that
 * begins now may take long. */
axo__cell *axo__worker_find_urgent(axo__worker *worker)
{
    axo__cell *cell = NULL;
    if (worker->urgent_runs % AXO__URGENT_TURNS == AXO__URGENT_TURNS - 1)
        cell = find_from_urgent_inject(worker);
    if (cell == NULL)
        cell = find_from_queue(worker, &worker->urgent);
    if (cell == NULL)
        return find_from_urgent_inject(worker);
    axo__worker_offer_urgent(worker);
    return cell;
}

/* What goes first each AXO__INJECT_TURNS turns: the injector, and behind it, or every second time
 * before it, an overrun cell or a follower that has waited for long. */
static inline axo__cell *find_first(axo__worker *worker)
{
    uint64_t turn = axo__worker_turn(worker);
    if (axo__likely(turn - worker->inject_turn < AXO__INJECT_TURNS))
        return NULL;
    worker->inject_turn = turn;
    bool late = (worker->attention & AXO__LOOK_LATE) != 0;
    worker->late_first = late && !worker->late_first;
    axo__cell *cell = worker->late_first ? find_late(worker) : NULL;
    if (cell != NULL)
        worker->late_turn = turn + 1;
    if (cell == NULL)
        cell = find_from_inject(worker, &worker->sched->inject, AXO__INJECTED);
    if (cell == NULL && late)
        cell = find_late(worker);
    return cell;
}

/* Places 4 to 9; `others_first`: newborns, place 3, have gone first for long enough. */
static __attribute__((noinline)) axo__cell *find_others(axo__worker *worker, bool others_first)
{
    axo__sched *sched = worker->sched;
    axo__cell *cell;
    worker->newborn_runs = 0;
    if (axo__newborn_is_empty_owner(worker))
        worker->attention &= ~(uint32_t)AXO__LOOK_NEWBORN;
    cell = find_from_next(worker);
    if (cell != NULL)
        return cell;
    worker->next_end = 0;
    worker->next_clock = AXO__NEVER;
    cell = find_from_queue(worker, &worker->ready);
    if (cell == NULL)
        cell = find_from_inject(worker, &sched->inject, AXO__INJECTED);
    if (cell == NULL && others_first)
        cell = find_from_newborns(worker);
    if (cell == NULL)
        cell = find_from_overrun(worker);
    if (axo__unlikely(cell == NULL && axo__follow_has_any(worker)))
        cell = find_from_followers(worker);
    return cell;
}

/* Places 3 to 9. After AXO__NEWBORN_RUNS_MAX newborns in a row places 4 to 6 go first. */
static axo__cell *find_ready(axo__worker *worker)
{
    axo__cell *cell = find_first(worker);
    if (axo__unlikely(cell != NULL))
        return cell;
    bool others_first = worker->newborn_runs >= AXO__NEWBORN_RUNS_MAX;
    if (!others_first && (cell = find_from_newborns(worker)) != NULL)
        return cell;
    return find_others(worker, others_first);
}

/* So many urgent cells in a row are a storm: the second half of them is measured. */
static __attribute__((noinline)) void find_storm(axo__worker *worker)
{
    axo__worker_read_clock(worker);
    worker->urgent_clock = worker->now;
}

/* A cell has its turn between urgent cells: for as long as those before it took, by the second half
 * of them, so that neither a storm of failures starves messages, nor messages the storm's end. The
 * clock is read after each message of the turn; where time ends no turn, so that each run is the
 * same, it ends none of these. */
static __attribute__((noinline)) void find_between_urgent(axo__worker *worker)
{
    axo__worker_offer_urgent(worker);
    if (worker->sched->quantum_ns == AXO__QUANTUM_NEVER)
        return;
    axo__worker_read_clock(worker);
    worker->between_turn = axo__worker_turn(worker) + 1;
    worker->between_until = axo__clock_add(worker->now, 2 * (worker->now - worker->urgent_clock));
    worker->clock_stride = 1;
    worker->until_clock = 1;
}

/* Urgent cells first, at most AXO__URGENT_RUNS_MAX in a row: then one other cell has a turn, if
 * there is one. */
axo__cell *axo__worker_find(axo__worker *worker)
{
    AXO_DEBUG_ASSERT(worker->current == NULL);
    axo__cell *cell = NULL;
    if (axo__likely(!find_has_urgent(worker))) {
        worker->urgent_runs = 0;
        worker->attention &= ~(uint32_t)AXO__LOOK_URGENT;
        return find_ready(worker);
    }
    if (axo__unlikely(worker->urgent_runs >= AXO__URGENT_RUNS_MAX)) {
        worker->urgent_runs = 0;
        cell = find_ready(worker);
        if (cell != NULL) {
            find_between_urgent(worker);
            return cell;
        }
    }
    cell = axo__worker_find_urgent(worker);
    if (cell != NULL) {
        if (axo__unlikely(++worker->urgent_runs == AXO__URGENT_RUNS_MAX / 2))
            find_storm(worker);
        worker->attention |= AXO__LOOK_URGENT;
        return cell;
    }
    worker->urgent_runs = 0;
    return find_ready(worker);
}

/* Between two turns the worker holds no cell, so it declares itself quiescent to the reclaimer
 * here, as it does at the start of a step. */
axo__cell *axo__worker_find_next(axo__worker *worker)
{
    axo__grace_quiet();
    axo__cell *cell = axo__worker_find(worker);
    if (axo__unlikely((worker->attention & AXO__LOOK_QUIET) != 0))
        axo__worker_offer_quiet(worker);
    return cell;
}
