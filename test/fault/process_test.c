/* process_test.c - what becomes of the whole process: one CPU, exit while a system runs, systems
 * started and stopped two hundred times, a clock that nobody may ask. */
#include <dlfcn.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fault/parts.h"
#include "support/slower.h"

/* ---- the wall clock: no thread of a system asks it ------------------------------------------- */

static atomic_bool process_watched;
static atomic_uint process_asked;
static atomic_uint process_monotonic;

typedef int (*process_clock)(clockid_t, struct timespec *);

/* In the place of the C library's: this one is found first. */
int clock_gettime(clockid_t clock, struct timespec *out)
{
    static _Atomic(process_clock) real;
    process_clock get = atomic_load(&real);
    if (get == NULL) {
        void *found = dlsym(RTLD_NEXT, "clock_gettime");
        memcpy((void *)&get, &found, sizeof get);
        atomic_store(&real, get);
    }
    if (atomic_load(&process_watched)) {
        atomic_fetch_add(&process_monotonic, clock == CLOCK_MONOTONIC);
        atomic_fetch_add(&process_asked, clock != CLOCK_MONOTONIC);
    }
    return get(clock, out);
}

time_t time(time_t *out)
{
    struct timespec now = {.tv_sec = 0};
    atomic_fetch_add(&process_asked, atomic_load(&process_watched));
    (void)clock_gettime(CLOCK_REALTIME, &now);
    if (out != NULL)
        *out = now.tv_sec;
    return now.tv_sec;
}

int gettimeofday(struct timeval *restrict out, void *restrict zone)
{
    struct timespec now = {.tv_sec = 0};
    atomic_fetch_add(&process_asked, atomic_load(&process_watched));
    (void)clock_gettime(CLOCK_REALTIME, &now);
    *out = (struct timeval){.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
    return 0;
}

static void nobody_asks_the_wall_clock(void **state)
{
    parts_heap heap = {0};
    parts_load load = {0};
    atomic_store(&process_watched, true);
    axo_system *system = parts_start(&heap, 2);
    parts_load_start(&load, system, 3, 500);
    parts_load_end(&load);
    parts_finish(system, &heap);
    atomic_store(&process_watched, false);
    assert_true(atomic_load(&process_monotonic) > 0); /* it is this that they ask */
    assert_int_equal(atomic_load(&process_asked), 0);
    parts_made("wall clock watched", atomic_load(&process_monotonic));
}

/* ---- one CPU --------------------------------------------------------------------------------- */

static void process_pin(const cpu_set_t *set)
{
    DIR *dir = opendir("/proc/self/task");
    assert_non_null(dir);
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        int thread = atoi(entry->d_name);
        if (thread > 0)
            (void)sched_setaffinity(thread, sizeof *set, set);
    }
    (void)closedir(dir);
}

/* Four workers on one CPU, pinned while they run; then back, and on. */
static void one_cpu_for_four_workers(void **state)
{
    cpu_set_t all;
    cpu_set_t one;
    parts_heap heap = {0};
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    for (size_t cpu = 0; CPU_COUNT(&one) == 0; cpu++) {
        if (CPU_ISSET(cpu, &all))
            CPU_SET(cpu, &one);
    }
    axo_system *system = parts_start(&heap, 4);
    for (uint32_t round = 0; round < 6; round++) {
        parts_load load = {0};
        parts_load_start(&load, system, 6, 2000);
        process_pin(round % 3 == 2 ? &all : &one);
        parts_load_end(&load);
    }
    process_pin(&all);
    parts_finish(system, &heap);
    parts_made("one CPU for all threads", 4);
}

/* ---- exit ------------------------------------------------------------------------------------ */

/* In a process of its own; this one has no other threads. */
static void process_leave(uint32_t how)
{
    parts_heap *heap = calloc(1, sizeof *heap);
    parts_load *load = calloc(1, sizeof *load);
    axo_options options = AXO_OPTIONS(.workers = 3, .seed = 3,
                                      .allocator = {parts_alloc, parts_free, heap});
    axo_system *system = NULL;
    if (axo_system_start(&options, &system) != AXO_OK)
        _exit(3);
    parts_load_start(load, system, 4, 100000);
    if (how == 1)
        (void)axo_system_shutdown(system);
    exit(0); /* handlers at exit, and all, while the workers run */
}

static void exit_while_it_runs(void **state)
{
    if (slower() > 1)
        skip(); /* memcheck takes what the threads have that run at the child's exit for lost */
    for (uint32_t i = 0; i < 20; i++) {
        int status = -1;
        (void)fflush(NULL);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            (void)alarm(30);
            process_leave(i % 2);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
    parts_made("exit while a system runs", 20);
}

/* ---- again and again ------------------------------------------------------------------------- */

static void two_hundred_lives(void **state)
{
    enum { LIVES = 200 };
    uint32_t threads = census_open();
    uint32_t files = census_descriptors();
    assert_true(threads > 0);
    for (uint32_t i = 0; i < LIVES; i++) {
        parts_heap heap = {0};
        parts_load load = {0};
        axo_system *system = parts_start(&heap, 1 + i % 4);
        if (i % 4 != 0) {
            parts_load_start(&load, system, 1, 40);
            if (i % 4 == 1)
                parts_load_end(&load);
        }
        if (i % 5 == 0) {
            axo_props props = AXO_PROPS(.cls = &parts_class, .dispatcher = i % 4);
            axo_ref ref;
            assert_int_equal(axo_system_spawn(system, &props, &ref), AXO_OK);
        }
        parts_finish(system, &heap); /* bytes and blocks */
        assert_int_equal(census_settled(threads), threads);
        assert_int_equal(census_descriptors(), files);
    }
    (void)printf("\nbar 24 is %d / 0: starts and stops; leaks and hangs\n", LIVES);
    (void)printf("bar 26 is 0: bytes, blocks, threads, descriptors left of %d systems\n", LIVES);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(exit_while_it_runs), /* first: it forks */
    cmocka_unit_test(nobody_asks_the_wall_clock),
    cmocka_unit_test(one_cpu_for_four_workers),
    cmocka_unit_test(two_hundred_lives),
};
TEST_MAIN(tests)
