/* border.h - a function of the program that comes back in another process. */
#ifndef AXO__SYSTEM_BORDER_H
#define AXO__SYSTEM_BORDER_H

/* core->forked: says which callback has forked, and ends the process. */
void axo__border_forked(void) __attribute__((noreturn, cold));

#endif
