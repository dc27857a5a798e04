/* machine.c - an actor as a state machine: the transitions.
 *
 * A machine is a table of states and a struct in the actor's own state; the library keeps nothing.
 * axo_machine_goto only notes the next state. The transition is made when the callback has returned
 * AXO_OK: exit hook, timer of the old state stopped, timer of the new one started, entry hook,
 * which may say goto again. So no hook runs inside another, and a failed receive changes no state.
 */
#include <axo/machine.h>

#include <stdbool.h>
#include <string.h>

#include "base/border.h"
#include "pattern/context.h"
#include "pattern/given.h"
#include "pattern/own.h"

/* The phase of a machine: IDLE outside of its functions; OPEN while receive or an entry hook runs
 * and goto is allowed; SHUT during an exit hook, when the next state is decided already. */
enum { MACHINE_IDLE = 0, MACHINE_OPEN = 1, MACHINE_SHUT = 2 };

/* A copy of a state of the table. States of a newer or older header have another size: the table's
 * stride finds them, and missing members are zero. */
static axo_machine_state machine_state(const axo_machine_table *table, uint32_t index)
{
    axo_machine_state state;
    memset(&state, 0, sizeof state);
    memcpy(&state, (const char *)table->states + index * table->stride,
           table->stride < sizeof state ? table->stride : sizeof state);
    return state;
}

/* The key of the machine's timer: its address, so that an actor with two machines has two
 * timers. */
static uint64_t machine_key(const axo_machine *machine)
{
    return (uint64_t)(uintptr_t)machine;
}

/* Whether a state of a newer header has a member set that this library does not know. */
static bool machine_says_more(const axo_machine_table *table, uint32_t index)
{
    const char *at = (const char *)table->states + index * table->stride;
    for (size_t i = sizeof(axo_machine_state); i < table->stride; i++) {
        if (at[i] != 0)
            return true;
    }
    return false;
}

static axo_status machine_table_check(const axo_machine_table *table)
{
    axo_machine_table given;
    axo_status status = axo__given_read(table, &given, sizeof given);
    if (status != AXO_OK)
        return status;
    if (table->size < sizeof given)
        return AXO_EVERSION; /* the program's own table is used later: it must be whole */
    if (table->states == NULL || table->initial >= table->count ||
        table->stride < offsetof(axo_machine_state, on_entry))
        return AXO_EINVAL;
    for (uint32_t i = 0; i < table->count; i++) {
        axo_machine_state state = machine_state(table, i);
        if (state.receive == NULL || state.timeout_ns < 0 || state.timeout_ns > AXO_DELAY_MAX)
            return AXO_EINVAL;
        if (machine_says_more(table, i))
            return AXO_EVERSION;
    }
    return AXO_OK;
}

/* ---- transitions ---------------------------------------------------------------------------- */

/* Leaves the current state. The exit hook may fail; then the machine stays where it is, and the
 * actor fails. */
static axo_status machine_leave(axo_ctx *ctx, axo_machine *machine, void *state)
{
    axo_machine_state old = machine_state(machine->table, machine->current);
    axo_status status = AXO_OK;
    machine->going = 0;
    if (old.on_exit != NULL) {
        machine->phase = MACHINE_SHUT;
        AXO_CALLBACK_BORDER();
        status = old.on_exit(ctx, state);
        machine->phase = MACHINE_OPEN;
    }
    if (status == AXO_OK && old.timeout_ns > 0)
        (void)axo_timer_stop(ctx, machine_key(machine)); /* no timer is there if it has fired */
    return status;
}

/* Starts the current state's timer, if the state has one. */
static axo_status machine_arm(axo_ctx *ctx, const axo_machine *machine)
{
    int64_t timeout_ns = machine_state(machine->table, machine->current).timeout_ns;
    if (timeout_ns == 0)
        return AXO_OK;
    return axo_timer_start(ctx, machine_key(machine), AXO_TIMER_ONCE, timeout_ns, 0,
                           AXO_STATE_TIMEOUT, NULL, 0);
}

/* Whether the message is the tick of the current state's timer: a tick of a state that has been
 * left is no message to this one. */
static bool machine_is_timeout(axo_ctx *ctx, const axo_machine *machine,
                               const axo_message *message)
{
    return machine_state(machine->table, machine->current).timeout_ns > 0 &&
           axo__own_tick(ctx, message, machine_key(machine));
}

static axo_status machine_entry(axo_ctx *ctx, const axo_machine *machine, void *state)
{
    axo_machine_state now = machine_state(machine->table, machine->current);
    AXO_CALLBACK_BORDER();
    return now.on_entry != NULL ? now.on_entry(ctx, state) : AXO_OK;
}

/* Makes transitions until no callback says goto any more. A chain longer than AXO_MACHINE_CHAIN_MAX
 * is a cycle of entry hooks: the actor fails instead of running for ever. */
static axo_status machine_settle(axo_ctx *ctx, axo_machine *machine, void *state)
{
    axo_status status = AXO_OK;
    for (uint32_t made = 0; machine->going && status == AXO_OK; made++) {
        uint32_t next = machine->next;
        if (made == AXO_MACHINE_CHAIN_MAX)
            return AXO_ECYCLE;
        status = machine_leave(ctx, machine, state);
        if (status != AXO_OK)
            break;
        machine->current = next;
        status = machine_arm(ctx, machine);
        if (status == AXO_OK)
            status = machine_entry(ctx, machine, state);
    }
    return status;
}

/* Every way out of a machine's function ends here, so goto is refused between messages. */
static axo_status machine_end(axo_machine *machine, axo_status status)
{
    machine->phase = MACHINE_IDLE;
    machine->going = 0;
    return status;
}

/* ---- the door ------------------------------------------------------------------------------- */

axo_status axo_machine_start(axo_ctx *ctx, axo_machine *machine, const axo_machine_table *table,
                             void *state)
{
    axo_status status = axo__context_check(ctx);
    if (status != AXO_OK)
        return status;
    if (machine == NULL)
        return AXO_EINVAL;
    status = machine_table_check(table);
    if (status != AXO_OK)
        return status;
    /* Zero is the state of a machine that has not started: a second start would leave a timer
     * behind. */
    if (machine->table != NULL)
        return AXO_EBUSY;
    /* The timer is started before the entry hook: if it cannot be, the machine is as it was, and
     * the hook has not run. */
    *machine = (axo_machine){.table = table, .current = table->initial, .phase = MACHINE_OPEN};
    status = machine_arm(ctx, machine);
    if (status != AXO_OK) {
        *machine = (axo_machine){.table = NULL};
        return status;
    }
    status = machine_entry(ctx, machine, state);
    if (status == AXO_OK)
        status = machine_settle(ctx, machine, state);
    return machine_end(machine, status);
}

axo_status axo_machine_receive(axo_ctx *ctx, axo_machine *machine, void *state,
                               const axo_message *message)
{
    axo_status status = axo__context_check(ctx);
    if (status != AXO_OK)
        return status;
    if (machine == NULL || message == NULL)
        return AXO_EINVAL;
    if (machine->table == NULL)
        return AXO_ENOENT;
    /* A forged or late timeout is unhandled, and the current state does not see it. */
    if (message->tag == AXO_STATE_TIMEOUT && !machine_is_timeout(ctx, machine, message))
        return AXO_UNHANDLED;
    machine->going = 0; /* a throw in the last callback may have left `going` set */
    machine->phase = MACHINE_OPEN;
    AXO_CALLBACK_BORDER();
    status = machine_state(machine->table, machine->current).receive(ctx, state, message);
    if (status == AXO_OK)
        status = machine_settle(ctx, machine, state);
    return machine_end(machine, status);
}

/* Whether goto or stay may be called here and now. */
static axo_status machine_may_go(axo_ctx *ctx, const axo_machine *machine)
{
    axo_status status = axo__context_check(ctx);
    if (status != AXO_OK)
        return status;
    return machine == NULL || machine->phase != MACHINE_OPEN ? AXO_EINVAL : AXO_OK;
}

axo_status axo_machine_goto(axo_ctx *ctx, axo_machine *machine, uint32_t next)
{
    axo_status status = machine_may_go(ctx, machine);
    if (status != AXO_OK)
        return status;
    if (next >= machine->table->count)
        return AXO_ENOENT;
    /* The last goto of a callback counts; the transition waits for the callback's end. */
    machine->next = next;
    machine->going = 1;
    return AXO_OK;
}

axo_status axo_machine_stay(axo_ctx *ctx, axo_machine *machine)
{
    axo_status status = machine_may_go(ctx, machine);
    if (status == AXO_OK)
        machine->going = 0;
    return status;
}

uint32_t axo_machine_current(const axo_machine *machine)
{
    return machine != NULL && machine->table != NULL ? machine->current : UINT32_MAX;
}

const char *axo_machine_name(const axo_machine *machine)
{
    if (machine == NULL || machine->table == NULL)
        return "";
    const char *name = machine_state(machine->table, machine->current).name;
    return name != NULL ? name : "";
}
