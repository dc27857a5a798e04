/* failurelog.h - which failures are worth a line: of each class, code and answer the first few in a
 * window of time, then silence, and with the first one after the window a line that says how many
 * were left out. No timer is involved: the count of a window that nothing follows comes when the
 * system ends.
 *
 * A storm has few sorts of failures. The table holds so many of them; one that comes to a full
 * table takes the place of the one whose window is oldest, whose count is written then.
 *
 * Roles      axo__failures_take: any worker.  axo__failures_say_left: the worker that ends the
 *            system.
 * Progress   takes the table's mutex for one look through it; lines are written without it.
 * Memory     the table is part of the system: a failure takes none (D10).
 */
#ifndef AXO__SYSTEM_FAILURELOG_H
#define AXO__SYSTEM_FAILURELOG_H

#include "cell/log.h"
#include "system/throttle.h"

/* Sorts of failures that are told apart at a time. */
#define AXO__FAILURE_SORTS 32
/* Bytes of a class's name that are kept for the line of a count: the class may be gone by then. */
#define AXO__FAILURE_NAME 48

/* What makes failures alike. An unused sort has no class. */
typedef struct axo__failure_sort {
    const axo_class *cls; /* compared, never read */
    int32_t code;
    uint32_t event;
    uint32_t directive;
    uint32_t level;
    axo__throttle throttle;
    char name[AXO__FAILURE_NAME];
} axo__failure_sort;

typedef struct axo__failures {
    axo__os_mutex mutex; /* guards what follows */
    uint32_t max;        /* fixed; UINT32_MAX: every failure is a line */
    int64_t window_ns;   /* fixed */
    axo__failure_sort sorts[AXO__FAILURE_SORTS];
} axo__failures;

/* false: no mutex. */
bool axo__failures_init(axo__failures *failures, const axo_options *options);
void axo__failures_fini(axo__failures *failures);

/* The function behind axo__core.failed: writes the line, or not. */
void axo__failures_take(axo__failures *failures, axo__local *local, axo_log_record *record,
                        const axo_class *cls);

/* Writes a line for each count of failures that were left out; they begin again at 0. */
void axo__failures_say_left(axo__failures *failures, axo__local *local);

#endif
