/* console.c - the actor that serves a system over HTTP. libmicrohttpd runs in it without a thread:
 * its epoll descriptor is watched, and so is the socket that listens, which is the actor's own. */
#include <axo/console.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <microhttpd.h>

#include <axo/io.h>
#include <axo/listener.h>
#include <axo/time.h>

#include "answer.h"
#include "console_page.h"
#include "os/net.h"

#define CONSOLE_KEY 1
/* How often it looks at its connections' timeouts and ages; also what is left of its service if
 * nobody polls for it. */
#define CONSOLE_TICK_MS INT64_C(500)
#define CONSOLE_IDLE_S  15
#define CONSOLE_MEMORY  32768 /* bytes of a connection for its request */
#define CONSOLE_ACCEPTS 16    /* in one turn */
#define CONSOLE_BACKLOG 64

/* A connection, or a place for one. */
typedef struct console_visit {
    struct MHD_Connection *connection; /* NULL: the place is free */
    int64_t since;
} console_visit;

typedef struct console {
    axo_console settings;
    axo_system *system;
    struct MHD_Daemon *daemon;
    console_visit *visits; /* connections_max of them */
    int64_t now;           /* when the message that is handled was taken */
    int listens;
    axo__net_file file; /* that it has made, to listen */
    int polls;          /* a copy of libmicrohttpd's descriptor */
    bool loopback;
    bool runs; /* an AXO_CONSOLE_RUN of this instance is under way */
    uint64_t accepted;
    uint64_t refused;
} console;

/* ---- answers ---- */

/* What a response frees when it is over: its text, and this, which lies before it. */
static void console_release(void *cls)
{
    console_text *text = cls;
    console_text kept = *text;
    axo_system_free(kept.system, text, sizeof *text);
    console_text_free(&kept);
}

static struct MHD_Response *console_static(const void *data, size_t size)
{
    /* libmicrohttpd only reads what it is told to be persistent. */
    union {
        const void *given;
        void *taken;
    } body = {.given = data};
    return MHD_create_response_from_buffer(size, body.taken, MHD_RESPMEM_PERSISTENT);
}

static enum MHD_Result console_send(struct MHD_Connection *connection, unsigned code,
                                    const char *type, struct MHD_Response *response)
{
    static const char policy[] = "default-src 'none'; connect-src 'self'; script-src "
                                 "'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; "
                                 "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
    if (response == NULL)
        return MHD_NO; /* no memory even for that: the connection is closed */
    enum MHD_Result done = MHD_add_response_header(response, "Content-Type", type);
    if (done == MHD_YES)
        done = MHD_add_response_header(response, "Cache-Control", "no-store");
    if (done == MHD_YES)
        done = MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    if (done == MHD_YES)
        done = MHD_add_response_header(response, "Content-Security-Policy", policy);
    if (done == MHD_YES && code == MHD_HTTP_METHOD_NOT_ALLOWED)
        done = MHD_add_response_header(response, "Allow", "GET, HEAD");
    if (done == MHD_YES)
        done = MHD_queue_response(connection, code, response);
    MHD_destroy_response(response);
    return done;
}

static enum MHD_Result console_say(struct MHD_Connection *connection, unsigned code,
                                   const char *text)
{
    return console_send(connection, code, "text/plain; charset=utf-8",
                        console_static(text, strlen(text)));
}

/* The text moves into a block of its own, which the response frees. */
static enum MHD_Result console_send_text(struct MHD_Connection *connection, unsigned code,
                                         const char *type, console_text *text)
{
    console_text *kept =
        text->failed == AXO_OK ? axo_system_alloc(text->system, sizeof *kept) : NULL;
    if (kept == NULL) {
        bool large = text->failed == AXO_ETOOBIG;
        console_text_free(text);
        return large ? console_say(connection, 413, "the answer is too large: ask for less\n")
                     : console_say(connection, 503, "no memory\n");
    }
    *kept = *text;
    struct MHD_Response *response = MHD_create_response_from_buffer_with_free_callback_cls(
        kept->size, kept->data, console_release, kept);
    if (response == NULL)
        console_release(kept);
    return console_send(connection, code, type, response);
}

/* Digits and dots, [v6], "localhost", each perhaps with a port: what no other site's name is. */
static bool console_is_near(const char *host)
{
    static const char here[] = "localhost";
    if (host == NULL || host[0] == '[')
        return true;
    size_t length = strcspn(host, ":");
    return strspn(host, "0123456789.") == length ||
           (length == sizeof here - 1 && strncmp(host, here, length) == 0);
}

static const char *console_argument(struct MHD_Connection *connection, const char *name)
{
    return MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, name);
}

/* Called first for a request's head, then for each piece of its body, then for the answer. */
static enum MHD_Result console_request(void *cls, struct MHD_Connection *connection,
                                       const char *url, const char *method, const char *version,
                                       const char *upload, size_t *upload_size, void **request)
{
    static char seen;
    console *self = cls;
    (void)version;
    (void)upload;
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0) {
        *upload_size = 0;
        return console_say(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "GET and HEAD only\n");
    }
    if (*request == NULL) {
        *request = &seen;
        return MHD_YES;
    }
    if (*upload_size > 0) {
        *upload_size = 0;
        return MHD_YES;
    }
    if (self->loopback && !console_is_near(MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
                                                                       MHD_HTTP_HEADER_HOST)))
        return console_say(connection, 403, "ask by a number of this machine, or localhost\n");
    const char *accept =
        MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT);
    console_question question = {.url = url,
                                 .path = console_argument(connection, "path"),
                                 .max = console_argument(connection, "max"),
                                 .within_ms = console_argument(connection, "within_ms")};
    question.openmetrics = accept != NULL && strstr(accept, "application/openmetrics-text") != NULL;
    console_text text = {.system = self->system, .max = AXO_CONSOLE_ANSWER_MAX};
    const char *type;
    unsigned code = console_answer(&self->settings, &question, &text, &type);
    if (code == CONSOLE_PAGE)
        return console_send(connection, 200, type,
                            console_static(console_page, sizeof console_page));
    return console_send_text(connection, code, type, &text);
}

/* ---- how old connections are ---- */

static console_visit *console_place(const console *self)
{
    for (uint32_t i = 0; i < self->settings.connections_max; i++) {
        if (self->visits[i].connection == NULL)
            return &self->visits[i];
    }
    return NULL;
}

/* Called by libmicrohttpd for each connection as it begins and as it ends, with the same `place`.
 * There is a free one, since its limit holds between these two calls. */
static void console_notice(void *cls, struct MHD_Connection *connection, void **place,
                           enum MHD_ConnectionNotificationCode what)
{
    console *self = cls;
    bool begins = what == MHD_CONNECTION_NOTIFY_STARTED;
    console_visit *visit = begins ? console_place(self) : *place;
    if (visit == NULL)
        return;
    visit->connection = begins ? connection : NULL;
    visit->since = self->now;
    *place = visit;
}

/* Ends those that are open for too long, whatever they are at: a read of one says the end, a write
 * an error, so libmicrohttpd closes it when it runs next. */
static void console_end_old(const console *self)
{
    for (uint32_t i = 0; i < self->settings.connections_max; i++) {
        const console_visit *visit = &self->visits[i];
        if (visit->connection == NULL || self->now - visit->since < self->settings.connection_ns)
            continue;
        const union MHD_ConnectionInfo *info =
            MHD_get_connection_info(visit->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        if (info != NULL)
            (void)shutdown(info->connect_fd, SHUT_RDWR);
    }
}

/* ---- the actor ---- */

static uint32_t console_connections(const console *self)
{
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(self->daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);
    return info != NULL ? info->num_connections : 0;
}

/* Lets libmicrohttpd do what it can. What it has put off comes behind the other messages, by one
 * message, however many are handled until then; without the memory for that, with the next tick. */
static axo_status console_run(axo_ctx *ctx, console *self)
{
    MHD_UNSIGNED_LONG_LONG wait_ms = 0;
    if (MHD_run(self->daemon) != MHD_YES)
        return axo_fail(ctx, AXO_EFAILED, "libmicrohttpd fails");
    if (self->runs || MHD_get_timeout(self->daemon, &wait_ms) != MHD_YES || wait_ms != 0)
        return AXO_OK;
    uint32_t instance = axo_instance(ctx);
    self->runs =
        axo_send(ctx, axo_self(ctx), AXO_CONSOLE_RUN, &instance, sizeof instance) == AXO_OK;
    return AXO_OK;
}

/* One that an earlier instance has sent itself, or somebody else has, is not what is under way. */
static axo_status console_go_on(axo_ctx *ctx, console *self, const axo_message *message)
{
    if (message->size != sizeof(uint32_t) || *AXO_PAYLOAD(message, uint32_t) != axo_instance(ctx))
        return AXO_OK;
    self->runs = false;
    return console_run(ctx, self);
}

static axo_status console_tick(axo_ctx *ctx, console *self)
{
    axo_status status = axo_io_want(ctx, self->listens, AXO_IO_IN);
    console_end_old(self);
    return status == AXO_OK ? console_run(ctx, self) : status;
}

/* libmicrohttpd owns what it is given, and closes what it does not want. */
static void console_connect(console *self, int fd)
{
    struct sockaddr_storage peer = {0};
    socklen_t length = sizeof peer;
    (void)getpeername(fd, (struct sockaddr *)&peer, &length);
    if (MHD_add_connection(self->daemon, fd, (struct sockaddr *)&peer, length) == MHD_YES)
        self->accepted++;
    else
        self->refused++;
}

static axo_status console_accept(axo_ctx *ctx, console *self)
{
    for (uint32_t i = 0; i < CONSOLE_ACCEPTS; i++) {
        int error;
        int fd = axo__net_accept(self->listens, &error);
        if (fd >= 0)
            console_connect(self, fd);
        else if (error == 0)
            return axo_io_blocked(ctx, self->listens, AXO_IO_IN);
        else if (axo__net_is_short(error))
            return axo_io_want(ctx, self->listens, 0); /* until the next tick */
        else if (!axo__net_is_passing(error))
            return axo_fail(ctx, error, "cannot accept, errno %d", error);
    }
    return AXO_OK;
}

static axo_status console_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    console *self = state;
    axo_listener_info info = {.address = ""};
    axo_status status = AXO_OK;
    self->now = axo_now(ctx);
    switch (message->tag) {
    case AXO_IO_READY:
        if (AXO_PAYLOAD(message, axo_io_ready)->fd == self->listens)
            status = console_accept(ctx, self);
        return status == AXO_OK ? console_run(ctx, self) : status;
    case AXO_CONSOLE_RUN:
        return console_go_on(ctx, self, message);
    case AXO_CONSOLE_TICK:
        return console_tick(ctx, self);
    case AXO_LISTENER_LOOK:
        axo__net_name(self->listens, false, info.address, sizeof info.address);
        info.connections = console_connections(self);
        info.accepted = self->accepted;
        info.refused = self->refused;
        (void)axo_reply(ctx, message, AXO_LISTENER_IS, &info, sizeof info);
        return AXO_OK;
    default:
        return AXO_UNHANDLED;
    }
}

/* Before the descriptor is closed, and so the path is the next one's. */
static axo_status console_post_stop(axo_ctx *ctx, void *state)
{
    console *self = state;
    (void)ctx;
    axo__net_unlink(self->settings.address, &self->file);
    return AXO_OK;
}

/* The end of an instance: its connections, what they still had to be sent, and its path. */
static void console_end(void *arg)
{
    console *self = arg;
    MHD_stop_daemon(self->daemon);
    axo__net_unlink(self->settings.address, &self->file);
}

static void console_silent(void *cls, const char *format, va_list args)
{
    (void)cls;
    (void)format;
    (void)args;
}

/* Whether only this machine reaches it. */
static bool console_is_loopback(int fd)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
        struct sockaddr_storage all;
    } own = {.all = {0}};
    socklen_t length = sizeof own;
    if (getsockname(fd, &own.any, &length) != 0)
        return false;
    if (own.any.sa_family == AF_INET)
        return (ntohl(own.v4.sin_addr.s_addr) >> 24) == IN_LOOPBACKNET;
    return own.any.sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&own.v6.sin6_addr);
}

/* Starts libmicrohttpd, which ends with the instance. */
static axo_status console_daemon(axo_ctx *ctx, console *self)
{
    size_t size = self->settings.connections_max * sizeof *self->visits;
    self->visits = axo_alloc(ctx, size);
    if (self->visits == NULL)
        return AXO_ENOMEM;
    memset(self->visits, 0, size);
    self->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_USE_ERROR_LOG, 0, NULL, NULL,
        console_request, self, MHD_OPTION_EXTERNAL_LOGGER, console_silent, (void *)NULL,
        MHD_OPTION_NOTIFY_CONNECTION, console_notice, self, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)self->settings.connections_max, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)CONSOLE_IDLE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONSOLE_MEMORY,
        MHD_OPTION_END);
    if (self->daemon == NULL)
        return axo_fail(ctx, AXO_ETHREAD, "libmicrohttpd does not start: memory or descriptors");
    axo_status status = axo_defer(ctx, console_end, self);
    if (status != AXO_OK)
        MHD_stop_daemon(self->daemon);
    return status;
}

static axo_status console_begin(axo_ctx *ctx, console *self)
{
    axo_status status = console_daemon(ctx, self);
    if (status != AXO_OK) {
        axo__net_unlink(self->settings.address, &self->file);
        return status;
    }
    /* A watch lives longer than the daemon, so it is of a copy of its descriptor. */
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(self->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    self->polls = info != NULL ? fcntl(info->epoll_fd, F_DUPFD_CLOEXEC, 0) : -1;
    if (self->polls < 0)
        return axo_fail(ctx, AXO_ETHREAD, "no descriptor is left");
    status = axo_io_watch(ctx, self->polls, AXO_IO_IN, AXO_IO_OWN);
    if (status != AXO_OK) {
        (void)close(self->polls);
        return status;
    }
    return axo_timer_start(ctx, CONSOLE_KEY, AXO_TIMER_FIXED_DELAY, CONSOLE_TICK_MS * 1000000,
                           CONSOLE_TICK_MS * 1000000, AXO_CONSOLE_TICK, NULL, 0);
}

static axo_status console_construct(axo_ctx *ctx, void *state, const void *args)
{
    console *self = state;
    int error;
    self->settings = *(const axo_console *)args;
    axo_console *settings = &self->settings;
    self->system = axo_system_of(ctx);
    if (settings->address == NULL)
        settings->address = AXO_CONSOLE_ADDRESS;
    if (settings->connections_max == 0)
        settings->connections_max = 32;
    if (settings->actors_max == 0)
        settings->actors_max = 4096;
    if (settings->within_ns == 0)
        settings->within_ns = INT64_C(1000000000);
    if (settings->connection_ns == 0)
        settings->connection_ns = AXO_CONSOLE_CONNECTION_NS;
    self->listens = axo__net_listen(settings->address, CONSOLE_BACKLOG, &self->file, &error);
    if (self->listens < 0 && error == 0)
        return axo_fail(ctx, AXO_EINVAL, "%s is no address", settings->address);
    if (self->listens < 0)
        return axo_fail(ctx, error, "cannot listen at %s, errno %d", settings->address, error);
    self->loopback = console_is_loopback(self->listens);
    axo_status status = axo_io_watch(ctx, self->listens, AXO_IO_IN, AXO_IO_OWN);
    if (status == AXO_OK)
        return console_begin(ctx, self);
    axo__net_unlink(settings->address, &self->file);
    axo__net_close(self->listens);
    return status;
}

static const char *console_tag_name(uint32_t tag)
{
    return tag == AXO_CONSOLE_RUN    ? "AXO_CONSOLE_RUN"
           : tag == AXO_CONSOLE_TICK ? "AXO_CONSOLE_TICK"
                                     : NULL;
}

static const axo_class console_class =
    AXO_CLASS(.name = "console", .state_size = sizeof(console), .construct = console_construct,
              .receive = console_receive, .post_stop = console_post_stop,
              .tag_name = console_tag_name);

/* Whether it is a page's that is free. */
static bool console_is_page(const axo_console *settings, uint32_t number)
{
    static const char *const own[] = {"tree", "actor", "stats", "health", "metrics", "sections"};
    const char *name = settings->sections[number]->name;
    size_t size = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-");
    if (size == 0 || size > AXO_CONSOLE_SECTION_NAME || name[size] != 0)
        return false;
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
        if (strcmp(name, own[i]) == 0)
            return false;
    }
    for (uint32_t i = 0; i < number; i++) {
        if (strcmp(name, settings->sections[i]->name) == 0)
            return false;
    }
    return true;
}

static axo_status console_check_sections(const axo_console *settings)
{
    if (settings->sections_count > AXO_CONSOLE_SECTIONS_MAX ||
        (settings->sections == NULL && settings->sections_count > 0))
        return AXO_EINVAL;
    for (uint32_t i = 0; i < settings->sections_count; i++) {
        const axo_console_section *section = settings->sections[i];
        if (section == NULL || section->size == 0)
            return AXO_EINVAL;
        if (section->size != sizeof *section)
            return AXO_EVERSION;
        if (section->name == NULL || section->json == NULL || !console_is_page(settings, i))
            return AXO_EINVAL;
    }
    return AXO_OK;
}

static axo_status console_check(const axo_console *settings)
{
    if (settings->size != sizeof *settings)
        return settings->size == 0 ? AXO_EINVAL : AXO_EVERSION;
    if ((settings->address != NULL && strlen(settings->address) >= AXO_ADDRESS_MAX) ||
        settings->connections_max > 1024 || settings->actors_max > 65536 ||
        settings->within_ns < 0 || settings->connection_ns < 0)
        return AXO_EINVAL;
    return console_check_sections(settings);
}

axo_status axo_console_props(const axo_console *settings, const char *name, axo_props *props)
{
    static const axo_console usual = AXO_CONSOLE();
    if (props == NULL)
        return AXO_EINVAL;
    if (settings == NULL)
        settings = &usual;
    axo_status status = console_check(settings);
    if (status != AXO_OK)
        return status;
    *props =
        (axo_props)AXO_PROPS(.cls = &console_class, .args = settings, .args_size = sizeof *settings,
                             .name = name, .dispatcher = AXO_DISPATCH_PINNED);
    return AXO_OK;
}

axo_status axo_console_start(axo_system *system, const axo_console *settings, axo_ref *out)
{
    axo_props props;
    if (out == NULL)
        return AXO_EINVAL;
    *out = axo_ref_none();
    axo_status status = axo_console_props(settings, "console", &props);
    if (status != AXO_OK)
        return status;
    props.system_actor = 1;
    return axo_system_spawn(system, &props, out);
}
