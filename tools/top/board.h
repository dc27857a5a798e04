/* board.h - a board (<axo/board.h>) as axo-top reads it: opened with suspicion, copied whole. */
#ifndef TOP_BOARD_H
#define TOP_BOARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <axo/board.h>
#include <axo/trace.h>

#define TOP_COUNT(name) +1
enum { TOP_COUNTERS = 0 AXO_BOARD_COUNTER_LIST(TOP_COUNT) };
#undef TOP_COUNT

typedef enum top_life {
    TOP_ALIVE,
    TOP_ELSEWHERE, /* its number is of another namespace (a container's): not known from here */
    TOP_DEAD, /* the process is gone, or its number is another's */
    TOP_ENDED /* the system was destroyed */
} top_life;

typedef struct top_worker {
    uint64_t index; /* 1 + ...; 0: none */
    uint64_t thread; /* 0: none */
    uint64_t actor;
    uint64_t doing;
    uint64_t sender;
    int64_t since;
    uint64_t counters[TOP_COUNTERS];
    char name[17];
    bool torn; /* its writer has died, or hangs, within it */
} top_worker;

typedef struct top_actor {
    uint64_t ref; /* 0: none */
    uint64_t parent;
    int64_t born;
    uint64_t state;
    uint64_t instance;
    uint64_t handled;
    uint64_t failures;
    uint64_t failed;
    char cls[8 * AXO_BOARD_CLASS_WORDS + 1];
    char name[8 * AXO_BOARD_NAME_WORDS + 1];
} top_actor;

typedef struct top_event {
    uint64_t number;
    int64_t time;
    uint64_t actor;
    uint32_t kind;
    uint64_t arg;
    uint64_t instance;
} top_event;

/* A copy; the arrays are the board's, made once for each. */
typedef struct top_shot {
    int64_t now; /* when it was taken; of a dead process: the last that is known of it */
    top_life life;
    uint64_t unlisted;
    uint64_t lost;
    uint64_t events_total;
    uint64_t others[TOP_COUNTERS]; /* of calls from outside, and of workers that are no more */
    uint32_t worker_count;
    uint32_t actor_count; /* of the table: those with a ref of 0 are none */
    uint32_t event_count; /* oldest first */
    top_worker *workers;
    top_actor *actors;
    top_event *events;
} top_shot;

typedef struct top_board {
    const uint64_t *words;
    size_t bytes;
    int fd;
    uint64_t process;
    int64_t started;
    uint64_t
        head[AXO_BOARD_HEAD_WORDS]; /* as checked: what is written there later is not believed */
    char name[8 * AXO_BOARD_NAME_WORDS + 1];
} top_board;

/* Opens a board; NULL: it is one, else what is wrong with the file. */
const char *top_open(top_board *board, const char *path);
void top_close(top_board *board);

/* Whether the path is another file's by now, as when the process has been started anew. */
bool top_is_replaced(const top_board *board, const char *path);

/* Takes a copy, in a zeroed or an older one; false: no memory, or the file has been cut. */
bool top_take(const top_board *board, top_shot *shot);
void top_free(top_shot *shot);

/* The actor of a reference; NULL: the board does not know it. */
const top_actor *top_find(const top_shot *shot, uint64_t ref);

#endif
