/* ref.h - the name of an actor's incarnation: a value to copy, store, send and compare. */
#ifndef AXO_REF_H
#define AXO_REF_H

#include <stdbool.h>
#include <stdint.h>

#include <axo/export.h>

/* A reference. It may be kept for ever: when its actor is gone it reaches nobody, never a
 * stranger, and in another system it reaches nobody either, whatever the seeds. Restart keeps it;
 * stop and spawn give another. Zeroed memory is axo_ref_none(). It may be of another node, by way
 * of what carries messages between them (remote.h). The bits are the library's; only compare and
 * print them: they come of the operating system's chance, so that nobody can make one that he was
 * not given, and are others in each run. For an order or a hash that is to repeat there is
 * axo_ref_index. */
typedef struct axo_ref {
    uint64_t bits;
} axo_ref;

/* The reference that names nobody. */
static inline axo_ref axo_ref_none(void)
{
    axo_ref none;
    none.bits = 0;
    return none;
}

/* Whether two references name the same incarnation of the same actor. */
static inline bool axo_ref_equal(axo_ref one, axo_ref other)
{
    return one.bits == other.bits;
}

/* Whether a reference names nobody. */
static inline bool axo_ref_is_none(axo_ref ref)
{
    return ref.bits == 0;
}

AXO_BEGIN_DECLS

/* A number below 2^24 that no other living actor of the same system has; when the actor has ended,
 * a later one may get it. Unlike the bits it is the same in every run that makes and ends actors in
 * the same order, as a manual system does.
 *   thread    any
 *   returns   0 for axo_ref_none() too */
AXO_API uint32_t axo_ref_index(axo_ref ref);

AXO_END_DECLS

#endif
