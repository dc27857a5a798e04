/* record_same_test.c - a recording and its replays, with each event in the file and without: the
 * same events. */
#include "api/record_world.h"

static void same_again(void **state)
{
    char path[128];
    for (uint32_t each = 0; each < 2; each++) {
        const axo_record_report file = world_record(world_path(path, "same"), 1, 60, each != 0);
        axo_record_report report = world_replay(path, 1, 0);
        world_same(&file, &report);
        assert_true(report.hash.events > 1000);
        report = world_replay(path, 1, 0);
        world_same(&file, &report);
        assert_int_equal(unlink(path), 0);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(same_again),
};

TEST_MAIN(tests)
