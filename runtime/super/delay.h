/* delay.h - restarts that wait: a strategy's back-off; delay.c has the way of one. */
#ifndef AXO__SUPER_DELAY_H
#define AXO__SUPER_DELAY_H

#include "sched/timer.h"
#include "super/super.h"

/* What a child of a strategy with a back-off has. */
struct axo__delay {
    axo__timer timer; /* first */
    axo__cell *child;
    int64_t since;    /* LINEAR: the last failure; EXPONENTIAL: the last restart */
    uint32_t count;   /* failures since the reset */
    bool waits;       /* the timer is armed, or its DUE on the way */
    bool gone;        /* the child has terminated; its end waits for that DUE */
};

/* Counts a failure: how long its restart is delayed. */
int64_t axo__delay_next(const axo_backoff *backoff, axo__delay *delay, int64_t now, double chance);

/* The delayed restart is done. */
void axo__delay_over(const axo_backoff *backoff, axo__delay *delay, int64_t now);

/* Puts the child's restart off; false: it is to be done at once. */
bool axo__delay_begin(axo__worker *worker, axo__cell *cell, axo__cell *child);

/* The child is to be forgotten: false, not before its DUE has come. */
bool axo__delay_end(axo__cell *child);

#endif
