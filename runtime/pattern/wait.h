/* wait.h - a child that waits for one event and tells its parent how it went, once.
 *
 * Ask, promise and graceful stop from an actor are this child; calls from a thread (call.h) use the
 * same record, the same watch and farewell, and the same verdict.
 */
#ifndef AXO__PATTERN_WAIT_H
#define AXO__PATTERN_WAIT_H

#include <axo/ask.h>
#include <axo/graceful.h>
#include <axo/time.h>
#include <axo/watch.h>

#include "pattern/context.h"

/* Tags of the services' own, beside the public tags. */
#define AXO__TAG_WAIT_OVER (AXO_TAG_SERVICES + 0x03)
#define AXO__TAG_CALL_OPEN (AXO_TAG_SERVICES + 0x04)

typedef enum axo__wait_kind {
    AXO__WAIT_ASK,     /* the first message, the target's end, or the deadline */
    AXO__WAIT_PROMISE, /* the first message or the deadline: there is no target */
    AXO__WAIT_STOP     /* the target's end, which is the wish, or the deadline */
} axo__wait_kind;

/* The record of a wait. A child's record lies in the letter in which the child will tell the
 * result: so it outlives restarts, and telling takes no memory. It is gone with the letter. */
typedef struct axo__wait {
    axo_draft *letter;   /* NULL: the record is a call's (call.h) */
    axo__wait_kind kind;
    uint32_t instance;   /* the parent's instance, which alone gets the result */
    uint32_t tag;        /* the request's tag */
    uint32_t farewell;   /* AXO__WAIT_STOP: an axo_farewell_kind */
    uint64_t id;
    axo_ref target;
    int64_t since_ns;    /* a call's by axo__wait_thread_now, a child's by axo_now */
    int64_t timeout_ns;
    axo_ref voided;      /* the false sender of a request that takes the wait back */
    char path[AXO_VERDICT_PATH];
} axo__wait;

/* The clock of threads that wait outside: the operating system's, whatever the program's clock says
 * (D40). */
int64_t axo__wait_thread_now(void);

/* How long ago `since` was; 0 if the clock has gone back behind it. */
int64_t axo__wait_passed(int64_t now, int64_t since);

/* The part that is left at `now` of a timeout that began at `since`; 0: it is over. */
int64_t axo__wait_left(int64_t now, int64_t since, int64_t timeout);

/* Makes a wait and its letter; axo__wait_discard, or the child, ends it. For a target that has
 * ended the path stays empty. AXO_OK, AXO_ENOMEM. */
axo_status axo__wait_new(axo_ctx *ctx, axo__wait_kind kind, axo_ref target, int64_t timeout_ns,
                         uint64_t id, axo__wait **out);
void axo__wait_discard(axo_ctx *ctx, axo__wait *wait);

/* Spawns the waiting child. On success `wait` is the child's, on failure it is freed. */
axo_status axo__wait_spawn(axo_ctx *ctx, axo__wait *wait, axo_ref *out);

/* Takes a waiting child back whose request was refused: the child ends without a result. Consumes
 * the request; `voided` is the wait's, which is the child's by now. Returns `refused`; AXO_OK: the
 * child has told already that it has ended. */
axo_status axo__wait_void(axo_ctx *ctx, axo_ref child, axo_ref voided, axo_draft *request,
                          axo_status refused);

/* The pre_restart of waiting actors: an injected failure does not end the wait, and the next
 * instance goes on with the record of this one. It stops no children and calls no post_stop. */
axo_status axo__wait_pre_restart(axo_ctx *ctx, void *state, const axo_failure *failure,
                                 const axo_message *message);

/* Watches the target, then sends it the farewell if that is a pill or a stop. */
axo_status axo__wait_begin(axo_ctx *ctx, const axo__wait *wait);

/* The verdict about a wait that has ended, with what the target is doing. `waiter` is the actor
 * that the target knows as the sender of the request. Any thread. */
void axo__wait_judge(axo_system *system, const axo__wait *wait, axo_ref waiter, axo_status status,
                     axo_verdict *out);

/* Adds what an AXO_REQUEST_FAILED says. */
void axo__wait_failed(axo_verdict *out, const axo_message *message);

#endif
