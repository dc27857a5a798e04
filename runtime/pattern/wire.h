/* wire.h - a stream (axo/stream.h) inside: what it keeps, and what its files do for each other.
 *
 * wire.c has its life: open, ready, deadlines, close. wire_input.c has the read buffer, and
 * wire_output.c what waits to be written.
 *
 * Interest follows from the state: axo__wire_want is called behind whatever changes it, and makes
 * no system call. What goes wrong outside of axo_stream_receive is kept in `status`, and the socket
 * is shut down: that readiness brings the actor back to tell it, which takes no memory. What is no
 * socket cannot be shut down: its timer does that, or room to write, where there ever is any. */
#ifndef AXO__PATTERN_WIRE_H
#define AXO__PATTERN_WIRE_H

#include <axo/io.h>
#include <axo/stream.h>
#include <axo/time.h>

#include "base/demand.h"
#include "os/net.h"

/* What is no time: behind it there is no other. 0 is one, as any number (axo_options.clock). */
#define AXO__WIRE_NEVER INT64_MAX

/* Bytes that wait to be written, in one block. */
typedef struct axo__wire_chunk {
    struct axo__wire_chunk *next;
    size_t room; /* of `bytes`; 0: they were handed over, and an axo_owned lies there */
    size_t begin;
    size_t end;
    char bytes[];
} axo__wire_chunk;

struct axo_stream {
    axo_system *system;
    int fd;
    axo__net_kind kind;
    axo_status status; /* of its end; not AXO_OK while it is open: it is to be told */
    int error;
    bool paused;      /* by the program */
    bool leaves;      /* a read that is short may leave something, and no edge follows */
    bool input_ended; /* and has been read */
    bool ending;      /* this side's direction, behind what waits */
    bool ended;
    bool closing;     /* axo_stream_close with a time */
    bool blocked;     /* the last write found no room: OUT is to come first */
    bool full;        /* the program was told that there is no room */
    bool poked;       /* receive has something to tell */
    bool giving_back; /* a block that was handed over; the program's destroy runs */
    uint32_t wanted;  /* of axo_io_want */
    /* ---- input ---- */
    char *input;
    size_t input_room;
    size_t input_begin;
    size_t input_end;
    size_t input_max;
    bool lacks;     /* what is there is no whole piece */
    size_t scanned; /* bytes behind input_begin that do not end `until` */
    uint32_t until_size;
    char until[AXO_STREAM_UNTIL_MAX];
    uint64_t received;
    uint64_t credit; /* bytes that may be read; AXO_STREAM_UNBOUNDED */
    /* ---- output ---- */
    axo__wire_chunk *first;
    axo__wire_chunk *last;
    size_t waiting;
    size_t high;
    size_t low;
    uint64_t sent;
    axo__demand demand; /* answers that are owed; what is held is `waiting` */
    /* ---- deadlines ---- */
    int64_t idle_ns;
    int64_t read_ns;
    int64_t write_ns;
    int64_t moved;   /* when a byte has come or gone; 0 where nobody asks for it */
    /* Times; AXO__WIRE_NEVER: */
    int64_t begun;   /* since when the other side may send the rest of a piece; it may not */
    int64_t stuck;   /* since when output waits in vain; none waits */
    int64_t drained; /* when axo_stream_close is over at the latest; not asked for */
    int64_t timer;   /* when AXO_STREAM_DUE comes; it does not */
};

static inline size_t axo__wire_buffered(const axo_stream *it)
{
    return it->input_end - it->input_begin;
}

/* ---- wire.c ---- */

/* Whether the caller may, and the stream is open: AXO_OK, AXO_ECONTEXT, also in a destroy that the
 * stream has called, AXO_EINVAL, AXO_EGONE. */
axo_status axo__wire_check(axo_ctx *ctx, const axo_stream *it);

/* What is wanted of the descriptor follows from the state. */
void axo__wire_want(axo_ctx *ctx, axo_stream *it);

/* The actor is brought back to be told something: by the descriptor, or by a message where it can
 * not say that. Without memory for it nothing comes before the descriptor's next readiness. */
void axo__wire_wake(axo_ctx *ctx, axo_stream *it);

/* It goes wrong: told and closed by the next axo_stream_receive, which comes by itself. */
void axo__wire_fail(axo_ctx *ctx, axo_stream *it, axo_status status, int error);

/* The time, if any deadline needs it; else 0. */
int64_t axo__wire_now(axo_ctx *ctx, const axo_stream *it);

/* A deadline has come nearer: the timer is set for the nearest. Without one a stream goes wrong,
 * but not one that drains: its output is worth more than its deadline. */
void axo__wire_arm(axo_ctx *ctx, axo_stream *it);

/* The time of a piece that lacks something goes on, begins anew, or stands still. */
void axo__wire_count(axo_ctx *ctx, axo_stream *it);

/* ---- wire_input.c ---- */

/* Reads what there is, within bounds. Returns AXO_STREAM_INPUT and AXO_STREAM_END. */
uint32_t axo__wire_read(axo_ctx *ctx, axo_stream *it);

/* The buffer goes back if nothing is in it. */
void axo__wire_input_rest(axo_stream *it);
void axo__wire_input_free(axo_stream *it);

/* ---- wire_output.c ---- */

/* Writes until nothing waits or the descriptor is full; then what has to follow: the end of this
 * direction. */
void axo__wire_flush(axo_ctx *ctx, axo_stream *it);
void axo__wire_output_free(axo_stream *it);

/* Whether the program, which was told that there is no room, is to be told that there is. */
static inline bool axo__wire_tells_room(const axo_stream *it)
{
    return it->full && it->waiting <= it->low && !it->ending &&
           axo__demand_may_owe(&it->demand, it->waiting, axo__demand_next(&it->demand));
}

#endif
