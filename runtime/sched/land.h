/* land.h - where axo_throw and a crash come out, and what the callback that was left had open.
 *
 * What a callback has open is kept by its worker, under the callback's number: who opens something
 * under another number finds nothing open, so nobody tidies up at a callback's end. A hook or a
 * decider that may have the number of another one begins with axo__open_none.
 */
#ifndef AXO__SCHED_LAND_H
#define AXO__SCHED_LAND_H

#include "sched/pool.h"

/* The worker has come out at one of its unwind points: a crash becomes the callback's failure, and
 * the drafts that it has made, and has neither sent, discarded nor kept, are freed. `site` still
 * says which callback it was. */
void axo__land(axo__worker *worker);

/* The next callback has nothing open, whatever its number. */
static inline void axo__open_none(axo__worker *worker)
{
    worker->open.when = 0;
    worker->noted = 0;
}

/* The running callback is between axo_guard_begin and axo_guard_end. For signal handlers, too. */
void axo__open_guard(axo__worker *worker);
void axo__open_guard_done(axo__worker *worker);
bool axo__open_guarded(const axo__worker *worker);

/* The running callback has made a draft. */
void axo__open_draft(axo__worker *worker, axo__message *draft);

/* It sends it, frees it, or will see to it itself. false: it is none that this callback has made,
 * or that it sees to itself already. */
bool axo__open_draft_done(axo__worker *worker, const axo__message *draft);

/* Copies the program's bytes to `room`, the payload. Where that crashes, the landing frees the
 * message; so who calls this has nothing else half-done, nor has who calls that, and each of them
 * has AXO_COPY_BORDER. */
void axo__copy_in(axo__worker *worker, axo__message *message, void *room, const void *payload,
                  size_t size);

#endif
