/* steal.c - cells of other workers.
 *
 * A worker without work looks through the others once, from a random place on, and takes up to half
 * of the first queue that may be stolen from. A short queue is left to its owner as long as the
 * owner moves, so that two workers do not hand one cell to and fro; the owner's pace since the
 * thief last parked (`seen`) says whether the last entry would wait for long.
 *
 * An entry that a thief takes is a hint as any other: the claim of the cell's word decides.
 */
#include "sched/steal.h"

#include "base/probe.h"
#include "sched/claim.h"
#include "sched/follow.h"
#include "sched/keep.h"
#include "sched/newborn.h"
#include "sched/pool.h"
#include "sched/wake.h"

/* Keeps a taken entry: the first cell that can be claimed is to be run, and further entries go into
 * a queue of this worker, where other thieves find them. */
static axo__cell *steal_keep(axo__worker *worker, axo__runq *to, axo__cell *mine, axo__cell *cell)
{
    axo__a64_bump_owner(&worker->local.count.steals);
    if (mine == NULL)
        return axo__worker_claim(worker, cell);
    if (axo__runq_push_owner(to, cell))
        return mine;
    if (to == &worker->urgent)
        axo__sched_push_urgent_any(worker->sched, cell);
    else
        axo__sched_push_ready_any(worker->sched, cell);
    return mine;
}

/* Half of a queue, so that its owner keeps work too, and at most AXO__STEAL_MAX entries, which
 * bounds this step. */
static uint32_t steal_share(uint32_t count)
{
    return (count + 1) / 2 < AXO__STEAL_MAX ? (count + 1) / 2 : AXO__STEAL_MAX;
}

/* Takes up to half of a queue. NULL: no entry led to a claimed cell. */
static axo__cell *steal_half(axo__worker *worker, axo__runq *from, axo__runq *to)
{
    uint32_t want = steal_share(axo__runq_count_any(from));
    axo__cell *mine = NULL;
    for (uint32_t i = 0; i < want; i++) {
        axo__cell *cell = axo__runq_take_any(from);
        if (cell == NULL)
            break;
        mine = steal_keep(worker, to, mine, cell);
    }
    return mine;
}

/* Takes up to half of the newborns, the oldest first; all of them may be looked at if their worker
 * is stuck, as the count may have missed some (newborn.c). */
static axo__cell *steal_newborns(axo__worker *worker, axo__worker *victim, bool stuck)
{
    uint32_t want = steal_share(axo__newborn_count_any(victim));
    axo__cell *mine = NULL;
    axo__keep_haul(worker, victim, AXO__KEEP_NEWBORNS, want);
    for (uint32_t i = 0; i < want || (stuck && mine == NULL); i++) {
        axo__cell *cell = axo__newborn_take_any(victim, stuck);
        if (cell == NULL)
            break;
        mine = steal_keep(worker, &worker->ready, mine, cell);
    }
    return mine;
}

/* Whether, at `turns` turns in `span` ns, the last of `queued` cells would wait for longer than
 * `most`. */
static bool steal_is_late(int64_t span, uint64_t turns, uint32_t queued, int64_t most)
{
    return span >= most && (uint64_t)span * queued >= turns * (uint64_t)most;
}

/* What a thief knows of its victim: how many turns in how long; and what is long. */
typedef struct steal_pace {
    uint64_t turns;
    int64_t span;
    int64_t most;
} steal_pace;

/* Whether `count` kept entries are to be taken all the same: the victim does not move, or the last
 * would wait for longer than any watch. */
static bool steal_kept(const steal_pace *pace, uint32_t count)
{
    int64_t most = pace->turns == 0 ? pace->most : AXO__WATCH_MAX_NS;
    return count > 0 && steal_is_late(pace->span, pace->turns, count, most);
}

/* Fewer than AXO__STEAL_MIN are taken only if the last of them would wait for long, at the pace of
 * the victim since this worker last parked. */
static bool steal_wants(const axo__worker *worker, const steal_pace *pace, axo__keep what,
                        uint32_t count)
{
    if (axo__keep_holds(worker, what))
        return steal_kept(pace, count);
    return count >= AXO__STEAL_MIN || steal_is_late(pace->span, pace->turns, count, pace->most);
}

/* A restart makes a crowd of cells urgent, of which a thief takes half at once as well: one by one
 * the two workers would meet at the ring for each. */
static axo__cell *steal_urgent(axo__worker *worker, axo__worker *victim, const steal_pace *pace)
{
    uint32_t count = axo__runq_count_any(&victim->urgent);
    if (count == 0 ||
        (axo__keep_holds(worker, AXO__KEEP_URGENT) && !steal_kept(pace, count)))
        return NULL;
    axo__keep_haul(worker, victim, AXO__KEEP_URGENT, steal_share(count));
    axo__cell *cell = steal_half(worker, &victim->urgent, &worker->urgent);
    if (!axo__runq_is_empty_any(&worker->urgent))
        worker->attention |= AXO__LOOK_URGENT;
    return cell;
}

/* The victim's turn. The load is timed: if the victim has begun a turn since this worker last
 * looked, its line has to come from there. */
static uint64_t steal_turn(axo__worker *worker, const axo__worker *victim, axo__seen *seen)
{
    int64_t begin = axo__os_now();
    uint64_t turn = axo__worker_turn(victim);
    int64_t end = axo__os_now();
    if (turn != seen->looked)
        axo__keep_line(worker, end - begin);
    seen->looked = turn;
    return turn;
}

/* Steals from one victim. Overrun cells are taken at once, and urgent ones unless they are kept
 * (keep.h). The next slot and followers are taken only if the victim has not begun a turn since
 * this worker last parked (`aged`). A victim with followers has its consumer beside them, which is
 * left to it for longer.
 *
 * The load of the slot acquires what axo__worker_push_ready released ([W2]). The thief does not
 * clear the slot: only its owner writes it, so the owner needs no atomic exchange, and the entry
 * that stays is stale. */
static axo__cell *steal_from(axo__worker *worker, axo__worker *victim)
{
    AXO_DEBUG_ASSERT(worker->seen != NULL && victim != worker);
    axo__seen *seen = &worker->seen[victim - worker->sched->workers];
    const steal_pace pace = {
        .turns = steal_turn(worker, victim, seen) - seen->turn,
        .span = worker->now - worker->seen_at,
        .most = axo__follow_has_any(victim) ? AXO__FOLLOW_LATE_NS : AXO__WATCH_MIN_NS};
    axo__cell *cell = steal_urgent(worker, victim, &pace);
    if (cell != NULL)
        return cell;
    bool aged = pace.span >= pace.most && pace.turns == 0;
    uint32_t newborns = axo__newborn_count_any(victim);
    uint32_t ready = axo__runq_count_any(&victim->ready);
    if (steal_wants(worker, &pace, AXO__KEEP_NEWBORNS, newborns))
        cell = steal_newborns(worker, victim, aged);
    if (cell == NULL && steal_wants(worker, &pace, AXO__KEEP_READY, ready)) {
        axo__keep_haul(worker, victim, AXO__KEEP_READY, steal_share(ready));
        cell = steal_half(worker, &victim->ready, &worker->ready);
    }
    if (cell == NULL)
        cell = steal_half(worker, &victim->overrun, &worker->overrun);
    if (cell == NULL)
        cell = axo__follow_steal(worker, victim, aged);
    if (cell != NULL)
        return cell;
    if (!aged)
        return NULL;
    cell = axo__aptr_load_acquire(&victim->next); /* [W3] */
    return cell != NULL ? axo__worker_claim(worker, cell) : NULL;
}

/* At most half of the workers search at a time: more would only meet each other. `searching` is
 * raised before the search and lowered before the worker parks: a pusher that still reads it, and
 * so wakes no worker, has pushed before the searcher's last look in park_look ([W1] of
 * sched/wake.h). The last searcher, if it has brought many entries into its own queues, wakes one
 * worker that may share them. */
axo__cell *axo__worker_steal(axo__worker *worker)
{
    axo__sched *sched = worker->sched;
    uint32_t count = sched->worker_count;
    if (count == 1 || sched->kind->shared)
        return NULL;
    axo__keep_judge(worker); /* also if it does not search */
    if (axo__a32_load_relaxed(&sched->searching) * 2 >= count)
        return NULL;
    worker->role = axo__idle_search(worker->role);
    (void)axo__a32_add_seq_cst(&sched->searching, 1); /* [W1] */
    uint32_t start = axo__random_below(&worker->random, count);
    axo__cell *cell = NULL;
    for (uint32_t i = 0; i < count && cell == NULL; i++) {
        axo__worker *victim = &sched->workers[(start + i) % count];
        if (victim != worker)
            cell = steal_from(worker, victim);
        if (cell != NULL)
            AXO__PROBE4(steal, worker->local.index, victim->local.index, cell,
                        axo__cell_ref(cell).bits);
    }
    uint32_t searching = axo__a32_add_seq_cst(&sched->searching, UINT32_MAX); /* [W1] */
    AXO_DEBUG_ASSERT(searching > 0);
    if (cell != NULL && searching == 1 &&
        (axo__runq_count_any(&worker->ready) >= AXO__STEAL_MIN ||
         axo__runq_count_any(&worker->overrun) > 0 || axo__runq_count_any(&worker->urgent) > 0))
        axo__sched_wake_one(sched);
    return cell;
}

/* For a spare: the victim is stuck, so no entry is too young to take. The load of the next slot
 * pairs with axo__worker_push_ready's store ([W2]); the slot stays as it is, as in steal_from. */
axo__cell *axo__worker_rescue(axo__worker *worker, axo__worker *victim, bool urgent_only)
{
    axo__cell *cell = axo__runq_take_any(&victim->urgent);
    if (cell != NULL && (cell = axo__worker_claim(worker, cell)) != NULL)
        return cell;
    if (urgent_only)
        return NULL;
    while ((cell = axo__runq_take_any(&victim->ready)) != NULL ||
           (cell = axo__runq_take_any(&victim->overrun)) != NULL) {
        if (axo__worker_claim(worker, cell) != NULL)
            return cell;
    }
    while ((cell = axo__newborn_take_any(victim, true)) != NULL) {
        if (axo__worker_claim(worker, cell) != NULL)
            return cell;
    }
    if ((cell = axo__follow_take(worker, victim)) != NULL)
        return cell;
    cell = axo__aptr_load_acquire(&victim->next); /* [W3] */
    return cell != NULL ? axo__worker_claim(worker, cell) : NULL;
}
