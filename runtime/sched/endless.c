/* endless.c - the watchdog: who is signalled when, and the handler.
 *
 * The handler's rules are those of trap.c: no lock, no memory; a crash of its look at the stack
 * comes back to `back`. It runs at any instruction of the worker's thread, in the handler of
 * crashes and between two callbacks too: there the walk ends in a function of axo, and nothing is
 * changed.
 *
 * Orders
 *   [T4]   as in cell/table.h
 */
#include "sched/endless.h"

#include <string.h>

#include "sched/contain.h"
#include "sched/trap.h"
#include "sched/twin.h"
#include "sched/walk.h"

#if AXO__WALKS
#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

/* As those of trap.c: under the mutex, but for the handler. */
static axo__os_mutex endless_mutex = {.mutex = PTHREAD_MUTEX_INITIALIZER};
static struct sigaction endless_before;
static bool endless_there;
static uint32_t endless_systems;

/* ---- the handler ---- */

/* Sent by a spare of this process to the worker whose trap it names. */
static bool endless_is_ours(const siginfo_t *info)
{
    return info->si_code == SI_QUEUE && info->si_errno == AXO__ENDLESS_OURS &&
           info->si_pid == getpid() && info->si_value.sival_ptr != NULL;
}

static axo__verdict endless_walked(axo__trap *trap, axo__verdict verdict)
{
    axo__trap_back(trap, NULL);
    return verdict;
}

/* Where the worker is; and how long a callback of the cell's class may run. */
static __attribute__((noinline)) axo__verdict endless_walk(axo__worker *worker,
                                                           const greg_t *registers, int64_t *limit)
{
    axo__unwind back;
    axo__trap *trap = worker->trap;
    memset(&trap->endless.crash, 0, sizeof trap->endless.crash);
    if (AXO__UNWIND_SET(&back) != 0)
        return endless_walked(trap, AXO__VERDICT_UNWIND);
    axo__trap_back(trap, &back);
    const axo_class *cls = axo__cell_class(worker->current);
    axo__walked from = {.pc = (uintptr_t)registers[REG_RIP], .interrupted = true};
    axo__trap_own(worker, cls, &from.own);
    *limit = (int64_t)cls->watchdog_ms * 1000000;
    if (cls->watchdog_ms == 0)
        return endless_walked(trap, AXO__VERDICT_CLASS);
    return endless_walked(trap, axo__walk(&from, &trap->endless.crash));
}

static axo__verdict endless_judge(axo__worker *worker, const greg_t *registers, int64_t *limit)
{
    if (!axo__trap_is_user(worker))
        return AXO__VERDICT_NOT_USER;
    if (axo__trap_is_guarded(worker))
        return AXO__VERDICT_GUARDED;
    if (axo__walk_holds(worker->trap->held))
        return AXO__VERDICT_HELD;
    if (axo__walk_locks())
        return AXO__VERDICT_LOCKED;
    return endless_walk(worker, registers, limit);
}

/* The callback is in its own code: whether it has been there for so long. */
static bool endless_is_over(axo__worker *worker, int64_t limit)
{
    axo__endless *endless = &worker->trap->endless;
    const uint64_t when = axo__worker_count(worker);
    const int64_t now = axo__os_now();
    if (worker->noted != when || endless->site != worker->site) {
        worker->noted = when;
        endless->site = worker->site;
        endless->began = now;
        axo__a64_store_relaxed(&endless->until, (uint64_t)(now + limit));
    }
    return now - endless->began >= limit;
}

static __attribute__((noreturn, noinline)) void endless_jump(const axo__unwind *to)
{
    AXO__UNWIND_JUMP((axo__unwind *)(uintptr_t)to);
}

/* The way of a crash: axo__trap_land tells what it was. The signal is blocked while its handler
 * runs, so that many of them do not fill the stack; this handler does not return. */
static __attribute__((noreturn)) void endless_leave(axo__worker *worker, const siginfo_t *info,
                                                    const ucontext_t *context)
{
    axo__trap *trap = worker->trap;
    axo__trap_busy(trap, true);
    trap->crash = trap->endless.crash;
    trap->endless.ran = axo__os_now() - trap->endless.began;
    trap->crash.signal = SIGURG;
    trap->crash.code = info->si_code;
    trap->crash.pc = (uint64_t)context->uc_mcontext.gregs[REG_RIP];
    trap->fresh = true;
    axo__trap_restore(context);
    endless_jump(worker->unwind);
}

static void endless_look(axo__worker *worker, const siginfo_t *info, const ucontext_t *context)
{
    axo__endless *endless = &worker->trap->endless;
    const greg_t *registers = context->uc_mcontext.gregs;
    int64_t limit = 0;
    if (worker->trap->back != NULL)
        return; /* it has interrupted a look at the stack */
    axo__verdict verdict = endless_judge(worker, registers, &limit);
    if (verdict == AXO__VERDICT_CONTAINED && endless_is_over(worker, limit)) {
        if (axo__contain_spend(worker->local.core->contain, axo__os_now()))
            endless_leave(worker, info, context);
        verdict = AXO__VERDICT_LIMIT;
    }
    axo__a32_store_relaxed(&endless->refused, (uint32_t)verdict);
}

/* Inside axo_block the thread is no worker, or another system's. */
static void endless_handle(int number, siginfo_t *info, void *argument)
{
    int error = errno;
    axo__worker *worker = axo__self;
    if (!endless_is_ours(info)) { /* the program's, and ignored by default */
        if (axo__trap_has(&endless_before))
            axo__trap_call(&endless_before, number, info, argument);
    } else if (worker != NULL && worker->trap == info->si_value.sival_ptr) {
        if (axo__os_at_home(worker->local.core->home))
            endless_look(worker, info, argument);
    } else if (axo__away != NULL && axo__away->trap == info->si_value.sival_ptr) {
        axo__a32_store_relaxed(&axo__away->trap->endless.refused, AXO__VERDICT_NOT_WORKER);
    }
    errno = error;
}

/* ---- for the process, and for a worker ---- */

static bool endless_is_here(void)
{
    struct sigaction now;
    return sigaction(SIGURG, NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) != 0 &&
           now.sa_sigaction == endless_handle;
}

/* As trap_install has it. A handler before that wants its system calls interrupted has that. */
static void endless_install(void)
{
    struct sigaction action;
    if (endless_there && sigaction(SIGURG, NULL, &action) == 0 && axo__trap_has(&action))
        return;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = endless_handle;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
    sigemptyset(&action.sa_mask);
    (void)sigaction(SIGURG, NULL, &endless_before);
    if (axo__trap_has(&endless_before) && (endless_before.sa_flags & SA_RESTART) == 0)
        action.sa_flags &= ~SA_RESTART;
    endless_there = sigaction(SIGURG, &action, NULL) == 0;
}

void axo__endless_enter(void)
{
    axo__os_mutex_lock(&endless_mutex);
    if (endless_systems++ == 0)
        endless_install();
    axo__os_mutex_unlock(&endless_mutex);
}

void axo__endless_rest(void)
{
    axo__os_mutex_lock(&endless_mutex);
    if (endless_systems == 0 && endless_is_here() &&
        sigaction(SIGURG, &endless_before, NULL) == 0)
        endless_there = false;
    const bool stays = endless_systems == 0 && endless_there;
    axo__os_mutex_unlock(&endless_mutex);
    if (stays)
        axo__twin_stay();
}

void axo__endless_leave(void)
{
    axo__os_mutex_lock(&endless_mutex);
    endless_systems--;
    axo__os_mutex_unlock(&endless_mutex);
    axo__endless_rest();
}

void axo__endless_begin(axo__worker *worker)
{
    sigset_t urgent;
    if (worker->sched->spare_count == 0)
        return;
    sigemptyset(&urgent);
    sigaddset(&urgent, SIGURG);
    (void)pthread_sigmask(SIG_UNBLOCK, &urgent, NULL);
    axo__a32_store_relaxed(&worker->trap->endless.thread, (uint32_t)syscall(SYS_gettid));
}

void axo__endless_end(axo__worker *worker)
{
    axo__a32_store_relaxed(&worker->trap->endless.thread, 0);
}

/* ---- for spares ---- */

/* The thread may have ended, and its number be another's of this process: that one finds that the
 * signal is not for it. The handler stays as long as there is a spare. */
static void endless_send(axo__trap *trap)
{
    siginfo_t info;
    const long thread = (long)axo__a32_load_relaxed(&trap->endless.thread);
    if (thread == 0)
        return;
    if (!endless_is_here()) {
        axo__a32_store_relaxed(&trap->endless.refused, AXO__VERDICT_HANDLER);
        return;
    }
    memset(&info, 0, sizeof info);
    info.si_signo = SIGURG;
    info.si_code = SI_QUEUE;
    info.si_errno = AXO__ENDLESS_OURS;
    info.si_pid = getpid();
    info.si_uid = getuid();
    info.si_value.sival_ptr = trap;
    (void)syscall(SYS_rt_tgsigqueueinfo, getpid(), thread, SIGURG, &info);
}

/* How long a callback of the worker's cell may run; 0: for ever. The cell may have ended since
 * `running` was loaded, as in spare_report. */
static int64_t endless_limit(const axo__worker *worker)
{
    const axo__cell *cell = axo__aptr_load_relaxed(&worker->running);
    if (cell == NULL || !axo__cell_has_life(cell)) /* [T4] */
        return 0;
    return (int64_t)axo__cell_class(cell)->watchdog_ms * 1000000;
}

/* Signals, and says when to look again. The first signal follows when the mark is as old as a
 * callback may be: what the last one left behind is of another callback. */
static int64_t endless_try(axo__trap *trap, axo__endless_mark *mark, int64_t now)
{
    uint32_t doubles = mark->tries / AXO__ENDLESS_TRIES;
    if (doubles > AXO__ENDLESS_DOUBLES)
        doubles = AXO__ENDLESS_DOUBLES;
    if (mark->tries == 0) {
        axo__a32_store_relaxed(&trap->endless.refused, AXO__VERDICT_CONTAINED);
        axo__a64_store_relaxed(&trap->endless.until, 0);
    }
    mark->tries += mark->tries < UINT32_MAX;
    endless_send(trap);
    return now + (AXO__ENDLESS_NS << doubles);
}

void axo__endless_look(axo__worker *spare, axo__worker *worker, int64_t since,
                       axo__endless_mark *mark)
{
    axo__trap *trap = worker->trap;
    if (axo__likely(axo__a32_load_relaxed(&spare->local.core->watchdogs) == 0) || since == 0 ||
        trap == NULL)
        return;
    const int64_t limit = endless_limit(worker);
    if (limit == 0)
        return;
    int64_t until = (int64_t)axo__a64_load_relaxed(&trap->endless.until);
    if (mark->tries == 0)
        mark->at = axo__clock_add(since, limit);
    else if (until > mark->at)
        mark->at = until;
    if (spare->now >= mark->at)
        mark->at = endless_try(trap, mark, spare->now);
    if (mark->at < spare->endless_at)
        spare->endless_at = mark->at;
}

const char *axo__endless_why(const axo__worker *worker, const axo__endless_mark *mark)
{
    uint32_t refused = AXO__VERDICT_CONTAINED;
    if (worker->trap != NULL && mark->tries > 0)
        refused = axo__a32_load_relaxed(&worker->trap->endless.refused);
    return refused != AXO__VERDICT_CONTAINED ? axo__verdict_text(refused) : NULL;
}
#else
void axo__endless_enter(void)
{
}

void axo__endless_leave(void)
{
}

void axo__endless_begin(axo__worker *worker)
{
    (void)worker;
}

void axo__endless_end(axo__worker *worker)
{
    (void)worker;
}

void axo__endless_look(axo__worker *spare, axo__worker *worker, int64_t since,
                       axo__endless_mark *mark)
{
    (void)spare;
    (void)worker;
    (void)since;
    (void)mark;
}

const char *axo__endless_why(const axo__worker *worker, const axo__endless_mark *mark)
{
    (void)worker;
    (void)mark;
    return NULL;
}
#endif
