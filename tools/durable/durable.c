/* durable.c - spawning and sending: the doors of axo/durable.h for actors, and for threads. */
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "pattern/given.h"
#include "store.h"

static bool durable_is_name(const char *name)
{
    return name != NULL && name[0] != 0 && strnlen(name, AXO_NAME_MAX + 1) <= AXO_NAME_MAX;
}

/* ---- spawn ---- */

static axo_status spawn_read(const axo_durable *recipe, axo_durable *out, axo_journal *journal)
{
    axo_status status = axo__given_read(recipe, out, sizeof *out);
    if (status == AXO_OK && out->journal != NULL)
        status = axo__given_read(out->journal, journal, sizeof *journal);
    if (status != AXO_OK)
        return status;
    if (out->store == NULL || out->reserved != 0 ||
        (out->journal != NULL && journal->apply == NULL))
        return AXO_EINVAL;
    return durable_is_name(out->name) ? AXO_OK : AXO_ENAME;
}

static axo_status spawn_read_props(const axo_props *props, axo_props *out)
{
    axo_status status = axo__given_read(props, out, sizeof *out);
    if (status != AXO_OK)
        return status;
    bool good = out->cls != NULL && out->cls->receive != NULL && out->args_size <= AXO_ARGS_MAX &&
                (out->args_size == 0 || out->args != NULL) && out->cls->size <= sizeof(axo_class);
    return good ? AXO_OK : AXO_EINVAL;
}

static durable_life *spawn_life(const axo_durable *recipe, const axo_journal *journal,
                                const axo_props *props)
{
    durable_life *life = durable_alloc(recipe->store->system, sizeof *life);
    if (life == NULL)
        return NULL;
    life->store = recipe->store;
    life->of = props->cls;
    life->state_at = durable_state_at(props->cls);
    life->fails_max = recipe->fails_max != 0 ? recipe->fails_max : AXO_DURABLE_FAILS;
    life->journalled = recipe->journal != NULL;
    if (life->journalled)
        life->journal = *journal;
    life->fresh = true;
    (void)pthread_mutex_init(&life->mutex, NULL);
    life->args = props->args;
    if (props->args_size == 0)
        return life;
    life->copy = durable_alloc(life->store->system, props->args_size);
    if (life->copy == NULL) {
        durable_life_free(life);
        return NULL;
    }
    life->copy_size = props->args_size;
    memcpy(life->copy, props->args, props->args_size);
    life->args = life->copy;
    return life;
}

/* The last of a name must have ended; store->mutex is held. */
static axo_status spawn_enlist(durable_life *life, const char *name, const axo_class **cls)
{
    axo_store *store = life->store;
    char path[2];
    if (store->closed)
        return AXO_ESTOPPING;
    *cls = durable_class_of(store, life->of);
    life->queue = durable_queue_of(store, name);
    if (*cls == NULL || life->queue == NULL)
        return AXO_ENOMEM;
    durable_life **end = &life->queue->lives;
    for (; *end != NULL; end = &(*end)->next_life) {
        const durable_life *other = *end;
        if (!other->ended &&
            (axo_ref_is_none(other->self) ||
             axo_system_path(store->system, other->self, path, sizeof path) != AXO_EGONE))
            return AXO_EEXIST;
    }
    *end = life;
    return AXO_OK;
}

/* The actor's construct tells the writer of it; one that has not come to be is told of here. */
static void spawn_done(axo_ctx *ctx, durable_life *life, axo_status status, axo_ref self)
{
    axo_store *store = life->store;
    (void)pthread_mutex_lock(&store->mutex);
    life->self = self;
    if (status != AXO_OK)
        life->ended = true;
    durable_writer_enlist(store, life);
    if (!store->closed)
        (void)durable_writer_wake(store, ctx);
    (void)pthread_mutex_unlock(&store->mutex);
}

static axo_status spawn_run(axo_ctx *ctx, const axo_durable *read, const axo_journal *journal,
                            axo_props *own, axo_ref *out)
{
    const axo_class *cls;
    axo_store *store = read->store;
    durable_life *life = spawn_life(read, journal, own);
    if (life == NULL)
        return AXO_ENOMEM;
    (void)pthread_mutex_lock(&store->mutex);
    axo_status status = spawn_enlist(life, read->name, &cls);
    (void)pthread_mutex_unlock(&store->mutex);
    if (status != AXO_OK) {
        durable_life_free(life);
        return status;
    }
    own->cls = cls;
    own->args = &life;
    own->args_size = sizeof(durable_life *);
    own->stash_max = own->stash_max != 0 ? own->stash_max : UINT32_MAX;
    status = ctx != NULL ? axo_spawn(ctx, own, out) : axo_system_spawn(store->system, own, out);
    spawn_done(ctx, life, status, *out);
    return status;
}

static axo_status durable_spawn(axo_ctx *ctx, axo_system *system, const axo_durable *recipe,
                                const axo_props *props, axo_ref *out)
{
    axo_durable read;
    axo_journal journal;
    axo_props own;
    *out = axo_ref_none();
    if (recipe == NULL || props == NULL || system == NULL)
        return AXO_EINVAL;
    axo_status status = spawn_read(recipe, &read, &journal);
    if (status == AXO_OK)
        status = spawn_read_props(props, &own);
    if (status == AXO_OK && read.store->system != system)
        status = AXO_EINVAL;
    if (status != AXO_OK)
        return status;
    durable_enter(read.store);
    status = spawn_run(ctx, &read, &journal, &own, out);
    durable_leave(read.store);
    return status;
}

axo_status axo_durable_spawn(axo_ctx *ctx, const axo_durable *recipe, const axo_props *props,
                             axo_ref *out)
{
    if (out == NULL)
        return AXO_EINVAL;
    *out = axo_ref_none();
    axo_system *system = axo_system_of(ctx);
    return system != NULL ? durable_spawn(ctx, system, recipe, props, out) : AXO_ECONTEXT;
}

axo_status axo_system_durable_spawn(axo_system *system, const axo_durable *recipe,
                                    const axo_props *props, axo_ref *out)
{
    return out != NULL ? durable_spawn(NULL, system, recipe, props, out) : AXO_EINVAL;
}

/* ---- send ---- */

static axo_status send_check(const axo_store *store, const char *name, uint32_t tag,
                             const void *payload, size_t size)
{
    if (store == NULL || tag >= AXO_TAG_SERVICES || (payload == NULL && size > 0))
        return AXO_EINVAL;
    if (store->pid != getpid())
        return AXO_EFORKED;
    if (!durable_is_name(name))
        return AXO_ENAME;
    return size <= AXO_PAYLOAD_MAX ? AXO_OK : AXO_ETOOBIG;
}

static durable_request *send_make(axo_store *store, axo_ref sender, uint32_t tag,
                                  const void *payload, size_t size)
{
    struct timespec now;
    durable_request *request = durable_alloc(store->system, sizeof *request);
    if (request == NULL)
        return NULL;
    request->block = durable_block_make(store->system, tag, payload, size);
    if (request->block == NULL) {
        axo_system_free(store->system, request, sizeof *request);
        return NULL;
    }
    (void)clock_gettime(CLOCK_REALTIME, &now);
    request->block->sender = sender;
    request->block->accepted_ns = now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
    return request;
}

void durable_request_free(axo_store *store, durable_request *request)
{
    durable_block_drop(request->block);
    axo_system_free(store->system, request, sizeof *request);
}

/* Puts a request before the writer; store->mutex is held. Without memory to wake him nothing has
 * changed. */
static axo_status send_put(axo_ctx *ctx, axo_store *store, const char *name,
                           durable_request *request)
{
    if (store->closed)
        return AXO_ESTOPPING;
    request->queue = durable_queue_of(store, name);
    if (request->queue == NULL)
        return AXO_ENOMEM;
    axo_status status = durable_writer_wake(store, ctx);
    if (status != AXO_OK)
        return status == AXO_EGONE ? AXO_ESTOPPING : status;
    request->next = NULL;
    *store->requests_end = request;
    store->requests_end = &request->next;
    return AXO_OK;
}

axo_status axo_durable_send(axo_ctx *ctx, axo_store *store, const char *name, uint32_t tag,
                            const void *payload, size_t size, uint64_t id)
{
    void *slot;
    axo_ref self = axo_self(ctx);
    if (axo_ref_is_none(self))
        return AXO_ECONTEXT;
    axo_status status = send_check(store, name, tag, payload, size);
    if (status == AXO_OK && store->system != axo_system_of(ctx))
        status = AXO_EINVAL;
    if (status != AXO_OK)
        return status;
    durable_request *request = send_make(store, self, tag, payload, size);
    if (request == NULL)
        return AXO_ENOMEM;
    request->asker = self;
    request->answer.id = id;
    status = axo_message_new(ctx, AXO_DURABLE_ANSWER, sizeof(axo_durable_answer), &request->draft,
                             &slot);
    if (status != AXO_OK) {
        durable_request_free(store, request);
        return status;
    }
    request->slot = slot;
    (void)axo_draft_from(ctx, request->draft, store->writer);
    (void)axo_draft_bind(ctx, request->draft, axo_instance(ctx));
    axo_draft *draft = request->draft;
    (void)pthread_mutex_lock(&store->mutex);
    status = send_put(ctx, store, name, request);
    (void)pthread_mutex_unlock(&store->mutex);
    if (status == AXO_OK) { /* the request is the writer's */
        (void)axo_draft_keep(ctx, draft);
        return AXO_OK;
    }
    axo_message_discard(ctx, draft);
    durable_request_free(store, request);
    return status;
}

/* ---- from a thread ---- */

static void send_until(int64_t timeout_ns, struct timespec *until)
{
    (void)clock_gettime(CLOCK_MONOTONIC, until);
    const int64_t at = until->tv_nsec + timeout_ns % 1000000000;
    until->tv_sec += (time_t)(timeout_ns / 1000000000 + at / 1000000000);
    until->tv_nsec = (long)(at % 1000000000);
}

/* Waits for the answer; false: the time is over, and the request is the writer's to free. */
static bool send_wait(axo_store *store, durable_request *request, int64_t timeout_ns)
{
    struct timespec until;
    int error = 0;
    if (timeout_ns >= 0)
        send_until(timeout_ns, &until);
    while (!request->done && error != ETIMEDOUT) {
        if (timeout_ns < 0)
            (void)pthread_cond_wait(&store->answered, &store->mutex);
        else
            error = pthread_cond_timedwait(&store->answered, &store->mutex, &until);
    }
    request->abandoned = !request->done;
    return request->done;
}

static axo_status send_and_wait(axo_store *store, const char *name, durable_request *request,
                                int64_t timeout_ns, axo_durable_answer *answer)
{
    (void)pthread_mutex_lock(&store->mutex);
    axo_status status = send_put(NULL, store, name, request);
    bool put = status == AXO_OK;
    bool done = put && send_wait(store, request, timeout_ns);
    (void)pthread_mutex_unlock(&store->mutex);
    if (put && !done)
        return AXO_ETIMEDOUT;
    if (put) {
        status = (axo_status)request->answer.status;
        if (answer != NULL)
            *answer = request->answer;
    }
    durable_request_free(store, request);
    return status;
}

axo_status axo_system_durable_send(axo_store *store, const char *name, uint32_t tag,
                                   const void *payload, size_t size, int64_t timeout_ns,
                                   axo_durable_answer *answer)
{
    if (answer != NULL)
        *answer = (axo_durable_answer){0};
    axo_status status = send_check(store, name, tag, payload, size);
    if (status != AXO_OK)
        return status;
    durable_enter(store);
    durable_request *request = send_make(store, axo_ref_none(), tag, payload, size);
    status = request != NULL ? send_and_wait(store, name, request, timeout_ns, answer) : AXO_ENOMEM;
    durable_leave(store);
    return status;
}

/* ---- the dead-letter box ---- */

/* *end becomes the number under which it was accepted anew, if that is less. */
static axo_status dead_act(axo_store *store, const char *name, uint64_t number, uint32_t then,
                           uint64_t *end)
{
    axo_durable_answer answer = {.number = 0};
    durable_request *request = durable_alloc(store->system, sizeof *request);
    if (request == NULL)
        return AXO_ENOMEM;
    request->letter = number;
    request->then = then;
    axo_status status = send_and_wait(store, name, request, -1, &answer);
    if (answer.number > 0 && answer.number < *end)
        *end = answer.number;
    return status;
}

/* What has been sent again, and is dead again, is not shown once more. */
static axo_status dead_show(axo_store *store, const char *name, axo_store_dead_fn look, void *user,
                            uint64_t *count)
{
    uint64_t shown = 0;
    uint64_t number = 0;
    uint64_t end = UINT64_MAX;
    axo_status status = AXO_OK;
    for (;;) {
        axo_store_then then = AXO_STORE_KEEP;
        int error = durable_disk_dead(store, name, &number, end, look, user, &then);
        if (error == DURABLE_NOTFOUND)
            break;
        if (error != 0)
            return error == ENOMEM ? AXO_ENOMEM : AXO_ESYSTEM;
        shown++;
        if (then == AXO_STORE_DELETE || then == AXO_STORE_AGAIN)
            status = dead_act(store, name, number, then, &end);
        if (status != AXO_OK)
            return status;
    }
    if (count != NULL)
        *count = shown;
    return AXO_OK;
}

axo_status axo_store_dead(axo_store *store, const char *name, axo_store_dead_fn look, void *user,
                          uint64_t *count)
{
    if (count != NULL)
        *count = 0;
    if (look == NULL)
        return AXO_EINVAL;
    axo_status status = send_check(store, name, 0, NULL, 0);
    if (status != AXO_OK)
        return status;
    durable_enter(store);
    status = dead_show(store, name, look, user, count);
    durable_leave(store);
    return status;
}
