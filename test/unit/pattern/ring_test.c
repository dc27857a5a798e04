/* ring_test.c - the hash ring: even shares, few keys that move, order of comings and goings. */
#include <stdbool.h>

#include "pattern/ring.h"
#include "support/cmocka.h"

enum { MEMBERS = 20, KEYS = 20000, EACH = 128 };

typedef struct ring_world {
    axo_system *system;
    axo__ring ring;
    axo_ref owner[KEYS];
} ring_world;

static axo_ref member(uint64_t i)
{
    return (axo_ref){.bits = i + 1};
}

static void ring_start(ring_world *w, uint32_t members, uint32_t each)
{
    axo_options options = AXO_OPTIONS(.manual = 1);
    assert_int_equal(axo_system_start(&options, &w->system), AXO_OK);
    axo__ring_init(&w->ring, w->system, each);
    for (uint32_t i = 0; i < members; i++) {
        assert_int_equal(axo__ring_reserve(&w->ring, i + 1), AXO_OK);
        axo__ring_add(&w->ring, member(i).bits, member(i));
    }
}

static void ring_stop(ring_world *w)
{
    axo__ring_fini(&w->ring);
    assert_int_equal(axo_system_stop(w->system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(w->system), AXO_OK);
}

static void ring_ask(ring_world *w, axo_ref *owner)
{
    for (uint64_t key = 0; key < KEYS; key++)
        owner[key] = axo__ring_find(&w->ring, key);
}

static void ring_check(const axo__ring *ring, uint32_t members)
{
    assert_int_equal(ring->count, (size_t)members * ring->each);
    assert_true(ring->count <= ring->room);
    for (size_t i = 1; i < ring->count; i++)
        assert_true(ring->places[i - 1].hash <= ring->places[i].hash);
}

static void shares_are_even(void **state)
{
    static ring_world w;
    uint32_t share[MEMBERS] = {0};
    ring_start(&w, MEMBERS, EACH);
    ring_check(&w.ring, MEMBERS);
    ring_ask(&w, w.owner);
    for (uint32_t key = 0; key < KEYS; key++)
        share[w.owner[key].bits - 1]++;
    for (uint32_t i = 0; i < MEMBERS; i++) {
        assert_true(share[i] > KEYS / MEMBERS * 65 / 100); /* four deviations of 128 places */
        assert_true(share[i] < KEYS / MEMBERS * 135 / 100);
    }
    ring_stop(&w);
}

static void only_the_needed_keys_move(void **state)
{
    static ring_world w;
    static axo_ref after[KEYS];
    uint32_t moved = 0;
    ring_start(&w, MEMBERS, EACH);
    ring_ask(&w, w.owner);
    axo__ring_remove(&w.ring, member(7));
    ring_check(&w.ring, MEMBERS - 1);
    ring_ask(&w, after);
    for (uint32_t key = 0; key < KEYS; key++) {
        bool his = axo_ref_equal(w.owner[key], member(7));
        assert_int_equal(axo_ref_equal(after[key], w.owner[key]), !his);
        moved += his;
    }
    assert_true(moved > 0 && moved < KEYS / MEMBERS * 135 / 100);
    axo__ring_add(&w.ring, member(7).bits, member(7)); /* all of them come back */
    ring_ask(&w, after);
    for (uint32_t key = 0; key < KEYS; key++)
        assert_true(axo_ref_equal(after[key], w.owner[key]));
    ring_stop(&w);
}

static void the_name_decides(void **state)
{
    static ring_world w;
    static axo_ref after[KEYS];
    ring_start(&w, MEMBERS, EACH);
    ring_ask(&w, w.owner);
    axo__ring_remove(&w.ring, member(3));
    axo__ring_add(&w.ring, member(3).bits, member(99)); /* another with the same name */
    ring_ask(&w, after);
    for (uint32_t key = 0; key < KEYS; key++) {
        bool his = axo_ref_equal(w.owner[key], member(3));
        assert_true(axo_ref_equal(after[key], his ? member(99) : w.owner[key]));
    }
    ring_stop(&w);
}

static void few_places_and_many(void **state)
{
    static const uint32_t each[] = {1, 2, 127, 128, 129, 300, 4096};
    for (uint32_t i = 0; i < sizeof each / sizeof each[0]; i++) {
        static ring_world w;
        ring_start(&w, 3, each[i]);
        ring_check(&w.ring, 3);
        ring_ask(&w, w.owner);
        for (uint32_t key = 0; key < KEYS; key++)
            assert_true(w.owner[key].bits >= 1 && w.owner[key].bits <= 3);
        ring_stop(&w);
    }
}

static void nobody_and_one(void **state)
{
    static ring_world w;
    ring_start(&w, 0, EACH);
    assert_true(axo_ref_is_none(axo__ring_find(&w.ring, 1)));
    axo__ring_remove(&w.ring, member(0));
    assert_int_equal(axo__ring_reserve(&w.ring, 1), AXO_OK);
    axo__ring_add(&w.ring, 5, member(5));
    for (uint64_t key = 0; key < 1000; key++)
        assert_true(axo_ref_equal(axo__ring_find(&w.ring, key << 54), member(5)));
    axo__ring_remove(&w.ring, member(5));
    assert_true(axo_ref_is_none(axo__ring_find(&w.ring, 1)));
    ring_stop(&w);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(shares_are_even),
    cmocka_unit_test(only_the_needed_keys_move),
    cmocka_unit_test(the_name_decides),
    cmocka_unit_test(few_places_and_many),
    cmocka_unit_test(nobody_and_one),
};
TEST_MAIN(tests)
