/* echo_server.c - says everything back to who sent it. An actor a connection, a listener above.
 *
 *   ./echo_server [address], "127.0.0.1:7000" or "unix:/tmp/echo" for instance; SIGTERM ends it. */
#include <signal.h>

#include <axo/axo.h>

typedef struct echo {
    axo_stream *stream;
} echo;

static axo_status echo_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    echo *me = state;
    axo_stream_bytes piece;
    if (message->tag == AXO_CONNECTED)
        return axo_stream_accept(ctx, message, NULL, &me->stream);
    uint32_t events = axo_stream_receive(ctx, me->stream, message);
    while (axo_stream_has_room(ctx, me->stream) &&
           axo_stream_next(ctx, me->stream, 0, &piece) == AXO_OK)
        if (axo_stream_write(ctx, me->stream, piece.data, piece.size) != AXO_OK)
            return AXO_ENOMEM; /* the actor fails: the listener stops it, and the others go on */
    if (axo_stream_ended(ctx, me->stream))
        return axo_stream_close(ctx, me->stream, INT64_C(5000000000));
    return (events & AXO_STREAM_CLOSED) != 0 ? axo_stop_self(ctx) : AXO_OK;
}

static axo_status echo_settle(axo_ctx *ctx, void *state)
{
    return axo_stream_settle(ctx, ((echo *)state)->stream); /* one write for all of a turn */
}

int main(int argc, char **argv)
{
    static const axo_class cls = AXO_CLASS(.name = "echo", .state_size = sizeof(echo),
                                           .receive = echo_receive, .settle = echo_settle);
    static const axo_props connection = AXO_PROPS(.cls = &cls);
    axo_listener settings = AXO_LISTENER(.address = argc > 1 ? argv[1] : "127.0.0.1:7000",
                                         .connection = &connection);
    axo_options options = AXO_OPTIONS(.name = "echo");
    axo_system *system;
    axo_props props;
    axo_ref listener;
    sigset_t ends;
    int which;
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    (void)pthread_sigmask(SIG_BLOCK, &ends, NULL); /* of all threads to come */
    if (axo_system_start(&options, &system) != AXO_OK ||
        axo_listener_props(&settings, "listener", &props) != AXO_OK ||
        axo_system_spawn(system, &props, &listener) != AXO_OK)
        return 1;
    (void)sigwait(&ends, &which);
    (void)axo_system_stop(system, -1, NULL, 0, NULL);
    return axo_system_destroy(system) != AXO_OK;
}
