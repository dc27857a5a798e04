/* sockets.h - connections that exist in the simulator only, below the system calls of os/net.c,
 * which the linker hands over (schedules.mk): two bounded buffers each, one listening socket.
 *
 * What a call does is drawn at the call: less than there is, as when the rest comes while it is
 * under way; EAGAIN, and ready a moment later; EINTR; the peer's reset; no descriptor for accept.
 * What the kernel promises is kept: a read or write that comes short has found the buffer empty or
 * full, and what changes later is an edge (sim_poll.c).
 *
 * The other side, the peer, is the test's: functions that begin with peer_. */
#ifndef TEST_SIM_SOCKETS_H
#define TEST_SIM_SOCKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SOCKETS_MAX  32   /* connections of a life */
#define SOCKETS_ROOM 3000 /* the largest buffer */

/* One direction. */
typedef struct sockets_way {
    uint32_t begin;
    uint32_t count;
    uint32_t room;
    bool ended;     /* behind what is in it */
    uint64_t total; /* bytes that the library's end has read from it, or written to it */
    char bytes[SOCKETS_ROOM];
} sockets_way;

typedef struct sockets_one {
    int fd;          /* the library's end; -1: it waits to be accepted, or is closed */
    int error;       /* that waits for SO_ERROR */
    bool waits;      /* for accept */
    bool closed;     /* the library's end is, or never was: refused by the kernel */
    bool finished;   /* the library has ended its direction by SHUT_WR */
    bool shut;       /* the library has shut both */
    bool reset;      /* by the peer */
    bool left;       /* the peer has closed: what is written to it is answered by a reset */
    bool broken;     /* the peer was reset: the library's end was closed with bytes unread */
    bool full;       /* a write has found no room: room is an edge */
    sockets_way in;  /* toward the library */
    sockets_way out;
} sockets_one;

typedef struct sockets {
    bool on;         /* else the real calls */
    bool faults;     /* calls may do less than they could, and fail */
    bool resets;     /* in this life peers do */
    int listener;    /* its descriptor; -1: nobody listens */
    uint32_t count;
    uint32_t accepted;
    uint32_t waiting; /* for accept */
    int8_t of_fd[64]; /* number + 1; 0: none */
    sockets_one all[SOCKETS_MAX];
} sockets;

extern sockets net;

/* A life begins, and is over: no descriptor of it is open then. */
void sockets_begin(bool resets);
void sockets_over(void);

/* The number of the connection that a descriptor is of; UINT32_MAX: of none. */
uint32_t sockets_number(int fd);

/* A connection that needs no listener, with buffers of so many bytes; UINT32_MAX: there are no more
 * numbers, or descriptors. */
uint32_t sockets_pair(uint32_t in, uint32_t out);

/* ---- the peer ---- */

/* Connects to whoever listens; UINT32_MAX: nobody does, or there are no more numbers. */
uint32_t peer_connect(uint32_t in, uint32_t out);

/* How many bytes there was room for. */
uint32_t peer_put(sockets_one *it, const char *data, uint32_t size);

/* How many bytes there were. */
uint32_t peer_take(sockets_one *it, char *to, uint32_t size);

/* Whether its next read would say that the other side has ended. */
bool peer_sees_end(const sockets_one *it);

/* Ends its direction; resets; closes, which is a reset if there are bytes that it has not read. */
void peer_end(sockets_one *it);
void peer_reset(sockets_one *it);
void peer_close(sockets_one *it);

#endif
