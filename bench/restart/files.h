/* files.h - files that are written whole or not at all. */
#ifndef RESTART_BENCH_FILES_H
#define RESTART_BENCH_FILES_H

#include <stdio.h>

#define FILES_MAX  4096
#define FILES_PATH 4096

typedef struct files_one {
    char path[FILES_PATH]; /* where it will be */
    char part[FILES_PATH]; /* where it is written until then */
    FILE *file;            /* NULL: somebody else writes it, or it is closed */
} files_one;

typedef struct files {
    unsigned count;
    files_one *all[FILES_MAX];
} files;

/* A new file; "-" is standard output. Ends the program with 1, as all here do, when it cannot, and
 * leaves nothing behind. */
FILE *files_open(files *own, const char *path);

/* Closes the newest file: what is written comes to its place in files_finish. */
void files_close(files *own);

/* The place where another program is to write what will be `path`. */
const char *files_place(files *own, const char *path);

/* Makes a folder and those above it. */
void files_folder(files *own, const char *path);

/* Ends the program: nothing is written. */
_Noreturn void files_fail(files *own, const char *path);

/* Puts all files into their places. */
void files_finish(files *own);

#endif
