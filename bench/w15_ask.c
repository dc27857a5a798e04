/* w15_ask.c - the round trip of one ask, one at a time: from an actor (W15a) and from a thread that
 * is no worker (W15t). The figure is asks a second, the times are those of the round trips. */
#include "bench.h"

enum { GO = 1, QUESTION, ANSWER };
#define FOREVER INT64_C(60000000000)

typedef struct talk {
    uint64_t asks;
    uint64_t begin_ns;
    uint64_t end_ns;
    histogram times;
} talk;

static axo_status server_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)state;
    (void)axo_reply(ctx, message, ANSWER, message->payload, message->size);
    return AXO_OK;
}

static const axo_class server_class = AXO_CLASS(.name = "server", .receive = server_receive);

typedef struct asker {
    talk *talk;
    axo_ref server;
    uint64_t left;
    uint64_t since_ns;
} asker;

static axo_status asker_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    *(asker *)state = *(const asker *)args;
    return AXO_OK;
}

static axo_status asker_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    asker *me = state;
    uint64_t now = clock_ns();
    if (message->tag == GO)
        me->talk->begin_ns = now;
    else if (message->tag == AXO_ASK_ANSWER)
        histogram_record(&me->talk->times, now - me->since_ns);
    else
        return axo_fail(ctx, 1, "an ask was not answered");
    if (me->left-- == 0) {
        me->talk->end_ns = now;
        return axo_system_shutdown(axo_system_of(ctx));
    }
    me->since_ns = now;
    return axo_ask(ctx, me->server, QUESTION, &now, sizeof now, FOREVER, me->left);
}

static const axo_class asker_class =
    AXO_CLASS(.name = "asker", .state_size = sizeof(asker), .construct = asker_construct,
              .receive = asker_receive);

static void talk_figure(const talk *shared, bench_sample *sample)
{
    sample->figure = (double)shared->asks * 1e9 / (double)(shared->end_ns - shared->begin_ns);
}

static axo_ref talk_server(axo_system *system)
{
    axo_props props = AXO_PROPS(.cls = &server_class);
    axo_ref server;
    bench_check(axo_system_spawn(system, &props, &server), "spawn");
    return server;
}

static void actor_run(const bench_settings *settings, void *arg, bench_sample *sample)
{
    talk *shared = arg;
    axo_system *system = bench_system_start(settings);
    asker recipe = {.talk = shared, .server = talk_server(system), .left = shared->asks};
    axo_props props =
        AXO_PROPS(.cls = &asker_class, .args = &recipe, .args_size = sizeof recipe);
    axo_ref ref;
    bench_check(axo_system_spawn(system, &props, &ref), "spawn");
    bench_check(axo_system_send(system, ref, GO, NULL, 0), "send");
    bench_system_end(system, sample);
    talk_figure(shared, sample);
}

static void thread_run(const bench_settings *settings, void *arg, bench_sample *sample)
{
    talk *shared = arg;
    axo_system *system = bench_system_start(settings);
    axo_ref server = talk_server(system);
    shared->begin_ns = clock_ns();
    for (uint64_t i = 0; i < shared->asks; i++) {
        axo_asked asked;
        uint64_t since = clock_ns();
        bench_check(axo_system_ask(system, server, QUESTION, &i, sizeof i, FOREVER, &asked),
                    "ask");
        histogram_record(&shared->times, clock_ns() - since);
        axo_asked_free(system, &asked);
    }
    shared->end_ns = clock_ns();
    bench_check(axo_system_shutdown(system), "shutdown");
    bench_system_end(system, sample);
    talk_figure(shared, sample);
}

static void talk_measure(const bench_settings *settings, bench_work *work, talk *shared)
{
    char options[64];
    (void)snprintf(options, sizeof options, "\"asks\":%" PRIu64, shared->asks);
    work->unit = "asks/s";
    work->options = options;
    work->arg = shared;
    work->times[0] = (bench_times){.name = "", .all = &shared->times};
    bench_measure(settings, work);
}

int main(int argc, char **argv)
{
    static talk shared;
    uint64_t actors = 500000;
    uint64_t threads = 50000;
    const bench_option options[] = {{"--actor-asks", &actors, "asks a run from the actor"},
                                    {"--thread-asks", &threads, "asks a run from the thread"}};
    bench_settings settings;
    (void)argc;
    bench_settings_read(&settings, argv, options, 2);
    shared.asks = actors;
    talk_measure(&settings, &(bench_work){.name = "W15a", .run = actor_run}, &shared);
    shared.asks = threads;
    talk_measure(&settings, &(bench_work){.name = "W15t", .run = thread_run}, &shared);
    return 0;
}
