/* outside.h - a send by a thread of the program, and what a node sends: through a door. Observers,
 * destructors and the carrier (remote.h) are user code, and called outside of it. */
#ifndef AXO__SYSTEM_OUTSIDE_H
#define AXO__SYSTEM_OUTSIDE_H

#include "system/system.h"

/* The parameters of a send from outside. */
typedef struct axo__outside {
    axo_ref from;
    axo_ref to;
    uint32_t tag;
    uint32_t flags;
    const void *payload; /* copied; or owned, with the next two */
    size_t size;
    axo_payload_free destroy;
    void *user;
    const axo_trace_context *trace; /* NULL: none */
    const struct axo__peer *peer;   /* the node that it comes from; NULL: of this system */
} axo__outside;

/* AXO_OK, AXO_EGONE (a dead letter): accepted, and counted. AXO_ENOENT: the node is lost. That one
 * and AXO_ENOMEM, AXO_EFULL, AXO_ETOOBIG: nothing has happened, and an owned payload is the
 * caller's. */
axo_status axo__outside_send(axo_system *system, const axo__outside *what);

#endif
