/* version.h - the library's version, and its only home. */
#ifndef AXO_VERSION_H
#define AXO_VERSION_H

#include <axo/export.h>

#define AXO_VERSION_MAJOR 0
#define AXO_VERSION_MINOR 1
#define AXO_VERSION_PATCH 0

AXO_BEGIN_DECLS

/* The version of the library that is linked, as "MAJOR.MINOR.PATCH".
 *   thread    any
 *   returns   a string that lives as long as the library is loaded */
AXO_API const char *axo_version(void);

AXO_END_DECLS

#endif
