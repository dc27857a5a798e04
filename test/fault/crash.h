/* crash.h - for tests of crashes: each is in a process of its own, and what that process has said
 * on stderr, and how it has ended, is looked at. And a system whose one actor does as it is told.
 */
#ifndef TEST_FAULT_CRASH_H
#define TEST_FAULT_CRASH_H

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "fault/parts.h"

/* ---- a process ------------------------------------------------------------------------------ */

/* Crashes are contained on x86-64 only, and not in a program with the thread sanitizer. */
#if defined(AXO_TSAN) || !defined(__x86_64__)
#define CRASH_ENDS 1
#else
#define CRASH_ENDS 0
#endif

/* The address sanitizer reports such code before it crashes, or has a function of its own between
 * it and the library; a plain write to null is contained there, too. */
#if defined(AXO_ASAN)
#define CRASH_REPORTED 1
#else
#define CRASH_REPORTED CRASH_ENDS
#endif

static int crash_fd = STDERR_FILENO; /* of CRASH_CHECK */

typedef struct crash_end {
    int status;
    char text[65536]; /* what it wrote to stderr */
} crash_end;

/* cmocka has handlers of its own. */
static inline void crash_defaults(void)
{
    static const int numbers[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        (void)signal(numbers[i], SIG_DFL);
}

/* As a program has handlers that may be left by a jump, and interrupted by themselves. */
static inline void crash_handler(int number, void (*fn)(int, siginfo_t *, void *))
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = fn;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESTART;
    if (sigaction(number, &action, NULL) != 0)
        abort();
}

/* Whether handlers of a test's have filled half of the alternate stack: if signals come faster than
 * their handlers end, they would fill all of it, and the kernel ends the process without a word. */
static inline bool crash_is_deep(void)
{
    stack_t stack;
    if (sigaltstack(NULL, &stack) != 0 || (stack.ss_flags & SS_ONSTACK) == 0)
        return false;
    const char *here = __builtin_frame_address(0);
    return here < (const char *)stack.ss_sp + stack.ss_size / 2;
}

/* In a handler of a test's: calls the library's, as if the instruction that was interrupted had
 * read where no memory is. */
static inline void crash_as_read(void *context)
{
    struct sigaction ours;
    siginfo_t crash;
#if defined(__x86_64__)
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    registers[REG_TRAPNO] = 14; /* a page fault at a read, not what the last fault was */
    registers[REG_ERR] = 4;
#endif
    memset(&crash, 0, sizeof crash);
    crash.si_signo = SIGSEGV;
    crash.si_code = SEGV_MAPERR;
    crash.si_addr = (void *)12345;
    if (sigaction(SIGSEGV, NULL, &ours) == 0)
        ours.sa_sigaction(SIGSEGV, &crash, context);
}

/* Runs fn(arg) in a child, which ends with 0 if it returns. What it did not expect it says by
 * CRASH_CHECK. */
static inline crash_end crash_run(void (*fn)(const void *arg), const void *arg)
{
    crash_end end = {.status = -1};
    size_t length = 0;
    ssize_t got;
    int ends[2];
    (void)fflush(NULL);
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)alarm(60);
        crash_defaults();
        (void)setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        (void)dup2(ends[1], STDERR_FILENO);
        (void)close(ends[0]);
        (void)close(ends[1]);
        fn(arg);
        _exit(0);
    }
    (void)close(ends[1]);
    while ((got = read(ends[0], end.text + length, sizeof end.text - 1 - length)) > 0)
        length += (size_t)got;
    (void)close(ends[0]);
    assert_int_equal(waitpid(child, &end.status, 0), child);
    return end;
}

#define CRASH_CHECK(condition)                                                                     \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            (void)dprintf(crash_fd, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                \
            _exit(3);                                                                              \
        }                                                                                          \
    } while (0)

/* The process has ended by itself, and found all as it should be. */
static inline void crash_is_well(const crash_end *end, const char *name)
{
    if (!WIFEXITED(end->status) || WEXITSTATUS(end->status) != 0)
        fail_msg("%s: status %x, \"%s\"", name, (unsigned)end->status, end->text);
}

/* It was ended by the signal, behind a line that says why. */
static inline void crash_is_dead(const crash_end *end, const char *name, int number,
                                 const char *why)
{
    if (!WIFSIGNALED(end->status) || (number != 0 && WTERMSIG(end->status) != number) ||
        strstr(end->text, why) == NULL)
        fail_msg("%s: status %x, \"%s\", not \"%s\"", name, (unsigned)end->status, end->text, why);
}

/* ---- a system ------------------------------------------------------------------------------- */

enum { CRASH_DO = 1, CRASH_PING, CRASH_SITES = 16 };

typedef void (*crash_fn)(axo_ctx *ctx);

/* What the actor has in its hooks, and what has been seen; one for each process. */
typedef struct crash_world {
    axo_system *system;
    axo_ref actor;
    parts_heap heap;
    crash_fn hook[CRASH_SITES];    /* by site: what it does there */
    uint32_t only[CRASH_SITES];    /* in which instance; 0: in each */
    atomic_uint calls[CRASH_SITES];
    atomic_uint pings;             /* handled, and by which instance last */
    atomic_uint instance;
    atomic_uint decided;
    axo_directive answer;
    axo_failure failure;           /* the last that was decided */
    axo_crash crash;               /* behind it, if `crashed` */
    bool crashed;
    char text[AXO_FAILURE_TEXT_MAX];
    atomic_uint logged;            /* lines of hooks that failed */
    char line[512];                /* the last of them */
    atomic_uint reported;          /* lines of callbacks that do not end, with a reason ... */
    atomic_uint reported_bare;     /* ... and without */
    char reason[512];              /* the first with one */
    atomic_uint started;
    atomic_uint terminated;
} crash_world;

static crash_world cw;
static bool crash_plain_heap; /* malloc's, not one that is counted */
static uint32_t crash_watchdog_ms; /* of its class */

enum { CRASH_PRE_RESTART = 6, CRASH_POST_STOP = 8 }; /* sites without a public number */

static inline void crash_hook(axo_ctx *ctx, uint32_t site)
{
    atomic_fetch_add(&cw.calls[site], 1);
    if (cw.hook[site] != NULL && (cw.only[site] == 0 || cw.only[site] == axo_instance(ctx)))
        cw.hook[site](ctx);
}

static axo_status crash_construct(axo_ctx *ctx, void *state, const void *args)
{
    crash_hook(ctx, AXO_SITE_CONSTRUCT);
    return AXO_OK;
}

static axo_status crash_pre_start(axo_ctx *ctx, void *state)
{
    crash_hook(ctx, AXO_SITE_PRE_START);
    return AXO_OK;
}

static axo_status crash_post_stop(axo_ctx *ctx, void *state)
{
    crash_hook(ctx, CRASH_POST_STOP);
    return AXO_OK;
}

static axo_status crash_pre_restart(axo_ctx *ctx, void *state, const axo_failure *failure,
                                    const axo_message *message)
{
    crash_hook(ctx, CRASH_PRE_RESTART);
    return axo_default_pre_restart(ctx, state, failure, message);
}

static axo_status crash_post_restart(axo_ctx *ctx, void *state, const axo_failure *failure)
{
    crash_hook(ctx, AXO_SITE_POST_RESTART);
    return AXO_OK;
}

static axo_status crash_settle(axo_ctx *ctx, void *state)
{
    crash_hook(ctx, AXO_SITE_SETTLE);
    return AXO_OK;
}

static axo_status crash_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    if (message->tag == CRASH_PING) {
        atomic_store(&cw.instance, axo_instance(ctx));
        atomic_fetch_add(&cw.pings, 1);
        return AXO_OK;
    }
    atomic_fetch_add(&cw.calls[AXO_SITE_RECEIVE], 1);
    crash_fn fn;
    memcpy(&fn, message->payload, sizeof fn);
    fn(ctx);
    return AXO_OK;
}

static const axo_class crash_class =
    AXO_CLASS(.name = "crasher", .state_size = 64, .construct = crash_construct,
              .pre_start = crash_pre_start, .receive = crash_receive, .post_stop = crash_post_stop,
              .pre_restart = crash_pre_restart, .post_restart = crash_post_restart,
              .settle = crash_settle, .on_crash = AXO_CRASH_FAILS);

static axo_directive crash_decide(axo_ctx *ctx, void *state, const axo_failure *failure, void *user)
{
    const axo_crash *crash = axo_failure_crash(failure);
    cw.failure = *failure;
    cw.crashed = crash != NULL;
    if (crash != NULL)
        cw.crash = *crash;
    (void)snprintf(cw.text, sizeof cw.text, "%s", failure->text);
    atomic_fetch_add(&cw.decided, 1);
    return cw.answer != 0 ? cw.answer : axo_decide_default(ctx, state, failure, user);
}

static inline void crash_log(void *user, const axo_log_record *record)
{
    if (record->event == AXO_LOG_STUCK) {
        const bool why = strstr(record->line, "; not interrupted: ") != NULL;
        if (why && atomic_load(&cw.reported) == 0)
            (void)snprintf(cw.reason, sizeof cw.reason, "%s", record->line);
        atomic_fetch_add(why ? &cw.reported : &cw.reported_bare, 1);
    }
    if (record->event != AXO_LOG_HOOK)
        return;
    (void)snprintf(cw.line, sizeof cw.line, "%s", record->line);
    atomic_fetch_add(&cw.logged, 1);
}

static inline void crash_spawn(const axo_class *cls, axo_ref *out)
{
    axo_props props = AXO_PROPS(.cls = cls, .name = "it");
    CRASH_CHECK(axo_system_spawn(cw.system, &props, out) == AXO_OK);
}

/* Starts the world and its actor; `options` may be zero but for what differs. */
static inline void crash_start(axo_options options)
{
    static const axo_strategy strategy = AXO_STRATEGY(.decider = crash_decide);
    static axo_class cls;
    cls = crash_class;
    cls.watchdog_ms = crash_watchdog_ms;
    options.size = sizeof options;
    options.contain = 1;
    options.workers = options.workers != 0 ? options.workers : 2;
    options.user_strategy = &strategy;
    options.log_record = crash_log;
    options.failure_log = UINT32_MAX;
    if (!crash_plain_heap)
        options.allocator =
            (axo_allocator){.alloc = parts_alloc, .free = parts_free, .user = &cw.heap};
    CRASH_CHECK(axo_system_start(&options, &cw.system) == AXO_OK);
    crash_spawn(&cls, &cw.actor);
}

static inline void crash_wait(atomic_uint *counter, uint32_t value)
{
    int64_t deadline = parts_now() + PARTS_DEADLINE_NS;
    while (atomic_load(counter) < value) {
        struct timespec pause = {.tv_nsec = 200000};
        CRASH_CHECK(parts_now() < deadline);
        (void)nanosleep(&pause, NULL);
    }
}

static inline void crash_do(crash_fn fn)
{
    (void)axo_system_send(cw.system, cw.actor, CRASH_DO, &fn, sizeof fn);
}

/* Its answer comes behind all that it was sent before. */
static inline void crash_ping(void)
{
    uint32_t before = atomic_load(&cw.pings);
    CRASH_CHECK(axo_system_send(cw.system, cw.actor, CRASH_PING, NULL, 0) == AXO_OK);
    crash_wait(&cw.pings, before + 1);
}

/* In a manual system: until there is nothing to do. */
static inline void crash_work_off(void)
{
    uint64_t turns = 1;
    while (turns > 0)
        CRASH_CHECK(axo_step_host(cw.system, 1000, &turns) == AXO_OK);
}

/* Descriptors that the process has open, that of the folder itself among them. */
static inline uint32_t crash_descriptors(void)
{
    uint32_t count = 0;
    DIR *folder = opendir("/proc/self/fd");
    CRASH_CHECK(folder != NULL);
    while (readdir(folder) != NULL)
        count++;
    (void)closedir(folder);
    return count;
}

/* sent = handled + dead + dropped, exactly, and no byte is left. */
static inline axo_stats crash_finish(void)
{
    axo_stats stats = AXO_STATS();
    CRASH_CHECK(axo_system_stop(cw.system, PARTS_DEADLINE_NS, NULL, 0, NULL) == AXO_OK);
    CRASH_CHECK(axo_system_stats(cw.system, &stats) == AXO_OK);
    CRASH_CHECK(stats.sent == stats.handled + stats.dead + stats.dropped);
    CRASH_CHECK(axo_system_destroy(cw.system) == AXO_OK);
    CRASH_CHECK(atomic_load(&cw.heap.blocks) == 0 && atomic_load(&cw.heap.bytes) == 0);
    return stats;
}

#endif
