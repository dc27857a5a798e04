/* life.c - lives of grains: actors of the program's classes, with a few steps round each callback,
 * and their parents, a guardian for each kind.
 *
 * A life takes a message from the machine and sends it to itself, as a message of the runtime with
 * the tag, the sender and the payload that it was sent with; it is known by the address of its
 * payload. Only one is on its way at a time: the machine gives the next one when the handler of the
 * former is known to be over. A handler that has failed, by a status, a throw or a crash, has left
 * `in_hand` behind: the next callback finds it there, and for there to be one each handler asks for
 * a settle first. One that comes to no handler, as the life ends or the instance does, is given
 * back: so it is bound to the instance, and no dead letter that anybody needs to see. */
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include <axo/watch.h>

#include "silo.h"

typedef struct life_state {
    cluster_life *life;
    bool hollow; /* the lease did not cover the begin of the instance: its end is asked */
} life_state;

static void *life_user(life_state *me)
{
    return (char *)me + me->life->kind->state_at;
}

/* `covers` is said a moment after the lease is renewed: whom it does not cover asks the machine. */
static bool life_is_covered(cluster_silo *silo)
{
    if (cluster_silo_now() < atomic_load(&silo->covers))
        return true;
    cluster_silo_lock(silo);
    bool covers = !silo->ended && cluster_lease_covers(&silo->grains.lease, cluster_silo_now());
    cluster_silo_unlock(silo);
    return covers;
}

/* Whether a handler may begin. Once it is false it stays so: the life ends. */
static bool life_may(cluster_life *life)
{
    bool covers = life_is_covered(life->kind->silo);
    return covers && !atomic_load(&life->ending);
}

/* ---- lives by reference: the silo's lock is held, as in all up to the program's callbacks ---- */

static cluster_life **life_head(cluster_silo *silo, axo_ref ref)
{
    return &silo->lives[cluster_rendezvous_hash(&ref, sizeof ref) % CLUSTER_LIFE_HEADS];
}

static cluster_life *life_find(cluster_silo *silo, axo_ref ref)
{
    cluster_life *life = *life_head(silo, ref);
    while (life != NULL && !axo_ref_equal(life->ref, ref))
        life = life->next;
    return life;
}

static void life_link(cluster_life *life)
{
    cluster_life **head = life_head(life->kind->silo, life->ref);
    life->next = *head;
    *head = life;
}

static void life_unlink(cluster_life *life)
{
    if (!axo_ref_is_none(life->ref)) {
        cluster_life **at = life_head(life->kind->silo, life->ref);
        while (*at != life)
            at = &(*at)->next;
        *at = life->next;
    }
    cluster_life **at = &life->kind->todo;
    while (life->queued && *at != life)
        at = &(*at)->then;
    if (life->queued)
        *at = life->then;
}

/* ---- what a guardian has to do ---- */

/* false: the guardian cannot be told, now or ever. */
static bool kind_tell(cluster_kind *kind)
{
    axo_system *system = kind->silo->cluster->system;
    if (kind->gone)
        return false;
    if (!kind->told)
        kind->told = axo_system_send(system, kind->guardian, CLUSTER_SILO_LOOK, NULL, 0) == AXO_OK;
    return kind->told;
}

static void life_queue(cluster_life *life)
{
    if (life->queued)
        return;
    life->queued = true;
    life->then = life->kind->todo;
    life->kind->todo = life;
}

bool cluster_life_begin(void *user, cluster_grain *grain)
{
    cluster_silo *silo = user;
    const cluster_grain_name *name = cluster_grain_named(grain);
    cluster_kind *kind = cluster_silo_kind(silo, name->kind);
    cluster_life *life = kind != NULL && !kind->gone ? calloc(1, sizeof *life) : NULL;
    if (life == NULL)
        return false;
    life->kind = kind;
    life->grain = grain;
    memcpy(life->key, name->key, name->size);
    life->given = (axo_grain_given){.cluster = silo->cluster, .kind = kind->name,
                                    .key = life->key, .fence = cluster_grain_fence(grain),
                                    .args = kind->props.args};
    life_queue(life);
    if (!kind_tell(kind)) {
        life_unlink(life);
        free(life);
        return false;
    }
    silo->begun++;
    cluster_grain_keep(grain, life, kind->idle_ns);
    return true;
}

static void life_wake(cluster_life *life)
{
    axo_system *system = life->kind->silo->cluster->system;
    axo_status status = axo_system_send(system, life->ref, CLUSTER_SILO_LOOK, NULL, 0);
    life->unwoken = status != AXO_OK && status != AXO_EGONE;
    life->kind->silo->unwoken |= life->unwoken;
}

/* One that is not spawned looks when it begins; one that has a message, behind that. */
void cluster_life_ready(void *user, cluster_grain *grain)
{
    cluster_life *life = cluster_grain_kept(grain);
    (void)user;
    if (!axo_ref_is_none(life->ref) && !life->has)
        life_wake(life);
}

void cluster_life_end(void *user, cluster_grain *grain)
{
    cluster_life *life = cluster_grain_kept(grain);
    (void)user;
    atomic_store(&life->ending, true);
    life_queue(life);
    (void)kind_tell(life->kind);
}

bool cluster_life_retry(cluster_silo *silo)
{
    bool all = true;
    for (uint32_t i = 0; i < silo->kinds_count; i++) {
        cluster_kind *kind = silo->kinds[i];
        if (kind->todo != NULL && !kind->gone)
            all = kind_tell(kind) && all;
    }
    if (!silo->unwoken)
        return all;
    silo->unwoken = false;
    for (uint32_t i = 0; i < CLUSTER_LIFE_HEADS; i++) {
        for (cluster_life *life = silo->lives[i]; life != NULL; life = life->next) {
            if (life->unwoken)
                life_wake(life);
        }
    }
    return all && !silo->unwoken;
}

/* ---- the end of a life ---- */

/* One that has handled nothing is not begun again by the same message for ever. */
static void life_spoil(cluster_life *life)
{
    cluster_silo *silo = life->kind->silo;
    cluster_parcel parcel;
    if (life->took || !cluster_grain_take(&silo->grains, cluster_silo_now(), life->grain, &parcel))
        return;
    silo->undelivered++;
    cluster_silo_dead(silo, &parcel);
    cluster_grain_done(&silo->grains, cluster_silo_now(), life->grain);
}

static void life_over(cluster_life *life)
{
    cluster_silo *silo = life->kind->silo;
    cluster_grain *grain = life->grain;
    life_unlink(life);
    if (!silo->ended && life->sent != NULL)
        cluster_grain_untake(&silo->grains, grain);
    if (!silo->ended)
        life_spoil(life);
    free(life);
    if (!silo->ended)
        cluster_grain_ended(&silo->grains, cluster_silo_now(), grain);
}

void cluster_lives_free(cluster_silo *silo)
{
    for (uint32_t i = 0; i < silo->kinds_count; i++) {
        cluster_life *next;
        for (cluster_life *life = silo->kinds[i]->todo; life != NULL; life = next) {
            next = life->then;
            life->queued = false;
            if (axo_ref_is_none(life->ref))
                free(life);
        }
        silo->kinds[i]->todo = NULL;
    }
    for (uint32_t i = 0; i < CLUSTER_LIFE_HEADS; i++) {
        while (silo->lives[i] != NULL) {
            cluster_life *life = silo->lives[i];
            silo->lives[i] = life->next;
            free(life);
        }
    }
}

/* ---- the guardian ---- */

static axo_status guardian_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    *(cluster_kind **)state = (cluster_kind *)(uintptr_t)args;
    return AXO_OK;
}

/* false: it cannot be spawned; `life` is no more. */
static bool guardian_spawn(axo_ctx *ctx, cluster_life *life)
{
    axo_props props = life->kind->props;
    props.cls = &life->kind->cls;
    props.args = life;
    props.args_size = 0;
    if (atomic_load(&life->ending) || axo_spawn(ctx, &props, &life->ref) != AXO_OK) {
        life->ref = axo_ref_none();
        life_over(life);
        return false;
    }
    life_link(life);
    return true;
}

/* What had no memory stays to be done. */
static void guardian_do(axo_ctx *ctx, cluster_life *life)
{
    life->queued = false;
    if (axo_ref_is_none(life->ref) && !guardian_spawn(ctx, life))
        return;
    if (!life->watched)
        life->watched = axo_watch(ctx, life->ref) == AXO_OK;
    if (atomic_load(&life->ending) && !life->told_end)
        life->told_end = axo_stop(ctx, life->ref) != AXO_ECONTEXT;
    if (!life->watched)
        life_queue(life);
}

static void guardian_look(axo_ctx *ctx, cluster_kind *kind)
{
    cluster_life *life = kind->todo;
    kind->told = false;
    kind->todo = NULL;
    for (cluster_life *then; life != NULL; life = then) {
        then = life->then;
        guardian_do(ctx, life);
    }
}

static axo_status guardian_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    cluster_kind *kind = *(cluster_kind **)state;
    cluster_silo *silo = kind->silo;
    if (message->tag != CLUSTER_SILO_LOOK && message->tag != AXO_TERMINATED)
        return AXO_UNHANDLED;
    cluster_silo_lock(silo);
    if (message->tag == CLUSTER_SILO_LOOK) {
        guardian_look(ctx, kind);
    } else {
        cluster_life *life = life_find(silo, AXO_PAYLOAD(message, axo_terminated)->actor);
        if (life != NULL)
            life_over(life);
    }
    cluster_silo_unlock(silo);
    return AXO_OK;
}

/* Of a failure that a grain's strategy escalates: lives are there before and behind it. */
static axo_status guardian_pre_restart(axo_ctx *ctx, void *state, const axo_failure *failure,
                                       const axo_message *message)
{
    (void)ctx;
    (void)state;
    (void)failure;
    (void)message;
    return AXO_OK;
}

/* All its children have terminated, and nobody tells it. */
static axo_status guardian_post_stop(axo_ctx *ctx, void *state)
{
    cluster_kind *kind = *(cluster_kind **)state;
    cluster_silo *silo = kind->silo;
    (void)ctx;
    cluster_silo_lock(silo);
    kind->gone = true;
    while (kind->todo != NULL) {
        cluster_life *life = kind->todo;
        kind->todo = life->then;
        life->queued = false;
        if (axo_ref_is_none(life->ref))
            life_over(life);
    }
    for (uint32_t i = 0; i < CLUSTER_LIFE_HEADS; i++) {
        for (cluster_life *life = silo->lives[i], *next; life != NULL; life = next) {
            next = life->next;
            if (life->kind == kind)
                life_over(life);
        }
    }
    cluster_silo_unlock(silo);
    return AXO_OK;
}

static const axo_class guardian_class =
    AXO_CLASS(.name = "grains' guardian", .state_size = sizeof(cluster_kind *),
              .construct = guardian_construct, .receive = guardian_receive,
              .pre_restart = guardian_pre_restart, .post_stop = guardian_post_stop);

axo_status cluster_life_guardian(cluster_kind *kind)
{
    axo_props props = AXO_PROPS(.cls = &guardian_class, .args = kind, .strategy = kind->strategy);
    kind->gone = false;
    kind->told = false;
    return axo_system_spawn(kind->silo->cluster->system, &props, &kind->guardian);
}

/* ---- messages ---- */

static void life_free(void *payload, void *user)
{
    (void)user;
    free(payload);
}

/* Its last message is over. The machine is told, and may give the next one. */
static void life_done(cluster_life *life)
{
    cluster_silo *silo = life->kind->silo;
    life->in_hand = false;
    cluster_silo_lock(silo);
    life->has = false;
    if (!silo->ended)
        cluster_grain_done(&silo->grains, cluster_silo_now(), life->grain);
    cluster_silo_unlock(silo);
}

/* What it has sent itself comes not, or not in time: it waits again, for this life or another. */
static void life_undo(cluster_life *life)
{
    cluster_silo *silo = life->kind->silo;
    cluster_silo_lock(silo);
    if (life->sent != NULL && !silo->ended)
        cluster_grain_untake(&silo->grains, life->grain);
    life->has = life->has && life->sent == NULL;
    life->sent = NULL;
    cluster_silo_unlock(silo);
}

/* A handler that has failed has left its message. */
static void life_look(cluster_life *life)
{
    if (life->in_hand)
        life_done(life);
}

/* A copy of the payload, as the program knows it. NULL: no memory, or a decode that cannot. */
static void *life_payload(cluster_life *life, const cluster_parcel *parcel, cluster_letter *letter)
{
    cluster_coded coded;
    memcpy(letter, parcel->body, sizeof *letter);
    const void *bytes = (const char *)parcel->body + sizeof *letter;
    axo_status status = cluster_decode(life->kind->silo->cluster, letter->tag, bytes, letter->size,
                                       &coded);
    void *copy = status == AXO_OK ? malloc(coded.size > 0 ? coded.size : 1) : NULL;
    if (copy != NULL && coded.size > 0)
        memcpy(copy, coded.bytes, coded.size);
    letter->size = (uint32_t)coded.size;
    free(coded.large);
    return copy;
}

static bool life_send(axo_ctx *ctx, const cluster_letter *letter, void *payload)
{
    axo_draft *draft;
    const axo_owned owned = {.payload = payload, .size = letter->size, .destroy = life_free};
    if (axo_message_owning(ctx, letter->tag, &owned, &draft) != AXO_OK) {
        free(payload);
        return false;
    }
    (void)axo_draft_from(ctx, draft, letter->sender);
    (void)axo_draft_bind(ctx, draft, axo_instance(ctx));
    axo_status status = axo_send_message(ctx, axo_self(ctx), draft);
    if (status != AXO_OK && status != AXO_EGONE)
        axo_message_discard(ctx, draft);
    return status == AXO_OK || status == AXO_EGONE;
}

/* Takes the next message, and sends it to the actor itself. */
static bool life_take(axo_ctx *ctx, cluster_life *life)
{
    cluster_silo *silo = life->kind->silo;
    cluster_letter letter;
    cluster_parcel parcel;
    bool sent = false;
    cluster_silo_lock(silo);
    bool took = !silo->ended &&
                cluster_grain_take(&silo->grains, cluster_silo_now(), life->grain, &parcel);
    if (took) {
        life->sent = life_payload(life, &parcel, &letter);
        sent = life->sent != NULL && life_send(ctx, &letter, life->sent);
    }
    if (took && !sent) {
        life->sent = NULL;
        silo->undelivered++;
        cluster_silo_dead(silo, &parcel);
        cluster_grain_done(&silo->grains, cluster_silo_now(), life->grain);
    }
    life->has = life->has || sent;
    cluster_silo_unlock(silo);
    return took && !sent;
}

static void life_pump(axo_ctx *ctx, cluster_life *life)
{
    while (life->sent == NULL && !life->in_hand && life_take(ctx, life))
        continue;
}

/* ---- the program's callbacks ---- */

static axo_status life_construct(axo_ctx *ctx, void *state, const void *args)
{
    life_state *me = state;
    me->life = (cluster_life *)(uintptr_t)args;
    const axo_class *of = &me->life->kind->of;
    life_look(me->life);
    life_undo(me->life);
    me->hollow = !life_may(me->life);
    axo_status status = axo_want_settle(ctx);
    if (status != AXO_OK || me->hollow || of->construct == NULL)
        return status;
    return of->construct(ctx, life_user(me), &me->life->given);
}

static axo_status life_pre_start(axo_ctx *ctx, void *state)
{
    life_state *me = state;
    const axo_class *of = &me->life->kind->of;
    return !me->hollow && of->pre_start != NULL ? of->pre_start(ctx, life_user(me)) : AXO_OK;
}

static axo_status life_post_stop(axo_ctx *ctx, void *state)
{
    life_state *me = state;
    const axo_class *of = &me->life->kind->of;
    return !me->hollow && of->post_stop != NULL ? of->post_stop(ctx, life_user(me)) : AXO_OK;
}

static axo_status life_pre_restart(axo_ctx *ctx, void *state, const axo_failure *failure,
                                   const axo_message *message)
{
    life_state *me = state;
    const axo_class *of = &me->life->kind->of;
    if (me->hollow || of->pre_restart == NULL)
        return axo_default_pre_restart(ctx, state, failure, message);
    return of->pre_restart(ctx, life_user(me), failure, message);
}

static axo_status life_post_restart(axo_ctx *ctx, void *state, const axo_failure *failure)
{
    life_state *me = state;
    const axo_class *of = &me->life->kind->of;
    if (me->hollow || of->post_restart == NULL)
        return axo_default_post_restart(ctx, state, failure);
    return of->post_restart(ctx, life_user(me), failure);
}

/* What has come when the lease is over is not handled. */
static axo_status life_drop(axo_ctx *ctx, cluster_life *life, const axo_message *message,
                            bool parcel)
{
    if (parcel)
        life_undo(life);
    else
        (void)axo_drop(ctx, message, axo_self(ctx), "the life of the grain is over");
    return AXO_OK;
}

static axo_status life_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    life_state *me = state;
    cluster_life *life = me->life;
    bool parcel = life->sent != NULL && message->payload == life->sent;
    life_look(life);
    if (message->tag == CLUSTER_SILO_LOOK) {
        life_pump(ctx, life);
        return AXO_OK;
    }
    if (me->hollow || !life_may(life))
        return life_drop(ctx, life, message, parcel);
    if (parcel) {
        life->sent = NULL;
        life->took = true;
        life->in_hand = true;
        (void)axo_want_settle(ctx);
    }
    axo_status status = life->kind->of.receive(ctx, life_user(me), message);
    if (parcel && (status == AXO_OK || status == AXO_UNHANDLED)) {
        life_done(life);
        life_pump(ctx, life);
    }
    return status;
}

static axo_status life_settle(axo_ctx *ctx, void *state)
{
    life_state *me = state;
    const axo_class *of = &me->life->kind->of;
    life_look(me->life);
    life_pump(ctx, me->life);
    return !me->hollow && of->settle != NULL ? of->settle(ctx, life_user(me)) : AXO_OK;
}

/* The program's state stands behind this one's, on an address that is as round as its size. */
void cluster_life_class(cluster_kind *kind)
{
    size_t align = kind->of.state_size & (0 - kind->of.state_size);
    align = align > AXO_STATE_ALIGN ? AXO_STATE_ALIGN : align;
    align = align < alignof(max_align_t) ? alignof(max_align_t) : align;
    kind->state_at = (sizeof(life_state) + align - 1) / align * align;
    kind->cls = kind->of;
    kind->cls.state_size = kind->state_at + kind->of.state_size;
    kind->cls.construct = life_construct;
    kind->cls.pre_start = life_pre_start;
    kind->cls.receive = life_receive;
    kind->cls.post_stop = life_post_stop;
    kind->cls.pre_restart = life_pre_restart;
    kind->cls.post_restart = life_post_restart;
    kind->cls.settle = life_settle;
}
