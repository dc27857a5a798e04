/* cause.h - a failure by value, so that failing takes no memory; only its text is in a reserve.
 *
 * The reserve is made when the system starts. When it is spent, a failure goes on without its text
 * and the system counts the loss: supervision never waits for memory (D10). Copies of a cause share
 * their texts, which count their users.
 */
#ifndef AXO__CELL_CAUSE_H
#define AXO__CELL_CAUSE_H

#include <string.h>

#include <axo/crash.h>
#include <axo/supervision.h>

#include "base/atomic.h"
#include "mailbox/message.h"
#include "mem/alloc.h"

/* A failure's first 16 bytes. The original fields are those of a failure that the failure of a hook
 * has replaced (HF-11). A failure under a message has no original one, and the message's tag in its
 * place. `text`: an index into the reserve; 0: none. */
#define AXO__CAUSE_FIELDS                                                                          \
    int32_t code;                                                                                  \
    union {                                                                                        \
        int32_t original_code;                                                                     \
        uint32_t tag;                                                                              \
    };                                                                                             \
    uint32_t text : 21;                                                                            \
    uint32_t kind : 5;                                                                             \
    uint32_t site : 5;                                                                             \
    uint32_t status : 1; /* `code` is a status that a callback returned */                         \
    uint32_t original_text : 21;                                                                   \
    uint32_t original_kind : 5;                                                                    \
    uint32_t root_kind : 5;                                                                        \
    uint32_t whole : 1; /* of a short one: the family has the whole cause */

#define AXO__TEXT_MASK ((UINT32_C(1) << 21) - 1)

/* A failure. An escalation keeps `code`, `root_kind` and `actor` of the failure that began it
 * (DR-05). */
typedef struct axo__cause {
    AXO__CAUSE_FIELDS
    axo_ref actor;
    axo_ref about;
} axo__cause;

/* An actor's own cause, as its cell keeps it: `actor` is the cell's reference, and `about` lies in
 * `extra` or is none. */
typedef struct axo__cause_short {
    AXO__CAUSE_FIELDS
} axo__cause_short;

/* Callbacks beside those of axo_site: their failures are lines of the log and nothing else (HF-01,
 * HF-12). */
enum { AXO__SITE_PRE_RESTART = 6, AXO__SITE_POST_STOP = 8, AXO__SITE_CLEANUP = 10 };

/* Its callback was left at any instruction: the instance is broken (D53). */
static inline bool axo__kind_breaks(uint32_t kind)
{
    return kind == AXO_FAILURE_CRASH || kind == AXO_FAILURE_STUCK;
}

/* An actor fails under a message in receive, and in no other callback. */
static inline bool axo__site_has_message(uint32_t site)
{
    return site == AXO_SITE_RECEIVE;
}

/* A failure's text, and the sender of the message under which it happened. A failure that has a
 * sender and no text takes an empty text for the sender, so that an actor pays for neither before
 * it fails. */
typedef struct axo__text {
    axo__a32 users;
    axo__a32 next; /* free: index of the next free one */
    axo_ref sender;
    bool traced;             /* whether the handler that failed had a trace context: */
    axo_trace_context trace;
    axo_request_failed failed; /* the text; the rest only once axo__cause_tell has filled it in */
} axo__text;

typedef struct axo__texts {
    axo__heap *heap;
    axo__text *all; /* all[0] is not used */
    axo_crash *crashes; /* of each text the crash that it is of, `signal` 0: of none; NULL: the
                           system contains no crashes */
    uint32_t count;
    axo__a64 free;  /* index of the first free text; in the upper half a number against ABA */
    axo__a64 lost;
} axo__texts;

bool axo__texts_init(axo__texts *texts, axo__heap *heap, uint32_t count);
void axo__texts_fini(axo__texts *texts);

/* An empty text with one user and no sender; 0: the reserve is spent. Any thread. */
uint32_t axo__texts_take(axo__texts *texts);
char *axo__texts_at(axo__texts *texts, uint32_t index);

/* From now on a text may have a crash; false: no memory. Before the first text is taken. */
bool axo__texts_keep_crashes(axo__texts *texts);

/* Gives a text the crash that it is of; nothing happens for 0. The crash of a text, by the text's
 * address; NULL: it has none, or is none of the reserve's. */
void axo__texts_set_crash(axo__texts *texts, uint32_t index, const axo_crash *crash);
const axo_crash *axo__texts_crash(const axo__texts *texts, const char *text);

/* Adds `more` users to a cause's texts, or takes `fewer` of them away. The caller is a user before
 * and after, so the texts cannot be freed in between. */
void axo__cause_hold_texts(axo__texts *texts, const axo__cause *cause, uint32_t more);
void axo__cause_unhold_texts(axo__texts *texts, const axo__cause *cause, uint32_t fewer);
void axo__cause_drop_texts(axo__texts *texts, const axo__cause *cause);

static inline bool axo__cause_has_texts(const axo__cause *cause)
{
    return (cause->text | cause->original_text) != 0;
}

/* A copy that is a user of its texts like the original. */
static inline axo__cause axo__cause_copy(axo__texts *texts, const axo__cause *cause)
{
    if (axo__cause_has_texts(cause))
        axo__cause_hold_texts(texts, cause, 1);
    return *cause;
}

/* Gives up a cause and its use of the texts; the cause is empty afterwards. */
static inline void axo__cause_drop(axo__texts *texts, axo__cause *cause)
{
    if (axo__cause_has_texts(cause))
        axo__cause_drop_texts(texts, cause);
    *cause = (axo__cause){.kind = 0};
}

/* Keeps the sender of the message under which the actor failed, if the reserve of texts has
 * room. */
static inline void axo__cause_sent_by(axo__texts *texts, axo__cause *cause, axo_ref sender)
{
    if (axo_ref_is_none(sender))
        return;
    if (cause->text == 0)
        cause->text = axo__texts_take(texts) & AXO__TEXT_MASK;
    if (cause->text != 0)
        texts->all[cause->text].sender = sender;
}

/* Keeps what the message under which the actor failed says of itself: its sender, and the context
 * of its handler. On the cell's runner: for others the message may be gone. */
static inline void axo__cause_under(axo__texts *texts, axo__cause *cause,
                                    const axo__message *message)
{
    axo__cause_sent_by(texts, cause, message->pub.sender);
    if ((message->flags & AXO__MESSAGE_TRACED) == 0)
        return;
    if (cause->text == 0)
        cause->text = axo__texts_take(texts) & AXO__TEXT_MASK;
    if (cause->text != 0) {
        texts->all[cause->text].traced = true;
        texts->all[cause->text].trace = axo__message_trace(message);
    }
}

/* Fills in what the sender of the message is told; the text has one user more, which
 * axo__texts_free takes away. NULL: the cause has no text. The caller is the only user yet. */
axo__text *axo__cause_tell(axo__texts *texts, const axo__cause *cause);

/* The destructor of a payload that is a text: `user` is the reserve. Any thread. */
void axo__texts_free(void *payload, void *user);

static inline axo__cause_short axo__cause_shorten(const axo__cause *cause)
{
    axo__cause_short shortened;
    memcpy(&shortened, cause, sizeof shortened);
    return shortened;
}

/* The cause that an actor's short one stands for; `about` is none. */
static inline axo__cause axo__cause_of_short(const axo__cause_short *shortened, axo_ref actor)
{
    axo__cause cause = {.actor = actor};
    memcpy(&cause, shortened, sizeof *shortened);
    return cause;
}

/* The failure as users see it, without the reporter. Its texts live as long as the cause. */
axo_failure axo__cause_show(axo__texts *texts, const axo__cause *cause);

#endif
