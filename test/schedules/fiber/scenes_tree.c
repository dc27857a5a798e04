/* scenes_tree.c - whole trees that fail in every way (SX), on fibers, each with its own seed. */
#include "scenes.h"

#include "support/hierarchy.h"

enum { TREE_ACTORS = 24, TREE_ITEMS = 120, TREE_POINTS_MAX = 20000000 };

static void tree_run(hierarchy_dispatch dispatch)
{
    hierarchy_result result;
    hierarchy_options options = {.seed = at.seed, .actors = TREE_ACTORS, .items = TREE_ITEMS,
                                 .workers = 1 + (uint32_t)(at.seed % 3), .dispatch = dispatch,
                                 .out = stderr};
    axo__sim_explore(true);
    bool good = hierarchy_run(&options, &result);
    axo__sim_explore(false);
    at.points = axo__sim_steps();
    axo__sim_mark(result.counts.pings << 32 | result.counts.post_restarts);
    if (!good)
        stage_fail("%s", result.first);
}

static void play_tree(void)
{
    tree_run(HIERARCHY_PLAIN);
}

const stage_scene scene_tree = {.name = "tree", .what = "a tree of actors that fail in every way",
                                .play = play_tree, .early_one_in = 200, .heavy = 100,
                                .points_max = TREE_POINTS_MAX};

static void play_forest(void)
{
    tree_run(HIERARCHY_MIXED);
}

const stage_scene scene_forest = {.name = "forest", .what = "the same, on all dispatchers",
                                  .play = play_forest, .early_one_in = 200, .heavy = 100,
                                  .points_max = TREE_POINTS_MAX};
