/* record_report_test.c - an actor whose failure depends on all that it has been sent fails, in
 * every mode and in every way; the report of it, played, comes to the same failure, at the same
 * message, with the same words. Its code is a hash of its history: of bytes, order, times, seed,
 * senders and references. */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <axo/axo.h>
#include <axo/report.h>

#include "support/cmocka.h"

#define MS INT64_C(1000000)
enum { REPORT_START = 24, REPORT_HEAD = 72 }; /* the file's */
enum { ADD = 1, TICK, BREAK, TRAP, LEAVE, HOLD, FREE, ODD };
enum { BY_STATUS = 1, BY_FAIL, BY_THROW, BY_FATAL, BY_PACT, BY_CRASH };

typedef struct till_args {
    uint64_t salt;
} till_args;

typedef struct till {
    uint64_t hash;
    uint64_t count;
    uint64_t starts;
    bool free;
} till;

/* A payload with the references of its receiver and its sender, and bytes. */
typedef struct deposit {
    axo_ref to;
    axo_ref from;
    char bytes[24];
} deposit;

/* What the first run has come to. */
static struct {
    axo_failure failure;
    char text[AXO_FAILURE_TEXT_MAX];
    uint32_t failures;
    axo_directive directive;
} seen;

static void till_mix(till *me, const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    for (size_t i = 0; i < size; i++)
        me->hash = (me->hash ^ at[i]) * UINT64_C(0x100000001b3);
}

static axo_status till_construct(axo_ctx *ctx, void *state, const void *args)
{
    till *me = state;
    const till_args *from = args;
    const uint64_t seed = axo_report_seed(ctx);
    me->hash = from->salt;
    till_mix(me, &seed, sizeof seed);
    return AXO_OK;
}

static axo_status till_pre_start(axo_ctx *ctx, void *state)
{
    till *me = state;
    me->starts++;
    return axo_send_after(ctx, MS, axo_self(ctx), TICK, "tick", 4);
}

static axo_status till_add(axo_ctx *ctx, till *me, const axo_message *message)
{
    const deposit *it = message->payload;
    const bool mine = axo_ref_equal(it->to, axo_self(ctx));
    const bool known = axo_ref_equal(it->from, message->sender);
    const bool same = axo_ref_equal(axo_sender(ctx), message->sender);
    till_mix(me, &mine, sizeof mine);
    till_mix(me, &known, sizeof known);
    till_mix(me, &same, sizeof same);
    till_mix(me, it->bytes, message->size - offsetof(deposit, bytes));
    if (me->count % 3 == 0) /* comes by the mailbox, so it is in the file */
        return axo_send(ctx, axo_self(ctx), TICK, "self", 4);
    return AXO_OK;
}

static axo_status till_break(axo_ctx *ctx, till *me, const axo_message *message)
{
    const uint32_t how = *(const uint32_t *)message->payload;
    const int32_t code = (int32_t)(me->hash >> 33);
    if (how == BY_STATUS)
        return (axo_status)(me->count > 10 ? AXO_ELIMIT : AXO_EFAILED);
    if (how == BY_FAIL)
        return axo_fail(ctx, code, "hash %016llx", (unsigned long long)me->hash);
    if (how == BY_THROW)
        axo_throw(ctx, code, "thrown at %llu", (unsigned long long)me->count);
    if (how == BY_FATAL)
        axo_throw_fatal(ctx, code, "fatal at %llu", (unsigned long long)me->count);
    if (how == BY_CRASH && me->count > 10)
        *(volatile uint32_t *)(uintptr_t)(0x10 + me->count % 2 * 8) = 1;
    return AXO_OK;
}

static axo_status till_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    till *me = state;
    const int64_t now = axo_report_now(ctx);
    me->count++;
    till_mix(me, &message->tag, sizeof message->tag);
    till_mix(me, &now, sizeof now);
    switch (message->tag) {
    case ADD:
        return till_add(ctx, me, message);
    case BREAK:
        return till_break(ctx, me, message);
    case HOLD: /* until it is free; it comes a second time then, and is kept a second time */
        return me->free ? AXO_OK : axo_stash(ctx);
    case FREE:
        me->free = true;
        return axo_unstash_all(ctx);
    case ODD:
        return AXO_UNHANDLED;
    case TRAP: /* the sender is watched, and its end not handled */
        return axo_watch(ctx, message->sender);
    case AXO_TERMINATED:
        return AXO_UNHANDLED;
    default:
        till_mix(me, message->payload, message->size);
        return AXO_OK;
    }
}

static const axo_class till_class = AXO_CLASS(.name = "till", .state_size = sizeof(till),
                                              .construct = till_construct,
                                              .pre_start = till_pre_start,
                                              .receive = till_receive,
                                              .on_crash = AXO_CRASH_FAILS);
static const axo_class *till_kept, *small_kept, *wide_kept;

/* Its state is aligned to a cache line, as its size says, with a ring behind it too. It fails where
 * it has been asked to settle, behind a message that it did not know. */
typedef struct wide {
    uint8_t bytes[2 * AXO_STATE_ALIGN];
} wide;

static axo_status wide_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    const wide *me = state;
    assert_int_equal((uintptr_t)me % AXO_STATE_ALIGN, 0);
    for (size_t i = 0; i < sizeof me->bytes; i++)
        assert_int_equal(me->bytes[i], 0);
    if (axo_want_settle(ctx) != AXO_OK)
        return AXO_EFAILED;
    return AXO_UNHANDLED;
}

static axo_status wide_settle(axo_ctx *ctx, void *state)
{
    return axo_fail(ctx, 5, "not under a message");
}

static const axo_class wide_class = AXO_CLASS(.name = "wide", .state_size = sizeof(wide),
                                              .receive = wide_receive, .settle = wide_settle);

static axo_status friend_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)state;
    return message->tag == LEAVE ? axo_stop_self(ctx) : AXO_OK;
}

static const axo_class friend_class = AXO_CLASS(.name = "friend", .receive = friend_receive);

static axo_directive boss_decide(axo_ctx *ctx, void *state, const axo_failure *failure, void *user)
{
    seen.failure = *failure;
    (void)snprintf(seen.text, sizeof seen.text, "%s", failure->text);
    seen.failures++;
    return seen.directive;
}

static const axo_class *boss_child;
static axo_ref boss_till;

static axo_status boss_start(axo_ctx *ctx, void *state)
{
    const till_args args = {.salt = 99};
    const axo_props props = AXO_PROPS(.cls = boss_child, .args = &args, .args_size = sizeof args);
    return axo_spawn(ctx, &props, &boss_till);
}

static const axo_class boss_class = AXO_CLASS(.name = "boss", .receive = friend_receive,
                                              .pre_start = boss_start);

/* ---- a run ---- */

typedef struct run {
    axo_system *system;
    axo_reports *reports;
    axo_ref friends[3];
    bool manual;
    char directory[64];
} run;

static void run_settle(run *r)
{
    if (r->manual)
        assert_int_equal(axo_run_host(r->system, -1, NULL), AXO_OK);
    else
        assert_int_equal(axo_system_quiesce(r->system, -1), AXO_OK);
}

static void run_start(run *r, const axo_class *cls, axo_options *options)
{
    static const axo_strategy strategy = AXO_STRATEGY(.decider = boss_decide);
    const axo_props boss = AXO_PROPS(.cls = &boss_class, .strategy = &strategy);
    const axo_props friend = AXO_PROPS(.cls = &friend_class);
    axo_ref ref;
    memset(&seen, 0, sizeof seen);
    seen.directive = AXO_RESTART;
    (void)snprintf(r->directory, sizeof r->directory, "/tmp/axo-report-XXXXXX");
    assert_non_null(mkdtemp(r->directory));
    assert_int_equal(axo_report_begin(r->directory, 0, options, &r->reports), AXO_OK);
    r->manual = options->manual == AXO_MANUAL_ALL;
    assert_int_equal(axo_system_start(options, &r->system), AXO_OK);
    boss_child = cls;
    assert_int_equal(axo_system_spawn(r->system, &boss, &ref), AXO_OK);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(axo_system_spawn(r->system, &friend, &r->friends[i]), AXO_OK);
    run_settle(r);
}

static void run_add(run *r, uint32_t from, uint32_t bytes)
{
    deposit it = {.to = boss_till, .from = r->friends[from % 3]};
    for (uint32_t i = 0; i < sizeof it.bytes; i++)
        it.bytes[i] = (char)(from * 7 + i);
    assert_int_equal(axo_system_send_from(r->system, it.from, boss_till, ADD, &it,
                                          offsetof(deposit, bytes) + bytes), AXO_OK);
    if (from % 4 == 0)
        run_settle(r);
}

static void run_break(run *r, uint32_t how)
{
    if (how == BY_PACT) {
        assert_int_equal(axo_system_send_from(r->system, r->friends[0], boss_till, TRAP, NULL, 0),
                         AXO_OK);
        run_settle(r);
        assert_int_equal(axo_system_send(r->system, r->friends[0], LEAVE, NULL, 0), AXO_OK);
    } else {
        assert_int_equal(axo_system_send(r->system, boss_till, BREAK, &how, sizeof how), AXO_OK);
    }
    run_settle(r);
}

static void run_end(run *r)
{
    assert_int_equal(axo_system_stop(r->system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(r->system), AXO_OK);
    axo_report_end(r->reports);
    (void)rmdir(r->directory);
}

static void run_path(const run *r, uint32_t number, char *path, size_t size)
{
    (void)snprintf(path, size, "%s/report-%ld-%u.axorep", r->directory, (long)getpid(),
                   (unsigned)number);
}

/* Plays a report of this run. */
static axo_report_outcome run_play(const run *r, uint32_t number)
{
    axo_report_outcome out = AXO_REPORT_OUTCOME();
    char path[160];
    run_path(r, number, path, sizeof path);
    axo_status status = axo_report_play(path, &out);
    if (status != AXO_OK)
        fail_msg("%s: %s", axo_status_name(status), out.text);
    assert_int_equal(unlink(path), 0);
    return out;
}

static void same_failure(const axo_report_outcome *out)
{
    if (!out->same)
        fail_msg("%s: %u %d for %u %d at %u", out->text, (unsigned)out->kind, out->code,
                 (unsigned)out->said_kind, out->said_code, (unsigned)out->failed_at);
    assert_int_equal(out->kind, seen.failure.kind);
    assert_int_equal(out->code, seen.failure.code);
    assert_int_equal(out->failed_at, out->messages);
    assert_int_equal(out->lost, 0);
    assert_string_equal(out->name, "till");
}

/* ---- every mode, every way ---- */

static void fails(axo_options options, uint32_t how)
{
    run r = {.system = NULL};
    options.seed = 7 + how;
    run_start(&r, till_kept, &options);
    for (uint32_t i = 0; i < 40; i++)
        run_add(&r, i, i % 25);
    run_break(&r, how);
    assert_int_equal(seen.failures, 1);
    assert_int_equal(axo_report_written(r.reports), 1);
    assert_int_equal(axo_report_missed(r.reports, NULL), 0);
    const axo_report_outcome out = run_play(&r, 1);
    same_failure(&out);
    assert_true(out.messages >= 41);
    assert_int_equal(out.instance, 1);
    if (how != BY_CRASH && how != BY_PACT) /* where it was: other frames */
        assert_string_equal(out.failure, seen.text);
    run_end(&r);
}

static void every_mode(void **state)
{
    for (uint32_t how = BY_STATUS; how <= BY_PACT; how++) {
        fails((axo_options)AXO_OPTIONS(.workers = 2), how);
        fails((axo_options)AXO_OPTIONS(.workers = 1), how);
        fails((axo_options)AXO_OPTIONS(.manual = AXO_MANUAL_ALL), how);
        fails((axo_options)AXO_OPTIONS(.workers = 1, .threads = AXO_THREADS_LENT), how);
    }
}

/* Without containment, as under a sanitizer, there is nothing to be seen here. */
static void crashes(void **state)
{
    axo_options options = AXO_OPTIONS(.workers = 2, .contain = 1);
    axo_system *system;
    axo_status status = axo_system_start(&options, &system);
    if (status == AXO_ENOTSUP) {
        print_message("crashes are not contained here\n");
        skip();
    }
    assert_int_equal(status, AXO_OK);
    assert_int_equal(axo_system_stop(system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
    fails(options, BY_CRASH);
    assert_int_equal(seen.failure.kind, AXO_FAILURE_CRASH);
    assert_int_equal(seen.failure.code, SIGSEGV);
}

/* ---- instances ---- */

/* A resumed instance goes on with its ring: the second report has the first failure in it. A
 * restarted one begins anew. */
static void instances(void **state)
{
    run r = {.system = NULL};
    axo_options options = AXO_OPTIONS(.manual = AXO_MANUAL_ALL);
    run_start(&r, till_kept, &options);
    seen.directive = AXO_RESUME;
    for (uint32_t i = 0; i < 10; i++)
        run_add(&r, i, i);
    run_break(&r, BY_FAIL);
    run_add(&r, 3, 5);
    seen.directive = AXO_RESTART;
    run_break(&r, BY_THROW);
    assert_int_equal(axo_report_written(r.reports), 2);
    axo_report_outcome out = run_play(&r, 2);
    same_failure(&out);
    const uint64_t before = out.messages;
    out = run_play(&r, 1);
    assert_int_equal(out.same, 1);
    assert_true(out.messages < before);
    run_add(&r, 1, 1);
    run_break(&r, BY_FAIL);
    out = run_play(&r, 1); /* its name is free again */
    same_failure(&out);
    assert_int_equal(out.instance, 2);
    assert_true(out.messages < before);
    run_end(&r);
}

/* What is no failure of a message leaves none: a kill, a message that nobody knows, a settle. */
static void no_report(void **state)
{
    for (uint32_t settles = 0; settles < 2; settles++) {
        run r = {.system = NULL};
        axo_options options = AXO_OPTIONS(.manual = AXO_MANUAL_ALL);
        run_start(&r, settles != 0 ? wide_kept : till_kept, &options);
        assert_int_equal(axo_system_send(r.system, boss_till, ODD, NULL, 0), AXO_OK);
        run_settle(&r);
        assert_int_equal(seen.failures, settles);
        assert_int_equal(axo_system_kill(r.system, boss_till), AXO_OK);
        run_settle(&r);
        assert_int_equal(seen.failures, 1 + settles);
        assert_int_equal(seen.failure.kind, AXO_FAILURE_KILLED);
        assert_int_equal(axo_report_written(r.reports) + axo_report_missed(r.reports, NULL), 0);
        run_end(&r);
    }
}

/* Messages that were put aside are kept as often as they came. */
static void stashed(void **state)
{
    run r = {.system = NULL};
    axo_options options = AXO_OPTIONS(.manual = AXO_MANUAL_ALL);
    run_start(&r, till_kept, &options);
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(axo_system_send(r.system, boss_till, HOLD, &i, sizeof i), AXO_OK);
        run_add(&r, i, i);
    }
    assert_int_equal(axo_system_send(r.system, boss_till, FREE, NULL, 0), AXO_OK);
    run_add(&r, 6, 6);
    run_break(&r, BY_FAIL);
    const axo_report_outcome out = run_play(&r, 1);
    same_failure(&out);
    assert_string_equal(out.failure, seen.text);
    assert_in_range(out.messages, 5 + 5 + 6 + 2, 30);
    run_end(&r);
}

/* ---- a small ring ---- */

/* The earliest go, and the replay says that it began too late. What is left is as it was. */
static void too_small(void **state)
{
    run r = {.system = NULL};
    axo_options options = AXO_OPTIONS(.manual = AXO_MANUAL_ALL);
    run_start(&r, small_kept, &options);
    for (uint32_t i = 0; i < 100; i++)
        run_add(&r, i, i % 25);
    run_break(&r, BY_FAIL);
    const axo_report_outcome out = run_play(&r, 1);
    assert_int_equal(out.same, 0);
    assert_int_equal(out.said_code, seen.failure.code);
    assert_true(out.lost > 50);
    assert_in_range(out.messages, 3, 12);
    assert_int_equal(out.failed_at, out.messages);
    assert_string_equal(out.text, "it failed in another way");
    run_end(&r);
}

/* A message that is larger than the ring: nothing can be played. */
static void too_large(void **state)
{
    run r = {.system = NULL};
    uint32_t bytes[200] = {BY_FAIL};
    axo_options options = AXO_OPTIONS(.manual = AXO_MANUAL_ALL);
    run_start(&r, small_kept, &options);
    run_add(&r, 1, 4);
    assert_int_equal(axo_system_send(r.system, boss_till, BREAK, bytes, sizeof bytes), AXO_OK);
    run_settle(&r);
    const axo_report_outcome out = run_play(&r, 1);
    assert_int_equal(out.same, 0);
    assert_int_equal(out.messages, 0);
    assert_string_equal(out.text, "the message that it failed under had no room in its ring");
    run_end(&r);
}

/* ---- files ---- */

static uint32_t files_in(const char *directory)
{
    DIR *folder = opendir(directory);
    uint32_t count = 0;
    assert_non_null(folder);
    while (readdir(folder) != NULL)
        count++;
    assert_int_equal(closedir(folder), 0);
    return count - 2;
}

/* What cannot be written is counted and said, and nothing is left of it. */
static void not_written(void **state)
{
    run r = {.system = NULL};
    int32_t error = 0;
    struct rlimit before, few;
    axo_options options = AXO_OPTIONS(.workers = 2);
    run_start(&r, till_kept, &options);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    few = before;
    few.rlim_cur = 50;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &few), 0);
    run_break(&r, BY_FAIL);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(axo_report_missed(r.reports, &error), 1);
    assert_int_equal(error, EFBIG);
    assert_int_equal(files_in(r.directory), 0);
    assert_int_equal(rmdir(r.directory), 0);
    run_break(&r, BY_FAIL);
    assert_int_equal(axo_report_missed(r.reports, &error), 2);
    assert_int_equal(error, ENOENT);
    assert_int_equal(axo_report_written(r.reports), 0);
    run_end(&r);
}

static void at_most(void **state)
{
    run r = {.system = NULL};
    axo_options options = AXO_OPTIONS(.manual = AXO_MANUAL_ALL);
    run_start(&r, till_kept, &options);
    for (uint32_t i = 0; i < 103; i++)
        run_break(&r, BY_FAIL);
    assert_int_equal(axo_report_written(r.reports), 100);
    assert_int_equal(axo_report_missed(r.reports, NULL), 3);
    assert_int_equal(files_in(r.directory), 100);
    for (uint32_t i = 1; i <= 100; i++) {
        char path[160];
        run_path(&r, i, path, sizeof path);
        assert_int_equal(unlink(path), 0);
    }
    run_end(&r);
}

static size_t file_read(const char *path, uint8_t *bytes, size_t size)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    const size_t got = fread(bytes, 1, size, file);
    assert_int_equal(fclose(file), 0);
    return got;
}

static void file_write(const char *path, const uint8_t *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static uint32_t file_crc(const uint8_t *bytes, size_t size)
{
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < size; i++) {
        crc ^= bytes[i];
        for (uint32_t bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (UINT32_C(0xedb88320) & (0 - (crc & 1)));
    }
    return ~crc;
}

static void file_put(uint8_t *at, uint32_t value)
{
    for (uint32_t i = 0; i < 4; i++)
        at[i] = (uint8_t)(value >> 8 * i);
}

/* Makes the checksums those of what stands there. */
static void file_seal(uint8_t *bytes, size_t size)
{
    file_put(bytes + 12, (uint32_t)(size - REPORT_START));
    file_put(bytes + 16, file_crc(bytes + REPORT_START, size - REPORT_START));
    file_put(bytes + 20, file_crc(bytes, REPORT_START - 4));
}

/* Each byte that is another, and each end that is missing, is found. */
static void spoilt(void **state)
{
    run r = {.system = NULL};
    uint8_t bytes[4096];
    char path[160];
    axo_report_outcome out = AXO_REPORT_OUTCOME();
    axo_options options = AXO_OPTIONS(.manual = AXO_MANUAL_ALL);
    run_start(&r, till_kept, &options);
    run_add(&r, 1, 4);
    run_break(&r, BY_FAIL);
    run_path(&r, 1, path, sizeof path);
    const size_t size = file_read(path, bytes, sizeof bytes);
    assert_in_range(size, 100, sizeof bytes - 1);
    for (size_t i = 0; i < size; i++) {
        bytes[i] ^= 0x20;
        file_write(path, bytes, size);
        assert_int_equal(axo_report_play(path, &out), AXO_EINVAL);
        bytes[i] ^= 0x20;
        file_write(path, bytes, i);
        assert_int_equal(axo_report_play(path, &out), AXO_EINVAL);
    }
    file_write(path, bytes, size);
    out = run_play(&r, 1);
    same_failure(&out);
    assert_int_equal(axo_report_play(path, &out), AXO_ESYSTEM); /* it is gone */
    assert_true(strstr(out.text, "No such file") != NULL);
    run_end(&r);
}

/* A report of actors with other args is not given to this program's construct. */
static void other_args(void **state)
{
    run r = {.system = NULL};
    uint8_t bytes[4096];
    char path[160];
    axo_report_outcome out = AXO_REPORT_OUTCOME();
    axo_options options = AXO_OPTIONS(.manual = AXO_MANUAL_ALL);
    run_start(&r, till_kept, &options);
    run_break(&r, BY_FAIL);
    run_path(&r, 1, path, sizeof path);
    const size_t size = file_read(path, bytes, sizeof bytes);
    bytes[REPORT_START + 60] = 7; /* of 8 */
    memmove(bytes + REPORT_START + REPORT_HEAD + 4 + 7, bytes + REPORT_START + REPORT_HEAD + 4 + 8,
            size - REPORT_START - REPORT_HEAD - 12);
    file_seal(bytes, size - 1);
    file_write(path, bytes, size - 1);
    assert_int_equal(axo_report_play(path, &out), AXO_EINVAL);
    assert_string_equal(out.text, "the report has 7 bytes of args, and actors of the class 8");
    bytes[REPORT_START] ^= 1; /* of a machine with another order of bytes */
    file_seal(bytes, size - 1);
    file_write(path, bytes, size - 1);
    assert_int_equal(axo_report_play(path, &out), AXO_EVERSION);
    assert_int_equal(unlink(path), 0);
    run_end(&r);
}

/* ---- misuse ---- */

static void misuse(void **state)
{
    const axo_class *cls = &till_class;
    axo_report_ring ring = AXO_REPORT_RING(.cls = &till_class, .record_bytes = 4096);
    axo_reports *reports;
    axo_options options = AXO_OPTIONS();
    axo_report_outcome out = AXO_REPORT_OUTCOME();
    assert_int_equal(axo_report_class(&ring, &cls), AXO_EEXIST);
    assert_null(cls);
    ring.record_bytes = AXO_REPORT_BYTES_MIN - 1;
    assert_int_equal(axo_report_class(&ring, &cls), AXO_EINVAL);
    ring.record_bytes = (size_t)AXO_REPORT_BYTES_MAX + 1;
    assert_int_equal(axo_report_class(&ring, &cls), AXO_EINVAL);
    ring.record_bytes = 4096;
    ring.args_size = AXO_ARGS_MAX + 1;
    assert_int_equal(axo_report_class(&ring, &cls), AXO_EINVAL);
    ring.cls = NULL;
    assert_int_equal(axo_report_class(&ring, &cls), AXO_EINVAL);
    assert_int_equal(axo_report_class(NULL, &cls), AXO_EINVAL);
    ring.size++;
    ring.cls = &till_class;
    assert_int_equal(axo_report_class(&ring, &cls), AXO_EVERSION);
    assert_int_equal(axo_report_begin(NULL, 0, &options, &reports), AXO_EINVAL);
    assert_int_equal(axo_report_begin("/tmp", 0, NULL, &reports), AXO_EINVAL);
    assert_int_equal(axo_report_begin("/tmp", 0, &options, NULL), AXO_EINVAL);
    assert_null(options.trace);
    assert_int_equal(axo_report_play(NULL, &out), AXO_EINVAL);
    assert_int_equal(axo_report_play("/tmp", &out), AXO_EINVAL);
    assert_int_equal(axo_report_play("/tmp", NULL), AXO_EINVAL);
    assert_int_equal(axo_report_written(NULL), 0);
    assert_int_equal(axo_report_missed(NULL, NULL), 0);
    assert_int_equal(axo_report_seed(NULL), 0);
    axo_report_end(NULL);
    axo_report_main(); /* nobody has asked */
}

/* So many classes, and no more. */
static void no_more_classes(void **state)
{
    static axo_class more[AXO_REPORT_CLASSES_MAX];
    static char names[AXO_REPORT_CLASSES_MAX][16];
    const axo_class *cls;
    uint32_t made = 3;
    for (; made <= AXO_REPORT_CLASSES_MAX; made++) {
        axo_class *it = &more[made - 1];
        *it = till_class;
        it->name = names[made - 1];
        (void)snprintf(names[made - 1], sizeof names[0], "more%u", (unsigned)made);
        const axo_report_ring ring = AXO_REPORT_RING(.cls = it, .record_bytes = 64);
        if (axo_report_class(&ring, &cls) != AXO_OK)
            break;
    }
    assert_int_equal(made, AXO_REPORT_CLASSES_MAX);
    assert_null(cls);
}

static void traced(void *user, const axo_event *event)
{
    uint32_t *counts = user;
    counts[event->kind == AXO_EV_FAIL]++;
}

/* The program's own trace hears what it has asked for, and no more. */
static void passed_on(void **state)
{
    for (uint32_t all = 0; all < 2; all++) {
        run r = {.system = NULL};
        uint32_t counts[2] = {0};
        axo_options options = AXO_OPTIONS(.manual = AXO_MANUAL_ALL, .trace = traced,
                                          .trace_user = counts);
        options.trace_kinds = all == 0 ? AXO_EVENT_BIT(AXO_EV_SPAWN) : 0;
        run_start(&r, till_kept, &options);
        run_break(&r, BY_FAIL);
        const axo_report_outcome out = run_play(&r, 1);
        same_failure(&out);
        run_end(&r);
        assert_true(counts[0] > 3);
        assert_int_equal(counts[1], all);
    }
}

int main(void)
{
    static axo_class small;
    const axo_report_ring ring = AXO_REPORT_RING(.cls = &till_class, .record_bytes = 65536,
                                                 .args_size = sizeof(till_args));
    const axo_report_ring last = AXO_REPORT_RING(.cls = &wide_class, .record_bytes = 1000);
    axo_report_ring other = ring;
    small = till_class;
    small.name = "small till";
    other.cls = &small;
    other.record_bytes = 520;
    if (axo_report_class(&ring, &till_kept) != AXO_OK ||
        axo_report_class(&other, &small_kept) != AXO_OK ||
        axo_report_class(&last, &wide_kept) != AXO_OK)
        return 1;
    axo_report_main();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_mode),  cmocka_unit_test(crashes),   cmocka_unit_test(instances),
        cmocka_unit_test(no_report),   cmocka_unit_test(too_small), cmocka_unit_test(too_large),
        cmocka_unit_test(not_written), cmocka_unit_test(at_most),   cmocka_unit_test(spoilt),
        cmocka_unit_test(misuse),      cmocka_unit_test(passed_on),
        cmocka_unit_test(stashed),     cmocka_unit_test(other_args),
        cmocka_unit_test(no_more_classes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
