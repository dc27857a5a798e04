/* board.h - a file that shows a system to other processes: <axo/board.h> says what is in it.
 *
 * The board is told by the trace points (axo__trace), which a system without one passes by as it
 * does without an observer: so nothing is paid by whom it is off for. With it, no turn is plain.
 *
 * Roles      A worker's record: its thread.  An actor's: its maker before its first turn, then its
 *            runner.  An event's: who has made its sequence odd.  Readers: other processes.
 *
 * Invariants
 *   V1  A record's sequence is odd while it is written. Its writer makes it odd first and even
 *       last, and each word between is stored with release: who loads them with acquire and then
 *       finds the sequence even and as before has words of one writing.
 *   V2  An event's place has one writer at a time: who finds its sequence odd, or newer than the
 *       event, counts the event as lost and writes nothing.
 *   V3  No word leads the library anywhere: what another process writes there is never read back
 *       but as a sequence or a counter.
 *
 * Orders
 *   [V1] store release, word        not before the sequence that was made odd
 *   [V2] store release, sequence    not before the words
 *   [V3] cas acq_rel, sequence      one writer of an event's place; after its last one's words
 *   [V4] cas acq_rel, index         one worker takes a record; store release, when it gives it back
 *   [V5] cas acq_rel, outside       of two sums of the doors' counters the larger one stays
 */
#ifndef AXO__SCHED_BOARD_H
#define AXO__SCHED_BOARD_H

#include <axo/board.h>

#include "os/file.h"
#include "sched/pool.h"

/* Bytes of a board's path, with the zero. */
#define AXO__BOARD_PATH_MAX   256
#define AXO__BOARD_EVENTS     4096
#define AXO__BOARD_ACTORS     16384
#define AXO__BOARD_ACTORS_MAX (UINT32_C(1) << 24)

struct axo__board {
    axo__os_file file;
    axo__a64 *words;
    uint32_t workers; /* records, as are the next two */
    uint32_t actors;
    uint32_t events;
    char path[AXO__BOARD_PATH_MAX];
};

/* What the board shows; the core tells it of these and of nothing else. */
extern const uint64_t axo__board_kinds;

/* Makes the file of a system called `name`; false: the operating system refused, and nothing was
 * left. A board that is there and was not ended is kept beside it. `path` has been checked. */
bool axo__board_make(axo__board *board, const char *path, const char *name, uint32_t workers,
                     uint32_t actors);

/* Takes the file away. No worker has a record any more. NULL memory: there was none. */
void axo__board_end(axo__board *board);

/* A trace point of a kind that the board shows; where and by whom axo__trace is called. */
void axo__board_tell(const axo__local *local, const axo__cell *cell, uint32_t kind, uint64_t arg);

/* A worker's thread begins, ends; has nothing to do, so its counters are written. A worker keeps
 * its record from its first thread on: the next thread of it goes on with its counters. One that
 * finds all records taken is counted from its thread's begin to its end. */
void axo__board_worker_begin(axo__worker *worker);
void axo__board_worker_end(axo__worker *worker);
void axo__board_worker_count(axo__worker *worker);

/* A worker that will have no thread any more, one at a time: its record is another's, its counters
 * are kept in the header. */
void axo__board_worker_gone(axo__worker *worker);

#endif
