/* tree.h - a scene for fuzz_sched: a small tree of actors that fail, restart, stop, spawn and
 * watch, and two threads outside that make them, by the first bytes of the input.
 *
 * No two callbacks of an actor overlap; each instance ends once; at rest nobody is suspended, has
 * messages left or keeps from answering; who watches is told once.
 */
#ifndef TEST_FUZZ_TREE_H
#define TEST_FUZZ_TREE_H

#include "schedules/fiber/stage.h"
#include "fuzz/fuzz.h"

extern const stage_scene tree_scene;

/* The first bytes are what is wished. */
void tree_program(fuzz_in *in);

#endif
