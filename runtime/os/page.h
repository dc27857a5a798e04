/* page.h - pages of memory, and who may touch them: for walls (mem/wall.h).
 *
 * Every function may be called by every thread, and none is a cancellation point. */
#ifndef AXO__OS_PAGE_H
#define AXO__OS_PAGE_H

#include <stdbool.h>
#include <stddef.h>

/* What code may do with a page. */
typedef enum axo__os_access {
    AXO__OS_NONE = 0,
    AXO__OS_READ = 1,
    AXO__OS_WRITE = 2 /* and read */
} axo__os_access;

/* Bytes of a page, a power of two. */
size_t axo__os_page(void);

/* Says what may be done with `size` bytes at `at`, both multiples of a page; false: the operating
 * system refuses, and nothing has changed. */
bool axo__os_protect(void *at, size_t size, axo__os_access access);

#endif
