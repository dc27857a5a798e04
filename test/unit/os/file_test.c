/* file_test.c - a file that is memory: what is in its way, and what is refused. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/file.h"
#include "os/os.h"
#include "support/cmocka.h"

static char folder[64];
static char path[96];

static int set_up(void **state)
{
    (void)snprintf(folder, sizeof folder, "/tmp/axo-file-XXXXXX");
    if (mkdtemp(folder) == NULL)
        return -1;
    return snprintf(path, sizeof path, "%s/file", folder) > 0 ? 0 : -1;
}

/* No test leaves a file under another name. */
static int tear_down(void **state)
{
    (void)unlink(path);
    return rmdir(folder);
}

static bool make(axo__os_file *file, size_t size)
{
    return axo__os_file_make(file, path, size) && axo__os_file_show(file, path, false);
}

static uint32_t files(void)
{
    uint32_t count = 0;
    const struct dirent *entry;
    DIR *all = opendir(folder);
    assert_non_null(all);
    while ((entry = readdir(all)) != NULL)
        count += entry->d_name[0] != '.';
    (void)closedir(all);
    return count;
}

static void made_and_taken_away(void **state)
{
    struct stat about;
    axo__os_file file;
    mode_t mask = umask(0);
    assert_true(make(&file, 10000));
    (void)umask(mask);
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_mode & 07777, 0600);
    assert_int_equal(about.st_size, 10000);
    assert_true(about.st_blocks * 512 >= 10000);
    for (size_t i = 0; i < 10000; i++)
        assert_int_equal(((const char *)file.memory)[i], 0);
    assert_int_equal(files(), 1);
    axo__os_file_end(&file, path);
    assert_null(file.memory);
    assert_int_equal(files(), 0);
    axo__os_file_end(&file, path);
}

/* A process of the same number has died between making the file and giving it its name. */
static void what_a_dead_one_left(void **state)
{
    axo__os_file file;
    char made[200];
    (void)snprintf(made, sizeof made, "%s.%ld.%zx", path, (long)getpid(), (size_t)(uintptr_t)&file);
    int fd = open(made, O_CREAT | O_EXCL | O_WRONLY, 0600);
    assert_true(fd >= 0);
    (void)close(fd);
    assert_true(make(&file, 4096));
    assert_int_equal(files(), 1);
    axo__os_file_end(&file, path);
    /* a folder is no such thing: refused, and it stays */
    assert_int_equal(mkdir(made, 0700), 0);
    assert_false(make(&file, 4096));
    assert_int_equal(rmdir(made), 0);
}

static void put(const char *name, const char *text)
{
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    (void)fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void holds(const char *name, const char *text)
{
    char there[32] = "";
    assert_true(axo__os_file_head(name, there, strlen(text)));
    assert_string_equal(there, text);
}

/* Until it is shown, what has the name has it. */
static void filled_before_it_is_shown(void **state)
{
    axo__os_file file;
    assert_true(axo__os_file_make(&file, path, 4096));
    assert_int_equal(access(path, F_OK), -1);
    memcpy(file.memory, "whole", 5);
    assert_true(axo__os_file_show(&file, path, false));
    holds(path, "whole");
    axo__os_file_end(&file, path);
    put(path, "older");
    assert_true(axo__os_file_make(&file, path, 4096));
    holds(path, "older");
    axo__os_file_end(&file, path); /* of what was not shown the name is not taken away */
    holds(path, "older");
    assert_int_equal(files(), 2);
    assert_true(make(&file, 4096)); /* the other name is taken again */
    assert_int_equal(files(), 1);
    axo__os_file_end(&file, path);
}

/* What was there is path.old; an older one of that goes, and one that is no file stays. */
static void the_one_before_is_kept(void **state)
{
    axo__os_file file;
    axo__os_file later;
    char old[120];
    (void)snprintf(old, sizeof old, "%s.old", path);
    put(path, "first");
    assert_true(axo__os_file_make(&file, path, 4096) && axo__os_file_show(&file, path, true));
    holds(old, "first");
    axo__os_file_end(&file, path);
    assert_int_equal(files(), 1);
    put(path, "second");
    assert_true(axo__os_file_make(&file, path, 4096) && axo__os_file_show(&file, path, true));
    holds(old, "second");
    memcpy(file.memory, "third", 5);
    /* one whose memory is there still takes its file away under the other name */
    assert_true(axo__os_file_make(&later, path, 4096) && axo__os_file_show(&later, path, true));
    holds(old, "third");
    axo__os_file_end(&file, path);
    assert_int_equal(files(), 1);
    axo__os_file_end(&later, path);
    assert_int_equal(files(), 0);
    /* nothing to keep */
    assert_true(axo__os_file_make(&file, path, 4096) && axo__os_file_show(&file, path, true));
    axo__os_file_end(&file, path);
    assert_int_equal(files(), 0);
    assert_int_equal(symlink("nowhere", old), 0);
    put(path, "fourth");
    assert_true(axo__os_file_make(&file, path, 4096) && axo__os_file_show(&file, path, true));
    axo__os_file_end(&file, path);
    struct stat about;
    assert_int_equal(lstat(old, &about), 0);
    assert_true(S_ISLNK(about.st_mode));
    assert_int_equal(unlink(old), 0);
    assert_int_equal(files(), 0);
}

/* Only a regular file is read or kept. */
static void what_is_no_file(void **state)
{
    axo__os_file file;
    char other[120];
    char text[5];
    (void)snprintf(other, sizeof other, "%s.old", path);
    put(other, "there");
    assert_int_equal(symlink(other, path), 0);
    assert_false(axo__os_file_head(path, text, sizeof text));
    assert_true(axo__os_file_make(&file, path, 4096) && axo__os_file_show(&file, path, true));
    axo__os_file_end(&file, path);
    holds(other, "there");
    assert_int_equal(unlink(other), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_false(axo__os_file_head(path, text, sizeof text)); /* and nobody waits */
    assert_true(axo__os_file_make(&file, path, 4096) && axo__os_file_show(&file, path, true));
    axo__os_file_end(&file, path);
    assert_int_equal(files(), 0);
    assert_false(axo__os_file_head(path, text, sizeof text));
    assert_false(axo__os_file_head(folder, text, sizeof text));
    put(path, "few");
    assert_false(axo__os_file_head(path, text, sizeof text));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_true(axo__os_file_make(&file, path, 4096));
    assert_false(axo__os_file_show(&file, path, true)); /* and nothing is left */
    assert_null(file.memory);
    assert_int_equal(files(), 1);
    assert_int_equal(rmdir(path), 0);
}

/* Beyond RLIMIT_FSIZE the operating system would end the process. */
static void more_than_a_process_may_write(void **state)
{
    axo__os_file file = {.memory = NULL};
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    struct rlimit few = {.rlim_cur = 8192, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &few), 0);
    bool over = make(&file, 8193);
    bool left = access(path, F_OK) == 0;
    bool within = make(&file, 8192);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_false(over);
    assert_false(left);
    assert_true(within);
    axo__os_file_end(&file, path);
}

static void who_this_process_is(void **state)
{
    struct stat about;
    assert_int_equal(axo__os_thread_id(), getpid());
    assert_int_equal(axo__os_process(), getpid());
    assert_int_equal(stat("/proc/self/ns/pid", &about), 0);
    assert_int_equal(axo__os_process_space(), about.st_ino);
    assert_int_not_equal(axo__os_process_start(), 0);
    assert_int_equal(axo__os_process_start(), axo__os_process_start());
    assert_int_equal(axo__os_boot(), axo__os_boot());
}

#define FILE_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
static const struct CMUnitTest tests[] = {
    FILE_TEST(made_and_taken_away),
    FILE_TEST(what_a_dead_one_left),
    FILE_TEST(filled_before_it_is_shown),
    FILE_TEST(the_one_before_is_kept),
    FILE_TEST(what_is_no_file),
    FILE_TEST(more_than_a_process_may_write),
    FILE_TEST(who_this_process_is),
};
TEST_MAIN(tests)
