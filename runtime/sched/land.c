/* land.c - where axo_throw and a crash come out.
 *
 * The first AXO__OPEN_DRAFTS drafts of a callback stand in the worker; more of them, which few
 * callbacks have open at a time, are linked by their envelopes, so that a draft takes no memory of
 * its own.
 */
#include "sched/land.h"

#include <string.h>

#include "base/border.h"
#include "sched/trap_land.h"

/* Whether what is open was opened by the callback that runs. */
static bool land_is_open(const axo__worker *worker)
{
    const axo__open *open = &worker->open;
    return open->when == axo__worker_count(worker) && open->site == worker->site;
}

static axo__open *land_open(axo__worker *worker)
{
    axo__open *open = &worker->open;
    if (!land_is_open(worker)) {
        open->when = axo__worker_count(worker);
        open->site = worker->site;
        open->guards = 0;
        open->count = 0;
        open->more = NULL;
    }
    return open;
}

/* What is written before the guard is behind it for a handler, too. */
void axo__open_guard(axo__worker *worker)
{
    land_open(worker)->guards++;
    __asm__("" ::: "memory");
}

void axo__open_guard_done(axo__worker *worker)
{
    __asm__("" ::: "memory");
    if (land_open(worker)->guards > 0)
        worker->open.guards--;
}

bool axo__open_guarded(const axo__worker *worker)
{
    return land_is_open(worker) && worker->open.guards > 0;
}

void axo__open_draft(axo__worker *worker, axo__message *draft)
{
    axo__open *open = land_open(worker);
    if (axo__likely(open->count < AXO__OPEN_DRAFTS)) {
        open->drafts[open->count++] = draft;
        return;
    }
    draft->node.next = open->more != NULL ? &open->more->node : NULL;
    open->more = draft;
}

bool axo__open_draft_done(axo__worker *worker, const axo__message *draft)
{
    axo__open *open = &worker->open;
    if (!land_is_open(worker))
        return false;
    for (uint32_t i = open->count; i > 0; i--) {
        if (open->drafts[i - 1] == draft) {
            open->drafts[i - 1] = open->drafts[--open->count];
            return true;
        }
    }
    axo__message *before = NULL;
    for (axo__message *it = open->more; it != NULL; before = it, it = axo__message_next(it)) {
        if (it != draft)
            continue;
        if (before == NULL)
            open->more = axo__message_next(it);
        else
            before->node.next = it->node.next;
        return true;
    }
    return false;
}

/* A draft is taken out before it is freed: its destructor is the program's. */
static axo__message *land_take_draft(axo__open *open)
{
    axo__message *draft = open->more;
    if (draft != NULL) {
        open->more = axo__message_next(draft);
        return draft;
    }
    return open->count > 0 ? open->drafts[--open->count] : NULL;
}

/* A frame of its own on the stack, for walks up it: so it does something behind the copy. */
__attribute__((noinline)) void axo__copy_in(axo__worker *worker, axo__message *message, void *room,
                                            const void *payload, size_t size)
{
    AXO_COPY_BORDER();
    worker->copying = message;
    __asm__("" ::: "memory");
    memcpy(room, payload, size);
    __asm__("" ::: "memory");
    worker->copying = NULL;
}

void axo__land(axo__worker *worker)
{
    AXO_DEBUG_ASSERT(worker == axo__self && worker->site != AXO_SITE_NONE);
    axo__trap_land(worker);
    if (worker->copying != NULL) {
        axo__message *message = worker->copying;
        worker->copying = NULL;
        axo__message_free(&worker->local.cache, message);
    }
    if (!land_is_open(worker))
        return;
    for (axo__message *draft = land_take_draft(&worker->open); draft != NULL;
         draft = land_take_draft(&worker->open))
        axo__message_free(&worker->local.cache, draft);
}
