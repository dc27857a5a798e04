/* look.c - what is looked at between two steps, and at rest. */
#include "look.h"

#include "sched/keyed_timer.h"
#include "system/pools.h"

#define LOOK_SELDOM 256

/* Steps beside its share in which a runnable cell may wait: a thread is starved for so long. With
 * tiny limits a crowd that ends has a turn for every two dead letters. */
#ifdef AXO_HARD
#define LOOK_PATIENCE 6000
#else
#define LOOK_PATIENCE 3000
#endif

#define LOOK_STARVED 30000 /* where a strategy starves threads on purpose */

look l;

bool look_unfair; /* of this run's strategy */

void look_reset(void)
{
    l.system = NULL;
    l.living_count = 0;
    l.turn_worker = NULL;
}

axo__cell *look_at(const ghost *it)
{
    return axo__table_in(&l.system->core.table, (uint32_t)(it->bits & AXO__SLOT_MASK));
}

bool look_is_over(const ghost *it)
{
    return it->terminated ||
           axo__table_find(&l.system->core.table, (axo_ref){.bits = it->bits}) == NULL;
}

void look_life(const ghost *it, uint32_t kind)
{
    if (kind == AXO_EV_RECEIVE)
        l.runnable_since[it->self] = 0; /* it has run */
    if (kind == AXO_EV_SPAWN) {
        l.place[it->self] = l.living_count;
        l.runnable_since[it->self] = 0;
        l.living[l.living_count++] = it->self;
    } else if (kind == AXO_EV_TERMINATED) {
        uint32_t last = l.living[--l.living_count];
        l.living[l.place[it->self]] = last;
        l.place[last] = l.place[it->self];
    }
}

/* ---- at an event ---- */

/* The turn has flooded a consumer of some worker, as far as its own worker knows: if it leaves
 * messages, the cell follows there. Where an entry lies is nobody's business but a worker's. */
static void look_flood(axo__worker *worker, axo__cell *cell)
{
    uint64_t turn = axo__worker_turn(worker);
    uint64_t mixed = (turn + 1) * (cell->slot + UINT64_C(3)) * UINT64_C(0x9e3779b97f4a7c15) >> 40;
    if ((worker->attention & AXO__LOOK_FOREIGN) != 0 || cell->elsewhere || mixed % 4 != 0)
        return;
    worker->follow_turn = worker->clock_turn = turn;
    worker->turn_clock = worker->now;
    worker->follow_sends = AXO__FOLLOW_SENDS;
    worker->follow_here = false;
    worker->follow_cell = cell;
    uint32_t leader = (uint32_t)(mixed / 4 % worker->sched->worker_count) + 1;
    uint32_t when = (uint32_t)(worker->now >> 20) & UINT16_MAX;
    axo__a32_store_relaxed(&cell->state.behind, when << 16 | leader);
}

/* System work that has come is seen to first, and no more messages than a turn has. */
static void look_received(const ghost *it, axo__cell *cell)
{
    axo__worker *worker = axo__self;
    look_flood(worker, cell);
    bool urgent = (axo__state_look(&cell->state) & AXO__URGENT) != 0 ||
                  (cell->attention & AXO__ATTENTION_SYSTEM) != 0;
    HOLDS(40, it, cell->bounded || !urgent, "a message before system work that has come");
    if (worker != l.turn_worker || axo__worker_turn(worker) != l.turn ||
        g.step != l.turn_step)
        l.turn_messages = 0;
    l.turn_worker = worker;
    l.turn_step = g.step;
    l.turn = axo__worker_turn(worker);
    uint32_t most = worker->sched->quantum << worker->sched->backlog_turns_max;
    if (worker->ahead_turn == l.turn)
        most++; /* the one behind a restart, which is one message a turn */
    HOLDS(50, it, ++l.turn_messages <= most, "more messages in a turn than its quantum");
}

void look_event(const ghost *it, const axo_event *e)
{
    if (l.system == NULL || it == NULL || it->terminated)
        return;
    axo__cell *cell = look_at(it);
    HOLDS(6, it, (axo__state_look(&cell->state) & AXO__RUNNING) != 0,
          "an event of a cell that nobody is in");
    if (e->kind == AXO_EV_RECEIVE)
        look_received(it, cell);
}

/* ---- after a step ---- */

static bool look_private(const axo__cell *cell)
{
    const axo__sched *sched = axo__cell_sched(cell);
    for (uint32_t i = 0; i < sched->worker_count + sched->spare_count; i++) {
        const axo__worker *worker = axo__sched_worker(sched, i);
        if (worker == NULL)
            break;
        if (axo__aptr_load_relaxed(&worker->next) == cell)
            return true;
        uint32_t top = axo__a32_load_relaxed(&worker->newborn_top);
        for (uint32_t at = axo__a32_load_relaxed(&worker->newborn_floor); at != top; at++) {
            if (axo__aptr_load_relaxed(&worker->newborns[at % AXO__NEWBORNS]) == cell)
                return true;
        }
    }
    return false;
}

static void look_nodes(const ghost *it, const axo__cell *cell, uint64_t word)
{
    uint8_t bits = q.injected[cell->slot % QUEUE_NODES];
    HOLDS(2, it, ((word & AXO__INJECTED) != 0) == ((bits & 1) != 0),
          "its node is in the injector, and its word does not say so, or the other way");
    HOLDS(2, it, ((word & AXO__URGENT_INJECTED) != 0) == ((bits & 2) != 0),
          "its node is in the urgent injector, and its word does not say so, or the other way");
}

/* Between two turns: the rest waits for the next one. One that has come further has run. */
static void look_portion(const ghost *it, const axo__cell *cell)
{
    if ((cell->attention & AXO__ATTENTION_REST) == 0)
        return;
    probe_hit(cell->phase == AXO__PHASE_BURYING ? PROBE_END_IN_PORTIONS : PROBE_LANE_IN_PORTIONS);
    const axo__extra *extra = axo__cell_extra(cell);
    const axo__family *family = axo__cell_family(cell);
    uint64_t stands = extra == NULL ? 0 : extra->lane ^ extra->unturned << 1;
    if (family != NULL && family->sweep.ops != NULL && family->sweep.next != NULL)
        stands ^= (uint64_t)family->sweep.next->slot << 48;
    if (stands != l.portion[it->self])
        l.runnable_since[it->self] = 0;
    l.portion[it->self] = stands;
}

static bool look_has_work(uint64_t word)
{
    return (word & AXO__CLOSED) == 0 &&
           ((word & AXO__URGENT) != 0 || (axo__state_free(word) && axo__state_has(word)));
}

static void look_cell(const ghost *it)
{
    const axo__cell *cell = look_at(it);
    uint64_t word = axo__state_look(&cell->state);
    look_nodes(it, cell, word);
    look_portion(it, cell);
    HOLDS(9, it, axo__state_suspends(&cell->state) == it->suspends,
          "the cell's suspend count is not the ghost's");
    bool leaves = it->broken && !it->post_stopped && cell->phase == AXO__PHASE_RECREATING;
    for (uint64_t key = 0; key < 3 && leaves; key++)
        HOLDS(51, it, !axo__keyed_timer_is_there(cell, key), "a crashed instance has a timer");
    bool newborn = it->unsure && (word & AXO__RUNNING) != 0;
    HOLDS(3, it, newborn || (word & AXO__RUNNING) == 0, "nobody runs, and its word says RUNNING");
    if (newborn)
        return;
    HOLDS(9, it, ((word & AXO__HELD) != 0) == (it->suspends > 0), "HELD is not what its count is");
    bool work = look_has_work(word);
    uint64_t *since = &l.runnable_since[it->self];
    if (!work) {
        *since = 0;
        return;
    }
    bool queued = q.entries[cell->slot % QUEUE_NODES] > 0 ||
                  q.injected[cell->slot % QUEUE_NODES] != 0 || look_private(cell);
    HOLDS(3, it, queued, "it has work, and no entry is queued for it");
    uint64_t *share = &l.share[it->self]; /* the largest since: it has waited behind so many */
    if (*since == 0 || l.system->core.manual || l.system->core.lent) { /* who runs is chosen */
        *since = g.step;
        *share = 0;
    }
    uint64_t now = (uint64_t)l.living_count * l.system->sched.quantum * 16; /* of many threads */
    *share = now > *share ? now : *share;
    HOLDS(49, it, g.step - *since <= *share + (look_unfair ? LOOK_STARVED : LOOK_PATIENCE),
          "it has work, and does not run");
}

static void look_parked(const axo__sched *sched)
{
    uint32_t parked = 0;
    for (uint32_t i = 0; i < sched->worker_count; i++) {
        const axo__worker *worker = axo__sched_worker(sched, i);
        if (worker == NULL)
            break;
        parked += axo__a32_load_relaxed(&worker->state) == AXO__WORKER_PARKED;
    }
    HOLDS_ALL(47, parked == axo__a32_load_relaxed(&sched->parked),
              "%" PRIu32 " workers are parked, the pool counts %" PRIu32, parked,
              axo__a32_load_relaxed(&sched->parked));
    HOLDS_ALL(47, axo__a32_load_relaxed(&sched->searching) == 0,
              "nobody runs, and the pool counts searchers");
}

/* Between two steps nobody runs. The product's own answer, from where it looks; ours from each
 * cell's word and what the queues have been seen to take in. */
static void look_quiet(void)
{
    if (!axo__pools_look(l.system))
        return;
    for (uint32_t i = 0; i < l.living_count; i++) {
        const ghost *it = &g.all[l.living[i]];
        HOLDS(77, it, !look_has_work(axo__state_look(&look_at(it)->state)),
              "nothing is queued, they say, and it has work");
    }
    HOLDS_ALL(77, queues_are_empty(), "nothing is queued, they say, and an entry is");
}

void look_step(void)
{
    if (l.system == NULL)
        return;
    look_parked(&l.system->sched);
    if (l.living_count > LOOK_SMALL && g.step % LOOK_SELDOM != 0)
        return;
    for (uint32_t i = 0; i < l.living_count; i++)
        look_cell(&g.all[l.living[i]]);
    for (const axo__sched *pool = l.system->pools; pool != NULL; pool = pool->next)
        look_parked(pool);
    look_quiet();
}

/* ---- at rest ---- */

void look_rest(void)
{
    for (uint32_t i = 0; i < l.living_count; i++) {
        const ghost *it = &g.all[l.living[i]];
        const axo__cell *cell = look_at(it);
        uint64_t word = axo__state_look(&cell->state);
        HOLDS(46, it, (word & (AXO__URGENT | AXO__READY | AXO__LANE | AXO__RUNNING)) == 0,
              "at rest, and its word shows work");
        HOLDS(46, it, axo__inbox_is_empty(&cell->inbox) && !axo__stack_has_any(&cell->system),
              "at rest, and there are messages in its lanes");
        HOLDS(46, it, axo__directives_look(&cell->directives) == 0,
              "at rest, and there are directives");
    }
    HOLDS_ALL(46, queues_are_empty(), "at rest, and an entry is queued");
    HOLDS_ALL(77, axo__pools_look(l.system), "at rest, and it is not said");
}
