/* lane_test.c - what meets an actor in its system lane out of season: a newborn of a parent that is
 * gone, a delay that is over when its child is gone, an entry in another pool's queue. */
#include "super/delay.h"
#include "super/gone.h"
#include "super/lane.h"
#include "super/spawn.h"
#include "unit/unit.h"

#include "sched/claim.h"
#include "sched/ready.h"
#include "sched/timer.h"
#include "sched/wake.h"
#include "unit/super/end_world.h"

static const axo_backoff lane_backoff = AXO_BACKOFF(.min_ns = 1000000000, .max_ns = 1000000000);
static const axo_strategy lane_strategy = AXO_STRATEGY(.backoff = &lane_backoff);

static axo_status lane_fails(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)ctx, (void)state, (void)message;
    return AXO_EFAILED;
}

static uint32_t lane_ends;

static axo_status lane_told(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)ctx, (void)state;
    lane_ends += message->tag == AXO_TERMINATED;
    return AXO_OK;
}

static void adopted_too_late(void **state)
{
    end_world it;
    end_open(&it);
    axo__local *local = &end_worker(&it, 0)->local;
    axo_props props = AXO_PROPS(.cls = &end_class, .name = "late");
    axo__birth birth = {.props = &props, .parent = axo__cell_ref(it.root), .parent_cell = it.root};
    axo__cell *child = NULL;
    assert_int_equal(axo__spawn_make(local, &birth, &child), AXO_OK);
    axo_ref ref = axo__cell_ref(child);
    assert_ptr_equal(axo__table_find(&it.core.table, ref), child);
    uint64_t terminated = axo__a64_load_relaxed(&local->count.terminated);
    it.receive = lane_told;
    lane_ends = 0;
    axo__cell *watcher = end_spawn(&it, it.root, NULL);
    end_watch(end_worker(&it, 0), watcher, ref, NULL);
    axo__gone_answer(local, it.root, &child->life_node, AXO__SYS_ADOPT);
    end_turn(end_worker(&it, 0), watcher);
    assert_int_equal(lane_ends, 1); /* no grace period is waited for */
    assert_null(axo__table_find(&it.core.table, ref));
    assert_int_equal(child->phase, AXO__PHASE_GONE);
    assert_int_equal(axo__a64_load_relaxed(&local->count.terminated), terminated + 1);
    assert_true(axo_ref_is_none(
        axo__names_find(&it.core.names, axo__cell_ref(it.root), props.name, strlen(props.name))));
    axo__gone_expire(local, child);
    end_close(&it);
}

static void lane_fail(end_world *it, axo__cell *cell)
{
    axo__worker *worker = end_worker(it, 0);
    cell->receive = lane_fails;
    axo__message *message = axo__message_make(&worker->local.cache, 1, axo_ref_none(), 0);
    assert_non_null(message);
    axo__sched_accept(worker, cell, message);
    end_turn(worker, cell);
}

/* A parent with a back-off, and a child whose restart it has put off. */
static axo__cell *lane_put_off(end_world *it, axo__cell **parent)
{
    axo_props props = AXO_PROPS(.cls = &end_class, .strategy = &lane_strategy);
    axo__worker *worker = end_worker(it, 0);
    axo_ref ref;
    axo__cell *above = end_spawn(it, it->root, NULL); /* the root's children are guardians */
    end_enter(worker, above);
    assert_int_equal(axo__spawn(worker, above, &props, &ref), AXO_OK);
    end_leave(worker);
    *parent = axo__table_find(&it->core.table, ref);
    end_turn(worker, *parent);
    axo__cell *child = end_spawn(it, *parent, NULL);
    lane_fail(it, child);
    end_turn(worker, *parent);
    end_turn(worker, child);
    assert_true(axo__cell_own_child_record(child)->delay->waits);
    return child;
}

static void lane_fire(end_world *it)
{
    axo__worker *worker = end_worker(it, 0);
    worker->now = axo__os_now() + INT64_C(2000000000);
    assert_true(axo__timers_fire(worker, worker->timers));
}

/* The parent has system work of its own, so the end waits in its lane, and the delay's end behind
 * it. */
static void due_behind_the_end(void **state)
{
    end_world it;
    axo__cell *parent;
    end_open(&it);
    axo__cell *child = lane_put_off(&it, &parent);
    (void)axo__state_announce_system(&parent->state);
    axo__sched_stop(end_worker(&it, 1), child);
    end_turn(end_worker(&it, 1), child);
    assert_int_equal(child->phase, AXO__PHASE_GONE);
    lane_fire(&it);
    assert_int_equal(axo__cell_child_count(parent), 1);
    end_turn(end_worker(&it, 0), parent);
    assert_int_equal(axo__cell_child_count(parent), 0);
    assert_int_equal(parent->phase, AXO__PHASE_NORMAL);
    end_close(&it);
}

static uint32_t lane_notices;
static uint32_t lane_known; /* children, when the notice came */

static axo_status lane_hears(axo_ctx *ctx, void *state, const axo_message *message)
{
    lane_notices += message->tag == AXO_TERMINATED;
    lane_known += axo_child_count(ctx);
    return AXO_OK;
}

/* A watched child ends when the timer of its restart has left its wheel and the DUE is on the way;
 * the parent has had its turn. */
static axo__timer *lane_end_before_due(end_world *it, axo__cell **parent, axo_ref *ref,
                                       const axo_message *own)
{
    axo__cell *child = lane_put_off(it, parent);
    axo__timer *timer = &axo__cell_own_child_record(child)->delay->timer;
    *ref = axo__cell_ref(child);
    lane_notices = lane_known = 0;
    (*parent)->receive = lane_hears;
    end_watch(end_worker(it, 0), *parent, *ref, own);
    axo__sched_stop(end_worker(it, 1), child);
    assert_true(axo__timer_disarm(timer));
    end_turn(end_worker(it, 1), child);
    end_turn(end_worker(it, 0), *parent);
    assert_int_equal(child->phase, AXO__PHASE_GONE);
    assert_int_equal(axo__cell_child_count(*parent), 1);
    assert_int_equal(lane_notices, 0);
    return timer;
}

/* DW-13: the parent hears of the end when it has forgotten the child. */
static void notice_behind_the_due(void **state)
{
    end_world it;
    axo__cell *parent;
    axo_ref ref;
    end_open(&it);
    axo__timer *timer = lane_end_before_due(&it, &parent, &ref, NULL);
    assert_int_equal(axo__cell_own_family(parent)->kept, 1);
    assert_int_equal(timer->ops->fire(end_worker(&it, 0), timer, 0), 0);
    end_turn(end_worker(&it, 0), parent);
    assert_int_equal(axo__cell_child_count(parent), 0);
    assert_int_equal(axo__cell_own_family(parent)->kept, 0);
    assert_int_equal(lane_notices, 1);
    assert_int_equal(lane_known, 0);
    end_close(&it);
}

/* An unwatch while the notice waits for that: there is none, and its record is given back (one so
 * large is the heap's, which is looked at in the end). */
static void unwatched_before_the_due(void **state)
{
    static const char payload[AXO__POOL_MAX];
    const axo_message own = {.tag = 1, .size = sizeof payload, .payload = payload};
    end_world it;
    axo__cell *parent;
    axo_ref ref;
    end_open(&it);
    axo__timer *timer = lane_end_before_due(&it, &parent, &ref, &own);
    end_unwatch(end_worker(&it, 0), parent, ref);
    assert_int_equal(timer->ops->fire(end_worker(&it, 0), timer, 0), 0);
    end_turn(end_worker(&it, 0), parent);
    assert_int_equal(axo__cell_child_count(parent), 0);
    assert_int_equal(lane_notices, 0);
    end_close(&it);
}

/* No timers any more: the restart is at once. */
static void put_off_at_the_end(void **state)
{
    end_world it;
    axo__cell *parent;
    end_open(&it);
    axo__cell *child = lane_put_off(&it, &parent);
    lane_fire(&it);
    end_turn(end_worker(&it, 0), parent);
    end_turn(end_worker(&it, 0), child);
    uint64_t restarts = axo__a64_load_relaxed(&end_worker(&it, 0)->local.count.restarts);
    assert_int_equal(restarts, 1);
    end_worker(&it, 0)->timers->closed = true;
    lane_fail(&it, child);
    end_turn(end_worker(&it, 0), parent);
    end_turn(end_worker(&it, 0), child);
    assert_false(axo__cell_own_child_record(child)->delay->waits);
    restarts = axo__a64_load_relaxed(&end_worker(&it, 0)->local.count.restarts);
    assert_int_equal(restarts, 2);
    end_close(&it);
}

static void due_while_terminating(void **state)
{
    end_world it;
    axo__cell *parent;
    end_open(&it);
    axo__cell *child = lane_put_off(&it, &parent);
    axo__sched_stop(end_worker(&it, 0), parent);
    end_turn(end_worker(&it, 0), parent);
    assert_int_equal(parent->phase, AXO__PHASE_TERMINATING);
    lane_fire(&it);
    end_turn(end_worker(&it, 0), parent);
    assert_int_equal(parent->phase, AXO__PHASE_TERMINATING);
    assert_false(axo__cell_own_child_record(child)->delay->waits);
    end_turn(end_worker(&it, 1), child);
    end_turn(end_worker(&it, 0), parent);
    assert_int_equal(parent->phase, AXO__PHASE_GONE);
    end_close(&it);
}

/* A slot's former life was in another pool: who finds that entry gives the cell back, and whatever
 * was there for it is there still. */
static void entry_of_another_pool(void **state)
{
    end_world it;
    end_open(&it);
    axo__sched other = {.core = &it.core};
    axo__worker *stray = calloc(1, sizeof *stray);
    assert_non_null(stray);
    stray->local.core = &it.core;
    stray->sched = &other;
    axo__cell *cell = end_spawn(&it, end_spawn(&it, it.root, NULL), NULL);
    assert_null(axo__worker_claim(stray, cell)); /* nothing to do */

    (void)axo__state_announce_user(&cell->state);
    assert_null(axo__worker_claim(stray, cell));
    assert_int_equal(axo__state_look(&cell->state) & (AXO__RUNNING | AXO__READY), AXO__READY);
    assert_true(axo__inject_has_any(&it.sched.inject));
    end_turn(end_worker(&it, 0), cell);
    assert_int_equal(axo__state_look(&cell->state) & (AXO__RUNNING | AXO__READY), 0);

    axo__sched_stop(end_worker(&it, 1), cell);
    assert_null(axo__worker_claim(stray, cell));
    assert_int_equal(axo__state_look(&cell->state) & (AXO__RUNNING | AXO__URGENT), AXO__URGENT);
    assert_int_equal(cell->attention & AXO__ATTENTION_SYSTEM, 0);
    assert_true(axo__inject_has_any(&it.sched.urgent));
    end_turn(end_worker(&it, 0), cell);
    assert_int_equal(cell->phase, AXO__PHASE_GONE);
    free(stray);
    end_close(&it);
}

/* Nobody is parked: nobody is woken. */
static void nobody_to_wake(void **state)
{
    end_world it;
    end_open(&it);
    axo__sched_wake_all(&it.sched);
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(axo__a64_load_relaxed(&end_worker(&it, i)->local.count.wakes), 0);
    end_close(&it);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(adopted_too_late),      cmocka_unit_test(due_behind_the_end),
    cmocka_unit_test(notice_behind_the_due), cmocka_unit_test(unwatched_before_the_due),
    cmocka_unit_test(due_while_terminating), cmocka_unit_test(entry_of_another_pool),
    cmocka_unit_test(put_off_at_the_end),    cmocka_unit_test(nobody_to_wake),
};
TEST_MAIN(tests)
