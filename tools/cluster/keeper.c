/* keeper.c - a child here of which the parent is on another node: its keeper, an actor between the
 * two, and the nursery, the keepers' parent.
 *
 * A keeper's decider says AXO_LATER and asks the stand-in (child.c), whose parent decides. Its
 * answer is an order, with a number: the keeper has the decider asked again, which gives it. An
 * order for a child that has not failed is a restart, and the child is told to fail. A failure is
 * told with the number of the last order: one that has crossed the next order is known by that.
 *
 * The keeper watches the stand-in, whose end ends the child, and the child, behind which it ends:
 * so its end is the child's for the stand-in, and comes behind all that the child has sent to its
 * parent. */
#include <string.h>

#include <axo/memory.h>
#include <axo/time.h>
#include <axo/watch.h>

#include "carrier.h"
#include "pattern/given.h"

_Static_assert(CLUSTER_ARGS_MAX == AXO_CLUSTER_ARGS_MAX, "one bound");
_Static_assert(CLUSTER_CLASS_MAX == AXO_CLUSTER_CLASS_NAME_MAX, "one bound");

#define KEEPER_AGAIN_NS (10 * CLUSTER_MS)

typedef struct keeper {
    axo_cluster *cluster;
    const cluster_class *cls;
    axo_ref stand_in;
    axo_ref parent;
    axo_ref child;
    uint32_t order;    /* the last one's number */
    uint32_t wanted;   /* the directive of one that waits for the decider; 0: none does */
    uint32_t injected; /* failures that the child was told and has not come to */
    bool open;         /* a failure is told, and not answered */
} keeper;

/* The arguments of the child stand behind it. */
typedef struct keeper_args {
    axo_cluster *cluster;
    const cluster_class *cls;
    axo_ref stand_in;
    axo_ref parent;
    uint32_t order;
    uint32_t args_size;
    _Alignas(max_align_t) unsigned char args[];
} keeper_args;

static void keeper_say(axo_cluster *cluster, axo_ref from, axo_ref to, const cluster_word *word)
{
    /* a node that cannot be told is lost, which the keeper's watch tells */
    (void)cluster_peer_say(cluster, axo_ref_node(to), to.bits & (CLUSTER_BITS_END - 1), from, word);
}

/* `code` is why there is no child. */
static void keeper_say_down(axo_cluster *cluster, axo_ref from, axo_ref to, uint32_t order,
                            axo_status code, const char *why)
{
    const cluster_word word = {.kind = CLUSTER_WORD_DOWN, .order = order, .code = code,
                               .bytes = why, .size = strnlen(why, AXO_FAILURE_TEXT_MAX - 1)};
    keeper_say(cluster, from, to, &word);
}

/* ---- what the child fails with ---- */

static bool keeper_takes_back(keeper *me, const axo_failure *failure)
{
    bool told = failure->has_message != 0 && failure->tag == AXO_INJECTED && me->injected > 0;
    me->injected -= told;
    return told;
}

/* A failure that the child was told, and that another has overtaken, is of no use any more. */
static axo_directive keeper_decides(axo_ctx *ctx, void *state, const axo_failure *failure,
                                    void *user)
{
    keeper *me = state;
    (void)user;
    bool told = keeper_takes_back(me, failure);
    axo_directive wanted = (axo_directive)me->wanted;
    me->wanted = 0;
    if (wanted != 0)
        return wanted;
    if (told)
        return AXO_RESUME;
    const cluster_word word = {.kind = CLUSTER_WORD_FAIL, .order = me->order,
                               .what = failure->kind, .code = failure->code,
                               .bytes = failure->text,
                               .size = strnlen(failure->text, AXO_FAILURE_TEXT_MAX - 1)};
    me->open = true;
    keeper_say(me->cluster, axo_self(ctx), me->stand_in, &word);
    return AXO_LATER;
}

/* A mailbox that is full is tried again. */
static void keeper_inject(axo_ctx *ctx, keeper *me)
{
    axo_status status =
        axo_system_fail(me->cluster->system, me->child, AXO_FAILURE_ORDINARY, 0);
    me->injected += status == AXO_OK;
    if (status != AXO_OK && status != AXO_EGONE)
        (void)axo_timer_start(ctx, 1, AXO_TIMER_ONCE, KEEPER_AGAIN_NS, 0, CLUSTER_TAG_LOOK, NULL,
                              0);
}

static void keeper_order(axo_ctx *ctx, keeper *me, const axo_message *message)
{
    cluster_word word;
    if (!cluster_wire_read_word(CLUSTER_WORD_ORDER, message->payload, message->size, &word))
        return;
    me->order = word.order;
    if (word.what == AXO_STOP) {
        (void)axo_stop(ctx, me->child);
        return;
    }
    if (!me->open && word.what != AXO_RESTART)
        return;
    me->wanted = word.what;
    if (me->open) {
        me->open = false;
        (void)axo_decide_again(ctx, me->child);
        return;
    }
    keeper_inject(ctx, me);
}

/* ---- its life ---- */

static axo_status keeper_spawn(axo_ctx *ctx, keeper *me, const keeper_args *given)
{
    axo_props props = me->cls->props;
    props.args = given->args_size > 0 ? given->args : NULL;
    props.args_size = given->args_size;
    axo_status status = axo_watch(ctx, me->stand_in);
    if (status == AXO_OK)
        status = axo_spawn(ctx, &props, &me->child);
    if (status == AXO_OK)
        status = axo_watch(ctx, me->child);
    return status;
}

static axo_status keeper_construct(axo_ctx *ctx, void *state, const void *args)
{
    const keeper_args *given = args;
    keeper *me = state;
    *me = (keeper){.cluster = given->cluster, .cls = given->cls, .stand_in = given->stand_in,
                   .parent = given->parent, .order = given->order};
    axo_status status = keeper_spawn(ctx, me, given);
    if (status != AXO_OK) {
        keeper_say_down(me->cluster, axo_self(ctx), me->stand_in, me->order, status,
                        axo_status_text(status));
        return axo_stop_self(ctx);
    }
    const cluster_word up = {.kind = CLUSTER_WORD_UP, .order = me->order, .bits = me->child.bits};
    keeper_say(me->cluster, axo_self(ctx), me->stand_in, &up);
    return AXO_OK;
}

/* What the child, and who else is of this node, sends to its parent is passed on to that, also
 * while the child ends: so the keeper ends by its own will, behind the child. */
static axo_status keeper_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    keeper *me = state;
    if (message->tag == AXO_TERMINATED)
        return axo_ref_equal(AXO_PAYLOAD(message, axo_terminated)->actor, me->child)
                   ? axo_stop_self(ctx)
                   : axo_stop(ctx, me->child);
    if (message->tag == CLUSTER_TAG_WORD + CLUSTER_WORD_ORDER &&
        axo_ref_equal(message->sender, me->stand_in)) {
        keeper_order(ctx, me, message);
        return AXO_OK;
    }
    if (message->tag == CLUSTER_TAG_LOOK && axo_ref_equal(message->sender, axo_self(ctx))) {
        if (me->wanted == AXO_RESTART)
            keeper_inject(ctx, me);
        return AXO_OK;
    }
    if (message->tag >= AXO_TAG_SERVICES || axo_ref_node(message->sender) != 0 ||
        axo_ref_is_none(message->sender))
        return AXO_UNHANDLED;
    axo_status status = axo_forward(ctx, message, me->parent);
    if (status != AXO_OK && status != AXO_EGONE)
        (void)axo_drop(ctx, message, me->parent, axo_status_text(status));
    return AXO_OK;
}

static const axo_class keeper_class =
    AXO_CLASS(.name = "axo remote child keeper", .state_size = sizeof(keeper),
              .construct = keeper_construct, .receive = keeper_receive);

/* ---- the nursery ---- */

static const cluster_class *nursery_find(const axo_cluster *cluster, const cluster_word *word)
{
    for (uint32_t i = 0; i < cluster->class_count; i++) {
        const cluster_class *cls = &cluster->classes[i];
        if (strlen(cls->name) == word->what && memcmp(cls->name, word->bytes, word->what) == 0)
            return cls;
    }
    return NULL;
}

static axo_status nursery_spawn(axo_ctx *ctx, axo_cluster *cluster, axo_ref stand_in,
                                const cluster_word *word)
{
    static const axo_strategy strategy = AXO_STRATEGY(.decider = keeper_decides);
    axo_ref ref;
    const cluster_class *cls = nursery_find(cluster, word);
    if (cls == NULL)
        return AXO_ENOENT;
    if (axo_child_count(ctx) >= AXO_CLUSTER_CHILDREN_MAX)
        return AXO_ELIMIT;
    const size_t args_size = word->size - word->what;
    keeper_args *args = axo_alloc(ctx, sizeof *args + args_size);
    if (args == NULL)
        return AXO_ENOMEM;
    const axo_ref parent = {.bits = (stand_in.bits & ~(CLUSTER_BITS_END - 1)) | word->bits};
    *args = (keeper_args){.cluster = cluster, .cls = cls, .stand_in = stand_in, .parent = parent,
                          .order = word->order, .args_size = (uint32_t)args_size};
    if (args_size > 0)
        memcpy(args->args, (const unsigned char *)word->bytes + word->what, args_size);
    axo_props props = AXO_PROPS(.cls = &keeper_class, .args = args,
                                .args_size = sizeof *args + args_size, .strategy = &strategy);
    axo_status status = axo_spawn(ctx, &props, &ref);
    axo_free(ctx, args);
    return status;
}

static axo_status nursery_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    *(axo_cluster **)state = (axo_cluster *)(uintptr_t)args;
    return AXO_OK;
}

static axo_status nursery_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    axo_cluster *cluster = *(axo_cluster **)state;
    cluster_word word;
    if (message->tag != CLUSTER_TAG_WORD + CLUSTER_WORD_SPAWN || axo_ref_node(message->sender) == 0)
        return AXO_UNHANDLED;
    if (!cluster_wire_read_word(CLUSTER_WORD_SPAWN, message->payload, message->size, &word))
        return AXO_OK;
    axo_status status = nursery_spawn(ctx, cluster, message->sender, &word);
    if (status != AXO_OK)
        keeper_say_down(cluster, axo_self(ctx), message->sender, word.order, status,
                        status == AXO_ENOENT ? "its node does not know the class"
                                             : axo_status_text(status));
    return AXO_OK;
}

static const axo_class nursery_class =
    AXO_CLASS(.name = "axo remote children", .state_size = sizeof(axo_cluster *),
              .construct = nursery_construct, .receive = nursery_receive);

axo_status cluster_nursery_start(axo_cluster *cluster)
{
    static const axo_strategy strategy = AXO_STRATEGY(.decider = axo_decide_stop);
    axo_props props = AXO_PROPS(.cls = &nursery_class, .args = cluster, .strategy = &strategy);
    return axo_system_spawn(cluster->system, &props, &cluster->nursery);
}

void cluster_nursery_end(axo_cluster *cluster)
{
    if (!axo_ref_is_none(cluster->nursery))
        (void)axo_system_stop_actor(cluster->system, cluster->nursery);
    cluster->nursery = axo_ref_none();
}

/* ---- classes ---- */

bool cluster_is_class(const char *name)
{
    return name[0] != 0 && strnlen(name, CLUSTER_CLASS_MAX + 1) <= CLUSTER_CLASS_MAX;
}

axo_status axo_cluster_add_class(axo_cluster *cluster, const char *name, const axo_props *props)
{
    axo_props read;
    axo_status status =
        cluster != NULL && name != NULL ? axo__given_read(props, &read, sizeof read) : AXO_EINVAL;
    if (status != AXO_OK)
        return status;
    if (!cluster_is_class(name))
        return AXO_ENAME;
    if (read.cls == NULL || read.args != NULL || read.args_size != 0 || read.name != NULL ||
        read.lifetime != AXO_TRANSIENT || read.system_actor != 0)
        return AXO_EINVAL;
    if (cluster->system != NULL)
        return AXO_EBUSY;
    const cluster_word word = {.what = (uint32_t)strlen(name), .bytes = name};
    if (nursery_find(cluster, &word) != NULL)
        return AXO_EEXIST;
    if (cluster->class_count == AXO_CLUSTER_CLASSES_MAX)
        return AXO_ELIMIT;
    cluster_class *cls = &cluster->classes[cluster->class_count++];
    cls->props = read;
    memcpy(cls->name, name, strlen(name) + 1);
    return AXO_OK;
}
