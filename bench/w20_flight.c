/* w20_flight.c - W20: memory of messages in flight, by their number and by the size of the payload.
 *
 * An actor sends itself messages within one turn, so all of them wait. The figure is what the
 * resident set grew by, a message; bytes_counted is what the system took from its allocator;
 * send_ns is what a send took, memory that is touched for the first time and all. */
#include "bench.h"

enum { GO = 1, ITEM = 2 };

typedef struct flight {
    uint64_t messages;
    uint64_t payload;
    uint64_t rss_bytes;
    uint64_t counted_bytes;
    uint64_t send_ns;
    uint64_t left;
} flight;

static axo_status sender_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    memcpy(state, args, sizeof(flight *));
    return AXO_OK;
}

static uint64_t sender_memory(axo_ctx *ctx)
{
    axo_stats stats = AXO_STATS(.sent = 0);
    bench_check(axo_system_stats(axo_system_of(ctx), &stats), "stats");
    return stats.memory_bytes;
}

static axo_status sender_fill(axo_ctx *ctx, flight *shared)
{
    static const char payload[65536];
    uint64_t rss = bench_resident_bytes();
    uint64_t counted = sender_memory(ctx);
    uint64_t begin = clock_ns();
    for (uint64_t i = 0; i < shared->messages; i++)
        bench_check(axo_send(ctx, axo_self(ctx), ITEM, payload, shared->payload), "send");
    shared->send_ns = clock_ns() - begin;
    uint64_t now = bench_resident_bytes();
    shared->counted_bytes = sender_memory(ctx) - counted;
    shared->rss_bytes = now > rss ? now - rss : 0;
    return AXO_OK;
}

static axo_status sender_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    flight *shared = *(flight *const *)state;
    if (message->tag == GO)
        return sender_fill(ctx, shared);
    bench_expect(message->size, shared->payload, "bytes of a payload");
    return --shared->left > 0 ? AXO_OK : axo_system_shutdown(axo_system_of(ctx));
}

static const axo_class sender_class =
    AXO_CLASS(.name = "sender", .state_size = sizeof(flight *), .construct = sender_construct,
              .receive = sender_receive);

static void flight_run(const bench_settings *settings, void *arg, bench_sample *sample)
{
    flight *shared = arg;
    axo_stats stats;
    shared->left = shared->messages;
    bench_system_run(settings, &sender_class, shared, GO, sample, &stats);
    bench_expect(stats.handled, shared->messages + 1, "messages handled");
    sample->figure = (double)shared->rss_bytes / (double)shared->messages;
    sample->values[0] = (double)shared->counted_bytes / (double)shared->messages;
    sample->values[1] = (double)shared->send_ns / (double)shared->messages;
}

static void flight_measure(const bench_settings *settings, flight *shared)
{
    char text[96];
    (void)snprintf(text, sizeof text, "\"messages\":%" PRIu64 ",\"payload\":%" PRIu64,
                   shared->messages, shared->payload);
    bench_measure(settings, &(bench_work){.name = "W20",
                                          .unit = "bytes",
                                          .less = true,
                                          .options = text,
                                          .run = flight_run,
                                          .arg = shared,
                                          .values = {{"bytes_counted", true}, {"send_ns", true}}});
}

int main(int argc, char **argv)
{
    static const uint64_t payloads[] = {0, 8, 64, 256, 1024};
    static const uint64_t counts[] = {1000, 10000, 100000};
    flight own = {.messages = 1000000};
    uint64_t payload = UINT64_MAX;
    const bench_option options[] = {
        {"--messages", &own.messages, "in flight at once"},
        {"--payload", &payload, "bytes; else 0 to 1024, and 8 with fewer messages"}};
    bench_settings settings;
    (void)argc;
    bench_settings_read(&settings, argv, options, 2);
    if (own.messages < 1 || (payload != UINT64_MAX && payload > 65536))
        bench_usage(argv[0], options, 2);
    for (uint32_t i = 0; payload == UINT64_MAX && i < 3; i++) {
        flight fewer = {.messages = counts[i], .payload = 8};
        flight_measure(&settings, &fewer);
    }
    for (uint32_t i = 0; i < (payload == UINT64_MAX ? 5 : 1); i++) {
        own.payload = payload == UINT64_MAX ? payloads[i] : payload;
        flight_measure(&settings, &own);
    }
    return 0;
}
