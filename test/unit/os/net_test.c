/* net_test.c - paths of unix sockets that several begin and end at, and descriptors that are
 * passed. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "os/net.h"
#include "os/os.h"
#include "support/cmocka.h"

#define BACKLOG 8
#define MS      INT64_C(1000000)

static char folder[64];
static char address[96];

static const char *path(void)
{
    return address + strlen("unix:");
}

static int set_up(void **state)
{
    (void)snprintf(folder, sizeof folder, "/tmp/axo-net-XXXXXX");
    if (mkdtemp(folder) == NULL)
        return -1;
    return snprintf(address, sizeof address, "unix:%s/it", folder) > 0 ? 0 : -1;
}

/* No test leaves a file under another name. */
static int tear_down(void **state)
{
    (void)unlink(path());
    return rmdir(folder);
}

static struct sockaddr_un where(void)
{
    struct sockaddr_un it = {.sun_family = AF_UNIX};
    (void)snprintf(it.sun_path, sizeof it.sun_path, "%s", path());
    return it;
}

/* A socket of the path that does not listen yet. */
static int bound(void)
{
    const struct sockaddr_un it = where();
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&it, sizeof it), 0);
    return fd;
}

static bool answers(void)
{
    const struct sockaddr_un it = where();
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_true(fd >= 0);
    bool done = connect(fd, (const struct sockaddr *)&it, sizeof it) == 0;
    assert_int_equal(close(fd), 0);
    return done;
}

static bool is_there(void)
{
    struct stat what;
    return lstat(path(), &what) == 0;
}

static int locked(void)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    return fd;
}

static void pause_ms(long ms)
{
    const struct timespec time = {.tv_nsec = ms * MS};
    assert_int_equal(nanosleep(&time, NULL), 0);
}

/* ---- who begins at a path ---- */

typedef struct starter {
    pthread_t thread;
    pthread_barrier_t *barrier; /* NULL: none */
    axo__net_file file;
    int fd;
    int error;
} starter;

static void *starter_run(void *arg)
{
    starter *it = arg;
    if (it->barrier != NULL)
        (void)pthread_barrier_wait(it->barrier);
    it->fd = axo__net_listen(address, BACKLOG, &it->file, &it->error);
    return NULL;
}

static void starter_begin(starter *it, pthread_barrier_t *barrier)
{
    *it = (starter){.barrier = barrier, .fd = -1};
    assert_int_equal(pthread_create(&it->thread, NULL, starter_run, it), 0);
}

static void starter_end(starter *it)
{
    if (it->fd < 0)
        return;
    axo__net_unlink(address, &it->file);
    axo__net_close(it->fd);
}

/* One that finds a path bound but not listened at yet waits for its turn: nobody would answer. As
 * nobody waits for ever, a machine that is too slow for that is asked once more. */
static void a_path_that_is_about_to_be_served(void **state)
{
    starter other;
    int64_t took = INT64_MAX;
    for (uint32_t i = 0; i < 20 && took > 200 * MS; i++) {
        int64_t began = axo__os_now();
        int lock = locked();
        int mine = bound();
        starter_begin(&other, NULL);
        pause_ms(50);
        assert_int_equal(listen(mine, BACKLOG), 0);
        assert_int_equal(close(lock), 0);
        took = axo__os_now() - began;
        assert_int_equal(pthread_join(other.thread, NULL), 0);
        if (took <= 200 * MS) {
            assert_int_equal(other.fd, -1);
            assert_int_equal(other.error, EADDRINUSE);
            assert_true(answers());
        }
        starter_end(&other);
        assert_int_equal(close(mine), 0);
        (void)unlink(path());
    }
}

enum { STARTERS = 4 };

/* Of many that find a path left behind one gets it, and is found there. */
static void a_path_that_was_left(void **state)
{
    starter all[STARTERS];
    pthread_barrier_t barrier;
    assert_int_equal(pthread_barrier_init(&barrier, NULL, STARTERS), 0);
    for (uint32_t round = 0; round < 200; round++) {
        uint32_t good = 0;
        assert_int_equal(close(bound()), 0);
        for (uint32_t i = 0; i < STARTERS; i++)
            starter_begin(&all[i], &barrier);
        for (uint32_t i = 0; i < STARTERS; i++) {
            assert_int_equal(pthread_join(all[i].thread, NULL), 0);
            good += all[i].fd >= 0;
            assert_true(all[i].fd >= 0 || all[i].error == EADDRINUSE);
        }
        assert_int_equal(good, 1);
        assert_true(answers());
        for (uint32_t i = 0; i < STARTERS; i++)
            starter_end(&all[i]);
        assert_false(is_there());
    }
    assert_int_equal(pthread_barrier_destroy(&barrier), 0);
}

/* Who holds a folder's lock for ever keeps nobody from beginning and ending there. */
static void a_folder_that_is_locked(void **state)
{
    int lock = locked();
    starter it = {.fd = -1};
    (void)starter_run(&it);
    assert_true(it.fd >= 0);
    assert_true(answers());
    starter_end(&it);
    assert_false(is_there());
    assert_int_equal(close(lock), 0);
}

/* ---- who ends at it ---- */

static void a_path_of_another_stays(void **state)
{
    starter old = {.fd = -1};
    starter next = {.fd = -1};
    (void)starter_run(&old);
    assert_int_equal(unlink(path()), 0);
    (void)starter_run(&next);
    assert_true(next.fd >= 0);
    starter_end(&old);
    assert_true(answers());
    axo__net_unlink(address, &old.file); /* once more */
    assert_true(is_there());
    starter_end(&next);
    assert_false(is_there());
    axo__net_unlink(address, &next.file);
}

/* ---- descriptors that are passed ---- */

static void passed_set(const char *name, int number)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%d", number);
    assert_int_equal(setenv(name, text, 1), 0);
}

static bool stays_open(int fd)
{
    int flags = fcntl(fd, F_GETFD);
    assert_true(flags >= 0);
    return (flags & FD_CLOEXEC) == 0;
}

/* Programs that this one starts get neither the socket nor what was passed beside it; those that
 * were passed to another process are not touched. */
static void what_is_passed_is_not_passed_on(void **state)
{
    char name[96];
    char names[512] = "";
    axo__net_file file;
    int error;
    int web = socket(AF_INET, SOCK_STREAM, 0);
    int other = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(web >= 3 && other > web);
    assert_int_equal(listen(web, BACKLOG), 0);
    for (int fd = 3; fd < web; fd++)
        strcat(names, "file:");
    strcat(names, "web");
    assert_int_equal(setenv("LISTEN_FDNAMES", names, 1), 0);
    passed_set("LISTEN_FDS", other - 3 + 1);
    passed_set("LISTEN_PID", (int)getppid());
    assert_int_equal(axo__net_listen("systemd:web", BACKLOG, &file, &error), -1);
    assert_true(stays_open(web) && stays_open(other));
    passed_set("LISTEN_PID", (int)getpid());
    int copy = axo__net_listen("systemd:web", BACKLOG, &file, &error);
    assert_true(copy >= 0);
    assert_false(stays_open(web) || stays_open(other) || stays_open(copy));
    axo__net_close(copy);
    (void)snprintf(name, sizeof name, "fd:%d", web); /* which nothing is known of */
    assert_int_equal(fcntl(web, F_SETFD, 0), 0);
    copy = axo__net_listen(name, BACKLOG, &file, &error);
    assert_true(copy >= 0);
    assert_true(stays_open(web));
    axo__net_close(copy);
    assert_int_equal(close(web) + close(other), 0);
    assert_int_equal(unsetenv("LISTEN_FDNAMES") + unsetenv("LISTEN_FDS") + unsetenv("LISTEN_PID"),
                     0);
}

#define NET_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
static const struct CMUnitTest tests[] = {
    NET_TEST(a_path_that_is_about_to_be_served),
    NET_TEST(a_path_that_was_left),
    NET_TEST(a_folder_that_is_locked),
    NET_TEST(a_path_of_another_stays),
    cmocka_unit_test(what_is_passed_is_not_passed_on),
};
TEST_MAIN(tests)
