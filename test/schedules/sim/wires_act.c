/* wires_act.c - the actors whose connections they are: what they do to their streams, and what they
 * see of them. */
#include "wires.h"

#include <string.h>

#include "mail.h"
#include "os/poll.h"

#define WIRES_WRITE_MAX 8192
#define WIRES_SHORT 256 /* what is handed over and is shorter is copied */
#define WIRES_DRAIN_MAX INT64_C(4000000000)

typedef struct wires_actor {
    axo_stream *stream;
    uint32_t number; /* of the connection, + 1; 0: it has none */
    bool connection; /* a listener's */
} wires_actor;

/* Bytes that the running callback was given: they stay until it returns. */
static struct {
    axo_stream_bytes bytes;
    uint64_t at;
} wires_held;

static ghost *wires_enter(axo_ctx *ctx)
{
    ghost *me = ghost_find(axo_self(ctx).bits);
    queues_callback();
    world_begin(world_mix(world_mix(g.seed + w.life, UINT64_C(0x77697265) + me->self), ++me->acts));
    wires_held.bytes.size = 0;
    return me;
}

static wire *wires_mine(const wires_actor *me)
{
    return me->number != 0 ? &wi.all[me->number - 1] : NULL;
}

static axo_stream_info wires_look(axo_ctx *ctx, const wires_actor *me)
{
    axo_stream_info info = AXO_STREAM_INFO();
    (void)axo_stream_look(ctx, me->stream, &info);
    return info;
}

/* ---- output ---- */

/* Bytes that were handed over, up to this number of the connection's. Memory until the end of the
 * life, so that who comes back twice is seen. */
typedef struct wires_block {
    struct wires_block *next;
    const wire *of;
    uint64_t end;
    size_t size;
    bool given_back;
    char bytes[];
} wires_block;

static wires_block *wires_blocks;

/* The connection whose callback runs; NULL: none does. */
static const wire *wires_running;

void wires_forget_blocks(void)
{
    while (wires_blocks != NULL) {
        wires_block *block = wires_blocks;
        wires_blocks = block->next;
        free(block);
    }
}

/* It is spoilt, so that who still needs it sends other bytes. Before its last byte has gone it
 * comes back for a reason only. */
static void wires_give_back(void *payload, void *user)
{
    wires_block *block = user;
    queues_callback();
    const sockets_one *socket = block->of->socket;
    bool sound = wires_running == block->of && !socket->reset && !socket->closed && !socket->shut;
    HOLDS_ALL(71, payload == block->bytes && !block->given_back, "a block comes back twice");
    HOLDS_ALL(71, !sound || block->size < WIRES_SHORT || socket->out.total >= block->end,
              "a block comes back too early");
    if (block->size >= WIRES_SHORT)
        probe_hit(sound ? PROBE_STREAM_OWNED : PROBE_STREAM_UNSENT);
    block->given_back = true;
    memset(block->bytes, '#', block->size);
    w.freed++;
}

typedef axo_status (*wires_owned)(axo_ctx *ctx, axo_stream *stream, const axo_owned *block);

/* `write`: axo_stream_write_owned, axo_stream_answer_owned. */
static axo_status wires_hand_over(axo_ctx *ctx, const wires_actor *me, wire *it, size_t size,
                                  wires_owned write)
{
    wires_block *block = malloc(sizeof *block + size);
    *block = (wires_block){
        .next = wires_blocks, .of = it, .end = it->wrote + size, .size = size};
    wires_blocks = block;
    wires_fill(block->bytes, it->key + 1, it->wrote, size);
    const axo_owned owned = {
        .payload = block->bytes, .size = size, .destroy = wires_give_back, .user = block};
    w.owned++;
    axo_status status = write(ctx, me->stream, &owned);
    w.owned -= status != AXO_OK;
    return status;
}

/* ---- answers that are owed ---- */

/* An answer of any length that its stream was told of; none is refused. */
static void wires_answer(axo_ctx *ctx, const wires_actor *me, wire *it)
{
    static char bytes[WIRES_WRITE_MAX];
    size_t most = it->longest != 0 ? it->longest : it->bound + 20;
    size_t size = world_below((uint32_t)(most < WIRES_WRITE_MAX ? most : WIRES_WRITE_MAX) + 1);
    wires_fill(bytes, it->key + 1, it->wrote, size);
    axo_status status =
        world_below(3) == 0
            ? wires_hand_over(ctx, me, it, size, axo_stream_answer_owned)
            : axo_stream_answer(ctx, me->stream, bytes, size);
    axo_status due = it->ending ? AXO_ESTOPPING : it->answers == 0 ? AXO_EINVAL : AXO_OK;
    HOLDS_ALL(72, status == due || (status == AXO_ENOMEM && due == AXO_OK && m.dry),
              "an answer of %zu bytes, of %" PRIu32 " that are owed: %s", size, it->answers,
              axo_status_name(status));
    if (status != AXO_OK)
        return;
    it->executed += size;
    it->wrote += size;
    it->answers--;
    it->counts -= it->counts / 8;
    if (it->counts < size)
        it->counts = size;
    if (it->counts < it->longest)
        it->counts = it->longest;
}

/* It comes later, by a message of its actor to itself; or now. */
static void wires_answer_later(axo_ctx *ctx, const wires_actor *me, wire *it)
{
    if (world_below(4) == 0 || w.calm ||
        axo_send(ctx, axo_self(ctx), TAG_WIRE_ANSWER, &me->number, sizeof me->number) != AXO_OK)
        wires_answer(ctx, me, it);
}

/* A request of a few answers: all of them fit, or all are refused. */
static void wires_request(axo_ctx *ctx, const wires_actor *me, wire *it)
{
    axo_stream_info before = wires_look(ctx, me);
    uint32_t answers = world_below(3) == 0 ? 1 + world_below(4) : 1;
    uint64_t all = wires_outstanding(it, &before);
    bool fits = before.output < it->high && wires_fits(it, &before, answers);
    bool free = before.output < it->high && wires_is_free(it, &before, answers);
    axo_status status = axo_stream_owe(ctx, me->stream, answers);
    HOLDS_ALL(72,
              status == AXO_ESTOPPING ? it->ending
              : status == AXO_EFULL   ? !it->ending && !free
                                      : status == AXO_OK && !it->ending && fits,
              "%" PRIu32 " more answers, with %" PRIu64 " bytes outstanding of %zu: %s", answers,
              all, it->bound, axo_status_name(status));
    if (status == AXO_EFULL) {
        it->owed = true;
        if (before.output < it->high && answers > it->wanted)
            it->wanted = answers;
        if (it->bound != 0)
            probe_hit(PROBE_STREAM_SPENT);
    }
    if (status != AXO_OK)
        return;
    size_t alone = answers * it->counts;
    it->allowed = all == 0 && alone > it->bound ? alone : it->bound;
    if (it->allowed > it->bound && it->bound != 0)
        probe_hit(PROBE_STREAM_LONG);
    it->owed = it->owed && before.output > it->low; /* a write may have been refused, too */
    it->wanted = 0;
    it->answers += answers;
    for (; answers > 0; answers--)
        wires_answer_later(ctx, me, it);
}

static bool wires_has_room(axo_ctx *ctx, const wires_actor *me, wire *it)
{
    axo_stream_info info = wires_look(ctx, me);
    bool open = !it->ending && info.status == AXO_OK;
    bool room = axo_stream_has_room(ctx, me->stream);
    bool may = open && info.output < it->high;
    HOLDS_ALL(65, room ? may : !may || it->asks, "wrong about room");
    HOLDS_ALL(72, room ? wires_fits(it, &info, 1) : !may || !wires_is_free(it, &info, 1),
              "wrong about room for a request");
    bool found = room && it->asks && info.output <= it->low &&
                 wires_fits(it, &info, it->wanted > 1 ? it->wanted : 1);
    it->looked = it->looked || (it->owed && found);
    it->owed = (it->owed && !found) || (open && !room);
    return room;
}

/* ---- writes ---- */

/* All of it or nothing, and nothing without a reason. */
static void wires_write(axo_ctx *ctx, const wires_actor *me, wire *it, size_t size)
{
    static char bytes[WIRES_WRITE_MAX];
    if (it->asks && (it->longest != 0 || world_below(2) == 0)) {
        wires_request(ctx, me, it);
        return;
    }
    axo_stream_info before = wires_look(ctx, me);
    wires_fill(bytes, it->key + 1, it->wrote, size);
    axo_status status =
        world_below(3) == 0 ? wires_hand_over(ctx, me, it, size, axo_stream_write_owned)
                            : axo_stream_write(ctx, me->stream, bytes, size);
    axo_status due = it->ending                 ? AXO_ESTOPPING
                     : before.output >= it->high ? AXO_EFULL
                                                 : AXO_OK;
    HOLDS_ALL(65, status == due || (status == AXO_ENOMEM && due == AXO_OK && m.dry),
              "a write with %zu bytes waiting of %zu: %s", before.output, it->high,
              axo_status_name(status));
    it->executed += size;
    it->owed = it->owed || status == AXO_EFULL;
    if (status != AXO_OK) {
        it->refused += size;
        return;
    }
    it->wrote += size;
    if (before.status == AXO_OK && size > it->most)
        it->most = size;
}

/* ---- input ---- */

static const char wires_delimiters[] = "abc";

/* The first place of the delimiter, and its bytes; 0: it is not there. */
static size_t wires_until(const wire *it, const axo_stream_bytes *piece)
{
    const char *found = memmem(piece->data, piece->size, wires_delimiters, it->count);
    return found != NULL ? (size_t)(found - piece->data) + it->count : 0;
}

static axo_status wires_next(axo_ctx *ctx, const wires_actor *me, const wire *it,
                             axo_stream_bytes *piece)
{
    axo_stream_bytes all = {.size = 0};
    axo_status shown = axo_stream_peek(ctx, me->stream, &all);
    size_t found = shown == AXO_OK ? wires_until(it, &all) : 0;
    axo_status status;
    switch (it->way) {
    case 0:
        return axo_stream_next(ctx, me->stream, 0, piece);
    case 1:
        status = axo_stream_next(ctx, me->stream, it->count, piece);
        HOLDS_ALL(63, status == AXO_OK ? piece->size == it->count : all.size < it->count,
                  "a piece of another size");
        break;
    case 2:
        status = axo_stream_next_until(ctx, me->stream, wires_delimiters, it->count, piece);
        HOLDS_ALL(63, (status == AXO_OK) == (found > 0) && (found == 0 || piece->size == found),
                  "a delimiter was passed over");
        break;
    default:
        if (shown != AXO_OK)
            return shown;
        return axo_stream_next(ctx, me->stream, 1 + world_below((uint32_t)all.size), piece);
    }
    if (status == AXO_ETOOBIG && all.size > 0)
        return axo_stream_next(ctx, me->stream, 0, piece);
    return status;
}

/* false: there is no whole piece. */
static bool wires_take_one(axo_ctx *ctx, const wires_actor *me, wire *it)
{
    axo_stream_bytes piece = {.size = 0};
    axo_status status = wires_next(ctx, me, it, &piece);
    if (status != AXO_OK)
        return false;
    HOLDS_ALL(63, piece.size > 0 && it->taken + piece.size <= it->put,
              "more than was put in comes out");
    wires_check_bytes(it, it->key, it->taken, piece.data, piece.size);
    if (wires_held.bytes.size == 0) {
        wires_held.bytes = piece;
        wires_held.at = it->taken;
    }
    it->taken += piece.size;
    if (it->echoes)
        wires_write(ctx, me, it, piece.size);
    return true;
}

static void wires_take(axo_ctx *ctx, const wires_actor *me, wire *it)
{
    uint32_t most = w.calm ? UINT32_MAX : 1 + world_below(12);
    if (it->closing)
        return;
    for (uint32_t i = 0; i < most; i++) {
        if (it->echoes && !it->ending && !wires_has_room(ctx, me, it))
            return;
        if (!wires_take_one(ctx, me, it))
            return;
    }
}

/* ---- open, close ---- */

/* Bounds of the answers that it owes; a stream without any draws as it did before there were
 * such. */
static void wires_set_owing(axo_stream_settings *settings, uint32_t most)
{
    uint64_t at = w.now_runs.at;
    if (!world_is(KNOB_WIRE_OWE)) {
        w.now_runs.at = at;
        return;
    }
    if (world_below(3) == 0)
        settings->outstanding_max = 1 + world_below(6);
    if (settings->outstanding_max != 0 && world_below(3) == 0)
        return;
    settings->outstanding_bytes = 1 + world_below(most);
    if (world_below(2) == 0)
        settings->outstanding_answer = 1 + world_below(most);
    if (world_below(2) == 0)
        settings->output_high = settings->output_low = 0;
}

static axo_stream_settings wires_settings(const wire *it)
{
    static const uint32_t sizes[] = {8, 100, 100, 1000, 6000};
    axo_stream_settings settings = AXO_STREAM_SETTINGS();
    uint32_t most = 30 * it->socket->out.room;
    uint32_t out = sizes[world_below(WORLD_COUNT(sizes))];
    settings.input_max = world_below(sizes[world_below(WORLD_COUNT(sizes))]);
    settings.output_high = 1 + world_below(out < most ? out : most);
    if (world_below(3) == 0)
        settings.output_low = settings.output_high / 3;
    if (world_below(8) == 0)
        settings.idle_ns = 1000 + world_below(3000000);
    if (world_below(8) == 0)
        settings.read_ns = 1000 + world_below(3000000);
    if (world_below(8) == 0)
        settings.write_ns = 1000 + world_below(3000000);
    wires_set_owing(&settings, out < most ? out : most);
    return settings;
}

static void wires_shorter(int64_t *patience, int64_t time)
{
    if (time > 0 && (*patience == 0 || time < *patience))
        *patience = time;
}

/* `when`: before it was opened. */
static void wires_opened(axo_ctx *ctx, wires_actor *me, uint32_t number, int64_t when,
                         const axo_stream_settings *settings)
{
    wire *it = &wi.all[number];
    me->number = number + 1;
    it->owner = axo_self(ctx).bits;
    it->instance = ghost_find(it->owner)->instance;
    it->open = true;
    it->opened = when;
    it->input_max = settings->input_max != 0 ? settings->input_max : AXO_STREAM_INPUT_MAX;
    it->high = settings->output_high != 0 ? settings->output_high : settings->outstanding_bytes;
    it->low = settings->output_low != 0 ? settings->output_low : it->high / 2;
    it->bound = settings->outstanding_bytes;
    it->few = settings->outstanding_max;
    it->longest = settings->outstanding_answer;
    it->asks = it->bound != 0 || it->few != 0;
    it->counts = it->longest != 0 ? it->longest : it->bound / 4;
    it->counts += it->counts == 0;
    wires_shorter(&it->patience, settings->idle_ns);
    wires_shorter(&it->patience, settings->read_ns);
    wires_shorter(&it->patience, settings->write_ns);
    it->way = world_below(4);
    it->count = 1 + world_below(it->way == 2 ? WIRES_TAKEN - 1 : 40);
    it->echoes = world_below(4) != 0;
    it->credit = AXO_STREAM_UNBOUNDED;
}

/* Of a descriptor of its own, which is still its own if that fails. */
static void wires_open(axo_ctx *ctx, wires_actor *me)
{
    uint32_t number = wires_make(sockets_pair);
    if (number == UINT32_MAX)
        return;
    const sockets_one *socket = &net.all[number];
    int fd = socket->fd;
    int64_t when = axo_now(ctx);
    axo_stream_settings settings = wires_settings(&wi.all[number]);
    axo_status status = axo_stream_open(ctx, fd, &settings, &me->stream);
    if (status == AXO_OK) {
        wires_opened(ctx, me, number, when, &settings);
        return;
    }
    HOLDS_ALL(68, status == AXO_ENOMEM && m.dry, "axo_stream_open: %s", axo_status_name(status));
    HOLDS_ALL(68, !socket->closed && !socket->shut && me->stream == NULL,
              "an open that failed has closed the descriptor, or ended it");
    axo__os_close(fd);
}

/* The listener's: closed if that fails, or if nobody takes it. */
static void wires_accept(axo_ctx *ctx, wires_actor *me, const axo_message *message)
{
    uint32_t number = sockets_number(AXO_PAYLOAD(message, axo_connection)->fd);
    HOLDS_ALL(69, number != UINT32_MAX && wi.all[number].owner == 0,
              "a connection without a descriptor, or with another's");
    me->connection = true;
    if (world_below(16) == 0)
        return;
    int64_t when = axo_now(ctx);
    axo_stream_settings settings = wires_settings(&wi.all[number]);
    axo_status status = axo_stream_accept(ctx, message, &settings, &me->stream);
    if (status == AXO_OK) {
        wires_opened(ctx, me, number, when, &settings);
        return;
    }
    HOLDS_ALL(68, status == AXO_ENOMEM && m.dry, "axo_stream_accept: %s", axo_status_name(status));
    HOLDS_ALL(68, net.all[number].closed && me->stream == NULL,
              "an accept that failed has left the descriptor open");
}

static void wires_end_stream(axo_ctx *ctx, wires_actor *me, wire *it, int64_t drain)
{
    int64_t when = axo_now(ctx);
    axo_status status = axo_stream_close(ctx, me->stream, drain);
    HOLDS_ALL(65, status == AXO_OK, "axo_stream_close: %s", axo_status_name(status));
    it->ending = true;
    if (drain > 0) {
        it->closing = true;
        it->since = when;
        it->drain = drain;
        return;
    }
    HOLDS_ALL(68, it->socket->closed, "closed at once, and the descriptor is open");
    HOLDS_ALL(64, axo_stream_close(ctx, me->stream, 0) == AXO_EGONE, "closed, and it is there");
    it->open = false;
    me->number = 0;
    wires_held.bytes.size = 0;
}

static int64_t wires_drain(void)
{
    return world_below(3) == 0 ? 1 + world_below(1000000) : WIRES_DRAIN_MAX;
}

/* ---- what an actor does ---- */

static void wires_credit(axo_ctx *ctx, const wires_actor *me, wire *it, uint64_t bytes)
{
    bool bounded = bytes != AXO_STREAM_UNBOUNDED && it->credit != AXO_STREAM_UNBOUNDED;
    axo_status status = axo_stream_credit(ctx, me->stream, bytes);
    HOLDS_ALL(65, status == AXO_OK, "axo_stream_credit: %s", axo_status_name(status));
    it->credit = bounded ? it->credit + bytes : bytes;
}

static void wires_do(axo_ctx *ctx, wires_actor *me, wire *it)
{
    uint32_t most = 20 * it->socket->out.room;
    switch (world_below(12)) {
    case 0:
        it->paused = true;
        (void)axo_stream_pause(ctx, me->stream);
        return;
    case 1:
    case 2:
        it->paused = false;
        (void)axo_stream_resume(ctx, me->stream);
        return;
    case 3:
        if (world_below(3) != 0)
            return;
        HOLDS_ALL(65, axo_stream_end(ctx, me->stream) == AXO_OK, "a half-close is refused");
        it->ending = true;
        return;
    case 4:
        if (world_below(3) == 0)
            wires_end_stream(ctx, me, it, world_below(3) == 0 ? 0 : wires_drain());
        return;
    case 5:
        wires_credit(ctx, me, it, world_below(2) == 0 ? AXO_STREAM_UNBOUNDED : world_below(100));
        return;
    case 6:
        wires_take(ctx, me, it);
        return;
    default:
        wires_write(ctx, me, it, 1 + world_below(most < 1500 ? most : 1500));
        return;
    }
}

/* One that was to come later. Of another instance's stream, or one before, it is nobody's. Behind
 * an answer its actor looks by itself whether there is room now. */
static void wires_answer_comes(axo_ctx *ctx, const wires_actor *me, uint32_t number)
{
    wire *it = wires_mine(me);
    if (it == NULL || number != me->number)
        return;
    wires_answer(ctx, me, it);
    if (!wires_has_room(ctx, me, it))
        return;
    wires_take(ctx, me, it);
}

static void wires_go(axo_ctx *ctx, wires_actor *me)
{
    if (world_is(KNOB_DRY))
        w.dry = !w.dry;
    if (world_is(KNOB_DRY))
        w.scarce = !w.scarce;
    if (wires_mine(me) == NULL && !me->connection && world_is(KNOB_WIRE))
        wires_open(ctx, me);
    for (uint32_t i = 1 + world_below(3); i > 0; i--) {
        wire *it = wires_mine(me);
        if (it != NULL && world_is(KNOB_WIRE))
            wires_do(ctx, me, it);
    }
    if (world_below(8) == 0)
        (void)axo_send(ctx, wi.listener, AXO_LISTENER_LOOK, NULL, 0);
}

/* It comes to its end in order. */
static axo_status wires_leave(axo_ctx *ctx, wires_actor *me)
{
    wire *it = wires_mine(me);
    if (it == NULL)
        return me->connection ? axo_stop_self(ctx) : AXO_OK;
    if (it->paused) {
        it->paused = false;
        (void)axo_stream_resume(ctx, me->stream);
    }
    wires_take(ctx, me, it);
    wires_end_stream(ctx, me, it, WIRES_DRAIN_MAX);
    return AXO_OK;
}

/* ---- callbacks ---- */

/* Of an instance before this one nothing is open. */
static axo_status wires_construct(axo_ctx *ctx, void *state, const void *args)
{
    const ghost *it = wires_enter(ctx);
    const ghost *parent = ghost_find(it->parent);
    const wires_actor *me = state;
    HOLDS(20, it, me->stream == NULL && me->number == 0, "the state was not zeroed");
    for (uint32_t i = 0; i < net.count; i++)
        HOLDS(68, it, wi.all[i].owner != it->bits || net.all[i].closed,
              "the descriptor of an instance that is gone is open");
    if (parent->bits == wi.listener.bits)
        HOLDS(69, it, wi.max == 0 || parent->children <= wi.max, "more connections than allowed");
    if (wi.count < WIRES_ACTORS && it->instance == 1)
        wi.actors[wi.count++] = axo_self(ctx);
    return world_is(KNOB_WIRE_FAIL) ? world_fail(ctx) : AXO_OK;
}

/* The stream's: told once, and not again. */
static axo_status wires_ready(axo_ctx *ctx, wires_actor *me, const axo_message *message)
{
    wire *it = wires_mine(me);
    if (it == NULL)
        return AXO_UNHANDLED;
    uint32_t told = axo_stream_receive(ctx, me->stream, message);
    if (told == 0)
        return AXO_UNHANDLED;
    wires_told(ctx, me->stream, it, told);
    if (!it->open) {
        me->number = 0;
        HOLDS_ALL(64, axo_stream_receive(ctx, me->stream, message) == 0, "told behind its end");
        return me->connection || world_is(KNOB_WIRE_END) ? axo_stop_self(ctx) : AXO_OK;
    }
    wires_see(ctx, me->stream, it);
    if (w.calm || world_below(4) != 0)
        wires_take(ctx, me, it);
    if (!axo_stream_ended(ctx, me->stream))
        return AXO_OK;
    HOLDS_ALL(64, it->ended, "ended, and the end was not told");
    if (w.calm || world_below(3) == 0)
        wires_end_stream(ctx, me, it, wires_drain());
    return AXO_OK;
}

static axo_status wires_message(axo_ctx *ctx, wires_actor *me, const axo_message *message)
{
    const axo_listener_info *info;
    switch (message->tag) {
    case AXO_CONNECTED:
        wires_accept(ctx, me, message);
        return AXO_OK;
    case AXO_LISTENER_IS:
        info = AXO_PAYLOAD(message, axo_listener_info);
        HOLDS_ALL(69, info->accepted + info->refused <= net.accepted &&
                          (wi.max == 0 || info->connections <= wi.max),
                  "the listener miscounts its connections");
        return AXO_OK;
    case AXO_DISCONNECT:
        return w.calm || world_below(4) != 0 ? wires_leave(ctx, me) : AXO_OK;
    case TAG_WIRE_CLOSE:
        return wires_leave(ctx, me);
    case TAG_WIRE_ANSWER:
        wires_answer_comes(ctx, me, *AXO_PAYLOAD(message, uint32_t));
        return AXO_OK;
    case TAG_WIRE_GO:
        wires_go(ctx, me);
        return world_is(KNOB_WIRE_END) ? axo_stop_self(ctx) : AXO_OK;
    default:
        return wires_ready(ctx, me, message);
    }
}

/* How all is, and that what was given is what it was. */
static void wires_look_back(axo_ctx *ctx, const wires_actor *me)
{
    wire *it = wires_mine(me);
    if (it == NULL)
        return;
    wires_see(ctx, me->stream, it);
    if (it->open && wires_held.bytes.size > 0)
        wires_check_bytes(it, it->key, wires_held.at, wires_held.bytes.data,
                          wires_held.bytes.size);
}

static axo_status wires_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    wires_actor *me = state;
    (void)wires_enter(ctx);
    wires_running = wires_mine(me);
    axo_status status = wires_message(ctx, me, message);
    wires_running = NULL;
    wires_look_back(ctx, me);
    return world_is(KNOB_WIRE_FAIL) ? world_fail(ctx) : status;
}

static axo_status wires_settle(axo_ctx *ctx, void *state)
{
    wires_actor *me = state;
    (void)wires_enter(ctx);
    g.memory_barred = 0; /* no event tells of it */
    if (me->stream == NULL)
        return AXO_OK;
    wires_running = wires_mine(me);
    axo_status status = axo_stream_settle(ctx, me->stream);
    wires_running = NULL;
    HOLDS_ALL(65, status == AXO_OK, "axo_stream_settle: %s", axo_status_name(status));
    wires_look_back(ctx, me);
    return AXO_OK;
}

static const axo_class wires_classes[] = {
    AXO_CLASS(.name = "wire", .state_size = sizeof(wires_actor), .construct = wires_construct,
              .receive = wires_receive),
    AXO_CLASS(.name = "settling wire", .state_size = sizeof(wires_actor),
              .construct = wires_construct, .receive = wires_receive, .settle = wires_settle),
};

const axo_props *wires_props(bool settles)
{
    static const axo_props all[] = {AXO_PROPS(.cls = &wires_classes[0]),
                                    AXO_PROPS(.cls = &wires_classes[1])};
    return &all[settles];
}
