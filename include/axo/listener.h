/* listener.h - an actor that listens at an address and supervises its connections.
 *
 *     static const axo_props connection = AXO_PROPS(.cls = &cls);
 *     axo_listener settings = AXO_LISTENER(.address = "127.0.0.1:7000", .connection = &connection);
 *     axo_props props;
 *     axo_listener_props(&settings, "listener", &props);
 *     axo_spawn(ctx, &props, &ref);
 *
 * Each connection is an actor of its own, a child of the listener, whose first message is
 * AXO_CONNECTED:
 *
 *     case AXO_CONNECTED:
 *         return axo_stream_accept(ctx, message, NULL, &me->stream);
 *
 * A connection that fails is stopped, and its descriptor closed with it: there is nothing that a
 * restart could go on with. When the listener ends its connections do; AXO_LISTENER_CLOSE ends it
 * so that none of them loses an answer. Who is in the kernel's backlog then, not accepted yet, is
 * reset, as at each close of a listening socket; behind systemd's socket (AXO_LISTENER's
 * "systemd:") it waits there for the next server. One that cannot listen fails as it starts, with
 * the errno as its code, and a text that says what.
 *
 * A whole program is test/example/echo_server.c.
 *
 * While the system is short of descriptors or memory the listener pauses: it accepts nothing for
 * AXO_LISTENER_PAUSE_NS, and tries again; the kernel keeps who comes meanwhile, as far as its
 * backlog goes. That, and each time it goes on, is an event AXO_KIND_LISTENER (event.h) with an
 * axo_listener_info; the log has a warning of it, at most one in ten seconds. A pause itself needs
 * neither memory nor one of the timers of axo_options.timers_max.
 *
 * The path of a unix address is removed before the listener stops to listen, by AXO_LISTENER_CLOSE
 * too, and only while it is the file that this listener has made: the next server may begin
 * meanwhile. Listeners that begin and end at paths of one folder take turns by flock of the folder,
 * so that of two that find a path left behind one gets it; when others hold that lock for half a
 * second, they go on without. */
#ifndef AXO_LISTENER_H
#define AXO_LISTENER_H

#include <axo/event.h>
#include <axo/stream.h>
#include <axo/system.h>

/* To a connection, from its listener, before all else: the payload is an axo_connection that is
 * handed over. If the connection does not take it, the descriptor is closed. */
#define AXO_CONNECTED (AXO_TAG_SERVICES + 0x68)

/* Asks a listener how it is; no payload. */
#define AXO_LISTENER_LOOK (AXO_TAG_SERVICES + 0x69)

/* The answer, an axo_listener_info. */
#define AXO_LISTENER_IS (AXO_TAG_SERVICES + 0x6a)

/* Has a listener end in order; no payload. It accepts no more from now on, tells each connection by
 * AXO_DISCONNECT, and ends when the last of them has. It is for axo_graceful_stop, as a message of
 * one's own, or for a watch; who has waited long enough stops it. If there is no memory to tell
 * them it tries again in a while. */
#define AXO_LISTENER_CLOSE (AXO_TAG_SERVICES + 0x6c)

/* To a connection, from its listener, perhaps more than once; no payload: the server ends. It
 * answers what it has been asked, closes its stream (axo_stream_close) and ends; one that does not
 * heed it goes on. */
#define AXO_DISCONNECT (AXO_TAG_SERVICES + 0x6d)

#define AXO_LISTENER_PAUSE_NS INT64_C(100000000)

/* Bytes of an address as text. */
#define AXO_ADDRESS_MAX 120

/* Payload of AXO_CONNECTED. */
typedef struct axo_connection {
    int fd;                     /* non-blocking, closed on exec, TCP without Nagle's delay. Who
                                   takes the payload by axo_message_take, to use it without a
                                   stream, writes -1 here */
    uint32_t reserved;          /* 0 */
    char peer[AXO_ADDRESS_MAX]; /* the other side's address, as axo_listener.address; "": none */
} axo_connection;

/* What becomes of connections beyond connections_max. */
typedef enum axo_listener_beyond {
    AXO_BEYOND_WAIT = 0,  /* they wait in the kernel's backlog until one ends */
    AXO_BEYOND_REFUSE = 1 /* they are closed at once */
} axo_listener_beyond;

typedef struct axo_listener {
    size_t size;                 /* sizeof(axo_listener), set by the macro below */
    const char *address;         /* "127.0.0.1:7000", "[::1]:7000", port 0: the kernel chooses one;
                                    "[::]:7000" takes no IPv4;
                                    "unix:/run/it.sock", removed at the end, "unix:@name", in no
                                    file system; "systemd:name": a socket that was passed to this
                                    process under that name (FileDescriptorName of the .socket
                                    unit; "systemd:": the first), as LISTEN_PID, LISTEN_FDS and
                                    LISTEN_FDNAMES say, else ENOENT; all of them are closed on exec
                                    from then on; "fd:3": one that listens already, by its number,
                                    which nothing checks. Of both the listener has a copy. Valid for
                                    as long as the listener lives; so `connection` */
    const axo_props *connection; /* recipe of a connection, with what it points at; its name is
                                    NULL */
    uint32_t connections_max;    /* 0: no bound */
    axo_listener_beyond beyond;
    uint32_t backlog;            /* of the kernel's; 0: AXO_LISTENER_BACKLOG */
} axo_listener;
#define AXO_LISTENER(...) AXO_INIT(axo_listener, __VA_ARGS__)
/* As the macro, for C++ before C++20 (init.h). */
static inline void axo_listener_init(axo_listener *out)
{
    const axo_listener fresh = AXO_LISTENER();
    *out = fresh;
}

#define AXO_LISTENER_BACKLOG 4096

/* Payload of AXO_LISTENER_IS, and of the event. */
typedef struct axo_listener_info {
    char address[AXO_ADDRESS_MAX]; /* where it listens, with the port that the kernel chose */
    uint32_t connections;          /* that have not ended */
    uint32_t paused;               /* 1: it pauses, for want of descriptors or memory */
    int32_t error;                 /* of the last pause: an errno, or a negative axo_status */
    uint32_t reserved;             /* 0 */
    uint64_t accepted;             /* connections, in all; the refused ones not */
    uint64_t refused;
    uint64_t pauses;
} axo_listener_info;

AXO_BEGIN_DECLS

/* Fills *props with the recipe of a listener; other fields may be set afterwards, but for cls and
 * args. Its strategy stops a connection that fails.
 *   thread    any
 *   owns      props->args is `settings`: it must be valid until the spawn, which copies it
 *   name      may be NULL; kept as a pointer
 *   returns   AXO_OK; AXO_EINVAL: NULL, a field out of its range, a connection without a class;
 *             AXO_EVERSION. Whether the address is one, and is free, is known when the listener
 *             starts
 *   after     on failure *props is unchanged */
AXO_API axo_status axo_listener_props(const axo_listener *settings, const char *name,
                                      axo_props *props);

/* axo_stream_open of the descriptor that AXO_CONNECTED brings.
 *   returns   as axo_stream_open; AXO_EINVAL: another message than AXO_CONNECTED, or not a
 *             listener's
 *   after     on failure the connection is closed, *out is NULL */
AXO_API AXO_NODISCARD axo_status axo_stream_accept(axo_ctx *ctx, const axo_message *message,
                                                   const axo_stream_settings *settings,
                                                   axo_stream **out);

AXO_END_DECLS

#endif
