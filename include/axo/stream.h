/* stream.h - a connection's bytes, within the actor whose connection it is: a socket of a stream
 * type, or a pipe, that is read ahead, and written once at the end of a turn.
 *
 *     receive:
 *         uint32_t events = axo_stream_receive(ctx, me->stream, message);
 *         while (axo_stream_has_room(ctx, me->stream) &&
 *                axo_stream_next_until(ctx, me->stream, "\n", 1, &line) == AXO_OK)
 *             (void)axo_stream_write(ctx, me->stream, line.data, line.size);
 *         if (axo_stream_ended(ctx, me->stream))
 *             return axo_stream_close(ctx, me->stream, 5 * SECOND);
 *         if ((events & AXO_STREAM_CLOSED) != 0)
 *             return axo_stop_self(ctx);
 *     settle:
 *         return axo_stream_settle(ctx, me->stream);
 *
 * The stream has no actor of its own: what is ready comes to this one as AXO_IO_READY (io.h), and
 * its deadlines as AXO_STREAM_DUE; axo_stream_receive does what there is to do and says what has
 * come. It belongs to the instance: when that ends, however it ends, the descriptor is closed.
 *
 * A request that comes whole costs its read and its write, and no other system call, on a socket of
 * TCP and on a unix socket of a stream type: there a read that is not full has left nothing, so the
 * descriptor need not be looked at behind it (io.h). Of a pipe, a terminal or another socket nobody
 * knows that, and each readiness costs a poll; so it does for good where urgent data have come, or
 * the other side has ended its direction. Descriptors that are passed over a unix socket are
 * closed; their bytes are read.
 *
 * What is no socket has no direction that could be ended by itself: its other side reads the end
 * when the descriptor is closed. So where axo_stream_end or axo_stream_close with a time was called
 * of a pipe or a terminal, the stream is over when all is written, and nobody waits for an end that
 * would come back. A pipe that has lost its reader is EPIPE, and no signal, as a socket is.
 *
 * Output is copied and gathered; the class's settle (actor.h) writes it, with one system call for
 * all that a turn has said. A class without settle writes at once, each time. A block of memory, or
 * a message's payload, may be handed over instead (axo_stream_write_owned). Back-pressure has two
 * ends. Outward: while `output_high` bytes or more wait to be written, axo_stream_write is
 * AXO_EFULL, and when they have come down to `output_low`, AXO_STREAM_ROOM is told. Inward: what
 * the actor does not take with axo_stream_next stays in the read buffer, and while that is full
 * nothing is read, so the other side is slowed by its own socket. A handler that takes no more
 * input than it has room to answer, as the loop above, so bounds both. One that hands its input on
 * says by axo_stream_credit how many bytes it will take.
 *
 * An actor that has its requests answered by others asks ahead, and what it will have to write is
 * on its way when it learns that the other side reads slowly. It says of each request that an
 * answer is owed (axo_stream_owe), and writes that by axo_stream_answer, which is never refused: so
 * who answers never waits, and gets no error. What is outstanding, the bytes that wait to be
 * written and for each answer that is owed as many as an answer has, is bounded by
 * `outstanding_bytes`: while one more might not fit there is no room, nothing more is read, and the
 * client waits. When it has come down to half there is room again. An answer has
 * `outstanding_answer` bytes, and where it may have more, or the program cannot say, as many as
 * answers have had lately. The memory of one that is partly written goes with its last byte: so one
 * answer more than the bound may be there. */
#ifndef AXO_STREAM_H
#define AXO_STREAM_H

#include <stdbool.h>

#include <axo/actor.h>

/* A deadline of a stream may have passed, or it is over: for axo_stream_receive. Sender:
 * oneself. */
#define AXO_STREAM_DUE (AXO_TAG_SERVICES + 0x60)

/* What axo_stream_receive says has come; bits. 0: the message is not the stream's. */
#define AXO_STREAM_TOOK UINT32_C(1)   /* the message was the stream's; always set with the others */
#define AXO_STREAM_INPUT UINT32_C(2)  /* bytes have been read: axo_stream_next */
#define AXO_STREAM_ROOM UINT32_C(4)   /* a write was AXO_EFULL, or there was no room, and now is */
#define AXO_STREAM_END UINT32_C(8)    /* the other side has ended its direction: what is in the
                                         buffer is the last of it. Told once, and perhaps while
                                         there is no room to answer: axo_stream_ended */
#define AXO_STREAM_CLOSED UINT32_C(16) /* the stream is over, axo_stream_look says why; told once,
                                          unless axo_stream_close said 0 */

/* Settings of a stream; everything zero but `size` is good. */
typedef struct axo_stream_settings {
    size_t size;        /* sizeof(axo_stream_settings), set by the macro */
    size_t input_max;   /* bytes that are read ahead, and the longest piece that axo_stream_next can
                           give, up to AXO_STREAM_MAX; 0: AXO_STREAM_INPUT_MAX */
    size_t output_high; /* bytes that may wait before a write is refused; 0: AXO_STREAM_OUTPUT_HIGH.
                           One write is taken whole, so what waits is less than this and one write
                           together, besides answers */
    size_t output_low;  /* below output_high; 0: half of it */
    int64_t idle_ns;    /* no byte has come or gone for so long: the stream is closed with
                           AXO_ETIMEDOUT; 0: never. So the next two */
    int64_t read_ns;    /* a piece has begun and is not whole: axo_stream_next said AXO_ENOENT and
                           there are bytes in the buffer. Time counts that is the other side's:
                           not while bytes have come that nobody has asked for since, nor while
                           axo_stream_pause or answers that are owed keep the stream from reading,
                           behind which it begins anew. Behind credit that is spent it goes on */
    int64_t write_ns;   /* output waits, and the other side takes none */
    size_t outstanding_bytes; /* up to AXO_STREAM_MAX; 0: no bound. `output_high` of 0 is this then.
                                 Answers that are on their way are always taken: one that is longer
                                 than it was counted may exceed it, so may outstanding_max of them
                                 at most, and one answer at a time, however long */
    uint32_t outstanding_max; /* answers that may be owed at a time; 0: no bound */
    uint32_t outstanding_answer; /* bytes of the longest answer: while none is longer the bound is
                                    exceeded by none, but by a single request of so many. Many
                                    short ones then wait for one another, as each counts as much. 0:
                                    it is learnt, and the first answers count a quarter of the bound
                                    each. Without outstanding_bytes AXO_EINVAL */
} axo_stream_settings;
#define AXO_STREAM_SETTINGS(...) AXO_INIT(axo_stream_settings, __VA_ARGS__)
/* As the macro, for C++ before C++20 (init.h). */
static inline void axo_stream_settings_init(axo_stream_settings *out)
{
    const axo_stream_settings fresh = AXO_STREAM_SETTINGS();
    *out = fresh;
}

#define AXO_STREAM_INPUT_MAX 65536
#define AXO_STREAM_OUTPUT_HIGH 262144
#define AXO_STREAM_MAX (AXO_CAST(size_t, 1) << 30)
/* Credit without a bound. */
#define AXO_STREAM_UNBOUNDED UINT64_MAX
/* Bytes of a delimiter. */
#define AXO_STREAM_UNTIL_MAX 16

/* A stream: memory of the instance. What it has of buffers is taken while there is something in
 * them, and none of it while the connection is idle. What is left of one that is closed lasts as
 * long as the instance: who connects again and again gives it to axo_stream_reopen. */
typedef struct axo_stream axo_stream;

/* Bytes of the read buffer, until the callback that got them returns, or calls axo_stream_receive
 * or axo_stream_settle of the stream, or closes it at once. */
typedef struct axo_stream_bytes {
    const char *data;
    size_t size;
} axo_stream_bytes;

/* How a stream is. */
typedef struct axo_stream_info {
    size_t size;       /* sizeof(axo_stream_info), set by the macro */
    int fd;            /* -1: it is closed */
    axo_status status; /* why it is: AXO_OK: axo_stream_close, and if that was given a time, all
                          was written and the other side has ended its direction; of what is no
                          socket axo_stream_end, too, and all was written;
                          AXO_ETIMEDOUT: a deadline, axo_stream_close's too; AXO_ESYSTEM: `error`;
                          AXO_ENOMEM; AXO_ELIMIT: no timer for a deadline (options.timers_max) */
    int error;         /* an errno, such as ECONNRESET or EPIPE; 0: none */
    uint32_t paused;   /* 1: axo_stream_pause */
    uint64_t received; /* bytes, in all */
    uint64_t sent;     /* bytes that the descriptor has taken, in all */
    size_t input;      /* bytes in the read buffer */
    size_t output;     /* bytes that wait to be written */
    size_t outstanding; /* with those that answers which are owed are expected to have; 0 without
                           outstanding_bytes */
    uint32_t owed;     /* answers */
    uint32_t reserved; /* 0 */
    uint64_t credit;   /* bytes that may be read still (axo_stream_credit); AXO_STREAM_UNBOUNDED */
} axo_stream_info;
#define AXO_STREAM_INFO(...) AXO_INIT(axo_stream_info, __VA_ARGS__)
/* As the macro, for C++ before C++20 (init.h). */
static inline void axo_stream_info_init(axo_stream_info *out)
{
    const axo_stream_info fresh = AXO_STREAM_INFO();
    *out = fresh;
}

AXO_BEGIN_DECLS

/* All of these: thread, only the callback that was given `ctx`; blocks, no; AXO_ECONTEXT, 0 or
 * false for a bad context, AXO_EINVAL, 0 or false for a NULL. Of a stream that is closed each is
 * AXO_EGONE. */

/* Makes a stream of an open descriptor, which becomes non-blocking and the stream's.
 *   settings  NULL: all zero
 *   returns   AXO_OK; AXO_EINVAL: a setting out of its range; AXO_EVERSION; AXO_ENOMEM; AXO_ELIMIT:
 *             no timer for idle_ns (options.timers_max); what axo_io_watch returns
 *   after     on failure the descriptor is the caller's and as it was, and *out NULL */
AXO_API AXO_NODISCARD axo_status axo_stream_open(axo_ctx *ctx, int fd,
                                                 const axo_stream_settings *settings,
                                                 axo_stream **out);

/* As axo_stream_open, in the memory of a stream of this instance that is closed: nothing of the
 * connection before is left but the pointer.
 *   returns   as axo_stream_open; AXO_EINVAL: NULL, too; AXO_EBUSY: it is not closed
 *   after     on failure the stream is closed as it was, but for what axo_stream_look says of it */
AXO_API AXO_NODISCARD axo_status axo_stream_reopen(axo_ctx *ctx, axo_stream *stream, int fd,
                                                   const axo_stream_settings *settings);

/* Hands every message to the stream; what is not its own is left alone.
 *   returns   0: it is not the stream's; else AXO_STREAM_TOOK and what has come */
AXO_API uint32_t axo_stream_receive(axo_ctx *ctx, axo_stream *stream, const axo_message *message);

/* Writes what has been gathered: for the class's settle.
 *   returns   AXO_OK, always for a good context: what goes wrong is told by AXO_STREAM_CLOSED */
AXO_API axo_status axo_stream_settle(axo_ctx *ctx, axo_stream *stream);

/* ---- input ---------------------------------------------------------------------------------- */

/* Takes the next `count` bytes; 0: what there is.
 *   returns   AXO_OK; AXO_ENOENT: there are not so many yet; AXO_ETOOBIG: there will never be,
 *             count is above input_max
 *   after     on failure nothing was taken */
AXO_API axo_status axo_stream_next(axo_ctx *ctx, axo_stream *stream, size_t count,
                                   axo_stream_bytes *out);

/* Takes the bytes up to the first delimiter, and the delimiter, which is the last of them. Each
 * byte is looked at once, however they arrive.
 *   size      bytes of `until`, 1..AXO_STREAM_UNTIL_MAX
 *   returns   AXO_OK; AXO_ENOENT: there is none yet; AXO_ETOOBIG: the buffer is full and has none,
 *             so none will come; AXO_EINVAL
 *   after     on failure nothing was taken */
AXO_API axo_status axo_stream_next_until(axo_ctx *ctx, axo_stream *stream, const void *until,
                                         size_t size, axo_stream_bytes *out);

/* Shows what there is without taking it, for a protocol whose pieces say how long they are: who has
 * found a whole one takes it by axo_stream_next, and who has not asks that for as many bytes as it
 * needs at least, which are more than there are, so that `read_ns` and axo_stream_ended know of it.
 *   returns   AXO_OK; AXO_ENOENT: there is nothing
 *   after     on failure *out is unchanged */
AXO_API axo_status axo_stream_peek(axo_ctx *ctx, axo_stream *stream, axo_stream_bytes *out);

/* Whether nothing more can be taken: the other side has ended its direction, and all it sent was
 * taken, but for a rest that axo_stream_next has said is no whole piece. The time to close. false
 * behind axo_stream_close. */
AXO_API bool axo_stream_ended(axo_ctx *ctx, const axo_stream *stream);

/* Reads no more, so that the other side is slowed. Input that was read stays.
 *   returns   AXO_OK */
AXO_API axo_status axo_stream_pause(axo_ctx *ctx, axo_stream *stream);

/* Reads again, after axo_stream_pause.
 *   returns   AXO_OK */
AXO_API axo_status axo_stream_resume(axo_ctx *ctx, axo_stream *stream);

/* Allows so many more bytes to be read. A stream reads without a bound until this is called the
 * first time; from then on what was allowed, in all, and no more, and while that is spent a piece
 * that is longer is AXO_ENOENT: it comes whole when more is allowed. Credit and axo_stream_pause
 * know nothing of each other: both must let it read. AXO_STREAM_END is seen only while there is
 * credit; a reset always is, and axo_stream_close needs none. Deadlines go on meanwhile.
 *   bytes     0: none more, which stops reading if it is the first call; AXO_STREAM_UNBOUNDED:
 *             without a bound again. Beyond AXO_STREAM_UNBOUNDED - 1 in all nothing is added
 *   returns   AXO_OK */
AXO_API axo_status axo_stream_credit(axo_ctx *ctx, axo_stream *stream, uint64_t bytes);

/* ---- output --------------------------------------------------------------------------------- */

/* Whether axo_stream_write takes something, and a request may be taken that others answer; if not,
 * AXO_STREAM_ROOM is told when it is so again, unless an axo_stream_answer has made it so: behind
 * that the caller looks by itself. */
AXO_API bool axo_stream_has_room(axo_ctx *ctx, axo_stream *stream);

/* Says that so many answers will be written, by axo_stream_answer, as a request has been taken. All
 * are owed, or none; with nothing outstanding so many fit as are asked for.
 *   returns   AXO_OK; AXO_EFULL: axo_stream_has_room is false, or there is no room for all of them:
 *             AXO_STREAM_ROOM follows when there is, unless an answer of no bytes has made it;
 *             AXO_ESTOPPING: axo_stream_end or axo_stream_close was called; AXO_EINVAL: more
 *             than UINT32_MAX would be owed
 *   after     on failure none of them is owed */
AXO_API axo_status axo_stream_owe(axo_ctx *ctx, axo_stream *stream, uint32_t answers);

/* Writes an answer that is owed, as axo_stream_write does, however much waits.
 *   returns   AXO_OK; AXO_EINVAL: none is owed; AXO_ESTOPPING, AXO_ENOMEM, AXO_ETOOBIG
 *   after     on failure it is still owed */
AXO_API axo_status axo_stream_answer(axo_ctx *ctx, axo_stream *stream, const void *data,
                                     size_t size);

/* As axo_stream_answer, of a block that is handed over.
 *   owns      as axo_stream_write_owned
 *   returns   as axo_stream_answer; AXO_EINVAL also for NULL
 *   after     on failure it is still owed, and the block the caller's */
AXO_API AXO_NODISCARD axo_status axo_stream_answer_owned(axo_ctx *ctx, axo_stream *stream,
                                                         const axo_owned *block);

/* Writes `size` bytes, all or none, behind what was written before. What the other side does not
 * take any more is told by AXO_STREAM_CLOSED, and not here.
 *   returns   AXO_OK; AXO_EFULL: output_high bytes wait, AXO_STREAM_ROOM follows; AXO_ESTOPPING:
 *             axo_stream_end or axo_stream_close was called; AXO_ENOMEM; AXO_ETOOBIG: more than
 *             AXO_STREAM_MAX */
AXO_API axo_status axo_stream_write(axo_ctx *ctx, axo_stream *stream, const void *data,
                                    size_t size);

/* As axo_stream_write, of a block that is handed over: it is written from where it lies, and counts
 * as bytes that were copied do. One of less than 256 bytes is copied, and given back at once. What
 * axo_message_take has taken over is such a block.
 *   block     the struct is copied; size 0 is good: nothing is written, and the block given back
 *   owns      on AXO_OK the block is the stream's, and nobody changes it; the stream calls
 *             block->destroy once, unless that is NULL: when the last byte has gone, or when none
 *             will go any more, since the other side is gone, or the stream or its instance ends.
 *             That is on the thread that runs the actor, perhaps before this call returns. In there
 *             the stream's functions are AXO_ECONTEXT, 0 or false, and axo_throw is not to be
 *             called. On any other status the block stays the caller's
 *   returns   as axo_stream_write; AXO_EINVAL also for NULL */
AXO_API AXO_NODISCARD axo_status axo_stream_write_owned(axo_ctx *ctx, axo_stream *stream,
                                                        const axo_owned *block);

/* Ends this side's direction behind what was written (a half-close): the other side reads the end.
 * Reading goes on; of what is no socket, until all is written: then it is closed, and
 * AXO_STREAM_CLOSED comes with AXO_OK.
 *   returns   AXO_OK, also a second time */
AXO_API axo_status axo_stream_end(axo_ctx *ctx, axo_stream *stream);

/* Ends the stream. With `drain_ns` all that was written is written out first, the other side is
 * told of the end and what it still sends is read and thrown away until it ends its direction too,
 * so that no answer is lost to a reset; then, or after that time at the latest, AXO_STREAM_CLOSED.
 * What is no socket is closed when all is written. Where no timer can be had, for want of memory or
 * beyond options.timers_max, no answer is lost for that: the time is over with the next deadline
 * that has a timer already, or there is none.
 *   drain_ns  up to AXO_DELAY_MAX (time.h); 0: at once: what waits to be written is lost, and
 *             nothing more is told
 *   returns   AXO_OK, also a second time, with a time of its own; AXO_EINVAL */
AXO_API axo_status axo_stream_close(axo_ctx *ctx, axo_stream *stream, int64_t drain_ns);

/* How the stream is, or was when it was closed. *info is filled as far as its size says.
 *   returns   AXO_OK, AXO_ECONTEXT, AXO_EINVAL, AXO_EVERSION */
AXO_API axo_status axo_stream_look(axo_ctx *ctx, const axo_stream *stream, axo_stream_info *info);

AXO_END_DECLS

#endif
