/* fork_test.c - fork without exec while a system runs: in the child every call says so, none hangs,
 * whatever lock was held at that moment; it can exit. The parent notices nothing. */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fault/parts.h"

enum { FORK_TIMES = 60, FORK_SENDERS = 2 };

static atomic_bool fork_over;

typedef struct fork_caller {
    axo_system *system;
    axo_ref to;
} fork_caller;

/* Is inside a door most of the time. */
static void *fork_sender(void *arg)
{
    fork_caller *caller = arg;
    while (!atomic_load(&fork_over)) {
        axo_actor_info info = AXO_ACTOR_INFO(.queued = 0);
        axo_ref found;
        (void)axo_system_find(caller->system, "/user/it", &found);
        (void)axo_system_inspect(caller->system, caller->to, axo_ref_none(), &info);
    }
    return NULL;
}

static void fork_nothing(axo_system *system, void *user)
{
}

#define FORKED(call) ((call) == AXO_EFORKED ? 0 : __LINE__)

static int fork_first(const int *lines, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (lines[i] != 0)
            return lines[i];
    }
    return 0;
}

/* The line of the first call that said something else; 0: none. */
static int fork_calls(axo_system *system, axo_ref ref)
{
    axo_props props = AXO_PROPS(.cls = &parts_class);
    axo_stats stats = AXO_STATS(.sent = 0);
    axo_actor_info info = AXO_ACTOR_INFO(.queued = 0);
    axo_asked asked;
    axo_ref out = ref;
    bool created;
    uint32_t count;
    uint64_t turns;
    char text[64];
    const int lines[] = {
        FORKED(axo_system_send(system, ref, 9, NULL, 0)),
        FORKED(axo_system_send_from(system, ref, ref, 9, NULL, 0)),
        FORKED(axo_system_send_owned(system, ref, 9, text, 1, NULL, NULL)),
        FORKED(axo_system_poison(system, ref)),
        FORKED(axo_system_kill(system, ref)),
        FORKED(axo_system_fail(system, ref, AXO_FAILURE_ORDINARY, 1)),
        FORKED(axo_system_stop_actor(system, ref)),
        FORKED(axo_system_spawn(system, &props, &out)),
        FORKED(axo_system_spawn_or_get(system, &props, &out, &created)),
        FORKED(axo_system_path(system, ref, text, sizeof text)),
        FORKED(axo_system_stats(system, &stats)),
        FORKED(axo_system_schedule_once(system, 1, ref, 9, NULL, 0, NULL)),
        FORKED(axo_system_schedule_fixed_rate(system, 1, 1, ref, 9, NULL, 0, NULL)),
        FORKED(axo_system_schedule_fixed_delay(system, 1, 1, ref, 9, NULL, 0, NULL)),
        FORKED(axo_system_find(system, "/user/it", &out)),
        FORKED(axo_system_find_all(system, "/user/*", NULL, 0, &count)),
        FORKED(axo_system_inspect(system, ref, axo_ref_none(), &info)),
        FORKED(axo_system_tag_name(system, ref, 9, text, sizeof text)),
        FORKED(axo_system_register(system, "key", ref)),
        FORKED(axo_system_unregister(system, "key")),
        FORKED(axo_system_subscribe(system, ref, AXO_KIND_ALL)),
        FORKED(axo_system_unsubscribe(system, ref, AXO_KIND_ALL)),
        FORKED(axo_system_publish(system, AXO_KIND_USER, NULL, 0)),
        FORKED(axo_system_on_termination(system, fork_nothing, NULL)),
        FORKED(axo_run_host(system, -1, &turns)),
        FORKED(axo_step_host(system, 1, &turns)),
        FORKED(axo_system_ask(system, ref, 9, NULL, 0, PARTS_S, &asked)),
        FORKED(axo_system_graceful_stop(system, ref, NULL, PARTS_S, NULL)),
        FORKED(axo_system_router_broadcast(system, ref, 9, NULL, 0)),
        FORKED(axo_system_shutdown(system)),
        FORKED(axo_system_stop(system, -1, NULL, 0, NULL)),
        FORKED(axo_system_wait(system, -1, NULL)),
        FORKED(axo_system_destroy(system)),
        axo_host_fd(system) == -1 ? 0 : __LINE__,
        axo_system_dead_letters(system, NULL, 0, NULL) == 0 ? 0 : __LINE__,
        !axo_system_timer_cancel(system, (axo_timer){1, 1}) ? 0 : __LINE__,
        !axo_system_timer_at_close(system, (axo_timer){1, 1}) ? 0 : __LINE__,
    };
    return fork_first(lines, sizeof lines / sizeof lines[0]);
}

static void fork_while_it_runs(void **state)
{
    parts_heap heap = {0};
    parts_load load = {0};
    pthread_t threads[FORK_SENDERS];
    axo_props props = AXO_PROPS(.cls = &parts_class, .name = "it");
    fork_caller caller = {.system = parts_start(&heap, 3)};
    assert_int_equal(axo_system_spawn(caller.system, &props, &caller.to), AXO_OK);
    parts_load_start(&load, caller.system, 4, 20000);
    for (uint32_t i = 0; i < FORK_SENDERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, fork_sender, &caller), 0);
    for (uint32_t i = 0; i < FORK_TIMES; i++) {
        int status = -1;
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            (void)alarm(20);
            int line = fork_calls(caller.system, caller.to);
            if (line != 0)
                _exit(line > 255 ? 255 : line);
            _exit(i % 2); /* what exit() itself does is another test's */
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), i % 2);
    }
    atomic_store(&fork_over, true);
    for (uint32_t i = 0; i < FORK_SENDERS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    parts_load_end(&load);
    parts_finish(caller.system, &heap);
    parts_made("fork while a system runs", FORK_TIMES);
}

static void fork_child_at_exit(void)
{
    (void)alarm(20);
    exit(0); /* with all handlers */
}

/* Both workers have gone to sleep, and take no memory: the leak check at the child's exit waits for
 * ever for the allocator that another thread was in at the fork. */
static void fork_at_rest(axo_system *system)
{
    axo_stats stats = AXO_STATS();
    while (stats.parks < 2)
        assert_int_equal(axo_system_stats(system, &stats), AXO_OK);
    (void)usleep(20000);
}

static void a_child_exits(void **state)
{
    parts_heap heap = {0};
    axo_system *system = parts_start(&heap, 2);
    fork_at_rest(system);
    for (uint32_t i = 0; i < 10; i++) {
        int status = -1;
        (void)fflush(NULL);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            fork_child_at_exit();
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
#if !defined(AXO_ASAN) && !defined(AXO_TSAN)
        assert_int_equal(WEXITSTATUS(status), 0);
#endif
    }
    parts_finish(system, &heap);
}

/* Once the parent has no system the child may have its own. */
static void a_child_without_a_system_starts_one(void **state)
{
    int status = -1;
#if defined(AXO_TSAN)
    skip(); /* it allows no threads in such a child */
#endif
    (void)fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        parts_heap heap = {0};
        parts_load load = {0};
        (void)alarm(40);
        axo_system *system = parts_start(&heap, 2);
        parts_load_start(&load, system, 1, 100);
        parts_load_end(&load);
        parts_finish(system, &heap);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* A child of one that has a system, and a child of that child, which has none of its own either. */
static void a_child_of_one_with_a_system_starts_none(void **state)
{
    parts_heap heap = {0};
    axo_system *system = parts_start(&heap, 2);
    axo_options options = AXO_OPTIONS(.manual = 1);
    int status = -1;
    (void)fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        axo_system *own = system;
        (void)alarm(20);
        if (axo_system_start(&options, &own) != AXO_EFORKED || own != NULL)
            _exit(1);
        pid_t below = fork();
        own = system;
        if (below == 0)
            _exit(axo_system_start(&options, &own) == AXO_EFORKED && own == NULL ? 7 : 2);
        _exit(waitpid(below, &status, 0) == below && WEXITSTATUS(status) == 7 ? 0 : 3);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    parts_finish(system, &heap);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(fork_while_it_runs),
    cmocka_unit_test(a_child_exits),
    cmocka_unit_test(a_child_without_a_system_starts_one),
    cmocka_unit_test(a_child_of_one_with_a_system_starts_none),
    cmocka_unit_test(a_child_without_a_system_starts_one), /* as before */
};
TEST_MAIN(tests)
