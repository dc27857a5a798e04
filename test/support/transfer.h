/* transfer.h - an echo server on a listener, and real clients of it: so many bytes there and back,
 * summed up on both sides, to the end that each tells the other. Every other piece is handed over
 * to the stream, and a connection reads on credit.
 *
 * A client sends, says that it has ended (a half-close), and reads to the server's end. It writes
 * and reads in pieces of a size of its own; one that lags reads only when it can write no more.
 * Nothing here needs cmocka: what is wrong is a text. */
#ifndef TEST_SUPPORT_TRANSFER_H
#define TEST_SUPPORT_TRANSFER_H

#include <axo/axo.h>

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define TRANSFER_BLOCK 65521 /* bytes of the pattern until it comes again: a prime */
#define TRANSFER_PIECE 65536
#define TRANSFER_INPUT 32768
#define TRANSFER_HIGH 65536
#define TRANSFER_CREDIT 20000
#define TRANSFER_WAIT_MS 60000

/* A sum of bytes in their order. */
#define TRANSFER_SUM UINT64_C(0xcbf29ce484222325)

static inline uint64_t transfer_sum(uint64_t sum, const void *data, size_t size)
{
    const unsigned char *bytes = data;
    for (size_t i = 0; i < size; i++)
        sum = (sum ^ bytes[i]) * UINT64_C(0x100000001b3);
    return sum;
}

/* ---- the server ---- */

typedef struct transfer_server {
    axo_system *system;
    axo_ref listener;
    int listening;                /* the socket */
    in_port_t port;               /* as the network has it */
    _Atomic uint64_t closed;      /* connections that are over, ... */
    _Atomic uint64_t whole;       /* ... and in order */
    _Atomic uint64_t sums;        /* of all that were whole, added up */
    _Atomic uint64_t received;
    _Atomic uint64_t output_most; /* that has waited to be written */
    _Atomic uint64_t handed_over; /* pieces, ... */
    _Atomic uint64_t given_back;  /* ... and of these */
    char pattern[TRANSFER_BLOCK + TRANSFER_PIECE]; /* its beginning once more behind it */
} transfer_server;

typedef struct transfer_echo {
    transfer_server *server;
    axo_stream *stream;
    uint64_t sum;
    uint64_t pieces;
} transfer_echo;

static inline axo_status transfer_construct(axo_ctx *ctx, void *state, const void *args)
{
    transfer_echo *me = state;
    (void)ctx;
    memcpy(&me->server, args, sizeof me->server);
    me->sum = TRANSFER_SUM;
    return AXO_OK;
}

static inline axo_status transfer_over(axo_ctx *ctx, transfer_echo *me)
{
    axo_stream_info info = AXO_STREAM_INFO();
    if (axo_stream_look(ctx, me->stream, &info) == AXO_OK && info.status == AXO_OK &&
        info.sent == info.received) {
        atomic_fetch_add(&me->server->sums, me->sum);
        atomic_fetch_add(&me->server->received, info.received);
        atomic_fetch_add(&me->server->whole, 1);
    }
    atomic_fetch_add(&me->server->closed, 1);
    return axo_stop_self(ctx);
}

static inline void transfer_see(axo_ctx *ctx, const transfer_echo *me)
{
    axo_stream_info info = AXO_STREAM_INFO();
    (void)axo_stream_look(ctx, me->stream, &info);
    uint64_t most = atomic_load(&me->server->output_most);
    while (info.output > most &&
           !atomic_compare_exchange_weak(&me->server->output_most, &most, info.output))
        continue;
}

static inline void transfer_give_back(void *payload, void *user)
{
    atomic_fetch_add(&((transfer_server *)user)->given_back, 1);
    free(payload);
}

static inline axo_status transfer_write(axo_ctx *ctx, transfer_echo *me, axo_stream_bytes piece)
{
    if (me->pieces++ % 2 == 0)
        return axo_stream_write(ctx, me->stream, piece.data, piece.size);
    axo_owned block = {.payload = malloc(piece.size), .size = piece.size,
                       .destroy = transfer_give_back, .user = me->server};
    if (block.payload == NULL)
        return AXO_ENOMEM;
    memcpy(block.payload, piece.data, piece.size);
    axo_status status = axo_stream_write_owned(ctx, me->stream, &block);
    if (status == AXO_OK)
        atomic_fetch_add(&me->server->handed_over, 1);
    else
        free(block.payload);
    return status;
}

static inline axo_status transfer_accept(axo_ctx *ctx, transfer_echo *me,
                                         const axo_message *message)
{
    static const axo_stream_settings settings =
        AXO_STREAM_SETTINGS(.input_max = TRANSFER_INPUT, .output_high = TRANSFER_HIGH);
    axo_status status = axo_stream_accept(ctx, message, &settings, &me->stream);
    return status == AXO_OK ? axo_stream_credit(ctx, me->stream, TRANSFER_CREDIT) : status;
}

static inline axo_status transfer_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    transfer_echo *me = state;
    axo_stream_bytes piece;
    if (message->tag == AXO_CONNECTED)
        return transfer_accept(ctx, me, message);
    uint32_t told = axo_stream_receive(ctx, me->stream, message);
    if ((told & AXO_STREAM_CLOSED) != 0)
        return transfer_over(ctx, me);
    while (axo_stream_has_room(ctx, me->stream) &&
           axo_stream_next(ctx, me->stream, 0, &piece) == AXO_OK) {
        me->sum = transfer_sum(me->sum, piece.data, piece.size);
        axo_status status = transfer_write(ctx, me, piece);
        if (status == AXO_OK)
            status = axo_stream_credit(ctx, me->stream, piece.size);
        if (status != AXO_OK)
            return status;
        transfer_see(ctx, me);
    }
    if (axo_stream_ended(ctx, me->stream))
        return axo_stream_close(ctx, me->stream, INT64_C(60000000000));
    return AXO_OK;
}

static inline axo_status transfer_settle(axo_ctx *ctx, void *state)
{
    return axo_stream_settle(ctx, ((transfer_echo *)state)->stream);
}

static const axo_class transfer_class =
    AXO_CLASS(.name = "transfer", .state_size = sizeof(transfer_echo),
              .construct = transfer_construct, .receive = transfer_receive,
              .settle = transfer_settle);

/* On two workers; false: it cannot be. `it` stays where it is until transfer_end. */
static inline bool transfer_begin(transfer_server *it)
{
    static transfer_server *server;
    static axo_props connection;
    static char address[32];
    struct sockaddr_in where = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof where;
    axo_options options = AXO_OPTIONS(.workers = 2);
    axo_props props;
    memset(it, 0, sizeof *it);
    for (uint32_t i = 0; i < sizeof it->pattern; i++)
        it->pattern[i] = (char)(i % TRANSFER_BLOCK * UINT64_C(0x9e3779b97f4a7c15) >> 56);
    server = it;
    connection = (axo_props)AXO_PROPS(.cls = &transfer_class, .args = &server,
                                      .args_size = sizeof server);
    it->listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (it->listening < 0 || bind(it->listening, (struct sockaddr *)&where, size) != 0 ||
        listen(it->listening, 64) != 0 ||
        getsockname(it->listening, (struct sockaddr *)&where, &size) != 0)
        return false;
    it->port = where.sin_port;
    (void)snprintf(address, sizeof address, "fd:%d", it->listening);
    axo_listener settings = AXO_LISTENER(.address = address, .connection = &connection);
    return axo_listener_props(&settings, "listener", &props) == AXO_OK &&
           axo_system_start(&options, &it->system) == AXO_OK &&
           axo_system_spawn(it->system, &props, &it->listener) == AXO_OK;
}

static inline bool transfer_end(transfer_server *it)
{
    bool ended = axo_system_stop(it->system, -1, NULL, 0, NULL) == AXO_OK &&
                 axo_system_destroy(it->system) == AXO_OK;
    bool even = atomic_load(&it->handed_over) == atomic_load(&it->given_back);
    return close(it->listening) == 0 && ended && even;
}

/* ---- a client ---- */

typedef struct transfer {
    uint64_t size;        /* bytes to send */
    size_t piece;         /* of one write, up to TRANSFER_PIECE, which 0 is */
    size_t sip;           /* of one read, the same */
    bool lags;
    uint64_t reset_after; /* bytes that have come back; then it resets. 0: it does not */
    uint64_t sent;
    uint64_t got;
    uint64_t sum_sent;
    uint64_t sum_got;
    bool over;            /* the server's end has come, or it has reset */
} transfer;

static inline size_t transfer_most(size_t asked, uint64_t left)
{
    size_t most = asked != 0 ? asked : TRANSFER_PIECE;
    return left < most ? (size_t)left : most;
}

/* false: there is no room now. */
static inline bool transfer_send(transfer *it, const char *pattern, int fd, const char **wrong)
{
    const char *from = pattern + it->sent % TRANSFER_BLOCK;
    ssize_t went = send(fd, from, transfer_most(it->piece, it->size - it->sent), MSG_NOSIGNAL);
    if (went < 0) {
        if (errno != EAGAIN)
            *wrong = "a write fails";
        return false;
    }
    it->sum_sent = transfer_sum(it->sum_sent, from, (size_t)went);
    it->sent += (uint64_t)went;
    if (it->sent == it->size && shutdown(fd, SHUT_WR) != 0)
        *wrong = "a half-close fails";
    return true;
}

/* false: there is nothing now. */
static inline bool transfer_get(transfer *it, const char *pattern, int fd, const char **wrong)
{
    char bytes[TRANSFER_PIECE];
    ssize_t came = recv(fd, bytes, transfer_most(it->sip, TRANSFER_PIECE), 0);
    if (came < 0) {
        if (errno != EAGAIN)
            *wrong = "a read fails";
        return false;
    }
    it->over = came == 0;
    it->sum_got = transfer_sum(it->sum_got, bytes, (size_t)came);
    if (memcmp(bytes, pattern + it->got % TRANSFER_BLOCK, (size_t)came) != 0)
        *wrong = "another byte comes back";
    it->got += (uint64_t)came;
    return true;
}

static inline void transfer_reset(transfer *it, int fd, const char **wrong)
{
    const struct linger now = {.l_onoff = 1};
    if (setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now) != 0)
        *wrong = "cannot reset";
    it->over = true;
}

static inline const char *transfer_loop(transfer *it, const char *pattern, int fd)
{
    const char *wrong = NULL;
    while (!it->over && wrong == NULL) {
        struct pollfd one = {.fd = fd, .events = POLLIN};
        bool moved = it->sent < it->size && transfer_send(it, pattern, fd, &wrong);
        if (wrong == NULL && !(it->lags && moved))
            moved = transfer_get(it, pattern, fd, &wrong) || moved;
        if (it->reset_after > 0 && it->got >= it->reset_after)
            transfer_reset(it, fd, &wrong);
        if (moved || wrong != NULL)
            continue;
        if (it->sent < it->size)
            one.events |= POLLOUT;
        if (poll(&one, 1, TRANSFER_WAIT_MS) == 0)
            wrong = "nothing has moved for a minute";
    }
    return wrong;
}

/* There and back, in the calling thread; what is wrong, NULL: nothing. */
static inline const char *transfer_run(transfer_server *server, transfer *it)
{
    struct sockaddr_in where = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                .sin_port = server->port};
    it->sent = it->got = 0;
    it->sum_sent = it->sum_got = TRANSFER_SUM;
    it->over = false;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return "no socket";
    const char *wrong = "cannot connect";
    if (connect(fd, (struct sockaddr *)&where, sizeof where) == 0 &&
        fcntl(fd, F_SETFL, O_NONBLOCK) == 0)
        wrong = transfer_loop(it, server->pattern, fd);
    if (close(fd) != 0 || wrong != NULL || it->reset_after > 0)
        return wrong;
    return it->got != it->size || it->sum_got != it->sum_sent ? "not all has come back" : NULL;
}

#endif
