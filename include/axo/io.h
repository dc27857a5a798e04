/* io.h - descriptors that are ready, as messages.
 *
 * An actor watches a descriptor of the operating system: a socket, a pipe, an eventfd, a terminal.
 * When a read or a write of it would not block, the actor gets AXO_IO_READY, an ordinary message in
 * its mailbox, and calls read, write, accept by itself. The scheduler's own sleeping worker waits
 * for all of them at once: no thread is added, and who watches nothing pays nothing.
 *
 * A watch belongs to the instance, as keyed timers do (time.h): it ends with it, and no readiness
 * of an old instance reaches a new one. With AXO_IO_OWN the descriptor is closed with it, too.
 *
 * At most one AXO_IO_READY of a descriptor waits; what comes meanwhile is added to it. After it was
 * handled the descriptor is looked at again, and if there is more to read or room to write, the
 * actor gets the next one, behind what has come to its mailbox meanwhile. So reading one piece for
 * each message is right. That look is a system call (poll); a handler that has gone on until a call
 * said EAGAIN says so by axo_io_blocked, and saves it:
 *
 *     case AXO_IO_READY:
 *         while ((got = read(fd, buffer, sizeof buffer)) > 0)
 *             ...
 *         if (got < 0 && errno == EAGAIN)
 *             return axo_io_blocked(ctx, fd, AXO_IO_IN);
 *
 * Listeners say it, and streams of TCP and of unix sockets (stream.h); streams of a pipe, and
 * watches of signals (signal.h), cost a look each time.
 *
 * What stays ready is told again and again, as poll would: the end of a stream until the actor
 * unwatches it, room to write for as long as it is wanted (axo_io_want).
 *
 * Descriptors are the program's: make them non-blocking. A readiness is a hint: the call may still
 * say EAGAIN, as when another process has been faster. Close no descriptor that is watched, call
 * axo_io_unwatch first. One that was closed all the same is told of no more but what is on its way,
 * and of nothing once another descriptor with its number is watched.
 *
 * Listeners and streams (listener.h, stream.h) stand on this; test/example/SERVERS.md says how to
 * build a server of them. A whole program without is test/example/descriptors.c. */
#ifndef AXO_IO_H
#define AXO_IO_H

#include <axo/actor.h>

/* A watched descriptor is ready; the payload is an axo_io_ready, there is no sender. It is the
 * runtime's own message: it is not counted, no bound of a mailbox refuses it, and no dead letter
 * tells of it. An AXO_IO_READY that the actor stashes keeps its place as the one that waits. */
#define AXO_IO_READY UINT32_C(0xffff0005)

/* What a descriptor is ready for; bits. HUP, ERR and URGENT are told without being asked for, and
 * come with IN, and the first two with OUT, since no call blocks then; each is told when it comes,
 * and perhaps again with another readiness. */
#define AXO_IO_IN UINT32_C(1)  /* a read or accept does not block: data, the end, an error */
#define AXO_IO_OUT UINT32_C(2) /* a write does not block; also: a connect is over */
#define AXO_IO_HUP UINT32_C(4) /* the other side has closed, at least its direction */
#define AXO_IO_ERR UINT32_C(8) /* an error waits */
#define AXO_IO_URGENT UINT32_C(16) /* a socket's urgent data are among what has come: a read ends
                                      before them, so one that is short leaves something */

/* A flag of axo_io_watch: the descriptor is closed when the instance has ended, however it ends,
 * after post_stop or pre_restart and before the next construct; not if it was unwatched before. */
#define AXO_IO_OWN UINT32_C(1)

/* Payload of AXO_IO_READY. */
typedef struct axo_io_ready {
    int fd;
    uint32_t events; /* what has come since the last one, of what is wanted, and HUP, ERR, URGENT */
} axo_io_ready;

AXO_BEGIN_DECLS

/* Watches a descriptor for the running instance, until axo_io_unwatch or the instance's end. What
 * it is ready for already is told too.
 *   events    AXO_IO_IN, AXO_IO_OUT, both; 0: nothing but HUP, ERR and URGENT for now
 *             (axo_io_want)
 *   flags     0 or AXO_IO_OWN
 *   thread    only the callback that was given `ctx`
 *   blocks    no
 *   returns   AXO_OK; AXO_ECONTEXT; AXO_EFORKED; AXO_EINVAL (other bits, a descriptor of the
 *             library's own); AXO_EDESCRIPTOR: it is not open; AXO_ENOPOLL: one of a kind that is
 *             never waited for, as regular files and directories; AXO_EEXIST: this actor watches
 *             it; AXO_EBUSY: another actor does (watch a dup of it); AXO_EFULL: the operating
 *             system allows no more watches (fs.epoll.max_user_watches); AXO_ETHREAD: no
 *             descriptor is left for the system's own use, at its first watch; AXO_ENOMEM
 *   after     on failure nothing has changed, and an AXO_IO_OWN descriptor is the caller's */
AXO_API axo_status axo_io_watch(axo_ctx *ctx, int fd, uint32_t events, uint32_t flags);

/* Ends a watch of the running instance: no AXO_IO_READY of it is seen from now on, not even one
 * that waits in the mailbox or the stash. The descriptor stays open, and is the caller's.
 *   thread    only the callback that was given `ctx`
 *   returns   AXO_OK; AXO_ENOENT: this instance does not watch it; AXO_ECONTEXT; AXO_EFORKED */
AXO_API axo_status axo_io_unwatch(axo_ctx *ctx, int fd);

/* Changes what a watch is for; the first AXO_IO_OUT of a watch makes a system call. What the
 * descriptor is ready for of it is told. For AXO_IO_OUT: most descriptors are mostly ready for it,
 * so want it only while there is something to write.
 *   returns   as axo_io_unwatch; AXO_EINVAL (other bits) */
AXO_API axo_status axo_io_want(axo_ctx *ctx, int fd, uint32_t events);

/* Within the handler of an AXO_IO_READY: a call has said EAGAIN, so the descriptor is not looked at
 * behind the handler; the actor is told when it gets ready anew. What has come since that call is
 * not lost. In another callback it does nothing. No system call is made.
 *   events    AXO_IO_IN: a read has; AXO_IO_OUT: a write has; both
 *   returns   as axo_io_want */
AXO_API axo_status axo_io_blocked(axo_ctx *ctx, int fd, uint32_t events);

AXO_END_DECLS

#endif
