/* file_test.c - files that are cut off anywhere, that have any byte changed, that are of another
 * format, version or machine, that say the impossible: read up to the last whole record, or
 * refused with a reason; never played as something else. */
#include "api/record_world.h"

#include "scan.h"

#include <errno.h>

typedef struct bytes {
    uint8_t *at;
    size_t size;
} bytes;

static bytes bytes_read(const char *path)
{
    struct stat st;
    bytes it;
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fstat(fileno(file), &st), 0);
    it.size = (size_t)st.st_size;
    it.at = malloc(it.size);
    assert_non_null(it.at);
    assert_int_equal(fread(it.at, 1, it.size, file), it.size);
    assert_int_equal(fclose(file), 0);
    return it;
}

static void bytes_write(const char *path, const uint8_t *at, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(at, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static axo_status check(const char *path, axo_record_report *report)
{
    *report = (axo_record_report)AXO_RECORD_REPORT();
    return axo_record_check(path, report);
}

/* Each length of a file: whole records are read, the rest is said to be torn. */
static void cut_anywhere(void **state)
{
    char path[128], cut[128];
    axo_record_report report;
    const axo_record_report file = world_record(world_path(path, "whole"), 3, 4, true);
    const bytes it = bytes_read(path);
    uint64_t records = 0, played = 0;
    assert_int_equal(it.size, file.bytes);
    for (size_t size = 0; size < it.size; size++) {
        bytes_write(world_path(cut, "cut"), it.at, size);
        const axo_status status = check(cut, &report);
        if (status == AXO_EINVAL) { /* its world has not begun */
            assert_true(records == 0 && report.text[0] != 0);
            continue;
        }
        assert_int_equal(status, AXO_OK);
        assert_true(report.closed == 0 && report.torn < it.size);
        assert_int_equal(report.bytes + report.torn, size);
        assert_true(report.records >= records && report.records < file.records);
        if (report.records > records) {
            const axo_record_report again = world_replay(cut, 3, 0);
            assert_int_equal(again.state, AXO_RECORD_END);
            assert_int_equal(again.records, report.records);
            played++;
        }
        records = report.records;
    }
    assert_int_equal(records, file.records - 1);
    assert_int_equal(played, file.records - 2); /* from HEAD and BEGIN on */
    free(it.at);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(unlink(cut), 0);
}

/* One byte is another: nothing of the file is played. */
static void changed_anywhere(void **state)
{
    char path[128], other[128];
    axo_record_report report;
    (void)world_record(world_path(path, "whole"), 3, 4, true);
    const bytes it = bytes_read(path);
    for (size_t i = 0; i < it.size; i++) {
        world w = {.now = 0};
        const axo_options options = world_options(&w, 3);
        axo_replay *replay = (axo_replay *)&w;
        const uint8_t bit = (uint8_t)(1u << i % 8);
        it.at[i] ^= bit;
        bytes_write(world_path(other, "other"), it.at, it.size);
        it.at[i] ^= bit;
        const axo_recording recording = world_recording(&w, &options, other);
        assert_int_equal(check(other, &report), AXO_EINVAL);
        assert_true(report.text[0] != 0);
        assert_int_equal(axo_replay_start(&recording, &replay, &report), AXO_EINVAL);
        assert_true(replay == NULL && w.system == NULL && report.text[0] != 0);
    }
    /* Bytes behind the end, and a record that stands there twice or is missing. */
    uint8_t *more = malloc(2 * it.size);
    assert_non_null(more);
    memcpy(more, it.at, it.size);
    more[it.size] = 0;
    bytes_write(world_path(other, "other"), more, it.size + 1);
    assert_int_equal(check(other, &report), AXO_EINVAL);
    const size_t end = it.size - (RECORD_HEAD + 16);
    memcpy(more + end, it.at + RECORD_START, it.size - RECORD_START);
    bytes_write(world_path(other, "other"), more, end + it.size - RECORD_START);
    assert_int_equal(check(other, &report), AXO_EINVAL);
    memcpy(more + end - 76, it.at + end, RECORD_HEAD + 16); /* the last DONE is gone */
    bytes_write(world_path(other, "other"), more, end - 76 + RECORD_HEAD + 16);
    assert_int_equal(check(other, &report), AXO_EINVAL);
    free(more);
    free(it.at);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(unlink(other), 0);
}

static void put_crc(uint8_t *at, size_t size)
{
    record_put put = {.at = at + size};
    record_put_u32(&put, record_crc(at, size));
}

/* Changes a byte of the file's first record and makes its checksums fit. */
static void foreign(const char *from, const char *to, size_t at, uint8_t value)
{
    const bytes it = bytes_read(from);
    uint8_t *head = it.at + RECORD_START;
    head[RECORD_HEAD + at] = value;
    record_put put = {.at = head + RECORD_HEAD - 8};
    record_put_u32(&put, record_crc(head + RECORD_HEAD, RECORD_HEAD_BODY));
    put_crc(head, RECORD_HEAD - 4);
    bytes_write(to, it.at, it.size);
    free(it.at);
}

static void of_others(void **state)
{
    char path[128], other[128];
    axo_record_report report;
    world w = {.now = 0};
    axo_options options = world_options(&w, 3);
    axo_recording recording = world_recording(&w, &options, other);
    axo_replay *replay;
    (void)world_record(world_path(path, "whole"), 3, 4, false);
    (void)world_path(other, "other");

    bytes it = bytes_read(path);
    it.at[8] = AXO_RECORD_FORMAT + 1;
    put_crc(it.at, 12);
    bytes_write(other, it.at, it.size);
    assert_int_equal(check(other, &report), AXO_EVERSION);
    assert_non_null(strstr(report.text, "of another format than 1"));
    free(it.at);

    foreign(path, other, 8, AXO_VERSION_PATCH + 1);
    assert_int_equal(check(other, &report), AXO_EVERSION);
    assert_non_null(strstr(report.text, "the recording is of axo "));
    assert_int_equal(axo_replay_start(&recording, &replay, &report), AXO_EVERSION);
    recording.any_version = 1;
    assert_int_equal(axo_replay_start(&recording, &replay, &report), AXO_OK);
    assert_int_equal(axo_replay_run(replay, &report), AXO_OK);
    assert_int_equal(report.state, AXO_RECORD_END);
    assert_int_equal(axo_replay_end(replay), AXO_OK);

    foreign(path, other, 12, 2);
    assert_int_equal(check(other, &report), AXO_ENOTSUP);
    assert_non_null(strstr(report.text, "another order of bytes"));
    foreign(path, other, 13, 4);
    assert_int_equal(check(other, &report), AXO_ENOTSUP);

    /* What is none, and what is not there. */
    bytes_write(other, (const uint8_t *)"#!/bin/sh\nexit 0\n", 17);
    assert_int_equal(check(other, &report), AXO_EINVAL);
    assert_non_null(strstr(report.text, "is no recording"));
    bytes_write(other, (const uint8_t *)"", 0);
    assert_int_equal(check(other, &report), AXO_EINVAL);
    assert_int_equal(check("/dev/null", &report), AXO_EINVAL);
    assert_int_equal(check("/", &report), AXO_EINVAL);
    assert_int_equal(unlink(other), 0);
    assert_int_equal(check(other, &report), AXO_ESYSTEM);
    assert_int_equal(report.error, ENOENT);
    assert_non_null(strstr(report.text, "No such file"));

    /* Another option than in the recording. */
    recording.path = path;
    options.storm_max = 5;
    assert_int_equal(axo_replay_start(&recording, &replay, &report), AXO_EINVAL);
    assert_string_equal(report.text, "axo_options.storm_max is 5, in the recording 4");
    assert_int_equal(unlink(path), 0);
}

/* ---- what no recorder has written, with checksums that fit ---- */

typedef struct forged {
    char path[128];
    record_out out;
} forged;

/* The head and the begin of a recording of no world. */
static void forged_begin(forged *f, const char *name)
{
    record_world w;
    record_head head;
    record_done done = {.status = AXO_OK};
    const axo_recording recording = AXO_RECORDING(.path = "x");
    assert_int_equal(record_world_init(&w, &recording), AXO_OK);
    w.options.seed = 1;
    record_head_of(&w, &head);
    record_world_take(&w);
    assert_int_equal(record_world_start(&w), AXO_OK);
    done.hash = w.hash;
    record_world_stop(&w);
    record_world_fini(&w);
    assert_int_equal(record_out_open(&f->out, world_path(f->path, name)), AXO_OK);
    record_put put = record_out_begin(&f->out);
    record_put_head(&put, &head);
    record_out_end(&f->out, RECORD_HEAD_KIND, &put);
    put = record_out_begin(&f->out);
    record_out_end(&f->out, RECORD_BEGIN, &put);
    put = record_out_begin(&f->out);
    record_put_done(&put, &done);
    record_out_end(&f->out, RECORD_DONE, &put);
}

static void forged_send(forged *f, record_ref to, uint32_t tag)
{
    record_put put = record_out_begin(&f->out);
    record_put_ref(&put, to);
    record_put_ref(&put, (record_ref){.what = 0});
    record_put_u32(&put, tag);
    record_put_u32(&put, 0);
    record_out_end(&f->out, RECORD_SEND, &put);
}

static axo_record_report forged_play(forged *f)
{
    const axo_recording recording = AXO_RECORDING(.path = f->path);
    axo_record_report report = AXO_RECORD_REPORT();
    axo_replay *replay;
    assert_int_equal(record_out_flush(&f->out), AXO_OK);
    record_out_close(&f->out);
    assert_int_equal(axo_replay_start(&recording, &replay, &report), AXO_OK);
    assert_int_equal(axo_replay_run(replay, &report), AXO_OK);
    assert_int_equal(axo_replay_end(replay), AXO_OK);
    assert_int_equal(unlink(f->path), 0);
    return report;
}

static void impossible(void **state)
{
    forged f;
    forged_begin(&f, "nobody");
    forged_send(&f, (record_ref){.what = 1, .value = 77}, 1);
    axo_record_report report = forged_play(&f);
    assert_int_equal(report.state, AXO_RECORD_DIVERGED);
    assert_true(report.record == 3 && report.event == 0);
    assert_string_equal(report.text, "it means an actor that nobody has made here");

    forged_begin(&f, "tag"); /* to /user, with a tag that is the runtime's */
    forged_send(&f, (record_ref){.what = 1, .value = 1}, AXO_TERMINATED);
    record_put put = record_out_begin(&f.out);
    record_put_u64(&put, 0);
    record_put_u64(&put, 1);
    record_put_u8(&put, 0);
    record_out_end(&f.out, RECORD_STEP, &put);
    report = forged_play(&f);
    assert_int_equal(report.state, AXO_RECORD_DIVERGED);
    assert_string_equal(report.text, "it said AXO_EINVAL; in the recording AXO_OK");

    forged_begin(&f, "call");
    put = record_out_begin(&f.out);
    record_put_u32(&put, 1);
    record_put_u32(&put, 0);
    record_out_end(&f.out, RECORD_CALL, &put);
    report = forged_play(&f);
    assert_string_equal(report.text, "it is a call, and there is no function for it");

    /* A reference that nobody has, also if its index is somebody's. */
    forged_begin(&f, "another");
    forged_send(&f, (record_ref){.what = 2, .value = 1}, 1);
    report = forged_play(&f);
    assert_int_equal(report.state, AXO_RECORD_END); /* torn: what it came to is not known */
}

/* Bodies that are not well-formed are found before anything is played. */
static void malformed(void **state)
{
    static const struct {
        record_kind kind;
        size_t size;
        uint8_t body[24];
    } bodies[] = {
        {RECORD_SEND, 3, {1, 0, 0}},
        {RECORD_ACT, 13, {9}},                          /* no such act */
        {RECORD_ACT, 13, {1, 0, 0, 0, 3}},              /* no such form of a reference */
        {RECORD_ACT, 13, {1, 0, 0, 0, 0, 1}},           /* none with a value */
        {RECORD_ACT, 13, {1, 0, 0, 0, 1, 0, 0, 0, 1}},  /* an index beyond all */
        {RECORD_ACT, 13, {1, 0, 0, 0, 2, 0, 0, 0, 1}},
        {RECORD_ACT, 14, {1, 0, 0, 0, 1, 5}},           /* a byte more */
        {RECORD_CALL, 8, {1, 0, 0, 0, 1}},              /* a word, and no bytes */
        {RECORD_CALL, 16, {1, 0, 0, 0, 1}},             /* a word beyond them */
        {RECORD_CALL, 8, {1, 0, 0, 0, 255, 255, 255, 255}},
        {RECORD_STEP, 17, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2}},
        {RECORD_STEP, 16, {0}},
        {RECORD_EVENTS, 16, {0}},                       /* behind a DONE */
        {RECORD_DONE, 4, {0}},
        {RECORD_BEGIN, 0, {0}},
        {RECORD_HEAD_KIND, 0, {0}},
        {RECORD_END, 15, {0}},
    };
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        forged f;
        axo_record_report report;
        forged_begin(&f, "malformed");
        record_put put = record_out_begin(&f.out);
        record_put_bytes(&put, bodies[i].body, bodies[i].size);
        record_out_end(&f.out, bodies[i].kind, &put);
        assert_int_equal(record_out_flush(&f.out), AXO_OK);
        record_out_close(&f.out);
        if (check(f.path, &report) != AXO_EINVAL)
            fail_msg("body %zu is believed", i);
        assert_non_null(strstr(report.text, "record 3, at byte "));
        assert_int_equal(unlink(f.path), 0);
    }
}

/* A length beyond what there is, however large, is a torn record, and takes no memory. */
static void length_of_a_torn_record(void **state)
{
    forged f;
    axo_record_report report;
    uint8_t head[RECORD_HEAD];
    forged_begin(&f, "length");
    assert_int_equal(record_out_flush(&f.out), AXO_OK);
    record_put put = {.at = head};
    record_put_u32(&put, UINT32_MAX);
    record_put_u32(&put, RECORD_CALL);
    record_put_u64(&put, 3);
    record_put_u32(&put, 0);
    put_crc(head, RECORD_HEAD - 4);
    assert_int_equal(pwrite(f.out.fd, head, sizeof head, (off_t)f.out.at), sizeof head);
    record_out_close(&f.out);
    assert_int_equal(check(f.path, &report), AXO_OK);
    assert_true(report.torn == RECORD_HEAD && report.records == 3);
    assert_int_equal(unlink(f.path), 0);
}

static void checksum(void **state)
{
    assert_int_equal(record_crc("123456789", 9), 0xcbf43926);
    assert_int_equal(record_crc("", 0), 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(checksum),         cmocka_unit_test(cut_anywhere),
    cmocka_unit_test(changed_anywhere), cmocka_unit_test(of_others),
    cmocka_unit_test(impossible),       cmocka_unit_test(malformed),
    cmocka_unit_test(length_of_a_torn_record),
};

TEST_MAIN(tests)
