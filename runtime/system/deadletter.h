/* deadletter.h - the book of dead letters: the last ones for inspection, and their log lines.
 *
 * A dead letter is written into a ring of fixed size (the oldest makes room) and, if it is an
 * ordinary one, into the log: of each reason the first few in a window of time, then silence, and
 * with the first one after the window a line that says how many were skipped (DL-04); what is
 * skipped in a window that nothing follows is told when the system ends. Letters that come while it
 * shuts down have no line and no count there (DL-12).
 *
 * Roles      record: any thread as in cell/event.h.  read: any thread.  axo__book_say_left: the
 *            worker that ends the system, and who destroys it.
 * Progress   both take the book's mutex for as long as one call copies records; lines are logged
 *            without the mutex.
 * Memory     the ring is made at the start; recording takes none.
 */
#ifndef AXO__SYSTEM_DEADLETTER_H
#define AXO__SYSTEM_DEADLETTER_H

#include "cell/event.h"
#include "system/throttle.h"

/* Reasons with a throttle of their own; reasons beyond share the last throttle. */
#define AXO__DEAD_REASONS 8

typedef struct axo__book {
    axo__os_mutex mutex;   /* guards what follows */
    axo_dead_record *ring; /* NULL: no records are kept */
    uint32_t kept;
    bool logging;          /* fixed */
    bool at_stop;          /* fixed */
    uint64_t total;
    uint64_t reasons[AXO__DEAD_REASONS]; /* of these; the last one has those beyond it, too */
    axo__throttle throttles[AXO__DEAD_REASONS];
} axo__book;

/* Makes the ring from the options. AXO_OK, AXO_ENOMEM, AXO_ETHREAD (no mutex). */
axo_status axo__book_init(axo__book *book, axo__heap *heap, const axo_options *options);
void axo__book_fini(axo__book *book, axo__heap *heap);

/* The function behind axo__core.record: keeps the record and logs it, or not. */
void axo__book_record(axo__book *book, axo__local *local, const axo_dead_record *record);

/* Writes a line for each reason of which lines were left out; they are counted from 0 again. */
void axo__book_say_left(axo__book *book, axo__local *local);

/* How many records of a reason there were since the start. */
uint64_t axo__book_count(axo__book *book, uint32_t reason);

/* Copies the latest records, newest first; returns how many. *total: records since the start. */
uint32_t axo__book_read(axo__book *book, axo_dead_record *out, uint32_t max, uint64_t *total);

#endif
