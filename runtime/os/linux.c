/* linux.c - the port on Linux: parking on CK's event count over futexes, CPUs, entropy.
 *
 * ck_ec64 in its multi-producer mode only (the single-producer mode leans on timed polling). The
 * count is 63 bits over a flag; the futex sleeps on the low half. ck_ec waits in growing steps,
 * which the single-producer mode needs: the wait function below takes the caller's deadline in the
 * place of each, so that a sleeper neither polls nor oversleeps, and one without a deadline has no
 * timer.
 */
#include <ck_ec.h>
#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/config.h"
#include "base/random.h"
#include "os/file.h"
#include "os/os.h"

#define LINUX_SECOND INT64_C(1000000000)

/* glibc registers each thread's restartable sequences from 2.35 on. */
#if defined(__x86_64__) && defined(__GNUC__) && __GNUC__ >= 11 && defined(__GLIBC_PREREQ)
#if __GLIBC_PREREQ(2, 35)
#include <sys/rseq.h>
#define LINUX_RSEQ 1
#endif
#endif
#ifndef LINUX_RSEQ
#define LINUX_RSEQ 0
#endif

AXO_STATIC_ASSERT(sizeof(struct ck_ec64) == sizeof(axo__os_parker), "the parker is a ck_ec64");

/* ck_ec asks for the time through this: the port's clock, so deadlines mean the same everywhere. */
static int linux_ec_now(const struct ck_ec_ops *ops, struct timespec *out)
{
    (void)ops;
    int64_t now = axo__os_now();
    out->tv_sec = (time_t)(now / LINUX_SECOND);
    out->tv_nsec = (long)(now % LINUX_SECOND);
    return 0;
}

/* FUTEX_WAIT_BITSET takes an absolute time of CLOCK_MONOTONIC, where a plain wait takes a span that
 * would have to be computed anew after each signal. */
static void linux_futex_wait(const void *address, uint32_t expected, const struct timespec *until)
{
    (void)syscall(SYS_futex, address, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, expected, until,
                  NULL, FUTEX_BITSET_MATCH_ANY);
}

static void linux_ec_wait32(const struct ck_ec_wait_state *state, const uint32_t *address,
                            uint32_t expected, const struct timespec *until)
{
    (void)state;
    linux_futex_wait(address, expected, until);
}

static void linux_ec_wait64(const struct ck_ec_wait_state *state, const uint64_t *address,
                            uint64_t expected, const struct timespec *until)
{
    (void)until; /* the step's end; the caller's deadline travels in state->data */
    linux_futex_wait(address, (uint32_t)expected, state->data);
}

/* ck_ec's predicate: nothing but the count and the deadline ends the wait. */
static int linux_ec_go_on(const struct ck_ec_wait_state *state, struct timespec *until)
{
    (void)state;
    (void)until;
    return 0;
}

static void linux_ec_wake32(const struct ck_ec_ops *ops, const uint32_t *address)
{
    (void)ops;
    (void)syscall(SYS_futex, address, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, INT32_MAX, NULL, NULL, 0);
}

static void linux_ec_wake64(const struct ck_ec_ops *ops, const uint64_t *address)
{
    (void)ops;
    (void)syscall(SYS_futex, address, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, INT32_MAX, NULL, NULL, 0);
}

static const struct ck_ec_ops linux_ec_ops = {
    .gettime = linux_ec_now,
    .wait32 = linux_ec_wait32,
    .wait64 = linux_ec_wait64,
    .wake32 = linux_ec_wake32,
    .wake64 = linux_ec_wake64,
    .busy_loop_iter = 16,
    .initial_wait_ns = UINT32_MAX,
};
static const struct ck_ec_mode linux_ec_mode = {.ops = &linux_ec_ops, .single_producer = false};

void axo__os_parker_init(axo__os_parker *parker)
{
    ck_ec64_init((struct ck_ec64 *)(void *)parker, 0);
}

uint64_t axo__os_parker_ticket(axo__os_parker *parker)
{
    return ck_ec64_value((struct ck_ec64 *)(void *)parker);
}

/* On aarch64 ck_ec64_inc of Concurrency Kit 0.7.1 is no release: its `dmb ishst`, of
 * ck_pr_fence_store_atomic, and the `ldxr`, `stxr` of ck_pr_faa_64 order what the waker has
 * written, and not what it has read. The rest of ck_ec64 is right there: ck_ec64_value and what
 * ends a wait by the count have `dmb ish`, and that a waker sees the flag or the sleeper the count
 * is one word's own order. */
static void linux_ec_inc(struct ck_ec64 *ec)
{
#if AXO__CK_RIGHT
    ck_ec64_inc(ec, &linux_ec_mode);
#else
    uint64_t old = axo__a64_add_acq_rel((axo__a64 *)(void *)&ec->counter, 2); /* [P1] */
    if ((old & 1) != 0) /* somebody sleeps */
        ck_ec64_wake(ec, &linux_ec_ops);
#endif
}

void axo__os_parker_wake(axo__os_parker *parker)
{
    /* Pairs with AXO_TSAN_ACQUIRE in axo__os_parker_wait: the atomic increment inside CK orders
     * what the waker wrote before the sleeper's next look. */
    AXO_TSAN_RELEASE(parker);
    linux_ec_inc((struct ck_ec64 *)(void *)parker);
}

void axo__os_parker_wait(axo__os_parker *parker, uint64_t ticket, int64_t deadline)
{
    struct timespec until = {.tv_sec = (time_t)(deadline / LINUX_SECOND),
                             .tv_nsec = (long)(deadline % LINUX_SECOND)};
    struct timespec *limit = deadline == AXO__NEVER ? NULL : &until;
    (void)ck_ec64_wait_pred((struct ck_ec64 *)(void *)parker, &linux_ec_mode, ticket,
                            linux_ec_go_on, limit, limit);
    axo__plain_load_acquire(); /* [P1]; CK has none where the deadline ends the wait */
    AXO_TSAN_ACQUIRE(parker);
}

/* The first two numbers of a file such as cgroup's cpu.max; false if the file or a number is
 * missing ("max"). */
static bool linux_read_pair(const char *path, int64_t *first, int64_t *second)
{
    char text[64];
    char *end;
    char *start = text;
    if (!axo__os_file_text(path, text, sizeof text))
        return false;
    *first = strtoll(start, &end, 10);
    if (end == start)
        return false;
    start = end;
    *second = strtoll(start, &end, 10);
    return end != start;
}

uint32_t axo__os_cpus(void)
{
    cpu_set_t set;
    uint32_t cpus = 1;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        cpus = (uint32_t)CPU_COUNT(&set);
    int64_t quota = 0;
    int64_t period = 0;
    if (linux_read_pair("/sys/fs/cgroup/cpu.max", &quota, &period) && quota > 0 && period > 0) {
        /* A container's quota is rounded up: half a CPU still needs a worker. */
        int64_t allowed = (quota + period - 1) / period;
        if (allowed < (int64_t)cpus)
            cpus = (uint32_t)allowed;
    }
    return cpus > 0 ? cpus : 1;
}

/* The kernel keeps the number in the thread's memory, where sched_getcpu looks too: that it is read
 * here spares a foreign send the call. Where the kernel does not (gVisor, valgrind) the number is
 * the same for all threads, which only begin at one door then. */
uint32_t axo__os_cpu_index(void)
{
#if LINUX_RSEQ
    const struct rseq *area =
        (const void *)((const char *)__builtin_thread_pointer() + __rseq_offset);
    return area->cpu_id; /* an old one is as good */
#else
    return (uint32_t)sched_getcpu();
#endif
}

/* For a kernel or a sandbox without getrandom: random bytes that the kernel gave the process at its
 * start, which no other process knows, hashed with the time, which differs at each call. */
static uint64_t linux_entropy_of_start(void)
{
    uint64_t key[2] = {0, 0};
    unsigned long start = getauxval(AT_RANDOM);
    if (start != 0)
        memcpy(key, (const void *)start, sizeof key); /* 16 bytes */
    return axo__random_hash(key, (uint64_t)axo__os_now());
}

uint64_t axo__os_entropy(void)
{
    uint64_t bits = 0;
    ssize_t got;
    int before = axo__os_cancel_hold();
    do
        /* getrandom returns so few bytes whole or not at all */
        got = getrandom(&bits, sizeof bits, 0);
    while (got < 0 && errno == EINTR);
    axo__os_cancel_let(before);
    return got == (ssize_t)sizeof bits ? bits : linux_entropy_of_start();
}

bool axo__os_event_init(axo__os_event *event)
{
    event->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return event->fd >= 0;
}

void axo__os_event_fini(axo__os_event *event)
{
    int before = axo__os_cancel_hold();
    (void)close(event->fd);
    axo__os_cancel_let(before);
    event->fd = -1;
}

void axo__os_event_set(const axo__os_event *event)
{
    int before = axo__os_cancel_hold();
    (void)eventfd_write(event->fd, 1);
    axo__os_cancel_let(before);
}

void axo__os_event_clear(const axo__os_event *event)
{
    eventfd_t count;
    int before = axo__os_cancel_hold();
    (void)eventfd_read(event->fd, &count);
    axo__os_cancel_let(before);
}

/* A page that fork wipes in the child: the word reads AXO__HOME_FORKED there, without a system call
 * in any door. On a kernel without MADV_WIPEONFORK a child is not recognised. */
bool axo__os_home_init(axo__os_home *home)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint32_t *word = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    home->word = NULL;
    if (word == MAP_FAILED)
        return false;
    (void)madvise(word, page, MADV_WIPEONFORK);
    *word = AXO__HOME_HERE;
    home->word = word;
    return true;
}

void axo__os_home_fini(axo__os_home *home)
{
    /* The page is given back; a later call on the destroyed system still reads a word that says
     * so. */
    static const uint32_t gone = AXO__HOME_GONE;
    (void)munmap((void *)(uintptr_t)home->word, (size_t)sysconf(_SC_PAGESIZE));
    home->word = &gone;
}

static size_t linux_pages(size_t size, size_t page)
{
    return (size + page - 1) / page * page;
}

void *axo__os_stack_alloc(size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t whole = page + linux_pages(size, page);
    char *memory = mmap(NULL, whole, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    if (mprotect(memory, page, PROT_NONE) == 0)
        return memory + page;
    (void)munmap(memory, whole);
    return NULL;
}

void axo__os_stack_free(void *stack, size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    (void)munmap((char *)stack - page, page + linux_pages(size, page));
}
