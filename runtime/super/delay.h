/* delay.h - restarts that wait: a strategy's back-off. delay.c draws the way of a delayed
 * restart. */
#ifndef AXO__SUPER_DELAY_H
#define AXO__SUPER_DELAY_H

#include "sched/timer.h"
#include "super/super.h"

/* A child's back-off, in the parent's record of it; taken at the child's birth if the parent's
 * strategy has a back-off. */
struct axo__delay {
    axo__timer timer; /* first */
    axo__cell *child;
    int64_t since;    /* LINEAR: the last failure; EXPONENTIAL: the last restart */
    uint32_t count;   /* failures since the reset */
    bool waits;       /* the timer is armed, or its DUE on the way */
    bool gone;        /* the child has terminated; its end waits for that DUE */
};

/* Counts a failure and returns how long its restart is delayed. */
int64_t axo__delay_next(const axo_backoff *backoff, axo__delay *delay, int64_t now, double chance);

/* The delayed restart is being carried out. */
void axo__delay_over(const axo_backoff *backoff, axo__delay *delay, int64_t now);

/* Arms the timer of the child's restart. Returns false if timers are closed for the end of the
 * system: the parent restarts the child at once. */
bool axo__delay_begin(axo__worker *worker, axo__cell *cell, axo__cell *child);

/* The parent wants to forget the child. Returns false if the timer has already left its wheel: the
 * parent must wait for the DUE. */
bool axo__delay_end(axo__cell *child);

#endif
