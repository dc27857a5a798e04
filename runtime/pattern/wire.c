/* wire.c - a stream's life: open, ready, deadlines, close. */
#include "pattern/wire.h"

#include <errno.h>
#include <string.h>

#include <axo/memory.h>

#include "os/net.h"
#include "pattern/context.h"
#include "pattern/given.h"
#include "pattern/own.h"

axo_status axo__wire_check(axo_ctx *ctx, const axo_stream *it)
{
    axo_status status = axo__context_check(ctx);
    if (status != AXO_OK)
        return status;
    if (it == NULL)
        return AXO_EINVAL;
    if (it->giving_back)
        return AXO_ECONTEXT;
    return it->fd >= 0 ? AXO_OK : AXO_EGONE;
}

/* ---- what is wanted of the descriptor ---- */

static bool wire_reads(const axo_stream *it)
{
    if (it->input_ended)
        return false;
    return it->closing ||
           (!it->paused && !it->demand.over && it->credit > 0 &&
            axo__wire_buffered(it) < it->input_max);
}

static void wire_want(axo_ctx *ctx, axo_stream *it)
{
    uint32_t events = wire_reads(it) ? AXO_IO_IN : 0;
    if (it->poked || (it->blocked && it->waiting > 0))
        events |= AXO_IO_OUT;
    if (events == it->wanted)
        return;
    it->wanted = events;
    (void)axo_io_want(ctx, it->fd, events);
}

void axo__wire_want(axo_ctx *ctx, axo_stream *it)
{
    if (it->read_ns > 0)
        axo__wire_count(ctx, it);
    wire_want(ctx, it);
}

void axo__wire_fail(axo_ctx *ctx, axo_stream *it, axo_status status, int error)
{
    if (it->status != AXO_OK)
        return; /* the first one says why */
    it->status = status;
    it->error = error;
    it->poked = true;
    if (!axo__net_break(it->fd))
        axo__wire_wake(ctx, it);
    wire_want(ctx, it);
}

/* ---- deadlines ---- */

int64_t axo__wire_now(axo_ctx *ctx, const axo_stream *it)
{
    return it->idle_ns > 0 || it->read_ns > 0 || it->write_ns > 0 ? axo_now(ctx) : 0;
}

static void wire_nearer(int64_t *nearest, int64_t since, int64_t delay)
{
    int64_t time = axo__context_later(since, delay); /* of AXO__WIRE_NEVER: itself */
    if (time < *nearest)
        *nearest = time;
}

/* The next deadline; AXO__WIRE_NEVER: there is none. */
static int64_t wire_deadline(const axo_stream *it)
{
    int64_t nearest = it->drained;
    if (it->idle_ns > 0)
        wire_nearer(&nearest, it->moved, it->idle_ns);
    if (it->read_ns > 0 && it->lacks)
        wire_nearer(&nearest, it->begun, it->read_ns);
    if (it->write_ns > 0)
        wire_nearer(&nearest, it->stuck, it->write_ns);
    return nearest;
}

static uint64_t wire_key(const axo_stream *it)
{
    return (uint64_t)(uintptr_t)it;
}

/* A timer that comes too early is set anew by its tick: bytes that come and go set none. */
static axo_status wire_set_timer(axo_ctx *ctx, axo_stream *it)
{
    int64_t deadline = wire_deadline(it);
    if (it->timer <= deadline)
        return AXO_OK;
    int64_t now = axo_now(ctx);
    int64_t delay = deadline > now ? deadline - now : 0;
    if (delay > AXO_DELAY_MAX)
        delay = AXO_DELAY_MAX;
    axo_status status = axo_timer_start(ctx, wire_key(it), AXO_TIMER_ONCE, delay, 0,
                                        AXO_STREAM_DUE, NULL, 0);
    if (status == AXO_OK)
        it->timer = deadline;
    return status;
}

void axo__wire_arm(axo_ctx *ctx, axo_stream *it)
{
    axo_status status = wire_set_timer(ctx, it);
    if (status != AXO_OK && !it->closing)
        axo__wire_fail(ctx, it, status, 0);
}

void axo__wire_wake(axo_ctx *ctx, axo_stream *it)
{
    it->poked = true;
    if (axo_timer_start(ctx, wire_key(it), AXO_TIMER_ONCE, 0, 0, AXO_STREAM_DUE, NULL, 0) == AXO_OK)
        it->timer = INT64_MIN; /* no deadline is nearer */
}

void axo__wire_count(axo_ctx *ctx, axo_stream *it)
{
    if (it->paused || it->demand.over || it->input_ended) {
        /* it is this side that does not read, or there is nothing more to read */
        it->begun = AXO__WIRE_NEVER;
    } else if (it->lacks && axo__wire_buffered(it) > 0 && it->status == AXO_OK) {
        if (it->begun == AXO__WIRE_NEVER)
            it->begun = axo_now(ctx);
        axo__wire_arm(ctx, it);
    }
}

/* What it waited for has come, or it goes wrong: that is to be told. */
static bool wire_is_over(const axo_stream *it)
{
    return it->status != AXO_OK || (it->closing && it->ended && it->input_ended);
}

static void wire_due(axo_ctx *ctx, axo_stream *it)
{
    int64_t deadline = wire_deadline(it);
    it->timer = AXO__WIRE_NEVER;
    if (wire_is_over(it))
        return;
    if (deadline != AXO__WIRE_NEVER && deadline <= axo_now(ctx))
        axo__wire_fail(ctx, it, AXO_ETIMEDOUT, 0);
    else
        axo__wire_arm(ctx, it);
}

/* ---- open, close ---- */

static void wire_free(void *arg)
{
    axo_stream *it = arg;
    axo__wire_input_free(it);
    axo__wire_output_free(it);
}

static axo_status wire_set(axo_stream *it, const axo_stream_settings *settings)
{
    axo_stream_settings given = AXO_STREAM_SETTINGS();
    axo_status status =
        settings != NULL ? axo__given_read(settings, &given, sizeof given) : AXO_OK;
    if (status != AXO_OK)
        return status;
    it->input_max = given.input_max != 0 ? given.input_max : AXO_STREAM_INPUT_MAX;
    size_t bound = given.outstanding_bytes;
    axo__demand_init(&it->demand, bound, given.outstanding_max, given.outstanding_answer);
    it->high = bound != 0 ? bound : AXO_STREAM_OUTPUT_HIGH;
    if (given.output_high != 0)
        it->high = given.output_high;
    it->low = given.output_low != 0 ? given.output_low : it->high / 2;
    it->idle_ns = given.idle_ns;
    it->read_ns = given.read_ns;
    it->write_ns = given.write_ns;
    bool sizes = it->input_max <= AXO_STREAM_MAX && it->high <= AXO_STREAM_MAX &&
                 it->low < it->high && bound <= AXO_STREAM_MAX &&
                 given.outstanding_answer <= (bound != 0 ? AXO_STREAM_MAX : 0);
    bool times = it->idle_ns >= 0 && it->idle_ns <= AXO_DELAY_MAX && it->read_ns >= 0 &&
                 it->read_ns <= AXO_DELAY_MAX && it->write_ns >= 0 &&
                 it->write_ns <= AXO_DELAY_MAX;
    return sizes && times ? AXO_OK : AXO_EINVAL;
}

static axo_status wire_begin(axo_ctx *ctx, axo_stream *it, const axo_stream *fresh)
{
    *it = *fresh;
    it->system = axo_system_of(ctx);
    it->fd = -1;
    it->wanted = AXO_IO_IN;
    it->credit = AXO_STREAM_UNBOUNDED;
    it->moved = axo__wire_now(ctx, it);
    it->begun = AXO__WIRE_NEVER;
    it->stuck = AXO__WIRE_NEVER;
    it->drained = AXO__WIRE_NEVER;
    it->timer = AXO__WIRE_NEVER;
    return wire_set_timer(ctx, it);
}

static void wire_give_up(axo_ctx *ctx, axo_stream *it)
{
    if (it->timer != AXO__WIRE_NEVER)
        (void)axo_timer_stop(ctx, wire_key(it));
    it->timer = AXO__WIRE_NEVER;
}

/* The descriptor is watched. It becomes non-blocking last: nothing fails behind that. */
static axo_status wire_get(axo_ctx *ctx, axo_stream *it, int fd)
{
    if (!axo__net_unblock(fd)) {
        wire_give_up(ctx, it);
        return AXO_EDESCRIPTOR;
    }
    it->fd = fd;
    it->kind = axo__net_kind_of(fd);
    it->leaves = it->kind == AXO__NET_OTHER;
    return AXO_OK;
}

static axo_status wire_make(axo_ctx *ctx, const axo_stream *fresh, axo_stream **out)
{
    axo_stream *it = axo_alloc(ctx, sizeof *it);
    if (it == NULL)
        return AXO_ENOMEM;
    axo_status status = wire_begin(ctx, it, fresh);
    if (status == AXO_OK)
        status = axo_defer(ctx, wire_free, it);
    if (status != AXO_OK) {
        wire_give_up(ctx, it);
        axo_free(ctx, it);
        return status;
    }
    *out = it;
    return AXO_OK;
}

/* In the memory of *it, or of a stream that is made: then *it is NULL, and so on failure. */
static axo_status wire_open(axo_ctx *ctx, int fd, const axo_stream_settings *settings,
                            axo_stream **it)
{
    axo_stream fresh;
    axo_stream *to = *it;
    memset(&fresh, 0, sizeof fresh);
    axo_status status = wire_set(&fresh, settings);
    if (status == AXO_OK)
        status = axo_io_watch(ctx, fd, AXO_IO_IN, AXO_IO_OWN);
    if (status != AXO_OK)
        return status;
    status = to == NULL ? wire_make(ctx, &fresh, &to) : wire_begin(ctx, to, &fresh);
    if (status == AXO_OK)
        status = wire_get(ctx, to, fd);
    if (status == AXO_OK)
        *it = to;
    else
        (void)axo_io_unwatch(ctx, fd);
    return status;
}

axo_status axo_stream_open(axo_ctx *ctx, int fd, const axo_stream_settings *settings,
                           axo_stream **out)
{
    axo_status status = axo__context_check(ctx);
    if (status != AXO_OK)
        return status;
    if (out == NULL)
        return AXO_EINVAL;
    *out = NULL;
    return wire_open(ctx, fd, settings, out);
}

axo_status axo_stream_reopen(axo_ctx *ctx, axo_stream *stream, int fd,
                             const axo_stream_settings *settings)
{
    axo_status status = axo__context_check(ctx);
    if (status != AXO_OK)
        return status;
    if (stream == NULL)
        return AXO_EINVAL;
    if (stream->giving_back)
        return AXO_ECONTEXT;
    return stream->fd >= 0 ? AXO_EBUSY : wire_open(ctx, fd, settings, &stream);
}

static void wire_close(axo_ctx *ctx, axo_stream *it)
{
    wire_give_up(ctx, it);
    (void)axo_io_unwatch(ctx, it->fd);
    axo__net_close(it->fd);
    it->fd = -1;
    wire_free(it);
}

axo_status axo_stream_close(axo_ctx *ctx, axo_stream *stream, int64_t drain_ns)
{
    axo_status status = axo__wire_check(ctx, stream);
    if (status != AXO_OK)
        return status;
    if (drain_ns < 0 || drain_ns > AXO_DELAY_MAX)
        return AXO_EINVAL;
    if (drain_ns == 0) {
        wire_close(ctx, stream);
        return AXO_OK;
    }
    stream->drained = axo__context_later(axo_now(ctx), drain_ns);
    stream->begun = AXO__WIRE_NEVER;
    stream->closing = true;
    stream->ending = true;
    stream->input_begin = stream->input_end; /* the callback may still look at the bytes */
    stream->scanned = 0;
    /* What waits is written by settle, or by the readiness that is waited for. */
    if (stream->waiting == 0 || (!stream->blocked && axo_want_settle(ctx) != AXO_OK))
        axo__wire_flush(ctx, stream);
    if (stream->fd >= 0)
        axo__wire_arm(ctx, stream);
    axo__wire_want(ctx, stream);
    return AXO_OK;
}

/* ---- ready ---- */

/* The error that has come; 0: none. A pipe has none that waits, but one that cannot be read has
 * lost its reader: a read of nothing tells it. */
static int wire_error(const axo_stream *it)
{
    char nothing;
    bool more;
    int error = axo__net_error(it->fd);
    if (error == 0 && it->kind == AXO__NET_OTHER &&
        axo__net_read(it->fd, it->kind, &nothing, 0, &more, &error) == AXO__NET_FAILED)
        error = error == EBADF ? EPIPE : 0;
    return error;
}

/* What is read while the stream drains is thrown away. */
static uint32_t wire_ready(axo_ctx *ctx, axo_stream *it, uint32_t events)
{
    uint32_t told = 0;
    it->leaves = it->leaves || (events & (AXO_IO_HUP | AXO_IO_URGENT)) != 0;
    if (it->status != AXO_OK)
        return 0; /* the end that it shows is this side's own */
    if ((events & AXO_IO_IN) != 0 && wire_reads(it))
        told = axo__wire_read(ctx, it);
    if ((events & AXO_IO_OUT) != 0 && it->waiting > 0 && it->status == AXO_OK) {
        it->blocked = false;
        it->poked = true; /* what comes of it is told behind this */
        axo__wire_flush(ctx, it);
        if (it->blocked)
            (void)axo_io_blocked(ctx, it->fd, AXO_IO_OUT);
    }
    if ((events & AXO_IO_ERR) != 0 && it->status == AXO_OK) {
        int error = wire_error(it);
        if (error != 0)
            axo__wire_fail(ctx, it, AXO_ESYSTEM, error);
    }
    return it->closing ? 0 : told;
}

/* What has come of it, behind a message or a deadline. Bytes that came before an error are told,
 * and may be taken, before the end is. */
static uint32_t wire_tell(axo_ctx *ctx, axo_stream *it, bool input)
{
    it->poked = it->status != AXO_OK && input;
    if (it->poked)
        return 0;
    if (wire_is_over(it)) {
        wire_close(ctx, it);
        return AXO_STREAM_CLOSED;
    }
    if (!axo__wire_tells_room(it))
        return 0;
    it->full = false;
    return AXO_STREAM_ROOM;
}

uint32_t axo_stream_receive(axo_ctx *ctx, axo_stream *stream, const axo_message *message)
{
    uint32_t told = AXO_STREAM_TOOK;
    if (message == NULL || axo__wire_check(ctx, stream) != AXO_OK)
        return 0;
    if (message->tag == AXO_IO_READY) {
        const axo_io_ready *ready = AXO_PAYLOAD(message, axo_io_ready);
        if (message->size != sizeof *ready || ready->fd != stream->fd)
            return 0;
        told |= wire_ready(ctx, stream, ready->events);
    } else if (message->tag == AXO_STREAM_DUE && stream->timer != AXO__WIRE_NEVER &&
               axo__own_tick(ctx, message, wire_key(stream))) {
        wire_due(ctx, stream);
    } else {
        return 0;
    }
    told |= wire_tell(ctx, stream, (told & AXO_STREAM_INPUT) != 0);
    if ((told & AXO_STREAM_CLOSED) != 0)
        return AXO_STREAM_TOOK | AXO_STREAM_CLOSED | (told & AXO_STREAM_END);
    axo__wire_input_rest(stream);
    axo__wire_want(ctx, stream);
    return told;
}

axo_status axo_stream_settle(axo_ctx *ctx, axo_stream *stream)
{
    axo_status status = axo__context_check(ctx);
    if (status == AXO_OK && stream != NULL && stream->giving_back)
        status = AXO_ECONTEXT;
    if (status != AXO_OK || stream == NULL || stream->fd < 0)
        return status;
    if (!stream->blocked)
        axo__wire_flush(ctx, stream);
    axo__wire_input_rest(stream);
    axo__wire_want(ctx, stream);
    return AXO_OK;
}

axo_status axo_stream_pause(axo_ctx *ctx, axo_stream *stream)
{
    axo_status status = axo__wire_check(ctx, stream);
    if (status == AXO_OK) {
        stream->paused = true;
        axo__wire_want(ctx, stream);
    }
    return status;
}

axo_status axo_stream_resume(axo_ctx *ctx, axo_stream *stream)
{
    axo_status status = axo__wire_check(ctx, stream);
    if (status == AXO_OK) {
        stream->paused = false;
        axo__wire_want(ctx, stream);
    }
    return status;
}

axo_status axo_stream_look(axo_ctx *ctx, const axo_stream *stream, axo_stream_info *info)
{
    axo_stream_info full;
    axo_status status = axo__wire_check(ctx, stream);
    if (status == AXO_OK || status == AXO_EGONE)
        status = axo__given_read(info, &full, sizeof full);
    if (status != AXO_OK)
        return status;
    uint64_t outstanding = axo__demand_outstanding(&stream->demand, stream->waiting);
    full = (axo_stream_info){.size = info->size,
                             .fd = stream->fd,
                             .status = stream->status,
                             .error = stream->error,
                             .paused = stream->paused,
                             .received = stream->received,
                             .sent = stream->sent,
                             .input = axo__wire_buffered(stream),
                             .output = stream->waiting,
                             .outstanding = stream->demand.bound != 0 ? (size_t)outstanding : 0,
                             .owed = stream->demand.owed,
                             .credit = stream->credit};
    memcpy(info, &full, info->size < sizeof full ? info->size : sizeof full);
    return AXO_OK;
}
