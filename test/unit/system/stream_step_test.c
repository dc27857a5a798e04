/* stream_step_test.c - two publishers meet the same ended subscriber: the second one buries it when
 * its place has another owner by now. */
#include "unit/unit.h"

#include "system/stream.c"
#include "system/system.h"

static axo_status step_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    return message->tag == AXO_EVENT ? AXO_OK : AXO_UNHANDLED;
}

static axo_ref step_subscriber(axo_system *system)
{
    static const axo_class cls = AXO_CLASS(.receive = step_receive);
    axo_props props = AXO_PROPS(.cls = &cls);
    axo_ref ref;
    assert_int_equal(axo_system_spawn(system, &props, &ref), AXO_OK);
    assert_int_equal(axo_system_subscribe(system, ref, AXO_KIND_USER), AXO_OK);
    return ref;
}

static void buried_twice(void **state)
{
    axo_options options = AXO_OPTIONS(.manual = 1, .seed = 1);
    axo_system *system = NULL;
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    axo__stream *stream = &system->stream;
    axo_ref gone = step_subscriber(system);
    axo__place *place = stream_find_locked(stream, gone.bits);
    assert_int_equal(axo_system_stop_actor(system, gone), AXO_OK);
    assert_int_equal(axo_run_host(system, -1, NULL), AXO_OK);
    stream_bury(stream, place, gone.bits); /* the first publisher */
    assert_int_equal(axo__stream_subscribers(stream), 0);
    axo_ref next = step_subscriber(system);
    assert_ptr_equal(stream_find_locked(stream, next.bits), place);
    stream_bury(stream, place, gone.bits); /* the second, which found it before that */
    assert_ptr_equal(stream_find_locked(stream, next.bits), place);
    assert_int_equal(axo_system_stop(system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(buried_twice)};
TEST_MAIN(tests)
