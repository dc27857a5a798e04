/* door.h - the public headers as text: what two tests look for in them. */
#ifndef TEST_API_DOOR_H
#define TEST_API_DOOR_H

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>

#include "api/service.h"

static inline char *door_read(const char *name)
{
    char path[512];
    (void)snprintf(path, sizeof path, "include/axo/%s", name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    char *text = calloc(1, 1 << 16);
    assert_non_null(text);
    assert_true(fread(text, 1, (1 << 16) - 1, file) < (1 << 16) - 1);
    (void)fclose(file);
    return text;
}

/* The word that ends before `end`. */
static inline void door_word(const char *text, const char *end, char *out, size_t size)
{
    const char *from = end;
    while (from > text && (isalnum((unsigned char)from[-1]) || from[-1] == '_'))
        from--;
    (void)snprintf(out, size, "%.*s", (int)(end - from), from);
}

typedef void (*door_seen)(const char *word);

/* Calls `seen` with the word before each `mark`, in every header of libaxo: console.h, process.h,
 * record.h, report.h, durable.h, durable_nats.h, cluster.h and grain.h are of libraries of their
 * own, which console_test.sh, process_actor_test.c, record_misuse_test.c,
 * record_report_file_test.c, durable_mailbox_test.c, durable_nats_server_test.c,
 * cluster_nodes_test.c and cluster_grain_test.c try. */
static inline void door_scan(const char *mark, door_seen seen)
{
    DIR *folder = opendir("include/axo");
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (strstr(entry->d_name, ".h") == NULL || strcmp(entry->d_name, "console.h") == 0 ||
            strcmp(entry->d_name, "process.h") == 0 || strcmp(entry->d_name, "record.h") == 0 ||
            strcmp(entry->d_name, "report.h") == 0 || strcmp(entry->d_name, "durable.h") == 0 ||
            strcmp(entry->d_name, "durable_nats.h") == 0 ||
            strcmp(entry->d_name, "cluster.h") == 0 || strcmp(entry->d_name, "grain.h") == 0)
            continue;
        char *text = door_read(entry->d_name);
        for (const char *at = text; (at = strstr(at, mark)) != NULL; at++) {
            char word[64];
            door_word(text, at, word, sizeof word);
            seen(word);
        }
        free(text);
    }
    (void)closedir(folder);
}

#endif
