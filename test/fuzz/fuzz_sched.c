/* fuzz_sched.c - a scene of test/schedules/fiber and a schedule of it: the input is the choices.
 *
 * Length 600. The first byte names the scene, mostly the tree's, whose program comes next; then
 * each two are a choice: how many choices of its kind go before as if nobody had chosen, and which
 * fiber goes on instead of the one that runs, or that a wait ends before its time. What each scene
 * says must hold; nobody waits for ever.
 */
#include "schedules/fiber/scenes.h"
#include "fuzz/fuzz.h"
#include "fuzz/tree.h"

enum { CHOICES_MAX = 300, SCENES_MAX = 64, GAP = 200, EARLY = 0xe8, TREE = 0xa0 };

static const stage_scene *sched_scene(uint8_t number)
{
    const stage_scene *sound[SCENES_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; scenes[i] != NULL && count < SCENES_MAX; i++) {
        if (!scenes[i]->fails && scenes[i]->heavy == 0)
            sound[count++] = scenes[i];
    }
    return sound[number % count];
}

/* Up to GAP by one, then by GAP: most of what matters is near. */
static uint64_t sched_gap(uint8_t byte)
{
    return byte < GAP ? byte : (uint64_t)(byte - GAP + 1) * GAP;
}

static size_t sched_log(fuzz_in *in, axo__sim_choice *log)
{
    uint64_t next[AXO__SIM_KINDS] = {0};
    size_t count = 0;
    while (in->left >= 2 && count < CHOICES_MAX) {
        uint64_t gap = sched_gap(fuzz_u8(in));
        uint8_t what = fuzz_u8(in);
        uint32_t kind = what >= EARLY ? AXO__SIM_EARLY : AXO__SIM_WHO;
        next[kind] += gap;
        log[count++] = (axo__sim_choice){.kind = kind, .index = next[kind]++,
                                         .value = kind == AXO__SIM_EARLY ? 1 : 1 + what % 5};
    }
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static axo__sim_choice log[CHOICES_MAX];
    fuzz_in in = {.at = data, .left = size};
    uint8_t which = fuzz_u8(&in);
    const stage_scene *scene = which < TREE ? &tree_scene : sched_scene(which);
    if (scene == &tree_scene)
        tree_program(&in);
    size_t count = sched_log(&in, log);
    axo__sim_reset(1, NULL);
    axo__sim_replay(log, count);
    (void)stage_play(scene, 1);
    return 0;
}
