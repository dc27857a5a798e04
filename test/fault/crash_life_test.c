/* crash_life_test.c - what a crash does to an actor: in each of its hooks, with children,
 * clean-ups, timers; many crashes at once; the budget; handlers before and after.
 */
#include <sys/syscall.h>

#include "fault/crash.h"

static char *volatile crash_null;

static void crash_now(axo_ctx *ctx)
{
    crash_null[16] = 1;
}

static atomic_uint crash_children;
static atomic_uint crash_child_stops;
static atomic_uint crash_cleaned;
static atomic_uint crash_order; /* the number of the clean-up that ran last */
static axo_ref crash_child_ref;

static axo_status crash_child_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    return AXO_OK;
}

static axo_status crash_child_start(axo_ctx *ctx, void *state)
{
    atomic_fetch_add(&crash_children, 1);
    return AXO_OK;
}

static axo_status crash_child_stop(axo_ctx *ctx, void *state)
{
    atomic_fetch_add(&crash_child_stops, 1);
    return AXO_OK;
}

static const axo_class crash_child_class =
    AXO_CLASS(.name = "child", .pre_start = crash_child_start, .receive = crash_child_receive,
              .post_stop = crash_child_stop);

static void crash_spawn_child(axo_ctx *ctx)
{
    axo_props props = AXO_PROPS(.cls = &crash_child_class, .name = "c");
    CRASH_CHECK(axo_spawn(ctx, &props, &crash_child_ref) == AXO_OK);
}

/* ---- in hooks ------------------------------------------------------------------------------- */

/* The first creation: INIT, for which the default is Stop. */
static void crash_unborn(const void *arg)
{
    uint32_t site = *(const uint32_t *)arg;
    cw.hook[site] = crash_now;
    crash_start((axo_options){.workers = 1});
    crash_wait(&cw.decided, 1);
    CRASH_CHECK(cw.failure.kind == AXO_FAILURE_INIT && cw.failure.site == site);
    CRASH_CHECK(cw.failure.root_kind == AXO_FAILURE_CRASH && cw.failure.code == SIGSEGV);
    CRASH_CHECK(cw.crashed && cw.crash.site == site && cw.crash.has_tag == 0);
    crash_finish();
    CRASH_CHECK(atomic_load(&cw.calls[CRASH_POST_STOP]) == 0);
}

/* A creation again: POST_RESTART, for which the default is Stop too. */
static void crash_reborn(const void *arg)
{
    uint32_t site = *(const uint32_t *)arg;
    cw.hook[site] = crash_now;
    cw.only[site] = 2;
    crash_start((axo_options){.workers = 1});
    crash_ping();
    crash_do(crash_now);
    crash_wait(&cw.decided, 2);
    CRASH_CHECK(cw.failure.kind == AXO_FAILURE_POST_RESTART && cw.failure.site == site);
    CRASH_CHECK(cw.failure.root_kind == AXO_FAILURE_CRASH);
    CRASH_CHECK(cw.failure.original_kind == AXO_FAILURE_CRASH);
    crash_finish();
    CRASH_CHECK(atomic_load(&cw.calls[CRASH_POST_STOP]) == 0);
    CRASH_CHECK(atomic_load(&cw.calls[CRASH_PRE_RESTART]) == 0);
}

static void crash_fail(axo_ctx *ctx)
{
    axo_throw(ctx, 5, "as told");
}

/* A line of the log, and the restart goes on. */
static void crash_leaving(const void *arg)
{
    uint32_t site = *(const uint32_t *)arg;
    cw.hook[site] = crash_now;
    cw.only[site] = 1;
    crash_start((axo_options){.workers = 1});
    crash_do(crash_spawn_child);
    crash_do(crash_fail);
    crash_ping();
    CRASH_CHECK(atomic_load(&crash_child_stops) == atomic_load(&crash_children));
    CRASH_CHECK(axo_system_inspect(cw.system, crash_child_ref, axo_ref_none(),
                                   &(axo_actor_info)AXO_ACTOR_INFO(.doing = 99)) == AXO_EGONE);
    CRASH_CHECK(atomic_load(&cw.instance) == 2 && atomic_load(&cw.decided) == 1);
    CRASH_CHECK(cw.failure.kind == AXO_FAILURE_ORDINARY && !cw.crashed);
    CRASH_CHECK(atomic_load(&cw.logged) == 1);
    CRASH_CHECK(strstr(cw.line, "pre_restart") != NULL); /* which has called the other */
    CRASH_CHECK(axo_system_crashes(cw.system, NULL, 0) == 1);
    crash_finish();
}

static axo_status crash_behind_default(axo_ctx *ctx, void *state, const axo_failure *failure,
                                       const axo_message *message)
{
    axo_status status = axo_default_pre_restart(ctx, state, failure, message);
    if (axo_instance(ctx) == 1) {
        crash_spawn_child(ctx);
        crash_now(ctx);
    }
    return status;
}

/* A child that is made after all others have been told does not outlive the crash either. */
static void crash_late_child(const void *arg)
{
    axo_class cls = crash_class;
    axo_props props = AXO_PROPS(.cls = &cls);
    cls.pre_restart = crash_behind_default;
    crash_start((axo_options){.workers = 1});
    CRASH_CHECK(axo_system_spawn(cw.system, &props, &cw.actor) == AXO_OK);
    crash_do(crash_fail);
    crash_ping();
    CRASH_CHECK(atomic_load(&crash_children) == 1 && atomic_load(&crash_child_stops) == 1);
    CRASH_CHECK(atomic_load(&cw.instance) == 2 && atomic_load(&cw.logged) == 1);
    CRASH_CHECK(axo_system_crashes(cw.system, NULL, 0) == 1);
    crash_finish();
}

static void crash_ending(const void *arg)
{
    cw.hook[CRASH_POST_STOP] = crash_now;
    crash_start((axo_options){.workers = 1});
    crash_ping();
    crash_finish();
    CRASH_CHECK(atomic_load(&cw.calls[CRASH_POST_STOP]) == 1);
    CRASH_CHECK(atomic_load(&cw.logged) == 1 && strstr(cw.line, "post_stop") != NULL);
}

static void crash_ask_settle(axo_ctx *ctx)
{
    CRASH_CHECK(axo_want_settle(ctx) == AXO_OK);
}

static void crash_settling(const void *arg)
{
    cw.hook[AXO_SITE_SETTLE] = crash_now;
    crash_start((axo_options){.workers = 1});
    crash_do(crash_ask_settle);
    crash_wait(&cw.decided, 1);
    crash_ping();
    CRASH_CHECK(atomic_load(&cw.instance) == 2);
    CRASH_CHECK(cw.failure.kind == AXO_FAILURE_CRASH && cw.failure.site == AXO_SITE_SETTLE);
    crash_finish();
}

static void crashes_in_hooks(void **state)
{
    if (CRASH_ENDS)
        skip();
    static const uint32_t births[] = {AXO_SITE_CONSTRUCT, AXO_SITE_PRE_START};
    static const uint32_t again[] = {AXO_SITE_CONSTRUCT, AXO_SITE_POST_RESTART};
    static const uint32_t leaving[] = {CRASH_PRE_RESTART, CRASH_POST_STOP};
    for (int i = 0; i < 2; i++) {
        crash_end end = crash_run(crash_unborn, &births[i]);
        crash_is_well(&end, "a first creation");
        end = crash_run(crash_reborn, &again[i]);
        crash_is_well(&end, "a creation again");
        end = crash_run(crash_leaving, &leaving[i]);
        crash_is_well(&end, "leaving");
    }
    crash_end end = crash_run(crash_ending, NULL);
    crash_is_well(&end, "the end");
    end = crash_run(crash_late_child, NULL);
    crash_is_well(&end, "a child behind the default pre_restart");
    end = crash_run(crash_settling, NULL);
    crash_is_well(&end, "settle");
}

/* ---- what goes with the instance ------------------------------------------------------------ */

static void crash_clean(void *arg)
{
    atomic_store(&crash_order, (uint32_t)(uintptr_t)arg);
    atomic_fetch_add(&crash_cleaned, 1);
}

static void crash_clean_badly(void *arg)
{
    crash_clean(arg);
    crash_null[16] = 1;
}

/* Has what an instance may have, and crashes with drafts open. */
static void crash_with_all(axo_ctx *ctx)
{
    axo_draft *draft;
    void *room;
    crash_spawn_child(ctx);
    CRASH_CHECK(axo_defer(ctx, crash_clean, (void *)1) == AXO_OK);
    CRASH_CHECK(axo_defer(ctx, crash_clean_badly, (void *)2) == AXO_OK);
    CRASH_CHECK(axo_defer(ctx, crash_clean, (void *)3) == AXO_OK);
    CRASH_CHECK(axo_alloc(ctx, 10000) != NULL);
    CRASH_CHECK(axo_timer_start(ctx, 1, AXO_TIMER_FIXED_RATE, PARTS_MS, PARTS_MS, CRASH_PING,
                                NULL, 0) == AXO_OK);
    CRASH_CHECK(axo_message_new(ctx, CRASH_PING, 100000, &draft, &room) == AXO_OK);
    memset(room, 0xff, 100000);
    crash_now(ctx);
}

static void crash_owner(const void *arg)
{
    axo_stats before = AXO_STATS();
    axo_stats after = AXO_STATS();
    cw.answer = *(const axo_directive *)arg;
    crash_start((axo_options){.workers = 1});
    for (uint32_t i = 1; i <= 20; i++) {
        crash_do(crash_with_all);
        if (cw.answer != AXO_STOP)
            crash_ping();
        else
            crash_wait(&crash_cleaned, 3);
        CRASH_CHECK(atomic_load(&crash_cleaned) == 3 * i && atomic_load(&crash_order) == 1);
        CRASH_CHECK(atomic_load(&crash_child_stops) == atomic_load(&crash_children));
        CRASH_CHECK(atomic_load(&cw.logged) >= i && strstr(cw.line, "a clean-up") != NULL);
        if (cw.answer == AXO_STOP)
            break;
        CRASH_CHECK(atomic_load(&cw.instance) == i + 1);
        CRASH_CHECK(axo_system_stats(cw.system, i == 1 ? &before : &after) == AXO_OK);
    }
    CRASH_CHECK(after.memory_bytes <= before.memory_bytes + 200000); /* 2 MB if drafts were lost */
    CRASH_CHECK(atomic_load(&cw.calls[CRASH_PRE_RESTART]) == 0);
    crash_finish();
    CRASH_CHECK(atomic_load(&cw.calls[CRASH_POST_STOP]) == (cw.answer == AXO_STOP ? 0 : 1));
}

static void what_goes_with_an_instance(void **state)
{
    if (CRASH_ENDS)
        skip();
    static const axo_directive answers[] = {AXO_RESTART, AXO_RESUME, AXO_STOP};
    for (int i = 0; i < 3; i++) {
        crash_end end = crash_run(crash_owner, &answers[i]);
        crash_is_well(&end, axo_directive_name((uint32_t)answers[i]));
    }
}

/* A message whose payload could not be read is given back. */
static void crash_bad_payload(axo_ctx *ctx)
{
    (void)axo_send(ctx, axo_self(ctx), CRASH_PING, crash_null + 8, 100000);
}

static void crash_copying(const void *arg)
{
    axo_stats before = AXO_STATS();
    axo_stats after = AXO_STATS();
    crash_start((axo_options){.workers = 1});
    for (uint32_t i = 1; i <= 40; i++) {
        crash_do(crash_bad_payload);
        crash_ping();
        CRASH_CHECK(atomic_load(&cw.instance) == i + 1);
        CRASH_CHECK(cw.failure.kind == AXO_FAILURE_CRASH && cw.crash.address == 8);
        CRASH_CHECK(axo_system_stats(cw.system, i == 1 ? &before : &after) == AXO_OK);
    }
    CRASH_CHECK(after.memory_bytes <= before.memory_bytes + 400000); /* 4 MB if they were lost */
    CRASH_CHECK(after.sent == before.sent + 2 * 39);
    crash_finish();
}

static void bad_payloads(void **state)
{
    if (CRASH_REPORTED)
        skip(); /* the read is in a function of the sanitizer's */
    crash_end end = crash_run(crash_copying, NULL);
    crash_is_well(&end, "copying");
}

static axo_status crash_keep(axo_ctx *ctx, void *state, const axo_failure *failure,
                             const axo_message *message)
{
    return AXO_OK;
}

/* A child that an earlier instance has left alive goes with one that crashes, too. */
static void crash_survivor(const void *arg)
{
    static axo_class keeper;
    axo_props props = AXO_PROPS(.cls = &keeper, .name = "keeper");
    axo_actor_info info = AXO_ACTOR_INFO(.doing = 99);
    keeper = crash_class;
    keeper.pre_restart = crash_keep;
    crash_start((axo_options){.workers = 1});
    CRASH_CHECK(axo_system_spawn(cw.system, &props, &cw.actor) == AXO_OK);
    crash_do(crash_spawn_child);
    crash_do(crash_fail);
    crash_ping();
    CRASH_CHECK(axo_system_inspect(cw.system, crash_child_ref, axo_ref_none(), &info) == AXO_OK);
    crash_do(crash_now);
    crash_ping();
    CRASH_CHECK(atomic_load(&cw.instance) == 3);
    CRASH_CHECK(axo_system_inspect(cw.system, crash_child_ref, axo_ref_none(), &info) ==
                AXO_EGONE);
    CRASH_CHECK(atomic_load(&crash_child_stops) == atomic_load(&crash_children));
    crash_finish();
}

static void survivors_go_too(void **state)
{
    if (CRASH_ENDS)
        skip();
    crash_end end = crash_run(crash_survivor, NULL);
    crash_is_well(&end, "a survivor");
}

/* There is no instance to go on with, and no other may be made. */
static void crash_temporary(const void *arg)
{
    axo_props props = AXO_PROPS(.cls = &crash_class, .name = "once", .lifetime = AXO_TEMPORARY);
    axo_actor_info info = AXO_ACTOR_INFO(.doing = 99);
    cw.answer = AXO_RESUME;
    crash_start((axo_options){.workers = 1});
    CRASH_CHECK(axo_system_spawn(cw.system, &props, &cw.actor) == AXO_OK);
    crash_do(crash_now);
    crash_wait(&cw.decided, 1);
    int64_t deadline = parts_now() + PARTS_DEADLINE_NS;
    while (axo_system_inspect(cw.system, cw.actor, axo_ref_none(), &info) != AXO_EGONE)
        CRASH_CHECK(parts_now() < deadline);
    crash_finish();
    CRASH_CHECK(atomic_load(&cw.calls[AXO_SITE_CONSTRUCT]) == 2); /* the other one's too */
}

static void a_temporary_one_is_not_resumed(void **state)
{
    if (CRASH_ENDS)
        skip();
    crash_end end = crash_run(crash_temporary, NULL);
    crash_is_well(&end, "a temporary one");
}

/* A parent's decider crashes: the parent has failed, and goes with its children. */
static axo_directive crash_decider(axo_ctx *ctx, void *state, const axo_failure *failure,
                                   void *user)
{
    crash_now(ctx);
    return AXO_RESUME;
}

static axo_status crash_fail_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    return AXO_EFAILED;
}

static void crash_spawn_failing(axo_ctx *ctx)
{
    static const axo_class cls = AXO_CLASS(.name = "failing", .receive = crash_fail_receive,
                                           .post_stop = crash_child_stop);
    axo_props props = AXO_PROPS(.cls = &cls);
    axo_ref child;
    CRASH_CHECK(axo_spawn(ctx, &props, &child) == AXO_OK);
    (void)axo_send(ctx, child, 1, NULL, 0);
}

static void crash_deciding(const void *arg)
{
    static const axo_strategy strategy = AXO_STRATEGY(.decider = crash_decider);
    axo_props props = AXO_PROPS(.cls = &crash_class, .name = "parent", .strategy = &strategy);
    crash_start((axo_options){.workers = 1});
    CRASH_CHECK(axo_system_spawn(cw.system, &props, &cw.actor) == AXO_OK);
    crash_do(crash_spawn_failing);
    crash_wait(&cw.decided, 1);
    crash_ping();
    CRASH_CHECK(cw.failure.kind == AXO_FAILURE_CRASH && cw.failure.site == AXO_SITE_DECIDER);
    CRASH_CHECK(cw.failure.has_message == 0 && atomic_load(&cw.instance) == 2);
    CRASH_CHECK(atomic_load(&crash_child_stops) == 1);
    CRASH_CHECK(atomic_load(&cw.calls[CRASH_PRE_RESTART]) == 0);
    crash_finish();
}

static void a_decider_crashes(void **state)
{
    if (CRASH_ENDS)
        skip();
    crash_end end = crash_run(crash_deciding, NULL);
    crash_is_well(&end, "a decider");
}

/* ---- guards --------------------------------------------------------------------------------- */

static void crash_leave_open(axo_ctx *ctx)
{
    axo_guard_begin(ctx);
    axo_guard_begin(ctx);
}

static void crash_closed(axo_ctx *ctx)
{
    axo_guard_begin(ctx);
    axo_guard_end(ctx);
    axo_guard_end(ctx); /* one too many */
    crash_now(ctx);
}

/* What is open when a callback ends is closed; so is what was ended. */
static void crash_guards(const void *arg)
{
    crash_start((axo_options){.workers = 1});
    crash_do(crash_leave_open);
    crash_do(crash_now);
    crash_do(crash_closed);
    crash_ping();
    CRASH_CHECK(atomic_load(&cw.instance) == 3);
    crash_finish();
}

static void guards_end_with_their_callback(void **state)
{
    if (CRASH_ENDS)
        skip();
    crash_end end = crash_run(crash_guards, NULL);
    crash_is_well(&end, "guards");
}

/* ---- the budget ----------------------------------------------------------------------------- */

static void crash_budget(const void *arg)
{
    crash_start((axo_options){.workers = 1, .crashes_max = 3});
    for (uint32_t i = 0; i < 3; i++)
        crash_do(crash_now);
    crash_ping();
    CRASH_CHECK(atomic_load(&cw.instance) == 4);
    (void)fputs("three\n", stderr);
    crash_do(crash_now);
    crash_ping();
}

static void crash_window(const void *arg)
{
    axo_crash kept[AXO_CRASHES_KEPT + 1];
    crash_start((axo_options){.workers = 1, .crashes_max = 2, .crash_window_ns = 1});
    for (uint32_t i = 1; i <= 100; i++) {
        crash_do(crash_now);
        crash_ping();
    }
    CRASH_CHECK(axo_system_crashes(cw.system, kept, AXO_CRASHES_KEPT + 1) == 100);
    for (uint32_t i = 0; i < AXO_CRASHES_KEPT; i++)
        CRASH_CHECK(kept[i].instance == 100 - i && kept[i].access == AXO_CRASH_WRITE);
    CRASH_CHECK(kept[0].address == 16);
    crash_finish();
}

static void a_budget_is_spent(void **state)
{
    if (CRASH_ENDS)
        skip();
    crash_end end = crash_run(crash_budget, NULL);
    crash_is_dead(&end, "a budget", SIGSEGV,
                  "three\naxo: SIGSEGV at 0x10 is not contained: the crash budget is spent");
    end = crash_run(crash_window, NULL);
    crash_is_well(&end, "a window");
}

/* ---- many, on all workers ------------------------------------------------------------------- */

#define CRASH_MANY 20

static void crash_many(const void *arg)
{
    axo_ref refs[CRASH_MANY];
    crash_fn fn = crash_now;
    crash_start((axo_options){.workers = 2, .crashes_max = 65536});
    for (uint32_t i = 0; i < CRASH_MANY; i++) {
        axo_props props = AXO_PROPS(.cls = &crash_class);
        CRASH_CHECK(axo_system_spawn(cw.system, &props, &refs[i]) == AXO_OK);
    }
    for (uint32_t round = 0; round < 200; round++) {
        for (uint32_t i = 0; i < CRASH_MANY; i++)
            (void)axo_system_send(cw.system, refs[i], CRASH_DO, &fn, sizeof fn);
    }
    crash_wait(&cw.decided, 200 * CRASH_MANY);
    CRASH_CHECK(axo_system_crashes(cw.system, NULL, 0) == 200 * CRASH_MANY);
    crash_finish();
}

static void many_at_once(void **state)
{
    if (CRASH_ENDS)
        skip();
    crash_end end = crash_run(crash_many, NULL);
    crash_is_well(&end, "many");
}

/* ---- other handlers ------------------------------------------------------------------------- */

static struct sigaction crash_ours; /* the library's, found by one that came after */
static siginfo_t crash_info;

static void crash_before(int number, siginfo_t *info, void *context)
{
    static const char text[] = "the handler before\n";
    (void)!write(STDERR_FILENO, text, sizeof text - 1);
    crash_info = *info;
    _exit(number == SIGSEGV && info->si_addr == (void *)16 && context != NULL ? 7 : 8);
}

static void crash_after(int number, siginfo_t *info, void *context)
{
    static const char text[] = "the handler after\n";
    (void)!write(STDERR_FILENO, text, sizeof text - 1);
    crash_ours.sa_sigaction(number, info, context);
}

static void crash_install(void (*fn)(int, siginfo_t *, void *), struct sigaction *before)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = fn;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    CRASH_CHECK(sigaction(SIGSEGV, &action, before) == 0);
}

static void crash_guarded_now(axo_ctx *ctx)
{
    axo_guard_begin(ctx);
    crash_now(ctx);
}

/* Both: the one after passes on to the library, the library to the one before. */
static void crash_chain(const void *arg)
{
    struct sigaction before;
    crash_install(crash_before, NULL);
    crash_start((axo_options){.workers = 1});
    crash_do(crash_now);
    crash_ping();
    CRASH_CHECK(sigaction(SIGSEGV, NULL, &before) == 0 && before.sa_sigaction != crash_before);
    crash_install(crash_after, &crash_ours);
    CRASH_CHECK(crash_ours.sa_sigaction == before.sa_sigaction);
    crash_do(crash_now);
    crash_ping();
    CRASH_CHECK(atomic_load(&cw.instance) == 3);
    crash_do(crash_guarded_now);
    crash_ping();
}

/* What was there is there again behind the last of two systems, and not before. */
static void crash_restored(const void *arg)
{
    axo_options options = AXO_OPTIONS(.manual = 1, .contain = 1);
    static const int numbers[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    axo_system *other;
    struct sigaction now;
    stack_t before; /* the address sanitizer's, or none */
    stack_t after;
    CRASH_CHECK(sigaltstack(NULL, &before) == 0 && signal(SIGFPE, SIG_IGN) != SIG_ERR);
    for (int round = 0; round < 3; round++) {
        CRASH_CHECK(axo_system_start(&options, &other) == AXO_OK);
        crash_start((axo_options){.workers = 1});
        crash_do(crash_now);
        crash_ping();
        CRASH_CHECK(axo_system_stop(other, -1, NULL, 0, NULL) == AXO_OK);
        CRASH_CHECK(axo_system_destroy(other) == AXO_OK);
        crash_do(crash_now);
        crash_ping();
        crash_finish();
        for (int i = 0; i < 5; i++) {
            CRASH_CHECK(sigaction(numbers[i], NULL, &now) == 0);
            CRASH_CHECK(now.sa_handler == (numbers[i] == SIGFPE ? SIG_IGN : SIG_DFL));
        }
        CRASH_CHECK(sigaltstack(NULL, &after) == 0 && after.ss_sp == before.ss_sp &&
                    after.ss_flags == before.ss_flags);
    }
}

/* One that came after and stays is not taken away, nor called twice by the next system. */
static void crash_stays(const void *arg)
{
    struct sigaction now;
    crash_start((axo_options){.workers = 1});
    crash_install(crash_after, &crash_ours);
    crash_finish();
    CRASH_CHECK(sigaction(SIGSEGV, NULL, &now) == 0 && now.sa_sigaction == crash_after);
    crash_start((axo_options){.workers = 1});
    crash_do(crash_now);
    crash_ping();
    crash_do(crash_guarded_now);
    crash_ping();
}

static void handlers_before_and_after(void **state)
{
    if (CRASH_ENDS)
        skip();
    crash_end end = crash_run(crash_chain, NULL);
    if (!WIFEXITED(end.status) || WEXITSTATUS(end.status) != 7)
        fail_msg("status %x, \"%s\"", (unsigned)end.status, end.text);
    assert_non_null(strstr(end.text, "the handler after\nthe handler after\naxo: SIGSEGV"));
    assert_non_null(strstr(end.text, "\nthe handler before\n"));
    end = crash_run(crash_restored, NULL);
    crash_is_well(&end, "restored");
    end = crash_run(crash_stays, NULL);
    crash_is_dead(&end, "one that stays", SIGSEGV,
                  "the handler after\nthe handler after\naxo: SIGSEGV at 0x10 is not");
}

/* In a child of a callback's fork nothing is contained. */
static void crash_forked(axo_ctx *ctx)
{
    pid_t child = fork();
    int status = 0;
    if (child == 0)
        crash_now(ctx);
    CRASH_CHECK(waitpid(child, &status, 0) == child);
    CRASH_CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

static void crash_fork(const void *arg)
{
    crash_start((axo_options){.workers = 1});
    crash_do(crash_forked);
    crash_ping();
    CRASH_CHECK(atomic_load(&cw.instance) == 1);
    crash_finish();
}

/* On the program's own thread, and its alternate stack is as before. */
static void crash_host(const void *arg)
{
    static char room[65536];
    stack_t own = {.ss_sp = room, .ss_size = sizeof room};
    stack_t now;
    axo_options options = AXO_OPTIONS(.manual = 1, .contain = 1);
    uint64_t turns = 1;
    CRASH_CHECK(sigaltstack(&own, NULL) == 0);
    CRASH_CHECK(axo_system_start(&options, &cw.system) == AXO_OK);
    crash_spawn(&crash_class, &cw.actor);
    for (uint32_t i = 0; i < 3; i++)
        crash_do(crash_now);
    CRASH_CHECK(axo_system_send(cw.system, cw.actor, CRASH_PING, NULL, 0) == AXO_OK);
    while (turns > 0)
        CRASH_CHECK(axo_step_host(cw.system, 100, &turns) == AXO_OK);
    CRASH_CHECK(atomic_load(&cw.instance) == 4);
    CRASH_CHECK(sigaltstack(NULL, &now) == 0 && now.ss_sp == room && now.ss_flags == 0);
    crash_finish();
}

static void on_other_threads_and_processes(void **state)
{
    if (CRASH_ENDS)
        skip();
    crash_end end = crash_run(crash_fork, NULL);
    crash_is_well(&end, "a child of fork");
    assert_non_null(strstr(end.text, "not on a worker"));
    end = crash_run(crash_host, NULL);
    crash_is_well(&end, "the host");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(crashes_in_hooks),
    cmocka_unit_test(what_goes_with_an_instance),
    cmocka_unit_test(bad_payloads),
    cmocka_unit_test(survivors_go_too),
    cmocka_unit_test(a_temporary_one_is_not_resumed),
    cmocka_unit_test(a_decider_crashes),
    cmocka_unit_test(guards_end_with_their_callback),
    cmocka_unit_test(a_budget_is_spent),
    cmocka_unit_test(many_at_once),
    cmocka_unit_test(handlers_before_and_after),
    cmocka_unit_test(on_other_threads_and_processes),
};

TEST_MAIN(tests)
