/* wire_output.c - what waits to be written: chunks, oldest first, each a block of memory that goes
 * back when its bytes have gone. */
#include <string.h>

#include "base/aside.h"
#include "base/border.h"
#include "os/net.h"
#include "pattern/wire.h"

/* A chunk's block, if no write is larger. */
#define WIRE_CHUNK ((size_t)4096)
/* What is handed over and is shorter is copied: a chunk for it would be as large. The same is the
 * block of a chunk behind one that was handed over, so that small writes between such do not take
 * many times the memory that `output_high` allows. */
#define WIRE_SHORT ((size_t)256)

static size_t wire_chunk_size(size_t room)
{
    return sizeof(axo__wire_chunk) + (room > 0 ? room : sizeof(axo_owned));
}

static axo_owned *wire_owned(axo__wire_chunk *chunk)
{
    return (axo_owned *)(void *)chunk->bytes;
}

static const char *wire_bytes(axo__wire_chunk *chunk)
{
    return chunk->room > 0 ? chunk->bytes : wire_owned(chunk)->payload;
}

/* `block` may be in memory that goes with it. */
static void wire_give_back(axo_stream *it, const axo_owned *block)
{
    if (block->destroy == NULL)
        return;
    it->giving_back = true;
    axo__aside++;
    AXO_BORDER();
    block->destroy(block->payload, block->user);
    axo__aside--;
    it->giving_back = false;
}

static void wire_drop_first(axo_stream *it)
{
    axo__wire_chunk *chunk = it->first;
    it->first = chunk->next;
    if (it->first == NULL)
        it->last = NULL;
    axo_owned block = {.destroy = NULL};
    if (chunk->room == 0)
        block = *wire_owned(chunk);
    axo_system_free(it->system, chunk, wire_chunk_size(chunk->room));
    wire_give_back(it, &block);
}

void axo__wire_output_free(axo_stream *it)
{
    while (it->first != NULL)
        wire_drop_first(it);
    it->waiting = 0;
}

/* So many bytes have gone. */
static void wire_went(axo_ctx *ctx, axo_stream *it, size_t went)
{
    it->sent += went;
    it->waiting -= went;
    it->moved = axo__wire_now(ctx, it);
    it->stuck = it->waiting > 0 ? it->moved : AXO__WIRE_NEVER;
    while (it->first != NULL) {
        axo__wire_chunk *chunk = it->first;
        size_t held = chunk->end - chunk->begin;
        if (went < held) {
            chunk->begin += went;
            return;
        }
        went -= held;
        wire_drop_first(it);
    }
}

/* One write; false: no more can be written now. */
static bool wire_write_once(axo_ctx *ctx, axo_stream *it)
{
    axo__net_piece pieces[AXO__NET_PIECES];
    uint32_t count = 0;
    size_t size = 0;
    int error = 0;
    for (axo__wire_chunk *chunk = it->first; chunk != NULL && count < AXO__NET_PIECES;
         chunk = chunk->next) {
        pieces[count++] = (axo__net_piece){.data = wire_bytes(chunk) + chunk->begin,
                                           .size = chunk->end - chunk->begin};
        size += chunk->end - chunk->begin;
    }
    int64_t went = axo__net_write(it->fd, pieces, count, &error);
    if (went == AXO__NET_FAILED) {
        axo__wire_output_free(it); /* nobody reads it any more */
        axo__wire_fail(ctx, it, AXO_ESYSTEM, error);
        return false;
    }
    if (went > 0)
        wire_went(ctx, it, (size_t)went);
    it->blocked = went < (int64_t)size;
    return !it->blocked;
}

/* All is written. What is no socket has no directions: its end is its close. */
static void wire_end(axo_ctx *ctx, axo_stream *it)
{
    it->ended = true;
    if (axo__net_end(it->fd))
        return;
    it->closing = true;
    it->input_ended = true;
    axo__wire_wake(ctx, it);
}

/* Behind what may have made room for who has found none. The descriptor alone may not bring the
 * actor back: while much of what it has taken is unread it is not ready, and the other side may
 * read nothing before this side has taken more. */
static void wire_made_room(axo_ctx *ctx, axo_stream *it)
{
    if (!it->poked && axo__wire_tells_room(it))
        axo__wire_wake(ctx, it);
}

void axo__wire_flush(axo_ctx *ctx, axo_stream *it)
{
    bool more = true;
    while (more && it->waiting > 0 && it->status == AXO_OK)
        more = wire_write_once(ctx, it);
    if (it->ending && !it->ended && it->waiting == 0)
        wire_end(ctx, it);
    if (it->closing && it->ended && it->input_ended)
        it->poked = true;
    if (it->waiting > 0 && it->write_ns > 0)
        axo__wire_arm(ctx, it);
    axo__demand_weigh(&it->demand, it->waiting);
    wire_made_room(ctx, it);
    axo__wire_want(ctx, it);
}

/* ---- the program's side ---- */

/* Whether it is so; if not, the program is told when it is. */
static bool wire_has_room(axo_stream *it, bool so)
{
    it->full = it->full || !so;
    return so;
}

/* Where answers may make room, who has found all that was waited for need not be told. */
static bool wire_has_room_to_ask(axo_stream *it)
{
    bool so = it->waiting < it->high && axo__demand_may_owe(&it->demand, it->waiting, 1);
    if (so && (it->demand.bound != 0 || it->demand.owed_max != 0) && axo__wire_tells_room(it))
        it->full = false;
    return wire_has_room(it, so);
}

bool axo_stream_has_room(axo_ctx *ctx, axo_stream *stream)
{
    return axo__wire_check(ctx, stream) == AXO_OK && !stream->ending &&
           stream->status == AXO_OK && wire_has_room_to_ask(stream);
}

static void wire_link(axo_stream *it, axo__wire_chunk *fresh)
{
    if (it->last != NULL)
        it->last->next = fresh;
    else
        it->first = fresh;
    it->last = fresh;
}

/* All or nothing: memory is taken before the first byte is copied. */
static bool wire_append(axo_stream *it, const char *data, size_t size)
{
    axo__wire_chunk *last = it->last;
    bool behind_owned = last != NULL && last->room == 0;
    size_t first = last != NULL && !behind_owned ? last->room - last->end : 0;
    if (first > size)
        first = size;
    size_t rest = size - first;
    axo__wire_chunk *fresh = NULL;
    if (rest > 0) {
        size_t room = (behind_owned ? WIRE_SHORT : WIRE_CHUNK) - sizeof *fresh;
        if (room < rest)
            room = rest;
        fresh = axo_system_alloc(it->system, wire_chunk_size(room));
        if (fresh == NULL)
            return false;
        fresh->next = NULL;
        fresh->room = room;
        fresh->begin = 0;
        fresh->end = rest;
        memcpy(fresh->bytes, data + first, rest);
    }
    if (first > 0) {
        memcpy(last->bytes + last->end, data, first);
        last->end += first;
    }
    if (fresh != NULL)
        wire_link(it, fresh);
    it->waiting += size;
    return true;
}

static bool wire_append_owned(axo_stream *it, const axo_owned *block)
{
    axo__wire_chunk *fresh = axo_system_alloc(it->system, wire_chunk_size(0));
    if (fresh == NULL)
        return false;
    *fresh = (axo__wire_chunk){.end = block->size};
    *wire_owned(fresh) = *block;
    wire_link(it, fresh);
    it->waiting += block->size;
    return true;
}

/* Whether the program may write this, if there is room. */
static axo_status wire_write_check(axo_ctx *ctx, const axo_stream *it, const void *data,
                                   size_t size)
{
    axo_status status = axo__wire_check(ctx, it);
    if (status != AXO_OK)
        return status;
    if (data == NULL && size > 0)
        return AXO_EINVAL;
    if (it->ending)
        return AXO_ESTOPPING;
    return size <= AXO_STREAM_MAX ? AXO_OK : AXO_ETOOBIG;
}

/* What is written at the end of the turn waits for it; what is more than may wait is tried at once,
 * as is everything where no settle follows. */
static axo_status wire_written(axo_ctx *ctx, axo_stream *it)
{
    if (it->stuck == AXO__WIRE_NEVER && it->write_ns > 0)
        it->stuck = axo_now(ctx);
    if (it->blocked)
        return AXO_OK;
    if (it->waiting >= it->high || axo_want_settle(ctx) != AXO_OK)
        axo__wire_flush(ctx, it);
    return AXO_OK;
}

/* Whether there is something to write, and somebody who takes it; if it is to be told that the
 * other side is gone, a write is AXO_OK all the same. */
static bool wire_goes(const axo_stream *it, size_t size)
{
    return size > 0 && it->status == AXO_OK;
}

static axo_status wire_write(axo_ctx *ctx, axo_stream *it, const void *data, size_t size)
{
    if (!wire_goes(it, size))
        return AXO_OK;
    return wire_append(it, data, size) ? wire_written(ctx, it) : AXO_ENOMEM;
}

static axo_status wire_write_owned(axo_ctx *ctx, axo_stream *it, const axo_owned *block)
{
    bool goes = wire_goes(it, block->size);
    if (goes && block->size >= WIRE_SHORT)
        return wire_append_owned(it, block) ? wire_written(ctx, it) : AXO_ENOMEM;
    if (goes && !wire_append(it, block->payload, block->size))
        return AXO_ENOMEM;
    wire_give_back(it, block);
    return goes ? wire_written(ctx, it) : AXO_OK;
}

/* As if it had bytes that are nowhere: AXO_EINVAL. */
static const axo_owned wire_no_block = {.size = 1};

axo_status axo_stream_write(axo_ctx *ctx, axo_stream *stream, const void *data, size_t size)
{
    axo_status status = wire_write_check(ctx, stream, data, size);
    if (status != AXO_OK)
        return status;
    if (!wire_has_room(stream, stream->waiting < stream->high))
        return AXO_EFULL;
    return wire_write(ctx, stream, data, size);
}

axo_status axo_stream_write_owned(axo_ctx *ctx, axo_stream *stream, const axo_owned *block)
{
    const axo_owned *it = block != NULL ? block : &wire_no_block;
    axo_status status = wire_write_check(ctx, stream, it->payload, it->size);
    if (status != AXO_OK)
        return status;
    if (!wire_has_room(stream, stream->waiting < stream->high))
        return AXO_EFULL;
    return wire_write_owned(ctx, stream, it);
}

axo_status axo_stream_owe(axo_ctx *ctx, axo_stream *stream, uint32_t answers)
{
    axo_status status = axo__wire_check(ctx, stream);
    if (status != AXO_OK)
        return status;
    if (stream->ending)
        return AXO_ESTOPPING;
    if (answers > UINT32_MAX - stream->demand.owed)
        return AXO_EINVAL;
    bool owes = stream->waiting < stream->high &&
                axo__demand_owe(&stream->demand, stream->waiting, answers);
    axo__wire_want(ctx, stream);
    if (!wire_has_room(stream, owes))
        return AXO_EFULL;
    stream->demand.wanted = 0; /* who goes on needs no notice, but of room for a write */
    if (stream->waiting <= stream->low)
        stream->full = false;
    return AXO_OK;
}

static void wire_answered(axo_ctx *ctx, axo_stream *it, size_t size)
{
    axo__demand_answered(&it->demand, it->waiting, size);
    wire_made_room(ctx, it);
    axo__wire_want(ctx, it);
}

axo_status axo_stream_answer(axo_ctx *ctx, axo_stream *stream, const void *data, size_t size)
{
    axo_status status = wire_write_check(ctx, stream, data, size);
    if (status == AXO_OK && stream->demand.owed == 0)
        status = AXO_EINVAL;
    if (status == AXO_OK)
        status = wire_write(ctx, stream, data, size);
    if (status == AXO_OK)
        wire_answered(ctx, stream, size);
    return status;
}

axo_status axo_stream_answer_owned(axo_ctx *ctx, axo_stream *stream, const axo_owned *block)
{
    const axo_owned *it = block != NULL ? block : &wire_no_block;
    size_t size = it->size; /* it may go with what is given back */
    axo_status status = wire_write_check(ctx, stream, it->payload, size);
    if (status == AXO_OK && stream->demand.owed == 0)
        status = AXO_EINVAL;
    if (status == AXO_OK)
        status = wire_write_owned(ctx, stream, it);
    if (status == AXO_OK)
        wire_answered(ctx, stream, size);
    return status;
}

axo_status axo_stream_end(axo_ctx *ctx, axo_stream *stream)
{
    axo_status status = axo__wire_check(ctx, stream);
    if (status != AXO_OK)
        return status;
    stream->ending = true;
    if (stream->waiting == 0)
        axo__wire_flush(ctx, stream);
    return AXO_OK;
}
