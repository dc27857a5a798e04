/* two_systems_test.c - an actor looks at actors of another system: these stay where they run. */
#include <semaphore.h>
#include <stdlib.h>

#include <axo/axo.h>

#include "support/cmocka.h"

enum { TAG_NOTE = 1, TAG_INSPECT, TAG_HEALTH };

static axo_system *other;
static axo_ref one;
static sem_t done;
static axo_status told;
static axo_actor_info info;

static axo_status on_message(axo_ctx *ctx, void *state, const axo_message *message)
{
    axo_health_report late = AXO_HEALTH_REPORT();
    (void)ctx, (void)state;
    switch (message->tag) {
    case TAG_INSPECT:
        told = axo_system_inspect(other, one, axo_ref_none(), &info);
        break;
    case TAG_HEALTH:
        told = axo_health(other, INT64_MAX, &late);
        break;
    default:
        return AXO_OK;
    }
    assert_int_equal(sem_post(&done), 0);
    return AXO_OK;
}

static const axo_class plain = AXO_CLASS(.name = "plain", .receive = on_message);

static axo_ref spawn(axo_system *system, const char *name)
{
    axo_props props = AXO_PROPS(.cls = &plain, .name = name);
    axo_ref ref;
    assert_int_equal(axo_system_spawn(system, &props, &ref), AXO_OK);
    return ref;
}

static void run(axo_system *system)
{
    assert_int_equal(axo_run_host(system, -1, NULL), AXO_OK);
}

static uint64_t handled(axo_system *system)
{
    axo_stats stats = AXO_STATS();
    assert_int_equal(axo_system_stats(system, &stats), AXO_OK);
    return stats.handled;
}

static void end(axo_system *system)
{
    assert_int_equal(axo_system_stop(system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
}

/* The other system has no thread, so nobody but axo_run_host may handle its messages. */
static void stays_there(uint32_t tag)
{
    axo_options options = AXO_OPTIONS(.workers = 1);
    axo_options by_hand = AXO_OPTIONS(.manual = 1);
    axo_system *system;
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    assert_int_equal(axo_system_start(&by_hand, &other), AXO_OK);
    axo_ref looker = spawn(system, "looker");
    one = spawn(other, "one");
    run(other);
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(axo_system_send(other, one, TAG_NOTE, NULL, 0), AXO_OK);
    assert_int_equal(axo_system_send(system, looker, tag, NULL, 0), AXO_OK);
    while (sem_wait(&done) != 0) {
    }
    assert_int_equal(told, AXO_OK);
    end(system); /* its worker has run all that it had */
    assert_int_equal(handled(other), 0);
    run(other);
    assert_int_equal(handled(other), 5);
    end(other);
}

static void an_inspected_actor(void **state)
{
    info = (axo_actor_info)AXO_ACTOR_INFO();
    stays_there(TAG_INSPECT);
    assert_int_equal(info.queued, 5);
}

static void an_actor_asked_for_its_health(void **state)
{
    stays_there(TAG_HEALTH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_inspected_actor),
        cmocka_unit_test(an_actor_asked_for_its_health),
    };
    assert_int_equal(sem_init(&done, 0, 0), 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
