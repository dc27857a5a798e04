/* leaf_test.c - the life of a plain leaf: the short paths do what the general ones do. Each scene
 * is played twice in a manual system, without an observer, by the short paths, and with one that
 * wants everything, by the general ones: what the program sees is the same to the letter. */
#include "unit/unit.h"

#include <stdarg.h>
#include <stdio.h>

#include <axo/axo.h>

enum { GO = 1, WORK, MORE, LAST, ASK };

/* What a leaf does, and where. */
typedef enum leaf_way {
    LEAF_STOPS,             /* in receive */
    LEAF_LIVES,
    LEAF_STOPS_IN_CONSTRUCT,
    LEAF_STOPS_IN_START,
    LEAF_STOPS_TWICE,
    LEAF_FAILS_IN_CONSTRUCT,
    LEAF_THROWS_IN_CONSTRUCT,
    LEAF_FAILS_IN_START,
    LEAF_THROWS_IN_START,
    LEAF_FAILS_IN_STOP,
    LEAF_THROWS_IN_STOP,
    LEAF_FAILS_THEN_STOPS,  /* restarted in between */
    LEAF_THROWS_AND_STOPS,  /* both in one message */
    LEAF_RECORDS_AND_STOPS, /* axo_fail, but it returns AXO_OK */
    LEAF_UNHANDLED_STOPS,
    LEAF_WATCHES_IN_STOP,
    LEAF_SETS_A_TIMER_IN_STOP,
    LEAF_HAS_MEMORY,        /* of the instance, in construct */
    LEAF_DEFERS_IN_STOP,
    LEAF_SPAWNS,            /* children of its own in construct, and stops */
    LEAF_SENDS_TO_ITSELF,   /* in post_stop */
    LEAF_BECOMES,
    LEAF_STASHES,
    LEAF_TELLS_ITS_PARENT,  /* in post_stop, which asks how many children it has */
    LEAF_FAILS_IN_CONSTRUCT_AND_STOPS,
    LEAF_WAYS
} leaf_way;

/* What its parent does besides. */
typedef enum leaf_also {
    ALSO_NOTHING,
    ALSO_STOPS_IT,    /* before it has run */
    ALSO_STOPS_LATER, /* in the next turn */
    ALSO_WATCHES_IT,
    ALSO_POISONS_IT,
    ALSO_KILLS_IT,
    ALSO_FAILS,       /* while the child has not run */
    ALSO_ENDS,
    ALSO_WAYS
} leaf_also;

static struct {
    axo_system *system;
    leaf_way way;
    leaf_also also;
    axo_lifetime lifetime;
    uint32_t messages; /* that its parent sends it at once */
    uint32_t construct;
    uint32_t fails;
    axo_ref child;
    char text[16384];
    size_t used;
} w;

static void leaf_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void leaf_say(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int more = vsnprintf(w.text + w.used, sizeof w.text - w.used, format, list);
    va_end(list);
    assert_true(more >= 0 && w.used + (size_t)more < sizeof w.text);
    w.used += (size_t)more;
}

/* ---- the leaf ---- */

static axo_status leaf_receive(axo_ctx *ctx, void *state, const axo_message *message);

static axo_status grandchild_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    return AXO_OK;
}

static axo_status grandchild_stop(axo_ctx *ctx, void *state)
{
    leaf_say("grandchild.stop ");
    return AXO_OK;
}

static const axo_class grandchild_class =
    AXO_CLASS(.name = "grandchild", .receive = grandchild_receive, .post_stop = grandchild_stop);

static axo_status leaf_fails(axo_ctx *ctx, bool throws)
{
    if (throws)
        axo_throw(ctx, 9, "thrown");
    return axo_fail(ctx, 8, "failed");
}

static void leaf_cleans(void *arg)
{
    leaf_say("clean ");
}

static axo_status leaf_construct(axo_ctx *ctx, void *state, const void *args)
{
    uint64_t *count = state;
    leaf_say("construct(%u,%u,%u) ", (unsigned)*count, (unsigned)axo_instance(ctx),
             (unsigned)(args != NULL ? *(const uint32_t *)args : 0));
    *count = 7;
    w.construct++;
    if (w.way == LEAF_FAILS_IN_CONSTRUCT_AND_STOPS)
        assert_int_equal(axo_stop_self(ctx), AXO_OK);
    if (w.way == LEAF_FAILS_IN_CONSTRUCT || w.way == LEAF_THROWS_IN_CONSTRUCT ||
        w.way == LEAF_FAILS_IN_CONSTRUCT_AND_STOPS)
        return leaf_fails(ctx, w.way == LEAF_THROWS_IN_CONSTRUCT);
    if (w.way == LEAF_HAS_MEMORY) {
        assert_non_null(axo_alloc(ctx, 100));
        assert_int_equal(axo_defer(ctx, leaf_cleans, NULL), AXO_OK);
    }
    if (w.way == LEAF_SPAWNS) {
        axo_props props = AXO_PROPS(.cls = &grandchild_class);
        axo_ref ref;
        for (uint32_t i = 0; i < 3; i++)
            assert_int_equal(axo_spawn(ctx, &props, &ref), AXO_OK);
    }
    bool stops = w.way == LEAF_STOPS_IN_CONSTRUCT || w.way == LEAF_SPAWNS;
    return stops && w.construct < 4 ? axo_stop_self(ctx) : AXO_OK; /* a permanent one comes back */
}

static axo_status leaf_start(axo_ctx *ctx, void *state)
{
    leaf_say("start(%u) ", (unsigned)*(uint64_t *)state);
    if (w.way == LEAF_FAILS_IN_START || w.way == LEAF_THROWS_IN_START)
        return leaf_fails(ctx, w.way == LEAF_THROWS_IN_START);
    return w.way == LEAF_STOPS_IN_START && w.construct < 4 ? axo_stop_self(ctx) : AXO_OK;
}

static axo_status leaf_other(axo_ctx *ctx, void *state, const axo_message *message)
{
    leaf_say("became(%u) ", (unsigned)message->tag);
    return axo_stop_self(ctx);
}

static axo_status leaf_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    leaf_say("receive(%u,%u) ", (unsigned)message->tag, (unsigned)axo_instance(ctx));
    if (w.way == LEAF_FAILS_THEN_STOPS && w.fails++ == 0)
        return leaf_fails(ctx, false);
    if (w.way == LEAF_BECOMES)
        return axo_become(ctx, leaf_other);
    if (w.way == LEAF_STASHES && w.construct < 4)
        assert_int_equal(axo_stash(ctx), AXO_OK);
    if (w.way == LEAF_LIVES)
        return AXO_OK;
    axo_status status = axo_stop_self(ctx);
    if (w.way == LEAF_STOPS_TWICE)
        status = axo_stop_self(ctx);
    if (w.way == LEAF_THROWS_AND_STOPS)
        axo_throw(ctx, 9, "thrown");
    if (w.way == LEAF_RECORDS_AND_STOPS)
        (void)axo_fail(ctx, 8, "recorded only");
    return w.way == LEAF_UNHANDLED_STOPS ? AXO_UNHANDLED : status;
}

static axo_status leaf_stop(axo_ctx *ctx, void *state)
{
    axo_ref ref;
    axo_props props = AXO_PROPS(.cls = &grandchild_class);
    leaf_say("stop(%u,%u) ", (unsigned)*(uint64_t *)state, (unsigned)axo_instance(ctx));
    assert_int_equal(axo_spawn(ctx, &props, &ref), AXO_ESTOPPING); /* ST-10 */
    if (w.way == LEAF_FAILS_IN_STOP || w.way == LEAF_THROWS_IN_STOP)
        return leaf_fails(ctx, w.way == LEAF_THROWS_IN_STOP);
    if (w.way == LEAF_WATCHES_IN_STOP)
        assert_int_equal(axo_watch(ctx, axo_parent(ctx)), AXO_OK);
    if (w.way == LEAF_SETS_A_TIMER_IN_STOP)
        assert_int_equal(axo_timer_start(ctx, 1, AXO_TIMER_ONCE, 1000000, 0, MORE, NULL, 0),
                         AXO_OK);
    if (w.way == LEAF_DEFERS_IN_STOP)
        assert_int_equal(axo_defer(ctx, leaf_cleans, NULL), AXO_OK);
    if (w.way == LEAF_SENDS_TO_ITSELF && w.construct < 4)
        assert_int_equal(axo_send(ctx, axo_self(ctx), MORE, NULL, 0), AXO_OK);
    if (w.way == LEAF_TELLS_ITS_PARENT)
        assert_int_equal(axo_send(ctx, axo_parent(ctx), ASK, NULL, 0), AXO_OK);
    return AXO_OK;
}

static const axo_class leaf_class =
    AXO_CLASS(.name = "leaf", .state_size = sizeof(uint64_t), .construct = leaf_construct,
              .pre_start = leaf_start, .receive = leaf_receive, .post_stop = leaf_stop);

/* ---- its parent ---- */

static axo_status parent_go(axo_ctx *ctx)
{
    static const uint32_t args = 5;
    axo_props props = AXO_PROPS(.cls = &leaf_class, .args = &args, .args_size = sizeof args,
                                .lifetime = w.lifetime);
    assert_int_equal(axo_spawn(ctx, &props, &w.child), AXO_OK);
    if (w.also == ALSO_WATCHES_IT)
        assert_int_equal(axo_watch(ctx, w.child), AXO_OK);
    if (w.messages > 0)
        assert_int_equal(axo_send(ctx, w.child, WORK, NULL, 0), AXO_OK);
    if (w.also == ALSO_POISONS_IT)
        assert_int_equal(axo_poison(ctx, w.child), AXO_OK);
    if (w.also == ALSO_KILLS_IT)
        assert_int_equal(axo_kill(ctx, w.child), AXO_OK);
    if (w.messages > 1)
        assert_int_equal(axo_send(ctx, w.child, MORE, "12345678", 8), AXO_OK);
    if (w.also == ALSO_STOPS_IT)
        assert_int_equal(axo_stop(ctx, w.child), AXO_OK);
    if (w.also == ALSO_FAILS)
        return axo_fail(ctx, 3, "the parent");
    return w.also == ALSO_ENDS ? axo_stop_self(ctx) : AXO_OK;
}

static axo_status parent_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    switch (message->tag) {
    case GO:
        return parent_go(ctx);
    case LAST:
        if (w.also == ALSO_STOPS_LATER)
            (void)axo_stop(ctx, w.child);
        (void)axo_send(ctx, w.child, LAST, NULL, 0);
        break;
    case AXO_TERMINATED:
        leaf_say("terminated ");
        break;
    default:
        break;
    }
    leaf_say("parent(%u,%u) ", (unsigned)message->tag, (unsigned)axo_child_count(ctx));
    return AXO_OK;
}

static const axo_class parent_class = AXO_CLASS(.name = "parent", .receive = parent_receive);

/* ---- a scene ---- */

static void leaf_log(void *user, const axo_log_record *record)
{
    leaf_say("log(%u,%s: %s code %d %s) ", (unsigned)record->level, record->directive_name,
             record->kind_name, (int)record->code, record->text);
}

static void leaf_dead(void *user, const axo_dead_letter *letter)
{
    leaf_say("dead(%u,%u,%u) ", (unsigned)letter->message->tag, (unsigned)letter->reason,
             (unsigned)letter->suppressed);
}

static void leaf_event(void *user, const axo_event *event)
{
    (*(uint64_t *)user)++;
}

static void leaf_run(void)
{
    assert_int_equal(axo_run_host(w.system, -1, NULL), AXO_OK);
}

static void leaf_play(leaf_way way, leaf_also also, axo_lifetime lifetime, uint32_t messages,
                      bool observed)
{
    uint64_t events = 0;
    axo_options options = AXO_OPTIONS(.manual = 1, .seed = 3, .no_quantum_us = 1, .stuck_ns = -1,
                                      .log_record = leaf_log, .on_dead_letter = leaf_dead,
                                      .no_dead_letter_log = 1);
    axo_props props = AXO_PROPS(.cls = &parent_class, .name = "parent");
    axo_ref parent;
    axo_stats stats = AXO_STATS();
    memset(&w, 0, sizeof w);
    w.way = way;
    w.also = also;
    w.lifetime = lifetime;
    w.messages = messages;
    if (observed) {
        options.trace = leaf_event;
        options.trace_user = &events;
    }
    assert_int_equal(axo_system_start(&options, &w.system), AXO_OK);
    assert_int_equal(axo_system_spawn(w.system, &props, &parent), AXO_OK);
    assert_int_equal(axo_system_send(w.system, parent, GO, NULL, 0), AXO_OK);
    leaf_run();
    leaf_say("| ");
    (void)axo_system_send(w.system, parent, LAST, NULL, 0);
    leaf_run();
    leaf_say("| ");
    assert_int_equal(axo_system_stats(w.system, &stats), AXO_OK);
    leaf_say("%u spawned, %u terminated, %u failures, %u restarts, %u sent, %u handled, %u dead, "
             "%u unhandled; ",
             (unsigned)stats.spawned, (unsigned)stats.terminated, (unsigned)stats.failures,
             (unsigned)stats.restarts, (unsigned)stats.sent, (unsigned)stats.handled,
             (unsigned)stats.dead, (unsigned)stats.unhandled);
    assert_int_equal(axo_system_stop(w.system, 0, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_stats(w.system, &stats), AXO_OK);
    leaf_say("%u spawned, %u terminated", (unsigned)stats.spawned, (unsigned)stats.terminated);
    assert_int_equal(stats.sent, stats.handled + stats.dead + stats.dropped); /* D7 */
    assert_int_equal(stats.spawned, stats.terminated);
    assert_int_equal(axo_system_destroy(w.system), AXO_OK);
    assert_true(observed ? events > 0 : events == 0);
}

static void both_paths_are_one(void **state)
{
    static char text[sizeof w.text];
    for (uint32_t i = 0; i < LEAF_WAYS * ALSO_WAYS * 3 * 3; i++) {
        leaf_way way = (leaf_way)(i % LEAF_WAYS);
        leaf_also also = (leaf_also)(i / LEAF_WAYS % ALSO_WAYS);
        axo_lifetime lifetime = (axo_lifetime)(i / LEAF_WAYS / ALSO_WAYS % 3);
        uint32_t messages = i / LEAF_WAYS / ALSO_WAYS / 3;
        leaf_play(way, also, lifetime, messages, false);
        memcpy(text, w.text, sizeof text);
        leaf_play(way, also, lifetime, messages, true);
        if (strcmp(text, w.text) != 0)
            fail_msg("way %u, also %u, lifetime %u, %u messages:\n  short   %s\n  general %s",
                     (unsigned)way, (unsigned)also, (unsigned)lifetime, (unsigned)messages, text,
                     w.text);
    }
}

/* The usual ways, as they are meant. */
static void as_expected(leaf_way way, leaf_also also, const char *begin)
{
    leaf_play(way, also, AXO_TRANSIENT, 2, false);
    if (strncmp(w.text, begin, strlen(begin)) != 0)
        fail_msg("way %u, also %u:\n  expected %s\n  got      %s", (unsigned)way, (unsigned)also,
                 begin, w.text);
}

static void each_way_as_expected(void **state)
{
    as_expected(LEAF_STOPS, ALSO_NOTHING,
                "construct(0,1,5) start(7) receive(2,1) stop(7,1) dead(3,2,0) | "
                "dead(4,1,0) parent(4,0) | ");
    as_expected(LEAF_STOPS_IN_CONSTRUCT, ALSO_NOTHING,
                "construct(0,1,5) start(7) stop(7,1) dead(2,2,0) dead(3,2,0) | ");
    as_expected(LEAF_STOPS_IN_START, ALSO_WATCHES_IT,
                "construct(0,1,5) start(7) stop(7,1) dead(2,2,0) dead(3,2,0) terminated ");
    as_expected(LEAF_THROWS_IN_CONSTRUCT, ALSO_NOTHING,
                "construct(0,1,5) log(1,stop: init code 9 thrown) dead(2,2,0) ");
    as_expected(LEAF_THROWS_IN_START, ALSO_NOTHING,
                "construct(0,1,5) start(7) log(1,stop: init code 9 thrown) "
                "dead(2,2,0) ");
    as_expected(LEAF_THROWS_IN_STOP, ALSO_NOTHING,
                "construct(0,1,5) start(7) receive(2,1) stop(7,1) log(");
    as_expected(LEAF_SENDS_TO_ITSELF, ALSO_NOTHING,
                "construct(0,1,5) start(7) receive(2,1) stop(7,1) dead(3,2,0) dead(3,2,0) | ");
    as_expected(LEAF_TELLS_ITS_PARENT, ALSO_NOTHING,
                "construct(0,1,5) start(7) receive(2,1) stop(7,1) dead(3,2,0) parent(5,0) | ");
    as_expected(LEAF_LIVES, ALSO_STOPS_LATER,
                "construct(0,1,5) start(7) receive(2,1) receive(3,1) | parent(4,1) stop(7,1) ");
}

/* ---- what a leaf has no record for ---- */

static uint32_t apart_failures;
static uint32_t apart_texts; /* of them that came with their text */

static void apart_log(void *user, axo_log_level level, axo_ref actor, const char *text)
{
    apart_failures++;
    apart_texts += strstr(text, "as it was told") != NULL;
}

static axo_status apart_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    return axo_fail(ctx, 5, "as it was told");
}

static const axo_class apart_class = AXO_CLASS(.name = "apart", .receive = apart_receive);

static axo_status above_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    axo_props props = AXO_PROPS(.cls = &apart_class);
    for (uint32_t i = 0; i < message->tag; i++) {
        axo_ref ref;
        assert_int_equal(axo_spawn(ctx, &props, &ref), AXO_OK);
        for (uint32_t k = 0; k < 5; k++)
            assert_int_equal(axo_send(ctx, ref, WORK, NULL, 0), AXO_OK);
    }
    return AXO_OK;
}

static const axo_class above_class = AXO_CLASS(.name = "above", .receive = above_receive);

static void apart_play(const axo_strategy *strategy, uint32_t children, uint32_t restarts)
{
    axo_options options = AXO_OPTIONS(.manual = 1, .no_quantum_us = 1, .stuck_ns = -1,
                                      .log = apart_log, .failure_texts = 8,
                                      .failure_log = UINT32_MAX,
                                      .no_dead_letter_log = 1);
    axo_props props = AXO_PROPS(.cls = &above_class, .name = "above", .strategy = strategy);
    axo_stats stats = AXO_STATS();
    axo_ref above;
    apart_failures = apart_texts = 0;
    assert_int_equal(axo_system_start(&options, &w.system), AXO_OK);
    assert_int_equal(axo_system_spawn(w.system, &props, &above), AXO_OK);
    assert_int_equal(axo_system_send(w.system, above, children, NULL, 0), AXO_OK);
    leaf_run();
    assert_int_equal(axo_system_stats(w.system, &stats), AXO_OK);
    assert_int_equal(stats.restarts, children * restarts);
    assert_int_equal(stats.failures, children * (restarts + 1));
    assert_int_equal(stats.actors, 4); /* the guardians and the one above */
    assert_int_equal(apart_failures, stats.failures);
    assert_int_equal(apart_texts, stats.failures); /* each text has come back */
    assert_int_equal(axo_system_stop(w.system, 0, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(w.system), AXO_OK);
}

static axo_directive apart_stops(axo_ctx *ctx, void *state, const axo_failure *failure, void *user)
{
    return AXO_STOP;
}

/* A parent that counts needs a record of each child, and one that stops them has none; texts go
 * back from both. */
static void children_that_fail_alone(void **state)
{
    const axo_strategy counts = AXO_STRATEGY(.limited = 1, .retries_max = 2, .within_ns = -1);
    const axo_strategy stops = AXO_STRATEGY(.decider = apart_stops);
    apart_play(&counts, 20, 2);
    apart_play(&stops, 40, 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(children_that_fail_alone),
    cmocka_unit_test(each_way_as_expected),
    cmocka_unit_test(both_paths_are_one),
};
TEST_MAIN(tests)
