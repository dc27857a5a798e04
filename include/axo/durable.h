/* durable.h - messages and state that outlive the process: durable mailboxes, and actors whose
 * state is a journal of events. A library of its own, libaxo-durable (pkg-config: axo-durable), on
 * LMDB: libaxo needs it not. <axo/axo.h> does not include it. A whole program is
 * test/example/durable.c. A store on JetStream: durable_nats.h.
 *
 *     axo_store_settings settings = AXO_STORE_SETTINGS(.path = "orders");
 *     status = axo_store_open(system, &settings, &problem, &store);
 *     axo_durable recipe = AXO_DURABLE(.store = store, .name = "billing");
 *     axo_props props = AXO_PROPS(.cls = &billing);
 *     status = axo_durable_spawn(ctx, &recipe, &props, &ref);
 *     ...
 *     status = axo_durable_send(ctx, store, "billing", ORDER, &order, sizeof order, 7);
 *     case AXO_DURABLE_ANSWER:              to the sender: 7 is on disk, or why it is not
 *
 * A durable mailbox has a name, which outlives actors and processes. What is sent to the name is
 * accepted when it is on disk, whether or not an actor has the name just then: an
 * axo_durable_answer says so. It is handled by the actor that was spawned under the name, in the
 * order in which it was accepted, one after the other, and acknowledged, so deleted, when receive
 * has returned AXO_OK. If receive fails, or the actor, the process or the machine ends before that,
 * the message is handled again: by the instance that goes on, or by the next one, or by the next
 * actor of that name; those behind it wait. So it is handled at least once. Each message of a
 * mailbox has a number, one greater than that of the message before; a handler that keeps the last
 * one it has seen knows a repeat (axo_durable_given). A message under which fails_max handlers have
 * failed, or that receive does not know (AXO_UNHANDLED), goes into the dead-letter box of its
 * mailbox, on disk too, where people look at it, send it again or delete it (axo_store_dead).
 *
 * The class, the reference, supervision and hooks are as always. The handler sees the message as it
 * was sent, with its sender, as long as that one's system lives. One that it stashes is
 * acknowledged when it has been handled; one that it forwards, or whose payload it takes over, when
 * receive returns AXO_OK. What is sent to the reference (axo_send, timers, watches, asks) is
 * ordinary, nowhere on disk, and comes between the durable ones. How it differs from another actor:
 *
 *   - Another receive is put on top by axo_durable_become. One that axo_become has put there sees
 *     durable messages that nobody acknowledges.
 *   - Resume handles the failed message again, too.
 *   - A message of a mailbox of its own order or bound is as any other (mailbox.h): durable ones
 *     come one at a time, past the bound.
 *
 * An actor with a journal (axo_durable.journal; Akka's persistent actor) keeps its state as the
 * events that have led to it. Its handlers do not change the state: they persist events
 * (axo_journal_persist), and each event is handed to `apply` when it is on disk. Until all that a
 * handler has persisted is applied no other message is handled: they are stashed. Before the first
 * message, each instance gets the last snapshot (`restore`) and the events behind it (`apply`). A
 * durable message whose handler persists is deleted in the transaction that writes its events: each
 * changes the journal once, also when the process is killed in between.
 *
 * A store is a folder with one LMDB environment, of one process at a time. One actor, in /system
 * and on the blocking dispatcher, writes: what comes while a transaction is being written goes into
 * the next one, together (group commit). Whoever sends waits for nobody. What the disk, the map or
 * memory has no room for is refused, AXO_ESYSTEM with the error beside it, and nothing has changed;
 * what cannot be refused (acknowledgements, failures, events) has a reserve of the map, and waits
 * for room on the disk. */
#ifndef AXO_DURABLE_H
#define AXO_DURABLE_H

#include <axo/system.h>

/* Bytes of the map, if none are said, and at least. */
#define AXO_STORE_MAP (AXO_CAST(uint64_t, 1) << 30)
#define AXO_STORE_MAP_MIN (AXO_CAST(uint64_t, 1) << 20)
/* Messages of a mailbox, and events of a journal, that are in memory at a time. */
#define AXO_STORE_LOADED 1024
/* Handlers that may fail under a message. */
#define AXO_DURABLE_FAILS 5
/* Bytes of axo_store_problem.text. */
#define AXO_STORE_TEXT_MAX 160

/* When what was written is on the disk itself. The end of the process, however it ends, loses
 * nothing in any of them. */
typedef enum axo_store_sync {
    AXO_SYNC_COMMIT = 0,  /* behind each transaction (fdatasync), before anybody is told */
    AXO_SYNC_INTERVAL = 1 /* each sync_ms. The end of the machine loses what was accepted since, and
                             may leave a folder that the next axo_store_open refuses */
} axo_store_sync;

typedef struct axo_store axo_store;

typedef struct axo_store_settings {
    size_t size;         /* sizeof(axo_store_settings), set by AXO_STORE_SETTINGS */
    const char *path;    /* a folder, made (0700) if there is none */
    uint64_t map_bytes;  /* what the file may grow to, at least AXO_STORE_MAP_MIN; 0: AXO_STORE_MAP.
                            An eighth more is the reserve. It may be another one next time */
    uint32_t sync;       /* an axo_store_sync */
    uint32_t sync_ms;    /* AXO_SYNC_INTERVAL: 0: 1000 */
    uint32_t loaded_max; /* of each mailbox; 0: AXO_STORE_LOADED */
    uint32_t no_check;   /* 1: the file is not read through at the open (below) */
} axo_store_settings;
#define AXO_STORE_SETTINGS(...) AXO_INIT(axo_store_settings, __VA_ARGS__)
/* As the macro, for C++ before C++20 (init.h). */
static inline void axo_store_settings_init(axo_store_settings *out)
{
    const axo_store_settings fresh = AXO_STORE_SETTINGS();
    *out = fresh;
}

/* Why a store could not be opened. */
typedef struct axo_store_problem {
    int32_t error; /* an errno, or one of LMDB's, which are below 0; 0: none beside the status */
    char text[AXO_STORE_TEXT_MAX];
} axo_store_problem;

/* What a store has done since it was opened. */
typedef struct axo_store_figures {
    uint64_t accepted; /* messages */
    uint64_t refused;
    uint64_t acknowledged;
    uint64_t failed;       /* times that a handler failed under one */
    uint64_t dead;         /* put into a dead-letter box */
    uint64_t events;       /* persisted */
    uint64_t transactions; /* written */
    uint64_t errors;       /* that could not be written */
} axo_store_figures;

/* An event of a journal, as `apply` gets it; a snapshot, as `restore` does. */
typedef struct axo_journal_event {
    uint64_t number;     /* from 1; of a snapshot: of the last event that it stands for */
    const void *payload; /* aligned for any object; lives during the call; NULL for none */
    uint32_t tag;
    uint32_t size;
    axo_ref sender;      /* of the message whose handler has persisted it, to be answered now that
                            it is on disk; none in recovery */
    uint32_t recovering; /* 1: it is of an earlier instance */
    uint32_t reserved;   /* 0 */
} axo_journal_event;

/* Changes the state by an event; a failure is the actor's. */
typedef axo_status (*axo_journal_fn)(axo_ctx *ctx, void *state, const axo_journal_event *event);

typedef struct axo_journal {
    size_t size;            /* sizeof(axo_journal), set by AXO_JOURNAL */
    axo_journal_fn apply;   /* not NULL */
    axo_journal_fn restore; /* makes the state of a snapshot's payload; NULL: a journal that has one
                               fails the actor */
    axo_start_fn recovered; /* all events are applied, messages come now; may be NULL */
} axo_journal;
#define AXO_JOURNAL(...) AXO_INIT(axo_journal, __VA_ARGS__)
/* As the macro, for C++ before C++20 (init.h). */
static inline void axo_journal_init(axo_journal *out)
{
    const axo_journal fresh = AXO_JOURNAL();
    *out = fresh;
}

typedef struct axo_durable {
    size_t size; /* sizeof(axo_durable), set by AXO_DURABLE */
    axo_store *store;
    const char *name;           /* of the mailbox and the journal: 1..AXO_NAME_MAX bytes, any but 0;
                                   copied. One actor at a time has it */
    const axo_journal *journal; /* copied; NULL: none */
    uint32_t fails_max;         /* 0: AXO_DURABLE_FAILS */
    uint32_t reserved;          /* 0 */
} axo_durable;
#define AXO_DURABLE(...) AXO_INIT(axo_durable, __VA_ARGS__)
/* As the macro, for C++ before C++20 (init.h). */
static inline void axo_durable_init(axo_durable *out)
{
    const axo_durable fresh = AXO_DURABLE();
    *out = fresh;
}

/* To the sender of axo_durable_send: what became of its message, an axo_durable_answer. */
#define AXO_DURABLE_ANSWER (AXO_TAG_SERVICES + 0x90)

typedef struct axo_durable_answer {
    uint64_t id;     /* as it was given to axo_durable_send */
    uint64_t number; /* of the message in its mailbox; 0: refused */
    int32_t status;  /* AXO_OK: it is on disk; AXO_ESYSTEM: refused, `error` says why;
                        AXO_ESTOPPING: the store ends; AXO_ETIMEDOUT: nobody knows yet
                        (durable_nats.h); AXO_ETOOBIG, AXO_ENOMEM */
    int32_t error;   /* ENOSPC; -30792: LMDB's map is full */
} axo_durable_answer;

/* What the running handler has in hand. */
typedef struct axo_durable_given {
    uint64_t number; /* of the durable message; 0: it is an ordinary one */
    uint32_t fails;  /* how many handlers have failed under it */
    uint32_t again;  /* 1: it may have been handled, or begun, before: by another instance, or by
                        another process */
} axo_durable_given;

/* Why a message is in a dead-letter box. */
typedef enum axo_store_reason {
    AXO_STORE_FAILED = 1,    /* fails_max handlers have failed */
    AXO_STORE_UNHANDLED = 2, /* receive did not know it */
    AXO_STORE_DAMAGED = 3    /* its bytes on disk are not those that were written; they are kept as
                                they are */
} axo_store_reason;

typedef struct axo_store_letter {
    uint64_t number;     /* as it had in the mailbox */
    int64_t accepted_ns; /* since 1970 */
    int64_t died_ns;
    const void *payload; /* lives during the call */
    uint32_t tag;
    uint32_t size;
    uint32_t reason; /* an axo_store_reason */
    uint32_t fails;
    int32_t code;      /* of the last failure, if it is known */
    uint32_t reserved; /* 0 */
    const char *text;  /* of it */
} axo_store_letter;

/* What is done with a letter that was looked at. */
typedef enum axo_store_then {
    AXO_STORE_KEEP = 0,
    AXO_STORE_DELETE = 1,
    AXO_STORE_AGAIN = 2 /* to the end of its mailbox, with a new number, and no failures */
} axo_store_then;
typedef axo_store_then (*axo_store_dead_fn)(void *user, const axo_store_letter *letter);

AXO_BEGIN_DECLS

/* Opens a store for a system, which closes it before axo_system_wait and axo_system_stop return,
 * when all that its actors have acknowledged is written. Unless no_check, the file is read through:
 * one that is torn, or has bytes that cannot be, is refused and not touched.
 *   problem   may be NULL; says why in words
 *   blocks    by the size of the file
 *   returns   AXO_OK; AXO_EINVAL; AXO_EVERSION: the settings, or another version's file, or no
 *             store's; AXO_EBUSY: another process has it, or this one; AXO_ESYSTEM: problem->error;
 *             AXO_ENOMEM, and as axo_system_spawn
 *   after     on failure *out is NULL, and of the folder's files only LMDB's own have changed */
AXO_API AXO_NODISCARD axo_status axo_store_open(axo_system *system,
                                                const axo_store_settings *settings,
                                                axo_store_problem *problem, axo_store **out);

/* Fills *out. Any thread. */
AXO_API axo_status axo_store_count(axo_store *store, axo_store_figures *out);

/* Spawns an actor that has a durable mailbox, with a journal if it is to; otherwise as axo_spawn
 * and axo_system_spawn.
 *   props     args with a size are copied. stash_max 0: no bound
 *   returns   as they do; AXO_EINVAL (the recipe, a store of another system), AXO_EVERSION,
 *             AXO_EEXIST also: a living actor has the mailbox; AXO_ESTOPPING also: the store
 *             ends */
AXO_API AXO_NODISCARD axo_status axo_durable_spawn(axo_ctx *ctx, const axo_durable *recipe,
                                                   const axo_props *props, axo_ref *out);
AXO_API AXO_NODISCARD axo_status axo_system_durable_spawn(axo_system *system,
                                                          const axo_durable *recipe,
                                                          const axo_props *props, axo_ref *out);

/* Sends a message to a durable mailbox; `size` bytes of `payload` are copied. On AXO_OK the caller
 * is sent exactly one AXO_DURABLE_ANSWER with this id, by the store, past the bound of its mailbox;
 * only the answers to an instance that has been restarted meanwhile are suppressed dead letters.
 * Messages of one sender to one mailbox keep their order.
 *   thread    only the callback that was given `ctx`
 *   blocks    no
 *   returns   AXO_OK: an answer will come; AXO_ECONTEXT, AXO_EINVAL (a tag from AXO_TAG_SERVICES
 *             up, NULL with a size), AXO_ENAME, AXO_ETOOBIG, AXO_ENOMEM, AXO_ESTOPPING: nothing was
 *             sent and no answer will come */
AXO_API AXO_NODISCARD axo_status axo_durable_send(axo_ctx *ctx, axo_store *store, const char *name,
                                                  uint32_t tag, const void *payload, size_t size,
                                                  uint64_t id);

/* As axo_durable_send, from a thread, which waits until the message is on disk.
 *   thread    any but a worker's: it would hold that up
 *   blocks    for `timeout_ns` of the operating system's clock at most; negative: for ever
 *   returns   AXO_OK: it is on disk; what an axo_durable_answer says, which *answer (may be NULL)
 *             is; AXO_ETIMEDOUT: it may still come to disk; and as axo_durable_send */
AXO_API AXO_NODISCARD axo_status axo_system_durable_send(axo_store *store, const char *name,
                                                         uint32_t tag, const void *payload,
                                                         size_t size, int64_t timeout_ns,
                                                         axo_durable_answer *answer);

/* Says which durable message the running receive has in hand.
 *   returns   AXO_OK; AXO_ECONTEXT; AXO_EINVAL: no durable actor's callback; then *out is zeroed */
AXO_API axo_status axo_durable_now(axo_ctx *ctx, axo_durable_given *out);

/* As axo_become, for a durable actor. A restart clears the stack.
 *   returns   AXO_OK, AXO_ECONTEXT, AXO_EINVAL, AXO_ENOMEM */
AXO_API AXO_NODISCARD axo_status axo_durable_become(axo_ctx *ctx, axo_receive_fn receive);

/* As axo_unbecome, for a durable actor.
 *   returns   AXO_OK, AXO_ECONTEXT, AXO_EINVAL */
AXO_API axo_status axo_durable_unbecome(axo_ctx *ctx);

/* Shows the letters of a mailbox's dead-letter box, oldest first, and does with each what `look`
 * says: each of those by a transaction of its own, which is on disk when the next one is shown. One
 * that was sent again, and is dead again, is not shown once more.
 *   thread    any but a worker's; `look` calls nothing of the store
 *   returns   AXO_OK and in *count (may be NULL) how many were shown; AXO_EINVAL, AXO_ENAME,
 *             AXO_ESYSTEM, AXO_ENOMEM, AXO_ESTOPPING: the last one shown is as it was */
AXO_API axo_status axo_store_dead(axo_store *store, const char *name, axo_store_dead_fn look,
                                  void *user, uint64_t *count);

/* Persists an event: written when the running handler has returned AXO_OK, together with the others
 * of that handler, all or none; each is then handed to `apply`. A handler that fails has persisted
 * nothing. While the disk has no room the actor waits.
 *   thread    only the receive that was given `ctx`
 *   blocks    no
 *   returns   AXO_OK, AXO_ECONTEXT, AXO_EINVAL (no actor with a journal, no receive of its, or NULL
 *             with a size), AXO_ETOOBIG, AXO_ENOMEM */
AXO_API AXO_NODISCARD axo_status axo_journal_persist(axo_ctx *ctx, uint32_t tag,
                                                     const void *payload, size_t size);

/* Keeps a snapshot of the state as the last event that was applied has left it; in `apply`: the one
 * in hand. When it is on disk it stands in the place of the one before and of the events up to that
 * one. In the callbacks of an actor with a journal, once it has recovered.
 *   returns   as axo_journal_persist; AXO_EBUSY: it recovers */
AXO_API AXO_NODISCARD axo_status axo_journal_snapshot(axo_ctx *ctx, const void *payload,
                                                      size_t size);

/* The number of the last event that was applied; 0: none, or no such actor. */
AXO_API uint64_t axo_journal_number(axo_ctx *ctx);

AXO_END_DECLS

#endif
