/* file.h - a file that is memory: made whole under another name, then renamed to its own. The same
 * in the simulator, where nothing of it depends on the order of threads. */
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

/* Makes the file, mode 0600, with all its blocks, so that no later write finds the disk full, in
 * the place of an older one of that name. false: the system refused, or the file is larger than the
 * process may write (that would be a SIGXFSZ); nothing was left. */
bool axo__os_file_make(axo__os_file *file, const char *path, size_t size);

/* Takes the memory away, and the file if it still has its name. */
void axo__os_file_end(axo__os_file *file, const char *path);

/* Who this process is, beside axo__os_process: two that have lived on this machine in one namespace
 * differ in one of the three. */
uint64_t axo__os_process_start(void); /* field 22 of /proc/self/stat; 0: unknown */
uint64_t axo__os_boot(void);          /* hash of the boot's id; 0: unknown */
uint64_t axo__os_process_space(void); /* which namespace of processes it is in; 0: unknown */

/* The calling thread's id, as /proc/self/task shows it. */
uint64_t axo__os_thread_id(void);

#endif
