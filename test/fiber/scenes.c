/* scenes.c - the list of all scenes. */
#include "scenes.h"

const stage_scene *const scenes[] = {
    &scene_word,
    &scene_park,
    NULL,
};
