/* log_test.c - lines of the log: what each says, that a real reader of JSON reads it, that real
 * listeners of syslog and of the journal get it, and that none takes memory. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "api/service.h"

enum { LOG_FAIL = 7, LOG_STATUS, LOG_FATAL, LOG_WORK, LOG_PASS, LOG_UNNAMED, LOG_ODD, LOG_SAY };
enum { LOG_LINES = 64, LOG_BYTES = 4096 };

static const char *log_tag(uint32_t tag)
{
    static const char *const names[] = {"REQ", "STATUS", "FATAL", "WORK", "PASS"};
    return tag >= LOG_FAIL && tag < LOG_UNNAMED ? names[tag - LOG_FAIL] : NULL;
}

/* What a hook has got, copied: the record lives during the call. */
typedef struct log_seen {
    axo_log_record record;
    char line[512];
    char path[AXO_EVENT_PATH_MAX];
    char origin_path[AXO_EVENT_PATH_MAX];
    char tag_name[32];
    char text[128];
    char class_name[32];
} log_seen;

static struct {
    log_seen all[LOG_LINES];
    uint32_t count;
    uint32_t texts;     /* lines of the hook for text, each the same as its record's */
    uint32_t at_end;    /* lines when the system called its last functions */
    uint64_t blocks;    /* taken from the allocator */
    bool fails_to_leave;
    axo_ref child;
    axo_ctx *stale;
    axo_log_sink *sink; /* gets each record too; NULL: none does */
} lg;

static void log_take(void *user, const axo_log_record *record)
{
    assert_true(lg.count < LOG_LINES);
    assert_true(user == &lg && record->size == sizeof *record);
    log_seen *seen = &lg.all[lg.count++];
    memset(seen, 0, sizeof *seen);
    seen->record = *record;
    (void)snprintf(seen->line, sizeof seen->line, "%s", record->line);
    (void)snprintf(seen->path, sizeof seen->path, "%s", record->path);
    (void)snprintf(seen->origin_path, sizeof seen->origin_path, "%s", record->origin_path);
    (void)snprintf(seen->tag_name, sizeof seen->tag_name, "%s", record->tag_name);
    (void)snprintf(seen->text, sizeof seen->text, "%s", record->text);
    (void)snprintf(seen->class_name, sizeof seen->class_name, "%s", record->class_name);
    assert_string_equal(record->event_name, axo_log_event_name(record->event));
    assert_string_equal(record->system, "logged");
    assert_true(record->unix_ns > INT64_C(1700000000) * 1000000000);
    if (lg.sink != NULL)
        axo_log_write(lg.sink, record);
}

static void log_take_text(void *user, axo_log_level level, axo_ref actor, const char *text)
{
    assert_true(lg.count > 0);
    const log_seen *seen = &lg.all[lg.count - 1];
    assert_string_equal(text, seen->line);
    assert_int_equal(level, seen->record.level);
    assert_true(axo_ref_equal(actor, seen->record.actor));
    lg.texts++;
}

static void *log_alloc(void *user, size_t size, size_t align)
{
    void *block = NULL;
    lg.blocks++;
    return posix_memalign(&block, align < sizeof(void *) ? sizeof(void *) : align, size) == 0
               ? block
               : NULL;
}

static void log_free(void *user, void *block, size_t size, size_t align)
{
    free(block);
}

/* ---- actors ---- */

/* A line that is fine, one that is cut, and some that are none. */
static axo_status shard_say(axo_ctx *ctx)
{
    char longer[AXO_FAILURE_TEXT_MAX + 100];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    assert_int_equal(axo_log(ctx, AXO_LOG_WARNING, "%s is %d %% full", "it\n", 80), AXO_OK);
    assert_int_equal(axo_log(ctx, AXO_LOG_ERROR, "%s", longer), AXO_OK);
    assert_int_equal(axo_log(ctx, (axo_log_level)0, "no level"), AXO_EINVAL);
    assert_int_equal(axo_log(ctx, (axo_log_level)(AXO_LOG_INFO + 1), "no level"), AXO_EINVAL);
    assert_int_equal(axo_log(NULL, AXO_LOG_INFO, "no context"), AXO_ECONTEXT);
    lg.stale = ctx;
    return AXO_OK;
}

static axo_status shard_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    switch (message->tag) {
    case LOG_FAIL:
    case LOG_UNNAMED:
        return axo_fail(ctx, 13, "poison");
    case LOG_STATUS:
        return AXO_EINVAL;
    case LOG_FATAL:
        return axo_fail_fatal(ctx, -2, "not a status \"of ours\"\n\x01");
    case LOG_ODD:
        return (axo_status)77;
    case LOG_SAY:
        return shard_say(ctx);
    default:
        return AXO_OK;
    }
}

static axo_status shard_stop(axo_ctx *ctx, void *state)
{
    if (lg.stale != NULL)
        assert_int_equal(axo_log(ctx, AXO_LOG_INFO, "%s", "leaves"), AXO_OK);
    return lg.fails_to_leave ? axo_fail(ctx, 21, "left badly") : AXO_OK;
}

static const axo_class shard_class = AXO_CLASS(.name = "shard", .receive = shard_receive,
                                               .post_stop = shard_stop, .tag_name = log_tag);

static axo_status parent_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    const axo_props props = AXO_PROPS(.cls = &shard_class, .name = "shard2");
    return axo_spawn(ctx, &props, &lg.child);
}

static const axo_class parent_class = AXO_CLASS(.name = "parent", .receive = parent_receive);
static const axo_strategy up = AXO_STRATEGY(.decider = axo_decide_escalate);

static axo_system *log_start(axo_options options)
{
    axo_system *system = NULL;
    memset(&lg, 0, sizeof lg);
    options.manual = 1;
    options.name = "logged";
    options.stuck_ns = -1;
    options.log_record = log_take;
    options.log_record_user = &lg;
    options.log = log_take_text;
    options.allocator = (axo_allocator){log_alloc, log_free, NULL};
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    return system;
}

static axo_ref log_spawn(axo_system *system, const axo_class *cls, const char *name,
                         const axo_strategy *strategy)
{
    const axo_props props = AXO_PROPS(.cls = cls, .name = name, .strategy = strategy);
    axo_ref ref;
    assert_int_equal(axo_system_spawn(system, &props, &ref), AXO_OK);
    assert_int_equal(axo_run_host(system, -1, NULL), AXO_OK);
    return ref;
}

static void log_tell(axo_system *system, axo_ref from, axo_ref to, uint32_t tag)
{
    assert_int_equal(axo_system_send_from(system, from, to, tag, NULL, 0), AXO_OK);
    assert_int_equal(axo_run_host(system, -1, NULL), AXO_OK);
}

static void log_end(axo_system *system)
{
    assert_int_equal(axo_system_stop(system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
    assert_int_equal(lg.texts, lg.count);
}

static void log_says(uint32_t which, const char *line)
{
    assert_true(which < lg.count);
    assert_string_equal(lg.all[which].line, line);
}

/* ---- what lines say ---- */

/* An actor's own lines: with its path, its message and instance; from hooks without a message. */
static void lines_of_its_own(void **state)
{
    axo_system *system = log_start((axo_options)AXO_OPTIONS());
    axo_ref shard = log_spawn(system, &shard_class, "shard2", NULL);
    (void)state;
    log_tell(system, axo_ref_none(), shard, LOG_SAY);
    assert_int_equal(lg.count, 2);
    const log_seen *seen = &lg.all[0];
    log_says(0, "/user/shard2 (shard): it\\n is 80 % full");
    assert_string_equal(seen->text, "it\n is 80 % full");
    assert_string_equal(seen->path, "/user/shard2");
    assert_string_equal(seen->class_name, "shard");
    assert_int_equal(seen->record.event, AXO_LOG_LINE);
    assert_int_equal(seen->record.level, AXO_LOG_WARNING);
    assert_int_equal(seen->record.instance, 1);
    assert_int_equal(seen->record.has_tag, 1);
    assert_int_equal(seen->record.tag, LOG_SAY);
    assert_true(axo_ref_equal(seen->record.actor, shard));
    assert_int_equal(lg.all[1].record.level, AXO_LOG_ERROR);
    assert_int_equal(strlen(lg.all[1].text), AXO_FAILURE_TEXT_MAX - 1);
    assert_int_equal(axo_log(lg.stale, AXO_LOG_INFO, "not its turn"), AXO_ECONTEXT);
    log_end(system);
    log_says(2, "/user/shard2 (shard): leaves");
    assert_int_equal(lg.count, 3);
    assert_int_equal(lg.all[2].record.has_tag, 0);
}

static void who_failed(void **state)
{
    axo_system *system = log_start((axo_options)AXO_OPTIONS());
    axo_ref probe = log_spawn(system, &parent_class, "probe", NULL);
    axo_ref shard = log_spawn(system, &shard_class, "shard2", NULL);
    log_tell(system, probe, shard, LOG_FAIL);
    assert_int_equal(lg.count, 1);
    const log_seen *seen = &lg.all[0];
    log_says(0, "restart: /user/shard2 (shard) failed in receive of REQ: code 13 \"poison\" "
                "(ordinary)");
    assert_int_equal(seen->record.level, AXO_LOG_ERROR);
    assert_int_equal(seen->record.event, AXO_LOG_FAILURE);
    assert_int_equal(seen->record.directive, AXO_RESTART);
    assert_true(axo_ref_equal(seen->record.actor, shard));
    assert_true(axo_ref_equal(seen->record.sender, probe));
    assert_true(axo_ref_is_none(seen->record.origin));
    assert_string_equal(seen->path, "/user/shard2");
    assert_string_equal(seen->class_name, "shard");
    assert_string_equal(seen->tag_name, "REQ");
    assert_string_equal(seen->text, "poison");
    assert_string_equal(seen->record.kind_name, "ordinary");
    assert_string_equal(seen->record.site_name, "receive");
    assert_int_equal(seen->record.instance, 1);
    assert_int_equal(seen->record.code, 13);
    assert_int_equal(seen->record.has_status, 0);
    log_tell(system, axo_ref_none(), shard, LOG_UNNAMED);
    log_says(1, "restart: /user/shard2 (shard) failed in receive of tag 12: code 13 \"poison\" "
                "(ordinary)");
    assert_int_equal(lg.all[1].record.instance, 2);
    assert_true(axo_ref_is_none(lg.all[1].record.sender));
    log_end(system);
}

/* A returned status has its name; the user's own number has none, whatever it looks like. */
static void statuses_and_codes(void **state)
{
    axo_system *system = log_start((axo_options)AXO_OPTIONS());
    axo_ref probe = log_spawn(system, &parent_class, "probe", NULL);
    axo_ref shard = log_spawn(system, &shard_class, "a", NULL);
    log_tell(system, probe, shard, LOG_STATUS);
    log_says(0, "restart: /user/a (shard) failed in receive of STATUS: AXO_EINVAL (invalid "
                "argument) (ordinary)");
    assert_string_equal(lg.all[0].record.status_name, "AXO_EINVAL");
    assert_int_equal(lg.all[0].record.has_status, 1);
    assert_true(axo_ref_equal(lg.all[0].record.sender, probe)); /* though no hook saw it */
    log_tell(system, probe, shard, LOG_ODD);
    log_says(1, "restart: /user/a (shard) failed in receive of tag 13: code 77 (ordinary)");
    assert_string_equal(lg.all[1].record.status_name, "");
    assert_int_equal(axo_system_kill(system, shard), AXO_OK);
    assert_int_equal(axo_run_host(system, -1, NULL), AXO_OK);
    log_says(2, "stop: /user/a (shard) was killed");
    assert_string_equal(lg.all[2].tag_name, "AXO_KILL");
    log_end(system);
}

/* Tags that are not the program's have names, whatever the class says of its own. */
static void tags_of_the_library(void **state)
{
    char name[AXO_INSPECT_NAME];
    axo_system *system = log_start((axo_options)AXO_OPTIONS());
    const axo_ref refs[] = {log_spawn(system, &parent_class, "probe", NULL),
                            log_spawn(system, &shard_class, "a", NULL)};
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(axo_system_tag_name(system, refs[i], AXO_IO_READY, name, sizeof name),
                         AXO_OK);
        assert_string_equal(name, "AXO_IO_READY");
        assert_int_equal(axo_system_tag_name(system, refs[i], AXO_CONNECTED, name, sizeof name),
                         AXO_OK);
        assert_string_equal(name, "AXO_CONNECTED");
        assert_int_equal(axo_system_tag_name(system, refs[i], AXO_TAG_SERVICES, name, sizeof name),
                         AXO_OK);
        assert_string_equal(name, "");
    }
    log_end(system);
}

/* The one that is decided about, and the one that failed; a text cannot end the line. */
static void escalated(void **state)
{
    axo_system *system = log_start((axo_options)AXO_OPTIONS());
    axo_ref parent = log_spawn(system, &parent_class, "p", &up);
    log_tell(system, axo_ref_none(), parent, LOG_WORK);
    lg.fails_to_leave = true;
    log_tell(system, parent, lg.child, LOG_FAIL);
    log_says(0, "restart: /user/p (parent) after /user/p/shard2 (shard) failed in receive of REQ: "
                "code 13 \"poison\" (ordinary)");
    assert_true(axo_ref_equal(lg.all[0].record.actor, parent));
    assert_true(axo_ref_equal(lg.all[0].record.origin, lg.child));
    assert_string_equal(lg.all[0].origin_path, "/user/p/shard2");
    log_says(1, "/user/p/shard2 (shard) failed in post_stop: code 21 \"left badly\" (ordinary)");
    assert_int_equal(lg.all[1].record.event, AXO_LOG_HOOK);
    lg.fails_to_leave = false;
    axo_ref shard = log_spawn(system, &shard_class, "b", NULL);
    assert_int_equal(axo_system_send(system, shard, LOG_FATAL, NULL, 0), AXO_OK);
    assert_int_equal(axo_run_host(system, -1, NULL), AXO_OK);
    log_says(2, "stop: /user (user) after /user/b (shard) failed in receive of FATAL: code -2 "
                "\"not a status \\\"of ours\\\"\\n\\x01\" (fatal)");
    log_end(system);
}

static void log_ends(axo_system *system, void *user)
{
    lg.at_end = lg.count;
}

/* Of one class, code and answer: five lines, then one with the count. Others have their own. */
static void storms_are_counted(void **state)
{
    axo_options options = AXO_OPTIONS(.failure_log = 3, .failure_window_ns = 60000000000);
    axo_system *system = log_start(options);
    axo_ref shard = log_spawn(system, &shard_class, "a", NULL);
    for (uint32_t i = 0; i < 100; i++)
        log_tell(system, axo_ref_none(), shard, LOG_FAIL);
    assert_int_equal(lg.count, 3);
    assert_int_equal(lg.all[1].record.last, 0);
    assert_int_equal(lg.all[2].record.last, 1);
    assert_non_null(strstr(lg.all[2].line, "; no more of these are logged for a while"));
    log_tell(system, axo_ref_none(), shard, LOG_STATUS);
    assert_int_equal(lg.count, 4); /* another code */
    assert_int_equal(axo_system_fail(system, shard, AXO_FAILURE_ORDINARY, 13), AXO_OK);
    assert_int_equal(axo_run_host(system, -1, NULL), AXO_OK);
    assert_int_equal(lg.count, 4); /* the same class, code and answer, in another way */
    assert_int_equal(axo_system_on_termination(system, log_ends, NULL), AXO_OK);
    log_end(system);
    assert_int_equal(lg.count, 5); /* and what nothing has followed, when the system ends */
    assert_int_equal(lg.all[4].record.event, AXO_LOG_FAILURES);
    assert_int_equal(lg.all[4].record.count, 98);
    log_says(4, "98 more failures of class shard, code 13, were not logged");
    assert_int_equal(lg.at_end, 5); /* before the last functions of the program's */
}

/* Dead letters likewise; those that come later still, if they are logged, when it is destroyed. */
static void letters_are_counted(void **state)
{
    axo_options options = AXO_OPTIONS(.dead_letter_log = 3, .dead_letter_log_at_stop = 1);
    axo_system *system = log_start(options);
    axo_ref shard = log_spawn(system, &shard_class, "a", NULL);
    assert_int_equal(axo_system_stop_actor(system, shard), AXO_OK);
    assert_int_equal(axo_run_host(system, -1, NULL), AXO_OK);
    for (uint32_t i = 0; i < 100; i++)
        assert_int_equal(axo_system_send(system, shard, LOG_FAIL, NULL, 0), AXO_EGONE);
    assert_int_equal(lg.count, 3);
    assert_int_equal(axo_system_stop(system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(lg.count, 4);
    assert_int_equal(lg.all[3].record.event, AXO_LOG_DEAD_LETTERS);
    assert_int_equal(lg.all[3].record.count, 97);
    log_says(3, "97 more dead letters were not logged: no living actor has this reference");
    for (uint32_t i = 0; i < 10; i++)
        assert_int_equal(axo_system_send(system, shard, LOG_FAIL, NULL, 0), AXO_EGONE);
    assert_int_equal(lg.count, 4);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
    assert_int_equal(lg.count, 5);
    assert_int_equal(lg.all[4].record.count, 10);
    assert_int_equal(lg.texts, 5);
}

static void all_are_lines(void **state)
{
    axo_options options = AXO_OPTIONS(.failure_log = UINT32_MAX);
    axo_system *system = log_start(options);
    axo_ref shard = log_spawn(system, &shard_class, "a", NULL);
    for (uint32_t i = 0; i < 40; i++)
        log_tell(system, axo_ref_none(), shard, LOG_FAIL);
    assert_int_equal(lg.count, 40);
    log_end(system);
}

static void no_memory_is_taken(void **state)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    axo_log_sink sink = AXO_LOG_SINK(.format = AXO_LOG_JSON, .fd = ends[1]);
    assert_int_equal(axo_log_open(&sink), AXO_OK);
    axo_options options = AXO_OPTIONS(.failure_log = 20);
    axo_system *system = log_start(options);
    axo_ref shard = log_spawn(system, &shard_class, "a", NULL);
    lg.sink = &sink;
    log_tell(system, shard, shard, LOG_FAIL); /* what a first failure makes, it makes once */
    for (uint32_t i = 0; i < 30; i++) {
        assert_int_equal(axo_system_send_from(system, shard, shard, LOG_STATUS, NULL, 0), AXO_OK);
        uint64_t before = lg.blocks;
        assert_int_equal(axo_run_host(system, -1, NULL), AXO_OK);
        assert_int_equal(lg.blocks, before);
    }
    assert_int_equal(lg.count, 21);
    log_end(system);
    axo_log_close(&sink);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

/* ---- JSON ---- */

/* Python reads the file: each line is an object, whose texts are those of a second file. */
static const char json_reader[] =
    "import json, sys\n"
    "lines = open(sys.argv[1], 'rb').read().split(b'\\n')\n"
    "texts = open(sys.argv[2], 'rb').read().split(b'\\0')\n"
    "assert lines.pop() == b'' and texts.pop() == b''\n"
    "assert len(lines) == len(texts) > 250, (len(lines), len(texts))\n"
    "cut = 0\n"
    "for line, text in zip(lines, texts):\n"
    "    line.decode('utf-8')\n"
    "    it = json.loads(line)\n"
    "    want = text.decode('utf-8', 'replace')\n"
    "    assert it['level'] == 'error' and it['event'] == 'failure', it\n"
    "    assert it['code'] == -2147483648 and it['count'] == 2**63 - 1, it\n"
    "    assert it['actor'] == '0xfedcba9876543210' and it['time_ns'] == -2**63, it\n"
    "    got = it.get('text', '')\n"
    "    whole = len(line) < 1100\n"
    "    cut += not whole\n"
    "    assert got == want if whole else want.startswith(got), (got, want)\n"
    "    assert it['time'] == '2026-11-23T09:00:06.123456Z', it\n"
    "assert cut > 5, cut\n";

static void json_write(FILE *lines, FILE *texts, const char *text, size_t size)
{
    char out[LOG_BYTES];
    const axo_log_record record = AXO_LOG_RECORD(
        .time_ns = INT64_MIN, .unix_ns = INT64_C(1795424406123456789), .level = AXO_LOG_ERROR,
        .event = AXO_LOG_FAILURE, .actor = {UINT64_C(0xfedcba9876543210)}, .path = "/user/a",
        .class_name = text, .kind = 1, .code = INT32_MIN, .text = text, .count = UINT64_MAX);
    axo_status status = axo_log_json(&record, out, size);
    assert_true(status == AXO_OK || status == AXO_ETOOBIG);
    assert_true(strlen(out) < size);
    (void)fprintf(lines, "%s\n", out);
    (void)fwrite(text, 1, strlen(text) + 1, texts);
}

static void json_is_read(void **state)
{
    char names[2][64];
    char text[2000];
    char line[512];
    FILE *files[2];
    for (int i = 0; i < 2; i++) {
        (void)snprintf(names[i], sizeof names[i], "/tmp/axo-log-%d-%d", (int)getpid(), i);
        files[i] = fopen(names[i], "wb");
        assert_non_null(files[i]);
    }
    for (int byte = 1; byte < 256; byte++) { /* each byte, alone and where a sequence begins */
        const char one[] = {'a', (char)byte, 0};
        json_write(files[0], files[1], one, LOG_BYTES);
        const char two[] = {(char)byte, (char)0x80, (char)0xbf, (char)0x80, 'z', 0};
        json_write(files[0], files[1], two, LOG_BYTES);
        const char three[] = {(char)byte, (char)0x9f, (char)0xa0, (char)byte, '"', '\\', 0};
        json_write(files[0], files[1], three, LOG_BYTES);
    }
    json_write(files[0], files[1], "\xf0\x9f\x90\xa7 \xe2\x82\xac", LOG_BYTES);
    json_write(files[0], files[1], "\xed\xa0\x80 \xc0\xaf \xf4\x90\x80\x80", LOG_BYTES);
    for (size_t length = 1; length < sizeof text; length += 61) { /* cut at every sort of place */
        for (size_t i = 0; i < length; i++)
            text[i] = "a\x01\"\xff"[(i + length) % 4];
        text[length] = 0;
        json_write(files[0], files[1], text, AXO_LOG_JSON_MIN + length % 7);
    }
    assert_int_equal(fclose(files[0]) | fclose(files[1]), 0);
    assert_int_equal(setenv("AXO_READER", json_reader, 1), 0);
    (void)snprintf(line, sizeof line, "python3 -c \"$AXO_READER\" %s %s", names[0], names[1]);
    int said = system(line);
    (void)unlink(names[0]);
    (void)unlink(names[1]);
    assert_int_equal(said, 0);
}

/* A line as a sink writes it, of a whole system, read as above. */
static void sinks_write_lines(void **state)
{
    static const char *const formats[] = {"text", "json"};
    for (uint32_t format = AXO_LOG_TEXT; format <= AXO_LOG_JSON; format++) {
        char got[LOG_BYTES];
        int ends[2];
        axo_system *system = NULL;
        assert_int_equal(pipe(ends), 0);
        axo_log_sink sink = AXO_LOG_SINK(.format = format, .fd = ends[1], .level_max = 1);
        axo_options options = AXO_OPTIONS(.manual = 1, .log_record = axo_log_write,
                                          .log_record_user = &sink);
        assert_int_equal(axo_log_open(&sink), AXO_OK);
        assert_int_equal(axo_system_start(&options, &system), AXO_OK);
        axo_ref shard = log_spawn(system, &shard_class, "a", NULL);
        log_tell(system, axo_ref_none(), shard, LOG_FAIL);
        (void)axo_system_send(system, axo_ref_none(), 1, NULL, 0);
        assert_int_equal(axo_system_stop(system, -1, NULL, 0, NULL), AXO_OK);
        assert_int_equal(axo_system_send(system, shard, LOG_FAIL, NULL, 0), AXO_EGONE);
        assert_int_equal(axo_system_destroy(system), AXO_OK);
        ssize_t count = read(ends[0], got, sizeof got - 1);
        assert_true(count > 0);
        got[count] = 0;
        print_message("%s: %s", formats[format], got);
        assert_true(got[count - 1] == '\n' && strchr(got, '\n') == &got[count - 1]);
        if (format == AXO_LOG_TEXT)
            assert_string_equal(got + 27, " error: restart: /user/a (shard) failed in receive of "
                                          "REQ: code 13 \"poison\" (ordinary)\n");
        else
            assert_non_null(strstr(got, "\"path\":\"/user/a\",\"class\":\"shard\",\"instance\":1"));
        assert_int_equal(axo_log_lost(&sink), 0);
        axo_log_close(&sink);
        assert_true(fcntl(ends[1], F_GETFD) >= 0); /* it is the program's */
        (void)close(ends[0]);
        (void)close(ends[1]);
    }
}

/* ---- sockets ---- */

typedef struct log_daemon {
    char path[64];
    int socket;
} log_daemon;

static void daemon_bind(log_daemon *d)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    (void)snprintf(d->path, sizeof d->path, "/tmp/axo-log-%d.socket", (int)getpid());
    memcpy(at.sun_path, d->path, strlen(d->path));
    (void)unlink(d->path);
    d->socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    assert_true(d->socket >= 0);
    assert_int_equal(bind(d->socket, (const struct sockaddr *)&at, sizeof at), 0);
}

static size_t daemon_read(const log_daemon *d, char *out)
{
    ssize_t count = recv(d->socket, out, LOG_BYTES - 1, 0);
    assert_true(count > 0);
    out[count] = 0;
    return (size_t)count;
}

static void daemon_gone(log_daemon *d)
{
    (void)close(d->socket);
    (void)unlink(d->path);
}

static void syslog_gets_it(void **state)
{
    char got[LOG_BYTES];
    char want[LOG_BYTES];
    log_daemon d;
    daemon_bind(&d);
    axo_log_sink sink = AXO_LOG_SINK(.format = AXO_LOG_SYSLOG, .path = d.path, .facility = 16);
    assert_int_equal(axo_log_open(&sink), AXO_OK);
    axo_system *system = log_start((axo_options)AXO_OPTIONS());
    axo_ref shard = log_spawn(system, &shard_class, "a", NULL);
    log_tell(system, axo_ref_none(), shard, LOG_FATAL); /* control characters in its text */
    log_end(system);
    axo_log_record record = AXO_LOG_RECORD(.level = AXO_LOG_WARNING, .system = "logged",
                                           .text = "two\nlines");
    axo_log_write(&sink, &record);
    (void)daemon_read(&d, got);
    (void)snprintf(want, sizeof want, "<132>logged[%d]: two\\nlines", (int)getpid());
    assert_string_equal(got, want);
    daemon_gone(&d); /* it goes, */
    axo_log_write(&sink, &record);
    assert_int_equal(axo_log_lost(&sink), 1);
    daemon_bind(&d); /* and comes again */
    record.level = AXO_LOG_ERROR;
    axo_log_write(&sink, &record);
    (void)daemon_read(&d, got);
    assert_memory_equal(got, "<131>", 5);
    uint32_t taken = 0;
    errno = 99;
    while (axo_log_lost(&sink) == 1 && taken < 100000) { /* nobody reads: it never waits */
        axo_log_write(&sink, &record);
        taken++;
    }
    assert_int_equal(errno, 99);
    assert_int_equal(axo_log_lost(&sink), 2);
    axo_log_close(&sink);
    axo_log_write(&sink, &record); /* nothing happens */
    daemon_gone(&d);
}

/* The journal's protocol, read as its documentation says: every field is there, a text with a line
 * feed by its size. */
static void the_journal_gets_it(void **state)
{
    char got[LOG_BYTES];
    log_daemon d;
    daemon_bind(&d);
    axo_log_sink sink = AXO_LOG_SINK(.format = AXO_LOG_JOURNAL, .path = d.path, .ident = "me");
    assert_int_equal(axo_log_open(&sink), AXO_OK);
    const axo_log_record record =
        AXO_LOG_RECORD(.level = AXO_LOG_ERROR, .event = AXO_LOG_FAILURE, .path = "/user/a",
                       .class_name = "shard", .kind = 1, .kind_name = "ordinary",
                       .site_name = "receive", .code = -3, .text = "two\nlines");
    axo_log_write(&sink, &record);
    size_t count = daemon_read(&d, got);
    static const char before[] =
        "PRIORITY=3\nSYSLOG_IDENTIFIER=me\nMESSAGE=/user/a (shard) failed in receive: code -3 "
        "\"two\\nlines\" (ordinary)\nAXO_LEVEL=error\nAXO_EVENT=failure\nAXO_TIME_NS=0\n"
        "AXO_PATH=/user/a\nAXO_CLASS=shard\nAXO_KIND=ordinary\nAXO_SITE=receive\nAXO_CODE=-3\n"
        "AXO_TEXT\n\x09\0\0\0\0\0\0\0two\nlines\n";
    assert_int_equal(count, sizeof before - 1);
    assert_memory_equal(got, before, count);
    axo_log_close(&sink);
    daemon_gone(&d);
}

/* ---- bad input ---- */

static void bad_sinks(void **state)
{
    char too_long[200];
    memset(too_long, 'x', sizeof too_long);
    too_long[199] = 0;
    const axo_log_sink bad[] = {
        AXO_LOG_SINK(.format = 4), AXO_LOG_SINK(.level_max = 4), AXO_LOG_SINK(.fd = -1),
        AXO_LOG_SINK(.facility = 24), AXO_LOG_SINK(.path = "/dev/log"),
        AXO_LOG_SINK(.format = AXO_LOG_SYSLOG, .fd = 2),
        AXO_LOG_SINK(.format = AXO_LOG_SYSLOG, .path = ""), {.size = 0}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        axo_log_sink sink = bad[i];
        assert_int_equal(axo_log_open(&sink), AXO_EINVAL);
        assert_int_equal(sink.opened, 0);
        axo_log_close(&sink);
    }
    axo_log_sink sink = AXO_LOG_SINK(.format = AXO_LOG_JOURNAL, .path = too_long);
    assert_int_equal(axo_log_open(&sink), AXO_ETOOBIG);
    sink = (axo_log_sink)AXO_LOG_SINK();
    sink.size -= 8;
    assert_int_equal(axo_log_open(&sink), AXO_EVERSION);
    assert_int_equal(axo_log_open(NULL), AXO_EINVAL);
    assert_int_equal(axo_log_lost(NULL), 0);
    axo_log_close(NULL);
    axo_log_write(NULL, NULL);
    sink = (axo_log_sink)AXO_LOG_SINK(.fd = 1000);
    assert_int_equal(axo_log_open(&sink), AXO_OK);
    axo_log_write(&sink, NULL);
    assert_int_equal(axo_log_lost(&sink), 0);
    const axo_log_record record = AXO_LOG_RECORD(.text = "to nowhere");
    axo_log_write(&sink, &record);
    assert_int_equal(axo_log_lost(&sink), 1);
    axo_log_close(&sink);
}

static void bad_options(void **state)
{
    axo_system *system = NULL;
    axo_options options = AXO_OPTIONS(.failure_window_ns = -1);
    assert_int_equal(axo_system_start(&options, &system), AXO_EINVAL);
    options = (axo_options)AXO_OPTIONS(.reserved_log = 1);
    assert_int_equal(axo_system_start(&options, &system), AXO_EINVAL);
    assert_null(system);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(lines_of_its_own),
    cmocka_unit_test(who_failed),         cmocka_unit_test(statuses_and_codes),
    cmocka_unit_test(tags_of_the_library),
    cmocka_unit_test(escalated),          cmocka_unit_test(storms_are_counted),
    cmocka_unit_test(all_are_lines),      cmocka_unit_test(no_memory_is_taken),
    cmocka_unit_test(json_is_read),       cmocka_unit_test(sinks_write_lines),
    cmocka_unit_test(syslog_gets_it),     cmocka_unit_test(the_journal_gets_it),
    cmocka_unit_test(bad_sinks),          cmocka_unit_test(bad_options),
    cmocka_unit_test(letters_are_counted),
};

TEST_MAIN(tests)
