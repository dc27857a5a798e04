/* lines.c - counts the cache lines that move between threads, instead of a sanitizer's library.
 *
 * The program is compiled with -fsanitize=thread, and so calls a function here for each access to
 * memory. Each thread is taken for a processor with a cache without end; for each line the
 * directory knows which of them have it. A read by one that has not is a fetch; a write by one that
 * is not the only one to have it is a fetch too, or, if it has the line, an upgrade. A line that
 * nobody has yet is touched first, which does not count. So what is counted is only what the
 * program's sharing costs, memory that wanders included, and the same on a machine of any kind; not
 * that caches are small, nor neighbours that are prefetched.
 *
 * At its end the program prints a line {"lines": ..., "first": ...}, of all threads and of the
 * first one, and the places that moved most lines, as addresses in the executable for addr2line.
 * `hottest` is how often the one line moved that moved most; `locked` counts read-modify-writes
 * and what else is ordered with all others. Two lines that share an entry of the directory are
 * taken for one: with 2^24 entries about one access in a thousand of a large program, none of a
 * small one. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIRECTORY_BITS 24
#define PLACES         4096 /* a power of two */
#define PLACES_SAID    24
#define THREADS_MAX    64
#define HEATS          262144 /* a power of two */

enum { FETCH, UPGRADE, KINDS };

/* One thread's counts of what an instruction moved. */
typedef struct place {
    uintptr_t at;
    uint64_t moved[KINDS];
} place;

typedef struct counts {
    uint64_t moved[KINDS];
    uint64_t locked; /* read-modify-writes, and what x86 makes a locked operation of: seq_cst */
    place places[PLACES];
    uint32_t heat[HEATS]; /* moves of the lines of an entry */
} counts;

static uint64_t *directory; /* of each entry: the threads that have the line */
static counts *all[THREADS_MAX];
static uint32_t threads;
static _Thread_local uint64_t mine; /* this thread's bit; 0: not known yet */
static _Thread_local counts *own;

static void lines_report(void);

static void lines_init(void)
{
    directory = calloc((size_t)1 << DIRECTORY_BITS, sizeof *directory);
    if (directory == NULL)
        abort();
    (void)atexit(lines_report);
}

static void lines_enter(void)
{
    uint32_t index = __atomic_fetch_add(&threads, 1, __ATOMIC_RELAXED);
    if (directory == NULL)
        lines_init(); /* the first thread is alone */
    own = calloc(1, sizeof *own);
    if (own == NULL)
        abort();
    mine = (uint64_t)1 << index % THREADS_MAX; /* a later one takes the place of one that is gone */
    all[index % THREADS_MAX] = own;
}

static place *lines_place(uintptr_t at)
{
    uint32_t slot = (uint32_t)(at * UINT64_C(0x9e3779b97f4a7c15) >> 40);
    for (uint32_t i = 0; i < PLACES; i++) {
        place *found = &own->places[(slot + i) % PLACES];
        if (found->at == at || found->at == 0) {
            found->at = at;
            return found;
        }
    }
    return &own->places[0];
}

static __attribute__((noinline)) void lines_moved(uint32_t kind, uint64_t entry, uintptr_t from)
{
    own->moved[kind]++;
    own->heat[entry % HEATS]++;
    lines_place(from)->moved[kind]++;
}

/* One access to one line. */
static inline void lines_touch(uintptr_t line, bool write, uintptr_t from)
{
    if (__builtin_expect(mine == 0, 0))
        lines_enter();
    uint64_t *entry = &directory[line * UINT64_C(0x9e3779b97f4a7c15) >> (64 - DIRECTORY_BITS)];
    uint64_t who = __atomic_load_n(entry, __ATOMIC_RELAXED);
    if (write ? who == mine : (who & mine) != 0)
        return;
    who = write ? __atomic_exchange_n(entry, mine, __ATOMIC_RELAXED)
                : __atomic_fetch_or(entry, mine, __ATOMIC_RELAXED);
    if ((who & ~mine) != 0)
        lines_moved((who & mine) != 0 ? UPGRADE : FETCH, (uint64_t)(entry - directory), from);
}

static inline void lines_access(const volatile void *address, size_t size, bool write,
                                uintptr_t from)
{
    uintptr_t first = (uintptr_t)address / 64;
    uintptr_t last = ((uintptr_t)address + size - 1) / 64;
    for (uintptr_t line = first; size != 0 && line <= last; line++)
        lines_touch(line, write, from);
}

/* One that is in order with all others, as each read-modify-write is on x86. */
static inline void lines_locked(void)
{
    if (__builtin_expect(mine == 0, 0))
        lines_enter();
    own->locked++;
}

#define FROM ((uintptr_t)__builtin_return_address(0))

/* ---- what the compiler calls ---------------------------------------------------------------- */

void __tsan_init(void);
void __tsan_init(void)
{
}
void __tsan_func_entry(void *from);
void __tsan_func_entry(void *from)
{
    (void)from;
}
void __tsan_func_exit(void);
void __tsan_func_exit(void)
{
}
void __tsan_atomic_thread_fence(int order);
void __tsan_atomic_thread_fence(int order)
{
    if (order == __ATOMIC_SEQ_CST)
        lines_locked();
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
void __tsan_atomic_signal_fence(int order);
void __tsan_atomic_signal_fence(int order)
{
    (void)order;
}

#define LINES_PLAIN(name, size, write)                                                             \
    void __tsan_##name(void *at);                                                                  \
    void __tsan_##name(void *at)                                                                   \
    {                                                                                              \
        lines_access(at, size, write, FROM);                                                       \
    }
LINES_PLAIN(read1, 1, false)
LINES_PLAIN(read2, 2, false)
LINES_PLAIN(read4, 4, false)
LINES_PLAIN(read8, 8, false)
LINES_PLAIN(read16, 16, false)
LINES_PLAIN(write1, 1, true)
LINES_PLAIN(write2, 2, true)
LINES_PLAIN(write4, 4, true)
LINES_PLAIN(write8, 8, true)
LINES_PLAIN(write16, 16, true)
LINES_PLAIN(unaligned_read2, 2, false)
LINES_PLAIN(unaligned_read4, 4, false)
LINES_PLAIN(unaligned_read8, 8, false)
LINES_PLAIN(unaligned_read16, 16, false)
LINES_PLAIN(unaligned_write2, 2, true)
LINES_PLAIN(unaligned_write4, 4, true)
LINES_PLAIN(unaligned_write8, 8, true)
LINES_PLAIN(unaligned_write16, 16, true)

#define LINES_RANGE(name, write)                                                                   \
    void __tsan_##name(void *at, size_t size);                                                     \
    void __tsan_##name(void *at, size_t size)                                                      \
    {                                                                                              \
        lines_access(at, size, write, FROM);                                                       \
    }
LINES_RANGE(read_range, false)
LINES_RANGE(write_range, true)

#define LINES_RMW(bits, type, name)                                                                \
    type __tsan_atomic##bits##_##name(volatile type *at, type value, int order);                   \
    type __tsan_atomic##bits##_##name(volatile type *at, type value, int order)                    \
    {                                                                                              \
        (void)order;                                                                               \
        lines_locked();                                                                            \
        lines_access(at, sizeof *at, true, FROM);                                                  \
        return __atomic_##name##_(at, value);                                                      \
    }
#define __atomic_exchange_(at, value)  __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST)
#define __atomic_fetch_add_(at, value) __atomic_fetch_add(at, value, __ATOMIC_SEQ_CST)
#define __atomic_fetch_sub_(at, value) __atomic_fetch_sub(at, value, __ATOMIC_SEQ_CST)
#define __atomic_fetch_and_(at, value) __atomic_fetch_and(at, value, __ATOMIC_SEQ_CST)
#define __atomic_fetch_or_(at, value)  __atomic_fetch_or(at, value, __ATOMIC_SEQ_CST)
#define __atomic_fetch_xor_(at, value) __atomic_fetch_xor(at, value, __ATOMIC_SEQ_CST)

#define LINES_CAS(bits, type, name)                                                                \
    int __tsan_atomic##bits##_compare_exchange_##name(volatile type *at, type *old, type new,      \
                                                      int order, int otherwise);                   \
    int __tsan_atomic##bits##_compare_exchange_##name(volatile type *at, type *old, type new,      \
                                                      int order, int otherwise)                    \
    {                                                                                              \
        (void)order, (void)otherwise;                                                              \
        lines_locked();                                                                            \
        lines_access(at, sizeof *at, true, FROM);                                                  \
        return __atomic_compare_exchange_n(at, old, new, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);   \
    }

#define LINES_ATOMIC(bits, type)                                                                   \
    type __tsan_atomic##bits##_load(const volatile type *at, int order);                           \
    type __tsan_atomic##bits##_load(const volatile type *at, int order)                            \
    {                                                                                              \
        (void)order;                                                                               \
        lines_access(at, sizeof *at, false, FROM);                                                 \
        return __atomic_load_n(at, __ATOMIC_SEQ_CST);                                              \
    }                                                                                              \
    void __tsan_atomic##bits##_store(volatile type *at, type value, int order);                    \
    void __tsan_atomic##bits##_store(volatile type *at, type value, int order)                     \
    {                                                                                              \
        if (order == __ATOMIC_SEQ_CST)                                                             \
            lines_locked();                                                                        \
        lines_access(at, sizeof *at, true, FROM);                                                  \
        __atomic_store_n(at, value, __ATOMIC_SEQ_CST);                                             \
    }                                                                                              \
    type __tsan_atomic##bits##_compare_exchange_val(volatile type *at, type old, type new,         \
                                                    int order, int otherwise);                     \
    type __tsan_atomic##bits##_compare_exchange_val(volatile type *at, type old, type new,         \
                                                    int order, int otherwise)                      \
    {                                                                                              \
        (void)order, (void)otherwise;                                                              \
        lines_locked();                                                                            \
        lines_access(at, sizeof *at, true, FROM);                                                  \
        (void)__atomic_compare_exchange_n(at, &old, new, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);   \
        return old;                                                                                \
    }                                                                                              \
    LINES_CAS(bits, type, strong)                                                                  \
    LINES_CAS(bits, type, weak)                                                                    \
    LINES_RMW(bits, type, exchange)                                                                \
    LINES_RMW(bits, type, fetch_add)                                                               \
    LINES_RMW(bits, type, fetch_sub)                                                               \
    LINES_RMW(bits, type, fetch_and)                                                               \
    LINES_RMW(bits, type, fetch_or)                                                                \
    LINES_RMW(bits, type, fetch_xor)
LINES_ATOMIC(8, uint8_t)
LINES_ATOMIC(16, uint16_t)
LINES_ATOMIC(32, uint32_t)
LINES_ATOMIC(64, uint64_t)

void *__real_memcpy(void *to, const void *from, size_t size);
void *__wrap_memcpy(void *to, const void *from, size_t size);
void *__wrap_memcpy(void *to, const void *from, size_t size)
{
    lines_access(from, size, false, FROM);
    lines_access(to, size, true, FROM);
    return __real_memcpy(to, from, size);
}
void *__real_memset(void *to, int value, size_t size);
void *__wrap_memset(void *to, int value, size_t size);
void *__wrap_memset(void *to, int value, size_t size)
{
    lines_access(to, size, true, FROM);
    return __real_memset(to, value, size);
}

/* ---- the report ----------------------------------------------------------------------------- */

static int lines_compare(const void *one, const void *other)
{
    const place *first = one, *second = other;
    uint64_t left = first->moved[FETCH] + first->moved[UPGRADE];
    uint64_t right = second->moved[FETCH] + second->moved[UPGRADE];
    return (left < right) - (left > right);
}

static int lines_base(struct dl_phdr_info *info, size_t size, void *base)
{
    (void)size;
    *(uintptr_t *)base = info->dlpi_addr; /* the executable is the first */
    return 1;
}

/* Adds up all threads in the first one's table. */
static void lines_sum(counts *sum)
{
    own = sum;
    for (uint32_t t = 0; t < THREADS_MAX; t++) {
        if (all[t] == NULL)
            continue;
        sum->locked += all[t]->locked;
        for (uint32_t k = 0; k < KINDS; k++)
            sum->moved[k] += all[t]->moved[k];
        for (uint32_t i = 0; i < HEATS; i++)
            sum->heat[i] += all[t]->heat[i];
        for (uint32_t i = 0; i < PLACES; i++) {
            place *into = all[t]->places[i].at != 0 ? lines_place(all[t]->places[i].at) : NULL;
            for (uint32_t k = 0; into != NULL && k < KINDS; k++)
                into->moved[k] += all[t]->places[i].moved[k];
        }
    }
}

static void lines_print(const counts *it, uint32_t hottest)
{
    (void)printf("{\"fetched\":%" PRIu64 ",\"upgraded\":%" PRIu64 ",\"locked\":%" PRIu64
                 ",\"hottest\":%" PRIu32 ",\"threads\":%" PRIu32 "}",
                 it->moved[FETCH], it->moved[UPGRADE], it->locked, hottest, threads);
}

static void lines_report(void)
{
    static counts sum;
    uintptr_t base = 0;
    uint32_t hottest = 0;
    lines_sum(&sum);
    for (uint32_t i = 0; i < HEATS; i++)
        hottest = sum.heat[i] > hottest ? sum.heat[i] : hottest;
    (void)printf("{\"lines\":");
    lines_print(&sum, hottest);
    (void)printf(",\"first\":");
    lines_print(all[0], 0);
    (void)printf("}\n");
    (void)dl_iterate_phdr(lines_base, &base);
    qsort(sum.places, PLACES, sizeof *sum.places, lines_compare);
    for (uint32_t i = 0; i < PLACES_SAID && sum.places[i].at != 0; i++)
        (void)printf("place 0x%" PRIxPTR " %" PRIu64 " %" PRIu64 "\n", sum.places[i].at - base - 1,
                     sum.places[i].moved[FETCH], sum.places[i].moved[UPGRADE]);
}
