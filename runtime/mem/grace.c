/* grace.c - the reclaimer's thread, and the list of what is retired to it.
 *
 * Workers add to the list under the mutex. The reclaimer detaches the whole list, waits for one
 * grace period for all of it, passes through every door, and hands the items to the layers above.
 * One grace period is paid for a batch, however many items the batch has. */
#include "mem/grace.h"

#include <axo/system.h>

#include "base/assert.h"
#include "base/config.h"

/* The reclaimer looks again after this for a thread that is about to end. */
#define GRACE_REAP_NS INT64_C(10000000)

static void grace_nothing(void *user)
{
    (void)user;
}

static bool grace_is_empty(const axo__grace *grace)
{
    return grace->retired.any == 0 && grace->retired.blocks == NULL;
}

/* Detaches all that is retired; false: there is nothing, and the next retire wakes. Reading `quit`
 * under the same mutex closes the race with axo__grace_stop: what was retired before `quit` was set
 * is in this batch or was in an earlier one. */
static bool grace_take(axo__grace *grace, axo__grace_batch *batch, bool *quit)
{
    axo__os_mutex_lock(&grace->mutex);
    bool any = !grace_is_empty(grace) || grace->asked;
    *batch = grace->retired;
    grace->waiting += batch->any != 0;
    grace->retired.any = 0;
    grace->retired.blocks = NULL;
    grace->asked = false;
    grace->taken += any;
    grace->naps = any && grace->how == AXO__GRACE_THREAD;
    *quit = grace->quit;
    axo__os_mutex_unlock(&grace->mutex);
    return any;
}

bool axo__grace_is_idle(axo__grace *grace)
{
    axo__os_mutex_lock(&grace->mutex);
    bool idle = grace->retired.any == 0 && grace->waiting == 0;
    axo__os_mutex_unlock(&grace->mutex);
    return idle;
}

/* One batch at a time waits for its period, so they are over in the order in which they were
 * taken. */
uint64_t axo__grace_ask(axo__grace *grace)
{
    axo__os_mutex_lock(&grace->mutex);
    uint64_t asked = grace->taken + 1;
    grace->asked = true;
    grace->naps = false;
    axo__os_mutex_unlock(&grace->mutex);
    axo__grace_wake(grace);
    return asked;
}

bool axo__grace_has_passed(axo__grace *grace, uint64_t asked)
{
    axo__os_mutex_lock(&grace->mutex);
    bool passed = grace->passed >= asked;
    axo__os_mutex_unlock(&grace->mutex);
    return passed;
}

static void grace_expired(axo__grace *grace, const axo__grace_batch *batch)
{
    axo__os_mutex_lock(&grace->mutex);
    AXO_DEBUG_ASSERT(grace->waiting > 0 || batch->any == 0);
    grace->waiting -= batch->any != 0;
    grace->passed++;
    axo__os_mutex_unlock(&grace->mutex);
}

/* The grace period of the batch is over. */
static void grace_done(axo__grace *grace, const axo__grace_batch *batch)
{
    for (uint32_t home = 0; home < AXO__GRACE_HOMES; home++) {
        if ((batch->any & 1u << home) != 0)
            grace->ops->expire(grace->user, home, batch->items[home], batch->last[home]);
    }
    grace_expired(grace, batch);
    axo__grace_block *block = batch->blocks;
    while (block != NULL) {
        axo__grace_block *next = block->next;
        grace->ops->give_block(grace->user, block);
        block = next;
    }
}

static axo__step grace_step(void *user)
{
    axo__grace *grace = user;
    axo__grace_batch batch;
    bool quit = false;
    /* The ticket comes first: a retire after this line wakes the coming sleep, a retire before it
     * is in the list that this step reads. */
    grace->thread.ticket = axo__os_parker_ticket(&grace->thread.parker);
    grace->thread.deadline = AXO__NEVER;
    if (grace->ops->reap != NULL && grace->ops->reap(grace->user))
        grace->thread.deadline = axo__os_now() + GRACE_REAP_NS;
    if (!grace_take(grace, &batch, &quit))
        return quit ? AXO__STEP_EXIT : AXO__STEP_PARK;
    /* Workers first, then doors: after both, no thread can still be inside a call that began before
     * the batch was taken. */
    axo__grace_wait();
    grace->ops->pass(grace->user);
    grace_done(grace, &batch);
    if (quit || (grace->ops->naps != NULL && !grace->ops->naps(grace->user)))
        return AXO__STEP_AGAIN;
    grace->thread.deadline = axo__os_now() + AXO__GRACE_NAP_NS;
    return AXO__STEP_PARK;
}

static const axo__os_body grace_body = {
    .name = "axo/reclaim",
    .kind = AXO_THREAD_RECLAIMER,
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
    AXO_DEBUG_ASSERT(grace->how == AXO__GRACE_ALONE);
    axo__grace_batch batch;
    bool quit = false;
    if (!grace_take(grace, &batch, &quit))
        return false;
    grace->ops->pass(grace->user);
    grace_done(grace, &batch);
    return true;
}

/* ---- polled ---- */

/* A reader that takes an old period is waited for until it hears the new one. */
void axo__grace_visit(axo__grace *grace, axo__grace_reader *reader)
{
    AXO_DEBUG_ASSERT(axo__a64_load_relaxed(&reader->seen) == 0);
    axo__a64_store_relaxed(&reader->seen, axo__a64_load_relaxed(&grace->period));
    (void)axo__a64_add_acq_rel(&grace->period, 0); /* [G1] */
}

void axo__grace_heard(axo__grace *grace, axo__grace_reader *reader)
{
    uint64_t period = axo__a64_load_acquire(&grace->period); /* [G2] */
    AXO_DEBUG_ASSERT(axo__a64_load_relaxed(&reader->seen) != 0);
    if (axo__a64_load_relaxed(&reader->seen) != period)
        axo__a64_store_release(&reader->seen, period); /* [G3] */
}

void axo__grace_away(axo__grace_reader *reader)
{
    axo__a64_store_release(&reader->seen, 0); /* [G3] */
}

bool axo__grace_is_heard(const axo__grace_reader *reader, uint64_t period)
{
    uint64_t seen = axo__a64_load_acquire(&reader->seen); /* [G3] */
    return seen == 0 || seen >= period;
}

/* Under `poll_mutex`. What was unlinked before it was retired is read by no reader that begins
 * behind this addition, or hears the period that it makes. */
static bool grace_begin(axo__grace *grace)
{
    bool quit;
    if (!grace_take(grace, &grace->batch, &quit))
        return false;
    grace->waits = true;
    grace->heard = false;
    grace->door = 0;
    (void)axo__a64_add_acq_rel(&grace->period, 1); /* [G1] */
    return true;
}

/* Under `poll_mutex`: whether the batch's period is over. Readers first, then doors, as in
 * grace_step. */
static bool grace_is_over(axo__grace *grace)
{
    uint64_t period = axo__a64_load_relaxed(&grace->period);
    if (!grace->heard)
        grace->heard = grace->ops->heard(grace->user, period);
    return grace->heard && grace->ops->try_pass(grace->user, &grace->door);
}

/* The mutex orders the looks of two threads: if the first one still meets the second as a reader,
 * the second looks later, when it is away, and finds the batch. */
bool axo__grace_poll(axo__grace *grace, axo__grace_reader *reader)
{
    axo__grace_batch batch;
    AXO_DEBUG_ASSERT(grace->how == AXO__GRACE_POLLED);
    axo__os_mutex_lock(&grace->poll_mutex);
    bool waits = grace->waits || grace_begin(grace);
    if (reader != NULL)
        axo__grace_heard(grace, reader);
    bool over = waits && grace_is_over(grace);
    if (over) {
        batch = grace->batch;
        grace->waits = false;
    }
    axo__os_mutex_unlock(&grace->poll_mutex);
    if (over)
        grace_done(grace, &batch);
    return over;
}

bool axo__grace_start(axo__grace *grace, const axo__grace_ops *ops, axo__grace_how how, void *user,
                      const axo__os_common *threads)
{
    AXO_DEBUG_ASSERT(ops->pass != NULL && ops->expire != NULL && ops->give_block != NULL);
    AXO_DEBUG_ASSERT(how != AXO__GRACE_POLLED || (ops->heard != NULL && ops->try_pass != NULL));
    grace->how = how;
    grace->waits = false;
    axo__a64_store_relaxed(&grace->period, 1);
    grace->ops = ops;
    grace->retired.any = 0;
    grace->retired.blocks = NULL;
    grace->waiting = 0;
    grace->taken = 0;
    grace->passed = 0;
    grace->asked = false;
    grace->naps = false;
    grace->quit = false;
    grace->user = user;
    axo__os_parker_init(&grace->thread.parker);
    grace->thread.number = AXO__OS_ONLY;
    grace->thread.common = threads;
    if (!axo__os_mutex_init(&grace->mutex))
        return false;
    if (!axo__os_mutex_init(&grace->poll_mutex))
        goto fail_mutex;
    if (how != AXO__GRACE_THREAD || axo__os_thread_start(&grace->thread, &grace_body, grace))
        return true;
    axo__os_mutex_fini(&grace->poll_mutex);
fail_mutex:
    axo__os_mutex_fini(&grace->mutex);
    return false;
}

/* Under the mutex: whether the reclaimer has to be woken for what is added: only for what comes
 * first, and not from a nap. */
static bool grace_wakes(const axo__grace *grace)
{
    return grace->how == AXO__GRACE_THREAD && !grace->naps && grace_is_empty(grace);
}

void axo__grace_retire(axo__grace *grace, uint32_t home, axo__grace_item *first,
                       axo__grace_item *last)
{
    axo__grace_batch *batch = &grace->retired;
    AXO_DEBUG_ASSERT(first != NULL && last->next == NULL && home < AXO__GRACE_HOMES);
    axo__os_mutex_lock(&grace->mutex);
    bool wakes = grace_wakes(grace);
    if ((batch->any & 1u << home) == 0)
        batch->last[home] = last;
    else
        last->next = batch->items[home];
    batch->items[home] = first;
    batch->any |= 1u << home;
    axo__os_mutex_unlock(&grace->mutex);
    if (wakes)
        axo__os_parker_wake(&grace->thread.parker);
}

void axo__grace_retire_block(axo__grace *grace, axo__grace_block *block)
{
    axo__os_mutex_lock(&grace->mutex);
    bool wakes = grace_wakes(grace);
    block->next = grace->retired.blocks;
    grace->retired.blocks = block;
    axo__os_mutex_unlock(&grace->mutex);
    if (wakes)
        axo__os_parker_wake(&grace->thread.parker);
}

void axo__grace_wake(axo__grace *grace)
{
    if (grace->how == AXO__GRACE_THREAD)
        axo__os_parker_wake(&grace->thread.parker);
}

void axo__grace_hurry(axo__grace *grace)
{
    axo__os_mutex_lock(&grace->mutex);
    bool naps = grace->naps;
    grace->naps = false;
    axo__os_mutex_unlock(&grace->mutex);
    if (naps)
        axo__os_parker_wake(&grace->thread.parker);
}

void axo__grace_stop(axo__grace *grace)
{
    axo__os_mutex_lock(&grace->mutex);
    /* The mutex orders `quit` behind every retire, and the reclaimer exits only with an empty
     * list. */
    grace->quit = true;
    axo__os_mutex_unlock(&grace->mutex);
    if (grace->how == AXO__GRACE_THREAD) {
        axo__os_parker_wake(&grace->thread.parker);
        axo__os_thread_join(&grace->thread);
    }
    bool left = grace->how != AXO__GRACE_THREAD; /* no reader is, and nobody is in a door */
    while (left)
        left = grace->how == AXO__GRACE_POLLED ? axo__grace_poll(grace, NULL)
                                               : axo__grace_run(grace);
    axo__os_mutex_fini(&grace->poll_mutex);
    axo__os_mutex_fini(&grace->mutex);
}
