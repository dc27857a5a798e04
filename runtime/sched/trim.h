/* trim.h - a trim's part in a pool of workers: their caches are asked for. */
#ifndef AXO__SCHED_TRIM_H
#define AXO__SCHED_TRIM_H

#include "sched/pool.h"

/* Sees to it that the pool's caches are flushed in the round of a trim (mem/slab.h): those of
 * nobody at once, those of threads when they look for news, for which sleeping ones are woken.
 * Returns how many have not been flushed. May be repeated: a wake-up that comes before a thread
 * sleeps is one too early. The pool stays as long as the call lasts; the caller is no worker. */
uint32_t axo__sched_trim(axo__sched *sched, uint32_t round);

#endif
