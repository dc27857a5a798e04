/* scenes.h - the scenarios, a table for each part of the product; each ends with one without a
 * name. */
#ifndef AXO_TEST_WEAK_SCENES_H
#define AXO_TEST_WEAK_SCENES_H

#include "schedules/weak/check.h"

extern const weak_scenario weak_state_scenes[];
extern const weak_scenario weak_queue_scenes[];
extern const weak_scenario weak_cell_scenes[];
extern const weak_scenario weak_newborn_scenes[];
extern const weak_scenario weak_park_scenes[];
extern const weak_scenario weak_spare_scenes[];
extern const weak_scenario weak_shared_scenes[];
extern const weak_scenario weak_figures_scenes[];
extern const weak_scenario weak_lent_scenes[];
extern const weak_scenario weak_quiesce_scenes[];

/* Memory for figures: a piece of the calling fiber's own. */
void *weak_figures_alloc(size_t size);

/* What axo__os_now says. */
extern int64_t weak_clock_now;

/* Waits have no deadlines. */
extern bool weak_no_time;

/* Nothing is left to do: who waits at a parker need not be woken. */
extern bool (*weak_enough)(void);

#endif
