/* listener.c - an actor that accepts connections and supervises them.
 *
 * A new connection's descriptor is in the payload of a message from the moment when it is accepted,
 * and the payload's destructor closes it: whatever becomes of the child, its mailbox or the system,
 * the descriptor has one owner. */
#include <axo/listener.h>

#include <inttypes.h>
#include <string.h>

#include <axo/io.h>
#include <axo/log.h>
#include <axo/time.h>
#include <axo/watch.h>

#include "os/net.h"
#include "pattern/context.h"
#include "pattern/given.h"

/* Connections that one readiness accepts: others of the worker wait meanwhile. */
#define LISTENER_BATCH 64
/* A shortage may last: lines of the log lie at least so far apart. */
#define LISTENER_LINE_NS INT64_C(10000000000)

typedef struct axo__listener {
    axo_listener settings;
    int fd;
    axo__net_file file; /* that it has made */
    bool waits;   /* for one of its connections to end */
    bool pauses;  /* until `until` */
    bool closes;  /* accepts no more, ends with the last connection */
    bool unheard; /* one of its connections ends, and there was no memory to hear of it */
    int32_t error;
    int64_t until;
    uint64_t accepted;
    uint64_t refused;
    uint64_t pauses_count;
    int64_t lined; /* when the log was told last */
} axo__listener;

static void listener_free(void *payload, void *user)
{
    axo_connection *connection = payload;
    if (connection->fd >= 0)
        axo__net_close(connection->fd);
    axo_system_free(user, connection, sizeof *connection);
}

/* ---- how it is ---- */

static axo_listener_info listener_info(axo_ctx *ctx, const axo__listener *self)
{
    axo_listener_info info;
    memset(&info, 0, sizeof info);
    axo__net_name(self->fd, false, info.address, sizeof info.address);
    info.connections = axo_child_count(ctx);
    info.paused = self->pauses;
    info.error = self->error;
    info.accepted = self->accepted;
    info.refused = self->refused;
    info.pauses = self->pauses_count;
    return info;
}

static void listener_say(axo_ctx *ctx, const axo__listener *self)
{
    axo_listener_info info = listener_info(ctx, self);
    (void)axo_publish(ctx, AXO_KIND_LISTENER, &info, sizeof info);
}

/* A shortage is not to be found by those alone who have subscribed to events. */
static void listener_line(axo_ctx *ctx, axo__listener *self)
{
    int64_t now = axo_now(ctx);
    if (self->pauses_count > 1 && now - self->lined < LISTENER_LINE_NS)
        return;
    self->lined = now;
    (void)axo_log(ctx, AXO_LOG_WARNING,
                  "accepts nobody for %" PRId64 " ms, pause %" PRIu64 ": %s %" PRId32,
                  AXO_LISTENER_PAUSE_NS / 1000000, self->pauses_count,
                  self->error > 0 ? "errno" : "status", self->error);
}

static void listener_want(axo_ctx *ctx, const axo__listener *self)
{
    (void)axo_io_want(ctx, self->fd, self->waits || self->pauses ? 0 : AXO_IO_IN);
}

/* What a pause needs is taken as the listener begins: a shortage is no time to ask for a timer. */
static axo_status listener_reserve(axo_ctx *ctx)
{
    axo_status status = axo_receive_timeout(ctx, AXO_DELAY_MAX);
    return status == AXO_OK ? axo_receive_timeout(ctx, 0) : status;
}

/* Until it was silent for so long, or gets a message behind that time. */
static void listener_rest(axo_ctx *ctx, axo__listener *self)
{
    self->pauses = true;
    self->until = axo_now(ctx) + AXO_LISTENER_PAUSE_NS;
    (void)axo_receive_timeout(ctx, AXO_LISTENER_PAUSE_NS);
}

static void listener_pause(axo_ctx *ctx, axo__listener *self, int32_t error)
{
    self->error = error;
    self->pauses_count++;
    listener_rest(ctx, self);
    listener_want(ctx, self);
    listener_line(ctx, self);
    listener_say(ctx, self);
}

/* ---- a connection ---- */

static bool listener_is_full(axo_ctx *ctx, const axo__listener *self)
{
    return self->settings.connections_max > 0 &&
           axo_child_count(ctx) >= self->settings.connections_max;
}

/* The actor that gets it. Its end is to be heard of only where it makes room. */
static axo_status listener_spawn(axo_ctx *ctx, axo__listener *self, axo_ref *child)
{
    axo_status status = axo_spawn(ctx, self->settings.connection, child);
    if (status != AXO_OK || self->settings.connections_max == 0)
        return status;
    status = axo_watch(ctx, *child);
    if (status != AXO_OK) {
        self->unheard = true;
        (void)axo_stop(ctx, *child);
    }
    return status;
}

/* The descriptor is somebody's, or closed, behind this. */
static axo_status listener_connect(axo_ctx *ctx, axo__listener *self, int fd)
{
    axo_ref child;
    axo_system *system = axo_system_of(ctx);
    axo_connection *connection = axo_system_alloc(system, sizeof *connection);
    if (connection == NULL) {
        axo__net_close(fd);
        return AXO_ENOMEM;
    }
    memset(connection, 0, sizeof *connection);
    connection->fd = fd;
    axo__net_name(fd, true, connection->peer, sizeof connection->peer);
    axo_status status = listener_spawn(ctx, self, &child);
    if (status == AXO_OK) {
        status = axo_send_owned(ctx, child, AXO_CONNECTED, connection, sizeof *connection,
                                listener_free, system);
        if (status == AXO_OK || status == AXO_EGONE)
            return AXO_OK;
        (void)axo_stop(ctx, child);
    }
    listener_free(connection, system);
    return status;
}

/* One of those that wait in the backlog; false: no more are to be accepted now. */
static bool listener_accept(axo_ctx *ctx, axo__listener *self, axo_status *failure)
{
    int error;
    bool full = listener_is_full(ctx, self);
    self->unheard = self->unheard && full;
    if (self->unheard) {
        listener_pause(ctx, self, AXO_ENOMEM);
        return false;
    }
    if (full && self->settings.beyond != AXO_BEYOND_REFUSE) {
        self->waits = true;
        listener_want(ctx, self);
        return false;
    }
    int fd = axo__net_accept(self->fd, &error);
    if (fd < 0) {
        if (error == 0)
            (void)axo_io_blocked(ctx, self->fd, AXO_IO_IN);
        else if (axo__net_is_short(error))
            listener_pause(ctx, self, error);
        else if (!axo__net_is_passing(error))
            *failure = axo_fail(ctx, error, "cannot accept, errno %d", error);
        return error != 0 && axo__net_is_passing(error);
    }
    if (full) {
        axo__net_close(fd);
        self->refused++;
        return true;
    }
    axo_status status = listener_connect(ctx, self, fd);
    self->accepted += status == AXO_OK;
    self->refused += status != AXO_OK;
    if (status != AXO_OK)
        listener_pause(ctx, self, status);
    return status == AXO_OK;
}

static axo_status listener_ready(axo_ctx *ctx, axo__listener *self)
{
    axo_status failure = AXO_OK;
    bool more = true;
    for (uint32_t i = 0; more && i < LISTENER_BATCH; i++)
        more = listener_accept(ctx, self, &failure);
    return failure;
}

/* ---- an end in order ---- */

/* Tells every connection, and hears of its end. */
static axo_status listener_tell(axo_ctx *ctx, uint32_t count)
{
    axo_system *system = axo_system_of(ctx);
    size_t size = count * sizeof(axo_ref);
    axo_ref *children = axo_system_alloc(system, size);
    axo_status failure = AXO_OK;
    if (children == NULL)
        return AXO_ENOMEM;
    count = axo_children(ctx, children, count); /* it may have sunk meanwhile, never risen */
    for (uint32_t i = 0; i < count; i++) {
        axo_status status = axo_watch(ctx, children[i]);
        if (status == AXO_OK)
            status = axo_send(ctx, children[i], AXO_DISCONNECT, NULL, 0);
        if (status != AXO_OK && status != AXO_EGONE)
            failure = status;
    }
    axo_system_free(system, children, size);
    return failure;
}

/* The path goes first: the next server may begin as soon as nobody listens there. */
static void listener_leave(axo_ctx *ctx, axo__listener *self)
{
    axo__net_unlink(self->settings.address, &self->file);
    (void)axo_io_unwatch(ctx, self->fd);
    axo__net_close(self->fd);
    self->fd = -1;
}

static axo_status listener_close(axo_ctx *ctx, axo__listener *self)
{
    uint32_t count = axo_child_count(ctx);
    if (!self->closes) {
        self->closes = true;
        listener_leave(ctx, self);
    }
    if (count == 0)
        return axo_stop_self(ctx);
    if (listener_tell(ctx, count) != AXO_OK)
        listener_rest(ctx, self);
    return AXO_OK;
}

/* A pause is over. */
static axo_status listener_go_on(axo_ctx *ctx, axo__listener *self)
{
    self->pauses = false;
    (void)axo_receive_timeout(ctx, 0);
    if (self->closes)
        return listener_close(ctx, self);
    listener_want(ctx, self);
    listener_say(ctx, self);
    return AXO_OK;
}

/* One of the connections has ended. */
static axo_status listener_ended(axo_ctx *ctx, axo__listener *self)
{
    if (self->closes)
        return axo_child_count(ctx) == 0 ? axo_stop_self(ctx) : AXO_OK;
    if (self->waits && !listener_is_full(ctx, self)) {
        self->waits = false;
        listener_want(ctx, self);
    }
    return AXO_OK;
}

/* ---- the actor ---- */

static axo_status listener_construct(axo_ctx *ctx, void *state, const void *args)
{
    axo__listener *self = state;
    int error;
    axo_status status = axo__given_read(args, &self->settings, sizeof self->settings);
    if (status == AXO_OK)
        status = listener_reserve(ctx);
    if (status != AXO_OK)
        return status;
    const char *address = self->settings.address;
    uint32_t backlog = self->settings.backlog;
    if (backlog == 0)
        backlog = AXO_LISTENER_BACKLOG;
    self->fd = axo__net_listen(address, backlog, &self->file, &error);
    if (self->fd < 0 && error == 0)
        return axo_fail(ctx, AXO_EINVAL, "%s is no address", address);
    if (self->fd < 0)
        return axo_fail(ctx, error, "cannot listen at %s, errno %d", address, error);
    status = axo_io_watch(ctx, self->fd, AXO_IO_IN, AXO_IO_OWN);
    if (status != AXO_OK) {
        axo__net_unlink(address, &self->file);
        axo__net_close(self->fd);
    }
    return status;
}

static axo_status listener_handle(axo_ctx *ctx, axo__listener *self, const axo_message *message)
{
    axo_listener_info info;
    switch (message->tag) {
    case AXO_IO_READY:
        return self->waits || self->pauses ? AXO_OK : listener_ready(ctx, self);
    case AXO_TERMINATED:
        return listener_ended(ctx, self);
    case AXO_LISTENER_CLOSE:
        return listener_close(ctx, self);
    case AXO_RECEIVE_TIMEOUT:
        return AXO_OK;
    case AXO_LISTENER_LOOK:
        info = listener_info(ctx, self);
        (void)axo_reply(ctx, message, AXO_LISTENER_IS, &info, sizeof info);
        return AXO_OK;
    default:
        return AXO_UNHANDLED;
    }
}

static axo_status listener_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    axo__listener *self = state;
    axo_status status = AXO_OK;
    if (self->pauses && (message->tag == AXO_RECEIVE_TIMEOUT || axo_now(ctx) >= self->until))
        status = listener_go_on(ctx, self);
    return status == AXO_OK ? listener_handle(ctx, self, message) : status;
}

static axo_status listener_post_stop(axo_ctx *ctx, void *state)
{
    axo__listener *self = state;
    (void)ctx;
    axo__net_unlink(self->settings.address, &self->file);
    return AXO_OK;
}

static const axo_class listener_class =
    AXO_CLASS(.name = "listener", .state_size = sizeof(axo__listener),
              .construct = listener_construct, .receive = listener_receive,
              .post_stop = listener_post_stop);
static const axo_strategy listener_strategy = AXO_STRATEGY(.decider = axo_decide_stop);

axo_status axo_listener_props(const axo_listener *settings, const char *name, axo_props *props)
{
    axo_listener given;
    if (props == NULL)
        return AXO_EINVAL;
    axo_status status = axo__given_read(settings, &given, sizeof given);
    if (status != AXO_OK)
        return status;
    if (given.address == NULL || strlen(given.address) >= AXO_ADDRESS_MAX ||
        given.connection == NULL || given.connection->size < sizeof given.connection->size ||
        given.connection->cls == NULL || given.connection->name != NULL ||
        given.beyond > AXO_BEYOND_REFUSE)
        return AXO_EINVAL;
    *props = (axo_props)AXO_PROPS(.cls = &listener_class, .args = settings,
                                  .args_size = settings->size, .name = name,
                                  .strategy = &listener_strategy);
    return AXO_OK;
}

axo_status axo_stream_accept(axo_ctx *ctx, const axo_message *message,
                             const axo_stream_settings *settings, axo_stream **out)
{
    axo_owned owned;
    axo_status status = axo__context_check(ctx);
    if (status != AXO_OK)
        return status;
    if (out == NULL)
        return AXO_EINVAL;
    *out = NULL;
    if (message == NULL || message->tag != AXO_CONNECTED || message->size != sizeof(axo_connection))
        return AXO_EINVAL;
    if (axo_message_take(ctx, message, &owned) != AXO_OK)
        return AXO_EINVAL;
    if (owned.destroy != listener_free) { /* a stranger's, whatever it says */
        if (owned.destroy != NULL)
            owned.destroy(owned.payload, owned.user);
        return AXO_EINVAL;
    }
    axo_connection *connection = owned.payload;
    status = axo_stream_open(ctx, connection->fd, settings, out);
    if (status == AXO_OK)
        connection->fd = -1;
    listener_free(connection, owned.user);
    return status;
}
