/* share.h - the memory that a process shares with its host, and what the two say in it.
 *
 *   | struct process_share | args of the actor | ring to the process | ring to the host |
 *
 * The memory is a file without a name whose size is sealed: a process cannot cut it off under its
 * host. Each ring is mapped twice in a row, between pages that are not there. The host believes
 * nothing that it reads here: numbers are looked up in what it knows, rings are checked
 * (ring.h), texts are copied with a bound. The process believes its host.
 */
#ifndef PROCESS_SHARE_H
#define PROCESS_SHARE_H

#include <axo/actor.h>

#include "ring.h"

#define PROCESS_VERSION UINT32_C(1)
#define PROCESS_NAME_MAX 128

/* Records to the process. */
enum { PROCESS_MESSAGE = 1 }; /* number, from, tag */

/* Records to the host. */
enum {
    PROCESS_SEND = 1,    /* to, from (0: the actor), tag */
    PROCESS_HANDLED = 2, /* number */
    PROCESS_FAIL = 3,    /* its bytes are a process_failure; number: of the message that it failed
                            under, or 0. The process waits for an answer */
    PROCESS_ENDED = 4,   /* the actor has ended by itself */
    PROCESS_LINE = 5     /* a line of the log: tag is the level, the bytes are the text */
};

/* A failure, as bytes. */
typedef struct process_failure {
    axo_failure failure; /* without its texts */
    char text[AXO_FAILURE_TEXT_MAX];
    char original_text[AXO_FAILURE_TEXT_MAX];
    axo_ref sender;       /* of the message that pre_restart is shown */
    uint32_t tag;         /* that message: 0: the process knows it, or it is none; AXO_KILL, ... */
    uint32_t has_message; /* 0: pre_restart is shown none */
} process_failure;

/* What the host tells the process, beside messages. */
enum {
    PROCESS_RESUME = 1, /* the answer to a PROCESS_FAIL */
    PROCESS_LEAVE = 2,  /* pre_restart, then exit */
    PROCESS_STOP = 3    /* post_stop, then exit */
};

typedef struct process_order {
    uint32_t what;
    uint32_t reserved;
    process_failure failure; /* LEAVE */
} process_order;

/* A RESUME answers a failure that has been reported after the last order was taken, so at most one
 * LEAVE and one STOP follow an order that the process has not seen. */
#define PROCESS_ORDERS 4

/* How far the process is. It becomes LIVE, and takes messages, unless the host has withdrawn it:
 * one of the two changes what was STARTING. */
enum { PROCESS_STARTING = 0, PROCESS_LIVE = 1, PROCESS_NOT_STARTED = 2, PROCESS_WITHDRAWN = 3 };

typedef struct process_share {
    /* the host's, before the process begins */
    uint32_t version;
    uint32_t confine;
    uint64_t ring_bytes;
    uint64_t args_size;
    uint64_t memory_max;
    uint64_t self;           /* the actor's reference in the host */
    uint32_t restarted;      /* 1: post_restart follows construct, with `failure` */
    uint32_t reserved;
    process_failure failure;
    char cls[PROCESS_NAME_MAX];
    char name[AXO_NAME_MAX + 1]; /* the actor's; "": the process gives one */
    /* the host's */
    process_order orders[PROCESS_ORDERS];
    _Alignas(64) _Atomic uint32_t ordered; /* how many there were */
    /* [S] who sleeps, and is to be woken: an exchange sets it, behind which the sleeper looks once
     * more; an exchange takes it back, behind what the sleeper may wait for. The later one of the
     * two sees the other and all that stands before it. */
    _Alignas(64) _Atomic uint32_t process_sleeps;
    _Alignas(64) _Atomic uint32_t host_sleeps;
    _Alignas(64) _Atomic uint32_t process_wants_room;
    /* the process's */
    _Alignas(64) _Atomic uint32_t state;
    _Atomic uint32_t busy;       /* it runs callbacks */
    _Atomic uint64_t running;    /* number of the message in hand; 0: none */
    _Atomic uint64_t progress;   /* goes on with each thing that it begins */
    process_indices to_process;
    process_indices to_host;
} process_share;

/* A mapping of it. */
typedef struct process_map {
    process_share *share;
    unsigned char *args;
    unsigned char *to_process; /* twice ring_bytes */
    unsigned char *to_host;
    uint64_t head_bytes; /* of share and args together, in pages */
    uint64_t ring_bytes;
} process_map;

/* How large a ring is if so many bytes are wanted. */
uint64_t process_share_ring(size_t wanted);

/* Makes the memory, all zero.
 *   returns   its descriptor, or -1 and errno; *map is filled */
int process_share_make(size_t ring_bytes, size_t args_size, process_map *map);

/* Maps what process_share_make has made, in the process.
 *   returns   false and errno */
bool process_share_map(int fd, process_map *map);

void process_share_unmap(process_map *map);

/* Bytes of texts become texts. */
void process_failure_pack(process_failure *out, const axo_failure *failure);

/* What hooks are handed; *out has pointers into *in. Texts are closed where they must be. */
void process_failure_unpack(process_failure *in, axo_failure *out);

#endif
