/* unwind.h - the way out of any depth of calls, back to the point that sched/run.c has set: how
 * axo_throw leaves a callback.
 *
 * The compiler's own pair keeps a frame and leaves the registers to the function that may return
 * twice, so setting a point costs three stores. The sanitizers follow the C library's pair only.
 * The function that has set a point must still be running when a jump goes there, and the jump is
 * made in another function.
 */
#ifndef AXO__BASE_UNWIND_H
#define AXO__BASE_UNWIND_H

#if defined(AXO_ASAN) || defined(AXO_TSAN)
#include <setjmp.h>

typedef struct axo__unwind {
    jmp_buf env;
} axo__unwind;

/* Sets the point: 0 the first time, not 0 when a jump comes back to it. */
#define AXO__UNWIND_SET(point) _setjmp((point)->env)
#define AXO__UNWIND_JUMP(point) longjmp((point)->env, 1)
#else
typedef struct axo__unwind {
    void *env[5];
} axo__unwind;

#define AXO__UNWIND_SET(point) __builtin_setjmp((point)->env)
#define AXO__UNWIND_JUMP(point) __builtin_longjmp((point)->env, 1)
#endif

#endif
