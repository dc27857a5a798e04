/* decide.c - the model's arithmetic: budgets and back-offs. */
#include "decide.h"

/* The runtime reads the clock a little after the event that is seen here. */
#define DECIDE_BLUR INT64_C(400)

static axo_scope model_scope(const ghost *parent)
{
    return parent->strategy != NULL ? parent->strategy->scope : AXO_ONE_FOR_ONE;
}

ghost *model_reach(const ghost *parent, ghost *child, const ghost **last)
{
    axo_scope scope = model_scope(parent);
    *last = scope == AXO_ALL_FOR_ONE ? NULL : child;
    return scope == AXO_ONE_FOR_ONE ? child : ghost_at(parent->first_child);
}

static decide_answer decide_sliding(const axo_strategy *how, ghost_record *record, int64_t now)
{
    uint32_t young = 0;
    bool edge = false;
    for (uint32_t i = 0; i < record->restarts; i++) {
        int64_t age = now - record->failures[i];
        edge = edge || (age > how->within_ns - DECIDE_BLUR && age < how->within_ns + DECIDE_BLUR);
        if (age < how->within_ns)
            record->failures[young++] = record->failures[i];
    }
    record->failures[young++] = now;
    record->restarts = young;
    if (edge)
        return DECIDE_EITHER;
    if (young <= (uint32_t)how->retries_max)
        return DECIDE_YES;
    record->restarts = 0;
    return DECIDE_NO;
}

static decide_answer decide_fixed(const axo_strategy *how, ghost_record *record, int64_t now)
{
    uint32_t most = how->retries_max >= 0 ? (uint32_t)how->retries_max : 1;
    int64_t age = now - record->start;
    if (how->within_ns < 0)
        return record->restarts++ < most ? DECIDE_YES : DECIDE_NO;
    if (record->limited && age > how->within_ns - DECIDE_BLUR && age < how->within_ns + DECIDE_BLUR)
        return DECIDE_EITHER;
    if (!record->limited || age > how->within_ns) {
        record->limited = true;
        record->start = now;
        record->restarts = 1;
        return DECIDE_YES;
    }
    if (record->restarts >= most) {
        record->restarts = most + 1;
        return DECIDE_NO;
    }
    return ++record->restarts <= most ? DECIDE_YES : DECIDE_NO;
}

/* One child's budget takes the restart in. */
static decide_answer decide_one(const axo_strategy *how, ghost_record *record, int64_t now)
{
    if (how == NULL || how->limited == 0)
        return DECIDE_YES;
    if (how->retries_max == 0)
        return DECIDE_NO; /* RW-04 */
    if (record->unsure)
        return DECIDE_EITHER;
    decide_answer answer = how->window == AXO_WINDOW_SLIDING ? decide_sliding(how, record, now)
                                                             : decide_fixed(how, record, now);
    record->unsure = answer == DECIDE_EITHER;
    if (answer == DECIDE_NO)
        probe_hit(PROBE_BUDGET_SPENT);
    if (answer == DECIDE_YES && record->restarts == (uint32_t)how->retries_max)
        probe_hit(PROBE_BUDGET_LAST);
    return answer;
}

decide_answer model_permits(const ghost *parent, ghost *child, int64_t now)
{
    const ghost *last;
    decide_answer all = DECIDE_YES;
    for (ghost *one = model_reach(parent, child, &last); one != NULL;
         one = one != last ? ghost_at(one->next_child) : NULL) {
        if (one->stop_told || one->lifetime == AXO_TEMPORARY)
            continue;
        decide_answer answer = one->wild || one->unsure
                                   ? DECIDE_EITHER
                                   : decide_one(parent->strategy, &one->record, now);
        if (answer == DECIDE_NO)
            all = DECIDE_NO;
        else if (answer == DECIDE_EITHER && all == DECIDE_YES)
            all = DECIDE_EITHER;
    }
    return all;
}

/* ---- back-off ---- */

static bool decide_lasts(const axo_backoff *how, uint32_t tries, int64_t wait)
{
    double most = how->max_ns > 0 ? (double)how->max_ns : 1e18;
    double factor = how->factor > 0 ? how->factor : 2;
    bool linear = how->kind == AXO_BACKOFF_LINEAR;
    double least =
        linear ? (double)how->min_ns * (tries + 1.0) : (double)how->min_ns * pow(factor, tries);
    least = least < most ? least : most;
    double longest = linear ? least + (double)how->noise_ns : least * (1 + how->jitter);
    return (double)wait >= least - 1 && (double)wait <= longest + 1;
}

void model_delay(ghost *it, const axo_event *e)
{
    ghost *child = ghost_find(it->decided);
    int64_t wait = (int64_t)e->arg;
    HOLDS(21, it, child != NULL && child->failed && child->due == 0, "a delay of nothing");
    HOLDS(21, it, wait > 0, "a delay of no time");
    const axo_backoff *how = it->strategy != NULL ? it->strategy->backoff : NULL;
    HOLDS(21, it, how != NULL, "a delay without a back-off");
    ghost_record *record = &child->record;
    bool linear = how->kind == AXO_BACKOFF_LINEAR;
    int64_t quiet = linear ? how->window_ns : how->reset_after_ns;
    if (!linear && quiet == 0)
        quiet = how->min_ns;
    bool may = quiet >= 0 && e->time_ns - record->since >= quiet - DECIDE_BLUR;
    bool must = quiet >= 0 && e->time_ns - record->since_most >= quiet + DECIDE_BLUR;
    bool kept = !must && decide_lasts(how, record->tries, wait);
    bool reset = (may || record->tries == 0) && decide_lasts(how, 0, wait);
    HOLDS(21, child, kept || reset, "a delay out of its back-off's bounds");
    if (kept && reset && record->tries > 0)
        record->since = INT64_MIN / 2; /* either: the next may be a reset too */
    record->tries = kept ? record->tries + 1 : 1;
    record->since = record->since < 0 ? record->since : e->time_ns;
    record->since_most = e->time_ns;
    child->due = e->time_ns - DECIDE_BLUR + wait; /* the clock was read before the event */
    child->delayed = true;
    g.delayed++;
    /* Of two that are due together the order is not seen. */
    for (ghost *one = ghost_at(it->first_child); one != NULL && model_scope(it) != AXO_ONE_FOR_ONE;
         one = ghost_at(one->next_child))
        one->wild = true;
}

/* ---- turns ---- */

/* Turns given for a time after `from`. */
static uint32_t decide_turns(int64_t from)
{
    const ghost_storm *storm = &g.storm;
    uint32_t known = storm->count < GHOST_TURNS ? storm->count : GHOST_TURNS;
    uint32_t after = 0;
    for (uint32_t i = 0; i < known; i++)
        after += storm->turns[i] > from;
    return after;
}

bool model_governs(const ghost *it)
{
    bool system = it->guardian && (it->bits & AXO__SLOT_MASK) == AXO_GUARDIAN_SYSTEM;
    return g.storm.most != 0 && !system;
}

/* What asked last has the latest place, so its turn is the latest but for the jitter of others. A
 * burst and the turns of a whole window are the most that a window can see. */
void model_turn(ghost *it, const axo_event *e)
{
    ghost_storm *storm = &g.storm;
    ghost *child = ghost_find(it->decided);
    int64_t wait = (int64_t)e->arg;
    int64_t turn = e->time_ns + wait;
    int64_t space = storm->window_ns / storm->most;
    HOLDS(70, it, child != NULL && child->failed && wait >= 0, "a turn of nothing");
    HOLDS(70, child,
          wait == 0 || decide_turns(e->time_ns - storm->window_ns - DECIDE_BLUR) >= storm->most,
          "a restart waits for its turn, and there is no storm");
    HOLDS(70, child,
          decide_turns(turn - storm->window_ns + space + DECIDE_BLUR) <= 2 * storm->most,
          "more restarts in a window than the governor allows");
    HOLDS(70, child, decide_turns(turn + space + DECIDE_BLUR) == 0, "a turn before an older one's");
    storm->turns[storm->count++ % GHOST_TURNS] = turn;
    if (wait == 0)
        return;
    storm->waited++;
    probe_hit(PROBE_STORM);
    child->due = turn - DECIDE_BLUR;
    child->delayed = true;
    g.delayed++;
    /* Of two that are due together the order is not seen. */
    for (ghost *one = ghost_at(it->first_child); one != NULL && model_scope(it) != AXO_ONE_FOR_ONE;
         one = ghost_at(one->next_child))
        one->wild = true;
}

void model_delay_over(const ghost *parent, ghost *child)
{
    const axo_backoff *how = parent->strategy != NULL ? parent->strategy->backoff : NULL;
    child->delayed = false;
    if (how == NULL || how->kind != AXO_BACKOFF_EXPONENTIAL)
        return;
    if (child->record.since >= 0)
        child->record.since = child->due;
    child->record.over = true;
}
