/* supervision.h - failures, and what a parent decides about them. Whole programs are
 * test/example/hello_supervisor.c and, with a back-off, test/example/backoff.c. */
#ifndef AXO_SUPERVISION_H
#define AXO_SUPERVISION_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <axo/backoff.h>
#include <axo/export.h>
#include <axo/init.h>
#include <axo/message.h>
#include <axo/ref.h>

/* What kind of failure it is; axo_failure_kind_name has its name. */
typedef enum axo_failure_kind {
    AXO_FAILURE_NONE = 0,         /* no failure; never handed to a callback */
    AXO_FAILURE_ORDINARY = 1,     /* a status or axo_fail or axo_throw; default: Restart */
    AXO_FAILURE_INIT = 2,         /* construct or pre_start failed at creation; default: Stop */
    AXO_FAILURE_POST_RESTART = 3, /* construct or post_restart failed at re-creation: a sub-kind
                                     of INIT; default: Stop */
    AXO_FAILURE_KILLED = 5,       /* axo_kill; default: Stop */
    AXO_FAILURE_DEATH_PACT = 6,   /* AXO_TERMINATED was not handled; default: Stop */
    AXO_FAILURE_FATAL = 7,        /* outside the ordinary family; default: Escalate */
    AXO_FAILURE_ENDED = 8,        /* an AXO_PERMANENT actor ended by itself: axo_stop_self, a pill,
                                     a stop by another than its parent; default: Restart */
    AXO_FAILURE_CRASH = 9,        /* a signal in its own code, contained (crash.h); default:
                                     Restart, and Resume is Restart too */
    AXO_FAILURE_STUCK = 10,       /* it ran for longer than its class's watchdog_ms, and was
                                     interrupted in its own code (crash.h); default: as CRASH */
    AXO_FAILURE_MEMORY = 11       /* a bound of memory, or a misuse of it (memory.h); default:
                                     Restart */
} axo_failure_kind;

/* Where it happened. A pre_restart or a post_stop that fails is no failure that is decided: it
 * is a line in the log. */
typedef enum axo_site {
    AXO_SITE_NONE = 0,
    AXO_SITE_CONSTRUCT = 1,
    AXO_SITE_PRE_START = 2,
    AXO_SITE_RECEIVE = 3, /* a timer's message too */
    AXO_SITE_DECIDER = 5,
    AXO_SITE_POST_RESTART = 7,
    AXO_SITE_SETTLE = 9,
    AXO_SITE_MIGRATE = 11 /* of axo_class_replace (world.h) */
} axo_site;

/* A failure, as deciders and hooks see it; it lives until the callback that got it returns.
 * An escalated failure is handed on unchanged but for `reporter`: `actor` stays the one that
 * failed.
 *
 * Where one failure has led to another, `kind`, `site`, `code`, `text` and `actor` are of the last
 * one, which is what is decided; root_kind and root_code say what its callback raised; original_*
 * are of the first one:
 *
 *   what fails               kind           site            code, text   root_kind    original_*
 *   receive                  ORDINARY,      RECEIVE         of receive   as kind      none
 *                            FATAL
 *   settle                   ORDINARY,      SETTLE          of settle    as kind      none
 *                            FATAL
 *   migrate                  ORDINARY,      MIGRATE         of migrate   as kind      none
 *                            FATAL
 *   a crash in receive,      CRASH          of that         the signal;  as kind      none
 *   settle or a decider                     callback        where
 *   the watchdog, there      STUCK          of that         watchdog_ms; as kind      none
 *                                           callback        where
 *   a kill; a death pact     KILLED,        RECEIVE         0;           as kind      none
 *                            DEATH_PACT                     UNHANDLED
 *   a permanent one's end    ENDED          NONE            0            as kind      none
 *   memory: a bound, misuse  MEMORY         of the          ENOMEM;      as kind      none
 *                                           callback        EINVAL
 *   the first creation,      INIT           CONSTRUCT,      of that      what it      none: a retry
 *   or its retry                            PRE_START       callback     raised       keeps nothing
 *   a re-creation            POST_RESTART   CONSTRUCT,      of that      what it      the failure
 *                                           PRE_START,      callback     raised       that led to
 *                                           POST_RESTART                              the restart
 *   a re-creation's retry    POST_RESTART   as above        of the       of the       still the
 *                                                           last try     last try     first failure
 *   a decider                ORDINARY,      DECIDER         of the       as kind      none: nothing
 *                            FATAL                          decider                   of the child
 *
 *   An escalated failure is the child's, whole, original_* too. If the re-creation of the actor
 *   that escalated it fails then, that is a POST_RESTART of that actor, and original_* are of the
 *   first failure of the child. A pre_restart that fails is no failure that is decided, but a line
 *   in the log: post_restart is handed the failure that led to the restart, unchanged.
 *
 * A restart as a survivor or a sibling hands both hooks the failure that the restart is for, which
 * is another actor's; so original_* of its re-creation's failure are too. */
typedef struct axo_failure {
    uint32_t kind;       /* an axo_failure_kind */
    uint32_t site;       /* an axo_site */
    int32_t code;        /* the user's, from axo_fail or axo_throw; or the returned status */
    uint32_t root_kind;  /* what the callback raised: differs from kind for INIT and POST_RESTART */
    int32_t root_code;   /* the code that it raised: `code` */
    uint32_t has_message; /* 1: it failed in receive, under a message; 0: it did not */
    axo_ref actor;       /* who failed */
    axo_ref about;       /* DEATH_PACT: whose termination was not handled; else none */
    const char *text;    /* what the user said, at most AXO_FAILURE_TEXT_MAX bytes; "" if nothing,
                            or if the system's reserve of texts is spent (axo_stats counts it) */
    const char *original_text; /* POST_RESTART: the text of the failure that led to the restart;
                                  else "" */
    int32_t original_code;     /* POST_RESTART: its code; else 0 */
    uint32_t original_kind;    /* POST_RESTART: its kind; else AXO_FAILURE_NONE */
    axo_ref reporter;          /* in a decider: the child that it decides about, another than
                                  `actor` if that one's failure was escalated. In hooks: none */
    axo_ref sender;            /* has_message: who sent the message; a kill's, who killed; of
                                  AXO_TERMINATED, who has terminated. Else, from outside, or if
                                  the reserve of texts is spent: none */
    uint32_t tag;              /* has_message: the message's tag; else 0 */
    uint32_t has_status;       /* 1: `code` is the axo_status that the callback returned, or that
                                  the library gave (MEMORY); 0: it is the user's own number */
} axo_failure;

/* Bytes of a failure's text, with its closing zero; longer ones are cut. */
#define AXO_FAILURE_TEXT_MAX 112

/* Payload of AXO_REQUEST_FAILED (message.h). If the system's reserve of texts is spent the payload
 * has only AXO_REQUEST_FAILED_BARE bytes, those before `actor`, and message->size says so:
 * axo_request_failed_of copies what there is. */
typedef struct axo_request_failed {
    uint32_t tag;        /* the request's */
    int32_t code;        /* the failure's, as in axo_failure, like all that follows */
    uint32_t kind;
    uint32_t has_status;
    axo_ref actor;       /* who failed: the message's sender */
    char text[AXO_FAILURE_TEXT_MAX];
} axo_request_failed;
#define AXO_REQUEST_FAILED_BARE 16

/* What an AXO_REQUEST_FAILED says; without a text "" stands for it. `message` is one, and is being
 * handled. */
static inline axo_request_failed axo_request_failed_of(const axo_message *message)
{
    axo_request_failed failed;
    memset(&failed, 0, sizeof failed);
    memcpy(&failed, message->payload,
           message->size < sizeof failed ? AXO_REQUEST_FAILED_BARE : sizeof failed);
    failed.actor = message->sender;
    return failed;
}

/* What a parent decides about a failed child. */
typedef enum axo_directive {
    AXO_RESUME = 1,  /* go on with the same instance and its state; the message is gone */
    AXO_RESTART = 2, /* a new instance behind the same reference and mailbox */
    AXO_STOP = 3,    /* terminate the child */
    AXO_ESCALATE = 4, /* fail with the same cause and let the next parent decide */
    AXO_LATER = 5    /* not yet: the child stays failed until axo_decide_again */
} axo_directive;

/* A decider. It runs in the parent's own turn and may use its state; while it runs, axo_sender(ctx)
 * is the failed child. A number that is no directive is AXO_ESCALATE. It may fail like any
 * callback, by axo_throw, or by axo_fail, which counts whatever directive is returned then: the
 * parent fails with AXO_SITE_DECIDER. The directive is not looked at, nobody is told anything, no
 * budget counts it; the child stays failed until the parent's own failure is answered, and is then
 * resumed, restarted or stopped with it.
 *
 * One that has to ask elsewhere first says AXO_LATER: the child stays as it has failed, suspended,
 * with its mailbox and its children, and nobody is told anything, until axo_decide_again has the
 * decider asked anew. Meanwhile all else goes on, and to the child may happen what may happen to
 * one with a restart that waits (below). Who never asks again has a child that stays so.
 *   ctx       the parent's context
 *   state     the parent's state block
 *   failure   why the child failed
 *   user      the strategy's `user` */
struct axo_ctx;
typedef axo_directive (*axo_decider)(struct axo_ctx *ctx, void *state, const axo_failure *failure,
                                     void *user);

AXO_BEGIN_DECLS

/* The default decider: INIT, POST_RESTART, KILLED, DEATH_PACT: Stop; FATAL: Escalate; others:
 * Restart. Cases of one's own first, then this one, is how deciders compose.
 *   thread    any; arguments but `failure` are not looked at */
AXO_API axo_directive axo_decide_default(struct axo_ctx *ctx, void *state,
                                         const axo_failure *failure, void *user);

/* The stopping decider: FATAL: Escalate; others: Stop. */
AXO_API axo_directive axo_decide_stop(struct axo_ctx *ctx, void *state, const axo_failure *failure,
                                      void *user);

/* Escalates everything. */
AXO_API axo_directive axo_decide_escalate(struct axo_ctx *ctx, void *state,
                                          const axo_failure *failure, void *user);

/* The names of the enums' values, in small letters without what they have in common: "ordinary"
 * (axo_failure_kind_name), "receive" (axo_site_name), "restart" (axo_directive_name).
 *   thread    any
 *   returns   "?" for a number that is none */
AXO_API const char *axo_failure_kind_name(uint32_t kind);
AXO_API const char *axo_site_name(uint32_t site);
AXO_API const char *axo_directive_name(uint32_t directive);

/* Has the caller's decider asked again about a child for which it has said AXO_LATER: behind the
 * running callback, with the same failure, as one that has just been reported. An instance that a
 * restart of the caller has made may ask, too.
 *   thread    only the callback that was given `ctx`
 *   blocks    no; takes no memory
 *   returns   AXO_OK; AXO_ECONTEXT; AXO_EINVAL: no child of the caller, or one about which nothing
 *             has been put off; AXO_EGONE: it has ended */
AXO_API axo_status axo_decide_again(struct axo_ctx *ctx, axo_ref child);

/* Restarts for everything, FATAL too. */
AXO_API axo_directive axo_decide_restart(struct axo_ctx *ctx, void *state,
                                         const axo_failure *failure, void *user);

AXO_END_DECLS

/* Whom a directive reaches. */
typedef enum axo_scope {
    AXO_ONE_FOR_ONE = 0, /* the failed child only */
    AXO_ALL_FOR_ONE = 1, /* Restart and Stop: every child; Resume: the failed one */
    AXO_REST_FOR_ONE = 2 /* as all for one, with the failed child and those that were spawned after
                            it; those spawned before it are not touched. A restart keeps a child's
                            place in that order */
} axo_scope;

/* When an actor is restarted: OTP's kinds, as an option of a child (axo_props.lifetime).
 *
 *                          TRANSIENT              PERMANENT               TEMPORARY
 *   it fails               the decider            the decider             the decider, with Stop
 *                                                                         for Restart
 *   it ends by itself:     it ends                it fails with           it ends
 *   axo_stop_self, a pill,                        AXO_FAILURE_ENDED:
 *   a stop by another                             the decider
 *   its parent stops it,   it ends                it ends                 it ends
 *   or ends, or shutdown
 *   a sibling's failure    restarted              restarted               stopped
 *   restarts it
 *   its parent restarts    restarted              restarted               stopped
 *   and keeps it
 *   counts in a budget     yes                    yes, its ends too       no
 *
 * A temporary child that fails takes nobody with it, whatever the scope, when the decision is
 * Restart. Resume of a temporary one that failed to start, has crashed or was stuck is Stop: there
 * is nothing to resume.
 * Resume after AXO_FAILURE_ENDED keeps the permanent actor's instance, as if nobody had wanted it
 * stopped. A stop by another that finds a permanent actor failed waits for the answer to that
 * failure: after Resume it is the next failure, a restart takes it in.
 *
 * Unlike OTP's, the restarted child keeps its reference, its mailbox and its place; a normal and
 * an abnormal end differ by axo_stop_self and axo_fail, not by an exit reason; AXO_FAILURE_KILLED
 * goes to the decider like other failures (default: Stop); a budget that is spent stops the child,
 * not the supervisor. */
typedef enum axo_lifetime {
    AXO_TRANSIENT = 0,
    AXO_PERMANENT = 1,
    AXO_TEMPORARY = 2
} axo_lifetime;

/* How restarts are counted. */
typedef enum axo_window {
    AXO_WINDOW_FIXED = 0,  /* Akka's: opens at the first failure; one at its very end is in it */
    AXO_WINDOW_SLIDING = 1 /* Proto.Actor's: failures younger than the window */
} axo_window;

/* How many restarts a child may have. A fixed window with a duration and no count permits one
 * restart a window. The sliding form remembers at most AXO_SLIDING_MAX failures and needs
 * 0 <= retries_max < AXO_SLIDING_MAX. */
#define AXO_RETRIES_UNLIMITED (-1)
#define AXO_SLIDING_MAX 16

/* Directives that meet. A parent's directives wait until the child's next turn; one that runs a
 * long handler takes them when that returns. What waits together is told apart as far as it makes a
 * difference to an instance that has run (failing takes no memory, so there is no list):
 *
 *   a restart, as a survivor or sibling,   they are one restart: one pre_restart, one new instance,
 *   and another that is asked for before   for the first one's failure. The second would replace an
 *   the child has begun the first          instance that has handled nothing. Nothing tells the
 *                                          child; axo_stats counts it (restarts_merged), and the
 *                                          trace says AXO_EV_MERGE
 *   a restart for its own failure, and     two restarts, in the order they were asked for
 *   one as a survivor or sibling
 *   a restart that the child has begun,    two restarts: the second when the first is over
 *   and another
 *   a restart and a stop                   the stop overtakes the restart that waits: no hook of a
 *                                          restart runs, only post_stop. It ends a restart that
 *                                          waits for children, too
 *
 * Budgets count each restart that was decided, merged ones too. */

/* With a back-off, Restart is a delayed directive. It is decided and paid for (budget) at the
 * failure; then the failed child stays suspended, with its mailbox, its reference and its old
 * instance, until the delay is over; then the hooks run as always. It takes no memory at the
 * failure. Children's delays are counted apart. Meanwhile:
 *
 *   the child is stopped, by anyone          it ends, and nothing revives it
 *   the parent stops, or the system          the child ends with it
 *   the parent is suspended, or in a restart  a restart that comes due is held back like a report
 *                                            of a failure, and done when the parent runs again
 *   the parent restarts and keeps it         it is restarted with the parent, stays suspended, and
 *                                            is restarted once more when its own is due
 *   a sibling's all or rest for one          the same
 *
 * All for one and rest for one: the siblings run on until the restart is due; then those are
 * restarted that are there by then. A budget is in force beside it; its window sees the delays too:
 * one that is shorter than they are permits for ever. */

/* Answers to failed requests (axo_strategy.answer_failed). A request is a message of a user's that
 * has a sender. Each under which a child fails is answered once, when the failure is: after a
 * Resume at once, after a Restart (with a back-off: when it is due) before the new instance is
 * made, after a Stop when the child ends, before those who watch it hear of that. So it is if the
 * failure is escalated, if the child is killed or stopped meanwhile, or if its restart fails. It
 * takes no memory: the request's own becomes the answer's, and the text stays in the system's
 * reserve (axo_options.failure_texts) until the answer has been handled.
 *
 * Not answered are messages from outside, of the runtime (kills, notices) and of the child itself
 * (its timers' ticks too), one that it has stashed, since it is handled again, and one that its
 * pre_restart has passed on by axo_forward, since somebody else answers it. A child that has
 * answered, or passed on, and then fails in receive, or whose pre_restart answers, is not known to
 * have done so: its asker gets both, an ask takes the first. */

/* Poison (axo_strategy.quarantine). A failed message is handled once, and whoever wants it tried
 * again passes it on, or sends a copy, in pre_restart (or outside: a client that asks once more).
 * So a message that fails every instance restarts the actor for ever. With `quarantine` the actor
 * counts the instances in a row that have failed under the same message, and from that number on it
 * is poison: it is told of as a dead letter of reason AXO_DEAD_POISON, with the failure's code in
 * its text, and pre_restart is not shown it (its `message` is NULL), so nobody tries it again from
 * there. The actor is restarted as always, and who has asked is answered as always. Messages are
 * the same if their tag and the bytes of their payload are; who has sent them does not matter.
 * Instances that fail without a message, and other messages that are handled, do not end the row; a
 * failure under another message does. It counts for Restart alone, and for no
 * temporary child. A dead letter of poison counts as handled (axo_stats), as that of axo_drop. */

/* Storms (axo_options.storm_max). A back-off keeps one child from failing too often; when thousands
 * fail for one cause, their restarts together still take all workers from those that are healthy.
 * With the governor at most storm_max restarts begin together, and then one each
 * storm_window_ns / storm_max; those beyond wait for their turn, in the order in which they were
 * decided, each with a jitter of less than that span. A restart that waits is one with a back-off
 * in all that is said above; beside a back-off the turn is asked for when its delay is over. What
 * counts is the decision: all for one and rest for one are one restart each, survivors of a restart
 * none. Children of /system, a few services, are restarted at once and take no turn: the end of the
 * system may wait for them (axo_termination_hook). The first restart that waits and the last one
 * that has waited are events AXO_KIND_STORM (event.h) and lines of the log; axo_stats counts them
 * (restarts_governed). */

/* A strategy. One may serve many parents; it carries no state and must stay valid and unchanged
 * while any actor that uses it lives. */
typedef struct axo_strategy {
    size_t size;          /* sizeof(axo_strategy), set by AXO_STRATEGY */
    axo_scope scope;      /* zero: one for one */
    axo_window window;    /* zero: fixed */
    axo_decider decider;  /* NULL: axo_decide_default */
    void *user;           /* handed to the decider */
    int32_t retries_max;  /* restarts a child may have, 0..INT32_MAX; negative: unlimited.
                             Used only with `limited` */
    uint32_t limited;     /* 0: unlimited restarts; retries_max and within_ns are not
                             looked at */
    int64_t within_ns;    /* length of the window in ns; negative: no window */
    const axo_backoff *backoff; /* NULL: restarts are at once; else see above. As valid and
                                   unchanged as the strategy */
    uint32_t answer_failed; /* 1: when a child of this one fails in receive, who sent the message
                               gets an AXO_REQUEST_FAILED (message.h), and an ask its verdict with
                               AXO_EFAILED (verdict.h), whatever is decided; see below */
    uint32_t quarantine;    /* 0: none. A message under which this many instances of a child in a
                               row have failed is poison; see below */
} axo_strategy;
#define AXO_STRATEGY(...) AXO_INIT(axo_strategy, __VA_ARGS__)
static inline void axo_strategy_init(axo_strategy *out)
{
    const axo_strategy fresh = AXO_STRATEGY();
    *out = fresh;
}

#endif
