/* walls.h - what the options and the environment say of walls (axo/memory.h). */
#ifndef AXO__SYSTEM_WALLS_H
#define AXO__SYSTEM_WALLS_H

#include <axo/system.h>

/* Checks the members for walls, and adds what the environment asks for. AXO_OK, AXO_EINVAL. The
 * class's name is good as long as nobody changes the environment. */
axo_status axo__options_walls(axo_options *to);

/* The walls of a list of names with commas between; false: some name is none. NULL is "". */
bool axo__walls_parse(const char *list, uint32_t *walls);

#endif
