/* io_threads_test.c - watched descriptors in systems with threads: idle workers, busy and stuck
 * ones, and actors of other pools. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <semaphore.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <axo/axo.h>

#include "support/cmocka.h"

#define IO_WAIT_NS INT64_C(20000000000)

enum { IO_DO = 1, IO_POKE = 2 };

static bool io_is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

enum { IO_PAIRS = 40, IO_ROUNDS = 300 };

typedef struct io_echo {
    int fd;
    sem_t *done;
} io_echo;

/* Echoes until the other side has closed; poked, it speaks by itself. */
static axo_status io_echo_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    io_echo *echo = state;
    char text[64];
    ssize_t got;
    if (message->tag == IO_POKE)
        return write(echo->fd, "P", 1) == 1 ? AXO_OK : axo_fail(ctx, 6, "no room");
    if (message->tag != AXO_IO_READY)
        return AXO_UNHANDLED;
    while ((got = read(echo->fd, text, sizeof text)) > 0) {
        if (write(echo->fd, text, (size_t)got) != got)
            return axo_fail(ctx, 5, "no room");
    }
    if (got < 0 && errno == EAGAIN)
        return axo_io_blocked(ctx, echo->fd, AXO_IO_IN);
    return axo_stop_self(ctx);
}

static axo_status io_echo_construct(axo_ctx *ctx, void *state, const void *args)
{
    io_echo *echo = state;
    memcpy(echo, args, sizeof *echo);
    return axo_io_watch(ctx, echo->fd, AXO_IO_IN, AXO_IO_OWN);
}

static axo_status io_echo_post_stop(axo_ctx *ctx, void *state)
{
    return sem_post(((io_echo *)state)->done) == 0 ? AXO_OK : AXO_EFAILED;
}

static const axo_class io_echo_class =
    AXO_CLASS(.name = "echo", .state_size = sizeof(io_echo), .construct = io_echo_construct,
              .receive = io_echo_receive, .post_stop = io_echo_post_stop);

static void io_expect(int fd, char what)
{
    char got = 0;
    struct pollfd one = {.fd = fd, .events = POLLIN};
    assert_int_equal(poll(&one, 1, 20000), 1);
    assert_int_equal(read(fd, &got, 1), 1);
    assert_int_equal(got, what);
}

static void io_echoes(uint32_t workers, uint32_t dispatcher)
{
    int fds[IO_PAIRS][2];
    sem_t done;
    axo_system *system;
    axo_options options = AXO_OPTIONS(.workers = workers);
    assert_int_equal(sem_init(&done, 0, 0), 0);
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    for (uint32_t i = 0; i < IO_PAIRS; i++) {
        axo_ref ref;
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds[i]), 0);
        io_echo echo = {.fd = fds[i][0], .done = &done};
        axo_props props = AXO_PROPS(.cls = &io_echo_class, .args = &echo, .args_size = sizeof echo,
                                    .dispatcher = dispatcher);
        assert_int_equal(axo_system_spawn(system, &props, &ref), AXO_OK);
    }
    for (uint32_t round = 0; round < IO_ROUNDS; round++) {
        uint32_t burst = 1 + round % IO_PAIRS; /* alone, and many at a time */
        char what = (char)('a' + round % 26);
        for (uint32_t i = 0; i < burst; i++)
            assert_int_equal(write(fds[i][1], &what, 1), 1);
        for (uint32_t i = 0; i < burst; i++)
            io_expect(fds[i][1], what);
    }
    for (uint32_t i = 0; i < IO_PAIRS; i++)
        assert_int_equal(close(fds[i][1]), 0);
    for (uint32_t i = 0; i < IO_PAIRS; i++)
        assert_int_equal(sem_wait(&done), 0);
    assert_int_equal(axo_system_stop(system, IO_WAIT_NS, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
    for (uint32_t i = 0; i < IO_PAIRS; i++)
        assert_false(io_is_open(fds[i][0]));
    assert_int_equal(sem_destroy(&done), 0);
}

static void workers_poll_for_themselves(void **state)
{
    io_echoes(1, AXO_DISPATCH_DEFAULT);
    io_echoes(2, AXO_DISPATCH_DEFAULT);
}

/* Nobody of the default pool is awake when such an actor watches. */
static void actors_of_other_pools_watch(void **state)
{
    io_echoes(2, AXO_DISPATCH_BLOCKING);
    io_echoes(2, AXO_DISPATCH_PINNED);
}

/* ---- a worker that is busy, one that is stuck ---- */

typedef struct io_burn {
    uint32_t *stop; /* the test's; atomic */
} io_burn;

static axo_status io_burn_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    const io_burn *burn = state;
    if (__atomic_load_n(burn->stop, __ATOMIC_RELAXED) != 0)
        return axo_stop_self(ctx);
    return axo_send(ctx, axo_self(ctx), IO_DO, NULL, 0);
}

static axo_status io_hang_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    const io_burn *burn = state;
    while (__atomic_load_n(burn->stop, __ATOMIC_RELAXED) == 0)
        continue;
    return axo_stop_self(ctx);
}

static axo_status io_burn_construct(axo_ctx *ctx, void *state, const void *args)
{
    memcpy(state, args, sizeof(io_burn));
    return AXO_OK;
}

/* `busy` actors keep as many workers busy, by turns without an end or within one turn; a readiness
 * comes through all the same. */
static void io_beside(axo_receive_fn receive, uint32_t workers, uint32_t busy, uint32_t dispatcher)
{
    int fds[2];
    uint32_t stop = 0;
    sem_t done;
    axo_system *system;
    axo_ref echoes;
    axo_ref ref;
    axo_class cls = AXO_CLASS(.name = "burn", .state_size = sizeof(io_burn),
                              .construct = io_burn_construct, .receive = receive);
    axo_options options = AXO_OPTIONS(.workers = workers);
    io_burn burn = {.stop = &stop};
    assert_int_equal(sem_init(&done, 0, 0), 0);
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
    io_echo echo = {.fd = fds[0], .done = &done};
    axo_props props = AXO_PROPS(.cls = &io_echo_class, .args = &echo, .args_size = sizeof echo,
                                .dispatcher = dispatcher);
    assert_int_equal(axo_system_spawn(system, &props, &echoes), AXO_OK);
    assert_int_equal(write(fds[1], "0", 1), 1);
    io_expect(fds[1], '0');
    axo_props burns = AXO_PROPS(.cls = &cls, .args = &burn, .args_size = sizeof burn);
    for (uint32_t i = 0; i < busy; i++) {
        assert_int_equal(axo_system_spawn(system, &burns, &ref), AXO_OK);
        assert_int_equal(axo_system_send(system, ref, IO_DO, NULL, 0), AXO_OK);
    }
    for (uint32_t i = 0; i < 20; i++) {
        char what = (char)('a' + i);
        assert_int_equal(write(fds[1], &what, 1), 1);
        io_expect(fds[1], what);
        assert_int_equal(axo_system_schedule_once(system, 1000000, echoes, IO_POKE, NULL, 0, NULL),
                         AXO_OK);
        io_expect(fds[1], 'P');
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    assert_int_equal(close(fds[1]), 0);
    assert_int_equal(sem_wait(&done), 0);
    assert_int_equal(axo_system_stop(system, IO_WAIT_NS, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
    assert_int_equal(sem_destroy(&done), 0);
}

static void a_readiness_comes_beside_busy_workers(void **state)
{
    io_beside(io_burn_receive, 1, 1, AXO_DISPATCH_DEFAULT);
    io_beside(io_burn_receive, 2, 2, AXO_DISPATCH_DEFAULT);
}

static void a_readiness_comes_beside_stuck_handlers(void **state)
{
    io_beside(io_hang_receive, 2, 1, AXO_DISPATCH_DEFAULT);
    io_beside(io_hang_receive, 2, 2, AXO_DISPATCH_DEFAULT);
    io_beside(io_hang_receive, 2, 3, AXO_DISPATCH_PINNED); /* the first spare is stuck, too */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workers_poll_for_themselves),
        cmocka_unit_test(actors_of_other_pools_watch),
        cmocka_unit_test(a_readiness_comes_beside_busy_workers),
        cmocka_unit_test(a_readiness_comes_beside_stuck_handlers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
