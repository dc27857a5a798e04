/* stash_become.c - a connection that puts requests aside until it is open, and has another receive
 * then. stash_become.expected is what it prints. */
#include <stdio.h>
#include <stdlib.h>

#include <axo/axo.h>

enum { OPENED = 1, CLOSED, WRITE, QUIT };

static void must(axo_status status)
{
    if (status == AXO_OK)
        return;
    fprintf(stderr, "%s\n", axo_status_text(status));
    exit(1);
}

static axo_status open_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)state;
    switch (message->tag) {
    case WRITE:
        printf("open: writes %s\n", (const char *)message->payload);
        return AXO_OK;
    case CLOSED:
        printf("open: connection is lost\n");
        return axo_unbecome(ctx); /* the class's receive again */
    case QUIT:
        printf("open: quits\n");
        return axo_system_shutdown(axo_system_of(ctx));
    default:
        return AXO_UNHANDLED;
    }
}

/* What cannot be done yet is stashed: it is not handled, and comes again after axo_unstash_all. */
static axo_status closed_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)state;
    if (message->tag != OPENED)
        return axo_stash(ctx); /* AXO_EFULL if it has too many: the actor fails then */
    printf("closed: connection is open, %d requests wait\n", (int)axo_stash_count(ctx));
    axo_status status = axo_become(ctx, open_receive);
    return status == AXO_OK ? axo_unstash_all(ctx) : status; /* before what came meanwhile */
}

int main(void)
{
    static const axo_class connection =
        AXO_CLASS(.name = "connection", .receive = closed_receive);
    axo_props props = AXO_PROPS(.cls = &connection, .stash_max = 100);
    axo_system *system;
    axo_ref ref;
    must(axo_system_start(NULL, &system));
    must(axo_system_spawn(system, &props, &ref));
    must(axo_system_send(system, ref, WRITE, "one", sizeof "one"));
    must(axo_system_send(system, ref, WRITE, "two", sizeof "two"));
    must(axo_system_send(system, ref, OPENED, NULL, 0));
    must(axo_system_send(system, ref, WRITE, "three", sizeof "three"));
    must(axo_system_send(system, ref, CLOSED, NULL, 0));
    must(axo_system_send(system, ref, WRITE, "four", sizeof "four"));
    must(axo_system_send(system, ref, QUIT, NULL, 0));
    must(axo_system_send(system, ref, OPENED, NULL, 0));
    must(axo_system_wait(system, -1, NULL));
    must(axo_system_destroy(system));
    return 0;
}
