/* turnstile.c - an actor as a state machine: a coin unlocks it, a push or a while locks it again.
 * turnstile.expected is what it prints. */
#include <stdio.h>

#include <axo/axo.h>

enum { COIN = 1, PUSH };
enum { LOCKED, UNLOCKED };
#define MS INT64_C(1000000)

typedef struct turnstile {
    axo_machine machine;
    int coins;
} turnstile;

static axo_status locked_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    turnstile *me = state;
    if (message->tag == COIN) {
        me->coins++;
        return axo_machine_goto(ctx, &me->machine, UNLOCKED);
    }
    if (message->tag == PUSH)
        printf("locked: no way\n");
    return AXO_OK;
}

static axo_status unlocked_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    turnstile *me = state;
    if (message->tag == COIN) {
        printf("unlocked: thank you for coin %d\n", ++me->coins);
        return AXO_OK;
    }
    printf(message->tag == AXO_STATE_TIMEOUT ? "unlocked: nobody came\n" : "unlocked: go\n");
    axo_status status = axo_machine_goto(ctx, &me->machine, LOCKED); /* when we return AXO_OK */
    if (status != AXO_OK || message->tag != AXO_STATE_TIMEOUT)
        return status;
    return axo_system_shutdown(axo_system_of(ctx));
}

static axo_status unlocked_entry(axo_ctx *ctx, void *state)
{
    (void)ctx;
    printf("unlock, %d so far\n", ((turnstile *)state)->coins);
    return AXO_OK;
}

static axo_status unlocked_exit(axo_ctx *ctx, void *state)
{
    (void)ctx, (void)state;
    printf("lock\n");
    return AXO_OK;
}

static const axo_machine_state states[] = {
    [LOCKED] = {.name = "locked", .receive = locked_receive},
    [UNLOCKED] = {.name = "unlocked", .receive = unlocked_receive, .on_entry = unlocked_entry,
                  .on_exit = unlocked_exit, .timeout_ns = 500 * MS},
};
static const axo_machine_table table = AXO_MACHINE_TABLE(states, LOCKED);

static axo_status turnstile_start(axo_ctx *ctx, void *state)
{
    return axo_machine_start(ctx, &((turnstile *)state)->machine, &table, state);
}

static axo_status turnstile_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    return axo_machine_receive(ctx, &((turnstile *)state)->machine, state, message);
}

int main(void)
{
    static const axo_class turnstile_class =
        AXO_CLASS(.name = "turnstile", .state_size = sizeof(turnstile),
                  .pre_start = turnstile_start, .receive = turnstile_receive);
    static const uint32_t done_to_it[] = {PUSH, COIN, COIN, PUSH, PUSH, COIN};
    axo_system *system;
    axo_ref gate;
    if (axo_system_start(NULL, &system) != AXO_OK)
        return 1;
    if (axo_system_spawn(system, &(axo_props)AXO_PROPS(.cls = &turnstile_class), &gate) != AXO_OK)
        return 1;
    for (int i = 0; i < 6; i++) {
        if (axo_system_send(system, gate, done_to_it[i], NULL, 0) != AXO_OK)
            return 1;
    }
    if (axo_system_wait(system, -1, NULL) != AXO_OK || axo_system_destroy(system) != AXO_OK)
        return 1;
    return 0;
}
