/* store.h - a store, the mailboxes in it, the lives of the actors that have them.
 *
 *   axo_store      a base (base.h) of one system, and its writer, an actor (writer.c)
 *   durable_queue  a name: its mailbox, journal and dead-letter box; there until the store closes
 *   durable_life   one actor, over all its instances
 *   durable_block  a message, an event or a snapshot: on its way to disk, or from it
 *
 * Who may touch what: the store's lists are under store->mutex; a life's are under life->mutex, but
 * for those that are the writer's or the actor's alone. Each mutex is held for a few steps, never
 * over a transaction, and life->mutex never while store->mutex is.
 *
 * The way of a message:
 *
 *   requests -> [transaction] -> pending -> sent -> hand -> done -> [transaction] -> gone
 *                                  ^  |              |  \-> held, stashed by its handler -> hand
 *                                  |  more on disk   |  \-> dead -> [transaction] -> the box
 *                                  \-----------------/ the handler has failed
 *
 * Invariants
 *   I1  Of one mailbox at most one message is in `sent`, and one in `hand`.
 *   I2  pending is in order of the numbers, and nothing on disk that is below `loaded_to` is
 *       elsewhere than in pending, sent, hand, held, done, dead or the lists taken from these.
 *   I3  A life's done, dead and events of one handler are taken by the writer together, so they are
 *       in one transaction.
 *   I4  A block leaves the taken lists only when the transaction with it is committed.
 */
#ifndef DURABLE_STORE_H
#define DURABLE_STORE_H

#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include <axo/axo.h>
#include <axo/durable.h>

#include "base.h"

/* To the writer: look at the lists; sync. Of the writer: to an actor, that its lists have
 * something. The end of an actor, a durable_end. */
#define DURABLE_WORK (AXO_TAG_SERVICES + 0x91)
#define DURABLE_SYNC (AXO_TAG_SERVICES + 0x92)
#define DURABLE_WAKE (AXO_TAG_SERVICES + 0x93)
#define DURABLE_GONE (AXO_TAG_SERVICES + 0x94)

typedef enum durable_kind {
    DURABLE_MESSAGE = 0,
    DURABLE_EVENT = 1,
    DURABLE_SNAPSHOT = 2
} durable_kind;

/* Why a message dies. */
typedef struct durable_cause {
    uint32_t reason;
    int32_t code;
    char text[AXO_FAILURE_TEXT_MAX];
} durable_cause;

typedef struct durable_block {
    struct durable_block *next;
    axo_system *system; /* whose memory it is */
    atomic_uint refs;   /* the list that it is in; each message that has it as payload */
    uint32_t kind;
    uint64_t number;
    axo_ref sender;
    int64_t accepted_ns;
    uint32_t tag;
    uint32_t size;
    uint32_t fails;
    bool again;
    bool damaged;
    durable_cause cause; /* of one in `dead` */
    alignas(max_align_t) unsigned char bytes[];
} durable_block;

typedef struct durable_list {
    durable_block *first;
    durable_block *last;
    uint64_t count;
} durable_list;

typedef struct durable_life durable_life;

/* A slot of the file of hands. */
typedef struct durable_hand {
    _Atomic uint64_t id;     /* of the mailbox */
    _Atomic uint64_t number; /* 0: none */
    _Atomic uint64_t used;   /* this process's */
} durable_hand;

typedef struct durable_queue {
    struct durable_queue *next; /* of its bucket */
    durable_life *lives;        /* store->mutex: the first is served; those behind wait for its
                                   end */
    uint64_t handed; /* the served life's mutex: the greatest number that a handler had */
    struct durable_queue *next_changed;
    /* the writer's */
    uint64_t id;     /* 0: not on disk yet */
    uint64_t number; /* the last one given */
    uint64_t event;
    uint64_t was_id; /* as committed */
    uint64_t was_number;
    uint64_t was_event;
    bool known;
    bool changed;
    size_t length;
    char name[];
} durable_queue;

/* A message that is to be accepted, or a letter of the dead that is to go, and who waits for it. */
typedef struct durable_request {
    struct durable_request *next;
    durable_queue *queue;
    durable_block *block; /* NULL: it is about a letter */
    uint64_t letter;
    uint32_t then; /* an axo_store_then */
    axo_ref asker; /* whom `draft` is for; none: a thread waits */
    axo_draft *draft;
    axo_durable_answer *slot; /* the draft's payload */
    axo_durable_answer answer;
    bool done;      /* store->mutex: answered */
    bool abandoned; /* store->mutex: the thread has gone */
} durable_request;

struct durable_life {
    axo_store *store;
    durable_queue *queue;
    const axo_class *of;
    axo_journal journal;
    bool journalled;
    uint32_t fails_max;
    size_t state_at; /* of the user's state in the block */
    const void *args;
    void *copy; /* of args, if they have a size */
    size_t copy_size;
    /* store->mutex */
    axo_ref self;
    durable_life *next_work;
    bool working;
    bool fresh;              /* not watched yet */
    bool ended;              /* it never was, or has gone */
    durable_life *next_life; /* of the queue's */
    /* mutex */
    pthread_mutex_t mutex;
    uint32_t instance;  /* 0: none yet */
    bool active;        /* the mailbox is its */
    durable_hand *slot; /* NULL: none */
    uint64_t id;        /* of the queue */
    durable_list pending;
    durable_block *sent;
    durable_block *hand;
    durable_list held;
    durable_list done;
    durable_list dead;
    durable_list events;
    durable_block *snapshot;
    uint64_t noted; /* a number whose failures are to be written; 0: none */
    uint32_t noted_fails;
    uint32_t generation;
    bool woken;        /* a DURABLE_WAKE is on its way, or nobody needs one */
    bool recover;      /* asks for the snapshot and the events */
    bool read;         /* `back` has had all of them */
    bool harmed;       /* an event or the snapshot is damaged */
    durable_list back; /* events to apply */
    bool more;         /* messages on disk that are not in memory; the writer writes it */
    bool reading;      /* events likewise */
    /* the writer's */
    durable_list taken_done;
    durable_list taken_dead;
    durable_list taken_events;
    durable_block *taken_snapshot;
    uint64_t taken_note;
    uint32_t taken_fails;
    uint32_t taken_generation;
    uint64_t loaded_to;
    uint64_t read_to;
    uint32_t read_generation;
    durable_life *next_pass;
    bool passing;
    /* the actor's */
    durable_list persisting;
    durable_block *applying;
    uint64_t unapplied;
    uint64_t applied;
    bool recovering;
    bool stashing;
    bool in_receive;
    durable_cause cause;
};

/* A class as the actors of a store have it. */
typedef struct durable_class {
    struct durable_class *next;
    const axo_class *of;
    axo_class made;
} durable_class;

typedef struct durable_end {
    durable_life *life;
    uint64_t secret;
} durable_end;

#define DURABLE_BUCKETS 1024

struct axo_store {
    axo_system *system;
    pid_t pid;
    axo_ref writer;
    uint64_t secret;
    uint64_t run; /* this opening's: who sent a message of another is not known any more */
    const durable_base *base;
    void *on;
    durable_hand *hands;
    size_t next_hand; /* the writer's */
    uint32_t sync;
    uint32_t sync_ms;
    uint32_t loaded_max;
    uint32_t crc[256];
    /* mutex */
    pthread_mutex_t mutex;
    pthread_cond_t answered; /* a request is, or the last guest has left */
    uint32_t guests;         /* threads in a call: the store is there until they have left */
    durable_request *requests;
    durable_request **requests_end;
    durable_life *work;
    durable_life **work_end;
    durable_queue *buckets[DURABLE_BUCKETS];
    durable_class *classes;
    bool woken;
    bool closed;
    /* the writer's */
    uint64_t next_id;
    uint64_t was_next_id;
    durable_queue *changed;
    uint32_t failing; /* passes in a row that were not written whole */
    bool sync_due;
    bool retry_due;
    int64_t synced_ns;
    atomic_ullong accepted;
    atomic_ullong refused;
    atomic_ullong acknowledged;
    atomic_ullong failed;
    atomic_ullong died;
    atomic_ullong persisted;
    atomic_ullong transactions;
    atomic_ullong errors;
};

/* ---- list.c ---- */

/* The system's memory, zeroed; it is given back by axo_system_free. */
void *durable_alloc(axo_system *system, size_t size);
/* A block with one reference; NULL: no memory. */
durable_block *durable_block_make(axo_system *system, uint32_t tag, const void *payload,
                                  size_t size);
void durable_block_drop(durable_block *block);
/* An axo_payload_free. */
void durable_block_free(void *payload, void *block);

void durable_list_push(durable_list *list, durable_block *block);
durable_block *durable_list_pop(durable_list *list);
/* Puts a block where its number is. */
void durable_list_insert(durable_list *list, durable_block *block);
bool durable_list_remove(durable_list *list, const durable_block *block);
void durable_list_append(durable_list *to, durable_list *from);
void durable_list_clear(durable_list *list);

/* ---- store.c ---- */

/* The queue of a name, which is made if it is not there; store->mutex is held. */
durable_queue *durable_queue_of(axo_store *store, const char *name);
const axo_class *durable_class_of(axo_store *store, const axo_class *of);
void durable_life_free(durable_life *life);

/* Between the two the calling thread may use the store, whatever becomes of its system. */
void durable_enter(axo_store *store);
void durable_leave(axo_store *store);

/* ---- disk.c ---- */

/* Each returns 0, an errno or an error of the base. Those with a transaction leave its end to the
 * caller. */
/* Before all else. */
void durable_disk_init(axo_store *store);
/* Writes the format, with the next id. */
int durable_disk_format(axo_store *store, durable_txn *txn);
int durable_disk_begin(axo_store *store, durable_txn **txn);
/* Also writes what has changed of the queues; on failure they are what they were. */
int durable_disk_commit(axo_store *store, durable_txn *txn);
void durable_disk_abort(axo_store *store, durable_txn *txn);
/* The map for the time being: with the reserve, or without. */
void durable_disk_reserve(axo_store *store, bool with);
int durable_disk_know(axo_store *store, durable_txn *txn, durable_queue *queue);
/* By a transaction that reads. */
int durable_disk_meet(axo_store *store, durable_queue *queue);
int durable_disk_accept(axo_store *store, durable_txn *txn, durable_queue *queue,
                        durable_block *block);
int durable_disk_acknowledge(axo_store *store, durable_txn *txn, const durable_queue *queue,
                             uint64_t number);
int durable_disk_note(axo_store *store, durable_txn *txn, const durable_queue *queue,
                      uint64_t number, uint32_t fails);
/* Deletes a letter, or gives it to `again` first, a block that is accepted anew; NULL: not. */
int durable_disk_letter(axo_store *store, durable_txn *txn, durable_queue *queue,
                        const durable_request *request, durable_block **again);
int durable_disk_bury(axo_store *store, durable_txn *txn, const durable_queue *queue,
                      const durable_block *block);
int durable_disk_event(axo_store *store, durable_txn *txn, durable_queue *queue,
                       durable_block *block);
int durable_disk_snapshot(axo_store *store, durable_txn *txn, const durable_queue *queue,
                          const durable_block *block);
/* Reads messages behind `after`, at most `max`; *more: there are others. A damaged one has no
 * payload and says so. */
int durable_disk_load(axo_store *store, const durable_queue *queue, uint64_t after, uint64_t max,
                      durable_list *out, bool *more);
/* Reads the snapshot, if `after` is 0, and events behind `after`. */
int durable_disk_recover(axo_store *store, const durable_queue *queue, uint64_t after, uint64_t max,
                         durable_list *out, bool *more, bool *harmed);
/* Reads the letter behind *number, before `end`, and shows it; DURABLE_NOTFOUND: there is none. Any
 * thread. */
int durable_disk_dead(axo_store *store, const char *name, uint64_t *number, uint64_t end,
                      axo_store_dead_fn look, void *user, axo_store_then *then);
const char *durable_disk_text(const axo_store *store, int error);

/* The process has died under a message. */
int durable_disk_died(axo_store *store, durable_txn *txn, uint64_t id, uint64_t number);

/* ---- durable.c ---- */

void durable_request_free(axo_store *store, durable_request *request);

/* ---- format.c ---- */

/* Says why a base's format is none of this version's; `what` is where it was found. */
axo_status durable_format_check(const char *what, const durable_bytes *value,
                                axo_store_problem *problem);
/* Reads the base's own. */
axo_status durable_format_read(axo_store *store, axo_store_problem *problem);

/* ---- hands.c ---- */

int durable_hands_open(axo_store *store, const char *path);
void durable_hands_close(axo_store *store);
/* A slot; NULL: there is none. The writer's. */
durable_hand *durable_hands_take(axo_store *store);
void durable_hands_give(durable_hand *hand);

/* ---- check.c ---- */

/* Reads through a file that nobody has open. */
int durable_check(const char *path, char *text, size_t size);

/* ---- writer.c ---- */

extern const axo_class durable_writer_class;

/* Has the writer look: store->mutex is held; with a context from that, else from outside. */
axo_status durable_writer_wake(axo_store *store, axo_ctx *ctx);
/* Puts a life before the writer. */
axo_status durable_writer_work(axo_ctx *ctx, durable_life *life);
/* What is left when no actor lives any more. */
void durable_writer_last(axo_store *store);
/* Puts a life into the list of those with work; store->mutex is held. */
void durable_writer_enlist(axo_store *store, durable_life *life);

/* ---- pass.c ---- */

/* What one turn of the writer takes. */
typedef struct durable_pass {
    axo_store *store;
    durable_request *requests;
    durable_life *lives;
    int unfinished; /* why something is to be written, or read, again later; 0: nothing is */
} durable_pass;

/* Takes what there is to do. */
void durable_pass_take(durable_pass *pass, axo_store *store);
/* Writes and reads: the requests have their answers and the lives their blocks then. Blocks. */
void durable_pass_run(durable_pass *pass);
/* Whether an error is of the base itself, so that no other transaction fares better. */
bool durable_pass_is_away(int error);
/* Puts a life into the pass, if it is not in it. */
void durable_pass_join(durable_pass *pass, durable_life *life);

/* ---- actor.c ---- */

/* Where in the block of such a class the user's state begins. */
size_t durable_state_at(const axo_class *of);
void durable_class_fill(axo_class *out, const axo_class *of);
/* The life of the running actor; NULL: it is not durable. */
durable_life *durable_here(axo_ctx *ctx);
/* Sees whether the last handler has failed; life->mutex is held. true: the writer has work. */
bool durable_look(durable_life *life);
/* The same as an instance ends or begins: all that it had is to come again. */
void durable_reset(durable_life *life);

/* ---- journal.c ---- */

void durable_journal_begin(durable_life *life);
/* Drops what a handler that has failed has persisted. */
void durable_journal_drop(durable_life *life);
/* Applies what is there; AXO_OK, or the failure. */
axo_status durable_journal_step(axo_ctx *ctx, void *state, durable_life *life);
/* Whether messages are to wait. */
bool durable_journal_waits(const durable_life *life);

#endif
