/* futex_test.c - waits that end without a reason: interrupted, spurious, too early. Nothing comes
 * early, nothing is lost, and an idle system stays idle. */
#include <dlfcn.h>
#include <errno.h>
#include <linux/futex.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fault/parts.h"

enum { FUTEX_EINTR, FUTEX_SPURIOUS, FUTEX_ETIMEDOUT, FUTEX_KINDS };

static atomic_uint futex_one_in; /* 0: all waits are the kernel's */
static atomic_uint futex_made[FUTEX_KINDS];
static atomic_uint futex_waits;
static atomic_uint futex_chance;

typedef long (*futex_syscall)(long number, ...);

/* The C library's own. */
static futex_syscall futex_kernel(void)
{
    static _Atomic(futex_syscall) real;
    futex_syscall call = atomic_load(&real);
    if (call == NULL) {
        void *found = dlsym(RTLD_NEXT, "syscall");
        memcpy((void *)&call, &found, sizeof call);
        atomic_store(&real, call);
    }
    return call;
}

/* In the place of the C library's: this one is found first. The runtime waits with WAIT_BITSET;
 * liburcu with WAIT, which may only be interrupted. */
long syscall(long number, ...)
{
    va_list list;
    long a[6];
    va_start(list, number);
    for (uint32_t i = 0; i < 6; i++)
        a[i] = va_arg(list, long);
    va_end(list);
    long op = a[1] & FUTEX_CMD_MASK;
    if (number != SYS_futex || (op != FUTEX_WAIT && op != FUTEX_WAIT_BITSET))
        return futex_kernel()(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    atomic_fetch_add(&futex_waits, 1);
    uint32_t one_in = atomic_load(&futex_one_in);
    uint32_t chance = atomic_fetch_add(&futex_chance, 2654435761U) * 40503U >> 8;
    if (one_in == 0 || chance % one_in != 0)
        return futex_kernel()(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    uint32_t kind = op == FUTEX_WAIT ? FUTEX_EINTR : (chance >> 8) % FUTEX_KINDS;
    atomic_fetch_add(&futex_made[kind], 1);
    if (kind == FUTEX_SPURIOUS)
        return 0;
    errno = kind == FUTEX_EINTR ? EINTR : ETIMEDOUT;
    return -1;
}

static void waits_that_end_without_a_reason(void **state)
{
    uint32_t workers = (uint32_t)(uintptr_t)*state;
    parts_heap heap = {0};
    parts_load load = {0};
    atomic_store(&futex_one_in, 3);
    axo_system *system = parts_start(&heap, workers);
    for (uint32_t round = 0; round < 20; round++) {
        memset((void *)&load, 0, sizeof load);
        parts_load_start(&load, system, 3, 300);
        parts_load_end(&load);
    }
    parts_finish(system, &heap);
    atomic_store(&futex_one_in, 0);
    parts_made("futex wait interrupted", atomic_load(&futex_made[FUTEX_EINTR]));
    parts_made("futex wait spurious", atomic_load(&futex_made[FUTEX_SPURIOUS]));
    parts_made("futex wait timed out early", atomic_load(&futex_made[FUTEX_ETIMEDOUT]));
}

/* Half of all waits end at once, and nothing is there to do: the threads wait again. */
static void an_idle_system_waits_again(void **state)
{
    parts_heap heap = {0};
    struct timespec pause = {.tv_nsec = 300000000};
    struct rusage before;
    struct rusage after;
    axo_system *system = parts_start(&heap, 4);
    atomic_store(&futex_one_in, 2);
    (void)nanosleep(&pause, NULL); /* what the start has left to do */
    (void)getrusage(RUSAGE_SELF, &before);
    uint32_t waits = atomic_load(&futex_waits);
    (void)nanosleep(&pause, NULL);
    waits = atomic_load(&futex_waits) - waits;
    (void)getrusage(RUSAGE_SELF, &after);
    atomic_store(&futex_one_in, 0);
    int64_t used = (after.ru_utime.tv_sec - before.ru_utime.tv_sec) * 1000000 +
                   after.ru_utime.tv_usec - before.ru_utime.tv_usec;
    assert_true(waits < 3000);
    assert_true(used < 200000);
    parts_finish(system, &heap);
}

#define FUTEX_TEST(function, n)                                                                    \
    {                                                                                              \
#function " [" #n "]", function, NULL, NULL, (void *)(uintptr_t)(n)                        \
    }

static const struct CMUnitTest tests[] = {
    FUTEX_TEST(waits_that_end_without_a_reason, 1),
    FUTEX_TEST(waits_that_end_without_a_reason, 2),
    FUTEX_TEST(waits_that_end_without_a_reason, 4),
    cmocka_unit_test(an_idle_system_waits_again),
};
TEST_MAIN(tests)
