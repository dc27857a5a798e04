/* aside.c - the thread's word of aside.h. */
#include "base/aside.h"

_Thread_local uint32_t axo__aside;
