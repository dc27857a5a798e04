/* net.h - what pattern/'s streams and listeners ask of the operating system: descriptors that are
 * read, written, ended, listened at. Each call is made once and, but for a turn at a folder (see
 * axo__net_listen), blocks nobody; nothing is kept.
 *
 * The simulator has no double of it: below net.c's system calls it has sockets of its own
 * (test/schedules/sim/sockets.h). */
#ifndef AXO__OS_NET_H
#define AXO__OS_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct axo__net_piece {
    const void *data;
    size_t size;
} axo__net_piece;

/* Pieces of one write. */
#define AXO__NET_PIECES 64

/* How a read or a write went: bytes, and 0 at the end of what is read; negative: it did not. */
#define AXO__NET_BLOCKED INT64_C(-1) /* not now */
#define AXO__NET_FAILED  INT64_C(-2) /* *error says why */

/* false: it cannot be. */
bool axo__net_unblock(int fd);

/* Whether a read that is not full has emptied it, but for an end, and for urgent data and what is
 * behind them. */
typedef enum axo__net_kind {
    AXO__NET_OTHER = 0, /* nobody knows: a terminal gives one line, a pipe one packet perhaps */
    AXO__NET_TCP = 1,   /* it has */
    AXO__NET_UNIX = 2   /* it has, unless it stopped where descriptors were passed, which the read
                           itself says */
} axo__net_kind;

axo__net_kind axo__net_kind_of(int fd);

/* *more: another read is worth its call, as this one was full, or has stopped before its end. */
int64_t axo__net_read(int fd, axo__net_kind kind, void *to, size_t size, bool *more, int *error);

/* At most AXO__NET_PIECES of them. A socket or a pipe whose reader is gone is an error, and no
 * signal. */
int64_t axo__net_write(int fd, const axo__net_piece *pieces, uint32_t count, int *error);

/* Ends the direction outward. false: it is no socket, and only its close is an end. */
bool axo__net_end(int fd);

/* Ends both directions, which is an edge for who watches it. false: it is no socket, and there is
 * neither. */
bool axo__net_break(int fd);

/* The error that waits at a socket; 0: none. */
int axo__net_error(int fd);

void axo__net_close(int fd);

/* The file that a unix address has in its folder, as the file system numbers it. Its number is no
 * other file's for as long as the socket is open. */
typedef struct axo__net_file {
    uint64_t device;
    uint64_t number; /* 0: there is none, or it is somebody else's */
} axo__net_file;

/* Listens at an address: "127.0.0.1:80", "[::1]:80", "unix:/path", "unix:@name", or "fd:3",
 * "systemd:name", of which it makes a copy. *file: what it has made in a folder. -1: *error says
 * why; with an error of 0 it is no address.
 *
 * A path where nobody listens is cleared, and a path that is bound is not listened at yet for a
 * moment, in which it looks like one. So this waits for its turn among those who start or end in
 * the folder, by a lock of the folder that leaves no file behind, for half a second at most: others
 * may hold that lock for ever. It blocks so long. */
int axo__net_listen(const char *address, uint32_t backlog, axo__net_file *file, int *error);

/* A new connection, non-blocking, closed on exec, without Nagle's delay. -1: *error says why; with
 * an error of 0 there is none now. */
int axo__net_accept(int fd, int *error);

/* Whether an error of accept passes when descriptors or memory are given back. */
bool axo__net_is_short(int error);

/* Whether an error of accept is the new connection's own, or the network's: the next one may be
 * good. */
bool axo__net_is_passing(int error);

/* The own address of a socket, or its peer's, in the same form; "" if it has none. */
void axo__net_name(int fd, bool peer, char *out, size_t size);

/* Removes the path of a unix address, if it still is the file that axo__net_listen has made there;
 * *file is none then. Before the descriptor is closed: a path without a listener is the next one's
 * to clear, and a file with the same number may be its. Waits as axo__net_listen does. */
void axo__net_unlink(const char *address, axo__net_file *file);

#endif
