/* peer.h - the actor that stands in for a node (cell/peers.h): a child of /system.
 *
 * Nobody is given its reference, and it handles messages of the library alone. Who watches an actor
 * of the node has a record in its lane or its list, so the node's loss is its end, which answers
 * each record once, whatever else races with it (super/watch.c). For the node it watches actors
 * here. It neither fails nor takes memory but for such a watch; without that memory it gives its
 * node up, which answers for the watch on both sides.
 *
 * A loss, from outside: (1) the node is LOST, (2) through every door: what was delivered before is
 * in its mailbox, and nothing comes any more, (3) the stand-in is stopped; its end sends the
 * notices. So a notice is behind all messages, as for any end (DW-11).
 */
#ifndef AXO__SYSTEM_PEER_H
#define AXO__SYSTEM_PEER_H

#include "cell/peers.h"
#include "system/system.h"

typedef enum axo__peer_what {
    AXO__PEER_WATCH = 0,
    AXO__PEER_UNWATCH = 1,
    AXO__PEER_ENDED = 2
} axo__peer_what;

axo_status axo__peer_add(axo_system *system, const axo_node *node, uint32_t *number);
axo_status axo__peer_lose(axo_system *system, uint32_t number);

/* Has the stand-in see to it. AXO_OK, AXO_EGONE (the node is lost), AXO_ENOMEM. */
axo_status axo__peer_tell(axo_system *system, const axo__peer *peer, axo__peer_what what,
                          const axo_terminated *about);

#endif
