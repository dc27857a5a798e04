/* mailbox.h - mailboxes with a bound or an order of their own. A whole program is
 * test/example/mailboxes.c. */
#ifndef AXO_MAILBOX_H
#define AXO_MAILBOX_H

#include <stddef.h>
#include <stdint.h>

#include <axo/export.h>
#include <axo/init.h>
#include <axo/message.h>

/* In which order messages come. Whatever the kind, failures, directives and ends of children come
 * before all of them, and what was unstashed before the rest. */
typedef enum axo_mailbox_kind {
    AXO_MAILBOX_FIFO = 0,
    AXO_MAILBOX_PRIORITY = 1, /* smallest priority first, first in first out among equals */
    AXO_MAILBOX_CONTROL = 2   /* those of priority 0 first, each of the two first in first out */
} axo_mailbox_kind;

/* What happens to a message for which there is no room. AXO_TERMINATED, PoisonPill, Kill and what
 * the runtime sends have no bound: they are never refused, dropped or counted. Nor are the answers
 * and verdicts of what the receiver itself has asked for (ask.h, graceful.h), one for each, or
 * anything else for one instance (axo_draft_bind). But an AXO_EVENT finds no subscriber in whose
 * mailbox messages_max or more wait: it is lost to him. */
typedef enum axo_overflow {
    AXO_OVERFLOW_REFUSE = 0,   /* the send is AXO_EFULL, and nothing has changed */
    AXO_OVERFLOW_DROP_NEW = 1, /* it is a dead letter, AXO_DEAD_OVERFLOW; the send is AXO_OK */
    AXO_OVERFLOW_DROP_OLD = 2, /* the oldest are, until there is room; not with
                                  AXO_MAILBOX_PRIORITY. AXO_MAILBOX_CONTROL: those of priority 0
                                  last */
    AXO_OVERFLOW_PARK = 3      /* it is accepted and held, and the sending actor is parked */
} axo_overflow;

/* A parked actor takes no further messages of users until all that is held of it has found room;
 * no worker waits. The callback that sent goes on, and may send more: to this receiver it is held
 * too, behind the first, however much it is. What later callbacks of the parked actor (deciders,
 * the hooks of a restart) send there is AXO_EFULL: so no more than one turn's is held of it. Held
 * messages find room in turn, one sender after the other. A send from outside, of a timer or to
 * oneself parks nobody: from outside it is AXO_EFULL, of a timer a dead letter, to oneself it is
 * held.
 *
 * The parking delays nothing of what the system says: a parked actor fails, is restarted and stops
 * at once. It stays parked when it fails, and its next instance is until the held messages are in
 * or dead. A stop ends the parking; when the sender has terminated what is held is let in at once,
 * past the bound, so that its watchers hear of its end after its last message. When the receiver
 * terminates they are dead letters, behind its mailbox, and their senders go on. When park_ns have
 * passed they are dead letters too, AXO_DEAD_OVERFLOW, and the sender goes on.
 *
 * Two actors that are parked on each other, or more in a ring, stay so until one of them is
 * stopped, or until the park_ns of one: a program that sends requests and answers through bounded
 * mailboxes sets a limit, leaves the answers unbounded, or refuses instead. */

/* A mailbox. Bounds are of messages that wait, not of those held, stashed or in front. A message
 * counts with its envelope, and with its payload if that was handed over; a larger one than
 * bytes_max is let in when no other waits. Everything zero but `size`: first in first out without a
 * bound, as without a mailbox, but its length is known. */
typedef struct axo_mailbox {
    size_t size;             /* sizeof(axo_mailbox), set by AXO_MAILBOX */
    axo_mailbox_kind kind;   /* zero: FIFO */
    axo_overflow overflow;   /* zero: REFUSE; another one needs a bound */
    uint64_t messages_max;   /* 0: no bound */
    uint64_t bytes_max;      /* 0: no bound */
    /* Not with AXO_MAILBOX_FIFO; needed by the others. Called on the thread that sends, once for a
     * message; it must be quick, look at the message alone and call nothing of the library. Also
     * asked for AXO_TERMINATED, not for PoisonPill and Kill: they come when nothing else waits
     * (PRIORITY), or with the rest. Values over 0xffffff count as 0xffffff. */
    uint32_t (*priority)(const axo_message *message, void *user);
    void *user;              /* handed to priority */
    int64_t park_ns;         /* how long messages of one sender may be held, from the first of them
                                on, AXO_OVERFLOW_PARK only; 0: no limit */
} axo_mailbox;
#define AXO_MAILBOX(...) AXO_INIT(axo_mailbox, __VA_ARGS__)
static inline void axo_mailbox_init(axo_mailbox *out)
{
    const axo_mailbox fresh = AXO_MAILBOX();
    *out = fresh;
}

#endif
