/* group_crew_test.c - one message to each of many actors through a group: which threads send, and
 * from where. */
#include "group_many_world.h"

/* ---- who sends ---- */

/* All are dead, so each dead letter tells which thread has sent: workers that have nothing to do
 * take their part. */
static void the_sending_is_shared(void **state)
{
    many_world w;
    (void)state;
    many_workers(&w, 2);
    for (uint32_t i = 0; i < MANY; i++)
        assert_int_equal(axo_system_graceful_stop(w.system, w.refs[i], NULL, LONG, NULL), AXO_OK);
    w.here = w.elsewhere = 0;
    for (uint32_t i = 1; w.elsewhere == 0; i++) {
        assert_in_range(i, 1, 1000);
        assert_int_equal(many_to(&w, w.refs, MANY), AXO_EGONE);
        assert_int_equal(w.accepted, 0);
        assert_int_equal(w.here + w.elsewhere, i * MANY);
        assert_int_equal(axo_group_count(w.group), 0);
    }
    many_end(&w);
}

static void blocked_workers_hold_up_no_call(void **state)
{
    many_world w;
    (void)state;
    many_workers(&w, 2);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(axo_system_send(w.system, w.refs[i], BLOCK, NULL, 0), AXO_OK);
        many_inside(&w);
    }
    assert_int_equal(many_to(&w, w.refs, MANY), AXO_OK);
    assert_int_equal(w.accepted, MANY);
    assert_int_equal(axo_group_count(w.group) > 0, true); /* two at least are behind the handlers */
    (void)sem_post(&w.go_on);
    (void)sem_post(&w.go_on);
    many_wait(&w, AXO_GROUP_SLEEP);
    assert_int_equal(w.notes, MANY);
    many_end(&w);
}

/* All workers are in handlers that last, and a spare runs the others, jobs or not. */
static void spares_outlive_a_job(void **state)
{
    many_world w;
    const uint32_t calls = 20;
    const uint32_t count = 200;
    (void)state;
    many_workers(&w, 2);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(axo_system_send(w.system, w.refs[i], BLOCK, NULL, 0), AXO_OK);
        many_inside(&w);
    }
    for (uint32_t i = 0; i < calls; i++)
        assert_int_equal(many_to(&w, w.refs, count), AXO_OK);
    uint32_t before = w.notes;
    while (w.notes < before + 20)
        (void)sched_yield();
    (void)sem_post(&w.go_on);
    (void)sem_post(&w.go_on);
    many_wait(&w, AXO_GROUP_SLEEP);
    many_end(&w);
}

static void every_order_of_the_caller_is_kept(void **state)
{
    many_world w;
    (void)state;
    for (uint32_t workers = 1; workers <= 3; workers++) {
        many_workers(&w, workers);
        for (uint32_t n = 1; n <= 20; n++) {
            assert_int_equal(axo_group_send_many(w.group, w.refs, MANY, FIRST, NULL, 0, NULL),
                             AXO_OK);
            for (uint32_t i = 0; i < MANY; i += 7)
                assert_int_equal(axo_group_send(w.group, w.refs[i], MIDDLE, NULL, 0), AXO_OK);
            assert_int_equal(axo_group_send_many(w.group, w.refs, MANY, LAST, NULL, 0, NULL),
                             AXO_OK);
            many_wait(&w, n % 2 == 0 ? AXO_GROUP_SLEEP : AXO_GROUP_HELP);
            assert_int_equal(w.notes, n * (2 * MANY + (MANY + 6) / 7));
        }
        many_end(&w);
    }
}

static void the_same_one_any_number_of_times(void **state)
{
    many_world w;
    (void)state;
    many_workers(&w, 2);
    for (uint32_t i = 0; i < MANY; i++)
        w.refs[i] = w.refs[i % 3];
    for (uint32_t n = 1; n <= 20; n++) {
        assert_int_equal(many_to(&w, w.refs, MANY), AXO_OK);
        many_wait(&w, AXO_GROUP_SLEEP);
        assert_int_equal(w.notes, n * MANY);
    }
    many_end(&w);
}

static void callbacks_of(axo_dispatcher dispatch, uint32_t workers)
{
    many_world w;
    many_workers(&w, workers);
    axo_ref sender = many_spawn(&w, NULL, dispatch);
    for (uint32_t n = 1; n <= 20; n++) {
        assert_int_equal(axo_group_send(w.group, sender, SEND_MANY, NULL, 0), AXO_OK);
        many_wait(&w, AXO_GROUP_SLEEP);
        assert_int_equal(w.status, AXO_OK);
        assert_int_equal(w.accepted, MANY);
        assert_int_equal(w.notes, n * MANY);
        while (w.done < n)
            (void)sched_yield();
    }
    many_end(&w);
}

static void in_callbacks_of_every_dispatcher(void **state)
{
    (void)state;
    callbacks_of(AXO_DISPATCH_DEFAULT, 1);
    callbacks_of(AXO_DISPATCH_DEFAULT, 3);
    callbacks_of(AXO_DISPATCH_BLOCKING, 2);
    callbacks_of(AXO_DISPATCH_PINNED, 2);
}

/* The worker that calls is another system's: here it is a thread from outside. */
static void in_a_callback_of_another_system(void **state)
{
    many_world w, other;
    (void)state;
    many_workers(&w, 2);
    many_workers(&other, 2);
    axo_group *own = other.group;
    other.group = w.group;
    memcpy(other.refs + 1, w.refs + 1, sizeof w.refs - sizeof w.refs[0]);
    axo_ref sender = other.refs[0];
    other.refs[0] = w.refs[0];
    assert_int_equal(axo_group_send(own, sender, SEND_MANY, NULL, 0), AXO_OK);
    assert_int_equal(axo_group_wait(own, LONG, AXO_GROUP_SLEEP), AXO_OK);
    assert_int_equal(other.status, AXO_OK);
    assert_int_equal(other.accepted, MANY);
    many_wait(&w, AXO_GROUP_SLEEP);
    assert_int_equal(w.notes, MANY);
    other.group = own;
    many_end(&other);
    many_end(&w);
}

static void receivers_of_every_dispatcher(void **state)
{
    many_world w;
    (void)state;
    many_workers(&w, 2);
    for (uint32_t i = 0; i < MANY; i += 100)
        w.refs[i] = many_spawn(&w, NULL,
                               i % 200 == 0 ? AXO_DISPATCH_PINNED : AXO_DISPATCH_BLOCKING);
    w.refs[1] = many_spawn(&w, NULL, AXO_DISPATCH_HOST);
    assert_int_equal(many_to(&w, w.refs, MANY), AXO_OK);
    many_wait(&w, AXO_GROUP_HELP);
    assert_int_equal(w.notes, MANY);
    many_end(&w);
}

/* ---- lent threads ---- */

static void no_thread_is_lent_but_the_callers(void **state)
{
    many_world w;
    axo_options options = AXO_OPTIONS(.workers = 2, .threads = AXO_THREADS_LENT);
    (void)state;
    many_begin(&w, &options);
    many_people(&w);
    assert_int_equal(axo_worker_run(w.system, 0, -1, NULL), AXO_OK);
    for (uint32_t n = 1; n <= 10; n++) {
        uint32_t asked = w.asked;
        assert_int_equal(many_to(&w, w.refs, MANY), AXO_OK);
        assert_int_equal(w.notes, (n - 1) * MANY); /* the caller runs nobody */
        assert_in_range(w.asked, asked + 1, UINT32_MAX);
        assert_int_equal(axo_group_count(w.group), MANY);
        if (n % 2 == 0)
            assert_int_equal(axo_worker_run(w.system, 1, -1, NULL), AXO_OK);
        many_wait(&w, AXO_GROUP_HELP);
        assert_int_equal(w.notes, n * MANY);
    }
    many_end(&w);
}

typedef struct many_visitor {
    many_world *world;
    uint32_t slot;
    _Atomic bool quit;
    pthread_t thread;
} many_visitor;

static void *visitor_run(void *arg)
{
    many_visitor *self = arg;
    while (!self->quit) {
        (void)axo_worker_run(self->world->system, self->slot, -1, NULL);
        (void)sched_yield();
    }
    return NULL;
}

static void visitors_take_their_part(void **state)
{
    many_world w;
    axo_options options = AXO_OPTIONS(.workers = 3, .threads = AXO_THREADS_LENT);
    many_visitor visitors[2];
    (void)state;
    many_begin(&w, &options);
    many_people(&w);
    for (uint32_t i = 0; i < 2; i++) {
        visitors[i] = (many_visitor){.world = &w, .slot = i};
        assert_int_equal(pthread_create(&visitors[i].thread, NULL, visitor_run, &visitors[i]), 0);
    }
    for (uint32_t n = 1; n <= 100; n++) {
        assert_int_equal(many_to(&w, w.refs, MANY), AXO_OK);
        assert_int_equal(w.accepted, MANY);
        many_wait(&w, n % 3 == 0 ? AXO_GROUP_SLEEP : AXO_GROUP_HELP);
        assert_int_equal(w.notes, n * MANY);
    }
    for (uint32_t i = 0; i < 2; i++) {
        visitors[i].quit = true;
        assert_int_equal(pthread_join(visitors[i].thread, NULL), 0);
    }
    many_end(&w);
}

/* ---- many threads ---- */

typedef struct many_caller {
    many_world *world;
    uint64_t accepted;
    uint64_t calls;
    bool until_gone;
    _Atomic bool quit;
    pthread_t thread;
} many_caller;

/* Until all are gone, or a number of calls. */
static void *caller_run(void *arg)
{
    many_caller *self = arg;
    uint32_t accepted = 1;
    for (uint32_t i = 0; self->until_gone ? accepted > 0 : i < 100; i++) {
        (void)axo_group_send_many(self->world->group, self->world->refs, MANY, NOTE, words,
                                  sizeof words, &accepted);
        self->accepted += accepted;
        self->calls++;
    }
    return NULL;
}

static void callers_begin(many_caller *callers, many_world *world, bool until_gone)
{
    for (uint32_t i = 0; i < 3; i++) {
        callers[i] = (many_caller){.world = world, .until_gone = until_gone};
        assert_int_equal(pthread_create(&callers[i].thread, NULL, caller_run, &callers[i]), 0);
    }
}

static uint64_t callers_end(many_caller *callers)
{
    uint64_t accepted = 0;
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(pthread_join(callers[i].thread, NULL), 0);
        accepted += callers[i].accepted;
    }
    return accepted;
}

static void three_calls_at_once(void **state)
{
    many_world w;
    many_caller callers[3];
    (void)state;
    many_workers(&w, 2);
    callers_begin(callers, &w, false);
    assert_int_equal(callers_end(callers), 300 * MANY);
    many_wait(&w, AXO_GROUP_SLEEP);
    assert_int_equal(w.notes, 300 * MANY);
    many_end(&w);
}

/* The system stops under them, and each call goes on to be exact. */
static void calls_while_the_system_stops(void **state)
{
    many_world w;
    many_caller callers[3];
    (void)state;
    for (uint32_t n = 0; n < 10; n++) {
        many_workers(&w, 2);
        callers_begin(callers, &w, true);
        while (w.notes < n * MANY)
            (void)sched_yield();
        assert_int_equal(axo_system_stop(w.system, -1, NULL, 0, NULL), AXO_OK);
        uint64_t accepted = callers_end(callers);
        uint64_t calls = callers[0].calls + callers[1].calls + callers[2].calls;
        assert_int_equal(axo_group_count(w.group), 0);
        assert_int_equal(w.notes + w.here + w.elsewhere, calls * MANY);
        assert_in_range(accepted, w.notes, calls * MANY);
        assert_int_equal(many_to(&w, w.refs, MANY), AXO_EGONE);
        assert_int_equal(w.accepted, 0);
        many_end(&w);
    }
}

/* Who is told that nothing counts frees the group, perhaps under the call that has just sent. */
static void freed_under_the_call(void **state)
{
    many_world w;
    (void)state;
    for (uint32_t n = 0; n < 50; n++) {
        many_workers(&w, 3);
        w.frees = true;
        w.status = AXO_EBUSY;
        axo_ref teller = many_spawn(&w, NULL, AXO_DISPATCH_PINNED);
        assert_int_equal(axo_system_send(w.system, teller, SEND_MANY, NULL, 0), AXO_OK);
        while (w.done == 0)
            (void)sched_yield();
        assert_int_equal(w.status, AXO_OK);
        many_end(&w);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_sending_is_shared),
    cmocka_unit_test(blocked_workers_hold_up_no_call),
    cmocka_unit_test(spares_outlive_a_job),
    cmocka_unit_test(every_order_of_the_caller_is_kept),
    cmocka_unit_test(the_same_one_any_number_of_times),
    cmocka_unit_test(in_callbacks_of_every_dispatcher),
    cmocka_unit_test(in_a_callback_of_another_system),
    cmocka_unit_test(receivers_of_every_dispatcher),
    cmocka_unit_test(no_thread_is_lent_but_the_callers),
    cmocka_unit_test(visitors_take_their_part),
    cmocka_unit_test(three_calls_at_once),
    cmocka_unit_test(calls_while_the_system_stops),
    cmocka_unit_test(freed_under_the_call),
};

TEST_MAIN(tests)
