/* boot.h - a system begins, and is taken apart. */
#ifndef AXO__SYSTEM_BOOT_H
#define AXO__SYSTEM_BOOT_H

#include "system/system.h"

axo_status axo__boot_start(const axo_options *options, axo_system **out);
void axo__boot_destroy(axo_system *system);

#endif
