/* listener_test.c - listeners at real addresses: connections are actors, bounds, want of
 * descriptors, addresses of every kind, and what is left behind. */
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

/* ---- addresses ---- */

static void addresses_of_every_kind(void **state)
{
    char path[64], name[64];
    const char *const addresses[] = {"127.0.0.1:0", "[::1]:0", place_name(name, "@"),
                                     place_name(path, "/tmp/")};
    for (uint32_t i = 0; i < 4; i++) {
        axo_listener settings = AXO_LISTENER(.address = addresses[i], .connection = &echo_props);
        place it = {.threads = false};
        struct stat what;
        place_begin(&it, &settings);
        int fd = place_client(&it);
        assert_string_equal(client_says(&it, fd, "hello"), "hello");
        assert_int_equal(strncmp(it.info.address, addresses[i], 4), 0);
        if (i < 2)
            assert_int_equal(strncmp(seen.peer, addresses[i], 5), 0);
        assert_int_equal(shutdown(fd, SHUT_WR), 0);
        assert_string_equal(client_get(&it, fd), "<end>");
        place_look(&it);
        assert_int_equal(it.info.connections, 0);
        assert_int_equal(it.info.accepted, 1);
        assert_int_equal(close(fd), 0);
        place_end(&it);
        assert_int_equal(stat(path + strlen("unix:"), &what), -1);
    }
}

/* As of socket activation: the socket is the program's, before and after. */
static void an_inherited_descriptor(void **state)
{
    char address[32];
    struct sockaddr_in where = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int inherited = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(inherited, (struct sockaddr *)&where, sizeof where), 0);
    assert_int_equal(listen(inherited, 5), 0);
    (void)snprintf(address, sizeof address, "fd:%d", inherited);
    axo_listener settings = AXO_LISTENER(.address = address, .connection = &echo_props);
    for (uint32_t i = 0; i < 2; i++) {
        place it = {.threads = false};
        place_begin(&it, &settings);
        int fd = place_client(&it);
        assert_string_equal(client_says(&it, fd, "x"), "x");
        assert_int_equal(close(fd), 0);
        place_end(&it);
    }
    assert_int_equal(close(inherited), 0);
}

static void what_is_no_address(void **state)
{
    static const char *const none[] = {"", ":", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536",
                                       "127.0.0.1:80x", "host:80", "::1:80", "[::1:80", "[::x]:80",
                                       "unix:", "fd:", "fd:x", "fd:-1", "1.2.3:4"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        axo_listener settings = AXO_LISTENER(.address = none[i], .connection = &echo_props);
        place it = {.threads = false};
        place_begin(&it, &settings);
        assert_int_equal(it.code, AXO_EINVAL);
        assert_non_null(strstr(it.text, "is no address"));
        place_end(&it);
    }
    static const char *const bad[] = {"fd:999", "fd:0", "203.0.113.7:1", "unix:/nowhere/x"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        axo_listener settings = AXO_LISTENER(.address = bad[i], .connection = &echo_props);
        place it = {.threads = false};
        place_begin(&it, &settings);
        assert_true(it.code > 0); /* an errno */
        assert_non_null(strstr(it.text, bad[i]));
        place_end(&it);
    }
}

static void an_address_that_is_taken(void **state)
{
    axo_listener settings = AXO_LISTENER(.address = "127.0.0.1:0", .connection = &echo_props);
    place first = {.threads = false};
    place second = {.threads = false};
    place_begin(&first, &settings);
    place_look(&first);
    settings.address = first.info.address;
    place_begin(&second, &settings);
    assert_int_equal(second.code, EADDRINUSE);
    place_end(&second);
    place_end(&first);
    /* A path that nobody listens at any more is in nobody's way; one that somebody does is. */
    settings.address = "unix:/tmp/axo-listener-left.sock";
    place_begin(&first, &settings);
    first.code = 0;
    place_begin(&second, &settings);
    assert_int_equal(second.code, EADDRINUSE);
    place_end(&second);
    place_end(&first);
    struct sockaddr_un left = {.sun_family = AF_UNIX};
    (void)snprintf(left.sun_path, sizeof left.sun_path, "/tmp/axo-listener-left.sock");
    int dead = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(dead, (struct sockaddr *)&left, sizeof left), 0);
    assert_int_equal(close(dead), 0);
    first.code = 0;
    place_begin(&first, &settings);
    assert_int_equal(first.code, 0);
    place_end(&first);
}

/* ---- supervision ---- */

static void a_connection_that_fails_is_stopped(void **state)
{
    axo_listener settings = AXO_LISTENER(.address = "127.0.0.1:0", .connection = &echo_props);
    place it = {.threads = false};
    place_begin(&it, &settings);
    int bad = place_client(&it);
    int good = place_client(&it);
    assert_string_equal(client_says(&it, bad, "!"), "<end>");
    assert_string_equal(client_says(&it, good, "on"), "on");
    place_look(&it);
    assert_int_equal(it.info.connections, 1);
    assert_int_equal(it.info.accepted, 2);
    assert_int_equal(axo_system_stop_actor(it.system, it.listener), AXO_OK);
    assert_string_equal(client_get(&it, good), "<end>");
    assert_int_equal(seen.ended, 2);
    assert_int_equal(close(bad) + close(good), 0);
    place_end(&it);
}

/* Nobody takes the descriptor: it is closed with the message. So is one whose actor never began. */
static void a_descriptor_that_nobody_takes(void **state)
{
    axo_listener settings = AXO_LISTENER(.address = "127.0.0.1:0", .connection = &echo_props);
    place it = {.threads = false};
    place_begin(&it, &settings);
    seen.refuses = true;
    int fd = place_client(&it);
    assert_string_equal(client_get(&it, fd), "<end>");
    assert_int_equal(close(fd), 0);
    seen.refuses = false;
    place_look(&it);
    fd = client(it.info.address);
    uint64_t turns = 0;
    assert_int_equal(axo_step_host(it.system, 1, &turns), AXO_OK);
    assert_int_equal(close(fd), 0);
    place_end(&it);
}

/* A message of anybody's is no connection. */
static axo_status forged_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    axo_stream *stream;
    axo_connection forged = {.fd = 0};
    if (message->tag != AXO_CONNECTED)
        return axo_send(ctx, axo_self(ctx), AXO_CONNECTED, &forged, sizeof forged);
    assert_int_equal(axo_stream_accept(ctx, message, NULL, &stream), AXO_EINVAL);
    assert_null(stream);
    assert_int_equal(axo_stream_accept(ctx, NULL, NULL, &stream), AXO_EINVAL);
    assert_int_equal(axo_stream_accept(ctx, message, NULL, NULL), AXO_EINVAL);
    assert_int_equal(axo_stream_accept(NULL, message, NULL, &stream), AXO_ECONTEXT);
    return axo_stop_self(ctx);
}

static void forged_and_malformed(void **state)
{
    static const axo_class cls = AXO_CLASS(.receive = forged_receive);
    static const axo_props named = AXO_PROPS(.cls = &echo_class, .name = "one");
    axo_listener settings = AXO_LISTENER(.address = "127.0.0.1:0", .connection = &echo_props);
    axo_props props = AXO_PROPS(.cls = &cls);
    place it = {.threads = false};
    axo_ref ref;
    place_begin(&it, &settings);
    assert_int_equal(axo_system_spawn(it.system, &props, &ref), AXO_OK);
    assert_int_equal(axo_system_send(it.system, ref, 1, NULL, 0), AXO_OK);
    assert_int_equal(axo_system_send(it.system, it.listener, AXO_LISTENER_RETRY, NULL, 0), AXO_OK);
    assert_int_equal(axo_system_send(it.system, it.listener, AXO_LISTENER_LOOK, NULL, 0), AXO_OK);
    place_run(&it);
    place_look(&it);
    assert_int_equal(it.info.pauses, 0);
    place_end(&it);
    const axo_listener bad[] = {
        AXO_LISTENER(.connection = &echo_props), AXO_LISTENER(.address = "127.0.0.1:0"),
        AXO_LISTENER(.address = "127.0.0.1:0", .connection = &named),
        AXO_LISTENER(.address = "127.0.0.1:0", .connection = &echo_props,
                     .beyond = (axo_listener_beyond)2)};
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(axo_listener_props(&bad[i], NULL, &props), AXO_EINVAL);
    assert_int_equal(axo_listener_props(NULL, NULL, &props), AXO_EINVAL);
    assert_int_equal(axo_listener_props(&settings, NULL, NULL), AXO_EINVAL);
}

/* ---- bounds ---- */

static void beyond_the_bound_they_wait(void **state)
{
    axo_listener settings =
        AXO_LISTENER(.address = "127.0.0.1:0", .connection = &echo_props, .connections_max = 2);
    place it = {.threads = false};
    int fds[5];
    place_begin(&it, &settings);
    for (uint32_t i = 0; i < 5; i++)
        fds[i] = place_client(&it);
    for (uint32_t i = 0; i < 5; i++)
        assert_string_equal(client_says(&it, fds[i], "a"), i < 2 ? "a" : "");
    for (uint32_t i = 0; i < 3; i++) {
        assert_string_equal(client_says(&it, fds[i], "."), "<end>");
        assert_string_equal(client_get(&it, fds[i + 2]), "a");
        place_look(&it);
        assert_int_equal(it.info.connections, 2);
        assert_int_equal(it.info.accepted, 3 + i);
    }
    assert_int_equal(it.info.refused, 0);
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(close(fds[i]), 0);
    place_end(&it);
}

static void beyond_the_bound_they_are_refused(void **state)
{
    axo_listener settings = AXO_LISTENER(.address = "127.0.0.1:0", .connection = &echo_props,
                                         .connections_max = 1, .beyond = AXO_BEYOND_REFUSE);
    place it = {.threads = false};
    place_begin(&it, &settings);
    int first = place_client(&it);
    int second = place_client(&it);
    assert_string_equal(client_get(&it, second), "<end>");
    assert_string_equal(client_says(&it, first, "a"), "a");
    assert_string_equal(client_says(&it, first, "."), "<end>");
    int third = place_client(&it);
    assert_string_equal(client_says(&it, third, "b"), "b");
    place_look(&it);
    assert_int_equal(it.info.accepted, 2);
    assert_int_equal(it.info.refused, 1);
    assert_int_equal(close(first) + close(second) + close(third), 0);
    place_end(&it);
}

/* ---- want of descriptors ---- */

static atomic_uint told_paused;
static atomic_uint told_going;

static axo_status ear_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    if (message->tag == 1)
        return axo_subscribe(ctx, axo_self(ctx), AXO_KIND_LISTENER);
    assert_int_equal(message->tag, AXO_EVENT);
    const axo_event_message *event = AXO_PAYLOAD(message, axo_event_message);
    axo_listener_info info;
    assert_int_equal(event->size, sizeof info);
    memcpy(&info, axo_event_data(event), sizeof info);
    if (info.paused)
        assert_int_equal(info.error, EMFILE);
    atomic_fetch_add(info.paused ? &told_paused : &told_going, 1);
    return AXO_OK;
}

static int64_t no_time;

static int64_t no_clock(void *user)
{
    return no_time;
}

/* The process has no descriptor left: the listener pauses, says so, and takes who waited when it
 * has some again. */
static void want_of_descriptors(void **state)
{
    static const axo_class cls = AXO_CLASS(.name = "ear", .receive = ear_receive);
    axo_listener settings = AXO_LISTENER(.address = "127.0.0.1:0", .connection = &echo_props);
    axo_options options = AXO_OPTIONS(.manual = 1, .clock = no_clock);
    axo_props ear = AXO_PROPS(.cls = &cls);
    axo_props props;
    place it = {.fds = place_fds()};
    struct rlimit before;
    axo_ref ref;
    no_time = SECOND;
    assert_int_equal(axo_listener_props(&settings, "listener", &props), AXO_OK);
    assert_int_equal(axo_system_start(&options, &it.system), AXO_OK);
    assert_int_equal(axo_system_spawn(it.system, &props, &it.listener), AXO_OK);
    assert_int_equal(axo_system_spawn(it.system, &ear, &ref), AXO_OK);
    assert_int_equal(axo_system_send(it.system, ref, 1, NULL, 0), AXO_OK);
    int first = place_client(&it);
    int second = client(it.info.address);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    const struct rlimit none = {.rlim_cur = 3, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    place_run(&it);
    for (uint32_t i = 0; i < 3; i++) { /* again and again */
        no_time += AXO_LISTENER_PAUSE_NS + AXO_TICK_NS * 2;
        assert_int_equal(axo_clock_changed(it.system), AXO_OK);
        place_run(&it);
    }
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    place_look(&it);
    assert_int_equal(it.info.paused, 1);
    assert_int_equal(it.info.error, EMFILE);
    assert_int_equal(it.info.pauses, 4);
    assert_int_equal(told_paused, 4);
    assert_int_equal(told_going, 3);
    assert_string_equal(client_says(&it, first, "a"), "a"); /* others are not concerned */
    assert_string_equal(client_says(&it, second, "b"), "");
    no_time += AXO_LISTENER_PAUSE_NS + AXO_TICK_NS * 2;
    assert_int_equal(axo_clock_changed(it.system), AXO_OK);
    assert_string_equal(client_get(&it, second), "b");
    place_look(&it);
    assert_int_equal(it.info.paused, 0);
    assert_int_equal(it.info.accepted, 2);
    assert_int_equal(close(first) + close(second), 0);
    place_end(&it);
}

/* ---- an end in order ---- */

static bool place_lives(place *it)
{
    axo_ref found;
    return axo_system_find(it->system, "/user/listener", &found) == AXO_OK;
}

/* What was asked is answered, nobody new gets in, and the listener ends with the last of them. */
static void closed_in_order(void **state)
{
    char path[64];
    axo_listener settings = AXO_LISTENER(.address = place_name(path, "/tmp/"),
                                         .connection = &echo_props);
    place it = {.threads = false};
    struct stat what;
    place_begin(&it, &settings);
    int first = place_client(&it);
    int second = place_client(&it);
    assert_int_equal(send(first, "asked", 5, MSG_NOSIGNAL), 5);
    place_run(&it);
    assert_int_equal(axo_system_send(it.system, it.listener, AXO_LISTENER_CLOSE, NULL, 0), AXO_OK);
    place_run(&it);
    assert_int_equal(seen.disconnects, 2);
    assert_int_equal(client(settings.address), -1);
    place_look(&it);
    assert_string_equal(it.info.address, "");
    assert_int_equal(it.info.connections, 2);
    assert_string_equal(client_get(&it, first), "asked");
    assert_string_equal(client_get(&it, first), "<end>");
    assert_int_equal(close(first), 0);
    place_run(&it);
    assert_true(place_lives(&it));
    assert_int_equal(close(second), 0);
    place_run(&it);
    assert_false(place_lives(&it));
    assert_int_equal(seen.ended, 2);
    assert_int_equal(stat(path + strlen("unix:"), &what), -1);
    place_end(&it);
}

/* Without connections it ends at once; one that waits for room, or pauses, closes all the same. */
static void closed_in_every_state(void **state)
{
    axo_listener settings = AXO_LISTENER(.address = "127.0.0.1:0", .connection = &echo_props,
                                         .connections_max = 1);
    place it = {.threads = false};
    place_begin(&it, &settings);
    assert_int_equal(axo_system_send(it.system, it.listener, AXO_LISTENER_CLOSE, NULL, 0), AXO_OK);
    place_run(&it);
    assert_false(place_lives(&it));
    place_end(&it);
    place_begin(&it, &settings);
    int first = place_client(&it);
    int second = client(it.info.address);
    place_run(&it);
    seen.stays = true;
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(axo_system_send(it.system, it.listener, AXO_LISTENER_CLOSE, NULL, 0),
                         AXO_OK);
    place_run(&it);
    assert_int_equal(seen.disconnects, 2);
    assert_string_equal(client_get(&it, second), "<end>"); /* it was never accepted */
    assert_string_equal(client_says(&it, first, "x"), "x");
    assert_true(place_lives(&it));
    assert_int_equal(close(first) + close(second), 0);
    place_run(&it);
    assert_false(place_lives(&it));
    assert_int_equal(seen.connected, 1);
    place_end(&it);
}

/* ---- on threads ---- */

/* Many at once, each with its own bytes. */
static void many_on_two_workers(void **state)
{
    axo_listener settings = AXO_LISTENER(.address = "127.0.0.1:0", .connection = &echo_props);
    place it = {.threads = true};
    int fds[CLIENTS_MAX];
    place_begin(&it, &settings);
    for (uint32_t round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < CLIENTS_MAX; i++)
            fds[i] = place_client(&it);
        for (uint32_t turn = 0; turn < 5; turn++) {
            char text[32];
            for (uint32_t i = 0; i < CLIENTS_MAX; i++) {
                (void)snprintf(text, sizeof text, "%u of %u", i, turn);
                assert_int_equal(send(fds[i], text, strlen(text), MSG_NOSIGNAL), strlen(text));
            }
            for (uint32_t i = 0; i < CLIENTS_MAX; i++) {
                (void)snprintf(text, sizeof text, "%u of %u", i, turn);
                assert_string_equal(client_get(&it, fds[i]), text);
            }
        }
        for (uint32_t i = 0; i < CLIENTS_MAX; i++) {
            assert_int_equal(shutdown(fds[i], SHUT_WR), 0);
            assert_string_equal(client_get(&it, fds[i]), "<end>");
            assert_int_equal(close(fds[i]), 0);
        }
    }
    place_look(&it);
    assert_int_equal(it.info.accepted, 3 * CLIENTS_MAX);
    place_end(&it);
    assert_int_equal(seen.connected, 3 * CLIENTS_MAX);
    assert_int_equal(seen.ended, 3 * CLIENTS_MAX);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(addresses_of_every_kind),
    cmocka_unit_test(an_inherited_descriptor),
    cmocka_unit_test(what_is_no_address),
    cmocka_unit_test(an_address_that_is_taken),
    cmocka_unit_test(a_connection_that_fails_is_stopped),
    cmocka_unit_test(a_descriptor_that_nobody_takes),
    cmocka_unit_test(forged_and_malformed),
    cmocka_unit_test(beyond_the_bound_they_wait),
    cmocka_unit_test(beyond_the_bound_they_are_refused),
    cmocka_unit_test(want_of_descriptors),
    cmocka_unit_test(closed_in_order),
    cmocka_unit_test(closed_in_every_state),
    cmocka_unit_test(many_on_two_workers),
};
TEST_MAIN(tests)
