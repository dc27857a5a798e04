/* keep.c - judges the hauls of a thief. */
#include "sched/keep.h"

void axo__keep_haul(axo__worker *worker, const axo__worker *victim, axo__keep what, uint32_t count)
{
    worker->haul = (axo__haul){.count = count,
                               .what = what,
                               .at = worker->now,
                               .turn = axo__worker_turn(worker),
                               .victim = victim,
                               .victim_turn = axo__worker_turn(victim)};
}

/* Whether the haul says anything: a crowd of cells that its owner would have come to as soon.
 * Behind a callback that lasts they were well stolen. Newborns tell even then: a callback that
 * spawns them does not end before they are many. */
static bool keep_tells(const axo__haul *haul)
{
    if (haul->what == AXO__KEEP_NEWBORNS)
        return haul->count > 0;
    return haul->count >= AXO__STEAL_MIN &&
           axo__worker_turn(haul->victim) - haul->victim_turn >= haul->count;
}

/* What the haul had to be worth, for so many turns; AXO__STEAL_MIN cells more, for the steal
 * itself. */
static int64_t keep_price(const axo__worker *worker, const axo__haul *haul, uint64_t turns)
{
    int64_t cells = (int64_t)haul->count + AXO__STEAL_MIN;
    if (haul->what != AXO__KEEP_READY)
        return cells * AXO__CARRY_NS(worker->line_ns);
    return cells * AXO__CARRY_READY_NS + (int64_t)turns * AXO__CARRY_TURN_NS(worker->line_ns);
}

/* Whether the work has moved, rather than been shared: who asks for more of it has come along, and
 * the victim has run dry. */
static bool keep_moved(const axo__haul *haul, uint64_t turns)
{
    uint64_t theirs = axo__worker_turn(haul->victim) - haul->victim_turn;
    return turns > 2 * (uint64_t)haul->count && theirs < turns / 2;
}

/* Up by an eighth of the difference and down by a sixty-fourth: a line that somebody has read since
 * comes sooner, and a reading during which the thread was kept off tells little. */
void axo__keep_line(axo__worker *worker, int64_t ns)
{
    if (ns > AXO__LINE_MAX_NS)
        ns = AXO__LINE_MAX_NS;
    worker->line_ns += (ns - worker->line_ns) / (ns > worker->line_ns ? 8 : 64);
}

void axo__keep_judge(axo__worker *worker)
{
    const axo__haul haul = worker->haul;
    int64_t *keep_ns = &worker->keep_ns[haul.what];
    worker->haul.count = 0;
    if (axo__likely(!keep_tells(&haul)))
        return;
    int64_t busy = worker->now - haul.at;
    uint64_t turns = axo__worker_turn(worker) - haul.turn;
    if (busy >= keep_price(worker, &haul, turns) && !keep_moved(&haul, turns)) {
        if (*keep_ns > AXO__WATCH_MIN_NS)
            *keep_ns /= 2;
        return;
    }
    axo__a64_store_relaxed(&worker->sched->keep_until[haul.what],
                           (uint64_t)(worker->now + *keep_ns));
    *keep_ns *= 2;
    if (*keep_ns > AXO__KEEP_MAX_NS)
        *keep_ns = AXO__KEEP_MAX_NS;
}
