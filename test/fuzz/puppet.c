/* puppet.c - the actors of fuzz_api. */
#include "fuzz/calls.h"

#define PUPPET_MAGIC UINT64_C(0x7075707065740001)

typedef struct puppet {
    uint64_t magic;
    uint32_t instance;
    bool started;
    bool stopped;
    bool machine;
    axo_machine states;
} puppet;

static puppet_frame puppet_enter(axo_ctx *ctx, const axo_message *message)
{
    puppet_frame outer = {.ctx = g.ctx, .message = g.message};
    fuzz_require(ctx != NULL && axo_system_of(ctx) == g.system);
    g.ctx = ctx;
    g.message = message;
    return outer;
}

static void puppet_leave(puppet_frame outer)
{
    g.stale = g.ctx;
    g.ctx = outer.ctx;
    g.message = outer.message;
}

/* How a callback ends: mostly well. */
static axo_status puppet_result(axo_ctx *ctx, puppet_frame outer)
{
    uint8_t how = api_u8();
    int32_t code = (int32_t)how - 128;
    if (how != 3 && how != 4)
        puppet_leave(outer);
    switch (how) {
    case 1:
        return axo_fail(ctx, code, "failed %d", code);
    case 2:
        return axo_fail_fatal(ctx, code, "fatal %s", "");
    case 3:
        puppet_leave((puppet_frame){.ctx = NULL}); /* the frames above are left too */
        axo_throw(ctx, code, "thrown %0200d", code);
    case 4:
        puppet_leave((puppet_frame){.ctx = NULL});
        axo_throw_fatal(ctx, code, "%s", "thrown");
    case 5:
    case 6:
        return AXO_UNHANDLED;
    case 7:
        return (axo_status) - (int)(fuzz_u8(&g.in) % 24);
    case 8:
        (void)axo_fail(ctx, code, "recorded only");
        return AXO_OK;
    case 9:
        return (axo_status)code;
    default:
        return how > 240 ? axo_fail(ctx, how, "%s", "") : AXO_OK;
    }
}

static axo_status puppet_construct(axo_ctx *ctx, void *state, const void *args)
{
    puppet *me = state;
    puppet_frame outer = puppet_enter(ctx, NULL);
    fuzz_require(me->magic == 0 && me->instance == 0 && !me->started);
    me->magic = PUPPET_MAGIC;
    me->instance = axo_instance(ctx);
    fuzz_require(me->instance > 0 && args != NULL);
    fuzz_require(memcmp(args, "args", 4) == 0);
    calls_some();
    return puppet_result(ctx, outer);
}

static void puppet_check(const axo_ctx *ctx, const puppet *me)
{
    fuzz_require(me->magic == PUPPET_MAGIC);
    fuzz_require(me->instance == axo_instance((axo_ctx *)(uintptr_t)ctx));
    fuzz_require(!me->stopped);
}

static axo_status puppet_entry(axo_ctx *ctx, void *state)
{
    puppet_frame outer = puppet_enter(ctx, g.message);
    calls_some();
    return puppet_result(ctx, outer);
}

static axo_status puppet_state_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    puppet_frame outer = puppet_enter(ctx, message);
    calls_some();
    return puppet_result(ctx, outer);
}

static const axo_machine_state puppet_states[] = {
    {.name = "one", .receive = puppet_state_receive, .on_entry = puppet_entry},
    {.name = "two", .receive = puppet_state_receive, .on_exit = puppet_entry, .timeout_ns = 70000},
    {.receive = puppet_state_receive, .on_entry = puppet_entry, .timeout_ns = 1},
};

static const axo_machine_table puppet_table = AXO_MACHINE_TABLE(puppet_states, 0);

static axo_status puppet_pre_start(axo_ctx *ctx, void *state)
{
    puppet *me = state;
    puppet_frame outer = puppet_enter(ctx, NULL);
    puppet_check(ctx, me);
    fuzz_require(!me->started);
    me->started = true;
    calls_some();
    if (api_below(8) == 1) {
        axo_status status = axo_machine_start(ctx, &me->states, &puppet_table, state);
        me->machine = axo_machine_current(&me->states) != UINT32_MAX;
        if (status != AXO_OK) {
            puppet_leave(outer);
            return status;
        }
    }
    return puppet_result(ctx, outer);
}

axo_status puppet_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    puppet *me = state;
    puppet_frame outer = puppet_enter(ctx, message);
    puppet_check(ctx, me);
    api_check_payload(message);
    fuzz_require(message->tag < AXO_TAG_RESERVED || message->tag == AXO_TERMINATED ||
                 message->tag == AXO_RECEIVE_TIMEOUT || message->tag == AXO_EVENT ||
                 message->tag == AXO_TERMINATION_HOOK);
    if (message->tag == AXO_TERMINATION_HOOK) {
        g.fail_count = 0; /* the system waits for the answer */
        fuzz_require(axo_termination_hook_done(ctx) == AXO_OK);
        puppet_leave(outer);
        return AXO_OK;
    }
    if (message->tag == AXO_TERMINATED) {
        axo_actor_info info = AXO_ACTOR_INFO(.actor = {.bits = 0});
        fuzz_require(message->size == sizeof(axo_terminated));
        fuzz_require(axo_inspect(ctx, AXO_PAYLOAD(message, axo_terminated)->actor, axo_ref_none(),
                                 &info) == AXO_EGONE);
    }
    if (me->machine && api_below(2) == 1) {
        axo_status status = axo_machine_receive(ctx, &me->states, state, message);
        puppet_leave(outer);
        return status;
    }
    calls_some();
    return puppet_result(ctx, outer);
}

static axo_status puppet_post_stop(axo_ctx *ctx, void *state)
{
    puppet *me = state;
    puppet_frame outer = puppet_enter(ctx, NULL);
    puppet_check(ctx, me);
    me->stopped = true;
    calls_some();
    return puppet_result(ctx, outer);
}

static axo_status puppet_pre_restart(axo_ctx *ctx, void *state, const axo_failure *failure,
                                     const axo_message *message)
{
    puppet *me = state;
    puppet_frame outer = puppet_enter(ctx, message);
    puppet_check(ctx, me);
    fuzz_require(failure != NULL && failure->kind != AXO_FAILURE_NONE && failure->text != NULL);
    fuzz_require(strlen(failure->text) < AXO_FAILURE_TEXT_MAX);
    calls_some();
    if (api_below(3) != 1) {
        g.ctx = outer.ctx;
        axo_status status = axo_default_pre_restart(ctx, state, failure, message);
        g.ctx = ctx;
        if (status != AXO_OK) {
            puppet_leave(outer);
            return status;
        }
    }
    return puppet_result(ctx, outer);
}

static axo_status puppet_post_restart(axo_ctx *ctx, void *state, const axo_failure *failure)
{
    puppet *me = state;
    puppet_frame outer = puppet_enter(ctx, NULL);
    puppet_check(ctx, me);
    fuzz_require(failure != NULL && failure->kind != AXO_FAILURE_NONE && me->instance > 1);
    calls_some();
    if (api_below(2) == 1) {
        puppet_leave(outer);
        return axo_default_post_restart(ctx, state, failure);
    }
    return puppet_result(ctx, outer);
}

static const char *puppet_tag_name(uint32_t tag)
{
    return tag % 2 == 0 ? "even" : NULL;
}

axo_directive puppet_decide(axo_ctx *ctx, void *state, const axo_failure *failure, void *user)
{
    const puppet *me = state;
    puppet_frame outer = puppet_enter(ctx, NULL);
    fuzz_require(failure->kind != AXO_FAILURE_NONE && failure->kind <= AXO_FAILURE_MEMORY);
    if (me != NULL && me->magic == PUPPET_MAGIC) /* else a router's or a guardian's */
        calls_some();
    axo_directive directive = (axo_directive)(api_u8() % 7);
    (void)puppet_result(ctx, outer);
    return directive;
}

const axo_class puppet_classes[] = {
    AXO_CLASS(.name = "all", .state_size = sizeof(puppet), .construct = puppet_construct,
              .pre_start = puppet_pre_start, .receive = puppet_receive,
              .post_stop = puppet_post_stop, .pre_restart = puppet_pre_restart,
              .post_restart = puppet_post_restart, .tag_name = puppet_tag_name),
    AXO_CLASS(.state_size = sizeof(puppet), .construct = puppet_construct,
              .receive = puppet_receive),
    AXO_CLASS(.name = "stops", .state_size = sizeof(puppet), .construct = puppet_construct,
              .pre_start = puppet_pre_start, .receive = puppet_receive,
              .post_stop = puppet_post_stop),
    AXO_CLASS(.name = "no receive"),
};

const axo_backoff puppet_backoffs[] = {
    AXO_BACKOFF(.min_ns = 70000, .max_ns = 3000000, .jitter = 0.5),
    AXO_BACKOFF(.kind = AXO_BACKOFF_LINEAR, .min_ns = 200000, .window_ns = 1000000),
    AXO_BACKOFF(.min_ns = 0, .max_ns = -1),
};

const axo_strategy puppet_strategies[] = {
    AXO_STRATEGY(.decider = puppet_decide),
    AXO_STRATEGY(.scope = AXO_ALL_FOR_ONE, .decider = puppet_decide),
    AXO_STRATEGY(.scope = AXO_REST_FOR_ONE, .decider = puppet_decide),
    AXO_STRATEGY(.decider = puppet_decide, .limited = 1, .retries_max = 1, .within_ns = 1000000),
    AXO_STRATEGY(.decider = axo_decide_restart, .backoff = &puppet_backoffs[0]),
    AXO_STRATEGY(.scope = AXO_ALL_FOR_ONE, .decider = puppet_decide,
                 .backoff = &puppet_backoffs[1]),
    AXO_STRATEGY(.window = AXO_WINDOW_SLIDING, .limited = 1, .retries_max = 2, .within_ns = 9000),
    AXO_STRATEGY(.decider = axo_decide_escalate),
    AXO_STRATEGY(.decider = axo_decide_stop),
    AXO_STRATEGY(.backoff = &puppet_backoffs[2]),
    AXO_STRATEGY(.scope = (axo_scope)9),
    AXO_STRATEGY(.window = AXO_WINDOW_SLIDING, .limited = 1, .retries_max = 99),
};

static uint32_t puppet_priority(const axo_message *message, void *user)
{
    return message->tag % 3;
}

#define PUPPET_BOX(order, full, ...)                                                               \
    AXO_MAILBOX(.kind = order, .overflow = full, .park_ns = full == AXO_OVERFLOW_PARK ? 90000 : 0, \
                .priority = order == AXO_MAILBOX_FIFO ? NULL : puppet_priority, __VA_ARGS__)

static const axo_mailbox puppet_boxes[] = {
    PUPPET_BOX(AXO_MAILBOX_FIFO, AXO_OVERFLOW_PARK, .messages_max = 1),
    PUPPET_BOX(AXO_MAILBOX_CONTROL, AXO_OVERFLOW_PARK, .messages_max = 2, .bytes_max = 300),
    PUPPET_BOX(AXO_MAILBOX_PRIORITY, AXO_OVERFLOW_REFUSE, .messages_max = 0),
    PUPPET_BOX(AXO_MAILBOX_PRIORITY, AXO_OVERFLOW_PARK, .messages_max = 2),
    PUPPET_BOX(AXO_MAILBOX_FIFO, AXO_OVERFLOW_REFUSE, .messages_max = 2),
    PUPPET_BOX(AXO_MAILBOX_FIFO, AXO_OVERFLOW_DROP_NEW, .messages_max = 1),
    PUPPET_BOX(AXO_MAILBOX_CONTROL, AXO_OVERFLOW_DROP_OLD, .bytes_max = 200),
    PUPPET_BOX(AXO_MAILBOX_FIFO, AXO_OVERFLOW_REFUSE, .messages_max = 0),
    PUPPET_BOX(AXO_MAILBOX_PRIORITY, AXO_OVERFLOW_DROP_OLD, .messages_max = 1),
    AXO_MAILBOX(.kind = AXO_MAILBOX_PRIORITY),
    AXO_MAILBOX(.overflow = (axo_overflow)7),
};

/* ---- recipes: good, bad, and from other versions ---- */

static const char *recipe_name(recipe *it)
{
    static const char *const names[] = {"a", "b", "c", "", ".", "..", "a/b", "*", "$1", "z+=@:-~."};
    static char large[AXO_NAME_MAX + 2];
    uint8_t which = api_u8();
    if (which % 4 == 0)
        return NULL;
    memset(large, 'n', AXO_NAME_MAX + 1);
    large[AXO_NAME_MAX] = which == 255 ? 'n' : 0;
    if (which >= 254)
        return large;
    (void)snprintf(it->name, sizeof it->name, "%s", names[which / 4 % PUPPET_COUNT(names)]);
    return it->name;
}

const axo_props *recipe_draw(recipe *it)
{
    static const size_t sizes[] = {0, 8, 4, sizeof(axo_props) + 16};
    memset(it, 0, sizeof *it);
    uint8_t odd = api_u8();
    it->props = (axo_props)AXO_PROPS(.cls = &puppet_classes[odd % 3], .args = "args",
                                     .args_size = 5, .name = recipe_name(it));
    uint8_t more = api_u8();
    if ((more & 1) != 0)
        it->props.strategy = &puppet_strategies[api_below(PUPPET_COUNT(puppet_strategies))];
    if ((more & 2) != 0)
        it->props.mailbox = &puppet_boxes[api_below(PUPPET_COUNT(puppet_boxes))];
    if ((more & 4) != 0)
        it->props.dispatcher = api_below(5);
    it->props.lifetime = (axo_lifetime)((more >> 3) % 4);
    it->props.stash_max = more >> 6;
    it->props.system_actor = (more & 0x20) != 0 && odd > 128 ? 1 : 0;
    if (odd == 255)
        return NULL;
    if (odd >= 250 && odd < 254) {
        it->props.size = sizes[odd - 250];
        it->newer = odd == 253 && (more & 8) != 0;
        it->tail[more >> 4] = it->newer ? 1 : 0;
    }
    if (odd == 249)
        it->props.cls = &puppet_classes[3];
    if (odd == 248)
        it->props.cls = NULL;
    if (odd == 247)
        it->props.args_size = AXO_ARGS_MAX + 1;
    if (odd == 246)
        it->props.args = NULL;
    return &it->props;
}
