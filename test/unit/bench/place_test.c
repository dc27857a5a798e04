/* place_test.c - where a run was, by what the probes said, and what a probe leaves behind. */
#include "unit/unit.h"

#include <stdlib.h>
#include <string.h>

#include "../bench/place.h"

static place_word seen(double way, double way_after, double link_after)
{
    place_seen before = {.line_ns = way, .link_ns = 1.0};
    place_seen after = {.line_ns = way_after, .link_ns = link_after};
    return place_of(&before, &after);
}

static void near_and_far(void **state)
{
    assert_int_equal(seen(28.0, 79.9, 1.0), PLACE_NEAR);
    assert_int_equal(seen(80.0, 155.0, 1.0), PLACE_FAR);
    assert_int_equal(seen(0.0, 0.0, 1.0), PLACE_ALONE);
}

static void what_changed_or_is_not_known_is_mixed(void **state)
{
    assert_int_equal(seen(28.0, 155.0, 1.0), PLACE_MIXED);
    assert_int_equal(seen(155.0, 28.0, 1.0), PLACE_MIXED);
    assert_int_equal(seen(28.0, 28.0, 1.2), PLACE_MIXED);
    assert_int_equal(seen(28.0, 28.0, 0.8), PLACE_MIXED);
    assert_int_equal(seen(-1.0, 28.0, 1.0), PLACE_MIXED);
    assert_int_equal(seen(28.0, -1.0, 1.0), PLACE_MIXED);
}

/* On a busy machine the line need not be known, but the thread runs where it ran before. */
static void a_look_leaves_the_thread_as_it_was(void **state)
{
    cpu_set_t before;
    cpu_set_t after;
    assert_int_equal(pthread_getaffinity_np(pthread_self(), sizeof before, &before), 0);
    place_seen found = place_look();
    assert_int_equal(pthread_getaffinity_np(pthread_self(), sizeof after, &after), 0);
    assert_true(CPU_EQUAL(&before, &after));
    assert_true(found.link_ns > 0.0);
    assert_true(found.line_ns != 0.0 || CPU_COUNT(&before) == 1);
}

/* With one processor there is no way to measure. */
static void one_processor_is_alone(void **state)
{
    cpu_set_t all;
    cpu_set_t one;
    size_t first = 0;
    assert_int_equal(pthread_getaffinity_np(pthread_self(), sizeof all, &all), 0);
    while (!CPU_ISSET(first, &all))
        first++;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    assert_int_equal(pthread_setaffinity_np(pthread_self(), sizeof one, &one), 0);
    place_seen found = place_look();
    assert_int_equal(pthread_setaffinity_np(pthread_self(), sizeof all, &all), 0);
    assert_true(found.line_ns == 0.0);
    assert_int_equal(place_of(&found, &found), PLACE_ALONE);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(near_and_far),
    cmocka_unit_test(what_changed_or_is_not_known_is_mixed),
    cmocka_unit_test(a_look_leaves_the_thread_as_it_was),
    cmocka_unit_test(one_processor_is_alone),
};
TEST_MAIN(tests)
