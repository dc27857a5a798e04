/* console.h - a system seen from outside: its tree of actors, figures and health over HTTP, on a
 * page and for programs; and what systemd wants to know of a service. A library of its own,
 * libaxo-console (pkg-config: axo-console), on libmicrohttpd and libsystemd: libaxo needs neither.
 * <axo/axo.h> does not include it. A whole program is test/example/console.c.
 *
 *     axo_console settings = AXO_CONSOLE(.address = "127.0.0.1:9465");
 *     axo_ref console;
 *     status = axo_console_start(system, &settings, &console);
 *
 * A console is one actor. Everything that it serves is read, and nothing can be changed through it:
 *
 *   - "/": a page that shows the tree and its restarts live, and the facts of the actor whose path
 *     stands behind a '#'.
 *   - "/tree": JSON: actors by path, at most ?max= (500) of them, from ?path= ("/") downwards.
 *   - "/actor": JSON: what axo_inspect says of the actor at ?path=.
 *   - "/stats": JSON: axo_stats.
 *   - "/health": JSON: axo_health with ?within_ms=; status code 200: nobody is late; 503: somebody.
 *   - "/metrics": axo_metrics_write, as OpenMetrics for whom accepts it, else as Prometheus has it;
 *     before it what sections have.
 *   - "/sections": JSON: the names of axo_console.sections, and "/" and such a name: what it has to
 *     show. The page has a table of each.
 *
 * What it cannot do is said as text, with the status code 400 (a parameter), 403 (a page of another
 * site asks), 404 (no such page, no actor there), 405 (neither GET nor HEAD), 413 (the answer is
 * larger than AXO_CONSOLE_ANSWER_MAX: ask for less), 500 (a section fails), 503 (no memory). Who
 * asks twice in a connection waits for the first answer.
 *
 * A connection is closed when nothing has come or gone for 15 s, and connection_ns after it was
 * opened whatever it is at, so clients that are slow do not keep others out for ever. Who wants to
 * go on connects anew, as browsers do by themselves.
 *
 * /tree costs a look at every actor of the system for each of its levels, and each actor that it
 * shows what axo_inspect costs. /health is for who asks again and again, as axo_health is.
 *
 * Whoever reaches the address reads it: names, classes and tags, no payloads. On a loopback address
 * only a Host of digits or "localhost" is answered, so no page of another site reads it through a
 * browser. For more than that use a unix socket, whose folder says who may. */
#ifndef AXO_CONSOLE_H
#define AXO_CONSOLE_H

#include <axo/metrics.h>
#include <axo/system.h>

/* Where a console listens if it is not said. */
#define AXO_CONSOLE_ADDRESS "127.0.0.1:9465"

/* Bytes of an answer at most. */
#define AXO_CONSOLE_ANSWER_MAX (AXO_CAST(size_t, 8) * 1024 * 1024)

/* How long a connection may be open. */
#define AXO_CONSOLE_CONNECTION_NS INT64_C(60000000000)

/* A console that listens sends itself this when it is to go on. */
#define AXO_CONSOLE_RUN (AXO_TAG_SERVICES + 0x70)

/* ... and this twice a second: it looks how old its connections are, and listens again after it
 * has found no descriptor for one. */
#define AXO_CONSOLE_TICK (AXO_TAG_SERVICES + 0x71)

/* Bytes of a section's name at most, and sections of a console. */
#define AXO_CONSOLE_SECTION_NAME 32
#define AXO_CONSOLE_SECTIONS_MAX 16

/* What somebody beside libaxo has to show: a library (axo_cluster_section), the program. Its
 * functions run on the console's thread, several times a second if many look, and while all workers
 * hang; what they write is a part of the answer, so all of it is AXO_CONSOLE_ANSWER_MAX at most.
 * They return AXO_OK, what `write` returned, or another status, and the answer is an error then. */
typedef struct axo_console_section {
    size_t size;      /* sizeof(axo_console_section), set by the macro below */
    const char *name; /* of its page: 1..AXO_CONSOLE_SECTION_NAME of a-z, 0-9, '-'; none of the
                         console's own, nor of another section */
    /* A JSON object. An array "rows" of objects with strings, numbers and booleans is shown as a
     * table, whose columns are the first one's. */
    axo_status (*json)(void *user, axo_metrics_write_fn write, void *to);
    /* As axo_metrics_write, without an end; NULL: none. */
    axo_status (*metrics)(void *user, uint32_t format, axo_metrics_write_fn write, void *to);
    void *user;
} axo_console_section;
#define AXO_CONSOLE_SECTION(...) AXO_INIT(axo_console_section, __VA_ARGS__)
/* As the macro, for C++ before C++20 (init.h). */
static inline void axo_console_section_init(axo_console_section *out)
{
    const axo_console_section fresh = AXO_CONSOLE_SECTION();
    *out = fresh;
}

typedef struct axo_console {
    size_t size;              /* sizeof(axo_console), set by the macro below */
    const char *address;      /* NULL: AXO_CONSOLE_ADDRESS. As axo_listener.address:
                                 "127.0.0.1:9465", "[::1]:9465", "unix:/run/it.sock", ...
                                 Valid for as long as the console lives */
    uint32_t connections_max; /* one more is closed at once; 0: 32; at most 1024 */
    uint32_t actors_max;      /* the largest ?max= of /tree; 0: 4096; at most 65536 */
    int64_t within_ns;        /* of /health without ?within_ms=; 0: 1 s */
    int64_t connection_ns;    /* how long a connection may be open, to half a second; 0:
                                 AXO_CONSOLE_CONNECTION_NS */
    const axo_console_section *const *sections; /* NULL: none. They live as long as the console */
    uint32_t sections_count;  /* at most AXO_CONSOLE_SECTIONS_MAX */
} axo_console;
#define AXO_CONSOLE(...) AXO_INIT(axo_console, __VA_ARGS__)
/* As the macro, for C++ before C++20 (init.h). */
static inline void axo_console_init(axo_console *out)
{
    const axo_console fresh = AXO_CONSOLE();
    *out = fresh;
}

/* How systemd is told. */
typedef struct axo_notify {
    size_t size;        /* sizeof(axo_notify), set by the macro below */
    int64_t within_ns;  /* of the axo_health that decides whether the watchdog is fed; 0: half of
                          WATCHDOG_USEC, 5 s without a watchdog */
    uint32_t no_status; /* 1: no STATUS is sent */
    uint32_t reserved;  /* 0 */
} axo_notify;
#define AXO_NOTIFY(...) AXO_INIT(axo_notify, __VA_ARGS__)
/* As the macro, for C++ before C++20 (init.h). */
static inline void axo_notify_init(axo_notify *out)
{
    const axo_notify fresh = AXO_NOTIFY();
    *out = fresh;
}

AXO_BEGIN_DECLS

/* Fills *props with the recipe of a console; other fields may be set afterwards, but for cls and
 * args. It is made for AXO_DISPATCH_PINNED, a thread of its own, so that it answers while all
 * workers hang. A console that cannot listen fails as it starts, with the errno as its code and a
 * text that says what; a restart opens its address anew. It answers AXO_LISTENER_LOOK (listener.h)
 * by AXO_LISTENER_IS: where it listens, how many connections there are and were.
 *   thread    any
 *   owns      props->args is `settings`: it must be valid until the spawn, which copies it
 *   settings  NULL: all as it is if nothing is said
 *   name      may be NULL; kept as a pointer
 *   returns   AXO_OK; AXO_EINVAL: NULL, a field out of its range; AXO_EVERSION. Whether the address
 *             is one, and is free, is known when the console starts
 *   after     on failure *props is unchanged */
AXO_API axo_status axo_console_props(const axo_console *settings, const char *name,
                                     axo_props *props);

/* Spawns a console as /system/console, which outlives /user and shows its end.
 *   thread    any
 *   returns   as axo_console_props and axo_system_spawn
 *   after     on failure *out is axo_ref_none() */
AXO_API AXO_NODISCARD axo_status axo_console_start(axo_system *system, const axo_console *settings,
                                                   axo_ref *out);

/* Tells systemd of the system from now to its end (sd_notify(3)): READY=1 before it returns;
 * WATCHDOG=1 each half of WATCHDOG_USEC for as long as axo_health says that nobody is late, if the
 * service has a watchdog; STOPPING=1 when /user has begun to stop; STATUS= when somebody is late,
 * and when nobody is any more. A thread of its own does it, which asks three times in
 * `within_ns`, so a system whose workers all hang is not said to be well. An actor /user/systemd
 * tells it of the stop. That thread has ended before axo_system_wait and axo_system_stop return.
 *   settings  NULL: all as it is if nothing is said
 *   thread    any
 *   blocks    for as long as systemd does not take a datagram
 *   returns   AXO_OK; AXO_ENOENT: nobody wants to know (no NOTIFY_SOCKET): nothing is done;
 *             AXO_EEXIST: it was called before; AXO_ESYSTEM: the socket takes nothing; AXO_EINVAL
 *             (NULL, a time below 0); AXO_EVERSION; AXO_EFORKED; AXO_ESTOPPING; AXO_ELIMIT;
 *             AXO_ENOMEM; AXO_ETHREAD
 *   after     on failure systemd has not been told */
AXO_API axo_status axo_notify_systemd(axo_system *system, const axo_notify *settings);

AXO_END_DECLS

#endif
