/* assert.c - the two ends of a process: a bug of the library, a mistake of the program.
 *
 * Both functions print one line and abort, so that a core dump shows the thread where it stood. */
#include "base/assert.h"

#include <stdio.h>
#include <stdlib.h>

void axo__misuse(const char *what)
{
    (void)fprintf(stderr, "axo: misuse: %s\n", what);
    abort();
}

void axo__panic(const char *what, const char *file, int line)
{
    (void)fprintf(stderr, "axo: a bug of the library: %s is false at %s:%d\n", what, file, line);
    abort();
}
