/* stamp.h - the moments of a wake-up, for the one program that asks where its time goes.
 *
 * A build with AXO_STAMPS calls the program at each of them; `make bench-parts` makes one in a
 * folder of its own, and bench/w12_foreign.c is the program. Any other build has no instruction of
 * it. The moments are in the order in which one wake-up meets them.
 */
#ifndef AXO__BASE_STAMP_H
#define AXO__BASE_STAMP_H

#ifdef AXO_STAMPS

typedef enum axo__stamp {
    AXO__STAMP_WAKE = 0,   /* the waker has chosen the worker, and calls the system */
    AXO__STAMP_WOKEN = 1,  /* the worker's thread runs again */
    AXO__STAMP_ONLINE = 2, /* grace periods wait for it again */
    AXO__STAMP_UP = 3,     /* it is not parked any more */
    AXO__STAMP_READY = 4,  /* it has read the clock and told the spare */
    AXO__STAMP_FOUND = 5,  /* its first look at the queues has found a cell */
    AXO__STAMPS = 6
} axo__stamp;

/* The program's; on the thread that is at the moment. */
void axo__stamp_take(axo__stamp which);

#define AXO__STAMP(which) axo__stamp_take(AXO__STAMP_##which)

#else
#define AXO__STAMP(which) ((void)0)
#endif

#endif
