/* api_find.c - the door to names and looks: what is where, and what it is doing. */
#include <axo/axo.h>

#include <stdio.h>
#include <string.h>

#include "system/system.h"

static axo_status find_info_check(axo_ref ref, const axo_actor_info *info)
{
    if (axo_ref_is_none(ref) || info == NULL || info->size < sizeof info->size)
        return AXO_EINVAL;
    return info->size > sizeof *info ? AXO_EVERSION : AXO_OK;
}

/* The part that the caller's header knew. */
static axo_status find_info_give(axo_actor_info *full, const axo_class *cls, axo_actor_info *info)
{
    size_t given = info->size;
    if (cls != NULL)
        axo__inspect_name_tag(full, cls);
    full->size = given;
    memcpy(info, full, given);
    return cls != NULL ? AXO_OK : AXO_EGONE;
}

axo_status axo_inspect(axo_ctx *ctx, axo_ref ref, axo_ref waiting_sender, axo_actor_info *info)
{
    axo__cell *cell = axo__caller(ctx);
    axo_actor_info full;
    const axo_class *cls = NULL;
    if (cell == NULL)
        return AXO_ECONTEXT;
    axo_status status = find_info_check(ref, info);
    if (status != AXO_OK)
        return status;
    axo__inspect(axo__self->core, cell, ref, waiting_sender, &full, &cls);
    return find_info_give(&full, cls, info);
}

axo_status axo_system_inspect(axo_system *system, axo_ref ref, axo_ref waiting_sender,
                              axo_actor_info *info)
{
    axo_actor_info full;
    const axo_class *cls = NULL;
    if (system == NULL)
        return AXO_EINVAL;
    axo_status status = find_info_check(ref, info);
    if (status != AXO_OK)
        return status;
    axo__door *door = axo__door_enter(&system->sched);
    axo__inspect(&system->core, NULL, ref, waiting_sender, &full, &cls);
    axo__door_leave(door);
    return find_info_give(&full, cls, info);
}

axo_status axo_system_tag_name(axo_system *system, axo_ref ref, uint32_t tag, char *out,
                               size_t size)
{
    if (system == NULL || out == NULL || size == 0 || axo_ref_is_none(ref))
        return AXO_EINVAL;
    out[0] = 0;
    axo__door *door = axo__door_enter(&system->sched);
    const axo__cell *cell = axo__table_find(&system->core.table, ref);
    const axo_class *cls = cell != NULL ? cell->cls : NULL;
    axo__door_leave(door);
    if (cls == NULL)
        return AXO_EGONE;
    const char *name = cls->tag_name != NULL ? cls->tag_name(tag) : NULL;
    if (name != NULL)
        (void)snprintf(out, size, "%s", name);
    return AXO_OK;
}

const char *axo_doing_name(uint32_t doing)
{
    static const char *const names[] = {"gone",       "running",   "stopping", "restarting",
                                        "suspended",  "queued",    "idle"};
    return doing < sizeof names / sizeof names[0] ? names[doing] : "?";
}
