/* signal_test.c - signals as messages: told to all, put back at the end, never to a stranger. */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <axo/axo.h>

#include "support/cmocka.h"
#include "support/slower.h"

#define WAIT_S 20

enum { TAG_WATCH = 1, TAG_UNWATCH = 2, TAG_FAIL = 3, TAG_MANY = 4, TAG_NOTE = 5, TAG_HOLD = 6 };

/* What an actor has seen, read by the test. */
typedef struct seen {
    atomic_int number; /* watched in pre_start; 0: none */
    atomic_int fd;
    atomic_uint instances;
    atomic_uint handled; /* messages of the test */
    atomic_int status;   /* of the last call */
    atomic_uint_fast64_t came;
    atomic_uint_fast64_t ready;
    atomic_uint held; /* how often it waits to be let go, or has */
    atomic_uint let;
    atomic_bool holds; /* construct does */
    atomic_uint fails; /* so many constructs fail yet, behind that */
} seen;

typedef struct watcher {
    seen *seen;
    int fd;
} watcher;

static void hold(seen *s)
{
    uint32_t turn = atomic_fetch_add(&s->held, 1);
    while (atomic_load(&s->let) <= turn)
        (void)sched_yield();
}

static axo_status on_construct(axo_ctx *ctx, void *state, const void *args)
{
    watcher *w = state;
    w->seen = *(seen *const *)args;
    w->fd = -1;
    if (atomic_load(&w->seen->holds))
        hold(w->seen);
    if (atomic_load(&w->seen->fails) == 0)
        return AXO_OK;
    atomic_fetch_sub(&w->seen->fails, 1);
    return axo_fail(ctx, 2, NULL);
}

static void watch(axo_ctx *ctx, watcher *w, int number)
{
    int fd = 77;
    axo_status status = axo_signal_watch(ctx, number, &fd);
    atomic_store(&w->seen->status, (int)status);
    if (status == AXO_OK)
        w->fd = fd;
    else if (fd != -1)
        atomic_store(&w->seen->status, 1);
    atomic_store(&w->seen->fd, w->fd);
}

static axo_status on_start(axo_ctx *ctx, void *state)
{
    watcher *w = state;
    int number = atomic_load(&w->seen->number);
    if (number != 0)
        watch(ctx, w, number);
    atomic_fetch_add(&w->seen->instances, 1);
    return AXO_OK;
}

/* As many as the process may have; how many that were. */
static void watch_many(axo_ctx *ctx, watcher *w)
{
    axo_status status = AXO_OK;
    int fd;
    uint64_t count = 0;
    while (count < 1000 && (status = axo_signal_watch(ctx, SIGUSR2, &fd)) == AXO_OK)
        count++;
    atomic_store(&w->seen->came, count);
    atomic_store(&w->seen->status, (int)status);
}

static axo_status on_message(axo_ctx *ctx, void *state, const axo_message *message)
{
    watcher *w = state;
    switch (message->tag) {
    case AXO_IO_READY:
        if (AXO_PAYLOAD(message, axo_io_ready)->fd == w->fd) {
            atomic_fetch_add(&w->seen->came, axo_signal_take(ctx, w->fd));
            atomic_fetch_add(&w->seen->ready, 1);
        }
        return AXO_OK;
    case TAG_WATCH:
        watch(ctx, w, *AXO_PAYLOAD(message, int));
        break;
    case TAG_UNWATCH:
        atomic_store(&w->seen->status, (int)axo_signal_unwatch(ctx, w->fd));
        break;
    case TAG_MANY:
        watch_many(ctx, w);
        break;
    case TAG_HOLD:
        hold(w->seen);
        return axo_fail(ctx, 1, NULL);
    case TAG_FAIL:
        return axo_fail(ctx, 1, NULL);
    default:
        break;
    }
    atomic_fetch_add(&w->seen->handled, 1);
    return AXO_OK;
}

static const axo_class watches =
    AXO_CLASS(.name = "watches", .state_size = sizeof(watcher), .construct = on_construct,
              .pre_start = on_start, .receive = on_message);

static axo_directive always_restart(axo_ctx *ctx, void *state, const axo_failure *failure,
                                    void *user)
{
    return AXO_RESTART;
}

static const axo_strategy restarts = AXO_STRATEGY(.decider = always_restart);

static axo_system *start(void)
{
    axo_system *system;
    axo_options options = AXO_OPTIONS(.workers = 2, .user_strategy = &restarts);
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    return system;
}

static void end(axo_system *system)
{
    assert_int_equal(axo_system_stop(system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
}

#define AWAIT(condition)                                                                           \
    do {                                                                                           \
        time_t limit = time(NULL) + WAIT_S;                                                        \
        while (!(condition) && time(NULL) < limit)                                                 \
            (void)sched_yield();                                                                   \
        assert_true(condition);                                                                    \
    } while (0)

static axo_ref spawn(axo_system *system, seen *s)
{
    axo_ref ref;
    axo_props props = AXO_PROPS(.cls = &watches, .args = &s, .args_size = sizeof(seen *));
    assert_int_equal(axo_system_spawn(system, &props, &ref), AXO_OK);
    AWAIT(atomic_load(&s->instances) == 1);
    return ref;
}

static axo_status tell(axo_system *system, axo_ref to, seen *s, uint32_t tag, int number)
{
    uint32_t before = atomic_load(&s->handled);
    assert_int_equal(axo_system_send(system, to, tag, &number, sizeof number), AXO_OK);
    AWAIT(atomic_load(&s->handled) > before);
    return (axo_status)atomic_load(&s->status);
}

/* ---- what the program does by itself ---- */

static atomic_uint own;

static void on_own(int number)
{
    (void)number;
    atomic_fetch_add(&own, 1);
}

static struct sigaction before;

static int set_up(void **state)
{
    struct sigaction mine;
    memset(&mine, 0, sizeof mine);
    mine.sa_handler = on_own;
    atomic_store(&own, 0);
    return sigaction(SIGUSR1, &mine, &before);
}

static int tear_down(void **state)
{
    return sigaction(SIGUSR1, &before, NULL);
}

static uint32_t descriptors(void)
{
    uint32_t count = 0;
    DIR *all = opendir("/proc/self/fd");
    assert_non_null(all);
    while (readdir(all) != NULL)
        count++;
    (void)closedir(all);
    return count;
}

static void come(int number)
{
    assert_int_equal(kill(getpid(), number),
                     0); /* handled when this returns: no other thread may */
}

/* ---- tests ---- */

static void it_is_a_message_and_put_back(void **state)
{
    static seen s;
    uint32_t open = descriptors();
    atomic_store(&s.number, SIGUSR1);
    axo_system *system = start();
    axo_ref ref = spawn(system, &s);
    assert_int_equal(atomic_load(&s.status), AXO_OK);
    for (uint64_t i = 1; i <= 10; i++) {
        come(SIGUSR1);
        AWAIT(atomic_load(&s.came) == i);
    }
    for (uint64_t i = 0; i < 100; i++) /* each is counted, however few messages they make */
        come(SIGUSR1);
    AWAIT(atomic_load(&s.came) == 110);
    assert_true(atomic_load(&s.ready) <= 110);
    assert_int_equal(atomic_load(&own), 0);
    assert_int_equal(axo_system_stop_actor(system, ref), AXO_OK);
    int fd = atomic_load(&s.fd);
    AWAIT(fcntl(fd, F_GETFD) == -1);
    come(SIGUSR1);
    assert_int_equal(atomic_load(&own), 1);
    assert_int_equal(atomic_load(&s.came), 110);
    end(system);
    assert_int_equal(descriptors(), open);
}

static void all_systems_are_told(void **state)
{
    static seen s[3];
    axo_system *first = start();
    axo_system *second = start();
    for (int i = 0; i < 3; i++)
        atomic_store(&s[i].number, SIGUSR1);
    (void)spawn(first, &s[0]);
    (void)spawn(second, &s[1]);
    (void)spawn(second, &s[2]);
    come(SIGUSR1);
    for (int i = 0; i < 3; i++)
        AWAIT(atomic_load(&s[i].came) == 1);
    end(first);
    come(SIGUSR1);
    for (int i = 1; i < 3; i++)
        AWAIT(atomic_load(&s[i].came) == 2);
    assert_int_equal(atomic_load(&s[0].came), 1);
    assert_int_equal(atomic_load(&own), 0);
    end(second);
    come(SIGUSR1);
    assert_int_equal(atomic_load(&own), 1);
}

static void a_watch_ends(void **state)
{
    static seen s;
    axo_system *system = start();
    axo_ref ref = spawn(system, &s);
    assert_int_equal(tell(system, ref, &s, TAG_UNWATCH, 0), AXO_ENOENT);
    assert_int_equal(tell(system, ref, &s, TAG_WATCH, SIGUSR1), AXO_OK);
    come(SIGUSR1);
    AWAIT(atomic_load(&s.came) == 1);
    int fd = atomic_load(&s.fd);
    assert_int_equal(tell(system, ref, &s, TAG_UNWATCH, 0), AXO_OK);
    assert_int_equal(fcntl(fd, F_GETFD), -1);
    come(SIGUSR1);
    assert_int_equal(atomic_load(&own), 1);
    assert_int_equal(tell(system, ref, &s, TAG_UNWATCH, 0), AXO_ENOENT);
    /* again, and the program sets up another one: that stays */
    assert_int_equal(tell(system, ref, &s, TAG_WATCH, SIGUSR1), AXO_OK);
    assert_int_equal(signal(SIGUSR1, SIG_IGN) == SIG_ERR, 0);
    assert_int_equal(tell(system, ref, &s, TAG_UNWATCH, 0), AXO_OK);
    struct sigaction now;
    assert_int_equal(sigaction(SIGUSR1, NULL, &now), 0);
    assert_true(now.sa_handler == SIG_IGN);
    end(system);
    assert_int_equal(atomic_load(&s.came), 1);
}

/* The watch is the instance's: the next one makes its own, and nothing is left of the old one. */
static void a_restart(void **state)
{
    static seen s;
    uint32_t open = descriptors();
    atomic_store(&s.number, SIGUSR1);
    axo_system *system = start();
    axo_ref ref = spawn(system, &s);
    uint32_t one = descriptors();
    for (uint32_t i = 2; i <= 20; i++) {
        assert_int_equal(axo_system_send(system, ref, TAG_FAIL, NULL, 0), AXO_OK);
        AWAIT(atomic_load(&s.instances) == i);
        come(SIGUSR1);
        AWAIT(atomic_load(&s.came) == i - 1);
    }
    assert_int_equal(descriptors(), one);
    assert_int_equal(atomic_load(&own), 0);
    end(system);
    assert_int_equal(descriptors(), open);
}

/* The test holds the actor. */
static void await_hold(seen *s, uint32_t turn)
{
    AWAIT(atomic_load(&s->held) == turn);
}

/* What has come, and was not taken when the instance failed, is the next one's. */
static void what_a_failed_instance_has_not_taken(void **state)
{
    static seen s;
    uint32_t open = descriptors();
    atomic_store(&s.number, SIGUSR1);
    axo_system *system = start();
    axo_ref ref = spawn(system, &s);
    for (uint32_t i = 1; i <= 3; i++) {
        assert_int_equal(axo_system_send(system, ref, TAG_HOLD, NULL, 0), AXO_OK);
        await_hold(&s, i);
        come(SIGUSR1);
        come(SIGUSR1);
        atomic_store(&s.let, i);
        AWAIT(atomic_load(&s.came) == 2 * i);
        assert_int_equal(atomic_load(&s.instances), 1 + i);
    }
    assert_int_equal(atomic_load(&own), 0);
    end(system);
    come(SIGUSR1);
    assert_int_equal(atomic_load(&own), 1);
    assert_int_equal(descriptors(), open);
}

/* Between two instances the program does not do what it does by itself, however many of them fail
 * to begin, and nothing of it is lost. */
static void between_two_instances(void **state)
{
    static seen s;
    uint32_t open = descriptors();
    atomic_store(&s.number, SIGUSR1);
    axo_system *system = start();
    axo_ref ref = spawn(system, &s);
    atomic_store(&s.fails, 3);
    atomic_store(&s.holds, true);
    assert_int_equal(axo_system_send(system, ref, TAG_FAIL, NULL, 0), AXO_OK);
    for (uint32_t i = 1; i <= 4; i++) {
        await_hold(&s, i);
        come(SIGUSR1);
        assert_int_equal(atomic_load(&own), 0);
        atomic_store(&s.let, i);
    }
    AWAIT(atomic_load(&s.came) == 4);
    assert_int_equal(atomic_load(&s.instances), 2);
    assert_int_equal(axo_system_stop_actor(system, ref), AXO_OK);
    int fd = atomic_load(&s.fd);
    AWAIT(fcntl(fd, F_GETFD) == -1);
    come(SIGUSR1);
    assert_int_equal(atomic_load(&own), 1);
    end(system);
    assert_int_equal(descriptors(), open);
}

/* An instance that watches it no more has it put back as it ends, and by a watch that it ends. */
static void not_watched_again(void **state)
{
    static seen s;
    atomic_store(&s.number, SIGUSR1);
    axo_system *system = start();
    axo_ref ref = spawn(system, &s);
    int fd = atomic_load(&s.fd);
    atomic_store(&s.number, 0);
    assert_int_equal(axo_system_send(system, ref, TAG_FAIL, NULL, 0), AXO_OK);
    AWAIT(atomic_load(&s.instances) == 2);
    come(SIGUSR1);
    assert_int_equal(atomic_load(&own), 0);
    assert_int_equal(axo_system_send(system, ref, TAG_FAIL, NULL, 0), AXO_OK);
    AWAIT(atomic_load(&s.instances) == 3);
    assert_int_equal(fcntl(fd, F_GETFD), -1);
    come(SIGUSR1);
    assert_int_equal(atomic_load(&own), 1);
    /* another number is no watch of this one */
    assert_int_equal(tell(system, ref, &s, TAG_WATCH, SIGUSR1), AXO_OK);
    assert_int_equal(axo_system_send(system, ref, TAG_FAIL, NULL, 0), AXO_OK);
    AWAIT(atomic_load(&s.instances) == 4);
    come(SIGUSR1);
    assert_int_equal(tell(system, ref, &s, TAG_WATCH, SIGUSR2), AXO_OK);
    assert_int_equal(tell(system, ref, &s, TAG_UNWATCH, 0), AXO_OK);
    assert_int_equal(atomic_load(&s.came), 0);
    assert_int_equal(tell(system, ref, &s, TAG_WATCH, SIGUSR1), AXO_OK);
    AWAIT(atomic_load(&s.came) == 1);
    assert_int_equal(tell(system, ref, &s, TAG_UNWATCH, 0), AXO_OK);
    come(SIGUSR1);
    assert_int_equal(atomic_load(&own), 2);
    end(system);
}

/* What one actor has left is no other's. */
static void another_actor_watches(void **state)
{
    static seen s[2];
    axo_system *system = start();
    atomic_store(&s[0].number, SIGUSR1);
    axo_ref ref = spawn(system, &s[0]);
    atomic_store(&s[0].holds, true);
    assert_int_equal(axo_system_send(system, ref, TAG_FAIL, NULL, 0), AXO_OK);
    await_hold(&s[0], 1);
    come(SIGUSR1);
    atomic_store(&s[1].number, SIGUSR1);
    (void)spawn(system, &s[1]);
    atomic_store(&s[0].let, 1);
    AWAIT(atomic_load(&s[0].came) == 1);
    come(SIGUSR1);
    AWAIT(atomic_load(&s[0].came) == 2 && atomic_load(&s[1].came) == 1);
    end(system);
}

static void what_is_refused(void **state)
{
    static seen s;
    static const int bad[] = {0,       -1,      65,     1000,    INT32_MAX, INT32_MIN, SIGKILL,
                              SIGSTOP, SIGSEGV, SIGBUS, SIGABRT, SIGPROF,   SIGURG,    32,
                              33};
    int fd = 5;
    axo_system *system = start();
    axo_ref ref = spawn(system, &s);
    uint32_t open = 0;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(tell(system, ref, &s, TAG_WATCH, bad[i]), AXO_EINVAL);
        if (i == 0)
            open = descriptors();
    }
    assert_int_equal(descriptors(), open);
    assert_int_equal(axo_signal_watch(NULL, SIGUSR1, &fd), AXO_ECONTEXT);
    assert_int_equal(fd, -1);
    assert_int_equal(axo_signal_unwatch(NULL, 0), AXO_ECONTEXT);
    assert_int_equal(axo_signal_take(NULL, 0), 0);
    assert_int_equal(tell(system, ref, &s, TAG_MANY, 0), AXO_EFULL);
    assert_int_equal(atomic_load(&s.came), 64);
    assert_int_equal(axo_system_stop_actor(system, ref), AXO_OK);
    end(system);
    /* all places are free again */
    static seen t;
    system = start();
    ref = spawn(system, &t);
    assert_int_equal(tell(system, ref, &t, TAG_MANY, 0), AXO_EFULL);
    assert_int_equal(atomic_load(&t.came), 64);
    end(system);
}

/* A child that has not called exec does what was done before, and the parent hears nothing. */
static void a_child_of_fork(void **state)
{
    static seen s;
    atomic_store(&s.number, SIGUSR1);
    axo_system *system = start();
    (void)spawn(system, &s);
    pid_t child = fork();
    if (child == 0) {
        (void)raise(SIGUSR1);
        for (int i = 0; i < 5000 && atomic_load(&own) == 0; i++) /* a sanitizer hands it on late */
            (void)usleep(1000);
        if (atomic_load(&own) == 1) /* told so that memcheck does not look for what is lost there */
            (void)kill(getpid(), SIGKILL);
        _exit(1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    come(SIGUSR1);
    AWAIT(atomic_load(&s.came) == 1);
    assert_int_equal(atomic_load(&s.ready), 1);
    assert_int_equal(atomic_load(&own), 0);
    end(system);
}

/* ---- watches that come and go under a storm ---- */

static atomic_bool over;

static void *storm(void *arg)
{
    (void)arg;
    while (!atomic_load(&over))
        (void)kill(getpid(), SIGUSR1);
    return NULL;
}

/* Numbers of descriptors are used anew at once, by sockets: none gets a byte but its own. */
static void under_a_storm(void **state)
{
    static seen s;
    pthread_t thread;
    axo_system *system = start();
    axo_ref ref = spawn(system, &s);
    atomic_store(&over, false);
    assert_int_equal(pthread_create(&thread, NULL, storm, NULL), 0);
    for (uint32_t i = 0; i < 2000 / (uint32_t)slower(); i++) {
        int ends[2];
        char byte;
        assert_int_equal(tell(system, ref, &s, TAG_WATCH, SIGUSR1), AXO_OK);
        assert_int_equal(tell(system, ref, &s, TAG_UNWATCH, 0), AXO_OK);
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
        (void)sched_yield();
        assert_int_equal(read(ends[0], &byte, 1), -1);
        assert_int_equal(read(ends[1], &byte, 1), -1);
        (void)close(ends[0]);
        (void)close(ends[1]);
    }
    atomic_store(&over, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    end(system);
}

#define SIGNAL_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
static const struct CMUnitTest tests[] = {
    SIGNAL_TEST(it_is_a_message_and_put_back),
    SIGNAL_TEST(all_systems_are_told),
    SIGNAL_TEST(a_watch_ends),
    SIGNAL_TEST(a_restart),
    SIGNAL_TEST(what_a_failed_instance_has_not_taken),
    SIGNAL_TEST(between_two_instances),
    SIGNAL_TEST(not_watched_again),
    SIGNAL_TEST(another_actor_watches),
    SIGNAL_TEST(what_is_refused),
    SIGNAL_TEST(a_child_of_fork),
    SIGNAL_TEST(under_a_storm),
};
TEST_MAIN(tests)
