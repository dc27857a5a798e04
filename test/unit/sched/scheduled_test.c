/* scheduled_test.c - timers that nobody owns: cancelled and marked while they are being fired, and
 * handles that name nothing. */
#include <stdbool.h>

#include <axo/axo.h>

#include "unit/unit.h"

#include "sched/timer.h"
#include "system/system.h"

enum { TIMEOUT = 2, DRAIN = 3, DRAFTS = 4096 };
#define BIG 10000 /* such a message takes a block of its own, so firing it asks the allocator */

typedef struct scheduled_world {
    axo_system *system;
    int64_t now;
    axo_timer timer;
    bool (*then)(axo_system *system, axo_timer timer); /* while it is being fired; NULL: nothing */
    uint32_t done;                                     /* how often that said true */
    uint32_t asked;                                    /* how often it was called */
    uint32_t got;
    char payload[BIG];
    bool refuses;              /* the allocator has nothing */
    uint32_t refused;
    bool looks;                /* the clock looks whether it is called under the wheel's mutex */
    uint32_t looked;
    axo_draft *drafts[DRAFTS]; /* all the memory that there was for messages */
    uint32_t drafts_count;
} scheduled_world;

static int64_t scheduled_now(void *user)
{
    scheduled_world *world = user;
    if (world->looks) {
        axo__os_mutex *mutex = &world->system->sched.workers[0].timers->mutex;
        assert_int_equal(pthread_mutex_trylock(&mutex->mutex), 0);
        assert_int_equal(pthread_mutex_unlock(&mutex->mutex), 0);
        world->looked++;
    }
    return world->now;
}

static void *scheduled_alloc(void *user, size_t size, size_t align)
{
    scheduled_world *world = user;
    if (size > BIG && world->then != NULL) {
        bool (*then)(axo_system *, axo_timer) = world->then;
        world->then = NULL;
        world->asked++;
        world->done += then(world->system, world->timer);
    }
    void *block = NULL;
    if (world->refuses) {
        world->refused++;
        return NULL;
    }
    if (posix_memalign(&block, align < sizeof(void *) ? sizeof(void *) : align, size) != 0)
        return NULL;
    return block;
}

static void scheduled_free(void *user, void *block, size_t size, size_t align)
{
    (void)user, (void)size, (void)align;
    free(block);
}

/* Its tick will find no memory. */
static axo_status scheduled_drain(axo_ctx *ctx, scheduled_world *world)
{
    void *payload;
    axo_status status = axo_receive_timeout(ctx, 10000000);
    world->refuses = true;
    while (status == AXO_OK) {
        assert_true(world->drafts_count < DRAFTS);
        status = axo_message_new(ctx, 1, 0, &world->drafts[world->drafts_count], &payload);
        world->drafts_count += status == AXO_OK;
    }
    return status == AXO_ENOMEM ? AXO_OK : status;
}

static axo_status scheduled_ticked(axo_ctx *ctx, scheduled_world *world)
{
    while (world->drafts_count > 0)
        axo_message_discard(ctx, world->drafts[--world->drafts_count]);
    world->got++;
    return axo_receive_timeout(ctx, 0);
}

static axo_status scheduled_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    scheduled_world *world = *(scheduled_world **)state;
    if (message->tag == TIMEOUT) /* twice: the second finds the first one armed */
        return axo_receive_timeout(ctx, AXO_DELAY_MAX - 1) == AXO_OK
                   ? axo_receive_timeout(ctx, AXO_DELAY_MAX)
                   : AXO_EFAILED;
    if (message->tag == DRAIN)
        return scheduled_drain(ctx, world);
    if (message->tag == AXO_RECEIVE_TIMEOUT)
        return scheduled_ticked(ctx, world);
    assert_int_equal(message->tag, 1);
    world->got++;
    return AXO_OK;
}

static axo_status scheduled_construct(axo_ctx *ctx, void *state, const void *args)
{
    memcpy(state, args, sizeof(scheduled_world *));
    return AXO_OK;
}

static const axo_class scheduled_class =
    AXO_CLASS(.state_size = sizeof(scheduled_world *), .construct = scheduled_construct,
              .receive = scheduled_receive);

static axo_ref scheduled_open(scheduled_world *world)
{
    axo_ref ref;
    axo_props props = AXO_PROPS(.cls = &scheduled_class, .args = &world, .args_size = sizeof world);
    memset((void *)world, 0, sizeof *world);
    world->now = 1000;
    axo_options options = AXO_OPTIONS(.manual = 1, .clock = scheduled_now, .clock_user = world);
    options.allocator.alloc = scheduled_alloc;
    options.allocator.free = scheduled_free;
    options.allocator.user = world;
    assert_int_equal(axo_system_start(&options, &world->system), AXO_OK);
    assert_int_equal(axo_system_spawn(world->system, &props, &ref), AXO_OK);
    assert_int_equal(axo_run_host(world->system, -1, NULL), AXO_OK);
    return ref;
}

static void scheduled_advance(scheduled_world *world, int64_t ns)
{
    world->now += ns + 2000000; /* the wheel's tick */
    assert_int_equal(axo_run_host(world->system, -1, NULL), AXO_OK);
}

static void scheduled_close(scheduled_world *world)
{
    assert_int_equal(axo_system_stop(world->system, -1, NULL, 0, NULL), AXO_OK);
    axo_system_destroy(world->system);
}

static void cancelled_while_fired(void **state)
{
    scheduled_world world;
    axo_ref to = scheduled_open(&world);
    assert_int_equal(axo_system_schedule_fixed_delay(world.system, 10000000, 10000000, to, 1,
                                                     world.payload, BIG, &world.timer),
                     AXO_OK);
    scheduled_advance(&world, 10000000);
    assert_int_equal(world.got, 1);
    world.then = axo_system_timer_cancel;
    scheduled_advance(&world, 10000000);
    assert_int_equal(world.asked, 1);
    assert_int_equal(world.done, 1);
    assert_int_equal(world.got, 2); /* that was its last time */
    for (int i = 0; i < 5; i++)
        scheduled_advance(&world, 10000000);
    assert_int_equal(world.got, 2);
    assert_false(axo_system_timer_cancel(world.system, world.timer));
    assert_false(axo_system_timer_at_close(world.system, world.timer));
    scheduled_close(&world);
}

static bool cancel_twice(axo_system *system, axo_timer timer)
{
    bool first = axo_system_timer_cancel(system, timer);
    return first && !axo_system_timer_cancel(system, timer) &&
           !axo_system_timer_at_close(system, timer);
}

static void cancelled_twice_while_fired(void **state)
{
    scheduled_world world;
    axo_ref to = scheduled_open(&world);
    assert_int_equal(axo_system_schedule_fixed_rate(world.system, 10000000, 10000000, to, 1,
                                                    world.payload, BIG, &world.timer),
                     AXO_OK);
    world.then = cancel_twice;
    scheduled_advance(&world, 10000000);
    assert_int_equal(world.done, 1);
    scheduled_advance(&world, 10000000);
    assert_int_equal(world.got, 1);
    scheduled_close(&world);
}

/* It comes again, and once more at the close. */
static void marked_while_fired(void **state)
{
    scheduled_world world;
    axo_ref to = scheduled_open(&world);
    assert_int_equal(axo_system_schedule_fixed_delay(world.system, 10000000, 10000000, to, 1,
                                                     world.payload, BIG, &world.timer),
                     AXO_OK);
    world.then = axo_system_timer_at_close;
    scheduled_advance(&world, 10000000);
    assert_int_equal(world.done, 1);
    assert_int_equal(world.got, 1);
    scheduled_advance(&world, 10000000);
    assert_int_equal(world.got, 2);
    assert_true(axo_system_timer_at_close(world.system, world.timer)); /* it is already */
    assert_true(axo_system_timer_cancel(world.system, world.timer));
    scheduled_close(&world);
}

/* A period whose end no clock reaches: it fires once. */
static void far_away(void **state)
{
    scheduled_world world;
    axo_ref to = scheduled_open(&world);
    assert_int_equal(axo_system_schedule_fixed_rate(world.system, AXO_DELAY_MAX, AXO_DELAY_MAX, to,
                                                    1, NULL, 0, &world.timer),
                     AXO_OK);
    scheduled_advance(&world, AXO_DELAY_MAX);
    assert_int_equal(world.got, 1);
    assert_false(axo_system_timer_cancel(world.system, world.timer));
    scheduled_close(&world);
}

/* A clock that is so far that the longest delay from there has no number. */
static void at_the_end_of_time(void **state)
{
    scheduled_world world;
    axo_ref to = scheduled_open(&world);
    scheduled_advance(&world, AXO_DELAY_MAX);
    assert_int_equal(axo_system_schedule_once(world.system, AXO_DELAY_MAX, to, 1, NULL, 0,
                                              &world.timer),
                     AXO_OK);
    assert_int_equal(axo_system_send(world.system, to, TIMEOUT, NULL, 0), AXO_OK);
    scheduled_advance(&world, 1000000000);
    scheduled_advance(&world, 1000000000);
    assert_int_equal(world.got, 0);
    assert_true(axo_system_timer_cancel(world.system, world.timer));
    scheduled_close(&world);
}

static void forged(void **state)
{
    scheduled_world world;
    axo_ref to = scheduled_open(&world);
    assert_int_equal(axo_system_schedule_once(world.system, 10000000, to, 1, NULL, 0, &world.timer),
                     AXO_OK);
    axo_timer none = {0};
    axo_timer nobody = {.bits = world.timer.bits, .bits2 = world.timer.bits2 & UINT32_MAX};
    axo_timer stranger = {.bits = world.timer.bits, .bits2 = UINT64_C(9) << 32};
    axo_timer beyond = {.bits = world.timer.bits, .bits2 = world.timer.bits2 | UINT32_MAX};
    axo_timer another = {.bits = world.timer.bits + 1, .bits2 = world.timer.bits2};
    axo_timer all[] = {none, nobody, stranger, beyond, another};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        assert_false(axo_system_timer_cancel(world.system, all[i]));
        assert_false(axo_system_timer_at_close(world.system, all[i]));
    }
    scheduled_advance(&world, 10000000);
    assert_int_equal(world.got, 1);
    assert_false(axo_system_timer_cancel(world.system, world.timer));
    scheduled_close(&world);
}

/* The program's clock may take a lock of the program's, under which another thread sets a timer: it
 * is asked without the wheel's mutex, also where a tick without memory is tried again. */
static void the_clock_is_asked_without_a_lock(void **state)
{
    scheduled_world world;
    axo_ref to = scheduled_open(&world);
    axo_timer timer;
    world.looks = true;
    assert_int_equal(axo_system_schedule_fixed_delay(world.system, 1000000, 1000000, to, 1, NULL, 0,
                                                     &timer), AXO_OK);
    scheduled_advance(&world, 3000000);
    assert_true(axo_system_timer_cancel(world.system, timer));
    assert_true(world.got > 0 && world.looked > 0);
    world.got = 0;
    assert_int_equal(axo_system_send(world.system, to, DRAIN, world.payload, BIG), AXO_OK);
    scheduled_advance(&world, 1000000);
    uint32_t refused = world.refused;
    scheduled_advance(&world, 12000000);
    assert_true(world.refused > refused && world.got == 0); /* it came, and had none */
    world.refuses = false;
    scheduled_advance(&world, 2000000);
    assert_int_equal(world.got, 1);
    world.looks = false;
    scheduled_close(&world);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(cancelled_while_fired),
    cmocka_unit_test(cancelled_twice_while_fired),
    cmocka_unit_test(marked_while_fired),
    cmocka_unit_test(at_the_end_of_time),
    cmocka_unit_test(far_away),
    cmocka_unit_test(forged),
    cmocka_unit_test(the_clock_is_asked_without_a_lock),
};
TEST_MAIN(tests)
