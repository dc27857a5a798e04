/* floor.c - what the machine itself takes: the least that a message, a wake-up, a restart can cost.
 *
 * F-call   a call through a pointer that the compiler cannot see through
 * F-rmw    a locked addition that nobody contends for
 * F-line   a cache line from one thread to another, one way
 * F-jump   a setjmp and the longjmp to it
 * F-alloc  malloc and free of 64 bytes on one thread
 * F-wake   FUTEX_WAKE until the woken thread runs, one way; it slept for a millisecond
 * The same figures are the floor of rows of the table: W1 (a call a message), W8a (a jump), W12s
 * (an addition), W12r (a line), W12p (a wake-up). */
#include <linux/futex.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define REPEATS_MAX 100
#define SAMPLES_MAX 100000

/* What one run found. */
typedef struct outcome {
    double figure;
    int64_t ranks[4]; /* p50, p99, p99.9, max */
    bool ranked;
} outcome;

typedef struct work {
    const char *name;
    const char *unit;
    const char *note;
    void (*run)(uint64_t count, outcome *found);
    uint64_t count;
} work;

static int64_t floor_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail with this clock */
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void floor_check(uint64_t got, uint64_t want)
{
    if (got == want)
        return;
    (void)fprintf(stderr, "floor: got %llu, not %llu\n", (unsigned long long)got,
                  (unsigned long long)want);
    exit(1);
}

static double floor_each(int64_t begin, uint64_t count)
{
    return (double)(floor_now() - begin) / (double)count;
}

static int floor_compare(const void *one, const void *other)
{
    int64_t first = *(const int64_t *)one;
    int64_t second = *(const int64_t *)other;
    return (first > second) - (first < second);
}

/* Sorts the samples and takes the ranks; the figure is the median. */
static void floor_rank(int64_t *samples, uint64_t count, outcome *found)
{
    static const uint64_t thousandths[] = {500, 990, 999, 1000};
    qsort(samples, count, sizeof *samples, floor_compare);
    for (uint32_t i = 0; i < 4; i++) {
        uint64_t rank = (thousandths[i] * count + 999) / 1000;
        found->ranks[i] = samples[rank == 0 ? 0 : rank - 1];
    }
    found->ranked = true;
    found->figure = (double)found->ranks[0];
}

/* ---- on one thread ------------------------------------------------------------------------- */

static uint64_t floor_sum;

static __attribute__((noinline)) void floor_handle(uint64_t payload)
{
    floor_sum += payload;
}

static void call_run(uint64_t count, outcome *found)
{
    void (*volatile handler)(uint64_t) = floor_handle;
    floor_sum = 0;
    int64_t begin = floor_now();
    for (uint64_t i = 0; i < count; i++)
        handler(i);
    found->figure = floor_each(begin, count);
    floor_check(floor_sum, count * (count - 1) / 2);
}

static void message_run(uint64_t count, outcome *found)
{
    call_run(count, found);
    found->figure = 1e9 / found->figure;
}

static void rmw_run(uint64_t count, outcome *found)
{
    static _Atomic uint64_t sum;
    atomic_store(&sum, 0);
    int64_t begin = floor_now();
    for (uint64_t i = 0; i < count; i++)
        (void)atomic_fetch_add(&sum, i);
    found->figure = floor_each(begin, count);
    floor_check(atomic_load(&sum), count * (count - 1) / 2);
}

static __attribute__((noinline, noreturn)) void jump_throw(jmp_buf point)
{
    longjmp(point, 1);
}

static void jump_run(uint64_t count, outcome *found)
{
    static jmp_buf point;
    volatile uint64_t caught = 0;
    int64_t begin = floor_now();
    for (volatile uint64_t i = 0; i < count; i++) {
        if (_setjmp(point) == 0)
            jump_throw(point);
        caught++;
    }
    found->figure = floor_each(begin, count);
    floor_check(caught, count);
}

static void restart_run(uint64_t count, outcome *found)
{
    jump_run(count, found);
    found->ranks[0] = (int64_t)(found->figure + 0.5); /* one is shorter than the clock can tell */
    found->figure = 1e9 / found->figure;
}

static void alloc_run(uint64_t count, outcome *found)
{
    void *(*volatile take)(size_t) = malloc;
    uint64_t got = 0;
    int64_t begin = floor_now();
    for (uint64_t i = 0; i < count; i++) {
        void *block = take(64);
        got += block != NULL;
        free(block);
    }
    found->figure = floor_each(begin, count);
    floor_check(got, count);
}

/* ---- between two threads ------------------------------------------------------------------- */

/* Each word has a cache line, and its neighbour that is fetched along, to itself. */
typedef struct line {
    _Alignas(128) _Atomic uint32_t word;
} line;

typedef struct table {
    line there;
    line back;
    _Alignas(128) uint64_t count;
    uint64_t seen;
    int64_t samples[SAMPLES_MAX];
    _Atomic int64_t sent;
} table;

static table shared;

static void *line_answer(void *arg)
{
    (void)arg;
    for (uint32_t i = 1; i <= shared.count; i++) {
        while (atomic_load_explicit(&shared.there.word, memory_order_acquire) != i)
            continue; /* ends when the other thread has run */
        shared.seen++;
        atomic_store_explicit(&shared.back.word, i, memory_order_release);
    }
    return NULL;
}

static pthread_t floor_start(void *(*run)(void *), uint64_t count)
{
    pthread_t thread;
    shared.count = count;
    shared.seen = 0;
    atomic_store(&shared.there.word, 0);
    atomic_store(&shared.back.word, 0);
    if (pthread_create(&thread, NULL, run, NULL) != 0)
        floor_check(0, 1);
    return thread;
}

static void line_run(uint64_t count, outcome *found)
{
    pthread_t thread = floor_start(line_answer, count);
    int64_t begin = floor_now();
    for (uint32_t i = 1; i <= count; i++) {
        atomic_store_explicit(&shared.there.word, i, memory_order_release);
        while (atomic_load_explicit(&shared.back.word, memory_order_acquire) != i)
            continue; /* ends when the other thread has run */
    }
    found->figure = floor_each(begin, 2 * count);
    (void)pthread_join(thread, NULL); /* it ends by itself */
    floor_check(shared.seen, count);
}

static void floor_futex(_Atomic uint32_t *word, int operation, uint32_t value)
{
    (void)syscall(SYS_futex, word, operation | FUTEX_PRIVATE_FLAG, value, NULL, NULL, 0);
}

static void *wake_answer(void *arg)
{
    (void)arg;
    for (uint32_t i = 1; i <= shared.count; i++) {
        while (atomic_load(&shared.there.word) != i)
            floor_futex(&shared.there.word, FUTEX_WAIT, i - 1);
        shared.samples[shared.seen++] = floor_now() - atomic_load(&shared.sent);
        atomic_store(&shared.back.word, i);
    }
    return NULL;
}

static void wake_run(uint64_t count, outcome *found)
{
    pthread_t thread = floor_start(wake_answer, count);
    struct timespec pause = {.tv_nsec = 1000000};
    for (uint32_t i = 1; i <= count; i++) {
        (void)nanosleep(&pause, NULL); /* a shorter pause is as good */
        while (atomic_load(&shared.back.word) != i - 1)
            continue; /* ends when the other thread has run */
        atomic_store(&shared.sent, floor_now());
        atomic_store(&shared.there.word, i);
        floor_futex(&shared.there.word, FUTEX_WAKE, 1);
    }
    (void)pthread_join(thread, NULL); /* it ends by itself */
    floor_check(shared.seen, count);
    floor_rank(shared.samples, count, found);
}

/* ---- program ------------------------------------------------------------------------------- */

static const work works[] = {
    {"F-call", "ns", "a call through a pointer", call_run, 30000000},
    {"F-rmw", "ns", "a locked addition, uncontended", rmw_run, 20000000},
    {"F-line", "ns", "a cache line to another thread, one way", line_run, 1000000},
    {"F-jump", "ns", "setjmp and longjmp", jump_run, 10000000},
    {"F-alloc", "ns", "malloc and free of 64 bytes", alloc_run, 10000000},
    {"F-wake", "ns", "a futex wake until the other thread runs", wake_run, 1000},
    {"W1", "messages/s", "a call through a pointer", message_run, 30000000},
    {"W8a", "restarts/s", "setjmp and longjmp", restart_run, 10000000},
    {"W12s", "ns", "a locked addition, uncontended", rmw_run, 20000000},
    {"W12r", "ns", "a cache line to another thread, one way", line_run, 1000000},
    {"W12p", "ns", "a futex wake until the other thread runs", wake_run, 1000}};

static uint64_t floor_peak(void)
{
    char text[256];
    unsigned long long kib = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file != NULL && fgets(text, sizeof text, file) != NULL) {
        if (sscanf(text, "VmHWM: %llu", &kib) == 1)
            break;
    }
    if (file != NULL)
        (void)fclose(file); /* only read */
    return kib * 1024;
}

static int outcome_compare(const void *one, const void *other)
{
    double first = ((const outcome *)one)->figure;
    double second = ((const outcome *)other)->figure;
    return (first > second) - (first < second);
}

static void floor_measure(const work *what, uint64_t repeats, uint64_t divide)
{
    outcome found[REPEATS_MAX + 1];
    memset(found, 0, sizeof found);
    for (uint64_t i = 0; i <= repeats; i++)
        what->run(what->count / divide, &found[i]);
    outcome *kept = found + 1; /* the first was to warm up */
    qsort(kept, repeats, sizeof *kept, outcome_compare);
    const outcome *middle = &kept[repeats / 2];
    (void)printf("{\"workload\":\"%s\",\"peer\":\"floor\",\"unit\":\"%s\",\"median\":%.3f,"
                 "\"min\":%.3f,\"max\":%.3f,\"repeats\":%llu,\"workers\":1,\"peak_bytes\":%llu,",
                 what->name, what->unit, (middle->figure + kept[(repeats - 1) / 2].figure) / 2,
                 kept[0].figure, kept[repeats - 1].figure, (unsigned long long)repeats,
                 (unsigned long long)floor_peak());
    if (middle->ranks[0] != 0)
        (void)printf("\"p50_ns\":%lld,", (long long)middle->ranks[0]);
    if (middle->ranked)
        (void)printf("\"p99_ns\":%lld,\"p999_ns\":%lld,\"max_ns\":%lld,",
                     (long long)middle->ranks[1], (long long)middle->ranks[2],
                     (long long)middle->ranks[3]);
    (void)printf("\"note\":\"%s\"}\n", what->note);
    (void)fflush(stdout);
}

static bool floor_wanted(const char *only, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = only; (at = strstr(at, name)) != NULL; at += length)
        if ((at == only || at[-1] == ',') && (at[length] == '\0' || at[length] == ','))
            return true;
    return *only == '\0';
}

int main(int argc, char **argv)
{
    const char *only = "";
    uint64_t repeats = 5;
    uint64_t divide = 1;
    for (int i = 1; i + 1 < argc; i += 2) {
        uint64_t number = strtoull(argv[i + 1], NULL, 10);
        if (strcmp(argv[i], "--only") == 0)
            only = argv[i + 1];
        else if (strcmp(argv[i], "--repeats") == 0 && number > 0 && number <= REPEATS_MAX)
            repeats = number;
        else if (strcmp(argv[i], "--divide") == 0 && number > 0 && number <= 1000)
            divide = number;
        else if (strcmp(argv[i], "--workers") != 0) /* has none */
            return 2;
    }
    for (size_t i = 0; i < sizeof works / sizeof *works; i++)
        if (floor_wanted(only, works[i].name))
            floor_measure(&works[i], repeats, divide);
    return 0;
}
