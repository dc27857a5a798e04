/* assert.h - base/assert.h for the coverage build: a check that holds has no branch that is not
 * reached. Debug checks are off. */
#ifndef AXO__COVERAGE_ASSERT_H
#define AXO__COVERAGE_ASSERT_H

#include "../../../../runtime/base/assert.h"

static inline void axo__holds(int holds, const char *what, const char *file, int line)
{
    if (!holds)
        axo__panic(what, file, line);
}

#undef AXO_ASSERT
#define AXO_ASSERT(c) axo__holds((c) ? 1 : 0, #c, __FILE__, __LINE__)

#endif
