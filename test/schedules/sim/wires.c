/* wires.c - the model of connections: what may come out, and when it is told. */
#include "wires.h"

#include <errno.h>

#include "mail.h"

wires wi;

/* ---- bytes ---- */

/* Of sixteen letters: a delimiter is found soon, and a byte too many or too few within a few. */
char wires_byte(uint32_t key, uint64_t at)
{
    return (char)('a' + ((at + (uint64_t)key * 1000003) * UINT64_C(0x9e3779b97f4a7c15) >> 60));
}

void wires_fill(char *to, uint32_t key, uint64_t at, size_t size)
{
    for (size_t i = 0; i < size; i++)
        to[i] = wires_byte(key, at + i);
}

void wires_check_bytes(const wire *it, uint32_t key, uint64_t at, const char *data, size_t size)
{
    for (size_t i = 0; i < size; i++)
        HOLDS_ALL(63, data[i] == wires_byte(key, at + i),
                  "connection %d: byte %" PRIu64 " is another one", (int)(it - wi.all), at + i);
}

/* ---- a connection is made ---- */

static uint32_t wires_room(void)
{
    static const uint32_t most[] = {4, 60, 60, 600, SOCKETS_ROOM};
    return 1 + world_below(most[world_below(WORLD_COUNT(most))]);
}

uint32_t wires_make(uint32_t (*make)(uint32_t in, uint32_t out))
{
    uint32_t in = wires_room();
    uint32_t out = wires_room();
    uint32_t budget = world_below(in < 150 ? 20 * in : 3000);
    uint32_t kind = world_below(64);
    uint32_t number = make(in, out);
    if (number == UINT32_MAX)
        return UINT32_MAX;
    wire *it = &wi.all[number];
    *it = (wire){.socket = &net.all[number], .key = 2 * number, .budget = budget};
    it->deaf = kind % 8 == 0;
    it->mute = kind / 8 == 0;
    return number;
}

/* ---- answers that are owed ---- */

uint64_t wires_outstanding(const wire *it, const axo_stream_info *info)
{
    return info->output + (uint64_t)it->answers * it->counts;
}

bool wires_fits(const wire *it, const axo_stream_info *info, uint32_t answers)
{
    uint64_t all = wires_outstanding(it, info);
    bool bytes = it->bound == 0 || all == 0 || all + answers * it->counts <= it->bound;
    bool count = it->few == 0 || it->answers == 0 || it->answers + answers <= it->few;
    return bytes && count;
}

bool wires_is_free(const wire *it, const axo_stream_info *info, uint32_t answers)
{
    uint32_t most = it->wanted > answers ? it->wanted : answers;
    bool half = it->bound == 0 || wires_outstanding(it, info) <= it->bound / 2;
    return half && wires_fits(it, info, most);
}

/* ---- at a callback ---- */

#define WIRES_HOLDS(number, it, condition, text)                                                   \
    HOLDS_ALL(number, condition, "connection %d: %s", (int)((it) - wi.all), text)

/* An end by an error, or by a deadline, has a cause. */
static void wires_over(axo_ctx *ctx, const wire *it, const axo_stream_info *info)
{
    int64_t now = axo_now(ctx);
    WIRES_HOLDS(64, it, info->fd == -1, "over, and its descriptor is there");
    WIRES_HOLDS(68, it, it->socket->closed, "over, and its descriptor is open");
    if (info->status == AXO_OK) {
        WIRES_HOLDS(64, it, it->closing, "over, and nobody has closed it");
        WIRES_HOLDS(67, it, it->socket->in.ended && it->socket->in.count == 0,
                    "closed before the other side has ended");
        WIRES_HOLDS(67, it, info->sent == it->wrote, "closed before all was written");
    } else if (info->status == AXO_ESYSTEM) {
        WIRES_HOLDS(64, it, it->socket->reset, "an error without one");
        WIRES_HOLDS(64, it, info->error == ECONNRESET || info->error == EPIPE, "another error");
        probe_hit(PROBE_STREAM_RESET);
    } else if (info->status == AXO_ETIMEDOUT) {
        WIRES_HOLDS(64, it,
                    (it->patience > 0 && now - it->opened >= it->patience) ||
                        (it->closing && now - it->since >= it->drain),
                    "over by a deadline that it has not, or too early");
        probe_hit(PROBE_STREAM_LATE);
    } else {
        WIRES_HOLDS(64, it, info->status == AXO_ENOMEM && m.dry, "over without a cause");
    }
}

void wires_told(axo_ctx *ctx, const axo_stream *its, wire *it, uint32_t told)
{
    axo_stream_info info = AXO_STREAM_INFO();
    const sockets_one *socket = it->socket;
    WIRES_HOLDS(64, it, it->open, "something is told behind its end");
    (void)axo_stream_look(ctx, its, &info);
    uint64_t more = info.received - it->received;
    WIRES_HOLDS(64, it, more == 0 || !it->ended, "bytes behind the end of the input");
    if (it->credit != AXO_STREAM_UNBOUNDED && !it->closing) {
        WIRES_HOLDS(65, it, more <= it->credit, "more is read than its credit");
        it->credit -= more;
        if (more > 0 && it->credit == 0)
            probe_hit(PROBE_STREAM_CREDIT);
    }
    if ((told & AXO_STREAM_CLOSED) == 0 && !it->closing)
        WIRES_HOLDS(66, it, (more > 0) == ((told & AXO_STREAM_INPUT) != 0),
                    "bytes that nobody tells of");
    if ((told & AXO_STREAM_END) != 0) {
        WIRES_HOLDS(64, it, !it->ended, "the end of the input is told twice");
        WIRES_HOLDS(64, it, socket->in.ended && info.received == it->put,
                    "an end before there is one, or before its bytes");
        it->ended = true;
    }
    if ((told & AXO_STREAM_ROOM) != 0) {
        WIRES_HOLDS(64, it, (it->owed || it->looked) && info.output <= it->low,
                    "room that was not asked for");
        WIRES_HOLDS(72, it, wires_fits(it, &info, it->wanted > 1 ? it->wanted : 1),
                    "room, and what was refused does not fit");
        it->owed = false;
        it->looked = false;
        probe_hit(it->asks ? PROBE_STREAM_ASKS : PROBE_STREAM_ROOM);
    }
    it->received = info.received;
    it->info = info;
    if ((told & AXO_STREAM_CLOSED) == 0)
        return;
    wires_over(ctx, it, &info);
    it->open = false;
    it->whole = info.status == AXO_OK;
    if (it->whole)
        probe_hit(PROBE_STREAM_WHOLE);
}

void wires_see(axo_ctx *ctx, const axo_stream *its, wire *it)
{
    axo_stream_info info = AXO_STREAM_INFO();
    if (!it->open)
        return;
    axo_status status = axo_stream_look(ctx, its, &info);
    WIRES_HOLDS(65, it, status == AXO_OK && info.fd == it->socket->fd, "it is not open");
    WIRES_HOLDS(65, it, info.input <= it->input_max, "more input than its bound");
    WIRES_HOLDS(65, it, it->asks || info.output == 0 || info.output < it->high + it->most,
                "more output than its bound");
    WIRES_HOLDS(72, it, info.owed == it->answers, "what it owes is miscounted");
    WIRES_HOLDS(72, it, info.outstanding == (it->bound != 0 ? wires_outstanding(it, &info) : 0),
                "what is outstanding is miscounted");
    WIRES_HOLDS(72, it, it->longest == 0 || info.outstanding <= it->allowed,
                "more is outstanding than its bound");
    WIRES_HOLDS(65, it, info.paused == it->paused, "paused, or not");
    WIRES_HOLDS(65, it, info.received == it->socket->in.total, "what was read is miscounted");
    WIRES_HOLDS(65, it, it->closing || info.credit == it->credit, "credit is miscounted");
    if (!it->closing)
        WIRES_HOLDS(65, it, info.received == it->taken + info.input, "input is miscounted");
    if (info.status == AXO_OK)
        WIRES_HOLDS(65, it,
                    info.sent == it->socket->out.total && info.sent + info.output == it->wrote,
                    "output is miscounted");
    it->info = info;
}

/* ---- at rest ---- */

/* Its instance runs. */
static bool wires_lives(const wire *it)
{
    const ghost *owner = it->owner != 0 ? ghost_find(it->owner) : NULL;
    return owner != NULL && !owner->terminated && owner->live && owner->instance == it->instance;
}

/* It drains, and its deadline found no memory: it waits for its peer, for ever. */
static bool wires_has_no_end(const wire *it)
{
    return it->closing && m.dry && (it->info.output > 0 || !it->socket->in.ended);
}

static void wires_rest(const wire *it, bool closed)
{
    const sockets_one *socket = it->socket;
    bool free = wires_is_free(it, &it->info, 1);
    bool reads = !it->closing && !it->paused && !it->ended && it->credit > 0 &&
                 it->info.input < it->input_max && free;
    WIRES_HOLDS(66, it, it->info.status == AXO_OK, "at rest, and its end was not told");
    WIRES_HOLDS(66, it, !socket->reset, "at rest, and a reset was not told");
    WIRES_HOLDS(66, it, !it->closing || wires_has_no_end(it),
                "at rest, and its close has no end");
    WIRES_HOLDS(66, it, (!reads && !it->closing) || socket->in.count == 0,
                "at rest, and there are bytes to read");
    WIRES_HOLDS(66, it, !reads || !socket->in.ended, "at rest, and an end was not told");
    WIRES_HOLDS(66, it, it->info.output == 0 || socket->out.count == socket->out.room,
                "at rest, and there is room to write");
    WIRES_HOLDS(66, it, !it->owed || it->ending || it->info.output > it->low || !free,
                "at rest, and room was not told");
    WIRES_HOLDS(66, it, !closed || wires_has_no_end(it), "at rest, and it was told to end");
}

void wires_check_rest(bool closed)
{
    bool drains = false;
    for (uint32_t i = 0; i < net.count; i++) {
        const wire *it = &wi.all[i];
        bool there = it->open && wires_lives(it);
        if (there)
            wires_rest(it, closed);
        drains = drains || (there && wires_has_no_end(it));
        WIRES_HOLDS(68, it, it->socket->waits || it->socket->closed == !there,
                    there ? "at rest, and its descriptor is closed"
                          : "at rest, and its descriptor is open");
    }
    const ghost *listener = ghost_find(wi.listener.bits);
    if (listener == NULL || listener->terminated)
        return;
    HOLDS_ALL(69, !closed || drains, "at rest, and the listener was told to end");
    if (net.listener < 0)
        return;
    bool full = wi.max > 0 && listener->children >= wi.max;
    HOLDS_ALL(69, net.waiting == 0 || (full && !wi.refuses),
              "at rest, and %" PRIu32 " wait for the listener", net.waiting);
}

/* What was closed in order is with its peer, to the last byte, unless that one has gone: each
 * request is answered or refused. */
void wires_check_end(void)
{
    (void)wires_peers();
    for (uint32_t i = 0; i < net.count; i++) {
        const wire *it = &wi.all[i];
        WIRES_HOLDS(68, it, it->socket->closed, "its descriptor is left");
        if (!it->whole || it->deaf || it->socket->left || it->socket->reset)
            continue;
        WIRES_HOLDS(67, it, it->got == it->wrote && !it->socket->broken,
                    "closed in order, and not all has come");
        WIRES_HOLDS(67, it, it->executed == it->got + it->refused,
                    "executed is not answered and refused");
    }
    HOLDS_ALL(68, net.listener < 0, "the listener's descriptor is left");
    wires_forget_blocks();
}
