/* board_kept_test.c - axo_options.board: what is at the path as a system starts, from its first
 * moment on, and workers for which the board has no record. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <axo/axo.h>

#include "api/board_view.h"
#include "support/cmocka.h"
#include "support/slower.h"

static char folder[64];
static char path[96];

static axo_status on_message(axo_ctx *ctx, void *state, const axo_message *message)
{
    return AXO_OK;
}

static const axo_class noter = AXO_CLASS(.name = "noter", .receive = on_message);

static int set_up(void **state)
{
    (void)snprintf(folder, sizeof folder, "/tmp/axo-kept-XXXXXX");
    assert_non_null(mkdtemp(folder));
    return snprintf(path, sizeof path, "%s/board", folder) > 0 ? 0 : -1;
}

/* The folder is empty again: no test leaves a file, nor one under another name. */
static int tear_down(void **state)
{
    (void)unlink(path);
    return rmdir(folder);
}

/* ---- workers without a record ---- */

/* Records of workers that have a thread, whose name begins so. */
static uint64_t threads(const view *v, const char *begins)
{
    uint64_t found = 0;
    for (uint64_t i = 0; i < word(v, AXO_BOARD_HEAD_WORKERS); i++) {
        uint64_t record = at(v, AXO_BOARD_HEAD_WORKERS_AT, i);
        uint64_t name = word(v, record + AXO_BOARD_WORKER_NAME);
        found += word(v, record + AXO_BOARD_WORKER_THREAD) != 0 &&
                 memcmp(&name, begins, strlen(begins)) == 0;
    }
    return found;
}

/* More pinned actors at a time than there are records: the ones without are counted, and their
 * threads' ends too. What they have handled is in the sums when they are no more. */
static void more_pinned_workers_than_records(void **state)
{
    enum { MORE = 90 };
    axo_system *system;
    axo_ref pinned[MORE];
    axo_options options = AXO_OPTIONS(.workers = 2, .blocking_max = 1, .board = path);
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    view v = view_open(path);
    uint64_t records = word(&v, AXO_BOARD_HEAD_WORKERS);
    assert_true(records < MORE);
    assert_int_equal(word(&v, AXO_BOARD_HEAD_WORKERS_UNLISTED), 0);
    axo_props props = AXO_PROPS(.cls = &noter, .dispatcher = AXO_DISPATCH_PINNED);
    for (uint32_t i = 0; i < MORE; i++) {
        assert_int_equal(axo_system_spawn(system, &props, &pinned[i]), AXO_OK);
        assert_int_equal(axo_system_send(system, pinned[i], 1, NULL, 0), AXO_OK);
        await(&v, actor_at(&v, pinned[i]) + AXO_BOARD_ACTOR_HANDLED, 1);
    }
    uint64_t listed = threads(&v, "axo/pin");
    assert_true(listed > 0 && listed < MORE);
    uint64_t unlisted = word(&v, AXO_BOARD_HEAD_WORKERS_UNLISTED);
    assert_true(unlisted >= MORE - listed);
    assert_true(unlisted <= MORE - listed + 2); /* a spare that steps in has none either */
    assert_true(counted(&v, 0) < MORE);
    for (uint32_t i = MORE; i-- > 0;) /* one without a record begins */
        assert_int_equal(axo_system_stop_actor(system, pinned[i]), AXO_OK);
    await(&v, AXO_BOARD_HEAD_WORKERS_UNLISTED, 0);
    time_t limit = time(NULL) + WAIT_S;
    while (counted(&v, 0) != MORE && time(NULL) < limit)
        (void)sched_yield();
    assert_int_equal(counted(&v, 0), MORE);
    board_end(system, path);
    view_close(&v);
}

/* ---- who is there before ---- */

/* A process that is killed with its board. */
static void one_that_dies(const char *name)
{
    pid_t child = fork();
    int status = -1;
    if (child == 0) {
        axo_system *system;
        axo_options options = AXO_OPTIONS(.workers = 1, .name = name, .board = path);
        if (axo_system_start(&options, &system) == AXO_OK)
            (void)kill(getpid(), SIGKILL);
        _exit(1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void first_words(const char *of, uint64_t *head)
{
    FILE *file = fopen(of, "rb");
    assert_non_null(file);
    assert_int_equal(fread(head, sizeof *head, AXO_BOARD_HEAD_WORDS, file), AXO_BOARD_HEAD_WORDS);
    (void)fclose(file);
    assert_memory_equal(head, AXO_BOARD_MAGIC, 8);
}

/* Who was started again has the path, and the dead-one's board is there still: the latest one's. */
static void the_dead_ones_board_is_kept(void **state)
{
    char old[120];
    uint64_t head[AXO_BOARD_HEAD_WORDS];
    (void)snprintf(old, sizeof old, "%s.old", path);
    one_that_dies("dead-one");
    assert_int_equal(access(old, F_OK), -1);
    one_that_dies("dead-two");
    first_words(old, head);
    assert_memory_equal(&head[AXO_BOARD_HEAD_NAME], "dead-one", 8);
    axo_system *system = board_start(path, 64);
    first_words(old, head);
    assert_memory_equal(&head[AXO_BOARD_HEAD_NAME], "dead-two", 8);
    assert_int_not_equal(head[AXO_BOARD_HEAD_PROCESS], getpid());
    assert_int_equal(head[AXO_BOARD_HEAD_ENDED], 0);
    first_words(path, head);
    assert_memory_equal(&head[AXO_BOARD_HEAD_NAME], "shown", 6);
    board_end(system, path);
    first_words(old, head); /* it is another's end */
    assert_memory_equal(&head[AXO_BOARD_HEAD_NAME], "dead-two", 8);
    assert_int_equal(unlink(old), 0);
}

/* What its process has ended, and what is no board, is replaced. */
static void others_are_not_kept(void **state)
{
    char old[120];
    char text[AXO_BOARD_HEAD_WORDS * 8];
    uint64_t ended = 1;
    (void)snprintf(old, sizeof old, "%s.old", path);
    for (uint32_t is = 0; is < 3; is++) { /* too short, no magic, ended */
        memset(text, 0, sizeof text);
        memcpy(text, is == 1 ? "axobored" : AXO_BOARD_MAGIC, 8);
        if (is == 2)
            memcpy(text + sizeof ended * AXO_BOARD_HEAD_ENDED, &ended, sizeof ended);
        FILE *file = fopen(path, "wb");
        assert_non_null(file);
        assert_int_equal(fwrite(text, 1, sizeof text - (is == 0), file), sizeof text - (is == 0));
        assert_int_equal(fclose(file), 0);
        axo_system *system = board_start(path, 64);
        assert_int_equal(access(old, F_OK), -1);
        board_end(system, path);
    }
}

/* Reads a board's first word again and again: there is always one. */
typedef struct watch {
    _Atomic bool over;
    uint64_t found;
    uint64_t missing;
} watch;

static void *watch_read(void *arg)
{
    watch *w = arg;
    while (!atomic_load(&w->over)) {
        char magic[8] = "";
        FILE *file = fopen(path, "rb");
        bool found = file != NULL && fread(magic, 1, sizeof magic, file) == sizeof magic &&
                     memcmp(magic, AXO_BOARD_MAGIC, sizeof magic) == 0;
        if (file != NULL)
            (void)fclose(file);
        *(found ? &w->found : &w->missing) += 1;
    }
    return NULL;
}

/* Systems start over one another: there is no moment without a board at the path, nor with one that
 * is not filled. */
static void always_a_board(void **state)
{
    pthread_t reader;
    watch w = {.found = 0};
    axo_system *system = board_start(path, 64);
    assert_int_equal(pthread_create(&reader, NULL, watch_read, &w), 0);
    for (uint32_t i = 0; i < 200 / slower(); i++) {
        axo_system *next = board_start(path, 64);
        assert_int_equal(axo_system_stop(system, -1, NULL, 0, NULL), AXO_OK);
        assert_int_equal(axo_system_destroy(system), AXO_OK);
        system = next;
    }
    atomic_store(&w.over, true);
    assert_int_equal(pthread_join(reader, NULL), 0);
    assert_true(w.found > 0);
    assert_int_equal(w.missing, 0);
    board_end(system, path);
}

#define KEPT_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
static const struct CMUnitTest tests[] = {
    KEPT_TEST(more_pinned_workers_than_records),
    KEPT_TEST(the_dead_ones_board_is_kept),
    KEPT_TEST(others_are_not_kept),
    KEPT_TEST(always_a_board),
};
TEST_MAIN(tests)
