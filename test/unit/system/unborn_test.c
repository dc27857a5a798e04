/* unborn_test.c - between its generation and its word a plain newborn is none: who walks the table
 * is not told of it. The moment is made by hand, from an actor that lives. */
#include <axo/axo.h>

#include "cell/table.h"
#include "support/cmocka.h"
#include "system/shutdown.h"
#include "system/system.h"

static axo_status unborn_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)ctx;
    (void)state;
    (void)message;
    return AXO_OK;
}

static const axo_class unborn_class = AXO_CLASS(.name = "unborn", .receive = unborn_receive);

static uint32_t unborn_found(axo_system *system)
{
    axo_ref found[4];
    uint32_t count = 0;
    assert_int_equal(axo_system_find_all(system, "/user/*", found, 4, &count), AXO_OK);
    return count;
}

static void who_is_not_born_is_not_found(void **state)
{
    axo_options options = AXO_OPTIONS(.manual = 1);
    axo_props props = AXO_PROPS(.cls = &unborn_class);
    axo_system *system;
    axo_ref ref;
    axo_late late[8];
    (void)state;
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    assert_int_equal(axo_system_spawn(system, &props, &ref), AXO_OK);
    assert_int_equal(axo_run_host(system, -1, NULL), AXO_OK);
    axo__cell *cell = axo__table_find(&system->core.table, ref);
    assert_non_null(cell);
    const uint64_t word = axo__state_look(&cell->state);
    assert_int_equal(unborn_found(system), 1);
    assert_int_equal(axo__shutdown_late(system, late, 8), 4); /* the guardians, too */

    axo__a64_store_relaxed(&cell->state.word, AXO__CLOSED);
    assert_int_equal(unborn_found(system), 0);
    assert_int_equal(axo__shutdown_late(system, late, 8), 3);

    axo__a64_store_relaxed(&cell->state.word, word);
    assert_int_equal(unborn_found(system), 1);
    assert_int_equal(axo_system_stop(system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(who_is_not_born_is_not_found),
};
TEST_MAIN(tests)
