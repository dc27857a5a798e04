/* run.c - one turn of one cell: the only caller of receive, and the place where a throw lands.
 *
 * A turn: run_enter makes the claimed cell the worker's `current`; run_messages takes the system
 * lane and the directives first and then messages, until the quantum is spent or the cell has no
 * more; axo__state_finish releases the cell, or says that work has come up, and the turn goes on; a
 * cell with messages left goes back into a queue. run_turns does that for several cells in a row
 * under one unwind point. Turns of plain messages, which most are, have a loop of their own.
 * A failure is no return path of its own: a status, axo_fail and a throw all arrive in run_outcome,
 * which fills `pending` and hands the message to super/ by ops->fail.
 */
#include "sched/run.h"

#include <string.h>

#include <axo/io.h>

#include "base/border.h"
#include "base/probe.h"
#include "cell/event.h"
#include "sched/account.h"
#include "sched/answer.h"
#include "sched/find.h"
#include "sched/follow.h"
#include "sched/found.h"
#include "sched/io.h"
#include "sched/land.h"
#include "sched/longest.h"
#include "sched/parked.h"
#include "sched/ready.h"
#include "sched/keyed_timer.h"
#include "sched/settle.h"
#include "sched/span.h"

void axo__run_free(axo__worker *worker, axo__message *message)
{
    if ((message->flags & AXO__MESSAGE_STASHED) != 0)
        return;
    if ((message->flags & AXO__MESSAGE_NOTICE) != 0)
        worker->sched->ops->notice_free(&worker->local, message);
    else
        axo__message_free(&worker->local.cache, message);
}

/* The message stays in the cell as `failed` until the instance ends (D5); an older failed message
 * is freed first. `message` and `site` are cleared before ops->fail, which may run a hook or a
 * decider with a site of its own. */
static void run_fail(axo__worker *worker, axo__cell *cell, axo__message *message)
{
    AXO_DEBUG_ASSERT(worker->pending.kind != AXO_FAILURE_NONE);
    worker->message = NULL;
    worker->site = AXO_SITE_NONE;
    AXO_DEBUG_ASSERT(axo__site_has_message(worker->pending.site));
    worker->pending.tag = message->pub.tag;
    if (worker->pending.text != 0) /* else axo__fail_keep_sender asks the message */
        axo__cause_under(&worker->local.core->texts, &worker->pending, message);
    axo__answer_promise(worker, cell, message);
    if (cell->failed != NULL)
        axo__answer_free(worker, cell, cell->failed);
    cell->failed = message;
    worker->sched->ops->fail(worker, cell);
}

/* The tag is the runtime's own; a copy that an actor has passed on is no signal. */
static bool run_is_io(const axo__message *message)
{
    return message->pub.tag == AXO_IO_READY && (message->flags & AXO__MESSAGE_SIGNAL) != 0;
}

/* The handler left a message unhandled (DL-08). The runtime's own, and events, do not count. */
static void run_unhandled(axo__worker *worker, const axo__cell *cell, axo__message *message)
{
    bool counts = axo__message_counts(message);
    worker->message = NULL;
    if (counts) /* before the callback, so that the callback sees the new count */
        axo__a64_bump_owner(&worker->local.count.unhandled);
    axo__trace(&worker->local, cell, AXO_EV_UNHANDLED, message->pub.tag);
    if (counts)
        axo__event_unhandled(&worker->local, cell, message);
    axo__run_free(worker, message);
}

/* After a receive that did not return AXO_OK, or threw, or whose message needs more than to be
 * freed. A stashed message counts as queued, however the receive ended, so it is not counted as
 * handled: each accepted message is counted once (D7). A failure is recorded while `site` says
 * where; from then on no callback runs. */
static void run_outcome(axo__worker *worker, axo__cell *cell, axo__message *message,
                        axo_status status)
{
    AXO_DEBUG_ASSERT(worker->site == AXO_SITE_RECEIVE && worker->message == message);
    if (axo__unlikely(worker->forked))
        worker->local.core->forked();
    status = axo__found_status(worker, cell, message, status);
    bool fails = status != AXO_OK && status != AXO_UNHANDLED;
    if (fails)
        axo__blame(worker, cell, status);
    worker->site = AXO_SITE_NONE;
    message->flags &= ~(uint32_t)(AXO__MESSAGE_BLAMED | AXO__MESSAGE_SPAN);
    bool stashed = (message->flags & AXO__MESSAGE_STASHED) != 0;
    if (axo__message_counts(message) && !stashed)
        axo__a64_bump_owner(&worker->local.count.handled);
    axo__trace(&worker->local, cell, AXO_EV_RECEIVED, (uint64_t)(uint32_t)status);
    if ((cell->attention & AXO__ATTENTION_TIMERS) != 0)
        axo__keyed_timer_handled(worker, cell, message->pub.tag);
    axo__span_end(worker, message, fails);
    if (run_is_io(message) && !stashed && axo__io_handled(worker, cell, message, fails)) {
        axo__cause_drop(&worker->local.core->texts, &worker->pending);
        worker->message = NULL;
        return;
    }
    if (status == AXO_OK || (status == AXO_UNHANDLED && stashed)) {
        axo__cause_drop(&worker->local.core->texts, &worker->pending);
        worker->message = NULL;
        axo__run_free(worker, message);
        return;
    }
    if (status == AXO_UNHANDLED) {
        axo__cause_drop(&worker->local.core->texts, &worker->pending);
        if ((message->flags & AXO__MESSAGE_NOTICE) == 0 || message->pub.tag != AXO_TERMINATED) {
            run_unhandled(worker, cell, message); /* DP-03 */
            return;
        }
        axo__trace(&worker->local, cell, AXO_EV_UNHANDLED, message->pub.tag);
        worker->site = AXO_SITE_RECEIVE;
        axo__blame(worker, cell, status); /* DP-01 */
        worker->pending.kind = AXO_FAILURE_DEATH_PACT;
        worker->pending.root_kind = AXO_FAILURE_DEATH_PACT;
        worker->pending.about = AXO_PAYLOAD(&message->pub, axo_terminated)->actor;
        run_fail(worker, cell, message);
        return;
    }
    run_fail(worker, cell, message);
}

/* A tick or a readiness comes up; false: it is void, and freed. */
static __attribute__((noinline)) bool run_tick(axo__worker *worker, axo__cell *cell,
                                               axo__message *message)
{
    return run_is_io(message) ? axo__io_come(worker, cell, message)
                              : axo__keyed_timer_tick(worker, cell, message);
}

/* PoisonPill and Kill never reach the handler (PK-02, PK-05), nor does an injected failure. They
 * count as handled, and Kill fails the actor as if receive had. */
static void run_special(axo__worker *worker, axo__cell *cell, axo__message *message)
{
    AXO_DEBUG_ASSERT((message->flags & (AXO__MESSAGE_PILL | AXO__MESSAGE_KILL)) != 0);
    axo__a64_bump_owner(&worker->local.count.handled);
    axo__figures_special(worker, cell);
    if ((message->flags & AXO__MESSAGE_PILL) != 0) {
        axo__cell_stop_self(cell);
        axo__run_free(worker, message);
        return;
    }
    axo__injected what = {.kind = AXO_FAILURE_KILLED};
    if (message->pub.tag == AXO_INJECTED) {
        memcpy(&what, message->pub.payload, sizeof what);
        message->pub.payload = NULL; /* pre_restart sees the message without it */
        message->pub.size = 0;
    }
    worker->site = AXO_SITE_RECEIVE;
    axo__blame(worker, cell, AXO_EFAILED);
    worker->pending.status = 0;
    worker->pending.kind = what.kind & 31;
    worker->pending.root_kind = what.kind & 31;
    worker->pending.code = what.code;
    run_fail(worker, cell, message);
}

/* Handles one message. The first block is for those that are more than ordinary and may not reach
 * the handler, the second the common case: receive returned AXO_OK, recorded nothing, and only the
 * free is left. `running_tag` tells spares and axo__sched_running: relaxed, as both only report. */
static void run_message(axo__worker *worker, axo__cell *cell, axo__message *message)
{
    AXO_DEBUG_ASSERT(cell->phase == AXO__PHASE_NORMAL && cell->life == AXO__INSTANCE_STARTED);
    AXO_DEBUG_ASSERT(worker->message == NULL && worker->site == AXO_SITE_NONE);
    if (axo__unlikely(message->flags > AXO__MESSAGE_OWNED)) {
        if ((message->flags & AXO__MESSAGE_TIMED) != 0)
            axo__figures_waited(worker, cell, message);
        if ((message->flags & AXO__MESSAGE_TICK) != 0 && !run_tick(worker, cell, message))
            return;
        if ((message->flags & (AXO__MESSAGE_PILL | AXO__MESSAGE_KILL)) != 0) {
            run_special(worker, cell, message);
            return;
        }
        if ((message->flags & AXO__MESSAGE_NOTICE) != 0 &&
            !worker->sched->ops->notice(worker, cell, message))
            return;
        if (!axo__message_is_for(message, axo__cell_instance(cell))) {
            axo__dead_letter(&worker->local, message, axo__cell_ref(cell), AXO_DEAD_GONE);
            return;
        }
        axo__account_come(worker, cell, message);
        if ((message->flags & AXO__MESSAGE_TRACED) != 0)
            axo__span_take(worker, cell, message);
    }
    worker->message = message;
    worker->site = AXO_SITE_RECEIVE;
    axo__a64_store_relaxed(&worker->running_tag, UINT64_C(1) + message->pub.tag);
    axo__trace(&worker->local, cell, AXO_EV_RECEIVE, message->pub.tag);
    AXO__PROBE3(receive, cell, &message->pub, message->pub.tag);
    AXO_CALLBACK_BORDER();
    axo_status status = cell->receive((axo_ctx *)cell, cell->state_block, &message->pub);
    worker->site = AXO_SITE_NONE;
    if (axo__likely(status == AXO_OK &&
                    !axo__local_wants(&worker->local, AXO_EV_RECEIVED) &&
                    message->flags == 0 && (cell->attention & AXO__ATTENTION_TIMERS) == 0)) {
        worker->message = NULL;
        axo__a64_bump_owner(&worker->local.count.handled);
        axo__pool_free(&worker->local.cache, message, message->block);
        return;
    }
    worker->site = AXO_SITE_RECEIVE;
    run_outcome(worker, cell, message, status);
}

/* Whether system work waits that the word does not show: URGENT taken, a stop, a portion left. */
static inline bool run_has_system(const axo__cell *cell)
{
    return (cell->attention & (AXO__ATTENTION_SYSTEM | AXO__ATTENTION_REST)) != 0;
}

/* Whether messages may lie elsewhere than in the inbox and the lane. */
static inline bool run_needs_attention(const axo__cell *cell)
{
    return axo__unlikely((cell->attention & (AXO__ATTENTION_FRONT | AXO__ATTENTION_BOUNDED)) != 0);
}

/* Whether the runner has no messages and no system work but what the word may show. */
static inline bool run_is_done(const axo__cell *cell)
{
    return axo__inbox_is_empty(&cell->inbox) && !run_needs_attention(cell) &&
           !run_has_system(cell);
}

/* The next message of the front, which comes before the lane, or of the bounded mailbox, which
 * stands in the lane's place. Senders for whom that made room get their records back. */
static axo__message *run_take_attended(axo__worker *worker, axo__cell *cell)
{
    axo__extra *extra = axo__cell_extra(cell);
    axo__message *message = extra != NULL ? axo__chain_pop(&extra->front) : NULL;
    axo__waiter *done = NULL;
    if (extra != NULL)
        extra->looked = false;
    if (message != NULL) {
        AXO_DEBUG_ASSERT((message->flags & AXO__MESSAGE_STASHED) != 0);
        message->flags &= ~(uint32_t)AXO__MESSAGE_STASHED;
        return message;
    }
    cell->attention &= (uint8_t)~AXO__ATTENTION_FRONT;
    if (!cell->bounded)
        return NULL;
    message = axo__bounded_take_owner(axo__cell_bounded(cell), &done);
    if (axo__unlikely(done != NULL))
        axo__parked_return(&worker->local, done);
    axo__figures_unbound(cell, message);
    return message;
}

/* The inbox is empty, or not in order yet. axo__state_take acquires what senders pushed ([S3]
 * against [S1], cell/state.h), newest first; axo__inbox_turn reverses so many links a call. */
static axo__message *run_fill(axo__cell *cell, uint64_t word)
{
    axo__inbox *inbox = &cell->inbox;
    if (axo__inbox_is_empty(inbox) && (word & AXO__LANE) != 0)
        axo__inbox_put(inbox, axo__state_take(&cell->state));
    return axo__inbox_turn(inbox) ? axo__inbox_take(inbox) : NULL;
}

/* The next user message; NULL: there is none, or a sender is about to announce one, or the inbox is
 * not in order yet. `word`: the cell's word as last loaded; it only says whether the lane is worth
 * an atomic operation. */
static inline axo__message *run_take(axo__worker *worker, axo__cell *cell, uint64_t word)
{
    axo__inbox *inbox = &cell->inbox;
    if (run_needs_attention(cell)) {
        axo__message *message = run_take_attended(worker, cell);
        if (message != NULL || cell->bounded)
            return message;
    }
    if (axo__likely(inbox->rest == NULL && inbox->first != NULL))
        return axo__inbox_take(inbox);
    return run_fill(cell, word);
}

/* After a message: whether an outside thread waits. */
static inline void run_outside(axo__worker *worker)
{
    if (axo__unlikely(axo__sched_has_few(worker->sched)))
        axo__worker_outside(worker);
}

/* Runs the cell until the turn is over; true: user messages, or system work, may be left.
 *
 * The word is loaded before each message, so system work overtakes messages (axo__state_look
 * acquires what its announcer wrote, [S7] against [S1]). URGENT is cleared before super/ looks into
 * the lane: a node that is pushed after the look finds URGENT clear and sets it again; in the other
 * order the bit of a node that the look has missed would be cleared (OR-06). The records of a
 * parked cell are sealed before that, since system work may run hooks, which send too. */
static bool run_messages(axo__worker *worker, axo__cell *cell)
{
    bool told = false; /* urgent cells (timers make some too) may wait behind the next message */
    for (;;) {
        uint64_t word = axo__state_look(&cell->state);
        if (axo__unlikely((word & (AXO__URGENT | AXO__CLOSED)) != 0 || run_has_system(cell))) {
            if ((word & AXO__CLOSED) != 0)
                return false;
            if (axo__settle_first(worker, cell))
                continue;
            if ((word & AXO__WAITING) != 0)
                axo__parked_seal(cell);
            if ((word & AXO__URGENT) != 0)
                axo__state_take_urgent(&cell->state); /* clear, then look (OR-06) */
            cell->attention &= (uint8_t)~(AXO__ATTENTION_SYSTEM | AXO__ATTENTION_REST);
            axo__a64_store_relaxed(&worker->running_tag, 0);
            worker->sched->ops->system(worker, cell);
            told = true;
            if (axo__unlikely((cell->attention & AXO__ATTENTION_REST) != 0))
                return true;
            continue;
        }
        if (axo__unlikely(!axo__state_free(word)))
            return true;
        if (worker->messages_left == 0 && !axo__worker_goes_ahead(worker))
            return true;
        axo__message *message = run_take(worker, cell, word);
        if (message == NULL && axo__inbox_is_empty(&cell->inbox))
            return false;
        axo__worker_takes(worker);
        if (axo__unlikely(message == NULL)) { /* a step of ordering the inbox counts as one */
            if (--worker->until_clock == 0)
                told = axo__worker_clock(worker) || told;
            continue;
        }
        if (axo__unlikely(told)) {
            told = false;
            axo__worker_offer_urgent(worker);
        }
        run_message(worker, cell, message);
        if (--worker->until_clock == 0)
            told = axo__worker_clock(worker);
        run_outside(worker);
        if (run_is_done(cell))
            return false; /* finish looks at the word */
    }
}

/* The cell's system work takes longer than a step may: the rest has a turn of its own, urgent as
 * this one was. Such turns handle no messages, so the clock is read for each turn. */
static __attribute__((noinline)) void run_rest(axo__worker *worker, axo__cell *cell)
{
    worker->current = NULL; /* the turn is over: see axo__wake_offer */
    axo__sched_go_on(worker, cell);
    (void)axo__worker_clock(worker);
}

static inline void run_set_backlog(axo__cell *cell, uint32_t turns)
{
    cell->backlog_turns = turns & 7;
    cell->attention &= (uint8_t)~AXO__ATTENTION_BACKLOG;
    if (turns != 0)
        cell->attention |= AXO__ATTENTION_BACKLOG;
}

/* One turn, or the rest of one that run_plain has begun, to the release of the cell.
 * axo__state_finish is a compare-and-swap that releases all that this runner wrote to the next
 * claim ([S4] against [S2], cell/state.h); from then on another worker may be inside the cell, so
 * this worker leaves its fields alone. A cell that leaves messages turn after turn is given twice
 * as many each time, up to `backlog_turns_max` doublings. */
static __attribute__((noinline)) void run_turn(axo__worker *worker, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(worker->current == cell);
    uint32_t backlog_turns = cell->backlog_turns;
    bool done = worker->messages_left == 0 && run_is_done(cell); /* of a plain turn */
    for (;; done = false) {
        bool more = !done && run_messages(worker, cell);
        if (axo__settle_is_due(cell) && axo__settle_last(worker, cell, &more))
            continue;
        if (!more) {
            if (axo__unlikely(backlog_turns != 0))
                run_set_backlog(cell, 0);
        } else if (axo__unlikely((cell->attention & AXO__ATTENTION_REST) != 0)) {
            run_rest(worker, cell);
            return;
        } else {
            if (backlog_turns >= AXO__FOLLOW_TURNS)
                axo__follow_behind(worker, cell);
            if (backlog_turns < worker->sched->backlog_turns_max)
                run_set_backlog(cell, backlog_turns + 1);
            else
                axo__longest_left(worker, cell);
        }
        axo__a64_store_relaxed(&worker->running_tag, 0); /* before another may run the cell */
        switch (axo__state_finish(&cell->state, more)) {
        case AXO__FINISH_AGAIN:
            /* The same turn goes on: `messages_left` counts down from the old doubling. */
            if (axo__unlikely(cell->backlog_turns != backlog_turns))
                run_set_backlog(cell, backlog_turns);
            continue;
        case AXO__FINISH_PUSH:
            worker->current = NULL; /* the turn is over: see axo__wake_offer */
            if (axo__unlikely(worker->follow_turn == axo__worker_turn(worker)) &&
                axo__follow_push(worker, cell))
                return;
            if (axo__unlikely(worker->overrun_turn == axo__worker_turn(worker)))
                axo__worker_push_overrun(worker, cell);
            else
                axo__worker_push_back(worker, cell);
            return;
        case AXO__FINISH_IDLE:
        case AXO__FINISH_CLOSED:
            return;
        }
    }
}

/* The cell becomes the worker's, for turn `turn` of so many more messages. `running` and the number
 * of the turn are for thieves and spares: relaxed, as an old value only delays a decision. */
static inline void run_begin(axo__worker *worker, axo__cell *cell, uint64_t turn,
                             uint32_t messages_left)
{
    AXO_DEBUG_ASSERT(axo__state_is_running(&cell->state));
    AXO_DEBUG_ASSERT(cell->backlog_turns <= AXO__BACKLOG_TURNS_MAX);
    axo__a64_store_relaxed(&worker->local.count.turns, turn);
    axo__aptr_store_relaxed(&worker->running, cell);
    worker->current = cell;
    worker->messages_left = messages_left;
}

static inline void run_enter(axo__worker *worker, axo__cell *cell, uint32_t messages)
{
    run_begin(worker, cell, axo__worker_turn(worker) + 1, messages << cell->backlog_turns);
}

/* Another worker may have run the cell since its release: only this worker's fields change. */
static inline void run_leave(axo__worker *worker)
{
    AXO_DEBUG_ASSERT(worker->message == NULL && worker->site == AXO_SITE_NONE);
    AXO_DEBUG_ASSERT(axo__a64_load_relaxed(&worker->running_tag) == 0);
    worker->current = NULL;
    axo__aptr_store_relaxed(&worker->running, NULL);
}

/* ---- plain turns ---- */

/* Flags of the word with which a plain turn ends. */
#define RUN_STOPS (AXO__URGENT | AXO__CLOSED | AXO__READY | AXO__WAITING | AXO__HELD)

static void run_plain_clock(axo__worker *worker)
{
    if (axo__worker_clock(worker))
        axo__worker_offer_urgent(worker);
}

/* Between two plain messages, when the clock is due: the site is NONE meanwhile, as timers run. */
static __attribute__((noinline)) void run_plain_timers(axo__worker *worker)
{
    worker->message = NULL;
    worker->site = AXO_SITE_NONE;
    run_plain_clock(worker);
    worker->site = AXO_SITE_RECEIVE;
}

/* A message of a plain turn was handled as it should be: counts and frees it. */
static inline void run_plain_handled(axo__worker *worker, const axo__cell *cell,
                                     axo__message *message)
{
    axo__local *local = &worker->local;
    AXO_DEBUG_ASSERT(worker->pending.kind == AXO_FAILURE_NONE);
    (void)cell; /* without the simulator */
    AXO__PLAIN_TRACE(local, cell, AXO_EV_RECEIVED, 0);
    axo__a64_bump_owner(&local->count.handled);
    if (axo__likely(message->block <= AXO__CACHE_LINE))
        axo__pool_free_line(&local->cache, message, message->block);
    else
        axo__pool_free(&local->cache, message, message->block);
}

/* A message of a plain turn that needs more than to be freed, or whose handler has asked for more:
 * mostly, for the actor's end, and then there is no more to the message. */
static __attribute__((noinline)) void run_plain_outcome(axo__worker *worker, axo__cell *cell,
                                                        axo__message *message, axo_status status)
{
    bool stops = cell->attention == (AXO__ATTENTION_SYSTEM | AXO__ATTENTION_STOP);
    if (axo__likely(status == AXO_OK && message->flags == 0 && stops)) {
        worker->message = NULL;
        run_plain_handled(worker, cell, message);
    } else {
        run_outcome(worker, cell, message, status);
    }
    worker->site = AXO_SITE_NONE;
    axo__a64_store_relaxed(&worker->running_tag, 0);
    if (--worker->until_clock == 0)
        run_plain_clock(worker);
    run_outside(worker);
    if (axo__likely(stops))
        worker->sched->ops->end(worker, cell);
}

/* The first message of a cell that is in its inbox or its lane, which counts as handled; NULL:
 * run_turn has to look, and if there is a message, it is not plain, and in the inbox. A step of
 * ordering the inbox that does not end it counts as a message. */
static axo__message *run_plain_fill(axo__worker *worker, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(worker->messages_left > 0);
    uint64_t word = axo__state_look(&cell->state); /* [S7] */
    if ((word & RUN_STOPS) != 0)
        return NULL;
    axo__message *message = run_fill(cell, word);
    if (axo__unlikely(message != NULL && message->flags != 0)) {
        cell->inbox.first = message;
        return NULL;
    }
    if (axo__likely(message != NULL || !axo__inbox_is_empty(&cell->inbox)))
        worker->messages_left--;
    return message;
}

/* One message of a plain turn; false: it was not plain, and run_turn goes on unless the actor has
 * ended. Those behind it are in the inbox while it is handled, as `failed` and a throw expect. */
static inline bool run_plain_message(axo__worker *worker, axo__cell *cell, axo__message *message)
{
    AXO_DEBUG_ASSERT(message->flags == 0 && cell->inbox.first == axo__message_next(message));
    worker->message = message;
    axo__a64_store_relaxed(&worker->running_tag, UINT64_C(1) + message->pub.tag);
    AXO__PLAIN_TRACE(&worker->local, cell, AXO_EV_RECEIVE, message->pub.tag);
    AXO__PROBE3(receive, cell, &message->pub, message->pub.tag);
    AXO_CALLBACK_BORDER();
    axo_status status = cell->receive((axo_ctx *)cell, cell->state_block, &message->pub);
    if (axo__unlikely(((uint32_t)status | message->flags | cell->attention) != 0)) {
        run_plain_outcome(worker, cell, message, status);
        return false;
    }
    run_plain_handled(worker, cell, message);
    if (axo__unlikely(--worker->until_clock == 0))
        run_plain_timers(worker);
    return true;
}

/* Between two turns, when plain_end has come. false: the step is over, or the next slot's cell has
 * to wait; true: plain_end is the next turn with which one of these holds, or the reclaimer has to
 * hear again that the worker holds no cell. */
static __attribute__((noinline)) bool run_plain_goes_on(axo__worker *worker)
{
    uint64_t turn = axo__worker_turn(worker);
    if (turn == worker->step_end || !axo__worker_next_goes_on(worker))
        return false;
    uint64_t end = turn + AXO__QUIET_TURNS;
    if (worker->step_end < end)
        end = worker->step_end;
    worker->plain_end = worker->next_end < end ? worker->next_end : end;
    axo__grace_quiet();
    return true;
}

/* A cell that run_plain_next has claimed is more than plain, or has not one plain message: they go
 * to its inbox. false: another pool runs the cell, which has gone back there. */
static __attribute__((noinline)) bool run_plain_keep(axo__cell *cell, axo__message *newest)
{
    axo__inbox_put(&cell->inbox, &newest->node);
    if (axo__likely(!cell->elsewhere))
        return true;
    axo__sched_unclaim(cell);
    return false;
}

/* Begins the next turn if axo__worker_find_next would find the next slot's cell, and the cell has
 * messages and nothing else; NULL: it does not. *message: the first one, which counts as handled;
 * NULL: run_plain_fill, or run_turn, has to look. */
static inline axo__cell *run_plain_next(axo__worker *worker, axo__message **message)
{
    const axo__sched *sched = worker->sched;
    axo__cell *cell = axo__aptr_load_relaxed(&worker->next);
    if (axo__unlikely((axo__a64_load_relaxed(&sched->outside) | worker->attention) != 0)) {
        run_outside(worker);
        return NULL;
    }
    if (axo__unlikely(cell == NULL))
        return NULL;
    uint64_t turn = axo__worker_turn(worker);
    if (axo__unlikely(turn == worker->plain_end) && !run_plain_goes_on(worker))
        return NULL;
    *message = (axo__message *)(void *)axo__state_claim_plain(&cell->state);
    if (axo__unlikely(*message == NULL))
        return NULL;
    axo__aptr_store_relaxed(&worker->next, NULL);
    uint32_t messages_left = sched->quantum_rest;
    uint64_t more = (uintptr_t)(*message)->node.next | ((*message)->flags | cell->attention);
    if (axo__unlikely(more != 0 || cell->elsewhere)) {
        if (!run_plain_keep(cell, *message))
            return NULL;
        messages_left = sched->quantum << cell->backlog_turns;
        *message = NULL;
    }
    run_begin(worker, cell, turn + 1, messages_left);
    return cell;
}

/* Turns of cells that have plain messages and nothing else, the current one and those that the next
 * slot leads to, with one test where run_messages has many: the cell's `attention` and the
 * message's `flags` are 0, and between two turns the worker's `attention` is. Returns the cell
 * whose turn run_turn has to go on with, whatever it is that is not plain; nothing of that was
 * changed. NULL: the last turn is over, and its cell released.
 *
 * `site` stays RECEIVE from turn to turn: between two handlers the program is called aside only. */
static inline axo__cell *run_plain(axo__worker *worker, axo__cell *cell)
{
    axo__message *message = run_plain_fill(worker, cell);
    if (axo__unlikely(message == NULL))
        return cell;
    worker->site = AXO_SITE_RECEIVE;
    worker->plain_end = axo__worker_turn(worker);
    while (axo__likely(message != NULL)) {
        if (axo__unlikely(!run_plain_message(worker, cell, message)))
            return worker->current; /* NULL: it has ended */
        message = cell->inbox.first;
        uint64_t word = axo__state_look(&cell->state); /* [S7] */
        if (axo__unlikely(message != NULL || word != AXO__RUNNING)) {
            run_outside(worker);
            if (axo__unlikely(worker->messages_left == 0 || (word & RUN_STOPS) != 0))
                break;
            if (message == NULL) {
                message = run_plain_fill(worker, cell);
                continue;
            }
            if (axo__unlikely(message->flags != 0))
                break;
            worker->messages_left--;
            cell->inbox.first = axo__message_next(message);
            continue;
        }
        axo__a64_store_relaxed(&worker->running_tag, 0); /* before another may run the cell */
        if (axo__unlikely(!axo__state_finish_plain(&cell->state)))
            break;
        cell = run_plain_next(worker, &message);
        if (axo__unlikely(cell == NULL))
            break;
        if (axo__unlikely(message == NULL && cell->attention == 0))
            message = run_plain_fill(worker, cell);
    }
    worker->message = NULL;
    worker->site = AXO_SITE_NONE;
    return cell;
}

/* The current turn, then others'; apart from the unwind point, for variables in registers. */
static __attribute__((noinline)) void run_turns(axo__worker *worker)
{
    for (;;) {
        axo__cell *cell = worker->current;
        if (cell->attention == AXO__ATTENTION_SYSTEM && cell->phase == AXO__PHASE_NEW) {
            worker->sched->ops->begin(worker, cell);
            cell = worker->current;
        }
        if (axo__likely(cell != NULL &&
                        (cell->attention | (worker->attention & AXO__LOOK_TRACED)) == 0 &&
                        worker->messages_left > 0))
            cell = run_plain(worker, cell);
        if (cell != NULL)
            run_turn(worker, cell);
        run_leave(worker);
        if (axo__worker_turn(worker) == worker->step_end)
            return;
        cell = axo__worker_find_next(worker);
        if (cell == NULL)
            return;
        run_enter(worker, cell, worker->sched->quantum);
    }
}

/* A handler has thrown, or a callback of a begin or an end that has no unwind point of its own. */
static __attribute__((noinline)) void run_thrown(axo__worker *worker)
{
    axo__land(worker);
    if (worker->message == NULL) {
        worker->sched->ops->thrown(worker, worker->current);
        return;
    }
    run_outcome(worker, worker->current, worker->message, AXO_EFAILED);
    if (--worker->until_clock == 0)
        (void)axo__worker_clock(worker);
}

/* A throw lands here, from whichever turn of run_turns it came: `current` and `message` say which.
 * The worker then goes on with run_turns, so a throw ends a message, not a step. */
void axo__run_cells(axo__worker *worker, axo__cell *cell, uint32_t messages, uint32_t turns)
{
    axo__unwind unwind;
    AXO_DEBUG_ASSERT(worker == axo__self && worker->unwind == NULL);
    AXO_DEBUG_ASSERT(turns > 0);
    worker->unwind = &unwind;
    uint64_t turn = axo__worker_turn(worker);
    uint64_t until_housekeeping = AXO__HOUSEKEEPING_TURNS - turn % AXO__HOUSEKEEPING_TURNS;
    worker->step_end = turn + (turns < until_housekeeping ? turns : until_housekeeping);
    run_enter(worker, cell, messages);
    if (AXO__UNWIND_SET(&unwind) != 0)
        run_thrown(worker);
    run_turns(worker);
    worker->unwind = NULL;
}
