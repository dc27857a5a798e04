/* crash_context_test.c - what the library leaves as it was: a crash that is not contained comes to
 * the handler before with its registers, which may put them right and go on; without `contain` no
 * handler, no stack and no mask is another.
 */
#include <sys/syscall.h>
#include <ucontext.h>

#include "fault/crash.h"

static char *volatile context_null;

/* ---- the registers of a crash --------------------------------------------------------------- */

#if defined(__x86_64__)
static volatile uint64_t context_sink;
static uintptr_t context_to = 0x123456; /* no code */
static volatile greg_t context_seen[NGREG];
static volatile uintptr_t context_address;
static atomic_uint context_came;
static volatile uint32_t context_after; /* callbacks that went on behind it */

#define CONTEXT_WORD INT64_C(0x1122334455667788)

/* Sees all, and goes on where the code has said: r12 is the address, r13 the stack. */
static void context_before(int number, siginfo_t *info, void *argument)
{
    greg_t *registers = ((ucontext_t *)argument)->uc_mcontext.gregs;
    for (int i = 0; i < NGREG; i++)
        context_seen[i] = registers[i];
    context_address = (uintptr_t)info->si_addr;
    atomic_fetch_add(&context_came, 1);
    registers[REG_RIP] = registers[REG_R12];
    registers[REG_RSP] = registers[REG_R13];
}

#define CONTEXT_BEGIN                                                                              \
    "leaq 9f(%%rip), %%r12\n\tmovq %%rsp, %%r13\n\tmovabsq $0x1122334455667788, %%r15\n\t"
#define CONTEXT_END "\n9:"
#define CONTEXT_USED                                                                               \
    "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",       \
        "memory", "cc"

/* A function that calls another one keeps nothing below its stack pointer. */
static __attribute__((noinline)) void context_went_on(void)
{
    context_sink++;
    context_after++;
}

static void context_write(axo_ctx *ctx)
{
    __asm__ volatile(CONTEXT_BEGIN "leaq 8f(%%rip), %%r14\n8:\tmovb $1, 16(%0)" CONTEXT_END
                     :
                     : "r"(context_null)
                     : CONTEXT_USED);
    context_went_on();
}

static void context_call(axo_ctx *ctx)
{
    __asm__ volatile(CONTEXT_BEGIN "movq %0, %%r14\n\tcallq *%%r14" CONTEXT_END
                     :
                     : "r"(context_to)
                     : CONTEXT_USED);
    context_went_on();
}

/* There is no return address, and the handler's look for one crashes. */
static void context_jump(axo_ctx *ctx)
{
    __asm__ volatile(CONTEXT_BEGIN "movq %0, %%r14\n\tmovq $8, %%rsp\n\tjmpq *%%r14" CONTEXT_END
                     :
                     : "r"(context_to)
                     : CONTEXT_USED);
    context_went_on();
}

static void context_guarded(axo_ctx *ctx)
{
    axo_guard_begin(ctx);
    context_call(ctx);
}

static void context_now(axo_ctx *ctx)
{
    context_null[16] = 1;
}

typedef struct context_row {
    const char *name;
    crash_fn fn;
    const char *why;
    int64_t below;  /* how far the stack pointer was below that of the function */
    bool stackless; /* or it was 8 */
    bool write;     /* the address is 16, else context_to */
} context_row;

static const context_row context_rows[] = {
    {"a write, behind a walk", context_write, "the crash budget is spent", 0, false, true},
    {"a call of nothing, behind a walk", context_call, "the crash budget is spent", 8, false,
     false},
    {"a call of nothing, in a guard", context_guarded, "within a guard", 8, false, false},
    {"a jump without a stack", context_jump, "the stack cannot be walked", 0, true, false},
};

static void context_run(const void *arg)
{
    const context_row *row = arg;
    for (int i = 0; i < 5; i++)
        crash_handler((int[]){SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}[i], context_before);
    crash_start((axo_options){.workers = 1, .crashes_max = 1});
    crash_do(context_now); /* the budget */
    crash_ping();
    CRASH_CHECK(atomic_load(&cw.instance) == 2 && atomic_load(&context_came) == 0);
    for (uint32_t i = 1; i <= 3; i++) {
        crash_do(row->fn);
        crash_ping();
        CRASH_CHECK(atomic_load(&context_came) == i && context_after == i);
        CRASH_CHECK(context_seen[REG_R15] == CONTEXT_WORD);
        CRASH_CHECK(context_seen[REG_RIP] == context_seen[REG_R14]);
        CRASH_CHECK(context_address == (row->write ? 16 : context_to));
        CRASH_CHECK(row->write || (uintptr_t)context_seen[REG_R14] == context_to);
        CRASH_CHECK(context_seen[REG_RSP] ==
                    (row->stackless ? 8 : context_seen[REG_R13] - row->below));
        CRASH_CHECK(context_seen[REG_TRAPNO] == 14); /* a page fault */
        CRASH_CHECK(context_seen[REG_CR2] == (greg_t)context_address);
    }
    CRASH_CHECK(atomic_load(&cw.instance) == 2 && atomic_load(&cw.decided) == 1);
    CRASH_CHECK(axo_system_crashes(cw.system, NULL, 0) == 1);
    crash_finish();
}

static void registers_are_the_crashs(void **state)
{
    if (CRASH_REPORTED)
        skip();
    for (size_t i = 0; i < sizeof context_rows / sizeof context_rows[0]; i++) {
        const context_row *row = &context_rows[i];
        crash_end end = crash_run(context_run, row);
        crash_is_well(&end, row->name);
        const char *at = strstr(end.text, row->why);
        if (at == NULL || strstr(at + 1, row->why) == NULL)
            fail_msg("%s: \"%s\"", row->name, end.text);
    }
}
#else
static void registers_are_the_crashs(void **state)
{
}
#endif

/* ---- without `contain` ---------------------------------------------------------------------- */

static const int context_numbers[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGURG};
#define CONTEXT_NUMBERS (sizeof context_numbers / sizeof context_numbers[0])

/* Of the process, and of a thread that runs a callback. */
typedef struct context_had {
    struct sigaction actions[CONTEXT_NUMBERS];
    stack_t stack;
    bool blocked[CONTEXT_NUMBERS];
} context_had;

static context_had context_had_before;
static context_had context_has;

static void context_look(context_had *has)
{
    sigset_t mask;
    CRASH_CHECK(pthread_sigmask(SIG_SETMASK, NULL, &mask) == 0);
    CRASH_CHECK(sigaltstack(NULL, &has->stack) == 0);
    for (size_t i = 0; i < CONTEXT_NUMBERS; i++) {
        CRASH_CHECK(sigaction(context_numbers[i], NULL, &has->actions[i]) == 0);
        has->blocked[i] = sigismember(&mask, context_numbers[i]) == 1;
    }
}

static uint32_t context_differs(void)
{
    uint32_t count = 0;
    for (size_t i = 0; i < CONTEXT_NUMBERS; i++) {
        const struct sigaction *a = &context_had_before.actions[i];
        const struct sigaction *b = &context_has.actions[i];
        bool same = a->sa_flags == b->sa_flags &&
                    memcmp(&a->sa_mask, &b->sa_mask, sizeof(uint64_t)) == 0;
        if ((a->sa_flags & SA_SIGINFO) != 0)
            same = same && a->sa_sigaction == b->sa_sigaction;
        else
            same = same && a->sa_handler == b->sa_handler;
        count += !same;
    }
    return count;
}

static void context_ask(axo_ctx *ctx)
{
    context_look(&context_has);
}

static void context_theirs(int number)
{
}

/* A handler, one with a mask, ignored, the default. */
static void context_prepare(void)
{
    struct sigaction masked = {.sa_handler = context_theirs, .sa_flags = SA_RESTART};
    (void)sigaddset(&masked.sa_mask, SIGUSR2);
    CRASH_CHECK(signal(SIGFPE, SIG_IGN) != SIG_ERR && signal(SIGILL, SIG_DFL) != SIG_ERR);
    CRASH_CHECK(signal(SIGURG, context_theirs) != SIG_ERR);
    CRASH_CHECK(sigaction(SIGSEGV, &masked, NULL) == 0);
    context_look(&context_had_before);
}

static void context_off(const void *arg)
{
    axo_options options = AXO_OPTIONS(.workers = 1, .contain = *(const uint32_t *)arg);
    axo_class cls = crash_class;
    cls.watchdog_ms = 1000;
    context_prepare();
    CRASH_CHECK(axo_system_start(&options, &cw.system) == AXO_OK);
    for (uint32_t i = AXO_DISPATCH_DEFAULT; i <= AXO_DISPATCH_BLOCKING; i++) {
        axo_props props = AXO_PROPS(.cls = &cls, .dispatcher = i);
        CRASH_CHECK(axo_system_spawn(cw.system, &props, &cw.actor) == AXO_OK);
        crash_do(context_ask);
        crash_ping();
        /* The other way round it shows that this sees it. */
        CRASH_CHECK(context_differs() == (options.contain != 0 ? CONTEXT_NUMBERS : 0));
        CRASH_CHECK(((context_has.stack.ss_flags & SS_DISABLE) != 0) == (options.contain == 0));
        for (size_t k = 0; k < 4; k++)
            CRASH_CHECK(!context_has.blocked[k]);
        CRASH_CHECK(context_has.blocked[4] == (options.contain == 0));
        CRASH_CHECK(context_has.blocked[5] == (options.contain == 0 || i != AXO_DISPATCH_DEFAULT));
    }
    crash_finish();
    context_look(&context_has);
    CRASH_CHECK(context_differs() == 0);
    CRASH_CHECK(context_has.stack.ss_flags == context_had_before.stack.ss_flags);
}

static void without_it_nothing_changes(void **state)
{
    static const uint32_t contain[] = {0, 1};
    if (CRASH_REPORTED)
        skip();
    for (int i = 0; i < 2; i++) {
        crash_end end = crash_run(context_off, &contain[i]);
        crash_is_well(&end, i == 0 ? "off" : "on");
    }
}

/* ---- who is told first ---------------------------------------------------------------------- */

static atomic_uint context_warned;
static struct sigaction context_ours;

static void context_log(void *user, const axo_log_record *record)
{
    if (record->event == AXO_LOG_LINE && record->level == AXO_LOG_WARNING &&
        strstr(record->line, "another handler of crashes is called first") != NULL)
        atomic_fetch_add(&context_warned, 1);
}

static void context_pass(int number, siginfo_t *info, void *context)
{
    context_ours.sa_sigaction(number, info, context);
}

static void context_guard(axo_ctx *ctx)
{
    axo_guard_begin(ctx);
    context_null[16] = 1;
}

static void context_later(const void *arg)
{
    axo_options plain = AXO_OPTIONS(.manual = AXO_MANUAL_ALL);
    axo_options options = AXO_OPTIONS(.workers = 1, .contain = 1, .log_record = context_log);
    axo_system *other;
    CRASH_CHECK(axo_contain_state(NULL) == AXO_CONTAIN_NONE);
    CRASH_CHECK(axo_system_start(&plain, &other) == AXO_OK);
    CRASH_CHECK(axo_contain_state(other) == AXO_CONTAIN_NONE);
    CRASH_CHECK(axo_system_start(&options, &cw.system) == AXO_OK);
    CRASH_CHECK(axo_contain_state(cw.system) == AXO_CONTAIN_FIRST);
    CRASH_CHECK(axo_contain_state(other) == AXO_CONTAIN_NONE);
    CRASH_CHECK(axo_system_stop(other, -1, NULL, 0, NULL) == AXO_OK);
    CRASH_CHECK(axo_system_destroy(other) == AXO_OK);
    for (int i = 0; i < 5; i++) { /* each of the signals */
        CRASH_CHECK(sigaction(context_numbers[i], NULL, &context_ours) == 0);
        crash_handler(context_numbers[i], context_pass);
        CRASH_CHECK(axo_contain_state(cw.system) == AXO_CONTAIN_BEHIND);
        CRASH_CHECK(axo_system_start(&options, &other) == AXO_OK);
        CRASH_CHECK(atomic_load(&context_warned) == (unsigned)i + 1);
        CRASH_CHECK(axo_system_stop(other, PARTS_DEADLINE_NS, NULL, 0, NULL) == AXO_OK);
        CRASH_CHECK(axo_system_destroy(other) == AXO_OK);
        CRASH_CHECK(sigaction(context_numbers[i], &context_ours, NULL) == 0);
        CRASH_CHECK(axo_contain_state(cw.system) == AXO_CONTAIN_FIRST);
    }
    if (*(const bool *)arg)
        crash_handler(SIGSEGV, context_pass);
    crash_spawn(&crash_class, &cw.actor);
    crash_do(context_guard);
    crash_wait(&cw.pings, UINT32_MAX);
}

static void who_is_told_first(void **state)
{
    static const char line[] = ", class crasher, message 1; another handler was called first\n";
    static const bool later[] = {false, true};
    if (CRASH_REPORTED)
        skip();
    for (int i = 0; i < 2; i++) {
        crash_end end = crash_run(context_later, &later[i]);
        crash_is_dead(&end, "told", SIGSEGV, "is not contained: within a guard");
        assert_true((strstr(end.text, line) != NULL) == later[i]);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(registers_are_the_crashs),
    cmocka_unit_test(without_it_nothing_changes),
    cmocka_unit_test(who_is_told_first),
};

TEST_MAIN(tests)
