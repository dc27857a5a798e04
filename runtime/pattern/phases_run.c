/* phases_run.c - the run of a plan: on a thread of its own, one phase after the other.
 *
 * All tasks of a phase begin together, each with a call of its own (call.h), and the run waits for
 * them one after the other against the same deadline. A task that is late keeps its call open until
 * the end of the run, so that the report can say by how much it was late.
 */
#include <string.h>

#include "pattern/own.h"
#include "pattern/phases.h"

#define PHASES_TAG_RUN  (AXO_TAG_SERVICES + 0x11)
#define PHASES_TAG_CALL (AXO_TAG_SERVICES + 0x12)

/* ---- a callback as an actor ---------------------------------------------------------------- */

typedef struct phases_job {
    axo_status (*call)(void *user);
    void *user;
    uint64_t number; /* the number of the one request that the actor obeys */
} phases_job;

/* The arguments are copied: the task may be freed before the actor ends. */
static axo_status phases_job_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    memcpy(state, args, sizeof(phases_job));
    return AXO_OK;
}

/* Makes the call; the answer is the callback's status. Only the request with the run's number is
 * obeyed (own.h): a forged tag must not make the call a second time. */
static axo_status phases_job_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    const phases_job *job = state;
    if (message->tag != PHASES_TAG_CALL || message->size != sizeof job->number ||
        memcmp(message->payload, &job->number, sizeof job->number) != 0)
        return AXO_UNHANDLED;
    axo_status status = job->call(job->user);
    (void)axo_reply(ctx, message, PHASES_TAG_CALL, &status, sizeof status);
    return axo_stop_self(ctx);
}

/* Spawns the actor of a callback task, on the blocking dispatcher: the callback may wait. */
static axo_status phases_job_spawn(axo_system *system, const axo__task *task, axo_ref *out)
{
    static const axo_class job_class =
        AXO_CLASS(.name = "task", .state_size = sizeof(phases_job),
                  .construct = phases_job_construct, .receive = phases_job_receive);
    phases_job job = {.call = task->what.call, .user = task->what.user, .number = task->number};
    axo_props props =
        AXO_PROPS(.cls = &job_class, .args = &job, .args_size = sizeof job, .system_actor = 1,
                  .dispatcher = AXO_DISPATCH_BLOCKING);
    return axo_system_spawn(system, &props, out);
}

/* ---- a drain as an actor -------------------------------------------------------------------- */

typedef struct phases_drain {
    axo_ref root;
    const axo_class *cls;
    uint32_t tag;
    int64_t timeout_ns;
    uint64_t number; /* as in phases_job, and the drain's id */
    axo_ref asker;   /* none: the request has not come */
} phases_drain;

static axo_status phases_drain_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    memcpy(state, args, sizeof(phases_drain));
    return AXO_OK;
}

/* Answers with an axo_drained, of the drain or of its refusal. */
static axo_status phases_drain_answer(axo_ctx *ctx, const phases_drain *self,
                                      const axo_drained *drained)
{
    (void)axo_send(ctx, self->asker, PHASES_TAG_CALL, drained, sizeof *drained);
    return axo_stop_self(ctx);
}

static axo_status phases_drain_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    phases_drain *self = state;
    if (message->tag == AXO_DRAINED && message->size == sizeof(axo_drained) &&
        AXO_PAYLOAD(message, axo_drained)->id == self->number)
        return phases_drain_answer(ctx, self, AXO_PAYLOAD(message, axo_drained));
    if (message->tag != PHASES_TAG_CALL || message->size != sizeof self->number ||
        memcmp(message->payload, &self->number, sizeof self->number) != 0 ||
        !axo_ref_is_none(self->asker))
        return AXO_UNHANDLED;
    self->asker = message->sender;
    axo_drained refused = {.status = axo_drain(ctx, self->root, self->cls, self->tag,
                                               self->timeout_ns, self->number)};
    return refused.status == AXO_OK ? AXO_OK : phases_drain_answer(ctx, self, &refused);
}

/* The drain ends somewhat before the phase, so that there is time to say who is late. */
static axo_status phases_drain_spawn(axo_system *system, const axo__stage *phase,
                                     const axo__task *task, axo_ref *out)
{
    static const axo_class drainer_class =
        AXO_CLASS(.name = "task", .state_size = sizeof(phases_drain),
                  .construct = phases_drain_construct, .receive = phases_drain_receive);
    phases_drain args = {.root = task->what.actor,
                         .cls = task->what.cls,
                         .tag = task->what.tag,
                         .timeout_ns = phase->timeout_ns - phase->timeout_ns / 16,
                         .number = task->number};
    axo_props props = AXO_PROPS(.cls = &drainer_class, .args = &args, .args_size = sizeof args,
                                .system_actor = 1);
    return axo_system_spawn(system, &props, out);
}

/* ---- one task ------------------------------------------------------------------------------ */

/* The record of what a task waits for: the end of an actor (stop), or an answer (ask, call). */
static axo__wait phases_wait(axo_system *system, const axo__stage *phase, const axo__task *task,
                             axo_ref target)
{
    bool stop = task->what.kind == AXO_TASK_STOP;
    axo__wait wait = {
        .kind = stop ? AXO__WAIT_STOP : AXO__WAIT_ASK,
        .farewell = AXO_FAREWELL_PILL,
        .tag = task->what.kind == AXO_TASK_ASK ? task->what.tag : 0,
        .id = task->id,
        .target = target,
        .since_ns = axo__wait_thread_now(),
        .timeout_ns = phase->timeout_ns,
    };
    (void)axo_system_path(system, target, wait.path, sizeof wait.path);
    return wait;
}

/* Whether an actor of the run's own stands between it and what is to be done. */
static bool phases_has_job(const axo__task *task)
{
    return task->what.kind == AXO_TASK_CALL || task->what.kind == AXO_TASK_DRAIN;
}

/* Sends the task's request in the name of the call's actor; a stop's farewell is sent by that
 * actor. */
static axo_status phases_send(axo_system *system, const axo__task *task, const axo__wait *wait)
{
    if (task->what.kind == AXO_TASK_STOP)
        return AXO_OK;
    if (phases_has_job(task))
        return axo_system_send_from(system, task->waiter, wait->target, PHASES_TAG_CALL,
                                    &task->number, sizeof task->number);
    return axo_system_send_from(system, task->waiter, wait->target, wait->tag, task->payload,
                                task->what.payload_size);
}

/* Begins a task. A task that cannot begin is a trouble of the report, and the others go on. */
static void phases_begin_task(axo_system *system, const axo__stage *phase, axo__task *task)
{
    axo_ref target = task->what.actor;
    task->status = AXO_OK;
    if (phases_has_job(task)) {
        task->number = axo__own_number(task, axo_system_now(system));
        task->status = task->what.kind == AXO_TASK_CALL
                           ? phases_job_spawn(system, task, &target)
                           : phases_drain_spawn(system, phase, task, &target);
        task->job = target;
    }
    axo__wait wait = phases_wait(system, phase, task, target);
    if (task->status == AXO_OK)
        task->status = axo__call_open(system, &wait, &task->call, &task->waiter);
    if (task->status != AXO_OK) {
        if (phases_has_job(task) && !axo_ref_is_none(target))
            (void)axo_system_stop_actor(system, target);
        axo__wait_judge(system, &wait, axo_ref_none(), task->status, &task->verdict);
        return;
    }
    axo_status status = phases_send(system, task, &wait);
    if (status == AXO_OK)
        return;
    /* The request was refused: the call ends with that status. */
    (void)axo__call_give_up(task->call, task->waiter, status);
    if (phases_has_job(task))
        (void)axo_system_stop_actor(system, target);
}

/* Waits for a task until its phase's deadline. A late task's call stays open, and `late` is set. */
static void phases_await_task(axo__task *task)
{
    if (task->call != NULL)
        task->late = !axo__call_await(task->call);
}

/* The status that a callback has returned; AXO_EFAILED: another actor has answered in the job's
 * place. */
static axo_status phases_returned(const axo__task *task, const axo_message *answer)
{
    axo_status status;
    if (answer->tag != PHASES_TAG_CALL || answer->size != sizeof status ||
        !axo_ref_equal(answer->sender, task->job))
        return AXO_EFAILED;
    memcpy(&status, answer->payload, sizeof status);
    return status;
}

/* How a drain went; the verdict is about the first who is late. One that the phase did not wait for
 * stays late, though it has ended well since: a later phase has stopped those who were. */
static axo_status phases_drained(axo_system *system, axo__task *task, const axo_message *answer)
{
    axo_drained drained;
    if (answer->tag != PHASES_TAG_CALL || answer->size != sizeof drained ||
        !axo_ref_equal(answer->sender, task->job))
        return AXO_EFAILED;
    memcpy(&drained, answer->payload, sizeof drained);
    task->unfinished = drained.status == AXO_ETIMEDOUT;
    task->late = task->late || task->unfinished;
    if (drained.named == 0)
        return drained.status;
    const axo_drain_late *first = &drained.first[0];
    axo_verdict *out = &task->verdict;
    out->status = drained.status;
    out->target = first->actor;
    out->tag = task->what.tag;
    out->doing = first->doing;
    out->queued = first->queued;
    memcpy(out->path, first->path, sizeof out->path);
    (void)axo_system_tag_name(system, out->target, out->tag, out->tag_name, sizeof out->tag_name);
    return drained.status;
}

/* Ends a task: closes its call if the task has not, and keeps status, verdict and lateness.
 * `unfinished`: the task had not ended by now. */
static void phases_end_task(axo_system *system, const axo__stage *phase, axo__task *task)
{
    axo_asked answer;
    if (task->call == NULL)
        return;
    task->unfinished = axo__call_give_up(task->call, task->waiter, AXO_ETIMEDOUT);
    if (task->unfinished && task->what.kind == AXO_TASK_DRAIN)
        (void)axo_system_stop_actor(system, task->job);
    axo_status status = axo__call_wait(task->call, task->waiter);
    axo__wait_judge(system, &task->call->wait, task->waiter, status, &task->verdict);
    if (status == AXO_OK && task->what.kind != AXO_TASK_STOP) {
        axo__call_take_answer(task->call, &answer);
        if (task->what.kind == AXO_TASK_CALL)
            status = phases_returned(task, &answer.message);
        else if (task->what.kind == AXO_TASK_DRAIN)
            status = phases_drained(system, task, &answer.message);
        axo_asked_free(system, &answer);
    }
    task->status = task->late ? AXO_ETIMEDOUT : status;
    if (task->late)
        task->late_ns = axo__wait_passed(axo__call_closed_ns(task->call), phase->deadline_ns);
    axo__call_drop(task->call);
    task->call = NULL;
}

/* ---- phases -------------------------------------------------------------------------------- */

/* Whether a task went wrong, in time to abort the run: a late task has gone wrong already and is
 * not awaited again. */
static bool phases_task_bad(axo_system *system, const axo__stage *phase, axo__task *task)
{
    if (!task->late)
        phases_end_task(system, phase, task);
    return task->late || task->status != AXO_OK;
}

/* Runs a phase; true: all of its tasks went well. All tasks begin before the first is awaited. */
static bool phases_run_one(axo_phases *phases, axo__stage *phase)
{
    bool good = true;
    (void)pthread_mutex_lock(&phases->mutex);
    /* from here on its tasks are the run's: axo_phases_cancel gets AXO_EBUSY */
    phase->begun = true;
    (void)pthread_mutex_unlock(&phases->mutex);
    phase->deadline_ns = axo__wait_thread_now() + phase->timeout_ns;
    for (axo__task *task = phase->tasks; task != NULL; task = task->next)
        phases_begin_task(phases->system, phase, task);
    for (axo__task *task = phase->tasks; task != NULL; task = task->next)
        phases_await_task(task);
    for (axo__task *task = phase->tasks; task != NULL; task = task->next)
        good = !phases_task_bad(phases->system, phase, task) && good;
    return good;
}

/* Ends the late tasks, after the last phase, and counts the troubles. A late task makes the whole
 * run AXO_ETIMEDOUT, whatever else went wrong. */
static void phases_sum(axo_phases *phases, axo_phases_report *report)
{
    for (axo__stage *phase = phases->order; phase != NULL; phase = phase->then) {
        if (!phase->begun)
            break; /* its tasks are not the run's, nor are those of the later phases */
        for (axo__task *task = phase->tasks; task != NULL; task = task->next) {
            phases_end_task(phases->system, phase, task);
            if (task->status == AXO_OK)
                continue;
            report->troubles++;
            if (task->late)
                report->status = AXO_ETIMEDOUT;
            else if (report->status == AXO_OK)
                report->status = AXO_EFAILED;
        }
    }
}

/* Publishes the report, once, and wakes all threads in axo_phases_run. */
static void phases_over(axo_phases *phases, const axo_phases_report *report)
{
    (void)pthread_mutex_lock(&phases->mutex);
    /* The destructor of an untaken plan may come after the run: the first report stands. */
    if (phases->state != AXO__PHASES_OVER) {
        phases->report = *report;
        phases->state = AXO__PHASES_OVER;
        (void)pthread_cond_broadcast(&phases->over);
    }
    (void)pthread_mutex_unlock(&phases->mutex);
}

static void phases_run_all(axo_phases *phases)
{
    axo_phases_report report = {.status = AXO_OK};
    int64_t since = axo__wait_thread_now();
    for (axo__stage *phase = phases->order; phase != NULL; phase = phase->then) {
        /* A phase that begins has run, also if it aborts the plan. */
        report.ran++;
        if (!phases_run_one(phases, phase) && phase->abort) {
            report.aborted = phase->then != NULL;
            break;
        }
    }
    phases_sum(phases, &report);
    report.took_ns = axo__wait_passed(axo__wait_thread_now(), since);
    phases_over(phases, &report);
}

/* ---- the actor behind it ------------------------------------------------------------------- */

/* The destructor of the message that brings the plan: the actor ended before it ran. Then the run
 * is over with AXO_ESTOPPING, and no thread waits for ever. */
static void phases_untaken(void *payload, void *user)
{
    axo_phases_report report = {.status = AXO_ESTOPPING};
    (void)user;
    phases_over(payload, &report);
}

static axo_status phases_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    /* the plan's address, which the message must show; by then the plan may be freed */
    *(const void **)state = args;
    return AXO_OK;
}

/* The run, in one callback on a thread of its own: on the blocking dispatcher it would wait behind
 * handlers that hang, which are what its timeouts are for. Taking the payload keeps the destructor
 * from running when the message is freed. */
static axo_status phases_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    axo_phases *phases = (axo_phases *)(uintptr_t)message->payload;
    if (message->tag != PHASES_TAG_RUN ||
        !axo__own_take(ctx, message, *(const void *const *)state, phases_untaken))
        return AXO_UNHANDLED;
    phases_run_all(phases);
    return axo_stop_self(ctx);
}

static axo_status phases_spawn(axo_phases *phases)
{
    static const axo_class run_class =
        AXO_CLASS(.name = "phases", .state_size = sizeof(const void *),
                  .construct = phases_construct, .receive = phases_receive);
    axo_props props = AXO_PROPS(.cls = &run_class, .args = phases, .system_actor = 1,
                                .dispatcher = AXO_DISPATCH_PINNED);
    axo_ref actor;
    axo_status status = axo_system_spawn(phases->system, &props, &actor);
    if (status != AXO_OK)
        return status;
    status = axo_system_send_owned(phases->system, actor, PHASES_TAG_RUN, phases, sizeof *phases,
                                   phases_untaken, NULL);
    if (status == AXO_OK || status == AXO_EGONE)
        return AXO_OK;
    (void)axo_system_stop_actor(phases->system, actor);
    return status;
}

axo_status axo_phases_start(axo_phases *phases)
{
    char none[1];
    axo_status status = axo__phases_usable(phases);
    if (status != AXO_OK)
        return status;
    (void)pthread_mutex_lock(&phases->mutex);
    /* Only the first start spawns the run; the others find it running or over, and succeed. */
    bool mine = phases->state == AXO__PHASES_OPEN;
    status = mine ? axo__phases_order_locked(phases, none, sizeof none) : AXO_OK;
    if (mine && status == AXO_OK)
        phases->state = AXO__PHASES_RUNNING;
    (void)pthread_mutex_unlock(&phases->mutex);
    if (!mine || status != AXO_OK)
        return status;
    status = phases_spawn(phases);
    if (status != AXO_OK) {
        (void)pthread_mutex_lock(&phases->mutex);
        /* The actor could not be spawned: the plan can be started again, and threads that wait for
         * this run are told. */
        phases->state = AXO__PHASES_OPEN;
        (void)pthread_cond_broadcast(&phases->over);
        (void)pthread_mutex_unlock(&phases->mutex);
    }
    return status;
}

axo_status axo_phases_run(axo_phases *phases, axo_phases_report *report)
{
    if (report != NULL)
        memset(report, 0, sizeof *report);
    if (phases == NULL)
        return AXO_EINVAL;
    axo_status status = axo__call_allowed(phases->system);
    /* AXO_ESTOPPING: the system has ended, but the report of a run that is over is still there */
    if (status == AXO_OK || status == AXO_ESTOPPING)
        status = axo_phases_start(phases);
    if (status != AXO_OK)
        return status;
    /* pthread_cond_wait is a cancellation point: a thread that ended in it would leave the mutex
     * locked. */
    int before = axo__context_hold();
    (void)pthread_mutex_lock(&phases->mutex);
    while (phases->state == AXO__PHASES_RUNNING)
        (void)pthread_cond_wait(&phases->over, &phases->mutex);
    axo_phases_report told = phases->report;
    if (phases->state == AXO__PHASES_OPEN) /* another thread's start has failed */
        told.status = AXO_ENOMEM;
    (void)pthread_mutex_unlock(&phases->mutex);
    axo__context_let(before);
    if (report != NULL)
        *report = told;
    return told.status;
}

uint32_t axo_phases_troubles(axo_phases *phases, axo_phase_trouble *out, uint32_t max)
{
    uint32_t count = 0;
    if (axo__phases_usable(phases) != AXO_OK || (out == NULL && max > 0))
        return 0;
    (void)pthread_mutex_lock(&phases->mutex);
    bool over = phases->state == AXO__PHASES_OVER;
    for (axo__stage *phase = phases->order; over && phase != NULL; phase = phase->then) {
        for (axo__task *task = phase->tasks; phase->begun && task != NULL; task = task->next) {
            /* The count goes on beyond `max`, so that a caller learns what room it needs. */
            if (task->status == AXO_OK || count++ >= max)
                continue;
            axo_phase_trouble *one = &out[count - 1];
            memset(one, 0, sizeof *one);
            memcpy(one->phase, phase->name, sizeof one->phase);
            memcpy(one->task, task->name, sizeof one->task);
            one->status = task->status;
            one->unfinished = task->unfinished;
            one->late_ns = task->late_ns;
            one->verdict = task->verdict;
        }
    }
    (void)pthread_mutex_unlock(&phases->mutex);
    return count;
}
