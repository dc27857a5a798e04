/* crew.c - a job that the workers of a pool share: crew.h. */
#include "sched/crew.h"

#include "sched/wake.h"

/* The pool's mutex is held. */
static bool crew_take_locked(axo__sched *sched, axo__crew_job *job, uint32_t *portion)
{
    if (job->next == job->portions)
        return false;
    *portion = job->next++;
    if (job->next == job->portions && sched->crew == job) {
        sched->crew = NULL;
        (void)axo__a32_and_acq_rel(&sched->quit, ~(uint32_t)AXO__QUIT_CREW); /* [W5] */
    }
    return true;
}

/* Behind the addition an open job may be gone, but for who does its last portion. */
static void crew_do(axo__crew_job *job, axo__worker *worker, uint32_t portion)
{
    bool open = job->open;
    job->work(job, worker, portion);
    if (axo__a32_add_acq_rel(&job->left, UINT32_MAX) == 1 && open) /* [W11] */
        axo__os_latch_set(&job->done);
}

bool axo__crew_open(axo__sched *sched, axo__crew_job *job)
{
    AXO_DEBUG_ASSERT(job->next < job->portions && !job->open);
    if (!axo__os_latch_init(&job->done))
        return false;
    axo__os_mutex_lock(&sched->mutex);
    job->open = sched->crew == NULL;
    if (job->open) {
        sched->crew = job;
        (void)axo__a32_or_acq_rel(&sched->quit, AXO__QUIT_CREW); /* [W5] (5) */
    }
    axo__os_mutex_unlock(&sched->mutex);
    if (job->open)
        axo__sched_wake_some(sched, job->portions);
    else
        axo__os_latch_fini(&job->done);
    return job->open;
}

bool axo__crew_help(axo__sched *sched, axo__crew_job *job, axo__worker *worker)
{
    uint32_t portion;
    axo__os_mutex_lock(&sched->mutex);
    bool took = crew_take_locked(sched, job, &portion);
    axo__os_mutex_unlock(&sched->mutex);
    if (took)
        crew_do(job, worker, portion);
    return took;
}

static uint32_t crew_taken(axo__sched *sched, const axo__crew_job *job)
{
    axo__os_mutex_lock(&sched->mutex);
    uint32_t taken = job->next;
    axo__os_mutex_unlock(&sched->mutex);
    return taken;
}

void axo__crew_leave_to(axo__sched *sched, axo__crew_job *job)
{
    uint32_t taken = 0;
    uint32_t before;
    AXO_DEBUG_ASSERT(job->open);
    do {
        before = taken;
        if (axo__os_latch_wait(&job->done, axo__os_now() + AXO__CREW_LOOK_NS))
            return;
        taken = crew_taken(sched, job);
    } while (taken != before);
}

void axo__crew_close(axo__crew_job *job)
{
    if (!job->open)
        return;
    (void)axo__os_latch_wait(&job->done, AXO__NEVER);
    axo__os_latch_fini(&job->done);
}

bool axo__crew_step(axo__worker *worker)
{
    axo__sched *sched = worker->sched;
    uint32_t portion;
    AXO_DEBUG_ASSERT(worker == axo__self && worker->current == NULL);
    axo__os_mutex_lock(&sched->mutex);
    axo__crew_job *job = sched->crew;
    bool took = job != NULL && crew_take_locked(sched, job, &portion);
    axo__os_mutex_unlock(&sched->mutex);
    if (took)
        crew_do(job, worker, portion);
    return took;
}
