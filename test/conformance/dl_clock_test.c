/* dl_clock_test.c - the windows of dead-letter lines, on a clock of the program's own (DL-04,
 * PH-26). */
#include <stdio.h>
#include <string.h>

#include <axo/axo.h>

#include "support/cmocka.h"

enum { CLOCK_LINES = 32, CLOCK_TEXT = 256 };

typedef struct clock_world {
    axo_system *system;
    int64_t now;
    axo_ref gone;
    uint32_t lines;
    char text[CLOCK_LINES][CLOCK_TEXT];
} clock_world;

static int64_t clock_now(void *user)
{
    return ((clock_world *)user)->now;
}

static void clock_log(void *user, axo_log_level level, axo_ref actor, const char *text)
{
    clock_world *w = user;
    assert_int_equal(level, AXO_LOG_INFO);
    assert_true(w->lines < CLOCK_LINES);
    (void)snprintf(w->text[w->lines++], CLOCK_TEXT, "%s", text);
}

static axo_status clock_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    return AXO_OK;
}

static void clock_start(clock_world *w, uint32_t lines, int64_t window_ns)
{
    static const axo_class cls = AXO_CLASS(.receive = clock_receive);
    axo_props props = AXO_PROPS(.cls = &cls);
    axo_options options =
        AXO_OPTIONS(.manual = 1, .seed = 1, .clock = clock_now, .clock_user = w, .log = clock_log,
                    .log_user = w, .dead_letter_log = lines, .dead_letter_window_ns = window_ns);
    memset(w, 0, sizeof *w);
    w->now = 1000000;
    assert_int_equal(axo_system_start(&options, &w->system), AXO_OK);
    assert_int_equal(axo_system_spawn(w->system, &props, &w->gone), AXO_OK);
    assert_int_equal(axo_system_stop_actor(w->system, w->gone), AXO_OK);
    assert_int_equal(axo_run_host(w->system, -1, NULL), AXO_OK);
}

static void clock_end(clock_world *w)
{
    assert_int_equal(axo_system_shutdown(w->system), AXO_OK);
    while (axo_system_wait(w->system, 0, NULL) == AXO_ETIMEDOUT)
        assert_int_equal(axo_run_host(w->system, -1, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(w->system), AXO_OK);
}

static void clock_send(clock_world *w, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(axo_system_send(w->system, w->gone, 7, NULL, 0), AXO_EGONE);
}

/* 1..k-1 open, the k-th closes, the rest are closed; after the period it opens again and says how
 * many were skipped. */
static void PH_26(void **state)
{
    clock_world w;
    clock_start(&w, 3, 1000);
    clock_send(&w, 10);
    assert_int_equal(w.lines, 3);
    assert_null(strstr(w.text[1], "no more of these"));
    assert_non_null(strstr(w.text[2], "no more of these"));
    w.now += 999;
    clock_send(&w, 1);
    assert_int_equal(w.lines, 3);
    w.now += 1;
    clock_send(&w, 1);
    assert_int_equal(w.lines, 5);
    assert_non_null(strstr(w.text[3], "8 more dead letters were not logged"));
    assert_non_null(strstr(w.text[4], "dead letter: tag 7"));
    clock_send(&w, 9);
    assert_int_equal(w.lines, 7); /* counted anew */
    w.now += 100000;
    clock_send(&w, 1);
    assert_int_equal(w.lines, 9);
    assert_non_null(strstr(w.text[7], "7 more dead letters were not logged"));
    clock_end(&w);
}

/* Windows in which nothing was skipped close without a word. */
static void DL_04(void **state)
{
    clock_world w;
    clock_start(&w, 2, 1000);
    for (uint32_t i = 0; i < 5; i++) {
        clock_send(&w, 1);
        assert_int_equal(w.lines, i + 1);
        w.now += 1000;
    }
    clock_send(&w, 3);
    assert_int_equal(w.lines, 7);
    clock_end(&w); /* the end tells of the window that nothing has followed */
    assert_int_equal(w.lines, 8);
    assert_non_null(strstr(w.text[7], "1 more dead letters were not logged"));
}

/* A million: by default five lines, and one for the rest when the five minutes are over. */
static void DL_04_million(void **state)
{
    clock_world w;
    clock_start(&w, 0, 0);
    clock_send(&w, 1000000);
    assert_int_equal(w.lines, 5);
    w.now += INT64_C(300000000000) - 1;
    clock_send(&w, 1);
    assert_int_equal(w.lines, 5);
    w.now += 1;
    clock_send(&w, 1);
    assert_int_equal(w.lines, 7);
    assert_non_null(strstr(w.text[5], "999996 more dead letters were not logged"));
    clock_end(&w);
}

static const struct CMUnitTest tests[] = {
    {"PH-26", PH_26, NULL, NULL, NULL},
    {"DL-04 clock", DL_04, NULL, NULL, NULL},
    {"DL-04 million", DL_04_million, NULL, NULL, NULL},
};

int main(int argc, char **argv)
{
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
