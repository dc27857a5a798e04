/* failure_kind.h - kinds of failures that come as numbers: from a program, a process, a node. */
#ifndef AXO__BASE_FAILURE_KIND_H
#define AXO__BASE_FAILURE_KIND_H

#include <stdbool.h>
#include <stdint.h>

#include <axo/supervision.h>

/* Whether an actor can fail so (axo_fail_as). */
static inline bool axo__is_failure_kind(uint32_t kind)
{
    switch ((axo_failure_kind)kind) {
    case AXO_FAILURE_ORDINARY:
    case AXO_FAILURE_INIT:
    case AXO_FAILURE_POST_RESTART:
    case AXO_FAILURE_KILLED:
    case AXO_FAILURE_DEATH_PACT:
    case AXO_FAILURE_FATAL:
    case AXO_FAILURE_ENDED:
    case AXO_FAILURE_CRASH:
    case AXO_FAILURE_STUCK:
    case AXO_FAILURE_MEMORY:
        return true;
    case AXO_FAILURE_NONE:
        break;
    }
    return false;
}

#endif
