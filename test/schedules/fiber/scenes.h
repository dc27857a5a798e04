/* scenes.h - all scenes. */
#ifndef FIBER_SCENES_H
#define FIBER_SCENES_H

#include "stage.h"

#define SCENES(X)                                                                                  \
    X(walk) X(stack) X(runq) X(runq_chain) X(inject) X(word) X(word_two) X(look) X(close) X(held)  \
    X(ticket) X(grace) X(storm)                                                                    \
    X(send) X(park) X(relay) X(room) X(timer) X(ask) X(slot) X(slots) X(born) X(stop) X(restart)  \
    X(watch)                                                                                       \
    X(portions) X(portions_unwatch) X(changed) X(changed_busy)                                     \
    X(unwatch) X(shutdown) X(registry) X(elastic) X(first) X(second) X(stops) X(tree) X(forest)    \
    X(pinned) X(host) X(bell) X(ask_end) X(inspect) X(tag) X(door) X(doors) X(hook) X(overrun)     \
    X(follow) X(leaf) X(leaf_watch) X(leaves) X(poll) X(poll_two) X(unready) X(poll_first)         \
    X(poll_end) X(lent) X(knock) X(last) X(lent_host) X(polled) X(polled_door) X(kept)          \
    X(kept_newborns) X(kept_urgent) X(kept_slow) X(quiet_there) X(quiet_back) X(quiet_fan)         \
    X(quiet_step) X(quiet_lent) X(quiet_door) X(quiet_late) X(crash) X(crew) X(crew_two)           \
    X(crew_call) X(crew_end) X(lent_crew) X(visit) X(visit_fall) X(remote) X(remote_end)           \
    X(class_replace) X(class_replace_end) X(pause) X(pause_fall) X(pause_born) X(pause_end)        \
    X(pause_two) X(later) X(later_kept) X(canary)

#define SCENE(name) extern const stage_scene scene_##name;
SCENES(SCENE)
#undef SCENE

#endif
