/* grace.c - the reclaimer's thread, and the list of what is retired to it.
 *
 * Workers add to the list under the mutex. The reclaimer detaches the whole list, waits for one
 * grace period for all of it, passes through every door, and hands the items to the layers above.
 * One grace period is paid for a batch, however many items the batch has. */
#include "mem/grace.h"

#include "base/assert.h"

/* The reclaimer looks again after this for a thread that is about to end. */
#define GRACE_REAP_NS INT64_C(10000000)

static void grace_nothing(void *user)
{
    (void)user;
}

/* Detaches the list. Reading `quit` under the same mutex closes the race with axo__grace_stop: an
 * item retired before `quit` was set is in this list or was in an earlier one. */
static axo__grace_item *grace_take(axo__grace *grace, axo__grace_item **last, bool *quit)
{
    axo__os_mutex_lock(&grace->mutex);
    axo__grace_item *items = grace->retired;
    *last = grace->retired_last;
    grace->retired = NULL;
    *quit = grace->quit;
    axo__os_mutex_unlock(&grace->mutex);
    return items;
}

static axo__step grace_step(void *user)
{
    axo__grace *grace = user;
    axo__grace_item *last;
    bool quit = false;
    /* The ticket comes first: a retire after this line wakes the coming sleep, a retire before it
     * is in the list that this step reads. */
    grace->thread.ticket = axo__os_parker_ticket(&grace->thread.parker);
    grace->thread.deadline = AXO__NEVER;
    if (grace->ops->reap != NULL && grace->ops->reap(grace->user))
        grace->thread.deadline = axo__os_now() + GRACE_REAP_NS;
    axo__grace_item *items = grace_take(grace, &last, &quit);
    if (items == NULL)
        return quit ? AXO__STEP_EXIT : AXO__STEP_PARK;
    /* Workers first, then doors: after both, no thread can still be inside a call that began before
     * the items were retired. */
    axo__grace_wait();
    grace->ops->pass(grace->user);
    grace->ops->expire(grace->user, items, last);
    return AXO__STEP_AGAIN;
}

static const axo__os_body grace_body = {
    .begin = grace_nothing,
    .step = grace_step,
    .sleep = grace_nothing,
    .wake = grace_nothing,
    .end = grace_nothing,
};

/* A manual system has one thread. Its caller is quiescent between two turns, so no reader exists
 * and the wait for a grace period is left out. */
bool axo__grace_run(axo__grace *grace)
{
    AXO_DEBUG_ASSERT(grace->manual);
    axo__grace_item *last;
    bool quit = false;
    axo__grace_item *items = grace_take(grace, &last, &quit);
    if (items == NULL)
        return false;
    grace->ops->pass(grace->user);
    grace->ops->expire(grace->user, items, last);
    return true;
}

bool axo__grace_start(axo__grace *grace, const axo__grace_ops *ops, bool manual, void *user)
{
    AXO_DEBUG_ASSERT(ops->pass != NULL && ops->expire != NULL);
    grace->manual = manual;
    grace->ops = ops;
    grace->retired = NULL;
    grace->quit = false;
    grace->user = user;
    axo__os_parker_init(&grace->thread.parker);
    if (!axo__os_mutex_init(&grace->mutex))
        return false;
    if (!manual && !axo__os_thread_start(&grace->thread, &grace_body, grace)) {
        axo__os_mutex_fini(&grace->mutex);
        return false;
    }
    return true;
}

void axo__grace_retire(axo__grace *grace, axo__grace_item *first, axo__grace_item *last)
{
    AXO_DEBUG_ASSERT(first != NULL && last->next == NULL);
    axo__os_mutex_lock(&grace->mutex);
    /* Only the first item of a batch wakes the reclaimer: a system call for a batch, not for an
     * item. */
    bool idle = grace->retired == NULL;
    last->next = grace->retired;
    grace->retired = first;
    if (idle)
        grace->retired_last = last;
    axo__os_mutex_unlock(&grace->mutex);
    if (idle && !grace->manual)
        axo__os_parker_wake(&grace->thread.parker);
}

void axo__grace_wake(axo__grace *grace)
{
    if (!grace->manual)
        axo__os_parker_wake(&grace->thread.parker);
}

void axo__grace_stop(axo__grace *grace)
{
    axo__os_mutex_lock(&grace->mutex);
    /* The mutex orders `quit` behind every retire, and the reclaimer exits only with an empty
     * list. */
    grace->quit = true;
    axo__os_mutex_unlock(&grace->mutex);
    if (!grace->manual) {
        axo__os_parker_wake(&grace->thread.parker);
        axo__os_thread_join(&grace->thread);
    }
    axo__os_mutex_fini(&grace->mutex);
}
