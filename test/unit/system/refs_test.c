/* refs_test.c - what a reference says: nothing. Another system's of the same seed reaches nobody,
 * nobody's is guessed from others, and no order and no choice depends on them (D18). */
#include "unit/unit.h"

#include <axo/axo.h>

#include <stdio.h>
#include <stdlib.h>

enum { ACTORS = 40, MS = 1000000 };

/* A thread of the program may be on another of four processors whenever it is asked for. */
static uint32_t refs_processor;

uint32_t __wrap_axo__os_cpus(void);
uint32_t __wrap_axo__os_cpus(void)
{
    return 4;
}

uint32_t __wrap_axo__os_cpu_index(void);
uint32_t __wrap_axo__os_cpu_index(void)
{
    refs_processor = refs_processor * 1103515245 + 12345;
    return refs_processor >> 16;
}

static int64_t refs_clock(void *user)
{
    return *(const int64_t *)user;
}

static void settle(axo_system *system)
{
    uint64_t turns = 1;
    while (turns > 0)
        assert_int_equal(axo_step_host(system, 1000, &turns), AXO_OK);
}

static void finish(axo_system *system)
{
    assert_int_equal(axo_system_stop(system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
}

/* ---- strangers ---- */

typedef struct crowd {
    axo_system *system;
    axo_ref refs[3 + ACTORS];
    uint32_t received;
} crowd;

static axo_status crowd_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    crowd *it;
    memcpy(&it, message->payload, sizeof it);
    assert_ptr_equal(axo_system_of(ctx), it->system);
    it->received++;
    return AXO_OK;
}

static const axo_class crowd_class = AXO_CLASS(.receive = crowd_receive);

static void crowd_open(crowd *it, uint32_t workers)
{
    axo_options options = AXO_OPTIONS(.manual = workers == 0, .workers = workers, .seed = 1,
                                      .actors_max = ACTORS + 8);
    axo_props props = AXO_PROPS(.cls = &crowd_class);
    memset(it, 0, sizeof *it);
    assert_int_equal(axo_system_start(&options, &it->system), AXO_OK);
    for (int i = 0; i < 3; i++)
        it->refs[i] = axo_system_guardian(it->system, (axo_guardian)i);
    for (int i = 3; i < 3 + ACTORS; i++)
        assert_int_equal(axo_system_spawn(it->system, &props, &it->refs[i]), AXO_OK);
}

static bool crowd_has(const crowd *it, axo_ref ref)
{
    for (int i = 0; i < 3 + ACTORS; i++) {
        if (axo_ref_equal(it->refs[i], ref))
            return true;
    }
    return false;
}

/* It reaches nobody by any call. */
static void expect_nobody(crowd *it, axo_ref ref)
{
    crowd *said = it;
    char path[64];
    axo_actor_info info = AXO_ACTOR_INFO(.doing = AXO_DOING_IDLE);
    assert_false(crowd_has(it, ref));
    assert_int_equal(axo_system_send(it->system, ref, 1, &said, sizeof said), AXO_EGONE);
    assert_int_equal(axo_system_stop_actor(it->system, ref), AXO_EGONE);
    assert_int_equal(axo_system_path(it->system, ref, path, sizeof path), AXO_EGONE);
    assert_int_equal(axo_system_inspect(it->system, ref, axo_ref_none(), &info), AXO_EGONE);
}

/* Slots are the same, so but for the secret all of them would be. */
static void two_systems_of_one_seed_share_no_reference(void **state)
{
    crowd one, other;
    crowd_open(&one, 0);
    crowd_open(&other, 0);
    for (int i = 0; i < 3 + ACTORS; i++) {
        assert_int_equal(axo_ref_index(one.refs[i]), axo_ref_index(other.refs[i]));
        expect_nobody(&other, one.refs[i]);
        expect_nobody(&one, other.refs[i]);
    }
    settle(one.system);
    settle(other.system);
    assert_int_equal(one.received + other.received, 0);
    crowd *said = &other; /* and one's own does */
    assert_int_equal(axo_system_send(other.system, other.refs[3], 1, &said, sizeof said), AXO_OK);
    settle(other.system);
    assert_int_equal(other.received, 1);
    finish(one.system);
    finish(other.system);
}

/* Who knows any two references, and all of another system, does not come to a third by putting
 * the same generation, or the same difference, on another slot. */
static void references_are_not_guessed_from_others(void **state)
{
    const uint64_t slots = (UINT64_C(1) << 24) - 1;
    crowd one, other;
    crowd_open(&one, 0);
    crowd_open(&other, 0);
    for (int i = 0; i < 3 + ACTORS; i++) {
        for (int k = 0; k < 3 + ACTORS; k++) {
            uint64_t mine = one.refs[i].bits;
            uint64_t theirs = one.refs[k].bits;
            if (i == k)
                continue;
            expect_nobody(&one, (axo_ref){(mine & ~slots) | (theirs & slots)});
            uint64_t change = other.refs[i].bits ^ other.refs[k].bits;
            expect_nobody(&one, (axo_ref){mine ^ change});
            uint64_t step = (other.refs[k].bits >> 24) - (other.refs[i].bits >> 24);
            uint64_t next = ((mine >> 24) + step) & UINT32_MAX;
            expect_nobody(&one, (axo_ref){next << 24 | (theirs & slots)});
        }
    }
    finish(one.system);
    finish(other.system);
}

/* What is next in a slot does not follow from what was there. */
static void the_next_life_is_not_guessed(void **state)
{
    enum { LIVES = 200 };
    static uint64_t lives[LIVES];
    crowd it;
    axo_props props = AXO_PROPS(.cls = &crowd_class, .name = "again");
    crowd_open(&it, 0);
    settle(it.system);
    uint32_t found = 0;
    uint32_t slot = UINT32_MAX;
    for (int i = 0; found < LIVES && i < 100 * LIVES; i++) {
        axo_ref ref;
        assert_int_equal(axo_system_spawn(it.system, &props, &ref), AXO_OK);
        if (i == 100) /* all have been in use */
            slot = axo_ref_index(ref);
        if (axo_ref_index(ref) == slot)
            lives[found++] = ref.bits >> 24;
        assert_int_equal(axo_system_stop_actor(it.system, ref), AXO_OK);
        settle(it.system);
    }
    assert_int_equal(found, LIVES);
    for (int i = 2; i < LIVES; i++) {
        for (int k = 1; k < i; k++) {
            assert_true(lives[i] != lives[k]);
            assert_true(lives[i] - lives[i - 1] != lives[k] - lives[k - 1]);
            assert_true((lives[i] ^ lives[i - 1]) != (lives[k] ^ lives[k - 1]));
        }
    }
    finish(it.system);
}

/* A handle says nothing to another system, whatever both were made of. */
static void two_systems_of_one_seed_share_no_timer(void **state)
{
    for (uint32_t workers = 0; workers < 3; workers++) {
        crowd it[2];
        axo_timer timers[2][8];
        for (int i = 0; i < 2; i++) {
            crowd_open(&it[i], workers);
            for (int k = 0; k < 8; k++)
                assert_int_equal(axo_system_schedule_once(it[i].system, INT64_C(3600) * 1000 * MS,
                                                          it[i].refs[3], 1, NULL, 0,
                                                          &timers[i][k]), AXO_OK);
        }
        for (int i = 0; i < 2; i++) {
            for (int k = 0; k < 8; k++) {
                assert_false(axo_system_timer_at_close(it[i].system, timers[!i][k]));
                assert_false(axo_system_timer_cancel(it[i].system, timers[!i][k]));
            }
        }
        for (int i = 0; i < 2; i++) {
            for (int k = 0; k < 8; k++)
                assert_true(axo_system_timer_cancel(it[i].system, timers[i][k]));
            finish(it[i].system);
        }
    }
}

/* ---- order ---- */

enum { EVENTS = 200000, SEEN = 4096, SEND = 1, END = 2, FAIL = 3, BEGIN = 4 };

/* One event, with references as numbers in the order in which they appeared. */
typedef struct step {
    int64_t time_ns;
    uint64_t actor;
    uint64_t arg;
    uint32_t kind;
    uint32_t instance;
} step;

typedef struct story {
    int64_t now;
    axo_system *system;
    step steps[EVENTS];
    uint32_t count;
    uint64_t seen[SEEN];
    uint32_t seen_count;
    axo_ref members[6];
} story;

static uint64_t story_name(story *it, uint64_t bits, bool is_new)
{
    for (uint32_t i = 0; i < it->seen_count; i++) {
        if (it->seen[i] == bits)
            return UINT64_C(1) << 60 | i;
    }
    if (!is_new)
        return bits;
    assert_true(it->seen_count < SEEN);
    it->seen[it->seen_count++] = bits;
    return UINT64_C(1) << 60 | (it->seen_count - 1);
}

static void story_event(void *user, const axo_event *event)
{
    story *it = user;
    assert_true(it->count < EVENTS);
    it->steps[it->count++] = (step){
        .time_ns = event->time_ns,
        .actor = story_name(it, event->actor.bits, true),
        .arg = story_name(it, event->arg, false),
        .kind = event->kind,
        .instance = event->instance,
    };
}

static axo_status worker_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    if (message->tag == END)
        return axo_stop_self(ctx);
    return message->tag == FAIL ? axo_fail(ctx, 7, "told") : AXO_OK;
}

static const axo_class worker_class = AXO_CLASS(.name = "worker", .receive = worker_receive);
static const axo_props worker_props = AXO_PROPS(.cls = &worker_class);
static const axo_backoff delays = AXO_BACKOFF(.min_ns = 10 * MS, .max_ns = 1000 * MS,
                                              .factor = 2.0, .jitter = 0.5);

static uint64_t story_key(const axo_message *message, void *user)
{
    return *(const uint32_t *)message->payload;
}

typedef struct top {
    story *story;
    axo_ref routers[4];
    axo_ref keeper;
} top;

static axo_status top_begin(axo_ctx *ctx, top *self)
{
    static const axo_router_logic logics[4] = {AXO_ROUTE_HASH, AXO_ROUTE_RANDOM, AXO_ROUTE_HASH,
                                               AXO_ROUTE_GATHER_FIRST};
    story *it = self->story;
    axo_props props;
    for (int i = 0; i < 6; i++)
        assert_int_equal(axo_spawn(ctx, &worker_props, &it->members[i]), AXO_OK);
    for (int i = 0; i < 4; i++) {
        axo_router router = AXO_ROUTER(.logic = logics[i]);
        if (logics[i] == AXO_ROUTE_HASH)
            router.hash_key = story_key;
        if (logics[i] == AXO_ROUTE_GATHER_FIRST)
            router.within_ns = 5 * MS;
        if (i < 2) {
            router.child = &worker_props;
            router.pool = 7;
        } else {
            router.routees = it->members;
            router.routees_count = 6;
        }
        assert_int_equal(axo_router_props(&router, NULL, &props), AXO_OK);
        assert_int_equal(axo_spawn(ctx, &props, &self->routers[i]), AXO_OK);
    }
    axo_backoff_supervisor keeper = AXO_BACKOFF_SUPERVISOR(
            .child = &worker_props, .backoff = &delays, .when = AXO_ON_STOP);
    assert_int_equal(axo_backoff_supervisor_props(&keeper, NULL, &props), AXO_OK);
    assert_int_equal(axo_spawn(ctx, &props, &self->keeper), AXO_OK);
    assert_int_equal(axo_watch(ctx, self->keeper), AXO_OK);
    return axo_subscribe(ctx, axo_self(ctx), AXO_KIND_TERMINATED);
}

static axo_status top_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    top *self = state;
    if (message->tag == BEGIN) {
        memcpy(&self->story, message->payload, sizeof self->story);
        return top_begin(ctx, self);
    }
    if (message->tag != SEND)
        return AXO_OK;
    uint32_t round = *AXO_PAYLOAD(message, uint32_t);
    for (uint32_t i = 0; i < 4; i++) {
        for (uint32_t k = 0; k < 20; k++) {
            uint32_t key = round * 20 + k;
            uint32_t tag = key % 37 == 36 ? END : key % 53 == 52 ? FAIL : SEND;
            if (tag != SEND && i > 1)
                tag = SEND;
            (void)axo_send(ctx, self->routers[i], tag, &key, sizeof key);
        }
    }
    if (round % 3 == 2)
        (void)axo_send(ctx, self->keeper, END, &round, sizeof round);
    return AXO_OK;
}

static const axo_class top_class =
    AXO_CLASS(.name = "top", .state_size = sizeof(top), .receive = top_receive);

static void story_play(story *it, uint64_t seed)
{
    axo_props props = AXO_PROPS(.cls = &top_class, .name = "top");
    axo_ref ref;
    story *said = it;
    memset(it, 0, sizeof *it);
    it->now = 1000;
    axo_options options = AXO_OPTIONS(.manual = 1, .no_quantum_us = 1, .seed = seed,
                                      .clock = refs_clock, .clock_user = &it->now,
                                      .trace = story_event, .trace_user = it);
    assert_int_equal(axo_system_start(&options, &it->system), AXO_OK);
    assert_int_equal(axo_system_spawn(it->system, &props, &ref), AXO_OK);
    assert_int_equal(axo_system_send(it->system, ref, BEGIN, &said, sizeof said), AXO_OK);
    settle(it->system);
    for (uint32_t round = 0; round < 30; round++) {
        assert_int_equal(axo_system_send(it->system, ref, SEND, &round, sizeof round), AXO_OK);
        settle(it->system);
        it->now += 7 * MS;
        settle(it->system);
    }
    finish(it->system);
}

/* The first event in which two stories differ; their length if in none. */
static uint32_t story_differs(const story *one, const story *other)
{
    uint32_t i = 0;
    while (i < one->count && i < other->count &&
           memcmp(&one->steps[i], &other->steps[i], sizeof one->steps[i]) == 0)
        i++;
    return i;
}

/* Routers by hash and by chance, delays with jitter, watches, events: one seed is one order, and
 * another seed is another. */
static void no_order_depends_on_references(void **state)
{
    static story one, other;
    story_play(&one, 5);
    for (int i = 0; i < 5; i++) {
        story_play(&other, 5);
        assert_true(one.seen[0] != other.seen[0]);
        assert_int_equal(story_differs(&one, &other), one.count);
        assert_int_equal(one.count, other.count);
    }
    assert_true(one.count > 8000);
    story_play(&other, 6);
    assert_true(story_differs(&one, &other) < one.count);
}

/* ---- memory ---- */

enum { BLOCKS = 4096, NAMES = 60 };

/* The sizes of all that a system has taken, in their order. */
typedef struct taken {
    size_t sizes[BLOCKS];
    uint32_t count;
} taken;

static void *taken_alloc(void *user, size_t size, size_t align)
{
    taken *it = user;
    void *block = NULL;
    assert_true(it->count < BLOCKS);
    it->sizes[it->count++] = size;
    size_t least = align < sizeof(void *) ? sizeof(void *) : align;
    return posix_memalign(&block, least, size) == 0 ? block : NULL;
}

static void taken_free(void *user, void *block, size_t size, size_t align)
{
    free(block);
}

static axo_status namer_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    axo_props props = AXO_PROPS(.cls = &worker_class);
    axo_ref child;
    for (uint32_t i = 0; message->tag == SEND && i < NAMES; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "n%u", i);
        props.name = name;
        assert_int_equal(axo_spawn(ctx, &props, &child), AXO_OK);
        if (i % 3 == 0)
            assert_int_equal(axo_register(ctx, name, child), AXO_OK);
        assert_int_equal(axo_subscribe(ctx, child, AXO_KIND_USER), AXO_OK);
        assert_int_equal(axo_watch(ctx, child), AXO_OK);
    }
    return message->tag == SEND ? AXO_OK : AXO_UNHANDLED;
}

static void taken_by(taken *it)
{
    static const axo_class cls = AXO_CLASS(.name = "namer", .receive = namer_receive);
    axo_props props = AXO_PROPS(.cls = &cls, .name = "namer");
    axo_options options = AXO_OPTIONS(.manual = 1, .no_quantum_us = 1, .seed = 9,
                                      .allocator = {taken_alloc, taken_free, it});
    static const char text[900];
    axo_system *system;
    axo_ref ref;
    memset(it, 0, sizeof *it);
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    assert_int_equal(axo_system_spawn(system, &props, &ref), AXO_OK);
    assert_int_equal(axo_system_send(system, ref, SEND, NULL, 0), AXO_OK);
    settle(system);
    for (uint32_t i = 0; i < 300; i++) /* of all sizes, from all processors */
        assert_int_equal(axo_system_send(system, ref, AXO_TAG_SERVICES - 1, text, i * 7 % 900),
                         AXO_OK);
    settle(system);
    finish(system);
}

/* Births from outside, by a thread that goes from one processor to another. */
static void indices_of(uint32_t indices[ACTORS], uint32_t processor)
{
    axo_options options = AXO_OPTIONS(.manual = 1, .seed = 1);
    axo_props props = AXO_PROPS(.cls = &crowd_class);
    axo_system *system;
    refs_processor = processor;
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    for (int i = 0; i < ACTORS; i++) {
        axo_ref ref;
        assert_int_equal(axo_system_spawn(system, &props, &ref), AXO_OK);
        indices[i] = axo_ref_index(ref);
    }
    finish(system);
}

static void no_index_depends_on_the_processor(void **state)
{
    uint32_t one[ACTORS];
    uint32_t other[ACTORS];
    indices_of(one, 0);
    for (uint32_t i = 1; i < 4; i++) {
        indices_of(other, i);
        assert_memory_equal(one, other, sizeof one);
    }
}

/* So the n-th allocation, which a test has refused, is the same one in each run. */
static void no_allocation_depends_on_references(void **state)
{
    static taken one, other;
    taken_by(&one);
    assert_true(one.count > NAMES);
    for (int i = 0; i < 5; i++) {
        refs_processor = (uint32_t)i;
        taken_by(&other);
        assert_int_equal(one.count, other.count);
        assert_memory_equal(one.sizes, other.sizes, one.count * sizeof one.sizes[0]);
    }
}

/* ---- chance of one's own ---- */

typedef struct chances {
    uint64_t seed[3];
    uint32_t count;
} chances;

static axo_status chance_start(axo_ctx *ctx, void *state)
{
    assert_int_equal(axo_seed(NULL), 0);
    return AXO_OK;
}

static axo_status chance_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    chances *it;
    memcpy(&it, message->payload, sizeof it);
    it->seed[it->count++] = axo_seed(ctx);
    assert_true(axo_seed(ctx) == it->seed[it->count - 1]);
    return message->tag == FAIL ? axo_fail(ctx, 1, "again") : AXO_OK;
}

static void chances_of(chances *it, uint64_t seed)
{
    static const axo_class cls =
        AXO_CLASS(.pre_start = chance_start, .receive = chance_receive);
    axo_props props = AXO_PROPS(.cls = &cls);
    axo_options options = AXO_OPTIONS(.manual = 1, .seed = seed);
    axo_system *system;
    axo_ref refs[2];
    memset(it, 0, sizeof *it);
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    for (int i = 0; i < 2; i++)
        assert_int_equal(axo_system_spawn(system, &props, &refs[i]), AXO_OK);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(axo_system_send(system, refs[i == 2], i == 0 ? FAIL : SEND, &it,
                                         sizeof it), AXO_OK);
        settle(system);
    }
    assert_int_equal(it->count, 3);
    finish(system);
}

/* Another for each actor, for each instance, for each seed of the system; the same in each run. */
static void chance_is_of_the_seed(void **state)
{
    chances one, again, other;
    chances_of(&one, 3);
    chances_of(&again, 3);
    chances_of(&other, 4);
    assert_memory_equal(&one, &again, sizeof one);
    for (int i = 0; i < 3; i++) {
        assert_true(one.seed[i] != 0 && one.seed[i] != one.seed[(i + 1) % 3]);
        assert_true(one.seed[i] != other.seed[i]);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(two_systems_of_one_seed_share_no_reference),
    cmocka_unit_test(references_are_not_guessed_from_others),
    cmocka_unit_test(the_next_life_is_not_guessed),
    cmocka_unit_test(two_systems_of_one_seed_share_no_timer),
    cmocka_unit_test(no_order_depends_on_references),
    cmocka_unit_test(no_index_depends_on_the_processor),
    cmocka_unit_test(no_allocation_depends_on_references),
    cmocka_unit_test(chance_is_of_the_seed),
};
TEST_MAIN(tests)
