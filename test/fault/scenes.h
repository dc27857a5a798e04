/* scenes.h - the scenes, by the file that has them. */
#ifndef TEST_FAULT_SCENES_H
#define TEST_FAULT_SCENES_H

#include "fault/world.h"

extern const scene scenes_basic[];
extern const scene scenes_actor[];
extern const scene scenes_service[];
extern const scene scenes_router[];
extern const scene scenes_thread[];
extern const scene scenes_zone[];
extern const scene scenes_hook[];
extern const scene scenes_memory[];
extern const scene scenes_remote[];

/* An actor that takes whatever comes; its arguments may be anything. */
extern const axo_class plain_class;

#endif
