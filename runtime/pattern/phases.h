/* phases.h - a plan of phases and tasks, and its run.
 *
 * axo_phases is the plan: a list of stages, each with a list of tasks. Any thread may add to it,
 * under the mutex, until the run reaches the stage. The run is one actor on the blocking
 * dispatcher; it takes a stage over by setting `begun`, and from then on that stage's tasks are the
 * run's alone.
 */
#ifndef AXO__PATTERN_PHASES_H
#define AXO__PATTERN_PHASES_H

#include <axo/phases.h>

#include "pattern/call.h"

typedef struct axo__task {
    struct axo__task *next;
    uint32_t id;
    axo_task what;              /* a copy; only its pointers call and user are followed */
    char name[AXO_PHASE_NAME];
    /* The run's fields. */
    axo__call *call;            /* NULL: the task could not begin, see status */
    axo_ref waiter;             /* the call's actor, which sends the request */
    axo_ref job;                /* of a callback or a drain: the actor that makes the call */
    uint64_t number;            /* the number by which that actor knows the request */
    axo_status status;
    axo_verdict verdict;
    int64_t late_ns;
    bool late;
    bool unfinished;            /* the task had not ended when the run ended */
    char payload[];
} axo__task;

typedef struct axo__stage {
    struct axo__stage *next;
    char name[AXO_PHASE_NAME];
    char after[AXO_PHASE_AFTER_MAX][AXO_PHASE_NAME];
    uint32_t after_count;
    int64_t timeout_ns;
    int64_t deadline_ns;        /* set by the run */
    bool abort;
    bool placed;                /* the stage has its place in the order that is being looked for */
    bool begun;                 /* the run has reached the phase: its tasks are the run's */
    axo__task *tasks;
    struct axo__stage *then;    /* the next stage in the order of the run */
} axo__stage;

typedef enum axo__phases_state {
    AXO__PHASES_OPEN,    /* the plan is being made */
    AXO__PHASES_RUNNING, /* the run's actor has been spawned, or is about to be */
    AXO__PHASES_OVER     /* the report is there; for good */
} axo__phases_state;

struct axo_phases {
    axo_system *system;
    /* guards all below; the tasks of a begun phase are the run's alone until it is over */
    pthread_mutex_t mutex;
    pthread_cond_t over;
    axo__stage *phases;
    axo__stage *order;          /* valid after axo__phases_order_locked */
    uint32_t tasks_made;
    axo__phases_state state;
    axo_phases_report report;
};

/* Tests the plan at the start of a call: AXO_OK, AXO_EINVAL (NULL), AXO_EFORKED. */
axo_status axo__phases_usable(const axo_phases *phases);

/* Finds the order of the run; `why` is set on failure. The caller holds the mutex. */
axo_status axo__phases_order_locked(axo_phases *phases, char *why, size_t size);

#endif
