/* phases.h - a shutdown in phases: what must be over before what, who does it, by when. A whole
 * program is test/example/shutdown.c.
 *
 *     axo_phases *phases;
 *     axo_phases_new(system, &phases);
 *     axo_phases_add(phases, &(axo_phase)AXO_PHASE(.name = "stop listening"));
 *     axo_phases_add(phases, &(axo_phase)AXO_PHASE(.name = "drain", .timeout_ns = 2 * SECOND,
 *                                                  .after = {"stop listening"}));
 *     axo_phases_task(phases, &(axo_task)AXO_TASK(.phase = "drain", .name = "queue",
 *                                                 .kind = AXO_TASK_STOP, .actor = queue), NULL);
 *     axo_phases_run(phases, &report);      from a thread; then axo_system_stop
 *
 * Phases run one after the other, each after those it names, else in the order in which they were
 * added. The tasks of a phase run side by side; the phase is over when all are done or its time is
 * up. A phase without tasks takes no time. It runs once; who comes later waits for the same run.
 *
 * The run waits in a callback of the blocking dispatcher: not for a manual system, where that is
 * the one thread that could run the others. */
#ifndef AXO_PHASES_H
#define AXO_PHASES_H

#include <stddef.h>
#include <stdint.h>

#include <axo/drain.h>
#include <axo/init.h>
#include <axo/system.h>
#include <axo/verdict.h>

#define AXO_PHASE_NAME       64 /* bytes of a name, with its zero */
#define AXO_PHASE_AFTER_MAX  8
#define AXO_PHASE_TIMEOUT_NS INT64_C(5000000000)

/* A phase. The names are copied. */
typedef struct axo_phase {
    size_t size;             /* sizeof(axo_phase), set by AXO_PHASE */
    const char *name;        /* unique, 1..AXO_PHASE_NAME - 1 bytes */
    int64_t timeout_ns;      /* 0: AXO_PHASE_TIMEOUT_NS */
    uint32_t abort;          /* 1: if a task fails or is late, no later phase runs */
    uint32_t reserved;       /* 0 */
    const char *after[AXO_PHASE_AFTER_MAX]; /* phases that are over before; NULL ends the list.
                                               They may be added later */
} axo_phase;
#define AXO_PHASE(...) AXO_INIT(axo_phase, __VA_ARGS__)
static inline void axo_phase_init(axo_phase *out)
{
    const axo_phase fresh = AXO_PHASE();
    *out = fresh;
}

typedef enum axo_task_kind {
    AXO_TASK_ASK = 0,  /* the message `tag` to `actor`; done when it answers, with whatever */
    AXO_TASK_STOP = 1, /* a graceful stop of `actor`; done when it has ended */
    AXO_TASK_CALL = 2, /* call(user) on a thread that may block; done when it has returned AXO_OK,
                          failed if it returned another status */
    AXO_TASK_DRAIN = 3 /* axo_drain (drain.h) below `actor` with `tag` and `cls`; done when all that
                          have been told have ended. A sixteenth of the phase's time before its end
                          the task is late, so that its verdict names the first who is; failed as
                          axo_drained.status says */
} axo_task_kind;

/* A task. Name and payload are copied. */
typedef struct axo_task {
    size_t size;             /* sizeof(axo_task), set by AXO_TASK */
    const char *phase;
    const char *name;        /* for reports; 1..AXO_PHASE_NAME - 1 bytes */
    uint32_t kind;           /* an axo_task_kind */
    uint32_t tag;
    axo_ref actor;
    const void *payload;     /* AXO_TASK_ASK: at most AXO_TASK_PAYLOAD_MAX bytes */
    size_t payload_size;
    axo_status (*call)(void *user);
    void *user;
    const axo_class *cls;    /* AXO_TASK_DRAIN, NULL: all; valid until the run is over */
} axo_task;
#define AXO_TASK(...) AXO_INIT(axo_task, __VA_ARGS__)
static inline void axo_task_init(axo_task *out)
{
    const axo_task fresh = AXO_TASK();
    *out = fresh;
}
#define AXO_TASK_PAYLOAD_MAX 4096

/* One task that was late, or failed. */
typedef struct axo_phase_trouble {
    char phase[AXO_PHASE_NAME];
    char task[AXO_PHASE_NAME];
    axo_status status;       /* AXO_ETIMEDOUT: late; else why it failed */
    uint32_t unfinished;     /* 1: late, and still not done when the run was over */
    int64_t late_ns;         /* late: for so long after its phase's deadline it was not done */
    axo_verdict verdict;     /* for axo_verdict_text: what its actor was doing at the end */
} axo_phase_trouble;

/* How the run went. */
typedef struct axo_phases_report {
    axo_status status;       /* AXO_OK; AXO_ETIMEDOUT: somebody was late; AXO_EFAILED: a task failed
                                and nobody was late; AXO_ESTOPPING: the system ended before it */
    uint32_t ran;            /* phases that ran, empty ones among them */
    uint32_t aborted;        /* 1: later phases did not run */
    uint32_t troubles;       /* how many tasks axo_phases_troubles tells of */
    int64_t took_ns;
} axo_phases_report;

typedef struct axo_phases axo_phases;

AXO_BEGIN_DECLS

/* Makes an empty plan; its memory is the system's.
 *   returns   *out; AXO_OK, AXO_EINVAL, AXO_ENOMEM, AXO_ETHREAD */
AXO_API AXO_NODISCARD axo_status axo_phases_new(axo_system *system, axo_phases **out);

/* Frees a plan that does not run and that nobody waits for, before axo_system_destroy.
 *   returns   AXO_OK (NULL too), AXO_EBUSY: it runs */
AXO_API axo_status axo_phases_free(axo_phases *phases);

/* Adds a phase, or by axo_phases_task a task to a known one. Any thread, before the run; a
 * task also during it, until its phase begins. *id (may be NULL) is the task's number for
 * axo_phases_cancel.
 *   returns   AXO_OK; AXO_EEXIST: a phase has that name; AXO_ENOENT: no phase has; AXO_ENAME;
 *             AXO_EINVAL; AXO_EVERSION; AXO_ETOOBIG (payload); AXO_ENOMEM; AXO_EBUSY: too late */
AXO_API AXO_NODISCARD axo_status axo_phases_add(axo_phases *phases, const axo_phase *phase);
AXO_API AXO_NODISCARD axo_status axo_phases_task(axo_phases *phases, const axo_task *task,
                                                 uint32_t *id);

/* Takes a task out, until its phase begins. Any thread.
 *   returns   AXO_OK, AXO_ENOENT, AXO_EBUSY: too late, AXO_EINVAL */
AXO_API axo_status axo_phases_cancel(axo_phases *phases, uint32_t id);

/* Whether the plan can run; `why` (may be NULL with 0) says what is wrong, with names.
 *   returns   AXO_OK; AXO_ECYCLE: "a -> b -> a"; AXO_ENOENT: a name that nobody has; AXO_EINVAL */
AXO_API axo_status axo_phases_check(axo_phases *phases, char *why, size_t size);

/* The longest that a run can take: the timeouts of all phases that have tasks; 0 for NULL. It is
 * what an orchestrator's patience must be longer than. */
AXO_API int64_t axo_phases_total_ns(axo_phases *phases);

/* Writes the plan for people, a line a phase in the order of the run, and the total; cut to `size`
 * bytes with the closing zero.
 *   returns   its whole length, as snprintf; 0 for NULL or a plan that cannot run */
AXO_API size_t axo_phases_print(axo_phases *phases, char *out, size_t size);

/* Begins the run, and returns. Any thread, actors too. When it runs already, or has, nothing
 * happens.
 *   returns   AXO_OK; AXO_ECYCLE, AXO_ENOENT: as axo_phases_check; AXO_EINVAL, AXO_ENOMEM,
 *             AXO_ELIMIT, AXO_ETHREAD (the run has a thread of its own), AXO_ESTOPPING: it has not
 *             begun */
AXO_API axo_status axo_phases_start(axo_phases *phases);

/* Begins the run unless it has begun, and waits for its end: at most axo_phases_total_ns, and what
 * the machine needs. Many threads may.
 *   thread    any but a worker's (there: AXO_ECONTEXT; use axo_phases_start)
 *   returns   the report's status, or as axo_phases_start; *report may be NULL */
AXO_API axo_status axo_phases_run(axo_phases *phases, axo_phases_report *report);

/* Writes at most `max` of the run's troubles, in the order of the run.
 *   returns   how many there are; 0 before its end */
AXO_API uint32_t axo_phases_troubles(axo_phases *phases, axo_phase_trouble *out, uint32_t max);

AXO_END_DECLS

#endif
