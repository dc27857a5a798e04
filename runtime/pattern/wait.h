/* wait.h - a child that waits for one thing and tells its parent how it went, once. */
#ifndef AXO__PATTERN_WAIT_H
#define AXO__PATTERN_WAIT_H

#include <axo/ask.h>
#include <axo/graceful.h>
#include <axo/time.h>
#include <axo/watch.h>

#include "pattern/context.h"

/* Tags of the services' own, beside the public ones. */
#define AXO__TAG_WAIT_OVER (AXO_TAG_SERVICES + 0x03)
#define AXO__TAG_CALL_OPEN (AXO_TAG_SERVICES + 0x04)

typedef enum axo__wait_kind {
    AXO__WAIT_ASK,     /* for the first message, the target's end or the deadline */
    AXO__WAIT_PROMISE, /* the same without a target */
    AXO__WAIT_STOP     /* for the target's end, which is the wish, or the deadline */
} axo__wait_kind;

/* What is waited for. A child's lies in the letter in which it will tell how it went: so it
 * outlives restarts, and telling takes no memory. It is gone with the letter. */
typedef struct axo__wait {
    axo_draft *letter;   /* NULL: a call's (call.h) */
    axo__wait_kind kind;
    uint32_t instance;   /* of the parent, for which the result is */
    uint32_t tag;        /* of the request */
    uint32_t farewell;   /* AXO__WAIT_STOP: an axo_farewell_kind */
    uint64_t id;
    axo_ref target;
    int64_t since_ns;    /* a call's by axo__wait_thread_now, a child's by axo_now */
    int64_t timeout_ns;
    axo_ref voided;      /* who seems to send a request that takes the wait back */
    char path[AXO_VERDICT_PATH];
} axo__wait;

/* The clock of threads that wait outside: the operating system's, whatever the program's says. */
int64_t axo__wait_thread_now(void);

/* How long ago that was; 0 if the clock has gone back. */
int64_t axo__wait_passed(int64_t now, int64_t since);

/* What is left of a time that began then. */
int64_t axo__wait_left(int64_t now, int64_t since, int64_t timeout);

/* Makes a wait and its letter; axo__wait_discard, or a child, ends it. A target that is gone leaves
 * no path.
 *   returns   AXO_OK, AXO_ENOMEM */
axo_status axo__wait_new(axo_ctx *ctx, axo__wait_kind kind, axo_ref target, int64_t timeout_ns,
                         uint64_t id, axo__wait **out);
void axo__wait_discard(axo_ctx *ctx, axo__wait *wait);

/* Spawns the waiting child: `wait` is the child's, or gone. */
axo_status axo__wait_spawn(axo_ctx *ctx, axo__wait *wait, axo_ref *out);

/* Takes a waiting child back whose request was refused; it tells nothing. Consumes the request.
 *   voided    the wait's; it is the child's by now
 *   returns   `refused`; AXO_OK: it has told already that it has ended */
axo_status axo__wait_void(axo_ctx *ctx, axo_ref child, axo_ref voided, axo_draft *request,
                          axo_status refused);

/* The pre_restart of one that waits: a failure that somebody injects is no end, and the next
 * instance goes on waiting with what this one has. */
axo_status axo__wait_pre_restart(axo_ctx *ctx, void *state, const axo_failure *failure,
                                 const axo_message *message);

/* Watches the target; a farewell that is no message is said, after that. */
axo_status axo__wait_begin(axo_ctx *ctx, const axo__wait *wait);

/* The verdict about a wait that has ended, with what the target is doing. `waiter` is whom the
 * target knows as the sender of the request. Any thread. */
void axo__wait_judge(axo_system *system, const axo__wait *wait, axo_ref waiter, axo_status status,
                     axo_verdict *out);

#endif
