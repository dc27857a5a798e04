/* scenes_send.c - messages: senders against the runner, parking, queues. */
#include "scenes.h"

static axo_ref target;

static void send_two(void *arg)
{
    (void)arg;
    CHECK(stage_send(target, 1) == AXO_OK);
    CHECK(stage_send(target, 2) == AXO_OK);
}

static void send_one(void *arg)
{
    (void)arg;
    CHECK(stage_send(target, 1) == AXO_OK);
}

/* ---- the scheduling word: two senders and the runner ---- */

static void play_word(void)
{
    stage_boot(0);
    target = stage_spawn(&stage_counter, NULL);
    stage_thread("one", send_one, NULL);
    stage_thread("two", send_two, NULL);
    stage_go();
    CHECK_SAME(at.handled, 3);
    stage_end();
}

const stage_scene scene_word = {
    .name = "word",
    .what = "two senders against the runner of their receiver",
    .play = play_word,
    .bound = 2,
};

/* ---- parking against a wake ---- */

static void play_park(void)
{
    stage_boot(1);
    target = stage_spawn(&stage_counter, NULL);
    stage_thread("sender", send_two, NULL);
    stage_go();
    CHECK_SAME(at.handled, 2); /* before the clock has gone to any deadline */
    stage_end();
}

const stage_scene scene_park = {
    .name = "park",
    .what = "a sender from outside against a worker that parks",
    .play = play_park,
    .bound = 2,
    .early_one_in = 8,
};
