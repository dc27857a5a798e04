/* metrics.c - a shop that Prometheus scrapes: an actor a connection answers HTTP with all figures.
 *
 *   ./metrics [address], "127.0.0.1:9464" or "unix:/tmp/metrics" for instance; SIGTERM ends it. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <axo/axo.h>

typedef struct scrape {
    axo_ctx *ctx;
    axo_stream *stream;
} scrape;

/* The whole text waits for who takes it slowly. */
static const axo_stream_settings scrape_settings =
    AXO_STREAM_SETTINGS(.output_high = 4 * 1024 * 1024);

static axo_status scrape_write(void *user, const char *text, size_t size)
{
    scrape *me = user;
    return axo_stream_write(me->ctx, me->stream, text, size);
}

/* Who asks for the newer format names it in Accept. The answer ends with the connection. */
static axo_status scrape_answer(axo_ctx *ctx, scrape *me, const axo_stream_bytes *request)
{
    char head[4096];
    (void)snprintf(head, sizeof head, "%.*s", (int)request->size, (const char *)request->data);
    uint32_t format = strstr(head, "openmetrics-text") != NULL ? AXO_METRICS_OPENMETRICS
                                                               : AXO_METRICS_PROMETHEUS;
    const char *type = format == AXO_METRICS_OPENMETRICS
                           ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                           : "text/plain; version=0.0.4; charset=utf-8";
    int size = snprintf(head, sizeof head,
                        "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nConnection: close\r\n\r\n", type);
    me->ctx = ctx;
    axo_status status = scrape_write(me, head, (size_t)size);
    if (status == AXO_OK)
        status = axo_metrics_write(axo_system_of(ctx), format, scrape_write, me);
    return status == AXO_OK ? axo_stream_close(ctx, me->stream, INT64_C(5000000000)) : status;
}

static axo_status scrape_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    scrape *me = state;
    axo_stream_bytes request;
    if (message->tag == AXO_CONNECTED)
        return axo_stream_accept(ctx, message, &scrape_settings, &me->stream);
    uint32_t events = axo_stream_receive(ctx, me->stream, message);
    if (axo_stream_next_until(ctx, me->stream, "\r\n\r\n", 4, &request) == AXO_OK)
        return scrape_answer(ctx, me, &request);
    if (axo_stream_ended(ctx, me->stream) || (events & AXO_STREAM_CLOSED) != 0)
        return axo_stop_self(ctx);
    return AXO_OK;
}

static axo_status scrape_settle(axo_ctx *ctx, void *state)
{
    return axo_stream_settle(ctx, ((scrape *)state)->stream);
}

static axo_status shop_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)state;
    return message->tag % 10 == 9 ? axo_fail(ctx, 1, "sold out") : AXO_OK;
}

int main(int argc, char **argv)
{
    static const axo_class cls = AXO_CLASS(.name = "scrape", .state_size = sizeof(scrape),
                                           .receive = scrape_receive, .settle = scrape_settle);
    static const axo_class shop = AXO_CLASS(.name = "shop", .receive = shop_receive);
    static const axo_props connection = AXO_PROPS(.cls = &cls);
    static const axo_props sells = AXO_PROPS(.cls = &shop, .name = "shop");
    axo_listener settings = AXO_LISTENER(.address = argc > 1 ? argv[1] : "127.0.0.1:9464",
                                         .connection = &connection);
    axo_options options = AXO_OPTIONS(.name = "metrics", .figures = AXO_FIGURES_TIMES);
    axo_system *system;
    axo_props props;
    axo_ref ref;
    sigset_t ends;
    int which;
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    (void)pthread_sigmask(SIG_BLOCK, &ends, NULL); /* of all threads to come */
    if (axo_system_start(&options, &system) != AXO_OK ||
        axo_system_spawn(system, &sells, &ref) != AXO_OK)
        return 1;
    for (uint32_t i = 0; i < 100; i++)
        (void)axo_system_send(system, ref, i, NULL, 0);
    if (axo_listener_props(&settings, "listener", &props) != AXO_OK ||
        axo_system_spawn(system, &props, &ref) != AXO_OK)
        return 1;
    (void)sigwait(&ends, &which);
    (void)axo_system_stop(system, -1, NULL, 0, NULL);
    return axo_system_destroy(system) != AXO_OK;
}
