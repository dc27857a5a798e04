/* record_report_file_test.c - reports that cannot be written, are not as they were written, or are
 * of another program; what report.h refuses, and what it passes on. */
#include <dirent.h>
#include <errno.h>
#include <sys/resource.h>

#include "api/record_report_world.h"

enum { REPORT_START = 24, REPORT_HEAD = 72 }; /* the file's */

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

/* Whatever is in a body whose checksums are right: it is refused, or played to some end. */
static void believed(void **state)
{
    run r = {.system = NULL};
    uint8_t bytes[4096];
    char path[160];
    uint32_t played = 0, refused = 0;
    axo_options options = AXO_OPTIONS(.manual = AXO_MANUAL_ALL);
    run_start(&r, till_kept, &options);
    run_add(&r, 1, 4);
    run_break(&r, BY_FAIL);
    run_path(&r, 1, path, sizeof path);
    const size_t size = file_read(path, bytes, sizeof bytes);
    for (size_t i = REPORT_START; i < size; i++) {
        for (uint32_t k = 0; k < 3; k++) {
            const uint8_t before = bytes[i];
            axo_report_outcome out = AXO_REPORT_OUTCOME();
            bytes[i] = (uint8_t)(k == 0 ? 0xff : k == 1 ? before + 1 : before - 1);
            file_seal(bytes, size);
            file_write(path, bytes, size);
            axo_status status = axo_report_play(path, &out);
            assert_true(status == AXO_OK || status == AXO_EINVAL || status == AXO_EVERSION);
            played += status == AXO_OK;
            refused += status != AXO_OK;
            bytes[i] = before;
        }
    }
    assert_true(played > 100 && refused > 50);
    assert_int_equal(unlink(path), 0);
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
    assert_int_equal(axo_report_now(NULL), 0);
    assert_int_equal(axo_report_become(NULL, friend_receive), AXO_ECONTEXT);
    assert_int_equal(axo_report_unbecome(NULL), AXO_ECONTEXT);
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
    world_classes();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(not_written),
        cmocka_unit_test(at_most),
        cmocka_unit_test(spoilt),
        cmocka_unit_test(believed),
        cmocka_unit_test(other_args),
        cmocka_unit_test(misuse),
        cmocka_unit_test(passed_on),
        cmocka_unit_test(no_more_classes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
