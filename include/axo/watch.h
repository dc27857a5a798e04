/* watch.h - learning of another actor's end. A whole program is test/example/watch.c. */
#ifndef AXO_WATCH_H
#define AXO_WATCH_H

#include <axo/actor.h>

AXO_BEGIN_DECLS

/* Asks for one AXO_TERMINATED when the actor has terminated, also if it already has or never lived.
 * Watching twice is watching once; oneself: a no-op. The watch survives restarts of both. The
 * notice comes after every message that the dead one sent to the caller, and after its post_stop;
 * when a child's comes, its place and its name are free. Of an actor of another node it says
 * whether the actor has ended or the node was lost (remote.h). Takes time by the number of the
 * caller's children if the actor has ended already.
 *   thread    only the callback that was given `ctx`
 *   returns   AXO_OK, AXO_ECONTEXT, AXO_EINVAL (none; or watched with a message of one's own),
 *             AXO_ENOMEM
 *   after     on failure nothing is watched that was not before */
AXO_API AXO_NODISCARD axo_status axo_watch(axo_ctx *ctx, axo_ref ref);

/* As axo_watch, with this message in the place of the notice: `size` bytes of `payload` are copied,
 * the sender is the dead one. Unhandled it is merely unhandled. Like a notice it is not counted in
 * axo_stats.
 *   returns   as axo_watch; AXO_EINVAL too for a reserved tag, NULL with a size, and an actor that
 *             is watched already without a message or with another one: unwatch it first;
 *             AXO_ETOOBIG */
AXO_API AXO_NODISCARD axo_status axo_watch_with(axo_ctx *ctx, axo_ref ref, uint32_t tag,
                                                const void *payload, size_t size);

/* Ends a watch: neither notice nor message comes after it, not even one that is queued already.
 *   returns   AXO_OK, also if it was not watched; AXO_ECONTEXT, AXO_EINVAL */
AXO_API axo_status axo_unwatch(axo_ctx *ctx, axo_ref ref);

AXO_END_DECLS

#endif
