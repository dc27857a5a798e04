/* group_many.h - what of a group's many messages the group itself asks. */
#ifndef AXO__SYSTEM_GROUP_MANY_H
#define AXO__SYSTEM_GROUP_MANY_H

#include "system/group.h"

/* How many messages count beyond one for each portion. The mutex is held. */
uint64_t axo__group_more_locked(const axo_group *group);

#endif
