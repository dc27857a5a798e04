/* phases.c - a plan of phases and tasks: making it, its order, its text.
 *
 * A plan has few phases, so lists are walked and names compared; nothing is indexed. Memory for a
 * new phase or task is taken before the mutex, because the allocator is the program's. */
#include "pattern/phases.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "pattern/given.h"

#define PHASES_MS INT64_C(1000000)

/* ---- making --------------------------------------------------------------------------------- */

axo_status axo_phases_new(axo_system *system, axo_phases **out)
{
    if (out == NULL)
        return AXO_EINVAL;
    *out = NULL;
    if (system == NULL)
        return AXO_EINVAL;
    if (!axo__context_at_home(system))
        return AXO_EFORKED;
    axo_phases *phases = axo_system_alloc(system, sizeof *phases);
    if (phases == NULL)
        return AXO_ENOMEM;
    memset(phases, 0, sizeof *phases);
    phases->system = system;
    /* A plan has a mutex of its own: threads of the program build it before the system knows it. */
    if (pthread_mutex_init(&phases->mutex, NULL) != 0)
        goto fail;
    if (pthread_cond_init(&phases->over, NULL) != 0) {
        (void)pthread_mutex_destroy(&phases->mutex);
        goto fail;
    }
    *out = phases;
    return AXO_OK;
fail:
    axo_system_free(system, phases, sizeof *phases);
    return AXO_ETHREAD;
}

axo_status axo__phases_usable(const axo_phases *phases)
{
    if (phases == NULL)
        return AXO_EINVAL;
    return axo__context_at_home(phases->system) ? AXO_OK : AXO_EFORKED;
}

/* A task and its payload are one block. */
static void phases_free_task(axo_system *system, axo__task *task)
{
    axo_system_free(system, task, sizeof *task + task->what.payload_size);
}

axo_status axo_phases_free(axo_phases *phases)
{
    if (phases == NULL)
        return AXO_OK;
    if (!axo__context_at_home(phases->system))
        return AXO_EFORKED;
    (void)pthread_mutex_lock(&phases->mutex);
    /* The run holds pointers into the plan; a caller that frees a running plan gets AXO_EBUSY. */
    bool runs = phases->state == AXO__PHASES_RUNNING;
    (void)pthread_mutex_unlock(&phases->mutex);
    if (runs)
        return AXO_EBUSY;
    axo_system *system = phases->system;
    while (phases->phases != NULL) {
        axo__stage *phase = phases->phases;
        phases->phases = phase->next;
        while (phase->tasks != NULL) {
            axo__task *task = phase->tasks;
            phase->tasks = task->next;
            phases_free_task(system, task);
        }
        axo_system_free(system, phase, sizeof *phase);
    }
    (void)pthread_cond_destroy(&phases->over);
    (void)pthread_mutex_destroy(&phases->mutex);
    axo_system_free(system, phases, sizeof *phases);
    return AXO_OK;
}

/* Whether a name is there, and short enough to be copied whole. */
static bool phases_name_good(const char *name)
{
    return name != NULL && name[0] != 0 && memchr(name, 0, AXO_PHASE_NAME) != NULL;
}

/* The phase of a name; NULL: none. */
static axo__stage *phases_find_locked(axo_phases *phases, const char *name)
{
    for (axo__stage *phase = phases->phases; phase != NULL; phase = phase->next) {
        if (strcmp(phase->name, name) == 0)
            return phase;
    }
    return NULL;
}

/* Checks a phase by itself. Phases that it comes after need not exist yet: they are looked up when
 * the plan begins. */
static axo_status phases_check_phase(const axo_phase *phase)
{
    if (!phases_name_good(phase->name))
        return AXO_ENAME;
    for (uint32_t i = 0; i < AXO_PHASE_AFTER_MAX && phase->after[i] != NULL; i++) {
        if (!phases_name_good(phase->after[i]))
            return AXO_ENAME;
    }
    return phase->timeout_ns < 0 || phase->timeout_ns > AXO_DELAY_MAX ? AXO_EINVAL : AXO_OK;
}

axo_status axo_phases_add(axo_phases *phases, const axo_phase *phase)
{
    axo_phase given;
    axo_status status = axo__phases_usable(phases);
    if (status == AXO_OK)
        status = axo__given_read(phase, &given, sizeof given);
    if (status == AXO_OK)
        status = phases_check_phase(&given);
    if (status != AXO_OK)
        return status;
    axo__stage *made = axo_system_alloc(phases->system, sizeof *made);
    if (made == NULL)
        return AXO_ENOMEM;
    memset(made, 0, sizeof *made);
    (void)snprintf(made->name, sizeof made->name, "%s", given.name);
    made->timeout_ns = given.timeout_ns != 0 ? given.timeout_ns : AXO_PHASE_TIMEOUT_NS;
    made->abort = given.abort != 0;
    for (; made->after_count < AXO_PHASE_AFTER_MAX && given.after[made->after_count] != NULL;
         made->after_count++)
        (void)snprintf(made->after[made->after_count], AXO_PHASE_NAME, "%s",
                       given.after[made->after_count]);
    (void)pthread_mutex_lock(&phases->mutex);
    axo__stage **link = &phases->phases;
    if (phases->state != AXO__PHASES_OPEN)
        status = AXO_EBUSY;
    else if (phases_find_locked(phases, made->name) != NULL)
        status = AXO_EEXIST;
    /* At the end: phases without an order between them run in the order of their making. */
    while (*link != NULL)
        link = &(*link)->next;
    if (status == AXO_OK)
        *link = made;
    (void)pthread_mutex_unlock(&phases->mutex);
    if (status != AXO_OK)
        axo_system_free(phases->system, made, sizeof *made);
    return status;
}

/* Checks what the kind of a task needs: a callback for AXO_TASK_CALL, else an actor. */
static axo_status phases_check_task(const axo_task *task)
{
    if (!phases_name_good(task->name) || !phases_name_good(task->phase))
        return AXO_ENAME;
    if (task->kind > AXO_TASK_DRAIN || (task->payload == NULL && task->payload_size > 0))
        return AXO_EINVAL;
    if (task->kind == AXO_TASK_CALL ? task->call == NULL : axo_ref_is_none(task->actor))
        return AXO_EINVAL;
    bool tagged = task->kind == AXO_TASK_ASK || task->kind == AXO_TASK_DRAIN;
    if (tagged && task->tag >= AXO_TAG_RESERVED)
        return AXO_EINVAL;
    return task->payload_size > AXO_TASK_PAYLOAD_MAX ? AXO_ETOOBIG : AXO_OK;
}

/* Adds a task to a phase that has not begun, also during the run: a task may be found only while
 * others end. */
static axo_status phases_task_locked(axo_phases *phases, const char *name, axo__task *task)
{
    axo__stage *phase = phases_find_locked(phases, name);
    if (phase == NULL)
        return AXO_ENOENT;
    if (phase->begun || phases->state == AXO__PHASES_OVER)
        return AXO_EBUSY;
    axo__task **link = &phase->tasks;
    while (*link != NULL)
        link = &(*link)->next;
    task->id = ++phases->tasks_made;
    *link = task;
    return AXO_OK;
}

axo_status axo_phases_task(axo_phases *phases, const axo_task *task, uint32_t *id)
{
    axo_task given;
    axo_status status = axo__phases_usable(phases);
    if (status == AXO_OK)
        status = axo__given_read(task, &given, sizeof given);
    if (status == AXO_OK)
        status = phases_check_task(&given);
    if (status != AXO_OK)
        return status;
    size_t size = sizeof(axo__task) + given.payload_size;
    axo__task *made = axo_system_alloc(phases->system, size);
    if (made == NULL)
        return AXO_ENOMEM;
    memset(made, 0, size);
    /* The name and payload are copied; the other pointers of `what` are never followed. */
    made->what = given;
    (void)snprintf(made->name, sizeof made->name, "%s", given.name);
    if (given.payload_size > 0)
        memcpy(made->payload, given.payload, given.payload_size);
    (void)pthread_mutex_lock(&phases->mutex);
    status = phases_task_locked(phases, given.phase, made);
    /* The number is written under the mutex, before another thread could cancel the task by it. */
    if (status == AXO_OK && id != NULL)
        *id = made->id;
    (void)pthread_mutex_unlock(&phases->mutex);
    if (status != AXO_OK)
        phases_free_task(phases->system, made);
    return status;
}

axo_status axo_phases_cancel(axo_phases *phases, uint32_t id)
{
    axo_status status = axo__phases_usable(phases);
    axo__task *found = NULL;
    if (status != AXO_OK)
        return status;
    status = AXO_ENOENT;
    (void)pthread_mutex_lock(&phases->mutex);
    for (axo__stage *phase = phases->phases; phase != NULL; phase = phase->next) {
        axo__task **link = &phase->tasks;
        while (*link != NULL && (*link)->id != id)
            link = &(*link)->next;
        if (*link == NULL)
            continue;
        /* A begun phase's tasks are the run's. */
        status = phase->begun || phases->state == AXO__PHASES_OVER ? AXO_EBUSY : AXO_OK;
        /* Unlinked under the mutex, freed after it. */
        found = status == AXO_OK ? *link : NULL;
        if (found != NULL)
            *link = found->next;
    }
    (void)pthread_mutex_unlock(&phases->mutex);
    if (found != NULL)
        phases_free_task(phases->system, found);
    return status;
}

/* ---- order ---------------------------------------------------------------------------------- */

/* A phase without a place that `phase` comes after; NULL: `phase` can have its place. */
static axo__stage *phases_before_locked(axo_phases *phases, const axo__stage *phase)
{
    for (axo__stage *before = phases->phases; before != NULL; before = before->next) {
        for (uint32_t i = 0; i < phase->after_count && !before->placed; i++) {
            if (strcmp(before->name, phase->after[i]) == 0)
                return before;
        }
    }
    return NULL;
}

/* Writes the cycle into `why`. Every phase without a place comes after another one without a place,
 * so a walk along "comes after" never ends: after as many steps as there are phases it is inside
 * the cycle, and once around names it. */
static void phases_name_cycle(axo_phases *phases, axo__stage *from, char *why, size_t size)
{
    uint32_t steps = 0;
    for (axo__stage *phase = phases->phases; phase != NULL; phase = phase->next)
        steps++;
    while (steps-- > 0) /* as many steps as phases: now `from` is in the cycle */
        from = phases_before_locked(phases, from);
    axo__stage *at = from;
    size_t used = 0;
    do {
        int added = snprintf(used < size ? why + used : NULL, used < size ? size - used : 0,
                             "%s -> ", at->name);
        used += added > 0 ? (size_t)added : 0;
        at = phases_before_locked(phases, at);
    } while (at != from);
    (void)snprintf(used < size ? why + used : NULL, used < size ? size - used : 0, "%s",
                   from->name);
}

/* Whether each phase that another comes after is in the plan; clears all places. */
static axo_status phases_known_locked(axo_phases *phases, char *why, size_t size)
{
    for (axo__stage *phase = phases->phases; phase != NULL; phase = phase->next) {
        phase->placed = false;
        for (uint32_t i = 0; i < phase->after_count; i++) {
            if (phases_find_locked(phases, phase->after[i]) != NULL)
                continue;
            (void)snprintf(why, size, "%s is after %s, which is not a phase", phase->name,
                           phase->after[i]);
            return AXO_ENOENT;
        }
    }
    return AXO_OK;
}

axo_status axo__phases_order_locked(axo_phases *phases, char *why, size_t size)
{
    /* Gives each phase its place, the oldest first that waits for none: the order is the same for
     * the same plan. n phases cost n walks over the list. */
    axo__stage **end = &phases->order;
    axo_status status = phases_known_locked(phases, why, size);
    if (status != AXO_OK)
        return status;
    *end = NULL;
    for (;;) {
        axo__stage *stuck = NULL;
        axo__stage *phase = phases->phases;
        for (; phase != NULL; phase = phase->next) {
            if (phase->placed)
                continue;
            if (phases_before_locked(phases, phase) == NULL)
                break;
            stuck = phase;
        }
        if (phase == NULL && stuck == NULL)
            return AXO_OK;
        if (phase == NULL) {
            phases_name_cycle(phases, stuck, why, size);
            return AXO_ECYCLE;
        }
        phase->placed = true;
        phase->then = NULL;
        *end = phase;
        end = &phase->then;
    }
}

/* ---- telling -------------------------------------------------------------------------------- */

axo_status axo_phases_check(axo_phases *phases, char *why, size_t size)
{
    axo_status status = axo__phases_usable(phases);
    if (status != AXO_OK || (why == NULL && size > 0))
        return status != AXO_OK ? status : AXO_EINVAL;
    if (size > 0)
        why[0] = 0;
    (void)pthread_mutex_lock(&phases->mutex);
    /* A plan that runs or is over has its order, which must not be built anew under the run. */
    status = phases->state == AXO__PHASES_OPEN
                 ? axo__phases_order_locked(phases, why, size)
                 : AXO_OK;
    (void)pthread_mutex_unlock(&phases->mutex);
    return status;
}

/* The sum of the time limits of phases with tasks, at most INT64_MAX: how long a run can take. */
static int64_t phases_total_locked(const axo_phases *phases)
{
    int64_t total = 0;
    for (const axo__stage *phase = phases->phases; phase != NULL; phase = phase->next) {
        if (phase->tasks != NULL)
            total = total < INT64_MAX - phase->timeout_ns ? total + phase->timeout_ns : INT64_MAX;
    }
    return total;
}

int64_t axo_phases_total_ns(axo_phases *phases)
{
    if (axo__phases_usable(phases) != AXO_OK)
        return 0;
    (void)pthread_mutex_lock(&phases->mutex);
    int64_t total = phases_total_locked(phases);
    (void)pthread_mutex_unlock(&phases->mutex);
    return total;
}

/* One line of the plan's text; the whole length is counted even when the room is full. */
static size_t phases_line(const axo__stage *phase, char *out, size_t size)
{
    uint32_t tasks = 0;
    for (const axo__task *task = phase->tasks; task != NULL; task = task->next)
        tasks++;
    int length = snprintf(out, size, "%-24s %6" PRId64 " ms  tasks: %" PRIu32 "%s\n", phase->name,
                          tasks > 0 ? phase->timeout_ns / PHASES_MS : 0, tasks,
                          phase->abort ? ", or abort" : "");
    return length > 0 ? (size_t)length : 0;
}

size_t axo_phases_print(axo_phases *phases, char *out, size_t size)
{
    char none[1];
    size_t used = 0;
    if (size > 0 && out != NULL)
        out[0] = 0;
    if (axo__phases_usable(phases) != AXO_OK || (out == NULL && size > 0))
        return 0;
    (void)pthread_mutex_lock(&phases->mutex);
    if (phases->state != AXO__PHASES_OPEN ||
        axo__phases_order_locked(phases, none, sizeof none) == AXO_OK) {
        for (const axo__stage *phase = phases->order; phase != NULL; phase = phase->then)
            used += phases_line(phase, used < size ? out + used : NULL,
                                used < size ? size - used : 0);
        int last = snprintf(used < size ? out + used : NULL, used < size ? size - used : 0,
                            "%-24s %6" PRId64 " ms\n", "at most",
                            phases_total_locked(phases) / PHASES_MS);
        used += last > 0 ? (size_t)last : 0;
    }
    (void)pthread_mutex_unlock(&phases->mutex);
    return used;
}
