/* http_connection.h - an actor for each connection of http_server.c: its stream's bytes go through
 * Debian's http_parser, one request after the other is answered, and while a worker has been asked
 * for an answer nothing more is taken.
 *
 * The bytes of a request stay in the stream until it is whole, so `read_ns` counts from its first
 * byte; the parser has looked at each once. What a connection holds beside the stream it holds
 * while a request is under way: an idle one costs its state alone. */
#ifndef HTTP_CONNECTION_H
#define HTTP_CONNECTION_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <time.h>

#include <http_parser.h>

#include "http.h"

typedef struct connection connection;

/* What a path leads to. */
typedef struct route {
    const char *path;
    bool posts; /* POST; else GET and HEAD */
    axo_status (*run)(axo_ctx *ctx, connection *me);
} route;

/* A request that is under way. */
typedef struct request {
    http_parser parser;
    http *http;
    size_t parsed;  /* bytes of the stream that the parser has looked at */
    uint32_t error; /* a status: the answer, whatever the route; 0: the route's */
    bool headed;    /* what comes yet is no header, but a trailer at most */
    bool whole;
    bool keep;    /* the client wishes to go on behind this one */
    bool expects; /* it waits for 100 Continue before it sends the body */
    uint32_t hosts;
    const route *route;
    size_t url_size, name_size, value_size;
    char url[HTTP_URL_MAX];
    char name[24]; /* of the header; longer ones are none that the server knows */
    char value[32];
    bool has_value;
    char *body;
    size_t body_size, body_room;
} request;

struct connection {
    http *http;
    axo_stream *stream;
    request *now;    /* NULL: none */
    bool waiting;    /* a worker has been asked */
    bool over;       /* takes no more requests */
    bool last;       /* the server ends */
    bool closing;    /* the stream is */
    uint32_t number; /* of the request that a worker has been asked */
};

static const struct {
    uint32_t status;
    const char *text;
} http_texts[] = {
    {200, "OK"},
    {400, "Bad Request"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {417, "Expectation Failed"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
};

static const char *http_text(uint32_t status)
{
    for (size_t i = 0; i < sizeof http_texts / sizeof http_texts[0]; i++)
        if (http_texts[i].status == status)
            return http_texts[i].text;
    return "";
}

/* ---- answers ---- */

static void request_free(request *it)
{
    if (it == NULL)
        return;
    free(it->body);
    free(it);
}

static size_t answer_head(const connection *me, uint32_t status, size_t size, char *out)
{
    char date[40];
    struct tm parts;
    time_t now = time(NULL);
    const request *it = me->now;
    bool keep = !me->over && !me->last && it->keep;
    const char *allow = it->route != NULL && it->route->posts ? "POST" : "GET, HEAD";
    (void)strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&now, &parts));
    int length = snprintf(out, HTTP_ANSWER_MAX,
                          "HTTP/1.1 %" PRIu32 " %s\r\nDate: %s\r\nContent-Type: text/plain\r\n"
                          "Content-Length: %zu\r\n%s%s%sConnection: %s\r\n\r\n",
                          status, http_text(status), date, size, status == 405 ? "Allow: " : "",
                          status == 405 ? allow : "", status == 405 ? "\r\n" : "",
                          keep ? "keep-alive" : "close");
    return (size_t)length;
}

static void answer_free(void *payload, void *user)
{
    (void)user;
    free(payload);
}

/* Answers the request under way, which is over with that. One write: there is room for one. The
 * stream sends it from where it lies, and frees it. */
static axo_status connection_answer(axo_ctx *ctx, connection *me, uint32_t status, const char *body,
                                    size_t size)
{
    char head[HTTP_ANSWER_MAX];
    request *it = me->now;
    size_t head_size = answer_head(me, status, size, head);
    size_t shown = it->parser.method == HTTP_HEAD ? 0 : size;
    char *whole = malloc(head_size + shown);
    if (whole == NULL)
        return AXO_ENOMEM;
    memcpy(whole, head, head_size);
    if (shown > 0)
        memcpy(whole + head_size, body, shown);
    axo_owned block = {.payload = whole, .size = head_size + shown, .destroy = answer_free};
    axo_status wrote = axo_stream_write_owned(ctx, me->stream, &block);
    if (wrote != AXO_OK)
        free(whole); /* it is still this one's */
    if (wrote != AXO_OK && wrote != AXO_EGONE)
        return wrote;
    me->over = me->over || me->last || !it->keep;
    atomic_fetch_add(wrote == AXO_OK ? &me->http->totals.answered : &me->http->totals.gone, 1);
    me->now = NULL;
    request_free(it);
    return AXO_OK;
}

static axo_status connection_say(axo_ctx *ctx, connection *me, uint32_t status, const char *text)
{
    return connection_answer(ctx, me, status, text, strlen(text));
}

static axo_status connection_refuse(axo_ctx *ctx, connection *me)
{
    char text[64];
    (void)snprintf(text, sizeof text, "%s\n", http_text(me->now->error));
    return connection_say(ctx, me, me->now->error, text);
}

/* ---- routes ---- */

static axo_status route_hello(axo_ctx *ctx, connection *me)
{
    return connection_say(ctx, me, 200, "hello\n");
}

static axo_status route_echo(axo_ctx *ctx, connection *me)
{
    return connection_answer(ctx, me, 200, me->now->body, me->now->body_size);
}

/* The connection fails: the listener closes it, and the others go on. */
static axo_status route_poison(axo_ctx *ctx, connection *me)
{
    (void)me;
    return axo_fail(ctx, 14, "poison");
}

/* A worker is to answer; the number of the request is in the tags. */
static axo_status connection_ask(axo_ctx *ctx, connection *me, const http_work *work)
{
    uint32_t number = ++me->number % HTTP_NUMBERS;
    axo_ref worker = me->http->workers[atomic_fetch_add(&me->http->turn, 1) % HTTP_WORKERS];
    axo_status status =
        axo_timer_start(ctx, HTTP_LATE, AXO_TIMER_ONCE, me->http->ask_ns, 0, HTTP_LATE, NULL, 0);
    if (status == AXO_OK)
        status = axo_send(ctx, worker, HTTP_WORK + number, work, sizeof *work);
    me->waiting = status == AXO_OK;
    if (status == AXO_EGONE) /* the server ends */
        return connection_say(ctx, me, 500, "no worker\n");
    return status;
}

/* ?ms=20 */
static axo_status route_slow(axo_ctx *ctx, connection *me)
{
    const char *query = strstr(me->now->url, "?ms=");
    unsigned long ms = query != NULL ? strtoul(query + 4, NULL, 10) : 20;
    http_work work = {.ms = ms < HTTP_SLOW_MAX ? (uint32_t)ms : HTTP_SLOW_MAX};
    return connection_ask(ctx, me, &work);
}

/* The worker fails: it is restarted, and who has asked is told. */
static axo_status route_poison_worker(axo_ctx *ctx, connection *me)
{
    return connection_ask(ctx, me, &(http_work){.poison = 1});
}

static const route routes[] = {
    {"/", false, route_hello},        {"/hello", false, route_hello},
    {"/echo", true, route_echo},      {"/slow", false, route_slow},
    {"/poison", false, route_poison}, {"/poison/worker", false, route_poison_worker},
};

/* ---- what the parser finds ---- */

static void request_refuse(request *it, uint32_t error)
{
    if (it->error == 0)
        it->error = error;
}

/* Appends what fits, so that a text that is too long is as long as its room. */
static void text_add(char *out, size_t room, size_t *size, const char *at, size_t length)
{
    size_t fits = length < room - *size ? length : room - *size;
    if (fits > 0)
        memcpy(out + *size, at, fits);
    *size += fits;
}

static bool text_is(const char *text, size_t size, const char *wanted)
{
    return size == strlen(wanted) && strncasecmp(text, wanted, size) == 0;
}

static void request_header(request *it)
{
    size_t size = it->value_size;
    while (size > 0 && (it->value[size - 1] == ' ' || it->value[size - 1] == '\t'))
        size--;
    if (text_is(it->name, it->name_size, "Host")) {
        it->hosts++;
    } else if (text_is(it->name, it->name_size, "Expect")) {
        it->expects = text_is(it->value, size, "100-continue");
        if (!it->expects)
            request_refuse(it, 417);
    } else if (text_is(it->name, it->name_size, "Transfer-Encoding") &&
               !text_is(it->value, size, "chunked")) {
        request_refuse(it, 501);
    }
    it->name_size = it->value_size = 0;
    it->has_value = false;
}

static int on_url(http_parser *parser, const char *at, size_t length)
{
    request *it = parser->data;
    text_add(it->url, sizeof it->url, &it->url_size, at, length);
    if (it->url_size < sizeof it->url)
        return 0;
    request_refuse(it, 414);
    return -1;
}

static int on_name(http_parser *parser, const char *at, size_t length)
{
    request *it = parser->data;
    if (it->headed)
        return 0;
    if (it->has_value)
        request_header(it);
    text_add(it->name, sizeof it->name, &it->name_size, at, length);
    if (memchr(at, ' ', length) == NULL)
        return 0;
    request_refuse(it, 400); /* a proxy before this might read another header in it */
    return -1;
}

static int on_value(http_parser *parser, const char *at, size_t length)
{
    request *it = parser->data;
    if (it->headed)
        return 0;
    it->has_value = true;
    text_add(it->value, sizeof it->value, &it->value_size, at, length);
    return 0;
}

static uint32_t request_route(request *it)
{
    struct http_parser_url parts;
    const char *path = "/";
    size_t size = 1;
    http_parser_url_init(&parts);
    it->url[it->url_size] = 0;
    if (it->parser.method > HTTP_POST && it->parser.method != HTTP_PUT &&
        it->parser.method != HTTP_OPTIONS && it->parser.method != HTTP_PATCH)
        return 501;
    if (http_parser_parse_url(it->url, it->url_size, 0, &parts) != 0)
        return 400;
    if ((parts.field_set & (1U << UF_PATH)) != 0) {
        path = it->url + parts.field_data[UF_PATH].off;
        size = parts.field_data[UF_PATH].len;
    }
    for (size_t i = 0; i < sizeof routes / sizeof routes[0] && it->route == NULL; i++)
        if (strlen(routes[i].path) == size && memcmp(routes[i].path, path, size) == 0)
            it->route = &routes[i];
    if (it->route == NULL)
        return 404;
    bool right = it->route->posts ? it->parser.method == HTTP_POST
                                  : it->parser.method == HTTP_GET || it->parser.method == HTTP_HEAD;
    return right ? 0 : 405;
}

static int on_headers(http_parser *parser)
{
    request *it = parser->data;
    const http *all = it->http;
    bool has_length = parser->content_length != UINT64_MAX && (parser->flags & F_CHUNKED) == 0;
    if (it->has_value)
        request_header(it);
    it->headed = true;
    parser->upgrade = 0; /* there is nothing else than HTTP/1.1 */
    if (parser->http_major != 1)
        it->error = 505;
    if (parser->http_minor > 0 && it->hosts != 1)
        request_refuse(it, 400);
    uint32_t wrong = request_route(it);
    if (wrong != 0)
        request_refuse(it, wrong);
    if (has_length && parser->content_length > all->body_max) {
        request_refuse(it, 413);
        return -1;
    }
    /* A body that may come or not: nobody knows where the next request begins. */
    if (it->error == 0 || (!it->expects && (it->error == 404 || it->error == 405)))
        return 0;
    return -1;
}

static int on_body(http_parser *parser, const char *at, size_t length)
{
    request *it = parser->data;
    if (length > it->http->body_max - it->body_size) {
        it->error = 413;
        return -1;
    }
    if (it->body_size + length > it->body_room) {
        size_t room = 2 * (it->body_size + length);
        char *grown = realloc(it->body, room);
        if (grown == NULL) {
            it->error = 500;
            return -1;
        }
        it->body = grown;
        it->body_room = room;
    }
    memcpy(it->body + it->body_size, at, length);
    it->body_size += length;
    return 0;
}

static int on_whole(http_parser *parser)
{
    request *it = parser->data;
    it->whole = true;
    it->keep = http_should_keep_alive(parser) != 0;
    http_parser_pause(parser, 1); /* the next one is taken when this one is answered */
    return 0;
}

static const http_parser_settings parser_settings = {.on_url = on_url,
                                                     .on_header_field = on_name,
                                                     .on_header_value = on_value,
                                                     .on_headers_complete = on_headers,
                                                     .on_body = on_body,
                                                     .on_message_complete = on_whole};

/* What the parser says is wrong. `byte` is the one at which it has stopped: a method that it does
 * not know is a word at least. */
static uint32_t parser_error(const http_parser *parser, char byte)
{
    if (HTTP_PARSER_ERRNO(parser) == HPE_HEADER_OVERFLOW)
        return 431;
    if (HTTP_PARSER_ERRNO(parser) == HPE_INVALID_METHOD && byte >= 'A' && byte <= 'Z')
        return 501;
    return 400;
}

/* ---- the stream ---- */

static request *request_new(http *all)
{
    request *it = calloc(1, sizeof *it);
    if (it == NULL)
        return NULL;
    http_parser_init(&it->parser, HTTP_REQUEST);
    it->parser.data = it;
    it->http = all;
    return it;
}

/* What is no request, or one that is refused before its end, ends the connection. */
static axo_status connection_wrong(axo_ctx *ctx, connection *me, uint32_t error)
{
    request_refuse(me->now, error);
    me->over = true;
    atomic_fetch_add(&me->http->totals.requests, 1);
    return connection_refuse(ctx, me);
}

static axo_status connection_run(axo_ctx *ctx, connection *me)
{
    atomic_fetch_add(&me->http->totals.requests, 1);
    return me->now->error != 0 ? connection_refuse(ctx, me) : me->now->route->run(ctx, me);
}

/* Gives the parser what has come. *took: a request was whole. */
static axo_status connection_take(axo_ctx *ctx, connection *me, bool *took)
{
    axo_stream_bytes all;
    request *it = me->now;
    *took = false;
    if (axo_stream_peek(ctx, me->stream, &all) != AXO_OK)
        return AXO_OK;
    if (it == NULL && (it = me->now = request_new(me->http)) == NULL)
        return AXO_ENOMEM;
    if (all.size > it->parsed)
        it->parsed += http_parser_execute(&it->parser, &parser_settings, all.data + it->parsed,
                                          all.size - it->parsed);
    if (it->whole) {
        axo_status status = axo_stream_next(ctx, me->stream, it->parsed, &all);
        *took = status == AXO_OK;
        return *took ? connection_run(ctx, me) : status;
    }
    if (HTTP_PARSER_ERRNO(&it->parser) != HPE_OK)
        return connection_wrong(
            ctx, me, parser_error(&it->parser, it->parsed < all.size ? all.data[it->parsed] : 0));
    if (axo_stream_next(ctx, me->stream, it->parsed + 1, &all) == AXO_ETOOBIG)
        return connection_wrong(ctx, me, 413);
    if (!it->expects || it->parser.http_minor == 0 || it->route == NULL || it->body_size > 0)
        return AXO_OK;
    it->expects = false;
    axo_status status = axo_stream_write(ctx, me->stream, "HTTP/1.1 100 Continue\r\n\r\n", 25);
    return status == AXO_EGONE ? AXO_OK : status;
}

/* Behind every message: takes what can be answered. */
static axo_status connection_go_on(axo_ctx *ctx, connection *me)
{
    bool took = true;
    axo_status status = AXO_OK;
    while (status == AXO_OK && took && !me->over && !me->waiting && !me->closing &&
           axo_stream_has_room(ctx, me->stream))
        status = connection_take(ctx, me, &took);
    if (status != AXO_OK || me->closing || me->waiting)
        return status;
    me->closing = me->over || me->last || axo_stream_ended(ctx, me->stream);
    return me->closing ? axo_stream_close(ctx, me->stream, me->http->drain_ns) : AXO_OK;
}

/* ---- the actor ---- */

/* However it ends. */
static void connection_clean(void *arg)
{
    connection *me = arg;
    if (me->now != NULL && me->now->whole)
        atomic_fetch_add(&me->http->totals.gone, 1);
    request_free(me->now);
}

static axo_status connection_construct(axo_ctx *ctx, void *state, const void *args)
{
    connection *me = state;
    memcpy(&me->http, args, sizeof me->http);
    atomic_fetch_add(&me->http->totals.connections, 1);
    return axo_defer(ctx, connection_clean, me);
}

static axo_status connection_accept(axo_ctx *ctx, connection *me, const axo_message *message)
{
    const axo_stream_settings settings =
        AXO_STREAM_SETTINGS(.input_max = HTTP_HEAD_MAX + 2 * me->http->body_max + HTTP_CHUNKS_MAX,
                            .output_high = HTTP_OUTPUT_HIGH, .idle_ns = me->http->idle_ns,
                            .read_ns = me->http->read_ns, .write_ns = me->http->write_ns);
    return axo_stream_accept(ctx, message, &settings, &me->stream);
}

/* The worker has answered, or failed, or is late. One that is late may answer yet: the number tells
 * its answer from the next. */
static axo_status connection_got(axo_ctx *ctx, connection *me, const axo_message *message)
{
    char text[AXO_FAILURE_TEXT_MAX + 32];
    axo_status status;
    uint32_t number = me->number % HTTP_NUMBERS;
    if (message->tag == HTTP_LATE) {
        if (!me->waiting)
            return AXO_OK;
        status = connection_say(ctx, me, 504, "late\n");
    } else if (message->tag == AXO_REQUEST_FAILED) {
        axo_request_failed why = axo_request_failed_of(message);
        if (!me->waiting || why.tag != HTTP_WORK + number)
            return AXO_OK;
        (void)snprintf(text, sizeof text, "failed: %s\n", why.text);
        status = connection_say(ctx, me, 500, text);
    } else {
        if (!me->waiting || message->tag != HTTP_DONE + number)
            return AXO_OK;
        status = connection_say(ctx, me, 200, "slow\n");
    }
    me->waiting = false;
    (void)axo_timer_stop(ctx, HTTP_LATE);
    return status;
}

static axo_status connection_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    connection *me = state;
    axo_status status = AXO_OK;
    if (message->tag == AXO_CONNECTED)
        return connection_accept(ctx, me, message);
    if (message->tag == HTTP_LATE || message->tag == AXO_REQUEST_FAILED ||
        (message->tag >= HTTP_DONE && message->tag < HTTP_DONE + HTTP_NUMBERS)) {
        status = connection_got(ctx, me, message);
    } else if (message->tag == AXO_DISCONNECT) {
        me->last = true;
        (void)axo_stream_pause(ctx, me->stream);
    } else {
        uint32_t events = axo_stream_receive(ctx, me->stream, message);
        if (events == 0)
            return AXO_UNHANDLED;
        if ((events & AXO_STREAM_CLOSED) != 0)
            return axo_stop_self(ctx);
    }
    return status == AXO_OK ? connection_go_on(ctx, me) : status;
}

/* At the end of a turn: all its answers are one write. */
static axo_status connection_settle(axo_ctx *ctx, void *state)
{
    return axo_stream_settle(ctx, ((connection *)state)->stream);
}

static const axo_class connection_class =
    AXO_CLASS(.name = "connection", .state_size = sizeof(connection),
              .construct = connection_construct, .receive = connection_receive,
              .settle = connection_settle);

#endif
