/* crashy_server.c - a server whose handlers have every bug there is, and which answers everybody
 * else throughout: a crash costs the connection that has asked for it, and nothing more.
 *
 *   ./crashy_server [address], "127.0.0.1:7003" for instance; then telnet or nc; SIGTERM ends it,
 *   and it says how often it has crashed
 *
 *   null, stack, divide, abort, assert   the connection's handler has that bug: the connection ends
 *   loop                                 it never comes to its end: interrupted within two seconds
 *   leak                                 it takes a megabyte and forgets it: the rest of its life
 *   count                                an actor that all share counts, and answers
 *   count null, count stack, ...         that one has the bug, and begins at 1 again
 *   any other line                       is said back
 *
 * What is contained, and what is not, is in axo/crash.h. */
#include <assert.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <axo/axo.h>

#define SECOND         INT64_C(1000000000)
#define LINE_MAX_BYTES 1024

enum { COUNT = 1 /* to the counter: a bug's name, or nothing; back: the count */ };

/* ---- the bugs ---- */

static int *volatile nothing;
static volatile int zero;

static int fall(int depth)
{
    volatile char room[4096];
    room[0] = (char)depth;
    if (depth < 0)
        return 0; /* never */
    return fall(depth + 1 - zero) + room[0];
}

/* Returns if there is no bug of that name. */
static void misbehave(const char *how)
{
    if (strcmp(how, "null") == 0)
        *nothing = 1;
    if (strcmp(how, "stack") == 0)
        zero = fall(1);
    if (strcmp(how, "divide") == 0)
        zero = 7 / zero;
    if (strcmp(how, "abort") == 0)
        abort();
    if (strcmp(how, "assert") == 0)
        assert(zero != 0);
    while (strcmp(how, "loop") == 0)
        zero = 0;
}

/* ---- what all share ---- */

static axo_status counter_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    uint64_t *count = state;
    if (message->tag != COUNT)
        return AXO_UNHANDLED;
    misbehave(message->payload);
    ++*count;
    return axo_reply(ctx, message, COUNT, count, sizeof *count) == AXO_ENOMEM ? AXO_ENOMEM : AXO_OK;
}

static const axo_class counter_class =
    AXO_CLASS(.name = "counter", .state_size = sizeof(uint64_t), .receive = counter_receive,
              .on_crash = AXO_CRASH_FAILS, .watchdog_ms = 1000);

/* ---- a connection ---- */

typedef struct guest {
    axo_stream *stream;
    axo_ref counter;
} guest;

static axo_status guest_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    memcpy(&((guest *)state)->counter, args, sizeof(axo_ref));
    return AXO_OK;
}

static axo_status guest_line(axo_ctx *ctx, guest *me, char *line)
{
    if (strncmp(line, "count", 5) == 0) {
        const char *bug = line + 5 + (line[5] == ' ');
        return axo_send(ctx, me->counter, COUNT, bug, strlen(bug) + 1);
    }
    if (strcmp(line, "leak") == 0) {
        void *block = axo_alloc(ctx, 1 << 20);
        if (block == NULL)
            return AXO_ENOMEM;
        memset(block, 1, 1 << 20);
    }
    misbehave(line);
    size_t size = strlen(line);
    line[size] = '\n';
    return axo_stream_write(ctx, me->stream, line, size + 1);
}

static axo_status guest_input(axo_ctx *ctx, guest *me)
{
    axo_stream_bytes piece;
    axo_status status = AXO_OK;
    while (axo_stream_has_room(ctx, me->stream) &&
           (status = axo_stream_next_until(ctx, me->stream, "\n", 1, &piece)) == AXO_OK) {
        char line[LINE_MAX_BYTES + 1];
        memcpy(line, piece.data, piece.size);
        line[piece.size - 1] = 0;
        status = guest_line(ctx, me, line);
        if (status != AXO_OK)
            return status;
    }
    if (status == AXO_ETOOBIG || axo_stream_ended(ctx, me->stream))
        return axo_stream_close(ctx, me->stream, 5 * SECOND);
    return AXO_OK;
}

static axo_status guest_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    static const axo_stream_settings settings = AXO_STREAM_SETTINGS(.input_max = LINE_MAX_BYTES);
    guest *me = state;
    char line[32];
    if (message->tag == AXO_CONNECTED)
        return axo_stream_accept(ctx, message, &settings, &me->stream);
    if (message->tag == COUNT) {
        int size = snprintf(line, sizeof line, "%" PRIu64 "\n", *AXO_PAYLOAD(message, uint64_t));
        return axo_stream_write(ctx, me->stream, line, (size_t)size);
    }
    uint32_t events = axo_stream_receive(ctx, me->stream, message);
    if (events == 0)
        return AXO_UNHANDLED;
    return (events & AXO_STREAM_CLOSED) != 0 ? axo_stop_self(ctx) : guest_input(ctx, me);
}

static axo_status guest_settle(axo_ctx *ctx, void *state)
{
    return axo_stream_settle(ctx, ((guest *)state)->stream);
}

static const axo_class guest_class =
    AXO_CLASS(.name = "guest", .state_size = sizeof(guest), .construct = guest_construct,
              .receive = guest_receive, .settle = guest_settle, .on_crash = AXO_CRASH_FAILS,
              .watchdog_ms = 1000);

/* ---- the program ---- */

/* The budget is for a server that nobody attacks: a hundred crashes in a minute, and the next one
 * ends the process. This one is asked for them. */
int main(int argc, char **argv)
{
    axo_options options = AXO_OPTIONS(.name = "crashy", .contain = 1, .crashes_max = 65536,
                                      .crash_window_ns = SECOND, .thread_stack = 256 * 1024);
    static const axo_strategy again = AXO_STRATEGY(.decider = axo_decide_default);
    axo_ref counter;
    axo_ref listener;
    axo_props counter_props = AXO_PROPS(.cls = &counter_class, .name = "counter");
    axo_props guest_props =
        AXO_PROPS(.cls = &guest_class, .args = &counter, .args_size = sizeof counter);
    axo_listener settings =
        AXO_LISTENER(.address = argc > 1 ? argv[1] : "127.0.0.1:7003", .connection = &guest_props);
    axo_stats stats = AXO_STATS();
    axo_system *system;
    axo_props props;
    sigset_t ends;
    int which;
    (void)sigemptyset(&ends);
    (void)sigaddset(&ends, SIGTERM);
    (void)sigaddset(&ends, SIGINT);
    (void)pthread_sigmask(SIG_BLOCK, &ends, NULL); /* of all threads to come */
    options.user_strategy = &again;
    axo_status status = axo_system_start(&options, &system);
    if (status != AXO_OK) {
        (void)fprintf(stderr, "crashy_server: %s\n", axo_status_text(status));
        return 1;
    }
    if (axo_system_spawn(system, &counter_props, &counter) != AXO_OK ||
        axo_listener_props(&settings, "listener", &props) != AXO_OK ||
        axo_system_spawn(system, &props, &listener) != AXO_OK)
        return 1;
    (void)sigwait(&ends, &which);
    uint64_t crashes = axo_system_crashes(system, NULL, 0);
    (void)axo_system_stop(system, -1, NULL, 0, NULL);
    (void)axo_system_stats(system, &stats);
    (void)printf("%" PRIu64 " crashes; %" PRIu64 " messages sent, %" PRIu64 " handled, %" PRIu64
                 " dead, %" PRIu64 " dropped\n",
                 crashes, stats.sent, stats.handled, stats.dead, stats.dropped);
    return axo_system_destroy(system) != AXO_OK;
}
