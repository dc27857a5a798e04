/* stream_test.c - the rules of subscriptions against a model; subscribers that come and go while
 * others publish; the dead leave no place behind. */
#include "unit/unit.h"

#include "base/random.h"
#include "system/system.h"

#define STREAM_DEADLINE_NS INT64_C(30000000000)
enum { STREAM_LEAVES = 31, STREAM_STEPS = 3000 };

static axo_status stream_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    return message->tag == AXO_EVENT ? AXO_OK : AXO_UNHANDLED;
}

static const axo_class stream_class = AXO_CLASS(.receive = stream_receive);

/* 0: nothing runs but what the test steps, so nothing else is published meanwhile. */
static axo_system *stream_start(uint32_t workers)
{
    axo_options options = AXO_OPTIONS(.workers = workers, .manual = workers == 0, .seed = 1);
    axo_system *system = NULL;
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    return system;
}

static axo_ref stream_spawn(axo_system *system)
{
    axo_props props = AXO_PROPS(.cls = &stream_class);
    axo_ref ref;
    assert_int_equal(axo_system_spawn(system, &props, &ref), AXO_OK);
    return ref;
}

static void stream_end(axo_system *system)
{
    axo_stats stats = AXO_STATS(.sent = 0);
    assert_int_equal(axo_system_stop(system, STREAM_DEADLINE_NS, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_stats(system, &stats), AXO_OK);
    assert_int_equal(stats.dead, 0);
    assert_int_equal(stats.sent, stats.handled); /* events are no messages */
    assert_int_equal(axo_system_destroy(system), AXO_OK);
}

static uint64_t stream_events(axo_system *system)
{
    axo_stats stats = AXO_STATS(.sent = 0);
    assert_int_equal(axo_system_stats(system, &stats), AXO_OK);
    return stats.events;
}

static void kinds_contain_by_bytes(void **state)
{
    static const struct {
        uint32_t wide, kind;
        bool yes;
    } cases[] = {
        {0, 0, true}, {0, 0xffffffff, true}, {0x01000000, 0x01000000, true},
        {0x01000000, 0x01020304, true}, {0x01000000, 0x02000000, false}, {0x01000000, 0, false},
        {0x01020000, 0x01020304, true}, {0x01020000, 0x01030000, false},
        {0x01020000, 0x01000000, false}, {0x01020300, 0x010203ff, true},
        {0x01020300, 0x010204ff, false}, {0x01020304, 0x01020304, true},
        {0x01020304, 0x01020305, false}, {0x01000200, 0x01000201, true},
        {0x01000200, 0x01010200, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(axo__kind_contains(cases[i].wide, cases[i].kind), cases[i].yes);
}

/* ---- the rules against a set of kinds ---- */

typedef struct stream_model {
    uint32_t kinds[STREAM_LEAVES];
    bool heard[STREAM_LEAVES];
} stream_model;

/* All and four levels of two: every kind that has no zero before its last byte. */
static void stream_model_init(stream_model *model)
{
    uint32_t count = 0;
    memset(model, 0, sizeof *model);
    model->kinds[count++] = 0;
    for (uint32_t depth = 1; depth <= 4; depth++) {
        for (uint32_t path = 0; path < UINT32_C(1) << depth; path++) {
            uint32_t kind = 0;
            for (uint32_t level = 0; level < depth; level++)
                kind |= (0x81 + (path >> level & 1)) << (24 - 8 * level);
            model->kinds[count++] = kind;
        }
    }
    assert_int_equal(count, STREAM_LEAVES);
}

/* Whether anything would change, and the change. */
static bool stream_model_set(stream_model *model, uint32_t kind, bool heard)
{
    bool changed = false;
    for (uint32_t i = 0; i < STREAM_LEAVES; i++) {
        if (!axo__kind_contains(kind, model->kinds[i]))
            continue;
        changed = changed || model->heard[i] != heard;
        model->heard[i] = heard;
    }
    return changed;
}

/* Each kind is heard, once, as the model says. A kind with narrower ones stands for what is
 * published as itself. */
static void stream_model_check(axo_system *system, const stream_model *model)
{
    for (uint32_t i = 1; i < STREAM_LEAVES; i++) {
        uint64_t before = stream_events(system);
        assert_int_equal(axo_system_publish(system, model->kinds[i], NULL, 0), AXO_OK);
        assert_int_equal(stream_events(system) - before, model->heard[i] ? 1 : 0);
        assert_true(!model->heard[i] || axo__event_wants(&system->core, model->kinds[i]));
    }
}

static void rules_are_a_set_of_kinds(void **state)
{
    axo_system *system = stream_start(0);
    axo_ref ref = stream_spawn(system);
    axo__random random;
    stream_model model;
    uint32_t limits = 0;
    stream_model_init(&model);
    axo__random_init(&random, 7, 1);
    for (uint32_t step = 0; step < STREAM_STEPS; step++) {
        uint32_t kind = model.kinds[axo__random_below(&random, STREAM_LEAVES)];
        bool heard = axo__random_below(&random, 2) == 0;
        stream_model next = model;
        bool changes = stream_model_set(&next, kind, heard);
        axo_status status = heard ? axo_system_subscribe(system, ref, kind)
                                  : axo_system_unsubscribe(system, ref, kind);
        if (status == AXO_ELIMIT) {
            limits++;
        } else {
            assert_int_equal(status, changes ? AXO_OK : heard ? AXO_EEXIST : AXO_ENOENT);
            model = next;
        }
        if (step % 16 == 0)
            stream_model_check(system, &model);
    }
    assert_int_equal(limits, 0); /* sixteen rules are enough for a tree of this size */
    (void)axo_system_unsubscribe(system, ref, AXO_KIND_ALL);
    assert_int_equal(axo__stream_subscribers(&system->stream), 0);
    for (uint32_t i = 0; i < STREAM_LEAVES; i++)
        assert_false(axo__event_wants(&system->core, model.kinds[i]));
    stream_end(system);
}

/* ---- coming and going ---- */

typedef struct stream_crowd {
    axo_system *system;
    axo_ref steady;
    axo__a64 published;
    axo__a64 wrong;
} stream_crowd;

enum { CROWD_TURNS = 2000, CROWD_MANY = 12 };

/* Two publish, one lets subscribers come, change their minds and die; one subscriber is steady. */
static void stream_crowd_main(void *arg, uint32_t index)
{
    stream_crowd *crowd = arg;
    axo_system *system = crowd->system;
    axo_props props = AXO_PROPS(.cls = &stream_class);
    axo_ref many[CROWD_MANY];
    if (index < 2) {
        for (uint32_t i = 0; i < CROWD_TURNS; i++) {
            uint32_t kind = AXO_KIND_USER + (i % 2) * 0x10000;
            if (axo_system_publish(system, kind, &i, sizeof i) == AXO_OK)
                (void)axo__a64_add_relaxed(&crowd->published, 1);
        }
        return;
    }
    for (uint32_t turn = 0; turn < CROWD_TURNS / 40; turn++) {
        for (uint32_t i = 0; i < CROWD_MANY; i++) {
            axo_status status = axo_system_spawn(system, &props, &many[i]);
            if (status == AXO_OK)
                status = axo_system_subscribe(system, many[i], AXO_KIND_USER);
            if (status == AXO_OK && i % 3 == 0)
                status = axo_system_unsubscribe(system, many[i], AXO_KIND_USER + 0x10000);
            if (status != AXO_OK)
                (void)axo__a64_add_relaxed(&crowd->wrong, 1);
        }
        for (uint32_t i = 0; i < CROWD_MANY; i++) {
            if (i % 4 == 0)
                (void)axo_system_unsubscribe(system, many[i], AXO_KIND_ALL);
            if (axo_system_stop_actor(system, many[i]) != AXO_OK)
                (void)axo__a64_add_relaxed(&crowd->wrong, 1);
        }
    }
}

static axo_status steady_construct(axo_ctx *ctx, void *state, const void *args)
{
    memcpy(state, args, sizeof(axo__a64 *));
    return AXO_OK;
}

static axo_status steady_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    if (message->tag == AXO_EVENT && AXO_PAYLOAD(message, axo_event_message)->size > 0)
        (void)axo__a64_add_relaxed(*(axo__a64 **)state, 1);
    return AXO_OK;
}

/* The steady one misses nothing and gets nothing twice. */
static void subscribers_come_and_go(void **state)
{
    static const axo_class steady = AXO_CLASS(.state_size = sizeof(axo__a64 *),
                                              .construct = steady_construct,
                                              .receive = steady_receive);
    stream_crowd crowd = {.system = stream_start(2)};
    axo__a64 heard = {0};
    axo__a64 *arg = &heard;
    axo_props props = AXO_PROPS(.cls = &steady, .args = &arg, .args_size = sizeof arg);
    assert_int_equal(axo_system_spawn(crowd.system, &props, &crowd.steady), AXO_OK);
    assert_int_equal(axo_system_subscribe(crowd.system, crowd.steady, AXO_KIND_USER), AXO_OK);
    unit_run_threads(3, stream_crowd_main, &crowd);
    assert_int_equal(axo__a64_load_relaxed(&crowd.wrong), 0);
    assert_int_equal(axo_system_poison(crowd.system, crowd.steady), AXO_OK); /* after them all */
    assert_int_equal(axo_system_wait(crowd.system, 0, NULL), AXO_ETIMEDOUT);
    while (axo_system_publish(crowd.system, AXO_KIND_USER, NULL, 0) == AXO_OK &&
           axo__stream_subscribers(&crowd.system->stream) > 0) {
    } /* every one is dying, and is removed when it is met */
    assert_int_equal(axo__a64_load_relaxed(&heard), axo__a64_load_relaxed(&crowd.published));
    assert_int_equal(axo__a64_load_relaxed(&crowd.published), 2 * CROWD_TURNS);
    assert_false(axo__event_wants(&crowd.system->core, AXO_KIND_USER));
    assert_int_equal(axo_system_stop(crowd.system, STREAM_DEADLINE_NS, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(crowd.system), AXO_OK);
}

/* ---- one place, two subscribers in turn ---- */

typedef struct stream_swap {
    axo_system *system;
    axo_ref refs[2];
    axo__a32 done;
    axo__a64 wrong[2]; /* events that one got though it never asked for their kind */
} stream_swap;

typedef struct swap_state {
    stream_swap *swap;
    uint32_t index;
} swap_state;

enum { SWAP_TURNS = 40000 };

static uint32_t swap_kind(uint32_t index)
{
    return AXO_KIND_USER + (index + 1) * 0x10000;
}

static axo_status swap_construct(axo_ctx *ctx, void *state, const void *args)
{
    memcpy(state, args, sizeof(swap_state));
    return AXO_OK;
}

static axo_status swap_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    swap_state *me = state;
    if (message->tag == AXO_EVENT &&
        AXO_PAYLOAD(message, axo_event_message)->kind != swap_kind(me->index))
        (void)axo__a64_add_relaxed(&me->swap->wrong[me->index], 1);
    return AXO_OK;
}

static void swap_main(void *arg, uint32_t index)
{
    stream_swap *swap = arg;
    if (index == 0) {
        for (uint32_t i = 0; i < SWAP_TURNS; i++)
            (void)axo_system_publish(swap->system, swap_kind(i % 2), NULL, 0);
        axo__a32_store_relaxed(&swap->done, 1);
        return;
    }
    for (uint32_t i = 0; axo__a32_load_relaxed(&swap->done) == 0; i = 1 - i) {
        (void)axo_system_subscribe(swap->system, swap->refs[i], swap_kind(i));
        (void)axo_system_unsubscribe(swap->system, swap->refs[i], AXO_KIND_ALL);
    }
}

/* What is read of a place that changes hands is of one of them, never of both. */
static void a_place_changes_hands(void **state)
{
    static const axo_class cls = AXO_CLASS(.state_size = sizeof(swap_state),
                                           .construct = swap_construct, .receive = swap_receive);
    stream_swap swap = {.system = stream_start(1)};
    axo_ref crowd[2];
    for (uint32_t i = 0; i < 2; i++) {
        swap_state arg = {&swap, i};
        axo_props props = AXO_PROPS(.cls = &cls, .args = &arg, .args_size = sizeof arg);
        assert_int_equal(axo_system_spawn(swap.system, &props, &swap.refs[i]), AXO_OK);
        crowd[i] = stream_spawn(swap.system); /* so that the door is open to both kinds */
        assert_int_equal(axo_system_subscribe(swap.system, crowd[i], swap_kind(i)), AXO_OK);
    }
    unit_run_threads(2, swap_main, &swap);
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(axo__a64_load_relaxed(&swap.wrong[i]), 0);
    stream_end(swap.system);
}

/* ---- what is not changed holds meanwhile ---- */

static void keep_main(void *arg, uint32_t index)
{
    stream_swap *swap = arg;
    if (index == 0) {
        for (uint32_t i = 0; i < SWAP_TURNS; i++)
            (void)axo_system_publish(swap->system, swap_kind(0), NULL, 0);
        axo__a32_store_relaxed(&swap->done, 1);
        return;
    }
    while (axo__a32_load_relaxed(&swap->done) == 0) {
        (void)axo_system_subscribe(swap->system, swap->refs[0], swap_kind(1));
        (void)axo_system_unsubscribe(swap->system, swap->refs[0], swap_kind(1));
    }
}

/* Its subscription to another kind comes and goes; of the one that it has all the time it misses
 * nothing. */
static void other_kinds_come_and_go(void **state)
{
    stream_swap swap = {.system = stream_start(1)};
    swap.refs[0] = stream_spawn(swap.system);
    assert_int_equal(axo_system_subscribe(swap.system, swap.refs[0], swap_kind(0)), AXO_OK);
    unit_run_threads(2, keep_main, &swap);
    assert_int_equal(stream_events(swap.system), SWAP_TURNS);
    stream_end(swap.system);
}

/* Subscribers that die unmet make room for others before memory is taken. */
static void the_dead_make_room(void **state)
{
    axo_system *system = stream_start(1);
    axo_stats stats = AXO_STATS(.sent = 0);
    axo_ref last = axo_ref_none();
    for (uint32_t i = 0; i < 40 * AXO__PLACES_FIRST; i++) {
        char path[8];
        last = stream_spawn(system);
        assert_int_equal(axo_system_subscribe(system, last, AXO_KIND_USER), AXO_OK);
        assert_int_equal(axo_system_stop_actor(system, last), AXO_OK);
        while (axo_system_path(system, last, path, sizeof path) != AXO_EGONE)
            (void)sched_yield();
    }
    uint32_t left = axo__stream_subscribers(&system->stream);
    assert_in_range(left, 1, AXO__PLACES_FIRST);
    assert_int_equal(axo_system_subscribe(system, last, AXO_KIND_USER), AXO_EGONE); /* ES-02 */
    assert_int_equal(axo__stream_subscribers(&system->stream), left - 1);
    assert_int_equal(axo__a64_load_relaxed(&system->core.heap.calls[AXO__SITE_STREAM]), 1);
    assert_int_equal(axo_system_publish(system, AXO_KIND_USER, NULL, 0), AXO_OK);
    assert_int_equal(axo__stream_subscribers(&system->stream), 0);
    assert_int_equal(axo_system_stats(system, &stats), AXO_OK);
    assert_int_equal(stats.events, 0);
    stream_end(system);
}

/* More than a chunk of them, and no memory for another chunk. */
static void places_grow(void **state)
{
    unit_memory memory;
    /* By hand: an actor that starts while there is no memory would end. */
    axo_options options = AXO_OPTIONS(.manual = 1, .seed = 1,
                                      .allocator = {unit_alloc, unit_free, &memory});
    axo_system *system = NULL;
    axo_ref refs[AXO__PLACES_FIRST + 1];
    axo__a64_store_relaxed(&memory.budget, 1 << 20);
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    for (uint32_t i = 0; i <= AXO__PLACES_FIRST; i++)
        refs[i] = stream_spawn(system);
    for (uint32_t i = 0; i < AXO__PLACES_FIRST; i++)
        assert_int_equal(axo_system_subscribe(system, refs[i], AXO_KIND_USER), AXO_OK);
    axo__a64_store_relaxed(&memory.budget, 0);
    assert_int_equal(axo_system_subscribe(system, refs[AXO__PLACES_FIRST], AXO_KIND_USER),
                     AXO_ENOMEM);
    assert_int_equal(axo__stream_subscribers(&system->stream), AXO__PLACES_FIRST);
    axo__a64_store_relaxed(&memory.budget, 1 << 20);
    assert_int_equal(axo_system_subscribe(system, refs[AXO__PLACES_FIRST], AXO_KIND_USER), AXO_OK);
    uint64_t before = stream_events(system);
    assert_int_equal(axo_system_publish(system, AXO_KIND_USER, NULL, 0), AXO_OK);
    assert_int_equal(stream_events(system) - before, AXO__PLACES_FIRST + 1);
    for (uint32_t i = 0; i < 300; i++) {
        axo_ref ref = stream_spawn(system);
        assert_int_equal(axo_system_subscribe(system, ref, AXO_KIND_USER), AXO_OK);
    }
    before = stream_events(system);
    assert_int_equal(axo_system_publish(system, AXO_KIND_USER, NULL, 0), AXO_OK);
    assert_int_equal(stream_events(system) - before, AXO__PLACES_FIRST + 301);
    stream_end(system);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(kinds_contain_by_bytes),
    cmocka_unit_test(rules_are_a_set_of_kinds),
    cmocka_unit_test(subscribers_come_and_go),
    cmocka_unit_test(a_place_changes_hands),
    cmocka_unit_test(other_kinds_come_and_go),
    cmocka_unit_test(the_dead_make_room),
    cmocka_unit_test(places_grow),
};
TEST_MAIN(tests)
