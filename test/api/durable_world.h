/* durable_world.h - a system with a store and durable actors that do what they are told, for their
 * tests. What handlers have seen is recorded.
 *
 * Nothing here waits for a time: all waits are for conditions, with a deadline that no machine that
 * is merely busy comes to. */
#ifndef TEST_DURABLE_WORLD_H
#define TEST_DURABLE_WORLD_H

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <axo/axo.h>
#include <axo/durable.h>

#include "support/cmocka.h"

/* Where the store is, and how tests are run; another base has its own (durable_nats_world.h). */
#ifndef W_OPEN_STORE
#define W_OPEN_STORE(w, problem)                                                                   \
    axo_store_open((w)->system, &(w)->settings, problem, &(w)->store)
#define W_RUN(tests) cmocka_run_group_tests(tests, NULL, NULL)
#endif

#define W_SECOND   INT64_C(1000000000)
#define W_LONG     (120 * W_SECOND)
#define W_SEEN_MAX 200000

/* What an actor is told; the payload is an int64. */
enum {
    W_ADD = 1,
    W_FAIL,      /* fails each time */
    W_FAIL_ONCE, /* fails if nobody has failed under it */
    W_THROW_ONCE,
    W_STASH, /* until W_UNSTASH has come */
    W_UNSTASH,
    W_UNKNOWN, /* unhandled */
    W_BECOME,
    W_UNBECOME,
    W_TAKE,     /* takes the payload over */
    W_FORWARD,  /* to w->other */
    W_STOP,     /* stops itself, and returns AXO_OK */
    W_SEND,     /* sends so many durable messages to "other" */
    W_ASK,      /* replies */
    W_PUT,      /* persists the value */
    W_PUT_FAIL, /* persists it, and fails */
    W_SNAPSHOT,
    W_SUM /* records its sum */
};

typedef struct w_seen {
    uint32_t tag;
    uint32_t instance;
    uint64_t number; /* of the durable message; 0: ordinary */
    uint32_t fails;
    uint32_t again;
    int64_t value;
    int64_t sum;
    bool become;
} w_seen;

typedef struct world {
    char path[256];
    axo_system *system;
    axo_store *store;
    axo_store_settings settings;
    axo_ref other;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    w_seen *seen;
    uint32_t count;
    uint32_t answers; /* AXO_DURABLE_ANSWER that came */
    uint32_t refusals;
    uint64_t last_number;
    int32_t last_error;
    uint32_t terminated;
    uint32_t applied; /* events, recovering ones too */
    uint32_t recovered;
    uint32_t restored;
    uint32_t unhandled;
    axo_directive answer;
    axo_strategy strategy;
    bool hold;               /* handlers wait while it is */
    uint32_t snapshot_every; /* in apply */
    bool apply_fails;
    axo_allocator allocator;
} world;

static inline void w_note(world *w, const w_seen *seen)
{
    (void)pthread_mutex_lock(&w->mutex);
    assert_true(w->count < W_SEEN_MAX);
    w->seen[w->count++] = *seen;
    (void)pthread_cond_broadcast(&w->changed);
    (void)pthread_mutex_unlock(&w->mutex);
}

/* Waits for a condition of the world. */
#define W_UNTIL(w, condition)                                                                      \
    do {                                                                                           \
        struct timespec w_until_;                                                                  \
        (void)clock_gettime(CLOCK_REALTIME, &w_until_);                                            \
        w_until_.tv_sec += W_LONG / W_SECOND;                                                      \
        (void)pthread_mutex_lock(&(w)->mutex);                                                     \
        while (!(condition)) {                                                                     \
            if (pthread_cond_timedwait(&(w)->changed, &(w)->mutex, &w_until_) == ETIMEDOUT)        \
                fail_msg("waited too long for: %s", #condition);                                   \
        }                                                                                          \
        (void)pthread_mutex_unlock(&(w)->mutex);                                                   \
    } while (0)

#define W_COUNT_UP(w, field)                                                                       \
    do {                                                                                           \
        (void)pthread_mutex_lock(&(w)->mutex);                                                     \
        (w)->field++;                                                                              \
        (void)pthread_cond_broadcast(&(w)->changed);                                               \
        (void)pthread_mutex_unlock(&(w)->mutex);                                                   \
    } while (0)

/* ---- the actor ---- */

typedef struct w_state {
    world *w;
    int64_t sum;
    bool unstashed;
} w_state;

static inline axo_status w_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    memcpy(&((w_state *)state)->w, args, sizeof(world *));
    return AXO_OK;
}

static inline w_seen w_see(axo_ctx *ctx, const w_state *me, const axo_message *message)
{
    axo_durable_given given;
    w_seen seen = {.tag = message->tag, .instance = axo_instance(ctx), .sum = me->sum};
    assert_int_equal(axo_durable_now(ctx, &given), AXO_OK);
    seen.number = given.number;
    seen.fails = given.fails;
    seen.again = given.again;
    if (message->size >= sizeof seen.value)
        memcpy(&seen.value, message->payload, sizeof seen.value);
    return seen;
}

static inline axo_status w_become(axo_ctx *ctx, void *state, const axo_message *message)
{
    w_state *me = state;
    w_seen seen = w_see(ctx, me, message);
    seen.become = true;
    w_note(me->w, &seen);
    return message->tag == W_UNBECOME ? axo_durable_unbecome(ctx) : AXO_OK;
}

static inline void w_hold(world *w)
{
    W_UNTIL(w, !w->hold);
}

static inline axo_status w_answered(axo_ctx *ctx, w_state *me, const axo_message *message)
{
    (void)ctx;
    const axo_durable_answer *answer = AXO_PAYLOAD(message, axo_durable_answer);
    assert_int_equal(message->size, sizeof *answer);
    (void)pthread_mutex_lock(&me->w->mutex);
    if (answer->status == AXO_OK) {
        me->w->answers++;
        assert_int_equal(answer->id, answer->number + 1000);
        assert_true(answer->number == me->w->last_number + 1);
        me->w->last_number = answer->number;
    } else {
        me->w->refusals++;
        me->w->last_error = answer->error;
    }
    (void)pthread_cond_broadcast(&me->w->changed);
    (void)pthread_mutex_unlock(&me->w->mutex);
    return AXO_OK;
}

static inline axo_status w_do(axo_ctx *ctx, w_state *me, const axo_message *message,
                              const w_seen *seen)
{
    axo_owned owned;
    switch (message->tag) {
    case W_FAIL:
        return axo_fail(ctx, (int32_t)seen->value, "told to");
    case W_FAIL_ONCE:
        return seen->fails == 0 ? axo_fail(ctx, 7, "once") : AXO_OK;
    case W_THROW_ONCE:
        if (seen->fails == 0)
            axo_throw(ctx, 8, "thrown");
        return AXO_OK;
    case W_STASH:
        return me->unstashed ? AXO_OK : axo_stash(ctx);
    case W_UNSTASH:
        me->unstashed = true;
        return axo_unstash_all(ctx);
    case W_UNKNOWN:
        return AXO_UNHANDLED;
    case W_BECOME:
        return axo_durable_become(ctx, w_become);
    case W_TAKE:
        assert_int_equal(axo_message_take(ctx, message, &owned), AXO_OK);
        owned.destroy(owned.payload, owned.user);
        return AXO_OK;
    case W_FORWARD:
        return axo_forward(ctx, message, me->w->other);
    case W_STOP:
        return axo_stop_self(ctx);
    case W_SEND:
        for (int64_t i = 0; i < seen->value; i++)
            assert_int_equal(axo_durable_send(ctx, me->w->store, "other", W_ADD, &i, sizeof i,
                                              (uint64_t)i + 1001),
                             AXO_OK);
        return AXO_OK;
    case W_ASK:
        return axo_reply(ctx, message, W_ASK, &me->sum, sizeof me->sum);
    case W_PUT:
    case W_PUT_FAIL:
        assert_int_equal(axo_journal_persist(ctx, W_PUT, &seen->value, sizeof seen->value), AXO_OK);
        return message->tag == W_PUT ? AXO_OK : axo_fail(ctx, 9, "persisted, and failed");
    case W_SNAPSHOT:
        return axo_journal_snapshot(ctx, &me->sum, sizeof me->sum);
    default:
        return AXO_OK;
    }
}

static inline axo_status w_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    w_state *me = state;
    if (message->tag == AXO_DURABLE_ANSWER)
        return w_answered(ctx, me, message);
    w_hold(me->w);
    w_seen seen = w_see(ctx, me, message);
    if (message->tag == W_ADD)
        seen.sum = me->sum = (int64_t)((uint64_t)me->sum + (uint64_t)seen.value);
    w_note(me->w, &seen);
    return w_do(ctx, me, message, &seen);
}

static inline const char *w_tag(uint32_t tag)
{
    return tag == W_ADD ? "ADD" : NULL;
}

static const axo_class w_class =
    AXO_CLASS(.name = "durable", .state_size = sizeof(w_state), .construct = w_construct,
              .receive = w_receive, .tag_name = w_tag);

/* ---- its journal ---- */

static inline axo_status w_apply(axo_ctx *ctx, void *state, const axo_journal_event *event)
{
    w_state *me = state;
    int64_t value;
    assert_int_equal(event->size, sizeof value);
    assert_int_equal(event->tag, W_PUT);
    memcpy(&value, event->payload, sizeof value);
    me->sum += value;
    assert_int_equal(axo_journal_number(ctx), event->number);
    W_COUNT_UP(me->w, applied);
    if (me->w->apply_fails)
        return axo_fail(ctx, 11, "apply");
    if (!event->recovering && me->w->snapshot_every > 0 &&
        event->number % me->w->snapshot_every == 0)
        return axo_journal_snapshot(ctx, &me->sum, sizeof me->sum);
    return AXO_OK;
}

static inline axo_status w_restore(axo_ctx *ctx, void *state, const axo_journal_event *event)
{
    w_state *me = state;
    (void)ctx;
    assert_int_equal(event->size, sizeof me->sum);
    memcpy(&me->sum, event->payload, sizeof me->sum);
    W_COUNT_UP(me->w, restored);
    return AXO_OK;
}

static inline axo_status w_recovered(axo_ctx *ctx, void *state)
{
    (void)ctx;
    W_COUNT_UP(((w_state *)state)->w, recovered);
    return AXO_OK;
}

static const axo_journal w_journal =
    AXO_JOURNAL(.apply = w_apply, .restore = w_restore, .recovered = w_recovered);

/* ---- a watcher ---- */

static inline axo_status w_watcher_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    w_state *me = state;
    if (message->tag == AXO_TERMINATED) {
        W_COUNT_UP(me->w, terminated);
        return AXO_OK;
    }
    if (message->tag == W_FORWARD || message->tag == W_ADD) {
        w_seen seen = {.tag = message->tag, .instance = 1000};
        memcpy(&seen.value, message->payload, sizeof seen.value);
        w_note(me->w, &seen);
        return AXO_OK;
    }
    return axo_watch(ctx, *AXO_PAYLOAD(message, axo_ref));
}

static const axo_class w_watcher_class =
    AXO_CLASS(.name = "watcher", .state_size = sizeof(w_state), .construct = w_construct,
              .receive = w_watcher_receive);

/* ---- the world ---- */

static inline axo_directive w_decide(axo_ctx *ctx, void *state, const axo_failure *failure,
                                     void *user)
{
    (void)ctx;
    (void)state;
    (void)failure;
    return ((world *)user)->answer;
}

static inline void w_unhandled(void *user, const axo_unhandled *unhandled)
{
    (void)unhandled;
    W_COUNT_UP((world *)user, unhandled);
}

static inline void w_init(world *w)
{
    const char *folder = getenv("TMPDIR");
    memset(w, 0, sizeof *w);
    (void)snprintf(w->path, sizeof w->path, "%s/durable.XXXXXX", folder != NULL ? folder : "/tmp");
    assert_non_null(mkdtemp(w->path));
    w->seen = calloc(W_SEEN_MAX, sizeof *w->seen);
    assert_non_null(w->seen);
    (void)pthread_mutex_init(&w->mutex, NULL);
    (void)pthread_cond_init(&w->changed, NULL);
    w->answer = AXO_RESTART;
    w->settings = (axo_store_settings)AXO_STORE_SETTINGS(.path = w->path);
}

static inline void w_open(world *w)
{
    axo_store_problem problem;
    w->strategy = (axo_strategy)AXO_STRATEGY(.decider = w_decide, .user = w);
    axo_options options =
        AXO_OPTIONS(.workers = 2, .user_strategy = &w->strategy, .stuck_ns = -1,
                    .on_unhandled = w_unhandled, .unhandled_user = w, .allocator = w->allocator);
    assert_int_equal(axo_system_start(&options, &w->system), AXO_OK);
    axo_status status = W_OPEN_STORE(w, &problem);
    if (status != AXO_OK)
        fail_msg("%s: %s", axo_status_name(status), problem.text);
    axo_props props =
        AXO_PROPS(.cls = &w_watcher_class, .args = &w, .args_size = sizeof w, .name = "watcher");
    assert_int_equal(axo_system_spawn(w->system, &props, &w->other), AXO_OK);
}

static inline void w_close(world *w)
{
    assert_int_equal(axo_system_stop(w->system, W_LONG, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(w->system), AXO_OK);
    w->system = NULL;
}

static inline void w_forget(world *w)
{
    (void)pthread_mutex_lock(&w->mutex);
    w->count = 0;
    w->answers = w->refusals = w->terminated = 0;
    w->applied = w->recovered = w->restored = 0;
    (void)pthread_mutex_unlock(&w->mutex);
}

static inline void w_fini(world *w)
{
    char command[300];
    (void)snprintf(command, sizeof command, "rm -rf '%s'", w->path);
    assert_int_equal(system(command), 0);
    free(w->seen);
}

static inline axo_status w_try_spawn(world *w, const char *name, bool journal, axo_ref *ref)
{
    axo_durable recipe = AXO_DURABLE(.store = w->store, .name = name,
                                     .journal = journal ? &w_journal : NULL, .fails_max = 3);
    axo_props props = AXO_PROPS(.cls = &w_class, .args = &w, .args_size = sizeof w);
    return axo_system_durable_spawn(w->system, &recipe, &props, ref);
}

static inline axo_ref w_spawn(world *w, const char *name)
{
    axo_ref ref;
    assert_int_equal(w_try_spawn(w, name, false, &ref), AXO_OK);
    return ref;
}

static inline axo_ref w_spawn_journal(world *w, const char *name)
{
    axo_ref ref;
    assert_int_equal(w_try_spawn(w, name, true, &ref), AXO_OK);
    return ref;
}

/* Sends, and has it on disk. */
static inline uint64_t w_put(world *w, const char *name, uint32_t tag, int64_t value)
{
    axo_durable_answer answer;
    assert_int_equal(
        axo_system_durable_send(w->store, name, tag, &value, sizeof value, W_LONG, &answer),
        AXO_OK);
    return answer.number;
}

static inline void w_tell(world *w, axo_ref ref, uint32_t tag, int64_t value)
{
    assert_int_equal(axo_system_send(w->system, ref, tag, &value, sizeof value), AXO_OK);
}

static inline void w_set_hold(world *w, bool hold)
{
    (void)pthread_mutex_lock(&w->mutex);
    w->hold = hold;
    (void)pthread_cond_broadcast(&w->changed);
    (void)pthread_mutex_unlock(&w->mutex);
}

static inline void w_await(world *w, uint32_t count)
{
    W_UNTIL(w, w->count >= count);
}

static inline axo_store_figures w_figures(world *w)
{
    axo_store_figures figures;
    assert_int_equal(axo_store_count(w->store, &figures), AXO_OK);
    return figures;
}

/* Waits until the store has done so much; it tells nobody of that. */
#define W_UNTIL_STORE(w, field, value)                                                             \
    do {                                                                                           \
        int64_t w_end_ = axo_system_now((w)->system) + W_LONG;                                     \
        while (w_figures(w).field < (uint64_t)(value)) {                                           \
            const struct timespec w_pause_ = {.tv_nsec = 1000000};                                 \
            assert_true(axo_system_now((w)->system) < w_end_);                                     \
            (void)nanosleep(&w_pause_, NULL);                                                      \
        }                                                                                          \
    } while (0)

#endif
