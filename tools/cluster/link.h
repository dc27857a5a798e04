/* link.h - what one node promises another: a state machine without sockets, threads and clock.
 *
 * A link joins one incarnation of this node and one of another. Whoever has it brings frames in and
 * out, calls it by one thread at a time and tells it the time; frames may be lost, repeated, late
 * and out of order, and those of other incarnations may come.
 *
 *   users' messages   at most once, in their order: each has a number, and only a higher one than
 *                     the last is taken
 *   system messages   exactly once, in their order: kept until they are acknowledged, sent again at
 *                     times that grow, taken only when they are next. Behind one no user's message
 *                     is taken that was sent before it
 *
 *   OPEN -> QUARANTINED    for good: a system message is not acknowledged for `give_up_ns`, there
 *                          is no room or memory for one, the other side has quarantined this one,
 *                          or whoever has the link says so (who is there: D64)
 *
 * Invariants
 *   I1  What is kept are the system messages acked + 1 to sent, in their order.
 *   I2  Nothing is taken and nothing kept once the link is quarantined; `lost` is told once.
 *   I3  A frame of other incarnations than the link's changes nothing.
 *   I4  taken never goes down, so no number is taken twice.
 */
#ifndef CLUSTER_LINK_H
#define CLUSTER_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum cluster_frame_kind {
    CLUSTER_USER = 1,
    CLUSTER_SYSTEM = 2,
    CLUSTER_ACK = 3,        /* says no more than each frame does */
    CLUSTER_QUARANTINE = 4  /* its sender has quarantined its receiver */
} cluster_frame_kind;

typedef struct cluster_frame {
    uint32_t kind;
    uint32_t size;        /* of the body; USER, SYSTEM */
    uint64_t from;        /* incarnations */
    uint64_t to;
    uint64_t number;      /* USER, SYSTEM: from 1, each for itself */
    uint64_t behind;      /* SYSTEM: the last user's message before it */
    uint64_t ack;         /* the last system message that its sender has taken */
    const void *body;     /* lives during the call */
} cluster_frame;

/* What a link asks of whoever has it. */
typedef struct cluster_link_ops {
    void (*put)(void *user, const cluster_frame *frame); /* out; it may be lost */
    /* A message has come, and its turn: a user's, or a system message. false of a system message:
     * it cannot be taken now, and comes again. */
    bool (*take)(void *user, const cluster_frame *frame);
    void (*lost)(void *user); /* the link is quarantined */
    void *(*alloc)(void *user, size_t size); /* NULL: no memory */
    void (*free)(void *user, void *block, size_t size);
} cluster_link_ops;

typedef struct cluster_link_settings {
    int64_t resend_ns;     /* the first time until a system message is sent again; doubled each
                              time that it is */
    int64_t resend_ns_max;
    int64_t give_up_ns;    /* without an acknowledgement of the oldest */
    uint32_t kept_max;     /* system messages that are not acknowledged */
    uint32_t burst_max;    /* of them are sent again at once */
} cluster_link_settings;

typedef struct cluster_kept cluster_kept;

typedef struct cluster_link {
    const cluster_link_ops *ops;
    void *user;
    cluster_link_settings settings;
    uint64_t mine;         /* incarnations */
    uint64_t theirs;
    bool quarantined;
    bool owes_ack;
    uint64_t users_sent;
    uint64_t users_taken;  /* the highest number */
    uint64_t sent;         /* system messages */
    uint64_t acked;
    uint64_t taken;
    cluster_kept *first;   /* not acknowledged, oldest first */
    cluster_kept *last;
    uint32_t kept;
    int64_t oldest_since;  /* when the oldest became that; with `kept` */
    int64_t resend_at;     /* with `kept` */
    int64_t wait_ns;       /* until the time behind resend_at */
    uint64_t resent;       /* system messages, each time */
    uint64_t strangers;    /* frames of other incarnations */
} cluster_link;

void cluster_link_init(cluster_link *link, const cluster_link_settings *settings,
                       const cluster_link_ops *ops, void *user, uint64_t mine, uint64_t theirs);
/* Frees what is kept, and tells nobody. */
void cluster_link_fini(cluster_link *link);

/* Sends a user's message once. false: the link is quarantined. */
bool cluster_link_send(cluster_link *link, const void *body, uint32_t size);

/* Sends a system message until it is acknowledged. false: the link is quarantined, by now. */
bool cluster_link_send_system(cluster_link *link, int64_t now, const void *body, uint32_t size);

/* A frame has come in. */
void cluster_link_receive(cluster_link *link, int64_t now, const cluster_frame *frame);

/* Sends what is due: system messages again, an acknowledgement that is owed. At the end of each
 * round of calls, and at cluster_link_due. */
void cluster_link_step(cluster_link *link, int64_t now);

/* When cluster_link_step is due if nothing comes; INT64_MAX: not. */
int64_t cluster_link_due(const cluster_link *link);

/* Says that this side lives. One that has quarantined it answers so, which may have been lost: so
 * now and then where nothing else is sent. */
void cluster_link_beat(cluster_link *link);

/* Quarantines the other side, which is told. */
void cluster_link_quarantine(cluster_link *link);

#endif
