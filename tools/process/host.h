/* host.h - the host's side: zygotes, the lives of actors whose instances are processes, links to
 * those.
 *
 *   axo_zygote    one zygote of one system: a thread that starts it and waits for its end; an
 *                 actor, the janitor, that frees the life of each actor that has ended
 *   process_life  one actor, over all its instances: its recipe, and what became of its messages
 *   process_link  one process
 *
 * A life belongs to the actor (the proxy, proxy.c) and to its child, the keeper (keeper.c), which
 * starts the process and waits for its end. `mutex` guards the link between the two: mostly one of
 * them is at rest.
 *
 * The messages of a life stand in this order in the actor's stash and mailbox:
 *
 *   in one instance    | returned | owed | ... what comes |     window: in the stash
 *   after a restart    | window | returned | owed | ... |       all of it is owed now
 *
 *   window     stashed, oldest first: `first` is the number of the oldest. Those before
 *              `next_number` are in the ring; handled ones at its front are put back (returned) to
 *              be dropped
 *   returned   put back and not yet received
 *   owed       of earlier instances, not yet received: each is dropped, or handled anew
 *
 * Invariants
 *   I1  window.count is how many messages the actor has stashed.
 *   I2  While something is owed, no message is new. So what is put in front of it after a restart
 *       was part of it, and there is room for it: a restart takes no memory.
 */
#ifndef PROCESS_HOST_H
#define PROCESS_HOST_H

#include <pthread.h>

#include <axo/axo.h>
#include <axo/process.h>

#include "share.h"
#include "wire.h"

/* Of a keeper to its actor. */
#define PROCESS_UP (AXO_TAG_SERVICES + 0x80)   /* the process has started */
#define PROCESS_DOWN (AXO_TAG_SERVICES + 0x81) /* or has not: life->why */
/* A keeper's to itself, and an actor's. */
#define PROCESS_TRY (AXO_TAG_SERVICES + 0x82)
#define PROCESS_LOOK (AXO_TAG_SERVICES + 0x83)
/* To the janitor, each a process_adoption: an actor has been spawned, and has ended. */
#define PROCESS_ADOPT (AXO_TAG_SERVICES + 0x84)
#define PROCESS_GONE (AXO_TAG_SERVICES + 0x85)

/* A message that an actor has put aside. */
typedef struct process_kept {
    const void *payload;
    axo_ref sender;
    uint32_t tag;
    uint32_t size;
    bool handled;
} process_kept;

typedef struct process_queue {
    process_kept *all;
    uint64_t room; /* a power of two, or 0 */
    uint64_t first;
    uint64_t count;
} process_queue;

typedef struct process_link {
    process_map map;
    process_ring in;  /* the host writes */
    process_ring out; /* the host reads */
    int wake_fd;
    int life_fd;
    int pid_fd;      /* -1: not known yet */
    bool told;       /* the zygote has said that it is there */
    bool dead;
    bool known;      /* how it has ended: `status` */
    int status;
    bool spoilt;
    bool blamed;     /* its end was raised as a failure under the message in hand, if any */
    bool sent_off;   /* the keeper has told it to stop or to leave */
    bool ended;      /* the actor has ended by itself */
    bool failed;     /* `failure`; it waits for an answer */
    uint64_t failed_under;
    process_failure failure;
    uint32_t ordered;
} process_link;

typedef struct process_life {
    struct process_life *next; /* of the zygote's */
    struct process_life *before;
    axo_zygote *zygote;
    axo_process recipe;
    const axo_class *of;
    const axo_class *proxy;
    void *args;
    size_t args_size;
    char name[AXO_NAME_MAX + 1];
    axo_ref self;
    pthread_mutex_t mutex; /* the link, and the window's `handled` */
    process_link *link;    /* NULL: none was made */
    process_failure restart; /* why the instance that starts does so; the keeper's meanwhile */
    bool leave;            /* the keeper's end is a restart: `failure` */
    process_failure failure;
    bool lived;            /* an instance has started */
    char why[AXO_FAILURE_TEXT_MAX]; /* a start that failed */
    int32_t why_code;
    process_queue window;
    process_queue owed;
    uint64_t next_number; /* of the first that is not in the ring */
    uint64_t returned;
} process_life;

typedef struct process_adoption {
    process_life *life;
    axo_ref actor;
    uint64_t secret; /* the zygote's */
} process_adoption;

/* A class as the actors of this process have it; of the zygote's. */
typedef struct process_class {
    struct process_class *next;
    const axo_class *of;
    axo_class proxy;
} process_class;

struct axo_zygote {
    axo_system *system;
    char *program;
    uint32_t spares;
    uint64_t secret;
    pthread_t thread;
    pthread_mutex_t mutex; /* all below */
    pthread_cond_t changed;
    int control;  /* -1: it is not there */
    pid_t pid;    /* 0: none */
    bool ready;   /* the first one was there, or `status` says why not */
    axo_status status;
    int error;
    bool ending;
    axo_ref janitor;
    process_life *lives;
    process_class *classes;
};

/* ---- starter.c ---- */

/* Sends a job to the zygote.
 *   returns   0, or an errno: EAGAIN: it is not there, or does not listen */
int process_zygote_ask(axo_zygote *zygote, const int fds[PROCESS_FDS]);

void process_life_free(process_life *life);

/* Frees a life of the zygote's list: its actor has ended. */
void process_zygote_forget(axo_zygote *zygote, process_life *life);

/* ---- link.c ---- */

/* Makes the link of the next process of a life, and asks the zygote for it. */
int process_link_open(process_life *life, bool restarted);

/* Hears what the zygote says of the process. */
void process_link_hear(process_link *link);

/* A process that has not started takes no message any more. false: it has. */
bool process_link_withdraw(process_link *link);

/* Kills the process, if it is not dead. */
void process_link_kill(const process_link *link);

void process_link_order(process_link *link, uint32_t what, const process_failure *failure);

/* Wakes the process if it sleeps. */
void process_link_wake(process_link *link);

/* Reads what the process has said, at most so many records: sends what it sends, marks what it has
 * handled. The caller has life->mutex. */
void process_link_drain(axo_ctx *ctx, process_life *life, uint32_t max);

/* Reads what a process that has ended has said. Of one that lives, and writes on, it is what a ring
 * has room for at most. */
void process_link_drain_all(axo_ctx *ctx, process_life *life);

/* Whether something is left to read that can be. */
bool process_link_waits(const process_link *link);

void process_link_close(process_life *life);

/* ---- keeper.c ---- */

/* Starts the next process of a life, as a child of its actor. */
axo_status process_keeper_spawn(axo_ctx *ctx, process_life *life, bool restarted, axo_ref *out);

/* ---- proxy.c ---- */

void process_proxy_class(axo_class *out, const axo_class *of);

/* ---- window.c ---- */

process_kept *process_queue_at(const process_queue *queue, uint64_t number);
/* Room for one more, and for `beside` that stand beside it; false: no memory. */
bool process_queue_room(process_queue *queue, uint64_t beside);
void process_queue_push(process_queue *queue, const process_kept *kept);
process_kept process_queue_pop(process_queue *queue);

/* The number of the message that the process has in hand, for which its end counts; 0: none. What
 * it says is looked up; one that says what cannot be has the oldest in hand, lest that be tried for
 * ever. */
uint64_t process_window_in_hand(const process_life *life);

/* The actor's instance has ended, while `running` was in the process's hands (0: none): all that is
 * in the window and returned is owed. */
void process_window_owe(process_life *life, uint64_t running);

#endif
