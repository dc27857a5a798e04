/* blame.h - the record of a failure of the running callback. The worker is the caller. */
#ifndef AXO__SCHED_BLAME_H
#define AXO__SCHED_BLAME_H

#include <stdarg.h>

#include "base/aside.h"
#include "sched/pool.h"

/* Records a failure of the running callback in worker->pending, in the place of an earlier one; of
 * a failure of memory a crash alone takes the place. */
void axo__blame_record(axo__worker *worker, axo_failure_kind kind, int32_t code, const char *format,
                       va_list list) __attribute__((format(printf, 4, 0)));

/* Whether a callback that can fail runs. Between two callbacks none can: `site` says which one
 * runs. Nor can a function that the library has called aside, perhaps from the middle of one that
 * the callback has called. */
static inline bool axo__blame_is_open(const axo__worker *worker)
{
    return worker->current != NULL && worker->site != AXO_SITE_NONE &&
           worker->site != AXO__SITE_CLEANUP && axo__aside == 0;
}

/* Records a failure of memory, which counts whatever the callback returns. The first one stays,
 * whatever else the callback records, but a crash, which says more. `status`: the code. */
void axo__blame_memory(axo__worker *worker, axo_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* What a callback has returned, or what it counts as. */
static inline axo_status axo__blame_status(const axo__worker *worker, axo_status status)
{
    return axo__unlikely(worker->pending.kind == AXO_FAILURE_MEMORY) ? AXO_EFAILED : status;
}

/* A callback's status becomes a failure, unless axo_fail has said more. */
void axo__blame(axo__worker *worker, const axo__cell *cell, axo_status status);

#endif
