/* consumer.c - a program of a user, in C: everything comes through pkg-config. */
#include <axo/axo.h>
#include <stdio.h>
#include <string.h>

enum { HELLO = 1 };

static axo_status greeter_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)state;
    if (message->tag != HELLO)
        return AXO_UNHANDLED;
    return axo_stop_self(ctx);
}

static const axo_class greeter = AXO_CLASS(.name = "greeter", .receive = greeter_receive);

int main(void)
{
    char linked[32];
    (void)snprintf(linked, sizeof linked, "%d.%d.%d", AXO_VERSION_MAJOR, AXO_VERSION_MINOR,
                   AXO_VERSION_PATCH);
    if (strcmp(axo_version(), linked) != 0)
        return 1;
    const axo_options options = AXO_OPTIONS(.workers = 1);
    axo_system *system = NULL;
    if (axo_system_start(&options, &system) != AXO_OK)
        return 2;
    const axo_props props = AXO_PROPS(.cls = &greeter, .name = "greeter");
    axo_ref ref = axo_ref_none();
    if (axo_system_spawn(system, &props, &ref) != AXO_OK || axo_ref_is_none(ref))
        return 3;
    if (axo_system_send(system, ref, HELLO, NULL, 0) != AXO_OK)
        return 4;
    if (axo_system_stop(system, -1, NULL, 0, NULL) != AXO_OK)
        return 5;
    if (axo_system_destroy(system) != AXO_OK)
        return 6;
    (void)printf("consumer: %s\n", axo_version());
    return 0;
}
