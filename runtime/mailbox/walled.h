/* walled.h - messages whose payload has walls (mem/wall.h): debug modes.
 *
 * Such a message owns its payload: it has the flag OWNED, and `destroy` is one of this file's, by
 * which it is known. So every queue, every end and every reader treats it right. To the program the
 * payload is one that was copied. `user` of destroy are the walls. */
#ifndef AXO__MAILBOX_WALLED_H
#define AXO__MAILBOX_WALLED_H

#include "mailbox/message.h"
#include "mem/wall.h"

/* Walls that payloads have. */
#define AXO__WALLED_KINDS                                                                          \
    ((uint32_t)AXO_WALL_CANARY | (uint32_t)AXO_WALL_GUARD | (uint32_t)AXO_WALL_FREEZE)

/* As axo__message_make_traced, of `size` > 0; pub.payload may be written to until it is closed.
 * The cache's walls have some of AXO__WALLED_KINDS. */
axo__message *axo__walled_make(axo__cache *cache, uint32_t tag, axo_ref sender, size_t size,
                               const axo_trace_context *trace);

/* The destructors. */
void axo__walled_canary(void *payload, void *user);
void axo__walled_pages(void *payload, void *user);

static inline bool axo__message_is_walled(const axo__message *message)
{
    if (axo__likely((message->flags & AXO__MESSAGE_OWNED) == 0))
        return false;
    return message->destroy == axo__walled_canary || message->destroy == axo__walled_pages;
}

/* The payload is complete, and nobody is to write to it; false: somebody has written past its end,
 * which is whole again now. */
bool axo__walled_close(axo__message *message);

/* The payload may be written to again. */
void axo__walled_open(axo__message *message);

/* Whether nobody has written past the payload of a message with walls. It is whole afterwards. */
bool axo__walled_mend(axo__message *message);

#endif
