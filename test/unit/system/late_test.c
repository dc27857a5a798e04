/* late_test.c - a stop that comes too early says who is late (DESIGN D16). */
#include <pthread.h>
#include <string.h>

#include <axo/axo.h>

#include "support/cmocka.h"

typedef struct gate {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    bool arrived;
    bool open;
} gate;

static gate late_gate = {.mutex = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER};

static axo_status stuck_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    pthread_mutex_lock(&late_gate.mutex);
    late_gate.arrived = true;
    pthread_cond_broadcast(&late_gate.cond);
    while (!late_gate.open)
        pthread_cond_wait(&late_gate.cond, &late_gate.mutex);
    pthread_mutex_unlock(&late_gate.mutex);
    return AXO_OK;
}

static const axo_late *late_find(const axo_late *late, uint32_t count, axo_ref actor)
{
    for (uint32_t i = 0; i < count; i++) {
        if (axo_ref_equal(late[i].actor, actor))
            return &late[i];
    }
    return NULL;
}

static void the_late_are_named(void **unused)
{
    static const axo_class cls = AXO_CLASS(.receive = stuck_receive);
    axo_props props = AXO_PROPS(.cls = &cls, .name = "stuck");
    axo_options options = AXO_OPTIONS(.workers = 2);
    axo_system *system = NULL;
    axo_ref stuck;
    axo_late late[8];
    uint32_t count = 0;
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    assert_int_equal(axo_system_spawn(system, &props, &stuck), AXO_OK);
    assert_int_equal(axo_system_send(system, stuck, 77, NULL, 0), AXO_OK);
    pthread_mutex_lock(&late_gate.mutex);
    while (!late_gate.arrived)
        pthread_cond_wait(&late_gate.cond, &late_gate.mutex);
    pthread_mutex_unlock(&late_gate.mutex);

    const axo_late *one = NULL;
    for (int i = 0; i < 20000; i++) { /* until /user has taken the stop */
        assert_int_equal(axo_system_stop(system, 1000000, late, 8, &count), AXO_ETIMEDOUT);
        assert_int_equal(count, 4); /* the guardians wait for it */
        one = late_find(late, count, axo_system_guardian(system, AXO_GUARDIAN_USER));
        assert_non_null(one);
        if (strcmp(one->doing, "waiting for children") == 0)
            break;
    }
    assert_string_equal(one->path, "/user");
    assert_string_equal(one->doing, "waiting for children");
    one = late_find(late, count, stuck);
    assert_non_null(one);
    assert_string_equal(one->path, "/user/stuck");
    assert_string_equal(one->doing, "running");
    assert_int_equal(one->has_tag, 1);
    assert_int_equal(one->tag, 77);
    assert_true(one->since_ns >= 1000000);
    assert_int_equal(axo_system_destroy(system), AXO_ESTOPPING);
    assert_int_equal(axo_system_stop(system, 0, late, 1, &count), AXO_ETIMEDOUT);
    assert_int_equal(count, 4); /* more than fit: still counted */

    pthread_mutex_lock(&late_gate.mutex);
    late_gate.open = true;
    pthread_cond_broadcast(&late_gate.cond);
    pthread_mutex_unlock(&late_gate.mutex);
    assert_int_equal(axo_system_stop(system, -1, NULL, 0, &count), AXO_OK);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_late_are_named)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
