/* page.c - pages of memory, and who may touch them. */
#include "os/page.h"

#include <sys/mman.h>
#include <unistd.h>

size_t axo__os_page(void)
{
    long size = sysconf(_SC_PAGESIZE);
    return size > 0 ? (size_t)size : 4096;
}

bool axo__os_protect(void *at, size_t size, axo__os_access access)
{
    int flags = access == AXO__OS_NONE   ? PROT_NONE
                : access == AXO__OS_READ ? PROT_READ
                                         : PROT_READ | PROT_WRITE;
    return mprotect(at, size, flags) == 0;
}
