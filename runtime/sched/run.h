/* run.h - one turn of one cell. run.c tells what a turn is. */
#ifndef AXO__SCHED_RUN_H
#define AXO__SCHED_RUN_H

#include "sched/pool.h"

/* Runs a claimed cell for one turn of at most `messages` messages (more for a cell with a backlog),
 * and then the cells that axo__worker_find_next finds, until `turns` turns were run. One unwind
 * point serves all of these turns. */
void axo__run_cells(axo__worker *worker, axo__cell *cell, uint32_t messages, uint32_t turns);

/* Frees a handled or undeliverable message of any kind; a stashed message stays with its stash. */
void axo__run_free(axo__worker *worker, axo__message *message);

#endif
