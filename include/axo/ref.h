/* ref.h - the name of an actor's incarnation: a value to copy, store, send and compare. */
#ifndef AXO_REF_H
#define AXO_REF_H

#include <stdbool.h>
#include <stdint.h>

#include <axo/export.h>

/* A reference. It may be kept for ever: when its actor is gone it reaches nobody, never a
 * stranger (UID-04). Restart keeps it (RS-07); stop and spawn give another (UID-08).
 * Zeroed memory is axo_ref_none(). The bits are the library's; only compare and print them. */
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

/* Whether two references name the same incarnation of the same actor (UID-03). */
static inline bool axo_ref_equal(axo_ref one, axo_ref other)
{
    return one.bits == other.bits;
}

/* Whether a reference names nobody. */
static inline bool axo_ref_is_none(axo_ref ref)
{
    return ref.bits == 0;
}

#endif
