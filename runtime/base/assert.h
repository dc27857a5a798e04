/* assert.h - two prices of check, branch hints, sanitizer annotations. */
#ifndef AXO__BASE_ASSERT_H
#define AXO__BASE_ASSERT_H

#include <assert.h>

#define axo__likely(c) __builtin_expect(!!(c), 1)
#define axo__unlikely(c) __builtin_expect(!!(c), 0)

/* A bug of ours: says where and aborts. */
void axo__panic(const char *what, const char *file, int line) __attribute__((noreturn, cold));

/* A mistake of the program: says which and aborts. */
void axo__misuse(const char *what) __attribute__((noreturn, cold));

/* In every build: what would corrupt memory, or lose an actor or a message. */
#define AXO_ASSERT(c) (axo__likely(c) ? (void)0 : axo__panic(#c, __FILE__, __LINE__))

/* In debug builds: pre- and postconditions, roles. */
#ifdef AXO_DEBUG
#define AXO_DEBUG_ASSERT(c) AXO_ASSERT(c)
#else
#define AXO_DEBUG_ASSERT(c) ((void)sizeof((c) ? 1 : 0))
#endif

#define AXO_STATIC_ASSERT(c, text) _Static_assert(c, text)

/* Files that call liburcu and CK are not instrumented by TSan; they say what they order. */
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
#else
#define AXO_POISON(address, size) ((void)(address), (void)(size))
#define AXO_UNPOISON(address, size) ((void)(address), (void)(size))
#endif

#endif
