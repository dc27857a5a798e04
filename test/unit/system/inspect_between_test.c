/* inspect_between_test.c - a look at an actor that somebody has claimed, and of which no worker
 * says yet that it runs: it is not idle. */
#include "system/inspect.h"
#include "system/system.h"

#include "sched/claim.h"
#include "sched/ready.h"
#include "sched/run.h"
#include "unit/super/end_world.h"

static axo_doing doing(end_world *it, const axo__cell *cell)
{
    axo_actor_info info = AXO_ACTOR_INFO(.doing = 0);
    const axo_class *cls;
    axo__self = end_worker(it, 0);
    axo__inspect(&it->core, NULL, axo__cell_ref(cell), axo_ref_none(), &info, &cls);
    assert_ptr_equal(cls, &end_class);
    return (axo_doing)info.doing;
}

static void between_claim_and_callback(void **state)
{
    end_world it;
    end_open(&it);
    axo__cell *cell = end_spawn(&it, end_spawn(&it, it.root, NULL), NULL);
    assert_int_equal(doing(&it, cell), AXO_DOING_IDLE);
    axo__message *message =
        axo__message_make(&end_worker(&it, 1)->local.cache, 1, axo_ref_none(), 0);
    assert_non_null(message);
    axo__self = end_worker(&it, 1);
    axo__sched_accept(end_worker(&it, 1), cell, message);
    assert_int_equal(doing(&it, cell), AXO_DOING_QUEUED);
    assert_ptr_equal(axo__worker_claim(end_worker(&it, 1), cell), cell);
    assert_int_equal(doing(&it, cell), AXO_DOING_QUEUED);
    axo__self = end_worker(&it, 1);
    axo__run_cells(end_worker(&it, 1), cell, 64, 1);
    assert_int_equal(doing(&it, cell), AXO_DOING_IDLE);
    end_close(&it);
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(between_claim_and_callback)};
TEST_MAIN(tests)
