/* restart.c - the sequence itself: suspend, pre_restart, construct, post_restart, resume. Each step
 * names the conformance entry it keeps.
 *
 * The first half runs on the old instance: pre_restart, and the stops of its children. The
 * second half runs when those children have gone: the old instance is destroyed, the next one
 * constructed and started, and the children that pre_restart left alive are restarted after
 * their parent (RR-01). A cause travels through both halves by value, so a restart takes no
 * memory (D10). */
#include "super/restart.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/probe.h"
#include "sched/figures.h"
#include "sched/hook.h"
#include "sched/keyed_timer.h"
#include "super/children.h"
#include "super/fail.h"
#include "super/instance.h"
#include "super/replace.h"
#include "super/stash.h"
#include "super/sweep.h"
#include "super/watch.h"

/* ---- hooks ---- */

static __attribute__((noinline)) axo_status restart_call_own(axo__worker *worker, axo__cell *cell,
                                                             uint32_t site, const axo__cause *cause,
                                                             const axo__message *message)
{
    axo_failure failure = axo__cause_show(&worker->local.core->texts, cause);
    return axo__hook_run_own(worker, cell, site, &failure, message);
}

/* An own post_restart is given the cause; the default one is pre_start (RS-01). The trace says
 * which of the two runs. */
static inline axo_status restart_call_post_restart(axo__worker *worker, axo__cell *cell,
                                                   const axo__cause *cause)
{
    const axo_class *cls = axo__cell_own_class(cell);
    axo_status status;
    axo__trace(&worker->local, cell,
               cls->post_restart != NULL ? AXO_EV_POST_RESTART : AXO_EV_PRE_START, 0);
    if (cls->post_restart != NULL) {
        status = restart_call_own(worker, cell, AXO_SITE_POST_RESTART, cause, NULL);
    } else {
        status = /* RS-01 */
            axo__hook_run(worker, cell, AXO_SITE_PRE_START, cls->pre_start != NULL);
    }
    axo__trace(&worker->local, cell, AXO_EV_STARTED, (uint64_t)(uint32_t)status);
    return status;
}

/* What the default pre_restart does with a child: it is unwatched first, so that no notice of its
 * end comes to the new instance (RS-13), and then stopped (RS-04). */
static void restart_tell_leave(axo__worker *worker, axo__cell *cell, axo__cell *child)
{
    if (axo__cell_extra(cell)->watching != NULL)
        axo__watch_remove(worker, cell, axo__cell_ref(child));
    if (!axo__cell_cold(child)->stopping)
        axo__child_stop(worker, child);
}

/* Runs post_stop of the old instance, at most once (D3): `life` says STOPPED before the call,
 * because post_stop may throw, and a hook may call the default pre_restart twice. `within`: a
 * pre_restart that is running calls this, and a throw in post_stop is then that hook's. */
static inline axo_status restart_leave(axo__worker *worker, axo__cell *cell, bool within)
{
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, cell));
    bool has_hook = axo__cell_own_class(cell)->post_stop != NULL;
    axo_status status;
    if (cell->life != AXO__INSTANCE_STARTED)
        return AXO_OK; /* post_stop has run before */
    cell->life = AXO__INSTANCE_STOPPED; /* D3: before the call, which may throw */
    axo__trace(&worker->local, cell, AXO_EV_POST_STOP, 0);
    if (within)
        status = axo__hook_within(cell, AXO__SITE_POST_STOP, has_hook);
    else
        status = axo__hook_run(worker, cell, AXO__SITE_POST_STOP, has_hook);
    axo__trace(&worker->local, cell, AXO_EV_POST_STOPPED, (uint64_t)(uint32_t)status);
    return status;
}

/* All children are told at once, not by a sweep: the hook that called may look at them as soon as
 * this returns. */
axo_status axo__restart_default_pre_restart(axo__worker *worker, axo__cell *cell)
{
    axo__cell *child = axo__cell_children(cell);
    for (; child != NULL; child = axo__cell_next(child))
        restart_tell_leave(worker, cell, child);
    return restart_leave(worker, cell, true);
}

/* A failure of pre_restart or post_stop is a line of the log and the restart goes on (HF-01,
 * HF-03): the old instance is going anyway, and its memory still goes with its region. */
static __attribute__((noinline)) void restart_left_badly(axo__worker *worker, axo__cell *cell)
{
    axo__log_pending(&worker->local, AXO_LOG_ERROR, AXO_LOG_HOOK, cell,
                     &worker->pending); /* HF-01, HF-03 */
    axo__cause_drop(&worker->local.core->texts, &worker->pending);
}

static inline void restart_left(axo__worker *worker, axo__cell *cell, axo_status status)
{
    axo__trace(&worker->local, cell, AXO_EV_PRE_RESTARTED, (uint64_t)(uint32_t)status);
    if (axo__unlikely(status != AXO_OK))
        restart_left_badly(worker, cell);
}

/* Ends the sweep of a large family: the last child has been told, so post_stop runs and the wait
 * begins. The wait may be over already. */
static void restart_leave_late(axo__worker *worker, axo__cell *cell)
{
    restart_left(worker, cell, restart_leave(worker, cell, false));
    axo__restart_go_on(worker, cell);
}

/* Returns false if a sweep has more children to tell; restart_leave_late then follows in a later
 * turn. */
static __attribute__((noinline)) bool restart_leave_children(axo__worker *worker, axo__cell *cell)
{
    static const axo__sweep_ops leave = {.tell = restart_tell_leave, .done = restart_leave_late};
    return axo__sweep_begin(worker, cell,
                            &(axo__sweep){.ops = &leave, .next = axo__cell_children(cell)});
}

/* D4: the children that the broken instance has made are stopped; HF-05: no pre_restart. Of one
 * that has crashed all are (sched/trap_land.c). Returns as restart_leave_children. */
static __attribute__((noinline)) bool restart_leave_broken(axo__worker *worker, axo__cell *cell)
{
    axo__keyed_timer_stop_all(worker, cell); /* of a crashed one */
    return axo__children_stop(worker, cell, axo__cell_children(cell),
                              axo__cell_earlier_children(cell));
}

/* Returns as restart_leave_children. The instance's timers stop first, so that no tick of it
 * reaches the next one (TM-03). The message under which the instance failed is shown to its own
 * hook only (D5). */
static inline bool restart_call_pre_restart(axo__worker *worker, axo__cell *cell,
                                            const axo__cause *cause, const axo__message *message)
{
    AXO_DEBUG_ASSERT(cell->life == AXO__INSTANCE_STARTED);
    axo__keyed_timer_stop_all(worker, cell); /* TM-03 */
    axo__trace(&worker->local, cell, AXO_EV_PRE_RESTART, message != NULL);
    if (axo__cell_own_class(cell)->pre_restart != NULL) {
        restart_left(worker, cell,
                     restart_call_own(worker, cell, AXO__SITE_PRE_RESTART, cause, message));
        /* a hook that has crashed has left its children to nobody */
        return axo__likely(cell->life != AXO__INSTANCE_BROKEN) ||
               restart_leave_broken(worker, cell);
    }
    if (axo__unlikely(axo__cell_children(cell) != NULL) && !restart_leave_children(worker, cell))
        return false;
    restart_left(worker, cell, restart_leave(worker, cell, false));
    return true;
}

/* ---- the second half ---- */

/* The child whose failure the cell escalated; from here on there is none. axo__children_forget
 * clears the reference of a perpetrator that has gone, so a child that is returned is still in the
 * list. */
static axo__cell *restart_take_perpetrator(const axo__core *core, axo__cell *cell)
{
    axo__family *family = axo__cell_family(cell);
    if (family == NULL)
        return NULL;
    axo_ref perpetrator = family->perpetrator;
    family->perpetrator = axo_ref_none();
    return axo__sweep_child(core, perpetrator);
}

static void restart_survivors(axo__worker *, axo__cell *, axo__cause *) __attribute__((noinline));

/* Tells one survivor. The perpetrator's own report is answered by the same restart (RR-05).
 * sweep.number counts the holds of the cause's texts that no survivor has taken yet. */
static void restart_tell_survivor(axo__worker *worker, axo__cell *cell, axo__cell *survivor)
{
    axo__family *family = axo__cell_own_family(cell);
    bool resolve = survivor == family->sweep.about;
    if (axo__child_restart_parent(worker, survivor, &family->restart_cause, resolve))
        family->sweep.number--;
}

/* A survivor that was stopping, or whose restart was merged, took no hold of the texts; those holds
 * are given back at once, and then the sweep's own. */
static void restart_survivors_done(axo__worker *worker, axo__cell *cell)
{
    axo__texts *texts = &worker->local.core->texts;
    axo__family *family = axo__cell_own_family(cell);
    AXO_DEBUG_ASSERT(family->sweep.number >= 0);
    if (family->sweep.number > 0)
        axo__cause_unhold_texts(texts, &family->restart_cause, (uint32_t)family->sweep.number);
    axo__cause_drop(texts, &family->restart_cause);
}

/* RR-01 to RR-04: survivors are restarted after their parent and with its cause, which is consumed.
 * They are the children of earlier instances: children of the new instance are not restarted in
 * this round (RS-16). The texts are held for every child before the first one is told, because a
 * survivor's runner may drop its hold at once. */
static void restart_survivors(axo__worker *worker, axo__cell *cell, axo__cause *cause)
{
    static const axo__sweep_ops restart = {.tell = restart_tell_survivor,
                                           .done = restart_survivors_done};
    AXO_DEBUG_ASSERT(cause->kind != AXO_FAILURE_NONE);
    axo__cell *perpetrator = restart_take_perpetrator(worker->local.core, cell);
    uint32_t count = axo__cell_child_count(cell);
    if (count == 0) {
        axo__cause_drop(&worker->local.core->texts, cause);
        return;
    }
    axo__cause_hold_texts(&worker->local.core->texts, cause, count);
    axo__cell_own_family(cell)->restart_cause = *cause;
    axo__sweep sweep = {.ops = &restart, .next = axo__cell_earlier_children(cell),
                        .about = perpetrator, .number = count};
    if (axo__sweep_begin(worker, cell, &sweep))
        restart_survivors_done(worker, cell);
}

/* A permanent actor's restart answers a stop by anyone but the parent, so that stop is taken in
 * (LT-08). */
static void restart_take_end(axo__cell *cell)
{
    if (cell->lifetime == AXO_PERMANENT)
        axo__cell_take_stops(cell, AXO__STOP);
}

/* The new instance has failed: its failure keeps the first cause (HF-04, HF-11), and survivors stay
 * suspended, to be restarted once by the next try (HF-08). */
static __attribute__((noinline)) void restart_broken(axo__worker *worker, axo__cell *cell,
                                                     axo__cause *cause)
{
    cell->life = AXO__INSTANCE_BROKEN; /* HF-04, HF-14 */
    axo__fail_wrap(worker, AXO_FAILURE_POST_RESTART, cause);
    axo__cause_drop(&worker->local.core->texts, cause);
    /* Decided from above while an own failure is undecided: the answer to that failure will restart
     * the survivors, so the suspensions that came with this restart are taken back. */
    if (cell->reported)
        axo__children_shift(worker, cell, axo__cell_earlier_children(cell), -1);
    axo__fail(worker, cell, axo_ref_none(), true);
}

/* The second half: nothing is waited for from here on. `cause` is consumed. The count goes down
 * before construct runs, so that a failure of the new instance is a failure of its own and suspends
 * the cell anew; the cell still handles no message, for the runner is in its system turn. */
static void restart_finish(axo__worker *worker, axo__cell *cell, axo__cause *cause, bool own)
{
    axo_status status;
    AXO_DEBUG_ASSERT(cause->kind != AXO_FAILURE_NONE && cell->life != AXO__INSTANCE_NONE);
    cell->phase = AXO__PHASE_NORMAL;
    restart_take_end(cell);
    axo__instance_drop_failed(worker, cell);
    axo__stash_return(cell, UINT32_MAX); /* SS-03 */
    if (own)
        axo__fail_resolve(worker, cell);
    axo__super_resume_self(worker, cell, own ? 0 : 1);
    status = axo__instance_construct(worker, cell); /* RS-06 */
    if (status == AXO_OK)
        status = restart_call_post_restart(worker, cell, cause);
    if (axo__unlikely(status != AXO_OK)) {
        restart_broken(worker, cell, cause);
        return;
    }
    cell->life = AXO__INSTANCE_STARTED;
    axo__worker_restarted(worker);
    axo__a64_bump_owner(&worker->local.count.restarts);
    axo__figures_restarted(worker, cell);
    AXO__PROBE3(restart, cell, axo__cell_ref(cell).bits, axo__cell_instance(cell));
    axo__event_life(&worker->local, cell, AXO_KIND_RESTARTED);
    if (axo__unlikely(axo__cell_family(cell) != NULL))
        restart_survivors(worker, cell, cause);
    else
        axo__cause_drop(&worker->local.core->texts, cause);
}

/* The second half for a cell that never had an instance: pre_start, not post_restart (IN-04). */
static void restart_finish_create(axo__worker *worker, axo__cell *cell, bool own)
{
    AXO_DEBUG_ASSERT(axo__cell_child_count(cell) == 0);
    cell->phase = AXO__PHASE_NORMAL;
    restart_take_end(cell);
    axo__instance_drop_failed(worker, cell);
    if (own)
        axo__fail_resolve(worker, cell);
    axo__super_resume_self(worker, cell, own ? 0 : 1);
    axo__instance_create(worker, cell);
}

/* RECREATING waits for the children that were told to stop; CREATING waits for every child, since a
 * failed attempt leaves no survivors (IN-06). The cause is taken out of the family before the
 * second half, which may fail and leave another one there. */
void axo__restart_go_on(axo__worker *worker, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, cell));
    if (cell->phase == AXO__PHASE_RECREATING) {
        axo__family *family = axo__cell_own_family(cell);
        if (family->stopping > 0)
            return;
        axo__cause cause = family->restart_cause;
        memset(&family->restart_cause, 0, sizeof cause);
        axo__replace_between(worker, cell);
        restart_finish(worker, cell, &cause, family->restart_own != 0);
    } else if (cell->phase == AXO__PHASE_CREATING && axo__cell_child_count(cell) == 0) {
        axo__replace_between(worker, cell);
        restart_finish_create(worker, cell, axo__cell_own_family(cell)->restart_own != 0);
    }
}

/* ---- the first half ---- */

/* ---- poison ---- */

#define RESTART_SERVICE                                                                            \
    (AXO__MESSAGE_NOTICE | AXO__MESSAGE_SIGNAL | AXO__MESSAGE_STASHED | AXO__MESSAGE_PILL |        \
     AXO__MESSAGE_KILL | AXO__MESSAGE_TICK)

static uint64_t restart_mix(uint64_t print, uint64_t word)
{
    print = (print ^ word) * UINT64_C(0x9fb21c651e98df25);
    return print ^ print >> 32;
}

/* Equal for messages of the same tag and bytes, and by a chance of 2^-64 for others. The handler
 * may have taken the payload. */
static uint64_t restart_print(const axo_message *message)
{
    const char *at = message->payload;
    uint64_t print = restart_mix((uint64_t)message->size << 32, message->tag);
    for (size_t left = at != NULL ? message->size : 0; left > 0;) {
        uint64_t word = 0;
        size_t step = left < sizeof word ? left : sizeof word;
        memcpy(&word, at, step);
        print = restart_mix(print, word);
        at += step;
        left -= step;
    }
    return print;
}

static void restart_tell_poison(axo__worker *worker, const axo__cell *cell,
                                const axo__cause *cause, uint32_t failed)
{
    char why[AXO_FAILURE_TEXT_MAX];
    axo_failure failure = axo__cause_show(&worker->local.core->texts, cause);
    (void)snprintf(why, sizeof why, "%" PRIu32 " instances failed, code %" PRId32 " %s", failed,
                   failure.code, failure.text);
    axo__dead_letter_tell(&worker->local, cell->failed, axo__cell_ref(cell), AXO_DEAD_POISON, NULL,
                          why);
}

/* Counts the instance that has failed. The message has been handled, and is freed or answered as
 * always: what is told of it is only that nobody is to try it again. */
static __attribute__((noinline)) bool restart_is_poison(axo__worker *worker, axo__cell *cell,
                                                        const axo__cause *cause)
{
    const axo_strategy *strategy = axo__cell_strategy(axo__cell_parent(cell));
    axo__child_record *record = axo__cell_own_child_record(cell);
    const axo__message *message = cell->failed;
    if (strategy == NULL || strategy->quarantine == 0 ||
        (message->flags & RESTART_SERVICE) != 0 || message->pub.tag >= AXO_TAG_RESERVED)
        return false;
    uint64_t print = restart_print(&message->pub);
    if (print != record->print)
        record->failed = 0;
    record->print = print;
    if (record->failed < UINT32_MAX)
        record->failed++;
    if (record->failed < strategy->quarantine)
        return false;
    restart_tell_poison(worker, cell, cause, record->failed);
    return true;
}

static void restart_create_again(axo__worker *, axo__cell *, bool) __attribute__((noinline));

/* There is no instance to resume or restart, so both answers make a first one (IN-04, IN-05), once
 * the failed attempt's children have gone. */
static void restart_create_again(axo__worker *worker, axo__cell *cell, bool own)
{
    AXO_DEBUG_ASSERT(cell->phase == AXO__PHASE_NORMAL);
    axo__keyed_timer_receive_timeout_off(cell); /* IN-09 */
    (void)axo__children_stop(worker, cell, axo__cell_children(cell), NULL); /* IN-06 */
    if (axo__cell_child_count(cell) == 0) {
        restart_finish_create(worker, cell, own);
        return;
    }
    cell->phase = AXO__PHASE_CREATING;
    axo__cell_own_family(cell)->restart_own = own;
}

/* The first half; `cause` is consumed. A cell with no child to wait for goes straight on, and its
 * cause stays on the stack: so a leaf's restart needs no record. Otherwise cause and `own` wait in
 * the family, which a cell with children has. */
static void restart_begin(axo__worker *worker, axo__cell *cell, axo__cause *cause, bool own)
{
    axo__texts *texts = &worker->local.core->texts;
    axo__trace(&worker->local, cell, AXO_EV_DIRECTIVE, AXO_RESTART);
    if (cell->phase == AXO__PHASE_TERMINATING) { /* SC-05 */
        axo__cause_drop(texts, cause);
        axo__super_resume_self(worker, cell, 1);
        return;
    }
    AXO_DEBUG_ASSERT(axo__state_suspends(&cell->state) > 0);
    if (cell->life == AXO__INSTANCE_NONE) {
        axo__cause_drop(texts, cause);
        restart_create_again(worker, cell, own);
        return;
    }
    const axo__message *failed = cell->failed; /* RS-09, D5 */
    if (failed != NULL && own && axo__unlikely(axo__cell_child_record(cell) != NULL) &&
        restart_is_poison(worker, cell, cause))
        failed = NULL;
    bool left; /* every child that is to stop has been told */
    if (axo__unlikely(cell->life == AXO__INSTANCE_BROKEN))
        left = restart_leave_broken(worker, cell);
    else
        left = restart_call_pre_restart(worker, cell, cause, failed);
    if (left && axo__cell_stopping_count(cell) == 0) {
        restart_finish(worker, cell, cause, own);
        return;
    }
    axo__family *family = axo__cell_own_family(cell); /* pre_restart may have made it */
    AXO_DEBUG_ASSERT(family->restart_cause.kind == AXO_FAILURE_NONE);
    family->restart_cause = *cause;
    family->restart_own = own;
    cell->phase = AXO__PHASE_RECREATING; /* RS-05 */
}

void axo__restart_own(axo__worker *worker, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(cell->reported);
    axo__cause cause = axo__cell_take_failure(cell);
    restart_begin(worker, cell, &cause, true);
}

/* Two restarts may wait: for the own failure and from above. They are taken in the order in which
 * the parent asked (RR-07, PARENT_FIRST). The cause is moved out while RESTART_PARENT is still set;
 * axo__directives_take then clears the bit and releases the record to the parent's next
 * axo__directives_look (directive.h's I2). RESOLVE_OWN is read from the word that the take found,
 * not from `word`: the parent may have merged an answer in between. */
void axo__restart_take(axo__worker *worker, axo__cell *cell, uint64_t word)
{
    bool by_parent = (word & AXO__RESTART_PARENT) != 0 &&
                     ((word & AXO__RESTART_OWN) == 0 || (word & AXO__PARENT_FIRST) != 0);
    if (by_parent) {
        axo__child_record *record = axo__cell_own_child_record(cell);
        axo__cause cause = record->cause;
        AXO_DEBUG_ASSERT(cause.kind != AXO_FAILURE_NONE); /* directive.h's I2 */
        record->cause = (axo__cause){.kind = AXO_FAILURE_NONE};
        word = axo__directives_take(&cell->directives,
                                    AXO__RESTART_PARENT | AXO__PARENT_FIRST | AXO__RESOLVE_OWN, 0);
        bool resolve = (word & AXO__RESOLVE_OWN) != 0; /* perhaps merged in just now */
        restart_begin(worker, cell, &cause, resolve && cell->reported);
        return;
    }
    (void)axo__directives_take(&cell->directives, AXO__RESTART_OWN, 0);
    axo__restart_own(worker, cell);
}

/* ---- resume ---- */

static void restart_tell_resume(axo__worker *worker, axo__cell *cell, axo__cell *child)
{
    if (child == axo__cell_own_family(cell)->sweep.about)
        axo__child_resume_own(worker, child);
    else
        axo__child_suspend(worker, child, -1); /* DR-02 */
}

/* The line of the log that says why a Resume becomes a restart. */
static __attribute__((noinline)) void restart_for_resume(axo__worker *worker,
                                                         const axo__cell *cell)
{
    axo__core *core = worker->local.core;
    axo__log_line line;
    if (!axo__log_is_read(core, AXO_LOG_WARNING))
        return;
    axo__log_begin(&line, core, AXO_LOG_WARNING, AXO_LOG_RESUME, cell);
    line.record.instance = axo__cell_instance(cell);
    axo__log_failure(&worker->local, &line.record, axo__cell_own_class(cell));
}

/* Resume of an instance that is not there, or half made, becomes a restart (HF-07, IN-05).
 * Otherwise the instance goes on with its state: the failed message is freed, the own suspension
 * ends, and the whole subtree is resumed (DR-02). A sweep of many children may take more turns;
 * ATTENTION_REST keeps the cell's messages behind it. */
void axo__restart_resume_own(axo__worker *worker, axo__cell *cell)
{
    static const axo__sweep_ops resume = {.tell = restart_tell_resume};
    axo__trace(&worker->local, cell, AXO_EV_DIRECTIVE, AXO_RESUME);
    if (!cell->reported)
        return;
    if (cell->phase != AXO__PHASE_TERMINATING &&
        (cell->life == AXO__INSTANCE_NONE || cell->life == AXO__INSTANCE_BROKEN)) {
        if (cell->life == AXO__INSTANCE_BROKEN)
            restart_for_resume(worker, cell); /* HF-07 */
        axo__cause cause = axo__cell_failure(cell);
        cause = axo__cause_copy(&worker->local.core->texts, &cause);
        restart_begin(worker, cell, &cause, true);
        return;
    }
    axo__instance_drop_failed(worker, cell);
    axo__fail_resolve(worker, cell);
    axo__cell *perpetrator = restart_take_perpetrator(worker->local.core, cell);
    axo__super_resume_self(worker, cell, 0);
    (void)axo__sweep_begin(worker, cell,
                           &(axo__sweep){.ops = &resume, .next = axo__cell_children(cell),
                                         .about = perpetrator});
}

/* Counts each suspension by itself, so that the trace shows each; the children get the sum as one
 * directive. */
void axo__restart_shift(axo__worker *worker, axo__cell *cell, int32_t delta)
{
    AXO_DEBUG_ASSERT(delta != 0);
    for (int32_t i = 0; i < delta; i++)
        axo__super_suspend_self(worker, cell, 1);
    for (int32_t i = delta; i < 0; i++)
        axo__super_resume_self(worker, cell, 1);
    axo__children_shift(worker, cell, axo__cell_children(cell), delta);
}
