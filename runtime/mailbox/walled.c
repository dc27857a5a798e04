/* walled.c - messages whose payload has walls. */
#include "mailbox/walled.h"

#include <string.h>

#include "base/assert.h"

/* Where a payload begins in its message's block: behind the destructor's `user` and an instance
 * (axo__message_behind), aligned as always. */
#define WALLED_FRONT ((size_t)16)
AXO_STATIC_ASSERT(sizeof(axo__message_behind) <= WALLED_FRONT, "a walled draft may be bound");

/* It lies in the message's block. */
void axo__walled_canary(void *payload, void *user)
{
    (void)payload;
    (void)user;
}

void axo__walled_pages(void *payload, void *user)
{
    axo__wall_give(user, payload);
}

static bool walled_freezes(const axo__walls *walls)
{
    return (walls->kinds & AXO_WALL_FREEZE) != 0;
}

axo__message *axo__walled_make(axo__cache *cache, uint32_t tag, axo_ref sender, size_t size,
                               const axo_trace_context *trace)
{
    axo__walls *walls = cache->pool->walls;
    AXO_DEBUG_ASSERT(walls != NULL && size > 0 && (walls->kinds & AXO__WALLED_KINDS) != 0);
    bool pages = (walls->kinds & (AXO_WALL_GUARD | AXO_WALL_FREEZE)) != 0;
    size_t room = pages ? WALLED_FRONT : WALLED_FRONT + size + AXO__CANARY;
    axo__message *message = axo__message_make_traced(cache, tag, sender, room, trace);
    if (message == NULL)
        return NULL;
    char *payload = (char *)(message + 1) + WALLED_FRONT;
    if (pages)
        payload = axo__wall_take(walls, 0, size);
    if (payload == NULL) {
        axo__message_free(cache, message);
        return NULL;
    }
    if (!pages)
        axo__canary_set(payload + size, AXO__CANARY);
    axo__message_own(message, payload, size, pages ? axo__walled_pages : axo__walled_canary, walls);
    return message;
}

static axo__walls *walled_walls(const axo__message *message)
{
    return *(void *const *)(const void *)(message + 1);
}

static void *walled_payload(const axo__message *message)
{
    return (void *)(uintptr_t)message->pub.payload;
}

void axo__walled_open(axo__message *message)
{
    if (message->destroy == axo__walled_pages && walled_freezes(walled_walls(message)))
        (void)axo__wall_thaw(walled_walls(message), walled_payload(message));
}

bool axo__walled_mend(axo__message *message)
{
    char *payload = walled_payload(message);
    size_t size = message->pub.size;
    bool canary = message->destroy == axo__walled_canary;
    AXO_DEBUG_ASSERT(axo__message_is_walled(message));
    if (canary ? axo__canary_lives(payload + size, AXO__CANARY) : axo__wall_is_whole(payload, size))
        return true;
    axo__walled_open(message);
    if (canary)
        axo__canary_set(payload + size, AXO__CANARY);
    else
        axo__wall_mend(payload, size);
    return false;
}

bool axo__walled_close(axo__message *message)
{
    bool whole = axo__walled_mend(message);
    if (message->destroy == axo__walled_pages && walled_freezes(walled_walls(message)))
        (void)axo__wall_freeze(walled_walls(message), walled_payload(message));
    return whole;
}
