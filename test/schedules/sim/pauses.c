/* pauses.c - subtrees that a thread outside pauses and resumes. */
#include "pauses.h"

#include <axo/world.h>

#include "look.h"
#include "model.h"
#include "probes.h"

#define PAUSES 3u
#define PAUSES_DRAWN UINT64_C(0x706175736573)

static struct {
    axo_ref tops[PAUSES];
    uint64_t drawn;
} pauses;

void pauses_reset(void)
{
    pauses.drawn = 0;
    g.pauses = 0;
    for (uint32_t i = 0; i < PAUSES; i++)
        pauses.tops[i] = axo_ref_none();
}

static uint32_t pauses_draw(uint32_t bound)
{
    return (uint32_t)(world_mix(world_mix(PAUSES_DRAWN, g.seed + w.life), ++pauses.drawn) % bound);
}

static bool pauses_has(axo_ref ref)
{
    for (uint32_t i = 0; i < PAUSES; i++) {
        if (axo_ref_equal(pauses.tops[i], ref))
            return true;
    }
    return false;
}

static void pauses_begin(axo_system *system, uint32_t place)
{
    ghost *it = g.count > 0 ? &g.all[pauses_draw(g.count)] : NULL;
    if (it == NULL || it->guardian || it->terminated || pauses_has((axo_ref){it->bits}))
        return;
    const axo_ref top = {it->bits};
    g.pauses++;
    model_pause(it);
    axo_status status = axo_system_pause(system, top, 0);
    if (status == AXO_OK || status == AXO_ETIMEDOUT)
        pauses.tops[place] = top;
    else if (status != AXO_EINVAL && status != AXO_EGONE) /* below /system; it has ended */
        ghost_fail("axo_system_pause: %s", axo_status_name(status));
}

static bool pauses_is_below(const ghost *it, uint64_t top)
{
    while (it != NULL && it->bits != top)
        it = ghost_find(it->parent);
    return it != NULL;
}

/* Asks again whether a pause is complete: then all of them are suspended. */
static void pauses_ask(axo_system *system, uint32_t place)
{
    const axo_ref top = pauses.tops[place];
    axo_status status = axo_system_pause(system, top, 0);
    if (status == AXO_EGONE)
        pauses.tops[place] = axo_ref_none();
    if (status != AXO_OK)
        return;
    probe_hit(PROBE_PAUSED);
    for (uint32_t i = 0; i < g.count; i++) {
        const ghost *it = &g.all[i];
        if (!it->terminated && it->suspends == 0 && pauses_is_below(it, top.bits))
            ghost_fail("all below %014" PRIx64 " are paused, but not %014" PRIx64, top.bits,
                       it->bits);
    }
}

static void pauses_over(axo_system *system, uint32_t place)
{
    const axo_ref top = pauses.tops[place];
    const ghost *it = ghost_find(top.bits);
    pauses.tops[place] = axo_ref_none();
    axo_status status = axo_system_resume(system, top);
    bool gone = status == AXO_EGONE || status == AXO_ENOENT; /* the next pause has found it gone */
    if (status != AXO_OK && (!gone || (it != NULL && !look_is_over(it))))
        ghost_fail("axo_system_resume: %s", axo_status_name(status));
}

void pauses_act(axo_system *system)
{
    if (g.seed % 4 != 1 || pauses_draw(3) != 0)
        return;
    uint32_t place = pauses_draw(PAUSES);
    if (axo_ref_is_none(pauses.tops[place]))
        pauses_begin(system, place);
    else if (pauses_draw(4) != 0)
        pauses_ask(system, place);
    else
        pauses_over(system, place);
}

void pauses_end(axo_system *system)
{
    for (uint32_t place = 0; place < PAUSES; place++) {
        if (!axo_ref_is_none(pauses.tops[place]))
            pauses_over(system, place);
    }
}
