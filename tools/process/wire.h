/* wire.h - what host, zygote and process say through sockets.
 *
 *   host -> zygote       a process_job, with the descriptors of a process
 *   zygote -> host       "r": it is there
 *   zygote -> process    the same job, to a spare
 *   process -> zygote    "t": taken: from here on its code runs, and it is started once
 *   zygote -> life       a process_news: the process is there (with its pidfd), or has ended. The
 *                        host closes its end when it wants the process no more
 */
#ifndef PROCESS_WIRE_H
#define PROCESS_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PROCESS_JOB_MAGIC UINT32_C(0x61786f70)

/* The first argument of a zygote, before the numbers that it is given. */
#define PROCESS_ZYGOTE_ARGUMENT "--axo-zygote="
/* The descriptor of its socket. */
#define PROCESS_ZYGOTE_SOCKET 3

typedef struct process_job {
    uint32_t magic;
    uint32_t reserved;
} process_job;

/* The descriptors of a job, in this order. */
enum {
    PROCESS_FD_SHARE = 0, /* the memory */
    PROCESS_FD_WAKE = 1,  /* a socket by which the two wake each other: no eventfd, since a process
                             could make that one block its host */
    PROCESS_FD_LIFE = 2,  /* a socket that tells of the process; the zygote's only */
    PROCESS_FDS = 3
};

enum { PROCESS_IS_THERE = 1, PROCESS_HAS_ENDED = 2 };

typedef struct process_news {
    uint32_t what;
    int32_t status; /* HAS_ENDED: as waitpid has it */
    int64_t pid;    /* IS_THERE */
} process_news;

/* Sends a datagram with descriptors; never raises SIGPIPE, never waits.
 *   returns   0, or an errno */
int process_wire_send(int socket, const void *bytes, size_t size, const int *fds, size_t count);

/* Receives one, and its descriptors, which are closed on exec; what there is no room for is closed.
 *   flags     0 or MSG_DONTWAIT
 *   returns   how many bytes; 0: the other side has closed; -1 and errno. *count: in: the room in
 *             fds, out: how many there are */
ssize_t process_wire_receive(int socket, void *bytes, size_t size, int *fds, size_t *count,
                             int flags);

/* Wakes the other side of a PROCESS_FD_WAKE. */
void process_wake(int socket);

/* Takes what the other side has said; never waits.
 *   returns   false: it has closed */
bool process_wake_taken(int socket);

/* Now, by the operating system's clock. */
int64_t process_now(void);

#endif
