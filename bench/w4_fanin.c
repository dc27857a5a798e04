/* w4_fanin.c - many producers send to one consumer: W4, and W4c with credits as backpressure. */
#include "bench.h"

enum { GO = 1, ITEM = 2, MORE = 3, CREDIT = 4 };

#define PRODUCERS_MAX 64

typedef struct flood {
    uint64_t producers;
    uint64_t messages; /* of each producer */
    uint64_t batch;    /* sent before a producer lets others run; without credits */
    uint64_t credits;  /* most in flight from one producer; 0: no bound */
    uint64_t begin_ns;
    uint64_t end_ns;
} flood;

/* ---- producer ------------------------------------------------------------------------------ */

typedef struct producer {
    axo_ref consumer;
    uint64_t index;
    uint64_t left;
    uint64_t batch;
    uint64_t credits;
} producer;

static axo_status producer_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    *(producer *)state = *(const producer *)args;
    return AXO_OK;
}

static axo_status producer_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    producer *me = state;
    uint64_t count = me->batch;
    if (me->credits != 0)
        count = message->tag == CREDIT ? me->credits / 2 : me->credits;
    if (count > me->left)
        count = me->left;
    me->left -= count;
    for (uint64_t i = 0; i < count; i++)
        (void)axo_send(ctx, me->consumer, ITEM, &me->index, sizeof me->index);
    if (me->credits == 0 && me->left > 0)
        (void)axo_send(ctx, axo_self(ctx), MORE, NULL, 0);
    return AXO_OK;
}

static const axo_class producer_class =
    AXO_CLASS(.name = "producer", .state_size = sizeof(producer), .construct = producer_construct,
              .receive = producer_receive);

/* ---- consumer ------------------------------------------------------------------------------ */

/* Makes the producers, starts them, and stops the clock at the last item. */
typedef struct consumer {
    flood *flood;
    uint64_t left;
    axo_ref producers[PRODUCERS_MAX];
    uint64_t since[PRODUCERS_MAX]; /* items since the last credit */
} consumer;

static axo_status consumer_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    consumer *me = state;
    memcpy(&me->flood, args, sizeof me->flood);
    me->left = me->flood->producers * me->flood->messages;
    return AXO_OK;
}

static axo_status consumer_start(axo_ctx *ctx, void *state)
{
    consumer *me = state;
    producer recipe = {.consumer = axo_self(ctx),
                       .left = me->flood->messages,
                       .batch = me->flood->batch,
                       .credits = me->flood->credits};
    axo_props props =
        AXO_PROPS(.cls = &producer_class, .args = &recipe, .args_size = sizeof recipe);
    for (uint64_t i = 0; i < me->flood->producers; i++) {
        recipe.index = i;
        bench_check(axo_spawn(ctx, &props, &me->producers[i]), "spawn");
    }
    return AXO_OK;
}

static axo_status consumer_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    consumer *me = state;
    if (message->tag == GO) {
        me->flood->begin_ns = clock_ns();
        for (uint64_t i = 0; i < me->flood->producers; i++)
            (void)axo_send(ctx, me->producers[i], GO, NULL, 0);
        return AXO_OK;
    }
    uint64_t index = *AXO_PAYLOAD(message, uint64_t);
    if (me->flood->credits != 0 && ++me->since[index] == me->flood->credits / 2) {
        me->since[index] = 0;
        (void)axo_send(ctx, message->sender, CREDIT, NULL, 0);
    }
    if (--me->left > 0)
        return AXO_OK;
    me->flood->end_ns = clock_ns();
    return axo_system_shutdown(axo_system_of(ctx));
}

static const axo_class consumer_class =
    AXO_CLASS(.name = "consumer", .state_size = sizeof(consumer), .construct = consumer_construct,
              .pre_start = consumer_start, .receive = consumer_receive);

/* ---- program ------------------------------------------------------------------------------- */

static void fanin_run(const bench_settings *settings, void *arg, bench_sample *sample)
{
    flood *shared = arg;
    axo_stats stats;
    bench_system_run(settings, &consumer_class, shared, GO, sample, &stats);
    uint64_t items = shared->producers * shared->messages;
    if (stats.handled < items)
        bench_expect(stats.handled, items, "messages handled");
    sample->figure = (double)items * 1e9 / (double)(shared->end_ns - shared->begin_ns);
}

static void fanin_measure(const bench_settings *settings, const flood *what)
{
    flood shared = *what;
    char options[160];
    (void)snprintf(options, sizeof options,
                   "\"producers\":%" PRIu64 ",\"messages\":%" PRIu64 ",\"batch\":%" PRIu64
                   ",\"credits\":%" PRIu64,
                   shared.producers, shared.messages, shared.batch, shared.credits);
    bench_work work = {.name = shared.credits == 0 ? "W4" : "W4c",
                       .unit = "messages/s",
                       .options = options,
                       .run = fanin_run,
                       .arg = &shared};
    bench_measure(settings, &work);
}

int main(int argc, char **argv)
{
    (void)argc;
    flood own = {.producers = 4, .messages = 1000000, .batch = 256, .credits = 256};
    const bench_option options[] = {
        {"--producers", &own.producers, "producers"},
        {"--messages", &own.messages, "messages of each producer"},
        {"--batch", &own.batch, "messages a turn of a producer, in W4"},
        {"--credits", &own.credits, "even; most messages in flight a producer, in W4c; 0: no W4c"}};
    bench_settings settings;
    bench_settings_read(&settings, argv, options, 4);
    if (own.producers < 1 || own.producers > PRODUCERS_MAX || own.messages < 1 || own.batch < 1 ||
        own.credits % 2 != 0)
        bench_usage(argv[0], options, 4);
    flood free_running = own;
    free_running.credits = 0;
    fanin_measure(&settings, &free_running);
    if (own.credits != 0)
        fanin_measure(&settings, &own);
    return 0;
}
