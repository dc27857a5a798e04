/* file.c - a file that is memory, and who this process is. */
#include "os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/os.h"

#define FILE_PATH_MAX 512
#define FILE_OLD      ".old"

/* Fills an open, new file; false: nothing is mapped. */
static bool file_fill(axo__os_file *file, int fd, size_t size)
{
    struct stat about;
    struct rlimit most;
    int error;
    if (getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur < size)
        return false;
    do
        error = posix_fallocate(fd, 0, (off_t)size);
    while (error == EINTR);
    if (error != 0 || fstat(fd, &about) != 0)
        return false;
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED)
        return false;
    *file = (axo__os_file){.memory = memory,
                           .size = size,
                           .device = (uint64_t)about.st_dev,
                           .inode = (uint64_t)about.st_ino};
    return true;
}

/* The path with something behind it; false: that is too long. */
static bool file_name(char *name, const char *path, const char *behind)
{
    int length = snprintf(name, FILE_PATH_MAX, "%s%s", path, behind);
    return length >= 0 && length < FILE_PATH_MAX;
}

/* The name that a file is made under has the process and the memory of `file` in it: two systems of
 * one process do not meet, and what is there already was left by one that died at it. */
static bool file_made_name(char *name, const axo__os_file *file, const char *path)
{
    char behind[48];
    (void)snprintf(behind, sizeof behind, ".%ld.%zx", (long)getpid(), (size_t)(uintptr_t)file);
    return file_name(name, path, behind);
}

/* O_EXCL follows no link that another has laid there. */
static bool file_make(axo__os_file *file, const char *path, size_t size)
{
    char made[FILE_PATH_MAX];
    if (!file_made_name(made, file, path))
        return false;
    const int flags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
    int fd = open(made, flags, 0600);
    if (fd < 0 && errno == EEXIST && unlink(made) == 0)
        fd = open(made, flags, 0600);
    if (fd < 0)
        return false;
    bool whole = file_fill(file, fd, size);
    (void)close(fd);
    if (!whole)
        (void)unlink(made);
    return whole;
}

bool axo__os_file_make(axo__os_file *file, const char *path, size_t size)
{
    int before = axo__os_cancel_hold();
    bool made = file_make(file, path, size);
    if (!made)
        *file = (axo__os_file){.memory = NULL};
    axo__os_cancel_let(before);
    return made;
}

/* A second name comes first, so that there is no moment without a file at `path`. A file system
 * that has no second names has such a moment. */
static void file_keep(const char *path)
{
    struct stat about;
    char old[FILE_PATH_MAX];
    if (!file_name(old, path, FILE_OLD) || lstat(path, &about) != 0 || !S_ISREG(about.st_mode))
        return;
    if (lstat(old, &about) == 0 && (!S_ISREG(about.st_mode) || unlink(old) != 0))
        return;
    if (link(path, old) != 0)
        (void)rename(path, old);
}

/* rename takes the place of a link and does not follow it. */
static bool file_show(axo__os_file *file, const char *path, bool keep)
{
    char made[FILE_PATH_MAX];
    if (!file_made_name(made, file, path))
        return false;
    if (keep)
        file_keep(path);
    if (rename(made, path) == 0)
        return true;
    (void)munmap(file->memory, file->size);
    (void)unlink(made);
    *file = (axo__os_file){.memory = NULL};
    return false;
}

bool axo__os_file_show(axo__os_file *file, const char *path, bool keep)
{
    int before = axo__os_cancel_hold();
    bool shown = file_show(file, path, keep);
    axo__os_cancel_let(before);
    return shown;
}

/* While the memory is there, no other file has this number. */
static void file_forget(const axo__os_file *file, const char *name)
{
    struct stat about;
    if (lstat(name, &about) == 0 && (uint64_t)about.st_dev == file->device &&
        (uint64_t)about.st_ino == file->inode)
        (void)unlink(name);
}

void axo__os_file_end(axo__os_file *file, const char *path)
{
    int before = axo__os_cancel_hold();
    if (file->memory != NULL) {
        char old[FILE_PATH_MAX];
        file_forget(file, path);
        if (file_name(old, path, FILE_OLD))
            file_forget(file, old);
        (void)munmap(file->memory, file->size);
    }
    *file = (axo__os_file){.memory = NULL};
    axo__os_cancel_let(before);
}

/* Nothing but a file is opened: opening a device, or a pipe, may do something. */
static bool file_head(const char *path, void *out, size_t size)
{
    struct stat about;
    if (lstat(path, &about) != 0 || !S_ISREG(about.st_mode))
        return false;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return false;
    ssize_t count = read(fd, out, size);
    (void)close(fd);
    return count >= 0 && (size_t)count == size;
}

bool axo__os_file_head(const char *path, void *out, size_t size)
{
    int before = axo__os_cancel_hold();
    bool whole = file_head(path, out, size);
    axo__os_cancel_let(before);
    return whole;
}

/* The kernel's files come in one piece. */
bool axo__os_file_text(const char *path, char *text, size_t size)
{
    int before = axo__os_cancel_hold();
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd >= 0 ? read(fd, text, size - 1) : 0;
    if (fd >= 0)
        (void)close(fd);
    text[length > 0 ? length : 0] = 0;
    axo__os_cancel_let(before);
    return length > 0;
}

/* The program's name, in brackets, is field 2 and may have blanks and brackets in it: fields are
 * counted behind the last bracket, from 3 on. */
uint64_t axo__os_process_start(void)
{
    char text[1024];
    if (!axo__os_file_text("/proc/self/stat", text, sizeof text))
        return 0;
    const char *at = strrchr(text, ')');
    for (int field = 2; at != NULL && field < 22; field++)
        at = strchr(at + 1, ' ');
    return at != NULL ? strtoull(at, NULL, 10) : 0;
}

uint64_t axo__os_boot(void)
{
    char text[64];
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    if (!axo__os_file_text("/proc/sys/kernel/random/boot_id", text, sizeof text))
        return 0;
    for (const char *at = text; *at != 0 && *at != '\n'; at++)
        hash = (hash ^ (unsigned char)*at) * UINT64_C(0x100000001b3);
    return hash;
}

uint64_t axo__os_process_space(void)
{
    struct stat about;
    return stat("/proc/self/ns/pid", &about) == 0 ? (uint64_t)about.st_ino : 0;
}

uint64_t axo__os_thread_id(void)
{
    return (uint64_t)syscall(SYS_gettid);
}
