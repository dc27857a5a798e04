/* slow_disk.c - before a program, by LD_PRELOAD: each fdatasync takes AXO_SLOW_DISK milliseconds
 * more, before it does anything. Who says that something is on disk before it is, is found out by
 * kill -9. */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

__attribute__((visibility("default"))) int fdatasync(int fd)
{
    int (*real)(int);
    const char *text = getenv("AXO_SLOW_DISK");
    long ms = text != NULL ? strtol(text, NULL, 10) : 0;
    struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        ;
    /* A pointer to an object becomes one to a function, as POSIX has it of dlsym. */
    void *found = dlsym(RTLD_NEXT, "fdatasync");
    memcpy(&real, &found, sizeof real);
    return real(fd);
}
