/* child.h - the process of an actor: a system of its own with one thread, and the loop that brings
 * messages to it. */
#ifndef PROCESS_CHILD_H
#define PROCESS_CHILD_H

#include <axo/process.h>

/* Makes the system of a process, before it knows whose it is: a spare has it ready. The process
 * ends if it cannot. */
void process_child_prepare(const axo_class *const *classes, uint32_t count);

/* Runs an actor, and ends the process. */
_Noreturn void process_child_run(int share_fd, int wake_fd);

/* axo_process_self, where a process runs; false: none does here. */
bool process_child_self(axo_ctx *ctx, axo_ref *out);

#endif
