/* walls.c - what the options and the environment say of walls. */
#include "system/walls.h"

#include <stdlib.h>
#include <string.h>

#include <axo/memory.h>

#include "mem/wall.h"
#include "os/environment.h"

#define WALLS_ALL (AXO_WALL_CANARY | AXO_WALL_FREED | AXO_WALL_GUARD | AXO_WALL_FREEZE)

static uint32_t walls_bit(const char *name, size_t length)
{
    static const struct {
        const char *name;
        uint32_t bit;
    } names[] = {
        {"canary", AXO_WALL_CANARY},
        {"freed", AXO_WALL_FREED},
        {"guard", AXO_WALL_GUARD},
        {"freeze", AXO_WALL_FREEZE},
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strlen(names[i].name) == length && memcmp(names[i].name, name, length) == 0)
            return names[i].bit;
    }
    return 0;
}

bool axo__walls_parse(const char *list, uint32_t *walls)
{
    *walls = 0;
    if (list == NULL || list[0] == 0)
        return true;
    for (;;) {
        size_t length = strcspn(list, ",");
        uint32_t bit = walls_bit(list, length);
        if (bit == 0)
            return false;
        *walls |= bit;
        if (list[length] == 0)
            return true;
        list += length + 1;
    }
}

axo_status axo__options_walls(axo_options *to)
{
    uint32_t more;
    const char *name = axo__os_environment(AXO_WALLS_CLASS);
    if (to->walls > WALLS_ALL || to->walls_reserved != 0)
        return AXO_EINVAL;
    if (!axo__walls_parse(axo__os_environment(AXO_WALLS), &more))
        return AXO_EINVAL;
    to->walls |= more;
    if (name != NULL && name[0] != 0)
        to->walls_class = name;
    if (to->walls_class != NULL && to->walls_class[0] == 0)
        return AXO_EINVAL;
    if (to->walls_class != NULL &&
        strnlen(to->walls_class, AXO__WALL_CLASS_MAX) == AXO__WALL_CLASS_MAX)
        return AXO_EINVAL;
    return AXO_OK;
}
