/* listener_world.h - a system with a listener whose connections echo, and clients of it. */
#ifndef UNIT_PATTERN_LISTENER_WORLD_H
#define UNIT_PATTERN_LISTENER_WORLD_H

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <axo/axo.h>

#include "unit/unit.h"

#define SECOND INT64_C(1000000000)

enum { CLIENTS_MAX = 64 };

/* ---- a connection that echoes; "!" fails it, "." stops it ---- */

static struct {
    atomic_uint connected;
    atomic_uint ended;
    atomic_uint disconnects;
    bool stays; /* it does not heed AXO_DISCONNECT */
    char peer[AXO_ADDRESS_MAX];
    bool refuses; /* the connection leaves the descriptor where it is */
} seen;

typedef struct echo {
    axo_stream *stream;
} echo;

static axo_status echo_input(axo_ctx *ctx, echo *me)
{
    axo_stream_bytes piece;
    while (axo_stream_has_room(ctx, me->stream) &&
           axo_stream_next(ctx, me->stream, 0, &piece) == AXO_OK) {
        if (memchr(piece.data, '!', piece.size) != NULL)
            return axo_fail(ctx, 1, "as it was told");
        if (memchr(piece.data, '.', piece.size) != NULL)
            return axo_stop_self(ctx);
        axo_status status = axo_stream_write(ctx, me->stream, piece.data, piece.size);
        if (status != AXO_OK)
            return status;
    }
    return AXO_OK;
}

static axo_status echo_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    echo *me = state;
    if (message->tag == AXO_CONNECTED) {
        if (atomic_fetch_add(&seen.connected, 1) == 0)
            memcpy(seen.peer, AXO_PAYLOAD(message, axo_connection)->peer, sizeof seen.peer);
        return seen.refuses ? AXO_OK : axo_stream_accept(ctx, message, NULL, &me->stream);
    }
    if (message->tag == AXO_DISCONNECT) {
        atomic_fetch_add(&seen.disconnects, 1);
        return seen.stays ? AXO_OK : axo_stream_close(ctx, me->stream, 20 * SECOND);
    }
    uint32_t told = axo_stream_receive(ctx, me->stream, message);
    if ((told & AXO_STREAM_CLOSED) != 0)
        return axo_stop_self(ctx);
    axo_status status = echo_input(ctx, me);
    if (status == AXO_OK && axo_stream_ended(ctx, me->stream))
        status = axo_stream_close(ctx, me->stream, 5 * SECOND);
    return status;
}

static axo_status echo_settle(axo_ctx *ctx, void *state)
{
    return axo_stream_settle(ctx, ((echo *)state)->stream);
}

static axo_status echo_post_stop(axo_ctx *ctx, void *state)
{
    atomic_fetch_add(&seen.ended, 1);
    return AXO_OK;
}

static const axo_class echo_class =
    AXO_CLASS(.name = "echo", .state_size = sizeof(echo), .receive = echo_receive,
              .settle = echo_settle, .post_stop = echo_post_stop);
static const axo_props echo_props = AXO_PROPS(.cls = &echo_class);

/* ---- the world ---- */

typedef struct place {
    axo_system *system;
    axo_ref listener;
    bool threads;
    uint32_t fds; /* before all */
    axo_listener_info info;
    axo_strategy strategy; /* as long as the system */
    int32_t code; /* of a listener that failed */
    char text[AXO_FAILURE_TEXT_MAX];
} place;

static uint32_t place_fds(void)
{
    uint32_t count = 0;
    DIR *all = opendir("/proc/self/fd");
    assert_non_null(all);
    while (readdir(all) != NULL)
        count++;
    (void)closedir(all);
    return count;
}

/* An address that no other run of this test has at the time. */
static const char *place_name(char out[64], const char *before)
{
    (void)snprintf(out, 64, "unix:%saxo-listener-%d", before, (int)getpid());
    return out;
}

static axo_directive place_decide(axo_ctx *ctx, void *state, const axo_failure *failure, void *user)
{
    place *it = user;
    it->code = failure->code;
    (void)snprintf(it->text, sizeof it->text, "%s", failure->text);
    return AXO_STOP;
}

static void place_run(place *it)
{
    if (it->threads)
        return;
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(axo_run_host(it->system, -1, NULL), AXO_OK);
}

static void place_begin(place *it, const axo_listener *settings)
{
    axo_options options = AXO_OPTIONS(.manual = !it->threads, .workers = it->threads ? 2 : 0,
                                      .user_strategy = &it->strategy);
    axo_props props;
    it->strategy = (axo_strategy)AXO_STRATEGY(.decider = place_decide, .user = it);
    memset(&seen, 0, sizeof seen);
    it->fds = place_fds();
    assert_int_equal(axo_listener_props(settings, "listener", &props), AXO_OK);
    assert_int_equal(axo_system_start(&options, &it->system), AXO_OK);
    assert_int_equal(axo_system_spawn(it->system, &props, &it->listener), AXO_OK);
    place_run(it);
}

static void place_end(place *it)
{
    assert_int_equal(axo_system_stop(it->system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(it->system), AXO_OK);
    assert_int_equal(place_fds(), it->fds);
}

/* An actor asks in a manual system; the answer is the test's to read. */
static axo_status look_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    place *it;
    memcpy(&it, state, sizeof it);
    if (message->tag != AXO_LISTENER_IS)
        return axo_send(ctx, it->listener, AXO_LISTENER_LOOK, NULL, 0);
    assert_int_equal(message->size, sizeof it->info);
    memcpy(&it->info, message->payload, sizeof it->info);
    return axo_stop_self(ctx);
}

static axo_status look_construct(axo_ctx *ctx, void *state, const void *args)
{
    memcpy(state, args, sizeof(place *));
    return axo_send(ctx, axo_self(ctx), 1, NULL, 0);
}

static void place_look(place *it)
{
    static const axo_class cls = AXO_CLASS(.state_size = sizeof(place *), .receive = look_receive,
                                           .construct = look_construct);
    axo_props props = AXO_PROPS(.cls = &cls, .args = &it, .args_size = sizeof it);
    axo_ref ref;
    axo_asked asked;
    if (it->threads) {
        assert_int_equal(axo_system_ask(it->system, it->listener, AXO_LISTENER_LOOK, NULL, 0,
                                        20 * SECOND, &asked),
                         AXO_OK);
        memcpy(&it->info, asked.message.payload, sizeof it->info);
        axo_asked_free(it->system, &asked);
        return;
    }
    assert_int_equal(axo_system_spawn(it->system, &props, &ref), AXO_OK);
    place_run(it);
}

/* ---- the other side ---- */

/* Connects to an address as the listener writes it. */
static int client(const char *address)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
        struct sockaddr_un path;
    } to;
    socklen_t size;
    memset(&to, 0, sizeof to);
    unsigned port = (unsigned)atoi(strrchr(address, ':') + 1);
    if (strncmp(address, "unix:", 5) == 0) {
        to.path.sun_family = AF_UNIX;
        (void)snprintf(to.path.sun_path, sizeof to.path.sun_path, "%s", address + 5);
        size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(address + 5));
        if (address[5] == '@')
            to.path.sun_path[0] = 0;
    } else if (address[0] == '[') {
        to.v6.sin6_family = AF_INET6;
        to.v6.sin6_addr = in6addr_loopback;
        to.v6.sin6_port = htons((uint16_t)port);
        size = sizeof to.v6;
    } else {
        to.v4.sin_family = AF_INET;
        to.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        to.v4.sin_port = htons((uint16_t)port);
        size = sizeof to.v4;
    }
    int fd = socket(to.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    if (connect(fd, &to.any, size) != 0) {
        (void)close(fd);
        return -1;
    }
    return fd;
}

/* What comes within a while: "" nothing, "<end>". */
static const char *client_get(place *it, int fd)
{
    static char text[256];
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    place_run(it);
    if (poll(&ready, 1, it->threads ? 20000 : 0) == 0)
        return "";
    ssize_t got = recv(fd, text, sizeof text - 1, 0);
    if (got <= 0)
        return "<end>";
    text[got] = 0;
    return text;
}

static const char *client_says(place *it, int fd, const char *text)
{
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
    return client_get(it, fd);
}

static int place_client(place *it)
{
    place_look(it);
    int fd = client(it->info.address);
    assert_true(fd >= 0);
    place_run(it);
    return fd;
}

#endif
