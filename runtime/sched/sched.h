/* sched.h - a pool of workers: made, started, ended. The calls come in this order: init, start,
 * quit, join (or try_join until it is true), fini; quit from any thread, the others from the thread
 * that makes or frees the pool. */
#ifndef AXO__SCHED_SCHED_H
#define AXO__SCHED_SCHED_H

#include "sched/pool.h"

/* Fills a zeroed pool: its kind, its core and its settings are set. AXO_OK, AXO_ENOMEM,
 * AXO_ETHREAD; on failure nothing is left. */
axo_status axo__sched_init(axo__sched *sched, uint32_t workers);
void axo__sched_fini(axo__sched *sched);

/* Starts the threads that the kind has from the start. AXO_OK; AXO_ETHREAD: no thread runs. */
axo_status axo__sched_start(axo__sched *sched);

/* Asks all threads of the pool to end, and wakes those that sleep. Any thread, the pool's too. */
void axo__sched_quit(axo__sched *sched);

/* Waits for the threads' end. */
void axo__sched_join(axo__sched *sched);

/* Joins the threads if all of them have ended; false: some thread still runs. */
bool axo__sched_try_join(axo__sched *sched);

/* For kinds: an array of `count` zeroed records of the pool; NULL: no memory, or a count of 0. */
void *axo__sched_array(axo__sched *sched, size_t size, uint32_t count);
void axo__sched_free_array(axo__sched *sched, void *array, size_t size, uint32_t count);

/* For kinds: make and unmake of a pool whose workers lie in one array, the spare workers at its
 * end. Each worker but a spare one has queues of its own. */
axo_status axo__sched_make_workers(axo__sched *sched);
void axo__sched_unmake_workers(axo__sched *sched);

/* For kinds that do not count their actors: `enter` and `leave` that do nothing. */
axo_status axo__sched_enter_any(axo__sched *sched);
void axo__sched_leave_any(axo__sched *sched);

#endif
