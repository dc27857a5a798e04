/* confine.h - what a process is kept from, behind its start. */
#ifndef PROCESS_CONFINE_H
#define PROCESS_CONFINE_H

#include <stdbool.h>
#include <stdint.h>

/* Whether this kernel can confine a process so (AXO_CONFINE_*). */
bool process_confine_can(uint32_t how);

/* Confines the calling process, for good.
 *   blocks    while it has other threads, for up to a second
 *   returns   0, or an errno: then it must end; EBUSY: it has other threads */
int process_confine(uint32_t how);

/* Bounds the address space to so many bytes beyond what it is now.
 *   returns   0, or an errno */
int process_confine_memory(uint64_t bytes);

#endif
