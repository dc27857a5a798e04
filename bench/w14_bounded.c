/* w14_bounded.c - W14: many producers send to one consumer through each kind of mailbox and each
 * policy. The figure is of messages offered: handled, dropped or refused and offered again. */
#include "bench.h"

enum { GO = 1, ITEM = 2 };

#define PRODUCERS_MAX 64

typedef struct flood {
    uint64_t producers;
    uint64_t messages; /* of each producer */
    uint64_t batch;    /* sent before a producer lets others run */
    uint64_t bound;
    const axo_mailbox *mailbox;
    uint64_t begin_ns;
    uint64_t end_ns;
} flood;

/* ---- producer ------------------------------------------------------------------------------ */

typedef struct producer {
    axo_ref consumer;
    uint64_t index;
    uint64_t left;
    uint64_t batch;
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
    (void)message;
    for (uint64_t i = 0; i < me->batch && me->left > 0; i++) {
        if (axo_send(ctx, me->consumer, ITEM, &me->index, sizeof me->index) == AXO_EFULL)
            break;
        me->left--;
    }
    if (me->left == 0)
        return axo_stop_self(ctx);
    return axo_send(ctx, axo_self(ctx), GO, NULL, 0);
}

static const axo_class producer_class =
    AXO_CLASS(.name = "producer", .state_size = sizeof(producer), .construct = producer_construct,
              .receive = producer_receive);

/* ---- consumer ------------------------------------------------------------------------------ */

/* Hears of each producer's end behind its last message. */
typedef struct consumer {
    flood *flood;
    uint64_t producers;
    uint64_t items;
} consumer;

static axo_status consumer_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    consumer *me = state;
    memcpy(&me->flood, args, sizeof me->flood);
    me->producers = me->flood->producers;
    return AXO_OK;
}

static axo_status consumer_start(axo_ctx *ctx, void *state)
{
    consumer *me = state;
    producer recipe = {
        .consumer = axo_self(ctx), .left = me->flood->messages, .batch = me->flood->batch};
    axo_props props =
        AXO_PROPS(.cls = &producer_class, .args = &recipe, .args_size = sizeof recipe);
    axo_ref all[PRODUCERS_MAX];
    for (recipe.index = 0; recipe.index < me->producers; recipe.index++) {
        bench_check(axo_spawn(ctx, &props, &all[recipe.index]), "spawn");
        bench_check(axo_watch(ctx, all[recipe.index]), "watch");
    }
    me->flood->begin_ns = clock_ns();
    for (uint64_t i = 0; i < me->producers; i++)
        bench_check(axo_send(ctx, all[i], GO, NULL, 0), "send");
    return AXO_OK;
}

static axo_status consumer_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    consumer *me = state;
    if (message->tag == ITEM) {
        me->items += 1 + *AXO_PAYLOAD(message, uint64_t);
        return AXO_OK;
    }
    if (message->tag != AXO_TERMINATED || --me->producers > 0)
        return AXO_OK;
    me->flood->end_ns = clock_ns();
    return axo_system_shutdown(axo_system_of(ctx));
}

static const axo_class consumer_class =
    AXO_CLASS(.name = "consumer", .state_size = sizeof(consumer), .construct = consumer_construct,
              .pre_start = consumer_start, .receive = consumer_receive);

/* ---- program ------------------------------------------------------------------------------- */

static void bounded_run(const bench_settings *settings, void *arg, bench_sample *sample)
{
    flood *shared = arg;
    axo_system *system = bench_system_start(settings);
    axo_props props = AXO_PROPS(.cls = &consumer_class, .args = &shared,
                                .args_size = sizeof shared, .mailbox = shared->mailbox);
    axo_ref ref;
    bench_check(axo_system_spawn(system, &props, &ref), "spawn");
    bench_system_end(system, sample);
    uint64_t items = shared->producers * shared->messages;
    sample->figure = (double)items * 1e9 / (double)(shared->end_ns - shared->begin_ns);
}

static uint32_t bounded_priority(const axo_message *message, void *user)
{
    (void)user;
    return message->tag == ITEM ? 1 + (uint32_t)(*AXO_PAYLOAD(message, uint64_t) % 4) : 0;
}

static void bounded_measure(const bench_settings *settings, flood *what, const char *label,
                            const axo_mailbox *mailbox)
{
    char options[200];
    char name[32];
    what->mailbox = mailbox;
    (void)snprintf(name, sizeof name, "W14 %s", label);
    (void)snprintf(options, sizeof options,
                   "\"mailbox\":\"%s\",\"producers\":%" PRIu64 ",\"messages\":%" PRIu64
                   ",\"batch\":%" PRIu64 ",\"bound\":%" PRIu64,
                   label, what->producers, what->messages, what->batch,
                   mailbox != NULL ? mailbox->messages_max : 0);
    bench_work work = {.name = name, .unit = "messages/s", .options = options,
                       .run = bounded_run, .arg = what};
    bench_measure(settings, &work);
}

int main(int argc, char **argv)
{
    (void)argc;
    flood own = {.producers = 4, .messages = 500000, .batch = 256, .bound = 1024};
    const bench_option options[] = {
        {"--producers", &own.producers, "producers"},
        {"--messages", &own.messages, "messages of each producer"},
        {"--batch", &own.batch, "messages a turn of a producer"},
        {"--bound", &own.bound, "messages that the mailbox has room for"}};
    bench_settings settings;
    bench_settings_read(&settings, argv, options, 4);
    if (own.producers < 1 || own.producers > PRODUCERS_MAX || own.messages < 1 || own.batch < 1 ||
        own.bound < 1)
        bench_usage(argv[0], options, 4);
    axo_mailbox how = AXO_MAILBOX(.kind = AXO_MAILBOX_FIFO);
    bounded_measure(&settings, &own, "default", NULL);
    bounded_measure(&settings, &own, "counted", &how);
    how.messages_max = own.bound;
    bounded_measure(&settings, &own, "refuse", &how);
    how.overflow = AXO_OVERFLOW_PARK;
    bounded_measure(&settings, &own, "park", &how);
    how.overflow = AXO_OVERFLOW_DROP_NEW;
    bounded_measure(&settings, &own, "drop new", &how);
    how.overflow = AXO_OVERFLOW_DROP_OLD;
    bounded_measure(&settings, &own, "drop old", &how);
    how.overflow = AXO_OVERFLOW_PARK;
    how.priority = bounded_priority;
    how.kind = AXO_MAILBOX_CONTROL;
    bounded_measure(&settings, &own, "park, control", &how);
    how.kind = AXO_MAILBOX_PRIORITY;
    bounded_measure(&settings, &own, "park, priority", &how);
    return 0;
}
