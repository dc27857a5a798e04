/* region_world.h - a region, the pool that it lives on, its bounds and its walls. */
#ifndef UNIT_MEM_REGION_WORLD_H
#define UNIT_MEM_REGION_WORLD_H

#include "unit/unit.h"

#include "base/random.h"
#include "mem/region.h"

typedef struct region_world {
    axo__heap heap;
    unit_memory memory;
    axo__pool pool;
    axo__cache cache;
    axo__budget tree;   /* without a bound that matters: what it counts is the region's account */
    axo__budget budget;
    axo__region *region;
    uint64_t key;
    uint32_t walls;
    uint32_t found;     /* findings */
    axo__finding last;
} region_world;

static inline void world_found(void *arg, const axo__finding *finding)
{
    region_world *world = arg;
    world->found++;
    world->last = *finding;
}

static inline axo__region_report world_report(region_world *world)
{
    return (axo__region_report){.tell = world_found, .arg = world};
}

static inline void world_open(region_world *world, uint64_t blocks, uint32_t walls)
{
    memset((void *)world, 0, sizeof *world);
    unit_heap(&world->heap, &world->memory, UINT64_MAX);
    assert_true(axo__pool_init(&world->pool, &world->heap));
    if (walls != 0) {
        world->pool.walls = axo__walls_make(&world->heap, walls, NULL);
        assert_non_null(world->pool.walls);
    }
    axo__a64_store_relaxed(&world->memory.budget, blocks);
    axo__cache_init(&world->cache, &world->pool);
    world->tree.tree_max = SIZE_MAX / 2;
    world->budget.above = &world->tree;
    world->walls = walls;
    world->key = 1;
}

static inline void world_close(region_world *world)
{
    axo__region_report report = world_report(world);
    axo__region_end(&world->region, &world->cache, NULL, &report);
    assert_null(world->region);
    assert_int_equal(axo__a64_load_relaxed(&world->tree.tree), 0);
    axo__walls_free(world->pool.walls);
    axo__pool_fini(&world->pool);
    unit_heap_empty(&world->heap);
}

static inline void *take(region_world *world, size_t size)
{
    if (world->region == NULL)
        world->region =
            axo__region_make(&world->cache, &world->budget, world->walls, world->key, size);
    return world->region != NULL ? axo__region_alloc(world->region, &world->cache, size) : NULL;
}

static inline axo__flaw give(region_world *world, void *block)
{
    axo__region_report report = world_report(world);
    return axo__region_free(world->region, &world->cache, block, &report);
}

#endif
