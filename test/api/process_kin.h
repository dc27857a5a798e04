/* process_kin.h - who is whose child, of the processes of this machine. */
#ifndef TEST_PROCESS_KIN_H
#define TEST_PROCESS_KIN_H

#include <dirent.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "support/cmocka.h"

/* The processes whose parent is `parent`, at most `max`; those that have ended are not counted. */
static inline uint32_t w_children(pid_t parent, pid_t *out, uint32_t max)
{
    uint32_t count = 0;
    DIR *folder = opendir("/proc");
    const struct dirent *entry;
    assert_non_null(folder);
    while ((entry = readdir(folder)) != NULL && count < max) {
        char path[300];
        int pid, above;
        char state;
        (void)snprintf(path, sizeof path, "/proc/%s/stat", entry->d_name);
        FILE *file = entry->d_name[0] >= '0' && entry->d_name[0] <= '9' ? fopen(path, "re") : NULL;
        if (file == NULL)
            continue;
        if (fscanf(file, "%d (%*[^)]) %c %d", &pid, &state, &above) == 3 && above == parent &&
            state != 'Z' && state != 'X')
            out[count++] = pid;
        (void)fclose(file);
    }
    (void)closedir(folder);
    return count;
}

static inline void w_pause(void)
{
    (void)poll(NULL, 0, 5);
}

/* The zygote, once it is there. */
static inline pid_t w_zygote(void)
{
    pid_t pid = 0;
    while (w_children(getpid(), &pid, 1) == 0)
        w_pause();
    return pid;
}

#endif
