/* crash_nested_test.c - a signal at each instruction of the handler of crashes, whose own handler
 * calls the library's again, as if that instruction had crashed: a profiler's handler that crashes
 * does so. The first crash is contained all the same, with its record, or the handler before ours
 * is called; and the thread goes on.
 *
 * The instructions are found by going through the handler once, step by step. Then each of them
 * becomes a breakpoint for one crash. Then each for a signal that somebody sends meanwhile: that
 * one goes to the handler before, always, and the crash is contained.
 */
#include <ucontext.h>

#include "fault/crash.h"
#include "sched/trap.h"

#if defined(__x86_64__)

enum { NESTED_DIRT = 24 * 1024, NESTED_TRAP = 0x100, NESTED_MAX = 8192, NESTED_BREAK = 0xcc };

extern char __start_axo_text[] __attribute__((visibility("hidden")));
extern char __stop_axo_text[] __attribute__((visibility("hidden")));

static uint8_t *nested_found[NESTED_MAX];
static volatile uint64_t nested_count;
static uint8_t *volatile nested_at; /* where the second signal comes; NULL: in steps */
static volatile uint8_t nested_byte;
static volatile uint64_t nested_refused;
static volatile uint64_t nested_second;
static volatile bool nested_sends;
static volatile uint64_t nested_sent;
static volatile uint64_t nested_passed; /* of those that were sent */
static struct sigaction nested_ours;
static stack_t nested_stack;

/* What the stack held before must not look like a point to come back to. */
static __attribute__((noinline)) void nested_dirty(void)
{
    volatile char dirt[NESTED_DIRT];
    for (size_t i = 0; i < sizeof dirt; i++)
        dirt[i] = (char)0xa5;
}

/* The instruction has two bytes. */
static void nested_before(int number, siginfo_t *info, void *context)
{
    if (number == SIGILL)
        ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2;
    if (number == SIGILL)
        nested_refused++;
    else if (number == SIGABRT)
        nested_passed++;
    else
        nested_second++;
}

static void nested_ill(int number, siginfo_t *info, void *context)
{
    (void)sigaltstack(NULL, &nested_stack);
    nested_dirty();
    if (nested_at != NULL) {
        nested_byte = *nested_at;
        *nested_at = NESTED_BREAK;
    } else {
        __asm__ volatile("pushfq\n\torq $0x100, (%%rsp)\n\tpopfq" ::: "memory", "cc");
    }
    nested_ours.sa_sigaction(number, info, context);
    __asm__ volatile("pushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq" ::: "memory", "cc");
}

static bool nested_is_handler(const greg_t *registers)
{
    return (uintptr_t)registers[REG_RSP] - (uintptr_t)nested_stack.ss_sp < nested_stack.ss_size;
}

/* Between two steps. */
static void nested_find(greg_t *registers)
{
    uint8_t *pc = (uint8_t *)(uintptr_t)registers[REG_RIP];
    if (!nested_is_handler(registers))
        registers[REG_EFL] &= ~(greg_t)NESTED_TRAP; /* it has landed */
    else if (pc >= (uint8_t *)__start_axo_text && pc < (uint8_t *)__stop_axo_text)
        nested_found[nested_count++ % NESTED_MAX] = pc;
}

static void nested_trap(int number, siginfo_t *info, void *context)
{
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    siginfo_t crash;
    if (nested_at == NULL) {
        nested_find(registers);
        return;
    }
    *nested_at = nested_byte;
    registers[REG_RIP]--;
    if (!nested_is_handler(registers))
        return;
    registers[REG_TRAPNO] = 14;
    registers[REG_ERR] = 4;
    memset(&crash, 0, sizeof crash);
    crash.si_signo = nested_sends ? SIGABRT : SIGSEGV;
    crash.si_code = nested_sends ? SI_TKILL : SEGV_MAPERR;
    if (nested_sends) {
        crash.si_pid = getpid();
        nested_sent++;
    }
    const axo__trap *trap = axo__self->trap;
    const axo__unwind *back = trap->back;
    nested_ours.sa_sigaction(crash.si_signo, &crash, context);
    CRASH_CHECK(trap->back == back); /* what it has come into goes on as it was */
}

static axo_status nested_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    __asm__ volatile("ud2");
    return AXO_OK;
}

static const axo_class nested_class =
    AXO_CLASS(.name = "nested", .receive = nested_receive, .on_crash = AXO_CRASH_FAILS);

static void nested_once(void)
{
    axo_crash crash;
    const uint64_t refused = nested_refused;
    const uint64_t before = axo_system_crashes(cw.system, NULL, 0);
    CRASH_CHECK(axo_system_send(cw.system, cw.actor, CRASH_DO, NULL, 0) == AXO_OK);
    crash_work_off();
    const uint64_t after = axo_system_crashes(cw.system, &crash, 1);
    CRASH_CHECK(after - before + nested_refused - refused == 1);
    if (after > before)
        CRASH_CHECK(crash.signal == SIGILL && crash.depth > 1 && crash.frames[0] == crash.pc);
}

static int nested_compare(const void *left, const void *right)
{
    uintptr_t a = (uintptr_t) * (uint8_t *const *)left;
    uintptr_t b = (uintptr_t) * (uint8_t *const *)right;
    return a < b ? -1 : a > b;
}

/* Each of those found, once. */
static uint64_t nested_each(void)
{
    uint64_t tries = 0;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t from = (uintptr_t)__start_axo_text & ~(page - 1);
    CRASH_CHECK(nested_count > 100 && nested_count <= NESTED_MAX);
    qsort(nested_found, nested_count, sizeof nested_found[0], nested_compare);
    CRASH_CHECK(mprotect((void *)from, (uintptr_t)__stop_axo_text - from,
                         PROT_READ | PROT_WRITE | PROT_EXEC) == 0);
    for (uint64_t i = 0; i < nested_count; i++) {
        if (i > 0 && nested_found[i] == nested_found[i - 1])
            continue;
        nested_at = nested_found[i];
        nested_once();
        CRASH_CHECK(*nested_at == nested_byte);
        tries++;
    }
    return tries;
}

static void nested_run(const void *arg)
{
    axo_options options = AXO_OPTIONS(
        .manual = 1, .contain = 1, .crashes_max = 65536, .crash_window_ns = 1,
        .allocator = {.alloc = parts_alloc, .free = parts_free, .user = &cw.heap});
    axo_props props = AXO_PROPS(.cls = &nested_class);
    crash_fd = dup(STDERR_FILENO); /* each that is refused is a line */
    CRASH_CHECK(freopen("/dev/null", "w", stderr) != NULL);
    crash_handler(SIGSEGV, nested_before);
    crash_handler(SIGILL, nested_before);
    crash_handler(SIGABRT, nested_before);
    CRASH_CHECK(axo_system_start(&options, &cw.system) == AXO_OK);
    CRASH_CHECK(sigaction(SIGILL, NULL, &nested_ours) == 0);
    crash_handler(SIGILL, nested_ill);
    crash_handler(SIGTRAP, nested_trap);
    CRASH_CHECK(axo_system_spawn(cw.system, &props, &cw.actor) == AXO_OK);
    nested_once();
    CRASH_CHECK(axo_system_crashes(cw.system, NULL, 0) == 1);
    const uint64_t tries = nested_each() + 1;
    const uint64_t contained = axo_system_crashes(cw.system, NULL, 0);
    CRASH_CHECK(nested_refused > 0 && nested_second > 0);
    CRASH_CHECK(contained + nested_refused == tries);
    const uint64_t refused = nested_refused;
    nested_sends = true;
    const uint64_t others = nested_each();
    CRASH_CHECK(nested_sent > 100 && nested_passed == nested_sent);
    CRASH_CHECK(axo_system_crashes(cw.system, NULL, 0) == contained + others);
    crash_finish();
    (void)dprintf(crash_fd, "%llu contained, %llu refused, %llu second ones refused; %llu sent\n",
                  (unsigned long long)contained, (unsigned long long)refused,
                  (unsigned long long)nested_second, (unsigned long long)nested_sent);
}

static void within_the_handler(void **state)
{
    if (CRASH_REPORTED)
        skip();
    crash_end end = crash_run(nested_run, NULL);
    crash_is_well(&end, "within the handler");
    (void)printf("%s", end.text);
}
#else
static void within_the_handler(void **state)
{
}
#endif

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(within_the_handler),
};

TEST_MAIN(tests)
