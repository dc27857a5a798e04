/* wait.h - a child that waits for one thing and tells its parent how it went, once. */
#ifndef AXO__PATTERN_WAIT_H
#define AXO__PATTERN_WAIT_H

#include <axo/ask.h>
#include <axo/graceful.h>
#include <axo/time.h>
#include <axo/watch.h>

/* Tags of the services' own, beside the public ones. */
#define AXO__TAG_WAIT_OVER (AXO_TAG_SERVICES + 0x03)
#define AXO__TAG_CALL_OPEN (AXO_TAG_SERVICES + 0x04)
#define AXO__TAG_WAIT_VOID (AXO_TAG_SERVICES + 0x05)

typedef enum axo__wait_kind {
    AXO__WAIT_ASK,     /* for the first message, the target's end or the deadline */
    AXO__WAIT_PROMISE, /* the same without a target */
    AXO__WAIT_STOP     /* for the target's end, which is the wish, or the deadline */
} axo__wait_kind;

/* What is waited for: the child's arguments. They outlive its restarts, so it needs no state. */
typedef struct axo__wait {
    axo__wait_kind kind;
    uint32_t instance;   /* of the parent, for which the result is */
    uint32_t tag;        /* of the request */
    uint32_t result_tag; /* of the verdict */
    uint32_t farewell;   /* AXO__WAIT_STOP: an axo_farewell_kind */
    uint64_t id;
    axo_ref target;
    int64_t since_ns;
    int64_t timeout_ns;
    char path[AXO_VERDICT_PATH]; /* only the text's part of it is copied */
} axo__wait;

/* Fills what all kinds share. A target that is gone leaves no path. */
void axo__wait_init(axo__wait *wait, axo_ctx *ctx, axo__wait_kind kind, axo_ref target,
                    int64_t timeout_ns, uint64_t id);

/* Spawns the waiting child. */
axo_status axo__wait_spawn(axo_ctx *ctx, const axo__wait *wait, axo_ref *out);

/* Takes a waiting child back whose request was refused; it tells nothing.
 *   returns   `refused`; AXO_OK: there is no memory for that, so that it tells AXO_ESTOPPING */
axo_status axo__wait_void(axo_ctx *ctx, axo_ref child, axo_status refused);

/* Watches the target; a farewell that is no message is said, after that. */
axo_status axo__wait_begin(axo_ctx *ctx, const axo__wait *wait);

/* The verdict about a wait that has ended, with what the target is doing. `waiter` is whom the
 * target knows as the sender of the request. Any thread. */
void axo__wait_judge(axo_system *system, const axo__wait *wait, axo_ref waiter, axo_status status,
                     axo_verdict *out);

#endif
