/* shutdown.c - a server goes down in phases: it stops taking orders, lets the kitchen finish, and
 * closes. shutdown.expected is what it prints. */
#include <stdio.h>

#include <axo/axo.h>

enum { ORDER = 1, LAST_ORDERS };
#define SECOND INT64_C(1000000000)

/* The last guest's order goes to the kitchen before the door is closed. */
static axo_status door_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    const axo_ref *kitchen = state;
    if (message->tag != LAST_ORDERS)
        return AXO_UNHANDLED;
    printf("door: closed\n");
    axo_send(ctx, *kitchen, ORDER, "soup", sizeof "soup");
    axo_reply(ctx, message, LAST_ORDERS, NULL, 0); /* any answer says that it is done */
    return AXO_OK;
}

static axo_status door_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    *(axo_ref *)state = *(const axo_ref *)args;
    return AXO_OK;
}

static axo_status kitchen_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)ctx, (void)state;
    printf("kitchen: cooks %s\n", (const char *)message->payload);
    return AXO_OK;
}

static axo_status kitchen_stop(axo_ctx *ctx, void *state)
{
    (void)ctx, (void)state;
    printf("kitchen: cleaned\n");
    return AXO_OK;
}

static axo_status count_money(void *user)
{
    printf("office: %s\n", (const char *)user); /* on a thread that may block */
    return AXO_OK;
}

static axo_status plan(axo_phases *phases, axo_ref door, axo_ref kitchen)
{
    const axo_phase all[] = {
        AXO_PHASE(.name = "office", .timeout_ns = 1 * SECOND, .after = {"kitchen"}),
        AXO_PHASE(.name = "kitchen", .timeout_ns = 5 * SECOND, .after = {"door"}),
        AXO_PHASE(.name = "door", .timeout_ns = 2 * SECOND, .abort = 1),
    };
    const axo_task tasks[] = {
        AXO_TASK(.phase = "door", .name = "last orders", .kind = AXO_TASK_ASK, .actor = door,
                 .tag = LAST_ORDERS),
        AXO_TASK(.phase = "kitchen", .name = "finish", .kind = AXO_TASK_STOP, .actor = kitchen),
        AXO_TASK(.phase = "office", .name = "money", .kind = AXO_TASK_CALL, .call = count_money,
                 .user = (void *)"money counted"),
    };
    axo_status status = AXO_OK;
    for (int i = 0; i < 3 && status == AXO_OK; i++)
        status = axo_phases_add(phases, &all[i]);
    for (int i = 0; i < 3 && status == AXO_OK; i++)
        status = axo_phases_task(phases, &tasks[i], NULL);
    return status;
}

int main(void)
{
    static const axo_class door_class =
        AXO_CLASS(.name = "door", .state_size = sizeof(axo_ref), .construct = door_construct,
                  .receive = door_receive);
    static const axo_class kitchen_class =
        AXO_CLASS(.name = "kitchen", .receive = kitchen_receive, .post_stop = kitchen_stop);
    axo_system *system;
    axo_phases *phases;
    axo_phases_report report;
    axo_ref door;
    axo_ref kitchen;
    char text[500];
    if (axo_system_start(NULL, &system) != AXO_OK || axo_phases_new(system, &phases) != AXO_OK)
        return 1;
    if (axo_system_spawn(system, &(axo_props)AXO_PROPS(.cls = &kitchen_class), &kitchen) != AXO_OK)
        return 1;
    axo_props props = AXO_PROPS(.cls = &door_class, .args = &kitchen, .args_size = sizeof kitchen);
    if (axo_system_spawn(system, &props, &door) != AXO_OK)
        return 1;
    if (plan(phases, door, kitchen) != AXO_OK)
        return 1;
    axo_phases_print(phases, text, sizeof text);
    printf("%s", text);
    fflush(stdout);
    axo_phases_run(phases, &report);
    printf("main: %s, %d phases, %d late or failed\n", axo_status_text(report.status),
           (int)report.ran, (int)report.troubles);
    if (axo_phases_free(phases) != AXO_OK ||
        axo_system_stop(system, 5 * SECOND, NULL, 0, NULL) != AXO_OK)
        return 1;
    return axo_system_destroy(system) == AXO_OK ? 0 : 1;
}
