/* records_test.c - many records, found by name and by call, the one that is due first on top:
 * tools/cluster/records.h. */
#include <stdlib.h>
#include <string.h>

#include "support/cmocka.h"

#include "base/random.h"
#include "records.h"

#define RECORDS 700u
#define ROUNDS  40000u

static int64_t blocks;

static void *records_alloc(void *user, size_t size)
{
    blocks++;
    return malloc(size);
}

static void records_free(void *user, void *block, size_t size)
{
    blocks--;
    free(block);
}

static const cluster_grain_ops records_ops = {.alloc = records_alloc, .free = records_free};

static cluster_grain_name records_name(uint32_t number)
{
    cluster_grain_name name = {.kind = number % 3, .size = sizeof number};
    memcpy(name.key, &number, sizeof number);
    return name;
}

/* Few chains have many records: only the low bits say which. */
static uint64_t records_hash(uint32_t number)
{
    return number % 5;
}

static void records_look(const cluster_grains *all, cluster_grain *const *there)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < RECORDS; i++) {
        cluster_grain_name name = records_name(i);
        cluster_grain *found = cluster_records_find(all, records_hash(i), &name);
        assert_ptr_equal(found, there[i]);
        count += found != NULL;
        if (found == NULL)
            continue;
        assert_ptr_equal(all->heap[found->index], found);
        assert_ptr_equal(cluster_records_asked(all, found->ask), found);
        assert_true(found->due >= all->heap[0]->due);
        assert_true(found->due >= all->heap[found->index > 0 ? (found->index - 1) / 2 : 0]->due);
    }
    assert_int_equal(all->count, count);
}

static void many_come_and_go(void **unused)
{
    static cluster_grain *there[RECORDS];
    cluster_grains all = {.ops = &records_ops, .settings.grains_max = RECORDS / 2};
    axo__random chance;
    uint64_t serial = 0;
    axo__random_init(&chance, 5, 1);
    assert_int_equal(cluster_records_init(&all), AXO_OK);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        uint32_t number = axo__random_below(&chance, RECORDS);
        cluster_grain_name name = records_name(number);
        if (there[number] == NULL) {
            bool full = all.count == RECORDS / 2;
            there[number] = cluster_records_add(&all, records_hash(number), &name);
            assert_int_equal(there[number] == NULL, full);
            if (there[number] != NULL)
                there[number]->ask = ++serial << CLUSTER_RECORDS_BITS | records_hash(number);
        } else if (axo__random_below(&chance, 3) == 0) {
            cluster_records_remove(&all, there[number]);
            there[number] = NULL;
        } else {
            cluster_records_arm(&all, there[number], axo__random_below(&chance, 1000));
        }
        if (i % 512 == 0)
            records_look(&all, there);
    }
    records_look(&all, there);
    for (int64_t last = INT64_MIN; all.count > 0;) { /* from the top, in order */
        assert_true(all.heap[0]->due >= last);
        last = all.heap[0]->due;
        cluster_records_remove(&all, all.heap[0]);
    }
    cluster_records_fini(&all);
    assert_int_equal(blocks, 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {cmocka_unit_test(many_come_and_go)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
