/* process_hostile_test.c - processes that are killed, lie, or are to be kept in bounds; zygotes and
 * hosts that die. Whatever happens nobody hangs, and nothing is left. */
#include <poll.h>
#include <sys/socket.h>

#include "api/process_world.h"

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define HOSTILE_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define HOSTILE_SANITIZED 1
#endif
#endif
#ifndef HOSTILE_SANITIZED
#define HOSTILE_SANITIZED 0
#endif

/* ThreadSanitizer has a thread of its own in each process, which so cannot be confined. */
#if defined(__SANITIZE_THREAD__)
#define HOSTILE_THREADED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HOSTILE_THREADED 1
#endif
#endif
#ifndef HOSTILE_THREADED
#define HOSTILE_THREADED 0
#endif

/* ---- processes of this machine ---- */

/* Kills the spares, when there are so many; none of them is `but`. */
static void hostile_kill_spares(pid_t zygote, uint32_t count, pid_t but)
{
    pid_t spares[64];
    uint32_t there;
    uint32_t killed = 0;
    do {
        w_pause();
        there = w_children(zygote, spares, 64);
    } while (there < count + (but != 0 ? 1 : 0));
    for (uint32_t i = 0; i < there; i++) {
        if (spares[i] != but && kill(spares[i], SIGKILL) == 0)
            killed++;
    }
    assert_true(killed >= count);
}

static void hostile_gone(pid_t pid)
{
    while (kill(pid, 0) == 0)
        w_pause();
}

/* ---- killed ---- */

static void killed_idle(void **unused)
{
    world w;
    w_start(&w, 1);
    axo_ref ref = w_spawn(&w, 0);
    for (uint32_t i = 0; i < 5; i++) {
        pid_t pid = w_pid(&w, ref);
        W_UNTIL(&w, w_count_locked(&w, W_WHO) == i + 1);
        assert_int_equal(kill(pid, SIGKILL), 0);
        W_UNTIL(&w, w.failures == i + 1);
        assert_int_equal(w.last.kind, AXO_FAILURE_CRASH);
        assert_string_equal(w.text, "killed by SIGKILL");
    }
    w_tell(&w, ref, W_ADD, 0);
    w_in_order(&w, W_ADD, 1);
    w_end(&w);
}

/* At any moment of its work. A message that was in hand then may be lost, none comes twice, and
 * their order stays. */
static void killed_at_work(void **unused)
{
    enum { HOSTILE_ROUNDS = 30, HOSTILE_MESSAGES = 400 };
    world w;
    int64_t next = 0;
    w_start(&w, 2);
    axo_ref ref = w_spawn(&w, 0);
    for (uint32_t round = 0; round < HOSTILE_ROUNDS; round++) {
        pid_t pid = w_pid(&w, ref);
        uint32_t before = w_count(&w, W_ADD);
        for (uint32_t i = 0; i < HOSTILE_MESSAGES; i++)
            w_tell(&w, ref, W_ADD, next++);
        w_await(&w, W_ADD, before + round * 7); /* it is in the midst of them */
        assert_int_equal(kill(pid, SIGKILL), 0);
        W_UNTIL(&w, w.failures == round + 1);
    }
    w_tell(&w, ref, W_REPLY, 1);
    w_await(&w, W_ASKED, 1);
    int64_t last = -1;
    for (uint32_t i = 0; i < w.said_count; i++) {
        if (w.said[i].tag == W_ADD) {
            assert_true(w.said[i].it.value > last);
            last = w.said[i].it.value;
        }
    }
    assert_true(w_count(&w, W_ADD) >= (uint32_t)next - HOSTILE_ROUNDS);
    w_end(&w);
}

static void killed_spares(void **unused)
{
    world w;
    w_start(&w, 3);
    pid_t zygote = w_zygote();
    hostile_kill_spares(zygote, 3, 0);
    axo_ref ref = w_spawn(&w, 0);
    pid_t pid = w_pid(&w, ref);
    for (uint32_t i = 0; i < 5; i++) {
        hostile_kill_spares(zygote, 3, pid);
        w_tell(&w, ref, W_FAIL, 1); /* so the next is wanted at once */
        pid = w_pid(&w, ref);
    }
    assert_int_equal(w.failures, 5);
    w_end(&w);
}

/* An actor is stopped while its job goes from a spare that has been killed to the next. */
static void killed_and_stopped(void **unused)
{
    enum { HOSTILE_STOPS = 60 };
    world w;
    w_start(&w, 1);
    pid_t zygote = w_zygote();
    for (uint32_t i = 0; i < HOSTILE_STOPS; i++) {
        pid_t spare = 0;
        while (w_children(zygote, &spare, 1) == 0)
            w_pause();
        axo_ref ref = w_spawn(&w, 0);
        (void)kill(spare, SIGKILL);
        (void)usleep(i * 20);
        assert_int_equal(axo_system_stop_actor(w.system, ref), AXO_OK);
        W_UNTIL(&w, w.terminated == i + 1);
    }
    w_end(&w);
}

/* ---- the zygote ---- */

static void killed_zygote(void **unused)
{
    world w;
    w_start(&w, 1);
    axo_ref one = w_spawn(&w, 0);
    axo_ref other = w_spawn(&w, 0);
    for (uint32_t i = 0; i < 3; i++) {
        w_tell(&w, one, W_ADD, 2 * i);
        (void)w_pid(&w, one);
        (void)w_pid(&w, other);
        assert_int_equal(kill(w_zygote(), SIGKILL), 0);
        W_UNTIL(&w, w.failures == 2 * (i + 1)); /* both, and they start again */
        assert_int_equal(w.last.kind, AXO_FAILURE_CRASH);
        w_tell(&w, one, W_ADD, 2 * i + 1);
        w_in_order(&w, W_ADD, 2 * i + 2);
    }
    w_end(&w);
}

static void stopped_zygote(void **unused)
{
    world w;
    w_start(&w, 0);
    w.answer = AXO_STOP;
    pid_t zygote = w_zygote();
    axo_ref old = w_spawn(&w, 0);
    (void)w_pid(&w, old);
    assert_int_equal(kill(zygote, SIGSTOP), 0);
    axo_process recipe = w_recipe(&w);
    recipe.start_ns = W_SECOND / 2;
    (void)w_spawn_as(&w, &recipe, 0, AXO_TRANSIENT);
    w_failed(&w, 1, AXO_FAILURE_INIT, AXO_ETIMEDOUT, "the zygote has not answered in time");
    W_UNTIL(&w, w.terminated == 1);
    w_tell(&w, old, W_ADD, 0); /* what there is goes on */
    w_in_order(&w, W_ADD, 1);
    w_tell(&w, old, W_CRASH, SIGKILL);
    w_failed(&w, 2, AXO_FAILURE_CRASH, 0, "its zygote has ended, or does not answer");
    W_UNTIL(&w, w.terminated == 2);
    assert_int_equal(kill(zygote, SIGCONT), 0);
    axo_ref ref = w_spawn(&w, 0);
    w_tell(&w, ref, W_ADD, 1);
    w_in_order(&w, W_ADD, 2);
    assert_int_equal(kill(zygote, SIGSTOP), 0); /* its end is not held up */
    w_end(&w);
}

/* ---- the keeper ---- */

static void stopped_keeper(void **unused)
{
    world w;
    char path[600];
    w_start(&w, 1);
    axo_ref ref = w_spawn(&w, 0);
    for (uint32_t i = 0; i < 3; i++) {
        axo_ref keeper;
        pid_t pid = w_pid(&w, ref);
        assert_int_equal(axo_system_path(w.system, ref, path, sizeof path), AXO_OK);
        (void)strcat(path, "/keeper");
        assert_int_equal(axo_system_find(w.system, path, &keeper), AXO_OK);
        assert_int_equal(axo_system_stop_actor(w.system, keeper), AXO_OK);
        w_failed(&w, i + 1, AXO_FAILURE_CRASH, 0, "its keeper was stopped");
        w_tell(&w, ref, W_ADD, i);
        w_in_order(&w, W_ADD, i + 1);
        assert_int_not_equal(w_pid(&w, ref), pid);
    }
    w_end(&w);
}

/* ---- lies ---- */

/* Each writes something else over all that it shares with its host. */
static void spoilt(void **unused)
{
    enum { HOSTILE_LIES = 40 };
    world w;
    w_start(&w, 2);
    axo_process recipe = w_recipe(&w);
    recipe.watchdog_ns = 2 * W_SECOND; /* for what it has told itself */
    recipe.stop_ns = W_SECOND;
    axo_ref ref = w_spawn_as(&w, &recipe, 0, AXO_TRANSIENT);
    for (uint32_t i = 0; i < HOSTILE_LIES; i++) {
        uint32_t failures = w.failures;
        w_tell(&w, ref, i % 4 == 3 ? W_MASH : W_SCRIBBLE, (int64_t)i * 7919 + 1);
        W_UNTIL(&w, w.failures > failures);
    }
    w_tell(&w, ref, W_REPLY, 1);
    w_await(&w, W_ASKED, 1);
    w_end(&w);
}

/* ---- in bounds ---- */

static bool hostile_spawn_confined(world *w, uint32_t how, uint32_t mode, axo_ref *out)
{
    const w_args args = {.collector = w->collector, .mode = mode};
    axo_process recipe = w_recipe(w);
    recipe.confine = how;
    axo_props props = AXO_PROPS(.cls = &w_class, .args = &args, .args_size = sizeof args);
    axo_status status = axo_system_process_spawn(w->system, &recipe, &props, out);
    if (status == AXO_ENOTSUP)
        return false;
    assert_int_equal(status, AXO_OK);
    return true;
}

static void confined_syscalls(void **unused)
{
    world w;
    axo_ref ref = axo_ref_none();
    w_start(&w, 1);
    if (HOSTILE_SANITIZED || !hostile_spawn_confined(&w, AXO_CONFINE_SYSCALLS, 0, &ref)) {
        w_end(&w);
        skip();
    }
    for (int64_t i = 0; i < 5000; i++)
        w_tell(&w, ref, W_ADD, i);
    w_in_order(&w, W_ADD, 5000);
    w_tell(&w, ref, W_ALLOC, 100000000);
    assert_int_equal(w_nth(&w, W_ALLOC, 0).it.value, 1);
    w_tell(&w, ref, W_TICKS, 0);
    w_failed(&w, 1, AXO_FAILURE_ORDINARY, 5, "tick");
    w_tell(&w, ref, W_CHILD, 0);
    w_await(&w, W_CHILD, 1);
    w_tell(&w, ref, W_OPEN, 0);
    w_failed(&w, 2, AXO_FAILURE_CRASH, SIGSYS, "killed by SIGSYS");
    w_tell(&w, ref, W_FORK, 0);
    w_failed(&w, 3, AXO_FAILURE_CRASH, SIGSYS, "killed by SIGSYS");
    w_tell(&w, ref, W_CRASH, SIGABRT); /* its signal's disposition is not its own any more */
    W_UNTIL(&w, w.failures == 4);
    w_tell(&w, ref, W_REPLY, 0);
    w_await(&w, W_ASKED, 1);
    assert_int_equal(w_count(&w, W_OPEN), 0);
    w_end(&w);
}

static void confined_files(void **unused)
{
    world w;
    axo_ref ref = axo_ref_none();
    w_start(&w, 1);
    if (HOSTILE_THREADED || !hostile_spawn_confined(&w, AXO_CONFINE_FILES, 0, &ref)) {
        w_end(&w);
        skip();
    }
    w_tell(&w, ref, W_OPEN, 0);
    assert_int_equal(w_nth(&w, W_OPEN, 0).it.value, EACCES);
    ref = w_spawn(&w, 0);
    w_tell(&w, ref, W_OPEN, 0);
    assert_int_equal(w_nth(&w, W_OPEN, 1).it.value, 0); /* another one can */
    w_end(&w);
}

/* Bounds are a thread's: one that is there before them would stay outside. */
static void hostile_refuse_threads(uint32_t how)
{
    world w;
    axo_ref ref = axo_ref_none();
    w_start(&w, 1);
    w.answer = AXO_STOP;
    if (!hostile_spawn_confined(&w, how, W_START_THREAD, &ref)) {
        w_end(&w);
        skip();
    }
    w_failed(&w, 1, AXO_FAILURE_INIT, EBUSY, "it has threads, and is to be confined");
    ref = w_spawn(&w, W_START_THREAD); /* nobody else cares */
    w_tell(&w, ref, W_ADD, 0);
    w_in_order(&w, W_ADD, 1);
    w_end(&w);
}

static void threads_under_syscalls(void **unused)
{
    if (HOSTILE_SANITIZED)
        skip();
    hostile_refuse_threads(AXO_CONFINE_SYSCALLS);
}

static void threads_under_files(void **unused)
{
    hostile_refuse_threads(AXO_CONFINE_FILES);
}

/* A thread that construct has joined is counted a moment longer. */
static void threads_that_end(void **unused)
{
    world w;
    axo_ref ref = axo_ref_none();
    w_start(&w, 1);
    w.answer = AXO_STOP;
    if (HOSTILE_THREADED || !hostile_spawn_confined(&w, AXO_CONFINE_FILES, W_START_BRIEF, &ref)) {
        w_end(&w);
        skip();
    }
    w_tell(&w, ref, W_OPEN, 0);
    assert_int_equal(w_nth(&w, W_OPEN, 0).it.value, EACCES);
    w_end(&w);
}

/* What a hook sends to its own actor is handled behind the hook, and within bounds. */
static void early_files(void **unused)
{
    world w;
    axo_ref ref = axo_ref_none();
    w_start(&w, 1);
    if (HOSTILE_THREADED ||
        !hostile_spawn_confined(&w, AXO_CONFINE_FILES, W_START_OPENS | W_RESTART_OPENS, &ref)) {
        w_end(&w);
        skip();
    }
    assert_int_equal(w_nth(&w, W_OPEN, 0).it.value, EACCES);
    w_tell(&w, ref, W_FAIL, 1);
    assert_int_equal(w_nth(&w, W_OPEN, 1).it.value, EACCES); /* of post_restart, and pre_start, */
    assert_int_equal(w_nth(&w, W_OPEN, 2).it.value, EACCES); /* which that calls */
    assert_int_equal(w.failures, 1);
    w_end(&w);
}

static void early_syscalls(void **unused)
{
    world w;
    axo_ref ref = axo_ref_none();
    w_start(&w, 1);
    if (HOSTILE_SANITIZED ||
        !hostile_spawn_confined(&w, AXO_CONFINE_SYSCALLS, W_RESTART_OPENS, &ref)) {
        w_end(&w);
        skip();
    }
    w_tell(&w, ref, W_ADD, 0);
    w_in_order(&w, W_ADD, 1);
    w_tell(&w, ref, W_FAIL, 1);
    W_UNTIL(&w, w.failures == 1);
    (void)pthread_mutex_lock(&w.mutex);
    w.answer = AXO_STOP;
    (void)pthread_mutex_unlock(&w.mutex);
    w_failed(&w, 2, AXO_FAILURE_POST_RESTART, SIGSYS, "killed by SIGSYS before it has started");
    assert_true(hostile_spawn_confined(&w, AXO_CONFINE_SYSCALLS, W_START_OPENS, &ref));
    w_failed(&w, 3, AXO_FAILURE_INIT, SIGSYS, "killed by SIGSYS before it has started");
    assert_int_equal(w_count(&w, W_OPEN), 0);
    w_end(&w);
}

/* What a confined one calls fatal stops nobody else; none of its hooks runs. */
static void confined_fatal(void **unused)
{
    world w;
    axo_ref ref = axo_ref_none();
    w_start(&w, 1);
    w.answer = (axo_directive)0; /* the default decider's */
    if (HOSTILE_THREADED || !hostile_spawn_confined(&w, AXO_CONFINE_FILES, 0, &ref)) {
        w_end(&w);
        skip();
    }
    for (uint32_t i = 0; i < 3; i++) {
        w_tell(&w, ref, W_ADD, i);
        w_tell(&w, ref, W_FATAL, 9);
        w_failed(&w, i + 1, AXO_FAILURE_CRASH, 9, "told to");
        w_in_order(&w, W_ADD, i + 1);
    }
    w_tell(&w, ref, W_REPLY, 0);
    w_await(&w, W_ASKED, 1);
    assert_int_equal(w_count(&w, W_PRE_RESTART), 0);
    assert_int_equal(w_count(&w, W_POST_STOP), 0);
    assert_int_equal(w_count(&w, W_POST_RESTART), 3);
    w_end(&w);
}

static void bounded_memory(void **unused)
{
    world w;
    w_start(&w, 1);
    if (HOSTILE_SANITIZED) { /* they have an address space of their own size */
        w_end(&w);
        skip();
    }
    axo_process recipe = w_recipe(&w);
    recipe.memory_max = 64 << 20;
    axo_ref ref = w_spawn_as(&w, &recipe, 0, AXO_TRANSIENT);
    w_tell(&w, ref, W_ALLOC, 16 << 20);
    w_tell(&w, ref, W_ALLOC, 128 << 20);
    assert_int_equal(w_nth(&w, W_ALLOC, 0).it.value, 1);
    assert_int_equal(w_nth(&w, W_ALLOC, 1).it.value, 0);
    w_end(&w);
}

/* ---- the host ---- */

/* A host that is killed: its zygote, its processes, its spares, those at work too. */
static void killed_host(void **unused)
{
    int pair[2];
    pid_t all[64];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    pid_t host = fork();
    if (host == 0) {
        world w;
        (void)close(pair[0]);
        w_start(&w, 2);
        axo_ref idle = w_spawn(&w, 0);
        axo_ref busy = w_spawn(&w, 0);
        (void)w_pid(&w, idle);
        (void)w_pid(&w, busy);
        w_tell(&w, busy, W_LOOP, 0);
        (void)!write(pair[1], "s", 1);
        w_for_ever();
    }
    (void)close(pair[1]);
    char said;
    assert_int_equal(read(pair[0], &said, 1), 1);
    (void)close(pair[0]);
    pid_t zygote = 0;
    assert_int_equal(w_children(host, &zygote, 1), 1);
    uint32_t count = w_children(zygote, all, 64);
    assert_true(count >= 2);
    assert_int_equal(kill(host, SIGKILL), 0);
    while (waitpid(-1, NULL, 0) > 0) { /* they are this process's now, and end */
    }
    assert_int_equal(errno, ECHILD);
    hostile_gone(zygote);
    for (uint32_t i = 0; i < count; i++)
        hostile_gone(all[i]);
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(killed_host), /* before this process has had a system */
        cmocka_unit_test(killed_idle),       cmocka_unit_test(killed_at_work),
        cmocka_unit_test(killed_spares),     cmocka_unit_test(killed_and_stopped),
        cmocka_unit_test(killed_zygote),
        cmocka_unit_test(stopped_zygote),    cmocka_unit_test(stopped_keeper),
        cmocka_unit_test(spoilt),            cmocka_unit_test(confined_syscalls),
        cmocka_unit_test(confined_files),    cmocka_unit_test(bounded_memory),
        cmocka_unit_test(threads_under_syscalls),
        cmocka_unit_test(threads_under_files),
        cmocka_unit_test(threads_that_end),  cmocka_unit_test(early_files),
        cmocka_unit_test(early_syscalls),    cmocka_unit_test(confined_fatal),
    };
    axo_process_main(argc, argv, w_classes, sizeof w_classes / sizeof w_classes[0]);
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
