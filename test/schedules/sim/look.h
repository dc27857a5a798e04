/* look.h - what is looked at between two steps, when no worker is inside: every living cell's word,
 * count and entries beside the ghost's; every pool's count of parked workers; and at an event, that
 * its cell is its worker's.
 */
#ifndef TEST_SIM_LOOK_H
#define TEST_SIM_LOOK_H

#include "queues.h"
#include "sched/pool.h"
#include "system/system.h"

/* Worlds up to this are looked at after each step, larger ones after some. */
#define LOOK_SMALL 64

typedef struct look {
    axo_system *system; /* the one that runs; NULL: none does */
    uint32_t living_count;
    uint64_t turn;      /* of the last message */
    uint64_t turn_step;
    const axo__worker *turn_worker;
    uint32_t turn_messages;
    uint32_t living[GHOSTS_MAX];      /* indices of ghosts */
    uint32_t place[GHOSTS_MAX];       /* of a ghost in there */
    uint64_t runnable_since[GHOSTS_MAX]; /* step; 0: it is not */
    uint64_t share[GHOSTS_MAX];          /* steps that those who lived with it may have taken */
    uint64_t portion[GHOSTS_MAX];        /* where its work in portions stood */
} look;

extern look l;
extern bool look_unfair;

void look_reset(void);
axo__cell *look_at(const ghost *it);
bool look_is_over(const ghost *it);
void look_life(const ghost *it, uint32_t kind);
void look_event(const ghost *it, const axo_event *e);
void look_step(void);
void look_rest(void);

#endif
