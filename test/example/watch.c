/* watch.c - learning of another actor's end: a watch, a watch with a message of one's own, and a
 * graceful stop that says what the late one is doing. watch.expected is what it prints. */
#include <stdio.h>
#include <stdlib.h>

#include <axo/axo.h>

#define S INT64_C(1000000000)

enum { GO_HOME = 1, NEWS };

static void must(axo_status status)
{
    if (status == AXO_OK)
        return;
    fprintf(stderr, "%s\n", axo_status_text(status));
    exit(1);
}

/* Goes home when told to, unless it is Max. */
static axo_status guest_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    char path[64];
    (void)state;
    if (message->tag != GO_HOME)
        return AXO_UNHANDLED;
    axo_status status = axo_path(ctx, axo_self(ctx), path, sizeof path);
    if (status != AXO_OK)
        return status;
    bool max = path[sizeof "/user/host/" - 1] == 'm';
    return max ? AXO_OK : axo_stop_self(ctx);
}

static axo_ref host_invite(axo_ctx *ctx, const char *name)
{
    static const axo_class guest = AXO_CLASS(.name = "guest", .receive = guest_receive);
    axo_ref ref;
    if (axo_spawn(ctx, &(axo_props)AXO_PROPS(.cls = &guest, .name = name), &ref) != AXO_OK)
        axo_throw(ctx, 1, "no room for %s", name);
    return ref;
}

static axo_status host_start(axo_ctx *ctx, void *state)
{
    axo_ref ada = host_invite(ctx, "ada");
    (void)state;
    axo_status status = axo_watch(ctx, ada); /* one AXO_TERMINATED, whenever it ends */
    return status == AXO_OK ? axo_stop(ctx, ada) : status;
}

/* Ada has ended: Bob is next, and his end comes as a message of our own. */
static axo_status host_lost_ada(axo_ctx *ctx)
{
    axo_ref bob = host_invite(ctx, "bob");
    axo_status status = axo_watch_with(ctx, bob, NEWS, "bob has left", sizeof "bob has left");
    return status == AXO_OK ? axo_poison(ctx, bob) : status; /* behind what he has queued */
}

static axo_status host_ended(axo_ctx *ctx, const axo_message *message)
{
    const axo_verdict *verdict = AXO_PAYLOAD(message, axo_verdict);
    if (verdict->status == AXO_OK) {
        printf("host: guest number %d has left\n", (int)verdict->id);
        return AXO_OK;
    }
    printf("host: guest number %d, %s: %s; it is %s\n", (int)verdict->id, verdict->path,
           axo_status_text(verdict->status), axo_doing_name(verdict->doing));
    return axo_stop_self(ctx);
}

static axo_status host_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    static const axo_farewell farewell =
        AXO_FAREWELL(.kind = AXO_FAREWELL_MESSAGE, .tag = GO_HOME);
    axo_status status;
    (void)state;
    switch (message->tag) {
    case AXO_TERMINATED:
        printf("host: the first guest has left\n");
        return host_lost_ada(ctx);
    case NEWS:
        printf("host: %s\n", (const char *)message->payload);
        status = axo_graceful_stop(ctx, host_invite(ctx, "cleo"), &farewell, 5 * S, 3);
        if (status == AXO_OK)
            status = axo_graceful_stop(ctx, host_invite(ctx, "max"), &farewell, 5 * S, 4);
        return status;
    case AXO_STOP_ENDED:
        return host_ended(ctx, message);
    default:
        return AXO_UNHANDLED;
    }
}

int main(void)
{
    static const axo_class host_class =
        AXO_CLASS(.name = "host", .pre_start = host_start, .receive = host_receive);
    axo_testkit *kit;
    axo_ref host;
    must(axo_testkit_start(NULL, &kit)); /* its clock makes 5 s short */
    axo_props props = AXO_PROPS(.cls = &host_class, .name = "host");
    must(axo_system_spawn(axo_testkit_system(kit), &props, &host));
    axo_testkit_advance(kit, 10 * S);
    must(axo_testkit_stop(kit));
    return 0;
}
