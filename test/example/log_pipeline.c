/* log_pipeline.c - counts a web server's access log with supervised actors that fail on bad lines.
 *
 *   reader --CHUNK--> parser (a pool, children of one supervisor) --COUNTS, MALFORMED--> collector
 *     ^----------------------------------CREDIT------------------------------------------'
 *
 * The reader cuts the file into chunks of whole lines and sends each to a parser that has credit.
 * Credit comes back when the collector has the chunk's counts, so a bounded number of chunks, and
 * of what is made of them, is in memory. A chunk is not copied: the message owns a view of it, and
 * the last view frees it.
 *
 * A parser fails on the first malformed line of its view, and its supervisor restarts it. Before
 * that, pre_restart, which still sees the old instance's state, reports the line and sends a view
 * of the rest, with what was counted so far, to the new instance: only the malformed line is lost.
 *
 * The reader shuts the system down when the file is at its end and all credit is back. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <axo/axo.h>

#include "access_line.h"

enum { POOL = 1, CHUNK = 2, CREDIT = 3, COUNTS = 4, MALFORMED = 5 };

#define CHUNK_BYTES    ((size_t)64 * 1024)
#define LINE_BYTES_MAX ((size_t)64 * 1024 * 1024)
#define CREDITS        4 /* chunks in flight a parser */
#define PARSERS_MAX    (2 * AXO_WORKERS_MAX)
#define STATUSES       600
#define HOURS          24
#define STEP_NS        INT64_C(100000000)
#define STALL_NS       INT64_C(30000000000)

/* How many requests, and how many bytes were sent for them. */
typedef struct tally {
    uint64_t requests;
    uint64_t bytes;
} tally;

/* What is counted: payload of COUNTS. */
typedef struct counts {
    uint64_t parsed;
    uint64_t malformed;
    tally statuses[STATUSES];
    tally hours[HOURS];
} counts;

/* What the actors and main share. Each field has one writer at a time; main reads the plain ones
 * when the system has ended. */
typedef struct job {
    int input;        /* reader */
    FILE *report;     /* collector */
    uint32_t parsers; /* set before the start, as the two above */
    axo_ref reader;
    axo_ref collector;
    uint64_t decided;            /* supervisor: failures it has restarted a child for */
    uint64_t reported;           /* collector: lines in the report */
    counts total;                /* collector */
    _Atomic uint64_t lines_read; /* reader; main shows it as progress */
    _Atomic uint64_t bytes_read;
} job;

/* ---- chunks and views ---------------------------------------------------------------------- */

typedef struct chunk {
    _Atomic uint32_t views;
    size_t size;
    char text[];
} chunk;

/* Payload of CHUNK: the lines of a chunk from byte `at`, which is line number `line`, on; and what
 * was counted in the lines before. */
typedef struct view {
    chunk *chunk;
    size_t at;
    uint64_t line;
    counts counts;
} view;

static void chunk_release(chunk *whole)
{
    if (atomic_fetch_sub(&whole->views, 1) == 1)
        free(whole);
}

static void view_free(void *payload, void *user)
{
    (void)user;
    chunk_release(((view *)payload)->chunk);
    free(payload);
}

/* Makes a view that holds the chunk; NULL: no memory. */
static view *view_create(chunk *whole, size_t at, uint64_t line)
{
    view *seen = calloc(1, sizeof *seen);
    if (seen == NULL)
        return NULL;
    seen->chunk = whole;
    seen->at = at;
    seen->line = line;
    atomic_fetch_add(&whole->views, 1);
    return seen;
}

/* Sends a view, or frees it; NULL is AXO_ENOMEM. */
static axo_status view_send(axo_ctx *ctx, axo_ref to, view *seen)
{
    if (seen == NULL)
        return AXO_ENOMEM;
    axo_status status = axo_send_owned(ctx, to, CHUNK, seen, sizeof *seen, view_free, NULL);
    if (status != AXO_OK && status != AXO_EGONE)
        view_free(seen, NULL);
    return status;
}

/* ---- parts that all actors have in common -------------------------------------------------- */

/* The state of an actor that has only what all share; others begin with it. */
typedef struct part {
    job *job;
} part;

static axo_status part_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    part *me = state;
    memcpy(&me->job, args, sizeof me->job);
    return AXO_OK;
}

/* For a send without which lines would be lost: if it is not accepted, nobody below can help. */
static axo_status part_must(axo_ctx *ctx, axo_status sent, const char *what)
{
    if (sent == AXO_OK)
        return AXO_OK;
    return axo_fail_fatal(ctx, (int32_t)sent, "%s: %s", what, axo_status_text(sent));
}

/* ---- reader -------------------------------------------------------------------------------- */

typedef struct reader {
    part part;
    axo_ref parsers[PARSERS_MAX];
    uint32_t outstanding; /* chunks that are not yet parsed */
    bool at_end;
    uint64_t line; /* number of the next line */
    chunk *rest;   /* begins with a line that the last read cut; NULL: none */
} reader;

static void reader_forget(void *arg)
{
    reader *me = arg;
    free(me->rest);
}

static axo_status reader_construct(axo_ctx *ctx, void *state, const void *args)
{
    reader *me = state;
    me->line = 1;
    (void)part_construct(ctx, state, args); /* always AXO_OK */
    return axo_defer(ctx, reader_forget, me);
}

/* Fills a chunk until it has a whole line or the file is at its end; *used is the number of bytes
 * that belong to whole lines. */
static axo_status reader_fill(axo_ctx *ctx, reader *me, chunk **filled, size_t *used)
{
    job *shared = me->part.job;
    size_t room = CHUNK_BYTES + (me->rest == NULL ? 0 : me->rest->size);
    for (*used = 0; *used == 0 && !me->at_end; room *= 2) { /* ends: LINE_BYTES_MAX */
        chunk *whole = room > LINE_BYTES_MAX ? NULL : realloc(me->rest, sizeof *whole + room);
        if (whole == NULL)
            return axo_fail_fatal(ctx, 1, "line %" PRIu64 " is too long for memory", me->line);
        if (me->rest == NULL)
            whole->size = 0;
        me->rest = whole;
        atomic_init(&whole->views, 1);
        while (whole->size < room && !me->at_end) {
            ssize_t got = read(shared->input, whole->text + whole->size, room - whole->size);
            if (got < 0 && errno == EINTR)
                continue;
            if (got < 0)
                return axo_fail_fatal(ctx, errno, "cannot read: %s", strerror(errno));
            me->at_end = got == 0;
            whole->size += (size_t)got;
            atomic_fetch_add(&shared->bytes_read, (uint64_t)got);
        }
        char *last = memrchr(whole->text, '\n', whole->size);
        *used = last == NULL ? 0 : (size_t)(last - whole->text) + 1;
    }
    *filled = me->rest;
    if (me->at_end)
        *used = me->rest == NULL ? 0 : me->rest->size; /* the last line may lack its newline */
    return AXO_OK;
}

static uint64_t reader_count_lines(const chunk *whole)
{
    uint64_t lines = 0;
    const char *end = whole->text + whole->size;
    for (const char *at = whole->text; at < end; lines++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        at = newline == NULL ? end : newline + 1;
    }
    return lines;
}

/* Sends the next chunk of the file to a parser. */
static axo_status reader_feed(axo_ctx *ctx, reader *me, axo_ref parser)
{
    size_t used = 0;
    chunk *whole = NULL;
    axo_status status = me->at_end ? AXO_OK : reader_fill(ctx, me, &whole, &used);
    if (status != AXO_OK)
        return status;
    if (me->at_end && me->rest == NULL)
        return me->outstanding == 0 ? axo_system_shutdown(axo_system_of(ctx)) : AXO_OK;
    size_t left = whole->size - used;
    me->rest = NULL;
    if (left > 0) {
        me->rest = malloc(sizeof *me->rest + left);
        if (me->rest == NULL) {
            chunk_release(whole);
            return axo_fail_fatal(ctx, 1, "out of memory");
        }
        me->rest->size = left;
        memcpy(me->rest->text, whole->text + used, left);
    }
    whole->size = used;
    uint64_t lines = reader_count_lines(whole);
    status = view_send(ctx, parser, view_create(whole, 0, me->line));
    chunk_release(whole);
    me->line += lines;
    me->outstanding++;
    atomic_fetch_add(&me->part.job->lines_read, lines);
    return part_must(ctx, status, "chunk");
}

static axo_status reader_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    reader *me = state;
    if (message->tag == CREDIT) {
        me->outstanding--;
        return reader_feed(ctx, me, message->sender);
    }
    if (message->tag != POOL)
        return AXO_UNHANDLED;
    memcpy(me->parsers, message->payload, message->size);
    axo_status status = AXO_OK;
    uint32_t credits = CREDITS * me->part.job->parsers;
    for (uint32_t i = 0; status == AXO_OK && i < credits && !me->at_end; i++)
        status = reader_feed(ctx, me, me->parsers[i % me->part.job->parsers]);
    return status;
}

static const axo_class reader_class =
    AXO_CLASS(.name = "reader", .state_size = sizeof(reader), .construct = reader_construct,
              .receive = reader_receive);

/* ---- parser -------------------------------------------------------------------------------- */

typedef struct parser {
    part part;
    size_t next_at; /* behind the line that is being parsed */
    uint64_t line;  /* its number */
    counts counts;  /* of this chunk, up to here */
} parser;

/* Payload of MALFORMED. */
typedef struct malformed {
    uint64_t line;
    char reason[AXO_FAILURE_TEXT_MAX];
} malformed;

/* Hands the chunk's counts on, in a message that is filled in place. */
static axo_status parser_finish(axo_ctx *ctx, const parser *me)
{
    axo_draft *draft;
    void *payload;
    axo_status status = axo_message_new(ctx, COUNTS, sizeof me->counts, &draft, &payload);
    if (status != AXO_OK)
        return part_must(ctx, status, "counts");
    memcpy(payload, &me->counts, sizeof me->counts);
    status = axo_send_message(ctx, me->part.job->collector, draft);
    if (status != AXO_OK && status != AXO_EGONE)
        axo_message_discard(ctx, draft);
    return part_must(ctx, status, "counts");
}

static void parser_count(parser *me, const access_line *line)
{
    tally *status = &me->counts.statuses[line->status];
    tally *hour = &me->counts.hours[line->hour];
    me->counts.parsed++;
    status->requests++;
    status->bytes += line->bytes;
    hour->requests++;
    hour->bytes += line->bytes;
}

static axo_status parser_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    parser *me = state;
    if (message->tag != CHUNK)
        return AXO_UNHANDLED;
    const view *seen = AXO_PAYLOAD(message, view);
    const chunk *whole = seen->chunk;
    me->counts = seen->counts;
    me->line = seen->line;
    for (size_t at = seen->at; at < whole->size; at = me->next_at, me->line++) {
        const char *text = whole->text + at;
        const char *newline = memchr(text, '\n', whole->size - at);
        size_t length = newline == NULL ? whole->size - at : (size_t)(newline - text);
        access_line line = {.status = 0};
        me->next_at = at + length + (newline != NULL);
        axo_status status = access_line_parse(ctx, text, length, &line);
        if (status != AXO_OK)
            return status;
        parser_count(me, &line);
    }
    return parser_finish(ctx, me);
}

/* The old instance has failed on line `me->line`: saves all but that line. */
static axo_status parser_pre_restart(axo_ctx *ctx, void *state, const axo_failure *failure,
                                     const axo_message *message)
{
    parser *me = state;
    if (message != NULL && message->tag == CHUNK) {
        const view *seen = AXO_PAYLOAD(message, view);
        malformed report = {.line = me->line};
        (void)snprintf(report.reason, sizeof report.reason, "%s", failure->text);
        me->counts.malformed++;
        view *rest = view_create(seen->chunk, me->next_at, me->line + 1);
        if (rest != NULL)
            rest->counts = me->counts;
        axo_status status = view_send(ctx, axo_self(ctx), rest);
        if (status == AXO_OK)
            status = axo_send(ctx, me->part.job->collector, MALFORMED, &report, sizeof report);
        if (status != AXO_OK)
            return status; /* main sees that nothing moves, and says so */
    }
    return axo_default_pre_restart(ctx, state, failure, message);
}

static const axo_class parser_class =
    AXO_CLASS(.name = "parser", .state_size = sizeof(parser), .construct = part_construct,
              .receive = parser_receive, .pre_restart = parser_pre_restart);

/* ---- supervisor ---------------------------------------------------------------------------- */

static axo_directive supervisor_decide(axo_ctx *ctx, void *state, const axo_failure *failure,
                                       void *user)
{
    part *me = state;
    if (failure->kind != AXO_FAILURE_ORDINARY)
        return axo_decide_default(ctx, state, failure, user);
    me->job->decided++;
    return AXO_RESTART;
}

static axo_status supervisor_start(axo_ctx *ctx, void *state)
{
    part *me = state;
    axo_ref parsers[PARSERS_MAX];
    axo_props props =
        AXO_PROPS(.cls = &parser_class, .args = &me->job, .args_size = sizeof me->job);
    axo_status status = AXO_OK;
    for (uint32_t i = 0; status == AXO_OK && i < me->job->parsers; i++) {
        status = axo_spawn(ctx, &props, &parsers[i]);
        if (status == AXO_OK)
            status = axo_watch(ctx, parsers[i]);
    }
    if (status == AXO_OK)
        status =
            axo_send(ctx, me->job->reader, POOL, parsers, me->job->parsers * sizeof parsers[0]);
    return part_must(ctx, status, "pool");
}

static axo_status supervisor_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)state;
    if (message->tag != AXO_TERMINATED)
        return AXO_UNHANDLED;
    return axo_fail_fatal(ctx, 1, "a parser has ended, and lines with it");
}

static const axo_strategy supervisor_strategy = AXO_STRATEGY(.decider = supervisor_decide);
static const axo_class supervisor_class =
    AXO_CLASS(.name = "supervisor", .state_size = sizeof(part), .construct = part_construct,
              .pre_start = supervisor_start, .receive = supervisor_receive);

/* ---- collector ----------------------------------------------------------------------------- */

static void tally_add(tally *sums, const tally *more, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        sums[i].requests += more[i].requests;
        sums[i].bytes += more[i].bytes;
    }
}

static axo_status collector_report(axo_ctx *ctx, job *shared, const malformed *report)
{
    shared->reported++;
    if (fprintf(shared->report, "%" PRIu64 "\t%s\n", report->line, report->reason) < 0)
        return axo_fail_fatal(ctx, errno, "cannot write the report: %s", strerror(errno));
    return AXO_OK;
}

static axo_status collector_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    part *me = state;
    counts *total = &me->job->total;
    if (message->tag == MALFORMED)
        return collector_report(ctx, me->job, AXO_PAYLOAD(message, malformed));
    if (message->tag != COUNTS)
        return AXO_UNHANDLED;
    const counts *more = AXO_PAYLOAD(message, counts);
    total->parsed += more->parsed;
    total->malformed += more->malformed;
    tally_add(total->statuses, more->statuses, STATUSES);
    tally_add(total->hours, more->hours, HOURS);
    /* On the parser's behalf: the reader gives it the next chunk. */
    axo_status status = axo_send_from(ctx, message->sender, me->job->reader, CREDIT, NULL, 0);
    return part_must(ctx, status, "credit");
}

static const axo_class collector_class =
    AXO_CLASS(.name = "collector", .state_size = sizeof(part), .construct = part_construct,
              .receive = collector_receive);

/* ---- results ------------------------------------------------------------------------------- */

static void table_row(const char *name, const tally *what)
{
    if (what->requests > 0)
        (void)printf("  %-8s %12" PRIu64 " requests %16" PRIu64 " bytes\n", name, what->requests,
                     what->bytes);
}

static void table_print(const counts *total)
{
    char name[16];
    (void)printf("by class of status\n");
    for (uint32_t class = 1; class < STATUSES / 100; class ++) {
        tally sum = {.requests = 0};
        for (uint32_t i = class * 100; i < class * 100 + 100; i++) {
            sum.requests += total->statuses[i].requests;
            sum.bytes += total->statuses[i].bytes;
        }
        (void)snprintf(name, sizeof name, "%uxx", class);
        table_row(name, &sum);
    }
    (void)printf("by hour\n");
    for (uint32_t hour = 0; hour < HOURS; hour++) {
        (void)snprintf(name, sizeof name, "%02u", hour);
        table_row(name, &total->hours[hour]);
    }
}

/* Writes "STATUS REQUESTS BYTES" lines; 0 or -1. */
static int summary_write(const char *path, const counts *total)
{
    FILE *file = fopen(path, "w");
    if (file == NULL)
        return -1;
    for (uint32_t i = 0; i < STATUSES; i++) {
        if (total->statuses[i].requests > 0)
            (void)fprintf(file, "%" PRIu32 " %" PRIu64 " %" PRIu64 "\n", i,
                          total->statuses[i].requests, total->statuses[i].bytes);
    }
    bool failed = ferror(file) != 0;
    return fclose(file) != 0 || failed ? -1 : 0;
}

/* Prints the accounts; 0 if they agree, else 1. */
static int accounts_print(const job *shared, const axo_stats *stats)
{
    uint64_t read = atomic_load(&shared->lines_read);
    uint64_t lost = read - shared->total.parsed - shared->total.malformed;
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage); /* cannot fail with these arguments */
    (void)printf("lines: read %" PRIu64 " = parsed %" PRIu64 " + malformed %" PRIu64
                 "; lost %" PRId64 "\n",
                 read, shared->total.parsed, shared->total.malformed, (int64_t)lost);
    (void)printf("malformed: %" PRIu64 " failures, %" PRIu64 " decisions, %" PRIu64
                 " restarts, %" PRIu64 " reports\n",
                 stats->failures, shared->decided, stats->restarts, shared->reported);
    (void)printf("messages: sent %" PRIu64 " = handled %" PRIu64 " + dead %" PRIu64
                 " + dropped %" PRIu64 "\n",
                 stats->sent, stats->handled, stats->dead, stats->dropped);
    (void)printf("peak memory: %.1f MiB\n", (double)usage.ru_maxrss / 1024.0);
    uint64_t bad = shared->total.malformed;
    bool agree = lost == 0 && stats->failures == bad && shared->decided == bad &&
                 stats->restarts == bad && shared->reported == bad && stats->dead == 0 &&
                 stats->sent == stats->handled + stats->dead + stats->dropped;
    if (!agree)
        (void)fprintf(stderr, "log_pipeline: the accounts do not agree\n");
    return agree ? 0 : 1;
}

/* ---- program ------------------------------------------------------------------------------- */

static int64_t now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail with this clock */
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Shows progress until the system has ended; 0, or 1 if it failed or nothing moves any more. */
static int pipeline_wait(axo_system *system, job *shared, uint64_t size)
{
    axo_outcome outcome = {.failed = 0};
    uint64_t before = 0;
    int64_t moved_ns = now_ns();
    while (axo_system_wait(system, STEP_NS, &outcome) == AXO_ETIMEDOUT) {
        uint64_t bytes = atomic_load(&shared->bytes_read);
        (void)fprintf(stderr, "  %3.0f %%  %" PRIu64 " lines\n",
                      size == 0 ? 100.0 : 100.0 * (double)bytes / (double)size,
                      atomic_load(&shared->lines_read));
        if (bytes != before)
            moved_ns = now_ns();
        before = bytes;
        if (now_ns() - moved_ns > STALL_NS) {
            (void)fprintf(stderr, "log_pipeline: nothing moves\n");
            return 1;
        }
    }
    if (outcome.failed != 0)
        (void)fprintf(stderr, "log_pipeline: failed: %s\n", outcome.text);
    return outcome.failed != 0 ? 1 : 0;
}

static axo_status pipeline_spawn(axo_system *system, const char *name, const axo_class *cls,
                                 job **shared, axo_ref *out)
{
    axo_props props = AXO_PROPS(.cls = cls, .name = name, .args = shared,
                                .args_size = sizeof *shared, .strategy = &supervisor_strategy);
    return axo_system_spawn(system, &props, out);
}

static int pipeline_run(job *shared, uint32_t workers, uint64_t size, axo_stats *stats)
{
    axo_options options = AXO_OPTIONS(.workers = workers);
    axo_system *system;
    axo_ref supervisor;
    if (axo_system_start(&options, &system) != AXO_OK)
        return 1;
    shared->parsers = 2 * axo_system_workers(system);
    axo_status status =
        pipeline_spawn(system, "collector", &collector_class, &shared, &shared->collector);
    if (status == AXO_OK)
        status = pipeline_spawn(system, "reader", &reader_class, &shared, &shared->reader);
    if (status == AXO_OK) /* the last one: when it starts, the others' references are set */
        status = pipeline_spawn(system, "parsers", &supervisor_class, &shared, &supervisor);
    int failed = status == AXO_OK ? pipeline_wait(system, shared, size) : 1;
    if (axo_system_stop(system, STALL_NS, NULL, 0, NULL) != AXO_OK)
        return 1; /* it is left running: exit ends it */
    if (axo_system_stats(system, stats) != AXO_OK || axo_system_destroy(system) != AXO_OK)
        failed = 1;
    return failed;
}

static int pipeline_usage(const char *program)
{
    (void)fprintf(stderr,
                  "usage: %s LOG SUMMARY MALFORMED [WORKERS]\n"
                  "  writes status, requests and bytes to SUMMARY, the bad lines to MALFORMED\n",
                  program);
    return 2;
}

int main(int argc, char **argv)
{
    static job shared;
    axo_stats stats = AXO_STATS(.sent = 0);
    struct stat file;
    unsigned long workers = argc == 5 ? strtoul(argv[4], NULL, 10) : 0;
    if (argc < 4 || argc > 5 || workers > AXO_WORKERS_MAX)
        return pipeline_usage(argv[0]);
    shared.input = open(argv[1], O_RDONLY | O_CLOEXEC);
    if (shared.input < 0 || fstat(shared.input, &file) != 0) {
        (void)fprintf(stderr, "log_pipeline: %s: %s\n", argv[1], strerror(errno));
        return 1;
    }
    shared.report = fopen(argv[3], "w");
    if (shared.report == NULL) {
        (void)fprintf(stderr, "log_pipeline: %s: %s\n", argv[3], strerror(errno));
        return 1;
    }
    int64_t begin_ns = now_ns();
    int failed = pipeline_run(&shared, (uint32_t)workers, (uint64_t)file.st_size, &stats);
    double seconds = (double)(now_ns() - begin_ns) / 1e9;
    if (failed != 0)
        return 1;
    (void)close(shared.input); /* only read */
    table_print(&shared.total);
    (void)printf("%.2f s, %.2f million lines/s, %" PRIu32 " parsers\n", seconds,
                 (double)shared.total.parsed / seconds / 1e6, shared.parsers);
    failed = accounts_print(&shared, &stats);
    if (fclose(shared.report) != 0 || summary_write(argv[2], &shared.total) != 0) {
        (void)fprintf(stderr, "log_pipeline: cannot write the results\n");
        return 1;
    }
    return failed;
}
