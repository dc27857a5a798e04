/* writer.c - the actor that writes: it takes all that has come, has it written while others go on
 * (axo_block), answers those that asked, and wakes the actors that have got something. */
#include <string.h>

#include "store.h"

/* How long what could not be written waits. */
#define WRITER_RETRY_NS INT64_C(50000000)
/* Passes at the end, at most: what is not written then is handled again, or was never persisted. */
enum { WRITER_LAST = 64 };

typedef struct writer {
    axo_store *store;
} writer;

/* ---- what others tell it ---- */

axo_status durable_writer_wake(axo_store *store, axo_ctx *ctx)
{
    if (store->woken)
        return AXO_OK;
    axo_status status = ctx != NULL
                            ? axo_send(ctx, store->writer, DURABLE_WORK, NULL, 0)
                            : axo_system_send(store->system, store->writer, DURABLE_WORK, NULL, 0);
    store->woken = status == AXO_OK;
    return status;
}

void durable_writer_enlist(axo_store *store, durable_life *life)
{
    if (life->working)
        return;
    life->working = true;
    life->next_work = NULL;
    *store->work_end = life;
    store->work_end = &life->next_work;
}

axo_status durable_writer_work(axo_ctx *ctx, durable_life *life)
{
    axo_store *store = life->store;
    (void)pthread_mutex_lock(&store->mutex);
    durable_writer_enlist(store, life);
    axo_status status = store->closed ? AXO_OK : durable_writer_wake(store, ctx);
    (void)pthread_mutex_unlock(&store->mutex);
    return status;
}

/* ---- what it tells others ---- */

static void writer_answer(axo_ctx *ctx, axo_store *store, durable_request *request)
{
    if (request->draft != NULL) {
        *request->slot = request->answer;
        axo_status status = axo_send_message(ctx, request->asker, request->draft);
        if (status != AXO_OK && status != AXO_EGONE)
            axo_message_discard(ctx, request->draft);
        durable_request_free(store, request);
        return;
    }
    (void)pthread_mutex_lock(&store->mutex);
    bool abandoned = request->abandoned;
    request->done = true;
    (void)pthread_cond_broadcast(&store->answered);
    (void)pthread_mutex_unlock(&store->mutex);
    if (abandoned)
        durable_request_free(store, request);
}

static void writer_answer_all(axo_ctx *ctx, durable_pass *pass)
{
    while (pass->requests != NULL) {
        durable_request *request = pass->requests;
        pass->requests = request->next;
        writer_answer(ctx, pass->store, request);
    }
}

/* An instance that is not there yet looks by itself when it is. */
static bool writer_wake_actor(axo_ctx *ctx, durable_life *life)
{
    axo_draft *draft;
    void *none;
    (void)pthread_mutex_lock(&life->mutex);
    bool idle = life->sent == NULL && life->hand == NULL;
    bool wanted = life->instance != 0 && !life->woken &&
                  ((idle && life->pending.first != NULL) || life->back.first != NULL || life->read);
    uint32_t instance = life->instance;
    (void)pthread_mutex_unlock(&life->mutex);
    if (!wanted)
        return true;
    if (axo_message_new(ctx, DURABLE_WAKE, 0, &draft, &none) != AXO_OK)
        return false;
    (void)axo_draft_bind(ctx, draft, instance);
    (void)pthread_mutex_lock(&life->mutex);
    life->woken = life->woken || life->instance == instance;
    (void)pthread_mutex_unlock(&life->mutex);
    axo_status status = axo_send_message(ctx, life->self, draft);
    if (status == AXO_OK || status == AXO_EGONE)
        return true;
    (void)pthread_mutex_lock(&life->mutex);
    life->woken = life->woken && life->instance != instance;
    (void)pthread_mutex_unlock(&life->mutex);
    axo_message_discard(ctx, draft);
    return false;
}

/* ---- lives ---- */

static bool writer_watch(axo_ctx *ctx, durable_life *life)
{
    axo_store *store = life->store;
    const durable_end end = {.life = life, .secret = store->secret};
    (void)pthread_mutex_lock(&store->mutex);
    bool wanted = life->fresh && !axo_ref_is_none(life->self);
    axo_ref self = life->self;
    (void)pthread_mutex_unlock(&store->mutex);
    if (wanted)
        life->fresh = axo_watch_with(ctx, self, DURABLE_GONE, &end, sizeof end) != AXO_OK;
    return !wanted || !life->fresh;
}

static bool writer_is_empty(const durable_life *life)
{
    return life->done.first == NULL && life->dead.first == NULL && life->events.first == NULL &&
           life->snapshot == NULL && life->noted == 0 && life->taken_done.first == NULL &&
           life->taken_dead.first == NULL && life->taken_events.first == NULL &&
           life->taken_snapshot == NULL && life->taken_note == 0;
}

/* One that has ended, and has nothing left to write, makes room for the next one of its name. */
static bool writer_retire(durable_life *life)
{
    axo_store *store = life->store;
    (void)pthread_mutex_lock(&life->mutex);
    bool empty = writer_is_empty(life);
    (void)pthread_mutex_unlock(&life->mutex);
    (void)pthread_mutex_lock(&store->mutex);
    bool retires = life->ended && empty && !life->working;
    if (retires) {
        durable_life **at = &life->queue->lives;
        while (*at != life)
            at = &(*at)->next_life;
        *at = life->next_life;
        if (life->queue->lives != NULL)
            durable_writer_enlist(store, life->queue->lives);
    }
    (void)pthread_mutex_unlock(&store->mutex);
    if (retires)
        durable_life_free(life);
    return retires;
}

/* It goes into the next pass with all that its last instance has left. */
static void writer_gone(durable_life *life)
{
    axo_store *store = life->store;
    (void)pthread_mutex_lock(&life->mutex);
    durable_reset(life);
    durable_list_clear(&life->pending);
    (void)pthread_mutex_unlock(&life->mutex);
    (void)pthread_mutex_lock(&store->mutex);
    life->ended = true;
    durable_writer_enlist(store, life);
    (void)pthread_mutex_unlock(&store->mutex);
}

/* ---- a turn ---- */

static void writer_run(void *pass)
{
    durable_pass_run(pass);
}

/* Whether all lives are through with it; the others are put back. */
static bool writer_let_go(axo_ctx *ctx, durable_pass *pass)
{
    axo_store *store = pass->store;
    bool all = pass->unfinished == 0;
    while (pass->lives != NULL) {
        durable_life *life = pass->lives;
        pass->lives = life->next_pass;
        life->passing = false;
        if (writer_retire(life))
            continue;
        bool good = writer_watch(ctx, life);
        good = writer_wake_actor(ctx, life) && good;
        all = all && good;
        if (good && pass->unfinished == 0)
            continue;
        (void)pthread_mutex_lock(&store->mutex);
        durable_writer_enlist(store, life);
        (void)pthread_mutex_unlock(&store->mutex);
    }
    return all;
}

/* Without memory for the timer the next settle is the time. */
static void writer_try_later(axo_ctx *ctx, axo_store *store)
{
    if (store->retry_due)
        return;
    store->retry_due =
        axo_send_after(ctx, WRITER_RETRY_NS, axo_self(ctx), DURABLE_WORK, NULL, 0) == AXO_OK;
    if (!store->retry_due)
        (void)axo_want_settle(ctx);
}

static void writer_sync_later(axo_ctx *ctx, axo_store *store)
{
    if (store->sync != AXO_SYNC_INTERVAL || store->sync_due)
        return;
    store->sync_due = axo_send_after(ctx, store->sync_ms * INT64_C(1000000), axo_self(ctx),
                                     DURABLE_SYNC, NULL, 0) == AXO_OK;
    if (!store->sync_due)
        (void)store->base->sync(store->on);
}

static void writer_turn(axo_ctx *ctx, axo_store *store)
{
    durable_pass pass;
    uint32_t failing = store->failing;
    durable_pass_take(&pass, store);
    bool wrote = pass.requests != NULL || pass.lives != NULL;
    if (axo_block(ctx, writer_run, &pass) != AXO_OK)
        durable_pass_run(&pass);
    if (failing == 0 && store->failing > 0)
        (void)axo_log(ctx, AXO_LOG_ERROR, "the store cannot go on, and tries again: %s",
                      durable_disk_text(store, pass.unfinished));
    writer_answer_all(ctx, &pass);
    if (!writer_let_go(ctx, &pass))
        writer_try_later(ctx, store);
    if (wrote)
        writer_sync_later(ctx, store);
    (void)pthread_mutex_lock(&store->mutex);
    bool more = store->work != NULL || store->requests != NULL;
    axo_status status = more && !store->retry_due ? durable_writer_wake(store, ctx) : AXO_OK;
    (void)pthread_mutex_unlock(&store->mutex);
    if (status != AXO_OK)
        (void)axo_want_settle(ctx);
}

static axo_status writer_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    memcpy(&((writer *)state)->store, args, sizeof(axo_store *));
    return AXO_OK;
}

static axo_status writer_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    axo_store *store = ((writer *)state)->store;
    durable_end end;
    switch (message->tag) {
    case DURABLE_WORK:
        store->retry_due = false;
        writer_turn(ctx, store);
        return AXO_OK;
    case DURABLE_SYNC:
        store->sync_due = false;
        (void)store->base->sync(store->on);
        return AXO_OK;
    case DURABLE_GONE:
        if (message->size != sizeof end)
            return AXO_UNHANDLED;
        memcpy(&end, message->payload, sizeof end);
        if (end.secret != store->secret)
            return AXO_UNHANDLED;
        writer_gone(end.life);
        writer_turn(ctx, store);
        return AXO_OK;
    default:
        return AXO_UNHANDLED;
    }
}

static axo_status writer_settle(axo_ctx *ctx, void *state)
{
    writer_turn(ctx, ((writer *)state)->store);
    return AXO_OK;
}

static bool writer_closes(axo_store *store)
{
    (void)pthread_mutex_lock(&store->mutex);
    bool idle = store->requests == NULL && store->work == NULL;
    store->closed = store->closed || idle;
    (void)pthread_mutex_unlock(&store->mutex);
    return idle;
}

/* What has come is written; from then on nothing comes. */
static axo_status writer_post_stop(axo_ctx *ctx, void *state)
{
    axo_store *store = ((writer *)state)->store;
    durable_pass pass = {.unfinished = 0};
    for (int i = 0;
         i < WRITER_LAST && !durable_pass_is_away(pass.unfinished) && !writer_closes(store); i++) {
        durable_pass_take(&pass, store);
        durable_pass_run(&pass);
        writer_answer_all(ctx, &pass);
        (void)writer_let_go(ctx, &pass);
    }
    (void)pthread_mutex_lock(&store->mutex);
    store->closed = true;
    (void)pthread_mutex_unlock(&store->mutex);
    durable_pass_take(&pass, store);
    for (durable_request *it = pass.requests; it != NULL; it = it->next)
        it->answer.status = AXO_ESTOPPING;
    writer_answer_all(ctx, &pass);
    for (durable_life *it = pass.lives; it != NULL; it = it->next_pass)
        it->passing = false;
    return AXO_OK;
}

const axo_class durable_writer_class =
    AXO_CLASS(.name = "axo store", .state_size = sizeof(writer), .construct = writer_construct,
              .receive = writer_receive, .post_stop = writer_post_stop, .settle = writer_settle);

/* ---- the end ---- */

void durable_writer_last(axo_store *store)
{
    durable_pass pass = {.store = store};
    for (size_t i = 0; i < DURABLE_BUCKETS; i++) {
        for (durable_queue *queue = store->buckets[i]; queue != NULL; queue = queue->next) {
            for (durable_life *life = queue->lives; life != NULL; life = life->next_life) {
                (void)pthread_mutex_lock(&life->mutex);
                durable_reset(life);
                (void)pthread_mutex_unlock(&life->mutex);
                life->ended = true;
                durable_writer_enlist(store, life);
            }
        }
    }
    durable_pass_take(&pass, store);
    durable_pass_run(&pass);
}
