/* signal_test.c - a thousand signals a second to all threads, with a handler that restarts nothing:
 * workers take none; those whose actor lets them in are interrupted in their waits, and still
 * nothing is early or lost. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fault/parts.h"

static _Thread_local bool signal_worker; /* this thread runs actors and has not let signals in */
static atomic_uint signal_taken;
static atomic_uint signal_misled; /* taken by such a thread */
static atomic_bool signal_over;

static void signal_handler(int number)
{
    int kept = errno;
    atomic_fetch_add(&signal_taken, 1);
    if (signal_worker)
        atomic_fetch_add(&signal_misled, 1);
    errno = EINTR;
    errno = kept;
}

/* To each thread in turn but itself, one a millisecond. */
static void *signal_storm(void *arg)
{
    pid_t self = (pid_t)syscall(SYS_gettid);
    while (!atomic_load(&signal_over)) {
        DIR *dir = opendir("/proc/self/task");
        if (dir == NULL)
            return NULL;
        for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
            struct timespec pause = {.tv_nsec = 1000000};
            pid_t thread = (pid_t)atoi(entry->d_name);
            if (thread <= 0 || thread == self || atomic_load(&signal_over))
                continue;
            (void)syscall(SYS_tgkill, getpid(), thread, SIGUSR1);
            (void)nanosleep(&pause, NULL);
        }
        (void)closedir(dir);
    }
    return NULL;
}

static axo_status signal_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    bool open = message->tag == 2;
    atomic_uint *count = *AXO_PAYLOAD(message, atomic_uint *);
    sigset_t set;
    sigset_t now;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGUSR1);
    if (open) {
        (void)pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    } else {
        signal_worker = true;
        (void)pthread_sigmask(SIG_SETMASK, NULL, &now);
        const int asynchronous[] = {SIGUSR1, SIGUSR2, SIGTERM, SIGINT,  SIGHUP,
                                    SIGALRM, SIGCHLD, SIGPIPE, SIGQUIT, SIGRTMIN};
        const int synchronous[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
        bool right = true;
        for (uint32_t i = 0; i < sizeof asynchronous / sizeof asynchronous[0]; i++)
            right = right && sigismember(&now, asynchronous[i]) == 1;
        for (uint32_t i = 0; i < sizeof synchronous / sizeof synchronous[0]; i++)
            right = right && sigismember(&now, synchronous[i]) == 0;
        if (!right)
            return AXO_EINVAL;
    }
    atomic_fetch_add(count, 1);
    return AXO_OK;
}

static const axo_class signal_class = AXO_CLASS(.receive = signal_receive);

/* Each of `actors`, on whatever threads they come to run. */
static void signal_tell(axo_system *system, axo_dispatcher dispatcher, uint32_t tag,
                        uint32_t actors)
{
    atomic_uint count = 0;
    atomic_uint *to = &count;
    for (uint32_t i = 0; i < actors; i++) {
        axo_props props = AXO_PROPS(.cls = &signal_class, .dispatcher = dispatcher);
        axo_ref ref;
        assert_int_equal(axo_system_spawn(system, &props, &ref), AXO_OK);
        for (uint32_t k = 0; k < 20; k++)
            assert_int_equal(axo_system_send(system, ref, tag, &to, sizeof to), AXO_OK);
    }
    parts_await(&count, actors * 20);
}

static void signal_begin(pthread_t *storm)
{
    struct sigaction action = {.sa_handler = signal_handler}; /* no SA_RESTART */
    atomic_store(&signal_over, false);
    assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
    assert_int_equal(pthread_create(storm, NULL, signal_storm, NULL), 0);
}

static void signal_end(pthread_t storm)
{
    atomic_store(&signal_over, true);
    assert_int_equal(pthread_join(storm, NULL), 0);
}

static void signal_load(axo_system *system)
{
    for (uint32_t round = 0; round < 10; round++) {
        parts_load load = {0};
        parts_load_start(&load, system, 3, 300);
        parts_load_end(&load);
    }
}

/* Threads of every dispatcher block what is not synchronous. */
static void workers_take_no_signals(void **state)
{
    uint32_t workers = (uint32_t)(uintptr_t)*state;
    parts_heap heap = {0};
    pthread_t storm;
    axo_system *system = parts_start(&heap, workers);
    signal_begin(&storm);
    signal_tell(system, AXO_DISPATCH_DEFAULT, 1, 8);
    signal_tell(system, AXO_DISPATCH_PINNED, 1, 3);
    signal_tell(system, AXO_DISPATCH_BLOCKING, 1, 3);
    signal_load(system);
    parts_await(&signal_taken, 20); /* by this thread */
    signal_end(storm);
    assert_int_equal(atomic_load(&signal_misled), 0);
    parts_finish(system, &heap);
    parts_made("signal to all threads", atomic_load(&signal_taken));
}

/* An actor has let them in: waits of its thread end early, now and again. */
static void workers_that_are_interrupted(void **state)
{
    uint32_t workers = (uint32_t)(uintptr_t)*state;
    parts_heap heap = {0};
    pthread_t storm;
    axo_system *system = parts_start(&heap, workers);
    signal_tell(system, AXO_DISPATCH_DEFAULT, 2, 16);
    signal_tell(system, AXO_DISPATCH_PINNED, 2, 2);
    uint32_t taken = atomic_load(&signal_taken);
    signal_begin(&storm);
    signal_load(system);
    parts_await(&signal_taken, taken + 100);
    signal_end(storm);
    parts_finish(system, &heap);
    parts_made("signal that a worker takes", atomic_load(&signal_taken) - taken);
}

#define SIGNAL_TEST(function, n)                                                                   \
    {                                                                                              \
#function " [" #n "]", function, NULL, NULL, (void *)(uintptr_t)(n)                        \
    }

static const struct CMUnitTest tests[] = {
    SIGNAL_TEST(workers_take_no_signals, 1),
    SIGNAL_TEST(workers_take_no_signals, 4),
    SIGNAL_TEST(workers_that_are_interrupted, 1),
    SIGNAL_TEST(workers_that_are_interrupted, 4),
};
TEST_MAIN(tests)
