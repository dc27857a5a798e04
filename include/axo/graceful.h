/* graceful.h - ends an actor in order, and says when it has ended, or what it does instead. A whole
 * program is test/example/watch.c. */
#ifndef AXO_GRACEFUL_H
#define AXO_GRACEFUL_H

#include <axo/actor.h>
#include <axo/init.h>
#include <axo/system.h>
#include <axo/time.h>
#include <axo/verdict.h>

/* To the caller of axo_graceful_stop: an axo_verdict. AXO_OK: the actor has terminated;
 * AXO_ETIMEDOUT: it has not, and the verdict says what it does; AXO_ESTOPPING: the wait was
 * stopped; AXO_ENOMEM, AXO_ELIMIT: there was no memory to tell it or no timer to wait. */
#define AXO_STOP_ENDED (AXO_TAG_SERVICES + 0x10)

typedef enum axo_farewell_kind {
    AXO_FAREWELL_PILL = 0,   /* a PoisonPill: what is queued is handled first */
    AXO_FAREWELL_STOP = 1,   /* a stop: at once after the running message */
    AXO_FAREWELL_MESSAGE = 2 /* a message of one's own, on which it stops itself */
} axo_farewell_kind;

/* How an actor is told to end. */
typedef struct axo_farewell {
    size_t size;          /* sizeof(axo_farewell), set by AXO_FAREWELL */
    uint32_t kind;        /* an axo_farewell_kind */
    uint32_t tag;         /* AXO_FAREWELL_MESSAGE: its tag */
    const void *payload;  /* and its payload, which is copied */
    size_t payload_size;
} axo_farewell;
#define AXO_FAREWELL(...) AXO_INIT(axo_farewell, __VA_ARGS__)
static inline void axo_farewell_init(axo_farewell *out)
{
    const axo_farewell fresh = AXO_FAREWELL();
    *out = fresh;
}

AXO_BEGIN_DECLS

/* Tells an actor to end and promises the caller one AXO_STOP_ENDED with this id, when it has ended
 * or `timeout_ns` has passed. For one that has ended already it comes at once. The wait is a child
 * of the caller, as in ask.h, and ends with the calling instance. An actor that is late is left as
 * it is: it may still end.
 *   how       NULL: a PoisonPill
 *   thread    only the callback that was given `ctx`
 *   blocks    no
 *   returns   AXO_OK, AXO_ECONTEXT, AXO_EINVAL (none, oneself, a kind that is none, a reserved tag,
 *             NULL with a size, a timeout that is not positive or above AXO_DELAY_MAX),
 *             AXO_EVERSION, AXO_ETOOBIG, AXO_ENOMEM, AXO_ELIMIT, AXO_ESTOPPING, AXO_EFULL (the
 *             mailbox refuses the message, mailbox.h)
 *   after     on failure nothing was told and nothing will come */
AXO_API AXO_NODISCARD axo_status axo_graceful_stop(axo_ctx *ctx, axo_ref ref,
                                                   const axo_farewell *how, int64_t timeout_ns,
                                                   uint64_t id);

/* The same from a thread that is no worker, which waits, by the operating system's clock. It runs
 * no actors: in a manual system another thread must.
 *   blocks    until it has ended, or the deadline
 *   returns   AXO_OK; AXO_ETIMEDOUT; AXO_ESTOPPING; AXO_ECONTEXT on a worker; else as above, and
 *             AXO_ETHREAD. *out (may be NULL) says more */
AXO_API axo_status axo_system_graceful_stop(axo_system *system, axo_ref ref,
                                            const axo_farewell *how, int64_t timeout_ns,
                                            axo_verdict *out);

AXO_END_DECLS

#endif
