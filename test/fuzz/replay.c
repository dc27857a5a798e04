/* replay.c - feeds files to a fuzz target, without a fuzzer: its corpus, or what is named.
 *
 *   fuzz_NAME               every file of test/fuzz/corpus/fuzz_NAME
 *   fuzz_NAME file...       these; the last line is how many
 */
#include "fuzz/fuzz.h"

#include <dirent.h>

#define REPLAY_MAX 65536

static void replay_file(const char *path)
{
    static uint8_t bytes[REPLAY_MAX];
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        fuzz_fail("cannot be read: %s", path);
    size_t size = fread(bytes, 1, sizeof bytes, file);
    (void)fclose(file);
    uint8_t *exact = malloc(size > 0 ? size : 1); /* so that a read beyond it is seen */
    fuzz_require(exact != NULL);
    memcpy(exact, bytes, size);
    (void)fprintf(stderr, "%s\n", path);
    (void)LLVMFuzzerTestOneInput(exact, size);
    free(exact);
}

static int replay_is_file(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int replay_folder(const char *name)
{
    char folder[256];
    char path[1024];
    struct dirent **entries;
    (void)snprintf(folder, sizeof folder, "test/fuzz/corpus/%s", name);
    int count = scandir(folder, &entries, replay_is_file, alphasort);
    for (int i = 0; i < count; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        replay_file(path);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    return count;
}

int main(int argc, char **argv)
{
    const char *slash = strrchr(argv[0], '/');
    int count = argc - 1;
    for (int i = 1; i < argc; i++)
        replay_file(argv[i]);
    if (argc == 1)
        count = replay_folder(slash != NULL ? slash + 1 : argv[0]);
    (void)printf("%d inputs replayed\n", count);
    return count > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
