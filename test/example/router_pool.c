/* router_pool.c - a pool of three cashiers behind a router: turns, a failure that restarts them
 * all, one more, closing time. router_pool.expected is what it prints. */
#include <stdio.h>

#include <axo/axo.h>

enum { PAY = 1, PAID = 2, ROB = 3 };

/* ---- a cashier: one of the pool ------------------------------------------------------------ */

typedef struct cashier {
    int served; /* by this instance */
} cashier;

static axo_status cashier_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    cashier *me = state;
    if (message->tag == ROB)
        return axo_fail(ctx, 13, "hands up");
    me->served++;
    return axo_reply(ctx, message, PAID, &me->served, sizeof me->served);
}

static const axo_class cashier_class =
    AXO_CLASS(.name = "cashier", .state_size = sizeof(cashier), .receive = cashier_receive);

/* ---- the shop ------------------------------------------------------------------------------ */

/* A failure of a routee is one of the pool, by default; the parent of the router decides. */
static axo_directive decide(axo_ctx *ctx, void *state, const axo_failure *failure, void *user)
{
    (void)ctx, (void)state, (void)user;
    printf("  a cashier failed, \"%s\": restart the pool\n", failure->text);
    return AXO_RESTART;
}

/* A system that runs when main says so, and not by itself: the order is always the same. */
static axo_testkit *kit;
static axo_probe *customer;
static axo_ref pool;

/* A letter for each cashier, in the order in which they are seen. */
static char letter(axo_ref ref)
{
    static axo_ref seen[26];
    char c = 0;
    while (c < 25 && !axo_ref_is_none(seen[(int)c]) && !axo_ref_equal(seen[(int)c], ref))
        c++;
    seen[(int)c] = ref;
    return (char)('A' + c);
}

static void pay(int times)
{
    for (int i = 0; i < times; i++) {
        (void)axo_probe_send(customer, pool, PAY, NULL, 0);
        const axo_message *paid = axo_probe_expect(customer, PAID, 0);
        if (paid == NULL) {
            printf("  %s\n", axo_testkit_why(kit));
            return;
        }
        printf("  cashier %c: customer %d\n", letter(paid->sender), *AXO_PAYLOAD(paid, int));
    }
}

int main(void)
{
    static const axo_strategy strategy = AXO_STRATEGY(.decider = decide);
    static const axo_props child = AXO_PROPS(.cls = &cashier_class);
    axo_options options = AXO_OPTIONS(.user_strategy = &strategy);
    axo_router settings = AXO_ROUTER(.pool = 3, .child = &child);
    axo_props props;
    int32_t one = 1;
    if (axo_testkit_start(&options, &kit) != AXO_OK)
        return 1;
    axo_system *system = axo_testkit_system(kit);
    customer = axo_probe_new(kit, "customer");
    if (axo_router_props(&settings, "cashiers", &props) != AXO_OK ||
        axo_system_spawn(system, &props, &pool) != AXO_OK)
        return 1;
    printf("three cashiers take turns\n");
    pay(4);
    printf("one is robbed; all start anew, and nobody is lost\n");
    (void)axo_probe_send(customer, pool, ROB, NULL, 0);
    (void)axo_testkit_run(kit);
    pay(3);
    printf("one more\n");
    (void)axo_system_send(system, pool, AXO_ROUTER_ADJUST, &one, sizeof one);
    pay(4);
    printf("closing time: a pill for each, and the router ends with the last\n");
    (void)axo_probe_watch(customer, pool);
    (void)axo_system_router_broadcast(system, pool, AXO_TIMER_POISON, NULL, 0);
    printf("  %s\n", axo_probe_expect_terminated(customer, pool, 0) ? "closed" : "still open");
    return axo_testkit_stop(kit) == AXO_OK ? 0 : 1;
}
