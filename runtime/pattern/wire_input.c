/* wire_input.c - a stream's read buffer.
 *
 *     input          input_begin               input_end          input_room
 *       |   taken        |   scanned  |            |      free        |
 *
 * It is moved, grown and given back in axo_stream_receive only, and given back in
 * axo_stream_settle: what axo_stream_next has given stays until one of them is called, or the
 * callback returns. */
#include <errno.h>
#include <string.h>

#include "os/net.h"
#include "pattern/wire.h"

/* The first room of a buffer; it is doubled as long as reads fill it. */
#define WIRE_ROOM_MIN ((size_t)2048)
/* Bytes that one readiness reads, about: others of the worker wait meanwhile. */
#define WIRE_READ_MAX ((size_t)262144)

void axo__wire_input_free(axo_stream *it)
{
    if (it->input != NULL)
        axo_system_free(it->system, it->input, it->input_room);
    it->input = NULL;
    it->input_room = it->input_begin = it->input_end = it->scanned = 0;
}

void axo__wire_input_rest(axo_stream *it)
{
    if (axo__wire_buffered(it) == 0)
        axo__wire_input_free(it);
}

/* Room behind what is there; false: no memory. */
static bool wire_make_room(axo_stream *it)
{
    size_t held = axo__wire_buffered(it);
    if (it->input_end < it->input_room)
        return true;
    if (it->input_begin > 0 && held <= it->input_room / 2) {
        memmove(it->input, it->input + it->input_begin, held);
        it->input_begin = 0;
        it->input_end = held;
        return true;
    }
    size_t room = it->input_room < WIRE_ROOM_MIN / 2 ? WIRE_ROOM_MIN : it->input_room * 2;
    if (room > it->input_max)
        room = it->input_max;
    char *grown = axo_system_alloc(it->system, room);
    if (grown == NULL)
        return false;
    if (held > 0)
        memcpy(grown, it->input + it->input_begin, held);
    if (it->input != NULL)
        axo_system_free(it->system, it->input, it->input_room);
    it->input = grown;
    it->input_room = room;
    it->input_begin = 0;
    it->input_end = held;
    return true;
}

/* A descriptor that is open for writing only has no input. It is ready to be read when nobody reads
 * its other end, which is an error that comes with it. */
static void wire_read_failed(axo_ctx *ctx, axo_stream *it, int error)
{
    if (error == EBADF && it->kind == AXO__NET_OTHER)
        it->input_ended = true;
    else
        axo__wire_fail(ctx, it, AXO_ESYSTEM, error);
}

/* One read. false: there is nothing more to read now. */
static bool wire_read_once(axo_ctx *ctx, axo_stream *it, uint32_t *told)
{
    if (!wire_make_room(it)) {
        axo__wire_fail(ctx, it, AXO_ENOMEM, 0);
        return false;
    }
    size_t most = it->input_max - axo__wire_buffered(it);
    if (most > it->credit)
        most = (size_t)it->credit;
    size_t room = it->input_room - it->input_end;
    room = room < most || it->closing ? room : most;
    int error = 0;
    bool more;
    char *to = it->input + it->input_end;
    int64_t got = axo__net_read(it->fd, it->kind, to, room, &more, &error);
    if (got == AXO__NET_FAILED) {
        wire_read_failed(ctx, it, error);
        return false;
    }
    if (got == 0) {
        it->input_ended = true;
        *told |= AXO_STREAM_END;
        return false;
    }
    /* Mostly a short read has emptied the socket, and what comes later is an edge. An end that has
     * come with the bytes is none, nor is what is behind urgent data: it is looked for again. */
    if (got == AXO__NET_BLOCKED || (!more && !it->leaves))
        (void)axo_io_blocked(ctx, it->fd, AXO_IO_IN);
    if (got == AXO__NET_BLOCKED)
        return false;
    it->received += (uint64_t)got;
    it->lacks = false; /* it may be whole now */
    *told |= AXO_STREAM_INPUT;
    if (!it->closing) {
        it->input_end += (size_t)got;
        if (it->credit != AXO_STREAM_UNBOUNDED)
            it->credit -= (uint64_t)got;
    }
    return more;
}

uint32_t axo__wire_read(axo_ctx *ctx, axo_stream *it)
{
    uint32_t told = 0;
    uint64_t most = it->received + WIRE_READ_MAX;
    bool rest = true;
    while (rest && it->received < most &&
           (it->closing || (it->credit > 0 && axo__wire_buffered(it) < it->input_max)))
        rest = wire_read_once(ctx, it, &told);
    if ((told & AXO_STREAM_INPUT) != 0)
        it->moved = axo__wire_now(ctx, it);
    return told;
}

/* What is left of one that was bounded is added to. */
axo_status axo_stream_credit(axo_ctx *ctx, axo_stream *stream, uint64_t bytes)
{
    axo_status status = axo__wire_check(ctx, stream);
    if (status != AXO_OK)
        return status;
    if (bytes == AXO_STREAM_UNBOUNDED || stream->credit == AXO_STREAM_UNBOUNDED)
        stream->credit = bytes;
    else if (bytes < AXO_STREAM_UNBOUNDED - stream->credit)
        stream->credit += bytes;
    else
        stream->credit = AXO_STREAM_UNBOUNDED - 1;
    axo__wire_want(ctx, stream);
    return AXO_OK;
}

/* ---- taking ---- */

static void wire_take(axo_ctx *ctx, axo_stream *it, size_t count, axo_stream_bytes *out)
{
    *out = (axo_stream_bytes){.data = it->input + it->input_begin, .size = count};
    it->input_begin += count;
    it->scanned = 0;
    it->lacks = false;
    it->begun = AXO__WIRE_NEVER;
    axo__wire_want(ctx, it); /* there is room to read again */
}

/* The piece that is asked for is not whole. */
static axo_status wire_lacks(axo_ctx *ctx, axo_stream *it)
{
    it->lacks = true;
    if (it->read_ns > 0)
        axo__wire_count(ctx, it);
    return AXO_ENOENT;
}

axo_status axo_stream_next(axo_ctx *ctx, axo_stream *stream, size_t count, axo_stream_bytes *out)
{
    axo_status status = axo__wire_check(ctx, stream);
    if (status == AXO_OK && out == NULL)
        status = AXO_EINVAL;
    if (status != AXO_OK)
        return status;
    size_t held = axo__wire_buffered(stream);
    if (count > stream->input_max)
        return AXO_ETOOBIG;
    if (held == 0 || held < count)
        return wire_lacks(ctx, stream);
    wire_take(ctx, stream, count == 0 ? held : count, out);
    return AXO_OK;
}

axo_status axo_stream_next_until(axo_ctx *ctx, axo_stream *stream, const void *until, size_t size,
                                 axo_stream_bytes *out)
{
    axo_status status = axo__wire_check(ctx, stream);
    if (status == AXO_OK &&
        (out == NULL || until == NULL || size == 0 || size > AXO_STREAM_UNTIL_MAX))
        status = AXO_EINVAL;
    if (status != AXO_OK)
        return status;
    size_t held = axo__wire_buffered(stream);
    if (stream->until_size != size || memcmp(stream->until, until, size) != 0) {
        stream->scanned = 0;
        stream->until_size = (uint32_t)size;
        memcpy(stream->until, until, size);
    }
    const char *begin = stream->input + stream->input_begin;
    size_t from = stream->scanned;
    const char *found = held - from >= size ? memmem(begin + from, held - from, until, size) : NULL;
    if (found != NULL) {
        wire_take(ctx, stream, (size_t)(found - begin) + size, out);
        return AXO_OK;
    }
    stream->scanned = held >= size ? held - size + 1 : 0;
    if (held >= stream->input_max)
        return AXO_ETOOBIG;
    return wire_lacks(ctx, stream);
}

axo_status axo_stream_peek(axo_ctx *ctx, axo_stream *stream, axo_stream_bytes *out)
{
    axo_status status = axo__wire_check(ctx, stream);
    if (status == AXO_OK && out == NULL)
        status = AXO_EINVAL;
    if (status != AXO_OK)
        return status;
    size_t held = axo__wire_buffered(stream);
    if (held == 0)
        return AXO_ENOENT;
    *out = (axo_stream_bytes){.data = stream->input + stream->input_begin, .size = held};
    return AXO_OK;
}

bool axo_stream_ended(axo_ctx *ctx, const axo_stream *stream)
{
    return axo__wire_check(ctx, stream) == AXO_OK && stream->input_ended && !stream->closing &&
           (axo__wire_buffered(stream) == 0 || stream->lacks);
}
