/* time.h - messages that come later: raw timers, timers of an instance, the receive timeout.
 *
 * A timer never fires early, and on an idle machine at most one tick of AXO_TICK_NS late. Timers
 * of one worker that are due in the same tick fire in the order in which they were set. Times are
 * those of axo_options.clock.
 *
 * A timer's message counts as sent when it fires (stats.h). A cancelled one was never sent.
 *
 * A whole program is test/example/timers.c. */
#ifndef AXO_TIME_H
#define AXO_TIME_H

#include <axo/system.h>

/* The grain of the timers, in ns. */
#define AXO_TICK_NS INT64_C(65536)

/* The longest delay and period: 146 years. A longer one is AXO_EINVAL. */
#define AXO_DELAY_MAX (INT64_C(1) << 62)

/* Tags for a timer, and for axo_router_broadcast: it carries a PoisonPill or a Kill; its payload
 * must be empty. */
#define AXO_TIMER_POISON AXO_POISON_PILL
#define AXO_TIMER_KILL AXO_KILL

/* No message came for the time that axo_receive_timeout was given. */
#define AXO_RECEIVE_TIMEOUT UINT32_C(0xffff0003)

/* A message whose tag has this bit and is below AXO_TAG_SERVICES does not influence the receive
 * timeout. */
#define AXO_TAG_QUIET UINT32_C(0x40000000)

typedef enum axo_timer_kind {
    AXO_TIMER_ONCE = 0,
    AXO_TIMER_FIXED_DELAY = 1, /* the next `period` after this one fired: late ones push the rest */
    AXO_TIMER_FIXED_RATE = 2   /* the n-th is due at first + n * period: late ones are caught up
                                  on */
} axo_timer_kind;

/* A raw timer: a value to copy and keep. When its timer has fired for the last time, or was
 * cancelled, it names nothing, for ever; in another system it never does, whatever the seeds.
 * Zeroed memory names nothing. */
typedef struct axo_timer {
    uint64_t bits;
    uint64_t bits2;
} axo_timer;

AXO_BEGIN_DECLS

/* ---- raw timers: they belong to nobody and outlive who set them ------------------------------ */

/* Sends a message once, `delay_ns` from now. Sender is the caller. The payload is copied.
 *   thread    only the callback that was given `ctx`
 *   blocks    no
 *   returns   AXO_OK and *out (may be NULL); AXO_ECONTEXT; AXO_EINVAL (none as receiver, a
 *             reserved tag, NULL with a size, a delay below 0 or above AXO_DELAY_MAX);
 *             AXO_ETOOBIG; AXO_ENOMEM; AXO_ELIMIT (options.timers_max); AXO_ESTOPPING (the system
 *             has ended)
 *   after     on failure *out names nothing and nothing changed */
AXO_API axo_status axo_schedule_once(axo_ctx *ctx, int64_t delay_ns, axo_ref to, uint32_t tag,
                                     const void *payload, size_t size, axo_timer *out);

/* Sends it first after `first_ns`, then `delay_ns` after each time it was sent, until it is
 * cancelled or the receiver is gone; restarts of the receiver do not end it. A tick for which there
 * is no memory is dropped, and counted as that. AXO_EINVAL also for a delay below 1. */
AXO_API axo_status axo_schedule_fixed_delay(axo_ctx *ctx, int64_t first_ns, int64_t delay_ns,
                                            axo_ref to, uint32_t tag, const void *payload,
                                            size_t size, axo_timer *out);

/* As above at a fixed rate: what was late is caught up on, each tick on its own. */
AXO_API axo_status axo_schedule_fixed_rate(axo_ctx *ctx, int64_t first_ns, int64_t period_ns,
                                           axo_ref to, uint32_t tag, const void *payload,
                                           size_t size, axo_timer *out);

/* Cancels a raw timer. Of a cancel and a firing at the same time exactly one wins. A message that
 * was sent already is not taken back.
 *   thread    only the callback that was given `ctx`; whoever set the timer
 *   returns   true: once for each timer: it was waiting and will not fire (again); false too for a
 *             bad context */
AXO_API bool axo_timer_cancel(axo_ctx *ctx, axo_timer timer);

/* Marks a raw timer as one to run at close: if it is still waiting when /user begins to stop, its
 * message is sent then, before the children of /user are told to stop, and the timer is over. An
 * actor of /system that has a termination hook handles it before that; to others their own stop may
 * come first, to one of /user it always does: a dead letter then. A timer without the mark is
 * dropped when the system has ended, and counted as dropped.
 *   returns   whether the timer was waiting */
AXO_API bool axo_timer_at_close(axo_ctx *ctx, axo_timer timer);

/* The same from any thread; sender is none. AXO_EINVAL also for a NULL system. */
AXO_API axo_status axo_system_schedule_once(axo_system *system, int64_t delay_ns, axo_ref to,
                                            uint32_t tag, const void *payload, size_t size,
                                            axo_timer *out);
AXO_API axo_status axo_system_schedule_fixed_delay(axo_system *system, int64_t first_ns,
                                                   int64_t delay_ns, axo_ref to, uint32_t tag,
                                                   const void *payload, size_t size,
                                                   axo_timer *out);
AXO_API axo_status axo_system_schedule_fixed_rate(axo_system *system, int64_t first_ns,
                                                  int64_t period_ns, axo_ref to, uint32_t tag,
                                                  const void *payload, size_t size,
                                                  axo_timer *out);
AXO_API bool axo_system_timer_cancel(axo_system *system, axo_timer timer);
AXO_API bool axo_system_timer_at_close(axo_system *system, axo_timer timer);

/* ---- keyed timers: they belong to the running instance --------------------------------------- */

/* Starts a timer that sends to the caller itself, which is also the sender. The key is the
 * caller's own number. A timer of the same key is stopped first, with all that it has sent: a tick
 * of it that waits in the mailbox is never seen. They end with the instance: before pre_restart and
 * before post_stop; what those start ends after them. A suspended actor's ticks wait in its
 * mailbox. Ticks left in the mailbox of one that ends are suppressed dead letters; discarded ones
 * are counted as dropped.
 *   thread    only the callback that was given `ctx`
 *   returns   as axo_schedule_once; AXO_EINVAL also for a kind that is none, and for a period
 *             below 1 unless it is AXO_TIMER_ONCE, which does not look at it
 *   after     on failure the timer of this key is as it was */
AXO_API axo_status axo_timer_start(axo_ctx *ctx, uint64_t key, axo_timer_kind kind,
                                   int64_t first_ns, int64_t period_ns, uint32_t tag,
                                   const void *payload, size_t size);

/* Stops the timer of a key: no tick of it is seen from now on, not even one that waits in the
 * mailbox.
 *   returns   AXO_OK, AXO_ENOENT (there is none), AXO_ECONTEXT */
AXO_API axo_status axo_timer_stop(axo_ctx *ctx, uint64_t key);

/* Whether there is a timer of this key: from its start until it is stopped, or, of
 * AXO_TIMER_ONCE, until its tick is handled. false for a bad context. */
AXO_API bool axo_timer_active(axo_ctx *ctx, uint64_t key);

/* ---- receive timeout ------------------------------------------------------------------------- */

/* Sends the caller AXO_RECEIVE_TIMEOUT (no payload, no sender, not counted) whenever it has handled
 * no message for `after_ns`, again and again; 0 switches it off. Any message but a quiet one
 * (AXO_TAG_QUIET) starts the time anew, and so does this call. It belongs to the actor: it survives
 * restarts, and ends with the actor and with an attempt to create the first instance that failed.
 * While the actor is suspended the clock runs on.
 *   thread    only the callback that was given `ctx`
 *   returns   AXO_OK, AXO_ECONTEXT, AXO_EINVAL (below 0 or above AXO_DELAY_MAX), AXO_ENOMEM
 *   after     on failure it is as it was */
AXO_API axo_status axo_receive_timeout(axo_ctx *ctx, int64_t after_ns);

/* ---- the program's own clock ----------------------------------------------------------------- */

/* axo_options.clock says another time now: who has timers due is woken to look at them, and a
 * system without threads makes axo_host_fd readable. Nobody else tells sleeping workers how a
 * program's clock goes: call it after each step of one that steps, now and then for one that runs
 * by itself. Without a clock of the program's it does nothing.
 *   thread    any; after the clock has been moved
 *   blocks    no
 *   returns   AXO_OK, AXO_EINVAL (NULL), AXO_EFORKED */
AXO_API axo_status axo_clock_changed(axo_system *system);

AXO_END_DECLS

#endif
