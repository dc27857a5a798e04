/* verdict.h - how a wait for another actor ended, and what is known about why. Whole programs are
 * test/example/ask_bank.c and test/example/watch.c. */
#ifndef AXO_VERDICT_H
#define AXO_VERDICT_H

#include <stddef.h>
#include <stdint.h>

#include <axo/export.h>
#include <axo/inspect.h>
#include <axo/ref.h>
#include <axo/status.h>
#include <axo/supervision.h>

#define AXO_VERDICT_PATH 192

/* What an ask that failed and a graceful stop report. A value: it may be copied and kept. */
typedef struct axo_verdict {
    uint64_t id;          /* the caller's, as it was given */
    axo_status status;    /* AXO_ETIMEDOUT; AXO_EGONE: the target has terminated; AXO_ESTOPPING:
                             the wait was stopped; AXO_ENOMEM: no memory to wait or for the answer;
                             AXO_ELIMIT: no timer to wait (options.timers_max); AXO_ETOOBIG: the
                             answer is larger than AXO_ANSWER_MAX (ask.h), and a dead letter;
                             AXO_EFAILED: the target has failed under the request, and its
                             supervisor has it told (axo_strategy.answer_failed);
                             AXO_OK: it is as wished */
    uint32_t tag;         /* of the request; 0: none */
    axo_ref target;       /* who was waited for; none: a promise */
    int64_t waited_ns;
    int64_t timeout_ns;   /* how long it was to be at most */
    char path[AXO_VERDICT_PATH]; /* target's, its end behind AXO_PATH_CUT if longer; "" if
                                    there is none */
    char tag_name[AXO_INSPECT_NAME]; /* what the target's class calls `tag`; "" if nothing */
    /* What the target was doing when the wait ended, as axo_inspect told; AXO_DOING_GONE and
     * zeroes if there was none any more. */
    uint32_t doing;       /* an axo_doing */
    uint32_t place;       /* of the request in its mailbox, from 1; 0: not seen there */
    uint32_t queued;      /* messages in its mailbox */
    uint32_t running_has_tag;
    uint32_t running_tag; /* running: of its message, if it has one */
    uint32_t reserved;    /* 0 */
    int64_t running_ns;   /* running: for how long, about */
    char running_name[AXO_INSPECT_NAME]; /* what its class calls that tag */
    /* AXO_EFAILED: as in axo_request_failed. */
    int32_t code;
    uint32_t has_status;
    char text[AXO_FAILURE_TEXT_MAX];
} axo_verdict;

AXO_BEGIN_DECLS

/* Writes a verdict as one line for people, cut to `size` bytes with the closing zero.
 *   thread    any
 *   returns   its whole length, as snprintf; 0 for NULL */
AXO_API size_t axo_verdict_text(const axo_verdict *verdict, char *out, size_t size);

AXO_END_DECLS

#endif
