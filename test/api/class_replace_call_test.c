/* class_replace_call_test.c - a call that replaces a class: what is born meanwhile, bounds and
 * walls, no memory, deadlines, two calls, the end of the system, and calls that change nothing. */
#include <pthread.h>

#include "class_replace.h"

/* ---- births, bounds, memory ---- */

static void born_meanwhile(void **state)
{
    world w;
    world_begin(&w, (axo_options)AXO_OPTIONS());
    axo_ref parent = world_parent(&w, NULL);
    axo_ref before = w.born;
    assert_int_equal(world_replace(&w, &new_class, 0), AXO_ETIMEDOUT);
    axo_ref outside = world_spawn(&w);
    world_send(&w, parent, MAKE, 0); /* it spawns &old_class, the short way by itself */
    world_run(&w);
    assert_false(axo_ref_equal(before, w.born));
    assert_int_equal(w.begun[1], 1);
    assert_int_equal(w.begun[2], 2);
    assert_true(world_is(&w, outside, "new") && world_is(&w, w.born, "new"));
    world_replaced(&w);
    world_has(&w, outside, 2, 5);
    axo_ref late = world_spawn(&w); /* it is over: a class as any other */
    world_run(&w);
    assert_true(world_is(&w, late, "old"));
    world_end(&w);
}

/* The state is the larger one's in the bounds, too, which do not refuse it. */
static void bounded_and_walled(void **state)
{
    world w;
    uint32_t sum = 5;
    axo_ref actor;
    axo_props props = AXO_PROPS(.cls = &old_class, .args = &sum, .args_size = sizeof sum,
                                .memory_max = 2000, .name = "bounded");
    world_begin(&w, (axo_options)AXO_OPTIONS(.walls = AXO_WALL_CANARY | AXO_WALL_GUARD));
    assert_int_equal(axo_system_spawn(w.system, &props, &actor), AXO_OK);
    world_send(&w, actor, ADD, 20);
    world_run(&w);
    world_replaced(&w);
    world_has(&w, actor, 2, 25);
    world_send(&w, actor, OWN, 0);
    uint32_t begun = w.begun[2];
    world_run(&w); /* refused, a failure of /user's child: it begins anew */
    assert_int_equal(w.begun[2], begun + 1);
    world_has(&w, actor, 2, 5);
    world_end(&w);
}

/* Who finds no memory stays what it is, and goes on. */
static void without_memory(void **state)
{
    world w;
    axo_ref actors[40];
    world_begin(&w, (axo_options)AXO_OPTIONS());
    for (uint32_t i = 0; i < 40; i++)
        actors[i] = world_spawn(&w);
    world_run(&w);
    w.refuses = true;
    assert_int_equal(world_replace(&w, &new_class, -1), AXO_ENOMEM);
    assert_int_equal(world_replace(&w, &like_class, -1), AXO_EBUSY);
    w.refuses = false;
    assert_true(world_is(&w, actors[39], "old"));
    world_has(&w, actors[39], 1, 5);
    axo_status status;
    while ((status = world_replace(&w, &new_class, -1)) == AXO_ENOMEM)
        world_run(&w);
    assert_int_equal(status, AXO_OK);
    for (uint32_t i = 0; i < 40; i++)
        world_has(&w, actors[i], 2, i == 39 ? 6 : 5);
    world_end(&w);
}

/* ---- calls ---- */

static void deadline_of_a_call(void **state)
{
    world w;
    world_begin(&w, (axo_options)AXO_OPTIONS(.workers = 2));
    axo_ref actor = world_spawn(&w);
    world_send(&w, actor, WAIT, 0);
    while (atomic_load(&w.waiting) == 0)
        (void)sched_yield();
    assert_int_equal(world_replace(&w, &new_class, 0), AXO_ETIMEDOUT);
    assert_int_equal(world_replace(&w, &new_class, 30 * MS), AXO_ETIMEDOUT);
    assert_int_equal(world_replace(&w, &like_class, 0), AXO_EBUSY);
    atomic_store(&w.go, 1);
    world_replaced(&w);
    assert_true(world_is(&w, actor, "new"));
    world_end(&w);
}

/* It waits for what has begun; the other caller may be in the call for a moment. */
static void *call_of_another(void *arg)
{
    axo_status status;
    while ((status = world_replace(arg, &new_class, 60 * SECOND)) == AXO_EBUSY)
        (void)sched_yield();
    assert_int_equal(status, AXO_OK);
    return NULL;
}

static void call_of_two(void **state)
{
    world w;
    pthread_t other;
    world_begin(&w, (axo_options)AXO_OPTIONS(.workers = 2));
    axo_ref actor = world_spawn(&w);
    world_send(&w, actor, WAIT, 0);
    while (atomic_load(&w.waiting) == 0)
        (void)sched_yield();
    assert_int_equal(world_replace(&w, &new_class, 0), AXO_ETIMEDOUT);
    assert_int_equal(pthread_create(&other, NULL, call_of_another, &w), 0);
    for (uint32_t i = 0; i < 100; i++) {
        axo_status same = world_replace(&w, &new_class, 0);
        assert_true(same == AXO_ETIMEDOUT || same == AXO_EBUSY);
        assert_int_equal(world_replace(&w, &like_class, 0), AXO_EBUSY);
        (void)sched_yield();
    }
    atomic_store(&w.go, 1);
    assert_int_equal(pthread_join(other, NULL), 0);
    world_end(&w);
}

/* The system goes while a replacement is on. */
static void ended_meanwhile(void **state)
{
    world w;
    world_begin(&w, (axo_options)AXO_OPTIONS());
    (void)world_spawn(&w);
    world_run(&w);
    assert_int_equal(world_replace(&w, &new_class, 0), AXO_ETIMEDOUT);
    world_end(&w);
}

static void ended_before_with(axo_options options)
{
    world w;
    world_begin(&w, options);
    (void)world_spawn(&w);
    assert_int_equal(axo_system_stop(w.system, -1, NULL, 0, NULL), AXO_OK);
    world_replaced(&w); /* nobody has the class */
    assert_int_equal(world_replace(&w, &like_class, 0), AXO_OK);
    assert_int_equal(axo_system_destroy(w.system), AXO_OK);
}

static void ended_before(void **state)
{
    ended_before_with((axo_options)AXO_OPTIONS());
    ended_before_with((axo_options)AXO_OPTIONS(.workers = 2));
    ended_before_with((axo_options)AXO_OPTIONS(.workers = 2, .threads = AXO_THREADS_LENT));
}

static axo_class bad_class(const axo_class *like, size_t size)
{
    axo_class out = *like;
    out.state_size = size;
    return out;
}

static void bad_calls(void **state)
{
    world w;
    world_begin(&w, (axo_options)AXO_OPTIONS());
    axo_ref actor = world_spawn(&w);
    world_run(&w);
    const axo_class larger = bad_class(&old_class, sizeof(old_state) + 1);
    axo_class none = old_class;
    axo_class odd = old_class;
    axo_class plain = old_class;
    none.receive = NULL;
    odd.size = 0;
    plain.pre_restart = NULL;
    const axo_replacement bad[] = {
        AXO_REPLACEMENT(.from = &old_class),
        AXO_REPLACEMENT(.to = &old_class),
        AXO_REPLACEMENT(.from = &old_class, .to = &old_class),
        AXO_REPLACEMENT(.from = &old_class, .to = &larger), /* another size, and no migrate */
        AXO_REPLACEMENT(.from = &old_class, .to = &none),
        AXO_REPLACEMENT(.from = &old_class, .to = &odd),
        AXO_REPLACEMENT(.from = &plain, .to = &old_class), /* pre_restart where there was none */
        {.size = 0, .from = &old_class, .to = &like_class},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(axo_class_replace(w.system, &bad[i], -1), AXO_EINVAL);
    axo_replacement good = AXO_REPLACEMENT(.from = &old_class, .to = &like_class);
    assert_int_equal(axo_class_replace(NULL, &good, -1), AXO_EINVAL);
    assert_int_equal(axo_class_replace(w.system, NULL, -1), AXO_EINVAL);
    world_send(&w, actor, CALL, 0);
    w.status = AXO_OK;
    world_run(&w);
    assert_int_equal(w.status, AXO_EINVAL); /* another size */
    assert_true(world_is(&w, actor, "old"));
    axo_replacement_init(&good);
    assert_int_equal(good.size, sizeof good);
    world_has(&w, actor, 1, 5);
    world_end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(born_meanwhile),
        cmocka_unit_test(bounded_and_walled),
        cmocka_unit_test(without_memory),
        cmocka_unit_test(deadline_of_a_call),
        cmocka_unit_test(call_of_two),
        cmocka_unit_test(ended_meanwhile),
        cmocka_unit_test(ended_before),
        cmocka_unit_test(bad_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
