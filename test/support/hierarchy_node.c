/* hierarchy_node.c - an actor of the hierarchy stress: it fails as told and checks itself. */
#include "hierarchy_inside.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { NODE_PATTERN = 0x5a, NODE_STOP_LEVEL = 3 };

/* One instance. */
typedef struct node_state {
    hierarchy_node *at;
    unsigned char *memory;
    uint32_t pre_restarts;
    uint32_t post_stops;
    bool started;
    bool doomed;   /* it failed, and Restart will be the answer: it handles nothing more */
    bool resuming; /* it failed, and Resume will be: until its next message */
} node_state;

/* ---- around each callback ---- */

static void node_enter(hierarchy_node *at)
{
    hierarchy *h = at->h;
    HIERARCHY_COUNT(h, moves);
    hierarchy_on_worker(h, at->index);
    if (atomic_exchange_explicit(&at->inside, 1, memory_order_relaxed) != 0)
        hierarchy_breach(h, at->index, 0, "two callbacks at once (OR-02)");
}

static axo_status node_leave(hierarchy_node *at)
{
    atomic_store_explicit(&at->inside, 0, memory_order_relaxed);
    return AXO_OK;
}

static bool node_take(_Atomic uint8_t *counter)
{
    uint8_t left = atomic_load_explicit(counter, memory_order_relaxed);
    while (left > 0) {
        if (atomic_compare_exchange_weak_explicit(counter, &left, (uint8_t)(left - 1),
                                                  memory_order_relaxed, memory_order_relaxed))
            return true;
    }
    return false;
}

/* Fails for an item, every second one by a throw. */
static axo_status node_fail(axo_ctx *ctx, node_state *me, uint32_t item, uint8_t directive)
{
    hierarchy_node *at = me->at;
    if (directive == AXO_RESTART)
        me->doomed = true;
    else
        me->resuming = true;
    HIERARCHY_COUNT(at->h, life);
    (void)node_leave(at);
    if (item % 2 != 0)
        axo_throw(ctx, (int32_t)item + 1, "item %" PRIu32, item);
    return axo_fail(ctx, (int32_t)item + 1, "item %" PRIu32, item);
}

static uint32_t node_index_of(const hierarchy *h, const hierarchy_item *item)
{
    return (uint32_t)(item - h->item);
}

hierarchy_item *hierarchy_item_of(hierarchy *h, uint32_t node, const axo_failure *failure)
{
    uint32_t code = (uint32_t)failure->code;
    char text[24];
    if (code == 0 || code > h->items + h->actors) {
        hierarchy_breach(h, node, 0, "a failure that nobody raised: kind %" PRIu32 " code %" PRId32
                         " %s", failure->kind, failure->code, failure->text);
        return NULL;
    }
    (void)snprintf(text, sizeof text, "item %" PRIu32, code - 1);
    if (failure->text[0] != 0 && strcmp(failure->text, text) != 0)
        hierarchy_breach(h, node, 0, "code %" PRIu32 " says \"%s\"", code, failure->text);
    return &h->item[code - 1];
}

/* ---- children ---- */

bool hierarchy_spawn(axo_ctx *ctx, hierarchy_node *node, bool tentative)
{
    hierarchy *h = node->h;
    axo_props props = AXO_PROPS(.cls = &hierarchy_node_class, .args = node, .name = node->name,
                                .strategy = &h->node_strategy,
                                .dispatcher = node->dispatcher);
    hierarchy_spawning = node->index + 1;
    axo_status status = axo_spawn(ctx, &props, &node->ref);
    hierarchy_spawning = 0;
    if (status == AXO_OK)
        status = axo_watch(ctx, node->ref);
    if (status != AXO_OK) {
        hierarchy_breach(h, node->index, 0, "it cannot be spawned: %s", axo_status_name(status));
        return false;
    }
    HIERARCHY_COUNT(h, life);
    node->tentative = tentative;
    hierarchy_born born = {.index = node->index, .births = ++node->births, .ref = node->ref};
    axo_ref warden = {HIERARCHY_GET(h, warden)};
    (void)axo_send(ctx, warden, TAG_BORN, &born, sizeof born);
    return true;
}

static hierarchy_node *node_kid(const hierarchy_node *at, uint32_t i)
{
    return &at->h->nodes[at->kid[i]];
}

/* The start has finished: its children stay. */
static void node_started(node_state *me)
{
    me->started = true;
    for (uint32_t i = 0; i < me->at->kids; i++)
        node_kid(me->at, i)->tentative = false;
}

/* RS-15, ST-17: what is not there is made again, all that is there is what it made. */
static void node_complete(axo_ctx *ctx, hierarchy_node *at)
{
    hierarchy *h = at->h;
    for (uint32_t i = 0; i < at->kids; i++) {
        hierarchy_node *kid = node_kid(at, i);
        axo_ref there = axo_child(ctx, kid->name);
        if (axo_ref_is_none(there)) {
            HIERARCHY_COUNT(h, recreated_here);
            (void)hierarchy_spawn(ctx, kid, true);
        } else if (!axo_ref_equal(there, kid->ref)) {
            hierarchy_breach(h, kid->index, 2, "another child has its name");
        } else if (kid->tentative) {
            hierarchy_breach(h, kid->index, 12, "it outlives the attempt that made it (D4)");
        }
    }
    if (axo_child_count(ctx) != at->kids)
        hierarchy_breach(h, at->index, 2, "%" PRIu32 " children, and not %" PRIu32,
                         axo_child_count(ctx), at->kids);
}

static axo_status node_terminated(axo_ctx *ctx, hierarchy_node *at, const axo_terminated *gone)
{
    hierarchy *h = at->h;
    if (gone->existence_known != 1)
        hierarchy_breach(h, at->index, 0, "a child is said never to have lived");
    for (uint32_t i = 0; i < at->kids; i++) {
        hierarchy_node *kid = node_kid(at, i);
        if (!axo_ref_equal(kid->ref, gone->actor))
            continue;
        if (!axo_ref_is_none(axo_child(ctx, kid->name))) {
            hierarchy_breach(h, kid->index, 2, "the notice came before the name was free");
            return AXO_OK;
        }
        HIERARCHY_COUNT(h, recreated_later);
        (void)hierarchy_spawn(ctx, kid, false);
        return AXO_OK;
    }
    return AXO_OK; /* an older one: its successor was made in post_restart */
}

/* ---- hooks ---- */

static void node_undo(void *arg)
{
    hierarchy_node *at = arg;
    hierarchy_on_worker(at->h, at->index);
    at->live--;
    HIERARCHY_COUNT(at->h, undone);
}

static axo_status node_construct(axo_ctx *ctx, void *state, const void *args)
{
    node_state *me = state;
    hierarchy_node *at = (hierarchy_node *)(uintptr_t)args;
    hierarchy *h = at->h;
    node_enter(at);
    if (me->at != NULL || me->pre_restarts != 0 || me->doomed)
        hierarchy_breach(h, at->index, 0, "a new instance's state is not zero (D2)");
    if (at->live != 0)
        hierarchy_breach(h, at->index, 0, "the last instance's region has not ended (D2)");
    me->at = at;
    me->memory = axo_alloc(ctx, 1 + at->index % 200);
    if (axo_defer(ctx, node_undo, at) != AXO_OK || me->memory == NULL) {
        hierarchy_breach(h, at->index, 0, "no memory");
        return node_leave(at);
    }
    me->memory[at->index % 200] = NODE_PATTERN;
    at->live++;
    HIERARCHY_COUNT(h, constructs);
    HIERARCHY_COUNT(h, life);
    hierarchy_item *item = at->failing != 0 ? &h->item[at->failing - 1] : NULL;
    if (item != NULL && node_take(&item->construct)) {
        HIERARCHY_COUNT(h, construct_failed);
        return node_fail(ctx, me, at->failing - 1, AXO_RESTART);
    }
    return node_leave(at);
}

static axo_status node_pre_start(axo_ctx *ctx, void *state)
{
    node_state *me = state;
    hierarchy_node *at = me->at;
    hierarchy *h = at->h;
    node_enter(at);
    if (axo_child_count(ctx) != 0)
        hierarchy_breach(h, at->index, 12, "%" PRIu32 " children of a failed attempt are there",
                         axo_child_count(ctx));
    for (uint32_t i = 0; i < at->kids; i++)
        (void)hierarchy_spawn(ctx, node_kid(at, i), true);
    hierarchy_item *item = at->failing != 0 ? &h->item[at->failing - 1] : NULL;
    if (item != NULL && node_take(&item->start)) {
        HIERARCHY_COUNT(h, start_failed);
        return node_fail(ctx, me, at->failing - 1, AXO_RESTART);
    }
    node_started(me);
    return node_leave(at);
}

static void node_stop_kids(axo_ctx *ctx, hierarchy_node *at, const hierarchy_item *item)
{
    hierarchy *h = at->h;
    axo_ref kids[HIERARCHY_BREADTH];
    uint32_t index = node_index_of(h, item);
    uint32_t count = axo_children(ctx, kids, HIERARCHY_BREADTH);
    uint32_t stops = item->kids == 0 ? 0 : item->kids == 1 ? 1 + index % 2 : count;
    for (uint32_t i = 0; i < stops && i < count && i < HIERARCHY_BREADTH; i++) {
        if (index % 4 == 0)
            (void)axo_unwatch(ctx, kids[i]);
        if (axo_stop(ctx, kids[i]) == AXO_OK)
            HIERARCHY_COUNT(h, kids_stopped);
    }
}

static axo_status node_pre_restart(axo_ctx *ctx, void *state, const axo_failure *failure,
                                   const axo_message *message)
{
    node_state *me = state;
    hierarchy_node *at = me->at;
    hierarchy *h = at->h;
    node_enter(at);
    HIERARCHY_COUNT(h, pre_restarts);
    HIERARCHY_COUNT(h, life);
    if (me->pre_restarts++ != 0)
        hierarchy_breach(h, at->index, 1, "pre_restart twice on one instance");
    if (!me->started || me->post_stops != 0)
        hierarchy_breach(h, at->index, 1, "pre_restart of an instance that does not run");
    me->doomed = true;
    hierarchy_item *item = hierarchy_item_of(h, at->index, failure);
    if (item == NULL)
        return node_leave(at);
    at->failing = node_index_of(h, item) + 1;
    node_stop_kids(ctx, at, item);
    if (node_take(&item->pre)) {
        HIERARCHY_COUNT(h, pre_failed);
        return node_fail(ctx, me, at->failing - 1, AXO_RESTART);
    }
    return node_leave(at);
}

static axo_status node_post_restart(axo_ctx *ctx, void *state, const axo_failure *failure)
{
    node_state *me = state;
    hierarchy_node *at = me->at;
    hierarchy *h = at->h;
    node_enter(at);
    HIERARCHY_COUNT(h, post_restarts);
    HIERARCHY_COUNT(h, life);
    hierarchy_item *item = hierarchy_item_of(h, at->index, failure);
    node_complete(ctx, at);
    if (item != NULL && node_take(&item->post)) {
        HIERARCHY_COUNT(h, post_failed);
        return node_fail(ctx, me, node_index_of(h, item), AXO_RESTART);
    }
    node_started(me);
    return node_leave(at);
}

static axo_status node_post_stop(axo_ctx *ctx, void *state)
{
    node_state *me = state;
    hierarchy_node *at = me->at;
    hierarchy *h = at->h;
    node_enter(at);
    HIERARCHY_COUNT(h, post_stops);
    HIERARCHY_COUNT(h, life);
    if (me->post_stops++ != 0 || !me->started)
        hierarchy_breach(h, at->index, 0, "post_stop is not owed to this instance (D3)");
    if (axo_child_count(ctx) != 0)
        hierarchy_breach(h, at->index, 0, "post_stop before its children are gone (ST-03)");
    if (HIERARCHY_GET(h, final) != 0 && (me->doomed || me->resuming))
        hierarchy_breach(h, at->index, 6, "not %s", me->doomed ? "restarted" : "resumed");
    return node_leave(at);
}

/* ---- deciding ---- */

static bool node_is_kid(const hierarchy_node *at, axo_ref ref)
{
    for (uint32_t i = 0; i < at->kids; i++) {
        if (axo_ref_equal(node_kid(at, i)->ref, ref))
            return true;
    }
    return false;
}

axo_directive hierarchy_answer(const hierarchy *h, const hierarchy_item *item,
                               const axo_failure *failure)
{
    bool made = failure->kind != AXO_FAILURE_INIT && failure->kind != AXO_FAILURE_POST_RESTART;
    bool resume = item->directive == AXO_RESUME;
    if (!made && node_index_of(h, item) % 2 != 0)
        resume = !resume;
    return resume ? AXO_RESUME : AXO_RESTART;
}

axo_directive hierarchy_node_decide(axo_ctx *ctx, void *state, const axo_failure *failure,
                                    void *user)
{
    node_state *me = state;
    hierarchy_node *at = me->at;
    hierarchy *h = user;
    axo_directive directive = AXO_RESTART;
    node_enter(at);
    HIERARCHY_COUNT(h, decisions);
    HIERARCHY_COUNT(h, life);
    if (!node_is_kid(at, axo_sender(ctx)))
        hierarchy_breach(h, at->index, 0, "a report of one that is no child (UID-01)");
    if (me->doomed)
        hierarchy_breach(h, at->index, 3, "an instance that is to be restarted decides");
    hierarchy_item *item = hierarchy_item_of(h, at->index, failure);
    if (item != NULL && node_take(&item->escalate)) {
        HIERARCHY_COUNT(h, escalations);
        if (hierarchy_answer(h, item, failure) == AXO_RESTART)
            me->doomed = true;
        else
            me->resuming = true;
        directive = AXO_ESCALATE;
    } else if (item != NULL && at->level > NODE_STOP_LEVEL && item->stop != 0 &&
               HIERARCHY_GET(item, post) == 0) {
        HIERARCHY_COUNT(h, stops);
        directive = AXO_STOP;
    } else if (item != NULL) {
        directive = hierarchy_answer(h, item, failure);
    }
    (void)node_leave(at);
    return directive;
}

/* ---- messages ---- */

static axo_status node_item(axo_ctx *ctx, node_state *me, const hierarchy_work *work)
{
    hierarchy_node *at = me->at;
    hierarchy *h = at->h;
    hierarchy_item *item = &h->item[work->item];
    HIERARCHY_COUNT(h, settled);
    if (!axo_ref_equal(axo_self(ctx), work->to))
        hierarchy_breach(h, at->index, 9, "a message for %016" PRIx64 " (UID-04)", work->to.bits);
    if (h->options.plant == work->item + 1)
        hierarchy_breach(h, at->index, 11, "planted in item %" PRIu32, work->item);
    if (item->directive == 0) {
        axo_ref warden = {HIERARCHY_GET(h, warden)};
        HIERARCHY_COUNT(h, pings);
        (void)axo_send(ctx, warden, TAG_PONG, NULL, 0);
        return node_leave(at);
    }
    at->failing = work->item + 1;
    return node_fail(ctx, me, work->item, item->directive);
}

static axo_status node_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    node_state *me = state;
    hierarchy_node *at = me->at;
    hierarchy *h = at->h;
    node_enter(at);
    if (!me->started || me->post_stops != 0)
        hierarchy_breach(h, at->index, 3, "a message to an instance that does not run");
    if (me->doomed)
        hierarchy_breach(h, at->index, 3, "a message to an instance that is to be restarted");
    if (at->live != 1 || me->memory[at->index % 200] != NODE_PATTERN)
        hierarchy_breach(h, at->index, 0, "the instance's memory is not its own (D2)");
    me->resuming = false;
    switch (message->tag) {
    case TAG_ITEM:
        return node_item(ctx, me, message->payload);
    case TAG_LAST: {
        hierarchy_last last = *AXO_PAYLOAD(message, hierarchy_last);
        last.index = at->index;
        (void)axo_reply(ctx, message, TAG_LAST_PONG, &last, sizeof last);
        return node_leave(at);
    }
    case AXO_TERMINATED:
        HIERARCHY_COUNT(h, life);
        (void)node_terminated(ctx, at, message->payload);
        return node_leave(at);
    default:
        hierarchy_breach(h, at->index, 0, "an unknown message, tag %" PRIu32, message->tag);
        return node_leave(at);
    }
}

const axo_class hierarchy_node_class =
    AXO_CLASS(.name = "node", .state_size = sizeof(node_state), .construct = node_construct,
              .pre_start = node_pre_start, .receive = node_receive, .post_stop = node_post_stop,
              .pre_restart = node_pre_restart, .post_restart = node_post_restart);
