/* files.c - each file is written beside its place, under a name of its own; when all are written
 * and closed without an error they are renamed. */
#include "files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

_Noreturn void files_fail(files *own, const char *path)
{
    (void)fprintf(stderr, "axo-restart-bench: cannot write %s: %s; nothing is written\n", path,
                  strerror(errno != 0 ? errno : EIO));
    for (unsigned i = 0; i < own->count; i++)
        (void)unlink(own->all[i]->part); /* it may not be there */
    exit(1);
}

static files_one *files_add(files *own, const char *path)
{
    files_one *one = calloc(1, sizeof *one);
    if (one == NULL || own->count == FILES_MAX || strlen(path) > sizeof one->part - 32) {
        errno = ENOMEM;
        files_fail(own, path);
    }
    (void)strcpy(one->path, path);
    (void)snprintf(one->part, sizeof one->part, "%s.part-%ld", path, (long)getpid());
    own->all[own->count++] = one;
    return one;
}

FILE *files_open(files *own, const char *path)
{
    if (strcmp(path, "-") == 0)
        return stdout;
    files_one *one = files_add(own, path);
    one->file = fopen(one->part, "w");
    if (one->file == NULL)
        files_fail(own, path);
    return one->file;
}

void files_close(files *own)
{
    files_one *one = own->count > 0 ? own->all[own->count - 1] : NULL;
    if (one == NULL || one->file == NULL) { /* it was standard output */
        if (fflush(stdout) != 0 || ferror(stdout))
            files_fail(own, "standard output");
        return;
    }
    int failed = ferror(one->file);
    errno = 0;
    if (fclose(one->file) != 0 || failed)
        files_fail(own, one->path);
    one->file = NULL;
}

const char *files_place(files *own, const char *path)
{
    return files_add(own, path)->part;
}

void files_folder(files *own, const char *path)
{
    char whole[FILES_PATH];
    (void)snprintf(whole, sizeof whole, "%s/", path);
    for (char *slash = strchr(whole + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(whole, 0777) != 0 && errno != EEXIST)
            files_fail(own, whole);
        *slash = '/';
    }
}

void files_finish(files *own)
{
    for (unsigned i = 0; i < own->count; i++) {
        struct stat about;
        if (stat(own->all[i]->part, &about) != 0)
            files_fail(own, own->all[i]->path);
    }
    for (unsigned i = 0; i < own->count; i++) {
        if (rename(own->all[i]->part, own->all[i]->path) != 0)
            files_fail(own, own->all[i]->path);
    }
    while (own->count > 0)
        free(own->all[--own->count]);
}
