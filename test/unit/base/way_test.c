/* way_test.c - base/way.h: a tree of records by a number, against a plain list. */
#include <stdbool.h>
#include <string.h>

#include "unit/unit.h"

#include "base/random.h"
#include "base/way.h"

#define RECORDS 300

typedef struct tried {
    axo__way way;
    bool in;
} tried;

static uint32_t way_count(const axo__way *root, const axo__way *above)
{
    if (root == NULL)
        return 0;
    assert_ptr_equal(root->above, above);
    return 1 + way_count(root->below[0], root) + way_count(root->below[1], root);
}

static uint32_t way_depth(const axo__way *root)
{
    if (root == NULL)
        return 0;
    uint32_t left = way_depth(root->below[0]);
    uint32_t right = way_depth(root->below[1]);
    return 1 + (left > right ? left : right);
}

/* Adds, removes and replaces by chance; each number that is in is found, and no other. */
static void way_keeps_all(void **unused)
{
    static tried all[RECORDS];
    axo__random chance;
    axo__way *root = NULL;
    uint32_t in = 0;
    memset(all, 0, sizeof all);
    axo__random_init(&chance, 7, 1);
    for (uint32_t i = 0; i < RECORDS; i++) /* some numbers have several records */
        all[i].way.number = i % 10 == 0 ? 1 : i * UINT64_C(0x10001);
    for (uint32_t step = 0; step < 20000; step++) {
        tried *it = &all[axo__random_below(&chance, RECORDS)];
        tried *other = &all[axo__random_below(&chance, RECORDS)];
        if (!it->in) {
            axo__way_add(&root, &it->way);
            it->in = true;
            in++;
        } else if (!other->in && other->way.number == it->way.number) {
            axo__way_replace(&root, &it->way, &other->way);
            it->in = false;
            other->in = true;
        } else {
            axo__way_remove(&root, &it->way);
            it->in = false;
            in--;
        }
        assert_int_equal(way_count(root, NULL), in);
        uint64_t number = other->way.number;
        const axo__way *found = axo__way_find(root, number);
        bool any = false;
        for (uint32_t i = 0; i < RECORDS; i++)
            any |= all[i].in && all[i].way.number == number;
        assert_int_equal(found != NULL, any);
        assert_true(found == NULL || found->number == number);
    }
}

/* Numbers one after the other, as slots are: no way is long. */
static void way_is_short(void **unused)
{
    static axo__way all[4096];
    axo__way *root = NULL;
    for (uint32_t i = 0; i < 4096; i++) {
        all[i].number = i;
        axo__way_add(&root, &all[i]);
    }
    assert_true(way_depth(root) <= 40);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(way_keeps_all),
        cmocka_unit_test(way_is_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
