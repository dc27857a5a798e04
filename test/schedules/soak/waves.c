/* waves.c - the waves of the soak: what each sends, fails and stops, and what it must see. */
#include "soak.h"

enum { GO = 1, BALL, DONE, TICK, STEP, SHUT };

typedef struct node {
    soak_wave *wave;
    axo_ref peer;
    uint64_t left;
    uint64_t size;
    uint64_t sum;
    uint64_t waiting;
} node;

static axo_status node_construct(axo_ctx *ctx, void *state, const void *args)
{
    *(node *)state = *(const node *)args;
    return AXO_OK;
}

static axo_status root_construct(axo_ctx *ctx, void *state, const void *args)
{
    *(node *)state = (node){.wave = *(soak_wave *const *)args};
    return AXO_OK;
}

static axo_ref node_spawn(axo_ctx *ctx, const axo_class *cls, const node *args)
{
    axo_props props = AXO_PROPS(.cls = cls, .args = args, .args_size = sizeof *args);
    axo_ref ref;
    soak_check(axo_spawn(ctx, &props, &ref), "spawn");
    return ref;
}

static void node_tell(axo_ctx *ctx, axo_ref to, uint32_t tag)
{
    soak_check(axo_send(ctx, to, tag, NULL, 0), "send");
}

#define SOAK_CLASS(what, construct_fn, ...)                                                        \
    AXO_CLASS(.name = what, .state_size = sizeof(node), .construct = construct_fn, __VA_ARGS__)

/* ---- ping-pong: pairs that answer each other ------------------------------------------------- */

#define PAIRS 16

static axo_status player_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    node *me = state;
    if (me->left-- > 0)
        node_tell(ctx, message->sender, BALL);
    else
        node_tell(ctx, axo_parent(ctx), DONE);
    return AXO_OK;
}

static const axo_class player_class =
    SOAK_CLASS("player", node_construct, .receive = player_receive);

static axo_status pingpong_start(axo_ctx *ctx, void *state)
{
    node *me = state;
    node player = {.wave = me->wave, .left = me->wave->size};
    me->waiting = PAIRS;
    me->wave->expected = PAIRS;
    for (uint32_t i = 0; i < PAIRS; i++) {
        axo_ref a = node_spawn(ctx, &player_class, &player);
        axo_ref b = node_spawn(ctx, &player_class, &player);
        soak_check(axo_send_from(ctx, a, b, GO, NULL, 0), "send");
    }
    return AXO_OK;
}

/* Counts what its children tell. */
static axo_status root_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    node *me = state;
    if (message->tag != DONE)
        return AXO_UNHANDLED;
    me->wave->seen++;
    return --me->waiting > 0 ? AXO_OK : soak_over(ctx, me->wave);
}

static const axo_class pingpong_class =
    SOAK_CLASS("pingpong", root_construct, .pre_start = pingpong_start, .receive = root_receive);

/* ---- fan-in: many senders, one receiver ------------------------------------------------------ */

#define SENDERS    100
#define SEND_BATCH 64

static axo_status sender_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    node *me = state;
    for (uint32_t i = 0; i < SEND_BATCH && me->left > 0; i++, me->left--)
        node_tell(ctx, axo_parent(ctx), DONE);
    if (me->left > 0)
        node_tell(ctx, axo_self(ctx), GO);
    return AXO_OK;
}

static const axo_class sender_class =
    SOAK_CLASS("sender", node_construct, .receive = sender_receive);

static axo_status fanin_start(axo_ctx *ctx, void *state)
{
    node *me = state;
    node sender = {.wave = me->wave, .left = me->wave->size};
    me->waiting = SENDERS * me->wave->size;
    me->wave->expected = me->waiting;
    for (uint32_t i = 0; i < SENDERS; i++)
        node_tell(ctx, node_spawn(ctx, &sender_class, &sender), GO);
    return AXO_OK;
}

static const axo_class fanin_class =
    SOAK_CLASS("fanin", root_construct, .pre_start = fanin_start, .receive = root_receive);

/* ---- tree: ten children each, numbers sum upward --------------------------------------------- */

static const axo_class branch_class;

static axo_status branch_sum(axo_ctx *ctx, uint64_t sum)
{
    soak_check(axo_send(ctx, axo_parent(ctx), DONE, &sum, sizeof sum), "send");
    return axo_stop_self(ctx);
}

static axo_status branch_start(axo_ctx *ctx, void *state)
{
    node *me = state;
    if (me->size == 1)
        return branch_sum(ctx, me->left);
    node child = {.wave = me->wave, .size = me->size / 10};
    me->waiting = 10;
    for (uint64_t i = 0; i < 10; i++) {
        child.left = me->left + i * child.size;
        (void)node_spawn(ctx, &branch_class, &child);
    }
    return AXO_OK;
}

static axo_status branch_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    node *me = state;
    me->sum += *AXO_PAYLOAD(message, uint64_t);
    return --me->waiting > 0 ? AXO_OK : branch_sum(ctx, me->sum);
}

static const axo_class branch_class =
    SOAK_CLASS("branch", node_construct, .pre_start = branch_start, .receive = branch_receive);

static axo_status tree_start(axo_ctx *ctx, void *state)
{
    node *me = state;
    uint64_t leaves = me->wave->size;
    me->wave->expected = leaves * (leaves - 1) / 2;
    (void)node_spawn(ctx, &branch_class, &(node){.wave = me->wave, .size = leaves});
    return AXO_OK;
}

static axo_status tree_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    node *me = state;
    me->wave->seen = *AXO_PAYLOAD(message, uint64_t);
    return soak_over(ctx, me->wave);
}

static const axo_class tree_class =
    SOAK_CLASS("tree", root_construct, .pre_start = tree_start, .receive = tree_receive);

/* ---- storm: a tenth of the messages fail, the children are restarted ------------------------- */

#define FRAIL 50

static axo_status frail_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    node *me = state;
    uint64_t chance = soak_draw(me->wave) % 10;
    if (atomic_fetch_add(&me->wave->seen, 1) + 1 == me->wave->expected)
        node_tell(ctx, axo_parent(ctx), SHUT);
    return chance == 0 ? axo_fail(ctx, 1, "one of ten") : AXO_OK;
}

static const axo_class frail_class = SOAK_CLASS("frail", node_construct, .receive = frail_receive);

static axo_status storm_start(axo_ctx *ctx, void *state)
{
    node *me = state;
    me->wave->expected = FRAIL * me->wave->size;
    for (uint32_t i = 0; i < FRAIL; i++) {
        axo_ref frail = node_spawn(ctx, &frail_class, &(node){.wave = me->wave});
        for (uint64_t j = 0; j < me->wave->size; j++)
            node_tell(ctx, frail, TICK);
    }
    return AXO_OK;
}

static axo_status shut_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    node *me = state;
    return message->tag == SHUT ? soak_over(ctx, me->wave) : AXO_UNHANDLED;
}

static const axo_class storm_class =
    SOAK_CLASS("storm", root_construct, .pre_start = storm_start, .receive = shut_receive);

/* ---- overload: four producers, a bounded receiver that is slower ----------------------------- */

#define PRODUCERS 4
#define BOUND     256

static axo_status slow_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    node *me = state;
    if (message->tag != TICK)
        return AXO_UNHANDLED;
    for (uint32_t i = 0; i < 20; i++)
        me->sum ^= soak_draw(me->wave);
    atomic_fetch_add(&me->wave->seen, 1);
    return AXO_OK;
}

static const axo_class slow_class = SOAK_CLASS("slow", node_construct, .receive = slow_receive);

static axo_status producer_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    node *me = state;
    for (uint32_t i = 0; i < SEND_BATCH && me->left > 0; i++, me->left--) {
        axo_status status = axo_send(ctx, me->peer, TICK, NULL, 0);
        if (status == AXO_EFULL)
            atomic_fetch_add(&me->wave->other, 1);
        else
            soak_check(status, "send");
    }
    node_tell(ctx, me->left > 0 ? axo_self(ctx) : axo_parent(ctx), me->left > 0 ? GO : DONE);
    return AXO_OK;
}

static const axo_class producer_class =
    SOAK_CLASS("producer", node_construct, .receive = producer_receive);

static axo_status overload_start(axo_ctx *ctx, void *state)
{
    node *me = state;
    axo_mailbox mailbox = AXO_MAILBOX(.messages_max = BOUND);
    node slow = {.wave = me->wave};
    axo_props props =
        AXO_PROPS(.cls = &slow_class, .args = &slow, .args_size = sizeof slow, .mailbox = &mailbox);
    node producer = {.wave = me->wave, .left = me->wave->size};
    soak_check(axo_spawn(ctx, &props, &producer.peer), "spawn");
    soak_check(axo_watch(ctx, producer.peer), "watch");
    me->peer = producer.peer;
    me->waiting = PRODUCERS;
    me->wave->expected = PRODUCERS * me->wave->size;
    for (uint32_t i = 0; i < PRODUCERS; i++)
        node_tell(ctx, node_spawn(ctx, &producer_class, &producer), GO);
    return AXO_OK;
}

/* When all is sent the receiver ends after what it has accepted: handled and refused are all. */
static axo_status overload_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    node *me = state;
    if (message->tag == DONE && --me->waiting == 0)
        soak_check(axo_poison(ctx, me->peer), "poison");
    if (message->tag != AXO_TERMINATED)
        return AXO_OK;
    me->wave->seen += me->wave->other;
    return soak_over(ctx, me->wave);
}

static const axo_class overload_class = SOAK_CLASS(
    "overload", root_construct, .pre_start = overload_start, .receive = overload_receive);

/* ---- mesh: everybody watches everybody; all are stopped at once ------------------------------ */

static axo_status watcher_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    node *me = state;
    if (message->tag == GO) {
        soak_check(axo_watch(ctx, *AXO_PAYLOAD(message, axo_ref)), "watch");
        return AXO_OK;
    }
    if (message->tag == STEP) {
        node_tell(ctx, axo_parent(ctx), DONE);
        return AXO_OK;
    }
    if (message->tag != AXO_TERMINATED)
        return AXO_UNHANDLED;
    if (atomic_fetch_add(&me->wave->seen, 1) + 1 == me->wave->expected)
        node_tell(ctx, axo_parent(ctx), SHUT);
    return AXO_OK;
}

static const axo_class watcher_class =
    SOAK_CLASS("watcher", node_construct, .receive = watcher_receive);

static axo_status mesh_start(axo_ctx *ctx, void *state)
{
    node *me = state;
    uint64_t size = me->wave->size;
    axo_ref *mortals = axo_alloc(ctx, size * sizeof *mortals);
    if (mortals == NULL)
        soak_fail("no memory");
    me->wave->expected = size * size;
    me->waiting = size;
    for (uint64_t i = 0; i < size; i++)
        mortals[i] = node_spawn(ctx, &watcher_class, &(node){.wave = me->wave});
    for (uint64_t i = 0; i < size; i++) {
        axo_ref watcher = node_spawn(ctx, &watcher_class, &(node){.wave = me->wave});
        for (uint64_t j = 0; j < size; j++)
            soak_check(axo_send(ctx, watcher, GO, &mortals[j], sizeof mortals[j]), "send");
        node_tell(ctx, watcher, STEP);
    }
    me->sum = (uint64_t)(uintptr_t)mortals;
    return AXO_OK;
}

static axo_status mesh_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    node *me = state;
    const axo_ref *mortals = (const axo_ref *)(uintptr_t)me->sum;
    if (message->tag == SHUT)
        return soak_over(ctx, me->wave);
    if (message->tag != DONE || --me->waiting > 0)
        return AXO_OK;
    for (uint64_t i = 0; i < me->wave->size; i++)
        soak_check(axo_stop(ctx, mortals[i]), "stop");
    return AXO_OK;
}

static const axo_class mesh_class =
    SOAK_CLASS("mesh", root_construct, .pre_start = mesh_start, .receive = mesh_receive);

/* ---- timers: nine of ten are cancelled ------------------------------------------------------- */

static axo_status timers_start(axo_ctx *ctx, void *state)
{
    node *me = state;
    axo_timer *timers = axo_alloc(ctx, me->wave->size * sizeof *timers);
    if (timers == NULL)
        soak_fail("no memory");
    for (uint64_t i = 0; i < me->wave->size; i++) {
        int64_t delay = (int64_t)(soak_draw(me->wave) % 50000000);
        soak_check(axo_schedule_once(ctx, delay, axo_self(ctx), TICK, NULL, 0, &timers[i]),
                   "schedule");
    }
    me->wave->expected = me->wave->size;
    for (uint64_t i = 0; i < me->wave->size; i++) {
        if (soak_draw(me->wave) % 10 != 0 && axo_timer_cancel(ctx, timers[i]))
            me->wave->seen++;
    }
    node_tell(ctx, axo_self(ctx), STEP);
    return AXO_OK;
}

static axo_status timers_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    node *me = state;
    if (message->tag == TICK)
        me->wave->seen++;
    return me->wave->seen == me->wave->expected ? soak_over(ctx, me->wave) : AXO_OK;
}

static const axo_class timers_class =
    SOAK_CLASS("timers", root_construct, .pre_start = timers_start, .receive = timers_receive);

/* ---- churn: actors with a name, stopped, made again under the same --------------------------- */

#define CHURN_NAMES 64

static axo_status mayfly_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    return axo_stop_self(ctx);
}

static const axo_class mayfly_class =
    SOAK_CLASS("mayfly", node_construct, .receive = mayfly_receive);

static void churn_make(axo_ctx *ctx, node *me, uint64_t place)
{
    char name[32];
    node args = {.wave = me->wave};
    axo_ref ref;
    (void)snprintf(name, sizeof name, "mayfly-%" PRIu64, place);
    axo_props props =
        AXO_PROPS(.cls = &mayfly_class, .args = &args, .args_size = sizeof args, .name = name);
    soak_check(axo_spawn(ctx, &props, &ref), "spawn under a free name");
    soak_check(axo_watch_with(ctx, ref, DONE, &place, sizeof place), "watch");
    node_tell(ctx, ref, GO);
}

static axo_status churn_start(axo_ctx *ctx, void *state)
{
    node *me = state;
    me->wave->expected = CHURN_NAMES * me->wave->size;
    for (uint64_t i = 0; i < CHURN_NAMES; i++)
        churn_make(ctx, me, i);
    me->left = me->wave->expected - CHURN_NAMES;
    return AXO_OK;
}

static axo_status churn_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    node *me = state;
    me->wave->seen++;
    if (me->left > 0) {
        me->left--;
        churn_make(ctx, me, *AXO_PAYLOAD(message, uint64_t));
    }
    return me->wave->seen == me->wave->expected ? soak_over(ctx, me->wave) : AXO_OK;
}

static const axo_class churn_class =
    SOAK_CLASS("churn", root_construct, .pre_start = churn_start, .receive = churn_receive);

/* ---- all of them ----------------------------------------------------------------------------- */

axo_status soak_over(axo_ctx *ctx, soak_wave *wave)
{
    wave->over = true;
    return axo_stop_self(ctx);
}

const soak_kind soak_kinds[] = {
    {"pingpong", &pingpong_class, 500000}, {"fanin", &fanin_class, 1000},
    {"tree", &tree_class, 10000},          {"storm", &storm_class, 4000},
    {"overload", &overload_class, 100000}, {"mesh", &mesh_class, 200},
    {"timers", &timers_class, 100000},     {"churn", &churn_class, 1000},
};
const size_t soak_kinds_count = sizeof soak_kinds / sizeof soak_kinds[0];
