/* router.c - an actor that passes messages on: its life, its messages, its settings.
 *
 * A message of the program is forwarded with its sender, so a routee answers the asker and not the
 * router. Messages to the router itself have tags of their own and are checked in full
 * (router_knows) before they are believed: a malformed one is unhandled, as at any actor.
 */
#include "pattern/router.h"

#include <string.h>

#include "pattern/given.h"

/* ---- passing on ---- */

/* Reports a message that a routee refused: a dead letter with the reason. A send to a routee that
 * has ended (AXO_EGONE) has made a dead letter already. */
static void router_drop(axo_ctx *ctx, const axo_message *message, axo_ref to, axo_status status)
{
    if (status != AXO_OK && status != AXO_EGONE)
        (void)axo_drop(ctx, message, to, axo_status_text(status));
}

/* Sends a copy to one routee; a pill or kill inside a broadcast is what its tag says. */
static axo_status router_tell(axo_ctx *ctx, axo_ref from, axo_ref to, const axo_message *message)
{
    if (message->tag == AXO_TIMER_POISON)
        return axo_poison(ctx, to);
    if (message->tag == AXO_TIMER_KILL)
        return axo_kill(ctx, to);
    return axo_send_from(ctx, from, to, message->tag, message->payload, message->size);
}

/* Sends `message` to every routee. `handled` is the message in hand, in which `message` came: only
 * it can be dropped. */
static void router_tell_all(axo_ctx *ctx, axo__router *self, const axo_message *handled,
                            const axo_message *message, axo_ref from)
{
    for (uint32_t i = 0; i < self->routees.count; i++) {
        axo_ref to = self->routees.at[i];
        router_drop(ctx, handled, to, router_tell(ctx, from, to, message));
    }
}

/* Whether the message has a handed-over payload, which only one routee could own. Such a message is
 * dropped with its reason, and its payload freed. */
static bool router_refuses(axo_ctx *ctx, const axo__router *self, const axo_message *message)
{
    axo_owned owned;
    if (axo_message_take(ctx, message, &owned) != AXO_OK)
        return false;
    (void)axo_drop(ctx, message, self->self, "a payload that was handed over is for one routee");
    if (owned.destroy != NULL)
        owned.destroy(owned.payload, owned.user);
    return true;
}

/* Gathers the first answer. A message without a sender has no answer to gather.
 * AXO_ROUTER_NO_ANSWER is never gathered: two routers that ask each other would report "no answer"
 * without end. */
static void router_gather(axo_ctx *ctx, axo__router *self, const axo_message *message)
{
    axo_ref gatherer = message->sender;
    axo_status status = AXO_OK;
    if (!axo_ref_is_none(message->sender) && message->tag != AXO_ROUTER_NO_ANSWER)
        status = axo__router_gather(ctx, self, message, &gatherer);
    if (status == AXO_OK)
        router_tell_all(ctx, self, message, message, gatherer);
    else
        router_drop(ctx, message, self->self, status);
}

static void router_pass_on(axo_ctx *ctx, axo__router *self, const axo_message *message)
{
    bool gathers = self->settings.logic == AXO_ROUTE_GATHER_FIRST;
    /* A broadcast to one routee is a forward, and may carry a handed-over payload. */
    bool one = self->routees.count == 1 && !gathers;
    if (one || self->settings.logic < AXO_ROUTE_BROADCAST) {
        axo_ref to = axo__router_choose(ctx, self, message);
        router_drop(ctx, message, to, axo_forward(ctx, message, to));
    } else if (!router_refuses(ctx, self, message)) {
        /* A message for all: each routee gets a copy, or the gatherer's reference as the sender. */
        if (gathers)
            router_gather(ctx, self, message);
        else
            router_tell_all(ctx, self, message, message, message->sender);
    }
}

/* Unwraps AXO_ROUTER_BROADCAST; router_knows_wrapped has checked its sizes. */
static void router_broadcast(axo_ctx *ctx, axo__router *self, const axo_message *message)
{
    axo_router_wrapped head;
    memcpy(&head, message->payload, sizeof head);
    axo_message inner = {.tag = head.tag, .size = message->size - (uint32_t)sizeof head};
    if (inner.size > 0)
        inner.payload = (const char *)message->payload + sizeof head;
    router_tell_all(ctx, self, message, &inner, message->sender);
}

/* Looks for missing routees and for the right size, then passes the message on. */
static axo_status router_route(axo_ctx *ctx, axo__router *self, const axo_message *message)
{
    /* a path that fails now is looked up at the next message */
    if (self->missing > 0)
        (void)axo__router_look_up(ctx, self);
    /* An empty pool looks at once: its first message must find a routee. */
    if (self->settings.resizer != NULL &&
        (++self->since >= self->resizer.messages || self->routees.count == 0))
        axo__router_resize(ctx, self);
    if (self->routees.count == 0)
        (void)axo_drop(ctx, message, self->self, "the router has no routee");
    else if (message->tag == AXO_ROUTER_BROADCAST)
        router_broadcast(ctx, self, message);
    else
        router_pass_on(ctx, self, message);
    return AXO_OK;
}

/* ---- managing ---- */

/* Reads the reference in a message. A handed-over payload may have any alignment. */
static axo_ref router_ref_in(const axo_message *message)
{
    axo_ref ref;
    memcpy(&ref, message->payload, sizeof ref);
    return ref;
}

/* RO-01: a router without routees, and without hope of one, stops itself: none is leaving, none
 * missing, and no resizer can spawn one. */
static axo_status router_settle(axo_ctx *ctx, const axo__router *self)
{
    bool over = self->routees.count == 0 && self->leaving.count == 0 &&
                self->settings.resizer == NULL && self->missing == 0;
    return over ? axo_stop_self(ctx) : AXO_OK;
}

static axo_status router_terminated(axo_ctx *ctx, axo__router *self, const axo_message *message)
{
    axo_ref ref = AXO_PAYLOAD(message, axo_terminated)->actor;
    /* An end that is not a routee's is a stranger's, or is known already. */
    if (axo__router_left(self, ref) || axo__router_take_away(self, ref, false))
        return router_settle(ctx, self);
    return AXO_OK;
}

static axo_status router_remove(axo_ctx *ctx, axo__router *self, const axo_message *message)
{
    axo_ref ref = router_ref_in(message);
    if (!axo__router_has(self, ref))
        return AXO_OK;
    /* A pool's routee is the router's child and is stopped; a group's belongs to another actor and
     * is left alone. */
    if (axo__router_is_pool(self)) {
        router_drop(ctx, message, ref, axo__router_dismiss(ctx, self, ref));
        return AXO_OK;
    }
    (void)axo_unwatch(ctx, ref);
    (void)axo__router_take_away(self, ref, true);
    return router_settle(ctx, self);
}

/* Grows or shrinks a pool by the signed number of the message; 0 - (uint32_t) is right for
 * the least number, too. */
static axo_status router_adjust(axo_ctx *ctx, axo__router *self, const axo_message *message)
{
    int32_t change;
    memcpy(&change, message->payload, sizeof change);
    axo_status status = change >= 0 ? axo__router_grow(ctx, self, (uint32_t)change)
                                    : axo__router_shrink(ctx, self, 0 - (uint32_t)change);
    router_drop(ctx, message, self->self, status);
    return AXO_OK;
}

/* Whether a broadcast's inner message has the size that its head says, and a tag that a program may
 * send. */
static bool router_knows_wrapped(const axo_message *message)
{
    axo_router_wrapped head;
    if (message->size < sizeof head)
        return false;
    memcpy(&head, message->payload, sizeof head);
    if (message->size - sizeof head != head.size)
        return false;
    return head.tag < AXO_TAG_RESERVED ||
           (head.size == 0 && (head.tag == AXO_TIMER_POISON || head.tag == AXO_TIMER_KILL));
}

/* Whether a tick of the resizer is due. A message that forges a due tick is harmless: the resizer
 * looks at its time in either case, once. */
static bool router_is_due(axo_ctx *ctx, axo__router *self, const axo_message *message)
{
    bool due = self->settings.resizer != NULL && self->resizer.interval_ns > 0 &&
               axo_ref_equal(message->sender, self->self) && axo_now(ctx) >= self->look_ns;
    if (due)
        self->look_ns = axo__context_later(self->look_ns, self->resizer.interval_ns);
    return due;
}

/* Whether a message to the router itself has the form that include/axo/router.h promises; other
 * messages are for routees. */
static bool router_knows(axo_ctx *ctx, axo__router *self, const axo_message *message)
{
    switch (message->tag) {
    case AXO_ROUTER_GET_ROUTEES:
        return message->size == 0 && !axo_ref_is_none(message->sender);
    case AXO_ROUTER_ADD:
        return message->size == sizeof(axo_ref) && !axo__router_is_pool(self) &&
               !axo_ref_is_none(router_ref_in(message));
    case AXO_ROUTER_REMOVE:
        return message->size == sizeof(axo_ref);
    case AXO_ROUTER_ADJUST:
        return message->size == sizeof(int32_t) && axo__router_is_pool(self);
    case AXO_ROUTER_BROADCAST:
        return router_knows_wrapped(message);
    case AXO__TAG_ROUTER_LOOK:
        return router_is_due(ctx, self, message);
    default:
        return message->tag < AXO_TAG_RESERVED || message->tag == AXO_TERMINATED;
    }
}

/* Lists the routees now, if there was no memory for the list after the restart; false: there is
 * none yet, and the message is dropped. */
static bool router_opens(axo_ctx *ctx, axo__router *self, const axo_message *message)
{
    axo_status status = axo__router_open(ctx, self);
    if (status == AXO_OK)
        return router_settle(ctx, self) == AXO_OK;
    if (message->tag < AXO_TAG_RESERVED && message->tag != AXO__TAG_ROUTER_LOOK)
        router_drop(ctx, message, self->self, status);
    return false;
}

static axo_status router_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    axo__router *self = state;
    if (!router_knows(ctx, self, message))
        return AXO_UNHANDLED;
    if (!self->open && !router_opens(ctx, self, message))
        return AXO_OK;
    switch (message->tag) {
    case AXO_TERMINATED:
        return router_terminated(ctx, self, message);
    case AXO_ROUTER_GET_ROUTEES:
        router_drop(ctx, message, message->sender,
                    axo_reply(ctx, message, AXO_ROUTER_ROUTEES, self->routees.at,
                              self->routees.count * sizeof(axo_ref)));
        return AXO_OK;
    case AXO_ROUTER_ADD: {
        axo_ref ref = router_ref_in(message);
        router_drop(ctx, message, ref, axo__router_join(ctx, self, ref, axo_ref_index(ref)));
        return AXO_OK;
    }
    case AXO_ROUTER_REMOVE:
        return router_remove(ctx, self, message);
    case AXO_ROUTER_ADJUST:
        return router_adjust(ctx, self, message);
    case AXO__TAG_ROUTER_LOOK:
        axo__router_resize(ctx, self);
        return AXO_OK;
    default:
        return router_route(ctx, self, message);
    }
}

/* ---- life ---- */

/* The settings are copied with what the caller's header knew; no memory is taken yet. */
static axo_status router_construct(axo_ctx *ctx, void *state, const void *args)
{
    axo__router *self = state;
    axo_status status = axo__given_read(args, &self->settings, sizeof self->settings);
    self->system = axo_system_of(ctx);
    self->self = axo_self(ctx);
    self->chance = axo_seed(ctx);
    axo__ring_init(&self->ring, self->system,
                   self->settings.virtual_nodes > 0 ? self->settings.virtual_nodes : 128);
    if (status != AXO_OK || self->settings.resizer == NULL)
        return status;
    return axo__resizer_read(self->settings.resizer, &self->resizer);
}

/* Starts the resizer's timer. */
static axo_status router_watch_size(axo_ctx *ctx, axo__router *self)
{
    int64_t interval = self->resizer.interval_ns;
    if (self->settings.resizer == NULL || interval == 0)
        return AXO_OK;
    self->look_ns = axo__context_later(axo_now(ctx), interval);
    return axo_timer_start(ctx, AXO__ROUTER_LOOK, AXO_TIMER_FIXED_DELAY, interval, interval,
                           AXO__TAG_ROUTER_LOOK, NULL, 0);
}

/* A pool spawns its routees here, so the router takes no message before all of them are there. */
static axo_status router_pre_start(axo_ctx *ctx, void *state)
{
    axo__router *self = state;
    uint32_t size = self->settings.pool > 0 ? self->settings.pool : self->resizer.routees_min;
    axo_status status = axo__router_open(ctx, self);
    if (status == AXO_OK && axo__router_is_pool(self))
        status = axo__router_grow(ctx, self, size);
    if (status == AXO_OK)
        status = router_watch_size(ctx, self);
    if (status != AXO_OK)
        return axo_fail(ctx, status, "the routees cannot be had: %s", axo_status_text(status));
    return AXO_OK;
}

/* RO-02: the children stay, and the next instance takes all of them for routees. Children that are
 * leaving are therefore stopped now; the library waits for them before the next instance is
 * made. */
static axo_status router_pre_restart(axo_ctx *ctx, void *state, const axo_failure *failure,
                                     const axo_message *message)
{
    const axo__router *self = state;
    (void)failure;
    (void)message;
    for (uint32_t i = 0; i < self->leaving.count; i++) {
        (void)axo_unwatch(ctx, self->leaving.at[i]);
        (void)axo_stop(ctx, self->leaving.at[i]);
    }
    return AXO_OK;
}

/* Without memory the next message tries again (router_opens): a router does not fail for being
 * restarted. */
static axo_status router_post_restart(axo_ctx *ctx, void *state, const axo_failure *failure)
{
    axo__router *self = state;
    (void)failure;
    /* it takes the memory that the old instance's timer has given back */
    (void)router_watch_size(ctx, self);
    return axo__router_open(ctx, self) == AXO_OK ? router_settle(ctx, self) : AXO_OK;
}

/* Names for the verdicts of asks and for axo_inspect. */
static const char *router_tag_name(uint32_t tag)
{
    switch (tag) {
    case AXO_ROUTER_GET_ROUTEES:
        return "get routees";
    case AXO_ROUTER_ADD:
        return "add routee";
    case AXO_ROUTER_REMOVE:
        return "remove routee";
    case AXO_ROUTER_ADJUST:
        return "adjust pool";
    case AXO_ROUTER_BROADCAST:
        return "broadcast";
    default:
        return NULL;
    }
}

static const axo_class router_class =
    AXO_CLASS(.name = "router", .state_size = sizeof(axo__router), .construct = router_construct,
              .pre_start = router_pre_start, .receive = router_receive,
              .pre_restart = router_pre_restart, .post_restart = router_post_restart,
              .tag_name = router_tag_name);

/* ---- settings ---- */

/* A pool: a recipe without a name, since siblings cannot share one, and no members of a group. */
static axo_status router_check_pool(const axo_router *settings)
{
    axo_resizer resizer = {.routees_min = 1, .routees_max = AXO_ROUTEES_MAX};
    uint32_t size = settings->pool;
    if (settings->child->name != NULL || settings->routees != NULL || settings->paths != NULL ||
        settings->routees_count != 0 || settings->paths_count != 0)
        return AXO_EINVAL;
    if (settings->resizer != NULL) {
        axo_status status = axo__resizer_read(settings->resizer, &resizer);
        if (status != AXO_OK)
            return status;
        size = size > 0 ? size : resizer.routees_min;
    }
    if (size < resizer.routees_min || size > resizer.routees_max ||
        settings->removal_delay_ns > AXO_DELAY_MAX)
        return AXO_EINVAL;
    return AXO_OK;
}

/* A group: references and paths, and no members of a pool. */
static axo_status router_check_group(const axo_router *settings)
{
    if (settings->pool != 0 || settings->strategy != NULL || settings->resizer != NULL ||
        settings->removal_delay_ns != 0)
        return AXO_EINVAL;
    if ((settings->routees == NULL) != (settings->routees_count == 0) ||
        (settings->paths == NULL) != (settings->paths_count == 0))
        return AXO_EINVAL;
    if ((uint64_t)settings->routees_count + settings->paths_count > AXO_ROUTEES_MAX)
        return AXO_EINVAL;
    for (uint32_t i = 0; i < settings->routees_count; i++) {
        if (axo_ref_is_none(settings->routees[i]))
            return AXO_EINVAL;
    }
    for (uint32_t i = 0; i < settings->paths_count; i++) {
        if (settings->paths[i] == NULL)
            return AXO_EINVAL;
    }
    return AXO_OK;
}

/* Whether members that belong to one logic are zero in the others: a value there would be ignored
 * in silence. */
static bool router_logic_fits(const axo_router *settings)
{
    bool hashes = settings->logic == AXO_ROUTE_HASH;
    bool gathers = settings->logic == AXO_ROUTE_GATHER_FIRST;
    if ((uint32_t)settings->logic > AXO_ROUTE_GATHER_FIRST || settings->reserved != 0)
        return false;
    if (hashes != (settings->hash_key != NULL) || settings->virtual_nodes > AXO_VIRTUAL_NODES_MAX)
        return false;
    if (!hashes && (settings->virtual_nodes != 0 || settings->user != NULL))
        return false;
    return gathers ? settings->within_ns > 0 && settings->within_ns <= AXO_DELAY_MAX
                   : settings->within_ns == 0;
}

axo_status axo_router_props(const axo_router *settings, const char *name, axo_props *props)
{
    static const axo_strategy escalates = AXO_STRATEGY(.decider = axo_decide_escalate);
    axo_router given;
    if (props == NULL)
        return AXO_EINVAL;
    axo_status status = axo__given_read(settings, &given, sizeof given);
    if (status == AXO_OK && !router_logic_fits(&given))
        status = AXO_EINVAL;
    if (status == AXO_OK)
        status = given.child != NULL ? router_check_pool(&given) : router_check_group(&given);
    if (status != AXO_OK)
        return status;
    *props = (axo_props)AXO_PROPS(.cls = &router_class, .args = settings,
                                  .args_size = settings->size, .name = name,
                                  .strategy = given.strategy);
    if (given.child != NULL && given.strategy == NULL)
        props->strategy = &escalates; /* RO-02 */
    return AXO_OK;
}

/* ---- broadcasting ---- */

static bool router_may_broadcast(uint32_t tag, const void *payload, size_t size)
{
    /* A broadcast may end all routees; both carry no payload. */
    bool ends = tag == AXO_TIMER_POISON || tag == AXO_TIMER_KILL;
    if (ends)
        return size == 0;
    return tag < AXO_TAG_RESERVED && (payload != NULL || size == 0);
}

/* The inner message behind a head that says its tag and size. */
static void router_wrap(axo_router_wrapped *head, uint32_t tag, const void *payload, size_t size)
{
    *head = (axo_router_wrapped){.tag = tag, .size = (uint32_t)size};
    if (size > 0)
        memcpy(head + 1, payload, size);
}

axo_status axo_router_broadcast(axo_ctx *ctx, axo_ref router, uint32_t tag, const void *payload,
                                size_t size)
{
    axo_draft *draft;
    void *head;
    axo_status status = axo__context_check(ctx);
    if (status != AXO_OK)
        return status;
    if (axo_ref_is_none(router) || !router_may_broadcast(tag, payload, size))
        return AXO_EINVAL;
    if (size > AXO_PAYLOAD_MAX - sizeof(axo_router_wrapped))
        return AXO_ETOOBIG;
    status = axo_message_new(ctx, AXO_ROUTER_BROADCAST, sizeof(axo_router_wrapped) + size, &draft,
                             &head);
    if (status != AXO_OK)
        return status;
    router_wrap(head, tag, payload, size);
    status = axo_send_message(ctx, router, draft);
    if (status != AXO_OK && status != AXO_EGONE)
        axo_message_discard(ctx, draft);
    return status;
}

axo_status axo_system_router_broadcast(axo_system *system, axo_ref router, uint32_t tag,
                                       const void *payload, size_t size)
{
    size_t whole = sizeof(axo_router_wrapped) + size;
    if (system == NULL || axo_ref_is_none(router) || !router_may_broadcast(tag, payload, size))
        return AXO_EINVAL;
    if (size > AXO_PAYLOAD_MAX - sizeof(axo_router_wrapped))
        return AXO_ETOOBIG;
    if (!axo__context_at_home(system))
        return AXO_EFORKED;
    /* axo_system_send copies its payload, so the wrapped one lives only for this call. */
    axo_router_wrapped *head = axo_system_alloc(system, whole);
    if (head == NULL)
        return AXO_ENOMEM;
    router_wrap(head, tag, payload, size);
    axo_status status = axo_system_send(system, router, AXO_ROUTER_BROADCAST, head, whole);
    axo_system_free(system, head, whole);
    return status;
}
