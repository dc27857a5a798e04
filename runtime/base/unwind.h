/* unwind.h - the way out of any depth of calls, back to where it was set.
 *
 * The compiler's own pair keeps a frame and leaves the registers to whoever may return twice, so
 * setting a point costs three stores. The sanitizers follow the C library's pair only. A point is
 * left at once: the function that has set it must not have returned, and the jump is not in it.
 */
#ifndef AXO__BASE_UNWIND_H
#define AXO__BASE_UNWIND_H

#if defined(AXO_ASAN) || defined(AXO_TSAN)
#include <setjmp.h>

typedef struct axo__unwind {
    jmp_buf env;
} axo__unwind;

/* 0; not 0: by a jump. */
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
