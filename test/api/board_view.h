/* board_view.h - a board as another process reads it, by <axo/board.h> alone. */
#ifndef TEST_API_BOARD_VIEW_H
#define TEST_API_BOARD_VIEW_H

#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <axo/axo.h>

#include "support/cmocka.h"

#define WAIT_S 20

typedef struct view {
    uint64_t *words;
    size_t bytes;
} view;

static inline uint64_t word(const view *v, uint64_t at)
{
    assert_true(at < v->bytes / 8);
    return __atomic_load_n(&v->words[at], __ATOMIC_ACQUIRE);
}

static inline view view_open(const char *path)
{
    view v;
    struct stat about;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0600);
    v.bytes = (size_t)about.st_size;
    v.words = mmap(NULL, v.bytes, PROT_READ, MAP_SHARED, fd, 0);
    assert_true(v.words != MAP_FAILED);
    (void)close(fd);
    assert_memory_equal(v.words, AXO_BOARD_MAGIC, 8);
    assert_int_equal(word(&v, AXO_BOARD_HEAD_VERSION), AXO_BOARD_VERSION);
    assert_int_equal(word(&v, AXO_BOARD_HEAD_BYTES), v.bytes);
    assert_int_equal(word(&v, AXO_BOARD_HEAD_PROCESS), getpid());
    return v;
}

static inline void view_close(view *v)
{
    (void)munmap(v->words, v->bytes);
}

static inline uint64_t at(const view *v, uint32_t table, uint64_t index)
{
    assert_true(index < word(v, table + 1));
    return word(v, table) + index * word(v, table + 2);
}

static inline uint64_t actor_at(const view *v, axo_ref ref)
{
    return at(v, AXO_BOARD_HEAD_ACTORS_AT, axo_ref_index(ref));
}

/* The record of the worker that is at this actor; 0: none is. */
static inline uint64_t worker_at(const view *v, axo_ref ref)
{
    for (uint64_t i = 0; i < word(v, AXO_BOARD_HEAD_WORKERS); i++) {
        uint64_t record = at(v, AXO_BOARD_HEAD_WORKERS_AT, i);
        if (word(v, record + AXO_BOARD_WORKER_INDEX) != 0 &&
            word(v, record + AXO_BOARD_WORKER_DOING) != 0 &&
            word(v, record + AXO_BOARD_WORKER_ACTOR) == ref.bits)
            return record;
    }
    return 0;
}

static inline void text_is(const view *v, uint64_t first, uint32_t words, const char *expected)
{
    char text[8 * 16 + 1] = "";
    for (uint32_t i = 0; i < words; i++) {
        uint64_t bytes = word(v, first + i);
        memcpy(text + 8 * i, &bytes, 8);
    }
    assert_string_equal(text, expected);
}

/* The system's: the sum of all that the board has. */
static inline uint64_t counted(const view *v, uint32_t counter)
{
    uint64_t sum =
        word(v, AXO_BOARD_HEAD_OUTSIDE + counter) + word(v, AXO_BOARD_HEAD_GONE + counter);
    for (uint64_t i = 0; i < word(v, AXO_BOARD_HEAD_WORKERS); i++)
        sum += word(v, at(v, AXO_BOARD_HEAD_WORKERS_AT, i) + AXO_BOARD_WORKER_COUNTERS + counter);
    return sum;
}

/* Waits until a word has been as it should be: it may have changed again by the return. */
static inline void await(const view *v, uint64_t where, uint64_t value)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    time_t limit = now.tv_sec + WAIT_S;
    uint64_t seen = word(v, where);
    while (seen != value && now.tv_sec < limit) {
        (void)sched_yield();
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        seen = word(v, where);
    }
    assert_int_equal(seen, value);
}

/* ---- a system that shows itself ---- */

static inline axo_system *board_start(const char *path, uint32_t actors)
{
    axo_system *system;
    axo_options options =
        AXO_OPTIONS(.workers = 2, .name = "shown", .board = path, .board_actors = actors);
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    return system;
}

static inline void board_end(axo_system *system, const char *path)
{
    assert_int_equal(axo_system_stop(system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
    assert_int_equal(access(path, F_OK), -1);
}

#endif
