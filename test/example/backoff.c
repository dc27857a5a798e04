/* backoff.c - restarts that wait, twice: a strategy with a back-off keeps the actor and its
 * mailbox, a back-off supervisor makes a new actor. The time is the test kit's. backoff.expected is
 * what it prints. */
#include <stdio.h>
#include <stdlib.h>

#include <axo/axo.h>

#define S INT64_C(1000000000)

enum { QUERY = 1, QUIT = 2 };

static void must(axo_status status)
{
    if (status == AXO_OK)
        return;
    fprintf(stderr, "%s\n", axo_status_text(status));
    exit(1);
}

/* A connection to a database that comes up at second 20 of its system. */
static axo_status link_start(axo_ctx *ctx, void *state)
{
    int64_t now = axo_now(ctx) - S; /* the kit begins at 1 s */
    (void)state;
    printf("%3d s  link: connects as instance %d\n", (int)(now / S), (int)axo_instance(ctx));
    return AXO_OK;
}

static axo_status link_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    int64_t now = axo_now(ctx) - S;
    (void)state;
    if (message->tag == QUIT)
        return axo_stop_self(ctx);
    if (now < 20 * S)
        return axo_fail(ctx, 1, "no connection");
    printf("%3d s  link: answers query %d\n", (int)(now / S), *AXO_PAYLOAD(message, int));
    return AXO_OK;
}

static const axo_class link_class =
    AXO_CLASS(.name = "link", .pre_start = link_start, .receive = link_receive);
static const axo_props link_props = AXO_PROPS(.cls = &link_class, .name = "link");
/* 3, 6, 12, 24, 48, 60, 60 ... s; the first one comes again after a minute without a failure. */
static const axo_backoff delays =
    AXO_BACKOFF(.min_ns = 3 * S, .max_ns = 60 * S, .reset_after_ns = 60 * S);

static axo_status boss_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    axo_ref link = axo_child(ctx, "link");
    (void)state;
    if (axo_ref_is_none(link) && axo_spawn(ctx, &link_props, &link) != AXO_OK)
        return axo_fail(ctx, 2, "no link");
    return axo_forward(ctx, message, link);
}

/* Each failure costs its query. What is queued behind it waits for the restart. */
static void by_strategy(void)
{
    static const axo_strategy strategy = AXO_STRATEGY(.backoff = &delays);
    static const axo_class boss_class = AXO_CLASS(.name = "boss", .receive = boss_receive);
    axo_props props = AXO_PROPS(.cls = &boss_class, .strategy = &strategy);
    axo_testkit *kit;
    axo_ref boss;
    must(axo_testkit_start(NULL, &kit));
    must(axo_system_spawn(axo_testkit_system(kit), &props, &boss));
    for (int query = 1; query <= 5; query++)
        must(axo_system_send(axo_testkit_system(kit), boss, QUERY, &query, sizeof query));
    axo_testkit_advance(kit, 60 * S);
    must(axo_testkit_stop(kit));
}

/* The supervisor stands in for its child: what it is sent goes to the child of the moment. */
static void by_supervisor(void)
{
    axo_backoff_supervisor settings =
        AXO_BACKOFF_SUPERVISOR(.child = &link_props, .backoff = &delays, .when = AXO_ON_STOP);
    axo_testkit *kit;
    axo_props props;
    axo_ref keeper;
    must(axo_testkit_start(NULL, &kit));
    axo_probe *probe = axo_probe_new(kit, "probe");
    if (probe == NULL)
        must(AXO_ENOMEM);
    must(axo_backoff_supervisor_props(&settings, "keeper", &props));
    must(axo_system_spawn(axo_testkit_system(kit), &props, &keeper));
    for (int i = 0; i < 3; i++) {
        must(axo_probe_send(probe, keeper, QUIT, NULL, 0));
        axo_testkit_advance(kit, 15 * S);
    }
    must(axo_probe_send(probe, keeper, AXO_BACKOFF_GET_COUNT, NULL, 0));
    const axo_message *count = axo_probe_expect(probe, AXO_BACKOFF_COUNT, 0);
    printf("%3d s  main: %d delayed starts\n", (int)(axo_testkit_now(kit) / S) - 1,
           count == NULL ? -1 : (int)*AXO_PAYLOAD(count, uint32_t));
    must(axo_testkit_stop(kit));
}

int main(void)
{
    printf("a strategy with a back-off: the same actor, the same mailbox\n");
    by_strategy();
    printf("a back-off supervisor: a new actor each time\n");
    by_supervisor();
    return 0;
}
