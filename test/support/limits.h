/* limits.h - tests of what the usual limits give: turns and queues of so many (make hard has tiny
 * ones). */
#ifndef AXO_TEST_LIMITS_H
#define AXO_TEST_LIMITS_H

#include "support/cmocka.h"

static inline void skip_with_tiny_limits(void)
{
#ifdef AXO_HARD
    skip();
#endif
}

#endif
