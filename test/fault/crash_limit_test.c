/* crash_limit_test.c - crashes at the limits: the end of a stack, a construct that never succeeds,
 * ten thousand at once, and no memory for a handler's stack.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "fault/crash.h"

static char *volatile limit_null;

static void limit_now(axo_ctx *ctx)
{
    limit_null[16] = 1;
}

/* ---- the end of a stack --------------------------------------------------------------------- */

enum { LIMIT_GUARD = 1 << 20, LIMIT_NEAR = 8192 };

static volatile uint64_t limit_sink;
static uintptr_t limit_low;  /* the last address of the stack that is one */
static size_t limit_guard;   /* bytes below it that nothing may touch */
static uint32_t limit_frame; /* of the function that oversteps it */

static void limit_measure(void)
{
    pthread_attr_t attr;
    void *low;
    size_t size;
    CRASH_CHECK(pthread_getattr_np(pthread_self(), &attr) == 0);
    CRASH_CHECK(pthread_attr_getstack(&attr, &low, &size) == 0);
    CRASH_CHECK(pthread_attr_getguardsize(&attr, &limit_guard) == 0);
    (void)pthread_attr_destroy(&attr);
    limit_low = (uintptr_t)low;
}

/* The first that a function writes of a frame so large: its other end. */
static __attribute__((noinline)) void limit_step_over(uintptr_t here)
{
    *(volatile char *)(here - limit_frame) = 1;
    limit_sink++;
}

static __attribute__((noinline)) void limit_down(void)
{
    volatile char room[1000];
    const uintptr_t here = (uintptr_t)&room[0];
    room[0] = 1;
    if (here > limit_low + LIMIT_NEAR)
        limit_down();
    else
        limit_step_over(here);
    limit_sink += (uint64_t)room[0];
}

static void limit_overstep(axo_ctx *ctx)
{
    limit_measure();
    limit_down();
}

static void limit_stack(const void *arg)
{
    axo_props props = AXO_PROPS(.cls = &crash_class, .dispatcher = *(const uint32_t *)arg);
    crash_start((axo_options){.workers = 1});
    CRASH_CHECK(axo_system_spawn(cw.system, &props, &cw.actor) == AXO_OK);
    for (limit_frame = 65536; limit_frame < LIMIT_GUARD; limit_frame += 65536) {
        uint32_t before = atomic_load(&cw.decided);
        crash_do(limit_overstep);
        crash_ping();
        CRASH_CHECK(atomic_load(&cw.decided) == before + 1);
        CRASH_CHECK(cw.crash.signal == SIGSEGV && cw.crash.access == AXO_CRASH_WRITE);
        CRASH_CHECK(limit_guard >= LIMIT_GUARD);
        CRASH_CHECK(cw.crash.address < limit_low && cw.crash.address >= limit_low - LIMIT_GUARD);
        CRASH_CHECK(cw.crash.address <= limit_low + LIMIT_NEAR - limit_frame);
    }
    crash_finish();
}

static void limit_ask(axo_ctx *ctx)
{
    limit_measure();
}

/* Where nothing is contained, threads are as the operating system has them. */
static void limit_plain(const void *arg)
{
    axo_options options = AXO_OPTIONS(.workers = 1);
    CRASH_CHECK(axo_system_start(&options, &cw.system) == AXO_OK);
    crash_spawn(&crash_class, &cw.actor);
    crash_do(limit_ask);
    crash_ping();
    CRASH_CHECK(limit_guard > 0 && limit_guard < LIMIT_GUARD);
    crash_finish();
}

static void large_frames(void **state)
{
    if (CRASH_REPORTED)
        skip();
    static const uint32_t dispatchers[] = {AXO_DISPATCH_DEFAULT, AXO_DISPATCH_PINNED,
                                           AXO_DISPATCH_BLOCKING};
    for (int i = 0; i < 3; i++) {
        crash_end end = crash_run(limit_stack, &dispatchers[i]);
        crash_is_well(&end, "large frames");
    }
    crash_end end = crash_run(limit_plain, NULL);
    crash_is_well(&end, "threads without containment");
}

/* ---- a construct that never succeeds -------------------------------------------------------- */

static void limit_count(axo_ctx *ctx)
{
    (void)!write(STDERR_FILENO, ".", 1);
    limit_now(ctx);
}

/* It is made again and again, for as long as the budget lasts. */
static void limit_unborn(const void *arg)
{
    cw.answer = AXO_RESTART;
    cw.hook[AXO_SITE_CONSTRUCT] = limit_count;
    crash_start((axo_options){.workers = 1, .crashes_max = 20});
    crash_wait(&cw.pings, 1);
}

static axo_directive limit_restart(axo_ctx *ctx, void *state, const axo_failure *failure,
                                   void *user)
{
    atomic_fetch_add(&cw.decided, 1);
    return AXO_RESTART;
}

static void limit_mother(axo_ctx *ctx)
{
    axo_props props = AXO_PROPS(.cls = &crash_class);
    axo_ref child;
    cw.hook[AXO_SITE_CONSTRUCT] = limit_now;
    CRASH_CHECK(axo_spawn(ctx, &props, &child) == AXO_OK);
}

/* A bound of the strategy's ends it before the budget is spent, and others go on. */
static void limit_bounded(const void *arg)
{
    static const axo_strategy strategy =
        AXO_STRATEGY(.decider = limit_restart, .retries_max = 5, .limited = 1,
                     .within_ns = 60 * PARTS_S);
    axo_props props = AXO_PROPS(.cls = &crash_class, .name = "mother", .strategy = &strategy);
    crash_start((axo_options){.workers = 1, .crashes_max = 20});
    CRASH_CHECK(axo_system_spawn(cw.system, &props, &cw.actor) == AXO_OK);
    crash_ping();
    crash_do(limit_mother);
    crash_wait(&cw.decided, 6);
    crash_ping();
    CRASH_CHECK(axo_system_crashes(cw.system, NULL, 0) == 6);
    CRASH_CHECK(atomic_load(&cw.decided) == 6 && atomic_load(&cw.instance) == 1);
    crash_finish();
}

static void a_construct_that_never_succeeds(void **state)
{
    if (CRASH_REPORTED)
        skip();
    crash_end end = crash_run(limit_unborn, NULL);
    crash_is_dead(&end, "a construct", SIGSEGV,
                  ".axo: SIGSEGV at 0x10 is not contained: the crash budget is spent; actor it");
    assert_true(strspn(end.text, ".") == 21);
    end = crash_run(limit_bounded, NULL);
    crash_is_well(&end, "a bound of restarts");
}

/* ---- ten thousand at once ------------------------------------------------------------------- */

enum { LIMIT_CROWD = 10000 };

static axo_ref limit_refs[LIMIT_CROWD];

static void limit_storm(const void *arg)
{
    crash_fn fn = limit_now;
    crash_start((axo_options){.workers = 2, .crashes_max = 65536});
    for (uint32_t i = 0; i < LIMIT_CROWD; i++) {
        axo_props props = AXO_PROPS(.cls = &crash_class);
        CRASH_CHECK(axo_system_spawn(cw.system, &props, &limit_refs[i]) == AXO_OK);
    }
    crash_wait(&cw.calls[AXO_SITE_PRE_START], LIMIT_CROWD + 1);
    CRASH_CHECK(axo_system_send_many(cw.system, limit_refs, LIMIT_CROWD, CRASH_DO, &fn, sizeof fn,
                                     NULL) == AXO_OK);
    for (uint32_t i = 0; i < LIMIT_CROWD; i++)
        CRASH_CHECK(axo_system_send(cw.system, limit_refs[i], CRASH_PING, NULL, 0) == AXO_OK);
    crash_wait(&cw.pings, LIMIT_CROWD);
    CRASH_CHECK(atomic_load(&cw.decided) == LIMIT_CROWD);
    CRASH_CHECK(atomic_load(&cw.instance) == 2);
    CRASH_CHECK(axo_system_crashes(cw.system, NULL, 0) == LIMIT_CROWD);
    CRASH_CHECK(atomic_load(&cw.calls[AXO_SITE_CONSTRUCT]) == 2 * LIMIT_CROWD + 1);
    CRASH_CHECK(atomic_load(&cw.calls[CRASH_PRE_RESTART]) == 0);
    crash_finish();
}

static void ten_thousand_at_once(void **state)
{
    if (CRASH_REPORTED)
        skip();
    crash_end end = crash_run(limit_storm, NULL);
    crash_is_well(&end, "ten thousand");
}

/* ---- no memory for a handler's stack -------------------------------------------------------- */

/* Only the library maps a stack that can be written from the beginning, and takes a page's rights
 * away before it has a thread. From here on the kernel refuses the one, or the other. */
static void limit_refuse(bool guards)
{
    struct sock_filter maps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 5),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PROT_READ | PROT_WRITE, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[3])),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, MAP_STACK, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOMEM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_filter rights[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PROT_NONE, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOMEM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {.len = sizeof maps / sizeof maps[0], .filter = maps};
    if (guards)
        filter = (struct sock_fprog){.len = sizeof rights / sizeof rights[0], .filter = rights};
    CRASH_CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CRASH_CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0);
}

static const int limit_numbers[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGURG};

static void limit_before(int number, siginfo_t *info, void *context)
{
}

static void limit_is_unchanged(void)
{
    struct sigaction now;
    for (size_t i = 0; i < sizeof limit_numbers / sizeof limit_numbers[0]; i++) {
        CRASH_CHECK(sigaction(limit_numbers[i], NULL, &now) == 0);
        CRASH_CHECK(now.sa_sigaction == limit_before);
    }
    CRASH_CHECK(atomic_load(&cw.heap.blocks) == 0 && atomic_load(&cw.heap.bytes) == 0);
    CRASH_CHECK(census_threads() == 1);
}

/* A start fails, and changes nothing; one that contains nothing needs no such stack. */
static void limit_start(const void *arg)
{
    axo_options options = AXO_OPTIONS(
        .workers = 2, .contain = 1,
        .allocator = {.alloc = parts_alloc, .free = parts_free, .user = &cw.heap});
    for (size_t i = 0; i < sizeof limit_numbers / sizeof limit_numbers[0]; i++)
        crash_handler(limit_numbers[i], limit_before);
    limit_refuse(*(const bool *)arg);
    for (int i = 0; i < 3; i++) {
        cw.system = (axo_system *)(void *)&cw;
        CRASH_CHECK(axo_system_start(&options, &cw.system) == AXO_ENOMEM);
        CRASH_CHECK(cw.system == NULL);
        limit_is_unchanged();
    }
    options.contain = 0;
    options.manual = AXO_MANUAL_ALL; /* glibc's own stacks need rights, too */
    CRASH_CHECK(axo_system_start(&options, &cw.system) == AXO_OK);
    CRASH_CHECK(axo_system_stop(cw.system, -1, NULL, 0, NULL) == AXO_OK);
    CRASH_CHECK(axo_system_destroy(cw.system) == AXO_OK);
    limit_is_unchanged();
}

/* A pinned actor's thread, in a system that runs. */
static void limit_later(const void *arg)
{
    axo_props props = AXO_PROPS(.cls = &crash_class, .dispatcher = AXO_DISPATCH_PINNED);
    axo_ref pinned;
    crash_start((axo_options){.workers = 1});
    crash_ping();
    long long blocks = atomic_load(&cw.heap.blocks);
    uint32_t threads = census_threads();
    limit_refuse(*(const bool *)arg);
    for (int i = 0; i < 3; i++) {
        pinned = cw.actor;
        CRASH_CHECK(axo_system_spawn(cw.system, &props, &pinned) == AXO_ENOMEM);
        CRASH_CHECK(axo_ref_equal(pinned, axo_ref_none()));
        CRASH_CHECK(i == 0 || atomic_load(&cw.heap.blocks) == blocks);
        CRASH_CHECK(census_threads() == threads);
        blocks = atomic_load(&cw.heap.blocks);
    }
    crash_do(limit_now); /* the others are contained as before */
    crash_ping();
    CRASH_CHECK(atomic_load(&cw.instance) == 2);
    crash_finish();
}

static void no_stack_for_a_handler(void **state)
{
    static const bool guards[] = {false, true};
    if (CRASH_REPORTED)
        skip();
    for (int i = 0; i < 2; i++) {
        crash_end end = crash_run(limit_start, &guards[i]);
        crash_is_well(&end, guards[i] ? "a start without a guard page" : "a start without a stack");
        end = crash_run(limit_later, &guards[i]);
        crash_is_well(&end, guards[i] ? "a spawn without a guard page" : "a spawn without a stack");
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(large_frames),
    cmocka_unit_test(a_construct_that_never_succeeds),
    cmocka_unit_test(ten_thousand_at_once),
    cmocka_unit_test(no_stack_for_a_handler),
};

TEST_MAIN(tests)
