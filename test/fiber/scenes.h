/* scenes.h - all scenes. */
#ifndef FIBER_SCENES_H
#define FIBER_SCENES_H

#include "stage.h"

extern const stage_scene scene_word;
extern const stage_scene scene_park;

#endif
