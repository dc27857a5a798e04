/* delay.h - restarts that wait: for a strategy's back-off, and for their turn among all restarts of
 * the system (cell/storm.h). delay.c draws the way of a delayed restart. */
#ifndef AXO__SUPER_DELAY_H
#define AXO__SUPER_DELAY_H

#include "sched/timer.h"
#include "super/super.h"

/* A child's wait, in the parent's record of it; taken at the child's birth if the parent's strategy
 * has a back-off, or the system a governor
 * and the parent is not /system. */
struct axo__delay {
    axo__timer timer; /* first */
    axo__cell *child;
    int64_t since;    /* LINEAR: the last failure; EXPONENTIAL: the last restart */
    uint32_t count;   /* failures since the reset */
    bool waits;       /* the timer is armed, or its DUE on the way */
    bool gone;        /* the child has terminated; its end waits for that DUE */
    bool turn;        /* it waits, or has waited, for its turn and not for its back-off */
};

/* Counts a failure and returns how long its restart is delayed. */
int64_t axo__delay_next(const axo_backoff *backoff, axo__delay *delay, int64_t now, double chance);

/* The delayed restart is being carried out. */
void axo__delay_over(const axo_backoff *backoff, axo__delay *delay, int64_t now);

/* Has the child's decided restart wait, if it has to. Returns false if the parent restarts it at
 * once: also if timers are closed for the end of the system. */
bool axo__delay_begin(axo__worker *worker, axo__cell *cell, axo__cell *child);

/* Has the restart wait for its turn. Returns false if it is its turn. */
bool axo__delay_turn(axo__worker *worker, axo__cell *cell, axo__cell *child);

/* The child's DUE has arrived at the parent. */
void axo__delay_due(axo__worker *worker, axo__cell *child);

/* The parent wants to forget the child. Returns false if the timer has already left its wheel: the
 * parent must wait for the DUE. */
bool axo__delay_end(axo__worker *worker, axo__cell *child);

#endif
