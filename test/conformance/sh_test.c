/* sh_test.c - how a system ends: callbacks, waiters, races with spawning, threads (SH). */
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "conformance/ear.h"
#include "conformance/parts.h"
#include "support/census.h"
#include "support/slower.h"

enum { SH_THREADS = 3, SH_ROUNDS = 25 };

/* ---- what is called at the end --------------------------------------------------------------- */

typedef struct sh_call {
    kit *k;
    int64_t number;
    kit_gate *gate;
    axo_status late;
} sh_call;

static void sh_called(axo_system *system, void *user)
{
    sh_call *call = user;
    axo_ref root = axo_system_guardian(system, AXO_GUARDIAN_ROOT);
    if (call->gate != NULL)
        kit_gate_pass(call->gate);
    kit_mark_ref(call->k, root, "called", (uint64_t)call->number);
}

static sh_call *sh_register(kit *k, int64_t number)
{
    sh_call *call = kit_alloc(k, sizeof *call);
    *call = (sh_call){.k = k, .number = number};
    assert_int_equal(axo_system_on_termination(kit_system(k), sh_called, call), AXO_OK);
    return call;
}

static void SH_01(void **state)
{
    kit *k = kit_start(state, NULL);
    kit_family f = kit_plan(k, "-x[c], -s");
    assert_int_equal(kit_spawn_system(k, f.s), AXO_OK);
    kit_spawn(k, f.x);
    kit_await_all(k, "c.preStart", "s.preStart");
    sh_register(k, 1);
    sh_register(k, 2);
    assert_int_equal(axo_system_shutdown(kit_system(k)), AXO_OK);
    assert_int_equal(axo_system_wait(kit_system(k), -1, NULL), AXO_OK);
    kit_expect_count(k, "root.called", 2); /* before the waiter went on */
    kit_order(k, "c.postStop", "x.postStop", "user.terminated", "s.postStop", "system.terminated",
              "root.terminated", "root.called(2)", "root.called(1)");
    kit_finish_now(k);
}

/* The waiters wait for a callback that takes long. */
static void SH_02(void **state)
{
    kit *k = kit_start(state, NULL);
    for (int64_t i = 1; i <= 5; i++)
        sh_register(k, i);
    sh_call *slow = sh_register(k, 6);
    slow->gate = kit_gate_new(k);
    assert_int_equal(axo_system_stop(kit_system(k), 0, NULL, 0, NULL), AXO_ETIMEDOUT);
    kit_gate_arrived(slow->gate, 1);
    assert_int_equal(axo_system_wait(kit_system(k), 0, NULL), AXO_ETIMEDOUT);
    assert_int_equal(axo_system_destroy(kit_system(k)), AXO_ESTOPPING);
    kit_never(k, "root.called");
    kit_gate_open(slow->gate);
    assert_int_equal(axo_system_wait(kit_system(k), -1, NULL), AXO_OK);
    kit_order(k, "root.called(6)", "root.called(5)", "root.called(4)", "root.called(3)",
              "root.called(2)", "root.called(1)");
    kit_finish_now(k);
}

/* Inside a callback: what waits is refused, a further callback is too late. */
static void sh_inside(axo_system *system, void *user)
{
    sh_call *call = user;
    axo_props props = AXO_PROPS(.cls = &ear_class);
    axo_ref ref;
    KIT_REQUIRE(call->k, axo_system_wait(system, -1, NULL) == AXO_ECONTEXT);
    KIT_REQUIRE(call->k, axo_system_stop(system, -1, NULL, 0, NULL) == AXO_ECONTEXT);
    KIT_REQUIRE(call->k, axo_system_destroy(system) == AXO_ECONTEXT);
    KIT_REQUIRE(call->k, axo_system_shutdown(system) == AXO_OK);
    KIT_REQUIRE(call->k, axo_system_on_termination(system, sh_called, call) == AXO_ESTOPPING);
    KIT_REQUIRE(call->k, axo_system_spawn(system, &props, &ref) == AXO_ESTOPPING);
    sh_called(system, user);
}

static void SH_03(void **state)
{
    kit *k = kit_start(state, NULL);
    sh_call *call = kit_alloc(k, sizeof *call);
    *call = (sh_call){.k = k, .number = 1};
    assert_int_equal(axo_system_on_termination(NULL, sh_called, call), AXO_EINVAL);
    assert_int_equal(axo_system_on_termination(kit_system(k), NULL, call), AXO_EINVAL);
    kit_no_memory(k, true);
    assert_int_equal(axo_system_on_termination(kit_system(k), sh_called, call), AXO_ENOMEM);
    kit_no_memory(k, false);
    assert_int_equal(axo_system_on_termination(kit_system(k), sh_inside, call), AXO_OK);
    assert_int_equal(axo_system_stop(kit_system(k), -1, NULL, 0, NULL), AXO_OK);
    kit_expect_count(k, "root.called", 1);
    assert_int_equal(axo_system_on_termination(kit_system(k), sh_called, call), AXO_ESTOPPING);
    kit_expect_count(k, "root.called", 1);
    kit_finish_now(k);
}

/* In a manual system they run where everything runs. */
static void sh_manual_called(axo_system *system, void *user)
{
    uint32_t *calls = user;
    if (axo_run_host(system, -1, NULL) == AXO_ECONTEXT &&
        axo_system_wait(system, 0, NULL) == AXO_ECONTEXT)
        ++*calls;
}

static void SH_01_manual(void **state)
{
    axo_options options = AXO_OPTIONS(.manual = 1);
    axo_system *system = NULL;
    uint32_t calls = 0;
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    assert_int_equal(axo_system_on_termination(system, sh_manual_called, &calls), AXO_OK);
    assert_int_equal(axo_system_on_termination(system, sh_manual_called, &calls), AXO_OK);
    assert_int_equal(axo_system_shutdown(system), AXO_OK);
    assert_int_equal(calls, 0);
    while (axo_system_wait(system, 0, NULL) == AXO_ETIMEDOUT) {
        assert_int_equal(calls, 0);
        assert_int_equal(axo_run_host(system, -1, NULL), AXO_OK);
    }
    assert_int_equal(calls, 2);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
}

typedef struct sh_race {
    axo_system *system;
    pthread_barrier_t barrier;
    uint32_t round;
    _Atomic uint64_t accepted;
    _Atomic uint64_t ran;
    _Atomic uint64_t wrong;
} sh_race;

static void sh_count(axo_system *system, void *user)
{
    atomic_fetch_add(&((sh_race *)user)->ran, 1);
}

/* Registers until it is refused; then it is for ever. */
static void *sh_register_main(void *arg)
{
    sh_race *r = arg;
    (void)pthread_barrier_wait(&r->barrier);
    while (axo_system_on_termination(r->system, sh_count, r) == AXO_OK)
        atomic_fetch_add(&r->accepted, 1);
    for (int i = 0; i < 50; i++) {
        if (axo_system_on_termination(r->system, sh_count, r) != AXO_ESTOPPING)
            atomic_fetch_add(&r->wrong, 1);
    }
    return NULL;
}

static void sh_race_run(void **state, void *(*fn)(void *), void (*check)(sh_race *r))
{
    for (uint32_t round = 0; round < slower_share(SH_ROUNDS, 3); round++) {
        sh_race r = {.round = round};
        axo_options options = AXO_OPTIONS(.workers = (uint32_t)(uintptr_t)*state, .seed = 1,
                                          .actors_max = 5000);
        pthread_t threads[SH_THREADS];
        assert_int_equal(axo_system_start(&options, &r.system), AXO_OK);
        assert_int_equal(pthread_barrier_init(&r.barrier, NULL, SH_THREADS + 1), 0);
        for (uint32_t i = 0; i < SH_THREADS; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, fn, &r), 0);
        (void)pthread_barrier_wait(&r.barrier);
        assert_int_equal(axo_system_stop(r.system, -1, NULL, 0, NULL), AXO_OK);
        for (uint32_t i = 0; i < SH_THREADS; i++)
            assert_int_equal(pthread_join(threads[i], NULL), 0);
        check(&r);
        assert_int_equal(atomic_load(&r.wrong), 0);
        assert_int_equal(axo_system_destroy(r.system), AXO_OK);
        (void)pthread_barrier_destroy(&r.barrier);
    }
}

static void sh_check_registered(sh_race *r)
{
    assert_int_equal(atomic_load(&r->ran), atomic_load(&r->accepted));
}

static void SH_03_race(void **state)
{
    sh_race_run(state, sh_register_main, sh_check_registered);
}

/* ---- spawning against the end ---------------------------------------------------------------- */

static axo_status sh_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    return AXO_OK;
}

static axo_status sh_construct(axo_ctx *ctx, void *state, const void *args)
{
    memcpy(state, args, sizeof(sh_race *));
    return AXO_OK;
}

/* Started ones are counted up, stopped ones down. */
static axo_status sh_start(axo_ctx *ctx, void *state)
{
    atomic_fetch_add(&(*(sh_race **)state)->ran, 1);
    return AXO_OK;
}

static axo_status sh_stop(axo_ctx *ctx, void *state)
{
    atomic_fetch_sub(&(*(sh_race **)state)->ran, 1);
    return AXO_OK;
}

static const axo_class sh_class =
    AXO_CLASS(.name = "sh", .state_size = sizeof(sh_race *), .construct = sh_construct,
              .pre_start = sh_start, .receive = sh_receive, .post_stop = sh_stop);

static void *sh_spawn_main(void *arg)
{
    sh_race *r = arg;
    axo_props props = AXO_PROPS(.cls = &sh_class, .args = &r, .args_size = sizeof r,
                                .system_actor = r->round % 3 == 0);
    axo_ref ref;
    axo_ref last = axo_ref_none();
    char path[64];
    (void)pthread_barrier_wait(&r->barrier);
    for (;;) {
        axo_status status = axo_system_spawn(r->system, &props, &ref);
        if (status == AXO_ESTOPPING)
            break;
        if (status == AXO_OK) {
            atomic_fetch_add(&r->accepted, 1);
            last = ref;
        } else if (status == AXO_ELIMIT) {
            (void)sched_yield(); /* the one who stops it has not come through the door yet */
        } else {
            atomic_fetch_add(&r->wrong, 1);
        }
    }
    for (int i = 0; i < 200; i++) {
        if (axo_system_spawn(r->system, &props, &ref) != AXO_ESTOPPING || !axo_ref_is_none(ref))
            atomic_fetch_add(&r->wrong, 1);
    }
    if (axo_system_wait(r->system, -1, NULL) != AXO_OK)
        atomic_fetch_add(&r->wrong, 1);
    if (!axo_ref_is_none(last) &&
        axo_system_path(r->system, last, path, sizeof path) != AXO_EGONE)
        atomic_fetch_add(&r->wrong, 1);
    return NULL;
}

static void sh_check_spawned(sh_race *r)
{
    axo_stats stats = AXO_STATS(.sent = 0);
    assert_int_equal(axo_system_stats(r->system, &stats), AXO_OK);
    assert_int_equal(stats.spawned, atomic_load(&r->accepted) + 3); /* and the guardians */
    assert_int_equal(stats.terminated, stats.spawned);
    assert_int_equal(atomic_load(&r->ran), 0);
}

static void SH_04(void **state)
{
    sh_race_run(state, sh_spawn_main, sh_check_spawned);
}

/* ---- ending twice ---------------------------------------------------------------------------- */

static void *sh_stop_main(void *arg)
{
    sh_race *r = arg;
    axo_outcome outcome;
    (void)pthread_barrier_wait(&r->barrier);
    for (int i = 0; i < 3; i++) {
        if (axo_system_shutdown(r->system) != AXO_OK ||
            axo_system_stop(r->system, -1, NULL, 0, NULL) != AXO_OK ||
            axo_system_wait(r->system, -1, &outcome) != AXO_OK || outcome.failed != 0)
            atomic_fetch_add(&r->wrong, 1);
    }
    return NULL;
}

static void sh_check_ended(sh_race *r)
{
    axo_stats stats = AXO_STATS(.sent = 0);
    assert_int_equal(axo_system_stats(r->system, &stats), AXO_OK);
    assert_int_equal(stats.spawned, 3);
    assert_int_equal(stats.terminated, 3);
}

static void SH_05(void **state)
{
    sh_race_run(state, sh_stop_main, sh_check_ended);
}

/* With a failure: every waiter gets the same cause. */
static void SH_05_cause(void **state)
{
    kit *k = kit_start(state, NULL);
    kit_family f = kit_tree(k, "a");
    kit_tell(k, f.a, KIT_FAIL_FATAL, 9);
    for (int i = 0; i < 2; i++) {
        axo_outcome outcome;
        assert_int_equal(axo_system_wait(kit_system(k), -1, &outcome), AXO_OK);
        assert_int_equal(outcome.failed, 1);
        assert_int_equal(outcome.code, 9);
        assert_int_equal(axo_system_stop(kit_system(k), -1, NULL, 0, NULL), AXO_OK);
    }
    kit_finish_now(k);
}

/* ---- threads --------------------------------------------------------------------------------- */

static void SH_06(void **state)
{
    uint32_t workers = (uint32_t)(uintptr_t)*state;
    uint32_t before = census_open();
    axo_options options = AXO_OPTIONS(.workers = workers);
    for (int i = 0; i < 3; i++) {
        axo_system *system = NULL;
        assert_int_equal(axo_system_start(&options, &system), AXO_OK);
        assert_true(census_threads() >= before + workers);
        assert_int_equal(axo_system_stop(system, -1, NULL, 0, NULL), AXO_OK);
        assert_int_equal(axo_system_destroy(system), AXO_OK);
        assert_int_equal(census_settled(before), before);
    }
}

/* ---- after the end --------------------------------------------------------------------------- */

static void sh_freed(void *payload, void *user)
{
    ++*(uint32_t *)user;
}

static void SH_07(void **state)
{
    kit *k = kit_start(state, NULL);
    kit_family f = kit_tree(k, "a");
    axo_system *system = kit_system(k);
    axo_props props = AXO_PROPS(.cls = &ear_class);
    uint32_t freed = 0;
    int owned = 1;
    char path[16];
    axo_ref ref;
    assert_int_equal(axo_system_stop(system, -1, NULL, 0, NULL), AXO_OK);
    axo_stats before = kit_stats(k);
    assert_int_equal(axo_system_send(system, kit_ref(f.a), 1, &owned, sizeof owned), AXO_EGONE);
    assert_int_equal(
        axo_system_send_owned(system, kit_ref(f.a), 1, &owned, sizeof owned, sh_freed, &freed),
        AXO_EGONE);
    assert_int_equal(axo_system_poison(system, kit_ref(f.a)), AXO_EGONE);
    assert_int_equal(axo_system_kill(system, kit_ref(f.a)), AXO_EGONE);
    for (int i = 0; i < 3; i++) {
        ref = axo_system_guardian(system, (axo_guardian)i);
        assert_int_equal(axo_system_send(system, ref, 1, NULL, 0), AXO_EGONE);
    }
    axo_stats after = kit_stats(k);
    assert_int_equal(freed, 1);
    assert_int_equal(after.sent, before.sent + 7);
    assert_int_equal(after.dead, before.dead + 7);
    assert_int_equal(axo_system_stop_actor(system, kit_ref(f.a)), AXO_EGONE);
    assert_int_equal(axo_system_path(system, kit_ref(f.a), path, sizeof path), AXO_EGONE);
    assert_int_equal(axo_system_spawn(system, &props, &ref), AXO_ESTOPPING);
    props.system_actor = 1;
    assert_int_equal(axo_system_spawn(system, &props, &ref), AXO_ESTOPPING);
    assert_int_equal(axo_system_subscribe(system, kit_ref(f.a), AXO_KIND_ALL), AXO_EGONE);
    assert_int_equal(axo_system_unsubscribe(system, kit_ref(f.a), AXO_KIND_ALL), AXO_ENOENT);
    assert_int_equal(axo_system_publish(system, AXO_KIND_USER, NULL, 0), AXO_OK);
    kit_finish_now(k);
}

/* Subscribers that die with the system, and events for them on the way. */
static void SH_07_events(void **state)
{
    kit *k = kit_start(state, NULL);
    ear *e = ear_on(k, "e", AXO_KIND_ALL);
    ear *s = ear_new_at(k, "s", 1);
    assert_int_equal(axo_system_subscribe(kit_system(k), s->ref, AXO_KIND_ALL), AXO_OK);
    for (int i = 0; i < 20; i++)
        (void)ear_new(k, NULL);
    ear_await(e, AXO_KIND_STARTED, 1);
    assert_int_equal(axo_system_stop(kit_system(k), -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(kit_stats(k).dead, 0);
    assert_int_equal(axo_system_publish(kit_system(k), AXO_KIND_USER, NULL, 0), AXO_OK);
    assert_int_equal(axo_system_unsubscribe(kit_system(k), s->ref, AXO_KIND_ALL), AXO_ENOENT);
    kit_finish_now(k);
}

/* ---- names ----------------------------------------------------------------------------------- */

static void SH_10(void **state)
{
    static const char *const bad[] = {"", "-a", "_a", "a b", "a.b", "a/b", "a\n", "\xc3\xa4"};
    char name[] = "my-system_7";
    axo_options options = AXO_OPTIONS(.workers = (uint32_t)(uintptr_t)*state);
    axo_system *system = NULL;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        options.name = bad[i];
        assert_int_equal(axo_system_start(&options, &system), AXO_ENAME);
        assert_null(system);
    }
    for (int i = 0; i < 2; i++) {
        options.name = i == 0 ? name : NULL;
        assert_int_equal(axo_system_start(&options, &system), AXO_OK);
        name[0] = 'x'; /* it was copied */
        assert_string_equal(axo_system_name(system), i == 0 ? "my-system_7" : "axo");
        assert_int_equal(axo_system_stop(system, -1, NULL, 0, NULL), AXO_OK);
        assert_int_equal(axo_system_destroy(system), AXO_OK);
    }
    char longest[AXO_NAME_MAX + 2];
    memset(longest, 'Z', sizeof longest);
    longest[AXO_NAME_MAX + 1] = 0;
    options.name = longest;
    assert_int_equal(axo_system_start(&options, &system), AXO_ENAME);
    longest[AXO_NAME_MAX] = 0;
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    assert_string_equal(axo_system_name(system), longest);
    assert_int_equal(axo_system_stop(system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
    assert_null(axo_system_name(NULL));
}

static const struct CMUnitTest tests[] = {
    KIT_TEST("SH-01", SH_01),
    KIT_TEST_ONE("SH-01 manual", SH_01_manual, 1, "worker"),
    KIT_TEST("SH-02", SH_02),
    KIT_TEST("SH-03", SH_03),
    KIT_TEST("SH-03 race", SH_03_race),
    KIT_TEST("SH-04", SH_04),
    KIT_TEST("SH-05", SH_05),
    KIT_TEST("SH-05 cause", SH_05_cause),
    KIT_TEST("SH-06", SH_06),
    KIT_TEST("SH-07", SH_07),
    KIT_TEST("SH-07 events", SH_07_events),
    KIT_TEST("SH-10", SH_10),
};
TEST_MAIN(tests)
