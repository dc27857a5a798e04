/* no_memory_test.c - failure handling takes no memory (DESIGN D10): after the start every
 * allocation fails, and still a thousand actors fail, are restarted and go on. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <axo/axo.h>

#include "support/cmocka.h"

enum { WORKS_MAX = 8, PARENTS = 25, CHILDREN = 40, ACTORS = PARENTS * CHILDREN, ROUNDS = 2 };
enum { TAG_FAIL = 1, TAG_THROW, TAG_ASK, TAG_HOLD, TAG_STATUS };
#define DEADLINE_S 30

/* A counter that the test can wait for. */
typedef struct gauge {
    pthread_mutex_t lock;
    pthread_cond_t change;
    uint64_t value;
} gauge;

typedef struct shop {
    axo_system *system;
    _Atomic bool no_memory;
    _Atomic uint64_t allocations;
    _Atomic uint64_t refused;
    _Atomic int64_t bytes;
    _Atomic uint64_t constructs;
    _Atomic uint64_t post_stops;
    _Atomic uint64_t dead;
    gauge started;
    gauge answered;
    gauge held;
    gauge released;
    pthread_mutex_t gate; /* locked by the test while holders shall wait */
    axo_ref children[ACTORS];
    uint32_t children_count;
} shop;

static void gauge_init(gauge *g)
{
    pthread_condattr_t attr;
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_mutex_init(&g->lock, NULL);
    (void)pthread_cond_init(&g->change, &attr);
    (void)pthread_condattr_destroy(&attr);
}

static void gauge_fini(gauge *g)
{
    (void)pthread_mutex_destroy(&g->lock);
    (void)pthread_cond_destroy(&g->change);
}

static void gauge_up(gauge *g)
{
    (void)pthread_mutex_lock(&g->lock);
    g->value++;
    (void)pthread_cond_broadcast(&g->change);
    (void)pthread_mutex_unlock(&g->lock);
}

static uint64_t gauge_await(gauge *g, uint64_t value)
{
    struct timespec deadline;
    uint64_t found;
    int rc = 0;
    (void)clock_gettime(CLOCK_MONOTONIC, &deadline);
    deadline.tv_sec += DEADLINE_S;
    (void)pthread_mutex_lock(&g->lock);
    while (g->value < value && rc == 0)
        rc = pthread_cond_timedwait(&g->change, &g->lock, &deadline);
    found = g->value;
    (void)pthread_mutex_unlock(&g->lock);
    return found;
}

static void *shop_alloc(void *user, size_t size, size_t align)
{
    shop *s = user;
    void *block;
    if (atomic_load(&s->no_memory)) {
        atomic_fetch_add(&s->refused, 1);
        return NULL;
    }
    if (align < sizeof(void *))
        align = sizeof(void *);
    if (posix_memalign(&block, align, size) != 0)
        return NULL;
    atomic_fetch_add(&s->allocations, 1);
    atomic_fetch_add(&s->bytes, (int64_t)size);
    return block;
}

static void shop_free(void *user, void *block, size_t size, size_t align)
{
    shop *s = user;
    atomic_fetch_sub(&s->bytes, (int64_t)size);
    free(block);
}

/* ---- the actors ------------------------------------------------------------------------------ */

typedef struct worker_state {
    shop *s;
    uint32_t answers; /* of this instance */
} worker_state;

static axo_status child_construct(axo_ctx *ctx, void *state, const void *args)
{
    worker_state *me = state;
    memcpy(&me->s, args, sizeof me->s);
    atomic_fetch_add(&me->s->constructs, 1);
    return AXO_OK;
}

static axo_status child_start(axo_ctx *ctx, void *state)
{
    gauge_up(&((worker_state *)state)->s->started);
    return AXO_OK;
}

static axo_status child_stop(axo_ctx *ctx, void *state)
{
    atomic_fetch_add(&((worker_state *)state)->s->post_stops, 1);
    return AXO_OK;
}

static axo_status child_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    worker_state *me = state;
    switch (message->tag) {
    case TAG_FAIL:
        return axo_fail(ctx, 7, "failed with a text of %d words", 7);
    case TAG_THROW:
        axo_throw(ctx, 8, "thrown");
    case TAG_STATUS:
        return AXO_EINVAL;
    case TAG_ASK:
        me->answers++;
        gauge_up(&me->s->answered);
        return AXO_OK;
    case TAG_HOLD:
        gauge_up(&me->s->held);
        (void)pthread_mutex_lock(&me->s->gate);
        (void)pthread_mutex_unlock(&me->s->gate);
        gauge_up(&me->s->released);
        return AXO_OK;
    default:
        return AXO_UNHANDLED;
    }
}

static const axo_class child_class =
    AXO_CLASS(.name = "child", .state_size = sizeof(worker_state), .construct = child_construct,
              .pre_start = child_start, .receive = child_receive, .post_stop = child_stop);

/* Keeps its children when it is restarted: they are restarted after it. */
static axo_status parent_pre_restart(axo_ctx *ctx, void *state, const axo_failure *failure,
                                     const axo_message *message)
{
    return AXO_OK;
}

static axo_status parent_post_restart(axo_ctx *ctx, void *state, const axo_failure *failure)
{
    return AXO_OK;
}

static axo_status parent_start(axo_ctx *ctx, void *state)
{
    shop *s = ((worker_state *)state)->s;
    axo_props props = AXO_PROPS(.cls = &child_class, .args = &s, .args_size = sizeof s);
    for (int i = 0; i < CHILDREN; i++) {
        axo_ref child;
        axo_status status = axo_spawn(ctx, &props, &child);
        if (status != AXO_OK)
            return status;
        (void)pthread_mutex_lock(&s->gate);
        s->children[s->children_count++] = child;
        (void)pthread_mutex_unlock(&s->gate);
    }
    gauge_up(&s->started);
    return AXO_OK;
}

static const axo_class parent_class =
    AXO_CLASS(.name = "parent", .state_size = sizeof(worker_state), .construct = child_construct,
              .pre_start = parent_start, .receive = child_receive,
              .pre_restart = parent_pre_restart, .post_restart = parent_post_restart);

static void shop_dead(void *user, const axo_dead_letter *letter)
{
    atomic_fetch_add(&((shop *)user)->dead, 1);
}

/* ---- the test -------------------------------------------------------------------------------- */

typedef struct family {
    axo_ref parents[PARENTS];
    axo_ref holders[WORKS_MAX];
    uint32_t workers;
} family;

static shop *shop_open(uint32_t workers, const axo_strategy *strategy, family *f)
{
    shop *s = calloc(1, sizeof *s);
    axo_options options =
        AXO_OPTIONS(.workers = workers, .seed = 1, .allocator = {shop_alloc, shop_free, s},
                    .on_dead_letter = shop_dead, .dead_letter_user = s);
    axo_props parent =
        AXO_PROPS(.cls = &parent_class, .args = &s, .args_size = sizeof s, .strategy = strategy);
    axo_props holder = AXO_PROPS(.cls = &child_class, .args = &s, .args_size = sizeof s);
    assert_non_null(s);
    gauge_init(&s->started);
    gauge_init(&s->answered);
    gauge_init(&s->held);
    gauge_init(&s->released);
    (void)pthread_mutex_init(&s->gate, NULL);
    f->workers = workers;
    assert_int_equal(axo_system_start(&options, &s->system), AXO_OK);
    for (int i = 0; i < PARENTS; i++)
        assert_int_equal(axo_system_spawn(s->system, &parent, &f->parents[i]), AXO_OK);
    for (uint32_t i = 0; i < workers; i++)
        assert_int_equal(axo_system_spawn(s->system, &holder, &f->holders[i]), AXO_OK);
    assert_int_equal(gauge_await(&s->started, PARENTS + ACTORS + workers),
                     PARENTS + ACTORS + workers);
    return s;
}

static void shop_send(shop *s, axo_ref to, uint32_t tag)
{
    assert_int_equal(axo_system_send(s->system, to, tag, NULL, 0), AXO_OK);
}

/* Every worker waits in a handler, so that what is sent now is handled after the gate opens. */
static void shop_hold(shop *s, const family *f, uint64_t rounds)
{
    assert_int_equal(gauge_await(&s->released, (rounds - 1) * f->workers),
                     (rounds - 1) * f->workers);
    (void)pthread_mutex_lock(&s->gate);
    for (uint32_t i = 0; i < f->workers; i++) {
        shop_send(s, f->holders[i], TAG_HOLD);
        /* One at a time: no holder waits behind another in one worker's queue. */
        assert_int_equal(gauge_await(&s->held, (rounds - 1) * f->workers + i + 1),
                         (rounds - 1) * f->workers + i + 1);
    }
}

static void shop_go(shop *s)
{
    atomic_store(&s->no_memory, true);
    (void)pthread_mutex_unlock(&s->gate);
}

/* Stops with the memory still gone, then checks the balances. */
static void shop_close(shop *s, uint64_t constructs, uint64_t restarts)
{
    axo_stats stats = AXO_STATS(.sent = 0);
    assert_int_equal(axo_system_stop(s->system, INT64_C(30000000000), NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_stats(s->system, &stats), AXO_OK);
    assert_int_equal(atomic_load(&s->constructs), constructs);
    assert_int_equal(stats.restarts, restarts);
    assert_int_equal(stats.sent, stats.handled + stats.dead + stats.dropped);
    assert_int_equal(stats.dead, 0);
    assert_int_equal(atomic_load(&s->dead), 0);
    assert_int_equal(stats.actors, 0);
    assert_int_equal(axo_system_destroy(s->system), AXO_OK);
    assert_int_equal(atomic_load(&s->bytes), 0);
    gauge_fini(&s->started);
    gauge_fini(&s->answered);
    gauge_fini(&s->held);
    gauge_fini(&s->released);
    (void)pthread_mutex_destroy(&s->gate);
    free(s);
}

static void no_memory_restarts_a_thousand(void **state)
{
    static const uint32_t how[] = {TAG_FAIL, TAG_THROW, TAG_STATUS};
    uint32_t workers = (uint32_t)(uintptr_t)*state;
    family f;
    shop *s = shop_open(workers, NULL, &f);
    shop_hold(s, &f, 1);
    for (int i = 0; i < ACTORS; i++) {
        shop_send(s, s->children[i], how[i % 3]);
        shop_send(s, s->children[i], TAG_ASK);
    }
    shop_go(s);
    assert_int_equal(gauge_await(&s->answered, ACTORS), ACTORS);
    shop_close(s, PARENTS + 2 * ACTORS + workers, ACTORS);
}

static axo_directive restart_all(axo_ctx *ctx, void *state, const axo_failure *failure, void *user)
{
    return AXO_RESTART;
}

/* Failures of every kind, Kill too, several of each actor, with the memory gone in between only. */
static void no_memory_restarts_again_and_again(void **state)
{
    static const axo_strategy strategy = AXO_STRATEGY(.decider = restart_all);
    static const uint32_t how[] = {TAG_FAIL, TAG_THROW, TAG_STATUS};
    uint32_t workers = (uint32_t)(uintptr_t)*state;
    family f;
    shop *s = shop_open(workers, &strategy, &f);
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        shop_hold(s, &f, round);
        for (int i = 0; i < ACTORS; i++) {
            for (int j = 0; j < 3; j++)
                shop_send(s, s->children[i], how[(i + j) % 3]);
            assert_int_equal(axo_system_kill(s->system, s->children[i]), AXO_OK);
            shop_send(s, s->children[i], TAG_ASK);
        }
        shop_go(s);
        assert_int_equal(gauge_await(&s->answered, round * ACTORS), round * ACTORS);
        atomic_store(&s->no_memory, false);
    }
    atomic_store(&s->no_memory, true);
    shop_close(s, PARENTS + ACTORS + workers + 4 * ROUNDS * ACTORS, 4 * ROUNDS * ACTORS);
}

/* Delayed restarts too: the timer is the child's own. */
static void no_memory_restarts_after_a_delay(void **state)
{
    static const axo_backoff backoff = AXO_BACKOFF(.min_ns = 1, .max_ns = 1000000, .jitter = 1);
    static const axo_strategy strategy = AXO_STRATEGY(.decider = restart_all, .backoff = &backoff);
    uint32_t workers = (uint32_t)(uintptr_t)*state;
    family f;
    shop *s = shop_open(workers, &strategy, &f);
    shop_hold(s, &f, 1);
    for (int i = 0; i < ACTORS; i++) {
        for (int j = 0; j < 2; j++)
            shop_send(s, s->children[i], TAG_FAIL);
        shop_send(s, s->children[i], TAG_ASK);
    }
    shop_go(s);
    assert_int_equal(gauge_await(&s->answered, ACTORS), ACTORS);
    shop_close(s, PARENTS + 3 * ACTORS + workers, 2 * ACTORS);
}

/* Parents fail too, and their kept children are restarted after them. */
static void no_memory_restarts_trees(void **state)
{
    static const axo_strategy strategy = AXO_STRATEGY(.decider = restart_all);
    uint32_t workers = (uint32_t)(uintptr_t)*state;
    axo_stats stats = AXO_STATS(.sent = 0);
    family f;
    shop *s = shop_open(workers, &strategy, &f);
    shop_hold(s, &f, 1);
    for (int i = 0; i < ACTORS; i++) {
        shop_send(s, s->children[i], TAG_FAIL);
        shop_send(s, s->children[i], TAG_ASK);
    }
    for (int i = 0; i < PARENTS; i++) {
        shop_send(s, f.parents[i], TAG_FAIL);
        shop_send(s, f.parents[i], TAG_ASK);
    }
    shop_go(s);
    assert_int_equal(gauge_await(&s->answered, ACTORS + PARENTS), ACTORS + PARENTS);
    assert_int_equal(axo_system_stop(s->system, INT64_C(30000000000), NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_stats(s->system, &stats), AXO_OK);
    /* Each child fails once; its parent's restart may be one with the child's own or another. */
    assert_true(stats.restarts >= PARENTS + ACTORS);
    assert_true(stats.restarts <= PARENTS + 2 * ACTORS);
    shop_close(s, PARENTS + ACTORS + workers + stats.restarts, stats.restarts);
}

/* A send that finds no memory is refused and changes nothing; it works again afterwards. */
static void no_memory_send_is_refused(void **state)
{
    enum { SENDS_MAX = 1 << 20 };
    uint32_t workers = (uint32_t)(uintptr_t)*state;
    axo_stats before = AXO_STATS(.sent = 0);
    axo_stats after = AXO_STATS(.sent = 0);
    static char payload[4096];
    uint64_t accepted = 0;
    family f;
    axo_status status = AXO_OK;
    axo_ref ref = {1};
    axo_props props = AXO_PROPS(.cls = &child_class, .args = payload, .args_size = sizeof payload);
    shop *s = shop_open(workers, NULL, &f);
    shop_hold(s, &f, 1);
    assert_int_equal(axo_system_stats(s->system, &before), AXO_OK);
    atomic_store(&s->no_memory, true);
    while (accepted < SENDS_MAX) {
        status = axo_system_send(s->system, s->children[0], TAG_ASK, payload, sizeof payload);
        if (status != AXO_OK)
            break;
        accepted++;
    }
    assert_int_equal(status, AXO_ENOMEM);
    assert_true(atomic_load(&s->refused) > 0);
    assert_int_equal(axo_system_stats(s->system, &after), AXO_OK);
    assert_int_equal(after.sent - before.sent, accepted);
    /* Its arguments find no room, whatever is left of cells. */
    memcpy(payload, &s, sizeof s);
    assert_int_equal(axo_system_spawn(s->system, &props, &ref), AXO_ENOMEM);
    assert_true(axo_ref_is_none(ref));
    assert_int_equal(axo_system_stats(s->system, &after), AXO_OK);
    assert_int_equal(after.spawned, before.spawned);
    atomic_store(&s->no_memory, false);
    shop_send(s, s->children[1], TAG_ASK);
    (void)pthread_mutex_unlock(&s->gate);
    assert_int_equal(gauge_await(&s->answered, after.sent - before.sent + 1),
                     after.sent - before.sent + 1);
    shop_close(s, PARENTS + ACTORS + workers, 0);
}

#define TEST(function, n)                                                                          \
    {                                                                                              \
#function " [" #n "]", function, NULL, NULL, (void *)(uintptr_t)(n)                        \
    }
#define TESTS(function) TEST(function, 1), TEST(function, 2), TEST(function, 4)

static const struct CMUnitTest tests[] = {
    TESTS(no_memory_restarts_a_thousand),
    TESTS(no_memory_restarts_again_and_again),
    TESTS(no_memory_restarts_after_a_delay),
    TESTS(no_memory_restarts_trees),
    TESTS(no_memory_send_is_refused),
};

int main(int argc, char **argv)
{
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
