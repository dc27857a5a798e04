/* registry.h - the public header, with keys of two words in place of 32: fewer steps of a kind. */
#ifndef AXO_TEST_WEAK_REGISTRY_H
#define AXO_TEST_WEAK_REGISTRY_H
#pragma GCC system_header

#include_next <axo/registry.h>

#undef AXO_KEY_MAX
#define AXO_KEY_MAX 15

#endif
