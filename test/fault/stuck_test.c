/* stuck_test.c - callbacks that do not end: which of them are interrupted and are failures of their
 * actor, and which are reported and go on. Nothing here asks that something is fast: a callback
 * that is to be interrupted never ends by itself, and one that must not be ends when it is told to.
 */
#include <errno.h>
#include <sys/syscall.h>
#include <unwind.h>

#include "fault/stuck.h"

static atomic_uint stuck_urgent; /* SIGURGs that the program's own handler was given */
static uint64_t stuck_allowed;   /* that are interrupted before one that is not */

/* ---- in its own code ------------------------------------------------------------------------ */

static void stuck_length(axo_ctx *ctx)
{
    size_t (*volatile fn)(const char *) = strlen;
    static char text[1 << 20];
    memset(text, 'a', sizeof text - 1);
    for (;;)
        stuck_sink += fn(text);
}

static int stuck_compare(const void *a, const void *b)
{
    stuck_deep(0);
    return 0;
}

static void stuck_sort(axo_ctx *ctx)
{
    int numbers[] = {3, 1, 2};
    qsort(numbers, 3, sizeof numbers[0], stuck_compare);
}

/* Now here and now there: only its own code is left. */
static void stuck_mixed(axo_ctx *ctx)
{
    void *(*volatile take)(size_t) = malloc;
    char text[64];
    for (;;) {
        void *block = take(100);
        (void)snprintf(text, sizeof text, "%d %s", 12, "text");
        free(block);
        stuck_sink += (uint64_t)axo_now(ctx) + axo_instance(ctx);
        for (int i = 0; i < 500; i++)
            stuck_sink++;
    }
}

/* Until its guard ends it is only reported. */
static void stuck_behind_a_guard(axo_ctx *ctx)
{
    axo_guard_begin(ctx);
    while (atomic_load(&cw.reported) == 0)
        stuck_sink++;
    axo_guard_end(ctx);
    stuck_deep(0);
}

/* ---- elsewhere ------------------------------------------------------------------------------ */

static void stuck_read(axo_ctx *ctx)
{
    char byte;
    while (read(stuck_pipe[0], &byte, 1) < 0)
        CRASH_CHECK(errno == EINTR);
}

static void stuck_guarded(axo_ctx *ctx)
{
    axo_guard_begin(ctx);
    while (stuck_goes_on())
        stuck_sink++;
    axo_guard_end(ctx);
}

static void stuck_block(axo_ctx *ctx)
{
    CRASH_CHECK(axo_block(ctx, stuck_spin, NULL) == AXO_OK);
}

static void stuck_destroy(void *payload, void *user)
{
    stuck_spin(NULL);
}

static void stuck_discard(axo_ctx *ctx)
{
    axo_owned owned = {.payload = &cw, .size = 8, .destroy = stuck_destroy};
    axo_draft *draft;
    CRASH_CHECK(axo_message_owning(ctx, CRASH_PING, &owned, &draft) == AXO_OK);
    axo_message_discard(ctx, draft);
}

static _Unwind_Reason_Code stuck_frame(struct _Unwind_Context *context, void *arg)
{
    stuck_spin(NULL);
    return _URC_END_OF_STACK;
}

/* Another module has called it. */
static void stuck_foreign(axo_ctx *ctx)
{
    (void)_Unwind_Backtrace(stuck_frame, NULL);
}

static void stuck_signal(int number)
{
    stuck_spin(NULL);
}

/* In a handler of the program's, which its own code has called, and in one that has interrupted
 * it. */
static void stuck_raise(axo_ctx *ctx)
{
    struct sigaction action = {.sa_handler = stuck_signal};
    CRASH_CHECK(sigaction(SIGTRAP, &action, NULL) == 0);
    (void)raise(SIGTRAP);
}

static void stuck_trap(axo_ctx *ctx)
{
    struct sigaction action = {.sa_handler = stuck_signal};
    CRASH_CHECK(sigaction(SIGTRAP, &action, NULL) == 0);
#if defined(__x86_64__)
    __asm__ volatile("int3");
#else
    (void)raise(SIGTRAP);
#endif
}

static void stuck_count(int number)
{
    atomic_fetch_add(&stuck_urgent, 1);
}

/* One that has come after the library's. */
static void stuck_other_handler(axo_ctx *ctx)
{
    struct sigaction action = {.sa_handler = stuck_count};
    struct sigaction ours;
    CRASH_CHECK(sigaction(SIGURG, &action, &ours) == 0);
    stuck_spin(NULL);
    CRASH_CHECK(sigaction(SIGURG, &ours, NULL) == 0);
    CRASH_CHECK(atomic_load(&stuck_urgent) == 0);
}

/* ---- the matrix ----------------------------------------------------------------------------- */

typedef struct stuck_row {
    const char *name;
    crash_fn fn;
    const char *why; /* NULL: it is interrupted */
} stuck_row;

static const stuck_row stuck_rows[] = {
    {"a loop, 20 frames deep", stuck_loop, NULL},
    {"strlen, again and again", stuck_length, NULL},
    {"in a comparison of qsort", stuck_sort, NULL},
    {"here and there", stuck_mixed, NULL},
    {"behind a guard", stuck_behind_a_guard, NULL},
    {"in a system call", stuck_read, "in a function of libc"},
    {"in a guard", stuck_guarded, "within a guard"},
    {"in axo_block", stuck_block, "not on a worker"},
    {"in a destructor", stuck_discard, "or a destructor"},
    {"below another module", stuck_foreign, "in a module that is neither"},
    {"in a handler that was raised", stuck_raise, "in a function of libc"},
    {"in a handler that has interrupted it", stuck_trap, "in a function of libc"},
    {"with another handler", stuck_other_handler, "SIGURG has another handler"},
};

static void stuck_interrupted(const void *arg)
{
    const stuck_row *row = arg;
    axo_crash kept[2];
    crash_start(stuck_options());
    crash_ping();
    crash_do(row->fn);
    crash_ping();
    CRASH_CHECK(atomic_load(&cw.instance) == 2);
    CRASH_CHECK(atomic_load(&cw.decided) == 1 && cw.failure.kind == AXO_FAILURE_STUCK);
    CRASH_CHECK(cw.failure.root_kind == AXO_FAILURE_STUCK && cw.failure.code == 5);
    CRASH_CHECK(cw.failure.site == AXO_SITE_RECEIVE && cw.failure.has_message == 1);
    CRASH_CHECK(cw.failure.tag == CRASH_DO && strncmp(cw.text, "stuck for ", 10) == 0);
    CRASH_CHECK(strstr(cw.text, " ms, in ") != NULL && strtol(cw.text + 10, NULL, 10) >= 5);
    CRASH_CHECK(cw.crashed && cw.crash.signal == SIGURG && cw.crash.instance == 1);
    CRASH_CHECK(axo_ref_equal(cw.crash.actor, cw.actor) && cw.crash.pc != 0);
    CRASH_CHECK(cw.crash.frame_count > 0 && cw.crash.depth >= cw.crash.frame_count);
    CRASH_CHECK(cw.crash.access == AXO_CRASH_AT && cw.crash.address == 0);
    CRASH_CHECK(axo_system_crashes(cw.system, kept, 2) == 1);
    CRASH_CHECK(memcmp(&kept[0], &cw.crash, sizeof kept[0]) == 0);
    crash_do(row->fn); /* and once more */
    crash_ping();
    CRASH_CHECK(atomic_load(&cw.instance) == 3);
    CRASH_CHECK(atomic_load(&cw.calls[CRASH_PRE_RESTART]) == 0);
    CRASH_CHECK(atomic_load(&cw.calls[CRASH_POST_STOP]) == 0);
    crash_finish();
    CRASH_CHECK(atomic_load(&cw.calls[CRASH_POST_STOP]) == 1); /* of the one that was not stuck */
}

/* Twice, and nobody decides about it meanwhile. */
static void stuck_wait_reported(void)
{
    const int64_t deadline = parts_now() + PARTS_DEADLINE_NS;
    while (atomic_load(&cw.reported) < 2) {
        struct timespec pause = {.tv_nsec = 200000};
        CRASH_CHECK(parts_now() < deadline);
        CRASH_CHECK(axo_system_crashes(cw.system, NULL, 0) <= stuck_allowed);
        (void)nanosleep(&pause, NULL);
    }
}

/* It is reported, with the reason, and goes on: the instance is the same. */
static void stuck_reported(const void *arg)
{
    const stuck_row *row = arg;
    CRASH_CHECK(pipe(stuck_pipe) == 0);
    crash_start(stuck_options());
    crash_do(row->fn);
    stuck_wait_reported();
    CRASH_CHECK(strstr(cw.reason, "; not interrupted: ") != NULL);
    if (strstr(cw.reason, row->why) == NULL) {
        (void)dprintf(crash_fd, "%s\n", cw.reason);
        _exit(3);
    }
    stuck_let_go();
    crash_ping();
    CRASH_CHECK(atomic_load(&cw.instance) == 1 && atomic_load(&cw.decided) == 0);
    CRASH_CHECK(axo_system_crashes(cw.system, NULL, 0) == 0);
    crash_finish();
}

static void each_callback(void **state)
{
    if (CRASH_REPORTED)
        skip();
    for (size_t i = 0; i < sizeof stuck_rows / sizeof stuck_rows[0]; i++) {
        const stuck_row *row = &stuck_rows[i];
        crash_end end = crash_run(row->why == NULL ? stuck_interrupted : stuck_reported, row);
        crash_is_well(&end, row->name);
    }
}

/* ---- who has not asked for it, and the budget ----------------------------------------------- */

/* It is reported as ever, and nothing is said of a watchdog. */
static void stuck_without(const void *arg)
{
    axo_options options = stuck_options();
    crash_watchdog_ms = 0;
    CRASH_CHECK(pipe(stuck_pipe) == 0);
    crash_start(options);
    axo_class cls = crash_class; /* another one has a watchdog */
    cls.watchdog_ms = 1;
    axo_props props = AXO_PROPS(.cls = &cls, .name = "that");
    axo_ref other;
    CRASH_CHECK(axo_system_spawn(cw.system, &props, &other) == AXO_OK);
    crash_do(stuck_patient);
    crash_wait(&cw.reported_bare, 3);
    CRASH_CHECK(atomic_load(&cw.reported) == 0);
    stuck_let_go();
    crash_ping();
    CRASH_CHECK(atomic_load(&cw.instance) == 1 && atomic_load(&cw.decided) == 0);
    crash_finish();
}

/* A crash and a loop are of one budget; what is beyond it goes on. */
static void stuck_budget(const void *arg)
{
    axo_options options = stuck_options();
    options.crashes_max = 2;
    stuck_allowed = 2;
    options.crash_window_ns = 1000 * PARTS_S;
    CRASH_CHECK(pipe(stuck_pipe) == 0);
    crash_start(options);
    crash_do(stuck_loop);
    crash_do(stuck_loop);
    crash_do(stuck_patient);
    stuck_wait_reported();
    if (strstr(cw.reason, "the crash budget is spent") == NULL) {
        (void)dprintf(crash_fd, "%s\n", cw.reason);
        _exit(3);
    }
    stuck_let_go();
    crash_ping();
    CRASH_CHECK(atomic_load(&cw.instance) == 3 && atomic_load(&cw.decided) == 2);
    CRASH_CHECK(axo_system_crashes(cw.system, NULL, 0) == 2);
    crash_finish();
}

static void who_has_not_asked_for_it(void **state)
{
    if (CRASH_REPORTED)
        skip();
    crash_end end = crash_run(stuck_without, NULL);
    crash_is_well(&end, "a class without a watchdog");
    end = crash_run(stuck_budget, NULL);
    crash_is_well(&end, "the budget");
}

/* ---- the program's own signals --------------------------------------------------------------- */

static pid_t stuck_thread;

static void stuck_note_thread(axo_ctx *ctx)
{
    stuck_thread = (pid_t)syscall(SYS_gettid);
}

/* Those that are not the library's go to the handler before; it is put back in the end. */
static void stuck_before(const void *arg)
{
    struct sigaction action = {.sa_handler = stuck_count};
    struct sigaction now;
    CRASH_CHECK(sigaction(SIGURG, &action, NULL) == 0);
    crash_start(stuck_options());
    crash_do(stuck_note_thread);
    crash_ping();
    (void)kill(getpid(), SIGURG);
    crash_wait(&stuck_urgent, 1);
    (void)syscall(SYS_tgkill, getpid(), stuck_thread, SIGURG);
    crash_wait(&stuck_urgent, 2);
    crash_do(stuck_loop);
    crash_ping();
    CRASH_CHECK(atomic_load(&cw.instance) == 2);
    CRASH_CHECK(atomic_load(&stuck_urgent) == 2);
    crash_finish();
    CRASH_CHECK(sigaction(SIGURG, NULL, &now) == 0 && now.sa_handler == stuck_count);
}

static atomic_uint stuck_depth;

/* It asks for being interrupted by its own signal: ours is not, or the stack would be full. */
static void stuck_nested(int number)
{
    CRASH_CHECK(atomic_fetch_add(&stuck_depth, 1) == 0);
    if (atomic_fetch_add(&stuck_urgent, 1) < 200)
        (void)raise(SIGURG);
    atomic_fetch_sub(&stuck_depth, 1);
}

static void stuck_raise_urgent(axo_ctx *ctx)
{
    (void)raise(SIGURG);
}

static void stuck_many(const void *arg)
{
    struct sigaction action = {.sa_handler = stuck_nested, .sa_flags = SA_NODEFER};
    CRASH_CHECK(sigaction(SIGURG, &action, NULL) == 0);
    crash_start(stuck_options());
    crash_do(stuck_raise_urgent);
    crash_wait(&stuck_urgent, 201);
    crash_ping();
    crash_finish();
}

/* Without a handler before they are ignored, as they were; without `contain` nothing is put in. */
static void stuck_ignored(const void *arg)
{
    axo_options options = AXO_OPTIONS(.workers = 1);
    struct sigaction now;
    CRASH_CHECK(axo_system_start(&options, &cw.system) == AXO_OK);
    CRASH_CHECK(sigaction(SIGURG, NULL, &now) == 0 && now.sa_handler == SIG_DFL);
    CRASH_CHECK(axo_system_stop(cw.system, -1, NULL, 0, NULL) == AXO_OK);
    CRASH_CHECK(axo_system_destroy(cw.system) == AXO_OK);
    crash_start(stuck_options());
    crash_do(stuck_note_thread);
    crash_ping();
    for (uint32_t i = 0; i < 100; i++) {
        (void)kill(getpid(), SIGURG);
        (void)syscall(SYS_tgkill, getpid(), stuck_thread, SIGURG);
    }
    crash_ping();
    CRASH_CHECK(atomic_load(&cw.instance) == 1);
    crash_finish();
    CRASH_CHECK(sigaction(SIGURG, NULL, &now) == 0 && now.sa_handler == SIG_DFL);
}

static void signals_of_the_program(void **state)
{
    if (CRASH_REPORTED)
        skip();
    crash_end end = crash_run(stuck_before, NULL);
    crash_is_well(&end, "a handler before");
    end = crash_run(stuck_many, NULL);
    crash_is_well(&end, "one after the other");
    end = crash_run(stuck_ignored, NULL);
    crash_is_well(&end, "no handler before");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(each_callback),
    cmocka_unit_test(who_has_not_asked_for_it),
    cmocka_unit_test(signals_of_the_program),
};

TEST_MAIN(tests)
