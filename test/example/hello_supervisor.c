/* hello_supervisor.c - an actor that fails on a bad message, and the supervisor that restarts it.
 * README quotes it; hello_supervisor.expected is what it prints. */
#include <stdio.h>

#include <axo/axo.h>

enum { GREET = 1, BYE = 2 };

static axo_status greeter_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    int *greeted = state; /* zeroed for each new instance */
    if (message->tag == BYE)
        return axo_system_shutdown(axo_system_of(ctx));
    if (message->size == 0)
        return axo_fail(ctx, 42, "nobody to greet");
    printf("greeter: hello, %s! (number %d)\n", (const char *)message->payload, ++*greeted);
    return AXO_OK;
}

static const axo_class greeter =
    AXO_CLASS(.name = "greeter", .state_size = sizeof(int), .receive = greeter_receive);

static axo_directive decide(axo_ctx *ctx, void *state, const axo_failure *failure, void *user)
{
    (void)ctx, (void)state, (void)user;
    printf("supervisor: child failed with %d, \"%s\": restart\n", failure->code, failure->text);
    return AXO_RESTART;
}

static axo_status supervisor_start(axo_ctx *ctx, void *state)
{
    (void)state;
    axo_ref child;
    axo_status status = axo_spawn(ctx, &(axo_props)AXO_PROPS(.cls = &greeter), &child);
    if (status != AXO_OK)
        return status;
    axo_send(ctx, child, GREET, "Ada", sizeof "Ada");
    axo_send(ctx, child, GREET, "Bob", sizeof "Bob");
    axo_send(ctx, child, GREET, NULL, 0); /* the greeter fails on this one, and on no other */
    axo_send(ctx, child, GREET, "Cleo", sizeof "Cleo");
    axo_send(ctx, child, BYE, NULL, 0);
    return AXO_OK;
}

static axo_status supervisor_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)ctx, (void)state, (void)message;
    return AXO_UNHANDLED;
}

int main(void)
{
    static const axo_strategy strategy = AXO_STRATEGY(.decider = decide);
    static const axo_class supervisor =
        AXO_CLASS(.name = "supervisor", .pre_start = supervisor_start,
                  .receive = supervisor_receive);
    axo_system *system;
    axo_ref ref;
    if (axo_system_start(NULL, &system) != AXO_OK)
        return 1;
    axo_props props = AXO_PROPS(.cls = &supervisor, .name = "boss", .strategy = &strategy);
    if (axo_system_spawn(system, &props, &ref) != AXO_OK)
        return 1;
    if (axo_system_wait(system, -1, NULL) != AXO_OK || axo_system_destroy(system) != AXO_OK)
        return 1;
    printf("main: the system has stopped\n");
    return 0;
}
