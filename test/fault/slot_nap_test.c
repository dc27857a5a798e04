/* slot_nap_test.c - who finds no slot does not wait for the reclaimer's nap: slots come back while
 * the clock that the nap is timed by stands still. */
#include <sched.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "support/cmocka.h"

#include <axo/axo.h>

/* More lives than there are slots, many times over. */
enum { NAP_ROUNDS = 400, NAP_ACTORS = 1000 };

#define NAP_LATE_NS INT64_C(10000000000)
#define NAP_AHEAD_NS INT64_C(3600000000000)

/* The test's own thread sees the true clock. All others see one that stands an hour ahead, so that
 * no nap of theirs ends by itself. */
static _Thread_local bool nap_true;
static _Atomic int64_t nap_stands_at_ns;

/* In place of the C library's. */
int clock_gettime(clockid_t id, struct timespec *out)
{
    int64_t stands = atomic_load(&nap_stands_at_ns);
    if (syscall(SYS_clock_gettime, id, out) != 0)
        return -1;
    if (id == CLOCK_MONOTONIC && stands != 0 && !nap_true) {
        out->tv_sec = (time_t)(stands / 1000000000);
        out->tv_nsec = (long)(stands % 1000000000);
    }
    return 0;
}

static int64_t nap_now(void)
{
    struct timespec now;
    assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &now), 0);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static axo_status nap_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)ctx, (void)state, (void)message;
    return AXO_OK;
}

static const axo_class nap_class = AXO_CLASS(.name = "nap", .receive = nap_receive);

static axo_status nap_spawn(axo_system *system, axo_ref *out)
{
    const axo_props props = AXO_PROPS(.cls = &nap_class);
    return axo_system_spawn(system, &props, out);
}

/* Until all but the guardians have ended. Each has its slot until it is reclaimed. */
static void nap_until_ended(axo_system *system)
{
    axo_stats stats = AXO_STATS(.sent = 0);
    int64_t late = nap_now() + NAP_LATE_NS;
    do {
        assert_true(nap_now() < late);
        (void)sched_yield();
        assert_int_equal(axo_system_stats(system, &stats), AXO_OK);
    } while (stats.actors > 3);
}

/* One more, as soon as there is a slot. */
static axo_ref nap_spawn_again(axo_system *system)
{
    int64_t late = nap_now() + NAP_LATE_NS;
    axo_ref ref;
    axo_status status;
    while ((status = nap_spawn(system, &ref)) != AXO_OK) {
        assert_int_equal(status, AXO_ELIMIT);
        assert_true(nap_now() < late);
        (void)sched_yield();
    }
    return ref;
}

static void slots_come_back(void **state)
{
    static axo_ref refs[NAP_ACTORS];
    const axo_options options = AXO_OPTIONS(.workers = 2, .actors_max = 2 * NAP_ACTORS);
    axo_system *system;
    (void)state;
    nap_true = true;
    atomic_store(&nap_stands_at_ns, nap_now() + NAP_AHEAD_NS);
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    for (uint32_t round = 0; round < NAP_ROUNDS; round++) {
        for (uint32_t i = 0; i < NAP_ACTORS; i++)
            refs[i] = nap_spawn_again(system);
        for (uint32_t i = 0; i < NAP_ACTORS; i++)
            assert_int_equal(axo_system_stop_actor(system, refs[i]), AXO_OK);
        nap_until_ended(system);
    }
    assert_int_equal(axo_system_stop(system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
    atomic_store(&nap_stands_at_ns, 0);
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(slots_come_back)};
TEST_MAIN(tests)
