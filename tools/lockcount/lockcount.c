/* lockcount.c - axo-lockcount.o, an object to link into a program: locks that a thread holds are
 * counted, so that a crash under one is not contained (crash.h). The library asks it where it is
 * there; who does not link it pays nothing.
 *
 * It stands in the place of the C library's functions that take and give locks, for the program and
 * for every module of it, and calls them. A lock counts from before it is taken until it has been
 * given back: so a callback that is interrupted between two instructions never holds one that does
 * not count. What waits for a condition has its mutex again when it returns.
 *
 * A lock that another thread gives back, or that the C library takes or gives by itself, leaves the
 * count too high, and crashes of that thread end the process. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <axo/export.h>

/* As crashes can be contained (sched/walk.h): elsewhere there is nobody to ask. */
#if defined(__GLIBC__)
#if __GLIBC_PREREQ(2, 35)
#include <threads.h>
#define LOCKCOUNT_COUNTS 1
#endif
#endif
#ifndef LOCKCOUNT_COUNTS
#define LOCKCOUNT_COUNTS 0
#endif

AXO_API uint32_t axo_lockcount_held(void);

static _Thread_local uint32_t lockcount_held;

/* Locks that this thread holds. For signal handlers. */
uint32_t axo_lockcount_held(void)
{
    return lockcount_held;
}

#if LOCKCOUNT_COUNTS

/* The C library's function of this name, looked up once: by the first who calls it, as other
 * modules may take locks before any code of the program runs. */
static void *lockcount_real(void *_Atomic *known, const char *name)
{
    void *real = atomic_load_explicit(known, memory_order_relaxed);
    if (real != NULL)
        return real;
    real = dlsym(RTLD_NEXT, name);
    if (real == NULL)
        abort();
    atomic_store_explicit(known, real, memory_order_relaxed);
    return real;
}

/* The last holder of a robust mutex has died, and the caller has it. */
static int lockcount_took(int result)
{
    if (result != 0 && result != EOWNERDEAD)
        lockcount_held--;
    return result;
}

static int lockcount_gave(int result)
{
    if (result == 0 && lockcount_held > 0)
        lockcount_held--;
    return result;
}

/* The C library's own, as `real.code`. POSIX gives a function's address as one of data. */
#define LOCKCOUNT_REAL(name, types)                                                                \
    static void *_Atomic known;                                                                    \
    const union {                                                                                  \
        void *data;                                                                                \
        int(*code) types;                                                                          \
    } real = {.data = lockcount_real(&known, #name)}

/* A function that takes a lock, or does not; and one that gives it back. */
#define LOCKCOUNT_TAKES(name, types, values)                                                       \
    AXO_API int name types                                                                         \
    {                                                                                              \
        LOCKCOUNT_REAL(name, types);                                                               \
        lockcount_held++;                                                                          \
        return lockcount_took(real.code values);                                                   \
    }
#define LOCKCOUNT_GIVES(name, types, values)                                                       \
    AXO_API int name types                                                                         \
    {                                                                                              \
        LOCKCOUNT_REAL(name, types);                                                               \
        return lockcount_gave(real.code values);                                                   \
    }

typedef const struct timespec *lockcount_time;

LOCKCOUNT_TAKES(pthread_mutex_lock, (pthread_mutex_t * lock), (lock))
LOCKCOUNT_TAKES(pthread_mutex_trylock, (pthread_mutex_t * lock), (lock))
LOCKCOUNT_TAKES(pthread_mutex_timedlock, (pthread_mutex_t * lock, lockcount_time until),
                (lock, until))
LOCKCOUNT_TAKES(pthread_mutex_clocklock,
                (pthread_mutex_t * lock, clockid_t clock, lockcount_time until),
                (lock, clock, until))
LOCKCOUNT_GIVES(pthread_mutex_unlock, (pthread_mutex_t * lock), (lock))

LOCKCOUNT_TAKES(pthread_rwlock_rdlock, (pthread_rwlock_t * lock), (lock))
LOCKCOUNT_TAKES(pthread_rwlock_tryrdlock, (pthread_rwlock_t * lock), (lock))
LOCKCOUNT_TAKES(pthread_rwlock_timedrdlock, (pthread_rwlock_t * lock, lockcount_time until),
                (lock, until))
LOCKCOUNT_TAKES(pthread_rwlock_clockrdlock,
                (pthread_rwlock_t * lock, clockid_t clock, lockcount_time until),
                (lock, clock, until))
LOCKCOUNT_TAKES(pthread_rwlock_wrlock, (pthread_rwlock_t * lock), (lock))
LOCKCOUNT_TAKES(pthread_rwlock_trywrlock, (pthread_rwlock_t * lock), (lock))
LOCKCOUNT_TAKES(pthread_rwlock_timedwrlock, (pthread_rwlock_t * lock, lockcount_time until),
                (lock, until))
LOCKCOUNT_TAKES(pthread_rwlock_clockwrlock,
                (pthread_rwlock_t * lock, clockid_t clock, lockcount_time until),
                (lock, clock, until))
LOCKCOUNT_GIVES(pthread_rwlock_unlock, (pthread_rwlock_t * lock), (lock))

LOCKCOUNT_TAKES(pthread_spin_lock, (pthread_spinlock_t * lock), (lock))
LOCKCOUNT_TAKES(pthread_spin_trylock, (pthread_spinlock_t * lock), (lock))
LOCKCOUNT_GIVES(pthread_spin_unlock, (pthread_spinlock_t * lock), (lock))

LOCKCOUNT_TAKES(mtx_lock, (mtx_t * lock), (lock))
LOCKCOUNT_TAKES(mtx_trylock, (mtx_t * lock), (lock))
LOCKCOUNT_TAKES(mtx_timedlock, (mtx_t * lock, lockcount_time until), (lock, until))
LOCKCOUNT_GIVES(mtx_unlock, (mtx_t * lock), (lock))

LOCKCOUNT_TAKES(ftrylockfile, (FILE * file), (file))

AXO_API void flockfile(FILE *file)
{
    LOCKCOUNT_REAL(flockfile, (FILE *));
    lockcount_held++;
    real.code(file);
}

AXO_API void funlockfile(FILE *file)
{
    LOCKCOUNT_REAL(funlockfile, (FILE *));
    real.code(file);
    (void)lockcount_gave(0);
}

#endif
