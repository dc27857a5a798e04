/* event.h - what the layers below system/ tell the event stream and the book of dead letters.
 *
 * The stream is in system/, above, and is reached through axo__core.publish and axo__core.record,
 * which are NULL in a core without a stream. `local` says where the caller stands:
 *   a worker's    on that worker, with no lock held: in a turn (decisions, lives, leftovers of a
 *                 mailbox at the end, unhandled messages, sends to dead actors), or between turns
 *                 (timers whose receiver has gone, the drain after a grace period)
 *   a door's      inside that door: only axo__event_publish, whose way has no user code but the
 *                 allocator and priorities of mailboxes; nothing that logs or tells of a dead
 *                 letter
 *   the core's `outside`   an outside thread that is in no door: its dead letters, when it has left
 *                 it
 * Supervision never waits for an event: an event that finds no memory is counted as lost, and the
 * caller goes on (ES-04).
 *
 * axo__event_wants is one relaxed load. If a call that subscribes has returned, and its caller then
 * causes an event (by a message, say), the order of that cause makes the load find the bit.
 */
#ifndef AXO__CELL_EVENT_H
#define AXO__CELL_EVENT_H

#include <axo/event.h>

#include "cell/core.h"

typedef struct axo__event {
    uint32_t kind;
    uint32_t size;
    axo_ref source;
    axo_ref sender; /* the actor that published the event; none: the runtime */
    const void *data;
} axo__event;

/* Whether any subscriber wants events with this first byte. Most systems have no subscriber, so
 * each place that tells an event pays one load and one branch. */
static inline bool axo__event_wants(const axo__core *core, uint32_t kind)
{
    uint32_t top = kind >> 24;
    return (axo__a64_load_relaxed(&core->wants[top >> 6]) >> (top & 63) & 1) != 0;
}

/* Publishes an event if its kind has a subscriber; otherwise the event costs its caller nothing
 * more. */
static inline void axo__event_publish(axo__local *local, const axo__event *event)
{
    axo__core *core = local->core;
    if (axo__unlikely(axo__event_wants(core, event->kind)))
        core->publish(local, event);
}

/* A counted message that its receiver did not know: tells the observer and the stream, on the
 * cell's runner. */
void axo__event_unhandled(axo__local *local, const axo__cell *cell, const axo__message *message);

void axo__event_tell_supervision(axo__local *local, const axo__cell *child, axo_directive decided,
                                 axo_directive directive, uint32_t kind);

/* Tells what happens to a failed child, in its parent's turn. `decided` is the decider's answer,
 * `directive` what is done (PH-06). */
static inline void axo__event_supervision(axo__local *local, const axo__cell *child,
                                          axo_directive decided, axo_directive directive)
{
    static const uint32_t kinds[] = {0, AXO_KIND_SUPERVISION_RESUME, AXO_KIND_SUPERVISION_RESTART,
                                     AXO_KIND_SUPERVISION_STOP, AXO_KIND_ESCALATION};
    AXO_DEBUG_ASSERT(directive >= AXO_RESUME && directive <= AXO_ESCALATE);
    if (axo__unlikely(axo__event_wants(local->core, kinds[directive])))
        axo__event_tell_supervision(local, child, decided, directive, kinds[directive]);
}

/* Tells that restarts wait for their turn, the cell's being the first, or that none does any more
 * (`wait` 0); in the turn of the cell or of its parent. */
void axo__event_storm(axo__local *local, const axo__cell *cell, uint32_t number, int64_t wait);

void axo__event_tell_life(axo__local *local, const axo__cell *cell, uint32_t kind);

/* Tells a step in the cell's life, a kind under AXO_KIND_LIFECYCLE, on the cell's runner. */
static inline void axo__event_life(axo__local *local, const axo__cell *cell, uint32_t kind)
{
    if (axo__unlikely(axo__event_wants(local->core, kind)))
        axo__event_tell_life(local, cell, kind);
}

/* The record of a message in the book of dead letters and in the event. */
axo_dead_record axo__event_dead_record(const axo__core *core, const axo__message *message,
                                       axo_ref recipient, axo_dead_reason reason,
                                       const char *path);

/* Tells the observer, the book and the stream of a counted message. `path`: the recipient's; NULL:
 * it is looked up, if the caller stands where it may. `why`: more about the reason, or NULL. The
 * caller holds no lock, since observers are the program's functions. */
void axo__dead_letter_tell(axo__local *local, const axo__message *message, axo_ref recipient,
                           axo_dead_reason reason, const char *path, const char *why);

/* Tells of the message if it counts, and frees it. The caller holds no lock. */
void axo__dead_letter_at(axo__local *local, axo__message *message, axo_ref recipient,
                         axo_dead_reason reason, const char *path);

static inline void axo__dead_letter(axo__local *local, axo__message *message, axo_ref recipient,
                                    axo_dead_reason reason)
{
    axo__dead_letter_at(local, message, recipient, reason, NULL);
}

#endif
