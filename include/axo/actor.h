/* actor.h - what an actor is made of, and what its callbacks may do. A whole program is
 * test/example/hello_supervisor.c; with axo_become, test/example/stash_become.c. */
#ifndef AXO_ACTOR_H
#define AXO_ACTOR_H

#include <stddef.h>
#include <stdint.h>

#include <axo/dispatcher.h>
#include <axo/export.h>
#include <axo/init.h>
#include <axo/mailbox.h>
#include <axo/message.h>
#include <axo/ref.h>
#include <axo/status.h>
#include <axo/supervision.h>

/* The context of the running callback. Good inside the callback that got it and nowhere else: a
 * function that is given another one returns AXO_ECONTEXT and changes nothing. So every function
 * that takes a context is for the thread that runs that callback, and none waits for another actor.
 * Those that take an axo_system are for any thread (axo.h), actors too, unless they say
 * otherwise. */
typedef struct axo_ctx axo_ctx;
typedef struct axo_system axo_system;

/* Callbacks. Each returns AXO_OK, or another status, which is this actor's failure. A callback
 * runs on one worker at a time and sees everything that earlier ones of the same actor wrote. It
 * must not hold the worker for long: one that blocks belongs on another dispatcher (dispatcher.h).
 */
typedef axo_status (*axo_construct_fn)(axo_ctx *ctx, void *state, const void *args);
typedef axo_status (*axo_start_fn)(axo_ctx *ctx, void *state);
typedef axo_status (*axo_receive_fn)(axo_ctx *ctx, void *state, const axo_message *message);
typedef axo_status (*axo_stop_fn)(axo_ctx *ctx, void *state);
typedef axo_status (*axo_pre_restart_fn)(axo_ctx *ctx, void *state, const axo_failure *failure,
                                         const axo_message *message);
typedef axo_status (*axo_post_restart_fn)(axo_ctx *ctx, void *state, const axo_failure *failure);
typedef axo_status (*axo_settle_fn)(axo_ctx *ctx, void *state);

/* What a crash of a callback is, in a system with axo_options.contain (crash.h). */
typedef enum axo_on_crash {
    AXO_CRASH_ENDS = 0, /* it ends the process */
    AXO_CRASH_FAILS = 1 /* it is a failure, AXO_FAILURE_CRASH, if it can be contained */
} axo_on_crash;

/* The most that a state is aligned to, in bytes: a cache line. */
#define AXO_STATE_ALIGN 64

/* A class: the callbacks and the size of the state. It must stay valid and unchanged while any
 * actor of it lives, until every call that looks at actors has returned (axo_inspect, axo_health,
 * axo_metrics_write, axo_system_tag_name), and until a line of the log about one is out: one that
 * goes before its system does needs stuck_ns = -1, whose lines come at any time, and neither a
 * console nor a class with a watchdog in that system. axo_class_replace (world.h) waits for actors,
 * lines and watchdogs: then only such calls, and a console, are to be seen to. All but `receive`
 * may be NULL. */
typedef struct axo_class {
    size_t size;                      /* sizeof(axo_class), set by AXO_CLASS */
    const char *name;                 /* for reports; NULL: "actor" */
    size_t state_size;                /* bytes of the state block; zeroed before each construct,
                                         the same block for every instance. It is aligned for any
                                         object, and to the greatest power of two that divides
                                         its size, AXO_STATE_ALIGN at most: so as a type whose size
                                         this is may ask for (alignas) */
    axo_construct_fn construct;       /* the factory: called anew for each instance */
    axo_start_fn pre_start;           /* after construct, at creation */
    axo_receive_fn receive;           /* handles a message; AXO_UNHANDLED: not known to it */
    axo_stop_fn post_stop;            /* at most once an instance, and only for one whose start
                                         finished */
    axo_pre_restart_fn pre_restart;   /* on the old instance; NULL: axo_default_pre_restart.
                                         `message` is the one under which this instance failed
                                         (AXO_KILL, AXO_INJECTED: it was told to), else NULL */
    axo_post_restart_fn post_restart; /* on the new instance; NULL: axo_default_post_restart */
    const char *(*tag_name)(uint32_t tag); /* what a tag is called, for reports; NULL, or a NULL
                                         result: its number only. Called from any thread: it has
                                         no context and calls nothing of the library */
    axo_settle_fn settle;             /* at the end of a turn that has asked: axo_want_settle */
    uint32_t on_crash;                /* an axo_on_crash; without axo_options.contain a crash ends
                                         the process */
    uint32_t watchdog_ms;             /* a callback that runs for longer fails, AXO_FAILURE_STUCK,
                                         when it is in its own code, within twice that and some 50
                                         milliseconds; one that never is is reported (crash.h).
                                         Needs AXO_CRASH_FAILS, else AXO_EINVAL; nobody looks
                                         without axo_options.contain, in a manual system, in one of
                                         lent threads and on other dispatchers than the default one.
                                         0: never */
    const void *user;                 /* the program's: comes to axo_options.trace with each event
                                         of an actor of the class (axo_event.cls), say a profiler's
                                         name of a zone; the library does not look at it */
} axo_class;
#define AXO_CLASS(...) AXO_INIT(axo_class, __VA_ARGS__)
static inline void axo_class_init(axo_class *out)
{
    const axo_class fresh = AXO_CLASS();
    *out = fresh;
}

/* A recipe for an actor. axo_spawn copies it, the name, and args_size bytes of args. */
typedef struct axo_props {
    size_t size;                  /* sizeof(axo_props), set by AXO_PROPS */
    const axo_class *cls;         /* not NULL */
    const void *args;             /* handed to each construct; with args_size 0 the pointer
                                     itself is handed on and must stay valid */
    size_t args_size;             /* bytes to copy, at most AXO_ARGS_MAX; the copy is aligned for
                                     any object and lives as long as the actor */
    const char *name;             /* unique among living and dying siblings, 1..AXO_NAME_MAX bytes
                                     of [A-Za-z0-9_.~+=@:-], not "." or "..": axo_name_check; NULL:
                                     the library gives one that begins with '$' */
    const axo_strategy *strategy; /* how it supervises its children; NULL: the default: one for
                                     one, default decider, unlimited restarts */
    uint32_t system_actor;        /* axo_system_spawn only; 1: child of /system, outlives /user */
    uint32_t dispatcher;          /* an axo_dispatcher: which threads run it */
    uint32_t stash_max;           /* messages it may stash at a time; 0: AXO_STASH_DEFAULT */
    axo_lifetime lifetime;        /* zero: AXO_TRANSIENT */
    const axo_mailbox *mailbox;   /* copied; NULL: first in first out without a bound */
    size_t memory_max;            /* bytes that an instance of it may hold, with its state
                                     (memory.h); at least as many as the state and the copy of
                                     args take, else AXO_EINVAL; 0: no bound. Beyond it axo_alloc
                                     and what else takes such memory says that there is none */
    size_t memory_tree_max;       /* the same of the actor and all below it, together; a child whose
                                     state has no room left is AXO_ENOMEM. 0: no bound */
    uint32_t memory_fails;        /* 1: a callback that was refused memory by a bound fails when it
                                     returns, whatever it returns, with AXO_FAILURE_MEMORY */
    uint32_t memory_reserved;     /* 0 */
    size_t outstanding_bytes;     /* of answers that it has asked for and bytes that it holds
                                     (demand.h), up to AXO_DEMAND_MAX; 0: no bound. Beyond it what
                                     it asks for is refused, and nothing that is sent to it */
    uint32_t outstanding_max;     /* answers that may be owed to it at a time, more only if
                                     none is when they are asked for; 0: no bound */
    uint32_t outstanding_answer;  /* bytes of the longest answer; 0: it is learnt. Without
                                     outstanding_bytes AXO_EINVAL */
} axo_props;
#define AXO_PROPS(...) AXO_INIT(axo_props, __VA_ARGS__)
static inline void axo_props_init(axo_props *out)
{
    const axo_props fresh = AXO_PROPS();
    *out = fresh;
}

#define AXO_NAME_MAX 255
/* What stands before the end of a path for which there was no room, here and wherever the library
 * keeps paths in structs and lines: "<...>/c/d", or "<...>" and the end of a name. It is no name
 * and begins no path, so it leads to nobody. */
#define AXO_PATH_CUT "<...>"
#define AXO_STASH_DEFAULT 65536
#define AXO_ARGS_MAX 65536
/* Largest payload that is copied: 64 MiB less one page. */
#define AXO_PAYLOAD_MAX (AXO_CAST(size_t, 64) * 1024 * 1024 - 4096)

AXO_BEGIN_DECLS

/* ---- who am I ------------------------------------------------------------------------------ */

/* The running actor; axo_ref_none() for a bad context. */
AXO_API axo_ref axo_self(axo_ctx *ctx);

/* The number of the running instance, from 1: each restart adds one, and after 2^32 - 1 comes 1
 * again. 0 for a bad context. */
AXO_API uint32_t axo_instance(axo_ctx *ctx);

/* 64 bits to begin a stream of chance with: of the system's seed (axo_options.seed), the actor's
 * axo_ref_index and its instance, so the same in every run of a manual system that does the same.
 * 0 for a bad context. */
AXO_API uint64_t axo_seed(axo_ctx *ctx);

/* The time of the system's clock, in ns from no particular moment; 0 for a bad context. */
AXO_API int64_t axo_now(axo_ctx *ctx);

/* Its parent; axo_ref_none() for a bad context. */
AXO_API axo_ref axo_parent(axo_ctx *ctx);

/* Who sent the message that is being handled; in a decider the failed child; in hooks of a failed
 * instance the sender of the failing message; else none. */
AXO_API axo_ref axo_sender(axo_ctx *ctx);

/* The system it runs in; NULL for a bad context. */
AXO_API axo_system *axo_system_of(axo_ctx *ctx);

/* How many children are not yet gone, those that are stopping included. A child has its place
 * until its parent's turn has taken note of its end, and its name only until the end itself: who
 * is told of an end can spawn under the same name at once, and for that moment both the old and
 * the new child are counted.
 *
 * While a callback runs, its children end on other workers. What it has once seen of a name stays
 * so until it returns: when it has spawned the child, stopped it, got it from axo_child, or got
 * AXO_EEXIST for its name, then axo_spawn says AXO_EEXIST, axo_child gives this child and
 * axo_children lists it, though it may have ended meanwhile; a watch tells. And where axo_child
 * gives none, axo_spawn does not say AXO_EEXIST, unless axo_stop has come between. So no callback
 * can wait for a name: the next one, or a notice, finds it free. axo_find is for everybody, and
 * finds those who live. */
AXO_API uint32_t axo_child_count(axo_ctx *ctx);

/* Writes the children's references, youngest first, at most `max`.
 *   returns   how many there are, which may be more than `max` */
AXO_API uint32_t axo_children(axo_ctx *ctx, axo_ref *out, uint32_t max);

/* The child that has this name, living, dying or as axo_child_count says; axo_ref_none() if the
 * name is free. */
AXO_API axo_ref axo_child(axo_ctx *ctx, const char *name);

/* Writes an actor's path ("/user/a/b"), of any depth, and a closing zero. Only the caller's own
 * path and those of its ancestors and children can be asked for from a context.
 *   returns   AXO_OK; AXO_ETOOBIG: it is longer than `size`: its end was written, behind
 *             AXO_PATH_CUT; AXO_EINVAL, AXO_ECONTEXT, AXO_EGONE */
AXO_API axo_status axo_path(axo_ctx *ctx, axo_ref ref, char *out, size_t size);

/* ---- spawn and stop ------------------------------------------------------------------------ */

/* Starts an actor as a child of the caller; it is constructed and started later, on its own turn,
 * before any message to it is handled.
 *   thread    only the callback that was given `ctx`
 *   blocks    no
 *   returns   AXO_OK, AXO_ECONTEXT, AXO_EINVAL, AXO_EVERSION, AXO_ENAME, AXO_EEXIST, AXO_ENOMEM,
 *             AXO_ELIMIT, AXO_ESTOPPING (the caller is terminating), AXO_ETHREAD (no thread for its
 *             dispatcher)
 *   after     on failure *out is axo_ref_none() and nothing was started */
AXO_API AXO_NODISCARD axo_status axo_spawn(axo_ctx *ctx, const axo_props *props, axo_ref *out);

/* Stops an actor: its current message completes, the rest becomes dead letters. Anyone may stop
 * anyone; an AXO_PERMANENT actor ends for its parent only, and fails when another stops it. Takes
 * no memory and may be repeated.
 *   returns   AXO_OK, AXO_ECONTEXT, AXO_EINVAL (none), AXO_EGONE */
AXO_API axo_status axo_stop(axo_ctx *ctx, axo_ref ref);

/* Stops the caller after the running callback; for an AXO_PERMANENT one that is a failure of kind
 * AXO_FAILURE_ENDED.
 *   returns   AXO_OK, AXO_ECONTEXT */
AXO_API axo_status axo_stop_self(axo_ctx *ctx);

/* Sends a PoisonPill: the actor stops when it comes to it in its mailbox.
 *   returns   as axo_send */
AXO_API axo_status axo_poison(axo_ctx *ctx, axo_ref ref);

/* Sends a Kill: the actor fails with AXO_FAILURE_KILLED when it comes to it.
 *   returns   as axo_send */
AXO_API axo_status axo_kill(axo_ctx *ctx, axo_ref ref);

/* ---- send ---------------------------------------------------------------------------------- */

/* Sends a message; `size` bytes of `payload` are copied. Messages of one sender to one receiver
 * keep their order. The result may be ignored: sending to one that has gone is not exceptional; the
 * message is a dead letter then.
 *   thread    only the callback that was given `ctx`
 *   blocks    no
 *   returns   AXO_OK; AXO_EGONE (accepted, and dead-lettered at once); AXO_ECONTEXT, AXO_EINVAL
 *             (none as receiver, a reserved tag, NULL with a size), AXO_ETOOBIG, AXO_ENOMEM,
 *             AXO_EFULL (the mailbox refuses, mailbox.h): not accepted, nothing changed */
AXO_API axo_status axo_send(axo_ctx *ctx, axo_ref to, uint32_t tag, const void *payload,
                            size_t size);

/* As axo_send, with another actor as sender: how a request is forwarded. */
AXO_API axo_status axo_send_from(axo_ctx *ctx, axo_ref from, axo_ref to, uint32_t tag,
                                 const void *payload, size_t size);

/* As axo_send, to message->sender; AXO_EINVAL if that is none. */
AXO_API axo_status axo_reply(axo_ctx *ctx, const axo_message *message, uint32_t tag,
                             const void *payload, size_t size);

/* Sends on the message that is being handled (in pre_restart: the one that it failed under), with
 * its tag, its sender and its payload. A payload that was handed over is handed on: `message` has
 * none then, and the last receiver's end of it frees it.
 *   returns   as axo_send, and AXO_EINVAL: another message, a tag of the runtime, or a payload that
 *             was handed over of a message that is stashed
 *   after     on any but AXO_OK and AXO_EGONE `message` is what it was */
AXO_API axo_status axo_forward(axo_ctx *ctx, const axo_message *message, axo_ref to);

/* Takes the handed-over payload of the message that is being handled (in pre_restart: of the one
 * that it failed under): `message` has no payload then, and whoever called calls
 * out->destroy(out->payload, out->user) when he is done, unless destroy is NULL.
 *   returns   AXO_OK, AXO_ECONTEXT, AXO_EINVAL: another message, a payload that was copied, a
 *             message that is stashed, or one of the runtime; then *out is zeroed */
AXO_API axo_status axo_message_take(axo_ctx *ctx, const axo_message *message, axo_owned *out);

/* As axo_send, with a payload that is handed over and not copied.
 *   owns      on AXO_OK and AXO_EGONE the runtime owns `payload` and calls destroy(payload, user)
 *             once when its life ends; else the caller keeps it. destroy may be NULL */
AXO_API axo_status axo_send_owned(axo_ctx *ctx, axo_ref to, uint32_t tag, void *payload,
                                  size_t size, axo_payload_free destroy, void *user);

/* Sends a message to each of `count` actors, in this order; the payload is copied once for all, not
 * for each, and freed with the last of the messages: receivers only read it. An actor that stands
 * there twice gets it twice. One that refuses holds up none of the others.
 *   thread    only the callback that was given `ctx`
 *   returns   AXO_OK: all have accepted it; else the first status of axo_send that was another,
 *             AXO_EGONE for instance; in *accepted (may be NULL) how many said AXO_OK.
 *             AXO_ECONTEXT, AXO_EINVAL (a none among them, a reserved tag, NULL with a size or a
 *             count), AXO_ETOOBIG, AXO_ENOMEM for the copy: nothing was sent to anybody */
AXO_API axo_status axo_send_many(axo_ctx *ctx, const axo_ref *to, uint32_t count, uint32_t tag,
                                 const void *payload, size_t size, uint32_t *accepted);

/* A message to be filled in place and then moved. Its payload is `size` bytes, not initialised.
 *   returns   the writable payload in *out; AXO_OK, AXO_ECONTEXT, AXO_EINVAL, AXO_ETOOBIG,
 *             AXO_ENOMEM
 *   owns      the caller, until axo_send_message or axo_message_discard, which it must call
 *             before this callback returns; or whom the caller hands it to, such as a child by its
 *             arguments: any one actor of the system at a time may keep it, and nothing frees it if
 *             that one forgets it. A callback that axo_throw leaves has discarded the drafts that
 *             it made, but for those of axo_draft_keep */
typedef struct axo_draft axo_draft;
AXO_API AXO_NODISCARD axo_status axo_message_new(axo_ctx *ctx, uint32_t tag, size_t size,
                                                 axo_draft **draft, void **payload);

/* A draft whose payload is handed over, not filled: one that was taken over (axo_message_take), or
 * memory of one's own.
 *   owns      on AXO_OK the draft owns it and calls destroy once, also when it is discarded
 *   returns   *draft; AXO_OK, AXO_ECONTEXT, AXO_EINVAL, AXO_ETOOBIG, AXO_ENOMEM */
AXO_API AXO_NODISCARD axo_status axo_message_owning(axo_ctx *ctx, uint32_t tag,
                                                    const axo_owned *payload, axo_draft **draft);

/* Makes another actor, or nobody, the sender of a draft.
 *   returns   AXO_OK, AXO_ECONTEXT, AXO_EINVAL */
AXO_API axo_status axo_draft_from(axo_ctx *ctx, axo_draft *draft, axo_ref from);

/* Makes a draft one for the instance of its receiver with this number (axo_instance): once the
 * receiver has been restarted, however often, it is a dead letter, a suppressed one. So an answer
 * does not reach an instance that never asked. It is what its receiver waits for: no bound of a
 * mailbox refuses or counts it. May be called again.
 *   returns   AXO_OK, AXO_ECONTEXT, AXO_EINVAL (0) */
AXO_API axo_status axo_draft_bind(axo_ctx *ctx, axo_draft *draft, uint32_t instance);

/* Takes a draft out of what axo_throw discards: one that the running callback has made and hands to
 * another actor, if it may throw after that. Nothing happens for any other draft.
 *   returns   AXO_OK, AXO_ECONTEXT, AXO_EINVAL (NULL) */
AXO_API axo_status axo_draft_keep(axo_ctx *ctx, axo_draft *draft);

/* Sends a draft.
 *   owns      it is consumed on AXO_OK and AXO_EGONE, and still the caller's on any other
 *   returns   AXO_OK; AXO_EGONE (dead-lettered at once); AXO_ECONTEXT, AXO_EINVAL (none, NULL),
 *             AXO_EFULL, AXO_ENOMEM (to park the caller, mailbox.h) */
AXO_API axo_status axo_send_message(axo_ctx *ctx, axo_ref to, axo_draft *draft);

/* Frees a draft unsent. Nothing happens for NULL and for a bad context. */
AXO_API void axo_message_discard(axo_ctx *ctx, axo_draft *draft);

/* axo_schedule_once (time.h) without a handle.
 *   returns   as axo_schedule_once */
AXO_API axo_status axo_send_after(axo_ctx *ctx, int64_t delay_ns, axo_ref to, uint32_t tag,
                                  const void *payload, size_t size);

/* ---- fail ---------------------------------------------------------------------------------- */

/* Records a failure of the running callback; the failure happens when the callback returns the
 * result, so `return axo_fail(ctx, code, "...")` is the usual form. A later call replaces it; a
 * callback that returns AXO_OK all the same has not failed. A decider has no such result: in it the
 * failure counts, whatever directive is returned.
 *   returns   AXO_EFAILED; AXO_ECONTEXT for a bad context */
AXO_API axo_status axo_fail(axo_ctx *ctx, int32_t code, const char *format, ...) AXO_PRINTF(3, 4);

/* As axo_fail, outside the ordinary family: AXO_FAILURE_FATAL, which the default decider
 * escalates. */
AXO_API axo_status axo_fail_fatal(axo_ctx *ctx, int32_t code, const char *format, ...)
    AXO_PRINTF(3, 4);

/* As axo_fail, as a failure of another kind: how one actor stands for what has failed elsewhere, as
 * one that is a process does.
 *   kind      an axo_failure_kind; AXO_FAILURE_CRASH, AXO_FAILURE_STUCK, AXO_FAILURE_INIT and
 *             AXO_FAILURE_POST_RESTART break the instance: none of its hooks runs any more, its
 *             children are stopped, and Resume is Restart
 *   returns   as axo_fail; AXO_EINVAL: no kind, or AXO_FAILURE_NONE: nothing is recorded */
AXO_API axo_status axo_fail_as(axo_ctx *ctx, axo_failure_kind kind, int32_t code,
                               const char *format, ...) AXO_PRINTF(4, 5);

/* Fails at once: unwinds to the runtime from any depth of C calls. Memory taken through axo_alloc
 * and clean-ups given to axo_defer are seen to; destructors of C++ frames are not run. With a bad
 * context there is nowhere to go: it aborts the process. */
AXO_API AXO_NORETURN void axo_throw(axo_ctx *ctx, int32_t code, const char *format, ...)
    AXO_PRINTF(3, 4);

/* As axo_throw, with AXO_FAILURE_FATAL. */
AXO_API AXO_NORETURN void axo_throw_fatal(axo_ctx *ctx, int32_t code, const char *format, ...)
    AXO_PRINTF(3, 4);

/* ---- what an instance owns ----------------------------------------------------------------- */

/* Memory of the running instance, aligned for any object, not initialised; it goes when the
 * instance ends, however it ends, or by axo_free (memory.h).
 *   returns   NULL: no memory, a bound of it (axo_props.memory_max), size 0, or a bad context */
AXO_API void *axo_alloc(axo_ctx *ctx, size_t size);

/* Calls fn(arg) when the running instance ends, last in first out, before its memory goes. fn has
 * no context and must not throw.
 *   returns   AXO_OK, AXO_ECONTEXT, AXO_EINVAL, AXO_ENOMEM (then nothing was registered) */
AXO_API AXO_NODISCARD axo_status axo_defer(axo_ctx *ctx, void (*fn)(void *arg), void *arg);

/* ---- behaviour ----------------------------------------------------------------------------- */

/* Puts another receive function on top of the instance's stack; a restart clears it, a Resume keeps
 * it.
 *   returns   AXO_OK, AXO_ECONTEXT, AXO_EINVAL, AXO_ENOMEM */
AXO_API AXO_NODISCARD axo_status axo_become(axo_ctx *ctx, axo_receive_fn receive);

/* Takes the top off; the class's receive always stays.
 *   returns   AXO_OK, also if there is nothing to take off; AXO_ECONTEXT */
AXO_API axo_status axo_unbecome(axo_ctx *ctx);

/* ---- the end of a turn ---------------------------------------------------------------------- */

/* Has the class's settle called once, behind the messages that this turn of the actor still takes
 * and before the actor gives its worker back: the place to do once what each message would do else,
 * such as writing out all the answers to a hundred commands. However often a turn asks, it is one
 * call; who does not ask pays nothing.
 *
 * A stop, or a restart that another actor's failure has led to, finds it done: what messages have
 * asked for is settled first. An actor that has failed is not settled while it is suspended: behind
 * Resume it is, at the end of its next turn; a restart and a stop forget it, and pre_restart and
 * post_stop see what is left undone. So does the next instance not hear of it. settle itself may
 * ask, for the end of another turn, which follows behind what else the worker has to do. A settle
 * that fails is the actor's failure, with AXO_SITE_SETTLE and without a message.
 *   thread    only the callback that was given `ctx`
 *   blocks    no; takes no memory
 *   returns   AXO_OK; AXO_ECONTEXT; AXO_EINVAL: the class has no settle; AXO_ESTOPPING: in
 *             pre_restart and post_stop, behind which no turn of the instance comes */
AXO_API axo_status axo_want_settle(axo_ctx *ctx);

/* ---- default hooks ------------------------------------------------------------------------- */

/* What a NULL pre_restart does: unwatch and stop every child, then post_stop. For an override to
 * call.
 *   returns   what post_stop returned; AXO_ECONTEXT, also outside of pre_restart */
AXO_API axo_status axo_default_pre_restart(axo_ctx *ctx, void *state, const axo_failure *failure,
                                           const axo_message *message);

/* What a NULL post_restart does: pre_start.
 *   returns   what pre_start returned; AXO_ECONTEXT */
AXO_API axo_status axo_default_post_restart(axo_ctx *ctx, void *state, const axo_failure *failure);

/* ---- shutdown ------------------------------------------------------------------------------ */

/* Registers the caller, a child of /system, to be sent AXO_TERMINATION_HOOK when /user has
 * terminated; /system stops only when every registered actor has answered or gone.
 *   returns   AXO_OK, AXO_ECONTEXT, AXO_EINVAL (not a child of /system), AXO_ENOMEM,
 *             AXO_ESTOPPING */
AXO_API AXO_NODISCARD axo_status axo_termination_hook(axo_ctx *ctx);

/* The answer to AXO_TERMINATION_HOOK, which takes no memory; of who is not waited for it does
 * nothing.
 *   returns   AXO_OK, AXO_ECONTEXT, AXO_ESTOPPING */
AXO_API axo_status axo_termination_hook_done(axo_ctx *ctx);

AXO_END_DECLS

#endif
