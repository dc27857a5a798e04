/* rw_clock_test.c - restart windows on clocks that the test sets: conformance RW-06 and RW-18. */
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "conformance/budget.h"

#define CLOCK_SECOND INT64_C(1000000000)

/* What is added to the true wall clock; and the monotonic clock: 0 true, else it stands there. */
static _Atomic int64_t clock_wall_ns;
static _Atomic int64_t clock_stands_at_ns;

/* The test's own thread sees the true clock: its deadlines are real. */
static _Thread_local bool clock_true;

/* In place of the C library's. */
int clock_gettime(clockid_t id, struct timespec *out)
{
    int64_t stands = atomic_load(&clock_stands_at_ns);
    int64_t ns;
    if (syscall(SYS_clock_gettime, id, out) != 0)
        return -1;
    ns = (int64_t)out->tv_sec * CLOCK_SECOND + out->tv_nsec;
    if (id == CLOCK_MONOTONIC && stands != 0 && !clock_true)
        ns = stands;
    if (id == CLOCK_REALTIME)
        ns += atomic_load(&clock_wall_ns);
    out->tv_sec = (time_t)(ns / CLOCK_SECOND);
    out->tv_nsec = (long)(ns % CLOCK_SECOND);
    return 0;
}

/* Stops the monotonic clock where it is. */
static void clock_stop(void)
{
    struct timespec now;
    clock_true = true;
    assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &now), 0);
    atomic_store(&clock_stands_at_ns, (int64_t)now.tv_sec * CLOCK_SECOND + now.tv_nsec);
}

static void clock_move(int64_t ns)
{
    (void)atomic_fetch_add(&clock_stands_at_ns, ns);
}

static int clock_teardown(void **state)
{
    atomic_store(&clock_stands_at_ns, 0);
    atomic_store(&clock_wall_ns, 0);
    return kit_teardown(state);
}

/* A failure exactly at the window's end is inside it, one a nanosecond later opens the next. */
static void RW_06(void **state)
{
    kit *k = kit_start(state, NULL);
    kit_script *p =
        budget_parent(k, "p", (budget){.retries = 1, .within_ns = BUDGET_HOUR_NS});
    kit_script *a = kit_child(k, p, "a");
    kit_script *b = kit_child(k, p, "b");
    kit_script *c = kit_child(k, p, "c");
    clock_stop();
    budget_crash(k, a, 1, true);
    budget_crash(k, b, 1, true);
    budget_crash(k, c, 1, true);
    clock_move(BUDGET_HOUR_NS - 1);
    budget_crash(k, c, 2, false);
    clock_move(1);
    budget_crash(k, a, 2, false);
    clock_move(1);
    budget_crash(k, b, 2, true);
    /* The new window began there, and is as long. */
    clock_move(BUDGET_HOUR_NS);
    budget_crash(k, b, 3, false);
    kit_finish(k);
}

/* The wall clock may jump: windows do not follow it. */
static void RW_18(void **state)
{
    kit *k = kit_start(state, NULL);
    kit_script *p =
        budget_parent(k, "p", (budget){.retries = 2, .within_ns = BUDGET_HOUR_NS});
    kit_script *q = budget_parent(
        k, "q",
        (budget){.retries = 2, .within_ns = BUDGET_HOUR_NS, .window = AXO_WINDOW_SLIDING});
    kit_script *a = kit_child(k, p, "a");
    kit_script *b = kit_child(k, q, "b");
    clock_stop();
    for (uint32_t i = 1; i <= 3; i++) {
        budget_crash(k, a, i, i <= 2);
        budget_crash(k, b, i, i <= 2);
        atomic_store(&clock_wall_ns, (int64_t)i * 24 * BUDGET_HOUR_NS);
    }
    /* Nor does it stand still when the wall clock goes back. */
    kit_script *c = kit_child(k, p, "c");
    budget_crash(k, c, 1, true);
    budget_crash(k, c, 2, true);
    atomic_store(&clock_wall_ns, -24 * BUDGET_HOUR_NS);
    clock_move(BUDGET_HOUR_NS + 1);
    budget_crash(k, c, 3, true);
    kit_finish(k);
}

#define CLOCK_TEST(id, function, n, text)                                                          \
    {                                                                                              \
        id " [" #n " " text "]", function, NULL, clock_teardown, (void *)(uintptr_t)(n)            \
    }
#define CLOCK_TESTS(id, function)                                                                  \
    CLOCK_TEST(id, function, 1, "worker"), CLOCK_TEST(id, function, 2, "workers"),                 \
        CLOCK_TEST(id, function, 4, "workers")

static const struct CMUnitTest tests[] = {
    CLOCK_TESTS("RW-06", RW_06),
    CLOCK_TESTS("RW-18", RW_18),
};

TEST_MAIN(tests)
