/* stuck_step_test.c - the watchdog's signal at every so-manieth instruction of a callback, its
 * calls of the library and of libc included, and at each moment that matters for whose time it is:
 * the handler is called with the registers of that instruction, as a signal would. So nothing here
 * depends on when a signal comes, nor on how fast anything is.
 *
 * AXO_STRIDE: so many instructions from one to the next; 1: every one, which takes minutes.
 */
#include <sys/syscall.h>

#include "fault/crash.h"

#if defined(__x86_64__)
#include "fault/step.h"
#include "sched/endless.h"
#include "sched/trap.h"

enum { STUCK_LIMIT_MS = 1 };

static volatile bool step_marks; /* the stop is for the first signal, which interrupts nothing */
static volatile uint32_t
    step_inner;                   /* 1: the signal comes in a handler of the program's; 2: in it */
static volatile bool step_astray; /* it names another worker's trap */
static volatile uint64_t stuck_sink;
static volatile uint64_t stuck_marked;

/* As a spare's signal to this thread. */
static void stuck_signal(void *context)
{
    struct sigaction ours;
    siginfo_t info;
    memset(&info, 0, sizeof info);
    info.si_signo = SIGURG;
    info.si_code = SI_QUEUE;
    info.si_errno = AXO__ENDLESS_OURS;
    info.si_pid = getpid();
    info.si_value.sival_ptr = step_astray ? (void *)&info : (void *)axo__self->trap;
    if (sigaction(SIGURG, NULL, &ours) == 0)
        ours.sa_sigaction(SIGURG, &info, context);
}

static void step_trap(int number, siginfo_t *info, void *context)
{
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    if (step_inner == 2) {
        stuck_signal(context);
        return;
    }
    if (--step_left > 0)
        return;
    registers[REG_EFL] &= ~(greg_t)STEP_TRAP;
    if (step_inner == 1 && !step_marks) {
        step_inner = 2;
        __asm__ volatile("int3");
        step_inner = 1;
    } else {
        stuck_signal(context);
    }
    if (step_marks)
        stuck_marked++;
    else
        step_refused++;
}

/* A signal now, in the callback's own code; it is there until the next step at least. */
static inline __attribute__((always_inline)) void stuck_mark(void)
{
    step_marks = true;
    step_begin(1);
    stuck_sink++;
    step_marks = false;
}

/* For longer than a callback may run. */
static __attribute__((noinline)) void stuck_wait(void)
{
    int64_t until = parts_now() + 2 * STUCK_LIMIT_MS * PARTS_MS;
    while (parts_now() < until)
        stuck_sink++;
}

/* ---- at each instruction --------------------------------------------------------------------- */

static void (*step_does)(axo_ctx *ctx, char *state) = step_work;

static axo_status step_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    if (message->tag != STEP_WORK)
        return AXO_OK;
    stuck_mark();
    stuck_wait();
    step_begin(*AXO_PAYLOAD(message, uint64_t));
    step_does(ctx, state);
    step_end();
    step_over++;
    return AXO_OK;
}

static const axo_class step_class =
    AXO_CLASS(.name = "worker", .state_size = 64, .receive = step_receive,
              .on_crash = AXO_CRASH_FAILS, .watchdog_ms = STUCK_LIMIT_MS);

static void stuck_begin(const axo_class *cls)
{
    axo_options options =
        AXO_OPTIONS(.manual = 1, .contain = 1, .crashes_max = 65536, .crash_window_ns = 1,
                    .allocator = {.alloc = parts_alloc, .free = parts_free, .user = &cw.heap});
    axo_props props = AXO_PROPS(.cls = cls);
    axo_props other = AXO_PROPS(.cls = &step_other_class);
    (void)alarm(0);
    crash_handler(SIGTRAP, step_trap);
    CRASH_CHECK(axo_system_start(&options, &cw.system) == AXO_OK);
    CRASH_CHECK(axo_system_spawn(cw.system, &props, &cw.actor) == AXO_OK);
    CRASH_CHECK(axo_system_spawn(cw.system, &other, &step_other) == AXO_OK);
}

static uint64_t stuck_interrupted(void)
{
    return axo_system_crashes(cw.system, NULL, 0);
}

/* Of libc only what its own code has called, and of axo nothing but the call of the callback. */
static void stuck_is_allowed(const axo_crash *crash, uint32_t libc_most)
{
    uint32_t within = 0;
    for (uint32_t i = 0; i < crash->frame_count && i + 1 < crash->depth; i++)
        CRASH_CHECK(!step_in_axo(crash->frames[i]));
    while (within < crash->frame_count && step_in_libc(crash->frames[within]))
        within++;
    CRASH_CHECK(within <= libc_most);
}

static void step_run(const void *arg)
{
    const uint64_t stride = *(const uint64_t *)arg;
    uint64_t tries = 0;
    stuck_begin(&step_class);
    for (uint64_t at = 1; step_over == step_refused; at += stride, tries++) {
        uint64_t before = stuck_interrupted() + step_refused;
        CRASH_CHECK(axo_system_send(cw.system, cw.actor, STEP_WORK, &at, sizeof at) == AXO_OK);
        crash_work_off();
        uint64_t after = stuck_interrupted() + step_refused;
        CRASH_CHECK(after == before + 1 || step_left > 0);
        CRASH_CHECK(stuck_marked == tries + 1);
    }
    uint64_t interrupted = stuck_interrupted();
    CRASH_CHECK(interrupted > 0 && step_refused > 0);
    CRASH_CHECK(interrupted + step_refused + 1 == tries);
    crash_finish();
    (void)dprintf(crash_fd, "%llu interrupted, %llu refused\n", (unsigned long long)interrupted,
                  (unsigned long long)step_refused);
}

static void at_many_instructions(void **state)
{
    const char *asked = getenv("AXO_STRIDE");
    uint64_t stride = asked != NULL ? strtoull(asked, NULL, 10) : 101;
    if (CRASH_REPORTED)
        skip();
    crash_end end = crash_run(step_run, &stride);
    crash_is_well(&end, "at many instructions");
    (void)printf("%s", end.text);
}

/* ---- in what it has called ------------------------------------------------------------------- */

static int part_compare(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* libc takes memory for so many. */
static void part_sort(axo_ctx *ctx, char *state)
{
    static int numbers[2000];
    for (int i = 0; i < 3; i++)
        qsort(numbers, 2000, sizeof numbers[0], part_compare);
}

static char part_text[4096];

static void part_length(axo_ctx *ctx, char *state)
{
    size_t (*volatile fn)(const char *) = strlen;
    for (int i = 0; i < 10; i++)
        stuck_sink += fn(part_text);
}

/* The library reads what it is given. */
static void part_copy(axo_ctx *ctx, char *state)
{
    (void)axo_send(ctx, step_other, STEP_NOTE, part_text, 400);
}

/* A crash of its own in the end. */
static void part_abort(axo_ctx *ctx, char *state)
{
    abort();
}

typedef struct part_row {
    const char *name;
    void (*fn)(axo_ctx *ctx, char *state);
    uint64_t first, last, stride; /* instructions */
    uint32_t inner;               /* 1: in a handler of the program's that has interrupted it */
    uint32_t libc_most;           /* functions of libc that it may be in */
} part_row;

static const part_row part_rows[] = {
    {"in qsort", part_sort, 1, 1500, 23, 0, 1},
    {"in strlen", part_length, 1, 500, 23, 0, 1},
    {"in a handler in strlen", part_length, 1, 500, 23, 1, 0},
    {"in a copy", part_copy, 1, 1200, 3, 0, 1},
    {"in abort", part_abort, 3, 300, 7, 0, 0},
};

static void part_run(const void *arg)
{
    const part_row *row = arg;
    uint64_t interrupted = 0;
    memset(part_text, 'a', sizeof part_text - 1);
    step_does = row->fn;
    step_inner = row->inner;
    stuck_begin(&step_class);
    for (uint64_t at = row->first; at < row->last; at += row->stride) {
        const uint64_t before = stuck_interrupted();
        axo_crash crash = {.signal = 0};
        CRASH_CHECK(axo_system_send(cw.system, cw.actor, STEP_WORK, &at, sizeof at) == AXO_OK);
        crash_work_off();
        if (axo_system_crashes(cw.system, &crash, 1) == before || crash.signal != SIGURG)
            continue;
        interrupted++;
        stuck_is_allowed(&crash, row->libc_most);
    }
    CRASH_CHECK(row->inner == 0 || interrupted == 0);
    CRASH_CHECK(row->inner == 1 || row->fn == part_abort || interrupted > 0);
    crash_finish();
}

static void in_what_it_has_called(void **state)
{
    if (CRASH_REPORTED)
        skip();
    for (size_t i = 0; i < sizeof part_rows / sizeof part_rows[0]; i++) {
        crash_end end = crash_run(part_run, &part_rows[i]);
        crash_is_well(&end, part_rows[i].name);
    }
}

/* ---- whose time it is ------------------------------------------------------------------------ */

enum {
    TIME_OWN = 1,
    TIME_NEXT,
    TIME_STASH,
    TIME_CLEAN,
    TIME_FORK,
    TIME_SECRET_FORK,
    TIME_ASTRAY,
    TIME_NONE,
    TIME_BORN
};

static uint32_t time_handled;
static uint32_t time_stashed;
static uint32_t time_cleaned;
static pid_t time_child;

/* The first one is seen, and takes too long; the others are seen when they begin. */
static void time_clean(void *arg)
{
    time_cleaned++;
    stuck_mark();
    stuck_wait();
}

/* The C library is told of one of them, and of the other it is not. */
static void time_fork(bool told)
{
    int status = -1;
    stuck_mark();
    stuck_wait();
    time_child = told ? fork() : (pid_t)syscall(SYS_fork);
    if (time_child == 0) {
        stuck_mark(); /* no watchdog is there for it */
        _exit(7);
    }
    CRASH_CHECK(waitpid(time_child, &status, 0) == time_child);
    CRASH_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

static axo_status time_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    time_handled++;
    switch (message->tag) {
    case TIME_OWN: /* two signals, so much apart: it does not come back */
        stuck_mark();
        stuck_wait();
        stuck_mark();
        CRASH_CHECK(false);
        break;
    case TIME_NEXT:
        stuck_mark();
        stuck_wait();
        break;
    case TIME_STASH: /* it is the same message, and counts once: the callbacks are two */
        stuck_mark();
        stuck_wait();
        if (time_stashed++ == 0) {
            CRASH_CHECK(axo_stash(ctx) == AXO_OK);
            CRASH_CHECK(axo_unstash_all(ctx) == AXO_OK);
        }
        break;
    case TIME_CLEAN:
        for (uint32_t i = 0; i < 3; i++)
            CRASH_CHECK(axo_defer(ctx, time_clean, NULL) == AXO_OK);
        return AXO_EINVAL;
    case TIME_FORK:
        time_fork(true);
        break;
    case TIME_SECRET_FORK:
        time_fork(false);
        break;
    case TIME_ASTRAY: /* the first is meant for another worker, so the second is the first */
        step_astray = true;
        stuck_mark();
        step_astray = false;
        stuck_wait();
        stuck_mark();
        break;
    case TIME_NONE: /* its class has no watchdog */
        stuck_mark();
        stuck_mark();
        break;
    default:
        break;
    }
    return AXO_OK;
}

/* As long as it may, and then another hook under the same number. */
static axo_status time_construct(axo_ctx *ctx, void *state, const void *args)
{
    stuck_mark();
    stuck_wait();
    return AXO_OK;
}

static axo_status time_start(axo_ctx *ctx, void *state)
{
    stuck_mark();
    return AXO_OK;
}

static const axo_class time_class =
    AXO_CLASS(.name = "timed", .receive = time_receive, .on_crash = AXO_CRASH_FAILS,
              .watchdog_ms = STUCK_LIMIT_MS);
static const axo_class time_class_without =
    AXO_CLASS(.name = "timeless", .receive = time_receive, .on_crash = AXO_CRASH_FAILS);
static const axo_class time_class_born =
    AXO_CLASS(.name = "born", .construct = time_construct, .pre_start = time_start,
              .receive = time_receive, .on_crash = AXO_CRASH_FAILS, .watchdog_ms = STUCK_LIMIT_MS);

/* Callbacks one behind the other in one turn, each of them longer than it may be, and a signal at
 * the beginning of each: the time that has gone is the last one's. */
static void time_run(const void *arg)
{
    const uint32_t tag = *(const uint32_t *)arg;
    const uint32_t count = tag == TIME_NEXT ? 5 : 1;
    stuck_begin(tag == TIME_NONE   ? &time_class_without
                : tag == TIME_BORN ? &time_class_born
                                   : &time_class);
    for (uint32_t i = 0; i < count; i++)
        CRASH_CHECK(axo_system_send(cw.system, cw.actor, tag, NULL, 0) == AXO_OK);
    crash_work_off();
    CRASH_CHECK(stuck_interrupted() == (tag == TIME_OWN));
    CRASH_CHECK(time_handled == (tag == TIME_STASH ? 2 : count));
    CRASH_CHECK(tag != TIME_CLEAN || time_cleaned == 3);
    CRASH_CHECK(stuck_marked >= count);
    crash_finish();
}

static void whose_time_it_is(void **state)
{
    static const uint32_t tags[] = {TIME_OWN,    TIME_NEXT, TIME_STASH,
                                    TIME_CLEAN,  TIME_FORK, TIME_SECRET_FORK,
                                    TIME_ASTRAY, TIME_NONE, TIME_BORN};
    if (CRASH_REPORTED)
        skip();
    for (size_t i = 0; i < sizeof tags / sizeof tags[0]; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "time %u", tags[i]);
        crash_end end = crash_run(time_run, &tags[i]);
        crash_is_well(&end, name);
    }
}
#else
static void at_many_instructions(void **state)
{
}

static void in_what_it_has_called(void **state)
{
}

static void whose_time_it_is(void **state)
{
}
#endif

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(at_many_instructions),
    cmocka_unit_test(in_what_it_has_called),
    cmocka_unit_test(whose_time_it_is),
};

TEST_MAIN(tests)
