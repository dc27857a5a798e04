/* status.h - what a function says about how it went. */
#ifndef AXO_STATUS_H
#define AXO_STATUS_H

#include <axo/export.h>

/* Every status with its text. Values are part of the ABI: none changes. */
#define AXO_STATUS_LIST(X)                                                                         \
    X(AXO_OK, 0, "ok")                                                                             \
    X(AXO_EINVAL, -1, "invalid argument")                                                          \
    X(AXO_ENOMEM, -2, "out of memory")                                                             \
    X(AXO_ELIMIT, -3, "a limit of the options is reached")                                         \
    X(AXO_ENAME, -4, "name is malformed")                                                          \
    X(AXO_EEXIST, -5, "taken: by a living or dying sibling, or the actor has it already")          \
    X(AXO_EVERSION, -6, "struct comes from another version of the header")                         \
    X(AXO_EGONE, -7, "no living actor has this reference")                                         \
    X(AXO_ESTOPPING, -8, "the actor or the system is stopping")                                    \
    X(AXO_ECONTEXT, -9, "the context is not the one of the running callback")                      \
    X(AXO_ETIMEDOUT, -10, "the deadline passed")                                                   \
    X(AXO_ETOOBIG, -11, "larger than the limit or than its room")                                  \
    X(AXO_ETHREAD, -12, "the operating system refused a thread or another resource")               \
    X(AXO_EFAILED, -14, "the actor fails (see axo_fail)")                                          \
    X(AXO_UNHANDLED, -15, "the message was not handled (only receive returns it)")                 \
    X(AXO_EFULL, -16, "the mailbox or another bounded structure is full")                          \
    X(AXO_ENOENT, -17, "nothing has that name")                                                    \
    X(AXO_EBUSY, -18, "another thread is in the same call, or another actor has it")               \
    X(AXO_ECYCLE, -19, "the graph has a cycle")                                                    \
    X(AXO_EFORKED, -20, "the system belongs to the process that this one was forked from")         \
    X(AXO_EDESCRIPTOR, -21, "no open descriptor has this number")                                  \
    X(AXO_ENOPOLL, -22, "a descriptor of a kind that is never waited for")                         \
    X(AXO_ESYSTEM, -23, "the operating system refuses; its error number stands beside it")         \
    X(AXO_ENOTSUP, -24, "this machine, or this build of the library or program, cannot do it")

typedef enum axo_status {
#define AXO_STATUS_ENUM(name, value, text) name = value,
    AXO_STATUS_LIST(AXO_STATUS_ENUM)
#undef AXO_STATUS_ENUM
} axo_status;

AXO_BEGIN_DECLS

/* The name of a status, such as "AXO_ENOMEM"; "AXO_?" for a number that is none.
 *   thread    any
 *   returns   a string that lives as long as the library is loaded */
AXO_API const char *axo_status_name(axo_status status);

/* The text of a status, such as "out of memory"; "unknown status" for a number that is none.
 *   thread    any
 *   returns   a string that lives as long as the library is loaded */
AXO_API const char *axo_status_text(axo_status status);

AXO_END_DECLS

#endif
