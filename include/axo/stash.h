/* stash.h - putting messages aside until the actor can handle them. A whole program is
 * test/example/stash_become.c. */
#ifndef AXO_STASH_H
#define AXO_STASH_H

#include <axo/actor.h>

AXO_BEGIN_DECLS

/* Keeps the message that is being handled: it is neither handled nor freed when receive returns,
 * whatever it returns, and stays queued; its payload stays where it is until it is handled.
 * AXO_TERMINATED too; an unwatch voids it. A receive that fails after it has stashed fails as
 * always: pre_restart is shown the message, and the next instance gets it again. When the actor
 * restarts all that is stashed goes to the front of the mailbox, before the new instance is made;
 * when it stops, to the dead letters, before the rest.
 *   thread    only the receive that was given `ctx`
 *   blocks    no; the first one of an actor takes some memory
 *   returns   AXO_OK, AXO_ECONTEXT, AXO_EINVAL (no message is being handled, or this one is
 *             stashed already), AXO_EFULL (axo_props.stash_max), AXO_ENOMEM
 *   after     on failure nothing has changed: the message is handled by this receive */
AXO_API AXO_NODISCARD axo_status axo_stash(axo_ctx *ctx);

/* Puts all that is stashed in front of the mailbox, oldest first; no bound of the mailbox refuses
 * it. What an earlier call has put there comes after it.
 *   thread    only the callback that was given `ctx`
 *   returns   AXO_OK, also if nothing is stashed; AXO_ECONTEXT */
AXO_API axo_status axo_unstash_all(axo_ctx *ctx);

/* As axo_unstash_all, for the `count` oldest. */
AXO_API axo_status axo_unstash(axo_ctx *ctx, uint32_t count);

/* How many messages are stashed; 0 for a bad context. */
AXO_API uint32_t axo_stash_count(axo_ctx *ctx);

AXO_END_DECLS

#endif
