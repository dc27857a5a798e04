/* stream.h - the event stream: which subscriber wants which events, and telling them.
 *
 * A subscriber has one place, and in it up to AXO_KINDS_MAX rules "events under this kind: yes" or
 * "no"; of the rules that contain an event the narrowest decides, so each event reaches a
 * subscriber once. Subscribing and unsubscribing drop the rules that they make superfluous.
 *
 * Roles      publish: any worker (in a turn or between), any door (inside it).
 *            subscribe, unsubscribe: the same; they take the stream's mutex.
 * Progress   publish takes no lock, but to remove a subscriber that has died and to read a place
 *            that is changed at this moment: the rules that are not changed hold before and after,
 *            so the publisher cannot skip the place. No user code runs under the mutex but the
 *            allocator.
 * Memory     places are made in chunks, used again and freed with the system. The places of dead
 *            subscribers are freed when a publisher meets them, and before a chunk is made.
 *
 * Invariants (under the mutex)
 *   I1  A place is free (`who` 0), or has at least one rule that says yes.
 *   I2  At most one place has a given `who`.
 *   I3  No rule says what the next wider rule of its place says already.
 *   I4  count[b]: rules with the first byte b that say yes; bit b of core->wants: count[b] or
 *       count[0] is not 0.
 *
 * Orders
 *   [E1] store relaxed, version, odd      the writer begins; [E2] carries it
 *   [E2] store release, every field       after the odd version; pairs with [E5]
 *   [E3] store release, version, even     after every field; pairs with [E4]
 *   [E4] load acquire, version; first     pairs with [E3]
 *   [E5] load acquire, every field        a value of [E2] brings its odd version: [E6] sees it
 *   [E6] load relaxed, version; again     after the fields, by [E5]
 *   [E7] store release / load acquire, next     publishes a chunk
 */
#ifndef AXO__SYSTEM_STREAM_H
#define AXO__SYSTEM_STREAM_H

#include "cell/event.h"
#include "sched/pool.h"

#define AXO__PLACES_FIRST 8
#define AXO__PLACES_MORE 64

typedef struct axo__place {
    /* Written under the mutex, read by every publisher: version odd means that a writer is
     * inside. */
    axo__a32 version;
    axo__a32 count;    /* number of rules */
    axo__a32 yes;      /* a bit for each rule that says yes */
    axo__a64 who;      /* reference bits; 0: free */
    axo__a32 kinds[AXO_KINDS_MAX];
} axo__place;

/* A block of places. The first block is part of the stream, so a system without subscribers
 * allocates none. */
typedef struct axo__places {
    axo__aptr next;
    uint32_t count;
    axo__place *all;
} axo__places;

typedef struct axo__stream {
    axo__os_mutex mutex;
    axo__core *core;
    axo__places first;
    axo__place first_places[AXO__PLACES_FIRST];
    uint32_t count[256]; /* guarded by the mutex */
} axo__stream;

/* Whether `wide` contains `kind`: a kind is a path of four bytes, and the bytes of `wide` up to its
 * last one that is not 0 must be those of `kind`. */
bool axo__kind_contains(uint32_t wide, uint32_t kind);

/* Makes an empty stream for `core`, which is complete but for its stream. false: no mutex. */
bool axo__stream_init(axo__stream *stream, axo__core *core);
void axo__stream_fini(axo__stream *stream);

/* Add or remove the rule "events under `kind`" of the subscriber `who`. subscribe: AXO_OK,
 * AXO_EEXIST, AXO_EGONE, AXO_ELIMIT, AXO_ENOMEM. unsubscribe: AXO_OK, AXO_ENOENT, AXO_ELIMIT. */
axo_status axo__stream_subscribe(axo__stream *stream, axo_ref who, uint32_t kind);
axo_status axo__stream_unsubscribe(axo__stream *stream, axo_ref who, uint32_t kind);

/* Sends the event to every subscriber that wants it. The caller is a worker or holds a door;
 * `local` is its own. */
void axo__stream_publish(axo__stream *stream, axo__local *local, const axo__event *event);

/* The number of places in use; for tests. */
uint32_t axo__stream_subscribers(axo__stream *stream);

#endif
