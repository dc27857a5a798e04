/* environment.h - what the library reads of the process's environment. */
#ifndef AXO__OS_ENVIRONMENT_H
#define AXO__OS_ENVIRONMENT_H

#include <stdlib.h>

/* A program with more rights than who has started it does not listen to the environment. */
static inline const char *axo__os_environment(const char *name)
{
#ifdef __GLIBC__
    return secure_getenv(name);
#else
    return getenv(name);
#endif
}

#endif
