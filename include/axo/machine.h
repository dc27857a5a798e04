/* machine.h - an actor as a state machine: a table of states, each with its own receive. A whole
 * program is test/example/turnstile.c.
 *
 *     enum { CLOSED, OPEN };
 *     static const axo_machine_state states[] = {
 *         [CLOSED] = {.name = "closed", .receive = closed_receive},
 *         [OPEN] = {.name = "open", .receive = open_receive, .on_entry = open_entry,
 *                   .timeout_ns = 30 * SECOND},
 *     };
 *     static const axo_machine_table door = AXO_MACHINE_TABLE(states, CLOSED);
 *
 *     construct or pre_start:   return axo_machine_start(ctx, &me->machine, &door, me);
 *     receive:                  return axo_machine_receive(ctx, &me->machine, me, message);
 *     in open_receive:          return axo_machine_goto(ctx, &me->machine, CLOSED);
 *
 * The machine lies in the actor's state block, and what the states share is the rest of it. A new
 * instance starts in the initial state again, as its block is new; a Resume keeps the state.
 *
 * axo_machine_goto only says where to go. The transition is made when receive has returned AXO_OK:
 * on_exit of the old state, then on_entry of the new one, which may say goto again. A receive that
 * fails stays where it was. A transition to the state itself leaves it and enters it anew; to stay
 * without that, do not say goto.
 *
 * A state with a timeout gets AXO_STATE_TIMEOUT when it has lasted that long; leaving it takes the
 * timeout back, also one that waits in the mailbox already. The key of its timer (axo_timer_start)
 * is the address of the machine.
 *
 * C++ has no [CLOSED]: there the states are written in the order of their numbers, in C++20 each
 * as AXO_MACHINE_STATE(.name = "closed", .receive = closed_receive). */
#ifndef AXO_MACHINE_H
#define AXO_MACHINE_H

#include <stddef.h>
#include <stdint.h>

#include <axo/actor.h>
#include <axo/init.h>
#include <axo/time.h>

/* The state has lasted as long as its timeout_ns. Sender: oneself; no payload. */
#define AXO_STATE_TIMEOUT (AXO_TAG_SERVICES + 0x50)

/* More transitions than this for one message: on_entry functions chase one another (AXO_ECYCLE). */
#define AXO_MACHINE_CHAIN_MAX 64

/* A state. All but receive may be NULL or 0. */
typedef struct axo_machine_state {
    const char *name;          /* for reports */
    axo_receive_fn receive;
    axo_start_fn on_entry;     /* the state is entered, at the start too */
    axo_stop_fn on_exit;       /* it is left; it must not say goto */
    int64_t timeout_ns;        /* 0: none */
} axo_machine_state;
#define AXO_MACHINE_STATE(...) AXO_VALUE(axo_machine_state, __VA_ARGS__)

/* The states; it must stay valid and unchanged while any machine runs by it. */
typedef struct axo_machine_table {
    size_t size;                     /* sizeof(axo_machine_table), set by AXO_MACHINE_TABLE */
    size_t stride;                   /* sizeof(axo_machine_state): from one state to the next */
    const axo_machine_state *states;
    uint32_t count;
    uint32_t initial;
} axo_machine_table;
#define AXO_MACHINE_TABLE(states, initial)                                                         \
    AXO_VALUE(axo_machine_table, sizeof(axo_machine_table), sizeof(axo_machine_state), states,     \
              AXO_CAST(uint32_t, sizeof(states) / sizeof(states)[0]), initial)
static inline void axo_machine_table_init(axo_machine_table *out)
{
    const axo_machine_table fresh = AXO_INIT(axo_machine_table, );
    *out = fresh;
    out->stride = sizeof(axo_machine_state);
}

/* A machine. Zeroed memory is one that has not been started. The fields are the library's. */
typedef struct axo_machine {
    const axo_machine_table *table;
    uint32_t current;
    uint32_t next;
    uint32_t going;   /* 1: `next` is where to go */
    uint32_t phase;   /* whether goto may be said */
} axo_machine;

AXO_BEGIN_DECLS

/* Starts a machine in its initial state: on_entry, the timeout. Once an instance, in construct or
 * pre_start. `state` is handed to on_entry.
 *   thread    only the callback that was given `ctx`
 *   returns   AXO_OK, AXO_ECONTEXT, AXO_EINVAL (NULL, a malformed table), AXO_EVERSION, AXO_EBUSY
 *             (it runs already), AXO_ENOMEM or AXO_ELIMIT (the timeout), AXO_ECYCLE; else what
 *             on_entry returned
 *   after     on a failure of its own before on_entry the machine is as it was */
AXO_API AXO_NODISCARD axo_status axo_machine_start(axo_ctx *ctx, axo_machine *machine,
                                                   const axo_machine_table *table, void *state);

/* Gives a message to the current state, then makes the transition that it asked for.
 *   returns   what receive returned, AXO_UNHANDLED among it; the failure of on_exit, on_entry or of
 *             the timeout; AXO_ECYCLE; AXO_ENOENT: the machine has not been started */
AXO_API AXO_NODISCARD axo_status axo_machine_receive(axo_ctx *ctx, axo_machine *machine,
                                                     void *state, const axo_message *message);

/* Says where to go when the running receive or on_entry has returned AXO_OK; the last word counts.
 *   returns   AXO_OK; AXO_ENOENT: no such state; AXO_EINVAL: in on_exit, or outside of both;
 *             AXO_ECONTEXT */
AXO_API axo_status axo_machine_goto(axo_ctx *ctx, axo_machine *machine, uint32_t next);

/* Takes a goto back: the machine stays.
 *   returns   as axo_machine_goto */
AXO_API axo_status axo_machine_stay(axo_ctx *ctx, axo_machine *machine);

/* The number of the current state; UINT32_MAX for one that has not been started. */
AXO_API uint32_t axo_machine_current(const axo_machine *machine);

/* Its name; "" if it has none. */
AXO_API const char *axo_machine_name(const axo_machine *machine);

AXO_END_DECLS

#endif
