/* blame.h - the record of a failure of the running callback. The worker is the caller. */
#ifndef AXO__SCHED_BLAME_H
#define AXO__SCHED_BLAME_H

#include <stdarg.h>

#include "sched/pool.h"

/* Records a failure of the running callback in worker->pending, in the place of an earlier one. */
void axo__blame_record(axo__worker *worker, axo_failure_kind kind, int32_t code, const char *format,
                       va_list list) __attribute__((format(printf, 4, 0)));

/* A callback's status becomes a failure, unless axo_fail has said more. */
void axo__blame(axo__worker *worker, const axo__cell *cell, axo_status status);

#endif
