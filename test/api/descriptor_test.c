/* descriptor_test.c - what a system opens for itself: nothing, whatever its actors do, until one of
 * them watches a descriptor; then an epoll, and the event that ends its wait, once for all. A
 * program that runs the host has that event from its first call on. */
#include <dirent.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <axo/axo.h>

#include "support/cmocka.h"

#define LIMIT_S 20

enum { WORK = 1, FAIL = 2, WATCH = 3, LATER = 4 };

/* ---- what is open ---- */

typedef struct opened {
    uint32_t all; /* with the one that reads the folder */
    uint32_t epolls;
    uint32_t events;
} opened;

static opened look(void)
{
    opened seen = {0};
    const struct dirent *entry;
    DIR *all = opendir("/proc/self/fd");
    assert_non_null(all);
    while ((entry = readdir(all)) != NULL) {
        char what[64] = "";
        ssize_t length = readlinkat(dirfd(all), entry->d_name, what, sizeof what - 1);
        seen.all += length > 0;
        seen.epolls += strcmp(what, "anon_inode:[eventpoll]") == 0;
        seen.events += strcmp(what, "anon_inode:[eventfd]") == 0;
    }
    (void)closedir(all);
    return seen;
}

static void has(uint32_t epolls, uint32_t events)
{
    opened seen = look();
    assert_int_equal(seen.epolls, epolls);
    assert_int_equal(seen.events, events);
}

/* ---- an actor that does what actors do ---- */

typedef struct worker {
    sem_t *done;
    int fd; /* that it watches when it is told to */
} worker;

static axo_status worker_construct(axo_ctx *ctx, void *state, const void *args)
{
    memcpy(state, args, sizeof(worker));
    return axo_timer_start(ctx, 1, AXO_TIMER_ONCE, 1000000, 0, LATER, NULL, 0);
}

static axo_status child_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    return axo_reply(ctx, message, message->tag, NULL, 0);
}

/* A child of a pool of its own, whose answer comes back. */
static axo_status worker_work(axo_ctx *ctx, uint32_t dispatcher)
{
    static const axo_class cls = AXO_CLASS(.name = "child", .receive = child_receive);
    const axo_props props = AXO_PROPS(.cls = &cls, .dispatcher = dispatcher);
    axo_ref child;
    axo_status status = axo_spawn(ctx, &props, &child);
    return status == AXO_OK ? axo_send(ctx, child, LATER, NULL, 0) : status;
}

static axo_status worker_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    worker *it = state;
    axo_status status = AXO_OK;
    switch (message->tag) {
    case WORK:
        status = worker_work(ctx, AXO_DISPATCH_DEFAULT);
        if (status == AXO_OK)
            status = worker_work(ctx, AXO_DISPATCH_BLOCKING);
        return status == AXO_OK ? worker_work(ctx, AXO_DISPATCH_PINNED) : status;
    case FAIL:
        return axo_fail(ctx, 1, "as told"); /* the next instance's timer tells of it */
    case WATCH:
        status = axo_io_watch(ctx, it->fd, AXO_IO_IN, 0);
        break;
    default:
        break; /* a timer, an answer */
    }
    return status == AXO_OK && sem_post(it->done) == 0 ? AXO_OK : axo_fail(ctx, 2, "%d", status);
}

static const axo_class worker_class =
    AXO_CLASS(.name = "worker", .state_size = sizeof(worker), .construct = worker_construct,
              .receive = worker_receive);

static void await(sem_t *done, int count)
{
    struct timespec limit;
    assert_int_equal(clock_gettime(CLOCK_REALTIME, &limit), 0);
    limit.tv_sec += LIMIT_S;
    for (int i = 0; i < count; i++)
        assert_int_equal(sem_timedwait(done, &limit), 0);
}

static void end(axo_system *system)
{
    assert_int_equal(axo_system_stop(system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
}

/* ---- tests ---- */

static void nothing_until_somebody_watches(void **state)
{
    const axo_options options = AXO_OPTIONS(.workers = 2);
    opened before = look();
    int fds[2];
    sem_t done;
    axo_system *system;
    axo_ref refs[2];
    has(0, 0);
    assert_int_equal(sem_init(&done, 0, 0), 0);
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    assert_int_equal(look().all, before.all);
    assert_int_equal(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
    for (int i = 0; i < 2; i++) {
        worker it = {.done = &done, .fd = fds[i]};
        axo_props props = AXO_PROPS(.cls = &worker_class, .args = &it, .args_size = sizeof it);
        assert_int_equal(axo_system_spawn(system, &props, &refs[i]), AXO_OK);
    }
    await(&done, 2); /* the timers of both */
    assert_int_equal(axo_system_send(system, refs[0], WORK, NULL, 0), AXO_OK);
    await(&done, 3);
    assert_int_equal(axo_system_send(system, refs[0], FAIL, NULL, 0), AXO_OK);
    await(&done, 1);
    has(0, 0);
    assert_int_equal(look().all, before.all + 2); /* the pipe */
    for (int i = 0; i < 2; i++) {
        assert_int_equal(axo_system_send(system, refs[i], WATCH, NULL, 0), AXO_OK);
        await(&done, 1);
        has(1, 1);
    }
    end(system);
    has(0, 0);
    assert_int_equal(close(fds[0]), 0);
    assert_int_equal(close(fds[1]), 0);
    assert_int_equal(look().all, before.all);
    assert_int_equal(sem_destroy(&done), 0);
}

static void a_host_has_its_event_alone(void **state)
{
    const axo_options options = AXO_OPTIONS(.manual = 1);
    int fds[2];
    sem_t done;
    axo_system *system;
    axo_ref ref;
    assert_int_equal(sem_init(&done, 0, 0), 0);
    assert_int_equal(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    worker it = {.done = &done, .fd = fds[0]};
    axo_props props = AXO_PROPS(.cls = &worker_class, .args = &it, .args_size = sizeof it);
    assert_int_equal(axo_system_spawn(system, &props, &ref), AXO_OK);
    assert_int_equal(axo_run_host(system, -1, NULL), AXO_OK);
    has(0, 1);
    assert_int_equal(axo_system_send(system, ref, WATCH, NULL, 0), AXO_OK);
    assert_int_equal(axo_run_host(system, -1, NULL), AXO_OK);
    await(&done, 1);
    has(1, 1);
    end(system);
    has(0, 0);
    assert_int_equal(close(fds[0]), 0);
    assert_int_equal(close(fds[1]), 0);
    assert_int_equal(sem_destroy(&done), 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(nothing_until_somebody_watches),
    cmocka_unit_test(a_host_has_its_event_alone),
};
TEST_MAIN(tests)
