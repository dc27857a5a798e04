/* listen.h - the console's listening socket. */
#ifndef CONSOLE_LISTEN_H
#define CONSOLE_LISTEN_H

#include <stdbool.h>
#include <stddef.h>

/* Listens at an address of axo_console; non-blocking, closed on exec. -1: *error says why; with an
 * error of 0 it is no address.
 *   loopback   whether only this machine reaches it */
int console_listen(const char *address, bool *loopback, int *error);

/* The own address of a socket, in the same form. */
void console_listen_name(int fd, char *out, size_t size);

/* The path of a unix address that console_listen has made is removed. */
void console_listen_unlink(const char *address);

#endif
