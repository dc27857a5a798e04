/* assert.h - two prices of check, branch hints, sanitizer annotations.
 *
 * AXO_ASSERT stays in every build and costs a predicted branch. AXO_DEBUG_ASSERT stays in debug
 * builds only; a release build still compiles its condition, so the condition cannot rot.
 * AXO_STATIC_ASSERT costs nothing. A failed check is a bug of the library and ends in axo__panic.
 * A mistake of the program that no status can report ends in axo__misuse. */
#ifndef AXO__BASE_ASSERT_H
#define AXO__BASE_ASSERT_H

#include <assert.h>

#define axo__likely(c) __builtin_expect(!!(c), 1)
#define axo__unlikely(c) __builtin_expect(!!(c), 0)

/* Prints the false condition and its place, and aborts: a bug of the library. */
void axo__panic(const char *what, const char *file, int line) __attribute__((noreturn, cold));

/* Prints what the program did wrong, and aborts: in every build, because a continued run would
 * touch memory that the library no longer owns. */
void axo__misuse(const char *what) __attribute__((noreturn, cold));

/* Guards, in every build, whatever would corrupt memory or lose an actor or a message. */
#define AXO_ASSERT(c) (axo__likely(c) ? (void)0 : axo__panic(#c, __FILE__, __LINE__))

/* Checks pre- and postconditions and the caller's role, in debug builds. The release form puts the
 * condition under sizeof: the compiler checks it, and no code runs. */
#ifdef AXO_DEBUG
#define AXO_DEBUG_ASSERT(c) AXO_ASSERT(c)
#else
#define AXO_DEBUG_ASSERT(c) ((void)sizeof((c) ? 1 : 0))
#endif

#define AXO_STATIC_ASSERT(c, text) _Static_assert(c, text)

/* TSan does not see the orders inside liburcu and CK, whose code is not instrumented. A caller of
 * theirs states the order by hand: RELEASE before the push, ACQUIRE after the matching pop. */
#ifdef AXO_TSAN
void __tsan_acquire(void *address);
void __tsan_release(void *address);
#define AXO_TSAN_ACQUIRE(address) __tsan_acquire(address)
#define AXO_TSAN_RELEASE(address) __tsan_release(address)
#else
#define AXO_TSAN_ACQUIRE(address) ((void)(address))
#define AXO_TSAN_RELEASE(address) ((void)(address))
#endif

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#define AXO_POISON(address, size) ASAN_POISON_MEMORY_REGION(address, size)
#define AXO_UNPOISON(address, size) ASAN_UNPOISON_MEMORY_REGION(address, size)
#define AXO_IS_POISONED(address, size)                                                             \
    (__asan_region_is_poisoned((void *)(uintptr_t)(address), size) != NULL)
#else
#define AXO_POISON(address, size) ((void)(address), (void)(size))
#define AXO_UNPOISON(address, size) ((void)(address), (void)(size))
#define AXO_IS_POISONED(address, size) false
#endif

#endif
