/* message.h - stands in the place of runtime/mailbox/message.h: who makes a message is the site,
 * not the functions that all of them call. */
#ifndef FAULT_SEAM_MESSAGE_H
#define FAULT_SEAM_MESSAGE_H

#include "mem/slab.h"

#undef axo__pool_alloc
#define axo__pool_alloc(cache, size) refuse_pool_alloc(NULL, cache, size)
#include "../../../../runtime/mailbox/message.h"
#undef axo__pool_alloc
#define axo__pool_alloc(cache, size) refuse_pool_alloc(REFUSE_HERE, cache, size)

#define axo__message_make(cache, tag, sender, size)                                                \
    (refuse_from(REFUSE_HERE), axo__message_make(cache, tag, sender, size))
#define axo__message_make_traced(cache, tag, sender, size, trace)                                  \
    (refuse_from(REFUSE_HERE), axo__message_make_traced(cache, tag, sender, size, trace))
#define axo__message_copy(cache, message)                                                          \
    (refuse_from(REFUSE_HERE), axo__message_copy(cache, message))

#endif
