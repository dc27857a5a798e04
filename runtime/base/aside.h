/* aside.h - functions of the program that are no callback of an actor: destructors of payloads,
 * observers, allocators, clocks, priorities, last calls. The library may call one from anywhere, in
 * the middle of a function that a callback has called, too. So nothing may leave one but by
 * returning: axo_throw with a context that was kept is refused there.
 *
 * A call of one stands between axo__aside++ and axo__aside--, and behind AXO_BORDER.
 */
#ifndef AXO__BASE_ASIDE_H
#define AXO__BASE_ASIDE_H

#include <stdint.h>

/* How many of them this thread is in. A thread that becomes a worker meanwhile begins with 0
 * (axo__worker_begin), and has its number back when it is a worker no more. */
extern _Thread_local uint32_t axo__aside;

#endif
