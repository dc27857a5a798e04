/* board.c - the words of a board: made, told, taken away. */
#include "sched/board.h"

#include <stdio.h>
#include <string.h>

#include "os/os.h"

/* Kinds that are events of the ring. */
#define BOARD_EVENTS                                                                               \
    (AXO_EVENT_BIT(AXO_EV_SPAWN) | AXO_EVENT_BIT(AXO_EV_STARTED) | AXO_EVENT_BIT(AXO_EV_FAIL) |    \
     AXO_EVENT_BIT(AXO_EV_DECIDE) | AXO_EVENT_BIT(AXO_EV_DELAY) | AXO_EVENT_BIT(AXO_EV_RESUME) |   \
     AXO_EVENT_BIT(AXO_EV_STOPPING) | AXO_EVENT_BIT(AXO_EV_TERMINATED) |                           \
     AXO_EVENT_BIT(AXO_EV_PARK) | AXO_EVENT_BIT(AXO_EV_UNPARK))

/* Kinds that begin a callback of an actor, and those that end one. */
#define BOARD_BEGINS                                                                               \
    (AXO_EVENT_BIT(AXO_EV_CONSTRUCT) | AXO_EVENT_BIT(AXO_EV_PRE_START) |                           \
     AXO_EVENT_BIT(AXO_EV_PRE_RESTART) | AXO_EVENT_BIT(AXO_EV_POST_RESTART) |                      \
     AXO_EVENT_BIT(AXO_EV_POST_STOP))
#define BOARD_ENDS                                                                                 \
    (AXO_EVENT_BIT(AXO_EV_CONSTRUCTED) | AXO_EVENT_BIT(AXO_EV_STARTED) |                           \
     AXO_EVENT_BIT(AXO_EV_PRE_RESTARTED) | AXO_EVENT_BIT(AXO_EV_POST_STOPPED) |                    \
     AXO_EVENT_BIT(AXO_EV_RECEIVED))

const uint64_t axo__board_kinds = BOARD_EVENTS | BOARD_BEGINS | (BOARD_ENDS & ~BOARD_EVENTS) |
                                  AXO_EVENT_BIT(AXO_EV_RECEIVE);

/* ---- records ---- */

static axo__a64 *board_worker(const axo__board *board, uint32_t index)
{
    return board->words + AXO_BOARD_HEAD_WORDS + (size_t)index * AXO_BOARD_WORKER_WORDS;
}

static axo__a64 *board_actor(const axo__board *board, uint32_t slot)
{
    return board_worker(board, board->workers) + (size_t)slot * AXO_BOARD_ACTOR_WORDS;
}

static axo__a64 *board_event(const axo__board *board, uint64_t number)
{
    return board_actor(board, board->actors) +
           (size_t)(number % board->events) * AXO_BOARD_EVENT_WORDS;
}

static void board_put(axo__a64 *record, uint32_t word, uint64_t value)
{
    axo__a64_store_release(&record[word], value); /* [V1] */
}

/* By the record's one writer; what stood in the sequence does not matter but for its last bit. */
static void board_open(axo__a64 *record)
{
    axo__a64_store_relaxed(&record[0], axo__a64_load_relaxed(&record[0]) | 1);
}

static void board_close(axo__a64 *record)
{
    axo__a64_store_release(&record[0], axo__a64_load_relaxed(&record[0]) + 1); /* [V2] */
}

/* The beginning of a text, in words; what is left of them is zero. */
static void board_put_text(axo__a64 *record, uint32_t word, uint32_t words, const char *text)
{
    size_t length = text != NULL ? strnlen(text, words * sizeof(uint64_t)) : 0;
    for (uint32_t i = 0; i < words; i++) {
        uint64_t bytes = 0;
        size_t at = i * sizeof bytes;
        if (at < length)
            memcpy(&bytes, text + at, length - at < sizeof bytes ? length - at : sizeof bytes);
        board_put(record, word + i, bytes);
    }
}

static void board_bump(axo__a64 *record, uint32_t word)
{
    axo__a64_bump_owner(&record[word]);
}

/* ---- the file ---- */

static void board_head(const axo__board *board, const char *name)
{
    axo__a64 *head = board->words;
    uint64_t at = AXO_BOARD_HEAD_WORDS;
    uint64_t magic;
    memcpy(&magic, AXO_BOARD_MAGIC, sizeof magic);
    const struct {
        uint32_t at_word;
        uint32_t count_word;
        uint32_t words_word;
        uint32_t words;
        uint64_t count;
    } tables[] = {
        {AXO_BOARD_HEAD_WORKERS_AT, AXO_BOARD_HEAD_WORKERS, AXO_BOARD_HEAD_WORKER_WORDS,
         AXO_BOARD_WORKER_WORDS, board->workers},
        {AXO_BOARD_HEAD_ACTORS_AT, AXO_BOARD_HEAD_ACTORS, AXO_BOARD_HEAD_ACTOR_WORDS,
         AXO_BOARD_ACTOR_WORDS, board->actors},
        {AXO_BOARD_HEAD_EVENTS_AT, AXO_BOARD_HEAD_EVENTS, AXO_BOARD_HEAD_EVENT_WORDS,
         AXO_BOARD_EVENT_WORDS, board->events},
    };
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        board_put(head, tables[i].at_word, at);
        board_put(head, tables[i].count_word, tables[i].count);
        board_put(head, tables[i].words_word, tables[i].words);
        at += tables[i].count * tables[i].words;
    }
    board_put(head, AXO_BOARD_HEAD_VERSION, AXO_BOARD_VERSION);
    board_put(head, AXO_BOARD_HEAD_BYTES, board->file.size);
    board_put(head, AXO_BOARD_HEAD_PROCESS, (uint64_t)axo__os_process());
    board_put(head, AXO_BOARD_HEAD_PROCESS_START, axo__os_process_start());
    board_put(head, AXO_BOARD_HEAD_BOOT, axo__os_boot());
    board_put(head, AXO_BOARD_HEAD_PROCESS_SPACE, axo__os_process_space());
    board_put(head, AXO_BOARD_HEAD_STARTED, (uint64_t)axo__os_now());
    board_put_text(head, AXO_BOARD_HEAD_NAME, AXO_BOARD_NAME_WORDS, name);
    axo__a64_store_release(&head[AXO_BOARD_HEAD_MAGIC], magic); /* [V2] */
}

/* Whether there is a board whose process has not ended it. */
static bool board_died(const char *path)
{
    uint64_t head[AXO_BOARD_HEAD_WORDS];
    return axo__os_file_head(path, head, sizeof head) &&
           memcmp(head, AXO_BOARD_MAGIC, sizeof head[0]) == 0 && head[AXO_BOARD_HEAD_ENDED] == 0;
}

/* The header is there before the file has its name: who finds it finds a board. */
bool axo__board_make(axo__board *board, const char *path, const char *name, uint32_t workers,
                     uint32_t actors)
{
    board->workers = workers;
    board->actors = actors;
    board->events = AXO__BOARD_EVENTS;
    size_t words = AXO_BOARD_HEAD_WORDS + (size_t)workers * AXO_BOARD_WORKER_WORDS +
                   (size_t)actors * AXO_BOARD_ACTOR_WORDS +
                   (size_t)AXO__BOARD_EVENTS * AXO_BOARD_EVENT_WORDS;
    (void)snprintf(board->path, sizeof board->path, "%s", path);
    if (!axo__os_file_make(&board->file, board->path, words * sizeof(axo__a64)))
        return false;
    board->words = board->file.memory;
    board_head(board, name);
    if (axo__os_file_show(&board->file, board->path, board_died(board->path)))
        return true;
    board->words = NULL;
    return false;
}

void axo__board_end(axo__board *board)
{
    if (board->words == NULL)
        return;
    board_put(board->words, AXO_BOARD_HEAD_ENDED, (uint64_t)axo__os_now());
    axo__os_file_end(&board->file, board->path);
    board->words = NULL;
}

/* ---- workers ---- */

static void board_name(const axo__worker *worker, axo__a64 *record)
{
    char name[2 * sizeof(uint64_t)] = "";
    if (worker->thread.body != NULL) /* NULL: the program's thread */
        (void)snprintf(name, sizeof name, "%s%u", worker->thread.body->name, worker->thread.number);
    board_put_text(record, AXO_BOARD_WORKER_NAME, 2, name);
}

/* NULL: all are taken. */
static axo__a64 *board_take(const axo__board *board, const axo__worker *worker)
{
    for (uint32_t i = 0; i < board->workers; i++) {
        axo__a64 *record = board_worker(board, i);
        uint64_t nobody = 0;
        if (axo__a64_cas_acq_rel(&record[AXO_BOARD_WORKER_INDEX], &nobody, /* [V4] */
                                 UINT64_C(1) + worker->local.index))
            return record;
    }
    return NULL;
}

static void board_count_unlisted(const axo__board *board, uint64_t change)
{
    (void)axo__a64_add_relaxed(&board->words[AXO_BOARD_HEAD_WORKERS_UNLISTED], change);
}

void axo__board_worker_begin(axo__worker *worker)
{
    const axo__board *board = worker->local.core->board;
    if (board == NULL)
        return;
    if (worker->board == NULL)
        worker->board = board_take(board, worker);
    if (worker->board == NULL) {
        board_count_unlisted(board, 1);
        return;
    }
    board_name(worker, worker->board);
    board_put(worker->board, AXO_BOARD_WORKER_THREAD, axo__os_thread_id());
    axo__board_worker_count(worker);
}

/* Between its begin and its end a thread has a record or has none. */
void axo__board_worker_end(axo__worker *worker)
{
    const axo__board *board = worker->local.core->board;
    axo__a64 *record = worker->board;
    if (board == NULL)
        return;
    if (record == NULL) {
        board_count_unlisted(board, UINT64_MAX);
        return;
    }
    axo__board_worker_count(worker);
    board_put(record, AXO_BOARD_WORKER_DOING, 0);
    board_put(record, AXO_BOARD_WORKER_THREAD, 0);
}

void axo__board_worker_gone(axo__worker *worker)
{
    const axo__board *board = worker->local.core->board;
    axo__a64 *record = worker->board;
    uint32_t word = AXO_BOARD_HEAD_GONE;
    if (board == NULL)
        return;
    worker->board = NULL;
    if (record != NULL) {
        for (uint32_t i = AXO_BOARD_WORKER_COUNTERS; i < AXO_BOARD_WORKER_NAME; i++)
            board_put(record, i, 0);
        axo__a64_store_release(&record[AXO_BOARD_WORKER_INDEX], 0); /* [V4] */
    }
#define BOARD_GONE(name)                                                                           \
    (void)axo__a64_add_relaxed(&board->words[word++],                                              \
                               axo__a64_load_relaxed(&worker->local.count.name));
    AXO_BOARD_COUNTER_LIST(BOARD_GONE)
#undef BOARD_GONE
}

/* Any worker of the default pool does this, and two at a time may: sums only grow, so the larger
 * one is the later one. */
static void board_grow(axo__a64 *word, uint64_t sum)
{
    uint64_t before = axo__a64_load_relaxed(word);
    bool done = before >= sum;
    while (!done)
        done = axo__a64_cas_acq_rel(word, &before, sum) || before >= sum; /* [V5] */
}

/* What outside threads have counted in their doors. */
static void board_count_doors(const axo__board *board, const axo__sched *sched)
{
    uint32_t word = AXO_BOARD_HEAD_OUTSIDE;
    uint64_t sum;
#define BOARD_DOORS(name)                                                                          \
    sum = 0;                                                                                       \
    for (uint32_t i = 0; i < sched->door_count; i++)                                               \
        sum += axo__a64_load_relaxed(&sched->doors[i].local.count.name);                           \
    board_grow(&board->words[word++], sum);
    AXO_BOARD_COUNTER_LIST(BOARD_DOORS)
#undef BOARD_DOORS
}

void axo__board_worker_count(axo__worker *worker)
{
    axo__a64 *record = worker->board;
    uint32_t word = AXO_BOARD_WORKER_COUNTERS;
    if (record == NULL)
        return;
    board_put(record, AXO_BOARD_WORKER_COUNTED, (uint64_t)worker->now);
#define BOARD_COUNTER(name)                                                                        \
    board_put(record, word++, axo__a64_load_relaxed(&worker->local.count.name));
    AXO_BOARD_COUNTER_LIST(BOARD_COUNTER)
#undef BOARD_COUNTER
    if (worker->sched == worker->local.core->sched)
        board_count_doors(worker->local.core->board, worker->sched);
}

/* The worker is in a callback of the cell. The clock is not read for it: what was read last is when
 * the callback began, or some messages before. */
static void board_callback(axo__worker *worker, const axo__cell *cell, uint64_t doing)
{
    axo__a64 *record = worker->board;
    const axo__message *message = worker->message;
    bool receives = message != NULL && worker->site == AXO_SITE_RECEIVE;
    if (record == NULL)
        return;
    board_open(record);
    board_put(record, AXO_BOARD_WORKER_ACTOR, axo__cell_ref(cell).bits);
    board_put(record, AXO_BOARD_WORKER_DOING, doing);
    board_put(record, AXO_BOARD_WORKER_SENDER, receives ? message->pub.sender.bits : 0);
    board_put(record, AXO_BOARD_WORKER_SINCE, (uint64_t)worker->now);
    board_close(record);
    if (axo__a64_load_relaxed(&record[AXO_BOARD_WORKER_COUNTED]) != (uint64_t)worker->now)
        axo__board_worker_count(worker);
}

/* ---- actors ---- */

/* NULL: the table has no place for this actor. */
static axo__a64 *board_of(const axo__board *board, const axo__cell *cell)
{
    return cell->slot < board->actors ? board_actor(board, cell->slot) : NULL;
}

static void board_born(const axo__board *board, axo__a64 *record, const axo__cell *cell,
                       uint64_t parent)
{
    const axo__name *name = axo__cell_name(cell);
    const char *cls = axo__cell_class(cell)->name;
    if (record == NULL) {
        (void)axo__a64_add_relaxed(&board->words[AXO_BOARD_HEAD_UNLISTED], 1);
        return;
    }
    board_open(record);
    board_put(record, AXO_BOARD_ACTOR_REF, axo__cell_ref(cell).bits);
    board_put(record, AXO_BOARD_ACTOR_PARENT, parent);
    board_put(record, AXO_BOARD_ACTOR_BORN, (uint64_t)axo__os_now());
    board_put_text(record, AXO_BOARD_ACTOR_CLASS, AXO_BOARD_CLASS_WORDS,
                   cls != NULL ? cls : "actor");
    board_put_text(record, AXO_BOARD_ACTOR_NAME, AXO_BOARD_NAME_WORDS,
                   name != NULL ? name->text : NULL);
    for (uint32_t word = AXO_BOARD_ACTOR_INSTANCE; word < AXO_BOARD_ACTOR_WORDS; word++)
        board_put(record, word, 0);
    board_put(record, AXO_BOARD_ACTOR_STATE, AXO_BOARD_BORN);
    board_close(record);
}

static void board_actor_told(axo__a64 *record, const axo__cell *cell, uint32_t kind, uint64_t arg)
{
    uint64_t state = 0;
    if (kind == AXO_EV_RECEIVED)
        board_bump(record, AXO_BOARD_ACTOR_HANDLED);
    if (kind == AXO_EV_STARTED && arg == 0)
        state = AXO_BOARD_ALIVE;
    if (kind == AXO_EV_RESUME && arg == 0) /* its own failure is over; not its parent's */
        state = AXO_BOARD_ALIVE;
    if (kind == AXO_EV_FAIL) {
        state = AXO_BOARD_FAILED;
        board_bump(record, AXO_BOARD_ACTOR_FAILURES);
        board_put(record, AXO_BOARD_ACTOR_FAILED, arg);
    }
    if (kind == AXO_EV_STOPPING)
        state = AXO_BOARD_STOPPING;
    if (kind == AXO_EV_TERMINATED)
        state = AXO_BOARD_TERMINATED;
    if (state == 0)
        return;
    board_put(record, AXO_BOARD_ACTOR_INSTANCE, axo__cell_instance(cell));
    board_put(record, AXO_BOARD_ACTOR_STATE, state);
}

/* ---- events ---- */

/* A writer that is held up for as long as 4096 events take keeps its place, and the event that
 * comes to it then is lost: V2. */
static void board_event_told(const axo__board *board, const axo__local *local,
                             const axo__cell *cell, uint32_t kind, uint64_t arg)
{
    axo__a64 *head = board->words;
    uint64_t number = axo__a64_add_relaxed(&head[AXO_BOARD_HEAD_EVENTS_TOTAL], 1);
    axo__a64 *record = board_event(board, number);
    uint64_t before = axo__a64_load_relaxed(&record[AXO_BOARD_EVENT_SEQUENCE]);
    uint64_t mine = 2 * number + 1;
    if ((before & 1) != 0 || before > mine ||
        !axo__a64_cas_acq_rel(&record[AXO_BOARD_EVENT_SEQUENCE], &before, mine)) { /* [V3] */
        (void)axo__a64_add_relaxed(&head[AXO_BOARD_HEAD_EVENTS_LOST], 1);
        return;
    }
    board_put(record, AXO_BOARD_EVENT_TIME, (uint64_t)axo__os_now());
    board_put(record, AXO_BOARD_EVENT_ACTOR, axo__cell_ref(cell).bits);
    board_put(record, AXO_BOARD_EVENT_KIND, (uint64_t)local->index << 32 | kind);
    board_put(record, AXO_BOARD_EVENT_ARG, arg);
    board_put(record, AXO_BOARD_EVENT_INSTANCE, axo__cell_instance(cell));
    board_close(record);
}

/* ---- what is told ---- */

void axo__board_tell(const axo__local *local, const axo__cell *cell, uint32_t kind, uint64_t arg)
{
    const axo__board *board = local->core->board;
    uint64_t bit = AXO_EVENT_BIT(kind);
    axo__worker *worker = local->index != AXO__NO_WORKER ? axo__self : NULL;
    axo__a64 *record = board_of(board, cell);
    if (kind == AXO_EV_SPAWN)
        board_born(board, record, cell, arg);
    else if (record != NULL)
        board_actor_told(record, cell, kind, arg);
    if (worker != NULL && worker->board != NULL) {
        if (kind == AXO_EV_RECEIVE)
            board_callback(worker, cell, UINT64_C(1) << 32 | (uint32_t)arg);
        else if ((bit & BOARD_BEGINS) != 0)
            board_callback(worker, cell, UINT64_C(2) << 32 | kind);
        else if ((bit & BOARD_ENDS) != 0)
            board_put(worker->board, AXO_BOARD_WORKER_DOING, 0);
    }
    if ((bit & BOARD_EVENTS) != 0)
        board_event_told(board, local, cell, kind, arg);
}
