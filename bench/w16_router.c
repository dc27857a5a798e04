/* w16_router.c - what a router costs: one producer sends to N routees itself, then through a router
 * of each logic. W16d direct, W16r round robin, W16x random, W16s smallest mailbox, W16h hash,
 * W16b broadcast. Messages that routees have handled a second, with 256 in flight; a smallest
 * mailbox looks at up to N routees for each. */
#include "bench.h"

enum { ITEM = 1, BACK = 2, START = 3 };

#define ROUTEES_MAX 1024

typedef struct fan {
    uint64_t routees;
    uint64_t messages; /* handled in all */
    uint64_t flight;   /* at most so many at once */
    axo_router_logic logic;
    bool direct;
    axo_ref refs[ROUTEES_MAX];
    uint64_t begin_ns;
    uint64_t end_ns;
} fan;


/* A routee answers each 16th message: the producer's credit. */
typedef struct routee {
    uint64_t since;
} routee;

enum { CREDIT = 16 };

static axo_status routee_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    routee *me = state;
    if (++me->since == CREDIT) {
        me->since = 0;
        (void)axo_send(ctx, message->sender, BACK, NULL, 0);
    }
    return AXO_OK;
}

static const axo_class routee_class =
    AXO_CLASS(.name = "routee", .state_size = sizeof(routee), .receive = routee_receive);

static uint64_t fan_key(const axo_message *message, void *user)
{
    (void)user;
    return *AXO_PAYLOAD(message, uint64_t);
}

/* ---- producer ------------------------------------------------------------------------------ */

typedef struct producer {
    fan *fan;
    axo_ref router;
    uint64_t sent;    /* counted as handled: a broadcast is as many as there are routees */
    uint64_t handled; /* that is known */
} producer;

static axo_status producer_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    memcpy(&((producer *)state)->fan, args, sizeof(fan *));
    return AXO_OK;
}

static axo_status producer_start(axo_ctx *ctx, void *state)
{
    static const axo_mailbox counted = AXO_MAILBOX(.kind = AXO_MAILBOX_FIFO);
    producer *me = state;
    axo_props props = AXO_PROPS(.cls = &routee_class);
    axo_props router;
    if (me->fan->logic == AXO_ROUTE_SMALLEST)
        props.mailbox = &counted;
    for (uint64_t i = 0; i < me->fan->routees; i++)
        bench_check(axo_spawn(ctx, &props, &me->fan->refs[i]), "spawn");
    if (me->fan->direct)
        return AXO_OK;
    axo_router settings = AXO_ROUTER(.logic = me->fan->logic, .routees = me->fan->refs,
                                     .routees_count = (uint32_t)me->fan->routees);
    if (me->fan->logic == AXO_ROUTE_HASH)
        settings.hash_key = fan_key;
    bench_check(axo_router_props(&settings, "router", &router), "props");
    bench_check(axo_spawn(ctx, &router, &me->router), "router");
    return AXO_OK;
}

/* Each routee may hold back what is less than a credit. */
static void producer_send(axo_ctx *ctx, producer *me)
{
    const fan *f = me->fan;
    uint64_t each = f->logic == AXO_ROUTE_BROADCAST ? f->routees : 1;
    uint64_t most = f->flight + CREDIT * f->routees;
    while (me->sent < f->messages + CREDIT * f->routees && me->sent - me->handled < most) {
        uint64_t key = me->sent;
        axo_ref to = f->direct ? f->refs[me->sent % f->routees] : me->router;
        (void)axo_send(ctx, to, ITEM, &key, sizeof key);
        me->sent += each;
    }
}

static axo_status producer_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    producer *me = state;
    if (message->tag == START)
        me->fan->begin_ns = clock_ns();
    else
        me->handled += CREDIT;
    if (me->handled >= me->fan->messages) {
        me->fan->end_ns = clock_ns();
        return axo_system_shutdown(axo_system_of(ctx));
    }
    producer_send(ctx, me);
    return AXO_OK;
}

static const axo_class producer_class =
    AXO_CLASS(.name = "producer", .state_size = sizeof(producer), .construct = producer_construct,
              .pre_start = producer_start, .receive = producer_receive);

/* ---- program ------------------------------------------------------------------------------- */

static void fan_run(const bench_settings *settings, void *arg, bench_sample *sample)
{
    fan *f = arg;
    axo_system *system = bench_system_start(settings);
    axo_props props = AXO_PROPS(.cls = &producer_class, .args = &f, .args_size = sizeof f);
    axo_ref ref;
    bench_check(axo_system_spawn(system, &props, &ref), "spawn");
    bench_check(axo_system_send(system, ref, START, NULL, 0), "send");
    bench_system_end(system, sample);
    sample->figure = (double)f->messages * 1e9 / (double)(f->end_ns - f->begin_ns);
}

static void fan_measure(const bench_settings *settings, const char *name, fan *f)
{
    char options[96];
    (void)printf("%" PRIu64 " routees: ", f->routees);
    (void)snprintf(options, sizeof options,
                   "\"routees\":%" PRIu64 ",\"messages\":%" PRIu64 ",\"in_flight\":%" PRIu64,
                   f->routees, f->messages, f->flight);
    bench_work work = {
        .name = name, .unit = "messages/s", .options = options, .run = fan_run, .arg = f};
    bench_measure(settings, &work);
}

int main(int argc, char **argv)
{
    static const uint64_t sizes[] = {1, 8, 64};
    static const char *const names[] = {"W16r", "W16x", "W16s", "W16h", "W16b"};
    static fan f = {.messages = 1000000, .flight = 256};
    uint64_t only = 0;
    const bench_option options[] = {{"--messages", &f.messages, "handled in all"},
                                    {"--flight", &f.flight, "in flight at most"},
                                    {"--routees", &only, "routees; 0: 1, 8 and 64"}};
    bench_settings settings;
    (void)argc;
    bench_settings_read(&settings, argv, options, 3);
    if (f.messages < 1 || f.flight < 1 || only > ROUTEES_MAX)
        bench_usage(argv[0], options, 3);
    for (uint32_t i = 0; i < (only > 0 ? 1 : 3); i++) {
        f.routees = only > 0 ? only : sizes[i];
        f.direct = true;
        f.logic = AXO_ROUTE_ROUND_ROBIN;
        fan_measure(&settings, "W16d", &f);
        f.direct = false;
        for (uint32_t logic = 0; logic < 5; logic++) {
            f.logic = (axo_router_logic)logic;
            fan_measure(&settings, names[logic], &f);
        }
    }
    return 0;
}
