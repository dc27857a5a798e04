/* trap.c - the handler of crashes.
 *
 * In the handler nothing is called that is not safe in one: no lock, no memory, no formatting. A
 * crash of the handler's own look at the stack, or at a class, comes back to where it began
 * (`back`), and the crash is not contained. A signal that somebody sends meanwhile is passed on,
 * and the look goes on.
 */
#include "sched/trap.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "sched/contain.h"
#include "sched/twin.h"
#include "sched/walk.h"

#if AXO__WALKS
#define TRAP_STACK ((size_t)64 * 1024)
#define TRAP_LINE  512
#define TRAP_STACK_IS     0x1501 /* requests of valgrind's: to know a stack ... */
#define TRAP_STACK_IS_NOT 0x1502 /* ... and to forget it */
#define TRAP_PAGE  14 /* the processor's number of a page fault, and bits of its error code */
#define TRAP_FETCH 16
#define TRAP_WRITE 2

static const int trap_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
#define TRAP_SIGNALS (sizeof trap_signals / sizeof trap_signals[0])

/* A signal's disposition is the process's, and so is this: under the mutex, but for handlers, which
 * read what was there before the first of them could run. */
static axo__os_mutex trap_mutex = {.mutex = PTHREAD_MUTEX_INITIALIZER};
static struct sigaction trap_before[TRAP_SIGNALS];
static bool trap_there[TRAP_SIGNALS]; /* the handler is, or another one has kept it */
static bool trap_twin[TRAP_SIGNALS];  /* what was there before is another copy's (twin.h) */
static axo__a32 trap_systems;

static size_t trap_index(int number)
{
    size_t i = 0;
    while (i + 1 < TRAP_SIGNALS && trap_signals[i] != number)
        i++;
    return i;
}

/* ---- may it be contained? ---- */

static bool trap_is_its_thread(const axo__trap *trap)
{
    return trap->thread == (pid_t)syscall(SYS_gettid);
}

/* Whether the signal was sent. abort and raise send too: from this process, to this thread. */
static bool trap_is_sent(const siginfo_t *info)
{
    return info->si_code <= 0;
}

static bool trap_is_from_here(const siginfo_t *info)
{
    return info->si_code == SI_TKILL && info->si_pid == getpid();
}

/* Whether the thread has just raised it, as abort does: tgkill's arguments and its 0 are in the
 * registers still. */
static bool trap_is_raised(int number, const siginfo_t *info, const ucontext_t *context)
{
    const greg_t *registers = context->uc_mcontext.gregs;
    return trap_is_from_here(info) && registers[REG_RAX] == 0 &&
           registers[REG_RSI] == (greg_t)syscall(SYS_gettid) && registers[REG_RDX] == number;
}

/* What a page fault was at. Another fault's error code, that of an address which no memory can have
 * or of a bad segment, has other bits, and so has nobody's address. */
static bool trap_is_page(const siginfo_t *info, const greg_t *registers, greg_t bit)
{
    return !trap_is_sent(info) && registers[REG_TRAPNO] == TRAP_PAGE &&
           (registers[REG_ERR] & bit) != 0;
}

/* A call through a bad pointer: the code itself is not there, and the walk begins at the call. In
 * no other case may a return address be guessed: a function of axo could be stepped over. */
static bool trap_is_fetch(int number, const siginfo_t *info, const greg_t *registers)
{
    int64_t pc = (int64_t)registers[REG_RIP];
    return number == SIGSEGV && !trap_is_sent(info) &&
           (trap_is_page(info, registers, TRAP_FETCH) ||
            pc != (int64_t)((uint64_t)pc << 16) >> 16);
}

static uint32_t trap_access(int number, const siginfo_t *info, const greg_t *registers)
{
    if ((number != SIGSEGV && number != SIGBUS) || trap_is_sent(info))
        return AXO_CRASH_AT;
    if (trap_is_fetch(number, info, registers))
        return AXO_CRASH_FETCH;
    if (registers[REG_TRAPNO] != TRAP_PAGE)
        return AXO_CRASH_AT;
    return trap_is_page(info, registers, TRAP_WRITE) ? AXO_CRASH_WRITE : AXO_CRASH_READ;
}

/* Puts back the registers that the unwinder has begun with. */
static axo__verdict trap_walked(axo__trap *trap, greg_t *registers, greg_t pc, greg_t sp,
                                axo__verdict verdict)
{
    axo__trap_back(trap, NULL);
    registers[REG_RIP] = pc;
    registers[REG_RSP] = sp;
    return verdict;
}

static __attribute__((noinline)) axo__verdict trap_walk(axo__worker *worker, int number,
                                                        const siginfo_t *info, greg_t *registers)
{
    axo__unwind back;
    axo__trap *trap = worker->trap;
    axo_crash *crash = &trap->crash;
    const greg_t pc = registers[REG_RIP];
    const greg_t sp = registers[REG_RSP];
    memset(crash, 0, sizeof *crash);
    if (AXO__UNWIND_SET(&back) != 0)
        return trap_walked(trap, registers, pc, sp, AXO__VERDICT_UNWIND);
    axo__trap_back(trap, &back);
    const axo_class *cls = axo__cell_class(worker->current);
    axo__walked from = {.pc = (uintptr_t)pc, .sent = trap_is_sent(info)};
    from.writes = trap_is_page(info, registers, TRAP_WRITE);
    axo__trap_own(worker, cls, &from.own);
    if (trap_is_fetch(number, info, registers)) {
        crash->frames[crash->frame_count++] = (uint64_t)pc;
        crash->depth++;
        from.pc = *(const uintptr_t *)(uintptr_t)sp - 1;
        registers[REG_RIP] = (greg_t)from.pc;
        registers[REG_RSP] = sp + (greg_t)sizeof(void *);
    }
    return trap_walked(trap, registers, pc, sp, axo__walk(&from, crash));
}

static bool trap_asked(axo__trap *trap, bool asked)
{
    axo__trap_back(trap, NULL);
    return asked;
}

static __attribute__((noinline)) bool trap_is_asked_for(axo__worker *worker)
{
    axo__unwind back;
    if (AXO__UNWIND_SET(&back) != 0)
        return trap_asked(worker->trap, false);
    axo__trap_back(worker->trap, &back);
    return trap_asked(worker->trap,
                      axo__cell_class(worker->current)->on_crash == AXO_CRASH_FAILS);
}

static axo__verdict trap_judge(axo__worker *worker, int number, const siginfo_t *info,
                               ucontext_t *context)
{
    if (!axo__trap_is_worker(worker) || !trap_is_its_thread(worker->trap))
        return AXO__VERDICT_NOT_WORKER;
    if (!axo__trap_is_user(worker))
        return AXO__VERDICT_NOT_USER;
    if (!trap_is_asked_for(worker))
        return AXO__VERDICT_CLASS;
    if (trap_is_sent(info) && !trap_is_from_here(info))
        return AXO__VERDICT_SENT;
    if (axo__trap_is_guarded(worker))
        return AXO__VERDICT_GUARDED;
    if (axo__walk_holds(worker->trap->held))
        return AXO__VERDICT_HELD;
    if (axo__walk_locks())
        return AXO__VERDICT_LOCKED;
    axo__verdict verdict = trap_walk(worker, number, info, context->uc_mcontext.gregs);
    if (verdict == AXO__VERDICT_CONTAINED &&
        !axo__contain_spend(worker->local.core->contain, axo__os_now()))
        return AXO__VERDICT_LIMIT;
    return verdict;
}

/* ---- whose handler is called first ---- */

static bool trap_is_ours(int number)
{
    struct sigaction now;
    return sigaction(number, NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) != 0 &&
           now.sa_sigaction == axo__twin_entry;
}

static bool trap_comes_first(int number)
{
    struct sigaction now;
    return sigaction(number, NULL, &now) == 0 && axo__twin_is(&now);
}

bool axo__trap_is_first(void)
{
    size_t i = 0;
    while (i < TRAP_SIGNALS && trap_comes_first(trap_signals[i]))
        i++;
    return i == TRAP_SIGNALS;
}

/* ---- the line of one that is not ---- */

typedef struct trap_line {
    size_t at;
    char text[TRAP_LINE];
} trap_line;

static void trap_add(trap_line *line, const char *text)
{
    while (*text != 0 && line->at < sizeof line->text - 1)
        line->text[line->at++] = *text++;
}

static void trap_add_number(trap_line *line, uint64_t number, uint32_t base)
{
    char digits[24];
    size_t at = sizeof digits - 1;
    digits[at] = 0;
    do {
        digits[--at] = "0123456789abcdef"[number % base];
        number /= base;
    } while (number > 0);
    trap_add(line, digits + at);
}

static void trap_add_actor(trap_line *line, const axo__worker *worker)
{
    const axo__cell *cell = worker->current;
    const axo__name *name = axo__cell_name(cell);
    trap_add(line, "; actor ");
    trap_add(line, name != NULL ? name->text : "$");
    trap_add(line, name != NULL ? " (#" : "");
    trap_add_number(line, axo__cell_ref(cell).bits, 16);
    trap_add(line, name != NULL ? ")" : "");
    const char *cls = axo__cell_class(cell)->name;
    trap_add(line, ", class ");
    trap_add(line, cls != NULL ? cls : "without a name");
    if (worker->message == NULL || worker->site != AXO_SITE_RECEIVE)
        return;
    trap_add(line, ", message ");
    trap_add_number(line, worker->message->pub.tag, 10);
}

/* What is read of the actor may be what has been overwritten. */
static __attribute__((noinline)) void trap_say_actor(trap_line *line, axo__worker *worker)
{
    axo__unwind back;
    axo__trap *trap = worker->trap;
    axo__unwind *const outer = trap->back; /* of the look that a signal has come into */
    const size_t before = line->at;
    if (worker->current == NULL)
        return;
    if (AXO__UNWIND_SET(&back) == 0) {
        axo__trap_back(trap, &back);
        trap_add_actor(line, worker);
    } else {
        line->at = before;
    }
    axo__trap_back(trap, outer);
}

static void trap_say(axo__worker *worker, int number, const siginfo_t *info, axo__verdict verdict)
{
    trap_line line;
    line.at = 0;
    trap_add(&line, "axo: ");
    trap_add(&line, axo__trap_name(number));
    if (!trap_is_sent(info)) {
        trap_add(&line, " at 0x");
        trap_add_number(&line, (uintptr_t)info->si_addr, 16);
    }
    trap_add(&line, " is not contained: ");
    trap_add(&line, axo__verdict_text(verdict));
    if (worker != NULL && worker->trap != NULL && verdict != AXO__VERDICT_NOT_WORKER)
        trap_say_actor(&line, worker);
    if (!trap_comes_first(number))
        trap_add(&line, "; another handler was called first");
    line.text[line.at++] = '\n';
    (void)!write(STDERR_FILENO, line.text, line.at);
}

/* ---- the handler ---- */

bool axo__trap_has(const struct sigaction *action)
{
    return (action->sa_flags & SA_SIGINFO) != 0 ||
           (action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN);
}

void axo__trap_call(const struct sigaction *before, int number, siginfo_t *info, void *context)
{
    sigset_t mask = before->sa_mask; /* until the handler returns, which puts the mask back */
    if ((before->sa_flags & SA_NODEFER) == 0)
        (void)sigaddset(&mask, number);
    (void)pthread_sigmask(SIG_BLOCK, &mask, NULL);
    if ((before->sa_flags & SA_SIGINFO) != 0)
        before->sa_sigaction(number, info, context);
    else
        before->sa_handler(number);
}

static void trap_reset(int number)
{
    struct sigaction fresh;
    memset(&fresh, 0, sizeof fresh);
    fresh.sa_handler = SIG_DFL;
    (void)sigaction(number, &fresh, NULL);
}

/* Without a handler before: the instruction is run again, and ends the process there; a signal that
 * was sent is sent again. */
static void trap_default(int number, const siginfo_t *info)
{
    trap_reset(number);
    if (trap_is_sent(info))
        (void)syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), number);
}

static void trap_pass_on(int number, siginfo_t *info, void *context, axo__twin_how how)
{
    const size_t i = trap_index(number);
    const struct sigaction *before = &trap_before[i];
    if (trap_twin[i]) {
        axo__twin_pass(before, how, number, info, context);
    } else if (axo__trap_has(before)) {
        if ((before->sa_flags & (int)SA_RESETHAND) != 0) /* it is called once */
            trap_reset(number);
        axo__trap_call(before, number, info, context);
    } else if (before->sa_handler == SIG_DFL || !trap_is_sent(info)) {
        trap_default(number, info);
    }
}

static __attribute__((noreturn, noinline)) void trap_jump(const axo__unwind *to)
{
    AXO__UNWIND_JUMP((axo__unwind *)(uintptr_t)to);
}

/* A handler that was called first may have been entered with signals blocked; and the kernel begins
 * each with floating point as it is at first. */
void axo__trap_restore(const void *argument)
{
    const ucontext_t *context = argument;
    const struct _libc_fpstate *floating = context->uc_mcontext.fpregs;
    (void)pthread_sigmask(SIG_SETMASK, &context->uc_sigmask, NULL);
    if (floating == NULL)
        return;
    __asm__ volatile("fldcw %0\n\tldmxcsr %1" : : "m"(floating->cwd), "m"(floating->mxcsr));
}

/* One line for a crash, whatever the number of copies: of the one whose worker it is, or of the
 * last that is asked. A copy without systems has nothing to say, unless another one asks it. */
static axo__twin_how trap_tell(axo__worker *worker, int number, const siginfo_t *info,
                               axo__verdict verdict, axo__twin_how how)
{
    const bool known = verdict != AXO__VERDICT_NOT_WORKER;
    if (how == AXO__TWIN_SAID ||
        (how == AXO__TWIN_NONE && axo__a32_load_relaxed(&trap_systems) == 0))
        return how;
    if (!known && trap_twin[trap_index(number)])
        return AXO__TWIN_ASKED;
    trap_say(worker, number, info, verdict);
    return AXO__TWIN_SAID;
}

void axo__trap_handle(int number, siginfo_t *info, void *argument, uint32_t how)
{
    int error = errno;
    axo__worker *worker = axo__self;
    axo__trap *trap = worker != NULL ? worker->trap : NULL;
    ucontext_t *context = argument;
    const bool looks = trap != NULL && trap->back != NULL;
    if (looks && (!trap_is_sent(info) || trap_is_raised(number, info, context)))
        trap_jump(trap->back); /* the unwinder may abort, too */
    const bool second = trap != NULL && trap->busy;
    axo__verdict verdict = looks    ? AXO__VERDICT_SENT
                           : second ? AXO__VERDICT_RUNTIME
                                    : AXO__VERDICT_NOT_WORKER;
    if (trap != NULL)
        axo__trap_busy(trap, true);
    if (trap != NULL && !second && !looks)
        verdict = trap_judge(worker, number, info, context);
    if (verdict == AXO__VERDICT_CONTAINED) {
        trap->crash.signal = number;
        trap->crash.code = info->si_code;
        trap->crash.access = trap_access(number, info, context->uc_mcontext.gregs);
        trap->crash.address = trap_is_sent(info) ? 0 : (uint64_t)(uintptr_t)info->si_addr;
        trap->crash.pc = (uint64_t)context->uc_mcontext.gregs[REG_RIP];
        trap->fresh = true;
        axo__trap_restore(context);
        trap_jump(worker->unwind);
    }
    const axo__twin_how told = trap_tell(worker, number, info, verdict, (axo__twin_how)how);
    if (trap != NULL)
        axo__trap_busy(trap, second);
    trap_pass_on(number, info, argument, told);
    errno = error;
}

/* ---- for the process ---- */

/* A handler that came after this one and was left in its place when the last system ended calls
 * this one still: it must not become the one before. Where there is none, nobody does. */
static void trap_install(size_t i)
{
    struct sigaction action;
    if (trap_there[i] && sigaction(trap_signals[i], NULL, &action) == 0 && axo__trap_has(&action))
        return;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = axo__twin_entry;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigemptyset(&action.sa_mask);
    (void)sigaction(trap_signals[i], NULL, &trap_before[i]);
    trap_twin[i] = axo__twin_is(&trap_before[i]);
    trap_there[i] = sigaction(trap_signals[i], &action, NULL) == 0;
}

bool axo__trap_enter(void)
{
    axo__os_mutex_lock(&trap_mutex);
    bool ready = axo__a32_load_relaxed(&trap_systems) > 0 || axo__walk_ready();
    if (ready && axo__a32_add_relaxed(&trap_systems, 1) == 0) {
        for (size_t i = 0; i < TRAP_SIGNALS; i++)
            trap_install(i);
    }
    axo__os_mutex_unlock(&trap_mutex);
    return ready;
}

void axo__trap_rest(void)
{
    struct sigaction twins[TRAP_SIGNALS];
    size_t count = 0;
    bool stays = false;
    axo__os_mutex_lock(&trap_mutex);
    for (size_t i = 0; i < TRAP_SIGNALS && axo__a32_load_relaxed(&trap_systems) == 0; i++) {
        if (trap_is_ours(trap_signals[i]) &&
            sigaction(trap_signals[i], &trap_before[i], NULL) == 0) {
            trap_there[i] = false;
            if (trap_twin[i])
                twins[count++] = trap_before[i];
        }
        stays = stays || trap_there[i];
    }
    axo__os_mutex_unlock(&trap_mutex);
    if (stays)
        axo__twin_stay();
    while (count > 0)
        axo__twin_left(&twins[--count]);
}

void axo__trap_leave(void)
{
    axo__os_mutex_lock(&trap_mutex);
    (void)axo__a32_add_relaxed(&trap_systems, UINT32_MAX);
    axo__os_mutex_unlock(&trap_mutex);
    axo__trap_rest();
}

/* ---- for a worker ---- */

/* Asks valgrind, if the program runs under it: else these instructions do nothing. Each kind of
 * processor has its own; they, and the numbers, are part of its interface. */
static uintptr_t trap_ask_valgrind(uintptr_t number, uintptr_t first, uintptr_t second)
{
    const uintptr_t request[6] = {number, first, second};
    uintptr_t answer;
    __asm__ volatile("rolq $3, %%rdi\n\trolq $13, %%rdi\n\t"
                     "rolq $61, %%rdi\n\trolq $51, %%rdi\n\txchgq %%rbx, %%rbx"
                     : "=d"(answer)
                     : "a"(request), "0"((uintptr_t)0)
                     : "cc", "memory");
    return answer;
}

/* The record lies at the stack's upper end. A jump off a stack that valgrind does not know may look
 * to it like a step within the thread's: it would take what lies between for spilt. */
bool axo__trap_make(axo__worker *worker)
{
    if (worker->local.core->contain == NULL)
        return true;
    char *memory = axo__os_stack_alloc(TRAP_STACK + sizeof(axo__trap));
    if (memory == NULL)
        return false;
    worker->trap = (axo__trap *)(void *)(memory + TRAP_STACK);
    worker->trap->known = trap_ask_valgrind(TRAP_STACK_IS, (uintptr_t)memory,
                                            (uintptr_t)memory + TRAP_STACK - 1);
    return true;
}

void axo__trap_free(axo__worker *worker)
{
    axo__trap *trap = worker->trap;
    worker->trap = NULL;
    if (trap == NULL)
        return;
    (void)trap_ask_valgrind(TRAP_STACK_IS_NOT, trap->known, 0);
    axo__os_stack_free((char *)trap - TRAP_STACK, TRAP_STACK + sizeof(axo__trap));
}

/* A thread of the library blocks SIGABRT, which a raise of its own would then leave pending; one of
 * the program's may block them all, and a fault that is blocked ends the process without a word. */
void axo__trap_begin(axo__worker *worker)
{
    axo__trap *trap = worker->trap;
    stack_t stack = {.ss_sp = (char *)trap - TRAP_STACK, .ss_size = TRAP_STACK};
    sigset_t own;
    trap->thread = (pid_t)syscall(SYS_gettid);
    trap->held = axo__walk_held();
    sigemptyset(&own);
    for (size_t i = 0; i < TRAP_SIGNALS; i++)
        (void)sigaddset(&own, trap_signals[i]);
    (void)pthread_sigmask(SIG_UNBLOCK, &own, &trap->mask);
    (void)sigaltstack(&stack, &trap->before);
}

void axo__trap_end(axo__worker *worker)
{
    axo__trap *trap = worker->trap;
    (void)sigaltstack(&trap->before, NULL);
    (void)pthread_sigmask(SIG_SETMASK, &trap->mask, NULL);
}
#else
bool axo__trap_enter(void)
{
    return false;
}

bool axo__trap_is_first(void)
{
    return false;
}

void axo__trap_leave(void)
{
}

bool axo__trap_make(axo__worker *worker)
{
    (void)worker;
    return true;
}

void axo__trap_free(axo__worker *worker)
{
    (void)worker;
}

void axo__trap_begin(axo__worker *worker)
{
    (void)worker;
}

void axo__trap_end(axo__worker *worker)
{
    (void)worker;
}
#endif
