/* block.h - blocks of the pool for payloads that are the system's own: of a group's messages, and
 * of messages to many.
 *
 * A block is taken and given back on any thread, in callbacks and destructors of payloads too, but
 * not behind a door. A worker uses its own cache, any other thread a door's. So a program that
 * sends the same frame after frame asks its allocator for nothing, as with other messages. */
#ifndef AXO__SYSTEM_BLOCK_H
#define AXO__SYSTEM_BLOCK_H

#include "system/system.h"

/* A block of `size` bytes, aligned for any object; NULL: no memory. */
void *axo__block_take(axo_system *system, size_t size);
void axo__block_give(axo_system *system, void *block, size_t size);

#endif
