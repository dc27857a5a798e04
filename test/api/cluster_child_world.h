/* cluster_child_world.h - remote children: a parent that notes what it decides, and a class of
 * children that say to their parent what befalls them. */
#ifndef TEST_API_CLUSTER_CHILD_WORLD_H
#define TEST_API_CLUSTER_CHILD_WORLD_H

#include "api/cluster_world.h"

/* To a child, with a number: to fail with it, to crash, to end, to fail its next construct; to say
 * its number of messages. What comes before a hook, and a hook, is said to the parent. */
enum { CC_FAIL = 20, CC_CRASH, CC_END, CC_COUNT, CC_BE_SLOW, CC_SAID, CC_SPAWN, CC_STOP_ONE,
       CC_FAIL_SELF, CC_WATCH_ONE };
/* What a child says of itself: a CC_SAID with one of these. */
enum { CC_MADE = 'c', CC_PRE_START = 's', CC_PRE_RESTART = 'r', CC_POST_RESTART = 'R',
       CC_POST_STOP = 'p', CC_COUNTED = 'n' };

/* The arguments of a child. */
typedef struct cc_args {
    uint32_t fails;   /* construct fails in instances from this one on; 0: in none */
    uint32_t number;
} cc_args;

typedef struct cc_said {
    uint32_t what;
    uint32_t number;   /* messages that the instance has handled; the failure's code, or tag */
    uint32_t instance;
} cc_said;

typedef struct cc_child {
    cc_args args;
    uint32_t handled;
} cc_child;

static inline void cc_say(axo_ctx *ctx, uint32_t what, uint32_t number)
{
    const cc_said said = {.what = what, .number = number, .instance = axo_instance(ctx)};
    (void)axo_send(ctx, axo_parent(ctx), CC_SAID, &said, sizeof said);
}

static inline axo_status cc_construct(axo_ctx *ctx, void *state, const void *args)
{
    cc_child *me = state;
    memcpy(&me->args, args, sizeof me->args);
    cc_say(ctx, CC_MADE, me->args.number);
    if (me->args.fails != 0 && axo_instance(ctx) >= me->args.fails)
        return axo_fail(ctx, 31, "it cannot be made");
    return AXO_OK;
}

static inline axo_status cc_pre_start(axo_ctx *ctx, void *state)
{
    (void)state;
    cc_say(ctx, CC_PRE_START, 0);
    return AXO_OK;
}

static inline axo_status cc_pre_restart(axo_ctx *ctx, void *state, const axo_failure *failure,
                                        const axo_message *message)
{
    cc_say(ctx, CC_PRE_RESTART, message != NULL ? message->tag : 0);
    return axo_default_pre_restart(ctx, state, failure, message);
}

static inline axo_status cc_post_restart(axo_ctx *ctx, void *state, const axo_failure *failure)
{
    (void)state;
    cc_say(ctx, CC_POST_RESTART, (uint32_t)failure->code);
    return AXO_OK;
}

static inline axo_status cc_post_stop(axo_ctx *ctx, void *state)
{
    cc_say(ctx, CC_POST_STOP, ((cc_child *)state)->handled);
    return AXO_OK;
}

static inline axo_status cc_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    cc_child *me = state;
    uint32_t number = 0;
    if (message->size == sizeof number)
        memcpy(&number, message->payload, sizeof number);
    switch (message->tag) {
    case CC_FAIL:
        return axo_fail(ctx, (int32_t)number, "told to, %u", number);
    case CC_CRASH:
        *(volatile int *)(uintptr_t)8 = 1;
        return AXO_OK;
    case CC_END:
        return axo_stop_self(ctx);
    case CC_COUNT:
        cc_say(ctx, CC_COUNTED, me->handled);
        return AXO_OK;
    case CC_BE_SLOW:
        cw_sleep(number * CW_MS);
        return AXO_OK;
    case CW_ECHO:
        return axo_reply(ctx, message, CW_BACK, message->payload, message->size);
    case CW_NUMBER:
        me->handled++;
        return AXO_OK;
    default:
        return AXO_UNHANDLED;
    }
}

static const axo_class cc_class =
    AXO_CLASS(.name = "child", .state_size = sizeof(cc_child), .construct = cc_construct,
              .pre_start = cc_pre_start, .receive = cc_receive, .post_stop = cc_post_stop,
              .pre_restart = cc_pre_restart, .post_restart = cc_post_restart,
              .on_crash = AXO_CRASH_FAILS);

/* ---- the parent ---- */

/* What it notes, and is told; of one parent, over its instances. */
typedef struct cc_parent {
    axo_ref self;
    axo_cluster *cluster;
    axo_cluster_child recipe;
    cc_args args;
    const void *big;          /* its arguments, if that is not NULL */
    size_t big_size;
    uint32_t early;           /* messages that it sends the child at once */
    bool spawns;              /* in pre_start */
    _Atomic int answer;       /* of the decider; 0: the default's */
    atomic_int status;        /* of the last spawn */
    axo_ref child;            /* the stand-in */
    axo_ref real;             /* who the child is as a sender; before said_count */
    atomic_uint done, made, started, decided, ends, lost;
    atomic_uint said_count;
    char said[128];           /* letters, as they came */
    uint32_t numbers[128];
    uint32_t instances[128];
    atomic_uint kind;         /* of the last failure, before `decided` */
    atomic_int code;
    char text[AXO_FAILURE_TEXT_MAX];
} cc_parent;

static inline void cc_take(cc_parent *me, const axo_message *message)
{
    const cc_said *said = AXO_PAYLOAD(message, cc_said);
    uint32_t count = me->said_count;
    me->real = message->sender;
    if (count < sizeof me->said - 1) {
        me->said[count] = (char)said->what;
        me->numbers[count] = said->number;
        me->instances[count] = said->instance;
        me->said_count = count + 1;
    }
}

static inline axo_status cc_spawn(axo_ctx *ctx, cc_parent *me)
{
    me->recipe.args = me->big != NULL ? me->big : &me->args;
    me->recipe.args_size = me->big != NULL ? me->big_size : sizeof me->args;
    axo_status status = axo_cluster_spawn(ctx, me->cluster, &me->recipe, &me->child);
    me->status = status;
    static uint32_t handed_over;
    for (uint32_t i = 0; i < me->early && status == AXO_OK; i++)
        status = i % 2 == 0 ? axo_send(ctx, me->child, CW_NUMBER, &i, sizeof i)
                            : axo_send_owned(ctx, me->child, CW_NUMBER, &handed_over,
                                             sizeof handed_over, NULL, NULL);
    return status == AXO_OK ? axo_watch(ctx, me->child) : status;
}

static inline axo_directive cc_decide(axo_ctx *ctx, void *state, const axo_failure *failure,
                                      void *user)
{
    cc_parent *me = *(cc_parent **)state;
    me->kind = failure->kind;
    me->code = failure->code;
    (void)snprintf(me->text, sizeof me->text, "%s", failure->text);
    int answer = me->answer;
    atomic_fetch_add(&me->decided, 1);
    return answer != 0 ? (axo_directive)answer : axo_decide_default(ctx, state, failure, user);
}

static inline axo_status cc_parent_construct(axo_ctx *ctx, void *state, const void *args)
{
    cc_parent *me = (cc_parent *)(uintptr_t)args;
    *(cc_parent **)state = me;
    me->self = axo_self(ctx);
    atomic_fetch_add(&me->made, 1);
    return AXO_OK;
}

static inline axo_status cc_parent_start(axo_ctx *ctx, void *state)
{
    cc_parent *me = *(cc_parent **)state;
    if (me->spawns)
        (void)cc_spawn(ctx, me);
    atomic_fetch_add(&me->started, 1);
    return AXO_OK;
}

static inline axo_status cc_parent_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    cc_parent *me = *(cc_parent **)state;
    switch (message->tag) {
    case CC_SAID:
        cc_take(me, message);
        return AXO_OK;
    case CC_SPAWN:
        (void)cc_spawn(ctx, me);
        atomic_fetch_add(&me->done, 1);
        return AXO_OK;
    case CC_STOP_ONE:
        return axo_stop(ctx, me->child);
    case CC_FAIL_SELF:
        return axo_fail(ctx, 99, "the parent");
    case AXO_TERMINATED:
        me->lost += AXO_PAYLOAD(message, axo_terminated)->address_terminated;
        atomic_fetch_add(&me->ends, 1);
        return AXO_OK;
    default:
        return AXO_UNHANDLED;
    }
}

static const axo_class cc_parent_class =
    AXO_CLASS(.name = "parent", .state_size = sizeof(cc_parent *),
              .construct = cc_parent_construct, .pre_start = cc_parent_start,
              .receive = cc_parent_receive);

/* ---- nodes ---- */

/* Crashes are contained, but for builds that cannot (crash.h). */
static inline bool cc_contains(void)
{
    axo_system *system;
    axo_options options = AXO_OPTIONS(.workers = 1, .contain = 1);
    if (axo_system_start(&options, &system) != AXO_OK)
        return false;
    assert_int_equal(axo_system_stop(system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
    return true;
}

static inline void cc_node_begin(cw_node *node)
{
    const axo_props props = AXO_PROPS(.cls = &cc_class);
    axo_options options = AXO_OPTIONS(.workers = 2, .remote = axo_cluster_remote(node->cluster),
                                      .remote_user = node->cluster, .contain = cc_contains(),
                                      .on_dead_letter = cw_letter, .dead_letter_user = node);
    assert_int_equal(axo_cluster_add_class(node->cluster, "worker", &props), AXO_OK);
    assert_int_equal(axo_system_start(&options, &node->system), AXO_OK);
    assert_int_equal(axo_cluster_start(node->cluster, node->system), AXO_OK);
}

static inline void cc_node_start(cw_node *node, const cw_server *server, const char *name)
{
    const axo_cluster_options with = cw_options(server, name);
    cw_node_open(node, &with);
    cc_node_begin(node);
}

static inline void cc_parent_start_on(const cw_node *node, cc_parent *parent,
                                      const axo_strategy *strategy)
{
    axo_props props = AXO_PROPS(.cls = &cc_parent_class, .args = parent, .strategy = strategy);
    parent->cluster = node->cluster;
    assert_int_equal(axo_system_spawn(node->system, &props, &parent->self), AXO_OK);
    CW_UNTIL(parent->started == 1);
}

static inline axo_status cc_spawn_by(const cw_node *node, cc_parent *parent)
{
    uint32_t before = parent->done;
    assert_int_equal(axo_system_send(node->system, parent->self, CC_SPAWN, NULL, 0), AXO_OK);
    CW_UNTIL(parent->done == before + 1);
    return (axo_status)parent->status;
}

static inline void cc_send(const cw_node *node, axo_ref to, uint32_t tag, uint32_t number)
{
    assert_int_equal(axo_system_send(node->system, to, tag, &number, sizeof number), AXO_OK);
}

/* Until the children have said so many letters in all; then whether they are these. */
static inline void cc_has_said(cc_parent *parent, const char *letters)
{
    size_t count = strlen(letters);
    int64_t end = cw_now() + CW_LONG;
    while (parent->said_count < count && cw_now() < end)
        cw_sleep(CW_MS);
    cw_sleep(20 * CW_MS); /* and none more */
    assert_string_equal(parent->said, letters);
}

#endif
