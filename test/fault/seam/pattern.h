/* pattern.h - stands before the services (-include): who asks for the system's memory is the site,
 * and so is who asks the C library's. */
#ifndef FAULT_SEAM_PATTERN_H
#define FAULT_SEAM_PATTERN_H

#include <stdlib.h>

#include <axo/axo.h>

#include "fault/site.h"

#define axo_system_alloc(system, size)                                                             \
    (refuse_from(REFUSE_HERE), axo_system_alloc(system, size))
#define malloc(size) (refuse_asks(REFUSE_HERE) ? NULL : malloc(size))
#define calloc(count, size) (refuse_asks(REFUSE_HERE) ? NULL : calloc(count, size))

#endif
