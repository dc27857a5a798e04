/* poll_test.c - the wait for descriptors on a kernel without epoll_pwait2, or in a sandbox that
 * refuses it. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/poll.h"
#include "support/cmocka.h"
#include "support/slower.h"

#define SPAN_NS INT64_C(3300000) /* no whole number of milliseconds */

static bool refuse(uint32_t error)
{
    struct sock_filter lines[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_epoll_pwait2, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {.len = sizeof lines / sizeof lines[0], .filter = lines};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

/* A wait that nobody ends does not come back before its deadline, which is not over when it begins.
 */
static bool waits_out(axo__os_poll *poll)
{
    int64_t deadline = axo__os_now() + SPAN_NS * slower();
    axo__os_poll_wait(poll, deadline);
    return poll->count == 0 && axo__os_now() >= deadline;
}

/* In a process of its own: a filter stays. The exit code is how far it came. */
static int without_the_newer_call(uint32_t error)
{
    axo__os_poll poll;
    int ends[2];
    memset(&poll, 0, sizeof poll);
    if (!refuse(error) || pipe(ends) != 0 || !axo__os_poll_init(&poll, NULL))
        return 1;
    if (axo__os_poll_add(&poll, ends[0], 7, false) != AXO__POLL_OK)
        return 2;
    for (uint32_t i = 0; i < 3; i++) { /* the first one finds that the kernel refuses */
        if (!waits_out(&poll) || axo__a32_load_relaxed(&poll.coarse) != 1)
            return 3;
    }
    if (write(ends[1], "a", 1) != 1)
        return 4;
    axo__os_poll_wait(&poll, axo__os_now() + INT64_C(60000000000));
    if (poll.count != 1 || poll.found[0].cookie != 7 || poll.found[0].events != AXO__POLL_IN)
        return 5;
    axo__os_poll_wake(&poll);
    axo__os_poll_wait(&poll, AXO__NEVER);
    if (poll.count != 0)
        return 6;
    axo__os_poll_fini(&poll);
    return close(ends[0]) == 0 && close(ends[1]) == 0 ? 0 : 7;
}

static void an_older_kernel(void **state)
{
    static const uint32_t errors[] = {ENOSYS, EPERM, EACCES};
    for (uint32_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        int status = -1;
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            _exit(without_the_newer_call(errors[i]));
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
}

static void this_kernel(void **state)
{
    axo__os_poll poll;
    memset(&poll, 0, sizeof poll);
    assert_true(axo__os_poll_init(&poll, NULL));
    assert_true(waits_out(&poll));
    axo__os_poll_fini(&poll);
}

/* A sandbox refuses poll, or the program has given up all descriptors but those that it has: what
 * cannot be looked at may be ready, and who tries finds out. */
static void who_may_not_look_tries(void **state)
{
    int ends[2];
    if (slower() > 1)
        skip(); /* memcheck has limits of descriptors of its own */
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(axo__os_poll_look(ends[0], AXO__POLL_IN), 0);
    pid_t child = fork();
    if (child == 0) {
        const struct rlimit none = {0, 0};
        if (setrlimit(RLIMIT_NOFILE, &none) != 0)
            _exit(1);
        _exit(axo__os_poll_look(ends[0], AXO__POLL_IN) == AXO__POLL_IN ? 0 : 2);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_older_kernel),
        cmocka_unit_test(this_kernel),
        cmocka_unit_test(who_may_not_look_tries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
