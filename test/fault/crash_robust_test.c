/* crash_robust_test.c - a robust mutex that is held: a crash under it ends the process, so that the
 * next to lock it, in another process too, is told; a callback that runs for too long is not
 * interrupted there. What has been given back, or others hold, is no matter.
 */
#include <errno.h>

#include "fault/stuck.h"

static char *volatile robust_null;

enum { ROBUST_FIRST, ROBUST_SECOND, ROBUST_INHERITS, ROBUST_PLAIN, ROBUST_COUNT };

/* In memory that outlives the process. */
static pthread_mutex_t *robust_mutexes;

static void robust_make(void)
{
    robust_mutexes = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(robust_mutexes != MAP_FAILED);
    for (int i = 0; i < ROBUST_COUNT; i++) {
        pthread_mutexattr_t attr;
        assert_int_equal(pthread_mutexattr_init(&attr), 0);
        assert_int_equal(pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED), 0);
        if (i != ROBUST_PLAIN)
            assert_int_equal(pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST), 0);
        if (i == ROBUST_INHERITS)
            assert_int_equal(pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT), 0);
        assert_int_equal(pthread_mutex_init(&robust_mutexes[i], &attr), 0);
        (void)pthread_mutexattr_destroy(&attr);
    }
}

static void robust_unmake(void)
{
    (void)munmap(robust_mutexes, 4096);
}

static void robust_lock(int i)
{
    CRASH_CHECK(pthread_mutex_lock(&robust_mutexes[i]) == 0);
}

static void robust_unlock(int i)
{
    CRASH_CHECK(pthread_mutex_unlock(&robust_mutexes[i]) == 0);
}

static void robust_crash(void)
{
    robust_null[16] = 1;
}

/* ---- crashes -------------------------------------------------------------------------------- */

static void robust_held(axo_ctx *ctx)
{
    robust_lock(ROBUST_FIRST);
    robust_crash();
}

static void robust_one_of_two(axo_ctx *ctx)
{
    robust_lock(ROBUST_SECOND);
    robust_lock(ROBUST_FIRST);
    robust_unlock(ROBUST_SECOND);
    robust_crash();
}

static void robust_inherits(axo_ctx *ctx)
{
    robust_lock(ROBUST_INHERITS);
    robust_crash();
}

/* Given back, and one that nobody can see. */
static void robust_given_back(axo_ctx *ctx)
{
    robust_lock(ROBUST_FIRST);
    robust_lock(ROBUST_INHERITS);
    robust_unlock(ROBUST_INHERITS);
    robust_unlock(ROBUST_FIRST);
    (void)pthread_mutex_trylock(&robust_mutexes[ROBUST_PLAIN]);
    robust_crash();
}

static void robust_others(axo_ctx *ctx)
{
    CRASH_CHECK(pthread_mutex_trylock(&robust_mutexes[ROBUST_SECOND]) == EBUSY);
    robust_crash();
}

typedef struct robust_row {
    const char *name;
    crash_fn fn;
    int held; /* by whom it is refused; ROBUST_COUNT: it is contained */
} robust_row;

static const robust_row robust_rows[] = {
    {"one that is held", robust_held, ROBUST_FIRST},
    {"the second of two", robust_one_of_two, ROBUST_FIRST},
    {"one with a priority", robust_inherits, ROBUST_INHERITS},
    {"one that was given back", robust_given_back, ROBUST_COUNT},
    {"another thread's", robust_others, ROBUST_COUNT},
};

static void robust_run(const void *arg)
{
    const robust_row *row = arg;
    if (row->fn == robust_others)
        robust_lock(ROBUST_SECOND);
    crash_start((axo_options){.workers = 1});
    crash_do(row->fn);
    crash_ping();
    CRASH_CHECK(atomic_load(&cw.instance) == 2 && axo_system_crashes(cw.system, NULL, 0) == 1);
    crash_do(row->fn); /* and again */
    crash_ping();
    CRASH_CHECK(atomic_load(&cw.instance) == 3);
    crash_finish();
}

static void crashes_under_a_mutex(void **state)
{
    if (CRASH_REPORTED)
        skip();
    for (size_t i = 0; i < sizeof robust_rows / sizeof robust_rows[0]; i++) {
        const robust_row *row = &robust_rows[i];
        robust_make();
        crash_end end = crash_run(robust_run, row);
        if (row->held == ROBUST_COUNT) {
            crash_is_well(&end, row->name);
        } else {
            crash_is_dead(&end, row->name, SIGSEGV,
                          "axo: SIGSEGV at 0x10 is not contained: a robust mutex is held; actor");
            assert_int_equal(pthread_mutex_lock(&robust_mutexes[row->held]), EOWNERDEAD);
        }
        robust_unmake();
    }
}

/* ---- callbacks that run for too long -------------------------------------------------------- */

static atomic_bool robust_free;

static void robust_loop(axo_ctx *ctx)
{
    robust_lock(ROBUST_FIRST); /* before the watchdog may have come, so at once */
    const int64_t now = parts_now();
    const int64_t until = now + 200 * PARTS_MS;
    const int64_t late = now + 10 * PARTS_S; /* a busy machine reports it later */
    while (parts_now() < (atomic_load(&cw.reported) > 0 ? until : late))
        stuck_sink++;
    robust_unlock(ROBUST_FIRST);
    atomic_store(&robust_free, true);
    stuck_spin(NULL);
}

static void robust_stuck(const void *arg)
{
    crash_start(stuck_options());
    crash_do(robust_loop);
    crash_wait(&cw.decided, 1);
    CRASH_CHECK(cw.failure.kind == AXO_FAILURE_STUCK && atomic_load(&robust_free));
    if (strstr(cw.reason, "; not interrupted: a robust mutex is held") == NULL) {
        (void)dprintf(crash_fd, "%s\n", cw.reason);
        CRASH_CHECK(false);
    }
    CRASH_CHECK(pthread_mutex_trylock(&robust_mutexes[ROBUST_FIRST]) == 0);
    crash_ping();
    crash_finish();
}

static void a_loop_under_a_mutex(void **state)
{
    if (CRASH_REPORTED)
        skip();
    robust_make();
    crash_end end = crash_run(robust_stuck, NULL);
    crash_is_well(&end, "a loop");
    robust_unmake();
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(crashes_under_a_mutex),
    cmocka_unit_test(a_loop_under_a_mutex),
};

TEST_MAIN(tests)
