/* border.c - the end of a process whose functions do not come back to the library, or come back to
 * it in a child of fork: prints where that was.
 *
 * The line names the callback, the actor's path, its class and the message in hand. All of it is
 * read from the thread's own worker (axo__self, or axo__away inside axo_block), so no lock is taken
 * and nothing is allocated: the process is about to end in an unknown state.
 */
#include "system/border.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/border.h"
#include "sched/pool.h"

#define BORDER_PATH 1024

/* Functions of the program that run under no site of a worker. */
static const char border_other[] = "a clean-up, destructor, observer, allocator or clock";

/* The callback that worker->site says is running. */
static const char *border_site(const axo__worker *worker)
{
    switch (worker->site) {
    case AXO_SITE_CONSTRUCT:
        return "construct";
    case AXO_SITE_PRE_START:
        return "pre_start";
    case AXO_SITE_RECEIVE:
        return "receive";
    case AXO_SITE_DECIDER:
        return "the decider";
    case AXO__SITE_PRE_RESTART:
        return "pre_restart";
    case AXO_SITE_POST_RESTART:
        return "post_restart";
    case AXO_SITE_SETTLE:
        return "settle";
    case AXO_SITE_MIGRATE:
        return "migrate";
    case AXO__SITE_POST_STOP:
        return "post_stop";
    default:
        return border_other;
    }
}

static void border_message(const axo__worker *worker, const axo__cell *cell, char *out, size_t size)
{
    /* pre_restart runs without worker->message; the message that it was shown is the cell's. */
    const axo__message *message = worker->message;
    if (message == NULL && worker->site == AXO__SITE_PRE_RESTART)
        message = cell->failed;
    if (message != NULL)
        (void)snprintf(out, size, "message %" PRIu32, message->pub.tag);
    else
        (void)snprintf(out, size, "no message");
}

/* Prints the line. In a forked child `forked_in` is the cell whose callback forked: worker->current
 * may have moved on. */
static void border_say(const axo__worker *worker, const char *before, const char *after)
{
    char path[BORDER_PATH] = "";
    char message[32];
    const axo__cell *cell = worker != NULL ? worker->current : NULL;
    if (worker != NULL && worker->forked)
        cell = worker->forked_in;
    if (cell == NULL) {
        const char *what = worker != NULL && worker->ending
                               ? "a function of axo_system_on_termination"
                               : "a function that the library called";
        (void)fprintf(stderr, "axo: %s %s, outside of any actor: %s\n", before, what, after);
        return;
    }
    const char *name = axo__cell_class(cell)->name;
    border_message(worker, cell, message, sizeof message);
    (void)axo__core_path(worker->local.core, cell, path, sizeof path);
    (void)fprintf(stderr, "axo: %s %s of %s (class %s, %s): %s\n", before, border_site(worker),
                  path, name != NULL ? name : "without a name", message, after);
}

void axo__border_forked(void)
{
    /* axo__self is NULL inside axo_block: then axo__away is the worker that called it. */
    border_say(axo__self != NULL ? axo__self : axo__away, "a child process was forked in",
               "it must exec or _exit there, and ends");
    abort();
}

/* The clean-up of axo__os_root: a thread of the program was ended inside a callback. The frames
 * above the root are gone, so a core dump shows nothing of them, and the line must. */
void axo__border_ended(void *unused)
{
    (void)unused;
    border_say(axo__self != NULL ? axo__self : axo__away, "a thread was ended in",
               "the process ends");
    abort();
}

#if defined(__GCC_HAVE_DWARF2_CFI_ASM)
__attribute__((used)) const char axo__leavable[1] = "";
__attribute__((used)) const char axo__copying[1] = "";

/* Whether an exception's class says C++: "C++" stands in bytes 1 to 3, a version below. */
static bool border_is_cpp(_Unwind_Exception_Class what)
{
    return (what & 0xffffff00) == 0x432b2b00;
}

/* Asked by the unwinder in its first phase, before anything has been unwound: a core dump shows
 * where the exception was thrown. An exception of C++ gets an error as the answer: the C++ runtime
 * then calls terminate, which prints type and text. Every other case aborts here. */
_Unwind_Reason_Code axo__border(int version, _Unwind_Action actions, _Unwind_Exception_Class what,
                                struct _Unwind_Exception *one, struct _Unwind_Context *context)
{
    const axo__worker *worker = axo__self != NULL ? axo__self : axo__away;
    bool ended = (actions & _UA_FORCE_UNWIND) != 0;
    (void)version;
    (void)one;
    (void)context;
    border_say(worker, ended ? "a thread was ended in" : "an exception has left",
               "the process ends");
    if (ended || !border_is_cpp(what) || (actions & _UA_SEARCH_PHASE) == 0)
        abort();
    return _URC_FATAL_PHASE1_ERROR;
}
#endif
