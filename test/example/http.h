/* http.h - what the actors of http_server.c have in common. */
#ifndef HTTP_H
#define HTTP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <axo/axo.h>

#define HTTP_MS      INT64_C(1000000)
#define HTTP_WORKERS 4
/* Bytes: of a line and its headers, of a path, of what chunks have beside their bytes, of an
 * answer's headers, of answers that wait before no more requests are taken. */
#define HTTP_HEAD_MAX    8192
#define HTTP_URL_MAX     2048
#define HTTP_CHUNKS_MAX  4096
#define HTTP_ANSWER_MAX  512
#define HTTP_OUTPUT_HIGH 65536
/* Milliseconds that /slow may ask for. */
#define HTTP_SLOW_MAX 2000

/* A request to a worker has its number in the tag, HTTP_WORK + n, and gets HTTP_DONE + n, or an
 * AXO_REQUEST_FAILED, which tells the request's tag. */
enum { HTTP_LATE = 1, HTTP_TOO_LATE = 2, HTTP_WORK = 0x100, HTTP_DONE = 0x200, HTTP_NUMBERS = 256 };

/* Payload of HTTP_WORK. */
typedef struct http_work {
    uint32_t ms;
    uint32_t poison; /* 1: the worker fails */
} http_work;

typedef struct http_totals {
    atomic_uint_fast64_t connections;
    atomic_uint_fast64_t requests; /* whole, or refused before: each is ... */
    atomic_uint_fast64_t answered; /* ... answered, ... */
    atomic_uint_fast64_t gone;     /* ... or its connection had ended before */
} http_totals;

typedef struct http {
    uint32_t port;
    uint32_t threads;
    uint32_t connections_max;
    size_t body_max;
    int64_t idle_ns, read_ns, write_ns, ask_ns, drain_ns;
    axo_ref workers[HTTP_WORKERS];
    atomic_uint turn; /* whose it is among the workers */
    http_totals totals;
} http;

#endif
