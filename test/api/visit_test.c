/* visit_test.c - all that a system has in it is shown: actors, what waits for them, their timers;
 * in which order; and that it says so when something moves. */
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/cmocka.h"

#include <axo/axo.h>
#include <axo/world.h>

enum { MAKE = 1, DATA, ASIDE, BACK, TICK, TIMEOUT, FALL, WAIT, VISIT, STILL };

#define MS INT64_C(1000000)

typedef struct world {
    axo_system *system;
    axo_status status;
    int64_t now;
    uint32_t ids;
    _Atomic uint64_t handled;
    _Atomic uint32_t waiting;
    _Atomic uint32_t go;
    /* what was shown */
    char text[1 << 16];
    size_t length;
    uint32_t shown[5];
    uint32_t next; /* number that the next message shown is to have */
    bool in_order;
    axo_ref last; /* actor that was shown */
} world;

static world *the;

static void world_count(void *user, const axo_visited *it);

typedef struct thing {
    uint32_t id;
    uint64_t handled;
} thing;

static const axo_class thing_class;

static axo_status thing_construct(axo_ctx *ctx, void *state, const void *args)
{
    thing *me = state;
    (void)ctx;
    memcpy(&me->id, args, sizeof me->id);
    return AXO_OK;
}

static axo_status thing_make(axo_ctx *ctx, const axo_message *message)
{
    axo_ref child;
    axo_props props = AXO_PROPS(.cls = &thing_class, .args = message->payload,
                                .args_size = sizeof(uint32_t));
    return axo_spawn(ctx, &props, &child);
}

static axo_status thing_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    thing *me = state;
    const uint32_t what = 77;
    switch (message->tag) {
    case MAKE:
        return thing_make(ctx, message);
    case ASIDE:
        return axo_stash(ctx);
    case BACK:
        return axo_unstash_all(ctx);
    case TICK:
        return axo_timer_start(ctx, 5, AXO_TIMER_FIXED_RATE, 30 * MS, 10 * MS, DATA, &what,
                               sizeof what);
    case STILL:
        return axo_timer_stop(ctx, 5);
    case TIMEOUT:
        return axo_receive_timeout(ctx, 40 * MS);
    case FALL:
        return axo_fail(ctx, 1, "it falls");
    case WAIT:
        atomic_store(&the->waiting, 1);
        while (atomic_load(&the->go) == 0)
            (void)sched_yield();
        return AXO_OK;
    case VISIT:
        the->status = axo_system_visit(the->system, world_count, the);
        return AXO_OK;
    default:
        me->handled++;
        the->handled++;
        return AXO_OK;
    }
}

static const axo_class thing_class =
    AXO_CLASS(.name = "thing", .state_size = sizeof(thing), .construct = thing_construct,
              .receive = thing_receive);

/* ---- a world ---- */

static int64_t world_clock(void *user)
{
    return ((world *)user)->now;
}

static void world_begin(world *w, axo_options options)
{
    the = w;
    options.clock = world_clock;
    options.clock_user = w;
    assert_int_equal(axo_system_start(&options, &w->system), AXO_OK);
}

static void world_finish(world *w)
{
    assert_int_equal(axo_system_stop(w->system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(w->system), AXO_OK);
}

static void world_run(const world *w)
{
    assert_int_equal(axo_run_host(w->system, -1, NULL), AXO_OK);
}

static axo_ref world_spawn_with(const world *w, uint32_t id, const axo_mailbox *mailbox)
{
    axo_ref out;
    axo_props props = AXO_PROPS(.cls = &thing_class, .args = &id, .args_size = sizeof id,
                                .mailbox = mailbox);
    assert_int_equal(axo_system_spawn(w->system, &props, &out), AXO_OK);
    return out;
}

static axo_ref world_spawn(const world *w, uint32_t id)
{
    return world_spawn_with(w, id, NULL);
}

static void world_send(const world *w, axo_ref to, uint32_t tag, uint32_t what)
{
    assert_int_equal(axo_system_send(w->system, to, tag, &what, sizeof what), AXO_OK);
}

/* ---- what is shown ---- */

static void world_print(world *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void world_print(world *w, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int length = vsnprintf(w->text + w->length, sizeof w->text - w->length, format, list);
    va_end(list);
    assert_true(length >= 0 && (size_t)length < sizeof w->text - w->length);
    w->length += (size_t)length;
}

static uint32_t world_number(const axo_message *message)
{
    uint32_t number = 0;
    if (message->size == sizeof number)
        memcpy(&number, message->payload, sizeof number);
    return number;
}

static void world_write(void *user, const axo_visited *it)
{
    world *w = user;
    const thing *state = it->state;
    switch (it->kind) {
    case AXO_VISITED_ACTOR:
        assert_ptr_equal(it->cls, &thing_class);
        world_print(w, "%u #%u", state != NULL ? state->id : 0, it->instance);
        assert_int_equal(it->state_size, state != NULL ? sizeof(thing) : 0);
        if (!axo_ref_is_none(it->parent))
            world_print(w, " child");
        if (it->suspends > 0)
            world_print(w, " suspended");
        if (it->timeout_ns > 0)
            world_print(w, " timeout %d", (int)(it->timeout_ns / MS));
        world_print(w, "\n");
        return;
    case AXO_VISITED_MESSAGE:
    case AXO_VISITED_STASHED:
        world_print(w, "  %s %u %u\n", it->kind == AXO_VISITED_MESSAGE ? "message" : "stashed",
                    it->message->tag, world_number(it->message));
        return;
    case AXO_VISITED_TIMER:
        world_print(w, "  timer %d sends %u %u in %d, kind %u, each %d\n", (int)it->key,
                    it->message->tag, world_number(it->message), (int)(it->left_ns / MS),
                    it->timer_kind, (int)(it->period_ns / MS));
        return;
    default:
        world_print(w, "scheduled %u %u in %d\n", it->message->tag, world_number(it->message),
                    (int)(it->left_ns / MS));
    }
}

static void world_shows(world *w, const char *expected)
{
    w->length = 0;
    w->text[0] = 0;
    assert_int_equal(axo_system_visit(w->system, world_write, w), AXO_OK);
    assert_string_equal(w->text, expected);
}

/* Counts, and looks whether messages come in the order of their numbers. */
static void world_count(void *user, const axo_visited *it)
{
    world *w = user;
    assert_in_range(it->kind, 0, 4);
    w->shown[it->kind]++;
    if (it->kind == AXO_VISITED_MESSAGE && world_number(it->message) != w->next++)
        w->in_order = false;
}

static axo_status world_counts(world *w, uint32_t next)
{
    memset(w->shown, 0, sizeof w->shown);
    w->next = next;
    w->in_order = true;
    return axo_system_visit(w->system, world_count, w);
}

/* ---- tests ---- */

static void nothing_is_shown_of_nothing(void **state)
{
    world w = {.now = 0};
    (void)state;
    world_begin(&w, (axo_options)AXO_OPTIONS(.manual = 1));
    assert_int_equal(world_counts(&w, 0), AXO_EBUSY); /* /user has not started */
    world_run(&w);
    world_shows(&w, "");
    world_finish(&w);
}

static void parents_first_and_the_oldest_first(void **state)
{
    world w = {.now = 0};
    (void)state;
    world_begin(&w, (axo_options)AXO_OPTIONS(.manual = 1));
    axo_ref one = world_spawn(&w, 1);
    axo_ref two = world_spawn(&w, 2);
    world_run(&w);
    world_send(&w, two, MAKE, 21);
    world_send(&w, one, MAKE, 11);
    world_send(&w, one, MAKE, 12);
    world_send(&w, two, MAKE, 22);
    world_run(&w);
    world_shows(&w, "1 #1\n11 #1 child\n12 #1 child\n2 #1\n21 #1 child\n22 #1 child\n");
    assert_int_equal(axo_system_stop_actor(w.system, one), AXO_OK);
    world_run(&w);
    world_shows(&w, "2 #1\n21 #1 child\n22 #1 child\n");
    world_finish(&w);
}

static void what_waits_for_an_actor(void **state)
{
    world w = {.now = 100 * MS};
    const uint32_t late = 9;
    (void)state;
    world_begin(&w, (axo_options)AXO_OPTIONS(.manual = 1));
    axo_ref one = world_spawn(&w, 1);
    world_send(&w, one, ASIDE, 3);
    world_send(&w, one, ASIDE, 4);
    world_send(&w, one, TICK, 0);
    world_send(&w, one, TIMEOUT, 0);
    world_run(&w);
    assert_int_equal(axo_system_schedule_once(w.system, 50 * MS, one, DATA, &late, sizeof late,
                                              NULL),
                     AXO_OK);
    w.now += 20 * MS;
    world_send(&w, one, DATA, 1);
    world_send(&w, one, DATA, 2);
    world_shows(&w, "1 #1 timeout 40\n"
                    "  message 2 1\n  message 2 2\n  stashed 3 3\n  stashed 3 4\n"
                    "  timer 5 sends 2 77 in 10, kind 2, each 10\n"
                    "scheduled 2 9 in 30\n");
    world_send(&w, one, BACK, 0);
    world_run(&w);
    assert_int_equal(w.handled, 2);
    world_finish(&w);
}

/* A tick that waits is a message; one of a timer that was stopped meanwhile is none. */
static void ticks_that_wait(void **state)
{
    world w = {.now = 0};
    (void)state;
    world_begin(&w, (axo_options)AXO_OPTIONS(.manual = 1, .quantum = 1));
    axo_ref one = world_spawn(&w, 1);
    world_send(&w, one, TICK, 0);
    world_run(&w);
    for (uint32_t i = 0; i < 200; i++)
        world_send(&w, one, DATA, 1);
    world_send(&w, one, STILL, 0);
    world_send(&w, one, DATA, 3);
    w.now += 31 * MS; /* a wheel fires up to 1 ms late */
    const char *waits = NULL;
    while (w.handled < 200 && waits == NULL) { /* a worker reads the clock now and then */
        assert_int_equal(axo_step_host(w.system, 1, NULL), AXO_OK);
        w.length = 0;
        assert_int_equal(axo_system_visit(w.system, world_write, &w), AXO_OK);
        waits = strstr(w.text, "  message 10 0\n  message 2 3\n  message 2 77\n");
    }
    assert_non_null(waits);
    assert_non_null(strstr(waits, "  timer 5 sends 2 77 in 9, kind 2, each 10\n"));
    assert_int_equal(axo_step_host(w.system, 201 - w.handled, NULL), AXO_OK);
    world_shows(&w, "1 #1\n  message 2 3\n"); /* the tick is still in the mailbox */
    world_run(&w);
    assert_int_equal(w.handled, 201);
    world_finish(&w);
}

/* A failed actor is made anew: its number says so, and its messages wait. */
static void another_instance(void **state)
{
    world w = {.now = 0};
    (void)state;
    world_begin(&w, (axo_options)AXO_OPTIONS(.manual = 1));
    axo_ref one = world_spawn(&w, 1);
    world_run(&w);
    world_send(&w, one, FALL, 0);
    world_run(&w);
    world_send(&w, one, DATA, 1);
    world_shows(&w, "1 #2\n  message 2 1\n");
    world_finish(&w);
}

/* However many: those of a turn that was cut short, which lie in three places, and later ones. */
static void all_messages_in_their_order(void **state)
{
    world w = {.now = 0};
    (void)state;
    world_begin(&w, (axo_options)AXO_OPTIONS(.manual = 1));
    axo_ref one = world_spawn(&w, 1);
    world_run(&w);
    for (uint32_t count = 1; count < 3000; count = count * 3 + 1) {
        uint64_t before = w.handled;
        for (uint32_t i = 0; i < count; i++)
            world_send(&w, one, DATA, i);
        assert_int_equal(axo_step_host(w.system, 1, NULL), AXO_OK);
        uint32_t handled = (uint32_t)(w.handled - before);
        for (uint32_t i = 0; i < count; i++)
            world_send(&w, one, DATA, count + i);
        assert_int_equal(world_counts(&w, handled), AXO_OK);
        assert_true(w.in_order);
        assert_int_equal(w.shown[AXO_VISITED_MESSAGE], 2 * count - handled);
        world_run(&w);
        assert_int_equal(w.handled - before, 2 * count);
    }
    world_finish(&w);
}

static uint32_t world_priority(const axo_message *message, void *user)
{
    (void)user;
    return world_number(message);
}

static void mailboxes_of_their_own(void **state)
{
    world w = {.now = 0};
    (void)state;
    world_begin(&w, (axo_options)AXO_OPTIONS(.manual = 1));
    const axo_mailbox few = AXO_MAILBOX(.messages_max = 1000);
    const axo_mailbox ordered =
        AXO_MAILBOX(.kind = AXO_MAILBOX_PRIORITY, .priority = world_priority);
    axo_ref in_order = world_spawn_with(&w, 1, &few);
    axo_ref by_number = world_spawn_with(&w, 2, &ordered);
    world_run(&w);
    for (uint32_t i = 0; i < 500; i++)
        world_send(&w, in_order, DATA, i);
    for (uint32_t i = 0; i < 500; i++)
        world_send(&w, by_number, DATA, 500 + i * 7 % 500);
    for (uint32_t round = 0; round < 2; round++) { /* a look changes nothing */
        assert_int_equal(world_counts(&w, 0), AXO_OK);
        assert_int_equal(w.shown[AXO_VISITED_MESSAGE], 1000);
        assert_true(w.in_order);
    }
    world_run(&w);
    assert_int_equal(w.handled, 1000);
    assert_int_equal(world_counts(&w, 0), AXO_OK);
    assert_int_equal(w.shown[AXO_VISITED_MESSAGE], 0);
    world_finish(&w);
}

static void world_answer(void *user, const axo_visited *it)
{
    const world *w = user;
    if (it->kind == AXO_VISITED_ACTOR)
        world_send(w, it->actor, DATA, 1);
}

/* What is sent to whom is shown reaches him. */
static void messages_come_meanwhile(void **state)
{
    const axo_options kinds[] = {AXO_OPTIONS(.manual = 1), AXO_OPTIONS(.workers = 2)};
    (void)state;
    for (uint32_t kind = 0; kind < 2; kind++) {
        world w = {.now = 0};
        world_begin(&w, kinds[kind]);
        axo_ref one = world_spawn(&w, 1);
        assert_int_equal(axo_system_quiesce(w.system, -1), AXO_OK);
        world_send(&w, one, MAKE, 11);
        assert_int_equal(axo_system_quiesce(w.system, -1), AXO_OK);
        for (uint32_t round = 1; round <= 100; round++) {
            assert_int_equal(axo_system_visit(w.system, world_answer, &w), AXO_OK);
            assert_int_equal(axo_system_quiesce(w.system, -1), AXO_OK);
        }
        assert_int_equal(w.handled, 200);
        world_finish(&w);
    }
}

static void what_moves_is_said(void **state)
{
    world w = {.now = 0};
    (void)state;
    world_begin(&w, (axo_options)AXO_OPTIONS(.manual = 1));
    axo_ref one = world_spawn(&w, 1);
    assert_int_equal(world_counts(&w, 0), AXO_EBUSY); /* /user has not heard of it */
    world_run(&w);
    assert_int_equal(world_counts(&w, 0), AXO_OK);
    assert_int_equal(w.shown[AXO_VISITED_ACTOR], 1);
    assert_int_equal(axo_system_stop_actor(w.system, one), AXO_OK);
    assert_int_equal(world_counts(&w, 0), AXO_EBUSY);
    world_run(&w);
    assert_int_equal(world_counts(&w, 0), AXO_OK);
    assert_int_equal(w.shown[AXO_VISITED_ACTOR], 0);
    world_finish(&w);
}

static void a_callback_is_said(void **state)
{
    world w = {.now = 0};
    (void)state;
    world_begin(&w, (axo_options)AXO_OPTIONS(.workers = 2));
    axo_ref one = world_spawn(&w, 1);
    assert_int_equal(axo_system_quiesce(w.system, -1), AXO_OK);
    world_send(&w, one, WAIT, 0);
    while (atomic_load(&w.waiting) == 0)
        (void)sched_yield();
    assert_int_equal(world_counts(&w, 0), AXO_EBUSY);
    assert_int_equal(w.shown[AXO_VISITED_ACTOR], 0);
    atomic_store(&w.go, 1);
    assert_int_equal(axo_system_quiesce(w.system, -1), AXO_OK);
    assert_int_equal(world_counts(&w, 0), AXO_OK);
    assert_int_equal(w.shown[AXO_VISITED_ACTOR], 1);
    world_finish(&w);
}

static void world_last(void *user, const axo_visited *it)
{
    world *w = user;
    if (it->kind == AXO_VISITED_ACTOR)
        w->last = it->actor;
}

static void a_deep_family(void **state)
{
    world w = {.now = 0};
    (void)state;
    world_begin(&w, (axo_options)AXO_OPTIONS(.manual = 1));
    (void)world_spawn(&w, 1);
    world_run(&w);
    for (uint32_t i = 0; i < 300; i++) {
        assert_int_equal(world_counts(&w, 0), AXO_OK);
        assert_int_equal(w.shown[AXO_VISITED_ACTOR], i + 1);
        assert_int_equal(axo_system_visit(w.system, world_last, &w), AXO_OK);
        world_send(&w, w.last, MAKE, i + 2);
        world_run(&w);
    }
    world_finish(&w);
}

/* No memory for the list of a long mailbox: that is said, and nothing is lost. */
static bool world_scarce;

static void *world_alloc(void *user, size_t size, size_t align)
{
    (void)user;
    return world_scarce ? NULL : aligned_alloc(align, (size + align - 1) / align * align);
}

static void world_free(void *user, void *block, size_t size, size_t align)
{
    (void)user;
    (void)size;
    (void)align;
    free(block);
}

static void no_memory(void **state)
{
    world w = {.now = 0};
    axo_options options = AXO_OPTIONS(.manual = 1);
    options.allocator = (axo_allocator){.alloc = world_alloc, .free = world_free};
    (void)state;
    world_begin(&w, options);
    axo_ref one = world_spawn(&w, 1);
    world_run(&w);
    world_send(&w, one, DATA, 0);
    world_scarce = true;
    assert_int_equal(world_counts(&w, 0), AXO_ENOMEM);
    world_scarce = false;
    assert_int_equal(world_counts(&w, 0), AXO_OK);
    assert_int_equal(w.shown[AXO_VISITED_MESSAGE], 1);
    world_run(&w);
    assert_int_equal(w.handled, 1);
    world_finish(&w);
}

static void world_visit_again(void *user, const axo_visited *it)
{
    world *w = user;
    (void)it;
    w->status = axo_system_visit(w->system, world_count, w);
}

static void what_is_refused(void **state)
{
    world w = {.now = 0};
    (void)state;
    assert_int_equal(axo_system_visit(NULL, world_count, &w), AXO_EINVAL);
    world_begin(&w, (axo_options)AXO_OPTIONS(.manual = 1));
    assert_int_equal(axo_system_visit(w.system, NULL, &w), AXO_EINVAL);
    axo_ref one = world_spawn(&w, 1);
    world_run(&w);
    assert_int_equal(axo_system_visit(w.system, world_visit_again, &w), AXO_OK);
    assert_int_equal(w.status, AXO_ECONTEXT);
    world_send(&w, one, VISIT, 0);
    w.status = AXO_OK;
    world_run(&w);
    assert_int_equal(w.status, AXO_ECONTEXT);
    assert_int_equal(axo_system_stop(w.system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(world_counts(&w, 0), AXO_ESTOPPING);
    assert_int_equal(axo_system_destroy(w.system), AXO_OK);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(nothing_is_shown_of_nothing),
    cmocka_unit_test(parents_first_and_the_oldest_first),
    cmocka_unit_test(what_waits_for_an_actor),
    cmocka_unit_test(ticks_that_wait),
    cmocka_unit_test(another_instance),
    cmocka_unit_test(all_messages_in_their_order),
    cmocka_unit_test(mailboxes_of_their_own),
    cmocka_unit_test(messages_come_meanwhile),
    cmocka_unit_test(what_moves_is_said),
    cmocka_unit_test(a_callback_is_said),
    cmocka_unit_test(a_deep_family),
    cmocka_unit_test(no_memory),
    cmocka_unit_test(what_is_refused),
};
TEST_MAIN(tests)
