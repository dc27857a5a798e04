/* frame_test.c - a frame of a manual system makes no system call: nothing to do, messages from the
 * loop's own thread, a timer that is not due. Linux is told to end the process at the first one.
 * The calls of a descriptor that was asked for are made again. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <axo/axo.h>

#include "support/cmocka.h"
#include "support/slower.h"

#define FRAMES 1000

/* Runtimes of sanitizers, and memcheck, make calls of their own. */
#if defined(AXO_TSAN) || defined(AXO_ASAN)
#define MORE_CALLS true
#else
#define MORE_CALLS (slower() > 1)
#endif

/* Where there is no clock without a call, its call is let through. */
static bool forbid_calls(void)
{
    struct sock_filter lines[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clock_gettime, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {.len = sizeof lines / sizeof lines[0], .filter = lines};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

static axo_status count_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    uint32_t *count = state;
    (void)message;
    *count += 1;
    return *count == 1 ? axo_send_after(ctx, INT64_C(3600000000000), axo_self(ctx), 2, NULL, 0)
                       : AXO_OK;
}

static const axo_class count_class =
    AXO_CLASS(.name = "count", .state_size = sizeof(uint32_t), .receive = count_receive);

/* The exit code is how far it came. */
static int frames(bool asked)
{
    axo_options options = AXO_OPTIONS(.manual = AXO_MANUAL_ALL);
    axo_system *system;
    axo_ref ref;
    uint64_t turns;
    if (axo_system_start(&options, &system) != AXO_OK ||
        axo_system_spawn(system, &(axo_props)AXO_PROPS(.cls = &count_class), &ref) != AXO_OK ||
        axo_system_send(system, ref, 1, NULL, 0) != AXO_OK ||
        axo_run_host(system, -1, NULL) != AXO_OK)
        return 1;
    if (asked && axo_host_fd(system) < 0)
        return 2;
    if (!forbid_calls())
        return 3;
    for (uint32_t i = 0; i < FRAMES; i++) {
        if (axo_run_host(system, 2000000, &turns) != AXO_OK || turns != 0)
            return 4;
        if (axo_system_send(system, ref, 3, NULL, 0) != AXO_OK ||
            axo_run_host(system, 2000000, &turns) != AXO_OK || turns == 0)
            return 5;
    }
    return 0;
}

static int in_a_process(bool asked)
{
    int how;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(frames(asked));
    assert_int_equal(waitpid(child, &how, 0), child);
    return how;
}

static void no_call_in_a_frame(void **state)
{
    if (MORE_CALLS)
        skip();
    int how = in_a_process(false);
    assert_true(WIFEXITED(how));
    assert_int_equal(WEXITSTATUS(how), 0);
}

/* The other way round: the test would see one. */
static void who_asks_pays(void **state)
{
    if (MORE_CALLS)
        skip();
    int how = in_a_process(true);
    assert_true(WIFSIGNALED(how));
    assert_int_equal(WTERMSIG(how), SIGSYS);
}

/* Asked for at any moment, the descriptor says what the moment is. */
static void asked_late(void **state)
{
    axo_options options = AXO_OPTIONS(.manual = AXO_MANUAL_ALL);
    axo_system *system;
    axo_ref ref;
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    assert_int_equal(axo_system_spawn(system, &(axo_props)AXO_PROPS(.cls = &count_class), &ref),
                     AXO_OK);
    assert_int_equal(axo_run_host(system, -1, NULL), AXO_OK);
    struct pollfd fd = {.fd = axo_host_fd(system), .events = POLLIN};
    assert_int_equal(poll(&fd, 1, 0), 0); /* nothing is left */
    assert_int_equal(axo_system_stop(system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(system), AXO_OK);

    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    assert_int_equal(axo_system_spawn(system, &(axo_props)AXO_PROPS(.cls = &count_class), &ref),
                     AXO_OK);
    assert_int_equal(axo_run_host(system, -1, NULL), AXO_OK);
    assert_int_equal(axo_system_send(system, ref, 2, NULL, 0), AXO_OK);
    fd.fd = axo_host_fd(system);
    assert_int_equal(poll(&fd, 1, 0), 1); /* rung before it was asked for */
    assert_int_equal(axo_run_host(system, -1, NULL), AXO_OK);
    assert_int_equal(poll(&fd, 1, 0), 0);
    assert_int_equal(axo_system_send(system, ref, 2, NULL, 0), AXO_OK);
    assert_int_equal(poll(&fd, 1, 0), 1);
    assert_int_equal(axo_step_host(system, 0, NULL), AXO_OK);
    assert_int_equal(poll(&fd, 1, 0), 1); /* work is left */
    assert_int_equal(axo_system_stop(system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(no_call_in_a_frame),
    cmocka_unit_test(who_asks_pays),
    cmocka_unit_test(asked_late),
};
TEST_MAIN(tests)
