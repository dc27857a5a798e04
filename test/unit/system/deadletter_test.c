/* deadletter_test.c - the book of dead letters with a clock of the test's own. */
#include <stdio.h>

#include "unit/unit.h"

#include "system/deadletter.h"

typedef struct book_log {
    uint32_t lines;
    uint32_t errors; /* lines of another level */
    char last[256];
    char before[256];
} book_log;

static void book_hook(void *user, axo_log_level level, axo_ref actor, const char *text)
{
    book_log *log = user;
    log->lines++;
    log->errors += level != AXO_LOG_INFO;
    memcpy(log->before, log->last, sizeof log->before);
    (void)snprintf(log->last, sizeof log->last, "%s", text);
}

typedef struct book_fixture {
    unit_memory memory;
    axo__heap heap;
    axo__core core;
    axo__book book;
    book_log log;
} book_fixture;

static void book_start(book_fixture *f, const axo_options *options)
{
    memset((void *)f, 0, sizeof *f);
    unit_heap(&f->heap, &f->memory, 100);
    f->core.outside.core = &f->core;
    f->core.log = book_hook;
    f->core.log_user = &f->log;
    assert_int_equal(axo__book_init(&f->book, &f->heap, options), AXO_OK);
}

static void book_end(book_fixture *f)
{
    axo__book_fini(&f->book, &f->heap);
    assert_int_equal(f->log.errors, 0);
    unit_heap_empty(&f->heap);
}

static void book_letter(book_fixture *f, int64_t now, axo_dead_reason reason, uint32_t suppressed)
{
    axo_dead_record record = {.time_ns = now, .recipient = {5}, .tag = 9, .reason = reason,
                              .suppressed = suppressed};
    axo__book_record(&f->book, &f->core.outside, &record);
}

#define BOOK_OPTIONS(...)                                                                          \
    AXO_OPTIONS(.dead_letter_window_ns = 1000, .dead_letters_kept = 4, __VA_ARGS__)

static void a_million_letters_are_ten_lines(void **state)
{
    book_fixture f;
    axo_options options = BOOK_OPTIONS(.dead_letter_log = 5);
    uint64_t total;
    axo_dead_record kept[4];
    book_start(&f, &options);
    for (uint32_t i = 0; i < 1000000; i++)
        book_letter(&f, 50, i % 2 == 0 ? AXO_DEAD_GONE : AXO_DEAD_STOPPED, 0);
    assert_int_equal(f.log.lines, 10);
    assert_int_equal(axo__book_read(&f.book, kept, 4, &total), 4);
    assert_int_equal(total, 1000000);
    book_letter(&f, 1050, AXO_DEAD_GONE, 0);
    assert_int_equal(f.log.lines, 12);
    assert_non_null(strstr(f.log.before, "499995 more dead letters were not logged"));
    assert_non_null(strstr(f.log.last, "dead letter: tag 9, 0 bytes to #5"));
    book_letter(&f, 1051, AXO_DEAD_STOPPED, 0); /* its own window */
    assert_int_equal(f.log.lines, 14);
    book_letter(&f, 1052, AXO_DEAD_STOPPED, 0);
    assert_int_equal(f.log.lines, 15);
    book_end(&f);
}

static void some_are_not_logged(void **state)
{
    book_fixture f;
    axo_options options = BOOK_OPTIONS(.dead_letter_log = 2);
    book_start(&f, &options);
    for (uint32_t i = 0; i < 10; i++)
        book_letter(&f, 1, AXO_DEAD_GONE, 1); /* harmless: nor do they use up the window */
    assert_int_equal(f.log.lines, 0);
    book_letter(&f, 1, AXO_DEAD_GONE, 0);
    assert_int_equal(f.log.lines, 1);
    axo__a32_store_relaxed(&f.core.closing, 1);
    book_letter(&f, 1, AXO_DEAD_GONE, 0);
    assert_int_equal(f.log.lines, 1);
    assert_int_equal(f.book.total, 12);
    book_end(&f);
    options.dead_letter_log_at_stop = 1;
    book_start(&f, &options);
    axo__a32_store_relaxed(&f.core.closing, 1);
    book_letter(&f, 1, AXO_DEAD_GONE, 0);
    assert_int_equal(f.log.lines, 1);
    book_end(&f);
}

/* A reason that this version has no word for still has a line and a window. */
static void unknown_reasons(void **state)
{
    book_fixture f;
    axo_options options = BOOK_OPTIONS(.dead_letter_log = 1);
    axo_dead_record record = {.reason = 4000000000, .text = "no routee"};
    book_start(&f, &options);
    book_letter(&f, 1, (axo_dead_reason)77, 0);
    assert_int_equal(f.log.lines, 1);
    record.time_ns = 5000;
    (void)snprintf(record.path, sizeof record.path, "/user/r");
    axo__book_record(&f.book, &f.core.outside, &record);
    assert_int_equal(f.log.lines, 2);
    assert_non_null(strstr(f.log.last, "to /user/r: no routee"));
    book_end(&f);
}

static void book_drop(book_fixture *f, int64_t now, const char *text)
{
    axo_dead_record record = {.time_ns = now, .recipient = {5}, .tag = 9,
                              .reason = AXO_DEAD_DROPPED};
    (void)snprintf(record.text, sizeof record.text, "%s", text);
    axo__book_record(&f->book, &f->core.outside, &record);
}

/* Those that were left out had texts of their own; the count's line has none of a letter's. */
static void a_count_names_its_reason(void **state)
{
    book_fixture f;
    axo_options options = BOOK_OPTIONS(.dead_letter_log = 5);
    book_start(&f, &options);
    for (uint32_t i = 0; i < 1000; i++)
        book_drop(&f, 50, "no backend");
    book_drop(&f, 1050, "bad client");
    assert_int_equal(f.log.lines, 7);
    assert_string_equal(f.log.before, "995 more dead letters were not logged: it was dropped");
    assert_non_null(strstr(f.log.last, "bad client"));
    book_end(&f);
}

/* At the end each reason of which some were left out says how many, once. */
static void what_is_left_is_said(void **state)
{
    book_fixture f;
    axo_options options = BOOK_OPTIONS(.dead_letter_log = 2);
    book_start(&f, &options);
    axo__book_say_left(&f.book, &f.core.outside);
    assert_int_equal(f.log.lines, 0);
    for (uint32_t i = 0; i < 10; i++) {
        book_letter(&f, 50, AXO_DEAD_GONE, 0);
        book_letter(&f, 50, (axo_dead_reason)(AXO__DEAD_REASONS + i), 0); /* no word for them */
    }
    book_letter(&f, 50, AXO_DEAD_STOPPED, 0);
    assert_int_equal(f.log.lines, 5);
    axo__book_say_left(&f.book, &f.core.outside);
    assert_int_equal(f.log.lines, 7);
    assert_string_equal(f.log.before, "8 more dead letters were not logged: no living actor has "
                                      "this reference");
    assert_string_equal(f.log.last, "8 more dead letters were not logged: ?");
    axo__book_say_left(&f.book, &f.core.outside);
    assert_int_equal(f.log.lines, 7);
    book_letter(&f, 1050, AXO_DEAD_GONE, 0); /* nor is it said again by the next one */
    assert_int_equal(f.log.lines, 8);
    book_end(&f);
}

static void the_ring_goes_round(void **state)
{
    book_fixture f;
    axo_options options = BOOK_OPTIONS(.dead_letter_log = 1);
    axo_dead_record out[6];
    uint64_t total = 0;
    book_start(&f, &options);
    for (uint32_t count = 1; count <= 10; count++) {
        book_letter(&f, count, AXO_DEAD_GONE, 0);
        uint32_t there = count < 4 ? count : 4;
        assert_int_equal(axo__book_read(&f.book, out, 6, &total), there);
        assert_int_equal(total, count);
        for (uint32_t i = 0; i < there; i++)
            assert_int_equal(out[i].time_ns, count - i);
    }
    assert_int_equal(axo__book_read(&f.book, out, 2, &total), 2);
    assert_int_equal(out[1].time_ns, 9);
    book_end(&f);
}

/* Writers at once: every record is whole, and none is lost from the count. */
static void book_write(void *arg, uint32_t index)
{
    book_fixture *f = arg;
    axo_dead_record out[4];
    uint64_t total;
    for (uint32_t i = 0; i < 5000; i++) {
        axo_dead_record record = {.time_ns = i, .recipient = {i}, .sender = {i}, .tag = i,
                                  .size = i, .suppressed = 1};
        axo__book_record(&f->book, &f->core.outside, &record);
        for (uint32_t n = axo__book_read(&f->book, out, 4, &total); n-- > 0;) {
            if (out[n].recipient.bits != out[n].sender.bits || out[n].tag != out[n].size)
                f->log.errors++;
        }
    }
}

static void writers_at_once(void **state)
{
    book_fixture f;
    axo_options options = BOOK_OPTIONS(.dead_letter_log = 1);
    book_start(&f, &options);
    unit_run_threads(3, book_write, &f);
    assert_int_equal(f.book.total, 15000);
    book_end(&f);
}

static void no_memory_no_book(void **state)
{
    axo_options options = BOOK_OPTIONS(.dead_letter_log = 1);
    unit_memory memory;
    axo__heap heap;
    axo__book book;
    unit_heap(&heap, &memory, 0);
    assert_int_equal(axo__book_init(&book, &heap, &options), AXO_ENOMEM);
    options.no_dead_letters_kept = 1;
    assert_int_equal(axo__book_init(&book, &heap, &options), AXO_OK);
    axo__book_fini(&book, &heap);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_million_letters_are_ten_lines),
    cmocka_unit_test(some_are_not_logged),
    cmocka_unit_test(unknown_reasons),
    cmocka_unit_test(a_count_names_its_reason),
    cmocka_unit_test(what_is_left_is_said),
    cmocka_unit_test(the_ring_goes_round),
    cmocka_unit_test(writers_at_once),
    cmocka_unit_test(no_memory_no_book),
};
TEST_MAIN(tests)
