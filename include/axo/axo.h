/* axo.h - everything. Begin with actor.h, supervision.h and system.h; the other headers are
 * services, each with a program in test/example/.
 *
 * What holds everywhere:
 *   - A function that returns an axo_status has done what it says and returns AXO_OK, or AXO_EGONE
 *     where it says so, or it has changed nothing and says why. NULL where none may be is
 *     AXO_EINVAL.
 *   - A struct that the program fills begins with its size. Make it with its macro:
 *     axo_options options = AXO_OPTIONS(.workers = 2); what is not named is zero, and zero is the
 *     default, in every field that has one. Before C++20 make it with its function,
 *     axo_options_init(&options) (init.h). A size of 0 is AXO_EINVAL. What the library copies may
 *     come from an older header, as if zeros followed, or from a newer one that uses nothing
 *     unknown here; what it keeps a pointer to (classes, strategies, back-offs, the tables of
 *     machines) must be whole. Else AXO_EVERSION. A struct that the library fills is filled as far
 *     as it is there.
 *   - A context that is not the running callback's is AXO_ECONTEXT, whatever else is wrong; none,
 *     0, NULL or false where that is what a function returns.
 *   - A reference (ref.h) may be kept for ever; sending to one that is gone does no harm.
 *   - "Any thread" is any thread of the process, those of the library too, in a callback or not,
 *     but never a signal handler: every function may take a lock or memory that the interrupted
 *     code has. A signal handler sets a flag or writes to a descriptor, and a thread calls.
 *   - No function is a cancellation point. A pthread_cancel of a thread that is in one waits
 *     until the thread is out of it, for as long as it takes: nothing is held then, nothing is
 *     half done. A function of the program that the library calls runs with cancellation held
 *     off, and threads of the library are not cancelled at all. A thread with asynchronous
 *     cancelability may not call.
 *   - A function of the program that the library calls comes back by returning; a callback of an
 *     actor also by axo_throw, or by a crash that is contained (crash.h). If it is left
 *     otherwise, by an exception of C++ or the end of its thread (pthread_exit), whatever
 *     function it is and on whatever thread, the process ends there, before anything is unwound:
 *     with a line on stderr that names actor, class and message, then by std::terminate or abort.
 *     What it throws and catches by itself is its own affair.
 *   - After axo_system_destroy no function may be called with that system. One that is, and
 *     finds the memory as it was left, ends the process with a line that says so.
 *   - Times and delays are int64_t, in nanoseconds. */
#ifndef AXO_AXO_H
#define AXO_AXO_H

#include <axo/actor.h>
#include <axo/ask.h>
#include <axo/backoff.h>
#include <axo/backoff_supervisor.h>
#include <axo/board.h>
#include <axo/crash.h>
#include <axo/demand.h>
#include <axo/dispatcher.h>
#include <axo/drain.h>
#include <axo/event.h>
#include <axo/export.h>
#include <axo/find.h>
#include <axo/graceful.h>
#include <axo/group.h>
#include <axo/health.h>
#include <axo/init.h>
#include <axo/inspect.h>
#include <axo/io.h>
#include <axo/listener.h>
#include <axo/log.h>
#include <axo/machine.h>
#include <axo/mailbox.h>
#include <axo/memory.h>
#include <axo/message.h>
#include <axo/metrics.h>
#include <axo/phases.h>
#include <axo/ref.h>
#include <axo/registry.h>
#include <axo/remote.h>
#include <axo/router.h>
#include <axo/signal.h>
#include <axo/stash.h>
#include <axo/stats.h>
#include <axo/status.h>
#include <axo/stream.h>
#include <axo/supervision.h>
#include <axo/system.h>
#include <axo/testkit.h>
#include <axo/time.h>
#include <axo/trace.h>
#include <axo/trace_context.h>
#include <axo/verdict.h>
#include <axo/version.h>
#include <axo/watch.h>
#include <axo/world.h>

#endif
