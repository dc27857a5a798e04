/* kit_puppet.c - the kit's scripted actor, and how it is told things. */
#include "kit_inside.h"

#include <stdio.h>

/* ---- puppets -------------------------------------------------------------------------------- */

static axo_status kit_raise(axo_ctx *ctx, kit_how how, int32_t code)
{
    switch (how) {
    case KIT_BY_THROW:
        axo_throw(ctx, code, "thrown %d", (int)code);
    case KIT_BY_FATAL:
        return axo_fail_fatal(ctx, code, "fatal %d", (int)code);
    case KIT_BY_STATUS:
        return (axo_status)code;
    case KIT_BY_RETURN:
        break;
    }
    return axo_fail(ctx, code, "failed %d", (int)code);
}

/* What each hook does after its mark. */
static axo_status kit_play(axo_ctx *ctx, kit_puppet *self, kit_hook *hook)
{
    uint32_t call = ++hook->calls;
    uint32_t last = hook->fail_last == 0 ? hook->fail_first : hook->fail_last;
    if (hook->gate != NULL && (hook->gate_call == 0 || hook->gate_call == call))
        kit_gate_pass(hook->gate);
    for (uint32_t i = 0; i < KIT_SPAWN_MAX && hook->spawn[i] != NULL; i++) {
        axo_status status = kit_spawn_in(ctx, hook->spawn[i]);
        if (status != AXO_OK) {
            kit_mark(self, "spawnFailed", status);
            return status;
        }
    }
    if (hook->run != NULL) {
        axo_status status = hook->run(ctx, self, hook->arg);
        if (status != AXO_OK)
            return status;
    }
    if (hook->fail_first != 0 && call >= hook->fail_first && call <= last)
        return kit_raise(ctx, hook->how, hook->code);
    return AXO_OK;
}

/* Identifies the instance whose end is recorded. */
typedef struct kit_life {
    kit *k;
    axo_ref ref;
    uint32_t instance;
} kit_life;

static void kit_instance_end(void *arg)
{
    kit_life life = *(kit_life *)arg;
    pthread_mutex_lock(&life.k->lock);
    kit_entry_locked(life.k, life.ref)->freed++;
    pthread_mutex_unlock(&life.k->lock);
    kit_append(life.k, (kit_record){.time_ns = kit_now(),
                                    .word = "freed",
                                    .actor = life.ref,
                                    .arg = life.instance,
                                    .instance = life.instance,
                                    .worker = UINT32_MAX,
                                    .mark = true});
}

static axo_status kit_construct(axo_ctx *ctx, void *state, const void *args)
{
    kit_puppet *self = state;
    kit_script *script = (kit_script *)(uintptr_t)args;
    kit *k = script->k;
    kit_life *life;
    KIT_REQUIRE(k, self->k == NULL && self->value == 0);
    self->k = k;
    self->script = script;
    self->ref = axo_self(ctx);
    pthread_mutex_lock(&k->lock);
    kit_actor_entry *entry = kit_register_locked(k, self->ref, script, script->label);
    self->instance = entry->instances + 1;
    pthread_mutex_unlock(&k->lock);
    life = axo_alloc(ctx, sizeof *life);
    if (life == NULL)
        return AXO_ENOMEM;
    *life = (kit_life){.k = k, .ref = self->ref, .instance = self->instance};
    if (axo_defer(ctx, kit_instance_end, life) != AXO_OK)
        return AXO_ENOMEM;
    pthread_mutex_lock(&k->lock);
    kit_entry_locked(k, self->ref)->instances++;
    pthread_mutex_unlock(&k->lock);
    kit_mark(self, "ctor", 0);
    return kit_play(ctx, self, &script->construct);
}

static axo_status kit_pre_start(axo_ctx *ctx, void *state)
{
    kit_puppet *self = state;
    kit_mark(self, "preStart", 0);
    return kit_play(ctx, self, &self->script->pre_start);
}

static axo_status kit_post_stop(axo_ctx *ctx, void *state)
{
    kit_puppet *self = state;
    kit_mark(self, "postStop", 0);
    return kit_play(ctx, self, &self->script->post_stop);
}

static int64_t kit_value_of(const axo_message *message)
{
    return message->size == sizeof(kit_payload) ? AXO_PAYLOAD(message, kit_payload)->value : -1;
}

static axo_status kit_pre_restart(axo_ctx *ctx, void *state, const axo_failure *failure,
                                  const axo_message *message)
{
    kit_puppet *self = state;
    axo_status status;
    self->message = message;
    self->failure = failure;
    kit_mark(self, "preRestart", failure->code);
    if (message != NULL)
        kit_mark(self, "preRestartWith", kit_value_of(message));
    else
        kit_mark(self, "preRestartNone", 0);
    status = kit_play(ctx, self, &self->script->pre_restart);
    if (status != AXO_OK || self->script->keep_children)
        return status;
    return axo_default_pre_restart(ctx, state, failure, message);
}

static axo_status kit_post_restart(axo_ctx *ctx, void *state, const axo_failure *failure)
{
    kit_puppet *self = state;
    axo_status status;
    self->failure = failure;
    kit_mark(self, "postRestart", failure->code);
    status = kit_play(ctx, self, &self->script->post_restart);
    if (status != AXO_OK || self->script->no_default_start)
        return status;
    return axo_default_post_restart(ctx, state, failure);
}

static axo_directive kit_decide(axo_ctx *ctx, void *state, const axo_failure *failure, void *user)
{
    kit_puppet *self = state;
    kit_script *script = user;
    axo_directive directive = script->directive;
    self->failure = failure;
    kit_mark(self, "decider", (int64_t)axo_sender(ctx).bits);
    kit_mark(self, "cause", failure->code);
    if (kit_play(ctx, self, &script->decider) != AXO_OK)
        axo_throw(ctx, script->decider.code, "decider failed %d", (int)script->decider.code);
    if (script->decide != NULL)
        directive = script->decide(ctx, self, failure);
    else if (directive == 0 && failure->kind == AXO_FAILURE_ORDINARY &&
             failure->code >= KIT_DO_RESUME && failure->code <= KIT_DO_ESCALATE)
        directive = (axo_directive)(failure->code - KIT_DO_RESUME + AXO_RESUME);
    else if (directive == 0)
        directive = axo_decide_default(ctx, state, failure, NULL);
    kit_mark(self, "decided", directive);
    return directive;
}

static axo_status kit_command(axo_ctx *ctx, kit_puppet *self, const axo_message *message,
                              const kit_payload *order)
{
    switch (message->tag) {
    case KIT_PING:
        kit_mark(self, "ping", order->value);
        if (!axo_ref_is_none(message->sender))
            (void)kit_tell_in(ctx, message->sender, KIT_PONG, order->value);
        return AXO_OK;
    case KIT_PONG:
        kit_mark(self, "pong", order->value);
        return AXO_OK;
    case KIT_NOTE:
        kit_mark(self, "note", order->value);
        return AXO_OK;
    case KIT_SET:
        self->value = order->value;
        kit_mark(self, "set", order->value);
        return AXO_OK;
    case KIT_GET:
        kit_mark(self, "get", self->value);
        if (!axo_ref_is_none(message->sender))
            (void)kit_tell_in(ctx, message->sender, KIT_PONG, self->value);
        return AXO_OK;
    case KIT_FAIL:
    case KIT_THROW:
    case KIT_FAIL_FATAL:
    case KIT_STATUS:
        kit_mark(self, "fails", order->value);
        return kit_raise(ctx, (kit_how)(message->tag - KIT_FAIL), (int32_t)order->value);
    case KIT_SPAWN: {
        axo_status status = kit_spawn_in(ctx, order->ptr);
        kit_mark(self, status == AXO_OK ? "spawned" : "spawnFailed", order->value);
        return AXO_OK;
    }
    case KIT_STOP:
        (void)axo_stop(ctx, order->ref);
        return AXO_OK;
    case KIT_STOP_SELF:
        (void)axo_stop_self(ctx);
        return AXO_OK;
    case KIT_WATCH:
        return axo_watch(ctx, order->ref);
    case KIT_UNWATCH:
        return axo_unwatch(ctx, order->ref);
    case KIT_WAIT:
        kit_mark(self, "wait", order->value);
        kit_gate_pass(order->ptr);
        return AXO_OK;
    case KIT_RUN:
        return order->fn(ctx, self, order->ptr);
    case KIT_BARRIER:
        kit_mark(self, "barrier", order->value);
        return AXO_OK;
    default:
        break;
    }
    kit_mark(self, "stash", message->tag);
    return AXO_UNHANDLED;
}

axo_status kit_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    kit_puppet *self = state;
    self->message = message;
    if (message->tag == AXO_TERMINATED) {
        kit_mark(self, "term", (int64_t)AXO_PAYLOAD(message, axo_terminated)->actor.bits);
        kit_mark(self, "known", AXO_PAYLOAD(message, axo_terminated)->existence_known);
        if (AXO_PAYLOAD(message, axo_terminated)->address_terminated != 0)
            kit_mark(self, "lost", (int64_t)AXO_PAYLOAD(message, axo_terminated)->actor.bits);
        return self->script->term_unhandled ? AXO_UNHANDLED : AXO_OK;
    }
    if (message->tag != KIT_BARRIER) {
        axo_status status = kit_play(ctx, self, &self->script->receive);
        if (status != AXO_OK)
            return status;
    }
    if (message->tag < KIT_OTHER && message->size != sizeof(kit_payload)) {
        kit_problem(self->k, "tag %u has %u bytes of payload", message->tag, message->size);
        return AXO_OK;
    }
    return kit_command(ctx, self, message, message->payload);
}

static const axo_class kit_class =
    AXO_CLASS(.name = "puppet", .state_size = sizeof(kit_puppet), .construct = kit_construct,
              .pre_start = kit_pre_start, .receive = kit_receive, .post_stop = kit_post_stop,
              .pre_restart = kit_pre_restart, .post_restart = kit_post_restart);

static const axo_class kit_class_plain =
    AXO_CLASS(.name = "plain puppet", .state_size = sizeof(kit_puppet), .construct = kit_construct,
              .pre_start = kit_pre_start, .receive = kit_receive, .post_stop = kit_post_stop);

kit_script *kit_actor(kit *k, const char *label)
{
    kit_script *script = kit_alloc(k, sizeof *script);
    script->k = k;
    script->label = label;
    script->name = label;
    script->strategy = (axo_strategy)AXO_STRATEGY(.scope = AXO_ONE_FOR_ONE);
    return script;
}

axo_ref kit_ref(kit_script *script)
{
    axo_ref ref;
    pthread_mutex_lock(&script->k->lock);
    ref = script->ref;
    pthread_mutex_unlock(&script->k->lock);
    return ref;
}

axo_props kit_props(kit_script *script)
{
    script->strategy.decider = kit_decide;
    script->strategy.user = script;
    return (axo_props)AXO_PROPS(.cls = script->plain ? &kit_class_plain : &kit_class,
                                .args = script,
                                .name = script->name[0] == 0 ? NULL : script->name,
                                .stash_max = script->stash_max,
                                .lifetime = script->lifetime,
                                .dispatcher = (uint32_t)script->dispatcher,
                                .mailbox = script->mailbox,
                                .strategy =
                                    script->given != NULL ? script->given : &script->strategy);
}

static void kit_register(kit_script *script, axo_ref ref)
{
    pthread_mutex_lock(&script->k->lock);
    (void)kit_register_locked(script->k, ref, script, script->label);
    pthread_mutex_unlock(&script->k->lock);
}

axo_ref kit_spawn(kit *k, kit_script *script)
{
    axo_props props = kit_props(script);
    axo_ref ref;
    axo_status status = axo_system_spawn(k->system, &props, &ref);
    if (status != AXO_OK)
        kit_fail(k, "spawn of %s: %s", script->label, axo_status_name(status));
    kit_register(script, ref);
    return ref;
}

axo_status kit_spawn_system(kit *k, kit_script *script)
{
    axo_props props = kit_props(script);
    axo_ref ref;
    axo_status status;
    props.system_actor = 1;
    status = axo_system_spawn(k->system, &props, &ref);
    if (status == AXO_OK)
        kit_register(script, ref);
    return status;
}

axo_status kit_spawn_in(axo_ctx *ctx, kit_script *script)
{
    axo_props props = kit_props(script);
    axo_ref ref;
    axo_status status = axo_spawn(ctx, &props, &ref);
    if (status == AXO_OK)
        kit_register(script, ref);
    return status;
}
kit_script *kit_top(kit *k, const char *label)
{
    kit_script *script = kit_actor(k, label);
    char pattern[80];
    (void)kit_spawn(k, script);
    (void)snprintf(pattern, sizeof pattern, "%s.preStart", label);
    kit_await(k, pattern);
    return script;
}

kit_script *kit_child(kit *k, kit_script *parent, const char *label)
{
    kit_script *script = kit_actor(k, label);
    char pattern[80];
    (void)kit_spawn_child(k, parent, script, 0);
    (void)snprintf(pattern, sizeof pattern, "%s.preStart", label);
    kit_await(k, pattern);
    return script;
}

/* ---- telling -------------------------------------------------------------------------------- */

static axo_status kit_send(kit *k, kit_script *to, uint32_t tag, const kit_payload *order)
{
    return axo_system_send(k->system, kit_ref(to), tag, order, sizeof *order);
}

axo_status kit_tell(kit *k, kit_script *to, uint32_t tag, int64_t value)
{
    return kit_send(k, to, tag, &(kit_payload){.value = value});
}

axo_status kit_tell_ref(kit *k, kit_script *to, uint32_t tag, axo_ref ref)
{
    return kit_send(k, to, tag, &(kit_payload){.ref = ref});
}

axo_status kit_tell_as(kit *k, kit_script *from, kit_script *to, uint32_t tag, int64_t value)
{
    kit_payload order = {.value = value};
    return axo_system_send_from(k->system, kit_ref(from), kit_ref(to), tag, &order, sizeof order);
}

axo_status kit_run(kit *k, kit_script *to, kit_fn fn, void *arg)
{
    return kit_send(k, to, KIT_RUN, &(kit_payload){.fn = fn, .ptr = arg});
}

axo_status kit_wait_at(kit *k, kit_script *to, kit_gate *gate, int64_t value)
{
    return kit_send(k, to, KIT_WAIT, &(kit_payload){.value = value, .ptr = gate});
}

axo_status kit_spawn_child(kit *k, kit_script *parent, kit_script *child, int64_t value)
{
    return kit_send(k, parent, KIT_SPAWN, &(kit_payload){.value = value, .ptr = child});
}

axo_status kit_tell_in(axo_ctx *ctx, axo_ref to, uint32_t tag, int64_t value)
{
    kit_payload order = {.value = value};
    return axo_send(ctx, to, tag, &order, sizeof order);
}

axo_status kit_run_in(axo_ctx *ctx, axo_ref to, kit_fn fn, void *arg)
{
    kit_payload order = {.fn = fn, .ptr = arg};
    return axo_send(ctx, to, KIT_RUN, &order, sizeof order);
}
