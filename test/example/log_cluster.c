/* log_cluster.c - log_pipeline.c over several nodes: counts a web server's access log, each line
 * once, also when nodes are killed meanwhile and started again.
 *
 *   log_cluster count NODE FOLDER [URL]             a node that counts, until SIGTERM
 *   log_cluster read NODES LOG SUMMARY [URL [N]]    the reader: ends with the table in SUMMARY;
 *                                                   N: bytes of a batch, 65536
 *   log_cluster read ann,bob,eve access.log table   LOG_TOKEN: what the nodes share
 *
 *   feeder --BATCH--> counter --BATCH--> parser     the parser is the counter's child, and fails
 *     ^                  ^ '---PARSED------'        on each malformed line
 *     '-----COUNTED------' persists PARSED
 *
 * The log is cut into batches by the offsets of its bytes alone, so that each reader cuts it alike.
 * Each counter has every n-th of them, and takes them in order. What a batch adds and its number
 * are one event of the counter's journal, so it is counted once: the feeder asks with it again
 * until the counter answers that it has counted it, and a counter answers a batch that it does not
 * wait for by the number of the last one. By that a feeder goes on, behind a counter's end and
 * behind its own. A folder is for one log: a counter answers for no other. */
#define _GNU_SOURCE 1 /* sigwait, pread */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <axo/axo.h>
#include <axo/cluster.h>
#include <axo/durable.h>

#include "access_line.h"

enum { BATCH = 1, PARSED, COUNTED, TABLE, TABLE_IS, OTHER_LOG, FIND };

#define COUNTERS     2 /* of each node */
#define NODES_MAX    16
#define BATCH_BYTES  ((uint64_t)64 * 1024)
#define BATCH_MAX    ((size_t)512 * 1024) /* with its last line; NATS takes 1 MiB */
#define STATUSES     600
#define SNAPSHOT     100U /* events */
#define SECOND       INT64_C(1000000000)
#define ANSWER_LIMIT (2 * SECOND)

/* Some lines of a log. Number 0: none, it asks for the last one that was counted. */
typedef struct batch {
    uint64_t log;    /* which: a hash */
    uint64_t number; /* among this counter's, from 1 */
    char text[];
} batch;

/* ---- tables -------------------------------------------------------------------------------- */

typedef struct tally {
    uint64_t requests;
    uint64_t bytes;
} tally;

typedef struct table {
    uint64_t log;     /* 0: none yet */
    uint64_t counted; /* the number of the last batch */
    uint64_t malformed;
    tally statuses[STATUSES];
} table;

/* A table as a payload: what a batch adds, a snapshot, or all that was counted. */
typedef struct sum_row {
    uint64_t status;
    tally tally;
} sum_row;

typedef struct sum {
    uint64_t log;
    uint64_t number;
    uint64_t malformed;
    sum_row rows[STATUSES]; /* those that are there */
} sum;

static size_t sum_of(const table *from, sum *out)
{
    size_t count = 0;
    *out = (sum){.log = from->log, .number = from->counted, .malformed = from->malformed};
    for (uint32_t i = 0; i < STATUSES; i++) {
        if (from->statuses[i].requests > 0)
            out->rows[count++] = (sum_row){.status = i, .tally = from->statuses[i]};
    }
    return offsetof(sum, rows) + count * sizeof(sum_row);
}

static void table_add(table *it, const void *payload, size_t size)
{
    const sum *more = payload;
    size_t count = (size - offsetof(sum, rows)) / sizeof(sum_row);
    it->log = more->log;
    it->counted = more->number;
    it->malformed += more->malformed;
    for (size_t i = 0; i < count; i++) {
        tally *status = &it->statuses[more->rows[i].status % STATUSES];
        status->requests += more->rows[i].tally.requests;
        status->bytes += more->rows[i].tally.bytes;
    }
}

/* ---- parser -------------------------------------------------------------------------------- */

/* How far the parser is. It belongs to the counter, so it outlives the parser's instances; only the
 * parser touches it. */
typedef struct progress {
    size_t at;     /* behind the lines that are counted */
    size_t next;   /* behind the one that is being parsed */
    bool parses;   /* one */
    table counted; /* of this batch */
} progress;

typedef struct parser {
    progress *progress;
} parser;

static axo_status parser_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    memcpy(state, args, sizeof(parser));
    return AXO_OK;
}

static axo_status parser_line(axo_ctx *ctx, progress *it, const char *text, size_t size)
{
    access_line line = {.status = 0};
    const char *begin = text + it->at;
    const char *newline = memchr(begin, '\n', size - it->at);
    size_t length = newline == NULL ? size - it->at : (size_t)(newline - begin);
    it->next = it->at + length + (newline != NULL);
    it->parses = true;
    axo_status status = access_line_parse(ctx, begin, length, &line);
    if (status != AXO_OK)
        return status;
    it->parses = false;
    it->at = it->next;
    it->counted.statuses[line.status].requests++;
    it->counted.statuses[line.status].bytes += line.bytes;
    return AXO_OK;
}

/* The same batch again goes on where the one before has come to: that one has failed, or it is the
 * same text. */
static axo_status parser_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    progress *it = ((parser *)state)->progress;
    sum parsed;
    if (message->tag != BATCH)
        return AXO_UNHANDLED;
    const batch *what = AXO_PAYLOAD(message, batch);
    size_t size = message->size - sizeof *what;
    axo_status status = AXO_OK;
    if (it->counted.counted != what->number || it->counted.log != what->log)
        *it = (progress){.counted = {.log = what->log, .counted = what->number}};
    while (status == AXO_OK && it->at < size)
        status = parser_line(ctx, it, what->text, size);
    if (status != AXO_OK)
        return status;
    /* On the feeder's behalf, which the counter is to answer. */
    return axo_send_from(ctx, message->sender, axo_parent(ctx), PARSED, &parsed,
                         sum_of(&it->counted, &parsed));
}

/* What it has failed under is left out: the next instance goes on behind it. */
static axo_status parser_pre_restart(axo_ctx *ctx, void *state, const axo_failure *failure,
                                     const axo_message *message)
{
    progress *it = ((parser *)state)->progress;
    if (message != NULL && message->tag == BATCH && it->parses) {
        it->parses = false;
        it->at = it->next;
        it->counted.malformed++;
        (void)axo_forward(ctx, message, axo_self(ctx)); /* if not: the feeder asks again */
    }
    return axo_default_pre_restart(ctx, state, failure, message);
}

static const axo_class parser_class =
    AXO_CLASS(.name = "parser", .state_size = sizeof(parser), .construct = parser_construct,
              .receive = parser_receive, .pre_restart = parser_pre_restart);

/* ---- counter ------------------------------------------------------------------------------- */

typedef struct counter {
    axo_ref parser;
    uint32_t events; /* since the last snapshot */
    table table;
    progress progress;
} counter;

static axo_status counter_construct(axo_ctx *ctx, void *state, const void *args)
{
    counter *me = state;
    const parser below = {.progress = &me->progress};
    const axo_props props = AXO_PROPS(.cls = &parser_class, .name = "parser", .args = &below,
                                      .args_size = sizeof below);
    (void)args;
    return axo_spawn(ctx, &props, &me->parser);
}

/* Who has asked may have gone. */
static axo_status counter_say(axo_ctx *ctx, axo_ref to, uint32_t tag, const void *payload,
                              size_t size)
{
    axo_status status = axo_send(ctx, to, tag, payload, size);
    return status == AXO_EGONE ? AXO_OK : status;
}

static axo_status counter_say_counted(axo_ctx *ctx, const counter *me, axo_ref to)
{
    return counter_say(ctx, to, COUNTED, &me->table.counted, sizeof me->table.counted);
}

static axo_status counter_batch(axo_ctx *ctx, const counter *me, const axo_message *message)
{
    const batch *it = message->payload;
    if (message->size < sizeof *it)
        return AXO_UNHANDLED;
    if (me->table.log != 0 && me->table.log != it->log)
        return counter_say(ctx, message->sender, OTHER_LOG, NULL, 0);
    if (it->number != me->table.counted + 1)
        return counter_say_counted(ctx, me, message->sender);
    return axo_forward(ctx, message, me->parser);
}

/* A batch that was parsed twice is counted once. */
static axo_status counter_parsed(axo_ctx *ctx, const counter *me, const axo_message *message)
{
    const sum *it = AXO_PAYLOAD(message, sum);
    if (me->table.log != 0 && me->table.log != it->log)
        return counter_say(ctx, message->sender, OTHER_LOG, NULL, 0);
    if (it->number != me->table.counted + 1)
        return counter_say_counted(ctx, me, message->sender);
    return axo_journal_persist(ctx, PARSED, message->payload, message->size);
}

static axo_status counter_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    const counter *me = state;
    sum all;
    switch (message->tag) {
    case BATCH:
        return counter_batch(ctx, me, message);
    case PARSED:
        return counter_parsed(ctx, me, message);
    case TABLE:
        return counter_say(ctx, message->sender, TABLE_IS, &all, sum_of(&me->table, &all));
    default:
        return AXO_UNHANDLED;
    }
}

/* It is on disk: the feeder may go on. */
static axo_status counter_apply(axo_ctx *ctx, void *state, const axo_journal_event *event)
{
    counter *me = state;
    sum all;
    table_add(&me->table, event->payload, event->size);
    me->events++;
    if (event->recovering)
        return AXO_OK;
    if (me->events >= SNAPSHOT &&
        axo_journal_snapshot(ctx, &all, sum_of(&me->table, &all)) == AXO_OK)
        me->events = 0; /* if not: at the next event */
    return counter_say_counted(ctx, me, event->sender);
}

static axo_status counter_restore(axo_ctx *ctx, void *state, const axo_journal_event *snapshot)
{
    (void)ctx;
    table_add(&((counter *)state)->table, snapshot->payload, snapshot->size);
    return AXO_OK;
}

static const axo_class counter_class =
    AXO_CLASS(.name = "counter", .state_size = sizeof(counter), .construct = counter_construct,
              .receive = counter_receive);
static const axo_journal counter_journal =
    AXO_JOURNAL(.apply = counter_apply, .restore = counter_restore);

/* ---- feeder -------------------------------------------------------------------------------- */

/* What the reader's actors share. */
typedef struct job {
    axo_cluster *cluster;
    const char *summary;
    int input;
    uint64_t size;  /* bytes of the log */
    uint64_t batch; /* and of a batch */
    uint64_t log;   /* hash of the log, its batches and who counts them */
    uint32_t nodes;
    char names[NODES_MAX][AXO_NODE_NAME_MAX + 1];
    axo_ref collector;
    atomic_uint_fast64_t counted; /* batches */
    atomic_uint_fast64_t again;   /* questions that had no answer */
    bool written;                 /* the table; main reads it when the system has ended */
} job;

typedef struct feeder {
    job *job;
    uint32_t index;   /* of the counter, among all */
    bool waits;       /* for an answer */
    uint64_t counted; /* batches, by the last answer */
    axo_ref counter;  /* none: it is looked for */
} feeder;

static axo_status feeder_find(axo_ctx *ctx, const feeder *me)
{
    char key[32];
    (void)snprintf(key, sizeof key, "counter%u", me->index % COUNTERS);
    if (axo_cluster_find(me->job->cluster, axo_self(ctx), me->job->names[me->index / COUNTERS], key,
                         10 * SECOND, 0) == AXO_OK)
        return AXO_OK;
    return axo_send_after(ctx, SECOND / 10, axo_self(ctx), FIND, NULL, 0);
}

static axo_status feeder_construct(axo_ctx *ctx, void *state, const void *args)
{
    memcpy(state, args, sizeof(feeder));
    return feeder_find(ctx, state);
}

/* Where the first line begins that begins at `at` or behind. */
static axo_status feeder_begin(axo_ctx *ctx, const job *it, uint64_t at, uint64_t *begin)
{
    char piece[4096];
    *begin = at == 0 ? 0 : it->size;
    for (uint64_t from = at - 1; at > 0 && from < it->size && *begin == it->size;) {
        ssize_t got = pread(it->input, piece, sizeof piece, (off_t)from);
        if (got <= 0)
            return axo_fail_fatal(ctx, errno, "cannot read the log at byte %" PRIu64, from);
        const char *newline = memchr(piece, '\n', (size_t)got);
        if (newline != NULL)
            *begin = from + (uint64_t)(newline - piece) + 1;
        from += (uint64_t)got;
    }
    return AXO_OK;
}

static axo_status feeder_ask(axo_ctx *ctx, feeder *me, uint32_t tag, const void *payload,
                             size_t size)
{
    axo_status status = axo_ask(ctx, me->counter, tag, payload, size, ANSWER_LIMIT, 0);
    me->waits = status == AXO_OK;
    if (status == AXO_OK)
        return AXO_OK;
    return axo_send_after(ctx, SECOND / 10, axo_self(ctx), FIND, NULL, 0); /* AXO_EFULL, say */
}

/* Asks for the last batch that was counted. */
static axo_status feeder_ask_number(axo_ctx *ctx, feeder *me)
{
    const batch none = {.log = me->job->log, .number = 0};
    return feeder_ask(ctx, me, BATCH, &none, sizeof none);
}

/* The lines that begin in a batch's bytes of the log, from `at` on. */
static axo_status feeder_send(axo_ctx *ctx, feeder *me, uint64_t number, uint64_t at)
{
    const job *it = me->job;
    uint64_t begin;
    uint64_t end;
    axo_status status = feeder_begin(ctx, it, at, &begin);
    if (status == AXO_OK)
        status = feeder_begin(ctx, it, at + it->batch, &end);
    if (status != AXO_OK)
        return status;
    size_t size = (size_t)(end - begin);
    if (size > BATCH_MAX)
        return axo_fail_fatal(ctx, 1, "a line is too long, at byte %" PRIu64, begin);
    batch *what = axo_must_alloc(ctx, sizeof *what + size);
    *what = (batch){.log = it->log, .number = number};
    ssize_t got = pread(it->input, what->text, size, (off_t)begin);
    if (got != (ssize_t)size)
        return axo_fail_fatal(ctx, errno, "cannot read the log at byte %" PRIu64, begin);
    status = feeder_ask(ctx, me, BATCH, what, sizeof *what + size);
    axo_free(ctx, what);
    return status;
}

static uint64_t job_batches(const job *it)
{
    return (it->size + it->batch - 1) / it->batch;
}

/* The counter has all its batches up to one. */
static axo_status feeder_go_on(axo_ctx *ctx, feeder *me, uint64_t counted)
{
    uint64_t batches = job_batches(me->job);
    uint64_t counters = (uint64_t)me->job->nodes * COUNTERS;
    (void)atomic_fetch_add(&me->job->counted, counted - me->counted);
    me->counted = counted;
    uint64_t mine = batches / counters + (me->index < batches % counters);
    if (counted >= mine)
        return feeder_ask(ctx, me, TABLE, NULL, 0);
    return feeder_send(ctx, me, counted + 1, (counted * counters + me->index) * me->job->batch);
}

static axo_status feeder_answered(axo_ctx *ctx, feeder *me, const axo_message *answer)
{
    size_t least = answer->tag == TABLE_IS ? offsetof(sum, rows) : sizeof(uint64_t);
    me->waits = false;
    if (answer->tag != OTHER_LOG && answer->size < least)
        return axo_fail_fatal(ctx, 1, "%s is of another version",
                              me->job->names[me->index / COUNTERS]);
    switch (answer->tag) {
    case COUNTED:
        return feeder_go_on(ctx, me, *AXO_PAYLOAD(answer, uint64_t));
    case TABLE_IS: {
        axo_status status =
            axo_send(ctx, me->job->collector, TABLE_IS, answer->payload, answer->size);
        return status == AXO_OK ? axo_stop_self(ctx) : status;
    }
    default: /* OTHER_LOG */
        return axo_fail_fatal(ctx, 1, "%s has counted another log in its folder",
                              me->job->names[me->index / COUNTERS]);
    }
}

static axo_status feeder_found(axo_ctx *ctx, feeder *me, const axo_cluster_found *found)
{
    if (found->status != AXO_OK)
        return axo_send_after(ctx, SECOND / 10, axo_self(ctx), FIND, NULL, 0);
    me->counter = found->ref;
    axo_status status = axo_watch(ctx, me->counter);
    return status == AXO_OK && !me->waits ? feeder_ask_number(ctx, me) : status;
}

static axo_status feeder_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    feeder *me = state;
    axo_message answer;
    switch (message->tag) {
    case AXO_ASK_ANSWER:
        answer = axo_answer_of(message);
        return feeder_answered(ctx, me, &answer);
    case AXO_ASK_FAILED:
        me->waits = false;
        (void)atomic_fetch_add(&me->job->again, 1);
        return axo_ref_is_none(me->counter) ? AXO_OK : feeder_ask_number(ctx, me);
    case AXO_CLUSTER_FOUND:
        return feeder_found(ctx, me, AXO_PAYLOAD(message, axo_cluster_found));
    case AXO_TERMINATED:
        me->counter = axo_ref_none();
        return feeder_find(ctx, me);
    case FIND:
        if (axo_ref_is_none(me->counter))
            return feeder_find(ctx, me);
        return me->waits ? AXO_OK : feeder_ask_number(ctx, me);
    default:
        return AXO_UNHANDLED;
    }
}

static const axo_class feeder_class =
    AXO_CLASS(.name = "feeder", .state_size = sizeof(feeder), .construct = feeder_construct,
              .receive = feeder_receive);

/* ---- collector ----------------------------------------------------------------------------- */

typedef struct collector {
    job *job;
    uint32_t tables; /* that have come */
    table all;
} collector;

static axo_status collector_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    memcpy(&((collector *)state)->job, args, sizeof(job *));
    return AXO_OK;
}

/* "STATUS REQUESTS BYTES" lines. */
static bool collector_write(const collector *me)
{
    FILE *file = fopen(me->job->summary, "w");
    uint64_t requests = 0;
    if (file == NULL)
        return false;
    for (uint32_t i = 0; i < STATUSES; i++) {
        const tally *it = &me->all.statuses[i];
        requests += it->requests;
        if (it->requests > 0)
            (void)fprintf(file, "%" PRIu32 " %" PRIu64 " %" PRIu64 "\n", i, it->requests,
                          it->bytes);
    }
    bool failed = ferror(file) != 0;
    (void)printf("lines: parsed %" PRIu64 " malformed %" PRIu64 "\n", requests, me->all.malformed);
    return fclose(file) == 0 && !failed;
}

static axo_status collector_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    collector *me = state;
    if (message->tag != TABLE_IS)
        return AXO_UNHANDLED;
    table_add(&me->all, message->payload, message->size);
    if (++me->tables < me->job->nodes * COUNTERS)
        return AXO_OK;
    if (!collector_write(me))
        return axo_fail_fatal(ctx, errno, "cannot write %s: %s", me->job->summary, strerror(errno));
    me->job->written = true;
    return axo_system_shutdown(axo_system_of(ctx));
}

static const axo_class collector_class =
    AXO_CLASS(.name = "collector", .state_size = sizeof(collector),
              .construct = collector_construct, .receive = collector_receive);

/* ---- programs ------------------------------------------------------------------------------ */

/* What it cannot mend ends the program: it is to be started again, and goes on. */
static const axo_strategy user_strategy = AXO_STRATEGY(.decider = axo_decide_escalate);

static axo_status program_count(axo_cluster *cluster, axo_system *system, const char *folder)
{
    axo_store *store;
    axo_store_problem problem;
    const axo_store_settings settings = AXO_STORE_SETTINGS(.path = folder);
    axo_status status = axo_store_open(system, &settings, &problem, &store);
    if (status != AXO_OK)
        (void)fprintf(stderr, "log_cluster: %s\n", problem.text);
    for (uint32_t i = 0; i < COUNTERS && status == AXO_OK; i++) {
        char name[32];
        axo_ref ref;
        const axo_durable recipe =
            AXO_DURABLE(.store = store, .name = name, .journal = &counter_journal);
        const axo_props props = AXO_PROPS(.cls = &counter_class, .name = name);
        (void)snprintf(name, sizeof name, "counter%u", i);
        status = axo_system_durable_spawn(system, &recipe, &props, &ref);
        if (status == AXO_OK)
            status = axo_system_register(system, name, ref);
    }
    return status == AXO_OK ? axo_cluster_start(cluster, system) : status;
}

static axo_status program_read(job *it, axo_system *system)
{
    axo_props props = AXO_PROPS(.cls = &collector_class, .name = "collector", .args = &it,
                                .args_size = sizeof it);
    axo_status status = axo_cluster_start(it->cluster, system);
    if (status == AXO_OK)
        status = axo_system_spawn(system, &props, &it->collector);
    for (uint32_t i = 0; i < it->nodes * COUNTERS && status == AXO_OK; i++) {
        const feeder args = {.job = it, .index = i, .counter = axo_ref_none()};
        axo_ref ref;
        props = (axo_props)AXO_PROPS(.cls = &feeder_class, .args = &args, .args_size = sizeof args);
        status = axo_system_spawn(system, &props, &ref);
    }
    return status;
}

/* How far the reader is, unless it was shown before. */
static void program_progress(const job *it, uint64_t shown[2])
{
    uint64_t counted = atomic_load(&it->counted);
    uint64_t again = atomic_load(&it->again);
    if (counted != shown[0] || again != shown[1])
        (void)fprintf(stderr,
                      "batches: counted %" PRIu64 " of %" PRIu64 ", asked again %" PRIu64 "\n",
                      counted, job_batches(it), again);
    shown[0] = counted;
    shown[1] = again;
}

/* Until SIGTERM, or until it has ended by itself. */
static void program_wait(axo_system *system, const job *it, axo_outcome *outcome)
{
    sigset_t ends;
    const struct timespec none = {.tv_sec = 0};
    uint64_t shown[2] = {0, 0};
    (void)sigemptyset(&ends);
    (void)sigaddset(&ends, SIGTERM);
    while (axo_system_wait(system, SECOND / 10, outcome) == AXO_ETIMEDOUT) {
        if (sigtimedwait(&ends, NULL, &none) == SIGTERM)
            (void)axo_system_shutdown(system);
        program_progress(it, shown);
    }
    program_progress(it, shown);
}

/* A reader has a job with nodes, a counter has a folder. */
static bool program_run(job *it, const char *folder)
{
    axo_system *system;
    axo_outcome outcome = {.failed = 0};
    const axo_options options =
        AXO_OPTIONS(.workers = 2, .user_strategy = &user_strategy,
                    .remote = axo_cluster_remote(it->cluster), .remote_user = it->cluster);
    axo_status status = axo_system_start(&options, &system);
    if (status != AXO_OK)
        return false;
    status = it->nodes > 0 ? program_read(it, system) : program_count(it->cluster, system, folder);
    if (status != AXO_OK)
        (void)axo_system_shutdown(system);
    program_wait(system, it, &outcome);
    (void)axo_cluster_leave(it->cluster);
    (void)axo_system_destroy(system);
    if (status != AXO_OK || outcome.failed)
        (void)fprintf(stderr, "log_cluster: %s\n",
                      outcome.failed ? outcome.text : axo_status_text(status));
    return status == AXO_OK && !outcome.failed && (it->nodes == 0 || it->written);
}

static uint64_t job_hash(uint64_t hash, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3); /* FNV-1a */
    return hash;
}

/* Which log it is, and how it is cut: other batches, or other nodes, and nothing would fit. */
static bool job_open(job *it, const char *names, const char *log, const char *bytes)
{
    struct stat file;
    it->input = open(log, O_RDONLY | O_CLOEXEC);
    if (it->input < 0 || fstat(it->input, &file) != 0) {
        (void)fprintf(stderr, "log_cluster: %s: %s\n", log, strerror(errno));
        return false;
    }
    it->size = (uint64_t)file.st_size;
    it->batch = bytes == NULL ? BATCH_BYTES : line_number(bytes, strlen(bytes));
    if (it->batch == 0 || it->batch > BATCH_MAX) {
        (void)fprintf(stderr, "log_cluster: a batch has 1 to %zu bytes\n", BATCH_MAX);
        return false;
    }
    it->log = job_hash(UINT64_C(0xcbf29ce484222325), names, strlen(names));
    it->log = job_hash(it->log, &it->batch, sizeof it->batch);
    it->log = job_hash(it->log, &file.st_size, sizeof file.st_size);
    it->log = job_hash(it->log, &file.st_mtim.tv_sec, sizeof file.st_mtim.tv_sec) | 1;
    while (*names != '\0') {
        size_t size = strcspn(names, ",");
        if (it->nodes == NODES_MAX || size == 0 || size > AXO_NODE_NAME_MAX) {
            (void)fprintf(stderr, "log_cluster: at most %d names of nodes\n", NODES_MAX);
            return false;
        }
        memcpy(it->names[it->nodes++], names, size);
        names += names[size] == ',' ? size + 1 : size;
    }
    return it->nodes > 0;
}

int main(int argc, char **argv)
{
    static job it;
    axo_cluster_problem problem;
    sigset_t ends;
    bool reads = argc >= 5 && argc <= 7 && strcmp(argv[1], "read") == 0;
    bool counts = argc >= 4 && argc <= 5 && strcmp(argv[1], "count") == 0;
    if (!reads && !counts) {
        (void)fprintf(stderr, "log_cluster count NODE FOLDER [URL]\n"
                              "log_cluster read NODES LOG SUMMARY [URL [BYTES]]\n");
        return 2;
    }
    if (reads && !job_open(&it, argv[2], argv[3], argc == 7 ? argv[6] : NULL))
        return 1;
    (void)sigemptyset(&ends);
    (void)sigaddset(&ends, SIGTERM);
    (void)sigprocmask(SIG_BLOCK, &ends, NULL); /* threads that come inherit it */
    const int at = reads ? 5 : 4;              /* of the URL */
    it.summary = reads ? argv[4] : NULL;
    const axo_cluster_options with =
        AXO_CLUSTER_OPTIONS(.cluster = "log", .node = reads ? "reader" : argv[2],
                            .url = argc > at ? argv[at] : NULL, .token = getenv("LOG_TOKEN"),
                            .down_ms = 10000);
    axo_status status = axo_cluster_open(&with, &problem, &it.cluster);
    if (status != AXO_OK) {
        (void)fprintf(stderr, "log_cluster: %s: %s\n", axo_status_text(status), problem.text);
        return 1;
    }
    bool good = program_run(&it, counts ? argv[3] : NULL);
    axo_cluster_close(it.cluster);
    if (reads)
        (void)close(it.input); /* only read */
    return good ? 0 : 1;
}
