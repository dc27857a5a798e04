/* look_test.c - the look behind the handler of a readiness: a poll(), which is counted here. Who
 * says that it was blocked has none, and so have listeners, and streams of TCP and of unix sockets;
 * a pipe's has one. None is saved where a read that was short has left something. */
#include <errno.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>

#include "stream_world.h"

#define LOOK_ROUNDS 100
#define LOOK_MS     20000

/* ---- the count ---- */

static uint64_t polls;

static int look_poll(struct pollfd *fds, nfds_t count, const struct timespec *limit)
{
    polls++;
    return (int)syscall(SYS_ppoll, fds, count, limit, NULL, (size_t)0);
}

/* In the place of libc's, for the library too. */
int poll(struct pollfd *fds, nfds_t count, int ms)
{
    const struct timespec limit = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};
    return look_poll(fds, count, ms < 0 ? NULL : &limit);
}

int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *limit, const sigset_t *mask)
{
    assert_null(mask);
    return look_poll(fds, count, limit);
}

/* Until there is something to read, which a socket of TCP may take its time for. */
static void look_wait(int fd)
{
    struct pollfd one = {.fd = fd, .events = POLLIN};
    assert_int_equal(poll(&one, 1, LOOK_MS), 1);
}

/* The looks of what is ready now. */
static uint64_t look_run(axo_system *system)
{
    uint64_t before = polls;
    assert_int_equal(axo_run_host(system, -1, NULL), AXO_OK);
    return polls - before;
}

/* ---- streams ---- */

static void look_echo(stream_world *world, axo_ctx *ctx)
{
    axo_stream_bytes line;
    while (axo_stream_next_until(ctx, world->stream, "\n", 1, &line) == AXO_OK)
        assert_int_equal(axo_stream_write(ctx, world->stream, line.data, line.size), AXO_OK);
}

static uint64_t look_request(axo_system *system, int fd, int peer)
{
    char line[16];
    assert_int_equal(write(peer, "a line\n", 7), 7);
    look_wait(fd);
    uint64_t looks = look_run(system);
    look_wait(peer);
    assert_int_equal(read(peer, line, sizeof line), 7);
    assert_memory_equal(line, "a line\n", 7);
    return looks;
}

static void a_request_of_a_socket_costs_none(void **state)
{
    for (int kind = 0; kind < 2; kind++) {
        stream_world world = {.events = look_echo};
        uint64_t looks = 0;
        if (kind == 0)
            stream_tcp(&world);
        else
            stream_pair(&world, SOCK_STREAM);
        stream_begin(&world);
        int fd = world.fd;
        for (int i = 0; i < LOOK_ROUNDS; i++)
            looks += look_request(world.system, fd, world.peer);
        assert_int_equal(looks, 0);
        assert_int_equal(world.inputs, LOOK_ROUNDS);
        stream_end(&world);
    }
}

/* Nobody knows whether a read of it that is not full has emptied it. */
static void a_line_of_a_pipe_costs_one(void **state)
{
    stream_world world = {.events = stream_take_all};
    uint64_t looks = 0;
    int fds[2];
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    world.fd = fds[0];
    world.peer = fds[1];
    stream_begin(&world);
    for (int i = 0; i < LOOK_ROUNDS; i++) {
        assert_int_equal(write(world.peer, "a line\n", 7), 7);
        looks += look_run(world.system);
    }
    assert_int_equal(world.taken, 7 * LOOK_ROUNDS);
    assert_int_equal(looks, LOOK_ROUNDS);
    stream_end(&world);
}

/* ---- reads that end early ---- */

typedef enum early_kind {
    EARLY_TCP_URGENT,
    EARLY_UNIX_URGENT,
    EARLY_PASSED,  /* a descriptor, over a unix socket */
    EARLY_WRITERS, /* two, and the socket asks who they are */
    EARLY_PACKET   /* of a pipe */
} early_kind;

static void early_open(stream_world *world, early_kind kind)
{
    const int on = 1;
    int fds[2];
    if (kind == EARLY_TCP_URGENT) {
        stream_tcp(world);
    } else if (kind == EARLY_PACKET) {
        assert_int_equal(pipe2(fds, O_DIRECT | O_CLOEXEC), 0);
        world->fd = fds[0];
        world->peer = fds[1];
    } else {
        stream_pair(world, SOCK_STREAM);
    }
    if (kind == EARLY_WRITERS)
        assert_int_equal(setsockopt(world->fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof on), 0);
}

/* The first line, and what a read stops at; false: this kernel has no such thing. */
static bool early_put(stream_world *world, early_kind kind)
{
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } passed = {.head = {.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET,
                         .cmsg_type = SCM_RIGHTS}};
    char line[] = "one\r\n";
    struct iovec part = {.iov_base = line, .iov_len = 5};
    const struct msghdr with = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &passed,
                                .msg_controllen = sizeof passed};
    int code;
    if (kind == EARLY_PASSED) {
        memcpy(CMSG_DATA(&passed.head), &world->peer, sizeof world->peer);
        assert_int_equal(sendmsg(world->peer, &with, 0), 5);
        return true;
    }
    if (kind == EARLY_WRITERS) {
        pid_t child = fork();
        if (child == 0)
            _exit(write(world->peer, line, 5) == 5 ? 0 : 1);
        assert_int_equal(waitpid(child, &code, 0), child);
        assert_int_equal(code, 0);
        return true;
    }
    assert_int_equal(write(world->peer, line, 5), 5);
    if (kind == EARLY_PACKET)
        return true;
    ssize_t went = send(world->peer, "!", 1, MSG_OOB);
    assert_true(went == 1 || (kind == EARLY_UNIX_URGENT && errno == EOPNOTSUPP));
    return went == 1;
}

/* Two lines, of which a read that is not full gives the first. One edge has told of both. */
static void a_read_that_ends_early_leaves_nothing(void **state)
{
    for (early_kind kind = EARLY_TCP_URGENT; kind <= EARLY_PACKET; kind++) {
        stream_world world = {.events = stream_lines};
        early_open(&world, kind);
        stream_begin(&world);
        if (early_put(&world, kind)) {
            assert_int_equal(write(world.peer, "two\r\n", 5), 5);
            stream_run(&world);
            assert_string_equal(world.pieces, "one\r\n|two\r\n|");
        }
        stream_end(&world);
    }
}

/* ---- a listener ---- */

typedef struct look_connection {
    axo_stream *stream;
} look_connection;

static axo_status look_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    look_connection *it = state;
    axo_stream_bytes line;
    if (message->tag == AXO_CONNECTED)
        return axo_stream_accept(ctx, message, NULL, &it->stream);
    (void)axo_stream_receive(ctx, it->stream, message);
    while (axo_stream_next_until(ctx, it->stream, "\n", 1, &line) == AXO_OK)
        if (axo_stream_write(ctx, it->stream, line.data, line.size) != AXO_OK)
            return AXO_EFAILED;
    return AXO_OK;
}

/* The client stays, so the connection's end is no part of it. */
static uint64_t look_connect(axo_system *system, const struct sockaddr_un *where, socklen_t length,
                             int *client)
{
    char line[16];
    *client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(*client >= 0);
    assert_int_equal(connect(*client, (const struct sockaddr *)where, length), 0);
    assert_int_equal(write(*client, "a line\n", 7), 7);
    uint64_t looks = look_run(system);
    looks += look_run(system); /* the connection's own readiness is found by the next call */
    look_wait(*client);
    assert_int_equal(read(*client, line, sizeof line), 7);
    return looks;
}

static void a_connection_of_a_listener_costs_none(void **state)
{
    static const axo_class cls = AXO_CLASS(.name = "connection", .receive = look_receive,
                                           .state_size = sizeof(look_connection));
    static const axo_props connection = AXO_PROPS(.cls = &cls);
    const axo_options options = AXO_OPTIONS(.manual = 1);
    struct sockaddr_un where = {.sun_family = AF_UNIX};
    char address[AXO_ADDRESS_MAX];
    axo_listener settings = AXO_LISTENER(.address = address, .connection = &connection);
    int clients[LOOK_ROUNDS];
    axo_system *system;
    axo_props props;
    axo_ref listener;
    uint64_t looks = 0;
    (void)snprintf(address, sizeof address, "unix:@axo-look-%d", (int)getpid());
    size_t size = strlen(address) - (sizeof "unix:@" - 1);
    memcpy(where.sun_path + 1, address + sizeof "unix:@" - 1, size);
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + size);
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    assert_int_equal(axo_listener_props(&settings, "listener", &props), AXO_OK);
    assert_int_equal(axo_system_spawn(system, &props, &listener), AXO_OK);
    (void)look_run(system);
    for (int i = 0; i < LOOK_ROUNDS; i++)
        looks += look_connect(system, &where, length, &clients[i]);
    assert_int_equal(looks, 0);
    assert_int_equal(axo_system_stop(system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
    for (int i = 0; i < LOOK_ROUNDS; i++)
        assert_int_equal(close(clients[i]), 0);
}

/* ---- an actor that reads by itself ---- */

typedef struct look_reader {
    int fd;
    bool says; /* that it was blocked */
    uint32_t bytes;
} look_reader;

static axo_status look_reader_construct(axo_ctx *ctx, void *state, const void *args)
{
    memcpy(state, args, sizeof(look_reader *));
    return axo_io_watch(ctx, (*(look_reader **)state)->fd, AXO_IO_IN, 0);
}

static axo_status look_reader_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    look_reader *it = *(look_reader **)state;
    char byte;
    if (message->tag != AXO_IO_READY)
        return AXO_UNHANDLED;
    while (read(it->fd, &byte, 1) == 1)
        it->bytes++;
    return it->says ? axo_io_blocked(ctx, it->fd, AXO_IO_IN) : AXO_OK;
}

static void a_reader_that_says_it_was_blocked_costs_none(void **state)
{
    static const axo_class cls = AXO_CLASS(.name = "reader", .receive = look_reader_receive,
                                           .construct = look_reader_construct,
                                           .state_size = sizeof(look_reader *));
    const axo_options options = AXO_OPTIONS(.manual = 1);
    for (int says = 0; says < 2; says++) {
        look_reader reader = {.says = says != 0};
        const look_reader *args = &reader;
        const axo_props props =
            AXO_PROPS(.cls = &cls, .args = &args, .args_size = sizeof args);
        axo_system *system;
        axo_ref ref;
        uint64_t looks = 0;
        int fds[2];
        assert_int_equal(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
        reader.fd = fds[0];
        assert_int_equal(axo_system_start(&options, &system), AXO_OK);
        assert_int_equal(axo_system_spawn(system, &props, &ref), AXO_OK);
        (void)look_run(system);
        for (int i = 0; i < LOOK_ROUNDS; i++) {
            assert_int_equal(write(fds[1], "abc", 3), 3);
            looks += look_run(system);
        }
        assert_int_equal(reader.bytes, 3 * LOOK_ROUNDS);
        assert_int_equal(looks, says != 0 ? 0 : LOOK_ROUNDS);
        assert_int_equal(axo_system_stop(system, -1, NULL, 0, NULL), AXO_OK);
        assert_int_equal(axo_system_destroy(system), AXO_OK);
        assert_int_equal(close(fds[0]), 0);
        assert_int_equal(close(fds[1]), 0);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_request_of_a_socket_costs_none),
    cmocka_unit_test(a_line_of_a_pipe_costs_one),
    cmocka_unit_test(a_read_that_ends_early_leaves_nothing),
    cmocka_unit_test(a_connection_of_a_listener_costs_none),
    cmocka_unit_test(a_reader_that_says_it_was_blocked_costs_none),
};
TEST_MAIN(tests)
