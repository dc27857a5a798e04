/* registry_test.c - keys and references: readers that wait for nobody and are never told of another
 * key's actor, whatever writers do to the entry they stand on. */
#include "unit/unit.h"

#include <sched.h>
#include <stdio.h>

#include "system/registry.h"

enum { ACTORS = 64 };

typedef struct registry_world {
    axo__heap heap;
    unit_memory memory;
    axo__table table;
    axo__registry registry;
    axo__cell *cells[ACTORS];
} registry_world;

static void world_open(registry_world *world, uint32_t max)
{
    axo_status status;
    memset((void *)world, 0, sizeof *world);
    unit_heap(&world->heap, &world->memory, UINT64_MAX);
    assert_true(axo__table_init(&world->table, &world->heap, 1024, (uint64_t[2]){1, 0}));
    assert_true(axo__registry_init(&world->registry, &world->heap, &world->table, max, 1));
    for (uint32_t i = 0; i < ACTORS; i++) {
        world->cells[i] = axo__table_take(&world->table, 0, &status);
        assert_non_null(world->cells[i]);
        axo__table_begin(&world->table, world->cells[i]);
    }
}

static void world_close(registry_world *world)
{
    axo__registry_fini(&world->registry);
    axo__table_fini(&world->table);
    unit_heap_empty(&world->heap);
}

static axo_ref actor(const registry_world *world, uint32_t i)
{
    return axo__cell_ref(world->cells[i]);
}

static axo__key key_of(const registry_world *world, const char *text)
{
    axo__key key;
    assert_int_equal(axo__registry_key(&world->registry, text, &key), AXO_OK);
    return key;
}

static axo_status put(registry_world *world, const char *text, axo_ref ref)
{
    axo__key key = key_of(world, text);
    return axo__registry_put(&world->registry, &key, ref);
}

static axo_status drop(registry_world *world, const char *text)
{
    axo__key key = key_of(world, text);
    return axo__registry_drop(&world->registry, &key);
}

static uint64_t find(const registry_world *world, const char *text)
{
    axo__key key = key_of(world, text);
    return axo__registry_find(&world->registry, &key).bits;
}

static void a_key_leads_to_the_living(void **state)
{
    registry_world world;
    world_open(&world, 100);
    assert_int_equal(find(&world, "a"), 0);
    assert_int_equal(drop(&world, "a"), AXO_ENOENT);
    assert_int_equal(put(&world, "a", actor(&world, 0)), AXO_OK);
    assert_int_equal(find(&world, "a"), actor(&world, 0).bits);
    assert_int_equal(put(&world, "a", actor(&world, 0)), AXO_EEXIST);
    assert_int_equal(put(&world, "a", actor(&world, 1)), AXO_EEXIST);
    assert_int_equal(find(&world, "ab"), 0);
    axo__table_end(world.cells[0]);
    assert_int_equal(find(&world, "a"), 0);
    assert_int_equal(put(&world, "b", actor(&world, 0)), AXO_EGONE);
    assert_int_equal(put(&world, "a", actor(&world, 1)), AXO_OK); /* anew */
    assert_int_equal(find(&world, "a"), actor(&world, 1).bits);
    assert_int_equal(drop(&world, "a"), AXO_OK);
    assert_int_equal(find(&world, "a"), 0);
    assert_int_equal(drop(&world, "a"), AXO_ENOENT);
    assert_int_equal(put(&world, "c", actor(&world, 2)), AXO_OK);
    axo__table_end(world.cells[2]);
    assert_int_equal(drop(&world, "c"), AXO_ENOENT); /* it led to nobody */
    assert_int_equal(drop(&world, "c"), AXO_ENOENT);
    world_close(&world);
}

static void keys_of_every_length(void **state)
{
    registry_world world;
    char text[AXO_KEY_MAX + 2];
    axo__key key;
    world_open(&world, 1000);
    memset(text, 'x', sizeof text);
    for (uint32_t length = 1; length <= AXO_KEY_MAX; length++) {
        text[length] = 0;
        assert_int_equal(find(&world, text), 0);
        assert_int_equal(put(&world, text, actor(&world, length % ACTORS)), AXO_OK);
        text[length] = 'x';
    }
    for (uint32_t length = 1; length <= AXO_KEY_MAX; length++) {
        text[length] = 0;
        assert_int_equal(find(&world, text), actor(&world, length % ACTORS).bits);
        text[length] = 'x';
    }
    text[AXO_KEY_MAX + 1] = 0;
    assert_int_equal(axo__registry_key(&world.registry, text, &key), AXO_ENAME);
    assert_int_equal(axo__registry_key(&world.registry, "", &key), AXO_ENAME);
    world_close(&world);
}

/* Keys of the dead do not count; growth by chunks, memory that is missing. */
static void limits(void **state)
{
    registry_world world;
    char text[16];
    world_open(&world, 100);
    axo__a64_store_relaxed(&world.memory.budget, 0);
    assert_int_equal(put(&world, "a", actor(&world, 0)), AXO_ENOMEM);
    assert_int_equal(find(&world, "a"), 0);
    axo__a64_store_relaxed(&world.memory.budget, UINT64_MAX);
    for (uint32_t i = 0; i < 100; i++) {
        (void)snprintf(text, sizeof text, "k%u", (unsigned)i);
        assert_int_equal(put(&world, text, actor(&world, i % 2)), AXO_OK);
    }
    assert_int_equal(put(&world, "more", actor(&world, 2)), AXO_ELIMIT);
    assert_int_equal(find(&world, "more"), 0);
    axo__table_end(world.cells[1]);
    for (uint32_t i = 0; i < 50; i++) {
        (void)snprintf(text, sizeof text, "new%u", (unsigned)i);
        assert_int_equal(put(&world, text, actor(&world, 2)), AXO_OK);
    }
    assert_int_equal(put(&world, "more", actor(&world, 2)), AXO_ELIMIT);
    for (uint32_t i = 0; i < 100; i++) {
        (void)snprintf(text, sizeof text, "k%u", (unsigned)i);
        assert_int_equal(find(&world, text), i % 2 == 0 ? actor(&world, 0).bits : 0);
    }
    world_close(&world);
}

/* A writer held up in the middle of taking an entry out, in every place of its chain. */
static void a_stalled_writer_stops_nobody(void **state)
{
    registry_world world;
    char text[16];
    world_open(&world, 1000);
    for (uint32_t i = 0; i < 600; i++) {
        (void)snprintf(text, sizeof text, "k%u", (unsigned)i);
        assert_int_equal(put(&world, text, actor(&world, i % ACTORS)), AXO_OK);
    }
    for (uint32_t bucket = 0; bucket <= world.registry.mask; bucket++) {
        axo__entry *entry = axo__aptr_load_relaxed(&world.registry.buckets[bucket]);
        for (; ((uintptr_t)entry & 1) == 0; entry = axo__aptr_load_relaxed(&entry->next)) {
            (void)axo__a64_add_relaxed(&entry->seq, 1);
            uint32_t missed = 0;
            for (uint32_t i = 0; i < 600; i++) {
                (void)snprintf(text, sizeof text, "k%u", (unsigned)i);
                missed += find(&world, text) != actor(&world, i % ACTORS).bits;
            }
            assert_int_equal(missed, 1);
            (void)axo__a64_add_relaxed(&entry->seq, 1);
        }
    }
    world_close(&world);
}

/* ---- writers and readers at once ----
 * Key k may lead to the actors of its own class only (index % KEYS == k), and STEADY keys always
 * lead to the same one. Few entries and few buckets: each is taken again at once, for another key
 * in another chain. */

#if defined(AXO_TSAN) || defined(AXO_ASAN)
enum { ROUNDS = 20000 };
#else
enum { ROUNDS = 300000 };
#endif
enum { KEYS = 16, STEADY = 100, WRITERS = 2, READERS = 3 };

typedef struct registry_race {
    registry_world world;
    axo__a32 writing;
    axo__a32 wrong;   /* a reference of another key */
    axo__a32 missed;  /* a key that is always there was not found */
    axo__a32 found;
} registry_race;

/* Whether a writer goes on: past its rounds until some reader has had a processor. */
static bool race_goes_on(const registry_race *race, uint32_t round)
{
    if (round < ROUNDS)
        return true;
    (void)sched_yield();
    return axo__a32_load_relaxed(&race->found) == 0 && round < 1000 * ROUNDS;
}

static void race_write(registry_race *race, uint32_t index)
{
    registry_world *world = &race->world;
    char text[64];
    for (uint32_t i = 0; race_goes_on(race, i); i++) {
        uint32_t key = (i * 7 + index) % KEYS;
        axo__key wanted;
        (void)snprintf(text, sizeof text, "a rather long key, of several words: %u", (unsigned)key);
        (void)axo__registry_key(&world->registry, text, &wanted);
        uint32_t one = key + KEYS * (i % (ACTORS / KEYS));
        if (i % 2 == 0)
            (void)axo__registry_put(&world->registry, &wanted, actor(world, one));
        else
            (void)axo__registry_drop(&world->registry, &wanted);
    }
    (void)axo__a32_add_acq_rel(&race->writing, UINT32_MAX);
}

static void race_read(registry_race *race, uint32_t index)
{
    registry_world *world = &race->world;
    axo__key keys[KEYS], steady[STEADY];
    char text[64];
    uint32_t i = index;
    for (uint32_t key = 0; key < KEYS; key++) {
        (void)snprintf(text, sizeof text, "a rather long key, of several words: %u", (unsigned)key);
        (void)axo__registry_key(&world->registry, text, &keys[key]);
    }
    for (uint32_t key = 0; key < STEADY; key++) {
        (void)snprintf(text, sizeof text, "steady%u", (unsigned)key);
        (void)axo__registry_key(&world->registry, text, &steady[key]);
    }
    while (axo__a32_load_acquire(&race->writing) > 0) {
        uint32_t key = i++ % KEYS;
        uint64_t bits = axo__registry_find(&world->registry, &keys[key]).bits;
        bool right = bits == 0;
        for (uint32_t one = key; one < ACTORS; one += KEYS)
            right = right || bits == actor(world, one).bits;
        if (!right)
            (void)axo__a32_add_relaxed(&race->wrong, 1);
        if (bits != 0)
            (void)axo__a32_add_relaxed(&race->found, 1);
        if (axo__registry_find(&world->registry, &steady[i % STEADY]).bits !=
            actor(world, i % STEADY % ACTORS).bits)
            (void)axo__a32_add_relaxed(&race->missed, 1);
    }
}

static void race_thread(void *arg, uint32_t index)
{
    if (index < WRITERS)
        race_write(arg, index);
    else
        race_read(arg, index);
}

static void readers_and_writers(void **state)
{
    static registry_race race;
    char text[16];
    world_open(&race.world, STEADY + 12); /* not enough for all keys at once */
    for (uint32_t i = 0; i < STEADY; i++) {
        (void)snprintf(text, sizeof text, "steady%u", (unsigned)i);
        assert_int_equal(put(&race.world, text, actor(&race.world, i % ACTORS)), AXO_OK);
    }
    axo__a32_store_relaxed(&race.writing, WRITERS);
    unit_run_threads(WRITERS + READERS, race_thread, &race);
    assert_int_equal(axo__a32_load_relaxed(&race.wrong), 0);
    assert_int_equal(axo__a32_load_relaxed(&race.missed), 0);
    assert_true(axo__a32_load_relaxed(&race.found) > 0);
    world_close(&race.world);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_key_leads_to_the_living),
    cmocka_unit_test(keys_of_every_length),
    cmocka_unit_test(limits),
    cmocka_unit_test(a_stalled_writer_stops_nobody),
    cmocka_unit_test(readers_and_writers),
};
TEST_MAIN(tests)
