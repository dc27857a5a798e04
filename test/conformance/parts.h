/* parts.h - pieces of test that several conformance files run inside puppets. */
#ifndef AXO_TEST_PARTS_H
#define AXO_TEST_PARTS_H

#include "support/kit.h"

/* For tests in which others go on while one actor waits at a gate. */
#define PART_TEST_MANY(id, function)                                                               \
    KIT_TEST_ONE(id, function, 2, "workers"), KIT_TEST_ONE(id, function, 4, "workers")

/* Marks begin, waits at the gate `arg`, marks end. */
static inline axo_status part_hold(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    kit_mark(self, "begin", 0);
    kit_gate_pass(arg);
    kit_mark(self, "end", 0);
    return AXO_OK;
}

/* A failure that waits at a gate: how an actor fails "in flight". */
typedef struct part_blow {
    kit_gate *gate;
    int32_t code;
} part_blow;

static inline part_blow *part_blow_new(kit *k, int32_t code)
{
    part_blow *blow = kit_alloc(k, sizeof *blow);
    *blow = (part_blow){.gate = kit_gate_new(k), .code = code};
    return blow;
}

static inline axo_status part_hold_fail(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    const part_blow *blow = arg;
    kit_mark(self, "begin", 0);
    kit_gate_pass(blow->gate);
    kit_mark(self, "fails", blow->code);
    return axo_fail(ctx, blow->code, "in flight %d", (int)blow->code);
}

/* Leaves `actor` waiting inside a message under which it will fail; its gate. */
static inline kit_gate *part_in_flight(kit *k, kit_script *actor, int32_t code)
{
    part_blow *blow = part_blow_new(k, code);
    (void)kit_run(k, actor, part_hold_fail, blow);
    kit_gate_arrived(blow->gate, 1);
    return blow->gate;
}

/* Sends itself again until something is recorded, then runs `fn`. What is queued for the actor
 * after that record was made comes after `fn`. */
typedef struct part_until {
    const char *pattern;
    kit_fn fn;
    void *arg;
} part_until;

static inline axo_status part_run_until(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    const part_until *until = arg;
    if (kit_count(self->k, until->pattern) == 0) {
        KIT_REQUIRE(self->k, kit_run_in(ctx, self->ref, part_run_until, arg) == AXO_OK);
        return AXO_OK;
    }
    return until->fn(ctx, self, until->arg);
}

static inline void part_tell_until(kit *k, kit_script *to, const char *pattern, kit_fn fn,
                                   void *arg)
{
    part_until *until = kit_alloc(k, sizeof *until);
    *until = (part_until){.pattern = pattern, .fn = fn, .arg = arg};
    (void)kit_run(k, to, part_run_until, until);
}

/* Hooks: stop oneself; spawn the script `arg` and mark the status; mark the count of children. */
static inline axo_status part_stop_self(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    KIT_REQUIRE(self->k, axo_stop_self(ctx) == AXO_OK);
    return AXO_OK;
}

static inline axo_status part_spawn(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    kit_mark(self, "spawnStatus", kit_spawn_in(ctx, arg));
    return AXO_OK;
}

/* Spawns the script `arg` in the second instance only. */
static inline axo_status part_spawn_in_second(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    return self->instance == 2 ? kit_spawn_in(ctx, arg) : AXO_OK;
}

/* Spawns a child whose start fails, then fails: on any number of workers the child's report meets
 * a parent that is suspended. */
static inline axo_status part_spawn_fail_as(axo_ctx *ctx, kit_puppet *self, kit_script *child,
                                            int32_t code)
{
    KIT_REQUIRE(self->k, kit_spawn_in(ctx, child) == AXO_OK);
    kit_mark(self, "fails", code);
    return axo_fail(ctx, code, "after the spawn");
}

static inline axo_status part_spawn_fail(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    return part_spawn_fail_as(ctx, self, arg, 7);
}

static inline axo_status part_stop_then_fail(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    KIT_REQUIRE(self->k, axo_stop_self(ctx) == AXO_OK);
    kit_mark(self, "fails", 7);
    return axo_fail(ctx, 7, "stopped and failed");
}

static inline axo_status part_count_children(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    kit_mark(self, "children", axo_child_count(ctx));
    return AXO_OK;
}

/* Stops the actor of the script `arg`; marks that it has. */
static inline axo_status part_stop(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    KIT_REQUIRE(self->k, axo_stop(ctx, kit_ref(arg)) == AXO_OK);
    kit_mark(self, "stops", 0);
    return AXO_OK;
}

static inline axo_status part_watch(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    KIT_REQUIRE(self->k, axo_watch(ctx, kit_ref(arg)) == AXO_OK);
    kit_mark(self, "watches", 0);
    return AXO_OK;
}

static inline axo_status part_unwatch(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    KIT_REQUIRE(self->k, axo_unwatch(ctx, kit_ref(arg)) == AXO_OK);
    kit_mark(self, "unwatches", 0);
    return AXO_OK;
}

/* A behaviour on top of the puppet's: `arg` is its receive function in a part_behaviour. */
typedef struct part_behaviour {
    axo_receive_fn receive;
} part_behaviour;

static inline axo_status part_become(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    const part_behaviour *behaviour = arg;
    KIT_REQUIRE(self->k, axo_become(ctx, behaviour->receive) == AXO_OK);
    return AXO_OK;
}

static inline void part_tell_become(kit *k, kit_script *to, axo_receive_fn receive)
{
    part_behaviour *behaviour = kit_alloc(k, sizeof *behaviour);
    behaviour->receive = receive;
    (void)kit_run(k, to, part_become, behaviour);
}

/* A decider that marks what it is told, then answers the script's directive, else the default. */
static inline axo_directive part_decide(axo_ctx *ctx, kit_puppet *self, const axo_failure *failure)
{
    kit_mark(self, "kind", failure->kind);
    kit_mark(self, "site", failure->site);
    kit_mark(self, "origin", (int64_t)failure->actor.bits);
    kit_mark(self, "about", (int64_t)failure->about.bits);
    if (self->script->directive != 0)
        return self->script->directive;
    return axo_decide_default(ctx, self, failure, NULL);
}

/* Spawns a puppet from the test and waits until it has started. */
static inline kit_script *part_start(kit *k, const char *label)
{
    kit_script *script = kit_actor(k, label);
    (void)kit_spawn(k, script);
    return script;
}

/* The test's wish, with everything that it implies settled before the next line. */
static inline void part_watched_by(kit *k, kit_script *target, kit_script *watcher)
{
    (void)kit_tell_ref(k, watcher, KIT_WATCH, kit_ref(target));
    kit_settle(k);
}

#endif
