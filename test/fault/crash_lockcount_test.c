/* crash_lockcount_test.c - a program with axo-lockcount.o: a crash under any lock of its own ends
 * the process, and a callback that runs for too long is not interrupted there. What has been given
 * back, was not to be had, or others hold, is no matter.
 */
#include <errno.h>
#include <threads.h>

#include "fault/stuck.h"

extern uint32_t axo_lockcount_held(void);

static char *volatile locks_null;
static pthread_mutex_t locks_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t locks_second = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t locks_careful = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_rwlock_t locks_shared = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t locks_spin;
static mtx_t locks_c11;
static FILE *locks_file;

/* Of another thread for good. */
static pthread_mutex_t locks_others = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t locks_others_shared = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t locks_others_spin;
static mtx_t locks_others_c11;

static const struct timespec locks_long_ago = {.tv_sec = 1};

static struct timespec locks_soon(clockid_t clock)
{
    struct timespec when;
    CRASH_CHECK(clock_gettime(clock, &when) == 0);
    when.tv_sec += 60;
    return when;
}

/* ---- ways to take one, each with its way to give it back ------------------------------------ */

static bool locks_lock(void)
{
    return pthread_mutex_lock(&locks_mutex) == 0;
}

static bool locks_trylock(void)
{
    return pthread_mutex_trylock(&locks_mutex) == 0;
}

static bool locks_timedlock(void)
{
    struct timespec until = locks_soon(CLOCK_REALTIME);
    return pthread_mutex_timedlock(&locks_mutex, &until) == 0;
}

static bool locks_clocklock(void)
{
    struct timespec until = locks_soon(CLOCK_MONOTONIC);
    return pthread_mutex_clocklock(&locks_mutex, CLOCK_MONOTONIC, &until) == 0;
}

static bool locks_unlock(void)
{
    return pthread_mutex_unlock(&locks_mutex) == 0;
}

static bool locks_rdlock(void)
{
    return pthread_rwlock_rdlock(&locks_shared) == 0;
}

static bool locks_tryrdlock(void)
{
    return pthread_rwlock_tryrdlock(&locks_shared) == 0;
}

static bool locks_timedrdlock(void)
{
    struct timespec until = locks_soon(CLOCK_REALTIME);
    return pthread_rwlock_timedrdlock(&locks_shared, &until) == 0;
}

static bool locks_clockrdlock(void)
{
    struct timespec until = locks_soon(CLOCK_MONOTONIC);
    return pthread_rwlock_clockrdlock(&locks_shared, CLOCK_MONOTONIC, &until) == 0;
}

static bool locks_wrlock(void)
{
    return pthread_rwlock_wrlock(&locks_shared) == 0;
}

static bool locks_trywrlock(void)
{
    return pthread_rwlock_trywrlock(&locks_shared) == 0;
}

static bool locks_timedwrlock(void)
{
    struct timespec until = locks_soon(CLOCK_REALTIME);
    return pthread_rwlock_timedwrlock(&locks_shared, &until) == 0;
}

static bool locks_clockwrlock(void)
{
    struct timespec until = locks_soon(CLOCK_MONOTONIC);
    return pthread_rwlock_clockwrlock(&locks_shared, CLOCK_MONOTONIC, &until) == 0;
}

static bool locks_rwunlock(void)
{
    return pthread_rwlock_unlock(&locks_shared) == 0;
}

static bool locks_spinlock(void)
{
    return pthread_spin_lock(&locks_spin) == 0;
}

static bool locks_spintrylock(void)
{
    return pthread_spin_trylock(&locks_spin) == 0;
}

static bool locks_spinunlock(void)
{
    return pthread_spin_unlock(&locks_spin) == 0;
}

static bool locks_mtxlock(void)
{
    return mtx_lock(&locks_c11) == thrd_success;
}

static bool locks_mtxtrylock(void)
{
    return mtx_trylock(&locks_c11) == thrd_success;
}

static bool locks_mtxtimedlock(void)
{
    struct timespec until = locks_soon(CLOCK_REALTIME);
    return mtx_timedlock(&locks_c11, &until) == thrd_success;
}

static bool locks_mtxunlock(void)
{
    return mtx_unlock(&locks_c11) == thrd_success;
}

static bool locks_file_lock(void)
{
    flockfile(locks_file);
    return true;
}

static bool locks_file_trylock(void)
{
    return ftrylockfile(locks_file) == 0;
}

static bool locks_file_unlock(void)
{
    funlockfile(locks_file);
    return true;
}

typedef struct locks_pair {
    const char *name;
    bool (*take)(void);
    bool (*give)(void);
} locks_pair;

static const locks_pair locks_pairs[] = {
    {"mutex_lock", locks_lock, locks_unlock},
    {"mutex_trylock", locks_trylock, locks_unlock},
    {"mutex_timedlock", locks_timedlock, locks_unlock},
    {"mutex_clocklock", locks_clocklock, locks_unlock},
    {"rwlock_rdlock", locks_rdlock, locks_rwunlock},
    {"rwlock_tryrdlock", locks_tryrdlock, locks_rwunlock},
    {"rwlock_timedrdlock", locks_timedrdlock, locks_rwunlock},
    {"rwlock_clockrdlock", locks_clockrdlock, locks_rwunlock},
    {"rwlock_wrlock", locks_wrlock, locks_rwunlock},
    {"rwlock_trywrlock", locks_trywrlock, locks_rwunlock},
    {"rwlock_timedwrlock", locks_timedwrlock, locks_rwunlock},
    {"rwlock_clockwrlock", locks_clockwrlock, locks_rwunlock},
    {"spin_lock", locks_spinlock, locks_spinunlock},
    {"spin_trylock", locks_spintrylock, locks_spinunlock},
    {"mtx_lock", locks_mtxlock, locks_mtxunlock},
    {"mtx_trylock", locks_mtxtrylock, locks_mtxunlock},
    {"mtx_timedlock", locks_mtxtimedlock, locks_mtxunlock},
    {"flockfile", locks_file_lock, locks_file_unlock},
    {"ftrylockfile", locks_file_trylock, locks_file_unlock},
};
#define LOCKS_PAIRS (sizeof locks_pairs / sizeof locks_pairs[0])

static void locks_make(void)
{
    locks_file = tmpfile();
    CRASH_CHECK(locks_file != NULL);
    CRASH_CHECK(pthread_spin_init(&locks_spin, PTHREAD_PROCESS_PRIVATE) == 0);
    CRASH_CHECK(pthread_spin_init(&locks_others_spin, PTHREAD_PROCESS_PRIVATE) == 0);
    CRASH_CHECK(mtx_init(&locks_c11, mtx_timed) == thrd_success);
    CRASH_CHECK(mtx_init(&locks_others_c11, mtx_timed) == thrd_success);
}

static void *locks_take_others(void *arg)
{
    CRASH_CHECK(pthread_mutex_lock(&locks_others) == 0);
    CRASH_CHECK(pthread_rwlock_wrlock(&locks_others_shared) == 0);
    CRASH_CHECK(pthread_spin_lock(&locks_others_spin) == 0);
    CRASH_CHECK(mtx_lock(&locks_others_c11) == thrd_success);
    return arg;
}

/* ---- the count ------------------------------------------------------------------------------ */

/* None of them is to be had. */
static void locks_ask_in_vain(void)
{
    CRASH_CHECK(pthread_mutex_trylock(&locks_others) == EBUSY);
    CRASH_CHECK(pthread_mutex_timedlock(&locks_others, &locks_long_ago) == ETIMEDOUT);
    CRASH_CHECK(pthread_rwlock_tryrdlock(&locks_others_shared) == EBUSY);
    CRASH_CHECK(pthread_rwlock_trywrlock(&locks_others_shared) == EBUSY);
    CRASH_CHECK(pthread_rwlock_timedrdlock(&locks_others_shared, &locks_long_ago) == ETIMEDOUT);
    CRASH_CHECK(pthread_spin_trylock(&locks_others_spin) == EBUSY);
    CRASH_CHECK(mtx_trylock(&locks_others_c11) == thrd_busy);
    CRASH_CHECK(mtx_timedlock(&locks_others_c11, &locks_long_ago) == thrd_timedout);
}

static void locks_others_take(void)
{
    pthread_t thread;
    CRASH_CHECK(pthread_create(&thread, NULL, locks_take_others, NULL) == 0);
    CRASH_CHECK(pthread_join(thread, NULL) == 0);
}

static void locks_count(const void *arg)
{
    locks_make();
    locks_others_take();
    CRASH_CHECK(axo_lockcount_held() == 0);
    for (size_t i = 0; i < LOCKS_PAIRS; i++) {
        CRASH_CHECK(locks_pairs[i].take() && axo_lockcount_held() == 1);
        locks_ask_in_vain();
        CRASH_CHECK(pthread_mutex_lock(&locks_second) == 0 && axo_lockcount_held() == 2);
        CRASH_CHECK(locks_pairs[i].give() && axo_lockcount_held() == 1);
        CRASH_CHECK(pthread_mutex_unlock(&locks_second) == 0 && axo_lockcount_held() == 0);
    }
}

/* What is refused gives nothing back and takes nothing. */
static void locks_count_refused(const void *arg)
{
    CRASH_CHECK(pthread_mutex_lock(&locks_second) == 0);
    CRASH_CHECK(pthread_mutex_unlock(&locks_careful) == EPERM && axo_lockcount_held() == 1);
    CRASH_CHECK(pthread_mutex_lock(&locks_careful) == 0);
    CRASH_CHECK(pthread_mutex_lock(&locks_careful) == EDEADLK && axo_lockcount_held() == 2);
}

static void *locks_take_and_end(void *mutex)
{
    CRASH_CHECK(pthread_mutex_lock(mutex) == 0);
    return NULL;
}

/* The next holder of a robust mutex has it, with an error. */
static void locks_count_of_the_dead(const void *arg)
{
    pthread_mutexattr_t attr;
    pthread_mutex_t robust;
    pthread_t thread;
    CRASH_CHECK(pthread_mutexattr_init(&attr) == 0);
    CRASH_CHECK(pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST) == 0);
    CRASH_CHECK(pthread_mutex_init(&robust, &attr) == 0);
    CRASH_CHECK(pthread_create(&thread, NULL, locks_take_and_end, &robust) == 0);
    CRASH_CHECK(pthread_join(thread, NULL) == 0 && axo_lockcount_held() == 0);
    CRASH_CHECK(pthread_mutex_lock(&robust) == EOWNERDEAD && axo_lockcount_held() == 1);
    CRASH_CHECK(pthread_mutex_unlock(&robust) == 0 && axo_lockcount_held() == 0);
    CRASH_CHECK(pthread_mutex_lock(&robust) == ENOTRECOVERABLE && axo_lockcount_held() == 0);
}

static void each_lock_counts(void **state)
{
    if (CRASH_ENDS) /* the thread sanitizer does not know each of them */
        skip();
    crash_end end = crash_run(locks_count, NULL);
    crash_is_well(&end, "each");
    end = crash_run(locks_count_refused, NULL);
    crash_is_well(&end, "refused");
    end = crash_run(locks_count_of_the_dead, NULL);
    crash_is_well(&end, "of the dead");
}

/* ---- crashes -------------------------------------------------------------------------------- */

static const locks_pair *locks_chosen;

static void locks_crash(axo_ctx *ctx)
{
    locks_null[16] = 1;
}

static void locks_crash_under(axo_ctx *ctx)
{
    CRASH_CHECK(locks_chosen->take());
    locks_crash(ctx);
}

static void locks_crash_behind(axo_ctx *ctx)
{
    locks_ask_in_vain();
    CRASH_CHECK(locks_chosen->take() && locks_chosen->give());
    locks_crash(ctx);
}

static void locks_run(crash_fn fn, const locks_pair *pair)
{
    locks_chosen = pair;
    locks_make();
    locks_others_take();
    crash_start((axo_options){.workers = 1});
    crash_do(fn);
    crash_ping();
    CRASH_CHECK(atomic_load(&cw.instance) == 2 && axo_system_crashes(cw.system, NULL, 0) == 1);
    crash_finish();
}

static void locks_run_under(const void *arg)
{
    locks_run(locks_crash_under, arg);
}

static void locks_run_behind(const void *arg)
{
    locks_run(locks_crash_behind, arg);
}

static void crashes_under_a_lock(void **state)
{
    if (CRASH_REPORTED)
        skip();
    for (size_t i = 0; i < LOCKS_PAIRS; i++) {
        crash_end end = crash_run(locks_run_under, &locks_pairs[i]);
        crash_is_dead(&end, locks_pairs[i].name, SIGSEGV,
                      "axo: SIGSEGV at 0x10 is not contained: a lock is held; actor it (#");
        end = crash_run(locks_run_behind, &locks_pairs[i]);
        crash_is_well(&end, locks_pairs[i].name);
    }
}

/* ---- callbacks that run for too long -------------------------------------------------------- */

static atomic_bool locks_free;

static void locks_loop(axo_ctx *ctx)
{
    CRASH_CHECK(locks_lock()); /* before the watchdog may have come, so at once */
    const int64_t late = parts_now() + 10 * PARTS_S;
    while (parts_now() < late && atomic_load(&cw.reported) == 0)
        stuck_sink++;
    CRASH_CHECK(locks_unlock());
    atomic_store(&locks_free, true);
    stuck_spin(NULL);
}

static void locks_stuck(const void *arg)
{
    crash_start(stuck_options());
    crash_do(locks_loop);
    crash_wait(&cw.decided, 1);
    CRASH_CHECK(cw.failure.kind == AXO_FAILURE_STUCK && atomic_load(&locks_free));
    CRASH_CHECK(strstr(cw.reason, "; not interrupted: a lock is held") != NULL);
    CRASH_CHECK(locks_trylock() && locks_unlock());
    crash_ping();
    crash_finish();
}

/* All day long a lock is taken and given back: wherever it is interrupted, nobody has it. */
static void locks_take_turns(axo_ctx *ctx)
{
    while (stuck_goes_on()) {
        (void)pthread_mutex_lock(&locks_mutex);
        (void)pthread_mutex_unlock(&locks_mutex);
    }
}

static void locks_interrupted(const void *arg)
{
    crash_start(stuck_options());
    for (uint32_t i = 1; i <= 20; i++) {
        crash_do(locks_take_turns);
        crash_wait(&cw.decided, i);
        CRASH_CHECK(cw.failure.kind == AXO_FAILURE_STUCK);
        crash_ping();
        CRASH_CHECK(locks_trylock() && locks_unlock());
    }
    crash_finish();
}

static void loops_under_a_lock(void **state)
{
    if (CRASH_REPORTED)
        skip();
    crash_end end = crash_run(locks_stuck, NULL);
    crash_is_well(&end, "a loop under one");
    end = crash_run(locks_interrupted, NULL);
    crash_is_well(&end, "a loop of one");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(each_lock_counts),
    cmocka_unit_test(crashes_under_a_lock),
    cmocka_unit_test(loops_under_a_lock),
};

TEST_MAIN(tests)
