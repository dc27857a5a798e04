/* scenes.c - the list of all scenes. */
#include "scenes.h"

#define SCENE(name) &scene_##name,
const stage_scene *const scenes[] = {SCENES(SCENE) NULL};
