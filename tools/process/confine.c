/* confine.c - what a process is kept from: system calls by seccomp, files by Landlock, memory by
 * RLIMIT_AS. */
#include "confine.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <seccomp.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <axo/process.h>

#include "wire.h"

/* How long other threads have to end. */
#define CONFINE_ALONE_NS INT64_C(1000000000)

/* Landlock by number: its header may be older than the kernel. They are the same on every machine,
 * as are the rights of files: bits 0 to 15. */
enum { CONFINE_CREATE = 444, CONFINE_RESTRICT = 446, CONFINE_VERSION = 1 };

/* Rights that the versions 1, 2, 3 and 5 of Landlock know. */
static uint64_t confine_rights(long version)
{
    uint64_t rights = (UINT64_C(1) << 13) - 1;
    if (version >= 2)
        rights |= UINT64_C(1) << 13;
    if (version >= 3)
        rights |= UINT64_C(1) << 14;
    if (version >= 5)
        rights |= UINT64_C(1) << 15;
    return rights;
}

static long confine_landlock_version(void)
{
    return syscall(CONFINE_CREATE, NULL, (size_t)0, CONFINE_VERSION);
}

/* The library may be there and the kernel without it: asked for with no filter at all, a kernel
 * that knows the mode says that the address is bad. */
static bool confine_can_syscalls(void)
{
    return prctl(PR_SET_SECCOMP, 2 /* SECCOMP_MODE_FILTER */, NULL, 0, 0) == -1 && errno == EFAULT;
}

bool process_confine_can(uint32_t how)
{
    if ((how & AXO_CONFINE_FILES) != 0 && confine_landlock_version() < 1)
        return false;
    return (how & AXO_CONFINE_SYSCALLS) == 0 || confine_can_syscalls();
}

/* With no rule at all nothing may be opened, made, moved or removed. */
static int confine_files(void)
{
    long version = confine_landlock_version();
    if (version < 1)
        return version < 0 ? errno : ENOSYS;
    uint64_t rights = confine_rights(version);
    long rules = syscall(CONFINE_CREATE, &rights, sizeof rights, 0);
    if (rules < 0)
        return errno;
    int error = syscall(CONFINE_RESTRICT, rules, 0) == 0 ? 0 : errno;
    (void)close((int)rules);
    return error;
}

/* What computing, waiting and taking memory need; none of them names another process, a file or an
 * address. Descriptors are those that it has. */
static const int confine_allowed[] = {
    SCMP_SYS(read),          SCMP_SYS(write),         SCMP_SYS(readv),
    SCMP_SYS(writev),        SCMP_SYS(close),         SCMP_SYS(lseek),
    SCMP_SYS(fstat),         SCMP_SYS(recvfrom),      SCMP_SYS(poll),
    SCMP_SYS(ppoll),         SCMP_SYS(epoll_wait),    SCMP_SYS(epoll_pwait),
    SCMP_SYS(epoll_ctl),     SCMP_SYS(epoll_create1), SCMP_SYS(eventfd2),
    SCMP_SYS(futex),         SCMP_SYS(sched_yield),   SCMP_SYS(clock_gettime),
    SCMP_SYS(clock_nanosleep), SCMP_SYS(nanosleep),   SCMP_SYS(gettimeofday),
    SCMP_SYS(clock_getres),  SCMP_SYS(munmap),        SCMP_SYS(madvise),
    SCMP_SYS(brk),           SCMP_SYS(exit),          SCMP_SYS(exit_group),
    SCMP_SYS(rt_sigreturn),  SCMP_SYS(rt_sigprocmask), SCMP_SYS(sigaltstack),
    SCMP_SYS(restart_syscall), SCMP_SYS(getpid),      SCMP_SYS(gettid),
    SCMP_SYS(getppid),       SCMP_SYS(getrandom),     SCMP_SYS(membarrier),
    SCMP_SYS(getcpu),        SCMP_SYS(rseq),          SCMP_SYS(mremap),
    SCMP_SYS(sched_getaffinity),
};

static int confine_rules(scmp_filter_ctx filter)
{
    const struct scmp_arg_cmp no_code = SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0);
    const struct scmp_arg_cmp no_address = SCMP_A4(SCMP_CMP_EQ, 0, 0);
    const struct scmp_arg_cmp itself = SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid(), 0);
    int error = 0;
    for (size_t i = 0; error == 0 && i < sizeof confine_allowed / sizeof confine_allowed[0]; i++)
        error = seccomp_rule_add(filter, SCMP_ACT_ALLOW, confine_allowed[i], 0);
    if (error == 0)
        error = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1, no_code);
    if (error == 0)
        error = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1, no_code);
    if (error == 0) /* of sockets that it has */
        error = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(sendto), 1, no_address);
    if (error == 0) /* abort */
        error = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1, itself);
    return error;
}

static int confine_syscalls(void)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
    if (filter == NULL)
        return ENOMEM;
    int error = confine_rules(filter);
    if (error == 0)
        error = seccomp_load(filter);
    seccomp_release(filter);
    return -error;
}

/* How many threads this process has; 0: that cannot be read. */
static unsigned confine_threads(void)
{
    char line[256];
    unsigned threads = 0;
    FILE *file = fopen("/proc/self/status", "re");
    while (file != NULL && threads == 0 && fgets(line, sizeof line, file) != NULL)
        (void)sscanf(line, "Threads: %u", &threads);
    if (file != NULL)
        (void)fclose(file);
    return threads;
}

/* Both are of a thread, and of those that it starts: one that is there already would go on as it
 * is. One that has been joined is counted a moment longer, so it is waited for. 0, or an errno. */
static int confine_alone(void)
{
    const int64_t deadline = process_now() + CONFINE_ALONE_NS;
    unsigned threads = confine_threads();
    while (threads > 1 && process_now() < deadline) {
        (void)poll(NULL, 0, 1);
        threads = confine_threads();
    }
    if (threads == 0)
        return EPROTO;
    return threads == 1 ? 0 : EBUSY;
}

int process_confine(uint32_t how)
{
    if (how == 0)
        return 0;
    int error = confine_alone();
    if (error != 0)
        return error;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return errno;
    if ((how & AXO_CONFINE_FILES) != 0)
        error = confine_files();
    if (error == 0 && (how & AXO_CONFINE_SYSCALLS) != 0)
        error = confine_syscalls();
    return error;
}

int process_confine_memory(uint64_t bytes)
{
    unsigned long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file == NULL)
        return errno;
    int found = fscanf(file, "%llu", &pages);
    (void)fclose(file);
    if (found != 1)
        return EPROTO;
    rlim_t most = (rlim_t)(pages * (unsigned long long)sysconf(_SC_PAGESIZE) + bytes);
    const struct rlimit limit = {.rlim_cur = most, .rlim_max = most};
    return setrlimit(RLIMIT_AS, &limit) == 0 ? 0 : errno;
}
