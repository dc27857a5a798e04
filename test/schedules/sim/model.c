/* model.c - the sequential reference model of supervision. */
#include "model.h"

/* ---- telling ---- */

static void model_tell(ghost *child, int32_t delta)
{
    child->wild = child->wild || child->unsure;
    child->told += delta;
}

void model_pause(ghost *top)
{
    top->wild = true;
}

void model_stop(ghost *child)
{
    child->wild = child->wild || child->unsure;
    child->stop_told = true;
}

static void model_stop_children(const ghost *it)
{
    for (ghost *child = ghost_at(it->first_child); child != NULL;
         child = ghost_at(child->next_child))
        model_stop(child);
}

void model_leave_children(const ghost *it)
{
    model_stop_children(it);
}

static void model_answer(ghost *child, axo_directive answer)
{
    uint64_t kind = child->cause.levels == 0 ? child->cause.kind_code >> 32 : AXO_FAILURE_NONE;
    bool unstarted = kind == AXO_FAILURE_INIT || kind == AXO_FAILURE_CRASH;
    child->wild = child->wild || child->unsure;
    if (child->stop_told)
        return;
    if (answer == AXO_RESUME && child->lifetime == AXO_TEMPORARY && unstarted) {
        if (kind == AXO_FAILURE_CRASH)
            probe_hit(PROBE_CRASH_STOPPED);
        model_stop(child); /* LT-05 */
        return;
    }
    child->answer = (uint8_t)answer;
    if (answer == AXO_RESTART && child->restart_told)
        child->parent_first = true;
}

/* A survivor, a sibling. */
static void model_restart(ghost *child, bool resolves)
{
    child->wild = child->wild || child->unsure;
    if (child->stop_told)
        return;
    if (child->lifetime == AXO_TEMPORARY) {
        model_stop(child); /* LT-03, LT-04 */
        return;
    }
    if (child->restart_told) { /* RR-11 */
        child->told--;
        child->merges++;
        probe_hit(PROBE_RESTARTS_MERGED);
    }
    child->restart_told = true;
    child->restart_resolves = child->restart_resolves || resolves;
    if (child->remaking)
        probe_hit(PROBE_RESUME_WAITING);
}

/* ---- deciding ---- */

static void model_carry_out(const ghost *parent, ghost *child)
{
    const ghost *last;
    for (ghost *one = model_reach(parent, child, &last); one != NULL;
         one = one != last ? ghost_at(one->next_child) : NULL) {
        if (one == child) {
            model_answer(child, AXO_RESTART);
        } else if (!one->stop_told) {
            model_tell(one, 1); /* AF-02 */
            model_restart(one, false);
        }
    }
}

static void model_stop_reached(const ghost *parent, ghost *child)
{
    const ghost *last;
    for (ghost *one = model_reach(parent, child, &last); one != NULL;
         one = one != last ? ghost_at(one->next_child) : NULL)
        model_stop(one);
}

static void model_decided(ghost *it, const axo_event *e)
{
    ghost *child = ghost_find(it->decided);
    switch ((axo_directive)(e->arg >> 32)) {
    case AXO_RESUME:
        model_answer(child, AXO_RESUME);
        return;
    case AXO_STOP:
        model_stop_reached(it, child);
        return;
    case AXO_RESTART:
        it->judged = true;
        return;
    case AXO_ESCALATE:
    case AXO_LATER:
        return;
    }
}

void model_said(axo_ref ref, axo_directive directive)
{
    ghost *child = ghost_find(ref.bits);
    ghost *it = child != NULL ? ghost_find(child->parent) : NULL;
    bool restarts = directive == AXO_RESTART;
    if (it == NULL || !it->judged || (!restarts && directive != AXO_STOP))
        return;
    it->judged = false;
    HOLDS(15, it, it->decided == child->bits, "what is said is of another than was decided on");
    if (child->lifetime == AXO_TEMPORARY) {
        HOLDS(18, child, !restarts, "a temporary actor is restarted");
        model_stop(child);
        return;
    }
    decide_answer answer = model_permits(it, child, g.time);
    if (answer == DECIDE_EITHER && !restarts)
        child->record.unsure = true;
    HOLDS(18, child, answer == DECIDE_EITHER || restarts == (answer == DECIDE_YES),
          restarts ? "restarted beyond its budget" : "refused within its budget");
    if (!restarts)
        model_stop_reached(it, child);
    else if (!model_governs(it) && (it->strategy == NULL || it->strategy->backoff == NULL))
        model_carry_out(it, child);
}

/* With a governor each restart is told of: those whose turn it is, too. */
static void model_waits(ghost *it, const axo_event *e)
{
    if (!model_governs(it)) {
        model_delay(it, e);
        return;
    }
    model_turn(it, e);
    if (e->arg == 0)
        model_carry_out(it, ghost_find(it->decided));
}

/* ---- delayed restarts ---- */

static bool model_is_told(const ghost *child)
{
    return (axo__directives_look(&look_at(child)->directives) & AXO__RESTART_OWN) != 0;
}

/* Its timer has fired, and nobody holds that back. */
static bool model_has_fired(const ghost *child)
{
    const axo__child_record *record = axo__cell_child_record(look_at(child));
    return record != NULL && record->delay != NULL && !record->delay->waits;
}

/* Carries out what was put off: of `own`, or (NULL) of a child but `other` that has been told, or
 * whose time is over; false: there is none. That it is not early is seen when it is resumed. */
static bool model_due(const ghost *parent, ghost *own, const ghost *other)
{
    ghost *due = own != NULL && own->delayed ? own : NULL;
    for (ghost *one = ghost_at(parent->first_child); one != NULL && due == NULL && own == NULL;
         one = ghost_at(one->next_child)) {
        if (one != other && one->delayed && model_is_told(one))
            due = one;
    }
    for (ghost *one = ghost_at(parent->first_child); one != NULL && due == NULL && own == NULL;
         one = ghost_at(one->next_child)) {
        if (one != other && one->delayed && !one->stop_told && model_has_fired(one))
            due = one;
    }
    if (due == NULL)
        return false;
    model_delay_over(parent, due);
    model_carry_out(parent, due);
    return true;
}

/* What was carried out has been told; first to those who had not been told by a sibling's. */
static void model_due_told(const ghost *parent)
{
    for (uint32_t second = 0; second < 2 && parent != NULL; second++) {
        for (ghost *one = ghost_at(parent->first_child); one != NULL;
             one = ghost_at(one->next_child)) {
            if (!one->delayed || !model_is_told(one))
                continue;
            uint64_t word = axo__directives_look(&look_at(one)->directives);
            if (second == 0 && (word & AXO__PARENT_FIRST) != 0)
                continue;
            (void)model_due(parent, one, NULL);
            one->parent_first = (word & AXO__PARENT_FIRST) != 0;
        }
    }
}

/* A sweep has not come to some children: what they are told, and when, the model does not know. Nor
 * of any, if it may have begun with a delay that was over. */
static void model_swept(const ghost *it)
{
    if (it == NULL || l.system == NULL || it->terminated)
        return;
    const axo__family *family = axo__cell_family(look_at(it));
    if (family == NULL || family->sweep.ops == NULL)
        return;
    const axo__cell *child = g.delayed > 0 ? family->children : family->sweep.next;
    for (; child != (g.delayed > 0 ? NULL : family->sweep.end); child = axo__cell_next(child)) {
        ghost *one = ghost_find(axo__cell_ref(child).bits);
        if (one != NULL)
            one->wild = true;
    }
}

static void model_untold_poison(ghost *it)
{
    HOLDS(75, it, it->poison != POISON_DUE || it->poison_told, "nobody is told of poison");
    it->poison = POISON_NO;
}

void model_before(const axo_event *e)
{
    ghost *actor = ghost_find(e->actor.bits);
    if (actor != NULL) {
        model_untold_poison(actor);
        model_swept(ghost_find(actor->parent));
    }
    ghost *it = g.delayed > 0 ? ghost_find(e->actor.bits) : NULL;
    if (g.delayed > 0 && e->kind == AXO_EV_SPAWN)
        model_due_told(ghost_find(e->arg));
    if (it == NULL)
        return;
    model_due_told(it);
    model_due_told(ghost_find(it->parent));
    if (e->kind == AXO_EV_DIRECTIVE && e->arg == AXO_RESTART && it->restart_told &&
        model_is_told(it))
        it->parent_first = true; /* its own is left, so this is the parent's: taken with its bits */
}

/* ---- poison ---- */

/* D58: its own restart counts the instance that has failed under a message; `own`: as far as is
 * known. What the model does not know, it hears. */
static void model_count(ghost *it, bool own)
{
    const ghost *parent = ghost_find(it->parent);
    const mail_mind *mind = mail_mind_of(it->bits);
    uint32_t most = parent->strategy != NULL ? parent->strategy->quarantine : 0;
    bool known = !it->wild && it->identity != 0;
    if (most == 0 || (known && (!own || !mind->counts)))
        return;
    ghost_record *record = &it->record;
    if (!known) {
        record->blurred = 2;
    } else if (record->blurred == 2) {
        record->blurred = 1;
    } else if (mind->print != record->print) {
        record->blurred = 0;
        record->failed = 0;
    }
    record->print = mind->print;
    record->failed++;
    if (record->blurred > 0)
        it->poison = POISON_PERHAPS;
    else if (record->failed >= most)
        it->poison = POISON_DUE;
}

void model_poisoned(const axo_dead_letter *letter)
{
    ghost *it = ghost_find(letter->recipient.bits);
    HOLDS_ALL(75, it != NULL && it->poison != POISON_NO && !it->poison_told,
              "%014" PRIx64 " is told of as poisoned, and is not", letter->recipient.bits);
    const mail_mind *mind = mail_mind_of(it->bits);
    HOLDS(75, it, it->poison == POISON_PERHAPS || mail_print(letter->message) == mind->print,
          "another message is poison than the one it has failed under");
    it->poison_told = true;
    probe_hit(PROBE_POISON);
}

/* ---- what they do because of it ---- */

static void model_suspended(ghost *it, const axo_event *e)
{
    if (e->arg == 1) {
        while (!it->wild && it->told <= 0 && model_due(ghost_find(it->parent), NULL, it))
            continue;
        HOLDS(13, it, it->wild || it->told > 0, "suspended, and nobody has told it to");
        it->told--;
    }
    for (ghost *child = ghost_at(it->first_child); child != NULL && e->arg != 2;
         child = ghost_at(child->next_child)) {
        bool skip = e->arg == 0 &&
                    (child->bits == it->blamed || (it->survivors && child->born_in < it->instance));
        if (!skip) /* SC-04, HF-08 */
            model_tell(child, 1);
    }
    if (e->arg == 0 && !it->survivors)
        it->perpetrator = it->blamed;
    if (e->arg == 0)
        it->survivors = false;
}

static void model_resumed(ghost *it, const axo_event *e)
{
    if (it->restarting || it->shrugs) {
        it->shrugs = false;
        return;
    }
    if (e->arg == 1) {
        HOLDS(14, it, it->wild || it->told < 0, "resumed, and nobody has told it to");
        it->told++;
    } else {
        HOLDS(14, it, it->resuming, "its failure is over, and it was not answered");
        it->resuming = false;
    }
    for (ghost *child = ghost_at(it->first_child); child != NULL;
         child = ghost_at(child->next_child)) {
        if (e->arg == 0 && child->bits == it->perpetrator)
            model_answer(child, AXO_RESUME);
        else
            model_tell(child, -1);
    }
    if (e->arg == 0)
        it->perpetrator = 0;
}

/* D53: no child of a crashed instance survives, whichever has made it. */
static void model_crashed(ghost *it)
{
    if (it->spawned_late)
        probe_hit(PROBE_CRASH_LATE_CHILD);
    it->stops_children = true;
    model_stop_children(it);
}

/* Who has told it, and what that begins with. */
static void model_restarts(ghost *it)
{
    const ghost *parent = ghost_find(it->parent);
    bool again = it->resuming && it->made != AXO__INSTANCE_STARTED; /* HF-07, IN-05 */
    /* One that waits still was told from above, in a sweep that made it wild. */
    if (!again && !it->restart_told && it->answer != AXO_RESTART && model_has_fired(it))
        (void)model_due(parent, it, NULL);
    bool above = !again && it->restart_told && (it->answer != AXO_RESTART || it->parent_first);
    bool own = !above || (it->restart_resolves && it->failed);
    if (again && it->broken)
        probe_hit(PROBE_CRASH_RESUMED);
    HOLDS(25, it, it->wild || again || above || it->answer == AXO_RESTART,
          "it restarts, and nobody has told it to");
    it->resuming = false;
    if (it->record.over || it->wild) /* wild: this restart may be the one that its delay put off */
        it->record.since_most = g.time;
    it->record.over = false;
    if (above)
        it->restart_told = it->restart_resolves = it->parent_first = false;
    else if (!again)
        it->answer = 0;
    if (it->stopping) {
        it->shrugs = true; /* SC-05 */
        probe_hit(PROBE_RESTART_TERMINATING);
        return;
    }
    it->restarting = true;
    it->creating = it->made == AXO__INSTANCE_NONE;
    if (it->creating)
        model_stop_children(it); /* IN-06 */
    else if (it->lifetime != AXO_TEMPORARY && it->has_message)
        model_count(it, own);
    if (it->broken) {
        it->mending = true;
        model_crashed(it);
        return;
    }
    for (ghost *child = ghost_at(it->first_child);
         child != NULL && it->made == AXO__INSTANCE_BROKEN; child = ghost_at(child->next_child)) {
        if (child->born_in == it->instance)
            model_stop(child); /* D4 */
    }
}

static void model_directive(ghost *it, const axo_event *e)
{
    if (e->arg == AXO_RESTART)
        model_restarts(it);
    if (e->arg != AXO_RESUME)
        return;
    HOLDS(14, it, it->wild || it->answer == AXO_RESUME, "told to resume, and nobody has said so");
    it->answer = 0;
    it->resuming = it->failed;
}

/* RR-01..RR-04: the survivors, when the new instance runs; or when there is none. */
static void model_survivors(ghost *it, bool runs)
{
    for (ghost *child = ghost_at(it->first_child); child != NULL;
         child = ghost_at(child->next_child)) {
        if (child->born_in == it->instance)
            continue;
        if (runs)
            model_restart(child, child->bits == it->perpetrator);
        else if (it->failed)
            model_tell(child, -1);
    }
    if (runs)
        it->perpetrator = 0;
}

/* RR-01: the survivors are not told before the new instance runs. */
static void model_untold(const ghost *it)
{
    for (const ghost *child = ghost_at(it->first_child); child != NULL;
         child = ghost_at(child->next_child)) {
        uint64_t word = axo__directives_look(&look_at(child)->directives);
        HOLDS(25, child,
              child->wild || child->unsure || child->restart_told ||
                  (word & AXO__RESTART_PARENT) == 0,
              "told to restart before its parent's new instance runs");
    }
}

static void model_started(ghost *it, bool runs)
{
    bool anew = it->restarting && !it->creating;
    it->made = runs ? AXO__INSTANCE_STARTED : anew ? AXO__INSTANCE_BROKEN : AXO__INSTANCE_NONE;
    it->survivors = anew && !runs;
    it->restarting = it->creating = false;
    if (!anew)
        return;
    model_untold(it);
    model_survivors(it, runs);
}

static void model_stopping(ghost *it)
{
    while (it->lifetime == AXO_TEMPORARY && !it->stop_told && !it->stop_asked && !it->pilled &&
           model_due(ghost_find(it->parent), NULL, it))
        continue;
    HOLDS(17, it, it->identity == 0 || it->stop_told || it->stop_asked || it->pilled || it->wild,
          "it stops, and nobody has told it to");
    it->restarting = it->creating = false;
    model_stop_children(it);
}

/* RR-11: said by the parent as it tells its child. */
static void model_merged(const ghost *it, const axo_event *e)
{
    ghost *child = ghost_find(e->arg);
    HOLDS(15, it, child != NULL && child->parent == it->bits, "merges restarts of a stranger");
    while (!child->wild && !child->unsure && child->merges == 0 && model_due(it, NULL, child))
        continue;
    HOLDS(17, child, child->wild || child->unsure || child->merges > 0,
          "restarts are merged that did not meet");
    if (child->merges > 0)
        child->merges--;
}

void model_event(ghost *it, const axo_event *e)
{
    switch (e->kind) {
    case AXO_EV_MERGE:
        model_merged(it, e);
        return;
    case AXO_EV_SUSPEND:
        model_suspended(it, e);
        return;
    case AXO_EV_RESUME:
        model_resumed(it, e);
        return;
    case AXO_EV_DECIDE:
        model_decided(it, e);
        return;
    case AXO_EV_DELAY:
        model_waits(it, e);
        return;
    case AXO_EV_DIRECTIVE:
        model_directive(it, e);
        return;
    case AXO_EV_PRE_RESTART:
        if (it->cls->pre_restart == NULL)
            model_leave_children(it);
        return;
    case AXO_EV_PRE_RESTARTED:
        if (it->broken)
            model_crashed(it);
        return;
    case AXO_EV_CONSTRUCTED:
        if (e->arg != 0)
            model_started(it, false);
        return;
    case AXO_EV_STARTED:
        model_started(it, e->arg == 0);
        return;
    case AXO_EV_FAIL:
        if (it->failed || it->stopping)
            it->survivors = false;
        return;
    case AXO_EV_STOPPING:
        model_stopping(it);
        return;
    case AXO_EV_CHILD_GONE:
        if (it->perpetrator == e->arg)
            it->perpetrator = 0;
        return;
    default:
        return;
    }
}

/* ---- in lock-step ---- */


static void model_told(ghost *it)
{
    const axo__cell *cell = look_at(it);
    uint64_t word = axo__directives_look(&cell->directives);
    if (it->wild || it->unsure || it->parent == 0)
        return;
    HOLDS(17, it, it->merges == 0, "restarts have met, and nobody has said so");
    bool same = axo__directives_delta(word) == it->told;
    HOLDS(17, it, same || (word & AXO__RESTART_PARENT) == 0,
          "told to restart from above without the suspension that goes with it");
    HOLDS(13, it, same, "it has been told other suspensions than the model says");
    HOLDS(17, it, ((word & AXO__RESUME_OWN) != 0) == (it->answer == AXO_RESUME),
          "told to resume, and the model says no, or the other way");
    HOLDS(17, it, ((word & AXO__RESTART_OWN) != 0) == (it->answer == AXO_RESTART),
          "told to restart, and the model says no, or the other way");
    HOLDS(17, it, ((word & AXO__RESTART_PARENT) != 0) == it->restart_told,
          "told to restart from above, and the model says no, or the other way");
    HOLDS(17, it, (axo__cell_cold(cell)->stopping != 0) == it->stop_told,
          "told to stop by its parent, and the model says no, or the other way");
    const axo__family *family = axo__cell_family(cell);
    HOLDS(17, it, (family != NULL ? family->perpetrator.bits : 0) == it->perpetrator,
          "another perpetrator than the model's");
    HOLDS(11, it, it->guardian || axo__cell_child_count(cell) == it->children,
          "another number of children than the model's");
}

void model_step(void)
{
    if (l.system == NULL || l.living_count > LOOK_SMALL)
        return;
    for (uint32_t i = 0; i < l.living_count && g.delayed > 0; i++)
        model_due_told(&g.all[l.living[i]]);
    for (uint32_t i = 0; i < l.living_count; i++)
        model_swept(&g.all[l.living[i]]);
    for (uint32_t i = 0; i < l.living_count; i++)
        model_told(&g.all[l.living[i]]);
}
