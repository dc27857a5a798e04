/* child.c - a child here of which the instances are on another node: its stand-in, and the door of
 * axo_cluster_spawn.
 *
 *   stand-in (here, the parent's child)              keeper (there, the child's parent)
 *     SPAWN                                   --->     spawns the child, watches both
 *     watches the keeper                      <---   UP, or DOWN
 *     passes messages on to the child
 *                                             <---   FAIL: the child is suspended
 *     fails; its parent decides:
 *       Resume: the next callback says ORDER  --->     resumed
 *       Restart: post_restart says ORDER      --->     restarted
 *       Stop, the parent's end: the ward
 *       says ORDER, and waits                 --->     stops the child, ends behind it
 *     notice of the keeper's end              <---
 *
 * What is said stands in wire.h. What outlives an instance of the stand-in is its life, in the copy
 * of its arguments.
 *
 * A stand-in that is to end takes no messages, so a first word of the keeper does not reach it: the
 * ward waits for that, too, which whoever takes it in notes (cluster_asking).
 *
 *   IDLE    there is no child; an instance that has not just begun waits for a node
 *   ASKED   a SPAWN is said, and not answered
 *   UP      the keeper has the child
 *
 * Invariants
 *   I1  A SPAWN is said when IDLE alone: so one keeper at a time has a child of this life.
 *   I2  A FAIL counts that is told behind the last order. One that is not was there when the order
 *       came, and the order is its answer.
 *   I3  A message is passed on when UP alone, oldest first; others are stashed.
 *
 * A Resume calls no hook, so the next callback of an instance that has failed is behind one, and
 * CLUSTER_TAG_GONE_ON, sent before the failure, sees to it that there is one. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <axo/ask.h>
#include <axo/log.h>
#include <axo/stash.h>
#include <axo/time.h>
#include <axo/watch.h>

#include "carrier.h"
#include "pattern/given.h"

#define CHILD_LOOK_NS  (200 * CLUSTER_MS)   /* for a node that comes, or goes before UP */
#define CHILD_AGAIN_NS (10 * CLUSTER_MS)    /* until what NATS had no room for is tried again */
#define CHILD_WARD_NS  (60000 * CLUSTER_MS)

enum { CHILD_TIMER_LOOK = 1, CHILD_TIMER_AGAIN };

typedef enum child_step { CHILD_IDLE = 0, CHILD_ASKED = 1, CHILD_UP = 2 } child_step;

typedef struct child_life {
    axo_cluster *cluster;
    axo_ref keeper;     /* UP */
    axo_ref child;      /* UP */
    uint32_t step;      /* a child_step */
    uint32_t number;    /* of the node; not IDLE */
    uint32_t order;     /* the last one's number, and a SPAWN's */
    uint32_t lifetime;
    bool lived;         /* it has been UP */
    cluster_asking asking;
    bool broken;        /* the instance is, so its ward ends, and waits for nobody */
    uint32_t name_size;
    uint32_t args_size;
    char node[AXO_NODE_NAME_MAX + 1];
    char spare[AXO_NODE_NAME_MAX + 1]; /* "": none */
    unsigned char what[]; /* the class's name, then the arguments */
} child_life;

typedef struct stand_in {
    child_life *life;
    bool full;    /* NATS had no room: what comes is stashed until it is tried again */
    bool failing; /* a failure waits to be raised, when settled: */
    uint32_t kind;
    int32_t code;
    char text[AXO_FAILURE_TEXT_MAX];
    bool failed;  /* it was raised; no answer yet, or the answer was Resume */
} stand_in;

/* ---- askings ---- */

static cluster_asking **asking_list(axo_cluster *cluster, axo_ref of)
{
    return &cluster->askings[(of.bits * UINT64_C(0x9e3779b97f4a7c15) >> 32) %
                             CLUSTER_ASKINGS];
}

static void asking_unlink_locked(child_life *life)
{
    cluster_asking **at = asking_list(life->cluster, life->asking.stand_in);
    while (life->asking.linked && *at != &life->asking)
        at = &(*at)->next;
    if (life->asking.linked)
        *at = life->asking.next;
    life->asking.linked = false;
}

/* Of an instance that ends, however: what it has linked goes with it. */
static void asking_unlink(void *arg)
{
    child_life *life = arg;
    (void)pthread_mutex_lock(&life->cluster->asking_mutex);
    asking_unlink_locked(life);
    (void)pthread_mutex_unlock(&life->cluster->asking_mutex);
}

/* From here on a first word of the node's is noted. One that was noted before a restart is still on
 * its way to the stand-in. */
static axo_status asking_link(axo_ctx *ctx, child_life *life, uint32_t number, uint32_t order)
{
    axo_status status = axo_defer(ctx, asking_unlink, life);
    if (status != AXO_OK)
        return status;
    (void)pthread_mutex_lock(&life->cluster->asking_mutex);
    asking_unlink_locked(life);
    if (life->asking.number != number || life->asking.order != order)
        life->asking = (cluster_asking){.stand_in = axo_self(ctx), .number = number,
                                        .order = order};
    life->asking.linked = true;
    cluster_asking **list = asking_list(life->cluster, life->asking.stand_in);
    life->asking.next = *list;
    *list = &life->asking;
    (void)pthread_mutex_unlock(&life->cluster->asking_mutex);
    return AXO_OK;
}

void cluster_child_heard(axo_cluster *cluster, axo_ref keeper, axo_ref to,
                         const cluster_word *word)
{
    if (word->kind != CLUSTER_WORD_UP && word->kind != CLUSTER_WORD_DOWN)
        return;
    (void)pthread_mutex_lock(&cluster->asking_mutex);
    cluster_asking *it = *asking_list(cluster, to);
    while (it != NULL && !axo_ref_equal(it->stand_in, to))
        it = it->next;
    if (it != NULL && it->number == axo_ref_node(keeper) && it->order == word->order) {
        it->answered = true;
        it->keeper = word->kind == CLUSTER_WORD_UP ? keeper : axo_ref_none();
        (void)pthread_cond_broadcast(&cluster->asking_cond);
    }
    (void)pthread_mutex_unlock(&cluster->asking_mutex);
}

/* ---- orders ---- */

static void child_say_order(axo_ref self, child_life *life, axo_directive what)
{
    const cluster_word word = {.kind = CLUSTER_WORD_ORDER, .order = ++life->order,
                               .what = (uint32_t)what};
    /* a node that cannot be told is lost, which the watch of the keeper tells */
    (void)cluster_peer_say(life->cluster, life->number, life->keeper.bits & (CLUSTER_BITS_END - 1),
                           self, &word);
}

/* ---- the ward: a child of the stand-in, which ends behind the keeper. It stays over restarts, in
 * the midst of which a stop may come ---- */

static axo_status ward_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    *(const child_life **)state = args;
    return AXO_OK;
}

static axo_status ward_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)ctx;
    (void)state;
    (void)message;
    return AXO_UNHANDLED;
}

/* A keeper's first word; AXO_EGONE: it is not to come. */
static axo_status ward_hear(child_life *life, int64_t end)
{
    axo_cluster *cluster = life->cluster;
    axo_node unused;
    axo_status status = AXO_OK;
    int64_t until = cluster_now();
    (void)pthread_mutex_lock(&cluster->asking_mutex);
    while (life->asking.linked && !life->asking.answered && status == AXO_OK && until < end) {
        until = cluster_now() + CHILD_LOOK_NS;
        const struct timespec at = {.tv_sec = until / INT64_C(1000000000),
                                    .tv_nsec = until % INT64_C(1000000000)};
        (void)pthread_cond_timedwait(&cluster->asking_cond, &cluster->asking_mutex, &at);
        status = axo_remote_node(cluster->system, life->number, &unused);
    }
    life->keeper = life->asking.keeper;
    (void)pthread_mutex_unlock(&cluster->asking_mutex);
    return axo_ref_is_none(life->keeper) ? AXO_EGONE : AXO_OK;
}

/* The keeper answers nobody: what ends the ask is its end, or that of its node. */
static void ward_ask(const child_life *life, int64_t end)
{
    axo_system *system = life->cluster->system;
    const struct timespec pause = {.tv_nsec = CHILD_AGAIN_NS};
    axo_status status = AXO_EFULL;
    for (int64_t now = cluster_now(); status == AXO_EFULL && now < end; now = cluster_now()) {
        axo_asked asked;
        status = axo_system_ask(system, life->keeper, 1, NULL, 0, end - now, &asked);
        if (status == AXO_OK)
            axo_asked_free(system, &asked);
        if (status == AXO_EFULL) /* NATS has no room */
            (void)nanosleep(&pause, NULL);
    }
}

typedef struct ward_work {
    child_life *life;
    axo_ref stand_in;
} ward_work;

static void ward_wait(void *arg)
{
    const ward_work *work = arg;
    child_life *life = work->life;
    const int64_t end = cluster_now() + CHILD_WARD_NS;
    if (life->step == CHILD_ASKED && ward_hear(life, end) != AXO_OK)
        return;
    child_say_order(work->stand_in, life, AXO_STOP);
    ward_ask(life, end);
}

/* The stand-in is at rest meanwhile, so its life is the ward's. */
static axo_status ward_post_stop(axo_ctx *ctx, void *state)
{
    ward_work work = {.life = *(child_life **)state, .stand_in = axo_parent(ctx)};
    if (work.life->step == CHILD_IDLE || work.life->broken)
        return AXO_OK;
    return axo_block(ctx, ward_wait, &work);
}

static axo_status stays_pre_restart(axo_ctx *ctx, void *state, const axo_failure *failure,
                                    const axo_message *message)
{
    (void)ctx;
    (void)state;
    (void)failure;
    (void)message;
    return AXO_OK;
}

static axo_status ward_post_restart(axo_ctx *ctx, void *state, const axo_failure *failure)
{
    (void)ctx;
    (void)state;
    (void)failure;
    return AXO_OK;
}

static const axo_class ward_class =
    AXO_CLASS(.name = "axo remote child ward", .state_size = sizeof(child_life *),
              .construct = ward_construct, .receive = ward_receive, .post_stop = ward_post_stop,
              .pre_restart = stays_pre_restart, .post_restart = ward_post_restart);

static axo_status ward_spawn(axo_ctx *ctx, child_life *life)
{
    axo_ref unused;
    axo_props props = AXO_PROPS(.cls = &ward_class, .args = life,
                                .dispatcher = AXO_DISPATCH_BLOCKING);
    return axo_spawn(ctx, &props, &unused);
}

/* ---- failures ---- */

static void child_blame(axo_ctx *ctx, stand_in *me, uint32_t kind, int32_t code, const char *format,
                        ...) __attribute__((format(printf, 5, 6)));

/* The first one counts. */
static void child_blame(axo_ctx *ctx, stand_in *me, uint32_t kind, int32_t code, const char *format,
                        ...)
{
    va_list list;
    if (me->failing)
        return;
    va_start(list, format);
    (void)vsnprintf(me->text, sizeof me->text, format, list);
    va_end(list);
    me->failing = true;
    me->kind = kind;
    me->code = code;
    (void)axo_want_settle(ctx);
}

/* Of these an instance is broken: its children end before anything is decided. */
static bool child_breaks(uint32_t kind)
{
    return kind == AXO_FAILURE_CRASH || kind == AXO_FAILURE_STUCK || kind == AXO_FAILURE_INIT ||
           kind == AXO_FAILURE_POST_RESTART;
}

static axo_status child_settle(axo_ctx *ctx, void *state)
{
    stand_in *me = state;
    if (!me->failing)
        return AXO_OK;
    if (axo_send(ctx, axo_self(ctx), CLUSTER_TAG_GONE_ON, NULL, 0) != AXO_OK)
        return axo_want_settle(ctx); /* no memory for it: tried again */
    me->failing = false;
    me->failed = true;
    me->life->broken = child_breaks(me->kind);
    return axo_fail_as(ctx, (axo_failure_kind)me->kind, me->code, "%s", me->text);
}

static void child_resumed(axo_ctx *ctx, stand_in *me)
{
    me->failed = false;
    if (me->life->step == CHILD_UP)
        child_say_order(axo_self(ctx), me->life, AXO_RESUME);
    else
        child_blame(ctx, me, AXO_FAILURE_CRASH, 0, "there is nothing to resume");
}

/* It has ended, or its node has: what it has failed with is of no use to one that ends with it. */
static void child_ended(axo_ctx *ctx, stand_in *me, bool lost)
{
    child_life *life = me->life;
    life->step = CHILD_IDLE;
    life->keeper = axo_ref_none();
    life->child = axo_ref_none();
    if (lost)
        (void)axo_log(ctx, AXO_LOG_WARNING, "its node is lost");
    if (life->lifetime == AXO_PERMANENT) {
        child_blame(ctx, me, AXO_FAILURE_ENDED, lost ? AXO_EGONE : 0, "%s",
                    lost ? "its node is lost" : "it has ended");
        return;
    }
    me->failing = false;
    (void)axo_stop_self(ctx);
}

/* ---- its begin ---- */

static uint32_t child_node(const child_life *life)
{
    uint32_t number = cluster_roster_number(life->cluster, life->node);
    if (number == 0 && life->spare[0] != 0)
        number = cluster_roster_number(life->cluster, life->spare);
    return number;
}

/* AXO_EGONE: no node is up. */
static axo_status child_ask(axo_ctx *ctx, child_life *life)
{
    uint32_t number = child_node(life);
    const cluster_word word = {.kind = CLUSTER_WORD_SPAWN, .order = life->order + 1,
                               .what = life->name_size, .bits = axo_parent(ctx).bits,
                               .bytes = life->what, .size = life->name_size + life->args_size};
    if (number == 0)
        return AXO_EGONE;
    axo_status status = asking_link(ctx, life, number, word.order);
    if (status == AXO_OK)
        status = cluster_peer_say(life->cluster, number, 1, axo_self(ctx), &word);
    if (status != AXO_OK)
        return status;
    life->number = number;
    life->order++;
    life->step = CHILD_ASKED;
    return AXO_OK;
}

static axo_status child_timer(axo_ctx *ctx, uint32_t key, axo_timer_kind kind, int64_t every)
{
    return axo_timer_start(ctx, key, kind, every, every, CLUSTER_TAG_LOOK, &key, sizeof key);
}

/* The first instance has to have a node; a later one waits until there is one. */
static axo_status child_begin(axo_ctx *ctx, stand_in *me, bool again)
{
    child_life *life = me->life;
    life->broken = false;
    axo_status status = axo_child_count(ctx) == 0 ? ward_spawn(ctx, life) : AXO_OK;
    if (status == AXO_OK)
        status = child_timer(ctx, CHILD_TIMER_LOOK, AXO_TIMER_FIXED_DELAY, CHILD_LOOK_NS);
    if (status != AXO_OK)
        return status;
    if (life->step == CHILD_UP) {
        child_say_order(axo_self(ctx), life, AXO_RESTART);
        return axo_watch(ctx, life->keeper);
    }
    if (life->step == CHILD_ASKED)
        return asking_link(ctx, life, life->number, life->order);
    status = child_ask(ctx, life);
    if (status == AXO_EGONE && again)
        return AXO_OK;
    return status == AXO_OK ? AXO_OK : axo_fail(ctx, status, "its node is not up");
}

static axo_status child_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    ((stand_in *)state)->life = (child_life *)(uintptr_t)args; /* the actor's own copy */
    return AXO_OK;
}

static axo_status child_pre_start(axo_ctx *ctx, void *state)
{
    return child_begin(ctx, state, false);
}

static axo_status child_post_restart(axo_ctx *ctx, void *state, const axo_failure *failure)
{
    (void)failure;
    return child_begin(ctx, state, true);
}

/* ---- what the keeper says ---- */

static axo_status child_up(axo_ctx *ctx, stand_in *me, axo_ref keeper, const cluster_word *word)
{
    child_life *life = me->life;
    if (life->step != CHILD_ASKED || word->order != life->order)
        return AXO_OK;
    life->step = CHILD_UP;
    life->lived = true;
    life->keeper = keeper;
    life->child.bits = (keeper.bits & ~(CLUSTER_BITS_END - 1)) | word->bits;
    (void)axo_timer_stop(ctx, CHILD_TIMER_LOOK);
    (void)axo_unstash_all(ctx);
    return axo_watch(ctx, keeper);
}

static void child_down(axo_ctx *ctx, stand_in *me, const cluster_word *word)
{
    child_life *life = me->life;
    if (life->step != CHILD_ASKED || word->order != life->order)
        return;
    life->step = CHILD_IDLE;
    child_blame(ctx, me, life->lived ? AXO_FAILURE_POST_RESTART : AXO_FAILURE_INIT, word->code,
                "%.*s", (int)word->size, (const char *)word->bytes);
}

static axo_status child_word(axo_ctx *ctx, stand_in *me, const axo_message *message)
{
    const child_life *life = me->life;
    cluster_word word;
    if (axo_ref_node(message->sender) != life->number ||
        !cluster_wire_read_word(message->tag - CLUSTER_TAG_WORD, message->payload, message->size,
                                &word))
        return AXO_OK;
    if (word.kind == CLUSTER_WORD_UP)
        return child_up(ctx, me, message->sender, &word);
    if (word.kind == CLUSTER_WORD_DOWN)
        child_down(ctx, me, &word);
    if (word.kind == CLUSTER_WORD_FAIL && life->step == CHILD_UP && word.order == life->order &&
        axo_ref_equal(message->sender, life->keeper))
        child_blame(ctx, me, word.what, word.code, "%.*s", (int)word.size,
                    (const char *)word.bytes);
    return AXO_OK;
}

static void child_look(axo_ctx *ctx, stand_in *me, const axo_message *message)
{
    child_life *life = me->life;
    axo_node unused;
    uint32_t key = 0;
    if (message->size == sizeof key)
        memcpy(&key, message->payload, sizeof key);
    if (key == CHILD_TIMER_AGAIN) {
        me->full = false;
        (void)axo_unstash_all(ctx);
    } else if (life->step == CHILD_IDLE && !me->failing) {
        (void)child_ask(ctx, life);
    } else if (life->step == CHILD_ASKED &&
               axo_remote_node(life->cluster->system, life->number, &unused) != AXO_OK) {
        child_ended(ctx, me, true);
    }
}

/* ---- messages ---- */

static axo_status child_keep(axo_ctx *ctx)
{
    axo_status status = axo_stash(ctx);
    if (status == AXO_OK)
        return AXO_OK;
    return axo_fail(ctx, status, "%s: it has %u messages that wait", axo_status_text(status),
                    axo_stash_count(ctx));
}

/* Those that are stashed stay in front of those that come: so what finds no room waits. */
static axo_status child_pass(axo_ctx *ctx, stand_in *me, const axo_message *message)
{
    const child_life *life = me->life;
    if (message->tag >= AXO_TAG_SERVICES)
        return AXO_UNHANDLED;
    if (life->step != CHILD_UP || me->full)
        return child_keep(ctx);
    axo_status status = axo_forward(ctx, message, life->child);
    if (status == AXO_OK || status == AXO_EGONE)
        return AXO_OK;
    if ((status == AXO_EFULL || status == AXO_ENOMEM) &&
        child_timer(ctx, CHILD_TIMER_AGAIN, AXO_TIMER_ONCE, CHILD_AGAIN_NS) == AXO_OK) {
        me->full = true;
        return child_keep(ctx);
    }
    (void)axo_drop(ctx, message, life->child, axo_status_text(status));
    return AXO_OK;
}

static axo_status child_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    stand_in *me = state;
    const bool own = axo_ref_equal(message->sender, axo_self(ctx));
    if (me->failed)
        child_resumed(ctx, me);
    if (message->tag == AXO_TERMINATED) {
        const axo_terminated *end = AXO_PAYLOAD(message, axo_terminated);
        if (axo_ref_equal(end->actor, me->life->keeper))
            child_ended(ctx, me, end->address_terminated != 0);
        return AXO_OK;
    }
    if (message->tag > CLUSTER_TAG_WORD && message->tag <= CLUSTER_TAG_WORD + CLUSTER_WORD_ORDER)
        return child_word(ctx, me, message);
    if (message->tag == CLUSTER_TAG_LOOK && own)
        child_look(ctx, me, message);
    if (own && (message->tag == CLUSTER_TAG_LOOK || message->tag == CLUSTER_TAG_GONE_ON))
        return AXO_OK;
    return child_pass(ctx, me, message);
}

static const axo_class child_class =
    AXO_CLASS(.name = "axo remote child", .state_size = sizeof(stand_in),
              .construct = child_construct, .pre_start = child_pre_start,
              .receive = child_receive, .pre_restart = stays_pre_restart,
              .post_restart = child_post_restart, .settle = child_settle);

/* ---- the door ---- */

static axo_status spawn_names(const axo_cluster *cluster, const axo_cluster_child *child)
{
    if (child->node == NULL || child->cls == NULL)
        return AXO_EINVAL;
    if (!cluster_is_name(child->node) || !cluster_is_class(child->cls) ||
        (child->spare != NULL && !cluster_is_name(child->spare)))
        return AXO_ENAME;
    const char *here = cluster->remote.here.name;
    if (strcmp(child->node, here) == 0 ||
        (child->spare != NULL && strcmp(child->spare, here) == 0))
        return AXO_EINVAL;
    return AXO_OK;
}

static axo_status spawn_check(axo_ctx *ctx, axo_cluster *cluster, const axo_cluster_child *child)
{
    axo_status status = spawn_names(cluster, child);
    if (status != AXO_OK)
        return status;
    if (child->lifetime > AXO_TEMPORARY || (child->args == NULL && child->args_size > 0))
        return AXO_EINVAL;
    size_t size = CLUSTER_WORD_SIZE + strlen(child->cls) + child->args_size;
    if (child->args_size > AXO_CLUSTER_ARGS_MAX ||
        size + CLUSTER_BODY_SIZE + CLUSTER_FRAME_SIZE + CLUSTER_AROUND_MAX >
            atomic_load(&cluster->packet_max))
        return AXO_ETOOBIG;
    if (!cluster_find_may(cluster))
        return AXO_ESTOPPING;
    return axo_system_of(ctx) == cluster->system ? AXO_OK : AXO_EINVAL;
}

static child_life *spawn_life(axo_cluster *cluster, const axo_cluster_child *child, size_t *size)
{
    size_t name = strlen(child->cls);
    *size = sizeof(child_life) + name + child->args_size;
    child_life *life = calloc(1, *size);
    if (life == NULL)
        return NULL;
    life->cluster = cluster;
    life->lifetime = child->lifetime;
    life->name_size = (uint32_t)name;
    life->args_size = (uint32_t)child->args_size;
    memcpy(life->node, child->node, strlen(child->node));
    if (child->spare != NULL)
        memcpy(life->spare, child->spare, strlen(child->spare));
    memcpy(life->what, child->cls, name);
    if (child->args_size > 0)
        memcpy(life->what + name, child->args, child->args_size);
    return life;
}

axo_status axo_cluster_spawn(axo_ctx *ctx, axo_cluster *cluster, const axo_cluster_child *child,
                             axo_ref *out)
{
    axo_cluster_child read;
    size_t size;
    if (out == NULL)
        return AXO_EINVAL;
    *out = axo_ref_none();
    axo_status status = cluster != NULL ? axo__given_read(child, &read, sizeof read) : AXO_EINVAL;
    if (status == AXO_OK && axo_system_of(ctx) == NULL)
        status = AXO_ECONTEXT;
    if (status == AXO_OK)
        status = spawn_check(ctx, cluster, &read);
    if (status != AXO_OK)
        return status;
    child_life *life = spawn_life(cluster, &read, &size);
    if (life == NULL)
        return AXO_ENOMEM;
    axo_props props = AXO_PROPS(.cls = &child_class, .args = life, .args_size = size,
                                .name = read.name, .stash_max = read.stash_max,
                                .lifetime = (axo_lifetime)read.lifetime);
    status = child_node(life) != 0 ? axo_spawn(ctx, &props, out) : AXO_EGONE;
    free(life);
    return status;
}
