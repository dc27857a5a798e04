/* kinds.h - which kind of pools runs the actors of which dispatcher.
 *
 * Each kind is a constant in a file of the kind's name: fixed.c, pinned.c, elastic.c, host.c. A new
 * dispatcher is one line of the list below and one such file; system/pools.c makes its table of the
 * same list. */
#ifndef AXO__SCHED_KINDS_H
#define AXO__SCHED_KINDS_H

#include <axo/dispatcher.h>

#include "sched/pool.h"

/* Every dispatcher with its kind, in the order of the dispatchers' numbers. */
#define AXO__DISPATCHER_LIST(X)                                                                    \
    X(AXO_DISPATCH_DEFAULT, fixed)                                                                 \
    X(AXO_DISPATCH_PINNED, pinned)                                                                 \
    X(AXO_DISPATCH_BLOCKING, elastic)                                                              \
    X(AXO_DISPATCH_HOST, host)

#define AXO__KIND_DECLARE(dispatcher, name) extern const axo__sched_kind axo__##name##_kind;
AXO__DISPATCHER_LIST(AXO__KIND_DECLARE)
#undef AXO__KIND_DECLARE

#define AXO__KIND_COUNT(dispatcher, name) AXO__DISPATCHER_OF_##name,
enum { AXO__DISPATCHER_LIST(AXO__KIND_COUNT) AXO__DISPATCHERS };
#undef AXO__KIND_COUNT

#endif
