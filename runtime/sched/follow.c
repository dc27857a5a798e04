/* follow.c - which cells are behind, which follow them, and where followers wait.
 *
 * The mark of a cell is a hint: the cell's runner writes it, a sender's worker may, and any sender
 * reads it, relaxed. An old one, also of the slot's former life, sends a follower to a worker that
 * no longer runs the consumer, and nothing else.
 */
#include "sched/follow.h"

#include "sched/claim.h"
#include "sched/ready.h"
#include "sched/send.h"
#include "sched/wake.h"

/* A mark is the leader's number plus one, or FOLLOW_REST while nobody follows; and above these 16
 * bits since when, in units of 2^20 ns, modulo 2^16. */
#define FOLLOW_REST UINT32_C(0xffff)

static uint32_t follow_mark(uint32_t what, int64_t now)
{
    return what | ((uint32_t)(now >> 20) & UINT16_MAX) << 16;
}

/* Whether the mark is older than `most` ns. */
static bool follow_is_old(uint32_t mark, int64_t now, int64_t most)
{
    uint32_t age = (uint32_t)(now >> 20) - (mark >> 16);
    return (age & UINT16_MAX) > most >> 20;
}

static bool follow_rests(uint32_t mark)
{
    return (mark & UINT16_MAX) == FOLLOW_REST;
}

/* This worker is the cell's leader from now on. */
static void follow_lead(const axo__worker *worker, axo__cell *cell)
{
    uint32_t number = (uint32_t)(worker - worker->sched->workers) + 1;
    AXO_DEBUG_ASSERT(number <= worker->sched->worker_count && number < FOLLOW_REST);
    axo__a32_store_relaxed(&cell->state.behind, follow_mark(number, worker->now));
}

static axo__worker *follow_leader(const axo__sched *sched, uint32_t mark)
{
    return &sched->workers[(mark & UINT16_MAX) - 1];
}

/* One message that is left may be the cell's own, by which it goes on: that is no backlog. */
void axo__follow_behind(const axo__worker *worker, axo__cell *cell)
{
    const axo__message *first = cell->inbox.first;
    uint32_t mark = axo__a32_load_relaxed(&cell->state.behind);
    AXO_DEBUG_ASSERT(axo__state_is_running(&cell->state));
    if ((worker->attention & AXO__LOOK_FOREIGN) != 0 ||
        worker->sched->quantum_ns == AXO__QUANTUM_NEVER)
        return;
    if (follow_rests(mark) && !follow_is_old(mark, worker->now, AXO__FOLLOW_REST_NS))
        return;
    if (cell->inbox.rest != NULL || (first != NULL && first->node.next != NULL))
        follow_lead(worker, cell);
}

/* A consumer in this worker's next slot is run here next. If its former leader has no followers
 * left, this worker leads; else the producers gather there, not here and there. */
bool axo__follow_sent(axo__worker *worker, axo__cell *cell, uint32_t mark)
{
    uint64_t turn = axo__worker_turn(worker);
    if ((worker->attention & AXO__LOOK_FOREIGN) != 0 || cell->elsewhere ||
        cell == worker->current || follow_rests(mark))
        return false;
    if (worker->follow_turn != turn) {
        worker->follow_turn = turn;
        worker->follow_sends = 0;
    }
    if (++worker->follow_sends != AXO__FOLLOW_SENDS)
        return true;
    const axo__worker *leader = follow_leader(worker->sched, mark);
    axo__worker_yield(worker);
    worker->follow_cell = cell;
    bool next = axo__aptr_load_relaxed(&worker->next) == cell;
    if (next && leader != worker && !axo__follow_has_any(leader))
        follow_lead(worker, cell);
    bool rests = (axo__state_look(&cell->state) & AXO__RUNNING) == 0;
    worker->follow_here = next || (leader == worker && rests);
    return true;
}

/* Whether the producer's turn was short. axo__worker_yield has had the clock read at the end of the
 * turn's last message, and find_clock_shares knows the reading before the turn. */
static bool follow_is_short(axo__worker *worker)
{
    int64_t took = worker->now - worker->turn_clock;
    int64_t sends = worker->follow_sends;
    if (worker->clock_turn != axo__worker_turn(worker) || took > sends * AXO__FOLLOW_FAR_NS)
        return false;
    if (!worker->follow_here)
        return true;
    if (took <= sends * AXO__FOLLOW_NEAR_NS) {
        worker->follow_slow = 0;
        return true;
    }
    if (++worker->follow_slow < AXO__FOLLOW_SLOW_MAX)
        return true;
    worker->follow_slow = 0;
    axo__a32_store_relaxed(&worker->follow_cell->state.behind,
                           follow_mark(FOLLOW_REST, worker->now));
    return false;
}

/* The count of the leader's queue is the read-modify-write (6) of sched/wake.h, and the leader
 * reads it in its last look (3): so it finds the entry, or is found parked here. */
bool axo__follow_push(axo__worker *worker, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(worker->current == NULL && worker->own != NULL);
    if (worker->follow_sends < AXO__FOLLOW_SENDS || !axo__worker_is_watched(worker))
        return false;
    uint32_t mark = axo__a32_load_relaxed(&worker->follow_cell->state.behind);
    if (mark == 0 || follow_rests(mark) || follow_is_old(mark, worker->now, AXO__FOLLOW_NS) ||
        !follow_is_short(worker))
        return false;
    axo__worker *leader = follow_leader(worker->sched, mark);
    axo__claim_inject(&leader->followers, cell);
    if (leader != worker)
        (void)axo__sched_wake_worker(leader);
    return true;
}

/* INJECTED is cleared before the claim, as find_from_inject_slow does. */
axo__cell *axo__follow_take(axo__worker *worker, axo__worker *leader)
{
    axo__mpsc_node *node = NULL;
    while (axo__inject_pop_any(&leader->followers, &node) == AXO__INJECT_ITEM) {
        axo__cell *cell = axo__cell_of_inject(node);
        axo__state_injected(&cell->state, AXO__INJECTED);
        if (axo__worker_claim(worker, cell) != NULL)
            return cell;
    }
    return NULL;
}

axo__cell *axo__follow_steal(axo__worker *worker, axo__worker *leader, bool aged)
{
    if (axo__likely(!axo__follow_has_any(leader)))
        return NULL;
    if (!aged && axo__a32_load_relaxed(&leader->state) == AXO__WORKER_AWAKE)
        return NULL;
    return axo__follow_take(worker, leader);
}
