/* backoff_supervisor.h - an actor that keeps one child and, when it ends or fails, makes a new one
 * after a delay. A whole program is test/example/backoff.c.
 *
 *     static const axo_props worker = AXO_PROPS(.cls = &worker_class, .name = "worker");
 *     static const axo_backoff delays = AXO_BACKOFF(.min_ns = 3 * S, .max_ns = 30 * S);
 *     axo_backoff_supervisor settings =
 *         AXO_BACKOFF_SUPERVISOR(.child = &worker, .backoff = &delays, .when = AXO_ON_FAILURE);
 *     axo_props props;
 *     axo_backoff_supervisor_props(&settings, "keeper", &props);
 *     axo_spawn(ctx, &props, &ref);
 *
 * The new child is another actor with an empty mailbox and another reference: what the old one had
 * queued or stashed are dead letters, and its restart hooks are not called. A strategy's own
 * back-off (axo_strategy.backoff) keeps all of that.
 *
 * What is sent to the supervisor goes to the child, with its sender; what the child sends to its
 * parent goes to the supervisor's parent, with the supervisor as sender.
 *
 * The first child is started at once, also when the supervisor is restarted, and then the count is
 * zero. Two surprises: with AXO_ON_FAILURE a child whose start fails is stopped by the default
 * decider, and the supervisor with it, without any delay; with AXO_ON_STOP a child that fails is
 * restarted by the default decider, at once: use axo_decide_stop.
 */
#ifndef AXO_BACKOFF_SUPERVISOR_H
#define AXO_BACKOFF_SUPERVISOR_H

#include <stddef.h>
#include <stdint.h>

#include <axo/actor.h>
#include <axo/backoff.h>
#include <axo/init.h>

/* To the supervisor; it answers the sender. An answer that the sender's mailbox refuses, or that
 * finds no memory, makes the question a dead letter. */
#define AXO_BACKOFF_GET_CHILD (AXO_TAG_SERVICES + 0x20) /* answer: AXO_BACKOFF_CHILD */
#define AXO_BACKOFF_GET_COUNT (AXO_TAG_SERVICES + 0x21) /* answer: AXO_BACKOFF_COUNT */

/* From the child to its parent: all is well, the next delay is the first again. Only with
 * manual_reset; else it is unhandled. */
#define AXO_BACKOFF_RESET (AXO_TAG_SERVICES + 0x22)

/* Answers. The child: axo_ref_none() during a delay; from its failure until it is gone still the
 * old one. The count, a uint32_t: starts after a delay since the last reset. */
#define AXO_BACKOFF_CHILD (AXO_TAG_SERVICES + 0x23)
#define AXO_BACKOFF_COUNT (AXO_TAG_SERVICES + 0x24)

/* When a child is replaced. */
typedef enum axo_backoff_when {
    AXO_ON_FAILURE = 0, /* the decider says Restart; when it ends otherwise the supervisor does
                           too */
    AXO_ON_STOP = 1     /* whenever it has ended, whatever the reason */
} axo_backoff_when;

/* What becomes of messages while there is no child. */
typedef enum axo_backoff_absent {
    AXO_ABSENT_DEAD_LETTER = 0, /* dead letters, to the last child */
    AXO_ABSENT_REPLY = 1,       /* their sender is sent `absent_tag` without payload, by nobody, so
                                   that it is not answered; one that comes here is a dead letter */
    AXO_ABSENT_STAND_IN = 2     /* they go to `stand_in` */
} axo_backoff_absent;

typedef struct axo_backoff_supervisor {
    size_t size;                 /* sizeof(axo_backoff_supervisor), set by the macro below */
    const axo_props *child;      /* with what it points at, valid and unchanged for as long as the
                                    supervisor lives; so `backoff` */
    const axo_backoff *backoff;  /* the delays. reset_after_ns: min_ns..max_ns, 0 or negative */
    axo_backoff_when when;
    axo_backoff_absent absent;
    axo_decider decider;         /* NULL: axo_decide_default; its state is NULL */
    void *user;                  /* handed to the decider */
    axo_ref stand_in;            /* AXO_ABSENT_STAND_IN */
    uint32_t absent_tag;         /* AXO_ABSENT_REPLY */
    uint32_t manual_reset;       /* 1: only AXO_BACKOFF_RESET resets the count; 0: a child that has
                                    lived for reset_after_ns does */
    int32_t retries_max;         /* with `limited`: so many delayed starts, 0..INT32_MAX; the next
                                    end or failure ends the supervisor */
    uint32_t limited;            /* 0: any number */
    int64_t within_ns;           /* AXO_ON_FAILURE: the count starts anew so long after the first
                                    failure; 0: it does not */
    uint32_t final_tag;          /* AXO_ON_STOP with `has_final`: once such a message has come, the
                                    child's next end ends the supervisor; at once, if there is no
                                    child */
    uint32_t has_final;
    uint32_t answer_failed;      /* 1: who sent the message under which the child fails is told, as
                                    by axo_strategy.answer_failed */
    uint32_t reserved;           /* 0 */
} axo_backoff_supervisor;
#define AXO_BACKOFF_SUPERVISOR(...) AXO_INIT(axo_backoff_supervisor, __VA_ARGS__)
/* As the macro, for C++ before C++20 (init.h). */
static inline void axo_backoff_supervisor_init(axo_backoff_supervisor *out)
{
    const axo_backoff_supervisor fresh = AXO_BACKOFF_SUPERVISOR();
    *out = fresh;
}

AXO_BEGIN_DECLS

/* Fills *props with the recipe of a supervisor; other fields may be set afterwards, but for cls,
 * args and strategy.
 *   thread    any
 *   owns      props->args is `settings`: it must be valid until the spawn, which copies it
 *   name      may be NULL; kept as a pointer
 *   returns   AXO_OK; AXO_EINVAL: NULL, a field out of its range; AXO_EVERSION
 *   after     on failure *props is unchanged */
AXO_API axo_status axo_backoff_supervisor_props(const axo_backoff_supervisor *settings,
                                                const char *name, axo_props *props);

AXO_END_DECLS

#endif
