/* crash_depth_test.c - what lies between the instruction that crashed and the callback, and what a
 * landing puts back: allocators below qsort and assert, handlers of the program's, blocked signals,
 * floating point.
 */
#include <assert.h>
#include <fenv.h>
#include <malloc.h>

#include "fault/crash.h"

static char *volatile depth_null;

static void depth_now(axo_ctx *ctx)
{
    depth_null[16] = 1;
}

/* ---- below functions that hold nothing ------------------------------------------------------ */

enum { DEPTH_ITEMS = 8192, DEPTH_BROKEN = 65536 };

static int depth_items[DEPTH_ITEMS];

/* What comes next from the arena's end is found to be impossible. */
static void depth_break_heap(void)
{
    char *last = malloc(DEPTH_BROKEN);
    CRASH_CHECK(last != NULL);
    memset(last + malloc_usable_size(last), 0xff, 8);
}

static int depth_compare(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static int depth_compare_null(const void *a, const void *b)
{
    depth_null[16] = 1;
    return 0;
}

static void depth_sort(axo_ctx *ctx)
{
    depth_break_heap();
    qsort(depth_items, DEPTH_ITEMS, sizeof depth_items[0], depth_compare);
}

static void depth_compare_crashes(axo_ctx *ctx)
{
    qsort(depth_items, DEPTH_ITEMS, sizeof depth_items[0], depth_compare_null);
}

/* The text of it is longer than anything that lies free. */
static void depth_assert(axo_ctx *ctx)
{
    static char words[DEPTH_BROKEN];
    depth_break_heap();
    memset(words, 'x', sizeof words - 1);
    __assert_fail(words, "file", 1, "depth_assert");
}

static void depth_assert_sound(axo_ctx *ctx)
{
    __assert_fail("sound", "file", 1, "depth_assert_sound");
}

static void depth_assert_of_nothing(axo_ctx *ctx)
{
    __assert_fail((const char *)16, "file", 1, "depth_assert_of_nothing");
}

/* ---- in a handler of the program's ---------------------------------------------------------- */

static void depth_handler(int number, siginfo_t *info, void *context)
{
    depth_null[16] = 1;
}

static void depth_in_a_handler(axo_ctx *ctx)
{
    sigset_t it;
    sigemptyset(&it);
    sigaddset(&it, SIGUSR1);
    CRASH_CHECK(pthread_sigmask(SIG_UNBLOCK, &it, NULL) == 0);
    crash_handler(SIGUSR1, depth_handler);
    (void)raise(SIGUSR1);
}

/* ---- in a child that has the parent's memory ------------------------------------------------ */

/* The child ends by its crash, and the actor goes on: nothing is contained twice. */
static void depth_vfork(axo_ctx *ctx)
{
    int status = 0;
    pid_t child = vfork();
    if (child == 0) {
        depth_null[16] = 1;
        _exit(0);
    }
    CRASH_CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CRASH_CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    depth_null[16] = 1;
}

/* ---- each, and what is said of it ----------------------------------------------------------- */

typedef struct depth_row {
    const char *name;
    crash_fn fn;
    int ends;        /* the signal that ends the process; 0: it is contained */
    const char *why;
} depth_row;

static void depth_run(const void *arg)
{
    const depth_row *row = arg;
    crash_plain_heap = true;
    crash_start((axo_options){.workers = 1});
    crash_do(row->fn);
    crash_ping();
    CRASH_CHECK(atomic_load(&cw.decided) == 1 && atomic_load(&cw.instance) == 2);
    crash_finish();
}

static void what_lies_between(void **state)
{
    static const char library[] = "is not contained: in a function of libc";
    static const depth_row rows[] = {
        {"a comparison", depth_compare_crashes, 0, NULL},
        {"an assertion", depth_assert_sound, 0, NULL},
        {"behind a child of vfork", depth_vfork, 0, NULL},
        {"malloc below qsort", depth_sort, SIGABRT, library},
        {"malloc below assert", depth_assert, SIGABRT, library},
        {"what assert prints", depth_assert_of_nothing, SIGSEGV, library},
        {"a handler of the program's", depth_in_a_handler, SIGSEGV, library},
    };
    if (CRASH_REPORTED)
        return;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        crash_end end = crash_run(depth_run, &rows[i]);
        if (rows[i].ends == 0)
            crash_is_well(&end, rows[i].name);
        else
            crash_is_dead(&end, rows[i].name, rows[i].ends, rows[i].why);
    }
}

/* ---- handlers after ours and before --------------------------------------------------------- */

static struct sigaction depth_ours;

static void depth_pass(int number, siginfo_t *info, void *context)
{
    depth_ours.sa_sigaction(number, info, context);
}

/* A reporter that blocks what it handles, and all others, until it returns. */
static void depth_blocking(const void *arg)
{
    struct sigaction action = {.sa_sigaction = depth_pass, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    (void)sigfillset(&action.sa_mask);
    crash_start((axo_options){.workers = 1});
    CRASH_CHECK(sigaction(SIGSEGV, NULL, &depth_ours) == 0);
    CRASH_CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
    for (unsigned i = 1; i <= 3; i++) {
        crash_do(depth_now);
        crash_ping();
        CRASH_CHECK(atomic_load(&cw.decided) == i);
    }
    CRASH_CHECK(sigaction(SIGSEGV, &depth_ours, NULL) == 0);
    crash_finish();
}

static void depth_once(int number)
{
    (void)!write(STDERR_FILENO, "once\n", 5);
}

static void depth_guarded(axo_ctx *ctx)
{
    axo_guard_begin(ctx);
    depth_null[16] = 1;
}

/* A handler before that is there for one time, and expects the second to be the end. */
static void depth_reset(const void *arg)
{
    struct sigaction action = {.sa_handler = depth_once, .sa_flags = (int)SA_RESETHAND};
    CRASH_CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
    crash_start((axo_options){.workers = 1});
    crash_do(depth_guarded);
    crash_wait(&cw.pings, 1);
}

/* Somebody puts the default in the place of ours; the next first system is there again. */
static void depth_default(const void *arg)
{
    for (unsigned i = 1; i <= 2; i++) {
        crash_start((axo_options){.workers = 1});
        CRASH_CHECK(axo_contain_state(cw.system) == AXO_CONTAIN_FIRST);
        crash_do(depth_now);
        crash_ping();
        CRASH_CHECK(atomic_load(&cw.decided) == i);
        if (i == 1)
            CRASH_CHECK(signal(SIGSEGV, SIG_DFL) != SIG_ERR);
        crash_finish();
    }
}

static volatile uint64_t depth_turns;

static void depth_loop(axo_ctx *ctx)
{
    while (depth_turns != UINT64_MAX)
        depth_turns++;
}

/* The same of the watchdog's signal. */
static void depth_default_urgent(const void *arg)
{
    crash_watchdog_ms = 20;
    for (unsigned i = 1; i <= 2; i++) {
        crash_start((axo_options){.workers = 1});
        crash_do(depth_loop);
        crash_ping();
        CRASH_CHECK(atomic_load(&cw.decided) == i && cw.failure.kind == AXO_FAILURE_STUCK);
        if (i == 1)
            CRASH_CHECK(signal(SIGURG, SIG_DFL) != SIG_ERR);
        crash_finish();
    }
}

static void handlers_of_others(void **state)
{
    if (CRASH_REPORTED)
        return;
    crash_end end = crash_run(depth_blocking, NULL);
    crash_is_well(&end, "behind one that blocks all");
    end = crash_run(depth_reset, NULL);
    crash_is_dead(&end, "before one that is there once", SIGSEGV, "once\n");
    assert_null(strstr(strstr(end.text, "once\n") + 1, "once\n"));
    end = crash_run(depth_default, NULL);
    crash_is_well(&end, "the default in its place");
    end = crash_run(depth_default_urgent, NULL);
    crash_is_well(&end, "the default of SIGURG");
}

/* ---- a thread of the program's -------------------------------------------------------------- */

static void depth_turn(axo_ctx *ctx)
{
    CRASH_CHECK(fegetround() == FE_UPWARD);
    depth_null[16] = 1;
}

/* It has blocked all signals, as beside signalfd, and rounds upward; both stay so. */
static void depth_host(const void *arg)
{
    axo_options options = AXO_OPTIONS(.manual = AXO_MANUAL_ALL, .contain = 1);
    axo_props props = AXO_PROPS(.cls = &crash_class);
    const crash_fn fn = depth_turn;
    sigset_t all;
    sigset_t now;
    (void)sigfillset(&all);
    CRASH_CHECK(pthread_sigmask(SIG_SETMASK, &all, NULL) == 0 && fesetround(FE_UPWARD) == 0);
    CRASH_CHECK(axo_system_start(&options, &cw.system) == AXO_OK);
    CRASH_CHECK(axo_system_spawn(cw.system, &props, &cw.actor) == AXO_OK);
    for (unsigned i = 1; i <= 3; i++) {
        CRASH_CHECK(axo_system_send(cw.system, cw.actor, CRASH_DO, &fn, sizeof fn) == AXO_OK);
        CRASH_CHECK(axo_run_host(cw.system, -1, NULL) == AXO_OK);
        CRASH_CHECK(axo_system_crashes(cw.system, NULL, 0) == i);
        CRASH_CHECK(fegetround() == FE_UPWARD);
    }
    CRASH_CHECK(pthread_sigmask(SIG_SETMASK, NULL, &now) == 0);
    CRASH_CHECK(sigismember(&now, SIGSEGV) == 1 && sigismember(&now, SIGABRT) == 1);
    CRASH_CHECK(axo_system_stop(cw.system, -1, NULL, 0, NULL) == AXO_OK);
    CRASH_CHECK(axo_system_destroy(cw.system) == AXO_OK);
}

static void a_thread_of_the_program(void **state)
{
    if (CRASH_REPORTED)
        return;
    crash_end end = crash_run(depth_host, NULL);
    crash_is_well(&end, "a host");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(what_lies_between),
    cmocka_unit_test(handlers_of_others),
    cmocka_unit_test(a_thread_of_the_program),
};

TEST_MAIN(tests)
