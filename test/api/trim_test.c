/* trim_test.c - axo_system_trim: what a burst has left goes back, in each mode and under load; who
 * may call; what it says. */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <time.h>

#include "kind_world.h"

enum { WORK = 1, BLOCK, ASIDE, INSIDE, CHECK };
enum { WORDS = 12, STATE = 200, CHUNK = 32768 };
#define MS INT64_C(1000000)
#define LONG (20000 * MS)
/* Chunks that may stay, more than there were before: a block or two of each of 14 sizes. */
#define SLACK (20 * CHUNK)

typedef struct trim_world {
    kind_account memory;
    axo_system *system;
    sem_t inside;
    sem_t go_on;
    _Atomic uint64_t handled;
    _Atomic uint64_t wrong;
    axo_status within;
    _Atomic bool over;
    _Atomic uint64_t trims;
    _Atomic uint64_t bytes;
    bool manual;
    bool lent;
} trim_world;

static trim_world w;

static void trim_aside(void *arg)
{
    (void)arg;
    w.within = axo_system_trim(w.system, LONG, NULL);
}

static axo_status member_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    const uint64_t *words = message->payload;
    (void)state;
    switch (message->tag) {
    case BLOCK:
        (void)sem_post(&w.inside);
        while (sem_wait(&w.go_on) != 0)
            continue;
        break;
    case ASIDE:
        (void)axo_block(ctx, trim_aside, NULL);
        break;
    case INSIDE:
        w.within = axo_system_trim(w.system, 0, NULL);
        break;
    case CHECK:
        for (uint32_t i = 1; i < WORDS; i++)
            w.wrong += words[i] != words[0] * i;
        break;
    default:
        break;
    }
    w.handled++;
    return AXO_OK;
}

static const axo_class member_class =
    AXO_CLASS(.name = "member", .state_size = STATE, .receive = member_receive);

static void trim_open(axo_options options)
{
    memset((void *)&w, 0, sizeof w);
    assert_int_equal(sem_init(&w.inside, 0, 0), 0);
    assert_int_equal(sem_init(&w.go_on, 0, 0), 0);
    w.manual = options.manual != AXO_MANUAL_NONE;
    w.lent = options.threads == AXO_THREADS_LENT;
    options.kind_allocator = kind_hook(&w.memory);
    assert_int_equal(axo_system_start(&options, &w.system), AXO_OK);
    w.memory.system = w.system;
}

static void trim_close(void)
{
    assert_int_equal(axo_system_stop(w.system, LONG, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_trim(w.system, LONG, NULL), AXO_OK); /* until it is destroyed */
    assert_int_equal(axo_system_destroy(w.system), AXO_OK);
    kind_empty(&w.memory);
}

/* The program's part in what runs. */
static void trim_run(void)
{
    (void)axo_run_host(w.system, -1, NULL);
    for (uint32_t slot = 0; w.lent && slot < axo_system_workers(w.system); slot++)
        (void)axo_worker_run(w.system, slot, -1, NULL);
    (void)sched_yield();
}

static void trim_wait(uint64_t handled)
{
    while (w.handled < handled)
        trim_run();
}

static uint64_t trim_actors(void)
{
    axo_stats stats = AXO_STATS();
    assert_int_equal(axo_system_stats(w.system, &stats), AXO_OK);
    return stats.actors;
}

static axo_ref trim_spawn(uint32_t dispatcher)
{
    axo_ref ref;
    axo_props props = AXO_PROPS(.cls = &member_class, .dispatcher = dispatcher);
    assert_int_equal(axo_system_spawn(w.system, &props, &ref), AXO_OK);
    return ref;
}

static void trim_send(axo_ref to, uint32_t tag, uint64_t number)
{
    uint64_t words[WORDS];
    for (uint64_t i = 0; i < WORDS; i++)
        words[i] = i == 0 ? number : number * i;
    assert_int_equal(axo_system_send(w.system, to, tag, words, sizeof words), AXO_OK);
}

static int64_t trim_pool(void)
{
    return w.memory.held[AXO_MEMORY_POOL];
}

/* Trims until no more than `most` bytes of the pool are held: those that have ended need their
 * grace period, which needs the program where it has the threads. */
static void trim_until(int64_t most)
{
    time_t end = time(NULL) + 30;
    do {
        uint64_t bytes = 1;
        int64_t before = trim_pool();
        trim_run();
        axo_status status = axo_system_trim(w.system, LONG, &bytes);
        assert_int_equal(status, AXO_OK);
        assert_int_equal(bytes % CHUNK, 0);
        if (w.manual) /* nobody takes memory meanwhile */
            assert_true(before - trim_pool() <= (int64_t)bytes);
        if (time(NULL) > end)
            fail_msg("%lld bytes are held, at most %lld were expected", (long long)trim_pool(),
                     (long long)most);
    } while (trim_pool() > most);
}

/* `count` actors with a message each, and as many messages to one. */
static void trim_burst(uint32_t count, uint32_t dispatcher)
{
    axo_ref *all = calloc(count, sizeof *all);
    assert_non_null(all);
    uint64_t handled = w.handled;
    uint64_t actors = trim_actors();
    axo_ref one = trim_spawn(dispatcher);
    bool blocks = !w.manual && !w.lent && dispatcher != AXO_DISPATCH_HOST;
    if (blocks) {
        trim_send(one, BLOCK, 0);
        assert_int_equal(sem_wait(&w.inside), 0);
    }
    for (uint32_t i = 0; i < count; i++)
        trim_send(one, CHECK, i);
    assert_true(trim_pool() > (int64_t)count * 100);
    if (blocks)
        (void)sem_post(&w.go_on);
    for (uint32_t i = 0; i < count; i++) {
        all[i] = trim_spawn(AXO_DISPATCH_DEFAULT);
        trim_send(all[i], CHECK, i);
    }
    trim_wait(handled + 2 * (uint64_t)count + blocks);
    assert_true(trim_pool() > (int64_t)count * STATE);
    for (uint32_t i = 0; i < count; i++)
        (void)axo_system_stop_actor(w.system, all[i]);
    (void)axo_system_stop_actor(w.system, one);
    while (trim_actors() > actors)
        trim_run();
    assert_int_equal(w.wrong, 0);
    free(all);
}

static void burst(axo_options options, uint32_t dispatcher, uint32_t count)
{
    trim_open(options);
    axo_stats before = AXO_STATS();
    axo_stats after = AXO_STATS();
    trim_burst(10, dispatcher);
    trim_until(SLACK);
    int64_t held = trim_pool();
    assert_int_equal(axo_system_stats(w.system, &before), AXO_OK);
    int64_t cells = w.memory.held[AXO_MEMORY_CELLS];
    trim_burst(count, dispatcher);
    trim_until(held + SLACK);
    assert_int_equal(axo_system_stats(w.system, &after), AXO_OK);
    /* records of actors stay, and what little else has grown */
    cells = w.memory.held[AXO_MEMORY_CELLS] - cells;
    assert_true(after.memory_bytes < before.memory_bytes + (uint64_t)cells + 16 * SLACK);
    trim_burst(100, dispatcher);
    trim_close();
}

static void a_burst_goes_back_with_workers(void **state)
{
    burst((axo_options)AXO_OPTIONS(.workers = 2), AXO_DISPATCH_DEFAULT, 100000);
}

static void a_burst_goes_back_in_a_manual_system(void **state)
{
    burst((axo_options)AXO_OPTIONS(.manual = AXO_MANUAL_ALL), AXO_DISPATCH_DEFAULT, 20000);
}

static void a_burst_goes_back_with_a_manual_default(void **state)
{
    burst((axo_options)AXO_OPTIONS(.manual = AXO_MANUAL_DEFAULT), AXO_DISPATCH_BLOCKING, 20000);
}

static void a_burst_goes_back_with_lent_threads(void **state)
{
    burst((axo_options)AXO_OPTIONS(.workers = 3, .threads = AXO_THREADS_LENT),
          AXO_DISPATCH_DEFAULT, 20000);
}

static void a_burst_goes_back_on_each_dispatcher(void **state)
{
    burst((axo_options)AXO_OPTIONS(.workers = 1), AXO_DISPATCH_BLOCKING, 20000);
    burst((axo_options)AXO_OPTIONS(.workers = 1), AXO_DISPATCH_PINNED, 20000);
    burst((axo_options)AXO_OPTIONS(.workers = 1), AXO_DISPATCH_HOST, 20000);
}

static void a_burst_goes_back_with_walls(void **state)
{
    burst((axo_options)AXO_OPTIONS(.workers = 2, .walls = AXO_WALL_CANARY | AXO_WALL_FREED),
          AXO_DISPATCH_DEFAULT, 20000);
}

/* ---- each cache ---- */

static void large_send(axo_ref to, uint32_t count)
{
    static const char large[4000];
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(axo_system_send(w.system, to, WORK, large, sizeof large), AXO_OK);
}

/* Blocks of which a chunk has seven: those that the receiver's worker keeps to itself lie in some
 * 36 chunks, those that a door keeps in 8. */
static void caches(axo_options options, uint32_t dispatcher)
{
    trim_open(options);
    axo_ref ref = trim_spawn(dispatcher);
    bool blocks = !w.manual && !w.lent && dispatcher != AXO_DISPATCH_HOST;
    large_send(ref, 1);
    trim_wait(1);
    trim_until(SLACK);
    int64_t held = trim_pool();
    if (blocks) {
        trim_send(ref, BLOCK, 0);
        assert_int_equal(sem_wait(&w.inside), 0);
    }
    large_send(ref, 300);
    if (blocks)
        (void)sem_post(&w.go_on);
    trim_wait(301 + blocks);
    assert_true(trim_pool() > held + 40 * CHUNK);
    large_send(ref, 10); /* the door has a magazine */
    trim_wait(311 + blocks);
    trim_run();
    /* one call finds all: nothing waits for a grace period, and nothing runs in between */
    assert_int_equal(axo_system_trim(w.system, LONG, NULL), AXO_OK);
    assert_true(trim_pool() <= held + 4 * CHUNK);
    trim_close();
}

static void each_cache_is_given_up(void **state)
{
    caches((axo_options)AXO_OPTIONS(.workers = 1), AXO_DISPATCH_DEFAULT);
    caches((axo_options)AXO_OPTIONS(.workers = 1), AXO_DISPATCH_BLOCKING);
    caches((axo_options)AXO_OPTIONS(.workers = 1), AXO_DISPATCH_PINNED);
    caches((axo_options)AXO_OPTIONS(.workers = 1), AXO_DISPATCH_HOST);
    caches((axo_options)AXO_OPTIONS(.manual = AXO_MANUAL_ALL), AXO_DISPATCH_DEFAULT);
    caches((axo_options)AXO_OPTIONS(.manual = AXO_MANUAL_DEFAULT), AXO_DISPATCH_DEFAULT);
    caches((axo_options)AXO_OPTIONS(.workers = 2, .threads = AXO_THREADS_LENT),
           AXO_DISPATCH_DEFAULT);
}

/* ---- under load ---- */

static void *load_trims(void *arg)
{
    (void)arg;
    while (!w.over) {
        uint64_t bytes;
        axo_status status = axo_system_trim(w.system, w.trims % 3 == 0 ? 0 : MS, &bytes);
        if (status != AXO_OK && status != AXO_ETIMEDOUT)
            abort();
        w.trims++;
        w.bytes += bytes;
    }
    return NULL;
}

static void load(axo_options options, uint32_t rounds)
{
    enum { EACH = 200 };
    pthread_t trims;
    trim_open(options);
    uint64_t actors = trim_actors();
    assert_int_equal(pthread_create(&trims, NULL, load_trims, NULL), 0);
    uint64_t round = 0;
    for (; round < rounds || (w.bytes == 0 && round < 5000); round++) {
        axo_ref refs[EACH];
        uint64_t handled = w.handled;
        for (uint32_t i = 0; i < EACH; i++)
            refs[i] = trim_spawn(i % 50 == 0 ? AXO_DISPATCH_BLOCKING : AXO_DISPATCH_DEFAULT);
        for (uint32_t i = 0; i < 10 * EACH; i++)
            trim_send(refs[i % EACH], CHECK, i);
        trim_wait(handled + 10 * EACH);
        for (uint32_t i = 0; i < EACH; i++)
            assert_int_equal(axo_system_stop_actor(w.system, refs[i]), AXO_OK);
    }
    while (trim_actors() > actors)
        trim_run();
    assert_int_equal(w.handled, round * 10 * EACH);
    assert_int_equal(w.wrong, 0);
    /* trims go on while the system ends */
    assert_int_equal(axo_system_stop(w.system, LONG, NULL, 0, NULL), AXO_OK);
    w.over = true;
    assert_int_equal(pthread_join(trims, NULL), 0);
    assert_true(w.trims > 0 && w.bytes > 0);
    trim_close();
}

static void nothing_is_lost_under_load(void **state)
{
    load((axo_options)AXO_OPTIONS(.workers = 2), 40);
    load((axo_options)AXO_OPTIONS(.manual = AXO_MANUAL_DEFAULT), 20);
    load((axo_options)AXO_OPTIONS(.workers = 2, .threads = AXO_THREADS_LENT), 20);
    load((axo_options)AXO_OPTIONS(.workers = 2, .walls = AXO_WALL_CANARY | AXO_WALL_FREED), 10);
}

/* ---- what it says ---- */

static void *second_trim(void *arg)
{
    axo_status status;
    while ((status = axo_system_trim(w.system, LONG, NULL)) == AXO_EBUSY)
        continue; /* it came second itself */
    *(axo_status *)arg = status;
    return NULL;
}

static void a_handler_holds_a_trim_up(void **state)
{
    pthread_t second;
    axo_status said = AXO_EINVAL;
    uint64_t bytes = 1;
    trim_open((axo_options)AXO_OPTIONS(.workers = 2));
    trim_burst(1000, AXO_DISPATCH_DEFAULT);
    trim_until(SLACK);
    trim_send(trim_spawn(AXO_DISPATCH_DEFAULT), BLOCK, 0);
    assert_int_equal(sem_wait(&w.inside), 0);
    struct timespec began;
    struct timespec ended;
    (void)clock_gettime(CLOCK_MONOTONIC, &began);
    assert_int_equal(axo_system_trim(w.system, 30 * MS, &bytes), AXO_ETIMEDOUT);
    (void)clock_gettime(CLOCK_MONOTONIC, &ended);
    assert_true((ended.tv_sec - began.tv_sec) * 1000 + (ended.tv_nsec - began.tv_nsec) / 1000000 >=
                29);
    assert_int_equal(bytes % CHUNK, 0);
    assert_int_equal(axo_system_trim(w.system, 0, &bytes), AXO_ETIMEDOUT);
    /* a second one meanwhile */
    assert_int_equal(pthread_create(&second, NULL, second_trim, &said), 0);
    axo_status status;
    while ((status = axo_system_trim(w.system, 0, &bytes)) != AXO_EBUSY) {
        assert_int_equal(status, AXO_ETIMEDOUT);
        (void)sched_yield();
    }
    assert_int_equal(bytes, 0);
    (void)sem_post(&w.go_on);
    assert_int_equal(pthread_join(second, NULL), 0);
    assert_int_equal(said, AXO_OK);
    assert_int_equal(axo_system_trim(w.system, LONG, NULL), AXO_OK);
    trim_close();
}

static axo_status trim_at_once(axo_system *system)
{
    return axo_system_trim(system, 0, NULL);
}

static void who_may_call(void **state)
{
    trim_open((axo_options)AXO_OPTIONS(.workers = 1));
    axo_ref ref = trim_spawn(AXO_DISPATCH_DEFAULT);
    assert_int_equal(axo_system_trim(NULL, 0, NULL), AXO_EINVAL);
    assert_int_equal(axo_system_trim(w.system, -1, NULL), AXO_EINVAL);
    w.within = AXO_OK;
    trim_send(ref, INSIDE, 0);
    trim_wait(1);
    assert_int_equal(w.within, AXO_ECONTEXT);
    /* in axo_block the thread gives up the blocks of its worker itself */
    trim_send(ref, ASIDE, 0);
    trim_wait(2);
    assert_int_equal(w.within, AXO_OK);
    w.memory.within = trim_at_once;
    void *block = axo_system_alloc(w.system, 100);
    w.memory.within = NULL;
    assert_non_null(block);
    assert_int_equal(w.memory.said, AXO_ECONTEXT);
    axo_system_free(w.system, block, 100);
    trim_close();
}

static void without_memory_nothing_goes_back(void **state)
{
    uint64_t bytes = 1;
    trim_open((axo_options)AXO_OPTIONS(.manual = AXO_MANUAL_ALL));
    trim_burst(1000, AXO_DISPATCH_DEFAULT);
    trim_run();
    int64_t held = trim_pool();
    assert_true(held > 1000 * STATE);
    w.memory.refuses = true;
    assert_int_equal(axo_system_trim(w.system, LONG, &bytes), AXO_ENOMEM);
    assert_int_equal(bytes, 0);
    assert_int_equal(trim_pool(), held);
    w.memory.refuses = false;
    assert_int_equal(axo_system_trim(w.system, LONG, &bytes), AXO_OK);
    assert_int_equal(held - trim_pool(), bytes);
    assert_true(bytes > 0);
    trim_close();
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_burst_goes_back_with_workers),
    cmocka_unit_test(a_burst_goes_back_in_a_manual_system),
    cmocka_unit_test(a_burst_goes_back_with_a_manual_default),
    cmocka_unit_test(a_burst_goes_back_with_lent_threads),
    cmocka_unit_test(a_burst_goes_back_on_each_dispatcher),
    cmocka_unit_test(a_burst_goes_back_with_walls),
    cmocka_unit_test(each_cache_is_given_up),
    cmocka_unit_test(nothing_is_lost_under_load),
    cmocka_unit_test(a_handler_holds_a_trim_up),
    cmocka_unit_test(who_may_call),
    cmocka_unit_test(without_memory_nothing_goes_back),
};
TEST_MAIN(tests)
