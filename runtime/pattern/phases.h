/* phases.h - a plan of phases and tasks, and its run. */
#ifndef AXO__PATTERN_PHASES_H
#define AXO__PATTERN_PHASES_H

#include <axo/phases.h>

#include "pattern/call.h"

typedef struct axo__task {
    struct axo__task *next;
    uint32_t id;
    axo_task what;              /* its pointers are not used, but for call and user */
    char name[AXO_PHASE_NAME];
    /* The run's. */
    axo__call *call;            /* NULL: it could not begin, see status */
    axo_ref waiter;
    axo_ref job;                /* of a callback: the actor that calls it */
    uint64_t number;            /* and what it knows the request by */
    axo_status status;
    axo_verdict verdict;
    int64_t late_ns;
    bool late;
    bool unfinished;
    char payload[];
} axo__task;

typedef struct axo__stage {
    struct axo__stage *next;
    char name[AXO_PHASE_NAME];
    char after[AXO_PHASE_AFTER_MAX][AXO_PHASE_NAME];
    uint32_t after_count;
    int64_t timeout_ns;
    int64_t deadline_ns;        /* the run's */
    bool abort;
    bool placed;                /* while an order is looked for: it has its place */
    bool begun;
    axo__task *tasks;
    struct axo__stage *then;    /* the next in the order of the run */
} axo__stage;

typedef enum axo__phases_state {
    AXO__PHASES_OPEN,
    AXO__PHASES_RUNNING,
    AXO__PHASES_OVER
} axo__phases_state;

struct axo_phases {
    axo_system *system;
    pthread_mutex_t mutex;      /* guards all below; the tasks of a phase that has begun are the
                                   run's alone until it is over */
    pthread_cond_t over;
    axo__stage *phases;
    axo__stage *order;          /* valid after axo__phases_order_locked */
    uint32_t tasks_made;
    axo__phases_state state;
    axo_phases_report report;
};

/* What any call may find: AXO_OK, AXO_EINVAL (NULL), AXO_EFORKED. */
axo_status axo__phases_usable(const axo_phases *phases);

/* Finds the order of the run; `why` is set on failure. */
axo_status axo__phases_order_locked(axo_phases *phases, char *why, size_t size);

#endif
