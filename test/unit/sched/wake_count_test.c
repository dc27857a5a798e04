/* wake_count_test.c - who sleeps is woken even while the count of those who sleep is behind: one
 * that is about to sleep says so, is taken out again, and counts itself only then. */
#include <string.h>

#include "sched/kinds.h"
#include "sched/wake.h"
#include "unit/unit.h"

#define WAKE_WORKERS 2

static axo__core core;
static axo__sched sched;
static axo__worker workers[WAKE_WORKERS];

/* The second sleeps. The first is between the two halves of step (2) of the parking protocol, and
 * somebody with work takes it. */
static void wake_begin(void)
{
    memset((void *)&sched, 0, sizeof sched);
    memset((void *)workers, 0, sizeof workers);
    sched.core = &core;
    sched.kind = &axo__elastic_kind;
    sched.workers = workers;
    sched.worker_count = WAKE_WORKERS;
    for (uint32_t i = 0; i < WAKE_WORKERS; i++) {
        axo__worker_init(&workers[i], &sched, i);
        axo__a32_store_relaxed(&workers[i].state, AXO__WORKER_PARKED);
    }
    axo__a32_store_relaxed(&sched.parked, 1);
    axo__sched_wake_one(&sched);
    assert_int_equal(axo__a32_load_relaxed(&workers[0].state), AXO__WORKER_AWAKE);
    assert_int_equal(axo__a32_load_relaxed(&workers[1].state), AXO__WORKER_PARKED);
    assert_int_equal(axo__a32_load_relaxed(&sched.parked), 0);
}

static void wake_end(void)
{
    assert_int_equal(axo__a32_load_relaxed(&workers[1].state), AXO__WORKER_AWAKE);
    (void)axo__a32_add_seq_cst(&sched.parked, 1); /* [W1] the other half */
    assert_int_equal(axo__a32_load_relaxed(&sched.parked), 0);
}

/* Its timer has come nearer. */
static void the_owner_of_a_wheel_is_woken(void **state)
{
    wake_begin();
    axo__sched_wake_worker(&workers[1]);
    wake_end();
}

/* The last actor has gone, and it sleeps without a limit. */
static void the_last_thread_is_woken(void **state)
{
    wake_begin();
    axo__sched_wake_all(&sched);
    wake_end();
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_owner_of_a_wheel_is_woken),
    cmocka_unit_test(the_last_thread_is_woken),
};
TEST_MAIN(tests)
