/* signal.h - signals of the process as messages: SIGTERM begins an orderly end, SIGHUP reads the
 * settings anew. A whole program is test/example/descriptors.c. */
#ifndef AXO_SIGNAL_H
#define AXO_SIGNAL_H

#include <axo/io.h>

AXO_BEGIN_DECLS

/* Watches a signal for the running instance, until axo_signal_unwatch or the instance's end; the
 * next instance watches it anew. When it has come, the actor gets AXO_IO_READY (io.h) of the
 * descriptor that it is given here, and asks axo_signal_take how often:
 *
 *     case AXO_IO_READY:
 *         if (AXO_PAYLOAD(message, axo_io_ready)->fd == state->term &&
 *             axo_signal_take(ctx, state->term) > 0)
 *             return axo_stop(ctx, axo_parent(ctx));
 *
 * Every watch is told, those of other actors and systems of the process too. The signal is handled
 * by the program's threads: those of the library block all signals, so one thread at least, the
 * main thread say, must not block it. What the program had done with the signal before is not done
 * meanwhile, and is put back behind the last watch, unless it has set up something else by then. A
 * child of fork that has not called exec yet does with it what was done before.
 *
 * A restart is no end of it: what has come and was not taken, and what comes until the next
 * instance watches the signal again, is told to that watch. An instance that does not watch it
 * again keeps it from the program until it ends, or has watched and unwatched it. When the actor
 * ends the watch is over, and what was not taken is lost; so in a restart in which a bound of its
 * memory has no room for the record of that.
 *
 *   number    SIGTERM, SIGINT, SIGHUP, ...; none that the processor raises, SIGKILL, SIGSTOP,
 *             SIGABRT, SIGPROF, SIGURG, which is the watchdog's
 *   fd        the descriptor; the library closes it
 *   thread    only the callback that was given `ctx`
 *   blocks    no
 *   returns   AXO_OK; AXO_ECONTEXT; AXO_EFORKED; AXO_EINVAL (none, another signal); AXO_EFULL: the
 *             process has 64 watches of signals, or as axo_io_watch; AXO_ETHREAD: no descriptor is
 *             left; AXO_ENOMEM
 *   after     on failure nothing has changed, and *fd is -1 */
AXO_API axo_status axo_signal_watch(axo_ctx *ctx, int number, int *fd);

/* How often the signal of a watch has come since the last call; 0: not at all, or `fd` is no watch
 * of this instance, or a bad context. Signals that come while an earlier one waits for the process
 * are one, as the operating system has it.
 *   thread    only the callback that was given `ctx` */
AXO_API uint64_t axo_signal_take(axo_ctx *ctx, int fd);

/* Ends a watch of the running instance: no AXO_IO_READY of it is seen from now on, and its
 * descriptor is closed.
 *   thread    only the callback that was given `ctx`
 *   returns   AXO_OK; AXO_ENOENT: no watch of this instance; AXO_ECONTEXT; AXO_EFORKED */
AXO_API axo_status axo_signal_unwatch(axo_ctx *ctx, int fd);

AXO_END_DECLS

#endif
