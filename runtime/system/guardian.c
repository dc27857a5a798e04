/* guardian.c - root, /user, /system: what they decide, and the order of the end (GU).
 *
 * The end runs as messages between the three: root watches /system, /system watches /user. A
 * guardian that terminates is a notice for the next one, which then does its part and stops itself,
 * so steps (2) to (5) of system.h need no lock and no other thread.
 */
#include "system/guardian.h"

#include <stdio.h>
#include <string.h>

#include "sched/ready.h"
#include "sched/send.h"
#include "super/children.h"
#include "super/spawn.h"
#include "super/watch.h"
#include "system/system.h"

/* The system of the worker that runs the guardian's callback. */
static axo_system *guardian_system(void)
{
    return axo__self->local.core->system;
}

static axo__cell *guardian_cell(axo_ctx *ctx)
{
    return (axo__cell *)(void *)ctx;
}

/* ---- deciders ---- */

void axo__guardian_root_failed(axo__core *core, const axo__cause *cause)
{
    axo_system *system = core->system;
    axo_failure failure = axo__cause_show(&core->texts, cause);
    axo_outcome *outcome = &system->outcome;
    AXO_DEBUG_ASSERT(failure.kind != AXO_FAILURE_NONE);
    axo__os_mutex_lock(&system->outcome_mutex);
    /* The first failure wins: the ones that follow are consequences of the shutdown. */
    if (!outcome->failed) {
        outcome->failed = 1;
        outcome->kind = failure.kind;
        outcome->code = failure.code;
        outcome->actor = failure.actor;
        (void)snprintf(outcome->text, sizeof outcome->text, "%s", failure.text);
    }
    axo__os_mutex_unlock(&system->outcome_mutex);
}

/* GU-07, GU-08: the root stops every child whose failure reaches it, and keeps the cause. */
static axo_directive guardian_root_decides(axo_ctx *ctx, void *state, const axo_failure *failure,
                                           void *user)
{
    (void)ctx;
    (void)state;
    (void)user;
    (void)failure;
    axo__cell *child = axo__table_at(&axo__self->local.core->table,
                                     (uint32_t)(axo__self->sender.bits & AXO__SLOT_MASK));
    AXO_DEBUG_ASSERT(child != NULL && child->guardian);
    axo__cause cause = axo__cell_failure(child);
    axo__guardian_root_failed(axo__self->local.core, &cause);
    return AXO_STOP;
}

/* GU-11: /system restarts its children, but INIT, POST_RESTART and KILLED stop them; FATAL ends the
 * system. */
static axo_directive guardian_system_decides(axo_ctx *ctx, void *state, const axo_failure *failure,
                                             void *user)
{
    (void)ctx;
    (void)state;
    (void)user;
    switch ((axo_failure_kind)failure->kind) {
    case AXO_FAILURE_INIT:
    case AXO_FAILURE_POST_RESTART:
    case AXO_FAILURE_KILLED:
        return AXO_STOP;
    case AXO_FAILURE_FATAL:
        return AXO_ESCALATE;
    case AXO_FAILURE_NONE:
    case AXO_FAILURE_ORDINARY:
    case AXO_FAILURE_DEATH_PACT:
    case AXO_FAILURE_ENDED:
    case AXO_FAILURE_CRASH:
    case AXO_FAILURE_STUCK:
    case AXO_FAILURE_MEMORY:
        break;
    }
    return AXO_RESTART;
}

/* ---- hooks of the end ---- */

/* Takes a hook out: its actor has terminated, or has said that it is done. The last hook lets
 * /system stop. */
static void guardian_hook_gone(axo_system *system, axo__worker *worker, axo__cell *cell,
                               axo_ref actor)
{
    for (axo__hook **link = &system->hooks; *link != NULL; link = &(*link)->next) {
        axo__hook *hook = *link;
        if (!axo_ref_equal(hook->actor, actor))
            continue;
        AXO_DEBUG_ASSERT(system->hooks_waiting > 0);
        *link = hook->next;
        axo__pool_free(&worker->local.cache, hook, sizeof *hook);
        system->hooks_waiting--;
        break;
    }
    if (system->hooks_told && system->hooks_waiting == 0)
        axo__cell_stop_self(cell); /* (4) */
}

/* Step (3): every hook's actor gets AXO_TERMINATION_HOOK. An actor that cannot be told, for want of
 * memory, is not waited for: the end of the system must not depend on an allocation. */
static void guardian_tell_hooks(axo_system *system, axo__worker *worker, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(!system->hooks_told && axo__worker_is_in(worker, cell));
    system->hooks_told = true;
    for (axo__hook **link = &system->hooks; *link != NULL;) {
        axo__hook *hook = *link;
        axo__message *message =
            axo__message_make(&worker->local.cache, AXO_TERMINATION_HOOK, axo__cell_ref(cell), 0);
        axo__cell *actor = axo__table_find(&worker->local.core->table, hook->actor);
        if (message == NULL && actor != NULL) { /* no memory: its actor is not asked */
            axo__watch_remove(worker, cell, hook->actor);
            *link = hook->next;
            axo__pool_free(&worker->local.cache, hook, sizeof *hook);
            system->hooks_waiting--;
            continue;
        }
        link = &hook->next;
        /* its actor has terminated: the notice to /system is on the way, and takes the hook out */
        if (actor == NULL) {
            axo__pool_free(&worker->local.cache, message, sizeof(axo__message));
            continue;
        }
        message->flags = AXO__MESSAGE_SIGNAL;
        axo__sched_accept(worker, actor, message);
    }
    if (system->hooks_waiting == 0)
        axo__cell_stop_self(cell);
}

enum { GUARDIAN_ADD = 1, GUARDIAN_DONE = 2 };

/* A child's request to /system, a message of the runtime: it is not counted as sent, so the balance
 * of the program's messages (D7) stays exact. NULL: no memory. */
static axo__message *guardian_request(axo__worker *worker, const axo__cell *cell, uint32_t what)
{
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, cell));
    axo__message *message = axo__message_make(&worker->local.cache, AXO_TAG_RESERVED + 0x100 + what,
                                              axo__cell_ref(cell), 0);
    if (message != NULL)
        message->flags = AXO__MESSAGE_SIGNAL;
    return message;
}

/* Sends a request, or frees it. */
static axo_status guardian_ask(axo_system *system, axo__worker *worker, axo__message *request)
{
    axo__cell *guardian =
        axo__table_find(&worker->local.core->table, system->guardians[AXO_GUARDIAN_SYSTEM]);
    if (request == NULL)
        return AXO_ENOMEM;
    if (guardian == NULL) {
        axo__message_free(&worker->local.cache, request);
        return AXO_ESTOPPING;
    }
    axo__sched_accept(worker, guardian, request);
    return AXO_OK;
}

/* The answer is made here, so that who has a hook can give it without memory. */
axo_status axo__guardian_add_hook(axo_system *system, axo__worker *worker, axo__cell *cell)
{
    axo__extra *extra = axo__extra_take(&worker->local, cell);
    if (extra == NULL)
        return AXO_ENOMEM;
    if (extra->done == NULL)
        extra->done = guardian_request(worker, cell, GUARDIAN_DONE);
    if (extra->done == NULL)
        return AXO_ENOMEM;
    return guardian_ask(system, worker, guardian_request(worker, cell, GUARDIAN_ADD));
}

/* Who has no hook, or has said it before, is not waited for. */
axo_status axo__guardian_hook_done(axo_system *system, axo__worker *worker, axo__cell *cell)
{
    axo__extra *extra = axo__cell_extra(cell);
    if (extra == NULL || extra->done == NULL)
        return AXO_OK;
    axo__message *request = extra->done;
    extra->done = NULL;
    return guardian_ask(system, worker, request);
}

/* Adds a hook, once for an actor, and watches it. After step (3) a hook would never be told, so it
 * is refused. */
static void guardian_add(axo_system *system, axo__worker *worker, axo__cell *cell, axo_ref actor)
{
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, cell));
    for (axo__hook *hook = system->hooks; hook != NULL; hook = hook->next) {
        if (axo_ref_equal(hook->actor, actor))
            return;
    }
    axo__hook *hook = axo__pool_alloc(&worker->local.cache, sizeof *hook);
    if (hook == NULL || system->hooks_told ||
        axo__watch_add(worker, cell, actor, NULL) != AXO_OK) {
        axo__pool_free(&worker->local.cache, hook, sizeof *hook);
        return;
    }
    hook->actor = actor;
    hook->next = system->hooks;
    system->hooks = hook;
    system->hooks_waiting++;
}

/* ---- callbacks ---- */

/* The watches that drive the end are made in pre_start: before the guardian's first message. */
static axo_status guardian_root_start(axo_ctx *ctx, void *state)
{
    (void)state;
    return axo__watch_add(axo__self, guardian_cell(ctx),
                          guardian_system()->guardians[AXO_GUARDIAN_SYSTEM], NULL);
}

static axo_status guardian_system_start(axo_ctx *ctx, void *state)
{
    (void)state;
    return axo__watch_add(axo__self, guardian_cell(ctx),
                          guardian_system()->guardians[AXO_GUARDIAN_USER], NULL);
}

static axo_status guardian_root_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)state;
    /* Root watches /system alone, so any AXO_TERMINATED is the end of /system. */
    if (message->tag != AXO_TERMINATED)
        return AXO_UNHANDLED; /* GU-12 */
    axo__cell_stop_self(guardian_cell(ctx)); /* (5) */
    return AXO_OK;
}

static axo_status guardian_user_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)ctx;
    (void)state;
    (void)message;
    return AXO_UNHANDLED;
}

static axo_status guardian_system_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    axo_system *system = guardian_system();
    axo__cell *cell = guardian_cell(ctx);
    (void)state;
    switch (message->tag) {
    case AXO_TERMINATED: {
        axo_ref gone = AXO_PAYLOAD(message, axo_terminated)->actor;
        if (axo_ref_equal(gone, system->guardians[AXO_GUARDIAN_USER]))
            guardian_tell_hooks(system, axo__self, cell); /* (2) */
        else
            guardian_hook_gone(system, axo__self, cell, gone);
        return AXO_OK;
    }
    case AXO_TAG_RESERVED + 0x100 + GUARDIAN_ADD:
        guardian_add(system, axo__self, cell, message->sender);
        return AXO_OK;
    /* Without the watch, /system gets no notice of the actor's later end. */
    case AXO_TAG_RESERVED + 0x100 + GUARDIAN_DONE:
        axo__watch_remove(axo__self, cell, message->sender);
        guardian_hook_gone(system, axo__self, cell, message->sender);
        return AXO_OK;
    default:
        return AXO_UNHANDLED;
    }
}

/* Frees hooks that were never waited for: /system can be stopped by a failure before step (3). */
static axo_status guardian_system_stop(axo_ctx *ctx, void *state)
{
    axo_system *system = guardian_system();
    (void)ctx;
    (void)state;
    while (system->hooks != NULL) {
        axo__hook *hook = system->hooks;
        system->hooks = hook->next;
        axo__pool_free(&axo__self->local.cache, hook, sizeof *hook);
    }
    return AXO_OK;
}

/* GU-10: a guardian that restarts keeps its children, so its pre_restart stops none. */
static axo_status guardian_pre_restart(axo_ctx *ctx, void *state, const axo_failure *failure,
                                       const axo_message *message)
{
    (void)ctx;
    (void)state;
    (void)failure;
    (void)message;
    return AXO_OK;
}

static const axo_class guardian_classes[3] = {
    {.size = sizeof(axo_class), .name = "root", .pre_start = guardian_root_start,
     .receive = guardian_root_receive, .pre_restart = guardian_pre_restart},
    {.size = sizeof(axo_class), .name = "user", .receive = guardian_user_receive,
     .pre_restart = guardian_pre_restart},
    {.size = sizeof(axo_class), .name = "system", .pre_start = guardian_system_start,
     .receive = guardian_system_receive, .post_stop = guardian_system_stop,
     .pre_restart = guardian_pre_restart},
};

static const axo_strategy guardian_root_strategy = {.size = sizeof(axo_strategy),
                                                    .decider = guardian_root_decides};
static const axo_strategy guardian_system_strategy = {.size = sizeof(axo_strategy),
                                                      .decider = guardian_system_decides};

/* The cells are made with the first worker's local, whose thread does not run yet; names and
 * families exist before any child can be adopted. */
axo_status axo__guardians_make(axo_system *system)
{
    static const char *const names[3] = {NULL, "user", "system"};
    axo__local *local = &system->sched.workers[0].local;
    const axo_strategy *strategies[3] = {&guardian_root_strategy, system->options.user_strategy,
                                         &guardian_system_strategy};
    axo_status status = AXO_OK;
    for (uint32_t i = 0; i < 3 && status == AXO_OK; i++) {
        axo__cell *root = i > 0 ? system->cells[0] : NULL;
        axo_props props = {.size = sizeof props, .cls = &guardian_classes[i], .name = names[i],
                           .strategy = strategies[i]};
        axo__birth birth = {.props = &props, .parent_cell = root};
        if (root != NULL)
            birth.parent = axo__cell_ref(root);
        status = axo__spawn_make(local, &birth, &system->cells[i]);
        if (status != AXO_OK)
            break;
        AXO_ASSERT(system->cells[i]->slot == i); /* as axo__cell_is_system has it */
        system->guardians[i] = axo__cell_ref(system->cells[i]);
        if (axo__family_take(local, system->cells[i]) == NULL)
            return AXO_ENOMEM; /* a guardian's family exists before its first child is adopted */
        if (root != NULL)
            axo__children_link(root, system->cells[i]);
    }
    return status;
}

axo_status axo__guardian_spawn(axo_system *system, const axo_props *props, axo_ref *out)
{
    axo_guardian which = props->system_actor ? AXO_GUARDIAN_SYSTEM : AXO_GUARDIAN_USER;
    axo__cell *child = NULL;
    axo__door *door = axo__door_enter(&system->sched);
    axo__cell *parent = axo__table_find(&system->core.table, system->guardians[which]);
    axo_status status = AXO_ESTOPPING;
    /* A stop of the guardian shows in one of three places: in `refused`, in its directives
     * until its runner takes them, in its word from then on. */
    if (parent != NULL &&
        (axo__a32_load_relaxed(&system->refused[which]) != 0 ||
         (axo__state_look(&parent->state) & AXO__TERMINATING) != 0 ||
         (axo__directives_look(&parent->directives) & AXO__STOPS) != 0))
        parent = NULL; /* ST-10 */
    /* SH-04: refused once, refused for good, whatever the guardian's word says later */
    if (parent == NULL)
        axo__a32_store_relaxed(&system->refused[which], 1);
    if (parent != NULL) {
        axo__birth birth = {.props = props, .parent = system->guardians[which],
                            .parent_cell = parent};
        status = axo__spawn_make(&door->local, &birth, &child);
    }
    if (status == AXO_OK) {
        *out = axo__cell_ref(child);
        /* The parent links the child in its own turn: only its runner may write the list of
         * children. The push comes before the announcement, as state.h asks. */
        axo__stack_push_any(&parent->system, &child->life_node, AXO__SYS_ADOPT);
        axo__sched_announce_system(NULL, parent);
    }
    axo__door_leave(door);
    return status;
}
