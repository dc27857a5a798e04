/* chat.c - rooms where people talk: who says a line is heard by everybody in his room, in one order
 * for all. Who does not read fast enough is dropped, and the others never wait for him.
 *
 *   ./chat [address], "127.0.0.1:7001" for instance; then telnet or nc; SIGTERM ends it
 *   /nick NAME, /join ROOM, /quit; any other line is said
 *
 *     /user/lobby        knows the rooms, its children
 *       hall, kitchen    a room: knows who is in it, and says to all of them what one has said
 *     /user/listener
 *       $a, $b, ...      a member: a connection */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <axo/axo.h>

#define SECOND         INT64_C(1000000000)
#define NAME_MAX_BYTES 32
#define LINE_MAX_BYTES 1024
#define ROOMS_MAX      1000
/* Bytes that a member may be behind. */
#define BEHIND_MAX 65536

enum {
    JOIN = 1, /* a member to the lobby, which forwards it to the room: the room's name */
    JOINED,   /* the room to a member */
    SAY,      /* a member to his room: a line */
    SAID,     /* the room to each of its members: the same line */
    LEAVE     /* a member to his room */
};

/* ---- a room ---- */

typedef struct room {
    axo_ref *members;
    size_t count;
    size_t space;
} room;

static void room_free(void *arg)
{
    free(((room *)arg)->members);
}

static axo_status room_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)args;
    return axo_defer(ctx, room_free, state);
}

static axo_status room_join(axo_ctx *ctx, room *me, const axo_message *message)
{
    if (me->count == me->space) {
        size_t space = me->space > 0 ? me->space * 2 : 8;
        axo_ref *members = realloc(me->members, space * sizeof *members);
        if (members == NULL)
            return AXO_OK; /* he is not in it, and hears nothing */
        me->members = members;
        me->space = space;
    }
    if (axo_watch(ctx, message->sender) != AXO_OK)
        return AXO_OK;
    me->members[me->count++] = message->sender;
    return axo_reply(ctx, message, JOINED, NULL, 0) == AXO_ENOMEM ? AXO_ENOMEM : AXO_OK;
}

static void room_leave(room *me, axo_ref who)
{
    for (size_t i = 0; i < me->count; i++) {
        if (axo_ref_equal(me->members[i], who))
            me->members[i--] = me->members[--me->count];
    }
}

static axo_status room_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    room *me = state;
    switch (message->tag) {
    case JOIN:
        return room_join(ctx, me, message);
    case LEAVE:
        room_leave(me, message->sender);
        return axo_unwatch(ctx, message->sender);
    case AXO_TERMINATED:
        room_leave(me, AXO_PAYLOAD(message, axo_terminated)->actor);
        return AXO_OK;
    case SAY:
        for (size_t i = 0; i < me->count; i++)
            (void)axo_send(ctx, me->members[i], SAID, message->payload, message->size);
        return AXO_OK;
    default:
        return AXO_UNHANDLED;
    }
}

static const axo_class room_class = AXO_CLASS(.name = "room", .state_size = sizeof(room),
                                              .construct = room_construct, .receive = room_receive);

/* ---- the lobby ---- */

static axo_status lobby_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    char name[NAME_MAX_BYTES];
    (void)state;
    if (message->tag != JOIN || message->size >= sizeof name)
        return AXO_UNHANDLED;
    memcpy(name, message->payload, message->size);
    name[message->size] = 0;
    axo_ref it = axo_child(ctx, name);
    axo_props props = AXO_PROPS(.cls = &room_class, .name = name);
    if (axo_ref_is_none(it) &&
        (axo_child_count(ctx) >= ROOMS_MAX || axo_spawn(ctx, &props, &it) != AXO_OK))
        return AXO_OK;
    (void)axo_forward(ctx, message, it);
    return AXO_OK;
}

static const axo_class lobby_class = AXO_CLASS(.name = "lobby", .receive = lobby_receive);

/* ---- a member ---- */

typedef struct member {
    axo_stream *stream;
    axo_ref lobby;
    axo_ref room;
    char name[NAME_MAX_BYTES];
} member;

static axo_status member_construct(axo_ctx *ctx, void *state, const void *args)
{
    member *me = state;
    (void)ctx;
    memcpy(&me->lobby, args, sizeof me->lobby);
    (void)snprintf(me->name, sizeof me->name, "somebody");
    return AXO_OK;
}

/* Who is too far behind is dropped: the listener stops a connection that fails. */
static axo_status member_hear(axo_ctx *ctx, member *me, const void *line, size_t size)
{
    axo_status status = axo_stream_write(ctx, me->stream, line, size);
    if (status == AXO_EFULL)
        return axo_fail(ctx, 1, "%s does not read", me->name);
    return status == AXO_ENOMEM ? status : AXO_OK; /* else he is on his way out */
}

static axo_status member_told(axo_ctx *ctx, member *me, const char *line)
{
    return member_hear(ctx, me, line, strlen(line));
}

/* What is behind a command, if it is one, and may be a name. */
static bool member_command(const char *line, const char *command, char name[NAME_MAX_BYTES])
{
    size_t size = strlen(command);
    if (strncmp(line, command, size) != 0)
        return false;
    int length = snprintf(name, NAME_MAX_BYTES, "%s", line + size);
    if (length >= NAME_MAX_BYTES || axo_name_check(name, NULL) != AXO_OK)
        name[0] = 0;
    return true;
}

static axo_status member_join(axo_ctx *ctx, member *me, const char *name)
{
    if (!axo_ref_is_none(me->room))
        (void)axo_send(ctx, me->room, LEAVE, NULL, 0);
    me->room = axo_ref_none();
    return axo_send(ctx, me->lobby, JOIN, name, strlen(name));
}

static axo_status member_says(axo_ctx *ctx, member *me, const char *line)
{
    char text[NAME_MAX_BYTES + LINE_MAX_BYTES + 4];
    if (axo_ref_is_none(me->room))
        return member_told(ctx, me, "* /join ROOM\n");
    int size = snprintf(text, sizeof text, "%s: %s\n", me->name, line);
    return axo_send(ctx, me->room, SAY, text, (size_t)size);
}

static axo_status member_line(axo_ctx *ctx, member *me, const char *line)
{
    char name[NAME_MAX_BYTES];
    bool nick = member_command(line, "/nick ", name);
    if (nick || member_command(line, "/join ", name)) {
        if (name[0] == 0)
            return member_told(ctx, me, "* that is no name\n");
        if (!nick)
            return member_join(ctx, me, name);
        memcpy(me->name, name, sizeof me->name);
        return member_told(ctx, me, "* so it is\n");
    }
    if (strcmp(line, "/quit") == 0)
        return axo_stream_close(ctx, me->stream, 5 * SECOND);
    return member_says(ctx, me, line);
}

static axo_status member_input(axo_ctx *ctx, member *me)
{
    axo_stream_bytes piece;
    axo_status status;
    while ((status = axo_stream_next_until(ctx, me->stream, "\n", 1, &piece)) == AXO_OK) {
        char line[LINE_MAX_BYTES + 1];
        size_t size = piece.size - 1;
        size -= size > 0 && piece.data[size - 1] == '\r';
        memcpy(line, piece.data, size);
        line[size] = 0;
        status = member_line(ctx, me, line);
        if (status != AXO_OK && status != AXO_EGONE)
            return status;
    }
    if (status == AXO_ETOOBIG) {
        (void)member_told(ctx, me, "* that is too long\n");
        return axo_stream_close(ctx, me->stream, 5 * SECOND);
    }
    return axo_stream_ended(ctx, me->stream) ? axo_stream_close(ctx, me->stream, 5 * SECOND)
                                             : AXO_OK;
}

static axo_status member_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    static const axo_stream_settings settings =
        AXO_STREAM_SETTINGS(.input_max = LINE_MAX_BYTES, .output_high = BEHIND_MAX);
    member *me = state;
    switch (message->tag) {
    case AXO_CONNECTED:
        return axo_stream_accept(ctx, message, &settings, &me->stream);
    case JOINED:
        me->room = message->sender;
        return member_told(ctx, me, "* you are in\n");
    case SAID:
        return member_hear(ctx, me, message->payload, message->size);
    default:
        break;
    }
    uint32_t events = axo_stream_receive(ctx, me->stream, message);
    if (events == 0)
        return AXO_UNHANDLED;
    return (events & AXO_STREAM_CLOSED) != 0 ? axo_stop_self(ctx) : member_input(ctx, me);
}

static axo_status member_settle(axo_ctx *ctx, void *state)
{
    return axo_stream_settle(ctx, ((member *)state)->stream);
}

static const axo_class member_class =
    AXO_CLASS(.name = "member", .state_size = sizeof(member), .construct = member_construct,
              .receive = member_receive, .settle = member_settle);

/* ---- the program ---- */

int main(int argc, char **argv)
{
    axo_log_sink log = AXO_LOG_SINK();
    axo_options options =
        AXO_OPTIONS(.name = "chat", .log_record = axo_log_write, .log_record_user = &log);
    axo_props lobby_props = AXO_PROPS(.cls = &lobby_class, .name = "lobby");
    axo_ref lobby;
    axo_ref listener;
    axo_props member_props =
        AXO_PROPS(.cls = &member_class, .args = &lobby, .args_size = sizeof lobby);
    axo_listener settings =
        AXO_LISTENER(.address = argc > 1 ? argv[1] : "127.0.0.1:7001", .connection = &member_props);
    axo_system *system;
    axo_props props;
    sigset_t ends;
    int which;
    (void)sigemptyset(&ends);
    (void)sigaddset(&ends, SIGTERM);
    (void)sigaddset(&ends, SIGINT);
    (void)pthread_sigmask(SIG_BLOCK, &ends, NULL); /* of all threads to come */
    if (axo_log_open(&log) != AXO_OK || axo_system_start(&options, &system) != AXO_OK ||
        axo_system_spawn(system, &lobby_props, &lobby) != AXO_OK ||
        axo_listener_props(&settings, "listener", &props) != AXO_OK ||
        axo_system_spawn(system, &props, &listener) != AXO_OK)
        return 1;
    (void)sigwait(&ends, &which);
    (void)axo_system_stop(system, -1, NULL, 0, NULL);
    return axo_system_destroy(system) != AXO_OK;
}
