/* alloc_test.c - the allocator of the program: what it gives is counted, or given back. */
#include "unit/unit.h"

#include "base/assert.h"
#include "base/config.h"
#include "mem/alloc.h"

typedef struct alloc_far {
    uint32_t given;
    uint32_t freed;
} alloc_far;

/* One byte beyond what the scheduling word can hold. */
static void *far_address(void)
{
    return (void *)(uintptr_t)(UINT64_C(1) << AXO__ADDRESS_BITS);
}

static void *far_alloc(void *user, size_t size, size_t align)
{
    alloc_far *far = user;
    far->given++;
    return far_address();
}

static void far_free(void *user, void *block, size_t size, size_t align)
{
    alloc_far *far = user;
    assert_ptr_equal(block, far_address());
    assert_int_equal(size, 100);
    assert_int_equal(align, 16);
    far->freed++;
}

static void memory_too_far_away_is_none(void **state)
{
    alloc_far far = {0, 0};
    axo_allocator hook = {far_alloc, far_free, &far};
    axo__heap heap;
    axo__heap_init(&heap, &hook, NULL);
    assert_null(axo__heap_alloc(&heap, 100, 16, AXO__SITE_LARGE));
    assert_int_equal(far.given, 1);
    assert_int_equal(far.freed, 1);
    assert_int_equal(axo__a64_load_relaxed(&heap.bytes), 0);
    assert_int_equal(axo__a64_load_relaxed(&heap.blocks), 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(memory_too_far_away_is_none),
};
TEST_MAIN(tests)
