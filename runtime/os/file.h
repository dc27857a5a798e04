/* file.h - a file that is memory: made and filled under another name, then renamed to its own. The
 * same in the simulator, where nothing of it depends on the order of threads. */
#ifndef AXO__OS_FILE_H
#define AXO__OS_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct axo__os_file {
    void *memory; /* zeroed, shared; NULL: there is no file */
    size_t size;
    uint64_t device; /* which file it is: another may have its name by now */
    uint64_t inode;
} axo__os_file;

/* Makes the file, mode 0600, with all its blocks, so that no later write finds the disk full, under
 * a name beside `path`: nobody looks for it there. false: the system refused, or the file is larger
 * than the process may write (that would be a SIGXFSZ); nothing was left. */
bool axo__os_file_make(axo__os_file *file, const char *path, size_t size);

/* Gives the file that was made its name, in the place of whatever has it. `keep`: a regular file
 * there is path.old from then on, in the place of an older one, unless that is no regular file or
 * the name is too long. false: the system refused; nothing was left. */
bool axo__os_file_show(axo__os_file *file, const char *path, bool keep);

/* Takes the memory away, and the file if it still has its name, or by now that of path.old. */
void axo__os_file_end(axo__os_file *file, const char *path);

/* Reads the first bytes of a regular file; false: there is none, or it has fewer. */
bool axo__os_file_head(const char *path, void *out, size_t size);

/* Reads the beginning of one of the kernel's files as text that ends with 0; false: there is none.
 * Without stdio, which takes memory. */
bool axo__os_file_text(const char *path, char *text, size_t size);

/* Who this process is, beside axo__os_process: two that have lived on this machine in one namespace
 * differ in one of the three. */
uint64_t axo__os_process_start(void); /* field 22 of /proc/self/stat; 0: unknown */
uint64_t axo__os_boot(void);          /* hash of the boot's id; 0: unknown */
uint64_t axo__os_process_space(void); /* which namespace of processes it is in; 0: unknown */

/* The calling thread's id, as /proc/self/task shows it. */
uint64_t axo__os_thread_id(void);

#endif
