/* census.h - threads and descriptors of this process, for tests that want none to be left.
 *
 * A joined thread is listed in /proc/self/task for a moment after pthread_join has returned: the
 * kernel wakes the joiner before it takes the thread out of the list, and on a busy machine the
 * moment is as long as that thread waits for a CPU. Before it wakes anybody it marks the thread as
 * one that ends, in the flags of its stat (proc(5)): such a one does not count here. Nothing here
 * needs cmocka.
 */
#ifndef TEST_SUPPORT_CENSUS_H
#define TEST_SUPPORT_CENSUS_H

#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define CENSUS_WAIT_MS 40000

/* Entries of a folder but "." and ".."; UINT32_MAX: it cannot be read. */
static inline uint32_t census_entries(const char *folder)
{
    uint32_t count = 0;
    DIR *dir = opendir(folder);
    if (dir == NULL)
        return UINT32_MAX;
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;)
        count += entry->d_name[0] != '.';
    (void)closedir(dir);
    return count;
}

/* Whether a thread that is listed has begun to end; one that is listed no more has ended. */
static inline bool census_ends(const char *number)
{
    enum { ENDS = 4 }; /* the kernel's PF_EXITING */
    char path[64];
    char text[512] = "";
    unsigned long flags = 0;
    (void)snprintf(path, sizeof path, "/proc/self/task/%.20s/stat", number);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return true;
    bool read = fgets(text, sizeof text, file) != NULL;
    (void)fclose(file);
    const char *rest = strrchr(text, ')'); /* the thread's name may hold anything */
    if (!read || rest == NULL)
        return true; /* it has ended since */
    return sscanf(rest + 1, " %*c %*d %*d %*d %*d %*d %lu", &flags) == 1 && (flags & ENDS) != 0;
}

/* Threads that are there now. UINT32_MAX: they cannot be counted. */
static inline uint32_t census_threads(void)
{
    uint32_t count = 0;
    DIR *dir = opendir("/proc/self/task");
    if (dir == NULL)
        return UINT32_MAX;
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;)
        count += entry->d_name[0] != '.' && !census_ends(entry->d_name);
    (void)closedir(dir);
    return count;
}

/* Open descriptors; the one that reads the folder is among them, each time. */
static inline uint32_t census_descriptors(void)
{
    return census_entries("/proc/self/fd");
}

static inline void census_pause(void)
{
    struct timespec pause = {.tv_nsec = 1000000};
    (void)nanosleep(&pause, NULL);
}

/* Waits until `want` threads are listed; what is listed at last is the result. */
static inline uint32_t census_settled(uint32_t want)
{
    uint32_t listed = census_threads();
    for (uint32_t i = 0; listed != want && i < CENSUS_WAIT_MS; i++) {
        census_pause();
        listed = census_threads();
    }
    return listed;
}

static inline void *census_guest(void *out)
{
    *(long *)out = syscall(SYS_gettid);
    return NULL;
}

/* How many threads there are when none is starting or ending. A sanitizer starts a thread of its
 * own with the program's first; so one is started here, joined, and awaited until it is listed no
 * more. Others that end, joined by nobody, have ended when two looks agree. 0: no thread could be
 * had. */
static inline uint32_t census_open(void)
{
    pthread_t guest;
    long number = 0;
    char path[64];
    if (pthread_create(&guest, NULL, census_guest, &number) != 0 || pthread_join(guest, NULL) != 0)
        return 0;
    (void)snprintf(path, sizeof path, "/proc/self/task/%ld", number);
    for (uint32_t i = 0; access(path, F_OK) == 0 && i < CENSUS_WAIT_MS; i++)
        census_pause();
    uint32_t before;
    uint32_t listed = census_threads();
    do {
        before = listed;
        for (uint32_t i = 0; i < 10; i++)
            census_pause();
        listed = census_threads();
    } while (listed != before);
    return listed;
}

#endif
