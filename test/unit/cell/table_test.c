/* table_test.c - references to cells and back: stale, forged, reused, spent. */
#include "unit/unit.h"

#include "cell/table.h"
#include "unit/cell/lives.h"

enum { ACTORS = 3 * AXO__TABLE_CHUNK / 2 };

typedef struct table_world {
    axo__heap heap;
    unit_memory memory;
    axo__table table;
} table_world;

static void world_open(table_world *world, uint32_t actors, uint64_t seed)
{
    memset(world, 0, sizeof *world);
    unit_heap(&world->heap, &world->memory, UINT64_MAX);
    assert_true(axo__table_init(&world->table, &world->heap, actors, (uint64_t[2]){seed, 0}));
}

static void world_close(table_world *world)
{
    axo__table_fini(&world->table);
    unit_heap_empty(&world->heap);
}

/* One cell; the others of its batch go back. */
static axo__cell *take_one(axo__table *table)
{
    axo_status status;
    axo__cell *cell = axo__table_take(table, 0, &status);
    assert_non_null(cell);
    assert_int_equal(status, AXO_OK);
    if (cell->free_next != NULL)
        axo__table_give(table, 0, cell->free_next);
    cell->free_next = NULL;
    return cell;
}

static axo_ref ref_of(uint64_t generation, uint64_t slot)
{
    return (axo_ref){.bits = generation << AXO__SLOT_BITS | slot};
}

/* The generation that comes before. */
static uint32_t before(const axo__lives *lives, uint32_t generation)
{
    uint32_t count = unit_lives_count(lives, generation) - 1;
    uint32_t found = unit_lives_at(lives, count);
    return found != 0 ? found : unit_lives_at(lives, count - 1);
}

static void a_reference_leads_to_its_cell(void **state)
{
    table_world world;
    world_open(&world, ACTORS, 1);
    axo__cell *cell = take_one(&world.table);
    axo__table_begin(&world.table, cell);
    axo_ref ref = axo__cell_ref(cell);
    assert_false(axo_ref_is_none(ref));
    assert_ptr_equal(axo__table_find(&world.table, ref), cell);
    assert_true(axo__table_knows(&world.table, ref));
    axo__table_end(cell);
    assert_null(axo__table_find(&world.table, ref));
    assert_true(axo__table_knows(&world.table, ref));
    world_close(&world);
}

/* UID-04: the slot lives on under another generation, an old reference reaches nobody. */
static void a_stale_reference_reaches_nobody(void **state)
{
    enum { LIVES = 1000 };
    static axo_ref refs[LIVES];
    table_world world;
    world_open(&world, ACTORS, 2);
    axo__cell *cell = take_one(&world.table);
    for (int i = 0; i < LIVES; i++) {
        axo__table_begin(&world.table, cell);
        refs[i] = axo__cell_ref(cell);
        assert_ptr_equal(axo__table_find(&world.table, refs[i]), cell);
        for (int k = i < 20 ? 0 : i - 20; k < i; k++) {
            assert_false(axo_ref_equal(refs[k], refs[i]));
            assert_null(axo__table_find(&world.table, refs[k]));
            assert_true(axo__table_knows(&world.table, refs[k]));
        }
        axo__table_end(cell);
    }
    world_close(&world);
}

static void forged_references_reach_nobody(void **state)
{
    table_world world;
    world_open(&world, ACTORS, 3);
    axo__table *table = &world.table;
    assert_null(axo__table_find(table, axo_ref_none()));
    assert_null(axo__table_at(table, 0));
    axo__cell *cell = take_one(table);
    uint32_t slot = cell->slot;
    assert_null(axo__table_find(table, ref_of(0, slot)));
    axo__table_begin(table, cell);
    uint64_t now = axo__cell_ref(cell).bits >> AXO__SLOT_BITS;
    axo_ref forged[] = {
        axo_ref_none(),
        ref_of(0, slot),
        ref_of(now + 1, slot),
        ref_of(now - 1, slot),
        ref_of(now, slot + 1),
        ref_of(now, AXO__SLOT_MASK),
        ref_of(now, ACTORS),
        ref_of(now | UINT64_C(1) << 32, slot),
        ref_of(now | UINT64_C(0x80) << 32, slot),
        {.bits = UINT64_MAX},
    };
    for (size_t i = 0; i < sizeof forged / sizeof forged[0]; i++) {
        assert_null(axo__table_find(table, forged[i]));
        assert_false(axo__table_knows(table, forged[i]));
    }
    world_close(&world);
}

static void every_slot_once_then_the_limit(void **state)
{
    static axo__cell *cells[ACTORS];
    table_world world;
    axo_status status;
    uint32_t count = 0;
    world_open(&world, ACTORS, 4);
    for (;;) {
        axo__cell *cell = axo__table_take(&world.table, 0, &status);
        if (cell == NULL)
            break;
        for (; cell != NULL; cell = cell->free_next) {
            assert_true(count < ACTORS);
            assert_ptr_equal(axo__table_at(&world.table, cell->slot), cell);
            cells[count++] = cell;
        }
    }
    assert_int_equal(status, AXO_ELIMIT);
    assert_int_equal(count, ACTORS);
    for (uint32_t i = 0; i < count; i++)
        axo__table_begin(&world.table, cells[i]);
    for (uint32_t i = 0; i < count; i++)
        assert_ptr_equal(axo__table_find(&world.table, axo__cell_ref(cells[i])), cells[i]);
    axo__table_end(cells[0]);
    cells[0]->free_next = NULL;
    axo__table_give(&world.table, 0, cells[0]);
    assert_ptr_equal(axo__table_take(&world.table, 0, &status), cells[0]);
    assert_null(axo__table_take(&world.table, 0, &status));
    world_close(&world);
}

/* What a home has given comes back to it; who has none is given another's before a shelf is
 * made. */
static void cells_come_back_to_their_home(void **state)
{
    table_world world;
    axo_status status;
    axo__cell *of[AXO__GRACE_HOMES];
    world_open(&world, ACTORS, 4);
    for (uint32_t home = 0; home < AXO__GRACE_HOMES; home++)
        of[home] = axo__table_take(&world.table, 0, &status);
    while (axo__table_take(&world.table, 0, &status) != NULL)
        continue;
    assert_int_equal(status, AXO_ELIMIT);
    for (uint32_t home = 0; home < AXO__GRACE_HOMES; home++)
        axo__table_give(&world.table, home, of[home]);
    for (uint32_t home = AXO__GRACE_HOMES; home-- > 2;)
        assert_ptr_equal(axo__table_take(&world.table, home, &status), of[home]);
    assert_ptr_equal(axo__table_take(&world.table, 5, &status), of[0]);
    assert_ptr_equal(axo__table_take(&world.table, 0, &status), of[1]);
    assert_null(axo__table_take(&world.table, 1, &status));
    world_close(&world);
}

static void another_secret_gives_other_generations(void **state)
{
    table_world one, other;
    world_open(&one, ACTORS, 5);
    world_open(&other, ACTORS, 6);
    axo__cell *cell = take_one(&one.table);
    axo__table_begin(&one.table, cell);
    axo__cell *theirs = take_one(&other.table);
    axo__table_begin(&other.table, theirs);
    assert_int_equal(cell->slot, theirs->slot);
    assert_null(axo__table_find(&other.table, axo__cell_ref(cell)));
    assert_null(axo__table_find(&one.table, axo__cell_ref(theirs)));
    assert_false(axo__table_knows(&other.table, axo__cell_ref(cell)) &&
                 axo__table_knows(&one.table, axo__cell_ref(theirs)));
    world_close(&one);
    world_close(&other);
}

/* The last of all counts is the last life; what was before is known, and none of it comes again. */
static void generations_are_spent_and_none_comes_again(void **state)
{
    enum { LEFT = 1000 };
    static uint32_t given[LEFT];
    table_world world;
    world_open(&world, ACTORS, 7);
    axo__table *table = &world.table;
    axo__cell *cell = take_one(table);
    uint32_t latest = table->lives.last;
    for (int i = 0; i < LEFT; i++) /* back from the last */
        latest = before(&table->lives, latest);
    axo__a64_store_relaxed(&cell->self,
                           (uint64_t)latest << AXO__SLOT_BITS | (cell->slot ^ AXO__SELF_ENDED));
    for (int i = 0; i < LEFT; i++) {
        assert_false(axo__table_is_spent(table, cell));
        axo__table_begin(table, cell);
        given[i] = (uint32_t)(axo__cell_ref(cell).bits >> AXO__SLOT_BITS);
        assert_ptr_equal(axo__table_find(table, axo__cell_ref(cell)), cell);
        for (int k = 0; k < i; k++)
            assert_true(given[k] != given[i]);
        axo__table_end(cell);
    }
    assert_true(axo__table_is_spent(table, cell));
    assert_true(given[LEFT - 1] == table->lives.last);
    assert_true(axo__table_knows(table, ref_of(given[0], cell->slot)));
    assert_true(axo__table_knows(table, ref_of(table->lives.last, cell->slot)));
    uint32_t first = axo__lives_first(&table->lives, cell->slot);
    assert_true(axo__table_knows(table, ref_of(first, cell->slot)));
    assert_false(axo__table_knows(table, ref_of(before(&table->lives, first), cell->slot)));
    world_close(&world);
}

typedef struct birth_race {
    axo__table *table;
    axo__cell *cell;
    axo_ref gone;
} birth_race;

static void birth_race_main(void *arg, uint32_t index)
{
    birth_race *race = arg;
    for (uint32_t i = 0; i < 20000; i++) {
        if (index == 0)
            race->cell->lifetime = (i & 1) != 0; /* as a birth does */
        else if (!axo__table_knows(race->table, race->gone))
            return;
    }
}

/* For the thread sanitizer: who asks for one that is gone reads nothing that the next birth in its
 * slot writes. */
static void asked_beside_a_birth(void **state)
{
    table_world world;
    world_open(&world, ACTORS, 1);
    axo__cell *cell = take_one(&world.table);
    axo__table_begin(&world.table, cell);
    birth_race race = {.table = &world.table, .cell = cell, .gone = axo__cell_ref(cell)};
    axo__table_end(cell);
    unit_run_threads(2, birth_race_main, &race);
    assert_true(axo__table_knows(&world.table, race.gone));
    world_close(&world);
}

static void no_memory_changes_nothing(void **state)
{
    table_world world;
    axo_status status;
    memset(&world, 0, sizeof world);
    unit_heap(&world.heap, &world.memory, 0);
    static const uint64_t secret[2] = {1, 0};
    assert_false(axo__table_init(&world.table, &world.heap, ACTORS, secret));
    unit_heap_empty(&world.heap);
    axo__a64_store_relaxed(&world.memory.budget, 1);
    assert_true(axo__table_init(&world.table, &world.heap, ACTORS, secret));
    assert_null(axo__table_take(&world.table, 0, &status));
    assert_int_equal(status, AXO_ENOMEM);
    axo__a64_store_relaxed(&world.memory.budget, UINT64_MAX);
    assert_non_null(axo__table_take(&world.table, 0, &status));
    assert_int_equal(status, AXO_OK);
    world_close(&world);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_reference_leads_to_its_cell),
    cmocka_unit_test(a_stale_reference_reaches_nobody),
    cmocka_unit_test(forged_references_reach_nobody),
    cmocka_unit_test(every_slot_once_then_the_limit),
    cmocka_unit_test(cells_come_back_to_their_home),
    cmocka_unit_test(another_secret_gives_other_generations),
    cmocka_unit_test(generations_are_spent_and_none_comes_again),
    cmocka_unit_test(asked_beside_a_birth),
    cmocka_unit_test(no_memory_changes_nothing),
};
TEST_MAIN(tests)
