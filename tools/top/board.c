/* board.c - opens a file that may be anything, and copies what a board shows while it changes. */
#include "board.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <axo/ref.h>

#define TRIES     100
#define BYTES_MAX (UINT64_C(1) << 33)

/* ---- words ---- */

static uint64_t word(const uint64_t *at)
{
    return __atomic_load_n(at, __ATOMIC_ACQUIRE);
}

/* Text of the file is for a terminal: what is no plain character is a question mark. */
static void text(const uint64_t *at, uint32_t words, char *out)
{
    for (uint32_t i = 0; i < words; i++) {
        uint64_t bytes = word(at + i);
        memcpy(out + 8 * i, &bytes, sizeof bytes);
    }
    out[8 * words] = 0;
    for (char *c = out; *c != 0; c++)
        *c = *c < ' ' || *c > '~' ? '?' : *c;
}

/* ---- a file ---- */

static uint64_t boot_hash(void)
{
    char id[64] = "";
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    size_t length = file != NULL ? fread(id, 1, sizeof id - 1, file) : 0;
    if (file != NULL)
        (void)fclose(file);
    if (length == 0)
        return 0;
    for (const char *c = id; *c != 0 && *c != '\n'; c++)
        hash = (hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
    return hash;
}

/* Field 22 of the process's stat, and its state, field 3; 0: there is no such process. */
static uint64_t process_start(uint64_t process, char *state)
{
    char path[64];
    char line[1024];
    (void)snprintf(path, sizeof path, "/proc/%llu/stat", (unsigned long long)process);
    FILE *file = fopen(path, "re");
    size_t length = file != NULL ? fread(line, 1, sizeof line - 1, file) : 0;
    if (file != NULL)
        (void)fclose(file);
    line[length] = 0;
    const char *at = strrchr(line, ')');
    if (at == NULL || strlen(at) < 3)
        return 0;
    *state = at[2];
    for (int field = 2; at != NULL && field < 22; field++)
        at = strchr(at + 1, ' ');
    return at != NULL ? strtoull(at, NULL, 10) : 0;
}

static top_life life_of(const top_board *board)
{
    const uint64_t *head = board->words;
    uint64_t boot = word(head + AXO_BOARD_HEAD_BOOT);
    uint64_t start = word(head + AXO_BOARD_HEAD_PROCESS_START);
    uint64_t here = boot_hash();
    struct stat about;
    char state = 0;
    if (word(head + AXO_BOARD_HEAD_ENDED) != 0)
        return TOP_ENDED;
    if (boot != 0 && here != 0 && boot != here)
        return TOP_DEAD;
    uint64_t space = word(head + AXO_BOARD_HEAD_PROCESS_SPACE);
    if (space != 0 && stat("/proc/self/ns/pid", &about) == 0 && (uint64_t)about.st_ino != space)
        return TOP_ELSEWHERE;
    uint64_t now = process_start(board->process, &state);
    if (now == 0 || state == 'Z' || state == 'X' || (start != 0 && start != now))
        return TOP_DEAD;
    return TOP_ALIVE;
}

/* Whether a table lies within the file and has records of at least so many words. */
static bool table_fits(const uint64_t *head, uint32_t at, uint64_t bytes, uint64_t words_min)
{
    uint64_t first = head[at];
    uint64_t count = head[at + 1];
    uint64_t words = head[at + 2];
    uint64_t all = bytes / sizeof(uint64_t);
    if (words < words_min || words > 4096 || count == 0 || count > UINT64_C(1) << 28)
        return false;
    return first >= AXO_BOARD_HEAD_WORDS && first <= all && count * words <= all - first;
}

static const char *check(const uint64_t *head, uint64_t bytes)
{
    if (memcmp(head, AXO_BOARD_MAGIC, 8) != 0)
        return "it is no board of axo";
    if (head[AXO_BOARD_HEAD_VERSION] != AXO_BOARD_VERSION)
        return "it is a board of another version";
    if (head[AXO_BOARD_HEAD_BYTES] != bytes ||
        !table_fits(head, AXO_BOARD_HEAD_WORKERS_AT, bytes, AXO_BOARD_WORKER_NAME + 2) ||
        !table_fits(head, AXO_BOARD_HEAD_ACTORS_AT, bytes, AXO_BOARD_ACTOR_FAILED + 1) ||
        !table_fits(head, AXO_BOARD_HEAD_EVENTS_AT, bytes, AXO_BOARD_EVENT_INSTANCE + 1))
        return "it is a board that is damaged or was cut";
    return NULL;
}

const char *top_open(top_board *board, const char *path)
{
    struct stat about;
    uint64_t head[AXO_BOARD_HEAD_WORDS];
    memset(board, 0, sizeof *board);
    /* a pipe or a device would block, or do something */
    board->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (board->fd < 0)
        return strerror(errno);
    const char *wrong = NULL;
    if (fstat(board->fd, &about) != 0 || !S_ISREG(about.st_mode))
        wrong = "it is no regular file";
    else if ((uint64_t)about.st_size < sizeof head || (uint64_t)about.st_size > BYTES_MAX ||
             pread(board->fd, head, sizeof head, 0) != (ssize_t)sizeof head)
        wrong = "it is no board of axo";
    else
        wrong = check(head, (uint64_t)about.st_size);
    board->bytes = (size_t)about.st_size;
    void *map =
        wrong == NULL ? mmap(NULL, board->bytes, PROT_READ, MAP_SHARED, board->fd, 0) : MAP_FAILED;
    if (wrong == NULL && map == MAP_FAILED)
        wrong = strerror(errno);
    if (wrong != NULL) {
        (void)close(board->fd);
        return wrong;
    }
    board->words = map;
    memcpy(board->head, head, sizeof head);
    board->process = head[AXO_BOARD_HEAD_PROCESS];
    board->started = (int64_t)head[AXO_BOARD_HEAD_STARTED];
    text(board->words + AXO_BOARD_HEAD_NAME, AXO_BOARD_NAME_WORDS, board->name);
    return NULL;
}

void top_close(top_board *board)
{
    (void)munmap((void *)(uintptr_t)board->words, board->bytes);
    (void)close(board->fd);
}

bool top_is_replaced(const top_board *board, const char *path)
{
    struct stat own;
    struct stat named;
    return fstat(board->fd, &own) == 0 && stat(path, &named) == 0 &&
           (own.st_ino != named.st_ino || own.st_dev != named.st_dev);
}

/* ---- a copy ---- */

/* The words of a record under its sequence, as <axo/board.h> says; false: it is torn, and the words
 * are of two writings. */
static bool copy_record(const uint64_t *record, uint64_t *out, uint32_t words)
{
    for (int i = 0; i < TRIES; i++) {
        uint64_t before = word(record);
        for (uint32_t w = 0; w < words; w++)
            out[w] = word(record + w);
        if ((before & 1) == 0 && word(record) == before)
            return true; /* the words were loaded with acquire: none of them after this look */
    }
    return false;
}

static void take_worker(const uint64_t *record, top_worker *out)
{
    uint64_t copy[AXO_BOARD_WORKER_WORDS];
    memset(copy, 0, sizeof copy);
    out->torn = !copy_record(record, copy, AXO_BOARD_WORKER_NAME + 2);
    out->index = copy[AXO_BOARD_WORKER_INDEX];
    out->thread = copy[AXO_BOARD_WORKER_THREAD];
    out->actor = copy[AXO_BOARD_WORKER_ACTOR];
    out->doing = copy[AXO_BOARD_WORKER_DOING];
    out->sender = copy[AXO_BOARD_WORKER_SENDER];
    out->since = (int64_t)copy[AXO_BOARD_WORKER_SINCE];
    memcpy(out->counters, copy + AXO_BOARD_WORKER_COUNTERS, sizeof out->counters);
    text(copy + AXO_BOARD_WORKER_NAME, 2, out->name);
}

/* An actor that is torn is left out: it is being born. */
static void take_actor(const uint64_t *record, top_actor *out)
{
    uint64_t copy[AXO_BOARD_ACTOR_FAILED + 1];
    bool whole = word(record + AXO_BOARD_ACTOR_REF) != 0 &&
                 copy_record(record, copy, AXO_BOARD_ACTOR_FAILED + 1);
    if (!whole) {
        out->ref = 0;
        return;
    }
    out->ref = copy[AXO_BOARD_ACTOR_REF];
    out->parent = copy[AXO_BOARD_ACTOR_PARENT];
    out->born = (int64_t)copy[AXO_BOARD_ACTOR_BORN];
    out->state = copy[AXO_BOARD_ACTOR_STATE];
    out->instance = copy[AXO_BOARD_ACTOR_INSTANCE];
    out->handled = copy[AXO_BOARD_ACTOR_HANDLED];
    out->failures = copy[AXO_BOARD_ACTOR_FAILURES];
    out->failed = copy[AXO_BOARD_ACTOR_FAILED];
    text(copy + AXO_BOARD_ACTOR_CLASS, AXO_BOARD_CLASS_WORDS, out->cls);
    text(copy + AXO_BOARD_ACTOR_NAME, AXO_BOARD_NAME_WORDS, out->name);
}

static void take_events(const top_board *board, top_shot *shot)
{
    const uint64_t *head = board->words;
    uint64_t places = board->head[AXO_BOARD_HEAD_EVENTS];
    uint64_t total = word(head + AXO_BOARD_HEAD_EVENTS_TOTAL);
    shot->events_total = total;
    shot->event_count = 0;
    for (uint64_t n = total > places ? total - places : 0; n < total; n++) {
        uint64_t copy[AXO_BOARD_EVENT_INSTANCE + 1];
        const uint64_t *record = head + board->head[AXO_BOARD_HEAD_EVENTS_AT] +
                                 n % places * board->head[AXO_BOARD_HEAD_EVENT_WORDS];
        if (!copy_record(record, copy, AXO_BOARD_EVENT_INSTANCE + 1) ||
            copy[AXO_BOARD_EVENT_SEQUENCE] != 2 * (n + 1))
            continue; /* another has its place by now, or it was lost */
        shot->events[shot->event_count++] = (top_event){
            .number = n,
            .time = (int64_t)copy[AXO_BOARD_EVENT_TIME],
            .actor = copy[AXO_BOARD_EVENT_ACTOR],
            .kind = (uint32_t)copy[AXO_BOARD_EVENT_KIND],
            .arg = copy[AXO_BOARD_EVENT_ARG],
            .instance = copy[AXO_BOARD_EVENT_INSTANCE],
        };
    }
}

/* A dead process's clock stands at the last that it has written. */
static int64_t last_known(const top_board *board, const top_shot *shot)
{
    int64_t last = board->started;
    const uint64_t *head = board->words;
    for (uint32_t i = 0; i < shot->worker_count; i++) {
        int64_t counted =
            (int64_t)word(head + board->head[AXO_BOARD_HEAD_WORKERS_AT] +
                          i * board->head[AXO_BOARD_HEAD_WORKER_WORDS] + AXO_BOARD_WORKER_COUNTED);
        last = counted > last ? counted : last;
    }
    if (shot->event_count > 0 && shot->events[shot->event_count - 1].time > last)
        last = shot->events[shot->event_count - 1].time;
    return last;
}

static bool make_room(const top_board *board, top_shot *shot)
{
    if (shot->workers != NULL)
        return true;
    shot->worker_count = (uint32_t)board->head[AXO_BOARD_HEAD_WORKERS];
    shot->actor_count = (uint32_t)board->head[AXO_BOARD_HEAD_ACTORS];
    shot->workers = calloc(shot->worker_count, sizeof *shot->workers);
    shot->actors = calloc(shot->actor_count, sizeof *shot->actors);
    shot->events = calloc((size_t)board->head[AXO_BOARD_HEAD_EVENTS], sizeof *shot->events);
    return shot->workers != NULL && shot->actors != NULL && shot->events != NULL;
}

bool top_take(const top_board *board, top_shot *shot)
{
    const uint64_t *head = board->words;
    struct stat about;
    struct timespec now;
    if (fstat(board->fd, &about) != 0 || (size_t)about.st_size != board->bytes ||
        !make_room(board, shot))
        return false;
    for (uint32_t i = 0; i < shot->worker_count; i++)
        take_worker(head + board->head[AXO_BOARD_HEAD_WORKERS_AT] +
                        i * board->head[AXO_BOARD_HEAD_WORKER_WORDS],
                    &shot->workers[i]);
    for (uint32_t i = 0; i < shot->actor_count; i++)
        take_actor(head + board->head[AXO_BOARD_HEAD_ACTORS_AT] +
                       i * board->head[AXO_BOARD_HEAD_ACTOR_WORDS],
                   &shot->actors[i]);
    take_events(board, shot);
    for (uint32_t i = 0; i < TOP_COUNTERS; i++)
        shot->others[i] =
            word(head + AXO_BOARD_HEAD_OUTSIDE + i) + word(head + AXO_BOARD_HEAD_GONE + i);
    shot->unlisted = word(head + AXO_BOARD_HEAD_UNLISTED);
    shot->lost = word(head + AXO_BOARD_HEAD_EVENTS_LOST);
    shot->life = life_of(board);
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    bool goes_on = shot->life == TOP_ALIVE || shot->life == TOP_ELSEWHERE;
    shot->now = goes_on ? (int64_t)now.tv_sec * 1000000000 + now.tv_nsec : last_known(board, shot);
    return true;
}

void top_free(top_shot *shot)
{
    free(shot->workers);
    free(shot->actors);
    free(shot->events);
    memset(shot, 0, sizeof *shot);
}

const top_actor *top_find(const top_shot *shot, uint64_t ref)
{
    uint32_t slot = axo_ref_index((axo_ref){.bits = ref});
    if (ref == 0 || slot >= shot->actor_count || shot->actors[slot].ref != ref)
        return NULL;
    return &shot->actors[slot];
}
